# SPDX-License-Identifier: BSD-3-Clause
"""How topics are parametrised: by slices of time, by groups of documents."""
