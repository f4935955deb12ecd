# SPDX-License-Identifier: BSD-3-Clause
import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from topicfold.corpus import load_folder
from topicfold.corpus.files import save_folder
from topicfold.exceptions import DataError


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "tiny"
    place.mkdir()
    X = sparse.csr_matrix(np.array([[1, 0], [0, 2], [1, 1]], dtype=np.int32))
    sparse.save_npz(place / "counts.npz", X)
    (place / "vocab.txt").write_text("red\nübel\n", encoding="utf-8")
    (place / "labels.txt").write_text("x\n\ny\n")
    (place / "split.txt").write_text("train\ntest\ntrain\n")
    (place / "time.txt").write_text("1990\n1991\n1992\n")
    (place / "links.txt").write_text("0 1\n2\t0\n")
    records = [{"id": i, "text": f"text {i}", "year": 1990} for i in range(3)]
    with gzip.open(place / "docs.jsonl.gz", "wt") as file:
        file.write("\n".join(map(json.dumps, records)))
    return place


def test_all_files(folder):
    corpus = load_folder(folder)
    assert corpus.name == "tiny"
    assert corpus.counts.dtype == np.int32
    assert corpus.vocabulary == ["red", "übel"]
    assert corpus.labels == ["x", "", "y"]
    assert corpus.split == ["train", "test", "train"]
    assert corpus.times == ["1990", "1991", "1992"]
    assert corpus.links.tolist() == [[0, 1], [2, 0]]
    assert corpus.texts == ["text 0", "text 1", "text 2"]
    assert corpus.ids == ["0", "1", "2"]
    assert load_folder(str(folder), texts=False).texts is None


def test_only_counts_and_words_are_needed(folder):
    for file in folder.iterdir():
        if file.name not in ("counts.npz", "vocab.txt"):
            file.unlink()
    corpus = load_folder(folder)
    assert corpus.n_documents == 3
    assert corpus.labels is corpus.split is corpus.links is corpus.texts is None


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("vocab.txt", "red\n", r"vocab.txt has 1 lines, but counts.npz has 2 columns"),
        ("labels.txt", "x\n", r"labels.txt has 1 lines, but counts.npz has 3 rows"),
        ("split.txt", "train\ndev\ntest\n", r"split\[1\] is 'dev'"),
        ("links.txt", "0 1\n0 one\n", "line 2: '0 one' is not a link"),
        ("links.txt", "0 3\n", "outside the 3 documents"),
        ("counts.npz", "no archive", "not a sparse matrix"),
        ("docs.jsonl.gz", "no gzip", "cannot be read"),
    ],
)
def test_damaged_files(folder, name, content, message):
    (folder / name).write_text(content)
    with pytest.raises(DataError, match=message):
        load_folder(folder)


def test_damaged_texts(folder):
    (folder / "docs.jsonl.gz").write_bytes(gzip.compress(b'{"text": "x"}\n{}\n{}\n'))
    with pytest.raises(DataError, match="line 2"):
        load_folder(folder)


def test_no_words_at_all(folder):
    sparse.save_npz(folder / "counts.npz", sparse.csr_matrix((3, 0)))
    (folder / "vocab.txt").write_text("")
    with pytest.raises(DataError, match="tiny has no words"):
        load_folder(folder)


@pytest.mark.parametrize("name", ["counts.npz", "vocab.txt"])
def test_required_files(folder, name):
    (folder / name).unlink()
    with pytest.raises(DataError, match=f"it has no {name}"):
        load_folder(folder)


@pytest.mark.corpora
@pytest.mark.skipif(
    not os.environ.get("TOPICFOLD_CORPORA"), reason="TOPICFOLD_CORPORA is not set"
)
@pytest.mark.parametrize(
    ("name", "shape", "n_classes"),
    [
        ("oh0", (1003, 3182), 10),
        ("bbc_news_octis", (2225, 2949), 5),
        ("cora_linqs", (2708, 1433), 7),
        ("sotu", (233, 10300), 8),
        ("ap_blei", (2246, 10473), 0),
    ],
)
def test_real_corpora(name, shape, n_classes):
    corpus = load_folder(Path(os.environ["TOPICFOLD_CORPORA"], name))
    assert corpus.counts.shape == shape
    assert len(corpus.encoded_labels()[1]) == n_classes
    assert (corpus.split is not None) == (name == "bbc_news_octis")
    assert (corpus.links is not None) == (name == "cora_linqs")
    assert (corpus.texts is not None) == (name == "sotu")


def test_empty_lines_between_links(folder):
    (folder / "links.txt").write_text("0 1\n\n  \n2 0\n")
    assert load_folder(folder).links.tolist() == [[0, 1], [2, 0]]


def test_full_disk_leaves_the_old_corpus(folder, monkeypatch):
    corpus = load_folder(folder)

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("topicfold.corpus.files._fill", full)
    with pytest.raises(DataError, match="tiny cannot be written: No space left"):
        save_folder(corpus, folder, replace=True)
    assert [path.name for path in folder.parent.iterdir()] == ["tiny"]
    assert load_folder(folder).ids == corpus.ids
