# SPDX-License-Identifier: BSD-3-Clause
"""Latent semantic indexing: a truncated SVD that can be updated."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from topicfold.core import saved
from topicfold.core.counts import SparseRows, check_counts, tall_product
from topicfold.core.parameters import MAX_TOPICS, DeclaredParameters, whole
from topicfold.core.threads import n_threads
from topicfold.core.typing import Array, Doubles
from topicfold.exceptions import DataError
from topicfold.graph.embedding import refuse_data
from topicfold.lsi.svd import RowUpdate, add_rows, truncated_svd
from topicfold.lsi.weighting import WEIGHTINGS, global_weights, weigh
from topicfold.models.base import check_documents, save_fitted

# What a document without words gets.
NO_WORDS = "zero vector"


class LSI(
    DeclaredParameters, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Latent semantic indexing: documents and words in one space, for search.

    The weighted matrix is approximated by ``U Σ Vᵀ`` of rank `n_components`, and a
    document x by its coordinates ``x V``: documents that share no word are near each
    other if their words occur together elsewhere. SciPy's PROPACK decomposes; time
    O(nnz·K), memory O(nnz + (D + V)·K). `partial_fit` adds documents and `add_terms`
    terms by Zha and Simon, without the old documents.

    Parameters
    ----------
    n_components : int, default=100
        Rank K.
    weighting : {"counts", "binary", "tfidf", "log-entropy"}, default="log-entropy"
        How a count x of a term in df of D documents is weighted: x; 1;
        ``x (ln((1 + D) / (1 + df)) + 1)``; or ``ln(1 + x)`` times one less the term's
        entropy over the documents as a share of ``ln D``. Rows are not normalised.
    tol : float, default=1e-6
        Relative accuracy of singular vectors; that of singular values is its square.
        Updates use its square root, because their error is that of the truncation.
    max_iter : int, default=1000
        Maximum number of restarts of ARPACK, which makes updates, and takes over in
        `fit` where PROPACK gives up (equal singular values, a rank below K).
    keep_documents : bool, default=False
        Whether to keep the coordinates of all documents, also through updates:
        D × K numbers, which `add_terms` needs.
    random_state : int, RandomState or None, default=None
        Seed of the first vector; it has no effect beyond `tol`.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all. The result is the same for any number.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features_in_)
        Right singular vectors Vᵀ, orthonormal rows, in float64. After `fit` the entry
        of largest size of a row is positive; through updates a row keeps the sign of
        the old row it is nearest to.
    singular_values_ : ndarray of shape (n_components,)
        Descending. Rows and singular values beyond the rank of the matrix are zero.
    doc_topics_ : ndarray of shape (n_documents_seen_, n_components)
        With `keep_documents`: coordinates ``U Σ`` of all documents.
    term_weights_ : ndarray of shape (n_features_in_,)
        Global weights, from the first documents; updates do not change them.
    total_squares_ : float
        Sum of the squares of the weighted matrix, over all documents seen.
    n_documents_seen_, n_iter_ : int
        Documents so far; products of the matrix with a vector in `fit`.
    term_base_ : ndarray of shape (n_features_in_, rank)
        V: `components_` is its transpose, with zero rows where the rank is below K.

    See Also
    --------
    topicfold.search.TopicIndex : find documents in the latent space.

    Notes
    -----
    **Error of updating.** Let dropped be ``total_squares_ - Σ singular_values_²``. A
    model made by updates has exactly the singular values of a fresh fit (with the same
    weights) as long as the matrix has no more than K. Beyond, each is at most the
    fresh one, and the sum of their squares is below the fresh sum by at most dropped.

    A singular value below 1e-7 of the largest counts as zero.

    References
    ----------
    S. Deerwester et al. (1990). Indexing by latent semantic analysis. JASIS 41(6).
    H. Zha & H. D. Simon (1999). On updating problems in latent semantic indexing. SIAM
    J. Sci. Comput. 21(2). doi:10.1137/S1064827597329266

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import LSI
    >>> X = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 2]])
    >>> model = LSI(n_components=2, weighting="counts").fit(X)
    >>> model.singular_values_.round(3)
    array([2.   , 1.732])
    >>> model.partial_fit([[0, 0, 0, 1]]).singular_values_.round(3)
    array([2.236, 1.732])
    """

    _unsaved_parameters = ("random_state",)

    _binds_topics = "dimensions that are orthogonal"
    n_components: Annotated[int, whole(1, MAX_TOPICS)]
    weighting: Annotated[str, StrOptions(set(WEIGHTINGS))]
    tol: Annotated[float, Interval(Real, 0, 1, closed="neither")]
    max_iter: Annotated[int, whole(1)]
    keep_documents: bool
    random_state: Annotated[Any, "random_state"]
    n_jobs: Annotated[int | None, Integral]

    def __init__(
        self,
        n_components: int = 100,
        *,
        weighting: str = "log-entropy",
        tol: float = 1e-6,
        max_iter: int = 1000,
        keep_documents: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self._store_parameters(locals())

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, **not_taken: Any) -> Self:
        """Decompose the weighted matrix.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            Counts or other non-negative weights.
        y : None
            Ignored, for scikit-learn's conventions.
        **not_taken
            Refused with a sentence, such as embeddings.
        """
        refuse_data(self, not_taken)
        counts = check_documents(self, X, reset=True, without_words=NO_WORDS)
        self.term_weights_ = global_weights(counts, self.weighting)
        weighted = weigh(counts, self.weighting, self.term_weights_)
        total = _squares(weighted)
        if total == 0:
            raise DataError(
                f"every term has weight 0 under weighting={self.weighting!r}: every "
                "term has the same share in all documents. Choose another weighting."
            )
        found = truncated_svd(
            weighted,
            self.n_components,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=check_random_state(self.random_state),
            threads=n_threads(self.n_jobs),
        )
        rank = len(found.values)
        if rank < self.n_components:
            warnings.warn(
                f"the matrix ({counts.shape[0]} × {counts.shape[1]}) has rank {rank}, "
                f"below n_components={self.n_components}; the other dimensions are "
                "zero.",
                np.exceptions.RankWarning,
                stacklevel=3,
            )
        self.n_iter_ = found.n_iter
        self.total_squares_ = total
        self.n_documents_seen_ = counts.shape[0]
        self._store(found.values, found.right)
        self.__dict__.pop("doc_topics_", None)
        if self.keep_documents:
            self.doc_topics_ = _padded(found.left * found.values, self.n_components)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add documents; the first call is `fit`.

        The cost depends on the new documents only. Terms keep the global weights of
        the first documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            The new documents.
        y : None
            Ignored.
        """
        if not hasattr(self, "term_base_"):
            return self.fit(X)
        _check_unchanged(self)
        counts = self._new_documents(X)
        weighted = weigh(counts, self.weighting, self.term_weights_)
        old_values = self._old_values()
        update = self._added(old_values, self.term_base_, weighted)
        if self.keep_documents:
            left = self.doc_topics_[:, : len(old_values)] / old_values
            both = np.vstack([left @ update.old_left, update.new_left])
            self.doc_topics_ = _padded(both * update.values, self.n_components)
        self._store(update.values, update.right)
        self.total_squares_ += _squares(weighted)
        self.n_documents_seen_ += counts.shape[0]
        return self

    def add_terms(self, X: Any, names: Sequence[str] | None = None) -> Self:
        """Add terms; their columns come after the present ones.

        Needs ``keep_documents=True``, unless no document so far has the terms (new
        words of a stream): then X is an empty sparse matrix of the right shape.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents_seen_, n_new_terms)
            Counts of the new terms in all documents so far, in their order.
        names : sequence of str, optional
            Names of the new terms; needed if `fit` saw names.
        """
        check_is_fitted(self, "term_base_")
        _check_unchanged(self)
        counts = _check_new_terms(self, X)
        all_names = _check_new_names(self, names, counts.shape[1])
        weights = global_weights(counts, self.weighting)
        weighted = weigh(counts, self.weighting, weights)
        values, terms = self._old_values(), self.term_base_
        new = np.zeros((counts.shape[1], len(values)))
        if counts.nnz:
            left = self.doc_topics_[:, : len(values)] / values
            update = self._added(values, left, sparse.csr_matrix(weighted.T))
            values, new = update.values, update.new_left
            self.doc_topics_ = _padded(update.right * values, self.n_components)
            terms = tall_product(terms, update.old_left, n_threads(self.n_jobs))
        self._store(values, np.vstack([terms, new]))
        self.term_weights_ = np.r_[self.term_weights_, weights]
        self.total_squares_ += _squares(weighted)
        self.n_features_in_ += counts.shape[1]
        if all_names is not None:
            self.feature_names_in_ = all_names
        return self

    def transform(self, X: Any) -> Array:
        """Return the coordinates ``x V`` of documents (fold-in).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            Counts, in the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_documents, n_components)
            In the dtype of X. The same for a document in any batch; zero for a document
            without words.
        """
        check_is_fitted(self, "term_base_")
        counts = self._new_documents(X)
        weighted = weigh(counts, self.weighting, self.term_weights_)
        coordinates = SparseRows(weighted, n_threads(self.n_jobs)) @ self.term_base_
        return _padded(coordinates, len(self.singular_values_)).astype(counts.dtype)

    def inverse_transform(self, X: Any) -> Array:
        """Return the weighted terms ``z Vᵀ`` that coordinates stand for.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_components)
            Coordinates.

        Returns
        -------
        ndarray of shape (n_documents, n_terms)
            The smoothed documents, dense and weighted: not counts.
        """
        check_is_fitted(self, "term_base_")
        X = check_array(X, dtype=(np.float64, np.float32))
        if X.shape[1] != len(self.singular_values_):
            raise DataError(
                f"X has {X.shape[1]} columns, but the model has "
                f"{len(self.singular_values_)} components. Give what transform returns."
            )
        return np.asarray(X @ self.components_.astype(X.dtype))

    def save(self, path: Any, corpus: Any = None, **known: Any) -> None:
        """Save the fitted model as a folder or, for ``*.safetensors``, one file.

        No pickle: the file is safe to open. :func:`topicfold.load` reads it. The
        parameters are those of :meth:`topicfold.LDA.save`.
        """
        save_fitted(self, path, corpus, known)

    def topic_data(self, *args: Any, **documents: Any) -> Any:
        """Refuse: dimensions of LSI are not topics.

        They have negative entries, so there is no :class:`~topicfold.TopicData`.
        """
        raise DataError(
            "LSI has no topics: its dimensions have negative entries and are not "
            "distributions over words. Search with it (topicfold.search.TopicIndex), "
            "transform documents, or fit LDA or PLSA."
        )

    @property
    def components_(self) -> Doubles:
        """Right singular vectors Vᵀ."""
        return _padded(self.term_base_, len(self.singular_values_)).T

    @property
    def _n_features_out(self) -> int:
        return len(self.singular_values_)

    def _new_documents(self, X: Any) -> sparse.csr_matrix:
        empty: dict[str, Any] = {"allow_empty": True, "without_words": NO_WORDS}
        return check_documents(self, X, reset=False, **empty)

    def _old_values(self) -> Doubles:
        return self.singular_values_[: self.term_base_.shape[1]]

    def _added(
        self, values: Doubles, right: Doubles, rows: sparse.csr_matrix
    ) -> RowUpdate:
        return add_rows(
            values,
            right,
            rows,
            self.n_components,
            tol=float(np.sqrt(self.tol)),
            max_iter=self.max_iter,
            threads=n_threads(self.n_jobs),
        )

    def _store(self, values: Doubles, right: Doubles) -> None:
        self.singular_values_ = _padded(values[None], self.n_components)[0]
        self.term_base_ = right

    _saved = saved.forms(
        term_base_=saved.numbers("VR"),
        term_weights_=saved.numbers("V", 0, saved.LARGEST_PRIOR),
        singular_values_=saved.numbers("K"),
        n_documents_seen_=saved.number(1, 2**53, whole=True),
        total_squares_=saved.number(0),
        doc_topics_=saved.maybe(saved.numbers("DK")),
    )

    def _check_loaded(self) -> None:
        if not hasattr(self, "term_base_"):
            return  # saved before it was fitted
        rank, n_values = self.term_base_.shape[1], len(self.singular_values_)
        sizes = {"V": self.n_features_in_, "R": rank, "K": n_values}
        saved.check(self, {**sizes, "D": self.n_documents_seen_})
        if rank > n_values or not (self._old_values() > 0).all():
            raise ValueError("singular_values_ do not fit term_base_")
        if np.abs(self.term_base_.T @ self.term_base_ - np.eye(rank)).max() > 0.1:
            raise ValueError("the columns of term_base_ are not orthonormal")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _squares(X: sparse.csr_matrix) -> float:
    return float(np.square(X.data, dtype=np.float64).sum())


def _padded(columns: Doubles, n_columns: int) -> Doubles:
    """Return the array with zero columns up to `n_columns`."""
    missing = n_columns - columns.shape[1]
    return np.pad(columns, ((0, 0), (0, missing))) if missing else columns


def _check_new_terms(model: Any, X: Any) -> sparse.csr_matrix:
    """Return the counts of new terms in the documents that the model has seen."""
    counts = check_counts(X, "X", advice="LSI needs counts.")
    if counts.dtype != np.float32:
        counts = counts.astype(np.float64)
    if counts.shape[0] != model.n_documents_seen_:
        raise DataError(
            f"X has {counts.shape[0]} rows, but the model has seen "
            f"{model.n_documents_seen_} documents. Give the counts of the new terms "
            "in all of them, in their order."
        )
    if counts.nnz and not hasattr(model, "doc_topics_"):
        raise DataError(
            "for new terms that occur in old documents, the coordinates of these "
            "documents are needed. Fit with keep_documents=True."
        )
    return counts


def _check_new_names(
    model: Any, names: Sequence[str] | None, n_terms: int
) -> NDArray[Any] | None:
    """Return the names of all terms with the new; None if the model knows none."""
    seen = getattr(model, "feature_names_in_", None)
    if (names is None) != (seen is None):
        raise DataError(
            "names must be given if the data of fit had column names, and only then."
        )
    if names is None or seen is None:
        return None
    if len(names) != n_terms or len({*seen, *names}) != len(seen) + n_terms:
        raise DataError(
            f"names must be {n_terms} different names that the model does not have yet."
        )
    return np.array([*seen, *names], dtype=object)


def _check_unchanged(model: Any) -> None:
    """Refuse an update with other parameters than those of the fit."""
    if len(model.singular_values_) != model.n_components:
        raise DataError(
            f"n_components is {model.n_components}, but the model was fitted with "
            f"{len(model.singular_values_)}. Fit again to change it."
        )
    if model.keep_documents and not hasattr(model, "doc_topics_"):
        raise DataError(
            "keep_documents was set after the fit, so the coordinates of the earlier "
            "documents are not known. Fit again."
        )
