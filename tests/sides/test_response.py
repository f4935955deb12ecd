# SPDX-License-Identifier: BSD-3-Clause
"""Responses: evidence is the derivative, planted ones are found, none are seen."""

import numpy as np
import pytest
from sides_support import planted
from sklearn.exceptions import DataConversionWarning

from topicfold import LDA, SupervisedLDA
from topicfold.evidence import Response
from topicfold.evidence.response import assignments_of, log_likelihoods
from topicfold.exceptions import DataError
from topicfold.parts import Context
from topicfold.parts.sides import learn_from

KINDS = ("real", "classes", "counts")


def corpus(kind, seed=0, n_documents=300):
    """Return counts, and a response that the planted topics make."""
    X, theta, _ = planted(n_documents=n_documents, seed=seed, alpha=0.3)
    rng = np.random.default_rng(seed)
    if kind == "real":
        y = theta @ [0.0, 3.0, 6.0, 9.0] + rng.normal(0, 0.3, len(theta))
    elif kind == "counts":
        y = rng.poisson(np.exp(theta @ [0.0, 1.0, 2.0, 3.0])).astype(float)
    else:
        y = np.array(["a", "b", "c", "d"])[theta.argmax(axis=1)]
    return X, y


def fitted(kind, X, y, **options):
    side = Response(kind, **options)
    return LDA(4, sides=[side], random_state=0).fit(X, response=y)


def context_of(counts, **more):
    lengths = counts.sum(axis=1)
    return Context(len(counts), counts.shape[1], 9, lengths, **more)


@pytest.mark.parametrize("background", [(), (2,)])
@pytest.mark.parametrize("kind", KINDS)
def test_evidence_comes_to_rest_at_the_derivative_of_the_value(kind, background):
    _, y = corpus(kind, n_documents=30)
    counts = np.random.default_rng(0).gamma(0.5, 5.0, (30, 4)) + 0.5
    context = context_of(counts, iteration=1)
    side = Response(kind, weight=7.0, background=background)
    seen = 1.0 - np.isin(np.arange(4), background)
    data = side.check(y, context)
    learn_from(side, lambda: side.gather(counts, data, context), context)
    for _ in range(500):  # u at these counts
        evidence = side.evidence(counts, data, context)

    def value(shift):
        moved = (counts + shift) * seen
        moved /= moved.sum(axis=1, keepdims=True)
        return 7.0 * log_likelihoods(kind, data.targets, moved @ side._coef)

    step = 1e-5
    slopes = np.stack(
        [(value(step * e) - value(-step * e)) / (2 * step) for e in np.eye(4)], axis=1
    )
    # δ counts up to what all topics of a document have in common.
    shares = counts * seen / (counts * seen).sum(axis=1, keepdims=True)
    centered = evidence - (evidence * shares).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(centered, slopes, atol=1e-5)


def test_background_is_a_list_of_topics():
    X, y = corpus("real", n_documents=20)
    with pytest.raises(DataError, match=r"background has \[4\]; give the numbers"):
        fitted("real", X, y, background=[4])


@pytest.mark.parametrize("kind", KINDS)
def test_no_weight_is_lda(kind):
    X, y = corpus(kind)
    found = fitted(kind, X, y, weight=0.0)
    plain = LDA(4, learn_priors=False, random_state=0).fit(X)
    np.testing.assert_allclose(found.components_, plain.components_, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_response_is_predicted_from_words_alone(kind):
    X, y = corpus(kind)
    model = fitted(kind, X[:200], y[:200])
    score = model.sides_[0].score(model.transform(X[200:]), y[200:])
    assert score > (0.6 if kind == "counts" else 0.8)


def test_a_response_parts_topics_that_words_alone_do_not():
    """Two topics share most words; LDA with three topics has no reason to part them."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400) * 2.0 - 1
    common = rng.multinomial(60, np.full(20, 0.05), 400)
    telling = rng.multinomial(3, np.full(10, 0.1), 400)
    telling = np.hstack([telling * (y > 0)[:, None], telling * (y < 0)[:, None]])
    theme = rng.integers(0, 2, 400)
    themes = rng.multinomial(25, np.full(10, 0.1), 400)
    themes = np.hstack([themes * (theme == t)[:, None] for t in (0, 1)])
    X = np.hstack([common, telling, themes]).astype(float)
    scores = {}
    for weight in (0.0, 100.0):
        side = Response(weight=weight)
        # The start from clusters finds the parts by itself.
        model = LDA(4, sides=[side], init="neighbors", random_state=0)
        model.fit(X[:300], response=y[:300])
        theta = model.transform(X[300:])
        scores[weight] = model.sides_[0].score(theta, y[300:])
    assert scores[100.0] > 0.7
    assert scores[100.0] > scores[0.0] + 0.3


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_responses_take_part_in_the_topics_alone(kind):
    X, y = corpus(kind)
    some = np.array(y, dtype=object)
    some[::2] = None
    model = fitted(kind, X, some)
    assert model.doc_topics_.shape == (300, 4)
    score = model.sides_[0].score(model.transform(X[::2]), y[::2])
    assert score > (0.5 if kind == "counts" else 0.75)


def test_transform_sees_a_response_only_if_it_is_given():
    X, y = corpus("real")
    model = fitted("real", X, y, weight=200.0)
    plain = model.transform(X)
    told = model.transform(X, response=y)
    wrong = model.transform(X, response=y[::-1])
    side = model.sides_[0]
    assert side.score(told, y) > side.score(plain, y) > side.score(wrong, y)
    unknown = model.transform(X, response=np.full(300, np.nan))
    np.testing.assert_allclose(unknown, plain, atol=1e-3)


def test_held_out_responses_are_not_seen():
    X, y = corpus("real")
    rng = np.random.RandomState(0)
    context = Context(300, 4, 60, np.full(300, 40.0), rng=rng)
    data = Response(held_out=0.3).check(y, context)
    assert data.held_out.sum() == 90
    assert not (data.known & data.held_out).any()
    model = fitted("real", X, y, held_out=0.3)
    assert 0.7 < model.sides_[0].held_out_score_ < 1.0
    noise = fitted("real", X, np.random.default_rng(0).permutation(y), held_out=0.3)
    assert noise.sides_[0].held_out_score_ < 0.1


def test_a_large_weight_does_not_overshoot():
    X, y = corpus("real")
    model = fitted("real", X, y, weight=1e5)
    side = model.sides_[0]
    assert side.score(model.doc_topics_, y) > 0.5
    assert np.isfinite(model.objective_history_).all()


def test_empty_documents_have_a_prediction():
    X, y = corpus("real")
    X = X.tolil()
    X[0] = 0
    with pytest.warns(UserWarning, match="1 of .* has no word .*; it gets"):
        model = fitted("real", X.tocsr(), y)
    assert np.isfinite(model.sides_[0].predict(model.doc_topics_)).all()


@pytest.mark.parametrize(
    ("kind", "y", "message"),
    [
        ("real", np.full(9, 2.0), "is 2 in all documents"),
        ("real", np.full(9, np.nan), "nothing to learn from"),
        ("real", [None] * 9, "nothing to learn from"),
        ("real", np.arange(8.0), "shape"),
        ("real", ["good"] * 9, "kind='classes'"),
        ("real", [np.inf, *range(8)], "infinite in document 0"),
        ("counts", [0, 1, 2.5, 1, 1, 1, 1, 1, 1], "2.5 in document 2"),
        ("counts", [0, 1, -3, 1, 1, 1, 1, 1, 1], "-3 in document 2"),
        ("counts", np.full(9, -1), "nothing to learn from"),
        ("classes", ["a"] * 9, "at least two"),
        ("classes", [None] * 9, "at least two"),
        ("classes", ["a", "b"], "one label per document"),
    ],
)
def test_bad_responses_are_refused(kind, y, message):
    X, _, _ = planted(n_documents=9)
    with pytest.raises(DataError, match=message):
        fitted(kind, X, y)


@pytest.mark.parametrize("options", [{"weight": -1}, {"ridge": 0}, {"held_out": 1.0}])
def test_bad_parameters_are_refused(options):
    X, y = corpus("real", n_documents=20)
    with pytest.raises(ValueError, match="'kind' parameter of Response"):
        fitted("ordinal", X, y)
    with pytest.raises(ValueError, match=next(iter(options))):
        fitted("real", X, y, **options)


def test_a_class_that_the_fit_did_not_have_is_refused():
    X, y = corpus("classes")
    model = fitted("classes", X, y)
    with pytest.raises(DataError, match="'new'"):
        model.transform(X[:2], response=["new", "a"])
    assert model.transform(X[:2], response=["b", None]).shape == (2, 4)


def test_a_shift_and_a_scale_of_the_responses_are_those_of_the_coefficients():
    X, y = corpus("real")[:2]
    plain, moved = (fitted("real", X, v).sides_[0] for v in (y, 100.0 + 4.0 * y))
    np.testing.assert_allclose(moved.coef_, 100.0 + 4.0 * plain.coef_, rtol=1e-4)
    assert moved.noise_ == pytest.approx(4.0 * plain.noise_, rel=1e-4)


def test_noise_is_what_the_coefficients_leave():
    X, y = corpus("real")[:2]
    model = fitted("real", X, y)
    side = model.sides_[0]
    left = y - side.predict(model.transform(X))
    expected = np.sqrt((left**2).sum() / (len(y) - model.n_components))
    assert side.noise_ == pytest.approx(expected, rel=1e-2)


def test_a_column_of_responses_is_taken_with_a_warning():
    X, y = corpus("real")[:2]
    with pytest.warns(DataConversionWarning):
        column = fitted("real", X, y[:, None])
    np.testing.assert_array_equal(
        column.sides_[0].coef_, fitted("real", X, y).sides_[0].coef_
    )


def test_a_document_without_words_is_spread_evenly():
    counts = np.array([[3.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    found = assignments_of(counts, context_of(counts))
    np.testing.assert_allclose(found, [[0.75, 0.25, 0, 0], [0.25] * 4])


def test_a_wrong_prediction_of_a_single_response_scores_zero():
    X, y = corpus("real")
    model = SupervisedLDA(4, weight=5.0, random_state=0).fit(X, y)
    assert model.score(X[:1], y[:1] + 50.0) == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_coefficients_lie_in_memory_as_they_do_when_loaded(kind):
    # Products of arrays in another order differ in their last bits on some processors.
    side = fitted(kind, *corpus(kind, n_documents=60)).sides_[0]
    loaded = side.coef_.copy(order="C")
    assert side.coef_.strides == loaded.strides
    before = side._coef.strides
    side.coef_ = loaded
    assert side._coef.strides == before
