# SPDX-License-Identifier: BSD-3-Clause
"""Peak memory of fits, as a multiple of the counts and the fitted arrays.

Every model is fitted in a process of its own. A fit of a small corpus comes first, so
that modules and compiled code are in memory; what the process then holds is the
baseline. The peak above it, X included, is divided by the bytes of X (CSR, float32 and
32-bit indices) and of the fitted topics and mixtures. Linux only::

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
    args = parser.parse_args()
    if args.child:
        print(json.dumps(measure(*args.child, args.topics)))
        return 0
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "X.npz")
        sparse.save_npz(path, make_corpus(args.documents), compressed=False)
        for name in args.models:
            command = [sys.executable, "-m", "benchmarks.memory", "--child", name, path]
            command += ["--topics", str(args.topics)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found[name] = json.loads(done.stdout.splitlines()[-1])
    print(table(found, args.documents, args.topics))
    return max(map(ratio, found.values())) > BOUND


if __name__ == "__main__":
    sys.exit(main())
