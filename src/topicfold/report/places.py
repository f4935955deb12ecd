# SPDX-License-Identifier: BSD-3-Clause
"""Where documents are on the map, and the colours of topics: the same in all figures.

Both are found once for a record, and are the same for the report, its map and the
figures of `topicfold.plotting`.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from topicfold.report.colors import borders, pick_colors
from topicfold.report.documents import shown_documents, typical_documents
from topicfold.report.layout import map_documents
from topicfold.topic_data import TopicData

# Documents of a figure, and those that colours are chosen by.
MAX_POINTS = 10_000

_positions: WeakKeyDictionary[TopicData, tuple[NDArray[np.int64], NDArray[np.float64]]]
_positions = WeakKeyDictionary()
_colors: WeakKeyDictionary[TopicData, NDArray[np.int64]] = WeakKeyDictionary()


def figure_rows(data: TopicData) -> NDArray[np.int64]:
    """Return the documents of a figure: all, or the typical ones and a sample."""
    n_documents = data.n_documents if data.doc_topics is not None else 0
    typical = typical_documents(data).ravel()
    return shown_documents(n_documents, typical, MAX_POINTS, seed=0)


def document_places(data: TopicData, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the places of some documents on their map, in [0, 1], from the top."""
    if data.doc_topics is None:
        return np.empty((0, 2))
    known = _positions.get(data)
    if known is None or not np.array_equal(known[0], rows):
        known = rows, map_documents(data.doc_topics[rows], data.topics)
        _positions[data] = known
    return known[1]


def topic_colors(data: TopicData) -> NDArray[np.int64]:
    """Return the place of every topic's colour in the palette.

    Topics that touch on the map, or have similar words, have colours that differ.
    """
    if data not in _colors:
        touching = None
        rows = figure_rows(data)
        if len(rows):
            places = document_places(data, rows)
            touching = borders(places, data.main_topics()[rows], data.n_topics)
        _colors[data] = pick_colors(
            data.topic_sizes(), topic_similarity(data), touching
        )
    return _colors[data]


def topic_similarity(data: TopicData) -> NDArray[np.float64]:
    """Return the Bhattacharyya coefficients Σ_w √(φ_kw φ_lw) of topics, in [0, 1]."""
    roots = np.sqrt(data.topics)
    return np.clip((roots @ roots.T).astype(np.float64), 0.0, 1.0)
