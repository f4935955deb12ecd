# SPDX-License-Identifier: BSD-3-Clause
"""The papers' tables and figures, one command a paper."""
