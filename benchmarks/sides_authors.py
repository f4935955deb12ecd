# SPDX-License-Identifier: BSD-3-Clause
"""The author-topic model on NIPS 0-12: cost of a pass, known authors, against gensim.

Held out are papers all of whose authors have other papers. They are scored without a
look at their words: by the mixture of their authors, by the mean of the mixtures that
LDA finds of their authors' papers, and by what LDA knows of any new document, the
mixture of its prior.

    python -m benchmarks.sides_authors --corpora DIR --write

gensim is asked only if it is installed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from topicfold import LDA, PLSA, AuthorTopics
from topicfold.theta import Authors

RESULTS = Path(__file__).parent / "results"
K = 50
SIZES = (20, 50)
SEEDS = (0, 1, 2, 3, 4)
PROLIFIC = 49
PASSES = (5, 10, 20, 50, 100)
GENSIM_PASSES = (1, 10)
OTHERS = ("sotu", "poliblog5k_stm")


def load(folder: Path) -> tuple[sp.csr_matrix, list[list[str]]]:
    """Return the counts and the authors of each paper."""
    X = sp.csr_matrix(sp.load_npz(folder / "counts.npz"), dtype=np.float32)
    lines = (folder / "authors.txt").read_text(encoding="utf-8").splitlines()
    return X, [line.split(";") for line in lines]


def split(authors: list[list[str]], seed: int, share: float = 0.1) -> np.ndarray:
    """Return which papers are held out: each author keeps a paper to learn from."""
    rng = np.random.default_rng(seed)
    left: dict[str, int] = {}
    for own in authors:
        for name in own:
            left[name] = left.get(name, 0) + 1
    held = np.zeros(len(authors), bool)
    for d in rng.permutation(len(authors)):
        if held.sum() >= share * len(authors):
            break
        if all(left[name] > 1 for name in authors[d]):
            held[d] = True
            for name in authors[d]:
                left[name] -= 1
    return held


def perplexity(theta: np.ndarray, topics: np.ndarray, X: sp.csr_matrix) -> float:
    """Perplexity of whole documents, 1 % of the corpus' words mixed in."""
    background = np.asarray(X.sum(axis=0)).ravel() + 1.0
    background /= background.sum()
    total = 0.0
    for d in range(X.shape[0]):
        own = slice(X.indptr[d], X.indptr[d + 1])
        words = X.indices[own]
        p = 0.99 * (theta[d] @ topics[:, words]) + 0.01 * background[words]
        total += float(X.data[own] @ np.log(p))
    return float(np.exp(-total / X.sum()))


def pass_seconds(model, X, repeats: int = 5, **data) -> float:
    """Seconds of a pass: what ten more take, the least of some repeats."""
    found = []
    for _ in range(repeats):
        times = []
        for n_iter in (5, 15):
            start = time.process_time()
            model.set_params(max_iter=n_iter).fit(X, **data)
            times.append(time.process_time() - start)
        found.append((times[1] - times[0]) / 10)
    return float(np.median(found))


def gensim_rows(X, authors, held):
    """Yield seconds and held-out perplexity of gensim's author-topic model."""
    try:
        from gensim.models import AuthorTopicModel
    except ImportError:
        return
    train = np.flatnonzero(~held)
    corpus = [
        list(zip(X[d].indices.tolist(), X[d].data.astype(int).tolist(), strict=True))
        for d in train
    ]
    papers: dict[str, list[int]] = {}
    for place, d in enumerate(train):
        for name in authors[d]:
            papers.setdefault(name, []).append(place)
    words = {w: str(w) for w in range(X.shape[1])}
    for passes in GENSIM_PASSES:
        start = time.process_time()
        model = AuthorTopicModel(
            corpus, num_topics=K, id2word=words, author2doc=papers, passes=passes,
            random_state=0, chunksize=len(corpus),
        )  # fmt: skip
        seconds = time.process_time() - start
        rows = []
        for d in np.flatnonzero(held):
            mixtures = [dict(model.get_author_topics(a, 0.0)) for a in authors[d]]
            rows.append(
                np.mean([[m.get(k, 0.0) for k in range(K)] for m in mixtures], axis=0)
            )
        yield passes, seconds, perplexity(np.array(rows), model.get_topics(), X[held])


def measure(folder: Path) -> list[str]:
    """Return the lines of the page."""
    X, authors = load(folder)
    few = {"tol": 0.0, "random_state": 0, "init": "random"}
    plain = pass_seconds(PLSA(K, **few), X)
    lda = pass_seconds(LDA(K, learn_priors=False, **few), X)
    ours = pass_seconds(AuthorTopics(K, **few), X, authors=authors)
    names = {name for own in authors for name in own}
    lines = [
        "# Author-topic model on NIPS 0-12",
        "",
        f"{X.shape[0]} papers, {len(names)} authors. CPU seconds of one thread for "
        f"K = {K}. `python -m benchmarks.sides_authors`.",
        "",
        "| a pass of | seconds | times PLSA | times LDA |",
        "| --- | --- | --- | --- |",
        f"| PLSA | {plain:.3f} | 1 | {plain / lda:.2f} |",
        f"| LDA | {lda:.3f} | {lda / plain:.2f} | 1 |",
        f"| AuthorTopics | {ours:.3f} | {ours / plain:.2f} | {ours / lda:.2f} |",
        "",
        "Held out: a tenth of the papers, all of whose authors have others. Perplexity "
        "of all their words, none of which the mixture has seen. *LDA means*: an "
        "author's mixture is the mean of those that LDA finds of his papers. "
        f"Coauthors: of the {PROLIFIC} authors with most papers, those who have a "
        "coauthor among the ten most similar, in percent of those who have any; "
        "`similar_authors` compares mixtures and words, with words=False mixtures "
        "alone. What the mixtures of authors are worth in a document (6 tokens) was "
        "chosen on splits 10 and 11, with 20 and 50 topics.",
        "",
        "| topics | seed | AuthorTopics | LDA means | strict=True | LDA, prior mixture "
        "| unigram | coauthors, AuthorTopics | coauthors, words=False | coauthors, LDA "
        "means |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for n_topics in SIZES:
        for seed in SEEDS:
            held = split(authors, seed)
            lines.append(held_out_line(X, authors, held, n_topics, seed))
    lines += other_corpora(folder.parent)
    held = split(authors, 0)
    known = [authors[d] for d in np.flatnonzero(held)]
    rest = [authors[d] for d in np.flatnonzero(~held)]
    lines += ["", "| model | passes | seconds | held-out perplexity (seed 0) |"]
    lines += ["| --- | --- | --- | --- |"]
    reached = []
    for passes in PASSES:
        model = AuthorTopics(K, tol=0.0, random_state=0, max_iter=passes)
        start = time.process_time()
        model.fit(X[~held], authors=rest)
        seconds = time.process_time() - start
        theta = model.expected_topics(known)
        value = perplexity(theta, model.components_, X[held])
        reached.append((value, seconds))
        lines.append(f"| AuthorTopics | {passes} | {seconds:.1f} | {value:.0f} |")
    peer = list(gensim_rows(X, authors, held))
    for passes, seconds, value in peer:
        lines.append(f"| gensim | {passes} | {seconds:.1f} | {value:.0f} |")
    if peer:
        _, seconds, value = peer[-1]
        there = [own for found, own in reached if found <= value]
        ratio = f"{seconds / there[0]:.0f} times" if there else "not reached"
        lines += ["", f"gensim's last perplexity: AuthorTopics faster by {ratio}."]
    else:
        lines += ["", "gensim is not installed here."]
    return lines


def other_corpora(corpora: Path) -> list[str]:
    """Return the table of corpora on which nothing was chosen."""
    lines = [
        "",
        "Corpora that had no part in any choice, 20 topics, splits 0 to 2: addresses "
        "of presidents, and posts of blogs.",
        "",
        "| corpus | entities | split | AuthorTopics | LDA means |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in OTHERS:
        X = sp.csr_matrix(sp.load_npz(corpora / name / "counts.npz"), dtype=np.float32)
        if name == "sotu":
            with gzip.open(corpora / name / "docs.jsonl.gz", "rt") as documents:
                names = [json.loads(line)["name"] for line in documents]
        else:
            names = (corpora / name / "blog.txt").read_text("utf-8").splitlines()
        filled = np.flatnonzero(X.getnnz(axis=1))
        X, authors = X[filled], [[names[d]] for d in filled]
        for seed in range(3):
            held = split(authors, seed)
            cells = held_out_line(X, authors, held, 20, seed).split(" | ")[2:4]
            size = len({own[0] for own in authors})
            lines.append(f"| {name} | {size} | {seed} | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    return lines


def held_out_line(X, authors, held, n_topics, seed) -> str:
    """Return a line of the table of held-out papers."""
    rest = [authors[d] for d in np.flatnonzero(~held)]
    known = [authors[d] for d in np.flatnonzero(held)]
    ours = AuthorTopics(n_topics, random_state=seed).fit(X[~held], authors=rest)
    strict = AuthorTopics(n_topics, strict=True, random_state=seed)
    strict.fit(X[~held], authors=rest)
    lda = LDA(n_topics, random_state=seed).fit(X[~held])
    members = Authors().check(rest, lda._side_context(X[~held], n_topics=n_topics))
    written = (members > 0).astype(float)
    means = np.asarray(written.T @ lda.doc_topics_)
    means /= means.sum(axis=1, keepdims=True)
    place = {name: a for a, name in enumerate(ours.author_names_)}
    by_mean = [means[[place[name] for name in own]].mean(axis=0) for own in known]
    # The prior's mixture, at the shares the topics have: what LDA knows beforehand.
    shares = lda.topic_totals_ / lda.topic_totals_.sum()
    values = (
        perplexity(ours.expected_topics(known), ours.components_, X[held]),
        perplexity(np.array(by_mean), lda.components_, X[held]),
        perplexity(strict.expected_topics(known), strict.components_, X[held]),
        perplexity(np.tile(shares, (held.sum(), 1)), lda.components_, X[held]),
        perplexity(np.ones((held.sum(), 1)), lda.word_frequencies_[None], X[held]),
    )
    cells = [f"{value:.0f}" for value in values]
    together = (written.T @ written).toarray()
    side = ours._side(Authors)
    every = np.arange(len(place))
    likeness, mixtures = (side.likeness(every, words) for words in (True, False))
    lengths = np.linalg.norm(means, axis=1)
    cosines = means @ means.T / np.outer(lengths, lengths)
    found = (likeness, mixtures, cosines)
    cells += [f"{100 * coauthors(like, together):.0f}" for like in found]
    return f"| {n_topics} | {seed} | " + " | ".join(cells) + " |"


def coauthors(likeness: np.ndarray, together: np.ndarray) -> float:
    """Share of prolific authors with a coauthor among the ten most similar of them."""
    most = np.argsort(-np.diag(together), kind="stable")[:PROLIFIC]
    likeness, joint = likeness[np.ix_(most, most)].copy(), together[np.ix_(most, most)]
    np.fill_diagonal(likeness, -1)
    np.fill_diagonal(joint, 0)
    near = np.argsort(-likeness, axis=1, kind="stable")[:, :10]
    found = np.take_along_axis(joint, near, axis=1).any(axis=1)
    return float(found[joint.any(axis=1)].mean())


def main() -> None:
    """Measure, print, and write the page if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    lines = measure(options.corpora / "nips0_12")
    text = "\n".join(lines) + "\n"
    print(text)
    if options.write:
        (RESULTS / "sides_authors.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
