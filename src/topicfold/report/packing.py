# SPDX-License-Identifier: BSD-3-Clause
"""Arrays and texts as short JSON: deflated, then base64."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Between the strings of a list; it cannot occur in them, see `clean`.
SEPARATOR = "\x1e"
_TYPES = ("uint8", "uint16", "uint32", "float32", "float64")
# Controls that text has no use for; U+0001 to U+0003 mark words, see `texts`.
# Lone surrogates, from undecodable file names, are not characters: a browser refuses
# to put them into a link.
_CONTROLS: dict[int, str] = dict.fromkeys(
    [*range(32), *range(0xD800, 0xE000)], "\N{REPLACEMENT CHARACTER}"
)
_CONTROLS |= {ord("\t"): "\t", ord("\n"): "\n", ord("\r"): "\n"}


def clean(text: str) -> str:
    """Return text without control characters and lone surrogates."""
    return text if text.isprintable() else text.translate(_CONTROLS)


def pack_array(array: NDArray[Any]) -> dict[str, Any]:
    """Return an array as JSON; the page reads it as a typed array.

    Whole numbers from 0 on are in the smallest type that holds them.
    """
    if array.dtype.kind in "iu" and array.min(initial=0) == 0:
        array = array.astype(np.min_scalar_type(array.max(initial=0)))
    name = array.dtype.name
    if name not in _TYPES:
        raise TypeError(f"the page cannot read arrays of {name}")
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return {"type": name, "data": _deflate(little.tobytes())}


def pack_strings(strings: Iterable[str]) -> dict[str, Any]:
    """Return strings as JSON; control characters in them are replaced."""
    return pack_clean_strings(clean(text) for text in strings)


def pack_clean_strings(strings: Iterable[str]) -> dict[str, Any]:
    """Return strings as JSON that have no `SEPARATOR`."""
    joined = SEPARATOR.join(strings)
    # A lone surrogate is no character: it becomes a question mark.
    return {"type": "strings", "data": _deflate(joined.encode("utf-8", "replace"))}


def script_json(value: Any) -> str:
    r"""Return JSON that may stand inside a ``<script>`` of any page.

    Only ASCII, and no ``<``, ``>`` or ``&``: nothing in it can end the element, begin
    a comment or be a line end of JavaScript.
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _deflate(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, 6)).decode("ascii")
