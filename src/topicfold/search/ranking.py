# SPDX-License-Identifier: BSD-3-Clause
"""The best rows for a query: exact, and the same for any number of threads.

==========  ============================  ===================  ====================
measure     score of document d           what is stored       what is multiplied
==========  ============================  ===================  ====================
cosine      q·d / (|q| |d|), in [-1, 1]   d / |d|              q / |q|
inner       q·d                           d                    q
hellinger   Σ √(q_k d_k), in [0, 1]       √d                   √q
kl          -KL(q ‖ d), at most 0         log d                q
==========  ============================  ===================  ====================

Larger is better for all. ``Σ √(q d) = 1 - H²`` with the Hellinger distance H. For KL a
share ε = 10⁻³ of the uniform distribution is mixed into d, so that a document without
a topic of the query is far away but not infinitely. The last two are for distributions.

BLAS scores all rows in float32, a few bits off. The rows that may be among the best in
spite of that are scored again in float64, each by itself, and these scores count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.core.counts import best_places, nth_largest
from topicfold.core.tables import html_table, load_pandas, text_table
from topicfold.core.threads import blocks_of, one_blas_thread, run_ranges
from topicfold.core.typing import Array, Doubles
from topicfold.exceptions import DataError
from topicfold.models.lsi import LSI

Rows = NDArray[np.int64]
# Rows per call of BLAS; the cut does not depend on the number of threads.
_BLOCK = 1 << 15
# Rows in float64 at once: they stay in the cache.
_EXACT_BLOCK = 1 << 10


@dataclass(frozen=True, eq=False, repr=False)
class Hits:
    """What a query found, best first.

    Iterating gives pairs of name and score. Printed, it is a table; in a notebook too.

    Attributes
    ----------
    rows : ndarray of int64
        Rows of the documents in the index, or columns of the terms.
    scores : ndarray of float64
        Similarities; larger is better.
    names : tuple of str
        Names of the documents, or the terms.
    titles, snippets : tuple of str
        First lines of the documents, and passages with the words of the query; empty
        where the texts are not known.
    words : tuple of str
        Words of the query.
    note : str
        What became of words outside the vocabulary; empty if there are none.
    """

    rows: Rows
    scores: Doubles
    names: tuple[str, ...]
    titles: tuple[str, ...] = ()
    snippets: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    note: str = ""

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return zip(self.names, self.scores.tolist(), strict=True)

    def records(self) -> list[dict[str, Any]]:
        """Return a dictionary for every result, ready for ``pandas.DataFrame``."""
        columns: dict[str, Any] = {
            "rank": range(1, len(self) + 1),
            "document": self.names,
            "score": [round(score, 6) for score in self.scores.tolist()],
        }
        if self.titles:
            columns |= {"title": self.titles, "snippet": self.snippets}
        return [
            dict(zip(columns, row, strict=True))
            for row in zip(*columns.values(), strict=True)
        ]

    def to_frame(self) -> Any:
        """Return the results as a pandas data frame."""
        return load_pandas().DataFrame(self.records())

    def __repr__(self) -> str:
        table = text_table(self.records())
        return f"{self.note}\n{table}" if self.note else table

    def _repr_html_(self) -> str:
        from topicfold.search.words import marked

        rows = self.records()
        for row in rows:
            if "snippet" in row:
                row["snippet"] = marked(row["snippet"], self.words)
        return html_table(rows, self.note)


def find_best(
    vectors: NDArray[np.float32],
    query: Doubles,
    n: int,
    *,
    longest: float | None = None,
    skip: int = -1,
    threads: int = 1,
) -> tuple[Rows, Doubles]:
    """Return the `n` rows with the largest inner product but for `skip`, and these.

    Best first; equal products in the order of the rows. The rows are C-contiguous and
    finite, and none is longer than `longest`, which is found out if it is not given.
    """
    n = min(n, len(vectors) - (skip >= 0))
    if n <= 0:
        return np.empty(0, np.int64), np.empty(0)
    if longest is None:
        longest = longest_row(vectors)
    rough = _rough_scores(vectors, query, threads)
    if skip >= 0:
        rough[skip] = -np.inf
    # Rounding of the query, of k products and of their sum, twice: here and there.
    slack = (len(query) + 4) * (2.0**-22 * longest + 2.0**-148)
    floor = np.float32(nth_largest(rough, n) - slack)
    candidates = np.flatnonzero(rough >= np.nextafter(floor, np.float32(-np.inf)))
    scores = exact_scores(vectors, query, candidates)
    best = best_places(scores, n)
    return candidates[best], scores[best]


def exact_scores(
    vectors: NDArray[np.float32],
    query: Doubles,
    rows: NDArray[np.integer] | None = None,
    *,
    threads: int = 1,
) -> Doubles:
    """Return the inner products of all or of some rows with the query, in float64."""
    scores = np.empty(len(vectors) if rows is None else len(rows))

    def task(start: int, stop: int) -> None:
        for first in range(start, stop, _EXACT_BLOCK):
            part = slice(first, min(first + _EXACT_BLOCK, stop))
            block = vectors[part] if rows is None else vectors[rows[part]]
            # Not BLAS: a row's sum must not depend on the rows beside it.
            np.einsum("ij,j->i", block.astype(np.float64), query, out=scores[part])

    run_ranges(task, blocks_of(len(scores), _BLOCK), threads)
    return scores


def longest_row(vectors: NDArray[np.float32]) -> float:
    """Return at least the length of the longest row."""
    squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    return float(np.sqrt(squares.max(initial=0.0))) * (1 + 1e-9)


def _rough_scores(
    vectors: NDArray[np.float32], query: Doubles, threads: int
) -> NDArray[np.float32]:
    """Return the products with the query at length one, which cannot overflow."""
    largest = float(np.abs(query).max(initial=0.0))
    unit = query / largest if largest > 0 else query
    unit = (unit / max(float(np.linalg.norm(unit)), 1.0)).astype(np.float32)
    scores = np.empty(len(vectors), np.float32)

    def task(start: int, stop: int) -> None:
        np.matmul(vectors[start:stop], unit, out=scores[start:stop])

    with one_blas_thread():
        run_ranges(task, blocks_of(len(vectors), _BLOCK), threads)
    return scores


MEASURES = ("cosine", "inner", "hellinger", "kl")
KL_FLOOR = 1e-3
# Lengths of rows with as many as a million such entries fit in float32.
LARGEST = 1e35


def check_measure(measure: str | None, model: Any) -> str:
    """Return the measure, or the default of the kind of model."""
    if measure is None:
        return "cosine" if isinstance(model, LSI) else "hellinger"
    if measure not in MEASURES:
        raise DataError(
            f"measure={measure!r} is not known. Choose one of: {', '.join(MEASURES)}."
        )
    if measure in ("hellinger", "kl") and isinstance(model, LSI):
        raise DataError(
            f"measure={measure!r} compares distributions, but the model's vectors have "
            "negative entries. Choose cosine or inner."
        )
    return measure


def stored_form(vectors: Array, measure: str) -> NDArray[np.float32]:
    """Return latent vectors of documents as they are kept, row by row."""
    rows = np.asarray(vectors, dtype=np.float64)
    _check_sign(rows, measure)
    if measure == "cosine":
        rows = _unit_rows(rows)
    elif measure == "hellinger":
        rows = np.sqrt(rows)
    elif measure == "kl":
        rows = np.log((1 - KL_FLOOR) * rows + KL_FLOOR / rows.shape[1])
    if np.abs(rows).max(initial=0.0) > LARGEST:
        raise DataError(
            f"vectors have entries beyond {LARGEST:g}, too large for an index. Divide "
            "them by a constant, or choose cosine."
        )
    return np.ascontiguousarray(rows, dtype=np.float32)


def latent_form(stored: NDArray[np.float32], measure: str) -> Doubles:
    """Return a latent vector from its stored form, up to what the measure ignores."""
    row = stored.astype(np.float64)
    if measure == "hellinger":
        return row**2
    if measure == "kl":
        row = np.maximum(np.exp(row) - KL_FLOOR / len(row), 0.0)
        return np.asarray(row / row.sum())
    return row


def query_form(vector: Doubles, measure: str) -> tuple[Doubles, float]:
    """Return what documents are multiplied by, and what is added to the product."""
    vector = np.ascontiguousarray(vector, dtype=np.float64)
    _check_sign(vector, measure)
    if measure == "cosine":
        return _unit_rows(vector[None])[0], 0.0
    if measure == "hellinger":
        return np.sqrt(vector), 0.0
    if measure == "kl":
        positive = vector[vector > 0]
        return vector, -float((positive * np.log(positive)).sum())
    return vector, 0.0


def joint_shares(model: Any, mass: Doubles, columns: Any = slice(None)) -> Doubles:
    """Return p(k, w) up to a factor, a row per term; a `mass` of zeros means equal
    shares.
    """
    shares = mass if mass.any() else np.ones(len(mass))
    return np.asarray(model.components_[:, columns], dtype=np.float64).T * shares


def term_vectors(model: Any, mass: Doubles) -> Doubles:
    """Return the points of all terms: ``V Σ`` of LSI, or ``p(k|w)``, of no topic its
    shares.
    """
    if isinstance(model, LSI):
        return np.asarray(model.components_.T * model.singular_values_)
    joint = joint_shares(model, mass)
    joint[joint.sum(axis=1) <= 0] = mass if mass.any() else 1.0
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def _unit_rows(rows: Doubles) -> Doubles:
    """Return the rows at length one; zero rows stay zero."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def _check_sign(vectors: Doubles, measure: str) -> None:
    if measure in ("hellinger", "kl") and vectors.min(initial=0.0) < 0:
        raise DataError(
            f"measure={measure!r} compares distributions, but the vectors have "
            "negative entries. Give mixtures of topics, or choose cosine or inner."
        )
