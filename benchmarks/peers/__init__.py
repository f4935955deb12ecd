# SPDX-License-Identifier: BSD-3-Clause
"""Topicfold against its peers: one runner, one evaluator, one adapter per peer."""
