# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx settings. Everything under _generated/ is made anew at each build."""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from docutils import nodes  # noqa: E402
from generate import MODULES, public_names, write_all  # noqa: E402
from notebooks import write_all as write_notebooks  # noqa: E402
from pictures import draw_all  # noqa: E402
from sphinx import addnodes  # noqa: E402

import topicfold  # noqa: E402

project = "topicfold"
author = "The topicfold developers"
copyright = "The topicfold developers, BSD-3-Clause"
version = release = topicfold.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
# fieldlist would make options of ":" lines; dollars and the rest stay plain text.
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "**/.ipynb_checkpoints"]
default_role = "code"
smartquotes = False
add_module_names = False
toc_object_entries = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = "topicfold"
html_static_path = ["_static"]
html_extra_path = ["_generated/llms.txt"]
html_css_files = ["topicfold.css"]
html_show_sourcelink = False
# Pages without neighbours need no list of them.
html_sidebars = {"start": [], "tasks": [], "_generated/commands": []}
html_theme_options = {
    "show_prev_next": True,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "secondary_sidebar_items": ["page-toc"],
}

# What has a page of its own.
_PAGES = {f"{module}.{name}" for module in MODULES for name in public_names(module)}
# Names that are no everyday words, by the first module that has them.
_PUBLIC = {
    name: f"{module}.{name}"
    for module in reversed(MODULES)
    for name in public_names(module)
    if not name.islower() or "_" in name or name in ("compare", "vectorize")
}


def _link_to_generated(app, name, source):  # type: ignore[no-untyped-def]
    """Point links to results files, which work in the repository, at their pages."""
    up = "../" * name.count("/")
    source[0] = (
        source[0]
        .replace(f"]({up}../benchmarks/results/papers/", f"]({up}_generated/papers/")
        .replace(f"]({up}../benchmarks/results/", f"]({up}_generated/benchmarks/")
    )


# Plain text of docstrings in which reST would see links and substitutions.
_LITERAL = re.compile(r"(``.+?``|`.+?`)")
_TRAILING = re.compile(r"(?<![\w\\*:])([A-Za-z]\w*)_(?=[,;.)\s]|$)")
_BARS = re.compile(r"\|(\w+)\|")


def _escape(app, what, name, obj, options, lines):  # type: ignore[no-untyped-def]
    """Let ``components_`` and ``|V|`` stand in docstrings as they are."""
    if name in _PAGES:  # which begin with the first paragraph
        while lines and not lines[0].strip():
            del lines[0]
        while lines and lines[0].strip():
            del lines[0]
    for number, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "...")):
            continue
        parts = _LITERAL.split(line)
        for place in range(0, len(parts), 2):
            text = _TRAILING.sub(r"\1\\_", parts[place])
            parts[place] = _BARS.sub(r"\\|\1\\|", text)
        lines[number] = "".join(parts)


def _in_first_column(node):  # type: ignore[no-untyped-def]
    while node is not None and not isinstance(node, nodes.entry):
        node = node.parent
    return node is not None and node.parent.index(node) == 0


def _link_names(app, doctree):  # type: ignore[no-untyped-def]
    """Make a public name in the text of a page a link to its reference."""
    page = app.env.current_document.docname
    for literal in list(doctree.findall(nodes.literal)):
        name = re.match(r"(?:topicfold\.(?:\w+\.)*)?(\w+)", literal.astext())
        target = _PUBLIC.get(name[1]) if name else None
        inside = isinstance(literal.parent, nodes.reference | nodes.title)
        if page.startswith("_generated/") or target is None or inside:
            continue
        if page.startswith("migration/") and _in_first_column(literal):
            continue  # names of the other library
        link = addnodes.pending_xref(
            refdomain="py", reftype="obj", reftarget=target, refdoc=page
        )
        literal.replace_self(link)
        link += literal


def setup(app):  # type: ignore[no-untyped-def]
    """Connect the hooks; numpydoc comes before `_escape`."""
    app.connect("doctree-read", _link_names)
    app.connect("source-read", _link_to_generated)
    app.connect("autodoc-process-docstring", _escape, priority=900)


write_all(HERE / "_generated")
draw_all(HERE / "_generated" / "pictures")
write_notebooks(HERE / "_generated" / "notebooks")
