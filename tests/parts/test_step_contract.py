# SPDX-License-Identifier: BSD-3-Clause
"""Every step sees the same plain rows on every engine, and so does a user's own."""

import numpy as np
import pytest
from engine_reference import ReferenceEngine
from graph_support import random_graph
from scipy import sparse
from scipy.special import entr, xlogy
from step_support import (
    PAIRS,
    PHI_STEPS,
    THETA_STEPS,
    EntropyTheta,
    OwnPriorTheta,
    SeededPhi,
    TogetherTheta,
    name_of,
)

from topicfold import LDA, PLSA
from topicfold.corpus.blocks import BlockMatrix
from topicfold.engine import make_engine, protocol
from topicfold.exceptions import DataError
from topicfold.learn.learner import Learner
from topicfold.parts.steps import update_documents
from topicfold.persistence import load_estimator, save_estimator
from topicfold.phi import PhiStep
from topicfold.theta import ThetaStep

N_TOPICS = 9  # padded to 16
pytestmark = pytest.mark.filterwarnings(
    "ignore::topicfold.exceptions.EmptyDocumentWarning"
)


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(3)
    phi = rng.dirichlet(np.full(40, 0.1), size=N_TOPICS)
    theta = rng.dirichlet(np.full(N_TOPICS, 0.2), size=70)
    lengths = rng.integers(2, 60, 70)
    X = [rng.multinomial(n, p) for n, p in zip(lengths, theta @ phi, strict=True)]
    X[11] = 0 * X[11]
    return sparse.csr_matrix(np.array(X, dtype=float))


@pytest.fixture(scope="module")
def blocks(counts, tmp_path_factory):
    path = tmp_path_factory.mktemp("steps") / "corpus"
    return BlockMatrix.write(path, counts, block_size=16)


def fit(engine, theta_step, phi_step, n_iter=8):
    graph = random_graph(70, 0, density=0.1) if theta_step.needs_graph else None
    phi = np.random.default_rng(0).dirichlet(np.ones(40), size=N_TOPICS)
    em = Learner(engine, phi, theta_step, phi_step, graph=graph)
    history = [em.start()] + [em.iterate() for _ in range(n_iter)]
    return em, np.array(history)


def check_same(found, expected, rtol=1e-7):
    (em, history), (other, other_history) = found, expected
    np.testing.assert_allclose(history, other_history, rtol=1e-9)
    np.testing.assert_allclose(em.topics(), other.topics(), rtol=rtol, atol=1e-9)
    np.testing.assert_allclose(
        em.doc_topics(), other.doc_topics(), rtol=rtol, atol=1e-9
    )


def test_the_package_has_all_its_steps_here():
    names = {type(step).__name__ for step in (*THETA_STEPS, *PHI_STEPS)}
    assert {"ThetaStep", "DirichletTheta", "LaplacianTheta", "ParetoTheta"} <= names
    assert {"PhiStep", "DirichletPhi", "OrthogonalPhi"} <= names


@pytest.mark.parametrize("pair", PAIRS, ids=name_of)
def test_every_step_is_the_same_on_every_engine_and_never_falls(pair, counts, blocks):
    expected = fit(ReferenceEngine(counts, N_TOPICS), *pair)
    history = expected[1]
    assert np.diff(history).min() >= -1e-10 * np.abs(history).max()
    theta = expected[0].doc_topics()
    np.testing.assert_allclose(theta.sum(axis=1), 1.0)
    assert theta.min() >= 0
    np.testing.assert_allclose(expected[0].topics().sum(axis=1), 1.0)
    cpu = make_engine(counts, N_TOPICS, dtype=np.float64)
    check_same(fit(cpu, *pair), expected)
    in_blocks = make_engine(blocks, N_TOPICS, dtype=np.float64, n_jobs=2)
    if pair[0].needs_all_documents:
        name = type(pair[0]).__name__
        with pytest.raises(DataError, match=f"{name} needs all documents in one place"):
            fit(in_blocks, *pair)
    else:
        check_same(fit(in_blocks, *pair), expected)


@pytest.mark.parametrize("pair", PAIRS, ids=name_of)
def test_rows_a_few_at_a_time_make_no_difference(pair, counts, monkeypatch):
    whole = fit(make_engine(counts, N_TOPICS), *pair)
    monkeypatch.setattr(protocol, "ROWS_AT_ONCE", 7)
    parts = fit(make_engine(counts, N_TOPICS), *pair)
    np.testing.assert_allclose(parts[1], whole[1], rtol=1e-6)
    np.testing.assert_allclose(parts[0].topics(), whole[0].topics(), atol=1e-5)


def test_objective_of_own_steps_is_the_stated_one(counts):
    X = counts.toarray()
    em, history = fit(
        make_engine(counts, N_TOPICS, dtype=float), EntropyTheta(3.0), SeededPhi()
    )
    theta, phi = em.doc_topics(), em.topics()
    expected = xlogy(X, theta @ phi).sum() + 3.0 * entr(theta).sum()
    expected += 5.0 * sum(np.log(phi[k, [k, k + 1]]).sum() for k in range(N_TOPICS))
    assert history[-1] == pytest.approx(expected, rel=1e-10)
    plain = fit(make_engine(counts, N_TOPICS, dtype=float), ThetaStep(), PhiStep())[0]
    assert (theta > 0.05).sum() > (plain.doc_topics() > 0.05).sum()


class Watching(ThetaStep):
    """Notes what it is given."""

    safeguarded = False

    def __init__(self, seen):
        self.seen = seen

    def prepare(self, context):
        self.seen.append(("prepare", context.rows, len(context.lengths)))
        return "mine"

    def update(self, counts, theta, context):
        assert context.state == "mine"
        assert context.xp is np
        assert counts.shape == theta.shape == (len(context.lengths), N_TOPICS)
        np.testing.assert_allclose(theta.sum(axis=1), 1.0)
        np.testing.assert_allclose(counts.sum(axis=1), context.lengths, atol=1e-9)
        assert context.topics.shape == (40, N_TOPICS)
        np.testing.assert_allclose(context.topics.sum(axis=0), 1.0)
        assert sorted(context.word_order) == list(range(40))
        self.seen.append(context.rows)
        return 17.0 * counts + 1.0

    def value(self, theta, context):
        np.testing.assert_allclose(theta.sum(axis=1), 1.0)
        return float(np.arange(context.rows.start, context.rows.stop) @ theta[:, 0])


@pytest.mark.parametrize("where", ["cpu", "blocks"])
def test_a_step_is_told_which_documents_it_sees(where, counts, blocks, monkeypatch):
    monkeypatch.setattr(protocol, "ROWS_AT_ONCE", 16)
    seen = []
    step = Watching(seen)
    X = counts if where == "cpu" else blocks
    em, history = fit(make_engine(X, N_TOPICS, dtype=float), step, PhiStep(), n_iter=1)
    assert seen[0] == ("prepare", slice(0, 70), 70)
    assert seen[1:] == [slice(a, min(a + 16, 70)) for a in range(0, 70, 16)]
    theta, phi = em.doc_topics(), em.topics()
    expected = xlogy(counts.toarray(), theta @ phi).sum()
    assert history[-1] == pytest.approx(expected + np.arange(70) @ theta[:, 0])


class TooFar(ThetaStep):
    """Proposes what no document wants; only the safeguard can keep the objective."""

    safeguarded = True
    max_halvings = 3

    def update(self, counts, theta, context):
        return 1.0 / (counts + 0.01)


@pytest.mark.parametrize("where", ["cpu", "blocks"])
def test_the_safeguard_is_for_every_step(where, counts, blocks):
    X = counts if where == "cpu" else blocks
    em, history = fit(make_engine(X, N_TOPICS, dtype=float), TooFar(), PhiStep())
    assert np.diff(history).min() >= 0
    assert set(em.shares) <= {1.0, 0.5, 0.25, 0.125, 0.0}
    assert 0.0 in em.shares

    class Unguarded(TooFar):
        safeguarded = False

    _, falling = fit(make_engine(X, N_TOPICS, dtype=float), Unguarded(), PhiStep())
    assert np.diff(falling).min() < 0


class Wrong(ThetaStep):
    def __init__(self, how):
        self.how = how

    def update(self, counts, theta, context):
        if self.how == "negative":
            return counts - 1.0
        if self.how == "nan":
            return counts * np.nan
        return counts[:, :1]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("negative", "Wrong.update returned negative"),
        ("nan", "Wrong.update returned negative or infinite numbers, or NaN"),
        ("shape", "one row for each row of counts"),
    ],
)
def test_rows_that_are_none_are_refused(how, message, counts):
    with pytest.raises(DataError, match=message):
        PLSA(3, theta_step=Wrong(how), random_state=0).fit(counts)


def test_adding_a_step_touches_nothing_in_the_package(counts, blocks):
    """A class outside, through the public door, in memory and on blocks."""
    for step in (EntropyTheta, OwnPriorTheta, SeededPhi, TogetherTheta):
        assert not step.__module__.startswith("topicfold")
    options = {"random_state": 0, "max_iter": 15, "tol": 0.0}
    for theta_step in (EntropyTheta(0.5), OwnPriorTheta()):
        model = PLSA(4, theta_step=theta_step, phi_step=SeededPhi(), **options)
        whole = model.fit(counts).doc_topics_.copy()
        history = model.objective_history_
        assert np.diff(history).min() >= -1e-9 * abs(history[0])
        np.testing.assert_allclose(model.fit(blocks).doc_topics_, whole, atol=1e-6)
    with pytest.raises(DataError, match="TogetherTheta needs all documents"):
        PLSA(4, theta_step=TogetherTheta(), **options).fit(blocks)
    seeded = LDA(4, phi_step=SeededPhi(50.0), **options).fit(counts)
    assert all(seeded.components_[k, k] > 0.05 for k in range(4))


def test_a_step_that_can_be_imported_is_saved_and_loaded(counts, tmp_path):
    model = PLSA(4, theta_step=EntropyTheta(0.5), random_state=0, max_iter=5)
    model.fit(counts)
    file = tmp_path / "model.safetensors"
    save_estimator(model, file)
    back = load_estimator(file, trusted=[EntropyTheta])
    assert back.theta_step.weight == 0.5
    np.testing.assert_array_equal(back.components_, model.components_)
    np.testing.assert_array_equal(back.fit(counts).doc_topics_, model.doc_topics_)


def test_the_plain_step_and_views_of_packed_rows_cost_no_copy(counts):
    engine = make_engine(counts, N_TOPICS)
    em, _ = fit(engine, ThetaStep(), PhiStep(), n_iter=1)
    packed = em._pass.counts
    new, on_simplex = update_documents(
        ThetaStep(), packed, em.documents, em.theta_context, False
    )
    assert new is packed
    assert not on_simplex
    assert packed.shape == (70, 16)
    assert protocol.pack_rows(packed[:, :N_TOPICS], engine, packed) is packed
    copied = protocol.pack_rows(packed[:, :N_TOPICS].copy(), engine, packed)
    assert copied is not packed
    np.testing.assert_array_equal(copied, packed)
    # Neither other rows of the array nor other columns are the array.
    assert protocol.padded(packed[1:, :N_TOPICS]) is None
    assert protocol.padded(packed[:, 1:N_TOPICS]) is None
