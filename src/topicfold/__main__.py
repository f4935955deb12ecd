# SPDX-License-Identifier: BSD-3-Clause
"""``python -m topicfold``: the command line where its script is not on the path."""

from topicfold.cli.main import run

if __name__ == "__main__":
    run()
