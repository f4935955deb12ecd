# SPDX-License-Identifier: BSD-3-Clause
"""The estimators, one file per family."""
