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
SIZES = (50,)
SEEDS = range(5)
# Documents whose tokens are drawn into two halves, each with columns of its own.
HALVED, MOST_HALVED = ("ap_blei", "la1s", "k1b", "bbc_news_octis"), 1200


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


def by_topics(counts, train, test, n_topics, seed) -> dict[str, float]:
    """Shares found by mixtures (cosine of their square roots) and `translations`."""
    model = MultimodalLDA(n_topics, random_state=seed)
    known = {name: X[train] for name, X in counts.items()}
    start = time.process_time()
    model.fit(known)
    seconds = time.process_time() - start
    rows = {name: np.sqrt(model.transform({name: X})) for name, X in counts.items()}
    found = {"mixtures": found_share(rows, test), "seconds": seconds}
    shares = []
    for one, other in itertools.permutations(counts, 2):
        new, among = {one: counts[one][test]}, {other: counts[other]}
        places, _ = model.translations(new, among, known=known)
        shares.append((places[:, 0] == test).mean())
    found["translations"] = float(np.mean(shares))
    return found


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


def in_halves(X: sp.csr_matrix, seed: int) -> dict[str, sp.csr_matrix]:
    """Return two matrices, each token of a document drawn into one of them."""
    rng = np.random.default_rng(seed)
    X = sp.csr_matrix(X[rng.permutation(X.shape[0])[:MOST_HALVED]])
    one, other = X.copy(), X.copy()
    one.data = rng.binomial(X.data.astype(int), 0.5).astype(float)
    other.data = X.data - one.data
    for half in (one, other):
        half.eliminate_zeros()
    both = np.flatnonzero((one.getnnz(axis=1) > 0) & (other.getnnz(axis=1) > 0))
    return {"one": one[both], "other": other[both]}


def row_of(counts, n_topics: int) -> str:
    """Return the cells of one table row: shares found in all splits."""
    found: dict[str, list[float]] = {}
    for seed in SEEDS:
        train, test = halves(next(iter(counts.values())).shape[0], seed)
        row = by_topics(counts, train, test, n_topics, seed)
        row["lsi"] = by_lsi(counts, train, test, n_topics, seed)
        for name, value in row.items():
            found.setdefault(name, []).append(value)

    def shown(name: str) -> str:
        low, high = 100 * min(found[name]), 100 * max(found[name])
        return f"{100 * np.mean(found[name]):.1f} % ({low:.1f} to {high:.1f})"

    return (
        f"| {shown('translations')} | {shown('mixtures')} | "
        f"{shown('lsi')} | {np.mean(found['seconds']):.1f} |"
    )


HEAD = "`translations` | mixtures | LSI of the joined tf-idf | seconds of the fit |"


def measure(corpora: Path) -> list[str]:
    """Return the lines of the page."""
    counts = load(corpora / "polylingual")
    n_documents = counts["en"].shape[0]
    lines = [
        "# Translations found by topics",
        "",
        f"{n_documents} Bible chapters in {', '.join(LANGUAGES)}. Learned from half of "
        "them; each of the others, in one language, looks for itself in another among "
        "all chapters: share of chapters found first, mean of the twelve directed "
        f"pairs; mean, smallest and largest of {len(SEEDS)} splits. `python -m "
        "benchmarks.sides_polylingual --corpora DIR --write`. Mixtures are compared by "
        "the cosine of their square roots; `translations` is "
        "`MultimodalLDA.translations`, with the documents of the fit as `known`. "
        "How it compares documents was chosen on another split, at 50 topics; that "
        "words take part on that and on one of la1s.",
        "",
        f"| topics | {HEAD}",
        "| --- | --- | --- | --- | --- |",
    ]
    for n_topics in SIZES:
        lines.append(f"| {n_topics} {row_of(counts, n_topics)}")
        print(lines[-1], flush=True)
    lines += [
        "",
        f"Corpora of one language: at most {MOST_HALVED:,} documents, each token drawn "
        "into one of two halves, which have columns of "
        "their own; one half looks for the other. 50 topics, splits as above.",
        "",
        f"| corpus | {HEAD}",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in HALVED:
        X = sp.csr_matrix(sp.load_npz(corpora / name / "counts.npz"), dtype=float)
        lines.append(f"| {name} {row_of(in_halves(X, 0), SIZES[0])}")
        print(lines[-1], flush=True)
    lines += [
        "",
        "Mixtures have a few topics per chapter and say almost nothing about the "
        "others; LSI keeps a coordinate in every direction. Chapters that share their "
        "few topics differ in small shares, which one language alone estimates badly. "
        "`translations` lets tokens weigh less, so that more topics take part, and "
        "compares words by way of the chapters that are known in both languages.",
    ]
    return lines


def main() -> None:
    """Measure, print, and write the page if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    text = "\n".join(measure(options.corpora)) + "\n"
    print(text)
    if options.write:
        (RESULTS / "sides_polylingual.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
