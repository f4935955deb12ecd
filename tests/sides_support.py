# SPDX-License-Identifier: BSD-3-Clause
"""Small sides of every hook, and corpora with planted topics, for tests."""

import numpy as np
from scipy import sparse

from topicfold.parts import Side, TopicWeights


def planted(n_documents=120, n_topics=4, n_terms=60, length=40, seed=0, alpha=0.15):
    """Return counts, mixtures and topics of a small corpus drawn from LDA."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(n_terms, 0.05), n_topics)
    theta = rng.dirichlet(np.full(n_topics, alpha), n_documents)
    X = np.array([rng.multinomial(length, row) for row in theta @ phi])
    return sparse.csr_matrix(X.astype(np.float64)), theta, phi


class Slant(Side):
    """Evidence: a given δ for every document, at once."""

    data = "slant"
    hook = "evidence"
    known_later = False

    def __init__(self, weight=1.0):
        self.weight = weight

    def check(self, data, context):
        return np.asarray(data, float)

    def gather(self, counts, data, context):
        return (counts * data).sum(), counts.sum()

    def learn(self, sums, context):
        self.mean_ = float(sums[0] / sums[1])

    def evidence(self, counts, data, context):
        return self.weight * data

    def value(self, counts, data, context):
        return self.weight * float((counts * data).sum())


class OtherSlant(Slant):
    """A second evidence."""

    data = "other_slant"


class OwnPrior(Side):
    """Prior: a given α for every document, 0.5 for those of which none is known."""

    data = "alphas"
    hook = "prior"

    def check(self, data, context):
        return np.asarray(data, float)

    def prior(self, data, context):
        return np.full((1, context.n_topics), 0.5) if data is None else data


class Only(Side):
    """Mask: the topics that every document may use."""

    data = "only"
    hook = "mask"
    known_later = False

    def check(self, data, context):
        return sparse.csr_matrix(np.asarray(data) != 0)

    def allowed(self, data, context):
        return data


class Banned(Side):
    """Topics: a word that the first topic never has."""

    hook = "topics"

    def __init__(self, word=0):
        self.word = word

    def topics(self, counts, eta, words, context):
        counts = counts.copy() + eta
        counts[self.word, 0] = 0.0
        totals = counts.sum(axis=0)
        scale = np.tile(1 / totals, (2, 1))
        floor = np.tile(eta / totals, (2, 1))
        floor[1, 0] = 0.0
        groups = (words == self.word).astype(int)
        return TopicWeights(counts / totals, scale, floor, groups)

    def start(self, topics, context):
        topics = topics.copy()
        topics[0, self.word] = 0.0
        return topics
