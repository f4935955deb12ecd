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
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.typing import Doubles
from topicfold.lsi.block_step import AddedPairs, block_step
from topicfold.lsi.lanczos import DENSE_ROWS, largest_eigenpairs
from topicfold.lsi.products import SparseRows, TallPanels, one_blas_thread
from topicfold.lsi.svd import SPREAD, column_signs, normalised, significant

# A smaller share of the old directions is not kept in the rotation: its inverse, and
# so the rounding errors of the base, would grow beyond a thousandfold.
_WEAK = 1e-3


class RotatedBasis:
    """Orthonormal columns, kept as ``base @ rotation``.

    An update turns all columns but changes few rows. Turning the small matrix instead
    of the large one makes its cost independent of the number of rows.

    Parameters
    ----------
    base : ndarray of shape (n_rows, k)
    rotation : ndarray of shape (k, k), optional
        Default: the identity.
    """

    def __init__(self, base: Doubles, rotation: Doubles | None = None) -> None:
        self.base = base
        self.rotation = np.eye(base.shape[1]) if rotation is None else rotation

    def matrix(self, threads: int = 1) -> Doubles:
        """Return the columns themselves; not a copy if nothing is to be turned."""
        if np.array_equal(self.rotation, np.eye(len(self.rotation))):
            return self.base
        with one_blas_thread():
            panels = TallPanels(len(self.base), threads)
            return panels.product(self.base, self.rotation)

    def project(self, rows: SparseRows) -> Doubles:
        """Return ``rows @ matrix()``; a row does not depend on the others."""
        images = rows @ self.base
        # einsum, since BLAS may add in another order for another number of rows.
        return np.einsum("ij,jk->ik", images, self.rotation)


class RowUpdate(NamedTuple):
    """The decomposition with the new rows.

    Attributes
    ----------
    values : ndarray of shape (new_rank,)
        Singular values, falling.
    right : RotatedBasis
        Right singular vectors V′.
    old_left : ndarray of shape (rank, new_rank)
        Left vectors of the old rows are ``U @ old_left``.
    new_left : ndarray of shape (n_new_rows, new_rank)
        Left vectors of the new rows.
    """

    values: Doubles
    right: RotatedBasis
    old_left: Doubles
    new_left: Doubles


def add_rows(
    values: Doubles,
    right: RotatedBasis,
    rows: sparse.csr_matrix,
    rank: int,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    threads: int = 1,
    overwrite: bool = False,
    new_left: bool = True,
) -> RowUpdate:
    """Return the best rank-`rank` decomposition of ``[U Σ Vᵀ; rows]``.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Σ of the rows so far.
    right : RotatedBasis of k columns
        V of the rows so far.
    rows : CSR matrix of shape (n_new_rows, n_columns)
        The new rows.
    rank : int
        Most singular values to keep.
    tol : float, default=1e-3
        Largest relative residual, as in :func:`topicfold.lsi.truncated_svd`, where
        :func:`topicfold.lsi.block_step.block_step` is not good enough. The error
        that it leaves in the squares of singular values is of the order of its square.
    max_iter, threads : int
        As in :func:`topicfold.lsi.truncated_svd`.
    overwrite : bool, default=False
        Whether the base of `right` may be changed, which saves its copy.
    new_left : bool, default=True
        Whether left vectors of the new rows are wanted; without, they may be missing.

    Returns
    -------
    RowUpdate
        A column keeps the sign of the old one that it is nearest to.

    Notes
    -----
    Exact when the rows so far have no more than k singular values. Otherwise the old
    rows take part as their projection: with E their part of ``AᵀA`` that was cut off,
    a squared singular value is at least that of a fresh decomposition less ‖E‖, never
    above it, and their sum is at least the fresh sum less the trace of E. Many new rows
    are added by one block step where it loses, by an estimate from above, less than 1 %
    of the squares that the truncation drops anyway; both bounds grow by that loss.

    References
    ----------
    H. Zha & H. D. Simon (1999). On updating problems in latent semantic indexing. SIAM
    J. Sci. Comput. 21(2). doi:10.1137/S1064827597329266

    Examples
    --------
    >>> X = sparse.csr_matrix([[3.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 5.0]])
    >>> right = RotatedBasis(np.eye(3)[:, :1])
    >>> add_rows(np.array([3.0]), right, X[1:], rank=2).values
    array([5., 4.])
    """
    terms, local = _present_columns(rows)
    by_row, by_term = SparseRows(local, threads), SparseRows(local.T.tocsr(), threads)
    with one_blas_thread():
        images = (SparseRows(rows, threads) @ right.base) @ right.rotation
        found = None
        if _is_large(len(values), rows.shape[0], rank) and not _is_spread(values):
            found = block_step(values, images, by_row, by_term, new_left=new_left)
        if found is None:
            found = _by_lanczos(values, images, local, rank, tol, max_iter)
        signs = column_signs(found.old_left)
        turn, share = found.turn * signs, found.share * signs
        spread = _is_spread(found.values)
        turned = None if spread else _turned(right, turn, overwrite, threads)
        if turned is None:
            panels = TallPanels(len(right.base), threads)
            columns = panels.product(right.base, right.rotation @ turn)
            columns[terms] += by_term @ share
            basis = RotatedBasis(normalised(columns, threads)[0])
        else:
            basis, inverse = turned
            by_term.add_product(share @ inverse, terms, basis.base)
    return RowUpdate(
        found.values, basis, found.old_left * signs, found.new_left * signs
    )


def _is_large(k: int, n_new: int, rank: int) -> bool:
    """Tell whether a dense solver is too slow, and the model has its full rank."""
    return k == rank and k + n_new > 2 * rank + DENSE_ROWS


def _is_spread(values: Doubles) -> bool:
    return bool(values[0] > SPREAD * values[-1])


def _by_lanczos(
    values: Doubles,
    images: Doubles,
    rows: sparse.csr_matrix,
    rank: int,
    tol: float,
    max_iter: int,
) -> AddedPairs:
    """Return the largest pairs of ``M Mᵀ``, whatever the new rows are."""
    k, n_rows = len(values), len(values) + len(images)
    # Many products so small that handing them to threads would cost more than it saves.
    by_row, by_term = SparseRows(rows), SparseRows(rows.T.tocsr())
    coupling = images * values

    def apply(block: Doubles) -> Doubles:
        image = np.empty_like(block)
        old, new = block[:k], block[k:]
        image[:k] = (values**2)[:, None] * old + coupling.T @ new
        image[k:] = by_row @ (by_term @ new)
        image[k:] += coupling @ old
        return image

    pairs = largest_eigenpairs(
        apply,
        n_rows,
        min(rank, n_rows),
        tol=tol,
        max_iter=max_iter,
        rng=np.random.RandomState(0),
    )
    kept = significant(pairs.values)
    left, found = pairs.vectors[:, kept], np.sqrt(pairs.values[kept])
    turn = values[:, None] * left[:k] / found
    return AddedPairs(found, turn, left[k:] / found, left[:k], left[k:])


def _turned(
    right: RotatedBasis, turn: Doubles, overwrite: bool, threads: int
) -> tuple[RotatedBasis, Doubles] | None:
    """Return ``right @ turn`` with a rotation that can be inverted without loss.

    The turn goes into the small matrix. A new direction that is nearly orthogonal to
    all the old ones has nearly no share of them, and the small matrix could not be
    inverted; such a share is kept in the base instead, and the matrix gets a one. None
    if that are too many, or if the number of directions changes. The inverse of the
    rotation is returned, too.
    """
    rotation = right.rotation @ turn
    if rotation.shape[0] != rotation.shape[1]:
        return None
    base = right.base if overwrite else right.base.copy()
    inverse = _tame_inverse(rotation)
    if inverse is not None:
        return RotatedBasis(base, rotation), inverse
    outer, sizes, inner = np.linalg.svd(rotation)
    weak = sizes < _WEAK
    if weak.sum() > max(len(sizes) // 4, 1):
        return None
    axes, scales = outer[:, weak], sizes[weak] - 1.0
    TallPanels(len(base), threads).add_within(base, axes, scales[:, None] * axes.T)
    sizes = np.where(weak, 1.0, sizes)
    return RotatedBasis(base, (outer * sizes) @ inner), (inner.T / sizes) @ outer.T


def _tame_inverse(rotation: Doubles) -> Doubles | None:
    """Return the inverse if no direction is weak, which its norm tells."""
    try:
        inverse = np.asarray(np.linalg.inv(rotation), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    return inverse if np.linalg.norm(inverse) <= 1 / _WEAK else None


def _present_columns(
    rows: sparse.csr_matrix,
) -> tuple[NDArray[np.integer], sparse.csr_matrix]:
    """Return the columns that have an entry, and the matrix of these alone."""
    present = np.zeros(rows.shape[1], bool)
    present[rows.indices] = True
    terms = np.flatnonzero(present)
    place = np.cumsum(present, dtype=np.int32) - 1
    local = (rows.data, place[rows.indices], rows.indptr)
    return terms, sparse.csr_matrix(local, shape=(rows.shape[0], len(terms)))
