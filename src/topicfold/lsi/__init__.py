# SPDX-License-Identifier: BSD-3-Clause
"""Singular value decompositions of sparse matrices, and their updating."""

from topicfold.lsi.svd import RowUpdate, TruncatedSVD, add_rows, truncated_svd

__all__ = ["RowUpdate", "TruncatedSVD", "add_rows", "truncated_svd"]
