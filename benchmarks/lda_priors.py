# SPDX-License-Identifier: BSD-3-Clause
"""What learned priors do to held-out perplexity, in every algorithm of LDA.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.lda_priors --write

Held-out perplexity with `learn_priors=True` over that without, judged as in
`lda_quality`, on samples of its corpora.
"""

from __future__ import annotations

import argparse
import logging
import os
import warnings

import numpy as np

from benchmarks.lda_quality import RESULTS, held_out, load, perplexity

# Corpora on which the rule of CVB0 was chosen; the others had no part in it.
CHOSEN = (
    *("dblp_octis", "short_tweet", "short_searchsnippets", "reuters21578_dengcai"),
    *("oh5", "ap_blei"),
)
UNSEEN = (
    *("nips_titles", "cora_lda", "ohscal", "bbc_news_octis", "tdt2_dengcai", "k1b"),
    *("wap", "la1s", "emailspam_csdmc2010"),
)
ALGORITHMS = {
    "CVB0": {},
    "variational": {"algorithm": "variational"},
    "online variational": {
        "algorithm": "variational",
        "batch_size": 100,
        "max_iter": 10,
    },
    "GibbsLDA": None,
}


def ratio(parts, n_topics, seed, options):
    """Return perplexity with learned priors over that with the given ones."""
    from topicfold import LDA, GibbsLDA

    train, fold, score = parts
    unigram = np.asarray(train.sum(axis=0)).ravel() / train.sum()
    found = []
    for learn in (True, False):
        shared = {"learn_priors": learn, "random_state": seed}
        if options is None:
            model = GibbsLDA(n_topics, **shared)
        else:
            model = LDA(n_topics, **shared, **options)
        model.fit(train)
        alpha = model.doc_topic_prior_
        found.append(perplexity(model.components_, alpha, fold, score, unigram))
    return found[0] / found[1]


def page(rows, n_documents, seeds):
    """Return the page: a line per corpus and K, and the means."""
    lines = [
        "# Learned priors: held-out perplexity with them over that without",
        "",
        "`python -m benchmarks.lda_priors --write`: samples of at most "
        f"{n_documents:,} documents, four fifths of them for training, ten passes "
        f"online; geometric mean over {seeds} seed{'s' * (seeds > 1)}, below 1 is "
        "better. Priors start at the models' defaults. Corpora marked * were not used "
        "to choose CVB0's rule. By default all learn priors except variational Bayes "
        "on a whole corpus.",
        "",
        "| corpus | K | " + " | ".join(ALGORITHMS) + " |",
        "| --- |" + " --- |" * (1 + len(ALGORITHMS)),
    ]
    for (name, k), logs in rows.items():
        cells = [f"{np.exp(v):.3f}" for v in logs]
        mark = " *" if name in UNSEEN else ""
        lines.append(f"| {name}{mark} | {k} | " + " | ".join(cells) + " |")
    logs = np.array([*rows.values()])
    for label, values in (("mean", logs.mean(axis=0)), ("worst", logs.max(axis=0))):
        cells = [f"{np.exp(v):.3f}" for v in values]
        lines.append(f"| **{label}** | | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print a line after each corpus and K, write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", nargs="+", default=[*CHOSEN, *UNSEEN])
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write the page")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")  # that iterations ran out, or topics are spare
    rows = {}
    for name in options.corpus:
        for k in (20, 100):
            found = []
            for seed in range(options.seeds):
                train, _, *halves = held_out(*load(name), options.documents, seed)
                parts = train, *halves
                found.append([ratio(parts, k, seed, o) for o in ALGORITHMS.values()])
            rows[name, k] = np.log(found).mean(axis=0)
            print(name, k, np.exp(rows[name, k]).round(3), flush=True)
    if options.write:
        text = page(rows, options.documents, options.seeds)
        (RESULTS / "lda_priors.md").write_text(text, "utf-8")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
