# SPDX-License-Identifier: BSD-3-Clause
"""Old name of ``topicfold.choosing``, kept for one version."""

from topicfold.core.lazy import moved_names

__getattr__ = moved_names("topicfold.protocols", "topicfold.choosing")
