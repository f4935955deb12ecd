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

from topicfold.core.counts import OuterSum, normalize_rows, row_sums
from topicfold.core.threads import n_threads
from topicfold.core.typing import Array
from topicfold.corpus.block_corpus import BlockCorpus
from topicfold.engine import Link, has_room, make_engine, order_of_topics
from topicfold.engine.blocks.executor import map_rows
from topicfold.engine.protocol import (
    DocumentPass,
    Engine,
    array_module,
    rows_of,
    to_numpy,
)
from topicfold.exceptions import DataError
from topicfold.metrics import cache_weight, completion_perplexity
from topicfold.parts.side_rows import SideRows
from topicfold.parts.steps import Context, ThetaStep, stepped_counts, stepped_rows
from topicfold.parts.together import SideData, mixing_of

# Of the background, in document completion.
SMOOTHING = 0.01
# How often evidence is weighed again, each time after one update of the documents: it
# may be about a residual, and would swing if they went all the way.
EVIDENCE_ROUNDS = 30

Shares = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


def fold_in(
    X: sparse.csr_matrix,
    topics: Array,
    *,
    prior: Array | float = 0.0,
    link: Link = "identity",
    step: ThetaStep | None = None,
    data: Any = None,
    start: Array | None = None,
    sides: SideData | None = None,
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
    its `check` returned, `start` where it starts. With `sides`, a document's weights
    are ``(N_dk + α_dk) e_dk`` as in a fit; columns of X and `topics` are those of the
    model, then those of other counts; a θ-step's rows then take the place of N_dk. For
    `device` and `n_jobs` see
    :func:`topicfold.engine.make_engine`.
    """
    n_topics = len(topics)
    if step is not None and sides is None and type(step).update is ThetaStep.update:
        prior, step = prior + step.pseudo_count, None
    place: dict[str, Any] = {"dtype": dtype, "device": device}
    if isinstance(X, BlockCorpus) and sides is None:
        options: dict[str, Any] = {"prior": prior, "link": link, "step": step}
        of_block = partial(fold_in, **options, max_iter=max_iter, tol=tol, **place)
        own = {"threads": n_threads(n_jobs), "data": data}
        return map_rows(X, of_block, n_topics, (topics,), **own)
    place |= {"n_jobs": n_jobs, "word_order": order_of_topics(topics)}
    updates: dict[str, Any] = {"max_updates": max_iter, "tol": tol}
    if step is not None:
        # In float64: some steps come to rest slowly, and where one stops would depend
        # on the last bits, which depend on the batch.
        place["dtype"] = np.float64
    if step is not None and sides is None:
        theta = _stepped(X, topics, step, data, start, max_iter, tol, place)
        return theta.astype(dtype, copy=False)
    engine = make_engine(X, n_topics, **place)
    if sides is not None:
        packed, beside = engine.pack_topics(topics), None
        if step is not None:
            beside = step, Context.of(engine, packed)
            beside[1].data = data
        theta = _with_sides(engine, packed, sides, link, updates, beside)
        return theta.astype(dtype, copy=False)
    begin: Any = np.broadcast_to(1.0, (X.shape[0], n_topics))
    if link == "digamma":
        # As many pseudo-counts as the posterior will have.
        begin = OuterSum(engine.document_lengths / n_topics, np.asarray(prior))
    parameters = engine.pack_documents(begin)
    engine.document_pass(
        parameters,
        engine.pack_topics(topics),
        prior=engine.pack_prior(prior),
        link=link,
        **updates,
    )
    return _evened(normalize_rows(engine.unpack_documents(parameters)), engine)


def _evened(theta: Array, engine: Engine) -> Array:
    theta[engine.document_lengths == 0] = 1.0 / engine.n_topics
    return theta


def _stepped(
    X: sparse.csr_matrix,
    topics: Array,
    step: ThetaStep,
    data: Any,
    start: Array | None,
    max_iter: int,
    tol: float,
    place: dict[str, Any],
) -> Array:
    """Return the mixtures that a θ-step makes of documents, topics being fixed.

    As many documents at a time as the device has room for; each stops by itself.
    """
    n_topics, parts = len(topics), []
    for rows in _ranges_with_room(X, slice(0, X.shape[0]), n_topics, place):
        engine = make_engine(X[rows], n_topics, **place)
        even = np.full((engine.n_documents, n_topics), 1.0 / n_topics)
        begin = even if start is None else start[rows]
        own = rows_of(data, rows)
        parts.append(_iterated(engine, topics, step, own, begin, max_iter, tol))
        del engine  # before there is room for the next
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _ranges_with_room(
    X: sparse.csr_matrix, rows: slice, n_topics: int, place: dict[str, Any]
) -> Iterator[slice]:
    """Yield as many rows at a time as the device has room for; one in any case."""
    middle = (rows.start + rows.stop) // 2
    where = {name: place[name] for name in ("dtype", "device")}
    if middle == rows.start or has_room(X[rows], n_topics, **where):
        yield rows
        return
    for half in (slice(rows.start, middle), slice(middle, rows.stop)):
        yield from _ranges_with_room(X, half, n_topics, place)


def _iterated(
    engine: Engine,
    topics: Array,
    step: ThetaStep,
    data: Any,
    start: Array,
    max_iter: int,
    tol: float,
) -> Array:
    """Iterate a step from `start`."""
    packed, theta = engine.pack_topics(topics), engine.pack_documents(start)
    context = Context.of(engine, packed)
    lengths, used = context.lengths, slice(0, engine.n_topics)
    xp = array_module(theta)
    active = xp.arange(len(start))
    for _ in range(max_iter):
        counts = engine.document_pass(theta, packed).counts[active]
        own = rows_of(data, to_numpy(active))
        there = replace(context, rows=active, lengths=lengths[active], data=own)
        old, new = theta[active], xp.zeros_like(theta[active])
        # Of one row a part of the columns is contiguous, of several it is not, and a
        # kernel that is compiled for one of them adds up in another order.
        plain = xp.ascontiguousarray(old[:, used])
        found = xp.ascontiguousarray(counts[:, used])
        new[:, used] = stepped_rows(step, found, plain, there)
        theta[active] = new
        active = active[xp.abs(new - old).sum(axis=1) > tol]
        if len(active) == 0:
            break
    return normalize_rows(engine.unpack_documents(theta))


def settled(
    engine: Engine, topics: Array, known: SideRows, link: Link, updates: dict[str, Any]
) -> tuple[Any, DocumentPass]:
    """Return the weights of documents under fixed topics, and the pass made with them.

    Evidence takes part after documents have settled by their words.
    """
    context = known.now.context
    ones = np.broadcast_to(1.0, (engine.n_documents, engine.n_topics))
    rows = known.weights(engine.pack_documents(ones), None, None)
    # Sides have learned nothing yet before the first batch of a fit.
    knows = context.iteration > 0 or not context.fitting
    evidence, expected = bool(knows and known.now.of("evidence")), link == "digamma"
    if expected:
        weights = known.expected(rows)
        done = engine.document_pass(weights, topics)
    else:
        prior, weights = engine.pack_prior(context.alpha), rows
        options: dict[str, Any] = {"prior": prior, "documents": known.own, **updates}
        done = engine.document_pass(weights, topics, **options)
    for number in range(EVIDENCE_ROUNDS * (evidence + expected)):
        said = evidence and number >= EVIDENCE_ROUNDS * expected
        rows = known.weights(done.counts, done.counts if said else None, None)
        weights = known.expected(rows) if expected else rows
        done = engine.document_pass(weights, topics)
    return weights, done


def _settled_by_steps(
    engine: Engine,
    topics: Array,
    known: SideRows,
    beside: tuple[ThetaStep, Context],
    updates: dict[str, Any],
) -> Any:
    """Return the weights of documents that a θ-step and sides make in turns.

    First without evidence, as in `settled`. A document that an update has hardly
    changed stays as it is, for good: the next one would be the same.
    """
    ones = np.broadcast_to(1.0, (engine.n_documents, engine.n_topics))
    weights = known.weights(engine.pack_documents(ones), None, None)
    rounds = [updates["max_updates"]] + [EVIDENCE_ROUNDS] * bool(
        known.now.of("evidence")
    )
    for said, n_rounds in enumerate(rounds):
        for _ in range(n_rounds):
            counts = engine.document_pass(weights, topics).counts
            old = known.without_evidence(weights)
            rows = stepped_counts(*beside, counts, old)
            new = known.weights(rows, counts if said else None, None)
            both, tol = (new, weights), (updates["tol"],)
            (moving,) = engine.gather_rows(_moving_rows, both, tol)
            weights = engine.map_rows(_moved_rows, both, tol)
            if not moving:
                break
    return weights


def _moves(new: Array, old: Array, tol: float) -> Any:
    """Return which mixtures change by more than `tol` (L1)."""
    change = normalize_rows(np.array(new)) - normalize_rows(np.array(old))
    return np.abs(change).sum(axis=1) > tol


def _moving_rows(
    rows: slice, lengths: Any, arrays: list[Any], data: Any, tol: float
) -> tuple[int]:
    new, old = map(to_numpy, arrays)
    return (int(_moves(new, old, tol).sum()),)


def _moved_rows(
    rows: slice, lengths: Any, arrays: list[Any], data: Any, tol: float
) -> Array:
    new, old = arrays
    moves = array_module(new).asarray(_moves(to_numpy(new), to_numpy(old), tol))
    return array_module(new).where(moves[:, None], new, old)


def _with_sides(
    engine: Engine,
    topics: Array,
    sides: SideData,
    link: Link,
    updates: dict[str, Any],
    beside: tuple[ThetaStep, Context] | None = None,
) -> Array:
    """Return θ (D, K) of documents whose sides are known, with the θ-step beside them.

    With a mixing, documents that have entities get their mixtures, whatever the words
    are. Every document is by itself, as long as its sides are.
    """
    known = SideRows(engine, sides.without("mixing"))
    if beside is not None:
        rows = _settled_by_steps(engine, topics, known, beside, updates)
    else:
        rows, done = settled(engine, topics, known, link, updates)
        if link == "digamma" or sides.of("evidence"):
            rows = known.weights(done.counts, None, None)
    theta = known.doc_topics(rows)
    if known.own is None:
        theta = _evened(theta, engine)
    return _with_entities(theta, sides)


def _with_entities(theta: Array, sides: SideData) -> Array:
    """Return MΘ where documents have entities, the prior's mixture for unknown ones."""
    found = sides.one("mixing")
    if found is None:
        return theta
    side, data = found
    M = mixing_of(side, data, sides.context)
    prior = normalize_rows(np.array([sides.context.alpha], dtype=np.float64))
    mixed = M @ np.vstack([side.entity_topics_, prior])  # type: ignore[attr-defined]
    named = np.diff(M.indptr) > 0
    theta[named] = normalize_rows(np.asarray(mixed)[named])
    return theta


class _Drawn(ThetaStep):
    """``θ_d = (1 − g_d) N_d / n_d + g_d m_d``; rows are (1 − g_d) / n_d and g_d m_d."""

    normalized = True

    def update(self, counts: Array, theta: Array, context: Context) -> Array:
        rows = context.xp.asarray(context.data)
        return counts * rows[:, :1] + rows[:, 1:]


def neighbor_fold_in(
    X: sparse.csr_matrix,
    topics: Array,
    *,
    edges: sparse.csr_array,
    training_theta: Array,
    neighbor_shares: Shares,
    **options: Any,
) -> Array:
    """Fold documents in, each drawn to its nearest training documents.

    Iterates ``θ_d = (1 − g_d) N_d / n_d + g_d m_d`` with m_d the mean of the
    neighbours' θ, held fixed, and g_d the neighbours' share, which `neighbor_shares`
    gives for lengths and degrees: the model's own θ-step for one row. `edges` are the
    weights of documents' edges to training documents; `options` those of `fold_in`.
    """
    lengths = row_sums(X)
    degrees = np.asarray(edges.sum(axis=1)).ravel()
    means = np.asarray(edges @ training_theta.astype(np.float64))
    means /= np.maximum(degrees, 1e-300)[:, None]
    shares = neighbor_shares(lengths, degrees)
    shares = np.where((lengths <= 0) & (degrees > 0), 1.0, shares)
    # From the uniform mixture where there is no neighbour, as in plain fold-in.
    joined = degrees[:, None] > 0
    start = np.where(joined, 0.5 * means + 0.5 / len(topics), 1 / len(topics))
    own = (1.0 - shares) / np.maximum(lengths, 1e-30)
    rows = np.column_stack([own, means * shares[:, None]]).astype(X.dtype)
    return fold_in(
        X, topics, step=_Drawn(), data=rows, start=start, dtype=X.dtype, **options
    )


def document_completion(
    X: Any,
    topics: NDArray[np.floating],
    *,
    background: NDArray[np.floating] | None = None,
    random_state: int = 0,
    infer: Callable[[sparse.csr_matrix], NDArray[np.floating]] | None = None,
    parts: Sequence[tuple[Any, Array]] | None = None,
    cache: float | str | None = None,
) -> float:
    """Fold in one half of each document's tokens, score the other half.

    One hundredth of a word's probability comes from `background` (the mean topic
    when not given), so that a word no topic knows does not make it infinite. `infer`
    returns the mixtures of documents; plain `fold_in` does without it. 1 is perfect,
    the number of words is uniform guessing. Where documents do not all have the same
    topics, `parts` are rows of documents with theirs. `cache` is the weight of a
    document's own words, or "learned".
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
    if cache is not None:
        weight = _cache_weight(cache, theta, topics, observed, parts)
        mixed |= {"cache": weight, "observed": observed}
    if parts is None:
        return completion_perplexity(theta, topics, held_out, **mixed)
    total, tokens = 0.0, 0.0
    for rows, own in parts:
        words = held_out[rows]
        n = float(words.sum())
        if n > 0:
            if cache is not None:
                mixed["observed"] = observed[rows]
            score = completion_perplexity(theta[rows], own, words, **mixed)
            total, tokens = total + n * np.log(score), tokens + n
    return float(np.exp(total / max(tokens, 1.0)))


def check_cache(cache: Any) -> None:
    """Refuse what is not the weight of a word cache."""
    if cache is None or (isinstance(cache, str) and cache == "learned"):
        return
    if isinstance(cache, str | bool) or not 0 <= cache <= 1:
        raise DataError(f'cache={cache!r}; give a weight from 0 to 1, or "learned".')


def _cache_weight(
    cache: float | str, theta: Any, topics: Any, observed: Any, parts: Any
) -> float:
    check_cache(cache)
    if not isinstance(cache, str):
        return float(cache)
    if parts is None:
        return cache_weight(theta, topics, observed)
    weights = [
        (cache_weight(theta[rows], own, observed[rows]), float(observed[rows].sum()))
        for rows, own in parts
    ]
    return sum(w * n for w, n in weights) / max(sum(n for _, n in weights), 1.0)
