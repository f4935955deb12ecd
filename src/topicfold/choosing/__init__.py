# SPDX-License-Identifier: BSD-3-Clause
"""Which model, and how many topics?

Experimental: the columns of a comparison may change, and with them its files.
"""

from topicfold.choosing.comparison import Comparison, ModelScore, compare
from topicfold.choosing.fits import Consensus, Fits, OneFit, fit_many
from topicfold.choosing.selection import Selection, SelectionRecord, select_n_components
from topicfold.choosing.size import SizeAdvice, suggest_size

__all__ = [
    "Comparison",
    "Consensus",
    "Fits",
    "ModelScore",
    "OneFit",
    "Selection",
    "SelectionRecord",
    "SizeAdvice",
    "compare",
    "fit_many",
    "select_n_components",
    "suggest_size",
]
