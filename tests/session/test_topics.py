# SPDX-License-Identifier: BSD-3-Clause
"""One object from texts to topics, and what people type."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

import topicfold
from topicfold import LDA, PLSA, DynamicLDA, SeededLDA, Topics
from topicfold.cli.main import app
from topicfold.corpus import Corpus
from topicfold.exceptions import DataError, MissingDependencyError
from topicfold.report.documents import typical_documents

LAND = ["red fox wood", "fox wolf wood", "wolf hunts red fox", "red wood, old wood"]
SEA = ["blue fish sea", "fish boat sea", "boat on blue water", "deep blue water sea"]
TEXTS = [f"{kind} {i}\n{text}" for kind, texts in (("Land", LAND), ("Sea", SEA))
         for i, text in enumerate(texts)]  # fmt: skip
LABELS = ["land"] * 4 + ["sea"] * 4
DATES = [f"20{10 + i:02d}-05-03" for i in range(8)]


@pytest.fixture
def topics():
    return Topics(2, min_df=1, max_df=1.0).fit(TEXTS, LABELS)


def _main(theta):
    main = np.asarray(theta).argmax(axis=1)
    return main == main[0]


def test_texts(topics):
    np.testing.assert_array_equal(
        _main(topics.data_.doc_topics), [True] * 4 + [False] * 4
    )
    np.testing.assert_array_equal(
        _main(topics.transform(["a fox in a wood", "a boat on the sea"])), [True, False]
    )
    np.testing.assert_allclose(topics.data_.doc_topics.sum(axis=1), 1, rtol=1e-5)
    assert topics.fit_transform(TEXTS).shape == (8, 2)


def test_every_form_of_documents_gives_the_same_counts(topics, tmp_path):
    pandas = pytest.importorskip("pandas")
    counts = topics.fitted_.counts
    options = {"min_df": 1, "max_df": 1.0}
    frame = pandas.DataFrame({"body": TEXTS, "kind": LABELS, "date": DATES})
    file = tmp_path / "texts.csv"
    frame.to_csv(file, index=False)
    for X, columns in (
        (np.array(TEXTS), {}),
        (pandas.Series(TEXTS), {}),
        (frame, {"text": "body", "label": "kind"}),
        (str(file), {"text": "body", "label": "kind"}),
        (Corpus.from_texts(TEXTS, **options), {}),
        (counts, {"vocabulary": topics.fitted_.vocabulary}),
        (pandas.DataFrame(counts.toarray(), columns=topics.fitted_.vocabulary), {}),
    ):
        found = Topics(2, **options).fit(X, **columns)
        assert (found.fitted_.counts != counts).nnz == 0
        assert found.fitted_.vocabulary == topics.fitted_.vocabulary
        if columns.get("label"):
            assert found.fitted_.labels == LABELS
            assert found.fitted_.times == DATES
    tokens = [text.lower().split() for text in LAND + SEA]
    found = Topics(2, **options).fit(tokens)
    assert "wood," in found.fitted_.vocabulary
    assert found.transform([["fox", "fox"]]).shape == (1, 2)


def test_pairs_of_gensim():
    class Dictionary:
        token2id = {"sea": 1, "fox": 0}  # noqa: RUF012

    bags = [[(0, 3)], [(1, 2)], [(0, 1)], []]
    with pytest.warns(topicfold.exceptions.EmptyDocumentWarning):
        found = Topics(2).fit(bags, vocabulary=Dictionary())
    assert found.fitted_.vocabulary == ["fox", "sea"]
    assert found.fitted_.counts.toarray().tolist() == [[3, 0], [0, 2], [1, 0], [0, 0]]
    with pytest.raises(DataError, match="word number 5, and the vocabulary has 2"):
        Topics(1).fit([[(5, 1)]], vocabulary=["a", "b"])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (["fox", None], "document 1 is missing"),
        (["fox", 3], "document 1 is a number"),
        ([], "The list is empty. Give a list of texts"),
        ({"a": 1}, "Documents cannot be of type dict"),
        ("a whole text", "Texts are given as a list"),
        ("a whole text\n" * 99, "Texts are given as a list"),
        ("word " * 999, "Texts are given as a list"),
        (np.eye(3), r"4 topics are more than the 3 documents.*n_topics=2"),
    ],
)
def test_what_is_no_text_says_what_to_give(X, message):
    with pytest.raises(DataError, match=message):
        Topics(4, min_df=1).fit(X)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_topics": 0}, "n_topics is 0"),
        ({"n_topics": "20"}, "n_topics is '20'. Give a whole number"),
        ({"n_topics": 2, "model": 3}, "model is 3. Give the name of a model"),
    ],
)
def test_parameters_that_are_wrong(given, message):
    with pytest.raises(DataError, match=message):
        Topics(**given, min_df=1).fit(TEXTS)


def test_columns_that_are_wrong(topics):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(DataError, match=r"row 1 of the data frame.*frame\.dropna\(\)"):
        Topics(2).fit(pandas.DataFrame({"text": ["fox", None]}))
    with pytest.raises(DataError, match=r"A topic is a whole number. Got '3'"):
        topics.words("3")
    frame = pandas.DataFrame({"words": TEXTS})
    with pytest.raises(DataError, match=r"no column 'text'.*It has 'words'"):
        Topics(2).fit(frame)
    with pytest.raises(DataError, match="not a file or data frame"):
        Topics(2).fit(TEXTS, label="kind")
    with pytest.raises(DataError, match="2 labels for 8 documents"):
        Topics(2).fit(TEXTS, ["a", "b"])


def test_it_shows_itself(topics):
    text = repr(topics)
    assert text.startswith("LDA: 2 topics, 8 documents\n")
    assert "main class" in text
    assert "<td" in topics._repr_html_()
    assert set(topics._repr_mimebundle_()) == {"text/plain", "text/html"}
    assert repr(Topics(3)) == "Topics(n_topics=3)"
    assert "Topics(n_topics=3)" in Topics(3)._repr_html_()
    assert len(topics.table(3)) == 2
    words = topics.words(0, 4)
    assert words[0].keys() == {"word", "probability", "share of its uses"}
    shares = {row["word"]: row["share of its uses"] for row in topics.words(0, 99)}
    for row in topics.words(1, 99):
        assert row["share of its uses"] + shares[row["word"]] == pytest.approx(1)
    assert topics.table().to_frame().shape == (2, 4)


def test_says_in_its_title_that_another_model_suits_short_texts():
    many = [*TEXTS] * 20
    advice = 'texts are short, try model="short" too'
    assert advice in repr(Topics(2, min_df=1).fit(many)).splitlines()[0]
    assert advice not in repr(Topics(2, "short", min_df=1).fit(many))
    longer = [" ".join([text] * 9) for text in many]
    assert advice not in repr(Topics(2, min_df=1).fit(longer))


def test_documents_of_a_topic_are_in_the_order_of_their_shares(topics):
    found = topics.documents(1, n=8)
    shares = [row["share"] for row in found]
    assert shares == sorted(shares, reverse=True)
    assert {row["label"] for row in found[:4]} in ({"land"}, {"sea"})
    assert found[0]["title"].split()[0] in ("Land", "Sea")
    with pytest.raises(DataError, match="There is no topic 7; topics are 0 to 1"):
        topics.documents(7)


@pytest.mark.parametrize("model", ["lda", "plsa"])
def test_documents_of_a_topic_are_those_of_the_report(model):
    long = ["red fox wood wolf " * 5, "blue sea fish boat " * 5] * 5
    topics = Topics(2, model, min_df=1, max_df=1.0).fit([*long, *["fox", "sea"] * 5])
    typical = typical_documents(topics.data_)
    assert typical.shape == (2, 8)
    for topic in range(2):
        found = [row["document"] for row in topics.documents(topic, n=8)]
        assert found == typical[topic].tolist()
        few = {row["document"] for row in topics.documents(topic)}
        assert few < {*found}
        assert few < {*range(10)}  # not texts of one word, all of the topic


def test_topics_to_merge_are_a_list(topics):
    with pytest.raises(DataError, match=r"as a list, such as \[1, 4\]"):
        topics.merge(0, 1)


def test_search(topics):
    hits = topics.search("hunts", n=3)
    assert hits.titles[0] == "Land 2"
    assert hits.snippets[0] == "wolf hunts red fox"
    assert "<b>hunts</b>" in hits._repr_html_()


def test_over_time_and_by_class(topics):
    with pytest.raises(DataError, match=r"over_time\(dates\)"):
        topics.over_time()
    found = topics.over_time(DATES)
    assert [row["period"] for row in found] == [str(2010 + i) for i in range(8)]
    np.testing.assert_allclose(sum(list(found[0].values())[2:]), 1)
    assert [row["class"] for row in topics.by_class()] == ["land", "sea"]
    assert [row["class"] for row in topics.by_class(["a"] * 8)] == ["a"]
    with pytest.raises(DataError, match=r"by_class\(labels\)"):
        Topics(2, min_df=1).fit(TEXTS).by_class()
    with pytest.raises(DataError, match="2 times for 8 documents"):
        topics.over_time(["2001", "2002"])


def test_over_time_counts_words_and_by_class_documents():
    texts = [*["red fox wolf wood"] * 4, "blue sea fish " * 30, *["blue sea fish"] * 3]
    topics = Topics(2, min_df=1, max_df=1.0).fit(texts, ["a", "b"] * 4)
    theta, lengths = topics.model_.doc_topics_, topics.data_.doc_lengths
    rows = topics.over_time([2000, 2001] * 4)
    for n, (period, group) in enumerate(zip(rows, topics.by_class(), strict=True)):
        words = np.average(theta[n::2], axis=0, weights=lengths[n::2])
        np.testing.assert_allclose(list(period.values())[2:], words)
        np.testing.assert_allclose(list(group.values())[1:], theta[n::2].mean(axis=0))
    assert abs(list(rows[0].values())[2] - theta[::2, 0].mean()) > 0.1


def test_times_are_given_beside_texts_and_counts():
    values = [f"2{i:03d}" for i in range(8)]
    given = Topics(2, min_df=1, model=DynamicLDA(2, n_slices=4)).fit(TEXTS, time=values)
    assert [row["period"] for row in given.over_time()] == values
    assert given.model_.slice_names_
    counts = np.eye(8, dtype=int) + 1
    found = Topics(2, min_df=1).fit(counts, time=np.arange(2000, 2008))
    assert [row["period"] for row in found.over_time()][:2] == ["2000", "2001"]
    with pytest.raises(DataError, match="2 times for 8 documents"):
        Topics(2, min_df=1).fit(TEXTS, time=["2001", "2002"])


def test_edits_are_in_place_and_kept(topics, tmp_path):
    topics.rename(1, "one").rename({0: "nought"}).split(0, 2)
    assert topics.data_.n_topics == 3
    assert topics.data_.topic_names[1] == "one"
    assert topics.merge([0, 2], "both").data_.topic_names == ("both", "one")
    assert topics.drop(1).data_.n_topics == 1
    assert len(topics.model_.edits_) == 5
    topics.save(tmp_path / "m")
    assert Topics.load(tmp_path / "m").model_.edits_ == topics.model_.edits_


def test_save_and_load_keep_all(topics, tmp_path):
    topics.over_time(DATES)
    topics.save(tmp_path / "m")
    again = Topics.load(tmp_path / "m")
    np.testing.assert_array_equal(again.transform(TEXTS), topics.transform(TEXTS))
    assert repr(again) == repr(topics)
    assert again.search("hunts").names == topics.search("hunts").names
    assert again.over_time() == topics.over_time()
    assert repr(again.fit(TEXTS)).startswith("LDA: 2 topics")  # as it was set up
    done = CliRunner().invoke(app, ["topics", str(tmp_path / "m")])
    assert "main class" in done.output
    topics.save(tmp_path / "small", documents=False)
    small = Topics.load(tmp_path / "small")
    assert small.fitted_.texts is None
    assert len(small.search("fox")) == 8
    with pytest.raises(DataError, match="cannot learn from more"):
        small.update(["more"])
    with pytest.raises(DataError, match="a split needs the documents"):
        small.split(0)


def test_a_function_that_cuts_is_given_again(tmp_path):
    def cut(text):
        return text.split("-")

    options = {"min_df": 1, "max_df": 1.0, "tokens": cut}
    topics = Topics(2, **options).fit(["a b-c", "c-d", "a b-d"])
    assert topics.fitted_.vocabulary == ["a b", "c", "d"]
    topics.save(tmp_path / "m")
    with pytest.raises(DataError, match="split by the function"):
        Topics.load(tmp_path / "m").transform(["c"])
    loaded = Topics.load(tmp_path / "m", tokens=cut)
    np.testing.assert_array_equal(loaded.transform(["c-d"]), topics.transform(["c-d"]))


@pytest.mark.parametrize("model", ["lda", "fstm", "fstm-c", "medlda"])
def test_update(model):
    topics = Topics(2, model=model, min_df=1, max_df=1.0).fit(TEXTS, LABELS)
    if model in ("lda", "fstm"):
        topics.rename(0, "first")
    before = topics.data_.topics
    topics.update(["a boat, a sea, a fish", "fox and wolf"], ["sea", "land"])
    data = topics.data_
    assert data.n_documents == 10
    assert data.labels[8:] == ("sea", "land")
    assert data.texts[9] == "fox and wolf"
    np.testing.assert_array_equal(_main(data.doc_topics)[8:], [False, True])
    # Topics are what they were, with more to learn from.
    assert np.minimum(before, data.topics).sum(axis=1).min() > 0.7
    if model == "lda":
        assert data.topic_names[0] == "first"
        assert topics.model_.init == LDA().init


@pytest.mark.parametrize("model", ["lda", "plsa", "ltm"])
def test_update_learns_new_words(model):
    topics = Topics(2, model=model, max_df=1.0).fit(TEXTS * 3)
    before = topics.data_
    assert "harbour" not in before.vocabulary
    new = ["a boat in a harbour", "a harbour by a sea, a fish", "rare fish, sea"]
    topics.update(new)
    data = topics.data_
    # A word needs two documents, and the old words keep their columns.
    assert data.vocabulary == (*before.vocabulary, "harbour")
    assert topics.fitted_.counts.shape == (3 * len(TEXTS) + 3, data.n_terms)
    harbour, sea = (
        data.topics[:, data.vocabulary.index(w)] for w in ("harbour", "sea")
    )
    assert harbour.argmax() == sea.argmax()
    np.testing.assert_allclose(data.topics.sum(axis=1), 1, atol=1e-5)
    assert topics.transform(["harbour harbour"]).argmax() == sea.argmax()


def test_update_counts_new_words_in_old_documents_and_by_their_stems():
    pytest.importorskip("snowballstemmer")
    texts = ["fish in a sea", "a harbour, a sea", "fox in a wood", "foxes, wood"] * 2
    topics = Topics(2, min_df=3, max_df=1.0, stem="english").fit(texts)
    known = topics.data_.vocabulary
    assert "harbour" not in known
    topics.update(["harbours and foxes", "foxes foxes foxes foxes foxes"])
    # The other spelling of a stem that is known is no new word.
    assert len(topics.data_.vocabulary) == len(known) + 1
    column = topics.fitted_.counts[:, len(known)].toarray().ravel()
    assert column.tolist() == [0, 1, 0, 0, 0, 1, 0, 0, 1, 0]


def test_any_model():
    assert type(Topics(2, model="ltm", min_df=1).fit(TEXTS).model_).__name__ == (
        "LocallyConsistentPLSA"
    )
    own = PLSA(3, max_iter=5)
    found = Topics(model=own, min_df=1).fit(TEXTS)
    assert (found.model_.n_components, found.model_.max_iter) == (3, 5)
    assert not hasattr(own, "components_")
    assert Topics(2, model=own, min_df=1).fit(TEXTS).model_.n_components == 2
    two = Topics(2, model="fstm-c", min_df=1).fit(TEXTS, LABELS)
    assert set(two.model_.classes_) == {"land", "sea"}
    with pytest.raises(DataError, match="learns from labels"):
        Topics(2, model="medlda", min_df=1).fit(TEXTS)
    with pytest.raises(DataError, match="LSI has no topics"):
        Topics(2, model="lsi").fit(TEXTS)
    with pytest.raises(DataError, match="Did you mean lda"):
        Topics(2, model="lad").fit(TEXTS)
    with pytest.raises(DataError, match=r"50 topics are more than the 8 documents"):
        Topics(50, min_df=1).fit(TEXTS)


def test_guided_topics(tmp_path):
    model = SeededLDA(seeds={"water": ["boat", "sea"], "trees": ["wood"]})
    topics = Topics(2, model=model, min_df=1, max_df=1.0).fit(TEXTS)
    assert topics.data_.topic_names == ("water", "trees")
    assert topics.transform(["boat and sea"]).argmax() == 0
    topics.save(tmp_path / "m")
    assert Topics.load(tmp_path / "m").data_.topic_names == ("water", "trees")


def test_first_step_of_a_pipeline():
    pipeline = make_pipeline(Topics(2, min_df=1), LogisticRegression())
    assert clone(pipeline).fit(TEXTS, LABELS).score(TEXTS, LABELS) == 1.0
    pipeline.set_params(topics__n_topics=3).fit(TEXTS, LABELS)
    assert pipeline[0].data_.n_topics == 3
    assert list(pipeline[0].get_feature_names_out()) == ["topic0", "topic1", "topic2"]


def test_data_frame(topics, monkeypatch):
    pytest.importorskip("pandas")
    topics.over_time(DATES)
    frame = topics.to_frame()
    assert list(frame.columns[:4]) == ["text", "time", "label", "main topic"]
    assert frame.shape == (8, 6)
    assert frame["text"].tolist() == TEXTS
    mixtures = frame.iloc[:, 4:].to_numpy()
    np.testing.assert_array_equal(mixtures, topics.data_.doc_topics)
    assert frame["main topic"].tolist() == mixtures.argmax(axis=1).tolist()
    frame["name"] = [f"d{row}" for row in range(8)]
    named = Topics(2, min_df=1).fit(frame, text="text", id="name").to_frame()
    assert list(named.columns[:2]) == ["id", "text"]
    assert named["id"].tolist() == frame["name"].tolist()
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match="pip install pandas"):
        topics.to_frame()


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ({"num_topics": 7}, "n_topics", 7),
        ({"n_components": 7}, "n_topics", 7),
        ({"nr_topics": 7}, "n_topics", 7),
        ({"k": 7}, "n_topics", 7),
        ({"random_seed": 3}, "random_state", 3),
        ({"workers": 2}, "n_jobs", 2),
    ],
)
def test_parameters_of_other_libraries_work(given, name, value):
    assert getattr(clone(Topics(**given)), name) == value


@pytest.mark.parametrize(
    ("name", "hint"),
    [("alpha", r"LDA\(doc_topic_prior=0.1\)"), ("passes", "max_iter"), ("x", "help")],
)
def test_other_parameters_get_the_right_name(name, hint):
    with pytest.raises(TypeError, match=f"no parameter '{name}'.*{hint}"):
        Topics(20, **{name: 1})


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("print_topics", r"table\(\)"),
        ("get_topic_info", r"table\(\)"),
        ("get_document_topics", r"transform\(texts\)"),
        ("visualize_documents", r"map\(\), or plot\('map'\)"),
        ("topics_", r"data_\.main_topics\(\)"),
        ("num_topics", r"data_\.n_topics"),
        ("nonsense", "$"),
    ],
)
def test_methods_of_other_libraries_get_the_right_name(name, hint):
    with pytest.raises(AttributeError, match=rf"no '{name}'\.( Use )?.*{hint}"):
        getattr(Topics(2), name)


def test_hints_name_things_that_are_there():
    from topicfold.session.habits import _ATTRIBUTES, _PARAMETERS

    for hint in _ATTRIBUTES.values():
        name = hint.partition("(")[0].split(".")[0].split(",")[0]
        assert name == "print" or hasattr(Topics, name) or name in ("data_", "model_")
    for hint in _PARAMETERS.values():
        models = (LDA(), Topics(), SeededLDA())
        for name in (name for model in models for name in model._get_param_names()):
            hint = hint.replace(f"{name}=", "")
        assert "=" not in hint.replace("vocabulary=", "").replace("n_words=", "")


def test_not_fitted():
    for method in ("table", "to_frame"):
        with pytest.raises(NotFittedError):
            getattr(Topics(2), method)()
    with pytest.raises(NotFittedError):
        Topics(2).transform(["fox"])
    with pytest.raises(DataError, match="the matrix has 1 columns, the model has"):
        Topics(2, min_df=1).fit(TEXTS).transform(sparse.csr_matrix([[1]]))


def test_a_model_without_topics_is_refused(tmp_path):
    topicfold.LSI(2).fit(np.eye(4)).save(tmp_path / "lsi")
    with pytest.raises(DataError, match="no topics"):
        Topics.load(tmp_path / "lsi")


def test_what_a_stranger_wrote_moves_no_cursor(topics):
    named = topics.rename(0, "red\x1b[31m\nnext\r\ud800")
    assert "\x1b" not in repr(named)
    assert "red�[31m�next" in repr(named)
    topics.rename(0, "")


def test_an_array_that_is_no_matrix_and_no_documents():
    with pytest.raises(DataError, match=r"shape \(2, 2, 2\) is not a matrix"):
        Topics(2).fit(np.ones((2, 2, 2)))


@pytest.mark.parametrize("n", [0, -3])
def test_no_documents_are_asked_for(topics, n):
    with pytest.raises(DataError, match="1 or more"):
        topics.documents(0, n)


def test_few_texts_need_no_options(tmp_path):
    texts = ["red fox in the snow", "red fox at sea", "blue sea and snow"]
    topics = Topics().fit(texts)
    assert topics.data_.n_topics == 1
    assert set(topics.data_.vocabulary) == {"red", "fox", "sea", "snow"}
    topics.save(tmp_path / "model")
    again = Topics.load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(texts), topics.transform(texts))
