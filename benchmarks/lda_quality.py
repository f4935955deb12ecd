# SPDX-License-Identifier: BSD-3-Clause
"""How good and how fast LDA's defaults are, against Gibbs sampling and tomotopy.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.lda_quality --jobs 16 --write

For every corpus, K and seed: held-out perplexity by document completion, one judge for
all (half of a document's tokens give its mixture, by fold-in with the model's own α,
the other half is scored); NPMI of the ten top words on the training documents; NMI of
the documents' largest topics with their classes. One thread per fit, `--jobs` fits at a
time. ``short_texts`` compares models of short texts.

Where tomotopy is installed its figures are kept in ``lda_quality_tomotopy.json``;
elsewhere they are read from there, its CPU seconds too. Other results go to
``lda_quality.json``; ``--only lda`` fits LDA alone, and takes the others' figures from
there. ``--tried`` also fits, to the corpora of the choice, what LDA's defaults were
chosen from. Larger samples have a page of their own: ``--documents 8000 --seeds 1
--page lda_quality_whole``.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import logging
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
import scipy.sparse as sp

RESULTS = Path(__file__).parent / "results"
PEER_FILE = RESULTS / "lda_quality_tomotopy.json"
# Corpora on which the defaults were chosen; the others had no part in it. The mails,
# wap and la1s joined them when the start had lost there, and was mended.
CHOSEN = (
    *("ap_blei", "reuters21578_dengcai", "short_searchsnippets", "short_tweet"),
    *("20news_rennie_61188", "dblp_octis", "nips_titles"),
    *("emailspam_csdmc2010", "wap", "la1s"),
)
UNSEEN = ("ohscal", "tdt2_dengcai", "k1b", "bbc_news_octis")
MANY_TOPICS = ("ap_blei", "20news_rennie_61188")
KEY = ("corpus", "k", "seed", "asked")
SWEEPS = 200
MODELS = {"lda": "LDA", "gibbs": "GibbsLDA", "tomotopy": "tomotopy"}
MEASURES = {"perplexity": 0, "npmi": 3, "nmi": 3}


class Levels:
    """A callback: perplexity after some passes, and CPU seconds without its own."""

    def __init__(self, judge):
        self.judge, self.own, self.found = judge, 0.0, []

    def on_start(self, state):
        """Nothing is known yet."""

    def on_iteration(self, state):
        """Judge the topics of every pass, later of every tenth."""
        n = state.iteration
        began = time.process_time()
        if n < 20 or n % 10 == 0:
            self.found.append((began - self.own, self.judge(state.topics())))
        self.own += time.process_time() - began
        return False

    def on_end(self, state):
        """Nothing is left to do."""


def fit_lda(train, n_topics, seed):
    """LDA with its defaults, to its own end."""
    from topicfold import LDA

    model = LDA(n_topics, random_state=seed).fit(train)
    return model.components_, model.doc_topic_prior_, model.n_iter_


def fit_gibbs(train, n_topics, seed):
    """GibbsLDA with its defaults."""
    from topicfold import GibbsLDA

    model = GibbsLDA(n_topics, max_iter=SWEEPS, random_state=seed).fit(train)
    return model.components_, model.doc_topic_prior_, SWEEPS


def fit_tomotopy(train, n_topics, seed):
    """Tomotopy's LDAModel with its own defaults."""
    import tomotopy

    model = tomotopy.LDAModel(k=n_topics, seed=seed + 1)
    for start, end in zip(train.indptr[:-1], train.indptr[1:], strict=True):
        counts = train.data[start:end].astype(np.int64)
        words = np.repeat(train.indices[start:end], counts)
        if len(words):
            model.add_doc([str(word) for word in words])
    model.train(SWEEPS, workers=1)
    known = np.array([int(name) for name in model.used_vocabs])
    topics = np.zeros((n_topics, train.shape[1]))
    for k in range(n_topics):
        topics[k, known] = model.get_topic_word_dist(k)
    return topics, np.asarray(model.alpha), SWEEPS


def fit_tried(train, n_topics, seed, **options):
    """LDA with other options, to its own end; `sweeps` is for a start from a chain."""
    from topicfold import LDA, GibbsLDA

    if "sweeps" in options:
        chain = GibbsLDA(n_topics, max_iter=options.pop("sweeps"), random_state=seed)
        options["init"] = chain.fit(train).components_
    elif options.get("init") == "k-means":
        options["init"] = word_clusters(train, n_topics, seed)
    model = LDA(n_topics, random_state=seed, **options).fit(train)
    return model.components_, model.doc_topic_prior_, model.n_iter_


def word_clusters(train, n_topics, seed):
    """Clusters by k-means on tf-idf itself, four fifths of each topic."""
    from sklearn.cluster import KMeans
    from sklearn.feature_extraction.text import TfidfTransformer

    rows = TfidfTransformer(sublinear_tf=True).fit_transform(train)
    found = KMeans(n_topics, n_init=1, random_state=seed).fit_predict(rows)
    counts = np.eye(n_topics)[found].T @ train.astype(np.float64)
    shares = counts / counts.sum(axis=1, keepdims=True)
    return 0.8 * shares + 0.2 * np.asarray(train.sum(axis=0)) / train.sum()


TRIED = {
    "neighbours of documents far apart (`neighbors`)": {"init": "neighbors"},
    "k-means on tf-idf": {"init": "k-means"},
    "singular vectors (`svd`)": {"init": "svd"},
    "random (`random`)": {"init": "random"},
    "20 sweeps of GibbsLDA": {"sweeps": 20},
    "200 sweeps of GibbsLDA": {"sweeps": 200},
}
LEFT_OUT = """
Tried for the start from clusters and left out, as nothing was gained over all corpora:
other shares of the corpus, soft or balanced clusters, several tries for each seed of
k-means (NPMI 0.006 higher, four times the work), less weight for near-duplicates,
the root of idf, contrast to the corpus, a topic of its own for the background
(perplexity 0.3 to 0.6 % lower, NMI up to 0.04 lower), lower limits for the words that
start in one topic. Words of many documents in topics of their own are a gain where they
are many: in one topic alone they come back to all others; where they are too few for a
topic, one for them costs a cluster (the mails at 20 topics: perplexity 1 % higher,
above tomotopy's).

The upper limit of η falls with the number of topics, 0.3 / √K: at 0.1 long documents in
many topics are smoothed too much. 100 topics of 3,157 manual pages, which had no part
in other choices, have a perplexity of 630 at 0.1 (tomotopy 624), 607 at 0.3 / √K and
603 at 0.2 / √K; but there 20 Newsgroups with its stop words loses coherence (NPMI 0.164
instead of 0.185). On 8,000 documents of the corpora above the limit changes perplexity
by -2.1 to +0.1 % (-0.35 % in the mean of 28 lines), NPMI by -0.001 and NMI by +0.002.

Common words in topics of their own cost NMI on 20 Newsgroups with its stop words at 20
topics: a topic of stop words is the largest of some documents. The other starts of this
table were fitted with equal α, as was the default when it was chosen; learning α lowers
perplexity by 0.15 % and raises NPMI by 0.001.
"""
FITS = {"lda": fit_lda, "gibbs": fit_gibbs, "tomotopy": fit_tomotopy}


def load(name):
    """Return counts and classes (None without) of a corpus."""
    folder = Path(os.environ["TOPICFOLD_CORPORA"])
    if name == "nips_titles":
        from topicfold.corpus import vectorize

        titles = (folder / "nips0_12" / "titles.txt").read_text("utf-8").splitlines()
        return sp.csr_matrix(vectorize(titles)[0]), None
    labels = folder / name / "labels.txt"
    y = np.array(labels.read_text("utf-8").splitlines()) if labels.exists() else None
    return sp.csr_matrix(sp.load_npz(folder / name / "counts.npz")), y


def held_out(counts, y, n_documents, seed):
    """Return training documents, their classes, and the halves of the others."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(np.flatnonzero(counts.getnnz(axis=1)))[:n_documents]
    cut = int(0.8 * len(order))
    train, test = counts[order[:cut]], counts[order[cut:]]
    seen = np.flatnonzero(train.getnnz(axis=0))
    train, test = sp.csr_matrix(train[:, seen]), sp.csr_matrix(test[:, seen])
    fold, score = test.copy(), test.copy()
    fold.data = rng.binomial(test.data.astype(np.int64), 0.5).astype(np.float64)
    score.data = test.data - fold.data
    for half in (fold, score):
        half.eliminate_zeros()
    y = None if y is None else y[order[:cut]]
    return train.astype(np.float32), y, fold, score


def perplexity(topics, alpha, fold, score, unigram):
    """Score the second half under mixtures of the first, one hundredth unigram."""
    from topicfold.infer.fold_in import fold_in

    topics = np.asarray(topics, np.float64)
    alpha = np.broadcast_to(alpha, len(topics))
    theta = fold_in(fold, topics, prior=alpha, dtype=np.float64)
    entries = score.tocoo()
    found = np.einsum("ik,ik->i", theta[entries.row], topics.T[entries.col])
    found = 0.99 * found + 0.01 * unigram[entries.col]
    return float(np.exp(-(entries.data @ np.log(found)) / entries.data.sum()))


def readable(topics, theta, train, y):
    """Return the mean NPMI of the topics, and the NMI of documents with classes."""
    from topicfold.metrics import clustering_nmi, npmi_coherence

    found = {"npmi": float(np.mean(npmi_coherence(topics, train, n_words=10)))}
    if y is not None:
        found["nmi"] = float(clustering_nmi(y, theta.argmax(axis=1)))
    return found


def times_faster(parts, n_topics, seed, peer):
    """Return tomotopy's CPU seconds over LDA's until it was as good; None if never.

    LDA's are the median of three fits: they may be milliseconds, and its result is the
    same each time.
    """
    from topicfold import LDA

    train, judge = parts
    LDA(2, max_iter=2, random_state=0).fit(train[:20])  # compiled, loaded
    took = []
    for _ in range(3):
        levels = Levels(judge)
        model = LDA(n_topics, random_state=seed, callbacks=[levels])
        began = time.process_time()
        model.fit(train)
        for reached, value in levels.found:
            if value <= peer["perplexity"]:
                took.append(reached - began)
                break
        else:
            return None
    return peer["seconds"] / float(np.median(took))


def measure(name, n_topics, seed, n_documents, kept, tried):
    """Fit models to one corpus and judge them; `kept` are figures of earlier fits."""
    from topicfold.infer.fold_in import fold_in

    logging.disable(logging.WARNING)  # that iterations ran out
    counts, y = load(name)
    train, y, fold, score = held_out(counts, y, n_documents, seed)
    unigram = np.asarray(train.sum(axis=0)).ravel() / train.sum()
    length = float(train.sum() / train.shape[0])
    facts = {"corpus": name, "k": n_topics, "seed": seed, "length": length}
    facts |= {"documents": train.shape[0], "asked": n_documents, **kept}

    def judged(fit, **options):
        began = time.process_time()
        topics, alpha, n_iter = fit(train, n_topics, seed, **options)
        seconds = time.process_time() - began
        theta = fold_in(
            train.astype(np.float64),
            np.asarray(topics, np.float64),
            prior=np.broadcast_to(alpha, n_topics),
            dtype=np.float64,
        )
        return {
            "perplexity": perplexity(topics, alpha, fold, score, unigram),
            **readable(topics, theta, train, y),
            "alpha": float(np.mean(alpha)),
            "passes": n_iter,
            "seconds": seconds,
        }

    for model, fit in FITS.items():
        if model not in kept and (model != "tomotopy" or has_tomotopy()):
            facts[model] = judged(fit)
    if tried and name in CHOSEN:
        facts["tried"] = {
            label: judged(fit_tried, **options) for label, options in TRIED.items()
        }

    def judge(topics):
        alpha = facts["lda"]["alpha"]
        return perplexity(topics, alpha, fold, score, unigram)

    if "tomotopy" in facts:
        peer = facts["tomotopy"]
        facts["times"] = times_faster((train, judge), n_topics, seed, peer)
    return facts


def has_tomotopy():
    """Whether tomotopy can be imported."""
    return importlib.util.find_spec("tomotopy") is not None


def mean(rows, model, measure):
    """Return the mean over seeds, or NaN."""
    found = [r[model].get(measure) for r in rows if model in r]
    found = [v for v in found if v is not None]
    return float(np.mean(found)) if found else np.nan


def table(groups, measure, models):
    """Return the lines of one measure; the best is bold."""
    digits, best = MEASURES[measure], (min if measure == "perplexity" else max)
    lines = ["| corpus | words | K | " + " | ".join(models.values()) + " |"]
    lines.append("| --- |" + " --- |" * (len(models) + 2))
    for (name, k), rows in groups.items():
        values = [mean(rows, model, measure) for model in models]
        known = [v for v in values if not np.isnan(v)]
        if not known:
            continue
        cells = [
            "–"
            if np.isnan(v)
            else (f"**{v:.{digits}f}**" if v == best(known) else f"{v:.{digits}f}")
            for v in values
        ]
        shown = name + ("" if name in CHOSEN else " *")
        length = np.mean([r["length"] for r in rows])
        lines.append(f"| {shown} | {length:.0f} | {k} | " + " | ".join(cells) + " |")
    return lines


def verdicts(groups):
    """Return how LDA stands to the others, in words."""
    lines = []
    for measure in MEASURES:
        for peer in ("gibbs", "tomotopy"):
            pairs = [
                (mean(rows, "lda", measure), mean(rows, peer, measure))
                for rows in groups.values()
            ]
            pairs = [p for p in pairs if not np.isnan(p).any()]
            if not pairs:
                continue
            sign = -1 if measure == "perplexity" else 1
            won = sum(sign * a >= sign * b for a, b in pairs)
            ours, theirs = np.mean(pairs, axis=0)
            if measure == "perplexity":
                ratio = np.exp(np.mean([np.log(a / b) for a, b in pairs]))
                gap = f"geometric mean of the ratio {ratio:.3f}"
            else:
                gap = f"mean {ours:.3f} against {theirs:.3f}"
            lines.append(
                f"- {measure}: LDA is at least as good as {MODELS[peer]} in {won} of "
                f"{len(pairs)} lines; {gap}."
            )
    times = [r["times"] for rows in groups.values() for r in rows if "times" in r]
    if times:
        known = np.array([t or 0.0 for t in times])
        lines.append(
            "- CPU seconds to tomotopy's perplexity, start included: LDA needs "
            f"1/{np.median(known):.0f} in the median of {len(known)} fits, "
            f"1/{known.min():.1f} at worst (1/0: it did not reach it); tomotopy's "
            "seconds are those of the run that made its figures."
        )
    return lines


def tried_table(groups):
    """Return the lines on what the defaults were chosen from, [] if none was fitted."""
    chosen = [rows for rows in groups.values() if all("tried" in r for r in rows)]
    if not chosen:
        return []
    n_corpora = len({rows[0]["corpus"] for rows in chosen})
    lines = [
        "## Tried",
        "",
        f"Means over {n_corpora} corpora of the choice and their K"
        f" ({len(chosen)} lines);"
        " perplexity is the geometric mean of its ratio to the default's.",
        "",
        "| start, else the defaults | perplexity | NPMI | NMI | passes |",
        "| --- | --- | --- | --- | --- |",
    ]
    for label in ("the default: clusters of documents (`clusters`)", *TRIED):
        pairs = [
            [(r["tried"].get(label, r["lda"]), r["lda"]) for r in rows]
            for rows in chosen
        ]
        flat = [pair for rows in pairs for pair in rows]
        logs = [np.log(a["perplexity"] / b["perplexity"]) for a, b in flat]
        means = [
            np.mean([a[measure] for a, _ in flat if measure in a])
            for measure in ("npmi", "nmi", "passes")
        ]
        shown = "{:.3f} | {:.3f} | {:.0f}".format(*means)
        lines.append(f"| {label} | {np.exp(np.mean(logs)):.3f} | {shown} |")
    return ["", *lines, *LEFT_OUT.rstrip().splitlines()]


def page(records):
    """Return the page."""
    groups = {}
    for r in sorted(records, key=lambda r: (r["length"], r["k"])):
        groups.setdefault((r["corpus"], r["k"]), []).append(r)
    seeds = len({r["seed"] for r in records})
    lines = [
        "# LDA's defaults: perplexity, coherence, classes",
        "",
        "`python -m benchmarks.lda_quality --jobs N --write`: samples of up to "
        f"{max(r['documents'] for r in records) * 5 // 4:,} documents, four fifths of "
        f"them for training, means over {seeds} seed{'s' * (seeds > 1)}. LDA runs to "
        f"its own end, GibbsLDA and tomotopy for {SWEEPS} sweeps, all with their "
        "defaults. Corpora marked * were not used to choose LDA's defaults.",
        "",
        *verdicts(groups),
    ]
    titles = {
        "perplexity": "Held-out perplexity (lower is better)",
        "npmi": "NPMI of the ten top words (higher is better)",
        "nmi": "NMI of largest topics with classes (higher is better)",
    }
    for measure, title in titles.items():
        lines += ["", f"## {title}", "", *table(groups, measure, MODELS)]
    return "\n".join([*lines, *tried_table(groups)]) + "\n"


def tasks(options):
    """Return corpora, numbers of topics and seeds, the longest first."""
    found = []
    for seed in range(options.seeds):
        for name in options.corpus:
            many = [300] if name in MANY_TOPICS and options.many else []
            found += [(name, k, seed) for k in (*options.k, *many)]
    return sorted(found, key=lambda task: (task[2], -task[1]))


def read(path):
    """Return stored records, [] if there are none."""
    return json.loads(path.read_text("utf-8")) if path.exists() else []


def key_of(record):
    """What a record is of."""
    return tuple(record[name] for name in KEY)


def main() -> None:
    """Measure; write the results and the page after each line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", nargs="+", default=[*UNSEEN, *CHOSEN])
    parser.add_argument("-k", nargs="+", type=int, default=[20, 100])
    parser.add_argument("--many", action="store_true", help="K = 300 on two corpora")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1, help="fits at a time")
    parser.add_argument(
        "--only", nargs="+", choices=[*FITS], help="fit these, keep the others'"
    )
    parser.add_argument("--tried", action="store_true", help="other starts, too")
    parser.add_argument("--write", action="store_true", help="write the page")
    parser.add_argument("--page", default="lda_quality", help="name of the results")
    options = parser.parse_args()
    kept = {key_of(r): {"tomotopy": r["tomotopy"]} for r in read(PEER_FILE)}
    records = {}
    if options.only:
        records = {key_of(r): r for r in read(RESULTS / f"{options.page}.json")}
        others = {*FITS, "tried"} - {*options.only}
        others -= {"tried"} if options.tried else set()
        for key, r in records.items():
            kept[key] = {name: r[name] for name in others & r.keys()}
    with ProcessPoolExecutor(options.jobs) as pool:
        running = {}
        for task in tasks(options):
            key = (*task, options.documents)
            given = *key, kept.get(key, {}), options.tried
            running[pool.submit(measure, *given)] = key
        for done in as_completed(running):
            key = running[done]
            records[key] = found = done.result()
            print(json.dumps(found), flush=True)
            if options.write:
                write(records, kept, options.page)


def write(records, kept, name):
    """Write tomotopy's figures, old and new, all results and the page."""
    peers = [
        {**dict(zip(KEY, key, strict=True)), "tomotopy": found["tomotopy"]}
        for key, found in sorted((kept | records).items())
        if "tomotopy" in found
    ]
    PEER_FILE.write_text(json.dumps(peers, indent=1) + "\n", "utf-8")
    rows = list(records.values())
    text = json.dumps(rows, indent=1) + "\n"
    (RESULTS / f"{name}.json").write_text(text, "utf-8")
    (RESULTS / f"{name}.md").write_text(page(rows), "utf-8")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
