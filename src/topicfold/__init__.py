# SPDX-License-Identifier: BSD-3-Clause
"""Topics on the document manifold.

Public names are loaded when first used, so that importing topicfold stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from topicfold._version import __version__

_PUBLIC = {
    "DiscriminativePLSA": "topicfold.models.manifold:DiscriminativePLSA",
    "FSTM": "topicfold.models.fstm:FSTM",
    "LDA": "topicfold.models.lda:LDA",
    "LaplacianPLSA": "topicfold.models.manifold:LaplacianPLSA",
    "LocallyConsistentPLSA": "topicfold.models.manifold:LocallyConsistentPLSA",
    "OrthogonalPLSA": "topicfold.models.orthogonal:OrthogonalPLSA",
    "PLSA": "topicfold.models.plsa:PLSA",
    "TopicClassifier": "topicfold.models.classifier:TopicClassifier",
    "TopicData": "topicfold.topic_data:TopicData",
    "TwoPhase": "topicfold.models.two_phase:TwoPhase",
    "load": "topicfold.persistence:load_estimator",
}

__all__ = [
    "FSTM",
    "LDA",
    "PLSA",
    "DiscriminativePLSA",
    "LaplacianPLSA",
    "LocallyConsistentPLSA",
    "OrthogonalPLSA",
    "TopicClassifier",
    "TopicData",
    "TwoPhase",
    "__version__",
    "load",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'topicfold' has no attribute {name!r}")
    module, _, attribute = _PUBLIC[name].partition(":")
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
