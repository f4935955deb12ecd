# SPDX-License-Identifier: BSD-3-Clause
"""The papers' experiments as functions, with models and baselines by name.

Runs are resumable (each cell is kept as it finishes), parallel over cells, with fixed
seeds; results are tidy rows.

Experimental: methods and columns may change, and with them the files of runs.
"""

from topicfold.choosing.clustering import clustering
from topicfold.choosing.few_labels import few_labels
from topicfold.choosing.methods import METHODS, available_methods, find_method
from topicfold.choosing.results import ResultFile, Results
from topicfold.choosing.runtime import runtime
from topicfold.choosing.sensitivity import choose_options, sensitivity
from topicfold.choosing.supervised import supervised

__all__ = [
    "METHODS",
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
