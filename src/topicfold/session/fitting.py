# SPDX-License-Identifier: BSD-3-Clause
"""From documents and what is known of them to a fitted model.

`Topics` and the command line both fit through `fit_documents`.

People may describe topics in advance, by a name or a short text each (`started_from`).
A description has a vector, like the documents. Walks along the documents
(``graph.walks``) place it among them, and its topic starts from the words of the
documents that are nearer to it than to any other description. Additional topics start
from clusters of the documents that are near no description.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import check_random_state

from topicfold.choosing.size import suggest_size
from topicfold.core.labels import is_unknown, warn_of_a_lost_class, without_mask
from topicfold.core.parameters import few_topics
from topicfold.core.typing import Array
from topicfold.exceptions import DataError
from topicfold.graph.embedding import (
    EmbeddingIndex,
    Rows,
    check_embeddings,
    check_takes_embeddings,
    encode,
)
from topicfold.graph.walks import places_of, places_of_new, walks_of
from topicfold.known import add_counts, add_sides, taken_by, with_times
from topicfold.learn.initial import CLUSTER_BACKGROUND, place_clusters
from topicfold.models.multimodal import MultimodalLDA
from topicfold.registry import find_model, make_model, models

_logger = logging.getLogger("topicfold")


def prepare_model(
    model: Any, n_topics: int | None, X: Any, **usual: Any
) -> tuple[Any, bool, str]:
    """Return an unfitted model, whether it needs labels, and why it has so many topics.

    `usual` are values of parameters that were not set. Without a number of topics,
    `suggest_size` looks at the counts X; the reason is empty if a number was given.
    """
    reason = ""
    whole = isinstance(n_topics, int | np.integer) and not isinstance(n_topics, bool)
    if n_topics is not None and not (whole and n_topics >= 1):
        raise DataError(
            f"n_topics is {n_topics!r}. Give a whole number, such as 20, or nothing to "
            "have one chosen."
        )
    if isinstance(model, type):
        raise DataError(f"model is a class. Give an object of it: {model.__name__}().")
    if not isinstance(model, str) and not hasattr(model, "topic_data"):
        raise DataError(
            f"model is {model!r}. Give the name of a model, such as 'lda', or an "
            "estimator of topicfold, such as LDA(max_iter=50)."
        )
    if isinstance(model, str):
        entry = find_model(model)
        if not entry.has_topics:
            raise DataError(
                f"{entry.shown} has no topics to show. Use topicfold."
                f"{entry.class_name} itself, or another model."
            )
        made, supervised = make_model(model, {}), entry.labels == "must"
        if n_topics is None and entry.sized:
            n_topics, reason = choose_size(made, X, n_jobs=usual.get("n_jobs"))
            _logger.info("%d topics: %s", n_topics, reason)
    else:
        made = clone(model)
        own = [entry for entry in models() if isinstance(made, entry.load())]
        supervised = any(entry.labels == "must" for entry in own)
    _set(made, "n_components", n_topics)
    size = _get(made, "n_components")
    most = getattr(made, "_open_size", False)  # no number, but a limit
    if size is not None and not most:
        check_size(size, X.shape[0])
    for name, value in usual.items():
        if _get(made, name) is None:
            _set(made, name, value)
    return made, supervised, reason


def check_size(n_topics: int, n_documents: int) -> None:
    """Refuse more topics than documents, which would take long and tell nothing."""
    if n_topics > n_documents:
        raise DataError(
            f"{n_topics:,} topics are more than the {n_documents:,} documents. Give "
            f"fewer, such as n_topics={few_topics(n_documents)}; select_n_components "
            "compares several numbers."
        )


def check_needs(model: Any, known: Mapping[str, Any]) -> None:
    """Refuse the name of a model without what it is to learn from."""
    if model == "seeded":
        raise DataError(
            "the model seeded needs seed words. Give them to the model: "
            'Topics(model=SeededLDA(seeds={"space": ["orbit", "moon"]})).'
        )
    if model == "structural" and not {"prevalence", "content"} & {*known}:
        raise DataError(
            "the model structural needs prevalence= or content=; without them it is "
            "correlated."
        )


def choose_size(
    model: Any, X: Any, *, n_jobs: int | None, least: int = 0
) -> tuple[int, str]:
    """Set a model's number of topics from the counts X; return the number, and why."""
    found = suggest_size(X, random_state=0, n_jobs=n_jobs)
    size = max(found.n_topics, least)
    _set(model, "n_components", size)
    return size, found.reason if size == found.n_topics else "one per seeded topic"


def _fit(model: Any, X: Any, y: Any, data: Mapping[str, Any]) -> Any:
    return model.fit(*([X] if y is None else [X, y]), **data)


def fit_documents(
    model: Any,
    documents: Any,
    *,
    known: Mapping[str, Any] | None = None,
    languages: Mapping[str, Any] | None = None,
    embeddings: Any = None,
    response_kind: str | None = None,
    from_classes: bool = False,
    run: Callable[[Any, Any, Any, Mapping[str, Any]], Any] = _fit,
) -> Any:
    """Fit a model in place to documents and what is known of them.

    `documents` have counts, vocabulary, labels and times, as a `Corpus` does. `known`
    is what the model's `fit` takes beside counts, by keyword, `languages` the counts of
    every language by its name, those of the documents first. With `response_kind` None,
    the kind is inferred from the response; `from_classes` says whether the model learns
    from labels. ``run(model, X, y, data)`` does the fit, and its result is returned.
    """
    X, words = documents.counts, documents.vocabulary
    if "vocabulary" in model.get_params(deep=False) and len(words):
        _set(model, "vocabulary", list(words))
    data = with_times(model, dict(known or {}), documents.times)
    if data:
        add_sides(model, data, kind=response_kind)
    if languages and isinstance(model, MultimodalLDA):
        X = dict(languages)
    elif languages:
        others = dict(list(languages.items())[1:])
        add_counts(model, others)
        data |= others
    if embeddings is not None:
        check_takes_embeddings(model)
        data["embeddings"] = embeddings
    # y is the labels of a model that learns from labels, the response of others.
    given = "labels" in data or ("response" in data and "labels" not in taken_by(model))
    y = _classes(model, documents.labels) if from_classes and not given else None
    if y is not None and "graph" in model.get_params(deep=False):
        _join_classes(model, X, y)
    return run(model, X, y, data)


def _classes(model: Any, labels: Sequence[str] | None) -> Any:
    names = [label.strip() or None for label in labels or ()]
    n_classes = len({*names} - {None})
    if n_classes < 2:
        found = "no classes" if n_classes == 0 else "one class"
        raise DataError(
            f"{type(model).__name__} learns from labels, and these documents have "
            f"{found}. Name the column of the labels with label='...', or give labels "
            "of two or more classes as fit(texts, labels)."
        )
    return np.array(names, dtype=object)


def _join_classes(model: Any, X: Any, y: Any) -> None:
    """Let labels change the graph of a graph model, its own or the user's."""
    from topicfold.graph import NeighborGraph

    if model.graph is None or isinstance(model.graph, NeighborGraph):
        model.set_params(graph__label_edges=True)
    else:
        model.graph = NeighborGraph(label_edges=True).build(X, y, given=model.graph)


def _get(model: Any, name: str) -> Any:
    """Return a parameter of a model, or of the base that it refines."""
    parameters = model.get_params(deep=True)
    return parameters.get(name, parameters.get(f"base__{name}"))


def _set(model: Any, name: str, value: Any) -> None:
    parameters = model.get_params(deep=True)
    for key in (name, f"base__{name}"):
        if key in parameters and value is not None:
            model.set_params(**{key: value})
            return


def label_texts(y: Any, n_documents: int, call: str = "by_class(") -> list[str]:
    """Return labels as strings, "" where unknown."""
    _check_one_column(y, call)
    values = np.asarray(without_mask(y), dtype=object).ravel().tolist()
    _check_number(values, "labels", n_documents)
    known = [value for value in values if not is_unknown(value, (-1, ""))]
    warn_of_a_lost_class(values, known, "the labels")
    return ["" if is_unknown(value, (-1, "")) else _whole(value) for value in values]


def _check_one_column(values: Any, call: str) -> None:
    if hasattr(values, "columns"):
        raise DataError(
            f"a data frame has several columns. Give one: {call}frame['column'])."
        )


def _check_number(values: Sequence[Any], what: str, n_documents: int) -> None:
    if len(values) != n_documents:
        raise DataError(
            f"there are {len(values)} {what} for {n_documents} documents. Give one per "
            "document, None where it is unknown."
        )


def _whole(label: Any) -> str:
    """Return a label as text: 1 of 1.0, which pandas makes of 1 beside a gap."""
    fraction = not isinstance(label, float | np.floating) or label % 1
    return str(label if fraction else int(label))


def time_texts(times: Any, n_documents: int, call: str = "over_time(") -> list[str]:
    """Return times as texts, "" where unknown."""
    _check_one_column(times, call)
    texts = ["" if value is None else str(value).strip() for value in times]
    _check_number(texts, "times", n_documents)
    return ["" if text.lower() in ("nat", "nan") else text for text in texts]


_HOW = (
    'Give texts such as about=["space travel", "medicine"] with an encoder, or vectors '
    'such as about={"space": [0.1, …]} by the encoder of embeddings=.'
)


class Descriptions(NamedTuple):
    """Names of described topics, and a vector for each."""

    names: list[str]
    vectors: Rows


def read_about(about: Any, encoder: Any, n_dimensions: int | None) -> Descriptions:
    """Return the descriptions of topics, or raise an error that says what is wrong.

    `about` has descriptions, which are the names too, or texts or vectors by name;
    `n_dimensions` is the length of the documents' vectors, None if they have none.
    """
    if isinstance(about, str) or not isinstance(about, Mapping | Sequence):
        raise DataError(f"about is {about!r}. {_HOW}")
    pairs = about if isinstance(about, Mapping) else {text: text for text in about}
    names, values = [str(name).strip() for name in pairs], list(pairs.values())
    if not names or len(pairs) < len(about) or "" in names:
        raise DataError(f"about needs different names, at least one. {_HOW}")
    texts = [isinstance(value, str) for value in values]
    if any(texts) and not all(texts):
        raise DataError(
            f"about has texts and vectors. Give only texts or only vectors. {_HOW}"
        )
    if all(texts) and encoder is None:
        raise DataError(
            f"about has texts, and there is no encoder to make vectors of them. {_HOW}"
        )
    made = encode(encoder, values) if all(texts) else values
    try:
        return Descriptions(names, check_embeddings(made, len(names), n_dimensions))
    except DataError as error:
        raise DataError(f"the vectors of about cannot be used: {error}") from error


def n_described(about: Any, n_topics: int | None) -> int | None:
    """Return how many topics there are: as many as asked for, or as described."""
    if about is None or n_topics is not None or not hasattr(about, "__len__"):
        return n_topics
    return max(len(about), 1)


@contextmanager
def started_from(
    about: Any, encoder: Any, model: Any, counts: Any, embeddings: Any
) -> Iterator[None]:
    """Let a fit in this context start from descriptions, whose names its topics get."""
    if about is None:
        yield
        return
    parameters = model.get_params(deep=False)
    if "init" not in parameters:
        raise DataError(
            f"the model {type(model).__name__} does not start from topics, so about= "
            'has no effect on it. Use for instance "lda" or "ltm".'
        )
    if embeddings is None:
        raise DataError(
            "about= compares the vectors of descriptions with those of documents, and "
            f"the documents have none. {_HOW}"
        )
    width = np.shape(embeddings)[-1] if np.ndim(embeddings) == 2 else None
    found = read_about(about, encoder, width)
    n_topics = parameters["n_components"]
    if n_topics < len(found.names):
        raise DataError(
            f"about describes {len(found.names)} topics, and n_topics is {n_topics}. "
            "Give at least as many, or leave n_topics out."
        )
    start = described_start(
        counts,
        embeddings,
        found,
        n_topics,
        random_state=parameters.get("random_state"),
        n_jobs=parameters.get("n_jobs"),
    )
    model.set_params(init=start)
    try:
        yield
    finally:
        model.set_params(init=parameters["init"])
    model.topic_names_ = [*found.names, *[""] * (n_topics - len(found.names))]


def described_start(
    counts: Any,
    embeddings: Any,
    about: Descriptions,
    n_topics: int,
    *,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Array:
    """Return the start of the topics (K, V): the described ones first, then others."""
    counts = sp.csr_matrix(counts, dtype=np.float64)
    rows = check_embeddings(embeddings, counts.shape[0])
    index = EmbeddingIndex(rows)
    walks = walks_of(index, n_jobs=n_jobs)
    places = places_of(walks, rows)
    asked = places_of_new(index, walks, about.vectors, n_jobs=n_jobs)
    near = places @ asked.T
    own, n_described = near.argmax(axis=1), len(about.names)
    if n_topics > n_described:
        share = (n_topics - n_described) / n_topics
        n_other = max(n_topics - n_described, round(share * len(near)))
        far = np.argsort(near.max(axis=1), kind="stable")[:n_other]
        found = place_clusters(
            places[far], n_topics - n_described, check_random_state(random_state)
        )
        own[far] = n_described + found
    members = sp.csr_matrix(
        (np.ones(len(own)), (own, np.arange(len(own)))), (n_topics, len(own))
    )
    sums = np.asarray((members @ counts).todense())
    corpus = sums.sum(axis=0) + 1.0 / sums.shape[1]
    corpus /= corpus.sum()
    totals = sums.sum(axis=1, keepdims=True)
    shares = np.where(totals > 0, sums / np.where(totals > 0, totals, 1.0), corpus)
    return (1 - CLUSTER_BACKGROUND) * shares + CLUSTER_BACKGROUND * corpus
