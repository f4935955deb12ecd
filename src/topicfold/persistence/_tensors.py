# SPDX-License-Identifier: BSD-3-Clause
"""Arrays and lists of strings as named tensors, and back."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.exceptions import ModelFileError


def pack_tensors(
    arrays: Mapping[str, NDArray[Any]], strings: Mapping[str, Sequence[str]]
) -> dict[str, NDArray[Any]]:
    """Return the tensors of a file.

    Examples
    --------
    >>> tensors = pack_tensors({"a": np.eye(2)}, {"words": ["ab", "c"]})
    >>> list(tensors), tensors["strings/words/offsets"].tolist()
    (['arrays/a', 'strings/words/utf8', 'strings/words/offsets'], [0, 2, 3])
    """
    tensors = {f"arrays/{name}": _plain(name, array) for name, array in arrays.items()}
    for name, items in strings.items():
        blob, offsets = _join_strings(name, items)
        tensors[f"strings/{name}/utf8"] = blob
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
                raise ModelFileError(f"strings {name!r}: {error}") from error
    return arrays, strings


def checksum(tensor: NDArray[Any]) -> int:
    """Return the CRC-32 of dtype, shape and bytes.

    Examples
    --------
    >>> checksum(np.zeros(2, np.int32)) == checksum(np.zeros(1, np.int64))
    False
    """
    start = zlib.crc32(f"{tensor.dtype.name}{tensor.shape}".encode())
    return zlib.crc32(tensor.reshape(-1).view(np.uint8), start)


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


def _join_strings(
    name: str, items: Iterable[str]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    encoded = []
    for position, item in enumerate(items):
        if not isinstance(item, str):
            raise ModelFileError(
                f"The strings {name!r} have a {type(item).__name__} at position "
                f"{position}; all must be str."
            )
        # Lone surrogates (from undecodable file names) must not stop a save.
        encoded.append(item.encode("utf-8", "surrogatepass"))
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(item) for item in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def _split_strings(blob: NDArray[Any], offsets: NDArray[Any]) -> list[str]:
    if blob.dtype != np.uint8 or offsets.dtype != np.int64:
        raise ValueError("wrong dtype")
    if blob.ndim != 1 or offsets.ndim != 1 or len(offsets) == 0:
        raise ValueError("wrong shape")
    if offsets[0] != 0 or offsets[-1] != len(blob) or (np.diff(offsets) < 0).any():
        raise ValueError("wrong offsets")
    data, cuts = blob.tobytes(), offsets.tolist()
    return [
        data[start:stop].decode("utf-8", "surrogatepass")
        for start, stop in pairwise(cuts)
    ]
