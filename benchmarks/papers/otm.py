# SPDX-License-Identifier: BSD-3-Clause
"""OTM (Yao et al.): few labels with orthogonal topics, figures 1 and 2.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.papers.otm

Writes ``results/papers/otm.md``; goes on where it was interrupted.
"""

from benchmarks.papers import common
from benchmarks.papers.dtm import tune
from benchmarks.papers.experiments import available_methods, few_labels

LABELS = (10, 20, 40)
TOPICS = (20, 50, 100)
MODELS = ("tf-idf", "LSI", "PLSA", "LapPLSI", "OTM", "PCA")
ON_COUNTS = "LSI of counts"
BELOW = ("PLSA", ON_COUNTS, "LSI", "PCA", "LapPLSI", "tf-idf")
CLAIMS = [("OTM", other) for other in BELOW]
ABOUT = """# OTM: Orthogonalized Topic Model

The paper's figures are pictures without numbers: what can be checked is its statement
that OTM classifies better than LSA, PLSA and LapPLSA with 10, 20 and 40 labels a class.
`wap` (1,560 documents, 20 classes) stands for the K-series, whose 20 categories are
not in our copy; Reuters is `reuters21578_dengcai`, its 20 largest classes (8,293
documents in 65 classes there, 9,821 in the paper). All documents are seen, linear SVM,
means over draws; classes with fewer documents than asked give at most half of theirs.
Options (SVM's C of 1 or 10; θ or √θ; the weights of LapPLSI and OTM, for which the
paper names no value) were chosen for each K on a draw that is not in the tables.
No label edges.
The paper does not say how words are weighted: LSI has its log-entropy weights here,
"LSI of counts" has none.
A claim "A above B" holds if the mean paired difference is above two standard errors.
"""


def accuracies(page, corpus, k):
    """Choose the options for k topics, then run the draws; return both."""
    known = available_methods()
    models = [m for m in MODELS if m in known]
    settings = {"small_classes": "fewer", "n_components": k}
    chosen = tune(page, corpus, models, settings)
    settings |= {"labels": LABELS, "n_draws": page.options.draws}
    found = page.run(few_labels, corpus, models, options=chosen, **settings)
    counts = {"LSI": {**chosen["LSI"], "weighting": "counts"}}
    plain = page.run(few_labels, corpus, ["LSI"], options=counts, **settings)
    rows = [*found.rows, *({**row, "model": ON_COUNTS} for row in plain.rows)]
    # tf-idf has no dimensions: it stands in every table.
    return type(found)([{**row, "n_components": k} for row in rows]), chosen


def table(page, corpus, lines, title, tally):
    """Run one corpus; add its tables and claims."""
    lines += [
        "",
        f"## {title}",
        "",
        f"{corpus!r}, {page.options.draws} draws. Accuracy.",
    ]
    every = []
    for k in TOPICS:
        found, chosen = accuracies(page, corpus, k)
        every += found.rows
        claims = common.claims_table(
            found, CLAIMS, "accuracy", "labels", LABELS, tally=tally
        )
        lines += ["", f"### K = {k}", ""]
        lines += [found.to_markdown("accuracy", columns="labels"), "", *claims]
        lines += ["", f"Chosen options: `{chosen}`."]
    figure, whole = f"otm_{corpus.name}", type(found)(every)
    curves = common.curves(figure, whole, "accuracy", "n_components", title, labels=10)
    lines += ["", curves]


def main():
    """Run what is missing and write the page."""
    options = common.parse(__doc__.splitlines()[0], draws=10).parse_args()
    page = common.Page("otm", options)
    lines, tally = ABOUT.splitlines(), {}
    for name in options.corpus or ("wap", "reuters21578_dengcai"):
        corpus = common.load(name)
        if name.startswith("reuters"):
            corpus = common.largest_classes(corpus, 20)
        table(page, corpus, lines, name, tally)
        common.write_page("otm", [*lines, *common.summary(tally)])


if __name__ == "__main__":
    main()
