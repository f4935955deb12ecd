# SPDX-License-Identifier: BSD-3-Clause
import json

import numpy as np
import pandas as pd
import pytest
from effects_support import planted

from topicfold import LDA, StructuralLDA
from topicfold.persistence.model_folder import save_model_folder


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A model of planted effects, its table, and the same table by ids."""
    folder = tmp_path_factory.mktemp("effects")
    found = planted(3, n_documents=80, tokens=40, n_terms=40)
    model = LDA(n_components=3, random_state=0).fit(found["X"])
    ids = [f"d{number}" for number in range(80)]
    words = [f"word{number}" for number in range(40)]
    save_model_folder(
        model, folder / "model", vocabulary=words, doc_ids=ids, counts=found["X"]
    )
    save_model_folder(model, folder / "bare", vocabulary=words)
    table = pd.DataFrame(
        {
            "name": ids,
            "x": found["x"],
            "day": pd.date_range("2020-01-01", periods=80).astype(str),
            "who": np.arange(80) % 30,
        }
    )
    table.to_csv(folder / "table.csv", index=False)
    table.iloc[::-1].to_csv(folder / "turned.tsv", index=False, sep="\t")
    return folder


def run(cli, saved, *args, table="table.csv", model="model"):
    return cli("effects", saved / model, saved / table, "--draws", 3, *args)


def test_table(cli, saved):
    result = run(cli, saved, "-F", "~ x + s(day) | who")
    assert result.exit_code == 0, result.output
    assert "Effects on topic shares, ~ x + s(day), 80 documents" in result.output
    assert "x: 1 - 0" in result.output
    assert "robust to 30 clusters" in result.output
    assert "6 tests, not adjusted" in result.output


def test_topics_that_are_not_determined_have_a_star(cli, saved, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("topicfold.effects.estimate.SAME_TOPIC", 2.0)
    result = run(cli, saved, "-F", "~ x", "--topics", "1,0+1")
    lines = result.output.splitlines()
    starred = [line for line in lines if line.startswith(("1* ", "0 + 1* "))]
    assert len(starred) == 2
    assert any(line.startswith("* The documents do not determine") for line in lines)
    assert max(map(len, starred)) <= 80
    assert "use --method 'fixed'." in result.output
    assert "To adjust them: --adjust fdr." in result.output
    table = run(cli, saved, "-F", "~ x", "-f", "csv").stdout.splitlines()
    assert table[0].endswith(",p,determined")
    assert all(line.endswith(",False") for line in table[1:])


def test_rows_by_id_are_those_in_order(cli, saved):
    plain = run(cli, saved, "-F", "~ x", "-f", "csv").stdout
    turned = run(cli, saved, "-F", "~ x", "-f", "csv", "--id", "name",
                 table="turned.tsv").stdout  # fmt: skip
    assert plain == turned
    assert plain.startswith("topic,words,effect,estimate,error,low,high,p\n")


def test_rows_in_another_order_need_their_ids(cli, saved, check_error):
    result = run(cli, saved, "-F", "~ x", table="turned.tsv")
    check_error(result, "column 'name' has 'd79' in row 0, where document 'd0' is")


def test_json_sentences_and_plot(cli, saved, tmp_path):
    options = ("-F", "~ x", "--topics", "0,0+1,0-1", "--adjust", "holm")
    result = run(cli, saved, *options, "-f", "json", "--plot", tmp_path / "a.png")
    found = json.loads(result.output)
    assert [row["topic"] for row in found["effects"]] == ["0", "0 + 1", "0 - 1"]
    assert (tmp_path / "a.png").stat().st_size > 1000
    told = run(cli, saved, *options, "--sentences")
    assert told.stdout.splitlines() == found["sentences"]
    assert [f"note: {note}" for note in found["notes"]] == told.stderr.splitlines()
    assert (
        "p-values are adjusted for 3 tests (holm)" in run(cli, saved, *options).output
    )


def test_merged_topics_are_said_to_be_known(cli, saved, tmp_path):
    edited = cli("edit", saved / "model", "-o", tmp_path / "m", "--merge", "0,2")
    assert edited.exit_code == 0, edited.output
    result = cli("effects", tmp_path / "m", saved / "table.csv", "-F", "~ x")
    assert "merged by hand" in result.output
    assert "topics are treated as known" in result.output
    assert "such as --topics '1 + 4'" in result.output


def test_a_report_has_the_effects(cli, saved, check_error, tmp_path):
    page = tmp_path / "page.html"
    result = run(cli, saved, "-F", "~ x + s(day)", "--report", page)
    assert result.exit_code == 0, result.output
    assert "Difference of the share of a topic, ~ x + s(day)" in page.read_text("utf-8")
    some = run(cli, saved, "-F", "~ x", "--topics", "0", "--report", page)
    check_error(some, "the report needs the effects on every topic")


def test_a_curve_by_level(cli, saved, check_error, tmp_path):
    options = ("-F", "~ x * s(day)", "--covariate", "day", "--by", "x")
    assert run(cli, saved, *options, "--plot", tmp_path / "a.png").exit_code == 0
    check_error(run(cli, saved, *options), "--covariate chooses what --plot draws")


def test_a_model_without_documents(cli, saved, check_error):
    check_error(run(cli, saved, "-F", "~ x", model="bare"), "without its documents")
    result = run(cli, saved, "-F", "~ x", "--method", "posterior", model="bare")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("args", "table", "message"),
    [
        (("-F", "~ xx"), "table.csv", "did you mean 'x'?"),
        (("-F", "~ x"), "nothing.csv", "there is no file"),
        (("-F", "~ x"), "model", "there is no file"),
        (("-F", "~ x", "--id", "names"), "table.csv", "no column 'names'"),
        (("-F", "~ x", "--id", "who"), "table.csv", "twice"),
        (("-F", "~ x", "--id", "day"), "table.csv", "no row for 80 documents"),
        (("-F", "~ x", "--plot", "a.txt"), "table.csv", ".png, .svg or .pdf"),
        (("-F", "~ x", "--covariate", "x"), "table.csv", "Give --plot too"),
        (("-F", "~ x", "--method", "magic"), "table.csv", "method is 'magic'"),
        (("-F", "~ x", "--adjust", "all"), "table.csv", "adjust is 'all'"),
        (("-F", "~ x", "--topics", "7"), "table.csv", "topics are 0 to 2"),
    ],
)
def test_mistakes(cli, saved, check_error, args, table, message):
    check_error(run(cli, saved, *args, table=table), message)


def test_a_table_that_is_none(cli, saved, check_error, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    result = cli("effects", saved / "model", tmp_path / "empty.csv", "-F", "~ x")
    check_error(result, "cannot be read as a table")


def test_a_table_as_a_spreadsheet_in_europe_writes_it(cli, saved, tmp_path):
    table = pd.read_csv(saved / "table.csv")
    table["weight"] = table["who"] + 0.5
    table["größe"] = np.where(table["who"] % 2, "groß", "klein")
    here = {"sep": ";", "decimal": ",", "encoding": "cp1252", "index": False}
    table.to_csv(tmp_path / "t.csv", **here)
    table.to_csv(tmp_path / "plain.csv", index=False)
    both = [
        cli("effects", saved / "model", tmp_path / name, "--draws", 2, "-f", "csv",
            "-F", "~ weight + größe").stdout
        for name in ("t.csv", "plain.csv")
    ]  # fmt: skip
    assert both[0] == both[1]
    assert "weight: +1" in both[0]


def test_a_sheet(cli, saved, tmp_path, check_error):
    pytest.importorskip("openpyxl")
    table = pd.read_csv(saved / "table.csv")
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        table[["who"]].to_excel(book, sheet_name="About", index=False)
        table.to_excel(book, sheet_name="Data", index=False)
    run = ("effects", saved / "model", tmp_path / "t.xlsx", "--draws", 2, "-F", "~ x")
    first = cli(*run)
    check_error(first, "no column 'x'")
    assert "sheet 'About'; it also has 'Data' (--sheet)" in first.stderr
    for sheet in ("Data", 2):
        assert "x: 1 - 0" in cli(*run, "--sheet", sheet).stdout
    check_error(cli(*run, "--sheet", "Dates"), "no sheet 'Dates'")


def test_nested_json_lines(cli, saved, tmp_path, check_error):
    rows = pd.read_csv(saved / "table.csv")["who"] % 2
    lines = [json.dumps({"meta": {"who": f"w{who}"}}) for who in rows]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    run = ("effects", saved / "model", tmp_path / "t.jsonl", "--draws", 2, "-F")
    assert "meta_who: w1 - w0" in cli(*run, "~ meta_who").stdout
    check_error(cli(*run, "~ meta.who"), "did you mean 'meta_who'?")


def test_groups_of_content(cli, saved, check_error, tmp_path):
    found = planted(3, n_documents=80, tokens=40, n_terms=40)
    table = pd.read_csv(saved / "table.csv").assign(side=["a", "b"] * 40)
    table.to_csv(tmp_path / "table.csv", index=False)
    model = StructuralLDA(3, random_state=0, max_iter=4)
    model.fit(found["X"], content=table["side"])
    words = [f"word{number}" for number in range(40)]
    save_model_folder(model, tmp_path / "model", vocabulary=words, counts=found["X"])
    result = run(cli, tmp_path, "-F", "~ x")
    check_error(result, "each group of content has its own", "Give --content")
    result = run(cli, tmp_path, "-F", "~ x", "--content", "sides")
    check_error(result, "no column 'sides' for content (did you mean 'side'?)")
    result = run(cli, tmp_path, "-F", "~ x", "--content", "side")
    assert result.exit_code == 0, result.output
    assert "mixtures and topics (3 draws)" in result.output
    result = run(cli, saved, "-F", "~ x", "--content", "who")
    check_error(result, "content is for topics with groups of words")
