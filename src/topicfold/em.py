# SPDX-License-Identifier: BSD-3-Clause
"""Old name of ``topicfold.learn``, kept for one version."""

from topicfold.core.lazy import moved_names

__getattr__ = moved_names("topicfold.em", "topicfold.learn")
