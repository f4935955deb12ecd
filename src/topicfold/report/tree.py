# SPDX-License-Identifier: BSD-3-Clause
"""Topics together: a tree of groups of similar topics, each with its terms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.core.ranking import best_places
from topicfold.report.page import clean
from topicfold.topic_data import NAME_RELEVANCE, TopicData

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
