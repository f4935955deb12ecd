# SPDX-License-Identifier: BSD-3-Clause
"""A tree of topics: topics within topics by LDA, or hierarchical LDA by a chain."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from topicfold.core import saved
from topicfold.core.counts import column_sums, normalize_rows, row_sums
from topicfold.core.parameters import warn_caller, whole
from topicfold.core.side_table import SideTable
from topicfold.core.threads import n_threads, run_balanced
from topicfold.core.typing import Array
from topicfold.engine.protocol import ranges_of
from topicfold.exceptions import DataError
from topicfold.learn import Callback
from topicfold.learn.loop import part_of_more, quiet
from topicfold.models.base import PRIOR, LearnedModel
from topicfold.models.lda import ALPHA_SUM, FEW_TOPICS, LDA

# Documents per leaf, at least on average.
LEAF_DOCUMENTS = 10
# η and, by chain, α of levels.
TOPIC_PRIOR = {"recursive": 0.01, "crp": 0.1}
LEVEL_PRIOR = 5.0
# Of the nodes' shares in a document.
LEAST_ALPHA = 1e-3
# Entries of a corpus whose tokens are drawn at a time.
DRAWN_AT_ONCE = 1 << 15
# Dimensions in which the documents are clustered at the start of a chain.
START_DIMENSIONS = 50
# Of `n_components`: so many leaves at the start of a chain.
START_SHARE = 2


class TopicTree(LearnedModel):
    """Topics in a tree, from general to special.

    The root's topic has the words that all documents share, its children have the
    subjects, their children the subjects within these. There are two algorithms.
    ``"recursive"``: LDA finds the topics of the corpus; the tokens of each are a corpus
    of their own, whose topics LDA finds, and so on. What the children of a node share,
    the geometric mean of their topics, becomes the topic of the node. ``"crp"``:
    hierarchical LDA. All words of a document come from one path from the root to a
    leaf, drawn by the nested Chinese restaurant process, in a chain over paths and
    levels that starts from nested clusters of documents. On eight real corpora,
    the words of ``"recursive"`` are more coherent and predict better, and it takes a
    tenth of the time (``benchmarks/results/open_numbers.md``).

    Parameters
    ----------
    n_components : int, default=100
        Maximum number of nodes of the tree; it may have a root and two children, or
        with ``"crp"`` one path, in any case. ``"recursive"``: with three levels, 13
        nodes are a root, 3 children and 9 leaves. There are fewer nodes, and perhaps
        levels, if there are not ten documents per leaf. ``"crp"``: the number is found;
        there is a warning if it is the maximum.
    depth : int, default=3
        Most topics on a path, the root's included.
    algorithm : {"recursive", "crp"}, default="recursive"
        How the tree is found.
    level_prior : float or None, default=None
        ``"crp"`` alone: α of a document's Dirichlet distribution over the levels of its
        path. If it is small, a document has all its words on one level, and the levels
        mean little. None is 5.
    topic_word_prior : float or None, default=None
        η of the topics. None is 0.01, with ``"crp"`` 0.1.
    max_iter : int, default=150
        ``"recursive"``: maximum number of passes of each LDA. ``"crp"``: sweeps over
        all documents; in the last quarter the paths are fixed, and the topics are the
        mean over the draws of levels.

    Attributes
    ----------
    components_ : ndarray of shape (n_topics_, n_features_in_)
        Topics of the nodes: a node before its children, siblings by decreasing number
        of documents; rows on the simplex.
    doc_topics_ : ndarray of shape (n_documents, n_topics_)
        Mixtures over the nodes. With ``"crp"``, zero outside of a document's path.
    n_topics_ : int
        Number of nodes.
    parents_, levels_, node_documents_ : ndarray of shape (n_topics_,)
        Parent of each node (-1 for the root), its level (0 for the root), and how many
        training documents pass through it: from a node to the child that has the
        largest share of the document, its descendants included.
    doc_topic_prior_ : ndarray of shape (n_topics_,)
        ``"recursive"``: α of new documents, by the nodes' shares of the tokens.
    branching_ : float
        ``"crp"``: γ of the nested Chinese restaurant process at the end of the chain.
    n_topics_history_ : list of int
        Nodes after each iteration.
    n_samples_ : int
        ``"crp"``: samples kept, with the paths of documents as they are after the
        burn-in.
    objective_history_ : list of float
        ``"recursive"``: log-likelihood of the tokens given their nodes after each split
        of a node; never falls. ``"crp"``: log P(words, levels, paths), which is not
        monotone, as of any chain.
    converged_ : bool
        Always False with ``"crp"``: a chain does not converge.

    Notes
    -----
    New documents are inferred without random numbers: with ``"recursive"`` as by LDA,
    whose topics are all nodes. With ``"crp"`` the weights of the levels of every path
    are found by EM, and the mixture is the mean over paths, weighted by their
    probability.

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
    algorithm: Annotated[str, StrOptions(set(TOPIC_PRIOR))]
    level_prior: Annotated[float | None, PRIOR]
    topic_word_prior: Annotated[float | None, PRIOR]

    def __init__(
        self,
        n_components: int = 100,
        *,
        depth: int = 3,
        algorithm: str = "recursive",
        level_prior: float | None = None,
        topic_word_prior: float | None = None,
        max_iter: int = 150,
        random_state: Any = None,
        n_jobs: int | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: bool = False,
    ) -> None:
        self._store_parameters(locals())

    def _fit_counts(self, X: Any, y: Any) -> None:
        if self.level_prior is not None and self.algorithm != "crp":
            raise DataError(
                "level_prior is α of the levels of a path, which only "
                "algorithm='crp' has. Leave it out, or choose that algorithm."
            )
        self._store_corpus(X)
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))
        if self.algorithm == "crp":
            self._keep(*self._chain(X))
            return
        self._keep(*self._splits(X))
        self.doc_topics_ = self._mixtures(X)  # again: in this order, to the last bit

    def _eta(self) -> float:
        given = self.topic_word_prior
        return TOPIC_PRIOR[self.algorithm] if given is None else float(given)

    def _splits(self, X: Any) -> tuple[NDArray[np.int64], ...]:
        """Split nodes by LDA; return parents, levels and documents of the nodes."""
        splits = Splits(
            X,
            level_sizes(max(self.n_components, 3), self.depth, X.shape[0]),
            LDA(2, max_iter=self.max_iter, n_jobs=self.n_jobs),
            eta=self._eta(),
            seed=self.seed_,
        )
        self._learn(splits, tol=0.0, max_iter=max(self.n_components, 3))
        self.n_topics_history_ = splits.n_topics_history
        self.doc_topic_prior_ = splits.alpha()
        self.doc_topics_ = self._mixtures(X)
        parents, levels = np.array(splits.parents), np.array(splits.levels)
        used = self.doc_topics_[np.diff(X.indptr) > 0]
        return parents, levels, documents_of_nodes(used, parents)

    def _chain(self, X: Any) -> tuple[NDArray[np.int64], ...]:
        """Run the chain; return parents, levels and documents of the nodes."""
        from topicfold.gibbs.tree import NestedCrp

        most = max(self.n_components, self.depth)
        sampler = NestedCrp(
            X,
            first_groups(X, self.depth, most, self.seed_),
            n_nodes=most,
            alpha=LEVEL_PRIOR if self.level_prior is None else float(self.level_prior),
            eta=self._eta(),
            burn_in=3 * self.max_iter // 4,
            seed=self.seed_,
        )
        self._learn(sampler, tol=-math.inf)
        self.n_samples_ = sampler.n_samples
        self.branching_ = sampler.gamma
        self.n_topics_history_ = sampler.n_topics_history
        if self.n_topics_history_[-1] == most > self.depth:
            warn_caller(
                f"the tree has {most} nodes, as many as it may have, and might have "
                "more. Give a larger n_components, or use algorithm='recursive', whose "
                "number of nodes is given."
            )
        return sampler.tree()

    def _keep(
        self,
        parents: NDArray[np.int64],
        levels: NDArray[np.int64],
        documents: NDArray[np.int64],
    ) -> None:
        """Store the nodes in the order of the tree."""
        order = _depth_first(parents, documents)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        self.parents_ = np.where(parents < 0, -1, place[parents])[order]
        self.levels_, self.node_documents_ = levels[order], documents[order]
        self.components_ = np.ascontiguousarray(self.components_[order])
        self.doc_topics_ = np.ascontiguousarray(self.doc_topics_[:, order])
        if self.algorithm != "crp":
            self.doc_topic_prior_ = self.doc_topic_prior_[order]
        self.n_topics_ = len(order)

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
        if self.algorithm != "crp" and not hasattr(self, "doc_topic_prior_"):
            raise ValueError("it lacks doc_topic_prior_")

    def paths(self) -> NDArray[np.int64]:
        """Return the nodes of every path (n_leaves, depth), from the root to a leaf.

        A leaf above the last level is repeated.
        """
        check_is_fitted(self, "components_")
        inner = np.isin(np.arange(len(self.parents_)), self.parents_)
        node = np.flatnonzero(~inner)
        found = [node]
        for level in range(int(self.levels_.max()) - 1, -1, -1):
            node = np.where(self.levels_[node] > level, self.parents_[node], node)
            found.insert(0, node)
        return np.stack(found, axis=1).astype(np.int64)

    def _fold_in_options(self) -> dict[str, Any]:
        return {"prior": self.doc_topic_prior_, "n_jobs": self.n_jobs}

    def _mixtures(self, X: Any, known: Any = None) -> Array:
        if self.algorithm != "crp":
            return super()._mixtures(X)
        from topicfold.gibbs.tree_kernels import fold_in_paths

        paths = self.paths()
        share = self.node_documents_[paths[:, -1]] + 1.0
        phi = np.ascontiguousarray(self.components_.T, dtype=np.float64)
        theta = np.zeros((X.shape[0], len(self.components_)))
        rows = X.indptr, X.indices, X.data
        alpha = LEVEL_PRIOR if self.level_prior is None else float(self.level_prior)
        fixed = paths, np.log(share / share.sum()), alpha, theta
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
            "root to a leaf."
            if self.algorithm == "crp"
            else "The topic of a node has the words that its children share. A "
            "document counts for the child that has the largest share of it.",
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


class Splits:
    """A tree whose nodes are split one by one, for :func:`topicfold.learn.run_em`.

    `sizes` are the numbers of nodes on the levels below the root. A node gets as many
    children as its share of the tokens on its level is of the next level's nodes. `lda`
    finds the topics of a node's tokens; then each token is drawn to one of the children
    or stays with the node, by what they share. So the corpora of a level have no more
    tokens together than the whole, and a split takes time in proportion to a node's.
    """

    def __init__(
        self, X: Any, sizes: Sequence[int], lda: LDA, *, eta: float, seed: int
    ) -> None:
        self.dtype, self.shape = X.dtype, X.shape
        self.sizes, self.lda, self.eta, self.seed = sizes, lda, eta, seed
        self.parents, self.levels = [-1], [0]
        #: Tokens of the nodes: of all below until a node is split, of its own then.
        self.counts = [X]
        self.n_topics_history: list[int] = []

    def start(self) -> float:
        """Return the log-likelihood of the root."""
        self.values = [_log_likelihood(self.counts[0])]
        self.todo = self._to_split()
        self.following = next(self.todo, None)
        return self.values[0]

    def moved(self) -> float:
        """Return 0 once there is no node to split, until then infinity."""
        return 0.0 if self.following is None else math.inf

    def iterate(self) -> float:
        """Split the next node; return the log-likelihood given the nodes."""
        if self.following is not None:
            node, n_children = self.following
            own, *others = self._parts(node, n_children)
            self.counts[node], self.values[node] = own, _log_likelihood(own)
            for part in others:
                self.parents.append(node)
                self.levels.append(self.levels[node] + 1)
                self.counts.append(part)
                self.values.append(_log_likelihood(part))
            self.following = next(self.todo, None)
        self.n_topics_history.append(len(self.counts))
        return math.fsum(self.values)

    def _to_split(self) -> Iterator[tuple[int, int]]:
        """Yield nodes with their numbers of children, level by level."""
        for level, size in enumerate(self.sizes):
            nodes = [n for n, own in enumerate(self.levels) if own == level]
            tokens = np.array([float(self.counts[n].sum()) for n in nodes])
            for node, share in zip(nodes, allotted(tokens, size), strict=True):
                documents = int(np.count_nonzero(np.diff(self.counts[node].indptr)))
                number = min(share, documents // LEAF_DOCUMENTS)
                if number > 1:
                    yield node, number

    def _parts(self, node: int, n_children: int) -> list[sparse.csr_matrix]:
        """Return the tokens that stay with a node, and those of its children."""
        X = self.counts[node]
        used = np.flatnonzero(np.diff(X.indptr))
        some, seed = X[used], (self.seed + node) % 2**31
        self.lda.set_params(n_components=n_children, random_state=seed)
        with quiet(), part_of_more():
            self.lda.fit(some)
        phi = self.lda.components_.astype(np.float64)
        theta = self.lda.doc_topics_.astype(np.float64)
        shares = theta.T @ row_sums(some)
        shared = shared_words(phi, shares / shares.sum())
        rng = np.random.default_rng((self.seed, node))
        entries: list[list[NDArray[Any]]] = [[] for _ in range(n_children + 1)]
        rows = np.repeat(used, np.diff(some.indptr))
        at = np.repeat(np.arange(len(used)), np.diff(some.indptr))
        for now in ranges_of(some.nnz, DRAWN_AT_ONCE):
            words = some.indices[now]
            weights = theta[at[now]] * phi[:, words].T
            stay = weights * shared[:, words].T
            weights -= stay
            chances = np.column_stack([stay.sum(axis=1), weights])
            chances /= chances.sum(axis=1, keepdims=True)
            drawn = rng.multinomial(some.data[now].astype(np.int64), chances)
            for part, number in zip(entries, drawn.T, strict=True):
                there = np.flatnonzero(number)
                part.append(np.stack([rows[now][there], words[there], number[there]]))
        found = [np.concatenate(part, axis=1) for part in entries]
        return [
            sparse.csr_matrix((n.astype(self.dtype), (d, w)), self.shape)
            for number, (d, w, n) in enumerate(found)
            if number == 0 or n.size
        ]

    def _tokens(self) -> NDArray[np.float64]:
        """Return the tokens of the nodes by word (nodes, V)."""
        return np.stack([column_sums(X) for X in self.counts])

    def topics(self) -> Array:
        """φ (nodes, V)."""
        return normalize_rows((self._tokens() + self.eta).astype(self.dtype))

    def alpha(self) -> NDArray[np.float64]:
        """Return α of the nodes: as large as LDA's in all, by the nodes' tokens."""
        tokens = self._tokens().sum(axis=1)
        total = ALPHA_SUM * max(1.0, len(tokens) / FEW_TOPICS) ** 0.5
        return np.maximum(total * tokens / tokens.sum(), LEAST_ALPHA)

    def doc_topics(self) -> Array:
        """θ (D, nodes) of the tokens as they were drawn."""
        theta = np.stack([row_sums(X) for X in self.counts], axis=1) + self.alpha()
        return normalize_rows(theta).astype(self.dtype)


def level_sizes(most: int, depth: int, n_documents: int) -> list[int]:
    """Return the numbers of nodes on the levels below the root.

    Each node has the same number of children, but for rounding; there are fewer levels
    where that would be fewer than two.

    Examples
    --------
    >>> level_sizes(13, 3, 1000), level_sizes(100, 3, 1000), level_sizes(5, 3, 1000)
    ([3, 9], [9, 89], [4])
    """
    for levels in range(depth - 1, 0, -1):
        low, high = 0.0, float(most)
        for _ in range(60):  # by halves: how many children for so many nodes
            middle = (low + high) / 2
            nodes = sum(middle**level for level in range(levels + 1))
            leaves = middle**levels
            if nodes <= most and leaves <= n_documents / LEAF_DOCUMENTS:
                low = middle
            else:
                high = middle
        sizes = [round(low**level) for level in range(1, levels)]
        leaves = min(low**levels + 1e-9, most - 1 - sum(sizes))
        if low > 2 - 1e-9:
            return [*sizes, int(leaves)]
    return []


def allotted(tokens: NDArray[np.float64], size: int) -> list[int]:
    """Return whole numbers in proportion to some tokens that have a given sum.

    Examples
    --------
    >>> allotted(np.array([50.0, 30.0, 20.0]), 9)
    [4, 3, 2]
    """
    exact = size * tokens / max(tokens.sum(), 1.0)
    numbers = np.floor(exact).astype(int)
    left = np.argsort(numbers - exact, kind="stable")[: size - numbers.sum()]
    numbers[left] += 1
    return [int(number) for number in numbers]


def shared_words(
    topics: NDArray[np.float64], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the part of each topic's words (K, V) that all topics share.

    What they share is their geometric mean, weighted by their sizes.

    Examples
    --------
    >>> topics = np.array([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]])
    >>> shared_words(topics, np.array([0.5, 0.5])).round(3).tolist()
    [[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    tiny = np.finfo(np.float64).tiny
    logs = np.log(np.maximum(topics, tiny))
    common = np.exp((shares[:, None] * logs).sum(axis=0))
    return np.minimum(common / np.maximum(topics, tiny), 1.0)


def documents_of_nodes(theta: Array, parents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many documents pass through each node, children after parents.

    A document goes from a node to the child that has the largest share of it, what is
    below that child included.

    Examples
    --------
    >>> theta = np.array([[0.5, 0.2, 0.3], [0.1, 0.5, 0.4]])
    >>> documents_of_nodes(theta, np.array([-1, 0, 0])).tolist()
    [2, 1, 1]
    """
    below = theta.astype(np.float64)
    for node in range(len(parents) - 1, 0, -1):
        below[:, parents[node]] += below[:, node]
    own = {0: np.arange(len(theta))}
    for node in range(len(parents)):
        children = np.flatnonzero(parents == node)
        if len(children):
            most = below[np.ix_(own[node], children)].argmax(axis=1)
            own |= {int(c): own[node][most == i] for i, c in enumerate(children)}
    return np.array([len(own[node]) for node in range(len(parents))])


def _log_likelihood(counts: sparse.csr_matrix) -> float:
    """Return Σ_w N_w log(N_w / N)."""
    words = column_sums(counts)
    words = words[words > 0]
    return float((words * np.log(words / words.sum())).sum()) if len(words) else 0.0


def first_groups(
    X: sparse.csr_matrix, depth: int, most: int, seed: int
) -> NDArray[np.int64]:
    """Return the groups (depth − 1, D) of the documents at the start.

    k-means of the documents in the space of their first singular vectors makes the
    leaves, Ward's clusters of these the levels above.
    """
    n_documents, n_terms = X.shape
    leaves = max(1, min(most // START_SHARE, n_documents // LEAF_DOCUMENTS))
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
