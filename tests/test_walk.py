# SPDX-License-Identifier: BSD-3-Clause
"""How many files of topicfold a fit walks through: what a reader has to open."""

import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import topicfold
from topicfold import LDA, PLSA, LaplacianPLSA

PACKAGE = Path(topicfold.__file__).parent
# A larger number is a step back; a smaller one is to be written down here.
# The trust in a graph is a file.
MOST_FILES = {LDA: 11, PLSA: 12, LaplacianPLSA: 18}


def walked(model, X):
    """Return the files of topicfold whose functions a fit calls, imports aside."""
    files = set()

    def note(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            files.add(path.relative_to(PACKAGE).as_posix())

    model.fit(X)  # imports and compiles
    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        model.fit(X)
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    return files


@pytest.mark.parametrize("kind", MOST_FILES, ids=lambda kind: kind.__name__)
def test_a_fit_walks_through_few_files(kind):
    X = np.random.default_rng(0).poisson(1.0, (30, 20)) + np.eye(30, 20)
    files = walked(kind(3, max_iter=5, random_state=0), X)
    assert {"models/base.py", "learn/loop.py"} <= files
    assert len(files) <= MOST_FILES[kind], sorted(files)
