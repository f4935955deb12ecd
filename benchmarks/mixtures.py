# SPDX-License-Identifier: BSD-3-Clause
"""Whether LDA's mixtures are right: drawn corpora, of which θ is known.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.mixtures --write

Twelve settings: mixtures are drawn from a Dirichlet, or from a logistic normal whose
mean moves with a covariate x; topics are equal or unequal in size. A fitted θ is judged
after its topics are matched with the drawn ones (Hungarian method on what their
mixtures share):

- RMSE: root of the mean of ``Σ_k (θ̂_dk − θ_dk)²`` over documents;
- slope: effects of x on θ̂ (differences of means), regressed through zero on those on θ.
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
# Sizes of unequal topics are ranks to the power of minus this.
UNEQUAL = 0.5
SWEEPS = 300
PASSES = 60


class Setting(NamedTuple):
    """How a corpus is drawn; α is of a topic, 0 draws a logistic normal."""

    k: int
    length: int
    alpha: float = 0.0
    unequal: bool = False

    def name(self):
        """Return the name in tables."""
        kind = f"Dirichlet {self.alpha:g}" if self.alpha else "logistic normal"
        return kind + (", unequal" if self.unequal else "")


SETTINGS = (
    Setting(12, 100, 0.1),
    Setting(12, 60, 0.3),
    Setting(12, 300, 0.6),
    Setting(30, 300, 0.1),
    Setting(30, 300, 0.3),
    Setting(30, 100, 0.1, True),
    Setting(50, 300, 0.1),
    Setting(50, 100, 0.1, True),
    Setting(12, 60),
    Setting(12, 300),
    Setting(30, 100),
    Setting(30, 300, 0.0, True),
)


class Drawn(NamedTuple):
    """A corpus, its mixtures, and the covariate (None where there is none)."""

    counts: sp.csr_matrix
    theta: np.ndarray
    x: np.ndarray | None


def draw(setting: Setting, seed: int) -> Drawn:
    """Draw a corpus; lengths are Poisson."""
    k, length, alpha, unequal = setting
    rng = np.random.default_rng([seed, k, length, int(100 * alpha), unequal])
    phi = rng.dirichlet(np.full(WORDS, TOPIC_PRIOR), size=k)
    sizes = np.arange(1, k + 1) ** -UNEQUAL if unequal else np.ones(k)
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
    return Drawn(sp.csr_matrix(np.array(rows, dtype=np.float32)), theta, x)


def judge(drawn: Drawn, theta: np.ndarray) -> dict[str, float]:
    """Return the RMSE of fitted mixtures, and the slope of effects."""
    theta = matched(drawn.theta, theta)
    found = {"rmse": float(np.sqrt(((theta - drawn.theta) ** 2).sum(axis=1).mean()))}
    if drawn.x is not None:
        truth, ours = (effects(rows, drawn.x) for rows in (drawn.theta, theta))
        found["slope"] = float(truth @ ours / (truth @ truth))
    return found


def matched(truth: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return fitted mixtures in the order of the topics of the true ones."""
    from scipy.optimize import linear_sum_assignment

    theta = np.asarray(theta, np.float64)
    return theta[:, linear_sum_assignment(-(truth.T @ theta))[1]]


def fit_lda(counts, k, seed, **options):
    """LDA; return mixtures and passes."""
    from topicfold import LDA

    model = LDA(k, random_state=seed, **options).fit(counts)
    return model.doc_topics_, model.n_iter_


def fit_gibbs(counts, k, seed):
    """GibbsLDA; return mixtures and sweeps."""
    from topicfold import GibbsLDA

    model = GibbsLDA(k, max_iter=SWEEPS, random_state=seed).fit(counts)
    return model.doc_topics_, SWEEPS


def fit_tomotopy(counts, k, seed):
    """Tomotopy's LDAModel with its own defaults; return mixtures and sweeps."""
    import tomotopy

    model = tomotopy.LDAModel(k=k, seed=seed + 1)
    for row in counts:
        model.add_doc([str(w) for w in np.repeat(row.indices, row.data.astype(int))])
    model.train(SWEEPS, workers=1)
    return np.array([doc.get_topic_dist() for doc in model.docs]), SWEEPS


FITS = {
    "LDA": fit_lda,
    f"LDA, {PASSES} passes at most": partial(fit_lda, max_iter=PASSES),
    "LDA, tol=1e-6": partial(fit_lda, tol=1e-6, max_iter=1000),
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
    return found


def effects(rows: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the differences of the means of mixtures between x = 1 and x = 0."""
    return rows[x == 1].mean(axis=0) - rows[x == 0].mean(axis=0)


def planted_effects(folder: Path, length: int, n_draws: int, fits):
    """Return slope and RMSE of effects on the corpora of `planted_effects`."""
    stored = np.load(folder / "planted_effects" / "planted.npz")
    truth, found = [], {name: [] for name in ("true θ", *fits)}
    for number in range(n_draws):
        counts = sp.csr_matrix(stored[f"counts_{length}"][number].astype(np.float32))
        theta = stored[f"theta_{length}"][number].astype(np.float64)
        x = stored[f"x_{length}"][number]
        truth.append(stored[f"effect_{length}"][number])
        found["true θ"].append(effects(theta, x))
        for name, fit in fits.items():
            ours = matched(theta, fit(counts, 3, number)[0])
            found[name].append(effects(ours, x))
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
    lines = [
        "# Are the mixtures right? Drawn corpora, of which they are known",
        "",
        "`python -m benchmarks.mixtures --write`: RMSE of θ, topics matched (the root"
        " of the mean of Σ_k (θ̂_dk − θ_dk)² over documents); means over"
        f" {seeds} draws of {DOCUMENTS} documents and {WORDS} words. α is that of a"
        " topic. Sizes of unequal topics fall with the root of their rank.",
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
    lines += ["", "Passes and CPU seconds, in the mean of all settings:", ""]
    lines += ["| | passes | seconds |", "| --- | --- | --- |"]
    for name in names:
        both = [
            np.mean([r["found"][name][what] for r in records])
            for what in ("passes", "seconds")
        ]
        lines.append(f"| {name} | {both[0]:.0f} | {both[1]:.2f} |")
    lines += [
        "",
        "## Effects of a covariate on mixtures, as a multiple of the true ones",
        "",
        "| K | tokens | mixtures | " + " | ".join(names) + " |",
        "| --- |" + " --- |" * (len(names) + 2),
    ]
    with_x = [r for r in records if "slope" in r["found"][names[0]]]
    for r in with_x:
        cells = [f"{r['found'][name]['slope']:.2f}" for name in names]
        setting = Setting(*r["setting"])
        head = f"| {setting.k} | {setting.length} | {setting.name()} | "
        lines.append(head + " | ".join(cells) + " |")
    for length, found in drawn_effects.items():
        cells = [f"{found[name]['slope']:.2f}" for name in names]
        head = f"| 3 | {length} | logistic normal (`planted_effects`) | "
        lines.append(head + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure; print a line after each setting; write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--effects", type=int, default=20, help="draws of effects")
    parser.add_argument("--write", action="store_true", help="write the page")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")  # that passes ran out
    fits = dict(FITS)
    if importlib.util.find_spec("tomotopy") is not None:
        fits[f"tomotopy, {SWEEPS} sweeps"] = fit_tomotopy
    records = []
    for setting in SETTINGS:
        found = [
            measure(draw(setting, seed), setting.k, seed, fits)
            for seed in range(options.seeds)
        ]
        means = {
            name: {
                key: float(np.mean([one[name][key] for one in found]))
                for key in found[0][name]
            }
            for name in fits
        }
        records.append({"setting": setting, "found": means})
        print(json.dumps(records[-1]), flush=True)
    drawn_effects = {}
    folder = os.environ.get("TOPICFOLD_CORPORA")
    if folder and options.effects:
        for length in (60, 250):
            drawn_effects[length] = planted_effects(
                Path(folder), length, options.effects, fits
            )
            print(length, json.dumps(drawn_effects[length]), flush=True)
    print("\n".join(verdicts(records)))
    if options.write:
        text = page(records, drawn_effects, options.seeds)
        (RESULTS / "mixtures.md").write_text(text, "utf-8")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
