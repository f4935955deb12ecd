# SPDX-License-Identifier: BSD-3-Clause
"""Why a document was given its class: the contributions of topics and words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from topicfold.core.typing import Array
from topicfold.exceptions import DataError


@dataclass(frozen=True)
class WordReason:
    """A word and its contribution to the decision.

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
    """A topic and its contribution to the decision.

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
        The classifier's decision value for a document without any features.
    direct : float
        Contribution of words and embeddings other than through topics.
    topics : tuple of TopicReason
        The topics that contributed most to the class, strongest first.
    words : tuple of WordReason
        The words that contributed most, through topics and directly.
    """

    label: Any
    decision: float
    intercept: float
    direct: float
    topics: tuple[TopicReason, ...]
    words: tuple[WordReason, ...]


def explained(
    classifier: Any,
    X: sparse.csr_matrix,
    features: Array,
    theta: Array,
    label: Any,
    n: int,
) -> Explanation:
    """Explain the class `label` of one document X (1, V) by a fitted `TopicClassifier`.

    `features` (F,) and `theta` (K,) are the document's.
    """
    recipe, model = classifier._recipe, classifier.model_
    slope, intercept = linear_part(classifier.classifier_, label)
    by_word, base = _by_naive_bayes(classifier, X, label)
    intercept += base
    # Contributions of topics, how each is divided among the words, and what words
    # contribute directly.
    n_topics = len(theta) if recipe.topics else 0
    parts = np.zeros(len(theta))
    parts[:n_topics] = slope[:n_topics] * recipe.topics * np.sqrt(theta[:n_topics])
    rest = slope[n_topics:]
    topics = model.components_[:, X.indices].astype(np.float64)
    shares = word_shares(_seen_counts(model, X), topics, theta)
    word_parts = _by_directions(classifier, X, rest) + by_word
    direct = float(rest @ features[n_topics:] + by_word.sum())
    names = getattr(classifier, "feature_names_in_", None)

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
        direct,
        tuple(
            TopicReason(
                int(k), float(theta[k]), float(parts[k]), reasons(parts[k] * shares[k])
            )
            for k in best
        ),
        reasons(parts @ shares + word_parts),
    )


def linear_part(rule: Any, label: Any) -> tuple[Array, float]:
    """Return the slope and intercept of the decision of a rule for a class."""
    slopes = getattr(rule, "coef_", None)
    if slopes is None:
        raise DataError(
            f"explain needs a linear classifier, and a {type(rule).__name__} has no "
            "coef_. Use for instance LinearSVC or LogisticRegression."
        )
    number = int(np.flatnonzero(rule.classes_ == label)[0])
    intercepts = np.broadcast_to(rule.intercept_, len(slopes))
    if len(slopes) == 1:  # two classes: one function, positive for the second
        sign = 1.0 if number else -1.0
        return sign * slopes[0], sign * float(intercepts[0])
    return slopes[number], float(intercepts[number])


def _by_directions(classifier: Any, X: sparse.csr_matrix, slope: Array) -> Array:
    """Return what each word of a document adds through latent directions."""
    lsi, scale = classifier.lsi_, classifier._recipe.directions
    if lsi is None or not scale or not X.nnz:
        return np.zeros(X.nnz)
    weights = np.log1p(X.data) * lsi.term_weights_[X.indices]
    rows = lsi.components_[:, X.indices] * weights  # (directions, words)
    length = max(float(np.linalg.norm(rows.sum(axis=1))), 1e-300)
    return np.asarray(scale * (slope[: len(rows)] @ rows) / length)


def _by_naive_bayes(
    classifier: Any, X: sparse.csr_matrix, label: Any
) -> tuple[Array, float]:
    """Return the values of naive Bayes for a class, by each word and before any."""
    by_words = classifier._word_rule()
    if by_words is None:
        return np.zeros(X.nnz), 0.0
    own = classifier.classes_ == label
    signs = own.astype(float) if len(own) > 2 else np.where(own, 1.0, -1.0)
    slope: Array = (signs @ by_words.weights)[X.indices]
    return slope * classifier._words(X).data, float(signs @ by_words.intercepts)


def _seen_counts(model: Any, X: sparse.csr_matrix) -> Array:
    """Return the counts of a document's words as the topic model saw them."""
    counts: Array = X.data.astype(np.float64)
    weights = getattr(model, "word_weights_", None)
    return counts if weights is None else np.log1p(counts) * weights[X.indices]


def word_shares(counts: Array, topics: Array, theta: Array) -> Array:
    """Return ``X_dw p(k|d,w)`` of a document's words, rows (topics) summing to one."""
    joint = theta[:, None] * topics
    chance = np.maximum(joint.sum(axis=0), 1e-300)
    expected = counts * joint / chance
    totals = expected.sum(axis=1, keepdims=True)
    shares: Array = expected / np.where(totals > 0, totals, 1.0)
    return shares
