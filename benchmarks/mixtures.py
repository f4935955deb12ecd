# SPDX-License-Identifier: BSD-3-Clause
"""Whether LDA's mixtures are right: drawn corpora, of which θ is known.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.mixtures --write [--only LDA]
    TOPICFOLD_CORPORA=DIR python -m benchmarks.mixtures --real now --write
    TOPICFOLD_CORPORA=DIR python -m benchmarks.mixtures --long --write

Fifteen settings: mixtures are drawn from a Dirichlet, or from a logistic normal whose
mean moves with a covariate x; topics are equal or unequal in size. The stop and the
rules for α and for merging topics were chosen on draws below 100; the page has draws
from 100 on. A fitted θ is scored after its topics are matched with the true ones
(Hungarian method on what their mixtures share):

- RMSE: root of the mean of ``Σ_k (θ̂_dk − θ_dk)²`` over documents;
- slope: effects of x on θ̂ (differences of means), regressed through zero on those on θ.

No method can be asked for more than the data tell: `KNOWN` samples mixtures with the
true topics fixed, and α learned with them.

What serves drawn corpora must not cost real ones: ``--real NAME`` fits LDA to sixteen
of them and keeps its figures under that name in ``mixtures_real.json``, beside those of
the version before topics changed places (``before``).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import logging
import os
import time
import warnings
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

RESULTS = Path(__file__).parent / "results"
DOCUMENTS = 600
WORDS = 500
TOPIC_PRIOR = 0.1
SPREAD, EFFECT = 1.5, 0.8
# Real corpora: those that the rules of CVB0 were tried on, and others.
TRIED = (
    *("ap_blei", "oh10", "bbc_news_octis", "short_tweet"),
    *("wap", "la1s", "reuters21578_dengcai", "20news_rennie_61188"),
    *("emailspam_csdmc2010", "k1b"),
)
OTHERS = (
    *("ohscal", "tdt2_dengcai", "poliblog5k_stm"),
    *("cora_linqs", "short_searchsnippets", "dblp_octis"),
)
REAL_DOCUMENTS = 1500
REAL_TOPICS = (20, 100)
# Draws that no choice was made on.
FIRST = 100
SWEEPS = 300
FEW_SWEEPS = 100
# Long documents: speeches, and drawn ones; how large a topic is that rules a document.
SPEECHES, LONG_TOPICS = "sotu", (20,)
LONG_TOKENS, LONG_WORDS, LONG_ALPHA = 3000, 5000, 0.1
RULES = 0.9
KNOWN = "true topics known"
ESTIMATED = "LDA, `estimate_effect`"


class Setting(NamedTuple):
    """How a corpus is drawn; α is of a topic, 0 draws a logistic normal."""

    k: int
    length: int
    alpha: float = 0.0
    # Sizes of topics are their ranks to the power of minus this.
    unequal: float = 0.0

    def name(self):
        """Return the name in tables."""
        kind = f"Dirichlet {self.alpha:g}" if self.alpha else "logistic normal"
        sizes = {0.0: "", 0.5: ", unequal", 1.0: ", very unequal"}
        return kind + sizes[self.unequal]


SETTINGS = (
    Setting(12, 100, 0.1),
    Setting(12, 60, 0.3),
    Setting(12, 300, 0.6),
    Setting(30, 300, 0.1),
    Setting(30, 300, 0.3),
    Setting(30, 100, 0.1, 0.5),
    Setting(30, 100, 0.1, 1.0),
    Setting(50, 300, 0.1),
    Setting(50, 100, 0.1, 0.5),
    Setting(50, 100, 0.1, 1.0),
    Setting(12, 60),
    Setting(12, 300),
    Setting(30, 100),
    Setting(30, 300, 0.0, 0.5),
    Setting(30, 300, 0.0, 1.0),
)


class Drawn(NamedTuple):
    """A corpus, its mixtures, the covariate (None where there is none), its topics."""

    counts: sp.csr_matrix
    theta: np.ndarray
    x: np.ndarray | None
    topics: np.ndarray


def draw(setting: Setting, seed: int) -> Drawn:
    """Draw a corpus; lengths are Poisson."""
    k, length, alpha, unequal = setting
    rng = np.random.default_rng([seed, k, length, int(100 * alpha), int(2 * unequal)])
    phi = rng.dirichlet(np.full(WORDS, TOPIC_PRIOR), size=k)
    sizes = np.arange(1.0, k + 1) ** -unequal
    sizes *= k / sizes.sum()
    x = None
    if alpha:
        theta = rng.dirichlet(alpha * sizes, size=DOCUMENTS)
    else:
        x = rng.integers(0, 2, DOCUMENTS)
        effects = EFFECT * rng.standard_normal(k)
        noise = SPREAD * rng.standard_normal((DOCUMENTS, k))
        theta = np.exp(noise + np.log(sizes) + np.outer(x, effects))
        theta /= theta.sum(axis=1, keepdims=True)
    lengths = np.maximum(rng.poisson(length, DOCUMENTS), 1)
    shares = theta @ phi
    rows = [
        rng.multinomial(n, p / p.sum()) for n, p in zip(lengths, shares, strict=True)
    ]
    return Drawn(sp.csr_matrix(np.array(rows, dtype=np.float32)), theta, x, phi)


def judge(drawn: Drawn, theta: np.ndarray) -> dict[str, float]:
    """Return the RMSE of fitted mixtures, and the slope of effects."""
    theta = theta[:, order_of(drawn.theta, theta)]
    found = {"rmse": float(np.sqrt(((theta - drawn.theta) ** 2).sum(axis=1).mean()))}
    if drawn.x is not None:
        truth, ours = (effects(rows, drawn.x) for rows in (drawn.theta, theta))
        found["slope"] = float(truth @ ours / (truth @ truth))
    return found


def order_of(truth: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return the topics of fitted mixtures in the order of the true ones."""
    from scipy.optimize import linear_sum_assignment

    theta = np.asarray(theta, np.float64)
    return linear_sum_assignment(-(truth.T @ theta))[1]


def fit_lda(counts, k, seed, **options):
    """LDA; return mixtures and passes."""
    from topicfold import LDA

    model = LDA(k, random_state=seed, **options).fit(counts)
    return model.doc_topics_, model.n_iter_


def fit_gibbs(counts, k, seed, sweeps=SWEEPS, **options):
    """GibbsLDA; return mixtures and sweeps."""
    from topicfold import GibbsLDA

    model = GibbsLDA(k, max_iter=sweeps, random_state=seed, **options).fit(counts)
    return model.doc_topics_, sweeps


def known(drawn: Drawn, k: int, seed: int) -> np.ndarray:
    """Return mixtures sampled with the true topics, α learned with them."""
    from topicfold import GibbsLDA
    from topicfold.gibbs.fixed_topics import gibbs_mixtures

    options = {"max_iter": FEW_SWEEPS, "init": drawn.topics, "random_state": seed}
    alpha = GibbsLDA(k, **options).fit(drawn.counts).doc_topic_prior_
    plan = {"burn_in": 10, "n_samples": 100, "seed": seed, "n_jobs": 1}
    topics = drawn.topics.astype(np.float32)
    return gibbs_mixtures(drawn.counts, topics, prior=alpha, **plan)


def estimated(drawn: Drawn, k: int, seed: int) -> np.ndarray:
    """Return LDA's effects by `topicfold.effects`, in the order of the true topics."""
    from topicfold import LDA
    from topicfold.effects import estimate_effect

    model = LDA(k, random_state=seed).fit(drawn.counts)
    data = {"x": drawn.x.astype(float)}
    found = estimate_effect(model, "~ x", data, X=drawn.counts, n_jobs=1).table()
    return found["estimate"].to_numpy()[order_of(drawn.theta, model.doc_topics_)]


def fit_tomotopy(counts, k, seed):
    """Tomotopy's LDAModel with its own defaults; return mixtures and sweeps."""
    import tomotopy

    model = tomotopy.LDAModel(k=k, seed=seed + 1)
    for row in counts:
        model.add_doc([str(w) for w in np.repeat(row.indices, row.data.astype(int))])
    model.train(SWEEPS, workers=1)
    return np.array([doc.get_topic_dist() for doc in model.docs]), SWEEPS


def fit_topica(counts, k, seed):
    """topica's LDA with its own defaults; return mixtures and sweeps."""
    import topica

    documents = [
        [str(w) for w in np.repeat(row.indices, row.data.astype(int))] for row in counts
    ]
    model = topica.LDA(k, seed=seed + 1)
    model.fit(documents, iters=SWEEPS, keep_theta_draws=False, progress=False)
    return np.asarray(model.doc_topic), SWEEPS


# Other libraries, where they are installed.
OTHER = {"tomotopy": fit_tomotopy, "topica": fit_topica}
FITS = {
    "LDA": fit_lda,
    f"LDA, then {FEW_SWEEPS} sweeps": partial(fit_gibbs, sweeps=FEW_SWEEPS, init="lda"),
    f"GibbsLDA, {SWEEPS} sweeps": fit_gibbs,
}
GIBBS = f"GibbsLDA, {SWEEPS} sweeps"


def measure(drawn: Drawn, k: int, seed: int, fits) -> dict[str, dict[str, float]]:
    """Fit all models to a drawn corpus and judge them."""
    found = {}
    for name, fit in fits.items():
        began = time.process_time()
        theta, passes = fit(drawn.counts, k, seed)
        seconds = time.process_time() - began
        found[name] = {**judge(drawn, theta), "passes": passes, "seconds": seconds}
    none = {"passes": 0, "seconds": 0.0}
    found[KNOWN] = {**judge(drawn, known(drawn, k, seed)), **none}
    if drawn.x is not None:
        truth, ours = effects(drawn.theta, drawn.x), estimated(drawn, k, seed)
        slope = float(truth @ ours / (truth @ truth))
        found[ESTIMATED] = {"rmse": found["LDA"]["rmse"], "slope": slope, **none}
    return found


def effects(rows: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the differences of the means of mixtures between x = 1 and x = 0."""
    return rows[x == 1].mean(axis=0) - rows[x == 0].mean(axis=0)


def planted_effects(folder: Path, length: int, n_draws: int, fits):
    """Return slope and RMSE of effects on the corpora of `planted_effects`."""
    stored = np.load(folder / "planted_effects" / "planted.npz")
    truth, found = [], {name: [] for name in ("true θ", *fits, KNOWN, ESTIMATED)}
    for number in range(n_draws):
        counts = sp.csr_matrix(stored[f"counts_{length}"][number].astype(np.float32))
        theta = stored[f"theta_{length}"][number].astype(np.float64)
        x = stored[f"x_{length}"][number]
        truth.append(stored[f"effect_{length}"][number])
        found["true θ"].append(effects(theta, x))
        drawn = Drawn(counts, theta, x, stored[f"phi_{length}"][number])
        given = {KNOWN: lambda c, k, n, drawn=drawn: (known(drawn, k, n), 0)}
        for name, fit in (fits | given).items():
            ours = fit(counts, 3, number)[0]
            ours = ours[:, order_of(theta, ours)]
            found[name].append(effects(ours, x))
        found[ESTIMATED].append(estimated(drawn, 3, number))
    truth = np.array(truth)
    return {
        name: {
            "slope": float((truth * ours).sum() / (truth**2).sum()),
            "rmse": float(np.sqrt(((truth - ours) ** 2).mean())),
        }
        for name, ours in ((name, np.array(rows)) for name, rows in found.items())
    }


def verdicts(records):
    """Return how LDA stands to GibbsLDA, in words."""
    lines = []
    for name in FITS:
        if not name.startswith("LDA"):
            continue
        ratios = [r["found"][name]["rmse"] / r["found"][GIBBS]["rmse"] for r in records]
        means = [
            np.mean([r["found"][n]["rmse"] for r in records]) for n in (name, GIBBS)
        ]
        passes = [r["found"][name]["passes"] for r in records]
        lines.append(
            f"- {name}: mean RMSE {means[0]:.3f} against GibbsLDA's {means[1]:.3f},"
            f" {np.sum(np.array(ratios) <= 1)} of {len(ratios)} settings at or below,"
            f" the worst {max(ratios):.2f} times; {np.mean(passes):.0f} passes in the"
            " mean."
        )
    return lines


def page(records, drawn_effects, seeds):
    """Return the page."""
    names = [*records[0]["found"]]
    with_effects = [*names, ESTIMATED]
    lines = [
        "# Are the mixtures right? Simulated corpora, whose mixtures are known",
        "",
        "`python -m benchmarks.mixtures --write`: RMSE of θ, topics matched (the root "
        f"of the mean of Σ_k (θ̂_dk − θ_dk)² over documents); means over {seeds} draws "
        f"of {DOCUMENTS} documents and {WORDS} words. α is the value for one topic. "
        "Sizes of unequal topics decrease with the square root of their rank, those "
        "of very unequal ones with the rank. The last column samples mixtures with "
        "the true topics; sweeps of other libraries use their own defaults. The stop "
        "and the rules for α, for a token's own count, for the limit of η and for "
        "merging and splitting topics were chosen on other draws.",
        "",
        "The limit of η, which falls with K where words are rare, stays 0.1 where most "
        "are frequent in a topic, as here. Before, the mean was 0.141, and K = 50, 100 "
        "tokens, very unequal 0.246. An η learned from the topics of a sample's tokens "
        "grows to 0.3. CVB0's mixtures were not the cause: mixtures sampled with LDA's "
        "topics fixed had the same error.",
        "",
        *verdicts(records),
        "",
        "## RMSE of mixtures",
        "",
        "| K | tokens | mixtures | " + " | ".join(names) + " |",
        "| --- |" + " --- |" * (len(names) + 2),
    ]
    for r in records:
        cells = [f"{r['found'][name]['rmse']:.3f}" for name in names]
        setting = Setting(*r["setting"])
        head = f"| {setting.k} | {setting.length} | {setting.name()} | "
        lines.append(head + " | ".join(cells) + " |")
    means = [np.mean([r["found"][name]["rmse"] for r in records]) for name in names]
    lines.append("| | | **mean** | " + " | ".join(f"{m:.3f}" for m in means) + " |")
    lines += [
        "",
        "Passes and CPU seconds (of a machine shared with other work), in the mean"
        " of all settings:",
        "",
    ]
    lines += ["| | passes | seconds |", "| --- | --- | --- |"]
    for name in names[:-1]:
        both = [
            np.mean([r["found"][name][what] for r in records])
            for what in ("passes", "seconds")
        ]
        lines.append(f"| {name} | {both[0]:.0f} | {both[1]:.2f} |")
    lines += [
        "",
        "## Effects of a covariate on mixtures, as a multiple of the true ones",
        "",
        "A posterior mean is drawn to the mean of all documents, the more the shorter"
        f" they are, also with the true topics ({KNOWN}). `topicfold.effects` takes"
        " shares that no prior has moved.",
        "",
        "| K | tokens | mixtures | " + " | ".join(with_effects) + " |",
        "| --- |" + " --- |" * (len(with_effects) + 2),
    ]
    with_x = [r for r in records if "slope" in r["found"][names[0]]]
    for r in with_x:
        cells = [f"{r['found'][name]['slope']:.2f}" for name in with_effects]
        setting = Setting(*r["setting"])
        head = f"| {setting.k} | {setting.length} | {setting.name()} | "
        lines.append(head + " | ".join(cells) + " |")
    for length, found in drawn_effects.items():
        cells = [f"{found[name]['slope']:.2f}" for name in with_effects]
        head = f"| 3 | {length} | logistic normal (`planted_effects`) | "
        lines.append(head + " | ".join(cells) + " |")
    return "\n".join([*lines, *real_part(), *long_part()]) + "\n"


def measure_real(corpus: str, k: int) -> dict[str, float]:
    """Fit LDA to a sample of a real corpus; return what `lda_quality` measures."""
    from benchmarks.lda_quality import held_out, load, perplexity, readable
    from topicfold import LDA

    counts, y = load(corpus)
    train, y, fold, score = held_out(counts, y, REAL_DOCUMENTS, 0)
    began = time.process_time()
    model = LDA(k, random_state=0).fit(train)
    seconds = time.process_time() - began
    unigram = np.asarray(train.sum(axis=0)).ravel() / train.sum()
    judged = model.components_, model.doc_topic_prior_, fold, score, unigram
    return {
        "perplexity": perplexity(*judged),
        **readable(model.components_, model.doc_topics_, train, y),
        "passes": model.n_iter_,
        "seconds": seconds,
    }


def real_table(found):
    """Return the changes of the means from ``before`` to the others."""
    lines = [
        "| | corpora | K | perplexity | NPMI | NMI | passes | CPU time |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in [name for name in found if name != "before"]:
        for corpora, these in (("tried on", TRIED), ("others", OTHERS)):
            for k in REAL_TOPICS:
                keys = [f"{corpus} {k}" for corpus in these]
                if not found[name].keys() >= {*keys}:
                    continue  # a run that was cut short
                pairs = [(found["before"][key], found[name][key]) for key in keys]
                perplexity = np.mean(
                    [b["perplexity"] / a["perplexity"] for a, b in pairs]
                )
                means = [
                    np.mean([b[key] - a[key] for a, b in pairs if key in a])
                    for key in ("npmi", "nmi")
                ]
                passes = [
                    np.mean([one["passes"] for one in both])
                    for both in zip(*pairs, strict=True)
                ]
                times = np.mean([b["seconds"] / a["seconds"] for a, b in pairs])
                lines.append(
                    f"| {name} | {corpora} | {k} | {100 * (perplexity - 1):+.2f} % |"
                    f" {means[0]:+.4f} | {means[1]:+.4f} |"
                    f" {passes[0]:.0f} → {passes[1]:.0f} | {times:.2f} times |"
                )
    return lines


def measure_all_real(name: str) -> None:
    """Measure real corpora and keep the figures under a name."""
    file = RESULTS / "mixtures_real.json"
    found = json.loads(file.read_text("utf-8")) if file.exists() else {}
    measure_real(TRIED[1], 5)  # compiled, loaded
    found[name] = {}
    for corpus in (*OTHERS, *TRIED):
        for k in REAL_TOPICS:
            one = measure_real(corpus, k)
            found[name][f"{corpus} {k}"] = {key: round(v, 4) for key, v in one.items()}
            print(name, corpus, k, one, flush=True)
        file.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


def real_part():
    """Return the page's part on real corpora."""
    file = RESULTS / "mixtures_real.json"
    if not file.exists():
        return []
    return [
        "",
        "## Real corpora",
        "",
        "`python -m benchmarks.mixtures --real now`: what changed from the version in"
        " which topics were not merged and split and half of α was even; means over ten"
        f" corpora and six others, {REAL_DOCUMENTS} documents, a fifth of them held out"
        " (`mixtures_real.json` has each). CPU times compare two runs under unlike"
        " load: passes say more. Four of the others (ohscal, tdt2, poliblog, dblp) had"
        " a part in choosing when a whole token leaves its word; one seed. The limit of"
        " η moves two of these lines, poliblog (perplexity +0.4 %, NPMI -0.008) and bbc"
        " (-1.0 %, +0.019), K = 20.",
        "",
        *real_table(json.loads(file.read_text("utf-8"))),
    ]


def long_documents() -> dict[str, dict[str, float]]:
    """Measure how many long documents one topic rules, drawn ones and speeches."""
    from benchmarks.lda_quality import held_out, load, perplexity
    from topicfold import LDA, GibbsLDA

    models = {
        "LDA": lambda k: LDA(k, random_state=0),
        "LDA, 500 passes": lambda k: LDA(k, tol=0, max_iter=500, random_state=0),
        "GibbsLDA, 300 sweeps": lambda k: GibbsLDA(k, max_iter=SWEEPS, random_state=0),
    }
    found = {}
    train, _, fold, score = held_out(load(SPEECHES)[0], None, 10**6, 0)
    unigram = np.asarray(train.sum(axis=0)).ravel() / train.sum()
    for k in LONG_TOPICS:
        drawn = draw_long(k)
        truth = float((drawn.theta.max(axis=1) > RULES).mean())
        for name, model in models.items():
            began = time.process_time()
            speeches = model(k).fit(train)
            seconds = time.process_time() - began
            fitted = speeches.components_, speeches.doc_topic_prior_
            ours = model(k).fit(drawn.counts).doc_topics_
            found[f"{k} {name}"] = {
                "ruled": float((speeches.doc_topics_.max(axis=1) > RULES).mean()),
                "perplexity": perplexity(*fitted, fold, score, unigram),
                "seconds": seconds,
                "drawn": float((ours.max(axis=1) > RULES).mean()),
                "truth": truth,
                "rmse": judge(drawn, ours)["rmse"],
            }
            print(k, name, found[f"{k} {name}"], flush=True)
    return found


def draw_long(k: int) -> Drawn:
    """Draw as many long documents as there are speeches, topics of unequal sizes."""
    rng = np.random.default_rng([7, k])
    phi = rng.dirichlet(np.full(LONG_WORDS, TOPIC_PRIOR), size=k)
    sizes = np.arange(1.0, k + 1) ** -0.5
    theta = rng.dirichlet(LONG_ALPHA * k * sizes / sizes.sum(), size=233)
    rows = [rng.multinomial(LONG_TOKENS, p / p.sum()) for p in theta @ phi]
    return Drawn(sp.csr_matrix(np.array(rows, dtype=np.float32)), theta, None, phi)


def long_part():
    """Return the page's part on long documents."""
    file = RESULTS / "mixtures_long.json"
    if not file.exists():
        return []
    lines = [
        "",
        "## Long documents",
        "",
        f"`python -m benchmarks.mixtures --long`: the part of documents in which one"
        f" topic has more than {RULES:g}. 233 speeches (a fifth held out: perplexity of"
        f" their second halves), and 233 drawn documents of {LONG_TOKENS} tokens (α"
        f" {LONG_ALPHA:g}, unequal topics), of which the truth is known. More passes"
        " change nothing; held-out words of speeches favour the fit with more ruled"
        " documents, drawn ones show that all methods find a few too many. One seed and"
        " one draw.",
        "",
        "| K | | speeches | perplexity | CPU s | drawn | truth | RMSE |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for key, one in json.loads(file.read_text("utf-8")).items():
        k, _, name = key.partition(" ")
        lines.append(
            f"| {k} | {name} | {100 * one['ruled']:.1f} % | {one['perplexity']:.0f} |"
            f" {one['seconds']:.1f} | {100 * one['drawn']:.1f} % |"
            f" {100 * one['truth']:.1f} % | {one['rmse']:.3f} |"
        )
    return lines


def in_order(found):
    """Return the figures of methods in the order of columns."""
    last = (GIBBS, *(f"{name}, {SWEEPS} sweeps" for name in OTHER), KNOWN, ESTIMATED)
    names = [*(name for name in FITS if name not in last), *last]
    return {name: found[name] for name in names if name in found}


def main() -> None:
    """Measure; print a line after each setting; write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--effects", type=int, default=20, help="draws of effects")
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("--real", metavar="NAME", help="real corpora instead")
    parser.add_argument("--only", default="", help="fits whose names begin so")
    parser.add_argument("--long", action="store_true", help="long documents instead")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")  # that passes ran out
    if options.real or options.long:
        if options.real:
            measure_all_real(options.real)
        if options.long:
            text = json.dumps(long_documents(), indent=1) + "\n"
            (RESULTS / "mixtures_long.json").write_text(text, "utf-8")
        print("\n".join([*real_part(), *long_part()]))
        if options.write:
            page_file = RESULTS / "mixtures.md"
            text = page_file.read_text("utf-8").partition("\n## Real corpora")[0]
            lines = [text.rstrip(), *real_part(), *long_part()]
            page_file.write_text("\n".join(lines) + "\n", "utf-8")
        return
    fits = {name: fit for name, fit in FITS.items() if name.startswith(options.only)}
    for name, fit in OTHER.items():
        if importlib.util.find_spec(name) and name.startswith(options.only):
            fits[f"{name}, {SWEEPS} sweeps"] = fit
    stored = RESULTS / "mixtures.json"
    kept = json.loads(stored.read_text("utf-8")) if stored.exists() else {}
    for setting in SETTINGS:
        found = [
            measure(draw(setting, seed), setting.k, seed, fits)
            for seed in range(FIRST, FIRST + options.seeds)
        ]
        key = " ".join(f"{number:g}" for number in setting)
        for name in found[0]:
            kept.setdefault(key, {})[name] = {
                what: round(float(np.mean([one[name][what] for one in found])), 4)
                for what in found[0][name]
            }
        print(key, json.dumps(kept[key]), flush=True)
        stored.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    folder = os.environ.get("TOPICFOLD_CORPORA")
    if folder and options.effects:
        for length in ("60", "250"):
            plan = Path(folder), int(length), options.effects, fits
            found = planted_effects(*plan)
            kept.setdefault(length, {}).update(found)
            print(length, json.dumps(found), flush=True)
        stored.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    records = [
        {"setting": s, "found": in_order(kept[" ".join(f"{n:g}" for n in s)])}
        for s in SETTINGS
    ]
    drawn_effects = {length: kept[length] for length in ("60", "250")}
    print("\n".join(verdicts(records)))
    if options.write:
        text = page(records, drawn_effects, options.seeds)
        (RESULTS / "mixtures.md").write_text(text, "utf-8")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
