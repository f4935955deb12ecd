# SPDX-License-Identifier: BSD-3-Clause
"""The hierarchical Dirichlet process: its draws, and the topics that it finds."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln

from topicfold import LDA, HierarchicalDirichletLDA
from topicfold.gibbs.open_number import (
    HdpGibbs,
    drawn_concentration,
    drawn_tables,
)
from topicfold.learn import loop


def planted(n_topics, n_documents=300, n_terms=200, length=80, seed=0):
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(n_terms, 0.05), n_topics)
    theta = rng.dirichlet(np.full(n_topics, 2 / n_topics), n_documents)
    rows = [rng.multinomial(length, p) for p in theta @ phi]
    return sparse.csr_matrix(np.array(rows, dtype=np.float32)), phi


def test_tables_have_the_mean_of_the_chinese_restaurant():
    alpha, counts = np.array([0.3, 2.0, 5.0]), np.array([1, 7, 40, 3])
    topics = np.array([0, 1, 2, 1])
    expected = np.zeros(3)
    for n, k in zip(counts, topics, strict=True):
        expected[k] += sum(alpha[k] / (alpha[k] + i) for i in range(n))
    rng = np.random.default_rng(0)
    drawn = [drawn_tables(counts, topics, alpha, rng) for _ in range(4000)]
    np.testing.assert_allclose(np.mean(drawn, axis=0), expected, rtol=0.02)


def test_the_concentration_has_its_posterior():
    """Gamma(1, 1) prior × Π a^tables Γ(a) / Γ(a + customers), on a grid."""
    customers, tables = np.array([30, 50, 20]), 17
    grid = np.linspace(0.01, 30, 20_000)
    log_p = -grid + tables * np.log(grid)
    for n in customers:
        log_p += gammaln(grid) - gammaln(grid + n)
    p = np.exp(log_p - log_p.max())
    rng, value, drawn = np.random.default_rng(0), 1.0, []
    for _ in range(8000):
        value = drawn_concentration(value, tables, customers, rng)
        drawn.append(value)
    assert np.mean(drawn) == pytest.approx((grid * p).sum() / p.sum(), rel=0.03)


def test_counts_are_those_of_the_tokens_when_the_number_is_fixed():
    X, _ = planted(4, n_documents=60)
    options = {"burn_in": 30, "sample_every": 5, "learn_priors": True, "n_blocks": 3}
    chain = HdpGibbs(X, 40, 0.05, min_share=0.02, seed=0, **options)
    chain.start()
    for _ in range(21):
        chain.iterate()
    assert len(chain.alpha) < 40
    assert len(chain.alpha) == len(chain.totals)
    tokens = np.bincount(chain.topic_of, minlength=len(chain.alpha))
    np.testing.assert_array_equal(chain.totals, tokens)
    assert chain.totals.sum() == X.sum()
    while chain.n_samples == 0:
        chain.iterate()
    words = chain.word_counts()
    np.testing.assert_allclose(words.sum(axis=0), np.asarray(X.sum(axis=0)).ravel())


def test_copies_of_a_topic_are_merged_and_others_are_not():
    X, phi = planted(6, n_documents=200)
    options = {"burn_in": 90, "sample_every": 5, "learn_priors": True, "n_blocks": 3}
    chain = HdpGibbs(
        X, 12, 0.05, min_share=0.001, seed=0, phi=np.repeat(phi, 2, axis=0), **options
    )
    chain.start()
    chain._draw_sticks()
    before = chain.alpha.sum()
    chain._merge()
    assert chain.n_merged >= 3
    assert chain.alpha.sum() == pytest.approx(before, rel=1e-3)
    assert np.sum(chain.totals > 0) == 12 - chain.n_merged >= 6
    tokens = np.bincount(chain.topic_of, minlength=12)
    np.testing.assert_array_equal(chain.totals, tokens)
    for _ in range(80):
        chain.iterate()
    assert len(chain.alpha) == 6


def test_similar_pairs_are_disjoint_and_have_tokens():
    X, _ = planted(5, n_documents=100)
    options = {"burn_in": 5, "sample_every": 5, "learn_priors": True, "n_blocks": 2}
    chain = HdpGibbs(X, 9, 0.05, min_share=0.001, seed=0, **options)
    chain.start()
    chain.topic_of[chain.topic_of == 4] = 0
    chain._count_again()
    for turn in (0, 1):
        pairs = chain._similar_pairs(turn)
        assert len(np.unique(pairs)) == pairs.size > 0
        assert 4 not in pairs


def test_topics_of_documents_with_one_topic_become_one():
    topics = np.kron(np.eye(3), np.full(10, 0.1))
    X = np.random.default_rng(1).multinomial(50, topics[np.arange(90) % 3])
    model = HierarchicalDirichletLDA(20, max_iter=200, random_state=0).fit(X)
    assert model.n_topics_ == 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_planted_topics_are_found(seed):
    X, phi = planted(8, seed=seed)
    model = HierarchicalDirichletLDA(40, random_state=seed).fit(X)
    assert 7 <= model.n_topics_ <= 9
    assert model.components_.shape == (model.n_topics_, X.shape[1])
    assert model.doc_topics_.shape == (X.shape[0], model.n_topics_)
    like = np.corrcoef(np.vstack([phi, model.components_]))[:8, 8:]
    assert (like.max(axis=1) > 0.9).all()
    assert model.n_topics_history_[0] == model.n_start_ > 8
    scores = dict(model.perplexity_by_number_)
    assert scores[10] < scores[5]
    lda = LDA(model.n_topics_, init=model.components_, random_state=0).fit(X)
    assert lda.components_.shape == model.components_.shape


@pytest.mark.parametrize(("n_topics", "most"), [(20, 60), (20, 300), (50, 300)])
def test_the_number_does_not_depend_on_the_most_topics(n_topics, most):
    X, _ = planted(n_topics, n_documents=400, n_terms=500, length=100)
    model = HierarchicalDirichletLDA(most, max_iter=120, random_state=0).fit(X)
    assert model.n_topics_ == pytest.approx(n_topics, rel=0.1)
    assert model.n_start_ < 200


def test_restarts_are_told_and_the_likeliest_is_kept():
    X, _ = planted(3, n_documents=60)
    model = HierarchicalDirichletLDA(20, max_iter=60, n_restarts=3, random_state=0)
    model.fit(X)
    assert len(model.n_topics_over_restarts_) == 3
    assert model.n_topics_ in model.n_topics_over_restarts_
    one = HierarchicalDirichletLDA(20, max_iter=60, random_state=0).fit(X)
    assert one.n_topics_over_restarts_ == model.n_topics_over_restarts_[:1]


def test_the_fit_ends_as_lda_would_from_the_topics_that_were_found():
    X, _ = planted(5, n_documents=200)
    model = HierarchicalDirichletLDA(30, max_iter=60, random_state=0).fit(X)
    new = planted(5, n_documents=30, seed=1)[0]
    options = {"doc_topic_prior": model.doc_topic_prior_, "init": model.components_}
    lda = LDA(model.n_topics_, **options).fit(X)
    assert model.topic_word_prior_ == lda.topic_word_prior_
    n = model.n_topics_
    like = np.corrcoef(np.vstack([model.components_, lda.components_]))[:n, n:]
    assert (np.diag(like) > 0.95).all()
    lda.components_ = model.components_
    np.testing.assert_allclose(model.transform(new), lda.transform(new), atol=1e-6)
    again = np.abs(model.transform(X) - model.doc_topics_).sum(axis=1)
    assert again.mean() < 0.1


def test_ctrl_c_in_a_short_fit_ends_the_whole_fit(monkeypatch):
    inside = []
    fit = LDA.fit

    def seen(self, *args, **options):
        inside.append(loop._IS_PART.get())
        return fit(self, *args, **options)

    monkeypatch.setattr(LDA, "fit", seen)
    X, _ = planted(3, n_documents=60)
    HierarchicalDirichletLDA(20, max_iter=20, random_state=0).fit(X)
    assert all(inside[:-1])
    assert not inside[-1]  # the last passes end early, with what the chain has found
