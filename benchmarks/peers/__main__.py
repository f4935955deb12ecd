# SPDX-License-Identifier: BSD-3-Clause
"""Entry of ``python -m benchmarks.peers``."""

import sys

from benchmarks.peers.cli import main

sys.exit(main())
