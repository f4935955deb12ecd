# SPDX-License-Identifier: BSD-3-Clause
"""Corpora in blocks of documents: out of core here, or on workers (engine.dask)."""
