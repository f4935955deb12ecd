# SPDX-License-Identifier: BSD-3-Clause
"""What else is known of documents, from the columns of a table to a fitted model."""

import csv
import random

import numpy as np
import pytest

import topicfold
from topicfold.persistence.model_folder import load_model_folder

NATURE = "fox wolf bear deer hare forest tree leaf river hill".split()  # noqa: SIM905
MONEY = "bank loan tax price stock bond fund debt credit market".split()  # noqa: SIM905


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table whose every column follows the two themes."""
    draw = random.Random(0)
    file = tmp_path_factory.mktemp("sides") / "papers.csv"
    with file.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["text", "author", "stars", "year", "label"])
        for i in range(60):
            k = i % 2
            words = " ".join(draw.choices(NATURE if k else MONEY, k=12))
            who = "Ann; Bob" if k else "" if i == 0 else "Cid"
            stars = "" if i == 2 else f"{1 + 3 * k + draw.random():.2f}"
            label = "nature" if k else "money; law"
            rows.writerow([words, who, stars, 1990 + 10 * k, label])
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


def test_authors(cli, table, tmp_path, fitted):
    side = fitted("--authors", "author").sides_[0]
    assert side.names_.tolist() == ["Ann", "Bob", "Cid"]
    same = np.argmax(side.entity_topics_, axis=1)
    assert same[0] == same[1] != same[2]
    result = cli("transform", tmp_path / "m", table, "--authors", "author")
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 61


def test_response_numbers_and_classes(fitted):
    side = fitted("--response", "stars").sides_[0]
    assert np.ptp(side.coef_) == pytest.approx(3, abs=0.7)
    side = fitted("--response", "author", "--force").sides_[0]
    assert side.classes_.tolist() == ["Ann; Bob", "Cid"]


def test_a_supervised_model_takes_the_response(fitted):
    model = fitted("-m", "slda", "--response", "stars")
    assert model.kind == "real"
    assert len(model.sides_) == 1


def test_features(fitted):
    side = fitted("--features", "year", "--features", "label").sides_[0]
    assert any("year" in name for name in side.feature_names_)
    assert any("nature" in name for name in side.feature_names_)


def test_labels_as_topics_set_the_number_of_topics(fitted):
    model = fitted("--label-topics", topics=())
    assert model.sides_[0].classes_.tolist() == ["law", "money", "nature"]
    assert len(model.components_) == 4


def test_links_and_seeds_together(fitted, tmp_path):
    (tmp_path / "links").write_text(
        "".join(f"{i} {i + 2}\n" for i in range(58)) + "# the end\n"
    )
    (tmp_path / "seeds").write_text("animals: fox, wolf\nfinance: bank, loan\n")
    model = fitted("--links", tmp_path / "links", "--seeds", tmp_path / "seeds")
    kinds = [type(side).__name__ for side in model.sides_]
    assert sorted(kinds) == ["Links", "Seeds"]
    words = load_model_folder(tmp_path / "m").vocabulary
    assert words[int(model.components_[0].argmax())] in NATURE
    assert words[int(model.components_[1].argmax())] in MONEY


def test_a_model_of_its_own_takes_its_side_once(fitted):
    model = fitted("-m", "authors", "--authors", "author")
    assert isinstance(model, topicfold.AuthorTopics)
    assert [type(side).__name__ for side in model.sides_] == ["Authors"]


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        (("--authors", "auther"), ("auther", "author")),
        (("-m", "fstm", "--authors", "author"), ("FSTM", "--authors")),
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
