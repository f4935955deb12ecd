# SPDX-License-Identifier: BSD-3-Clause
"""Links between documents, and which documents are likely to be linked.

Two documents are linked with probability ``σ(Σ_k η_k z̄_dk z̄_ek + ν)``, z̄_d = N_d / n_d
(the relational topic model, Chang & Blei 2009). The objective gains w times the log
probability of the links; its derivative by a document's counts is the evidence

    δ_dk = (w / n_d) η_k Σ_{e linked to d} (1 − σ_de) z̄_ek

Documents on both ends of a link move at once, so half of the last pass's evidence is
kept. η and ν are a logistic regression of the links against pairs drawn at random, five
per link, in which the η_k are drawn to a common value: free coefficients would grow
with the agreement that they cause, until all documents are in one topic. Predictions
come from the same regression on ``√(θ_dk θ_ek)``. One end is made of words alone, as
new documents are. The other, a document of the fit, is the mean of its words' and its
fitted mixture, and then half that, half the mean of the documents that it is linked to
(``link_topics_``). On the corpora on which this was chosen, roots and neighbours each
ranked held-out citations better than products of shares did. A link that the regression
learns from is left out of its own end's neighbours.

Topics say what a document is about, words which of the documents about it are meant,
and links which of these are linked to at all (`LinkRule`). The log odds of a link from
d to e are ``s + a t_de + b u_d·u_e + c u_d·ū_e + f log(1 + n_e) + g Σ_j u_d·u_j`` with
t the log odds by topics, u rows of tf-idf, ū_e their mean over the n_e documents that e
is linked to, and j those of the twenty documents with words most like d's that are
linked to e: a logistic regression of the links against pairs drawn at random, in which
a link is left out of ū and n. Distinguishing links from random pairs is easier than
finding the best among candidates and relies more on topics. So words get three times
the weight, and the line is fitted again (chosen on the corpora of
benchmarks/results/sides_links.md).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from topicfold.core import saved
from topicfold.core.parameters import (
    NOT_NEGATIVE,
    POSITIVE,
    SHARE_BELOW_ONE,
    DeclaredParameters,
)
from topicfold.core.typing import Array
from topicfold.evidence.response import MOST_HALVINGS, SETTLED, Matrix, assignments_of
from topicfold.exceptions import DataError
from topicfold.parts.sides import Side
from topicfold.parts.steps import Context

# Pairs drawn at random for each link.
PAIRS_PER_LINK = 5
# A heavier link leaves nothing of the others, nor of the penalties.
LARGEST_WEIGHT = 1e6
# Documents that a held-out link is ranked among.
RIVALS = 200
# Penalty of the squares of coefficients, besides that of their differences.
RIDGE = 0.1
# Steps of a regression, and of one that goes on from the last pass.
NEWTON_STEPS, FEW_STEPS = 30, 2
# Smaller shares of topics do not count in a search.
SMALLEST_SHARE = 0.01
# Weight of a side without one, in mean lengths of a document.
USUAL_WEIGHT = 0.3
Numbers = NDArray[np.int64]
WORDS_COUNT = 3.0
# Documents whose links a document with much the same words may have.
ALIKE = 20
# Documents from which the regression looks at pairs, so that a large corpus is not
# searched for every document's likes.
MOST_ENDS = 10_000
# Candidates by topics, words and links each, for each suggestion asked for, and the
# fewest.
PER_SUGGESTION, FEWEST_CANDIDATES = 5, 100


@dataclass
class LinkData:
    """Checked links of some documents."""

    graph: sparse.csr_array  # (D, D): weights of links to learn from, symmetric
    # Links kept for `held_out_losses_`: a document none of whose links is learned from,
    # and any other.
    held_out: NDArray[np.int64]
    others: NDArray[np.int64]  # pairs drawn at random
    evidence: Matrix  # δ (D, K) of the last pass

    @property
    def ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Matrix]:
        """Both ends and the weight of each link, in both directions."""
        rows = np.repeat(np.arange(self.graph.shape[0]), np.diff(self.graph.indptr))
        return rows, self.graph.indices.astype(np.int64), self.graph.data


class Links(DeclaredParameters, Side):
    """Relational topics: mixtures that predict which documents are linked.

    Data
    ----
    links : array of shape (n_links, 2), sparse matrix or networkx graph
        Pairs of rows of X, with weights in a third column if you like; or a matrix
        (documents × documents). Links have no direction; a document need not have any.

    Parameters
    ----------
    weight : float or None, default=None
        w, how many words a link is worth. None is 0.3 times the mean number of words
        of a document; 0 is LDA.
    ridge : float, default=10.0
        Penalty on the squared differences of the coefficients from their mean.
    held_out : float, default=0.0
        Share of the documents whose links are hidden from the fit, for
        `held_out_losses_`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_topics,)
        η: how much a topic that two documents share raises the chance of a link.
    link_topics_ : ndarray of shape (n_documents, n_topics)
        Mixtures of the training documents as ends of links.
    std_errors_ : ndarray of shape (n_topics,)
        Standard errors, which take the topics as known.
    intercept_ : float
        ν, for links among all pairs of documents.
    weight_ : float
        w in use.
    pairs_ : ndarray of shape (n_links, 2)
        Documents of the fit that are linked, each pair once.
    n_links_ : int
        Links of the fit, without repeats and links of a document to itself.
    held_out_losses_ : ndarray
        For each held-out link, the share of 200 random documents that seem more likely
        to be linked, from the words of one end alone; 0.5 is guessing.
    held_out_score_ : float
        One minus their mean.

    References
    ----------
    J. Chang, D. Blei (2009). Relational topic models for document networks. AISTATS.

    Examples
    --------
    >>> from topicfold import LDA
    >>> from topicfold.evidence import Links
    >>> X = [[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]]
    >>> model = LDA(2, sides=[Links()], random_state=0)
    >>> model = model.fit(X, links=[[0, 1], [2, 3]])
    >>> theta = model.doc_topics_
    >>> near, far = model.sides_[0].predict(theta[[0, 0]], theta[[1, 2]])
    >>> bool(near > far)
    True
    """

    data = "links"
    hook = "evidence"
    _saved = saved.forms(
        coef_=saved.numbers("K"),
        std_errors_=saved.numbers("K"),
        intercept_=saved.number(),
        weight_=saved.number(),
        n_links_=saved.number(),
        link_topics_=saved.shares("DK"),
    )
    known_later = False
    needs_all_documents = True
    weight: Annotated[float | None, NOT_NEGATIVE]
    ridge: Annotated[float, POSITIVE]
    held_out: Annotated[float, SHARE_BELOW_ONE]

    # ---- data

    def __init__(
        self, *, weight: float | None = None, ridge: float = 10.0, held_out: float = 0.0
    ) -> None:
        self._store_parameters(locals())

    def check(self, data: Any, context: Context) -> LinkData:
        """Return the links, symmetric and without those that are held out."""
        if not context.fitting:
            raise DataError(
                "only fit accepts links: transform finds the mixtures of new documents "
                "from their words. To get links of new documents, use suggest_links."
            )
        size = context.n_documents
        graph = read_links(data, size)
        self.weight_ = (
            USUAL_WEIGHT * float(context.lengths.mean())
            if self.weight is None
            else float(self.weight)
        )
        largest = float(graph.data.max(initial=0.0))
        if largest > LARGEST_WEIGHT:
            raise DataError(
                f"the largest weight of links is {largest:g}. Give weights up to "
                f"{LARGEST_WEIGHT:g}; a link without a weight has 1."
            )
        edges = sparse.triu(graph).tocoo()
        self.pairs_ = np.stack([edges.row, edges.col], axis=1).astype(np.int64)
        self.n_links_ = graph.nnz // 2
        graph, held_out = self._parted(graph, context)
        others = context.rng.randint(size, size=(PAIRS_PER_LINK * graph.nnz // 2, 2))
        return LinkData(graph, held_out, others, np.zeros((size, context.n_topics)))

    def _parted(
        self, graph: sparse.csr_array, context: Context
    ) -> tuple[sparse.csr_array, NDArray[np.int64]]:
        """Take the links of some documents out; return the rest, and these."""
        linked = np.flatnonzero(np.diff(graph.indptr))
        n_hidden = round(self.held_out * len(linked))
        if not n_hidden:
            return graph, np.zeros((0, 2), np.int64)
        hidden = np.zeros(graph.shape[0], dtype=bool)
        hidden[context.rng.permutation(linked)[:n_hidden]] = True
        edges = graph.tocoo()
        out = hidden[edges.row] | hidden[edges.col]
        first = hidden[edges.row] & (~hidden[edges.col] | (edges.row < edges.col))
        kept = sparse.csr_array(
            (edges.data[~out], (edges.row[~out], edges.col[~out])), shape=graph.shape
        )
        pairs = np.stack([edges.row[first], edges.col[first]], axis=1)
        return kept, pairs.astype(np.int64)

    # ---- learning

    def carried(self, data: LinkData, context: Context) -> dict[str, tuple[int, ...]]:
        """Coefficients, and δ."""
        shapes = {"coef_": (context.n_topics,), "intercept_": ()}
        return {**shapes, "evidence": data.evidence.shape}

    def gather(
        self, counts: Array, data: LinkData, context: Context
    ) -> tuple[Any, ...]:
        """Return the coefficients of the documents' new assignments."""
        z = assignments_of(counts, context)
        rows, ends, _ = data.ends
        start: Matrix | None = None
        if context.iteration > 1:
            start = np.append(self.coef_, self.intercept_)
        return self._fitted(z[rows] * z[ends], z, z, data, start)

    def learn(self, sums: tuple[Any, ...], context: Context) -> None:
        """Take the coefficients."""
        self.coef_: Matrix = sums[0]
        self.intercept_: float = sums[1]

    def evidence(self, counts: Array, data: LinkData, context: Context) -> Array:
        """Return δ, half of it that of the last pass."""
        z = assignments_of(counts, context)
        rows, ends, weights = data.ends
        scores = np.einsum("ij,ij->i", z[rows] * self.coef_, z[ends])
        left = weights * expit(-(scores + self.intercept_))
        pull = sparse.csr_array(
            (left, data.graph.indices, data.graph.indptr), shape=data.graph.shape
        )
        rate = self.weight_ / np.maximum(context.lengths, 1.0)
        found = rate[:, None] * (pull @ z) * self.coef_
        found -= (found * z).sum(axis=1, keepdims=True)
        data.evidence += 0.5 * (found - data.evidence)
        return data.evidence

    def value(self, counts: Array, data: LinkData, context: Context) -> float:
        """Return ``w Σ log p(link)``."""
        if not hasattr(self, "coef_"):
            return 0.0
        z = assignments_of(counts, context)
        rows, ends, weights = data.ends
        scores = np.einsum("ij,ij->i", z[rows] * self.coef_, z[ends]) + self.intercept_
        return float(-self.weight_ * (weights @ np.logaddexp(0.0, -scores)) / 2)

    def fit_prediction(
        self, theta: Array, doc_topics: Array, data: LinkData, context: Context
    ) -> None:
        """Fit the coefficients that predict; see the module."""
        words, fitted = (np.asarray(a, dtype=np.float64) for a in (theta, doc_topics))
        rows, ends, weights = data.ends
        own = (words + fitted) / 2
        sums, degrees = data.graph @ own, data.graph.sum(axis=1)
        known = _with_neighbors(own, sums, degrees)
        self.link_topics_ = known.astype(doc_topics.dtype)
        # The other end of the link, without this link.
        sums, degrees = (
            sums[ends] - weights[:, None] * own[rows],
            degrees[ends] - weights,
        )
        others = _with_neighbors(own[ends], sums, degrees)
        words, known = np.sqrt(words), np.sqrt(known)
        found = self._fitted(words[rows] * np.sqrt(others), words, known, data)
        self.coef_, intercept, self.std_errors_ = found
        # The regression saw one link for five pairs.
        size = context.n_documents
        drawn, pairs = max(len(data.others), 1), max(size * (size - 1) / 2, 1.0)
        self.intercept_ = intercept + float(np.log(drawn / pairs))
        if len(data.held_out):
            self._rank_held_out(words, known, data, context)

    def _fitted(
        self,
        of_links: Matrix,
        one: Matrix,
        other: Matrix,
        data: LinkData,
        start: Matrix | None = None,
    ) -> tuple[Matrix, float, Matrix]:
        """Return η, ν and the standard errors of η: links against drawn pairs.

        From a `start`, a few steps will do.
        """
        drawn, weights = data.others, data.graph.data
        of_pairs = one[drawn[:, 0]] * other[drawn[:, 1]]
        features = np.vstack([of_links, of_pairs])
        linked = np.r_[np.ones(len(of_links)), np.zeros(len(drawn))]
        # Links are there in both directions.
        masses = np.r_[weights / 2, np.ones(len(drawn))]
        size = features.shape[1]
        penalty = np.zeros((size + 1, size + 1))
        penalty[:-1, :-1] = (RIDGE + self.ridge) * np.eye(size) - self.ridge / size
        penalty[-1, -1] = 1e-6
        coef, information = _logistic(features, linked, masses, penalty, start)
        errors = np.sqrt(np.diag(np.linalg.inv(information))[:-1])
        return coef[:-1], float(coef[-1]), errors

    def _rank_held_out(
        self, words: Matrix, known: Matrix, data: LinkData, context: Context
    ) -> None:
        query = words[data.held_out[:, 0]] * self.coef_
        scores = np.einsum("ij,ij->i", query, known[data.held_out[:, 1]])
        rivals = known[context.rng.randint(len(known), size=RIVALS)] @ query.T
        above = (rivals > scores).mean(axis=0) + 0.5 * (rivals == scores).mean(axis=0)
        self.held_out_losses_ = above
        self.held_out_score_ = 1.0 - float(above.mean())

    # ---- predicting

    def predict(self, one: Array, other: Array) -> Matrix:
        """Return the probability of a link between mixtures, row by row."""
        products = np.asarray(one, np.float64) * np.asarray(other, np.float64)
        return np.asarray(expit(np.sqrt(products) @ self.coef_ + self.intercept_))

    def suggest(
        self, theta: Array, n: int, *, exclude_self: bool = False, threads: int = 1
    ) -> tuple[NDArray[np.int64], Matrix]:
        """Return the documents of the fit that are most likely linked to others.

        Inverted lists of topics bound the scores, so that most pairs are never
        compared. Shares below 1 % and topics with negative coefficients are ignored in
        the search; the probabilities of the results are exact.
        """
        from topicfold.graph.inverted_lists import InvertedLists

        known = InvertedLists(_sparse_roots(self.link_topics_), take_min=False)
        queries = _sparse_roots(theta) * np.maximum(self.coef_, 0.0)
        n = min(n, len(self.link_topics_) - exclude_self)
        found, _ = known.search(sparse.csr_array(queries), n, exclude_self, threads)
        pairs = np.repeat(np.arange(len(theta)), found.shape[1]), found.ravel()
        chances = self.predict(theta[pairs[0]], self.link_topics_[pairs[1]])
        chances = np.where(found >= 0, chances.reshape(found.shape), 0.0)
        order = np.argsort(-chances, axis=1, kind="stable")
        return np.take_along_axis(found, order, 1), np.take_along_axis(
            chances, order, 1
        )

    def _sizes(self, sizes: Mapping[str, int]) -> dict[str, int]:
        return {**sizes, "D": len(self.link_topics_)}

    def _check_fitted(self, sizes: Mapping[str, int]) -> None:
        super()._check_fitted(sizes)
        pairs, size = self.pairs_, len(self.link_topics_)
        if (
            not isinstance(pairs, np.ndarray)
            or pairs.dtype.kind not in "iu"
            or pairs.shape[1:] != (2,)
            or not ((pairs >= 0) & (pairs < size)).all()
        ):
            raise ValueError(f"pairs_ of links are not pairs of {size} documents")


def _with_neighbors(own: Matrix, sums: Matrix, degrees: Matrix) -> Matrix:
    """Return half of each row and half the mean of its neighbours, if it has any."""
    joined = (degrees > 1e-9)[:, None]
    means = np.maximum(sums, 0.0) / np.where(joined, degrees[:, None], 1.0)
    return np.where(joined, (own + means) / 2, own)


def _sparse_roots(theta: Array) -> sparse.csr_array:
    """Return the square roots of shares that count in a search."""
    rows = np.asarray(theta, dtype=np.float64)
    return sparse.csr_array(np.where(rows >= SMALLEST_SHARE, np.sqrt(rows), 0.0))


def _logistic(
    features: Matrix,
    targets: Matrix,
    masses: Matrix,
    penalty: Matrix,
    start: Matrix | None = None,
) -> tuple[Matrix, Matrix]:
    """Return coefficients, the intercept last, and the information, by Newton's steps.

    A step is halved while the penalised likelihood falls.
    """
    rows = np.hstack([features, np.ones((len(features), 1))])
    signs = 2.0 * targets - 1.0

    def value(coef: Matrix) -> float:
        fits = -(masses @ np.logaddexp(0.0, -signs * (rows @ coef)))
        return float(fits - 0.5 * coef @ penalty @ coef)

    coef = np.zeros(rows.shape[1]) if start is None else start
    reached, information = value(coef), penalty
    for _ in range(NEWTON_STEPS if start is None else FEW_STEPS):
        p = expit(rows @ coef)
        information = (rows.T * (masses * p * (1 - p))) @ rows + penalty
        gradient = rows.T @ (masses * (targets - p)) - penalty @ coef
        step = np.linalg.solve(information, gradient)
        for _ in range(MOST_HALVINGS):
            new = value(coef + step)
            if new >= reached:
                break
            step = step / 2
        coef, reached = coef + step, new
        if np.abs(step).max() <= SETTLED:
            break
    return coef, information


def read_links(data: Any, n_documents: int) -> sparse.csr_array:
    """Return links as a symmetric matrix; say what is wrong, and log what is dropped.

    Links that were read before are read again silently.
    """
    # The package of graphs is large, and only links need it.
    from topicfold.graph.build import check_graph

    _check_whole(data)
    _check_ends(data, n_documents)
    try:
        return check_graph(data, n_documents, edges="links")
    except DataError as error:
        told = re.sub(r"(?<!networkx )\bgraph\b", "links", str(error))
        raise DataError(told) from error


def _check_whole(data: Any) -> None:
    """Refuse links that cross-validation hands on to a part of the documents.

    They are pairs of rows, and a part of X has other rows. Pairs come as they were, a
    matrix with some of its rows; either is among the parameters of the fit there.
    """
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") == "sklearn.model_selection._validation":
            given = frame.f_locals.get("fit_params") or {}
            if any(value is data for value in given.values()):
                raise DataError(
                    "links cannot be cross-validated: they are pairs of rows of X, and "
                    "the rows have other numbers in a part of X. Hold documents out "
                    "yourself and renumber the links between the others, or use "
                    "Links(held_out=0.2)."
                )
        frame = frame.f_back  # type: ignore[assignment]


def _check_ends(data: Any, n_documents: int) -> None:
    """Refuse pairs with a document that is not there, and name the first."""
    if not isinstance(data, list | tuple | np.ndarray):
        return
    pairs = np.asarray(data)
    square = pairs.shape == (n_documents, n_documents)
    if square or pairs.ndim != 2 or pairs.shape[1] not in (2, 3):
        return
    if pairs.dtype.kind not in "iuf":
        return
    ends = pairs[:, :2]
    wrong = np.argwhere(~((ends >= 0) & (ends < n_documents)))
    if len(wrong):
        row, side = wrong[0]
        raise DataError(
            f"link {row} names document {ends[row, side]:g}, but X has {n_documents} "
            f"documents, numbered from 0 to {n_documents - 1}. Leave the link out, or "
            "give the document's row in X."
        )


def graph_of(side: Links) -> sparse.csr_matrix:
    """Return the links of a fit as a symmetric matrix of ones."""
    size = len(side.link_topics_)
    first, second = side.pairs_.T
    ends = np.r_[first, second], np.r_[second, first]
    return sparse.csr_matrix((np.ones(len(ends[0])), ends), shape=(size, size))


def around(words: sparse.csr_matrix, graph: sparse.csr_matrix) -> sparse.csr_array:
    """Return the mean row of each document's neighbours; zeros without any."""
    degrees = np.maximum(np.asarray(graph.sum(axis=1)).ravel(), 1.0)
    return sparse.csr_array(sparse.diags_array(1.0 / degrees) @ graph @ words)


class LinkRule:
    """What topics, words and known links say of a link: s, a, b, c, f and g.

    `words` are those of the training documents. Without `coef` it is learned from
    `theta`, the mixtures of the training documents' words, and `doc_topics`, those of
    the fit.
    """

    def __init__(
        self,
        side: Links,
        words: sparse.csr_matrix,
        coef: NDArray[np.float64] | None = None,
        *,
        threads: int = 1,
    ) -> None:
        self.side, self.words, self.threads = side, words, threads
        self.graph = graph_of(side)
        self.degrees = np.diff(self.graph.indptr)
        if coef is not None:
            self.coef = coef
            own, near = coef[2:4]
            self.ends = own * words + near * around(words, self.graph)

    def learn(self, theta: Array, doc_topics: Array, rng: Any) -> NDArray[np.float64]:
        """Return the six numbers, learned from the links of the fit."""
        words, graph, degrees = self.words, self.graph, self.degrees
        first, second = graph.nonzero()
        size = len(degrees)
        drawn = rng.randint(size, size=(PAIRS_PER_LINK * len(first), 2))
        pairs = max(size * (size - 1) / 2, 1.0)
        share = max(len(drawn), 1) / pairs
        asked = np.arange(size)
        if size > MOST_ENDS:
            asked = np.sort(rng.permutation(size)[:MOST_ENDS])
            here = np.isin(first, asked)
            first, second = first[here], second[here]
            drawn = drawn[np.isin(drawn[:, 0], asked)]
        likes = self.likes(words[asked], asked)
        place = np.zeros(size, dtype=np.int64)
        place[asked] = np.arange(len(asked))
        sums = sparse.csr_array(graph @ words)
        mixed = (
            np.asarray(theta, np.float64) + doc_topics
        ) / 2  # as `Links.fit_prediction` does
        topic_sums = graph @ mixed

        def features(one: Any, other: Any, linked: bool) -> Matrix:
            own = _products(words, words, one, other)
            total = _products(words, sums, one, other)
            norms = _products(words, words, one, one)
            left = degrees[other] - float(linked)
            near = (total - norms * linked) / np.maximum(left, 1.0)
            around = (topic_sums[other] - mixed[one] * linked) / np.maximum(left, 1.0)[
                :, None
            ]
            ends = (mixed[other] + np.maximum(around, 0.0)) / 2
            ends = np.where(left[:, None] > 0, ends, mixed[other])
            topics = _topic_odds(self.side, theta[one], ends)
            near = np.where(left > 0, near, 0.0)
            votes = self.votes(likes, place[one], other)
            return np.stack([topics, own, near, np.log1p(left), votes], axis=1)

        rows = np.vstack(
            [features(first, second, True), features(drawn[:, 0], drawn[:, 1], False)]
        )
        linked = np.arange(len(rows)) < len(first)
        # Links are there in both directions.
        masses = np.where(linked, 0.5, 1.0)
        regression = LogisticRegression(C=1e3, max_iter=500)
        found = np.maximum(regression.fit(rows, linked, masses).coef_[0], 0.0)
        found *= [1.0, WORDS_COUNT, WORDS_COUNT, 1.0, 1.0]
        line = LogisticRegression(C=1e3).fit((rows @ found)[:, None], linked, masses)
        start = float(line.intercept_[0]) + float(np.log(share))
        return np.append(start, max(float(line.coef_[0, 0]), 0.0) * found)

    def likes(self, query: Any, own: Numbers | None = None) -> tuple[Numbers, Matrix]:
        """Return the documents with words most like a query's (-1: none), and cosines.

        `own` are the numbers of the rows if they are documents of the fit: none is
        like itself.
        """
        from topicfold.graph.inverted_lists import InvertedLists

        lists = InvertedLists(_doubles(self.words), take_min=False)
        n_best = min(ALIKE + (own is not None), self.words.shape[0])
        found, cosines = lists.search(_doubles(query), n_best, False, self.threads)
        if own is not None:
            cosines = np.where(found == own[:, None], 0.0, cosines)
        order = np.argsort(-cosines, axis=1, kind="stable")[:, :ALIKE]
        found = np.take_along_axis(found, order, axis=1)
        cosines = np.take_along_axis(cosines, order, axis=1)
        return np.where(cosines > 0, found, -1), cosines

    def votes(self, likes: tuple[Numbers, Matrix], rows: Any, documents: Any) -> Matrix:
        """Return the sum of cosines of a row's likes that are linked to a document."""
        found, cosines = (part[rows] for part in likes)
        if not found.size:
            return np.zeros(len(found))
        others = np.repeat(np.asarray(documents), found.shape[1])
        linked = np.asarray(self.graph[np.maximum(found, 0).ravel(), others])
        return np.asarray((linked.reshape(found.shape) * cosines).sum(axis=1))

    def log_odds(
        self,
        query: Any,
        theta: Array,
        likes: tuple[Numbers, Matrix],
        rows: Any,
        documents: Any,
    ) -> Matrix:
        """Return log odds of links between rows of a query and documents of the fit."""
        start, by_topics, _, _, by_degree, by_votes = self.coef
        topics = _topic_odds(self.side, theta[rows], self.side.link_topics_[documents])
        odds = start + by_topics * topics + _products(query, self.ends, rows, documents)
        odds += by_degree * np.log1p(self.degrees[documents])
        return np.asarray(odds + by_votes * self.votes(likes, rows, documents))

    def suggest(
        self, query: sparse.csr_matrix, theta: Array, n: int, *, exclude_self: bool
    ) -> tuple[Numbers, Matrix]:
        """Return the likeliest documents of the fit and their log odds, best first.

        Candidates are the best by topics, by words, by the links of likes, and those
        with most links.
        """
        from topicfold.graph.inverted_lists import InvertedLists

        size = self.words.shape[0] - exclude_self
        n_best = min(max(PER_SUGGESTION * n, FEWEST_CANDIDATES), size)
        options: dict[str, Any] = {
            "exclude_self": exclude_self,
            "threads": self.threads,
        }
        by_topics, _ = self.side.suggest(theta, n_best, **options)
        lists = InvertedLists(_doubles(self.ends), take_min=False)
        rows = _doubles(query)
        by_words, _ = lists.search(rows, n_best, exclude_self, self.threads)
        likes = self.likes(rows, np.arange(len(theta)) if exclude_self else None)
        popular = np.argsort(-self.degrees, kind="stable")[:n_best]
        documents = np.full((len(theta), min(n, size)), -1, dtype=np.int64)
        odds = np.full(documents.shape, -np.inf)
        for row in range(len(theta)):
            by_links = self._linked_to(likes[0][row], likes[1][row], n_best)
            parts = by_topics[row], by_words[row], by_links, popular
            found = np.unique(np.concatenate(parts))
            found = found[(found >= 0) & ~((found == row) & exclude_self)]
            one = np.full(len(found), row)
            scores = self.log_odds(rows, theta, likes, one, found)
            best = np.argsort(-scores, kind="stable")[: documents.shape[1]]
            documents[row, : len(best)] = found[best]
            odds[row, : len(best)] = scores[best]
        return documents, odds

    def _linked_to(self, likes: Numbers, cosines: Matrix, n_best: int) -> Numbers:
        """Return the documents with the most votes of some documents."""
        row = sparse.csr_matrix(
            (cosines, (np.zeros(len(likes), int), np.maximum(likes, 0))),
            shape=(1, len(self.degrees)),
        )
        votes = sparse.csr_matrix(row @ self.graph)
        best = np.argsort(-votes.data, kind="stable")[:n_best]
        return votes.indices[best].astype(np.int64)


def _topic_odds(side: Links, one: Array, other: Array) -> Matrix:
    products = np.asarray(one, np.float64) * np.asarray(other, np.float64)
    return np.asarray(np.sqrt(products) @ side.coef_ + side.intercept_)


def _products(one: Any, other: Any, rows: Any, columns: Any) -> Matrix:
    found = sparse.csr_array(one)[rows].multiply(sparse.csr_array(other)[columns])
    return np.asarray(found.sum(axis=1), dtype=np.float64).ravel()


def _doubles(rows: Any) -> sparse.csr_array:
    return sparse.csr_array(rows).astype(np.float64)
