# SPDX-License-Identifier: BSD-3-Clause
"""Figures of effects with matplotlib: points with intervals, and curves of shares."""

from __future__ import annotations

import inspect
import textwrap
from typing import Any

import numpy as np

from topicfold.choosing.comparison import load_figure
from topicfold.effects.result import LEVEL, POINTS, Effects
from topicfold.exceptions import DataError

COLOR, MUTED = "#2a6f97", "#8a8f98"
# Of the levels of a second covariate: distinct for people who see few colours.
COLORS = (COLOR, "#d1603d", "#5a8f3c", "#8e5ea2", "#b8902a", "#4a4e57")
KINDS = ("effects", "shares")
LOWEST, HIGHEST = -0.1, 1.1  # ends of the axis of shares
LONGEST = 44  # characters of a topic's name
_LETTER = 0.055  # inches of one below the figure


def draw(
    effects: Effects, covariate: str | None, kind: str | None, **options: Any
) -> Any:
    """Draw one of the figures by its name."""
    known = effects.design.covariates
    chosen = known[0] if covariate is None else effects.design.covariate(covariate)
    if kind is None:
        curved = chosen.kind != "levels" and not effects.is_line(chosen)
        kind = "shares" if curved or options.get("by") else "effects"
    if kind not in KINDS:
        raise DataError(f"there is no figure {kind!r}. Give one of {', '.join(KINDS)}.")
    figures: dict[str, Any] = {"effects": effect_points, "shares": expected_shares}
    possible = [*inspect.signature(figures[kind]).parameters][2:]
    wrong = [name for name in options if name not in possible]
    if wrong:
        raise TypeError(
            f"the figure {kind!r} has no option {wrong[0]!r}. Possible options: "
            f"{', '.join(possible)}."
        )
    return figures[kind](effects, chosen.name, **options)


def effect_points(
    effects: Effects,
    covariate: str,
    *,
    by: None = None,
    n_topics: int = 40,
    level: float = LEVEL,
) -> Any:
    """Draw each topic's effects as points with intervals, the largest on top.

    Parameters
    ----------
    effects : Effects
        The effects.
    covariate : str
        The column.
    by : None
        Only shares are drawn by a second covariate.
    n_topics : int, default=40
        Number of outcomes to draw, those with the largest effects.
    level : float, default=0.95
        Of the intervals.
    """
    if by is not None:
        raise DataError("by= only works for shares. Leave out kind='effects'.")
    contrasts = [c for c in effects.contrasts if c.covariate == covariate]
    rows = effects.rows(level=level)
    n = min(len(effects.outcomes), n_topics)
    figure = _figure((3.4 * len(contrasts) + 3, 0.27 * n + 1.1))
    grid = figure.subplots(1, len(contrasts), sharex=True, sharey=True, squeeze=False)
    order: Any = None
    for axes, contrast in zip(grid[0], contrasts, strict=True):
        own = [row for row in rows if row["effect"] == contrast.label]
        if order is None:
            size = np.array([row["estimate"] for row in own])
            largest = np.sort(np.argsort(-np.abs(size), kind="stable")[:n])
            order = largest[np.argsort(size[largest], kind="stable")]
            names = [_name(own[place]) for place in order]
            axes.set_yticks(range(n), names, fontsize=8)
            axes.set_ylim(-0.6, n - 0.4)  # no point on the edge
        for height, place in enumerate(order.tolist()):
            _point(axes, own[place], height)
        axes.axvline(0, color=MUTED, linewidth=0.8)
        axes.set_title(_plain(contrast.label), fontsize=9, loc="left")
        axes.set_xlabel("difference of shares", fontsize=8)
        _percent(axes.xaxis)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right", "left"]].set_visible(False)
    if n < len(effects.outcomes):
        _say(figure, f"the {n} of {len(effects.outcomes)} topics with largest effects")
    if not all(_determined(own[place]) for place in order.tolist()):
        _foot(figure, "Hollow points")
    return figure


def expected_shares(
    effects: Effects,
    covariate: str,
    *,
    by: str | None = None,
    n_topics: int = 12,
    level: float = LEVEL,
) -> Any:
    """Draw the expected shares of topics along a number, or by level.

    Parameters
    ----------
    effects : Effects
        The effects.
    covariate : str
        The column.
    by : str or None, default=None
        A second covariate with levels; there is a curve for each if the formula has
        their interaction.
    n_topics : int, default=12
        Number of outcomes to draw on one scale, those that change most first.
    level : float, default=0.95
        Of the intervals.
    """
    parts = _parts(effects, covariate, by, level)
    parts.sort(key=lambda part: -max(_spread(rows) for _, rows in part))
    n_outcomes, parts = len(parts), parts[:n_topics]
    columns = min(3, len(parts))
    lines = -(-len(parts) // columns)
    figure = _figure((3.4 * columns, 1.9 * lines + 0.4))
    grid = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
    for axes in grid.flat[len(parts) :]:
        axes.axis("off")
    kind = effects.design.covariate(covariate).kind
    for axes, part in zip(grid.flat, parts, strict=False):
        for number, (label, rows) in enumerate(part):
            color = COLORS[number]
            if kind == "levels":
                aside = 0.16 * (number - (len(part) - 1) / 2)
                for place, row in enumerate(rows):
                    shown = {**row, "estimate": row["share"]}
                    _point(axes, shown, place + aside, upright=True, color=color)
                axes.set_xticks(
                    range(len(rows)), [_plain(str(r["value"])) for r in rows]
                )
                axes.margins(x=0.3)
            else:
                _curve(axes, rows, kind, color)
            axes.plot([], [], color=color, label=_plain(label))
        axes.set_title(_name(part[0][1][0]), fontsize=8, loc="left")
        _percent(axes.yaxis)
        axes.tick_params(labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
    if by is not None:
        axes = grid.flat[0]
        axes.legend(title=_plain(by), fontsize=7, title_fontsize=7, frameon=False)
    for axes in grid.flat[max(len(parts) - columns, 0) : len(parts)]:
        axes.tick_params(labelbottom=True)
        axes.set_xlabel(_plain(covariate), fontsize=8)
    if len(parts) < n_outcomes:
        _say(figure, f"the {len(parts)} of {n_outcomes} topics that change most")
    if not all(_determined(rows[0]) for part in parts for _, rows in part):
        _foot(figure, "Hollow points" if kind == "levels" else "Dashed curves")
    if all((outcome.weights >= 0).all() for outcome in effects.outcomes):
        low, high = grid[0, 0].get_ylim()  # wide intervals would hide the rest
        grid[0, 0].set_ylim(max(low, LOWEST), min(high, HIGHEST))
    return figure


def _say(figure: Any, text: str) -> None:
    figure.suptitle(text, fontsize=8, x=0.01, ha="left")


def _determined(row: Any) -> bool:
    return bool(row.get("determined", True))


def _foot(figure: Any, marks: str) -> None:
    """Say below the figure what marks mean."""
    text = (
        f"{marks}: the documents do not determine the words of these topics. Do not "
        "rely on their intervals."
    )
    line = textwrap.fill(text, int(figure.get_figwidth() / _LETTER))
    figure.supxlabel(line, fontsize=8, color="0.4")


def _parts(
    effects: Effects, covariate: str, by: str | None, level: float
) -> list[list[tuple[str, Any]]]:
    """Return what each topic's panel shows: rows of shares for each level of `by`."""
    held: list[Any] = [None]
    if by is not None:
        levels = effects.design.covariate(by).levels
        if not 2 <= len(levels) <= len(COLORS):
            raise DataError(
                f"by={by!r} needs a covariate of 2 to {len(COLORS)} levels. Give "
                "another, or predict(..., at=...) for values of a number."
            )
        held = [{by: value} for value in levels]
    found, points = [], None
    for at in held:
        if at and effects.design.covariate(covariate).kind != "levels":
            own = effects.design.values(covariate, at)  # where the level has documents
            points = np.linspace(own.min(), own.max(), POINTS).tolist()
        rows = effects.predict(covariate, points, at=at, level=level)
        size = len(rows) // len(effects.outcomes)
        label = "" if at is None else str(at[by])
        starts = range(0, len(rows), size)
        found.append([(label, rows[start : start + size]) for start in starts])
    return [list(part) for part in zip(*found, strict=True)]


def _spread(rows: Any) -> float:
    return float(np.ptp([row["share"] for row in rows]))


def _curve(axes: Any, part: Any, kind: str, color: str) -> None:
    values: Any = [row["value"] for row in part]
    if kind == "date":
        values = np.array(values, dtype="datetime64[D]")
    if "low" in part[0]:
        low, high = ([row[end] for row in part] for end in ("low", "high"))
        axes.fill_between(values, low, high, color=color, alpha=0.2, linewidth=0)
    style = "-" if _determined(part[0]) else "--"
    axes.plot(values, [row["share"] for row in part], style, color=color)
    if kind == "date":
        from matplotlib.dates import AutoDateLocator

        axes.xaxis.set_major_locator(AutoDateLocator(maxticks=4))


def _point(
    axes: Any, row: Any, place: float, *, upright: bool = False, color: str = COLOR
) -> None:
    """Draw a point with its interval; one that includes zero is muted.

    It is hollow where the documents do not determine the topic.
    """
    unclear = not upright and row.get("low", -1) * row.get("high", 1) <= 0
    color = MUTED if unclear else color
    if "low" in row:
        line = axes.vlines if upright else axes.hlines
        line(place, row["low"], row["high"], color=color, linewidth=1.6)
    at = (place, row["estimate"]) if upright else (row["estimate"], place)
    inside = color if _determined(row) else "white"
    axes.plot(*at, "o", color=color, markersize=4.5, markerfacecolor=inside)


def _percent(axis: Any) -> None:
    axis.set_major_formatter(lambda value, _: f"{100 * value:g} %")


def _figure(size: tuple[float, float]) -> Any:
    return load_figure()(figsize=size, layout="constrained")


def _name(row: Any) -> str:
    words = f"{row['topic']}  {row['words']}" if row["words"] else row["topic"]
    text = _plain(words)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _plain(text: str) -> str:
    # Dollar signs would be taken for mathematics.
    return text.replace("$", r"\$")
