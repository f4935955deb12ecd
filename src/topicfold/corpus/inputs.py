# SPDX-License-Identifier: BSD-3-Clause
"""Documents in whatever form a person has them in Python.

A file, texts, a data frame (of pandas, Polars, Arrow), AnnData, lists of words, pairs
of word and count, or a matrix of counts: `as_documents` finds out which it is, and says
what to do if it is none of them.

Frames of pandas and Polars are read by their own methods; all else that has the Arrow
PyCapsule interface (tables of Arrow, relations of DuckDB, …) by pyarrow. narwhals
reads them all, but refuses a frame in which a name occurs twice, and has no type for
sparse columns of counts.

AnnData, the annotated matrix of single-cell biology: a cell is a document and a gene is
a word. Nothing of anndata is imported: all that has ``X``, ``layers``, ``obs``,
``var``, ``obsm`` and ``varm`` is taken.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.counts import check_counts
from topicfold.core.lazy import optional
from topicfold.core.parameters import level_of_caller
from topicfold.corpus.files import format_of, read
from topicfold.corpus.record import Corpus
from topicfold.corpus.tables import is_missing, kind_of
from topicfold.corpus.texts import TEXT_FORMATS, Texts, frame_texts, read_texts
from topicfold.exceptions import DataError, DataWarning


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
                "an AnnData object has counts and no texts, so text= has no meaning. "
                "Leave it out; layer= chooses the counts."
            )
        return as_documents(from_anndata(X, **named))
    frame = as_frame(X)
    if frame is not None:
        counts = None if "text" in named else frame.numbers()
        if counts is not None:
            words = frame.names if vocabulary is None else vocabulary
            return _of_counts(counts, words)
        return _of_texts(frame_texts(frame.names, frame.rows, **named))
    _refused(named, None)
    if hasattr(X, "to_pylist"):  # an array of Arrow
        X = X.to_pylist()
    if sparse.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "biuf"):
        return _of_counts(X, vocabulary)
    if isinstance(X, set | frozenset):
        raise DataError(
            "Documents in a set have no order, so that nothing else could be assigned "
            "to them. Give a list, such as sorted(documents)."
        )
    if isinstance(X, io.IOBase):
        file = getattr(X, "name", None)
        what, instead = "stream", "a list of texts"
        if isinstance(file, str):
            what, instead = "file", f"its name: {file!r}"
        raise DataError(f"Documents cannot be an open {what}. Give {instead}.")
    plain = isinstance(X, Iterable) and not isinstance(X, Mapping | bytes)
    items = list(X) if plain else None
    if not items:
        name = type(X).__name__
        problem = f"Documents cannot be of type {name}."
        if plain:
            problem = f"The {name} is empty."
        elif isinstance(X, Mapping) and X:
            problem += f" Did you mean list(documents.values()), or {_item(X)}?"
        raise DataError(
            f"{problem} Give a list of texts, a data frame, a matrix of counts or the "
            "name of a file."
        )
    return _of_items(items, vocabulary)


def _item(X: Mapping[Any, Any]) -> str:
    return f"one of them, such as documents[{next(iter(X))!r}]"


def _refused(named: Mapping[str, Any], found: Any) -> Any:
    """Refuse columns where there are none."""
    if "extra" in named:
        raise DataError(
            f"{named['extra'][0]!r} names a column, but the documents are not a file "
            "or data frame. Give the values themselves: one per document, or pairs of "
            "documents as links."
        )
    if named:
        raise DataError(
            f"{', '.join(named)} names a column, but the documents are not a file or "
            "data frame. Leave it out; labels are the second argument of fit, and "
            "over_time takes times."
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
    fields = ("texts", "labels", "ids", "times", "extra")
    return Documents(**{name: getattr(found, name) for name in fields})


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
    _refuse_names(items)
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
        _check_words(items)
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


def _refuse_names(items: list[Any]) -> None:
    """Refuse the names of files where texts are expected."""
    names = items[:3]
    if any(not isinstance(name, str | Path) or len(str(name)) > 250 for name in names):
        return
    if all(Path(name).suffix and Path(name).is_file() for name in names):
        raise DataError(
            f"the documents are names of files (first: {str(items[0])!r}). Give the "
            "name of their folder, or the texts: [Path(name).read_text() for name in "
            "names]."
        )


def _check_words(items: list[Any]) -> None:
    """Refuse lists of more than words, such as pairs of a text and its label."""
    problem = ""
    for place, item in enumerate(items):
        odd = next((word for word in item if not isinstance(word, str)), None)
        if odd is not None:
            problem = f"document {place} is a list of more than words ({kind_of(odd)})"
            break
    pairs = all(isinstance(item, tuple) and len(item) == 2 for item in items)
    if pairs and sum(item[0].count(" ") for item in items) >= 2 * len(items):
        problem = "the documents are pairs, such as a text and its label"
    if problem:
        raise DataError(
            f"{problem}. Give a string for every document; labels are the second "
            "argument: fit(texts, labels)."
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


class Frame(NamedTuple):
    """A data frame, whatever made it."""

    names: list[str]
    # The values of some columns, given by their places, row by row.
    rows: Callable[[Sequence[int]], Iterable[Sequence[Any]]]
    # All values, if they are numbers, else None.
    numbers: Callable[[], NDArray[Any] | None]


def as_frame(X: Any) -> Frame | None:
    """Return a data frame in one form; None if it is none.

    Examples
    --------
    >>> import pandas
    >>> frame = as_frame(pandas.DataFrame({"text": ["red fox"], "year": [1999]}))
    >>> frame.names, list(frame.rows([1, 0]))
    (['text', 'year'], [(1999, 'red fox')])
    >>> as_frame(["red fox"])
    """
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return _of_pandas(X)
    if hasattr(X, "collect_schema") and hasattr(X, "collect"):  # a lazy one of Polars
        X = X.collect()
    if hasattr(X, "iter_rows") and hasattr(X, "columns"):
        return _of_polars(X)
    # A column has the interface, too: of a table, its schema is a struct.
    is_table = hasattr(X, "column_names") or hasattr(X, "columns")
    if is_table and hasattr(X, "__arrow_c_stream__"):
        return _of_arrow(X)
    return None


def _of_pandas(frame: Any) -> Frame:
    def rows(places: Sequence[int]) -> Iterable[Sequence[Any]]:
        return frame.iloc[:, list(places)].itertuples(index=False, name=None)

    def numbers() -> NDArray[Any] | None:
        kinds = [getattr(dtype, "kind", "O") for dtype in frame.dtypes]
        counts = bool(kinds) and all(kind in "biuf" for kind in kinds)
        return np.asarray(frame) if counts else None

    return Frame([str(name) for name in frame.columns], rows, numbers)


def _of_polars(frame: Any) -> Frame:
    def rows(places: Sequence[int]) -> Iterable[Sequence[Any]]:
        names = [frame.columns[place] for place in places]
        return frame.select(names).iter_rows()

    def numbers() -> NDArray[Any] | None:
        kinds = list(frame.dtypes)
        counts = bool(kinds) and all(kind.is_numeric() for kind in kinds)
        return np.asarray(frame.to_numpy()) if counts else None

    return Frame(list(frame.columns), rows, numbers)


def _of_arrow(frame: Any) -> Frame:
    pyarrow = optional(
        "pyarrow", "Tables of Arrow need pyarrow", "'topicfold[parquet]'"
    )
    table = pyarrow.RecordBatchReader.from_stream(frame).read_all()

    def rows(places: Sequence[int]) -> Iterable[Sequence[Any]]:
        columns = [table.column(place).to_pylist() for place in places]
        return zip(*columns, strict=True)

    def numbers() -> NDArray[Any] | None:
        is_whole, is_float = pyarrow.types.is_integer, pyarrow.types.is_floating
        counts = all(is_whole(kind) or is_float(kind) for kind in table.schema.types)
        columns = [column.to_numpy() for column in table.columns] if counts else []
        return np.column_stack(columns) if columns else None

    return Frame(list(table.column_names), rows, numbers)


_PARTS = ("X", "layers", "obs", "var", "obsm", "varm")
# The layer that usually has the counts once X is normalised.
_COUNTS = "counts"


def is_anndata(value: Any) -> bool:
    """Tell whether something is an AnnData object, or looks like one."""
    return all(hasattr(value, part) for part in _PARTS)


def from_anndata(
    data: Any,
    *,
    layer: str | None = None,
    label: str | None = None,
    time: str | None = None,
    id: str | None = None,
    extra: Sequence[str] = (),
) -> Corpus:
    """Return the counts of an AnnData object as a corpus.

    Parameters
    ----------
    data : AnnData
        Cells × genes.
    layer : str, optional
        Layer with the counts, or "X"; by default the layer "counts" if there is one,
        else ``data.X``.
    label, time, id : str, optional
        Columns of ``data.obs`` with the class, the time and the name of a cell; by
        default cells have no class and no time, and the names are ``data.obs_names``.
    extra : sequence of str, optional
        Other columns of ``data.obs`` to keep.

    Returns
    -------
    Corpus
        Its words are ``data.var_names``.

    See Also
    --------
    to_anndata : The way back, for topics.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> names = {"obs_names": ["cell1", "cell2"], "var_names": ["gene1", "gene2"]}
    >>> parts = {"layers": {}, "obs": {}, "var": {}, "obsm": {}, "varm": {}}
    >>> from_anndata(SimpleNamespace(X=[[3, 0], [1, 2]], **names, **parts))
    Corpus(2 documents, 2 terms)
    """
    layers = list(data.layers)
    if layer is None:
        layer = _COUNTS if _COUNTS in layers else "X"
    if layer != "X" and layer not in layers:
        there = ", ".join(["'X'", *map(repr, layers)])
        raise DataError(f"there is no layer {layer!r}. Give one of {there}.")
    values = data.X if layer == "X" else data.layers[layer]
    if hasattr(values, "to_memory"):  # of a file that is only opened
        values = values.to_memory()
    where = "X of the AnnData object" if layer == "X" else f"the layer {layer!r}"
    advice = "Give the layer with the counts, such as layer='counts'."
    counts = check_counts(values, where, advice=advice)
    if counts.dtype.kind == "f" and (counts.data != np.rint(counts.data)).any():
        warnings.warn(
            f"{where} holds weights instead of whole counts. If they are normalised or "
            f"logarithms, topics are better learned from counts. {advice}",
            DataWarning,
            stacklevel=level_of_caller(),
        )
    named = {"labels": label, "times": time, "ids": id}
    known: dict[str, Any] = {"ids": [str(name) for name in data.obs_names]}
    known |= {field: _column(data, name) for field, name in named.items() if name}
    if extra:
        known["extra"] = {name: _column(data, name) for name in extra}
    return Corpus(counts, [str(name) for name in data.var_names], **known)


def to_anndata(data: Any, topics: Any, *, key: str = "topics") -> None:
    """Store topics in the AnnData object that they were learned from.

    ``data.obsm["X_topics"]`` gets the mixtures, a row per cell, as scanpy's plots and
    neighbours use them; ``data.varm["topics"]`` the topics, a row per gene.

    Parameters
    ----------
    data : AnnData
        The object that the model was fitted on; it is changed.
    topics : Topics, TopicData or estimator
        What was fitted.
    key : str, default="topics"
        The name in ``varm``, and with ``X_`` before it in ``obsm``.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from topicfold import LDA
    >>> X = [[3, 0], [1, 2], [0, 4]]
    >>> cells = SimpleNamespace(shape=(3, 2), obsm={}, varm={})
    >>> to_anndata(cells, LDA(2, random_state=0).fit(X))
    >>> cells.obsm["X_topics"].shape, cells.varm["topics"].shape
    ((3, 2), (2, 2))
    """
    record = getattr(topics, "data_", topics)
    mixtures = getattr(record, "doc_topics_", getattr(record, "doc_topics", None))
    words = getattr(record, "components_", getattr(record, "topics", None))
    if mixtures is None or words is None:
        raise DataError(
            "fitted topics are needed, with the mixtures of their documents. Got a "
            f"{type(topics).__name__} instead."
        )
    shape = len(mixtures), np.shape(words)[1]
    if tuple(data.shape) != shape:
        raise DataError(
            f"the topics are of {shape[0]} documents and {shape[1]} words, and the "
            f"AnnData object has {data.shape[0]} cells and {data.shape[1]} genes. Give "
            "the one that the model was fitted on."
        )
    data.obsm[f"X_{key}"] = np.array(mixtures)
    data.varm[key] = np.array(words).T


def _column(data: Any, name: str) -> list[str]:
    """Return a column of what is known of the cells; "" where it is missing."""
    columns = [str(column) for column in data.obs]
    if name not in columns:
        shown = ", ".join(map(repr, columns[:12])) or "none"
        raise DataError(f"obs has no column {name!r}. It has {shown}.")
    values = list(data.obs[name])
    return ["" if v is None or v != v else str(v) for v in values]
