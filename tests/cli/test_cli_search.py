# SPDX-License-Identifier: BSD-3-Clause
import csv
import io
import json
from dataclasses import replace

import pytest

from topicfold import LDA, LSI, PLSA
from topicfold.corpus import vectorize
from topicfold.persistence.model_folder import (
    load_model_folder,
    save_folder,
    save_model_folder,
)
from topicfold.search import TopicIndex
from topicfold.search.words import DEFAULT_MIX

TEXTS = [
    "car motor wheel",
    "car motor road",
    "auto wheel motor",
    "auto road wheel motor",
    "fish sea water",
    "fish boat sea",
    "water sea boat",
]
IDS = [f"d{i}" for i in range(7)]
OPTIONS = ("--min-df", "1", "--max-df", "1.0", "-q")


@pytest.fixture
def source(tmp_path):
    file = tmp_path / "texts.jsonl"
    lines = (
        json.dumps({"text": text, "id": name, "label": "land" if i < 4 else "sea"})
        for i, (text, name) in enumerate(zip(TEXTS, IDS, strict=True))
    )
    file.write_text("\n".join(lines))
    return file


@pytest.fixture
def lsi(cli, source, tmp_path):
    folder = tmp_path / "lsi"
    result = cli("fit", source, "-m", "lsi", "-k", 2, "-o", folder, *OPTIONS)
    assert result.exit_code == 0, result.stderr
    return folder


def found(result):
    assert result.exit_code == 0, result.stderr
    return [row["document"] for row in json.loads(result.stdout)]


def test_finds_documents_that_share_no_word(cli, lsi):
    names = found(cli("search", lsi, "car", "-n", 4, "-f", "json", "--mix", 0))
    assert set(names) == {"d0", "d1", "d2", "d3"}
    saved = load_model_folder(lsi)
    index = TopicIndex(saved.model, vocabulary=saved.vocabulary, text=saved.text)
    index.add(vectors=saved.model.doc_topics_, ids=saved.doc_ids)
    assert names == list(index.query("car", n=4).names)


def test_every_way_to_ask(cli, lsi):
    assert set(found(cli("search", lsi, "--like", "d4", "-n", 2, "-f", "json"))) == {
        "d5",
        "d6",
    }
    assert set(found(cli("search", lsi, "--word", "sea", "-n", 3, "-f", "json"))) == {
        "d4",
        "d5",
        "d6",
    }
    assert len(found(cli("search", lsi, "--topic", 0, "-f", "json"))) == 7
    result = cli("search", lsi, "--word", "fish", "--terms", "-n", 3, "-f", "json")
    words = {row["word"] for row in json.loads(result.stdout)}
    assert words == {"sea", "water", "boat"}


def test_results_and_csv(cli, lsi):
    shown = cli("search", lsi, "boat", "-n", 2)
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert lines[0].split()[:4] == ["1", "fish", "boat", "sea"]
    assert lines[0].split()[4:7] == ["d5", "·", "sea"]
    rows = list(
        csv.DictReader(io.StringIO(cli("search", lsi, "boat", "-f", "csv").stdout))
    )
    assert [row["rank"] for row in rows] == [str(i) for i in range(1, 8)]
    assert {row["label"] for row in rows[:3]} == {"sea"}
    terms = cli("search", lsi, "--word", "boat", "--terms", "-n", 2).stdout
    assert terms.splitlines()[0].split() == ["rank", "score", "word"]


def test_titles_and_passages_with_the_words(cli, tmp_path):
    X, words = vectorize(TEXTS, min_df=1, max_df=1.0)
    texts = [f"Title {i}\n{'very ' * 90}{text}" for i, text in enumerate(TEXTS)]
    model = LSI(2, keep_documents=True).fit(X)
    save_model_folder(model, tmp_path / "m", vocabulary=words, texts=texts, counts=X)
    ask = ("search", tmp_path / "m", "boat", "-n", 1)
    (row,) = json.loads(cli(*ask, "-f", "json").stdout)
    assert row["title"] == "Title 5"
    assert row["snippet"].endswith("very fish boat sea")
    assert len(row["snippet"]) < 170
    shown = " ".join(cli(*ask).stdout.split())
    assert shown.startswith("1 Title 5")
    assert shown.endswith("fish boat sea")


def test_words_are_mixed_in_where_they_are_known(cli, lsi):
    ask = ("search", lsi, "car road", "-n", 2, "-f", "json")
    assert found(cli(*ask))[0] == "d1"  # the one with both words
    assert found(cli(*ask)) == found(cli(*ask, "--mix", DEFAULT_MIX))
    assert f"{DEFAULT_MIX:g} if the words" in " ".join(
        cli("search", "--help").stdout.replace("│", " ").split()
    )


def test_other_documents_and_shared_words(cli, lsi, tmp_path):
    new = tmp_path / "new.txt"
    new.write_text("auto road\nfish sea\ncar fish\n")
    args = ("search", lsi, "car", "--documents", new, "-f", "json")
    assert found(cli(*args, "--mix", 0))[0] == "0"
    assert found(cli(*args, "--mix", 1.0))[0] == "2"
    assert found(cli(*args, "--mix", 1.0, "--lexical", "tfidf"))[0] == "2"
    assert found(cli(*args, "--measure", "inner"))[0] in {"0", "2"}


@pytest.mark.parametrize("kind", [LDA, PLSA], ids=["LDA", "PLSA"])
def test_topic_models(cli, tmp_path, kind):
    X, words = vectorize(TEXTS, min_df=1, max_df=1.0)
    folder = tmp_path / "model"
    model = kind(2, max_iter=100, random_state=0).fit(X)
    save_model_folder(model, folder, vocabulary=words, doc_ids=IDS)
    for measure in ("hellinger", "kl", "cosine"):
        result = cli("search", folder, "boat", "-n", 3, "--measure", measure)
        assert result.exit_code == 0
        assert all(name in result.stdout for name in ("d4", "d5", "d6"))


def test_a_saved_index(cli, check_error, tmp_path):
    X, words = vectorize(TEXTS, min_df=1, max_df=1.0)
    index = TopicIndex(LSI(2).fit(X), vocabulary=words, lexical="bm25")
    index.add(X, ids=IDS).save(tmp_path / "index")
    args = ("search", tmp_path / "index", "car", "-f", "json")
    assert set(found(cli(*args, "-n", 4))) == {"d0", "d1", "d2", "d3"}
    assert set(found(cli(*args, "--mix", 1.0, "-n", 2))) == {"d0", "d1"}
    check_error(cli(*args, "--measure", "inner"), "--measure", "its own settings")


def test_what_lsi_cannot_do_is_said(cli, check_error, lsi):
    check_error(cli("topics", lsi), "LSI has no topics", "topicfold search")


def test_errors(cli, check_error, lsi, model, tmp_path):
    check_error(cli("search", lsi), "exactly one of QUERY")
    check_error(cli("search", lsi, "car", "--topic", 1), "got 2")
    check_error(cli("search", lsi, ""), "the query is empty")
    check_error(cli("search", lsi, "zebra"), "lacks 'zebra'", "Try other words")
    check_error(cli("search", lsi, "--like", "d99"), "'d99'")
    check_error(cli("search", lsi, "--topic", 5), "no topic 5")
    wordless = tmp_path / "wordless"
    save_folder(replace(load_model_folder(lsi), counts=None), wordless)
    check_error(cli("search", wordless, "car", "--mix", 0.5), "--documents")
    check_error(cli("search", lsi, "car", "--lexical", "bm25", "--mix", 0), "--mix")
    check_error(cli("search", lsi, "--topic", 1, "--mix", 0.5), "--topic has no query")
    check_error(cli("search", lsi, "car", "--terms"), "--word")
    check_error(cli("search", lsi, "--word", "car", "--terms", "--mix", 0.1), "--terms")
    check_error(cli("search", lsi, "car", "--measure", "kl"), "cosine or inner")
    check_error(cli("search", lsi, "car", "-n", 0), "-n")
    check_error(cli("search", tmp_path / "nowhere", "car"), "nowhere")
    X, words = vectorize(TEXTS, min_df=1, max_df=1.0)
    stream = LSI(2).fit(X)
    save_model_folder(stream, tmp_path / "stream", vocabulary=words)
    check_error(
        cli("search", tmp_path / "stream", "car"), "was saved without documents"
    )


def test_help_has_examples_and_python(cli):
    result = cli("search", "--help")
    assert result.exit_code == 0
    for part in ("Examples", "In Python", "Topics.load", "--mix", "--like"):
        assert part in result.stdout


def test_unknown_words_are_said(cli, lsi):
    result = cli("search", lsi, "moter road", "-f", "json")
    assert found(result)
    assert result.stderr == (
        "note: The vocabulary of the model lacks 'moter'; it was ignored. Did you mean "
        "'motor'?\n"
    )
    assert cli("search", lsi, "motor road", "-f", "json").stderr == ""
