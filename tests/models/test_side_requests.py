# SPDX-License-Identifier: BSD-3-Clause
"""Data of sides through scikit-learn: pipelines, searches, predictions, requests."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sides_support import planted
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from topicfold import (
    LDA,
    PLSA,
    FeatureLDA,
    LabeledLDA,
    RelationalLDA,
    SupervisedLDA,
    TopicClassifier,
)
from topicfold.evidence import Links
from topicfold.exceptions import DataError
from topicfold.phi import OtherCounts
from topicfold.theta import Authors

FEW = {"random_state": 0, "max_iter": 5, "tol": 0}


@pytest.fixture(autouse=True)
def _routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def corpus():
    X, theta, _ = planted(n_documents=90)
    rng = np.random.default_rng(0)
    tags = rng.poisson(3 * theta)
    return X, theta, tags


def pairs_of(theta, n=60):
    rng = np.random.default_rng(1)
    first = rng.integers(0, len(theta), n)
    best = theta.argmax(axis=1)
    second = [rng.choice(np.flatnonzero(best == best[d])) for d in first]
    return np.array([(d, e) for d, e in zip(first, second, strict=True) if d != e])


def search(model, X, y=None, **data):
    names = "n_background" if isinstance(model, LabeledLDA) else "max_iter"
    grid = GridSearchCV(model, {names: [1, 2]}, cv=3, error_score="raise")
    return grid.fit(X, y, **data)


def test_links_are_refused_in_a_search(corpus):
    X, theta, _ = corpus
    pairs = pairs_of(theta)
    square = sparse.coo_matrix((np.ones(len(pairs)), pairs.T), shape=(90, 90)).tocsr()
    few = pairs[(pairs < 20).all(axis=1)]  # every part of X has rows of these numbers
    for links in (pairs, square, few):
        for model in (RelationalLDA(2, weight=1.0, **FEW), LDA(2, sides=[Links()])):
            with pytest.raises(DataError, match="links cannot be cross-validated"):
                search(model, X, links=links)
        with pytest.raises(DataError, match="links cannot be cross-validated"):
            cross_validate(
                make_pipeline(FunctionTransformer(), RelationalLDA(2, **FEW)),
                X,
                params={"links": links},
                error_score="raise",
            )
    pipeline = make_pipeline(FunctionTransformer(), RelationalLDA(2, weight=1, **FEW))
    assert pipeline.fit(X, links=pairs)[-1].coef_.shape == (2,)


class OwnLinks(RelationalLDA):
    """Makes links of the documents that it is given."""

    _part = Links

    def fit(self, X, y=None):
        return super().fit(X, links=np.array([[0, 1], [2, 3], [4, 5]]))


def test_links_made_of_a_part_of_the_documents_are_taken(corpus):
    found = cross_validate(OwnLinks(2, weight=1.0, **FEW), corpus[0], cv=3)
    assert np.isfinite(found["test_score"]).all()


def test_features_in_a_search(corpus):
    X, theta, _ = corpus
    columns = {"place": np.where(theta[:, 0] > 0.3, "here", "there"), "x": theta[:, 1]}
    frame = pd.DataFrame(columns)
    records = frame.to_dict("records")
    model = FeatureLDA(3, **FEW)
    one, other = (search(model, X, features=own) for own in (frame, records))
    np.testing.assert_array_equal(one.cv_results_["mean_test_score"],
                                  other.cv_results_["mean_test_score"])  # fmt: skip
    whole = clone(model).fit(X, features=columns)
    np.testing.assert_array_equal(
        whole.components_, clone(model).fit(X, features=records).components_
    )
    with pytest.raises(DataError, match="list of one mapping per document"):
        search(model, X, features=columns)


def test_authors_in_a_search_by_name_number_and_text(corpus):
    X, theta, _ = corpus
    best = theta.argmax(axis=1)
    lists = [[f"a{k}", "all"] for k in best]
    texts = [f"a{k}; all" for k in best]
    model = LDA(3, sides=[Authors()], **FEW)
    one, other = (search(model, X, authors=own) for own in (lists, texts))
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"]
    )
    gaps = [None if d == 3 else float(k) for d, k in enumerate(best)]
    for numbers in (best, best.tolist(), gaps):
        side = clone(model).fit(X, authors=numbers).sides_[0]
        assert set(side.names_) == {"0", "1", "2", "3"}
    assert [name for name, _ in side.similar(2, 1)] == [
        name for name, _ in side.similar("2", 1)
    ]


def test_other_counts_reach_predictions(corpus):
    X, theta, tags = corpus
    y = theta @ [0.0, 1.0, 2.0, 3.0]
    tagged = {"sides": [OtherCounts("tags")], **FEW}
    model = SupervisedLDA(4, weight=20.0, **tagged)
    pipeline = make_pipeline(FunctionTransformer(), model).fit(X, y, tags=tags)
    fitted = clone(model).fit(X, y, tags=tags)
    found = pipeline.predict(X, tags=tags)
    np.testing.assert_array_equal(found, fitted.predict(X, tags=tags))
    assert pipeline.score(X, y, tags=tags) == fitted.score(X, y, tags=tags)
    assert not np.array_equal(found, fitted.predict(X))
    labels = theta.argmax(axis=1)
    by_label = make_pipeline(FunctionTransformer(), LabeledLDA(1, **tagged))
    by_label.fit(X, labels, tags=tags)
    assert (by_label.predict(X, tags=tags) == labels).mean() > 0.9
    assert by_label.predict_proba(X, tags=tags).shape == (90, 4)
    linked = RelationalLDA(3, weight=1.0, **tagged)
    linked.fit(X, links=pairs_of(theta), tags=tags)
    found, _ = linked.suggest_links(X[:5], 3, tags=tags[:5])
    assert found.shape == (5, 3)
    one = linked.predict_links([[0, 1]], X[:5], tags=tags[:5])
    assert one != linked.predict_links([[0, 1]], X[:5])
    with pytest.raises(DataError, match="Give X as well"):
        linked.suggest_links(n=3, tags=tags)


def test_labels_and_responses_by_keyword_are_scored_and_not_given_away(corpus):
    X, theta, _ = corpus
    y, labels = theta @ [0.0, 1.0, 2.0, 3.0], theta.argmax(axis=1)
    lists = [[f"l{k}", "all"] for k in labels]
    cases = (
        (SupervisedLDA(4, weight=20.0, **FEW), "response", y),
        (LabeledLDA(1, **FEW), "labels", labels),
        (LabeledLDA(1, **FEW), "labels", lists),
    )
    for model, name, own in cases:
        fitted = clone(model).fit(X, **{name: own})
        assert fitted.score(X, **{name: own}) == fitted.score(X, own)
        with pytest.raises(DataError, match=f"score got y and {name}"):
            fitted.score(X, own, **{name: own})
        asking = model.set_fit_request(**{name: True})
        asking.set_score_request(**{name: True})
        found = cross_val_score(asking, X, cv=3, params={name: own})
        assert np.isfinite(found).all()


def test_embeddings_reach_a_classifier_that_is_cross_validated(corpus):
    X, theta, _ = corpus
    y, vectors = theta.argmax(axis=1), {"embeddings": theta}
    fitted = TopicClassifier(PLSA(3, **FEW)).fit(X, y, **vectors)
    right = fitted.predict(X, **vectors) == y
    assert fitted.score(X, y, **vectors) == right.mean()
    weights = np.arange(len(y))
    weighed = fitted.score(X, y, weights, **vectors)
    assert weighed == pytest.approx(np.average(right, weights=weights))
    asking = TopicClassifier(PLSA(3, **FEW)).set_fit_request(embeddings=True)
    asking.set_score_request(embeddings=True)
    found = cross_val_score(asking, X, y, cv=3, params=vectors)
    assert found.min() > 0.5


def test_labels_in_a_search_and_in_cross_validation(corpus):
    X, theta, _ = corpus
    labels = theta.argmax(axis=1)
    found = search(LabeledLDA(**FEW), X, labels)
    assert found.best_score_ > 0.5
    guessed = cross_val_predict(LabeledLDA(1, **FEW), X, labels, cv=3)
    assert (guessed == labels).mean() > 0.5


def test_requests_are_by_the_names_of_sides(corpus):
    X, theta, tags = corpus
    authors = [f"a{k}" for k in theta.argmax(axis=1)]
    model = LDA(3, sides=[Authors(), OtherCounts("tags")], **FEW)
    by_other_name = clone(model).set_fit_request(tags="keywords")
    pipeline = make_pipeline(FunctionTransformer(), by_other_name)
    pipeline.fit(X, authors=authors, keywords=tags)
    expected = clone(model).fit(X, authors=authors, tags=tags)
    np.testing.assert_array_equal(pipeline[-1].components_, expected.components_)
    without = make_pipeline(
        FunctionTransformer(), clone(model).set_transform_request(tags=False)
    ).fit(X, authors=authors, tags=tags)
    np.testing.assert_array_equal(
        without.transform(X, authors=authors), expected.transform(X, authors=authors)
    )
    with pytest.raises(TypeError, match=r"Unexpected args: {'links'} in fit.*tags"):
        model.set_fit_request(links=True)
    with (
        sklearn.config_context(enable_metadata_routing=False),
        pytest.raises(RuntimeError, match="metadata routing is enabled"),
    ):
        model.set_fit_request(tags=True)
