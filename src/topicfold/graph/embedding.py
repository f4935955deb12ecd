# SPDX-License-Identifier: BSD-3-Clause
"""Documents near by their embeddings, and encoders that make these of texts.

Rows of embeddings become unit rows, so that products are cosines. Up to `EXACT`
documents every pair is compared; beyond, the documents lie in cells (spherical k-means)
and neighbours are searched in the cells nearest to a document. Products in float32
choose candidates, those in float64 order them: neighbours do not depend on the other
documents of a batch, nor on threads.

An encoder is any object with a method ``encode(texts)``, as sentence-transformers,
model2vec and others have it, or a function of the texts. None is a dependency and
nothing is downloaded.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from topicfold.core.jit import kernel
from topicfold.core.parameters import warn_caller, whole_number
from topicfold.core.threads import blocks_of, n_threads, one_blas_thread, run_ranges
from topicfold.exceptions import DataError

Rows = NDArray[np.float32]
EXACT = 10_000  # documents up to which all pairs are compared
CELL_SIZE, PROBES = 300, 10  # documents of a cell, cells that are searched
ROUNDS, PER_CELL = 8, 60  # of k-means; documents of its sample per cell
BLOCK = 512  # rows of a product; fixed, as a sum's order may depend on it
MORE = 2  # candidates for each neighbour
LARGEST = 1e15  # of a number in an embedding: squares stay finite in float32
SAME_VECTOR = 0.9  # cosine of two vectors of a text, by an encoder and its copy
GRID = 2.0**-20  # similarities are told apart as finely as this


def check_embeddings(
    embeddings: Any, n_documents: int | None, n_dimensions: int | None = None
) -> Rows:
    """Return unit rows of embeddings (D, n), or say what is wrong with them.

    `n_documents` and `n_dimensions` of None take any. A row of zeros stays so: it says
    nothing about its document.
    """
    if isinstance(embeddings, str | Path):
        raise DataError(
            f"embeddings is the name {str(embeddings)!r}. Give the vectors themselves, "
            f"such as embeddings=numpy.load({str(embeddings)!r})."
        )
    try:
        rows = _table(embeddings)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(
            f"embeddings are not a table of numbers: {_reason(embeddings, error)}. "
            "Give an array of shape (documents, dimensions)."
        ) from error
    if rows.dtype.kind == "U":
        raise DataError(
            "embeddings are texts. Give the vectors that an encoder makes of them, or "
            "Topics(encoder=encoder), which makes them itself."
        )
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":
        raise DataError(
            f"embeddings have the shape {rows.shape} and the type {rows.dtype}. Give "
            "an array of real numbers of shape (documents, dimensions)."
        )
    if n_documents is not None and len(rows) != n_documents:
        raise DataError(
            f"there are {len(rows)} embeddings for {n_documents} documents. Give one "
            "row per document, in their order."
        )
    if n_dimensions is not None and rows.shape[1] != n_dimensions:
        raise DataError(
            f"embeddings have {rows.shape[1]} dimensions, in fit they had "
            f"{n_dimensions}. Give those of the same encoder to both."
        )
    if not rows.shape[1]:
        raise DataError("embeddings have no dimensions. Give at least one column.")
    if rows.dtype != np.float64:
        rows = rows.astype(np.float32)
    bad = ~(np.abs(rows) <= LARGEST).all(axis=1)  # NaN too
    if bad.any():
        raise DataError(
            f"embeddings have NaN, infinity or a number beyond {LARGEST:g} in "
            f"{int(bad.sum())} rows (first: row {int(np.argmax(bad))}). Encode those "
            "documents again, or give rows of zeros for them."
        )
    rows = rows.astype(np.float32, copy=False)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    rows /= np.where(largest > 0, largest, 1.0)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows /= np.where(lengths > 0, lengths, 1.0)
    return rows


def _table(embeddings: Any) -> NDArray[Any]:
    """Return an array of what has rows, as a copy: also a column of a data frame."""
    if sp.issparse(embeddings):
        embeddings = embeddings.toarray()
    if hasattr(embeddings, "detach"):  # a tensor, perhaps on a device or in bfloat16
        embeddings = embeddings.detach().cpu().float()
    if isinstance(embeddings, np.ma.MaskedArray):  # what is masked is not known
        embeddings = np.ma.filled(embeddings.astype(np.float64), np.nan)
    table = np.asarray(embeddings)
    if table.dtype != object:
        return np.array(table)
    if not table.ndim:
        raise TypeError(f"they are of the type {type(embeddings).__name__}")
    return np.array(list(table), dtype=np.float64)


def _reason(embeddings: Any, error: Exception) -> str:
    """Return why something is not a table: two rows are unlike, or what was raised."""
    rows = embeddings if isinstance(embeddings, list | tuple) else ()
    sizes = [
        f"{len(row)} numbers"
        if isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim)
        else f"the type {type(row).__name__}"
        for row in rows
    ]
    for number, size in enumerate(sizes):
        if size != sizes[0]:
            return f"row 0 has {sizes[0]}, row {number} has {size}"
    return str(error)


class EmbeddingIndex:
    """Documents in which those nearest by embedding are searched.

    Parameters
    ----------
    embeddings : array-like of shape (n_documents, n_dimensions)
        A row per document.

    Notes
    -----
    Exact up to 10,000 documents; beyond, neighbours outside of the ten cells nearest to
    a document are missed. Time O(D² n) and then about O(D · 3000 · n); memory that of
    the embeddings in float32, and of D · 200 numbers.

    Examples
    --------
    >>> index = EmbeddingIndex([[1, 0], [0, 1], [1, 1]])
    >>> index.query([[3, 1]], 2)[0].tolist()
    [[0, 2]]
    """

    of_words = False

    def __init__(self, embeddings: Any) -> None:
        self.rows_ = check_embeddings(embeddings, None)
        if not self.rows_.any():
            raise DataError(
                "all embeddings are zeros, so they say nothing about the documents. "
                "Leave them out, or check what the encoder returned."
            )
        self.n_documents = len(self.rows_)

    def query(
        self,
        embeddings: Any = None,
        n_neighbors: int = 10,
        *,
        n_jobs: int | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the nearest documents, nearest first, and their cosines.

        Parameters
        ----------
        embeddings : array-like of shape (n_queries, n_dimensions) or None, default=None
            None asks for the neighbours of the index documents, without themselves.
        n_neighbors : int, default=10
            Neighbours per document; cut to those there are.
        n_jobs : int or None, default=None
            Threads; no effect on the result.

        Returns
        -------
        documents, similarities : ndarray of shape (n_queries, n_neighbors)
            -1 and 0 where no other document has a positive cosine.
        """
        own = embeddings is None
        n_best = whole_number(n_neighbors, "n_neighbors")
        n_best = min(n_best, max(self.n_documents - own, 1))
        queries = self.rows_
        if not own:
            width = self.rows_.shape[1]
            queries = check_embeddings(embeddings, None, width)
        shape = len(queries), n_best
        near = np.full(shape, -1, dtype=np.int64)
        similar = np.zeros(shape)

        def task(start: int, stop: int) -> None:
            found = self._candidates(queries[start:stop], MORE * n_best + own)
            if own:
                found[found == np.arange(start, stop)[:, None]] = -1
            best = self._ordered(queries[start:stop], found, n_best)
            width = best[0].shape[1]
            near[start:stop, :width], similar[start:stop, :width] = best

        with one_blas_thread():
            if self.n_documents > EXACT:
                _ = self._cells  # by one thread
            run_ranges(task, blocks_of(len(queries), BLOCK), n_threads(n_jobs))
        return near, similar

    def _candidates(self, queries: Rows, n_best: int) -> NDArray[np.int64]:
        """Return documents that may be the nearest ones, -1 where there are fewer."""
        if self.n_documents <= EXACT:
            return _largest(queries @ self.rows_.T, n_best)[0]
        centers, members, starts = self._cells
        probed = _largest(queries @ centers.T, min(PROBES, len(centers)))[0]
        shape = (*probed.shape, n_best)
        found = np.full(shape, -1, dtype=np.int64)
        values = np.full(shape, -np.inf, dtype=np.float32)
        order = np.argsort(probed, axis=None, kind="stable")
        cells, firsts = np.unique(probed.ravel()[order], return_index=True)
        for cell, places in zip(cells, np.split(order, firsts[1:]), strict=True):
            rows, ranks = np.divmod(places, probed.shape[1])
            own = members[starts[cell] : starts[cell + 1]]
            if not len(own):
                continue
            best, value = _largest(queries[rows] @ self.rows_[own].T, n_best)
            width = best.shape[1]
            found[rows, ranks, :width] = own[best]
            values[rows, ranks, :width] = value
        flat = values.reshape(len(queries), -1)
        best = _largest(flat, n_best)[0]
        return np.take_along_axis(found.reshape(len(queries), -1), best, axis=1)

    def _ordered(
        self, queries: Rows, found: NDArray[np.int64], n_best: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the nearest of some documents; of equal ones the lower number."""
        values = np.empty(found.shape)
        cosines(queries, self.rows_, found, values)
        values = np.where(found >= 0, np.round(values / GRID) * GRID, 0.0)
        order = np.lexsort((found, -values), axis=1)[:, :n_best]
        found = np.take_along_axis(found, order, axis=1)
        values = np.take_along_axis(values, order, axis=1)
        return np.where(values > 0, found, -1), np.maximum(values, 0.0)

    @cached_property
    def _cells(self) -> tuple[Rows, NDArray[np.int64], NDArray[np.int64]]:
        """Return centres of cells, documents by cell, and where each cell starts."""
        n_cells = -(-self.n_documents // CELL_SIZE)
        drawn = np.random.default_rng(0).permutation(self.n_documents)
        sample = self.rows_[np.sort(drawn[: PER_CELL * n_cells])]
        centers = sample[:: max(len(sample) // n_cells, 1)][:n_cells].copy()
        for _ in range(ROUNDS):
            own = _nearest_center(sample, centers)
            members = sp.csr_array(
                (np.ones(len(own), np.float32), (own, np.arange(len(own)))),
                shape=(len(centers), len(own)),
            )
            sums = members @ sample
            lengths = np.linalg.norm(sums, axis=1, keepdims=True)
            centers = np.where(lengths > 0, sums / np.maximum(lengths, 1e-30), centers)
        own = _nearest_center(self.rows_, centers)
        counts = np.bincount(own, minlength=len(centers))
        return centers, np.argsort(own, kind="stable"), np.r_[0, np.cumsum(counts)]


@kernel
def cosines(queries: Rows, rows: Rows, found: Any, out: Any) -> None:
    """Write products of queries with the rows found for each, in float64; -1: the last.

    Equivalent to ``np.einsum("ijk,ik->ij", rows[found], queries)`` in float64.
    """
    for i in range(found.shape[0]):
        for j in range(found.shape[1]):
            row, total = found[i, j], 0.0
            for k in range(queries.shape[1]):
                total += np.float64(queries[i, k]) * np.float64(rows[row, k])
            out[i, j] = total


def _largest(values: Rows, n: int) -> tuple[NDArray[np.int64], Rows]:
    """Return the columns of the n largest values of each row, in any order."""
    n = min(n, values.shape[1])
    columns = np.empty((len(values), n), dtype=np.int64)
    largest_columns(values, columns)
    return columns, np.take_along_axis(values, columns, axis=1)


@kernel
def largest_columns(values: Rows, out: Any) -> None:
    """Write the columns of the largest values of each row, in the order of a heap.

    Of equal values those of the lower columns. Equivalent, but for the order, to
    ``np.argsort(-values, axis=1, kind="stable")[:, : out.shape[1]]``.
    """
    n = out.shape[1]
    kept = np.empty(n, values.dtype)
    for i in range(values.shape[0] if n else 0):
        # The least of those kept, of equal ones the last, is at place 0, and each is
        # above those at 2j + 1 and 2j + 2.
        size = 0
        for column in range(values.shape[1]):
            value = values[i, column]
            if size < n:
                place = size
                size += 1
                while place > 0 and value <= kept[(place - 1) // 2]:
                    above = (place - 1) // 2
                    kept[place] = kept[above]
                    out[i, place] = out[i, above]
                    place = above
            elif value > kept[0]:
                place = 0
                while 2 * place + 1 < n:
                    below = 2 * place + 1
                    if below + 1 < n and (
                        kept[below + 1] < kept[below]
                        or (
                            kept[below + 1] == kept[below]
                            and out[i, below + 1] > out[i, below]
                        )
                    ):
                        below += 1
                    if value <= kept[below]:
                        break
                    kept[place] = kept[below]
                    out[i, place] = out[i, below]
                    place = below
            else:
                continue
            kept[place] = value
            out[i, place] = column


def _nearest_center(rows: Rows, centers: Rows) -> NDArray[np.int64]:
    starts = range(0, len(rows), BLOCK)
    parts = [(rows[i : i + BLOCK] @ centers.T).argmax(axis=1) for i in starts]
    return np.concatenate(parts)


def encode(encoder: Any, texts: Sequence[str] | None) -> Rows:
    """Return unit rows of what an encoder makes of texts, or say what is wrong.

    Examples
    --------
    >>> class Lengths:
    ...     def encode(self, texts):
    ...         return [[len(text), 1.0] for text in texts]
    >>> encode(Lengths(), ["", "abc"]).round(2).tolist()
    [[0.0, 1.0], [0.949999988079071, 0.3199999928474426]]
    """
    make = getattr(encoder, "encode", encoder)
    if isinstance(encoder, str) or not callable(make):
        raise DataError(
            f"the encoder is of the type {type(encoder).__name__}, which has no "
            "encode(texts). "
            "Give an object that has it, such as a SentenceTransformer, or a function "
            "of the texts; topicfold downloads no encoder by its name."
        )
    if isinstance(encoder, type):
        raise DataError(
            f"the encoder is the class {encoder.__name__}. Give an object of it, such "
            f"as {encoder.__name__}(...)."
        )
    if texts is None:
        raise DataError(
            "an encoder needs the texts, and these documents are counts. Give their "
            "vectors with embeddings=."
        )
    name = encoder_name(encoder) + ("" if make is encoder else ".encode")
    try:
        made = make(list(texts))
        rows = list(made) if isinstance(made, Iterator) else made
    except Exception as error:
        error.add_note(
            f"The encoder raised this: {name}, for {len(texts)} texts. Try it on a "
            "few texts by itself, or give the vectors with embeddings=."
        )
        raise
    try:
        return check_embeddings(rows, len(texts))
    except DataError as error:
        raise DataError(f"{name} did not give a vector per text: {error}") from error


def encoder_name(encoder: Any) -> str:
    """Return what an encoder is called, for people; of a path its end."""
    try:  # a SentenceTransformer is a list of modules, and the first has the name
        inner = getattr(encoder[0], "auto_model", None)
    except (TypeError, LookupError):
        inner = None
    names = ("name_or_path", "base_model_name", "model_name", "__name__")
    for holder, name in product((encoder, inner), names):
        found = getattr(holder, name, None)
        if isinstance(found, str) and found:
            path = Path(found)
            return "/".join(path.parts[-2:]) if path.is_absolute() else found
    return type(encoder).__name__


def check_takes_embeddings(model: Any) -> None:
    """Refuse embeddings for a model whose `fit` has none."""
    if "embeddings" not in inspect.signature(model.fit).parameters:
        refuse_data(model, {"embeddings": None})


def refuse_data(model: Any, given: Mapping[str, Any]) -> None:
    """Say that the `fit` of a model takes no data by these keywords, if there are any.

    Examples
    --------
    >>> refuse_data("a model", {})
    """
    if "embeddings" in given:
        raise DataError(
            f"the model {type(model).__name__} takes no embeddings. Use for instance "
            '"lda", "short" or "ltm", or leave them out.'
        )
    for name in given:
        raise TypeError(
            f"{type(model).__name__}.fit() takes no {name!r}. Leave it out, or see the "
            "parameters of its fit."
        )


def check_same_encoder(
    encoder: Any, rows: Any, texts: Sequence[str] | None, fitted_by: str | None
) -> None:
    """Warn of an encoder that makes another vector of a text than that of the fit.

    The first text with a vector is compared; none is where texts are not stored.
    """
    if rows is None or texts is None or not rows.any():
        return
    known = int(rows.any(axis=1).argmax())
    made = encode(encoder, texts[known : known + 1])
    own = check_embeddings(rows[[known]], 1)
    if made.shape != own.shape or float(made[0] @ own[0]) < SAME_VECTOR:
        by = "" if fitted_by is None else f", by {fitted_by}"
        warn_caller(
            f"The encoder {encoder_name(encoder)} makes another vector of document "
            f"{known} than that of the fit{by}, so new texts would be compared with "
            "vectors of another kind. Give the encoder of the fit."
        )
