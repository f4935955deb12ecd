# SPDX-License-Identifier: BSD-3-Clause
"""Figures of topics with matplotlib, for notebooks and papers.

Every function takes a :class:`~topicfold.TopicData` and returns a figure, which a
notebook shows. ``pip install 'topicfold[plot]'`` installs matplotlib.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from topicfold.choosing.comparison import load_figure
from topicfold.core.tables import Table, csv_table
from topicfold.exceptions import DataError
from topicfold.persistence.atomic import write_atomically
from topicfold.report.content import topic_tree
from topicfold.report.documents import (
    PALETTE,
    document_places,
    figure_rows,
    find_periods,
    topic_anchors,
    topic_colors,
    topic_similarity,
)
from topicfold.topic_data import NAME_RELEVANCE, TopicData

__all__ = [
    "classes",
    "document_map",
    "over_time",
    "plot",
    "save_figures",
    "similarity",
    "words",
]

# Those of the report; a topic has one in all figures.
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
    figure, colors = _figure((2.7 * columns, height * rows)), _colors(data)
    for place, topic in enumerate(largest, 1):
        axes = figure.add_subplot(rows, columns, place)
        chosen = ids[topic][::-1]
        bars = axes.barh(
            range(len(chosen)), data.topics[topic, chosen], color=colors[topic]
        )
        axes.set_yticks(range(len(bars)), [data.vocabulary[i] for i in chosen])
        axes.set_title(_label(data, topic, 26), fontsize=9, loc="left")
        axes.tick_params(length=0, labelsize=8)
        axes.set_xticks([])
        axes.spines[:].set_visible(False)
    figure.data = Table(
        {
            "topic": data.numbers[topic],
            "word": data.vocabulary[i],
            "probability": float(data.topics[topic, i]),
        }
        for topic in largest
        for i in ids[topic].tolist()
    )
    scale = ", each topic on its own scale" if len(largest) > 1 else ""
    _remark(figure, f"bars: probability{scale}")
    return _say_left_out(figure, data, largest)


def document_map(data: TopicData, *, n_labels: int = 20) -> Any:
    """Draw the documents on a plane, those with similar topics or embeddings nearby.

    It is the map of the report, in the same colours and the same way up. Of more than
    10,000 documents a sample is drawn.

    Parameters
    ----------
    data : TopicData
        Topics and mixtures.
    n_labels : int, default=20
        Topics that get a name on the map, the largest first.
    """
    if data.doc_topics is None:
        raise DataError(
            "a map needs the mixtures of documents, and there are none. Give "
            "TopicData with doc_topics."
        )
    rows = figure_rows(data)
    mixtures = data.doc_topics[rows]
    # The page counts from the top, a figure from the bottom.
    places = document_places(data, rows) * [1, -1] + [0, 1]
    main = data.main_topics()[rows]
    figure = _figure((8, 7))
    axes = figure.add_subplot()
    size = float(np.clip(12_000 / len(places), 2, 24))
    colors = _colors(data)
    dots = [colors[topic] for topic in main.tolist()]
    # As pixels inside a vector figure: thousands of shapes would be slow to show.
    axes.scatter(*places.T, s=size, c=dots, alpha=0.6, linewidths=0, rasterized=True)
    axes.set(xlim=(-0.08, 1.08), ylim=(-0.02, 1.05))
    axes.axis("off")
    largest = _largest(data, n_labels)
    names = [_label(data, topic, 28) for topic in largest]
    anchors = topic_anchors(places, mixtures)[largest]
    outline = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.75}
    style: dict[str, Any] = {"fontsize": 8, "ha": "center", "fontweight": "bold"}
    for topic, name, place in zip(largest, names, _spread(anchors, names), strict=True):
        axes.text(*place, name, color=colors[topic], bbox=outline, **style)
    figure.data = Table(
        {
            "document": row if data.doc_ids is None else data.doc_ids[row],
            "x": round(x, 4),
            "y": round(y, 4),
            "main topic": data.numbers[topic],
        }
        for row, (x, y), topic in zip(
            rows.tolist(), places.tolist(), main.tolist(), strict=True
        )
    )
    if len(rows) < data.n_documents:
        _remark(figure, f"{len(rows):,} of {data.n_documents:,} documents")
    return _say_left_out(figure, data, largest, "are named")


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
    figure, colors = _figure((3.4 * columns, 1.5 * rows + 0.3)), _colors(data)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes in grid.flat[len(largest) :]:
        axes.axis("off")
    step = max(1, len(periods.names) // 4)
    # A line from period to period, past those without a word.
    known = np.flatnonzero(np.isfinite(periods.shares[:, 0]))
    for axes, topic in zip(grid.flat, largest, strict=False):
        shares = periods.shares[known, topic]
        axes.fill_between(known, shares, color=colors[topic], alpha=0.25)
        axes.plot(known, shares, color=colors[topic])
        axes.set_title(_label(data, topic, 34), fontsize=9, loc="left")
        axes.set_xticks(
            range(0, len(periods.names), step), periods.names[::step], fontsize=7
        )
        axes.tick_params(labelsize=7)
    # Ticks whose labels are exact: 2.5% is not 2%.
    grid[0, 0].yaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g}%")
    grid[0, 0].set_ylim(bottom=0)
    figure.data = Table(
        {"period": name, "documents": int(number)}
        | {f"topic{data.numbers[k]}": float(row[k]) for k in largest}
        for name, number, row in zip(
            periods.names, periods.documents, periods.shares, strict=True
        )
    )
    return _say_left_out(figure, data, largest)


def classes(data: TopicData, *, n_topics: int = 40) -> Any:
    """Draw the mean mixture of every class.

    Topics are the rows, sorted by the class in which their share is largest.

    Parameters
    ----------
    data : TopicData
        Topics, mixtures and labels.
    n_topics : int, default=40
        Topics to draw.
    """
    if data.labels is None:
        raise DataError(
            "the documents have no labels, so there are no classes to draw. Give them "
            "to fit: fit(texts, labels), or the name of their column as label=."
        )
    names, shares = data.class_topics()
    largest = _largest(data, n_topics)
    # Stable: topics of one class are the largest first, as in the report.
    largest.sort(key=lambda k: int(shares[:, k].argmax()))
    labels = [_label(data, k, 30) for k in largest]
    figure = _matrix(shares.T[largest], labels, names)
    figure.data = Table(
        {"topic": data.numbers[k]}
        | dict(zip(names, shares[:, k].tolist(), strict=True))
        for k in largest
    )
    return _say_left_out(figure, data, largest)


def similarity(data: TopicData, *, n_topics: int = 60) -> Any:
    """Draw how much of their words every two topics share, similar ones together.

    The scale is that of the pairs; the diagonal is left empty.

    Parameters
    ----------
    data : TopicData
        The topics.
    n_topics : int, default=60
        Topics to draw.
    """
    shared = topic_similarity(data)
    kept = {*_largest(data, n_topics)}
    chosen = [topic for topic in topic_tree(data, shared)[1] if topic in kept]
    shared = shared[np.ix_(chosen, chosen)]
    names = [_label(data, k, 24) for k in chosen]
    table = Table(
        {"topic": data.numbers[k]}
        | {
            f"topic{data.numbers[j]}": float(x)
            for j, x in zip(chosen, row, strict=True)
        }
        for k, row in zip(chosen, shared, strict=True)
    )
    np.fill_diagonal(shared, np.nan)
    pairs = shared[~np.isnan(shared)]
    least = float(pairs.min()) if len(pairs) else 0.0
    figure = _matrix(shared, names, names, least)
    figure.data = table
    return _say_left_out(figure, data, chosen)


_KINDS: dict[str, Callable[..., Any]] = {
    "words": words,
    "map": document_map,
    "time": over_time,
    "classes": classes,
    "similarity": similarity,
}


def plot(data: TopicData, kind: str = "words", path: Any = None, **options: Any) -> Any:
    """Draw one of the figures by its name, and save it if a path is given.

    The figure's ``data`` is a table of what it shows; ``data.to_frame()`` is a data
    frame.

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
    known = [*inspect.signature(_KINDS[kind]).parameters][1:]
    wrong = [name for name in options if name not in known]
    if wrong:
        raise TypeError(
            f"the figure {kind!r} has no option {wrong[0]!r}. Possible options: "
            f"{', '.join(known)}."
        )
    figure = _KINDS[kind](data, **options)
    if path is not None:
        figure.write(path)
    return figure


def save_figures(data: TopicData, folder: Any) -> list[Path]:
    """Write every figure that the record allows as SVG and PDF, and its data as CSV.

    Parameters
    ----------
    data : TopicData
        The topics.
    folder : str or path
        The folder; it is made if it is not there.

    Returns
    -------
    list of Path
        The files: words.svg, words.pdf, words.csv, map.svg, …
    """
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise DataError(f"{place} is a file. Give a folder for the figures.")
    wanted = {"words": True, "similarity": data.n_topics > 1}
    wanted["map"] = data.doc_topics is not None and data.n_documents > 0
    wanted["time"] = find_periods(data) is not None
    labelled = data.labels is not None and any(data.labels)
    wanted["classes"] = labelled and data.doc_topics is not None
    place.mkdir(parents=True, exist_ok=True)
    written = []
    for kind in (kind for kind in _KINDS if wanted[kind]):
        figure = plot(data, kind)
        for end in ("svg", "pdf"):
            figure.write(place / f"{kind}.{end}")
        content = csv_table(figure.data).encode()
        table = place / f"{kind}.csv"
        write_atomically(table, partial(Path.write_bytes, data=content))
        written += [place / f"{kind}.{end}" for end in ("svg", "pdf", "csv")]
    return written


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


def _matrix(values: Any, rows: Any, columns: Any, least: float = 0.0) -> Any:
    width, height = 0.28 * len(columns) + 3, 0.22 * len(rows) + 2
    figure = _figure((min(width, 16), min(height, 14)))
    axes = figure.add_subplot()
    image = axes.imshow(values, cmap="Blues", vmin=least, aspect="auto")
    axes.set_xticks(range(len(columns)), columns, rotation=90, fontsize=7)
    axes.set_yticks(range(len(rows)), rows, fontsize=7)
    axes.tick_params(length=0)
    figure.colorbar(image, ax=axes, shrink=0.6)
    return figure


# Inches of a letter in a remark.
_LETTER = 0.055


def _remark(figure: Any, text: str) -> None:
    """Write a line below a figure; another one follows it."""
    figure.remarks = [*getattr(figure, "remarks", ()), text]
    line = "; ".join(figure.remarks)
    line = textwrap.fill(line, int(figure.get_figwidth() / _LETTER))
    figure.supxlabel(line[0].upper() + line[1:], fontsize=8, color="0.4")


def _say_left_out(
    figure: Any, data: TopicData, shown: list[int], what: str = "are shown"
) -> Any:
    """Say below the figure that it has not all topics."""
    if len(shown) < data.n_topics:
        number = f"{len(shown)} " if len(shown) > 1 else ""
        what = what if len(shown) > 1 else what.replace("are", "is")
        _remark(figure, f"the {number}largest of {data.n_topics} topics {what}")
    return figure


def _largest(data: TopicData, n: int) -> list[int]:
    return np.argsort(-data.topic_sizes(), kind="stable")[:n].tolist()


def _colors(data: TopicData) -> list[str]:
    return [COLORS[color] for color in topic_colors(data).tolist()]


def _label(data: TopicData, topic: int, length: int) -> str:
    # Dollar signs would be taken for mathematics.
    text = f"{data.numbers[topic]} {data.name(topic)}".replace("$", r"\$")
    return text if len(text) <= length else f"{text[: length - 1]}…"
