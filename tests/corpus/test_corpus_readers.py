# SPDX-License-Identifier: BSD-3-Clause
import gzip
import json

import pytest

from topicfold.corpus import read_texts
from topicfold.exceptions import DataError


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_folder_with_labels_is_sorted(tmp_path):
    write(tmp_path / "b" / "1.txt", "third")
    write(tmp_path / "a" / "2.txt", "second")
    write(tmp_path / "a" / "1.TXT", "\ufefffirst\r\nline")
    write(tmp_path / "a" / ".hidden.txt", b"\xff")
    write(tmp_path / ".git" / "x.txt", b"\xff")
    write(tmp_path / "a" / "notes.md", "no")
    found = read_texts(tmp_path)
    assert found.texts == ["first\nline", "second", "third"]
    assert found.labels == ["a", "a", "b"]
    assert found.ids == ["a/1.TXT", "a/2.txt", "b/1.txt"]


def test_flat_folder_has_no_labels_and_mixed_has_empty_ones(tmp_path):
    write(tmp_path / "1.txt", "one")
    assert read_texts(tmp_path).labels is None
    write(tmp_path / "x" / "y" / "2.txt", "two")
    assert read_texts(str(tmp_path)).labels == ["", "x/y"]


def test_lines_are_rows(tmp_path):
    file = write(tmp_path / "lines.txt", "one\r\n\ntwo\x0c\u2028still two\n")
    found = read_texts(file)
    assert found.texts == ["one", "", "two\x0c\u2028still two"]
    assert found.labels is None
    assert found.ids is None


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_json_lines(tmp_path, suffix):
    records = [{"text": "one", "label": "x", "id": 7}, {"text": "two", "id": "b"}]
    content = "\n\n".join(json.dumps(record) for record in records).encode()
    if suffix.endswith(".gz"):
        content = gzip.compress(content)
    found = read_texts(write(tmp_path / f"docs{suffix}", content))
    assert found == (["one", "two"], ["x", ""], ["7", "b"])


def test_json_lines_with_text_only(tmp_path):
    file = write(tmp_path / "docs.jsonl", '{"text": "one"}\n')
    assert read_texts(file) == (["one"], None, None)


def test_encoding(tmp_path):
    file = write(tmp_path / "lines.txt", "fine\ncaf\xe9\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"line 2: byte 0xe9 is not utf-8"):
        read_texts(file)
    assert read_texts(file, encoding="latin-1").texts == ["fine", "café"]
    with pytest.raises(DataError, match="not known"):
        read_texts(file, encoding="klingon")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"text": "x"}\n{"text"\n', "line 2: not valid JSON"),
        ("a.jsonl", '\n["x"]\n', "line 2: a list instead"),
        ("a.jsonl", '{"label": "x"}\n', 'line 1: the field "text" is missing'),
        ("a.jsonl", '{"text": 3}\n', 'line 1: the field "text" is a int'),
        ("a.jsonl", '{"text": "x", "label": []}', 'field "label" is a list'),
        ("a.jsonl", '{"text": "x", "id": 1}\n{"text": "y"}', 'line 2: the field "id"'),
        ("a.jsonl", "\n\n", "no documents"),
        ("a.txt", "", "no documents"),
        ("a.csv", "text\nx\n", "suffix '.csv'"),
        ("a.jsonl.gz", b"no gzip", "cannot be read"),
    ],
)
def test_clear_errors(tmp_path, name, content, message):
    with pytest.raises(DataError, match=message):
        read_texts(write(tmp_path / name, content))


def test_missing_and_empty_places(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        read_texts(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"no \.txt files"):
        read_texts(tmp_path)
