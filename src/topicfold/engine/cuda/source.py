# SPDX-License-Identifier: BSD-3-Clause
"""Compiling the kernels for a number of topics and a type."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from topicfold.exceptions import DeviceError

THREADS = 128
WARPS = THREADS // 32
# Rows and values that one block sums, as in sums.cu.
SUM_ROWS = 2048
SUM_VALUES = 8192
# Bytes of a row in one thread's registers; more of them would spill.
MAX_ROW_BYTES = 256
_SOURCES = {
    "documents": ("special.cu", "rows.cu", "documents.cu"),
    "words": ("rows.cu", "words.cu"),
    "sums": ("special.cu", "sums.cu"),
    "frank_wolfe": ("frank_wolfe.cu",),
    "graph": ("graph.cu",),
    "orthogonal": ("orthogonal.cu",),
}


@dataclass(frozen=True)
class PassShape:
    """Threads of a row, rows under way at once, blocks a multiprocessor holds."""

    lanes: int
    unroll: int
    blocks: int


@dataclass(frozen=True)
class Shape:
    """How rows of topics are stored and spread over threads; see ``rows.cu``.

    `half`: gathered rows are stored in half precision; `collapsed`: of that link.
    """

    n_topics: int
    width: int
    dtype: str
    documents: PassShape
    words: PassShape
    half: bool = False
    collapsed: bool = False


def row_shape(
    n_topics: int, dtype: np.dtype, *, half: bool = False, collapsed: bool = False
) -> Shape:
    """Choose the shape for a number of topics.

    Lists of documents are short: there many warps at once hide the latency, so a thread
    has few topics. Lists of words are long and want more work in a thread. ``python -m
    benchmarks.gpu --variants`` times the other shapes.
    """
    step = next(s for s, most in _STEPS if n_topics <= most)
    width = -(-n_topics // step) * step
    if width * dtype.itemsize > 32 * MAX_ROW_BYTES:
        most_topics = 32 * MAX_ROW_BYTES // dtype.itemsize
        raise DeviceError(
            f"device='cuda' has room for {most_topics} topics of {dtype}, got "
            f"{n_topics}. Use fewer topics, float32 counts, or device='cpu'."
        )
    if half:
        documents = words = _half_shape(width, collapsed)
    else:
        documents = _pass_shape(width, dtype.itemsize, 32, collapsed)
        words = _pass_shape(width, dtype.itemsize, 32 if collapsed else 64, collapsed)
    return Shape(n_topics, width, dtype.name, documents, words, half, collapsed)


# The width is a multiple of the first number up to the second number of topics.
_STEPS = ((16, 16), (32, 128), (64, 256), (128, np.inf))


def _half_shape(width: int, collapsed: bool) -> PassShape:
    """Give a thread one piece of 16 bytes, or what comes nearest from above."""
    lanes = 32
    while width % (8 * lanes):
        lanes //= 2
    own = width // (8 * lanes)
    return PassShape(
        lanes, 4 if own == 1 else 1, (4 if collapsed else 6) if own == 1 else 1
    )


def _pass_shape(
    width: int, itemsize: int, row_bytes: int, collapsed: bool
) -> PassShape:
    """Give a thread `row_bytes` of a row, or what comes nearest from above."""
    lanes = 32
    while lanes > 4 and (
        width * itemsize % (16 * lanes) or width * itemsize < row_bytes * lanes
    ):
        lanes //= 2
    own = width * itemsize // lanes
    if collapsed:
        return PassShape(lanes, 2 if own <= 32 else 1, 1)
    if row_bytes == 32:
        return PassShape(lanes, 2 if own <= 64 else 1, 8 if own <= 32 else 1)
    return PassShape(lanes, 4 if own <= 32 else 2 if own <= 64 else 1, 1)


@lru_cache(maxsize=64)
def compile_part(part: str, shape: Shape) -> Any:
    """Return the compiled module of a part; CuPy also keeps it on disk."""
    import cupy

    folder = files("topicfold.engine.cuda")
    text = "\n".join(folder.joinpath(n).read_text("utf-8") for n in _SOURCES[part])
    defines: dict[str, Any] = {
        "REAL": {"float32": "float", "float64": "double"}[shape.dtype],
        "WIDTH": shape.width,
        "N_TOPICS": shape.n_topics,
        "HALF": int(shape.half),
        "COLLAPSED": int(shape.collapsed),
    }
    if part in ("documents", "words"):
        spread = shape.documents if part == "documents" else shape.words
        defines |= {
            "LANES": spread.lanes,
            "UNROLL": spread.unroll,
            "BLOCKS": spread.blocks,
        }
    options = ("--std=c++17", *(f"-D{name}={value}" for name, value in defines.items()))
    return cupy.RawModule(code=text, options=options)
