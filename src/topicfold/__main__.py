# SPDX-License-Identifier: BSD-3-Clause
"""The command ``topicfold``, also where its script is not on the path."""

import sys


def run() -> None:
    """Run the command line; Ctrl-C also ends its imports with one line."""
    try:
        from topicfold.cli import main

        main.run()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    run()
