# SPDX-License-Identifier: BSD-3-Clause
"""A file is written whole or not at all."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from topicfold.exceptions import ModelFileError
from topicfold.persistence import bundle as bundle_module
from topicfold.persistence import read_bundle, write_bundle
from topicfold.persistence.atomic import is_temporary, set_aside, write_atomically


def small(path: Path, note: str = "old", size: int = 6) -> Path:
    return write_bundle(
        path, kind="demo", arrays={"a": np.ones(size)}, meta={"note": note}
    )


@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt()])
@pytest.mark.parametrize("moment", ["write", "fsync", "replace"])
def test_failure_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, moment, error):
    file = small(tmp_path)

    def fail(*args, **kwargs):
        if moment == "write":
            Path(args[1]).write_bytes(b"half of it")
        raise error

    target = {"write": (bundle_module, "save_file"), "fsync": (os, "fsync")}
    with monkeypatch.context() as patch:
        patch.setattr(*target.get(moment, (os, "replace")), fail)
        expected = ModelFileError if isinstance(error, OSError) else KeyboardInterrupt
        with pytest.raises(expected):
            small(tmp_path, note="new")
    assert read_bundle(file).meta == {"note": "old"}
    assert list(tmp_path.iterdir()) == [file]


def test_a_disk_that_is_really_full(tmp_path):
    resource = pytest.importorskip("resource")
    file = small(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        with pytest.raises(ModelFileError, match=r"Cannot write .*unchanged"):
            small(tmp_path, size=100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert read_bundle(file).meta == {"note": "old"}
    assert list(tmp_path.iterdir()) == [file]


def test_a_path_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ModelFileError, match=r"is a file\. Choose a new folder"):
        small(tmp_path / "file")
    (tmp_path / "x.safetensors").mkdir()
    with pytest.raises(ModelFileError, match="Cannot write"):
        small(tmp_path / "x.safetensors")
    assert len(list(tmp_path.iterdir())) == 2


def test_permissions_are_those_of_any_file_and_kept(tmp_path):
    (tmp_path / "plain").touch()
    file = small(tmp_path)
    assert file.stat().st_mode == (tmp_path / "plain").stat().st_mode
    file.chmod(0o640)
    small(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path):
    real = small(tmp_path / "real.safetensors")
    link = tmp_path / "link.safetensors"
    link.symlink_to(real)
    small(link, note="new")
    assert link.is_symlink()
    assert read_bundle(real).meta == {"note": "new"}


@pytest.mark.skipif(os.name == "nt", reason="there are no such files")
def test_a_device_or_a_pipe_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    for file, problem in ((pipe, "device or a pipe"), (loop, "symbolic links")):
        with pytest.raises(OSError, match=problem):
            write_atomically(file, lambda to: to.write_bytes(b"new"))
    assert pipe.is_fifo()
    assert loop.is_symlink()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_full_disk_is_named_with_the_file(tmp_path):
    def write(to):
        to.write_bytes(b"some")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match=r"No space left on device: .*report\.html"):
        write_atomically(tmp_path / "report.html", write)
    assert not list(tmp_path.iterdir())


def test_what_a_library_leaves_when_it_is_killed_is_removed(tmp_path):
    """A library may write to a file of its own first, as safetensors does."""
    code = f"""
import os, signal
from pathlib import Path
from topicfold.persistence.atomic import is_temporary, set_aside, write_atomically

def write(to):
    to.with_name(".tmpAbCdEf").write_bytes(b"half of it")
    os.kill(os.getpid(), signal.SIGKILL)

write_atomically(Path({str(tmp_path / "model.safetensors")!r}), write)
"""
    killed = subprocess.run([sys.executable, "-c", code], check=False)
    assert killed.returncode < 0
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()]
    file = small(tmp_path)
    assert list(tmp_path.iterdir()) == [file]


def test_all_that_safetensors_writes_is_in_the_temporary_folder(tmp_path, monkeypatch):
    seen = []
    plain = bundle_module.save_file

    def save(arrays, file, *args, **kwargs):
        seen.append(Path(file).parent)
        return plain(arrays, file, *args, **kwargs)

    monkeypatch.setattr(bundle_module, "save_file", save)
    small(tmp_path)
    assert [place.parent for place in seen] == [tmp_path]
    assert is_temporary(seen[0])
    assert not seen[0].exists()


def test_a_file_set_aside_comes_back_after_a_failure(tmp_path):
    page = tmp_path / "report.html"
    page.write_text("page")

    def fail():
        with set_aside(page):
            assert not page.exists()
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        fail()
    assert page.read_text() == "page"
    with set_aside(page):
        pass
    assert not list(tmp_path.iterdir())
