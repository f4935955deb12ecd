# SPDX-License-Identifier: BSD-3-Clause
"""How the mixtures of documents are parametrised."""
