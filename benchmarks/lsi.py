# SPDX-License-Identifier: BSD-3-Clause
"""Time our truncated SVD against its rivals, and updates against refits.

    OMP_NUM_THREADS=1 python -m benchmarks.lsi --corpora /path/to/corpora

All decompose the same matrix in one process, turn by turn, on one thread. Seconds are
of processor time, so that a busy machine does not count; the best of the repeats does.
Ours is SciPy's PROPACK with checks of what it returned. The error is the relative one
of the reconstruction, ``‖X - U Σ Vᵀ‖ / ‖X‖``, computed from the vectors of each. Then
1,000 documents are added to a model of the others, and that is timed against fitting
all of them. Written results of other corpora are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import svds
from sklearn.utils.extmath import randomized_svd

from topicfold import LSI
from topicfold.lsi import truncated_svd
from topicfold.lsi.weighting import global_weights, weigh

RESULTS = Path(__file__).parent / "results"
_TABLES = ("svd", "update")
CORPORA = ("20news_rennie_61188", "tdt2_dengcai")


def main() -> None:
    arguments = _arguments()
    truncated_svd(sp.random(600, 500, 0.1, format="csr", random_state=0), 5)
    report: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} CPU",
        "threads": arguments.threads,
        "rank": arguments.rank,
        "weighting": arguments.weighting,
        "svd": {},
        "update": {},
    }
    for name in arguments.corpus:
        path = Path(arguments.corpora) / name / "counts.npz"
        counts = sp.csr_matrix(sp.load_npz(path)).astype(np.float32)
        if not arguments.only_update:
            report["svd"][name] = _compare(counts, arguments)
        report["update"][name] = _update(counts, arguments)
    stem = RESULTS / f"lsi_{arguments.weighting}"
    if arguments.write:
        _keep_others(report, stem.with_suffix(".json"))
    text = _markdown(report)
    print(text)
    if arguments.write:
        stem.with_suffix(".json").write_text(json.dumps(report, indent=2) + "\n")
        stem.with_suffix(".md").write_text(text + "\n")


def _keep_others(report: dict[str, Any], path: Path) -> None:
    """Take over what was measured before on other corpora, with the same settings."""
    if not path.exists():
        return
    before = json.loads(path.read_text())
    if all(before[key] == report[key] for key in report if key not in _TABLES):
        for table in _TABLES:
            report[table] = {**before[table], **report[table]}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpora", default=os.environ.get("TOPICFOLD_CORPORA", "."))
    parser.add_argument("--corpus", nargs="+", default=list(CORPORA))
    parser.add_argument("--rank", type=int, default=100)
    parser.add_argument("--weighting", default="counts")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--update-repeats", type=int, default=5)
    parser.add_argument("--gensim", action="store_true", help="gensim's LSI too")
    parser.add_argument("--only-update", action="store_true")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results")
    return parser.parse_args()


def _compare(counts: sp.csr_matrix, arguments: argparse.Namespace) -> dict[str, Any]:
    X = weigh(counts, arguments.weighting, global_weights(counts, arguments.weighting))
    runs = _runs(X, arguments)
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    errors: dict[str, float] = {}
    last: dict[str, float] = {}
    for _ in range(arguments.repeats):
        for name, run in runs.items():
            start = time.process_time()
            values, right = run()
            seconds[name].append(time.process_time() - start)
            errors[name] = _error(X, right)
            last[name] = float(np.min(values))
    return {"shape": X.shape, "seconds": seconds, "error": errors, "last_value": last}


def _runs(X: sp.csr_matrix, arguments: argparse.Namespace) -> dict[str, Callable]:
    rank = arguments.rank
    wide = X.astype(np.float64)

    def ours() -> tuple[np.ndarray, np.ndarray]:
        found = truncated_svd(X, rank, threads=arguments.threads)
        return found.values, found.right

    def scipys(solver: str) -> Callable:
        def run() -> tuple[np.ndarray, np.ndarray]:
            _, values, right = svds(wide, rank, solver=solver, random_state=0)
            return values, right.T

        return run

    def sklearns() -> tuple[np.ndarray, np.ndarray]:
        _, values, right = randomized_svd(wide, rank, random_state=0)
        return values, right.T

    runs = {
        "topicfold": ours,
        "SciPy PROPACK": scipys("propack"),
        "SciPy ARPACK": scipys("arpack"),
        "scikit-learn randomized": sklearns,
    }
    if arguments.gensim:
        runs["gensim"] = lambda: _gensim(wide, rank)
    return runs


def _gensim(X: sp.csr_matrix, rank: int) -> tuple[np.ndarray, np.ndarray]:
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LsiModel

    corpus = Sparse2Corpus(X, documents_columns=False)
    words = dict.fromkeys(range(X.shape[1]), "")
    model = LsiModel(corpus, num_topics=rank, id2word=words)
    return model.projection.s, model.projection.u


def _error(X: sp.csr_matrix, right: np.ndarray) -> float:
    """Return ‖X - X V Vᵀ‖ / ‖X‖ of an orthonormal V."""
    basis, _ = np.linalg.qr(right)
    total = float(np.square(X.data, dtype=np.float64).sum())
    kept = float(np.square(X.astype(np.float64) @ basis).sum())
    return float(np.sqrt(max(total - kept, 0.0) / total))


def _update(counts: sp.csr_matrix, arguments: argparse.Namespace) -> dict[str, Any]:
    order = np.random.default_rng(0).permutation(counts.shape[0])
    counts, old = counts[order], counts.shape[0] - 1000
    options = {"weighting": arguments.weighting, "n_jobs": arguments.threads}
    refits, updates = [], []
    LSI(arguments.rank, **options).fit(counts[:1500]).partial_fit(counts[:600])
    for _ in range(arguments.update_repeats):
        model = LSI(arguments.rank, random_state=0, **options).fit(counts[:old])
        start = time.process_time()
        model.partial_fit(counts[old:])
        updates.append(time.process_time() - start)
        start = time.process_time()
        fresh = LSI(arguments.rank, random_state=0, **options).fit(counts)
        refits.append(time.process_time() - start)
    kept = [float((m.singular_values_**2).sum()) for m in (model, fresh)]
    return {
        "old_documents": old,
        "new_documents": 1000,
        "refit_seconds": refits,
        "update_seconds": updates,
        "squares_kept_beside_fresh": kept[0] / kept[1],
    }


def _markdown(report: dict[str, Any]) -> str:
    lines = [
        f"Rank {report['rank']}, weighting {report['weighting']}, "
        f"{report['threads']} thread, seconds of processor time, {report['machine']}."
    ]
    for name, part in report["svd"].items():
        ours = min(part["seconds"]["topicfold"])
        lines += [
            "",
            f"**{name}**, {part['shape'][0]} × {part['shape'][1]}",
            "",
            "| decomposition | best, s | all, s | times ours | relative error | σ_K |",
            "| --- | ---: | --- | ---: | ---: | ---: |",
        ]
        for peer, times in part["seconds"].items():
            every = " ".join(f"{t:.2f}" for t in times)
            lines.append(
                f"| {peer} | {min(times):.2f} | {every} | {min(times) / ours:.1f} | "
                f"{part['error'][peer]:.10f} | {part['last_value'][peer]:.6f} |"
            )
    lines += [
        "",
        "| corpus | add 1,000 documents, s | to | refit, s | faster | squares kept, of "
        "a fresh fit's |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, part in report["update"].items():
        update, refit = min(part["update_seconds"]), min(part["refit_seconds"])
        lines.append(
            f"| {name} | {update:.3f} | {part['old_documents']} | {refit:.2f} | "
            f"{refit / update:.0f} × | {part['squares_kept_beside_fresh']:.4f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
