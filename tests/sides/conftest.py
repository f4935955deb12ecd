# SPDX-License-Identifier: BSD-3-Clause
"""What tests of sides share."""

import pytest

from topicfold.learn.learner import Cvb0, Learner


@pytest.fixture
def plain_passes(monkeypatch):
    """Passes that are not extrapolated, to be compared with the equations."""
    for algorithm in (Cvb0, Learner):
        monkeypatch.setattr(algorithm, "extrapolated", lambda self: self)
