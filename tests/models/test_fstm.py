# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from scipy import sparse
from tests_support import matched_overlap

from topicfold.exceptions import EmptyDocumentWarning
from topicfold.learn.fstm import FstmLearning, InferenceOptions, updated_topics
from topicfold.models.fstm import FSTM
from topicfold.models.plsa import PLSA


def log_likelihood(X, theta, word_major):
    p = np.maximum(theta @ word_major.T, 1e-30)
    return float((X.toarray() * np.log(p)).sum())


@pytest.mark.parametrize("init", ["random", "documents", "svd"])
@pytest.mark.parametrize("pairwise", [True, False])
def test_finds_planted_topics(planted, init, pairwise):
    # A word of a mixed document counts for all its topics (the paper's update), so
    # planted topics are found with some of the others' words: 0.82 from any start.
    X, _, topics = planted
    model = FSTM(4, init=init, pairwise=pairwise, random_state=1).fit(X)
    assert matched_overlap(model.components_, topics) > 0.8


def test_objective_is_the_log_likelihood_of_the_fitted_parameters(planted):
    X = planted[0].astype(float)
    model = FSTM(4, random_state=0).fit(X)
    exact = log_likelihood(X, model.doc_topics_, model.components_.T)
    assert model.objective_history_[-1] == pytest.approx(exact, rel=1e-9)
    assert len(model.objective_history_) == model.n_iter_ + 1
    assert model.objective_history_[-1] > model.objective_history_[0]


def test_each_half_of_an_iteration_raises_what_it_maximises(planted):
    X = planted[0].astype(float)
    start = PLSA(5, max_iter=1, random_state=0).fit(X).components_
    learning = FstmLearning(X, start, InferenceOptions())
    learning.start()
    dense = X.toarray()

    def bound(theta, word_major):
        return float((dense.T @ theta * np.log(word_major + 1e-12)).sum())

    for _ in range(8):
        theta, old = learning.theta.toarray(), learning.word_major
        after = learning.iterate()
        new = learning.word_major
        assert bound(theta, new) >= bound(theta, old) - 1e-6
        before = log_likelihood(X, theta, new)
        assert after >= before - 1e-4 * abs(before)


def test_topics_are_the_normalised_products_of_documents_and_mixtures(planted):
    X, theta, _ = planted
    found = updated_topics(X.astype(float), theta, np.zeros((120, 4)))
    by_hand = X.toarray().T @ theta
    np.testing.assert_allclose(found, by_hand / by_hand.sum(axis=0), rtol=1e-12)


def test_a_topic_without_documents_stays():
    X = sparse.csr_matrix([[2.0, 1.0, 0.0]])
    old = np.array([[0.2, 0.1], [0.3, 0.2], [0.5, 0.7]])
    found = updated_topics(X, np.array([[1.0, 0.0]]), old)
    np.testing.assert_allclose(found[:, 0], [2 / 3, 1 / 3, 0])
    np.testing.assert_array_equal(found[:, 1], old[:, 1])


def test_mixtures_are_as_likely_as_folded_in_ones_and_sparse(planted):
    X = planted[0].astype(float)
    model = FSTM(8, max_iter=10, random_state=0).fit(X)
    folded = PLSA(8, init=model.components_, doc_tol=1e-9)
    folded.max_doc_updates = 5000
    folded.fit(X)
    folded.components_ = model.components_
    best = log_likelihood(X, folded.transform(X), model.components_.T)
    ours = log_likelihood(X, model.transform(X), model.components_.T)
    assert ours >= best - 1e-4 * abs(best)
    assert (model.doc_topics_ > 0).sum(axis=1).mean() < 5
    np.testing.assert_allclose(model.doc_topics_.sum(axis=1), 1, atol=1e-9)


def test_transform_gives_the_training_mixtures_in_any_batch(planted):
    X = planted[0]
    model = FSTM(4, max_iter=6, random_state=0).fit(X)
    np.testing.assert_array_equal(model.transform(X), model.doc_topics_)
    np.testing.assert_array_equal(model.transform(X[13:50]), model.doc_topics_[13:50])
    thin = model.sparse_transform(X)
    assert isinstance(thin, sparse.csr_array)
    np.testing.assert_array_equal(thin.toarray(), model.doc_topics_)


def test_empty_documents_get_uniform_mixtures_and_one_warning(ragged):
    model = FSTM(4, max_iter=5, random_state=0)
    with pytest.warns(EmptyDocumentWarning) as caught:
        model.fit(ragged)
    assert len(caught) == 1
    np.testing.assert_allclose(model.doc_topics_[0], 0.25)
    assert np.isfinite(model.components_).all()


def test_learns_planted_topics_from_a_stream(planted):
    X, _, topics = planted
    model = FSTM(4, random_state=1, learning_offset=1.0)
    for _ in range(12):
        for first in range(0, 300, 60):
            model.partial_fit(X[first : first + 60])
    assert matched_overlap(model.components_, topics) > 0.8
    assert not hasattr(model, "doc_topics_")


def test_held_out_perplexity_is_close_to_plsa_and_better_than_one_topic(planted):
    X = planted[0]
    ours = FSTM(4, random_state=0).fit(X[:200]).perplexity(X[200:])
    plsa = PLSA(4, random_state=0).fit(X[:200]).perplexity(X[200:])
    one = FSTM(1, random_state=0).fit(X[:200]).perplexity(X[200:])
    assert ours < 1.15 * plsa < one


def test_takes_real_weights(planted):
    X = planted[0].astype(float)
    X.data *= 0.37
    model = FSTM(4, random_state=1).fit(X)
    assert matched_overlap(model.components_, planted[2]) > 0.8
