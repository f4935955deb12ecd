# SPDX-License-Identifier: BSD-3-Clause
"""What else is known of documents, from the columns of a table to a fitted model."""

import csv
import io
import json
import random

import numpy as np
import pytest

import topicfold
from topicfold.persistence.model_folder import load_model_folder

NATURE = "fox wolf bear deer hare forest tree leaf river hill".split()  # noqa: SIM905
MONEY = "bank loan tax price stock bond fund debt credit market".split()  # noqa: SIM905
NATUR = "fuchs wolf hirsch hase wald baum blatt fluss".split()  # noqa: SIM905
GELD = "kredit steuer preis aktie fonds schuld markt zins".split()  # noqa: SIM905


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table whose every column follows the two themes."""
    draw = random.Random(0)
    file = tmp_path_factory.mktemp("sides") / "papers.csv"
    with file.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["text", "author", "stars", "year", "label", "de"])
        for i in range(60):
            k = i % 2
            words = " ".join(draw.choices(NATURE if k else MONEY, k=12))
            who = "Ann; Bob" if k else "" if i == 0 else "Cid"
            stars = "" if i == 2 else f"{1 + 3 * k + draw.random():.2f}"
            label = "nature" if k else "money; law"
            german = " ".join(draw.choices(NATUR if k else GELD, k=8))
            rows.writerow([words, who, stars, 1990 + 10 * k, label, f"und {german}"])
    return file


@pytest.fixture
def fitted(cli, table, tmp_path):
    """Fit with some flags; return the model."""

    def fit(*flags, topics=("-k", 2)):
        options = ("--max-iter", 20, "--min-df", 1, "--max-df", "1.0", "--no-report")
        result = cli("fit", table, "-o", tmp_path / "m", *topics, *options, *flags)
        assert result.exit_code == 0, result.output
        return load_model_folder(tmp_path / "m").model

    return fit


@pytest.mark.parametrize("flags", [("--authors", "author"), ("--response", "stars")])
def test_more_documents_leave_what_sides_have_learned(
    cli, table, tmp_path, fitted, flags
):
    before = fitted(*flags)
    new = tmp_path / "new.csv"
    new.write_text("text\nriver unheard\nunheard bank money\n", encoding="utf-8")
    done = cli("update", tmp_path / "m", new)
    assert done.exit_code == 0, done.output
    assert "fit the model again to learn these words" in done.stderr
    after = load_model_folder(tmp_path / "m").model
    np.testing.assert_array_equal(after.components_, before.components_)
    assert len(after.doc_topics_) == len(before.doc_topics_) + 2


def test_authors(cli, table, tmp_path, fitted):
    side = fitted("--authors", "author").sides_[0]
    assert side.names_.tolist() == ["Ann", "Bob", "Cid"]
    same = np.argmax(side.entity_topics_, axis=1)
    assert same[0] == same[1] != same[2]
    result = cli("transform", tmp_path / "m", table, "--authors", "author")
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 61


@pytest.mark.slow
def test_response_numbers_and_classes(fitted):
    side = fitted("--response", "stars").sides_[0]
    assert np.ptp(side.coef_) == pytest.approx(3, abs=0.7)
    side = fitted("--response", "author", "--force").sides_[0]
    assert side.classes_.tolist() == ["Ann; Bob", "Cid"]


def test_a_supervised_model_takes_the_response(fitted, cli, tmp_path):
    model = fitted("-m", "slda", "--response", "stars")
    shown = cli("topics", tmp_path / "m", "--format", "json")
    rows = {row["topic"]: row["response"] for row in json.loads(shown.stdout)}
    for effect in model.topic_effects():
        assert rows[effect.topic] == pytest.approx(effect.coefficient, abs=1e-4)
    assert model.kind == "real"
    assert len(model.sides_) == 1


def test_features(fitted):
    side = fitted("--features", "year", "--features", "label").sides_[0]
    assert any("year" in name for name in side.feature_names_)
    assert any("nature" in name for name in side.feature_names_)


def test_labels_as_topics_set_the_number_of_topics(fitted):
    model = fitted("--label-topics", topics=())
    assert model.sides_[0].classes_.tolist() == ["law", "money", "nature"]
    assert len(model.components_) in (3, 4)  # a background, if it helps


def test_links_and_seeds_together(fitted, tmp_path):
    (tmp_path / "links").write_text(
        "".join(f"{i} {i + 2}\n" for i in range(58)) + "# the end\n"
    )
    (tmp_path / "seeds").write_text("animals: fox, wolf\nfinance: bank, loan\n")
    model = fitted("--links", tmp_path / "links", "--seeds", tmp_path / "seeds")
    kinds = [type(side).__name__ for side in model.sides_]
    assert sorted(kinds) == ["Links", "SeedEvidence", "Seeds"]
    words = load_model_folder(tmp_path / "m").vocabulary
    assert words[int(model.components_[0].argmax())] in NATURE
    assert words[int(model.components_[1].argmax())] in MONEY


def test_a_model_of_its_own_takes_its_side_once(fitted):
    model = fitted("-m", "authors", "--authors", "author")
    assert isinstance(model, topicfold.AuthorTopics)
    assert [type(side).__name__ for side in model.sides_] == ["AuthorPriors"]


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        (("--authors", "auther"), ("auther", "author")),
        (
            ("-m", "gibbs", "--prevalence", "author"),
            ("GibbsLDA does not learn from prevalence", "model structural"),
        ),
        (
            ("-m", "fstm", "--authors", "author"),
            ("FSTM", "does not learn from authors"),
        ),
        (("--links", "none"), ("there is no file", "--links")),
        (("--label-topics", "-k", "3"), ("labeled", "--topics")),
    ],
)
def test_mistakes(cli, table, tmp_path, check_error, flags, parts):
    check_error(cli("fit", table, "-o", tmp_path / "m", *flags), *parts)


def test_a_side_that_the_model_has_not(cli, table, tmp_path, fitted, check_error):
    fitted()
    result = cli("transform", tmp_path / "m", table, "--authors", "author")
    check_error(result, "fitted without --authors")


def test_languages_have_words_of_their_own(cli, table, tmp_path, fitted):
    model = fitted("--language", "de=german")
    assert isinstance(model, topicfold.MultimodalLDA)
    assert model.group_names_ == ["text", "de"]
    words = model.sides_[0].feature_names_in_.tolist()
    assert words == sorted(GELD + NATUR)  # "und" is a stop word
    result = cli("topics", tmp_path / "m", "--format", "json", "-n", 4)
    rows = json.loads(result.stdout)
    for row in rows:
        pair = (NATURE, NATUR) if row["words"][0] in NATURE else (MONEY, GELD)
        assert {*row["words"]} <= {*pair[0]}
        assert {*row["words de"]} <= {*pair[1]}
    shown = cli("topics", tmp_path / "m").stdout
    assert "text" in shown
    assert "de" in shown
    table_rows = list(csv.DictReader(io.StringIO(
        cli("topics", tmp_path / "m", "-f", "csv", "-n", 2).stdout)))  # fmt: skip
    assert len(table_rows[0]["words de"].split()) == 2


def test_new_documents_in_any_language(cli, table, tmp_path, fitted):
    fitted("--language", "de")

    def mixtures(source, *flags):
        result = cli("transform", tmp_path / "m", source, *flags)
        assert result.exit_code == 0, result.output
        rows = list(csv.reader(io.StringIO(result.stdout)))[1:]
        return np.array([row[1:] for row in rows], float)

    first = mixtures(table, "--text", "text")
    german = mixtures(table, "--language", "de")
    both = mixtures(table, "--text", "text", "--language", "de")
    assert (first.argmax(1) == german.argmax(1)).all()
    assert not np.allclose(first, german)
    assert (both.max(1) >= german.max(1) - 1e-6).all()
    (tmp_path / "neu.txt").write_text("fuchs wald baum\nsteuer preis zins\n")
    lines = mixtures(tmp_path / "neu.txt", "--language", "de")
    assert lines.argmax(1).tolist() == german[[1, 0]].argmax(1).tolist()


def test_languages_go_with_other_sides(fitted, tmp_path):
    model = fitted("--language", "de", "--authors", "author")
    assert isinstance(model, topicfold.AuthorTopics)
    assert [type(side).__name__ for side in model.sides_] == [
        "AuthorPriors",
        "OtherCounts",
    ]
    data = load_model_folder(tmp_path / "m").topic_data()
    assert [side.name for side in data.sides] == ["authors", "de"]
    assert data.settings["language"] == "text"


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        (("--language", "fr"), ("no language 'fr'", "de")),
        (("--language", "text"), ("no language 'text'", "--text")),
        (("--language", "de=german"), ("stop words were chosen in the fit",)),
    ],
)
def test_mistakes_with_languages(
    cli, table, tmp_path, fitted, check_error, flags, parts
):
    fitted("--language", "de")
    check_error(cli("transform", tmp_path / "m", table, *flags), *parts)


def test_each_kind_of_knowledge_has_its_model(fitted, tmp_path):
    (tmp_path / "links").write_text("0 2\n1 3\n2 4\n3 5\n")
    for flags, name in [
        (("--response", "stars"), "SupervisedLDA"),
        (("--authors", "author"), "AuthorTopics"),
        (("--features", "year"), "FeatureLDA"),
        (("--links", tmp_path / "links"), "RelationalLDA"),
    ]:
        model = fitted(*flags, "--force", "--max-iter", 5)
        assert type(model).__name__ == name
        assert len(model.sides_) == 1
    pairs = [s.pairs for s in model.topic_data().sides if s.kind == "links"]
    assert pairs[0].tolist() == [[0, 2], [1, 3], [2, 4], [3, 5]]


def test_covariates_groups_and_times_come_from_columns(fitted, cli, table, tmp_path):
    flags = ("--prevalence", "stars", "--prevalence", "year", "--content", "year")
    model = fitted(*flags, "--force", "--max-iter", 5)
    assert type(model).__name__ == "StructuralLDA"
    assert model.prevalence_names_ == ["intercept", "stars", "year"]
    assert model.content_groups_ == ["1990.0", "2000.0"]
    done = cli("transform", tmp_path / "m", table, *flags)
    assert done.exit_code == 0, done.output
    assert len(done.output.splitlines()) == 61
    dynamic = fitted("--model", "dynamic", "--time", "year", "--force")
    assert dynamic.slice_names_ == ["1990", "2000"]
    done = cli("transform", tmp_path / "m", table, "--time", "year")
    assert done.exit_code == 0, done.output


def test_prevalence_by_formula(fitted, cli, table, tmp_path, check_error):
    model = fitted("--prevalence", "~ C(year) * stars")
    assert type(model).__name__ == "StructuralLDA"
    assert model.formula == "~ C(year) * stars"
    assert model.prevalence_names_[-1] == "year=2000:stars"
    done = cli("transform", tmp_path / "m", table, "--prevalence", model.formula)
    assert "the fit had" not in done.stderr
    plain = cli("transform", tmp_path / "m", table)
    assert "note: the fit had --prevalence. Give it here too" in plain.stderr
    assert done.exit_code == 0, done.output
    options = ("fit", table, "-o", tmp_path / "n", "-k", 2)
    for flags, said in (
        (("--prevalence", "~ stars", "--prevalence", "year"), "one formula"),
        (("--prevalence", "~ starz"), "Did you mean 'stars'"),
    ):
        check_error(cli(*options, *flags), said)


@pytest.mark.slow
def test_the_kind_of_a_response_can_be_said(fitted, cli, table, tmp_path, check_error):
    said = ("--response", "year", "--force", "--response-kind")
    assert fitted(*said, "classes").classes_.tolist() == ["1990", "2000"]
    assert fitted(*said, "counts").kind == "counts"
    place = ("fit", table, "-o", tmp_path / "other", "--response")
    check_error(cli(*place, "stars", "--response-kind", "number"), "real, classes")
    check_error(
        cli(*place, "author", "--response-kind", "real"), "'Ann; Bob'", "not a number"
    )
    check_error(
        cli("fit", table, "-o", tmp_path / "x", "--response-kind", "real"),
        "needs --response",
    )


def test_a_seed_word_is_counted_though_it_is_a_stop_word(cli, table, tmp_path):
    (tmp_path / "seeds").write_text("animals: fox, wolf, zebra\n")
    (tmp_path / "stop").write_text("wolf\n")
    result = cli(
        "fit", table, "-o", tmp_path / "m", "-k", 2, "--seeds", tmp_path / "seeds",
        "--stop-words", tmp_path / "stop", "--max-iter", 3, "--no-report",
    )  # fmt: skip
    assert result.exit_code == 0
    told = " ".join(result.stderr.split())
    assert "not in the vocabulary and are ignored: 'zebra' of 'animals'." in told
    assert "wolf" in load_model_folder(tmp_path / "m").vocabulary


def test_numbers_are_predicted_as_responses(cli, table, tmp_path, fitted, check_error):
    fitted("--response", "stars")
    result = cli("classify", tmp_path / "m", table)
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    found = [float(row["response"]) for row in rows]
    assert np.mean(found[1::2]) > np.mean(found[::2]) + 1
    check_error(cli("classify", tmp_path / "m", table, "--proba"), "predicts numbers")


def test_stop_words_of_a_language_that_is_none(cli, table, tmp_path, check_error):
    result = cli("fit", table, "-o", tmp_path / "m", "--language", "de=klingon")
    check_error(result, "--language de: klingon", "a language with stop words")


def test_labels_of_a_model_of_labels_are_used_beside_a_response(fitted):
    flags = ("-m", "labeled", "--label", "label", "--response", "stars")
    model = fitted(*flags, topics=())
    assert model.classes_.tolist() == ["money; law", "nature"]
    assert [type(side).__name__ for side in model.sides_] == ["Labels", "Response"]
