# SPDX-License-Identifier: BSD-3-Clause
"""Small files that a person hands in: links, seeds, answers, edits."""

import json
import subprocess
import sys

import numpy as np
import pytest

from topicfold import compare
from topicfold.choosing.evaluation import ScoreFile
from topicfold.cli.console import CommandError
from topicfold.cli.edit import read_edits
from topicfold.cli.label import with_answers
from topicfold.cli.sides import read_links, read_seeds
from topicfold.exceptions import DataError
from topicfold.graph import check_graph
from topicfold.persistence.model_folder import load_model_folder


def written(tmp_path, content, name="given.txt"):
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "has no links"),
        ("# only a comment\n", "has no links"),
        ("0 1\n1_0 2\n", "line 2: '1_0 2' is not a link"),
        ("0\n", "line 1: '0' is not a link"),
        ("-1 2\n", "is not a link"),
        ("0 x\n", "is not a link"),
        ("0 1 heavy\n", "is not a link"),
        ("0 1\n0 2 0.5\n", "every link a weight"),
        ("0 1 2 3\n", "every link a weight"),
        (b"0 1\n\x81\xff 2\n", "Save it as text in UTF-8"),
        (b"0\x00 1\n", "Save it as text in UTF-8"),
    ],
    ids=range(11),
)
def test_files_that_are_no_links(tmp_path, content, said):
    with pytest.raises((CommandError, DataError), match=said):
        read_links(written(tmp_path, content))


def test_as_many_links_as_columns_are_no_matrix(tmp_path):
    # Three weighted links of three documents are 3 x 3 numbers, and no matrix.
    links = read_links(written(tmp_path, "0 1 2\n1 2 3\n0 2 4\n"))
    expected = [[0, 2, 4], [2, 0, 3], [4, 3, 0]]
    np.testing.assert_array_equal(check_graph(links, 3).toarray(), expected)
    pairs = read_links(written(tmp_path, "0,1\r\n0,1\r\n"))
    np.testing.assert_array_equal(check_graph(pairs, 2).toarray(), [[0, 1], [1, 0]])


def test_seeds_of_another_encoding_are_read_and_said(tmp_path, capsys):
    file = written(tmp_path, "größe: maß, länge\n".encode("cp1252"))
    assert read_seeds(file) == {"größe": ["maß", "länge"]}
    assert "Western European" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "does not begin with"),
        ("name,class\na,b\n", "does not begin with"),
        ("id,label\nd1\n", "'d1', which is not an id and a label"),
        ("id,label\nd1,a,b\n", "'d1,a,b', which is not"),
        ('id,label\n"d1,a\n', "line 2: unexpected end of data"),
        ("id,label\nother,a\n", "does not have"),
        (b"id,label\nd1,\x81\xff\n", "Save it as text in UTF-8"),
    ],
    ids=range(7),
)
def test_files_that_are_no_answers(tmp_path, content, said):
    with pytest.raises(CommandError, match=said):
        with_answers(None, written(tmp_path, content), ["d1", "d2"])


def test_answers_with_line_ends_of_other_systems(tmp_path):
    content = '\ufeffid,label\r\nd1,"a, b"\r\n\r\nd1, c \r\n'
    assert with_answers(None, written(tmp_path, content), ["d1", "d2"]) == ["c", ""]


@pytest.mark.parametrize("content", [b"\x81\xff", b"[" * 100_000, b"{"], ids=range(3))
def test_files_that_are_no_edits(tmp_path, content):
    with pytest.raises(CommandError, match=r"UTF-8\.$|is not valid JSON .* Write {"):
        read_edits(written(tmp_path, content), None)


@pytest.mark.parametrize(
    "scores",
    [
        "[]",
        "3",
        '{"seconds": []}',
        '{"seconds": "long"}',
        '{"seconds": 1e999999}',
        f'{{"seconds": {"[" * 100_000}}}',
        f'{{"seconds": {"9" * 400}}}',
    ],
    ids=range(7),
)
def test_scores_without_sense_are_done_again(tmp_path, scores):
    file = tmp_path / "scores.jsonl"
    ScoreFile(file).add("sound", {"seconds": 0.5})
    with file.open("a") as stream:
        stream.write(f'{{"settings": "sound", "scores": {scores}}}\n')
    found = ScoreFile(file).scores["sound"]["seconds"]
    assert found in (0.5, np.inf)


def test_scores_of_other_columns_are_measured_again(tmp_path):
    file = tmp_path / "scores.jsonl"
    X = np.random.default_rng(0).poisson(1.0, (30, 12))
    options = {"n_components": 2, "random_state": 0, "results": file}
    first = compare(X, ["plsa"], **options).scores[0]
    row = json.loads(file.read_text().strip())
    row["scores"] = {"magic": 1.0}
    file.write_text(json.dumps(row))
    again = compare(X, ["plsa"], **options).scores[0]
    assert again.perplexity == first.perplexity


def test_spaces_separate_seeds_of_a_line_without_commas(tmp_path):
    file = tmp_path / "seeds.txt"
    file.write_text("sky: Moon star\nplace: new york, rome\n")
    assert read_seeds(file) == {"sky": ["moon", "star"], "place": ["new york", "rome"]}


def test_seeds_may_be_json(tmp_path):
    file = tmp_path / "seeds.json"
    file.write_text('{"water": ["Sea", "fish"], "land": ["fox"]}')
    assert read_seeds(file) == {"water": ["sea", "fish"], "land": ["fox"]}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"water": "sea"}', "'water' has no list of words"),
        ('{"water": []}', "'water' has no list of words"),
        ('{"water": {"sea": 1}}', "'water' has no list of words"),
        ('{"water": ["sea"], "water": ["fish"]}', "'water' comes twice"),
        ('{"water": ', "is not valid JSON"),
        ('{"water": ' + "[" * 100_000, "is not valid JSON"),
    ],
    ids=range(6),
)
def test_seeds_that_are_no_json(tmp_path, content, said):
    file = tmp_path / "seeds.json"
    file.write_text(content)
    with pytest.raises(CommandError, match=said) as caught:
        read_seeds(file)
    assert str(caught.value).endswith('Write {"space": ["orbit", "moon"]}.')


@pytest.mark.parametrize("weight", ["nan", "inf", "-1", "1e999"])
def test_a_weight_that_is_no_number_is_named_with_its_line(tmp_path, weight):
    file = tmp_path / "links.txt"
    file.write_text(f"0 1 1\n1 2 {weight}\n")
    with pytest.raises(DataError, match=r"links\.txt, line 2: .* is not a link"):
        read_links(file)


def test_an_edit_that_cannot_be_made_is_named_with_its_file(cli, model, tmp_path):
    file = tmp_path / "edits.json"
    edits = [{"action": "merge", "topics": list(range(10_000))}]
    content = {"format": "topicfold-edits", "version": 2, "edits": edits}
    file.write_text(json.dumps(content))
    done = cli("edit", model, "-o", tmp_path / "new", "--apply", file)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: {file}: Edit 0 (merge 0, 1, 2")
    assert len(done.stderr) < 400


@pytest.mark.slow
def test_bytes_from_a_terminal_that_are_no_text_are_shown(tmp_path):
    texts = tmp_path / "a.txt"
    texts.write_text("red fox\nblue sea\nred sea\nblue fox\n")
    code = "from topicfold.cli.main import run; run()"
    options = ("--min-df", "1", "--max-df", "1.0", "--jobs", "1", "-n", "1")
    done = subprocess.run(
        [sys.executable, "-c", code, "label", texts, tmp_path / "l.csv", *options],
        input=b"+caf\xe9\n",
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "caf\\xe9" in (tmp_path / "l.csv").read_text()


def test_a_column_without_a_name_is_a_column(cli, tmp_path):
    file = tmp_path / "odd.csv"
    rows = ["text,", "red fox,Ann", "red fox wood,Bob", "blue sea,Ann", "sea,Bob"]
    file.write_text("\n".join(rows) + "\n")
    words = ("--min-df", 1, "--max-df", "1.0", "--max-iter", 2, "-k", 2)
    done = cli("fit", file, "--authors", "", "-o", tmp_path / "m", *words)
    assert done.exit_code == 0, done.stderr
    model = load_model_folder(tmp_path / "m").model
    assert model.sides_[0].names_.tolist() == ["Ann", "Bob"]


@pytest.mark.parametrize(
    ("times", "said"),
    [(["2001-01-01", "soon", "2003", "2004"], "soon"), (["1", "1e999"] * 2, "1e999")],
)
def test_times_that_are_none_are_named(cli, tmp_path, times, said):
    file = tmp_path / "odd.csv"
    rows = [f"red fox word{i},{time}" for i, time in enumerate(times)]
    file.write_text("\n".join(["text,time", *rows]) + "\n")
    words = ("--min-df", 1, "--max-df", "1.0", "--max-iter", 2, "-k", 2)
    done = cli("fit", file, "-o", tmp_path / "m", *words)
    assert done.exit_code == 0, done.stderr
    assert f"the times (such as {said!r}) are not all" in done.stderr


@pytest.mark.parametrize("target", ["scores.jsonl", "nowhere"])
def test_scores_in_a_link_to_nothing(tmp_path, target):
    file = tmp_path / "scores.jsonl"
    file.symlink_to(target)
    with pytest.raises(DataError, match=r"scores\.jsonl is a link to nothing"):
        ScoreFile(file)
