# SPDX-License-Identifier: BSD-3-Clause
"""Several sides in one model: which may be together, where, and what they say.

One list has what a side cannot do in a place: the driver asks it before a fit, and the
table of the documentation is made from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.typing import Array
from topicfold.engine.protocol import rows_of
from topicfold.exceptions import DataError
from topicfold.parts.sides import Side
from topicfold.parts.steps import Context

# Evidence of less than exp(-this) against a topic's rival is none: float32 has no
# smaller shares to spare.
MOST_EVIDENCE = 40.0


@dataclass(frozen=True)
class SideData:
    """Sides of a model with the checked data of some documents."""

    sides: Sequence[Side]
    data: Sequence[Any]
    context: Context

    def of(self, hook: str) -> list[tuple[Side, Any]]:
        """Return the sides of a hook, with their data."""
        pairs = zip(self.sides, self.data, strict=True)
        return [(side, data) for side, data in pairs if side.hook == hook]

    def one(self, hook: str) -> tuple[Side, Any] | None:
        """Return the only side of a hook, if there is one."""
        found = self.of(hook)
        return found[0] if found else None

    def rows(self, rows: Any) -> SideData:
        """Return the sides with the data of some documents."""
        lengths = self.context.lengths[rows]
        sides, data = [], []
        for side, own in zip(self.sides, self.data, strict=True):
            if side.hook == "mask":
                side, own = Precomputed("mask"), side.allowed(own, self.context)
            sides.append(side)
            data.append(rows_of(own, rows))
        there = self.context.of_rows(lengths)
        return SideData(sides, data, there)

    def fingerprint(self) -> dict[str, Any]:
        """Tell what is known of these documents from what is known of others."""
        pairs = zip(self.sides, self.data, strict=True)
        return {f"data of {type(side).__name__}": own for side, own in pairs}

    def without(self, hook: str) -> SideData:
        """Return the others."""
        pairs = zip(self.sides, self.data, strict=True)
        kept = [(side, data) for side, data in pairs if side.hook != hook]
        return replace(self, sides=[s for s, _ in kept], data=[d for _, d in kept])

    def allowed(self) -> sparse.csr_matrix | None:
        """Return the topics in use (D, K), ones; None if documents may use all."""
        found = self.one("mask")
        if found is None:
            return None
        side, data = found
        allowed = sparse.csr_matrix(side.allowed(data, self.context), dtype=np.float64)
        allowed.data[:] = 1.0
        return allowed

    def at(self, iteration: int, alpha: Any, eta: float) -> SideData:
        """Return the same in another iteration."""
        context = replace(self.context, iteration=iteration, alpha=alpha, eta=eta)
        return replace(self, context=context)


class Precomputed(Side):
    """What another side has made of all documents at once, by rows."""

    def __init__(self, hook: Any = "evidence") -> None:
        self.hook = hook  # type: ignore[misc]

    def evidence(self, counts: Array, data: Any, context: Any) -> Array:
        """Return it."""
        return data

    def prior(self, data: Any, context: Any) -> Array:
        """Return it."""
        return data

    def allowed(self, data: Any, context: Any) -> Any:
        """Return it."""
        return data


class RowData:
    """Data of several parts, which are sliced together; None is none."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = parts

    def __getitem__(self, rows: Any) -> list[Any]:
        return [rows_of(part, rows) for part in self.parts]

    def keep(self, rows: Any, found: Sequence[Any]) -> None:
        """Keep what parts of some rows carry to the next pass."""
        for part, own in zip(self.parts, found, strict=True):
            if own is not None:
                part.carried[rows] = own


def tilt_of(
    evidences: Sequence[tuple[Side, Any]], counts: Array, context: Context
) -> Array | None:
    """Return ``exp(δ − max δ)`` of all evidence on some rows; None without any."""
    if not evidences:
        return None
    total = sum(side.evidence(counts, data, context) for side, data in evidences)
    total = np.asarray(total) - np.max(total, axis=1, keepdims=True)
    return np.exp(np.maximum(total, -MOST_EVIDENCE))


def spread(allowed: sparse.csr_matrix) -> NDArray[np.float64]:
    """Return what α is multiplied by in each document.

    A document's prior tokens are shared by the topics it may use.
    """
    return np.asarray(allowed.shape[1] / np.maximum(np.diff(allowed.indptr), 1))


def check_together(sides: Sequence[Side]) -> None:
    """Refuse sides whose parameters are wrong, and two that contradict each other."""
    for side in sides:
        if not isinstance(side, Side):
            raise DataError(
                f"sides has {side!r}, which is not a side. Give objects from "
                "topicfold.evidence, theta or phi, for instance sides=[Authors()]."
            )
        side._validate_params()
    for number, side in enumerate(sides):
        for other in sides[:number]:
            _check_pair(other, side)


# Hooks that say how a document's mixture is made: one of them at most.
_MIXTURES = {
    "mixing": "computes the mixtures of documents from those of its entities",
    "prior": "gives every document its own prior",
    "mask": "restricts the topics of every document",
}


def _check_pair(one: Side, other: Side) -> None:
    names = " and ".join(type(side).__name__ for side in (one, other))
    if one.hook == other.hook == "topics":
        raise DataError(
            f"{names} contradict each other: both define how counts become topics. "
            "Leave one out."
        )
    hooks = {one.hook, other.hook}
    if one.hook == other.hook and one.hook in _MIXTURES:
        raise DataError(
            f"{names} contradict each other: each {_MIXTURES[one.hook]}. Leave one out."
        )
    if "mixing" in hooks and len(hooks & set(_MIXTURES)) == 2:
        each = "; ".join(
            f"{type(side).__name__} {_MIXTURES[side.hook]}" for side in (one, other)
        )
        raise DataError(f"{names} contradict each other: {each}. Leave one out.")
    if one.keyword is not None and one.keyword == other.keyword:
        raise DataError(
            f"{names} both take their data from the keyword {one.keyword!r}. Leave one "
            "out, or give them different keywords."
        )


_ONE_STEP = "defines how counts become topics: leave phi_step out"
_MAXIMIZED = "is learned by maximising: use algorithm='cvb0'"
_WHOLE = "learns from all documents at once: use fit, without batch_size"
_ONE_PLACE = "needs a corpus that fits on the GPU as a whole: use device='cpu'"
_COUNTED = "does not work with sampling, which only takes priors and masks: use LDA"
REFUSED = {
    ("evidence", "streamed"): _ONE_PLACE,
    ("prior", "streamed"): _ONE_PLACE,
    ("mask", "streamed"): _ONE_PLACE,
    ("mixing", "theta_step"): "computes mixtures itself: leave theta_step out",
    ("counts", "phi_step"): _ONE_STEP,
    ("topics", "phi_step"): _ONE_STEP,
    ("mixing", "online"): _WHOLE,
    ("counts", "online"): _WHOLE,
    ("topics", "online"): _WHOLE,
    ("mixing", "variational"): _MAXIMIZED,
    ("counts", "variational"): _MAXIMIZED,
    ("topics", "variational"): _MAXIMIZED,
    ("mixing", "gibbs"): _COUNTED,
    ("evidence", "gibbs"): _COUNTED,
    ("counts", "gibbs"): _COUNTED,
    ("topics", "gibbs"): _COUNTED,
}


def check_place(sides: Sequence[Side], place: str) -> None:
    """Refuse sides that cannot be where the corpus is."""
    for side in sides:
        reason = REFUSED.get((side.hook, place))
        if place == "online" and not (side.in_batches and not side.needs_all_documents):
            reason = _WHOLE
        if reason is not None:
            raise DataError(f"{type(side).__name__} {reason}.")
