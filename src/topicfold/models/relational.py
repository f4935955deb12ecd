# SPDX-License-Identifier: BSD-3-Clause
"""Relational LDA: topics that predict which documents are linked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.utils import check_random_state

from topicfold.core import saved
from topicfold.core.counts import already_warned, smooth_idf
from topicfold.core.parameters import whole_number
from topicfold.core.threads import n_threads
from topicfold.core.typing import Array
from topicfold.evidence.links import LinkRule, Links, read_links
from topicfold.evidence.words import word_weights
from topicfold.exceptions import DataError
from topicfold.learn import Callback
from topicfold.models.lda import SidedLDA
from topicfold.models.sided import of_side
from topicfold.models.supervised import choose_weight
from topicfold.parts.sides import Side

# Weights that `fit` tries, in mean lengths of a document.
WEIGHTS = 0.01, 0.03, 0.1, 0.3


class RelationalLDA(SidedLDA):
    """LDA whose topics predict which documents are linked: citations, replies, friends.

    The larger the shares of the same topics in two documents, the likelier is a link,
    and links pull documents towards the same topics
    (:class:`~topicfold.evidence.Links`). Links of new documents are predicted from
    their words alone.

    Parameters
    ----------
    weight : float or None, default=None
        w, how many words a link counts for. None chooses among 0.01, 0.03, 0.1 and 0.3
        times the mean length of a document, by how well fits of 30 passes to the others
        rank the links of a fifth of the documents: it takes the smallest weight within
        a standard error of the best. Each of the four takes as long as 30 passes. 0 is
        LDA followed by a regression.
    words : bool, default=True
        Whether links are predicted from words and known links as well as topics: from
        the tf-idf of documents and of those that they are linked to, from how many
        links a document has, and from the links of the documents with the most similar
        words. This finds far more links, and the model keeps the words of the training
        documents. False uses topics alone, as with X in blocks.

    Attributes
    ----------
    coef_, std_errors_ : ndarray of shape (n_components,)
        How much a topic that two documents share raises the chance of a link, with
        standard errors. These treat the topics as known, so they are too small for
        intervals: the topics have learned from the links.
    intercept_ : float
        Log odds of a link between documents that share nothing.
    weight_ : float
        w in use.
    weight_scores_ : list of (float, float)
        The weights that were tried, each with the mean share of documents that a
        held-out link is ranked before. Empty if `weight` was given or no link is
        known.
    doc_topics_ : ndarray of shape (n_documents, n_components)
        Mixtures of the training documents, pulled by their links; ``transform(X)``
        returns mixtures without this pull.
    objective_history_ : list of float
        Log-likelihood of the words plus w times that of the links. It may fall a
        little.

    See Also
    --------
    LaplacianPLSA : network PLSA, which only pulls linked documents together.

    References
    ----------
    J. Chang, D. Blei (2009). Relational topic models for document networks. AISTATS.

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import RelationalLDA
    >>> X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]])
    >>> model = RelationalLDA(2, weight=1, random_state=0)
    >>> model = model.fit(X, links=[[0, 1], [2, 3]])
    >>> model.suggest_links([[1, 1, 0, 0]], 2)[0]
    array([[0, 1]])
    """

    _part = Links
    weight: float | None
    words: bool
    ridge: float

    def __init__(
        self,
        n_components: int = 10,
        *,
        weight: float | None = None,
        words: bool = True,
        ridge: float = 10.0,
        doc_topic_prior: Any = None,
        topic_word_prior: float | None = None,
        learn_priors: bool | None = None,
        sides: Sequence[Side] | None = None,
        init: Any = None,
        max_iter: int = 200,
        tol: float | None = None,
        doc_tol: float = 1e-4,
        random_state: Any = None,
        device: str = "cpu",
        n_jobs: int | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: bool = False,
    ) -> None:
        self._store_parameters(locals())

    def fit(
        self, X: Any, y: Any = None, *, links: Any = None, **side_data: Any
    ) -> Self:
        """Learn topics, and how they predict links.

        Parameters
        ----------
        links : array of shape (n_links, 2), sparse matrix, networkx graph or None
            Pairs of rows of X, with weights in a third column if you like, or a matrix
            (documents × documents). Links have no direction. Without any, the topics
            are those of LDA, nothing is predicted, and a warning says so.
        """
        return super().fit(X, y, links=links, **side_data)

    def _fit_with_sides(self, counts: Any, side_data: Mapping[str, Any]) -> None:
        self.weight_scores_: list[tuple[float, float]] = []
        given = side_data.get("links")
        links = read_links(() if given is None else given, counts.shape[0])
        side_data = {**side_data, "links": links}
        if not links.nnz:
            self._say_missing(
                "links", "its topics are those of LDA and it predicts no links"
            )
        elif self.weight is None:
            choose_weight(self, counts, side_data, WEIGHTS)
        super()._fit_with_sides(counts, side_data)
        if self.words and links.nnz and sparse.issparse(counts):
            self._learn_words(counts, side_data)

    def _learn_words(self, counts: Any, side_data: Mapping[str, Any]) -> None:
        """Learn how words beside topics say which documents are linked."""
        self.word_idf_ = smooth_idf(counts)
        self.link_words_ = self._word_rows(counts)
        with already_warned():
            theta = self._sided_mixtures(counts, self._of_new_documents(side_data))
        rng = check_random_state(self.random_state)
        rule = LinkRule(
            self._side(Links), self.link_words_, threads=n_threads(self.n_jobs)
        )
        coef = rule.learn(theta, self.doc_topics_, rng)
        self.word_coef_: NDArray[np.float64] = coef

    def _rule(self) -> LinkRule:
        """Return what topics, words and known links say of a link."""
        threads = n_threads(self.n_jobs)
        side = self._side(Links)
        return LinkRule(side, self.link_words_, self.word_coef_, threads=threads)

    def _query(self, X: Any) -> Any:
        """Return the words of new documents, or of the training documents."""
        if X is None:
            return self.link_words_
        with already_warned():
            counts = self._counts(X, allow_empty=True)
        return self._word_rows(counts)

    def _word_rows(self, counts: Any) -> Any:
        return word_weights(counts, self.word_idf_).astype(np.float32)

    def _forget_sides(self) -> None:
        for name in ("link_words_", "word_idf_", "word_coef_"):
            self.__dict__.pop(name, None)

    _saved = saved.forms(word_idf_=saved.numbers("V"), word_coef_=saved.numbers("6"))

    def _check_fitted(self, sizes: Mapping[str, int]) -> None:
        super()._check_fitted(sizes)
        if not hasattr(self, "word_coef_"):
            return
        shape = len(self._side(Links).link_topics_), self.n_features_in_
        words: Any = self.link_words_
        if not sparse.issparse(words) or words.shape != shape:
            raise ValueError("link_words_ are not those of its documents")
        if not (self.word_coef_[1:] >= 0).all():
            raise ValueError("word_coef_ is invalid")

    coef_ = of_side(Links, "coef_", "Coefficients of shared topics.")
    std_errors_ = of_side(Links, "std_errors_", "Standard errors of the coefficients.")
    intercept_ = of_side(
        Links, "intercept_", "Log odds of a link between documents that share nothing."
    )
    weight_ = of_side(Links, "weight_", "The weight of the links in use.")

    def predict_links(
        self, pairs: Any, X: Any = None, **side_data: Any
    ) -> NDArray[np.float64]:
        """Return the probability of a link for each pair of documents.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2)
            In each row two training documents; with `X`, a row of X and a training
            document.
        X : {array-like, sparse matrix} of shape (n_documents, n_terms), optional
            New documents.
        **side_data
            What else is known of the new documents, as in `transform`.

        Returns
        -------
        ndarray of shape (n_pairs,)
            Probabilities among all pairs of documents: small where links are rare.
        """
        side = self._linked()
        known = side.link_topics_
        first = self._ends(X, side_data)
        table = np.asarray(pairs)
        if table.ndim != 2 or table.shape[1] != 2 or table.dtype.kind not in "iu":
            raise DataError(
                f"pairs has shape {table.shape} and type {table.dtype}; give two whole "
                "numbers per pair, rows of documents."
            )
        ends = "training documents" if X is None else "rows in X", "training documents"
        sizes = len(first), len(known)
        for column, (size, what) in enumerate(zip(sizes, ends, strict=True)):
            wrong = (table[:, column] < 0) | (table[:, column] >= size)
            if wrong.any():
                place = int(np.argmax(wrong))
                raise DataError(
                    f"pair {place} names document {table[place, column]}, but there "
                    f"are {size} {what}, numbered from 0."
                )
        if not hasattr(self, "word_coef_"):
            return side.predict(first[table[:, 0]], known[table[:, 1]])
        asked, rows = np.unique(table[:, 0], return_inverse=True)
        rule, query = self._rule(), self._query(X)[asked]
        likes = rule.likes(query, asked if X is None else None)
        odds = rule.log_odds(query, first[asked], likes, rows.ravel(), table[:, 1])
        return np.asarray(expit(odds))

    def suggest_links(
        self, X: Any = None, n: int = 10, **side_data: Any
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the training documents that documents are most likely linked to.

        Most pairs are never compared: inverted lists of topics and of words bound their
        scores, and the best by either are candidates, as are the documents that similar
        ones are linked to and those with the most links.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms), optional
            New documents; default: the training documents. Their own links may be among
            the suggestions, but never the documents themselves.
        n : int, default=10
            Maximum number of suggestions per document.
        **side_data
            What else is known of the new documents, as in `transform`.

        Returns
        -------
        documents : ndarray of shape (n_documents, n)
            Rows of the training documents, the likeliest first, -1 where there are no
            more that share a topic or a word.
        probabilities : ndarray of the same shape
            Of a link; 0 beside -1.
        """
        side = self._linked()
        whole_number(n, "n")
        theta = self._ends(X, side_data)
        alone = X is None
        if not hasattr(self, "word_coef_"):
            threads = n_threads(self.n_jobs)
            return side.suggest(theta, n, exclude_self=alone, threads=threads)
        rule, query = self._rule(), self._query(X)
        documents, odds = rule.suggest(query, theta, n, exclude_self=alone)
        return documents, np.where(documents >= 0, expit(odds), 0.0)

    def _ends(self, X: Any, side_data: Mapping[str, Any]) -> Array:
        """Return mixtures of new documents, or of the training documents."""
        if X is not None:
            return self.transform(X, **side_data)
        if side_data:
            raise DataError(
                f"{next(iter(side_data))} describes new documents. Give X as well."
            )
        return self._linked().link_topics_

    def _linked(self) -> Links:
        """Return the side, unless the fit had no links."""
        side = self._side(Links)
        if not side.n_links_:
            raise DataError(
                f"this {type(self).__name__} was fitted without links, so it cannot "
                "predict any. Fit it with links=..."
            )
        return side
