# SPDX-License-Identifier: BSD-3-Clause
"""What `Topics` does with models: make one of a name, and let it grow."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from topicfold.core.parameters import few_topics
from topicfold.corpus.inputs import Documents
from topicfold.corpus.tokens import stemmer
from topicfold.corpus.vectorizing import vectorize
from topicfold.exceptions import DataError
from topicfold.persistence.model_folder import ModelFolder
from topicfold.registry import find_model, models

_DEFAULT_TOPICS = 20


def make_model(
    model: Any, n_topics: int | None, n_documents: int, **usual: Any
) -> tuple[Any, bool]:
    """Return an unfitted model, `usual` set where it says nothing; whether it needs
    labels.
    """
    whole = isinstance(n_topics, int | np.integer) and not isinstance(n_topics, bool)
    if n_topics is not None and not (whole and n_topics >= 1):
        raise DataError(
            f"n_topics is {n_topics!r}. Give a whole number of topics, such as 20."
        )
    if not isinstance(model, str) and not hasattr(model, "get_params"):
        raise DataError(
            f"model is {model!r}. Give the name of a model, such as 'lda', or an "
            "estimator, such as LDA(max_iter=50)."
        )
    if isinstance(model, str):
        made, supervised = _named(model)
        n_topics = n_topics or min(_DEFAULT_TOPICS, max(1, n_documents // 2))
    else:
        made = clone(model)
        own = [entry for entry in models() if isinstance(made, entry.load())]
        supervised = any(entry.labels == "must" for entry in own)
    _set(made, "n_components", n_topics)
    size = _get(made, "n_components")
    if size is not None and size > n_documents:
        raise DataError(
            f"{size:,} topics are more than the {n_documents:,} documents. Give fewer, "
            f"such as Topics({few_topics(n_documents)})."
        )
    for name, value in usual.items():
        if _get(made, name) is None:
            _set(made, name, value)
    return made, supervised


def _named(name: str) -> tuple[Any, bool]:
    entry = find_model(name)
    if not entry.has_topics:
        raise DataError(
            f"{entry.shown} has no topics to show. Use topicfold.{entry.class_name} "
            "itself, or another model."
        )
    made = (entry.load_base() or entry.load())(**entry.options)
    return entry.load()(made) if entry.base else made, entry.labels == "must"


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


def updated(
    old: ModelFolder,
    new: Documents,
    added: Any,
    cutting: Mapping[str, Any] | None = None,
) -> ModelFolder:
    """Return a fitted model with more documents, whose counts are `added`.

    Where the texts of all documents are known and the model goes on learning, it learns
    the words that a fit on all documents would count; `cutting` has options of
    `vectorize` in place of those that were saved.
    """
    if new.texts is not None and learns_on(old.model):
        old, added = _with_new_words(old, new.texts, added, cutting or {})
    counts = sparse.csr_matrix(sparse.vstack([old.counts, added]))
    given = {"labels": new.labels, "texts": new.texts, "times": new.times}
    known: dict[str, Any] = {
        name: _join(getattr(old, name), values, old.counts.shape[0], new.n_documents)
        for name, values in given.items()
    }
    known["doc_ids"] = None  # names of all that differ, or of none
    if old.doc_ids and new.ids and not {*old.doc_ids} & {*new.ids}:
        known["doc_ids"] = [*old.doc_ids, *new.ids]
    model = _grown(old, counts, added)
    return dataclasses.replace(old, model=model, counts=counts, **known)


def learns_on(model: Any) -> bool:
    """Tell whether a fitted model can start from its own topics, and needs only counts.

    A model of classes, authors, responses, features or links would have to be told
    these of all documents again.
    """
    if hasattr(model, "classes_"):
        return False
    told = any(side.keyword for side in getattr(model, "sides_", ()))
    return "init" in model.get_params(deep=False) and not told


def _with_new_words(
    old: ModelFolder, texts: Sequence[str], added: Any, cutting: Mapping[str, Any]
) -> tuple[ModelFolder, Any]:
    """Return the counts of old and new documents with columns for new words."""
    options = {**(old.text or {}), **cutting}
    options.pop("left_out", None)  # it is no option, but what was found
    by_name = ":" in str(options.get("tokens"))  # a function that nobody gave again
    if not old.texts or not old.vocabulary or options.get("phrases") or by_name:
        return old, added
    counts, words = vectorize([*old.texts, *texts], **options)
    stem = stemmer(options.get("stem")) or str
    known = {stem(word) for word in old.vocabulary}
    columns = [place for place, word in enumerate(words) if stem(word) not in known]
    more, n_old = counts[:, columns], len(old.texts)
    words = [*old.vocabulary, *(words[column] for column in columns)]
    wide = sparse.csr_matrix(sparse.hstack([old.counts, more[:n_old]]))
    old = dataclasses.replace(old, counts=wide, vocabulary=words)
    return old, sparse.csr_matrix(sparse.hstack([added, more[n_old:]]))


def _with_columns(topics: Any, counts: Any) -> Any:
    """Return topics with new words: each has of them what all documents have."""
    topics = np.asarray(topics)
    shares = np.asarray(counts.sum(axis=0, dtype=np.float64)).ravel()
    shares = shares[topics.shape[1] :] / shares.sum()
    new = np.outer(topics.sum(axis=1), shares).astype(topics.dtype)
    return np.hstack([(1 - shares.sum()).astype(topics.dtype) * topics, new])


def _grown(old: ModelFolder, counts: Any, added: Any) -> Any:
    """Return the model after more documents: learned on, or with their mixtures."""
    model = old.model
    parameters = model.get_params(deep=False)
    if learns_on(model):
        grown = clone(model)
        grown.set_params(init=_with_columns(model.components_, counts))
        _set(grown, "vocabulary", old.vocabulary)
        grown.fit(counts)
        grown.init = parameters["init"]
    else:
        grown = copy.copy(model)
        keeper = grown
        if hasattr(model, "base_"):  # of a two-phase model, the first has the mixtures
            keeper = grown.base_ = copy.copy(model.base_)
        mixtures = np.asarray(model.transform(added))
        lengths = np.asarray(added.sum(axis=1, dtype=np.float64)).ravel()
        keeper.doc_topics_ = np.vstack([model.doc_topics_, mixtures])
        keeper.doc_lengths_ = np.concatenate([model.doc_lengths_, lengths])
    for name in ("topic_names_", "edits_"):
        if hasattr(model, name):
            setattr(grown, name, getattr(model, name))
    return grown


def _join(old: Any, new: Any, n_old: int, n_new: int) -> list[str] | None:
    """Return what is known of old and new documents; "" where it is not."""
    if old is None and new is None:
        return None
    return [*(old or [""] * n_old), *(new or [""] * n_new)]


def label_texts(y: Any, n_documents: int) -> list[str]:
    """Return labels as strings, "" where unknown."""
    values = np.asarray(y, dtype=object).ravel().tolist()
    if len(values) != n_documents:
        raise DataError(f"there are {len(values)} labels for {n_documents} documents.")
    numbers = all(isinstance(value, int | np.integer) for value in values)
    unknown = (None, "", -1) if numbers else (None, "")
    return [
        "" if value in unknown or value != value else str(value) for value in values
    ]


def time_texts(times: Any, n_documents: int) -> list[str]:
    """Return times as texts, "" where unknown."""
    texts = ["" if value is None else str(value).strip() for value in times]
    if len(texts) != n_documents:
        raise DataError(f"there are {len(texts)} times for {n_documents} documents.")
    return ["" if text.lower() in ("nat", "nan") else text for text in texts]
