# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from topicfold.classify.classifier import TopicClassifier
from topicfold.exceptions import DataError, EmptyDocumentWarning
from topicfold.models.fstm import FSTM
from topicfold.models.lda import LDA
from topicfold.models.manifold import LocallyConsistentPLSA
from topicfold.models.medlda import MedLDA
from topicfold.models.plsa import PLSA
from topicfold.models.two_phase import TwoPhase
from topicfold.persistence.model_folder import load_model_folder, save_model_folder


@pytest.fixture(scope="module")
def labelled(planted):
    X, theta, _ = planted
    return X, np.array(["north", "east", "south", "west"])[theta.argmax(axis=1)]


MODELS = [
    FSTM(5, max_iter=10, random_state=0),
    PLSA(5, max_iter=20, random_state=0),
    LDA(5, max_iter=20, random_state=0),
    LocallyConsistentPLSA(5, max_iter=10, random_state=0),
    TwoPhase(FSTM(5, max_iter=10, random_state=0)),
]
NAMES = ["FSTM", "PLSA", "LDA", "graph", "TwoPhase"]


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_predicts_the_planted_topic(labelled, model):
    X, y = labelled
    classifier = TopicClassifier(model, LinearSVC(C=10)).fit(X[:200], y[:200])
    assert classifier.score(X[200:], y[200:]) > 0.85
    assert classifier.classes_.tolist() == ["east", "north", "south", "west"]
    assert not hasattr(model, "components_")


def test_classifies_square_roots_of_mixtures(labelled):
    X, y = labelled
    ours = TopicClassifier(MODELS[0]).fit(X, y)
    theta = np.sqrt(ours.model_.transform(X))
    by_hand = LinearSVC().fit(theta, y)
    np.testing.assert_array_equal(ours.predict(X), by_hand.predict(theta))
    np.testing.assert_allclose(
        ours.decision_function(X), by_hand.decision_function(theta)
    )


def test_default_is_the_two_phase_framework(labelled):
    X, y = labelled
    model = TopicClassifier().fit(X, y)
    assert isinstance(model.model_, TwoPhase)
    assert model.model_.classes_.tolist() == model.classes_.tolist()


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("linear", [LinearSVC(), LogisticRegression()], ids=str)
def test_explanation_adds_up_to_the_decision(labelled, n_classes, linear):
    X, y = labelled
    y = y if n_classes == 4 else np.where(y == "east", "east", "else")
    model = TopicClassifier(MODELS[1], linear).fit(X, y)
    for d in (0, 7, 30):
        found = model.explain(X[[d]], n=1000)
        values = model.decision_function(X[[d]])[0]
        best = values.max() if n_classes == 4 else abs(values)
        assert found.label == model.predict(X[[d]])[0]
        assert found.decision == pytest.approx(best, rel=1e-4)
        for reason in found.topics:
            total = sum(word.contribution for word in reason.words)
            assert total == pytest.approx(reason.contribution)
        np.testing.assert_array_equal(
            [t.topic for t in model.explain(X[[d]], n=2).topics],
            [t.topic for t in found.topics[:2]],
        )


def test_words_of_the_class_speak_for_it(planted, labelled):
    X, y = labelled
    table = pd.DataFrame(X.toarray(), columns=[f"term{w}" for w in range(120)])
    model = TopicClassifier(MODELS[4]).fit(table, y)
    d = int(planted[1].max(axis=1).argmax())
    own = planted[1][d].argmax()
    blocks = np.array_split(np.arange(120), 4)
    found = model.explain(table.iloc[[d]])
    assert model.explain(table.iloc[d].to_numpy()) == found
    with pytest.warns(UserWarning, match="valid feature names"):
        listed = model.explain([table.iloc[d].tolist()])  # as float64
    assert listed.decision == pytest.approx(found.decision, rel=1e-6)
    assert [r.word for r in listed.words] == [r.word for r in found.words]
    assert found.label == y[d]
    assert {r.word for r in found.words} <= {f"term{w}" for w in blocks[own]}
    assert len(found.words) == 5
    assert all(r.count == table.loc[d, r.word] for r in found.words)


def test_documents_of_unknown_class_teach_topics_only(labelled):
    X, y = labelled
    some = np.where(np.arange(300) % 3 == 0, y, "?")
    model = TopicClassifier(MODELS[4], unknown_label="?").fit(X, some)
    assert "?" not in model.classes_
    assert model.score(X, y) > 0.85
    alone = TopicClassifier(MODELS[4]).fit(X[some != "?"], some[some != "?"])
    assert not np.array_equal(alone.model_.components_, model.model_.components_)


UNKNOWN = {
    "minus one": (-1, [0, 1, 2, 3], int),
    "minus one of floats": (-1.0, [0.0, 1.0, 2.0, 3.0], float),
    "nan": (np.nan, [0.0, 1.0, 2.0, 3.0], float),
    "none": (None, ["a", "b", "c", "d"], object),
    "nan among names": (np.nan, ["a", "b", "c", "d"], object),
    "empty": ("", ["a", "b", "c", "d"], str),
    "pandas": (pd.NA, ["a", "b", "c", "d"], object),
}


@pytest.mark.parametrize(("unknown", "names", "dtype"), UNKNOWN.values(), ids=UNKNOWN)
@pytest.mark.parametrize("make", [TopicClassifier, None], ids=["topics", "MedLDA"])
def test_unknown_labels_are_no_class(labelled, make, unknown, names, dtype):
    X, y = labelled
    every = np.array(names, dtype=object)[np.unique(y, return_inverse=True)[1]]
    some = every.copy()
    some[np.arange(300) % 3 != 0] = unknown
    model = make(MODELS[1]) if make else MedLDA(5, max_iter=5, random_state=0)
    model.fit(X, some.astype(dtype))
    assert model.classes_.tolist() == names
    assert (model.predict(X) == every.astype(dtype)).mean() > 0.85


def test_minus_one_is_a_class_if_another_label_means_unknown(labelled):
    X, y = labelled
    signs = np.where(y == "east", 1, -1)
    with pytest.raises(DataError, match="-1 means unknown"):
        TopicClassifier(MODELS[4]).fit(X, signs)
    model = TopicClassifier(MODELS[4], LinearSVC(C=10), unknown_label=0)
    assert model.fit(X, signs).score(X, signs) > 0.9


@pytest.mark.parametrize("model", [None, MODELS[4]], ids=["default", "TwoPhase"])
@pytest.mark.parametrize("n", [1, 2, 300])
def test_any_number_of_labels_per_class(labelled, model, n):
    """Two documents of each class, one, or all that there are."""
    X, y = labelled
    given = y.astype(object)
    for name in set(y):
        given[np.flatnonzero(y == name)[n:]] = None
    classifier = TopicClassifier(model).fit(X, given)
    assert classifier.score(X, y) > {1: 0.4, 2: 0.5, 300: 0.85}[n]


def test_classifiers_without_decisions(labelled):
    X, y = labelled
    model = TopicClassifier(MODELS[0], KNeighborsClassifier()).fit(X, y)
    assert not hasattr(model, "decision_function")
    assert model.score(X, y) > 0.8
    with pytest.raises(DataError, match="KNeighborsClassifier has no coef_"):
        model.explain(X[[0]])


def test_empty_documents_are_warned_about_once(ragged):
    y = np.arange(40) % 2
    model = TopicClassifier(TwoPhase(FSTM(3, random_state=0)))
    for act in (lambda: model.fit(ragged, y), lambda: model.predict(ragged)):
        with pytest.warns(EmptyDocumentWarning) as caught:
            act()
        assert len(caught) == 1
    with pytest.warns(EmptyDocumentWarning):
        nothing = model.explain(sparse.csr_matrix((1, 50)))
    assert nothing.words == ()


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (TopicClassifier(), None, "requires y to be passed"),
        (TopicClassifier(), [0, 1], "y has 2 labels for 4 documents"),
        (TopicClassifier(), [1, 1, 1, 1], "y has 1 class in 4 labelled of 4"),
        (TopicClassifier(), [1, -1, None, 1], "1 class in 2 .* -1 means unknown"),
        (TopicClassifier(), [-1, -1, -1, -1], "y has 0 classes"),
        (TopicClassifier(), [0.5, 1.2, 0.1, 3.3], "y is continuous"),
        (TopicClassifier(unknown_label=1), [0, 1, 0, 1], "The label 1 means unknown"),
        (TopicClassifier(LinearSVC()), [0, 1, 0, 1], "is a LinearSVC"),
    ],
)
def test_errors_say_what_is_wrong(model, y, message):
    with pytest.raises(DataError, match=message):
        model.fit(np.eye(4), y)


def test_explains_one_document_at_a_time(labelled):
    X, y = labelled
    model = TopicClassifier(MODELS[0]).fit(X, y)
    with pytest.raises(DataError, match="one document, not 2"):
        model.explain(X[:2])


def test_a_folder_tells_of_the_documents_of_a_classifier(tmp_path, labelled):
    X, y = labelled
    table = pd.DataFrame(X.toarray(), columns=[f"term{w}" for w in range(120)])
    model = TopicClassifier(MODELS[4]).fit(table, y)
    save_model_folder(model, tmp_path, labels=list(y))
    data = load_model_folder(tmp_path).topic_data()
    assert data.n_documents == X.shape[0]
    assert data.labels == tuple(y)
    assert data.vocabulary == tuple(table.columns)
    np.testing.assert_array_equal(data.doc_topics, model.doc_topics_)
