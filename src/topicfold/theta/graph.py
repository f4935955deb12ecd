# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-defs
"""θ-steps over the document graph: those of LapPLSI and of LTM, and their operator.

Kernels are serial over a range of documents. Sums over documents leave one float64 per
document, so that they do not depend on the ranges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.jit import kernel, part
from topicfold.core.parameters import NOT_NEGATIVE, POSITIVE_SHARE, DeclaredParameters
from topicfold.core.threads import RANGES_PER_THREAD, balanced_ranges, run_ranges
from topicfold.core.typing import Array
from topicfold.engine.protocol import array_module, on_device, padded
from topicfold.engine.special import log_scalar
from topicfold.exceptions import DataError
from topicfold.parts.steps import Context, ThetaStep

# Weight, in mean document lengths, of the uniform mixture in a document without words.
EMPTY_LENGTH = 1e-3


class GraphOperator:
    """A symmetric document graph W, its degrees and its Laplacian L = D − W.

    Every operation costs O(edges·K + D·K); results are the same bits for any number
    of threads. Views of padded arrays are used with their padding, and so are
    results: a copy per call is saved.
    """

    def __init__(
        self,
        graph: Any,
        n_topics: int,
        dtype: np.dtype | type = np.float64,
        threads: int = 1,
    ) -> None:
        graph = sparse.csr_matrix(graph)
        self.n_topics = n_topics
        self.indptr = graph.indptr.astype(np.int64)
        self.indices = graph.indices
        self.weights = graph.data.astype(dtype)
        self.degrees = np.asarray(graph.sum(axis=1), dtype=np.float64).ravel()
        self.threads = threads
        self._ranges = balanced_ranges(self.indptr, RANGES_PER_THREAD * threads)

    @property
    def total_weight(self) -> float:
        """``Σ_ij W_ij``, every edge twice."""
        return float(self.degrees.sum())

    def normalize(self, counts: Array, *, in_place: bool = False) -> Array:
        """Return rows on the simplex; a row of zeros becomes uniform."""
        (wide,) = self._wide(counts)
        out = wide if in_place else np.empty_like(wide)
        self._run(normalize_shares, wide, self.n_topics, out)
        return self._plain(out)

    def smooth(self, theta: Array, step: float | NDArray[np.float64]) -> Array:
        """Return ``(1 − step) θ_i + step Σ_j W_ij θ_j / D_ii`` (LapPLSI eq. 11)."""
        (wide,) = self._wide(theta)
        out = np.empty_like(wide)
        steps = np.broadcast_to(np.asarray(step, dtype=np.float64), len(theta))
        self._run(smooth_rows, *self._edges, self.degrees, wide, steps, out)
        return self._plain(out)

    def laplacian(self, theta: Array) -> Array:
        """Return ``L θ``."""
        return self.degrees[:, None] * theta - self.neighbor_sums(theta)

    def neighbor_sums(self, theta: Array) -> Array:
        """Return ``W θ``."""
        (wide,) = self._wide(theta)
        out = np.empty_like(wide)
        self._run(neighbor_sums, *self._edges, wide, out)
        return self._plain(out)

    def edge_products(self, first: Array, second: Array) -> float:
        """Return ``½ Σ_ij W_ij (a_i − a_j)·(b_i − b_j) = tr(aᵀ L b)``."""
        rows = np.empty(len(first))
        both = self._wide(first, second)
        self._run(squared_differences, *self._edges, *both, rows)
        return float(rows.sum())

    def divergence(self, theta: Array) -> float:
        """Return ``½ Σ_ij W_ij (KL(θ_i‖θ_j) + KL(θ_j‖θ_i))``, shares of 1e-10 least."""
        (wide,) = self._wide(theta)
        logs = np.empty_like(wide)
        self._run(log_rows, wide, self.n_topics, logs)
        return self.edge_products(theta, self._plain(logs))

    def expected_loglik(self, counts: Array, theta: Array) -> float:
        """Return ``Σ_dk N_dk log θ_dk``."""
        return float(self.expected_loglik_rows(counts, theta).sum())

    def expected_loglik_rows(self, counts: Array, theta: Array) -> NDArray[np.float64]:
        """Return ``Σ_k N_dk log θ_dk`` of each document."""
        rows = np.empty(len(theta))
        both = self._wide(counts, theta)
        self._run(expected_loglik, *both, self.n_topics, rows)
        return rows

    def solve(
        self,
        lengths: NDArray[np.float64],
        strength: float,
        counts: Array,
        start: Array,
        *,
        tol: float = 1e-4,
        max_iter: int = 100,
    ) -> tuple[Array, int]:
        """Solve ``(diag(n_d) + strength · L) θ = N`` for all topics together.

        Conjugate gradients with the diagonal as preconditioner, to `tol` (relative
        residual in its norm). One step length serves all topics, so the rows of every
        iterate sum to what the solution's do if those of `start` did. Returns the
        solution, not normalised, and the number of iterations.
        """
        counts, start = self._wide(counts, start)
        weights = (self.weights * strength).astype(counts.dtype)
        edges = (self.indptr, self.indices, weights)
        diagonal = lengths + strength * self.degrees
        x = start.copy()
        p, q = np.zeros_like(x), np.empty_like(x)
        dots = np.empty(len(x))
        run = self._run
        run(apply_system, *edges, diagonal, x, q, dots)
        r = counts - q
        goal = tol * tol * _scaled_square(counts, diagonal)
        residual = _scaled_square(r, diagonal)
        beta, n_iter = 0.0, 0
        while residual > goal and n_iter < max_iter:
            n_iter += 1
            run(redirect, beta, diagonal, r, p)
            run(apply_system, *edges, diagonal, p, q, dots)
            curvature = float(dots.sum())
            if curvature <= 0.0:
                break
            run(advance, residual / curvature, diagonal, p, q, x, r, dots)
            beta, residual = float(dots.sum()) / residual, float(dots.sum())
        return self._plain(x), n_iter

    def _wide(self, *arrays: Array) -> list[Array]:
        """Return rows with the padding that they have: kernels want whole arrays."""
        wide = [padded(array) for array in arrays]
        if len({None if w is None else w.shape for w in wide}) > 1 or wide[0] is None:
            return [np.ascontiguousarray(array) for array in arrays]
        return wide  # type: ignore[return-value]

    def _plain(self, wide: Array) -> Array:
        return wide[:, : self.n_topics]

    @property
    def _edges(self) -> tuple[Any, Any, Any]:
        return self.indptr, self.indices, self.weights

    def _run(self, kernel: Callable[..., Any], *arguments: Any) -> None:
        run_ranges(kernel, self._ranges, self.threads, *arguments)


def _scaled_square(rows: Array, diagonal: NDArray[np.float64]) -> float:
    """Return ``Σ_ik rows_ik² / diagonal_i``."""
    squares = np.einsum("ik,ik->i", rows, rows).astype(np.float64)
    return float((squares / diagonal).sum())


@dataclass
class GraphState:
    """What a step keeps during a fit; LapPLSI's also how often each M-step smoothed."""

    operator: Any
    strength: float
    smoothings: list[int] = field(default_factory=lambda: [0])


class GraphTheta(DeclaredParameters, ThetaStep):
    """Base of θ-steps that subtract ``λ · penalty(θ)`` over the document graph.

    Sub-classes define `_penalty` (half the sum over ordered pairs) and `update`.

    Parameters
    ----------
    paper_lambda : float or None, default=None
        The paper's λ instead of `weight`.
    graph : sparse matrix, edge list, networkx graph or None, default=None
        The graph when the step is given to a plain PLSA; None there is the cosine
        graph of 10 neighbours.
    """

    needs_graph = True
    needs_all_documents = True
    safeguarded = True
    normalized = True
    weight: Annotated[float, NOT_NEGATIVE]
    paper_lambda: Annotated[float | None, NOT_NEGATIVE]
    graph: Any

    def prepare(self, context: Context) -> GraphState:
        """Set up the graph and the λ of this corpus."""
        operator = graph_operator(type(self).__name__, context)
        total = operator.total_weight
        if self.paper_lambda is not None:
            strength = float(self.paper_lambda)
        else:
            n_tokens = float(context.corpus.document_lengths.sum())
            strength = 2.0 * self.weight * n_tokens / total if total > 0 else 0.0
        return GraphState(operator, strength)

    def value(self, theta: Array, context: Context) -> float:
        """``−λ · penalty(θ)``."""
        state: GraphState = context.state
        if state.strength == 0.0:
            return 0.0
        return -state.strength * self._penalty(theta, state.operator)

    def pull(self, rows: Array, context: Context) -> Array | None:
        """``−λ θ · ∂penalty/∂θ``; None on a GPU."""
        if on_device(rows):
            return None
        state: GraphState = context.state
        gradient: Array = self._gradient(rows, state.operator)
        return -state.strength * gradient

    def _penalty(self, theta: Array, operator: Any) -> float:
        raise NotImplementedError

    def _gradient(self, theta: Array, operator: Any) -> Any:
        """Return ``θ · ∂penalty/∂θ``."""
        raise NotImplementedError


def graph_operator(name: str, context: Context) -> Any:
    """Return the operator of the context's graph; an error says how to give a graph."""
    engine = context.corpus
    if context.graph is None:
        raise DataError(
            f"{name} needs a document graph, but there is none. Use one of "
            "LaplacianPLSA, LocallyConsistentPLSA and DiscriminativePLSA, or "
            f"PLSA(theta_step={name}(graph=...))."
        )
    if context.graph.shape[0] != engine.n_documents:
        raise DataError(
            f"the graph has {context.graph.shape[0]} nodes, the corpus "
            f"{engine.n_documents} documents. Give one node per document."
        )
    if on_device(context.topics):
        from topicfold.engine.cuda.steps import CudaGraphOperator

        return CudaGraphOperator(context.graph, engine)
    threads = engine.threads
    return GraphOperator(context.graph, engine.n_topics, engine.dtype, threads)


def floored_lengths(
    lengths: NDArray[np.float64], counts: Array
) -> tuple[NDArray[np.float64], Array]:
    """Give documents without words a trace of the uniform mixture: one solution is
    left.
    """
    empty = np.flatnonzero(lengths <= 0)
    if len(empty) == 0:
        return lengths, counts
    trace = EMPTY_LENGTH * float(lengths.mean())
    wide = padded(counts)
    filled = (counts if wide is None else wide).copy()[:, : counts.shape[1]]
    lengths, counts = lengths.copy(), filled
    lengths[empty] = trace
    counts[array_module(counts).asarray(empty)] = trace / counts.shape[1]
    return lengths, counts


class LaplacianTheta(GraphTheta):
    """θ-step of LapPLSI: mixtures are smoothed towards those of neighbours.

    Subtracts ``(λ/2) Σ_ij W_ij ‖θ_i − θ_j‖²`` from the log-likelihood. The M-step takes
    PLSA's, then smooths ``θ_i ← (1 − γ) θ_i + γ Σ_j W_ij θ_j / D_ii`` while the
    expected objective rises, `max_smoothings` times at most, and steps back towards the
    old θ where the whole objective would fall. Time O(edges·K) per smoothing.

    Parameters
    ----------
    weight : float, default=10.0
        Penalty in nats per token for a squared distance of one across every edge:
        ``λ = 2 · weight · tokens / Σ_ij W_ij``. It means the same on a corpus, on its
        double and with heavier edges. 0 is plain PLSA.
    paper_lambda : float or None, default=None
        The paper's λ (1000 there) instead of `weight`.
    step : float, default=0.4
        The paper's γ (0.1 there), in (0, 1]: larger steps, fewer of them.
    max_smoothings : int, default=5
        Maximum number of smoothings per iteration. Many of them collapse all topics
        into one.

    References
    ----------
    D. Cai, Q. Mei, J. Han & C. Zhai (2008). Modeling hidden topics on document
    manifold. CIKM. doi:10.1145/1458082.1458202

    Examples
    --------
    >>> LaplacianTheta(weight=0.5).needs_graph
    True
    """

    step: Annotated[float, POSITIVE_SHARE]
    max_smoothings: int

    def __init__(
        self,
        weight: float = 10.0,
        *,
        step: float = 0.4,
        max_smoothings: int = 5,
        paper_lambda: float | None = None,
        graph: Any = None,
    ) -> None:
        self._store_parameters(locals())

    def update(self, counts: Array, theta: Array, context: Context) -> Array:
        """Smooth PLSA's rows while the objective rises."""
        state: GraphState = context.state
        strength, operator = state.strength, state.operator
        if strength == 0.0:
            return counts
        # The count changes little between iterations: only its end is tested.
        n_smoothings = max(state.smoothings[-1] - 1, 0)
        target = operator.normalize(counts)
        for _ in range(n_smoothings):
            target = operator.smooth(target, self.step)
        best = self._expected(counts, target, strength, operator)
        while n_smoothings < self.max_smoothings:
            smoothed = operator.smooth(target, self.step)
            reached = self._expected(counts, smoothed, strength, operator)
            if reached <= best:
                break
            n_smoothings += 1
            target, best = smoothed, reached
        state.smoothings.append(n_smoothings)
        return target

    def _expected(
        self, counts: Array, theta: Array, strength: float, operator: Any
    ) -> float:
        loglik = float(operator.expected_loglik(counts, theta))
        return loglik - strength * self._penalty(theta, operator)

    def _penalty(self, theta: Array, operator: Any) -> float:
        return float(operator.edge_products(theta, theta))

    def _gradient(self, theta: Array, operator: Any) -> Any:
        return 2.0 * theta * operator.laplacian(theta)


class LocallyConsistentTheta(GraphTheta):
    """θ-step of LTM: linear equations that pull each document towards its neighbours.

    Subtracts ``(λ/2) Σ_ij W_ij (KL(θ_i‖θ_j) + KL(θ_j‖θ_i))`` from the log-likelihood.
    The M-step solves ``(diag(n_d) + λ L) θ = N`` by conjugate gradients; where the
    objective would fall, it moves from the old θ towards the solution only as far as it
    does not. Time O(edges·K) per conjugate-gradient step.

    Parameters
    ----------
    weight : float, default=1.0
        Penalty in nats per token for a divergence of one across every edge:
        ``λ = 2 · weight · tokens / Σ_ij W_ij``. It means the same on a corpus, on its
        double and with heavier edges. 0 is plain PLSA.

    References
    ----------
    D. Cai, X. Wang & X. He (2009). Probabilistic dyadic data analysis with local and
    global consistency. ICML. doi:10.1145/1553374.1553388

    Examples
    --------
    >>> LocallyConsistentTheta(weight=0.5).needs_graph
    True
    """

    tol = 1e-3  # relative residual of the equations; the next iteration goes on
    max_solver_iter = 50  # conjugate gradients: a dozen steps reach `tol`

    def __init__(
        self,
        weight: float = 1.0,
        *,
        paper_lambda: float | None = None,
        graph: Any = None,
    ) -> None:
        self._store_parameters(locals())

    def update(self, counts: Array, theta: Array, context: Context) -> Array:
        """Solve for the new rows."""
        state: GraphState = context.state
        if state.strength == 0.0:
            return counts
        lengths, filled = floored_lengths(context.corpus.document_lengths, counts)
        target, _ = state.operator.solve(
            lengths,
            state.strength,
            filled,
            theta,
            tol=self.tol,
            max_iter=self.max_solver_iter,
        )
        np.maximum(target, 0, out=target)
        rows: Array = state.operator.normalize(target, in_place=True)
        return rows

    def _penalty(self, theta: Array, operator: Any) -> float:
        return float(operator.divergence(theta))

    def _gradient(self, theta: Array, operator: Any) -> Any:
        logs = np.log(np.maximum(theta, FLOOR))
        return theta * operator.laplacian(logs) + operator.laplacian(theta)


# Probability below which two topics' shares count as equally absent.
FLOOR = 1e-10


@kernel
def normalize_shares(start, stop, counts, n_topics, out):
    """Write rows on the simplex, uniform for a row of zeros; `out` may be `counts`."""
    for i in range(start, stop):
        total = 0.0
        for k in range(n_topics):
            total += counts[i, k]
        if total > 0.0:
            scale = 1.0 / total
            for k in range(n_topics):
                out[i, k] = counts[i, k] * scale
        else:
            for k in range(n_topics):
                out[i, k] = 1.0 / n_topics
        for k in range(n_topics, counts.shape[1]):
            out[i, k] = 0.0


@part
def _sum_neighbors(i, indptr, indices, weights, theta, row):
    """Write ``Σ_j W_ij θ_j``."""
    n_topics = theta.shape[1]
    for k in range(n_topics):
        row[k] = 0.0
    for e in range(indptr[i], indptr[i + 1]):
        w = weights[e]
        other = theta[indices[e]]
        for k in range(n_topics):
            row[k] += w * other[k]


@kernel
def neighbor_sums(start, stop, indptr, indices, weights, theta, out):
    """Write ``W @ theta``."""
    for i in range(start, stop):
        _sum_neighbors(i, indptr, indices, weights, theta, out[i])


@kernel
def smooth_rows(start, stop, indptr, indices, weights, degrees, theta, steps, out):
    """Write ``(1 - s_i) θ_i + s_i Σ_j W_ij θ_j / D_ii``; isolated rows are copied."""
    n_topics = theta.shape[1]
    for i in range(start, stop):
        row = out[i]
        own = theta[i]
        if degrees[i] <= 0.0:
            for k in range(n_topics):
                row[k] = own[k]
            continue
        keep = theta.dtype.type(1.0 - steps[i])
        scale = theta.dtype.type(steps[i] / degrees[i])
        _sum_neighbors(i, indptr, indices, weights, theta, row)
        for k in range(n_topics):
            row[k] = keep * own[k] + scale * row[k]


@kernel
def squared_differences(start, stop, indptr, indices, weights, first, second, out):
    """Write ``Σ_{j>i} W_ij (a_i - a_j)·(b_i - b_j)`` of each document i."""
    n_topics = first.shape[1]
    for i in range(start, stop):
        total = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if j <= i:
                continue
            part = first.dtype.type(0)
            for k in range(n_topics):
                part += (first[i, k] - first[j, k]) * (second[i, k] - second[j, k])
            total += weights[e] * np.float64(part)
        out[i] = total


@kernel
def log_rows(start, stop, theta, n_topics, out):
    """Write ``log max(theta, floor)``, zero in the padding."""
    for i in range(start, stop):
        for k in range(n_topics):
            out[i, k] = log_scalar(max(np.float64(theta[i, k]), FLOOR))
        for k in range(n_topics, theta.shape[1]):
            out[i, k] = 0.0


@kernel
def expected_loglik(start, stop, counts, theta, n_topics, out):
    """Write ``Σ_k N_ik log θ_ik`` of each document (0 log 0 = 0)."""
    for i in range(start, stop):
        total = 0.0
        for k in range(n_topics):
            if counts[i, k] > 0.0:
                share = max(np.float64(theta[i, k]), 1e-35)
                total += counts[i, k] * log_scalar(share)
        out[i] = total


@kernel
def apply_system(start, stop, indptr, indices, weights, diagonal, p, out, out_dot):
    """Write ``q_i = diagonal_i p_i - Σ_j weights_ij p_j`` and ``p_i·q_i``."""
    n_topics = p.shape[1]
    for i in range(start, stop):
        row = out[i]
        own = p[i]
        d = p.dtype.type(diagonal[i])
        for k in range(n_topics):
            row[k] = d * own[k]
        for e in range(indptr[i], indptr[i + 1]):
            w = weights[e]
            other = p[indices[e]]
            for k in range(n_topics):
                row[k] -= w * other[k]
        total = p.dtype.type(0)
        for k in range(n_topics):
            total += own[k] * row[k]
        out_dot[i] = total


@kernel
def advance(start, stop, step, diagonal, p, q, x, r, out_dot):
    """Do ``x += step p``, ``r -= step q``; write ``r_i·r_i / diagonal_i``."""
    a = p.dtype.type(step)
    for i in range(start, stop):
        total = p.dtype.type(0)
        for k in range(p.shape[1]):
            x[i, k] += a * p[i, k]
            r[i, k] -= a * q[i, k]
        for k in range(p.shape[1]):
            total += r[i, k] * r[i, k]
        out_dot[i] = np.float64(total) / diagonal[i]


@kernel
def redirect(start, stop, beta, diagonal, r, p):
    """Do ``p = r / diagonal + beta p``."""
    b = p.dtype.type(beta)
    for i in range(start, stop):
        scale = p.dtype.type(1.0 / diagonal[i])
        for k in range(p.shape[1]):
            p[i, k] = scale * r[i, k] + b * p[i, k]
