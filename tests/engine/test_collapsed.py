# SPDX-License-Identifier: BSD-3-Clause
"""The collapsed link: every engine gives what the equations give."""

import numpy as np
import pytest
from engine_reference import ReferenceEngine
from scipy import sparse

from topicfold.corpus.blocks import BlockMatrix
from topicfold.engine import make_engine
from topicfold.engine.cpu import TILE_SIZE, CpuEngine
from topicfold.engine.protocol import OwnShare

TOLERANCE = {np.float32: 2e-4, np.float64: 1e-10}


def drawn(n_topics, n_documents=30, n_terms=25, seed=0):
    """Counts of 0.3 to 4, documents without words among them, and parameters."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.5, (n_documents, n_terms)) * rng.choice(
        [0.3, 1.0, 2.0], (n_documents, n_terms)
    )
    X[[0, n_documents // 2]] = 0
    alpha = rng.uniform(0.05, 0.3, n_topics)
    theta = rng.gamma(0.7, size=(n_documents, n_topics)) + alpha
    counts = rng.gamma(0.3, size=(n_topics, n_terms))
    totals = counts.sum(axis=1) + 0.1 * n_terms
    phi = (counts + 0.1) / totals[:, None]
    return sparse.csr_matrix(X), theta, phi, alpha, (0.5 / totals, 0.1 / totals)


def both_passes(engine, theta, phi, alpha, own):
    P, B = engine.pack_documents(theta), engine.pack_topics(phi)
    documents = engine.document_pass(
        P,
        B,
        prior=engine.pack_prior(alpha),
        link="collapsed",
        own=OwnShare(*map(engine.pack_prior, own)),
    )
    words = engine.word_pass(P, B, np.empty_like(B))
    return {
        "documents": np.array(engine.unpack_documents(documents.counts)),
        "words": engine.unpack_topics(words),
        "loglik": documents.loglik,
    }


@pytest.mark.parametrize("n_topics", [1, 3])
def test_reference_is_the_update_of_one_token_after_another(n_topics):
    """Every token by itself, as a loop: the definition."""
    X, theta, phi, alpha, (scale, floor) = drawn(n_topics, 6, 5)
    documents, words = np.zeros_like(theta), np.zeros_like(phi)
    for d, w in zip(*X.nonzero(), strict=True):
        x, a, b = X[d, w], theta[d], phi[:, w]
        own = min(x, 1) * a * b / (a @ b)
        q = np.maximum(a - own, alpha) * np.maximum(b - own * scale, floor)
        documents[d] += x * q / q.sum()
        words[:, w] += x * q / q.sum()
    found = both_passes(ReferenceEngine(X, n_topics), theta, phi, alpha, (scale, floor))
    np.testing.assert_allclose(found["documents"], documents, rtol=1e-12)
    np.testing.assert_allclose(found["words"], words, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_topics", [1, 7, 8, 20, 33])
def test_passes_agree_with_reference(n_topics, dtype):
    X, *rest = drawn(n_topics)
    ours = both_passes(CpuEngine(X, n_topics, dtype=dtype), *rest)
    exact = both_passes(ReferenceEngine(X, n_topics), *rest)
    near = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    for name, value in exact.items():
        np.testing.assert_allclose(ours[name], value, **near, err_msg=name)
    lengths = np.asarray(X.sum(axis=1)).ravel()
    np.testing.assert_allclose(ours["documents"].sum(axis=1), lengths, **near)


def test_same_bits_for_any_number_of_threads():
    X, *rest = drawn(11, TILE_SIZE + 300, 60)
    one, *others = (
        both_passes(CpuEngine(X, 11, threads=threads), *rest) for threads in (1, 2, 5)
    )
    for other in others:
        for name, value in one.items():
            np.testing.assert_array_equal(other[name], value, err_msg=name)


def test_blocks_give_what_the_whole_gives(tmp_path):
    X, *rest = drawn(9, 200, 40)
    X = X.astype(np.float64)
    blocks = BlockMatrix.write(tmp_path / "counts", X, block_size=70)
    there = both_passes(make_engine(blocks, 9, dtype=np.float64), *rest)
    here = both_passes(CpuEngine(X, 9, dtype=np.float64), *rest)
    for name, value in here.items():
        np.testing.assert_allclose(there[name], value, rtol=1e-10, err_msg=name)


def test_another_link_afterwards_forgets_the_collapsed_one():
    X, theta, phi, *rest = drawn(5)
    engine = CpuEngine(X, 5, dtype=np.float64)
    both_passes(engine, theta, phi, *rest)
    P, B = engine.pack_documents(theta), engine.pack_topics(phi)
    np.testing.assert_array_equal(
        engine.expected_counts(P, B).words,
        CpuEngine(X, 5, dtype=np.float64).expected_counts(P, B).words,
    )


@pytest.mark.parametrize("make", [CpuEngine, ReferenceEngine])
def test_updates_in_place_are_refused(make):
    X, theta, phi, alpha, _ = drawn(3)
    engine = make(X, 3)
    P, B = engine.pack_documents(theta), engine.pack_topics(phi)
    with pytest.raises(ValueError, match="collapsed link needs prior and own"):
        engine.document_pass(P, B, prior=engine.pack_prior(alpha), link="collapsed")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_of_the_collapsed_link_serve_the_identity_link_too(dtype):
    X, theta, phi, alpha, _ = drawn(5)
    X = X.astype(dtype)
    found = []
    for hint in (False, True):
        engine = CpuEngine(X, 5, dtype=dtype)
        P, B = engine.pack_documents(theta), engine.pack_topics(phi)
        none = engine.pack_prior(0.0)
        done = engine.document_pass(
            P,
            B,
            prior=engine.pack_prior(alpha),
            own=OwnShare(none, none) if hint else None,
        )
        words = engine.word_pass(P, B, np.empty_like(B))
        found.append((done.counts, words, done.loglik))
    for plain, other in zip(*found, strict=True):
        np.testing.assert_allclose(other, plain, rtol=TOLERANCE[dtype])
