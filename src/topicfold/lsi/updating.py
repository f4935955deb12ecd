# SPDX-License-Identifier: BSD-3-Clause
"""Add rows to a truncated singular value decomposition (Zha & Simon 1999).

With ``A ≈ U Σ Vᵀ`` and new rows N, ``[U Σ Vᵀ; N]`` is ``diag(U, 1)`` times the matrix
``M = [Σ Vᵀ; N]``, whose singular values and vectors are found from

    M Mᵀ = [[Σ², Σ Pᵀ], [P Σ, N Nᵀ]],    P = N V,

a matrix of the size of rank plus new rows. U is not needed, so memory does not depend
on how many rows there were. What Zha and Simon do by a QR decomposition of the dense
residual ``N - P Vᵀ`` is done here without forming it: N stays sparse.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from topicfold.core.threads import one_blas_thread
from topicfold.core.typing import Doubles
from topicfold.lsi.svd import (
    SparseRows,
    column_signs,
    largest_eigenpairs,
    normalised,
    significant,
    tall_product,
)


class RowUpdate(NamedTuple):
    """The decomposition with the new rows.

    Attributes
    ----------
    values : ndarray of shape (new_rank,)
        Singular values, falling.
    right : ndarray of shape (n_columns, new_rank)
        Right singular vectors.
    old_left : ndarray of shape (rank, new_rank)
        Left vectors of the old rows are ``U @ old_left``.
    new_left : ndarray of shape (n_new_rows, new_rank)
        Left vectors of the new rows.
    """

    values: Doubles
    right: Doubles
    old_left: Doubles
    new_left: Doubles


def add_rows(
    values: Doubles,
    right: Doubles,
    rows: sparse.csr_matrix,
    rank: int,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    threads: int = 1,
) -> RowUpdate:
    """Return the best rank-`rank` decomposition of ``[U Σ Vᵀ; rows]``.

    Parameters
    ----------
    values, right : ndarray of shape (k,) and (n_columns, k)
        Σ and V of the rows so far.
    rows : CSR matrix of shape (n_new_rows, n_columns)
        The new rows.
    rank : int
        Most singular values to keep.
    tol : float, default=1e-3
        As in :func:`topicfold.lsi.truncated_svd`.
    max_iter, threads : int
        As in :func:`topicfold.lsi.truncated_svd`.

    Returns
    -------
    RowUpdate
        A column keeps the sign of the old one that it is nearest to.

    Notes
    -----
    Exact when the rows so far have no more than k singular values. Otherwise the old
    rows take part as their projection: with E their part of ``AᵀA`` that was cut off,
    a squared singular value is at least that of a fresh decomposition less ‖E‖, never
    above it, and their sum is at least the fresh sum less the trace of E.

    References
    ----------
    H. Zha & H. D. Simon (1999). On updating problems in latent semantic indexing. SIAM
    J. Sci. Comput. 21(2). doi:10.1137/S1064827597329266

    Examples
    --------
    >>> X = sparse.csr_matrix([[3.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 5.0]])
    >>> add_rows(np.array([3.0]), np.eye(3)[:, :1], X[1:], rank=2).values
    array([5., 4.])
    """
    by_row = SparseRows(rows, threads)
    by_term = SparseRows(rows.T.tocsr(), threads)
    with one_blas_thread():
        images = by_row @ right
        k, n_rows = len(values), len(values) + len(images)
        coupling = images * values

        def apply(block: Doubles) -> Doubles:
            old, new = block[:k], block[k:]
            image = np.empty_like(block)
            image[:k] = (old.T * values**2).T + coupling.T @ new
            image[k:] = by_row @ (by_term @ new) + coupling @ old
            return image

        squares, left = largest_eigenpairs(apply, n_rows, rank, tol, max_iter)
        left = left[:, significant(squares)]
        found = np.sqrt(squares[significant(squares)])
        left = left * column_signs(left[:k])
        weights = left / found
        columns = tall_product(right, values[:, None] * weights[:k], threads)
        columns += by_term @ weights[k:]
        return RowUpdate(found, normalised(columns)[0], left[:k], left[k:])
