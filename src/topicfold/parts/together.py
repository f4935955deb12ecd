# SPDX-License-Identifier: BSD-3-Clause
"""Several sides in one model: which may be together, where, and what they say.

One list has what a side cannot do in a place: the driver asks it before a fit, and the
table of the documentation is made from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.counts import check_counts
from topicfold.core.typing import Array
from topicfold.corpus.block_corpus import BlockCorpus
from topicfold.engine.protocol import rows_of
from topicfold.exceptions import DataError
from topicfold.parts.sides import Hook, Side, TopicWeights
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

    def pairs(self) -> Iterator[tuple[Side, Any]]:
        """Yield the sides with their data."""
        return zip(self.sides, self.data, strict=True)

    def of(self, hook: str) -> list[tuple[Side, Any]]:
        """Return the sides of a hook, with their data."""
        return [(side, data) for side, data in self.pairs() if side.hook == hook]

    def one(self, hook: str) -> tuple[Side, Any] | None:
        """Return the only side of a hook, if there is one."""
        found = self.of(hook)
        return found[0] if found else None

    def rows(self, rows: Any) -> SideData:
        """Return the sides with the data of some documents."""
        lengths = self.context.lengths[rows]
        sides, data = [], []
        for side, own in self.pairs():
            if side.hook == "mask":
                side, own = Precomputed("mask"), side.allowed(own, self.context)
            sides.append(side)
            data.append(rows_of(own, rows))
        there = self.context.of_rows(lengths)
        return SideData(sides, data, there)

    def fingerprint(self) -> dict[str, Any]:
        """Tell what is known of these documents from what is known of others."""
        return {f"data of {type(side).__name__}": own for side, own in self.pairs()}

    def without(self, hook: str) -> SideData:
        """Return the others."""
        kept = [(side, data) for side, data in self.pairs() if side.hook != hook]
        return replace(self, sides=[s for s, _ in kept], data=[d for _, d in kept])

    def allowed(self) -> sparse.csr_matrix | None:
        """Return the topics in use (D, K), ones; None if documents may use all."""
        found = self.one("mask")
        if found is None:
            return None
        side, data = found
        allowed = sparse.csr_matrix(side.allowed(data, self.context), dtype=np.float64)
        _check_shape(side, "allowed", allowed, self.context.n_topics, self.context)
        without = np.flatnonzero(np.diff(allowed.indptr) == 0)
        if len(without):
            raise _wrong(side, "allowed", f"no topic for document {without[0]}", "one")
        allowed.data[:] = 1.0
        return allowed

    def at(
        self, iteration: int, alpha: Any, eta: float, *, last: bool = False
    ) -> SideData:
        """Return the same in another iteration, or at the end of the last."""
        now = {"iteration": iteration, "alpha": alpha, "eta": eta, "last": last}
        return replace(self, context=replace(self.context, **now))


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


# ---- what sides return, which may be written outside


def _wrong(side: Side, method: str, found: str, wanted: str) -> DataError:
    return DataError(
        f"{type(side).__name__}.{method} returned {found}; return {wanted}."
    )


def _check_shape(
    side: Side, method: str, found: Any, n_columns: int, context: Context
) -> None:
    shape, wanted = np.shape(found), (context.n_documents, n_columns)
    if shape != wanted:
        raise _wrong(
            side, method, f"the shape {shape}", f"{wanted}, a row per document"
        )


def tilt_of(
    evidences: Sequence[tuple[Side, Any]], counts: Array, context: Context
) -> Array | None:
    """Return ``exp(δ − max δ)`` of all evidence on some rows; None without any."""
    if not evidences:
        return None
    total: Any = 0
    for side, data in evidences:
        own = side.evidence(counts, data, context)
        _check_shape(side, "evidence", own, counts.shape[1], context)
        if not np.isfinite(np.max(own, axis=1)).all():  # −∞ rules single topics out
            raise _wrong(side, "evidence", "NaN or infinity", "finite numbers")
        total = total + own
    total = total - np.max(total, axis=1, keepdims=True)
    return np.exp(np.maximum(total, -MOST_EVIDENCE))


def prior_of(side: Side, data: Any, context: Context) -> Array:
    """Return α, a row per document or one for all; without data, of unknown ones."""
    found = np.asarray(side.prior(data, context))
    if found.shape != (1, context.n_topics):
        _check_shape(side, "prior", found, context.n_topics, context)
    if not ((found > 0) & (found < np.inf)).all():
        raise _wrong(side, "prior", "numbers that are not positive", "positive ones")
    return found


def mixing_of(side: Side, data: Any, context: Context) -> sparse.csr_matrix:
    """Return M, whose rows sum to one, or to zero where no entity is known."""
    found = sparse.csr_matrix(side.mixing(data, context))
    _check_shape(side, "mixing", found, found.shape[1], context)
    sums = np.asarray(found.sum(axis=1)).ravel()[np.diff(found.indptr) > 0]
    if (found.data < 0).any() or not np.allclose(sums, 1.0, atol=1e-3):
        raise _wrong(side, "mixing", "other rows", "positive ones that sum to 1")
    return found


def counts_of(side: Side, data: Any, context: Context) -> Any:
    """Return the counts that a side brings: a CSR matrix, or blocks."""
    found = side.counts(data, context)
    _check_shape(side, "counts", found, found.shape[1], context)
    if isinstance(found, BlockCorpus):
        return found
    return check_counts(found, f"What {type(side).__name__}.counts returned")


def topics_of(side: Side, counts: Array, eta: float, context: Context) -> TopicWeights:
    """Return the topics that a side makes of the counts of all columns of X."""
    found = side.topics(counts, eta, np.arange(len(counts)), context)
    if not isinstance(found, TopicWeights):
        raise _wrong(side, "topics", type(found).__name__, "TopicWeights")
    if np.shape(found.weights) != counts.shape:
        shape = np.shape(found.weights)
        raise _wrong(side, "topics", f"weights of the shape {shape}", f"{counts.shape}")
    return found


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
        hook = str(getattr(side, "hook", None))
        if hook not in get_args(Hook):
            raise DataError(
                f"{type(side).__name__}.hook is {hook!r}. Set it to the side's place "
                f"in a model: {', '.join(get_args(Hook))}."
            )
        method = "allowed" if hook == "mask" else hook
        if getattr(type(side), method) is getattr(Side, method):
            raise DataError(
                f"{type(side).__name__} has the hook {hook!r}, but no method {method}. "
                "Write it (topicfold.parts.sides says how)."
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


# Why sides cannot be in a place.
_REASONS = {
    "streamed": "needs a corpus that fits on the GPU as a whole: use device='cpu'",
    "theta_step": "computes mixtures itself: leave theta_step out",
    "phi_step": "defines how counts become topics: leave phi_step out",
    "online": "learns from all documents at once: use fit, without batch_size",
    "variational": "is learned by maximising: use algorithm='cvb0'",
    "gibbs": "does not work with sampling, which only takes priors and masks: use LDA",
}
# Hooks and places that do not go together.
REFUSED = {
    *((hook, "streamed") for hook in ("evidence", "prior", "mask")),
    ("mixing", "theta_step"),
    *((hook, "phi_step") for hook in ("counts", "topics")),
    *((hook, "online") for hook in ("mixing", "counts", "topics")),
    *((hook, "variational") for hook in ("mixing", "counts", "topics")),
    *((hook, "gibbs") for hook in ("mixing", "evidence", "counts", "topics")),
}


def check_place(sides: Sequence[Side], place: str) -> None:
    """Refuse sides that cannot be where the corpus is."""
    for side in sides:
        in_batches = side.in_batches and not side.needs_all_documents
        if (side.hook, place) in REFUSED or (place == "online" and not in_batches):
            raise DataError(f"{type(side).__name__} {_REASONS[place]}.")
