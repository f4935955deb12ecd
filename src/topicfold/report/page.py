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
from importlib.resources import files
from typing import Any

from topicfold._version import __version__
from topicfold.report.packing import script_json
from topicfold.topic_data import TopicData

STYLES = ("base.css", "views.css")
# A module stands after those that it imports.
SCRIPTS = (
    "dom.js",
    "edits.js",
    "data.js",
    "theme.js",
    "files.js",
    "charts.js",
    "lists.js",
    "matrix.js",
    "sides.js",
    "topics.js",
    "scatter.js",
    "contours.js",
    "labels.js",
    "selection.js",
    "map.js",
    "similarity.js",
    "classes.js",
    "compare.js",
    "against.js",
    "document.js",
    "time.js",
    "slides.js",
    "fit.js",
    "search.js",
    "main.js",
)
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z]+\.js)";\n', re.MULTILINE)
_DECLARED = re.compile(
    r"^(?:export )?(?:async )?(?:function\*?|const|let|class) (\w+)", re.MULTILINE
)
_STATIC_WORDS = 10


def render_page(page: dict[str, Any], data: TopicData) -> str:
    """Return the HTML of the page; `data` is for the table that needs no script."""
    import jinja2
    from markupsafe import Markup

    style, script = bundle_styles(), bundle(SCRIPTS)
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
def bundle(names: tuple[str, ...]) -> str:
    """Return the modules as one script, if they fit together."""
    parts: list[str] = []
    owners: dict[str, str] = {}
    for place, name in enumerate(names):
        source = _static(name)
        for other in _IMPORT.findall(source):
            if other not in names[:place]:
                raise ValueError(f"{name} imports {other}, which is not before it")
        for declared in _DECLARED.findall(source):
            if owners.setdefault(declared, name) != name:
                raise ValueError(f"{declared} is in {owners[declared]} and in {name}")
        body = re.sub(r"^export ", "", _IMPORT.sub("", source), flags=re.MULTILINE)
        parts.append(f"// {name}\n{body.strip()}\n")
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
