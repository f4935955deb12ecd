# SPDX-License-Identifier: BSD-3-Clause
"""The guide's diagrams: boxes and arrows."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

BLUE, ORANGE, GREY = "#30638e", "#d1722c", "#6a6a6a"


def _box(axes: Any, x: float, y: float, text: str, color: str, width: float) -> None:
    shape = FancyBboxPatch(
        (x - width / 2, y - 0.32),
        width,
        0.64,
        boxstyle="round,pad=0.02,rounding_size=0.12",
        facecolor="white",
        edgecolor=color,
        linewidth=1.5,
    )
    axes.add_patch(shape)
    axes.text(x, y, text, ha="center", va="center", fontsize=10, color=color)


def _arrow(axes: Any, start: Any, end: Any, text: str = "") -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": GREY})
    if text:
        x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
        axes.text(x + 0.06, y, text, fontsize=8, color=GREY, va="center")


def _blank(size: tuple[float, float], width: float, height: float) -> Any:
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")
    return figure, axes


def which_model() -> Figure:
    """Draw the questions that lead to a model."""
    figure, axes = _blank((8, 4.6), 10, 6)
    questions = [
        (5.3, "Do you have a label for most documents?"),
        (4.1, "A few labels, links, or short documents?"),
        (2.9, "Do topics repeat the same words?"),
        (1.7, "Must each document have few topics?"),
    ]
    answers = ["TwoPhase, TopicClassifier", "LaplacianPLSA", "OrthogonalPLSA", "FSTM"]
    for (y, text), answer in zip(questions, answers, strict=True):
        _box(axes, 3, y, text, BLUE, 5.2)
        _box(axes, 8.2, y, answer, ORANGE, 3.2)
        _arrow(axes, (5.62, y), (6.56, y))
        axes.text(6.05, y + 0.14, "yes", fontsize=8, color=GREY, ha="center")
        _arrow(axes, (3, y - 0.34), (3, y - 0.86), "no")
    _box(axes, 3, 0.5, "LDA", ORANGE, 2.2)
    return figure


def sides() -> Figure:
    """Draw where each kind of side enters the model."""
    figure, axes = _blank((8, 3.6), 10, 4.8)
    for x, text in ((2.2, "mixture of a document"), (5.2, "topic of a token")):
        _box(axes, x, 2.4, text, BLUE, 2.5)
    _box(axes, 8.2, 2.4, "word of a topic", BLUE, 2.4)
    _arrow(axes, (3.47, 2.4), (3.93, 2.4))
    _arrow(axes, (6.47, 2.4), (6.98, 2.4))
    above = [
        (1.2, "authors"), (3.2, "features"), (5.2, "responses, links"),
        (8.2, "seed words"),
    ]  # fmt: skip
    for x, text in above:
        _box(axes, x, 4.2, text, ORANGE, 1.8 if x < 4 else 2.4)
        _arrow(axes, (x, 3.86), (min(max(x, 1.8), 2.6) if x < 4 else x, 2.76))
    _box(axes, 2.2, 0.6, "labels: allowed topics", ORANGE, 2.8)
    _arrow(axes, (2.2, 0.94), (2.2, 2.06))
    _box(axes, 8.2, 0.6, "other languages, tags", ORANGE, 2.8)
    _arrow(axes, (8.2, 0.94), (8.2, 2.06))
    return figure


def scaling() -> Figure:
    """Draw where blocks and statistics go in one pass."""
    figure, axes = _blank((8, 3.4), 10, 4.4)
    for number, y in enumerate((3.7, 2.2, 0.7)):
        _box(axes, 1.4, y, f"block {number}: rows of X", BLUE, 2.4)
        _box(axes, 5, y, "thread, worker or GPU", GREY, 2.8)
        _arrow(axes, (2.64, y), (3.56, y))
        _arrow(axes, (6.44, y), (7.36, 2.2 + (y - 2.2) * 0.12))
    _box(axes, 8.6, 2.2, "sum of counts:\nnew topics", ORANGE, 2.2)
    curve = {"arrowstyle": "->", "color": ORANGE, "connectionstyle": "arc3,rad=0.4"}
    axes.annotate("", (6.44, 3.9), (8.6, 2.56), arrowprops=curve)
    axes.text(8.5, 3.55, "topics for\nthe next pass", fontsize=8, color=ORANGE)
    return figure
