# SPDX-License-Identifier: BSD-3-Clause
import base64
import json
import re
import zlib

import numpy as np
import pytest

from topicfold import PLSA
from topicfold.cli.report import read_times
from topicfold.persistence.model_folder import (
    load_model_folder,
    report_file,
    save_model_folder,
)


def data_of(file):
    html = file.read_text(encoding="utf-8")
    start = html.index('id="report-data">') + len('id="report-data">')
    return json.loads(html[start : html.index("</script>", start)])


@pytest.fixture
def bare(cli, texts, small, tmp_path):
    """Folder of a model without a report."""
    folder = tmp_path / "bare"
    result = cli("fit", texts, "-o", folder, "--no-report", *small)
    assert result.exit_code == 0, result.output
    return folder


def test_report_of_a_model(cli, bare):
    assert not (bare / "report.html").exists()
    result = cli("report", bare)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"Report   {bare / 'report.html'}\n"
    page = data_of(bare / "report.html")
    assert page["counts"]["topics"] == 2
    assert page["counts"]["documents"] == 6
    data = load_model_folder(bare).topic_data()
    assert [topic["name"] for topic in page["topics"]] == [data.name(0), data.name(1)]


def test_two_models(cli, check_error, bare, texts, small, tmp_path):
    other = tmp_path / "other"
    assert cli("fit", texts, "-o", other, *small, "--model", "plsa").exit_code == 0
    result = cli("report", bare, "--against", other, "-o", tmp_path / "two.html")
    assert result.exit_code == 0, result.output
    assert "Matched  2 of 2 topics with one of 2 topics" in result.stdout
    assert " of 6 documents" in result.stdout
    page = data_of(tmp_path / "two.html")
    assert page["against"]["name"] == "PLSA, 2 topics"
    check_error(cli("report", bare, "--against", tmp_path / "none"), "none")


def test_options(cli, bare, texts, tmp_path):
    file = tmp_path / "r.html"
    options = ("--title", "My <topics>", "--max-documents", 4, "--max-size", 0.25)
    result = cli("report", bare, "-o", file, "--documents", texts, *options)
    assert result.exit_code == 0, result.output
    page = data_of(file)
    assert page["title"] == "My <topics>"
    assert page["texts"] is not None
    assert page["topics"][0]["coherence"] is not None
    assert file.stat().st_size <= 250_000
    assert "My &lt;topics&gt;" in file.read_text(encoding="utf-8")


def test_saved_record(cli, bare, tmp_path):
    data = load_model_folder(bare).topic_data()
    record = data.save(tmp_path / "data.safetensors")
    result = cli("report", record)
    assert result.exit_code == 0, result.output
    assert report_file(record) == tmp_path / "data.report.html"
    assert data_of(tmp_path / "data.report.html")["counts"]["topics"] == 2


def test_fit_writes_the_report(cli, texts, small, tmp_path):
    folder = tmp_path / "m"
    result = cli("fit", texts, "-o", folder, *small)
    assert f"Report   {folder / 'report.html'}" in result.stdout
    page = data_of(folder / "report.html")
    assert page["texts"] is not None
    assert page["title"] == "texts: LDA, 2 topics"
    assert page["topics"][0]["coherence"] is not None
    assert cli("fit", texts, "-o", folder, "--force", *small).exit_code == 0


def test_failed_report_keeps_the_model(cli, texts, small, tmp_path, monkeypatch):
    def fail(*args, **options):
        raise RuntimeError("no ink")

    monkeypatch.setattr("topicfold.report.write_report", fail)
    result = cli("fit", texts, "-o", tmp_path / "m", *small)
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: the model is saved, but not its report")
    assert "no ink" in result.stderr
    assert "Report" not in result.stdout
    assert load_model_folder(tmp_path / "m").vocabulary


@pytest.mark.usefixtures("fake_docs")
def test_demo_ends_with_the_report(cli, tmp_path):
    result = cli("demo", "-o", tmp_path / "demo", "-k", 2)
    assert result.exit_code == 0, result.output
    file = tmp_path / "demo" / "report.html"
    last = result.stdout.rstrip().splitlines()[-1]
    assert last == f"Report   {file} (open it in a browser)"
    page = data_of(file)
    assert page["classes"]["names"] == ["land", "sea"]
    assert page["texts"] is not None


def test_other_documents_are_refused(cli, check_error, bare, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("red fox\n")
    check_error(cli("report", bare, "--documents", other), "1 documents", "fitted on 6")
    check_error(cli("report", bare, "--documents", tmp_path / "no.txt"), "no.txt")
    check_error(cli("report", bare, "--encoding", "utf-8"), "--documents")
    assert not (bare / "report.html").exists()


def test_built_in_documents_bring_their_texts(cli, fake_docs, tmp_path):
    folder = tmp_path / "m"
    fit = cli("fit", "docs", "-k", 2, "--max-iter", 2, "-o", folder, "--no-report")
    assert fit.exit_code == 0, fit.output
    result = cli("report", folder, "--documents", "docs", "--max-documents", 20)
    assert result.exit_code == 0, result.output
    page = data_of(folder / "report.html")
    assert page["texts"] is not None
    assert page["classes"]["names"] == ["land", "sea"]
    assert (page["counts"]["documents"], page["counts"]["shown"]) == (60, 20)


def test_documents_bring_labels_and_times(cli, check_error, write_counts, tmp_path):
    """A model of counts has neither; one that has them keeps its own."""
    model = PLSA(2, max_iter=2, random_state=0).fit([[2, 1], [0, 3], [1, 4]])
    save_model_folder(model, tmp_path / "m", vocabulary=["red", "sea"])
    counts = [[2, 1], [0, 3], [1, 4]]
    labelled = write_counts(counts, ["red", "sea"], ["x", "", "y"], name="labelled")
    page = tmp_path / "m" / "report.html"
    result = cli("report", tmp_path / "m", "--documents", labelled)
    assert result.exit_code == 0, result.output
    assert data_of(page)["classes"]["names"] == ["x", "y"]
    lines = [{"text": "red", "label": "z", "time": f"200{i}"} for i in range(3)]
    file = tmp_path / "in.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = cli("report", tmp_path / "m", "--documents", file)
    assert result.exit_code == 0, result.output
    assert data_of(page)["time"]["names"] == ["2000", "2001", "2002"]
    save_model_folder(model, tmp_path / "m", labels=["a", "b", "b"])
    assert cli("report", tmp_path / "m", "--documents", file).exit_code == 0
    assert data_of(page)["classes"]["names"] == ["a", "b"]
    # They are found by their ids.
    save_model_folder(model, tmp_path / "m", doc_ids=["a", "b", "c"])
    bare = write_counts(counts, ["red", "sea"], name="bare")
    (bare / "ids.txt").write_text("c\nb\na\n")
    nothing = "no texts, and its labels and times are already in the model"
    check_error(cli("report", tmp_path / "m", "--documents", bare), nothing)
    # Or by their order.
    (bare / "ids.txt").unlink()
    check_error(cli("report", tmp_path / "m", "--documents", bare), nothing)


def test_documents_are_found_by_their_ids(cli, check_error, small, tmp_path):
    lines = [
        {"id": f"d{i}", "text": f"red fox {'deep sea' if i % 2 else 'wolf'} no {i}"}
        for i in range(6)
    ]
    file = tmp_path / "in.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines[:4]))
    fit = cli("fit", file, "-o", tmp_path / "m", "--no-report", *small)
    assert fit.exit_code == 0, fit.output
    file.write_text("".join(json.dumps(line) + "\n" for line in lines[::-1]))
    result = cli("report", tmp_path / "m", "--documents", file)
    assert result.exit_code == 0, result.output
    packed = data_of(tmp_path / "m" / "report.html")["texts"]["data"]
    shown = zlib.decompress(base64.b64decode(packed)).decode().split("\x1e")
    # Without the marks of words they are the texts, in the model's order.
    plain = [re.sub(r"\x01\d+\x02|\x03", "", text) for text in shown]
    assert plain == [line["text"] for line in lines[:4]]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines[1:]))
    check_error(
        cli("report", tmp_path / "m", "--documents", file),
        "lacks 1 document of",
        "'d0'",
    )


def test_files_of_others_are_kept(cli, check_error, bare, tmp_path):
    file = tmp_path / "report.html"
    file.write_text("<html>mine</html>")
    check_error(cli("report", bare, "-o", file), "not a report of topicfold")
    assert file.read_text() == "<html>mine</html>"
    check_error(cli("report", bare, "-o", tmp_path), "is a folder")
    check_error(cli("report", tmp_path / "nowhere"), "nowhere")
    (tmp_path / "empty").mkdir()
    check_error(cli("report", tmp_path / "empty"), "not a saved model")
    check_error(cli("report", bare, "--max-documents", 0), "--max-documents")
    file.unlink()
    assert cli("report", bare, "-o", file).exit_code == 0
    assert cli("report", bare, "-o", file).exit_code == 0


def test_times():
    assert read_times(None) is None
    assert read_times(["", " "]) is None
    assert read_times(["3", "", "4.5"])[[0, 2]].tolist() == [3, 4.5]
    found = read_times(["2001-02-03T04:05:06Z", ""])
    assert str(found[0]) == "2001-02-03T04:05:06"
    assert np.isnat(found[1])


def test_times_that_nobody_can_read_are_told(capsys):
    assert read_times(["", "last spring"]) is None
    assert "'last spring'" in capsys.readouterr().err
