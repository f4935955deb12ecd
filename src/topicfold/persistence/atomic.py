# SPDX-License-Identifier: BSD-3-Clause
"""Writing a file whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import secrets
import shutil
import stat
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

_PREFIX, _SUFFIX = ".topicfold-", ".tmp"
_DAY = 86_400.0
_cleaned: set[tuple[int, Path]] = set()


def write_atomically(file: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file, then put it in place of `file`.

    The temporary file is in a folder of its own beside `file`, so that what a library
    writes beside it is in there too. It is flushed to the disk before it replaces
    `file`, and the folder is removed after any failure, an interrupt included; an old
    `file` stays whole until the new one is complete. Missing folders are made. The
    new file has the permissions of the old one, or those of any new file. A symbolic
    link stays one: the file it points to is replaced. The first write to a folder also
    removes what processes that were killed left there. A device or a pipe is refused:
    a file would take its place.
    """
    try:
        file = file.resolve()
    except RuntimeError as error:  # a loop of links, before Python 3.13
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(file)) from error
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise OSError(errno.EEXIST, "It is a device or a pipe, not a file", str(file))
    file.parent.mkdir(parents=True, exist_ok=True)
    if (os.getpid(), file.parent) not in _cleaned:
        remove_leftovers(file.parent)
        _cleaned.add((os.getpid(), file.parent))
    own, temporary = (file.parent / temporary_name() for _ in range(2))
    try:
        own.mkdir()
        content = own / "content"
        content.touch()
        # safetensors may write for the owner only: keep what the umask gave.
        mode = stat.S_IMODE((file if file.exists() else content).stat().st_mode)
        write(content)
        flush(content)
        content.chmod(mode)
        # Out of its folder first: once `file` is there, nothing else is.
        content.replace(temporary)
        shutil.rmtree(own)
        temporary.replace(file)
    except BaseException as error:
        shutil.rmtree(own, ignore_errors=True)
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):  # a full disk names no file
            error.filename = str(file)
        raise
    sync_folder(file.parent)


@contextlib.contextmanager
def set_aside(file: Path) -> Iterator[None]:
    """Take a file away while something is written; put it back if that fails."""
    aside = file.with_name(temporary_name())
    file.replace(aside)
    try:
        yield
    except BaseException:
        aside.replace(file)
        raise
    aside.unlink()


def temporary_name() -> str:
    """Return a name for what this process writes; others remove it if it is killed."""
    return f"{_PREFIX}{_host()}-{os.getpid()}-{secrets.token_hex(8)}{_SUFFIX}"


def writing_advice(error: OSError) -> str:
    """Return what to do after an error of the system that ended the writing."""
    if error.errno == errno.EFBIG:
        return (
            "The system limits how large a file may be: raise the limit (ulimit -f), "
            "or write to another disk."
        )
    return "Check path, permissions and free space."


def sync_folder(folder: Path) -> None:
    """Flush the folder's entry for a new name, where the system can."""
    with contextlib.suppress(OSError):  # some network file systems refuse it
        flush(folder)


def flush(path: Path) -> None:
    """Make sure that a file, or the names in a folder, are on the disk."""
    if path.is_dir() and os.name == "nt":
        return  # folders cannot be opened there
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_temporary(path: Path) -> bool:
    """Tell whether this module made a file or folder, and has not finished it."""
    return path.name.startswith(_PREFIX) and path.name.endswith(_SUFFIX)


def remove_leftovers(folder: Path) -> None:
    """Remove what processes that were killed while they wrote have left."""
    for path in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
        with contextlib.suppress(OSError):  # somebody else may have removed it
            if _in_use(path):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def _in_use(path: Path) -> bool:
    host, _, rest = path.name.removeprefix(_PREFIX).partition("-")
    process = rest.partition("-")[0]
    if host == _host() and process.isdecimal():
        return is_running(int(process), path)
    # Another machine's, or another version's: an old one has no writer any more.
    return _is_recent(path)


def is_running(process: int, path: Path) -> bool:
    """Tell whether the process that writes to a path may still run."""
    if os.name == "nt":  # no harmless way to ask
        return _is_recent(path)
    try:
        os.kill(process, 0)  # signal 0 asks only whether the process exists
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _is_recent(path: Path) -> bool:
    with contextlib.suppress(OSError):  # somebody else may have removed it
        return time.time() - path.stat().st_mtime < _DAY
    return False


def _host() -> str:
    return f"{zlib.crc32(platform.node().encode()):08x}"
