# SPDX-License-Identifier: BSD-3-Clause
"""The estimators, one file a family."""
