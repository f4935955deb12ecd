# SPDX-License-Identifier: BSD-3-Clause
"""LDA in which seed words say what topics should be about."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from sklearn.base import clone

from topicfold.core.counts import document_frequencies
from topicfold.core.parameters import MAX_TOPICS, warn_caller, whole
from topicfold.exceptions import DataError, DataWarning
from topicfold.learn import Callback
from topicfold.learn.loop import part_of_more
from topicfold.models.lda import SidedLDA
from topicfold.models.sided import of_side
from topicfold.parts.sides import Side
from topicfold.phi.seeds import SeedEvidence, Seeds, self_trained

_logger = logging.getLogger("topicfold")

# Passes that show whether self-training misleads, and the most of their tokens that it
# may take from the seeded topics of seed words.
TRIAL_PASSES, MOST_LOST = 15, 0.1
# Seed words in a larger share of so many documents or more tell little.
COMMON, ENOUGH = 0.4, 50


class SeededLDA(SidedLDA):
    """LDA with seed words: a few words say what a topic should be about.

    ``φ_k = (1 − π_k) φ̄_k + π_k φ̃_k``, φ̃_k over the topic's seed words alone
    (keyword-assisted topic models, keyATM). Topics with seeds come first, then those
    without; without any seeds, it is LDA. As in LDA by CVB0, the objective may fall a
    little. Documents with seed words show which other words go with them: self-trained
    naive Bayes learns from them where seeded topics start, and which of them a document
    is likely about. Without this, topics without seeds take documents that seeds are
    meant for. For new documents only their words are used. If documents mix many
    topics, those with seed words would teach the words of other topics. A short trial
    shows this, because seed words then leave their topics, and the documents are not
    used in this way.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of topics, those with seeds included. None is five more than those.
    self_train : bool, default=True
        Whether documents with seed words show which other words go with them. Not used
        with fewer than 25 documents for each topic with seeds, or where it would
        mislead. False is the original model.

    Attributes
    ----------
    topic_names_ : list of str
        Names of the topics with seeds, empty for the others.
    seed_shares_ : ndarray of shape (n_seeded,)
        π, the share of each seeded topic's tokens that its seeds explain.
    seed_words_ : dict of str to list of int
        Columns of the seed words that X has.

    See Also
    --------
    topicfold.phi.Seeds : the same as a side of any LDA.

    References
    ----------
    S. Eshima, K. Imai, T. Sasaki (2024). Keyword-assisted topic models. American
    Journal of Political Science 68.

    Examples
    --------
    >>> from topicfold import SeededLDA
    >>> X = [[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]]
    >>> model = SeededLDA(
    ...     2,
    ...     seeds={"sky": ["moon"], "sea": ["fish"]},
    ...     vocabulary=["boat", "fish", "star", "moon"],
    ...     random_state=0,
    ... ).fit(X)
    >>> [model.topic_names_[k] for k in model.doc_topics_.argmax(axis=1)]
    ['sea', 'sea', 'sky', 'sky']
    """

    _part = Seeds
    _tries = True
    n_components: Annotated[int | None, whole(1, MAX_TOPICS)]  # type: ignore[assignment]
    seeds: Mapping[str, Sequence[str | int]] | None
    forbidden: Mapping[str, Sequence[str | int]] | None
    vocabulary: Sequence[str] | None
    self_train: bool

    def __init__(
        self,
        n_components: int | None = None,
        *,
        seeds: Mapping[str, Sequence[str | int]] | None = None,
        forbidden: Mapping[str, Sequence[str | int]] | None = None,
        vocabulary: Sequence[str] | None = None,
        self_train: bool = True,
        doc_topic_prior: Any = None,
        topic_word_prior: float | None = None,
        learn_priors: bool | None = None,
        sides: Sequence[Side] | None = None,
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

    def _own_sides(self) -> list[Any]:
        return [*super()._own_sides(), *([SeedEvidence()] if self.self_train else [])]

    def _fit_with_sides(self, counts: Any, side_data: Mapping[str, Any]) -> None:
        if not self._taught(counts):
            self.sides_ = [s for s in self.sides_ if not isinstance(s, SeedEvidence)]
        super()._fit_with_sides(counts, side_data)

    def _taught(self, counts: Any) -> bool:
        """Let documents with seed words teach; return whether they did."""
        seeds = clone(self.sides_[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            try:
                seeds.check(None, self._side_context(counts, n_topics=self._asked or 0))
            except DataError:
                return False  # the fit says it again
        frequencies = document_frequencies(counts)
        self._warn_common(seeds, frequencies, counts.shape[0])
        labelled = any(side.hook == "mask" for side in self.sides_)  # places differ
        if not self.self_train or not seeds.seed_words_ or labelled:
            return False
        found = self_trained(counts, list(seeds.seed_words_.values()), frequencies)
        if found is not None and self._tries and self._misled(counts):
            _logger.info(
                "documents mix many topics, so those with seed words would mislead "
                "and are not used"
            )
            return False
        if found is not None:
            self.sides_[0]._trained = found.topics
            self.sides_[1]._shares = found.shares
        return found is not None

    def _misled(self, counts: Any) -> bool:
        """Whether self-training takes seed words away from the topics they name."""
        kept = []
        for self_train in (False, True):
            trial = clone(self).set_params(
                self_train=self_train,
                sides=None,
                max_iter=TRIAL_PASSES,  # the same for Resume with another max_iter
                tol=None,  # or tol
                callbacks=None,
                verbose=False,
            )
            trial._tries = False
            with part_of_more(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                trial.fit(counts)
            tokens = trial.topic_totals_[:, None] * trial.components_
            own = [
                (tokens[place, words] / tokens[:, words].sum(axis=0)).mean()
                for place, words in enumerate(trial.seed_words_.values())
            ]
            kept.append(float(np.mean(own)))
        return kept[0] - kept[1] > MOST_LOST

    def _warn_common(self, seeds: Seeds, frequencies: Any, size: int) -> None:
        """Say which seed words are in so many documents that they tell nothing."""
        columns = {w for own in seeds.seed_words_.values() for w in own}
        common = sorted(w for w in columns if frequencies[w] > COMMON * size)
        names = (
            self.vocabulary
            if self.vocabulary is not None
            else getattr(self, "feature_names_in_", None)
        )
        if common and size >= ENOUGH:
            told = [repr(str(w if names is None else names[w])) for w in common[:10]]
            warn_caller(
                f"These seed words are in more than {COMMON:.0%} of the documents and "
                f"identify no topic: {', '.join(told)}. Give rarer ones."
            )

    seed_shares_ = of_side(
        Seeds, "seed_shares_", "Share of each seeded topic's tokens that seeds explain."
    )
    seed_words_ = of_side(
        Seeds, "seed_words_", "Columns of the seed words that X has, by topic's name."
    )
