# SPDX-License-Identifier: BSD-3-Clause
"""Labels as topics: planted topics by name, unknown labels, predictions."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import is_classifier
from sklearn.metrics import f1_score
from sklearn.naive_bayes import MultinomialNB

import topicfold
from topicfold import LDA, LabeledLDA, load
from topicfold.engine import masked
from topicfold.evidence import Labels
from topicfold.evidence.labels import read_labels
from topicfold.exceptions import DataError, DataWarning
from topicfold.parts import Context
from topicfold.phi import OtherCounts, Seeds

NAMES = ["ant", "bee", "cow", "dog"]
FEW = {"random_state": 0, "max_iter": 40, "tol": 0}


@pytest.fixture(scope="module")
def corpus():
    """Documents of one to three labels, a third of their words from the background."""
    rng = np.random.default_rng(0)
    own = 0.9 * np.kron(np.eye(5), np.full(8, 0.125)) + 0.1 / 40
    members = rng.random((250, 4)) < 0.3
    members[np.arange(250), rng.integers(4, size=250)] = True
    weights = np.where(members, rng.gamma(2.0, size=(250, 4)), 0)
    weights *= 0.67 / weights.sum(axis=1, keepdims=True)
    theta = np.c_[weights, np.full(250, 0.33)]
    X = np.array([rng.multinomial(50, row) for row in theta @ own])
    labels = [[NAMES[c] for c in np.flatnonzero(row)] for row in members]
    return sparse.csr_matrix(X.astype(float)), labels, members, theta, own


def test_every_label_gets_its_topic(corpus):
    X, labels, members, theta, own = corpus
    model = LabeledLDA(1, **FEW).fit(X, labels=labels)
    assert model.topic_names_ == [*NAMES, "background"]
    assert model.classes_.tolist() == NAMES
    assert model.n_topics_ == 5
    assert (model.doc_topics_[:, :4][~members] == 0).all()
    assert np.abs(model.doc_topics_ - theta).mean() < 0.08
    assert np.abs(model.components_ - own).sum(axis=1).max() < 0.6
    found = model.predict_proba(X)
    assert found.shape == (250, 4)
    assert (model.predict(X) == members).mean() > 0.9
    assert (model.predict(X).sum(axis=1) >= 1).all()


def test_labels_as_lists_matrix_and_frame_are_the_same(corpus):
    X, labels, members, *_ = corpus
    one = LabeledLDA(**FEW).fit(X, labels=labels)
    frame = pd.DataFrame(members.astype(int), columns=NAMES)
    for given in (frame, sparse.csr_matrix(members.astype(int)), members.astype(int)):
        other = LabeledLDA(**FEW).fit(X, given)
        np.testing.assert_array_equal(other.components_, one.components_)
    assert other.classes_.tolist() == [0, 1, 2, 3]
    assert LabeledLDA(**FEW).fit(X, labels=frame).classes_.tolist() == NAMES


@pytest.mark.usefixtures("plain_passes")
def test_without_a_known_label_it_is_lda(corpus, tmp_path):
    X, *_ = corpus
    plain = LDA(3, learn_priors=False, **FEW).fit(X)
    for labels in ([None] * 250, np.full(250, -1), None):
        with pytest.warns(
            DataWarning, match="without any known label.* n_background=3"
        ):
            model = LabeledLDA(3, **FEW).fit(X, labels=labels)
        np.testing.assert_allclose(model.components_, plain.components_, atol=1e-9)
        np.testing.assert_allclose(model.doc_topics_, plain.doc_topics_, atol=1e-9)
    model.save(tmp_path)
    for one in (model, load(tmp_path)):
        np.testing.assert_array_equal(one.transform(X), model.transform(X))
        with pytest.raises(AttributeError, match="without any known label"):
            one.predict(X)
    with pytest.raises(DataError, match="there is no topic"):
        LabeledLDA(0, **FEW).fit(X, labels=[None] * 250)


def test_the_background_has_a_name_of_its_own(corpus):
    X, *_ = corpus
    for names, own in (
        (["background", "sea"], ["shared background"]),
        (["background 2", "sea"], ["background"]),
        (["background", "shared background"], ["shared shared background"]),
    ):
        model = LabeledLDA(1, random_state=0, max_iter=2).fit(X, names * 125)
        assert model.topic_names_ == names + own
    several = LabeledLDA(2, random_state=0, max_iter=2)
    several.fit(X, ["background 2", "sea"] * 125)
    assert several.topic_names_[2:] == ["shared background 1", "shared background 2"]


def test_documents_of_unknown_labels_take_part(corpus):
    X, labels, _, theta, own = corpus
    some = [own if d % 5 == 0 else None for d, own in enumerate(labels)]
    model = LabeledLDA(1, unlabeled_weight=1, **FEW).fit(X, labels=some)
    assert np.abs(model.components_ - own).sum(axis=1).max() < 0.9
    hidden = np.arange(250) % 5 > 0
    assert np.abs(model.doc_topics_ - theta)[hidden].mean() < 0.12


def test_single_labels_predict_classes(corpus):
    X, _, _, theta, _ = corpus
    y = np.array(NAMES)[theta[:, :4].argmax(axis=1)]
    model = LabeledLDA(**FEW).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert (model.predict(X) == y).mean() > 0.85
    unknown = np.where(np.arange(250) % 3, y, "")
    partly = LabeledLDA(**FEW).fit(X, unknown)
    assert partly.classes_.tolist() == NAMES
    assert (partly.predict(X) == y).mean() > 0.8


def test_several_topics_of_a_label(corpus):
    X, labels, members, *_ = corpus
    model = LabeledLDA(2, topics_per_label=2, **FEW).fit(X, labels=labels)
    assert model.topic_names_[:3] == ["ant 1", "ant 2", "bee 1"]
    assert model.topic_names_[-2:] == ["background 1", "background 2"]
    own = model.doc_topics_[:, :8].reshape(250, 4, 2).sum(axis=2)
    assert (own[~members] == 0).all()
    assert model.predict_proba(X).shape == (250, 4)


def test_new_documents_with_and_without_labels(corpus):
    X, labels, members, *_ = corpus
    model = LabeledLDA(1, **FEW).fit(X, labels=labels)
    known = model.transform(X, labels=labels)
    assert (known[:, :4][~members] == 0).all()
    assert (model.transform(X)[:, :4] > 0).all()
    with pytest.warns(DataWarning, match="No document of the fit had .*'emu'"):
        new = model.transform(X[:2], labels=[["emu"], ["emu", "bee"]])
    assert (new[0] > 0).all()
    assert (new[1] > 0).tolist() == [False, True, False, False, True]


def test_the_mask_costs_no_accuracy_in_blocks(corpus, tmp_path):
    from topicfold.corpus.blocks import BlockMatrix

    X, labels, *_ = corpus
    blocks = BlockMatrix.write(tmp_path / "blocks", X, block_size=60)
    one = LabeledLDA(**FEW).fit(X, labels=labels)
    other = LabeledLDA(**FEW).fit(blocks, labels=labels)
    np.testing.assert_allclose(other.components_, one.components_, atol=1e-6)
    np.testing.assert_allclose(other.doc_topics_, one.doc_topics_, atol=1e-6)


def test_labels_can_be_named_afterwards(corpus):
    X, _, members, *_ = corpus
    model = LabeledLDA(1, random_state=0, max_iter=5).fit(X, members.astype(int))
    model.classes_ = NAMES
    assert model.topic_names_ == [*NAMES, "background"]
    assert model.classes_.tolist() == NAMES


def test_labels_are_saved(corpus, tmp_path):
    X, labels, *_ = corpus
    model = LabeledLDA(random_state=0, max_iter=5).fit(X, labels=labels)
    model.save(tmp_path / "model")
    loaded = topicfold.load(tmp_path / "model")
    assert loaded.topic_names_ == model.topic_names_
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("labels", "options", "match"),
    [
        ([["a"]] * 3, {}, "3 entries for 250"),
        (["a"] * 3, {}, "3 labels for 250"),
        ([["a"]] * 249 + ["b"], {}, "in row 249, and lists"),
        ([["a"]] * 249 + [[None]], {}, "inside a list"),
        ([["a"]] * 249 + [[]], {"n_background": 0}, "Document 249 has no label"),
    ],
)
def test_labels_that_make_no_sense(corpus, labels, options, match):
    with pytest.raises(DataError, match=match):
        LabeledLDA(**FEW | options).fit(corpus[0], labels=labels)
    with pytest.raises(ValueError, match="topics_per_label"):
        LDA(2, sides=[Labels(0)]).fit(corpus[0], labels=["a"] * 250)


def test_allowed_topics_are_those_of_the_labels():
    side = Labels(topics_per_label=2, n_background=1)
    context = Context(4, 0, 3, np.ones(4))
    data = side.check([["b"], ["a", "b"], None, []], context)
    assert side.n_topics(data, context) == 5
    expected = [[0, 0, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [0, 0, 0, 0, 1]]
    np.testing.assert_array_equal(side.allowed(data, context).toarray(), expected)


@pytest.mark.parametrize("beside", ["nothing", "tags", "seeds"])
def test_many_labels_are_fitted_as_with_zeros_elsewhere(monkeypatch, beside):
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix(rng.poisson(0.1, (80, 60)).astype(float))
    labels = [[f"l{c}" for c in rng.choice(30, 2, replace=False)] for _ in range(80)]
    data = {"labels": labels}
    sides = [Labels(n_background=1)]
    if beside == "tags":
        sides.append(OtherCounts("tags"))
        data["tags"] = rng.poisson(0.3, (80, 12))
    elif beside == "seeds":
        sides.append(Seeds({"l0": [0, 1, 2], "l1": [3, 59]}))
    fits = []
    for chosen in (True, False):
        monkeypatch.setattr(masked, "pays", lambda *_, chosen=chosen: chosen)
        model = LDA(31, sides=sides, random_state=0, max_iter=4, tol=0.0)
        fits.append(model.fit(X, **data))
    one, other = fits
    np.testing.assert_allclose(one.doc_topics_, other.doc_topics_, atol=1e-9)
    np.testing.assert_allclose(one.components_, other.components_, atol=1e-9)
    np.testing.assert_allclose(one.objective_history_, other.objective_history_)


def test_topics_start_near_the_corpus():
    side = Labels()
    totals = np.array([3.0, 0.0, 6.0, 1.0])
    context = Context(3, 0, 4, np.ones(3), word_totals=totals)
    side.n_topics(side.check(["a", "b", "a"], context), context)
    topics = np.random.default_rng(0).dirichlet(np.ones(4), 3)
    corpus = (totals + 0.25) / (totals + 0.25).sum()
    np.testing.assert_allclose(side.start(topics, context), 0.8 * corpus + 0.2 * topics)


def test_single_labels_are_saved_too(corpus, tmp_path):
    X, labels, *_ = corpus
    first = [row[0] if row else None for row in labels]
    model = LabeledLDA(random_state=0, max_iter=3).fit(X, labels=first)
    model.save(tmp_path / "model")
    loaded = topicfold.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_labels_in_anything_that_becomes_an_array():
    class Table:
        def __array__(self, dtype=None, copy=None):
            return np.array([[1, 0], [1, 1], [-1, -1]])

    members, classes, unknown, several = read_labels(Table(), 3)
    np.testing.assert_array_equal(members.toarray(), [[1, 0], [1, 1], [0, 0]])
    assert (len(classes), unknown.tolist(), several) == (2, [False, False, True], True)


def side_of(n_labels=2, **fitted):
    """Return labels as a fit leaves them: one topic per label, two background ones."""
    side = Labels(n_background=2)
    names = [f"n{k}" for k in range(n_labels)]
    side.classes_, side.several_ = np.array(names), True
    side.topic_names_ = [*names, "one", "two"]
    side.curve_ = np.array([0.3, 1.2])
    for name, value in fitted.items():
        setattr(side, name, value)
    return side


def test_probabilities_of_several_labels_are_a_logistic_curve():
    theta = np.array([[0.3, 0.1, 0.4, 0.2], [0.0, 0.0, 0.5, 0.5]])
    shares = np.array([[0.75, 0.25], [0.5, 0.5]])  # even where no label has a share
    np.testing.assert_allclose(side_of().shares(theta), shares)
    wanted = expit(0.3 + 1.2 * np.log(shares + 1e-4))
    np.testing.assert_allclose(side_of().probabilities(theta), wanted)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"topic_names_": ["n0", "n1", "one"]}, "topic_names_"),
        ({"topic_names_": ["n0", "n1", "one", "two", "three"]}, "topic_names_"),
        ({"n_background": 0}, "classes_"),
    ],
)
def test_a_saved_side_has_topics_of_its_labels(changes, message):
    side_of()._check_fitted({"K": 4, "V": 9})
    side_of(n_background=0, topic_names_=["n0", "n1"])._check_fitted({"K": 2})
    with pytest.raises(ValueError, match=message):
        side_of(**changes)._check_fitted({"K": 4, "V": 9})


def test_the_most_topics_can_be_had(monkeypatch, corpus):
    X, labels, *_ = corpus
    monkeypatch.setattr("topicfold.evidence.labels.MOST_TOPICS", 5)
    assert LabeledLDA(1, max_iter=1, tol=0).fit(X, labels=labels).n_topics_ == 5
    with pytest.raises(DataError, match="5 are the most"):
        LabeledLDA(n_background=2, max_iter=1).fit(X, labels=labels)


@pytest.mark.parametrize("seeds_first", [False, True])
def test_seeds_are_those_of_the_label_of_their_name(corpus, seeds_first):
    X, labels, _, _, own = corpus
    few = [names if d % 10 == 0 else None for d, names in enumerate(labels)]
    words = np.flatnonzero(own[2] > 0.05).tolist()  # of the third label, cow
    sides = [Labels(), Seeds({"cow": words})]
    model = LDA(5, sides=sides[::-1] if seeds_first else sides, **FEW)
    model.fit(X, labels=few)
    assert model.topic_names_ == [*NAMES, "background"]
    assert model.components_[:, words].sum(axis=1).argmax() == 2
    table = next(t for t in model.topic_data().sides if t.name == "seed words")
    assert [len(own) for own in table.terms] == [0, 0, 8, 0, 0]


def test_a_model_that_hides_labels_takes_seeds_by_their_names(corpus):
    X, labels, _, _, own = corpus
    few = [names if d % 5 == 0 else None for d, names in enumerate(labels)]
    few[1] = ["rare"]  # which no fit has while this document is hidden
    words = np.flatnonzero(own[2] > 0.05).tolist()
    seeds = Seeds({"cow": words, "rare": [0]})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "In these topics their seed words are rarer")
        model = LabeledLDA(sides=[seeds], **FEW).fit(X, labels=few)
    assert model.trial_scores_
    assert model.topic_names_[: len(NAMES) + 1] == [*NAMES, "rare"]
    with pytest.raises(DataError, match=r"words for 'emu', but .* 'ant', 'bee'"):
        LabeledLDA(sides=[Seeds({"emu": [0]})], **FEW).fit(X, labels=few)


def test_seeds_of_no_label_are_refused(corpus):
    X, labels, *_ = corpus
    with pytest.raises(DataError, match=r"words for 'emu', but .* 'ant', 'bee'"):
        LDA(5, sides=[Labels(), Seeds({"emu": [0]})]).fit(X, labels=labels)


def drifting(n_documents=400, seed=0):
    """Return documents of two labels, and others about something else altogether.

    The others share words with the first label by chance, and pull its topic away.
    """
    rng = np.random.default_rng(seed)
    own = rng.dirichlet(np.full(60, 0.3), 2)
    strange = 0.5 * own[0] + 0.5 * rng.dirichlet(np.full(60, 0.05), 3)
    y = rng.integers(0, 2, n_documents)
    of = np.where(rng.random((n_documents, 40)) < 0.5, 1 - y[:, None], y[:, None])
    X = np.zeros((n_documents, 60))
    for d in range(n_documents):
        for label in (0, 1):
            X[d] += rng.multinomial((of[d] == label).sum() * 2, own[label])
        X[d] += rng.multinomial(30, own[y[d]])
    unlabelled = rng.random(n_documents) < 0.75
    for d in np.flatnonzero(unlabelled):
        X[d] = rng.multinomial(110, strange[rng.integers(3)])
    return sparse.csr_matrix(X), y, unlabelled


def test_unlabelled_documents_that_mislead_are_left_out():
    X, y, unlabelled = drifting()
    labels = np.where(unlabelled, -1, y)
    model = LabeledLDA(**FEW).fit(X, labels)
    assert model.unlabeled_weight_ == 0
    tried = {weight: score for _, weight, score in model.trial_scores_}
    assert tried[0.0] > tried[1.0]
    # They have mixtures all the same, and they are those of `transform`.
    alone = LabeledLDA(model.sides_[0].n_background, **FEW)
    alone.fit(X[~unlabelled], y[~unlabelled])
    np.testing.assert_allclose(model.components_, alone.components_, atol=0.01)
    np.testing.assert_allclose(
        model.doc_topics_[unlabelled], model.transform(X)[unlabelled], atol=1e-6
    )
    with_all = LabeledLDA(model.sides_[0].n_background, unlabeled_weight=1, **FEW)
    with_all.fit(X, labels)
    known = X[~unlabelled], y[~unlabelled]
    assert model.score(*known) > with_all.score(*known) + 0.05


def test_what_is_given_is_not_tried(corpus):
    X, labels, *_ = corpus
    some = [own if d % 5 == 0 else None for d, own in enumerate(labels)]
    for weight in (0.0, 0.3, 1.0):
        model = LabeledLDA(1, unlabeled_weight=weight, **FEW).fit(X, labels=some)
        assert model.unlabeled_weight_ == weight
        # Once: several labels hidden say what predicts them.
        assert [way[:2] for way in model.trial_scores_] == [(1, weight)]
        assert hasattr(model.sides_[0], "label_odds_")
        single = [own and own[0] for own in some]
        model = LabeledLDA(1, unlabeled_weight=weight, **FEW).fit(X, labels=single)
        assert model.trial_scores_ == []


def test_words_of_unlabelled_documents_count_by_their_weight(corpus):
    """A weight of a half is a corpus in which each of two such documents is one."""
    X, labels, *_ = corpus
    some = [own if d % 5 == 0 else None for d, own in enumerate(labels)]
    unknown = np.array([own is None for own in some])
    scaled = sparse.csr_matrix(X * 2.0)
    once = sparse.csr_matrix(X + sparse.diags_array(1.0 * ~unknown) @ X)
    options = {"random_state": 0, "max_iter": 5, "tol": 0, "topic_word_prior": 0.1}
    half = LabeledLDA(1, unlabeled_weight=0.5, **options).fit(scaled, labels=some)
    plain = LabeledLDA(1, unlabeled_weight=1.0, **options).fit(once, labels=some)
    np.testing.assert_allclose(half.components_, plain.components_, atol=2e-3)
    with pytest.raises(ValueError, match="unlabeled_weight"):
        LabeledLDA(unlabeled_weight=2.0).fit(X, labels=some)


def test_labels_may_begin_late(corpus):
    """The first documents have none: what shares mean is learned from the others."""
    X, labels, *_ = corpus
    many = sparse.vstack([X] * 10, format="csr")
    late = [None] * 2250 + labels
    model = LabeledLDA(1, unlabeled_weight=0, random_state=0, max_iter=3)
    model.fit(many, labels=late)
    assert model.predict_proba(X).shape == (250, 4)


def test_lists_of_one_label_are_single_labels(corpus):
    X, _, _, theta, _ = corpus
    y = np.array(NAMES)[theta[:, :4].argmax(axis=1)]
    lists = [[label] for label in y]
    model = LabeledLDA(1, **FEW).fit(X, labels=lists)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.score(X, y) == model.score(X, lists) > 0.85
    assert is_classifier(model)


def test_a_score_is_the_accuracy(corpus):
    X, labels, members, *_ = corpus
    model = LabeledLDA(1, **FEW).fit(X, labels=labels)
    right = (model.predict(X) == members).all(axis=1)
    assert model.score(X, labels) == right.mean()
    assert model.score(X, members.astype(int)) == right.mean()
    some = [own if d < 100 else None for d, own in enumerate(labels)]
    assert model.score(X, some) == right[:100].mean()
    assert model.score(X[:1], [[*labels[0], "emu"]]) == 0.0
    with pytest.raises(DataError, match="needs labels"):
        model.score(X)
    with pytest.raises(DataError, match="no known label"):
        model.score(X, [None] * 250)


def test_clues_are_shares_likelihoods_and_frequencies():
    """Without shares and background, the second is naive Bayes by √n."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    own = rng.dirichlet(np.full(30, 0.3), 3)
    X = np.array([rng.multinomial(20, own[c]) for c in y], float)
    members = np.eye(3)[y]
    side = Labels(1, 0)
    side.classes_, side.several_ = np.array(["a", "b", "c"]), False
    theta = rng.dirichlet(np.ones(3), 90)
    clues = side.clues(theta, X, members.T @ X)
    bayes = MultinomialNB(fit_prior=False).fit(X, y).predict_joint_log_proba(X)
    centred = bayes - bayes.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(clues[:, :, 1], centred / np.sqrt(20))
    logs = np.log(theta + 1e-4)
    np.testing.assert_allclose(clues[:, :, 0], logs - logs.mean(axis=1, keepdims=True))
    np.testing.assert_allclose(clues.sum(axis=1), 0.0, atol=1e-12)
    # Words that distinguish labels: by the information that they have of the label.
    words = members.T @ X + 1.0
    given = words / words.sum(axis=1, keepdims=True)
    given = given * (members.T @ X).sum(axis=1, keepdims=True)
    given /= given.sum(axis=0)
    shares = (members.T @ X).sum(axis=1, keepdims=True) / X.sum()
    told = (given * np.log(given / shares)).sum(axis=0)
    rows = np.log2(1 + X) * told
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    ratios = np.log(words / words.sum(axis=1, keepdims=True))
    ratios -= np.log(words.sum(axis=0) / words.sum())
    wanted = rows @ ratios.T
    wanted -= wanted.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(clues[:, :, 4], wanted)
    # A clue that says nothing has no weight, one that says all has much.
    clues[:, :, 2] = members - 1 / 3
    clues[:, :, 3] = 0.0
    side.weigh_clues(clues, members > 0)
    assert side.clue_weights_[3] == 0.0
    found = side.probabilities(theta, clues)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert (found.argmax(axis=1) == y).all()


def test_single_labels_are_predicted_as_well_as_by_naive_bayes(tmp_path):
    """Unequal labels and long documents, where shares alone are worse."""
    rng = np.random.default_rng(1)
    own = 0.25 * rng.dirichlet(np.full(300, 0.2), 9) + 0.75 / 300
    y = rng.choice(9, 900, p=np.arange(1, 10) / 45)
    counts = np.array([rng.multinomial(60, own[c]) for c in y], float)
    X, names = sparse.csr_matrix(counts), np.array([f"label {c}" for c in y])
    model = LabeledLDA(random_state=0).fit(X[:500], names[:500])
    bayes = MultinomialNB().fit(X[:500], names[:500])
    assert model.score(X[500:], names[500:]) > bayes.score(X[500:], names[500:]) - 0.01
    found = model.predict_proba(X[500:])
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    # Probabilities are those of hidden labels: right as often as they say.
    assert abs(found.max(axis=1).mean() - model.score(X[500:], names[500:])) < 0.08
    model.save(tmp_path / "model")
    again = topicfold.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X[500:]), found)


def test_thresholds_of_several_labels_find_as_many_as_there_are():
    rng = np.random.default_rng(2)
    own = rng.dirichlet(np.full(500, 0.05), 9)
    shared = rng.dirichlet(np.full(500, 0.3))
    members = np.zeros((800, 9), int)
    X = np.zeros((800, 500))
    for d in range(800):
        chosen = rng.choice(9, rng.integers(1, 4), replace=False)
        members[d, chosen] = 1
        words = rng.dirichlet(np.ones(len(chosen))) @ own[chosen]
        X[d] = rng.multinomial(60, 0.5 * shared + 0.5 * words)
    X = sparse.csr_matrix(X)
    model = LabeledLDA(random_state=0).fit(X[:400], labels=members[:400])
    found = model.predict_proba(X[400:])
    truth = members[400:]
    assert abs(found.sum(axis=1).mean() / truth.sum(axis=1).mean() - 1) < 0.05

    def right(threshold):
        return f1_score(truth, found >= threshold, average="micro")

    assert right(0.5) > max(right(0.25), right(0.75), 0.85)


def test_labels_that_words_do_not_show_are_as_likely_as_they_are_frequent():
    """Two thirds have "program" whatever they are about: its topic has no words."""
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(60, 0.1), 3)
    theme = rng.integers(0, 3, 600)
    X = sparse.csr_matrix([rng.multinomial(12, phi[t]) for t in theme], dtype=float)
    common, rare = rng.random(600) < 0.66, rng.random(600) < 0.02
    labels = [
        [f"theme {t}"] + ["program"] * int(c) + ["odd"] * int(r)
        for t, c, r in zip(theme, common, rare, strict=True)
    ]
    model = LabeledLDA(**FEW).fit(X[:450], labels=labels[:450])
    names = model.classes_.tolist()
    chances = model.predict_proba(X[450:])
    program, odd = (chances[:, names.index(name)] for name in ("program", "odd"))
    assert program.mean() == pytest.approx(0.66, abs=0.08)
    assert program.min() > 0.2
    assert odd.max() < 0.3
    wanted = np.array([[name in own for name in names] for own in labels[450:]])
    assert f1_score(wanted, model.predict(X[450:]), average="micro") > 0.75


def test_a_label_that_few_documents_have_leaves_the_others_their_clues(tmp_path):
    """No fit without its documents has it: those say nothing of it."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, (60, 30)).astype(float)
    labels = [["c"] + ["a"] * (d % 2) + ["b"] * (d % 3 > 0) for d in range(60)]
    labels[7] = ["once", "c"]
    model = LabeledLDA(**FEW).fit(X, labels=labels)
    chances = model.predict_proba(X)
    assert np.isfinite(chances).all()
    place = model.classes_.tolist().index
    means = chances.mean(axis=0)
    assert means[place("c")] > 0.9 > means[place("b")] > means[place("once")]
    model.save(tmp_path / "model")
    loaded = topicfold.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), chances)
