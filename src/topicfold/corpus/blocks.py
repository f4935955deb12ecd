# SPDX-License-Identifier: BSD-3-Clause
"""Matrices of counts larger than memory: blocks of rows in a folder.

Every block is one safetensors file with the arrays of a CSR matrix (`indptr`,
`indices`, `data`), which are memory-mapped, not read. ``index.safetensors`` lists the
blocks with the document frequency and the total of every term, and the words if they
are known. A folder appears only when it is complete.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from topicfold.corpus.block_corpus import BlockCorpus, Rows, clean_block
from topicfold.corpus.block_file import BlockFile, load_any, write_block
from topicfold.exceptions import DataError
from topicfold.persistence.bundle import read_bundle, write_bundle

KIND = "block_matrix"
INDEX = "index.safetensors"
BLOCK_SIZE = 65_536


class BlockWriter:
    """Write a matrix block by block; the folder appears when all are written.

    Parameters
    ----------
    path : str or path
        Folder to make.
    n_terms : int or None, default=None
        Columns that every block must have; None lets their number grow while
        writing, as a vocabulary does: the matrix has as many as the widest block.
    dtype : {float32, float64}, default=float32
        Type of the counts on disk.
    overwrite : bool, default=False
        Replace a folder of blocks of that name.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with BlockWriter(Path(folder, "news")) as writer:
    ...         writer.append(sparse.csr_matrix([[1.0, 2.0]]))
    ...         writer.append(sparse.csr_matrix([[0.0, 1.0, 3.0]]))
    ...     BlockMatrix.open(Path(folder, "news"))
    BlockMatrix(2 documents, 3 terms, 4 non-zeros, 2 blocks)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        n_terms: int | None = None,
        *,
        dtype: DTypeLike = np.float32,
        overwrite: bool = False,
    ) -> None:
        self.path = Path(path)
        self.n_terms = n_terms
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.float32, np.float64):
            raise DataError(f"dtype={self.dtype} cannot be written; use float32.")
        self.overwrite = overwrite
        if self.path.exists() and not (overwrite and _is_block_folder(self.path)):
            raise DataError(
                f"{self.path} exists already. Choose another name, or overwrite=True "
                "to replace a folder of blocks."
            )
        token = secrets.token_hex(6)
        self._draft = self.path.with_name(f".{self.path.name}-{token}.partial")
        self._draft.mkdir(parents=True)
        self._sizes: list[tuple[int, int]] = []
        self._frequencies = np.zeros(n_terms or 0, np.int64)
        self._totals = np.zeros(n_terms or 0)
        self._closed = False

    def append(self, block: Any) -> None:
        """Write one block: a CSR matrix with at least one document."""
        if self._closed:
            raise DataError("The writer is closed; make another for another folder.")
        number = len(self._sizes)
        block = clean_block(block, f"block {number}", self.n_terms, self.dtype)
        write_block(self._draft / _block_name(number), block)
        self._sizes.append((block.shape[0], block.nnz))
        width = max(block.shape[1], len(self._frequencies))
        self._frequencies = _widened(self._frequencies, width)
        self._totals = _widened(self._totals, width)
        self._frequencies += np.bincount(block.indices, minlength=width)
        self._totals += np.bincount(block.indices, block.data, width)

    def close(self, vocabulary: Sequence[str] | None = None) -> None:
        """Write the index and give the folder its name.

        Parameters
        ----------
        vocabulary : sequence of str or None, default=None
            Words of the columns, kept with the matrix.
        """
        if self._closed:
            return
        width = len(self._totals)
        if vocabulary is not None and self.n_terms is None and len(vocabulary) > width:
            # The last words may be in no document.
            width = len(vocabulary)
        if not self._sizes or width == 0:
            self.abort()
            raise DataError(f"No block with terms was written to {self.path}.")
        if vocabulary is not None and len(vocabulary) != width:
            raise DataError(
                f"vocabulary has {len(vocabulary)} words for {width} columns."
            )
        rows, nnz = np.array(self._sizes, dtype=np.int64).T
        write_bundle(
            self._draft / INDEX,
            kind=KIND,
            arrays={
                "block_rows": rows,
                "block_nnz": nnz,
                "document_frequencies": _widened(self._frequencies, width),
                "term_totals": _widened(self._totals, width),
            },
            strings={} if vocabulary is None else {"vocabulary": list(vocabulary)},
            meta={"dtype": self.dtype.name},
        )
        if self.path.exists():
            old = self._draft.with_suffix(".old")
            self.path.rename(old)
            self._draft.rename(self.path)
            shutil.rmtree(old)
        else:
            self._draft.rename(self.path)
        self._closed = True

    def abort(self) -> None:
        """Remove what was written."""
        if not self._closed:
            shutil.rmtree(self._draft, ignore_errors=True)
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *error: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()


class BlockMatrix(BlockCorpus):
    """A document-term matrix on disk, opened block by block.

    `fit`, `partial_fit` and `transform` of PLSA, LDA, OrthogonalPLSA and FSTM take it
    in the place of a matrix; memory is that of a few blocks and the topics.

    Examples
    --------
    >>> import tempfile
    >>> from topicfold import PLSA
    >>> X = sparse.random(50, 20, 0.2, format="csr", random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     blocks = BlockMatrix.write(Path(folder, "corpus"), X, block_size=16)
    ...     model = PLSA(3, random_state=0, max_iter=5).fit(blocks)
    >>> blocks.n_blocks, model.doc_topics_.shape
    (4, (50, 3))
    """

    def __init__(
        self,
        files: Sequence[BlockFile],
        block_rows: Rows,
        block_nnz: Rows,
        document_frequencies: NDArray[np.int64],
        term_totals: NDArray[np.float64],
        *,
        vocabulary: list[str] | None = None,
        storage: str | os.PathLike[str] | None = None,
    ) -> None:
        self.files = list(files)
        self.dtype = np.dtype(self.files[0].dtype)
        self.block_rows = block_rows
        self.block_nnz = block_nnz
        self.document_frequencies = document_frequencies
        self.term_totals = term_totals
        self.vocabulary = vocabulary
        self.storage = None if storage is None else Path(storage)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        storage: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Open a folder written by `BlockWriter`.

        Parameters
        ----------
        path : str or path
            The folder.
        storage : str, path or None, default=None
            Folder for the mixtures of a fit and its scratch files; None is the
            system's temporary folder, which may be in memory (see TMPDIR).
        """
        folder = Path(path)
        if not (folder / INDEX).is_file():
            raise DataError(
                f"{folder} is not a folder of blocks: it has no {INDEX}. A folder "
                "whose writing was interrupted keeps the ending .partial and must be "
                "written again (BlockWriter)."
            )
        index = read_bundle(folder / INDEX, kind=KIND)
        arrays = index.arrays
        n_terms = len(arrays["term_totals"])
        dtype = str(index.meta["dtype"])
        files = [
            BlockFile(str((folder / _block_name(b)).resolve()), n_terms, dtype)
            for b in range(len(arrays["block_rows"]))
        ]
        missing = [f.path for f in files if not Path(f.path).is_file()]
        if missing:
            raise DataError(
                f"{folder} lacks {len(missing)} of {len(files)} blocks (first: "
                f"{missing[0]}). Copy the folder again."
            )
        return cls(
            files,
            arrays["block_rows"],
            arrays["block_nnz"],
            arrays["document_frequencies"],
            arrays["term_totals"],
            vocabulary=index.strings.get("vocabulary"),
            storage=storage,
        )

    @classmethod
    def write(
        cls,
        path: str | os.PathLike[str],
        X: Any,
        *,
        block_size: int = BLOCK_SIZE,
        vocabulary: Sequence[str] | None = None,
        overwrite: bool = False,
        storage: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Write a matrix in blocks of `block_size` documents and open it."""
        X = sparse.csr_matrix(X)
        dtype = np.float64 if X.dtype == np.float64 else np.float32
        with BlockWriter(path, X.shape[1], dtype=dtype, overwrite=overwrite) as writer:
            for start in range(0, X.shape[0], block_size):
                writer.append(X[start : start + block_size])
            writer.close(vocabulary)
        return cls.open(path, storage=storage)

    @classmethod
    def from_files(
        cls,
        files: Sequence[str | os.PathLike[str]],
        *,
        storage: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Make a matrix of block files: ours, or ``scipy.sparse.save_npz``'s.

        Each file is read once, to check it and to count the terms. All must have
        the same number of columns.
        """
        paths = [str(Path(file).resolve()) for file in files]
        if not paths:
            raise DataError("The list of block files is empty.")
        absent = [path for path in paths if not Path(path).is_file()]
        if absent:
            raise DataError(
                f"{len(absent)} of {len(paths)} block files do not exist (first: "
                f"{absent[0]})."
            )
        first = load_any(paths[0])
        n_terms = first.shape[1]
        dtype = "float64" if first.dtype == np.float64 else "float32"
        sizes = []
        frequencies, totals = np.zeros(n_terms, np.int64), np.zeros(n_terms)
        for path in paths:
            block = clean_block(load_any(path), path, n_terms, dtype)
            sizes.append((block.shape[0], block.nnz))
            frequencies += np.bincount(block.indices, minlength=n_terms)
            totals += np.bincount(block.indices, block.data, n_terms)
        rows, nnz = np.array(sizes, dtype=np.int64).T
        known = [BlockFile(path, n_terms, dtype) for path in paths]
        return cls(known, rows, nnz, frequencies, totals, storage=storage)

    def block(self, number: int) -> sparse.csr_matrix:
        """Return a block, memory-mapped."""
        return self.files[number].load()

    def __iter__(self) -> Iterator[sparse.csr_matrix]:
        """Yield the blocks one after another, memory-mapped."""
        for file in self.files:
            yield file.load()

    def select_terms(
        self,
        path: str | os.PathLike[str],
        columns: NDArray[np.integer],
        *,
        overwrite: bool = False,
    ) -> BlockMatrix:
        """Write a matrix with some of the columns, in the given order, and open it."""
        columns = np.asarray(columns)
        words = self.vocabulary
        with BlockWriter(
            path, len(columns), dtype=self.dtype, overwrite=overwrite
        ) as writer:
            for block in self:
                writer.append(sparse.csr_matrix(block[:, columns]))
            writer.close(None if words is None else [words[c] for c in columns])
        return BlockMatrix.open(path, storage=self.storage)

    def _row_sums(self) -> tuple[Rows, NDArray[np.float64]]:
        n_documents = self.shape[0]
        nnz, sums = np.empty(n_documents, np.int64), np.empty(n_documents)
        for start, stop, block in zip(
            self.offsets[:-1], self.offsets[1:], self, strict=True
        ):
            nnz[start:stop] = np.diff(block.indptr)
            sums[start:stop] = np.asarray(block.sum(axis=1, dtype=np.float64)).ravel()
        return nnz, sums

    def _take(self, chosen: list[tuple[int, Rows]]) -> sparse.csr_matrix:
        parts = [self.block(number)[rows] for number, rows in chosen]
        return sparse.csr_matrix(sparse.vstack(parts, format="csr"))


def _block_name(number: int) -> str:
    return f"block-{number:06d}.safetensors"


def _is_block_folder(path: Path) -> bool:
    return (path / INDEX).is_file()


def _widened(array: NDArray[Any], width: int) -> NDArray[Any]:
    if len(array) == width:
        return array
    return np.r_[array, np.zeros(width - len(array), array.dtype)]
