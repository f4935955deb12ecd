# SPDX-License-Identifier: BSD-3-Clause
"""LDA with features of documents that predict their topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from topicfold.evidence.features import Features
from topicfold.learn import Callback
from topicfold.models.lda import SidedLDA
from topicfold.models.sided import of_side
from topicfold.parts.sides import Side


class FeatureEffect(NamedTuple):
    """The effect of a feature on a topic.

    Attributes
    ----------
    feature : str
        Name of the column; ``name=level`` for a category.
    topic : int
        The topic.
    effect : float
        Change of the expected share of the topic per unit of the feature; for a level,
        its difference from the mean of all levels.
    """

    feature: str
    topic: int
    effect: float


class FeatureLDA(SidedLDA):
    """LDA whose prior depends on features of documents, which predict their topics.

    ``α_d = s m_d``, and the mean m_d is linear in what is known of a document besides
    its words (year, source, author). Numbers are scaled, categories are encoded (an
    entry may be a list of names), missing values have no effect. For intervals of
    effects use :func:`topicfold.effects.estimate_effect`.

    Parameters
    ----------
    doc_topic_prior : float, array of shape (n_components,) or None, default=None
        α before features are used. None is ``2 / n_components``, at most 0.2.

    Attributes
    ----------
    effects_ : ndarray of shape (n_columns, n_components)
        Changes of expected shares, the intercept first, for features scaled as in the
        fit; :meth:`feature_effects` has them in your units.
    effect_names_ : list of str
        Names of the columns.
    doc_topic_prior_ : ndarray of shape (n_components,)
        Prior of documents of which no feature is known: the mean of all.

    See Also
    --------
    topicfold.evidence.Features : the same as a side of any LDA, and its parameters.
    topicfold.effects.estimate_effect : effects with intervals.

    References
    ----------
    D. Mimno, A. McCallum (2008). Topic models conditioned on arbitrary features with
    Dirichlet-multinomial regression. UAI. (Their mean is not linear.)

    Examples
    --------
    >>> from topicfold import FeatureLDA
    >>> X = [[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]] * 3
    >>> source = ["paper", "paper", "blog", "blog"] * 3
    >>> model = FeatureLDA(2, random_state=0, tol=0, max_iter=30)
    >>> model = model.fit(X, features={"source": source})
    >>> blog = model.expected_topics({"source": ["blog"]})[0]
    >>> bool(blog.max() > 0.7)
    True
    """

    learn_priors = None
    _part = Features
    penalty: float | None
    n_knots: int | None
    min_documents: int
    concentration: float | None

    def __init__(
        self,
        n_components: int = 10,
        *,
        penalty: float | None = None,
        n_knots: int | None = None,
        min_documents: int = 1,
        concentration: float | None = None,
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
        self, X: Any, y: Any = None, *, features: Any = None, **side_data: Any
    ) -> Self:
        """Learn topics, mixtures and the effects of the features.

        Parameters
        ----------
        features : data frame, mapping of columns, list of mappings, array or sparse \
matrix, optional
            One row per document. A column of a frame or a mapping is a number, a
            date, a category, or a list of categories for each document. Without
            features all documents share one prior, whose shape is learned, and a
            warning says so.
        """
        if features is None:
            self._say_missing(
                "features", "all documents share one prior, which is learned as in LDA"
            )
        return super().fit(X, y, features=features, **side_data)

    def feature_effects(self) -> list[FeatureEffect]:
        """Return the effect of each feature on each topic: changes of expected shares.

        For a number, 0.02 is two percentage points more per unit; for a level, two
        percentage points more than the mean of all levels. Effects of rare levels are
        shrunk towards zero. The single parts of a spline mean little: see
        :meth:`expected_topics`. There are no intervals here, because mixtures and
        topics are treated as known: :func:`topicfold.effects.estimate_effect` has them.
        """
        names, sizes = self._side(Features).effects()
        return [
            FeatureEffect(name, k, float(size))
            for name, row in zip(names, sizes, strict=True)
            for k, size in enumerate(row)
        ]

    def expected_topics(self, features: Any) -> NDArray[np.float64]:
        """Return the expected mixtures, given the features alone: E[θ_d | x_d].

        Parameters
        ----------
        features : as in `fit`
            Any number of rows, all columns of the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            Rows on the simplex.
        """
        check_is_fitted(self, "components_")
        side = self._side(Features)
        context = self._new_context(_n_rows(features))
        return side.expected(side.check(features, context))

    effects_ = of_side(Features, "effects_", "The effects, the intercept first.")
    effect_names_ = of_side(Features, "feature_names_", "Names of rows of `effects_`.")


def _n_rows(features: Any) -> int:
    if hasattr(features, "shape"):
        return int(features.shape[0])
    if isinstance(features, dict):
        return len(next(iter(features.values()), ()))
    return len(features)
