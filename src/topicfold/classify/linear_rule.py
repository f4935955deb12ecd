# SPDX-License-Identifier: BSD-3-Clause
"""The part of a linear classifier that a saved `TopicClassifier` keeps."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from topicfold.core import saved
from topicfold.core.parameters import FittedAttributes
from topicfold.core.typing import Array
from topicfold.exceptions import ModelFileError


class LinearRule(FittedAttributes, BaseEstimator):
    """The decision of a fitted linear classifier, in a form that can be saved."""

    @classmethod
    def of(cls, classifier: Any) -> Self:
        """Return the rule of a fitted linear classifier; an error if it is not one."""
        if isinstance(classifier, cls):
            return classifier
        missing = [
            name
            for name in ("coef_", "intercept_", "classes_")
            if not hasattr(classifier, name)
        ]
        if missing:
            raise ModelFileError(
                f"A {type(classifier).__name__} cannot be saved: it has no "
                f"{', '.join(missing)}. Use a linear classifier, such as LinearSVC or "
                "LogisticRegression."
            )
        rule = cls()
        rule.coef_ = np.array(classifier.coef_)
        rule.intercept_ = np.array(
            np.broadcast_to(classifier.intercept_, len(rule.coef_))
        )
        rule.classes_ = np.array(classifier.classes_)
        return rule

    def decision_function(self, X: Any) -> Array:
        """Return the decision values."""
        values: Array = np.asarray(X) @ self.coef_.T + self.intercept_
        return values.ravel() if len(self.coef_) == 1 else values

    _saved = saved.forms(
        coef_=saved.numbers("RF", kinds="fiu"),
        intercept_=saved.numbers("R", kinds="fiu"),
    )

    def _check_loaded(self) -> None:
        n_rows, n_features = self.coef_.shape
        saved.check(self, {"R": n_rows, "F": n_features})
        n_classes = 2 if n_rows == 1 else n_rows
        if self.classes_.shape != (n_classes,):
            raise ValueError("coef_, intercept_ and classes_ do not match")
        if len(set(self.classes_.tolist())) < n_classes:
            raise ValueError("classes_ has a class twice")

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the classes."""
        values = self.decision_function(X)
        chosen = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[chosen]
        return labels
