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

from topicfold.core import saved
from topicfold.core.parameters import (
    NOT_NEGATIVE,
    POSITIVE,
    SHARE_BELOW_ONE,
    DeclaredParameters,
)
from topicfold.core.typing import Array
from topicfold.evidence.linear import MOST_HALVINGS, SETTLED, Matrix
from topicfold.evidence.response import assignments_of
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


@dataclass
class LinkData:
    """Checked links of some documents."""

    graph: sparse.csr_array  # (D, D): weights of links to learn from, symmetric
    # Links kept for `held_out_ranks_`: a document none of whose links is learned from,
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
        `held_out_ranks_`.

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
    held_out_ranks_ : ndarray
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
        self.held_out_ranks_ = above
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
