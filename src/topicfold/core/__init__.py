# SPDX-License-Identifier: BSD-3-Clause
"""What every room stands on: kernels' compilation, threads, rows on the simplex."""
