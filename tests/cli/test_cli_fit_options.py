# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold fit`` with every model, with labels, and with graphs."""

import json

import numpy as np
import pytest

import topicfold
from topicfold.registry import models

LAND = ["red", "fox", "wolf", "run", "forest", "deer", "bear", "tree", "leaf"]
SEA = ["blue", "fish", "swim", "deep", "sea", "water", "wave", "salt", "whale"]


@pytest.fixture
def labelled(tmp_path):
    file = tmp_path / "texts.jsonl"
    rng = np.random.default_rng(0)
    rows = []
    for i in range(40):
        words, label = (LAND, "land") if i % 2 else (SEA, "sea")
        rows.append(
            {
                "text": " ".join(rng.choice(words, 8)),
                "label": "" if i % 10 == 0 else label,
                "time": f"20{i % 20:02d}-01-01",
            }
        )
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


@pytest.fixture
def fit(cli, labelled, tmp_path):
    def run(*options, size=("-k", 3)):
        return cli(
            "fit", labelled, *size, "--min-df", 1, "--max-df", "1.0", "--no-report",
            "-o", tmp_path / "model", *options,
        )  # fmt: skip

    return run


@pytest.mark.slow
@pytest.mark.parametrize("entry", models(), ids=lambda entry: entry.name)
def test_every_model(fit, tmp_path, entry):
    (tmp_path / "links").write_text("0 2\n2 4\n1 3\n")
    (tmp_path / "seeds").write_text("land: fox, wolf\n")
    needs = {
        "authors": ("--authors", "label"),
        "features": ("--features", "time"),
        "rtm": ("--links", tmp_path / "links"),
        "multimodal": ("--language", "label"),
        "seeded": ("--seeds", tmp_path / "seeds"),
        "structural": ("--prevalence", "~ time"),
    }
    size = {} if entry.sized else {"size": ()}
    if entry.name in needs:
        flags = needs[entry.name]
        result = fit("--model", entry.name, **size)
        assert result.exit_code == 2
        assert f"needs {flags[0]}" in result.stderr
    else:
        flags = ()
    result = fit("--model", entry.name, *flags, **size)
    assert result.exit_code == 0, result.stderr
    model = topicfold.load(tmp_path / "model")
    assert type(model).__name__ == entry.class_name
    # Hidden labels decide whether topics of labels have a background beside them.
    # A tree has nodes on each of its levels; HDP finds as many as the texts need.
    free = {"labeled": {2, 3}, "tree": range(3, 20), "hdp": {2, 3}}
    wanted = free.get(entry.name, {3})
    assert len(model.components_) in wanted
    if entry.labels == "must":
        assert model.classes_.tolist() == ["land", "sea"]


def test_what_comes_next_is_possible(fit, cli, tmp_path):
    """LSI has no topics to show; it is for search."""
    assert "topicfold topics" in fit("--model", "plsa").stdout
    shown = fit("--model", "lsi", "--force").stdout
    assert f'topicfold search {tmp_path / "model"} "WORDS"' in shown.replace("\n", "")
    assert cli("search", tmp_path / "model", "fox").exit_code == 0


def test_labels_join_documents_of_a_class(fit, tmp_path):
    assert fit("-m", "local", "--neighbors", 2).exit_code == 0
    plain = topicfold.load(tmp_path / "model").graph_.nnz
    result = fit("-m", "local", "--neighbors", 2, "--use-labels", "--force")
    assert result.exit_code == 0, result.stderr
    assert topicfold.load(tmp_path / "model").graph_.nnz > plain


def test_links_from_a_file(fit, tmp_path):
    links = tmp_path / "links.txt"
    links.write_text("# a comment\n0 1\n2,3\n\n", encoding="utf-8")
    result = fit("-m", "laplacian", "--graph", links)
    assert result.exit_code == 0, result.stderr
    assert topicfold.load(tmp_path / "model").graph_.nnz == 4


@pytest.mark.parametrize(
    ("content", "message"),
    [("0 1\n2\n", "line 2"), ("0 x\n", "line 1"), ("0 1 2\n2 3\n", "or none of them")],
    ids=["one number", "a word", "mixed"],
)
def test_links_that_are_none(fit, tmp_path, content, message):
    links = tmp_path / "links.txt"
    links.write_text(content, encoding="utf-8")
    result = fit("-m", "laplacian", "--graph", links)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-m", "lda", "--use-labels"), "does not learn from labels"),
        (("-m", "fstm-c", "--no-labels"), "needs labels"),
        (("-m", "lda", "--neighbors", "3"), "no option --neighbors"),
        (("-m", "plsa", "--weight", "3"), "no option --weight"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_options_that_a_model_does_not_have(fit, tmp_path, options, message):
    result = fit(*options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "model").exists()


def test_supervised_model_without_labels(cli, texts, tmp_path, small):
    result = cli("fit", texts, "-m", "medlda", "-o", tmp_path / "model", *small)
    assert result.exit_code == 2
    assert "have no class" in result.stderr


def test_times_are_kept(fit, tmp_path):
    from topicfold.persistence.model_folder import load_model_folder

    assert fit().exit_code == 0
    times = load_model_folder(tmp_path / "model").topic_data().times
    assert times.dtype.kind == "M"
    assert str(times[1]) == "2001-01-01"


def test_phrases_are_topics_terms_and_new_texts_have_them(cli, tmp_path):
    lines = [f"{w} neural network {v}" for w in ("red", "big") for v in ("fox", "den")]
    lines += ["red network fox", "big network den", "red fox den", "neural den"]
    file = tmp_path / "lines.txt"
    file.write_text("\n".join(lines * 10))
    options = ("-k", 2, "--max-iter", 3, "--no-report", "--max-df", "1.0")
    result = cli("fit", file, "-o", tmp_path / "m", *options, "--phrases")
    assert result.exit_code == 0, result.stderr
    assert "neural network" in cli("topics", tmp_path / "m").stdout
    new = cli("transform", tmp_path / "m", file, "-o", tmp_path / "theta.csv")
    assert new.exit_code == 0, new.stderr
    assert "not in the model's vocabulary" not in new.stderr


def test_guided_topics(cli, check_error, texts, tmp_path):
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("# mine\nwater: Sea, fish\n\nanimals: wolf, fox\n")
    options = ("--min-df", 1, "--max-df", 1.0, "-k", 3)
    done = cli("fit", texts, "--seeds", seeds, "-o", tmp_path / "m", *options)
    assert done.exit_code == 0, done.stderr
    rows = json.loads(cli("topics", tmp_path / "m", "-f", "json").stdout)
    names = {row["name"]: row["words"] for row in rows}
    assert "sea" in names["water"][:3]
    assert "fox" in names["animals"][:3]
    fit = ("fit", texts, *options, "-o", tmp_path / "n", "--seeds")
    check_error(cli(*fit, tmp_path / "no.txt"), "a line for each topic")
    seeds.write_text("water:\n")
    check_error(cli(*fit, seeds), "line 1: the topic 'water' has no words")
    seeds.write_text("water: sea\nwater: fish\n")
    check_error(cli(*fit, seeds), "line 2: the topic 'water' comes twice")
    seeds.write_text("\n")
    check_error(cli(*fit, seeds), "has no seed words")
    check_error(cli(*fit, seeds, "-m", "plsa"), "has no seed words")
    seeds.write_text("water: sea\n")
    check_error(cli(*fit, seeds, "-m", "plsa"), "no option --seeds")
