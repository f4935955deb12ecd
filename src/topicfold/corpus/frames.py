# SPDX-License-Identifier: BSD-3-Clause
"""Data frames of any library: names of columns, and values by row.

pandas and Polars are asked in their own words; all else that has the Arrow PyCapsule
interface (tables of Arrow, relations of DuckDB, …) is read by pyarrow. narwhals, which
has them all in one form, refuses a frame in which any name occurs twice, and has no
type for sparse columns of counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicfold.core.lazy import optional


class Frame(NamedTuple):
    """A data frame, whatever made it."""

    names: list[str]
    # The values of some columns, given by their places, row by row.
    rows: Callable[[Sequence[int]], Iterable[Sequence[Any]]]
    is_counts: Callable[[], bool]
    matrix: Callable[[], NDArray[Any]]


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

    kinds = [getattr(dtype, "kind", "O") for dtype in frame.dtypes]
    return Frame(
        [str(name) for name in frame.columns],
        rows,
        lambda: bool(kinds) and all(kind in "biuf" for kind in kinds),
        lambda: np.asarray(frame),
    )


def _of_polars(frame: Any) -> Frame:
    def rows(places: Sequence[int]) -> Iterable[Sequence[Any]]:
        names = [frame.columns[place] for place in places]
        return frame.select(names).iter_rows()

    kinds = list(frame.dtypes)
    return Frame(
        list(frame.columns),
        rows,
        lambda: bool(kinds) and all(kind.is_numeric() for kind in kinds),
        lambda: np.asarray(frame.to_numpy()),
    )


def _of_arrow(frame: Any) -> Frame:
    pyarrow = optional(
        "pyarrow", "Tables of Arrow need pyarrow", "'topicfold[parquet]'"
    )
    table = pyarrow.RecordBatchReader.from_stream(frame).read_all()

    def rows(places: Sequence[int]) -> Iterable[Sequence[Any]]:
        columns = [table.column(place).to_pylist() for place in places]
        return zip(*columns, strict=True)

    def is_number(kind: Any) -> bool:
        types = pyarrow.types
        return types.is_integer(kind) or types.is_floating(kind)

    return Frame(
        list(table.column_names),
        rows,
        lambda: bool(table.num_columns) and all(map(is_number, table.schema.types)),
        lambda: np.column_stack([column.to_numpy() for column in table.columns]),
    )
