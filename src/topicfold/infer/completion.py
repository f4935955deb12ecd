# SPDX-License-Identifier: BSD-3-Clause
"""Held-out perplexity by document completion, one convention for all models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.infer.fold_in import fold_in
from topicfold.metrics import completion_perplexity

SMOOTHING = 0.01


def document_completion(
    X: Any,
    topics: NDArray[np.floating],
    *,
    background: NDArray[np.floating] | None = None,
    random_state: int = 0,
    infer: Callable[[sparse.csr_matrix], NDArray[np.floating]] | None = None,
    **fold_in_options: Any,
) -> float:
    """Fold in one half of each document's tokens, score the other half.

    One hundredth of a word's probability comes from `background` (the mean topic
    when not given), so that a word no topic knows does not make it infinite.

    `infer` returns the mixtures of documents; without it they are folded in with
    `fold_in_options`, in which ``topic_weights`` replaces `topics` (for models whose
    inference uses other weights). 1 is perfect, the number of words is uniform
    guessing.
    """
    # The package of corpora is large, and only this function needs it.
    from topicfold.corpus.splits import complete_split

    observed, held_out = complete_split(sparse.csr_matrix(X), random_state=random_state)
    if infer is not None:
        theta = infer(sparse.csr_matrix(observed))
    else:
        weights = fold_in_options.pop("topic_weights", topics)
        theta = fold_in(observed, weights, **fold_in_options)
    if background is None:
        background = topics.mean(axis=0, dtype=np.float64)
    # A little of the uniform distribution, for words the background lacks too.
    background = (1 - 1e-3) * background / background.sum() + 1e-3 / len(background)
    return completion_perplexity(
        theta, topics, held_out, background=background, smoothing=SMOOTHING
    )
