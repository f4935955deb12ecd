# SPDX-License-Identifier: BSD-3-Clause
"""The papers' experiments as functions, with models and baselines by name.

Runs are resumable (each cell is kept as it finishes), parallel over cells, with fixed
seeds; results are tidy rows.

Experimental: methods and columns may change, and with them the files of runs.
"""

from topicfold.protocols.clustering import clustering
from topicfold.protocols.few_labels import few_labels
from topicfold.protocols.methods import METHODS, available_methods, find_method
from topicfold.protocols.results import ResultFile, Results
from topicfold.protocols.runtime import runtime
from topicfold.protocols.sensitivity import choose_options, sensitivity
from topicfold.protocols.supervised import supervised

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
