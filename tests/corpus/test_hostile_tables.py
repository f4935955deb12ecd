# SPDX-License-Identifier: BSD-3-Clause
"""Tables that are small on the disk and huge in memory, or nested without end."""

import zipfile
from itertools import pairwise

import pytest

from topicfold import corpus
from topicfold.exceptions import DataError

openpyxl = pytest.importorskip("openpyxl")


@pytest.fixture
def sheet(tmp_path):
    """Write a sheet, one member of the archive changed by a function."""
    book = openpyxl.Workbook()
    book.active.append(["text"])
    book.active.append(["red fox"])
    book.save(tmp_path / "sound.xlsx")
    with zipfile.ZipFile(tmp_path / "sound.xlsx") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}

    def write(change):
        name = "xl/worksheets/sheet1.xml"
        changed = {**members, name: change(members[name].decode()).encode()}
        with zipfile.ZipFile(tmp_path / "odd.xlsx", "w", zipfile.ZIP_DEFLATED) as file:
            for member, content in changed.items():
                file.writestr(member, content)
        return tmp_path / "odd.xlsx"

    return write


def test_entities_do_not_grow(sheet):
    letters = "abcdefghi"
    lines = [f'<!ENTITY a "{"A" * 1000}">']
    lines += [f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in pairwise(letters)]
    file = sheet(
        lambda text: f"<!DOCTYPE x [{''.join(lines)}]>{text.replace('red fox', '&i;')}"
    )
    with pytest.raises(DataError, match=r"cannot be read as \.xlsx"):
        corpus.read_texts(file)


def test_an_archive_that_unpacks_to_absurdly_much_is_refused(sheet, monkeypatch):
    monkeypatch.setattr("topicfold.corpus.npz._ALWAYS_FINE", 1 << 20)
    file = sheet(lambda text: text + " " * (20 << 20))
    assert file.stat().st_size < 100_000
    with pytest.raises(DataError, match="would unpack to"):
        corpus.read_texts(file)


@pytest.mark.parametrize("end", ["json", "jsonl"])
def test_brackets_without_end_are_refused(tmp_path, end):
    file = tmp_path / f"deep.{end}"
    file.write_text('{"text": ' + "[" * 200_000)
    with pytest.raises(DataError, match="deep"):
        corpus.read_texts(file)
