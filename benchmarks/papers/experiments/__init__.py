# SPDX-License-Identifier: BSD-3-Clause
"""The papers' experiments as functions, with models and baselines by name.

Runs are resumable (each cell is kept as it finishes), parallel over cells, with fixed
seeds; results are tidy rows.
"""

from benchmarks.papers.experiments.clustering import clustering
from benchmarks.papers.experiments.few_labels import few_labels
from benchmarks.papers.experiments.methods import available_methods, find_method
from benchmarks.papers.experiments.results import ResultFile, Results
from benchmarks.papers.experiments.runtime import runtime
from benchmarks.papers.experiments.sensitivity import choose_options, sensitivity
from benchmarks.papers.experiments.supervised import supervised

__all__ = [
    "ResultFile",
    "Results",
    "available_methods",
    "choose_options",
    "clustering",
    "few_labels",
    "find_method",
    "runtime",
    "sensitivity",
    "supervised",
]
