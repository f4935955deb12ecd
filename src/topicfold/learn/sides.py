# SPDX-License-Identifier: BSD-3-Clause
"""Learning LDA with sides: what else is known of documents (``topicfold.sides``).

With evidence δ, ``e_dk = exp(δ_dk − max_k δ_dk)``, a prior α_dk and a mask, CVB0 has

    A_dk = (N_dk + α_dk) e_dk

and the token's own count leaves it as ``c p_k e_dk``, never below ``α_dk e_dk``. With a
mixing, ``A = (MΘ) e`` and the entity of a token sums out:

    N_ak = θ_ak Σ_d M_da N_dk / (MΘ)_dk,   θ_ak ∝ N_ak + α_k

which is EM, so that without evidence the objective never falls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from topicfold.core.counts import normalize_rows
from topicfold.core.typing import Array
from topicfold.engine.protocol import (
    DocumentPass,
    Engine,
    OwnShare,
    pack_own,
    pack_rows,
)
from topicfold.exceptions import DataError
from topicfold.learn.extrapolation import Point
from topicfold.learn.lda import OWN_WORD_SHARE, Cvb0
from topicfold.learn.plsa import check_resumable
from topicfold.sides.base import Side, TopicWeights
from topicfold.sides.together import SideData, check_place, spread
from topicfold.steps.base import (
    StepContext,
    ThetaStep,
    documents_value,
    learn_from_documents,
    prepare_step,
    step_back,
    topics_value,
    update_documents,
)

# A refused step that moves no share of a document by more than this is an optimum's.
STILL_MOVING = 0.01


class ColumnGroup(NamedTuple):
    """Columns whose topics sum to one by themselves; `side` brought them, if any."""

    columns: slice
    eta: float
    side: Side | None = None


class SidedLda(Cvb0):
    """CVB0 with sides, or EM with a mixing or a φ-step; see the module.

    The engine has X and the columns that sides added, `groups` of which X's are first;
    η is the prior of the topics over X. A token's own count is left out if `collapsed`,
    but never with a mixing.
    """

    #: Why mixtures stay although they should move; empty where they do not.
    stuck = ""

    def __init__(
        self,
        engine: Engine,
        phi: Array,
        alpha: NDArray[np.float64],
        eta: float,
        *,
        sides: SideData,
        groups: Sequence[ColumnGroup],
        collapsed: bool = True,
        learn_priors: bool = False,
    ) -> None:
        if not engine.takes_own_rows:
            check_place(sides.sides, "streamed")
        self.sides = sides
        self.groups = groups
        self._mixing = sides.one("mixing")
        self._collapsed = collapsed and self._mixing is None
        self._topic_side = sides.one("topics")
        self._plain: Array | None = None
        self._documents: OwnShare | None = None
        self._prior: Array | None = None
        self._own: OwnShare | None = None
        self._every_word: Array | None = None
        self._theta_step: ThetaStep | None = None
        self._group_totals = np.zeros((len(groups), engine.n_topics))
        options: dict[str, Any] = {
            "doc_updates": 0,
            "doc_tol": 0.0,
            "learn_priors": learn_priors,
        }
        super().__init__(engine, self._start_topics(phi), alpha, eta, **options)
        self._allowed = sides.allowed()
        if self._mixing is not None:
            side, data = self._mixing
            self._M = side.mixing(data, sides.context).astype(engine.dtype)
            shape = self._M.shape[1], engine.n_topics
            self.entity_topics = np.full(shape, 1.0 / shape[1], engine.dtype)
        self._set_documents(None)

    def extrapolated(self) -> Self:
        """Extrapolate the passes where a token's own count is left out; returns self.

        EM with a mixing or a φ-step goes on as it is, and so do documents that may use
        some of the topics only.
        """
        if self._collapsed and self._allowed is None:
            super().extrapolated()
        return self

    def move_to(self, point: Point) -> None:
        """Let the next pass begin there; topics sum to one in each group."""
        if len(self.groups) > 1:
            topics = self.engine.unpack_topics(point.topics)
            for group in self.groups:
                topics[:, group.columns] = normalize_rows(topics[:, group.columns])
            point = point._replace(topics=self.engine.pack_topics(topics))
        super().move_to(point)

    def moved(self) -> float:
        """Return the mean share of a document's weights that the last pass moves."""
        own = self._documents
        if self.extrapolation is None or self._pass is None or own is None:
            return super().moved()
        rows = [self.parameters, self._pass.counts, own.floor]
        rows += [] if own.scale is None else [own.scale]
        (total,) = self.engine.gather_rows(_moved_rows, tuple(rows))
        return float(total) / max(self.engine.n_documents, 1)

    def with_theta_step(
        self, step: ThetaStep, graph: Any = None, data: Any = None
    ) -> Self:
        """Let a θ-step make mixtures of N_dk, before evidence; returns self."""
        self._theta_step = step
        self._step_context = StepContext.of(self.engine, self.weights, graph)
        self._step_context.data = data
        prepare_step(step, self._step_context)
        return self

    def iterate(self) -> float:
        """New topics, then new documents; a safeguarded step goes back from a fall."""
        step = self._theta_step
        if step is None or not step.safeguarded:
            return super().iterate()
        before, old = self._step_context.objective, self.parameters.copy()
        value = super().iterate()

        def accepts(parameters: Array) -> bool:
            nonlocal value
            self.parameters = parameters
            value = self._objective(self._update_documents())
            return value >= before

        self.stuck = ""
        if value < before:
            target, wanted = self.parameters, self._theta()
            back, share = step_back(target, old, accepts, step.max_halvings)
            if share == 0.0:
                accepts(back)
                self._say_why_stuck(float(abs(wanted - self._theta()).max()))
        return value

    def _say_why_stuck(self, refused: float) -> None:
        """Note that a step was refused, unless it was as small as at an optimum."""
        if refused > STILL_MOVING:
            step = type(self._theta_step).__name__
            sides = ", ".join(type(side).__name__ for side in self.sides.sides)
            self.stuck = (
                f"{step} pulls documents to where {sides} does not let them be, and no "
                "part of its step raises the objective. Give the step a smaller "
                f"weight, or leave out edges that contradict {sides}."
            )

    def _theta(self) -> Array:
        """Return packed mixtures without the factor of evidence."""
        rows = np.asarray(self.engine.unpack_documents(self.parameters))
        return self.engine.pack_documents(normalize_rows(self._untilted(rows)))

    def _stepped(self, counts: Any) -> Any:
        """Return what the θ-step makes of packed counts, as many tokens as these."""
        engine, context = self.engine, self._step_context
        context.topics = self.weights[:, : engine.n_topics]
        theta, step = self._theta(), self._theta_step
        if step is None:
            return counts

        def evaluate(rows: Array) -> DocumentPass:
            packed = pack_rows(rows, engine, theta)
            if self._documents is not None and self._documents.scale is not None:
                packed = packed * self._documents.scale
            return engine.document_pass(packed, self.weights)

        context.evaluate = evaluate
        rows, on_simplex = update_documents(step, counts, theta, context, True)
        context.evaluate = None
        learn_from_documents(step, counts, rows, context, on_simplex)
        if not on_simplex:
            return rows
        lengths = np.maximum(engine.document_lengths, 1.0)[:, None]
        shape = engine.n_documents, engine.n_topics
        return rows * engine.pack_documents(np.broadcast_to(lengths, shape))

    def _start_topics(self, phi: Array) -> Array:
        phi = np.array(phi)
        for columns, _, side in self.groups:
            for other in self.sides.sides if side is None else ():
                phi[:, columns] = other.start(phi[:, columns], self.sides.context)
            phi[:, columns] = normalize_rows(phi[:, columns])
        return phi

    # ---- topics

    def _topics_from(self, words: Array) -> Array:
        if len(self.groups) == 1 and self._topic_side is None:
            return super()._topics_from(words)
        counts = self.engine.unpack_topics(words)
        weights = np.empty_like(counts)
        made = []
        for number, group in enumerate(self.groups):
            columns, eta = group.columns, self._eta(group)
            own = counts[:, columns].T
            if group.side is None and self._topic_side is not None:
                everything = np.arange(own.shape[0])
                found = self._topic_side[0].topics(
                    own, eta, everything, self._now().context
                )
            else:
                found = plain_topics(own, eta)
            weights[:, columns] = found.weights.T
            size = columns.stop - columns.start
            totals = own.sum(axis=0, dtype=np.float64)
            self._group_totals[number] = totals + eta * size
            made.append((size, found))
        self._totals = self._group_totals[0]
        self._own = _joined_share(made)
        if self.engine.packs_allowed:  # it keeps no words that documents do not read
            self._every_word = weights
        return self.engine.pack_topics(weights)

    def _eta(self, group: ColumnGroup) -> float:
        return self.eta if group.side is None else group.eta

    def _pass_options(self) -> dict[str, Any]:
        if not self._collapsed:
            return {"link": "identity"}
        if self._iteration == 0:
            return {"link": "identity", "documents": self._documents}
        options = super()._pass_options()
        if self._own is not None:
            options["own"] = pack_own(self.engine, self._own)
        return {**options, "documents": self._documents}

    # ---- documents

    def _now(self) -> SideData:
        return self.sides.at(self._iteration, self.alpha, self.eta)

    def _counts(self) -> Array:
        """Return N_dk of the last pass as plain rows."""
        if self._plain is None:
            if self._pass is None:
                raise RuntimeError("call start() before iterate()")
            self._plain = self.engine.unpack_documents(self._pass.counts)
        return self._plain

    def _update_documents(self) -> float:
        loglik = super()._update_documents()
        self._plain = None
        return loglik

    def _move_documents(self) -> None:
        now = self._now()
        learning = [s for s in now.sides if type(s).learn is not Side.learn]
        for side, data in zip(now.sides, now.data, strict=True):
            if side in learning:
                side.learn(self._counts(), data, now.context)
        if self._mixing is not None:
            self._update_entities()
        needed = now.of("evidence") or self._mixing is not None
        self._set_documents(self._counts() if needed else None)

    def _set_documents(self, counts: Array | None) -> None:
        """Make the rows of the next pass; without counts, there is no evidence yet."""
        now, engine = self._now(), self.engine
        tilt = None if counts is None else now.tilt(counts)
        if self._mixing is not None:
            rows = self._mixed()
            rows = rows if tilt is None else rows * tilt
            self.parameters = engine.pack_documents(rows.astype(engine.dtype))
            return
        prior = now.prior()
        if self._pass is None:
            documents: Any = self._even_counts()
        else:
            documents = self._pass.counts
            if self._theta_step is not None:
                documents = self._stepped(documents)
        if tilt is None and prior is None and self._allowed is None:
            alpha = engine.pack_prior(self.alpha)
            self.parameters = np.add(documents, alpha, out=self.parameters)
            return
        own = self._documents
        if own is None or tilt is not None or prior is not self._prior:
            own = self._documents = self._own_rows(tilt, prior)
            self._prior = prior
        if own.scale is not None:
            documents = np.multiply(documents, own.scale, out=self.parameters)
        self.parameters = np.add(documents, own.floor, out=self.parameters)

    def _own_rows(self, tilt: Array | None, prior: Array | None) -> OwnShare:
        """Return e and α e of all documents, zero at topics that are not allowed."""
        engine = self.engine
        shape = engine.n_documents, engine.n_topics
        floor: Any = np.broadcast_to(self.alpha, shape) if prior is None else prior
        if tilt is not None:
            floor = floor * tilt
        if self._allowed is not None and not engine.packs_allowed:
            mask = self._allowed.toarray()
            tilt = mask if tilt is None else tilt * mask
            floor = floor * mask * spread(self._allowed)[:, None]
        packed = engine.pack_documents(floor)
        if engine.packs_allowed:  # it has no place for other topics
            more = np.broadcast_to(spread(self._allowed)[:, None], shape)
            packed = packed * engine.pack_documents(more)
        return OwnShare(None if tilt is None else engine.pack_documents(tilt), packed)

    def _even_documents(self) -> Array:
        return self._even_counts()  # `_set_documents` adds the prior

    def _even_counts(self) -> Array:
        engine = self.engine
        shares = (engine.document_lengths / engine.n_topics)[:, None]
        shape = engine.n_documents, engine.n_topics
        return engine.pack_documents(np.broadcast_to(shares, shape))

    def _mixed(self) -> Array:
        return np.asarray(self._M @ self.entity_topics)

    def _update_entities(self) -> None:
        """The entities' mixtures from the tokens of their documents."""
        mixed = self._mixed()
        ratio = np.divide(
            self._counts(), mixed, out=np.zeros_like(mixed), where=mixed > 0
        )
        counts = self.entity_topics * np.asarray(self._M.T @ ratio)
        counts += self.alpha.astype(counts.dtype)
        self.entity_topics = normalize_rows(counts)

    # ---- results

    def _objective(self, loglik: float) -> float:
        value = loglik
        if self._mixing is not None:
            value += _log_prior(self.entity_topics, self.alpha) + self._topics_value()
        elif not self._collapsed and self.alpha.any():
            value += self._documents_value() + self._topics_value()
        if self._theta_step is not None:
            context = self._step_context
            value += documents_value(self._theta_step, self._theta(), context, True)
        if self.phi_step is not None:
            value += topics_value(self.phi_step, self.weights, self._context)
        now = self._now()
        for side, data in zip(now.sides, now.data, strict=True):
            if type(side).value is not Side.value:
                value += side.value(self._counts(), data, now.context)
        if self._theta_step is not None:
            self._step_context.objective = float(value)
        return float(value)

    def _documents_value(self) -> float:
        """Return ``Σ α_dk log θ_dk``."""
        unpack = self.engine.unpack_documents
        alpha: Array = self.alpha
        if self._documents is not None:
            alpha = self._untilted(np.asarray(unpack(self._documents.floor)))
        return _log_prior(np.asarray(unpack(self._theta())), alpha)

    def _topics_value(self) -> float:
        """Return ``Σ η log φ``."""
        if len(self.groups) == 1:
            return float(self.eta * self.engine.log_totals(self.weights, 0.0).sum())
        topics = self.engine.unpack_topics(self.weights)
        smallest = np.finfo(topics.dtype).tiny
        value = 0.0
        for group in self.groups:
            logs = np.log(np.maximum(topics[:, group.columns], smallest))
            value += self._eta(group) * float(logs.sum(dtype=np.float64))
        return value

    def topics(self) -> Array:
        """Topics over the columns of X (K, V)."""
        return self.group_topics()[0]

    def group_topics(self) -> list[Array]:
        """Topics over each group of columns, those of X first."""
        topics = self._every_word
        if topics is None:
            topics = self.engine.unpack_topics(self.weights)
        return [normalize_rows(topics[:, g.columns]) for g in self.groups]

    def doc_topics(self) -> Array:
        """Mixtures (D, K): of the entities, or posterior means."""
        if self._mixing is not None:
            return normalize_rows(self._mixed())
        if self._documents is None:
            return super().doc_topics()
        rows = np.asarray(self.engine.unpack_documents(self.parameters))
        return normalize_rows(self._untilted(rows))

    def keep_results(self) -> None:
        """Give every side what was learned for it."""
        if self._mixing is not None:
            self._mixing[0].keep(self.entity_topics)
        for group, topics in zip(self.groups, self.group_topics(), strict=True):
            if group.side is not None:
                group.side.components_ = topics  # type: ignore[attr-defined]
        now = self._now()
        for side, data in zip(now.sides, now.data, strict=True):
            if type(side).finish is not Side.finish:
                counts = self._last_counts()
                if not np.isfinite(counts).all():  # a state went on from nonsense
                    raise DataError(
                        "The fit ended with topics that are not numbers. If it went on "
                        "from a saved state, remove that and start afresh."
                    )
                side.finish(counts, data, now.context)

    def _last_counts(self) -> Array:
        """Return the N_dk that the documents' mixtures are made of."""
        engine = self.engine
        counts: Array
        if self._documents is None:
            counts = engine.unpack_documents(self.parameters) - self.alpha
        else:
            floor = engine.unpack_documents(self._documents.floor)
            rows = np.asarray(engine.unpack_documents(self.parameters) - floor)
            counts = self._untilted(rows)
        return np.maximum(counts, 0)

    def _untilted(self, rows: Array) -> Array:
        """Return rows without the factor of evidence, zero where it is zero."""
        if self._documents is None or self._documents.scale is None:
            return rows
        tilt = np.asarray(self.engine.unpack_documents(self._documents.scale))
        return np.divide(rows, tilt, out=np.zeros_like(rows), where=tilt > 0)

    def free_scratch(self) -> None:
        """Let go of what only another iteration would need."""
        super().free_scratch()
        self._plain = None

    # ---- going on later

    def fingerprint(self) -> dict[str, Any]:
        """Tell this corpus, and what is known of its documents, from others."""
        pairs = zip(self.sides.sides, self.sides.data, strict=True)
        data = {f"data of {type(side).__name__}": own for side, own in pairs}
        return {**super().fingerprint(), **data}

    def state(self) -> dict[str, Any]:
        """Return what `restore` needs, with what sides carry from pass to pass."""
        if self._theta_step is not None:
            check_resumable(self._theta_step)
        state = super().state()
        if self._every_word is not None:
            state["topics"] = self._every_word
        if self._mixing is not None:
            state["entity_topics"] = self.entity_topics
        elif self.sides.of("evidence"):
            rows = "evidence_scale", "evidence_floor"
            state.update(zip(rows, self._evidence_rows(), strict=True))
        if self._own is not None:
            state |= {"own_scale": self._own.scale, "own_floor": self._own.floor}
        for name, owner, attribute, shape in self._carried():
            found = getattr(owner, attribute, None)
            state[name] = np.zeros(shape) if found is None else np.asarray(found)
        return state

    def restore(self, state: dict[str, Any]) -> float:
        """Go on from a `state`; returns the objective there."""
        self.alpha, self.eta = state["alpha"], float(state["eta"])
        self._iteration = int(state["iteration"])
        self._topics_from(np.zeros_like(self._spare))  # for the form of `_own`
        if self._own is not None:
            own = state["own_scale"], state["own_floor"]
            form = {(array.shape, array.dtype.char) for array in own}
            if form != {(np.shape(self._own.scale), "d")} or not np.min(own) >= 0:
                raise ValueError("own_scale or own_floor makes no sense")
            self._own = self._own._replace(scale=own[0], floor=own[1])
        for name, owner, attribute, shape in self._carried():
            setattr(owner, attribute, state[name] if shape else float(state[name]))
        if self._every_word is not None:
            self._every_word = state["topics"]
        if self._mixing is not None:
            self.entity_topics = state["entity_topics"]
        elif self.sides.of("evidence"):
            pack = self.engine.pack_documents
            scale, floor = pack(state["evidence_scale"]), pack(state["evidence_floor"])
            self._documents = OwnShare(scale, floor)
        elif self._documents is not None:
            self._prior = self._now().prior()
            self._documents = self._own_rows(None, self._prior)
        return super().restore(state)

    def _evidence_rows(self) -> tuple[Array, Array]:
        """Return e and α e of all documents; zeros before the first pass."""
        engine, own = self.engine, self._documents
        if own is None or own.scale is None:
            empty = np.zeros((engine.n_documents, engine.n_topics), engine.dtype)
            return empty, empty
        unpack = engine.unpack_documents
        return np.asarray(unpack(own.scale)), np.asarray(unpack(own.floor))

    def _carried(self) -> Iterator[tuple[str, Any, str, tuple[int, ...]]]:
        """Yield what sides carry: a name, whose attribute it is, and its shape."""
        for number, side in enumerate(self.sides.sides):
            data, kind = self.sides.data[number], type(side)
            if kind.learn is not Side.learn and kind.carried is Side.carried:
                raise DataError(
                    f"{kind.__name__} does not say what it carries from pass to pass "
                    "(Side.carried), so Resume cannot keep it: fit without Resume. "
                    "Checkpoint keeps results on the way."
                )
            for name, shape in side.carried(data, self.sides.context).items():
                owner = data if hasattr(data, name) else side
                yield f"side {number} {name}", owner, name, shape


def _moved_rows(
    rows: slice, lengths: Any, arrays: list[Array], data: Any
) -> tuple[float]:
    """Return ``½ Σ_dk |A_dk − A'_dk|`` of shares before and after a pass."""
    before, counts, floor, *scale = arrays
    after = counts * scale[0] + floor if scale else counts + floor
    total = after.sum(axis=1, keepdims=True)
    after = after / np.where(total > 0, total, 1)
    total = before.sum(axis=1, keepdims=True)
    after -= before / np.where(total > 0, total, 1)
    return (float(np.abs(after).sum(dtype=np.float64)) / 2,)


def _log_prior(theta: Array, alpha: Array) -> float:
    """Return ``Σ α log θ``."""
    logs = np.log(np.maximum(theta, np.finfo(theta.dtype).tiny), dtype=np.float64)
    return float((logs * alpha).sum())


def plain_topics(counts: Array, eta: float) -> TopicWeights:
    """Return ``(N_wk + η) / (N_k + Vη)`` of counts (n_words, K)."""
    totals = counts.sum(axis=0, dtype=np.float64) + eta * len(counts)
    totals = np.where(totals > 0, totals, 1.0)
    weights = (counts + eta) / totals
    return TopicWeights(weights, 1.0 / totals, eta / totals)


def _joined_share(made: list[tuple[int, TopicWeights]]) -> OwnShare:
    """Return the own share of the words of all groups, by column."""
    scales, floors, groups, first = [], [], [], 0
    for size, found in made:
        scale, floor = np.atleast_2d(found.scale), np.atleast_2d(found.floor)
        own = np.zeros(size, np.int32) if found.groups is None else found.groups
        scales.append(OWN_WORD_SHARE * scale)
        floors.append(floor)
        groups.append(own + first)
        first += len(scale)
    return OwnShare(
        np.concatenate(scales), np.concatenate(floors), np.concatenate(groups)
    )
