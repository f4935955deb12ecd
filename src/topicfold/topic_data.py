# SPDX-License-Identifier: BSD-3-Clause
"""The one record between models and everything that looks at their results.

`TopicData` holds topics φ = p(w|k), mixtures θ = p(k|d) and what is known of terms
and documents. Metrics, report and command line take only this. It never changes
after it is made, and is saved without pickle.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from topicfold.core.counts import best_places, simplex_problems
from topicfold.core.numbering import topic_numbers
from topicfold.core.side_table import SideTable
from topicfold.core.tables import html_table
from topicfold.exceptions import DataError, ModelFileError
from topicfold.persistence.bundle import (
    Bundle,
    from_jsonable,
    read_bundle,
    to_jsonable,
    write_bundle,
)

KIND = "topic_data"
# The value that readers told topics apart by best (Sievert and Shirley, 2014).
NAME_RELEVANCE = 0.6
_PER_DOCUMENT = (
    *("doc_topics", "doc_lengths", "labels", "doc_ids", "texts", "times"),
    "embeddings",
)
_ARRAY_FIELDS = ("topics", "doc_topics", "doc_lengths", "times", "embeddings")
_TEXT_FIELDS = ("vocabulary", "doc_ids", "texts", "topic_names")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TopicData:
    """Topics, mixtures, vocabulary and documents of one fitted model.

    Arrays are read-only; they are copied, unless they are read-only already. Use
    `dataclasses.replace` for a record with other names or labels.

    Parameters
    ----------
    topics : array of shape (n_topics, n_terms)
        Distribution of terms of every topic; rows sum to 1. Floats keep their dtype.
    vocabulary : sequence of str of length n_terms
        The terms, all different.
    doc_topics : array of shape (n_documents, n_topics), optional
        Mixture of topics of every document; rows sum to 1.
    doc_lengths : array of shape (n_documents,), optional
        Number of tokens of every document.
    labels : sequence of str or None, optional
        Class of every document; None if that of a document is unknown.
    doc_ids, texts : sequence of str, optional
        Name and text of every document.
    times : array of shape (n_documents,), optional
        Time of every document: numbers, ``datetime64``, dates, or dates in ISO 8601;
        NaN or NaT if unknown.
    embeddings : array of shape (n_documents, n_dimensions), optional
        Vectors of the documents, by which the map places them.
    topic_names : sequence of str, optional
        Names of the topics; an empty one is replaced by the topic's first terms.
    history : sequence of float, default=()
        Objective after every iteration of the fit.
    settings : mapping, default={}
        What the model was and how it was fitted: anything that JSON can hold.
    sides : sequence of SideTable, default=()
        What the model learned besides: mixtures of authors, effects, seed words, links.

    Raises
    ------
    DataError
        If the fields do not match; the message lists all problems.

    Examples
    --------
    >>> data = TopicData(
    ...     topics=[[0.7, 0.3, 0.0], [0.0, 0.2, 0.8]],
    ...     vocabulary=["cat", "pet", "tax"],
    ...     doc_topics=[[1.0, 0.0], [0.5, 0.5]],
    ...     doc_lengths=[10, 30],
    ... )
    >>> data
    TopicData(n_topics=2, n_terms=3, n_documents=2)
    >>> data.topic_sizes()
    array([0.625, 0.375])
    >>> data.top_terms(2)
    (('cat', 'pet'), ('tax', 'pet'))
    """

    topics: NDArray[Any]
    vocabulary: tuple[str, ...]
    doc_topics: NDArray[Any] | None = None
    doc_lengths: NDArray[Any] | None = None
    labels: tuple[str | None, ...] | None = None
    doc_ids: tuple[str, ...] | None = None
    texts: tuple[str, ...] | None = None
    times: NDArray[Any] | None = None
    embeddings: NDArray[Any] | None = None
    topic_names: tuple[str, ...] | None = None
    history: tuple[float, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    sides: tuple[SideTable, ...] = ()

    def __post_init__(self) -> None:
        problems: list[str] = []
        usable: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if value is None:
                if item.default is not None:
                    problems.append(f"{item.name} is missing")
                continue
            try:
                usable[item.name] = _normalise(item.name, value)
            except (TypeError, ValueError) as error:
                problems.append(f"{item.name} cannot be used: {error}")
            else:
                object.__setattr__(self, item.name, usable[item.name])
        problems += _problems(usable)
        if problems:
            lines = "\n".join(f"- {problem}" for problem in problems)
            raise DataError(
                f"TopicData cannot be made from these fields, {len(problems)} "
                f"problem{'s' if len(problems) > 1 else ''}:\n{lines}"
            )

    def __repr__(self) -> str:
        return (
            f"TopicData(n_topics={self.n_topics}, n_terms={self.n_terms}, "
            f"n_documents={self.n_documents})"
        )

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return len(self.topics)

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return len(self.vocabulary)

    @property
    def n_documents(self) -> int:
        """Number of documents; 0 if nothing is known of documents."""
        known = (getattr(self, name) for name in _PER_DOCUMENT)
        return next((len(value) for value in known if value is not None), 0)

    def topic_sizes(self) -> NDArray[np.float64]:
        """Return p(k), the share of all tokens that every topic has.

        Without `doc_lengths`, or if all are 0, every document counts the same;
        without documents every topic does.
        """
        if self.doc_topics is None or self.n_documents == 0:
            return np.full(self.n_topics, 1 / self.n_topics)
        # einsum adds in float64 without a float64 copy of the mixtures.
        weights = self.document_weights()
        sizes = np.einsum("d,dk->k", weights, self.doc_topics, dtype=np.float64)
        return np.asarray(sizes / sizes.sum())

    def main_topics(self) -> NDArray[np.int64]:
        """Return every document's topic: the largest of its mixture, the first if even.

        Examples
        --------
        >>> data = TopicData(topics=[[1.0], [1.0]], vocabulary=["a"],
        ...     doc_topics=[[0.2, 0.8], [0.5, 0.5]])
        >>> data.main_topics()
        array([1, 0])
        """
        if self.doc_topics is None:
            raise DataError(
                "main_topics needs doc_topics. Make TopicData with doc_topics=."
            )
        return np.asarray(self.doc_topics.argmax(axis=1), dtype=np.int64)

    def document_weights(self) -> NDArray[np.float64]:
        """Return how much every document counts: its length, or 1 if none is known."""
        if self.doc_lengths is not None and self.doc_lengths.any():
            return self.doc_lengths.astype(np.float64)
        return np.ones(self.n_documents)

    def term_frequencies(self) -> NDArray[np.float64]:
        """Return p(w) = Σ_k p(k) p(w|k), every term's share of all tokens."""
        terms = np.einsum("k,kw->w", self.topic_sizes(), self.topics, dtype=np.float64)
        return np.asarray(terms / terms.sum())

    def top_term_ids(self, n: int = 10, relevance: float = 1.0) -> NDArray[np.intp]:
        """Return the columns of the most relevant terms of every topic, best first.

        See `top_terms`, which returns the terms themselves.
        """
        if not isinstance(n, int | np.integer) or n < 1:
            raise DataError(f"n must be a whole number, at least 1. Got {n!r} instead.")
        if not 0 <= relevance <= 1:
            raise DataError(f"relevance must be in [0, 1]. Got {relevance!r} instead.")
        if relevance == 1:
            return np.stack([best_places(row, n) for row in self.topics])
        # A topic of size 0 may be the only one that has a term: lift is not inf.
        floor = np.finfo(np.float64).tiny
        background = np.log(np.maximum(self.term_frequencies(), floor))
        with np.errstate(divide="ignore"):
            rows = (np.log(row, dtype=np.float64) for row in self.topics)
            scores = (row - (1 - relevance) * background for row in rows)
            # What is equal but for rounding must be equal on every machine.
            return np.stack([best_places(np.round(score, 10), n) for score in scores])

    def top_terms(
        self, n: int = 10, relevance: float = 1.0
    ) -> tuple[tuple[str, ...], ...]:
        """Return the most relevant terms of every topic.

        Relevance is that of LDAvis: λ log p(w|k) + (1 - λ) log(p(w|k) / p(w)).

        Parameters
        ----------
        n : int, default=10
            Number of terms of a topic.
        relevance : float in [0, 1], default=1.0
            The λ above: 1 lists the most probable terms, smaller values prefer those
            that other topics do not have.

        Returns
        -------
        tuple of tuple of str
            Best first; equal ones in the order of the vocabulary. A term of
            probability 0 never comes before one that has more.

        References
        ----------
        Sievert and Shirley (2014), LDAvis: a method for visualizing and interpreting
        topics, https://doi.org/10.3115/v1/W14-3110
        """
        ids = self.top_term_ids(n, relevance)
        return tuple(tuple(self.vocabulary[i] for i in row) for row in ids.tolist())

    def name(self, topic: int) -> str:
        """Return the name given to a row of `topics`, or its three most telling terms.

        Terms are ranked with a relevance of 0.6 (see `top_terms`), so that words
        common to all topics are not in every name.
        """
        topic = row_of(topic, range(self.n_topics))
        if self.topic_names is not None and self.topic_names[topic]:
            return self.topic_names[topic]
        return ", ".join(self._marking_terms[topic])

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """Number of every row of `topics`: the row, but for topics being edited.

        A merge or a drop leaves a gap in the numbers until the topics are renumbered
        or saved.
        """
        return tuple(topic_numbers(self.settings.get("edits", ()), self.n_topics))

    def row(self, topic: int) -> int:
        """Return the row of `topics` that has a number."""
        return row_of(topic, self.numbers)

    @cached_property
    def _marking_terms(self) -> tuple[tuple[str, ...], ...]:
        return self.top_terms(3, relevance=NAME_RELEVANCE)

    def records(
        self, n_words: int = 10, relevance: float = 1.0
    ) -> list[dict[str, Any]]:
        """Return what a table says of every topic, largest first.

        Parameters
        ----------
        n_words : int, default=10
            Words per topic.
        relevance : float in [0, 1], default=1.0
            See `top_terms`.

        Examples
        --------
        >>> data = TopicData(topics=[[0.7, 0.3]], vocabulary=["cat", "pet"])
        >>> data.records()
        [{'topic': 0, 'share': 1.0, 'words': 'cat pet'}]
        """
        rows = []
        for found in self.topic_facts(n_words, relevance):
            row = {name: found[name] for name in ("topic", "share")}
            if "name" in found:
                row["name"] = found["name"]
            if "label" in found:
                row["main class"] = f"{found['label']} ({found['label_share']:.0%})"
            rows.append(row | {"words": " ".join(found["words"])})
        return rows

    def topic_facts(self, n_words: int, relevance: float) -> Iterator[dict[str, Any]]:
        """Yield what is known of every topic, largest first, for tables and programs.

        Entries are topic, share, words, name (if any topic has one) and label with
        label_share, its main class (if documents have labels).
        """
        sizes, words = self.topic_sizes(), self.top_terms(n_words, relevance)
        labelled = self.labels is not None and self.doc_topics is not None
        classes = self.main_classes() if labelled else ()
        for topic in np.argsort(-sizes, kind="stable").tolist():
            row = {
                "topic": self.numbers[topic],
                "share": float(sizes[topic]),
                "words": words[topic],
            }
            if self.topic_names is not None and any(self.topic_names):
                row["name"] = self.topic_names[topic]
            if classes:
                row["label"], row["label_share"] = classes[topic]
            yield row

    def _repr_html_(self) -> str:
        return html_table(self.records(), repr(self))

    def class_topics(self) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        """Return the classes and the mean mixture of the documents of each.

        The classes are in alphabetical order; documents without label are left out.
        """
        classes, sums, counts = self._class_sums("class_topics", None)
        return classes, sums / counts[:, None]

    def main_classes(self) -> tuple[tuple[str, float], ...]:
        """Return for every topic the class that has most of its tokens, and its share.

        The share is of the tokens of documents with a label; nothing is returned if no
        document has one.

        Examples
        --------
        >>> data = TopicData(topics=[[1.0]], vocabulary=["a"], labels=["x", "y"],
        ...     doc_topics=[[1.0], [1.0]], doc_lengths=[30, 10])
        >>> data.main_classes()
        (('x', 0.75),)
        """
        classes, tokens, _ = self._class_sums("main_classes", self.doc_lengths)
        if not classes:
            return ()
        shares = tokens.T / np.maximum(tokens.sum(axis=0)[:, None], 1e-300)
        best = shares.argmax(axis=1)
        return tuple((classes[c], float(shares[k, c])) for k, c in enumerate(best))

    def _class_sums(
        self, caller: str, weights: NDArray[Any] | None
    ) -> tuple[tuple[str, ...], NDArray[np.float64], NDArray[np.int64]]:
        """Return the classes, and the weighted mixtures and documents in each."""
        if self.labels is None or self.doc_topics is None:
            raise DataError(f"{caller} needs labels and doc_topics. Give both.")
        classes = tuple(sorted({label for label in self.labels if label is not None}))
        place = {label: i for i, label in enumerate(classes)}
        code = np.array(
            [place.get(x, -1) if x is not None else -1 for x in self.labels], int
        )
        mixtures = self.doc_topics[code >= 0]
        if weights is not None:
            mixtures = mixtures * np.asarray(weights, float)[code >= 0, None]
        code = code[code >= 0]
        sums = [np.bincount(code, column, len(classes)) for column in mixtures.T]
        return (
            classes,
            np.stack(sums, axis=1),
            np.bincount(code, minlength=len(classes)),
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the record to a ``.safetensors`` file, or to a folder; return the file.

        Parameters
        ----------
        path : str or path
            See `topicfold.persistence.write_bundle`.
        """
        content = {item.name: getattr(self, item.name) for item in fields(self)}
        return write_bundle(path, kind=KIND, **_pack(content))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a record written by `save`.

        Parameters
        ----------
        path : str or path
            The file, or the folder that has it.

        Raises
        ------
        ModelFileError
            If the file cannot be read, is damaged, or is not a `TopicData`.
        """
        bundle = read_bundle(path, kind=KIND)
        try:
            return cls(**_unpack(bundle))
        except (ValueError, TypeError, LookupError) as error:
            raise ModelFileError(
                f"{Path(path)} has no valid TopicData: {error}. Save it again, with "
                "this version of topicfold."
            ) from error


def _normalise(name: str, value: Any) -> Any:
    """Return the field in its one form, or raise TypeError or ValueError."""
    if name in ("topics", "doc_topics", "embeddings"):
        return _frozen(_numbers(value, "f"))
    if name == "doc_lengths":
        return _frozen(_numbers(value, "iuf"))
    if name == "times":
        array = np.asarray(value)
        if array.dtype.kind in "UO":
            array = array.astype("datetime64")
        return _frozen(array if array.dtype.kind == "M" else _numbers(array, "iuf"))
    if name == "history":
        return tuple(float(x) for x in value)
    if name == "sides":
        sides = tuple(value)
        if not all(isinstance(side, SideTable) for side in sides):
            raise TypeError("give a sequence of SideTable")
        return sides
    if name == "settings":
        return from_jsonable(to_jsonable(dict(value), "settings"))
    return _texts(value, optional=name == "labels")


def _numbers(value: Any, kinds: str) -> NDArray[Any]:
    """Return an array of one of the kinds of dtype; others become float64."""
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"its dtype is {array.dtype}; give numbers")
    if array.dtype.kind in kinds and array.dtype.itemsize <= 8:
        return array
    return array.astype(np.float64)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only array that nobody else can write to."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if array.flags.writeable or owner.flags.writeable:
        array = np.array(array, order="C")
        array.flags.writeable = False
    return array


def _texts(items: Iterable[Any], *, optional: bool) -> tuple[str | None, ...]:
    if isinstance(items, str):
        raise TypeError("it is one str, not a sequence of str")
    texts = tuple(items)
    for place, item in enumerate(texts):
        if not isinstance(item, str) and not (optional and item is None):
            raise TypeError(
                f"item {place} is {item!r}, of type {type(item).__name__}; use str"
                + (" or None" if optional else "")
            )
    return tuple(None if item is None else str(item) for item in texts)


def _problems(usable: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with fields in their one form, all of it."""
    topics, doc_topics = usable.get("topics"), usable.get("doc_topics")
    n_topics = n_terms = None
    if topics is not None:
        yield from simplex_problems("topics", topics)
        if topics.ndim == 2:
            n_topics, n_terms = topics.shape
            if topics.size == 0:
                yield f"topics are empty, of shape {topics.shape}"
    if doc_topics is not None:
        yield from simplex_problems("doc_topics", doc_topics)
        if doc_topics.ndim == 2 and n_topics not in (None, doc_topics.shape[1]):
            yield (
                f"doc_topics have {doc_topics.shape[1]} columns, but there are "
                f"{n_topics} topics"
            )
    for name, wanted in {"vocabulary": n_terms, "topic_names": n_topics}.items():
        if name in usable and wanted not in (None, len(usable[name])):
            yield f"{name} has {len(usable[name])} items; topics need {wanted}"
    for side in usable.get("sides", ()):
        if n_topics is not None and side.n_topics not in (None, n_topics):
            yield (
                f"the side table {side.name!r} has {side.n_topics} topics, but "
                f"there are {n_topics}"
            )
    first: dict[str, int] = {}
    repeated = [
        (term, place)
        for place, term in enumerate(usable.get("vocabulary", ()))
        if first.setdefault(term, place) != place
    ]
    if repeated:
        term, place = repeated[0]
        yield (
            f"vocabulary has {len(repeated)} repeated terms (first: {term!r} at "
            f"{first[term]} and {place}); merge their columns"
        )
    yield from _document_problems(usable)


def _document_problems(usable: Mapping[str, Any]) -> Iterator[str]:
    sizes = {}
    for name in _PER_DOCUMENT:
        value = usable.get(name)
        if name in ("doc_lengths", "times") and value is not None and value.ndim != 1:
            yield f"{name} must have one dimension, but has shape {value.shape}"
        # Never an array of texts: it has room for the longest in every place.
        elif isinstance(value, tuple) or (value is not None and value.ndim > 0):
            sizes[name] = len(value)
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{name} {size}" for name, size in sizes.items())
        yield f"the number of documents differs: {counts}"
    for side in usable.get("sides", ()):
        most = max(sizes.values(), default=0)
        if side.kind == "tree" or side.pairs is None:
            continue
        ends = (len(side.rows) if side.kind == "shares" else most), most
        pairs = side.pairs
        if ((pairs < 0) | (pairs >= ends)).any():
            yield f"the side table {side.name!r} links documents that do not exist"
    lengths, times = usable.get("doc_lengths"), usable.get("times")
    if lengths is not None and not ((lengths >= 0) & (lengths <= 1e30)).all():
        yield "doc_lengths must be numbers from 0 to 1e30"
    if times is not None and np.isinf(times).any():
        yield "times must be finite (NaN or NaT if unknown)"
    rows = usable.get("embeddings")
    if rows is not None and not (rows.ndim == 2 and np.isfinite(rows).all()):
        yield "embeddings must be finite numbers, a row for every document"


def _pack(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `write_bundle` for the fields of a `TopicData`."""
    given = {name: value for name, value in content.items() if value is not None}
    arrays = {name: given[name] for name in _ARRAY_FIELDS if name in given}
    arrays["history"] = np.array(given["history"], dtype=np.float64)
    strings = {name: given[name] for name in _TEXT_FIELDS if name in given}
    meta: dict[str, Any] = {"settings": given["settings"]}
    if "times" in given and given["times"].dtype.kind == "M":
        meta["times_dtype"] = given["times"].dtype.name
        arrays["times"] = given["times"].view(np.int64)
    if "labels" in given:
        strings["labels"] = [label or "" for label in given["labels"]]
        known = [label is not None for label in given["labels"]]
        arrays["labels_known"] = np.array(known, dtype=bool)
    if given.get("sides"):
        meta["sides"] = [
            _pack_side(number, side, arrays, strings)
            for number, side in enumerate(given["sides"])
        ]
    return {"arrays": arrays, "strings": strings, "meta": meta}


def _pack_side(
    number: int, side: SideTable, arrays: dict[str, Any], strings: dict[str, Any]
) -> dict[str, Any]:
    """Put the parts of a side table among arrays and strings; return its head."""
    for part in ("values", "errors", "pairs", "sizes"):
        if getattr(side, part) is not None:
            arrays[f"side{number}_{part}"] = getattr(side, part)
    if side.rows:
        strings[f"side{number}_rows"] = side.rows
    if side.terms:
        strings[f"side{number}_terms"] = [t for words in side.terms for t in words]
        sizes = [len(words) for words in side.terms]
        arrays[f"side{number}_lengths"] = np.array(sizes, dtype=np.int64)
    head = {name: getattr(side, name) for name in ("name", "kind", "note", "middle")}
    return {name: value for name, value in head.items() if value}


def _unpack_side(number: int, head: Any, content: dict[str, Any]) -> SideTable:
    """Take the parts of a side table out of the content of a file."""
    start = f"side{number}_"
    found = {
        name: content.pop(name) for name in list(content) if name.startswith(start)
    }
    parts = {name.removeprefix(start): value for name, value in found.items()}
    if "lengths" in parts:
        ends = np.cumsum(parts.pop("lengths")).tolist()
        words = parts.pop("terms", ())
        pairs = zip([0, *ends], ends, strict=False)
        parts["terms"] = [words[begin:end] for begin, end in pairs]
    return SideTable(
        name=str(head["name"]),
        kind=head["kind"],
        note=str(head.get("note", "")),
        middle=float(head.get("middle", 0.0)),
        **parts,
    )


def _unpack(bundle: Bundle) -> dict[str, Any]:
    """Return the fields in a file, ready for the constructor."""
    content: dict[str, Any] = {**bundle.arrays, **bundle.strings}
    content["history"] = bundle.arrays["history"].tolist()
    content["settings"] = bundle.meta["settings"]
    if "times_dtype" in bundle.meta:
        dtype = np.dtype(bundle.meta["times_dtype"])
        if dtype.kind != "M":
            raise ValueError(f"times cannot have the dtype {dtype}")
        content["times"] = bundle.arrays["times"].view(dtype)
    heads = bundle.meta.get("sides", [])
    content["sides"] = [_unpack_side(i, h, content) for i, h in enumerate(heads)]
    if "labels" in content:
        known = content.pop("labels_known").tolist()
        pairs = zip(content["labels"], known, strict=True)
        content["labels"] = [label if is_known else None for label, is_known in pairs]
    return content


def row_of(topic: Any, numbers: Sequence[int]) -> int:
    """Return the row of the topic with a number; of none an error says why."""
    if not isinstance(topic, int | np.integer) or isinstance(topic, bool):
        raise DataError(f"A topic is a whole number. Got {topic!r} instead.")
    if topic in numbers:
        return numbers.index(topic)
    if 0 <= topic < numbers[-1]:
        raise DataError(
            f"Topic {topic} no longer exists: it was merged into another one, or "
            "dropped."
        )
    last = f"; the last topic is {numbers[-1]}"
    if len(numbers) == numbers[-1] + 1:
        last = f"; topics are 0 to {numbers[-1]}"
    raise DataError(f"There is no topic {topic}{last}.")
