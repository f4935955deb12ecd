# SPDX-License-Identifier: BSD-3-Clause
"""Planted authors, responses, links and seeds: is what a person would conclude true?

    python -m benchmarks.sides_planted --write

Documents are drawn from planted topics; LDA, with what takes three lines after it, is
fitted to the same documents. Topics are matched one to one with the planted ones.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.linear_model import Ridge

from topicfold import (
    LDA,
    AuthorTopics,
    FeatureLDA,
    RelationalLDA,
    SeededLDA,
    SupervisedLDA,
)

RESULTS = Path(__file__).parent / "results" / "sides_planted.md"
SIZES = ((20, 800), (50, 2000))
TOKENS, WORDS_PER_TOPIC = 80, 40
Row = tuple[str, str, str]


def drawn(rng, theta, phi, n_tokens):
    """Return counts of documents with these mixtures."""
    rows = [rng.multinomial(n_tokens, p / p.sum()) for p in theta @ phi]
    return sparse.csr_matrix(np.array(rows), dtype=np.float32)


def matched(found, phi):
    """Return the found topic of each planted one."""
    rows, columns = linear_sum_assignment(-np.sqrt(found) @ np.sqrt(phi).T)
    return rows[np.argsort(columns)]


def likeness(found, phi) -> float:
    """Return how alike matched topics are, 1 for the same."""
    return float(np.sqrt(found * phi).sum(axis=1).mean())


def authors(rng, phi, n_documents: int) -> Iterator[Row]:
    """Yield how far mixtures of authors are from the planted ones."""
    n_topics, n_authors = len(phi), n_documents // 8
    mixtures = rng.dirichlet(np.full(n_topics, 0.1), n_authors)
    own = [
        rng.choice(n_authors, rng.integers(1, 4), replace=False)
        for _ in range(n_documents)
    ]
    # Documents differ, around the mean of their authors.
    theta = [rng.dirichlet(8 * mixtures[names].mean(axis=0) + 1e-3) for names in own]
    X = drawn(rng, np.array(theta), phi, TOKENS)
    names = [[f"{a:03d}" for a in some] for some in own]
    model = AuthorTopics(n_topics, random_state=0).fit(X, authors=names)
    strict = AuthorTopics(n_topics, strict=True, random_state=0)
    strict.fit(X, authors=names)
    lda = LDA(n_topics, random_state=0).fit(X)
    truth = mixtures[[int(name) for name in model.author_names_]]
    members = model.sides_[0].members_
    means = np.zeros_like(truth)
    np.add.at(means, members[:, 0], lda.doc_topics_[members[:, 1]])
    means /= means.sum(axis=1, keepdims=True)

    def error(found, topics):
        order = matched(topics, phi)
        return f"{np.abs(found[:, order] - truth).sum(axis=1).mean():.2f}"

    yield (
        "authors: distance of mixtures from the truth, 0 to 2",
        f"{error(model.author_topics_, model.components_)} "
        f"(strict=True {error(strict.author_topics_, strict.components_)})",
        f"{error(means, lda.components_)} (means of LDA's mixtures)",
    )


def responses(rng, phi, n_documents: int) -> Iterator[Row]:
    """Yield whether topics have the planted effects on a response."""
    n_topics = len(phi)
    theta = rng.dirichlet(np.full(n_topics, 0.1), n_documents)
    X, effects = drawn(rng, theta, phi, TOKENS), rng.normal(0, 3, n_topics)
    y = theta @ effects + rng.normal(0, 0.5, n_documents)
    model = SupervisedLDA(n_topics, random_state=0).fit(X, y)
    lda = LDA(n_topics, random_state=0).fit(X)
    ridge = Ridge(0.1, fit_intercept=False).fit(lda.transform(X), y - y.mean())
    true = effects - y.mean()
    clear = np.abs(true) > 1
    ours = (model.coef_ - y.mean())[matched(model.components_, phi)]
    plain = ridge.coef_[matched(lda.components_, phi)]
    told = [
        f"{100 * (np.sign(c) == np.sign(true))[clear].mean():.0f} %; "
        f"{np.polyfit(true, c, 1)[0]:.2f}"
        for c in (ours, plain)
    ]
    yield (
        "responses: signs of clear effects that are right; slope of found on planted",
        told[0],
        f"{told[1]} (LDA, then ridge)",
    )


def links(rng, phi, n_documents: int) -> Iterator[Row]:
    """Yield the ranks of hidden links."""
    n_topics = len(phi)
    theta = rng.dirichlet(np.full(n_topics, 0.05), n_documents)
    X = drawn(rng, theta, phi, TOKENS // 2)
    first, second = np.triu_indices(n_documents, 1)
    p = (theta[first] * theta[second]).sum(axis=1) ** 2
    on = rng.random(len(p)) < 4 * n_documents * p / p.sum()
    pairs = np.stack([first[on], second[on]], axis=1)
    hidden = rng.random(len(pairs)) < 0.2
    model = RelationalLDA(n_topics, random_state=0).fit(X, links=pairs[~hidden])
    lda = LDA(n_topics, random_state=0).fit(X)
    linked = np.zeros((n_documents, n_documents), bool)
    linked[tuple(pairs[~hidden].T)] = True
    linked |= linked.T | np.eye(n_documents, dtype=bool)
    roots = np.sqrt(lda.doc_topics_)
    ranks = []
    for one, other in pairs[hidden][:50]:
        others = np.flatnonzero(~linked[one])
        asked = np.stack([np.full(len(others), one), others], axis=1)
        scores = model.predict_links(asked), roots[others] @ roots[one]
        at = others == other
        ranks.append([(score > score[at]).sum() + 1 for score in scores])
    ours, plain = np.mean(ranks, axis=0)
    claim = f"links: mean rank of a hidden link among {n_documents} documents"
    yield claim, f"{ours:.0f}", f"{plain:.0f} (LDA's mixtures)"


def seeds(rng, phi, n_documents: int) -> Iterator[Row]:
    """Yield whether seeded topics are those that were meant."""
    n_topics, n_seeded = len(phi), len(phi) // 2
    theta = rng.dirichlet(np.full(n_topics, 0.05), n_documents)
    X = drawn(rng, theta, phi, TOKENS // 2)
    chosen = {str(k): np.argsort(-phi[k])[[0, 2, 4]].tolist() for k in range(n_seeded)}
    lda = LDA(n_topics, random_state=0).fit(X)
    order = matched(lda.components_, phi)[:n_seeded]
    plain = likeness(lda.components_[order], phi[:n_seeded])
    model = SeededLDA(n_topics, seeds=chosen, random_state=0).fit(X)
    alike = np.sqrt(model.components_[:n_seeded]) @ np.sqrt(phi).T
    right = (alike.argmax(axis=1) == np.arange(n_seeded)).mean()
    yield (
        "seeds: seeded topics that are the planted ones; how alike they are",
        f"{100 * right:.0f} %; {np.diag(alike).mean():.2f}",
        f"100 %; {plain:.2f} (LDA's topics, matched by the truth)",
    )


def unequal(rng, phi, n_documents: int) -> Iterator[Row]:
    """Yield how right mixtures and topics are where topics differ in size."""
    n_topics, seeded = len(phi), len(phi) // 2
    sizes = 1.0 / np.arange(1, n_topics + 1)
    theta = rng.dirichlet(0.1 * n_topics * sizes / sizes.sum(), n_documents)
    X, best = drawn(rng, theta, phi, TOKENS), theta.argmax(axis=1)
    authors = [[f"{k:03d} {rng.integers(9)}"] for k in best]
    chosen = {str(k): np.argsort(-phi[k])[[0, 2, 4]].tolist() for k in range(seeded)}
    common = {"random_state": 0}

    def told(model):
        order = matched(model.components_, phi)
        wrong = model.doc_topics_[:, order] - theta
        alike = likeness(model.components_[order], phi)
        return f"{np.sqrt((wrong**2).sum(axis=1).mean()):.2f}; {alike:.2f}"

    lda = told(LDA(n_topics, **common).fit(X))
    for name, model in (
        ("features", FeatureLDA(n_topics, **common).fit(X, features=theta[:, :3])),
        ("authors", AuthorTopics(n_topics, **common).fit(X, authors=authors)),
        ("seeds", SeededLDA(n_topics, seeds=chosen, **common).fit(X)),
        ("responses", SupervisedLDA(n_topics, **common).fit(X, theta[:, 0])),
    ):
        claim = f"unequal topics, {name}: RMSE of mixtures; how alike topics are"
        yield claim, told(model), lda


def main() -> None:
    """Measure, print, and write the page if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [
        "# Planted truth: what sides lead to conclude",
        "",
        f"`python -m benchmarks.sides_planted`. Documents of {TOKENS} tokens (links "
        f"and seeds: {TOKENS // 2}), drawn from planted topics of {WORDS_PER_TOPIC} "
        "words for each topic; one draw per line, nothing was chosen on them but the "
        "fewest documents for which seeds teach. Half of the topics have seeds, three "
        "words each. Sizes of unequal topics fall with their rank; their features are "
        "the shares of three topics, their authors write of one most.",
        "",
        "| topics | documents | what | the side's model | LDA on the same documents |",
        "| --- | --- | --- | --- | --- |",
    ]
    for n_topics, n_documents in SIZES:
        rng = np.random.default_rng(n_topics)
        n_words = WORDS_PER_TOPIC * n_topics
        phi = rng.dirichlet(np.full(n_words, 0.05), n_topics)
        for part in (authors, responses, links, seeds, unequal):
            for row in part(rng, phi, n_documents):
                lines.append(
                    f"| {n_topics} | {n_documents} | " + " | ".join(row) + " |"
                )
                print(lines[-1], flush=True)
    if args.write:
        RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
