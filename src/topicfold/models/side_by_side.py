# SPDX-License-Identifier: BSD-3-Clause
"""Several starts of a topic model, concatenated: features that vary less by chance."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from topicfold.core.counts import already_warned
from topicfold.core.parameters import whole
from topicfold.core.typing import Array
from topicfold.exceptions import DataError, SpareTopicsWarning
from topicfold.learn.loop import part_of_more
from topicfold.models.base import TopicModel, check_asked, check_documents
from topicfold.models.manifold import GraphPLSA


class SideBySide(TopicModel):
    """Several starts of one model, as one model with all their topics.

    Each start has its own topics and mixtures; a document's mixture is the
    concatenation of its mixtures in all starts, each divided by the number of starts.
    Graph models share one graph and one weight. Distances between such mixtures vary
    less from seed to seed than those of one start, and separate classes better.

    Parameters
    ----------
    model : TopicModel
        The model to start; its `random_state` is the seed of the first start.
    n_starts : int, default=3
        Number of starts.

    Attributes
    ----------
    models_ : list of TopicModel
        The fitted starts.
    components_ : ndarray of shape (n_starts · n_components, n_features_in_)
        The topics of all starts.
    doc_topics_ : ndarray of shape (n_documents, n_starts · n_components)
        Mixtures of the training documents.

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import PLSA
    >>> X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]])
    >>> SideBySide(PLSA(2, random_state=0), 3).fit(X).components_.shape
    (6, 4)
    """

    _takes_blocks = False
    model: Annotated[Any, TopicModel]
    n_starts: Annotated[int, whole(1)]

    def __init__(self, model: Any = None, n_starts: int = 3) -> None:
        self._store_parameters(locals())

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, *, embeddings: Any = None) -> Self:
        """Fit every start.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            Counts or other non-negative weights.
        y : array-like of shape (n_documents,) or None, default=None
            Labels, for models that use them.
        embeddings : array-like of shape (n_documents, n_dimensions) or None
            Vectors of the documents, for graph models.
        """
        if embeddings is not None and not isinstance(self.model, GraphPLSA):
            raise DataError(
                f"starts of {type(self.model).__name__} cannot take "
                "embeddings. Give a graph model, such as LocallyConsistentPLSA."
            )
        if "random_state" not in self.model.get_params(deep=False):
            raise DataError(
                f"{type(self.model).__name__} has no random_state, so all its starts "
                "would be the same. Give a model that starts at random."
            )
        X = self._start_fit(X)
        for name in ("_topics", "_theta"):
            self.__dict__.pop(name, None)
        self.models_: list[Any] = []
        # Features, not topics to be read.
        with already_warned(SpareTopicsWarning), part_of_more():
            for seed in self._seeds():
                # Later starts have the graph of the first.
                given = None if self.models_ else embeddings
                self.models_.append(self._start(seed).fit(X, y, embeddings=given))
        for later in self.models_[1:]:  # the first one keeps the graph
            if isinstance(later, GraphPLSA):
                later.graph = None
                del later.graph_
        return self

    def _seeds(self) -> list[int]:
        seed = self.model.random_state
        if isinstance(seed, int | np.integer):
            return [int(seed) + start for start in range(self.n_starts)]
        drawn = check_random_state(seed).randint(2**31 - 1, size=self.n_starts)
        return [int(number) for number in drawn]

    def _start(self, seed: int) -> Any:
        """Return a model to be fitted; later ones take the graph of the first."""
        model = clone(self.model).set_params(random_state=seed)
        if self.models_ and isinstance(model, GraphPLSA):
            first, name = self.models_[0], model._adapted
            model.set_params(graph=first.graph_, transform_neighbors=False)
            if hasattr(first, f"{name}_"):
                model.set_params(**{name: getattr(first, f"{name}_")})
        return model

    def fit_transform(self, X: Any, y: Any = None, *, embeddings: Any = None) -> Array:
        """Fit, and return the mixtures of the training documents."""
        self.fit(X, y, embeddings=embeddings)
        return self.stacked([m.doc_topics_ for m in self.models_])

    def transform(self, X: Any, *, embeddings: Any = None) -> Array:
        """Return the mixtures of documents, as the models infer them."""
        check_is_fitted(self, "models_")
        asked = check_asked(self, self.sees_embeddings, embeddings)
        if not self.sees_neighbors or asked != self.sees_embeddings:
            return super().transform(X)
        X = check_documents(self, X, reset=False, allow_empty=True)
        return self.fold_in_along(X, self.models_[0].edges_to(X, embeddings))

    @property
    def _uses_labels(self) -> bool:
        return bool(self.model._uses_labels)

    @property
    def sees_neighbors(self) -> bool:
        """Whether new documents are pulled towards training documents."""
        first = self.models_[0]
        if not isinstance(first, GraphPLSA):
            return False
        return bool(first.transform_neighbors) or self.sees_embeddings

    @property
    def sees_embeddings(self) -> bool:
        """Whether those documents are near by their embeddings."""
        return hasattr(self.models_[0], "embeddings_")

    def fold_in_along(self, X: Any, edges: Any) -> Array:
        """Return mixtures of checked documents, pulled towards training documents."""
        return self.stacked([m.fold_in_along(X, edges) for m in self.models_])

    def _mixtures(self, X: Any, known: Any = None) -> Array:
        return self.stacked([TopicModel._mixtures(m, X) for m in self.models_])

    @staticmethod
    def stacked(rows: list[Array]) -> Array:
        """Return the mixtures of all starts as one."""
        theta: Array = np.hstack(rows)
        theta /= len(rows)
        return theta

    @property
    def components_(self) -> Array:
        """The topics of all starts."""
        if "_topics" not in vars(self):
            self._topics = np.vstack([model.components_ for model in self.models_])
        return self._topics

    @property
    def doc_topics_(self) -> Array:
        """Mixtures of the training documents."""
        if "_theta" not in vars(self):
            self._theta = self.stacked([m.doc_topics_ for m in self.models_])
        return self._theta

    def _check_loaded(self) -> None:
        models = getattr(self, "models_", None)
        if models is None:
            return  # saved before it was fitted
        if not (
            isinstance(models, list)
            and models
            and all(isinstance(model, TopicModel) for model in models)
            and all(hasattr(model, "components_") for model in models)
            and len({model.n_features_in_ for model in models}) == 1
            and len({model.doc_topics_.shape for model in models}) == 1
        ):
            raise ValueError("its starts do not match")
        super()._check_loaded()

    @property
    def doc_lengths_(self) -> NDArray[np.float64]:  # type: ignore[override]
        """Tokens of the training documents."""
        lengths: NDArray[np.float64] = self.models_[0].doc_lengths_
        return lengths

    @property
    def word_frequencies_(self) -> NDArray[np.float64]:  # type: ignore[override]
        """Shares of the words in the training matrix."""
        shares: NDArray[np.float64] = self.models_[0].word_frequencies_
        return shares
