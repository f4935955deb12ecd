# SPDX-License-Identifier: BSD-3-Clause
"""Editing topics: the other topics stay, mixtures stay on the simplex."""

import numpy as np
import pytest
from fuzz.models import MODELS, fitted, small_corpus
from scipy import sparse
from sklearn.base import clone
from step_support import StickTheta

import topicfold
from topicfold import FSTM, LDA, PLSA, AuthorTopics, DynamicLDA, GibbsLDA, TwoPhase
from topicfold.core.numbering import topic_numbers
from topicfold.editing import (
    apply_edits,
    drop_topics,
    merge_topics,
    numbers_of,
    rename_topics,
    renumber_topics,
    split_topic,
)
from topicfold.exceptions import DataError, DataWarning


@pytest.fixture(scope="module")
def X():
    """Four groups of words; a document has words of one group, few of another."""
    rng = np.random.default_rng(0)
    rows = []
    for d in range(80):
        rates = np.full(24, 0.05)
        rates[(d % 4) * 6 : (d % 4) * 6 + 6] = 4.0
        rows.append(rng.poisson(rates))
    return sparse.csr_matrix(np.array(rows, dtype=float))


@pytest.fixture(scope="module", params=[PLSA, LDA, FSTM], ids=lambda c: c.__name__)
def model(request, X):
    return request.param(4, random_state=0, max_iter=50).fit(X)


def check_simplex(model):
    np.testing.assert_allclose(model.doc_topics_.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1, atol=1e-5)
    assert model.doc_topics_.shape[1] == len(model.components_) == model.n_components


def test_rename_changes_only_the_name(model):
    edited = rename_topics(model, {2: " space "})
    assert edited.topic_data().name(2) == "space"
    assert edited.topic_data().name(1) == model.topic_data().name(1)
    np.testing.assert_array_equal(edited.components_, model.components_)
    assert not hasattr(model, "topic_names_")
    assert edited.edits_ == [{"action": "rename", "topic": 2, "name": "space"}]


def test_merge_keeps_the_expected_words_of_every_document(model, X):
    edited = merge_topics(model, [3, 1])
    check_simplex(edited)
    np.testing.assert_allclose(
        edited.doc_topics_[:, 1],
        model.doc_topics_[:, 1] + model.doc_topics_[:, 3],
        rtol=1e-5,
    )
    # The corpus' word frequencies are those of the sizes and topics, before and after.
    np.testing.assert_allclose(
        edited.topic_data().term_frequencies(),
        model.topic_data().term_frequencies(),
        rtol=1e-4,
        atol=1e-8,
    )
    np.testing.assert_allclose(edited.components_[2], model.components_[2], rtol=1e-12)
    assert edited.transform(X[:5]).shape == (5, 3)


def test_merge_of_names(model):
    named = rename_topics(model, {0: "cats", 2: "dogs"})
    assert merge_topics(named, [0, 2]).topic_names_ == ["cats + dogs", "", ""]
    assert merge_topics(named, [0, 2], name="pets").topic_names_[0] == "pets"


def test_drop_scales_what_is_left(model, X):
    edited = drop_topics(model, [1])
    check_simplex(edited)
    np.testing.assert_array_equal(edited.components_, model.components_[[0, 2, 3]])
    left = model.doc_topics_[:, [0, 2, 3]]
    enough = left.sum(axis=1) > 1e-6
    assert enough.any()
    np.testing.assert_allclose(
        edited.doc_topics_[enough],
        left[enough] / left[enough].sum(axis=1, keepdims=True),
        rtol=1e-4,
        atol=1e-7,
    )
    assert edited.transform(X[:5]).shape == (5, 3)


def test_a_document_of_dropped_topics_only_is_uniform():
    model = PLSA(3, random_state=0).fit([[4, 1, 0], [0, 1, 3], [2, 0, 2]])
    model.doc_topics_[0] = [1, 0, 0]
    np.testing.assert_allclose(drop_topics(model, [0]).doc_topics_[0], [0.5, 0.5])


def test_split_finds_the_groups_of_a_merged_topic(X):
    model = PLSA(4, random_state=0, max_iter=100).fit(X)
    merged = merge_topics(model, [0, 1])
    again = split_topic(merged, 0, X)
    check_simplex(again)
    # Topics 1 and 2 of the merged model stay; the two that were merged are back.
    np.testing.assert_array_equal(again.components_[1:3], merged.components_[1:3])
    found = again.components_[[0, 3]]
    overlap = np.minimum(found[:, None], model.components_[None, :2]).sum(axis=2)
    assert overlap.max(axis=1).min() > 0.9
    assert set(overlap.argmax(axis=1)) == {0, 1}
    assert again.edits_[-1] == {"action": "split", "topic": 0, "n_topics": 2}


def test_split_keeps_the_share_of_the_topic(model, X):
    edited = split_topic(model, 1, X, n_topics=3)
    check_simplex(edited)
    np.testing.assert_allclose(
        edited.doc_topics_[:, [1, 4, 5]].sum(axis=1),
        model.doc_topics_[:, 1],
        atol=1e-5,
    )
    assert edited.transform(X[:5]).shape == (5, 6)


def test_edits_are_saved_and_can_be_applied_again(model, X, tmp_path):
    edits = [
        {"action": "rename", "topic": 0, "name": "first"},
        {"action": "merge", "topics": [1, 2], "name": "both"},
        {"action": "split", "topic": 1, "n_topics": 2},
        {"action": "drop", "topics": [3]},
    ]
    edited = apply_edits(model, edits, X=X)
    assert edited.edits_ == edits
    edited.save(tmp_path / "model")
    loaded = topicfold.load(tmp_path / "model")
    # Topics 0, 1 and 4 are 0, 1 and 2 in the file.
    assert loaded.edits_ == [*edits, {"action": "renumber"}]
    assert loaded.topic_names_ == edited.topic_names_
    np.testing.assert_array_equal(loaded.components_, edited.components_)
    again = apply_edits(model, loaded.edits_, X=X)
    np.testing.assert_array_equal(again.components_, edited.components_)
    assert again.topic_data().settings["edits"] == loaded.edits_


def test_numbers_stay_through_a_chain_of_edits(model, X):
    merged = merge_topics(model, [0, 2])
    dropped = drop_topics(merged, [3])
    assert numbers_of(merged) == [0, 1, 3]
    assert numbers_of(dropped) == [0, 1]
    kept = dropped.components_[1]
    np.testing.assert_allclose(kept, model.components_[1], rtol=1e-6)
    parts = split_topic(dropped, 1, X)
    # 3 was a number once: it is not given to another topic.
    assert numbers_of(parts) == [0, 1, 4]
    assert parts.topic_data().numbers == (0, 1, 4)
    for gone in (2, 3):
        with pytest.raises(DataError, match=f"Topic {gone} no longer exists"):
            rename_topics(parts, {gone: "x"})
    with pytest.raises(DataError, match="no topic 5; the last topic is 4"):
        drop_topics(parts, [5])
    again = renumber_topics(parts)
    assert numbers_of(again) == [0, 1, 2]
    assert numbers_of(split_topic(again, 2, X)) == [0, 1, 2, 3]
    assert numbers_of(parts) == [0, 1, 4]
    assert renumber_topics(again) is again


@pytest.mark.parametrize(
    "edits",
    [
        [{"action": "drop", "topics": [7]}],
        [{"action": "split", "topic": 0, "n_topics": 10**12}],
        [{"action": "split", "topic": 0, "n_topics": -(10**12)}],
        [{"action": "merge", "topics": "ab"}],
        [{"action": "merge"}],
        [{}],
    ],
    ids=["no such topic", "many", "few", "text", "nothing", "empty"],
)
def test_numbers_after_a_damaged_log_are_rows(edits):
    assert topic_numbers(edits, 3) == [0, 1, 2]


def test_a_new_fit_forgets_the_edits(X):
    model = rename_topics(PLSA(2, random_state=0, max_iter=3).fit(X), {0: "old"})
    model.fit(X)
    assert not hasattr(model, "topic_names_")
    assert not hasattr(model, "edits_")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"action": "rename", "topic": 9, "name": "x"}, "no topic 9"),
        ({"action": "rename", "topic": "1", "name": "x"}, "whole number"),
        ({"action": "rename", "topic": 1, "name": 5}, "Give a string"),
        ({"action": "rename", "topic": 1}, "'name' is missing"),
        ({"action": "merge", "topics": [1, 1]}, "two different"),
        ({"action": "drop", "topics": [0, 1, 2, 3]}, "Keep at least one"),
        ({"action": "drop", "topics": []}, "at least one topic"),
        ({"action": "split", "topic": 0}, "needs the training documents"),
        ({"action": "paint", "topic": 0}, "unknown action 'paint'"),
        ({"action": "drop", "topics": [1], "why": "bad"}, "unknown entries"),
    ],
    ids=lambda value: str(sorted(value)) if isinstance(value, dict) else value,
)
def test_bad_edits_say_what_is_wrong(model, edit, message):
    with pytest.raises(DataError, match=message) as caught:
        apply_edits(model, [{"action": "rename", "topic": 0, "name": "fine"}, edit])
    assert "Edit 1" in str(caught.value)


def test_split_needs_the_training_documents(model, X):
    with pytest.raises(DataError, match="Give the training documents"):
        split_topic(model, 0, X[:10])
    with pytest.raises(DataError, match="n_topics must be a whole number from 2"):
        split_topic(model, 0, X, n_topics=1)


def test_a_model_with_labels_is_refused(X):
    labelled = TwoPhase(PLSA(4, random_state=0, max_iter=5)).fit(X, np.arange(80) % 4)
    with pytest.raises(DataError, match="Edit the base model"):
        drop_topics(labelled, [0])


def test_edited_topics_are_not_those_that_sides_learned_of(tmp_path):
    X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [3, 0, 3, 4]] * 2)
    authors = [["Ann"], ["Ann", "Bob"], ["Cid"], ["Bob", "Cid"]] * 2
    model = AuthorTopics(3, random_state=0, max_iter=5).fit(X, authors=authors)
    assert rename_topics(model, {0: "a"}).similar_authors("Ann")
    for edit in (
        lambda: drop_topics(model, [1]),
        lambda: merge_topics(model, [0, 1]),
        lambda: split_topic(model, 0, X),
    ):
        with pytest.warns(DataWarning, match=r"Author\w* learned belongs to"):
            edited = edit()
        assert edited.topic_data().sides == ()
        edited.save(tmp_path / "edited")
        back = topicfold.load(tmp_path / "edited")
        np.testing.assert_allclose(back.transform(X).sum(axis=1), 1, atol=1e-5)
        with pytest.raises(DataError, match="edited"):
            back.similar_authors("Ann")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::topicfold.exceptions.DataWarning")
@pytest.mark.parametrize("name", MODELS)
def test_an_edited_model_of_any_kind_is_saved_and_loaded_or_refused(name, tmp_path):
    model, X = fitted(name), small_corpus().counts
    bound = ("correlated", "structural", "prevalence", "pachinko", "lsi")
    bound += ("tree", "tree-of-topics")
    edits = {
        "merge": lambda: merge_topics(model, [0, 1]),
        "drop": lambda: drop_topics(model, [1]),
        "split": lambda: split_topic(model, 0, X),
    }
    for place, edit in edits.items():
        if name in bound or hasattr(model, "classes_"):
            with pytest.raises(DataError, match="has learned"):
                edit()
            continue
        edited = edit()
        file = tmp_path / place
        edited.save(file)
        loaded = topicfold.load(file)
        np.testing.assert_array_equal(loaded.transform(X), edited.transform(X))
        n_topics = len(edited.components_)
        assert loaded.topic_data().n_topics == edited.topic_data().n_topics == n_topics
        loaded.topic_data().records()


def test_shares_of_slices_are_gone_after_an_edit(X, tmp_path):
    time = 2000 + np.arange(X.shape[0]) % 5
    model = DynamicLDA(4, max_iter=3, random_state=0).fit(X, time=time)
    assert model.prevalence_.shape == (5, 4)
    with pytest.warns(DataWarning, match="the edited model uses words alone"):
        edited = merge_topics(model, [0, 2])
    edited.save(tmp_path / "edited")
    for one in (edited, topicfold.load(tmp_path / "edited")):
        with pytest.raises(DataError, match="no longer has time: its topics were edit"):
            one.prevalence_  # noqa: B018
        with pytest.raises(DataError, match="its topics before they were edited"):
            one.transform(X, time=time)


EDITS = {
    "merge": lambda model, X: merge_topics(model, [0, 2]),
    "drop": lambda model, X: drop_topics(model, [3]),
    "split": lambda model, X: split_topic(model, 1, X),
}


@pytest.mark.parametrize("edit", EDITS)
def test_topics_that_a_step_learned_of_are_bound(edit, X):
    model = PLSA(4, theta_step=StickTheta(), max_iter=3, random_state=0).fit(X)
    with pytest.raises(DataError, match=r"has learned a StickTheta of its topics, and"):
        EDITS[edit](model, X)
    renamed = rename_topics(model, {1: "space"})
    np.testing.assert_array_equal(renamed.transform(X), model.transform(X))


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("cls", [LDA, GibbsLDA])
def test_a_prior_of_every_topic_is_edited_with_the_topics(cls, edit, X):
    prior = np.array([0.1, 0.2, 0.3, 0.4])
    model = cls(4, doc_topic_prior=prior, max_iter=3, random_state=0).fit(X)
    edited = EDITS[edit](model, X)
    size = len(edited.components_)
    assert edited.doc_topic_prior.shape == (size,)
    again = clone(edited).set_params(init=edited.components_).fit(X)
    assert again.components_.shape == edited.components_.shape
    np.testing.assert_array_equal(prior, [0.1, 0.2, 0.3, 0.4])


def test_attributes_of_sides_are_gone_after_an_edit():
    assert rename_topics(fitted("tree"), {0: "x"}).topic_names_[0] == "x"
    model = fitted("links")
    with pytest.warns(DataWarning, match="uses words alone"):
        edited = merge_topics(model, [0, 1])
    assert not hasattr(edited, "coef_")
    with pytest.raises(DataError, match="no longer has links: its topics were edited"):
        _ = edited.coef_
