# SPDX-License-Identifier: BSD-3-Clause
"""Mixtures of documents of which more is known than their words, topics fixed."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from topicfold.core.counts import normalize_rows
from topicfold.core.typing import Array
from topicfold.engine import make_engine, order_of_topics
from topicfold.engine.protocol import OwnShare
from topicfold.sides.together import SideData, spread

# How often evidence is weighed again, each time after one update of the documents: it
# may be about a residual, and would swing if they went all the way.
EVIDENCE_ROUNDS = 30


def mixtures_with_sides(
    X: sparse.csr_matrix,
    topics: Array,
    sides: SideData,
    *,
    max_iter: int,
    tol: float,
    device: str,
    n_jobs: int | None,
) -> Array:
    """Return θ (D, K) of documents whose sides are known, by fold-in.

    Columns of X and `topics` are those of the model, then those of other counts. As in
    a fit, a document's weights are ``(N_dk + α_dk) e_dk``. With a mixing, documents
    that have entities get their mixtures, whatever the words are. Every document is
    by itself, as long as its sides are.
    """
    context = sides.context
    shape = context.n_documents, context.n_topics
    allowed = sides.allowed()
    mask = np.ones(shape) if allowed is None else allowed.toarray()
    own = sides.prior()
    prior = np.broadcast_to(context.alpha, shape) if own is None else own
    if allowed is not None:
        prior = prior * spread(allowed)[:, None]
    order = order_of_topics(topics)
    place = {"dtype": X.dtype, "device": device, "n_jobs": n_jobs, "word_order": order}
    engine = make_engine(X, shape[1], **place)
    packed = engine.pack_topics(topics)

    def folded(start: Array, tilt: Array, most: int) -> Array:
        """Return the parameters ``N + α`` after updates from `start`."""
        parameters = engine.pack_documents(start * tilt)
        rows = OwnShare(
            engine.pack_documents(tilt), engine.pack_documents(prior * tilt)
        )
        updates: dict[str, Any] = {"max_updates": most, "tol": tol}
        engine.document_pass(parameters, packed, documents=rows, **updates)
        found = engine.unpack_documents(parameters)
        return np.divide(found, tilt, out=np.zeros_like(found), where=tilt > 0)

    found = folded(np.ones(shape), mask, max_iter)
    for _ in range(EVIDENCE_ROUNDS):
        tilt = sides.tilt(np.maximum(found - prior, 0) * mask)
        if tilt is None:
            break
        found = folded(found, mask * tilt, 1)
    theta = normalize_rows(found)
    if own is None and allowed is None and not sides.of("evidence"):
        theta[engine.document_lengths == 0] = 1.0 / shape[1]
    return _with_entities(theta, sides)


def _with_entities(theta: Array, sides: SideData) -> Array:
    """Return MΘ where documents have entities, the prior's mixture for unknown ones."""
    found = sides.one("mixing")
    if found is None:
        return theta
    side, data = found
    M = side.mixing(data, sides.context)
    prior = normalize_rows(np.array([sides.context.alpha], dtype=np.float64))
    mixed = M @ np.vstack([side.entity_topics_, prior])  # type: ignore[attr-defined]
    named = np.diff(M.indptr) > 0
    theta[named] = normalize_rows(np.asarray(mixed)[named])
    return theta
