# SPDX-License-Identifier: BSD-3-Clause
"""What errors and warnings say."""

import ast
import re
from pathlib import Path

import topicfold

PACKAGE = Path(topicfold.__file__).parent
FLAG = re.compile(r"(?:^|[\s(`'\"])(--[a-z][a-z-]+)")
# Flags of other programs.
OTHERS = {"--upgrade"}  # pip's


def _said(file):
    """Yield the texts of errors and warnings in a file."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        warned = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("warn")
        if isinstance(node, ast.Raise) or warned:
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def test_the_library_never_names_flags_of_the_command_line():
    files = [
        f for f in PACKAGE.rglob("*.py") if f.relative_to(PACKAGE).parts[0] != "cli"
    ]
    texts = [(file, text) for file in files for text in _said(file)]
    assert len(texts) > 300
    named = {
        (file.relative_to(PACKAGE).as_posix(), flag)
        for file, text in texts
        for flag in FLAG.findall(text)
        if flag not in OTHERS
    }
    assert named == set()
