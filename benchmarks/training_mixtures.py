# SPDX-License-Identifier: BSD-3-Clause
"""How far `transform` of the training documents is from their fitted mixtures.

    python -m benchmarks.training_mixtures --write

Every model of the registry, on a drawn corpus of 600 documents of about 100 tokens and
20 topics. The figure is the mean over documents of ``Σ_k |θ_dk − θ'_dk|``, with what
else is known of documents given to both. For LDA also, on the drawn corpora of
``benchmarks.mixtures``, which of the two is nearer the truth.
"""

from __future__ import annotations

import argparse
import inspect
import logging
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.mixtures import SETTINGS, draw, judge
from topicfold import LDA
from topicfold.registry import models

RESULT = Path(__file__).parent / "results" / "training_mixtures.md"
TOPICS, DOCUMENTS, WORDS, LENGTH = 20, 600, 500, 100
FIRST = 100  # draws that no default was chosen on
# Why a figure is above 0.02.
REASONS = {
    "tokens": "training leaves a document's own tokens out of the topics, `transform` "
    "takes documents to be new",
    "draws": "means of different draws",
    "graph": "training knows a document's neighbours (`transform_neighbors=True` looks "
    "for those of new ones)",
    "classes": "training knows what is to be predicted",
    "phase": "`TwoPhase` infers training documents with their neighbours and classes",
}
WHY = {
    **dict.fromkeys(("gibbs", "hdp", "tree"), "draws"),
    **dict.fromkeys(("laplacian", "local", "discriminative"), "graph"),
    **dict.fromkeys(("slda", "rtm", "medlda"), "classes"),
}


def corpus() -> tuple[sp.csr_matrix, np.ndarray]:
    """Draw counts and mixtures."""
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(WORDS, 0.05), TOPICS)
    theta = rng.dirichlet(np.full(TOPICS, 0.1), DOCUMENTS)
    rows = [rng.multinomial(LENGTH, row) for row in theta @ phi]
    return sp.csr_matrix(np.array(rows, dtype=np.float64)), theta


def known(name: str, theta: np.ndarray) -> tuple[object, dict, dict]:
    """Return y, what `fit` is given, and what `transform` is."""
    main, number = theta.argmax(axis=1), np.arange(len(theta))
    y = main % 4 if name in ("slda", "medlda") or name.endswith("-c") else None
    both = {
        "authors": {"authors": [[f"a{k}", f"b{k % 7}"] for k in main]},
        "features": {"features": {"main": [str(k) for k in main]}},
        "dynamic": {"time": 2000 + number % 4},
        "stamped": {"time": 2000 + number % 4},
        "labeled": {"labels": [[f"l{k}"] for k in main]},
    }.get(name, {})
    links = {"links": [[d, d + 1] for d in number[:-1] if main[d] == main[d + 1]]}
    return y, links if name == "rtm" else both, both


def gap(entry) -> float | None:
    """Return the mean L1 of a model; None if it has no mixtures to compare."""
    X, theta = corpus()
    cls, base = entry.load(), entry.load_base()
    options = {"n_components": TOPICS, "random_state": 0}
    options |= {"seeds": {"one": [0, 1]}} if entry.name == "seeded" else {}
    own = inspect.signature(base or cls).parameters
    model = (base or cls)(**{k: v for k, v in options.items() if k in own})
    model = model if base is None else cls(model)
    y, given, later = known(entry.name, theta)
    documents = {"words": X} if entry.name == "multimodal" else X
    model.fit(documents, y, **given)
    if not hasattr(model, "doc_topics_"):
        return None
    found = model.transform(documents, **later)
    return float(np.abs(found - model.doc_topics_).sum(axis=1).mean())


def nearer() -> list[tuple[str, np.ndarray]]:
    """Return RMSE and slope of LDA's fitted mixtures and of `transform`'s."""
    rows = []
    for setting in SETTINGS:
        found = []
        for seed in (FIRST, FIRST + 1):
            drawn = draw(setting, seed)
            model = LDA(setting.k, random_state=0).fit(drawn.counts)
            both = model.doc_topics_, model.transform(drawn.counts)
            judged = [judge(drawn, theta) for theta in both]
            gaps = np.abs(both[0] - both[1]).sum(axis=1).mean()
            figures = [j.get(f, np.nan) for f in ("rmse", "slope") for j in judged]
            found.append([gaps, *figures])
        name = f"{setting.name()}, K = {setting.k}, {setting.length} tokens"
        rows.append((name, np.mean(found, axis=0)))
    return rows


def report() -> str:
    """Return the page."""
    lines = [
        "# `transform` of training documents", "",
        "By `python -m benchmarks.training_mixtures --write`: the mean over documents "
        "of `Σ_k |θ_dk − θ'_dk|` between the mixtures of a fit (`doc_topics_`) and "
        f"`transform` of the same documents ({DOCUMENTS} drawn documents of {LENGTH} "
        f"tokens, {TOPICS} topics). `fit_transform` returns what `transform` does.", "",
        "| model | L1 | why not below 0.02 |", "| --- | ---: | --- |",
    ]  # fmt: skip
    for entry in models():
        value = gap(entry)
        if value is None:
            continue
        why = "phase" if entry.base else WHY.get(entry.name, "tokens")
        reason = REASONS[why] if value > 0.02 else ""
        lines.append(f"| {entry.shown} | {value:.3f} | {reason} |")
    lines += [
        "", "Mixtures of LDA, two corpora of each setting of `mixtures.md`: the root "
        "mean squared error (RMSE) of both, and the slope of effects.", "",
        "| corpus | L1 | RMSE, fit | RMSE, transform | slope, fit | slope, transform |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]  # fmt: skip
    rows = nearer()
    for name, row in [*rows, ("mean", np.nanmean([r for _, r in rows], axis=0))]:
        shown = ("" if np.isnan(v) else f"{v:.3f}" for v in row)
        lines.append(f"| {name} | " + " | ".join(shown) + " |")
    return "\n".join([*lines, ""])


def main() -> None:
    """Print the page, and write it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.name}")
    write = parser.parse_args().write
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    text = report()
    if write:
        RESULT.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
