# SPDX-License-Identifier: BSD-3-Clause
"""What a model learned besides topics and mixtures, in one of six small forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from topicfold.exceptions import DataError

Kind = Literal["shares", "effects", "terms", "links", "correlations", "tree"]


@dataclass(frozen=True, kw_only=True, eq=False)
class SideTable:
    """A table beside the topics: of authors, effects, seed words, languages or links.

    Parameters
    ----------
    name : str
        What it is of, such as "authors".
    kind : {"shares", "effects", "terms", "links", "correlations", "tree"}
        "shares": mixtures of topics of some `rows`; "effects": numbers of `rows` ×
        topics, with standard `errors` where they are known; "terms": a list of words
        of every topic; "links": pairs of documents; "correlations": of topics with
        each other; "tree": the topics are nodes, the `rows` their numbers.
    rows : sequence of str, default=()
        Names of the rows of `values`.
    values, errors : array of shape (n_rows, n_topics), optional
        The numbers and their standard errors.
    terms : sequence of sequence of str, default=()
        Words of every topic.
    pairs : array of int of shape (n_pairs, 2), optional
        Numbers of documents that belong together; of "shares", a row and a document; of
        "tree", a parent and its child.
    sizes : array of int of shape (n_rows,), optional
        Documents of every row.
    note : str, default=""
        What the numbers mean, in a sentence. Tables of kind "terms" with the same note,
        such as "words through time", are shown next to each other.
    middle : float, default=0.0
        The value that means no effect, 0 of a difference and 1 of a ratio.

    Raises
    ------
    DataError
        If the parts do not fit the kind or each other.

    Examples
    --------
    >>> from topicfold.core.side_table import SideTable
    >>> table = SideTable(name="authors", kind="shares", rows=["Ann", "Bob"],
    ...     values=[[0.9, 0.1], [0.2, 0.8]])
    >>> table.values.shape
    (2, 2)
    """

    name: str
    kind: Kind
    rows: tuple[str, ...] = ()
    values: NDArray[Any] | None = None
    errors: NDArray[Any] | None = None
    terms: tuple[tuple[str, ...], ...] = ()
    pairs: NDArray[np.int64] | None = None
    sizes: NDArray[np.int64] | None = None
    note: str = ""
    middle: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise DataError(
                f"A side table is one of {', '.join(get_args(Kind))}, not "
                f"{self.kind!r}."
            )
        put = object.__setattr__
        put(self, "rows", tuple(str(row) for row in self.rows))
        terms = tuple(tuple(str(term) for term in words) for words in self.terms)
        put(self, "terms", terms)
        for name in ("values", "errors"):
            if getattr(self, name) is not None:
                array = np.array(getattr(self, name), dtype=np.float32)
                put(self, name, array)
                self._check_numbers(name, array)
        if self.kind not in ("terms", "links", "tree") and self.values is None:
            raise DataError(f"The side table {self.name!r} lacks its values.")
        if self.sizes is not None:
            sizes = np.array(self.sizes, dtype=np.int64)
            put(self, "sizes", sizes)
            if sizes.shape != (len(self.rows),):
                raise DataError(
                    f"sizes of the side table {self.name!r} have the shape "
                    f"{sizes.shape}, but there are {len(self.rows)} rows."
                )
        if self.kind in ("links", "tree") or self.pairs is not None:
            pairs = np.array(self.pairs, dtype=np.int64).reshape(-1, 2)
            put(self, "pairs", pairs)
        if self.kind == "tree":
            self._check_tree()

    def _check_tree(self) -> None:
        """Refuse what is not a tree: node 0 the root, a parent before its children."""
        assert self.pairs is not None
        parents, children = self.pairs.T
        others = np.arange(1, len(self.rows))
        if not np.array_equal(np.sort(children), others) or (parents < 0).any():
            raise DataError(
                f"Every row of the tree {self.name!r} but the first must have one "
                "parent."
            )
        if (parents >= children).any():
            raise DataError(f"The tree {self.name!r} has a node before its parent.")

    def _check_numbers(self, name: str, array: NDArray[np.float32]) -> None:
        wanted = (len(self.rows),) if self.values is None else self.values.shape
        if array.ndim != 2 or array.shape[:1] != (len(self.rows),):
            raise DataError(
                f"{name} of the side table {self.name!r} have the shape "
                f"{array.shape}, but there are {len(self.rows)} rows."
            )
        if array.shape != wanted or not np.isfinite(array).all():
            raise DataError(
                f"{name} of the side table {self.name!r} must be finite, of the shape "
                "of its values."
            )

    @property
    def n_topics(self) -> int | None:
        """Topics that the table is about; None if it is about documents."""
        if self.values is not None:
            return int(self.values.shape[1])
        if self.kind == "tree":
            return len(self.rows)
        return len(self.terms) if self.kind == "terms" else None
