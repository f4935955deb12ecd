# SPDX-License-Identifier: BSD-3-Clause
"""Warnings that name the user's line, not one of the library."""

from __future__ import annotations

import sys
import warnings

from topicfold.exceptions import DataWarning


def warn_caller(text: str) -> None:
    """Warn of data at the line outside topicfold and scikit-learn."""
    warnings.warn(text, DataWarning, stacklevel=level_of_caller())


def level_of_caller() -> int:
    """Return the `stacklevel` of the line outside topicfold and scikit-learn."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None:
        room = frame.f_globals.get("__name__", "").partition(".")[0]
        if room not in ("topicfold", "sklearn", "joblib"):
            break
        frame, level = frame.f_back, level + 1
    return level
