# SPDX-License-Identifier: BSD-3-Clause
"""Find the topics in a collection of texts.

Public names are loaded when first used, so that importing topicfold stays quick.
"""

from __future__ import annotations

from topicfold._version import __version__
from topicfold.core.lazy import lazy_names
from topicfold.registry import model_classes

_PUBLIC = {
    **model_classes(),
    "NeighborGraph": "topicfold.graph.build:NeighborGraph",
    "TopicClassifier": "topicfold.classify.classifier:TopicClassifier",
    "TopicData": "topicfold.topic_data:TopicData",
    "Topics": "topicfold.session.topics:Topics",
    "compare": "topicfold.choosing.comparison:compare",
    "load": "topicfold.persistence:load_estimator",
    "select_n_components": "topicfold.choosing.selection:select_n_components",
}

__all__ = ["__version__", *sorted(_PUBLIC)]

__getattr__ = lazy_names(__name__, _PUBLIC)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
