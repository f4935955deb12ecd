# SPDX-License-Identifier: BSD-3-Clause
"""Labels of documents, of which some may be unknown."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.exceptions import DataError


def encode_labels(y: Any, n_documents: int) -> NDArray[np.int64] | None:
    """Return classes from 0 with -1 for unknown; None without any known label.

    Examples
    --------
    >>> encode_labels(["b", None, "a", -1], 4).tolist()
    [1, -1, 0, -1]
    """
    if y is None:
        return None
    names = np.asarray(y, dtype=object).ravel()
    if len(names) != n_documents:
        raise DataError(
            f"y has {len(names)} labels for {n_documents} documents. Give one label "
            "per document, -1 where it is unknown."
        )
    known = np.array(
        [not (n is None or n == "" or n == -1 or n != n) for n in names.tolist()],
        dtype=bool,
    )
    if not known.any():
        return None
    labels = np.full(n_documents, -1, dtype=np.int64)
    values = names[known].tolist()
    if len({isinstance(value, str) for value in values}) > 1:
        values = [str(value) for value in values]
    labels[known] = np.unique(np.asarray(values), return_inverse=True)[1]
    return labels
