# SPDX-License-Identifier: BSD-3-Clause
"""Largest eigenpairs of a symmetric operator by block Lanczos with thick restart.

A block of eight vectors meets the operator at a time, because eight products with a
sparse matrix cost little more than one. Every new block is made orthogonal to the
whole basis, so no copies of converged pairs appear; a block that loses rank is filled
up with random directions. When the basis is full it is restarted with the best Ritz
vectors (the Krylov-Schur method of Wu & Simon 2000, in blocks).
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning

from topicfold.core.typing import Doubles
from topicfold.lsi.products import WIDTH, TallPanels

logger = logging.getLogger(__name__)

# Up to this many rows beyond twice the wanted pairs the dense solver is as quick.
DENSE_ROWS = 128
# Eigenvalues below this part of the largest are rounding noise.
NOISE = 1e-13
# A block with a smaller ratio of squared lengths is made orthogonal once more.
_ILL_CONDITIONED = 1e-6


class Eigenpairs(NamedTuple):
    """Eigenvalues in falling order, eigenvectors as columns, and operator calls."""

    values: Doubles
    vectors: Doubles
    n_iter: int


def largest_eigenpairs(
    apply: Callable[[Doubles], Doubles],
    n_rows: int,
    n_pairs: int,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    rng: np.random.RandomState,
    threads: int = 1,
) -> Eigenpairs:
    """Return the largest eigenpairs of a positive semi-definite operator.

    Parameters
    ----------
    apply : callable
        The operator: takes and returns an array of shape (n_rows, b), C-contiguous.
    n_rows : int
        Size of the operator.
    n_pairs : int
        Number of pairs, at most `n_rows`.
    tol : float, default=1e-6
        Largest residual ``‖G u - λ u‖`` of a pair, relative to its λ. The error of λ
        is of the order of its square.
    max_iter : int, default=1000
        Most calls of the operator; a warning is given when they do not suffice.
    rng : RandomState
        For the first block.
    threads : int, default=1
        Threads for the dense work; no effect on the result.

    Returns
    -------
    Eigenpairs

    Examples
    --------
    >>> G = np.diag(np.arange(1000.0))
    >>> found = largest_eigenpairs(
    ...     lambda block: G @ block, 1000, 3, rng=np.random.RandomState(0)
    ... )
    >>> found.values.round(6)
    array([999., 998., 997.])
    """
    if n_rows <= 2 * n_pairs + DENSE_ROWS:
        dense = apply(np.eye(n_rows))
        values, vectors = eigh((dense + dense.T) / 2, driver="evd")
        order = slice(None, -n_pairs - 1, -1)
        return Eigenpairs(values[order], vectors[:, order], 1)
    basis = _Basis(n_rows, n_pairs, rng, threads)
    check = _Schedule(n_pairs, tol)
    for n_iter in range(1, max_iter + 1):
        basis.extend(apply)
        last = n_iter == max_iter
        full = basis.size + WIDTH > basis.capacity
        if not (last or full or check.due(basis.size)):
            continue
        ritz = basis.ritz()
        if check.converged(ritz, basis.size) or last:
            break
        if full:
            basis.restart(ritz)
            check.restarted(basis.size)
    if not check.done:
        warnings.warn(
            f"{n_pairs} eigenpairs did not converge in {max_iter} iterations: the "
            f"largest relative residual is {check.error:.1e}, tol is {tol:.1e}. Raise "
            "max_iter or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    logger.debug("%d eigenpairs after %d iterations", n_pairs, n_iter)
    vectors = basis.rotated(ritz.vectors[:, :n_pairs])
    return Eigenpairs(ritz.values[:n_pairs], vectors, n_iter)


class _Ritz(NamedTuple):
    values: Doubles
    vectors: Doubles
    residuals: Doubles


class _Schedule:
    """When to look at the Ritz pairs: rarely, since a look costs basis size cubed."""

    def __init__(self, n_pairs: int, tol: float) -> None:
        self.n_pairs = n_pairs
        self.tol = tol
        self.next = int(1.5 * n_pairs) + 2 * WIDTH
        self.before: tuple[int, float] | None = None
        self.error = np.inf
        self.done = False

    def due(self, size: int) -> bool:
        return size >= self.next

    def converged(self, ritz: _Ritz, size: int) -> bool:
        values, errors = ritz.values[: self.n_pairs], ritz.residuals[: self.n_pairs]
        floor = max(float(values[0]), 0.0) * NOISE
        relative = errors / np.maximum(values, np.finfo(float).tiny)
        relative[errors <= floor] = 0.0
        self.error = float(relative.max())
        self.done = self.error <= self.tol
        if not self.done:
            self.next = size + self._steps(size) * WIDTH
            self.before = (size, self.error)
        return self.done

    def restarted(self, size: int) -> None:
        self.next = size + 6 * WIDTH
        self.before = None

    def _steps(self, size: int) -> int:
        """Foresee where the residual will be small; it falls ever faster."""
        if self.before is None or self.error >= self.before[1]:
            return 4
        old_size, old_error = self.before
        rate = (np.log(old_error) - np.log(self.error)) / (size - old_size)
        needed = (np.log(self.error) - np.log(max(self.tol, 1e-15))) / rate
        return int(np.clip(round(0.7 * needed / WIDTH), 1, 6))


class _Basis:
    """An orthonormal basis Q and the projection ``T = Qᵀ G Q`` of the operator."""

    def __init__(
        self, n_rows: int, n_pairs: int, rng: np.random.RandomState, threads: int
    ) -> None:
        # The waiting block must find room beside the basis.
        self.capacity = min(4 * n_pairs + 20 * WIDTH, n_rows - WIDTH)
        self.keep = n_pairs + 2 * WIDTH
        self.panels = TallPanels(n_rows, threads)
        self.rng = rng
        self.n_rows = n_rows
        # By columns: a new block then touches only its own pages of memory.
        self.vectors = np.empty((self.capacity, n_rows)).T
        self.projected = np.zeros((self.capacity, self.capacity))
        self.size = 0
        self.coupling = np.zeros((WIDTH, WIDTH))
        # The recurrence has three terms; after a restart it once has all.
        self.window = 0
        self.scale = 0.0
        self.block = self._orthonormal(rng.standard_normal((n_rows, WIDTH)))[0]

    def extend(self, apply: Callable[[Doubles], Doubles]) -> None:
        """Take the waiting block into the basis, and make the next one."""
        start, stop = self.size, self.size + WIDTH
        self.vectors[:, start:stop] = self.block
        self.size = stop
        image = apply(self.block)
        recent = self.vectors[:, self.window : stop]
        overlap = self.panels.cross(recent, image)
        self.projected[self.window : stop, start:stop] = overlap
        self.panels.subtract(image, recent, overlap)
        self._remove_basis(image)
        self.scale = max(self.scale, float(np.abs(overlap).max()))
        self.block, self.coupling = self._orthonormal(image)
        self.window = start

    def ritz(self) -> _Ritz:
        """Return the eigenpairs of T, largest first, with their residuals."""
        upper = np.triu(self.projected[: self.size, : self.size])
        values, vectors = eigh(upper, lower=False, driver="evd")
        values, vectors = values[::-1], vectors[:, ::-1]
        residuals = np.linalg.norm(self.coupling @ vectors[-WIDTH:], axis=0)
        return _Ritz(values, vectors, residuals)

    def restart(self, ritz: _Ritz) -> None:
        """Keep only the best Ritz vectors; the waiting block stays."""
        keep = min(self.keep, self.capacity - 2 * WIDTH)
        self.vectors[:, :keep] = self.rotated(ritz.vectors[:, :keep])
        self.projected[:] = 0.0
        np.fill_diagonal(self.projected[:keep, :keep], ritz.values[:keep])
        self.size = keep
        self.window = 0

    def rotated(self, rotation: Doubles) -> Doubles:
        """Return the basis times a small matrix."""
        return self.panels.product(self.vectors[:, : self.size], rotation)

    def _remove_basis(self, block: Doubles) -> None:
        basis = self.vectors[:, : self.size]
        self.panels.subtract(block, basis, self.panels.cross(basis, block))

    def _orthonormal(self, block: Doubles) -> tuple[Doubles, Doubles]:
        """Return an orthonormal Z, orthogonal to the basis, and C with block = Z C."""
        turn, coupling, good = _whiten(self.panels.cross(block, block), self.scale)
        block = self.panels.product(block, turn)
        while not good:
            lost = np.flatnonzero(~turn.any(axis=0))
            block[:, lost] = self.rng.standard_normal((self.n_rows, len(lost)))
            block[:, lost] /= np.sqrt(self.n_rows)
            self._remove_basis(block)
            turn, again, good = _whiten(self.panels.cross(block, block), 1e-3)
            block = self.panels.product(block, turn)
            coupling = again @ coupling
        return block, coupling


def _whiten(gram: Doubles, scale: float) -> tuple[Doubles, Doubles, bool]:
    """Return t and c with ``tᵀ gram t = 1`` and ``t c = 1``, and whether it is sound.

    Columns are brought to equal length first (Stathopoulos & Wu 2002). Directions
    that are noise beside `scale` get zero columns in t and zero rows in c.
    """
    lengths = np.sqrt(np.maximum(np.diag(gram), 0.0))
    alive = lengths > 1e-13 * scale
    inverse = np.where(alive, 1.0 / np.where(alive, lengths, 1.0), 0.0)
    values, vectors = np.linalg.eigh(inverse[:, None] * gram * inverse)
    alive = values > 1e-13
    roots = np.sqrt(np.where(alive, values, 0.0))
    turn = (
        inverse[:, None] * vectors * np.where(alive, 1 / np.where(alive, roots, 1), 0)
    )
    coupling = roots[:, None] * vectors.T * lengths
    sound = bool(values[0] > _ILL_CONDITIONED)
    return turn, coupling, sound
