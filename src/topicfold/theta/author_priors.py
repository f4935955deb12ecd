# SPDX-License-Identifier: BSD-3-Clause
"""A document's authors determine its prior, and the document has its own mixture.

In the author-topic model all documents of an author are alike. Real ones are not: with
their own mixtures around those of their authors, the mixtures of authors are learned
better, and new documents of known authors are predicted better
(benchmarks/results/sides_authors.md). Here

    θ_d ~ Dirichlet(c Σ_a M_da θ_a),   θ_a ∝ s m + Σ_d r_da ∘ θ_d

with c = Σ_k α_k of the model and m the mean of all documents; short documents count
less, ``n_d / (n_d + c)``. Either a document counts fully for each author, r = 1, or its
topics are divided among them, ``r_dak = M_da θ_ak / Σ_b M_db θ_bk``: the former is
right if authors write together because they write about the same. The prior of a
document is computed from its authors' other documents, without itself. How well each
fifth of the documents is predicted from the others, ``Σ_d Σ_k θ_dk log Σ_a M_da θ_ak``,
decides on r and on s, the weight of the mean of all in documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core import saved
from topicfold.core.typing import Array
from topicfold.exceptions import DataError
from topicfold.parts.steps import Context, Move, moved_shares
from topicfold.theta.authors import Authors

Matrix = NDArray[np.float64]
# Passes between two updates of the authors' mixtures.
LEARN_EVERY = 5
# Values of s to choose from, and the one without two documents of an author.
STRENGTHS = np.geomspace(0.03, 30.0, 13)
USUAL_STRENGTH = 0.3
# Share of the mean mixture that is spread evenly: no topic is impossible.
EVEN_SHARE = 0.01
# Parts of the documents that are hidden in turn to choose s and r, and the pass in
# which that is done again; fewer other documents of an author say nothing.
FOLDS, CHOOSE_AGAIN = 5, 20
LEAST_OTHERS = 0.5
# How often the topics of documents are divided among their authors anew.
DIVISIONS = 5


class AuthorPriors(Authors):
    """Authors determine the prior of a document, which has its own mixture.

    A document's prior is around the mean of its authors' mixtures, and an author's
    mixture is the mean of the author's documents, shrunk towards that of all documents;
    how much is learned, see the module. :class:`Authors`. A document without authors
    has the prior of all.

    Parameters
    ----------
    names : sequence of str or None, default=None
        Names of the columns, if the data is a matrix.

    Attributes
    ----------
    names_, sizes_, members_
        As in :class:`Authors`.
    entity_topics_ : ndarray of shape (n_entities, n_topics)
        Mixtures of the entities.
    mean_ : ndarray of shape (n_topics,)
        m, the mixture of entities that are not known.
    strength_ : float
        s, how many documents m is worth.
    divided_ : float
        1 if the topics of documents were divided among their authors, else 0.
    concentration_ : float
        c, how many tokens the prior of a document is worth.

    Examples
    --------
    >>> from topicfold import LDA
    >>> from topicfold.theta import AuthorPriors
    >>> X = [[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]]
    >>> authors = [["Ann"], ["Ann", "Bob"], ["Cid"], ["Cid"]]
    >>> model = LDA(2, sides=[AuthorPriors()], random_state=0).fit(X, authors=authors)
    >>> [name for name, _ in model.sides_[0].similar("Ann")]
    ['Bob', 'Cid']
    """

    hook = "prior"  # type: ignore[assignment]
    needs_all_documents = True
    learns_last = True
    _saved = saved.forms(
        mean_=saved.numbers("K", saved.SMALLEST),
        strength_=saved.number(saved.SMALLEST),
        concentration_=saved.number(saved.SMALLEST),
    )
    strength_: float = 0.0
    divided_: float = 0.0
    mean_: Matrix
    _prior: Matrix

    def carried(self, data: Any, context: Context) -> dict[str, tuple[int, ...]]:
        """Mixtures, their mean, s and the last prior."""
        shape = context.n_documents, context.n_topics
        entities = data.shape[1], context.n_topics
        return {
            "entity_topics_": entities,
            "mean_": shape[1:],
            "strength_": (),
            "concentration_": (),
            "divided_": (),
            "_prior": shape,
        }

    def free_topics(self, data: Any, context: Context) -> NDArray[np.bool_]:
        """All of them."""
        return np.ones(context.n_topics, dtype=bool)

    def follow(self, moves: Sequence[Move], data: Any) -> None:
        """Mixtures of authors, and priors, are added and divided."""
        if self.strength_ > 0:
            self.entity_topics_ = moved_shares(self.entity_topics_, moves)
            self.mean_ = moved_shares(self.mean_, moves)
            self._prior = moved_shares(self._prior, moves)

    def gather(self, counts: Array, data: Any, context: Context) -> tuple[Any, ...]:
        """Make the authors' mixtures of their documents', every few passes."""
        due = context.iteration % LEARN_EVERY == 0 and context.iteration
        if due or context.last:
            self._learn(counts, data, context)
        return ()

    def finish(self, context: Context) -> None:
        """Forget the documents' priors."""
        del self._prior

    def _learn(self, counts: Array, data: Any, context: Context) -> None:
        rows = np.asarray(counts, dtype=np.float64)
        lengths = rows.sum(axis=1, keepdims=True)
        total = self.concentration_ = float(context.alpha.sum())
        theta = rows / np.maximum(lengths, 1e-30)
        weights = (lengths / (lengths + total)).ravel()
        mean = weights @ theta / max(weights.sum(), 1e-30)
        self.mean_ = (1 - EVEN_SHARE) * mean + EVEN_SHARE / rows.shape[1]
        self.mean_ /= self.mean_.sum()
        rows_of, share = (
            _rows_of(data),
            data.data * np.diff(data.indptr)[_rows_of(data)],
        )
        # One if all authors count the same.
        parts = (weights[rows_of] * share)[:, None] * theta[rows_of]
        if context.last or self.strength_ == 0 or context.iteration == CHOOSE_AGAIN:
            self._choose(parts, theta, weights, data)
        if self.divided_:
            parts = self._divided(parts, data, self.strength_)
        sums, sizes = _totals(parts, data)
        top = sums + self.strength_ * self.mean_
        self.entity_topics_ = top / (sizes[:, None] + self.strength_)
        prior = self._predicted(parts, sums, sizes, data, self.strength_)
        prior[np.diff(data.indptr) == 0] = self.mean_
        self._prior = total * np.maximum(prior, 1e-6)

    def _choose(self, whole: Matrix, theta: Matrix, weights: Matrix, data: Any) -> None:
        """Choose s and r by predicting each fifth of the documents from the others."""
        rows = _rows_of(data)
        values = np.zeros((2, len(STRENGTHS)))
        for fold in range(FOLDS):
            hidden = np.arange(len(theta)) % FOLDS == fold
            seen = np.where(hidden[rows, None], 0.0, whole)
            sums, sizes = _totals(seen, data)
            # Hidden documents all of whose authors have others.
            hidden &= np.diff(data.indptr) > 0
            hidden[rows[sizes[data.indices] < LEAST_OTHERS]] = False
            told, own = weights[hidden, None] * theta[hidden], data[hidden]
            if not told.any():
                continue
            values[0] += self._values(sums, sizes, told, own)
            strength = float(STRENGTHS[values[0].argmax()])
            parts = self._divided(seen, data, strength)
            values[1] += self._values(*_totals(parts, data), told, own)
        best = np.unravel_index(values.argmax(), values.shape)
        known = bool(values.any())
        self.divided_ = float(best[0]) if known else 0.0
        self.strength_ = float(STRENGTHS[best[1]]) if known else USUAL_STRENGTH

    def _values(self, sums: Matrix, sizes: Matrix, told: Matrix, own: Any) -> Matrix:
        """Return how well documents are predicted with each s."""
        values = []
        for strength in STRENGTHS:
            mixtures = (sums + strength * self.mean_) / (sizes[:, None] + strength)
            logs = np.log(np.maximum(own @ mixtures, 1e-12))
            values.append(float((told * logs).sum()))
        return np.array(values)

    def _divided(self, whole: Matrix, data: Any, strength: float) -> Matrix:
        """Return documents' topics, divided by what their authors' others have."""
        rows, parts = _rows_of(data), whole
        for _ in range(DIVISIONS):
            own = self._others(parts, *_totals(parts, data), data, strength)
            own *= data.data[:, None]
            sums = _sum_rows(own, data)[rows]
            parts = np.asarray(whole * own / np.maximum(sums, 1e-30))
        return parts

    def _predicted(
        self, parts: Matrix, sums: Matrix, sizes: Matrix, data: Any, strength: float
    ) -> Matrix:
        """Return means of authors' mixtures that leave the document itself out."""
        own = self._others(parts, sums, sizes, data, strength)
        return _sum_rows(data.data[:, None] * own, data)

    def _others(
        self, parts: Matrix, sums: Matrix, sizes: Matrix, data: Any, strength: float
    ) -> Matrix:
        """Return the mixture of each author without the document (nnz, K)."""
        left = np.maximum(sums[data.indices] - parts, 0.0)
        n_left = np.maximum(sizes[data.indices] - parts.sum(axis=1), 0.0)[:, None]
        return np.asarray((left + strength * self.mean_) / (n_left + strength))

    def prior(self, data: Any, context: Context) -> Array:
        """Return α (D, K)."""
        if data is None:
            return (self.concentration_ * self.mean_)[None]
        if context.fitting:
            if not context.alpha.sum() > 0:
                raise DataError(
                    "AuthorPriors changes the prior of documents, but this model has "
                    "no such prior. Use LDA, or Authors."
                )
            shape = context.n_documents, context.n_topics
            even = np.broadcast_to(context.alpha, shape)
            return self._prior if self.strength_ > 0 else even
        return self.concentration_ * np.maximum(self.expected(data), 1e-6)

    def expected(self, data: Any) -> Matrix:
        """Return the mean mixture of each document's authors, or of all documents."""
        mixtures = np.vstack([self.entity_topics_, self.mean_])
        found = np.asarray(data @ mixtures)
        found[np.diff(data.indptr) == 0] = self.mean_
        return found


def _rows_of(M: Any) -> NDArray[np.int64]:
    return np.repeat(np.arange(M.shape[0]), np.diff(M.indptr))


def _totals(parts: Matrix, M: Any) -> tuple[Matrix, Matrix]:
    """Return the sums of an author's parts (E, K), and their sizes."""
    places = (np.ones(len(parts)), (M.indices, np.arange(len(parts))))
    gather = sparse.csr_array(places, shape=(M.shape[1], len(parts)))
    sums = np.asarray(gather @ parts)
    return sums, sums.sum(axis=1)


def _sum_rows(parts: Matrix, M: Any) -> Matrix:
    """Return the sums over each document's authors (D, K)."""
    ones = np.ones(len(parts))
    shape = M.shape[0], len(parts)
    gather = sparse.csr_array((ones, np.arange(len(parts)), M.indptr), shape=shape)
    return np.asarray(gather @ parts)
