# SPDX-License-Identifier: BSD-3-Clause
"""Truncated singular value decomposition of a sparse matrix, and its updating.

SciPy's PROPACK multiplies vectors by X and Xᵀ, neither of which is made dense; memory
is O(nnz + (D + V)·rank). A block Lanczos of our own is not worth its lines: without
hand-written machine code it needs as much processor time as PROPACK.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, svds
from sklearn.exceptions import ConvergenceWarning

from topicfold.core.counts import SparseRows, tall_product
from topicfold.core.threads import one_blas_thread
from topicfold.core.typing import Doubles

# A singular value below this part of the largest counts as zero: where squares are
# worked on, they have no digits left for it.
RANK_TOL = 1e-7
# Up to this many rows beyond twice the rank a dense solver is as quick.
DENSE_ROWS = 128
# Vectors of PROPACK that are further from orthogonal belong to wrong values.
_SKEW = 1e-7
# Beyond this ratio of singular values the derived vectors are made orthogonal again.
_SPREAD = 1e3


class TruncatedSVD(NamedTuple):
    """``X ≈ left · diag(values) · rightᵀ`` with orthonormal columns.

    The values fall and are positive; the largest entry of a column of `right` is, too.
    `n_iter` is the number of products of the matrix with a vector.
    """

    left: Doubles
    values: Doubles
    right: Doubles
    n_iter: int


def truncated_svd(
    X: sparse.csr_matrix,
    rank: int,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    random_state: np.random.RandomState | None = None,
    threads: int = 1,
) -> TruncatedSVD:
    """Return the `rank` largest singular values of a sparse matrix and their vectors.

    Fewer are returned if the matrix has fewer that are not zero. `tol` is the relative
    accuracy of the vectors (that of the values is its square), `max_iter` the most
    restarts of ARPACK, which takes over where PROPACK gives up. The computation is in
    float64, and has the same bits for any number of threads.
    """
    rng = np.random.RandomState(0) if random_state is None else random_state
    rows, columns = SparseRows(X, threads), SparseRows(X.T.tocsr(), threads)
    with one_blas_thread():
        found = _by_propack(rows, columns, rank, tol, rng)
        if found is None:
            found = _by_squares(rows, columns, rank, tol, max_iter)
    left, values, right = found
    signs = column_signs(right)
    left *= signs
    right *= signs
    return TruncatedSVD(left, values, right, rows.n_products)


def _by_propack(
    rows: SparseRows,
    columns: SparseRows,
    rank: int,
    tol: float,
    rng: np.random.RandomState,
) -> tuple[Doubles, Doubles, Doubles] | None:
    """Return the decomposition, or None where PROPACK cannot find it.

    It stops at an invariant subspace (a matrix of lower rank), and where many singular
    values are equal it silently returns others: its vectors are not orthogonal.
    """
    if min(rows.shape) <= 2 * rank + DENSE_ROWS:
        return None
    failed: list[BaseException] = []  # Ctrl-C, no memory: PROPACK would go on

    def product(matrix: SparseRows, vector: Doubles) -> Doubles:
        try:
            return np.zeros(matrix.shape[0]) if failed else matrix @ vector.reshape(-1)
        except BaseException as error:  # raised below
            failed.append(error)
            return np.zeros(matrix.shape[0])

    matrix = LinearOperator(
        rows.shape,
        matvec=partial(product, rows),
        rmatvec=partial(product, columns),
        dtype=np.float64,
    )
    start = rng.standard_normal(rows.shape[0])
    try:
        options = {"solver": "propack", "return_singular_vectors": "vh"}
        _, values, right = svds(
            matrix, rank, tol=tol, v0=start, random_state=0, **options
        )
    except LinAlgError:
        if not failed:
            return None
    except SystemError as error:  # Ctrl-C between two products
        failed.append(_first_cause(error))
    if failed:
        raise failed[0]
    order = np.argsort(-values, kind="stable")
    order = order[significant(values[order] ** 2)]
    values, right = values[order], np.ascontiguousarray(right[order].T)
    if not _straighten(right):
        return None
    left, lengths = normalised(rows @ right)
    sound = _straighten(left) and np.allclose(lengths, values)
    return (left, values, right) if sound else None


def _first_cause(error: BaseException) -> BaseException:
    while (before := error.__cause__ or error.__context__) is not None:
        error = before
    return error


def _straighten(vectors: Doubles) -> bool:
    """Make unit columns orthogonal to the last digit; tell whether they nearly were."""
    skew = vectors.T @ vectors - np.eye(vectors.shape[1])
    vectors -= vectors @ (skew / 2)
    return bool(np.abs(skew).max(initial=0.0) <= _SKEW)


def _by_squares(
    rows: SparseRows, columns: SparseRows, rank: int, tol: float, max_iter: int
) -> tuple[Doubles, Doubles, Doubles]:
    """Return the decomposition from the eigenpairs of the smaller of XXᵀ and XᵀX."""
    turned = rows.shape[0] > rows.shape[1]
    small, large = (columns, rows) if turned else (rows, columns)
    squares, near = largest_eigenpairs(
        lambda block: small @ (large @ block), small.shape[0], rank, tol, max_iter
    )
    near = near[:, significant(squares)]
    far, values = normalised(large @ near)
    return (far, values, near) if turned else (near, values, far)


def largest_eigenpairs(
    apply: Callable[[Doubles], Doubles],
    n_rows: int,
    n_pairs: int,
    tol: float,
    max_iter: int,
) -> tuple[Doubles, Doubles]:
    """Return the largest eigenpairs of a positive semi-definite operator, in order."""
    n_pairs = min(n_pairs, n_rows)
    if n_rows <= 2 * n_pairs + DENSE_ROWS:
        dense = apply(np.eye(n_rows))
        values, vectors = eigh((dense + dense.T) / 2, driver="evd")
    else:
        operator = LinearOperator(
            (n_rows, n_rows),
            matvec=lambda vector: apply(vector.reshape(-1)),
            dtype=np.float64,
        )
        start = np.random.RandomState(0).standard_normal(n_rows)
        try:
            values, vectors = eigsh(
                operator, n_pairs, tol=tol, maxiter=max_iter, v0=start
            )
        except ArpackNoConvergence as stopped:
            values, vectors = stopped.eigenvalues, stopped.eigenvectors
            warnings.warn(
                f"only {len(values)} of {n_pairs} singular values converged in "
                f"{max_iter} iterations. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
    order = np.argsort(-values, kind="stable")[:n_pairs]
    return values[order], np.ascontiguousarray(vectors[:, order])


def significant(squares: Doubles) -> slice:
    """Return the places of the squared singular values that are not noise."""
    largest = max(float(squares.max(initial=0.0)), 0.0)
    return slice(0, int(np.count_nonzero(squares > RANK_TOL**2 * largest)))


def normalised(image: Doubles) -> tuple[Doubles, Doubles]:
    """Return the columns of `image`, which is changed, at length one and their lengths.

    The columns are orthogonal up to rounding; where the lengths are far apart that is
    not enough, and they are made orthogonal by the small correction (1 + E)^-1/2, with
    E what their products lack of the identity.
    """
    lengths = np.sqrt(np.einsum("ij,ij->j", image, image))
    image /= lengths
    unit = image
    if len(lengths) and lengths.max() > _SPREAD * lengths.min():
        values, vectors = np.linalg.eigh(unit.T @ unit)
        unit = unit @ (vectors / np.sqrt(values) @ vectors.T)
    return unit, lengths


def column_signs(vectors: Doubles) -> Doubles:
    """Return ±1 for every column: the sign of its entry of largest size."""
    if not vectors.size:
        return np.ones(vectors.shape[1])
    return np.where(-vectors.min(axis=0) > vectors.max(axis=0), -1.0, 1.0)


class RowUpdate(NamedTuple):
    """The decomposition with new rows; old left vectors are ``U @ old_left``."""

    values: Doubles
    right: Doubles
    old_left: Doubles
    new_left: Doubles


def add_rows(
    values: Doubles,
    right: Doubles,
    rows: sparse.csr_matrix,
    rank: int,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    threads: int = 1,
) -> RowUpdate:
    """Return the best rank-`rank` decomposition of ``[U Σ Vᵀ; rows]`` (Zha & Simon).

    ``[U Σ Vᵀ; N]`` is ``diag(U, 1)`` times ``M = [Σ Vᵀ; N]``, whose singular values and
    vectors are found from a matrix of the size of rank plus new rows,

        M Mᵀ = [[Σ², Σ Pᵀ], [P Σ, N Nᵀ]],    P = N V.

    U is not needed, so memory does not depend on how many rows there were. Zha and
    Simon decompose the dense residual ``N - P Vᵀ``; here N stays sparse. A column keeps
    the sign of the old one that it is nearest to. `LSI` says how large the error is.
    """
    by_row = SparseRows(rows, threads)
    by_term = SparseRows(rows.T.tocsr(), threads)
    with one_blas_thread():
        images = by_row @ right
        k, n_rows = len(values), len(values) + len(images)
        coupling = images * values

        def apply(block: Doubles) -> Doubles:
            old, new = block[:k], block[k:]
            image = np.empty_like(block)
            image[:k] = (old.T * values**2).T + coupling.T @ new
            image[k:] = by_row @ (by_term @ new) + coupling @ old
            return image

        squares, left = largest_eigenpairs(apply, n_rows, rank, tol, max_iter)
        left = left[:, significant(squares)]
        found = np.sqrt(squares[significant(squares)])
        left = left * column_signs(left[:k])
        weights = left / found
        columns = tall_product(right, values[:, None] * weights[:k], threads)
        columns += by_term @ weights[k:]
        return RowUpdate(found, normalised(columns)[0], left[:k], left[k:])
