# SPDX-License-Identifier: BSD-3-Clause
"""The CUDA engine: CuPy arrays and raw kernels. Nothing here is loaded unless asked."""
