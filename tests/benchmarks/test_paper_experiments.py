# SPDX-License-Identifier: BSD-3-Clause
"""The experiments on a planted corpus: scores, draws, and what they must not see."""

import doctest
import importlib

import numpy as np
import pytest
from benchmarks.papers import common
from benchmarks.papers.experiments import (
    ResultFile,
    available_methods,
    choose_options,
    clustering,
    few_labels,
    find_method,
    runtime,
    sensitivity,
    supervised,
)
from benchmarks.papers.experiments.baselines import naive_bayes_em, spread_labels
from benchmarks.papers.experiments.cells import packed
from benchmarks.papers.experiments.few_labels import draw_labels
from protocols_support import planted_corpus
from scipy import sparse

from topicfold import LaplacianPLSA
from topicfold.corpus import Corpus
from topicfold.exceptions import DataError

PREDICT = available_methods("predict")
CLUSTER = available_methods("cluster")
# Models of authors, languages, features, links and times, which these experiments do
# not have.
OF_SIDES = ["ATM", "PLTM", "DMR", "RTM", "DynamicLDA", "TOT"]
EMBED = [m for m in available_methods() if m not in PREDICT + CLUSTER + OF_SIDES]
MODULES = [
    f"benchmarks.papers.experiments.{name}"
    for name in (
        *("baselines", "clustering", "few_labels", "inputs", "methods", "results"),
        *("runtime", "sensitivity", "supervised"),
    )
]
QUICK = {"n_components": 4, "n_draws": 1, "labels": 3}


@pytest.mark.parametrize("model", [*EMBED, *PREDICT])
def test_few_labels_finds_planted_classes(corpus, model):
    results = few_labels(corpus, [model], **QUICK)
    assert results.failures == []
    assert results.mean("accuracy") > 0.8
    (row, f1) = results.rows
    assert (row["corpus"], row["model"], row["labels"]) == ("planted", model, 3)
    assert row["n_components"] == (4 if find_method(model).sized else None)
    assert f1["metric"] == "macro_f1"


@pytest.mark.parametrize("model", [*EMBED, *PREDICT])
def test_supervised_finds_planted_classes(corpus, model):
    results = supervised(corpus, [model], n_components=4, n_splits=1)
    assert results.failures == []
    assert results.mean("accuracy") > 0.8


@pytest.mark.parametrize(
    "model", CLUSTER + [m for m in EMBED if find_method(m).labels != "must"]
)
def test_clustering_finds_planted_classes(corpus, model):
    results = clustering(corpus, [model], n_clusters=2, n_draws=1)
    assert results.failures == []
    assert results.mean("ac") > 0.75


@pytest.mark.parametrize("edges", [False, True])
def test_labels_of_test_documents_are_never_seen(corpus, edges, monkeypatch):
    """Other labels on test documents change the score, not the predictions."""
    y, _ = corpus.encoded_labels()
    known = np.concatenate([np.flatnonzero(y == c)[:4] for c in range(3)])
    module = importlib.import_module("benchmarks.papers.experiments.few_labels")
    monkeypatch.setattr(module, "draw_labels", lambda *args: known)
    swapped = (y + 1) % 3
    swapped[known] = y[known]
    models = ["DTM", "FSTM^c", "naive Bayes EM", "label spreading"]
    settings = {"n_components": 3, "labels": 4, "n_draws": 1, "label_edges": edges}
    right = few_labels((corpus.counts, y), models, **settings)
    wrong = few_labels((corpus.counts, swapped), models, **settings)
    for model in models:
        score = right.mean("accuracy", model=model)
        assert score > 0.4
        # The same predictions: what was right is wrong now.
        assert wrong.mean("accuracy", model=model) <= 1 - score + 1e-9


def test_same_seed_same_rows_and_other_seed_other_draws(corpus, tmp_path):
    settings = {"n_components": 3, "labels": (1, 3), "n_draws": 2}
    first = few_labels(corpus, ["PLSA", "tf-idf"], **settings)
    second = few_labels(corpus, ["PLSA", "tf-idf"], **settings, results=tmp_path / "r")
    assert first.values("accuracy") == second.values("accuracy")
    other = few_labels(corpus, ["PLSA", "tf-idf"], **settings, seed=50)
    assert first.values("accuracy") != other.values("accuracy")


def test_labels_are_drawn_in_every_class():
    y = np.repeat([0, 1, 2], [10, 20, 5])
    allowed = np.ones(35, dtype=bool)
    allowed[:3] = False
    known = draw_labels(y, np.array([0, 1, 2]), allowed, 4, seed=0)
    assert np.bincount(y[known]).tolist() == [4, 4, 4]
    assert known.min() >= 3
    assert len(set(known.tolist())) == len(known)
    few = draw_labels(y, np.array([0, 1, 2]), allowed, 12, seed=0)
    assert np.bincount(y[few]).tolist() == [3, 12, 2]  # at most half of small classes


def in_parts(results, n):
    """How many of `n` documents were right; not all, or any number would do."""
    found = np.array(results.values("accuracy")) * n
    assert found.max() < n
    return found


def test_documents_per_class_draws_a_part():
    hard = planted_corpus(noise=0.6)
    results = few_labels(hard, ["tf-idf"], labels=2, n_draws=3, documents_per_class=5)
    # Three classes of five, two labelled each: nine to score.
    ninths = in_parts(results, 9)
    np.testing.assert_allclose(ninths, ninths.round(), atol=1e-9)


def test_candidates_are_the_only_ones_labelled():
    hard, train = planted_corpus(noise=0.6), np.arange(60) % 2 == 0
    results = few_labels(hard, ["tf-idf"], labels=9, n_draws=2, candidates=train)
    thirtieths = in_parts(results, 30)
    np.testing.assert_allclose(thirtieths, thirtieths.round(), atol=1e-9)


def test_multilabel(corpus):
    y, _ = corpus.encoded_labels()
    Y = np.eye(3, dtype=int)[y]
    both = sparse.vstack([corpus.counts, corpus.counts[:20] + corpus.counts[20:40]])
    Y = np.vstack([Y, np.tile([1, 1, 0], (20, 1))])
    results = supervised(
        (both, Y),
        ["tf-idf", "PLSA", "FSTM^c"],
        target="multilabel",
        n_components=4,
        n_splits=2,
    )
    assert results.failures == []
    for model in ("tf-idf", "PLSA", "FSTM^c"):
        assert results.mean("micro_f1", model=model) > 0.8
        assert results.mean("exact_match", model=model) > 0.5
    named = Corpus(
        both,
        corpus.vocabulary,
        labels=[",".join(f"c{j}" for j in np.flatnonzero(row)) for row in Y],
    )
    again = supervised(named, ["tf-idf"], target="multilabel", n_splits=2)
    assert again.values("micro_f1") == results.values("micro_f1", model="tf-idf")


def test_regression_finds_a_planted_response():
    rng = np.random.default_rng(0)
    share = rng.random(120)
    rates = np.where(np.arange(30)[None] < 15, share[:, None], 1 - share[:, None])
    X = rng.poisson(3 * rates)
    results = supervised(
        (X, 10 * share),
        ["PLSA", "tf-idf"],
        target="regression",
        n_components=2,
        n_splits=2,
    )
    assert results.mean("r2", model="PLSA") > 0.8
    assert results.mean("rmse", model="PLSA") < 1.5
    noise = supervised(
        (X, rng.random(120)), ["PLSA"], target="regression", n_components=2, n_splits=2
    )
    assert noise.mean("r2") < 0.3


def test_sensitivity_and_choice(corpus):
    settings = {"n_components": 3, "labels": 2, "n_draws": 1}
    found = sensitivity(few_labels, corpus, "PLSA", "max_iter", [1, 50], **settings)
    assert found.unique("parameter_value") == [1, 50]
    best = choose_options(
        few_labels, corpus, "PLSA", {"max_iter": (1, 50), "svm_c": (1.0,)}, **settings
    )
    scores = {v: found.mean("accuracy", parameter_value=v) for v in (1, 50)}
    assert best == {"max_iter": max(scores, key=scores.get), "svm_c": 1.0}
    with pytest.raises(DataError, match="has no parameter 'lambda'"):
        sensitivity(few_labels, corpus, "DTM", "lambda", [1], **settings)


def test_runtime_measures_time_and_memory(corpus):
    results = runtime(corpus, ["PLSA", "FSTM^c"], n_components=[2, 4])
    assert len(results.values("seconds")) == 4
    assert min(results.values("seconds")) > 0
    assert all(
        row["peak_memory_mb"] is None or row["peak_memory_mb"] >= 0
        for row in results.rows
    )


def test_baselines_follow_the_labels():
    corpus = planted_corpus(n_classes=2, per_class=15)
    y, _ = corpus.encoded_labels()
    visible = np.full(30, -1)
    visible[[0, 1, 15, 16]] = y[[0, 1, 15, 16]]
    X = sparse.csr_matrix(corpus.counts)
    for predict in (spread_labels, naive_bayes_em):
        assert np.mean(predict(X, visible) == y) > 0.9
        # Names of classes swapped, so are the predictions.
        swapped = np.where(visible < 0, -1, 1 - visible)
        assert np.mean(predict(X, swapped) == 1 - y) > 0.9


def test_names_of_the_papers():
    wanted = ["tf-idf", "PCA", "LSI", "NMF", "PLSA", "LDA", "LapPLSI", "LTM", "DTM"]
    wanted += ["OTM", "FSTM", "PLSA^c", "LDA^c", "FSTM^c", "MedLDA"]
    wanted += ["label spreading", "naive Bayes EM", "k-means", "spectral"]
    assert set(wanted) <= set(available_methods())
    assert find_method("LSA").shown == "LSI"


ONE = planted_corpus(n_classes=1)
PART = planted_corpus(per_class=6)
UNKNOWN = Corpus(
    PART.counts, PART.vocabulary, labels=["", *PART.labels[1:]], name="partly"
)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: few_labels(ONE), "all labels of corpus 'planted' are 'class 0'"),
        (lambda: supervised(ONE), "at least 2 classes"),
        (
            lambda: few_labels(PART, labels=(1, 10)),
            r"class 0 \(6\).*small_classes='drop'",
        ),
        (
            lambda: few_labels(PART, labels=10, small_classes="drop"),
            "0 classes are large",
        ),
        (lambda: few_labels(PART, labels=3, documents_per_class=3), "nothing to score"),
        (
            lambda: few_labels(PART, labels=3, documents_per_class=9),
            "documents_per_class",
        ),
        (lambda: few_labels(PART, labels=0), "labels=0"),
        (lambda: few_labels(PART, small_classes="maybe"), "small_classes='maybe'"),
        (lambda: few_labels(PART, labels=1, candidates=[True]), r"shape \(1,\)"),
        (lambda: supervised(UNKNOWN), "1 of 18 documents.*unlabelled='drop'"),
        (lambda: supervised(UNKNOWN, unlabelled="keep"), "'error' or 'drop'"),
        (lambda: supervised(PART, target="ranks"), "target='ranks'"),
        (lambda: supervised(PART, train=np.ones(18)), "some of both"),
        (lambda: supervised(PART, test_size=2), "test_size=2"),
        (lambda: supervised((PART.counts, None)), "has no labels"),
        (lambda: supervised((PART.counts, [1])), "1 labels for 18"),
        (lambda: supervised(PART, train=np.arange(18) < 6), "one class only"),
        (lambda: supervised(PART, test_size=0.01), "no test documents"),
        (
            lambda: supervised(
                (PART.counts, np.eye(18)[:, :2]), ["PLSA"], target="multilabel"
            ),
            r"16 of 18 documents have no label \(first: row 2\)",
        ),
        (
            lambda: supervised(
                (PART.counts, np.full(18, np.nan)),
                ["PLSA"],
                target="regression",
                unlabelled="drop",
            ),
            "no document has a label",
        ),
        (
            lambda: supervised(
                (PART.counts, 2 * np.eye(18)), ["PLSA"], target="multilabel"
            ),
            r"shape \(18, 18\) for 18 documents. Give a matrix of 0 and 1",
        ),
        (
            lambda: supervised(
                (PART.counts, np.ones((18, 2))), ["PLSA"], target="regression"
            ),
            r"responses have shape \(18, 2\)",
        ),
        (
            lambda: supervised(
                (PART.counts, np.ones(18)), ["FSTM^c"], target="regression"
            ),
            "FSTM.c learns from one class",
        ),
        (
            lambda: supervised(
                (PART.counts, ["x"] * 18), ["PLSA"], target="regression"
            ),
            "no numbers",
        ),
        (
            lambda: supervised(
                (PART.counts, np.ones((18, 1))), ["PLSA"], target="multilabel"
            ),
            "one label only",
        ),
        (lambda: clustering(PART, n_clusters=4), "more than the 3 classes"),
        (lambda: clustering(PART, ["FSTM^c"], n_clusters=2), "must not see"),
        (lambda: clustering(PART, ["label spreading"], n_clusters=2), "does not fit"),
        (lambda: few_labels(PART, ["k-means"], labels=1), "does not fit"),
        (lambda: few_labels(PART, ["LDB"], labels=1), "Did you mean lda"),
        (lambda: few_labels(PART, [], labels=1), "no models"),
        (
            lambda: few_labels(PART, ["LDA"], labels=1, options={"PLSA": {}}),
            "not among the models",
        ),
        (lambda: few_labels("corpus.txt"), "Read the file first"),
        (lambda: runtime(UNKNOWN, ["FSTM^c"]), "1 of 18 documents"),
    ],
)
def test_errors(call, message):
    with pytest.raises(DataError, match=message):
        call()


def test_unlabelled_documents_can_be_left_out_or_seen(caplog):
    dropped = supervised(UNKNOWN, ["tf-idf"], n_splits=1, unlabelled="drop")
    assert "1 documents without a label are left out" in caplog.text
    assert len(dropped.rows) == 2
    seen = few_labels(UNKNOWN, ["PLSA"], n_components=3, labels=2, n_draws=1)
    # Seen by the model, not scored: 17 documents with labels, 6 of them known.
    elevenths = seen.mean("accuracy") * 11
    assert elevenths == pytest.approx(round(elevenths))


def test_small_classes_can_give_fewer():
    labels = ["big"] * 12 + ["small"] * 3 + ["one"]
    rng = np.random.default_rng(0)
    corpus = Corpus(rng.poisson(1.0, (16, 6)) + 1, list("abcdef"), labels=labels)
    found = few_labels(corpus, ["tf-idf"], labels=5, n_draws=1, small_classes="fewer")
    # 7 of the large class and 2 of the small one are left.
    ninths = found.mean("accuracy") * 9
    assert ninths == pytest.approx(round(ninths))


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("paper", ["dtm", "lapplsi", "otm", "sdr"])
def test_stored_cells_are_still_read(paper):
    """A file of cells that were run before: whole, and of methods that exist."""
    module = importlib.import_module(f"benchmarks.papers.{paper}")
    stored = common.RESULTS / f"{paper}.jsonl"
    before = packed(stored).read_bytes()
    cells = ResultFile(stored, frozen=True)._cells
    assert packed(stored).read_bytes() == before
    assert len(cells) > 100
    for model in {row["model"] for rows in cells.values() for row in rows}:
        assert find_method(model).shown == model
    assert module.__doc__


def test_options_of_neighbours_keep_the_names_of_stored_cells(corpus, monkeypatch):
    """Another name would be another cell: the tables of figures would be empty."""
    seen, fit = [], LaplacianPLSA.fit

    def watched(self, X, y=None):
        seen.append(self.graph.n_neighbors)
        return fit(self, X, y)

    monkeypatch.setattr(LaplacianPLSA, "fit", watched)
    found = sensitivity(
        clustering, corpus, "LapPLSI", "n_neighbors", [3], n_clusters=2, n_draws=1
    )
    assert found.failures == []
    assert seen == [3]
    cells = ResultFile(common.RESULTS / "lapplsi.jsonl", frozen=True)._cells.values()
    assert found.rows[0]["settings"] in {rows[0]["settings"] for rows in cells}
