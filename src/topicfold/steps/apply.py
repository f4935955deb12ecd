# SPDX-License-Identifier: BSD-3-Clause
"""Bringing rows to a step and its rows back, on every engine; and the safeguard.

Packed arrays come in and go out; a step sees plain rows, some at a time unless it
needs all. Rows that a step has made are on the simplex from then on; the counts that
the plain step takes as they are need not be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from topicfold.core.typing import Array
from topicfold.engine.protocol import Engine
from topicfold.engine.rows import array_module, map_rows, pack_rows, ranges_of, sum_rows
from topicfold.exceptions import DataError
from topicfold.steps.base import PhiStep, Step, StepContext, ThetaStep


def prepare_step(step: Step, context: StepContext) -> None:
    """Let a step check its parameters and make its state, or refuse it."""
    if isinstance(step, ThetaStep) and _needs_all(step):
        refuse_blocks(step, context.corpus)
    context.state = step.prepare(context)


def _needs_all(step: ThetaStep) -> bool:
    return step.needs_all_documents or step.needs_graph


def refuse_blocks(step: ThetaStep, engine: Engine) -> None:
    """Refuse a step that needs all documents at once where they are in blocks."""
    if hasattr(engine, "n_blocks"):
        raise DataError(
            f"{type(step).__name__} needs all documents in one place, but the corpus "
            "is visited in blocks: fit it as one matrix in memory, or on a device "
            "with room for it (device='cpu')."
        )


# ---- documents


def update_documents(
    step: ThetaStep, counts: Any, theta: Any, context: StepContext, on_simplex: bool
) -> tuple[Any, bool]:
    """Return new packed mixtures, and whether their rows are on the simplex.

    `counts` may be overwritten, and be what is returned.
    """
    engine = context.corpus
    if type(step).update is ThetaStep.update:
        return _plain_documents(step, counts, engine), False
    if not _needs_all(step):
        shared = _sent(step, context, on_simplex)
        return map_rows(engine, _new_rows, (counts, theta), shared, out=counts), True
    used = slice(0, engine.n_topics)
    own = counts[:, used]
    rows = step.update(own, _shares(theta[:, used], on_simplex), context)
    if rows is own:
        return _plain_documents(step, counts, engine), False
    if not step.normalized:
        rows = _checked_shares(step, rows, own)
    return pack_rows(rows, engine, theta), True


def _plain_documents(step: ThetaStep, counts: Any, engine: Engine) -> Any:
    if step.pseudo_count == 0.0:
        return counts
    return counts + engine.pack_prior(step.pseudo_count)


def documents_value(
    step: ThetaStep, theta: Any, context: StepContext, on_simplex: bool
) -> float:
    """Return the step's part of the objective at packed mixtures."""
    if type(step).value is ThetaStep.value:
        return 0.0
    engine = context.corpus
    if _needs_all(step):
        rows = _shares(theta[:, : engine.n_topics], on_simplex)
        return float(step.value(rows, context))
    shared = _sent(step, context, on_simplex)
    return sum_rows(engine, _rows_value, (theta,), shared)


def _sent(step: ThetaStep, context: StepContext, on_simplex: bool) -> tuple[Any, ...]:
    """What goes to the rows, which may be on other workers, without what stays here.

    Large arrays are beside the context: they are sent once for all blocks.
    """
    nothing: Any = np.empty((0, 0))
    sent = replace(
        context,
        lengths=None,
        topics=nothing,
        word_order=nothing,
        xp=None,
        graph=None,
        engine=None,
        evaluate=None,
    )
    return step, sent, context.topics, context.word_order, on_simplex


def _received(
    rows: slice, lengths: Any, context: StepContext, topics: Array, word_order: Any
) -> StepContext:
    xp = array_module(topics)
    known = {"topics": topics, "word_order": word_order, "xp": xp}
    return replace(context, rows=rows, lengths=xp.asarray(lengths), **known)


def _new_rows(rows: slice, lengths: Any, arrays: list[Array], *sent: Any) -> Array:
    step, *rest, on_simplex = sent
    counts, theta = arrays
    context = _received(rows, lengths, *rest)
    new: Array = step.update(counts, _shares(theta, on_simplex), context)
    if step.normalized and new is not counts:
        return new
    return _checked_shares(step, new, counts)


def _rows_value(rows: slice, lengths: Any, arrays: list[Array], *sent: Any) -> float:
    step, *rest, on_simplex = sent
    theta = _shares(arrays[0], on_simplex)
    return float(step.value(theta, _received(rows, lengths, *rest)))


def _shares(rows: Array, on_simplex: bool = False) -> Array:
    """Rows divided by their sums; uniform where there is nothing."""
    if on_simplex:
        return rows
    xp = array_module(rows)
    totals = rows.sum(axis=1, dtype=np.float64, keepdims=True)
    shares: Array = rows / xp.where(totals > 0, totals, 1.0).astype(rows.dtype)
    return xp.where(totals > 0, shares, rows.dtype.type(1.0 / rows.shape[1]))


def _checked_shares(step: ThetaStep, rows: Any, counts: Array) -> Array:
    _check(step, rows, counts)
    return _shares(rows)


def _check(step: Step, rows: Any, counts: Array) -> None:
    """Refuse rows that are none: the error names the step."""
    name = type(step).__name__
    if getattr(rows, "shape", None) != counts.shape:
        found = getattr(rows, "shape", type(rows).__name__)
        raise DataError(
            f"{name}.update returned {found} for counts of shape {counts.shape}; "
            "return one row for each row of counts."
        )
    xp = array_module(counts)
    if not bool(xp.isfinite(rows).all()) or bool((rows < 0).any()):
        raise DataError(
            f"{name}.update returned negative or infinite numbers, or NaN; rows may "
            "have any positive scale, but must be finite and not negative."
        )


# ---- topics


def update_topics(
    step: PhiStep, counts: Array, topics: Array, context: StepContext
) -> Array:
    """Return new packed topics, written to packed `counts`."""
    engine = context.corpus
    plain = type(step).update is PhiStep.update
    if not plain:
        n_plain = 0
        for words in _word_ranges(step, engine):
            own = counts[words, : engine.n_topics]
            there = replace(context, rows=engine.word_order[words])
            new = step.update(own, topics[words, : engine.n_topics], there)
            if new is own:
                n_plain += 1
                continue
            if not step.normalized:
                _check(step, new, own)
            own[...] = new
        plain = n_plain > 0
    if step.normalized and not plain:
        return counts
    return engine.normalize_topics(counts, step.pseudo_count, counts)


def topics_value(step: PhiStep, topics: Array, context: StepContext) -> float:
    """Return the step's part of the objective at packed topics."""
    if type(step).value is PhiStep.value:
        return 0.0
    engine = context.corpus
    total = 0.0
    for words in _word_ranges(step, engine):
        there = replace(context, rows=engine.word_order[words])
        total += float(step.value(topics[words, : engine.n_topics], there))
    return total


def _word_ranges(step: PhiStep, engine: Engine) -> list[slice]:
    if step.needs_all_words:
        return [slice(0, engine.n_terms)]
    return list(ranges_of(engine.n_terms))


# ---- the safeguard


def step_back(
    target: Any,
    theta: Any,
    accepts: Callable[[Any], bool],
    max_halvings: int,
) -> tuple[Any, float]:
    """Return the first of target, half way to it, … that is accepted, and its share.

    The last resort is the old θ, with share 0.
    """
    candidate, share = target, 1.0
    for halving in range(max_halvings + 1):
        if halving:
            share *= 0.5
            candidate = _between(theta, target, share)
        if accepts(candidate):
            return candidate, share
    return theta, 0.0


def _between(theta: Any, target: Any, share: float) -> Any:
    if hasattr(theta, "blocks"):
        engine = theta.engine
        return map_rows(engine, _part_of_the_way, (theta, target), (share,))
    return theta + theta.dtype.type(share) * (target - theta)


def _part_of_the_way(
    rows: slice, lengths: Any, arrays: list[Array], share: float
) -> Array:
    theta, target = arrays
    return theta + theta.dtype.type(share) * (target - theta)
