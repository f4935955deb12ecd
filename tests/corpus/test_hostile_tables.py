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
    monkeypatch.setattr("topicfold.corpus.lines.ALWAYS_FINE", 1 << 20)
    file = sheet(lambda text: text + " " * (20 << 20))
    assert file.stat().st_size < 100_000
    with pytest.raises(DataError, match="would unpack to"):
        corpus.read_texts(file)


@pytest.mark.parametrize("place", ["XFD1048576", "A1048576", "XFD1"])
def test_cells_that_are_not_there_cost_nothing(tmp_path, place, monkeypatch):
    book = openpyxl.Workbook()
    cells = {"A1": "text", "A2": "red fox", "A3": "fish", "A1048576": "end", place: "x"}
    for cell, value in cells.items():
        book.active[cell] = value
    book.save(tmp_path / "far.xlsx")
    sheet = openpyxl.worksheet._read_only.ReadOnlyWorksheet
    iter_rows = sheet.iter_rows

    def counted(*args, **options):
        n_cells = 0
        for row in iter_rows(*args, **options):
            n_cells += len(row)
            assert n_cells < 50_000
            yield row

    monkeypatch.setattr(sheet, "iter_rows", counted)
    texts = corpus.read_texts(tmp_path / "far.xlsx", text="text").texts
    assert texts[:2] == ["red fox", "fish"]


def test_a_row_of_any_number_is_not_waited_for(sheet):
    file = sheet(lambda text: text.replace('r="2"', f'r="{10**15}"'))
    with pytest.raises(DataError, match="has no documents"):
        corpus.read_texts(file)


def test_a_stated_size_is_not_believed(sheet):
    for size in ("A1", "A1:XFD1048576"):
        file = sheet(lambda text, s=size: text.replace('ref="A1:A2"', f'ref="{s}"'))
        assert corpus.read_texts(file).texts == ["red fox"]


def test_of_two_columns_of_a_name_that_nobody_asked_for_none_is_read(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["text", "label", "label", "id"])
    book.active.append(["red fox", "land", "red", 1])
    book.save(tmp_path / "t.xlsx")
    found = corpus.read_texts(tmp_path / "t.xlsx")
    assert (found.labels, found.ids) == (None, ["1"])


@pytest.mark.parametrize("end", ["json", "jsonl"])
def test_brackets_without_end_are_refused(tmp_path, end):
    file = tmp_path / f"deep.{end}"
    file.write_text('{"text": ' + "[" * 200_000)
    with pytest.raises(DataError, match="deep"):
        corpus.read_texts(file)
