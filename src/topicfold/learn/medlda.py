# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-defs
"""Learning of MedLDA: variational LDA whose documents are pulled by a margin.

See docs/math.md §8.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import psi

from topicfold.core.counts import normalize_rows
from topicfold.core.jit import kernel
from topicfold.core.typing import Array, Doubles
from topicfold.engine.protocol import Engine
from topicfold.engine.special import exp_digamma_scalar, exp_scalar

# How near to its optimum the dual is brought in an iteration, and by how many sweeps;
# it goes on from there in the next one.
DUAL_TOL = 1e-2
DUAL_SWEEPS = 10


class MarginDual:
    """The multi-class margin of Crammer and Singer by dual coordinate ascent.

    For features z_d, classes y_d, cost C and loss ℓ it solves

        min_η  ½ Σ_y ‖η_y‖² + C Σ_d max_y (ℓ·[y ≠ y_d] + η_y·z_d − η_{y_d}·z_d)

    through its dual: ``η_y = Σ_d a_dy z_d`` with ``Σ_y a_dy = 0`` and
    ``a_dy ≤ C·[y = y_d]``. The variables of one document are moved to their best
    values together; sweeps go on until no document breaks its optimality condition
    ``max_y g_dy − min_{y: a_dy < C·[y = y_d]} g_dy ≤ tol·ℓ`` with
    ``g_dy = η_y·z_d + ℓ·[y ≠ y_d]``. Time O(C·K) per document and sweep.

    Label -1 is a document without a class, which has no margin. `duals` (D, n_classes)
    are a_dy, `weights` (n_classes, n_features) η.

    Examples
    --------
    >>> dual = MarginDual(np.array([0, 1]), 2, 2, cost=1.0, loss=1.0)
    >>> dual.solve(np.eye(2), tol=1e-9, max_sweeps=100) < 1e-9
    True
    >>> dual.weights
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])

    References
    ----------
    K. Crammer & Y. Singer (2001). On the algorithmic implementation of multiclass
    kernel-based vector machines. JMLR 2.

    S. Keerthi, S. Sundararajan, K. Chang, C. Hsieh & C. Lin (2008). A sequential dual
    method for large scale multi-class linear SVMs. KDD. doi:10.1145/1401890.1401942
    """

    def __init__(
        self,
        labels: NDArray[np.integer],
        n_classes: int,
        n_features: int,
        *,
        cost: float,
        loss: float,
    ) -> None:
        self.labels = np.asarray(labels, dtype=np.int64)
        self.cost = float(cost)
        self.loss = float(loss)
        self.duals = np.zeros((len(self.labels), n_classes))
        self.weights = np.zeros((n_classes, n_features))

    def solve(self, features: Doubles, *, tol: float, max_sweeps: int) -> float:
        """Raise the dual from the multipliers of the last call; return the violation.

        `features` are z_d; a row of zeros is a document without words and is left out.
        `tol` and the violation (the largest of the last sweep) are in units of the
        loss.
        """
        features = np.ascontiguousarray(features, dtype=np.float64)
        self.weights = self.duals.T @ features
        norms = np.einsum("dk,dk->d", features, features)
        violation = np.inf
        for _ in range(max_sweeps):
            violation = sweep_documents(
                features, norms, self.labels, self.cost, self.loss, tol * self.loss,
                self.duals, self.weights,
            )  # fmt: skip
            if violation <= tol * self.loss:
                break
        # Without the rounding that the sweeps have added up.
        self.weights = self.duals.T @ features
        return float(violation / self.loss)

    def slacks(self, features: Doubles) -> Doubles:
        """Return ``max_y (ℓ·[y ≠ y_d] + η_y·z_d − η_{y_d}·z_d)``, 0 if unknown."""
        known = self.labels >= 0
        own = np.maximum(self.labels, 0)[:, None]
        scores = features @ self.weights.T
        scores -= np.take_along_axis(scores, own, axis=1)
        scores += self.loss
        np.put_along_axis(scores, own, 0.0, axis=1)
        slacks: Doubles = np.where(known, scores.max(axis=1), 0.0)
        return slacks

    def objective(self, features: Doubles) -> float:
        """Return the primal, ``½ Σ_y ‖η_y‖² + C Σ_d ξ_d``."""
        squared = float((self.weights**2).sum())
        return 0.5 * squared + self.cost * float(self.slacks(features).sum())


class MedLdaLearning:
    """Alternate topics, mixtures and the margin, for the EM driver.

    With q the variational posterior, ``z̄_d = N_dk / n_d`` and slacks ξ as in
    :class:`MarginDual` the objective is

        ELBO(q) − ½ Σ_y ‖η_y‖² − C Σ_d ξ_d(z̄_d, η)

    Topics maximise it. Given η, a document's token weights get the factor
    ``exp δ_dk`` with ``δ_d = (1/n_d) Σ_y a_dy η_y``, the slope of the margin at its
    multipliers: it maximises a bound of the objective that touches it at the old z̄
    from above, so an iteration may lower the objective, and with a large C·ℓ does.

    With `max_pull` δ_dk stays within so much of its mean over the topics. Otherwise a
    large C·ℓ drives the words of a class into a topic or two, however many there are,
    and the rest are left empty.
    """

    def __init__(
        self,
        engine: Engine,
        phi: Array,
        dual: MarginDual,
        alpha: Doubles,
        eta: float,
        *,
        doc_updates: int,
        max_pull: float | None = None,
    ) -> None:
        self.engine = engine
        self.max_pull = max_pull
        self.dual = dual
        self.alpha = alpha
        self.eta = eta
        self.doc_updates = doc_updates
        self.lengths = np.maximum(engine.document_lengths, 1e-30)[:, None]
        self.topic_counts = engine.pack_topics(phi)
        tokens = engine.document_lengths.sum() / engine.n_topics
        self.topic_counts *= engine.dtype.type(tokens)
        self.weights = engine.expected_log_topics(
            self.topic_counts, eta, np.empty_like(self.topic_counts)
        )
        shape = (engine.n_documents, engine.n_topics)
        self.slopes = np.zeros(shape)
        self.counts = np.broadcast_to(self.lengths / engine.n_topics, shape)

    def start(self) -> float:
        """Fold the documents into the starting topics."""
        return self._update_documents()

    def iterate(self) -> float:
        """New topics, new documents, a new margin; return the objective."""
        engine = self.engine
        engine.word_pass(self._packed, self.weights, self.topic_counts)
        engine.expected_log_topics(self.topic_counts, self.eta, self.weights)
        return self._update_documents()

    def _update_documents(self) -> float:
        engine = self.engine
        for _ in range(self.doc_updates):
            self.gamma = self.counts + self.alpha
            # exp(ψ(γ) + δ), rows scaled, and the logarithms of the scales.
            weights, log_scale = np.empty_like(self.gamma), np.empty(len(self.gamma))
            margin_weights(self.gamma, self.slopes, weights, log_scale)
            self._packed = engine.pack_documents(weights)
            result = engine.document_pass(self._packed, self.weights)
            self.counts = engine.unpack_documents(result.counts).astype(np.float64)
        bound = self._bound(result.loglik, weights.sum(axis=1), log_scale)
        self.solve_margin(DUAL_TOL, DUAL_SWEEPS)
        return bound - self.dual.objective(self.mean_assignments())

    def _bound(self, loglik: float, sums: Doubles, log_scale: Doubles) -> float:
        """Return the evidence lower bound at the last document pass."""
        engine = self.engine
        # The engine normalises weights: what it took away comes back, without δ.
        norm = np.log(sums) + log_scale - psi(self.gamma.sum(axis=1))
        tokens = loglik + float(engine.document_lengths @ norm)
        tokens -= float((self.counts * self.slopes).sum())
        documents = engine.document_bound(
            engine.pack_documents(self.gamma), engine.pack_prior(self.alpha)
        )
        return tokens + documents + engine.topic_bound(self.topic_counts, self.eta)

    def solve_margin(self, tol: float, max_sweeps: int) -> float:
        """Move classifier and multipliers towards their best for these mixtures.

        Returns the violation of the optimality condition, see `MarginDual.solve`.
        """
        dual = self.dual
        violation = dual.solve(self.mean_assignments(), tol=tol, max_sweeps=max_sweeps)
        self.slopes = dual.duals @ dual.weights / self.lengths
        if self.max_pull is not None:
            centred = self.slopes - self.slopes.mean(axis=1, keepdims=True)
            self.slopes = np.clip(centred, -self.max_pull, self.max_pull)
        return violation

    def mean_assignments(self) -> Doubles:
        """Mean topic assignments z̄ (D, K); zero rows for documents without words."""
        assignments: Doubles = self.counts / self.lengths
        return assignments

    def topics(self) -> Array:
        """Posterior mean topics (K, V)."""
        topics = self.engine.unpack_topics(self.topic_counts)
        topics += topics.dtype.type(self.eta)
        return normalize_rows(topics)

    def topic_totals(self) -> Doubles:
        """Σ_w λ_kw."""
        prior = self.eta * self.engine.n_terms
        return self.engine.topic_totals(self.topic_counts) + prior

    def doc_topics(self) -> Array:
        """Posterior mean mixtures (D, K), with the margin's pull; uniform if empty."""
        theta = normalize_rows(self.counts + self.alpha).astype(self.engine.dtype)
        theta[self.engine.document_lengths == 0] = 1.0 / self.engine.n_topics
        return theta


@kernel
def sweep_documents(features, norms, labels, cost, loss, threshold, duals, weights):
    """Set the variables of each document to their best, one document after another.

    Changes `duals` (D, C) and `weights` (C, K); returns the largest violation met.
    With ``A = ‖z‖²`` and ``b_y = g_y − A a_y`` the best values are
    ``min(C_y, (β − b_y) / A)``, C_y = cost for the own class and else 0, with the β
    that makes them sum to zero: the mean of ``b_y + A C_y`` over the classes whose
    value is not capped, less ``A·cost`` shared among them.
    """
    n_classes, n_features = weights.shape
    gradient = np.empty(n_classes)
    bound = np.empty(n_classes)
    worst = 0.0
    for d in range(features.shape[0]):
        own = labels[d]
        if own < 0 or norms[d] <= 0.0:
            continue
        z = features[d]
        dual = duals[d]
        highest = -np.inf
        lowest = np.inf
        for y in range(n_classes):
            score = 0.0
            for k in range(n_features):
                score += weights[y, k] * z[k]
            gradient[y] = score if y == own else score + loss
            highest = max(highest, gradient[y])
            if dual[y] < (cost if y == own else 0.0):
                lowest = min(lowest, gradient[y])
        violation = highest - lowest
        worst = max(worst, violation)
        if violation <= 0.1 * threshold:
            continue
        size = norms[d]
        n_free = n_classes
        total = -size * cost
        for y in range(n_classes):
            bound[y] = gradient[y] - size * dual[y]
            if y == own:
                bound[y] += size * cost
        for y in range(n_classes):
            total += bound[y]
        beta = total / n_free
        changed = True
        while changed:  # classes at their cap leave, for good, and raise the mean
            changed = False
            for y in range(n_classes):
                if bound[y] <= beta and not np.isneginf(bound[y]):
                    total -= bound[y]
                    bound[y] = -np.inf
                    n_free -= 1
                    changed = True
            beta = total / n_free
        for y in range(n_classes):
            cap = cost if y == own else 0.0
            value = cap if np.isneginf(bound[y]) else cap + (beta - bound[y]) / size
            step = value - dual[y]
            dual[y] = value
            if step != 0.0:
                for k in range(n_features):
                    weights[y, k] += step * z[k]
    return worst


@kernel
def margin_weights(gamma, slopes, out_weights, out_log_scale):
    """Write ``exp(ψ(γ_dk) + δ_dk − m_d)``, the largest δ of a row taken out as m_d.

    Rows are then scaled so that their largest entry is 1; `out_log_scale` has the
    logarithm of what was taken out. Equivalent to ``np.exp(psi(gamma) + slopes -
    out_log_scale[:, None])``.
    """
    for d in range(gamma.shape[0]):
        highest = -np.inf
        for k in range(gamma.shape[1]):
            highest = max(highest, slopes[d, k])
        largest = 1e-300
        for k in range(gamma.shape[1]):
            weight = exp_digamma_scalar(gamma[d, k]) * exp_scalar(
                slopes[d, k] - highest
            )
            out_weights[d, k] = weight
            largest = max(largest, weight)
        for k in range(gamma.shape[1]):
            out_weights[d, k] /= largest
        out_log_scale[d] = highest + np.log(largest)
