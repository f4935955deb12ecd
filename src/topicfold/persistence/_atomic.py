# SPDX-License-Identifier: BSD-3-Clause
"""Writing a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path


def write_atomically(file: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file, then put it in the place of `file`.

    The temporary file lies in the same folder, is flushed to the disk before it
    replaces `file`, and is removed after any failure, an interrupt included; an old
    `file` stays whole until the new one is complete. Missing folders are made. The
    new file has the permissions of the old one, or those of any new file. A symbolic
    link stays one: the file it points to is replaced.

    Parameters
    ----------
    file : Path
        The file to write.
    write : callable
        Called once with the path of the temporary file, which is empty.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "deep", "note.txt")
    ...     write_atomically(file, lambda temporary: temporary.touch())
    ...     [found.name for found in file.parent.iterdir()]
    ['note.txt']
    """
    file = file.resolve()
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.parent / f".topicfold-{secrets.token_hex(8)}.tmp"
    try:
        temporary.touch(exist_ok=False)
        # safetensors may write for the owner only: keep what the umask gave.
        mode = stat.S_IMODE((file if file.exists() else temporary).stat().st_mode)
        write(temporary)
        with temporary.open("rb+") as stream:
            os.fsync(stream.fileno())
        temporary.chmod(mode)
        temporary.replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    _sync_folder(file.parent)


def _sync_folder(folder: Path) -> None:
    """Flush the folder's entry for the new name, where the system can."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):  # some network file systems refuse it
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
