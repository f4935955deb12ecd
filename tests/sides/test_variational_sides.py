# SPDX-License-Identifier: BSD-3-Clause
"""Evidence, priors and masks with variational Bayes."""

import numpy as np
import pytest
import sides_support as support
from scipy.special import psi

from topicfold import LDA
from topicfold.corpus.blocks import BlockMatrix
from topicfold.evidence import Response
from topicfold.exceptions import DataError
from topicfold.learn import Resume
from topicfold.phi import OtherCounts
from topicfold.theta import Authors

X, THETA, PHI = support.planted(60)
ALPHA, ETA = 0.3, 0.05
OPTIONS = {
    "algorithm": "variational",
    "doc_topic_prior": ALPHA,
    "topic_word_prior": ETA,
    "init": np.random.default_rng(3).dirichlet(np.ones(X.shape[1]), 4),
    "tol": 0.0,
    "random_state": 0,
}


def expected_logs(rows):
    used = np.where(rows > 0, rows, 1.0)
    logs = psi(used) - psi(rows.sum(axis=1, keepdims=True))
    return np.exp(logs) * (rows > 0)


def reference(n_iter, alpha, delta, mask):
    """``A = exp(ψ(γ) − ψ(Σγ)) e``, straight from the equations."""
    dense, n_topics = X.toarray(), 4
    lengths = dense.sum(axis=1, keepdims=True)
    alpha = np.broadcast_to(alpha, (len(dense), n_topics)) * mask
    alpha = alpha * n_topics / mask.sum(axis=1, keepdims=True)
    gamma = lengths / n_topics * mask + alpha
    lam = OPTIONS["init"] * dense.sum() / n_topics + ETA
    e = mask * 1.0
    for _ in range(n_iter):
        A, B = expected_logs(gamma) * e, expected_logs(lam)
        q = A[:, :, None] * B
        q *= dense[:, None, :] / np.maximum(q.sum(axis=1, keepdims=True), 1e-300)
        gamma, lam = q.sum(axis=2) + alpha, q.sum(axis=0) + ETA
        e = np.exp(delta - delta.max(axis=1, keepdims=True)) * mask
    return [rows / rows.sum(axis=1, keepdims=True) for rows in (gamma, lam)]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("slanted", [0.0, 1.0])
def test_fits_are_those_of_the_equations(slanted, masked):
    rng = np.random.default_rng(0)
    delta = slanted * rng.normal(size=THETA.shape)
    mask = np.sort(THETA, axis=1)[:, [-3 if masked else 0]] <= THETA
    sides, data = [support.Slant()], {"slant": delta}
    if masked:
        sides.append(support.Only())
        data["only"] = mask
    model = LDA(4, sides=sides, max_iter=6, **OPTIONS).fit(X, **data)
    theta, phi = reference(6, ALPHA, delta, mask.astype(float))
    np.testing.assert_allclose(model.doc_topics_, theta, atol=1e-6)
    np.testing.assert_allclose(model.components_, phi, atol=1e-7)


def test_the_bound_never_falls_with_a_prior_of_each_document():
    alphas = np.random.default_rng(1).gamma(1.0, 0.3, THETA.shape) + 0.05
    sides = [support.OwnPrior()]
    model = LDA(4, sides=sides, max_iter=40, **OPTIONS).fit(X, alphas=alphas)
    history = np.array(model.objective_history_)
    assert (np.diff(history) >= -1e-9 * abs(history[0])).all()
    found = model.transform(X, alphas=alphas)
    assert np.abs(found - model.doc_topics_).sum(axis=1).mean() < 0.02


def test_blocks_and_a_stopped_fit_are_the_same(tmp_path):
    y = THETA @ np.array([1.0, -1.0, 0.0, 2.0])
    options = {**OPTIONS, "sides": [Response(weight=20.0)]}
    whole = LDA(4, max_iter=8, **options).fit(X, response=y)
    blocks = BlockMatrix.write(tmp_path / "blocks", X, block_size=17)
    other = LDA(4, max_iter=8, **options).fit(blocks, response=y)
    np.testing.assert_allclose(other.components_, whole.components_, atol=1e-6)
    for n in (3, 8):
        options["callbacks"] = [Resume(tmp_path / "state")]
        model = LDA(4, max_iter=n, **options).fit(X, response=y)
    assert options["callbacks"][0].resumed_at_ == 3
    np.testing.assert_array_equal(model.components_, whole.components_)
    plain = LDA(4, max_iter=8, **OPTIONS).fit(X)
    gain = np.corrcoef(model.sides_[0].predict(model.transform(X)), y)[0, 1]
    assert gain > 0.9
    assert np.abs(plain.components_ - model.components_).max() > 1e-4


@pytest.mark.parametrize(
    ("side", "data"),
    [
        (Authors(), {"authors": [["a"]] * 60}),
        (OtherCounts("more"), {"more": X}),
    ],
)
def test_what_needs_a_maximum_is_refused(side, data):
    with pytest.raises(DataError, match=r"use algorithm='cvb0'"):
        LDA(4, sides=[side], **OPTIONS).fit(X, **data)
