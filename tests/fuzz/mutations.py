# SPDX-License-Identifier: BSD-3-Clause
"""Ways to spoil a file: bytes, lines and numbers of a text, arrays, JSON values.

Everything is drawn from a `random.Random`, so an input is known by its seed.
"""

from __future__ import annotations

import copy
import io
import json
import math
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np

NUMBERS = (
    b"-1 0 1 2 3 7 255 256 65536 2147483647 2147483648 4294967296 9223372036854775807 "
    b"9223372036854775808 18446744073709551616 1e5 1e30 1e308 1e309 1e-320 -0 -0.0 nan "
    b"NaN inf -inf 1.5 0.1 1_000 0x10 +3 .5 5. 1e 00 " + b"9" * 400 + b" " + b"9" * 5000
).split()
SCRAPS = (
    b"", b"\0", b"\r", b"\n", b"\r\n", b"\t", b",", b'"', b"'", b"\\", b" ", b"%", b":",
    b"#", b"{", b"}", b"[", b"]", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xc3",
    b"\xed\xa0\x80", "φ".encode(), "\u2028".encode(), "\x85".encode(), b"null",
    b"true", b"__proto__", b"A" * 5000, b"[" * 50_000, b'{"a":' * 50_000,
)  # fmt: skip
JSON_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 3, 100, 2**31, 2**62, -(2**62), 10**30),
    *(10**400, -(10**400)),
    *(1.5, 2.5, -0.5, -1.0, 1e300, 1e149, 1e-300, math.nan, math.inf, -math.inf),
    *("", "a", "0", [], {}, [[]], [0], [1, 2], [None], ["x"], [[1, 2]], {"a": 1}),
    *({"type": "array", "key": "x"}, {"type": "list", "items": [None, None, None]}),
)
_NUMBER = re.compile(rb"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def spoil_bytes(data: bytes, draw: Random) -> bytes:
    """Change a few bytes: flip, insert, delete, repeat, cut off, exchange pieces."""
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        at = draw.randrange(len(data) + 1)
        length = min(draw.choice((1, 1, 2, 4, 8, 64)), max(len(data) - at, 0))
        match draw.randrange(7):
            case 0 if at < len(data):
                data = (
                    data[:at]
                    + bytes([data[at] ^ (1 << draw.randrange(8))])
                    + data[at + 1 :]
                )
            case 1:
                data = data[:at] + draw.choice(SCRAPS) + data[at:]
            case 2:
                data = data[:at] + data[at + length :]
            case 3:
                data = (
                    data[: at + length] + data[at : at + length] + data[at + length :]
                )
            case 4:
                data = data[:at]
            case 5:
                data = data[:at] + draw.randbytes(length) + data[at + length :]
            case _:
                other = draw.randrange(len(data) + 1)
                data = data[:at] + data[other : other + length] + data[at:]
    return data


def spoil_text(data: bytes, draw: Random) -> bytes:
    """Change numbers and lines of a text, sometimes its bytes."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        lines = data.split(b"\n")
        at = draw.randrange(len(lines))
        match draw.randrange(8):
            case 0 | 1 | 2:
                places = list(_NUMBER.finditer(data))
                if places:
                    place = draw.choice(places)
                    number = draw.choice(NUMBERS)
                    data = data[: place.start()] + number + data[place.end() :]
            case 3:
                lines.insert(at, draw.choice(lines))
                data = b"\n".join(lines)
            case 4:
                del lines[at]
                data = b"\n".join(lines)
            case 5:
                other = draw.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
                data = b"\n".join(lines)
            case 6:
                lines[at] = spoil_bytes(lines[at], draw)
                data = b"\n".join(lines)
            case _:
                data = spoil_bytes(data, draw)
    return data


def spoil_array(array: np.ndarray, draw: Random) -> np.ndarray:
    """Change values, length, shape or type of an array."""
    array = np.array(array)
    match draw.randrange(11):
        case 0 | 1 | 2 | 3 if array.size and array.dtype.kind in "iuf":
            flat = array.reshape(-1)
            for _ in range(draw.choice((1, 1, 3))):
                value = _value(array.dtype, draw)
                with np.errstate(all="ignore"):  # infinite in float32
                    flat[draw.randrange(len(flat))] = value
        case 4 if array.ndim and len(array):
            array = array[: draw.randrange(len(array))]
        case 5 if array.ndim:
            array = np.concatenate([array, array[: draw.randrange(len(array) + 1)]])
        case 6 if array.dtype.kind in "iufb":
            kind = draw.choice(
                (
                    np.int8,
                    np.int32,
                    np.int64,
                    np.float16,
                    np.float32,
                    np.float64,
                    np.bool_,
                    np.uint64,
                )
            )
            with np.errstate(all="ignore"):
                array = array.astype(kind)
        case 7:
            shape = draw.choice(((-1,), (1, -1), (-1, 1), (1, 1, -1)))
            array = array.reshape(shape)
        case 8 if array.size and array.dtype.kind in "iuf":
            with np.errstate(all="ignore"):
                array = np.full_like(array, _value(array.dtype, draw))
        case 9 if array.size:
            array = (
                array.T if draw.random() < 0.5 else array.reshape(-1)[:1].reshape(())
            )
        case _:
            array = array[::-1].copy() if array.ndim else array
    return array


ODD_TYPES = (">i4", ">f8", "f2", "g", "c16", "U5", "S3", "M8[s]", "O", "i4,f8", "u8")


def spoil_type(array: np.ndarray, draw: Random) -> np.ndarray:
    """Give an array a type that a reader may not have thought of."""
    with np.errstate(all="ignore"):
        return np.asarray(array).astype(draw.choice(ODD_TYPES))


def _value(dtype: np.dtype, draw: Random) -> Any:
    if dtype.kind == "f":
        return draw.choice(
            (np.nan, np.inf, -np.inf, -1.0, 0.0, 1e30, 1e-320, 3.7e307, 0.5)
        )
    info = np.iinfo(dtype)
    picked = draw.choice((info.min, info.max, 0, 1, 2, 5, -1, 1 << 20, info.max // 2))
    return min(max(picked, info.min), info.max)


def spoil_json(value: Any, draw: Random) -> Any:
    """Change one leaf or branch of a JSON value."""
    if draw.random() < 0.5:
        return _spoil_place(value, draw)
    return _spoil_branch(value, draw)


def _spoil_place(value: Any, draw: Random) -> Any:
    """Put another value in one of all the places of a JSON value, deep ones too."""
    path = draw.choice(list(_places(value)))
    if not path:
        return draw.choice(JSON_VALUES)
    value = copy.deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = draw.choice(JSON_VALUES)
    return value


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list) and len(path) < 30:
        keys = list(value) if isinstance(value, dict) else range(min(len(value), 5))
        for key in keys:
            yield from _places(value[key], (*path, key))


def _spoil_branch(value: Any, draw: Random) -> Any:
    if isinstance(value, dict) and value and draw.random() < 0.9:
        value = dict(value)
        key = draw.choice(list(value))
        match draw.randrange(12):
            case 0:
                del value[key]
            case 1:
                value[draw.choice(("", "class", "type", "key", "__class__", "x"))] = (
                    value[key]
                )
            case _:
                value[key] = _spoil_branch(value[key], draw)
        return value
    if isinstance(value, list) and value and draw.random() < 0.9:
        value = list(value)
        at = draw.randrange(len(value))
        match draw.randrange(6):
            case 0:
                del value[at]
            case 1:
                value.insert(at, value[at])
            case _:
                value[at] = _spoil_branch(value[at], draw)
        return value
    if isinstance(value, str) and draw.random() < 0.5:
        return draw.choice(
            (
                value + "x",
                value[:-1],
                value.upper(),
                "os:system",
                "../../x",
                "\ud800",
                "topicfold.models.plsa:PLSA",
            )
        )
    return draw.choice(JSON_VALUES)


def spoil_npz(data: bytes, draw: Random) -> bytes:
    """Change one array of an archive; its checksums are right again afterwards."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        arrays = dict(file)
    name = draw.choice(sorted(arrays))
    match draw.randrange(8):
        case 0:
            del arrays[name]
        case 1:
            arrays["extra"] = arrays[name]
        case 2:
            arrays[name] = spoil_type(arrays[name], draw)
        case _:
            arrays[name] = spoil_array(arrays[name], draw)
    twice = draw.choice(sorted(arrays)) if arrays and draw.random() < 0.05 else None
    stream = io.BytesIO()
    with ZipFile(stream, "w", draw.choice((ZIP_STORED, ZIP_DEFLATED))) as file:
        for key, array in arrays.items():
            part = io.BytesIO()
            np.lib.format.write_array(part, np.asarray(array))
            content = part.getvalue()
            if draw.random() < 0.05:
                content = spoil_bytes(content, draw)
            file.writestr(f"{key}.npy", content)
            if key == twice:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    file.writestr(f"{key}.npy", spoil_bytes(content, draw))
    return stream.getvalue()


def spoil_npy(data: bytes, draw: Random) -> bytes:
    """Change an array of a ``.npy`` file."""
    array = np.load(io.BytesIO(data), allow_pickle=False)
    spoil = spoil_type if draw.random() < 0.1 else spoil_array
    stream = io.BytesIO()
    np.save(stream, spoil(array, draw))
    return stream.getvalue()


def spoil_place(place: Path, draw: Random) -> None:
    """Put something else where a file was: nothing, a folder, a link that leads on."""
    match draw.randrange(4):
        case 0:
            place.mkdir()
        case 1:
            place.symlink_to(place.name)
        case 2:
            place.symlink_to("nowhere")
        case _:
            place.write_bytes(b"")


def spoil_zip(data: bytes, draw: Random) -> bytes:
    """Change the text of one member of an archive, or leave it out."""
    with ZipFile(io.BytesIO(data)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    name = draw.choice(sorted(members))
    members[name] = spoil_text(members[name], draw)
    if draw.random() < 0.1:
        del members[name]
    stream = io.BytesIO()
    with ZipFile(stream, "w", ZIP_DEFLATED) as file:
        for key, content in members.items():
            file.writestr(key, content)
    return stream.getvalue()


def spoil_json_text(data: bytes, draw: Random) -> bytes:
    """Change a value of a JSON document."""
    value = spoil_json(json.loads(data), draw)
    return json.dumps(value).encode("utf-8", "surrogatepass")


def spoil_json_lines(data: bytes, draw: Random) -> bytes:
    """Change a value in one line of JSON lines."""
    lines = data.strip().split(b"\n")
    at = draw.randrange(len(lines))
    lines[at] = spoil_json_text(lines[at], draw)
    return b"\n".join(lines) + b"\n"
