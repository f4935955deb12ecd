# SPDX-License-Identifier: BSD-3-Clause
"""Weights of documents: what they mean, and where they are refused."""

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from topicfold import FSTM, LDA, PLSA, OrthogonalPLSA, registry
from topicfold.exceptions import DataError
from topicfold.models.base import LearnedModel

K, V, D = 9, 90, 240
TAKING = {"LDA", "PLSA", "OrthogonalPLSA", "FSTM"}


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(5)
    topics = rng.dirichlet(np.full(V, 0.05), K)
    mixtures = rng.dirichlet(np.full(K, 0.2), D)
    return np.array([rng.multinomial(60, row @ topics) for row in mixtures])


@pytest.fixture(scope="module")
def start(corpus):
    return np.random.default_rng(7).dirichlet(np.full(V, 1.0), K)


@pytest.mark.parametrize("model", [PLSA, OrthogonalPLSA])
def test_a_weight_of_two_is_the_document_twice(model, corpus, start):
    weights = np.where(np.arange(D) % 3 == 0, 2, 1)
    options = {"init": start, "max_iter": 40, "tol": 0.0}
    weighted = model(K, **options).fit(corpus.astype(np.float64), sample_weight=weights)
    twice = model(K, **options).fit(np.repeat(corpus, weights, 0).astype(np.float64))
    np.testing.assert_allclose(weighted.components_, twice.components_, atol=1e-6)
    assert weighted.objective_history_[-1] == pytest.approx(
        twice.objective_history_[-1], rel=1e-8
    )


@pytest.mark.parametrize("model", [PLSA, LDA, FSTM])
def test_a_weight_of_zero_leaves_a_document_out_of_the_topics(model, corpus, start):
    rng = np.random.default_rng(1)
    other = np.vstack([corpus, rng.permuted(corpus[:80], axis=1)]).astype(np.float64)
    weights = np.r_[np.ones(D), np.zeros(80)]
    options = {"init": start, "max_iter": 30, "random_state": 0}
    if model is LDA:
        options |= {"learn_priors": False}
    weighted = model(K, **options).fit(other, sample_weight=weights)
    without = model(K, **options).fit(corpus.astype(np.float64))
    difference = np.abs(weighted.components_ - without.components_).sum(axis=1)
    assert difference.max() < 0.02
    # The documents themselves have mixtures of their own, and their true lengths.
    assert weighted.doc_topics_[-80:].max(axis=1).min() > 1.5 / K
    np.testing.assert_array_equal(weighted.doc_lengths_, other.sum(axis=1))


def test_equal_weights_of_one_change_nothing_but_how_mixtures_are_read(corpus):
    plain = PLSA(K, random_state=0).fit(corpus)
    weighted = PLSA(K, random_state=0)
    theta = weighted.fit_transform(corpus, sample_weight=np.ones(D))
    np.testing.assert_array_equal(plain.components_, weighted.components_)
    np.testing.assert_array_equal(theta, plain.transform(corpus))


@pytest.mark.filterwarnings("ignore::topicfold.exceptions.DataWarning")
@pytest.mark.parametrize("entry", registry.models(), ids=lambda e: e.name)
def test_every_other_model_says_that_it_takes_none(entry, corpus):
    cls = entry.load()
    if not issubclass(cls, LearnedModel):
        return
    if cls.__name__ in TAKING:
        assert cls._weighs_documents
        return
    assert not cls._weighs_documents
    model = cls(K)
    with pytest.raises((DataError, TypeError), match="sample_weight"):
        model.fit(corpus, np.arange(D) % 3, sample_weight=np.ones(D))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (np.ones(3), "shape"),
        ([1.0] * (D - 1) + [-1.0], "negative"),
        ([1.0] * (D - 1) + [np.nan], "missing"),
        (np.zeros(D), "only zeros"),
        (["much"] * D, "not a number"),
    ],
)
def test_wrong_weights_are_refused_in_a_sentence(given, said, corpus):
    with pytest.raises(DataError, match=said):
        PLSA(K).fit(corpus, sample_weight=given)


def test_weights_reach_a_model_in_a_pipeline(corpus, start):
    weights = np.linspace(0.1, 3, D)
    alone = LDA(K, init=start, max_iter=5).fit(corpus, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        model = LDA(K, init=start, max_iter=5).set_fit_request(sample_weight=True)
        pipe = make_pipeline(FunctionTransformer(accept_sparse=True), model)
        pipe.fit(corpus, sample_weight=weights)
    np.testing.assert_array_equal(pipe[-1].components_, alone.components_)
