# SPDX-License-Identifier: BSD-3-Clause
"""Document graphs: similarities, exact and approximate neighbours, label edges."""

from topicfold.graph.build import GraphInfo, NeighborGraph, check_graph, document_graph
from topicfold.graph.embedding import EmbeddingIndex
from topicfold.graph.neighbors import NeighborIndex
from topicfold.graph.sharing import CountSharing

__all__ = [
    "CountSharing",
    "EmbeddingIndex",
    "GraphInfo",
    "NeighborGraph",
    "NeighborIndex",
    "check_graph",
    "document_graph",
]
