# SPDX-License-Identifier: BSD-3-Clause
"""More documents: edits hold, old documents stay, what changed is said."""

import numpy as np
import pytest
from scipy import sparse

import topicfold
from topicfold import LDA, PLSA, PachinkoLDA, SeededLDA, StructuralLDA, Topics
from topicfold.corpus import load_docs
from topicfold.corpus.inputs import Documents
from topicfold.exceptions import DataError
from topicfold.persistence.model_folder import ModelFolder, load_model_folder
from topicfold.session.growing import (
    compare_records,
    drop_known,
    expected_words,
    updated,
)

LAND = ["red fox in a wood", "fox and wolf in a wood", "wolf, wood, red leaf"]
SEA = ["blue sea and fish", "fish in a deep blue sea", "a boat, a deep sea"]
TEXTS = (LAND + SEA) * 4


@pytest.fixture(scope="module")
def docs():
    return load_docs()


@pytest.mark.parametrize("model", [LDA(20, max_iter=10), PLSA(20, max_iter=10)])
def test_edits_hold(model, docs):
    topics = Topics(model=model).fit(docs)
    first, second = sorted(np.argsort(-topics.data_.topic_sizes())[[2, 7]].tolist())
    topics.merge([first, second]).drop(0 if first else 19).rename(first, "All sport")
    before = topics.data_
    topics.update(["a window of a filter, a passband", "gradient of a function"])
    after, done = topics.data_, topics.update_
    assert after.numbers == before.numbers
    assert after.name(after.row(first)) == "All sport"
    np.testing.assert_array_equal(
        after.doc_topics[: docs.n_documents], before.doc_topics
    )
    assert not done.moved
    assert {row["change"] for row in done.topics} == {""}
    np.testing.assert_allclose(after.topic_sizes(), before.topic_sizes(), atol=1e-4)
    assert np.minimum(after.topics, before.topics).sum(axis=1).min() > 0.999


def _plain_expected_words(X, theta, phi):
    found = np.zeros(phi.shape)
    for d, w in np.argwhere(X):
        shares = theta[d] * phi[:, w]
        found[:, w] += X[d, w] * shares / shares.sum()
    return found


@pytest.mark.parametrize("n_topics", [3, 9, 20])
def test_expected_words(n_topics, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, (30, 17)).astype(float)
    theta, phi = (
        rng.dirichlet(np.ones(n_topics), 30),
        rng.dirichlet(np.ones(17), n_topics),
    )
    # Several parts, as of a large corpus.
    monkeypatch.setattr("topicfold.session.growing._CHUNK", 50 * n_topics)
    found = expected_words(sparse.csr_matrix(X), theta, phi)
    np.testing.assert_allclose(found, _plain_expected_words(X, theta, phi), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_topics_weigh_the_new_documents_against_the_old(dtype):
    """A fixed point of φ' ∝ N φ + Σ n p(k|d,w), with the old mixtures kept."""
    rng = np.random.default_rng(1)
    X = sparse.csr_matrix(rng.poisson(0.6, (60, 25)).astype(dtype))
    old = PLSA(4, random_state=0, max_iter=30).fit(X[:40])
    words = [f"w{i}" for i in range(25)]
    folder = ModelFolder(model=old, vocabulary=words, counts=X[:40])
    done = updated(folder, Documents(counts=X[40:], vocabulary=words), X[40:])
    new = done.folder.model
    assert new.components_.dtype == old.components_.dtype
    np.testing.assert_array_equal(new.doc_topics_[:40], old.doc_topics_)
    prior = old.components_ * (old.doc_lengths_ @ old.doc_topics_)[:, None]
    more = _plain_expected_words(
        X[40:].toarray(), new.doc_topics_[40:], new.components_
    )
    wanted = (prior + more) / (prior + more).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(new.components_, wanted, atol=2e-4)
    np.testing.assert_allclose(new.transform(X[40:]), new.doc_topics_[40:], atol=1e-6)


@pytest.mark.parametrize("model", ["lda", "plsa", "ltm", "fstm", "gibbs", "seeded"])
def test_a_model_that_grew_is_saved_and_grows_again(model, tmp_path):
    chosen = SeededLDA(2) if model == "seeded" else model
    topics = Topics(2, model=chosen, min_df=1, max_df=1.0).fit(TEXTS)
    topics.update(["a harbour, a boat, a harbour", "a boat in a harbour"])
    topics.save(tmp_path / "model")
    again = Topics.load(tmp_path / "model").update(["fox in a harbour"])
    assert "harbour" in again.data_.vocabulary
    assert again.data_.n_documents == len(TEXTS) + 3
    counts = again.fitted_.counts
    assert again.model_.transform(counts).shape == (len(TEXTS) + 3, 2)
    again.save(tmp_path / "again")
    assert topicfold.load(tmp_path / "again").n_features_in_ == counts.shape[1]


def test_an_update_says_what_it_leaves_out_and_loses_no_id(caplog):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"text": TEXTS[:6], "id": list("abcde6"), "sort": ["x", "y"] * 3}
    )
    topics = Topics(2, min_df=1, max_df=1.0).fit(frame, label="sort")
    new = pandas.DataFrame({"text": ["a fox", "a sea"], "id": ["a", "g"], "sort": "x"})
    topics.update(new)
    assert "1 with an id that is already in the model, first 'a'" in caplog.text
    assert "no new document has a label; if there is" in caplog.text
    caplog.clear()
    topics.update(["a fox and a sea"], ["x"])
    assert not caplog.text
    assert topics.data_.doc_ids == ("a", "b", "c", "d", "e", "6", "g", "7")
    topics.update(["a blue sea"] * 2)
    assert topics.data_.doc_ids[7:] == ("7", "8", "9")
    unnamed = Topics(2, min_df=1, max_df=1.0).fit(TEXTS[:6])
    unnamed.update(pandas.DataFrame({"text": ["a fox"], "id": ["3"]}))
    assert unnamed.data_.doc_ids == ("0", "1", "2", "row 3", "4", "5", "3")


def test_documents_that_are_there_are_left_out():
    frame = {"text": TEXTS[:6], "name": list("abcdef")}
    pandas = pytest.importorskip("pandas")
    columns = {"text": "text", "id": "name"}
    topics = Topics(2, min_df=1, max_df=1.0).fit(pandas.DataFrame(frame), **columns)
    new = pandas.DataFrame({"text": ["a new fox", TEXTS[0]], "name": ["g", "a"]})
    topics.update(new, **columns)
    assert topics.update_.known == ["a"]
    assert topics.update_.n_added == 1
    assert topics.data_.doc_ids == tuple("abcdefg")
    assert topics.data_.texts[6] == "a new fox"
    with pytest.raises(
        DataError, match="all 2 documents have ids that the model already has"
    ):
        topics.update(new, **columns)


def test_what_else_is_known_goes_with_the_documents_that_stay():
    X = sparse.csr_matrix([[2, 1], [0, 3], [1, 1]])
    old = ModelFolder(model=None, doc_ids=["a", "b"])
    vectors, extra = np.arange(6.0).reshape(3, 2), {"author": ["x", "y", "z"]}
    new = Documents(counts=X, ids=["c", "a", "d"], embeddings=vectors, extra=extra)
    left, counts, known = drop_known(old, new, X)
    assert (left.ids, known) == (["c", "d"], ["a"])
    np.testing.assert_array_equal(left.embeddings, vectors[[0, 2]])
    assert left.extra == {"author": ["x", "z"]}
    assert left.n_documents == counts.shape[0] == 2


def test_texts_that_are_there_are_said():
    topics = Topics(2, min_df=1, max_df=1.0).fit(TEXTS)
    topics.update([TEXTS[0], "another fox", TEXTS[1]])
    assert topics.update_.repeated == 2
    assert (
        "Repeated",
        "2 of the new texts are already in the model",
    ) in topics.update_.lines()


def test_a_refit_says_what_moved():
    topics = Topics(2, min_df=1, max_df=1.0).fit(TEXTS)
    # New documents of other words: topics from all of them are others.
    topics.update(["soup with salt", "salt and bread", "bread, soup"] * 30, refit=True)
    done = topics.update_
    assert str(done).startswith("Added: 90 documents, ")
    assert "soup with salt" not in repr(done)  # thousands of texts would fill a screen
    assert {row["change"] for row in done.topics} & {"drifted", "replaced"}
    heads = [head for head, _ in done.lines()]
    assert "Moved" in heads
    changed = topics.data_.main_topics()[: len(TEXTS)]
    moved = [row["document"] for row in done.moved]
    assert all(changed[row["document"]] == row["now"] for row in done.moved)
    assert len(moved) == len({*moved})


def test_a_model_that_cannot_start_again_is_not_refitted():
    topics = Topics(2, model="medlda", min_df=1, max_df=1.0)
    topics.fit(TEXTS, ["land", "land", "land", "sea", "sea", "sea"] * 4)
    with pytest.raises(DataError, match="MedLDA cannot be fitted again"):
        topics.update(["a fox"], refit=True)


def test_what_became_of_topics():
    vocabulary = ["a", "b", "c", "d"]
    topics = np.eye(4)[:3] * 0.7 + 0.075
    theta = np.repeat(np.eye(3), [60, 30, 10], axis=0)
    before = topicfold.TopicData(
        topics=topics,
        vocabulary=vocabulary,
        doc_topics=theta,
        doc_ids=[f"d{i}" for i in range(100)],
    )
    later = topics[[0, 1, 1]]
    later[1] = 0.8 * topics[1] + 0.2 * np.eye(4)[3]
    new = np.repeat(np.eye(3), [2, 28, 70], axis=0)
    theta = np.vstack([theta, new])
    theta[0] = [0, 0, 1]
    after = topicfold.TopicData(
        topics=later,
        vocabulary=vocabulary,
        doc_topics=theta,
        doc_ids=[f"d{i}" for i in range(200)],
    )
    found, moved = compare_records(before, after)
    assert {row["topic"]: row["change"] for row in found} == {
        0: "fading",
        1: "drifted",
        2: "replaced",
    }
    assert moved == [{"document": "d0", "before": 0, "now": 2}]
    steady, _ = compare_records(
        before,
        topicfold.TopicData(topics=topics, vocabulary=vocabulary, doc_topics=theta),
    )
    assert {row["topic"]: row["change"] for row in steady}[2] == "growing"


def test_the_command_says_it(cli_model, tmp_path):
    cli, folder = cli_model
    more = tmp_path / "more.csv"
    more.write_text("id,text\na,red fox\ng,a fox in a deep wood\n", encoding="utf-8")
    done = cli("update", folder, more, "--text", "text", "--id", "id")
    assert done.exit_code == 0, done.stderr
    assert "1 new document, now 7 documents" in done.stdout
    assert "1 with an id that is already in the model, first 'a'" in done.stdout
    assert "0 of 6 earlier documents" in done.stdout
    saved = load_model_folder(folder)
    assert saved.doc_ids == list("abcdefg")
    before = saved.model
    again = cli("update", folder, more, "--text", "text", "--id", "id")
    assert again.exit_code == 2
    assert "Nothing was added" in again.stderr
    np.testing.assert_array_equal(
        topicfold.load(folder).components_, before.components_
    )
    assert (folder / "report.html").is_file()


@pytest.fixture
def cli_model(tmp_path):
    from typer.testing import CliRunner

    from topicfold.cli.main import app

    def cli(*args):
        return CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(a) for a in args])

    file = tmp_path / "texts.csv"
    rows = [
        f"{name},{text!r}".replace("'", '"')
        for name, text in zip("abcdef", TEXTS[:6], strict=True)
    ]
    file.write_text("id,text\n" + "\n".join(rows) + "\n", encoding="utf-8")
    options = ("-k", 2, "--min-df", 1, "--max-df", 1.0, "--text", "text", "--id", "id")
    done = cli("fit", file, "-o", tmp_path / "model", "-q", *options)
    assert done.exit_code == 0, done.output
    return cli, tmp_path / "model"


@pytest.mark.parametrize(
    "known",
    [{"prevalence": {"x": np.arange(24.0)}}, {"content": ["u", "v"] * 12}],
    ids=["prevalence", "content"],
)
def test_topics_that_learned_with_covariates_stay(known):
    model = StructuralLDA(2, max_iter=5, random_state=0)
    topics = Topics(model=model, min_df=1, n_jobs=1).fit(TEXTS, **known)
    few = {key: _first(value) for key, value in known.items()}
    before, phi = topics.transform(TEXTS[:4], **few), topics.data_.topics
    topics.update(["a red fox, new in a wood", "a new boat"] * 2)
    np.testing.assert_array_equal(topics.data_.topics, phi)
    np.testing.assert_array_equal(topics.transform(TEXTS[:4], **few), before)
    assert topics.data_.n_documents == 28
    with pytest.raises(DataError, match="learned from more than words"):
        topics.update(TEXTS[:1], refit=True)
    with pytest.raises(DataError, match=r"it also used .*Fit Topics"):
        topics.stability(1)


def _first(value):
    return (
        value[:4] if isinstance(value, list) else {k: v[:4] for k, v in value.items()}
    )


def test_new_documents_have_super_topics_too():
    model = PachinkoLDA(3, n_supertopics=2, max_iter=5, random_state=0)
    topics = Topics(model=model, min_df=1, n_jobs=1).fit(TEXTS)
    before = topics.model_.doc_super_topics_
    above = topics.update(["a fox", "a boat"]).model_.doc_super_topics_
    np.testing.assert_array_equal(above[:-2], before)
    assert above.shape == (26, 2)
    np.testing.assert_allclose(above.sum(axis=1), 1, rtol=1e-5)


def test_an_attribute_of_another_model_changes_nothing():
    """A file may have added it."""
    topics = Topics(2, min_df=1).fit(TEXTS)
    topics.model_.doc_super_topics_ = np.ones((len(TEXTS), 2)) / 2
    assert len(topics.update(["a fox"]).model_.doc_topics_) == len(TEXTS) + 1
