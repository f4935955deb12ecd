# SPDX-License-Identifier: BSD-3-Clause
"""Numbers at the edge: a clear refusal, or a right result; never NaN or a crash."""

import numpy as np
import pytest
from scipy import sparse

from topicfold import (
    FSTM,
    LDA,
    LSI,
    PLSA,
    FeatureLDA,
    GibbsLDA,
    LaplacianPLSA,
    MedLDA,
    OrthogonalPLSA,
    RelationalLDA,
    SupervisedLDA,
    TwoPhase,
)
from topicfold.core.counts import LARGEST_COUNT, SMALLEST_COUNT
from topicfold.exceptions import DataError

FEW = {"max_iter": 12, "tol": 0.0, "random_state": 0}
MODELS = {
    "plsa": PLSA(3, **FEW),
    "orthogonal": OrthogonalPLSA(3, **FEW),
    "laplacian": LaplacianPLSA(3, **FEW),
    "cvb0": LDA(3, **FEW),
    "variational": LDA(3, algorithm="variational", **FEW),
    "online": LDA(3, batch_size=8, **FEW),
    "online-variational": LDA(3, algorithm="variational", batch_size=8, **FEW),
    "fstm": FSTM(3, **FEW),
    "medlda": MedLDA(3, **FEW),
}
y = np.arange(20) % 2


def counts():
    rng = np.random.default_rng(0)
    return rng.poisson(1.0, (20, 12)) + np.eye(20, 12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [1e30, 1e-38])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("model", [PLSA(2), GibbsLDA(2), LDA(2)], ids=str)
def test_a_value_out_of_range_is_named(model, container, value, dtype):
    X = counts().astype(dtype)
    X[4, 3] = value
    with pytest.raises(DataError, match=r"row 4, column 3.*1e-30 to 1e\+15.*Scale the"):
        model.fit(container(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [SMALLEST_COUNT * 1.01, LARGEST_COUNT / 100])
@pytest.mark.parametrize("name", MODELS)
def test_values_at_the_ends_of_the_range_give_topics(name, scale, dtype):
    X = (counts() * scale).astype(dtype)
    model = MODELS[name].fit(X, y)
    for rows in (model.components_, model.doc_topics_, model.transform(X)):
        np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-5)
    assert np.isfinite(model.objective_history_).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["plsa", "cvb0", "variational"])
def test_one_huge_count_lowers_the_objective_by_rounding_only(name, dtype):
    X = counts().astype(dtype)
    X[4, 3] = LARGEST_COUNT
    history = np.array(MODELS[name].fit(X).objective_history_)
    n_tokens = float(X.sum(dtype=np.float64))
    # The bound adds four terms of n log n.
    rounding = 4 * np.finfo(dtype).eps * n_tokens * np.log(n_tokens)
    assert (np.diff(history) >= -rounding).all()


@pytest.mark.parametrize("prior", [0.0, 1e300, 1e-300, np.inf, np.nan])
@pytest.mark.parametrize("name", ["doc_topic_prior", "topic_word_prior"])
@pytest.mark.parametrize("model", [LDA, GibbsLDA, MedLDA])
def test_priors_out_of_range_are_refused(model, name, prior):
    with pytest.raises(ValueError, match=f"'{name}' parameter of {model.__name__}"):
        model(2, **{name: prior}).fit(counts(), y)


@pytest.mark.parametrize("wrong", [0.0, 1e300, np.nan])
@pytest.mark.parametrize("model", [LDA, GibbsLDA])
def test_a_prior_out_of_range_among_others_is_refused(model, wrong):
    with pytest.raises(DataError, match=r"doc_topic_prior has .* 1e-30 to 1e\+09"):
        model(2, doc_topic_prior=[1.0, wrong]).fit(counts())


@pytest.mark.parametrize("prior", [1e-30, 1e9])
@pytest.mark.parametrize("name", ["doc_topic_prior", "topic_word_prior"])
@pytest.mark.parametrize("algorithm", ["cvb0", "variational"])
def test_the_smallest_and_the_largest_prior_give_topics(algorithm, name, prior):
    X = counts().astype(np.float32)
    model = LDA(3, algorithm=algorithm, **{name: prior}, **FEW).fit(X)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1, rtol=1e-5)
    assert np.isfinite(model.transform(X)).all()
    assert np.isfinite(model.objective_history_).all()


def test_more_tokens_than_a_sampler_can_keep_are_refused():
    X = counts() * 2.0**40
    with pytest.raises(DataError, match=r"tokens; GibbsLDA keeps a topic for each"):
        GibbsLDA(2).fit(X)
    model = LDA(2, **FEW).fit(counts())
    with pytest.raises(DataError, match=r"keeps a topic for each.*completion"):
        model.left_to_right(X)


@pytest.mark.parametrize(
    "model",
    [PLSA, LDA, GibbsLDA, FSTM, MedLDA, OrthogonalPLSA, LaplacianPLSA, LSI],
)
def test_numbers_of_any_width_are_whole_numbers(model):
    few = {"random_state": 0} if model is LSI else {"max_iter": 2, "random_state": 0}
    X = counts()
    plain = model(3, n_jobs=2, **few).fit(X, y)
    narrow = model(np.uint64(3), n_jobs=np.int8(2), **few).fit(X, y)
    np.testing.assert_array_equal(narrow.components_, plain.components_)
    np.testing.assert_array_equal(narrow.transform(X), plain.transform(X))
    with pytest.raises(ValueError, match=r"'n_components' .* \[1, 1000000\]"):
        model(10**9).fit(X, y)


@pytest.mark.parametrize("init", [np.ones((3, 12)) + 1j, [["a"] * 12] * 3])
def test_a_start_that_is_no_numbers_is_refused(init):
    with pytest.raises(DataError, match="init is not an array of numbers"):
        PLSA(3, init=init, **FEW).fit(counts())


def test_a_start_of_huge_numbers_is_a_start():
    start = np.random.default_rng(0).random((3, 12))
    huge = PLSA(3, init=start / start.max() * 1.7e308, **FEW).fit(counts())
    plain = PLSA(3, init=start, **FEW).fit(counts())
    np.testing.assert_allclose(huge.components_, plain.components_, rtol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        MedLDA(2, cost=1e300),
        MedLDA(2, loss=5e-324),
        FeatureLDA(2, penalty=5e-324),
        RelationalLDA(2, ridge=1e300),
        SupervisedLDA(2, ridge=1e300),
        TwoPhase(PLSA(2), n_rounds=2**31),
        GibbsLDA(2, n_blocks=2**31),
    ],
    ids=str,
)
def test_parameters_that_end_in_no_number_or_no_memory_are_refused(model):
    side = {"features": y[:, None]} if isinstance(model, FeatureLDA) else {}
    if isinstance(model, RelationalLDA):
        side = {"links": np.array([[0, 1], [2, 3]])}
    labels = () if side else (y,)
    with pytest.raises(ValueError, match=f"parameter of {type(model).__name__} must"):
        model.fit(counts(), *labels, **side)


def test_more_neighbors_than_documents_cost_nothing():
    X = counts().astype(int)
    near = TwoPhase(PLSA(2, **FEW), n_neighbors=2**40).fit(X, y)
    all_others = TwoPhase(PLSA(2, **FEW), n_neighbors=20).fit(X, y)
    np.testing.assert_array_equal(near.components_, all_others.components_)
