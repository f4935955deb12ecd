# SPDX-License-Identifier: BSD-3-Clause
"""Learning topics batch by batch: ``λ ← (1 − ρ_t) λ + ρ_t (η + (D/|b|) N_b)``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from topicfold.core.counts import normalize_rows
from topicfold.core.typing import Array
from topicfold.corpus.block_corpus import BlockCorpus
from topicfold.learn.initial import initial_topics

# Entries whose likelihood is taken at a time.
BLOCK = 65_536


class OnlineStatistics:
    """The word-topic statistics λ of a model that learns from a stream.

    They are the model's `components_` (shares) times `topic_totals_`; with
    `n_batches_`, `n_documents_seen_` and `tokens_seen_` a saved model goes on
    learning where it stopped.
    """

    def __init__(self, model: Any, batch: sparse.csr_matrix) -> None:
        self.model = model
        self.batch = batch

    @classmethod
    def resume(
        cls, model: Any, batch: sparse.csr_matrix, init: Any
    ) -> OnlineStatistics:
        """Start statistics on a new model, or go on with those of a fitted one."""
        self = cls(model, batch)
        if not hasattr(model, "components_"):
            rng = check_random_state(model.random_state)
            topics = initial_topics(batch, model.n_components, init, rng)
            model.components_ = topics.astype(batch.dtype)
            model.word_frequencies_ = np.full(batch.shape[1], 1.0 / batch.shape[1])
        if not hasattr(model, "n_batches_"):
            # A corpus that was fitted counts as if it had come in batches like this.
            lengths = getattr(model, "doc_lengths_", np.zeros(0))
            model.n_documents_seen_ = len(lengths)
            model.tokens_seen_ = float(lengths.sum())
            model.n_batches_ = len(lengths) // batch.shape[0]
        if not hasattr(model, "topic_totals_"):
            model.topic_totals_ = self._first_totals()
        return self

    def _first_totals(self) -> NDArray[np.float64]:
        model = self.model
        if model.n_documents_seen_:
            lengths, theta = model.doc_lengths_, model.doc_topics_
            return np.einsum("d,dk->k", lengths, theta, dtype=np.float64)
        tokens = float(self.batch.sum(dtype=np.float64)) * self._stream_scale()
        return np.full(model.n_components, tokens / model.n_components)

    def _stream_scale(self) -> float:
        total = self.model.total_documents
        size = self.batch.shape[0]
        if total is None:
            total = self.model.n_documents_seen_ + size
        return max(total, size) / size

    def blend(self, counts: Array, prior: float) -> float:
        """Blend in the expected counts (K, V) of the batch; return the step ρ."""
        model, batch = self.model, self.batch
        model.n_batches_ += 1
        rho = (model.learning_offset + model.n_batches_) ** -model.learning_decay
        statistics = model.components_ * (
            (1 - rho) * model.topic_totals_[:, None]
        ) + rho * np.maximum(prior + self._stream_scale() * counts, 0)
        model.topic_totals_ = statistics.sum(axis=1, dtype=np.float64)
        model.components_ = normalize_rows(statistics.astype(batch.dtype))
        tokens = float(batch.sum(dtype=np.float64))
        words = np.asarray(batch.sum(axis=0, dtype=np.float64)).ravel()
        share = tokens / (model.tokens_seen_ + tokens)
        model.word_frequencies_ = (
            1 - share
        ) * model.word_frequencies_ + share * words / tokens
        model.tokens_seen_ += tokens
        model.n_documents_seen_ += batch.shape[0]
        return float(rho)


class OnlineFit:
    """Passes over a corpus in shuffled mini-batches, for the EM driver.

    The recorded objective is the log-likelihood per token of the documents under
    the current topics, on a fixed sample of at most `SAMPLE` documents.
    """

    SAMPLE = 2000
    LEARNED = (
        "components_",
        "topic_totals_",
        "word_frequencies_",
        "doc_topic_prior_",
        "topic_word_prior_",
        "n_batches_",
        "n_documents_seen_",
        "tokens_seen_",
    )

    def __init__(
        self,
        model: Any,
        X: sparse.csr_matrix,
        init: Any,
        learn_batch: Callable[[OnlineStatistics, sparse.csr_matrix], None],
    ) -> None:
        self.model = model
        self.X = X
        self.init = init
        self.learn_batch = learn_batch
        self.rng = check_random_state(model.random_state)
        used = np.flatnonzero(np.diff(X.indptr))
        size = min(self.SAMPLE, len(used))
        self.sample = X[np.sort(self.rng.choice(used, size, replace=False))]
        model.n_batches_ = model.n_documents_seen_ = 0
        model.tokens_seen_ = 0.0

    def start(self) -> float:
        """Set up the statistics from the corpus."""
        OnlineStatistics.resume(self.model, self.X, self.init)
        return self._objective()

    def iterate(self) -> float:
        """One pass over the corpus."""
        for batch in batches_of(self.X, self.model.batch_size, self.rng):
            if batch.nnz:
                online = _CorpusStatistics(self.model, batch, self.X.shape[0])
                self.learn_batch(online, batch)
        return self._objective()

    def _objective(self) -> float:
        theta = self.model._mixtures(self.sample)
        rows = np.repeat(np.arange(self.sample.shape[0]), np.diff(self.sample.indptr))
        total = 0.0
        phi = np.ascontiguousarray(self.model.components_.T)
        for first in range(0, len(rows), BLOCK):
            part = slice(first, first + BLOCK)
            p = np.einsum("ik,ik->i", theta[rows[part]], phi[self.sample.indices[part]])
            total += float(self.sample.data[part] @ np.log(np.maximum(p, 1e-30)))
        return total / float(self.sample.sum(dtype=np.float64))

    def fingerprint(self) -> dict[str, float]:
        """Tell this corpus from others."""
        return {
            "documents": self.X.shape[0],
            "terms": self.X.shape[1],
            "topics": self.model.n_components,
            "tokens": float(self.X.sum(dtype=np.float64)),
        }

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs: the statistics, and the random numbers'."""
        values = {name: getattr(self.model, name) for name in self.LEARNED}
        _, keys, position, has_gauss, gauss = self.rng.get_state(legacy=True)
        random = {"keys": keys, "rest": [int(position), int(has_gauss), float(gauss)]}
        return values | random

    def restore(self, state: dict[str, Any]) -> float:
        """Go on from a `state`; returns the objective there."""
        for name in self.LEARNED:
            setattr(self.model, name, state[name])
        position, has_gauss, gauss = state["rest"]
        if not 0 <= position <= len(state["keys"]):
            raise ValueError(f"random numbers have no position {position}")
        self.rng.set_state(
            ("MT19937", state["keys"], int(position), int(has_gauss), gauss)
        )
        return self._objective()

    def topics(self) -> Array:
        """Topics (K, V)."""
        return self.model.components_

    def doc_topics(self) -> Array:
        """Mixtures (D, K) of the whole corpus, folded in."""
        return self.model._mixtures(self.X)


def batches_of(X: Any, size: int, rng: np.random.RandomState) -> Iterator[Any]:
    """Yield shuffled mini-batches of `size` documents that cover X once."""
    if isinstance(X, BlockCorpus):
        yield from X.batches(size, rng)
        return
    order = rng.permutation(X.shape[0])
    for first in range(0, len(order), size):
        yield X[np.sort(order[first : first + size])]


class _CorpusStatistics(OnlineStatistics):
    """Statistics of a batch out of a corpus of known size."""

    def __init__(self, model: Any, batch: sparse.csr_matrix, n_documents: int) -> None:
        super().__init__(model, batch)
        self.n_documents = n_documents

    def _stream_scale(self) -> float:
        return self.n_documents / self.batch.shape[0]
