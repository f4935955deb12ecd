# SPDX-License-Identifier: BSD-3-Clause
"""Correlated and structural topics: what is planted is found, on new documents too."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from topicfold import CorrelatedLDA, StructuralLDA, load
from topicfold.corpus.blocks import BlockMatrix
from topicfold.exceptions import DataError, DataWarning, ModelFileError
from topicfold.learn import Callback, Resume
from topicfold.learn.initial import spectral_topics
from topicfold.theta.logistic_normal import Known


def planted(n_documents=500, seed=0, together=0.8, shift=0):
    """Topics 0 and 1 go together, x moves topic 0; groups word topic 1 differently."""
    n_topics, n_terms, length = 4, 120, 90
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_terms, 0.08), n_topics)
    sigma = np.eye(n_topics)
    sigma[0, 1] = sigma[1, 0] = together
    x, groups = rng.integers(0, 2, n_documents), rng.integers(0, 2, n_documents)
    eta = rng.multivariate_normal(np.zeros(n_topics), sigma, n_documents)
    eta[:, 0] += 1.2 * x
    theta = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    other = topics.copy()
    other[1] = (other[1] + np.roll(other[1], shift)) / 2
    worded = [topics, other]
    pairs = zip(theta, groups, strict=True)
    X = np.array([rng.multinomial(length, t @ worded[g]) for t, g in pairs])
    return sparse.csr_matrix(X.astype(np.float64)), theta, topics, x, groups


def order(model, theta):
    size = theta.shape[1]
    likeness = np.corrcoef(model.doc_topics_.T, theta.T)[:size, size:]
    return linear_sum_assignment(-likeness.T)[1]


@pytest.fixture(scope="module")
def plain():
    X, theta, topics, x, _ = planted(n_documents=600, seed=1)
    model = StructuralLDA(4, random_state=0).fit(X, prevalence={"x": x})
    return X, theta, topics, x, model


def test_effects_and_correlations_are_found(plain):
    _, theta, _, x, model = plain
    places = order(model, theta)
    found, true = model.doc_topics_[:, places], theta
    moved = found[x == 1].mean(axis=0) - found[x == 0].mean(axis=0)
    expected = true[x == 1].mean(axis=0) - true[x == 0].mean(axis=0)
    assert_allclose(moved, expected, atol=0.05)
    together = model.topic_correlations_[np.ix_(places, places)]
    pairs = together[np.triu_indices(4, 1)]
    assert together[0, 1] == pairs.max() > 0.2
    assert model.prevalence_names_ == ["intercept", "x"]
    assert model.prevalence_effects_.shape == (2, 4)
    assert model.converged_
    (table,) = model.topic_data().sides
    assert_allclose(table.values, model.topic_correlations_, rtol=1e-6)


def test_new_documents_are_inferred_as_in_the_fit_with_and_without_covariates(plain):
    X, _, _, x, model = plain
    known = model.transform(X, prevalence={"x": x})
    assert np.abs(known - model.doc_topics_).sum(axis=1).mean() < 0.02
    some = model.transform(X[7:19], prevalence={"x": x[7:19]})
    assert_allclose(some, known[7:19], atol=1e-6)
    unknown = model.transform(X)
    assert_allclose(unknown.sum(axis=1), 1, rtol=1e-5)
    assert 0.005 < np.abs(unknown - known).sum(axis=1).mean() < 0.2
    empty = sparse.csr_matrix((2, X.shape[1]))
    with pytest.warns(
        match="no word .*; they get the mixture that is expected without"
    ):
        prior = model.transform(empty, prevalence={"x": [0, 1]})
    gap = np.abs(prior[1] - prior[0])
    assert gap.max() > 0.1


def test_draws_are_wider_where_words_say_less(plain):
    X, _, _, x, model = plain
    draws = model.theta_draws(60, X=X, prevalence={"x": x})
    assert draws.shape == (60, *model.doc_topics_.shape)
    again = model.theta_draws(60, X=X, prevalence={"x": x}, random_state=0)
    assert (draws == again).all()
    roughly = model.theta_draws(60)
    spread, rough = draws.std(axis=0).mean(), roughly.std(axis=0).mean()
    assert 0.8 < rough / spread < 1.25
    short = model.theta_draws(60, X=(X > 2).astype(float), prevalence={"x": x})
    assert short.std(axis=0).mean() > 1.2 * spread


@pytest.mark.parametrize("init", ["spectral", "clusters"])
def test_several_starts_keep_the_best(init, plain):
    X, _, _, x, _ = plain
    few = {"max_iter": 5, "tol": 0.0, "random_state": 0, "init": init}
    model = StructuralLDA(4, n_starts=3, **few).fit(X[:200], prevalence={"x": x[:200]})
    assert len(model.start_objectives_) == 3
    assert model.objective_history_[0] >= max(model.start_objectives_) - 1.0


def test_covariates_that_say_the_same_need_no_ridge(plain):
    X, _, _, x, _ = plain
    few = {"max_iter": 5, "random_state": 0}
    twice = {"x": x[:200], "again": x[:200]}
    with pytest.warns(DataWarning, match="collinear"):
        model = StructuralLDA(4, ridge=0, **few).fit(X[:200], prevalence=twice)
    once = StructuralLDA(4, ridge=0, **few).fit(X[:200], prevalence={"x": x[:200]})
    np.testing.assert_allclose(model.doc_topics_, once.doc_topics_, atol=1e-4)
    by_column = model.theta_step_.gamma_[1:]
    np.testing.assert_allclose(by_column[0], by_column[1], atol=1e-6)


def test_content_words_a_topic_by_group():
    X, theta, topics, _, groups = planted(900, 2, together=0.0, shift=7)
    names = np.array(["left", "right"])[groups]
    options = {"random_state": 0, "content_strength": 300.0}
    model = StructuralLDA(4, **options).fit(X[:700], content=names[:700])
    assert model.content_groups_ == ["left", "right"]
    places = order(model, theta[:700])
    left, right = (model.topics_of(name)[places] for name in ("left", "right"))
    assert_allclose(left.sum(axis=1), 1, rtol=1e-5)
    gaps = np.abs(left - right).sum(axis=1)
    assert gaps.argmax() == 1
    assert gaps[1] > 3 * np.delete(gaps, 1).max()
    assert_allclose(right[1], (topics[1] + np.roll(topics[1], 7)) / 2, atol=0.03)
    words = model.perspectives(int(places[1]), ("left", "right"), 3)
    assert not set(words[0]) & set(words[1])
    shown = [table for table in model.topic_data().sides if table.kind == "terms"]
    assert [table.name for table in shown] == ["left", "right"]
    assert set(words[0]) & set(shown[0].terms[places[1]])
    test, known = X[700:], names[700:]
    plain = StructuralLDA(4, random_state=0).fit(X[:700])
    told = model.perplexity(test, content=known)
    assert told < plain.perplexity(test)
    assert told < model.perplexity(test)
    mixed = [None if row % 2 else name for row, name in enumerate(known)]
    some = model.transform(test, content=mixed)
    assert_allclose(some[::2], model.transform(test, content=known)[::2], atol=1e-6)
    assert_allclose(some[1::2], model.transform(test)[1::2], atol=1e-6)


def test_saved_models_are_the_same(tmp_path, plain):
    X, _, _, x, model = plain
    model.save(tmp_path / "plain")
    loaded = load(tmp_path / "plain")
    known = {"prevalence": {"x": x}}
    assert (loaded.transform(X, **known) == model.transform(X, **known)).all()
    assert (loaded.theta_draws(2) == model.theta_draws(2)).all()
    names = np.where(x, "a", "b")
    few = {"max_iter": 5, "tol": 0.0, "random_state": 0}
    content = StructuralLDA(4, **few).fit(X, content=names)
    content.save(tmp_path / "content")
    again = load(tmp_path / "content")
    assert (again.topics_of("a") == content.topics_of("a")).all()
    content.phi_step_.pair_words_[0] = X.shape[1] + 5
    content.save(tmp_path / "broken")
    with pytest.raises(ModelFileError, match="outside"):
        load(tmp_path / "broken")
    model.theta_step_.sigma_ = -model.theta_step_.sigma_
    model.save(tmp_path / "negative")
    model.theta_step_.sigma_ = -model.theta_step_.sigma_
    with pytest.raises(ModelFileError, match="covariance"):
        load(tmp_path / "negative")


def test_blocks_are_as_one_matrix(tmp_path):
    X, _, _, x, _ = planted(n_documents=90)
    blocks = BlockMatrix.write(tmp_path / "blocks", X, block_size=25)
    start = np.random.default_rng(0).dirichlet(np.ones(X.shape[1]), 4)
    few = {"max_iter": 8, "tol": 0.0, "init": start}
    one = StructuralLDA(4, **few).fit(X, prevalence={"x": x})
    many = StructuralLDA(4, **few).fit(blocks, prevalence={"x": x})
    assert_allclose(many.doc_topics_, one.doc_topics_, atol=1e-6)
    assert_allclose(many.components_, one.components_, atol=1e-6)
    threads = StructuralLDA(4, n_jobs=3, **few).fit(X, prevalence={"x": x})
    assert (threads.doc_topics_ == one.doc_topics_).all()


def test_content_in_blocks_is_as_of_one_matrix(tmp_path):
    X, _, _, x, _ = planted(n_documents=90)
    blocks = BlockMatrix.write(tmp_path / "blocks", X, block_size=25)
    group = np.where(np.arange(90) % 3 == 0, "a", "b")
    start = np.random.default_rng(0).dirichlet(np.ones(X.shape[1]), 4)
    few = {"max_iter": 8, "tol": 0.0, "init": start}
    one = StructuralLDA(4, **few).fit(X, prevalence={"x": x}, content=group)
    many = StructuralLDA(4, **few).fit(blocks, prevalence={"x": x}, content=group)
    assert_allclose(many.topics_of("a"), one.topics_of("a"), atol=1e-5)
    assert_allclose(many.doc_topics_, one.doc_topics_, atol=1e-4)
    known = {"prevalence": {"x": x}, "content": group}
    new = many.transform(blocks, **known)
    assert_allclose(new, one.transform(X, **known), atol=1e-4)


@pytest.mark.parametrize("stopped_at", [4, 9])
def test_content_goes_on_as_if_it_had_not_been_stopped(
    tmp_path, stopped_at, monkeypatch
):
    """Also after pass 6, when topics are no longer learned, and at the end."""
    monkeypatch.setattr("topicfold.models.correlated.LEARNING_PASSES", 6)
    X, _, _, _, groups = planted(n_documents=60)
    known = {"content": [["a", "b"][group] for group in groups]}

    def made(*callbacks):
        options = {"max_iter": 12, "tol": 0.0, "callbacks": callbacks}
        return StructuralLDA(3, init="spectral", **options)

    class Stop(Callback):
        def on_iteration(self, state):
            if state.iteration == stopped_at:
                raise RuntimeError("power cut")

    whole = made().fit(X, **known)
    with pytest.raises(RuntimeError, match="power cut"):
        made(Resume(tmp_path), Stop()).fit(X, **known)
    for _ in range(2):
        resumed = made(Resume(tmp_path)).fit(X, **known)
        assert (resumed.components_ == whole.components_).all()
        assert (resumed.topics_of("b") == whole.topics_of("b")).all()
        assert (resumed.doc_topics_ == whole.doc_topics_).all()


def test_bad_content_is_refused():
    X = np.eye(4) + 1
    with pytest.raises(DataError, match="one document of the group 'b'"):
        StructuralLDA(2).fit(X, content=["a", "a", "a", "b"])
    with pytest.raises(DataError, match="content has one group"):
        StructuralLDA(2).fit(X, content=["a"] * 4)
    with pytest.raises(DataError, match="missing in row 1"):
        StructuralLDA(2).fit(X, content=["a", None, "b", "b"])
    with pytest.raises(DataError, match="3 rows, but X has 4"):
        StructuralLDA(2).fit(X, content=["a", "b", "b"])
    for gap in (np.nan, pd.NA, pd.NaT, ""):  # of pandas: not a group of that name
        with pytest.raises(DataError, match="missing in row 1"):
            StructuralLDA(2).fit(X, content=["a", gap, "b", "b"])
    with pytest.raises(DataError, match="content is the text 'side'"):
        StructuralLDA(2).fit(X, content="side")
    few = {"max_iter": 2, "random_state": 0}
    model = StructuralLDA(2, **few).fit(X, content=["a", "a", "b", "b"])
    with pytest.raises(DataError, match="'c' in row 0, which the fit did not have"):
        model.transform(X[:1], content=["c"])
    same = model.transform(X[:1], content=[pd.NA])
    assert (same == model.transform(X[:1], content=[None])).all()
    with pytest.raises(DataError, match=r"no topic 2. Give a number, 0 to 1"):
        model.perspectives(2, ("a", "b"))
    with pytest.raises(DataError, match="content was given, but the fit had none"):
        StructuralLDA(2, **few).fit(X).transform(X[:1], content=["c"])


def test_bad_covariates_are_said():
    X = np.eye(6) + 1
    few = {"max_iter": 2, "random_state": 0}
    with pytest.raises(DataError, match=r"the text '~ side'.*formula='~ party'"):
        StructuralLDA(2).fit(X, prevalence="~ side")
    long = "c" * 60
    table = {"side": ["a", "a", "b", "b", long, "d"]}
    for formula in (None, "~ side"):
        with pytest.warns(DataWarning, match="2 categories of one document each") as w:
            StructuralLDA(2, formula=formula, **few).fit(X, prevalence=table)
        said = [str(one.message) for one in w if "side" in str(one.message)]
        assert len(said) == 1
        assert "'d'" in said[0]
        assert long not in said[0]


def test_anchor_words_find_topics_that_have_them():
    rng = np.random.default_rng(3)
    topics = rng.dirichlet(np.full(60, 0.3), 5)
    topics[:, :5] = 0.15 * np.eye(5)
    topics /= topics.sum(axis=1, keepdims=True)
    theta = rng.dirichlet(np.full(5, 0.3), 4000)
    X = sparse.csr_matrix([rng.multinomial(80, row @ topics) for row in theta])
    found = spectral_topics(X, 5, np.random.RandomState(0))
    places = linear_sum_assignment(-(topics @ found.T))[1]
    assert np.abs(found[places] - topics).sum(axis=1).max() < 0.35
    with pytest.raises(DataError, match="a separate word"):
        spectral_topics(X[:, :3], 5, np.random.RandomState(0))


def test_correlated_topics_explain_new_words_as_lda_does():
    from topicfold import LDA

    X, *_ = planted(n_documents=700, seed=5)
    fit, new = X[:550], X[550:]
    lda = LDA(4, random_state=0).fit(fit).perplexity(new)
    assert CorrelatedLDA(4, random_state=0).fit(fit).perplexity(new) < 1.01 * lda


def test_words_of_some_documents_travel_alone():
    words = sparse.random(40, 9, 0.3, "csr", random_state=0)
    known = Known(np.ones((40, 1)), lambda: words)[10:30][::2]
    sent = pickle.loads(pickle.dumps(known))
    assert sent.words().shape == (10, 9)
    assert (sent.words() != words[10:30:2]).nnz == 0
    assert pickle.loads(pickle.dumps(Known(np.ones((2, 1))))).words is None


def test_topics_of_short_documents_are_found():
    """A token must not pull its document, and this a topic, to its own word."""
    rng = np.random.default_rng(2)
    topics = rng.dirichlet(np.full(400, 0.1), 12)
    theta = np.exp(rng.normal(0, 2, (700, 12)))
    theta /= theta.sum(axis=1, keepdims=True)
    X = sparse.csr_matrix([rng.multinomial(20, row @ topics) for row in theta])
    for kind in (CorrelatedLDA, StructuralLDA):
        found = kind(12, random_state=0).fit(X).components_
        found = found / np.linalg.norm(found, axis=1, keepdims=True)
        cosines = topics / np.linalg.norm(topics, axis=1, keepdims=True) @ found.T
        matched = cosines[linear_sum_assignment(-cosines)]
        assert matched.mean() > 0.87
