# SPDX-License-Identifier: BSD-3-Clause
"""The number of topics that `suggest_size` takes when nobody said one.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.n_topics --write

Beside it the number of classes, where there are some, and CPU seconds on one thread:
of the look, and of one fit of LDA with the number it found. Words of one document, and
of more than half of them, are left out.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from topicfold import LDA
from topicfold.choosing import suggest_size
from topicfold.core.tables import markdown_table

RESULTS = Path(__file__).parent / "results"
# The threshold of 0.7 was chosen on these, and confirmed on the others.
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
    return {
        "corpus": folder.name,
        "documents": f"{X.shape[0]:,}",
        "classes": str(classes),
        "topics": str(found.n_topics),
        **{f"{k}": f"{v:.2f}" for k, v in found.stability.items()},
        "look, s": f"{looked:.2f}",
        "fit, s": f"{time.process_time() - began:.2f}",
    }


def page(rows):
    columns = ["corpus", "documents", "classes", "topics"]
    columns += ["5", "10", "20", "40", "80", "look, s", "fit, s"]
    tables = []
    for names in (CHOSEN_ON, OTHERS):
        own = [{c: r.get(c, "") for c in columns} for r in rows if r["corpus"] in names]
        tables.append(markdown_table(own))
    return (
        "# The number of topics when nobody said one\n\n"
        "Made by `python -m benchmarks.n_topics --write`. The largest number of topics "
        "that two fits agree on to 0.7 is taken; the columns 5 to 80 have what was "
        "tried. It is a number of topics that another seed would find too, not a "
        "number of classes.\n\nThe threshold was chosen on these corpora:\n\n"
        f"{tables[0]}\n\nand not changed on these:\n\n{tables[1]}\n"
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
