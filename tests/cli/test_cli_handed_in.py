# SPDX-License-Identifier: BSD-3-Clause
"""Small files that a person hands in: links, seeds, answers, edits."""

import numpy as np
import pytest

from topicfold.choosing.cells import ResultFile
from topicfold.cli.edit import read_edits
from topicfold.cli.inputs import read_links, read_seeds
from topicfold.cli.label import with_answers
from topicfold.cli.messages import CommandError
from topicfold.graph.user_graph import check_graph


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
    with pytest.raises(CommandError, match=said):
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
    with pytest.raises(CommandError, match=r"UTF-8|is not JSON"):
        read_edits(written(tmp_path, content))


@pytest.mark.parametrize(
    "change",
    [{"value": []}, {"metric": 3}, {"seconds": "long"}, {"model": None}],
    ids=repr,
)
def test_rows_without_sense_are_done_again(tmp_path, change):
    file = tmp_path / "scores.jsonl"
    row = {
        "model": "lda",
        "metric": "coherence",
        "value": 0.5,
        "seconds": 1.0,
        "n_components": 3,
        "peak_memory_mb": None,
    }
    ResultFile(file).add("sound", [row])
    ResultFile(file).add("odd", [{**row, **change}])
    again = ResultFile(file)
    assert again.get("sound")[0]["value"] == 0.5
    assert again.get("odd") is None
