# SPDX-License-Identifier: BSD-3-Clause
"""Topics by slice: the words of a topic depend on a document's time or group.

A document of slice t sees the columns (t, w) of a wider matrix, of which only pairs
that occur are made, so that its non-zeros are those of X. Slices are tied to each other
by the counts that they share, and to the common topic:

    φ_kw ∝ Σ_t N_twk + η,   φ_tkw ∝ Σ_s ρ^|t−s| N_swk + η + κ φ_kw

with ρ = 0 for groups, which have no order; with ρ = 1 every slice has the common topic.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.jit import kernel
from topicfold.core.typing import Array
from topicfold.corpus.block_corpus import BlockCorpus, pair_keys
from topicfold.exceptions import DataError
from topicfold.parts.sides import is_missing
from topicfold.parts.steps import Context, PhiStep

Matrix = NDArray[np.float64]
Numbers = NDArray[np.integer]
# Expected tokens of a word that is shown as one of a slice.
LEAST_TOKENS = 2.0


class Slices:
    """Pairs of word and slice that occur, and the counts of topics in them.

    `_rho` ties neighbouring slices, `_kappa` (tokens) each to the common topic.
    """

    # Of a fit: sorted pairs, expected counts in them, and the prior in use.
    pair_words_: Numbers
    pair_slices_: Numbers
    pair_counts_: Array
    n_slices_: int
    n_terms_: int
    eta_: float

    def _rho(self) -> float:
        return 0.0

    def _kappa(self) -> float:
        raise NotImplementedError

    def widen(self, X: Any, slices: Numbers, n_slices: int) -> Any:
        """Return X with a column for each pair of a word and a slice that occurs.

        A corpus in blocks stays in blocks.
        """
        if isinstance(X, BlockCorpus):
            blocks, pairs = X.by_slice(slices, n_slices)
            self._keep_pairs(pairs, n_slices, X.shape[1])
            return blocks
        keys = pair_keys(X, slices, n_slices)
        pairs, columns = np.unique(keys, return_inverse=True)
        self._keep_pairs(pairs, n_slices, X.shape[1])
        shape = X.shape[0], len(pairs)
        return sparse.csr_matrix((X.data, columns.ravel(), X.indptr), shape)

    def _keep_pairs(self, pairs: Numbers, n_slices: int, n_terms: int) -> None:
        self.pair_words_, self.pair_slices_ = pairs // n_slices, pairs % n_slices
        self.n_slices_, self.n_terms_ = int(n_slices), int(n_terms)

    def take(self, counts: Array, eta: float) -> None:
        """Keep expected counts (pairs, K), which all topics are made of."""
        self.pair_counts_, self.eta_ = np.ascontiguousarray(counts), float(eta)

    def _summed(self, places: Numbers, size: int, weights: Any = None) -> Matrix:
        """Return the sums of the pairs' counts (size, K) by place."""
        counts = self.pair_counts_
        weights = np.ones(len(places)) if weights is None else weights
        total = np.zeros((size, counts.shape[1]))
        add_rows(places, weights, counts, total)
        return total

    def _kernel(self, positions: Any) -> Matrix:
        """Return ``ρ^|t−s|`` for positions t and all slices s."""
        gaps = np.abs(np.subtract.outer(positions, np.arange(self.n_slices_)))
        return np.asarray(np.power(self._rho(), gaps, dtype=np.float64))

    def common(self) -> Matrix:
        """Return the common topics (K, V)."""
        counts = self._summed(self.pair_words_, self.n_terms_) + self.eta_
        return np.asarray((counts / counts.sum(axis=0)).T)

    def topics_of(self, position: float) -> Matrix:
        """Return the topics (K, V) of a slice, or of a place between or after them."""
        weights = self._kernel(np.array([float(position)]))[0][self.pair_slices_]
        counts = self._summed(self.pair_words_, self.n_terms_, weights)
        counts += self._kappa() * self.common().T + self.eta_
        return np.asarray((counts / counts.sum(axis=0)).T)

    def words_of(self, number: int) -> Matrix:
        """Return the topics (K, V) of a slice, 0 where it has no word of a topic.

        A word of a topic has two expected tokens or more there.
        """
        here = self.pair_slices_ == number
        own = np.zeros((self.n_terms_, self.pair_counts_.shape[1]))
        own[self.pair_words_[here]] = self.pair_counts_[here]
        return np.where(own.T >= LEAST_TOKENS, self.topics_of(number), 0.0)

    def _check_slices(self, n_topics: int, n_terms: int) -> None:
        """Refuse loaded pairs that are not those of topics of this size."""
        words, slices, counts = self.pair_words_, self.pair_slices_, self.pair_counts_
        numbers = isinstance(words, np.ndarray) and isinstance(slices, np.ndarray)
        if not numbers or words.dtype.kind != "i" or slices.dtype.kind != "i":
            raise ValueError("pair_words_ and pair_slices_ are not whole numbers")
        size = len(words)
        if self.n_terms_ != n_terms or slices.shape != words.shape or size == 0:
            raise ValueError("pairs of words and slices do not fit the topics")
        if counts.shape != (size, n_topics) or not np.isfinite(counts).all():
            raise ValueError(f"pair_counts_ has shape {counts.shape}")
        inside = 0 <= words.min() <= words.max() < n_terms
        if not inside or not 0 <= slices.min() <= slices.max() < self.n_slices_:
            raise ValueError("a pair is outside of the words or slices")
        if (counts < 0).any() or not 0 < self.eta_ < np.inf:
            raise ValueError("pair_counts_ or eta_ is negative")
        for name in ("strength", "eta"):
            value = getattr(self, name, 1.0)
            if not isinstance(value, Real) or not 0 <= float(value) < np.inf:
                raise ValueError(f"{name} is {value!r}, not a number of tokens")


class GroupedPhi(Slices, PhiStep):
    """Topics by group of documents, pulled towards the common topic (content).

    ``φ_gkw ∝ N_gwk + η + κ φ_kw``. Works on the wider matrix of `widen`.

    Parameters
    ----------
    strength : float, default=3000.0
        κ, in tokens: with more, groups share more of a topic's words.
    eta : float, default=0.01
        Prior of the common topics, in tokens.
    """

    needs_all_words = True
    normalized = True

    def __init__(self, strength: float = 3000.0, eta: float = 0.01) -> None:
        self.strength = strength
        self.eta = eta

    def _kappa(self) -> float:
        return float(self.strength)

    def prepare(self, context: Context) -> None:
        """Begin without counts: those of a fit that goes on come from its state."""
        shape = len(self.pair_words_), context.n_topics
        self.take(np.zeros(shape, np.asarray(context.topics).dtype), self.eta)

    def update(self, counts: Array, topics: Array, context: Context) -> Array:
        """Return the topics of every pair."""
        plain = np.empty_like(counts)
        plain[context.rows] = counts
        self.take(plain, self.eta)
        kappa, slices = self._kappa(), self.pair_slices_
        weights = kappa * self.common().T[self.pair_words_] + (plain + self.eta_)
        totals = self._summed(slices, self.n_slices_) + self.eta_ * self.n_terms_
        weights /= (totals + kappa)[slices]
        return weights[context.rows].astype(counts.dtype)


def numbered(values: Any, known: Any, what: str) -> Numbers:
    """Return the number of each value among the known ones, -1 where it is missing.

    Raises
    ------
    DataError
        If a value is not known.
    """
    place = {str(name): number for number, name in enumerate(known)}
    found = np.full(len(values), -1)
    for row, value in enumerate(values):
        if is_missing(value):
            continue
        if str(value) not in place:
            names = ", ".join(list(place)[:10])
            raise DataError(
                f"{what} is {value!r} in row {row}, which the fit did not have. It had "
                f"{names}; None uses the topics of all groups together."
            )
        found[row] = place[str(value)]
    return found


@kernel
def add_rows(places, weights, rows, out):
    """Add every row, times its weight, to the row of `out` at its place."""
    for i in range(rows.shape[0]):
        place = places[i]
        weight = weights[i]
        for k in range(rows.shape[1]):
            out[place, k] += weight * rows[i, k]
