# SPDX-License-Identifier: BSD-3-Clause
"""Short texts: WordNetworkLDA against LDA and scikit-learn's NMF on tf-idf.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.short_texts --write

NPMI of the ten top words on the fitted texts, and NMI of the texts' largest topics with
their classes, all with their defaults; CPU seconds of a fit. Samples of 1,000 texts,
and whole corpora up to 8,000. Results go to ``short_texts.json`` after each line; lines
that are there are not measured again.
"""

from __future__ import annotations

import argparse
import gzip
import json
import logging
import os
import re
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.lda_quality import load, readable

RESULTS = Path(__file__).parent / "results"
# Corpora on which the prior of the topics was chosen, at 1,000 texts; the others, and
# larger samples, had no part in it.
CHOSEN = (
    *("short_tweet", "short_searchsnippets", "dblp_octis", "nips_titles"),
    "20news_subjects",
)
UNSEEN = ("20news_leads", "tdt2_ten_words")
MODELS = {"LDA": "LDA", "WordNetworkLDA": "WordNetworkLDA", "NMF": "NMF"}
SIZES = {1000: 2, 8000: 1}  # texts, seeds
FAR = 0.03  # how much lower NPMI may be than NMF's


def posts(part):
    """Return subjects (each once) or first thirty words of posts, and groups."""
    folder = Path(os.environ["TOPICFOLD_CORPORA"])
    texts, y = {}, []
    with gzip.open(folder / "20news_bydate_raw" / "docs.jsonl.gz", "rt") as lines:
        for number, line in enumerate(lines):
            post = json.loads(line)
            head, _, body = post["text"].partition("\n\n")
            if part == "subjects":
                found = re.search(r"^Subject:\s*(.*)$", head, re.MULTILINE)
                text = found.group(1) if found else ""
                text = re.sub(r"(?i)^((re|fwd?)\s*(\[\d+\])?:\s*)+", "", text).strip()
                key = text.lower()
            else:
                quoted = re.compile(r"^\s*([>|:]|In article|.*(writes|wrote):)")
                own = [row for row in body.splitlines() if not quoted.match(row)]
                text, key = " ".join(" ".join(own).split()[:30]), number
            if key not in texts:
                texts[key] = text
                y.append(post["label"])
    return list(texts.values()), y


def corpus(name):
    """Return counts and classes of a corpus of short texts."""
    from topicfold.corpus import vectorize

    if name.startswith("20news_"):
        texts, y = posts(name.removeprefix("20news_"))
        return sp.csr_matrix(vectorize(texts)[0]), np.array(y)
    if name == "tdt2_ten_words":  # drawn from each document
        counts, y = load("tdt2_dengcai")
        lengths = np.asarray(counts.sum(axis=1)).ravel()
        share = np.minimum(1, 10 / np.maximum(lengths, 1))
        rng = np.random.default_rng(7)
        whole = counts.data.astype(np.int64)
        counts.data = rng.binomial(whole, np.repeat(share, np.diff(counts.indptr)))
        counts.eliminate_zeros()
        return counts, y
    counts, y = load(name)
    if name == "nips_titles":
        folder = Path(os.environ["TOPICFOLD_CORPORA"])
        y = np.array((folder / "nips0_12" / "labels.txt").read_text().splitlines())
    return counts, y


def sample(counts, y, size, seed):
    """Return at most `size` texts, without words that none of them has."""
    order = np.random.default_rng(seed).permutation(np.flatnonzero(counts.getnnz(1)))
    rows = counts[order[:size]]
    rows = rows[:, np.flatnonzero(rows.getnnz(axis=0))]
    return sp.csr_matrix(rows).astype(np.float32), y[order[:size]]


def nmf(train, y, n_topics, seed):
    """scikit-learn's NMF on tf-idf."""
    from sklearn.decomposition import NMF
    from sklearn.feature_extraction.text import TfidfTransformer

    model = NMF(n_topics, init="nndsvd", max_iter=300, random_state=seed)
    theta = model.fit_transform(TfidfTransformer().fit_transform(train))
    rows = model.components_ + 1e-12
    return readable(rows / rows.sum(axis=1, keepdims=True), theta, train, y)


def measure(texts, y, n_topics, seed, found):
    """Add what each model reaches, and its CPU seconds, where `found` lacks it."""
    import topicfold

    for name in [name for name in MODELS if name not in found]:
        began = time.process_time()
        if name == "NMF":
            found[name] = nmf(texts, y, n_topics, seed)
        else:
            model = getattr(topicfold, name)(n_topics, random_state=seed).fit(texts)
            seconds = time.process_time() - began
            found[name] = readable(model.components_, model.doc_topics_, texts, y)
            found[name]["seconds"] = seconds


def topics_tried(model, texts):
    """Yield ways to make topics from those of LDA on the network, by their names."""
    from topicfold.models import word_network as module

    phi, totals = model.components_.astype(np.float64), model.topic_totals_
    theta, words = model.doc_topics_.astype(np.float64), model.word_frequencies_
    network = module.word_network(texts)
    yield "LDA of the network", phi
    yield "ranked with a relevance of 0.6", phi / words**0.4
    cells = texts.tocoo()
    shares = theta[cells.row] * phi[:, cells.col].T
    shares *= (cells.data / shares.sum(axis=1))[:, None]
    counted = sp.csr_matrix((np.ones(cells.nnz), (np.arange(cells.nnz), cells.col)))
    yield "words of the texts by mixture", (counted.T @ shares).T + 0.01 * phi
    largest = np.eye(model.n_components)[theta.argmax(axis=1)]
    yield "words of the texts by largest topic", (texts.T @ largest).T + 0.01 * phi
    for steps, share in ((1, 0.5), (3, 0.5), (10, 0.1), (10, 0.5), (10, 0.9)):
        module.CENTRAL_STEPS = steps
        central = module.central_words(network, phi, totals)
        name = f"central words, {steps} steps, share {share}"
        yield name, (1 - share) * phi + share * central


def attempts(texts, new, y, n_topics, seed):
    """Return NPMI, NMI, different top words and perplexity of new texts of each way."""
    from topicfold import WordNetworkLDA
    from topicfold.models import word_network as module

    kept = module.CENTRAL_SHARE, module.CENTRAL_STEPS
    module.CENTRAL_SHARE = 0.0
    model = WordNetworkLDA(n_topics, random_state=seed).fit(texts)
    found = {}
    for name, topics in topics_tried(model, texts):
        rows = topics / topics.sum(axis=1, keepdims=True)
        model.components_ = rows.astype(np.float32)
        found[name] = readable(rows, model.transform(texts), texts, y)
        found[name]["different"] = len(np.unique(np.argsort(-rows)[:, :10]))
        found[name]["different"] /= 10 * n_topics
        found[name]["perplexity"] = model.perplexity(new)
    module.CENTRAL_SHARE, module.CENTRAL_STEPS = kept
    return found


def tried_page(records):
    """Return the table of ways that were tried, means over all their lines."""
    rows = [r["tried"] for r in records if "tried" in r]
    if not rows:
        return []
    names = list(rows[0])
    ks = sorted({r["k"] for r in records if "tried" in r})
    lines = [
        *("", "## Tried", ""),
        "Ways to make topics from those of LDA on the network, with the start from"
        " neighbours, on samples of 1,000 texts of corpora of the choice, K ="
        f" {' and '.join(map(str, ks))}, means over {len(rows)} fits: NPMI, NMI, the"
        " share of different words among the top words of all topics, and the held-out"
        " perplexity of 400 other texts as a multiple of that of the first line"
        " (geometric mean). In brackets: fits with a better value than the first"
        " line's.",
        "",
        "| topics | NPMI | NMI | different | perplexity |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in names:
        cells = []
        for what in ("npmi", "nmi", "different", "perplexity"):
            values = np.array([r[name][what] for r in rows])
            first = np.array([r[names[0]][what] for r in rows])
            if what == "perplexity":
                shown, won = np.exp(np.log(values / first).mean()), values < first
            else:
                shown, won = values.mean(), values > first
            cells.append(f"{shown:.3f}" + f" ({won.sum()})" * (name != names[0]))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    both = [r for r in records if "neighbors" in r]
    won = [
        sum(r["WordNetworkLDA"][what] > r["neighbors"][what] for r in both)
        for what in ("npmi", "nmi")
    ]
    return [
        *lines,
        "",
        "The start from clusters, which is the default now, against the start from"
        f" neighbours, otherwise the same: NPMI is higher in {won[0]} and NMI in"
        f" {won[1]} of {len(both)} fits.",
    ]


def others(counts, size, seed):
    """Return texts that `sample` did not draw, over the words of those that it did."""
    order = np.random.default_rng(seed).permutation(np.flatnonzero(counts.getnnz(1)))
    used = np.flatnonzero(counts[order[:size]].getnnz(axis=0))
    return sp.csr_matrix(counts[order[size : size + 400]][:, used]).astype(np.float32)


def holds(cell):
    """Whether WordNetworkLDA's NPMI and NMI hold against NMF's."""
    ours, peer = cell["WordNetworkLDA"], cell["NMF"]
    return ours["npmi"] >= peer["npmi"] - FAR, ours["nmi"] > peer["nmi"]


def mean(rows):
    """Return the means over seeds, for each model and measure."""
    return {
        model: {
            what: float(np.mean([row[model][what] for row in rows]))
            for what in rows[0][model]
        }
        for model in MODELS
    }


def verdicts(cells):
    """Return in how many lines the model holds, and what it costs, in words."""
    lines = []
    groups = {
        f"samples of 1,000 texts of the {len(CHOSEN)} corpora of the choice": [
            c for (size, name, _), c in cells.items() if size == 1000 and name in CHOSEN
        ],
        f"samples of 1,000 texts of the {len(UNSEEN)} others": [
            c for (size, name, _), c in cells.items() if size == 1000 and name in UNSEEN
        ],
        "whole corpora, up to 8,000 texts": [
            c for (size, _, _), c in cells.items() if size > 1000
        ],
    }
    for title, group in groups.items():
        if group:
            npmi, nmi = np.sum([holds(cell) for cell in group], axis=0)
            both = sum(all(holds(cell)) for cell in group)
            lines.append(
                f"- {title}: both hold in {both} of {len(group)} lines (NMI above "
                f"NMF's in {nmi}, NPMI no more than {FAR} below it in {npmi})."
            )
    npmi, nmi = (
        sum(c["WordNetworkLDA"][what] > c["LDA"][what] for c in cells.values())
        for what in ("npmi", "nmi")
    )
    lines.append(
        f"- Against LDA: NMI is higher in {nmi} of {len(cells)} lines, NPMI in {npmi}."
    )
    ratios = [
        c["WordNetworkLDA"]["seconds"] / c["LDA"]["seconds"] for c in cells.values()
    ]
    lines.append(
        f"- CPU seconds of a fit: {np.median(ratios):.1f} times LDA's in the median, "
        f"{min(ratios):.1f} to {max(ratios):.1f} times."
    )
    return lines


def table(cells, size):
    """Return the lines of one size; * marks corpora without a part in the choice."""
    names = [f"{what} {model}" for what in ("NPMI", "NMI") for model in MODELS]
    lines = [
        "| corpus | words | K | " + " | ".join(names) + " | holds | time |",
        "| --- |" + " --- |" * (len(names) + 4),
    ]
    for (texts, name, k), cell in cells.items():
        if texts != size:
            continue
        values = []
        for what in ("npmi", "nmi"):
            row = [cell[model][what] for model in MODELS]
            values += [f"**{v:.3f}**" if v == max(row) else f"{v:.3f}" for v in row]
        said = {
            (True, True): "yes", (False, True): "not NPMI",
            (True, False): "not NMI", (False, False): "no",
        }[holds(cell)]  # fmt: skip
        ratio = cell["WordNetworkLDA"]["seconds"] / cell["LDA"]["seconds"]
        shown = name + ("" if name in CHOSEN else " *")
        lines.append(
            f"| {shown} | {cell['words']:.0f} | {k} | {' | '.join(values)} | {said} | "
            f"{ratio:.1f} |"
        )
    return lines


def page(records):
    """Return the page."""
    cells = {}
    order = [*CHOSEN, *UNSEEN]
    for r in sorted(records, key=lambda r: (order.index(r["corpus"]), r["k"])):
        cells.setdefault((r["size"], r["corpus"], r["k"]), []).append(r)
    cells = {
        key: mean(rows) | {"words": np.mean([r["words"] for r in rows])}
        for key, rows in cells.items()
    }
    lines = [
        "# Short texts: WordNetworkLDA against LDA and NMF",
        "",
        "`python -m benchmarks.short_texts --write`: NPMI of the ten top words on the"
        " fitted texts, NMI of the texts' largest topics with their classes, all models"
        " with their defaults (NMF: scikit-learn's, on tf-idf). A line *holds* where"
        f" WordNetworkLDA's NMI is above NMF's and its NPMI no more than {FAR} below"
        " it; *time* is its CPU time as a multiple of LDA's.",
        "",
        "The prior of the topics, and how their central words are found, were chosen "
        "at 1,000 texts of the corpora without a star; larger samples and corpora "
        "marked * were not used. 20news_subjects are the subject lines of posts, each "
        "once, 20news_leads the first thirty words that are not quoted, tdt2_ten_words "
        "ten words drawn from each document; the classes of nips_titles are the "
        "sections of the conference.",
        "",
        *verdicts(cells),
    ]
    for size, seeds in SIZES.items():
        if any(key[0] == size for key in cells):
            what = f"Samples of {size:,} texts" if size == 1000 else "Whole corpora"
            more = "" if size == 1000 else f", up to {size:,} texts"
            times = "mean of two seeds" if seeds == 2 else "one seed"
            lines += ["", f"## {what}{more} ({times})", "", *table(cells, size)]
    return "\n".join([*lines, *tried_page(records)]) + "\n"


def main() -> None:
    """Measure what is not there yet; write results and page after each line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", nargs="+", default=[*CHOSEN, *UNSEEN])
    parser.add_argument("-k", nargs="+", type=int, default=[20, 50, 100])
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--tried", action="store_true", help="measure other ways too")
    parser.add_argument("--write", action="store_true", help="write results and page")
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # that iterations ran out
    warnings.simplefilter("ignore")  # NMF's, and spare topics
    path = RESULTS / "short_texts.json"
    records = json.loads(path.read_text("utf-8")) if path.exists() else []
    for size in options.sizes:
        for name in options.corpus:
            counts, y = corpus(name)
            for seed in range(SIZES[size]):
                texts, classes = sample(counts, y, size, seed)
                measure(texts[:200], classes[:200], 2, 0, {})  # compiled, loaded
                for k in options.k:
                    key = {"size": size, "corpus": name, "k": k, "seed": seed}
                    known = (r for r in records if key.items() <= r.items())
                    record = next(known, key)
                    if record is key:
                        records.append(record)
                    if record.keys() >= MODELS.keys():
                        continue
                    record["documents"] = texts.shape[0]
                    record["words"] = float(texts.sum() / texts.shape[0])
                    measure(texts, classes, k, seed, record)
                    if options.tried and name in CHOSEN:
                        new = others(counts, size, seed)
                        record["tried"] = attempts(texts, new, classes, k, seed)
                    print(json.dumps(record), flush=True)
                    if options.write:
                        rows = json.dumps(records, indent=1) + "\n"
                        path.write_text(rows, "utf-8")
                        done = [r for r in records if r.keys() >= MODELS.keys()]
                        (RESULTS / "short_texts.md").write_text(page(done), "utf-8")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
