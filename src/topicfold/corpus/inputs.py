# SPDX-License-Identifier: BSD-3-Clause
"""Documents in whatever form a person has them in Python.

A file, texts, a data frame (of pandas, Polars, Arrow), AnnData, lists of words, pairs
of word and count, or a matrix of counts: `as_documents` finds out which it is, and says
what to do if it is none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from topicfold.core.counts import check_counts
from topicfold.corpus.anndata import from_anndata, is_anndata
from topicfold.corpus.columns import is_missing, kind_of
from topicfold.corpus.files import format_of, read
from topicfold.corpus.frames import as_frame
from topicfold.corpus.texts import TEXT_FORMATS, Texts, frame_texts, read_texts
from topicfold.exceptions import DataError


class Documents(NamedTuple):
    """Documents as texts or as counts, with what else is known of them."""

    texts: list[str] | None = None
    counts: Any = None
    vocabulary: list[str] | None = None
    labels: list[str] | None = None
    ids: list[str] | None = None
    times: list[str] | None = None
    text: Mapping[str, Any] | None = None
    name: str = ""
    extra: Mapping[str, list[str]] | None = None
    embeddings: Any = None

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return int(self.counts.shape[0]) if self.texts is None else len(self.texts)


def as_documents(
    X: Any, *, vocabulary: Any = None, columns: Mapping[str, Any] | None = None
) -> Documents:
    """Return documents of any form in one.

    A string is the name of a file or folder. `vocabulary` has the words of the columns
    of a matrix, or of the numbers of gensim's pairs; `columns` those of a file or data
    frame, as in `read_texts`: text, label, id, time, and others to keep (extra); of an
    Excel file also its sheet, of a file its format, of AnnData the layer.

    Examples
    --------
    >>> as_documents(["red fox", "blue sea"]).texts
    ['red fox', 'blue sea']
    >>> as_documents([["red", "fox"], ["new york"]]).texts
    ['red fox', 'new_york']
    """
    named = {
        name: value for name, value in (columns or {}).items() if value is not None
    }
    for name, owner, is_owner in (
        ("format", "a file", isinstance(X, str | Path)),
        ("sheet", "an Excel file", isinstance(X, str | Path)),
        ("layer", "an AnnData object", is_anndata(X)),
    ):
        if name in named and not is_owner:
            raise DataError(
                f"{name} applies to {owner}, and X is not one. Leave it out."
            )
    if isinstance(X, str | Path):
        return _of_path(X, named)
    if hasattr(X, "counts") and hasattr(X, "vocabulary"):  # a Corpus
        fields: dict[str, Any] = {f: getattr(X, f, None) for f in Documents._fields}
        return _refused(named, Documents(**fields | {"name": X.name}))
    if is_anndata(X):
        if "text" in named:
            raise DataError(
                "an AnnData object has counts and no texts, so text cannot be named. "
                "Leave it out; layer= chooses the counts."
            )
        return as_documents(from_anndata(X, **named))
    frame = as_frame(X)
    if frame is not None:
        if frame.is_counts() and "text" not in named:
            words = frame.names if vocabulary is None else vocabulary
            return _of_counts(frame.matrix(), words)
        return _of_texts(frame_texts(frame.names, frame.rows, **named))
    _refused(named, None)
    if hasattr(X, "to_pylist"):  # an array of Arrow
        X = X.to_pylist()
    if sparse.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "biuf"):
        return _of_counts(X, vocabulary)
    plain = isinstance(X, Iterable) and not isinstance(X, Mapping | bytes)
    items = list(X) if plain else None
    if not items:
        name = type(X).__name__
        problem = f"Documents cannot be of type {name}."
        if plain:
            problem = f"The {name} is empty."
        raise DataError(
            f"{problem} Give a list of texts, a data frame, a matrix of counts or the "
            "name of a file."
        )
    return _of_items(items, vocabulary)


def _refused(named: Mapping[str, Any], found: Any) -> Any:
    """Refuse columns where there are none."""
    if "extra" in named:
        raise DataError(
            f"{named['extra'][0]!r} names a column, but the documents are not a file "
            "or data frame. Give the values themselves, one per document."
        )
    if named:
        raise DataError(
            f"{', '.join(named)} names a column, but the documents are not a file or "
            "data frame. Leave it out; labels are the second argument of fit."
        )
    return found


def _of_path(path: str | Path, named: dict[str, Any]) -> Documents:
    place = Path(path)
    try:
        there = place.exists()
    except OSError:  # a whole text is longer than a name may be
        there = False
    if not there:
        raise DataError(
            f"there is no file or folder {str(path)[:80]!r}. Texts are given as a "
            "list, one string per document."
        )
    kind = named.pop("format", None) or format_of(place)
    if kind in TEXT_FORMATS:
        found = read_texts(place, format=kind, **named)
        return _of_texts(found)._replace(name=place.stem)
    return as_documents(read(place, format=kind), columns=named)


def _of_texts(found: Texts) -> Documents:
    known = Documents(found.texts, labels=found.labels, ids=found.ids)
    return known._replace(times=found.times, extra=found.extra)


def _of_counts(X: Any, vocabulary: Any) -> Documents:
    if np.ndim(X) > 2:
        raise DataError(
            f"an array of shape {np.shape(X)} is not a matrix of counts. Give one row "
            "per document, one column per word."
        )
    counts = check_counts(X, "the matrix of counts")
    words = [f"w{column}" for column in range(counts.shape[1])]
    if vocabulary is not None:
        words = _words(vocabulary)
    if len(words) != counts.shape[1]:
        raise DataError(
            f"the matrix has {counts.shape[1]} columns, and vocabulary has "
            f"{len(words)} words. Give one word per column."
        )
    return Documents(counts=counts, vocabulary=words)


def _of_items(items: list[Any], vocabulary: Any) -> Documents:
    if all(isinstance(item, str) for item in items):
        return Documents(items)
    good = str if isinstance(items[0], str) else list | tuple | np.ndarray
    wrong = next((n for n, x in enumerate(items) if not isinstance(x, good)), None)
    if wrong is not None:
        found = items[wrong]
        what = "missing" if is_missing(found) else kind_of(found)
        raise DataError(
            f'document {wrong} is {what}. Give a string for every document, "" for an '
            "empty one."
        )
    first = next((item[0] for item in items if len(item)), "")
    if isinstance(first, str):
        texts = [" ".join(word.replace(" ", "_") for word in item) for item in items]
        return Documents(texts, text={"tokens": "spaces"})
    if isinstance(first, list | tuple | np.ndarray) and len(first) == 2:
        return _of_pairs(items, vocabulary)
    if isinstance(first, int | float | np.number):
        return _of_counts(np.asarray(items), vocabulary)
    raise DataError(
        f"the documents contain {kind_of(first)}. Give texts, lists of words, or "
        "a matrix of counts."
    )


def _of_pairs(items: list[Any], vocabulary: Any) -> Documents:
    """Return the documents of gensim's pairs of word and count."""
    words = None if vocabulary is None else _words(vocabulary)
    rows = np.repeat(np.arange(len(items)), [len(item) for item in items])
    pairs = np.array([pair for item in items for pair in item], dtype=float)
    width = int(pairs[:, 0].max()) + 1 if words is None else len(words)
    if pairs[:, 0].max() >= width:
        raise DataError(
            f"there is a word number {pairs[:, 0].max():.0f}, and the vocabulary has "
            f"{width} words. Give the dictionary that made these pairs."
        )
    entries = (pairs[:, 1], (rows, pairs[:, 0].astype(int)))
    return _of_counts(sparse.csr_matrix(entries, shape=(len(items), width)), words)


def _words(vocabulary: Any) -> list[str]:
    numbers = getattr(vocabulary, "token2id", None)  # a Dictionary of gensim
    if numbers is not None:
        return sorted(numbers, key=numbers.__getitem__)
    if isinstance(vocabulary, Mapping):  # CountVectorizer().vocabulary_
        return sorted(vocabulary, key=vocabulary.__getitem__)
    return [str(word) for word in vocabulary]
