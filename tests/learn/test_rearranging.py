# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from topicfold import LDA
from topicfold.corpus import BlockMatrix, BlockWriter
from topicfold.evidence import Features, Labels, Links, Response, TimeStamps
from topicfold.learn import Resume
from topicfold.learn.rearranging import (
    AT,
    LEAST_DOCUMENTS,
    SAMPLE_TOKENS,
    Sample,
    Swap,
    sample_of,
    swap_topics,
)
from topicfold.parts.steps import moved_shares, moved_values
from topicfold.phi import OtherCounts, Seeds
from topicfold.theta import AuthorPriors, Authors


def planted(sizes, n_documents=300, length=80, n_terms=200, seed=0):
    """Return counts, mixtures and topics; α of topics is `sizes`."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(n_terms, 0.1), size=len(sizes))
    theta = rng.dirichlet(sizes, size=n_documents)
    rows = [rng.multinomial(length, row / row.sum()) for row in theta @ phi]
    return sparse.csr_matrix(np.array(rows, np.float32)), theta, phi


def test_alpha_is_that_of_the_mixtures():
    """From expected counts it would be several times as large."""
    for alpha in (0.1, 0.8):
        X, _, phi = planted(np.full(9, alpha), 600, 90)
        sample = Sample(sample_of(X, 9), 0.0)
        found = np.full(9, 0.2)
        for seed in range(4):
            found, swaps = sample.look(phi, found, 0.1, seed)
        assert found.sum() == pytest.approx(9 * alpha, rel=0.25)
        assert swaps == []


def test_alpha_follows_the_sizes_of_topics_and_does_not_fall():
    X, _, phi = planted(np.array([1.2, 0.4, 0.2, 0.1]), 600)
    alpha = Sample(sample_of(X, 4), 0.0).look(phi, np.full(4, 0.5), 0.1, 0)[0]
    assert (np.diff(alpha) < 0).all()
    alpha = Sample(sample_of(X, 4), 6.0).look(phi, np.full(4, 0.5), 0.1, 0)[0]
    assert alpha.sum() == pytest.approx(6.0)


def test_a_topic_in_two_and_two_in_one_change_places():
    """Topics 0 and 1 are the first planted one, 2 is both of the last."""
    X, _, phi = planted(np.array([1.0, 0.3, 0.3, 0.3]), 600)
    noise = np.random.default_rng(1).uniform(0.8, 1.2, phi.shape[1])
    first = phi[0] * noise
    topics = np.array([first / first.sum(), phi[0], (phi[2] + phi[3]) / 2, phi[1]])
    sample = Sample(sample_of(X, 4), 0.0)
    alpha, swaps = sample.look(topics, np.full(4, 0.5), 0.1, 0)
    assert [(sorted((s.into, s.spare)), s.parted) for s in swaps] == [([0, 1], 2)]
    swap_topics(topics, np.full(4, 100.0), alpha, swaps)
    likeness = np.corrcoef(phi, topics)[:4, 4:]
    match = linear_sum_assignment(-likeness)
    assert likeness[match].min() > 0.7


def test_topics_that_are_not_free_stay():
    """Topics 0 and 1 are the same, 2 and 3 are both in 2, as above."""
    X, _, phi = planted(np.array([1.0, 0.3, 0.3, 0.3]), 600)
    topics = np.array([phi[0], phi[0], (phi[2] + phi[3]) / 2, phi[1]])
    look = Sample(sample_of(X, 4), 0.0).look
    for free, wanted in (
        ([0, 1, 1, 1], [(0, 1, 2)]),
        ([1, 0, 1, 1], [(1, 0, 2)]),
        ([0, 0, 1, 1], []),
    ):
        given = topics, np.full(4, 0.5), 0.1, 0, np.array(free, bool)
        found = [(s.into, s.spare, s.parted) for s in look(*given)[1]]
        assert found == wanted
    free = np.array([1, 1, 0, 1], bool)
    swaps = look(topics, np.full(4, 0.5), 0.1, 0, free)[1]
    assert 2 not in [s.parted for s in swaps]


def test_a_swap_keeps_all_tokens():
    rng = np.random.default_rng(2)
    topics = rng.dirichlet(np.ones(6), size=5)
    totals, alpha = rng.uniform(50, 90, 5), rng.uniform(0.1, 1, 5)
    first = rng.uniform(0.2, 0.8, 6)
    swap = Swap(3, 1, 4, first, float(topics[4] @ first))
    new, new_totals, new_alpha = topics.copy(), totals.copy(), alpha.copy()
    swap_topics(new, new_totals, new_alpha, [swap])
    np.testing.assert_allclose(new.sum(axis=1), 1.0)
    np.testing.assert_allclose(new_totals @ new, totals @ topics)
    assert new_alpha.sum() == pytest.approx(alpha.sum())
    np.testing.assert_array_equal(new[[0, 2]], topics[[0, 2]])
    documents = rng.uniform(0, 5, (7, 5))
    moved = moved_shares(documents, [swap.move()])
    np.testing.assert_allclose(moved.sum(axis=1), documents.sum(axis=1))
    np.testing.assert_allclose(moved[:, 3], documents[:, 3] + documents[:, 1])
    said = moved_values(documents, [swap.move()])
    np.testing.assert_array_equal(said[:, 1], documents[:, 4])
    np.testing.assert_array_equal(said[:, [0, 2, 3, 4]], documents[:, [0, 2, 3, 4]])


def test_few_topics_and_empty_samples_are_left_alone():
    X, _, phi = planted(np.array([0.5, 0.5]))
    assert Sample(sample_of(X, 2), 0.0).look(phi, np.ones(2), 0.1, 0)[1] == []
    empty = sparse.csr_matrix((3, 200), dtype=np.float32)
    alpha, swaps = Sample(sample_of(empty, 4), 0.0).look(phi, np.ones(2), 0.1, 0)
    assert (alpha.tolist(), swaps) == ([1.0, 1.0], [])


def test_a_sample_is_small_and_needs_whole_counts():
    rng = np.random.default_rng(5)
    X = sparse.csr_matrix(rng.poisson(2.0, size=(900, 250)).astype(np.float32))
    sample = sample_of(X, 5)
    assert sample.shape == (LEAST_DOCUMENTS, 250)
    lengths = np.asarray(sample.sum(axis=1)).ravel()
    assert lengths.mean() == pytest.approx(SAMPLE_TOKENS, rel=0.05)
    assert (sample.data >= 1).all()
    assert (sample != sample_of(X, 5)).nnz == 0
    assert sample_of(X[:3], 5).shape == (3, 250)
    assert sample_of(X * np.float32(0.5), 5) is None


def rmse(theta, found):
    order = linear_sum_assignment(-(theta.T @ found))[1]
    return float(np.sqrt(((theta - found[:, order]) ** 2).sum(axis=1).mean()))


def test_mixtures_of_very_unequal_topics_are_found(tmp_path):
    """Without a sample, large topics stay in two; from blocks it is nearly the same."""
    sizes = 1.0 / np.arange(1, 21)
    X, theta, _ = planted(2.0 * sizes / sizes.sum(), 500, 100, 400)
    plain = LDA(20, random_state=0, learn_priors=False).fit(X)
    ours = LDA(20, random_state=0, n_jobs=1).fit(X)
    assert rmse(theta, ours.doc_topics_) < 0.7 * rmse(theta, plain.doc_topics_)
    threads = LDA(20, random_state=0, n_jobs=3).fit(X)
    np.testing.assert_array_equal(ours.doc_topics_, threads.doc_topics_)
    with BlockWriter(tmp_path / "blocks", X.shape[1]) as writer:
        for first in range(0, 500, 130):
            writer.append(X[first : first + 130])
    stored = LDA(20, random_state=0).fit(BlockMatrix.open(tmp_path / "blocks"))
    # Sums of blocks are rounded otherwise, and topics of tokens drawn with them.
    assert np.abs(stored.doc_topics_ - ours.doc_topics_).mean() < 1e-3


def zipf_planted(n_topics, n_documents, length, n_terms, seed=0):
    """Return counts and mixtures; words are as frequent as their ranks say."""
    rng = np.random.default_rng(seed)
    base = 1.0 / (np.arange(n_terms) + 2.7)
    phi = rng.dirichlet(0.1 * n_terms * base / base.sum(), size=n_topics)
    theta = rng.dirichlet(np.full(n_topics, 0.1), size=n_documents)
    shares = theta @ phi
    rows = [rng.multinomial(length, row / row.sum()) for row in shares]
    return sparse.csr_matrix(np.array(rows, np.float32)), theta


def test_words_that_are_drawn_one_by_one_are_told_from_bursts():
    """Only then all of a token leaves its word's counts; short texts cannot tell."""
    X, _, phi = planted(np.full(6, 0.2), 600, 60, 900)
    bursts = sparse.csr_matrix(X * 3)  # whoever writes a word writes it three times
    short = planted(np.full(6, 0.2), 600, 8, 900)[0]
    for counts, wanted in ((X, 1.0), (bursts, 0.0), (short, 0.0)):
        sample = Sample(sample_of(counts, 6), 0.0)
        sample.look(phi, np.full(6, 0.2), 0.1, 0)
        assert sample.independent == wanted
    zipf = zipf_planted(12, 600, 60, 4000)[0]
    for counts, wanted in ((zipf, 1.0), (sparse.csr_matrix(zipf * 2), 0.5)):
        options = {"callbacks": [seen := Seen()], "tol": 0.0, "max_iter": 14}
        LDA(12, random_state=0, **options).fit(counts)
        assert seen.share == wanted


class Seen:
    """A callback: how much of a token has left its word's counts."""

    def on_start(self, state):
        self.share = state.algorithm.own_word_share

    def on_iteration(self, state):
        self.on_start(state)
        return False

    def on_end(self, state):
        pass


def test_a_fit_of_such_words_goes_on_after_a_stop(tmp_path):
    X = zipf_planted(12, 400, 60, 900)[0]
    options = {"random_state": 0, "tol": 0.0}
    state = {"callbacks": [Resume(tmp_path / "state")], **options}
    LDA(12, max_iter=31, **state).fit(X)
    going_on = LDA(12, max_iter=38, **state).fit(X)
    whole = LDA(12, max_iter=38, **options).fit(X)
    np.testing.assert_array_equal(going_on.doc_topics_, whole.doc_topics_)


def test_looks_go_on_while_topics_move(monkeypatch):
    """Where words are drawn one by one, up to the last; else they end with the plan."""
    asked = []

    def look(sample, topics, alpha, eta, seed, free=None, threads=1):
        asked.append(seed)
        first = np.full(topics.shape[1], 0.5)
        return alpha, [Swap(0, 1, 2, first, 0.5)] if seed < 45 else []

    X = zipf_planted(6, 60, 40, 200)[0]
    monkeypatch.setattr(Sample, "look", look)
    for independent, wanted in ((0.0, [*AT]), (1.0, [*AT, 36, 42, 48])):
        monkeypatch.setattr(Sample, "independent", independent)
        asked.clear()
        LDA(6, random_state=0, tol=0.0, max_iter=80).fit(X)
        assert asked == wanted


def sided(name):
    """Return counts, mixtures and topics of unequal sizes, a side and its data."""
    sizes = 1.0 / np.arange(1, 21)
    X, theta, phi = planted(2.0 * sizes / sizes.sum(), 500, 100, 400)
    best = theta.argmax(axis=1)
    authors = [[f"author {k}"] for k in best]
    other = planted(2.0 * sizes / sizes.sum(), 500, 30, 90)[0]  # the same mixtures
    side, data = {
        "features": (Features(), theta[:, :2]),
        "author priors": (AuthorPriors(), authors),
        "more": (OtherCounts("more"), other),
        "seeds": (Seeds({"a": np.argsort(-phi[0])[:3].tolist()}), None),
    }[name]
    known = {} if data is None else {str(side.keyword): data}
    return X, theta, side, known


SIDED = {  # the most that is left of the error without it
    "features": 0.8,
    "author priors": 0.8,
    "more": 0.5,
    "seeds": 0.5,
}


@pytest.mark.parametrize("name", SIDED)
def test_so_they_are_with_sides_and_after_a_stop(name, tmp_path):
    X, theta, side, data = sided(name)
    options = {"sides": [side], "random_state": 0}
    plain = LDA(20, learn_priors=False, **options).fit(X, **data)
    ours = LDA(20, **options).fit(X, **data)
    assert rmse(theta, ours.doc_topics_) < SIDED[name] * rmse(theta, plain.doc_topics_)
    whole = LDA(20, max_iter=14, tol=0.0, **options).fit(X, **data)
    for stop in (6, 7, 12):  # right after topics were merged and split, and later
        state = {"callbacks": [Resume(tmp_path / f"state {stop}")], **options}
        LDA(20, max_iter=stop, tol=0.0, **state).fit(X, **data)
        going_on = LDA(20, max_iter=14, tol=0.0, **state).fit(X, **data)
        np.testing.assert_array_equal(going_on.doc_topics_, whole.doc_topics_)


def test_topics_that_more_than_words_tell_apart_are_not_free():
    X = planted(np.full(6, 0.3))[0]
    seeds = {"a": [0, 1], "b": [5]}
    model = LDA(6, sides=[Seeds(seeds)], random_state=0, max_iter=2).fit(X)
    side = model.sides_[0]
    context = model._side_context(X, n_topics=6)
    assert side.free_topics(None, context).tolist() == [False] * 2 + [True] * 4
    for side in (Labels(), Authors(), Response(), Links(), TimeStamps()):
        assert not side.free_topics(None, context).any()
