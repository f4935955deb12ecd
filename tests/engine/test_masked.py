# SPDX-License-Identifier: BSD-3-Clause
"""The pass over the topics that documents may use: that of zeros elsewhere."""

import numpy as np
import pytest
from engine_reference import ReferenceEngine
from scipy import sparse

from topicfold.engine import make_engine
from topicfold.engine.cpu import CpuEngine
from topicfold.engine.masked import MaskedEngine
from topicfold.engine.protocol import OwnShare

K, V, D = 11, 40, 25


@pytest.fixture(scope="module", params=["most words", "few words"])
def case(request):
    """Topics that have most words or few; one has no document."""
    rng = np.random.default_rng(0)
    often = 0.6 if request.param == "most words" else 0.05
    X = sparse.csr_matrix(rng.poisson(often, (D, V)).astype(float))
    mask = rng.random((D, K)) < 0.3
    mask[:, 0] = True
    if often == 0.6:
        mask[3] = True  # labels not known
    else:
        mask[:, 5] = False
    phi = rng.dirichlet(np.full(V, 0.3), K)
    scale = np.where(mask, rng.uniform(0.5, 1.0, (D, K)), 0.0)
    floor = scale * rng.uniform(0.05, 0.3, (D, K))
    return X, sparse.csr_matrix(mask.astype(float)), phi, scale, floor


def passed(engine, case, link, groups, updates=0):
    """Return counts of documents and words, log-likelihood and parameters."""
    _, _, phi, scale, floor = case
    weights = engine.pack_topics(phi)
    start = floor + scale * np.linspace(1, 2, K)
    P = engine.pack_documents(start)
    documents = OwnShare(engine.pack_documents(scale), engine.pack_documents(floor))
    options = {"link": link, "documents": documents}
    if link == "collapsed":
        rows = np.stack([np.linspace(0.001, 0.01, K), np.linspace(0.02, 0.001, K)])
        if groups:
            words = (np.arange(V) % 2)[engine.word_order].astype(np.int32)
            packed = np.stack([engine.pack_prior(row) for row in rows])
            options["own"] = OwnShare(packed, 0.1 * packed, words)
        else:
            scale = engine.pack_prior(rows[0])
            options["own"] = OwnShare(scale, engine.pack_prior(0.1 * rows[0]))
    else:
        options |= {"max_updates": updates, "tol": 1e-3}
    found = engine.document_pass(P, weights, **options)
    words = engine.word_pass(P, weights, np.empty_like(weights))
    unpacked = engine.unpack_topics(words), engine.unpack_documents(P)
    return engine.unpack_documents(found.counts), *unpacked, found.loglik


@pytest.mark.parametrize(
    ("link", "groups", "updates"),
    [("identity", False, 0), ("identity", False, 7)]
    + [("collapsed", groups, 0) for groups in (False, True)],
)
def test_it_is_the_dense_pass_with_zeros(case, link, groups, updates):
    X, allowed, *_ = case
    masked = MaskedEngine(X, K, allowed, dtype=np.float64)
    expected = passed(
        ReferenceEngine(X, K, dtype=np.float64), case, link, groups, updates
    )
    dense = passed(CpuEngine(X, K, dtype=np.float64), case, link, groups, updates)
    found = passed(masked, case, link, groups, updates)
    for one, two, three in zip(found, expected, dense, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(one, three, rtol=1e-10, atol=1e-12)


def test_the_same_bits_for_any_number_of_threads(case):
    X, allowed, *_ = case
    one = passed(MaskedEngine(X, K, allowed), case, "collapsed", False)
    for threads in (2, 5):
        engine = MaskedEngine(X, K, allowed, threads=threads)
        other = passed(engine, case, "collapsed", False)
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_topics_and_sums_are_those_of_the_reference(case):
    X, allowed, phi, _, floor = case
    masked = MaskedEngine(X, K, allowed, dtype=np.float64)
    reference = ReferenceEngine(X, K, dtype=np.float64)
    counts = 10 * phi * (allowed.T @ X > 0).toarray()
    counts[2] = 0.0
    for prior in (0.1, 0.0, -0.05):
        topics = []
        for engine in (masked, reference):
            packed = engine.pack_topics(counts)
            with np.errstate(invalid="ignore"):
                engine.normalize_topics(packed, prior, packed)
            topics.append(engine.unpack_topics(packed))
        if prior <= 0:  # a topic without words is even; the reference has no rule
            empty = np.maximum(counts + prior, 0).sum(axis=1) == 0
            np.testing.assert_allclose(topics[0][empty], 1 / V)
            topics = [topic[~empty] for topic in topics]
        np.testing.assert_allclose(topics[0], topics[1])
    packed = masked.pack_topics(counts)
    np.testing.assert_allclose(masked.topic_totals(packed), counts.sum(axis=1))
    np.testing.assert_allclose(
        masked.log_totals(packed, 0.3), np.log(counts + 0.3).sum(axis=1)
    )
    documents = masked.pack_documents(floor)
    np.testing.assert_allclose(masked.topic_totals(documents), floor.sum(axis=0))
    np.testing.assert_allclose(
        masked.documents_of_topics(documents), np.minimum(floor, 1).sum(axis=0)
    )
    theta = masked.mixtures(documents)
    np.testing.assert_allclose(theta, floor / floor.sum(axis=1, keepdims=True))


def test_its_arrays_take_as_much_room_as_is_used(case):
    X, allowed, phi, *_ = case
    engine = MaskedEngine(X, K, allowed)
    packed = engine.pack_documents(np.broadcast_to(1.0, (D, K)))
    assert packed.shape == (allowed.nnz,)
    words = (allowed.T @ X).nnz  # of every topic
    assert engine.pack_topics(phi).shape == (1, words + K)
    with pytest.raises(ValueError, match="digamma"):
        engine.document_pass(packed, engine.pack_topics(phi), link="digamma")


def test_it_is_chosen_where_documents_use_few_topics():
    X = sparse.csr_matrix(np.ones((6, 9)))
    for n_topics, n_own, chosen in ((16, 2, True), (16, 3, False), (2000, 65, False)):
        allowed = np.zeros((6, n_topics))
        allowed[:, :n_own] = 1.0
        engine = make_engine(X, n_topics, allowed=sparse.csr_matrix(allowed))
        assert engine.packs_allowed is chosen
