# SPDX-License-Identifier: BSD-3-Clause
"""Old name of ``topicfold.choosing``, kept for one version."""

from typing import Any

from topicfold.core.lazy import moved_names

_EXPERIMENTS = (
    *("METHODS", "ResultFile", "Results", "available_methods", "choose_options"),
    *("clustering", "few_labels", "find_method", "runtime", "sensitivity"),
    "supervised",
)
_moved = moved_names("topicfold.protocols", "topicfold.choosing")


def __getattr__(name: str) -> Any:
    if name in _EXPERIMENTS:
        # Not an AttributeError: ``from … import`` would lose its message.
        raise ImportError(
            f"topicfold.protocols.{name} is no longer installed: the papers' "
            "experiments are in benchmarks/papers/experiments of topicfold's source."
        )
    return _moved(name)
