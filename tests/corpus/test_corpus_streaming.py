# SPDX-License-Identifier: BSD-3-Clause
import json
from pathlib import Path

import numpy as np
import pytest

from topicfold import PLSA
from topicfold.corpus import disk_corpus, open_disk_corpus, read, vectorize_file
from topicfold.exceptions import DataError


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "many.jsonl"
    with path.open("w") as stream:
        for row in range(300):
            words = [f"word{w}" for w in rng.zipf(1.6, 20) % 500]
            record = {"text": " ".join(words), "id": row}
            if row % 3:
                record["label"] = f"class {row % 2}"
            stream.write(json.dumps(record) + "\n")
    return path


@pytest.mark.parametrize("options", [{}, {"max_features": 30, "ngram_range": (1, 2)}])
def test_same_as_in_memory(file, tmp_path, monkeypatch, options):
    monkeypatch.setattr("topicfold.corpus.vectorizing._BLOCK_DOCUMENTS", 16)
    monkeypatch.setattr(disk_corpus, "_BLOCK_DOCUMENTS", 100)
    whole = read(file, min_df=3, stop_words="english", **options)
    disk = vectorize_file(
        file, tmp_path / "out", min_df=3, stop_words="english", **options
    )
    assert disk.counts.n_blocks == 3
    assert disk.counts.shape == whole.counts.shape
    assert (disk.counts[:] != whole.counts).nnz == 0
    assert disk.vocabulary == whole.vocabulary
    assert (disk.labels, disk.ids, disk.times) == (whole.labels, whole.ids, None)
    assert disk.encoded_labels()[1] == ["class 0", "class 1"]
    assert disk.name == whole.name == "many"
    again = open_disk_corpus(tmp_path / "out")
    assert (again.n_documents, again.n_terms) == whole.counts.shape
    assert again.ids == whole.ids
    assert sorted(p.name for p in tmp_path.iterdir()) == ["many.jsonl", "out"]


def test_large_counts_and_empty_documents(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("fox " * 700 + "\n\nfox\n")
    disk = vectorize_file(path, tmp_path / "out", min_df=1, max_df=1.0)
    assert disk.counts[:].toarray().tolist() == [[700], [0], [1]]


def test_models_fit_it(file, tmp_path):
    disk = vectorize_file(file, tmp_path / "out", min_df=3)
    model = PLSA(2, max_iter=2, random_state=0).fit(disk.counts)
    other = PLSA(2, max_iter=2, random_state=0).fit(disk.counts[:])
    np.testing.assert_allclose(model.components_, other.components_, atol=1e-5)
    assert model.topic_data().vocabulary == tuple(disk.vocabulary)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ('{"text": "red fox"}\nno json\n', {}, "line 2: not valid JSON"),
        (
            '{"text": "red", "id": 1}\n{"text": "fox", "id": 1}\n',
            {"id": "id"},
            "id '1'",
        ),
        ('{"text": "red fox"}\n', {"min_df": -1}, "min_df=-1"),
        ('{"text": "red fox"}\n', {}, "One document is too few"),
        (
            '{"text": "red fox"}\n',
            {"min_df": 1, "max_df": 0.5},
            "max_df=0.5 means fewer",
        ),
        ('{"text": "7"}\n', {}, "no words to count"),
        ("", {}, "no documents"),
    ],
)
def test_errors_leave_nothing(tmp_path, content, options, message):
    path = tmp_path / "a.jsonl"
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        vectorize_file(path, tmp_path / "out", **options)
    assert [p.name for p in tmp_path.iterdir()] == ["a.jsonl"]


def test_full_disk_leaves_nothing(file, tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk_corpus.np, "savez", full)
    with pytest.raises(DataError, match="cannot be written: No space left"):
        vectorize_file(file, tmp_path / "out")
    assert [p.name for p in tmp_path.iterdir()] == ["many.jsonl"]


def test_a_disk_that_is_full_at_the_very_end_leaves_nothing(
    file, tmp_path, monkeypatch
):
    """The counts are written, the labels are not."""

    def full(self, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(DataError, match="cannot be written: No space left"):
        vectorize_file(file, tmp_path / "out", min_df=3)
    assert [p.name for p in tmp_path.iterdir()] == ["many.jsonl"]


def test_existing_folder(file, tmp_path):
    vectorize_file(file, tmp_path / "out", min_df=3)
    with pytest.raises(DataError, match="exists already"):
        vectorize_file(file, tmp_path / "out")
    disk = vectorize_file(file, tmp_path / "out", min_df=20, overwrite=True)
    assert disk.n_terms < 100
    (tmp_path / "out" / "ids.txt").write_text("one\n")
    with pytest.raises(DataError, match="1 lines for 300 documents"):
        open_disk_corpus(tmp_path / "out")
