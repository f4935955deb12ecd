# SPDX-License-Identifier: BSD-3-Clause
"""Documents to topic mixtures with the topics fixed."""
