# SPDX-License-Identifier: BSD-3-Clause
"""Tables are read as they are: columns by name, sheets, fields within fields, gzip."""

import gzip
import json
import shutil

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from topicfold.corpus import read, read_texts
from topicfold.exceptions import DataError, DataWarning


def workbook(path, **sheets):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def parquet(path, names, columns):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    write_table(pyarrow.table(list(map(pyarrow.array, columns)), names=names), path)
    return path


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
def test_a_name_of_two_columns_is_refused_in_every_table(tmp_path, kind):
    file = tmp_path / f"t.{kind}"
    for twice in ("text", "label"):
        names = ["text", "label", twice]
        if kind == "csv":
            file.write_text(f"{','.join(names)}\nfox,x,fish\n")
        elif kind == "xlsx":
            workbook(file, One=[names, ["fox", "x", "fish"]])
        else:
            parquet(file, names, [["fox"], ["x"], ["fish"]])
        with pytest.raises(DataError, match=f"has 2 columns named '{twice}'. Rename"):
            read_texts(file, label="label")
    assert read_texts(file).labels is None  # a name that nobody asked for
    apart = tmp_path / "t.json"
    apart.write_text('{"columns": ["text", "text"], "data": [["fox", "fish"]]}')
    with pytest.raises(DataError, match="has 2 columns named 'text'"):
        read_texts(apart)


def test_an_empty_cell_is_an_empty_text_in_a_sheet_as_in_csv(tmp_path):
    """Rows stay those of the table, which `effects` reads again."""
    rows = [["text", "title", "label"], ["fox", "a", "x"], [None, None, "y"]]
    workbook(tmp_path / "t.xlsx", One=rows)
    lines = (",".join(cell or "" for cell in row) for row in rows)
    (tmp_path / "t.csv").write_text("\n".join(lines))
    files = (tmp_path / "t.xlsx", tmp_path / "t.csv")
    for named in ({}, {"text": "text"}):
        sheet, plain = (read_texts(file, **named) for file in files)
        assert sheet == plain
        assert (sheet.texts[1].strip(), sheet.labels) == ("", ["x", "y"])


@pytest.mark.parametrize("kind", ["csv", "tsv", "xlsx"])
def test_names_of_columns_among_the_rows_are_refused(tmp_path, kind):
    file = tmp_path / f"t.{kind}"
    rows = [["text", "label"], ["fox", "x"], ["text", "label"], ["fish", "y"]]
    if kind == "xlsx":
        workbook(file, One=rows)
    else:
        mark = "\t" if kind == "tsv" else ","
        file.write_text("".join(f"{mark.join(row)}\n" for row in rows))
    with pytest.raises(DataError, match=r"3: the names of the columns once more"):
        read_texts(file)
    with pytest.warns(DataWarning, match="one bad .* left out"):
        found = read_texts(file, skip_bad_lines=True)
    assert (found.texts, found.labels) == (["fox", "fish"], ["x", "y"])


def test_a_row_like_the_numbers_of_columns_without_names_is_a_row(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("fox,x\n1,2\n")
    assert read_texts(file, text="1", label="2").texts == ["fox", "1"]


def test_a_text_like_the_name_of_the_only_column_is_a_text(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("text\nfox\ntext\n")
    assert read_texts(file).texts == ["fox", "text"]


def test_json_by_columns_keeps_rows_that_the_first_column_lacks(tmp_path):
    pandas = pytest.importorskip("pandas")
    file = tmp_path / "t.json"
    table = {"label": {"0": "x"}, "text": {"0": "fox", "2": "fish", "1": "owl"}}
    file.write_text(json.dumps(table))
    found = read_texts(file)
    assert found.texts == ["fox", "fish", "owl"]
    assert found.labels == ["x", "", ""]
    assert len(pandas.read_json(file)) == 3


def test_rows_of_json_by_columns_keep_the_order_of_the_longest_column(tmp_path):
    file = tmp_path / "t.json"
    file.write_text('{"label": {"1": "x"}, "text": {"0": "a", "1": "b", "2": "c"}}')
    found = read_texts(file)
    assert (list(found.texts), list(found.labels)) == (["a", "b", "c"], ["", "x", ""])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.jsonl", '{"text": "fox"}\n{"text": "fox", "text": "fish"}\n'),
        ("t.json", '[{"text": "fox"}, {"text": "fox", "text": "fish"}]'),
        ("t.json", '{"text": ["fox"], "text": ["fish"]}'),
        ("t.json", '{"docs": [{"text": "fox"}, {"text": "fox", "text": "fish"}]}'),
        ("t.json", '{"a": {"text": "fox", "text": "fish"}}'),
    ],
)
def test_a_field_of_json_that_is_there_twice_is_refused(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match="the field 'text' occurs twice"):
        read_texts(tmp_path / name)
    # In a field within a field that is not read it does not matter.
    (tmp_path / "u.jsonl").write_text('{"text": "fox", "more": {"a": 1, "a": 2}}')
    assert list(read_texts(tmp_path / "u.jsonl").texts) == ["fox"]


@pytest.mark.parametrize("orient", ["columns", "index", "split", "records", "table"])
def test_json_of_every_shape_that_pandas_writes(tmp_path, orient):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"label": ["x", "y"], "body": ["red fox", "blue fish"]})
    file = tmp_path / "t.json"
    table.to_json(file, orient=orient)
    for stated in ({}, {"text": "body"}):
        found = read_texts(file, **stated)
        assert found.texts == ["red fox", "blue fish"]
        assert found.labels == ["x", "y"]
        assert {"text": "body", "label": "label"}.items() <= found.columns.items()


TABLE = (
    'title,text,year\n"Foxes","A fox,\nred and\nquick",1999\nFish,"blue, cold",2001\n'
)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (TABLE, "csv"),
        (TABLE.replace(",", ";"), "csv"),
        ("id|text\n1|red fox, quick\n2|blue fish\n", "csv"),
        ("id\ttext\n1\tred fox\n2\tblue fish\n", "tsv"),
        ("a,b,c\n" + "1,2,3\n" * 5, "csv"),
        ('{"text": "red fox"}\n{"text": "fish"}\n', "jsonl"),
    ],
)
@pytest.mark.parametrize("name", ["t.txt", "t", "t.txt.gz"])
def test_a_table_called_a_text_is_questioned(tmp_path, content, kind, name):
    file = tmp_path / name
    open_file = gzip.open if name.endswith("gz") else open
    with open_file(file, "wt", encoding="utf-8") as stream:
        stream.write(content)
    with pytest.raises(DataError, match=f"format='{kind}', or format='lines'"):
        read_texts(file)
    with pytest.raises(DataError, match="looks like"):
        read(file)
    assert len(read_texts(file, format="lines").texts) == content.count("\n")


@pytest.mark.parametrize(
    "content",
    [
        "Hello, world\nGoodbye, world\nHello, again\n" * 9,  # two fields by chance
        "Text, said the fox.\nA line\nanother, longer, line, of text\n",
        "The quick brown fox\n\n",
        "title\nred fox\nblue fish\n",
        '{"text": "fox"} and so on\n{"a": 1}\n',
        "",
    ],
)
def test_lines_of_text_are_not_questioned(tmp_path, content):
    from topicfold.corpus.texts import text_format

    file = tmp_path / "t.txt"
    file.write_text(content)
    assert text_format(file) == "lines"


@pytest.mark.parametrize(
    ("name", "content", "advice"),
    [
        ("t.jsonl", TABLE, "as JSON lines, but .*'csv', or format='jsonl' if it is"),
        ("t.json", TABLE, "as JSON, but it looks like a table"),
        ("t.xlsx", TABLE, r"as an Excel file, but .*: format='csv'\.$"),
        ("t.parquet", TABLE, r"as a Parquet file, but .*: format='csv'\.$"),
        ("t.tsv", TABLE, "as a table with tabs, but .*format='csv'"),
        ("t.csv", '{"text": "red fox, a"}\n' * 3, "as a table, but .*format='jsonl'"),
    ],
)
def test_a_file_with_the_suffix_of_another_is_questioned(
    tmp_path, name, content, advice
):
    file = tmp_path / name
    file.write_text(content)
    with pytest.raises(DataError, match=advice):
        read_texts(file)
    kind = "jsonl" if "{" in content else "csv"
    assert "fox" in read_texts(file, format=kind).texts[0]


def test_a_row_too_short_and_a_row_too_long_have_their_own_advice(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("id,text\n1,red fox\n2\n")
    with pytest.raises(DataError, match=r"line 3: 1 fields.*',' for each empty field"):
        read_texts(file)
    file.write_text("id,text\n1,red, fox\n")
    with pytest.raises(DataError, match=r"line 2: 3 fields.*into quotes"):
        read_texts(file)


def test_a_table_of_another_suffix_is_recognised(tmp_path):
    file = tmp_path / "t.dat"
    file.write_text("id|text\n1|red fox, quick\n2|blue fish\n")
    with pytest.raises(DataError, match=r"'\.dat'.*columns 'id', 'text': format='csv'"):
        read_texts(file)
    assert read_texts(file, format="csv").texts == ["red fox, quick", "blue fish"]
    file.write_text("a line\n")
    with pytest.raises(DataError, match=r"'\.dat'.*Give a folder of \.txt files"):
        read_texts(file)


def test_a_long_table_is_known_by_its_beginning(tmp_path):
    rows = "".join(f'{n},"a long text\nof {n} lines, or two"\n' for n in range(60_000))
    file = tmp_path / "t.txt"
    file.write_text("id,text\n" + rows)
    assert file.stat().st_size > 1 << 20
    with pytest.raises(DataError, match="columns 'id', 'text'"):
        read_texts(file)


def test_sheets_are_chosen_by_title_or_number(tmp_path):
    file = workbook(
        tmp_path / "t.xlsx",
        Notes=[["what", "when"], ["nothing", "today"]],
        Data=[["text", "label"], ["fox", "land"], ["fish", "sea"]],
        Empty=[],
    )
    for sheet in ("Data", "2", 2):
        found = read_texts(file, sheet=sheet)
        assert found.texts == ["fox", "fish"]
        assert found.labels == ["land", "sea"]
        assert found.columns["sheet"] == "Data"
    with pytest.raises(
        DataError,
        match=r"no column 'text'.*the sheet 'Notes'; the file also has 'Data'",
    ):
        read_texts(file)
    with pytest.raises(
        DataError, match=r"no sheet 'Date'. It has 'Notes', 'Data', 'Em"
    ):
        read_texts(file, sheet="Date")
    with pytest.raises(DataError, match="no sheet '4'"):
        read_texts(file, sheet=4)
    (tmp_path / "t.csv").write_text("text\nfox\n")
    with pytest.raises(DataError, match="has no sheets"):
        read_texts(tmp_path / "t.csv", sheet="Data")
    alone = workbook(tmp_path / "one.xlsx", Only=[["text"], ["fox"]])
    assert "sheet" not in read_texts(alone).columns


NESTED = [
    {"id": "a", "body": {"text": "red fox", "by": {"name": "Ann"}}, "meta": {"y": 1}},
    {"id": "b", "body": {"text": "blue fish", "by": {"name": "Bo"}}, "meta": {"y": 2}},
]


@pytest.mark.parametrize("kind", ["jsonl", "json", "parquet"])
def test_points_lead_into_fields(tmp_path, kind):
    file = tmp_path / f"t.{kind}"
    if kind == "parquet":
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow.parquet import write_table

        write_table(pyarrow.Table.from_pylist(NESTED), file)
    elif kind == "json":
        file.write_text(json.dumps(NESTED))
    else:
        file.write_text("".join(json.dumps(record) + "\n" for record in NESTED))
    found = read_texts(file, text="body.text", label="meta.y")
    assert found.texts == ["red fox", "blue fish"]
    assert found.labels == ["1", "2"]
    assert found.ids == ["a", "b"]
    with pytest.raises(
        DataError, match=r"no column 'body.txt'. Did you mean 'body.text'"
    ):
        read_texts(file, text="body.txt", skip_bad_lines=True)
    if kind != "parquet":
        assert read_texts(file, text="body.text", extra=["body.by.name"]).extra == {
            "body.by.name": ["Ann", "Bo"]
        }


def test_a_field_that_holds_others_names_them(tmp_path):
    file = tmp_path / "t.jsonl"
    file.write_text(json.dumps(NESTED[0]))
    with pytest.raises(
        DataError,
        match=r'"body" holds other fields: body\.text, body\.by.* Name one of them',
    ):
        read_texts(file)


def test_what_holds_a_used_field_is_not_called_unused(tmp_path):
    file = tmp_path / "t.jsonl"
    rows = [{**row, "__index_level_0__": 3, "other": "x"} for row in NESTED]
    file.write_text("\n".join(map(json.dumps, rows)))
    read = read_texts(file, text="body.text")
    assert "body" not in read.columns["not used"].split(", ")
    assert "__index_level_0__" not in read.columns["not used"]
    assert "other" in read.columns["not used"]


def test_a_name_with_a_point_of_its_own_is_taken_as_it_is(tmp_path):
    file = tmp_path / "t.jsonl"
    file.write_text('{"body.text": "fox", "body": {"text": "fish"}}')
    assert read_texts(file, text="body.text").texts == ["fox"]


@pytest.mark.parametrize("kind", ["xlsx", "parquet", "npz", "folder"])
def test_gzip_of_everything(tmp_path, kind):
    if kind == "folder":
        (tmp_path / "in" / "land").mkdir(parents=True)
        for name in ("one.txt.gz", "two.txt.gz"):
            with gzip.open(tmp_path / "in" / "land" / name, "wt") as stream:
                stream.write("red fox")
        found = read_texts(tmp_path / "in")
        assert found.texts == ["red fox"] * 2
        assert found.labels == ["land"] * 2
        return
    file = tmp_path / f"t.{kind}"
    if kind == "xlsx":
        workbook(file, One=[["text"], ["red fox"]])
    elif kind == "parquet":
        parquet(file, ["text"], [["red fox"]])
    else:
        sparse.save_npz(file, sparse.csr_matrix([[1, 0], [2, 1]]))
        (tmp_path / "vocab.txt").write_text("fox\nred")
    packed = tmp_path / f"t.{kind}.gz"
    with file.open("rb") as source, gzip.open(packed, "wb") as target:
        shutil.copyfileobj(source, target)
    if kind == "npz":
        assert_array_equal(read(packed).counts.toarray(), [[1, 0], [2, 1]])
    else:
        assert read_texts(packed).texts == ["red fox"]
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(DataError, match=f"t.{kind}.gz cannot be read"):
        read(packed)


def test_a_packed_table_that_unpacks_to_absurdly_much_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("openpyxl")
    monkeypatch.setattr("topicfold.corpus.lines.ALWAYS_FINE", 10**5)
    with gzip.open(tmp_path / "t.xlsx.gz", "wb") as stream:
        stream.write(bytes(50 << 20))
    with pytest.raises(DataError, match="would unpack to more than"):
        read_texts(tmp_path / "t.xlsx.gz")


def test_zero_bytes_of_a_text_are_left_to_its_reader(tmp_path):
    file = tmp_path / "t.txt"
    file.write_bytes(np.arange(40, dtype=np.int32).tobytes())
    with pytest.raises(DataError, match="is not text"):
        read_texts(file)


def test_a_table_without_rows_is_not_documents(tmp_path):
    file = workbook(tmp_path / "t.xlsx", One=[["text"]])
    with pytest.raises(DataError, match="has no documents"):
        read_texts(file)


def test_ids_that_come_twice_are_still_told(tmp_path):
    file = workbook(tmp_path / "t.xlsx", One=[["text", "id"], ["a", 1], ["b", 1]])
    with pytest.warns(DataWarning, match="All ids are ignored"):
        assert read_texts(file).ids is None
