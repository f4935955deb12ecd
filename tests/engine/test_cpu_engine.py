# SPDX-License-Identifier: BSD-3-Clause
"""The CPU engine is the reference engine, faster."""

import numpy as np
import pytest
from engine_reference import ReferenceEngine
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from topicfold.engine import make_engine
from topicfold.engine.cpu import (
    GROUP_COST,
    TILE_SIZE,
    CpuEngine,
    document_layout,
    word_layout,
)
from topicfold.exceptions import DeviceError

TOLERANCE = {np.float32: 2e-4, np.float64: 1e-10}


def parameters_for(X, n_topics, seed=0):
    rng = np.random.default_rng(seed)
    theta = rng.gamma(0.7, size=(X.shape[0], n_topics)) + 0.05
    phi = rng.dirichlet(np.full(X.shape[1], 0.5), size=n_topics) + 1e-6
    return theta, phi


def both_passes(engine, theta, phi, *, link, max_updates, prior=0.1, tol=-1.0):
    # A negative tolerance never ends the updates of a row early.
    P = engine.pack_documents(theta)
    B = engine.pack_topics(phi)
    documents = engine.document_pass(
        P,
        B,
        prior=engine.pack_prior(prior),
        link=link,
        max_updates=max_updates,
        tol=tol,
    )
    words = engine.word_pass(P, B, np.empty_like(B))
    return {
        "parameters": engine.unpack_documents(P),
        "documents": engine.unpack_documents(documents.counts),
        "words": engine.unpack_topics(words),
        "loglik": documents.loglik,
        "n_updates": documents.n_updates,
        "totals": engine.topic_totals(words),
        "topics": engine.unpack_topics(
            engine.normalize_topics(words, 0.1, np.empty_like(words))
        ),
        "expected_log": engine.unpack_topics(
            engine.expected_log_topics(words, 0.1, np.empty_like(words))
        ),
        "log_totals": engine.log_totals(words, 0.2),
        "digamma_totals": engine.digamma_totals(words, 0.2),
        "document_bound": engine.document_bound(
            P + engine.pack_prior(0.1), np.full(engine.n_topics, 0.1)
        ),
        "topic_bound": engine.topic_bound(words, 0.3),
    }


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_topics", [1, 3, 8, 13, 40])
@pytest.mark.parametrize("link", ["identity", "digamma"])
@pytest.mark.parametrize("max_updates", [0, 3])
def test_passes_agree_with_reference(ragged, dtype, n_topics, link, max_updates):
    theta, phi = parameters_for(ragged, n_topics)
    ours = both_passes(
        CpuEngine(ragged, n_topics, dtype=dtype),
        theta,
        phi,
        link=link,
        max_updates=max_updates,
    )
    exact = both_passes(
        ReferenceEngine(ragged, n_topics),
        theta,
        phi,
        link=link,
        max_updates=max_updates,
    )
    for name, value in exact.items():
        np.testing.assert_allclose(
            ours[name],
            value,
            rtol=TOLERANCE[dtype],
            atol=TOLERANCE[dtype],
            err_msg=name,
        )


def test_rows_stop_one_by_one_like_the_reference(ragged):
    theta, phi = parameters_for(ragged, 5)
    options = {"link": "identity", "max_updates": 50, "tol": 1e-2}
    ours = both_passes(CpuEngine(ragged, 5, dtype=np.float64), theta, phi, **options)
    exact = both_passes(ReferenceEngine(ragged, 5), theta, phi, **options)
    np.testing.assert_array_equal(ours["n_updates"], exact["n_updates"])
    assert len(set(ours["n_updates"])) > 2


@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
def test_index_types(ragged, index_dtype):
    X = ragged.copy()
    X.indices = X.indices.astype(index_dtype)
    X.indptr = X.indptr.astype(index_dtype)
    theta, phi = parameters_for(X, 4)
    ours = both_passes(CpuEngine(X, 4), theta, phi, link="identity", max_updates=0)
    other = both_passes(
        CpuEngine(ragged, 4), theta, phi, link="identity", max_updates=0
    )
    np.testing.assert_array_equal(ours["words"], other["words"])


@pytest.mark.parametrize("link", ["identity", "digamma"])
def test_same_bits_for_any_number_of_threads(link):
    rng = np.random.default_rng(3)
    X = sparse.random(TILE_SIZE + 700, 300, density=0.02, format="csr", rng=rng)
    theta, phi = parameters_for(X, 11)
    results = [
        both_passes(
            CpuEngine(X, 11, threads=threads), theta, phi, link=link, max_updates=2
        )
        for threads in (1, 2, 5)
    ]
    for name, value in results[0].items():
        for other in results[1:]:
            np.testing.assert_array_equal(value, other[name], err_msg=name)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_work_of_words_is_that_of_their_non_zeros_and_tiles(monkeypatch, threads):
    monkeypatch.setattr("topicfold.engine.cpu.TILE_SIZE", 4)
    X = sparse.random(30, 9, 0.3, format="csr", dtype=np.float32, random_state=0)
    documents = document_layout(X, np.dtype(np.float32))
    work = np.diff(word_layout(documents).work(9, threads))
    there = X.toarray()[:, documents.word_order] > 0
    tiles = np.add.reduceat(there, range(0, 30, 4)) > 0
    expected = there.sum(axis=0) + GROUP_COST * tiles.sum(axis=0)
    np.testing.assert_array_equal(work, expected)


def test_several_tiles_agree_with_reference():
    rng = np.random.default_rng(4)
    X = sparse.random(TILE_SIZE + 50, 30, density=0.05, format="csr", rng=rng)
    theta, phi = parameters_for(X, 6)
    options = {"link": "identity", "max_updates": 0}
    ours = both_passes(CpuEngine(X, 6, dtype=np.float64), theta, phi, **options)
    exact = both_passes(ReferenceEngine(X, 6), theta, phi, **options)
    np.testing.assert_allclose(ours["words"], exact["words"], rtol=1e-9, atol=1e-12)


def test_large_vocabulary():
    rng = np.random.default_rng(5)
    X = sparse.random(20, 100_000, density=0.001, format="csr", rng=rng)
    theta, phi = parameters_for(X, 3)
    result = both_passes(
        CpuEngine(X, 3, dtype=np.float64), theta, phi, link="identity", max_updates=0
    )
    np.testing.assert_allclose(
        result["words"].sum(axis=0), np.asarray(X.sum(axis=0)).ravel(), atol=1e-9
    )


def test_one_document_one_word():
    X = sparse.csr_matrix([[3.0]])
    result = both_passes(
        CpuEngine(X, 1, dtype=np.float64),
        np.array([[1.0]]),
        np.array([[1.0]]),
        link="identity",
        max_updates=1,
        prior=0.0,
    )
    assert result["words"] == pytest.approx(3.0)
    assert result["loglik"] == pytest.approx(0.0, abs=1e-12)


@given(st.integers(0, 10_000), st.integers(1, 9), st.integers(1, 12), st.integers(1, 9))
def test_counts_keep_the_tokens(seed, n_documents, n_terms, n_topics):
    rng = np.random.default_rng(seed)
    X = sparse.csr_matrix(rng.poisson(0.8, size=(n_documents, n_terms)).astype(float))
    engine = CpuEngine(X, n_topics, dtype=np.float64)
    theta, phi = parameters_for(X, n_topics, seed)
    counts = engine.expected_counts(
        engine.pack_documents(theta), engine.pack_topics(phi)
    )
    np.testing.assert_allclose(counts.documents.sum(axis=1), X.sum(axis=1).A1)
    np.testing.assert_allclose(
        engine.unpack_topics(counts.words).sum(axis=0), X.sum(axis=0).A1, atol=1e-9
    )


def test_packing_is_undone_by_unpacking(ragged):
    engine = CpuEngine(ragged, 5, dtype=np.float64)
    theta, phi = parameters_for(ragged, 5)
    np.testing.assert_array_equal(
        engine.unpack_documents(engine.pack_documents(theta)), theta
    )
    np.testing.assert_array_equal(engine.unpack_topics(engine.pack_topics(phi)), phi)


def test_negative_pseudo_count_clips_at_zero(ragged):
    engine = CpuEngine(ragged, 3, dtype=np.float64)
    _, phi = parameters_for(ragged, 3)
    counts = engine.pack_topics(phi * 20)
    topics = engine.normalize_topics(counts, -0.3, np.empty_like(counts))
    expected = np.maximum(phi * 20 - 0.3, 0)
    np.testing.assert_allclose(
        engine.unpack_topics(topics), expected / expected.sum(axis=1, keepdims=True)
    )


def test_topic_without_counts_becomes_uniform(ragged):
    engine = CpuEngine(ragged, 2, dtype=np.float64)
    counts = engine.pack_topics(np.vstack([np.ones(50), np.zeros(50)]))
    topics = engine.normalize_topics(counts, 0.0, counts)
    np.testing.assert_allclose(engine.unpack_topics(topics), 1 / 50)


def test_unknown_device_is_an_error(ragged):
    with pytest.raises(DeviceError, match="abacus"):
        make_engine(ragged, 2, device="abacus")


def test_one_e_step_and_mixtures_are_the_references(ragged):
    theta, phi = parameters_for(ragged, 5)
    results = []
    for engine in (CpuEngine(ragged, 5, dtype=np.float64), ReferenceEngine(ragged, 5)):
        P, B = engine.pack_documents(theta), engine.pack_topics(phi)
        counts = engine.expected_counts(P, B)
        P[0] = 0  # no weights: uniform
        results.append(
            (
                engine.unpack_documents(counts.documents),
                engine.unpack_topics(counts.words),
                counts.loglik,
                engine.mixtures(P),
            )
        )
    for ours, exact in zip(*results, strict=True):
        np.testing.assert_allclose(ours, exact, rtol=1e-10, atol=1e-12)
    mixtures = results[0][3]
    np.testing.assert_allclose(mixtures[0], 0.2)
    np.testing.assert_allclose(mixtures[4], theta[4] / theta[4].sum())
