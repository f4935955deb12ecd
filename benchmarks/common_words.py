# SPDX-License-Identifier: BSD-3-Clause
"""Words of most documents: which ones should LDA go without?

    TOPICFOLD_CORPORA=DIR python -m benchmarks.common_words --write

Compares rules for words that are in more than half of the documents: all left out
(``max_df=0.5``), none left out (``max_df=1.0``), and those that are spread evenly, with
several bounds of the overdispersion α (`topicfold.corpus.tally`). LDA with 20
topics on each: NPMI of the ten top words in pieces of 100 words (in whole documents
where only counts are known), NMI of the documents' largest topics with their classes.
Results go to ``common_words.json`` after each fit; fits that are there are not made
again.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

RESULTS = Path(__file__).parent / "results"
N_TOPICS = 20
SEEDS = (0, 1)
READ = "sotu"  # its topics are on the page
CHUNK = 100  # words of a piece of text in which words occur together
# The bounds were chosen on the first; the others had no part in it.
CHOSEN = ("sotu", "20news_joined", "panglee_scale", "wap")
UNSEEN = (
    *("nips0_12", "bbc_joined", "bills_keyatm", "la1s", "poliblog5k_stm"),
    *("20news_bydate_raw", "bbc_news_octis", "short_searchsnippets", "short_tweet"),
)
# Bounds of α below which common words are left out; and levels, where the bound lies
# halfway between the level and the median word of the corpus.
FIXED = {"max_df=0.5": np.inf, "max_df=1.0": -np.inf} | {
    f"α < {bound:g}": bound for bound in (0.3, 0.5, 0.7, 1.0)
}
BETWEEN = {f"between {level:g}": level for level in (0.08, 0.15, 0.25)}
RULES = (*FIXED, *BETWEEN)


def folder(name):
    return Path(os.environ["TOPICFOLD_CORPORA"]) / name


def raw_texts(name):
    """Return texts and classes; of bbc_news_octis, its words in order."""
    if name == "bbc_news_octis":
        with gzip.open(folder(name) / "corpus.tsv.gz", "rt") as lines:
            rows = list(csv.reader(lines, delimiter="\t"))
        return [row[0] for row in rows], np.array([row[2] for row in rows])
    with gzip.open(folder(name) / "docs.jsonl.gz", "rt") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    return texts, np.array((folder(name) / "labels.txt").read_text().splitlines())


def joined(texts, y, size):
    """Return long documents: texts of one class, `size` to a document."""
    from topicfold.corpus.tokens import clean

    found = [
        ("\n".join(clean(texts[i]) for i in rows), label)
        for label in np.unique(y)
        for rows in np.array_split(
            np.flatnonzero(y == label), max(1, (y == label).sum() // size)
        )
    ]
    return [text for text, _ in found], np.array([label for _, label in found])


def load(name):
    """Return counts of all words, words, classes, and pieces that words meet in."""
    from topicfold.corpus import vectorize, words_of
    from topicfold.corpus.tokens import stop_word_list

    if name.endswith("_joined"):
        source, size = {"20news": ("20news_bydate_raw", 20)}.get(
            name.removesuffix("_joined"), ("bbc_news_octis", 10)
        )
        texts, y = joined(*raw_texts(source), size)
    elif (folder(name) / "docs.jsonl.gz").exists() or name == "bbc_news_octis":
        texts, y = raw_texts(name)
    else:
        counts = sp.csr_matrix(sp.load_npz(folder(name) / "counts.npz"))
        words = np.array((folder(name) / "vocab.txt").read_text().split("\n"))
        keep = np.flatnonzero(~np.isin(words[: counts.shape[1]], stop_word_list("en")))
        y = np.array((folder(name) / "labels.txt").read_text().splitlines())
        return counts[:, keep], words[keep].tolist(), y, counts[:, keep]
    if name == "sotu":  # parties change what they stand for: thirty years
        years = (folder(name) / "time.txt").read_text().split()
        y = np.array([int(year) // 30 for year in years])
    take = np.random.default_rng(0).permutation(len(texts))[:3000]
    texts, y = [texts[i] for i in take], y[take]
    counts, words = vectorize(texts, max_df=1.0)
    pieces = []
    for text in texts:
        found = words_of(text)
        pieces += [" ".join(found[i : i + CHUNK]) for i in range(0, len(found), CHUNK)]
    return counts, words, y, vectorize(pieces, vocabulary=words)[0]


def left_out(counts, rule):
    """Return which words a rule leaves out."""
    from topicfold.corpus.tally import COMMON, Spread

    spread = Spread()
    spread.add(sp.csr_matrix(counts))
    if rule in BETWEEN:
        return spread.even(COMMON, BETWEEN[rule])
    shares = np.bincount(counts.indices, minlength=counts.shape[1]) / counts.shape[0]
    return (shares > COMMON) & (spread.overdispersion() < FIXED[rule])


def measure(counts, words, y, pieces, dropped, seed):
    """Return what LDA reaches without the words dropped."""
    from sklearn.metrics import normalized_mutual_info_score

    from topicfold import LDA
    from topicfold.metrics import npmi_coherence

    kept = np.flatnonzero(~dropped)
    X = sp.csr_matrix(counts[:, kept])
    rows = np.flatnonzero(X.getnnz(axis=1))
    model = LDA(N_TOPICS, random_state=seed).fit(X[rows])
    theta = model.doc_topics_
    sizes = model.doc_lengths_ @ theta / model.doc_lengths_.sum()
    best = np.argsort(-model.components_, axis=1)[:, :10]
    largest = int(np.argmax(sizes))
    npmi = npmi_coherence(model.components_, pieces[:, kept], n_words=10)
    return {
        "npmi": float(np.mean(npmi)),
        "nmi": float(normalized_mutual_info_score(y[rows], theta.argmax(axis=1))),
        "different": len(np.unique(best)) / best.size,
        "largest": float(sizes[largest]),
        "largest_words": [words[kept[i]] for i in best[largest]],
        "topics": [
            [words[kept[i]] for i in row[:8]] for row in best[np.argsort(-sizes)]
        ],
    }


def facts_of(name, rule, counts, words):
    """Return which words a rule leaves out, and what is written of them."""
    totals = np.asarray(counts.sum(axis=0)).ravel()
    dropped = left_out(counts, rule)
    order = np.flatnonzero(dropped)
    order = order[np.argsort(-totals[order], kind="stable")]
    return dropped, {
        "corpus": name,
        "rule": rule,
        "documents": counts.shape[0],
        "length": float(counts.sum() / counts.shape[0]),
        "dropped": len(order),
        "share": float(totals[order].sum() / totals.sum()),
        "dropped_words": [words[i] for i in order[:12]],
    }


def same_fit(records, facts, seed):
    """Return a fit without the very same words, or None."""
    wanted = (facts["corpus"], seed, facts["dropped"], facts["share"])
    for r in records:
        if (r["corpus"], r["seed"], r["dropped"], r["share"]) == wanted:
            return r
    return None


def run(names, file):
    """Make the fits that are missing."""
    records = json.loads(file.read_text()) if file.exists() else []
    done = {(r["corpus"], r["rule"], r["seed"]) for r in records}
    for name in names:
        todo = [(r, s) for r in RULES for s in SEEDS if (name, r, s) not in done]
        if not todo:
            continue
        counts, words, y, pieces = load(name)
        for rule, seed in todo:
            dropped, facts = facts_of(name, rule, counts, words)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = same_fit(records, facts, seed) or measure(
                    counts, words, y, pieces, dropped, seed
                )
            records.append({**found, **facts, "seed": seed})
            if name != READ or seed:
                records[-1].pop("topics", None)
            file.write_text(json.dumps(records, ensure_ascii=False))
            r = records[-1]
            print(
                f"{name:22} {rule:14} {seed} {r['dropped']:4} words {r['share']:.3f} "
                f"npmi {r['npmi']:.3f} nmi {r['nmi']:.3f}",
                flush=True,
            )
    return records


def page(records):
    """Return the page of results."""
    from topicfold.corpus.tally import COMMON, EVEN

    chosen = f"between {EVEN:g}"
    lines = [
        "# Words of most documents: which ones to leave out",
        "",
        "`TOPICFOLD_CORPORA=DIR python -m benchmarks.common_words --write`: rules for "
        f"words that are in more than {COMMON:.0%} of the documents. `max_df=0.5` "
        "leaves all of them out, `max_df=1.0` none, `α < b` those whose overdispersion "
        "is below b, `between b` those whose overdispersion is below √(b·m), where m "
        "is the median of the corpus (`topicfold.corpus.tally`). LDA with "
        f"{N_TOPICS} topics, means of {len(SEEDS)} seeds. *words* and *tokens*: what "
        "is left out; NPMI of the ten top words in pieces of 100 words (nips0_12, wap, "
        "bills_keyatm, la1s, poliblog5k_stm: in whole documents); NMI of the largest "
        "topics with the classes (sotu: with periods of 30 years); *different*: share "
        "of different words among the top words of all topics; *largest*: share of "
        "the largest topic. 20news_joined has 20 posts of one group in a document, "
        "bbc_joined 10 articles of one class.",
        "",
        "NPMI rises if common words are left out, whichever they are, because rarer "
        "words occur together in fewer pieces by chance: `max_df=0.5` has the highest "
        "NPMI, but loses words that the documents are about. NMI hardly depends on "
        "the rule. So the rule was chosen by the words that it leaves out, by topics "
        "that can be read, and by a mean NPMI above that of `max_df=1.0`: "
        f"**{chosen}** is the default. It was chosen on {', '.join(CHOSEN)}; corpora "
        "marked * had no part in it.",
        "",
        *summary(records, chosen),
    ]
    for name in dict.fromkeys(r["corpus"] for r in records):
        lines += table(records, name, chosen)
    return "\n".join([*lines, *topics_page(records, chosen)]) + "\n"


def means(records, name, rule):
    """Return the means of a rule's fits, and the first of them."""
    rows = [r for r in records if (r["corpus"], r["rule"]) == (name, rule)]
    what = ("npmi", "nmi", "different", "largest")
    return {w: float(np.mean([r[w] for r in rows])) for w in what}, rows[0]


def summary(records, chosen):
    """Return lines that compare the chosen rule with the two constants."""
    names = [n for n in (*CHOSEN, *UNSEEN) if means_of_some(records, n)]
    lines = []
    for group, own in (("of the choice", CHOSEN), ("marked *", UNSEEN)):
        cells = []
        for other in ("max_df=1.0", "max_df=0.5"):
            pairs = [
                (means(records, n, chosen)[0], means(records, n, other)[0])
                for n in names
                if n in own
            ]
            gains = [
                np.mean([a[what] - b[what] for a, b in pairs])
                for what in ("npmi", "nmi")
            ]
            cells.append(f"against `{other}` NPMI {gains[0]:+.3f}, NMI {gains[1]:+.3f}")
        lines.append(f"- {len(pairs)} corpora {group}, means: {'; '.join(cells)}.")
    return lines


def means_of_some(records, name):
    """Tell whether a corpus has common words at all, so that rules differ."""
    return any(r["corpus"] == name and r["dropped"] for r in records)


def table(records, name, chosen):
    """Return the table of a corpus; rules that leave out the same are one line."""
    star = "" if name in CHOSEN else " *"
    first = next(r for r in records if r["corpus"] == name)
    lines = [
        *("", f"## {name}{star}", ""),
        f"{first['documents']:,} documents of {first['length']:,.0f} words.",
    ]
    if not means_of_some(records, name):
        return [*lines, "No word is in more than half of them: all rules are the same."]
    lines += [
        "",
        "| rule | words | tokens | NPMI | NMI | different | largest | most frequent of "
        "those left out | words of the largest topic |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    rules: dict[tuple[int, float], list[str]] = {}
    for rule in RULES:
        row = means(records, name, rule)[1]
        rules.setdefault((row["dropped"], row["share"]), []).append(rule)
    for same in rules.values():
        mean, row = means(records, name, same[0])
        title = ", ".join(f"**{r}**" if r == chosen else r for r in same)
        lines.append(
            f"| {title} | {row['dropped']} | {row['share']:.1%} | {mean['npmi']:.3f} | "
            f"{mean['nmi']:.3f} | {mean['different']:.2f} | {mean['largest']:.0%} | "
            f"{' '.join(row['dropped_words'][:10])} | "
            f"{' '.join(row['largest_words'][:8])} |"
        )
    return lines


def topics_page(records, chosen):
    """Return the topics of the speeches under the chosen rule, to be read."""
    lines = ["", f"## Topics of {READ}, to be read", ""]
    for rule in ("max_df=0.5", "max_df=1.0", chosen):
        lines += [f"`{rule}`, largest first:", ""]
        _, row = means(records, READ, rule)
        lines += [f"- {' '.join(words)}" for words in row["topics"]]
        lines.append("")
    return lines[:-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", nargs="*", default=[*CHOSEN, *UNSEEN])
    parser.add_argument("--write", action="store_true", help="write the page, too")
    given = parser.parse_args()
    records = run(given.corpora, RESULTS / "common_words.json")
    if given.write:
        (RESULTS / "common_words.md").write_text(page(records), "utf-8")


if __name__ == "__main__":
    main()
