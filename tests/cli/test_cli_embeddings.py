# SPDX-License-Identifier: BSD-3-Clause
"""``--embeddings``: vectors of documents on the command line, in a file or a column."""

import json

import numpy as np
import pytest

import topicfold

WORDS = {"sea": "fish wave boat salt net tide", "sky": "bird cloud wind star sun rain"}


@pytest.fixture
def documents(tmp_path):
    """Texts of two kinds in a file, and vectors that tell the kind."""
    rng = np.random.default_rng(0)
    kinds = ["sea", "sky"] * 30
    rows = [
        {"text": " ".join(rng.choice(WORDS[kind].split(), 4)), "kind": kind}
        for kind in kinds
    ]
    path = tmp_path / "documents.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    vectors = np.eye(2, 5)[[int(kind == "sky") for kind in kinds]].astype(np.float16)
    vectors += rng.normal(0, 0.1, vectors.shape).astype(np.float16)
    np.save(tmp_path / "vectors.npy", vectors)
    return path, tmp_path / "vectors.npy", vectors


def test_fit_transform_update_and_search(cli, documents, tmp_path):
    path, file, vectors = documents
    model = tmp_path / "model"
    beside = ("--embeddings", file)
    done = cli("fit", path, "-k", 2, "-o", model, "--min-df", 1, *beside, "--no-report")
    assert done.exit_code == 0, done.stderr
    fitted = topicfold.load(model)
    np.testing.assert_array_equal(fitted.sharing_.embeddings_.shape, vectors.shape)
    out = tmp_path / "mixtures.npz"
    done = cli("transform", model, path, "-o", out, *beside)
    assert done.exit_code == 0, done.stderr
    theta = np.load(out)["doc_topics"]
    assert len({*theta[::2].argmax(axis=1), *(1 - theta[1::2].argmax(axis=1))}) == 1
    without = cli("transform", model, path, "-o", tmp_path / "words.npz")
    assert "Give --embeddings for mixtures like those of the fit" in without.stderr
    done = cli("search", model, "fish", "--documents", path, *beside, "-f", "json")
    assert done.exit_code == 0, done.stderr
    assert all(int(hit["document"]) % 2 == 0 for hit in json.loads(done.stdout))
    done = cli("update", model, path, *beside)
    assert done.exit_code == 0, done.stderr
    assert "60 new documents, now 120" in " ".join(done.stdout.split())


def test_search_looks_at_the_vectors_of_documents(cli, documents, tmp_path):
    """Texts without a known word have the topic of their neighbours."""
    path, file, vectors = documents
    model = tmp_path / "model"
    beside = ("--embeddings", file)
    options = ("-k", 2, "-o", model, "--min-df", 1, "--no-report")
    assert cli("fit", path, *options, *beside).exit_code == 0
    new = tmp_path / "new.txt"
    new.write_text("zebra\nzebra fish\nzebra\n", "utf-8")
    np.save(tmp_path / "new.npy", vectors[[1, 0, 0]])
    given = ("--documents", new, "--embeddings", tmp_path / "new.npy", "--mix", 0)
    done = cli("search", model, "fish", *given, "-f", "json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)[-1]["document"] == "0"
    np.save(tmp_path / "new.npy", vectors[:2])
    done = cli("search", model, "fish", *given)
    assert done.exit_code == 2
    assert "2 embeddings for 3 documents" in done.stderr


def test_compare(cli, documents, tmp_path):
    path, file, _ = documents
    options = ("-k", 2, "--min-df", 1, "-m", "lda,lsi", "--label", "kind")
    done = cli("compare", path, *options, "--embeddings", file)
    assert done.exit_code == 0, done.stderr
    assert "--embeddings" in " ".join(done.stdout.split())
    done = cli("compare", path, *options, "--embeddings", tmp_path / "missing.npy")
    assert done.exit_code == 2
    assert "cannot be read" in done.stderr


def test_classify(cli, documents, tmp_path):
    path, file, _ = documents
    model = tmp_path / "model"
    columns = ("--label", "kind", "--embeddings", file)
    done = cli("classify", model, path, "--train", "--min-df", 1, *columns)
    assert done.exit_code == 0, done.stderr
    asked = ("--embeddings", file, "--explain", 1, "--proba")
    done = cli("classify", model, path, *asked)
    assert done.exit_code == 0, done.stderr
    assert [line.split(",")[1] for line in done.stdout.splitlines()[1:3]] == [
        "sea",
        "sky",
    ]
    done = cli("classify", model, path)
    assert done.exit_code == 2
    assert "was trained with --embeddings. Give the" in " ".join(done.stderr.split())


def test_a_column_of_a_parquet_file(cli, documents, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    path, _, vectors = documents
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    table = {"text": [row["text"] for row in rows], "vector": vectors.tolist()}
    write_table(pyarrow.table(table), tmp_path / "documents.parquet")
    source = tmp_path / "documents.parquet"
    done = cli(
        *("fit", source, "--text", "text", "-k", 2, "-o", tmp_path / "model"),
        *("--min-df", 1, "--embeddings", "vector", "--no-report"),
    )
    assert done.exit_code == 0, done.stderr
    assert "embeddings: vector" in done.stderr + done.stdout
    assert "not used" not in done.stderr + done.stdout
    fitted = topicfold.load(tmp_path / "model")
    assert fitted.sharing_.embeddings_.shape == (60, 5)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (None, "row 3 of"),
        ([], "has no vector"),
        ([1.0], "has 1 numbers, others have 5"),
    ],
)
def test_a_row_of_a_column_without_a_vector(cli, documents, tmp_path, row, message):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    path, _, vectors = documents
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    column = [*vectors.tolist()[:3], row, *vectors.tolist()[4:]]
    table = {"text": [row["text"] for row in rows], "vector": column}
    write_table(pyarrow.table(table), source := tmp_path / "documents.parquet")
    done = cli("fit", source, "-o", tmp_path / "model", "--embeddings", "vector")
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
    assert "Encode its text, or write 5 zeros" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("write", "name", "message"),
    [
        (None, "missing.npy", "cannot be read"),
        (np.ones((59, 2)), "few.npy", "59 embeddings for 60 documents"),
        (np.full((60, 2), np.nan), "nan.npy", "NaN, infinity"),
        (np.array([{"a": 1}] * 60), "pickle.npy", "cannot be read"),
        (b"", "empty.npy", "cannot be read"),
        (b"\x93NUMPY\x01\x00\x04\x00{'a(", "cut.npy", "cannot be read"),
        (None, "vectors.txt", "give a NumPy file, FILE.npy"),
    ],
)
def test_files_that_hold_none(cli, documents, tmp_path, write, name, message):
    if isinstance(write, bytes):
        (tmp_path / name).write_bytes(write)
    elif write is not None:
        np.save(tmp_path / name, write)
    done = cli(
        *("fit", documents[0], "-o", tmp_path / "model", "--min-df", 1),
        *("--embeddings", tmp_path / name),
    )
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "model").exists()


def test_commands_that_cannot_use_them_say_so(cli, documents, tmp_path):
    path, file, _ = documents
    beside = ("--embeddings", file)
    done = cli("fit", path, "-m", "lsi", "-o", tmp_path / "lsi", *beside)
    assert done.exit_code == 2
    assert "LSI takes no embeddings" in done.stderr
    plain = tmp_path / "plain"
    assert cli("fit", path, "-k", 2, "-o", plain, "--min-df", 1).exit_code == 0
    done = cli("transform", plain, path, *beside)
    assert done.exit_code == 2
    assert "was fitted without --embeddings" in done.stderr
    done = cli("search", plain, "fish", *beside)
    assert done.exit_code == 2
    assert "--embeddings are the vectors of --documents" in done.stderr


def test_topics_that_lines_of_a_file_describe(cli, documents, tmp_path):
    path, file, _ = documents
    about = tmp_path / "about.txt"
    about.write_text("sky: what is above\n\nsea\n", "utf-8")
    np.save(tmp_path / "about.npy", np.eye(2, 5)[::-1])
    given = ("--about", about, "--about-embeddings", tmp_path / "about.npy")
    options = ("--min-df", 1, "--embeddings", file, "--no-report")
    done = cli("fit", path, "-o", tmp_path / "model", *options, *given)
    assert done.exit_code == 0, done.stderr
    fitted = topicfold.load(tmp_path / "model")
    assert list(fitted.topic_names_) == ["sky", "sea"]
    assert (fitted.doc_topics_.argmax(axis=1) == [1, 0] * 30).all()
    done = cli("fit", path, "-o", tmp_path / "other", *options, *given[:2])
    assert done.exit_code == 2
    assert "Give both" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("lines", "n_rows", "message"),
    [
        ("sky\nsea\n", 3, "has 3 rows. Give 2, one per line of --about"),
        ("sky\nsky\n", 2, "has the topic 'sky' twice"),
        ("\n", 1, "has no names"),
        (": blue\n", 1, "has a line without a name"),
        (None, 1, "there is no file"),
    ],
)
def test_descriptions_that_cannot_be_used(
    cli, documents, tmp_path, lines, n_rows, message
):
    if lines is not None:
        (tmp_path / "about.txt").write_text(lines, "utf-8")
    np.save(tmp_path / "about.npy", np.ones((n_rows, 5)))
    done = cli(
        *("fit", documents[0], "-o", tmp_path / "model", "--embeddings", documents[1]),
        *("--about", tmp_path / "about.txt"),
        *("--about-embeddings", tmp_path / "about.npy"),
    )
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "model").exists()


def test_search_by_the_vector_of_the_query(cli, documents, tmp_path):
    path, file, vectors = documents
    model, asked = tmp_path / "model", tmp_path / "query.npy"
    options = ("-k", 2, "-o", model, "--min-df", 1, "--no-report")
    assert cli("fit", path, *options, "--embeddings", file).exit_code == 0
    np.save(asked, vectors[1:2])
    given = ("--query-embeddings", asked)
    done = cli("search", model, "zebra", *given, "-f", "json")
    assert done.exit_code == 0, done.stderr
    assert all(int(hit["document"]) % 2 == 1 for hit in json.loads(done.stdout))
    np.save(asked, vectors[1])  # what an encoder makes of one text
    assert cli("search", model, "zebra", *given, "-f", "json").stdout == done.stdout
    done = cli("search", model, "--topic", 1, *given)
    assert done.exit_code == 2
    assert "--query-embeddings is the vector of QUERY" in done.stderr
    np.save(asked, vectors[:2])
    done = cli("search", model, "zebra", *given)
    assert done.exit_code == 2
    assert "has 2 rows. Give 1, one per query" in done.stderr
