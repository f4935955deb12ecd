# SPDX-License-Identifier: BSD-3-Clause
"""From `TopicData` to the data of the page, all of it JSON."""

from __future__ import annotations

import contextlib
import hashlib
import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold._version import __version__
from topicfold.core.counts import best_places
from topicfold.core.side_table import SideTable
from topicfold.report.against import against_content
from topicfold.report.documents import (
    PALETTE,
    Classes,
    document_places,
    find_classes,
    find_periods,
    map_topics,
    pack_mixtures,
    shown_documents,
    topic_anchors,
    topic_colors,
    topic_similarity,
    typical_documents,
)
from topicfold.report.page import (
    LEAD_LENGTH,
    SHORT_LEAD,
    clean,
    lead,
    pack_array,
    pack_strings,
)
from topicfold.topic_data import NAME_RELEVANCE, TopicData

FORMAT_VERSION = 1
MAX_TERMS = 30_000
# Every pair of more topics would be more than a page can show or hold.
MAX_MATRIX = 300
MANY_DOCUMENTS = 30_000
_N_NEAR = 8
N_SHOWN = 30
# The stops of the slider: for each of them the list is exact.
LAMBDAS = tuple(step / 10 for step in range(11))
_TOPICS_OF_A_TERM = 5
# Numbers of one table that a page can hold and show.
_MAX_CELLS = 500_000
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def page_content(
    data: TopicData,
    *,
    title: str,
    coherence: Sequence[float] | None,
    max_documents: int,
    seed: int,
    against: TopicData | None,
    start: str,
) -> tuple[dict[str, Any], NDArray[np.int64], NDArray[np.int64]]:
    """Return the page without texts, the documents shown and the typical ones."""
    typical = typical_documents(data)
    n_documents = data.n_documents if data.doc_topics is not None else 0
    rows = shown_documents(n_documents, typical.ravel(), max_documents, seed)
    terms = index_terms(data, MAX_TERMS)
    classes = find_classes(data)
    similarity = topic_similarity(data)
    notes: list[str] = []
    tree, order = topic_tree(data, similarity)
    documents, anchors = _documents(data, rows, classes, notes)
    colors = topic_colors(data)
    place = np.zeros(n_documents, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    tokens = None if data.doc_lengths is None else float(data.doc_lengths.sum())
    page: dict[str, Any] = {
        "format": "topicfold-report",
        "version": FORMAT_VERSION,
        "title": clean(title),
        "fingerprint": _fingerprint(data),
        "counts": {
            "documents": data.n_documents,
            "shown": len(rows),
            "terms": data.n_terms,
            "topics": data.n_topics,
            "tokens": tokens,
        },
        "topics": _topics(data, terms, similarity, coherence, place[typical], colors),
        "terms": _terms(data, terms, notes),
        "documents": documents,
        "classes": _classes(classes, notes),
        "time": _time(data, rows),
        "similarity": _similarity(similarity, order, notes),
        "sides": [_side(side, data, rows, notes) for side in data.sides],
        "tree": tree,
        "against": against and against_content(data, against, rows),
        "start": start,
        "palette": PALETTE,
        "fit": _fit(data),
        "notes": notes,
    }
    places = {"anchor": anchors, "spot": map_topics(data.topics)}
    for name, positions in places.items():
        if positions is not None:
            for topic, position in zip(page["topics"], positions.tolist(), strict=True):
                topic[name] = [round(value, 4) for value in position]
    return page, rows, np.unique(typical)


def _fingerprint(data: TopicData) -> str:
    """Return what tells this model from others, for names that a browser keeps."""
    digest = hashlib.sha256(np.ascontiguousarray(data.topics).tobytes())
    for topic in range(data.n_topics):
        digest.update(data.name(topic).encode("utf-8", "replace") + b"\0")
    return digest.hexdigest()[:16]


def _topics(
    data: TopicData,
    terms: TermIndex,
    similarity: NDArray[np.float64],
    coherence: Sequence[float] | None,
    typical: NDArray[np.int64],
    colors: NDArray[np.int64],
) -> list[dict[str, Any]]:
    sizes = data.topic_sizes()
    columns = terms.columns
    main = np.zeros(data.n_topics, dtype=np.int64)
    means = sizes
    if data.doc_topics is not None and len(data.doc_topics):
        main = np.bincount(data.main_topics(), minlength=data.n_topics)
        means = data.doc_topics.mean(axis=0, dtype=np.float64)
    topics = []
    for topic in range(data.n_topics):
        places = terms.candidates[topic]
        own = bool(data.topic_names and data.topic_names[topic])
        near = np.argsort(-similarity[topic], kind="stable")
        near = near[near != topic][:_N_NEAR]
        topics.append(
            {
                "id": topic,
                "name": clean(data.name(topic)),
                "named": own,
                "size": _short(sizes[topic]),
                "mean": _short(means[topic]),
                "main": int(main[topic]),
                "coherence": _short_or_none(coherence, topic),
                "color": int(colors[topic]),
                "terms": places.tolist(),
                "weights": [_short(x, 7) for x in data.topics[topic, columns[places]]],
                "typical": typical[topic].tolist(),
                "near": near.tolist(),
                "likeness": [_short(x, 3) for x in similarity[topic, near]],
            }
        )
    return topics


@dataclass(frozen=True)
class TermIndex:
    """The terms that the page knows, the most frequent first."""

    columns: NDArray[np.int64]  # in the vocabulary
    frequencies: NDArray[np.float64]
    # For every topic the places, in `columns`, of all terms that are among its best
    # `N_SHOWN` for one of `LAMBDAS`, in the order of the vocabulary.
    candidates: list[NDArray[np.int64]]
    topics: NDArray[np.int64]  # those of a term with the largest p(k|w)
    shares: NDArray[np.float64]  # and that probability


def index_terms(data: TopicData, max_terms: int) -> TermIndex:
    """Choose the terms of the page and rank them.

    The `max_terms` most frequent are always known, and those that a topic lists.
    """
    frequencies = data.term_frequencies()
    listed = [
        np.unique(_best_columns(row, np.log(np.maximum(frequencies, 1e-300))))
        for row in data.topics
    ]
    order = np.argsort(-frequencies, kind="stable")
    known = np.zeros(data.n_terms, dtype=bool)
    known[order[:max_terms]] = True
    known[np.concatenate(listed)] = True
    columns = order[known[order]]
    place = np.empty(data.n_terms, dtype=np.int64)
    place[columns] = np.arange(len(columns))
    topics, shares = _topics_of_terms(data, columns)
    return TermIndex(
        columns=columns,
        frequencies=frequencies[columns],
        candidates=[place[found] for found in listed],
        topics=topics,
        shares=shares,
    )


def _best_columns(
    row: NDArray[Any], background: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the columns of the best terms of a topic for every λ, with repetition."""
    possible = np.flatnonzero(row > 0)
    log_row = np.log(row[possible].astype(np.float64))
    # Ties are decided as in TopicData.top_terms.
    scores = (log_row - (1 - value) * background[possible] for value in LAMBDAS)
    found = [best_places(np.round(score, 10), N_SHOWN) for score in scores]
    return possible[np.concatenate(found)]


def _topics_of_terms(
    data: TopicData, columns: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the topics of every term by descending p(k|w) ∝ p(k) p(w|k)."""
    n_best = min(_TOPICS_OF_A_TERM, data.n_topics)
    topics = np.empty((len(columns), n_best), dtype=np.int64)
    shares = np.empty((len(columns), n_best))
    sizes = data.topic_sizes()[:, None]
    block = max(1, 4_000_000 // data.n_topics)
    for first in range(0, len(columns), block):
        rows = slice(first, first + block)
        joint = (data.topics[:, columns[rows]] * sizes).T
        total = np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
        best = np.argsort(-joint, axis=1, kind="stable")[:, :n_best]
        topics[rows] = best
        shares[rows] = np.take_along_axis(joint, best, axis=1) / total
    return topics, shares


def _terms(data: TopicData, terms: TermIndex, notes: list[str]) -> dict[str, Any]:
    if len(terms.columns) < data.n_terms:
        notes.append(
            f"Search covers the {len(terms.columns):,} most frequent or most relevant "
            f"of the {data.n_terms:,} terms."
        )
    return {
        "shown": N_SHOWN,
        "names": pack_strings(data.vocabulary[column] for column in terms.columns),
        "frequencies": pack_array(terms.frequencies.astype(np.float32)),
        "width": terms.topics.shape[1],
        "topics": pack_array(terms.topics),
        "shares": pack_array(np.rint(terms.shares * 255).astype(np.uint8)),
    }


def _documents(
    data: TopicData, rows: NDArray[np.int64], classes: Classes | None, notes: list[str]
) -> tuple[dict[str, Any] | None, NDArray[np.float64] | None]:
    """Return the documents, and where the topics are on their map."""
    if data.doc_topics is None or not len(rows):
        return None, None
    if len(rows) < data.n_documents:
        notes.append(
            f"Map, lists and search show {len(rows):,} of the {data.n_documents:,} "
            "documents: the most typical ones and a random sample. Sizes, classes and "
            "times are those of all documents."
        )
    mixtures = data.doc_topics[rows]
    main = data.main_topics()[rows]
    positions = document_places(data, rows)
    grid = np.rint(positions * 65535).astype(np.uint16)
    result: dict[str, Any] = {
        "rows": pack_array(rows),
        "x": pack_array(grid[:, 0]),
        "y": pack_array(grid[:, 1]),
        "mixtures": pack_mixtures(mixtures),
        # Rounded mixtures have ties that the mixtures themselves have not.
        "main": pack_array(main),
        "placed_by": "topics" if data.embeddings is None else "embeddings",
    }
    if data.doc_ids is not None:
        result["ids"] = pack_strings(data.doc_ids[row] for row in rows)
    if data.texts is not None:
        length = SHORT_LEAD if len(rows) > MANY_DOCUMENTS else LEAD_LENGTH
        leads = [lead(data.texts[row], length) for row in rows]
        # Where titles begin alike, ids tell more.
        alike = 2 * len({text[:20] for text in leads}) < len(leads)
        if not alike or data.doc_ids is None:
            result["leads"] = pack_strings(leads)
    if data.doc_lengths is not None:
        result["lengths"] = pack_array(data.doc_lengths[rows].astype(np.float32))
    if classes is not None:
        result["classes"] = pack_array(classes.codes[rows])
    return result, topic_anchors(positions, mixtures)


def _classes(classes: Classes | None, notes: list[str]) -> dict[str, Any] | None:
    if classes is None:
        return None
    if len(classes.names) < classes.n_all:
        notes.append(
            f"Only the {len(classes.names)} largest of the {classes.n_all:,} classes "
            "are shown."
        )
    return {
        "names": [clean(name) for name in classes.names],
        "sizes": classes.sizes.tolist(),
        "mixtures": pack_array(classes.mixtures.astype(np.float32)),
    }


def _time(data: TopicData, rows: NDArray[np.int64]) -> dict[str, Any] | None:
    periods = find_periods(data)
    if periods is None or data.times is None:
        return None
    return {
        "names": periods.names,
        "documents": periods.documents.tolist(),
        "shares": pack_array(periods.shares.astype(np.float32)),
        "dates": data.times.dtype.kind == "M",
        "values": pack_array(periods.values[rows]),
    }


def _similarity(
    similarity: NDArray[np.float64], order: list[int], notes: list[str]
) -> dict[str, Any] | None:
    """Return the matrix of every pair, in an order that puts similar ones together."""
    if len(similarity) > MAX_MATRIX:
        notes.append(
            f"The table of all pairs is shown for up to {MAX_MATRIX} topics; here, "
            "each topic lists its most similar ones."
        )
        return None
    steps = np.rint(similarity * 255).astype(np.uint8)
    return {"order": order, "values": pack_array(steps)}


def _side(
    side: SideTable, data: TopicData, rows: NDArray[np.int64], notes: list[str]
) -> dict[str, Any]:
    """Return what the model learned besides topics: authors, effects, words, links."""
    content: dict[str, Any] = {"name": clean(side.name), "kind": side.kind}
    place = np.full(data.n_documents, -1)
    place[rows] = np.arange(len(rows))
    if side.kind == "terms":
        content["terms"] = [[clean(term) for term in words] for words in side.terms]
        content["note"] = clean(side.note)
    elif side.pairs is not None and side.kind == "links":
        both = np.concatenate([side.pairs, side.pairs[:, ::-1]])
        both = place[both[both[:, 0] != both[:, 1]]]
        content |= _lists(both[:, 0], both[:, 1], len(rows))
    elif side.pairs is not None and side.sizes is not None and side.kind == "tree":
        parents = np.zeros(len(side.rows), dtype=np.int64)
        parents[side.pairs[:, 1]] = side.pairs[:, 0]
        content["rows"] = pack_strings(side.rows)
        content |= {"parents": parents.tolist(), "documents": side.sizes.tolist()}
        content["note"] = clean(side.note)
    elif side.values is not None:
        n_rows = max(1, _MAX_CELLS // data.n_topics)
        if len(side.rows) > n_rows:
            notes.append(
                f"Only the first {n_rows:,} of the {len(side.rows):,} {side.name} are "
                "shown."
            )
        content["rows"] = pack_strings(side.rows[:n_rows])
        content["values"] = pack_array(side.values[:n_rows])
        if side.errors is not None:
            content["errors"] = pack_array(side.errors[:n_rows])
        if side.sizes is not None:
            content["sizes"] = pack_array(side.sizes[:n_rows])
        if side.pairs is not None:
            owners, documents = side.pairs.T
            owners = np.where(owners < n_rows, owners, -1)
            content |= _lists(owners, place[documents], min(n_rows, len(side.rows)))
        content |= {"note": clean(side.note), "middle": side.middle}
    return content


def _lists(
    owners: NDArray[np.int64], documents: NDArray[np.int64], n_owners: int
) -> dict[str, Any]:
    """Return the documents of each owner; -1 stands for what is not shown."""
    pairs = np.stack([owners, documents], axis=1)
    pairs = np.unique(pairs[(pairs >= 0).all(axis=1)], axis=0)
    counts = np.bincount(pairs[:, 0], minlength=n_owners)
    return {"counts": pack_array(counts), "others": pack_array(pairs[:, 1])}


def _fit(data: TopicData) -> dict[str, Any]:
    return {
        "history": [float(f"{x:.8g}") for x in data.history if np.isfinite(x)],
        "settings": [
            [clean(str(name)), clean(_as_text(value))]
            for name, value in data.settings.items()
        ],
        "versions": [["topicfold", __version__], *map(list, library_versions())],
    }


@lru_cache(maxsize=1)
def library_versions() -> tuple[tuple[str, str], ...]:
    """Return the names and versions of Python and of the libraries that count."""
    found = [("Python", platform.python_version())]
    for name in _LIBRARIES:
        with contextlib.suppress(PackageNotFoundError):
            found.append((name, version(name)))
    return tuple(found)


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:.4g}"
    return "default" if value is None else json.dumps(value, ensure_ascii=False)


def _short(value: Any, digits: int = 5) -> float:
    return float(f"{float(value):.{digits}g}")


def _short_or_none(values: Sequence[float] | None, place: int) -> float | None:
    if values is None or not np.isfinite(values[place]):
        return None
    return round(float(values[place]), 4)


# Parts of a group; a group of no more topics has no smaller ones.
MOST_PARTS = 8
_N_TERMS = 4
# Ordering the leaves takes a time that grows with the square of the topics.
_MOST_ORDERED = 300


def topic_tree(
    data: TopicData, similarity: NDArray[np.float64]
) -> tuple[list[Any], list[int]]:
    """Return the tree, and the topics in its order.

    A part of the tree is the number of a topic, or a group ``{"terms", "topics",
    "parts"}``. Topics are joined by the mean similarity of their words (average
    linkage); a group is cut where its parts are least alike.
    """
    n_topics = len(similarity)
    if n_topics < 3:
        return list(range(n_topics)), list(range(n_topics))
    from scipy.cluster.hierarchy import linkage, optimal_leaf_ordering, to_tree
    from scipy.spatial.distance import squareform

    gaps = squareform(1 - (similarity + similarity.T) / 2, checks=False)
    joins = linkage(gaps, "average")
    if n_topics <= _MOST_ORDERED:
        joins = optimal_leaf_ordering(joins, gaps)
    root = to_tree(joins)
    return _Groups(data).parts(root), root.pre_order()


class _Groups:
    """Groups of topics, named by their terms."""

    def __init__(self, data: TopicData) -> None:
        self.data = data
        self.sizes = data.topic_sizes()
        background = np.maximum(data.term_frequencies(), np.finfo(np.float64).tiny)
        self.background = (1 - NAME_RELEVANCE) * np.log(background)

    def parts(self, node: Any) -> list[Any]:
        """Return at most `MOST_PARTS` parts of a group, cut at the largest gaps."""
        nodes = [node]
        while len(nodes) < MOST_PARTS:
            groups = [place for place, part in enumerate(nodes) if not part.is_leaf()]
            if not groups:
                break
            widest = max(groups, key=lambda place: nodes[place].dist)
            cut = nodes[widest]
            nodes[widest : widest + 1] = [cut.left, cut.right]
        return [self.part(inner) for inner in nodes]

    def part(self, node: Any) -> Any:
        """Return a topic, or a group with its terms and parts."""
        topics = node.pre_order()
        if len(topics) == 1:
            return topics[0]
        inner = topics if len(topics) <= MOST_PARTS else self.parts(node)
        return {"terms": self.terms(topics), "topics": topics, "parts": inner}

    def terms(self, topics: list[int]) -> list[str]:
        """Return the terms that mark a group: as those that name a topic."""
        sizes = self.sizes[topics]
        weights = sizes / sizes.sum() if sizes.any() else None
        row = np.average(self.data.topics[topics], axis=0, weights=weights)
        with np.errstate(divide="ignore"):
            scores = np.log(row, dtype=np.float64) - self.background
        places = best_places(np.round(scores, 10), _N_TERMS)
        return [clean(self.data.vocabulary[place]) for place in places]
