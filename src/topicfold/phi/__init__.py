# SPDX-License-Identifier: BSD-3-Clause
"""How topics are parametrised; loaded when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from topicfold.core.lazy import lazy_names
from topicfold.parts.steps import DirichletPhi, PhiStep

if TYPE_CHECKING:
    from topicfold.phi.matrices import OtherCounts
    from topicfold.phi.orthogonal import OrthogonalPhi
    from topicfold.phi.seeds import Seeds

__all__ = ["DirichletPhi", "OrthogonalPhi", "OtherCounts", "PhiStep", "Seeds"]

__getattr__ = lazy_names(
    __name__,
    {
        "OrthogonalPhi": "topicfold.phi.orthogonal:OrthogonalPhi",
        "OtherCounts": "topicfold.phi.matrices:OtherCounts",
        "Seeds": "topicfold.phi.seeds:Seeds",
    },
)
