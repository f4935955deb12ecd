# SPDX-License-Identifier: BSD-3-Clause
"""Sides and φ-steps of a model that learns batch by batch."""

import numpy as np
import pytest
import sides_support as support

from topicfold import LDA, PLSA
from topicfold.corpus.blocks import BlockMatrix
from topicfold.evidence import Features, Labels, Links, Response, TimeStamps
from topicfold.exceptions import DataError
from topicfold.phi import OrthogonalPhi
from topicfold.theta import Authors

X, THETA, PHI = support.planted(200)
Y = THETA @ np.array([3.0, -2.0, 0.0, 1.0])
ALGORITHMS = ["cvb0", "variational"]


def batches(model, n_passes=6, **data):
    """Teach a model batch by batch."""
    for _ in range(n_passes):
        for first in range(0, X.shape[0], 50):
            own = slice(first, first + 50)
            model.partial_fit(X[own], **{name: v[own] for name, v in data.items()})
    return model


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_responses_are_learned_in_batches(algorithm):
    options = {"algorithm": algorithm, "random_state": 0, "max_iter": 10}
    hidden = np.where(np.arange(200) % 4 == 0, np.nan, Y)
    sides = [Response(weight=20.0)]
    model = LDA(4, batch_size=50, sides=sides, **options).fit(X, response=hidden)
    found = model.sides_[0].predict(model.transform(X))
    assert np.corrcoef(found[::4], Y[::4])[0, 1] > 0.95
    assert not hasattr(sides[0], "coef_")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_response_without_weight_changes_nothing(algorithm):
    options = {"algorithm": algorithm, "batch_size": 50, "learn_priors": False}
    options |= {"random_state": 0, "max_iter": 5, "doc_tol": 1e-9, "init": "clusters"}
    if algorithm == "cvb0":
        del options["learn_priors"]
    priors = {"doc_topic_prior": 0.2, "topic_word_prior": 0.05}
    plain = LDA(4, **options, **priors).fit(X)
    sides = [Response(weight=0.0)]
    model = LDA(4, sides=sides, **options, **priors).fit(X, response=Y)
    np.testing.assert_allclose(model.components_, plain.components_, atol=2e-4)


def test_classes_are_learned_in_batches_and_in_blocks(tmp_path):
    labels = np.array(["a", "b", "c", "d"])[THETA.argmax(axis=1)]
    options = {"batch_size": 60, "random_state": 0, "max_iter": 8}
    side = Response("classes", weight=20.0)
    for X_ in (X, BlockMatrix.write(tmp_path / "blocks", X, block_size=30)):
        model = LDA(4, sides=[side], **options).fit(X_, response=labels)
        assert (model.sides_[0].predict(model.transform(X)) == labels).mean() > 0.85


def test_times_are_learned_from_a_stream():
    times = 2000.0 + 20 * (THETA[:, 0] > THETA[:, 1])
    model = batches(LDA(4, sides=[TimeStamps()], random_state=0), time=times)
    spread = np.ptp(model.sides_[0].mean_times())
    assert spread > 5
    assert model.n_documents_seen_ == 6 * 200
    plain = batches(LDA(4, random_state=0))
    assert model.perplexity(X) < 1.1 * plain.perplexity(X)


def test_labels_hold_in_batches():
    names = [[f"t{k}" for k in np.argsort(-row)[:2]] for row in THETA]
    options = {"batch_size": 50, "random_state": 0, "max_iter": 5}
    model = LDA(5, sides=[Labels()], **options).fit(X, labels=names)
    context = model._side_context(X, n_topics=5, fitting=False)
    side = model.sides_[0]
    own = side.allowed(side.check(names, context), context)
    assert np.abs(model.doc_topics_[own.toarray() == 0]).max() < 1e-9


@pytest.mark.parametrize(
    ("side", "data"),
    [
        (Authors(), {"authors": [["a"]] * 200}),
        (Features(), {"features": {"x": Y}}),
        (Links(), {"links": [[0, 1], [2, 3]]}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_needs_the_whole_corpus_is_refused(side, data):
    model = LDA(4, batch_size=50, sides=[side])
    with pytest.raises(DataError, match=f"{type(side).__name__} learns from all"):
        model.fit(X, **data)
    with pytest.raises(DataError, match=f"{type(side).__name__} learns from all"):
        LDA(4, sides=[side]).partial_fit(X, **data)


def test_what_learns_at_the_end_is_refused_by_a_stream():
    with pytest.raises(DataError, match="Response learns its predictor at the end"):
        LDA(4, sides=[Response()]).partial_fit(X, response=Y)
    with pytest.raises(TypeError, match="has no sides"):
        PLSA(4).partial_fit(X, response=Y)


@pytest.mark.parametrize("model", [PLSA(4, random_state=0), LDA(4, random_state=0)])
def test_topics_are_kept_apart_in_a_stream(model):
    def overlap(phi):
        return (np.sqrt(phi) @ np.sqrt(phi).T)[np.triu_indices(4, 1)].sum()

    plain = batches(type(model)(4, random_state=0))
    apart = batches(model.set_params(phi_step=OrthogonalPhi()))
    assert overlap(apart.components_) < overlap(plain.components_)
    np.testing.assert_allclose(apart.components_.sum(axis=1), 1.0, rtol=1e-6)
