# SPDX-License-Identifier: BSD-3-Clause
"""Writing a corpus whole or not at all: aside first, then given its name.

Everything is written under hidden names (drafts) beside the target. A folder then gets
its name by renaming. Several files that belong together cannot be renamed at once, so a
hidden note, which appears only when all drafts are complete, says that they are being
renamed; whoever finds it finishes the work (`settle`). A process that was killed
therefore leaves the old corpus or the new one, never a mixture, and the next write to
the same name removes what it left behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from topicfold.exceptions import DataError
from topicfold.persistence.atomic import flush, is_running, writing_advice

_DRAFT = re.compile(r"\.topicfold-\d+-[0-9a-f]{12}-[^/\\]+")
# What a note that is invalid leads to, besides damaged files and JSON.
_NO_PLAN = (LookupError, TypeError, AttributeError, RecursionError)
# Drafts that this process is writing: another thread must not remove them.
_OPEN: set[Path] = set()


def new_draft(target: Path) -> Path:
    """Return a hidden name beside `target`; leftovers of killed writers are removed."""
    remove_leftovers(target)
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


def remove_leftovers(target: Path) -> None:
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
            f"{target} was being replaced when its writer stopped, and this cannot be "
            f"finished: {error.strerror}. Write the corpus again."
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
