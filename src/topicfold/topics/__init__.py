# SPDX-License-Identifier: BSD-3-Clause
"""Texts in, topics out: one object for people, over any model of topicfold."""

from topicfold.topics.topics import Topics

__all__ = ["Topics"]
