# SPDX-License-Identifier: BSD-3-Clause
"""A tree of topics: hierarchical LDA by the nested Chinese restaurant process."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from topicfold.core import saved
from topicfold.core.counts import normalize_rows
from topicfold.core.parameters import whole
from topicfold.core.side_table import SideTable
from topicfold.core.threads import n_threads, run_balanced
from topicfold.core.typing import Array
from topicfold.learn import Callback
from topicfold.models.base import PRIOR, LearnedModel

# Dimensions in which the documents are clustered at the start.
START_DIMENSIONS = 50
# Of `n_components`: so many leaves at the start, and documents per leaf.
START_SHARE, START_DOCUMENTS = 2, 10


class TopicTree(LearnedModel):
    """Hierarchical LDA: topics in a tree, from general to special.

    A document has a path from the root to a leaf, drawn by the nested Chinese
    restaurant process, and each of its words comes from a topic on that path: the
    root's topic has words that all documents share, a leaf's topic words of a few
    documents. The depth is given, and the number of nodes is found by a chain over
    paths and levels that starts from nested clusters of documents.

    Parameters
    ----------
    n_components : int, default=100
        Maximum number of nodes of the tree; it has at least one path.
    depth : int, default=3
        Topics on a path, the root's included.
    level_prior : float, default=5.0
        α of a document's Dirichlet distribution over the levels of its path. If it is
        small, a document has all its words on one level, and the levels mean little.
    topic_word_prior : float, default=0.1
        η of the topics.
    max_iter : int, default=150
        Sweeps over all documents. In the last quarter the paths are fixed, and the
        topics are the mean over the draws of levels.

    Attributes
    ----------
    components_ : ndarray of shape (n_topics_, n_features_in_)
        Topics of the nodes: a node before its children, siblings by decreasing number
        of documents; rows on the simplex.
    doc_topics_ : ndarray of shape (n_documents, n_topics_)
        Mixtures over the nodes; zero outside of a document's path.
    n_topics_ : int
        Number of nodes.
    parents_, levels_, node_documents_ : ndarray of shape (n_topics_,)
        Parent of each node (-1 for the root), its level (0 for the root), and how many
        training documents pass through it.
    branching_ : float
        γ of the nested Chinese restaurant process at the end of the chain.
    n_topics_history_ : list of int
        Nodes after each sweep.
    n_samples_ : int
        Samples kept, with the paths of documents as they are after the burn-in.
    objective_history_ : list of float
        log P(words, levels, paths). Not monotone, as of any chain.
    converged_ : bool
        Always False: a chain does not converge.

    Notes
    -----
    New documents need no chain: for every path the weights of its levels are found by
    EM, and the mixture is the mean over paths, weighted by their probability. So
    `transform` is deterministic.

    References
    ----------
    D. Blei, T. Griffiths, M. Jordan (2010). The nested Chinese restaurant process and
    Bayesian nonparametric inference of topic hierarchies. JACM 57.

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import TopicTree
    >>> rows = [[9, 9, 5, 0, 0, 0], [9, 1, 9, 0, 0, 0], [0, 0, 0, 9, 8, 3]]
    >>> model = TopicTree(depth=2, random_state=0).fit(np.repeat(rows, 10, axis=0))
    >>> model.parents_.tolist()[0], set(model.parents_.tolist()[1:])
    (-1, {0})
    """

    device = "cpu"  # not a choice: there is no sampler elsewhere
    _open_size = True
    _takes_blocks = False
    _needs_whole_counts = True
    _binds_topics = "a tree of topics"
    depth: Annotated[int, whole(2, 20)]
    level_prior: Annotated[float, PRIOR]
    topic_word_prior: Annotated[float, PRIOR]

    def __init__(
        self,
        n_components: int = 100,
        *,
        depth: int = 3,
        level_prior: float = 5.0,
        topic_word_prior: float = 0.1,
        max_iter: int = 150,
        random_state: Any = None,
        n_jobs: int | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: bool = False,
    ) -> None:
        self._store_parameters(locals())

    def _fit_counts(self, X: Any, y: Any) -> None:
        from topicfold.gibbs.tree import NestedCrp

        self._store_corpus(X)
        most = max(self.n_components, self.depth)
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))
        sampler = NestedCrp(
            X,
            first_groups(X, self.depth, most, self.seed_),
            n_nodes=most,
            alpha=float(self.level_prior),
            eta=float(self.topic_word_prior),
            burn_in=3 * self.max_iter // 4,
            seed=self.seed_,
        )
        self._learn(sampler, tol=-math.inf)
        self.n_samples_ = sampler.n_samples
        parents, levels, documents = sampler.tree()
        order = _depth_first(parents, documents)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        self.parents_ = np.where(parents < 0, -1, place[parents])[order]
        self.levels_, self.node_documents_ = levels[order], documents[order]
        self.components_ = np.ascontiguousarray(self.components_[order])
        self.doc_topics_ = np.ascontiguousarray(self.doc_topics_[:, order])
        self.branching_ = sampler.gamma
        self.n_topics_ = len(order)
        self.n_topics_history_ = sampler.n_topics_history

    _needed_state = (
        "n_features_in_", "parents_", "levels_", "node_documents_",
    )  # fmt: skip

    _saved = dict.fromkeys(
        ("parents_", "levels_", "node_documents_"), saved.numbers("K", kinds="iu")
    )

    def _check_fitted(self, sizes: Mapping[str, int]) -> None:
        super()._check_fitted(sizes)
        inner = self.parents_[1:]
        if self.parents_[0] != -1 or (inner < 0).any():
            raise ValueError("parents_ needs one root, as its first node")
        if (inner >= np.arange(1, len(self.components_))).any():
            raise ValueError("parents_ has a node before its parent")
        if self.levels_[0] != 0 or (self.levels_[1:] != self.levels_[inner] + 1).any():
            raise ValueError("levels_ are not those of parents_")
        if (self.levels_ >= self.depth).any() or (self.node_documents_ < 0).any():
            raise ValueError("levels_ or node_documents_ are out of range")

    def paths(self) -> NDArray[np.int64]:
        """Return the nodes of every path (n_leaves, depth), from the root to a leaf."""
        check_is_fitted(self, "components_")
        nodes = np.flatnonzero(self.levels_ == self.levels_.max())
        found = [nodes]
        while (self.levels_[found[0]] > 0).any():
            found.insert(0, self.parents_[found[0]])
        return np.stack(found, axis=1).astype(np.int64)

    def _mixtures(self, X: Any, known: Any = None) -> Array:
        from topicfold.gibbs.tree_kernels import fold_in_paths

        paths = self.paths()
        share = self.node_documents_[paths[:, -1]] + 1.0
        phi = np.ascontiguousarray(self.components_.T, dtype=np.float64)
        theta = np.zeros((X.shape[0], len(self.components_)))
        rows = X.indptr, X.indices, X.data
        fixed = paths, np.log(share / share.sum()), float(self.level_prior), theta
        threads = n_threads(self.n_jobs)
        run_balanced(fold_in_paths, X.indptr, threads, rows, phi, *fixed)
        theta[np.diff(X.indptr) == 0] = 1.0
        return normalize_rows(theta).astype(X.dtype)

    def _side_tables(self, vocabulary: Sequence[str]) -> Iterable[SideTable]:
        yield from super()._side_tables(vocabulary)
        children = np.arange(1, len(self.parents_))
        yield SideTable(
            name="tree",
            kind="tree",
            rows=tuple(map(str, range(len(self.parents_)))),
            pairs=np.stack([self.parents_[1:], children], axis=1),
            sizes=self.node_documents_,
            note="The words of a document are from the topics of one path, from the "
            "root to a leaf.",
        )

    @property
    def tree_(self) -> dict[str, Any]:
        """The tree, nested: topic, number of documents, and children of a node."""
        nodes: list[dict[str, Any]] = [
            {"topic": k, "documents": int(n), "children": []}
            for k, n in enumerate(self.node_documents_)
        ]
        for k, parent in enumerate(self.parents_[1:].tolist(), start=1):
            nodes[parent]["children"].append(nodes[k])
        return nodes[0]

    def tree_text(
        self, vocabulary: Sequence[str] | None = None, n_words: int = 6
    ) -> str:
        """Return the tree as text: a line per node, indented by its level.

        Parameters
        ----------
        vocabulary : sequence of str or None, default=None
            Words of the columns; default: the feature names seen in `fit`.
        n_words : int, default=6
            Words of a node.
        """
        words = self.topic_data(vocabulary).vocabulary
        lines = []
        for k, phi in enumerate(self.components_):
            top = np.argsort(-phi, kind="stable")[:n_words]
            told = " ".join(words[w] for w in top)
            indent = "  " * int(self.levels_[k])
            lines.append(f"{indent}{k} ({self.node_documents_[k]} documents): {told}")
        return "\n".join(lines)


def first_groups(
    X: sparse.csr_matrix, depth: int, most: int, seed: int
) -> NDArray[np.int64]:
    """Return the groups (depth − 1, D) of the documents at the start.

    k-means of the documents in the space of their first singular vectors makes the
    leaves, Ward's clusters of these the levels above.
    """
    n_documents, n_terms = X.shape
    leaves = max(1, min(most // START_SHARE, n_documents // START_DOCUMENTS))
    while _n_nodes(leaves, depth) > most:
        leaves -= 1
    groups = np.zeros((depth - 1, n_documents), dtype=np.int64)
    if leaves == 1 or min(X.shape) < 3:
        return groups
    spread = np.bincount(X.indices, minlength=n_terms)
    weights = np.log((1.0 + n_documents) / (1.0 + spread)) + 1e-9
    Y = normalize(
        sparse.csr_matrix(X.astype(np.float64) @ sparse.diags(weights)).sqrt()
    )
    size = min(START_DIMENSIONS, min(X.shape) - 1)
    reduced = TruncatedSVD(size, random_state=seed).fit_transform(Y)
    reduced = np.round(normalize(reduced), 9)  # the last bits depend on threads of BLAS
    found = KMeans(leaves, n_init=1, random_state=seed).fit(reduced)
    groups[-1] = found.labels_
    for above in range(depth - 2):
        n = _level_size(leaves, depth, above + 1)
        if n < len(found.cluster_centers_):
            linked = AgglomerativeClustering(n)
            groups[above] = linked.fit(found.cluster_centers_).labels_[found.labels_]
        else:
            groups[above] = groups[-1]
    return groups


def _level_size(leaves: int, depth: int, level: int) -> int:
    return max(1, round(leaves ** (level / (depth - 1))))


def _n_nodes(leaves: int, depth: int) -> int:
    """Nodes of a first tree."""
    return 1 + sum(_level_size(leaves, depth, lev) for lev in range(1, depth))


def _depth_first(
    parents: NDArray[np.int64], documents: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the nodes, each before its children, siblings by falling size."""
    order: list[int] = []
    stack = np.flatnonzero(parents < 0).tolist()
    while stack:
        node = stack.pop()
        order.append(node)
        children = np.flatnonzero(parents == node)
        stack += children[np.argsort(documents[children], kind="stable")].tolist()
    return np.array(order, dtype=np.int64)
