# SPDX-License-Identifier: BSD-3-Clause
"""A chapter's translation found by its mixture alone: Bible chapters, four languages.

The model learns from half of the chapters in all languages. Of the other half, each
language by itself gives mixtures; a chapter's translation is found if it is first of
all 1,189 chapters, by the likeness of the mixtures.

    python -m benchmarks.sides_polylingual --corpora DIR --write

LSI is an SVD of the joined tf-idf matrix, each language folded in by itself.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd

from topicfold import MultimodalLDA

RESULTS = Path(__file__).parent / "results"
LANGUAGES = ("en", "es", "pt", "eo")
SIZES = (50, 100, 200)
SEEDS = (0, 1, 2)


def load(folder: Path) -> dict[str, sp.csr_matrix]:
    """Return the counts of each language."""
    return {
        name: sp.csr_matrix(sp.load_npz(folder / f"counts_{name}.npz"), dtype=float)
        for name in LANGUAGES
    }


def found_share(rows: dict[str, np.ndarray], test: np.ndarray) -> float:
    """Mean share, over pairs of languages, of chapters whose translation is first."""
    shares = []
    for one, other in itertools.permutations(rows, 2):
        likeness = rows[one][test] @ rows[other].T
        shares.append((likeness.argmax(axis=1) == test).mean())
    return float(np.mean(shares))


def by_topics(counts, train, test, n_topics, seed, **options) -> tuple[float, float]:
    """Share found by mixtures (cosine of their square roots), and seconds."""
    start = time.process_time()
    model = MultimodalLDA(n_topics, random_state=seed, **options)
    model.fit({name: X[train] for name, X in counts.items()})
    rows = {name: np.sqrt(model.transform({name: X})) for name, X in counts.items()}
    return found_share(rows, test), time.process_time() - start


def by_lsi(counts, train, test, n_topics, seed) -> float:
    """Share found by LSI: the joined matrix's right factor, language by language."""
    weighed = {name: TfidfTransformer(sublinear_tf=True) for name in counts}
    parts = [weighed[name].fit_transform(X[train]) for name, X in counts.items()]
    _, _, V = randomized_svd(sp.hstack(parts).tocsr(), n_topics, random_state=seed)
    rows, first = {}, 0
    for name, X in counts.items():
        own = V[:, first : first + X.shape[1]]
        rows[name] = normalize(weighed[name].transform(X) @ own.T)
        first += X.shape[1]
    return found_share(rows, test)


def halves(n_documents: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the chapters to learn from and the others."""
    order = np.random.default_rng(seed).permutation(n_documents)
    return np.sort(order[: n_documents // 2]), np.sort(order[n_documents // 2 :])


def measure(folder: Path) -> list[str]:
    """Return the lines of the page."""
    counts = load(folder)
    n_documents = counts["en"].shape[0]
    lines = [
        "# Translations found by mixtures alone",
        "",
        f"{n_documents} Bible chapters in {', '.join(LANGUAGES)}. Learned from half of "
        "them; each of the others, in one language, looks for itself in another among "
        "all chapters: share of chapters found first, mean of the twelve directed "
        "pairs, for three splits. `python -m benchmarks.sides_polylingual`.",
        "",
        "| topics | MultimodalLDA | seconds | LSI of the joined tf-idf |",
        "| --- | --- | --- | --- |",
    ]
    for n_topics in SIZES:
        topics, lsi, seconds = [], [], []
        for seed in SEEDS:
            train, test = halves(n_documents, seed)
            share, spent = by_topics(counts, train, test, n_topics, seed)
            topics.append(share)
            seconds.append(spent)
            lsi.append(by_lsi(counts, train, test, n_topics, seed))
        shown = [", ".join(f"{100 * v:.0f} %" for v in all_) for all_ in (topics, lsi)]
        lines.append(
            f"| {n_topics} | {shown[0]} | {np.mean(seconds):.0f} | {shown[1]} |"
        )
    return lines


def main() -> None:
    """Measure, print, and write the page if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    text = "\n".join(measure(options.corpora / "polylingual")) + "\n"
    print(text)
    if options.write:
        (RESULTS / "sides_polylingual.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
