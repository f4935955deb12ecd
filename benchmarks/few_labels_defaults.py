# SPDX-License-Identifier: BSD-3-Clause
"""How the defaults for few labels were chosen, and on which corpora confirmed.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.few_labels_defaults edges
    TOPICFOLD_CORPORA=DIR python -m benchmarks.few_labels_defaults topics --corpus oh0

``edges``: do labels in the graph help LapPLSI and LTM? ``topics``: how many topics
for `TopicClassifier`? Large corpora are cut to a random part (``--documents``), to be
quick. Results: ``results/few_labels_defaults.json`` and ``.md``, written after every
corpus; a corpus measured again replaces its rows.
"""

import argparse
import json
import time

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from benchmarks.few_labels import RESULTS, Protocol, load_corpus, visible_labels
from topicfold import FSTM, TwoPhase
from topicfold.graph import NeighborGraph
from topicfold.models.manifold import LaplacianPLSA, LocallyConsistentPLSA

SEED = 1


def part_of(name, n_documents):
    """Return a random part of a corpus, the same in every run."""
    X, y, train = load_corpus(name)
    rows = np.arange(X.shape[0])
    if X.shape[0] > n_documents:
        rng = np.random.default_rng(SEED)
        rows = np.sort(rng.choice(rows, n_documents, replace=False))
    return X[rows], y[rows], train[rows]


def label_graphs(X, visible):
    """Yield (name, graph) of the ways in which labels may enter the graph."""
    plain = NeighborGraph().build(X)
    yield "no label edges", plain
    joined = NeighborGraph(label_edges=True).build(X, visible)
    added = (joined - plain.minimum(joined)) > 0
    same = (visible[:, None] == visible[None, :]) & (visible >= 0)[:, None]
    clique = sp.csr_array(same & ~np.eye(len(visible), dtype=bool), dtype=float)
    yield "label edges of weight 1", sp.csr_array(joined.maximum(clique))
    yield "label edges of median weight", joined
    yield "edges between classes cut", sp.csr_array(joined - joined.multiply(added))


def measure_edges(name, options):
    """Return rows of accuracy on √θ for both models and all graphs."""
    X, y, train = part_of(name, options.documents)
    protocol = Protocol(X, y, train, options.sizes, options.draws)
    rows = []
    for model in (LocallyConsistentPLSA, LaplacianPLSA):
        features = {}
        for size, draws in protocol.draws.items():
            for draw, known in enumerate(draws):
                test = protocol.test_pool.copy()
                test[known] = False
                for how, graph in label_graphs(X, visible_labels(y, known)):
                    began = time.perf_counter()
                    key = how if how == "no label edges" else None
                    theta = features.get(key)
                    if theta is None:
                        fitted = model(
                            options.components,
                            graph=graph,
                            random_state=SEED,
                            n_jobs=options.jobs,
                        ).fit(X)
                        theta = np.sqrt(fitted.doc_topics_.astype(np.float64))
                        if key:
                            features[key] = theta
                    svm = LinearSVC(random_state=0).fit(theta[known], y[known])
                    accuracy = float((svm.predict(theta[test]) == y[test]).mean())
                    row = {
                        "part": "edges",
                        "corpus": name,
                        "documents": X.shape[0],
                        "model": model.__name__,
                        "how": how,
                        "size": size,
                        "draw": draw,
                        "accuracy": accuracy,
                        "seconds": round(time.perf_counter() - began, 1),
                    }
                    rows.append(row)
                    print(
                        name, model.__name__, size, how, round(accuracy, 4), flush=True
                    )
    return rows


def classifiers(n_labels, components):
    """Yield (name, topics, model) of what may be the default; n_labels None: all."""
    options = {"random_state": SEED, "n_jobs": 1}
    for topics in components:
        yield (
            "LocallyConsistentPLSA",
            topics,
            LocallyConsistentPLSA(topics, transform_neighbors=True, **options),
        )
        base = FSTM(topics, **options)
        two_phase = TwoPhase(base, word_weights="classes", neighbor_weight=0.5)
        yield "TwoPhase", topics, two_phase


def measure_topics(name, options):
    """Return rows of accuracy of `TopicClassifier` on documents it has not seen."""
    X, y, _ = part_of(name, options.documents)
    rng = np.random.default_rng(SEED)
    new = rng.random(len(y)) < 0.3
    counts = np.bincount(y[~new], minlength=y.max() + 1)
    classes = np.flatnonzero(counts >= 10)
    order = rng.permutation(np.flatnonzero(~new & np.isin(y, classes)))
    test = new & np.isin(y, classes)
    rank = np.zeros(len(y), dtype=int)  # of a document in its class
    for c in classes:
        own = order[y[order] == c]
        rank[own] = np.arange(len(own))
    rows, known_features = [], {}
    for size in [*options.sizes, None]:
        labelled = ~new & np.isin(y, classes)
        if size is not None:
            labelled &= rank < size
        given = np.where(labelled, y, -1)[~new]
        for model_name, topics, model in classifiers(size, options.topics):
            began = time.perf_counter()
            key = (topics,) if model_name == "LocallyConsistentPLSA" else None
            if key in known_features:
                seen, later = known_features[key]
            else:
                seen = np.sqrt(model.fit_transform(X[~new], given))
                later = np.sqrt(model.transform(X[test]))
                if key:
                    known_features[key] = seen, later
            svm = LinearSVC(random_state=0).fit(seen[given >= 0], given[given >= 0])
            accuracy = float((svm.predict(later) == y[test]).mean())
            row = {
                "part": "topics",
                "corpus": name,
                "documents": int((~new).sum()),
                "classes": len(classes),
                "model": model_name,
                "topics": topics,
                "size": size or "all",
                "labelled": int(labelled.sum()),
                "accuracy": accuracy,
                "seconds": round(time.perf_counter() - began, 1),
            }
            rows.append(row)
            print(*row.values(), flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["edges", "topics"])
    parser.add_argument("--corpus", nargs="+", required=True)
    parser.add_argument("--documents", type=int, default=3000)
    parser.add_argument("--components", type=int, default=50)
    parser.add_argument("--sizes", type=int, nargs="+", default=[5, 20])
    parser.add_argument("--topics", type=int, nargs="+", default=[30, 60, 120, 200])
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    path = RESULTS / "few_labels_defaults.json"
    for name in options.corpus:
        measure = {"edges": measure_edges, "topics": measure_topics}[options.part]
        rows = measure(name, options)
        stored = json.loads(path.read_text()) if path.exists() else []
        stored = [r for r in stored if (r["part"], r["corpus"]) != (options.part, name)]
        path.write_text(json.dumps(stored + rows, indent=1))


if __name__ == "__main__":
    main()
