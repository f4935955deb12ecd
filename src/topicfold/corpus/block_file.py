# SPDX-License-Identifier: BSD-3-Clause
"""A block of a matrix in a file: CSR arrays in safetensors, or SciPy's npz."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import save_file
from scipy import sparse

from topicfold.corpus.block_corpus import clean_block
from topicfold.exceptions import DataError

_TYPES = {"I32": np.int32, "I64": np.int64, "F32": np.float32, "F64": np.float64}


class BlockFile(NamedTuple):
    """Where a block is; enough for another process to read it."""

    path: str
    n_terms: int
    dtype: str

    def load(self) -> sparse.csr_matrix:
        """Return the block as a CSR matrix, memory-mapped if it is one of ours."""
        if self.path.endswith(".npz"):
            return clean_block(load_npz(self.path), self.path, self.n_terms, self.dtype)
        block = map_block(self.path, self.n_terms)
        return block.astype(self.dtype, copy=False)


def write_block(path: Path, block: sparse.csr_matrix) -> None:
    """Write a canonical CSR matrix as one block file."""
    index = np.int32 if max(block.nnz, block.shape[1]) < 2**31 else np.int64
    tensors = {
        "indptr": block.indptr.astype(index, copy=False),
        "indices": block.indices.astype(index, copy=False),
        "data": block.data,
    }
    tensors = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    save_file(tensors, path, metadata={"n_terms": str(block.shape[1])})


def map_block(path: str, n_terms: int | None) -> sparse.csr_matrix:
    """Memory-map a block file and check that its arrays are those of a CSR matrix."""
    try:
        with Path(path).open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(min(length, 65_536)))
        parts = {}
        for name in ("indptr", "indices", "data"):
            entry = header[name]
            start, stop = entry["data_offsets"]
            dtype = np.dtype(_TYPES[entry["dtype"]])
            count = (stop - start) // dtype.itemsize
            parts[name] = (
                np.memmap(path, dtype, "r", offset=8 + length + start, shape=(count,))
                if count
                else np.empty(0, dtype)
            )
        width = int(header["__metadata__"]["n_terms"])
        indptr, indices, data = parts["indptr"], parts["indices"], parts["data"]
        steps = np.diff(indptr)
        whole = len(indices) == len(data) == indptr[-1] and indptr[0] == 0
        if not (whole and (steps >= 0).all()):
            raise ValueError("its row pointers do not fit its entries")  # noqa: TRY301
        if len(indices) and not 0 <= indices.min() <= indices.max() < width:
            raise ValueError("it has entries outside its columns")  # noqa: TRY301
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise DataError(
            f"The block file {path} cannot be read: {error}. Write or copy it again."
        ) from error
    block = sparse.csr_matrix(
        (data, indices, indptr), shape=(len(indptr) - 1, n_terms or width), copy=False
    )
    # The writer wrote it so; finding out would read the whole block.
    block.has_sorted_indices = True
    block.has_canonical_format = True
    return block


def load_any(path: str) -> sparse.csr_matrix:
    """Read a block file of either kind, with the columns that it has."""
    return load_npz(path) if path.endswith(".npz") else map_block(path, None)


def load_npz(path: str) -> Any:
    """Read a file of ``scipy.sparse.save_npz``."""
    try:
        return sparse.load_npz(path)
    except (OSError, ValueError, KeyError) as error:
        raise DataError(
            f"The block file {path} cannot be read: {error}. Write it with "
            "scipy.sparse.save_npz or BlockWriter."
        ) from error
