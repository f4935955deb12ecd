# SPDX-License-Identifier: BSD-3-Clause
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from topicfold.exceptions import DataError
from topicfold.metrics import cv_coherence, npmi_coherence, umass_coherence
from topicfold.metrics.words import window_cooccurrence

WORDS = [f"w{i}" for i in range(8)]
LISTS = [WORDS[:4], WORDS[2:7], [WORDS[7], WORDS[0], WORDS[3]]]
# gensim 4.4.0 on the same documents and lists: CoherenceModel(topics=LISTS,
# texts=documents, coherence=..., window_size=..., processes=1)
# .get_coherence_per_topic(); test_gensim_still_gives_the_golden_values runs it.
GOLDEN = {
    ("c_v", 5): [0.373906142971, 0.326930166808, 0.564625211776],
    ("c_v", 110): [0.466270452905, 0.495511538689, 0.54016505942],
    ("c_npmi", 110): [-0.02085278868, 0.028589120624, -0.030777258527],
    ("u_mass", None): [-0.454819184249, -0.459730817416, -0.399933543105],
}


@pytest.fixture(scope="module")
def documents():
    """Forty documents in which no word is twice."""
    rng = np.random.default_rng(5)
    documents = []
    for _ in range(40):
        known = [WORDS[i] for i in rng.permutation(8)[: rng.integers(3, 8)]]
        documents.append(known + [f"x{j}" for j in range(rng.integers(0, 4))])
    for document in documents:
        rng.shuffle(document)
    return documents


@pytest.fixture(scope="module")
def counts(documents):
    return sparse.csr_array(
        np.array([[document.count(word) for word in WORDS] for document in documents])
    )


def as_topics(lists):
    topics = np.zeros((len(lists), len(WORDS)))
    for row, words in zip(topics, lists, strict=True):
        for place, word in enumerate(words):
            row[WORDS.index(word)] = len(words) - place
    return topics


@pytest.mark.parametrize("window", [5, 110])
def test_cv_is_gensims(documents, window):
    scores = cv_coherence(as_topics(LISTS), documents, WORDS, n_words=5, window=window)
    np.testing.assert_allclose(scores, GOLDEN["c_v", window], atol=1e-9)


def test_npmi_is_gensims(counts):
    scores = npmi_coherence(as_topics(LISTS), counts, n_words=5)
    np.testing.assert_allclose(scores, GOLDEN["c_npmi", 110], atol=1e-9)


def test_umass_is_gensims(counts):
    scores = umass_coherence(
        as_topics(LISTS), counts, n_words=5, pseudocount=1e-12 * counts.shape[0]
    )
    np.testing.assert_allclose(scores, GOLDEN["u_mass", None], atol=1e-9)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("kind", "window"), sorted(GOLDEN, key=str))
def test_gensim_still_gives_the_golden_values(documents, kind, window):
    models = pytest.importorskip("gensim.models")
    dictionary = pytest.importorskip("gensim.corpora").Dictionary(documents)
    source = {"texts": documents, "window_size": window}
    if window is None:
        source = {"corpus": [dictionary.doc2bow(d) for d in documents]}
    model = models.CoherenceModel(
        topics=LISTS,
        dictionary=dictionary,
        coherence=kind,
        topn=5,
        processes=1,
        **source,
    )
    np.testing.assert_allclose(
        model.get_coherence_per_topic(), GOLDEN[kind, window], atol=1e-9
    )


@given(
    st.lists(st.lists(st.sampled_from("abcdxyz"), max_size=12), max_size=5),
    st.integers(1, 8),
)
def test_windows_against_brute_force(documents, window):
    together, n_windows = window_cooccurrence(documents, list("abcd"), window)
    windows = [
        set(document[start : start + window])
        for document in documents
        if document
        for start in range(max(len(document) - window, 0) + 1)
    ]
    assert n_windows == len(windows)
    expected = [[sum({v, w} <= u for u in windows) for w in "abcd"] for v in "abcd"]
    assert together.toarray().tolist() == expected


def test_windows_in_blocks_are_the_same(documents, monkeypatch):
    whole, _ = window_cooccurrence(documents, WORDS, 4)
    monkeypatch.setattr("topicfold.metrics.words._BLOCK", 10)
    parts, _ = window_cooccurrence(documents, WORDS, 4)
    assert (whole != parts).nnz == 0


def test_windows_of_text_are_those_of_its_words():
    by_text, _ = window_cooccurrence(["The Sea, the fish!"], ["the", "fish"], 2)
    by_words, _ = window_cooccurrence(
        [["the", "sea", "the", "fish"]], ["the", "fish"], 2
    )
    assert by_text.toarray().tolist() == by_words.toarray().tolist()
    assert by_text.toarray().tolist() == [[3, 1], [1, 1]]


@given(st.integers(0, 2**31 - 1), st.integers(2, 6))
def test_umass_against_brute_force(seed, n_words):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(9, 6))
    X[0] = 1  # every word occurs
    topics = rng.dirichlet(np.ones(6), size=2)
    for row, score in zip(
        topics, umass_coherence(topics, X, n_words=n_words), strict=True
    ):
        best = np.argsort(-row, kind="stable")[:n_words]
        pairs = [
            np.log((np.sum(X[:, w] * X[:, v]) + 1) / X[:, w].sum())
            for w, v in itertools.combinations(best, 2)
        ]
        assert score == pytest.approx(np.mean(pairs))


def test_umass_of_words_that_never_occur_is_the_worst():
    X = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]])
    scores = umass_coherence([[2, 0, 1], [2, 1, 0], [0, 0, 1.0]], X, n_words=2)
    assert scores[0] == pytest.approx(np.log(1 / 4))
    assert scores[1] == pytest.approx(np.log(2 / 3))
    assert np.isnan(scores[2])


def test_cv_of_degenerate_topics():
    texts = [["a", "b"], ["a", "b", "c"]]
    topics = [[1, 1, 0, 0], [1, 0, 0, 1], [1, 0, 0, 0], [0, 0, 1, 1]]
    scores = cv_coherence(topics, texts, list("abcd"), n_words=2)
    # Words of every window and words of none have no company to compare.
    assert scores[:2].tolist() == [0, 0]
    assert np.isnan(scores[2])
    assert scores[3] == 0.5  # c is like the sum, d is not


def test_cv_orders_related_above_unrelated():
    texts = [["sea", "fish"], ["fox", "wolf"]] * 10
    scores = cv_coherence(
        [[1, 1, 0, 0], [1, 0, 1, 0]], texts, ["sea", "fish", "fox", "wolf"], n_words=2
    )
    assert scores[0] == pytest.approx(1)
    assert scores[1] < 0.2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: umass_coherence([[1, 2]], [[1, 2, 3]], n_words=2), "vocabulary"),
        (lambda: umass_coherence([[1, 2]], [[1, 2]]), "n_words=10 is more"),
        (
            lambda: umass_coherence([[1, 2]], [[1, 2]], n_words=2, pseudocount=0),
            "pseudocount=0",
        ),
        (lambda: cv_coherence([[1, 2]], [["a"]], ["a"], n_words=2), "1 words for 2"),
        (lambda: cv_coherence([[1, 2]], [[]], ["a", "b"], n_words=2), "no tokens"),
        (lambda: cv_coherence([[1, 2]], [3], ["a", "b"], n_words=2), "document 0 is a"),
        (
            lambda: cv_coherence([[1, 2]], [["a"]], ["a", "b"], n_words=2, window=0),
            "window=0",
        ),
        (lambda: window_cooccurrence([["a"]], ["a", "a"], 2), "repetitions"),
    ],
)
def test_errors(call, message):
    with pytest.raises(DataError, match=message):
        call()
