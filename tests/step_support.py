# SPDX-License-Identifier: BSD-3-Clause
"""Steps as a user would write them, outside the package; and every step there is."""

import inspect

import numpy as np

import topicfold.steps
from topicfold.steps import PhiStep, ThetaStep


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
    public = [getattr(topicfold.steps, name) for name in topicfold.steps.__all__]
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
