# SPDX-License-Identifier: BSD-3-Clause
"""Points of the latent space and their similarities, each an inner product.

==========  ============================  ===================  ====================
measure     score of document d           what is stored       what is multiplied
==========  ============================  ===================  ====================
cosine      q·d / (|q| |d|), in [-1, 1]   d / |d|              q / |q|
inner       q·d                           d                    q
hellinger   Σ √(q_k d_k), in [0, 1]       √d                   √q
kl          -KL(q ‖ d), at most 0         log d                q
==========  ============================  ===================  ====================

Larger is better for all. ``Σ √(q d) = 1 - H²`` with the Hellinger distance H. For KL a
share ε = 10⁻³ of the uniform distribution is mixed into d, so that a document without
a topic of the query is far away but not infinitely. The last two are for distributions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.core.typing import Array, Doubles
from topicfold.exceptions import DataError
from topicfold.models.lsi import LSI

MEASURES = ("cosine", "inner", "hellinger", "kl")
KL_FLOOR = 1e-3
# Lengths of rows with as many as a million such entries fit in float32.
LARGEST = 1e35


def check_measure(measure: str | None, model: Any) -> str:
    """Return the measure, or the default of the kind of model."""
    if measure is None:
        return "cosine" if isinstance(model, LSI) else "hellinger"
    if measure not in MEASURES:
        raise DataError(
            f"measure={measure!r} is not known. Choose one of: {', '.join(MEASURES)}."
        )
    if measure in ("hellinger", "kl") and isinstance(model, LSI):
        raise DataError(
            f"measure={measure!r} compares distributions, but the model's vectors have "
            "negative entries. Choose cosine or inner."
        )
    return measure


def stored_form(vectors: Array, measure: str) -> NDArray[np.float32]:
    """Return latent vectors of documents as they are kept, row by row."""
    rows = np.asarray(vectors, dtype=np.float64)
    _check_sign(rows, measure)
    if measure == "cosine":
        rows = _unit_rows(rows)
    elif measure == "hellinger":
        rows = np.sqrt(rows)
    elif measure == "kl":
        rows = np.log((1 - KL_FLOOR) * rows + KL_FLOOR / rows.shape[1])
    if np.abs(rows).max(initial=0.0) > LARGEST:
        raise DataError(
            f"vectors have entries beyond {LARGEST:g}, too large for an index. Divide "
            "them by a constant, or choose cosine."
        )
    return np.ascontiguousarray(rows, dtype=np.float32)


def latent_form(stored: NDArray[np.float32], measure: str) -> Doubles:
    """Return a latent vector from its stored form, up to what the measure ignores."""
    row = stored.astype(np.float64)
    if measure == "hellinger":
        return row**2
    if measure == "kl":
        row = np.maximum(np.exp(row) - KL_FLOOR / len(row), 0.0)
        return np.asarray(row / row.sum())
    return row


def query_form(vector: Doubles, measure: str) -> tuple[Doubles, float]:
    """Return what documents are multiplied by, and what is added to the product."""
    vector = np.ascontiguousarray(vector, dtype=np.float64)
    _check_sign(vector, measure)
    if measure == "cosine":
        return _unit_rows(vector[None])[0], 0.0
    if measure == "hellinger":
        return np.sqrt(vector), 0.0
    if measure == "kl":
        positive = vector[vector > 0]
        return vector, -float((positive * np.log(positive)).sum())
    return vector, 0.0


def joint_shares(model: Any, mass: Doubles, columns: Any = slice(None)) -> Doubles:
    """Return p(k, w) up to a factor, a row per term; a `mass` of zeros means equal
    shares.
    """
    shares = mass if mass.any() else np.ones(len(mass))
    return np.asarray(model.components_[:, columns], dtype=np.float64).T * shares


def term_vectors(model: Any, mass: Doubles) -> Doubles:
    """Return the points of all terms: ``V Σ`` of LSI, or ``p(k|w)``, of no topic its
    shares.
    """
    if isinstance(model, LSI):
        return np.asarray(model.components_.T * model.singular_values_)
    joint = joint_shares(model, mass)
    joint[joint.sum(axis=1) <= 0] = mass if mass.any() else 1.0
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def _unit_rows(rows: Doubles) -> Doubles:
    """Return the rows at length one; zero rows stay zero."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def _check_sign(vectors: Doubles, measure: str) -> None:
    if measure in ("hellinger", "kl") and vectors.min(initial=0.0) < 0:
        raise DataError(
            f"measure={measure!r} compares distributions, but the vectors have "
            "negative entries. Give mixtures of topics, or choose cosine or inner."
        )
