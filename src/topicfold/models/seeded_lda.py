# SPDX-License-Identifier: BSD-3-Clause
"""LDA whose topics are named in advance by a few words each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Annotated

from topicfold.core.parameters import MAX_TOPICS, whole
from topicfold.models.lda import SidedLDA
from topicfold.models.sided import of_side
from topicfold.sides.seeds import Seeds


class SeededLDA(SidedLDA):
    """LDA with seed words: a few words say what a topic should be about.

    ``φ_k = (1 − π_k) φ̄_k + π_k φ̃_k``, φ̃_k over the topic's seed words alone
    (keyword-assisted topic models, keyATM). Topics with seeds come first, then those
    without; without any seeds, it is LDA. The objective need not rise all the way, as
    in LDA by CVB0.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of topics, those with seeds included. None is five more than those.

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
    topicfold.sides.Seeds : the same as a side of any LDA.

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
    n_components: Annotated[int | None, whole(1, MAX_TOPICS)] = field(  # type: ignore[assignment]
        default=None, kw_only=False
    )
    seeds: Mapping[str, Sequence[str | int]] | None = None
    forbidden: Mapping[str, Sequence[str | int]] | None = None
    vocabulary: Sequence[str] | None = None

    seed_shares_ = of_side(
        Seeds, "seed_shares_", "Share of each seeded topic's tokens that seeds explain."
    )
    seed_words_ = of_side(
        Seeds, "seed_words_", "Columns of the seed words that X has, by topic's name."
    )
