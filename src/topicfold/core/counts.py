# SPDX-License-Identifier: BSD-3-Clause
"""The one check of matrices: counts from files and from callers, rows on the simplex.

Compiled code trusts the arrays of a sparse matrix: a row pointer that falls or an index
beyond the columns makes it read and write foreign memory. So every sparse array from
outside passes `checked_csr` (raw arrays of a file) or `check_structure` (a matrix that
a caller built) before SciPy or a kernel works with it. `check_counts` also checks the
values and brings a matrix into canonical form. What a model refuses or warns of is here
too: things that are no counts, values, and documents without words.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Number
from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from topicfold.core.parameters import level_of_caller
from topicfold.core.threads import (
    balanced_ranges,
    blocks_of,
    even_ranges,
    one_blas_thread,
    run_in_order,
    run_ranges,
)
from topicfold.exceptions import DataError, EmptyDocumentWarning

_NUMBERS = "biuf"
# Beyond these, sums of float64 lose single tokens and float32 overflows or vanishes.
SMALLEST_COUNT, LARGEST_COUNT = 1e-30, 1e15
# Rows of a tall dense product per call of BLAS, for any number of threads.
_CHUNK = 4096
# Rows whose columns are summed at a time.
_ROWS_SUMMED = 16384
_RANGES_PER_THREAD = 2  # a product with one vector is short
# Words of a text, fewer than which make it short, and texts to rate that by.
SHORT_TEXT, TEXTS_TO_RATE = 20, 100
_FILE_ADVICE = "The file is damaged; write or copy it again."
_MATRIX_ADVICE = (
    "Build it again with scipy.sparse.csr_matrix((values, (rows, columns)), shape)."
)
_NO_MATRIX = (
    "Give a sparse or dense matrix with one row per document and one column per term."
)
_COUNTS_ADVICE = "Counts or other non-negative weights are needed."
# Lines that started a search over many fits, and were warned of empty documents.
_SEARCHES: set[tuple[str, int]] = set()


def checked_csr(
    data: Any,
    indices: Any,
    indptr: Any,
    shape: Any,
    source: str,
    *,
    signed: bool = False,
    advice: str = _FILE_ADVICE,
    error: type[Exception] = DataError,
) -> sparse.csr_matrix:
    """Return the CSR matrix of raw arrays that were checked before SciPy sees them.

    `source`, the file or argument, begins an error message and `advice` ends it; NaN
    and infinity are always refused, negative values unless `signed`.
    """
    arrays = {"data": data, "indices": indices, "indptr": indptr}
    problem = _types_problem(arrays) or _shape_problem(shape)
    if problem is None:
        n_rows, n_columns = (int(size) for size in shape)
        problem = _compressed_problem(indices, indptr, n_rows, n_columns, len(data))
    if problem is not None:
        raise error(f"{source} {problem}. {advice}")
    index = np.int32 if max(n_columns, len(data)) < 2**31 else np.int64
    matrix = sparse.csr_matrix(
        (data, indices.astype(index, copy=False), indptr.astype(index, copy=False)),
        shape=(n_rows, n_columns),
    )
    found = bad_values(matrix, signed=signed)
    if found:
        raise error(f"{source} has {found}. {advice}")
    return matrix


def check_structure(X: Any, name: str, threads: int = 1) -> None:
    """Raise if the arrays of a sparse matrix, of any format, lead outside of it."""
    if X.ndim != 2:
        raise DataError(f"{name} has {X.ndim} dimensions. {_NO_MATRIX}")
    problem = None
    if X.format in ("csr", "csc", "bsr"):
        blocks = X.blocksize if X.format == "bsr" else (1, 1)
        n_rows, n_columns = (n // b for n, b in zip(X.shape, blocks, strict=True))
        row, column = "row", "column"
        if X.format == "csc":
            n_rows, n_columns, row, column = n_columns, n_rows, column, row
        parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
        if X.format == "bsr":  # its values have three dimensions
            del parts["data"]
        problem = _types_problem(parts)
        problem = problem or _compressed_problem(
            X.indices, X.indptr, n_rows, n_columns, len(X.data), row, column, threads
        )
    elif X.format == "coo":
        problem = _coordinates_problem(X)
    else:  # lists, keys and diagonals are Python objects, and SciPy converts them
        check_structure(X.tocsr(), name)
    if problem is not None:
        raise DataError(f"{name} {problem}. {_MATRIX_ADVICE}")


def check_counts(
    X: Any, name: str, *, dtype: DTypeLike | None = None, advice: str = _COUNTS_ADVICE
) -> sparse.csr_matrix:
    """Return a matrix of counts as canonical CSR, or say what is wrong with it.

    Indices are sorted, repeated entries are summed and stored zeros are left out; X
    itself is never changed. `name` begins the error message, `advice` ends it.
    """
    if sparse.issparse(X):
        check_structure(X, name)
    else:
        X = _dense(X, name)
    if X.dtype.kind not in _NUMBERS:
        raise DataError(f"{name} is not a matrix of numbers ({X.dtype}). {_NO_MATRIX}")
    matrix = as_csr(X)
    found = bad_values(matrix)
    if found:
        raise DataError(f"{name} has {found}. {advice}")
    matrix = canonical(matrix)
    # What SciPy has added up while it converted is as wide as the sums needed.
    return _narrowed(matrix, X.dtype) if dtype is None else matrix.astype(dtype)


def as_csr(X: Any) -> sparse.csr_matrix:
    """Return a matrix as CSR in native byte order; its values are not checked.

    SciPy adds up repeated entries while it converts, and even in ``astype``, in the
    type of the values. So they are widened first: 200 + 100 is 300 in uint8 too.
    """
    if not sparse.issparse(X):
        X = np.asarray(X)
        return sparse.csr_matrix(X.astype(X.dtype.newbyteorder("="), copy=False))
    if X.format in ("lil", "dok", "dia"):  # they have no repeated entries
        return sparse.csr_matrix(X)
    if X.format != "csr":
        return sparse.csr_matrix(X.astype(_wide_type(X.data), copy=False))
    return _with_type(sparse.csr_matrix(X), X.dtype.newbyteorder("="))


def _with_type(matrix: sparse.csr_matrix, dtype: np.dtype) -> sparse.csr_matrix:
    """Return the matrix with values of another type, repeated entries as they are."""
    if matrix.dtype == dtype:
        return matrix
    parts = matrix.data.astype(dtype), matrix.indices, matrix.indptr
    return sparse.csr_matrix(parts, matrix.shape)


def _wide_type(values: NDArray[Any]) -> np.dtype:
    """Return a type that holds the sum of all values."""
    if values.dtype.kind == "f":
        return values.dtype.newbyteorder("=")
    total = float(np.abs(values.astype(np.float64)).sum())
    return np.dtype(np.int64 if total < 2.0**62 else np.float64)


def _narrowed(matrix: sparse.csr_matrix, own: np.dtype) -> sparse.csr_matrix:
    """Return sums in the type that values had, or the next that holds them."""
    if matrix.dtype.kind != "i" or own.kind not in "biu":
        return matrix
    most = int(matrix.data.max(initial=0))
    for dtype in (own.newbyteorder("="), np.dtype(np.int32)):
        if most <= (1 if dtype.kind == "b" else np.iinfo(dtype).max):
            return matrix.astype(dtype, copy=False)
    return matrix


def rows_of(
    X: sparse.csr_matrix, start: int, stop: int, data: Any = None, indices: Any = None
) -> sparse.csr_matrix:
    """Return rows ``start..stop`` without copying; `data` and `indices` replace X's."""
    lo, hi = X.indptr[start], X.indptr[stop]
    data = X.data if data is None else data
    indices = X.indices if indices is None else indices
    pointers = X.indptr[start : stop + 1] - lo
    return sparse.csr_matrix(
        (data[lo:hi], indices[lo:hi], pointers), shape=(stop - start, X.shape[1])
    )


class SparseRows:
    """A CSR matrix in float64, cut into rows for threads, to be multiplied.

    A row has one owner: the product is the same for any number of threads, and a row's
    does not depend on the rows beside it.
    """

    def __init__(self, X: sparse.csr_matrix, threads: int = 1) -> None:
        self.shape: tuple[int, int] = X.shape
        self.n_products = 0
        self._threads = threads
        data = X.data.astype(np.float64, copy=False)
        n_ranges = 1 if threads == 1 else threads * _RANGES_PER_THREAD
        self._parts = {
            (start, stop): rows_of(X, start, stop, data)
            for start, stop in balanced_ranges(X.indptr, n_ranges)
        }

    def __matmul__(self, dense: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the product with a vector or a block of them."""
        self.n_products += 1
        if len(self._parts) == 1:
            return np.asarray(next(iter(self._parts.values())) @ dense)
        out = np.empty((self.shape[0], *dense.shape[1:]))

        def task(start: int, stop: int) -> None:
            out[start:stop] = self._parts[start, stop] @ dense

        run_ranges(task, list(self._parts), self._threads)
        return out


def only_rows(X: Any, rows: NDArray[np.integer]) -> sparse.csr_matrix:
    """Return counts of which only some rows (rising) are left, the others empty."""
    part = sparse.csr_matrix(X[rows])
    sizes = np.zeros(X.shape[0], part.indptr.dtype)
    sizes[rows] = np.diff(part.indptr)
    indptr = np.r_[part.indptr[:1], np.cumsum(sizes, dtype=part.indptr.dtype)]
    return sparse.csr_matrix((part.data, part.indices, indptr), X.shape)


def tall_product(left: Any, right: Any, threads: int) -> NDArray[Any]:
    """Return ``left @ right`` of many rows, the same bits for any number of threads."""
    if len(left) <= _CHUNK:
        return np.asarray(left @ right)
    out = np.empty((left.shape[0], right.shape[1]), np.result_type(left, right))

    def task(start: int, stop: int) -> None:
        np.matmul(left[start:stop], right, out=out[start:stop])

    run_ranges(task, blocks_of(len(left), _CHUNK), threads)
    return out


def row_sums(X: Any, threads: int = 1) -> NDArray[np.float64]:
    """``X.sum(axis=1)`` in float64, by several threads."""
    if threads == 1 or not isinstance(X, sparse.csr_matrix):
        return np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
    sums = np.empty(X.shape[0])

    def add(start: int, stop: int) -> None:
        rows = rows_of(X, start, stop)
        sums[start:stop] = np.asarray(rows.sum(axis=1, dtype=np.float64)).ravel()

    run_ranges(add, balanced_ranges(X.indptr, threads), threads)
    return sums


def column_sums(X: Any, threads: int = 1) -> NDArray[np.float64]:
    """``X.sum(axis=0)``, the same bits for any number of threads.

    In blocks of rows, whose sums are added up in float64: SciPy adds up float32 in
    float32, which would lose tokens of frequent words.
    """
    n_rows = X.shape[0]
    if not isinstance(X, sparse.csr_matrix) or n_rows <= _ROWS_SUMMED:
        return np.asarray(X.sum(axis=0, dtype=np.float64)).ravel()

    blocks = blocks_of(n_rows, _ROWS_SUMMED)

    def add(block: int) -> NDArray[np.float64]:
        rows = rows_of(X, *blocks[block])
        return np.asarray(rows.sum(axis=0, dtype=np.float64)).ravel()

    total = np.zeros(X.shape[1])
    for sums in run_in_order(add, len(blocks), threads):
        total += sums
    return total


def weighted_sum(
    weights: NDArray[np.float64], rows: NDArray[Any], threads: int = 1
) -> NDArray[np.float64]:
    """``weights @ rows`` in float64, of many rows, which may be on disk."""
    starts = range(0, len(rows), _CHUNK)
    parts = np.empty((len(starts), rows.shape[1]))

    def add(start: int, stop: int) -> None:
        for part in range(start, stop):
            own = slice(starts[part], starts[part] + _CHUNK)
            parts[part] = weights[own] @ rows[own]

    with one_blas_thread():
        run_ranges(add, even_ranges(len(parts), threads), threads)
    return np.asarray(parts.sum(axis=0))


def smooth_idf(X: Any) -> NDArray[np.float64]:
    """Return ``ln((1 + D) / (1 + df)) + 1`` of every term, as scikit-learn's tf-idf."""
    return np.log((1 + X.shape[0]) / (1 + document_frequencies(X))) + 1.0


def document_frequencies(X: Any) -> NDArray[np.integer]:
    """Return in how many documents each term is; a corpus in blocks has it stored."""
    known: Any = getattr(X, "document_frequencies", None)
    return np.bincount(X.indices, minlength=X.shape[1]) if known is None else known


def extremes(array: NDArray[Any], threads: int = 1) -> tuple[Any, Any]:
    """Return the smallest and the largest entry; both are NaN if there is a NaN."""
    found: list[tuple[Any, Any]] = []

    def look(start: int, stop: int) -> None:
        found.append((array[start:stop].min(), array[start:stop].max()))

    run_ranges(look, even_ranges(len(array), threads), threads)
    lows, highs = zip(*found, strict=True)
    return np.min(lows), np.max(highs)


def canonical(matrix: sparse.csr_matrix, threads: int = 1) -> sparse.csr_matrix:
    """Return a matrix with sorted indices, no repeated entries and no stored zeros."""
    kinds = {matrix.indices.dtype, matrix.indptr.dtype}
    if kinds not in ({np.dtype(np.int32)}, {np.dtype(np.int64)}):
        # Kernels are compiled for these two; SciPy brings others to one of them.
        parts = matrix.data, matrix.indices, matrix.indptr
        matrix = sparse.csr_matrix(parts, matrix.shape)
    clean: list[bool] = []

    def look(start: int, stop: int) -> None:
        whole = (start, stop) == (0, matrix.shape[0])
        rows = matrix if whole else rows_of(matrix, start, stop)
        clean.append(rows.has_canonical_format and bool(rows.data.all()))

    run_ranges(look, balanced_ranges(matrix.indptr, threads), threads)
    if all(clean):
        matrix.has_canonical_format = True
        return matrix
    own = matrix.dtype.newbyteorder("=")
    matrix = _with_type(matrix, own).copy()
    matrix.sort_indices()
    if not matrix.has_canonical_format:
        matrix = _with_type(matrix, _wide_type(matrix.data))
        matrix.sum_duplicates()
        matrix = _narrowed(matrix, own)
    matrix.eliminate_zeros()
    return matrix


def bad_values(matrix: Any, *, signed: bool = False, threads: int = 1) -> str:
    """Return which values are NaN, infinite or negative and where; "" if none is."""
    data = matrix.data
    if not data.size or data.dtype.kind == "b":
        return ""
    # Two passes without a temporary array; a NaN makes both comparisons false.
    low, high = extremes(data.ravel(), threads)
    if (signed or low >= 0) and np.isfinite(low) and np.isfinite(high):
        return ""
    kinds = {"NaN": np.isnan(data), "infinite": np.isinf(data)}
    if not signed:
        kinds["negative"] = data < 0
    found = []
    for what, wrong in kinds.items():
        n_wrong = int(np.count_nonzero(wrong))
        if n_wrong:
            at = int(np.argmax(wrong))
            row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
            entries = "entry" if n_wrong == 1 else "entries"
            found.append(
                f"{n_wrong} {what} {entries} (first at row {row}, column "
                f"{int(matrix.indices[at])})"
            )
    return " and ".join(found)


def check_range(X: sparse.csr_matrix, name: str = "X", threads: int = 1) -> None:
    """Refuse values whose sums or logarithms would overflow, vanish or lose tokens."""
    if not X.nnz:
        return
    low, high = extremes(X.data, threads)
    if low >= SMALLEST_COUNT and high <= LARGEST_COUNT:
        return
    for wrong in (X.data.argmax(), X.data.argmin()):
        if not SMALLEST_COUNT <= X.data[wrong] <= LARGEST_COUNT:
            row = int(np.searchsorted(X.indptr, wrong, side="right")) - 1
            raise DataError(
                f"{name} has the value {X.data[wrong]:.3g} (row {row}, column "
                f"{X.indices[wrong]}), but the models accept counts and weights from "
                f"{SMALLEST_COUNT:g} to {LARGEST_COUNT:g}. Scale the values, so that "
                "the largest is 1."
            )


def check_not_empty(X: sparse.csr_matrix, allow_empty: bool) -> None:
    """Refuse counts that are all zero, unless that is allowed."""
    if X.nnz == 0 and not allow_empty:
        raise DataError(
            f"The counts ({X.shape[0]} documents × {X.shape[1]} terms) have no "
            "non-zero entry. Check the vectoriser: min_df, max_df or the stop words "
            "may have removed every word."
        )


def refuse_other(X: Any) -> None:
    """Refuse texts, dates and masks, which are no counts or would pass for some."""
    if X is None or isinstance(X, Mapping | Iterator):
        raise DataError(
            f"X is {'None' if X is None else 'a ' + type(X).__name__}, but one matrix "
            "of word counts is needed: expected a 2D array, documents × words."
        )
    if np.ma.is_masked(X):
        raise DataError(
            "X has masked entries, which models cannot leave out. Fill them first: "
            "X.filled(0)."
        )
    if hasattr(X, "iter_rows") and hasattr(X, "schema"):  # of Polars
        for column, dtype in X.schema.items():
            if not dtype.is_numeric():
                _refuse_column(column, X[column][0] if len(X) else str(dtype))
        return
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        for place, (column, dtype) in enumerate(zip(X.columns, X.dtypes, strict=True)):
            if dtype.kind in "OMm" and len(X) and not _is_number(X.iloc[0, place]):
                _refuse_column(column, X.iloc[0, place])
        return
    if getattr(getattr(X, "dtype", None), "kind", "") in ("M", "m"):
        raise DataError("X holds dates or times. Give a matrix of word counts.")
    first = X
    if isinstance(X, np.ndarray):
        first = X.flat[0] if X.size and X.dtype.kind in "OU" else None
    elif isinstance(X, list | tuple):
        first = X[0] if X else None
    elif np.ndim(X) == 1 and len(X) and not sparse.issparse(X):  # a column of a table
        first = next(iter(X))
    if isinstance(first, str):
        raise DataError(
            "X holds strings, but a matrix of word counts is needed. Turn texts into "
            "counts first: sklearn.feature_extraction.text.CountVectorizer()"
            ".fit_transform(texts). topicfold.Topics takes texts as they are."
        )
    inner = first[0] if isinstance(first, list | tuple) and first else None
    if isinstance(inner, str):
        raise DataError(
            "X holds lists of words, but a matrix of word counts is needed. Count them "
            "with topicfold.corpus.vectorize(map(' '.join, X), tokens='spaces'), or "
            "give them to topicfold.Topics as they are."
        )
    if isinstance(inner, tuple) and len(inner) == 2:
        raise DataError(
            "X holds pairs of word and count, as gensim has them, but a matrix is "
            "needed. Convert them with gensim.matutils.corpus2csc(X, "
            "num_terms=len(dictionary)).T."
        )


def _refuse_column(name: Any, value: Any) -> NoReturn:
    raise DataError(
        f"The column {name!r} of X holds {value!r}, but a matrix of word counts is "
        "needed. Leave it out, or give the table to topicfold.Topics, which takes "
        "texts as they are."
    )


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, Number | np.bool_)


def check_values(X: sparse.csr_matrix, name: str, threads: int) -> None:
    """Refuse values that a model cannot learn from; `name` is the model's class."""
    found = bad_values(X, threads=threads)
    if "negative" in found:
        raise DataError(
            f"Negative values in data passed to {name}: X has {found}. {name} needs "
            "counts or other non-negative weights."
        )
    if found:
        raise DataError(
            f"Input X contains NaN or infinity: X has {found}. Replace or remove them "
            "before fitting."
        )


# A prior that was learned, or what else is known of a document, may say more.
WITHOUT_WORDS = "mixture that is expected without words (uniform in most models)"


def warn_empty(X: sparse.csr_matrix, instead: str = WITHOUT_WORDS) -> None:
    """Say once that documents have no word, and what they get."""
    empty = np.flatnonzero(np.diff(X.indptr) == 0)
    if len(empty) and X.shape[0] > 0 and not _said_in_search():
        warnings.warn(
            empty_sentence(empty.tolist(), X.shape[0], instead),
            EmptyDocumentWarning,
            stacklevel=level_of_caller(),
        )


def empty_sentence(empty: Sequence[int], n_documents: int, instead: str) -> str:
    """Return the sentence about documents that have no word, and what they get."""
    if len(empty) == 1:
        told = f"has no word (row {empty[0]}, counted from 0); it gets"
    else:
        told = f"have no word (first: row {empty[0]}, counted from 0); they get"
    return f"{len(empty)} of {n_documents} documents {told} the {instead}."


@contextmanager
def already_warned(*also: type[Warning]) -> Iterator[None]:
    """Keep a model inside another from warning again of empty documents, and `also`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyDocumentWarning)
        for category in also:
            warnings.simplefilter("ignore", category)
        yield


def _said_in_search() -> bool:
    """Whether a search or validation over many fits has warned of this before.

    Every split of a corpus has other empty documents; the line that started the search
    is told once.
    """
    frame, searching = sys._getframe(1), False
    while frame is not None:
        room = frame.f_globals.get("__name__", "")
        searching = searching or room.startswith("sklearn.model_selection")
        if searching and not room.startswith(("sklearn", "joblib", "topicfold")):
            break
        frame = frame.f_back  # type: ignore[assignment]
    if not searching:
        return False
    place = ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
    known = place in _SEARCHES
    _SEARCHES.add(place)
    return known


def _types_problem(arrays: dict[str, Any]) -> str | None:
    for name, array in arrays.items():
        kinds = _NUMBERS if name == "data" else "iu"
        wanted = "real numbers" if name == "data" else "whole numbers"
        if not isinstance(array, np.ndarray) or array.ndim != 1:
            return f"has an array {name} that is not one-dimensional"
        if array.dtype.kind not in kinds:
            return f"has an array {name} of type {array.dtype} instead of {wanted}"
    return None


def _shape_problem(shape: Any) -> str | None:
    sizes = np.asarray(shape)
    if sizes.shape != (2,) or sizes.dtype.kind not in "iu" or (sizes < 0).any():
        return f"has the shape {shape}, which is not a number of rows and of columns"
    return None


def check_words(
    names: Sequence[str], words: Sequence[str], who: str, what: str = "X"
) -> None:
    """Refuse columns that have other words than in the fit."""
    different = [w for w, (a, b) in enumerate(zip(names, words)) if a != b]  # noqa: B905
    if different:
        column = different[0]
        raise DataError(
            f"The words of {what} are not those that {who} was fitted with: column "
            f"{column} is {words[column]!r}, not {names[column]!r}. Vectorise with the "
            "vocabulary of the fit."
        )


def _compressed_problem(
    indices: NDArray[Any],
    indptr: NDArray[Any],
    n_rows: int,
    n_columns: int,
    n_values: int,
    row: str = "row",
    column: str = "column",
    threads: int = 1,
) -> str | None:
    """Say what is wrong with row pointers and indices; CSC swaps the two words."""
    if len(indptr) != n_rows + 1:
        return f"has {len(indptr)} {row} pointers (indptr) for {n_rows} {row}s"
    if indptr[0] != 0:
        return f"has {row} pointers (indptr) that start at {indptr[0]} instead of 0"
    falling = indptr[1:] < indptr[:-1]
    if falling.any():
        at = int(np.argmax(falling))
        return f"has {row} pointers (indptr) that fall at {row} {at}"
    if not int(indptr[-1]) == len(indices) == n_values:
        return (
            f"has {row} pointers (indptr) that end at {indptr[-1]} for {n_values} "
            f"values and {len(indices)} indices"
        )
    low, high = extremes(indices, threads) if len(indices) else (0, -1)
    if low < 0 or high >= n_columns:
        at = int(np.argmax((indices < 0) | (indices >= n_columns)))
        place = int(np.searchsorted(indptr, at, side="right")) - 1
        return (
            f"has an entry in {column} {indices[at]} of {row} {place}, but only "
            f"{n_columns} {column}s"
        )
    return None


def _coordinates_problem(X: Any) -> str | None:
    for places, size, what in zip(
        (X.row, X.col), X.shape, ("row", "column"), strict=True
    ):
        if len(places) != len(X.data):
            return f"has {len(places)} {what} numbers for {len(X.data)} values"
        if len(places) and not 0 <= places.min() <= places.max() < size:
            at = int(np.argmax((places < 0) | (places >= size)))
            return f"has the {what} {places[at]}, but {size} {what}s"
    return None


def _dense(X: Any, name: str) -> NDArray[Any]:
    try:
        array = np.asarray(X)
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name} is not a matrix of numbers ({error}). {_NO_MATRIX}"
        ) from error
    if array.ndim != 2:
        raise DataError(f"{name} has {array.ndim} dimensions. {_NO_MATRIX}")
    return array


# How far a row may be from sum 1: float32 rows of many entries add up to that.
SIMPLEX_TOLERANCE = 1e-3
# Learned parameters of Dirichlet priors do not fall below this.
SMALLEST_PRIOR = 1e-4


class OuterSum:
    """The matrix ``documents[:, None] + topics`` that is only made where it is used."""

    def __init__(
        self, documents: NDArray[np.floating], topics: NDArray[np.floating]
    ) -> None:
        self.documents = documents
        self.topics = topics

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, rows: slice) -> OuterSum:
        return OuterSum(self.documents[rows], self.topics)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.topics + self.documents[:, None], dtype=dtype)


def pair_counts(
    rows: NDArray[np.integer], columns: NDArray[np.integer], shape: tuple[int, ...]
) -> NDArray[np.int64]:
    """Return how often each row and column occur together, a table of this shape."""
    codes = np.multiply(rows, shape[1], dtype=np.int64) + columns
    return np.bincount(codes, minlength=shape[0] * shape[1]).reshape(shape)


def normalize_rows(array: NDArray[np.floating]) -> NDArray[np.floating]:
    """Divide rows by their sums in place; a row of zeros becomes uniform."""
    totals = array.sum(axis=1, dtype=np.float64, keepdims=True)
    empty = totals.ravel() <= 0
    np.divide(array, np.where(totals > 0, totals, 1.0), out=array, casting="same_kind")
    array[empty] = 1.0 / array.shape[1]
    return array


def simplex_problems(name: str, array: NDArray[Any]) -> Iterator[str]:
    """Yield what keeps the rows of an array from being distributions."""
    if array.ndim != 2:
        yield f"{name} must have two dimensions, but has shape {array.shape}"
        return
    for what, bad in {"not finite": ~np.isfinite(array), "negative": array < 0}.items():
        if bad.any():
            row, column = np.argwhere(bad)[0].tolist()
            yield (
                f"{name} has entries that are {what}: {np.count_nonzero(bad)} (first "
                f"at row {row}, column {column}); give probabilities"
            )
    with np.errstate(invalid="ignore", over="ignore"):
        sums = array.sum(axis=1, dtype=np.float64)
        # Rows that are not finite have already been reported.
        far = np.abs(sums - 1) > SIMPLEX_TOLERANCE
        wrong = np.flatnonzero(np.isfinite(sums) & far)
    if array.shape[1] and wrong.size:
        yield (
            f"{name} has rows that do not sum to 1: {wrong.size} (row {wrong[0]} "
            f"sums to {sums[wrong[0]]:.6g}); divide every row by its sum"
        )


# Tokens up to which sums of counts are exact.
LARGEST_TOTAL = 2.0**53


def token_words(
    X: sparse.csr_matrix, number: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return where each document's tokens are, and their words; `number` is X's."""
    total = float(X.data.sum(dtype=np.float64))
    too_many = DataError(
        f"The counts have {total:,.0f} tokens, and a list of all of them does not fit "
        "into memory. Divide the counts, or leave out the longest documents."
    )
    if total > LARGEST_TOTAL:  # whole numbers would overflow
        raise too_many
    try:
        counts = X.data.astype(np.int64)
        words = np.repeat(number, counts)
    except MemoryError as error:
        raise too_many from error
    ends = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=ends[1:])
    return ends[X.indptr], words


# Scores of which only the largest enters the first selection.
_GROUP = 64


def best_places(scores: NDArray[Any], n: int) -> NDArray[np.intp]:
    """Return the places of the `n` best scores, best first; ties in their order."""
    n = min(n, len(scores))
    if n <= 0:
        return np.empty(0, np.intp)
    candidates = np.flatnonzero(scores >= nth_largest(scores, n))
    return candidates[np.argsort(-scores[candidates], kind="stable")[:n]]


def nth_largest(scores: NDArray[Any], n: int) -> float:
    """Return the n-th largest score; the largest of groups rule out most others."""
    width = len(scores) // _GROUP
    if width >= n:
        peaks = scores[: width * _GROUP].reshape(_GROUP, width).max(axis=0)
        scores = scores[scores >= np.partition(peaks, width - n)[width - n]]
    return float(np.partition(scores, len(scores) - n)[len(scores) - n])


def words_if_short(counts: Any) -> float | None:
    """Return the mean number of words where texts are short, so that LDA is weak."""
    words = counts.sum() / max(counts.shape[0], 1)
    return words if words < SHORT_TEXT and counts.shape[0] >= TEXTS_TO_RATE else None
