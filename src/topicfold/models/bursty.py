# SPDX-License-Identifier: BSD-3-Clause
"""LDA with bursts: a word that occurs in a document is likely to occur in it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from topicfold.core import saved
from topicfold.core.counts import already_warned
from topicfold.core.parameters import POSITIVE
from topicfold.core.typing import Array
from topicfold.corpus.splits import complete_split
from topicfold.exceptions import DataError, SpareTopicsWarning
from topicfold.infer.bursty import BurstyTopics, best_strength
from topicfold.infer.fold_in import SMOOTHING
from topicfold.learn import Callback
from topicfold.learn.loop import part_of_more
from topicfold.metrics.perplexity import perplexity_of
from topicfold.models.base import EMPTY
from topicfold.models.lda import LDA, SidedLDA

# Documents left out of the topics by which the strength is chosen, of so many at least;
# with fewer it is `USUAL_STRENGTH`.
LEFT_OUT, FEWEST, USUAL_STRENGTH = 0.2, 20, 100.0


class BurstyLDA(SidedLDA):
    """LDA for repeated words: every document has its own version of each topic.

    ``φ_dk ~ Dirichlet(s φ_k)``, ``p(w|d) = Σ_k θ_dk φ_dkw``: two documents of a topic
    differ in which of its words they repeat (DCM-LDA). Topics φ are those of LDA. One
    strength s determines how similar the documents of a topic are; LDA is the limit of
    a large s. It is learned from documents that were left out of a second LDA. Three to
    four times the time of LDA.

    Parameters
    ----------
    strength : float or None, default=None
        s. None learns it; with fewer than 20 documents it is 100.

    Attributes
    ----------
    strength_ : float
        s in use. The smaller, the more words are repeated.

    Notes
    -----
    All mixtures, also those of the training documents, are inferred with s, so repeated
    words have less influence on a document's mixture than in LDA. `perplexity` is that
    of ``Σ_k θ_dk (N_dwk + s φ_kw) / (N_dk + s)``, which sums to one over the words. A
    simpler alternative is ``LDA().perplexity(X, cache="learned")``.

    References
    ----------
    After G. Doyle, C. Elkan (2009). Accounting for burstiness in topic models. ICML.

    Examples
    --------
    >>> from topicfold import BurstyLDA
    >>> X = [[9, 0, 0, 0], [0, 8, 0, 0], [0, 0, 7, 0], [0, 1, 0, 9]] * 6
    >>> BurstyLDA(2, random_state=0).fit(X).strength_ < 20
    True
    """

    sides = None
    device = "cpu"
    _takes_blocks = False
    _repeats_words: ClassVar[bool] = True
    strength: Annotated[float | None, POSITIVE]

    def __init__(
        self,
        n_components: int = 10,
        *,
        strength: float | None = None,
        doc_topic_prior: Any = None,
        topic_word_prior: float | None = None,
        learn_priors: bool | None = None,
        init: Any = None,
        max_iter: int = 200,
        tol: float | None = None,
        doc_tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: bool = False,
    ) -> None:
        self._store_parameters(locals())

    def _fit_counts(self, counts: Any, y: Any) -> None:
        super()._fit_counts(counts, y)
        self.strength_ = self._chosen_strength(counts)
        self.doc_topics_ = self._mixtures(counts)

    def _chosen_strength(self, X: sparse.csr_matrix) -> float:
        if self.strength is not None:
            return float(self.strength)
        filled = np.flatnonzero(np.diff(X.indptr))
        if len(filled) < FEWEST:
            return USUAL_STRENGTH
        rng = check_random_state(0)
        order = rng.permutation(filled)
        n_left = int(LEFT_OUT * len(order))
        quiet = {"callbacks": None, "verbose": False}
        model = clone(LDA(**self._shared_with(LDA) | quiet))
        with part_of_more(), already_warned(SpareTopicsWarning):
            model.fit(X[np.sort(order[n_left:])])
        left = X[np.sort(order[:n_left])]
        return best_strength(
            left, model.components_, model.doc_topic_prior_, self.n_jobs
        )

    def _bursty(self) -> BurstyTopics:
        # As a float: a file may have a whole number of more digits than kernels take.
        strength = float(self.strength_)
        return BurstyTopics(
            self.components_, strength, self.doc_topic_prior_, self.n_jobs
        )

    def _mixtures(self, X: Any, known: Any = None) -> Array:
        return self._bursty().mixtures(X)

    def _sided_mixtures(self, X: Any, known: Mapping[str, Any] = EMPTY) -> Array:
        return self._mixtures(X)

    def _completed(
        self,
        X: Any,
        seed: int,
        infer: Callable[[Any], Array],
        known: Mapping[str, Any] = EMPTY,
        *,
        cache: float | str | None = None,
    ) -> float:
        check_is_fitted(self, ["components_", "word_frequencies_"])
        if cache is not None:
            raise DataError(
                "BurstyLDA takes no cache: it models repeated words itself."
            )
        split = complete_split(sparse.csr_matrix(self._counts(X)), random_state=seed)
        seen, held_out = (sparse.csr_matrix(part) for part in split)
        seen.sort_indices()
        held_out.sort_indices()
        p = self._bursty().predictions(seen, held_out)
        mix = self.word_frequencies_ / self.word_frequencies_.sum()
        mix = (1 - 1e-3) * mix + 1e-3 / len(mix)
        return perplexity_of(p, held_out, mix, SMOOTHING)

    _needed_state = (*LDA._needed_state, "strength_", "doc_topic_prior_")
    _saved = saved.forms(
        strength_=saved.number(saved.SMALLEST, saved.LARGEST_PRIOR),
        doc_topic_prior_=saved.numbers(
            "K", float(np.finfo(np.float32).tiny), saved.LARGEST_PRIOR
        ),
    )
