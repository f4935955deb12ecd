# SPDX-License-Identifier: BSD-3-Clause
"""Other counts of the same documents: another language, citations, tags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import _get_feature_names

from topicfold.core.counts import (
    best_places,
    check_counts,
    check_range,
    check_words,
    simplex_problems,
)
from topicfold.core.parameters import POSITIVE, DeclaredParameters
from topicfold.core.saved import is_text
from topicfold.corpus.block_corpus import BlockCorpus
from topicfold.exceptions import DataError
from topicfold.parts.sides import Side, check_rows
from topicfold.parts.steps import Context


class OtherCounts(DeclaredParameters, Side):
    """A second matrix of counts of the same documents, with its own topics.

    Adds ``τ Σ_dw x_dw log Σ_k θ_dk φ'_kw`` to the objective: the documents' mixtures
    are those of X, the topics φ' have other columns. Polylingual topics (Mimno 2009),
    text with citations (Cohn & Hofmann 2001), words with tags. A document may have no
    counts here, or none in X.

    Data
    ----
    `name` : {array-like, sparse matrix, BlockMatrix} of shape (n_documents, n_columns)
        The counts. Where X is in blocks, rows are joined to each block as it is read,
        and the counts may be in memory or in blocks of any size. Columns of a data
        frame and words of a :class:`~topicfold.corpus.Corpus` are kept.

    Parameters
    ----------
    name : str, default="other"
        Keyword of the counts in `fit` and `transform`.
    weight : float, default=1.0
        τ: what a token of these counts is worth, a token of X being worth 1.
    topic_word_prior : float or None, default=None
        η of these topics; None by the rule of the model.

    Attributes
    ----------
    components_ : ndarray of shape (n_topics, n_columns)
        Topics φ', rows on the simplex.
    feature_names_in_ : ndarray of str of shape (n_columns,)
        Words of the columns, if the counts came with them.

    Examples
    --------
    >>> from topicfold import LDA
    >>> from topicfold.phi import OtherCounts
    >>> X = [[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]]
    >>> tags = [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> model = LDA(2, sides=[OtherCounts("tags")], random_state=0).fit(X, tags=tags)
    >>> sorted(model.sides_[0].top_words(1))
    [['w0'], ['w1']]
    """

    hook = "counts"
    name: str
    weight: Annotated[float, POSITIVE]
    topic_word_prior: float | None

    def __init__(
        self,
        name: str = "other",
        weight: float = 1.0,
        topic_word_prior: float | None = None,
    ) -> None:
        self._store_parameters(locals())

    @property
    def keyword(self) -> str:
        """The name."""
        return self.name

    def check(self, data: Any, context: Context) -> Any:
        """Return clean counts, not yet weighted."""
        words, data = _words_and_counts(data)
        in_blocks = isinstance(data, BlockCorpus)  # they are checked when they are read
        counts = data
        if not in_blocks:
            counts = check_counts(data, self.name, dtype=np.float64)
        check_rows(self.name, counts.shape[0], context.n_documents)
        if context.fitting:
            self.n_columns_ = int(counts.shape[1])
            if words is not None:
                self.feature_names_in_ = np.asarray(words, dtype=object)
            if not counts.sum():
                raise DataError(f"{self.name} has no count in any document.")
        if counts.shape[1] != self.n_columns_:
            raise DataError(
                f"{self.name} has {counts.shape[1]} columns, but was fitted with "
                f"{self.n_columns_}."
            )
        names = getattr(self, "feature_names_in_", None)
        if words is not None and names is not None:
            check_words(names, words, "the model", self.name)
        return counts

    def free_topics(self, data: Any, context: Context) -> NDArray[np.bool_]:
        """All of them."""
        return np.ones(context.n_topics, dtype=bool)

    def counts(self, data: Any, context: Context) -> Any:
        """Return the counts times the weight."""
        weighted = data * self.weight
        if sparse.issparse(weighted):  # those in blocks are checked when they are read
            check_range(weighted, self.name)
        return weighted

    def top_words(self, n: int = 10) -> list[list[str]]:
        """Return the most probable words of every topic, best first.

        Columns without names are w0, w1, …

        Parameters
        ----------
        n : int, default=10
            How many.
        """
        words = getattr(self, "feature_names_in_", None)
        words = [f"w{w}" for w in range(self.n_columns_)] if words is None else words
        best = [best_places(topic, n) for topic in self.components_]
        return [[str(words[w]) for w in places] for places in best]

    def _check_fitted(self, sizes: Mapping[str, int]) -> None:
        for problem in simplex_problems("components_", self.components_):
            raise ValueError(problem)
        words = getattr(self, "feature_names_in_", None)
        shape = sizes["K"], self.n_columns_ if words is None else len(words)
        if {self.components_.shape, shape} != {(sizes["K"], self.n_columns_)}:
            raise ValueError("components_, its words and columns are not equally many")
        if words is not None and not is_text(words):
            raise ValueError("feature_names_in_ are not words")


def _words_and_counts(data: Any) -> tuple[Any, Any]:
    """Return the names of columns, None if there are none, and the counts."""
    if hasattr(data, "counts") and hasattr(data, "vocabulary"):
        return data.vocabulary, data.counts
    if isinstance(data, BlockCorpus):
        return data.vocabulary, data
    return _get_feature_names(data), data
