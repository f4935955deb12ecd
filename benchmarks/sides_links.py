# SPDX-License-Identifier: BSD-3-Clause
"""How well citations of new documents are predicted from their words alone.

    python -m benchmarks.sides_links --corpora DIR --write

A fifth of the documents is held out, five splits. For each held-out citation between
such a document and a training document, the training documents are ranked for the new
one. All topic models have the same regression of shared topics, that of
``topicfold.evidence.Links``, once without and once with the mixtures of a training
document's neighbours in its own. RelationalLDA chooses its weight inside the training
part.
Suggestions: the index among up to 10^6 documents, drawn around the mixtures of a fit,
against scoring every document.
Results are kept in ``sides_links.json``, and what is there already is not fitted again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer

from topicfold import LDA, LaplacianPLSA, RelationalLDA
from topicfold.evidence import Links
from topicfold.parts import Context

RESULTS = Path(__file__).parent / "results"
CORPORA = {"cora_lda": 20, "cora_linqs": 20, "nips0_12": 50}
SPLITS = 5
SIZES, QUERIES, N_SUGGESTED = (10_000, 100_000, 1_000_000), 500, 10


def load(corpora: Path, name: str):
    """Return counts and links, each once and without direction."""
    X = sp.csr_matrix(sp.load_npz(corpora / name / "counts.npz")).astype(np.float32)
    lines = (corpora / name / "links.txt").read_text("utf-8").splitlines()
    links = np.unique(
        np.sort([[int(d) for d in line.split()] for line in lines]), axis=0
    )
    return X, links[links[:, 0] != links[:, 1]]


def split(n_documents: int, links, seed: int):
    """Return training rows and links, test rows, and the links between the two."""
    rng = np.random.default_rng(seed)
    new = np.zeros(n_documents, dtype=bool)
    new[rng.permutation(n_documents)[: n_documents // 5]] = True
    place = np.where(new, np.cumsum(new), np.cumsum(~new)) - 1
    among = place[links[~new[links].any(axis=1)]]
    across = links[new[links].sum(axis=1) == 1]
    across = np.where(new[across[:, :1]], across, across[:, ::-1])
    return np.flatnonzero(~new), among, np.flatnonzero(new), place[across]


def regression(theta, doc_topics, links, counts, neighbors):
    """Return the regression of shared topics, with or without documents' neighbours."""
    lengths = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
    context = Context(
        len(theta), theta.shape[1], counts.shape[1], lengths,
        rng=np.random.RandomState(0),
    )  # fmt: skip
    side = Links(weight=0.0)
    data = side.check(links, context)
    side.fit_prediction(theta, doc_topics, data, context)
    if not neighbors:
        own = (theta + doc_topics.astype(np.float64)) / 2
        rows, ends, _ = data.ends
        one, other = np.sqrt(theta, dtype=np.float64), np.sqrt(own)
        side.coef_ = side._fitted(one[rows] * other[ends], one, other, data)[0]
        side.link_topics_ = own
    return side


def scores_of(side, theta):
    """Return how likely each training document is linked to each new one."""
    return (np.sqrt(theta) * side.coef_) @ np.sqrt(side.link_topics_).T


def relational(X, new, links, k, seed, words=True):
    """RelationalLDA with its defaults, or from topics alone."""
    model = RelationalLDA(k, words=words, random_state=seed).fit(X, links=links)
    facts = {"weight": model.weight_ / float(X.sum() / X.shape[0])}
    found = scores_of(model.sides_[0], model.transform(new))
    if words:
        rule, query = model._rule(), model._query(new)
        found = rule.coef[1] * found + (query @ rule.ends.T).toarray()
        found += rule.coef[4] * np.log1p(rule.degrees)
        near, cosines = rule.likes(query)
        rows = np.repeat(np.arange(len(near)), near.shape[1])
        likes = cosines.ravel(), (rows, np.maximum(near, 0).ravel())
        likes = sp.csr_matrix(likes, shape=found.shape)
        found += rule.coef[5] * (likes @ rule.graph).toarray()
    return found, facts


def plain(X, new, links, k, seed, neighbors=False):
    """LDA, then the regression."""
    model = LDA(k, random_state=seed).fit(X)
    theta = model.transform(X)
    side = regression(theta, theta, links, X, neighbors)
    return scores_of(side, model.transform(new)), {}


def network(X, new, links, k, seed, neighbors=False):
    """Network PLSA with the training citations, then the regression."""
    model = LaplacianPLSA(k, graph=links, random_state=seed).fit(X)
    side = regression(model.transform(X), model.doc_topics_, links, X, neighbors)
    return scores_of(side, model.transform(new)), {}


def words(X, new, links, k, seed, neighbors=False):
    """Cosine of tf-idf, without topics; with neighbours, their mean cosine added."""
    weighting = TfidfTransformer(sublinear_tf=neighbors).fit(X)
    rows = weighting.transform(X)
    found = (weighting.transform(new) @ rows.T).toarray()
    if neighbors:
        ends = np.r_[links[:, 0], links[:, 1]], np.r_[links[:, 1], links[:, 0]]
        graph = sp.csr_matrix((np.ones(len(ends[0])), ends), shape=(X.shape[0],) * 2)
        degrees = np.maximum(np.asarray(graph.sum(axis=1)).ravel(), 1)
        found = found + (found @ graph.T) / degrees
    return found, {}


MODELS = {
    "RelationalLDA": relational,
    "RelationalLDA, words=False": partial(relational, words=False),
    "LDA, then regression": plain,
    "LDA, the same with neighbours": partial(plain, neighbors=True),
    "network PLSA, then regression": network,
    "network PLSA, the same with neighbours": partial(network, neighbors=True),
    "cosine of tf-idf": words,
    "cosine of tf-idf, with neighbours": partial(words, neighbors=True),
}


def measure(corpora: Path, name: str, model: str, seed: int) -> dict:
    """Rank the held-out citations of one split."""
    X, links = load(corpora, name)
    train, among, test, across = split(X.shape[0], links, seed)
    began = time.process_time()
    scores, facts = MODELS[model](X[train], X[test], among, CORPORA[name], seed)
    seconds = time.process_time() - began
    ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1) + 1
    found = ranks[across[:, 0], across[:, 1]]
    return {
        "corpus": name,
        "model": model,
        "seed": seed,
        "documents": len(train),
        "links": len(across),
        "mean_rank": float(found.mean()),
        "median_rank": float(np.median(found)),
        "first_20": float((found <= 20).mean()),
        "seconds": seconds,
        **facts,
    }


def suggesting(corpora: Path, n_documents: int) -> dict:
    """Measure suggestions by index and by scoring every document, one thread."""
    X, links = load(corpora, "cora_lda")
    model = RelationalLDA(20, weight=20.0, random_state=0).fit(X, links=links)
    (side,) = model.sides_
    rng = np.random.default_rng(0)
    around = side.link_topics_[rng.integers(X.shape[0], size=n_documents)]
    drawn = rng.standard_gamma(30.0 * around + 1e-3).astype(np.float32)
    drawn /= drawn.sum(axis=1, keepdims=True)
    side.link_topics_ = drawn
    began = time.process_time()
    side.suggest(drawn[:1], N_SUGGESTED)  # nearly all of it builds the index
    index = time.process_time() - began
    _, chances = side.suggest(drawn[:QUERIES], N_SUGGESTED)
    indexed = time.process_time() - began - 2 * index
    roots, few = np.sqrt(drawn), QUERIES // 10
    began = time.process_time()
    scores = (roots[:few] * side.coef_.astype(np.float32)) @ roots.T
    best = np.argpartition(-scores, N_SUGGESTED, axis=1)[:, :N_SUGGESTED]
    every = time.process_time() - began
    reached = [side.predict(drawn[[d]], drawn[best[d]]).mean() for d in range(few)]
    return {
        "corpus": "suggestions",
        "model": "index",
        "seed": n_documents,
        "index": index,
        "indexed": 1000 * indexed / QUERIES,
        "every": 1000 * every / few,
        "share": float(chances[:few].mean() / np.mean(reached)),
    }


def page(rows: list[dict]) -> str:
    """Return the table."""
    splits = len({row["seed"] for row in rows if row["corpus"] in CORPORA})
    lines = [
        "# Citations of new documents, from their words alone",
        "",
        "`python -m benchmarks.sides_links --corpora DIR --write`. A fifth of the"
        f" documents is held out, {splits} splits, means. For each citation between a"
        " held-out and a training document, the training documents are ranked for the"
        " held-out one; lower ranks are better. All topic models have the same"
        " regression of shared topics; with neighbours means that a training document"
        " is half the mean of those that it is linked to, as in RelationalLDA, or that"
        " the mean cosine with these is added to that of the document. The"
        " weight of RelationalLDA is chosen inside the training part,"
        " which its seconds (processor, one thread) include. Its grid"
        " and the form of the regression were chosen on other splits of the same"
        " corpora; that the number of a document's links and the links of similar"
        " documents count, on dependencies of software packages and cross-references"
        " of a dictionary.",
        "",
        "| corpus | K | model | mean rank | median rank | in the first 20 | seconds |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, k in CORPORA.items():
        for model in MODELS:
            same = [r for r in rows if (r["corpus"], r["model"]) == (name, model)]
            if not same:
                continue
            mean = {
                key: np.mean([row[key] for row in same])
                for key in ("mean_rank", "median_rank", "first_20", "seconds")
            }
            lines.append(
                f"| {name} | {'' if 'tf-idf' in model else k} | {model} |"
                f" {mean['mean_rank']:.1f} | {mean['median_rank']:.0f} |"
                f" {mean['first_20']:.3f} | {mean['seconds']:.1f} |"
            )
    for name in CORPORA:
        same = [r for r in rows if r["corpus"] == name]
        if same:
            citations = np.mean([row["links"] for row in same])
            lines += [
                "",
                f"{name}: {same[0]['documents']} training documents, {citations:.0f}"
                " held-out citations per split.",
            ]
    lines += [
        "",
        f"Suggestions: the {N_SUGGESTED} most likely links of a document, {QUERIES}"
        " documents asked for, mixtures of 20 topics drawn around those of a fit of"
        " cora_lda; one thread, processor time. By index, against scoring every"
        " document. Probability: of what the index finds, divided by that of the best"
        " of all. The last column is the time for all documents: not measured, but"
        " that of one times their number.",
        "",
        "| documents | index, s | ms per document | ms, scoring every one |"
        " probability | all documents, minutes |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for r in sorted(rows, key=lambda r: r["seed"]):
        if r["corpus"] == "suggestions":
            every = (r["index"] + r["indexed"] * r["seed"] / 1000) / 60
            lines.append(
                f"| {r['seed']:,} | {r['index']:.1f} | {r['indexed']:.2f} |"
                f" {r['every']:.2f} | {r['share']:.3f} | {every:.1f} |"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure what is not there yet; write after each line if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    stored = RESULTS / "sides_links.json"
    rows = json.loads(stored.read_text("utf-8")) if stored.exists() else []
    asked = [
        (name, model, seed)
        for seed in range(SPLITS)
        for name in CORPORA
        for model in args.models
    ]
    asked += [("suggestions", "index", size) for size in SIZES]
    for name, model, seed in asked:
        if any(
            (r["corpus"], r["model"], r["seed"]) == (name, model, seed) for r in rows
        ):
            continue
        if name == "suggestions":
            rows.append(suggesting(args.corpora, seed))
        else:
            rows.append(measure(args.corpora, name, model, seed))
        sys.stdout.write(f"{json.dumps(rows[-1])}\n")
        sys.stdout.flush()
        if args.write:
            stored.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
            (RESULTS / "sides_links.md").write_text(page(rows), "utf-8")


if __name__ == "__main__":
    main()
