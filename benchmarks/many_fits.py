# SPDX-License-Identifier: BSD-3-Clause
"""Many fits at a time against one after the other: wall seconds on two threads.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.many_fits --write

Five numbers of topics, four seeds each. Single fits run with one thread, as by default,
and with two.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from topicfold import LDA
from topicfold.choosing import fit_many

RESULTS = Path(__file__).parent / "results"
SIZES, SEEDS, THREADS = (10, 20, 30, 40, 50), 4, 2


def single(X, n_jobs):
    """Return the seconds of all fits, one after the other."""
    began = time.perf_counter()
    for size in SIZES:
        for seed in range(SEEDS):
            LDA(size, random_state=seed, n_jobs=n_jobs).fit(X)
    return time.perf_counter() - began


def said(seconds):
    """Return what the seconds mean."""
    alone, both, together = seconds.values()
    return [
        "A loop over `LDA(k).fit(X)` runs on one thread unless `n_jobs` says "
        f"otherwise: `fit_many` takes {together / alone:.2f} of what that takes. It "
        f"takes {together / both:.2f} of a loop whose fits have both threads to "
        f"themselves: these are {alone / both:.2f} times as fast as on one, so no "
        f"schedule of the same passes can take less than {alone / both / THREADS:.2f}. "
        "Passes take all but a few per cent of a fit here, so sharing starts and "
        "prepared matrices would save little. Fits do not start from each other, "
        "because they would then agree more than the data support.",
        "",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--corpus", default="20news_rennie_61188")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = Path(os.environ["TOPICFOLD_CORPORA"]) / given.corpus
    X = sp.load_npz(folder / "counts.npz").tocsr().astype(np.float32)
    LDA(10, random_state=0, max_iter=6, n_jobs=THREADS).fit(X[:500])  # compiles
    seconds = {f"single, {n} threads each": single(X, n) for n in (1, THREADS)}
    began = time.perf_counter()
    fits = fit_many(LDA(), X, SIZES, n_seeds=SEEDS, n_jobs=THREADS)
    seconds["fit_many, two at a time"] = together = time.perf_counter() - began
    rows = [
        f"| {name} | {value:.1f} | {together / value:.2f} |"
        for name, value in seconds.items()
    ]
    stable = ", ".join(f"{r['topics']}: {r['stability']:.2f}" for r in fits.rows())
    text = "\n".join(
        [
            "# Many fits at a time",
            "",
            f"By `python -m benchmarks.many_fits --write`: {len(SIZES) * SEEDS} fits of"
            f" LDA to {given.corpus} ({X.shape[0]:,} documents), topics"
            f" {', '.join(map(str, SIZES))}, {SEEDS} seeds each, two cores.",
            "",
            "| | seconds | fit_many takes |",
            "| --- | ---: | ---: |",
            *rows,
            "",
            *said(seconds),
            f"Stability by number of topics: {stable}.",
            "",
        ]
    )
    print(text)
    if given.write:
        (RESULTS / "many_fits.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
