# SPDX-License-Identifier: BSD-3-Clause
"""What else is known of the documents of a fit, at work on their rows.

Evidence, priors and masks make a factor e and a floor α e of every document, by rows,
wherever these are: no table of documents and topics is made here, but for sides that
must see all documents at once.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, psi

from topicfold.core.counts import normalize_rows
from topicfold.core.typing import Array
from topicfold.engine.protocol import (
    Engine,
    OwnShare,
    add_statistics,
    array_module,
    ranges_of,
    rows_of,
    to_numpy,
)
from topicfold.exceptions import DataError
from topicfold.parts.sides import Side, learn_from
from topicfold.parts.steps import (
    Move,
    ThetaStep,
    moved_rows,
    moved_shares,
    moved_values,
)
from topicfold.parts.together import (
    Precomputed,
    RowData,
    SideData,
    check_place,
    mixing_of,
    prior_of,
    spread,
    tilt_of,
)

# Of ψ and logarithms.
LEAST_GAMMA, LEAST_LOG = 1e-30, -80.0
# Documents at a time: tables of them in float64, of which evidence makes some, stay
# small beside a block.
ROWS = 2**12
# A refused step that moves no share of a document by more than this is an optimum's.
STILL_MOVING = 0.01


class SideRows:
    """The sides of a fit, and what they make of rows of documents.

    Attributes
    ----------
    now : SideData
        The sides and their data in this iteration.
    own : OwnShare or None
        e and α e of all documents, packed; None where all have the model's own prior
        and no evidence.
    mixing : tuple or None
        The side whose entities mix, with its data.
    """

    def __init__(self, engine: Engine, sides: SideData) -> None:
        if not engine.takes_own_rows:
            check_place(sides.sides, "streamed")
        self.engine, self.now = engine, sides
        self.own: OwnShare | None = None
        self.mixing = sides.one("mixing")
        self.allowed = sides.allowed()
        self._prior_made_of: list[Any] = []
        if sides.context.fitting and sides.context.iteration == 0:
            for side, data in self.now.pairs():
                side.prepare(data, sides.context)
        if self.mixing is not None:
            side, data = self.mixing
            self._M = mixing_of(side, data, sides.context).astype(engine.dtype)
            shape = self._M.shape[1], engine.n_topics
            self.entity_topics = np.full(shape, 1.0 / shape[1], engine.dtype)

    def _map(
        self, function: Any, inputs: Any, shared: Any = (), data: Any = None
    ) -> Any:
        return self.engine.map_rows(_mapped, inputs, (function, *shared), data=data)

    def gather(
        self, function: Any, inputs: Any, shared: Any = (), data: Any = None
    ) -> tuple[Any, ...]:
        """Return the sums of what a function returns, for `ROWS` at a time."""
        return self.engine.gather_rows(_summed, inputs, (function, *shared), data)

    # ---- learning

    def learn(
        self, counts: Any, iteration: int, alpha: Array, eta: float, blend: Any = None
    ) -> None:
        """Let the sides learn from the packed counts of the last pass.

        `blend` returns sums of a stream, given a side and those of a batch.
        """
        self.now = self.now.at(iteration, alpha, eta)
        for side, data in self.now.pairs():
            if not side.learns:
                continue
            sums = functools.partial(self._sums, side, data, counts)
            if blend is None:
                learn_from(side, sums, self.now.context)
            else:
                side.learn(blend(side, sums()), self.now.context)
        if self.mixing is not None:
            shared = (self.entity_topics,)
            (found,) = self.gather(_entity_rows, (counts,), shared, self._M)
            own = self.entity_topics * found.astype(self.engine.dtype)
            own += alpha.astype(own.dtype)
            self.entity_topics = normalize_rows(own)

    def _sums(self, side: Side, data: Any, counts: Any) -> tuple[Any, ...]:
        if side.needs_all_documents:
            plain = self.engine.unpack_documents(counts)
            return side.gather(plain, data, self.now.context)
        shared = side, self.now.context.for_rows()
        return self.gather(_gathered, (counts,), shared, data)

    def value(self, counts: Any) -> float:
        """Return the sides' part of the objective."""
        total = 0.0
        for side, data in self.now.pairs():
            if type(side).value is Side.value:
                continue
            if side.needs_all_documents:
                plain = self.engine.unpack_documents(counts)
                total += side.value(plain, data, self.now.context)
            else:
                shared = side, self.now.context.for_rows()
                rows = self.gather(_valued, (counts,), shared, data)
                total += float(rows[0])
        return total

    def prior_value(self, documents: Any, alpha: Array) -> float:
        """Return ``Σ α_dk log θ_dk``."""
        if self.mixing is not None:
            return log_prior(self.entity_topics, alpha)
        own = self.own
        rows = [documents]
        if own is not None:
            rows += [own.floor] if own.scale is None else [own.floor, own.scale]
        (value,) = self.gather(_log_prior_rows, tuple(rows), (alpha,))
        return float(value)

    # ---- rows of documents

    def weights(self, rows: Any, counts: Any, out: Any) -> Any:
        """Return ``(rows + α) e`` (packed); without counts, evidence stays as it is."""
        engine, now = self.engine, self.now
        tilted = counts is not None and bool(now.of("evidence"))
        if self.mixing is not None:
            mixed = self._map(_mixed, (rows,), (self.entity_topics,), data=self._M)
            return mixed * self._tilt(rows, counts, None) if tilted else mixed
        found = now.one("prior")
        plain = found is None and self.allowed is None and self.own is None
        if plain and not tilted:
            return np.add(rows, engine.pack_prior(now.context.alpha), out=out)
        made_of = [] if found is None else self._made_of(*found)
        same = len(made_of) == len(self._prior_made_of) and all(
            a is b for a, b in zip(made_of, self._prior_made_of, strict=True)
        )
        if self.own is None or tilted or not same:
            self.own = None  # before the next ones are made: they are large
            self.own = self._own_rows(rows, counts if tilted else None)
            self._prior_made_of = made_of
        if self.own.scale is not None:
            rows = np.multiply(rows, self.own.scale, out=out)
        return np.add(rows, self.own.floor, out=out)

    def _made_of(self, side: Side, data: Any) -> list[Any]:
        """Return what a prior follows from: what its side has learned so far."""
        names = side.carried(data, self.now.context)
        return [getattr(side, name, None) for name in names]

    def _tilt(self, like: Any, counts: Any, allowed: Any) -> Any:
        """Return the packed factor of all evidence, zero at topics not allowed."""
        sides, data, context = [], [], self.now.context
        for side, own in self.now.of("evidence") if counts is not None else ():
            if side.needs_all_documents:
                plain = self.engine.unpack_documents(counts)
                side, own = Precomputed(), side.evidence(plain, own, context)
            sides.append(side)
            data.append(own)
        shared = sides, context.for_rows()
        like = like if counts is None else counts
        return self._map(_tilted, (like,), shared, data=RowData([*data, allowed]))

    def _own_rows(self, like: Any, counts: Any) -> OwnShare:
        """Return e and α e of all documents, zero at topics that are not allowed."""
        engine, allowed, context = self.engine, self.allowed, self.now.context
        masked = allowed is not None and not engine.packs_allowed
        scale = None
        if counts is not None or masked:
            scale = self._tilt(like, counts, allowed if masked else None)
        side, data = self.now.one("prior") or (None, None)
        if side is not None and side.needs_all_documents:
            side, data = Precomputed(), prior_of(side, data, context)
        times = None if allowed is None else spread(allowed)
        inputs = (like,) if scale is None else (like, scale)
        floor = self._map(
            *(_floors, inputs, (side, context.for_rows())), data=RowData([data, times])
        )
        return OwnShare(scale, floor)

    def without_evidence(self, documents: Any) -> Any:
        """Return packed rows without the factor of evidence, zero where it is zero."""
        if self.own is None or self.own.scale is None:
            return documents
        return self._map(_untilted, (documents, self.own.scale))

    def expected(self, weighted: Any) -> Any:
        """Return ``exp(ψ(γ) − ψ(Σγ)) e`` of packed ``γ e``: of variational Bayes."""
        scaled = self.own is not None and self.own.scale is not None
        inputs = (weighted, self.own.scale) if scaled and self.own else (weighted,)
        return self._map(_expected, inputs)

    def bound(self, weighted: Any, weights: Any, counts: Any, alpha: Array) -> float:
        """Return what the bound of variational Bayes has besides words and topics.

        The documents' Dirichlets, less ``Σ N log e``, which is the evidence's to give;
        and the logarithms of the totals that the log-likelihood leaves out.
        """
        rows = [weighted, weights, counts]
        if self.own is not None:
            rows += [row for row in (self.own.floor, self.own.scale) if row is not None]
        (value,) = self.gather(_bound_rows, tuple(rows), (alpha,))
        return float(value)

    # ---- topics that are merged and split

    def free_topics(self) -> NDArray[np.bool_]:
        """Return the topics that stand for nothing in any side."""
        context = self.now.context
        found = np.ones(context.n_topics, dtype=bool)
        for side, data in self.now.pairs():
            found &= side.free_topics(data, context)
        return found

    def move(self, moves: list[Move]) -> None:
        """Let what is known of topics follow those that were merged and split."""
        for side, data in self.now.pairs():
            side.follow(moves, data)
        if self.own is None:
            return
        found = self.now.one("prior")
        if found is not None and not self.now.of("evidence"):
            self._remake(found)
            return
        scale, floor = self.own.scale, self.own.floor
        if scale is not None:
            scale = self._map(moved_rows, (scale,), (moved_values, moves))
        floor = self._map(moved_rows, (floor,), (moved_shares, moves))
        self.own = OwnShare(scale, floor)

    def _remake(self, found: tuple[Side, Any] | None) -> None:
        """Make the rows of a prior again; a resumed fit gets the same bits."""
        if self.own is not None:
            self.own = self._own_rows(self.own.floor, None)
            self._prior_made_of = [] if found is None else self._made_of(*found)

    def contradiction(self, step: ThetaStep, wanted: Any, found: Any) -> str:
        """Say why a step was refused, unless it was as small as at an optimum."""
        one, other = (
            normalize_rows(self.engine.unpack_documents(self.without_evidence(rows)))
            for rows in (wanted, found)
        )
        if float(abs(one - other).max()) <= STILL_MOVING:
            return ""
        sides = ", ".join(type(side).__name__ for side in self.now.sides)
        return (
            f"{type(step).__name__} moves documents towards topics that {sides} does "
            "not allow, and no smaller step raises the objective. Give the step a "
            f"smaller weight, or leave out edges that contradict {sides}."
        )

    # ---- results

    def doc_topics(self, documents: Any) -> Array:
        """Mixtures (D, K): of the entities, or posterior means without evidence."""
        if self.mixing is not None:
            shared = (self.entity_topics,)
            documents = self._map(_mixed, (documents,), shared, data=self._M)
        else:
            documents = self.without_evidence(documents)
        return self.engine.mixtures(documents)

    def finish(self, documents: Any, iteration: int, alpha: Array, eta: float) -> None:
        """Let the sides learn what needs the end alone."""
        self.now = self.now.at(iteration, alpha, eta, last=True)
        if self.mixing is not None:
            self.mixing[0].keep_entities(self.entity_topics)
        counts = None
        for side, data in self.now.pairs():
            if side.learns_last:
                counts = self._last_counts(documents) if counts is None else counts
                self._check_finite(counts)
                sums = functools.partial(self._sums, side, data, counts)
                learn_from(side, sums, self.now.context)
            side.finish(self.now.context)

    def _check_finite(self, counts: Any) -> None:
        (finite,) = self.gather(_finite_rows, (counts,))
        if finite < self.engine.n_documents:  # a state went on from nonsense
            raise DataError(
                "The fit ended with topics that contain NaN or infinity. If it was "
                "resumed from a saved state, remove the state and start afresh."
            )

    def _last_counts(self, documents: Any) -> Any:
        """Return the N_dk that the documents' mixtures are made of (packed)."""
        own = self.own
        if own is None:
            left = np.subtract(
                documents, self.engine.pack_prior(self.now.context.alpha)
            )
        else:
            left = self.without_evidence(np.subtract(documents, own.floor))
        return np.maximum(left, 0, out=left)

    # ---- going on later

    def state(self) -> dict[str, Any]:
        """Return what sides carry from pass to pass."""
        state: dict[str, Any] = {}
        if self.mixing is not None:
            state["entity_topics"] = self.entity_topics
        elif self.now.of("evidence"):
            rows = "evidence_scale", "evidence_floor"
            state.update(zip(rows, self._evidence_rows(), strict=True))
        for name, owner, attribute, shape in self._carried():
            found = getattr(owner, attribute, None)
            state[name] = np.zeros(shape) if found is None else np.asarray(found)
        return state

    def restore(
        self, state: dict[str, Any], iteration: int, alpha: Array, eta: float
    ) -> None:
        """Go on from a `state`."""
        self.now = self.now.at(iteration, alpha, eta)
        for name, owner, attribute, shape in self._carried():
            setattr(owner, attribute, state[name] if shape else float(state[name]))
        if self.mixing is not None:
            self.entity_topics = state["entity_topics"]
        elif self.now.of("evidence"):
            pack = self.engine.pack_documents
            scale, floor = pack(state["evidence_scale"]), pack(state["evidence_floor"])
            self.own = OwnShare(scale, floor)
        else:
            self._remake(self.now.one("prior"))

    def _evidence_rows(self) -> tuple[Array, Array]:
        """Return e and α e of all documents; zeros before the first pass."""
        engine, own = self.engine, self.own
        if own is None or own.scale is None:
            empty = np.zeros((engine.n_documents, engine.n_topics), engine.dtype)
            return empty, empty
        unpack = engine.unpack_documents
        return np.asarray(unpack(own.scale)), np.asarray(unpack(own.floor))

    def _carried(self) -> Iterator[tuple[str, Any, str, tuple[int, ...]]]:
        """Yield what sides carry: a name, whose attribute it is, and its shape."""
        for number, (side, data) in enumerate(self.now.pairs()):
            kind = type(side)
            if side.learns and kind.carried is Side.carried:
                raise DataError(
                    f"{kind.__name__} does not name what it carries from pass to pass "
                    "(Side.carried), so Resume cannot save it. Fit without Resume; "
                    "Checkpoint saves results during a fit."
                )
            for name, shape in side.carried(data, self.now.context).items():
                owner = data if hasattr(data, name) else side
                yield f"side {number} {name}", owner, name, shape


# ---- rows, maybe on workers


def _some_at_a_time(
    rows: slice, lengths: Any, arrays: list[Any], data: Any, function: Any, shared: Any
) -> Iterator[tuple[slice, Any]]:
    """Yield what a function returns of NumPy's rows, `ROWS` at a time."""
    plain, lengths = [to_numpy(array) for array in arrays], to_numpy(lengths)
    for own in ranges_of(len(lengths), ROWS):
        there = slice(rows.start + own.start, rows.start + own.stop)
        known = (
            [rows_of(part, own) for part in data]
            if isinstance(data, list)
            else rows_of(data, own)
        )
        some = [array[own] for array in plain]
        yield own, function(there, lengths[own], some, known, *shared)


def _mapped(
    rows: slice, lengths: Any, arrays: list[Any], data: Any, function: Any, *shared: Any
) -> Any:
    """Return the rows that a function makes, and what it leaves for the next pass."""
    xp = array_module(arrays[0])
    made = np.empty(arrays[0].shape, arrays[0].dtype)
    kept: list[Any] = []
    for own, found in _some_at_a_time(rows, lengths, arrays, data, function, shared):
        made[own], left = found if isinstance(found, tuple) else (found, None)
        kept += [] if left is None else [left]
    result = made if xp is np else xp.asarray(made)
    if not kept:
        return result
    parts = zip(*kept, strict=True)
    return result, [None if p[0] is None else np.concatenate(p) for p in parts]


def _summed(
    rows: slice, lengths: Any, arrays: list[Any], data: Any, function: Any, *shared: Any
) -> tuple[Any, ...]:
    """Return the sums of what a function returns."""
    parts = _some_at_a_time(rows, lengths, arrays, data, function, shared)
    return functools.reduce(add_statistics, (found for _, found in parts))


def _gathered(
    rows: Any, lengths: Any, arrays: list[Array], data: Any, side: Side, context: Any
) -> tuple[Any, ...]:
    sums = side.gather(arrays[0], data, context.of_rows(lengths))
    # Copies: the sums of other rows are added to them.
    return tuple(np.array(value, dtype=np.float64) for value in sums)


def _valued(
    rows: Any, lengths: Any, arrays: list[Array], data: Any, side: Side, context: Any
) -> tuple[float]:
    return (float(side.value(arrays[0], data, context.of_rows(lengths))),)


def _tilted(
    rows: Any, lengths: Any, arrays: list[Array], data: Any, sides: Any, context: Any
) -> Any:
    """Return ``exp(δ − max δ)`` of all evidence, and what it leaves for the next."""
    *own, allowed = data
    there = context.of_rows(lengths)
    tilt = tilt_of(list(zip(sides, own, strict=True)), arrays[0], there)
    if allowed is not None:
        mask = allowed.toarray()
        tilt = mask if tilt is None else tilt * mask
    return tilt, [*(getattr(part, "carried", None) for part in own), None]


def _floors(
    rows: Any, lengths: Any, arrays: list[Array], data: Any, side: Any, context: Any
) -> Array:
    """Return α e of these documents."""
    own, times = data
    like, *scale = arrays
    there = context.of_rows(lengths)
    prior = context.alpha if side is None else prior_of(side, own, there)
    prior = np.broadcast_to(prior, like.shape)
    prior = prior * scale[0] if scale else prior
    return prior if times is None else prior * times[:, None]


def _untilted(rows: Any, lengths: Any, arrays: list[Array], data: Any) -> Array:
    return _divided(*arrays)


def _divided(rows: Array, by: Array) -> Array:
    """Return a quotient that is zero where the divisor is."""
    return np.divide(rows, by, out=np.zeros_like(rows), where=by > 0)


def _expected(rows: Any, lengths: Any, arrays: list[Array], data: Any) -> Array:
    gamma = np.asarray(arrays[0] if len(arrays) == 1 else _divided(*arrays), np.float64)
    logs = psi(np.maximum(gamma, LEAST_GAMMA)) - psi(gamma.sum(axis=1, keepdims=True))
    found = np.exp(np.maximum(logs, LEAST_LOG)) * (gamma > 0)
    return np.asarray(found if len(arrays) == 1 else found * arrays[1])


def _bound_rows(
    rows: Any, lengths: Any, arrays: list[Array], data: Any, alpha: Array
) -> tuple[float]:
    plain: Any = [np.asarray(array, dtype=np.float64) for array in arrays]
    weighted, weights, counts, *own = plain
    value = float(lengths @ np.log(np.maximum(weights.sum(axis=1), LEAST_GAMMA)))
    gamma, prior = weighted, np.broadcast_to(own[0] if own else alpha, weighted.shape)
    if len(own) == 2:
        gamma, prior = (_divided(array, own[1]) for array in (gamma, prior))
        said = np.log(np.maximum(own[1], LEAST_GAMMA)) * (own[1] > 0)
        value -= float((counts * said).sum())
    used = gamma > 0
    total = gamma.sum(axis=1)
    gamma, prior = np.where(used, gamma, 1.0), np.where(used, prior, 1.0)
    logs = (psi(gamma) - psi(total)[:, None]) * used
    value += float(((prior - gamma) * logs).sum())
    value += float(((gammaln(gamma) - gammaln(prior)) * used).sum())
    value += float((gammaln((prior * used).sum(axis=1)) - gammaln(total)).sum())
    return (value,)


def _mixed(
    rows: Any, lengths: Any, arrays: list[Array], M: Any, entity_topics: Array
) -> Array:
    return np.asarray(M @ entity_topics)


def _entity_rows(
    rows: Any, lengths: Any, arrays: list[Array], M: Any, entity_topics: Array
) -> tuple[Any]:
    """Return ``Mᵀ (N / MΘ)`` of these documents."""
    ratio = _divided(arrays[0], np.asarray(M @ entity_topics))
    return (np.asarray(M.T @ ratio).astype(np.float64),)


def _finite_rows(rows: Any, lengths: Any, arrays: list[Array], data: Any) -> tuple[int]:
    return (int(np.isfinite(arrays[0]).all(axis=1).sum()),)


def _log_prior_rows(
    rows: Any, lengths: Any, arrays: list[Array], data: Any, alpha: Array
) -> tuple[float]:
    documents, *own = arrays
    prior: Array = own[0] if own else alpha
    if len(own) == 2:
        documents, prior = (_divided(array, own[1]) for array in (documents, prior))
    return (log_prior(normalize_rows(np.array(documents)), prior),)


def log_prior(theta: Array, alpha: Any) -> float:
    """Return ``Σ α log θ``."""
    logs = np.log(np.maximum(theta, np.finfo(theta.dtype).tiny), dtype=np.float64)
    return float((logs * alpha).sum())
