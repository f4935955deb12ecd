# SPDX-License-Identifier: BSD-3-Clause
import csv
import datetime
import gzip
import hashlib
import json
import os
import sys
import warnings
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicfold.corpus import iter_texts, read_texts
from topicfold.exceptions import DataError, DataWarning, MissingDependencyError


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
    with pytest.warns(DataWarning, match=r"1 file is left out of .*1 \.md; first: a/"):
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


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".ndjson", ".jsonl.zst"])
def test_json_lines(tmp_path, suffix):
    records = [
        {"text": "one", "label": "x", "id": 7},
        {"text": "two", "id": "b", "time": 1999},
    ]
    content = "\n\n".join(json.dumps(record) for record in records).encode()
    if suffix.endswith(".gz"):
        content = gzip.compress(content, mtime=0)
    if suffix.endswith(".zst"):
        content = pytest.importorskip("zstandard").compress(content)
    found = read_texts(write(tmp_path / f"docs{suffix}", content))
    assert found[:4] == (["one", "two"], ["x", ""], ["7", "b"], ["", "1999"])


def test_json_lines_with_text_only(tmp_path):
    file = write(tmp_path / "docs.jsonl", '{"text": "one"}\n')
    assert read_texts(file)[:4] == (["one"], None, None, None)


def test_compression_is_seen_without_its_suffix(tmp_path):
    file = write(tmp_path / "lines.txt", gzip.compress(b"one\ntwo\n", mtime=0))
    assert read_texts(file).texts == ["one", "two"]


def test_zstandard_that_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    file = write(tmp_path / "docs.jsonl.zst", b"\x28\xb5\x2f\xfd")
    with pytest.raises(MissingDependencyError, match="pip install zstandard"):
        read_texts(file)


TABLE = 'Body,class,when,name\n"red, ""old"" fox",land,1999,a\n"two\nlines",,,b\n'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", TABLE),
        ("t.csv", "\ufeff\n" + TABLE.replace("\n", "\r\n")),
        ("t.csv.gz", gzip.compress(TABLE.encode(), mtime=0)),
        ("t.csv", TABLE.replace(",", ";").replace("red; ", "red, ")),
        ("t.tsv", TABLE.replace(",", "\t").replace("red\t ", "red, ")),
    ],
    ids=["csv", "mark", "packed", "semicolons", "tabs"],
)
def test_tables(tmp_path, name, content):
    file = write(tmp_path / name, content)
    found = read_texts(file, text="Body", label="class", id="name", time="when")
    assert found.texts == ['red, "old" fox', "two\nlines"]
    assert found.labels == ["land", ""]
    assert found.ids == ["a", "b"]
    assert found.times == ["1999", ""]
    assert read_texts(file, text="Body").labels is None


def test_table_with_usual_names_and_a_long_field(tmp_path):
    file = write(tmp_path / "t.csv", f"label,text,id\nx,{'fox ' * 50_000},1\n")
    found = read_texts(file)
    assert (found.labels, found.ids) == (["x"], ["1"])
    assert len(found.texts[0]) == 200_000


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    times = [datetime.date(1999, 1, 2), None]
    columns = {"text": ["one", "two"], "label": [1, None], "day": times}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    found = read_texts(tmp_path / "t.parquet", time="day")
    assert found[:4] == (["one", "two"], ["1", ""], None, ["1999-01-02", ""])
    parquet.write_table(pa.table({"text": ["one", None]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r'row 2: the field "text" is empty \(null\)'):
        read_texts(tmp_path / "t.parquet")
    with pytest.warns(DataWarning, match="one bad row was left out: row 2"):
        found = read_texts(tmp_path / "t.parquet", skip_bad_lines=True)
    assert found.texts == ["one"]
    with pytest.raises(DataError, match="no column 'body'"):
        read_texts(tmp_path / "t.parquet", text="body")
    write(tmp_path / "t.parquet", b"PAR1 but no more")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        read_texts(tmp_path / "t.parquet")


def test_parquet_that_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    file = write(tmp_path / "t.parquet", b"PAR1")
    with pytest.raises(MissingDependencyError, match=r"topicfold\[parquet\]"):
        read_texts(file)


def test_folder_of_files_without_suffix(tmp_path):
    write(tmp_path / "sci.space" / "49960", "moon")
    write(tmp_path / "rec.autos" / "1", "car")
    found = read_texts(tmp_path)
    assert found.texts == ["car", "moon"]
    assert found.labels == ["rec.autos", "sci.space"]


def test_stated_encoding(tmp_path):
    file = write(tmp_path / "lines.txt", "fine\ncaf\xe9\n".encode("latin-1"))
    assert read_texts(file, encoding="latin-1").texts == ["fine", "café"]
    with pytest.raises(DataError, match=r"line 2: byte 0xe9 is not utf-8"):
        read_texts(file, encoding="utf-8")
    for name in ("klingon", "hex", "rot13"):
        with pytest.raises(DataError, match="not known"):
            read_texts(file, encoding=name)


def test_western_european_is_said(tmp_path):
    file = write(
        tmp_path / "a" / "lines.txt", "fine\n\x93caf\xe9\x94\n".encode("latin-1")
    )
    with pytest.warns(DataWarning, match=r"byte 0x93 in line 2\); read as cp1252"):
        assert read_texts(file).texts == ["fine", "“café”"]
    write(tmp_path / "a" / "utf.txt", "ü")
    with pytest.warns(DataWarning, match="1 files in"):
        assert read_texts(tmp_path / "a").texts == ["fine\n“café”\n", "ü"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks(tmp_path, encoding):
    file = write(tmp_path / "lines.txt", "mañana\r\nübel\n".encode(encoding))
    assert read_texts(file).texts == ["mañana", "übel"]


def test_mixed_encodings_are_bad_lines(tmp_path):
    file = write(tmp_path / "lines.txt", b"caf\xc3\xa9\ncaf\xe9\nlast\n")
    with pytest.raises(
        DataError, match=r"line 2: byte 0xe9 is not utf-8.*skip_bad_lines=True"
    ):
        read_texts(file)
    with pytest.warns(DataWarning, match=r"one bad line was left out: line 2"):
        assert read_texts(file, skip_bad_lines=True).texts == ["café", "last"]


@pytest.mark.parametrize(
    ("name", "content", "texts"),
    [
        ("a.jsonl", '{"text": "a"}\nno\n[1]\n{"text": 3}\n{"text": "b"}', ["a", "b"]),
        ("a.csv", "text,label\na,x\nb\nc,y\nd,y,z\n", ["a", "c"]),
        ("a.csv", 'text,label\na,x\n"b"b,x\nc,y\n', ["a", "c"]),
    ],
    ids=["json", "fields", "quotes"],
)
def test_bad_lines_are_skipped_when_asked(tmp_path, name, content, texts):
    file = write(tmp_path / name, content)
    with pytest.raises(DataError, match=r"line [23]: .*skip_bad_lines=True"):
        read_texts(file)
    with pytest.warns(DataWarning, match="bad lines? w(ere|as) left out"):
        assert read_texts(file, skip_bad_lines=True).texts == texts


def test_bad_files_are_skipped_when_asked(tmp_path):
    write(tmp_path / "a.txt", "fine")
    write(tmp_path / "b.txt", b"PK\x03\x04\0\0")
    with pytest.raises(DataError, match=r"b.txt is not text: it is a ZIP archive"):
        read_texts(tmp_path)
    with pytest.warns(DataWarning, match="one bad file"):
        assert read_texts(tmp_path, skip_bad_lines=True).texts == ["fine"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"text": "x"}\n{"text"\n', "line 2: not valid JSON"),
        ("a.jsonl", "[" * 100_000, "line 1: not valid JSON"),
        ("a.jsonl", '\n["x"]\n', "line 2: a list instead"),
        ("a.jsonl", '{"label": "x"}\n', 'line 1: the field "text" is missing'),
        ("a.jsonl", '{"texts": "x"}\n', 'Did you mean "texts"?'),
        ("a.jsonl", '{"text": 3}\n', 'line 1: the field "text" is a number'),
        ("a.jsonl", '{"text": "x", "label": []}', 'field "label" is a list'),
        ("a.jsonl", '{"text": "x", "id": 1}\n{"text": "y"}', "line 2: the id is miss"),
        ("a.jsonl", "\n\n", "no documents"),
        ("a.txt", "", "no documents"),
        ("a.csv", "", "no documents"),
        ("a.csv", "text,label\n", "no documents"),
        (
            "a.csv",
            "Texts,label\nx,y\n",
            r"no column 'text'. Did you mean 'Texts'\? .*text='...'",
        ),
        ("a.csv", "text,text\nx,y\n", "2 columns named 'text'"),
        ("a.csv", 'text,label\nx,y\n"open,y\nmore,z\n', "line 3: a quote is opened"),
        ("a.txt", b"\x89PNG\r\n\x1a\n\0\0", "is not text: it is a binary file"),
        ("a.txt", b"%PDF-1.4\n%\xe2\xe3", "is a PDF file"),
        ("a.docx", b"PK", "suffix '.docx'"),
        ("a.jsonl.gz", b"no gzip", "cannot be read"),
        ("a.jsonl.gz", gzip.compress(b"x" * 99, mtime=0)[:-9], "cannot be read"),
    ],
)
def test_clear_errors(tmp_path, name, content, message):
    with pytest.raises(DataError, match=message):
        read_texts(write(tmp_path / name, content))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "text,id\nx,1\ny,2\nz,1\n"),
        ("a.jsonl", "\n" + '{"text": "x", "id": 1}\n' * 3),
    ],
    ids=["csv", "jsonl"],
)
def test_an_id_that_comes_twice(tmp_path, name, content):
    file = write(tmp_path / name, content)
    with pytest.raises(DataError, match=r"line [34]: the id '1' is already used in"):
        read_texts(file, id="id")
    with pytest.warns(
        DataWarning, match=r"line [34]: the id '1' .* All ids are ignored"
    ):
        found = read_texts(file)
    assert (len(found.texts), found.ids) == (3, None)


def test_options_that_do_not_fit(tmp_path):
    lines = write(tmp_path / "a.txt", "one\n")
    records = write(tmp_path / "a.jsonl", '{"text": "x", "class": "y"}\n')
    with pytest.raises(DataError, match="has no columns, so label"):
        read_texts(lines, label="class")
    with pytest.raises(DataError, match=r"no column 'clas'. Did you mean 'class'"):
        read_texts(records, label="clas")
    with pytest.raises(DataError, match="not a text format"):
        read_texts(lines, format="docx")
    with pytest.raises(DataError, match="is a file, which does not fit"):
        read_texts(lines, format="files")
    assert read_texts(records, format="lines").texts[0].startswith('{"text"')


def test_missing_and_empty_places(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        read_texts(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"no \.txt files"):
        read_texts(tmp_path)


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind here"
)
def test_unreadable(tmp_path):
    file = write(tmp_path / "a.txt", "one")
    file.chmod(0)
    with pytest.raises(DataError, match="cannot be read: Permission denied"):
        read_texts(file)


def test_one_document_at_a_time_with_progress(tmp_path):
    file = write(tmp_path / "a.txt", "line\n" * 300_000)
    seen = []
    documents = iter_texts(
        file, progress=lambda done, total: seen.append((done, total))
    )
    assert next(documents).line == 1
    assert seen[0][0] < file.stat().st_size
    assert sum(1 for _ in documents) == 299_999
    assert seen[-1] == (file.stat().st_size,) * 2


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.tsv", "a.jsonl", "a.csv.gz"])
@settings(max_examples=30)
@given(data=st.data())
def test_any_bytes_give_documents_or_our_error(tmp_path_factory, name, data):
    start = data.draw(st.sampled_from([b"", b"text,id\n", b"text\tid\n", b'{"text":"']))
    content = start + data.draw(st.binary(max_size=200))
    if name.endswith(".gz") and data.draw(st.booleans()):
        content = gzip.compress(content, mtime=0)
    file = write(tmp_path_factory.mktemp("fuzz") / name, content)
    skip = data.draw(st.booleans())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        try:
            found = read_texts(file, skip_bad_lines=skip)
        except DataError as error:
            assert str(file) in str(error)  # noqa: PT017
            return
    assert found.texts
    for values in found[1:4]:
        assert values is None or len(values) == len(found.texts)


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(*[st.text(st.characters(codec="utf-8"), max_size=20)] * 2),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from(["csv", "tsv", "jsonl"]),
)
def test_tables_come_back_as_they_were_written(tmp_path_factory, rows, kind):
    # Line ends of every system become "\n", as everywhere in text files.
    rows = [tuple(v.replace("\r", "\n") for v in row) for row in rows]
    file = tmp_path_factory.mktemp("table") / f"t.{kind}"
    with file.open("w", encoding="utf-8", newline="") as stream:
        if kind == "jsonl":
            stream.writelines(
                json.dumps({"text": t, "label": x}, ensure_ascii=False) + "\n"
                for t, x in rows
            )
        else:
            delimiter = "," if kind == "csv" else "\t"
            writer = csv.writer(stream, delimiter=delimiter, quoting=csv.QUOTE_ALL)
            writer.writerows([("text", "label"), *rows])
    found = read_texts(file, encoding="utf-8")
    assert found.texts == [text for text, _ in rows]
    labels = [label for _, label in rows]
    assert found.labels == (labels if any(labels) else None)


def test_a_zero_byte_far_behind_is_no_text(tmp_path):
    file = write(tmp_path / "a.txt", b"red fox\n" * 200_000 + b"\0\0\n")
    with pytest.raises(DataError, match="is not text: it is a binary file"):
        read_texts(file)


def test_a_damaged_zstandard_file_is_named(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    whole = zstandard.compress(b'{"text": "one"}\n' * 999)
    file = write(tmp_path / "a.jsonl.zst", whole[:20] + b"\xff" * 9 + whole[29:])
    with pytest.raises(DataError, match=r"a\.jsonl\.zst cannot be read"):
        read_texts(file)


def test_stated_encoding_of_a_folder_of_files(tmp_path):
    write(tmp_path / "a.txt", "eins\ncaf\xe9\n".encode("latin-1"))
    write(tmp_path / "b.txt", "zwei")
    seen = []
    found = read_texts(
        tmp_path, encoding="latin-1", progress=lambda *place: seen.append(place)
    )
    assert found.texts == ["eins\ncafé\n", "zwei"]
    assert seen == [(1, 2), (2, 2)]
    with pytest.raises(DataError, match=r"a\.txt, line 2: byte 0xe9 is not utf-8"):
        read_texts(tmp_path, encoding="utf-8")
    with pytest.raises(DataError, match="klingon"):
        read_texts(tmp_path, encoding="klingon")
    # UTF-16 has a mark; half of a character is an error of the file, not of ours.
    write(tmp_path / "a.txt", "ab".encode("utf-16")[:-1])
    with pytest.raises(DataError, match=r"a\.txt, line 1: byte 0x62 is not utf-16"):
        read_texts(tmp_path)


def test_bad_fields_of_records_are_skipped_when_asked(tmp_path):
    lines = ['{"text": "a", "label": "x"}', '{"text": "b", "label": [1]}']
    file = write(tmp_path / "a.jsonl", "\n".join(lines))
    with pytest.warns(DataWarning, match=r"one bad line .* 2.*\"label\" is a list"):
        found = read_texts(file, skip_bad_lines=True)
    assert (found.texts, found.labels) == (["a"], ["x"])


def test_parquet_has_progress_and_no_encoding(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    file = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"text": ["one"] * 25_000}), file)
    seen = []
    found = read_texts(file, progress=lambda *place: seen.append(place))
    assert len(found.texts) == 25_000
    assert seen == [(10_000, 25_000), (20_000, 25_000), (25_000, 25_000)]
    with pytest.raises(DataError, match="parquet files have no encoding"):
        read_texts(file, encoding="utf-8")


TABLE = "title,body,kind,date\nFoxes,red fox,land,2001-05-03\n,blue fish,sea,\n"


def test_several_columns_of_text_are_joined(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text(TABLE, encoding="utf-8")
    found = read_texts(file, text=["title", "body"], label="kind")
    assert found.texts == ["Foxes\nred fox", "blue fish"]
    assert found.columns == {"text": "title, body", "label": "kind", "time": "date"}
    with pytest.raises(DataError, match=r"no column 'bodi'. Did you mean 'body'\?"):
        read_texts(file, text=["title", "bodi"])


def test_other_columns_come_along(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "a", "by": ["Ann", "Bo"]}\n{"text": "b", "by": null}\n')
    found = read_texts(file, extra=["by"])
    assert found.extra == {"by": ["Ann; Bo", ""]}
    assert found.columns == {"text": "text", "extra": "by"}
    assert [document.extra for document in iter_texts(file, extra=["by"])] == [
        ("Ann; Bo",),
        ("",),
    ]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "json", "parquet", "xlsx"])
def test_title_and_date_are_recognised_in_every_kind_of_table(tmp_path, kind):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {"Title": ["Foxes", "Fish"], "Text": ["red", "blue"], "Date": ["2001", "2002"]}
    )
    file = tmp_path / f"a.{kind}"
    if kind == "xlsx":
        pytest.importorskip("openpyxl")
        table.to_excel(file, index=False)
    elif kind == "parquet":
        pytest.importorskip("pyarrow")
        table.to_parquet(file)
    elif kind == "csv":
        table.to_csv(file, index=False)
    else:
        table.to_json(file, orient="records", lines=kind == "jsonl")
    found = read_texts(file)
    assert found.texts == ["Foxes\nred", "Fish\nblue"]
    assert found.times == ["2001", "2002"]
    assert found.columns == {"text": "Title, Text", "time": "Date"}


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ('["a b", "c"]', ["a b", "c"]),
        ('{"docs": [{"text": "a"}]}', ["a"]),
        ('{"text": {"0": "a", "1": "b"}}', ["a", "b"]),
        ('{"text": ["a", "b"], "label": ["x", "y"]}', ["a", "b"]),
        ('{"text": "a"}\n{"text": "b"}', ["a", "b"]),
    ],
)
def test_json_of_many_shapes(tmp_path, content, texts):
    file = tmp_path / "a.json"
    file.write_text(content, encoding="utf-8")
    assert read_texts(file).texts == texts


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1, 2]", "neither a list of objects nor one of strings"),
        ("[", "is not valid JSON"),
        ('[{"text": "a"}, {"words": "b"}]', 'entry 2: the field "text" is missing'),
    ],
)
def test_json_that_holds_no_texts(tmp_path, content, message):
    file = tmp_path / "a.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_texts(file)


def test_table_without_names_has_numbers(tmp_path):
    file = tmp_path / "a.tsv"
    file.write_text("land\tred fox\nsea\tblue fish\n", encoding="utf-8")
    found = read_texts(file, text="2", label="1")
    assert found.texts == ["red fox", "blue fish"]
    assert found.labels == ["land", "sea"]
    with pytest.raises(DataError, match="by its number, from 1, if the first line"):
        read_texts(file)
    with pytest.raises(DataError, match="no column '3'"):
        read_texts(file, text="3")
    file.write_text("1\t2\nsea\tblue fish\n", encoding="utf-8")
    assert read_texts(file, text="2").texts == ["blue fish"]


def test_json_columns_of_different_lengths_are_an_error(tmp_path):
    file = tmp_path / "t.json"
    file.write_text('{"text": ["a", "b"], "label": ["x"]}')
    with pytest.raises(DataError, match="different lengths: 'text' 2, 'label' 1"):
        read_texts(file)


def test_a_damaged_sheet_is_told_and_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("topicfold.corpus.lines.ALWAYS_FINE", 10**6)
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["text"])
    book.active.append(["red fox"])
    book.save(tmp_path / "t.xlsx")
    for name, content in (("bad", b"<worksheet><row"), ("bomb", b" " * 10**7)):
        file = tmp_path / f"{name}.xlsx"
        with (
            zipfile.ZipFile(tmp_path / "t.xlsx") as whole,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as spoiled,
        ):
            for member in whole.namelist():
                sheet = member.endswith("sheet1.xml")
                spoiled.writestr(member, content if sheet else whole.read(member))
        with pytest.raises(DataError, match=rf"{name}.xlsx cannot be read as .xlsx"):
            read_texts(file)


def test_a_zstandard_file_that_was_cut_off_is_refused(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    lines = [hashlib.sha256(str(i).encode()).hexdigest() for i in range(9999)]
    content = "\n".join(lines).encode()
    skipped = b"\x5a\x2a\x4d\x18\x03\x00\x00\x00abc"
    plain = zstandard.ZstdCompressor(write_checksum=False).compress(content)
    summed = zstandard.ZstdCompressor(write_checksum=True).compress(content)
    several = plain + skipped + summed
    for whole in (plain, summed, several, zstandard.compress(b"a")):
        file = write(tmp_path / "a.txt.zst", whole)
        assert read_texts(file).texts[0] in (lines[0], "a")
    size = len(plain)
    for end in (5, 9, size // 2, size - 1, size + 10, size + 200_000, len(several) - 1):
        write(file, several[:end])
        with pytest.raises(DataError, match=r"a\.txt\.zst .*Copy or compress it again"):
            read_texts(file)
