# SPDX-License-Identifier: BSD-3-Clause
"""LapPLSI (Cai et al. 2008): clustering, tables 1 to 3, 5 and 6, figures 3 and 4.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.papers.lapplsi

Writes ``results/papers/lapplsi.md``; goes on where it was interrupted.
"""

import numpy as np

from benchmarks.papers import common
from benchmarks.papers.experiments import clustering
from benchmarks.papers.experiments import sensitivity as vary
from topicfold import LDA, PLSA, LaplacianPLSA

CORPORA = ("tdt2_dengcai", "reuters21578_dengcai")
MODELS = ("k-means", "NMF", "spectral", "PLSA", "LDA", "LapPLSI", "LTM", "DTM")
CLAIMS = [("LapPLSI", other) for other in ("PLSA", "LDA", "k-means", "NMF", "spectral")]
TERMS = ("film", "school", "space", "computer")
ABOUT = """# LapPLSI: Modeling Hidden Topics on Document Manifold (CIKM 2008)

The numbers of its tables 5 and 6 are not in our copy of the text (the tables are
pictures there), so there is nothing to subtract; what is checked is what the text says:
LapPLSI clusters better than PLSI and LDA and than the other clusterings, and is stable
in λ and in the number of neighbours. Protocol as in the paper: k of the 30 largest
classes at random, as many topics, the largest topic is the cluster, AC and NMI over the
larger entropy. Library defaults, one start; nothing was chosen on these draws.
A claim "A above B" holds if the mean paired difference is above two standard errors.
"""


def tables(page, name, lines):
    """Tables 5 and 6."""
    corpus = common.load(name)
    found = page.run(clustering, corpus, MODELS, n_draws=page.options.draws)
    for metric in ("ac", "nmi"):
        lines += ["", f"## {name}: {metric.upper()} by number of classes", ""]
        lines.append(found.to_markdown(metric, columns="n_components"))
        mean = np.mean
        values = {m: mean(found.values(metric, model=m) or [np.nan]) for m in MODELS}
        order = sorted(values, key=lambda m: -values[m])
        text = ", ".join(f"{m} {values[m]:.3f}" for m in order)
        lines += ["", f"Mean over all: {text}.", ""]
    counts = sorted({row["n_components"] for row in found.rows})
    lines += common.claims_table(found, CLAIMS, "ac", "n_components", counts)
    lines.append("")
    lines.append(common.curves(f"lapplsi_{name}", found, "ac", "n_components", name))


def figures(page, name, lines):
    """Figures 3 and 4: λ and the number of neighbours, k = 5."""
    corpus = common.load(name)
    draws = min(10, page.options.draws)
    for parameter, values in (
        ("weight", (0.1, 1.0, 10.0, 100.0)),
        ("n_neighbors", (3, 5, 7, 10, 20)),
    ):

        def protocol(corpus, names, **more):
            return page.run(clustering, corpus, names, **more)

        found = vary(
            protocol, corpus, "LapPLSI", parameter, values, n_clusters=5, n_draws=draws
        )
        lines += ["", f"## {name}: LapPLSI over {parameter}, 5 classes", ""]
        lines.append(found.to_markdown("ac", rows="parameter_value"))
        means = [found.mean("ac", parameter_value=v) for v in values]
        lines += [
            "",
            f"Means differ by {max(means) - min(means):.3f} over {draws} draws (the "
            "paper: very stable).",
        ]


def terms(page, lines):
    """Tables 1 to 3: the topics of four terms, K = 100 on TREC AP."""
    corpus = common.load("ap_blei")
    lines += ["", "## Tables 1 to 3: topics of four terms (ap_blei, K = 100)", ""]
    lines += ["| term | LapPLSI | PLSI | LDA |", "|---|---|---|---|"]
    cells = {term: [] for term in TERMS}
    for model in (LaplacianPLSA, PLSA, LDA):
        data = (
            model(100, random_state=0)
            .fit(corpus.counts)
            .topic_data(list(corpus.vocabulary))
        )
        words = data.top_terms(15)
        for term in TERMS:
            # The topic that has the term as its most representative: largest p(z|w).
            column = corpus.vocabulary.index(term)
            joint = data.topics[:, column] * data.topic_sizes()
            cells[term].append(" ".join(words[int(joint.argmax())]))
    lines += [f"| {term} | {' | '.join(cells[term])} |" for term in TERMS]


def main():
    """Run what is missing and write the page."""
    options = common.parse(__doc__.splitlines()[0], draws=50).parse_args()
    page = common.Page("lapplsi", options)
    lines = ABOUT.splitlines()
    parts = options.part or ["tables", "figures", "terms"]
    for name in options.corpus or CORPORA:
        if "tables" in parts:
            tables(page, name, lines)
        if "figures" in parts:
            figures(page, name, lines)
        common.write_page("lapplsi", lines)
    if "terms" in parts and not options.page:
        terms(page, lines)
    common.write_page("lapplsi", lines)


if __name__ == "__main__":
    main()
