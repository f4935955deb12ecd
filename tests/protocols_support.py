# SPDX-License-Identifier: BSD-3-Clause
"""A planted corpus for tests of experiments."""

import numpy as np

from topicfold.corpus import Corpus


def planted_corpus(n_classes=3, per_class=20, n_terms=24, noise=0.15, seed=0):
    """Classes with words of their own, and some noise."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), per_class)
    own = y[:, None] == np.arange(n_terms)[None] % n_classes
    X = rng.poisson(np.where(own, 1.5, noise))
    X[:, 0] += 1
    labels = [f"class {c}" for c in y]
    return Corpus(X, [f"w{i}" for i in range(n_terms)], labels=labels, name="planted")
