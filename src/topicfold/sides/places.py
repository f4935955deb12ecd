# SPDX-License-Identifier: BSD-3-Clause
"""What runs where: the one list of what a side cannot do in a place.

The driver asks it before a fit, and the table of the documentation is made from it.
"""

from __future__ import annotations

from collections.abc import Sequence

from topicfold.exceptions import DataError
from topicfold.sides.base import Side

HOOKS = {
    "mixing": "mixtures of entities (authors)",
    "evidence": "evidence (responses, links)",
    "prior": "a prior of each document (features)",
    "mask": "topics a document may use (labels)",
    "counts": "more counts (languages, citations)",
    "topics": "parts of topics (seed words)",
}
PLACES = {
    "memory": "CPU",
    "blocks": "blocks on disk, Dask",
    "gpu": "GPU",
    "streamed": "GPU, larger than its memory",
    "theta_step": "beside a θ-step of PLSA (graph)",
    "phi_step": "beside a φ-step of PLSA or LDA",
    "resume": "taken up again by Resume",
}
_ONE_STEP = "says itself how counts become topics: leave phi_step out"
_ONE_PLACE = "needs a corpus that fits on the GPU as a whole: use device='cpu'"
REFUSED = {
    ("evidence", "streamed"): _ONE_PLACE,
    ("prior", "streamed"): _ONE_PLACE,
    ("mask", "streamed"): _ONE_PLACE,
    ("mixing", "theta_step"): "makes mixtures itself: leave theta_step out",
    ("counts", "phi_step"): _ONE_STEP,
    ("topics", "phi_step"): _ONE_STEP,
}


def check_place(sides: Sequence[Side], place: str) -> None:
    """Refuse sides that cannot be where the corpus is."""
    for side in sides:
        reason = REFUSED.get((side.hook, place))
        if reason is not None:
            raise DataError(f"{type(side).__name__} {reason}.")


def places_table() -> str:
    """Return the table of what runs where, in Markdown."""
    lines = [
        "| hook | " + " | ".join(PLACES.values()) + " |",
        "| --- |" + " --- |" * len(PLACES),
    ]
    for hook, what in HOOKS.items():
        cells = ["no" if (hook, place) in REFUSED else "yes" for place in PLACES]
        lines.append(f"| `{hook}`: {what} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
