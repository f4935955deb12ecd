# SPDX-License-Identifier: BSD-3-Clause
"""Old name of ``topicfold.choosing.selection``, kept for one version."""

from topicfold.core.lazy import moved_names

__getattr__ = moved_names("topicfold.selection", "topicfold.choosing.selection")
