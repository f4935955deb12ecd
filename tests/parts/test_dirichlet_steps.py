# SPDX-License-Identifier: BSD-3-Clause
"""Dirichlet steps: what they add to counts and to the objective."""

import numpy as np
import pytest
from scipy import sparse

from topicfold.engine import make_engine
from topicfold.learn.learner import Learner
from topicfold.parts import Context
from topicfold.parts.steps import (
    PhiStep,
    ThetaStep,
    documents_value,
    prepare_step,
    update_documents,
    update_topics,
)
from topicfold.phi import DirichletPhi
from topicfold.theta import DirichletTheta


@pytest.fixture
def context():
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix(rng.poisson(2.0, size=(9, 7)).astype(float))
    engine = make_engine(X, 3, dtype=np.float64)
    phi = rng.dirichlet(np.ones(7), size=3)
    return Context.of(engine, engine.pack_topics(phi))


def draw(n_rows, seed=1):
    return np.random.default_rng(seed).gamma(1.0, size=(n_rows, 3)) + 0.1


def test_document_step_adds_alpha_minus_one_to_every_count(context):
    engine, counts = context.engine, draw(9)
    packed = engine.pack_documents(counts)
    new, _ = update_documents(DirichletTheta(1.7), packed, packed, context, False)
    np.testing.assert_allclose(engine.unpack_documents(new), counts + 0.7)
    np.testing.assert_allclose(engine.unpack_documents(packed), counts)


def test_topic_step_adds_eta_minus_one_and_normalises(context):
    engine, counts = context.engine, draw(7).T
    new = update_topics(DirichletPhi(1.3), engine.pack_topics(counts), None, context)
    expected = counts + 0.3
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(engine.unpack_topics(new), expected)
    plain = update_topics(PhiStep(), engine.pack_topics(counts), None, context)
    np.testing.assert_allclose(
        engine.unpack_topics(plain), counts / counts.sum(axis=1, keepdims=True)
    )


def test_values_are_log_priors_of_mixtures_and_topics(context):
    """Rows of θ may come in any scale; topics sum to one."""
    engine, rows = context.engine, draw(9)
    theta = rows / rows.sum(axis=1, keepdims=True)
    packed = engine.pack_documents(rows)
    found = documents_value(DirichletTheta(1.7), packed, context, False)
    assert found == pytest.approx(0.7 * np.log(theta).sum())
    phi = draw(7).T / draw(7).T.sum(axis=1, keepdims=True)
    found = DirichletPhi(1.3).value(engine.pack_topics(phi), context)
    assert found == pytest.approx(0.3 * np.log(phi).sum())


def test_concentration_one_is_no_prior_even_where_shares_are_zero(context):
    engine = context.engine
    rows = np.eye(3)[np.arange(9) % 3]
    assert DirichletTheta(1.0).value(engine.pack_documents(rows), context) == 0
    topics = np.eye(3, 7)
    assert DirichletPhi(1.0).value(engine.pack_topics(topics), context) == 0
    for step in (DirichletTheta(1.0), DirichletPhi(1.0)):
        prepare_step(step, context)  # 1 is allowed
    assert ThetaStep().value(rows, context) == 0
    assert PhiStep().value(topics, context) == 0


def test_objective_of_both_steps_is_the_posterior(context):
    rng = np.random.default_rng(3)
    X = rng.poisson(1.0, size=(20, 10)).astype(float)
    engine = make_engine(sparse.csr_matrix(X), 3, dtype=np.float64)
    start = rng.dirichlet(np.ones(10), size=3)
    em = Learner(engine, start, DirichletTheta(1.4), DirichletPhi(1.2))
    history = [em.start()] + [em.iterate() for _ in range(6)]
    theta, phi = em.doc_topics(), em.topics()
    expected = (X * np.log(theta @ phi)).sum()
    expected += 0.4 * np.log(theta).sum() + 0.2 * np.log(phi).sum()
    assert history[-1] == pytest.approx(expected)
    assert np.diff(history).min() >= 0


@pytest.mark.parametrize("value", [0.999, 0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize(
    ("step", "name"), [(DirichletTheta, "alpha"), (DirichletPhi, "eta")]
)
def test_concentrations_below_one_are_refused(context, step, name, value):
    with pytest.raises(ValueError, match=rf"'{name}' parameter of .* range \[1"):
        prepare_step(step(value), context)
