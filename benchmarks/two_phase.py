# SPDX-License-Identifier: BSD-3-Clause
"""Time and memory of the two-phase framework.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.two_phase --jobs 2
    python -m benchmarks.two_phase --scale 200000 --jobs 2

Without ``--scale``: both phases of FSTM^c and MedLDA on a training part of four fifths
of the paper's corpora, K = 120, beside the paper's seconds. With it: both phases on as
many synthetic documents. Accuracies are in ``benchmarks.papers.sdr``. Results:
``results/two_phase.json`` and ``two_phase.md``.
"""

import argparse
import json
import resource
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.papers.common import load
from benchmarks.papers.sdr import N_TOPICS, PAPER, SETTING
from topicfold import FSTM, MedLDA, TwoPhase
from topicfold.choosing.evaluation import draw_split

RESULTS = Path(__file__).parent / "results"
SCALE_TOPICS = 40


def synthetic(n_documents, n_terms=20_000, n_classes=20, n_themes=60, seed=0):
    """Documents of 30 to 60 tokens: three themes, of which one is the class's."""
    rng = np.random.default_rng(seed)
    themes = [rng.permutation(n_terms)[:400] for _ in range(n_themes)]
    y = rng.integers(0, n_classes, n_documents)
    lengths = rng.integers(30, 61, n_documents)
    own = n_classes * rng.integers(0, n_themes // n_classes, n_documents) + y
    chosen = np.column_stack([own, rng.integers(0, n_themes, (n_documents, 2))])
    rows = np.repeat(np.arange(n_documents), lengths)
    theme = chosen[rows, rng.integers(0, 3, len(rows))]
    # Zipf's law within a theme.
    rank = np.minimum((400 ** rng.random(len(rows))).astype(int), 399)
    words = np.array(themes)[theme, rank]
    shape = (n_documents, n_terms)
    X = sp.csr_matrix((np.ones(len(rows), np.float32), (rows, words)), shape=shape)
    return X, y


def timed(fit):
    """Return seconds and CPU seconds of all threads."""
    began, cpu = time.perf_counter(), time.process_time()
    fit()
    return {
        "seconds": round(time.perf_counter() - began, 2),
        "cpu_seconds": round(time.process_time() - cpu, 2),
    }


def measure_corpora(names, jobs):
    """FSTM^c and MedLDA on the training part of each corpus."""
    warm_X, warm_y = synthetic(300, n_terms=6000)
    records = []
    for name in names:
        corpus = load(name)
        y, _ = corpus.encoded_labels()
        train = draw_split(y, 0.2, 0)
        X = sp.csr_matrix(corpus.counts, dtype=np.float32)[train]
        models = {
            "FSTM^c": lambda: TwoPhase(FSTM(N_TOPICS, random_state=0), **SETTING),
            "MedLDA": lambda: MedLDA(N_TOPICS, random_state=0),
        }
        for label, make in models.items():
            # Kernels are loaded and compiled before the clock starts.
            make().set_params(n_jobs=jobs).fit(warm_X, warm_y)
            model = make().set_params(n_jobs=jobs)
            if label == "FSTM^c":
                model.base.set_params(n_jobs=jobs)
            record = {"corpus": name, "model": label, "threads": jobs}
            record |= timed(lambda model=model: model.fit(X, y[train]))  # noqa: B023
            record["paper_seconds"] = PAPER[name][label][0]
            print(json.dumps(record), flush=True)
            records.append(record)
    return records


def measure_scale(n_documents, jobs, approximate):
    """Both phases on many documents: seconds and peak memory."""
    X, y = synthetic(n_documents)
    started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    base = FSTM(SCALE_TOPICS, max_iter=5, random_state=0, n_jobs=jobs)
    model = TwoPhase(base, n_rounds=1, approximate=approximate, n_jobs=jobs)
    record = {
        "documents": n_documents,
        "terms": X.shape[1],
        "non_zeros": int(X.nnz),
        "topics": SCALE_TOPICS,
        "threads": jobs,
        "approximate": approximate,
        **timed(lambda: model.fit(X, y)),
    }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    record |= {
        "peak_MiB": round(peak / 1024),
        "peak_before_fit_MiB": round(started / 1024),
    }
    print(json.dumps(record), flush=True)
    return [record]


def keep(records):
    """Put the records beside those of other runs, newer ones over older."""
    path = RESULTS / "two_phase.json"
    old = json.loads(path.read_text()) if path.is_file() else []
    names = ("corpus", "model", "documents", "threads", "approximate")
    by_name = {tuple(r.get(n) for n in names): r for r in [*old, *records]}
    path.write_text(json.dumps(list(by_name.values()), indent=1) + "\n")
    return list(by_name.values())


def write_page(records):
    """Write the Markdown."""
    lines = [
        "# The two-phase framework: time and memory",
        "",
        f"Seconds to learn the space, K = {N_TOPICS}, on four fifths of each corpus, "
        "neighbour search included; FSTM^c with word weights and neighbours as in the "
        "page of the paper. The paper's seconds are of another machine.",
        "",
        "| corpus | model | threads | s | CPU s | s (paper) | times faster |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in records:
        if "corpus" in r:
            times = r["paper_seconds"] / r["seconds"]
            lines.append(
                f"| {r['corpus']} | {r['model']} | {r['threads']} | {r['seconds']} | "
                f"{r['cpu_seconds']} | {r['paper_seconds']} | {times:.0f} |"
            )
    lines += [
        "",
        f"Synthetic documents of 30 to 60 tokens, 20,000 terms, 20 classes, K = "
        f"{SCALE_TOPICS}, 5 iterations of the base, one round; `approximate`: "
        "neighbours by their rare words.",
        "",
        "| documents | threads | approximate | s | CPU s | peak MiB | before fit |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in records:
        if "documents" in r:
            lines.append(
                f"| {r['documents']:,} | {r['threads']} | "
                f"{'yes' if r['approximate'] else 'no'} | {r['seconds']} | "
                f"{r['cpu_seconds']} | {r['peak_MiB']} | {r['peak_before_fit_MiB']} |"
            )
    (RESULTS / "two_phase.md").write_text("\n".join(lines) + "\n")


def main():
    """Parse options and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", nargs="+", default=list(PAPER), choices=PAPER)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--scale", type=int, help="number of synthetic documents")
    parser.add_argument("--approximate", action="store_true", help="with --scale")
    options = parser.parse_args()
    if options.scale:
        records = measure_scale(options.scale, options.jobs, options.approximate)
    else:
        records = measure_corpora(options.corpus, options.jobs)
    write_page(keep(records))


if __name__ == "__main__":
    main()
