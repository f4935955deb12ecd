# SPDX-License-Identifier: BSD-3-Clause
"""Topics with embeddings: ours, and those of others, on the same vectors.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.embeddings --vectors FOLDER --write
    python -m benchmarks.embeddings --scale 100000

NMI of the largest topics with the classes, and NPMI of ten words by documents, for LDA
and WordNetworkLDA with and without embeddings, graph models, k-means on the vectors,
NMF of scikit-learn on tf-idf and, where installed, BERTopic (UMAP and k-means) and
KeyNMF of Turftopic. CPU seconds of a fit, without the encoder.

``short_searchsnippets`` has its vectors; FOLDER may hold those of other corpora:
``NAME.json`` (texts and labels) and ``NAME.npy``. ``--scale N`` measures one fit of N
drawn documents with 384 dimensions. What is measured is a line of
``embeddings.jsonl`` and is not measured again.
"""

import argparse
import json
import os
import resource
import time
import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import TfidfTransformer

from topicfold import LDA, LaplacianPLSA, LocallyConsistentPLSA, WordNetworkLDA
from topicfold.corpus import load_folder, vectorize
from topicfold.metrics import clustering_nmi, npmi_coherence
from topicfold.models.word_network import words_if_short

RESULTS = Path(__file__).parent / "results"
SNIPPETS = "short_searchsnippets"
SIZES, SEEDS = (20, 50), (0, 1)
OURS = {
    "LDA": LDA,
    "WordNetworkLDA": WordNetworkLDA,
    "LapPLSI": LaplacianPLSA,
    "LTM": LocallyConsistentPLSA,
}


@lru_cache(maxsize=1)
def load(name, folder):
    """Return texts, counts, words, vectors and classes."""
    if name == SNIPPETS:
        path = Path(os.environ["TOPICFOLD_CORPORA"]) / name
        stored, corpus = np.load(path / "minilm.npz"), load_folder(path)
        texts = [corpus.texts[row] for row in stored["rows"]]
        labels = [corpus.labels[row] for row in stored["rows"]]
        vectors = stored["E"]
    else:
        stored = json.loads((Path(folder) / f"{name}.json").read_text())
        vectors = np.load(Path(folder) / f"{name}.npy")
        texts, labels = (stored[key][: len(vectors)] for key in ("texts", "labels"))
    counts, words = vectorize(texts)
    counts = sp.csr_matrix(counts)
    rows = np.flatnonzero(np.diff(counts.indptr))  # others have no word to show
    texts = [texts[row] for row in rows]
    y = np.unique(np.array(labels)[rows], return_inverse=True)[1]
    return texts, counts[rows], words, vectors[rows].astype(np.float32), y


def by_clusters(counts, found):
    """Return topics of clusters: their words by class-based tf-idf."""
    members = sp.csr_matrix((np.ones(len(found)), (found, np.arange(len(found)))))
    sums = np.asarray((members @ counts).todense(), dtype=np.float64)
    shares = sums / np.maximum(sums.sum(axis=1, keepdims=True), 1)
    mean = sums.sum() / len(sums)
    return shares * np.log1p(mean / np.maximum(sums.sum(axis=0), 1)) + 1e-12


def fit(method, data, size, seed):
    """Return topics (rows over the words) and the topic of each document."""
    texts, counts, words, vectors, _ = data
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
    from turftopic import KeyNMF

    model = KeyNMF(size, random_state=seed)
    theta = model.fit_transform(texts, embeddings=vectors)
    place = {word: column for column, word in enumerate(words)}
    topics = np.full((size, len(words)), 1e-12)
    for column, word in enumerate(model.get_vocab()):
        if word in place:
            topics[:, place[word]] += np.maximum(model.components_[:, column], 0)
    return topics, theta.argmax(axis=1)


def measure(corpus, method, size, seed, folder):
    """Return the row of one fit."""
    data = load(corpus, folder)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        topics, found = fit(method, data, size, seed)
    seconds = time.process_time() - began
    return {
        "nmi": float(clustering_nmi(data[4], found)),
        "npmi": float(np.mean(npmi_coherence(topics, data[1], n_words=10))),
        "seconds": round(seconds, 2),
        "documents": len(found),
    }


def suits(method, corpus, folder):
    """Tell whether a method is for such texts: one of them is for short ones."""
    short = words_if_short(load(corpus, folder)[1]) is not None
    return short or not method.startswith("WordNetworkLDA")


def methods():
    """Return what can be measured here."""
    from importlib.util import find_spec

    names = [f"{name}{more}" for name in OURS for more in ("", " + embeddings")]
    names += ["k-means", "NMF"]
    names += ["BERTopic"] if find_spec("bertopic") else []
    return names + (["KeyNMF"] if find_spec("turftopic") else [])


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

`python -m benchmarks.embeddings --vectors FOLDER --write`. MiniLM vectors
(all-MiniLM-L6-v2), the same for all methods; {seeds} seeds. NMI of the largest topics
with the classes / NPMI of ten words in the documents / CPU seconds of a fit without the
encoder. Words of clusters (k-means, BERTopic) are those of class-based tf-idf.
"""


def page(rows):
    """Return the tables of everything measured."""
    fits = [row for row in rows if "method" in row]
    names = list(dict.fromkeys(row["method"] for row in fits))
    lines = PAGE.format(seeds=len(SEEDS)).splitlines()
    for size in SIZES:
        of_size = [row for row in fits if row["size"] == size]
        if not of_size:
            continue
        corpora = list(dict.fromkeys(row["corpus"] for row in of_size))
        counts = {row["corpus"]: row["documents"] for row in of_size}
        heads = " | ".join(f"{name} ({counts[name]:,})" for name in corpora)
        lines += ["", f"## {size} topics", "", f"| method | {heads} | mean NMI |"]
        lines += ["|---" * (len(corpora) + 2) + "|"]
        for name in names:
            cells, scores = [], []
            for corpus in corpora:
                own = [
                    row
                    for row in of_size
                    if (row["corpus"], row["method"]) == (corpus, name)
                ]
                if not own:
                    cells.append("")
                    continue
                keys = ("nmi", "npmi", "seconds")
                nmi, npmi, seconds = (np.mean([row[k] for row in own]) for k in keys)
                cells.append(f"{nmi:.3f} / {npmi:.2f} / {seconds:.1f}")
                scores.append(nmi)
            whole = len(scores) == len(corpora)
            mean = f"{np.mean(scores):.3f}" if whole else ""
            lines.append(f"| {name} | {' | '.join(cells)} | {mean} |")
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vectors", type=Path, default=None)
    parser.add_argument("--methods", nargs="+", default=None)
    parser.add_argument("--rows", type=Path, default=RESULTS / "embeddings.jsonl")
    parser.add_argument("--scale", type=int, metavar="N")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    path = options.rows
    lines = path.read_text().splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]

    def keep(row):
        with path.open("a") as out:
            out.write(json.dumps(row) + "\n")
        rows.append(row)
        print(*row.values(), flush=True)

    if options.scale:
        keep(measure_scale(options.scale))
    else:
        corpora = [SNIPPETS]
        if options.vectors is not None:
            corpora += sorted(file.stem for file in options.vectors.glob("*.npy"))
        keys = ("corpus", "method", "size", "seed")
        done = {tuple(row.get(key) for key in keys) for row in rows}
        for corpus in corpora:
            for method in options.methods or methods():
                for size in SIZES:
                    for seed in SEEDS:
                        key = corpus, method, size, seed
                        if key not in done and suits(method, corpus, options.vectors):
                            found = measure(*key, options.vectors)
                            keep(dict(zip(keys, key, strict=True)) | found)
    if options.write:
        path.with_suffix(".md").write_text(page(rows))


if __name__ == "__main__":
    main()
