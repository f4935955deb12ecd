# SPDX-License-Identifier: BSD-3-Clause
"""Which model, and how many topics?

Experimental: the columns of a comparison may change, and with them its files.
"""

from topicfold.choosing.comparison import Comparison, ModelScore, compare
from topicfold.choosing.selection import Selection, SelectionRecord, select_n_components

__all__ = [
    "Comparison",
    "ModelScore",
    "Selection",
    "SelectionRecord",
    "compare",
    "select_n_components",
]
