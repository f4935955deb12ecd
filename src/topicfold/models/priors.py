# SPDX-License-Identifier: BSD-3-Clause
"""Checks of LDA's priors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.exceptions import DataError


def checked_doc_topic_prior(given: Any, n_components: int) -> NDArray[np.float64]:
    """Return α as one positive number a topic.

    Examples
    --------
    >>> checked_doc_topic_prior(0.5, 2)
    array([0.5, 0.5])
    """
    prior = np.asarray(given, dtype=np.float64)
    if prior.ndim and prior.shape != (n_components,):
        raise DataError(
            f"doc_topic_prior has shape {prior.shape}; give one number or "
            f"n_components={n_components} of them."
        )
    if not np.isfinite(prior).all() or (prior <= 0).any():
        raise DataError("doc_topic_prior must be finite and positive everywhere.")
    return np.broadcast_to(prior, (n_components,)).copy()
