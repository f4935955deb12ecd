# SPDX-License-Identifier: BSD-3-Clause
"""Do intervals cover in the designs that people use: splines, interactions, clusters?

    python -m benchmarks.effects_designs --write [--cases 0 2]

Corpora with 10, 20 and 50 topics of very unequal size. A group and a number matter, the
number along a curve that is another in each group; a third covariate is noise. With
clusters, all documents of a city have the city's group, and a city shifts its
documents' topics. Words are equally frequent in the mean, or as Zipf's law says; in
the one case a fifth of every topic are words that all topics share, such as stop words
that were not left out. What is estimated: the difference of the groups, the same at one
value of the number, the difference between two values of the number, expected shares
along it, and the test of the noise as a whole (`Effects.tests`). No default was chosen
on these corpora.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks.effects import FOUND, match
from topicfold import LDA, CorrelatedLDA, FeatureLDA, SeededLDA, StructuralLDA
from topicfold.effects import estimate_effect, split_sample

RESULTS = Path(__file__).parent / "results" / "effects_designs.md"
N_DOCUMENTS, N_TERMS, TOKENS, N_CITIES = 1000, 1000, 100, 50
EVEN, ZIPF, SHARED = "even", "Zipf", "Zipf, a fifth shared"
WORDED = "each group's own"  # groups word the topics differently
SHORT = "Zipf, 2,000 documents of 60"
N_ZIPF = 3000  # words of Zipf's law
# Topics, whether in clusters, corpora, and what words are like.
CASES = (
    *((10, False, 20, EVEN), (10, True, 20, EVEN)),
    *((50, False, 4, EVEN), (50, True, 4, EVEN)),
    *((10, False, 10, ZIPF), (10, False, 10, SHARED), (10, False, 6, WORDED)),
    *((20, False, 4, ZIPF), (20, False, 6, SHORT)),
)
PLACES = (0.2, 0.5, 0.8)
N_SLOW = 6  # corpora of the slower ways
KINDS = (
    "groups",
    "groups at 0.8",
    "number, 0.8 - 0.2",
    "shares at 0.2, 0.5, 0.8",
)


class Truth:
    """Where corpora of one number are drawn from."""

    def __init__(self, seed: int, n_topics: int, clustered: bool, words: str) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.clustered, self.n_topics = clustered, n_topics
        self.size, self.tokens = (2000, 60) if words == SHORT else (N_DOCUMENTS, TOKENS)
        if words in (EVEN, WORDED):
            self.topics = rng.dirichlet(np.full(N_TERMS, 0.1), n_topics)
        else:
            zipf = 1 / (np.arange(N_ZIPF) + 6.0)
            zipf /= zipf.sum()
            shared = 0.2 if words == SHARED else 0.0
            own = rng.dirichlet(0.03 * N_ZIPF * zipf + 1e-4, n_topics)
            self.topics = (1 - shared) * own + shared * zipf
        self.own = np.stack([self.topics, self.topics])
        if words == WORDED:
            self.own = self.own * np.exp(rng.normal(0, 0.5, self.own.shape))
            self.own /= self.own.sum(axis=2, keepdims=True)
            self.topics = self.own.mean(axis=0)
        self.base = rng.normal(0, 0.7, n_topics)  # sizes differ tenfold
        self.shift, self.line = rng.normal(0, 0.6, (2, n_topics))
        self.wave, self.other_wave = rng.normal(0, 0.6, (2, n_topics))

    def mixtures(self, group, x, city):
        """Draw mixtures of documents, logistic-normal around their means."""
        waves = np.sin(np.pi * x)[:, None]
        middle = self.base + np.outer(group, self.shift) + np.outer(x, self.line)
        middle = middle + waves * (self.wave + np.outer(group, self.other_wave))
        rows = np.exp(middle + city + self.rng.normal(0, 1.5, middle.shape))
        return rows / rows.sum(axis=1, keepdims=True)

    def cities(self, n):
        """Draw how cities shift their documents."""
        spread = 0.5 if self.clustered else 0.0
        return self.rng.normal(0, spread, (n, self.n_topics))

    def mean(self, group, x, n=4000):
        """Return the expected shares of documents with these covariates."""
        ones = np.ones(n)
        return self.mixtures(group * ones, x * ones, self.cities(n)).mean(axis=0)

    def corpus(self):
        """Draw counts, covariates and mixtures of a corpus."""
        rng = self.rng
        city = rng.integers(0, N_CITIES, self.size)
        own = city if self.clustered else rng.integers(0, 2, self.size)
        group, x = (own % 2).astype(float), rng.random(self.size)
        theta = self.mixtures(group, x, self.cities(N_CITIES)[city])
        words = np.where(group[:, None] > 0, theta @ self.own[1], theta @ self.own[0])
        words /= words.sum(axis=1, keepdims=True)
        X = np.array([rng.multinomial(self.tokens, row) for row in words])
        data = {
            "group": np.where(group > 0, "b", "a"),
            "x": x,
            "noise": rng.standard_normal(self.size),
            "city": city,
        }
        return sparse.csr_matrix(X.astype(np.float32)), data, theta

    def estimands(self):
        """Return the true values (K,) of each kind of estimate."""
        grid = (np.arange(20) + 0.5) / 20
        along = {g: np.array([self.mean(g, x) for x in grid]) for g in (0.0, 1.0)}
        at = {x: [self.mean(g, x, 20_000) for g in (0.0, 1.0)] for x in PLACES}
        share = {x: (a + b) / 2 for x, (a, b) in at.items()}
        return {
            KINDS[0]: [(along[1.0] - along[0.0]).mean(axis=0)],
            KINDS[1]: [at[0.8][1] - at[0.8][0]],
            KINDS[2]: [share[0.8] - share[0.2]],
            KINDS[3]: [share[x] for x in PLACES],
        }


def estimates(found):
    """Return estimates, ends of intervals, and p of the noise as a whole."""
    rows = {
        KINDS[0]: [found.contrast("group", "b", "a")],
        KINDS[1]: [found.contrast("group", "b", "a", at={"x": 0.8})],
        KINDS[2]: [found.contrast("x", 0.8, 0.2)],
        KINDS[3]: [found.predict("x", [x]) for x in PLACES],
    }
    ends = {
        kind: [np.array([(row["low"], row["high"]) for row in one]) for one in several]
        for kind, several in rows.items()
    }
    tests = [row["p"] for row in found.tests() if row["covariate"] == "noise"]
    return ends, np.array(tests)


def models(X, data, topics):
    """Yield names and fits of the other models."""
    size, options = len(topics), {"random_state": 0, "n_jobs": 1}
    group, noise = (data["group"] == "b").astype(float), data["noise"]
    known = np.column_stack([group, data["x"], noise])
    yield "CorrelatedLDA", CorrelatedLDA(size, **options).fit(X)
    yield "StructuralLDA", StructuralLDA(size, **options).fit(X, prevalence=known)
    yield "FeatureLDA", FeatureLDA(size, **options).fit(X, features=known)
    lift = np.sqrt(topics) * topics / topics.mean(axis=0)
    best = np.argsort(-lift, axis=1)[: size // 2, :3]  # half of the topics have seeds
    seeds = {f"t{k}": [int(word) for word in row] for k, row in enumerate(best)}
    yield "SeededLDA", SeededLDA(size, seeds=seeds, **options).fit(X)


def worded_ways(X, data, formula, size):
    """Yield the same of topics with content: effects, and regressions of draws."""
    group, what = data["group"], "StructuralLDA with content"
    known = {"prevalence": {name: data[name] for name in ("group", "x", "noise")}}
    known["content"] = group
    model = StructuralLDA(size, random_state=0, n_jobs=1).fit(X, **known)
    options = {"X": X, "content": group, "n_jobs": 1}
    found = estimate_effect(model, formula, data, **options)
    yield f"{what}, effects", found, model.components_
    draws = model.theta_draws(25, X=X, **known).astype(float)
    found = estimate_effect(draws, formula, data)
    yield f"{what}, theta_draws", found, model.components_


def ways(X, data, theta, model, formula, slow, topics=None):
    """Yield each way's name, result, and its topics; other models if given `topics`."""
    options = {"n_jobs": 1}
    known = np.stack([theta, theta])  # two draws that are the same: nothing is in doubt
    yield "the true mixtures", estimate_effect(known, formula, data), None
    found = estimate_effect(model, formula, data, X=X, **options)
    yield "LDA, effects", found, model.components_
    if topics is WORDED:
        yield from worded_ways(X, data, formula, len(theta[0]))
        return
    for name, other in models(X, data, topics) if topics is not None else ():
        found = estimate_effect(other, formula, data, X=X, **options)
        yield f"{name}, effects", found, other.components_
    if not slow:
        return
    for method in ("fixed", "bootstrap"):
        found = estimate_effect(model, formula, data, X=X, method=method, **options)
        yield f"LDA, effects, method={method}", found, model.components_
    fresh = LDA(model.n_components, random_state=0, n_jobs=1)
    cluster = data["city"] if "|" in formula else None
    plain = formula.split("|")[0]
    halves = split_sample(fresh, plain, data, X, cluster=cluster, **options)
    yield "LDA, split sample", halves, halves.model_.components_


def measure(cases):
    """Yield rows of the table, one per case and way."""
    for n_topics, clustered, n_corpora, words in cases:
        formula = "~ group * s(x) + s(noise)" + (" | city" if clustered else "")
        kept: dict[str, dict] = {}
        for number in range(n_corpora):
            truth = Truth(50_000 + number, n_topics, clustered, words)
            X, data, theta = truth.corpus()
            true = truth.estimands()
            model = LDA(n_topics, random_state=0, n_jobs=1).fit(X)
            few = n_topics == 10 and not clustered and number < N_SLOW
            slow, others = few and words == EVEN, few and words == ZIPF
            given = truth.topics if others else WORDED if words == WORDED else None
            began = time.process_time()
            for name, found, topics in ways(
                X, data, theta, model, formula, slow, given
            ):
                used, began = time.process_time() - began, time.process_time()
                order, like = np.arange(n_topics), np.ones(n_topics)
                if topics is not None:
                    order, like = match(topics, truth.topics)
                own = kept.setdefault(name, {"noise": [], "like": [], "used": []})
                ends, noise = estimates(found)
                own["noise"] += (noise < 0.05).tolist()
                own["like"] += (like >= FOUND).tolist()
                own["used"].append(used)
                for kind in KINDS:
                    for one, value in zip(ends[kind], true[kind], strict=True):
                        low, high = one[order].T
                        covers = (low <= value) & (value <= high)
                        own.setdefault(kind, []).extend(covers[like >= FOUND].tolist())
        for name, own in kept.items():
            covers = [np.mean(own[kind]) for kind in KINDS]
            yield (
                *(n_topics, "by city" if clustered else "no", words, name),
                len(own["used"]),
                *(np.mean(own["like"]), *covers, np.mean(own["noise"])),
                np.mean(own["used"]),
            )


def page(rows) -> str:
    """Return the page."""
    heads = [
        *("topics", "clusters", "words", "way", "corpora", "topics found", *KINDS),
        *("noise significant", "CPU s"),
    ]
    lines = [
        "# Effects in other designs: splines, interactions, clusters",
        "",
        f"`python -m benchmarks.effects_designs --write`: {N_DOCUMENTS:,} documents of "
        f"{TOKENS} tokens where nothing else is said, topics of very unequal size, "
        "`~ group * s(x) + s(noise)`, "
        f"with clusters of {N_CITIES} cities. Share of nominal 95 % intervals that "
        "contain the value in the population, of topics that LDA found (a cosine of "
        f"{FOUND} or more); *noise significant* is the test of `s(noise)` as a whole "
        "at 5 %. Split sample has half the documents. *Words*: equally frequent in the "
        f"mean ({N_TERMS:,}), or of Zipf's law ({N_ZIPF:,}), or so and with a fifth of "
        "every topic in common, as if stop words had been left in, or each group's "
        "own for the same topics. CPU s of models "
        "other than LDA include the fit.",
        "",
        "| " + " | ".join(heads) + " |",
        "|" + " --- |" * len(heads),
    ]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure the cases asked for, print, and write the page with all if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="*", type=int, default=range(len(CASES)))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    store = RESULTS.with_suffix(".json")
    rows = json.loads(store.read_text("utf-8")) if store.is_file() else {}
    for case in given.cases:
        rows[str(case)] = []
        for row in measure([CASES[case]]):
            cells = [f"{v:.3f}" if isinstance(v, float) else str(v) for v in row]
            rows[str(case)].append(cells)
            print(" | ".join(cells), flush=True)
    if given.write:
        rows = dict(sorted(rows.items()))
        store.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        text = page([row for case in rows.values() for row in case])
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
