# SPDX-License-Identifier: BSD-3-Clause
"""A saved model knows its words and documents, whoever saved it."""

import numpy as np
import pytest
from typer.testing import CliRunner

import topicfold
from topicfold import LSI, PLSA, TopicClassifier
from topicfold.cli.main import app
from topicfold.corpus import Corpus
from topicfold.exceptions import DataError, ModelFileError
from topicfold.persistence.model_folder import load_model_folder

TEXTS = ["red fox in a wood", "the fox is red", "blue fish in a sea", "sea of fish"]
OPTIONS = {"min_df": 1, "max_df": 1.0, "stop_words": "english"}


@pytest.fixture
def corpus():
    return Corpus.from_texts(
        TEXTS, labels=["land", "land", "sea", "sea"], name="tiny", **OPTIONS
    )


def test_python_saves_and_the_command_line_reads(corpus, tmp_path):
    model = PLSA(2, random_state=0).fit(corpus)
    assert list(model.feature_names_in_) == corpus.vocabulary
    model.save(tmp_path / "m", corpus)
    shown = CliRunner().invoke(app, ["topics", str(tmp_path / "m"), "-f", "csv"])
    assert "fox" in shown.output
    assert "land" in shown.output
    new = tmp_path / "new.txt"
    new.write_text("A red fox\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["transform", str(tmp_path / "m"), str(new)])
    assert done.exit_code == 0, done.output
    saved = load_model_folder(tmp_path / "m")
    assert saved.texts == TEXTS
    assert saved.text == OPTIONS
    assert saved.corpus == "tiny"
    assert (saved.counts != corpus.counts).nnz == 0


def test_the_command_line_saves_and_python_reads(tmp_path):
    file = tmp_path / "texts.txt"
    file.write_text("\n".join(TEXTS), encoding="utf-8")
    fit = ["fit", str(file), "-k", "2", "-o", str(tmp_path / "m")]
    done = CliRunner().invoke(app, [*fit, "--min-df", "1", "--max-df", "1.0"])
    assert done.exit_code == 0, done.output
    model = topicfold.load(tmp_path / "m")
    assert "fox" in model.topic_data().vocabulary
    assert load_model_folder(tmp_path / "m").texts == TEXTS


def test_a_model_without_words_says_so(corpus, tmp_path):
    PLSA(2, random_state=0).fit(corpus.counts).save(tmp_path / "m")
    done = CliRunner().invoke(app, ["topics", str(tmp_path / "m")])
    assert "saved without its words" in done.output


def test_words_alone_are_enough(corpus, tmp_path):
    model = PLSA(2, random_state=0).fit(corpus.counts)
    model.save(tmp_path / "m", vocabulary=corpus.vocabulary)
    again = topicfold.load(tmp_path / "m")
    assert list(again.feature_names_in_) == corpus.vocabulary
    assert again.transform(corpus.counts).shape == (4, 2)
    # Saved again, they are still there.
    again.save(tmp_path / "again")
    assert load_model_folder(tmp_path / "again").vocabulary == corpus.vocabulary


@pytest.mark.parametrize(
    "model", [LSI(2, keep_documents=True), TopicClassifier(PLSA(2))]
)
def test_every_kind_of_model(corpus, tmp_path, model):
    y = () if isinstance(model, LSI) else (corpus.labels,)
    model.fit(corpus, *y).save(tmp_path / "m", corpus)
    assert load_model_folder(tmp_path / "m").vocabulary == corpus.vocabulary


def test_other_words_are_refused(corpus, tmp_path):
    model = PLSA(2, random_state=0).fit(corpus)
    other = Corpus(corpus.counts, corpus.vocabulary[::-1])
    with pytest.raises(DataError, match="words of X are not those that PLSA was"):
        model.transform(other)
    np.testing.assert_array_equal(
        model.transform(corpus), model.transform(corpus.counts)
    )


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"vocabulary": ["one"]}, "vocabulary has 1 entries, and the model has"),
        ({"labels": ["a"]}, "labels has 1 entries, and the model has 4"),
    ],
)
def test_what_does_not_fit_is_refused(corpus, tmp_path, known, message):
    model = PLSA(2, random_state=0).fit(corpus)
    with pytest.raises(ModelFileError, match=message):
        model.save(tmp_path / "m", **known)
    assert not (tmp_path / "m").exists()
    with pytest.raises(ModelFileError, match="Give the Corpus that"):
        model.save(tmp_path / "m", corpus.counts)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([["red", "fox"], ["sea"]], r"lists of words.*give them to topicfold.Topics"),
        ([[(0, 2), (3, 1)], [(1, 1)]], r"gensim.matutils.corpus2csc"),
        (["red fox"], "topicfold.Topics takes texts"),
    ],
)
def test_texts_in_other_forms_say_what_to_do(X, message):
    with pytest.raises(DataError, match=message):
        PLSA(2).fit(X)
