# SPDX-License-Identifier: BSD-3-Clause
"""Topics of short texts: LDA on words that occur together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from topicfold.core.counts import SHORT_TEXT, TEXTS_TO_RATE, SparseRows, words_if_short
from topicfold.core.parameters import warn_caller
from topicfold.core.threads import n_threads
from topicfold.core.typing import Array, Doubles
from topicfold.exceptions import DataError
from topicfold.learn import Callback
from topicfold.learn.initial import initial_topics
from topicfold.models.lda import SidedLDA
from topicfold.models.streamed import not_streamed

# Pairs of words in documents, beyond which texts are not short.
MOST_PAIRS = 500_000_000
# η in tokens of each word: the share by the root of the number of topics, and the most
# (benchmarks/results/short_texts.md).
ETA_TOKENS, ETA_MOST = 0.7, 0.2
# Share of central words in a topic, and steps to find them (the same page).
CENTRAL_SHARE = 0.5
CENTRAL_STEPS = 10


class WordNetworkLDA(SidedLDA):
    """Topics of short texts: LDA on words that occur together (WNTM).

    A single title, snippet or post has too few words to show its mixture of topics. So
    LDA learns from one pseudo-document per word, which has the words that occur in the
    same documents, counted as often as they occur together. Half of each topic then
    consists of its central words, those that occur most with its other words. So a
    topic with several themes shows the largest one, not a few words of each.
    `transform` finds the mixtures of the texts themselves. Time O(pairs·K) per pass,
    where pairs are the different pairs of words that occur together; memory O(nnz +
    pairs + (D + V)·K).

    Parameters
    ----------
    doc_topic_prior : float, array of shape (n_components,) or None, default=None
        α, of the pseudo-documents and of texts. None is that of :class:`LDA`.
    topic_word_prior : float or None, default=None
        η, counted in pairs. None is ``0.7 / sqrt(n_components)`` tokens of each word,
        at most 0.2, times the average number of other words in a text, because the
        pseudo-documents count a token once for each of these.
    init : {"clusters", "documents", "neighbors", "random", "svd"}, array (K, V) or None
        Start of the topics, as in :class:`LDA`, from the pseudo-documents.
    tol : float or None, default=None
        Relative change of the objective per iteration that ends the fit, the mean of
        the last five. None is 5e-5.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features_in_)
        Topics, half LDA's φ of the pseudo-documents and half central words, rows on
        the simplex.
    topic_totals_ : ndarray of shape (n_components,)
        Tokens of each topic in the pseudo-documents, its prior's included.
    objective_history_ : list of float
        Log-likelihood of the pseudo-documents, as in :class:`LDA`.

    See Also
    --------
    LDA : for texts of more than about twenty words.

    References
    ----------
    Y. Zuo, J. Zhao & K. Xu (2016). Word network topic model: a simple but general
    solution for short and imbalanced texts. Knowledge and Information Systems 48.
    doi:10.1007/s10115-015-0882-z

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import WordNetworkLDA
    >>> X = np.repeat([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]], 20, axis=0)
    >>> model = WordNetworkLDA(2, random_state=0).fit(X)
    >>> float(model.transform([[1, 0, 1, 0, 0, 0]]).max().round(1))
    0.9
    """

    partial_fit = not_streamed("it counts pairs of words in the whole corpus")
    sides = None
    learn_priors = False
    _takes_blocks = False

    def __init__(
        self,
        n_components: int = 10,
        *,
        doc_topic_prior: Any = None,
        topic_word_prior: float | None = None,
        init: Any = None,
        max_iter: int = 200,
        tol: float | None = None,
        doc_tol: float = 1e-4,
        random_state: Any = None,
        device: str = "cpu",
        n_jobs: int | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: bool = False,
    ) -> None:
        self._store_parameters(locals())

    def _fit_counts(self, counts: Any, y: Any) -> None:
        seen = counts  # by the mixtures; words meet in the texts themselves
        if hasattr(self, "sharing_"):
            counts = self.sharing_.counts_
        if counts.shape[0] >= TEXTS_TO_RATE and words_if_short(counts) is None:
            words = counts.sum() / counts.shape[0]
            warn_caller(
                f"These texts have about {words:.0f} words each. {type(self).__name__} "
                f"is for texts of fewer than {SHORT_TEXT}: in longer texts its topics "
                "follow repeated phrases. Use LDA."
            )
        network = word_network(counts)
        self._pairs_per_word = float(network.sum(dtype=np.float64) / counts.nnz)
        super()._fit_counts(network, y)
        del self._pairs_per_word
        central = central_words(
            network, self.components_, self.topic_totals_, n_threads(self.n_jobs)
        )
        self.components_ *= 1 - CENTRAL_SHARE
        self.components_ += (CENTRAL_SHARE * central).astype(self.components_.dtype)
        self._store_totals(counts)
        self.doc_topics_ = self._mixtures(seen)

    def _initial_topics(
        self, counts: Any, init: Any, rng: np.random.RandomState
    ) -> Array:
        """Return where topics start: pseudo-documents of words have no embeddings."""
        return initial_topics(counts, self._size, init, rng, self.n_jobs)

    def _places(self) -> None:
        """Return none, for the same reason."""

    def _default_priors(self) -> tuple[float, float]:
        tokens = min(ETA_TOKENS / self._size**0.5, ETA_MOST)
        return super()._default_priors()[0], tokens * self._pairs_per_word


def word_network(X: Any) -> sparse.csr_matrix:
    """Return in how many documents two words occur together (V, V), of the type of X.

    The diagonal is empty except for words that are always alone: such a word counts as
    occurring with itself, once per document.
    """
    has_word = sparse.csr_matrix(X).sign()
    n_pairs = int((has_word.getnnz(axis=1).astype(np.float64) ** 2).sum())
    if n_pairs > MOST_PAIRS:
        raise DataError(
            f"the documents have {n_pairs:,} pairs of words, too many to count: these "
            "are not short texts. Use LDA."
        )
    network = sparse.csr_matrix(has_word.T @ has_word)
    alone = np.asarray(network.sum(axis=1)).ravel() == network.diagonal()
    network.setdiag(np.where(alone, network.diagonal(), 0))
    network.eliminate_zeros()
    return network


def central_words(
    network: sparse.csr_matrix, topics: Array, totals: Doubles, threads: int = 1
) -> Doubles:
    """Return the words of each topic by how often they occur with its others.

    Topic k has the network ``p(k|v) p(k|w) N_vw``, where N are the meetings of two
    words: a word's centrality there is the sum of the centralities of those that it
    meets, the first eigenvector. A few steps from the topic lead near it.
    """
    belongs = totals[:, None] * topics.astype(np.float64)
    belongs /= np.maximum(belongs.sum(axis=0), np.finfo(np.float64).tiny)
    shares, meetings = np.ascontiguousarray(belongs.T), SparseRows(network, threads)
    central = topics.T.astype(np.float64)
    for _ in range(CENTRAL_STEPS):
        found = shares * (meetings @ (shares * central))
        sums = found.sum(axis=0)
        central = np.where(sums > 0, found / np.where(sums > 0, sums, 1.0), central)
    return np.asarray(central.T)
