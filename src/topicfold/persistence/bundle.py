# SPDX-License-Identifier: BSD-3-Clause
"""One safetensors file with arrays, lists of strings and JSON: topicfold's format.

A numeric array is the tensor ``arrays/<name>``. A list of strings is two tensors:
``strings/<name>/utf8`` (uint8, all strings one after the other) and
``strings/<name>/offsets`` (int64, one more than there are strings). Everything else
is one JSON text in the file's metadata under the key ``topicfold``: format name and
version, topicfold's version, the kind of thing saved, its `meta`, a checksum for
every tensor and one for the JSON itself. Nothing in the file is code, and reading
one runs none: a file from a stranger is safe to open.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from topicfold._version import __version__
from topicfold.exceptions import ModelFileError
from topicfold.persistence._atomic import write_atomically
from topicfold.persistence._json import dump_json, from_jsonable, to_jsonable
from topicfold.persistence._tensors import checksum, pack_tensors, unpack_tensors

FORMAT_NAME = "topicfold"
FORMAT_VERSION = 1
SUFFIX = ".safetensors"
FILE_NAME = "model.safetensors"
# safetensors refuses to read a header above 100 MB; tensors' names need some of it.
MAX_HEADER_BYTES = 100_000_008
MAX_JSON_CHARS = 40_000_000
_BAD_JSON = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """What `read_bundle` found in a file.

    Attributes
    ----------
    kind : str
        What was saved, for example ``"topic_data"``.
    arrays : dict of str to ndarray
        The numeric arrays, with dtype and shape as they were saved.
    strings : dict of str to list of str
        The lists of strings.
    meta : dict
        The rest; tuples have become lists, NumPy scalars Python's.
    format_version : int
        Version of the file format.
    topicfold_version : str
        Version of topicfold that wrote the file.
    """

    kind: str
    arrays: dict[str, NDArray[Any]]
    strings: dict[str, list[str]]
    meta: dict[str, Any]
    format_version: int
    topicfold_version: str


def write_bundle(
    path: str | os.PathLike[str],
    *,
    kind: str,
    arrays: Mapping[str, NDArray[Any]] | None = None,
    strings: Mapping[str, Sequence[str]] | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Path:
    """Write arrays, lists of strings and JSON to one file, whole or not at all.

    Parameters
    ----------
    path : str or path
        A name ending in ``.safetensors`` is the file; any other name is a folder,
        and the file is ``model.safetensors`` in it. Missing folders are made.
    kind : str
        What this is; `read_bundle` can ask for it.
    arrays : mapping of str to ndarray, optional
        Arrays of bool, int or float (up to 64 bits) and any shape.
    strings : mapping of str to sequence of str, optional
        Lists of strings.
    meta : mapping, optional
        Anything that JSON can hold; non-finite floats are kept too.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    ModelFileError
        If something cannot be saved (nothing is written then), or if the disk
        refuses (an old file is left as it was).

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = write_bundle(folder, kind="demo", strings={"words": ["a", "φ"]})
    ...     file.name, read_bundle(file).strings
    ('model.safetensors', {'words': ['a', 'φ']})
    """
    file = bundle_file(path)
    tensors = pack_tensors(arrays or {}, strings or {})
    text = _seal(kind, meta or {}, tensors)
    try:
        write_atomically(
            file, lambda to: save_file(tensors, to, metadata={FORMAT_NAME: text})
        )
    except (OSError, SafetensorError) as error:
        raise ModelFileError(
            f"Cannot write {file}: {error}. A file that was there before is "
            "unchanged. Check the free space and the permissions of the folder, or "
            f"choose another path (a name ending in {SUFFIX} is a file, any other a "
            "folder)."
        ) from error
    return file


def read_bundle(path: str | os.PathLike[str], *, kind: str | None = None) -> Bundle:
    """Read a file written by `write_bundle` and check that it is whole.

    Parameters
    ----------
    path : str or path
        The file, or the folder that has it.
    kind : str, optional
        The kind of thing that is expected; any, if not given.

    Returns
    -------
    Bundle
        The content, in memory.

    Raises
    ------
    ModelFileError
        If there is no such file, it is not topicfold's, is truncated or damaged,
        has a newer format, or holds another kind of thing.

    Examples
    --------
    >>> read_bundle("nowhere.safetensors")
    Traceback (most recent call last):
    topicfold.exceptions.ModelFileError: There is no file or folder ...
    """
    file = _existing_file(Path(path))
    _check_extent(file)
    try:
        with safe_open(file, framework="np") as stream:
            header = _unseal((stream.metadata() or {}).get(FORMAT_NAME), file)
            _check_kind(header["kind"], kind, file)
            tensors = _read_tensors(stream, header["checksums"], file)
    except ModelFileError:
        raise
    except (SafetensorError, OSError, TypeError, ValueError, AttributeError) as error:
        raise _damaged(file, str(error)) from error
    try:
        arrays, strings = unpack_tensors(tensors)
        meta = from_jsonable(header["meta"])
    except (ModelFileError, RecursionError) as error:
        raise _damaged(file, str(error)) from error
    return Bundle(
        kind=header["kind"],
        arrays=arrays,
        strings=strings,
        meta=meta,
        format_version=header["format_version"],
        topicfold_version=header["topicfold_version"],
    )


def bundle_file(path: str | os.PathLike[str]) -> Path:
    """Return the file that `write_bundle` writes for `path`.

    Examples
    --------
    >>> bundle_file("news").as_posix(), bundle_file("news.safetensors").as_posix()
    ('news/model.safetensors', 'news.safetensors')
    """
    file = Path(path)
    return file if file.suffix == SUFFIX else file / FILE_NAME


def _seal(
    kind: str, meta: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]
) -> str:
    """Return the file's JSON, with its own checksum as the last key."""
    body = {
        "format": FORMAT_NAME,
        "format_version": FORMAT_VERSION,
        "topicfold_version": __version__,
        "kind": kind,
        "meta": to_jsonable(dict(meta)),
        "checksums": {name: checksum(tensor) for name, tensor in tensors.items()},
    }
    try:
        text = dump_json({**body, "crc32": zlib.crc32(dump_json(body).encode())})
    except ValueError as error:  # an int of more digits than Python converts
        raise ModelFileError(f"meta cannot be written as JSON: {error}.") from error
    if len(text) > MAX_JSON_CHARS:
        raise ModelFileError(
            f"The JSON part of a {kind} would have {len(text):,} characters; a file "
            f"holds {MAX_JSON_CHARS:,}. Give long lists as arrays or as strings."
        )
    return text


def _unseal(text: str | None, file: Path) -> dict[str, Any]:
    if text is None:
        raise ModelFileError(
            f"{file} is a safetensors file, but not one of topicfold. Only files "
            "saved by topicfold can be loaded."
        )
    try:
        header = json.loads(text)
        _check_version(header, file)
        crc32 = header.pop("crc32")
        whole = crc32 == zlib.crc32(dump_json(header).encode())
        typed = (
            isinstance(header["kind"], str)
            and isinstance(header["topicfold_version"], str)
            and isinstance(header["meta"], dict)
            and isinstance(header["checksums"], dict)
        )
    except ModelFileError:
        raise
    except _BAD_JSON as error:
        raise _damaged(file, f"its header cannot be read ({error!r})") from error
    if not (whole and typed):
        raise _damaged(file, "the checksum or a type in its header is wrong")
    return dict(header)


def _check_version(header: dict[str, Any], file: Path) -> None:
    version = header["format_version"]
    if header["format"] != FORMAT_NAME or type(version) is not int or version < 1:
        raise _damaged(file, "its header names no valid format")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{file} has format version {version}, written by topicfold "
            f"{header.get('topicfold_version')}; this is topicfold {__version__}, "
            f"which reads up to version {FORMAT_VERSION}. Upgrade it with pip install "
            "--upgrade topicfold."
        )


def _check_kind(found: str, wanted: str | None, file: Path) -> None:
    if wanted is not None and found != wanted:
        raise ModelFileError(
            f"{file} holds a saved {found!r}, not a {wanted!r}. Give another path, or "
            f"load it with the function for {found!r}."
        )


def _existing_file(path: Path) -> Path:
    if path.is_dir():
        file = path / FILE_NAME
        if not file.is_file():
            raise ModelFileError(
                f"The folder {path} is not a saved model: it has no {FILE_NAME}. Give "
                f"the folder or the {SUFFIX} file that a save function wrote."
            )
        return file
    if not path.is_file():
        near = path.with_name(path.name + SUFFIX) if path.name else path
        hint = f"Did you mean {near}?" if near.is_file() else "Check the path."
        raise ModelFileError(f"There is no file or folder {path}. {hint}")
    return path


def _check_extent(file: Path) -> None:
    """Tell a file of another format, and one that ends too early, from a damaged one.

    A safetensors file is 8 bytes with the length of the header, the header, which is
    JSON with the place of every tensor, and the tensors.
    """
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            start = stream.read(9)
            header_end = 8 + int.from_bytes(start[:8], "little")
            if size and (start[8:] != b"{" or header_end > MAX_HEADER_BYTES):
                raise ModelFileError(
                    f"{file} is not a safetensors file. Only files saved by topicfold "
                    "can be loaded."
                )
            header = start[8:] + stream.read(max(0, header_end - 9))
    except OSError as error:
        raise ModelFileError(
            f"Cannot read {file}: {error}. Check its permissions."
        ) from error
    needed = max(header_end, 9)
    if size >= needed:
        try:
            entries = json.loads(header)
            entries.pop("__metadata__", None)
            ends = [int(entry["data_offsets"][1]) for entry in entries.values()]
        except (*_BAD_JSON, IndexError) as error:
            raise _damaged(file, "its header cannot be read") from error
        needed = header_end + max(ends, default=0)
    if size < needed:
        raise ModelFileError(
            f"{file} is truncated: it has {size:,} of {needed:,} bytes. Copy or "
            "download it again, or save the model again."
        )


def _read_tensors(
    stream: Any, checksums: dict[str, Any], file: Path
) -> dict[str, NDArray[Any]]:
    """Return the tensors in the order they were given, their checksums verified."""
    odd = sorted(set(stream.keys()) ^ checksums.keys())
    if odd:
        raise _damaged(file, f"missing or unexpected tensors: {', '.join(odd[:5])}")
    tensors = {name: stream.get_tensor(name) for name in checksums}
    wrong = [name for name in tensors if checksum(tensors[name]) != checksums[name]]
    if wrong:
        raise _damaged(file, f"wrong checksum of {', '.join(wrong[:5])}")
    return tensors


def _damaged(file: Path, detail: str) -> ModelFileError:
    return ModelFileError(
        f"{file} is damaged: {detail}. Copy or download it again, or save the model "
        "again."
    )
