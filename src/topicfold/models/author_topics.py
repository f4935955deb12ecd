# SPDX-License-Identifier: BSD-3-Clause
"""The author-topic model: authors have mixtures of topics, documents have authors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from topicfold.evidence.words import word_sketches
from topicfold.learn import Callback
from topicfold.models.lda import SidedLDA
from topicfold.models.sided import of_side
from topicfold.parts.sides import Side
from topicfold.theta.authors import AuthorPriors, Authors

# Σα, how many tokens authors are worth in a document, and the most of a topic.
ALPHA_SUM, ALPHA_MOST = 6.0, 0.6


class AuthorTopics(SidedLDA):
    """Author-topic model: every author has a mixture of topics.

    A document has its own mixture, near the mean of its authors' mixtures; an author's
    mixture is the mean over the author's documents, shrunk towards that of all
    documents (:class:`~topicfold.theta.AuthorPriors`). ``strict=True`` is the original
    model, in which all documents of the same authors are alike:
    ``p(w|d) = Σ_a M_da Σ_k θ_ak φ_kw`` with M_da = 1 / (authors of d), by EM
    (:class:`~topicfold.theta.Authors`). It predicts new documents of known authors
    worse. Authors can be other entities: tags, places, or pairs of a sender and a
    recipient (author-recipient-topic model; McCallum et al., JAIR 30, 2007), written as
    one name each.

    Parameters
    ----------
    doc_topic_prior : float, array of shape (n_components,) or None, default=None
        α. Its sum is the weight of a document's authors, in tokens; if `strict`, α are
        the pseudo-counts of every author. None is ``6 / n_components``, at most 0.6,
        and a third of it if `strict`.
    strict : bool, default=False
        Whether documents have no mixtures of their own.

    Attributes
    ----------
    author_names_ : ndarray of str
        The authors, sorted.
    author_topics_ : ndarray of shape (n_authors, n_components)
        Their mixtures, rows on the simplex.
    doc_topics_ : ndarray of shape (n_documents, n_components)
        Mixtures of the training documents; if `strict`, means of their authors'.
    objective_history_ : list of float
        Log-likelihood of the words, which may fall a little; if `strict`, the log
        posterior up to a constant, which never falls.

    See Also
    --------
    topicfold.theta.AuthorPriors, topicfold.theta.Authors : the same as sides of LDA.

    References
    ----------
    After M. Rosen-Zvi, T. Griffiths, M. Steyvers, P. Smyth (2004). The author-topic
    model for authors and documents. UAI. (There documents are as `strict` makes them.)

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

    learn_priors = None
    strict: bool

    def __init__(
        self,
        n_components: int = 10,
        *,
        strict: bool = False,
        doc_topic_prior: Any = None,
        topic_word_prior: float | None = None,
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
        self, X: Any, y: Any = None, *, authors: Any = None, **side_data: Any
    ) -> Self:
        """Learn topics and the authors' mixtures.

        Parameters
        ----------
        authors : sequence of (str, sequence of str, None) or sparse matrix, optional
            The authors of each document, in a list or as one text with ";" between
            them, or their weights (documents × authors). A document without authors
            just has its own mixture. Without `authors` this is so for all documents,
            and a warning says so.
        """
        return super().fit(X, y, authors=authors, **side_data)

    def similar_authors(
        self, name: str | int, n: int = 10, *, words: bool = True
    ) -> list[tuple[str, float]]:
        """Return the authors who write about the same as an author.

        Parameters
        ----------
        name : str
            One of `author_names_`.
        n : int, default=10
            How many.
        words : bool, default=True
            Whether to compare words beside mixtures: a few topics do not distinguish
            many authors.

        Returns
        -------
        list of (str, float)
            Names and similarities, the most similar first: ``Σ_k √(θ_ak θ_bk)`` of the
            mixtures, or the mean of that and twice the cosine of the tf-idf of their
            words, by sketches of 512 numbers.
        """
        return self._side(Authors).similar(name, n, words=words)

    def expected_topics(self, authors: Any) -> NDArray[np.float64]:
        """Return the expected mixtures of documents, given their authors alone.

        Parameters
        ----------
        authors : as in `fit`
            Any number of documents. One without authors gets the mixture of all.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
            Means of the authors' mixtures.
        """
        side = self._side(Authors)
        size = authors.shape[0] if hasattr(authors, "shape") else len(authors)
        M = side.check(authors, self._new_context(size))
        if isinstance(side, AuthorPriors):
            return side.expected(M)
        shares = self.doc_topic_prior_ / self.doc_topic_prior_.sum()
        found = np.asarray(M @ np.vstack([side.entity_topics_, shares]))
        found[np.diff(M.indptr) == 0] = shares
        return found

    def _default_priors(self) -> tuple[float, float]:
        alpha, eta = super()._default_priors()
        if not self.strict:
            alpha = min(ALPHA_SUM / self._size, ALPHA_MOST)
        return alpha, eta

    def _own_sides(self) -> list[Any]:
        return [Authors() if self.strict else AuthorPriors()]

    _part = Authors
    author_names_ = of_side(Authors, "names_", "The authors, sorted.")
    author_topics_ = of_side(Authors, "entity_topics_", "Their mixtures, a row each.")

    def _fit_with_sides(self, counts: Any, side_data: Mapping[str, Any]) -> None:
        if side_data.get("authors") is None:
            self._say_missing(
                "authors", "every document has its own mixture, as in LDA"
            )
            own = [f"document {d}" for d in range(counts.shape[0])]
            side_data = {**side_data, "authors": np.array(own, dtype=object)}
        super()._fit_with_sides(counts, side_data)
        side = self._side(Authors)
        side.word_places_ = word_sketches(counts, side.members_, len(side.names_))
