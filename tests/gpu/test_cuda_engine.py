# SPDX-License-Identifier: BSD-3-Clause
"""The CUDA engine is the reference engine, faster."""

import numpy as np
import pytest
from engine_reference import ReferenceEngine
from scipy import sparse

from topicfold.core.counts import OuterSum
from topicfold.engine import make_engine
from topicfold.engine.cuda import engine as cuda_engine
from topicfold.engine.cuda import layout
from topicfold.engine.cuda.engine import CudaEngine
from topicfold.engine.protocol import on_device, to_numpy
from topicfold.exceptions import DeviceError
from topicfold.infer.fold_in import fold_in

# The tolerance that the engine's docstring states.
TOLERANCE = {np.float32: 1e-4, np.float64: 1e-9}


def parameters_for(X, n_topics, seed=0):
    rng = np.random.default_rng(seed)
    theta = rng.gamma(0.7, size=(X.shape[0], n_topics)) + 0.05
    phi = rng.dirichlet(np.full(X.shape[1], 0.5), size=n_topics) + 1e-6
    return theta, phi


def everything(engine, theta, phi, *, link, max_updates, prior=0.1, tol=-1.0):
    P, B = engine.pack_documents(theta), engine.pack_topics(phi)
    documents = engine.document_pass(
        P,
        B,
        prior=engine.pack_prior(prior),
        link=link,
        max_updates=max_updates,
        tol=tol,
    )
    words = engine.word_pass(P, B, np.empty_like(B))
    prior_of_bound = np.full(engine.n_topics, 0.1)
    return {
        "parameters": engine.unpack_documents(P),
        "documents": engine.unpack_documents(documents.counts),
        "mixtures": engine.mixtures(P),
        "words": engine.unpack_topics(words),
        "loglik": documents.loglik,
        "n_updates": to_numpy(documents.n_updates),
        "totals": engine.topic_totals(words),
        "topics": engine.unpack_topics(
            engine.normalize_topics(words, 0.1, np.empty_like(words))
        ),
        "expected": engine.unpack_topics(
            engine.expected_log_topics(words, 0.1, np.empty_like(words))
        ),
        "log_totals": engine.log_totals(words, 0.2),
        "digamma_totals": engine.digamma_totals(words, 0.2),
        "document_bound": engine.document_bound(
            P + engine.pack_prior(0.1), prior_of_bound
        ),
        "topic_bound": engine.topic_bound(words, 0.3),
    }


def assert_same(ours, exact, tolerance):
    for name, value in exact.items():
        np.testing.assert_allclose(
            ours[name], value, rtol=tolerance, atol=tolerance, err_msg=name
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_topics", [1, 3, 16, 40, 70, 128, 150, 256, 300, 1000])
@pytest.mark.parametrize("link", ["identity", "digamma"])
def test_passes_agree_with_reference(ragged, dtype, n_topics, link):
    theta, phi = parameters_for(ragged, n_topics)
    for max_updates in (0, 3):
        options = {"link": link, "max_updates": max_updates}
        engine = CudaEngine(ragged, n_topics, dtype=dtype)
        ours = everything(engine, theta, phi, **options)
        exact = everything(ReferenceEngine(ragged, n_topics), theta, phi, **options)
        assert_same(ours, exact, TOLERANCE[dtype])


def test_most_topics(ragged):
    theta, phi = parameters_for(ragged, 2048)
    options = {"link": "identity", "max_updates": 0}
    ours = everything(CudaEngine(ragged, 2048), theta, phi, **options)
    exact = everything(ReferenceEngine(ragged, 2048), theta, phi, **options)
    assert_same(ours, exact, TOLERANCE[np.float32])


def test_rows_stop_one_by_one_like_the_reference(ragged):
    theta, phi = parameters_for(ragged, 5)
    options = {"link": "identity", "max_updates": 50, "tol": 1e-2}
    engine = CudaEngine(ragged, 5, dtype=np.float64)
    ours = everything(engine, theta, phi, **options)
    exact = everything(ReferenceEngine(ragged, 5), theta, phi, **options)
    np.testing.assert_array_equal(ours["n_updates"], exact["n_updates"])
    assert len(set(ours["n_updates"])) > 2


def zipf_corpus(n_documents=3000, n_terms=400, seed=0):
    """Words of every frequency: lists of many stretches, of one, and empty ones."""
    rng = np.random.default_rng(seed)
    share = 0.9 / (1.0 + np.arange(n_terms) / 4.0)
    dense = rng.random((n_documents, n_terms)) < share
    dense[:, -5:] = False
    counts = dense * rng.integers(1, 5, dense.shape)
    return sparse.csr_matrix(counts.astype(np.float32))


@pytest.mark.parametrize("tile", [0, 300, 1000], ids=["no-tiles", "small", "large"])
def test_long_words_are_joined(tile, monkeypatch):
    monkeypatch.setattr(layout, "STRETCH", 128)
    X = zipf_corpus()
    theta, phi = parameters_for(X, 12)
    engine = CudaEngine(X, 12, dtype=np.float64, tile_bytes=tile * 16 * 8)
    assert engine._words.n_slots > 50
    assert (to_numpy(engine._words.stretches.slot) < 0).sum() > 50
    options = {"link": "identity", "max_updates": 0}
    ours = everything(engine, theta, phi, **options)
    exact = everything(ReferenceEngine(X, 12), theta, phi, **options)
    assert_same(ours, exact, TOLERANCE[np.float64])


@pytest.mark.parametrize("link", ["identity", "digamma"])
def test_same_bits_in_every_run(link):
    X = zipf_corpus()
    theta, phi = parameters_for(X, 100)
    options = {"link": link, "max_updates": 2}
    runs = [everything(CudaEngine(X, 100), theta, phi, **options) for _ in range(3)]
    for name, value in runs[0].items():
        for other in runs[1:]:
            np.testing.assert_array_equal(value, other[name], err_msg=name)


def test_counts_keep_the_tokens():
    X = zipf_corpus()
    engine = CudaEngine(X, 33)
    theta, phi = parameters_for(X, 33)
    counts = engine.expected_counts(
        engine.pack_documents(theta), engine.pack_topics(phi)
    )
    assert on_device(counts.documents)
    np.testing.assert_allclose(
        engine.unpack_documents(counts.documents).sum(axis=1), X.sum(axis=1).A1, 1e-5
    )
    np.testing.assert_allclose(
        engine.unpack_topics(counts.words).sum(axis=0), X.sum(axis=0).A1, 1e-5
    )


def test_a_given_order_of_words_changes_nothing(ragged):
    theta, phi = parameters_for(ragged, 7)
    options = {"link": "identity", "max_updates": 1}
    order = np.random.default_rng(0).permutation(ragged.shape[1])
    engine = CudaEngine(ragged, 7, dtype=np.float64, word_order=order)
    exact = everything(ReferenceEngine(ragged, 7), theta, phi, **options)
    assert_same(everything(engine, theta, phi, **options), exact, 1e-9)


@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
def test_index_types(ragged, index_dtype):
    X = ragged.copy()
    X.indices = X.indices.astype(index_dtype)
    X.indptr = X.indptr.astype(index_dtype)
    theta, phi = parameters_for(X, 4)
    options = {"link": "identity", "max_updates": 0}
    exact = everything(ReferenceEngine(ragged, 4), theta, phi, **options)
    assert_same(everything(CudaEngine(X, 4), theta, phi, **options), exact, 1e-4)


def test_packing(ragged):
    engine = CudaEngine(ragged, 5, dtype=np.float64)
    theta, phi = parameters_for(ragged, 5)
    np.testing.assert_array_equal(
        engine.unpack_documents(engine.pack_documents(theta)), theta
    )
    np.testing.assert_array_equal(engine.unpack_topics(engine.pack_topics(phi)), phi)
    rows, columns = np.arange(40.0), np.arange(5.0)
    for repeated in (
        np.broadcast_to(0.25, (40, 5)),
        np.broadcast_to(columns, (40, 5)),
        np.broadcast_to(rows[:, None], (40, 5)),
        OuterSum(rows, columns),
    ):
        packed = engine.pack_documents(repeated)
        np.testing.assert_array_equal(
            engine.unpack_documents(packed), np.asarray(repeated)
        )
        assert float(packed[:, 5:].sum()) == 0.0


def test_negative_pseudo_count_clips_at_zero(ragged):
    engine = CudaEngine(ragged, 3, dtype=np.float64)
    _, phi = parameters_for(ragged, 3)
    counts = engine.pack_topics(phi * 20)
    topics = engine.normalize_topics(counts, -0.3, np.empty_like(counts))
    expected = np.maximum(phi * 20 - 0.3, 0)
    np.testing.assert_allclose(
        engine.unpack_topics(topics), expected / expected.sum(axis=1, keepdims=True)
    )


def test_topic_without_counts_becomes_uniform(ragged):
    engine = CudaEngine(ragged, 2, dtype=np.float64)
    counts = engine.pack_topics(np.vstack([np.ones(50), np.zeros(50)]))
    topics = engine.normalize_topics(counts, 0.0, counts)
    np.testing.assert_allclose(engine.unpack_topics(topics), 1 / 50)


@pytest.mark.parametrize("shape", [(1, 1), (0, 5), (4, 3)], ids=str)
def test_tiny_and_empty_corpora(shape):
    X = sparse.csr_matrix(shape, dtype=np.float64)
    if shape == (1, 1):
        X = sparse.csr_matrix([[3.0]])
    engine = CudaEngine(X, 2, dtype=np.float64)
    theta, phi = np.full((shape[0], 2), 0.5), np.full((2, shape[1]), 1 / shape[1])
    counts = engine.expected_counts(
        engine.pack_documents(theta), engine.pack_topics(phi)
    )
    assert engine.unpack_topics(counts.words).sum() == pytest.approx(X.sum())
    assert counts.loglik == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("link", ["identity", "digamma"])
def test_fold_in_agrees_with_the_cpu(ragged, link):
    _, phi = parameters_for(ragged, 6)
    options = {"link": link, "prior": 0.3, "tol": 1e-8, "max_iter": 300}
    exact = fold_in(ragged, phi, dtype=np.float64, **options)
    ours = fold_in(ragged, phi, dtype=np.float64, device="cuda", **options)
    np.testing.assert_allclose(ours, exact, atol=1e-6)
    single = fold_in(ragged, phi, device="cuda", **options)
    np.testing.assert_allclose(single, exact, atol=1e-3)


def test_a_row_of_fold_in_does_not_depend_on_its_batch(ragged):
    _, phi = parameters_for(ragged, 6)
    whole = fold_in(ragged, phi, device="cuda")
    alone = np.vstack([fold_in(ragged[d], phi, device="cuda") for d in range(40)])
    np.testing.assert_array_equal(alone, whole)


def test_out_of_memory_is_a_device_error():
    engine = make_engine(zipf_corpus(50, 20), 4, device="cuda")
    with pytest.raises(DeviceError, match=r"ran out of memory.*GiB were free"):
        engine.pack_documents(np.broadcast_to(1.0, (2**38, 4)))


@pytest.mark.parametrize("n_topics", [20, 32, 50, 100, 128, 150, 256, 300])
@pytest.mark.parametrize("link", ["identity", "digamma"])
def test_rows_in_half_precision_agree_with_reference(ragged, n_topics, link):
    theta, phi = parameters_for(ragged, n_topics)
    options = {"link": link, "max_updates": 0}
    engine = CudaEngine(ragged, n_topics, in_half=True)
    assert engine.in_half
    ours = everything(engine, theta, phi, **options)
    exact = everything(ReferenceEngine(ragged, n_topics), theta, phi, **options)
    for name in ("documents", "words"):
        error = np.linalg.norm(ours[name] - exact[name])
        assert 0 < error < 3e-4 * np.linalg.norm(exact[name]), name
    assert ours["loglik"] == pytest.approx(exact["loglik"], rel=1e-5)
    again = everything(engine, theta, phi, **options)
    np.testing.assert_array_equal(again["documents"], ours["documents"])
    np.testing.assert_array_equal(again["words"], ours["words"])


def test_half_precision_is_for_large_corpora_in_float32(ragged, monkeypatch):
    assert not CudaEngine(ragged, 50).in_half
    monkeypatch.setattr(cuda_engine, "LEAST_FOR_HALF", ragged.nnz)
    assert CudaEngine(ragged, 50).in_half
    assert not CudaEngine(ragged, 50, dtype=np.float64).in_half
    assert not CudaEngine(ragged, 10).in_half


def test_updates_of_documents_do_not_see_half_precision(ragged):
    """New documents have the same mixtures whatever else is in their batch."""
    theta, phi = parameters_for(ragged, 40)
    options = {"link": "identity", "max_updates": 5}
    full, half = (
        everything(CudaEngine(ragged, 40, in_half=half), theta, phi, **options)
        for half in (False, True)
    )
    np.testing.assert_array_equal(half["parameters"], full["parameters"])


@pytest.mark.parametrize("largest", [1e-12, 1.0, 1e9])
def test_any_scale_of_parameters_fits_half_precision(ragged, largest):
    theta, phi = parameters_for(ragged, 33)
    options = {"link": "identity", "max_updates": 0}
    exact = everything(ReferenceEngine(ragged, 33), theta, phi, **options)
    engine = CudaEngine(ragged, 33, in_half=True)
    ours = everything(engine, theta * largest, phi * largest, **options)
    for name in ("documents", "words"):
        error = np.linalg.norm(ours[name] - exact[name])
        assert error < 3e-4 * np.linalg.norm(exact[name]), name
