# SPDX-License-Identifier: BSD-3-Clause
"""What every estimator promises, for several numbers of topics, types and places."""

import logging

import numpy as np
import pytest
from sizes_support import (
    BLOCK_SIZE,
    DTYPES,
    IN_BLOCKS,
    NAMES,
    OPEN,
    cases,
    counts,
    fitted,
    given,
    inferred,
    learned,
    made,
    same_bits,
)

import topicfold
from topicfold import LSI, TwoPhase
from topicfold.corpus.blocks import BlockMatrix
from topicfold.exceptions import DataError
from topicfold.learn import Resume
from topicfold.models.manifold import GraphPLSA

pytestmark = pytest.mark.filterwarnings("ignore:These seed words")

# Fits whose state cannot be kept.
STATELESS = (
    "gibbs",
    "hdp",
    "tree",
    "laplacian",
    "local",
    "discriminative",
    "laplacian-near",
    "medlda",
)


def each(names, turn=0):
    """Take the models with every number of topics, and the types in turn."""
    return pytest.mark.parametrize(("name", "n_topics", "dtype"), cases(names, turn))


@pytest.fixture(scope="module")
def corpora():
    return {dtype: counts(dtype) for dtype in DTYPES}


@pytest.fixture(scope="module")
def in_blocks(corpora, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sizes")
    return {
        dtype: BlockMatrix.write(folder / dtype.__name__, X, block_size=BLOCK_SIZE)
        for dtype, X in corpora.items()
    }


@each(NAMES)
def test_rows_and_threads(name, n_topics, dtype, corpora):
    model = fitted(name, n_topics, corpora[dtype])
    documents = given(name, n_topics, corpora[dtype])[0][0]
    found = inferred(model, documents)
    size = len(model.components_)
    assert size <= n_topics if name in OPEN else size == n_topics
    rows = [model.components_]
    if "transform" in found:
        assert found["transform"].shape[1] == size
        rows.append(found["transform"])
    rows += [model.doc_topics_] if hasattr(model, "doc_topics_") else []
    for some in () if isinstance(model, LSI) else rows:
        assert some.dtype == dtype
        assert (some >= 0).all()
        np.testing.assert_allclose(some.sum(axis=1), 1, rtol=20 * np.finfo(dtype).eps)
    threads = fitted(name, n_topics, corpora[dtype], n_jobs=3)
    same_bits(learned(threads), learned(model))
    same_bits(inferred(threads, documents), found)


@each(NAMES, turn=1)
def test_saving(name, n_topics, dtype, corpora, tmp_path):
    model = fitted(name, n_topics, corpora[dtype])
    model.save(tmp_path / "model")
    loaded = topicfold.load(tmp_path / "model")
    same_bits(learned(loaded), learned(model))
    documents = given(name, n_topics, corpora[dtype])[0][0]
    same_bits(inferred(loaded, documents), inferred(model, documents))


@each([name for name in NAMES if name != "classifier"])
def test_fit_transform(name, n_topics, dtype, corpora):
    arguments, known = given(name, n_topics, corpora[dtype])
    model = made(name, n_topics)
    found = model.fit_transform(*arguments, **known)
    if isinstance(model, GraphPLSA | TwoPhase):  # they know the documents' neighbours
        expected = model.doc_topics_
    else:
        later = {k: v for k, v in known.items() if k in ("authors", "features", "time")}
        expected = model.transform(arguments[0], **later)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(
        model.components_, fitted(name, n_topics, corpora[dtype]).components_
    )


@pytest.mark.parametrize("name", [name for name in NAMES if name != "classifier"])
def test_documents_are_inferred_alone_as_in_any_batch(name, corpora):
    model = fitted(name, 9, corpora[np.float64])
    documents = given(name, 9, corpora[np.float64])[0][0]
    whole = model.transform(documents)
    for rows in (slice(0, 1), slice(1, 3), slice(20, 29)):
        some = documents[rows] if name != "multimodal" else None
        some = {k: v[rows] for k, v in documents.items()} if some is None else some
        np.testing.assert_array_equal(model.transform(some), whole[rows])


# LSI has no iterations; the classifier fits its topics to several sets of documents.
@each([name for name in NAMES if name not in (*STATELESS, "lsi", "classifier")], turn=1)
def test_resume(name, n_topics, dtype, corpora, tmp_path, caplog):
    check_resumed(name, n_topics, corpora[dtype], tmp_path, caplog)


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in (*STATELESS, "lsi", "classifier")]
)
def test_how_long_a_fit_was_to_run_at_first_does_not_matter(name, corpora, tmp_path):
    X = corpora[np.float64]
    fitted(name, 9, X, max_iter=7, tol=1e-3, callbacks=[Resume(tmp_path)])
    found = fitted(name, 9, X, max_iter=14, callbacks=[Resume(tmp_path)])
    same_bits(learned(found), learned(fitted(name, 9, X, max_iter=14)))


def check_resumed(name, n_topics, X, folder, caplog):
    """A fit that goes on after its first iteration has the bits of one that ran on."""
    fitted(name, n_topics, X, max_iter=1, callbacks=[Resume(folder)])
    with caplog.at_level(logging.INFO, "topicfold"):
        found = fitted(name, n_topics, X, callbacks=[Resume(folder)])
    assert "resuming after iteration 1" in caplog.messages
    same_bits(learned(found), learned(fitted(name, n_topics, X)))


@pytest.mark.parametrize("name", STATELESS)
def test_a_state_that_cannot_be_kept_is_refused(name, corpora, tmp_path):
    with pytest.raises(DataError, match=r"Resume (does not work|works)"):
        fitted(name, 9, corpora[np.float64], callbacks=[Resume(tmp_path)])


@each(IN_BLOCKS)
def test_blocks(name, n_topics, dtype, corpora, in_blocks, tmp_path, caplog):
    # Frank-Wolfe chooses one topic at a time, and turns the last bits into more.
    exact = {"doc_tol": 0.0} if name == "fstm" else {}
    there = fitted(name, n_topics, in_blocks[dtype], **exact)
    here = fitted(name, n_topics, corpora[dtype], **exact)
    tolerance = 1e-3 if exact or dtype is np.float32 else 1e-6
    for key, value in learned(there).items():
        assert value.shape == learned(here)[key].shape, key
        if getattr(here, "batch_size", None) is None:  # batches are drawn from blocks
            np.testing.assert_allclose(
                value, learned(here)[key], rtol=tolerance, atol=tolerance, err_msg=key
            )
    apart = given(name, n_topics, in_blocks[dtype])[0][0]
    whole = given(name, n_topics, corpora[dtype])[0][0]
    np.testing.assert_allclose(
        there.transform(apart), there.transform(whole), atol=tolerance
    )
    check_resumed(name, n_topics, in_blocks[dtype], tmp_path, caplog)
