# SPDX-License-Identifier: BSD-3-Clause
"""Classifiers on topics: recipes for few and many labels, and what they explain."""
