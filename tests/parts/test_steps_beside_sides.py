# SPDX-License-Identifier: BSD-3-Clause
"""θ-steps beside sides, both written from outside; and what sides must return."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import psi
from sides_support import planted
from step_support import CorrelatedTheta, EntropyTheta

from topicfold import LDA, PLSA, GibbsLDA
from topicfold.corpus.blocks import BlockMatrix
from topicfold.evidence import Response
from topicfold.exceptions import DataError
from topicfold.parts import Side, TopicWeights
from topicfold.phi import DirichletPhi
from topicfold.theta import Authors, DirichletTheta

K = 10


class Tone(Side):
    """Evidence: a number of each document, near the mean number of its topics."""

    data = "tone"
    hook = "evidence"

    def check(self, data, context):
        return np.asarray(data, dtype=float)

    def prepare(self, data, context):
        self.tones_ = np.zeros(context.n_topics)
        self.sums_ = []

    def gather(self, counts, data, context):
        return data @ counts, counts.sum(axis=0)

    def learn(self, sums, context):
        self.sums_.append(float(sums[1].sum()))
        self.tones_ = sums[0] / np.maximum(sums[1], 1e-9)

    def evidence(self, counts, data, context):
        if context.fitting:
            assert_allclose(counts.sum(axis=1), context.lengths, rtol=1e-4)
        return -((data[:, None] - self.tones_) ** 2)

    def value(self, counts, data, context):
        return float((counts * self.evidence(counts, data, context)).sum())


class Sticks(Side):
    """The prior of an HDP in 20 lines, without data: it is of all documents."""

    hook = "prior"

    def prepare(self, data, context):
        self.shares_ = np.full(context.n_topics, 1 / context.n_topics)

    def gather(self, counts, data, context):
        alpha = 4.0 * self.shares_
        return ((alpha * (psi(alpha + counts) - psi(alpha))).sum(axis=0),)

    def learn(self, sums, context):
        tables = sums[0] + 0.01
        self.shares_ = tables / tables.sum()

    def prior(self, data, context):
        return 4.0 * self.shares_[None]


@pytest.fixture(scope="module")
def corpus():
    X, theta, _ = planted(300, K, 120, 60)
    rng = np.random.default_rng(0)
    return X, theta @ rng.normal(size=K) + 0.1 * rng.normal(size=len(theta))


STEPS = {
    "prior": DirichletTheta(2.0),
    "entropy": EntropyTheta(0.5),
    "correlated": CorrelatedTheta(),
}


@pytest.mark.parametrize("name", STEPS)
def test_new_documents_get_the_step_and_the_evidence(name, corpus):
    X, tone = corpus
    known = {"tone": tone}
    if name == "correlated":
        known["covariates"] = np.ones((X.shape[0], 1))
    model = PLSA(K, theta_step=STEPS[name], sides=[Tone()], random_state=0)
    model.fit(X, **known)
    found = model.transform(X, **known)
    assert np.abs(found - model.doc_topics_).sum(axis=1).mean() <= 0.02
    some = {key: value[5:9] for key, value in known.items()}
    assert_allclose(model.transform(X[5:9], **some), found[5:9], atol=1e-6)


def test_a_prior_without_data_is_that_of_new_documents(corpus):
    X, _ = corpus
    model = PLSA(K, sides=[Sticks()], random_state=0).fit(X)
    gap = np.abs(model.transform(X) - model.doc_topics_).sum(axis=1).mean()
    assert gap <= 0.02
    plain = PLSA(K, random_state=0, max_iter=1).fit(X)
    plain.components_ = model.components_
    gap = np.abs(plain.transform(X) - model.doc_topics_).sum(axis=1).mean()
    assert gap > 0.05


def test_steps_and_mixings_beside_evidence_in_blocks(corpus, tmp_path):
    X, tone = corpus
    blocks = BlockMatrix.write(tmp_path / "blocks", X, block_size=80)
    options = {"max_iter": 8, "tol": 0, "random_state": 0}
    names = [f"a{d % 7}" for d in range(X.shape[0])]
    for model, known in (
        (PLSA(K, theta_step=EntropyTheta(0.5), sides=[Tone()], **options), {}),
        (LDA(K, sides=[Authors(), Tone()], **options), {"authors": names}),
    ):
        whole = model.fit(X, tone=tone, **known)
        theta, phi = whole.doc_topics_, whole.components_
        new = whole.transform(X, tone=tone, **known)
        model.fit(blocks, tone=tone, **known)
        assert_allclose(model.components_, phi, atol=1e-6)
        assert_allclose(model.doc_topics_, theta, atol=1e-5)
        assert_allclose(model.transform(blocks, tone=tone, **known), new, atol=1e-4)


def returning(hook, make):
    """Return a side of a hook whose method returns what `make` says."""
    method = "allowed" if hook == "mask" else hook

    def answer(self, *args):
        return make(args[-1].n_documents, args[-1].n_topics)

    body = {"hook": hook, method: answer, "check": lambda self, data, context: data}
    return type("Mine", (Side,), body)()


WRONG = {
    "evidence of a column": (
        "evidence",
        lambda d, k: np.zeros(d),
        r"return \(300, 10\)",
    ),
    "evidence without numbers": ("evidence", lambda d, k: None, "a row per document"),
    "evidence of NaN": ("evidence", lambda d, k: np.full((d, k), np.nan), "NaN"),
    "nothing allowed": (
        *("evidence", lambda d, k: np.full((d, k), -np.inf), "finite numbers"),
    ),
    "negative prior": ("prior", lambda d, k: np.full((1, k), -1.0), "positive"),
    "prior of NaN": ("prior", lambda d, k: np.full((1, k), np.nan), "positive"),
    "prior of a column": ("prior", lambda d, k: np.ones(d), r"the shape \(300,\)"),
    "empty mask": (
        *("mask", lambda d, k: sparse.csr_matrix((d, k)), "no topic for document 0"),
    ),
    "mask of other topics": ("mask", lambda d, k: np.ones((d, k + 1)), r"\(300, 11\)"),
    "mixing of fewer rows": ("mixing", lambda d, k: np.ones((d - 1, 1)), r"\(299, 1\)"),
    "mixing of twos": ("mixing", lambda d, k: np.ones((d, 2)), "sum to 1"),
    "negative counts": ("counts", lambda d, k: -np.ones((d, 3)), "Mine.counts"),
    "counts of fewer rows": ("counts", lambda d, k: np.ones((d - 1, 3)), r"\(299, 3\)"),
    "topics as an array": ("topics", lambda d, k: np.ones((120, k)), "TopicWeights"),
    "topics of fewer words": (
        "topics",
        lambda d, k: TopicWeights(np.ones((3, k)), np.ones(k), np.ones(k)),
        r"\(120, 10\)",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_a_side_returns_is_checked(name, corpus):
    hook, make, message = WRONG[name]
    model = LDA(K, sides=[returning(hook, make)], random_state=0, max_iter=3)
    with pytest.raises(DataError, match=message):
        model.fit(corpus[0])


def test_a_sampler_checks_priors(corpus):
    model = GibbsLDA(K, sides=[returning("prior", WRONG["negative prior"][1])])
    with pytest.raises(DataError, match=r"Mine\.prior returned numbers that are not"):
        model.fit(corpus[0].astype(int))


def test_a_side_has_a_hook_and_its_method(corpus):
    wrong = type("Mine", (Side,), {"hook": "evidnce"})()
    with pytest.raises(DataError, match=r"Mine\.hook is 'evidnce'"):
        LDA(K, sides=[wrong]).fit(corpus[0])
    lacking = type("Mine", (Side,), {"hook": "prior"})()
    with pytest.raises(DataError, match="no method prior"):
        LDA(K, sides=[lacking]).fit(corpus[0])


def test_sides_of_plsa_learn_what_they_predict_with(corpus):
    X, tone = corpus
    model = PLSA(K, sides=[Response()], random_state=0).fit(X, response=tone)
    (side,) = model.sides_
    found = side.predict_means(model.transform(X)).ravel()
    assert np.corrcoef(found, tone)[0, 1] > 0.9
    assert side.noise_ > 0
    assert side.std_errors_.shape == (K,)


def test_a_phi_step_with_sides_needs_topics_to_maximise(corpus):
    model = LDA(K, algorithm="variational", phi_step=DirichletPhi(), sides=[Sticks()])
    with pytest.raises(DataError, match="phi_step only works with algorithm='cvb0'"):
        model.fit(corpus[0])
