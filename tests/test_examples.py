# SPDX-License-Identifier: BSD-3-Clause
"""Every example runs, and says what its page promises."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="no examples here")

# What each prints, in part; those of None need another process.
PRINTED = {
    "authors": "most like scipy.signal",
    "features_labels_seeds": "of the unknown ones found",
    "citations": "overlap of linked documents",
    "class_topics": "because of:",
    "effects": "percentage points higher where treatment is 1",
    "few_labels": "LocallyConsistentPLSA",
    "gpu": "GPU",
    "languages": "have the same main topic in both",
    "pipeline": "right on new documents",
    "streaming": "latent semantic indexing, updated",
}


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_example(name, capsys):
    runpy.run_path(str(EXAMPLES / f"{name}.py"))
    assert PRINTED[name] in capsys.readouterr().out


def test_dask_example():
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "dask_cluster.py")],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "topics: (20," in done.stdout


def test_every_example_is_listed_and_tested():
    files = {path.stem for path in EXAMPLES.glob("*.py")}
    assert files == {*PRINTED, "dask_cluster"}
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}.py`" in page for name in files)
