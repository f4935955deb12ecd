# SPDX-License-Identifier: BSD-3-Clause
"""Terms as points of the latent space."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from topicfold.core.typing import Doubles
from topicfold.exceptions import DataError
from topicfold.models.lsi import LSI


def is_probabilistic(model: Any) -> bool:
    """Tell whether the model's vectors are distributions over topics."""
    return not isinstance(model, LSI)


def term_vectors(model: Any, mass: Doubles) -> Doubles:
    """Return the points of all terms: ``V Σ`` of LSI, or ``p(k|w)``.

    Parameters
    ----------
    model : estimator
        A fitted model.
    mass : ndarray of shape (n_components,)
        Share of every topic, up to a factor; all zero means equal shares.

    Returns
    -------
    ndarray of shape (n_terms, n_components)
        A term that no topic has gets the shares of the topics.
    """
    if isinstance(model, LSI):
        return np.asarray(model.components_.T * model.singular_values_)
    shares = mass if mass.any() else np.ones(len(mass))
    joint = np.asarray(model.components_, dtype=np.float64).T * shares
    joint[joint.sum(axis=1) <= 0] = shares
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def word_vector(model: Any, mass: Doubles, column: int) -> Doubles:
    """Return the query of one word: see `TopicIndex.query`."""
    if isinstance(model, LSI):
        n_terms = model.n_features_in_
        one = sparse.csr_matrix(([1.0], ([0], [column])), shape=(1, n_terms))
        vector: Doubles = model.transform(one)[0]
        if not vector.any():
            raise DataError("the word has no weight in the model.")
        return vector
    topics = np.asarray(model.components_[:, column], dtype=np.float64)
    joint = topics * (mass if mass.any() else 1.0)
    if joint.sum() <= 0:
        raise DataError("no topic has the word. Choose another one.")
    return np.asarray(joint / joint.sum())
