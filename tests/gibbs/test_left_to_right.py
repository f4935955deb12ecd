# SPDX-License-Identifier: BSD-3-Clause
"""Held-out likelihood against models small enough to sum over all topics."""

from itertools import product

import numpy as np
import pytest
from gibbs_reference import left_to_right as plain_left_to_right
from scipy import sparse

from topicfold import LDA
from topicfold.corpus.splits import complete_split
from topicfold.exceptions import DataError
from topicfold.gibbs.fixed_topics import gibbs_mixtures
from topicfold.metrics import completion_perplexity, left_to_right_log_likelihood

ALPHA = np.array([0.4, 0.7, 0.2])
TOPICS = np.array(
    [[0.6, 0.3, 0.1, 0.0], [0.05, 0.05, 0.2, 0.7], [0.25, 0.25, 0.25, 0.25]]
)
DOCUMENTS = np.array([[2, 1, 0, 1], [0, 0, 3, 3], [1, 1, 1, 1], [5, 0, 0, 1]])


def all_assignments(row):
    """Yield P(w, z) and the counts of topics, for every z of a document."""
    words = np.repeat(np.arange(len(row)), row)
    for z in product(range(len(ALPHA)), repeat=len(words)):
        probability, counts = 1.0, np.zeros(len(ALPHA))
        for n, k in enumerate(z):
            probability *= (counts[k] + ALPHA[k]) / (n + ALPHA.sum())
            probability *= TOPICS[k, words[n]]
            counts[k] += 1
        yield probability, counts


def exact_log_likelihood(row):
    return np.log(sum(probability for probability, _ in all_assignments(row)))


def test_left_to_right_is_the_marginal_likelihood():
    exact = np.array([exact_log_likelihood(row) for row in DOCUMENTS])
    found = left_to_right_log_likelihood(
        DOCUMENTS, TOPICS, ALPHA, n_particles=10_000, n_sweeps=5
    )
    np.testing.assert_allclose(found, exact, atol=0.01)
    once = left_to_right_log_likelihood(DOCUMENTS, TOPICS, ALPHA, n_particles=20_000)
    np.testing.assert_allclose(once, exact, atol=0.03)


def test_left_to_right_agrees_with_the_plain_reference():
    words = np.array([0, 3, 0, 2, 1])
    row = np.bincount(words, minlength=4)[None]
    rng = np.random.default_rng(0)
    plain = plain_left_to_right(words, TOPICS, ALPHA, rng, 1000)
    ours = left_to_right_log_likelihood(row, TOPICS, ALPHA, n_particles=20_000)
    assert ours[0] == pytest.approx(plain, abs=0.05)


def test_likelihoods_of_all_documents_of_a_length_sum_to_one():
    rows, weights = [], []
    for words in product(range(4), repeat=3):
        rows.append(np.bincount(words, minlength=4))
    unique, weights = np.unique(rows, axis=0, return_counts=True)
    found = left_to_right_log_likelihood(unique, TOPICS, ALPHA, n_particles=4000)
    assert weights @ np.exp(found) == pytest.approx(1.0, abs=0.01)


def test_document_completion_is_the_predictive_probability():
    """The perplexity of the held-out halves, from E[θ | observed half] exactly."""
    X = sparse.csr_matrix(np.tile(DOCUMENTS, (3, 1)).astype(float))
    observed, held_out = complete_split(X, random_state=0)
    observed = sparse.csr_matrix(observed)
    loglik = 0.0
    for d in range(X.shape[0]):
        row = observed[d].toarray().astype(int).ravel()
        total, mean = 0.0, np.zeros(len(ALPHA))
        for probability, counts in all_assignments(row):
            total += probability
            mean += probability * (counts + ALPHA) / (row.sum() + ALPHA.sum())
        loglik += held_out[[d]].toarray().ravel() @ np.log(mean / total @ TOPICS)
    exact = np.exp(-loglik / held_out.sum())
    theta = gibbs_mixtures(observed, TOPICS, prior=ALPHA, n_samples=10_000)
    found = completion_perplexity(theta, TOPICS, held_out, smoothing=0)
    assert found == pytest.approx(exact, rel=2e-3)


def test_one_topic_is_a_unigram():
    found = left_to_right_log_likelihood([[2, 1]], [[0.25, 0.75]], 3.0, n_particles=1)
    assert found[0] == pytest.approx(np.log(0.25**2 * 0.75))


def test_empty_and_impossible_documents():
    topics = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    found = left_to_right_log_likelihood([[0, 0, 0], [1, 0, 2], [1, 0, 0]], topics, 1.0)
    assert found[0] == 0
    assert found[1] == -np.inf
    assert np.isfinite(found[2])


def test_does_not_depend_on_threads_or_other_documents():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(20, 0.3), size=5)
    X = sparse.csr_matrix(rng.poisson(1.0, size=(15, 20)))
    whole = left_to_right_log_likelihood(X, topics, 0.1, n_particles=7)
    threaded = left_to_right_log_likelihood(X, topics, 0.1, n_particles=7, n_jobs=3)
    np.testing.assert_array_equal(whole, threaded)
    part = left_to_right_log_likelihood(X[[9, 2]], topics, 0.1, n_particles=7)
    np.testing.assert_array_equal(part, whole[[9, 2]])
    other = left_to_right_log_likelihood(X, topics, 0.1, n_particles=7, random_state=1)
    assert (other != whole).all()


def test_prefers_the_topics_that_made_the_documents(planted):
    X, _, topics = planted
    rng = np.random.default_rng(0)
    shuffled = topics[:, rng.permutation(topics.shape[1])]
    good, bad = (
        left_to_right_log_likelihood(X[:20], phi, 0.1, n_particles=5).sum()
        for phi in (topics, shuffled)
    )
    assert good > bad


def test_method_of_lda_uses_its_topics_and_prior(planted):
    X = planted[0]
    model = LDA(3, max_iter=10, random_state=0).fit(X)
    found = model.left_to_right(X[:5], n_particles=6, random_state=2)
    direct = left_to_right_log_likelihood(
        X[:5],
        model.components_,
        model.doc_topic_prior_,
        n_particles=6,
        random_state=2,
    )
    np.testing.assert_array_equal(found, direct)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [[0.5, 0, 0, 0]]}, "not a whole number"),
        ({"X": [[1, 0]]}, "do not fit"),
        ({"doc_topic_prior": [1.0, 2.0]}, "for 3 topics"),
        ({"doc_topic_prior": 0.0}, "1e-300 or more"),
        ({"doc_topic_prior": 1e-320}, "1e-300 or more"),
        ({"n_particles": 0}, "n_particles=0"),
        ({"n_sweeps": 1.5}, r"n_sweeps=1\.5"),
        ({"topics": TOPICS * 2}, "rows that do not sum to 1"),
    ],
    ids=lambda value: str(next(iter(value))) if isinstance(value, dict) else "",
)
def test_bad_input(change, message):
    arguments = {"X": DOCUMENTS, "topics": TOPICS, "doc_topic_prior": ALPHA, **change}
    with pytest.raises(DataError, match=message):
        left_to_right_log_likelihood(**arguments)
