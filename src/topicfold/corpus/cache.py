# SPDX-License-Identifier: BSD-3-Clause
"""A small cache on disk: arrays and JSON in one npz file, never pickle.

The cache is a convenience: a folder that cannot be written or a damaged file is logged
and the content is built again, it is never an error.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.corpus.npz import DAMAGE, load_arrays

logger = logging.getLogger(__name__)

_META = "json"


def cache_path() -> Path | None:
    """Return the cache folder, or None where the user has no home.

    It is TOPICFOLD_CACHE, else XDG_CACHE_HOME/topicfold, else ~/.cache/topicfold. The
    folder is not made.

    Returns
    -------
    Path or None

    Examples
    --------
    >>> import os
    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, {"TOPICFOLD_CACHE": "/somewhere/else"}):
    ...     cache_path().as_posix()
    '/somewhere/else'
    """
    own = os.environ.get("TOPICFOLD_CACHE")
    if own:
        return Path(own).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME")
    # The XDG specification asks to ignore relative paths.
    if shared and Path(shared).is_absolute():
        return Path(shared) / "topicfold"
    try:
        return Path.home() / ".cache" / "topicfold"
    except RuntimeError:
        return None


def load(name: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None:
    """Return the arrays and the JSON stored under `name`, or None."""
    folder = cache_path()
    if folder is None:
        return None
    path = folder / f"{name}.npz"
    try:
        arrays = load_arrays(path)
        meta = json.loads(arrays.pop(_META).tobytes().decode("utf-8"))
    except FileNotFoundError:
        return None
    except DAMAGE as error:
        logger.warning("cache file %s is damaged and will be rebuilt: %s", path, error)
        return None
    return (arrays, meta) if isinstance(meta, dict) else None


def store(name: str, arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> None:
    """Write arrays and JSON under `name`: all of it or nothing."""
    folder = cache_path()
    if folder is None:
        return
    text = np.frombuffer(json.dumps(meta).encode("utf-8"), dtype=np.uint8)
    draft = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            dir=folder, prefix=f".{name}-", suffix=".tmp", delete=False
        ) as file:
            draft = Path(file.name)
            np.savez_compressed(file, allow_pickle=False, **arrays, **{_META: text})
        draft.replace(folder / f"{name}.npz")
    except OSError as error:
        logger.info("cache folder %s cannot be written: %s", folder, error)
    finally:
        if draft is not None:
            _remove_quietly(draft)


def _remove_quietly(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        logger.info("cannot remove %s: %s", path, error)
