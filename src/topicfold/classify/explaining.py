# SPDX-License-Identifier: BSD-3-Clause
"""Why a document was given its class: topics and words, and what each added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from topicfold.core.typing import Array


@dataclass(frozen=True)
class WordReason:
    """A word and what it added to the decision.

    Attributes
    ----------
    word : str
        The column's name.
    count : float
        Its count in the document.
    contribution : float
        Its part of the decision value.
    """

    word: str
    count: float
    contribution: float


@dataclass(frozen=True)
class TopicReason:
    """A topic and what it added to the decision.

    Attributes
    ----------
    topic : int
        Number of the topic.
    share : float
        Its share θ_dk of the document.
    contribution : float
        Its part of the decision value.
    words : tuple of WordReason
        The document's words through which it contributed, strongest first.
    """

    topic: int
    share: float
    contribution: float
    words: tuple[WordReason, ...]


@dataclass(frozen=True)
class Explanation:
    """Why a document was given its class.

    Attributes
    ----------
    label : object
        The class that is explained, the likeliest one.
    decision : float
        The rule's decision value for it: `intercept` and `direct` plus the
        contributions of all topics.
    intercept : float
        What the classifier says of any document.
    direct : float
        What words and embeddings added past the topics.
    topics : tuple of TopicReason
        The topics that contributed most to the class, strongest first.
    words : tuple of WordReason
        The words that did, through topics and past them together.
    """

    label: Any
    decision: float
    intercept: float
    direct: float
    topics: tuple[TopicReason, ...]
    words: tuple[WordReason, ...]


def explanation(
    label: Any,
    intercept: float,
    direct: float,
    X: sparse.csr_matrix,
    theta: Array,
    parts: Array,
    shares: Array,
    word_parts: Array,
    names: Sequence[str] | None,
    n: int,
) -> Explanation:
    """Put an explanation together for one document X (1, V).

    `parts` are the topics' contributions, `shares` (K, words of X) how each is spread
    over the words, `word_parts` what words added past the topics.
    """

    def reasons(values: Array) -> tuple[WordReason, ...]:
        best = [i for i in np.argsort(-values, kind="stable")[:n] if values[i] > 0]
        return tuple(
            WordReason(
                f"w{X.indices[i]}" if names is None else str(names[X.indices[i]]),
                float(X.data[i]),
                float(values[i]),
            )
            for i in best
        )

    best = [k for k in np.argsort(-parts, kind="stable")[:n] if parts[k] > 0]
    return Explanation(
        label,
        float(parts.sum() + direct + intercept),
        float(intercept),
        float(direct),
        tuple(
            TopicReason(
                int(k), float(theta[k]), float(parts[k]), reasons(parts[k] * shares[k])
            )
            for k in best
        ),
        reasons(parts @ shares + word_parts),
    )


def word_shares(counts: Array, topics: Array, theta: Array) -> Array:
    """Return ``X_dw p(k|d,w)`` of a document's words, rows (topics) summing to one."""
    joint = theta[:, None] * topics
    chance = np.maximum(joint.sum(axis=0), 1e-300)
    expected = counts * joint / chance
    totals = expected.sum(axis=1, keepdims=True)
    shares: Array = expected / np.where(totals > 0, totals, 1.0)
    return shares
