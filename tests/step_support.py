# SPDX-License-Identifier: BSD-3-Clause
"""Steps as a user would write them, outside the package; and every step there is."""

import inspect

import numpy as np
from scipy.special import psi

import topicfold.phi
import topicfold.theta
from topicfold.phi import PhiStep
from topicfold.theta import ThetaStep


class EntropyTheta(ThetaStep):
    """Adds ``weight · Σ_d H(θ_d)``: mixtures are drawn towards many topics.

    At the maximum ``θ_dk ∝ N_dk − weight · θ_dk log θ_dk``: a few fixed-point
    iterations, and the safeguard for where they go too far.
    """

    safeguarded = True

    def __init__(self, weight=1.0, n_iter=4):
        self.weight = weight
        self.n_iter = n_iter

    def update(self, counts, theta, context):
        for _ in range(self.n_iter):
            rows = counts + self.weight * self._surprise(theta, context)
            theta = rows / rows.sum(axis=1, keepdims=True)
        return rows

    def value(self, theta, context):
        return self.weight * float(self._surprise(theta, context).sum(dtype=np.float64))

    def _surprise(self, theta, context):
        return -theta * context.xp.log(context.xp.maximum(theta, 1e-30))


class StickTheta(ThetaStep):
    """The prior of an HDP: ``N_dk + α₀π_k``, π by expected tables of all documents."""

    def __init__(self, strength=2.0):
        self.strength = strength

    def prepare(self, context):
        n_topics = context.topics.shape[1]
        self.pi_ = np.full(n_topics, 1.0 / n_topics)

    def update(self, counts, theta, context):
        return counts + (self.strength * self.pi_).astype(counts.dtype)

    def gather(self, counts, theta, context):
        alpha = self.strength * self.pi_
        return ((alpha * (psi(alpha + counts) - psi(alpha))).sum(axis=0),)

    def learn(self, sums, context):
        tables = sums[0] + 0.01
        self.pi_ = tables / tables.sum()


class CorrelatedTheta(ThetaStep):
    """Logistic normal: η ~ N(xΓ, Σ) with the last η zero; x are covariates."""

    data = "covariates"

    def __init__(self, n_steps=4):
        self.n_steps = n_steps

    def check(self, data, context):
        return np.asarray(data, dtype=np.float64)

    def prepare(self, context):
        size = context.topics.shape[1] - 1
        n_covariates = 0 if context.data is None else context.data.shape[1]
        self.gamma_ = np.zeros((n_covariates, size))
        self.sigma_ = np.eye(size)

    def update(self, counts, theta, context):
        counts = counts.astype(np.float64)
        n = counts.sum(axis=1, keepdims=True)
        eta, mean = self._eta(theta), self._mean(context)
        precision = np.linalg.inv(self.sigma_)
        for _ in range(self.n_steps):
            shares = self._softmax(eta)
            free = shares[:, :-1]
            gradient = counts[:, :-1] - n * free - (eta - mean) @ precision
            step = np.linalg.solve(
                self._curvature(n, free, precision), gradient[..., None]
            )
            size = np.linalg.norm(step, axis=1).clip(2.0)
            eta = eta + step[..., 0] * (2.0 / size)
        return self._softmax(eta).astype(theta.dtype)

    def gather(self, counts, theta, context):
        eta, x, mean = self._eta(theta), context.data, self._mean(context)
        n = counts.sum(axis=1, keepdims=True, dtype=np.float64)
        free, precision = theta[:, :-1].astype(np.float64), np.linalg.inv(self.sigma_)
        laplace = np.linalg.inv(self._curvature(n, free, precision)).sum(axis=0)
        rest = eta - mean
        return x.T @ x, x.T @ eta, rest.T @ rest + laplace, float(len(eta))

    def learn(self, sums, context):
        xx, xe, ee, n = sums
        self.gamma_ = np.linalg.solve(xx + 1e-6 * np.eye(len(xx)), xe)
        self.sigma_ = ee / n + 0.01 * np.eye(len(ee))

    def _mean(self, context):
        # Row by row: products of a matrix depend on how many rows it has.
        return np.einsum("ij,jk->ik", context.data, self.gamma_)

    @staticmethod
    def _eta(theta):
        logs = np.log(np.maximum(theta, 1e-30).astype(np.float64))
        return logs[:, :-1] - logs[:, -1:]

    @staticmethod
    def _softmax(eta):
        eta = np.column_stack([eta, np.zeros(len(eta))])
        rows = np.exp(eta - eta.max(axis=1, keepdims=True))
        return rows / rows.sum(axis=1, keepdims=True)

    @staticmethod
    def _curvature(n, free, precision):
        diagonal = np.einsum("di,ij->dij", n * free, np.eye(free.shape[1]))
        return diagonal - n[..., None] * free[:, :, None] * free[:, None] + precision


class OwnPriorTheta(ThetaStep):
    """Every document has a guess of its own: ``θ_dk ∝ N_dk + n_d · weight · g_dk``.

    The guesses are of all documents; ``context.rows`` says which are asked for.
    """

    def __init__(self, weight=0.3, seed=0):
        self.weight = weight
        self.seed = seed

    def prepare(self, context):
        shape = context.rows.stop, context.topics.shape[1]
        rng = np.random.default_rng(self.seed)
        return rng.dirichlet(np.full(shape[1], 0.5), size=shape[0]) + 1e-3

    def _pseudo_counts(self, theta, context):
        guess = context.xp.asarray(context.state[context.rows], dtype=theta.dtype)
        lengths = context.lengths.astype(theta.dtype)
        return self.weight * (lengths + 1)[:, None] * guess

    def update(self, counts, theta, context):
        return counts + self._pseudo_counts(theta, context)

    def value(self, theta, context):
        logs = context.xp.log(context.xp.maximum(theta, 1e-30))
        return float((self._pseudo_counts(theta, context) * logs).sum())


class TogetherTheta(ThetaStep):
    """Draws all documents towards their common mean: needs all of them at once."""

    needs_all_documents = True
    safeguarded = True

    def update(self, counts, theta, context):
        return counts + context.lengths.astype(counts.dtype)[:, None] * theta.mean(
            axis=0
        )

    def value(self, theta, context):
        away = theta - theta.mean(axis=0)
        return -float((away * away).sum())


class SeededPhi(PhiStep):
    """Words of topic k are told in advance: column k of X, and k + 1."""

    def __init__(self, weight=5.0):
        self.weight = weight

    def _pseudo_counts(self, topics, context):
        columns = np.asarray(context.rows)[:, None] - np.arange(topics.shape[1])
        seeds = (columns == 0) | (columns == 1)
        return context.xp.asarray(self.weight * seeds, dtype=topics.dtype)

    def update(self, counts, topics, context):
        return counts + self._pseudo_counts(topics, context)

    def value(self, topics, context):
        logs = context.xp.log(context.xp.maximum(topics, 1e-30))
        return float((self._pseudo_counts(topics, context) * logs).sum())


def steps_of_the_package(base):
    """Return an instance of every public step that derives from `base`."""
    rooms = topicfold.theta, topicfold.phi
    public = [getattr(room, name) for room in rooms for name in room.__all__]
    # The logistic normal learns from a sample of documents, which rows in parts change.
    public.remove(topicfold.theta.LogisticNormalTheta)
    return [c() for c in public if inspect.isclass(c) and issubclass(c, base)]


THETA_STEPS = [
    *steps_of_the_package(ThetaStep),
    EntropyTheta(),
    OwnPriorTheta(),
    TogetherTheta(),
]
PHI_STEPS = [*steps_of_the_package(PhiStep), SeededPhi()]
PAIRS = [
    *((theta, PhiStep()) for theta in THETA_STEPS),
    *((ThetaStep(), phi) for phi in PHI_STEPS if type(phi) is not PhiStep),
    (EntropyTheta(2.0), SeededPhi()),
]


def name_of(pair):
    return "-".join(type(step).__name__ for step in pair)
