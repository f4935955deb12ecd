# SPDX-License-Identifier: BSD-3-Clause
"""The page: template, style and script, put into one file.

The script files are ES modules. `bundle` makes one script of them: imports between
them go, and so does ``export``; so no two of them may have a top-level name in common.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import lru_cache
from graphlib import TopologicalSorter
from importlib.resources import files
from typing import Any

from topicfold._version import __version__
from topicfold.report.packing import script_json
from topicfold.topic_data import TopicData

STYLES = ("base.css", "views.css")
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z]+\.js)";\n', re.MULTILINE)
_DECLARED = re.compile(
    r"^(?:export )?(?:async )?(?:function\*?|const|let|class) (\w+)", re.MULTILINE
)
_STATIC_WORDS = 10


def render_page(page: dict[str, Any], data: TopicData) -> str:
    """Return the HTML of the page; `data` is for the table that needs no script."""
    import jinja2
    from markupsafe import Markup

    style, script = bundle_styles(), bundle()
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    template = environment.from_string(_static("report.html.jinja"))
    words = data.top_terms(_STATIC_WORDS)
    order = sorted(page["topics"], key=lambda topic: -topic["size"])
    return template.render(
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
        raise ValueError("the script has a sign that would end it")
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
