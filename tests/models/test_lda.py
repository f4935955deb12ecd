# SPDX-License-Identifier: BSD-3-Clause
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.special import psi
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import TfidfTransformer
from tests_support import draw_corpus, matched_overlap

from topicfold import LDA, GibbsLDA
from topicfold.corpus import load_docs
from topicfold.engine.cpu import CpuEngine
from topicfold.evidence import Features
from topicfold.exceptions import DataError, EmptyDocumentWarning, UnsettledWarning
from topicfold.learn import initial
from topicfold.learn.initial import initial_topics
from topicfold.learn.learner import Cvb0, Learner, Variational
from topicfold.models.lda import default_topic_word_prior, frequent_words
from topicfold.phi import DirichletPhi, OrthogonalPhi

ALGORITHMS = ["cvb0", "variational"]


@pytest.mark.parametrize(
    "options", [{"algorithm": "variational"}, {"phi_step": DirichletPhi(1.0)}]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_objective_never_falls_with_fixed_priors(planted, options, dtype):
    X = planted[0].astype(dtype)
    model = LDA(
        5,
        **options,
        learn_priors=False,
        max_iter=60,
        tol=0,
        random_state=0,
    ).fit(X)
    history = np.array(model.objective_history_)
    slack = (1e-6 if dtype is np.float32 else 1e-12) * abs(history[0])
    assert len(history) == 61
    assert (np.diff(history) >= -slack).all()


def test_bound_never_falls_while_priors_are_learned(planted):
    X = planted[0].astype(float)
    options = {"algorithm": "variational", "learn_priors": True}
    model = LDA(5, **options, max_iter=80, tol=0, random_state=0).fit(X)
    assert (np.diff(model.objective_history_) >= -1e-9 * 1e5).all()
    assert model.prior_updates_ == list(range(5, 81, 5))
    assert model.doc_topic_prior_.std() > 0


def test_posterior_rises_between_updates_of_the_priors(planted):
    X = planted[0].astype(float)
    options = {"phi_step": DirichletPhi(1.0), "learn_priors": True}
    model = LDA(5, **options, max_iter=60, tol=0, random_state=0).fit(X)
    rises = np.diff(model.objective_history_)
    kept = np.setdiff1d(np.arange(60), np.array(model.prior_updates_) - 1)
    assert len(kept) == 48
    assert (rises[kept] >= -1e-7).all()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_finds_planted_topics(planted, algorithm):
    X, _, topics = planted
    model = LDA(4, algorithm=algorithm, random_state=1).fit(X)
    assert matched_overlap(model.components_, topics) > 0.9
    np.testing.assert_allclose(model.doc_topics_.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("n_updates", [1, 5])
def test_agrees_with_scikit_learn_update_by_update(planted, n_updates):
    """Same λ, same γ, same number of updates: the same new λ and bound."""
    X = planted[0].astype(float)
    alpha, eta, k = 0.3, 0.2, 4
    theirs = LatentDirichletAllocation(
        k,
        doc_topic_prior=alpha,
        topic_word_prior=eta,
        learning_method="batch",
        max_iter=1,
        max_doc_update_iter=n_updates,
        mean_change_tol=0.0,
        random_state=0,
    )
    # scikit-learn draws λ, then γ, from the same generator.
    rng = np.random.RandomState(0)
    lam = rng.gamma(100.0, 0.01, (k, X.shape[1]))
    gamma = rng.gamma(100.0, 0.01, (X.shape[0], k))
    engine = CpuEngine(X, k, dtype=np.float64)
    ours = Variational(
        engine,
        np.full((k, X.shape[1]), 1 / X.shape[1]),
        alpha=np.full(k, alpha),
        eta=eta,
        doc_updates=n_updates,
        doc_tol=-1.0,
        learn_priors=False,
    )
    for n_passes in (1, 2):
        theirs.set_params(max_iter=n_passes).fit(X)
        ours._adopt_topics(engine.pack_topics(lam - eta))
        ours.documents = engine.pack_documents(gamma)
        ours.start()
        ours.advance()
        lam = engine.unpack_topics(ours.counts) + eta
        np.testing.assert_allclose(lam, theirs.components_, rtol=1e-8)
        gamma = rng.gamma(100.0, 0.01, (X.shape[0], k))


def test_bound_equals_scikit_learns(planted):
    X = planted[0][:40].astype(float)
    theirs = LatentDirichletAllocation(
        3, learning_method="batch", max_iter=3, mean_change_tol=1e-9,
        max_doc_update_iter=2000, random_state=0,
    ).fit(X)  # fmt: skip
    alpha, eta = 1 / 3, 1 / 3
    engine = CpuEngine(X, 3, dtype=np.float64)
    ours = Variational(
        engine,
        np.full((3, X.shape[1]), 1 / X.shape[1]),
        alpha=np.full(3, alpha),
        eta=eta,
        doc_updates=5000,
        doc_tol=1e-12,
        learn_priors=False,
    )
    ours._adopt_topics(engine.pack_topics(theirs.components_ - eta))
    assert ours.start() == pytest.approx(theirs.score(X), rel=1e-5)


def test_three_ways_reach_the_same_perplexity(planted):
    X = planted[0]
    train, test = X[:220], X[220:]
    values = [
        LDA(4, random_state=0, **options).fit(train).perplexity(test)
        for options in (
            {"algorithm": "cvb0"},
            {"algorithm": "variational"},
            {"algorithm": "cvb0", "batch_size": 50},
            {"algorithm": "variational", "batch_size": 50},
        )
    ]
    assert max(values) < 1.05 * min(values)


@pytest.mark.slow
def test_three_ways_reach_similar_perplexities_on_the_built_in_corpus():
    corpus = load_docs()
    train, test = corpus.counts[::2], corpus.counts[1::2]
    values = [
        LDA(15, random_state=0, **options).fit(train).perplexity(test)
        for options in (
            {"algorithm": "cvb0"},
            {"algorithm": "variational"},
            {"algorithm": "variational", "batch_size": 256, "max_iter": 20},
        )
    ]
    # The corpus is of the installed versions. Variational Bayes is behind.
    assert max(values) < 1.2 * min(values)
    assert values[0] == min(values)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_transform_agrees_with_training_mixtures(planted, algorithm):
    X = planted[0].astype(float)
    model = LDA(
        4,
        algorithm=algorithm,
        max_iter=500,
        tol=1e-9,
        doc_tol=1e-7,
        random_state=0,
    ).fit(X)
    # Variational inference has local optima: a few documents may find another one.
    differences = np.abs(model.transform(X) - model.doc_topics_).max(axis=1)
    assert (differences < 1e-2).mean() > 0.85
    assert differences.mean() < 1e-2


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_partial_fit_learns_the_topics(planted, algorithm):
    X, _, topics = planted
    model = LDA(4, algorithm=algorithm, random_state=0, total_documents=300)
    for _ in range(10):
        for first in range(0, 300, 50):
            model.partial_fit(X[first : first + 50])
    assert matched_overlap(model.components_, topics) > 0.85
    assert model.perplexity(X) < 60


def test_learned_alpha_follows_the_size_of_topics():
    X, theta, _ = draw_corpus(400, 90, 3, seed=3)
    few = theta.argmax(axis=1) == 2
    X = X[~few | (np.arange(400) % 8 == 0)]
    for algorithm in ALGORITHMS:
        model = LDA(3, algorithm=algorithm, learn_priors=True, random_state=0).fit(X)
        sizes = model.doc_topics_.sum(axis=0)
        assert np.argmin(model.doc_topic_prior_) == np.argmin(sizes)


@pytest.mark.parametrize(
    "model",
    [LDA(), LDA(algorithm="variational"), GibbsLDA(max_iter=100)],
    ids=["cvb0", "variational", "gibbs"],
)
def test_learned_priors_do_no_harm_to_short_documents(model):
    """Of expected counts, the best α of short documents is so large that topics end."""
    X = draw_corpus(800, 200, 10, length=6, seed=3)[0]
    model.set_params(n_components=30, random_state=0)
    fixed, learned = (
        clone(model).set_params(learn_priors=learn).fit(X[:600]).perplexity(X[600:])
        for learn in (False, True)
    )
    assert learned < 1.01 * fixed


def test_sum_of_alpha_grows_where_documents_are_mixed_and_never_falls():
    rng = np.random.default_rng(6)
    phi = rng.dirichlet(np.full(300, 0.1), size=4)
    for alpha, least, most in ((2.0, 4.0, 12.0), (0.02, 0.8, 0.8)):
        theta = rng.dirichlet(np.full(4, alpha), size=400)
        X = np.array([rng.multinomial(120, row / row.sum()) for row in theta @ phi])
        model = LDA(4, random_state=0).fit(X)
        assert least <= model.doc_topic_prior_.sum().round(9) <= most
        again = LDA(4, random_state=0, n_jobs=2).fit(X)
        np.testing.assert_array_equal(again.doc_topics_, model.doc_topics_)
        weights = LDA(4, random_state=0).fit(X * 0.75)
        assert weights.doc_topic_prior_.sum() == pytest.approx(0.8)


def test_variational_inference_weights(planted):
    model = LDA(3, algorithm="variational", max_iter=5, random_state=0).fit(
        planted[0].astype(float)
    )
    lam = model.components_ * model.topic_totals_[:, None]
    exact = np.exp(psi(lam) - psi(lam.sum(axis=1, keepdims=True)))
    np.testing.assert_allclose(model._topic_weights(), exact, rtol=1e-6)


def test_bad_priors(planted):
    with pytest.raises(DataError, match=r"shape \(3,\)"):
        LDA(2, doc_topic_prior=[1, 2, 3]).fit(planted[0])
    with pytest.raises(DataError, match="has 0; give numbers from"):
        LDA(2, doc_topic_prior=[1.0, 0.0]).fit(planted[0])
    with pytest.raises(DataError, match="give one number or one per topic"):
        LDA(2, doc_topic_prior=["x", "y"]).fit(planted[0])
    with pytest.raises(ValueError, match="'topic_word_prior' parameter of LDA"):
        LDA(2, topic_word_prior=0.0).fit(planted[0])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_empty_documents_get_uniform_mixtures(ragged, algorithm):
    model = LDA(4, algorithm=algorithm, max_iter=20, random_state=0, learn_priors=True)
    with pytest.warns(EmptyDocumentWarning, match="3 of 40"):
        model.fit(ragged)
    np.testing.assert_allclose(model.doc_topics_[0], 0.25)
    with pytest.warns(EmptyDocumentWarning, match="3 of 40"):
        np.testing.assert_allclose(model.transform(ragged)[17], 0.25)


def test_orthogonal_topics_of_lda(planted):
    X = planted[0].astype(float)
    overlaps = []
    for weight in (0.0, 0.3, 3.0):
        model = LDA(
            8,
            phi_step=OrthogonalPhi(weight),
            max_iter=40,
            tol=0,
            random_state=0,
        ).fit(X)
        history = np.array(model.objective_history_)
        assert (np.diff(history) >= -1e-9 * abs(history[0])).all()
        products = model.components_ @ model.components_.T
        overlaps.append(products.sum() - np.trace(products))
    assert overlaps[0] > overlaps[1] > overlaps[2]
    step = DirichletPhi(1.0)
    plain = LDA(8, phi_step=step, max_iter=40, tol=0, random_state=0).fit(X)
    free = LDA(8, phi_step=OrthogonalPhi(0.0), max_iter=40, tol=0, random_state=0)
    np.testing.assert_allclose(free.fit(X).components_, plain.components_, atol=1e-9)


def test_learning_priors_is_refused_where_it_means_nothing(planted):
    with pytest.raises(DataError, match="learn_priors=True"):
        LDA(2, learn_priors=True, batch_size=10).fit(planted[0])


def test_phi_step_is_refused_where_it_means_nothing(planted):
    model = LDA(2, phi_step=OrthogonalPhi(), algorithm="variational")
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(DataError, match="phi_step only works with"):
            learn(planted[0])


def test_cvb0_repeats_the_update_without_the_own_count(planted):
    """Three passes, token by token, from the same start."""
    X, n_topics, alpha, eta = planted[0][:25].astype(float), 3, 0.3, 0.05
    engine = CpuEngine(X, n_topics, dtype=np.float64)
    phi = initial_topics(X, n_topics, "neighbors", np.random.RandomState(0))
    options = {"doc_updates": 0, "doc_tol": 0.0, "learn_priors": False}
    ours = Cvb0(engine, phi, alpha=np.full(n_topics, alpha), eta=eta, **options)
    ours.start()
    for _ in range(3):
        ours.iterate()
    dense = X.toarray()
    A, B, totals = np.ones((len(dense), n_topics)), phi.T, np.ones(n_topics)
    for iteration in range(3):
        documents, words = np.zeros_like(A), np.zeros_like(B)
        for d, w in zip(*dense.nonzero(), strict=True):
            p = A[d] * B[w] / (A[d] @ B[w])
            if iteration:
                p = np.maximum(A[d] - p, alpha) * np.maximum(
                    B[w] - p / totals / 2, eta / totals
                )
            documents[d] += dense[d, w] * p / p.sum()
            words[w] += dense[d, w] * p / p.sum()
        totals = words.sum(axis=0) + eta * len(words)
        A, B = documents + alpha, (words + eta) / totals
    np.testing.assert_allclose(ours.topics(), B.T / B.sum(axis=0)[:, None], rtol=1e-9)
    shares = A / A.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(ours.doc_topics(), shares, rtol=1e-9)


def test_objective_of_cvb0_is_the_log_likelihood_of_the_training_words(planted):
    X = planted[0].astype(float)
    model = LDA(4, max_iter=8, tol=0, random_state=0).fit(X)
    p = np.log(model.doc_topics_ @ model.components_)
    assert model.objective_history_[-1] == pytest.approx(X.multiply(p).sum(), rel=1e-9)


def test_own_count_left_out_serves_short_texts():
    X, _, _ = draw_corpus(600, 300, 10, seed=1, length=8)
    train, test = X[:400], X[400:]
    found = {}
    for name, step in (("left out", None), ("kept in", DirichletPhi(1.0))):
        model = LDA(20, phi_step=step, random_state=0).fit(train)
        found[name] = model.perplexity(test)
    assert found["left out"] < 0.97 * found["kept in"]


def test_default_priors_follow_the_corpus(planted):
    X = planted[0]
    model = LDA(5, max_iter=2, random_state=0).fit(X)
    np.testing.assert_allclose(model.doc_topic_prior_, 0.2)
    count = X.sum() / X.shape[1]  # of a word
    assert model.topic_word_prior_ == pytest.approx(min(0.1 * count / 5, 0.1))
    long = LDA(25, max_iter=2, random_state=0).fit(100 * X)
    assert long.topic_word_prior_ == pytest.approx(0.1)
    options = {"algorithm": "variational", "max_iter": 2, "random_state": 0}
    assert LDA(25, **options).fit(100 * X).topic_word_prior_ == pytest.approx(0.06)
    short = LDA(25, max_iter=2, random_state=0).fit(X * (5 / count))
    assert short.topic_word_prior_ == pytest.approx(0.1 * 5 / 25)
    many = LDA(50, max_iter=2, random_state=0).fit(X)
    np.testing.assert_allclose(many.doc_topic_prior_, 2 / np.sqrt(20 * 50))
    given = LDA(
        5, doc_topic_prior=0.2, topic_word_prior=0.3, max_iter=2, random_state=0
    ).fit(X)
    assert given.topic_word_prior_ == 0.3
    np.testing.assert_allclose(given.doc_topic_prior_, 0.2)


def test_a_fit_ends_when_topics_have_settled_and_says_if_they_have_not(planted):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnsettledWarning)
        settled = LDA(4, random_state=0).fit(planted[0])
        assert settled.converged_
        assert 5 < settled.n_iter_ < 200
        LDA(4, max_iter=4, tol=0, random_state=0).fit(planted[0])
    with pytest.warns(UnsettledWarning, match="still changing after 4 passes") as seen:
        LDA(4, max_iter=4, random_state=0).fit(planted[0])
    assert seen[0].filename == __file__


@pytest.mark.parametrize(
    "rows",
    [np.eye(6), np.ones((6, 6)), np.tile([3.0, 1, 0, 0, 0, 0], (4, 1)), [[0.01] * 6]],
)
@pytest.mark.parametrize("n_topics", [1, 3, 12])
def test_odd_corpora_give_finite_topics(rows, n_topics):
    model = LDA(n_topics, random_state=0).fit(np.asarray(rows))
    for array in (model.components_, model.doc_topics_):
        assert np.isfinite(array).all()
        np.testing.assert_allclose(array.sum(axis=1), 1, rtol=1e-5)
    assert np.isfinite(model.objective_history_).all()


@pytest.mark.parametrize("init", ["neighbors", "clusters"])
def test_start_from_documents_that_are_alike(planted, init):
    X, topics = planted[0].astype(float), planted[2]
    starts = [
        initial_topics(X, 4, init, np.random.RandomState(seed), n_jobs)
        for seed, n_jobs in ((0, 1), (0, 3), (1, 1))
    ]
    np.testing.assert_array_equal(starts[0], starts[1])
    assert (starts[0] != starts[2]).any()
    assert (starts[0] > 0).all()
    # Half of it is the corpus, so at most half is a topic's own.
    by_chance = initial_topics(X, 4, "random", np.random.RandomState(0))
    least = matched_overlap(by_chance, topics)
    assert matched_overlap(starts[0], topics) > least + 0.1


@pytest.mark.parametrize("init", ["neighbors", "clusters"])
def test_start_from_a_sample(planted, monkeypatch, init):
    size = f"topicfold.learn.initial.{init.upper()[:-1]}_DOCUMENTS"
    monkeypatch.setattr(size, 150)
    X, topics = planted[0].astype(float), planted[2]
    start = initial_topics(X, 4, init, np.random.RandomState(0))
    assert matched_overlap(start, topics) > 0.5


def test_start_from_clusters_gives_a_large_class_one_topic():
    """Its documents have few words in common; seeds among its words would split it."""
    rng = np.random.default_rng(0)
    topics = np.zeros((5, 360))
    topics[0, :200] = 1 / 200
    for k in range(1, 5):
        topics[k, 160 + 40 * k : 200 + 40 * k] = 1 / 40
    classes = np.repeat(np.arange(5), [400, 40, 40, 40, 40])
    X = sparse.csr_matrix(
        [rng.multinomial(12, topics[k]) for k in classes], dtype=float
    )
    found = {
        init: matched_overlap(
            initial_topics(X, 5, init, np.random.RandomState(0)), topics
        )
        for init in ("neighbors", "clusters")
    }
    assert found["clusters"] > 0.8 > found["neighbors"] + 0.1


def test_words_of_all_documents_start_in_one_topic():
    """Such as the menu of a site, else at the top of every topic."""
    X = draw_corpus(300, 200, 8, length=60, seed=0)[0]
    menu = np.random.default_rng(0).poisson(1.5, (300, 20)) + 1
    X = sparse.hstack([X, menu]).tocsr().astype(float)
    start = initial_topics(X, 8, "clusters", np.random.RandomState(0))
    shares = np.sort(start[:, 200:].sum(axis=1))
    assert shares[-1] > 0.3
    assert shares[-2] < 0.1


def test_words_that_topics_have_alike_start_in_all():
    """No document has more of them than by chance: a topic of them would be none."""
    rng = np.random.default_rng(1)
    shares = np.zeros((300, 190))
    shares[:, :40] = rng.dirichlet(np.full(40, 3.0)) * 0.4
    for d in range(300):
        own = slice(40 + 15 * (d % 10), 55 + 15 * (d % 10))
        shares[d, own] = rng.dirichlet(np.full(15, 3.0)) * 0.6
    X = sparse.csr_matrix(np.array([rng.multinomial(90, p) for p in shares], float))
    start = initial_topics(X, 12, "clusters", np.random.RandomState(0))
    common = start[:, :40].sum(axis=1)
    assert common.min() > 0.3
    assert common.max() < 0.5


def stop_words_over_topics(n_topics, n_stop=30):
    """Documents half of stop words, in two manners, half of words of one topic."""
    rng = np.random.default_rng(0)
    manners = rng.dirichlet(np.full(n_stop, 3.0), 2)
    rows = []
    for d in range(40 * n_topics):
        stop = rng.multinomial(60, manners[rng.integers(2)])
        own = np.zeros((n_topics, 15), int)
        own[d % n_topics] = rng.multinomial(60, np.full(15, 1 / 15))
        rows.append(np.r_[stop, own.ravel()])
    return sparse.csr_matrix(np.array(rows, float))


def test_stop_words_have_topics_of_their_own():
    """Else they lead every topic, as every cluster has its share of them."""
    X = stop_words_over_topics(20)
    start = initial_topics(X, 22, "clusters", np.random.RandomState(0))
    stop = start[:, :30].sum(axis=1)
    assert (stop[-2:] > 0.8).all()  # a fifth of half of the topics
    assert (stop[:-2] < 0.1).all()
    model = LDA(22, random_state=0, max_iter=30, tol=0).fit(X)
    top = np.argsort(-model.components_, axis=1)[:, :10]
    led = (top < 30).mean(axis=1) > 0.5
    assert 1 <= led.sum() <= 3
    assert model.doc_topic_prior_[led].min() > model.doc_topic_prior_[~led].max()


def test_few_topics_keep_all_clusters():
    """Words of one of few topics are in many documents, and no topic is spared."""
    X = stop_words_over_topics(3, n_stop=1)
    start = initial_topics(X, 3, "clusters", np.random.RandomState(0))
    own = start[:, 1:].reshape(3, 3, 15).sum(axis=2)
    assert (np.sort(own.argmax(axis=1)) == np.arange(3)).all()


def test_alpha_is_learned_unless_given(planted):
    options = {"max_iter": 11, "tol": 0, "random_state": 0}
    assert LDA(4, **options).fit(planted[0]).prior_updates_ == [6]
    halved = LDA(4, **options).fit(planted[0] * 0.5)  # no counts of tokens
    assert halved.prior_updates_ == [5, 10]
    given = LDA(4, doc_topic_prior=0.5, **options).fit(planted[0])
    assert given.prior_updates_ == []
    assert (given.doc_topic_prior_ == 0.5).all()


def test_words_are_frequent_by_the_median_one():
    """A few frequent ones say nothing of the others."""
    frequent = [1e6, 1e6]
    for tokens, share in ((3.0, 0.0), (20.0, 0.0), (30.0, 0.5), (50.0, 1.0)):
        counts = np.array([*frequent, *np.full(9, tokens), 0.0, 0.0])
        assert frequent_words(counts, 20) == share
    assert frequent_words(np.zeros(3), 20) == 0.0


def test_eta_falls_with_the_number_of_topics_unless_words_are_frequent():
    for n_topics, most in ((4, 0.1), (25, 0.06), (100, 0.03)):
        assert default_topic_word_prior(1e9, 10, n_topics) == pytest.approx(most)
        half = default_topic_word_prior(1e9, 10, n_topics, 0.5)
        assert half == pytest.approx((most + 0.1) / 2)
    assert default_topic_word_prior(20.0, 10, 20, 1.0) == pytest.approx(0.01)
    rng = np.random.default_rng(3)
    X = rng.poisson(4.0, size=(80, 30)).astype(np.float32)
    prior = {
        name: LDA(16, max_iter=1, random_state=0, **options).fit(X).topic_word_prior_
        for name, options in {
            "plain": {},
            "variational": {"algorithm": "variational"},
            "sides": {"sides": [Features()]},
        }.items()
    }
    assert prior["plain"] == pytest.approx(0.1)
    assert prior["variational"] == prior["sides"] == pytest.approx(0.075)


def test_objective_of_the_posterior_mode_is_the_stated_one(planted):
    """``ℒ + Σ α log θ + η Σ log φ``; totals start as those of even topics."""
    X, alpha, eta = planted[0][:50], np.array([0.4, 0.1, 0.7]), 0.3
    engine = CpuEngine(X.astype(np.float64), 3, dtype=np.float64)
    start = np.random.default_rng(0).dirichlet(np.ones(X.shape[1]), 3)
    options = {"doc_updates": 0, "doc_tol": 0.0, "learn_priors": False}
    mode = Learner(engine, start, alpha=alpha, eta=eta, **options)
    np.testing.assert_allclose(mode.topic_totals(), X.sum() / 3)
    mode.start()
    for _ in range(3):
        value = mode.iterate()
        rows = engine.unpack_documents(mode.documents)
        theta, phi = rows / rows.sum(axis=1, keepdims=True), mode.topics()
        loglik = (X.toarray() * np.log(theta @ phi)).sum()
        expected = loglik + alpha @ np.log(theta).sum(axis=0) + eta * np.log(phi).sum()
        assert value == pytest.approx(expected, rel=1e-9)
    totals = mode.topic_totals()
    assert totals.sum() == pytest.approx(X.sum() + 3 * eta * X.shape[1])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_tokens_of_topics_are_those_of_the_corpus_and_the_prior(planted, algorithm):
    X = planted[0].astype(np.float64)
    options = {"topic_word_prior": 0.05, "learn_priors": False, "max_iter": 5}
    model = LDA(4, algorithm=algorithm, random_state=0, tol=0, **options).fit(X)
    prior = 4 * X.shape[1] * 0.05
    np.testing.assert_allclose(model.topic_totals_.sum(), X.sum() + prior, rtol=1e-6)


def test_a_start_from_neighbours_is_half_the_nearest_documents():
    X = sparse.csr_matrix(np.random.default_rng(0).poisson(0.3, (50, 30)) + 0.0)
    found = initial_topics(X, 1, "neighbors", np.random.RandomState(0))[0]
    damped = X.copy()
    damped.data = 1 + np.log(damped.data)
    rows = TfidfTransformer().fit_transform(damped).toarray()
    unigram = np.asarray(X.sum(axis=0)).ravel() + 1 / 30
    matches = []
    for seed in range(50):
        nearest = np.argsort(-(rows @ rows[seed]), kind="stable")[:20]
        own = np.asarray(X[nearest].sum(axis=0)).ravel()
        wanted = 0.5 * own / own.sum() + 0.5 * unigram / unigram.sum()
        matches.append(np.allclose(found, wanted))
    assert sum(matches) == 1


def test_rows_of_zeros_have_no_direction():
    found = initial._unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    np.testing.assert_array_equal(found, [[0.6, 0.8], [0.0, 0.0]])
