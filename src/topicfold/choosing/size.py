# SPDX-License-Identifier: BSD-3-Clause
"""A number of topics for a corpus if none was given: as many as two fits agree on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from topicfold.core.counts import check_counts
from topicfold.learn.loop import run_fits
from topicfold.metrics import topic_stability

# Numbers that are tried, documents and passes that they are tried on, and the
# probability that matched topics of two fits must share
# (benchmarks/results/n_topics.md).
SIZES = (5, 10, 20, 40, 80)
LEAST_DOCUMENTS, MOST_DOCUMENTS, PASSES = 200, 800, 8
ALIKE = 0.68
# A topic that shares more than this with another of the same fit is a copy of it.
COPY = 0.6
# Documents per topic at least; with fewer documents than this no fit is compared.
PER_TOPIC, FEW = 10, 60


@dataclass(frozen=True)
class SizeAdvice:
    """A number of topics, and why.

    Attributes
    ----------
    n_topics : int
        The number.
    reason : str
        Why, for people.
    stability : dict of int to float
        For each number that was tried: the mean probability that matched topics of two
        fits share, times the share of topics that are not copies of others.
    """

    n_topics: int
    reason: str
    stability: dict[int, float]


def suggest_size(
    X: Any, *, random_state: int = 0, n_jobs: int | None = None
) -> SizeAdvice:
    """Return the largest number of topics that two fits to a sample agree on.

    LDA is fitted twice, with other seeds, to at most 800 documents, with 10, 20, 40 and
    80 topics, or with 5 if even 10 are too many. The largest number whose topics share
    0.68 of their probability is taken, where copies of a topic count as not shared:
    with more topics, another seed would find others, or the same ones twice. It takes
    about as long as one fit.

    Parameters
    ----------
    X : sparse matrix of shape (n_documents, n_terms)
        Counts.
    random_state : int, default=0
        Seed of the sample and of the first fit.
    n_jobs : int or None, default=None
        Fits at a time; the result is the same for any number.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).poisson(np.kron(np.eye(5) * 2 + 0.1,
    ...     np.ones((40, 8))))
    >>> suggest_size(X).n_topics
    5
    """
    counts = check_counts(X, "X")
    used = np.flatnonzero(np.diff(counts.indptr))
    if len(used) < FEW:
        few = min(max(2, len(used) // 6), max(1, len(used) // 2))
        return SizeAdvice(few, f"there are only {len(used)} documents", {})
    size = int(np.clip(len(used) // 3, LEAST_DOCUMENTS, MOST_DOCUMENTS))
    rng = np.random.default_rng(random_state)
    chosen = np.sort(rng.choice(used, min(size, len(used)), replace=False))
    sample = counts[chosen]
    sample = sample[:, np.asarray((sample > 0).sum(axis=0)).ravel() > 1]
    if sample.nnz == 0:
        return SizeAdvice(SIZES[0], "no word is in two documents", {})
    tried = _tried(sample, len(used), random_state, n_jobs)
    good = [k for k, found in tried.items() if found >= ALIKE]
    best = max(good) if good else max(tried, key=lambda k: tried[k])
    told = f"two fits agree on {tried[best]:.0%} of {best} topics"
    above = [k for k in tried if k > best]
    told += f" and on {tried[above[0]]:.0%} of {above[0]}" if above else ""
    return SizeAdvice(best, told, tried)


def _tried(X: Any, n_documents: int, seed: int, n_jobs: int | None) -> dict[int, float]:
    """Return the stability of 10 and more topics, up to the first unstable ones."""
    from topicfold.models.lda import LDA

    # Priors as they start: as many topics are found, in two thirds of the time.
    options: dict[str, Any] = {"max_iter": PASSES, "tol": 0, "learn_priors": False}

    def topics(size: int, random_state: int) -> Any:
        return LDA(size, random_state=random_state, **options).fit(X).components_

    def stability(size: int) -> float:
        found = run_fits(topics, [(size, seed), (size, seed + 1)], n_jobs)
        distinct = np.mean([_distinct(topics) for topics in found])
        return float(topic_stability(found) * distinct)

    smallest, *others = SIZES
    tried: dict[int, float] = {}
    for size in others:
        if size * PER_TOPIC > n_documents:
            break
        tried[size] = stability(size)
        if tried[size] < ALIKE:
            break
    if not tried or tried[min(tried)] < ALIKE:  # even 10 are too many
        tried = {smallest: stability(smallest)} | tried
    return tried


def _distinct(topics: Any) -> float:
    """Return the share of topics that are no copies of others."""
    kept: list[Any] = []
    for row in topics:
        shared = np.minimum(row, np.array(kept)).sum(axis=1) if kept else np.zeros(1)
        if shared.max() <= COPY:
            kept.append(row)
    return len(kept) / len(topics)
