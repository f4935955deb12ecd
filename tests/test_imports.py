# SPDX-License-Identifier: BSD-3-Clause
"""Importing topicfold is light, and its public names are there."""

import importlib
import subprocess
import sys

import pytest

import topicfold

OPTIONAL = ["dask", "distributed", "cupy", "jinja2", "pyarrow", "matplotlib", "numba"]


@pytest.mark.parametrize(
    "line", ["import topicfold", "from topicfold import LDA, PLSA"]
)
def test_import_loads_nothing_heavy(line):
    # What scikit-learn loads by itself (pandas, and pyarrow through it) is not ours.
    code = (
        "import sys, sklearn.base\nbefore = set(sys.modules)\n"
        f"{line}\n"
        f"print([m for m in {OPTIONAL} if m in set(sys.modules) - before])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_public_names_exist():
    for name in topicfold.__all__:
        assert getattr(topicfold, name) is not None
    assert set(topicfold.__all__) <= set(dir(topicfold))


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = topicfold.Nonsense


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("topicfold.em", "topicfold.learn", "Resume"),
        ("topicfold.protocols", "topicfold.choosing", "compare"),
        (
            "topicfold.protocols.comparison",
            "topicfold.choosing.comparison",
            "Comparison",
        ),
        ("topicfold.selection", "topicfold.choosing.selection", "Selection"),
    ],
)
def test_modules_that_moved_still_answer_with_a_warning(old, new, name):
    with pytest.warns(FutureWarning, match=f"{old} is now {new}"):
        found = getattr(importlib.import_module(old), name)
    assert found is getattr(importlib.import_module(new), name)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = importlib.import_module(old).nonsense


def test_experiments_that_left_the_package_say_where_they_are():
    with pytest.raises(ImportError, match="benchmarks/papers/experiments"):
        exec("from topicfold.protocols import few_labels")
    with pytest.raises(ImportError, match="benchmarks/papers/experiments"):
        _ = importlib.import_module("topicfold.protocols").ResultFile
