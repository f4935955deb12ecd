# SPDX-License-Identifier: BSD-3-Clause
"""How soon PLSA reaches the log-likelihood of 1,000 plain EM passes, and what it gains.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.plsa_convergence --write
    TOPICFOLD_CORPORA=DIR python -m benchmarks.plsa_convergence --others --write

PLSA's passes are extrapolated, above a floor that lets words come back to topics that
had lost them. Plain EM is the same algorithm without. Perplexity of held-out words is
that of `lda_quality`, with mixtures by EM alone. Orthogonal topics and variational
Bayes are extrapolated, too: ``--others`` measures these.
"""

from __future__ import annotations

import argparse
import logging
import os
import time
import warnings
from contextlib import contextmanager, nullcontext

import numpy as np

from benchmarks.lda_quality import RESULTS, held_out, load, perplexity

CORPORA = (
    *("oh10", "la1s", "ap_blei", "reuters21578_dengcai", "k1b"),
    "short_searchsnippets",
)
PLAIN, EXTRAPOLATED = 1000, 200
OTHERS = "OrthogonalPLSA", 'LDA(algorithm="variational")'
OTHERS_K, OTHERS_PASSES = 20, 200
OTHERS_CORPORA = "oh10", "ap_blei", "short_searchsnippets"
PAGE, HEADING = "plsa_convergence.md", "## Other algorithms"


@contextmanager
def plain_passes(kind):
    """Let an algorithm's passes be plain."""
    kept = kind.extrapolated
    kind.extrapolated = lambda algorithm: algorithm
    try:
        yield
    finally:
        kind.extrapolated = kept


def fit(parts, k, seed, *, plain=False, **options):
    """Return objectives per token, CPU seconds, held-out perplexity, KKT residual."""
    from topicfold import PLSA
    from topicfold.learn.learner import Learner

    train, fold, score = parts
    unigram = np.asarray(train.sum(axis=0)).ravel() / train.sum()
    model = PLSA(k, random_state=seed, n_jobs=1, **options)
    began = time.process_time()
    with plain_passes(Learner) if plain else nullcontext():
        model.fit(train)
    seconds = time.process_time() - began
    history = np.array(model.objective_history_) / train.sum()
    found = perplexity(model.components_, 1e-12, fold, score, unigram)
    return history, seconds, found, model.kkt_residual_


def measure(name, k, n_documents, seed):
    """Return the line of a corpus and K."""
    train, _, *halves = held_out(*load(name), n_documents, seed)
    parts = train, *halves
    fit(parts, k, seed, max_iter=2, tol=0)  # compiled, loaded
    plain = fit(parts, k, seed, plain=True, tol=0, max_iter=PLAIN)
    default = fit(parts, k, seed)
    longer = fit(parts, k, seed, tol=0, max_iter=EXTRAPOLATED)
    reached = np.flatnonzero(longer[0] >= plain[0][-1])
    passes = int(reached[0]) if len(reached) else None
    share = None
    if passes is not None:
        share = passes / EXTRAPOLATED * longer[1] / plain[1]
    old = fit(parts, k, seed, plain=True)
    return {"name": name, "k": k, "old": old, "plain": plain, "default": default} | {
        "longer": longer, "passes": passes, "share": share,
    }  # fmt: skip


def line(r):
    """Return a line of the table."""
    cells = [r["name"], str(r["k"])]
    for kind in ("old", "plain", "default", "longer"):
        history, _, found, residual = r[kind]
        end = f"{history[-1]:.4f} / {found:.0f} / {residual:.4f}"
        cells.append(f"{end} ({len(history) - 1})")
    never = r["passes"] is None
    cells.append("never" if never else f"{r['passes']} ({r['share']:.2f})")
    return "| " + " | ".join(cells) + " |"


def other(name, model, n_documents, seed):
    """Return the line of a corpus and one of `OTHERS`."""
    from topicfold import LDA, OrthogonalPLSA
    from topicfold.learn.learner import Learner, Variational

    train = held_out(*load(name), n_documents, seed)[0]

    def fitted(plain, **options):
        common = {"random_state": seed, "n_jobs": 1, **options}
        if model == OTHERS[0]:
            kind, fits = Learner, OrthogonalPLSA(OTHERS_K, **common)
        else:
            kind, fits = Variational, LDA(OTHERS_K, algorithm="variational", **common)
        began = time.process_time()
        with plain_passes(kind) if plain else nullcontext():
            fits.fit(train)
        history = np.array(fits.objective_history_) / train.sum()
        return history, time.process_time() - began

    fitted(False, max_iter=2, tol=0)  # compiled, loaded
    most = {"tol": 0, "max_iter": OTHERS_PASSES}
    plain, ours = fitted(True, **most), fitted(False, **most)
    reached = np.flatnonzero(ours[0] >= plain[0][-1])
    passes, share = "never", ""
    if len(reached):
        passes = str(reached[0])
        share = f" ({reached[0] / OTHERS_PASSES * ours[1] / plain[1]:.2f})"
    ends = [fitted(plain)[0] for plain in (True, False)]
    cells = [f"{end[-1]:.4f} ({len(end) - 1})" for end in ends]
    cells += [f"{history[-1]:.4f}" for history, _ in (plain, ours)]
    return f"| {model} | {name} | " + " | ".join(cells) + f" | {passes}{share} |"


def page_of_others(lines, n_documents):
    """Return the part of the page on other algorithms."""
    most = f"{OTHERS_PASSES} passes"
    head = [
        HEADING,
        "",
        "`python -m benchmarks.plsa_convergence --others --write`: objective of a"
        f" training token (the bound, for variational Bayes), K = {OTHERS_K}, the same"
        f" samples of up to {n_documents:,} documents, one thread, one seed. The last"
        f" column is the extrapolated passes to the end of {most} without, and their"
        " share of CPU time.",
        "",
        "| algorithm | corpus | plain, default stop (passes) | default (passes) |"
        f" plain, {most} | {most} | passes to plain ones (share of time) |",
        "| --- |" + " --- |" * 6,
    ]
    return "\n".join([*head, *lines]) + "\n"


def page(records, n_documents):
    """Return the page."""
    shares = [r["share"] for r in records if r["share"] is not None]
    better = sum(r["default"][0][-1] >= r["plain"][0][-1] for r in records)
    lines = [
        "# PLSA to convergence",
        "",
        "`python -m benchmarks.plsa_convergence --write`: log-likelihood of a training"
        " token / held-out perplexity / KKT residual, the most that another EM step"
        " would change an entry of a mixture or topic by (passes); samples of up to"
        f" {n_documents:,} documents, four fifths for training, one thread, one seed.",
        "",
        f"- The log-likelihood of {PLAIN:,} plain EM passes is reached in all"
        f" {len(records)} lines, at {np.median(shares):.2f} of their CPU time in the"
        f" median, {max(shares):.2f} at most."
        if len(shares) == len(records)
        else f"- The log-likelihood of {PLAIN:,} plain EM passes is reached in"
        f" {len(shares)} of {len(records)} lines.",
        f"- The default ends at or above it in {better} of {len(records)}.",
        "",
        f"| corpus | K | plain, default stop | plain, {PLAIN:,} passes | default |"
        f" {EXTRAPOLATED} passes | passes (share of time) to {PLAIN:,} plain ones |",
        "| --- |" + " --- |" * 6,
        *map(line, records),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print a line after each corpus and K, write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", nargs="+")
    parser.add_argument("-k", nargs="+", type=int, default=[20, 100])
    parser.add_argument("--documents", type=int, default=1500)
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("--others", action="store_true", help="other algorithms")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")  # that passes ran out
    path = RESULTS / PAGE
    first, _, others = path.read_text("utf-8").partition("\n" + HEADING)
    if options.others:
        lines = []
        for model in OTHERS:
            for name in options.corpus or OTHERS_CORPORA:
                lines.append(other(name, model, options.documents, 0))
                print(lines[-1], flush=True)
        if options.write:
            text = page_of_others(lines, options.documents)
            path.write_text(first + "\n" + text, "utf-8")
        return
    records = []
    for name in options.corpus or CORPORA:
        for k in options.k:
            records.append(measure(name, k, options.documents, 0))
            print(line(records[-1]), flush=True)
    if options.write:
        text = page(records, options.documents)
        path.write_text(text + ("\n" + HEADING + others if others else ""), "utf-8")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
