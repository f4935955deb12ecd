# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest
from scipy import sparse
from scipy.special import psi
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.svm import LinearSVC

import topicfold
from topicfold.core.labels import class_members
from topicfold.exceptions import DataError, EmptyDocumentWarning
from topicfold.infer.two_phase import (
    class_neighbors,
    class_topic_weights,
    discriminative_mixtures,
    discriminative_topics,
    smoothed_documents,
)
from topicfold.models.fstm import FSTM
from topicfold.models.lda import LDA
from topicfold.models.manifold import LocallyConsistentPLSA
from topicfold.models.plsa import PLSA
from topicfold.models.two_phase import TwoPhase, set_topics
from topicfold.phi import DirichletPhi

# As in the paper: the words as they are, the base's own inference.
PLAIN = {"word_weights": None, "regression_weight": 0, "neighbor_weight": 0}
BASES = [
    FSTM(6, max_iter=20, random_state=0),
    PLSA(6, max_iter=30, init="neighbors", random_state=0),
    LDA(6, max_iter=30, random_state=0),
    LDA(6, max_iter=30, random_state=0, algorithm="variational"),
    LocallyConsistentPLSA(6, max_iter=15, random_state=0),
    LocallyConsistentPLSA(6, max_iter=15, random_state=0, transform_neighbors=True),
]
# LDA's defaults part these classes without labels.
BLURRED = {
    "phi_step": DirichletPhi(1.0),
    "doc_topic_prior": 0.05,
    "topic_word_prior": 0.01,
    "init": "random",
}
NAMES = ["FSTM", "PLSA", "LDA", "variational", "graph", "graph neighbours"]


@pytest.fixture(scope="module")
def rare_words():
    """Six frequent themes without a class; three classes by words rare in each text."""
    rng = np.random.default_rng(5)
    themes = np.zeros((6, 150))
    for k in range(6):
        themes[k, 20 * k : 20 * k + 20] = rng.dirichlet(np.ones(20))
    marks = np.zeros((3, 150))
    for c in range(3):
        marks[c, 120 + 10 * c : 130 + 10 * c] = 0.1
    y = np.arange(360) % 3
    theta = rng.dirichlet(np.full(6, 0.6), size=360)
    p = 0.85 * theta @ themes + 0.15 * marks[y]
    X = sparse.csr_matrix(np.array([rng.multinomial(60, row) for row in p]))
    return X, y


def plain(base, **options):
    return TwoPhase(base, **(PLAIN | options))


def accuracy(model, X, y):
    train, test = np.arange(240), np.arange(240, 360)
    model.fit(X[train], y[train])
    svm = LinearSVC(C=10).fit(np.sqrt(model.transform(X[train])), y[train])
    return svm.score(np.sqrt(model.transform(X[test])), y[test])


@pytest.mark.parametrize(
    ("base", "promotion", "gain"),
    [
        (BASES[0], 0.0, 0.03),
        (BASES[0], 3.0, 0.2),
        (BASES[1], 3.0, 0.03),
        (LDA(6, max_iter=30, random_state=0, **BLURRED), 0.0, 0.03),
        (LDA(6, max_iter=30, random_state=0, **BLURRED), 3.0, 0.1),
    ],
    ids=["FSTM", "FSTM promoted", "PLSA promoted", "LDA", "LDA promoted"],
)
def test_parts_classes_that_the_base_does_not(rare_words, base, promotion, gain):
    X, y = rare_words
    model = plain(base, promotion=promotion)
    assert accuracy(model, X, y) > accuracy(clone(base), X, y) + gain


def test_weights_and_discriminative_topics_by_hand():
    theta = np.array(
        [[1, 0, 0], [0.5, 0.5, 0], [0, 0.5, 0.5], [0, 1, 0], [0.2, 0.8, 0]]
    )
    members = np.zeros((5, 3), dtype=bool)
    members[[0, 1], 0] = members[[2, 3], 1] = members[4, 2] = True
    weights = class_topic_weights(theta, members)
    np.testing.assert_allclose(
        weights, [[0.75, 0.25, 0], [0, 0.75, 0.25], [0.2, 0.8, 0]]
    )
    # Topic 0: least 0, median 0.2. Topic 1: 1.5 times the least 0.25, median 0.75.
    # Topic 2: least and median 0, so classes 0 and 2 pass both tests with 0 of it.
    expected = [[1, 0, 0], [0, 1, 1], [1, 1, 0]]
    np.testing.assert_array_equal(discriminative_topics(weights, 1.5), expected)
    np.testing.assert_array_equal(
        discriminative_topics(weights, 3.1), [[1, 0, 0], [0, 0, 1], [1, 1, 0]]
    )


def test_large_classes_do_not_own_every_topic():
    theta = np.repeat([[0.6, 0.4], [0.2, 0.8]], [90, 10], axis=0)
    members = np.repeat(np.eye(2, dtype=bool), [90, 10], axis=0)
    chosen = discriminative_topics(class_topic_weights(theta, members), 1.5)
    np.testing.assert_array_equal(chosen, np.eye(2))


def kl(p, q):
    on = p > 0
    return float((p[on] * np.log(p[on] / np.maximum(q[on], 1e-4))).sum())


def test_neighbours_are_the_nearest_that_share_a_label(rare_words):
    X = rare_words[0][:30]
    rng = np.random.default_rng(0)
    members = rng.random((30, 3)) < 0.4
    members[:4] = False
    members[4] = [True, False, False]
    found = class_neighbors(X, members, 4)
    shares = X.toarray() / X.sum(axis=1).A
    together = members.astype(int) @ members.T.astype(int) > 0
    for d in range(30):
        near = [
            e for e in range(30) if e != d and (not members[d].any() or together[d, e])
        ]
        distances = sorted(kl(shares[d], shares[e]) for e in near)[:4]
        ours = [kl(shares[d], shares[e]) for e in found[d] if e >= 0]
        np.testing.assert_allclose(ours, distances, atol=1e-6)
        assert d not in found[d]


def test_smoothed_documents_by_hand():
    X = sparse.csr_matrix([[1.0, 1.0, 2.0], [0.0, 3.0, 0.0], [5.0, 5.0, 0.0]])
    lists = np.array([[1, 2], [0, -1], [-1, -1]])
    found = smoothed_documents(X, lists, 0.2, 0, 3).toarray()
    shares = X.toarray() / X.sum(axis=1).A
    np.testing.assert_allclose(
        found,
        [
            0.2 * shares[0] + 0.4 * (shares[1] + shares[2]),
            0.2 * shares[1] + 0.8 * shares[0],
            shares[2],
        ],
    )
    np.testing.assert_allclose(
        smoothed_documents(X, lists, 0.2, 1, 3).toarray(), found[1:]
    )


def test_promoted_topics_get_mass_and_unlabelled_documents_none(rare_words):
    X, y = rare_words
    base = FSTM(6, random_state=0).fit(X)
    members = (y[:, None] == np.arange(3)) & (np.arange(360) >= 60)[:, None]
    chosen = np.zeros((3, 6), dtype=bool)
    chosen[[0, 1, 2], [0, 1, 2]] = True
    nobody = np.full((360, 1), -1)
    topics = np.ascontiguousarray(base.components_.T)
    options = {"own_weight": 0.1}
    masses = []
    for strength in (0.0, 0.5, 5.0):
        theta, _ = discriminative_mixtures(
            X, topics, nobody, members, chosen, promotion=strength, **options
        )
        theta = theta.toarray()
        masses.append(theta[np.arange(60, 360), y[60:]].mean())
        np.testing.assert_allclose(theta[:60], base.doc_topics_[:60], atol=5e-3)
    assert masses[0] + 0.1 < masses[1] < masses[2]


def test_several_labels_promote_the_topics_of_all():
    X = sparse.csr_matrix([[1.0, 1.0, 1.0]] * 3)
    topics = np.full((3, 3), 0.2) + 0.4 * np.eye(3)
    members = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0]], dtype=bool)
    theta, _ = discriminative_mixtures(
        X, topics, np.full((3, 1), -1), members, np.eye(3, dtype=bool),
        own_weight=0.1, promotion=10.0,
    )  # fmt: skip
    np.testing.assert_allclose(theta.toarray()[0], [1, 0, 0], atol=0.05)
    np.testing.assert_allclose(theta.toarray()[1], [0.5, 0.5, 0], atol=0.05)
    np.testing.assert_allclose(theta.toarray()[2], np.full(3, 1 / 3), atol=0.01)


def test_new_topics_by_the_kind_of_base(planted):
    X = planted[0].astype(float)
    theta = sparse.csr_array(planted[1])
    dense = X.toarray()
    fstm = FSTM(4, max_iter=2, random_state=0).fit(X)
    set_topics(fstm, X, theta)
    by_hand = planted[1].T @ dense
    np.testing.assert_allclose(fstm.components_, by_hand / by_hand.sum(1)[:, None])
    plsa = PLSA(4, max_iter=2, random_state=0).fit(X)
    phi = plsa.components_
    set_topics(plsa, X, theta)
    by_hand = phi * (planted[1].T @ (dense / (planted[1] @ phi)))
    np.testing.assert_allclose(plsa.components_, by_hand / by_hand.sum(1)[:, None])
    lda = LDA(4, max_iter=2, random_state=0).fit(X)
    phi, gamma = lda.components_, np.exp(psi(planted[1] + 1e-300))
    set_topics(lda, X, theta)
    by_hand = phi * (gamma.T @ (dense / (gamma @ phi))) + lda.topic_word_prior_
    np.testing.assert_allclose(lda.components_, by_hand / by_hand.sum(1)[:, None])
    np.testing.assert_allclose(lda.topic_totals_, by_hand.sum(1))


@pytest.mark.parametrize("promotion", [0.0, 2.0])
def test_two_rounds_are_a_round_on_the_topics_of_a_round(rare_words, promotion):
    X, y = rare_words
    options = {"promotion": promotion}
    both = plain(BASES[0], n_rounds=2, **options).fit(X, y)
    first = plain(BASES[0], n_rounds=1, **options).fit(X, y)
    kept = first.components_.copy()
    second = plain(first.base_, n_rounds=1, prefit=True, **options).fit(X, y)
    np.testing.assert_array_equal(both.components_, second.components_)
    np.testing.assert_array_equal(first.components_, kept)
    assert len(both.round_objectives_) == 2


@pytest.mark.parametrize("base", BASES, ids=NAMES)
def test_transform_is_the_inference_of_the_base_on_the_new_topics(rare_words, base):
    X, y = rare_words
    model = plain(base, n_rounds=1).fit(X, y)
    np.testing.assert_array_equal(model.transform(X), model.base_.transform(X))
    if not getattr(base, "transform_neighbors", False):
        np.testing.assert_array_equal(model.transform(X), model.doc_topics_)
    assert not hasattr(base, "base_")
    np.testing.assert_allclose(model.components_.sum(axis=1), 1, rtol=1e-4)
    np.testing.assert_allclose(model.class_topic_weights_.sum(axis=1), 1)
    assert model.class_topics_.shape == (3, 6)
    assert model.perplexity(X) > 1
    data = model.topic_data(labels=[str(label) for label in y])
    assert data.n_documents == 360


@pytest.mark.parametrize("base", BASES[:4], ids=NAMES[:4])
def test_same_bits_for_any_number_of_threads(rare_words, base):
    X, y = rare_words
    one = plain(base, promotion=1.0, n_rounds=2).fit(X, y)
    many = plain(base, promotion=1.0, n_rounds=2, n_jobs=3).fit(X, y)
    np.testing.assert_array_equal(one.components_, many.components_)
    np.testing.assert_array_equal(one.doc_topics_, many.doc_topics_)


@pytest.mark.parametrize("base", BASES, ids=NAMES)
def test_a_loaded_model_is_the_saved_one(tmp_path, rare_words, base):
    X, y = rare_words
    names = np.array(["red", "green", "blue"])[y]
    model = plain(base, n_rounds=1).fit(X, names)
    model.save(tmp_path / "model")
    loaded = topicfold.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    np.testing.assert_array_equal(loaded.class_topics_, model.class_topics_)
    assert loaded.classes_.tolist() == ["blue", "green", "red"]
    assert loaded.perplexity(X) == model.perplexity(X)


def test_settings_of_the_paper():
    model = TwoPhase.paper(FSTM(3), n_jobs=2)
    assert (model.promotion, model.n_rounds, model.n_jobs) == (1000, 1, 2)
    assert (model.n_neighbors, model.own_weight, model.threshold) == (20, 0.1, 1.5)
    assert {name: getattr(model, name) for name in PLAIN} == PLAIN


def test_labels_of_some_documents_help(rare_words):
    X, y = rare_words
    some = np.where(np.arange(360) % 4 == 0, y, -1)
    model = plain(BASES[0]).fit(X, some)
    assert model.classes_.tolist() == [0, 1, 2]
    svm = LinearSVC(C=10).fit(np.sqrt(model.transform(X))[some >= 0], y[some >= 0])
    hidden = some < 0
    alone = FSTM(6, max_iter=20, random_state=0).fit(X)
    base = LinearSVC(C=10).fit(np.sqrt(alone.doc_topics_)[some >= 0], y[some >= 0])
    found = svm.score(np.sqrt(model.transform(X))[hidden], y[hidden])
    assert found > base.score(np.sqrt(alone.doc_topics_)[hidden], y[hidden])


def test_an_indicator_of_single_labels_is_the_labels(rare_words):
    X, y = rare_words
    table = np.eye(3, dtype=int)[y]
    table[:20] = 0
    labels = np.where(np.arange(360) < 20, -1, y)
    one = plain(BASES[0], promotion=1.0, n_rounds=1).fit(X, labels)
    for other in (table, sparse.csr_matrix(table)):
        two = plain(BASES[0], promotion=1.0, n_rounds=1).fit(X, other)
        np.testing.assert_array_equal(one.components_, two.components_)


@pytest.mark.parametrize(
    ("y", "classes", "members"),
    [
        (["b", None, "a", ""], ["a", "b"], [[1], [], [0], []]),
        ([3, -1, 7, 3], [3, 7], [[0], [], [1], [0]]),
        ([1.0, 2.0, -1.0, 2.0], [1, 2], [[0], [1], [], [1]]),
        ([1.0, 2.0, np.nan, 2.0], [1.0, 2.0], [[0], [1], [], [1]]),
        ([True, False, True, True], [False, True], [[1], [0], [1], [1]]),
        ([[1, 0], [0, 1], [0, 0], [1, 1]], [0, 1], [[0], [1], [], [0, 1]]),
        (
            np.array(["b", 2, "a", 2], dtype=object),
            ["2", "a", "b"],
            [[2], [0], [1], [0]],
        ),
    ],
    ids=["names", "numbers", "floats", "nan", "bool", "indicator", "mixed"],
)
def test_classes_of_labels(y, classes, members):
    found, names = class_members(y, 4)
    assert names.tolist() == classes
    assert [np.flatnonzero(row).tolist() for row in found] == members


def test_a_class_of_one_document_and_fewer_topics_than_classes(rare_words):
    X, y = rare_words
    y = y.copy()
    y[0] = 3
    model = plain(FSTM(2, random_state=0), promotion=1.0).fit(X, y)
    assert np.isfinite(model.components_).all()
    assert model.class_topic_weights_.shape == (4, 2)
    members = y[:, None] == np.arange(4)
    assert (class_neighbors(X, members, 5)[0] == -1).all()


def test_empty_documents_are_warned_about_once(ragged):
    y = np.arange(40) % 2
    model = plain(FSTM(3, random_state=0), promotion=1.0)
    with pytest.warns(EmptyDocumentWarning) as caught:
        model.fit(ragged, y)
    assert len(caught) == 1
    np.testing.assert_allclose(model.doc_topics_[0], 1 / 3, rtol=1e-6)
    with pytest.warns(EmptyDocumentWarning) as caught:
        model.transform(ragged)
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (TwoPhase(FSTM(2)), None, "requires y to be passed"),
        (TwoPhase(FSTM(2)), [1, 1, 1, 1], "y has 1 class in 4 labelled of 4"),
        (TwoPhase(FSTM(2)), [1, -1, 1, -1], "y has 1 class in 2 labelled"),
        (TwoPhase(FSTM(2)), [-1, -1, -1, -1], "y has 0 classes in 0 labelled"),
        (TwoPhase(FSTM(2)), [0, 1, 0], "y has 3 labels for 4 documents"),
        (TwoPhase(FSTM(2)), [[0, 1], [1, 0]], "y has 2 rows for 4 documents"),
        (TwoPhase(FSTM(2)), [[0, 1], [1, 0], [2, 0], [1, 1]], "first at row 2"),
        (TwoPhase(FSTM(2)), [0.5, 1.2, 0.1, 3.3], "y is continuous"),
        (TwoPhase(PCA(2)), [0, 1, 0, 1], "is a PCA, which has no topics"),
        (TwoPhase(TwoPhase()), [0, 1, 0, 1], "is a TwoPhase, which has no topics"),
        (TwoPhase(FSTM(2), prefit=True), [0, 1, 0, 1], "has no topics .components_."),
    ],
)
def test_errors_say_what_is_wrong(model, y, message):
    with pytest.raises(DataError, match=message):
        model.fit(np.eye(4), y)


@pytest.mark.parametrize(
    "option",
    [
        {"n_neighbors": 3},
        {"own_weight": 0.9},
        {"promotion": 5.0},
        {"threshold": 3.0},
        {"n_rounds": 1},
    ],
    ids=lambda option: next(iter(option)),
)
def test_every_option_changes_the_topics(rare_words, option):
    X, y = rare_words
    usual = {"promotion": 1.0, "n_rounds": 2}
    one = plain(BASES[0], **usual).fit(X, y)
    other = plain(BASES[0], **(usual | option)).fit(X, y)
    assert not np.array_equal(one.components_, other.components_)


def test_blocks_of_documents_do_not_change_mixtures(rare_words, monkeypatch):
    X, y = rare_words
    whole = plain(BASES[0], promotion=1.0).fit(X, y).components_
    monkeypatch.setattr("topicfold.infer.two_phase._BLOCK", 37)
    parts = plain(BASES[0], promotion=1.0).fit(X, y).components_
    np.testing.assert_array_equal(whole, parts)


def test_takes_weighted_words_and_several_labels(rare_words):
    X, y = rare_words
    weighted = TfidfTransformer().fit_transform(X)
    labels = np.eye(3, dtype=int)[y]
    labels[::5] |= np.eye(3, dtype=int)[(y[::5] + 1) % 3]
    model = plain(BASES[0], promotion=1.0).fit(weighted, labels)
    np.testing.assert_allclose(model.transform(weighted).sum(axis=1), 1, rtol=1e-6)
    assert model.classes_.tolist() == [0, 1, 2]


def test_tells_the_topic_of_a_class(planted):
    X, theta, topics = planted
    y = theta.argmax(axis=1)
    model = plain(FSTM(4, random_state=0)).fit(X, y)
    own = model.class_topic_weights_.argmax(axis=1)
    assert sorted(own) == [0, 1, 2, 3]
    assert model.class_topics_[np.arange(4), own].all()
    shared = np.minimum(model.components_[own], topics).sum(axis=1)
    assert (shared > 0.7).all()
