# SPDX-License-Identifier: BSD-3-Clause
"""Old name of ``topicfold.choosing.comparison``, kept for one version."""

from topicfold.core.lazy import moved_names

__getattr__ = moved_names(
    "topicfold.protocols.comparison", "topicfold.choosing.comparison"
)
