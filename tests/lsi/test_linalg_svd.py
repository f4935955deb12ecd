# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import svds
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import ThreadpoolController

from topicfold.lsi import RotatedBasis, add_rows, truncated_svd
from topicfold.lsi.lanczos import largest_eigenpairs
from topicfold.lsi.products import CHUNK, SparseRows, TallPanels, one_blas_thread


def zipf_matrix(n_rows, n_columns, seed=0):
    """Counts with common and rare columns, like documents."""
    rng = np.random.default_rng(seed)
    rates = 3.0 / np.arange(1, n_columns + 1) ** 0.7
    return sparse.csr_matrix(rng.poisson(rates, (n_rows, n_columns)).astype(float))


def check_decomposition(X, found, atol):
    k = len(found.values)
    np.testing.assert_allclose(found.left.T @ found.left, np.eye(k), atol=atol)
    np.testing.assert_allclose(found.right.T @ found.right, np.eye(k), atol=atol)
    residual = X @ found.right - found.left * found.values
    assert np.abs(residual).max() < 1e-5 * found.values[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [1, 7, 8, 13, 32, 33, 77])
@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
def test_sparse_product(dtype, n_columns, index_dtype):
    X = sparse.random(50, 30, 0.2, random_state=1, format="csr", dtype=dtype)
    X.indices = X.indices.astype(index_dtype)
    dense = np.random.default_rng(2).standard_normal((30, n_columns))
    expected = X.astype(float) @ dense
    for threads in (1, 3):
        found = SparseRows(X, threads) @ dense
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
        out, targets = np.ones((60, n_columns)), np.arange(0, 60)[::-1][:50]
        SparseRows(X, threads).add_product(dense, targets, out)
        np.testing.assert_allclose(out[targets], 1 + expected, rtol=1e-13, atol=1e-13)
        assert (out[:10] == 1).all()
    narrow = SparseRows(X) @ dense.astype(np.float32)
    assert narrow.dtype == np.float64
    np.testing.assert_allclose(narrow, expected, atol=1e-5)


def test_products_into_given_memory():
    X = sparse.random(700, 30, 0.2, random_state=1, format="csr")
    dense, out = np.ones((30, 8)), np.empty((700, 8))
    SparseRows(X).multiply(dense, out)
    np.testing.assert_allclose(out, X @ dense, atol=1e-13)
    with pytest.raises(ValueError, match="needs 8 columns, got 7"):
        SparseRows(X).multiply(dense[:, :7], out)


def test_many_rows_are_added_part_by_part():
    X = sparse.random(700, 30, 0.2, random_state=1, format="csr")
    dense, out = np.random.default_rng(0).standard_normal((30, 9)), np.zeros((700, 9))
    SparseRows(X, 2).add_product(dense, np.arange(700), out)
    np.testing.assert_allclose(out, X @ dense, atol=1e-13)


def test_tall_products_do_not_depend_on_threads():
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((2, 2 * CHUNK + 5, 6))
    small = rng.standard_normal((6, 3))
    one, three = (TallPanels(len(left), threads) for threads in (1, 3))
    np.testing.assert_array_equal(one.cross(left, right), three.cross(left, right))
    np.testing.assert_allclose(one.cross(left, right), left.T @ right, rtol=1e-10)
    np.testing.assert_allclose(one.product(left, small), left @ small, rtol=1e-10)
    target = np.ones((len(left), 3))
    three.subtract(target, left, small)
    np.testing.assert_allclose(target, 1 - left @ small, atol=1e-12)
    within = left.copy()
    three.add_within(within, small, small.T)
    np.testing.assert_allclose(within, left + left @ small @ small.T, rtol=1e-10)


def test_fits_side_by_side_share_the_limit_of_blas():
    controller = ThreadpoolController()

    def n_threads():
        found = [lib for lib in controller.info() if lib["user_api"] == "blas"]
        return {lib["num_threads"] for lib in found}

    with controller.limit(limits=2, user_api="blas"):
        before = n_threads()
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert n_threads() == {1}
        second.__exit__(None, None, None)
        assert n_threads() == before


@pytest.mark.parametrize("shape", [(700, 1200), (1200, 700)], ids=["wide", "tall"])
def test_agrees_with_arpack(shape):
    X = zipf_matrix(*shape)
    found = truncated_svd(X, 30, tol=1e-8)
    _, values, right = svds(X, 30, tol=1e-10, random_state=0)
    order = np.argsort(-values)
    np.testing.assert_allclose(found.values, values[order], rtol=1e-12)
    alignment = np.abs(np.sum(found.right.T * right[order], axis=1))
    np.testing.assert_allclose(alignment, 1, atol=1e-9)
    check_decomposition(X, found, 1e-12)


def test_default_tolerance_gives_the_best_reconstruction():
    X = zipf_matrix(800, 900)
    exact = np.linalg.svd(X.toarray(), compute_uv=False)[:40]
    found = truncated_svd(X, 40)
    np.testing.assert_allclose((found.values**2).sum(), (exact**2).sum(), rtol=1e-12)
    assert (found.values <= exact * (1 + 1e-12)).all()


@pytest.mark.parametrize("n", [20, 700], ids=["dense", "lanczos"])
def test_equal_singular_values(n):
    X = sparse.csr_matrix(np.eye(n) * 2)
    found = truncated_svd(X, 15)
    np.testing.assert_allclose(found.values, 2.0)
    check_decomposition(X, found, 1e-12)


@pytest.mark.parametrize("rank", [1, 3, 20])
def test_fewer_singular_values_than_asked(rank):
    rng = np.random.default_rng(5)
    X = sparse.csr_matrix(
        rng.integers(1, 4, (600, rank)) @ rng.integers(0, 4, (rank, 500))
    ).astype(float)
    found = truncated_svd(X, 40)
    exact = np.linalg.svd(X.toarray(), compute_uv=False)
    assert len(found.values) == np.linalg.matrix_rank(X.toarray())
    np.testing.assert_allclose(found.values, exact[: len(found.values)], rtol=1e-9)
    check_decomposition(X, found, 1e-10)


def test_wide_spread_of_singular_values():
    X = sparse.csr_matrix(np.diag(10.0 ** -np.arange(7)))
    found = truncated_svd(X[:, ::-1], 7)
    np.testing.assert_allclose(found.values, 10.0 ** -np.arange(7), rtol=1e-6)
    check_decomposition(X[:, ::-1], found, 1e-12)


def test_restarts_find_the_end_of_a_flat_spectrum():
    rng = np.random.default_rng(0)
    values = np.sort(rng.uniform(1, 2, 900))[::-1]
    basis = np.linalg.qr(rng.standard_normal((900, 900)))[0]
    G = (basis * values) @ basis.T
    found = largest_eigenpairs(
        lambda block: G @ block, 900, 5, tol=1e-7, rng=np.random.RandomState(1)
    )
    # More products than one basis holds: there were restarts.
    assert found.n_iter * 8 > 4 * 5 + 160
    np.testing.assert_allclose(found.values, values[:5], rtol=1e-12)


def test_too_few_iterations_are_said():
    X = zipf_matrix(700, 800)
    with pytest.warns(ConvergenceWarning, match="did not converge in 3 iterations"):
        truncated_svd(X, 20, max_iter=3)


def test_signs():
    found = truncated_svd(zipf_matrix(200, 100), 10)
    assert (found.right.max(axis=0) >= -found.right.min(axis=0)).all()


@pytest.mark.parametrize("n_new", [10, 400], ids=["dense", "lanczos"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_added_rows_equal_the_decomposition_of_the_stacked_matrix(n_new, overwrite):
    X = zipf_matrix(300 + n_new, 250)
    old = truncated_svd(X[:300], 20)
    projected = (old.left * old.values) @ old.right.T
    stacked = np.vstack([projected, X[300:].toarray()])
    left, values, right = np.linalg.svd(stacked, full_matrices=False)
    basis = RotatedBasis(old.right.copy())
    found = add_rows(old.values, basis, X[300:], 20, tol=1e-7, overwrite=overwrite)
    np.testing.assert_allclose(found.values, values[:20], rtol=1e-10)
    columns = found.right.matrix()
    alignment = np.abs(np.sum(columns * right[:20].T, axis=0))
    np.testing.assert_allclose(alignment, 1, atol=1e-8)
    both = np.vstack([old.left @ found.old_left, found.new_left])
    alignment = np.abs(np.sum(both * left[:, :20], axis=0))
    np.testing.assert_allclose(alignment, 1, atol=1e-8)
    if not overwrite:
        np.testing.assert_array_equal(basis.base, old.right)


def test_a_direction_keeps_its_sign():
    X = zipf_matrix(400, 100)
    old = truncated_svd(X[:390], 5)
    found = add_rows(old.values, RotatedBasis(old.right), X[390:], 5)
    assert (np.diag(old.right.T @ found.right.matrix()) > 0.99).all()


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_new_direction_without_old_columns_keeps_all_digits(overwrite):
    """It takes a place in the base itself: a rotation could not bring it in."""
    X = sparse.hstack([zipf_matrix(300, 150), sparse.csr_matrix((300, 50))]).tocsr()
    old = truncated_svd(X, 12)
    new = np.zeros((1, 200))
    new[0, 150:] = 50.0
    exact = np.linalg.svd(
        np.vstack([old.values[:, None] * old.right.T, new]), full_matrices=False
    )
    basis = RotatedBasis(old.right.copy())
    found = add_rows(
        old.values, basis, sparse.csr_matrix(new), 12, tol=1e-9, overwrite=overwrite
    )
    np.testing.assert_allclose(found.values, exact[1][:12], rtol=1e-10)
    columns = found.right.matrix()
    np.testing.assert_allclose(columns.T @ columns, np.eye(12), atol=1e-11)
    alignment = np.abs(np.sum(columns * exact[2][:12].T, axis=0))
    np.testing.assert_allclose(alignment, 1, atol=1e-9)
    # What is kept can be turned again: no direction of the rotation is lost.
    assert np.linalg.cond(found.right.rotation) < 1e4
