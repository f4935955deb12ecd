# SPDX-License-Identifier: BSD-3-Clause
"""Effects of many topics in short documents, and designs in which they go wrong.

    python -m benchmarks.effects_short                      # what is missing, the page
    python -m benchmarks.effects_short --cases 0 3 --draws 2

Corpora of 10, 20 and 50 topics and of 20, 60 and 250 tokens per document (fewer sizes
for 50 topics), ``~ x + noise``. By the number of the draw, x is 0/1 or a number,
mixtures are logistic-normal or Dirichlet, and words are equally frequent in the mean or
as Zipf's law says. One case is narrower: x is 0/1, mixtures are logistic-normal and
less pure, which hides subjects from every model. Then the sampler is changed, one thing
at a time. The last part has 5 topics and one difficulty each: a rare topic, few treated
documents, lengths that depend on the treatment, weights, few clusters, a category.
Draws below `FIRST` were used to find causes and to choose, and are not on the page.
Results are added to ``results/effects_short.json.xz`` after every corpus.
"""

from __future__ import annotations

import argparse
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.effects import FOUND, fitted, load, match, pooled, save
from topicfold import LDA, GibbsLDA, StructuralLDA
from topicfold.core.jit import kernel
from topicfold.effects import chain, draws, estimate_effect
from topicfold.effects.chain import TopicChain, TopicPrior

RESULTS = Path(__file__).parent / "results"
FIRST = 1000
PLAIN_TERMS, ZIPF_TERMS = 1000, 3000


class Case(NamedTuple):
    """Where corpora are drawn from."""

    n_topics: int
    tokens: int
    n_documents: int
    n_draws: int
    pure: float = 1.5  # spread of the logistic normal
    narrow: bool = False  # 0/1, words equally frequent, and mixtures
    dirichlet: bool = False  # logistic-normal or not


CASES = (
    Case(20, 60, 2000, 8, 1.0, narrow=True),
    Case(20, 60, 2000, 4),
    Case(20, 20, 2000, 4),
    Case(20, 250, 1000, 2),
    Case(10, 20, 1000, 4),
    Case(10, 60, 1000, 4),
    Case(10, 250, 1000, 4),
    Case(50, 20, 2000, 1),
    Case(50, 60, 2000, 1),
)


def draw_corpus(case: Case, seed: int) -> dict:
    """Return counts, covariates and the effect in the population."""
    rng, k = np.random.default_rng(seed), case.n_topics
    bits = seed & 1, seed >> 1 & 1, (seed ^ seed >> 1 ^ seed >> 2) & 1
    number, dirichlet, zipf = (0, case.dirichlet, 0) if case.narrow else bits
    topics = draw_topics(rng, k, zipf)
    base, slopes = rng.normal(0, 0.7, k), rng.normal(0, 0.8, k)
    slopes *= 0.6 if number else 1.0

    def covariate(n):
        return rng.standard_normal(n) if number else rng.integers(0, 2, n) * 1.0

    def mixtures(x):
        middle = base + np.outer(x, slopes)
        if dirichlet:
            rows = np.exp(middle)
            rows *= 3.0 / rows.sum(axis=1, keepdims=True)
            rows = rng.standard_gamma(rows) + 1e-300
        else:
            rows = np.exp(middle + rng.normal(0, case.pure, middle.shape))
        return rows / rows.sum(axis=1, keepdims=True)

    many = covariate(200_000)
    design = np.c_[np.ones(len(many)), many]
    effect = np.linalg.lstsq(design, mixtures(many), rcond=None)[0][1]
    x = covariate(case.n_documents)
    theta = mixtures(x)
    return {
        "X": draw_counts(rng, theta @ topics, np.full(len(x), case.tokens)),
        "topics": topics,
        "theta": theta,
        "data": {"x": x, "noise": rng.standard_normal(len(x))},
        "effect": effect,
        "kind": "number" if number else "0/1",
    }


def draw_topics(rng, k, zipf):
    """Return topics (K, V), of words equally frequent in the mean or by Zipf's law."""
    if not zipf:
        return rng.dirichlet(np.full(PLAIN_TERMS, 0.1), k)
    mean = 1 / (np.arange(ZIPF_TERMS) + 6.0)
    return rng.dirichlet(0.03 * ZIPF_TERMS * mean / mean.sum() + 1e-4, k)


def draw_counts(rng, words, lengths):
    """Return counts of documents of these lengths."""
    words = words / words.sum(axis=1, keepdims=True)
    rows = [rng.multinomial(n, row) for n, row in zip(lengths, words, strict=True)]
    return sparse.csr_matrix(np.array(rows).astype(np.float32))


# Designs with one difficulty each, and how many draws.
TRAPS = {
    "nothing difficult": 16,
    "a topic of 1 %": 40,
    "5 % are treated": 16,
    "treated are longer": 16,
    "weights": 16,
    "8 clusters": 16,
    "three levels": 16,
}
TRAP_TOPICS, TRAP_DOCUMENTS, N_CLUSTERS = 5, 800, 8


def draw_trap(name: str, seed: int) -> dict:
    """Return a corpus of 5 topics, of 60 tokens unless lengths are the difficulty."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(500, 0.1), TRAP_TOPICS)
    base = rng.normal(0, 0.5, TRAP_TOPICS)
    slopes = rng.normal(0, 0.8, (2, TRAP_TOPICS))
    if name == "a topic of 1 %":
        base[0], slopes[0, 0] = base[1:].mean() - 3.2, 0.8
    along = rng.normal(0, 0.5, TRAP_TOPICS)  # other topics in longer documents

    def sample(n, n_clusters):
        x = rng.integers(0, 2, n)
        if name == "5 % are treated":
            x = (rng.random(n) < 0.05).astype(int)
        elif name == "three levels":
            x = rng.integers(0, 3, n)
        own = rng.integers(0, n_clusters, n)
        city = np.zeros((n_clusters, TRAP_TOPICS))
        if name == "8 clusters":
            x, city = own % 2, rng.normal(0, 0.4, city.shape)
        lengths = np.full(n, 60)
        middle = base + np.eye(3)[x] @ np.vstack([0 * slopes[:1], slopes]) + city[own]
        if name == "treated are longer":
            z = rng.standard_normal(n)
            lengths = np.clip(np.exp(4 + 1.5 * x + z), 20, 2000).astype(int)
            middle = middle + np.outer(z, along)
        rows = np.exp(middle + rng.normal(0, 1.2, middle.shape))
        rows /= rows.sum(axis=1, keepdims=True)
        # Where documents of the first topic are more often among those sampled.
        kept, weights = np.ones(n, bool), None
        if name == "weights":
            chance = 0.1 + 0.9 * rows[:, 0]
            kept, weights = rng.random(n) < chance, 1 / chance
        return x, rows, lengths, own, kept, weights

    first, last = (1, 2) if name == "three levels" else (0, 1)
    x, rows, *_ = sample(200_000, 20_000)
    effect = rows[x == last].mean(axis=0) - rows[x == first].mean(axis=0)
    x, theta, lengths, city, kept, weights = sample(
        (3 if name == "weights" else 1) * TRAP_DOCUMENTS, N_CLUSTERS
    )
    chosen = np.flatnonzero(kept)[:TRAP_DOCUMENTS]
    data = {
        "x": np.array(["a", "b", "c"])[x] if name == "three levels" else x,
        "noise": rng.standard_normal(len(x)),
        "city": city,
    }
    corpus = {
        "X": draw_counts(rng, theta[chosen] @ topics, lengths[chosen]),
        "topics": topics,
        "theta": theta[chosen],
        "data": {column: values[chosen] for column, values in data.items()},
        "effect": effect,
        "kind": "levels" if name == "three levels" else "0/1",
    }
    if name == "a topic of 1 %":
        corpus["only"] = [0]  # the others are not difficult
    elif name == "8 clusters":
        corpus["cluster"] = "city"
    elif weights is not None:
        corpus["weights"] = weights[chosen]
    return corpus


def ways(corpus, models):
    """Yield each way's name, result, and its topics if these are not the true ones."""
    options = {name: corpus.get(name) for name in ("cluster", "weights")}
    data = corpus["data"]

    def effects(model, **more):
        return estimate_effect(model, "~ x + noise", data, **options, **more)

    def regression(theta):  # two draws that are the same: nothing is in doubt
        return effects(np.stack([theta, theta]).astype(float))

    yield "the true mixtures", regression(corpus["theta"]), None
    for kind in models:
        began = time.process_time()
        model = fitted(kind, corpus)
        found = model.components_
        if kind is LDA:
            yield "plain regression on LDA", regression(model.doc_topics_), found
        if kind is LDA:
            model.components_ = corpus["topics"]
            fixed = effects(model, X=corpus["X"], n_jobs=1, method="fixed")
            yield "the true topics, effects", fixed, None
            model.components_ = found
        result = effects(model, X=corpus["X"], n_jobs=1)
        result.used_ = time.process_time() - began
        yield f"{kind.__name__}, effects", result, found


CAUSES = Case(20, 60, 1000, 2, 1.0, narrow=True)
MIXTURES = ("logistic normal", "Dirichlet")
# Ways to change the sampler: a factor of the learned α, whether the prior of topics has
# what the others have in common, and the kind of chain.
CHANGES = {
    "the sampler": (1.0, True, False),
    "half of its α": (0.5, True, False),
    "twice its α": (2.0, True, False),
    "an even prior of topics": (1.0, False, False),
    "a logistic-normal prior of mixtures": (1.0, True, True),
}


def causes(corpus):
    """Yield the same of one change at a time, from the true topics and from LDA's."""
    model = fitted(LDA, corpus)
    own = model.components_
    for start in (corpus["topics"], own):
        model.components_ = start
        known = None if start is corpus["topics"] else own
        name = "true topics" if known is None else "LDA's topics"
        options = {"X": corpus["X"], "n_jobs": 1}
        found = estimate_effect(
            model, "~ x + noise", corpus["data"], method="fixed", **options
        )
        yield f"{name}, fixed", found, known
        for change, given in CHANGES.items():
            with changed(*given):
                found = estimate_effect(model, "~ x + noise", corpus["data"], **options)
            yield f"from {name}: {change}", found, known


@contextmanager
def changed(factor, shared, normal):
    """Change the sampler of `estimate_effect`."""
    learned, topic_prior = chain.learned_document_prior, TopicPrior.learned

    def even(prior, counts):
        found = topic_prior(prior._replace(shared=0.0), counts)[0]
        return found, found.of(counts)

    chain.learned_document_prior = lambda counts, alpha: (
        factor * learned(counts, alpha / factor)
    )
    TopicPrior.learned = topic_prior if shared else even
    draws.TopicChain = NormalChain if normal else TopicChain
    try:
        yield
    finally:
        chain.learned_document_prior, TopicPrior.learned = learned, topic_prior
        draws.TopicChain = TopicChain


class NormalChain(TopicChain):
    """The same with ``θ_dk ∝ exp(η_dk)``, η_dk normal with a mean and variance per k.

    Given u_d from a gamma distribution of n_d tokens, over Σ_k exp(η_dk), the η_dk are
    independent with ``N_dk η - u_d exp(η) - (η - μ_k)² / 2σ_k²``; two Metropolis steps
    each, by Newton's.
    """

    eta = None

    def sweep(self):
        """Draw mixtures, their prior, the topics of all tokens and φ once."""
        if self.eta is None:
            self._assign()
            eta = np.log(self.counts + self.alpha)
            self.eta = eta - eta.mean(axis=1, keepdims=True)
            self.mean = self.eta.mean(axis=0)
            self.variance = np.maximum(self.eta.var(axis=0), 0.3)
        rng, size = self._rng, len(self.eta)
        for _ in range(2):
            total = np.exp(self.eta).sum(axis=1)
            rate = (rng.standard_gamma(self.counts.sum(axis=1)) / total)[:, None]
            value, middle, bend = self._newton(self.eta, rate)
            new = middle + rng.standard_normal(self.eta.shape) / np.sqrt(bend)
            value_new, back, bend_new = self._newton(new, rate)
            there = np.log(bend) - bend * (new - middle) ** 2
            here = np.log(bend_new) - bend_new * (self.eta - back) ** 2
            ratio = value_new - value + (here - there) / 2
            taken = np.log(rng.random(self.eta.shape)) < ratio
            self.eta = np.where(taken, new, self.eta)
        spread = ((self.eta - self.mean) ** 2).sum(axis=0)
        self.variance = np.maximum(spread / rng.chisquare(size, len(spread)), 0.01)
        noise = rng.standard_normal(len(spread)) * np.sqrt(self.variance / size)
        self.mean = self.eta.mean(axis=0) + noise
        weights, chances = np.exp(self.eta), rng.random(len(self.words))
        assign(
            self.doc_ptr, self.words, self.topics, weights, chances, self.assigned,
            self.counts,
        )  # fmt: skip
        self._draw_topics()

    def _newton(self, eta, rate):
        """Return log-densities, and the mean and precision of a proposal."""
        expected, off = rate * np.exp(eta), (eta - self.mean) / self.variance
        value = self.counts * eta - expected - off * (eta - self.mean) / 2
        bend = expected + 1 / self.variance
        return value, eta + (self.counts - expected - off) / bend / 2, bend


@kernel
def assign(doc_ptr, words, topics, weights, chances, out_assigned, out_counts):
    """Draw the topics of all tokens, ``P(k) ∝ weights_dk φ_wk``."""
    size = weights.shape[1]
    scratch = np.empty(size)
    out_counts[:] = 0.0
    for d in range(len(doc_ptr) - 1):
        for i in range(doc_ptr[d], doc_ptr[d + 1]):
            total = 0.0
            for k in range(size):
                scratch[k] = weights[d, k] * topics[words[i], k]
            for k in range(size):
                total += scratch[k]
            u = chances[i] * total - scratch[0]
            k = 0
            while u >= 0 and k < size - 1:
                k += 1
                u -= scratch[k]
            out_assigned[i] = k
            out_counts[d, k] += 1.0


def one(corpus, rows_of) -> dict:
    """Return what tables are made of: a few numbers for each topic and way."""
    only = corpus.get("only", slice(None))
    rows = {"truth": rounded(corpus["effect"][only])}
    for name, result, topics in rows_of:
        order, like = np.arange(len(corpus["topics"])), np.ones(len(corpus["topics"]))
        if topics is not None:
            order, like = match(topics, corpus["topics"])
        own, order, like = pooled(result, corpus["kind"]), order[only], like[only]
        rows[name] = {
            "estimate": rounded(own["estimate"][order]),
            "half": rounded(own["half"][order]),
            "like": rounded(like),
            "noted": [int(place in result.changed) for place in order.tolist()],
            "noise": own["significant"].astype(int).tolist(),
            "used": round(getattr(result, "used_", 0.0), 1),
        }
    return rows


def rounded(values) -> list[float]:
    return [float(f"{value:.4g}") for value in values]


def measure(results: dict, path: Path, cases, n_draws: int | None) -> dict:
    """Add the corpora that are missing to the results."""
    parts = [*((title(case), case, case.n_draws) for case in CASES)]
    parts += [(name, None, count) for name, count in TRAPS.items()]
    for kind in (False, True):
        case = CAUSES._replace(dirichlet=kind)
        parts.append((MIXTURES[kind], case, case.n_draws))
    for number, (name, case, count) in enumerate(parts):
        if cases is not None and number not in cases:
            continue
        for seed in range(FIRST, FIRST + (n_draws or count)):
            key = f"{name} | {seed}"
            if key in results:
                continue
            corpus = draw_corpus(case, seed) if case else draw_trap(name, seed)
            models = (LDA, GibbsLDA, StructuralLDA) if case else (LDA,)
            rows = causes(corpus) if name in MIXTURES else ways(corpus, models)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results = save({key: one(corpus, rows)}, path)
    return results


def title(case: Case) -> str:
    kind = "0/1, logistic normal, less pure" if case.narrow else "all kinds"
    return f"{case.n_topics} | {case.tokens} | {case.n_documents:,} | {kind}"


HEADS = (
    *("corpora", "topics found", "covers, found", "slope, found", "RMSE, found"),
    *("half interval, found", "covers, all", "noted", "covers, noted"),
    *("covers, not noted", "noise significant", "CPU s"),
)


def cells(rows: list[dict], truths: list[list[float]]) -> list[str]:
    """Return a line's figures, of one way in several corpora."""
    truth = np.concatenate(truths)
    columns = ("estimate", "half", "like", "noted", "noise")
    estimate, half, like, noted, noise = (
        np.concatenate([row[name] for row in rows]) for name in columns
    )
    near = like >= FOUND
    covered = np.abs(estimate - truth) <= half
    figures = [f"{len(rows)}", f"{near.mean():.2f}"]
    if near.any():
        gap, true = (estimate - truth)[near], truth[near]
        figures += [
            f"{covered[near].mean():.3f}", f"{1 + gap @ true / (true @ true):.3f}",
            f"{np.sqrt(np.mean(gap**2)):.4f}", f"{half[near].mean():.4f}",
        ]  # fmt: skip
    else:
        figures += [""] * 4
    used = np.mean([row["used"] for row in rows])
    noted = noted > 0
    figures += [f"{covered.mean():.3f}", f"{noted.mean():.2f}"]
    for kind in (noted, ~noted):
        figures.append(f"{covered[kind].mean():.3f}" if kind.any() else "")
    figures.append(f"{noise.mean():.3f}")
    return [*figures, f"{used:.1f}" if used else ""]


def table(results: dict, heads: list[str], names: list[str]) -> list[str]:
    """Return a table of the parts whose keys start with these names."""
    lines = [f"| {' | '.join([*heads, 'way', *HEADS])} |"]
    lines.append("|" + " --- |" * (len(heads) + 1 + len(HEADS)))
    for name in names:
        found = [row for key, row in results.items() if key.startswith(f"{name} | ")]
        for way in found[0] if found else ():
            if way != "truth":
                own = cells([r[way] for r in found], [r["truth"] for r in found])
                lines.append(f"| {name} | {way} | {' | '.join(own)} |")
    return [*lines, ""]


def page(results: dict) -> str:
    """Return the page."""
    lines = [
        "# Effects of many topics in short documents",
        "",
        "`python -m benchmarks.effects_short` (its text says how corpora are drawn). "
        "*Topics found*: share of true topics whose match in the fit has a cosine of "
        f"{FOUND} or more. *Covers*: share of nominal 95 % intervals of x that "
        "contain the effect in the population, of found topics and of all; *slope*: "
        "of estimates on true effects; *noted*: topics that the result says the "
        "documents do not determine, which was chosen on other draws; *noise "
        "significant*: share of effects of pure "
        "noise with p < 0.05. CPU s include the fit.",
        "",
        *table(
            results,
            ["topics", "tokens", "documents", "corpora are"],
            [title(case) for case in CASES],
        ),
        "## Causes",
        "",
        f"{CAUSES.n_documents:,} documents of {CAUSES.tokens} tokens as in the first "
        "line, and one change at a time, with mixtures as the sampler has them in its "
        "prior (Dirichlet) or not. Rows from the true topics are of all subjects. "
        "Estimates are right with the true topics fixed. Sampled topics depend on α, "
        "the more so where mixtures are not Dirichlet.",
        "",
        *table(results, ["mixtures"], list(MIXTURES)),
        "## One difficulty at a time",
        "",
        f"{TRAP_TOPICS} topics, {TRAP_DOCUMENTS} documents of 60 tokens. *Treated are "
        "longer*: 20 to 2,000 tokens, in the median four and a half times as many if "
        "treated, and longer documents have other topics. *Weights*: documents of one "
        "topic are up to ten times as often among the sampled ones, and weights "
        "correct for this; all ways use them. *8 clusters*: the treatment is that of "
        "a cluster, and all ways allow for them. *A topic of 1 %*: the line is of this "
        "topic alone.",
        "",
        *table(results, ["design"], list(TRAPS)),
    ]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="*", type=int)
    parser.add_argument("--draws", type=int)
    given = parser.parse_args()
    path = RESULTS / "effects_short.json.xz"
    results = measure(load(path), path, given.cases, given.draws)
    text = page(results)
    (RESULTS / "effects_short.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
