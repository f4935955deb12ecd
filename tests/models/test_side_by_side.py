# SPDX-License-Identifier: BSD-3-Clause

import numpy as np
import pytest

import topicfold
from topicfold import FSTM, LSI, PLSA, LocallyConsistentPLSA, TwoPhase
from topicfold.exceptions import DataError
from topicfold.models.side_by_side import SideBySide


def test_starts_are_those_of_the_model(planted):
    X = planted[0]
    model = SideBySide(PLSA(4, max_iter=10, random_state=3), 2).fit(X)
    alone = [PLSA(4, max_iter=10, random_state=seed).fit(X) for seed in (3, 4)]
    np.testing.assert_array_equal(
        model.components_, np.vstack([m.components_ for m in alone])
    )
    np.testing.assert_array_equal(
        model.transform(X[:9]), np.hstack([m.transform(X[:9]) for m in alone]) / 2
    )
    np.testing.assert_allclose(model.doc_topics_.sum(axis=1), 1, rtol=1e-5)
    assert model.topic_data().n_topics == 8
    assert model.perplexity(X) > 1


@pytest.mark.parametrize("neighbors", [False, True])
def test_graph_models_share_graph_and_weight(planted, neighbors, tmp_path):
    X = planted[0]
    options = {"max_iter": 10, "transform_neighbors": neighbors}
    model = SideBySide(LocallyConsistentPLSA(4, random_state=0, **options)).fit(X)
    first, *later = model.models_
    for seed, start in enumerate(later, 1):
        same = LocallyConsistentPLSA(4, random_state=seed, **options).fit(X)
        np.testing.assert_array_equal(start.doc_topics_, same.doc_topics_)
        assert start.weight_ == first.weight_ == same.weight_
        assert not hasattr(start, "graph_")
        part = model.transform(X[:7])[:, 4 * seed : 4 * seed + 4]
        np.testing.assert_allclose(part, same.transform(X[:7]) / 3, rtol=1e-5)
    model.save(tmp_path / "model")
    again = topicfold.load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(X[:7]), model.transform(X[:7]))
    np.testing.assert_array_equal(again.doc_topics_, model.doc_topics_)


def test_a_second_fit_forgets_the_first(planted):
    X = planted[0]
    model = SideBySide(PLSA(4, max_iter=3, random_state=np.random.RandomState(0)), 2)
    theta = model.fit(X).doc_topics_
    assert model.set_params(n_starts=1).fit(X).components_.shape == (4, 120)
    assert model.doc_topics_.shape == (300, 4)
    assert theta.shape == (300, 8)


@pytest.mark.parametrize(
    ("model", "message"),
    [(LSI(3), "must be an instance"), (TwoPhase(FSTM(3)), "no random_state")],
)
def test_models_without_starts(model, message, planted):
    with pytest.raises((DataError, ValueError), match=message):
        SideBySide(model).fit(planted[0])


def test_there_is_at_least_one_start(planted):
    with pytest.raises(ValueError, match="n_starts"):
        SideBySide(PLSA(3), 0).fit(planted[0])


def test_saved_starts_that_do_not_fit_together_are_refused(planted):
    X = planted[0]
    model = SideBySide(PLSA(3, max_iter=2, random_state=0), 2).fit(X)
    model._check_loaded()
    for other in (X[:, :100], X[:50]):
        model.models_[1] = PLSA(3, max_iter=2, random_state=0).fit(other)
        with pytest.raises(ValueError, match="do not match"):
            model._check_loaded()
    for models in ([], (model.models_[0],), [3], [PLSA(3)]):
        model.models_ = models
        with pytest.raises(ValueError, match="do not match"):
            model._check_loaded()


@pytest.mark.parametrize("neighbors", [False, True])
def test_new_documents_have_the_words_of_the_fit(planted, neighbors):
    X = planted[0]
    options = {"max_iter": 3, "transform_neighbors": neighbors}
    model = SideBySide(LocallyConsistentPLSA(4, random_state=0, **options)).fit(X)
    with pytest.raises(ValueError, match="features"):
        model.transform(X[:7, :-1])
    assert model.n_features_in_ == X.shape[1]
