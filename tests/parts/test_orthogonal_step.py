# SPDX-License-Identifier: BSD-3-Clause
"""The orthogonal φ-step: the normaliser, the sweep, the objective."""

from itertools import pairwise

import numpy as np
import pytest
from orthogonal_support import multiplier_reference, update_reference
from scipy import sparse

from topicfold.engine import make_engine
from topicfold.learn.learner import Learner
from topicfold.models.plsa import PLSA
from topicfold.phi import OrthogonalPhi
from topicfold.phi.orthogonal import find_multiplier, overlap, update_topics
from topicfold.theta import ThetaStep


@pytest.mark.parametrize("strength", [0.0, 1e-3, 1.0, 1e2, 1e4, 1e7])
@pytest.mark.parametrize("seed", range(5))
def test_normaliser_solves_even_where_the_multiplier_is_negative(strength, seed):
    rng = np.random.default_rng(seed)
    counts = rng.gamma(0.3, size=200) * (rng.random(200) < 0.7)
    others = rng.gamma(0.5, size=200) + 0.3
    used = counts > 0
    # In t = a - pole, for the sum a + strength · c would cancel digits.
    pole, t = find_multiplier(counts, others, strength)
    a = pole + t
    total = (counts[used] / (t + strength * (others - others[used].min())[used])).sum()
    assert abs(total - 1.0) < 1e-10
    reference = multiplier_reference(counts, others, strength)
    assert a == pytest.approx(reference, rel=1e-9, abs=1e-9)
    if strength >= 1e3:
        assert a < 0


def test_topics_sum_to_one_to_1e_10_with_negative_multipliers():
    rng = np.random.default_rng(0)
    counts = rng.gamma(0.2, size=(6, 300)) * 10
    topics = rng.dirichlet(np.ones(300), size=6)
    for strength in (0.1, 10.0, 1e3, 1e6):
        phi, total = topics.copy(), topics.sum(axis=0)
        update_topics(counts, strength, phi, total, np.empty(300))
        np.testing.assert_allclose(phi.sum(axis=1), 1.0, atol=1e-10)
        np.testing.assert_allclose(total, phi.sum(axis=0), atol=1e-12)
        assert phi.min() >= 0


def test_sweep_matches_the_reference():
    rng = np.random.default_rng(1)
    counts = rng.gamma(0.3, size=(4, 50)) * (rng.random((4, 50)) < 0.8)
    counts[2] = 0.0  # a topic without counts stays
    topics = rng.dirichlet(np.ones(50), size=4)
    phi, total = topics.copy(), topics.sum(axis=0)
    update_topics(counts, 30.0, phi, total, np.empty(50))
    np.testing.assert_allclose(phi, update_reference(counts, topics, 30.0), atol=1e-9)
    np.testing.assert_array_equal(phi[2], topics[2])


def test_overlap_is_the_sum_over_pairs():
    rng = np.random.default_rng(2)
    phi = rng.dirichlet(np.ones(20), size=5)
    pairs = phi @ phi.T
    assert overlap(phi.T) == pytest.approx(pairs.sum() - np.trace(pairs))


def run(X, step, n_iter=20, n_topics=4):
    engine = make_engine(X, n_topics, dtype=np.float64)
    phi = np.random.default_rng(0).dirichlet(np.ones(X.shape[1]), size=n_topics)
    em = Learner(engine, phi, ThetaStep(), step)
    history = [em.start()]
    history += [em.iterate() for _ in range(n_iter)]
    return em, np.array(history)


@pytest.mark.parametrize("eta", [1.0, 1.1])
@pytest.mark.parametrize("weight", [0.0, 0.1, 1.0, 10.0, 1000.0])
def test_objective_never_falls_and_is_the_stated_one(planted, weight, eta):
    X = planted[0]
    em, history = run(X, OrthogonalPhi(weight, eta=eta))
    assert np.diff(history).min() >= -1e-10 * np.abs(history).max()
    theta, phi = em.doc_topics(), em.topics()
    rows, columns = X.nonzero()
    expected = X.data @ np.log((theta @ phi)[rows, columns])
    expected -= em.phi_context.state * overlap(phi.T)
    if eta > 1.0:
        expected += (eta - 1.0) * np.log(phi).sum()
    assert history[-1] == pytest.approx(expected, rel=1e-8)


def test_overlap_falls_as_the_weight_grows(draw):
    X = draw(200, 60, 4, length=40, seed=3)
    noise = np.random.default_rng(0).poisson(0.3, X.shape)
    X = sparse.csr_matrix(X + sparse.csr_matrix(noise))
    overlaps = [
        overlap(run(X, OrthogonalPhi(weight), n_iter=60)[0].topics().T)
        for weight in (0.0, 0.1, 0.3, 1.0, 3.0)
    ]
    assert all(a > b for a, b in pairwise(overlaps))


def test_weight_is_free_of_scale(planted):
    X = planted[0].astype(float)
    once = run(X, OrthogonalPhi(2.0))[0].topics()
    twice = run(2.0 * X, OrthogonalPhi(2.0))[0].topics()
    np.testing.assert_allclose(once, twice, atol=1e-6)


def test_weight_zero_is_plsa_bit_for_bit(planted):
    plain = PLSA(4, random_state=0, max_iter=20).fit(planted[0])
    same = PLSA(4, phi_step=OrthogonalPhi(0.0), random_state=0, max_iter=20)
    same.fit(planted[0])
    np.testing.assert_array_equal(plain.components_, same.components_)
    np.testing.assert_array_equal(plain.doc_topics_, same.doc_topics_)


def test_papers_lambda_is_that_of_its_m_step(planted):
    em, _ = run(planted[0], OrthogonalPhi(paper_lambda=8.0), n_iter=1)
    assert em.phi_context.state == 4.0


@pytest.mark.parametrize(
    "step",
    [OrthogonalPhi(-1.0), OrthogonalPhi(eta=0.5), OrthogonalPhi(paper_lambda=np.inf)],
)
def test_bad_parameters_are_errors(step, planted):
    with pytest.raises(ValueError, match="OrthogonalPhi"):
        PLSA(2, phi_step=step).fit(planted[0])


def test_a_topic_of_less_than_one_token_is_updated_too():
    counts = np.array([[0.2, 0.1, 0.0], [3.0, 0.0, 4.0]])
    topics = np.full((2, 3), 1 / 3)
    phi, total = topics.copy(), topics.sum(axis=0)
    update_topics(counts, 0.5, phi, total, np.empty(3))
    np.testing.assert_allclose(phi, update_reference(counts, topics, 0.5), atol=1e-9)
    np.testing.assert_allclose(phi.sum(axis=1), 1.0)
