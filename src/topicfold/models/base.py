# SPDX-License-Identifier: BSD-3-Clause
"""What all topic models share: what they are given, how they fit and infer.

A model fits like this: `_start_fit` checks X and forgets the last fit, the model sets
up its learning algorithm, `_learn` runs it and keeps the result. Documents become
mixtures in one place, `_mixtures`, which `transform` and `perplexity` share.
"""

from __future__ import annotations

import functools
import logging
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from numbers import Integral, Real
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from topicfold.core import saved
from topicfold.core.counts import (
    WITHOUT_WORDS,
    already_warned,
    canonical,
    check_not_empty,
    check_range,
    check_structure,
    check_values,
    check_words,
    column_sums,
    refuse_other,
    row_sums,
    warn_empty,
    weighted_sum,
)
from topicfold.core.parameters import (
    MAX_TOPICS,
    NOT_NEGATIVE,
    DeclaredParameters,
    level_of_caller,
    whole,
)
from topicfold.core.side_table import SideTable
from topicfold.core.threads import n_threads
from topicfold.core.typing import Array
from topicfold.corpus.block_corpus import BlockCorpus
from topicfold.engine import make_engine
from topicfold.exceptions import (
    DataError,
    DataWarning,
    ModelFileError,
    SpareTopicsWarning,
)
from topicfold.gibbs.tokens import check_whole
from topicfold.infer.fold_in import document_completion, fold_in
from topicfold.learn import Callback, ProgressBar, run_em
from topicfold.learn.callbacks import CallbackSupportMixin, FitTasks
from topicfold.learn.initial import LEAST_LEAD, initial_topics, lead
from topicfold.parts.steps import ThetaStep
from topicfold.parts.tables import side_tables
from topicfold.topic_data import TopicData

_logger = logging.getLogger("topicfold")
# Sum of differences below which two topics are the same; tokens of an empty topic.
SAME_TOPIC, EMPTY_TOPIC = 0.03, 0.5
# What is taken as it comes; anything else becomes float64, the first.
_NUMBERS = (
    np.float64,
    np.float32,
    np.bool_,
    *map(np.dtype, np.typecodes["AllInteger"]),
)
# Priors for which the bound of variational Bayes is finite in float32.
PRIOR = Interval(Real, 1e-30, 1e9, closed="both")
# Nothing is known of documents but their words.
EMPTY: Mapping[str, Any] = MappingProxyType({})
# The names that `learn.initial` knows.
STARTS = {"clusters", "documents", "neighbors", "random", "spectral", "svd"}
_BLOCK_FILES = (".npz", ".safetensors")
# The threads that fit models now, by the models' identities.
_FITTING: dict[int, int] = {}


def attribute_of(path: str, doc: str) -> Any:
    """Return a property: an attribute of what a model holds, as "base_.topics_"."""
    return property(attrgetter(path), doc=doc)


def topic_columns(model: Any, columns: Sequence[str]) -> list[str]:
    """Return columns of mixtures, those of named topics by their names.

    If two topics have the same name, or a name is that of another column, the topic's
    own column name is appended.
    """
    names = list(getattr(model, "topic_names_", None) or [""] * len(columns))
    taken = Counter([*names, *columns, "id"])
    return [
        column if not name else name if taken[name] == 1 else f"{name} {column}"
        for name, column in zip(names, columns, strict=True)
    ]


class Embedded(NamedTuple):
    """Counts on their way into a fit, with the embeddings of the documents."""

    X: Any
    embeddings: Any


def check_asked(model: Any, fitted: bool, embeddings: Any) -> bool:
    """Return whether new documents have embeddings; say so where `fit` had others."""
    if embeddings is not None and not fitted:
        raise DataError(
            f"this {type(model).__name__} was fitted without embeddings. Fit it with "
            "them, fit(X, embeddings=...), or leave them out."
        )
    if embeddings is None and fitted:
        encoder = getattr(model, "encoder_", None)
        made = "" if encoder is None else f" of {encoder}"
        warnings.warn(
            f"This {type(model).__name__} was fitted with embeddings{made}, but these "
            "documents have none, so their mixtures come from their words alone. Give "
            "embeddings= for mixtures like those of the fit.",
            DataWarning,
            stacklevel=level_of_caller(),
        )
    return embeddings is not None


def embeddings_of(model: Any) -> Any:
    """Return the embeddings of all documents of a model; None where some have none."""
    holder = getattr(model, "sharing_", model)
    names = (holder, "embeddings_"), (model, "added_embeddings_")
    parts = [getattr(owner, name) for owner, name in names if hasattr(owner, name)]
    shapes = [part.shape for part in parts if isinstance(part, np.ndarray)]
    n_documents = len(getattr(model, "doc_topics_", ()))
    if not parts or [len(shape) for shape in shapes] != [2] * len(parts):
        return None
    if len({shape[1] for shape in shapes}) > 1:
        return None
    if sum(shape[0] for shape in shapes) != n_documents:
        return None
    return parts[0] if len(parts) == 1 else np.vstack(parts)


class TopicModel(
    DeclaredParameters, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """

    Sub-classes override `_fold_in_options` or `_mixtures` when their inference is not
    PLSA's, and `_seen` when they look at other weights than the counts they are given.
    """

    _may_join_by_embeddings = False  # a graph of documents may be one of embeddings
    _from_places = False  # whether topics started from clusters of embeddings
    _unsaved_parameters: ClassVar[tuple[str, ...]] = (
        "callbacks",
        "random_state",
        "init",
    )
    _open_size = False  # `n_components` is the most topics, not their number
    _takes_blocks = True  # `fit` and `transform` take a corpus in blocks
    _needs_whole_counts = False  # fractions of tokens mean nothing to it
    _binds_topics = (
        ""  # what is learned of all topics together, which edits would break
    )

    def transform(self, X: Any) -> Array:
        """Return the topic mixtures of documents, rows on the simplex.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            Counts, in the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
            Deterministic, and the same for a document in any batch.
        """
        check_is_fitted(self, "components_")
        X = self._counts(X, allow_empty=True, blocks=self._takes_blocks)
        return self._mixtures(self._seen(X))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the held-out log-likelihood per token (higher is better).

        By document completion, see :meth:`perplexity`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            Documents that were not fitted.
        y : None
            Ignored, for scikit-learn's conventions.
        """
        return -float(np.log(self.perplexity(X)))

    def perplexity(
        self, X: Any, *, random_state: int = 0, cache: float | str | None = None
    ) -> float:
        """Return the held-out perplexity by document completion (lower is better).

        Half of each document's tokens give its mixture, as in `transform`; the other
        half is scored, with one hundredth of the training word frequencies mixed in.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            Documents that were not fitted.
        random_state : int, default=0
            Seed of the split into halves.
        cache : float, "learned" or None, default=None
            Weight of the words already seen in a document, which are likely to occur
            again, relative to the topics. ``"learned"`` learns the weight from the half
            that is not scored. None uses the topics alone.
        """
        return self._completed(X, random_state, self._mixtures, cache=cache)

    def _completed(
        self,
        X: Any,
        seed: int,
        infer: Callable[[Any], Array],
        known: Mapping[str, Any] = EMPTY,
        *,
        cache: float | str | None = None,
    ) -> float:
        """Return the perplexity by document completion, mixtures being inferred so."""
        check_is_fitted(self, ["components_", "word_frequencies_"])
        X = self._seen(self._counts(X))
        return document_completion(
            X,
            self.components_,
            background=self.word_frequencies_,
            random_state=seed,
            infer=infer,
            parts=self._topic_parts(X, known),
            cache=cache,
        )

    def _topic_parts(
        self, X: Any, known: Mapping[str, Any]
    ) -> Sequence[tuple[Any, Array]] | None:
        """Return rows of documents with the topics (K, V) that they have.

        None if all documents have the same topics.
        """
        return None

    def save(self, path: Any, corpus: Any = None, **known: Any) -> None:
        """Save the fitted model as a folder or, for ``*.safetensors``, one file.

        No pickle: the file is safe to open. :func:`topicfold.load` and the command line
        read it.

        Parameters
        ----------
        path : str or path
            The folder or file.
        corpus : Corpus or None, default=None
            The documents of the fit; their words, labels, names, times, texts and
            counts are saved with the model.
        **known
            What to save instead of `corpus`, by name: vocabulary, labels, doc_ids,
            texts, times, counts, and text (options of
            :func:`topicfold.corpus.vectorize`). The words that `fit` saw are saved in
            any case.
        """
        save_fitted(self, path, corpus, known)

    def topic_data(
        self,
        vocabulary: Sequence[str] | None = None,
        *,
        X: Any = None,
        **documents: Any,
    ) -> TopicData:
        """Return the record that metrics, report and command line work on.

        Parameters
        ----------
        vocabulary : sequence of str or None, default=None
            Words of the columns; default: the feature names seen in `fit`, or the
            vocabulary that a model with seed words was given.
        X : sparse matrix or None, default=None
            Documents to describe; default: the training documents.
        **documents
            Other fields of :class:`~topicfold.TopicData`: labels, doc_ids, texts, …
        """
        check_is_fitted(self, "components_")
        vocabulary = self._column_words(vocabulary)
        if X is None:
            # A model of a stream keeps no documents.
            theta = getattr(self, "doc_topics_", None)
            lengths = getattr(self, "doc_lengths_", None)
            documents.setdefault("embeddings", embeddings_of(self))
        else:
            theta = self.transform(X)
            lengths = self._lengths_of(X)
        settings: dict[str, Any] = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if value is None or isinstance(value, bool | int | float | str)
        }
        settings |= _values_used(self, settings)
        if getattr(self, "edits_", None):
            settings["edits"] = [dict(edit) for edit in self.edits_]
        documents.setdefault("topic_names", getattr(self, "topic_names_", None))
        sides = [  # an edited model has other topics than its sides know
            table
            for table in self._side_tables(vocabulary)
            if table.n_topics in (None, len(self.components_))
        ]
        if X is not None:  # links and authors are those of the training documents
            sides = [
                s if s.kind == "tree" else replace(s, pairs=None)
                for s in sides
                if s.kind != "links"
            ]
        documents.setdefault("sides", sides)
        return TopicData(
            topics=self.components_,
            doc_topics=theta,
            vocabulary=tuple(vocabulary),
            doc_lengths=lengths,
            history=tuple(getattr(self, "objective_history_", ())),
            settings={"model": type(self).__name__, **settings},
            **documents,
        )

    def _column_words(self, vocabulary: Sequence[str] | None) -> list[str]:
        """Return the words of the columns: those given, those of `fit`, or w0, w1, …"""
        names = (getattr(self, n, None) for n in ("feature_names_in_", "vocabulary"))
        known = [words for words in (vocabulary, *names) if words is not None]
        usual = (f"w{w}" for w in range(self.n_features_in_))
        return list(known[0] if known else usual)

    def _side_tables(self, vocabulary: Sequence[str]) -> Iterable[SideTable]:
        """Return what was learned besides topics and mixtures, for the report."""
        sides = getattr(self, "sides_", ())
        return side_tables(sides, vocabulary) if sides else ()

    def _lengths_of(self, X: Any) -> NDArray[np.float64]:
        """Return how many tokens documents have that were transformed before."""
        with already_warned():
            return row_sums(self._counts(X, allow_empty=True, blocks=True))

    def _counts(self, X: Any, *, reset: bool = False, **options: Any) -> Any:
        """Return X checked: a CSR matrix, or a corpus in blocks if they are taken."""
        counts = check_documents(self, X, reset=reset, **options)
        if self._needs_whole_counts:
            instead = "use LDA, which takes any weights"
            check_whole(counts, type(self).__name__, instead)
        return counts

    def _start_fit(self, X: Any) -> Any:
        """Return X checked, and forget every attribute of the last fit.

        Counts with embeddings come back shared with the documents nearest by them.
        """
        X, embeddings = X if isinstance(X, Embedded) else (X, None)
        with nullcontext() if embeddings is None else already_warned():
            counts = self._counts(X, reset=True, blocks=self._takes_blocks)
        for name in list(vars(self)):
            of_X = name in ("n_features_in_", "feature_names_in_")
            if name.endswith("_") and not name.startswith("_") and not of_X:
                delattr(self, name)
        self._from_places = False
        return counts if embeddings is None else self._embedded(counts, embeddings)

    def _embedded(self, counts: Any, embeddings: Any) -> Any:
        """Return checked counts as seen with embeddings; keep what new ones need."""
        if self._needs_whole_counts:
            raise DataError(
                f"{type(self).__name__} takes no embeddings: it needs whole counts, "
                "and embeddings add fractions of neighbours' counts. Use LDA."
            )
        refuse_blocks(counts, f"{type(self).__name__} with embeddings")
        from topicfold.graph.sharing import CountSharing

        sharing = CountSharing()
        shared = sharing.fit_shared(counts, embeddings, n_jobs=self.n_jobs)
        self.sharing_ = sharing
        warn_empty(shared)
        return shared

    def _initial_topics(
        self, counts: Any, init: Any, rng: np.random.RandomState
    ) -> Array:
        """Return where topics start; with embeddings, clusters are those of places.

        Unless topics from clusters by words soon say much more of the words: then near
        vectors mix the topics.
        """
        sharing, places = getattr(self, "sharing_", None), self._places()
        asked = counts
        if sharing is not None and counts.shape == sharing.counts_.shape:
            # Words of the texts themselves: those shared by many are not common words.
            counts = sharing.counts_.astype(counts.dtype, copy=False)
            # What neighbours add counts by half: where near vectors mix the topics, it
            # mixes them too.
            asked = sparse.csr_matrix((asked + counts) / 2)
        state, options = rng.get_state(), (self._size, init, rng, self.n_jobs)
        topics = initial_topics(counts, *options, places=places)
        by_clusters = isinstance(init, str) and init == "clusters"
        self._from_places = places is not None and not isinstance(init, str)
        # Graph models, whose counts are not shared, are better from clusters of places.
        if sharing is None or places is None or not by_clusters:
            return topics
        rng.set_state(state)
        by_words = initial_topics(counts, *options)
        self._from_places = lead(asked, topics, by_words, self.n_jobs) > LEAST_LEAD
        return topics if self._from_places else by_words

    def _places(self) -> Array | None:
        """Return unit rows, where the training documents are by their embeddings."""
        sharing = getattr(self, "sharing_", None)
        return None if sharing is None or not sharing.agrees else sharing.places

    def _new_counts(self, X: Any, embeddings: Any) -> Any:
        """Return new documents checked, and shared if the model has embeddings."""
        sharing = getattr(self, "sharing_", None)
        asked = check_asked(self, sharing is not None, embeddings)
        with already_warned() if asked else nullcontext():
            X = self._counts(X, allow_empty=True, blocks=self._takes_blocks)
        if sharing is None or not asked:
            return X
        refuse_blocks(X, f"{type(self).__name__} with embeddings")
        shared = sharing.shared(X, embeddings, n_jobs=self.n_jobs)
        warn_empty(shared)
        return shared

    def _seen(self, X: Any) -> Any:
        """Return checked documents as the model sees them."""
        weights = getattr(self, "word_weights_", None)
        if weights is None:
            return X
        from topicfold.infer.two_phase import weighted_words

        return weighted_words(X, weights)

    def _mixtures(self, X: Any, known: Mapping[str, Any] = EMPTY) -> Array:
        """Return the mixtures of documents as seen: the one way of inference.

        `known` has what else is known of them, by keyword.
        """
        options = self._fold_in_options()
        topics = options.pop("topic_weights", self.components_)
        return fold_in(X, topics, dtype=X.dtype, **options)

    def _fold_in_options(self) -> dict[str, Any]:
        """How this model infers mixtures: arguments of ``fold_in``."""
        return {
            "max_iter": self.max_doc_updates,
            "tol": self.doc_tol,
            "device": self.device,
            "n_jobs": self.n_jobs,
        }

    def _engine(self, X: Any, **more: Any) -> Any:
        place = {"dtype": X.dtype, "device": self.device, "n_jobs": self.n_jobs}
        return make_engine(X, self._size, **place, **more)

    def _learn(
        self, algorithm: Any, *, tol: float | None = None, max_iter: int | None = None
    ) -> Self:
        """Run a learning algorithm; keep its topics, mixtures and history."""
        bar = [ProgressBar(type(self).__name__)] if self.verbose else []
        callbacks: list[Callback] = [*bar, *(self.callbacks or ())]
        if hasattr(self, "_skl_callbacks") or hasattr(self, "_parent_callback_ctx"):
            callbacks.append(FitTasks(self))  # scikit-learn's, set by set_callbacks
        result = run_em(
            algorithm,
            max_iter=self.max_iter if max_iter is None else max_iter,
            tol=self.tol if tol is None else tol,
            callbacks=callbacks,
        )
        residual = getattr(algorithm, "kkt_residual", lambda: None)()
        if residual is not None:
            self.kkt_residual_ = residual
        if hasattr(algorithm, "free_scratch"):
            algorithm.free_scratch()
        self.doc_topics_ = algorithm.doc_topics()
        self.components_ = algorithm.topics()
        rows, lengths = self.doc_topics_, self.doc_lengths_
        threads = n_threads(getattr(self, "n_jobs", None))
        warn_of_spare_topics(self.components_, weighted_sum(lengths, rows, threads))
        self.objective_history_ = list(result.history)
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        return self

    def _store_corpus(self, X: Any) -> None:
        """Keep what perplexity, TopicData and callbacks need of the training matrix."""
        for callback in getattr(self, "callbacks", None) or ():
            if hasattr(callback, "on_fit"):
                callback.on_fit(self, X)
        self._store_totals(X)

    def _store_totals(self, X: Any) -> None:
        """Keep the lengths of the documents and the shares of the words."""
        threads = n_threads(getattr(self, "n_jobs", None))
        self.doc_lengths_ = row_sums(X, threads)
        counts = column_sums(X, threads)
        self.word_frequencies_ = counts / counts.sum()

    @property
    def _uses_labels(self) -> bool:
        """Whether topics depend on the labels that `fit` is given."""
        return bool(self.__sklearn_tags__().target_tags.required)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns of `transform`.

        A topic that was named (`topicfold.editing.rename_topics`) has its name; the
        others are called by the name of the class and their number.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Not used; scikit-learn passes it.
        """
        columns = super().get_feature_names_out(input_features)
        return np.asarray(topic_columns(self, columns), dtype=object)

    #: Fitted attributes that `transform` needs besides `components_`.
    _needed_state: ClassVar[tuple[str, ...]] = ("n_features_in_",)
    #: What saved attributes must be (`core.saved`); a class says it of its own.
    _saved: ClassVar[dict[str, saved.Form]] = saved.forms(
        components_=saved.shares("KV"),
        word_frequencies_=saved.some_positive("V"),
        word_weights_=saved.numbers("V", 0, saved.LARGEST_PRIOR),
        doc_topic_prior_=saved.numbers("K", 0, saved.LARGEST_PRIOR),
        topic_word_prior_=saved.number(0, saved.LARGEST_PRIOR),
        topic_totals_=saved.some_positive("K"),
        doc_topics_=saved.shares("DK"),
        doc_lengths_=saved.numbers("D", 0),
        topic_names_=saved.or_none(saved.texts()),
        prevalence_names_=saved.texts(),
        objective_history_=saved.real_numbers,
        n_iter_=saved.number(0, 2**53, whole=True),
        converged_=saved.flag,
        vocabulary=saved.or_none(saved.texts("V")),
    )

    def _sizes(self) -> dict[str, int]:
        """Return what the letters of `_saved` stand for: documents, topics, words."""
        n_topics = len(self.components_)
        if not self._open_size:
            n_topics = self.get_params(deep=False).get("n_components") or n_topics
        # A model of a stream keeps no documents, but their lengths if it was fitted.
        documents = getattr(self, "doc_topics_", getattr(self, "doc_lengths_", ()))
        return {"D": len(documents), "K": n_topics, "V": self.n_features_in_}

    def _check_loaded(self) -> None:
        """Refuse a saved model whose attributes do not match."""
        init: Any = type(self).__init__
        if init is object.__init__:
            raise ValueError("its class is a base of models, not a model")
        if not hasattr(self, "components_"):
            return  # saved before it was fitted
        needed = self._needed_state
        missing = [name for name in needed if getattr(self, name, None) is None]
        if missing or type(self.n_features_in_) is not int:
            what = ", ".join(missing) or "a whole number n_features_in_"
            raise ValueError(f"it lacks {what}")
        if not len(self.components_):
            raise ValueError("it has no topics")
        saved.check(self, self._sizes(), partial=True)
        names = getattr(self, "topic_names_", None)
        if names and len(names) != len(self.components_):
            raise ValueError("topic_names_ are not as many as its topics")
        self._check_fitted(self._sizes())

    def _check_fitted(self, sizes: Mapping[str, int]) -> None:
        """Refuse a saved model with topics whose parts are not those of its sizes."""
        sharing, step = (getattr(self, n, None) for n in ("sharing_", "theta_step_"))
        if sharing is not None:
            from topicfold.graph.sharing import CountSharing

            width = getattr(getattr(sharing, "counts_", None), "shape", (0, 0))[1]
            if not isinstance(sharing, CountSharing) or width != sizes["V"]:
                raise ValueError("sharing_ does not fit its words")
        if isinstance(step, ThetaStep):
            step._check_fitted(sizes)
        elif step is not None:
            raise ValueError("theta_step_ is not a step")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def one_at_a_time(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse a fit of a model that another thread is fitting: they would be mixed."""

    @functools.wraps(fit)
    def alone(model: Any, *args: Any, **given: Any) -> Any:
        thread = threading.get_ident()
        inner = _FITTING.get(id(model)) == thread
        if _FITTING.setdefault(id(model), thread) != thread:
            raise DataError(
                f"this {type(model).__name__} is being fitted by another thread. Give "
                "each thread a model of its own: sklearn.base.clone(model)."
            )
        try:
            return fit(model, *args, **given)
        finally:
            if not inner:
                del _FITTING[id(model)]

    return alone


class LearnedModel(CallbackSupportMixin, TopicModel):
    """A topic model that learns in iterations: the parameters of all of them.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    init : {"clusters", "documents", "neighbors", "random", "spectral", "svd"} or array
        Start of the topics; "clusters" for PLSA and its relatives, "neighbors" for
        MedLDA, "documents" for FSTM.
        "clusters": clusters of documents by their first singular vectors, with a fifth
        of the corpus mixed in; "documents": half a few random documents, half the
        corpus; "neighbors": half a document with those most like it, half the corpus;
        "random": word frequencies times random factors; "spectral": anchor words, the
        same for any seed; "svd": the positive parts of singular vectors; an array
        (K, V): the topics themselves.
    max_iter : int, default=200
        Maximum number of iterations.
    tol : float, default=1e-5
        Relative change of the objective that ends the fit.
    doc_tol : float, default=1e-4
        Change of a document's mixture (L1) that ends its updates.
    random_state : int, RandomState or None, default=None
        Seed of the start.
    device : {"cpu", "cuda"}, default="cpu"
        Where to compute; ``"cuda"`` needs an NVIDIA GPU and CuPy
        (``pip install 'topicfold[gpu]'``). Fitted arrays are NumPy arrays in both
        cases.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all. The result is the same for any number.
    callbacks : sequence of Callback or None, default=None
        See :mod:`topicfold.learn`. Callbacks of scikit-learn 1.9 are set by
        ``set_callbacks``; each iteration is a task.
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features_in_)
        Topics φ, rows on the simplex.
    doc_topics_ : ndarray of shape (n_documents, n_components)
        Mixtures θ of the training documents.
    objective_history_ : list of float
        Objective at the start and after each iteration; never falls.
    n_iter_ : int
        Iterations done.
    converged_ : bool
        Whether `tol` was reached.
    word_frequencies_ : ndarray of shape (n_features_in_,)
        Shares of the words in the training matrix.
    doc_lengths_ : ndarray of shape (n_documents,)
        Tokens of the training documents.
    """

    _weighs_documents: ClassVar[bool] = False
    n_components: Annotated[int, whole(1, MAX_TOPICS)]
    init: Annotated[Any, StrOptions(STARTS), "array-like"]
    max_iter: Annotated[int, whole(1)]
    tol: Annotated[float, NOT_NEGATIVE]
    doc_tol: Annotated[float, NOT_NEGATIVE]
    random_state: Annotated[Any, "random_state"]
    device: Annotated[str, StrOptions({"cpu", "cuda"})]
    n_jobs: Annotated[int | None, Integral]
    callbacks: Annotated[Sequence[Callback] | None, list, tuple]
    verbose: bool

    @one_at_a_time
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any = None, *, embeddings: Any = None, **side_data: Any
    ) -> Self:
        """Learn topics and the mixtures of the training documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            Counts or other non-negative weights; whole counts for `GibbsLDA`.
        y : array-like of shape (n_documents,) or None, default=None
            Labels, -1 for unknown, for models and steps that use labels; others ignore
            them.
        embeddings : array-like of shape (n_documents, n_dimensions) or None
            Vectors of the documents, from any encoder. A document then shares counts
            with those near it (`topicfold.graph.CountSharing`); graph models join
            documents by them.
        **side_data
            The data of the model's sides, each by its keyword; and ``sample_weight``
            in PLSA, OrthogonalPLSA, LDA and FSTM: how much each document counts for
            the topics, as if its words occurred that many times.
        """
        sides = self._all_sides()
        self._warn_unsaveable(sides)
        weights = side_data.pop("sample_weight", None)
        X = X if embeddings is None else Embedded(X, embeddings)
        if weights is not None:
            self._fit_weighted(X, y, weights, bool(sides or side_data))
        elif sides or side_data:
            self._fit_sided(X, y, sides, side_data)
        else:
            self._fit_counts(self._start_fit(X), y)
        if hasattr(self, "sharing_"):  # people's counts, not those the model saw
            self._store_totals(self.sharing_.counts_)
        return self

    def transform(self, X: Any, *, embeddings: Any = None) -> Array:
        """Return the topic mixtures of documents, rows on the simplex.

        Parameters
        ----------
        embeddings : array-like of shape (n_documents, n_dimensions) or None
            Vectors of the documents, if `fit` had them.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
            Deterministic, and the same for a document in any batch.
        """
        check_is_fitted(self, "components_")
        return self._mixtures(self._seen(self._new_counts(X, embeddings)))

    def fit_transform(self, X: Any, y: Any = None, **given: Any) -> Array:
        """Fit, then return the mixtures of the training documents as `transform` does.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            Counts.
        y : array-like or None, default=None
            As in `fit`.
        **given
            What else `fit` takes; embeddings are used for the mixtures too.
        """
        self.fit(X, y, **given)
        return self.transform(X, embeddings=given.get("embeddings"))

    def _own_sides(self) -> Sequence[Any]:
        """Return the sides that make the model; those of `sides` come after them."""
        return ()

    def _all_sides(self) -> list[Any]:
        return [*self._own_sides(), *(getattr(self, "sides", None) or ())]

    def _warn_unsaveable(self, sides: list[Any]) -> None:
        """Log, before the fit, that a step or side of the user's cannot be saved."""
        parts = [getattr(self, name, None) for name in ("theta_step", "phi_step")]
        for cls in {type(part) for part in (*parts, *sides) if part is not None}:
            if not cls.__module__.startswith("topicfold."):
                from topicfold.persistence.estimators import class_name

                try:
                    class_name(cls)
                except ModelFileError as error:
                    _logger.warning("the model can be fitted, but not saved. %s", error)

    def _fit_weighted(self, X: Any, y: Any, given: Any, sided: bool) -> None:
        """Learn topics from weighted documents; mixtures are of the documents as
        they are.
        """
        name = type(self).__name__
        step = getattr(self, "theta_step", None)
        if not self._weighs_documents or sided or step is not None:
            raise DataError(
                f"{name} takes no sample_weight here: only PLSA, OrthogonalPLSA, LDA "
                "and FSTM do, without sides and θ-steps. Repeat documents, or leave "
                "some out."
            )
        if isinstance(X, Embedded):
            raise DataError("give sample_weight or embeddings, not both.")
        counts = self._start_fit(X)
        refuse_blocks(counts, f"{name} with sample_weight")
        weights = checked_weights(given, counts.shape[0])
        weighted = sparse.csr_matrix(sparse.diags(weights) @ counts, dtype=counts.dtype)
        weighted.eliminate_zeros()
        self._fit_counts(weighted, y)
        self._store_totals(counts)
        if hasattr(self, "doc_topics_"):
            self.doc_topics_ = self._mixtures(counts)

    def _fit_sided(
        self, X: Any, y: Any, sides: list[Any], side_data: Mapping[str, Any]
    ) -> None:
        """Learn from X and from what else is known of the documents."""
        raise TypeError(
            f"{type(self).__name__} has no sides, but was given {next(iter(side_data))}"
        )

    @property
    def _asked(self) -> int | None:
        """Number of topics that the user gave, if any."""
        return getattr(self, "n_components", None)

    @property
    def _size(self) -> int:
        """Number of topics: the user's, or what a side made of it."""
        return int(self.n_topics_ if self._asked is None else self._asked)

    def _fit_counts(self, X: Any, y: Any) -> None:
        """Learn from checked counts."""
        raise NotImplementedError


def checked_weights(given: Any, n_documents: int) -> NDArray[np.float64]:
    """Return the weights of documents, or say what is wrong with them."""
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError("sample_weight has a value that is not a number.") from error
    if weights.shape != (n_documents,):
        raise DataError(
            f"sample_weight has shape {weights.shape} for {n_documents} documents. "
            "Give one number per document."
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise DataError(
            "sample_weight has a negative or missing value, or only zeros. Give "
            "numbers of at least 0."
        )
    return weights


def _values_used(model: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Return what `fit` took for parameters that were left to it, or learned."""
    used: dict[str, Any] = {}
    for name, value in settings.items():
        found = np.asarray(getattr(model, f"{name}_", None))
        if found.dtype.kind not in "iuf" or found.ndim > 1 or not found.size:
            continue
        low, high = found.min().item(), found.max().item()
        one = bool(np.isclose(low, high))
        if value is None:
            used[name] = low if one else f"{low:.3g} to {high:.3g}, one per topic"
        elif isinstance(value, float) and not np.allclose(found, value):
            learned = f"{low:.3g}" if one else f"{low:.3g} to {high:.3g}"
            used[name] = f"{value:g} at the start, {learned} learned"
    return used


def save_fitted(model: Any, path: Any, corpus: Any, known: dict[str, Any]) -> None:
    """Save a fitted model with what is known of its words and documents."""
    from topicfold.persistence.model_folder import known_of, save_model_folder

    check_is_fitted(model)
    of_corpus = {} if corpus is None else known_of(corpus)
    save_model_folder(model, path, **{**of_corpus, **known})


def check_documents(
    estimator: BaseEstimator,
    X: Any,
    *,
    reset: bool,
    allow_empty: bool = False,
    min_documents: int = 1,
    blocks: bool = False,
    without_words: str = WITHOUT_WORDS,
) -> sparse.csr_matrix:
    """Return X as a clean CSR matrix of float32 or float64; never change X itself.

    X may be a `Corpus` or AnnData; its words are the feature names then.

    Integers and bool become float32, float32 stays, other floats become float64.
    Explicit zeros and duplicate entries are folded. A warning names documents without
    words, and what they get, once. A corpus in blocks (on disk, or a Dask collection)
    comes back as a ``BlockCorpus`` where the caller can learn from `blocks`, and is an
    error elsewhere.
    """
    words = None
    threads = n_threads(getattr(estimator, "n_jobs", None))
    if hasattr(X, "obsm") and hasattr(X, "varm"):
        from topicfold.corpus.inputs import from_anndata

        X = from_anndata(X)
    if hasattr(X, "counts") and hasattr(X, "vocabulary"):
        words, X = X.vocabulary, X.counts
    if arrives_in_blocks(X):
        X = check_blocks(estimator, X, reset=reset, allowed=blocks)
        check_not_empty(X, allow_empty)
        warn_empty(X, without_words)
        return X
    if sparse.issparse(X):
        # Before any compiled code walks along its arrays.
        check_structure(X, "X", threads)
        if X.dtype.kind in "biu":  # before entries are added up in a narrow type
            X = X.astype(np.float32)
    else:
        typed = any(hasattr(X, name) for name in ("dtype", "columns"))
        if hasattr(X, "__array__") and not typed:
            X = np.asarray(X)  # else whole numbers become float64, of an array float32
        refuse_other(X)
    unnamed = sparse.issparse(X) and not reset
    with _names_aside(estimator) if unnamed else nullcontext():
        X = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=_NUMBERS,
            ensure_all_finite=False,
            ensure_min_samples=min_documents,
            accept_large_sparse=True,
        )
    names = getattr(estimator, "feature_names_in_", None)
    if words is not None and reset:
        estimator.feature_names_in_ = np.asarray(words, dtype=object)
    elif words is not None and names is not None:
        check_words(names, words, type(estimator).__name__)
    if X.dtype.kind != "f":
        X = X.astype(np.float32)
    X = sparse.csr_matrix(X)
    check_values(X, type(estimator).__name__, threads)
    X = canonical(X, threads)
    check_range(X, threads=threads)
    check_not_empty(X, allow_empty)
    warn_empty(X, without_words)
    return X


def warn_of_spare_topics(topics: Array, tokens: Array) -> None:
    """Say once that topics are empty, or copies of others (within `SAME_TOPIC`)."""
    spare = 0
    kept: dict[int, list[Array]] = {}
    for k in np.argsort(-tokens, kind="stable").tolist():
        others = kept.setdefault(int(topics[k].argmax()), [])
        same = any(np.abs(topics[k] - one).sum() < SAME_TOPIC for one in others)
        spare += same or tokens[k] < EMPTY_TOPIC
        others.append(topics[k])
    if spare and len(topics) > 1:
        warnings.warn(
            f"{spare} of {len(topics)} topics are empty or copies of another topic, "
            "because the documents are too few, too short or too similar for so many "
            "topics. Use a smaller n_components.",
            SpareTopicsWarning,
            stacklevel=level_of_caller(),
        )


def arrives_in_blocks(X: Any) -> bool:
    """Whether X is a corpus in blocks, block files, or a Dask collection."""
    if isinstance(X, BlockCorpus) or hasattr(X, "__dask_graph__"):
        return True
    return (
        isinstance(X, list | tuple)
        and len(X) > 0
        and all(
            isinstance(file, Path)
            or (isinstance(file, str) and file.endswith(_BLOCK_FILES))
            for file in X
        )
    )


def check_blocks(
    estimator: BaseEstimator, X: Any, *, reset: bool, allowed: bool
) -> BlockCorpus:
    """Return X as a corpus in blocks that fits the estimator."""
    if not allowed:
        refuse_blocks(X, type(estimator).__name__)
    words = None if reset else getattr(estimator, "feature_names_in_", None)
    corpus = as_blocks(X, words)
    with _names_aside(estimator) as names:
        validate_data(estimator, corpus, reset=reset, skip_check_array=True)
    if reset:
        vars(estimator).pop("feature_names_in_", None)
        if corpus.vocabulary is not None:
            estimator.feature_names_in_ = np.asarray(corpus.vocabulary, dtype=object)
    elif names is not None and corpus.vocabulary is not None:
        check_words(names, corpus.vocabulary, type(estimator).__name__)
    return corpus


def as_blocks(X: Any, words: Any = None) -> BlockCorpus:
    """Return what `arrives_in_blocks` as a corpus; `words` are those of the model."""
    if isinstance(X, BlockCorpus):
        return X
    if hasattr(X, "__dask_graph__"):
        from topicfold.engine.dask import distribute

        return distribute(X, vocabulary=None if words is None else list(words))
    from topicfold.corpus.blocks import BlockMatrix

    return BlockMatrix.from_files(X)


@contextmanager
def _names_aside(estimator: Any) -> Iterator[Any]:
    """Hide the feature names from scikit-learn's check, for X that can have none."""
    names = vars(estimator).pop("feature_names_in_", None)
    try:
        yield names
    finally:
        if names is not None:
            estimator.feature_names_in_ = names


def refuse_blocks(X: Any, who: str) -> None:
    """Raise an error if X is in blocks; `who` needs all documents in one place."""
    if arrives_in_blocks(X):
        raise DataError(
            f"{who} needs all documents in one place (for their graph, or to split "
            "each document), but X comes in blocks. PLSA, LDA, OrthogonalPLSA and "
            "FSTM learn from blocks; for other models give a sample that fits into "
            "memory as a CSR matrix (from a BlockMatrix: blocks[rows])."
        )
