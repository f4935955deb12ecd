# SPDX-License-Identifier: BSD-3-Clause
"""Models that take sides: their data by keyword, in `fit` and for new documents.

The data that a model takes depend on its sides, so its methods take ``**side_data``,
where scikit-learn's metadata routing finds no names. By default every method requests
the data that it takes; ``set_fit_request`` and similar methods change that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Annotated, Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._metadata_requests import RequestMethod
from sklearn.utils.validation import check_is_fitted

from topicfold.core.counts import already_warned, row_sums, warn_empty
from topicfold.core.typing import Array
from topicfold.corpus.block_corpus import BlockCorpus
from topicfold.exceptions import DataError
from topicfold.infer.fold_in import fold_in
from topicfold.learn.learner import ColumnGroup
from topicfold.models.base import LearnedModel
from topicfold.parts.sides import Side
from topicfold.parts.steps import Context
from topicfold.parts.tables import side_tables
from topicfold.parts.together import (
    SideData,
    check_place,
    check_together,
    counts_of,
    prior_of,
)

AnySide = TypeVar("AnySide", bound=Side)
# Hooks of sides that say something of a new document even without data of it.
OF_DOCUMENTS = {"evidence", "mask", "prior"}


class NoSideError(DataError, AttributeError):
    """A side is gone, and with it the attributes that `getattr` may ask for."""


def of_side(kind: type[Side], name: str, doc: str) -> Any:
    """Return a property of a model: an attribute of its fitted side of this class."""
    return property(lambda model: getattr(model._side(kind), name), doc=doc)


def scored(y: Any, keyword: str, side_data: dict[str, Any]) -> Any:
    """Return what predictions are compared with: y, or a side's data by its keyword.

    The data are removed from the side data, so that the answer is not used for the
    prediction.
    """
    own = side_data.pop(keyword, None)
    if y is not None and own is not None:
        raise DataError(
            f"score got y and {keyword}, which mean the same. Give one of them; it is "
            "compared with what the model predicts without it."
        )
    return own if y is None else y


class SidedModel(LearnedModel):
    """A model that also learns from what else is known of documents.

    Parameters
    ----------
    sides : sequence of Side or None, default=None
        What else is known of documents (:mod:`topicfold.evidence`); `fit` takes the
        data of each by its keyword.

    Attributes
    ----------
    sides_ : list of Side
        The sides with what they have learned.
    """

    sides: Annotated[Sequence[Side] | None, list, tuple]

    def _fit_sided(
        self, X: Any, y: Any, sides: list[Side], side_data: Mapping[str, Any]
    ) -> None:
        check_together(sides)
        self._check_keywords(sides, side_data)
        elsewhere = any(side.hook == "counts" for side in sides)
        with already_warned() if elsewhere else nullcontext():
            counts = self._start_fit(X)
        self.sides_ = [clone(side) for side in sides]
        self._fit_with_sides(counts, side_data)

    def fit_transform(self, X: Any, y: Any = None, **side_data: Any) -> Array:
        """Fit, then return the mixtures of the training documents as `transform` does.

        Sides that are also known for new documents (authors, other counts, features)
        are used; responses, labels and links are not.

        Parameters
        ----------
        **side_data
            The data of the sides, each by its keyword.
        """
        self.fit(X, y, **side_data)
        known = self._of_new_documents(side_data)
        known.pop("sample_weight", None)
        return self.transform(X, **known)

    def transform(self, X: Any, *, embeddings: Any = None, **side_data: Any) -> Array:
        """Return the topic mixtures of documents, rows on the simplex.

        Parameters
        ----------
        **side_data
            What is known of these documents, by the keywords of `fit`; a side without
            data is not used.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
            Deterministic, and the same for a document in any batch.
        """
        check_is_fitted(self, "components_")
        known = {name for name, value in side_data.items() if value is not None}
        elsewhere = any(
            side.hook == "counts" and side.keyword in known
            for side in getattr(self, "sides_", ())
        )
        with already_warned() if elsewhere else nullcontext():
            X = self._new_counts(X, embeddings)
        return self._sided_mixtures(self._seen(X), side_data)

    def perplexity(
        self,
        X: Any,
        *,
        random_state: int = 0,
        cache: float | str | None = None,
        **side_data: Any,
    ) -> float:
        """Return the held-out perplexity by document completion (lower is better).

        Half of each document's tokens give its mixture, as in `transform`; the other
        half is scored, with one hundredth of the training word frequencies mixed in. If
        topics depend on the group or time of a document, the topics of its group or
        time are used.

        Parameters
        ----------
        **side_data
            What is known of these documents, as in `transform`.
        """

        def infer(observed: Any) -> Array:
            return self._sided_mixtures(observed, side_data)

        return self._completed(X, random_state, infer, side_data, cache=cache)

    def score(self, X: Any, y: Any = None, **side_data: Any) -> float:
        """Return the held-out log-likelihood per token (higher is better).

        By document completion, see :meth:`perplexity`.

        Parameters
        ----------
        **side_data
            What is known of these documents, as in `transform`.
        """
        return -float(np.log(self.perplexity(X, **side_data)))

    def _forget_sides(self) -> None:
        """Leave out what is kept beside sides that an edit has left out."""

    def _side(self, kind: type[AnySide]) -> AnySide:
        """Return the fitted side of a class."""
        check_is_fitted(self, "components_")
        for side in self.sides_:
            if isinstance(side, kind):
                return side
        raise NoSideError(
            f"this {type(self).__name__} no longer has {kind.data}: its topics were "
            "edited. Use the unedited model."
        )

    def _side_context(self, X: Any, **more: Any) -> Context:
        names = getattr(self, "feature_names_in_", None)
        return Context(
            n_documents=X.shape[0],
            n_terms=X.shape[1],
            lengths=row_sums(X),
            words=None if names is None else [str(name) for name in names],
            n_jobs=self.n_jobs,
            **more,
        )

    def _new_context(self, X: Any, **more: Any) -> Context:
        """Return the context of new documents; of their number alone, without words."""
        if isinstance(X, int):
            X = sparse.csr_matrix((X, self.n_features_in_))
        n_topics = len(self.components_)
        return self._side_context(X, n_topics=n_topics, fitting=False, **more)

    def _check_fitted(self, sizes: Mapping[str, int]) -> None:
        super()._check_fitted(sizes)
        sides = getattr(self, "sides_", [])
        if not isinstance(sides, list):
            raise ValueError("sides_ is not a list")  # noqa: TRY004
        check_together(sides)
        for side in sides:
            side._check_fitted(sizes)
        # Refuses what is no table.
        side_tables(sides, [""] * sizes["V"])

    # ---- fitting

    def _fit_with_sides(self, counts: Any, side_data: Mapping[str, Any]) -> None:
        """Learn from checked counts and the sides' data."""
        raise NotImplementedError

    def _checked_sides(self, counts: Any, side_data: Mapping[str, Any]) -> SideData:
        """Return the sides of a fit with their data; settle the number of topics."""
        rng = check_random_state(self.random_state)
        asked = self._asked or 0
        totals = np.asarray(counts.sum(axis=0, dtype=np.float64)).ravel()
        context = self._side_context(
            counts, n_topics=asked, word_totals=totals, fitting=True, rng=rng
        )
        data: list[Any] = [None] * len(self.sides_)
        for place in _in_order(self.sides_):
            side = self.sides_[place]
            data[place] = side.check(side._given(side_data), context)
            _lengthen(context, side, data[place])
            needed = side.n_topics(data[place], context)
            if needed is not None and self._asked not in (None, needed):
                raise DataError(
                    f"{type(side).__name__} makes {needed} topics, but n_components is "
                    f"{self._asked}. Give n_components={needed}."
                )
            context.n_topics = context.n_topics if needed is None else needed
            if side.hook == "mask":
                context.topic_names = getattr(side, "topic_names_", None)
        if self._asked is None:
            self.n_topics_ = context.n_topics
        return SideData(self.sides_, data, context)

    def _stream_sides(self, X: Any, side_data: Mapping[str, Any]) -> SideData | None:
        """Return what is known of a batch; the first one says what sides are like."""
        sides = self._all_sides()
        self._check_keywords(sides, side_data)
        if not sides:
            return None
        if not hasattr(self, "components_"):
            check_together(sides)
            check_place(sides, "online")
            for side in sides:
                if side.predicts:
                    raise DataError(
                        f"{type(side).__name__} learns its predictor at the end of a "
                        "fit. Use fit; LDA(batch_size=...) learns in batches."
                    )
            self.sides_ = [clone(side) for side in sides]
            return self._checked_sides(X, side_data)
        return self._known_now(X, side_data)

    def _joined(self, counts: Any, sides: SideData) -> tuple[Any, list[ColumnGroup]]:
        """Return X with the columns that sides bring, and the groups of columns."""
        size = counts.shape[1]
        groups = [ColumnGroup(slice(0, size), self._eta_of(counts))]
        parts = [counts]
        for side, data in sides.of("counts"):
            part = _columns_of(side, data, sides.context, counts)
            prior = getattr(side, "topic_word_prior", None)
            eta = self._eta_of(part) if prior is None else float(prior)
            columns = slice(size, size + part.shape[1])
            groups.append(ColumnGroup(columns, eta, side))
            parts.append(part)
            size = columns.stop
        if len(parts) == 1:
            return counts, groups
        joined = _side_by_side(parts)
        warn_empty(joined)
        return joined, groups

    def _start_of(
        self, counts: Any, joined: Any, groups: list[ColumnGroup], init: Any
    ) -> Array:
        """Return where topics start; a given start is that of the columns of X.

        Other columns then start alike in all topics, which leaves the first pass to X.
        """
        rng = check_random_state(self.random_state)
        if isinstance(init, str) or len(groups) == 1:
            return self._initial_topics(joined, init, rng)
        first = groups[0].columns.stop
        start = self._initial_topics(counts, init, rng)
        others = np.asarray(joined.sum(axis=0)).ravel()[first:]
        return np.hstack([start, np.tile(others.astype(start.dtype), (self._size, 1))])

    def _finish_sides(
        self, counts: Any, sides: SideData, side_data: Mapping[str, Any]
    ) -> None:
        """Keep what sides say of topics and priors; let them learn what comes last."""
        named = [s.topic_names_ for s in self.sides_ if hasattr(s, "topic_names_")]
        if named:
            self.topic_names_ = min(reversed(named), key=lambda n: list(n).count(""))
        for side, _ in sides.of("prior"):
            self.doc_topic_prior_ = np.array(prior_of(side, None, sides.context))[0]
        self._fit_predictions(counts, sides, side_data)

    def _fit_predictions(
        self, counts: Any, sides: SideData, side_data: Mapping[str, Any]
    ) -> None:
        """Let sides learn from mixtures like those that `transform` will make."""
        own = [pair for pair in sides.pairs() if pair[0].predicts]
        if not own:
            return
        theta = self._sided_mixtures(counts, self._of_new_documents(side_data))
        for side, data in own:
            side.fit_prediction(theta, self.doc_topics_, data, sides.context)

    def _eta_of(self, counts: Any) -> float:
        """Return the prior of topics over some columns."""
        return 0.0

    # ---- new documents

    def _sided_mixtures(self, X: Any, side_data: Mapping[str, Any]) -> Array:
        sides = getattr(self, "sides_", [])
        self._check_keywords(sides, side_data)
        given = {name: value for name, value in side_data.items() if value is not None}
        known = self._known_now(X, given)
        return (
            self._mixtures(X, given)
            if known is None
            else self._known_mixtures(X, known, given)
        )

    def _known_mixtures(
        self, X: Any, known: SideData, given: Mapping[str, Any]
    ) -> Array:
        """Return the mixtures of documents of which more than words is known."""
        context = known.context
        options = self._fold_in_options() | {"sides": known, "dtype": X.dtype}
        options.pop("prior", None)  # the sides' context has it
        parts, topics = [X], [options.pop("topic_weights", self.components_)]
        for side, own in known.of("counts"):
            parts.append(_columns_of(side, own, context, X))
            topics.append(side.components_)  # type: ignore[attr-defined]
        if len(parts) > 1:
            X = _side_by_side(parts)
        return fold_in(X, np.hstack(topics), **options, **self._step_options(X, given))

    def _mixtures_by_part(
        self, X: Any, known: Mapping[str, Any], data: Any = None, **options: Any
    ) -> Array:
        """Return mixtures of documents that have topics of their own, part by part."""
        options = {**self._fold_in_options(), **options}
        options.pop("topic_weights", None)
        theta = np.empty((X.shape[0], len(self.components_)), X.dtype)
        for rows, topics in self._topic_parts(X, known) or ():
            if len(rows):
                options["data"] = None if data is None else data[rows]
                theta[rows] = fold_in(X[rows], topics, dtype=X.dtype, **options)
        return theta

    def _step_options(self, X: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the θ-step by which new documents are inferred, with its data."""
        return {}

    def _known_now(self, X: Any, given: Mapping[str, Any]) -> SideData | None:
        """Return the fitted sides with the data of new documents; None without any."""
        sides = getattr(self, "sides_", [])
        used = [
            side
            for side in sides
            if (given.get(side.keyword) is not None)
            or (side.keyword is None and side.known_later and side.hook in OF_DOCUMENTS)
        ]
        if not used:
            return None
        context = self._new_context(X, alpha=self._alpha())
        data: list[Any] = [None] * len(used)
        for place in _in_order(used):
            side = used[place]
            data[place] = side.check(given.get(str(side.keyword)), context)
            _lengthen(context, side, data[place])
        return SideData(used, data, context)

    def _keywords(self, sides: Sequence[Any]) -> list[str]:
        """Return the keywords of what may be known of documents."""
        own = [side.keyword for side in sides if isinstance(side, Side)]
        return [keyword for keyword in own if keyword is not None]

    def _predicted(self) -> set[str | None]:
        """Return the keywords of data that only `fit` takes, to be predicted later."""
        sides = [side for side in self._all_sides() if isinstance(side, Side)]
        return {side.keyword for side in sides if not side.known_later}

    def _of_new_documents(self, side_data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the data of a fit that would also be known of new documents."""
        hidden = self._predicted()
        return {name: own for name, own in side_data.items() if name not in hidden}

    def _check_keywords(self, sides: Sequence[Any], given: Mapping[str, Any]) -> None:
        """Refuse data that no part of the model takes."""
        known = self._keywords(sides)
        wrong = [name for name in given if name not in known]
        if wrong == ["embeddings"]:
            raise DataError(
                f"{type(self).__name__} takes embeddings in fit and transform only: it "
                "learns batches, and computes the perplexity, from words alone. Leave "
                "them out."
            )
        if wrong:
            if not known and getattr(self, "edits_", None):
                raise DataError(
                    f"{type(self).__name__} got the data {wrong[0]!r}, but what it "
                    "learned from them belongs to its topics before they were edited. "
                    "Leave the data out, or use the unedited model."
                )
            takes = f"It takes {', '.join(known)}" if known else "It has no sides"
            raise TypeError(
                f"{type(self).__name__} got the data {wrong[0]!r}, which none of its "
                f"sides takes. {takes}; sides=[...] adds more."
            )

    def _alpha(self) -> Any:
        """Return α of documents of which nothing is known."""
        return np.zeros(len(self.components_))

    def _get_metadata_request(self) -> Any:
        """Ask scikit-learn's routing for the data of the sides, in every method."""
        return with_sides(self, super()._get_metadata_request())

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for method in METHODS:
            if callable(getattr(cls, method, None)):
                setattr(cls, f"set_{method}_request", SideRequests(method, ()))


def _in_order(sides: Sequence[Side]) -> list[int]:
    """Return the places of sides in the order in which they are checked.

    Other counts make documents longer, and a mask may name the topics: both first.
    """
    first = {"counts": 0, "mask": 1}
    return sorted(range(len(sides)), key=lambda place: first.get(sides[place].hook, 2))


def _lengthen(context: Context, side: Side, data: Any) -> None:
    """Add the tokens that a side brings to the lengths of the documents."""
    if side.hook == "counts":
        own = counts_of(side, data, context).sum(axis=1, dtype=np.float64)
        context.lengths = context.lengths + np.asarray(own).ravel()


def _columns_of(side: Side, data: Any, context: Context, X: Any) -> Any:
    """Return the counts of a side as they are joined to X: in blocks only if X is."""
    part = counts_of(side, data, context)
    if isinstance(part, BlockCorpus):
        if isinstance(X, BlockCorpus):
            return part
        part = part[:]
    return part.astype(X.dtype)


def _side_by_side(parts: Sequence[Any]) -> Any:
    """Return the columns of X and of others as one matrix, or as one in blocks."""
    joined, *others = parts
    if not isinstance(joined, BlockCorpus):
        return sparse.csr_matrix(sparse.hstack(parts, format="csr"))
    for part in others:
        joined = joined.join(part)
    return joined


# Methods that take the data of sides, where a model has them.
METHODS = ("fit", "transform", "score", "predict", "predict_proba")


def with_sides(model: Any, request: Any) -> Any:
    """Return a request with the data of the model's sides.

    Data that are to be predicted are requested only in `fit`. What the user has set
    stays.
    """
    hidden = model._predicted()
    for keyword in model._keywords(model._all_sides()):
        for method in METHODS:
            own = getattr(request, method)
            if own.requests.get(keyword) is None and hasattr(model, method):
                wanted = method == "fit" or keyword not in hidden
                own.add_request(param=keyword, alias=wanted)
    # A pipeline hands its own None on, and refuses a score that has no such name.
    request.score.add_request(param="sample_weight", alias=None)
    if model._weighs_documents and "sample_weight" not in request.fit.requests:
        request.fit.add_request(param="sample_weight", alias=None)
    return request


class SideRequests(RequestMethod):
    """``set_fit_request`` and the like, whose keywords are those of a model's sides."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is None:
            unbound = RequestMethod(self.name, (), validate_keys=False)
            method = unbound.__get__(None, owner)
            method.__doc__ = (
                f"Choose which data of sides routing passes to `{self.name}`."
            )
            return method
        taken = getattr(instance._get_metadata_request(), self.name).requests
        return RequestMethod(self.name, sorted(taken)).__get__(instance, owner)
