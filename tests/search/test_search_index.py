# SPDX-License-Identifier: BSD-3-Clause
import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import topicfold
from topicfold import FSTM, LDA, LSI, PLSA
from topicfold.corpus import vectorize
from topicfold.exceptions import DataError, ModelFileError
from topicfold.persistence import read_bundle, write_bundle
from topicfold.persistence.model_folder import load_model_folder
from topicfold.search import TopicIndex

# "auto" and "car" never share a document; their neighbours do.
TEXTS = [
    "car motor wheel",
    "car motor road",
    "auto wheel motor",
    "auto road wheel motor",
    "fish sea water",
    "fish boat sea",
    "water sea boat",
    "auto road",
]
COUNTS, WORDS = vectorize(TEXTS, min_df=1, max_df=1.0)
IDS = [f"d{i}" for i in range(len(TEXTS))]
MODELS = [
    LSI(2),
    LSI(2, weighting="counts"),
    LDA(2, init="documents", max_iter=200, random_state=0),
    PLSA(2, max_iter=100, random_state=0),
    FSTM(2, max_iter=50, random_state=0),
]


@pytest.fixture(scope="module")
def index():
    return make_index(LSI(2))


def make_index(model, **options):
    model = model.fit(COUNTS)
    return TopicIndex(model, vocabulary=WORDS, **options).add(COUNTS, ids=IDS)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_finds_documents_that_share_no_word_with_the_query(model):
    index = make_index(model)
    cars = {"d0", "d1", "d2", "d3", "d7"}
    assert set(index.query("car", n=5).names) == cars
    # d7 has neither "car" nor any word of the documents that have it but "road".
    assert "d7" in index.query("car wheel", n=5).names
    assert set(index.query("boat", n=3).names) == {"d4", "d5", "d6"}
    assert index.query(word="car", n=5).names[0] in cars


def test_lexical_search_alone_does_not_find_them():
    index = make_index(LSI(2), lexical="bm25")
    hits = index.query("car", n=8, mix=1.0)
    scores = dict(hits)
    assert set(hits.names[:2]) == {"d0", "d1"}
    assert scores["d2"] == scores["d3"] == scores["d7"] == scores["d4"] == 0
    mixed = dict(index.query("car", n=8, mix=0.5))
    assert min(mixed["d0"], mixed["d1"]) > mixed["d2"] > mixed["d4"]


@pytest.mark.parametrize("measure", ["cosine", "inner", "hellinger", "kl"])
def test_every_measure_and_way_to_ask(measure):
    model = PLSA(2, max_iter=50, random_state=0).fit(COUNTS)
    index = TopicIndex(model, vocabulary=WORDS, measure=measure).add(COUNTS)
    theta = model.transform(COUNTS)
    cars = int(theta[0].argmax())
    assert index.query(topic=cars, n=1).rows[0] in {0, 1, 2, 3, 7}
    assert set(index.query(topic=1 - cars, n=3).names) == {"4", "5", "6"}
    by_vector = index.query(vector=theta[4], n=8)
    by_counts = index.query(COUNTS[4], n=8)
    by_text = index.query(TEXTS[4], n=8)
    assert set(by_vector.rows[:3].tolist()) == {4, 5, 6}
    np.testing.assert_array_equal(by_text.rows, by_counts.rows)
    np.testing.assert_allclose(by_text.scores, by_vector.scores, atol=1e-6)
    assert (np.diff(by_text.scores) <= 0).all()


@pytest.mark.parametrize("measure", ["hellinger", "kl"])
def test_mixtures_are_not_negative(measure):
    model = PLSA(2, max_iter=5, random_state=0).fit(COUNTS)
    index = TopicIndex(model, measure=measure).add(COUNTS)
    with pytest.raises(DataError, match="negative entries"):
        index.query(vector=[-0.5, 1.5])
    with pytest.raises(DataError, match="negative entries"):
        index.add(vectors=[[-0.5, 1.5]])
    assert len(index) == len(TEXTS)


def test_documents_like_a_document(index):
    hits = index.query(document="d4", n=2)
    assert set(hits.names) == {"d5", "d6"}
    assert hits.names == index.query(document=4, n=2).names
    assert len(index.query(document=0, n=100)) == len(TEXTS) - 1


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_similar_terms(model):
    index = make_index(model)
    assert set(index.similar_terms("fish", n=3).names) == {"sea", "water", "boat"}
    near = index.similar_terms("car", n=8)
    assert "auto" in near.names[:4]
    assert "car" not in near.names
    assert (np.diff(near.scores) <= 0).all()


def test_score_of_a_document_with_itself_is_one(index):
    hits = index.query(TEXTS[5], n=1)
    np.testing.assert_allclose(hits.scores, 1, atol=1e-6)


def test_documents_are_added_without_refitting():
    model = LSI(2).fit(COUNTS)
    index = TopicIndex(model, vocabulary=WORDS, lexical="tfidf")
    index.add(COUNTS[:3], ids=IDS[:3]).add(COUNTS[3:6], ids=IDS[3:6])
    index.query("car", mix=0.5)
    index.add_texts([*TEXTS[6:], "zebra"][:2], ids=IDS[6:])
    whole = TopicIndex(model, vocabulary=WORDS, lexical="tfidf").add(COUNTS, ids=IDS)
    assert len(index) == 8
    for options in ({}, {"mix": 0.4}):
        one, other = index.query("car", **options), whole.query("car", **options)
        assert one.names == other.names
        np.testing.assert_array_equal(one.scores, other.scores)


def test_an_index_grows_and_is_loaded_without_a_change(tmp_path):
    rng = np.random.default_rng(0)
    vectors = 1e3 * rng.standard_normal((400, 2))
    index = TopicIndex(LSI(2).fit(COUNTS), vocabulary=WORDS, measure="inner")
    for start, stop in ((0, 60), (60, 110), (110, 400)):
        index.add(vectors=vectors[start:stop])
    index.save(tmp_path / "index")
    loaded = TopicIndex.load(tmp_path / "index")
    longest = np.linalg.norm(vectors, axis=1).max()
    for each in (index, loaded):
        np.testing.assert_allclose(each.documents.longest, longest, rtol=1e-6)
        for query in rng.standard_normal((5, 2)):
            expected = np.argsort(-(vectors @ query))[:10]
            np.testing.assert_array_equal(each.query(vector=query).rows, expected)


def test_vectors_beyond_float32_are_refused():
    index = TopicIndex(LSI(2).fit(COUNTS), measure="inner")
    with pytest.raises(DataError, match="beyond 1e\\+35, too large for an index"):
        index.add(vectors=[[1e300, 1.0]])


def test_the_model_may_be_updated_with_documents_added_to_the_index():
    model = LSI(2, keep_documents=True).fit(COUNTS[:6])
    model.partial_fit(COUNTS[6:])
    index = TopicIndex(model, vocabulary=WORDS).add(vectors=model.doc_topics_, ids=IDS)
    assert set(index.query("fish", n=3).names) == {"d4", "d5", "d6"}


def test_threads_do_not_matter(planted):
    model = LSI(5).fit(planted[0])
    one, three = (TopicIndex(model, n_jobs=n).add(planted[0]) for n in (1, 3))
    for row in range(5):
        a, b = one.query(document=row, n=20), three.query(document=row, n=20)
        np.testing.assert_array_equal(a.rows, b.rows)
        np.testing.assert_array_equal(a.scores, b.scores)


@pytest.mark.parametrize("lexical", [None, "bm25", "tfidf"])
@pytest.mark.parametrize("model", MODELS[1:4], ids=str)
def test_saved_and_loaded_with_the_model(tmp_path, model, lexical):
    index = make_index(model, lexical=lexical)
    index.save(tmp_path / "index")
    loaded = TopicIndex.load(tmp_path / "index", n_jobs=2)
    mix = 0.0 if lexical is None else 0.3
    for ask in ({"query": "car"}, {"document": "d1"}, {"word": "sea"}):
        one, other = index.query(**ask, mix=mix), loaded.query(**ask, mix=mix)
        assert one.names == other.names
        np.testing.assert_array_equal(one.scores, other.scores)
    assert repr(loaded) == repr(index)
    loaded.add(COUNTS, ids=[f"new{i}" for i in IDS])
    # The file is a model's too.
    restored = topicfold.load(tmp_path / "index")
    np.testing.assert_array_equal(restored.transform(COUNTS), model.transform(COUNTS))
    assert load_model_folder(tmp_path / "index").vocabulary == list(WORDS)


def test_an_empty_index_and_one_without_names(tmp_path):
    model = LSI(2).fit(COUNTS)
    TopicIndex(model).save(tmp_path / "empty")
    loaded = TopicIndex.load(tmp_path / "empty")
    assert len(loaded) == 0
    loaded.add(COUNTS).save(tmp_path / "unnamed")
    assert TopicIndex.load(tmp_path / "unnamed").query(document=0, n=1).names == ("1",)


def test_damaged_files(tmp_path):
    model = LSI(2).fit(COUNTS)
    model.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="no index of documents"):
        TopicIndex.load(tmp_path / "model")
    index = TopicIndex(model, vocabulary=WORDS, lexical="bm25").add(COUNTS, ids=IDS)
    index.save(tmp_path / "index")
    bundle = read_bundle(tmp_path / "index")

    def rewrite(arrays=None, strings=None):
        write_bundle(
            tmp_path / "index",
            kind=bundle.kind,
            arrays={**bundle.arrays, **(arrays or {})},
            strings={**bundle.strings, **(strings or {})},
            meta=bundle.meta,
        )

    keys = {name.rpartition("/")[2]: name for name in bundle.arrays}
    names = {name.rpartition("/")[2]: name for name in bundle.strings}
    cut = bundle.arrays[keys["index_vectors"]][:, :1]
    far = bundle.arrays[keys["index_counts_indices"]] + 1000
    for arrays, strings in (
        ({keys["index_vectors"]: cut}, None),
        ({keys["index_counts_indices"]: far}, None),
        ({keys["index_mass"]: np.zeros(7)}, None),
        (None, {names["index_ids"]: ["only one"]}),
        (None, {names["vocabulary"]: ["only one"]}),
    ):
        rewrite(arrays, strings)
        with pytest.raises(ModelFileError, match="no valid index"):
            TopicIndex.load(tmp_path / "index")


def test_joined_words():
    counts, words = vectorize(TEXTS, min_df=1, max_df=1.0, ngram_range=(1, 2))
    text = {"ngram_range": [1, 2], "min_df": 1}
    model = LSI(6).fit(counts)
    index = TopicIndex(model, vocabulary=words, text=text).add(counts)
    pair = TopicIndex(model, vocabulary=words).add(counts)
    both = index.query("fish boat", n=1)
    assert both.names == ("5",)
    assert both.scores[0] != pair.query("fish boat", n=1).scores[0]
    with pytest.raises(DataError, match="lacks 'zebra', 'crossing'"):
        index.query("zebra crossing")


def test_a_file_does_not_choose_the_function_that_cuts(tmp_path):
    index = make_index(LSI(2), text={"tokens": str.split})
    assert index.query("car", n=1).names
    index.save(tmp_path / "index")
    with pytest.raises(DataError, match="split by the function"):
        TopicIndex.load(tmp_path / "index").query("car")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        ({"query": ""}, "the query is empty"),
        ({"query": "  "}, "the query is empty"),
        ({"query": "7 !"}, "has no words"),
        (
            {"query": "zebra motr"},
            r"lacks 'zebra', 'motr'\. Did you mean 'motor'\?",
        ),
        ({"query": np.zeros(len(WORDS))}, "all its counts are zero"),
        ({"query": np.ones(3)}, r"shape \(1, 3\)"),
        ({"query": -np.ones(len(WORDS))}, "the query has .* negative entries"),
        ({"query": ["car"]}, "neither a text nor a row"),
        ({"word": "motr"}, "lacks 'motr'. Did you mean 'motor'"),
        ({"word": "the"}, "'the' is a stop word"),
        ({"query": "the of"}, "'the', 'of' are stop words, which the model leaves out"),
        ({"query": "the zzzqqq"}, "lacks 'zzzqqq'. Try other words"),
        ({"topic": 2}, "no topic 2. Give a number, 0 to 1"),
        ({"topic": -1}, "no topic -1"),
        ({"document": "d9"}, "no document 'd9'"),
        ({"document": 8}, "rows are 0 to 7"),
        ({"document": "7"}, "no document '7'"),
        ({"document": 1.5}, "row of a document, or its name"),
        ({"vector": [1.0]}, r"\(n, 2\) is needed"),
        ({"vector": [np.nan, 1.0]}, "finite"),
        ({}, "exactly one of"),
        ({"query": "car", "topic": 1}, "exactly one of"),
        ({"query": "car", "n": 0}, "n=0 must be a whole number"),
        ({"query": "car", "mix": 1.5}, "mix must be"),
        ({"query": "car", "mix": 0.5}, "lexical='bm25'"),
    ],
    ids=lambda value: (
        str(value)[:30].replace(" ", "-") if isinstance(value, str) else ""
    ),
)
def test_bad_queries(index, ask, message):
    with pytest.raises(DataError, match=message):
        index.query(**ask)


def test_bad_indexes():
    with pytest.raises(NotFittedError, match="LSI instance is not fitted"):
        TopicIndex(LSI(2))
    model = LSI(2).fit(COUNTS)
    with pytest.raises(DataError, match="no documents yet"):
        TopicIndex(model, vocabulary=WORDS).query("car")
    with pytest.raises(DataError, match=r"negative entries\. Choose cosine"):
        TopicIndex(model, measure="kl")
    with pytest.raises(DataError, match="'euclid' is not known"):
        TopicIndex(model, measure="euclid")
    with pytest.raises(DataError, match="'bm26' is not known"):
        TopicIndex(model, lexical="bm26")
    with pytest.raises(DataError, match="the model has 9 terms"):
        TopicIndex(model, vocabulary=["a"])
    plain = TopicIndex(model).add(COUNTS)
    # Without names a row may be written out, as on the command line.
    np.testing.assert_array_equal(
        plain.query(document="3").rows, plain.query(document=3).rows
    )
    with pytest.raises(DataError, match="LogisticRegression has no latent space"):
        TopicIndex(LogisticRegression().fit(COUNTS, np.arange(8) % 2))
    with pytest.raises(DataError, match="vocabulary=words"):
        plain.query("car")
    with pytest.raises(DataError, match="vocabulary=words"):
        plain.similar_terms("car")
    with pytest.raises(DataError, match="have no names"):
        plain.add(COUNTS, ids=IDS)
    with pytest.raises(DataError, match="nothing to add"):
        plain.add()
    lexical = TopicIndex(model, lexical="bm25")
    with pytest.raises(DataError, match="Give X"):
        lexical.add(vectors=np.ones((1, 2)))
    with pytest.raises(DataError, match="a vector has no words"):
        lexical.add(COUNTS).query(vector=np.ones(2), mix=0.1)
    named = TopicIndex(model).add(COUNTS, ids=IDS)
    with pytest.raises(DataError, match="Give ids"):
        named.add(COUNTS)
    with pytest.raises(DataError, match="'d0' occurs twice"):
        named.add(COUNTS[:1], ids=["d0"])
    with pytest.raises(DataError, match="'x' occurs twice"):
        named.add(COUNTS[:2], ids=["x", "x"])
    with pytest.raises(DataError, match="1 names for 2"):
        named.add(COUNTS[:2], ids=["x"])
    assert len(named) == 8


def test_a_query_without_weight():
    X = sparse.csr_matrix([[1.0, 1, 0], [1, 0, 1], [1, 1, 1]])
    model = LSI(2).fit(X)
    index = TopicIndex(model, vocabulary=["every", "one", "two"]).add(X)
    with pytest.raises(DataError, match="no weight in the model"):
        index.query("every")
    with pytest.raises(DataError, match="no weight in the model"):
        index.query(word="every")


def test_a_word_that_no_topic_has():
    X = np.array([[4, 0, 1], [0, 0, 3], [2, 0, 2]])
    model = PLSA(2, random_state=0).fit(X)
    index = TopicIndex(model, vocabulary=["red", "unseen", "sea"]).add(X)
    with pytest.raises(DataError, match="the word is in no topic"):
        index.query(word="unseen")
