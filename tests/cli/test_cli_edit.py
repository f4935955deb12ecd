# SPDX-License-Identifier: BSD-3-Clause
import json

import numpy as np
import pytest

import topicfold
from topicfold import Topics
from topicfold.persistence.model_folder import load_model_folder, save_model_folder


@pytest.fixture
def four(cli, texts, tmp_path):
    """A model of four topics from lines of text."""
    folder = tmp_path / "four"
    options = ("-k", 4, "--max-iter", 3, "--min-df", 1, "--max-df", "1.0")
    result = cli("fit", texts, *options, "-o", folder, "--quiet")
    assert result.exit_code == 0, result.stderr
    return folder


def test_numbers_are_those_of_the_given_model(cli, four, tmp_path):
    before = topicfold.load(four)
    result = cli(
        "edit", four, "-o", tmp_path / "new",
        "--drop", 3, "--merge", "0,1", "--rename", "2=kept one",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    after = topicfold.load(tmp_path / "new")
    assert after.topic_names_ == ["", "kept one"]
    np.testing.assert_array_equal(after.components_[1], before.components_[2])
    done = [edit["action"] for edit in after.edits_]
    assert done == ["merge", "drop", "rename", "renumber"]
    # What was saved beside the model is still there.
    folder = load_model_folder(tmp_path / "new")
    assert folder.vocabulary == load_model_folder(four).vocabulary
    assert "kept one" in cli("topics", tmp_path / "new", "--format", "json").stdout


def test_split_with_the_documents(cli, four, texts, tmp_path):
    result = cli(
        "edit", four, "-o", tmp_path / "new", "--split", "1:3", "--documents", texts
    )
    assert result.exit_code == 0, result.stderr
    assert "now 6 topics" in result.stdout


def test_what_the_report_exports(cli, four, tmp_path):
    file = tmp_path / "names.json"
    edits = [{"action": "rename", "topic": 0, "name": "fünf"}]
    content = {"format": "topicfold-edits", "version": 2, "edits": edits}
    file.write_text(json.dumps(content), encoding="utf-8")
    result = cli("edit", four, "-o", tmp_path / "new", "--apply", file)
    assert result.exit_code == 0, result.stderr
    assert topicfold.load(tmp_path / "new").topic_names_[0] == "fünf"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "no edit was given"),
        (("--rename", "3"), "TOPIC=NAME"),
        (("--rename", "3=x", "--drop", "1,3"), "topic 3 is both renamed and dropped"),
        (("--rename", "x=3"), "not the number of a topic"),
        (("--drop", "9"), "no topic 9"),
        (("--merge", "1,1"), "two different"),
        (("--merge", "1,2", "--drop", "2"), "Name it once"),
        (("--drop", "1", "--documents", "x"), "only used by --split"),
        (("--apply", "nowhere.json"), "nowhere.json"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_errors_leave_nothing_behind(
    cli, check_error, four, tmp_path, options, message
):
    check_error(cli("edit", four, "-o", tmp_path / "new", *options), message)
    assert not (tmp_path / "new").exists()


def test_a_file_of_edits_goes_alone(cli, check_error, four, tmp_path):
    file = tmp_path / "names.json"
    edits = [{"action": "rename", "topic": 0, "name": "first"}]
    content = {"format": "topicfold-edits", "version": 2, "edits": edits}
    file.write_text(json.dumps(content), encoding="utf-8")
    result = cli("edit", four, "-o", tmp_path / "new", "--apply", file, "--drop", 1)
    check_error(result, "--apply cannot be combined with other edits")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "has no edits"),
        ('{"format": "topicfold-edits", "version": 1}', "version 1"),
        ('{"format": "topicfold-edits", "version": 2, "edits": [1]}', "damaged"),
    ],
    ids=["cut", "list", "other version", "numbers"],
)
def test_files_that_are_no_edits(cli, check_error, four, tmp_path, content, message):
    file = tmp_path / "edits.json"
    file.write_text(content, encoding="utf-8")
    result = cli("edit", four, "-o", tmp_path / "new", "--apply", file)
    check_error(result, message, file)
    assert not (tmp_path / "new").exists()


def test_a_chain_in_python_is_the_command(cli, four, tmp_path):
    """Numbers are those of the model at the start, in both."""
    options = ("--merge", "0,1", "--drop", "3", "--rename", "2=kept")
    assert cli("edit", four, "-o", tmp_path / "a", *options).exit_code == 0
    Topics.load(four).merge([0, 1]).drop(3).rename(2, "kept").save(tmp_path / "b")
    one, two = topicfold.load(tmp_path / "a"), topicfold.load(tmp_path / "b")
    np.testing.assert_array_equal(one.components_, two.components_)
    np.testing.assert_array_equal(one.doc_topics_, two.doc_topics_)
    assert one.topic_names_ == two.topic_names_ == ["", "kept"]
    assert one.edits_ == two.edits_


def test_the_name_is_that_of_the_merged_topic(cli, four, tmp_path):
    names = ("--rename", "1=old", "--rename", "0=All sport")
    assert cli("edit", four, "-o", tmp_path / "a", *names).exit_code == 0
    options = ("--merge", "0,1", "--rename", "0=sport")
    assert cli("edit", tmp_path / "a", "-o", tmp_path / "b", *options).exit_code == 0
    assert topicfold.load(tmp_path / "b").topic_names_[0] == "sport"


def test_the_log_is_kept_and_done_again(cli, check_error, four, texts, tmp_path):
    edited, again = tmp_path / "edited", tmp_path / "again"
    first = ("--merge", "0,2", "--rename", "0=both")
    assert cli("edit", four, "-o", tmp_path / "one", *first).exit_code == 0
    second = ("--split", "1:2", "--drop", "2")
    assert cli("edit", tmp_path / "one", "-o", edited, *second).exit_code == 0
    log = tmp_path / "edits.json"
    log.write_text(cli("info", edited, "--log").stdout, encoding="utf-8")
    for source in (log, edited):
        done = cli("edit", four, "-o", again, "--apply", source, "--force")
        assert done.exit_code == 0, done.stderr
        one, two = topicfold.load(edited), topicfold.load(again)
        np.testing.assert_array_equal(one.components_, two.components_)
        assert one.topic_names_ == two.topic_names_
        assert one.edits_ == two.edits_
    in_python = Topics.load(four).apply_edits(json.loads(log.read_text()))
    np.testing.assert_array_equal(in_python.model_.components_, one.components_)
    assert in_python.edit_log() == Topics.load(edited).edit_log()
    # Of a model with other topics the numbers mean something else.
    refused = cli("edit", edited, "-o", tmp_path / "x", "--apply", log)
    check_error(refused, "edits of a model with 4 topics, but this one has 3")
    check_error(cli("info", four, "--log"), "have not been edited")
    check_error(
        cli("edit", four, "-o", tmp_path / "x", "--apply", four), "no edits to apply"
    )


def test_info(cli, four, tmp_path):
    cli("edit", four, "-o", tmp_path / "new", "--rename", "2=kept one")
    shown = cli("info", tmp_path / "new")
    assert shown.exit_code == 0, shown.stderr
    for part in ("LDA, 4 topics", "6 documents", "Edit     rename 2 kept one\n"):
        assert part in shown.stdout
    facts = json.loads(cli("info", tmp_path / "new", "--json").stdout)
    assert facts["settings"]["n_components"] == 4
    assert facts["documents"] == 6
    assert facts["edits"] == [{"action": "rename", "topic": 2, "name": "kept one"}]
    assert facts["version"] == topicfold.__version__


def test_info_counts_classes(cli, tmp_path):
    model = topicfold.PLSA(2, random_state=0, max_iter=2).fit([[1, 2], [0, 3], [4, 0]])
    save_model_folder(model, tmp_path / "m", labels=["x", "", "y"], corpus="small")
    shown = cli("info", tmp_path / "m")
    assert shown.exit_code == 0, shown.stderr
    assert "small: 3 documents, 2 classes" in shown.stdout
    assert json.loads(cli("info", tmp_path / "m", "--json").stdout)["classes"] == 2


def test_info_of_a_stream(cli, tmp_path):
    model = topicfold.PLSA(2, random_state=0).partial_fit([[1, 2, 0], [0, 1, 3]])
    model.save(tmp_path / "stream")
    shown = cli("info", tmp_path / "stream")
    assert shown.exit_code == 0, shown.stderr
    assert "are not kept" in shown.stdout


def test_what_was_done_is_said_in_words(cli, four, tmp_path):
    result = cli("edit", four, "-o", tmp_path / "one", "--merge", "0,1,2,3")
    assert "Edited   1 edit, now 1 topic, numbered anew: 0 to 0\n" in result.stdout
    shown = cli("info", tmp_path / "one").stdout
    assert "Edit     merge 0, 1, 2, 3\nEdit     number the topics anew\n" in shown
    assert " kB, topicfold" in shown


def test_an_edited_model_has_a_report_of_its_own(cli, four, tmp_path):
    before = (four / "report.html").read_text()
    result = cli("edit", four, "-o", four, "--force", "--drop", 1, "--rename", "2=kept")
    assert result.exit_code == 0, result.stderr
    page = (four / "report.html").read_text()
    assert str(four / "report.html") in result.stdout
    assert page != before
    assert "3 topics" in page
    assert ">kept<" in page


def test_a_page_that_is_no_report_stays(cli, four, tmp_path):
    own = tmp_path / "own.safetensors"
    (tmp_path / "own.report.html").write_text("my page")
    result = cli("edit", four, "-o", own, "--drop", 1)
    assert result.exit_code == 0
    assert "not its report" in result.stderr
    assert (tmp_path / "own.report.html").read_text() == "my page"


def test_names_are_the_columns_of_transform(cli, four, texts, tmp_path):
    names = ("--rename", "1=space", "--rename", "2=same", "--rename", "3=same")
    assert cli("edit", four, "-o", tmp_path / "new", *names).exit_code == 0
    shown = cli("transform", tmp_path / "new", texts).stdout
    assert shown.splitlines()[0] == "id,topic0,space,same topic2,same topic3"
    model = topicfold.load(tmp_path / "new")
    columns = model.get_feature_names_out().tolist()
    assert columns == ["lda0", "space", "same lda2", "same lda3"]
