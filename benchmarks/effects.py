# SPDX-License-Identifier: BSD-3-Clause
"""Do intervals of effects contain planted effects as often as they say?

    python -m benchmarks.effects                   # drawn corpora, runs anywhere
    python -m benchmarks.effects --corpora DIR     # and those that R's stm was run on
    python -m benchmarks.effects --setting "3 topics" --draws 20
    python -m benchmarks.effects --corpora DIR --again StructuralLDA  # its rows alone
    python -m benchmarks.effects --corpora DIR --again LDA  # so, but not its tests

Corpora are drawn with a known effect of a covariate on the shares of topics: mixtures
are logistic-normal or Dirichlet in turn, the covariate is 0/1, a number or a category
of three levels in turn, and a second covariate is noise. Every method sees the same
corpora; with 20 topics, models other than LDA see every second. The numbers of the
draws start at 10,000: lower ones were used to choose the method. Results are added to
``results/effects.json.xz`` after every corpus, so that a run can be ended and resumed,
and ``results/effects.md`` is written from it.
"""

from __future__ import annotations

import argparse
import json
import lzma
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy import sparse, stats
from scipy.optimize import linear_sum_assignment

from topicfold import LDA, FeatureLDA, GibbsLDA, StructuralLDA
from topicfold.effects import estimate_effect, permutation_test, split_sample
from topicfold.effects.regression import LeastSquares

RESULTS = Path(__file__).parent / "results"
# Topics, documents, words, spread of log mixtures, corpora.
SETTINGS = {
    "3 topics": (3, 300, 200, 0.8, 200),
    "20 topics": (20, 2000, 1000, 2.0, 40),
}
FIRST = 10_000
PERMUTATIONS = 199
TOKENS = (20, 60, 250)
TRUTHS = ("logistic normal", "Dirichlet")
COVARIATES = ("0/1", "number", "levels")
OTHER_MODELS = (GibbsLDA, FeatureLDA, StructuralLDA)
# A topic is found if its words are nearly those of the truth.
FOUND = 0.9
SUMS = (
    *("n", "covered", "product", "square", "error", "width"),
    *("n_found", "covered_found", "product_found", "square_found"),
    *("noise", "significant", "covered_sample"),
)


def draw_corpus(seed: int, setting: str, tokens: int) -> dict:
    """Return counts, covariates and the effect in the population."""
    n_topics, n_documents, n_terms, spread, _ = SETTINGS[setting]
    rng = np.random.default_rng(seed)
    truth, kind = TRUTHS[seed % 2], COVARIATES[seed // 2 % 3]
    topics = rng.dirichlet(np.full(n_terms, 0.1), n_topics)
    levels = 3 if kind == "levels" else 2
    slopes = rng.normal(0, 0.5 if kind == "number" else 0.8, (levels - 1, n_topics))
    base = rng.normal(0, 0.3, n_topics)

    def columns(n):
        if kind == "number":
            values = rng.standard_normal(n)
            return values, values[:, None]
        values = rng.integers(0, levels, n)
        return values, np.eye(levels)[values][:, 1:]

    def mixtures(x):
        middle = base + x @ slopes
        if truth == "logistic normal":
            rows = np.exp(middle + rng.normal(0, spread, middle.shape))
        else:
            rows = np.exp(middle)
            rows *= 3.0 / rows.sum(axis=1, keepdims=True)
            rows = rng.standard_gamma(rows) + 1e-300
        return rows / rows.sum(axis=1, keepdims=True)

    _, many = columns(200_000)
    design = np.c_[np.ones(len(many)), many]
    fit = np.linalg.lstsq(design, mixtures(many), rcond=None)[0]
    values, x = columns(n_documents)
    theta = mixtures(x)
    words = theta @ topics
    words /= words.sum(axis=1, keepdims=True)
    counts = np.array([rng.multinomial(tokens, row) for row in words])
    named = np.array(["a", "b", "c"])[values] if kind == "levels" else values
    return {
        "X": sparse.csr_matrix(counts.astype(np.float32)),
        "topics": topics,
        "theta": theta,
        "data": {"x": named, "noise": rng.standard_normal(n_documents)},
        "effect": fit[2] - fit[1] if kind == "levels" else fit[1],
        "kind": kind,
        "parts": (truth, kind),
    }


def stored_corpora(folder: Path, tokens: int):
    """Yield the corpora that R's stm was run on, with its estimates."""
    found = np.load(folder / "planted_effects" / "planted.npz")
    for i in range(len(found[f"counts_{tokens}"])):
        counts = found[f"counts_{tokens}"][i].astype(np.float32)
        own = np.random.default_rng(i).standard_normal(len(counts))
        yield {
            "X": sparse.csr_matrix(counts),
            "topics": found[f"phi_{tokens}"][i],
            "theta": found[f"theta_{tokens}"][i].astype(np.float64),
            "data": {"x": found[f"x_{tokens}"][i].astype(int), "noise": own},
            "effect": found[f"effect_{tokens}"][i],
            "kind": "0/1",
            "parts": ("logistic normal", "0/1"),
            "stm": (found[f"stm_effect_{tokens}"][i], found[f"stm_se_{tokens}"][i]),
        }


def match(topics, truth):
    """Return the topic of a model for each true one, and their cosines."""
    own = topics / np.linalg.norm(topics, axis=1, keepdims=True)
    true = truth / np.linalg.norm(truth, axis=1, keepdims=True)
    cosines = true @ own.T
    order = linear_sum_assignment(-cosines)[1]
    return order, cosines[np.arange(len(order)), order]


def plain(theta, corpus):
    """Return estimates and errors of a regression on mixtures taken as known."""
    x, noise = corpus["data"]["x"], corpus["data"]["noise"]
    if corpus["kind"] == "levels":
        x = np.c_[x == "b", x == "c"].astype(float)
        contrast = np.array([0.0, -1.0, 1.0, 0.0])
    else:
        contrast = np.array([0.0, 1.0, 0.0])
    least = LeastSquares(np.c_[np.ones(len(theta)), x, noise])
    coefficients, covariances = least.fit(np.asarray(theta, dtype=np.float64))
    errors = np.sqrt(np.einsum("i,kij,j->k", contrast, covariances, contrast))
    half = stats.t.ppf(0.975, least.free)
    t = coefficients[-1] / np.sqrt(covariances[:, -1, -1])
    return {
        "estimate": contrast @ coefficients,
        "half": half * errors,
        "significant": np.abs(t) > half,
    }


def pooled(effects, kind):
    """Return estimates and half intervals of the tool."""
    ends = {"levels": ("c", "b"), "0/1": (1, 0), "number": (1.0, 0.0)}[kind]
    rows = effects.contrast("x", *ends)
    noise = [row for row in effects.rows() if row["effect"].startswith("noise")]
    return {
        "estimate": np.array([row["estimate"] for row in rows]),
        "half": np.array([row["high"] - row["estimate"] for row in rows]),
        "significant": np.array([row["p"] < 0.05 for row in noise]),
    }


def methods(corpus, setting: str, seed: int):
    """Yield each method's name, result and the match of its topics."""
    n_topics = len(corpus["topics"])
    sure = np.arange(n_topics), np.ones(n_topics)
    yield "regression on the true mixtures", plain(corpus["theta"], corpus), sure
    if "stm" in corpus:
        estimate, error = corpus["stm"]
        found = {"estimate": estimate, "half": 1.97 * error, "significant": []}
        yield "R's stm, 25 draws", found, sure
    fits = {"LDA": fitted(LDA, corpus)}
    # Both kinds of truth and all covariates are in every second pair.
    if setting != "20 topics" or seed // 2 % 2 == 0:
        fits |= {kind.__name__: fitted(kind, corpus) for kind in OTHER_MODELS}
    yield from methods_of_models(corpus, seed, fits)
    options = {"n_jobs": 1, "random_state": seed}
    tests = permutation_test(
        fits["LDA"], "~ x + noise", corpus["data"], "noise", X=corpus["X"],
        n_permutations=PERMUTATIONS, **options,
    )  # fmt: skip
    significant = np.array([row["p"] < 0.05 for row in tests])
    yield "LDA, permutation test", {"significant": significant}, sure
    model = LDA(n_topics, random_state=0, n_jobs=1)
    found = split_sample(model, "~ x + noise", corpus["data"], corpus["X"], **options)
    matched = match(found.model_.components_, corpus["topics"])
    yield "LDA, split sample", pooled(found, corpus["kind"]), matched


def methods_of_models(corpus, seed: int, fits):
    """Yield the same of fitted models; classes are fitted here."""
    options = {"n_jobs": 1, "random_state": seed}
    for name, given in fits.items():
        model = fitted(given, corpus) if isinstance(given, type) else given
        matched = match(model.components_, corpus["topics"])
        yield f"plain regression on {name}", plain(model.doc_topics_, corpus), matched
        ways = {"posterior": "its own posterior"} if name == "LDA" else {}
        for method, what in (ways | {"joint": "effects"}).items():
            found = estimate_effect(
                model, "~ x + noise", corpus["data"], X=corpus["X"], method=method,
                **options,
            )  # fmt: skip
            yield f"{name}, {what}", pooled(found, corpus["kind"]), matched


def wanted(known: dict) -> dict:
    """Return the models whose rows are empty."""
    return {
        kind.__name__: kind
        for kind in (LDA, *OTHER_MODELS)
        if known.get(f"{kind.__name__}, effects") == []
    }


def fitted(kind, corpus):
    """Return a model fitted to a corpus, with its covariates if it takes any."""
    model = kind(len(corpus["topics"]), random_state=0, n_jobs=1)
    x = corpus["data"]["x"]
    if corpus["kind"] == "levels":
        x = np.c_[x == "b", x == "c"]
    columns = np.c_[x, corpus["data"]["noise"]].astype(float)
    if kind is FeatureLDA:
        return model.fit(corpus["X"], features=columns)
    if kind is StructuralLDA:
        return model.fit(corpus["X"], prevalence=columns)
    return model.fit(corpus["X"])


def sums(found, matched, truth, sample) -> list[float]:
    """Return what tables are made of, for one corpus and method."""
    if "estimate" not in found:  # a test, without intervals
        return [
            *([0.0] * SUMS.index("noise")),
            float(len(found["significant"])), float(np.sum(found["significant"])), 0.0,
        ]  # fmt: skip
    order, cosines = matched
    estimate, half = found["estimate"][order], found["half"][order]
    covered = np.abs(estimate - truth) <= half
    near = cosines >= FOUND
    values = (
        len(truth), covered.sum(), estimate @ truth, truth @ truth,
        ((estimate - truth) ** 2).sum(), half.sum(), near.sum(),
        (covered & near).sum(), (estimate * truth)[near].sum(),
        (truth**2)[near].sum(), len(found["significant"]),
        np.sum(found["significant"]), (np.abs(estimate - sample) <= half).sum(),
    )  # fmt: skip
    return [float(f"{float(value):.6g}") for value in values]


def measure(results: dict, path: Path, args) -> None:
    """Add what is missing to the results, one corpus after another."""
    for tokens in TOKENS[1:] if args.corpora else ():
        for seed, corpus in enumerate(stored_corpora(args.corpora, tokens)):
            if args.draws is not None and seed >= args.draws:
                break
            key = f"stm | {tokens} | {seed}"
            if lacking(results, key):
                found = one(corpus, "stm", seed, results.get(key))
                results |= save({key: found}, path)
    for setting, (*_, n_draws) in SETTINGS.items():
        if args.setting and args.setting != setting:
            continue
        last = args.first + (n_draws if args.draws is None else args.draws)
        for seed in range(args.first, last):
            for tokens in TOKENS:
                key = f"{setting} | {tokens} | {seed}"
                if lacking(results, key):
                    corpus = draw_corpus(seed, setting, tokens)
                    found = one(corpus, setting, seed, results.get(key))
                    results |= save({key: found}, path)


def lacking(results: dict, key: str) -> bool:
    """Tell whether a corpus, or a row of one, is to be measured."""
    return key not in results or not all(results[key].values())


def one(corpus, setting: str, seed: int, known: dict | None = None) -> dict:
    """Return the sums of every method; those that are known stay."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sample = plain(corpus["theta"], corpus)["estimate"]
        if known is not None:
            rows = methods_of_models(corpus, seed, wanted(known))
            found = {
                name: sums(result, matched, corpus["effect"], sample)
                for name, result, matched in rows
            }
            return known | found
        rows = methods(corpus, setting, seed)
        found = {
            name: sums(result, matched, corpus["effect"], sample)
            for name, result, matched in rows
        }
    return {"parts": corpus["parts"], **found}


def load(path: Path) -> dict:
    if not path.exists():
        return {}
    with lzma.open(path, "rt", encoding="utf-8") as stream:
        return json.load(stream)


def save(found: dict, path: Path) -> dict:
    """Add results to those in the file, where another run may have added its own."""
    results = load(path) | found
    text = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in results.items())
    beside = path.with_suffix(".tmp")
    with lzma.open(beside, "wt", encoding="utf-8") as stream:
        stream.write(f"{{\n{text}\n}}\n")
    beside.replace(path)
    return results


def gathered(results: dict, setting: str, tokens: int, part: str | None = None):
    """Return the sums of each method over corpora, and how many there are."""
    total: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(len(SUMS)))
    rates: dict[str, list] = defaultdict(list)
    n_corpora = 0
    for key, found in results.items():
        own, length, _ = key.split(" | ")
        if own != setting or int(length) != tokens:
            continue
        if part is not None and part not in found["parts"]:
            continue
        n_corpora += 1
        for name, values in found.items():
            if name != "parts" and values:
                total[name] += values
                own = dict(zip(SUMS, values, strict=True))
                noise = own["significant"] / max(own["noise"], 1)
                rates[name].append((own["covered"] / max(own["n"], 1), noise))
    out = {name: dict(zip(SUMS, v, strict=True)) for name, v in total.items()}
    for name, own in rates.items():
        out[name]["corpora"] = len(own)
        spread = np.std(own, axis=0, ddof=1) if len(own) > 1 else (np.nan, np.nan)
        out[name]["errors"] = np.asarray(spread) / np.sqrt(len(own))
    return out, n_corpora


def share(part: float, whole: float) -> str:
    return f"{part / whole:.3f}" if whole else ""


def table(results: dict, setting: str, tokens: int) -> list[str]:
    total, n_corpora = gathered(results, setting, tokens)
    if not total:
        return []
    lines = [
        f"### {tokens} tokens a document ({n_corpora} corpora)",
        "",
        "| method | corpora | covers | covers, sample | slope | RMSE | half interval "
        "| topics found | covers, found | slope, found | noise significant |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, s in total.items():
        error, noise_error = s["errors"]
        noise = share(s["significant"], s["noise"])
        noise = f"{noise} ± {noise_error:.3f}" if noise else ""
        if not s["n"]:
            lines.append(f"| {name} | {s['corpora']} {'| ' * 8}| {noise} |")
            continue
        rmse = np.sqrt(s["error"] / s["n"])
        lines.append(
            f"| {name} | {s['corpora']} "
            f"| {share(s['covered'], s['n'])} ± {error:.3f} "
            f"| {share(s['covered_sample'], s['n'])} "
            f"| {share(s['product'], s['square'])} | {rmse:.4f} "
            f"| {s['width'] / s['n']:.4f} | {share(s['n_found'], s['n'])} "
            f"| {share(s['covered_found'], s['n_found'])} "
            f"| {share(s['product_found'], s['square_found'])} "
            f"| {noise} |"
        )
    return [*lines, ""]


def by_part(results: dict) -> list[str]:
    """Return the coverage of the default by kind of truth and covariate."""
    heads = [*TRUTHS, *COVARIATES]
    lines = [
        "## By kind of truth and covariate (LDA, effects)",
        "",
        f"| | tokens | {' | '.join(heads)} |",
        "|---" * (len(heads) + 2) + "|",
    ]
    for setting in SETTINGS:
        for tokens in TOKENS:
            cells = []
            for part in heads:
                total, _ = gathered(results, setting, tokens, part)
                s = total.get("LDA, effects")
                cells.append(
                    f"{share(s['covered'], s['n'])} "
                    f"/ {share(s['product'], s['square'])}"
                    if s
                    else ""
                )
            if any(cells):
                lines.append(f"| {setting} | {tokens} | {' | '.join(cells)} |")
    return [*lines, "", "Covers / slope.", ""]


def page(results: dict) -> str:
    lines = [
        "# Effects of covariates: intervals that cover",
        "",
        "`python -m benchmarks.effects --corpora DIR` (see its text for how corpora "
        "are drawn). *Covers*: share of nominal 95 % intervals that contain the "
        "effect in the population, ± its standard error over corpora; *covers, "
        "sample*: the effect of a regression on the true mixtures of these documents, "
        "which is known better, so more should. *Slope*: slope of estimates on true "
        "effects; below 1 effects are attenuated, above 1 exaggerated. *Topics "
        "found*: share of true topics whose match in the model has a cosine of "
        f"{FOUND} or more; a topic that the model did not find has no effect of its "
        "own, so *covers, found* leaves it out. *Noise significant*: share of effects "
        "of a covariate of pure noise with p < 0.05.",
        "",
    ]
    if any(key.startswith("stm |") for key in results):
        lines += [
            "## The corpora that R's stm was run on (3 topics, 300 documents, 0/1)",
            "",
            *table(results, "stm", 60),
            *table(results, "stm", 250),
        ]
    for setting, (n_topics, n_documents, n_terms, spread, _) in SETTINGS.items():
        parts = [line for tokens in TOKENS for line in table(results, setting, tokens)]
        if parts:
            lines += [
                f"## {n_topics} topics, {n_documents:,} documents, {n_terms:,} words",
                "",
                f"Spread of the logistic normal {spread}; Dirichlet of total 3.",
                "",
                *parts,
            ]
    return "\n".join([*lines, *by_part(results)])


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path)
    parser.add_argument("--setting", choices=list(SETTINGS))
    parser.add_argument("--draws", type=int)
    parser.add_argument("--first", type=int, default=FIRST)
    models = [kind.__name__ for kind in (LDA, *OTHER_MODELS)]
    parser.add_argument("--again", choices=models)
    args = parser.parse_args()
    path = RESULTS / "effects.json.xz"
    results = load(path)
    if args.again:  # its rows are empty until they are measured again
        ways = (", its own posterior", ", effects")
        own = [f"plain regression on {args.again}", *(args.again + w for w in ways)]
        for found in results.values():
            found |= {name: [] for name in own if name in found}
        save(results, path)
    measure(results, path, args)
    (RESULTS / "effects.md").write_text(page(results), encoding="utf-8")
    print(page(results))


if __name__ == "__main__":
    main()
