# SPDX-License-Identifier: BSD-3-Clause
"""Several count matrices of the same documents: languages, citations, tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import _fit_context
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from topicfold.core import saved
from topicfold.core.counts import as_csr, smooth_idf
from topicfold.core.parameters import warn_caller
from topicfold.core.typing import Array
from topicfold.evidence.words import word_weights
from topicfold.exceptions import DataError
from topicfold.graph.embedding import refuse_data
from topicfold.learn import Callback
from topicfold.models.base import arrives_in_blocks, as_blocks, one_at_a_time
from topicfold.models.lda import SidedLDA
from topicfold.parts.sides import Side
from topicfold.phi.matrices import OtherCounts
from topicfold.topic_data import TopicData

# How translations are found (benchmarks/sides_polylingual.py): the weight of a token;
# what is added to the shares of topics in mixtures and in the mean of a document's
# words, before logarithms are taken.
LIGHT, LEAST_OF_MIXTURE, LEAST_OF_WORDS = 0.05, 1e-4, 1e-2
# How crowded the place of a candidate is, is measured by so many nearest documents,
# among at most so many; candidates are rated in blocks of so many documents.
NEAREST, MOST_COMPARED, AT_ONCE = 10, 5000, 1024
# Known documents at most, with whose words those of others are compared.
MOST_KNOWN = 1000
Rows = NDArray[np.float64]


class MultimodalLDA(SidedLDA):
    """LDA of several count matrices: one mixture per document, topics in each matrix.

    Maximises ``Σ_g τ_g Σ_dw x^g_dw log Σ_k θ_dk φ^g_kw`` under LDA's priors. Languages
    of the same documents (polylingual topic model), text with citations, words with
    tags. A document may lack any of the matrices.

    Parameters
    ----------
    weights : dict, sequence of float or None, default=None
        τ of each matrix, by name or in order: how much one of its tokens counts. None
        is 1 for all.

    Attributes
    ----------
    group_names_ : list of str
        Names of the matrices; "0", "1", … where a list was given.
    group_components_ : dict of str to ndarray of shape (n_components, n_columns)
        Topics in each matrix, rows on the simplex; `components_` are the first.

    See Also
    --------
    topicfold.phi.OtherCounts : the same as a side of any LDA.

    References
    ----------
    D. Mimno, H. Wallach, J. Naradowsky, D. Smith, A. McCallum (2009). Polylingual topic
    models. EMNLP.
    D. Cohn, T. Hofmann (2001). The missing link: a probabilistic model of document
    content and hypertext connectivity. NIPS.

    Examples
    --------
    >>> from topicfold import MultimodalLDA
    >>> english = [[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]]
    >>> german = [[3, 0], [2, 0], [0, 4], [0, 0]]
    >>> model = MultimodalLDA(2, random_state=0)
    >>> model = model.fit({"en": english, "de": german})
    >>> int(model.transform({"de": [[4, 0]]}).argmax() - model.doc_topics_[0].argmax())
    0
    """

    weights: Annotated[Any, dict, list, tuple, None]

    def __init__(
        self,
        n_components: int = 10,
        *,
        weights: Any = None,
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

    @one_at_a_time
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, **side_data: Any) -> Self:
        """Learn topics in every matrix and the mixtures of the documents.

        Parameters
        ----------
        X : dict of str to matrix, sequence of matrices, or one matrix
            Counts of the same documents, row by row, in memory or in blocks. One alone
            makes it LDA, and a warning says so.
        """
        if "embeddings" in side_data:
            refuse_data(self, side_data)
        first, *others = self._named(X, fitting=True).items()
        weights = self._weights([name for name, _ in (first, *others)])
        sides: list[Side] = [OtherCounts(name, weights[name]) for name, _ in others]
        counts = _times(first[1], weights[first[0]])
        data = {**dict(others), **side_data}
        sides += self._all_sides()
        if sides or data:
            self._fit_sided(counts, y, sides, data)
        else:
            warn_caller(
                f"{type(self).__name__} was fitted without a second matrix, so it is "
                "LDA of the first. Give fit({name: matrix, ...}), all of the same "
                "documents."
            )
            super().fit(counts, y)
        self.group_names_ = [first[0], *(name for name, _ in others)]
        self.first_weight_ = weights[first[0]]
        return self

    def transform(self, X: Any, **side_data: Any) -> Array:
        """Return the topic mixtures of documents, rows on the simplex.

        Parameters
        ----------
        X : dict of str to matrix, sequence of matrices, or one matrix
            Counts in any of the matrices of `fit`; None, or a name left out, where
            there are none. One matrix is the first.
        """
        check_is_fitted(self, "components_")
        first, others = self._first_and_others(X)
        words = getattr(self, "feature_names_in_", None)
        first = _times(first, self.first_weight_, words)
        return super().transform(first, **others, **side_data)

    def _first_and_others(self, X: Any) -> tuple[Any, dict[str, Any]]:
        """Return the first matrix of new documents, perhaps empty, and the others."""
        named = self._named(X, fitting=False)
        first = named.pop(self.group_names_[0], None)
        if first is None:
            known = next(iter(named.values()))
            known = getattr(known, "counts", known)
            n_documents = known.shape[0] if hasattr(known, "shape") else len(known)
            first = sparse.csr_matrix((n_documents, self.n_features_in_))
        return first, named

    def _lengths_of(self, X: Any) -> NDArray[np.float64]:
        """Return tokens of the first matrix, as of the training documents."""
        return super()._lengths_of(self._first_and_others(X)[0])

    def top_words(self, n: int = 10) -> dict[str, list[list[str]]]:
        """Return the most probable words of every topic in each matrix, best first.

        Words are known of matrices that were a :class:`~topicfold.corpus.Corpus` or a
        data frame in `fit`; the columns of others are w0, w1, …

        Parameters
        ----------
        n : int, default=10
            How many.
        """
        check_is_fitted(self, "components_")
        first = self.topic_data(sides=()).top_terms(n)
        return {
            self.group_names_[0]: [list(words) for words in first],
            **{side.name: side.top_words(n) for side in self._others()},
        }

    def translations(
        self, X: Any, among: Any, *, known: Any = None, n: int = 1
    ) -> tuple[NDArray[np.intp], Rows]:
        """Return which documents of another matrix are most like those of one.

        This finds a document's translation, or its list of citations, even if none is
        known. Mixtures of whole documents have only a few topics, so three rows of K
        numbers are compared instead, all computed from topics alone: logarithms of a
        mixture in which tokens are worth a twentieth, of the mean of its words' topics,
        and the mean log-likelihood of its words in each topic. Where documents are
        known in both, a fourth row has the cosines of its tf-idf with those of at most
        a thousand of them (cross-lingual explicit semantic analysis; Potthast, Stein,
        Anderka 2008): words that topics do not distinguish. The score is the mean
        cosine of rows of topics and of words, less half of that of the candidate and
        its ten nearest candidates, because a document that is similar to all is a
        translation of none. For documents simulated from the model, mixtures find more.

        Parameters
        ----------
        X : dict of str to matrix
            One matrix of counts in memory, by its name in `fit`.
        among : dict of str to matrix
            The candidates: one matrix of counts, of another name.
        known : dict of str to matrix, optional
            Documents of which both are known, row by row, such as those of `fit`. They
            show what is usual in each matrix, in which directions the matrices differ
            (these then count less), and which words correspond. Without them, the mean
            of the candidates is taken as usual in both, and fewer translations are
            found.
        n : int, default=1
            How many to return of each document, at most as many as there are.

        Returns
        -------
        places : ndarray of int of shape (n_documents, n)
            Rows of `among`, the most likely first.
        scores : ndarray of shape (n_documents, n)
            Their scores.

        Examples
        --------
        >>> from topicfold import MultimodalLDA
        >>> english = [[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]]
        >>> german = [[3, 0], [2, 0], [0, 4], [0, 2]]
        >>> model = MultimodalLDA(2, random_state=0)
        >>> model = model.fit({"en": english, "de": german})
        >>> places, scores = model.translations(
        ...     {"en": [[0, 0, 2, 2]]}, among={"de": [[4, 0], [0, 5]]}
        ... )
        >>> places
        array([[1]])
        """
        check_is_fitted(self, "components_")
        (name, own), (other, candidates) = (self._one(D) for D in (X, among))
        if n < 1:
            raise DataError(f"n is {n}, so no document would be returned. Give 1.")
        views, pool = self._views(name, own), self._views(other, candidates)
        if known is None:
            usual = dict.fromkeys((name, other), _mean(pool))
            metric = np.eye(views.shape[0] * views.shape[2])
        else:
            named = self._named(known, fitting=False)
            missing = [one for one in (name, other) if one not in named]
            if missing:
                raise DataError(f"known has no counts of {missing[0]!r}. Give both.")
            pairs = {one: self._views(one, matrix) for one, matrix in named.items()}
            if len({part.shape for part in pairs.values()}) > 1:
                raise DataError(
                    "the matrices of known have different numbers of rows. Give the "
                    "same documents in both, in the same order."
                )
            usual = {one: _mean(part) for one, part in pairs.items()}
            metric = _metric([_joined(p, usual[one]) for one, p in pairs.items()])
        rows = normalize(_joined(views, usual[name]) @ metric)
        places = normalize(_joined(pool, usual[other]) @ metric)
        if known is not None:
            rows = np.hstack([rows, _by_words(own, named[name])]) / np.sqrt(2)
            places = np.hstack([places, _by_words(candidates, named[other])])
            places /= np.sqrt(2)
        return _nearest(rows, places, n)

    def _one(self, X: Any) -> tuple[str, Any]:
        """Return the name and counts of one matrix."""
        named = self._named(X, fitting=False)
        if len(named) != 1 or not isinstance(X, Mapping):
            raise DataError("give one matrix of counts by its name: {'en': matrix}.")
        return next(iter(named.items()))

    def _views(self, name: str, counts: Any) -> Rows:
        """Return what documents of one matrix are compared by, (3, D, K)."""
        if arrives_in_blocks(counts):
            raise DataError(f"{name} is in blocks. Give counts in memory.")
        X = as_csr(getattr(counts, "counts", counts)).astype(np.float64)
        weights = {side.name: side.weight for side in self._others()}
        light = LIGHT / weights.get(name, self.first_weight_)
        mixtures = self.transform({name: X * light}).astype(np.float64)
        topics = np.maximum(self.group_components_[name].astype(np.float64), 1e-12)
        alpha = np.asarray(self.doc_topic_prior_, dtype=np.float64)
        usual = alpha @ topics
        even = normalize(X, norm="l1")
        words = np.asarray(even @ (topics * alpha[:, None] / usual).T)
        likelihoods = np.asarray(even @ np.log(topics * alpha.sum() / usual).T)
        logs = np.log(mixtures + LEAST_OF_MIXTURE), np.log(words + LEAST_OF_WORDS)
        return np.stack([*logs, likelihoods])

    def topic_data(
        self, vocabulary: Any = None, *, X: Any = None, **documents: Any
    ) -> TopicData:
        """Return the record of the topics, with the name of the first matrix."""
        data = super().topic_data(vocabulary, X=X, **documents)
        first = {"language": self.group_names_[0]}
        return replace(data, settings={**data.settings, **first})

    @property
    def group_components_(self) -> dict[str, Array]:
        """Topics in each matrix."""
        check_is_fitted(self, "components_")
        first = self.group_names_[0]
        others = {side.name: side.components_ for side in self._others()}
        return {first: self.components_, **others}

    def _others(self) -> list[OtherCounts]:
        """Return the fitted sides of the matrices after the first."""
        n_others = len(self.group_names_) - 1
        sides = getattr(self, "sides_", [])[:n_others]
        return [side for side in sides if isinstance(side, OtherCounts)]

    def _forget_sides(self) -> None:
        self.group_names_ = self.group_names_[:1]

    _needed_state = (*SidedLDA._needed_state, "group_names_", "first_weight_")
    _saved = saved.forms(
        group_names_=saved.texts(), first_weight_=saved.number(saved.SMALLEST)
    )

    def _check_fitted(self, sizes: Mapping[str, int]) -> None:
        super()._check_fitted(sizes)
        sides = getattr(self, "sides_", [])  # one matrix alone has none
        others = [s.name for s in sides if isinstance(s, OtherCounts)]
        names = self.group_names_
        if not len(names) or list(names[1:]) != others[: len(names) - 1]:
            raise ValueError("group_names_ are not those of its sides")

    def _named(self, X: Any, *, fitting: bool) -> dict[str, Any]:
        """Return the matrices by name."""
        if isinstance(X, Mapping) and not sparse.issparse(X):
            named = {str(name): matrix for name, matrix in X.items()}
        elif isinstance(X, list | tuple) and X and all(map(_is_matrix, X)):
            named = {str(place): matrix for place, matrix in enumerate(X)}
        else:
            if fitting:
                return {"0": X}
            named = {self.group_names_[0]: X}
        if fitting:
            missing = [name for name, matrix in named.items() if matrix is None]
            if "X" in named or "self" in named:
                raise DataError("a matrix cannot have the name X or self. Rename it.")
            if missing or not named:
                raise DataError(
                    f"there are no counts of {', '.join(missing) or 'any matrix'}: "
                    "give a matrix for each name."
                )
            return named
        wrong = [name for name in named if name not in self.group_names_]
        if wrong:
            raise DataError(
                f"{wrong[0]!r} is not one of the matrices of the fit: "
                f"{', '.join(self.group_names_)}."
            )
        known = {name: matrix for name, matrix in named.items() if matrix is not None}
        if not known:
            raise DataError(
                "there are no counts of any matrix to transform. Give at least one of "
                f"{', '.join(self.group_names_)}."
            )
        return known

    def _weights(self, names: list[str]) -> dict[str, float]:
        """Return τ of every matrix."""
        weights = {} if self.weights is None else self.weights
        if not isinstance(weights, Mapping):
            if len(weights) != len(names):
                raise DataError(
                    f"weights has {len(weights)} numbers, but there are {len(names)} "
                    "matrices."
                )
            weights = dict(zip(names, weights, strict=True))
        wrong = [name for name in weights if name not in names]
        if wrong:
            raise DataError(
                f"weights has {wrong[0]!r}, but the matrices are {', '.join(names)}."
            )
        found = {name: weights.get(name, 1.0) for name in names}
        for name, value in found.items():
            if not isinstance(value, Real) or not 0 < float(value) < np.inf:
                raise DataError(f"the weight of {name!r} is {value!r}, not above 0.")
        return {name: float(value) for name, value in found.items()}


def _times(X: Any, weight: float, words: Any = None) -> Any:
    """Return a matrix, data frame or corpus with other weights of its tokens."""
    if weight == 1.0:
        return X
    if arrives_in_blocks(X):
        return as_blocks(X, words) * weight
    if hasattr(X, "counts") and hasattr(X, "vocabulary"):
        return replace(X, counts=X.counts * weight)
    return X * weight if hasattr(X, "shape") else np.asarray(X) * weight


def _is_matrix(value: Any) -> bool:
    """Whether an item of a list is a matrix by itself, not a row of one."""
    return value is None or sparse.issparse(value) or np.ndim(value) == 2


def _mean(views: Rows) -> Rows:
    """Return the mean document, (3, 1, K)."""
    return np.asarray(views.mean(axis=1, keepdims=True))


def _joined(views: Rows, usual: Rows) -> Rows:
    """Return rows of all views of documents, without what is usual, of length 1."""
    return np.hstack([normalize(view) for view in views - usual])


def _metric(matrices: list[Rows]) -> Rows:
    """Return a change of coordinates after which matrices differ alike in all.

    The covariance of the differences between matrices of the same documents, half of
    it replaced by that of equal differences.
    """
    middle = sum(matrices) / len(matrices)
    apart = np.vstack([matrix - middle for matrix in matrices])
    covariance = apart.T @ apart
    mean = max(float(np.trace(covariance)) / len(covariance), 1e-300)
    values, vectors = np.linalg.eigh(covariance / mean + np.eye(len(covariance)))
    return np.asarray(vectors / np.sqrt(values))


def _by_words(counts: Any, known: Any) -> Rows:
    """Return how like documents are to known ones by words, less what is usual."""
    X, known = (as_csr(getattr(C, "counts", C)) for C in (counts, known))
    known = known[:: -(-known.shape[0] // MOST_KNOWN)]
    idf = smooth_idf(known)
    rows = word_weights(known, idf)
    likeness = (word_weights(X, idf) @ rows.T).toarray()
    return np.asarray(normalize(likeness - (rows @ rows.T).toarray().mean(axis=0)))


def _nearest(rows: Rows, pool: Rows, n: int) -> tuple[NDArray[np.intp], Rows]:
    """Return the best candidates of each row, and their scores."""
    n = min(n, len(pool))
    crowded = np.zeros(len(pool))
    step = -(-len(pool) // MOST_COMPARED)
    n_nearest = min(NEAREST, len(pool[::step]) - 1)
    for first in range(0, len(pool) if n_nearest else 0, AT_ONCE):
        own = np.arange(first, min(first + AT_ONCE, len(pool)))
        likeness = pool[own] @ pool[::step].T
        itself = own[own % step == 0]
        likeness[itself - first, itself // step] = -np.inf
        best = np.partition(likeness, -n_nearest, axis=1)[:, -n_nearest:]
        crowded[own] = best.mean(axis=1)
    places = np.empty((len(rows), n), dtype=np.intp)
    scores = np.empty((len(rows), n))
    for first in range(0, len(rows), AT_ONCE):
        some = slice(first, first + AT_ONCE)
        likeness = rows[some] @ pool.T - crowded / 2
        places[some] = np.argsort(-likeness, axis=1, kind="stable")[:, :n]
        scores[some] = np.take_along_axis(likeness, places[some], axis=1)
    return places, scores
