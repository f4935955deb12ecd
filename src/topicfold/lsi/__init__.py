# SPDX-License-Identifier: BSD-3-Clause
"""Singular value decompositions of sparse matrices, and their updating."""

from topicfold.lsi.svd import TruncatedSVD, truncated_svd
from topicfold.lsi.updating import RowUpdate, add_rows

__all__ = ["RowUpdate", "TruncatedSVD", "add_rows", "truncated_svd"]
