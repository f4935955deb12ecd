# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import svds
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import ThreadpoolController

from topicfold import LSI
from topicfold.core import counts
from topicfold.core.counts import SparseRows, tall_product
from topicfold.core.threads import one_blas_thread
from topicfold.lsi import add_rows, svd, truncated_svd


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


def topical_counts(n_rows, n_columns=400, n_topics=12, seed=0):
    """Counts whose spectrum falls, like that of documents."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_columns, 0.05), n_topics)
    shares = rng.dirichlet(np.full(n_topics, 0.1) / np.arange(1, n_topics + 1), n_rows)
    return sparse.csr_matrix(rng.poisson(60 * shares @ topics).astype(float))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [None, 1, 8, 33])
@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
def test_sparse_product(dtype, n_columns, index_dtype):
    X = sparse.random(50, 30, 0.2, random_state=1, format="csr", dtype=dtype)
    X.indices = X.indices.astype(index_dtype)
    shape = 30 if n_columns is None else (30, n_columns)
    dense = np.random.default_rng(2).standard_normal(shape)
    expected = X.astype(float) @ dense
    one = SparseRows(X) @ dense
    np.testing.assert_allclose(one, expected, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(SparseRows(X, 3) @ dense, one)
    assert one.dtype == np.float64


def test_tall_products_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(counts, "_CHUNK", 100)
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((205, 6)), rng.standard_normal((6, 3))
    one = tall_product(left, right, 1)
    np.testing.assert_array_equal(one, tall_product(left, right, 3))
    np.testing.assert_allclose(one, left @ right, rtol=1e-10, atol=1e-12)


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
    check_decomposition(X, found, 1e-10)


def test_default_tolerance_gives_the_best_reconstruction():
    X = zipf_matrix(800, 900)
    exact = np.linalg.svd(X.toarray(), compute_uv=False)[:40]
    found = truncated_svd(X, 40)
    np.testing.assert_allclose((found.values**2).sum(), (exact**2).sum(), rtol=1e-12)
    assert (found.values <= exact * (1 + 1e-12)).all()


@pytest.mark.parametrize("n", [20, 700], ids=["dense", "sparse"])
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


@pytest.mark.parametrize("shape", [(700, 900), (900, 700)], ids=["wide", "tall"])
def test_arpack_takes_over_where_propack_gives_up(shape, monkeypatch):
    X = zipf_matrix(*shape)
    by_propack = truncated_svd(X, 20)

    def give_up(*args, **options):
        raise np.linalg.LinAlgError("An invariant subspace of dimension 3 was found.")

    monkeypatch.setattr(svd, "svds", give_up)
    found = truncated_svd(X, 20, tol=1e-9)
    np.testing.assert_allclose(found.values, by_propack.values, rtol=1e-10)
    np.testing.assert_allclose(found.right, by_propack.right, atol=1e-6)
    check_decomposition(X, found, 1e-10)
    with pytest.warns(ConvergenceWarning, match="of 20 singular values converged in 1"):
        truncated_svd(X, 20, max_iter=1)


def test_signs():
    found = truncated_svd(zipf_matrix(200, 100), 10)
    assert (found.right.max(axis=0) >= -found.right.min(axis=0)).all()


@pytest.mark.parametrize("n_new", [10, 400], ids=["dense", "arpack"])
def test_added_rows_equal_the_decomposition_of_the_stacked_matrix(n_new):
    X = zipf_matrix(300 + n_new, 250)
    old = truncated_svd(X[:300], 20)
    projected = (old.left * old.values) @ old.right.T
    stacked = np.vstack([projected, X[300:].toarray()])
    left, values, right = np.linalg.svd(stacked, full_matrices=False)
    found = add_rows(old.values, old.right, X[300:], 20, tol=1e-9)
    np.testing.assert_allclose(found.values, values[:20], rtol=1e-10)
    alignment = np.abs(np.sum(found.right * right[:20].T, axis=0))
    np.testing.assert_allclose(alignment, 1, atol=1e-8)
    both = np.vstack([old.left @ found.old_left, found.new_left])
    alignment = np.abs(np.sum(both * left[:, :20], axis=0))
    np.testing.assert_allclose(alignment, 1, atol=1e-8)


def test_a_direction_keeps_its_sign():
    X = zipf_matrix(400, 100)
    old = truncated_svd(X[:390], 5)
    found = add_rows(old.values, old.right, X[390:], 5)
    assert (np.diag(old.right.T @ found.right) > 0.99).all()


def test_a_new_direction_without_old_columns_keeps_all_digits():
    X = sparse.hstack([zipf_matrix(300, 150), sparse.csr_matrix((300, 50))]).tocsr()
    old = truncated_svd(X, 12)
    new = np.zeros((1, 200))
    new[0, 150:] = 50.0
    exact = np.linalg.svd(
        np.vstack([old.values[:, None] * old.right.T, new]), full_matrices=False
    )
    found = add_rows(old.values, old.right, sparse.csr_matrix(new), 12, tol=1e-9)
    np.testing.assert_allclose(found.values, exact[1][:12], rtol=1e-10)
    np.testing.assert_allclose(found.right.T @ found.right, np.eye(12), atol=1e-11)
    alignment = np.abs(np.sum(found.right * exact[2][:12].T, axis=0))
    np.testing.assert_allclose(alignment, 1, atol=1e-9)


@pytest.mark.parametrize("shared", [False, True], ids=["no old term", "some"])
def test_many_new_strong_directions_are_all_found(shared):
    X = topical_counts(600)
    old = truncated_svd(sparse.hstack([X, sparse.csr_matrix((600, 400))]).tocsr(), 20)
    strong = 30 * topical_counts(400, n_topics=60, seed=1)
    first = topical_counts(400, seed=2) if shared else sparse.csr_matrix((400, 400))
    new = sparse.hstack([first, strong]).tocsr()
    found = add_rows(old.values, old.right, new, 20, tol=1e-6)
    stacked = np.vstack([old.values[:, None] * old.right.T, new.toarray()])
    exact = np.linalg.svd(stacked, compute_uv=False)[:20]
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


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_what_ends_a_product_ends_the_decomposition(error, monkeypatch):
    class Ending(svd.SparseRows):
        def __matmul__(self, block):
            if self.n_products > 5:
                raise error
            return super().__matmul__(block)

    monkeypatch.setattr(svd, "SparseRows", Ending)
    X = sparse.random(300, 200, 0.05, format="csr", random_state=0)
    with pytest.raises(error):
        svd.truncated_svd(X, 5)


def test_ctrl_c_between_two_products_is_ctrl_c(monkeypatch):
    def interrupted(*args, **options):
        raise SystemError("a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr(svd, "svds", interrupted)
    X = sparse.random(300, 200, 0.05, format="csr", random_state=0)
    with pytest.raises(KeyboardInterrupt):
        svd.truncated_svd(X, 5)
