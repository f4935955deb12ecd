# SPDX-License-Identifier: BSD-3-Clause
"""Times of documents as they stand in files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def parse_times(values: Sequence[str] | None) -> NDArray[Any] | None:
    """Return times as numbers or dates; None if they are neither, or all unknown.

    Dates are in ISO 8601; ``""`` is unknown and becomes NaN or NaT.
    """
    texts = [value.strip() for value in values or ()]
    if not any(texts):
        return None
    try:
        return np.array([float(text) if text else np.nan for text in texts])
    except ValueError:
        pass
    try:
        # NumPy knows no time zones; a day more or less does not matter here.
        plain = [text.replace("Z", "") for text in texts]
        known = np.array([np.datetime64(text) for text in plain if text])
    except ValueError:
        return None
    # In the finest unit that occurs; a missing time has none of its own.
    return np.array([text or "NaT" for text in plain], dtype=known.dtype)
