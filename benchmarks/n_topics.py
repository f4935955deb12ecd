# SPDX-License-Identifier: BSD-3-Clause
"""The number of topics that `suggest_size` takes when nobody said one.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.n_topics --write

Beside it the number of classes, where there are some, and CPU seconds on one thread:
of the look, and of one fit of LDA with the number it found. The last column is what
`select_n_components` (`topicfold choose-k`) suggests without labels, of 5 to 80 topics
and at most 3,000 documents. Words of one document, and of more than half of them, are
left out.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from topicfold import LDA, select_n_components
from topicfold.choosing import suggest_size
from topicfold.choosing.size import ALIKE, SIZES
from topicfold.core.tables import markdown_table

RESULTS = Path(__file__).parent / "results"
# The threshold was chosen on these, and confirmed on the others.
CHOSEN_ON = (
    *("bbc_news_octis", "20news_rennie_61188", "reuters21578_dengcai"),
    *("short_searchsnippets", "la1s", "wap", "tdt2_dengcai", "short_tweet"),
    *("ohscal", "sotu", "poliblog5k_stm", "oh10"),
)
OTHERS = (
    *("oh0", "oh5", "oh15", "k1b", "ap_blei", "nips0_12", "la2s"),
    *("congress109_textir", "emailspam_csdmc2010", "dblp_octis"),
)


def measure(folder):
    X = sp.load_npz(folder / "counts.npz").tocsr().astype(np.float32)
    frequency = np.asarray((X > 0).sum(axis=0)).ravel()
    X = X[:, (frequency > 1) & (frequency <= 0.5 * X.shape[0])]
    labels = folder / "labels.txt"
    classes = len(set(labels.read_text().splitlines())) if labels.exists() else ""
    began = time.process_time()
    found = suggest_size(X)
    looked = time.process_time() - began
    began = time.process_time()
    LDA(found.n_topics, random_state=0).fit(X)
    fitted = time.process_time() - began
    rows = np.random.default_rng(0).permutation(X.shape[0])[:3000]
    sizes = select_n_components(LDA(), X[rows], SIZES, n_restarts=2)
    return {
        "corpus": folder.name,
        "documents": f"{X.shape[0]:,}",
        "classes": str(classes),
        "topics": str(found.n_topics),
        **{f"{k}": f"{v:.2f}" for k, v in found.stability.items()},
        "look, s": f"{looked:.2f}",
        "fit, s": f"{fitted:.2f}",
        "choose-k": str(sizes.suggested()),
    }


def page(rows):
    columns = ["corpus", "documents", "classes", "topics"]
    columns += ["5", "10", "20", "40", "80", "look, s", "fit, s", "choose-k"]
    tables = []
    for names in (CHOSEN_ON, OTHERS):
        own = [{c: r.get(c, "") for c in columns} for r in rows if r["corpus"] in names]
        tables.append(markdown_table(own))
    return (
        "# The number of topics when none was given\n\nMade by `python -m "
        "benchmarks.n_topics --write`. `topicfold fit` without a number takes the "
        f"largest on which two fits agree to {ALIKE}; the columns 5 to 80 show the "
        "numbers that were tried, 5 only where 10 are too many. It is a number of "
        "topics that another seed would find too, not a number of classes. The last "
        "column is the suggestion of `topicfold choose-k` without labels, for at most "
        "3,000 of the documents.\n\nThe threshold was chosen on these "
        f"corpora:\n\n{tables[0]}\n\nand confirmed on these:\n\n{tables[1]}\n\nThe "
        "rule of `choose-k` was chosen on eight of these corpora. Two other rules "
        "were tried and dropped: the best mean rank in perplexity, coherence and "
        "stability often took the smallest number, since two of its three scores "
        "favour few topics; the smallest number with nearly the lowest perplexity, "
        "among the stable ones, took the largest of these, since on texts perplexity "
        "falls with every number tried.\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--corpora", default=os.environ.get("TOPICFOLD_CORPORA"))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name in (*CHOSEN_ON, *OTHERS):
        rows.append(measure(Path(given.corpora) / name))
        print(rows[-1], flush=True)
    if given.write:
        (RESULTS / "n_topics.md").write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
