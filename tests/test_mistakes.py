# SPDX-License-Identifier: BSD-3-Clause
"""Mistakes that people make, and the one line that helps."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from typer.testing import CliRunner

from topicfold import LDA, PLSA, Topics, select_n_components
from topicfold.cli.main import app
from topicfold.corpus import vectorize
from topicfold.editing import apply_edits
from topicfold.exceptions import DataError, DataWarning, EmptyDocumentWarning
from topicfold.registry import find_model

CHINESE = [
    "我昨天在北京的大学里看到了一只红色的狐狸",
    "蓝色的鱼在深深的大海里面游来游去",
]


@pytest.fixture
def texts(tmp_path):
    file = tmp_path / "texts.txt"
    file.write_text("red fox wood\nfox in the red wood\nblue fish sea\n" * 2)
    return file


def _error(*arguments):
    done = CliRunner().invoke(app, [str(item) for item in arguments])
    assert done.exit_code == 2, done.output
    (line,) = [x for x in done.stderr.splitlines() if x.startswith("error:")]
    return line


def test_more_topics_than_documents(texts, tmp_path):
    line = _error("fit", texts, "-k", 5000, "-o", tmp_path / "m")
    assert "5,000 topics are more than the 6 documents" in line
    assert "--topics 2;" in line


def test_missing_graph_file(texts, tmp_path):
    graph = ("-m", "laplacian", "--graph", tmp_path / "nowhere.txt")
    line = _error("fit", texts, "-k", 2, *graph, "-o", tmp_path / "m")
    assert "there is no file" in line
    assert "two document numbers per line" in line


def test_an_edit_is_named_in_words(texts, tmp_path):
    model = PLSA(2, random_state=0).fit(np.eye(3))
    with pytest.raises(
        DataError, match=r"Edit 0 \(merge 0, 99\): There is no topic 99"
    ):
        apply_edits(model, [{"action": "merge", "topics": [0, 99]}])
    with pytest.raises(
        DataError, match=r"Edit 0 \(rename 7 space\): There is no topic"
    ):
        apply_edits(model, [{"action": "rename", "topic": 7, "name": "space"}])


def test_chinese_text_is_said_to_need_cutting():
    with pytest.warns(DataWarning, match=r"Chinese or Japanese.*jieba\.lcut") as seen:
        vectorize(CHINESE, min_df=1, max_df=1.0)
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vectorize(CHINESE, min_df=1, max_df=1.0, tokens=list)


def test_a_grid_search_warns_of_empty_documents_once():
    X = np.random.default_rng(0).poisson(1.0, (30, 8))
    X[::5] = 0
    search = GridSearchCV(PLSA(random_state=0, max_iter=3), {"n_components": [2, 3]})
    with pytest.warns(EmptyDocumentWarning) as seen:
        search.fit(X)
    # One for all splits; the last fit, on all documents, is the same line's.
    assert len(seen) == 1
    assert seen[0].filename == __file__
    with pytest.warns(EmptyDocumentWarning):
        search.best_estimator_.transform(X)


def test_a_choice_among_many_fits_does_not_warn_of_each():
    X = np.random.default_rng(0).poisson(1.0, (30, 12))
    model = LDA(max_iter=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        select_n_components(model, X, [2, 3], n_words=3, n_restarts=2)


def test_texts_given_to_an_estimator():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["red fox", "blue fish"]})
    for texts in (frame.text, frame.text.astype("category"), frame.text.to_numpy()):
        with pytest.raises(
            DataError, match=r"X holds strings, .*topicfold\.Topics takes"
        ):
            LDA(2).fit(texts)
    with pytest.raises(DataError, match="X is a generator, but one matrix"):
        LDA(2).fit(text for text in frame.text)


@pytest.mark.parametrize(
    ("documents", "problem"),
    [
        ([1, 2], r"document 0 is a number \(1\)\. Give a string"),
        (["a fox", 2.5], r"document 1 is a number \(2\.5\)"),
        (["a fox", None], "document 1 is missing"),
        (["a fox", float("nan")], "document 1 is missing"),
        (["a fox", ["b"]], "document 1 is a list"),
        ([b"fox"], "document 0 is of type bytes"),
        ([{"text": "fox"}], "document 0 is an object"),
    ],
)
def test_documents_that_are_no_texts_are_named_in_words(documents, problem):
    with pytest.raises(DataError, match=problem):
        Topics(2).fit(documents)


def test_a_report_makes_no_folders(tmp_path):
    topics = Topics(2, min_df=1).fit(["red fox", "fox wood", "blue sea", "sea fish"])
    with pytest.raises(DataError, match=r"no folder .*nowhere\. Make it, or give"):
        topics.report(tmp_path / "nowhere" / "report.html")
    assert not list(tmp_path.iterdir())


def test_models_of_other_libraries_and_of_two_meanings(caplog):
    with pytest.raises(DataError, match=r"no model 'BERTopic'\. It needs embeddings"):
        find_model("BERTopic")
    with pytest.raises(DataError, match="The nearest is plsa"):
        find_model("nmf")
    assert find_model("DTM").name == "discriminative"
    assert "'DTM' is the discriminative topic model" in caplog.text
    assert "not a dynamic one" in caplog.text
    caplog.clear()
    assert find_model("discriminative").shown == "DTM"
    assert caplog.text == ""
