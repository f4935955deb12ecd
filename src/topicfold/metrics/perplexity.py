# SPDX-License-Identifier: BSD-3-Clause
"""Perplexity by document completion, left-to-right likelihood, and residuals.

The dispersion of the residuals shows whether topics leave something unexplained.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse, stats

from topicfold.core.counts import check_counts
from topicfold.core.parameters import whole_number
from topicfold.core.saved import SMALLEST
from topicfold.exceptions import DataError
from topicfold.metrics.words import checked_array, checked_rows

# Numbers gathered at once: 32 MB of float64.
_BLOCK = 1 << 22


def completion_perplexity(
    theta: ArrayLike,
    topics: ArrayLike,
    held_out: Any,
    *,
    background: ArrayLike | None = None,
    smoothing: float = 0.01,
    observed: Any = None,
    cache: float = 0.0,
) -> float:
    """Perplexity of held-out tokens under a topic model.

    ``exp(-Σ x_dw log p(w|d) / Σ x_dw)`` over the held-out counts x, with
    ``p(w|d) = (1 - smoothing) Σ_k θ_dk φ_kw + smoothing background_w``.

    The convention is document completion: θ is folded in on the observed half of each
    test document (see `topicfold.corpus.complete_split`), the other half is scored
    here; the mean is over tokens, not documents, and the logarithm natural. Mixing in a
    background keeps the score finite if a model gives a word no probability at all, at
    the same cost for every model; with ``smoothing=0`` such a word makes it infinite.

    Range: 1 to infinity; |V| for the uniform model. Direction: lower is better. Only
    scores with the same held-out tokens, vocabulary, background and smoothing can be
    compared.

    Parameters
    ----------
    theta : array of shape (n_documents, n_topics)
        Topic mixtures of the documents; rows sum to 1.
    topics : array of shape (n_topics, n_terms)
        Word distributions of the topics; rows sum to 1.
    held_out : sparse matrix of shape (n_documents, n_terms)
        The tokens to score. Empty rows are ignored.
    background : array of shape (n_terms,), optional
        Word distribution to mix in, preferably `unigram` of the training counts.
        Required unless smoothing is 0.
    smoothing : float, default=0.01
        Weight of the background, in [0, 1].
    observed : sparse matrix of shape (n_documents, n_terms), optional
        The tokens that were seen; `cache` needs them.
    cache : float, default=0.0
        λ, weight of the observed words of the document:
        ``(1 - λ) Σ_k θ_dk φ_kw + λ n_dw / n_d`` in place of ``Σ_k θ_dk φ_kw``. A word
        that occurred is more likely to occur again than the topics predict. See
        `cache_weight`.

    References
    ----------
    .. [1] H. Wallach, I. Murray, R. Salakhutdinov, D. Mimno, "Evaluation methods for
       topic models", ICML 2009.

    Examples
    --------
    >>> theta, topics = [[0.5, 0.5]], [[1.0, 0.0, 0.0, 0.0], [0.0, 0.5, 0.25, 0.25]]
    >>> round(completion_perplexity(theta, topics, [[3, 0, 1, 0]], smoothing=0), 6)
    2.828427
    """
    theta = checked_rows(theta, "theta")
    topics = checked_rows(topics, "topics")
    X = check_counts(held_out, "held_out")
    shape = (theta.shape[0], topics.shape[1])
    if theta.shape[1] != topics.shape[0] or X.shape != shape:
        raise DataError(
            f"theta {theta.shape}, topics {topics.shape} and held_out {X.shape} do not "
            "fit together. Their shapes must be (documents, topics), (topics, terms) "
            "and (documents, terms)."
        )
    mix = _checked_background(background, smoothing, topics.shape[1])
    p = _probabilities(theta, topics, X)
    if not 0 <= cache <= 1:
        raise DataError(f"cache={cache} must be between 0 and 1.")
    if cache > 0:
        if observed is None:
            raise DataError("cache needs observed=, the tokens that were seen.")
        seen = check_counts(observed, "observed")
        if seen.shape != X.shape:
            raise DataError(
                f"observed {seen.shape} and held_out {X.shape} must have the same "
                "shape."
            )
        lengths = np.asarray(seen.sum(axis=1, dtype=np.float64)).ravel()
        rows = _rows(X)
        own = np.asarray(seen[rows, X.indices], dtype=np.float64).ravel()
        weight = np.where(lengths[rows] > 0, cache, 0.0)
        p = (1 - weight) * p + weight * own / np.maximum(lengths[rows], 1e-300)
    return perplexity_of(p, X, mix, smoothing)


def perplexity_of(
    p: NDArray[np.float64], X: Any, background: NDArray[np.floating], smoothing: float
) -> float:
    """Perplexity of the entries of X, of the probabilities p, with a background."""
    total = X.data.sum(dtype=np.float64)
    if total <= 0:
        raise DataError(
            "held_out has no tokens, so nothing can be scored. Hold out more: lower "
            "the fraction of complete_split, or give longer documents."
        )
    p = (1 - smoothing) * p + smoothing * background[X.indices]
    if not p.all():
        return float("inf")
    return float(np.exp(-float(X.data @ np.log(p)) / total))


def _rows(X: Any) -> NDArray[np.intp]:
    """Return the document of each entry."""
    return np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))


def _probabilities(
    theta: NDArray[Any], topics: NDArray[Any], X: Any
) -> NDArray[np.float64]:
    """Σ_k θ_dk φ_kw of the entries of X."""
    words = np.ascontiguousarray(topics.T)
    rows = _rows(X)
    step = max(1, _BLOCK // topics.shape[0])
    found = np.empty(X.nnz)
    for start in range(0, X.nnz, step):
        part = slice(start, start + step)
        own = theta[rows[part]], words[X.indices[part]]
        found[part] = np.einsum("ik,ik->i", *own, dtype=np.float64)
    return found


# Steps of EM for the weight of the cache.
_CACHE_STEPS = 100


def cache_weight(theta: ArrayLike, topics: ArrayLike, observed: Any) -> float:
    """Weight λ of a document's own words, from the tokens that were seen.

    Maximises ``Σ log[(1 - λ) Σ_k θ_dk φ_kw + λ (n_dw - 1) / (n_d - 1)]`` over the
    observed tokens, each left out of the share of its own word, by EM. The held-out
    tokens are not used.

    Range: 0 to 1.

    Parameters
    ----------
    theta : array of shape (n_documents, n_topics)
        Topic mixtures of the documents; rows sum to 1.
    topics : array of shape (n_topics, n_terms)
        Word distributions of the topics; rows sum to 1.
    observed : sparse matrix of shape (n_documents, n_terms)
        The tokens that were seen.

    Examples
    --------
    >>> cache_weight([[1.0]], [[0.5, 0.5]], [[4, 0]]) > 0.9
    True
    >>> cache_weight([[1.0]], [[0.5, 0.5]], [[1, 1]])
    0.0
    """
    theta, topics = checked_rows(theta, "theta"), checked_rows(topics, "topics")
    X = check_counts(observed, "observed")
    lengths = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()[_rows(X)]
    own = np.maximum(X.data - 1.0, 0.0) / np.maximum(lengths - 1.0, 1.0)
    p = _probabilities(theta, topics, X)
    known = (lengths > 1) & (p + own > 0)
    p, own, x = p[known], own[known], X.data[known].astype(np.float64)
    weight = 0.5
    for _ in range(_CACHE_STEPS if len(x) and own.any() else 0):
        weight = float(x @ (weight * own / ((1 - weight) * p + weight * own)) / x.sum())
    return weight if own.any() else 0.0


def unigram(X: Any, *, pseudocount: float = 1.0) -> NDArray[np.float64]:
    """Word distribution of a whole corpus, smoothed.

    ``(n_w + pseudocount) / (n + pseudocount |V|)``

    Parameters
    ----------
    X : sparse matrix of shape (n_documents, n_terms)
        Counts, in general of the training documents.
    pseudocount : float, default=1.0
        Added to every word; if it is above 0, no word is impossible.

    Examples
    --------
    >>> unigram([[1, 0], [1, 0]]).tolist()
    [0.75, 0.25]
    """
    if not (np.isfinite(pseudocount) and pseudocount >= 0):
        raise DataError(f"pseudocount={pseudocount} must be zero or more.")
    counts = check_counts(X, "X")
    weights = np.asarray(counts.sum(axis=0, dtype=np.float64)).ravel() + pseudocount
    if not weights.sum() > 0:
        raise DataError("X has no tokens. Give counts, or a pseudocount above 0.")
    return np.asarray(weights / weights.sum())


def left_to_right_log_likelihood(
    X: Any,
    topics: ArrayLike,
    doc_topic_prior: float | ArrayLike,
    *,
    n_particles: int = 20,
    n_sweeps: int = 1,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Log-likelihood of documents under LDA's topics, by left-to-right sampling.

    From the paper that `completion_perplexity` names.
    ``log P(w_d | φ, α) = Σ_n log P(w_n | w_<n, φ, α)`` (natural logarithm), each term
    the mean over particles of ``Σ_k P(w_n, z_n = k | z_<n)``, the topics z_<n of the
    tokens before n drawn again by Gibbs sampling for every n. Unlike document
    completion it scores whole documents and is a likelihood: the probabilities of all
    documents of a length sum to one, except for sampling noise, which shrinks with
    `n_particles`, and a small bias, which shrinks with `n_sweeps`. The order of a
    document's tokens does not matter for the likelihood; it is drawn at random.

    Range: minus infinity (a word that no topic has) to 0; 0 for an empty document.
    Direction: higher is better. Perplexity is ``exp(-sum / tokens)``.

    Time grows with the square of a document's length, times `n_particles`. A
    document's random numbers are keyed by `random_state` and its own words and
    counts: its value does not depend on other documents or on the number of threads.

    Parameters
    ----------
    X : sparse matrix of shape (n_documents, n_terms)
        Whole counts.
    topics : array of shape (n_topics, n_terms)
        Word distributions of the topics; rows sum to 1.
    doc_topic_prior : float or array of shape (n_topics,)
        α.
    n_particles : int, default=20
        Independent walks over each document.
    n_sweeps : int, default=1
        How often the tokens before each token are drawn again.
    random_state : int, default=0
        Seed.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all. The result is the same for any number.

    Examples
    --------
    >>> topics = [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]
    >>> left_to_right_log_likelihood([[2, 0, 0]], topics, 0.5, n_particles=500).round(1)
    array([-2.4])
    """
    from topicfold.gibbs.fixed_topics import left_to_right
    from topicfold.gibbs.tokens import check_whole

    phi = checked_rows(topics, "topics")
    counts = check_counts(X, "X")
    if counts.shape[1] != phi.shape[1]:
        raise DataError(
            f"X {counts.shape} and topics {phi.shape} do not fit together: give "
            "(documents, terms) and (topics, terms)."
        )
    check_whole(counts, "left_to_right_log_likelihood", "use completion_perplexity")
    alpha = np.asarray(doc_topic_prior, dtype=np.float64)
    if alpha.ndim and alpha.shape != (len(phi),):
        raise DataError(
            f"doc_topic_prior has shape {alpha.shape} for {len(phi)} topics; give one "
            "number or one per topic."
        )
    if not np.isfinite(alpha).all() or (alpha < SMALLEST).any():
        raise DataError(
            "doc_topic_prior must be finite, and 1e-300 or more everywhere."
        )
    whole_number(n_particles, "n_particles")
    whole_number(n_sweeps, "n_sweeps")
    return left_to_right(
        counts,
        phi,
        np.broadcast_to(alpha, (len(phi),)).copy(),
        n_particles=int(n_particles),
        n_sweeps=int(n_sweeps),
        seed=random_state,
        n_jobs=n_jobs,
    )


def _checked_background(
    background: ArrayLike | None, smoothing: float, n_terms: int
) -> NDArray[np.floating]:
    if not 0 <= smoothing <= 1:
        raise DataError(f"smoothing={smoothing} must be between 0 and 1.")
    if background is None:
        if smoothing > 0:
            raise DataError(
                f"smoothing={smoothing} needs a background distribution. Give "
                "background=unigram(X_train), or smoothing=0."
            )
        return np.zeros(n_terms)
    mix = checked_array(np.atleast_2d(np.asarray(background)), "background")
    if mix.shape != (1, n_terms):
        raise DataError(
            f"background has shape {np.shape(background)} for {n_terms} terms. Give "
            "one probability per term."
        )
    return checked_rows(mix, "background")[0]


# Cells whose expected count is smaller say nothing of a residual.
LEAST_EXPECTED = 0.01
_CELLS = 4_000_000  # at a time


class Residuals(NamedTuple):
    """How far counts are from the expectations under the topics.

    Attributes
    ----------
    dispersion : float
        Mean squared residual; 1 if the topics explain everything but chance.
    p : float
        Probability of a dispersion this large by chance.
    degrees_of_freedom : float
        Cells less parameters.
    """

    dispersion: float
    p: float
    degrees_of_freedom: float


def residual_dispersion(
    X: ArrayLike | sparse.spmatrix, doc_topics: ArrayLike, topics: ArrayLike
) -> Residuals:
    """Dispersion of the counts around what mixtures and topics expect.

    With ``q_dw = Σ_k θ_dk φ_kw`` the squares
    ``(x_dw − n_d q_dw)² / (n_d q_dw (1 − q_dw))`` of a multinomial have the mean 1. A
    larger value means that documents repeat words or have subjects without a topic; R's
    stm calls this `checkResiduals`. In natural texts words are repeated, so the value
    is always above 1: compare it between numbers of topics.

    Range: above 0. Direction: nearer to 1 is better.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_documents, n_terms)
        Counts.
    doc_topics : array of shape (n_documents, n_topics)
        Mixtures, of a fit to these documents.
    topics : array of shape (n_topics, n_terms)
        Word distributions of the topics.

    References
    ----------
    .. [1] M. Taddy, "On estimation and selection for topic models", AISTATS 2012.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> theta, phi = rng.dirichlet([1, 1], 200), rng.dirichlet(np.ones(30), 2)
    >>> X = [rng.multinomial(100, row @ phi) for row in theta]
    >>> round(residual_dispersion(X, theta, phi).dispersion, 1)
    1.0
    """
    counts = check_counts(X, "X", dtype=np.float64)
    theta = checked_array(doc_topics, "doc_topics").astype(np.float64)
    phi = checked_array(topics, "topics").astype(np.float64)
    shape = len(theta), phi.shape[1]
    if counts.shape != shape or theta.shape[1] != len(phi):
        raise DataError(
            f"X has the shape {counts.shape}, doc_topics {theta.shape} and topics "
            f"{phi.shape}. Give those of one fit."
        )
    squares, cells = 0.0, 0
    step = max(1, _CELLS // phi.shape[1])
    for first in range(0, len(theta), step):
        rows = slice(first, first + step)
        seen = counts[rows].toarray()
        shares = np.clip(theta[rows] @ phi, 1e-300, 1 - 1e-12)
        expected = seen.sum(axis=1, keepdims=True) * shares
        looked_at = expected > LEAST_EXPECTED
        rest = (seen - expected) ** 2 / (expected * (1 - shares) + 1e-300)
        squares += float(rest[looked_at].sum())
        cells += int(looked_at.sum())
    parameters = len(theta) * (len(phi) - 1) + len(phi) * (phi.shape[1] - 1)
    free = float(cells - parameters)
    if free <= 0:
        raise DataError(
            f"there are {cells:,} cells and {parameters:,} parameters, so there is "
            "nothing left to test. Give more documents, or use fewer topics."
        )
    return Residuals(squares / free, float(stats.chi2.sf(squares, free)), free)
