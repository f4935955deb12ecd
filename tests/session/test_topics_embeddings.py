# SPDX-License-Identifier: BSD-3-Clause
"""`Topics` with embeddings and encoders."""

import numpy as np
import pytest

from topicfold import LocallyConsistentPLSA, NeighborGraph, Topics
from topicfold.exceptions import DataError, DataWarning
from topicfold.graph.embedding import encoder_name

SEA, SKY = "fish wave boat salt net tide", "bird cloud wind star sun rain"


class Encoder:
    """Says of which kind the first word is, and how often it was asked."""

    name_or_path = "toy/encoder"

    def __init__(self):
        self.asked = 0

    def encode(self, texts):
        self.asked += len(texts)
        return [
            [1.0, 0.1] if text.split()[0] in SEA.split() else [0.1, 1.0]
            for text in texts
        ]


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(0)
    kinds = [SEA, SKY] * 30
    return [" ".join(rng.choice(kind.split(), 2, replace=False)) for kind in kinds]


@pytest.fixture
def fitted(texts):
    return Topics(2, min_df=1, encoder=Encoder()).fit(texts)


def test_texts_are_encoded_in_fit_and_later(fitted, texts):
    assert fitted.encoder.asked == 60
    assert fitted.model_.encoder_ == "toy/encoder"
    vectors = np.array(Encoder().encode(texts))
    given = Topics(2, min_df=1).fit(texts, embeddings=vectors)
    np.testing.assert_array_equal(given.data_.doc_topics, fitted.data_.doc_topics)
    np.testing.assert_array_equal(
        fitted.transform(["net", "rain"]),
        given.transform(["net", "rain"], embeddings=Encoder().encode(["net", "rain"])),
    )
    assert not hasattr(given.model_, "encoder_")


def test_another_encoder_than_that_of_the_fit_is_warned_of(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    same = Encoder()
    with pytest.warns(DataWarning, match="of the fit, by toy/encoder, so new"):
        Topics.load(
            tmp_path / "model", encoder=lambda texts: [[-1.0, 0.5]] * len(texts)
        )
    with pytest.warns(DataWarning, match="Give the encoder of the fit"):
        Topics.load(tmp_path / "model", encoder=lambda texts: [[1.0]] * len(texts))
    Topics.load(tmp_path / "model", encoder=same)  # a warning would be an error
    assert same.asked == 1


def test_the_name_of_the_encoder_is_kept_and_said(fitted, tmp_path):
    expected = fitted.transform(["tide"])
    fitted.save(tmp_path / "model")
    again = Topics.load(tmp_path / "model")
    with pytest.warns(DataWarning, match="with embeddings of toy/encoder, but these"):
        again.transform(["tide"])
    again = Topics.load(tmp_path / "model", encoder=Encoder())
    np.testing.assert_array_equal(again.transform(["tide"]), expected)


def test_search_asks_the_encoder(fitted, texts):
    before = fitted.encoder.asked
    hits = fitted.search("boat", mix=0.0)
    assert fitted.encoder.asked == before + 1
    assert all(int(name) % 2 == 0 for name in hits.names)
    fitted.encoder = None
    assert len(fitted.search("boat").names) == 10  # by words, without a warning


def test_update_adds_documents_with_vectors(fitted):
    topics = fitted.model_.components_
    fitted.update(["fish tide", "star sun"])
    assert fitted.data_.n_documents == 62
    np.testing.assert_array_equal(fitted.model_.components_, topics)
    assert len(set(fitted.data_.main_topics()[-2:])) == 2
    fitted.transform(["tide"])


def test_a_graph_model_goes_on_after_an_update(texts, tmp_path):
    topics = Topics(2, "ltm", min_df=1, encoder=Encoder()).fit(texts)
    expected = topics.transform(["fish net"])
    topics.update(["fish tide", "star sun"])
    np.testing.assert_array_equal(topics.transform(["fish net"]), expected)
    topics.save(tmp_path / "model")
    again = Topics.load(tmp_path / "model", encoder=Encoder())
    np.testing.assert_array_equal(again.transform(["fish net"]), expected)


class Wrong:
    def __init__(self, answer):
        self.answer = answer

    def encode(self, texts):
        return self.answer


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        ("all-MiniLM-L6-v2", "is of the type str, which has no encode"),
        (Wrong, "is the class Wrong. Give an object of it"),
        (Wrong([[1.0, 2.0]]), "Wrong.encode did not give .* 1 embeddings for 60"),
        (Wrong(None), "Wrong.encode did not give a vector per text"),
        (Wrong([["a"]] * 60), "Wrong.encode did not give a vector per text"),
    ],
)
def test_encoders_that_are_none(texts, encoder, message):
    with pytest.raises(DataError, match=message):
        Topics(2, min_df=1, encoder=encoder).fit(texts)


def test_counts_cannot_be_encoded():
    with pytest.raises(DataError, match="an encoder needs the texts, and these doc"):
        Topics(2, encoder=Encoder()).fit(np.ones((4, 3), dtype=int))


def test_a_model_without_embeddings_says_so(texts):
    with pytest.raises(DataError, match="takes no embeddings"):
        Topics(2, "fstm-c", min_df=1, encoder=Encoder()).fit(texts, ["a", "b"] * 30)


def test_a_function_names_all_topics(texts, tmp_path):
    topics = Topics(2, min_df=1).fit(texts)
    asked = []

    def ask(words, documents):
        asked.append((words, documents))
        return f"  {words[0]}\nkind "

    topics.rename(ask)
    names = [row["name"] for row in topics.table()]
    assert sorted(names) == sorted(f"{words[0]} kind" for words, _ in asked)
    for words, documents in asked:
        assert len(words) == 10
        assert len(documents) == 5
        kind = SEA if words[0] in SEA.split() else SKY
        assert all(set(text.split()) <= set(kind.split()) for text in documents)
    topics.save(tmp_path / "model")
    again = Topics.load(tmp_path / "model")
    assert [row["name"] for row in again.table()] == names


@pytest.mark.parametrize("answer", ["", " ", None, 3])
def test_a_function_that_names_nothing(texts, answer):
    with pytest.raises(
        DataError, match=r"the function returned .* for topic 0.*must return a"
    ):
        Topics(2, min_df=1).fit(texts).rename(lambda words, documents: answer)


def test_search_compares_vectors_beside_topics_and_words(fitted, texts):
    hits = fitted.search("tide gull", 5)
    assert all(texts[row].split()[0] in SEA.split() for row in hits.rows)
    unknown = fitted.search("gull", 5)  # a word of no document: sky by its vector
    assert all(texts[row].split()[0] in SKY.split() for row in unknown.rows)
    plain = Topics(2, min_df=1).fit(texts)
    with pytest.raises(DataError):
        plain.search("gull")


class Wrong:
    def __init__(self, answer):
        self.answer = answer

    def encode(self, texts):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([[1.0, 0.0]], "did not give a vector per text: there are 1 embeddings for 60"),
        ([[1.0, np.nan]] * 60, "NaN, infinity"),
        ([[1.0]] * 59 + [[1.0, 2.0]], "not a table of numbers"),
        (None, "did not give a vector per text"),
        ("text", "did not give a vector per text"),
    ],
)
def test_an_encoder_that_answers_wrongly_is_named(texts, answer, message):
    with pytest.raises(DataError, match=message) as found:
        Topics(2, min_df=1, encoder=Wrong(answer)).fit(texts)
    assert "Wrong.encode" in str(found.value)


def test_what_an_encoder_raises_says_where(texts, fitted):
    def offline(texts):
        yield [0.0, 1.0]
        raise ConnectionError("no network")

    with pytest.raises(ConnectionError, match="no network") as found:
        Topics(2, min_df=1, encoder=offline).fit(texts)
    assert "The encoder raised this: offline, for 60 texts. Try" in str(
        found.value.__notes__
    )
    fitted.encoder = offline
    with pytest.raises(ConnectionError):
        fitted.update(["fish tide"])
    assert fitted.data_.n_documents == 60


def test_an_encoder_may_return_lists_and_half_floats(texts):
    vectors = Encoder().encode(texts)
    lists = Topics(2, min_df=1, encoder=Wrong(vectors)).fit(texts)
    halves = np.array(vectors, np.float16)
    half = Topics(2, min_df=1, encoder=Wrong(halves)).fit(texts)
    kinds = [topics.data_.main_topics() for topics in (lists, half)]
    np.testing.assert_array_equal(*kinds)


def test_another_encoder_later_is_refused(fitted, texts):
    fitted.encoder = Wrong([[1.0, 2.0, 3.0]])
    for ask in (fitted.transform, fitted.update):
        with pytest.raises(DataError, match="3 dimensions, in fit they had 2"):
            ask(["tide"])
    with pytest.raises(DataError, match="3 dimensions, in fit they had 2"):
        fitted.search("tide")


@pytest.mark.parametrize("make", [iter, tuple, lambda rows: np.array(rows, "f2")])
def test_a_function_may_be_the_encoder(texts, fitted, make):
    def toy(texts):
        return make(Encoder().encode(texts))

    topics = Topics(2, min_df=1, encoder=toy).fit(texts)
    assert topics.model_.encoder_ == "toy"
    words = topics.model_.components_
    np.testing.assert_allclose(words, fitted.model_.components_, atol=0.02)
    assert all(int(name) % 2 == 0 for name in topics.search("boat", 5).names)
    with pytest.raises(DataError, match="lambda> did not give a vector per text"):
        Topics(2, min_df=1, encoder=lambda texts: toy(texts[1:])).fit(texts)


def test_search_takes_the_vector_of_a_text(fitted, texts):
    expected = fitted.search("boat")
    fitted.encoder = None
    found = fitted.search("boat", embeddings=[1.0, 0.1])
    assert found.names == expected.names
    unknown = fitted.search("a word of another language", embeddings=[0.1, 1.0])
    assert all(int(name) % 2 == 1 for name in unknown.names)
    with pytest.raises(DataError, match="3 dimensions, in fit they had 2"):
        fitted.search("boat", embeddings=[1.0, 0.1, 0.0])
    with pytest.raises(DataError, match="these documents have none"):
        Topics(2, min_df=1).fit(texts).search("boat", embeddings=[1.0, 0.1])


def test_documents_that_came_later_are_searched_by_vectors(fitted, tmp_path):
    fitted.update(["fish tide"]).update(["star sun", "rain sun"])
    fitted.save(tmp_path / "model")
    again = Topics.load(tmp_path / "model", encoder=Encoder())
    for topics in (fitted, again):
        assert len(topics.model_.added_embeddings_) == 3
        names = topics.search("a word of another language", n=33).names
        assert {"61", "62"} < {*names}
        assert "60" not in names


def test_a_model_of_words_takes_no_vectors_later(texts):
    topics = Topics(2, min_df=1).fit(texts)
    with pytest.raises(DataError, match="was fitted without embeddings"):
        topics.update(["fish tide"], embeddings=[[1.0, 0.1]])
    topics = Topics(2, min_df=1, encoder=Encoder()).fit(texts)
    with pytest.raises(DataError, match="2 embeddings for 1 documents"):
        topics.update(["fish tide"], embeddings=[[1.0, 0.1]] * 2)


def test_phrases_where_common_words_were_left_out(texts):
    topics = Topics(2, min_df=1).fit(texts)
    topics.fitted_.text["left_out"] = ["everywhere"]  # as found in many longer texts
    topics.rename("phrases")
    assert all(len(row["name"].split()) == 2 for row in topics.table())


@pytest.mark.parametrize("by_both", [False, True])
def test_a_model_that_keeps_its_words_goes_on_after_an_update(texts, tmp_path, by_both):
    model = LocallyConsistentPLSA(transform_neighbors=True)
    known, asked = {}, {}
    if by_both:
        model.set_params(graph=NeighborGraph(of="both"))
        known = {"embeddings": Encoder().encode(texts)}
        asked = {"embeddings": Encoder().encode(["fish net"])}
    topics = Topics(2, model, min_df=1).fit(texts, **known)
    expected = topics.transform(["fish net"], **asked)
    topics.update(["fish net"], **asked).save(tmp_path / "model")
    again = Topics.load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(["fish net"], **asked), expected)


@pytest.mark.parametrize(
    ("path", "name"),
    [("sentence-transformers/x", "sentence-transformers/x"), ("/home/a/b/x", "b/x")],
)
def test_the_name_of_an_encoder_that_is_a_list_of_modules(path, name):
    """As in sentence-transformers, where the first module has the name."""

    class Module:
        class auto_model:
            name_or_path = path

    class Modules(Encoder):
        name_or_path = None

        def __getitem__(self, place):
            return [Module][place]

    assert encoder_name(Modules()) == name
    assert encoder_name(Wrong(None)) == "Wrong"


def test_the_record_has_the_embeddings_of_the_documents(fitted, texts, tmp_path):
    vectors, kept = np.array(Encoder().encode(texts)), fitted.data_.embeddings
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(kept, axis=1)
    np.testing.assert_allclose((vectors * kept).sum(axis=1), lengths, rtol=1e-5)
    again = Topics.load(fitted.save(tmp_path / "m"))
    np.testing.assert_array_equal(again.data_.embeddings, fitted.data_.embeddings)
    page = fitted.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert '"placed_by":"embeddings"' in page.replace(": ", ":")
    assert Topics(2, min_df=1).fit(texts).data_.embeddings is None
