# SPDX-License-Identifier: BSD-3-Clause
"""Do two runs find the same topics? Matching by Hungarian, and stability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from topicfold.exceptions import DataError
from topicfold.metrics._checks import checked_rows


class TopicMatch(NamedTuple):
    """Which topic of one run is which of another.

    Attributes
    ----------
    first, second : int arrays of the same length
        Matched topics; as many as the smaller run has.
    overlap : array
        Probability that each pair shares, 0 to 1.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    overlap: NDArray[np.float64]


def match_topics(first: ArrayLike, second: ArrayLike) -> TopicMatch:
    """Match the topics of two runs, each with at most one of the other.

    The similarity of two topics is the probability they share, ``Σ_w min(φ_kw, φ'_jw)``
    (one less the total variation distance); the matching is the one of greatest sum.

    Parameters
    ----------
    first, second : arrays of shape (n_topics, n_terms)
        Word distributions on the same vocabulary; the numbers of topics may differ.

    Returns
    -------
    TopicMatch
        By the number of the first run's topic.

    Examples
    --------
    >>> match = match_topics([[0.9, 0.1], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]])
    >>> match.second.tolist(), match.overlap.round(2).tolist()
    ([1, 0], [0.9, 1.0])
    """
    a, b = checked_rows(first, "first"), checked_rows(second, "second")
    if a.shape[1] != b.shape[1]:
        raise DataError(
            f"the runs have {a.shape[1]} and {b.shape[1]} terms. Fit them on the same "
            "vocabulary."
        )
    # A row at a time: K × K × V would not fit.
    overlap = np.stack([np.minimum(row, b).sum(axis=1, dtype=np.float64) for row in a])
    rows, columns = linear_sum_assignment(-overlap)
    shared = np.clip(overlap[rows, columns], 0.0, 1.0)
    return TopicMatch(rows.astype(np.int64), columns.astype(np.int64), shared)


def topic_stability(runs: Sequence[ArrayLike]) -> float:
    """Mean probability that matched topics share, over all pairs of runs.

    Topics are matched by `match_topics`; a topic without a partner counts as 0.

    Range: 0 (no word in common) to 1 (the same topics, in any order). Direction: higher
    is better. More topics are less stable, and so are topics of few words.

    Parameters
    ----------
    runs : sequence of arrays of shape (n_topics, n_terms)
        At least two: word distributions from fits with other seeds or samples.

    Returns
    -------
    float

    References
    ----------
    .. [1] D. Greene, D. O'Callaghan, P. Cunningham, "How many topics? Stability
       analysis for topic models", ECML PKDD 2014 (there on ranks of top words).

    Examples
    --------
    >>> run = [[0.9, 0.1, 0.0], [0.0, 0.2, 0.8]]
    >>> round(topic_stability([run, run[::-1], [[0.8, 0.2, 0.0], run[1]]]), 4)
    0.9667
    """
    if len(runs) < 2:
        raise DataError(
            f"stability is between runs, and there is {len(runs)}. Give the topics of "
            "at least two fits."
        )
    scores = []
    for i, first in enumerate(runs):
        for second in runs[i + 1 :]:
            n_topics = max(len(np.asarray(first)), len(np.asarray(second)))
            scores.append(match_topics(first, second).overlap.sum() / n_topics)
    return float(np.mean(scores))
