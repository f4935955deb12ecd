# SPDX-License-Identifier: BSD-3-Clause
"""What was promised of the sides, and what was measured: read from their tables.

    python -m benchmarks.sides --write

Fits nothing: every figure is taken from ``results/sides_*.md``, and a promise holds if
the figures there say so.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

RESULTS = Path(__file__).parent / "results"
Row = dict[str, str]


def tables(name: str) -> list[list[Row]]:
    """Return the tables of a page of results, each a list of rows by their heads."""
    found: list[list[Row]] = []
    heads: list[str] | None = None
    for line in (RESULTS / f"{name}.md").read_text("utf-8").splitlines():
        if not line.startswith("|"):
            heads = None
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if heads is None:
            heads, _ = cells, found.append([])
        elif not set("".join(cells)) <= set("-: "):
            found[-1].append(dict(zip(heads, cells, strict=True)))
    return found


def number(text: str) -> float:
    """Return the first number of a cell."""
    return float(re.findall(r"[-+]?[\d.]+", text)[0])


def row(table: list[Row], **wanted: str) -> Row:
    """Return the row whose cells are as wanted."""
    return next(r for r in table if all(r[k] == v for k, v in wanted.items()))


class Comparison(NamedTuple):
    """What is measured beside what was promised, and whether it is won."""

    claim: str
    told: str
    holds: bool


Claim = tuple[str, str, bool] | Comparison


def authors() -> Iterator[Claim]:
    """Yield what was promised of authors."""
    cost, held_out, others, _ = tables("sides_authors")
    times = number(row(cost, **{"a pass of": "AuthorTopics"})["times LDA"])
    claim = "a pass costs at most twice LDA's, which has no authors to learn"
    yield Comparison(claim, f"{times:.2f} times", times <= 2)
    for size in dict.fromkeys(r["topics"] for r in held_out):
        rows = [r for r in held_out if r["topics"] == size]
        gaps = [number(r["LDA means"]) - number(r["AuthorTopics"]) for r in rows]
        told = f"lower by {min(gaps):.0f} to {max(gaps):.0f}"
        claim = (
            f"{size} topics, new papers of known authors: perplexity below the mean "
        )
        claim += "of LDA's mixtures of an author's papers"
        yield claim, told, min(gaps) > 0
        found, rival = (
            sum(number(r[f"coauthors, {who}"]) for r in rows) / len(rows)
            for who in ("AuthorTopics", "LDA means")
        )
        claim = (
            f"{size} topics: 96 % of prolific authors have a coauthor among the ten "
        )
        claim += "most similar"
        told = f"{found:.0f} %; by the means of LDA's mixtures {rival:.0f} %"
        yield claim, told, found >= 96
    for r in others:
        ours, rival = number(r["AuthorTopics"]), number(r["LDA means"])
        claim = f"{r['corpus']}, {r['entities']} entities, split {r['split']}: "
        claim += "perplexity below that of LDA means"
        yield Comparison(claim, f"{ours:.0f} against {rival:.0f}", ours < rival)
    text = (RESULTS / "sides_authors.md").read_text("utf-8")
    if "faster by " in text:  # gensim was asked
        faster = number(text.partition("faster by ")[2])
        claim = "at least 20 times faster than gensim to its perplexity"
        yield claim, f"{faster:.0f} times", faster >= 20


def response() -> Iterator[Claim]:
    """Yield what was promised of responses."""
    ratings, classes = tables("sides_response")
    ours = row(ratings, model="SupervisedLDA")
    plain = row(ratings, model="LDA, then ridge")
    peer = row(ratings, model="tomotopy SLDA")
    best = number(ours["R²"])
    told = f"{best:.2f}; LDA, then ridge {number(plain['R²']):.2f}, tomotopy "
    told += f"{number(peer['R²']):.2f}"
    yield "film ratings, K = 20: R² of at least 0.48", told, best >= 0.48
    gap = number(ours["NPMI of topics"]) - number(plain["NPMI of topics"])
    claim = "film ratings: topics as coherent as LDA's (NPMI within 0.02)"
    yield claim, f"{gap:+.3f}", gap >= -0.02
    beside = number(row(ratings, model="SupervisedLDA, words=True")["R²"])
    words = number(row(ratings, model="ridge of tf-idf")["R²"])
    claim = "film ratings, words=True: R² not below that of a ridge of tf-idf"
    yield claim, f"{beside:.3f} against {words:.3f}", beside >= words
    faster = number(peer["seconds"]) / number(ours["seconds"])
    claim = "3 times faster than 500 iterations of tomotopy"
    yield claim, f"{faster:.1f} times", faster >= 3
    won = [
        number(r["SupervisedLDA"]) > number(r["LDA, then regression"]) for r in classes
    ]
    claim = "classes: above LDA, then logistic regression, on four corpora"
    yield claim, f"on {sum(won)} of {len(won)}", sum(won) >= 4
    for r in classes:
        gap = number(r["NPMI of SupervisedLDA"]) - number(r["NPMI of LDA"])
        claim = f"{r['corpus']}: topics as coherent as LDA's (NPMI within 0.02)"
        yield claim, f"{gap:+.3f}", gap >= -0.02
    gaps = [
        100 * (number(r["words=True"]) - number(r["SVM of tf-idf"])) for r in classes
    ]
    claim = "classes, words=True: within a point of a linear SVM of tf-idf, in the mean"
    told = f"{np.mean(gaps):+.1f} points ({min(gaps):+.1f} to {max(gaps):+.1f})"
    yield claim, told, np.mean(gaps) >= -1


def _promised(*claim: Any) -> Claim:
    return claim


def links() -> Iterator[Claim]:
    """Yield what was promised of links."""
    ranks, suggestions = tables("sides_links")
    rivals = {
        "LDA, then regression": "LDA, then the same regression",
        "network PLSA, then regression": "network PLSA, then the same regression",
        "LDA, the same with neighbours": "LDA, the same with neighbours' mixtures",
        "cosine of tf-idf": "the cosine of tf-idf",
        "cosine of tf-idf, with neighbours": "the same with neighbours",
    }
    for corpus in dict.fromkeys(r["corpus"] for r in ranks):
        ours = number(row(ranks, corpus=corpus, model="RelationalLDA")["mean rank"])
        for rival, name in rivals.items():
            other = number(row(ranks, corpus=corpus, model=rival)["mean rank"])
            claim = f"{corpus}: held-out citations ranked better than by {name}"
            told = f"mean rank {ours:.1f} against {other:.1f}"
            kind = Comparison if rival == "cosine of tf-idf" else _promised
            yield kind(claim, told, ours < other)
        rival = "cosine of tf-idf, with neighbours"
        ours, other = (
            number(row(ranks, corpus=corpus, model=model)["in the first 20"])
            for model in ("RelationalLDA", rival)
        )
        claim = f"{corpus}: more held-out citations in the first 20 than by {rival}"
        yield claim, f"{ours:.3f} against {other:.3f}", ours > other
    r = row(suggestions, documents="1,000,000")
    ours, every = number(r["ms per document"]), number(r["ms, scoring every one"])
    told = f"{ours:.1f} ms per document, {every:.0f} ms by scoring every one; all in "
    told += f"{r['all documents, minutes']} minutes on one thread (projected)"
    claim = "suggestions among 10^6 documents without all pairs"
    yield claim, told, ours < every / 2


def languages() -> Iterator[Claim]:
    """Yield what was promised of languages."""
    found, halved = tables("sides_polylingual")
    for r in found:
        share, lsi = number(r["`translations`"]), number(r["LSI of the joined tf-idf"])
        told = f"{share:.1f} %; LSI of the joined matrix {lsi:.1f} %"
        claim = f"{r['topics']} topics: the translation is first in 97 % and more"
        yield claim, told, share >= 97
    for r in halved:
        share, lsi = number(r["`translations`"]), number(r["LSI of the joined tf-idf"])
        claim = f"{r['corpus']}: the other half is found as often as by LSI"
        yield claim, f"{share:.1f} % against {lsi:.1f} %", share >= lsi


def features() -> Iterator[Claim]:
    """Yield what was promised of features."""
    found, covered = tables("sides_features")
    for corpus in dict.fromkeys(r["corpus"] for r in found):
        lda, ours, ridge = (
            row(found, corpus=corpus, model=model)
            for model in ("LDA", "FeatureLDA", "LDA, then ridge")
        )
        claim = f"{corpus}: no word seen, perplexity below a ridge of LDA's mixtures"
        told = f"{ours['none']} against {ridge['none']}"
        yield claim, told, number(ours["none"]) < number(ridge["none"])
        gaps = [number(lda[c]) - number(ours[c]) for c in ("1/2", "1/10", "none")]
        told = f"lower by {gaps[0]:.0f}, {gaps[1]:.0f} and {gaps[2]:.0f} with half, a "
        told += "tenth and none of the words seen"
        yield Comparison(f"{corpus}: perplexity below LDA's", told, min(gaps) > 0)
        times = number(ours["per pass"]) / number(lda["per pass"])
        claim = f"{corpus}: a pass costs at most 1.5 times LDA's"
        yield Comparison(claim, f"{times:.2f} times", times <= 1.5)
        for peer in (r for r in found if r["model"] == "tomotopy DMR"):
            if peer["corpus"] != corpus:
                continue
            slower = number(peer["CPU s"]) / number(ours["CPU s"])
            reached = number(peer["1/2"]) <= number(ours["1/2"])
            told = f"{slower:.1f} times the time, perplexity "
            told += "reached" if reached else f"{peer['1/2']} against {ours['1/2']}"
            claim = f"{corpus}: tomotopy needs 5 times as long for the same perplexity"
            yield claim, told, slower >= 5

    for r in covered:
        shares = [number(r[kind]) for kind in ("0/1", "number", "level")]
        told = f"{100 * min(shares):.1f} to {100 * max(shares):.1f} %"
        if r["planted"] == "effects":
            claim = f"{r['tokens']} tokens: intervals of 95 % cover in 90 to 98 %"
            yield claim, told, 0.9 <= min(shares) <= max(shares) <= 0.98
        else:
            claim = f"{r['tokens']} tokens, no effects: at most 7 % false positives"
            yield claim, f"{100 * (1 - min(shares)):.1f} %", min(shares) >= 0.93


def labels() -> Iterator[Claim]:
    """Yield what was promised of labels as topics."""
    (found,) = tables("sides_labels")
    times = [number(r["LDA ÷ LabeledLDA"]) for r in found]
    claim = "1,000 labels, 5 per document: 20 times cheaper than LDA of 1,000 topics"
    yield claim, f"{min(times):.0f} to {max(times):.0f} times", min(times) >= 20
    (found,) = tables("sides_labels_accuracy")
    for corpus in dict.fromkeys(r["corpus"] for r in found):
        own = [r for r in found if r["corpus"] == corpus]
        ours, rival = (
            np.mean([number(r[f"{who}, all labels"]) for r in own])
            for who in ("LabeledLDA", "naive Bayes")
        )
        claim = f"{corpus}: with all labels, not below naive Bayes"
        yield claim, f"{ours:.1f} against {rival:.1f} %", ours >= rival
    costs = [number(r["cost"]) for r in found]
    claim = "a tenth of the labels: unlabelled documents cost at most one point"
    told = f"{max(costs):+.1f} at most, {np.mean(costs):+.1f} in the mean, over "
    yield claim, f"{told}{len(costs)} splits", max(costs) <= 1


def seeds() -> Iterator[Claim]:
    """Yield what was promised of seed words."""
    (found,) = tables("sides_seeds")
    # What was promised is said of the default; other settings come after it.
    for r in sorted(found, key=lambda r: "default" not in r["unseeded topics"]):
        ours = number(r["SeededLDA"])
        if "default" in r["unseeded topics"]:
            gap = 100 * (ours - number(r["taught"]))
            claim = f"{r['corpus']}: not below naive Bayes trained by itself from seeds"
            yield claim, f"{ours:.3f} against {r['taught']}", gap >= 0
        claim = f"{r['corpus']}, {r['unseeded topics']} topics without seeds: above "
        best = number(r["LDA of the classes alone"])
        told = f"{ours:.3f} against {best:.3f}"
        claim_lda = claim + "LDA of the classes alone"
        yield Comparison(claim_lda, told, ours > best)
        told = f"{ours:.3f} against {r['counting']}; all labels {r['supervised']}"
        yield Comparison(
            claim + "counting seed words", told, ours > number(r["counting"])
        )


PARTS: dict[str, tuple[str, Callable[[], Iterator[Claim]]]] = {
    "Authors": ("sides_authors", authors),
    "Responses": ("sides_response", response),
    "Links": ("sides_links", links),
    "Languages": ("sides_polylingual", languages),
    "Features": ("sides_features", features),
    "Labels as topics": ("sides_labels", labels),
    "Seed words": ("sides_seeds", seeds),
}


def page() -> str:
    """Return the page."""
    lines = ["# More than words: what holds, and what does not", ""]
    body = []
    n_claims = n_held = 0
    for title, (source, claims) in PARTS.items():
        found = list(claims())
        promised = [claim for claim in found if not isinstance(claim, Comparison)]
        n_claims += len(promised)
        n_held += sum(holds for _, _, holds in promised)
        body += ["", f"## {title}", "", f"From [the measurements]({source}.md).", ""]
        body += _table("promised", "holds", promised)
        others = [claim for claim in found if isinstance(claim, Comparison)]
        if others:
            body += ["", *_table("compared", "won", others)]
    lines.append(
        f"`python -m benchmarks.sides`: {n_held} of {n_claims} promises hold. What is"
        " compared beside them is in tables of its own. Splits, corpora and what was"
        " chosen on which are on the pages of the measurements."
    )
    return "\n".join([*lines, *body]) + "\n"


def _table(first: str, last: str, claims: list[Claim]) -> list[str]:
    """Return the lines of a table."""
    lines = [f"| {first} | measured | {last} |", "| --- | --- | --- |"]
    for claim, told, holds in claims:
        lines.append(f"| {claim} | {told} | {'yes' if holds else '**no**'} |")
    return lines


def main() -> None:
    """Print the page, and write it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    text = page()
    if parser.parse_args().write:
        (RESULTS / "sides.md").write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    main()
