# SPDX-License-Identifier: BSD-3-Clause
"""What else is known of a document, and how it takes part in a fit.

A side is a small estimator: parameters in ``__init__``, stored as they are, and what it
learns in attributes that end in ``_``. It names the keyword of its data in `fit`
(`data`) and its place in the model (`hook`)::

    LDA(20, sides=[Authors(), Response(weight=20)]).fit(X, authors=..., response=...)

`fit` works on copies, ``model.sides_``, which are saved with the model. A side sees
plain NumPy arrays: a row per document of X in its order, a column per topic. The driver
(``parts.side_rows``, ``infer.fold_in``) does the packing, devices, blocks, tokens' own
counts, exponentials and saving.

**To write a side**, derive from `Side`, set `data` and `hook`, and write `check`, which
turns what the user gave into what you want to work with, or raises a `DataError` that
says what is wrong, where, and how to fix it. What it returns is passed to every other
method as `data`; a side keeps no training data itself. Then write the method of
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

and, if the side learns, `gather`, which sums over documents and their expected counts
N_dk, and `learn`, which is called with the sums of all after every pass; `value`, its
part of the objective. `prepare` is called before the first pass. At the end `learn` is
called once more if the side `learns_last`, then `finish`, and
`fit_prediction` with the mixtures that documents have without what is to be predicted.
Methods see some documents at a time, unless the side says `needs_all_documents`: what
`check` returns has a row for each, and can be sliced (``data[rows]``).

One model has at most one side for each of mixing, prior, mask and topics, no mixing
beside a prior or a mask, and any number of evidences and counts
(``parts.together.check_together``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicfold.core import saved
from topicfold.core.typing import Array
from topicfold.exceptions import DataError
from topicfold.parts.steps import Context, Move, Part

Hook = Literal["mixing", "evidence", "prior", "mask", "counts", "topics"]
# Of numbers of a smaller spread, or of a larger one than 1 / this, squares vanish or
# are infinite.
SMALLEST_SCALE = 1e-100


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


def learn_from(
    side: Side, sums: Callable[[], tuple[Any, ...]], context: Context
) -> None:
    """Let a side learn from the sums over all documents, which it may ask for again."""
    context.sums = sums
    side.learn(sums(), context)
    context.sums = None


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


class Side(Part):
    """Base of all sides; see the module for how to write one.

    Experimental: as the base of sides of your own; hooks and `context` may grow.

    Attributes
    ----------
    data, required, needs_all_documents : str or None, bool, bool
        See :class:`~topicfold.parts.Part`. In `transform`, `check` is called only if
        data were given.
    hook : str
        Its place in the model.
    known_later : bool
        Whether the data of a new document are usually known, so that `fit_transform`
        passes them on to `transform`. Not for what is to be predicted.
    learns_last : bool
        Whether `learn` is called once more at the end of a fit, with the counts that
        the last mixtures are made of; ``context.last`` is true then.
    in_batches : bool
        Whether it can learn from a stream of batches.
    init : str or None
        The `init` of the topics that suits the side better than the model's own.
    """

    hook: ClassVar[Hook]
    known_later: ClassVar[bool] = True
    learns_last: ClassVar[bool] = False
    in_batches: ClassVar[bool] = True
    init: ClassVar[str | None] = None
    # What a fitted side must have, and a loaded one is held to (`core.saved`).
    _saved: ClassVar[dict[str, saved.Form]] = {}

    def n_topics(self, data: Any, context: Context) -> int | None:
        """Return how many topics the model must have; None if any number will do.

        ``context.n_topics`` is what the user asked for, or 0.
        """
        return None

    def value(self, counts: Array, data: Any, context: Context) -> float:
        """Return the side's part of the objective, after `learn`."""
        return 0.0

    @property
    def predicts(self) -> bool:
        """Whether it learns at the end of a fit what it predicts with."""
        return type(self).fit_prediction is not Side.fit_prediction

    def fit_prediction(
        self, theta: Array, doc_topics: Array, data: Any, context: Context
    ) -> None:
        """Learn what is used on new documents, once, at the end of a fit.

        `theta` are the training documents' mixtures as `transform` makes them, from
        words and what is known of new documents; `doc_topics` are those of the fit.
        """

    def carried(self, data: Any, context: Context) -> dict[str, tuple[int, ...]]:
        """Return the shapes of what one pass leaves to the next, by name.

        Attributes of float64 of the side or of its checked data, which
        :class:`~topicfold.learn.Resume` keeps; () is a number. A side that learns must
        say what it carries, or its fit cannot be resumed.
        """
        return {}

    def prepare(self, data: Any, context: Context) -> None:
        """Set where learning starts; ``context.alpha`` are the model's own priors."""

    def finish(self, context: Context) -> None:
        """Forget the training documents, once, at the end of a fit."""

    def start(self, topics: Array, context: Context) -> Array:
        """Return where the topics (K, n_terms) start; `topics` is what `init` made."""
        return topics

    def free_topics(self, data: Any, context: Context) -> NDArray[np.bool_]:
        """Return which topics may be merged and split while they are learned (K,).

        None of them, unless the side says so: those that stand for nothing, and whose
        numbers `follow` them. Words decide, so evidence that tells topics apart which
        words do not must keep them.
        """
        return np.zeros(context.n_topics, dtype=bool)

    def follow(self, moves: Sequence[Move], data: Any) -> None:
        """Let what was learned follow topics that were merged and split."""

    def _sizes(self, sizes: Mapping[str, int]) -> Mapping[str, int]:
        """Return the sizes of the arrays in `_saved`, given those of the model."""
        return sizes

    def _check_fitted(self, sizes: Mapping[str, int]) -> None:
        """Refuse a loaded side that is not that of a model of these sizes."""
        try:
            saved.check(self, self._sizes(sizes))
        except ValueError as error:
            raise ValueError(f"{type(self).__name__}: {error}") from error

    # ---- one of these for each hook

    def mixing(self, data: Any, context: Context) -> Any:
        """Return M (documents × entities), a CSR matrix whose rows sum to one.

        In `transform` it has one more column, for entities that are not known; a row
        without entries leaves the document to its words.
        """
        raise NotImplementedError

    def keep_entities(self, entity_topics: Array) -> None:
        """Keep the mixtures (E, K) of the entities at the end of a fit."""
        self.entity_topics_ = entity_topics

    def evidence(self, counts: Array, data: Any, context: Context) -> Array:
        """Return δ (D, K): tokens are assigned with a factor exp(δ_dk).

        A row of zeros says nothing. `counts` are those of the last pass; `learn` was
        called with them. Rows may have any offset.
        """
        raise NotImplementedError

    def prior(self, data: Any, context: Context) -> Array:
        """Return α (D, K), positive.

        At the end of a fit it is asked once with None for data: the prior (1, K) of
        documents of which nothing is known.
        """
        raise NotImplementedError

    def allowed(self, data: Any, context: Context) -> Any:
        """Return a CSR matrix (D, K) whose stored entries are the allowed topics."""
        raise NotImplementedError

    def counts(self, data: Any, context: Context) -> Any:
        """Return counts (D, V_g), a CSR matrix; rows of zeros where there are none.

        The model sets `components_` (K, V_g), topics over these columns.
        """
        raise NotImplementedError

    def topics(
        self, counts: Array, eta: float, words: NDArray[np.integer], context: Context
    ) -> TopicWeights:
        """Return the topics of expected counts N_wk (n_words, K).

        `words` are the columns of X that the rows belong to, all of them.
        """
        raise NotImplementedError
