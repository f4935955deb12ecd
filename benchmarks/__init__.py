# SPDX-License-Identifier: BSD-3-Clause
"""Measurements of topicfold; not part of the installed package."""
