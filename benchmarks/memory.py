# SPDX-License-Identifier: BSD-3-Clause
"""Peak memory of fits, as a multiple of the counts and the fitted arrays.

Every model is fitted in a process of its own. A fit of a small corpus comes first, so
that modules and compiled code are in memory; what the process then holds is the
baseline. The peak above it, X included, is divided by the bytes of X (CSR, float32 and
32-bit indices) and of the fitted topics and mixtures. LDA on blocks is fitted with and
without something else that is known of every document: no table of documents and topics
may be made for it. Linux only::

    python -m benchmarks.memory > benchmarks/results/memory.md
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

N_TERMS = 30_000
WORDS = 100  # different words per document
MODELS = ("PLSA", "LDA", "FSTM", "GibbsLDA", "OrthogonalPLSA")
BOUND = 6.0  # promised for every model
# On blocks: five times as many documents, and these sides; the peak with one is to be
# at most this multiple of the plain one.
BLOCKS, BLOCK_ROWS, BLOCK_BOUND = 5, 10_000, 1.3
SIDED = ("none", "response", "features", "times")


def make_corpus(n_documents: int, seed: int = 0) -> sparse.csr_matrix:
    """Return counts with words as frequent as in texts, `WORDS` per document."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(10, N_TERMS + 10)
    ends = np.cumsum(share / share.sum())
    indices = np.empty((n_documents, WORDS), np.int32)
    for row in indices:
        words = np.unique(
            np.searchsorted(ends, rng.random(2 * WORDS)).clip(max=N_TERMS - 1)
        )
        while len(words) < WORDS:
            more = np.searchsorted(ends, rng.random(WORDS)).clip(max=N_TERMS - 1)
            words = np.union1d(words, more)
        row[:] = np.sort(rng.permutation(words)[:WORDS])
    data = rng.geometric(0.6, indices.size).astype(np.float32)
    indptr = np.arange(0, indices.size + 1, WORDS, dtype=np.int32)
    return sparse.csr_matrix(
        (data, indices.ravel(), indptr), shape=(n_documents, N_TERMS)
    )


def make_model(name: str, n_topics: int) -> Any:
    """Return the model with few iterations: every kind of pass happens in them."""
    import topicfold

    options = {"max_iter": 7, "burn_in": 5} if name == "GibbsLDA" else {"max_iter": 3}
    return getattr(topicfold, name)(n_topics, random_state=0, **options)


def resident(field: str) -> int:
    """Return a size in bytes from the kernel's account of this process."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {field} in /proc/self/status: this needs Linux")


def measure(name: str, path: str, n_topics: int) -> dict[str, float]:
    """Fit one model in this process and return its sizes in bytes."""
    warnings.simplefilter("ignore")
    make_model(name, n_topics).fit(make_corpus(300, seed=1))
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    baseline = resident("VmRSS")
    X = sparse.csr_matrix(sparse.load_npz(path))
    model = make_model(name, n_topics).fit(X)
    peak = resident("VmHWM") - baseline
    corpus = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    result = model.components_.nbytes + model.doc_topics_.nbytes
    return {"corpus": corpus, "result": result, "peak": peak}


def sides_of(kind: str, n_documents: int) -> tuple[list[Any], dict[str, Any]]:
    """Return the sides of a kind, and random data for them."""
    from topicfold.evidence import Features, Response, TimeStamps

    rng = np.random.default_rng(0)
    if kind == "none":
        return [], {}
    if kind == "response":
        return [Response(weight=10.0)], {"response": rng.normal(size=n_documents)}
    if kind == "features":
        return [Features()], {"features": rng.normal(size=(n_documents, 3))}
    return [TimeStamps()], {"time": rng.random(n_documents)}


def measure_blocks(kind: str, folder: str, n_topics: int) -> dict[str, float]:
    """Fit LDA on blocks in this process and return the peak in bytes."""
    from topicfold import LDA
    from topicfold.corpus import BlockMatrix

    def fit(X: Any) -> None:
        sides, data = sides_of(kind, X.shape[0])
        LDA(n_topics, sides=sides or None, max_iter=3, random_state=0).fit(X, **data)

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as small:
        fit(
            BlockMatrix.write(
                Path(small) / "x", make_corpus(300, seed=1), block_size=100
            )
        )
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    baseline = resident("VmRSS")
    fit(BlockMatrix.open(folder))
    return {"peak": resident("VmHWM") - baseline}


def blocks_table(found: dict[str, float], n_documents: int, n_topics: int) -> str:
    """Return the peaks on blocks as Markdown."""
    plain = found["none"]
    rows = [
        f"| {kind} | {peak / 1e6:.1f} | {peak / plain:.2f} |"
        for kind, peak in found.items()
    ]
    return "\n".join(
        [
            f"LDA on blocks, {n_documents} documents in blocks of {BLOCK_ROWS}, "
            f"{n_topics} topics, with what else is known of the documents:",
            "",
            "| side | peak (MB) | times that without |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def ratio(sizes: dict[str, float]) -> float:
    """Return the peak as a multiple of X and the fitted arrays."""
    return sizes["peak"] / (sizes["corpus"] + sizes["result"])


def table(found: dict[str, dict[str, float]], n_documents: int, n_topics: int) -> str:
    """Return the figures as a page of Markdown."""
    lines = [
        "# Peak memory of fits",
        "",
        f"`python -m benchmarks.memory --documents {n_documents} --topics {n_topics}`:",
        f"{n_documents} documents of {WORDS} different words, {N_TERMS} terms, "
        f"{n_topics} topics, one thread.",
        "",
        "| model | X (MB) | fitted arrays (MB) | peak (MB) | peak / (X + fitted) |",
        "|---|---|---|---|---|",
    ]
    for name, sizes in found.items():
        corpus, result, peak = (sizes[key] for key in ("corpus", "result", "peak"))
        lines.append(
            f"| {name} | {corpus / 1e6:.1f} | {result / 1e6:.1f} | {peak / 1e6:.1f} "
            f"| {ratio(sizes):.2f} |"
        )
    return "\n".join([*lines, ""])


def main() -> int:
    """Measure every model in a child, print the table, fail above the bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--child", nargs=2, metavar=("MODEL", "NPZ"))
    parser.add_argument("--sides", nargs="*", default=SIDED)
    parser.add_argument("--blocks-child", nargs=2, metavar=("SIDE", "FOLDER"))
    args = parser.parse_args()
    if args.child:
        print(json.dumps(measure(*args.child, args.topics)))
        return 0
    if args.blocks_child:
        print(json.dumps(measure_blocks(*args.blocks_child, args.topics)))
        return 0
    found, peaks = {}, {}
    X = make_corpus(args.documents)
    with tempfile.TemporaryDirectory() as folder:
        path, blocks = str(Path(folder) / "X.npz"), str(Path(folder) / "blocks")
        sparse.save_npz(path, X, compressed=False)
        for name in args.models:
            found[name] = _child("--child", name, path, args.topics)
        if args.sides:
            from topicfold.corpus import BlockMatrix

            whole = sparse.csr_matrix(sparse.vstack([X] * BLOCKS))
            BlockMatrix.write(blocks, whole, block_size=BLOCK_ROWS)
        for kind in args.sides:
            peaks[kind] = _child("--blocks-child", kind, blocks, args.topics)["peak"]
    if found:
        print(table(found, args.documents, args.topics))
    if peaks:
        print(blocks_table(peaks, BLOCKS * args.documents, args.topics))
    over = any(ratio(sizes) > BOUND for sizes in found.values())
    most = BLOCK_BOUND * peaks.get("none", 0.0)
    return over or any(peak > most for peak in peaks.values() if "none" in peaks)


def _child(flag: str, name: str, path: str, n_topics: int) -> dict[str, float]:
    """Return what a process of its own measures."""
    command = [sys.executable, "-m", "benchmarks.memory", flag, name, path]
    command += ["--topics", str(n_topics)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    sizes: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return sizes


if __name__ == "__main__":
    sys.exit(main())
