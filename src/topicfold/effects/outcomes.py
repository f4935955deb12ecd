# SPDX-License-Identifier: BSD-3-Clause
"""What is explained: shares of topics, their sums and differences."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.exceptions import DataError


@dataclass(frozen=True)
class Outcome:
    """A weighted sum of topic shares.

    Attributes
    ----------
    name : str
        Such as "3", "1 + 4" or a name of yours.
    words : str
        The topics' names or words.
    weights : array of shape (K,)
        Of the topics.
    """

    name: str
    words: str
    weights: NDArray[np.float64]


def make_outcomes(topics: Any, names: Sequence[str]) -> list[Outcome]:
    """Return the outcomes that `topics` asks for.

    Parameters
    ----------
    topics : None, int, str, list or mapping
        None is every topic; a number or name is one; ``"1 + 4"`` and ``"1 - 4"`` are a
        sum and a difference; a list has several of these. A mapping has names of yours
        and lists of topics to add, or mappings from topics to weights.
    names : sequence of str
        Names of the topics.
    """
    if topics is None:
        return [_outcome(str(k), {k: 1.0}, names) for k in range(len(names))]
    if isinstance(topics, Mapping):
        found = [_named(str(name), given, names) for name, given in topics.items()]
    elif isinstance(topics, str) or not hasattr(topics, "__iter__"):
        found = [_single(topics, names)]
    else:
        found = [_single(topic, names) for topic in topics]
    if not found:
        raise DataError("topics is empty. Give numbers of topics, or None for all.")
    return found


def _named(name: str, given: Any, names: Sequence[str]) -> Outcome:
    if isinstance(given, Mapping):
        weights = {_number(k, names): float(value) for k, value in given.items()}
    elif isinstance(given, str) or not hasattr(given, "__iter__"):
        weights = _expression(given, names)
    else:
        weights = {_number(k, names): 1.0 for k in given}
    return _outcome(name, weights, names)


def _single(given: Any, names: Sequence[str]) -> Outcome:
    weights = _expression(given, names)
    parts = [f"{'-' if w < 0 else '+'} {k}" for k, w in weights.items()]
    return _outcome(" ".join(parts).removeprefix("+ "), weights, names)


def _expression(given: Any, names: Sequence[str]) -> dict[int, float]:
    """Return the weights of a topic, or of a sum or difference such as "1 + 4"."""
    if isinstance(given, str) and given not in names:
        parts = re.findall(r"([+-]?)\s*(\d+)", given)
        if parts and re.fullmatch(r"\s*\d+(\s*[+-]\s*\d+)*\s*", given):
            signs = [(-1.0 if sign == "-" else 1.0) for sign, _ in parts]
            numbers = [_number(int(number), names) for _, number in parts]
            return dict(zip(numbers, signs, strict=True))
    return {_number(given, names): 1.0}


def _number(topic: Any, names: Sequence[str]) -> int:
    if isinstance(topic, str) and topic in names:
        return list(names).index(topic)
    whole = isinstance(topic, int | np.integer) and not isinstance(topic, bool)
    if not whole:
        raise DataError(
            f"there is no topic {topic!r}. Give its number, its name, or a sum or "
            "difference such as '1 + 4'."
        )
    if not 0 <= topic < len(names):
        raise DataError(f"there is no topic {topic}; topics are 0 to {len(names) - 1}.")
    return int(topic)


def _outcome(name: str, weights: Mapping[int, float], names: Sequence[str]) -> Outcome:
    row = np.zeros(len(names))
    for topic, weight in weights.items():
        row[topic] = weight
    if np.ptp(row) == 0:
        raise DataError(
            f"the outcome {name!r} has all topics with the same weight, whose shares "
            "always add up to the same. Leave some out."
        )
    words = " | ".join(
        f"{'minus ' if weight < 0 else ''}{names[topic]}"
        for topic, weight in weights.items()
    )
    return Outcome(name, words, row)
