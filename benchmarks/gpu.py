# SPDX-License-Identifier: BSD-3-Clause
"""Time the CUDA engine on synthetic corpora and compare with its floors.

    python -m benchmarks.gpu --growth --streaming --variants  # all of it, 6 minutes
    python -m benchmarks.gpu --corpora 20news --topics 128 --no-fits

Corpora are drawn on the device: words from a Zipf-Mandelbrot law, lengths from a
negative binomial. An EM iteration is a document pass, a word pass and the
normalisation of topics; its two floors are the bytes it must move through device
memory at the measured copy bandwidth, and its floating-point operations at the
measured rate. What it gathers through the caches is many times the first. Results:
``benchmarks/results/gpu.json`` and ``gpu.md``. Needs an NVIDIA GPU and CuPy.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cupy
import numpy as np

from benchmarks.gpu_corpus import CORPORA, SIZES, DeviceCsr, draw_corpus
from benchmarks.gpu_streaming import copy_speed, on_host, time_disk, time_streaming
from benchmarks.gpu_tables import tables
from benchmarks.gpu_timing import milliseconds, random_state
from benchmarks.gpu_variants import time_variants
from topicfold import PLSA
from topicfold.engine.cuda.engine import CudaEngine
from topicfold.engine.protocol import OwnShare
from topicfold.infer.frank_wolfe import frank_wolfe
from topicfold.learn.learner import Cvb0, Learner, Variational
from topicfold.parts.steps import (
    Context,
    PhiStep,
    ThetaStep,
    prepare_step,
    update_topics,
)
from topicfold.phi.orthogonal import OrthogonalPhi

RESULTS = Path(__file__).parent / "results"


def ceilings() -> dict[str, float]:
    """Return the measured copy bandwidth (bytes/s) and float32 rate (flop/s)."""
    source = cupy.random.default_rng(0).random(2**29, dtype=np.float32)
    target = cupy.empty_like(source)
    copy = milliseconds(lambda: cupy.copyto(target, source))
    code = r"""extern "C" __global__ void multiply_add(float *out, float a) {
        float x[8]; for (int i = 0; i < 8; ++i) x[i] = threadIdx.x + i;
        for (int t = 0; t < 4096; ++t)
            for (int i = 0; i < 8; ++i) x[i] = x[i] * a + 0.5f;
        float s = 0; for (int i = 0; i < 8; ++i) s += x[i];
        if (s == 12345.678f) out[0] = s; }"""
    kernel = cupy.RawKernel(code, "multiply_add")
    out = cupy.zeros(1, cupy.float32)
    flop = milliseconds(lambda: kernel((132 * 16,), (512,), (out, np.float32(0.999))))
    return {
        "bandwidth": 2 * 4 * 2**29 / (copy * 1e-3),
        "flops": 132 * 16 * 512 * 4096 * 8 * 2 / (flop * 1e-3),
    }


def time_parts(corpus: DeviceCsr, n_topics: int) -> dict[str, Any]:
    """Time the three parts of an iteration, and building the engine."""
    start = time.perf_counter()
    engine = CudaEngine(corpus, n_topics)
    theta, topics = random_state(engine)
    counts, words = cupy.empty_like(theta), cupy.empty_like(topics)
    engine.document_pass(theta, topics, out=counts)
    engine.word_pass(theta, topics, words)
    cupy.cuda.Device().synchronize()
    setup = time.perf_counter() - start
    document = milliseconds(lambda: engine.document_pass(theta, topics, out=counts))
    word = milliseconds(lambda: engine.word_pass(theta, topics, words))
    scaled = cupy.empty_like(topics)
    normalize = milliseconds(lambda: engine.normalize_topics(words, 0.0, scaled))
    again = milliseconds(lambda: engine.document_pass(theta, topics, out=counts))
    own = OwnShare(engine.pack_prior(1e-4), engine.pack_prior(1e-8))
    collapsed = {"link": "collapsed", "prior": engine.pack_prior(0.05), "own": own}
    collapsed_ms = milliseconds(
        lambda: engine.document_pass(theta, topics, out=counts, **collapsed)
    ) + milliseconds(lambda: engine.word_pass(theta, topics, words))
    free, total = cupy.cuda.runtime.memGetInfo()
    return {
        "topics": n_topics,
        "width": engine.width,
        "gathered_bytes": 2 if engine.in_half else 4,
        "peak_gib": (total - free) / 2**30,
        "setup_s": setup,
        "document_ms": document,
        "document_again_ms": again,
        "word_ms": word,
        "normalize_ms": normalize,
        "collapsed_ms": collapsed_ms,
    }


def with_floors(
    row: dict[str, Any], corpus: DeviceCsr, ceiling: dict[str, float]
) -> dict[str, Any]:
    """Add the rate, the two floors and what is gathered."""
    nnz = len(corpus.indices)
    (n_documents, n_terms), width = corpus.shape, row["width"]
    total = row["document_ms"] + row["word_ms"] + row["normalize_ms"]
    mixtures, topics = 4 * width * n_documents, 4 * width * n_terms
    # Both lists of non-zeros; θ read twice and written once; φ in every part.
    least = 16 * nnz + 3 * mixtures + 6 * topics
    flops = 8 * nnz * row["topics"]
    gathered = 2 * row["gathered_bytes"] * width * nnz
    return row | {
        "iteration_ms": total,
        "billion_nnz_per_s": nnz / total / 1e6,
        "bytes_floor_ms": 1e3 * least / ceiling["bandwidth"],
        "flops_floor_ms": 1e3 * flops / ceiling["flops"],
        "gathered_tb_per_s": gathered / (row["document_ms"] + row["word_ms"]) / 1e9,
    }


def time_fits(corpus: DeviceCsr, n_topics: int, n_iter: int) -> list[dict[str, Any]]:
    """Time whole fits after the engine is built, objective included."""
    engine = CudaEngine(corpus, n_topics)
    _, packed = random_state(engine)
    phi = engine.unpack_topics(packed)
    del packed
    lda = {"doc_updates": 2, "doc_tol": 1e-4}
    small, one = np.full(n_topics, 0.05), np.full(n_topics, 1.0)
    algorithms: dict[str, Callable[[], Any]] = {
        "PLSA": lambda: Learner(engine, phi, ThetaStep(), PhiStep()),
        "LDA, CVB0": lambda: Cvb0(engine, phi, alpha=small, eta=0.01, **lda),
        "LDA, variational": lambda: Variational(
            engine, phi, alpha=one, eta=1.0, learn_priors=True, **lda
        ),
    }
    rows = []
    for name, make in algorithms.items():
        cupy.get_default_memory_pool().free_all_blocks()
        algorithm = make()
        algorithm.start()
        algorithm.iterate()  # compiles, and sorts the non-zeros by word
        algorithm = make()
        start = time.perf_counter()
        history = [algorithm.start()]
        history += [algorithm.iterate() for _ in range(n_iter)]
        seconds = time.perf_counter() - start
        falls = np.diff(history) < -1e-7 * np.abs(history[:-1])
        rows.append(
            {
                "model": name,
                "topics": n_topics,
                "iterations": n_iter,
                "seconds": seconds,
                "first_objective": history[0],
                "last_objective": history[-1],
                "falls": int(falls.sum()),
            }
        )
        print(rows[-1], flush=True)
        del algorithm
    return rows


def time_precision(n_topics: int, n_iter: int = 30) -> list[dict[str, Any]]:
    """Time iterations that gather rows of half precision and of float32, and compare
    where they end.
    """
    corpus = draw_corpus("1000000")
    even, flat = np.full(n_topics, 0.05), {"doc_updates": 2, "doc_tol": 1e-4}
    algorithms: dict[str, Callable[..., Any]] = {
        "PLSA": lambda e, phi: Learner(e, phi, ThetaStep(), PhiStep()),
        "PLSA, extrapolated": lambda e, phi: Learner(
            e, phi, ThetaStep(), PhiStep()
        ).extrapolated(),
        "LDA, CVB0": lambda e, phi: Cvb0(e, phi, alpha=even, eta=0.01, **flat),
        "LDA, CVB0, extrapolated": lambda e, phi: Cvb0(
            e, phi, alpha=even, eta=0.01, learn_priors=True, **flat
        ).extrapolated(),
    }
    rows = []
    for name, make in algorithms.items():
        row: dict[str, Any] = {"model": name, "topics": n_topics, "iterations": n_iter}
        for kind, in_half in (("float32", False), ("half", True)):
            cupy.get_default_memory_pool().free_all_blocks()
            engine = CudaEngine(corpus, n_topics, in_half=in_half)
            theta, packed = random_state(engine)
            phi = engine.unpack_topics(packed)
            del theta, packed
            warm = make(engine, phi)
            warm.start()
            warm.iterate()
            del warm
            algorithm = make(engine, phi)
            start = time.perf_counter()
            value = algorithm.start()
            for _ in range(n_iter):
                value = algorithm.iterate()
            cupy.cuda.Device().synchronize()
            row[f"{kind}_ms"] = 1e3 * (time.perf_counter() - start) / n_iter
            row[f"{kind}_loglik"] = value
            del algorithm, engine, phi
        row["difference"] = row["half_loglik"] / row["float32_loglik"] - 1.0
        rows.append(row)
        print(row, flush=True)
    return rows


def time_whole_fit() -> list[dict[str, Any]]:
    """Time the estimator from a SciPy matrix, median of 3."""
    X = on_host(draw_corpus("1000000"))
    cupy.get_default_memory_pool().free_all_blocks()
    times = []
    for _ in range(3):
        start = time.perf_counter()
        PLSA(128, max_iter=100, tol=0.0, random_state=0, device="cuda").fit(X)
        times.append(time.perf_counter() - start)
    what = "PLSA.fit of 1,000,000 documents, 100 iterations, start and checks included"
    return [{"what": what, "ms": 1e3 * float(np.median(times))}]


def time_steps() -> list[dict[str, Any]]:
    """Time what is not an EM iteration, on 100,000 documents."""
    corpus = draw_corpus("100000")
    engine = CudaEngine(corpus, 128)
    _, packed = random_state(engine)
    fit = Learner(engine, engine.unpack_topics(packed), ThetaStep(), PhiStep())
    fit.start()
    for _ in range(20):
        fit.iterate()
    topics, ones = fit.weights, np.broadcast_to(1.0, (corpus.shape[0], 128))
    words = engine.word_pass(fit.documents, topics, cupy.empty_like(topics))
    apart, context = OrthogonalPhi(0.5), Context.of(engine, topics)
    prepare_step(apart, context)

    def fold_in() -> Any:
        rows = engine.pack_documents(ones)
        return engine.document_pass(rows, topics, max_updates=500, tol=1e-4)

    updates = float(fold_in().n_updates.mean())
    X = on_host(corpus)
    word_major = np.ascontiguousarray(fit.topics().T)
    cores = os.cpu_count()

    def infer(device: str) -> Callable[[], Any]:
        return lambda: frank_wolfe(X, word_major, device=device, n_jobs=-1)

    infer("cpu")()  # compiles
    return [
        {
            "what": f"fold-in, {updates:.0f} updates per document",
            "ms": milliseconds(fold_in),
        },
        {"what": "Frank-Wolfe", "ms": milliseconds(infer("cuda"), 3)},
        {
            "what": f"Frank-Wolfe, {cores} CPU cores",
            "ms": milliseconds(infer("cpu"), 1),
        },
        {
            "what": "orthogonal φ-step",
            "ms": milliseconds(
                lambda: update_topics(apart, words.copy(), topics, context)
            ),
        },
    ]


def main() -> None:
    arguments = _arguments()
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    report: dict[str, Any] = {
        "device": properties["name"].decode(),
        "l2_bytes": int(properties["l2CacheSize"]),
        "cupy": cupy.__version__,
        "cuda_runtime": cupy.cuda.runtime.runtimeGetVersion(),
        "ceilings": ceilings(),
        "corpora": {},
        "precision": [],
        "growth": [],
        "steps": [],
        "copies": {},
        "streaming": [],
        "variants": [],
    }
    _keep_others(report, arguments)
    for name in arguments.corpora:
        corpus = draw_corpus(name)
        entry: dict[str, Any] = {
            "documents": corpus.shape[0],
            "terms": corpus.shape[1],
            "nnz": len(corpus.indices),
            "parts": [],
            "fits": [],
        }
        report["corpora"][name] = entry
        for n_topics in arguments.topics:
            row = time_parts(corpus, n_topics)
            entry["parts"].append(with_floors(row, corpus, report["ceilings"]))
            print(name, entry["parts"][-1], flush=True)
            cupy.get_default_memory_pool().free_all_blocks()
        if arguments.fits and name != "285M":
            entry["fits"] = time_fits(corpus, 128, 100)
        _write(report, Path(arguments.out))
        del corpus
        cupy.get_default_memory_pool().free_all_blocks()
    for n_topics in (128, 256) if arguments.fits else ():
        report["precision"] += time_precision(n_topics)
        _write(report, Path(arguments.out))
    for size in SIZES if arguments.growth else ():
        cupy.get_default_memory_pool().free_all_blocks()
        corpus = draw_corpus(str(size))
        row = with_floors(time_parts(corpus, 128), corpus, report["ceilings"])
        sizes = {"documents": size, "nnz": len(corpus.indices)}
        report["growth"].append(sizes | row)
        del corpus
        cupy.get_default_memory_pool().free_all_blocks()
        _write(report, Path(arguments.out))
    if arguments.growth:
        report["steps"] = time_steps() + time_whole_fit()
        _write(report, Path(arguments.out))
    if arguments.streaming:
        report["copies"] = copy_speed()
        report["streaming"] = time_streaming(report["copies"]) + time_disk()
        _write(report, Path(arguments.out))
    if arguments.variants:
        report["variants"] = time_variants(arguments.topics)
        _write(report, Path(arguments.out))
    print(tables(report))


def _keep_others(report: dict[str, Any], arguments: argparse.Namespace) -> None:
    """Take what this run does not measure from the last one, and say so."""
    last = Path(arguments.out) / "gpu.json"
    before = json.loads(last.read_text()) if last.exists() else {}
    sections = {
        "streaming": ("streaming", "copies"),
        "variants": ("variants",),
        "growth": ("growth", "steps"),
    }
    report["earlier"] = []
    for asked, names in sections.items():
        if not getattr(arguments, asked) and before.get(names[0]):
            report.update({name: before[name] for name in names})
            report["earlier"].append(asked)


def _write(report: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gpu.json").write_text(json.dumps(report, indent=1) + "\n")
    (folder / "gpu.md").write_text(tables(report))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    names = list(CORPORA)
    parser.add_argument("--corpora", nargs="+", choices=names, default=names)
    parser.add_argument("--topics", type=int, nargs="+", default=[32, 128, 256, 1024])
    parser.add_argument("--no-fits", dest="fits", action="store_false")
    parser.add_argument(
        "--growth", action="store_true", help="10^4 to 10^7 documents, and other steps"
    )
    parser.add_argument(
        "--streaming", action="store_true", help="corpora that do not stay on the GPU"
    )
    parser.add_argument(
        "--variants", action="store_true", help="the kernels in other shapes"
    )
    parser.add_argument("--out", default=str(RESULTS), help="folder of the results")
    return parser.parse_args()


if __name__ == "__main__":
    main()
