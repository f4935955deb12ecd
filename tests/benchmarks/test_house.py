# SPDX-License-Identifier: BSD-3-Clause
"""The size of the house: what a reader has to open, and what counts as code."""

import pytest
from benchmarks.house import code_lines, command_walk, report, walked

import topicfold

# A larger number is a step back; a smaller one is to be written down here.
MOST_FILES = {"LDA": 14, "PLSA": 12, "LaplacianPLSA": 16}
MOST_OPTIONS = {"LDA": 20, "LaplacianPLSA": 16}


@pytest.mark.filterwarnings("ignore::topicfold.exceptions.UnsettledWarning")
@pytest.mark.parametrize("name", MOST_FILES)
def test_a_fit_walks_through_few_files(name):
    files = walked(getattr(topicfold, name)(3, max_iter=5, random_state=0))
    assert {"models/base.py", "learn/loop.py"} <= files
    assert len(files) <= MOST_FILES[name], sorted(files)


@pytest.mark.filterwarnings("ignore::topicfold.exceptions.UnsettledWarning")
def test_the_command_walks_through_few_files(tmp_path):
    files = command_walk(tmp_path)
    assert {"cli/fit.py", "report/page.py"} <= files
    assert len(files) <= 45, sorted(files)


@pytest.mark.parametrize("name", MOST_OPTIONS)
def test_a_model_has_few_options(name):
    options = getattr(topicfold, name)._get_param_names()
    assert len(options) <= MOST_OPTIONS[name], options


def test_comments_and_docstrings_are_not_code():
    source = '"""Two\nlines."""\n\nx = """of\ntext"""  # said\n# a remark\n'
    source += 'def f():\n    """Why."""\n    return (\n        1\n    )\n'
    assert code_lines(source) == (6, 3)


@pytest.mark.filterwarnings("ignore::topicfold.exceptions.UnsettledWarning")
def test_every_room_says_what_it_is_for():
    text = report()
    assert "| `LDA` | " in text
    assert "| **all** | " in text
