# SPDX-License-Identifier: BSD-3-Clause
"""Figures of topics with matplotlib, for notebooks and papers.

Every function takes a :class:`~topicfold.TopicData` and returns a figure, which a
notebook shows. ``pip install 'topicfold[plot]'`` installs matplotlib.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np

from topicfold.choosing.comparison import load_figure
from topicfold.exceptions import DataError
from topicfold.report.colors import PALETTE, borders, pick_colors
from topicfold.report.content import topic_similarity
from topicfold.report.documents import find_periods
from topicfold.report.layout import map_documents, topic_anchors
from topicfold.topic_data import NAME_RELEVANCE, TopicData

__all__ = ["classes", "document_map", "over_time", "plot", "similarity", "words"]

# Of the many documents so many are drawn, drawn at random.
MAX_POINTS = 10_000
# Those of the report, used again in turn.
COLORS = PALETTE["light"]


def words(data: TopicData, *, n_topics: int = 12, n_words: int = 8) -> Any:
    """Draw the words of the largest topics as bars.

    Parameters
    ----------
    data : TopicData
        The topics.
    n_topics, n_words : int, default=12 and 8
        Topics, and words of each.

    Examples
    --------
    >>> data = TopicData(topics=[[0.7, 0.3]], vocabulary=["cat", "pet"])
    >>> len(words(data).axes)
    1
    """
    largest = _largest(data, n_topics)
    ids = data.top_term_ids(n_words, NAME_RELEVANCE)
    columns = min(4, len(largest))
    rows = -(-len(largest) // columns)
    height = 0.22 * min(n_words, data.n_terms) + 0.6
    figure = _figure((2.7 * columns, height * rows))
    for place, topic in enumerate(largest, 1):
        axes = figure.add_subplot(rows, columns, place)
        chosen = ids[topic][::-1]
        bars = axes.barh(
            range(len(chosen)), data.topics[topic, chosen], color=_color(topic)
        )
        axes.set_yticks(range(len(bars)), [data.vocabulary[i] for i in chosen])
        axes.set_title(_label(data, topic, 26), fontsize=9, loc="left")
        axes.tick_params(length=0, labelsize=8)
        axes.set_xticks([])
        axes.spines[:].set_visible(False)
    return figure


def document_map(data: TopicData, *, n_labels: int = 20) -> Any:
    """Draw the documents on a plane, those with similar topics close to each other.

    Parameters
    ----------
    data : TopicData
        Topics and mixtures.
    n_labels : int, default=20
        Topics that get a name on the map, the largest first.
    """
    mixtures = _mixtures(data)
    if len(mixtures) > MAX_POINTS:
        chosen = np.random.default_rng(0).choice(len(mixtures), MAX_POINTS, False)
        mixtures = mixtures[np.sort(chosen)]
    places = map_documents(mixtures, data.topics)
    main = mixtures.argmax(axis=1)
    figure = _figure((8, 7))
    axes = figure.add_subplot()
    size = float(np.clip(12_000 / len(places), 2, 24))
    touching = borders(places, main, data.n_topics)
    picked = pick_colors(data.topic_sizes(), topic_similarity(data), touching)
    shades = [COLORS[color] for color in picked.tolist()]
    colors = [shades[topic] for topic in main.tolist()]
    # As pixels inside a vector figure: thousands of shapes would be slow to show.
    axes.scatter(*places.T, s=size, c=colors, alpha=0.6, linewidths=0, rasterized=True)
    axes.set(xlim=(-0.08, 1.08), ylim=(-0.02, 1.05))
    axes.axis("off")
    largest = _largest(data, n_labels)
    names = [_label(data, topic, 28) for topic in largest]
    anchors = topic_anchors(places, mixtures)[largest]
    outline = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.75}
    style: dict[str, Any] = {"fontsize": 8, "ha": "center", "fontweight": "bold"}
    for topic, name, place in zip(largest, names, _spread(anchors, names), strict=True):
        axes.text(*place, name, color=shades[topic], bbox=outline, **style)
    return figure


def _spread(anchors: Any, names: list[str]) -> list[tuple[float, float]]:
    """Return places of names beside their anchors that do not cover each other."""
    height, letter = 0.026, 0.0125
    done: list[tuple[float, float, float]] = []
    for (x, y), name in zip(anchors.tolist(), names, strict=True):
        half = letter * len(name) / 2
        # Above the anchor, or as little farther up or down as is free.
        tries = [y + height * step for n in range(1, 30) for step in (n, -n)]
        free = (
            t
            for t in tries
            if all(abs(x - a) > half + w or abs(t - b) > height for a, b, w in done)
        )
        done.append((x, next(free, y), half))
    return [(x, y) for x, y, _ in done]


def over_time(data: TopicData, *, n_topics: int = 12) -> Any:
    """Draw the shares of the largest topics over time, all on one scale.

    Parameters
    ----------
    data : TopicData
        Topics, mixtures and times.
    n_topics : int, default=12
        Topics to draw.
    """
    periods = find_periods(data)
    if periods is None:
        raise DataError(
            "the documents do not have different times, so there is nothing to draw."
        )
    largest = _largest(data, n_topics)
    columns = min(3, len(largest))
    rows = -(-len(largest) // columns)
    figure = _figure((3.4 * columns, 1.5 * rows + 0.3))
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes in grid.flat[len(largest) :]:
        axes.axis("off")
    step = max(1, len(periods.names) // 4)
    for axes, topic in zip(grid.flat, largest, strict=False):
        shares = periods.shares[:, topic]
        axes.fill_between(range(len(shares)), shares, color=_color(topic), alpha=0.25)
        axes.plot(shares, color=_color(topic))
        axes.set_title(_label(data, topic, 34), fontsize=9, loc="left")
        axes.set_xticks(range(0, len(shares), step), periods.names[::step], fontsize=7)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.tick_params(labelsize=7)
    grid[0, 0].set_ylim(bottom=0)
    return figure


def classes(data: TopicData, *, n_topics: int = 40) -> Any:
    """Draw the mean mixture of every class.

    Parameters
    ----------
    data : TopicData
        Topics, mixtures and labels.
    n_topics : int, default=40
        Topics to draw.
    """
    names, shares = data.class_topics()
    largest = _largest(data, n_topics)
    # Topics in the order of the class that has most of each.
    largest.sort(key=lambda k: (int(shares[:, k].argmax()), -float(shares[:, k].max())))
    return _matrix(shares[:, largest], names, [_label(data, k, 24) for k in largest])


def similarity(data: TopicData, *, n_topics: int = 60) -> Any:
    """Draw how much of their words every two topics share, similar ones together.

    Parameters
    ----------
    data : TopicData
        The topics.
    n_topics : int, default=60
        Topics to draw.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    shared = topic_similarity(data)
    chosen = np.array(_largest(data, n_topics))
    shared = np.clip(shared[np.ix_(chosen, chosen)], 0, 1)
    if len(chosen) > 2:
        apart = 1 - (shared + shared.T) / 2
        np.fill_diagonal(apart, 0)
        order = leaves_list(linkage(squareform(apart, checks=False), "average"))
        chosen, shared = chosen[order], shared[np.ix_(order, order)]
    names = [_label(data, k, 24) for k in chosen.tolist()]
    np.fill_diagonal(shared, np.nan)
    return _matrix(shared, names, names)


_KINDS: dict[str, Callable[..., Any]] = {
    "words": words,
    "map": document_map,
    "time": over_time,
    "classes": classes,
    "similarity": similarity,
}


def plot(data: TopicData, kind: str = "words", path: Any = None, **options: Any) -> Any:
    """Draw one of the figures by its name, and save it if a path is given.

    Parameters
    ----------
    data : TopicData
        The topics.
    kind : {"words", "map", "time", "classes", "similarity"}, default="words"
        What to draw.
    path : str or path, optional
        File to write: .png, .svg or .pdf.
    **options
        Those of the function.
    """
    if kind not in _KINDS:
        raise DataError(
            f"there is no figure {kind!r}. Give one of {', '.join(_KINDS)}."
        )
    figure = _KINDS[kind](data, **options)
    if path is not None:
        figure.write(path)
    return figure


class Page:
    """A whole HTML page in the output cell of a notebook, without a server.

    Examples
    --------
    >>> Page("<p>Hello</p>", 300)._repr_html_()[:29]
    '<iframe srcdoc="&lt;p&gt;Hell'
    """

    def __init__(self, html: str, height: int) -> None:
        self.html = html
        self.height = height

    def __repr__(self) -> str:
        return f"Page({len(self.html):,} characters of HTML; a notebook shows it)"

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="topicfold report" '
            f'style="width:100%;height:{int(self.height)}px;border:0"></iframe>'
        )


def _figure(size: tuple[float, float]) -> Any:
    return load_figure()(figsize=size, layout="constrained")


def _matrix(values: Any, rows: Any, columns: Any) -> Any:
    width, height = 0.28 * len(columns) + 3, 0.22 * len(rows) + 2
    figure = _figure((min(width, 16), min(height, 14)))
    axes = figure.add_subplot()
    image = axes.imshow(values, cmap="Blues", vmin=0, aspect="auto")
    axes.set_xticks(range(len(columns)), columns, rotation=90, fontsize=7)
    axes.set_yticks(range(len(rows)), rows, fontsize=7)
    axes.tick_params(length=0)
    figure.colorbar(image, ax=axes, shrink=0.6)
    return figure


def _largest(data: TopicData, n: int) -> list[int]:
    return np.argsort(-data.topic_sizes(), kind="stable")[:n].tolist()


def _mixtures(data: TopicData) -> Any:
    if data.doc_topics is None:
        raise DataError("a map needs the mixtures of documents, and there are none.")
    return data.doc_topics


def _color(topic: int) -> str:
    return COLORS[topic % len(COLORS)]


def _label(data: TopicData, topic: int, length: int) -> str:
    # Dollar signs would be taken for mathematics.
    text = f"{topic} {data.name(topic)}".replace("$", r"\$")
    return text if len(text) <= length else f"{text[: length - 1]}…"
