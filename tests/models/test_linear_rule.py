# SPDX-License-Identifier: BSD-3-Clause
"""A saved classifier decides as the one that was trained."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

import topicfold
from topicfold import PLSA, TopicClassifier
from topicfold.classify.explaining import explained
from topicfold.classify.few_labels import Recipe, WordRule
from topicfold.classify.linear_rule import LinearRule
from topicfold.exceptions import ModelFileError


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", [LinearSVC, LogisticRegression])
def test_the_rule_is_the_classifier(kind, n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % n_classes
    X[:, 0] += 2 * y
    fitted = kind().fit(X, y * 10)
    rule = LinearRule.of(fitted)
    np.testing.assert_array_equal(rule.predict(X), fitted.predict(X))
    np.testing.assert_allclose(
        rule.decision_function(X), fitted.decision_function(X), rtol=1e-10
    )


def test_no_intercept_is_zero():
    fitted = LinearSVC(fit_intercept=False).fit([[1.0], [2.0], [-1.0]], [1, 1, 0])
    assert LinearRule.of(fitted).predict([[3.0], [-3.0]]).tolist() == [1, 0]


@pytest.fixture(scope="module")
def documents():
    rng = np.random.default_rng(0)
    y = np.array(["sea", "sky", "land"])[np.arange(60) % 3]
    rates = np.full((60, 12), 0.2)
    for d in range(60):
        rates[d, (d % 3) * 4 : (d % 3) * 4 + 4] = 3.0
    return rng.poisson(rates), y


def test_a_saved_classifier_predicts_and_explains(documents, tmp_path):
    X, y = documents
    model = TopicClassifier(PLSA(6, random_state=0)).fit(X, y)
    model.save(tmp_path / "model")
    loaded = topicfold.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_allclose(
        loaded.decision_function(X), model.decision_function(X), rtol=1e-10
    )
    assert loaded.explain(X[[0]]).label == model.explain(X[[0]]).label
    assert loaded.topic_data().n_topics == 6
    # It can be saved again, and fitted again.
    loaded.save(tmp_path / "again")
    assert loaded.fit(X, y).score(X, y) > 0.9
    assert isinstance(model.classifier_, LinearSVC)


def test_another_kind_of_classifier_cannot_be_saved(documents, tmp_path):
    model = TopicClassifier(PLSA(3, random_state=0), KNeighborsClassifier())
    model.fit(*documents)
    with pytest.raises(ModelFileError, match="Use a linear classifier"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_an_explanation_by_hand():
    """Words have what topics give them and what they add past the topics."""
    X = sparse.csr_matrix([[2.0, 0.0, 1.0, 5.0]])
    theta, parts = np.array([0.6, 0.3, 0.1]), np.array([0.5, -0.2, 1.5])
    rule = LinearRule()
    rule.coef_, rule.intercept_ = (parts / np.sqrt(theta))[None], np.array([0.1])
    rule.classes_ = np.array(["z", "a"])
    topics = np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 0.4, 0.6]])
    weights, past = np.array([np.zeros(4), np.ones(4)]), X.copy()
    past.data[:] = 0.4, 0.3, 0.0
    classifier = SimpleNamespace(
        model_=SimpleNamespace(components_=topics),
        classifier_=rule,
        classes_=rule.classes_,
        lsi_=None,
        _recipe=Recipe("topics", 1.0, 0.0),
        _words=lambda X: past,
        _word_rule=lambda: WordRule(weights, np.array([0.0, 0.05])),
    )
    said = explained(classifier, X, np.sqrt(theta), theta, "a", 2)
    assert (said.label, said.intercept) == ("a", pytest.approx(0.15))
    assert said.direct == pytest.approx(0.7)
    assert said.decision == pytest.approx(0.5 - 0.2 + 1.5 + 0.7 + 0.15)
    assert [topic.topic for topic in said.topics] == [2, 0]
    assert [topic.contribution for topic in said.topics] == pytest.approx([1.5, 0.5])
    assert [word.word for word in said.topics[0].words] == ["w3", "w2"]
    assert [word.word for word in said.words] == ["w3", "w0"]
    values = [word.contribution for word in said.words]
    # A topic's contribution is split by the words of it, one of w2 and five of w3.
    assert values == pytest.approx([1.5 * 5 / 6, 0.5 + 0.4])
    assert [word.count for word in said.words] == [5.0, 2.0]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_rule_has_a_row_per_class_and_one_for_two(n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), np.arange(30) % n_classes
    rule = LinearRule.of(LogisticRegression().fit(X, y))
    rule._check_loaded()
    rule.classes_ = rule.classes_[:-1]
    with pytest.raises(ValueError, match="do not match"):
        rule._check_loaded()
    rule.classes_ = np.zeros(n_classes)
    with pytest.raises(ValueError, match="a class twice"):
        rule._check_loaded()
