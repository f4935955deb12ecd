# SPDX-License-Identifier: BSD-3-Clause
"""OTM (Yao et al.): few labels with orthogonal topics, figures 1 and 2.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.papers.otm

Writes ``results/papers/otm.md``; goes on where it was interrupted.
"""

from benchmarks.papers import common
from benchmarks.papers.dtm import tune
from topicfold.protocols import available_methods, few_labels

LABELS = (10, 20, 40)
TOPICS = (20, 50, 100)
MODELS = ("tf-idf", "LSI", "PLSA", "LapPLSI", "OTM", "PCA")
CLAIMS = [("OTM", other) for other in ("PLSA", "LSI", "PCA", "LapPLSI", "tf-idf")]
ABOUT = """# OTM: Orthogonalized Topic Model

The paper's figures are pictures without numbers: what can be checked is its statement
that OTM classifies better than LSA, PLSA and LapPLSA with 10, 20 and 40 labels a class.
`wap` (1,560 documents, 20 classes) stands for the K-series, whose 20 categories are
not in our copy; Reuters is `reuters21578_dengcai`, its 20 largest classes (8,293
documents in 65 classes there, 9,821 in the paper). All documents are seen, linear SVM,
means over draws; classes with fewer documents than asked give at most half of theirs.
Options (SVM's C of 1 or 10; θ or √θ; LapPLSI's weight) were chosen on a draw that is
not in the tables. No label edges.
A claim "A above B" holds if the mean paired difference is above two standard errors.
"""


def table(page, corpus, lines, title):
    """Run one corpus; add its tables and claims."""
    known = available_methods()
    models = [m for m in MODELS if m in known]
    settings = {"small_classes": "fewer"}
    chosen = tune(page, corpus, models, {**settings, "n_components": 100})
    found = page.run(
        few_labels,
        corpus,
        models,
        n_components=TOPICS,
        labels=LABELS,
        n_draws=page.options.draws,
        options=chosen,
        **settings,
    )
    n = len({row["seed"] for row in found.rows})
    lines += ["", f"## {title}", "", f"{corpus!r}, {n} draws. Accuracy."]
    for k in TOPICS:
        part = type(found)([r for r in found.rows if r["n_components"] in (k, None)])
        # tf-idf has no dimensions: it stands in every table.
        part.rows = [{**r, "n_components": k} for r in part.rows]
        lines += ["", f"### K = {k}", ""]
        lines.append(part.to_markdown("accuracy", columns="labels"))
        lines += ["", *common.claims_table(part, CLAIMS, "accuracy", "labels", LABELS)]
    lines += ["", f"Chosen options: `{chosen}`.", ""]
    lines.append(
        common.curves(
            f"otm_{corpus.name}", found, "accuracy", "n_components", title, labels=10
        )
    )


def main():
    """Run what is missing and write the page."""
    options = common.parse(__doc__.splitlines()[0], draws=10).parse_args()
    page = common.Page("otm", options)
    lines = ABOUT.splitlines()
    for name in options.corpus or ("wap", "reuters21578_dengcai"):
        corpus = common.load(name)
        if name.startswith("reuters"):
            corpus = common.largest_classes(corpus, 20)
        table(page, corpus, lines, name)
        common.write_page("otm", lines)


if __name__ == "__main__":
    main()
