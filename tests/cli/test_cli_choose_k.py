# SPDX-License-Identifier: BSD-3-Clause
import random

import pytest

OPTIONS = ("--min-df", 1, "--max-df", 1.0)


@pytest.fixture
def many(tmp_path):
    file = tmp_path / "many.txt"
    kinds = ["red fox wood wolf", "blue fish sea boat", "old tree leaf root"]
    file.write_text("\n".join(f"{kinds[i % 3]} {kinds[i % 3]}" for i in range(45)))
    return file


def test_a_table_and_a_suggestion(cli, many, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "k.png"
    done = cli("choose-k", many, "-k", "2,3", "--plot", picture, *OPTIONS)
    assert done.exit_code == 0, done.stderr
    assert picture.stat().st_size > 1000
    lines = done.stdout.splitlines()
    (head,) = [line for line in lines if line.strip().startswith("topics")]
    assert "stability" in head
    legend = "NPMI coherence, diversity and stability: higher is better"
    assert legend in " ".join(done.stdout.split())
    (best,) = [line for line in lines if line.startswith("Suggests")]
    assert best.split()[1] in ("2", "3")
    assert any(f"-k {best.split()[1]} -o model" in line for line in lines)


def test_the_next_command_has_the_model(cli, many):
    given = ("-k", "3,4", "--restarts", 1, "-m", "WNTM", "--seed", 1)
    done = cli("choose-k", many, *given, *OPTIONS)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[-1].partition(" -m ")[2][:9] == "short -k "


def test_the_smallest_number_may_still_be_too_large(cli, many):
    done = cli("choose-k", many, "-k", "3,9", "--restarts", 1, *OPTIONS)
    assert done.exit_code == 0, done.stderr
    reason = "by perplexity and coherence. This is the smallest number tried"
    assert f"Suggests 3 topics {reason}; fewer may be better" in done.stdout
    done = cli("choose-k", many, "-k", "3", "--restarts", 1, *OPTIONS, "-q")
    said = " ".join(done.stdout.splitlines()[-1].split())
    assert said == "Tried only 3 topics; give several: -k 2,3,6"


def test_short_texts_have_the_advice_of_fit(cli, tmp_path):
    file = tmp_path / "short.txt"
    kinds = ["red fox wood", "blue fish sea", "old tree leaf"]
    file.write_text("\n".join(kinds[i % 3] for i in range(300)))
    given = ("choose-k", file, "-k", "2,3", "--restarts", 1, *OPTIONS)
    assert "--model short" in cli(*given).stdout
    assert "--model short" not in cli(*given, "-m", "short").stdout


def test_titles_of_columns_fit_into_a_terminal(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    file = tmp_path / "labels.csv"
    rows = ["red fox wood,a", "blue fish sea,b"] * 20
    file.write_text("\n".join(["text,label", *rows]))
    done = cli("choose-k", file, "-k", "2,3", *OPTIONS)
    assert done.exit_code == 0, done.stderr
    assert "accuracy" in done.stdout
    assert "…" not in done.stdout


def test_numbers_follow_the_documents(cli, many):
    done = cli("choose-k", many, "--restarts", 1, "-m", "plsa", *OPTIONS, "-q")
    assert done.exit_code == 0, done.stderr
    said = " ".join(done.stdout.splitlines()[-1].split())
    assert said == "Tried only 5 topics; give several: -k 2,5,10"


def test_numbers_may_be_repeated(cli, many):
    given = ("-k", "2", "--topics", "3, 4", "--restarts", 1)
    done = cli("choose-k", many, *given, "-m", "plsa", *OPTIONS, "-q")
    assert done.exit_code == 0, done.stderr
    sizes = [line.split()[0] for line in done.stdout.splitlines() if line.strip()]
    assert {"2", "3", "4"} <= set(sizes)


@pytest.mark.parametrize("numbers", ["a,b", "0", "", "3;4"])
def test_numbers_that_are_none(cli, check_error, many, numbers):
    check_error(cli("choose-k", many, "-k", numbers), "separated by commas")


def test_more_topics_than_documents(cli, check_error, many):
    check_error(cli("choose-k", many, "-k", "10,900", *OPTIONS), "900 topics are more")


def test_a_picture_of_no_kind_is_refused_before_the_fits(cli, many, check_error):
    check_error(cli("choose-k", many, "--plot", "k.txt", *OPTIONS), ".svg or .pdf")


def test_the_reason_names_stability_where_it_decides(cli, tmp_path):
    draw = random.Random(0)
    words = [a + b + c for a in "bdfg" for b in "aeou" for c in "klmn"]
    file = tmp_path / "noise.txt"
    file.write_text("\n".join(" ".join(draw.choices(words, k=20)) for _ in range(80)))
    some = cli("choose-k", file, "-k", "2,10", *OPTIONS).stdout
    assert "topics by perplexity and coherence, of those with a stability of" in some
    none = cli("choose-k", file, "-k", "10,20", *OPTIONS).stdout
    assert "the most stable ones; other seeds find only some of them again\n" in none
