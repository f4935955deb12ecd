# SPDX-License-Identifier: BSD-3-Clause
"""Arrays and SciPy's sparse matrices in .npz files, from anyone: never pickle."""

from __future__ import annotations

import io
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.counts import as_csr, check_structure, checked_csr
from topicfold.corpus import lines
from topicfold.corpus.lines import open_whole
from topicfold.exceptions import DataError

# What NumPy, SciPy and zipfile raise on damaged files.
DAMAGE = (
    OSError,
    ValueError,  # also bad UTF-8, bad JSON and pickled arrays
    TypeError,
    AttributeError,
    LookupError,
    ArithmeticError,
    RuntimeError,  # also zip features that are not implemented
    MemoryError,
    SyntaxError,  # a damaged header of an array
    tokenize.TokenError,
    EOFError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
# Above this size a matrix must be as large as its entries suggest, so that one wrong
# number does not fill the memory.
_ALWAYS_FINE_SIDE = 2_000_000
_MOST_EMPTY = 1000


def load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file; `DAMAGE` is raised where it cannot be read."""
    # Opened here, for NumPy leaves a damaged file open.
    with open_whole(path) as raw:
        check_unpacked(raw)
        with np.load(raw, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}


def check_unpacked(raw: BinaryIO) -> None:
    """Refuse an archive that unpacks to absurdly much; go back to its start."""
    with zipfile.ZipFile(raw) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > max(lines.ALWAYS_FINE, lines.MOST_PACKED * raw.seek(0, io.SEEK_END)):
        raise ValueError(f"it would unpack to {size:,} bytes")
    raw.seek(0)


def load_counts(path: Path) -> sparse.csr_matrix:
    """Return the counts of a file of ``scipy.sparse.save_npz``, all of it checked."""
    advice = "Write it again with scipy.sparse.save_npz."
    try:
        arrays = load_arrays(path)
        format = arrays["format"].item()
        if format in (b"csr", "csr"):
            parts = [arrays[name] for name in ("data", "indices", "indptr", "shape")]
        else:
            with open_whole(path) as raw:
                matrix = sparse.load_npz(raw)
            check_size(matrix.shape, matrix.nnz, str(path))
            check_structure(matrix, str(path))
            csr = as_csr(matrix)
            parts = [csr.data, csr.indices, csr.indptr, csr.shape]
    except DataError:
        raise
    except DAMAGE as error:
        # NumPy's own message advises to unpickle what is not a matrix.
        reason = "" if "allow_pickle=" in str(error) else f" ({str(error).rstrip('.')})"
        raise DataError(f"{path} is not a sparse matrix{reason}. {advice}") from error
    data, indices, indptr, shape = parts
    dtype = getattr(data, "dtype", np.dtype("O"))  # a member may be no array
    if dtype.kind == "f" and dtype.itemsize not in (4, 8):
        data = data.astype(np.float32 if dtype.itemsize < 4 else np.float64)
    matrix = checked_csr(data, indices, indptr, shape, str(path), advice=advice)
    check_size(matrix.shape, matrix.nnz, str(path))
    return matrix


def check_size(shape: tuple[int, int], n_entries: int, source: str) -> None:
    """Refuse a matrix that is absurdly large for its entries."""
    for size, what in zip(shape, ("documents", "words"), strict=True):
        if size > max(_ALWAYS_FINE_SIDE, _MOST_EMPTY * n_entries):
            raise DataError(
                f"{source} would have {size:,} {what} for {n_entries:,} entries. Is a "
                "number wrong?"
            )
