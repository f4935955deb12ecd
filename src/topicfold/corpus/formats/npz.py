# SPDX-License-Identifier: BSD-3-Clause
"""SciPy's sparse matrices in .npz files."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

from scipy import sparse

from topicfold.corpus.formats.parts import Parts
from topicfold.corpus.record import Corpus
from topicfold.exceptions import DataError


def read(path: Path) -> Parts:
    """Read a matrix written by ``scipy.sparse.save_npz``."""
    return Parts(load_counts(path))


def write(corpus: Corpus, path: Path) -> dict[str, list[str]]:
    """Write the counts with ``scipy.sparse.save_npz``."""
    with path.open("wb") as stream:
        sparse.save_npz(stream, corpus.counts)
    return {}


def load_counts(file: Path) -> Any:
    """Return the matrix of a file, its indices checked; never pickle."""
    try:
        # Opened here, for NumPy leaves a damaged file open.
        with file.open("rb") as raw:
            matrix = sparse.csr_matrix(sparse.load_npz(raw))
        # Indices out of bounds would make compiled code read foreign memory.
        matrix.check_format(full_check=True)
    except (
        OSError,
        ValueError,
        TypeError,
        AttributeError,
        LookupError,
        OverflowError,
        RuntimeError,  # also zip features that are not implemented
        MemoryError,
        SyntaxError,  # a damaged header of an array
        EOFError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        # NumPy's own words advise to unpickle what is no matrix.
        reason = "" if "allow_pickle=" in str(error) else f" ({str(error).rstrip('.')})"
        raise DataError(
            f"{file} is not a sparse matrix{reason}. Write it with "
            "scipy.sparse.save_npz."
        ) from error
    return matrix
