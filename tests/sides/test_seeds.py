# SPDX-License-Identifier: BSD-3-Clause
"""Seed words: the split of counts, topics with their meaning, words that are banned."""

import warnings

import numpy as np
import pytest
import sides_support as support
from scipy import sparse

import topicfold
from topicfold import LDA, PLSA, SeededLDA
from topicfold.corpus import vectorize
from topicfold.evidence import Features
from topicfold.exceptions import DataError, DataWarning
from topicfold.parts import Context
from topicfold.phi import Seeds

WORDS = [f"{topic}{n}" for topic in ("ant", "bee", "cow", "dog") for n in range(10)]


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    phi = 0.8 * np.kron(np.eye(4), np.full(10, 0.1)) + 0.2 / 40
    theta = rng.dirichlet(np.full(4, 0.1), 300)
    X = np.array([rng.multinomial(25, row) for row in theta @ phi])
    return sparse.csr_matrix(X.astype(float)), theta


def seeded(**options):
    usual = {"vocabulary": WORDS, "random_state": 0, "max_iter": 40, "tol": 0}
    return SeededLDA(**usual | options)


@pytest.mark.parametrize("seeds", [{}, None])
def test_without_seeds_topics_have_no_names(corpus, seeds):
    X, _ = corpus
    model = seeded(n_components=3, seeds=seeds, max_iter=2).fit(X)
    assert model.topic_names_ == ["", "", ""]
    assert model.topic_data().topic_names == ("", "", "")
    both = LDA(3, sides=[Seeds({"ant": ["ant1"]}, None, WORDS)], max_iter=2).fit(X)
    assert both.topic_names_ == ["ant", "", ""]


def test_seeded_topics_are_what_their_seeds_say(corpus):
    X, theta = corpus
    seeds = {"dogs": ["dog1", "dog2"], "bees": ["bee3"]}
    model = seeded(n_components=4, seeds=seeds).fit(X)
    assert model.topic_names_ == ["dogs", "bees", "", ""]
    assert model.seed_words_ == {"dogs": [31, 32], "bees": [13]}
    for k, true in ((0, 3), (1, 1)):
        assert np.corrcoef(model.doc_topics_[:, k], theta[:, true])[0, 1] > 0.95
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0, rtol=1e-6)
    assert ((model.seed_shares_ > 0) & (model.seed_shares_ < 1)).all()
    assert model.topic_data().topic_names == ("dogs", "bees", "", "")


def test_topics_without_seeds_do_not_start_as_clusters(corpus):
    X, _ = corpus
    seeds = {"ants": ["ant1"], "bees": ["bee1"]}
    usual, told = (seeded(seeds=seeds, **o).fit(X) for o in ({}, {"init": "neighbors"}))
    np.testing.assert_array_equal(usual.components_, told.components_)


def test_without_seeds_it_is_lda(corpus):
    X, _ = corpus
    options = {"random_state": 0, "max_iter": 10, "tol": 0, "topic_word_prior": 0.05}
    options["learn_priors"] = False
    plain = LDA(5, **options).fit(X)
    for seeds in (None, {}):
        model = SeededLDA(5, seeds=seeds, **options).fit(X)
        np.testing.assert_allclose(model.components_, plain.components_, atol=1e-9)
        np.testing.assert_allclose(model.doc_topics_, plain.doc_topics_, atol=1e-9)
    assert len(SeededLDA(**options).fit(X).components_) == 5


def test_counts_are_split_in_proportion_to_the_two_parts():
    rng = np.random.default_rng(1)
    n_words, eta = 6, 0.1
    side = Seeds({"a": [0, 1], "b": [1, 4]}, {"b": [5]})
    totals = np.arange(1.0, 7.0)
    context = Context(10, 3, n_words, np.ones(10), word_totals=totals)
    side.check(None, context)
    assert side.n_topics(None, context) == 3
    start = side.start(rng.dirichlet(np.ones(n_words), 3), context)
    assert start[1, 5] == 0
    counts = rng.uniform(1, 9, (n_words, 3))
    counts[5, 1] = 0
    everything = np.arange(n_words)
    # The parts before and after, from the equations.
    plain = np.full((n_words, 3), np.nan)
    seed, pi = np.zeros((n_words, 3)), np.zeros(3)
    side.topics(counts, eta, everything, context)
    for k, own in enumerate(([0, 1], [1, 4])):
        entries = [e for e, (w, t) in enumerate(zip(*_pairs(side), strict=True))
                   if t == k]  # fmt: skip
        plain[own, k], seed[own, k] = side._plain[entries], side._own[entries]
        pi[k] = side.seed_shares_[k]
    again = rng.uniform(1, 9, (n_words, 3))
    again[5, 1] = 0
    found = side.topics(again, eta, everything, context)
    part = np.where(seed > 0, pi * seed / (pi * seed + (1 - pi) * plain), 0.0)
    n_seed = (part * again).sum(axis=0)
    new_pi = np.where(pi > 0, (n_seed + 1) / (again.sum(axis=0) + 2), 0)
    np.testing.assert_allclose(side.seed_shares_, new_pi[:2])
    open_words = np.array([6, 5, 6])
    scale = 1 / ((1 - part) * again).sum(axis=0)
    scale = 1 / (1 / scale + open_words * eta)
    seed_scale = 1 / (n_seed + 2 * eta)
    expected = (1 - new_pi) * ((1 - part) * again + eta) * scale
    expected += np.where(seed > 0, new_pi * (part * again + eta) * seed_scale, 0)
    expected[5, 1] = 0
    np.testing.assert_allclose(found.weights, expected)
    np.testing.assert_allclose(found.weights.sum(axis=0), 1.0)
    # What a token adds to a weight, and what is left without any.
    token = found.scale[found.groups]
    both = (1 - part) * (1 - new_pi) * scale + part * new_pi * seed_scale
    np.testing.assert_allclose(token, both)
    floor = eta * (1 - new_pi) * scale
    floor = floor + np.where(seed > 0, eta * new_pi * seed_scale, 0)
    floor[5, 1] = 0
    np.testing.assert_allclose(found.floor[found.groups], floor)


def _pairs(side):
    return side._pairs(side.seed_words_)


def test_forbidden_words_stay_out(corpus):
    X, _ = corpus
    model = seeded(
        n_components=4,
        seeds={"dogs": ["dog1"]},
        forbidden={"dogs": ["dog2", "cow1"]},
    ).fit(X)
    assert (model.components_[0, [32, 21]] == 0).all()
    assert (model.components_[1:, [32, 21]] > 0).all()
    assert np.isfinite(model.objective_history_).all()


def test_a_word_that_is_not_there_is_named_with_near_ones(corpus):
    X, _ = corpus
    with pytest.warns(DataWarning, match=r"'dgo1' of 'dogs' \(like dog1"):
        model = seeded(seeds={"dogs": ["dgo1", "dog2"]}, max_iter=2).fit(X)
    assert model.seed_words_ == {"dogs": [32]}
    with pytest.warns(DataWarning, match=r"'DOG1' of 'dogs' \(like dog1\)"):
        seeded(seeds={"dogs": ["DOG1", "dog2"]}, max_iter=2).fit(X)
    with (
        pytest.raises(DataError, match="No seed word of 'dogs'"),
        pytest.warns(DataWarning),
    ):
        seeded(seeds={"dogs": ["horse"]}).fit(X)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"seeds": {"a": "dog1"}}, "one string"),
        ({"seeds": {"a": ["dog1"]}, "vocabulary": WORDS[:5]}, "5 words for 40"),
        ({"seeds": {"a": ["dog1"]}, "vocabulary": None}, "vocabulary="),
        ({"seeds": {"a": [99]}}, "column 99"),
        ({"seeds": {"a": ["dog1"]}, "forbidden": {"b": ["dog2"]}}, "no seeds"),
        ({"seeds": {"a": ["dog1"]}, "forbidden": {"a": ["dog1"]}}, "Choose one"),
        ({"seeds": {"a": ["dog1"], "b": ["ant1"]}, "n_components": 1}, "at least 2"),
    ],
)
def test_seeds_that_make_no_sense(corpus, options, match):
    with pytest.raises(DataError, match=match):
        seeded(**options).fit(corpus[0])


def test_seeds_are_saved(corpus, tmp_path):
    X, _ = corpus
    model = seeded(seeds={"dogs": ["dog1"]}, max_iter=5).fit(X)
    model.save(tmp_path / "model")
    loaded = topicfold.load(tmp_path / "model")
    assert loaded.topic_names_ == model.topic_names_
    assert loaded.seeds == {"dogs": ["dog1"]}
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))


def test_seeds_and_features_find_each_their_part():
    """Seeds tell which topic is which; the feature tells two look-alikes apart."""
    rng = np.random.default_rng(3)
    phi = 0.9 * np.kron(np.eye(4), np.full(10, 0.1)) + 0.1 / 40
    group = rng.integers(2, size=400)
    theta = np.array([rng.dirichlet([2.0, 0.1, 0.1, 0.3] if g else
                                    [0.1, 2.0, 0.3, 0.1]) for g in group])  # fmt: skip
    X = np.array([rng.multinomial(6, row) for row in theta @ phi])
    seeds = {"cows": ["cow1"], "ants": ["ant1"], "bees": ["bee1"]}
    model = LDA(
        4, sides=[Seeds(seeds, vocabulary=WORDS), Features()], random_state=0, tol=0
    ).fit(X, features={"group": group})
    best = model.components_.reshape(4, 4, 10).sum(axis=2).argmax(axis=1)
    assert best.tolist()[:3] == [2, 0, 1]
    effect = model.sides_[1].effects_[1]
    assert effect[1] > 0.3  # ants, a change of their share
    assert effect[2] < -0.3  # bees


def test_a_topic_that_lost_its_seeds_is_named():
    """All topics have seeds, and half of the corpus is about something else."""
    rng = np.random.default_rng(0)
    X = np.zeros((60, 9), int)
    X[:20, :3] = rng.poisson(5, (20, 3)) + 1
    X[20:, 3:8] = rng.poisson(5, (40, 5)) + 1
    X[:20, 8] = 1  # a seed word among the words of the other topic
    with pytest.warns(DataWarning, match="about something else: 'lost'. Give them"):
        SeededLDA(2, seeds={"kept": [0], "lost": [8]}, random_state=0).fit(X)


def test_a_seed_that_vanishes_from_a_topic_without_priors_is_no_nan():
    X, _, _ = support.planted()
    side = Seeds({"a": [0, 1], "b": [5]})
    model = PLSA(4, sides=[side], max_iter=30, tol=0, random_state=0).fit(X)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)
    assert np.isfinite(model.sides_[0].seed_shares_).all()


@pytest.mark.parametrize(
    ("n_missing", "end"),
    [(3, r"'no2' of 'dogs'\."), (13, "; 'no9' of 'dogs' and 3 more.")],
)
def test_at_most_ten_missing_words_are_named(corpus, n_missing, end):
    words = ["dog1", *(f"no{n}" for n in range(n_missing))]
    with pytest.warns(DataWarning, match=f"{end}$"):
        seeded(seeds={"dogs": words}, max_iter=1).fit(corpus[0])


@pytest.mark.parametrize(("share", "lost"), [(0.1, True), (0.12, False)])
def test_a_topic_is_lost_with_less_of_its_seeds_than_the_corpus(share, lost):
    """Its seed words are 0.2 of the corpus; a topic has 0.1 of them beside π."""
    totals = np.array([10.0, 10.0, 80.0])
    context = Context(4, 1, 3, np.ones(4), word_totals=totals)
    side = Seeds({"a": [0, 1]})
    side.check(None, context)
    side.n_topics(None, context)
    side.start(np.full((1, 3), 1 / 3), context)
    side.seed_shares_ = np.array([share])
    side._own, side._plain = np.array([0.5, 0.5]), np.array([0.05, 0.05])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        side.finish(context)
    assert any("about something else" in str(w.message) for w in told) == lost


@pytest.mark.parametrize("n_words", [3, 5])
def test_a_vocabulary_has_a_word_for_each_column(n_words):
    side = Seeds({"a": ["w0"]}, vocabulary=[f"w{i}" for i in range(n_words)])
    with pytest.raises(DataError, match=f"{n_words} words for 4 columns"):
        side.check(None, Context(2, 2, 4, np.ones(2)))


@pytest.mark.parametrize("name", ["", " "])
def test_seeds_without_a_name_are_refused(name):
    with pytest.raises(DataError, match="no topic names"):
        SeededLDA(seeds={name: [0]}).fit([[2, 1], [0, 3]])


def test_phrases_are_seeds_where_they_are_counted():
    rng = np.random.default_rng(0)
    texts = []
    for d in range(120):
        before, after = (f"word{n}" for n in rng.integers(0, 12, 2))
        phrase = ("neural network", "support vector machine", "nothing", "all")[d % 4]
        texts.append(f"{before} {phrase} {after}")
    options = {"stop_words": None, "min_df": 1, "max_df": 1.0}
    counts, words = vectorize(texts, phrases=True, **options)
    seeds = {"nets": ["neural network"], "margins": ["support vector machine"]}
    model = SeededLDA(seeds=seeds, vocabulary=words, random_state=0, max_iter=20)
    model.fit(counts)
    found = {name: [words[w] for w in own] for name, own in model.seed_words_.items()}
    assert found == seeds
    counts, words = vectorize(texts, **options)
    model.set_params(seeds={"nets": ["neural network", "neural"]}, vocabulary=words)
    with pytest.warns(DataWarning, match="phrases=True counts phrases"):
        model.fit(counts)
