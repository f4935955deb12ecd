# SPDX-License-Identifier: BSD-3-Clause
"""Writing files and folders whole or not at all.

A single file is filled under a temporary name and then put in its place
(`write_atomically`).

A corpus may be a folder or several files. Everything is written under hidden names
(drafts) beside the target. A folder then gets its name by renaming. Several files that
belong together cannot be renamed at once, so a hidden note, which appears only when all
drafts are complete, says that they are being renamed; whoever finds it finishes the
work (`settle`). A process that was killed therefore leaves the old corpus or the new
one, never a mixture, and the next write to the same name removes what it left behind.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
import re
import secrets
import shutil
import stat
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from topicfold.exceptions import DataError

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
        raise OSError(errno.EEXIST, "It is a device or a pipe. Give a file", str(file))
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
        if not _in_use(path):
            _remove(path)


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


_DRAFT = re.compile(r"\.topicfold-\d+-[0-9a-f]{12}-[^/\\]+")
# What a note that is invalid leads to, besides damaged files and JSON.
_NO_PLAN = (LookupError, TypeError, AttributeError, RecursionError)
# Drafts that this process is writing: another thread must not remove them.
_OPEN: set[Path] = set()


def new_draft(target: Path) -> Path:
    """Return a hidden name beside `target`; leftovers of killed writers are removed."""
    remove_drafts(target)
    mark = f"{os.getpid()}-{secrets.token_hex(6)}"
    draft = target.with_name(f".topicfold-{mark}-{target.name}")
    _OPEN.add(draft)
    return draft


def not_written(target: Path, error: OSError) -> DataError:
    """Return the error of a target that the system did not let us write."""
    problem = error.strerror or error
    return DataError(f"{target} cannot be written: {problem}. {writing_advice(error)}")


def discard(draft: Path) -> None:
    """Remove a draft, file or folder, and forget it."""
    _OPEN.discard(draft)
    _remove(draft)


def remove_drafts(target: Path) -> None:
    """Remove the drafts of `target` whose writers are gone."""
    settle(target)
    name = re.escape(target.name)
    own = re.compile(rf"\.topicfold-(\d+)-[0-9a-f]{{12}}-{name}(?:\.old)?")
    for file in _hidden(target):
        found = own.fullmatch(file.name)
        # A draft of this process that is not open was left by an earlier one.
        if file in _OPEN or (
            found and int(found[1]) != os.getpid() and is_running(int(found[1]), file)
        ):
            continue
        if found:
            _remove(file)


def swap_folder(draft: Path, target: Path) -> None:
    """Give a complete folder its name; one that is there is replaced."""
    old = draft.with_name(f"{draft.name}.old")
    if target.exists():
        # `settle` finishes the work of a process that ends between the two renames.
        target.rename(old)
    try:
        draft.rename(target)
    except OSError:
        if old.exists() and not target.exists():
            old.rename(target)
        raise
    discard(draft)
    _remove(old)


def swap_files(drafts: Mapping[Path, Path], gone: Sequence[Path], target: Path) -> None:
    """Give complete files their names at once, and remove those that are `gone`.

    All have to be beside `target` and begin with its name; `drafts` has the draft of
    every file.
    """
    for draft in drafts.values():
        flush(draft)
    note = _note_of(target)
    plan = {
        "rename": {draft.name: file.name for file, draft in drafts.items()},
        "remove": [file.name for file in gone],
    }
    hidden = new_draft(note)
    hidden.write_text(json.dumps(plan), encoding="utf-8")
    flush(hidden)
    hidden.replace(note)
    _OPEN.discard(hidden)
    _finish(note, target)
    _OPEN.difference_update(drafts.values())


def settle(target: Path) -> None:
    """Finish the replacement of a file or folder that was interrupted, if one was."""
    if not target.name:  # "." and "/" are replaced by nobody
        return
    if _note_of(target).is_file():
        _finish(_note_of(target), target)
    if target.exists():
        return
    mark = re.compile(rf"\.topicfold-\d+-[0-9a-f]{{12}}-{re.escape(target.name)}")
    for draft in _hidden(target):
        if mark.fullmatch(draft.name) and Path(f"{draft}.old").exists():
            with contextlib.suppress(OSError):
                swap_folder(draft, target)
            return


def _finish(note: Path, target: Path) -> None:
    """Do what a note says; any number of processes may do it at the same time."""
    try:
        plan = json.loads(note.read_text(encoding="utf-8"))
        renames, gone = dict(plan["rename"]), list(plan["remove"])
        # A note from a stranger must not move other files.
        names = [*renames.values(), *gone]
        fine = all(_DRAFT.fullmatch(name) for name in renames) and all(
            name.startswith(target.name) and Path(name).name == name for name in names
        )
        if not fine:
            raise ValueError("it names other files")  # noqa: TRY301
    except FileNotFoundError:
        return
    except (*_NO_PLAN, OSError, ValueError) as error:
        raise DataError(
            f"{target} was being replaced, but {note.name} beside it cannot be read "
            f"({error}). Write the corpus again."
        ) from error
    try:
        for draft, name in renames.items():
            with contextlib.suppress(FileNotFoundError):
                target.with_name(draft).replace(target.with_name(name))
        for name in gone:
            target.with_name(name).unlink(missing_ok=True)
        flush(target.parent)
        note.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(
            f"{target} was being replaced when the process stopped, and the "
            f"replacement cannot be finished: {error.strerror}. Write the corpus again."
        ) from error


def _note_of(target: Path) -> Path:
    return target.with_name(f".topicfold-replacing-{target.name}")


def _hidden(target: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from sorted(target.parent.glob(".*"))


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
