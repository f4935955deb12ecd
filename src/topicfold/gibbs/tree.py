# SPDX-License-Identifier: BSD-3-Clause
"""A tree of topics by the nested Chinese restaurant process: the chain.

Collapsed Gibbs sampling (Blei, Griffiths, Jordan 2010). One document after the other
draws its path from the root to a leaf, existing or new, and then the levels of its
tokens. Documents depend on one another, so there is one thread. Such a chain does not
leave a tree that is roughly right: so siblings become one, and nodes move to another
parent, where that raises the joint probability.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from topicfold.core.counts import normalize_rows, pair_counts, token_words
from topicfold.core.typing import Array
from topicfold.gibbs import tree_kernels as kernels
from topicfold.gibbs.open_number import drawn_concentration

MERGE_EVERY, MOVE_EVERY = 5, 20
# Sweeps over the documents of a node that was moved.
MOVED_SWEEPS = 5
# Sweeps over the levels before the first path is drawn.
FIRST_SWEEPS = 10


class Nodes(NamedTuple):
    """The nodes of the tree; those without documents are free, node 0 is the root."""

    counts: NDArray[np.int32]
    totals: NDArray[np.int64]
    documents: NDArray[np.int64]
    parent: NDArray[np.int32]
    level: NDArray[np.int32]


class NestedCrp:
    """The chain, for :func:`topicfold.learn.run_em`.

    `groups` (L − 1, D) are the groups of the documents on each level below the root,
    where the chain starts. After `burn_in` sweeps the paths stay, and the counts of
    words and tokens in nodes are averaged.
    """

    def __init__(
        self,
        X: Any,
        groups: NDArray[np.integer],
        *,
        n_nodes: int,
        alpha: float,
        eta: float,
        burn_in: int,
        seed: int,
    ) -> None:
        self.dtype = X.dtype
        self.alpha, self.eta, self.gamma = alpha, eta, 1.0
        self.burn_in, self.seed = burn_in, seed
        self.corpus = token_words(X, X.indices.astype(np.uint32))
        self.lengths = np.diff(self.corpus[0])
        self.rows = np.repeat(np.arange(X.shape[0]), self.lengths)
        self.depth = len(groups) + 1
        self.rng = np.random.default_rng(seed)
        levels = self.rng.integers(self.depth, size=len(self.rows)).astype(np.uint8)
        self.paths = np.zeros((X.shape[0], self.depth), dtype=np.int32)
        self.levels = levels
        self.nodes = Nodes(
            np.zeros((n_nodes, X.shape[1]), dtype=np.int32),
            np.zeros(n_nodes, dtype=np.int64),
            np.zeros(n_nodes, dtype=np.int64),
            np.zeros(n_nodes, dtype=np.int32),
            np.zeros(n_nodes, dtype=np.int32),
        )
        self._plant(groups)
        self.scratch = np.zeros(n_nodes), np.zeros(n_nodes, dtype=np.int64)
        self.n_sweeps = self.n_samples = 0
        self.n_topics_history: list[int] = []
        self._sums: tuple[Array, Array] | None = None

    def _plant(self, groups: NDArray[np.integer]) -> None:
        """Make the nodes of the first paths."""
        known: dict[tuple[int, ...], int] = {(): 0}
        for d in np.flatnonzero(self.lengths > 0):
            for lev in range(1, self.depth):
                key = tuple(groups[:lev, d].tolist())
                if key not in known:
                    known[key] = len(known)
                    self.nodes.parent[known[key]] = known[key[:-1]]
                    self.nodes.level[known[key]] = lev
                self.paths[d, lev] = known[key]
        self._count(np.arange(len(self.rows)), np.flatnonzero(self.lengths > 0), 1)

    def start(self) -> float:
        """Draw levels until they suit the first paths."""
        for turn in range(FIRST_SWEEPS):
            self._sweep(-turn, frozen=True)
        return self.log_joint()

    def iterate(self) -> float:
        """One sweep over all documents; then γ, or a sample."""
        self.n_sweeps += 1
        frozen = self.n_sweeps > self.burn_in
        self._sweep(self.n_sweeps, frozen=frozen)
        if frozen:
            self._sums = self._added(self._sums)
            self.n_samples += 1
        else:
            if self.n_sweeps % MERGE_EVERY == 0:
                self._merge_siblings()
            if self.n_sweeps % MOVE_EVERY == 0:
                self._move_nodes()
            used, inner = self.used(), self._inner()
            self.gamma = drawn_concentration(
                self.gamma, len(used) - 1.0, self.nodes.documents[inner], self.rng
            )
        self.n_topics_history.append(len(self.used()))
        return self.log_joint()

    def _sweep(
        self, number: int, *, frozen: bool, rows: NDArray[np.intp] | None = None
    ) -> None:
        order = self.rng.permutation(len(self.lengths) if rows is None else rows)
        kernels.sweep_tree(
            order, self.corpus,
            (self.paths, self.levels), tuple(self.nodes),
            (self.alpha, self.eta, self.gamma), self.seed, number, frozen, self.scratch,
        )  # fmt: skip

    def used(self) -> NDArray[np.intp]:
        """Return the nodes that have documents."""
        return np.flatnonzero(self.nodes.documents)

    def _inner(self) -> NDArray[np.intp]:
        used = self.used()
        return used[self.nodes.level[used] < self.depth - 1]

    def _merge_siblings(self) -> None:
        """Make two children of a node one where that raises log P(w, levels, paths)."""
        counts, totals, documents, parent, level = self.nodes
        for above in self._inner():
            used = self.used()
            children = used[(parent[used] == above) & (used > 0)].tolist()
            children.sort(key=lambda u: (documents[u], u))
            while children:
                a = children.pop(0)
                gains = [self._gain(a, b) for b in children]
                if not gains or max(gains) <= 0:
                    continue
                b = children[int(np.argmax(gains))]
                counts[b] += counts[a]
                totals[b] += totals[a]
                documents[b] += documents[a]
                counts[a], totals[a], documents[a] = 0, 0, 0
                own = self.paths[:, level[a]]
                own[own == a] = b
                used = self.used()
                parent[used[parent[used] == a]] = b

    def _move_nodes(self) -> None:
        """Give nodes the parent most like their own where that raises the joint.

        The levels of their documents are drawn again under it: words of the old parent
        may have been the node's, and the other way round.
        """
        counts, _, documents, parent, level = self.nodes
        for u in self.used():
            lev = int(level[u])
            used = self.used()
            others = used[(level[used] == lev - 1) & (used != parent[u])]
            if lev < 2 or not documents[u] or not len(others):
                continue
            rows = np.flatnonzero(self.paths[:, lev] == u)
            best = self._settled(rows)
            own = counts[u] + counts[parent[u]]
            like = (
                counts[others] @ np.sqrt(own) / np.linalg.norm(counts[others], axis=1)
            )
            arrays: list[NDArray[Any]] = [self.paths, self.levels, *self.nodes]
            before = [array.copy() for array in arrays]
            self._reattach(int(u), int(others[np.argmax(like)]))
            if self._settled(rows) > best:
                continue
            for array, old in zip(arrays, before, strict=True):
                array[...] = old

    def _settled(self, rows: NDArray[np.intp]) -> float:
        """Draw the levels of some documents; return the mean of log P from then on."""
        found = []
        for turn in range(2 * MOVED_SWEEPS):
            self._sweep(-FIRST_SWEEPS - turn, frozen=True, rows=rows)
            if turn >= MOVED_SWEEPS:
                found.append(self.log_joint())
        return float(np.mean(found))

    def _reattach(self, u: int, to: int) -> None:
        """Move a node with its documents below another node of its parent's level."""
        rows = np.flatnonzero(
            (self.paths[:, self.nodes.level[u]] == u) & (self.lengths > 0)
        )
        tokens = np.flatnonzero(np.isin(self.rows, rows))
        self._count(tokens, rows, -1)
        self.nodes.parent[u] = to
        node = to
        for lev in range(int(self.nodes.level[to]), -1, -1):
            self.paths[rows, lev] = node
            node = int(self.nodes.parent[node])
        self._count(tokens, rows, 1)

    def _count(
        self, tokens: NDArray[np.intp], rows: NDArray[np.intp], sign: int
    ) -> None:
        """Add some tokens and documents to the nodes, or take them off."""
        own = self.paths[self.rows[tokens], self.levels[tokens]]
        np.add.at(self.nodes.counts, (own, self.corpus[1][tokens]), sign)
        np.add.at(self.nodes.totals, own, sign)
        np.add.at(self.nodes.documents, self.paths[rows].ravel(), sign)

    def _gain(self, a: int, b: int) -> float:
        counts, totals, documents, _, level = self.nodes
        gain = kernels.merged_gain(counts, totals, self.eta, a, b)
        n, m = float(documents[a]), float(documents[b])
        gain += gammaln(n + m) - gammaln(n) - gammaln(m) - np.log(self.gamma)
        if level[a] < self.depth - 1:
            gain += gammaln(n + self.gamma) + gammaln(m + self.gamma)
            gain -= gammaln(n + m + self.gamma) + gammaln(self.gamma)
        return float(gain)

    def log_joint(self) -> float:
        """Log P(words, levels, paths | α, η, γ)."""
        counts, totals, documents, _, _ = self.nodes
        total = kernels.tree_log_words(counts, totals, documents, self.eta)
        of_levels = self._tokens_by_level()
        total += (gammaln(of_levels + self.alpha) - gammaln(self.alpha)).sum()
        size = self.alpha * self.depth
        total += (gammaln(size) - gammaln(self.lengths + size)).sum()
        inner, used = documents[self._inner()], self.used()
        total += (gammaln(self.gamma) - gammaln(inner + self.gamma)).sum()
        total += (np.log(self.gamma) + gammaln(documents[used[used > 0]])).sum()
        return float(total)

    def _places(self) -> NDArray[np.intp]:
        """Return where each node is among those in use."""
        place = np.zeros(len(self.nodes.totals), dtype=np.intp)
        place[self.used()] = np.arange(len(self.used()))
        return place

    def _added(self, sums: tuple[Array, Array] | None) -> tuple[Array, Array]:
        """Add the state's counts of words and of tokens in nodes to the sums."""
        used = self.used()
        if sums is None:
            sums = (
                np.zeros((len(used), self.nodes.counts.shape[1]), dtype=np.float32),
                np.zeros((len(self.lengths), self.depth), dtype=np.float32),
            )
        sums[0][...] += self.nodes.counts[used]
        sums[1][...] += self._tokens_by_level()
        return sums

    def _tokens_by_level(self) -> NDArray[np.int64]:
        shape = len(self.lengths), self.depth
        return pair_counts(self.rows, self.levels, shape)

    def _means(self) -> tuple[Array, Array]:
        words, of_levels = self._added(None) if self._sums is None else self._sums
        n = max(self.n_samples, 1)
        return words / n, of_levels / n

    def topics(self) -> Array:
        """φ (nodes, V), posterior mean."""
        weights = self._means()[0] + self.eta
        return normalize_rows(weights.astype(self.dtype))

    def doc_topics(self) -> Array:
        """θ (D, nodes): of a document, those of its path; uniform without tokens."""
        own = self._means()[1].astype(np.float64) + self.alpha
        theta = np.zeros((len(own), len(self.used())))
        np.put_along_axis(theta, self._places()[self.paths], own, axis=1)
        theta[self.lengths == 0] = 1.0
        return normalize_rows(theta).astype(self.dtype)

    def tree(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return parents (of the root −1), levels and documents of the nodes in use."""
        used = self.used()
        parents = self._places()[self.nodes.parent[used]].astype(np.int64)
        parents[used == 0] = -1
        levels = self.nodes.level[used].astype(np.int64)
        return parents, levels, self.nodes.documents[used]
