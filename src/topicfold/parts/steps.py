# SPDX-License-Identifier: BSD-3-Clause
"""The contract of the parts of a model, and those that make it: θ-steps and φ-steps.

A part is a small estimator: parameters in ``__init__``, stored as they are, and what it
learns in attributes that end in ``_``. `fit` works on copies, which are saved with the
model. A part sees plain rows, some at a time, on every engine; the driver does the
packing, devices and blocks. In a fit, after every pass over the corpus:

- ``gather(counts, ..., context)`` returns sums over the given documents; the engine
  adds them up in one order, whatever the blocks, threads and workers;
- ``learn(sums, context)`` sets what the part learns from the sums over all documents;
- ``value(...)`` is its share of the objective.

`transform` uses the same methods with what was learned, and calls `learn` no more.

A θ-step turns expected counts of documents into topic mixtures, a φ-step expected
counts of words into topics; ``parts.sides`` has what else is known of documents. The
functions at the end bring rows to a step and its rows back: packed arrays come in and
go out, a step sees some plain rows at a time unless it needs all. Rows that a step has
made are on the simplex from then on; the counts that the plain step takes as they are
need not be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from topicfold.core.parameters import AT_LEAST_ONE, DeclaredParameters, FittedAttributes
from topicfold.core.typing import Array
from topicfold.engine.protocol import (
    DocumentPass,
    Engine,
    array_module,
    pack_rows,
    padded,
    ranges_of,
)
from topicfold.exceptions import DataError


@dataclass
class Context:
    """What a part may look at besides its rows and its own data.

    Attributes
    ----------
    n_documents, n_topics, n_terms : int
        Documents, topics, and columns of X.
    lengths : ndarray
        Tokens of the documents that the part was given, of all documents in `prepare`
        and for a φ-step. Of sides: those of X and, times their weights, of other
        counts, so that expected counts N_dk sum to them; sides that bring counts are
        checked before the others, and see X's alone.
    alpha, eta : ndarray of shape (n_topics,), float
        The model's own priors of documents and of topics, as they are now.
    iteration : int
        Passes made so far; 0 is the start.
    fitting : bool
        False in `transform`.
    last : bool
        Whether a side learns from the counts at the end of a fit (`Side.learns_last`).
    words : list of str or None
        Names of the columns of X, if they are known.
    topic_names : list of str or None
        Names that a mask has given to the topics; None without it.
    word_totals : ndarray of shape (n_terms,) or None
        Training counts of the words; None in `transform`.
    rng : RandomState
        Source of random numbers of the fit.
    n_jobs : int or None
        Threads that the model may use.
    sums : callable or None
        In a side's `learn`: returns what `gather` makes of all documents by what the
        side has learned now, as often as it is called.
    rows : slice or ndarray of int
        Which rows of the corpus a step was given: documents of X for a θ-step,
        columns of X for a φ-step. In `prepare`, all of them.
    topics : ndarray of shape (n_terms, K)
        Topics; for a θ-step the new ones of this iteration. Row i belongs to word
        ``word_order[i]``.
    word_order : ndarray of int of shape (n_terms,)
        Column of X of each row of `topics`.
    state : object
        What the step's `prepare` returned; None in `transform`.
    data : array, sparse matrix or None
        What else is known of the given documents, as the θ-step's `check` returned it.
    xp : module
        numpy, or cupy where the rows are on a GPU: ``context.xp.log(theta)``.
    graph : csr_matrix or None
        Document graph, when the step asked for one.
    objective : float
        Whole objective at the end of the last iteration.
    topics_value : float
        The φ-step's part of the objective at `topics`.
    engine : Engine or None
        The whole corpus; None while rows of a part of it are visited.
    evaluate : callable or None
        For steps that need all documents: ``evaluate(theta)`` runs a document pass
        under `topics` and returns it. The pass of the θ that a step returns is not
        run again.
    """

    n_documents: int
    n_topics: int
    n_terms: int
    lengths: Any
    alpha: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    eta: float = 0.0
    iteration: int = 0
    fitting: bool = True
    last: bool = False
    words: list[str] | None = None
    topic_names: list[str] | None = None
    word_totals: NDArray[np.float64] | None = None
    rng: np.random.RandomState = field(default_factory=np.random.RandomState)
    n_jobs: int | None = None
    sums: Callable[[], tuple[Any, ...]] | None = None
    rows: Any = None
    topics: Any = None
    word_order: Any = None
    state: Any = None
    data: Any = None
    xp: Any = np
    graph: Any = None
    objective: float = -np.inf
    topics_value: float = 0.0
    engine: Engine | None = None
    evaluate: Callable[[Array], DocumentPass] | None = None

    @classmethod
    def of(cls, engine: Engine, packed_topics: Array, graph: Any = None) -> Self:
        """Return the context of a whole corpus."""
        xp = array_module(packed_topics)
        return cls(
            *(engine.n_documents, engine.n_topics, engine.n_terms),
            xp.asarray(engine.document_lengths),
            rows=slice(0, engine.n_documents),
            topics=packed_topics[:, : engine.n_topics],
            word_order=engine.word_order,
            xp=xp,
            graph=graph,
            engine=engine,
        )

    @property
    def corpus(self) -> Engine:
        """The engine of the whole corpus, for steps that see all of it."""
        if self.engine is None:
            raise RuntimeError("only a part of the corpus is visited here")
        return self.engine

    def for_rows(self) -> Self:
        """Return what goes to rows of documents, maybe to workers."""
        return replace(self, **_LEFT)

    def of_rows(self, lengths: Any, **known: Any) -> Self:
        """Return the context of some documents."""
        return replace(self, lengths=lengths, n_documents=len(lengths), **known)


# What is of all documents, or cannot travel.
_LEFT: dict[str, Any] = {
    **dict.fromkeys(("words", "word_totals", "sums", "topics", "word_order", "data")),
    **dict.fromkeys(("xp", "graph", "engine", "evaluate")),
    "lengths": np.zeros(0),
}


class Part(FittedAttributes, BaseEstimator):
    """Base of `ThetaStep`, `PhiStep` and `Side`.

    Attributes
    ----------
    data : str or None
        Keyword of the part's data in `fit` and `transform`; None if it has none.
    required : bool
        Whether `fit` without the data is an error.
    needs_all_documents : bool
        Whether it must see all documents at once, and not some rows at a time.
    """

    data: ClassVar[str | None] = None
    required: ClassVar[bool] = True
    needs_all_documents: bool = False
    _parameter_constraints: dict[str, Any] = {}  # noqa: RUF012

    @property
    def keyword(self) -> str | None:
        """Keyword of the part's data; a parameter may choose it."""
        return self.data

    @property
    def learns(self) -> bool:
        """Whether the part learns from sums over documents."""
        return type(self).gather is not Part.gather

    def check(self, data: Any, context: Any) -> Any:
        """Return the data of documents, checked: rows that can be sliced.

        In a fit it may set attributes (names, classes). In `transform`, a θ-step's is
        called with None where no data were given, a side's is not called.
        """
        return data

    def gather(self, counts: Any, rows: Any, context: Any) -> tuple[Any, ...]:
        """Return sums over these documents, a tuple of float64 arrays and numbers.

        `counts` are their expected counts N_dk; `rows` are the mixtures that a θ-step
        made of them, or the data of a side.
        """
        return ()

    def learn(self, sums: tuple[Any, ...], context: Any) -> None:
        """Set what is learned from the sums over all documents; once per pass."""

    def _learned(self) -> dict[str, Any]:
        """Return what the part has learned: its attributes that end in ``_``."""
        return {
            name: value
            for name, value in vars(self).items()
            if name.endswith("_") and not name.startswith("_")
        }

    def _given(self, side_data: Any) -> Any:
        """Return what the user gave for the part, or say that it is needed."""
        given = None if self.keyword is None else side_data.get(self.keyword)
        if given is None and self.keyword is not None and self.required:
            raise DataError(
                f"{type(self).__name__} needs its data: fit(X, {self.keyword}=...)."
            )
        return given


class Step(Part):
    """What θ-steps and φ-steps have in common.

    Rows that sum to one already, as `normalized` says, are not normalised again.
    """

    normalized: bool = False

    @property
    def pseudo_count(self) -> float:
        """What the plain step adds to every count."""
        return 0.0

    def prepare(self, context: Context) -> Any:
        """Return the step's state of this fit (or None); parameters are checked."""
        return None

    def pull(self, rows: Array, context: Context) -> Array | None:
        """Return the rows times the gradient of `value` there; None if not known.

        Of a step that needs all rows; `kkt_residual_` is made of it.
        """
        return None


class ThetaStep(Step):
    """Plain θ-step of PLSA: ``θ_dk ∝ N_dk + pseudo_count``. Base of the others.

    A step of your own overrides `update`, and `value` if it changes the objective.
    It is given some documents at a time, as plain float arrays of shape (rows, K),
    on every engine: the CPU, blocks on disk or on workers, a GPU (CuPy arrays there,
    ``context.xp`` is the module to compute with). It must not change what it is
    given, and must not change ``context.state`` unless it needs all documents.

    A step that learns from all documents returns sums over the given ones from
    `gather`; the engine adds them up, and `learn` is called with the totals once per
    pass. What it learns are attributes that end in ``_``: `fit` works on a copy of the
    step, ``model.theta_step_``, which is saved with the model. `transform` updates new
    documents by the same `update` with what was learned, and calls `learn` no more.

    A step with data of the documents names the keyword of `fit` and `transform` in
    `data` and turns what the user gave into rows in `check`; ``context.data`` has
    those of the given documents.

    Experimental: as the base of steps of your own; `context` may grow.

    Attributes
    ----------
    needs_all_documents : bool
        Whether `update` and `value` need all documents at once; such a step is
        refused where the corpus is visited in blocks.
    needs_graph : bool
        Whether ``context.graph`` is needed; then all documents are, too.
    safeguarded : bool
        Whether to step back towards the old θ while the whole objective falls. Costs
        a document pass for every try but the first.
    max_halvings : int
        How often a safeguarded step is halved before θ stays for an iteration.
    normalized : bool
        Whether `update` returns rows that sum to one, which are then not normalised
        again.
    data : str or None
        Keyword of the step's data in `fit` and `transform`; None if it has none.
    required : bool
        Whether `fit` without the data is an error.

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import PLSA
    >>> from topicfold.theta import ThetaStep
    >>> class Sharper(ThetaStep):
    ...     def update(self, counts, theta, context):
    ...         return counts**1.5
    >>> X = np.array([[5, 1, 0], [0, 1, 4], [2, 2, 2]])
    >>> PLSA(2, theta_step=Sharper(), random_state=0).fit(X).doc_topics_.shape
    (3, 2)
    """

    needs_graph: bool = False
    safeguarded: bool = False
    max_halvings: int = 4

    def moved(self) -> float:
        """Return how far the last pass moved what is learned, infinite to go on."""
        return 0.0

    def _check_fitted(self, sizes: Mapping[str, int]) -> None:
        """Refuse a loaded step that is not that of a model of these sizes."""

    def update(self, counts: Array, theta: Array, context: Context) -> Array:
        """Return new rows of any positive scale from expected counts N_dk.

        `theta` are the old rows, on the simplex. Returning `counts` itself is the
        plain step.
        """
        return counts

    def value(self, theta: Array, context: Context) -> float:
        """Return these rows' part of the objective; the engine adds up all rows."""
        return 0.0


class PhiStep(Step):
    """Plain φ-step of PLSA: ``φ_kw ∝ N_wk + pseudo_count``. Base of the others.

    A step of your own is given plain float arrays of shape (words, K), some words at
    a time; ``context.rows`` are the words' columns of X. Topics are normalised over
    all words afterwards.

    Experimental: as the base of steps of your own; `context` may grow.

    Attributes
    ----------
    needs_all_words : bool
        Whether `update` and `value` need all words at once.
    normalized : bool
        Whether `update` returns topics that sum to one, which are then not
        normalised again.
    extrapolates : bool
        Whether passes may be extrapolated: `update` never lowers the objective, from
        any topics, and keeps nothing from one pass to the next.
    """

    needs_all_words: bool = False
    extrapolates: bool = False

    def update(self, counts: Array, topics: Array, context: Context) -> Array:
        """Return new rows, not negative, from expected counts N_wk.

        `topics` are the old rows. Returning `counts` itself is the plain step.
        """
        return counts

    def value(self, topics: Array, context: Context) -> float:
        """Return these words' part of the objective; all words' parts are added."""
        return 0.0


# Least share under a logarithm: float32 has no smaller ones to spare.
SMALLEST_SHARE = 1e-30


class DirichletTheta(DeclaredParameters, ThetaStep):
    """``θ_dk ∝ N_dk + α − 1``: every document is drawn towards all topics.

    Adds ``(α − 1) Σ_dk log θ_dk`` to the objective.

    Parameters
    ----------
    alpha : float, default=1.1
        Concentration, at least 1; 1 is the plain step.

    Examples
    --------
    >>> from topicfold import PLSA
    >>> from topicfold.theta import DirichletTheta
    >>> model = PLSA(2, theta_step=DirichletTheta(2.0), random_state=0)
    >>> bool((model.fit([[2, 1, 0], [0, 1, 3]]).doc_topics_ > 0.1).all())
    True
    """

    alpha: Annotated[float, AT_LEAST_ONE]

    def __init__(self, alpha: float = 1.1) -> None:
        self._store_parameters(locals())

    @property
    def pseudo_count(self) -> float:
        """``α − 1``."""
        return self.alpha - 1.0

    def value(self, theta: Array, context: Context) -> float:
        """Log prior up to a constant."""
        if self.alpha == 1.0:
            return 0.0
        logs = context.xp.log(context.xp.maximum(theta, SMALLEST_SHARE))
        return self.pseudo_count * float(logs.sum(dtype=np.float64))


class DirichletPhi(DeclaredParameters, PhiStep):
    """``φ_kw ∝ N_wk + η − 1``: no topic gives a word probability zero.

    Adds ``(η − 1) Σ_kw log φ_kw`` to the objective.

    Parameters
    ----------
    eta : float, default=1.01
        Concentration, at least 1; 1 is the plain step.

    Examples
    --------
    >>> from topicfold import PLSA
    >>> from topicfold.phi import DirichletPhi
    >>> model = PLSA(2, phi_step=DirichletPhi(1.5), random_state=0)
    >>> bool((model.fit([[2, 1, 0], [0, 1, 3]]).components_ > 0.05).all())
    True
    """

    # For `value`: one sum on all threads.
    needs_all_words = True
    eta: Annotated[float, AT_LEAST_ONE]

    def __init__(self, eta: float = 1.01) -> None:
        self._store_parameters(locals())

    @property
    def pseudo_count(self) -> float:
        """``η − 1``."""
        return self.eta - 1.0

    def value(self, topics: Array, context: Context) -> float:
        """Log prior up to a constant."""
        return self.pseudo_count and self.pseudo_count * log_sum(topics, context)


def log_sum(topics: Array, context: Context) -> float:
    """Return ``Σ log`` of all entries, on the engine's threads."""
    packed = padded(topics)
    packed = context.xp.ascontiguousarray(topics) if packed is None else packed
    return float(context.corpus.log_totals(packed, 0.0).sum())


def prepare_step(step: Step, context: Context) -> None:
    """Check a step's parameters and let it make its state, or refuse it."""
    step._validate_params()
    together = context.corpus.in_one_place
    if isinstance(step, ThetaStep) and _needs_all(step) and not together:
        raise DataError(
            f"{type(step).__name__} needs all documents in one place, but the corpus "
            "is visited in blocks. Fit it to one matrix in memory, or on a device "
            "with enough memory (device='cpu')."
        )
    context.state = step.prepare(context)


def is_plain(step: Step) -> bool:
    """Whether a step is that of PLSA, with a prior or not."""
    base = ThetaStep if isinstance(step, ThetaStep) else PhiStep
    return type(step).update is base.update  # type: ignore[attr-defined]


def has_no_effect(step: Step, context: Context) -> bool:
    """Whether a fit with a step is one by that of PLSA: by its kind, or a weight of 0.

    The weight is that of the step's state, if the fit has found one.
    """
    weight = getattr(context.state, "strength", getattr(step, "weight", None))
    return is_plain(step) or weight == 0


def learn_from_documents(
    step: ThetaStep, counts: Any, theta: Any, context: Context, on_simplex: bool
) -> None:
    """Let a step learn from packed counts and the packed mixtures made of them."""
    if not step.learns:
        return
    if _needs_all(step):
        used = slice(0, context.corpus.n_topics)
        rows = _shares(theta[:, used], on_simplex)
        step.learn(step.gather(counts[:, used], rows, context), context)
        return
    shared = _sent(step, context, on_simplex)
    sums = context.corpus.gather_rows(
        _gathered, (counts, theta), shared, data=context.data
    )
    step.learn(sums, context)


def _needs_all(step: ThetaStep) -> bool:
    return step.needs_all_documents or step.needs_graph


def stepped_counts(step: ThetaStep, context: Context, counts: Any, theta: Any) -> Any:
    """Return what a step makes of packed counts, of the same sums as these."""
    new, on_simplex = update_documents(step, counts, theta, context, False, kept=True)
    return as_counts(new, context.corpus) if on_simplex else new


def as_counts(theta: Any, engine: Engine) -> Any:
    """Return packed mixtures times the lengths of the documents."""
    lengths = np.maximum(engine.document_lengths, 1.0)[:, None]
    shape = engine.n_documents, engine.n_topics
    return theta * engine.pack_documents(np.broadcast_to(lengths, shape))


def update_documents(
    step: ThetaStep,
    counts: Any,
    theta: Any,
    context: Context,
    on_simplex: bool,
    kept: bool = False,
) -> tuple[Any, bool]:
    """Return new packed mixtures, and whether they are on the simplex.

    They may be in `counts`, unless these are `kept`.
    """
    engine = context.corpus
    if type(step).update is ThetaStep.update:
        return _plain_documents(step, counts, engine), False
    if not _needs_all(step):
        shared = _sent(step, context, on_simplex)
        out = None if step.learns or kept else counts
        both = counts, theta
        return engine.map_rows(_new_rows, both, shared, out, context.data), True
    used = slice(0, engine.n_topics)
    own = counts[:, used]
    rows = step.update(own, _shares(theta[:, used], on_simplex), context)
    if rows is own:
        return _plain_documents(step, counts, engine), False
    if not step.normalized:
        _check(step, rows, own)
        rows = _shares(rows)
    return pack_rows(rows, engine, theta), True


def _plain_documents(step: ThetaStep, counts: Any, engine: Engine) -> Any:
    if step.pseudo_count == 0.0:
        return counts
    return counts + engine.pack_prior(step.pseudo_count)


def documents_value(
    step: ThetaStep, theta: Any, context: Context, on_simplex: bool
) -> float:
    """Return the step's part of the objective at packed mixtures."""
    if type(step).value is ThetaStep.value:
        return 0.0
    engine = context.corpus
    if _needs_all(step):
        rows = _shares(theta[:, : engine.n_topics], on_simplex)
        return float(step.value(rows, context))
    shared = _sent(step, context, on_simplex)
    (value,) = engine.gather_rows(_rows_value, (theta,), shared, context.data)
    return float(value)


def _sent(step: ThetaStep, context: Context, on_simplex: bool) -> tuple[Any, ...]:
    """What goes to the rows, maybe to workers; large arrays beside it, once for all
    blocks.
    """
    return step, context.for_rows(), context.topics, context.word_order, on_simplex


def _received(
    rows: slice, lengths: Any, theta: Array, data: Any, sent: tuple[Any, ...]
) -> tuple[Any, Array, Context]:
    """Return the step, mixtures and context of some documents."""
    step, context, topics, word_order, on_simplex = sent
    xp = array_module(topics)
    known = {"topics": topics, "word_order": word_order, "xp": xp, "data": data}
    there = context.of_rows(xp.asarray(lengths), rows=rows, **known)
    return step, _shares(theta, on_simplex), there


def _new_rows(
    rows: slice, lengths: Any, arrays: list[Array], data: Any, *sent: Any
) -> Array:
    step, theta, context = _received(rows, lengths, arrays[1], data, sent)
    return stepped_rows(step, arrays[0], theta, context)


def stepped_rows(
    step: ThetaStep, counts: Array, theta: Array, context: Context
) -> Array:
    """Return what a step makes of plain counts, rows on the simplex."""
    new: Array = step.update(counts, theta, context)
    if new is counts and step.pseudo_count:
        return _shares(counts + step.pseudo_count)
    if step.normalized and new is not counts:
        return new
    _check(step, new, counts)
    return _shares(new)


def _gathered(
    rows: slice, lengths: Any, arrays: list[Array], data: Any, *sent: Any
) -> tuple[Any, ...]:
    step, theta, context = _received(rows, lengths, arrays[1], data, sent)
    sums = step.gather(arrays[0], theta, context)
    # Copies: the sums of other rows are added to them.
    return tuple(np.array(value, dtype=np.float64) for value in sums)


def _rows_value(
    rows: slice, lengths: Any, arrays: list[Array], data: Any, *sent: Any
) -> tuple[float]:
    step, theta, context = _received(rows, lengths, arrays[0], data, sent)
    return (float(step.value(theta, context)),)


def _shares(rows: Array, on_simplex: bool = False) -> Array:
    """Rows divided by their sums; uniform where there is nothing."""
    if on_simplex:
        return rows
    xp = array_module(rows)
    totals = rows.sum(axis=1, dtype=np.float64, keepdims=True)
    shares: Array = rows / xp.where(totals > 0, totals, 1.0).astype(rows.dtype)
    return xp.where(totals > 0, shares, rows.dtype.type(1.0 / rows.shape[1]))


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
            f"{name}.update returned negative or infinite numbers, or NaN. Rows may "
            "have any positive scale, but their entries must be finite and not "
            "negative."
        )


def update_topics(
    step: PhiStep, counts: Array, topics: Array, context: Context
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


def topics_value(step: PhiStep, topics: Array, context: Context) -> float:
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


def step_back(
    target: Any, theta: Any, accepts: Callable[[Any], bool], max_halvings: int
) -> tuple[Any, float]:
    """Return the first of target, half way to it, … that is accepted, or θ; and its
    share.
    """
    candidate, share = target, 1.0
    for halving in range(max_halvings + 1):
        if halving:
            share *= 0.5
            step = np.multiply(np.subtract(target, theta), theta.dtype.type(share))
            candidate = np.add(theta, step)
        if accepts(candidate):
            return candidate, share
    return theta, 0.0


# ---- topics that are merged and split between two passes (`learn.rearranging`)
# Shares of topics are added and divided. What belongs to a topic, as a coefficient
# does, stays with it, and both halves get it.


Rows = TypeVar("Rows", bound=Array)


class Move(NamedTuple):
    """Topics `into` and `spare` become one; `parted` keeps `share` of itself."""

    into: int
    spare: int
    parted: int
    share: float


def moved_shares(rows: Rows, moves: Sequence[Move]) -> Rows:
    """Return rows of shares or counts, whose last axis is the topics, after moves."""
    rows = rows.copy()
    for a, b, c, share in moves:
        rows[..., a] += rows[..., b]
        rows[..., b] = (1 - share) * rows[..., c]
        rows[..., c] *= share
    return rows


def moved_values(rows: Rows, moves: Sequence[Move]) -> Rows:
    """Return values of topics, the last axis, after merges and splits."""
    rows = rows.copy()
    for _, b, c, _ in moves:
        rows[..., b] = rows[..., c]
    return rows


def moved_rows(
    rows: slice,
    lengths: Any,
    arrays: list[Array],
    data: Any,
    move: Callable[[Array, Sequence[Move]], Array],
    moves: Sequence[Move],
) -> Array:
    """Return rows of documents after merges and splits, for an engine."""
    return move(arrays[0], moves)
