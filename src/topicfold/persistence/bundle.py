# SPDX-License-Identifier: BSD-3-Clause
"""One safetensors file with arrays, lists of strings and JSON: topicfold's format.

A numeric array is the tensor ``arrays/<name>``. A list of strings is two tensors:
``strings/<name>/utf8`` (uint8, all strings one after the other) and
``strings/<name>/offsets`` (int64, one more than there are strings). Everything else
is one JSON text in the file's metadata under the key ``topicfold``: format name and
version, topicfold's version, the kind of thing saved, its `meta`, a checksum for
every tensor and one for the JSON itself. Nothing in the file is code, and reading
one runs none: a file from a stranger is safe to open.

JSON has no NaN and no infinity: a non-finite float is the object ``{"$float": "nan" |
"inf" | "-inf"}``. A dictionary that has a key starting with ``$`` is wrapped as
``{"$dict": {...}}``, so that no user's dictionary is ever mistaken for such an object.
"""

from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from topicfold._version import __version__
from topicfold.core.counts import checked_csr
from topicfold.exceptions import ModelFileError
from topicfold.persistence.atomic import write_atomically

FORMAT_NAME = "topicfold"
FORMAT_VERSION = 1
SUFFIX = ".safetensors"
FILE_NAME = "model.safetensors"
# safetensors refuses to read a header above 100 MB; tensors' names need some of it.
MAX_HEADER_BYTES = 100_000_008
MAX_JSON_CHARS = 40_000_000
MAX_DEPTH = 200
_CHUNK = 2**22
# Values that JSON holds as they are.
_AS_IT_IS = frozenset({str, int, bool, type(None)})
_CSR = ("data", "indices", "indptr")
# What a file that says nonsense leads to where it is read.
MALFORMED = (
    *(ValueError, LookupError, TypeError, AttributeError),
    *(OverflowError, RecursionError),
)


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
        If something cannot be saved; a file that was there is left as it was.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = write_bundle(folder, kind="demo", strings={"words": ["a", "φ"]})
    ...     file.name, read_bundle(file).strings
    ('model.safetensors', {'words': ['a', 'φ']})
    """
    file = bundle_file(path)
    if file.parent.is_file():
        raise ModelFileError(
            f"{file.parent} is a file. Choose a new folder for the model."
        )
    tensors = pack_tensors(arrays or {}, strings or {})
    text = _header(kind, meta or {}, tensors)
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
        The kind that is expected; default: any.

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
            header = _read_header(stream, kind, file)
            tensors = _read_tensors(stream, header["checksums"])
        arrays, strings = unpack_tensors(tensors)
        return Bundle(
            kind=header["kind"],
            arrays=arrays,
            strings=strings,
            meta=from_jsonable(header["meta"]),
            format_version=header["format_version"],
            topicfold_version=header["topicfold_version"],
        )
    except ModelFileError:
        raise
    except (SafetensorError, OSError, ValueError) as error:
        raise _damaged(file, str(error)) from error
    except MALFORMED as error:
        raise _damaged(file, f"its header cannot be read ({error!r})") from error


def bundle_file(path: str | os.PathLike[str]) -> Path:
    """Return the file that `write_bundle` writes for `path`.

    Examples
    --------
    >>> bundle_file("news").as_posix(), bundle_file("news.safetensors").as_posix()
    ('news/model.safetensors', 'news.safetensors')
    """
    file = Path(path)
    return file if file.suffix == SUFFIX else file / FILE_NAME


def is_bundle(file: Path) -> bool:
    """Tell whether a file was written by topicfold, from its header alone."""
    try:
        with safe_open(file, framework="np") as stream:
            return FORMAT_NAME in (stream.metadata() or {})
    except (SafetensorError, OSError):
        return False


def checksum(data: Any, start: int = 0) -> int:
    """Return the CRC-32 of text, of a file, or of an array's dtype, shape and bytes."""
    if isinstance(data, str):
        return zlib.crc32(data.encode("utf-8", "surrogatepass"), start)
    if isinstance(data, Path):
        with data.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                start = zlib.crc32(chunk, start)
        return start
    start = zlib.crc32(f"{data.dtype.name}{data.shape}".encode(), start)
    return zlib.crc32(np.ascontiguousarray(data).reshape(-1).view(np.uint8), start)


# JSON


def to_jsonable(value: Any, where: str = "meta", depth: int = 0) -> Any:
    """Return `value` as JSON can hold it, tuples as lists; `where` is for errors."""
    if depth > MAX_DEPTH:
        raise ModelFileError(
            f"{where[:80]} is nested more than {MAX_DEPTH} levels deep (does it "
            "contain itself?). Flatten it."
        )
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": repr(float(value))}
    for plain in (str, int):  # of a subclass, the plain value
        if isinstance(value, plain):
            return plain(value)
    if isinstance(value, list | tuple):
        return [
            v if type(v) in _AS_IT_IS else to_jsonable(v, f"{where}[{i}]", depth + 1)
            for i, v in enumerate(value)
        ]
    if not isinstance(value, Mapping):
        raise ModelFileError(
            f"{where} is of type {type(value).__name__}, which JSON cannot hold. Use "
            "None, bool, int, float, str, lists or dictionaries of these; give arrays "
            "as arrays."
        )
    items = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise ModelFileError(
                f"{where} has the key {key!r} of type {type(key).__name__}; keys must "
                "be strings."
            )
        if type(item) not in _AS_IT_IS:
            item = to_jsonable(item, f"{where}[{key!r}]", depth + 1)
        items[str(key)] = item
    return {"$dict": items} if any(key.startswith("$") for key in items) else items


def from_jsonable(value: Any) -> Any:
    """Undo `to_jsonable`; ValueError if it cannot have come from there."""
    if isinstance(value, list):
        return [v if type(v) in _AS_IT_IS else from_jsonable(v) for v in value]
    if not isinstance(value, dict):
        return value
    if any(key.startswith("$") for key in value):
        match value:
            case {"$float": ("nan" | "inf" | "-inf") as number, **rest} if not rest:
                return float(number)
            case {"$dict": dict(content), **rest} if not rest:
                value = content
            case _:
                raise ValueError(f"unexpected keys {sorted(value)[:5]} in its JSON")
    return {
        key: item if type(item) in _AS_IT_IS else from_jsonable(item)
        for key, item in value.items()
    }


def _dump(jsonable: Any) -> str:
    return json.dumps(jsonable, allow_nan=False, separators=(",", ":"))


# Tensors


def pack_tensors(
    arrays: Mapping[str, NDArray[Any]], strings: Mapping[str, Sequence[str]]
) -> dict[str, NDArray[Any]]:
    """Return the tensors of a file."""
    tensors = {f"arrays/{name}": _plain(name, array) for name, array in arrays.items()}
    for name, items in strings.items():
        encoded = []
        for place, item in enumerate(items):
            if not isinstance(item, str):
                raise ModelFileError(
                    f"The strings {name!r} have a {type(item).__name__} at position "
                    f"{place}; all must be str."
                )
            # Lone surrogates (from undecodable file names) must not stop a save.
            encoded.append(item.encode("utf-8", "surrogatepass"))
        offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        tensors[f"strings/{name}/utf8"] = np.frombuffer(b"".join(encoded), np.uint8)
        tensors[f"strings/{name}/offsets"] = offsets
    return tensors


def unpack_tensors(
    tensors: Mapping[str, NDArray[Any]],
) -> tuple[dict[str, NDArray[Any]], dict[str, list[str]]]:
    """Undo `pack_tensors`: return the arrays and the lists of strings."""
    arrays: dict[str, NDArray[Any]] = {}
    strings: dict[str, list[str]] = {}
    for tensor_name, tensor in tensors.items():
        group, _, name = tensor_name.partition("/")
        if group == "arrays":
            arrays[name] = tensor
        elif tensor_name.endswith("/utf8"):
            name = name.removesuffix("/utf8")
            try:
                offsets = tensors[f"strings/{name}/offsets"]
                strings[name] = _split_strings(tensor, offsets)
            except (KeyError, ValueError) as error:
                raise ValueError(f"strings {name!r}: {error}") from error
    return arrays, strings


def _plain(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Return the array C-contiguous and in native byte order, 0-d ones as they are."""
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise ModelFileError(
            f"The array {name!r} is of type {type(array).__name__}; give a NumPy array."
        )
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise ModelFileError(
            f"The array {name!r} has dtype {array.dtype}; a file holds bool, int and "
            "float up to 64 bits. Convert it, or give text as strings."
        )
    return np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")


def _split_strings(blob: NDArray[Any], offsets: NDArray[Any]) -> list[str]:
    if blob.dtype != np.uint8 or offsets.dtype != np.int64:
        raise ValueError("wrong dtype")
    if blob.ndim != 1 or offsets.ndim != 1 or len(offsets) == 0:
        raise ValueError("wrong shape")
    if offsets[0] != 0 or offsets[-1] != len(blob) or (np.diff(offsets) < 0).any():
        raise ValueError("wrong offsets")
    data = blob.tobytes()
    return [
        data[start:stop].decode("utf-8", "surrogatepass")
        for start, stop in pairwise(offsets.tolist())
    ]


def _read_tensors(stream: Any, checksums: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the tensors in the order they were given, their checksums verified."""
    odd = sorted(set(stream.keys()) ^ checksums.keys())
    if odd:
        raise ValueError(f"missing or unexpected tensors: {', '.join(odd[:5])}")
    tensors = {name: stream.get_tensor(name) for name in checksums}
    wrong = [name for name in tensors if checksum(tensors[name]) != checksums[name]]
    if wrong:
        raise ValueError(f"wrong checksum of {', '.join(wrong[:5])}")
    return tensors


def pack_counts(counts: Any, name: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a CSR matrix, as they are in files."""
    return {f"{name}_{part}": getattr(counts, part) for part in _CSR}


def unpack_counts(arrays: Mapping[str, NDArray[Any]], name: str, width: int) -> Any:
    """Undo `pack_counts` and check the result; None if there are no such arrays."""
    if any(f"{name}_{part}" not in arrays for part in _CSR):
        return None
    data, indices, indptr = (np.asarray(arrays[f"{name}_{part}"]) for part in _CSR)
    return checked_csr(data, indices, indptr, (indptr.size - 1, width), name)


# The header


def _header(
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
        text = _dump({**body, "crc32": checksum(_dump(body))})
    except ValueError as error:  # an int of more digits than Python converts
        raise ModelFileError(f"meta cannot be written as JSON: {error}.") from error
    if len(text) > MAX_JSON_CHARS:
        raise ModelFileError(
            f"The JSON part of a {kind} would have {len(text):,} characters; a file "
            f"holds {MAX_JSON_CHARS:,}. Give long lists as arrays or as strings."
        )
    return text


def _read_header(stream: Any, kind: str | None, file: Path) -> dict[str, Any]:
    text = (stream.metadata() or {}).get(FORMAT_NAME)
    if text is None:
        raise ModelFileError(
            f"{file} is a safetensors file, but not one of topicfold. Only files "
            "saved by topicfold can be loaded."
        )
    header: dict[str, Any] = json.loads(text)
    version = header["format_version"]
    if header["format"] != FORMAT_NAME or type(version) is not int or version < 1:
        raise ValueError("its header names no valid format")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{file} has format version {version}, written by topicfold "
            f"{header.get('topicfold_version')}; this is topicfold {__version__}, "
            f"which reads versions up to {FORMAT_VERSION}. Upgrade it with pip install "
            "--upgrade topicfold."
        )
    whole = header.pop("crc32") == checksum(_dump(header))
    types = {"kind": str, "topicfold_version": str, "meta": dict, "checksums": dict}
    if not whole or not all(isinstance(header[name], types[name]) for name in types):
        raise ValueError("the checksum or a type in its header is wrong")
    found = header["kind"]
    if kind not in (None, found):
        raise ModelFileError(
            f"{file} holds a saved {found!r}, not a {kind!r}. Give another path, or "
            f"load it with the function for {found!r}."
        )
    return header


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
        hint = (
            f"Did you mean {near}?"
            if near.is_file()
            else "Give the folder of a saved model."
        )
        raise ModelFileError(f"There is no file or folder {path}. {hint}")
    return path


def _check_extent(file: Path) -> None:
    """Refuse a file of another format, and one that ends too early.

    A safetensors file is 8 bytes with the length of the header, the header, which is
    JSON with the place of every tensor, and the tensors.
    """
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            header_end = 8 + int.from_bytes(stream.read(8), "little")
            brace = stream.read(1)
            foreign = brace != b"{" or header_end > MAX_HEADER_BYTES
            header = b"" if foreign else brace + stream.read(header_end - 9)
    except OSError as error:
        raise ModelFileError(
            f"Cannot read {file}: {error}. Check its permissions."
        ) from error
    if size and foreign:
        raise ModelFileError(
            f"{file} is not a safetensors file. Only files saved by topicfold can be "
            "loaded: give the folder of a saved model."
        )
    needed = max(header_end, 9)
    if size >= needed:
        try:
            entries = json.loads(header)
            entries.pop("__metadata__", None)
            ends = [int(entry["data_offsets"][1]) for entry in entries.values()]
        except MALFORMED as error:
            raise _damaged(file, "its header cannot be read") from error
        needed = header_end + max(ends, default=0)
    if size < needed:
        raise ModelFileError(
            f"{file} is truncated: it has {size:,} of {needed:,} bytes. Copy or "
            "download it again, or save the model again."
        )


def _damaged(file: Path, detail: str) -> ModelFileError:
    return ModelFileError(
        f"{file} is damaged: {detail}. Copy or download it again, or save the model "
        "again."
    )
