# SPDX-License-Identifier: BSD-3-Clause
"""What the commands say of words that are left out, of languages, and of odd tables."""

import json

import numpy as np
import pytest

FAST = ("-k", "2", "--max-iter", "3", "--no-report")


@pytest.fixture
def speeches(tmp_path):
    """Long texts in which every word is in most; "nation" is in all alike."""
    rng = np.random.default_rng(0)
    themes = [["war", "army", "peace"], ["bank", "tax", "gold"]]
    lines = []
    for number in range(40):
        own, other = themes[number % 2], themes[1 - number % 2]
        words = [*rng.choice(own, 100), *other, *["nation"] * 100]
        lines.append(" ".join(rng.permutation(words)))
    file = tmp_path / "speeches.txt"
    file.write_text("\n".join(lines))
    return file


def test_fit_and_info_say_what_was_left_out(cli, speeches, tmp_path):
    model = tmp_path / "model"
    done = cli("fit", speeches, *FAST, "-o", model)
    assert done.exit_code == 0, done.stderr
    assert (
        "note: Left out a word used about equally in more than half of the 40 texts, "
        "49% of all words: nation (--max-df 1.0 keeps all)"
    ) in done.stderr
    said = " ".join(cli("info", model).stdout.split())
    assert "Left out 1 frequent word, 49% of all words: nation" in said
    facts = json.loads(cli("info", model, "--json").stdout)
    assert facts["text"]["left_out"]["most"] == ["nation"]


@pytest.mark.parametrize(
    "found", [3, {}, {"words": "x", "share": 0.1, "most": []}, {"words": 2, "most": 1}]
)
def test_info_shows_no_nonsense_of_a_file(found):
    from topicfold.cli.info import _left_out_line

    assert _left_out_line(found) == ""


def test_seed_words_stay(cli, speeches, tmp_path):
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("first: nation, war\nsecond: bank\n")
    model = tmp_path / "model"
    done = cli("fit", speeches, *FAST, "--seeds", seeds, "-o", model)
    assert done.exit_code == 0, done.stderr
    assert "Left out" not in done.stderr
    again = cli("update", model, speeches)
    assert again.exit_code == 0, again.stderr


def test_the_language_of_the_texts_is_said(cli, tmp_path):
    pytest.importorskip("stop_words")
    lines = [
        "der Hund und die Katze sind nicht auf dem Dach",
        "das Haus ist mit dem Garten und der Wiese",
        "ein Garten ist nicht das Haus von der Katze",
    ]
    file = tmp_path / "texte.txt"
    file.write_text("\n".join(lines * 3))
    done = cli("fit", file, *FAST, "-o", tmp_path / "m")
    assert "note: These texts are in German: its stop words are left out" in done.stderr
    assert "(--stop-words 'english' for others)" in done.stderr
    assert "stop_words=german" in cli("info", tmp_path / "m").stdout
    assert cli("transform", tmp_path / "m", file).exit_code == 0
    stated = cli("fit", file, *FAST, "--stop-words", "english", "-o", tmp_path / "e")
    assert "look German" in stated.stderr
    assert "stop_words=english" in cli("info", tmp_path / "e").stdout


def test_sheets_fields_and_disguised_tables_by_flag(cli, check_error, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["what"])
    sheet = book.create_sheet("Data")
    for text in ["text", *["red fox", "blue fish", "red fish", "blue fox"] * 3]:
        sheet.append([text])
    book.save(tmp_path / "t.xlsx")
    fit = ("fit", tmp_path / "t.xlsx", *FAST, "-o", tmp_path / "m")
    check_error(
        cli(*fit),
        "the file also has 'Data'. To read another, name it with --sheet",
    )
    done = cli(*fit, "--sheet", "Data")
    assert done.exit_code == 0, done.stderr
    assert "sheet: Data" in done.stdout
    nested = tmp_path / "t.jsonl"
    rows = [{"body": {"text": f"red fox {n % 2}"}} for n in range(6)]
    nested.write_text("\n".join(map(json.dumps, rows)))
    done = cli("fit", nested, "--text", "body.text", *FAST, "-o", tmp_path / "n")
    assert done.exit_code == 0, done.stderr
    assert "text: body.text" in done.stdout
    table = tmp_path / "table.txt"
    table.write_text("title,text\nfox,red fox\nfish,blue fish\n")
    fit = ("fit", table, *FAST, "-o", tmp_path / "x")
    check_error(cli(*fit), "columns 'title', 'text'", "--from csv, or --from lines if")
