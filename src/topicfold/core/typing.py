# SPDX-License-Identifier: BSD-3-Clause
"""Types that every room uses."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.floating]
"""An array of real numbers."""

Doubles: TypeAlias = NDArray[np.float64]
"""An array in double precision."""

DeviceArray: TypeAlias = Any
"""An array of a device's library (CuPy), which has no types."""
