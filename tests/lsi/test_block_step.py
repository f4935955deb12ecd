# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from scipy import sparse

from topicfold import LSI
from topicfold.lsi import RotatedBasis, add_rows, truncated_svd
from topicfold.lsi.block_step import LOSS, _independent, block_step
from topicfold.lsi.products import SparseRows


def topical_counts(n_rows, n_columns=400, n_topics=12, seed=0):
    """Counts whose spectrum falls, like that of documents."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_columns, 0.05), n_topics)
    shares = rng.dirichlet(np.full(n_topics, 0.1) / np.arange(1, n_topics + 1), n_rows)
    return sparse.csr_matrix(rng.poisson(60 * shares @ topics).astype(float))


def step(old, new):
    return block_step(
        old.values, new @ old.right, SparseRows(new), SparseRows(new.T.tocsr())
    )


@pytest.fixture(scope="module")
def growing():
    X = topical_counts(1400)
    return truncated_svd(X[:1000], 20), X[1000:]


def stacked(old, new):
    return np.vstack([old.values[:, None] * old.right.T, new.toarray()])


def test_it_is_the_best_up_to_a_part_of_what_truncation_drops(growing):
    old, new = growing
    found = step(old, new)
    exact = np.linalg.svd(stacked(old, new), compute_uv=False) ** 2
    squares = found.values**2
    assert (squares <= exact[:20] * (1 + 1e-12)).all()
    lost = exact[:20].sum() - squares.sum()
    assert 0 <= lost <= LOSS * exact[20:].sum()
    # Without a step, by V alone, more would be lost than that.
    own = np.linalg.eigvalsh(
        np.diag(old.values**2) + (new @ old.right).T @ (new @ old.right)
    )
    assert exact[:20].sum() - own.sum() > LOSS * exact[20:].sum()


def test_vectors_are_orthonormal_and_belong_together(growing):
    old, new = growing
    found = step(old, new)
    right = old.right @ found.turn + new.T @ found.share
    left = np.vstack([found.old_left, found.new_left])
    np.testing.assert_allclose(right.T @ right, np.eye(20), atol=1e-12)
    np.testing.assert_allclose(left.T @ left, np.eye(20), atol=1e-12)
    np.testing.assert_allclose(
        stacked(old, new) @ right, left * found.values, atol=1e-9 * found.values[0]
    )


def test_added_rows_take_the_step(growing):
    old, new = growing
    expected = step(old, new)
    found = add_rows(old.values, RotatedBasis(old.right.copy()), new, 20, threads=3)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-13)
    columns = found.right.matrix()
    np.testing.assert_allclose(columns.T @ columns, np.eye(20), atol=1e-12)
    right = old.right @ expected.turn + new.T @ expected.share
    same = np.abs(np.sum(columns * right, axis=0))
    np.testing.assert_allclose(same, 1, atol=1e-12)


@pytest.mark.parametrize("shared", [False, True], ids=["no old term", "some"])
def test_many_new_strong_directions_are_all_found(shared):
    """One step could not find them; it is refused, and nothing is lost."""
    X = topical_counts(600)
    old = truncated_svd(sparse.hstack([X, sparse.csr_matrix((600, 400))]).tocsr(), 20)
    strong = 30 * topical_counts(400, n_topics=60, seed=1)
    first = topical_counts(400, seed=2) if shared else sparse.csr_matrix((400, 400))
    new = sparse.hstack([first, strong]).tocsr()
    assert step(old, new) is None
    found = add_rows(old.values, RotatedBasis(old.right), new, 20, tol=1e-6)
    exact = np.linalg.svd(stacked(old, new), compute_uv=False)[:20]
    np.testing.assert_allclose(found.values, exact, rtol=1e-9)


def test_exact_when_the_rank_suffices():
    rng = np.random.default_rng(2)
    left, right = rng.integers(0, 3, (500, 6)), rng.integers(0, 3, (6, 80))
    X = sparse.csr_matrix(left @ right).astype(float)
    model = LSI(6, weighting="counts").fit(X[:100]).partial_fit(X[100:])
    exact = np.linalg.svd(X.toarray(), compute_uv=False)[:6]
    np.testing.assert_allclose(model.singular_values_, exact, rtol=1e-10)


def test_orthogonality_does_not_drift_over_100_large_updates():
    X = topical_counts(200 * 101)
    model = LSI(20, weighting="counts", random_state=0).fit(X[:200])
    for start in range(200, X.shape[0], 200):
        model.partial_fit(X[start : start + 200])
    gram = model.components_ @ model.components_.T
    np.testing.assert_allclose(gram, np.eye(20), atol=1e-11)
    fresh = LSI(20, weighting="counts", random_state=0).fit(X)
    kept, best = ((m.singular_values_**2).sum() for m in (model, fresh))
    dropped = model.total_squares_ - kept
    assert 0 < best - kept < 0.1 * dropped


def test_columns_that_depend_on_each_other_are_no_basis():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4))
    found = _independent(X)
    np.testing.assert_allclose(found.T @ found, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(found @ (found.T @ X), X, atol=1e-11)  # the same space
    twice = X.copy()
    twice[:, 3] = twice[:, 0]
    nearly = X.copy()
    nearly[:, 3] = nearly[:, 0] + 1e-9 * X[:, 1]
    nothing = X.copy()
    nothing[:, 2] = 0.0
    for wrong in (twice, nearly, nothing):
        assert _independent(wrong) is None
