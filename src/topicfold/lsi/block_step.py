# SPDX-License-Identifier: BSD-3-Clause
"""One step of a block method for added rows, which mostly is enough.

``M = [Σ Vᵀ; N]`` is decomposed within the span of V and ``Rᵀ X``, where ``P = N V`` and
``R = N - P Vᵀ`` is what V lacks of the new rows. X are the directions that couple to V,
those of P, with some that R itself is strong in. In these coordinates

    MᵀM = [[Σ² + PᵀP, Pᵀ W], [Wᵀ P, WᵀW]],    W = R Y,    Y = orthonormal ``Rᵀ X``,

and R is never formed: ``R Rᵀ = N Nᵀ - P Pᵀ``. All vectors V are improved at once, where
a Lanczos method that starts from nothing has to find them again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from topicfold.core.typing import Doubles
from topicfold.lsi._vector_rows import WIDE, WIDTH
from topicfold.lsi.products import SparseRows

# The step is good enough if it loses less than this part of what truncation drops.
LOSS = 0.01
# Directions of the rest that do not depend on what it has in common with V.
_N_RANDOM = WIDTH
# Parts of the rest below this share of the smallest value kept are left out.
_FAINT = 1e-6
# A direction with less of its own than this depends on those before it.
_DEPENDENT = 1e-5
# The power method finds the norm of the rest from below; this is added for safety.
_SAFETY = 2.0


class AddedPairs(NamedTuple):
    """Singular pairs of ``[Σ Vᵀ; N]``; right vectors are ``V @ turn + Nᵀ @ share``.

    Attributes
    ----------
    values : ndarray of shape (new_rank,)
        Singular values, falling.
    turn : ndarray of shape (k, new_rank)
    share : ndarray of shape (n_new_rows, new_rank)
    old_left : ndarray of shape (k, new_rank)
        Upper part of the left vectors.
    new_left : ndarray of shape (n_new_rows, new_rank)
        Lower part of the left vectors.
    """

    values: Doubles
    turn: Doubles
    share: Doubles
    old_left: Doubles
    new_left: Doubles


def block_step(
    values: Doubles,
    images: Doubles,
    by_row: SparseRows,
    by_term: SparseRows,
    *,
    new_left: bool = True,
) -> AddedPairs | None:
    """Return the best k pairs within one block step; None if it would lose too much.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Σ, all positive.
    images : ndarray of shape (n_new_rows, k)
        ``P = N V``; more than k + 8 rows.
    by_row, by_term : SparseRows
        N and its transpose.
    new_left : bool, default=True
        Whether `new_left` is wanted; it is empty otherwise.

    Notes
    -----
    With τ the squared norm of the part of R outside Y, a squared singular value λ whose
    vector has coordinates b along Y is too small by at most ``τ ‖W b‖² / (λ - τ)``. For
    τ twice what a short power method finds is taken. The step is refused if the losses
    come to more than `LOSS` of the squares that the truncation drops.

    Examples
    --------
    >>> from scipy import sparse
    >>> N = sparse.csr_matrix(np.eye(40)[:, ::-1])
    >>> P = np.eye(40)[:, -2:]  # V has the first two columns
    >>> products = SparseRows(N), SparseRows(N.T.tocsr())
    >>> found = block_step(np.array([40.0, 30.0]), P, *products)
    >>> found.values.round(3)
    array([40.012, 30.017])
    """
    rng = np.random.RandomState(0)
    rest = _Rest(images, by_row, by_term)
    random = rng.standard_normal((len(images), _N_RANDOM))
    image = rest @ random
    X = _independent(np.hstack([images, image]))
    if X is None:
        return None
    coupled = images.T @ X
    W, whiten = _orthonormal(rest.times(X, coupled), X, _FAINT * values[-1] ** 2)
    inner = W.T @ W
    squares, old, new = _ritz(values, images, W, inner)
    outside = _SAFETY * _largest(rest, W, image - W @ (W.T @ random))
    if outside >= squares[-1]:
        return None
    lost = outside * np.einsum("ij,ij->j", new, inner @ new) / (squares - outside)
    total = np.square(by_row.data, dtype=np.float64).sum() + (values**2).sum()
    if lost.sum() > LOSS * (total - squares.sum()):
        return None
    weights = whiten @ new
    found = np.sqrt(squares)
    left = (images @ old + W @ new) / found if new_left else np.empty((0, len(values)))
    turn = old - coupled @ weights
    return AddedPairs(found, turn, X @ weights, values[:, None] * old / found, left)


class _Rest:
    """``R Rᵀ = N Nᵀ - P Pᵀ``, to be multiplied by blocks."""

    def __init__(
        self, images: Doubles, by_row: SparseRows, by_term: SparseRows
    ) -> None:
        self.images = images
        self.by_row = by_row
        self.by_term = by_term
        self._work = np.empty(by_term.shape[0] * WIDE)

    def __matmul__(self, block: Doubles) -> Doubles:
        return self.times(block, self.images.T @ block)

    def times(self, block: Doubles, coupled: Doubles) -> Doubles:
        """Return the product with a block of which ``Pᵀ block`` is known."""
        out = self.images @ coupled
        # Few columns at a time: ``Nᵀ block`` has many rows, and so stays in the cache.
        n_parts = -(-block.shape[1] // WIDE)
        for columns in np.array_split(np.arange(block.shape[1]), n_parts):
            part = slice(columns[0], columns[-1] + 1)
            work = self._work[: self.by_term.shape[0] * len(columns)]
            work = work.reshape(-1, len(columns))
            self.by_term.multiply(np.ascontiguousarray(block[:, part]), work)
            out[:, part] = self.by_row @ work - out[:, part]
        return out


def _independent(X: Doubles) -> Doubles | None:
    """Return nearly orthonormal columns; None if some of X depend on the others."""
    lengths = np.sqrt(np.einsum("ij,ij->j", X, X))
    if not lengths.all():
        return None
    X = X / lengths
    try:
        factor = cholesky(X.T @ X)
    except LinAlgError:
        return None
    if factor.diagonal().min() < _DEPENDENT:
        return None
    return np.asarray(X @ solve_triangular(factor, np.eye(len(factor))))


def _orthonormal(image: Doubles, X: Doubles, faint: float) -> tuple[Doubles, Doubles]:
    """Return ``W = R Y`` and w, so that ``Y = Rᵀ X w`` is orthonormal.

    `image` is ``R Rᵀ X``.
    """
    sizes, axes = eigh(X.T @ image, driver="evd")
    alive = sizes > faint
    whiten = axes[:, alive] / np.sqrt(sizes[alive])
    return image @ whiten, whiten


def _ritz(
    values: Doubles, images: Doubles, W: Doubles, inner: Doubles
) -> tuple[Doubles, Doubles, Doubles]:
    """Return the k largest eigenvalues of the projected ``MᵀM``, and their vectors."""
    k, size = len(values), len(values) + len(inner)
    projected = np.zeros((size, size))
    # Only the lower triangle is read.
    projected[:k, :k] = images.T @ images
    projected[range(k), range(k)] += values**2
    projected[k:, :k] = W.T @ images
    projected[k:, k:] = inner
    squares, vectors = eigh(projected, driver="evd")
    best = slice(None, -k - 1, -1)
    return squares[best], vectors[:k, best], vectors[k:, best]


def _largest(rest: _Rest, W: Doubles, start: Doubles) -> float:
    """Return about the largest eigenvalue of ``R Rᵀ - W Wᵀ``, from below.

    `start` is a block that the matrix has been applied to once.
    """
    basis = np.linalg.qr(start)[0]
    return float(np.linalg.norm(rest @ basis - W @ (W.T @ basis), 2))
