# SPDX-License-Identifier: BSD-3-Clause
"""The orthogonal φ-step by its equations: λ of a corpus, one sweep, optimality."""

import numpy as np
import pytest
from orthogonal_support import update_reference
from scipy import sparse

from topicfold.engine import make_engine
from topicfold.parts import Context
from topicfold.parts import steps as base
from topicfold.parts.steps import prepare_step
from topicfold.phi import OrthogonalPhi
from topicfold.phi.orthogonal import find_multiplier, overlap, update_topics


def make_context(step, n_topics=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.poisson(1.5, size=(25, 12)) * (rng.random((25, 12)) < 0.7)
    engine = make_engine(sparse.csr_matrix(X, dtype=float), n_topics, dtype=np.float64)
    phi = rng.dirichlet(np.ones(12), size=n_topics)
    context = Context.of(engine, engine.pack_topics(phi))
    prepare_step(step, context)
    return context, X.astype(float), phi


def test_lambda_is_nats_a_token_if_every_topic_were_the_corpus():
    context, X, _ = make_context(OrthogonalPhi(2.5))
    shares = X.sum(axis=0) / X.sum()
    corpus_topics = np.tile(shares, (3, 1))
    strength = context.state
    assert strength * overlap(corpus_topics.T) == pytest.approx(2.5 * X.sum())
    assert strength == pytest.approx(2.5 * X.sum() / (3 * 2 * (shares @ shares)))


def test_one_topic_has_nothing_to_overlap_with():
    context, X, _ = make_context(OrthogonalPhi(2.5), n_topics=1)
    assert context.state == 0
    counts = context.engine.pack_topics(X.sum(axis=0)[None])
    new = base.update_topics(OrthogonalPhi(2.5), counts, counts, context)
    expected = X.sum(axis=0) / X.sum()
    np.testing.assert_allclose(context.engine.unpack_topics(new)[0], expected)


@pytest.mark.parametrize("eta", [1.0, 1.4])
@pytest.mark.parametrize("weight", [0.0, 0.5, 20.0])
def test_an_update_is_the_sweep_with_twice_lambda_on_counts_with_the_prior(weight, eta):
    step = OrthogonalPhi(weight, eta=eta)
    context, _, phi = make_context(step)
    engine, strength = context.engine, context.state
    counts = np.random.default_rng(1).gamma(1.0, size=(3, 12)) * 9
    old = engine.pack_topics(phi)
    new = base.update_topics(step, engine.pack_topics(counts), old, context)
    if weight:
        expected = update_reference(counts + eta - 1, phi, 2 * strength)
    else:
        expected = counts + eta - 1
        expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(engine.unpack_topics(new), expected, atol=1e-9)
    np.testing.assert_array_equal(engine.unpack_topics(old), phi)
    value = -strength * (expected @ expected.T)[~np.eye(3, dtype=bool)].sum()
    value += (eta - 1) * np.log(expected).sum()
    assert step.value(new, context) == pytest.approx(value, rel=1e-8)


def test_a_topic_after_its_update_is_optimal_given_the_others():
    """``N_w / φ_w − strength · c_w`` is one number for all words it has."""
    rng = np.random.default_rng(2)
    counts = rng.gamma(0.5, size=(4, 30)) * 20
    phi = rng.dirichlet(np.ones(30), size=4)
    total = phi.sum(axis=0)
    update_topics(counts, 40.0, phi, total, np.empty(30))
    others = phi[:3].sum(axis=0)
    multipliers = counts[3] / phi[3] - 40.0 * others
    np.testing.assert_allclose(multipliers, multipliers[0], rtol=1e-8, atol=1e-6)


def test_only_words_with_counts_make_poles():
    counts, others = np.array([0.0, 3.0, 1.0]), np.array([0.0, 2.0, 5.0])
    pole, t = find_multiplier(counts, others, 10.0)
    assert pole == -20.0
    assert 3.0 / t + 1.0 / (t + 30.0) == pytest.approx(1.0, abs=1e-13)
    # One word, or equal overlaps: the multiplier is the count behind the pole.
    pole, t = find_multiplier(np.array([0.0, 7.0, 0.0]), others, 10.0)
    assert (pole, t) == (-20.0, pytest.approx(7.0))
    pole, t = find_multiplier(counts, np.full(3, 2.0), 10.0)
    assert (pole, t) == (-20.0, pytest.approx(4.0))


@pytest.mark.parametrize("strength", [1e-6, 1.0, 1e9, 1e15])
def test_the_root_is_found_however_far_the_poles_are_apart(strength):
    counts = np.array([1e-8, 5.0, 1e4, 0.0, 2.0])
    others = np.array([0.0, 1e-9, 0.5, 0.0, 3.0])
    _, t = find_multiplier(counts, others, strength)
    used = counts > 0
    total = (counts[used] / (t + strength * others[used])).sum()
    assert total == pytest.approx(1.0, abs=1e-10)
    assert t > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": -0.1}, r"'weight' parameter of OrthogonalPhi must be .*\[0"),
        ({"weight": np.nan}, "weight"),
        ({"paper_lambda": -1.0}, "paper_lambda"),
        ({"eta": 0.99}, r"'eta' parameter of OrthogonalPhi must be .*\[1"),
        ({"eta": np.inf}, "eta"),
    ],
    ids=["negative", "nan", "paper", "eta", "infinite"],
)
def test_parameters_outside_their_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make_context(OrthogonalPhi(**options))


@pytest.mark.parametrize(
    ("options", "orthogonal"),
    [({"weight": 0.0}, False), ({"paper_lambda": 0.0}, False), ({"eta": 1.0}, True)],
    ids=["weight", "paper", "eta"],
)
def test_zero_and_one_are_in_range(options, orthogonal):
    context, *_ = make_context(OrthogonalPhi(**options))
    assert (context.state > 0) == orthogonal
