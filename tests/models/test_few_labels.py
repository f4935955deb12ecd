# SPDX-License-Identifier: BSD-3-Clause
"""`TopicClassifier` with few labels: what it chooses, knows and says of itself."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import binomtest
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC
from tests_support import draw_sides

import topicfold
from topicfold import LDA, LocallyConsistentPLSA, NeighborGraph, TopicClassifier
from topicfold.classify import few_labels
from topicfold.classify.explaining import _by_directions
from topicfold.classify.few_labels import (
    PLAIN,
    RECIPES,
    Views,
    WordRule,
    best_temperature,
    choose_recipe,
    decisions,
    default_topics,
    most_telling,
    probabilities,
    teach,
    weighted_share,
    wilson_interval,
)
from topicfold.exceptions import DataError, EmptyDocumentWarning
from topicfold.models.side_by_side import SideBySide
from topicfold.models.two_phase import split_documents


@pytest.fixture(scope="module")
def corpus():
    """400 documents of 4 classes, mixed topics; 6 labels of each class."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(150, 0.08), size=4)
    y = np.arange(400) % 4
    theta = 0.45 * np.eye(4)[y] + 0.55 * rng.dirichlet(np.ones(4), size=400)
    X = sparse.csr_matrix(
        [rng.multinomial(40, row) for row in theta @ topics], dtype=np.float64
    )
    given = np.full(400, -1)
    given[:24] = y[:24]
    return X, y, given


@pytest.fixture(scope="module")
def fitted(corpus):
    X, _, given = corpus
    return TopicClassifier().fit(X, given)


def test_finds_the_classes_of_all_documents(corpus, fitted):
    X, y, given = corpus
    assert isinstance(fitted.model_, SideBySide)
    assert (fitted.transduction_ == y).mean() > 0.85
    np.testing.assert_array_equal(fitted.transduction_[:24], given[:24])
    assert fitted.score(X, y) > 0.85
    assert fitted.choice_ in [recipe.text for recipe in RECIPES]
    found = fitted.accuracy_
    assert found.n_documents == 24
    assert found.low < found.share < found.high <= 1
    assert found.low < 0.9


def test_a_share_is_that_of_classes_as_frequent_as_they_are():
    """Nine of ten are of a class of which half were found, labels are drawn evenly."""
    right = np.r_[np.ones(10), np.ones(5), np.zeros(5)].astype(bool)
    codes = np.repeat([0, 1], 10)
    share, worth = weighted_share(right, codes, np.array([0.1, 0.9]))
    assert share == pytest.approx(0.1 * 1.0 + 0.9 * 0.5)
    assert worth == pytest.approx(1 / (0.1**2 / 10 + 0.9**2 / 10))
    assert weighted_share(right, codes, np.array([1.0, 1.0])) == pytest.approx(
        (0.75, 20)
    )
    # A class that was not looked at cannot count, and all of them may be such.
    assert weighted_share(right, codes, np.array([0.0, 0.0, 1.0])) == pytest.approx(
        (0.75, 20)
    )


@pytest.mark.parametrize(("n_right", "n"), [(0, 7), (3, 7), (7, 7), (900, 1000)])
def test_the_interval_is_wilsons(n_right, n):
    expected = binomtest(n_right, n).proportion_ci(method="wilson")
    assert wilson_interval(n_right / n, n) == pytest.approx(
        (expected.low, expected.high)
    )


def test_class_shares_weigh_the_accuracy(corpus):
    X, _, given = corpus
    names = np.array(["a", "b", "c", "d", ""])[given]

    def told(shares):
        model = TopicClassifier(class_shares=shares, random_state=0).fit(X, names)
        rows, found = model.fit_cross_predict(X, names)
        right = [(found == names[rows])[names[rows] == c].mean() for c in "abcd"]
        return model, right

    model, right = told({"a": 3, "b": 1, "c": 0, "d": 0})
    assert model.accuracy_.share == pytest.approx(0.75 * right[0] + 0.25 * right[1])
    even, right = told("labels")
    assert even.accuracy_.share == pytest.approx(np.mean(right))
    by_default, right = told(None)
    shares = np.unique(by_default.transduction_, return_counts=True)[1] / len(names)
    assert by_default.accuracy_.share == pytest.approx(shares @ right)
    width = [m.accuracy_.high - m.accuracy_.low for m in (even, model)]
    assert width[0] < width[1]  # fewer documents decide


def test_beats_words_alone(corpus, fitted):
    X, y, given = corpus
    known = given >= 0
    words = LogisticRegression(C=10, max_iter=1000)
    words.fit(X[known].log1p(), y[known])
    assert (fitted.transduction_ == y).mean() > words.score(X.log1p(), y) + 0.03


def test_probabilities_sum_to_one_and_tell_the_class(corpus, fitted):
    X, _, _ = corpus
    shares = fitted.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(shares.argmax(axis=1), fitted.predict(X))
    values = fitted.decision_function(X)
    np.testing.assert_allclose(shares, probabilities(values, fitted.temperature_))


@pytest.mark.parametrize("few", [True, False])
def test_the_temperature_is_the_best_for_labels_that_were_hidden(corpus, few):
    X, y, given = corpus
    model = TopicClassifier(None if few else LDA(4, max_iter=5, random_state=0))
    found = model._fit(X, given if few else y, None, 3, 1000)
    assert isinstance(model.model_, SideBySide) == few
    # By a grid: the loss has one minimum, and log T a normal prior.
    tried = np.exp(np.linspace(-4, 4, 4001))
    own = np.arange(len(found.codes)), found.codes
    losses = [
        -np.log(probabilities(found.values, t)[own]).sum() + 0.5 * np.log(t) ** 2
        for t in tried
    ]
    assert model.temperature_ == pytest.approx(tried[np.argmin(losses)], rel=5e-3)
    assert abs(np.log(model.temperature_)) > 0.05  # it makes a difference


def test_latent_directions_weigh_rare_words_up(corpus, fitted):
    """They are the singular vectors of log counts at length 1, times the idf."""
    X, _, _ = corpus
    idf = TfidfTransformer().fit(X).idf_
    np.testing.assert_allclose(fitted.lsi_.term_weights_, idf)
    assert np.ptp(idf) > 0.1
    weighted = normalize(X.log1p()).multiply(idf).toarray()
    size = len(fitted.lsi_.singular_values_)
    values = np.linalg.svd(weighted, compute_uv=False)[:size]
    np.testing.assert_allclose(fitted.lsi_.singular_values_, values, rtol=1e-2)


def test_neighbours_have_half_of_the_word(corpus, fitted):
    X, _, _ = corpus
    features, edges = fitted._features(X[:6], None)
    linear = decisions(fitted.classifier_, features, fitted.classes_)
    linear += fitted._word_rule().values(fitted._words(X[:6]))
    own = probabilities(linear, 1.0)
    near = edges @ fitted.neighbor_shares_
    mixed = np.log(0.5 * own + 0.5 * near)
    np.testing.assert_allclose(fitted.decision_function(X[:6]), mixed)
    np.testing.assert_allclose(fitted.neighbor_shares_[:24].max(axis=1), 1)
    strange = sparse.csr_matrix(([9.0], ([0], [0])), shape=(1, 150)) * 0
    with pytest.warns(EmptyDocumentWarning):
        alone = fitted.decision_function(strange)
    assert np.isfinite(alone).all()


def test_abstains_below_a_probability(corpus, fitted):
    X, y, given = corpus
    shares = fitted.predict_proba(X).max(axis=1)
    careful = TopicClassifier(abstain=float(np.median(shares))).fit(X, given)
    found = careful.predict(X)
    np.testing.assert_array_equal(found == -1, shares < careful.abstain)
    spoken = found >= 0
    assert (found == y)[spoken].mean() > (fitted.predict(X) == y).mean()
    names = np.array(["a", "b", "c", "d", ""])[given]
    named = TopicClassifier(abstain=0.99, cv=0).fit(X, names)
    assert "" in set(named.predict(X))


def test_explanations_add_up(corpus, fitted):
    X, _, _ = corpus
    for d in (0, 30, 77):
        found = fitted.explain(X[[d]], n=10_000)
        features, _ = fitted._features(X[[d]], None)
        values = fitted.classifier_.decision_function(features)[0]
        values += fitted._word_rule().values(fitted._words(X[[d]]))[0]
        assert found.label == fitted.predict(X[[d]])[0]
        assert found.decision == pytest.approx(values[found.label], rel=1e-6)
        every = [t.contribution for t in found.topics]
        assert sum(every) <= found.decision - found.intercept - found.direct + 10
    named = fitted.explain(X[[0]]).words
    assert all(reason.contribution > 0 for reason in named)
    assert {int(r.word[1:]) for r in named} <= set(X[0].indices)


def test_directions_are_shared_exactly_among_words(corpus, fitted):
    X, _, _ = corpus
    slope = np.random.default_rng(0).normal(size=len(fitted.lsi_.components_))
    if not fitted._recipe.directions:
        pytest.fail("this corpus wants directions")
    parts = _by_directions(fitted, X[[5]], slope)
    unit = fitted._directions(X[[5]], None)[0] * fitted._recipe.directions
    assert parts.sum() == pytest.approx(slope @ unit)


def test_saved_and_loaded(corpus, fitted, tmp_path):
    X, _, _ = corpus
    fitted.save(tmp_path / "model")
    again = topicfold.load(tmp_path / "model")
    np.testing.assert_allclose(again.predict_proba(X), fitted.predict_proba(X))
    ours, theirs = fitted.explain(X[[3]]), again.explain(X[[3]])
    assert ours.topics == theirs.topics
    assert ours.decision == pytest.approx(theirs.decision)
    assert again.accuracy_ == fitted.accuracy_
    np.testing.assert_array_equal(again.transduction_, fitted.transduction_)
    with pytest.raises(DataError, match="suggest_labels needs the documents"):
        again.suggest_labels()


def test_permuted_labels_are_seen_through(corpus):
    """Cross-fitting says of labels without meaning what test documents say."""
    X, y, _ = corpus
    told, true = [], []
    for seed in range(3):
        given = np.full(400, -1)
        given[:120] = np.random.default_rng(seed).permutation(y[:120])
        model = TopicClassifier(default_topics(given, 20, few=True)).fit(X, given)
        told.append(model.accuracy_.share)
        true.append((model.transduction_ == y)[120:].mean())
    assert abs(np.mean(told) - np.mean(true)) < 2 * np.sqrt(0.25 * 0.75 / 360)


def test_embeddings_tell_what_words_do_not(corpus):
    X, _, given = corpus
    side = np.random.default_rng(1).integers(0, 2, 400)
    labels = np.where(given >= 0, side, -1)
    vectors = np.eye(2)[side] + np.random.default_rng(2).normal(0, 0.3, (400, 2))
    without = TopicClassifier().fit(X, labels)
    model = TopicClassifier().fit(X, labels, embeddings=vectors)
    assert (without.transduction_ == side).mean() < 0.65
    assert (model.transduction_ == side).mean() > 0.85
    assert (model.predict(X, embeddings=vectors) == side).mean() > 0.85
    with pytest.raises(DataError, match="with embeddings, and these documents have"):
        model.predict(X)
    with pytest.raises(DataError, match="1 dimensions, in fit they had 2"):
        model.predict(X, embeddings=vectors[:, :1])
    with pytest.raises(DataError, match="NaN, infinity"):
        model.predict(X, embeddings=np.full((400, 2), np.nan))
    with pytest.raises(DataError, match="3 embeddings for 400 documents"):
        model.predict(X, embeddings=vectors[:3])
    with pytest.raises(DataError, match="was fitted without embeddings"):
        without.predict(X, embeddings=vectors)


def test_suggestions_are_open_documents_in_doubt(corpus, fitted):
    _, _, given = corpus
    rows = fitted.suggest_labels(30)
    assert len(set(rows.tolist())) == 30
    assert (given[rows] < 0).all()
    shares = np.sort(fitted._probabilities(fitted._training[2]), axis=1)
    margin = shares[:, -1] - shares[:, -2]
    assert margin[rows].mean() < margin[given < 0].mean()
    assert len(fitted.suggest_labels(10_000)) == 400 - 24
    for n in (-1, 2.5):
        with pytest.raises(DataError, match="is not a number of documents"):
            fitted.suggest_labels(n)


def test_suggestions_keep_apart():
    """Of two groups in equal doubt both are asked about."""
    features = np.r_[np.zeros((1, 2)), np.tile([[1.0, 0]], (5, 1)), [[0, 0.9]]]
    codes = np.array([0, *[-1] * 6])
    found = np.full((7, 2), 0.5)
    assert set(most_telling(features, found, codes, 2).tolist()) == {1, 6}


def test_teaching_takes_the_surest_of_each_class(corpus):
    """Documents near a label but not labelled move the rule towards them."""
    rng = np.random.default_rng(0)
    features = np.r_[rng.normal(-1, 0.4, (60, 2)), rng.normal(1, 0.4, (60, 2))]
    codes = np.full(120, -1)
    codes[[0, 60]] = 0, 1
    graph = sparse.csr_array(np.eye(120)[::-1] * 0)
    alone = teach(features, codes)
    taught = teach(features, codes, graph)
    y = np.repeat([0, 1], 60)
    assert taught.score(features, y) >= alone.score(features, y)
    assert not np.allclose(alone.coef_, taught.coef_)
    np.testing.assert_array_equal(taught.classes_, [0, 1])
    # Without edges the surest are those of the first rule; the result is the mean of
    # that rule and of one that learned from them too.
    shares = alone.predict_proba(features)
    learned = codes.copy()
    for code in (0, 1):
        rows = np.flatnonzero((codes < 0) & (shares.argmax(axis=1) == code))
        best = rows[np.argsort(-shares[rows, code])]
        learned[best[: int(np.ceil(0.3 * len(rows)))]] = code
    chosen = learned >= 0
    second = LogisticRegression(C=10.0, max_iter=200, tol=1e-3)
    second.fit(features[chosen], learned[chosen])
    np.testing.assert_allclose(taught.coef_, (alone.coef_ + second.coef_) / 2)
    np.testing.assert_allclose(
        taught.intercept_, (alone.intercept_ + second.intercept_) / 2
    )


def test_features_are_scaled_blocks_of_what_stays_as_it_was():
    roots, directions = np.ones((3, 2), np.float32), np.full((3, 1), 3, np.float32)
    features = RECIPES[0].features(roots, directions)
    np.testing.assert_array_equal(features, [[1, 1, 1.5]] * 3)
    assert features.dtype == np.float32
    assert (roots == 1).all()
    assert (directions == 3).all()
    np.testing.assert_array_equal(RECIPES[1].features(roots, None), roots)


def test_tables_of_all_documents_are_single_precision_and_kept_once(fitted):
    features, _, _ = fitted._training
    assert features[:].dtype == features.directions.dtype == np.float32
    assert len(features) == len(features[:])
    for kept, start in zip(features.roots.starts, fitted.model_.models_, strict=True):
        assert kept is start.doc_topics_
    roots = np.sqrt(fitted.model_.doc_topics_, dtype=np.float32)
    whole = fitted._recipe.features(roots, features.directions)
    some = np.array([5, 0, 7])
    np.testing.assert_array_equal(features[some], whole[some])
    np.testing.assert_array_equal(features[2:9], whole[2:9])
    assert fitted.classifier_.coef_.dtype == np.float64


def test_blocks_of_documents_have_the_decisions_of_all(corpus, monkeypatch):
    X, _, given = corpus
    features = X.toarray()
    rule = teach(features, given)
    whole = decisions(rule, features, np.arange(4))
    np.testing.assert_allclose(whole, rule.decision_function(features))
    monkeypatch.setattr(few_labels, "BLOCK", 7)
    np.testing.assert_allclose(decisions(rule, features, np.arange(4)), whole)


def test_classes_count_alike_however_many_labels_they_have():
    rng = np.random.default_rng(0)
    features = np.r_[rng.normal(-0.5, 0.4, (60, 2)), rng.normal(0.5, 0.4, (60, 2))]
    codes = np.full(120, -1)
    codes[:30], codes[60] = 0, 1
    y = np.repeat([0, 1], 60)
    unweighted = LogisticRegression(C=10.0).fit(features[codes >= 0], y[codes >= 0])
    for graph in (None, sparse.csr_array((120, 120))):
        found = teach(features, codes, graph).predict(features)
        rare = (found == 1)[60:].mean()
        assert rare > (unweighted.predict(features) == 1)[60:].mean() + 0.1


def test_a_wrong_class_is_no_reason_for_certainty():
    codes = np.array([0, 1, 0, 1])
    perfect = np.where(codes[:, None] == [0, 1], 1.0, 0.0)
    assert 0.01 < best_temperature(perfect, codes) < 1
    assert best_temperature(1 - perfect, codes) > 1
    values = np.random.default_rng(0).normal(size=(4000, 3)) * 5
    shares = probabilities(values, 3.0)
    drawn = (shares.cumsum(axis=1) < np.random.default_rng(1).random((4000, 1))).sum(1)
    assert best_temperature(values, drawn) == pytest.approx(3.0, rel=0.1)


def test_one_label_per_class_chooses_nothing(corpus):
    X, y, _ = corpus
    given = np.full(400, -1)
    given[:4] = y[:4]
    model = TopicClassifier().fit(X, given)
    assert model.accuracy_ is None
    assert model.choice_ == RECIPES[0].text
    assert model.temperature_ == 1.0
    assert (model.transduction_ == y).mean() > 0.6
    with pytest.raises(DataError, match="4 labelled documents are too few"):
        model.fit_cross_predict(X, given)


def test_choice_follows_the_labels():
    """A graph that joins other classes is left; directions count as they tell."""
    rng = np.random.default_rng(1)
    y = np.arange(80) % 2
    telling = np.eye(2)[y] + rng.normal(0, 0.3, (80, 2))
    noise = 3 * rng.normal(size=(80, 2))
    codes = np.where(np.arange(80) < 40, y, -1)
    parts = split_documents(codes, 5)
    same = (y[:, None] == y) & (rng.random((80, 80)) < 0.1)
    good, bad = (
        normalize(sparse.csr_array(edges, dtype=np.float64), norm="l1")
        for edges in (same | same.T, np.roll(same | same.T, 1, axis=1))
    )
    for recipe, views in (
        (RECIPES[0], Views(telling, noise, None, good)),
        (RECIPES[1], Views(noise, telling, None, good)),
        (RECIPES[2], Views(telling, telling, None, bad)),
    ):
        chosen, found = choose_recipe(RECIPES, views, codes, parts)
        assert chosen is recipe
        assert found.right.mean() > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": 1}, "'cv' parameter"),
        ({"abstain": 1.0}, "'abstain' parameter"),
        ({"abstain": -0.1}, "'abstain' parameter"),
        ({"class_shares": "even"}, "give a share per class, such as"),
        ({"class_shares": [0.5, 0.5]}, "give a share per class, such as"),
        ({"class_shares": {0: 1, 1: 1, 2: 1}}, "only one has 3. Give a share"),
        ({"class_shares": {0: 1, 1: 1, 2: 1, 3: -1}}, "negative or not a number"),
        ({"class_shares": dict.fromkeys(range(4), 0)}, "or only zeros"),
    ],
)
def test_bad_options(corpus, options, message):
    X, _, given = corpus
    with pytest.raises(ValueError, match=message):
        TopicClassifier(**options).fit(X, given)


def test_a_class_with_one_label_and_all_labelled(corpus):
    X, y, given = corpus
    rare = given.copy()
    rare[(given == 3) & (np.arange(400) > 3)] = -1
    model = TopicClassifier().fit(X, rare)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert model.accuracy_.n_documents == 18  # the rare one cannot be hidden
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TopicClassifier().fit(X, y).predict(X[:5])


def test_naive_bayes_by_hand():
    words = sparse.csr_matrix([[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0.6, 0, 0.8, 0]])
    found = np.array([[1.0, 0], [0, 1.0], [0.5, 0.5]])
    rule = WordRule.taught(words, found)
    sums = np.array([[1.3, 0, 0.4, 0], [0.3, 1.0, 0.4, 0]])
    mixed = 0.5 * sums / [[1.7], [1.7]] + 0.5 * sums.sum(axis=0) / 3.4
    ratio = np.log(mixed[0, :3] / mixed[1, :3])
    np.testing.assert_allclose(rule.weights[0] - rule.weights[1], [*ratio, 0])
    np.testing.assert_allclose(rule.weights.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(rule.intercepts, np.log([0.5, 0.5]))
    said = rule.values(words)
    np.testing.assert_allclose(said[2, 0] - said[2, 1], 0.6 * ratio[0] + 0.8 * ratio[2])


def test_words_that_no_label_has_tell_of_its_class(corpus):
    """Naive Bayes learns from documents without a label."""
    X, y, given = corpus
    model = TopicClassifier().fit(X, given)
    seen = np.unique(X[given >= 0].indices)
    others = np.setdiff1d(np.arange(X.shape[1]), seen)
    assert len(others)
    by_class = np.stack([np.asarray(X[y == c].sum(axis=0)).ravel() for c in range(4)])
    frequent = others[by_class[:, others].sum(axis=0) >= 10]
    told = model.word_weights_[:, frequent].argmax(axis=0)
    assert (told == by_class[:, frequent].argmax(axis=0)).mean() > 0.8


def test_words_of_low_rank_are_no_news(recwarn):
    """Nobody asked for as many latent directions as there are."""
    X = np.repeat(np.eye(6) * 9 + 1, 10, axis=0)
    given = np.full(60, -1)
    given[[0, 1, 10, 11]] = 0, 0, 1, 1
    TopicClassifier().fit(X, given)
    assert not [w for w in recwarn if "rank" in str(w.message)]


def test_abstain_is_a_number(corpus):
    X, _, given = corpus
    with pytest.raises(ValueError, match="'abstain' parameter of TopicClassifier"):
        TopicClassifier(abstain="much").fit(X, given)


def test_the_recipe_that_is_right_most_often_is_chosen():
    """Not the one that is least sure: log-loss decides between equals only."""
    codes = np.array([0, 0, 1, 1])
    sure = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [9.0, 0.0]])
    mild = np.array([[2.0, 0.0], [0.0, 0.1], [0.0, 2.0], [0.1, 0.0]])
    milder = np.array([[2.0, 0.0], [2.0, 0.0], [0.0, 2.0], [0.1, 0.0]])
    assert few_labels.log_loss(mild, codes) < few_labels.log_loss(sure, codes)
    assert few_labels._best([mild, sure], codes) == 1
    assert few_labels._best([sure, milder], codes) == 1


def test_three_tenths_of_a_class_are_taken_up(monkeypatch):
    """Three tenths of the documents of a class, the surest of them, and no more."""
    rng = np.random.default_rng(0)
    features = np.r_[rng.normal(-1, 0.4, (41, 2)), rng.normal(1, 0.4, (41, 2))]
    codes = np.full(82, -1)
    codes[[0, 41]] = 0, 1
    taught = []

    class Recorded(LogisticRegression):
        def fit(self, X, y):
            taught.append((X.copy(), y.copy()))
            return super().fit(X, y)

    monkeypatch.setattr(few_labels, "LogisticRegression", Recorded)
    none = sparse.csr_array((82, 82))
    rule = teach(features, codes, none)
    (first, _), (rows, classes) = taught
    monkeypatch.setattr(few_labels, "SURE_MOST", 5)
    teach(features, codes, none)
    assert np.bincount(taught[-1][1]).tolist() == [6, 6]
    assert len(first) == 2
    alone = LogisticRegression(class_weight="balanced", C=10.0).fit(first, [0, 1])
    found = alone.predict(features)
    for c in (0, 1):
        unknown = np.flatnonzero((found == c) & (codes < 0))
        assert (classes == c).sum() == 1 + int(np.ceil(0.3 * len(unknown)))
        # The surest, which without edges are those farthest on its side.
        side = (2 * c - 1) * alone.decision_function(features[unknown])
        surest = unknown[np.argsort(-side)[: (classes == c).sum() - 1]]
        chosen = {tuple(row) for row in rows[classes == c]}
        assert chosen == {tuple(features[d]) for d in [41 * c, *surest]}
    assert rule.score(features, np.repeat([0, 1], 41)) > 0.95


def test_judgement_by_features_words_and_neighbours(monkeypatch):
    """What is said of documents, straight from the equations."""
    rng = np.random.default_rng(1)
    features = rng.normal(size=(12, 3))
    codes = np.array([0, 1, 2, *[-1] * 9])
    rule = LogisticRegression().fit(features[:3], codes[:3])
    words = normalize(rng.random((12, 6)) * (rng.random((12, 6)) < 0.6))
    graph = rng.random((12, 12)) * (rng.random((12, 12)) < 0.3)
    graph[5] = 0.0
    graph /= np.where(graph.sum(axis=1, keepdims=True) > 0, graph.sum(1)[:, None], 1)
    views = Views(features, None, sparse.csr_matrix(words), sparse.csr_array(graph))
    linear = rule.decision_function(features)

    def labelled(values):
        found = np.exp(values - values.max(axis=1, keepdims=True))
        found /= found.sum(axis=1, keepdims=True)
        found[:3] = np.eye(3)
        return found

    def averaged(found):
        share = 0.5 * graph.sum(axis=1, keepdims=True)
        return np.log(np.maximum((1 - share) * found + 0.5 * graph @ found, 1e-12))

    values = averaged(labelled(linear))
    for _ in range(2):
        by_words = WordRule.taught(views.words, labelled(values))
        found = labelled(linear + by_words.values(views.words))
        values = averaged(found)
    said = few_labels.rated(rule, features, codes, 3, views)
    np.testing.assert_allclose(said[0], values)
    np.testing.assert_allclose(said[1], found)
    np.testing.assert_allclose(said[2].weights, by_words.weights)
    plain = few_labels.rated(rule, features, codes, 3, views._replace(graph=None))
    np.testing.assert_allclose(plain[0], linear)
    assert plain[2] is None


@pytest.fixture(scope="module")
def sided():
    """Documents whose neighbours share the subject, not the side."""
    counts, y = draw_sides()
    X = sparse.csr_matrix(counts, dtype=np.float64)
    given = np.full(300, -1)
    given[:30] = y[:30]
    return X, y, given


def test_little_trust_brings_topics_without_neighbours(sided, tmp_path):
    """They take the place of the graph's, whose rules do not agree with each other."""
    X, y, given = sided
    model = TopicClassifier().fit(X, given)
    assert model.choice_ == PLAIN.text
    assert isinstance(model.model_.models_[0], LDA)
    assert model.neighbor_shares_ is None
    assert (model.transduction_ == y).mean() > 0.9
    assert (model.predict(X[:50]) == y[:50]).mean() > 0.9
    model.save(tmp_path / "model")
    loaded = topicfold.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    named = TopicClassifier(default_topics(given)).fit(X, given)  # it was asked for
    assert isinstance(named.model_.models_[0], LocallyConsistentPLSA)


def test_agreement_of_rules_beyond_chance():
    said = [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])]
    assert few_labels._agreement(said, 2) == pytest.approx((0 + 1 + 0) / 3)
    assert few_labels._agreement(said[:1], 2) == 0.0
    assert few_labels._agreement([0 * said[0], 0 * said[0]], 2) == 0.0


def test_self_taught_rules_that_disagree_take_no_part(monkeypatch):
    """Though right on every hidden label, if a plain recipe is there."""
    codes = np.array([0, 1, 0, 1, -1, -1, -1, -1])

    def hidden(recipe, *_):
        values = np.full((8, 2), np.nan)
        values[:4] = np.eye(2)[codes[:4]]
        same = np.array([0, 0, 1, 1])
        if recipe.self_taught:
            return values, [same, np.array([0, 1, 0, 1])]
        values[0] = values[1]  # one is wrong
        return values, [same, same]

    monkeypatch.setattr(few_labels, "_hidden_values", hidden)
    parts = np.array([0, 0, 1, 1, -1, -1, -1, -1])
    views = Views(np.zeros((8, 2)))
    assert choose_recipe(RECIPES, views, codes, parts)[0] is RECIPES[0]
    recipes = (*RECIPES[:2], PLAIN)
    chosen, found = choose_recipe(recipes, views, codes, parts)
    assert chosen is PLAIN
    assert found.right.tolist() == [False, True, True, True]
    monkeypatch.setattr(few_labels, "LABELS_THAT_TELL", 4)  # as many as there are
    assert choose_recipe(recipes, views, codes, parts)[0] is RECIPES[0]


def test_starts_that_see_labels_are_fitted_without_the_hidden_ones():
    """Else labels drawn at random would look easy to find."""
    rng = np.random.RandomState(0)
    X, y = rng.poisson(1.0, (60, 30)) + 1, rng.randint(3, size=60)
    joined = NeighborGraph(label_edges=True)
    topics = LocallyConsistentPLSA(10, graph=joined, weight=20.0, random_state=0)
    model = TopicClassifier(SideBySide(topics, 2), LinearSVC(C=100))
    assert model.fit(X, y).accuracy_.share < 0.5
