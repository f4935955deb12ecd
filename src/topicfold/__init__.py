# SPDX-License-Identifier: BSD-3-Clause
"""Topics on the document manifold.

Public names are loaded when first used, so that importing topicfold stays quick.
"""

from __future__ import annotations

from topicfold._version import __version__
from topicfold.core.lazy import lazy_names

_PUBLIC = {
    "DiscriminativePLSA": "topicfold.models.manifold:DiscriminativePLSA",
    "FSTM": "topicfold.models.fstm:FSTM",
    "GibbsLDA": "topicfold.models.gibbs_lda:GibbsLDA",
    "LDA": "topicfold.models.lda:LDA",
    "LSI": "topicfold.models.lsi:LSI",
    "LaplacianPLSA": "topicfold.models.manifold:LaplacianPLSA",
    "LocallyConsistentPLSA": "topicfold.models.manifold:LocallyConsistentPLSA",
    "MedLDA": "topicfold.models.medlda:MedLDA",
    "NeighborGraph": "topicfold.graph.build:NeighborGraph",
    "OrthogonalPLSA": "topicfold.models.orthogonal:OrthogonalPLSA",
    "PLSA": "topicfold.models.plsa:PLSA",
    "TopicClassifier": "topicfold.models.classifier:TopicClassifier",
    "TopicData": "topicfold.topic_data:TopicData",
    "TwoPhase": "topicfold.models.two_phase:TwoPhase",
    "compare": "topicfold.choosing.comparing:compare",
    "load": "topicfold.persistence:load_estimator",
    "select_n_components": "topicfold.choosing.selection:select_n_components",
}

__all__ = [
    "FSTM",
    "LDA",
    "LSI",
    "PLSA",
    "DiscriminativePLSA",
    "GibbsLDA",
    "LaplacianPLSA",
    "LocallyConsistentPLSA",
    "MedLDA",
    "NeighborGraph",
    "OrthogonalPLSA",
    "TopicClassifier",
    "TopicData",
    "TwoPhase",
    "__version__",
    "compare",
    "load",
    "select_n_components",
]

__getattr__ = lazy_names(__name__, _PUBLIC)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
