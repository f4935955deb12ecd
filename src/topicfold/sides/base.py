# SPDX-License-Identifier: BSD-3-Clause
"""What else is known of a document, and how it takes part in a fit.

A side is a small estimator: parameters in ``__init__``, stored as they are, and what it
learns in attributes that end in ``_``. It names the keyword of its data in `fit`
(`data`) and its place in the model (`hook`)::

    LDA(20, sides=[Authors(), Response(weight=20)]).fit(X, authors=..., response=...)

`fit` works on copies, ``model.sides_``, which are saved with the model. A side sees
plain NumPy arrays: a row per document of X in its order, a column per topic. The driver
(``learn.sides``, ``infer.fold_in``) does the packing, devices, blocks, tokens' own
counts, exponentials and saving.

**To write a side**, derive from `Side`, set `data` and `hook`, and write `check`, which
turns what the user gave into what you want to work with, or raises a `DataError` that
says what is wrong, where, and how to fix it. What it returns is handed back to every
other method as `data`; a side keeps no training data itself. Then write the method of
the hook:

- "mixing" (H1): ``mixing(data, context) -> csr (D, E)``; mixtures are MΘ, those of
  entities;
- "evidence" (H2): ``evidence(counts, data, context) -> (D, K)``; a factor exp δ_dk;
- "prior" (H3): ``prior(data, context) -> (D, K)``; α_dk instead of α_k;
- "mask" (H4): ``allowed(data, context) -> csr (D, K)``; topics a document may use;
- "counts" (H5): ``counts(data, context) -> csr (D, V_g)``; more columns, with topics
  of their own;
- "topics" (H6): ``topics(counts, eta, words, context) -> TopicWeights``; how expected
  counts become topics;

and, if the side learns, `learn`, which is called after every pass with the expected
counts N_dk, `value`, its part of the objective, and `settle`, which is called once at
the end, with the mixtures that the documents have without what is to be predicted.

One model has at most one side for each of mixing, prior, mask and topics, no mixing
beside a prior or a mask, and any number of evidences and counts
(``sides.together.check_together``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from topicfold.core.counts import simplex_problems
from topicfold.core.parameters import FittedAttributes
from topicfold.core.typing import Array
from topicfold.exceptions import DataError

Hook = Literal["mixing", "evidence", "prior", "mask", "counts", "topics"]
Vector = NDArray[np.float64]
# Of numbers of a smaller spread, or of a larger one than 1 / this, squares vanish or
# are infinite.
SMALLEST_SCALE = 1e-100


@dataclass
class SideContext:
    """What a side may look at besides its own data.

    Attributes
    ----------
    n_documents, n_topics, n_terms : int
        Documents, topics, and columns of X.
    lengths : ndarray of shape (n_documents,)
        Tokens of the documents: those of X and, times their weights, of other counts,
        so that expected counts N_dk sum to them. Sides that bring counts are checked
        before the others, and see X's alone.
    words : list of str or None
        Names of the columns of X, if they are known.
    topic_names : list of str or None
        Names that a mask has given to the topics; None without it.
    word_totals : ndarray of shape (n_terms,) or None
        Training counts of the words; None in `transform`.
    alpha : ndarray of shape (n_topics,)
        The model's own prior of documents, as it is now.
    eta : float
        Its prior of topics.
    iteration : int
        Passes made so far; 0 is the start.
    fitting : bool
        False in `transform`.
    rng : RandomState
        Source of random numbers of the fit.
    n_jobs : int or None
        Threads that the model may use.
    """

    n_documents: int
    n_topics: int
    n_terms: int
    lengths: Vector
    words: list[str] | None = None
    topic_names: list[str] | None = None
    word_totals: Vector | None = None
    alpha: Vector = field(default_factory=lambda: np.zeros(0))
    eta: float = 0.0
    iteration: int = 0
    fitting: bool = True
    rng: np.random.RandomState = field(default_factory=np.random.RandomState)
    n_jobs: int | None = None


class TopicWeights(NamedTuple):
    """Topics that a side made of expected counts, and what one token is in them.

    Attributes
    ----------
    weights : ndarray of shape (n_words, n_topics)
        Columns sum to one.
    scale : ndarray of shape (n_topics,) or (n_groups, n_topics)
        What one token adds to a weight: ``1 / (N_k + Vη)`` in plain topics.
    floor : ndarray of the same shape
        The weight of the prior alone, ``η / (N_k + Vη)`` in plain topics; 0 for a word
        that must stay out of a topic.
    groups : ndarray of int of shape (n_words,) or None
        Row of `scale` and `floor` of each word, where they have rows.
    """

    weights: Array
    scale: Array
    floor: Array
    groups: NDArray[np.integer] | None = None


def is_text(names: Any) -> bool:
    """Tell whether something is an array or a list of text."""
    flat = isinstance(names, list | np.ndarray) and np.ndim(names) == 1
    return flat and all(isinstance(name, str) for name in names)


def is_missing(value: Any) -> bool:
    """Tell whether nothing is known: None, NaN, an empty text or list."""
    if value is None or (isinstance(value, str) and value == ""):
        return True
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return len(value) == 0
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA compares to nothing
        return True


def check_rows(what: str, n_rows: int, n_documents: int, advice: str = "") -> None:
    """Refuse data that have not a row for each document; `advice` is said, too."""
    if n_rows != n_documents:
        raise DataError(
            f"{what} has {n_rows} rows, but X has {n_documents} documents. Give one "
            f"row for each document, in the order of X.{advice}"
        )


class Side(FittedAttributes, BaseEstimator):
    """Base of all sides; see the module for how to write one.

    Experimental: as the base of sides of your own; hooks and `context` may grow.

    Attributes
    ----------
    data : str or None
        Keyword of the side's data in `fit` and `transform`; None if it has none.
    hook : str
        Its place in the model.
    required : bool
        Whether `fit` without the data is an error.
    known_later : bool
        Whether the data of a new document are usually known, so that `fit_transform`
        hands them on to `transform`. Not for what is to be predicted.
    init : str or None
        The `init` of the topics that suits the side better than the model's own.
    """

    data: ClassVar[str | None] = None
    hook: ClassVar[Hook]
    required: ClassVar[bool] = True
    known_later: ClassVar[bool] = True
    init: ClassVar[str | None] = None
    # What a fitted side must have, and a loaded one is held to: arrays whose last axis
    # is the topics, those of them with rows on the simplex, and finite numbers.
    _per_topic: ClassVar[tuple[str, ...]] = ()
    _simplex: ClassVar[tuple[str, ...]] = ()
    _numbers: ClassVar[tuple[str, ...]] = ()
    _parameter_constraints: dict[str, Any] = {}  # noqa: RUF012

    @property
    def keyword(self) -> str | None:
        """Keyword of the side's data; a parameter may choose it."""
        return self.data

    def check(self, data: Any, context: SideContext) -> Any:
        """Return the data of ``context.n_documents`` documents, checked and typed.

        In a fit it may set attributes (names, classes). In `transform` it is called
        only if data were given.
        """
        return data

    def n_topics(self, data: Any, context: SideContext) -> int | None:
        """Return how many topics the model must have; None if the side does not care.

        ``context.n_topics`` is what the user asked for, or 0.
        """
        return None

    def learn(self, counts: Array, data: Any, context: SideContext) -> None:
        """Learn from the expected counts N_dk (D, K) of the last pass."""

    def value(self, counts: Array, data: Any, context: SideContext) -> float:
        """Return the side's part of the objective, after `learn`."""
        return 0.0

    def settle(
        self, theta: Array, doc_topics: Array, data: Any, context: SideContext
    ) -> None:
        """Learn what is used on new documents, once, at the end of a fit.

        `theta` are the training documents' mixtures as `transform` makes them, from
        words and what is known of new documents; `doc_topics` are those of the fit.
        """

    def carried(self, data: Any, context: SideContext) -> dict[str, tuple[int, ...]]:
        """Return the shapes of what one pass hands to the next, by name.

        Attributes of float64 of the side or of its checked data, which
        :class:`~topicfold.learn.Resume` keeps; () is a number. A side that learns must
        say what it carries, or its fit cannot be resumed.
        """
        return {}

    def finish(self, counts: Array, data: Any, context: SideContext) -> None:
        """Learn what needs the counts N_dk of the end alone (errors of estimates)."""

    def start(self, topics: Array, context: SideContext) -> Array:
        """Return where the topics (K, n_terms) start; `topics` is what `init` made."""
        return topics

    def _check_fitted(self, n_topics: int, n_terms: int) -> None:
        """Refuse a loaded side that is not that of a model of this size."""
        own = type(self).__name__
        for name in (*self._per_topic, *self._simplex):
            array = getattr(self, name, None)
            if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
                raise ValueError(f"{name} of {own} is not an array of numbers")
            if array.shape[-1:] != (n_topics,):
                raise ValueError(
                    f"{name} of {own} has shape {array.shape} for {n_topics} topics"
                )
            problems = simplex_problems(name, array) if name in self._simplex else ()
            for problem in problems:
                raise ValueError(f"{problem} ({own})")
        for name in self._numbers:
            value = getattr(self, name, None)
            if not isinstance(value, float | int | np.number) or not np.isfinite(value):
                raise ValueError(f"{name} of {own} is {value!r}, not a finite number")

    # ---- one of these for each hook

    def mixing(self, data: Any, context: SideContext) -> Any:
        """Return M (documents × entities), a CSR matrix whose rows sum to one.

        In `transform` it has one more column, for entities that are not known; a row
        without entries leaves the document to its words.
        """
        raise NotImplementedError

    def keep(self, entity_topics: Array) -> None:
        """Keep the mixtures (E, K) of the entities at the end of a fit."""
        self.entity_topics_ = entity_topics

    def evidence(self, counts: Array, data: Any, context: SideContext) -> Array:
        """Return δ (D, K): tokens are assigned with a factor exp(δ_dk).

        A row of zeros says nothing. `counts` are those of the last pass; `learn` was
        called with them. Rows may have any offset.
        """
        raise NotImplementedError

    def prior(self, data: Any, context: SideContext) -> Array:
        """Return α (D, K), positive.

        At the end of a fit it is asked once with None for data: the prior (1, K) of
        documents of which nothing is known.
        """
        raise NotImplementedError

    def allowed(self, data: Any, context: SideContext) -> Any:
        """Return a CSR matrix (D, K) whose stored entries are the allowed topics."""
        raise NotImplementedError

    def counts(self, data: Any, context: SideContext) -> Any:
        """Return counts (D, V_g), a CSR matrix; rows of zeros where there are none.

        The model sets `components_` (K, V_g), topics over these columns.
        """
        raise NotImplementedError

    def topics(
        self,
        counts: Array,
        eta: float,
        words: NDArray[np.integer],
        context: SideContext,
    ) -> TopicWeights:
        """Return the topics of expected counts N_wk (n_words, K).

        `words` are the columns of X that the rows belong to, all of them.
        """
        raise NotImplementedError
