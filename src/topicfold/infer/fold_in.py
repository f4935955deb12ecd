# SPDX-License-Identifier: BSD-3-Clause
"""Fold-in: topic mixtures of documents with the topics fixed (docs/math.md §2).

Each document by itself, drawn to the training documents that are nearest to it, or
with what else is known of it. And held-out perplexity by document completion, one
convention for all models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.counts import OuterSum, normalize_rows
from topicfold.core.threads import n_threads
from topicfold.core.typing import Array
from topicfold.corpus.block_corpus import BlockCorpus
from topicfold.engine import Link, has_room, make_engine, order_of_topics
from topicfold.engine.blocks.executor import map_rows
from topicfold.engine.protocol import (
    Engine,
    OwnShare,
    array_module,
    rows_of,
    to_numpy,
)
from topicfold.metrics import completion_perplexity
from topicfold.sides.together import SideData, spread
from topicfold.steps.base import StepContext, ThetaStep, stepped_rows

# Of the background, in document completion.
SMOOTHING = 0.01

Shares = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


def fold_in(
    X: sparse.csr_matrix,
    topics: Array,
    *,
    prior: Array | float = 0.0,
    link: Link = "identity",
    step: ThetaStep | None = None,
    data: Any = None,
    max_iter: int = 200,
    tol: float = 1e-4,
    dtype: np.dtype | type = np.float32,
    device: str = "cpu",
    n_jobs: int | None = None,
) -> Array:
    """Return θ (D, K) by EM from the uniform mixture, document by document.

    A document's updates end when its mixture changes by at most `tol` (L1), so its row
    depends neither on the batch it came in nor on the number of threads. A document
    without words gets the uniform mixture.

    `topics` (K, V) are weights: φ, or ``exp E[log φ]`` with the digamma link; `prior`
    the pseudo-counts added to each document's expected counts. A θ-step makes mixtures
    of them as it does in a fit, with what it learned there; `data` are the rows that
    its `check` returned. For `device` and `n_jobs` see
    :func:`topicfold.engine.make_engine`.
    """
    n_topics = len(topics)
    if step is not None and type(step).update is ThetaStep.update:
        prior, step = step.pseudo_count, None
    if isinstance(X, BlockCorpus):
        options: dict[str, Any] = {"prior": prior, "link": link, "step": step}
        options |= {"max_iter": max_iter, "tol": tol, "dtype": dtype, "device": device}
        of_block = partial(fold_in, **options)
        place = {"threads": n_threads(n_jobs), "data": data}
        return map_rows(X, of_block, n_topics, (topics,), **place)
    engine = make_engine(
        X,
        n_topics,
        dtype=dtype,
        device=device,
        n_jobs=n_jobs,
        word_order=order_of_topics(topics),
    )
    start: Any = np.broadcast_to(1.0, (X.shape[0], n_topics))
    if step is not None:
        return _stepped_fold_in(engine, topics, step, data, max_iter, tol)
    if link == "digamma":
        # As many pseudo-counts as the posterior will have.
        start = OuterSum(engine.document_lengths / n_topics, np.asarray(prior))
    parameters = engine.pack_documents(start)
    engine.document_pass(
        parameters,
        engine.pack_topics(topics),
        prior=engine.pack_prior(prior),
        link=link,
        max_updates=max_iter,
        tol=tol,
    )
    theta = normalize_rows(engine.unpack_documents(parameters))
    theta[engine.document_lengths == 0] = 1.0 / n_topics
    return theta


def _stepped_fold_in(
    engine: Engine,
    topics: Array,
    step: ThetaStep,
    data: Any,
    max_iter: int,
    tol: float,
) -> Array:
    """Return the mixtures that a θ-step makes of documents, topics being fixed."""
    packed = engine.pack_topics(topics)
    context = StepContext.of(engine, packed)
    lengths, used = context.lengths, slice(0, engine.n_topics)

    def update(counts: Array, theta: Array, rows: NDArray[np.intp]) -> Array:
        own = rows_of(data, to_numpy(rows))
        there = replace(context, rows=rows, lengths=lengths[rows], data=own)
        new = np.zeros_like(theta)
        new[:, used] = stepped_rows(step, counts[:, used], theta[:, used], there)
        return new

    even = np.full((engine.n_documents, engine.n_topics), 1.0 / engine.n_topics)
    return _iterated(engine, packed, even, update, max_iter, tol)


def neighbor_fold_in(
    X: sparse.csr_matrix,
    topics: Array,
    *,
    edges: sparse.csr_array,
    training_theta: Array,
    neighbor_shares: Shares,
    max_iter: int,
    tol: float,
    device: str,
    n_jobs: int | None,
) -> Array:
    """Fold documents in, each drawn to its nearest training documents.

    Iterates ``θ_d = (1 − g_d) N_d / n_d + g_d m_d`` with m_d the mean of the
    neighbours' θ, held fixed, and g_d the neighbours' share, which `neighbor_shares`
    gives for lengths and degrees: the model's own θ-step for one row. `edges` are the
    weights of documents' edges to training documents. Each document stops by itself.
    """
    place = {"dtype": X.dtype, "device": device}
    all_degrees = np.asarray(edges.sum(axis=1)).ravel()
    parts: list[Array] = []
    for rows in _parts_with_room(X, len(topics), place):
        engine = make_engine(
            rows,
            len(topics),
            n_jobs=n_jobs,
            word_order=order_of_topics(topics),
            **place,
        )
        done = sum(map(len, parts))
        own_rows = slice(done, done + rows.shape[0])
        degrees = all_degrees[own_rows]
        means = np.asarray(edges[own_rows] @ training_theta.astype(np.float64))
        means /= np.maximum(degrees, 1e-300)[:, None]
        shares = neighbor_shares(engine.document_lengths, degrees)
        shares = np.where((engine.document_lengths <= 0) & (degrees > 0), 1.0, shares)
        # From the uniform mixture where there is no neighbour, as in plain fold-in.
        joined = degrees[:, None] > 0
        start = np.where(joined, 0.5 * means + 0.5 / len(topics), 1 / len(topics))
        anchors = means * shares[:, None]
        own = (1.0 - shares) / np.maximum(engine.document_lengths, 1e-30)
        parts.append(_drawn_fold_in(engine, topics, start, anchors, own, max_iter, tol))
        del engine  # before there is room for the next
    return np.concatenate(parts)


def _parts_with_room(
    X: sparse.csr_matrix, n_topics: int, options: dict[str, Any]
) -> Iterator[sparse.csr_matrix]:
    """Yield as many rows at a time as the device has room for; one in any case."""
    middle = X.shape[0] // 2
    if middle == 0 or has_room(X, n_topics, **options):
        yield X
        return
    yield from _parts_with_room(X[:middle], n_topics, options)
    yield from _parts_with_room(X[middle:], n_topics, options)


def _drawn_fold_in(
    engine: Engine,
    topics: Array,
    start: Array,
    anchors: Array,
    own: Array,
    max_iter: int,
    tol: float,
) -> Array:
    """Iterate ``θ = own · N + anchor`` from `start`."""
    anchors = engine.pack_documents(anchors)
    own = array_module(anchors).asarray(own.astype(engine.dtype))

    def update(counts: Array, theta: Array, rows: NDArray[np.intp]) -> Array:
        return counts * own[rows, None] + anchors[rows]

    packed = engine.pack_topics(topics)
    return _iterated(engine, packed, start, update, max_iter, tol)


def _iterated(
    engine: Engine,
    topics: Array,
    start: Array,
    update: Callable[[Array, Array, NDArray[np.intp]], Array],
    max_iter: int,
    tol: float,
) -> Array:
    """Iterate ``θ ← update(N, θ, rows)`` (packed); each row stops by itself."""
    theta = engine.pack_documents(start)
    xp = array_module(theta)
    active = xp.arange(len(start))
    for _ in range(max_iter):
        counts = engine.document_pass(theta, topics).counts
        updated = update(counts[active], theta[active], active)
        change = xp.abs(updated - theta[active]).sum(axis=1)
        theta[active] = updated
        active = active[change > tol]
        if len(active) == 0:
            break
    return normalize_rows(engine.unpack_documents(theta))


def document_completion(
    X: Any,
    topics: NDArray[np.floating],
    *,
    background: NDArray[np.floating] | None = None,
    random_state: int = 0,
    infer: Callable[[sparse.csr_matrix], NDArray[np.floating]] | None = None,
    parts: Sequence[tuple[Any, Array]] | None = None,
) -> float:
    """Fold in one half of each document's tokens, score the other half.

    One hundredth of a word's probability comes from `background` (the mean topic
    when not given), so that a word no topic knows does not make it infinite. `infer`
    returns the mixtures of documents; plain `fold_in` does without it. 1 is perfect,
    the number of words is uniform guessing. Where documents do not all have the same
    topics, `parts` are rows of documents with theirs.
    """
    # The package of corpora is large, and only this function needs it.
    from topicfold.corpus.splits import complete_split

    observed, held_out = complete_split(sparse.csr_matrix(X), random_state=random_state)
    observed = sparse.csr_matrix(observed)
    theta = fold_in(observed, topics) if infer is None else infer(observed)
    if background is None:
        background = topics.mean(axis=0, dtype=np.float64)
    # A little of the uniform distribution, for words the background lacks too.
    background = (1 - 1e-3) * background / background.sum() + 1e-3 / len(background)
    mixed: dict[str, Any] = {"background": background, "smoothing": SMOOTHING}
    if parts is None:
        return completion_perplexity(theta, topics, held_out, **mixed)
    total, tokens = 0.0, 0.0
    for rows, own in parts:
        words = held_out[rows]
        n = float(words.sum())
        if n > 0:
            score = completion_perplexity(theta[rows], own, words, **mixed)
            total, tokens = total + n * np.log(score), tokens + n
    return float(np.exp(total / max(tokens, 1.0)))


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
