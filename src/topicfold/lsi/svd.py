# SPDX-License-Identifier: BSD-3-Clause
"""Truncated singular value decomposition of a sparse matrix.

Block Lanczos on the smaller of ``X Xᵀ`` and ``Xᵀ X``, neither of which is formed. The
other side's vectors follow from one product. Time O(nnz) a vector of the basis (about
three to five times as many as the rank), memory O(nnz + min(D, V)·rank + (D + V)·rank).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from topicfold.core.typing import Doubles
from topicfold.lsi.lanczos import largest_eigenpairs
from topicfold.lsi.products import SparseRows, TallPanels, one_blas_thread

# A singular value below this part of the largest counts as zero: the squares that the
# method works on have no digits left for it.
RANK_TOL = 1e-7
# Beyond this ratio of singular values the derived vectors are made orthogonal again.
SPREAD = 1e3


class TruncatedSVD(NamedTuple):
    """``X ≈ left · diag(values) · rightᵀ`` with orthonormal columns.

    Attributes
    ----------
    left : ndarray of shape (n_rows, rank)
    values : ndarray of shape (rank,)
        In falling order, all positive.
    right : ndarray of shape (n_columns, rank)
        Of every column the entry of largest size is positive.
    n_iter : int
        Products of the matrix and its transpose with a block of vectors.
    """

    left: Doubles
    values: Doubles
    right: Doubles
    n_iter: int


def truncated_svd(
    X: sparse.csr_matrix,
    rank: int,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    random_state: np.random.RandomState | None = None,
    threads: int = 1,
) -> TruncatedSVD:
    """Return the largest singular values of a sparse matrix and their vectors.

    Parameters
    ----------
    X : CSR matrix of float32 or float64
        Is not changed. The computation is in float64 for both.
    rank : int
        Wanted number of singular values; fewer are returned if the matrix has fewer
        that are not zero.
    tol : float, default=1e-6
        Largest relative residual ``‖X Xᵀ u - σ² u‖ / σ²``. The singular values, and so
        the reconstruction error, are accurate to the order of its square.
    max_iter : int, default=1000
        Most block iterations.
    random_state : RandomState or None, default=None
        For the first block; None is a fixed seed.
    threads : int, default=1
        Threads; the same bits for any number.

    Returns
    -------
    TruncatedSVD

    Examples
    --------
    >>> X = sparse.csr_matrix([[3.0, 0.0, 0.0], [0.0, 4.0, 0.0]])
    >>> truncated_svd(X, 5).values
    array([4., 3.])
    """
    rng = np.random.RandomState(0) if random_state is None else random_state
    rows = SparseRows(X, threads)
    columns = SparseRows(X.T.tocsr(), threads)
    turned = X.shape[0] > X.shape[1]
    small, large = (columns, rows) if turned else (rows, columns)
    n_small = small.shape[0]
    with one_blas_thread():
        pairs = largest_eigenpairs(
            lambda block: small @ (large @ block),
            n_small,
            min(rank, n_small),
            tol=tol,
            max_iter=max_iter,
            rng=rng,
            threads=threads,
        )
        near = pairs.vectors[:, significant(pairs.values)]
        far, values = normalised(large @ near, threads)
        left, right = (far, near) if turned else (near, far)
        signs = column_signs(right)
        near *= signs
        far *= signs
    return TruncatedSVD(left, values, right, pairs.n_iter)


def significant(squares: Doubles) -> slice:
    """Return the places of the squared singular values that are not noise."""
    largest = max(float(squares.max(initial=0.0)), 0.0)
    return slice(0, int(np.count_nonzero(squares > RANK_TOL**2 * largest)))


def normalised(image: Doubles, threads: int) -> tuple[Doubles, Doubles]:
    """Return the columns of `image` at length one, and their lengths.

    The columns are orthogonal up to rounding; where the lengths are far apart that is
    not enough, and they are made orthogonal by a small correction.
    """
    panels = TallPanels(len(image), threads)
    lengths = np.sqrt(np.einsum("ij,ij->j", image, image))
    image = image if image.flags.c_contiguous else image.copy()
    image /= lengths
    if len(lengths) and lengths.max() > SPREAD * lengths.min():
        # (1 + E)^-1/2 for the small E = unitᵀ unit - 1.
        values, vectors = np.linalg.eigh(panels.cross(image, image))
        image = panels.product(image, vectors / np.sqrt(values) @ vectors.T)
    return image, lengths


def column_signs(vectors: Doubles) -> Doubles:
    """Return ±1 for every column: the sign of its entry of largest size."""
    if not vectors.size:
        return np.ones(vectors.shape[1])
    return np.where(-vectors.min(axis=0) > vectors.max(axis=0), -1.0, 1.0)
