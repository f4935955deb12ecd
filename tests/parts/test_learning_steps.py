# SPDX-License-Identifier: BSD-3-Clause
"""Steps of a user's own that learn from all documents and have data: one contract."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from step_support import CorrelatedTheta, StickTheta

from topicfold import PLSA, load
from topicfold.corpus.blocks import BlockMatrix
from topicfold.exceptions import DataError
from topicfold.learn import Resume
from topicfold.phi import DirichletPhi
from topicfold.theta import DirichletTheta

SIZES = [3, 9, 20]


def drawn(n_topics, dtype, n_documents=90, n_terms=60):
    rng = np.random.default_rng(n_topics)
    phi = rng.dirichlet(np.full(n_terms, 0.1), n_topics)
    x = rng.integers(0, 2, n_documents).astype(float)
    eta = rng.normal(size=(n_documents, n_topics))
    eta[:, 0] += 2 * x
    theta = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    X = np.array([rng.multinomial(80, row @ phi) for row in theta])
    return sparse.csr_matrix(X, dtype=dtype), np.column_stack([np.ones_like(x), x])


def steps():
    return {
        "prior": (DirichletTheta(3.0), False),
        "sticks": (StickTheta(), False),
        "correlated": (CorrelatedTheta(), True),
    }


def fitted(name, X, design, n_topics, **options):
    step, has_data = steps()[name]
    known = {"covariates": design} if has_data else {}
    options = {"random_state": 0, "max_iter": 12, "tol": 0, **options}
    model = PLSA(n_topics, theta_step=step, phi_step=DirichletPhi(1.01), **options)
    return model.fit(X, **known), known


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_topics", SIZES)
@pytest.mark.parametrize("name", steps())
def test_new_documents_are_inferred_as_in_the_fit(name, n_topics, dtype):
    X, design = drawn(n_topics, dtype)
    model, known = fitted(name, X, design, n_topics, max_iter=300, tol=1e-8)
    found = model.transform(X, **known)
    assert found.dtype == dtype
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-5)
    gap = np.abs(found - model.doc_topics_).sum(axis=1).mean()
    assert gap <= 0.02
    plain = PLSA(n_topics, init=model.components_, max_iter=1).fit(X)
    plain.components_ = model.components_
    assert np.abs(plain.transform(X) - model.doc_topics_).sum(axis=1).mean() > 5 * gap
    assert_allclose(model.fit_transform(X, **known), found, atol=1e-5)


@pytest.mark.parametrize("n_topics", SIZES)
@pytest.mark.parametrize("name", steps())
def test_blocks_are_as_one_matrix(name, n_topics, tmp_path):
    X, design = drawn(n_topics, np.float64)
    blocks = BlockMatrix.write(tmp_path / "blocks", X, block_size=16)
    start = np.random.default_rng(0).dirichlet(np.ones(X.shape[1]), n_topics)
    one, known = fitted(name, X, design, n_topics, init=start)
    many, _ = fitted(name, blocks, design, n_topics, init=start)
    assert_allclose(many.doc_topics_, one.doc_topics_, atol=1e-7)
    assert_allclose(many.components_, one.components_, atol=1e-7)
    new = many.transform(blocks, **known)
    assert_allclose(new, one.transform(X, **known), atol=1e-5)
    threads, _ = fitted(name, blocks, design, n_topics, init=start, n_jobs=2)
    assert (np.asarray(threads.doc_topics_) == np.asarray(many.doc_topics_)).all()


@pytest.mark.parametrize("name", steps())
def test_saved_resumed_and_whatever_the_batch(name, tmp_path):
    X, design = drawn(20, np.float64)
    whole, known = fitted(name, X, design, 20, max_iter=9)
    resume = [Resume(tmp_path / "state")]
    fitted(name, X, design, 20, max_iter=4, callbacks=resume)
    later, _ = fitted(name, X, design, 20, max_iter=9, callbacks=resume)
    assert resume[0].resumed_at_ == 4
    assert (later.doc_topics_ == whole.doc_topics_).all()
    whole.save(tmp_path / "model")
    own = f"{type(whole.theta_step).__module__}:{type(whole.theta_step).__name__}"
    loaded = load(tmp_path / "model", trusted=[own])
    some = {keyword: data[5:9] for keyword, data in known.items()}
    expected = whole.transform(X, **known)
    assert_allclose(loaded.transform(X, **known), expected, atol=1e-12)
    assert_allclose(loaded.transform(X[5:9], **some), expected[5:9], atol=1e-9)


def test_what_was_planted_is_learned():
    X, design = drawn(3, np.float64, n_documents=600)
    model, _ = fitted("correlated", X, design, 3, max_iter=150)
    share = model.doc_topics_[design[:, 1] == 1].mean(axis=0)
    other = model.doc_topics_[design[:, 1] == 0].mean(axis=0)
    moved = int((share - other).argmax())
    effect = model.theta_step_.gamma_[1]
    assert effect[moved] - np.delete(effect, moved).max() > 1.0
    # Words that say nothing leave the prior of the covariates.
    empty = sparse.csr_matrix((2, X.shape[1]))
    with pytest.warns(match="no word"):
        prior = model.transform(empty, covariates=np.array([[1.0, 0.0], [1.0, 1.0]]))
    assert prior[1, moved] > prior[0, moved] + 0.2


def test_a_step_without_its_data_says_so():
    X, design = drawn(3, np.float64)
    with pytest.raises(DataError, match=r"needs its data: fit\(X, covariates"):
        PLSA(3, theta_step=CorrelatedTheta()).fit(X)
    with pytest.raises(TypeError, match=r"got the data 'authors'.*takes covariates"):
        PLSA(3, theta_step=CorrelatedTheta()).fit(X, covariates=design, authors=design)
