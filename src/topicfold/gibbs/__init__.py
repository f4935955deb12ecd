# SPDX-License-Identifier: BSD-3-Clause
"""Collapsed Gibbs sampling of LDA."""
