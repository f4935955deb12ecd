# SPDX-License-Identifier: BSD-3-Clause
"""Do seed words make topics what they say?

Share of documents whose largest seeded topic is that of their class, against LDA with
as many topics, whose topics are given to the classes by the best one-to-one assignment
(Hungarian, with the labels). No label is seen by a fit. Beside them what could be
reached: the class whose seed words a document has most often, without any topics, and a
linear classifier of tf-idf that has all labels but those of a tenth of the documents
(but one document's, where there are fewer than 100). Seeds of 20 Newsgroups, BBC and
the search snippets were written down from the names of the classes, before any fit;
those of the bills are the ones that come with keyATM's data.

    python -m benchmarks.sides_seeds --corpora DIR --write
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfTransformer
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from topicfold import LDA, SeededLDA
from topicfold.phi.seeds import UNSEEDED

RESULTS = Path(__file__).parent / "results" / "sides_seeds.md"
SEEDS = {
    "20news_bydate_raw": {
        "comp.graphics": "graphics image images animation polygon",
        "rec.autos": "car cars engine dealer ford",
        "rec.motorcycles": "bike motorcycle bikes ride riding",
        "rec.sport.baseball": "baseball pitcher braves inning hitter",
        "rec.sport.hockey": "hockey nhl playoff goalie leafs",
        "sci.crypt": "encryption clipper crypto nsa key",
        "sci.med": "disease doctor medical patients medicine",
        "sci.space": "space nasa orbit shuttle moon",
        "talk.politics.guns": "gun guns firearms weapons handgun",
        "talk.politics.mideast": "israel israeli jews arab turkish",
    },
    "bbc_news_octis": {
        "business": "market company profit bank economy",
        "entertainment": "film music actor award band",
        "politics": "election party minister labour vote",
        "sport": "match player team coach cup",
        "tech": "computer software internet mobile user",
    },
    "short_searchsnippets": {
        "business": "business market trade company financial",
        "computers": "computer software programming internet linux",
        "culture-arts-entertainment": "movie music art film album",
        "education-science": "science university research theory education",
        "engineering": "engine car electrical motor wheel",
        "health": "health medical disease hospital cancer",
        "politics-society": "political government democracy party president",
        "sports": "sports football tennis game league",
    },
    "bills_keyatm": None,
    # Other newsgroups of the first corpus: nothing was chosen on them.
    "20news_bydate_raw, other groups": {
        "alt.atheism": "atheism atheists atheist belief morality",
        "comp.sys.mac.hardware": "mac apple quadra powerbook centris",
        "comp.windows.x": "motif xterm widget server window",
        "misc.forsale": "sale shipping offer sell condition",
        "sci.electronics": "circuit voltage amp resistor electronics",
        "soc.religion.christian": "jesus christ church christians scripture",
        "talk.politics.misc": "clinton president government tax congress",
    },
}


def load(corpora: Path, name: str):
    """Return counts, labels, words and seeds; frequent and rare words left out."""
    folder = corpora / name.split(",")[0]
    X = sparse.csr_matrix(sparse.load_npz(folder / "counts.npz")).astype(np.float32)
    read = lambda name: (folder / name).read_text("utf-8").splitlines()  # noqa: E731
    words, labels = np.array(read("vocab.txt")), np.array(read("labels.txt"))
    seeds = SEEDS[name]
    if seeds is None:
        seeds = json.loads((folder / "keywords.json").read_text("utf-8"))
        return X, labels, words, seeds
    seeds = {name: text.split() for name, text in seeds.items()}
    if folder.name == "short_searchsnippets":  # its classes are numbers, in this order
        labels = np.array(list(seeds))[labels.astype(int) - 1]
    X, labels = X[np.isin(labels, list(seeds))], labels[np.isin(labels, list(seeds))]
    df = np.diff(X.tocsc().indptr)
    stop = np.isin(words, list(ENGLISH_STOP_WORDS))
    rare = df < (10 if X.shape[0] > 5000 else 3)
    kept = np.flatnonzero(~stop & ~rare & (df < 0.3 * X.shape[0]))
    long = np.asarray(X[:, kept].sum(axis=1)).ravel() >= 5
    return X[:, kept][long], labels[long], words[kept], seeds


def yardsticks(X, labels, words, seeds) -> tuple[float, float]:
    """Return the accuracy of counting seed words, and of a supervised classifier."""
    column = {str(word): w for w, word in enumerate(words)}
    found = [[column[w] for w in own if w in column] for own in seeds.values()]
    names = np.array(list(seeds))
    counts = np.stack(
        [np.asarray(X[:, own].sum(axis=1)).ravel() for own in found], axis=1
    )
    counted = float((names[counts.argmax(axis=1)] == labels).mean())
    folds = LeaveOneOut() if len(labels) < 100 else 10
    model = make_pipeline(TfidfTransformer(sublinear_tf=True), LinearSVC())
    return counted, float(cross_val_score(model, X, labels, cv=folds).mean())


def taught(X, labels, words, seeds, known) -> float:
    """Return the accuracy of naive Bayes that is trained by itself from seed words.

    Each document with seed words belongs to the class with most of them; scikit-learn's
    naive Bayes learns from these, then ten times from what it says of all documents.
    """
    column = {str(word): w for w, word in enumerate(words)}
    names = np.array(list(seeds))
    found = [[column[w] for w in own if w in column] for own in seeds.values()]
    idf = np.log(X.shape[0] / np.maximum(np.diff(X.tocsc().indptr), 1))
    marks = np.stack([(X[:, own] > 0) @ idf[own] for own in found], axis=1)
    rows, said = np.flatnonzero(marks.max(axis=1) > 0), marks.argmax(axis=1)
    model = MultinomialNB(alpha=0.1).fit(X[rows], said[rows])
    for _ in range(10):
        model = MultinomialNB(alpha=0.1).fit(X, model.predict(X))
    return float((names[model.predict(X[known])] == labels[known]).mean())


def measure(
    corpora: Path, corpus: str, more: int, n_starts: int, max_iter: int
) -> dict:
    """Return mean accuracies for a number of unseeded topics; the usual one unasked."""
    X, labels, words, seeds = load(corpora, corpus)
    names = np.array(list(seeds))
    known = np.isin(labels, names)
    truth = labels[known]
    if X.shape[0] < 1000:  # a few documents say little: more starts
        n_starts *= 4
    counting, supervised = yardsticks(X[known], truth, words, seeds)
    rival = taught(X, labels, words, seeds, known)
    accuracy: dict[str, list[float]] = {"seeded": [], "lda": []}
    passes = {"seeded": [], "lda": []}
    for seed in range(n_starts):
        n_topics = len(names) + more
        common = {"random_state": seed, "max_iter": max_iter}
        asked = None if more == UNSEEDED else n_topics
        for name, model in (
            ("seeded", SeededLDA(asked, seeds=seeds, vocabulary=words, **common)),
            ("lda", LDA(n_topics, **common)),
        ):
            began = time.thread_time()
            theta = model.fit(X).doc_topics_[known]
            passes[name].append((time.thread_time() - began) / model.n_iter_)
            if len(model.components_) != n_topics:
                raise AssertionError(f"{len(model.components_)} topics, not {n_topics}")
            if name == "seeded":
                right = names[theta[:, : len(names)].argmax(axis=1)] == truth
                accuracy[name].append(right.mean())
            else:
                best = theta.argmax(axis=1)
                table = np.array(
                    [[(truth[best == k] == c).sum() for c in names]
                     for k in range(n_topics)]
                )  # fmt: skip
                rows, columns = linear_sum_assignment(-table)
                accuracy[name].append(table[rows, columns].sum() / len(truth))
    row = {"corpus": corpus, "documents": int(known.sum()), "unseeded": more}
    row |= {"counting": counting, "supervised": supervised, "taught": rival}
    row |= {name: float(np.mean(values)) for name, values in accuracy.items()}
    ratio = np.median(passes["seeded"]) / np.median(passes["lda"])
    print(row, ratio, flush=True)
    return {**row, "cost": float(ratio)}


def main() -> None:
    """Measure, print, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--max-iter", type=int, default=200)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = [
        measure(args.corpora, name, more, args.starts, args.max_iter)
        for name in SEEDS
        for more in (0, UNSEEDED, 2 * UNSEEDED)
    ]
    lines = [
        "# Seed words: are topics what they say?",
        "",
        f"`python -m benchmarks.sides_seeds`, {args.starts} starts, at most "
        f"{args.max_iter} passes (four times as many starts on the bills). Share of "
        "documents whose largest seeded topic is "
        f"that of their class. {UNSEEDED} topics without seeds is what SeededLDA "
        "does if it is not told. LDA has as many topics in all, given to the classes "
        "by the best one-to-one assignment; LDA of the classes alone has no more "
        "topics than classes, which suits that assignment best. Where topics start "
        "(half from the seeds; others near the corpus) was chosen on 20 Newsgroups and "
        "the bills; self-training and the strength of its evidence with the first four "
        "in view; the other groups of 20 Newsgroups had no part in any choice. Cost: "
        "CPU time of a pass, divided by LDA's. "
        "Counting: the class whose seed words a document has most often. Taught: naive "
        "Bayes, trained by itself from the documents with seed words. Supervised: a "
        "linear SVM of tf-idf with the labels of the other documents.",
        "",
        "| corpus | documents | unseeded topics | SeededLDA | LDA | points |"
        " LDA of the classes alone | counting | taught | supervised | cost |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    alone = {row["corpus"]: row["lda"] for row in rows if row["unseeded"] == 0}
    for row in rows:
        points = 100 * (row["seeded"] - row["lda"])
        usual = " (default)" if row["unseeded"] == UNSEEDED else ""
        lines.append(
            f"| {row['corpus']} | {row['documents']} | {row['unseeded']}{usual} | "
            f"{row['seeded']:.3f} | {row['lda']:.3f} | {points:+.1f} | "
            f"{alone[row['corpus']]:.3f} | "
            f"{row['counting']:.3f} | {row['taught']:.3f} | {row['supervised']:.3f} | "
            f"{row['cost']:.2f} |"
        )
    n = next(r["documents"] for r in rows if r["corpus"] == "bills_keyatm")
    lines += [
        "",
        f"The bills have {n} labels, so that one document is {100 / n:.1f} points, and "
        "none in the fourth seeded class. Without topics of their own, all other "
        "matters go to a seeded topic, there to that of the one word 'drug'; the fit "
        "warns of it.",
    ]
    print("\n".join(lines))
    if args.write:
        RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
