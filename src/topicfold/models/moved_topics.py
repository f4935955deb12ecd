# SPDX-License-Identifier: BSD-3-Clause
"""Topics of a fitted model, moved to what given mixtures imply (docs/math.md §7)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from topicfold.core.typing import Array
from topicfold.infer.two_phase import digamma_weights, expected_topic_counts
from topicfold.learn.fstm import updated_topics
from topicfold.models.base import TopicModel
from topicfold.models.fstm import FSTM
from topicfold.models.lda import LDA


def set_topics(
    base: Any, X: sparse.csr_matrix, theta: Any, *, n_jobs: int | None = None
) -> None:
    """Give a fitted model the topics that mixtures θ* (sparse) of X imply.

    Changes `components_`, and `topic_totals_` where the model has them, in place.
    """
    if isinstance(base, FSTM):
        old = np.ascontiguousarray(base.components_.T, dtype=X.dtype)
        base.components_ = np.ascontiguousarray(updated_topics(X, theta, old).T)
    else:
        if isinstance(base, LDA):
            prior = base.topic_word_prior_
            theta, weights = digamma_weights(theta), base._topic_weights()
        else:
            prior = base._topic_pseudo_count()
            weights = base.components_
        counts = expected_topic_counts(
            X, theta.toarray(), weights, device=base.device, n_jobs=n_jobs
        )
        counts += prior
        totals = counts.sum(axis=1, dtype=np.float64)
        unused = totals <= 0
        counts /= np.where(unused, 1.0, totals)[:, None].astype(counts.dtype)
        counts[unused] = base.components_[unused]
        base.components_ = counts
        if hasattr(base, "topic_totals_"):
            base.topic_totals_ = totals


def plain_mixtures(base: Any, X: sparse.csr_matrix) -> Array:
    """Return mixtures by the base's inference, without a graph model's neighbours."""
    if isinstance(base, FSTM):
        return base._mixtures(X)
    return TopicModel._mixtures(base, X)
