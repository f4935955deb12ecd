# SPDX-License-Identifier: BSD-3-Clause
"""Time passes over a corpus that does not stay on the GPU, against the way there."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import cupy
import numpy as np
from scipy import sparse

from benchmarks.gpu_corpus import DeviceCsr, draw_corpus
from topicfold.corpus.blocks import BlockMatrix
from topicfold.engine import make_engine
from topicfold.engine.cuda.streaming import Plan, StreamedEngine, plan_blocks, spread
from topicfold.engine.cuda.transfer import CudaPort
from topicfold.learn.learner import Cvb0, Learner
from topicfold.parts.steps import PhiStep, ThetaStep

COPIED = 2**30
ITERATIONS = 7


def on_host(corpus: DeviceCsr) -> sparse.csr_matrix:
    """Return a corpus as SciPy's matrix."""
    arrays = corpus.data.get(), corpus.indices.get(), corpus.indptr.get()
    return sparse.csr_matrix(arrays, shape=corpus.shape)


def copy_speed() -> dict[str, float]:
    """Return bytes per second between page-locked memory and device, median of 5."""
    device = [cupy.zeros(COPIED, np.uint8) for _ in range(2)]
    host = [np.frombuffer(cupy.cuda.alloc_pinned_memory(COPIED), np.uint8, COPIED)]
    host.append(np.frombuffer(cupy.cuda.alloc_pinned_memory(COPIED), np.uint8, COPIED))
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    copy = cupy.cuda.runtime.memcpyAsync

    def seconds(there: bool, back: bool) -> float:
        times = []
        for _ in range(6):
            start = time.perf_counter()
            if there:
                ends = device[0].data.ptr, host[0].ctypes.data
                copy(*ends, COPIED, 1, streams[0].ptr)
            if back:
                ends = host[1].ctypes.data, device[1].data.ptr
                copy(*ends, COPIED, 2, streams[1].ptr)
            for stream in streams:
                stream.synchronize()
            times.append(time.perf_counter() - start)
        return float(np.median(times[1:]))

    return {
        "to_device": COPIED / seconds(True, False),
        "to_host": COPIED / seconds(False, True),
        "each_of_both": COPIED / seconds(True, True),
    }


SIZES = ((1_000_000, 128), (4_000_000, 128), (1_000_000, 256), (1_000_000, 32))


def time_streaming(speed: dict[str, float]) -> list[dict[str, Any]]:
    """Time iterations of corpora of some sizes."""
    rows = []
    for n_documents, n_topics in SIZES:
        rows += time_size(n_documents, n_topics, speed)
    return rows


def time_size(
    n_documents: int, n_topics: int, speed: dict[str, float]
) -> list[dict[str, Any]]:
    """Time iterations with no block, half of the blocks and all blocks on the GPU."""
    X = on_host(draw_corpus(str(n_documents)))
    cupy.get_default_memory_pool().free_all_blocks()
    kind = np.dtype(np.float32)
    phi = np.random.default_rng(0).random((n_topics, X.shape[1]), np.float32) + 1e-2
    phi /= phi.sum(axis=1, keepdims=True)
    order = np.argsort(-np.bincount(X.indices, minlength=X.shape[1]), kind="stable")
    plan = plan_blocks(X.indptr, X.shape[1], n_topics, kind, 2**36)
    rows = []
    for stay in (0.0, 0.5, 1.0):
        n_blocks = len(plan.stays)
        stays = spread(int(stay * n_blocks), n_blocks)
        start = time.perf_counter()
        engine = StreamedEngine(
            X,
            CudaPort(X.shape[1], n_topics, kind, order),
            replace(plan, stays=stays),
        )
        setup = time.perf_counter() - start
        sizes = traffic(engine, plan, stays)
        for name in ("PLSA", "LDA, CVB0") if stay == 0.0 else ("PLSA",):
            seconds = iteration_seconds(engine, phi, name)
            row = {
                "model": name,
                "documents": n_documents,
                "nnz": X.nnz,
                "topics": n_topics,
                "blocks": n_blocks,
                "stay": int(stays.sum()),
                "setup_s": setup,
                "iteration_ms": 1e3 * seconds,
            }
            rows.append(row | sizes | with_floor(name, sizes, speed, seconds))
            print(rows[-1], flush=True)
        del engine
        cupy.get_default_memory_pool().free_all_blocks()
        cupy.get_default_pinned_memory_pool().free_all_blocks()
    return rows


def time_disk() -> list[dict[str, Any]]:
    """Time an iteration of a corpus in blocks on disk, whose mixtures are files.

    With the memory for kept blocks that there is by default, and with enough.
    """
    n_documents, n_topics, size = 1_000_000, 128, 262_144
    X = on_host(draw_corpus(str(n_documents)))
    cupy.get_default_memory_pool().free_all_blocks()
    phi = np.random.default_rng(0).random((n_topics, X.shape[1]), np.float32) + 1e-2
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        corpus = BlockMatrix.write(Path(folder) / "corpus", X, block_size=size)
        for keep_bytes in (2**30, 2**33):
            corpus.keep_bytes = keep_bytes
            start = time.perf_counter()
            engine = make_engine(corpus, n_topics, device="cuda", n_jobs=-1)
            setup = time.perf_counter() - start
            row = {
                "model": f"PLSA, disk, keep_bytes {keep_bytes // 2**30} GiB",
                "documents": n_documents,
                "nnz": X.nnz,
                "topics": n_topics,
                "blocks": corpus.n_blocks,
                "setup_s": setup,
                "iteration_ms": 1e3 * iteration_seconds(engine, phi, "PLSA"),
            }
            rows.append(row)
            print(row, flush=True)
            del engine
    return rows


def traffic(engine: StreamedEngine, plan: Plan, stays: Any) -> dict[str, int]:
    """Return the bytes of lists and of mixtures that come and go."""
    moving = int(np.diff(plan.offsets)[~stays].sum())
    return {
        "lists_bytes": sum(lists.n_bytes for lists in engine._blocks._lists.values()),
        "mixtures_bytes": moving * engine.n_topics * 4,
    }


def with_floor(
    name: str, sizes: dict[str, int], speed: dict[str, float], seconds: float
) -> dict[str, float | None]:
    """Return the least time of the copies, one way or the other.

    PLSA sends mixtures and fetches counts. CVB0 fetches both, adds the prior to the
    counts (there and back) and sends the mixtures once more for its objective.
    """
    times_sent, times_fetched = (1, 1) if name == "PLSA" else (3, 3)
    sent = sizes["lists_bytes"] + times_sent * sizes["mixtures_bytes"]
    fetched = times_fetched * sizes["mixtures_bytes"]
    floor = max(sent / speed["to_device"], fetched / speed["to_host"])
    return {
        "sent_bytes": sent,
        "fetched_bytes": fetched,
        "floor_ms": 1e3 * floor,
        "sent_per_s": sent / seconds,
        "ratio": seconds / floor if floor else None,
    }


def iteration_seconds(engine: Any, phi: Any, name: str) -> float:
    """Return the median time of an iteration, objective included."""
    fit: Any
    if name == "PLSA":
        fit = Learner(engine, phi, ThetaStep(), PhiStep())
    else:
        prior = np.full(engine.n_topics, 0.05)
        options = {"doc_updates": 2, "doc_tol": 1e-4, "learn_priors": False}
        fit = Cvb0(engine, phi, alpha=prior, eta=0.01, **options)
    fit.start()
    fit.iterate()
    times = []
    for _ in range(ITERATIONS):
        start = time.perf_counter()
        fit.iterate()
        cupy.cuda.Device().synchronize()
        times.append(time.perf_counter() - start)
    return float(np.median(times))
