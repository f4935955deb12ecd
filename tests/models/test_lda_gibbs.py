# SPDX-License-Identifier: BSD-3-Clause
"""GibbsLDA as an estimator."""

import os
import signal

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from tests_support import matched_overlap

from topicfold import LDA, GibbsLDA, TwoPhase
from topicfold.exceptions import (
    DataError,
    EmptyDocumentWarning,
    FitInterruptedWarning,
)
from topicfold.learn import Callback


@pytest.fixture(scope="module")
def fitted(planted):
    return GibbsLDA(4, max_iter=100, random_state=0).fit(planted[0])


def test_finds_planted_topics(planted, fitted):
    assert matched_overlap(fitted.components_, planted[2]) > 0.9
    np.testing.assert_allclose(fitted.components_.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(fitted.doc_topics_.sum(axis=1), 1, rtol=1e-5)
    assert fitted.n_iter_ == 100
    assert fitted.n_samples_ == 5
    assert fitted.prior_updates_ == list(range(5, 76, 5))


def test_history_is_a_chain_that_rises_first(fitted):
    history = np.array(fitted.objective_history_)
    assert len(history) == 101
    late = history[50:]
    assert late.min() > history[0]
    assert (np.diff(late) < 0).any()


def test_totals_are_those_of_the_counts(planted, fitted):
    V = planted[0].shape[1]
    tokens = fitted.topic_totals_ - V * fitted.topic_word_prior_
    assert tokens.sum() == pytest.approx(planted[0].sum(), rel=1e-6)


def test_reaches_the_perplexity_of_the_other_algorithms(planted):
    X = planted[0]
    gibbs = GibbsLDA(4, max_iter=100, random_state=0).fit(X[:220])
    others = [
        LDA(4, algorithm=algorithm, random_state=0).fit(X[:220])
        for algorithm in ("cvb0", "variational")
    ]
    values = [model.perplexity(X[220:]) for model in (gibbs, *others)]
    assert max(values) < 1.05 * min(values)


def test_left_to_right_agrees_with_the_other_algorithms(planted):
    X = planted[0]
    values = [
        model.fit(X[:220]).left_to_right(X[220:240], n_particles=10).mean()
        for model in (GibbsLDA(4, random_state=0), LDA(4, random_state=0))
    ]
    assert values[0] == pytest.approx(values[1], rel=0.02)


def test_transform_agrees_with_training_mixtures(planted, fitted):
    differences = np.abs(fitted.transform(planted[0]) - fitted.doc_topics_)
    assert differences.max() < 0.1
    assert differences.mean() < 0.01


@pytest.mark.parametrize("n_blocks", [1, 8])
def test_same_bits_for_any_number_of_threads(planted, n_blocks):
    options = {"max_iter": 12, "n_blocks": n_blocks, "random_state": 0}
    one = GibbsLDA(4, **options).fit(planted[0])
    three = GibbsLDA(4, n_jobs=3, **options).fit(planted[0])
    np.testing.assert_array_equal(one.components_, three.components_)
    np.testing.assert_array_equal(one.doc_topics_, three.doc_topics_)
    assert one.objective_history_ == three.objective_history_
    np.testing.assert_array_equal(
        one.transform(planted[0]), three.transform(planted[0])
    )
    other = clone(one).set_params(random_state=1).fit(planted[0])
    assert (other.components_ != one.components_).any()


def test_learned_alpha_follows_the_size_of_topics(planted):
    rare = planted[1].argmax(axis=1) == 2
    X = planted[0][~rare | (np.arange(300) % 8 == 0)]
    model = GibbsLDA(4, max_iter=60, random_state=0).fit(X)
    sizes = model.doc_topics_.sum(axis=0)
    assert np.argmin(model.doc_topic_prior_) == np.argmin(sizes)
    fixed = GibbsLDA(4, learn_priors=False, max_iter=5, random_state=0).fit(X)
    np.testing.assert_array_equal(fixed.doc_topic_prior_, np.full(4, 0.1))
    assert fixed.topic_word_prior_ == 0.01
    assert fixed.prior_updates_ == []


def test_empty_documents_get_uniform_mixtures(ragged):
    model = GibbsLDA(4, max_iter=20, random_state=0)
    with pytest.warns(EmptyDocumentWarning, match="3 of 40"):
        model.fit(ragged)
    np.testing.assert_allclose(model.doc_topics_[0], 0.25)
    with pytest.warns(EmptyDocumentWarning, match="3 of 40"):
        np.testing.assert_allclose(model.transform(ragged)[17], 0.25)
    assert model.components_.min() > 0


def test_topic_data(fitted):
    data = fitted.topic_data()
    assert data.settings["model"] == "GibbsLDA"
    assert data.doc_topics.shape == (300, 4)
    assert data.history == tuple(fitted.objective_history_)


class StopAfter(Callback):
    def __init__(self, n, act=None):
        self.n, self.act = n, act
        self.topics = []

    def on_iteration(self, state):
        self.topics.append(state.topics())
        if state.iteration == self.n and self.act is not None:
            self.act()
            return False
        return state.iteration == self.n


def test_callback_ends_the_fit_in_the_burn_in(planted):
    stop = StopAfter(3)
    model = GibbsLDA(3, callbacks=[stop], random_state=0).fit(planted[0])
    assert model.n_iter_ == 3
    assert model.n_samples_ == 0
    np.testing.assert_array_equal(model.components_, stop.topics[-1])


def test_interrupt_keeps_the_samples_so_far(planted):
    stop = StopAfter(8, lambda: os.kill(os.getpid(), signal.SIGINT))
    model = GibbsLDA(
        3, max_iter=50, burn_in=5, sample_every=1, callbacks=[stop], random_state=0
    )
    with pytest.warns(FitInterruptedWarning, match="after 8 of 50"):
        model.fit(planted[0])
    assert model.n_samples_ == 3


def test_bad_parameters_and_data(planted):
    X = planted[0]
    with pytest.raises(DataError, match="burn_in=7 leaves no sweep"):
        GibbsLDA(2, max_iter=7, burn_in=7).fit(X)
    with pytest.raises(DataError, match=r"shape \(3,\)"):
        GibbsLDA(2, doc_topic_prior=[1, 2, 3]).fit(X)
    with pytest.raises(DataError, match="not a whole number"):
        GibbsLDA(2).fit(X * 0.5)
    with pytest.raises(ValueError, match="'n_blocks' parameter of GibbsLDA"):
        GibbsLDA(2, n_blocks=0).fit(X)
    model = GibbsLDA(2, max_iter=2, random_state=0).fit(X)
    for method in (model.transform, model.perplexity, model.left_to_right):
        with pytest.raises(DataError, match="not a whole number"):
            method(X * 0.5)


def test_one_topic_one_word_and_a_large_count():
    one = GibbsLDA(1, max_iter=4, random_state=0).fit(np.array([[3], [2]]))
    np.testing.assert_array_equal(one.components_, [[1]])
    assert one.n_iter_ == 4
    X = sparse.csr_matrix(np.array([[50_000, 0, 1], [0, 40_000, 1]]))
    model = GibbsLDA(2, max_iter=10, random_state=0, learn_priors=False).fit(X)
    tokens = model.topic_totals_.sum() - 2 * 3 * 0.01
    assert tokens == pytest.approx(90_002)


def test_two_phase_takes_it_as_a_base(planted):
    labels = planted[1].argmax(axis=1)
    base = GibbsLDA(4, max_iter=20, random_state=0)
    model = TwoPhase(base).fit(planted[0], labels)
    theta = model.transform(planted[0])
    np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("init", ["lda", "given"])
def test_a_chain_starts_from_topics(planted, init):
    X, _, topics = planted
    start = topics if init == "given" else init
    fits = [
        GibbsLDA(4, init=start, max_iter=4, burn_in=0, random_state=0, n_jobs=n).fit(X)
        for n in (1, 3)
    ]
    np.testing.assert_array_equal(fits[0].doc_topics_, fits[1].doc_topics_)
    random = GibbsLDA(4, max_iter=4, burn_in=0, random_state=0).fit(X)
    assert fits[0].objective_history_[0] > random.objective_history_[-1]
    assert matched_overlap(fits[0].components_, topics) > 0.9
    if init == "given":  # topic by topic, not only in some order
        overlap = np.minimum(fits[0].components_, topics).sum(axis=1)
        assert (overlap > 0.9).all()


def test_words_that_no_starting_topic_has(planted):
    topics = np.array(planted[2])
    topics[:, :30] = 0
    model = GibbsLDA(4, init=topics, max_iter=30, random_state=0).fit(planted[0])
    assert matched_overlap(model.components_, planted[2]) > 0.85


@pytest.mark.parametrize("init", [np.ones((4, 3)), "svd", -np.ones((4, 120))])
def test_a_start_that_is_none_is_refused(planted, init):
    with pytest.raises(ValueError, match="init"):
        GibbsLDA(4, init=init).fit(planted[0])
