# SPDX-License-Identifier: BSD-3-Clause
"""Tables of a `TopicData`: words, documents, periods, classes, restarts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from topicfold.core.parameters import whole_number
from topicfold.core.tables import Table, load_pandas
from topicfold.core.times import unreadable
from topicfold.exceptions import DataError
from topicfold.metrics import match_topics
from topicfold.models.base import embeddings_of
from topicfold.persistence.model_folder import ModelFolder
from topicfold.report.documents import find_periods, typical_documents
from topicfold.report.page import lead
from topicfold.search import Hits, TopicIndex
from topicfold.search.words import DEFAULT_MIX, body, snippet, with_texts
from topicfold.session.describing import EMBEDDINGS, beside_words
from topicfold.session.growing import learns
from topicfold.topic_data import NAME_RELEVANCE, TopicData

# Weight of words where topics and vectors are compared too: the same for all three.
MIX_BESIDE_VECTORS = 1 / 3


def word_table(data: TopicData, topic: int, n: int) -> Table:
    """Return the words of a topic, the most relevant first."""
    row = data.row(topic)
    whole_number(n, "n")
    ids = data.top_term_ids(n, NAME_RELEVANCE)[row].tolist()
    here = data.topic_sizes()[row] * data.topics[row, ids]
    everywhere = np.maximum(data.term_frequencies()[ids], np.finfo(np.float64).tiny)
    return Table(
        {
            "word": data.vocabulary[i],
            "probability": float(data.topics[row, i]),
            "share of its uses": float(share),
        }
        for i, share in zip(ids, here / everywhere, strict=True)
    )


def document_table(data: TopicData, topic: int, n: int) -> Table:
    """Return the most typical documents of a topic, those of the report."""
    place = data.row(topic)
    whole_number(n, "n")
    shares = np.asarray(data.doc_topics)[:, place]
    marks = data.top_terms(10, NAME_RELEVANCE)[place]
    table = Table()
    for row in typical_documents(data, n)[place].tolist():
        entry: dict[str, Any] = {
            "document": row if data.doc_ids is None else data.doc_ids[row],
            "share": float(shares[row]),
        }
        if data.labels is not None:
            entry["label"] = data.labels[row] or ""
        if data.texts is not None:
            entry["title"] = lead(data.texts[row])
            entry["text"] = snippet(body(data.texts[row]), marks)
        table.append(entry)
    return table


def find_documents(
    saved: ModelFolder,
    query: str,
    n: int,
    mix: float | None,
    text: Mapping[str, Any],
    encoder: Any = None,
    embeddings: Any = None,
) -> Hits:
    """Return the documents nearest to a query, with titles and passages."""
    lexical = None if saved.counts is None else "bm25"
    index = index_of(saved, text, lexical=lexical, encoder=encoder)
    with_documents(index, saved)
    if mix is None:
        mix = usual_mix(index, vectors=encoder is not None or embeddings is not None)
    hits = index.query(query, n=n, mix=mix, embeddings=embeddings)
    return hits if saved.texts is None else with_texts(hits, saved.texts, query)


def index_of(
    saved: ModelFolder, text: Mapping[str, Any] | None, **options: Any
) -> TopicIndex:
    """Return an empty index for a model; `text` has how its texts are split."""
    words = saved.vocabulary
    return TopicIndex(saved.model, vocabulary=words, text=text, n_jobs=-1, **options)


def with_documents(index: TopicIndex, saved: ModelFolder) -> TopicIndex:
    """Return an index with the documents of its model."""
    return index.add(
        saved.counts,
        vectors=saved.model.doc_topics_,
        ids=saved.doc_ids,
        texts=saved.texts,
        embeddings=embeddings_of(saved.model),
    )


def usual_mix(index: TopicIndex, *, vectors: bool) -> float:
    """Return the weight of words in a search; `vectors` says if the query has some."""
    if not index.lexical:
        return 0.0
    beside = vectors and index.documents.embeddings is not None
    return MIX_BESIDE_VECTORS if beside else DEFAULT_MIX


def main_topic_table(data: TopicData, least: float) -> Table:
    """Return the main topic of every document; None where it has less than `least`."""
    if isinstance(least, bool) or not isinstance(least, Real) or not 0 <= least <= 1:
        raise DataError(f"least is {least!r}. Give a share from 0 to 1, such as 0.5.")
    theta, places = np.asarray(data.doc_topics), data.main_topics().tolist()
    table = Table()
    for row, place in enumerate(places):
        share = float(theta[row, place])
        clear = share >= least
        table.append(
            {
                "document": row if data.doc_ids is None else data.doc_ids[row],
                "topic": int(data.numbers[place]) if clear else None,
                "name": data.name(place) if clear else "",
                "share": share,
            }
        )
    return table


def time_table(data: TopicData, times: Sequence[str] | None = None) -> Table:
    """Return the share of every topic in every period.

    `times` are those of the documents as they were given.
    """
    periods = find_periods(data)
    if data.times is None and any(times or ()):
        raise DataError(
            f"the times (such as {unreadable(times or ())[:80]!r}) are not all numbers "
            "or all dates. Write dates like 2001-05-03."
        )
    if periods is None:
        raise DataError(
            "the documents have no times, or all have the same. Give times as "
            "over_time(dates), or name their column in fit with time=. Write dates "
            "like 2001-05-03."
        )
    rows = zip(periods.names, periods.documents, periods.shares, strict=True)
    return Table(
        {"period": name, "documents": int(number)} | _by_name(data, shares)
        for name, number, shares in rows
    )


def class_table(data: TopicData) -> Table:
    """Return the mean mixture of the documents of every class."""
    if data.labels is None:
        raise DataError(
            "the documents have no labels. Give them as by_class(labels), or name "
            "their column in fit with label=."
        )
    rows = zip(*data.class_topics(), strict=True)
    return Table({"class": name} | _by_name(data, shares) for name, shares in rows)


def known_columns(data: TopicData) -> dict[str, Any]:
    """Return what is known of the documents: their labels and times."""
    columns: dict[str, Any] = {}
    if data.labels is not None:
        columns["label"] = list(data.labels)
    if data.times is not None:
        columns["time"] = np.asarray(data.times)
    if not columns:
        raise DataError(
            "the documents have neither labels nor times. Give data= with a row per "
            "document."
        )
    return columns


def mixture_frame(data: TopicData) -> Any:
    """Return a data frame: a row per document, what is known of it, and its mixture."""
    known: dict[str, Any] = {
        "id": data.doc_ids,
        "text": data.texts,
        "time": None if data.times is None else np.asarray(data.times),
        "label": data.labels,
        "main topic": [data.numbers[k] for k in data.main_topics().tolist()],
    }
    columns = {name: values for name, values in known.items() if values is not None}
    names = _by_name(data, np.zeros(data.n_topics))
    columns |= zip(names, np.asarray(data.doc_topics).T, strict=True)
    return load_pandas().DataFrame(columns)


def _by_name(data: TopicData, shares: Any) -> dict[str, float]:
    """Return shares by the numbers and names of the topics."""
    rows = zip(data.numbers, shares, strict=True)
    return {f"{n}: {data.name(k)}": float(x) for k, (n, x) in enumerate(rows)}


# Topics that share less of their probability are not the same.
FOUND = 0.5


def stability_table(saved: ModelFolder, data: TopicData, n_restarts: int) -> Table:
    """Return how much of every topic other seeds find again, largest topic first.

    The model is fitted again with other seeds, and the topics of each fit are matched
    one to one with those of the model by the probability that they share.
    """
    whole_number(n_restarts, "n_restarts")
    rows = embeddings_of(saved.model)
    known = {} if rows is None else {"embeddings": rows}
    shared = np.zeros((n_restarts, data.n_topics))
    for row, seed in zip(shared, _seeds(saved, n_restarts), strict=True):
        again = clone(saved.model).set_params(random_state=seed)
        match = match_topics(data.topics, again.fit(saved.counts, **known).components_)
        row[match.first] = match.overlap
    sizes = data.topic_sizes()
    return Table(
        {
            "topic": data.numbers[k],
            "name": data.name(k),
            "share": float(sizes[k]),
            "stability": float(shared[:, k].mean()),
            "least": float(shared[:, k].min()),
            "found": f"{int((shared[:, k] >= FOUND).sum())} of {n_restarts}",
        }
        for k in np.argsort(-sizes, kind="stable").tolist()
    )


def _seeds(saved: ModelFolder, n_restarts: int) -> list[int]:
    """Return seeds that are not that of the model."""
    parameters = saved.model.get_params(deep=False)
    used = beside_words(saved.model)
    reason = ""
    if saved.counts is None:
        reason = "the words of its documents were not saved"
    elif "random_state" not in parameters:
        reason = "it has no seed"
    elif used and used != [EMBEDDINGS]:
        reason = f"it also used {', '.join(used)}, which only you can give again"
    elif not learns(saved.model) and embeddings_of(saved.model) is None:
        reason = "it learned from more than words"
    if reason:
        raise DataError(
            f"this {type(saved.model).__name__} cannot be fitted again with another "
            f"seed: {reason}. Fit Topics(random_state=1) yourself and compare the two "
            'with report("two.html", against=other).'
        )
    own = parameters["random_state"]
    first = own + 1 if isinstance(own, int) else 1
    return list(range(first, first + n_restarts))
