# SPDX-License-Identifier: BSD-3-Clause
"""A corpus is replaced whole or not at all, wherever its writer is killed."""

import os
import subprocess
import sys

import pytest

from topicfold.corpus import (
    BlockMatrix,
    Corpus,
    read,
    save_folder,
    vectorize_file,
    write,
)
from topicfold.corpus.disk_corpus import open_corpus
from topicfold.exceptions import DataError
from topicfold.persistence import atomic

OLD = Corpus([[1, 2], [3, 0]], ["old", "words"], labels=["x", "y"], ids=["a", "b"])
NEW = Corpus([[5, 0], [0, 6]], ["new", "terms"], labels=["u", "v"], times=["1", "2"])


class Killed(BaseException):
    """What a killed process raises at every call of the system from then on."""


class Killer:
    """Stop at the n-th rename, removal or flush, and let nothing happen after it."""

    names = ("rename", "replace", "unlink", "rmdir", "fsync")

    def __init__(self, monkeypatch, last):
        self.last, self.calls = last, 0
        for name in self.names:
            monkeypatch.setattr(os, name, self.counted(getattr(os, name)))

    def counted(self, function):
        def call(*args, **options):
            self.calls += 1
            if self.calls > self.last:
                raise Killed
            return function(*args, **options)

        return call


def killed_at(number, work):
    """Return whether `work` was killed before its call `number`, as by kill -9."""
    with pytest.MonkeyPatch.context() as patch:
        Killer(patch, number)
        try:
            work()
        except Killed:
            return True
        finally:
            atomic._OPEN.clear()
    return False


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def known(corpus):
    return (
        corpus.counts.toarray().tolist(),
        *(getattr(corpus, field) for field in ("vocabulary", "labels", "ids", "times")),
    )


@pytest.mark.parametrize("kind", ["mm", "ldac", "uci", "svmlight", "npz", "mallet"])
def test_a_killed_replacement_is_old_or_new(tmp_path, kind):
    file = tmp_path / f"news.{kind}"
    states = set()
    for number in range(1000):
        write(OLD, file, format=kind, replace=True)
        old = known(read(file, format=kind))
        killed = killed_at(number, lambda: write(NEW, file, format=kind, replace=True))
        found = known(read(file, format=kind))
        states.add(found == old)
        if not killed:
            break
        # The next write is not blocked, and leaves nothing of the killed one.
        write(NEW, file, format=kind, replace=True)
        assert found in (old, known(read(file, format=kind)))
        assert not [name for name in names(tmp_path) if name.startswith(".")]
    assert number > 8
    assert states == {True, False}
    assert found == known(read(file, format=kind))


def test_a_first_write_that_is_killed_is_nothing_or_whole(tmp_path):
    for number in range(1000):
        file = tmp_path / f"{number}.mtx"
        killed = killed_at(number, lambda file=file: write(NEW, file))
        there = [name for name in names(tmp_path) if name.startswith(file.name)]
        atomic.settle(file)
        assert file.exists() or not there
        if file.exists():
            assert read(file).vocabulary == NEW.vocabulary
        if not killed:
            break
    assert number > 5


def test_a_killed_folder_is_old_or_new(tmp_path):
    folder = tmp_path / "news"
    for number in range(1000):
        save_folder(OLD, folder, replace=folder.exists())
        killed = killed_at(number, lambda: save_folder(NEW, folder, replace=True))
        found = known(read(folder))
        assert found in (known(OLD), known(NEW))
        save_folder(NEW, folder, replace=True)
        assert names(tmp_path) == ["news"]
        if not killed:
            break
    assert number >= 2
    assert found == known(NEW)


def test_killed_blocks_are_old_or_new(tmp_path):
    folder, texts = tmp_path / "news", tmp_path / "texts.csv"
    texts.write_text("text,label\nred fox,land\nblue fish,sea\n")
    options = {"min_df": 1, "max_df": 1.0, "overwrite": True}
    for number in range(1000):
        BlockMatrix.write(folder, OLD.counts, vocabulary=["a", "b"], overwrite=True)
        killed = killed_at(number, lambda: vectorize_file(texts, folder, **options))
        corpus = open_corpus(folder)
        assert (corpus.labels, corpus.n_terms) in ((None, 2), (["land", "sea"], 4))
        vectorize_file(texts, folder, **options)
        assert names(tmp_path) == ["news", "texts.csv"]
        if not killed:
            break
    assert number > 2


def test_kill_9_leaves_nothing_for_long(tmp_path):
    code = (
        "import os, sys, signal\n"
        "from topicfold.corpus import vectorize_file\n"
        "def stop(done, total): os.kill(os.getpid(), signal.SIGKILL)\n"
        "vectorize_file(sys.argv[1], sys.argv[2], progress=stop)\n"
    )
    texts = tmp_path / "t.txt"
    texts.write_text("red fox\nred fish\n")
    line = [sys.executable, "-c", code, str(texts), str(tmp_path / "out")]
    assert subprocess.run(line, check=False).returncode == -9
    assert any(name.startswith(".topicfold-") for name in names(tmp_path))
    (tmp_path / ".out-of-the-way").mkdir()
    vectorize_file(texts, tmp_path / "out", min_df=1, max_df=1.0)
    assert names(tmp_path) == [".out-of-the-way", "out", "t.txt"]


def test_drafts_of_living_writers_stay(tmp_path):
    other = tmp_path / f".topicfold-{os.getppid()}-0123456789ab-x.mtx"
    other.write_text("in the works")
    mine = atomic.new_draft(tmp_path / "x.mtx")
    mine.write_text("also")
    write(OLD, tmp_path / "x.mtx")
    assert other.exists()
    assert mine.exists()
    atomic.discard(mine)
    assert not mine.exists()


@pytest.mark.parametrize(
    "note",
    [
        "no json",
        "[1]",
        '{"rename": {".topicfold-1-0123456789ab-x.mtx": "../other"}, "remove": []}',
        '{"rename": {"secret": "x.mtx"}, "remove": []}',
        '{"rename": {}, "remove": ["secret"]}',
        '{"rename": {}, "remove": ["x.mtx/../secret"]}',
    ],
)
def test_a_note_of_a_stranger_moves_no_other_file(tmp_path, note):
    write(OLD, tmp_path / "x.mtx")
    (tmp_path / "secret").write_text("mine")
    (tmp_path / ".topicfold-replacing-x.mtx").write_text(note)
    with pytest.raises(DataError, match=r"x\.mtx was being replaced.*Write the corpus"):
        read(tmp_path / "x.mtx")
    assert (tmp_path / "secret").read_text() == "mine"


def test_a_folder_that_cannot_get_its_name_stays_as_it_was(tmp_path, monkeypatch):
    folder = save_folder(OLD, tmp_path / "news")
    real = os.rename

    def refuse(source, target, **options):
        if os.fspath(target) == os.fspath(folder) and ".old" not in str(source):
            raise PermissionError(13, "Permission denied")
        real(source, target, **options)

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(DataError, match="news cannot be written: Permission denied"):
        save_folder(NEW, folder, replace=True)
    monkeypatch.undo()
    assert known(read(folder)) == known(OLD)
    assert names(tmp_path) == ["news"]


def test_the_current_folder_is_read(tmp_path, monkeypatch):
    save_folder(OLD, tmp_path / "news")
    monkeypatch.chdir(tmp_path / "news")
    assert known(open_corpus(".")) == known(OLD)


def test_a_folder_in_the_place_of_a_file_stays(tmp_path):
    place = tmp_path / "model"
    place.mkdir()
    (place / "precious.txt").write_text("mine")
    found = Corpus([[1, 2]], ["fox", "red"])
    with pytest.raises(DataError, match="model exists and is not a file"):
        write(found, place, format="npz", replace=True)
    assert [file.name for file in tmp_path.rglob("*")] == ["model", "precious.txt"]


def test_a_note_that_is_nested_too_deeply_is_named(tmp_path):
    file = tmp_path / "c.npz"
    write(Corpus([[1, 2]], ["fox", "red"]), file)
    (tmp_path / ".topicfold-replacing-c.npz").write_text("[" * 100_000)
    with pytest.raises(DataError, match=r"cannot be read .* Write the corpus again"):
        read(file)
