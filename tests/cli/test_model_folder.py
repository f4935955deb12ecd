# SPDX-License-Identifier: BSD-3-Clause
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from topicfold import LDA, PLSA
from topicfold.exceptions import ModelFileError
from topicfold.persistence import atomic, save_estimator
from topicfold.persistence.model_folder import (
    check_output_folder,
    load_model_folder,
    place_to_save,
    save_model_folder,
)

SMALL = ("-k", 2, "--max-iter", 3, "--min-df", 1, "--max-df", 1.0)
WORDS = ["red", "fox", "sea"]


@pytest.fixture(scope="module")
def fitted():
    return PLSA(2, random_state=0, max_iter=3).fit([[2, 1, 0], [0, 1, 3]])


def test_round_trip(fitted, tmp_path):
    kept = {
        "vocabulary": WORDS,
        "labels": ["x", " "],
        "doc_ids": ["a", "b"],
        "text": {"min_df": 0.1, "stop_words": ["the"]},
        "corpus": "two",
    }
    file = save_model_folder(fitted, tmp_path / "m", **kept)
    assert [p.name for p in (tmp_path / "m").iterdir()] == [file.name]
    saved = load_model_folder(tmp_path / "m")
    assert {name: getattr(saved, name) for name in kept} == kept
    data = saved.topic_data()
    assert data.labels == ("x", None)
    assert data.doc_ids == ("a", "b")
    assert data.vocabulary == tuple(WORDS)


def test_nothing_but_the_model(fitted, tmp_path):
    save_model_folder(fitted, tmp_path / "one.safetensors")
    saved = load_model_folder(tmp_path / "one.safetensors")
    assert (saved.vocabulary, saved.labels, saved.text) == (None, None, None)
    assert saved.topic_data().vocabulary == ("w0", "w1", "w2")


@pytest.mark.parametrize(
    "extra",
    [{"vocabulary": WORDS[:2]}, {"labels": ["x"]}, {"doc_ids": ["a", "b", "c"]}],
)
def test_parts_that_do_not_fit(fitted, tmp_path, extra):
    with pytest.raises(ModelFileError, match=f"{next(iter(extra))} has"):
        save_model_folder(fitted, tmp_path, **extra)
    save_estimator(fitted, tmp_path, extra_strings=extra)
    with pytest.raises(ModelFileError, match=f"damaged: {next(iter(extra))} has"):
        load_model_folder(tmp_path)


@pytest.mark.parametrize("indptr", [[0, 1], [0, 1, 9], 1])
def test_counts_that_do_not_fit(fitted, tmp_path, indptr):
    arrays = {
        "counts_data": np.ones(1, np.int32),
        "counts_indices": np.zeros(1, np.int32),
        "counts_indptr": np.array(indptr, np.int32),
    }
    save_estimator(fitted, tmp_path, extra_arrays=arrays)
    with pytest.raises(ModelFileError, match="is damaged"):
        load_model_folder(tmp_path)


@pytest.mark.parametrize("text", [3, {"stop_words": 2.5}])
def test_odd_settings(fitted, tmp_path, text):
    save_estimator(fitted, tmp_path, extra_meta={"text": text})
    with pytest.raises(ModelFileError, match="text options"):
        load_model_folder(tmp_path)


def test_unfitted_model(tmp_path):
    save_estimator(PLSA(2), tmp_path)
    with pytest.raises(ModelFileError, match="PLSA"):
        load_model_folder(tmp_path)


def test_output_file(fitted, tmp_path):
    file = tmp_path / "one.safetensors"
    check_output_folder(file)
    save_model_folder(fitted, file)
    with pytest.raises(ModelFileError, match="replace=True"):
        check_output_folder(file)
    check_output_folder(file, replace=True)
    # Beside other files is fine for a file, not for a folder.
    with pytest.raises(ModelFileError, match="no topicfold model"):
        check_output_folder(tmp_path)
    check_output_folder(tmp_path / "new" / "folder")


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind here"
)
def test_read_only_place(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(ModelFileError, match="may not write"):
        check_output_folder(tmp_path / "m")


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([1999, 2001.5], [1999.0, 2001.5]),
        (["2001", None], [2001.0, np.nan]),
        (["2001-05-02", ""], np.array(["2001-05-02", "NaT"], "datetime64[D]")),
        (
            np.array(["2001-05", "NaT"], "datetime64[M]"),
            np.array(["2001-05", "NaT"], "datetime64[M]"),
        ),
    ],
    ids=["numbers", "years", "dates", "months"],
)
def test_texts_and_times_come_back(fitted, tmp_path, times, expected):
    n_documents = len(fitted.doc_topics_)
    repeats = -(-n_documents // 2)
    texts = [f"text {d}" for d in range(n_documents)]
    given = [*times] * repeats
    save_model_folder(fitted, tmp_path, texts=texts, times=given[:n_documents])
    data = load_model_folder(tmp_path).topic_data()
    assert list(data.texts) == texts
    np.testing.assert_array_equal(
        data.times, np.array([*expected] * repeats)[:n_documents]
    )


def test_what_a_killed_writer_left_does_not_block_the_next(tmp_path):
    killed = subprocess.Popen([sys.executable, "-c", ""])
    killed.wait()
    host = atomic._host()
    left = tmp_path / f".topicfold-{host}-{killed.pid}-0123456789abcdef.tmp"
    mine = tmp_path / f".topicfold-{host}-{os.getpid()}-0123456789abcdef.tmp"
    foreign = tmp_path / ".topicfold-00000000-1-0123456789abcdef.tmp"
    old = tmp_path / ".topicfold-0123456789abcdef.tmp"
    for file in (left, mine, foreign, old):
        file.write_bytes(b"half")
    os.utime(old, (0, 0))
    check_output_folder(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([mine, foreign])
    check_output_folder(tmp_path)
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ModelFileError, match=r"holds notes\.txt but no topicfold"):
        check_output_folder(tmp_path)


def test_labels_are_text_or_unknown(fitted, tmp_path):
    save_model_folder(fitted, tmp_path / "a", labels=["x", None])
    assert load_model_folder(tmp_path / "a").topic_data().labels == ("x", None)
    for labels in ([1, "x"], [float("nan"), "x"], np.array([0, 1])):
        with pytest.raises(ModelFileError, match=r"A label is .* Give strings"):
            save_model_folder(fitted, tmp_path / "b", labels=labels)
    assert not (tmp_path / "b").exists()


def test_a_full_disk_takes_nothing_away(cli, check_error, fitted_folder, monkeypatch):
    """The page of the old model stays with it."""
    folder, more = fitted_folder
    page = (folder / "report.html").read_bytes()
    model = (folder / "model.safetensors").read_bytes()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("topicfold.persistence.bundle.save_file", full)
        check_error(cli("update", folder, more), "unchanged")
    assert (folder / "report.html").read_bytes() == page
    assert (folder / "model.safetensors").read_bytes() == model
    assert sorted(path.name for path in folder.iterdir()) == [
        "model.safetensors",
        "report.html",
    ]


def test_two_commands_at_once_lose_nothing(cli, fitted_folder, texts, monkeypatch):
    """The second to finish saves beside the first."""
    folder, more = fitted_folder
    other = folder.with_name("new")
    first = cli("fit", texts, "-o", folder.with_name("source"), *SMALL)
    assert first.exit_code == 0, first.stderr

    fit = LDA.fit

    def arrives(self, *args, **kwargs):
        # Another process is done while this one learns.
        shutil.copytree(folder.with_name("source"), other)
        return fit(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(LDA, "fit", arrives)
        second = cli("fit", texts, "-o", other, *SMALL)
    assert second.exit_code == 0, second.stderr
    assert "another command saved a model in" in second.stderr
    assert str(other) + "-2" in second.stdout
    for place in (other, other.with_name("new-2")):
        assert load_model_folder(place).counts.shape[0] == 6
    # An update of a model that another update has changed, too.
    kept = (folder / "model.safetensors").read_bytes()
    with monkeypatch.context() as patch:
        plain = LDA.transform

        def transform(self, X):
            (folder / "model.safetensors").write_bytes(kept)
            return plain(self, X)

        patch.setattr(LDA, "transform", transform)
        done = cli("update", folder, more)
    assert done.exit_code == 0, done.stderr
    assert "in the meantime" in done.stderr
    assert load_model_folder(folder).counts.shape[0] == 6
    assert load_model_folder(folder.with_name("model-2")).counts.shape[0] == 7


@pytest.fixture
def fitted_folder(cli, texts, tmp_path):
    folder, more = tmp_path / "model", tmp_path / "more.txt"
    assert cli("fit", texts, "-o", folder, *SMALL).exit_code == 0
    more.write_text("a red fox\n", encoding="utf-8")
    return folder, more


def test_a_place_beside_one_that_is_taken(tmp_path):
    model = PLSA(2, random_state=0, max_iter=2).fit([[1, 2], [0, 3]])
    for name in ("m", "m.safetensors"):
        check_output_folder(tmp_path / name)
        assert place_to_save(tmp_path / name) == tmp_path / name
        check_output_folder(tmp_path / name)
        save_model_folder(model, tmp_path / name)
    assert place_to_save(tmp_path / "m") == tmp_path / "m-2"
    assert place_to_save(tmp_path / "m.safetensors") == tmp_path / "m-2.safetensors"
