# SPDX-License-Identifier: BSD-3-Clause
"""A streamed corpus gives what the same corpus gives that is on the device."""

import numpy as np
import pytest
from scipy import sparse

from topicfold.engine.cuda import layout
from topicfold.engine.cuda.engine import CudaEngine
from topicfold.engine.cuda.streaming import Plan, StreamedEngine, spread
from topicfold.engine.cuda.transfer import CudaPort
from topicfold.engine.protocol import on_device

cupy = pytest.importorskip("cupy", reason="needs CuPy: make test-gpu")


def zipf_corpus(scale=4.0, seed=0):
    rng = np.random.default_rng(seed)
    share = 0.9 / (1.0 + np.arange(300) / 4.0)
    dense = rng.random((5000, 300)) < share
    dense[100:200] = False
    counts = dense * np.ceil(rng.random(dense.shape) * scale)
    return sparse.csr_matrix(counts)


def streamed(X, n_topics, dtype, *, n_blocks=9, n_stay=0):
    offsets = np.linspace(0, X.shape[0], n_blocks + 1).astype(np.int64) // 3 * 3
    offsets[-1] = X.shape[0]
    order = np.argsort(-np.bincount(X.indices, minlength=X.shape[1]), kind="stable")
    port = CudaPort(X.shape[1], n_topics, np.dtype(dtype), order)
    return StreamedEngine(X, port, Plan(offsets, spread(n_stay, n_blocks)))


def everything(engine, link, max_updates):
    rng = np.random.default_rng(3)
    size = engine.n_documents, engine.n_topics
    theta = rng.gamma(0.7, size=size) + 0.05
    phi = rng.dirichlet(np.full(engine.n_terms, 0.5), size=engine.n_topics) + 1e-6
    P, B = engine.pack_documents(theta), engine.pack_topics(phi)
    prior = engine.pack_prior(0.1)
    options = {"link": link, "max_updates": max_updates, "tol": -1.0}
    first = engine.document_pass(P, B, prior=prior, **options)
    done = engine.document_pass(P, B, prior=prior, out=first.counts, **options)
    words = engine.word_pass(P, B, np.empty_like(B))
    assert on_device(words)
    Q = P + prior
    np.add(Q, prior, out=Q)
    return {
        "parameters": engine.unpack_documents(P),
        "counts": engine.unpack_documents(done.counts),
        "mixtures": engine.mixtures(P),
        "words": engine.unpack_topics(words),
        "loglik": done.loglik,
        "n_updates": int(done.n_updates.sum()),
        "sum": engine.unpack_documents(Q),
        "totals": engine.topic_totals(P),
        "logs": engine.log_totals(P, 0.2),
        "digammas": engine.digamma_totals(words, 0.2),
        "bound": engine.document_bound(Q, prior),
    }


@pytest.mark.parametrize("n_stay", [0, 4, 9])
@pytest.mark.parametrize("n_topics", [12, 100, 128])
@pytest.mark.parametrize("link", ["identity", "digamma"])
def test_streamed_is_the_same_as_resident(n_stay, n_topics, link, monkeypatch):
    monkeypatch.setattr(layout, "STRETCH", 128)
    X = zipf_corpus()
    for max_updates in (0, 2):
        whole = CudaEngine(X, n_topics, dtype=np.float64)
        blocks = streamed(X, n_topics, np.float64, n_stay=n_stay)
        exact = everything(whole, link, max_updates)
        for name, value in everything(blocks, link, max_updates).items():
            np.testing.assert_allclose(
                value, exact[name], rtol=1e-9, atol=1e-10, err_msg=name
            )


@pytest.mark.parametrize("scale", [4.0, 3000.0, 100_000.0], ids=["1", "2", "4"])
def test_counts_of_any_size_travel(scale):
    X = zipf_corpus(scale)
    exact = everything(CudaEngine(X, 5, dtype=np.float64), "identity", 0)
    ours = everything(streamed(X, 5, np.float64), "identity", 0)
    np.testing.assert_allclose(ours["words"], exact["words"], rtol=1e-9, atol=1e-9)
    X.data *= 0.37
    exact = everything(CudaEngine(X, 5, dtype=np.float64), "identity", 0)
    ours = everything(streamed(X, 5, np.float64), "identity", 0)
    np.testing.assert_allclose(ours["words"], exact["words"], rtol=1e-9, atol=1e-9)


def test_same_bits_in_every_run_whatever_stays():
    X = zipf_corpus()
    runs = [
        everything(streamed(X, 100, np.float32, n_stay=n), "digamma", 2)
        for n in (0, 0, 0, 5)
    ]
    for name, value in runs[0].items():
        for other in runs[1:]:
            np.testing.assert_array_equal(other[name], value, err_msg=name)


def test_without_page_locked_memory_it_is_slower_but_the_same(monkeypatch, caplog):
    X = zipf_corpus()
    exact = everything(streamed(X, 12, np.float32), "identity", 2)

    def refuse(n_bytes):
        raise cupy.cuda.runtime.CUDARuntimeError(2)

    monkeypatch.setattr(cupy.cuda, "alloc_pinned_memory", refuse)
    with caplog.at_level("WARNING", logger="topicfold"):
        ours = everything(streamed(X, 12, np.float32), "identity", 2)
    assert [r.message for r in caplog.records if "page-locked" in r.message] != []
    for name, value in exact.items():
        np.testing.assert_array_equal(ours[name], value, err_msg=name)
