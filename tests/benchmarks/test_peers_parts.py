# SPDX-License-Identifier: BSD-3-Clause
"""The parts of the benchmark: split, evaluator, clock, our own adapter."""

import time

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks.peers.adapters.base import normalise_rows
from benchmarks.peers.adapters.ours import OurPLSA
from benchmarks.peers.adapters.sklearn_lda import SklearnLDABatch
from benchmarks.peers.clock import PassClock
from benchmarks.peers.corpora import hold_out, save_test, zipf_corpus
from benchmarks.peers.evaluate import Evaluator


@pytest.fixture(scope="module")
def split():
    return hold_out(zipf_corpus(80, 50, 4, 30, seed=1), seed=2)


def test_the_halves_of_test_documents_add_up(split):
    counts = zipf_corpus(80, 50, 4, 30, seed=1)
    assert split.train.shape == (60, 50)
    assert split.fold.shape == split.score.shape == (20, 50)
    assert split.train.sum() + split.fold.sum() + split.score.sum() == counts.sum()
    folded = np.asarray(split.fold.sum(axis=1)).ravel()
    scored = np.asarray(split.score.sum(axis=1)).ravel()
    assert set(folded - scored) <= {0, 1}
    assert split.score.data.min() > 0


def test_the_split_depends_on_the_seed_alone(split):
    counts = zipf_corpus(80, 50, 4, 30, seed=1)
    again, other = hold_out(counts, seed=2), hold_out(counts, seed=3)
    assert (again.fold != split.fold).nnz == 0
    assert (other.fold != split.fold).nnz > 0


def _reference_perplexity(topics, split):
    words = np.asarray(split.train.sum(axis=0)).ravel() + 1.0
    unigram = words / words.sum()
    loglik = 0.0
    for fold, score in zip(split.fold.toarray(), split.score.toarray(), strict=True):
        theta = np.full(len(topics), 1 / len(topics))
        for _ in range(50):
            prob = theta @ topics
            ratio = np.divide(fold, prob, out=np.zeros_like(prob), where=prob > 0)
            theta = 0.1 + theta * (topics @ ratio)
            theta /= theta.sum()
        loglik += score @ np.log(0.99 * (theta @ topics) + 0.01 * unigram)
    return np.exp(-loglik / split.score.sum())


@pytest.mark.parametrize("unseen", [0, 10])
def test_the_evaluator_agrees_with_a_plain_one(split, tmp_path, unseen):
    topics = np.random.default_rng(0).dirichlet(np.full(50, 0.3), size=6)
    topics[:, :unseen] = 0.0
    topics = normalise_rows(topics)
    save_test(split, tmp_path / "test.npz")
    evaluator = Evaluator.load(tmp_path / "test.npz")
    expected = _reference_perplexity(topics, split)
    assert evaluator.perplexity(topics) == pytest.approx(expected, rel=1e-4)


def test_the_evaluator_refuses_what_is_not_topics(split, tmp_path):
    save_test(split, tmp_path / "test.npz")
    evaluator = Evaluator.load(tmp_path / "test.npz")
    with pytest.raises(ValueError, match="not 1"):
        evaluator.perplexity(np.ones((3, 50)))
    with pytest.raises(ValueError, match="shape"):
        evaluator.perplexity(np.ones((3, 4)))


def test_the_clock_stands_still_while_evaluating():
    clock = PassClock(lambda clock, topics: bool(time.sleep(0.3)) or clock.passes >= 3)
    before = time.perf_counter()
    clock.start()
    assert not clock(lambda: None)
    assert clock(lambda: None, 2)
    # However busy the machine is: the two evaluations take 0.3 seconds at least.
    assert clock.seconds <= time.perf_counter() - before - 0.6
    assert clock.seconds_a_pass() == [clock.laps[1][1] / 2]


def test_partial_fit_with_step_one_is_batch_lda(split):
    from sklearn.decomposition import LatentDirichletAllocation

    expected = LatentDirichletAllocation(3, max_iter=4, random_state=5)
    expected.fit(split.train)
    seen = []
    SklearnLDABatch().run(
        split.train,
        n_topics=3,
        threads=1,
        seed=5,
        max_passes=4,
        on_pass=lambda topics, passes=1: seen.append(topics()),
    )
    assert len(seen) == 4
    np.testing.assert_array_equal(seen[-1], normalise_rows(expected.components_))


class _FakePLSA:
    """Follows the callback protocol, does nothing else."""

    def __init__(self, n_components, *, max_iter, callbacks, **options):
        self.n_components, self.max_iter = n_components, max_iter
        self.callbacks, self.options = callbacks, options

    def fit(self, X):
        self.topics = lambda: np.ones((self.n_components, X.shape[1]))
        for _ in range(self.max_iter):
            if any(callback.on_iteration(self) for callback in self.callbacks):
                return self
        return self


def test_our_adapter_stops_when_told(monkeypatch):
    import topicfold

    monkeypatch.setitem(vars(topicfold), "PLSA", _FakePLSA)
    clock = PassClock(lambda clock, topics: clock.passes == 2)
    clock.start()
    counts = sp.csr_matrix(np.eye(4))
    options = {"n_topics": 2, "threads": 1, "seed": 0, "max_passes": 9}
    OurPLSA().run(counts, on_pass=clock, **options)
    assert clock.passes == 2
