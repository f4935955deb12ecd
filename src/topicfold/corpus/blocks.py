# SPDX-License-Identifier: BSD-3-Clause
"""Matrices of counts larger than memory: blocks of rows in a folder.

Every block is one safetensors file with the arrays of a CSR matrix (`indptr`,
`indices`, `data`), which are memory-mapped, not read. ``index.safetensors`` lists the
blocks with their checksums, the document frequency and the total of every term, and the
words if they are known. A folder appears only when it is complete.

A block file is checked when a process opens it for the first time, and again if it
has changed since: checksum, row pointers, columns, values, and the number of its
documents and entries in the index.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from safetensors.numpy import save_file
from scipy import sparse

from topicfold.core.counts import check_counts, check_range, checked_csr
from topicfold.corpus.block_corpus import INDEX, BlockCorpus, Rows, clean_block
from topicfold.corpus.files import is_block_folder
from topicfold.corpus.lines import DAMAGE, check_size, load_counts
from topicfold.corpus.tally import Tally
from topicfold.exceptions import DataError, ModelFileError
from topicfold.persistence.atomic import discard, new_draft, swap_folder
from topicfold.persistence.bundle import checksum, read_bundle, write_bundle

KIND = "block_matrix"
BLOCK_SIZE = 65_536
_TYPES = {"I32": np.int32, "I64": np.int64, "F32": np.float32, "F64": np.float64}
_AGAIN = "Write or copy it again."
_PER_BLOCK = ("block_rows", "block_nnz", "block_checksums")
# Block files as they were when this process found nothing wrong with them.
_CHECKED: set[tuple[Any, ...]] = set()


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
        if self.path.exists() and not (overwrite and is_block_folder(self.path)):
            raise DataError(
                f"{self.path} exists already. Choose another name, or overwrite=True "
                "to replace a folder of blocks."
            )
        self.draft = new_draft(self.path)
        self.draft.mkdir(parents=True)
        self._tally = Tally(n_terms or 0)
        self._checksums: list[int] = []
        self._closed = False

    def append(self, block: Any) -> None:
        """Write one block: a CSR matrix with at least one document."""
        if self._closed:
            raise DataError("The writer is closed. Make a new one for a new folder.")
        number = len(self._checksums)
        block = clean_block(block, f"block {number}", self.n_terms, self.dtype)
        file = self.draft / _block_name(number)
        write_block(file, block)
        self._checksums.append(checksum(file))
        self._tally.add(block)

    def close(
        self,
        vocabulary: Sequence[str] | None = None,
        *,
        beside: dict[str, bytes] | None = None,
    ) -> None:
        """Write the index and give the folder its name.

        Parameters
        ----------
        vocabulary : sequence of str or None, default=None
            Words of the columns, kept with the matrix.
        beside : dict of str to bytes or None, default=None
            Other files of the folder, by name.
        """
        if self._closed:
            return
        if vocabulary is not None and self.n_terms is None:
            self._tally.widen(len(vocabulary))  # the last words may be in no document
        width = len(self._tally.totals)
        if not self._checksums or width == 0:
            self.abort()
            raise DataError(f"No block with terms was written to {self.path}.")
        if vocabulary is not None and len(vocabulary) != width:
            raise DataError(
                f"vocabulary has {len(vocabulary)} words for {width} columns. "
                "Give one word per column."
            )
        for name, content in (beside or {}).items():
            (self.draft / name).write_bytes(content)
        checksums = np.array(self._checksums, dtype=np.int64)
        write_bundle(
            self.draft / INDEX,
            kind=KIND,
            arrays={"block_checksums": checksums, **self._tally.arrays()},
            strings={} if vocabulary is None else {"vocabulary": list(vocabulary)},
            meta={"dtype": self.dtype.name},
        )
        swap_folder(self.draft, self.path)
        self._closed = True

    def abort(self) -> None:
        """Remove what was written."""
        if not self._closed:
            discard(self.draft)
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
    instead of a matrix; memory is that of a few blocks and the topics.

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
        if not is_block_folder(folder):
            raise DataError(
                f"{folder} is not a folder of blocks: it has no {INDEX}. Write it with "
                "BlockWriter or BlockMatrix.write."
            )
        try:
            bundle = read_bundle(folder / INDEX, kind=KIND)
        except ModelFileError as error:
            raise DataError(str(error)) from error
        index = _checked_index(bundle.arrays, bundle.meta.get("dtype"), folder / INDEX)
        n_terms, dtype = len(index["term_totals"]), str(bundle.meta["dtype"])
        words = bundle.strings.get("vocabulary")
        if words is not None and len(words) != n_terms:
            raise DataError(
                f"{folder / INDEX} has {len(words)} words for {n_terms} columns. "
                f"{_AGAIN}"
            )
        files = [
            BlockFile(str((folder / _block_name(b)).absolute()), n_terms, dtype, *known)
            for b, known in enumerate(
                np.stack([index[name] for name in _PER_BLOCK], axis=1).tolist()
            )
        ]
        missing = [f.path for f in files if not Path(f.path).is_file()]
        if missing:
            raise DataError(
                f"{folder} lacks {len(missing)} of {len(files)} blocks (first: "
                f"{missing[0]}). Copy the folder again."
            )
        del index["block_checksums"]
        return cls(files, **index, vocabulary=words, storage=storage)

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
        X = check_counts(X, "X")
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
        paths = [str(Path(file).absolute()) for file in files]
        if not paths:
            raise DataError("The list of block files is empty.")
        absent = [path for path in paths if not Path(path).is_file()]
        if absent:
            raise DataError(
                f"{len(absent)} of {len(paths)} block files do not exist (first: "
                f"{absent[0]})."
            )
        n_terms, dtype, tally = None, "", Tally()
        for path in paths:
            foreign = path.endswith(".npz")
            block = load_counts(Path(path)) if foreign else map_block(path, None)
            if n_terms is None:
                n_terms = block.shape[1]
                dtype = "float64" if block.dtype == np.float64 else "float32"
            tally.add(clean_block(block, path, n_terms, dtype))
        known = [BlockFile(path, len(tally.totals), dtype) for path in paths]
        return cls(known, **tally.arrays(), storage=storage)

    def block(self, number: int) -> sparse.csr_matrix:
        """Return a block, memory-mapped."""
        return self.files[number].load()

    def __iter__(self) -> Iterator[sparse.csr_matrix]:
        """Yield the blocks one after another, memory-mapped."""
        for file in self.files:
            yield file.load()

    def _row_sums(self) -> tuple[Rows, NDArray[np.float64]]:
        n_documents = self.shape[0]
        nnz, sums = np.empty(n_documents, np.int64), np.empty(n_documents)
        for start, stop, block in zip(
            self.offsets[:-1], self.offsets[1:], self, strict=True
        ):
            nnz[start:stop] = np.diff(block.indptr)
            sums[start:stop] = np.asarray(block.sum(axis=1, dtype=np.float64)).ravel()
        total, stated = float(sums.sum()), float(self.term_totals.sum())
        if not np.isclose(total, stated, rtol=1e-9, atol=0.0):
            raise DataError(
                f"The blocks beside {self.files[0].path} add up to {total:.10g}, but "
                f"their index says {stated:.10g}. Write or copy the folder again."
            )
        return nnz, sums

    def _take(self, chosen: list[tuple[int, Rows]]) -> sparse.csr_matrix:
        parts = [self.block(number)[rows] for number, rows in chosen]
        return sparse.csr_matrix(sparse.vstack(parts, format="csr"))


class BlockFile(NamedTuple):
    """Where a block is and what it must be; enough for another process to read it.

    Sizes and checksum are negative where no index states them.
    """

    path: str
    n_terms: int
    dtype: str
    n_rows: int = -1
    nnz: int = -1
    checksum: int = -1

    def load(self) -> sparse.csr_matrix:
        """Return the block as a CSR matrix, memory-mapped if it is one of ours."""
        if self.path.endswith(".npz"):
            block = load_counts(Path(self.path))
            return clean_block(block, self.path, self.n_terms, self.dtype)
        try:
            known = Path(self.path).stat()
        except OSError as error:
            raise _unreadable(self.path, error) from error
        state = (*self, known.st_size, known.st_mtime_ns, known.st_ino)
        if state in _CHECKED:
            data, indices, indptr, _ = _map_arrays(self.path)
            shape = (len(indptr) - 1, self.n_terms)
            block = sparse.csr_matrix((data, indices, indptr), shape, copy=False)
            # It was checked before; finding out again would read the whole block.
            block.has_sorted_indices = block.has_canonical_format = True
        else:
            block = self._load_checked()
            _CHECKED.add(state)
        return block.astype(self.dtype, copy=False)

    def _load_checked(self) -> sparse.csr_matrix:
        source = f"The block file {self.path}"
        if self.checksum >= 0 and checksum(Path(self.path)) != self.checksum:
            raise DataError(
                f"{source} is damaged: its checksum is not that of the index. {_AGAIN}"
            )
        block = map_block(self.path, self.n_terms)
        if self.n_rows >= 0 and (self.n_rows, self.nnz) != (block.shape[0], block.nnz):
            raise DataError(
                f"{source} has {block.shape[0]} documents and {block.nnz} entries, the "
                f"index says {self.n_rows} and {self.nnz}. {_AGAIN}"
            )
        return block


def write_block(path: Path, block: sparse.csr_matrix) -> None:
    """Write a canonical CSR matrix as one block file."""
    index = np.int32 if max(block.nnz, block.shape[1]) < 2**31 else np.int64
    tensors = {
        "indptr": np.ascontiguousarray(block.indptr, index),
        "indices": np.ascontiguousarray(block.indices, index),
        "data": np.ascontiguousarray(block.data),
    }
    save_file(tensors, path, metadata={"n_terms": str(block.shape[1])})


def map_block(path: str, n_terms: int | None) -> sparse.csr_matrix:
    """Memory-map a block file and check all of it; None takes its own width."""
    data, indices, indptr, width = _map_arrays(path)
    source = f"The block file {path}"
    columns = width if n_terms is None else n_terms
    shape = (len(indptr) - 1, columns)
    block = checked_csr(data, indices, indptr, shape, source, advice=_AGAIN)
    check_size(block.shape, block.nnz, source)
    if not block.has_canonical_format or not block.data.all():
        raise DataError(
            f"{source} has stored zeros, or columns of a row that are not sorted or "
            f"come twice. {_AGAIN}"
        )
    check_range(block, source)
    return block


def _map_arrays(path: str) -> tuple[Any, Any, Any, int]:
    """Return values, columns and row pointers, memory-mapped, and the width stated."""
    try:
        with Path(path).open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(min(length, 65_536)))
        parts = []
        for name in ("data", "indices", "indptr"):
            start, stop = header[name]["data_offsets"]
            dtype = np.dtype(_TYPES[header[name]["dtype"]])
            count, start = (stop - start) // dtype.itemsize, 8 + length + start
            parts.append(
                np.memmap(path, dtype, "r", offset=start, shape=(count,))
                if count
                else np.empty(0, dtype)
            )
        width = int(header["__metadata__"]["n_terms"])
    except DAMAGE as error:
        raise _unreadable(path, error) from error
    return parts[0], parts[1], parts[2], width


def _unreadable(path: str, error: BaseException) -> DataError:
    reason = f"{type(error).__name__}: {error}".rstrip(".")
    return DataError(f"The block file {path} cannot be read ({reason}). {_AGAIN}")


def _checked_index(
    arrays: dict[str, Any], dtype: Any, source: Path
) -> dict[str, NDArray[Any]]:
    """Return the arrays of an index, or say which of them is impossible."""
    for names in (_PER_BLOCK, ("document_frequencies", "term_totals")):
        for name in names:
            array, kind = arrays.get(name), "f" if name == "term_totals" else "i"
            if array is None or array.ndim != 1 or array.dtype.kind != kind:
                raise DataError(f"{source} has no list {name} of numbers. {_AGAIN}")
            if not np.isfinite(array).all() or (array < (name == "block_rows")).any():
                raise DataError(f"{source} has impossible numbers in {name}. {_AGAIN}")
        lengths = {len(arrays[name]) for name in names}
        if len(lengths) > 1 or 0 in lengths or dtype not in ("float32", "float64"):
            raise DataError(f"{source} has lists that do not match. {_AGAIN}")
    known = (*_PER_BLOCK, "document_frequencies", "term_totals")
    return {name: arrays[name] for name in known}


def _block_name(number: int) -> str:
    return f"block-{number:06d}.safetensors"
