# SPDX-License-Identifier: BSD-3-Clause
"""What is experimental: the page and the docstrings name the same things."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

import topicfold

PAGE = Path(__file__).resolve().parent.parent / "docs" / "stability.md"
PACKAGE = Path(topicfold.__file__).resolve().parent
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="docs/ is not here")
MARK = "Experimental: "
PARAMETER = re.compile(r"^(\w+(?:, \w+)*) :")


def _marks(docstring):
    """Yield, for each mark of a docstring, the parameter it belongs to, or ''."""
    parameter = ""
    for line in inspect.cleandoc(docstring).splitlines():
        found = PARAMETER.match(line)
        if found:
            parameter = found[1]
        elif not line.startswith(" ") and line.strip():
            parameter = ""
        if line.lstrip().startswith(MARK) or f". {MARK}" in line:
            yield parameter


def _marked(tree, place):
    """Yield the places of marks: ``module.Class.method`` or ``module.Class(name=)``."""
    for parameter in _marks(ast.get_docstring(tree) or ""):
        yield f"{place}({parameter}=)" if parameter else place
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield from _marked(node, f"{place}.{node.name}")


def _in_docstrings():
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        module = ".".join(parts).removesuffix(".__init__")
        yield from _marked(ast.parse(path.read_text(encoding="utf-8")), module)


def _home(name):
    """Return where a name that users write is defined: ``module.qualified.name``."""
    bare, _, parameter = name.partition("(")
    parts = bare.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:cut]))
            break
        except ModuleNotFoundError:
            continue
    for part in parts[cut:]:
        value = getattr(value, part)
    if inspect.ismodule(value):
        return value.__name__
    if parameter:
        assert parameter.removesuffix("=)") in inspect.signature(value).parameters
    place = f"{value.__module__}.{value.__qualname__}"
    return f"{place}({parameter}" if parameter else place


def _on_the_page():
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(r"^\| `(topicfold[^`]*)` \| \w.* \|$", text, re.MULTILINE)


def test_page_and_docstrings_agree():
    listed = _on_the_page()
    assert len(listed) >= 5
    assert sorted(map(_home, listed)) == sorted(_in_docstrings())


def test_marks_are_found_where_they_stand():
    source = (
        '"""M."""\n'
        "class A:\n"
        '    """A.\n\n    Parameters\n    ----------\n    x : int\n'
        "        Old. Experimental: maybe.\n    y : int\n        New.\n"
        '    """\n'
        "    def f(self):\n"
        '        """F.\n\n        Experimental: yes.\n        """\n'
    )
    assert list(_marked(ast.parse(source), "m")) == ["m.A(x=)", "m.A.f"]
    assert list(_marked(ast.parse('"""Experimental work."""'), "m")) == []


def test_a_name_that_is_gone_is_seen():
    assert _home("topicfold.LDA(phi_step=)") == "topicfold.models.lda.LDA(phi_step=)"
    with pytest.raises(AttributeError):
        _home("topicfold.Nothing")
    with pytest.raises(AssertionError):
        _home("topicfold.LDA(nothing=)")
