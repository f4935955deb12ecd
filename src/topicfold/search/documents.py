# SPDX-License-Identifier: BSD-3-Clause
"""What an index keeps of its documents: vectors, names and, if asked, counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.typing import Doubles
from topicfold.exceptions import DataError
from topicfold.search.ranking import longest_row


class DocumentStore:
    """Documents of an index; adding costs time in proportion to what is added.

    Attributes
    ----------
    ids : list of str or None
        Names of all documents; None if they are their rows.
    mass : ndarray of shape (n_components,)
        Sum of the absolute latent coordinates of all documents.
    longest : float
        Length of the longest vector.
    """

    def __init__(self, n_components: int, n_terms: int, *, counts: bool) -> None:
        self.n_components = n_components
        self.n_terms = n_terms
        self.keeps_counts = counts
        self.ids: list[str] | None = None
        self.mass = np.zeros(n_components)
        self.longest = 0.0
        self._vectors = np.empty((0, n_components), np.float32)
        self._size = 0
        self._parts: list[sparse.csr_matrix] = []
        self._rows: dict[str, int] = {}

    def __len__(self) -> int:
        return self._size

    @property
    def vectors(self) -> NDArray[np.float32]:
        """Stored vectors of all documents."""
        return self._vectors[: self._size]

    @property
    def counts(self) -> sparse.csr_matrix:
        """Counts of all documents."""
        if len(self._parts) != 1:
            self._parts = [sparse.csr_matrix(sparse.vstack(self._parts))]
        return self._parts[0]

    def append(
        self,
        vectors: NDArray[np.float32],
        mass: Doubles,
        ids: Sequence[str] | None,
        counts: Any,
    ) -> None:
        """Add documents; nothing is changed if they do not fit."""
        size = self._size + len(vectors)
        names = self._new_names(ids, len(vectors))
        if self.keeps_counts:
            self._parts.append(self._new_counts(counts, len(vectors)))
        if size > len(self._vectors):
            room = size * 5 // 4 if self._size else size
            grown = np.empty((room, self.n_components), np.float32)
            grown[: self._size] = self.vectors
            self._vectors = grown
        self._vectors[self._size : size] = vectors
        if names is not None:
            self._rows |= {name: self._size + i for i, name in enumerate(names)}
            self.ids = (self.ids or []) + names
        self._size = size
        self.longest = max(self.longest, longest_row(vectors))
        self.mass = self.mass + mass

    def names(self, rows: NDArray[np.int64]) -> tuple[str, ...]:
        """Return the names of documents."""
        ids = self.ids
        return tuple(str(row) if ids is None else ids[row] for row in rows.tolist())

    def find(self, document: Any) -> int:
        """Return the row of a document given by row or name."""
        if isinstance(document, str):
            if document in self._rows:
                return self._rows[document]
            if self.ids is not None or not (document.isascii() and document.isdigit()):
                raise DataError(f"there is no document {document!r} in the index.")
            document = int(document)
        if not isinstance(document, int | np.integer) or isinstance(document, bool):
            raise DataError(
                f"document is {document!r}. Give the row of a document, or its name."
            )
        if not 0 <= document < self._size:
            raise DataError(
                f"there is no document {document}; rows are 0 to {self._size - 1}."
            )
        return int(document)

    def check_vectors(self, vectors: Any) -> Doubles:
        """Return latent vectors as float64, or say what is wrong with them."""
        rows = np.asarray(vectors, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_components:
            raise DataError(
                f"vectors have shape {rows.shape}, but (n, {self.n_components}) is "
                "needed: what the model's transform returns."
            )
        if not np.isfinite(rows).all():
            raise DataError("vectors must be finite; check your array.")
        return rows

    def _new_names(self, ids: Sequence[str] | None, new: int) -> list[str] | None:
        if ids is None:
            if self.ids is None:
                return None
            raise DataError(
                "the documents so far have names. Give ids to the new ones."
            )
        if self.ids is None and self._size:
            raise DataError("the documents so far have no names. Leave out ids.")
        names = [str(name) for name in ids]
        if len(names) != new:
            raise DataError(f"ids has {len(names)} names for {new} documents.")
        for name, times in Counter(names).items():
            if times > 1 or name in self._rows:
                raise DataError(f"the name {name!r} occurs twice. Names must differ.")
        return names

    def _new_counts(self, counts: Any, new: int) -> sparse.csr_matrix:
        part = sparse.csr_matrix(counts, dtype=np.float32)
        if part.shape != (new, self.n_terms):
            raise DataError(
                f"X has shape {part.shape}, but ({new}, {self.n_terms}) is needed."
            )
        part.sum_duplicates()
        part.eliminate_zeros()
        return part
