# SPDX-License-Identifier: BSD-3-Clause
"""What every estimator promises, for every float type, container, engine and thread.

The estimators are those of the registry, so that a model that is registered is held
to the contract without a line here; `VARIANTS` adds options that change the way of
learning or inference.
"""

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import topicfold
from topicfold import (
    FSTM,
    LDA,
    LSI,
    PLSA,
    BurstyLDA,
    CorrelatedLDA,
    DiscriminativePLSA,
    DynamicLDA,
    GibbsLDA,
    HierarchicalDirichletLDA,
    LabeledLDA,
    LaplacianPLSA,
    LocallyConsistentPLSA,
    MedLDA,
    NeighborGraph,
    SupervisedLDA,
    TopicClassifier,
    TopicTree,
    TwoPhase,
)
from topicfold.corpus.blocks import BlockMatrix
from topicfold.exceptions import DataError
from topicfold.models.base import TopicModel
from topicfold.models.manifold import GraphPLSA
from topicfold.models.side_by_side import SideBySide
from topicfold.phi import DirichletPhi
from topicfold.registry import models

# The calls of the contract give no authors, features, links or second matrix.
pytestmark = pytest.mark.filterwarnings("ignore:.*was fitted without:UserWarning")

FEW = {"max_iter": 5, "tol": 0.0, "random_state": 0}
DTYPES = [np.float32, np.float64]
THREADS = (2, 3, 7)


def _tiny(cls, n_components=3, **options):
    accepted = inspect.signature(cls).parameters
    few = FEW if issubclass(cls, TopicModel) else {"random_state": 0}
    usual = {name: value for name, value in few.items() if name in accepted}
    return cls(n_components, **usual | options)


def _registered(entry):
    base = entry.load_base()
    return _tiny(entry.load()) if base is None else entry.load()(_tiny(base))


VARIANTS = {
    "lda-variational": _tiny(LDA, algorithm="variational"),
    "lda-online": _tiny(LDA, batch_size=8),
    "lda-online-variational": _tiny(LDA, batch_size=8, algorithm="variational"),
    "plsa-map": _tiny(PLSA, phi_step=DirichletPhi(1.2)),
    "laplacian-near": _tiny(LaplacianPLSA, transform_neighbors=True),
    "local-near": _tiny(LocallyConsistentPLSA, transform_neighbors=True),
    "discriminative-near": _tiny(DiscriminativePLSA, transform_neighbors=True),
    "slda-classes": _tiny(SupervisedLDA, kind="classes", weight=9.0),
    "medlda-counts": _tiny(MedLDA, word_weights=None),
    "fstm-c-near": TwoPhase(
        _tiny(FSTM), word_weights="classes", neighbor_weight=0.5, promotion=1.0
    ),
    "graph-c": TwoPhase(_tiny(LaplacianPLSA)),
    "lsi-counts": LSI(2, weighting="counts", keep_documents=True),
    "classifier": TopicClassifier(
        TwoPhase(_tiny(FSTM), n_rounds=1, word_weights=None, regression_weight=0.0)
    ),
    "classifier-plsa": TopicClassifier(_tiny(PLSA)),
    "classifier-few": TopicClassifier(
        SideBySide(_tiny(LocallyConsistentPLSA, transform_neighbors=True), 2)
    ),
}
CASES = {entry.name: _registered(entry) for entry in models()} | VARIANTS
TOPICS = {n: m for n, m in CASES.items() if isinstance(m, TopicModel)}
every_estimator = pytest.mark.parametrize("name", CASES)
every_topic_model = pytest.mark.parametrize("name", TOPICS)

# Objectives that never fall: not a chain's, a stream's, a margin's that swings, one
# with evidence, nor FSTM's, which rises without a theorem, nor one whose documents'
# covariances are taken anew every few passes (tests/models/test_correlated.py).
SWINGS = GibbsLDA | TopicTree | MedLDA | SupervisedLDA | TwoPhase | FSTM | CorrelatedLDA
SWINGS |= DynamicLDA  # as CVB0: it does not maximise what it reports


def _swings(model):
    """Whether nothing promises that the objective of a fit never falls."""
    online = getattr(model, "batch_size", None) is not None
    plain = getattr(model, "phi_step", None) is None
    collapsed = getattr(model, "algorithm", "") == "cvb0" and plain
    return isinstance(model, SWINGS) or online or collapsed


MONOTONE = [name for name, model in TOPICS.items() if not _swings(model)]
BLOCKS = [
    name
    for name, model in TOPICS.items()
    if model._takes_blocks and not isinstance(model, GraphPLSA | TwoPhase)
]


@pytest.fixture(scope="module")
def corpus():
    """Counts of 30 documents in 2 classes over 24 words, all documents different."""
    rng = np.random.default_rng(5)
    y = np.arange(30) % 2
    favourite = np.arange(24) % 2 == y[:, None]
    X = rng.poisson(np.where(favourite, 2.0, 0.3)) + np.eye(30, 24, dtype=int)
    return sparse.csr_matrix(X.astype(np.float64)), y


@pytest.fixture(scope="module")
def blocks(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("contract")
    return BlockMatrix.write(folder / "blocks", corpus[0], block_size=8)


def fitted(name, X, y, **options):
    model = clone(CASES[name])
    for key, value in options.items():
        inner = ("", "base__", "model__", "model__base__", "model__model__")
        for where in (prefix + key for prefix in inner):
            if where in model.get_params():
                model.set_params(**{where: value})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.RankWarning)
        return model.fit(X, y)


def outputs(model, X):
    """Everything that must be the same bits: what was learned and what is inferred."""
    found = [model.components_, np.array(getattr(model, "objective_history_", []))]
    found += [model.doc_topics_] if hasattr(model, "doc_topics_") else []
    if is_classifier(model) and len(model.classes_):
        scores = getattr(model, "decision_function", None) or model.predict_proba
        found.append(scores(X))
    found += [model.transform(X)] if hasattr(model, "transform") else []
    return found


def same_bits(one, other):
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_every_public_estimator_has_a_case():
    public = {getattr(topicfold, name) for name in topicfold.__all__}
    estimators = {cls for cls in public if hasattr(cls, "fit")}
    estimators.remove(topicfold.Topics)  # takes texts: tests/topics
    assert estimators == {type(model) for model in CASES.values()}
    assert len(estimators) >= 12


class Whole:
    """Asks scikit-learn's checks for whole numbers, which samplers need.

    There is no tag for counts; input tagged as categories is rounded by the checks.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


class WholeGibbsLDA(Whole, GibbsLDA): ...


class WholeHierarchicalDirichletLDA(Whole, HierarchicalDirichletLDA): ...


class WholeTopicTree(Whole, TopicTree): ...


def _checked(model):
    for cls in (WholeHierarchicalDirichletLDA, WholeTopicTree, WholeGibbsLDA):
        if isinstance(model, cls.__mro__[2]):
            return cls(3 if cls is WholeTopicTree else 2, max_iter=20, random_state=0)
    model = clone(model)  # two topics: the checks' matrices have two columns
    for name in model.get_params():
        if name.endswith("n_components"):
            model.set_params(**{name: 2})
        if name == "unknown_label":  # one check takes -1 as a class
            model.set_params(unknown_label="?")
    return model


CHECKED = [
    _checked(model)
    for name, model in CASES.items()
    if not name.endswith(("-near", "-c")) or name == "fstm-c"
]
TRANSDUCTIVE = (
    "fit_transform returns the training mixtures, which know the documents' "
    "neighbours; transform of the same words alone cannot"
)
ONE_WORD = (
    "one column of their random numbers tells of the class at most: no document has a "
    "second telling word, which perplexity could score"
)
OLD_CHECKS = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 8)


def expected_failed_checks(estimator):
    if isinstance(estimator, Whole) and OLD_CHECKS:
        return {"check_positive_only_tag_during_fit": "has other than whole numbers"}
    if isinstance(estimator, GraphPLSA):
        names = ("check_transformer_general", "check_transformer_data_not_an_array")
        return dict.fromkeys(names, TRANSDUCTIVE)
    if isinstance(estimator, TopicClassifier):
        return {"check_decision_proba_consistency": "its data are negative"}
    if isinstance(estimator, SupervisedLDA | LabeledLDA):
        return {"check_classifiers_classes": "it has -1 as a class, here unknown"}
    if isinstance(estimator, TwoPhase):
        names = ("check_fit_score_takes_y", "check_pipeline_consistency")
        return dict.fromkeys(names, ONE_WORD)
    return {}


@pytest.mark.filterwarnings("ignore::topicfold.exceptions.EmptyDocumentWarning")
@pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")
@pytest.mark.filterwarnings("ignore:SupervisedLDA found no topics that predict")
@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failed_checks)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        # The checks themselves use deprecated or noisy calls of their own.
        warnings.filterwarnings("ignore", module="sklearn")
        check(estimator)


@every_topic_model
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_on_the_simplex_in_the_type_of_the_input(name, dtype, corpus):
    X, y = corpus[0].astype(dtype), corpus[1]
    model = fitted(name, X, y)
    for rows in (model.components_, model.doc_topics_, model.transform(X)):
        assert rows.dtype == dtype
        assert (rows >= 0).all()
        np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize("name", MONOTONE)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_objective_never_falls(name, dtype, corpus):
    options = {"max_iter": 25, "learn_priors": False}
    model = fitted(name, corpus[0].astype(dtype), corpus[1], **options)
    history = np.array(model.objective_history_)
    slack = 1e-10 if dtype is np.float64 else 2e-6
    assert (np.diff(history) >= -slack * np.abs(history[:-1])).all()
    assert history[-1] > history[0]


@every_estimator
@pytest.mark.parametrize("dtype", DTYPES)
def test_containers_make_no_difference(name, dtype, corpus):
    X, y = corpus[0].astype(dtype), corpus[1]
    expected = outputs(fitted(name, X, y), X)
    words = [f"word{w}" for w in range(X.shape[1])]
    for other in (sparse.csr_array(X), X.toarray(), X.tocsc()):
        same_bits(outputs(fitted(name, other, y), other), expected)
    frame = pd.DataFrame(X.toarray(), columns=words)
    model = fitted(name, frame, y)
    assert model.feature_names_in_.tolist() == words
    same_bits(outputs(model, frame), expected)
    same_bits(outputs(model, X), expected)  # a sparse matrix has no names: no warning


@every_estimator
def test_threads_make_no_difference(name, corpus):
    X, y = corpus
    expected = outputs(fitted(name, X, y, n_jobs=1), X)
    for threads in THREADS:
        same_bits(outputs(fitted(name, X, y, n_jobs=threads), X), expected)


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_give_what_one_matrix_gives(name, corpus, blocks):
    X, y = corpus
    # Frank-Wolfe that stops at a tolerance turns the last bits of a sum into more.
    exact = {"doc_tol": 0.0} if isinstance(CASES[name], FSTM) else {}
    model = fitted(name, blocks, y, **exact)
    found, expected = outputs(model, blocks), outputs(fitted(name, X, y, **exact), X)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        if getattr(model, "batch_size", None) is None:  # batches are drawn from blocks
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)
    for threads in THREADS:
        again = fitted(name, blocks, y, n_jobs=threads, **exact)
        same_bits(outputs(again, blocks), found)
    np.testing.assert_allclose(model.transform(X), found[-1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", sorted(CASES.keys() - set(BLOCKS)))
def test_blocks_are_refused_where_all_documents_are_needed(name, corpus, blocks):
    with pytest.raises(DataError, match="needs all documents in one place"):
        fitted(name, blocks, corpus[1])


@every_estimator
def test_documents_are_inferred_alone_as_in_any_batch(name, corpus):
    X, y = corpus
    model = fitted(name, X, y)
    infer = model.transform if hasattr(model, "transform") else model.predict
    whole = infer(X)
    order = np.random.default_rng(0).permutation(len(y))
    np.testing.assert_array_equal(infer(X[order]), whole[order])
    np.testing.assert_array_equal(infer(X[7:19]), whole[7:19])
    for row in (0, 13, 29):
        np.testing.assert_array_equal(infer(X[[row]]), whole[[row]])


# Not a stream, which has an order, nor a margin, solved by sweeps over documents.
@pytest.mark.parametrize(
    "name",
    [
        name
        for name, model in TOPICS.items()
        if hasattr(model, "init")
        # A chain of draws, and weights that are chosen by documents drawn to be hidden.
        and not isinstance(model, MedLDA | GibbsLDA | SupervisedLDA | BurstyLDA)
        and getattr(model, "batch_size", None) is None
    ],
)
def test_the_order_of_documents_does_not_matter_in_a_fit(name, corpus):
    X, y = corpus
    size = 5 if name == "labeled" else 3  # its labels have topics of their own
    init = np.random.default_rng(1).dirichlet(np.ones(X.shape[1]), size=size)
    order = np.random.default_rng(2).permutation(len(y))
    one = fitted(name, X, y, init=init)
    other = fitted(name, X[order], y[order], init=init)
    # Inference that stops at a tolerance turns the last bits of a sum into more.
    atol = 1e-3 if isinstance(one, FSTM) else 1e-8
    np.testing.assert_allclose(other.components_, one.components_, atol=atol)
    np.testing.assert_allclose(other.doc_topics_, one.doc_topics_[order], atol=atol)


@pytest.mark.filterwarnings("ignore:.*-1:topicfold.exceptions.DataWarning")
@every_estimator
def test_labels(name, corpus):
    X, y = corpus
    takes = {entry.name: entry.labels for entry in models()}
    model = CASES[name]
    if isinstance(model, MedLDA | TwoPhase | TopicClassifier | SupervisedLDA):
        numbers = getattr(model, "kind", "classes") != "classes"
        some = np.where(np.arange(len(y)) % 3, y, np.nan if numbers else -1)
        found = fitted(name, X, some)
        assert numbers or found.classes_.tolist() == [0, 1]
        with pytest.raises(ValueError, match="requires y"):
            fitted(name, X, None)
    elif isinstance(model, LabeledLDA):
        some = np.where(np.arange(len(y)) % 3, y, -1)
        assert fitted(name, X, some).classes_.tolist() == [0, 1]
        unknown = fitted(name, X, np.full(len(y), -1))
        same_bits(outputs(unknown, X), outputs(fitted(name, X, None), X))
    elif isinstance(model, GraphPLSA):
        joined = {"graph": NeighborGraph(label_edges=True)}
        unknown = fitted(name, X, np.full(len(y), -1), **joined)
        same_bits(outputs(unknown, X), outputs(fitted(name, X, None), X))
        # They tell how far the graph can be trusted, and nothing else.
        strength = {model._adapted: getattr(unknown, f"{model._adapted}_")}
        same_bits(outputs(unknown, X), outputs(fitted(name, X, y, **strength), X))
        some = fitted(name, X, np.where(np.arange(len(y)) % 3, y, -1), **joined)
        assert (some.graph_ != unknown.graph_).nnz > 0
    else:
        assert not takes.get(name)
        same_bits(outputs(fitted(name, X, y), X), outputs(fitted(name, X, None), X))


@every_estimator
def test_a_clone_is_unfitted_and_learns_the_same(name, corpus):
    X, y = corpus
    model = fitted(name, X, y)
    copied = clone(model)
    assert repr(copied) == repr(model)
    with pytest.raises((NotFittedError, AttributeError)):
        outputs(copied, X)
    same_bits(outputs(copied.fit(X, y), X), outputs(model, X))


@every_topic_model
def test_a_fit_forgets_the_one_before(name, corpus):
    X, y = corpus
    model = fitted(name, pd.DataFrame(X.toarray()).add_prefix("w"), y)
    model.topic_names_, model.edits_ = ["a", "b", "c"], [{"kind": "rename"}]
    model.leftover_ = 1
    model.fit(X[:, :20], y)
    for gone in ("edits_", "leftover_", "feature_names_in_"):
        assert not hasattr(model, gone)
    assert getattr(model, "topic_names_", None) != ["a", "b", "c"]
    assert set(vars(model)) == set(vars(fitted(name, X[:, :20], y)))


@every_estimator
@pytest.mark.parametrize("where", ["model", "model.safetensors"])
def test_a_loaded_model_is_the_saved_one(name, where, corpus, tmp_path):
    X, y = corpus
    model = fitted(name, X, y)
    model.save(tmp_path / where)
    loaded = topicfold.load(tmp_path / where)
    assert type(loaded) is type(model)
    same_bits(outputs(loaded, X), outputs(model, X))
    assert repr(loaded) == repr(model)
    if hasattr(model, "perplexity"):
        assert loaded.perplexity(X) == model.perplexity(X)
    if hasattr(model, "partial_fit"):
        one, other = loaded.partial_fit(X[:9]), model.partial_fit(X[:9])
        np.testing.assert_array_equal(one.components_, other.components_)


@pytest.mark.parametrize(
    "name", [n for n, m in CASES.items() if hasattr(m, "transform")]
)
def test_output_has_names(name, corpus):
    X, y = corpus
    model = fitted(name, X, y)
    out = model.set_output(transform="pandas").transform(X)
    assert isinstance(out, pd.DataFrame)
    assert out.columns.tolist() == model.get_feature_names_out().tolist()
    kind = type(model).__name__.lower()
    first = getattr(model, "topic_names_", [""])[0]  # labels are names
    assert out.columns[0] == (first or f"{kind}0")
    assert len(out.columns) == len(model.components_)


@pytest.mark.parametrize("name", ["plsa", "lda"])
def test_grid_search_by_held_out_likelihood(name, planted):
    model = clone(CASES[name]).set_params(max_iter=20)
    search = GridSearchCV(model, {"n_components": [1, 4]}, cv=3)
    assert search.fit(planted[0]).best_params_ == {"n_components": 4}
