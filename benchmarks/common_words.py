# SPDX-License-Identifier: BSD-3-Clause
"""Words of most documents: which ones should LDA go without?

    TOPICFOLD_CORPORA=DIR python -m benchmarks.common_words --write

Compares rules for words that are in more than half of the documents: all left out
(``max_df=0.5``), none left out (``max_df=1.0``), and those that are spread evenly, with
several bounds of the overdispersion α (`topicfold.corpus.common_words`). LDA with 20
topics on each. Results go to ``common_words.json`` after each fit; fits that are there
are not made again.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

RESULTS = Path(__file__).parent / "results"
N_TOPICS = 20
SEEDS = (0, 1)
CHUNK = 100  # words of a piece of text in which words occur together
# The bounds were chosen on the first; the others had no part in it.
CHOSEN = ("sotu", "20news_joined", "panglee_scale", "wap")
UNSEEN = (
    *("nips0_12", "bbc_joined", "bills_keyatm", "la1s", "poliblog5k_stm"),
    *("20news_bydate_raw", "bbc_news_octis", "short_searchsnippets", "short_tweet"),
)
# Bounds of α below which common words are left out, and the rule that has the name of
# the level between which and the median word the bound lies.
FIXED = {"max_df=0.5": np.inf, "max_df=1.0": -np.inf} | {
    f"α < {bound:g}": bound for bound in (0.3, 0.5, 0.7, 1.0)
}
BETWEEN = {f"between {level:g}": level for level in (0.08, 0.15, 0.25)}
RULES = (*FIXED, *BETWEEN)


def folder(name):
    return Path(os.environ["TOPICFOLD_CORPORA"]) / name


def raw_texts(name):
    """Return texts and classes; of bbc_news_octis, its words in order."""
    if name == "bbc_news_octis":
        with gzip.open(folder(name) / "corpus.tsv.gz", "rt") as lines:
            rows = list(csv.reader(lines, delimiter="\t"))
        return [row[0] for row in rows], np.array([row[2] for row in rows])
    with gzip.open(folder(name) / "docs.jsonl.gz", "rt") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    return texts, np.array((folder(name) / "labels.txt").read_text().splitlines())


def joined(texts, y, size):
    """Return long documents: texts of one class, `size` to a document."""
    from topicfold.corpus.tokens import clean

    found = [
        ("\n".join(clean(texts[i]) for i in rows), label)
        for label in np.unique(y)
        for rows in np.array_split(
            np.flatnonzero(y == label), max(1, (y == label).sum() // size)
        )
    ]
    return [text for text, _ in found], np.array([label for _, label in found])


def load(name):
    """Return counts of all words, words, classes, and pieces that words meet in."""
    from topicfold.corpus import vectorize, words_of
    from topicfold.corpus.tokens import stop_word_list

    if name.endswith("_joined"):
        source, size = {"20news": ("20news_bydate_raw", 20)}.get(
            name.removesuffix("_joined"), ("bbc_news_octis", 10)
        )
        texts, y = joined(*raw_texts(source), size)
    elif (folder(name) / "docs.jsonl.gz").exists() or name == "bbc_news_octis":
        texts, y = raw_texts(name)
    else:
        counts = sp.csr_matrix(sp.load_npz(folder(name) / "counts.npz"))
        words = np.array((folder(name) / "vocab.txt").read_text().split("\n"))
        keep = np.flatnonzero(~np.isin(words[: counts.shape[1]], stop_word_list("en")))
        y = np.array((folder(name) / "labels.txt").read_text().splitlines())
        return counts[:, keep], words[keep].tolist(), y, counts[:, keep]
    if name == "sotu":  # parties change what they stand for: thirty years
        years = (folder(name) / "time.txt").read_text().split()
        y = np.array([int(year) // 30 for year in years])
    take = np.random.default_rng(0).permutation(len(texts))[:3000]
    texts, y = [texts[i] for i in take], y[take]
    counts, words = vectorize(texts, max_df=1.0)
    pieces = []
    for text in texts:
        found = words_of(text)
        pieces += [
            " ".join(found[i : i + CHUNK]) for i in range(0, len(found), CHUNK)
        ]
    return counts, words, y, vectorize(pieces, vocabulary=words)[0]


def left_out(counts, rule):
    """Return which words a rule leaves out."""
    from topicfold.corpus.common_words import COMMON, Spread

    spread = Spread()
    spread.add(sp.csr_matrix(counts))
    if rule in BETWEEN:
        return spread.even(COMMON, BETWEEN[rule])
    shares = np.bincount(counts.indices, minlength=counts.shape[1]) / counts.shape[0]
    return (shares > COMMON) & (spread.overdispersion() < FIXED[rule])


def measure(counts, words, y, pieces, dropped, seed):
    """Return what LDA reaches without the words dropped."""
    from sklearn.metrics import normalized_mutual_info_score

    from topicfold import LDA
    from topicfold.metrics import npmi_coherence

    kept = np.flatnonzero(~dropped)
    X = sp.csr_matrix(counts[:, kept])
    rows = np.flatnonzero(X.getnnz(axis=1))
    model = LDA(N_TOPICS, random_state=seed).fit(X[rows])
    theta = model.doc_topics_
    sizes = model.doc_lengths_ @ theta / model.doc_lengths_.sum()
    best = np.argsort(-model.components_, axis=1)[:, :10]
    largest = int(np.argmax(sizes))
    npmi = npmi_coherence(model.components_, pieces[:, kept], n_words=10)
    return {
        "npmi": float(np.mean(npmi)),
        "nmi": float(normalized_mutual_info_score(y[rows], theta.argmax(axis=1))),
        "different": len(np.unique(best)) / best.size,
        "largest": float(sizes[largest]),
        "largest_words": [words[kept[i]] for i in best[largest]],
        "topics": [
            [words[kept[i]] for i in row[:8]] for row in best[np.argsort(-sizes)]
        ],
    }


def run(names, file):
    """Make the fits that are missing."""
    records = json.loads(file.read_text()) if file.exists() else []
    for name in names:
        counts, words, y, pieces = load(name)
        totals = np.asarray(counts.sum(axis=0)).ravel()
        for rule in RULES:
            dropped = left_out(counts, rule)
            order = np.flatnonzero(dropped)
            order = order[np.argsort(-totals[order], kind="stable")]
            facts = {
                "corpus": name,
                "rule": rule,
                "documents": counts.shape[0],
                "length": float(counts.sum() / counts.shape[0]),
                "dropped": len(order),
                "share": float(totals[order].sum() / totals.sum()),
                "dropped_words": [words[i] for i in order[:12]],
            }
            for seed in SEEDS:
                key = (name, rule, seed)
                if any((r["corpus"], r["rule"], r["seed"]) == key for r in records):
                    continue
                # Rules that leave out the same words make the same fit.
                same = next(
                    (
                        r
                        for r in records
                        if (r["corpus"], r["seed"], r["dropped"], r["share"])
                        == (name, seed, facts["dropped"], facts["share"])
                    ),
                    None,
                )
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = same or measure(counts, words, y, pieces, dropped, seed)
                records.append({**found, **facts, "seed": seed})
                file.write_text(json.dumps(records, indent=1, ensure_ascii=False))
                last = records[-1]
                print(
                    f"{name:22} {rule:14} {seed} {last['dropped']:4} words "
                    f"{last['share']:.3f}  npmi {last['npmi']:.3f} nmi {last['nmi']:.3f} "
                    f"different {last['different']:.2f} largest {last['largest']:.2f} "
                    f"{' '.join(last['largest_words'][:6])}",
                    flush=True,
                )
    return records


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", nargs="*", default=[*CHOSEN, *UNSEEN])
    parser.add_argument("--write", action="store_true", help="write the page, too")
    given = parser.parse_args()
    records = run(given.corpora, RESULTS / "common_words.json")
    if given.write:
        (RESULTS / "common_words.md").write_text(page(records), "utf-8")


if __name__ == "__main__":
    main()
