# SPDX-License-Identifier: BSD-3-Clause
"""One corpus in one record: counts, words, and all that is known of the documents."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topicfold.core.counts import check_counts
from topicfold.core.tables import html_table
from topicfold.corpus.tokens import AUTO, stop_word_list, words_of
from topicfold.corpus.vectorizing import (
    TEXT_OPTIONS,
    Counted,
    count_words,
    repeated,
    vectorize,
)
from topicfold.exceptions import DataError

SPLITS = ("train", "val", "test")
_MOST_CLASSES = 1000
PER_DOCUMENT = ("labels", "ids", "texts", "split", "times")


class CountedDocuments:
    """What all corpora answer, wherever their counts are."""

    counts: Any
    labels: list[str] | None

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return int(self.counts.shape[0])

    @property
    def n_terms(self) -> int:
        """Number of words in the vocabulary."""
        return int(self.counts.shape[1])

    def encoded_labels(self) -> tuple[NDArray[np.int64], list[str]]:
        """Return labels as integers, -1 where unknown, and the class names.

        Returns
        -------
        y : int array of shape (n_documents,)
            Index into the class names; -1 for an empty label.
        classes : list of str
            The sorted class names.

        Examples
        --------
        >>> corpus = Corpus([[1], [2], [1]], ["a"], labels=["x", "", "b"])
        >>> corpus.encoded_labels()
        (array([ 1, -1,  0]), ['b', 'x'])
        """
        labels = [label.strip() for label in self.labels or [""] * self.n_documents]
        classes = sorted(set(labels) - {""})
        code = {label: number for number, label in enumerate(classes)}
        return np.array([code.get(label, -1) for label in labels], np.int64), classes


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Corpus(CountedDocuments):
    """Documents as counts, with what else is known about them.

    Construction checks that everything has one entry per document (or term) and
    collects all problems in one error. `counts` is stored as a canonical CSR matrix
    (sorted indices, no duplicates, no stored zeros), the rest as plain lists.

    Parameters
    ----------
    counts : sparse matrix of shape (n_documents, n_terms)
        Non-negative counts or weights.
    vocabulary : list of str
        The words, one per column, without repetition.
    labels : list of str, optional
        The class of each document; ``""`` (or None) means unknown.
    ids : list of str, optional
        A name for each document.
    texts : list of str, optional
        The raw text of each document.
    split : list of str, optional
        ``"train"``, ``"val"`` or ``"test"`` for each document.
    links : int array of shape (n_links, 2), optional
        Pairs of linked documents, zero-based.
    times : list of str, optional
        When each document was written, as its source has it.
    name : str, default=""
        Name of the corpus.
    text : mapping, optional
        Options of `vectorize` that made the counts, for new documents.
    extra : mapping of str to list of str, optional
        Other columns of the documents' table, by name; they are not written to files.

    Examples
    --------
    >>> texts = ["red fox", "red fish", "blue fish"]
    >>> corpus = Corpus.from_texts(texts, min_df=1, max_df=1.0)
    >>> corpus
    Corpus(3 documents, 4 terms)
    >>> corpus.select([0, 2]).counts.toarray()
    array([[0, 0, 1, 1],
           [1, 1, 0, 0]], dtype=int32)
    """

    counts: Any
    vocabulary: list[str]
    labels: list[str] | None = None
    ids: list[str] | None = None
    texts: list[str] | None = None
    split: list[str] | None = None
    links: NDArray[np.int64] | None = None
    times: list[str] | None = None
    name: str = ""
    text: Mapping[str, Any] | None = None
    extra: Mapping[str, list[str]] | None = None

    def __post_init__(self) -> None:
        counts = check_counts(self.counts, "counts")
        n_documents, n_terms = counts.shape
        words = _strings(self.vocabulary) or []
        problems = []
        if len(words) != n_terms:
            problems.append(f"vocabulary has {len(words)} words for {n_terms} columns")
        elif (twice := repeated(words)) is not None:
            problems.append(f"the word {twice!r} is in the vocabulary twice")
        store: dict[str, Any] = {"counts": counts, "vocabulary": words}
        store |= {field: _strings(getattr(self, field)) for field in PER_DOCUMENT}
        columns = {field: store[field] for field in PER_DOCUMENT}
        if self.extra is not None:
            store["extra"] = {name: _strings(x) or [] for name, x in self.extra.items()}
            columns |= {f"extra[{name!r}]": x for name, x in store["extra"].items()}
        problems += [
            f"{name} has {len(values)} entries for {n_documents} documents"
            for name, values in columns.items()
            if values is not None and len(values) != n_documents
        ]
        for row, value in enumerate(store["split"] or ()):
            if value not in SPLITS:
                problems.append(f"split[{row}] is {value!r}, not one of {SPLITS}")
                break
        store["links"], link_problems = _checked_links(self.links, n_documents)
        problems += link_problems
        if problems:
            raise DataError(
                f"the parts of corpus {self.name!r} do not match: "
                f"{'; '.join(problems)}. "
                "Give one entry per document (row of counts) and one word per column."
            )
        for field, value in store.items():
            object.__setattr__(self, field, value)

    def __repr__(self) -> str:
        parts = [f"{self.n_documents} documents", f"{self.n_terms} terms"]
        if self.labels is not None:
            parts.append(f"{len(self.encoded_labels()[1])} classes")
        name = f"{self.name!r}, " if self.name else ""
        return f"Corpus({name}{', '.join(parts)})"

    def _repr_html_(self) -> str:
        known = {"label": self.labels, "time": self.times}
        rows = []
        for row in range(min(5, self.n_documents)):
            shown: dict[str, Any] = {"document": self.ids[row] if self.ids else row}
            shown |= {name: v[row] for name, v in known.items() if v is not None}
            shown["words"] = int(self.counts[row].sum())
            if self.texts is not None:
                shown["text"] = " ".join(self.texts[row][:300].split())[:120]
            rows.append(shown)
        return html_table(rows, f"{self!r}; the first documents:")

    @classmethod
    def from_texts(
        cls,
        texts: Sequence[str],
        *,
        labels: Sequence[str] | None = None,
        ids: Sequence[str] | None = None,
        name: str = "",
        **options: Any,
    ) -> Corpus:
        """Count the words of `texts`; `options` go to `vectorize`.

        Parameters
        ----------
        texts : sequence of str
            One string per document.
        labels, ids : sequence of str, optional
            Class and name of each document.
        name : str, default=""
            Name of the corpus.
        **options
            Options of `topicfold.corpus.vectorize`.

        Returns
        -------
        Corpus
        """
        given = {k: v for k, v in options.items() if k in TEXT_OPTIONS}
        options["keep"] = [*options.get("keep", ()), *class_words(labels)]
        if options.get("vocabulary") is None:
            options.pop("vocabulary", None)
            counted = count_words(texts, **options)
        else:
            counted = Counted(*vectorize(texts, **options), {})
        return cls(
            counts=counted.counts,
            vocabulary=counted.vocabulary,
            labels=_strings(labels),
            ids=_strings(ids),
            texts=list(texts),
            name=name,
            text=given | counted.found,
        )

    def select(self, rows: ArrayLike | slice) -> Corpus:
        """Return the corpus of some documents, in the order asked for.

        The vocabulary stays as it is. Links stay where both ends are selected.

        Parameters
        ----------
        rows : int array, boolean mask or slice
            The documents; negative numbers count from the end.

        Returns
        -------
        Corpus
        """
        index = self._row_index(rows)
        changed: dict[str, Any] = {"counts": self.counts[index]}
        for field in PER_DOCUMENT:
            values = getattr(self, field)
            if values is not None:
                changed[field] = [values[row] for row in index]
        if self.extra is not None:
            changed["extra"] = {
                name: [values[row] for row in index]
                for name, values in self.extra.items()
            }
        if self.links is not None:
            if len(np.unique(index)) < len(index):
                raise DataError(
                    "select got a document twice, and links between copies of a "
                    "document have no meaning. Select each document once, or set "
                    "links=None first."
                )
            place = np.full(self.n_documents, -1, dtype=np.int64)
            place[index] = np.arange(len(index))
            links = place[self.links]
            changed["links"] = links[(links >= 0).all(axis=1)]
        return dataclasses.replace(self, **changed)

    def _row_index(self, rows: ArrayLike | slice) -> NDArray[np.int64]:
        every = np.arange(self.n_documents)
        if isinstance(rows, slice):
            return every[rows]
        index = np.asarray(rows)
        if index.size == 0 and index.ndim == 1:
            index = index.astype(np.int64)
        if index.ndim != 1 or index.dtype.kind not in "iub":
            raise DataError(
                f"rows has shape {index.shape} and type {index.dtype}. Give a list of "
                "row numbers, a boolean mask or a slice."
            )
        try:
            return every[index]
        except IndexError as error:
            raise DataError(
                f"rows does not fit a corpus of {self.n_documents} documents: {error}."
            ) from error


def class_words(labels: Iterable[Any] | None) -> list[str]:
    """Return the words in the names of classes, which counting never leaves out.

    Stop words are not among them, and none where nearly every document has a label of
    its own.
    """
    names = {str(label) for label in labels or () if label is not None}
    if len(names) > _MOST_CLASSES:
        return []
    ordinary = {*stop_word_list(AUTO)}
    return sorted({w for name in names for w in words_of(name)} - ordinary)


def _strings(values: Iterable[Any] | None) -> list[str] | None:
    if values is None:
        return None
    if isinstance(values, str):
        raise DataError("got one string where a list of strings is needed.")
    return ["" if value is None else str(value) for value in values]


def _checked_links(
    links: Any, n_documents: int
) -> tuple[NDArray[np.int64] | None, list[str]]:
    if links is None:
        return None, []
    pairs = np.asarray(links)
    if pairs.size == 0:
        return np.empty((0, 2), dtype=np.int64), []
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        return None, [
            f"links has shape {pairs.shape} and type {pairs.dtype}, not (m, 2) integers"
        ]
    bad = np.flatnonzero(((pairs < 0) | (pairs >= n_documents)).any(axis=1))
    if len(bad):
        return None, [
            f"links[{bad[0]}] = {pairs[bad[0]].tolist()} points outside the "
            f"{n_documents} documents"
        ]
    return pairs.astype(np.int64), []
