# SPDX-License-Identifier: BSD-3-Clause
"""Documents with a scale and a floor of their own, words in groups: every engine."""

import numpy as np
import pytest
from engine_reference import ReferenceEngine
from scipy import sparse

from topicfold.corpus.blocks import BlockMatrix
from topicfold.engine import make_engine
from topicfold.engine.cpu import TILE_SIZE, CpuEngine
from topicfold.engine.protocol import OwnShare, pack_own, padded

TOLERANCE = {np.float32: 2e-4, np.float64: 1e-10}


def drawn(n_topics, n_documents=30, n_terms=25, seed=0):
    """Counts, parameters, and what documents and groups of words have of their own."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.5, (n_documents, n_terms)) * rng.choice(
        [0.3, 1.0, 2.0], (n_documents, n_terms)
    )
    X[[0, n_documents // 2]] = 0
    alpha = rng.uniform(0.05, 0.3, (n_documents, n_topics))
    tilt = rng.uniform(0.1, 1.0, alpha.shape)
    theta = (rng.gamma(0.7, size=alpha.shape) + alpha) * tilt
    phi = rng.dirichlet(np.full(n_terms, 0.5), n_topics)
    groups = np.arange(n_terms) % 2
    own = OwnShare(
        rng.uniform(0.01, 0.1, (2, n_topics)), 0.1 * rng.random((2, n_topics)), groups
    )
    return sparse.csr_matrix(X), theta, phi, OwnShare(tilt, alpha * tilt), own


def passes(engine, theta, phi, documents, own, **options):
    P, B = engine.pack_documents(theta), engine.pack_topics(phi)
    rows = OwnShare(
        *(r if r is None else engine.pack_documents(r) for r in documents[:2])
    )
    if own is not None:
        options |= {"link": "collapsed", "own": pack_own(engine, own)}
    done = engine.document_pass(P, B, documents=rows, **options)
    words = engine.word_pass(P, B, np.empty_like(B))
    return {
        "documents": np.array(engine.unpack_documents(done.counts)),
        "parameters": np.array(engine.unpack_documents(P)),
        "words": engine.unpack_topics(words),
        "loglik": done.loglik,
    }


def agree(ours, exact, tolerance):
    for name, value in exact.items():
        np.testing.assert_allclose(
            ours[name], value, rtol=tolerance, atol=tolerance, err_msg=name
        )


def test_reference_is_the_update_of_one_token_after_another():
    X, theta, phi, rows, own = drawn(3, 6, 5)
    documents = np.zeros_like(theta)
    for d, w in zip(*X.nonzero(), strict=True):
        x, a, b = X[d, w], theta[d], phi[:, w]
        p = min(x, 1) * a * b / (a @ b)
        q = np.maximum(a - p * rows.scale[d], rows.floor[d])
        q *= np.maximum(b - p * own.scale[w % 2], own.floor[w % 2])
        documents[d] += x * q / q.sum()
    found = passes(ReferenceEngine(X, 3), theta, phi, rows, own)
    np.testing.assert_allclose(found["documents"], documents, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_topics", [1, 7, 20, 33])
def test_collapsed_passes_agree_with_reference(n_topics, dtype):
    X, *rest = drawn(n_topics)
    ours = passes(CpuEngine(X, n_topics, dtype=dtype), *rest)
    agree(ours, passes(ReferenceEngine(X, n_topics), *rest), TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_updates_in_place_agree_with_reference(dtype):
    X, theta, phi, rows, _ = drawn(9)
    rest = theta, phi, rows, None
    ours = passes(CpuEngine(X, 9, dtype=dtype), *rest, max_updates=3)
    exact = passes(ReferenceEngine(X, 9), *rest, max_updates=3)
    agree(ours, exact, 5 * TOLERANCE[dtype])


def test_ones_and_the_prior_are_the_plain_collapsed_link():
    X, theta, phi, _, own = drawn(5)
    alpha = np.full(5, 0.1)
    plain = OwnShare(own.scale[0], own.floor[0])
    as_rows = OwnShare(np.ones_like(theta), np.broadcast_to(alpha, theta.shape))
    engine = CpuEngine(X, 5, dtype=np.float64)
    ours = passes(engine, theta, phi, as_rows, plain)
    P, B = engine.pack_documents(theta), engine.pack_topics(phi)
    done = engine.document_pass(
        P, B, prior=engine.pack_prior(alpha), link="collapsed",
        own=pack_own(engine, plain),
    )  # fmt: skip
    counts = engine.unpack_documents(done.counts)
    np.testing.assert_allclose(ours["documents"], counts, rtol=1e-12)


@pytest.mark.parametrize("place", ["cpu", "reference", "blocks"])
def test_a_scale_of_none_is_one(place, tmp_path):
    X, theta, phi, rows, own = drawn(5, 40)
    if place == "reference":
        engine = ReferenceEngine(X, 5)
    else:
        blocks = BlockMatrix.write(tmp_path / "counts", X, block_size=15)
        engine = make_engine(X if place == "cpu" else blocks, 5, dtype=np.float64)
    ones = OwnShare(np.ones_like(theta), rows.floor)
    none = OwnShare(None, rows.floor)
    for options in ({}, {"max_updates": 2}):
        share = None if options else own
        expected = passes(engine, theta, phi, ones, share, **options)
        agree(passes(engine, theta, phi, none, share, **options), expected, 1e-12)


def test_same_bits_for_any_number_of_threads():
    X, *rest = drawn(11, TILE_SIZE + 300, 60)
    one, *others = (
        passes(CpuEngine(X, 11, threads=threads), *rest) for threads in (1, 2, 5)
    )
    for other in others:
        for name, value in one.items():
            np.testing.assert_array_equal(other[name], value, err_msg=name)


@pytest.mark.parametrize("collapsed", [True, False])
def test_blocks_give_what_the_whole_gives(tmp_path, collapsed):
    X, theta, phi, rows, own = drawn(9, 200, 40)
    X = X.astype(np.float64)
    rest = theta, phi, rows, own if collapsed else None
    options = {} if collapsed else {"max_updates": 2}
    blocks = BlockMatrix.write(tmp_path / "counts", X, block_size=70)
    there = passes(make_engine(blocks, 9, dtype=np.float64), *rest, **options)
    agree(there, passes(CpuEngine(X, 9, dtype=np.float64), *rest, **options), 1e-10)


def test_rows_know_the_padded_array_they_are_the_columns_of():
    packed = np.zeros((3, 8))
    assert padded(packed) is packed
    assert padded(packed[:, :5]) is packed
    assert padded(packed[1:, :5]) is None
    assert padded(packed[:, 1:5]) is None
