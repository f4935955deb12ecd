# SPDX-License-Identifier: BSD-3-Clause
"""Importing topicfold is light, and its public names are there."""

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
