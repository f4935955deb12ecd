# SPDX-License-Identifier: BSD-3-Clause
"""The author-topic model: authors have mixtures of topics, documents have authors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from topicfold.models.lda import SidedLDA
from topicfold.models.sided import of_side
from topicfold.sides.authors import Authors


class AuthorTopics(SidedLDA):
    """Author-topic model: every author has a mixture, a document those of its authors.

    ``p(w|d) = Σ_a M_da Σ_k θ_ak φ_kw`` with M_da = 1 / (authors of d), by EM under
    Dirichlet priors: the author of a token sums out, so that a pass costs what one of
    PLSA does. Other entities do as well: tags, places, or pairs of a sender and a
    recipient (author-recipient-topic model), written as one name each.

    Parameters
    ----------
    doc_topic_prior : float, array of shape (n_components,) or None, default=None
        α, pseudo-counts of every author. None is ``2 / n_components``, at most 0.2.

    Attributes
    ----------
    author_names_ : ndarray of str
        The authors, sorted.
    author_topics_ : ndarray of shape (n_authors, n_components)
        Their mixtures, rows on the simplex.
    doc_topics_ : ndarray of shape (n_documents, n_components)
        Mixtures of the training documents: means of their authors'.
    objective_history_ : list of float
        Log posterior up to a constant; never falls.

    See Also
    --------
    topicfold.sides.Authors : the same as a side of any LDA.

    References
    ----------
    M. Rosen-Zvi, T. Griffiths, M. Steyvers, P. Smyth (2004). The author-topic model for
    authors and documents. UAI.
    A. McCallum, X. Wang, A. Corrada-Emmanuel (2007). Topic and role discovery in social
    networks with experiments on Enron and academic email. JAIR 30.

    Examples
    --------
    >>> from topicfold import AuthorTopics
    >>> X = [[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [3, 0, 3, 4]]
    >>> authors = [["Ann"], ["Ann", "Bob"], ["Cid"], ["Bob", "Cid"]]
    >>> model = AuthorTopics(2, random_state=0).fit(X, authors=authors)
    >>> model.author_topics_.shape
    (3, 2)
    >>> [name for name, _ in model.similar_authors("Ann")]
    ['Bob', 'Cid']
    """

    _without = (*SidedLDA._without, "learn_priors")
    learn_priors = None

    def fit(
        self, X: Any, y: Any = None, *, authors: Any = None, **side_data: Any
    ) -> Self:
        """Learn topics and the authors' mixtures.

        Parameters
        ----------
        authors : sequence of (str, sequence of str, None) or sparse matrix, optional
            The authors of each document, in a list or as one text with ";" between
            them, or their weights (documents × authors). A
            document without any has a mixture of its own; so have all of them
            without `authors`, and a warning says so.
        """
        return super().fit(X, y, authors=authors, **side_data)

    def similar_authors(self, name: str | int, n: int = 10) -> list[tuple[str, float]]:
        """Return the authors whose mixtures are most like an author's.

        Parameters
        ----------
        name : str
            One of `author_names_`.
        n : int, default=10
            How many.

        Returns
        -------
        list of (str, float)
            Names and cosines, the most similar first.
        """
        return self._side(Authors).similar(name, n)

    _part = Authors
    author_names_ = of_side(Authors, "names_", "The authors, sorted.")
    author_topics_ = of_side(Authors, "entity_topics_", "Their mixtures, a row each.")

    def _fit_with_sides(self, counts: Any, side_data: Mapping[str, Any]) -> None:
        if side_data.get("authors") is None:
            self._say_missing(
                "authors", "every document has a mixture of its own, as in LDA"
            )
            own = [f"document {d}" for d in range(counts.shape[0])]
            side_data = {**side_data, "authors": np.array(own, dtype=object)}
        super()._fit_with_sides(counts, side_data)
