# SPDX-License-Identifier: BSD-3-Clause
"""The command line: parse, call the library, print."""
