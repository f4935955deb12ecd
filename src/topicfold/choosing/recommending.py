# SPDX-License-Identifier: BSD-3-Clause
"""From a table of scores to one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

# Metric, and whether more is better.
_UNLABELLED = (
    ("perplexity", False),
    ("coherence", True),
    ("diversity", True),
    ("stability", True),
)


def recommend(scores: Sequence[Any], n_test: int | None) -> str:
    """Say which model to take, in one sentence.

    With labels by accuracy: a topic model that is no worse than the best by more than
    chance (two standard errors of a share of the test documents) is preferred to
    features that nobody can read. Without labels by the mean rank in all other metrics.

    Parameters
    ----------
    scores : sequence of ModelScore
        At least one.
    n_test : int or None
        Labelled test documents; None without labels.

    Returns
    -------
    str
    """
    known = [score for score in scores if not np.isnan(score.accuracy)]
    if n_test and known:
        return _by_accuracy(known, n_test)
    return _by_ranks(scores)


def _by_accuracy(scores: Sequence[Any], n_test: int) -> str:
    best = max(scores, key=lambda score: score.accuracy)
    error = np.sqrt(2 * best.accuracy * (1 - best.accuracy) / n_test)
    margin = 2 * error
    readable = [s for s in scores if not np.isnan(s.coherence)]
    words = next((s for s in scores if s.model == "tf-idf"), None)
    if best in readable:
        text = f"Take {best.model}: accuracy {best.accuracy:.3f}, the best here"
        if words is not None:
            gain = best.accuracy - words.accuracy
            clear = "" if gain > margin else ", a difference that may be chance"
            text += f" ({gain:+.3f} to plain tf-idf{clear})"
        return text + "."
    text = f"{best.model} classifies best (accuracy {best.accuracy:.3f})"
    if not readable:
        return f"Take {best.model}: {text}."
    near = max(readable, key=lambda score: score.accuracy)
    gap = best.accuracy - near.accuracy
    if gap <= margin:
        return (
            f"Take {near.model}: accuracy {near.accuracy:.3f} in {near.n_components} "
            f"topics that can be read, no worse than {best.model} "
            f"({best.accuracy:.3f}) by more than chance."
        )
    return (
        f"Take {best.model} if only accuracy counts ({best.accuracy:.3f}), "
        f"{near.model} ({near.accuracy:.3f}) if the {near.n_components} dimensions are "
        "to be read."
    )


def _by_ranks(scores: Sequence[Any]) -> str:
    if len(scores) == 1:
        return f"Take {scores[0].model}: it is the only one that was compared."
    total = np.zeros(len(scores))
    used = []
    for name, higher in _UNLABELLED:
        values = np.array([getattr(score, name) for score in scores])
        if np.isnan(values).any():
            continue
        values = np.round(-values if higher else values, 9)
        total += [(values < v).sum() + 0.5 * ((values == v).sum() - 1) for v in values]
        used.append(name)
    if not used:
        return "No score is defined for all models: look at the topics themselves."
    best = scores[int(np.argmin(total))]
    ahead = [
        name
        for name, higher in _UNLABELLED
        if name in used
        and getattr(best, name)
        == (max if higher else min)(getattr(s, name) for s in scores)
    ]
    lead = f", the best in {' and '.join(ahead)}" if ahead else ""
    return f"Take {best.model}: best mean rank in {', '.join(used)}{lead}."
