# SPDX-License-Identifier: BSD-3-Clause
"""The page: template, style and script in one file, its data as short JSON.

Arrays and texts are deflated, then base64. The script files are ES modules. `bundle`
makes one script of them: imports between them go, and so does ``export``; so no two of
them may have a top-level name in common.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterable
from functools import lru_cache
from graphlib import TopologicalSorter
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold._version import __version__
from topicfold.topic_data import TopicData

STYLES = ("base.css", "views.css")
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z]+\.js)";\n', re.MULTILINE)
_DECLARED = re.compile(
    r"^(?:export )?(?:async )?(?:function\*?|const|let|class) (\w+)", re.MULTILINE
)
_STATIC_WORDS = 10


def render_page(page: dict[str, Any], data: TopicData) -> str:
    """Return the HTML of the page; `data` is for the table that needs no script."""
    from markupsafe import Markup

    style, script = bundle_styles(), bundle()
    words = data.top_terms(_STATIC_WORDS)
    order = sorted(page["topics"], key=lambda topic: -topic["size"])
    return _template().render(
        page=page,
        rows=[(topic, ", ".join(words[topic["id"]])) for topic in order],
        version=__version__,
        # Files of ours, and JSON without any sign of HTML: safe as they are.
        style=Markup(style),
        script=Markup(script),
        data=Markup(script_json(page)),
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


@lru_cache(maxsize=1)
def _template() -> Any:
    """Return the compiled template."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    return environment.from_string(_static("report.html.jinja"))


@lru_cache(maxsize=4)
def bundle(name: str = "main.js") -> str:
    """Return a module and all that it needs as one script, if they fit together."""
    imports: dict[str, list[str]] = {}
    waiting = [name]
    while waiting:
        module = waiting.pop()
        if module not in imports:
            imports[module] = _IMPORT.findall(_static(module))
            waiting += imports[module]
    parts: list[str] = []
    owners: dict[str, str] = {}
    # A module stands after those that it imports.
    for module in TopologicalSorter(imports).static_order():
        source = _static(module)
        for declared in _DECLARED.findall(source):
            if owners.setdefault(declared, module) != module:
                raise ValueError(f"{declared} is in {owners[declared]} and in {module}")
        body = re.sub(r"^export ", "", _IMPORT.sub("", source), flags=re.MULTILINE)
        parts.append(f"// {module}\n{body.strip()}\n")
    script = '"use strict";\n' + "\n".join(parts)
    if "</script" in script.lower() or "<!--" in script:
        raise ValueError("the script contains its own closing tag")
    return script


@lru_cache(maxsize=1)
def bundle_styles() -> str:
    """Return the style sheets as one."""
    return "\n".join(_static(name).strip() for name in STYLES)


def _static(name: str) -> str:
    place = files("topicfold.report") / "static" / name
    return place.read_text(encoding="utf-8")


def _hash(source: str) -> str:
    """Return what a content security policy names an inline element by."""
    digest = hashlib.sha256(source.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


# Between the strings of a list; it cannot occur in them, see `clean`.
SEPARATOR = "\x1e"
_TYPES = ("uint8", "uint16", "uint32", "float32", "float64")
# Controls that text has no use for; U+0001 to U+0003 mark words, see `texts`.
# Lone surrogates, from undecodable file names, are not characters: a browser refuses
# to put them into a link. Overrides and isolates of the direction of writing can make a
# text look like another one, and can reach beyond it.
_DIRECTIONS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CONTROLS: dict[int, str] = dict.fromkeys(
    [*range(32), *range(0xD800, 0xE000), *_DIRECTIONS], "\N{REPLACEMENT CHARACTER}"
)
_CONTROLS |= {ord("\t"): "\t", ord("\n"): "\n", ord("\r"): "\n"}


def clean(text: str) -> str:
    """Return text without controls, of direction too, and lone surrogates."""
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
