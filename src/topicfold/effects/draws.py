# SPDX-License-Identifier: BSD-3-Clause
"""Where draws of topics and shares come from, for any model.

`estimate_effect` needs little of a model. It has topics (`components_`, rows on the
simplex), and then ``method="joint"``, ``"fixed"`` and ``"bootstrap"`` work with any
counts in its columns. For ``method="posterior"`` it has one of

- ``theta_draws(n_draws, random_state=0, X=None)``, which yields arrays (D, K) of the
  training documents, or of X: how a logistic normal offers its Laplace approximation;
- `doc_topic_prior_`: then a mixture is Dirichlet with the parameters N_dk + α_k, where
  ``N_dk = θ_dk (n_d + Σα) - α_k`` are the expected counts of its mean.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from topicfold.core.counts import check_counts, normalize_rows, row_sums
from topicfold.core.tables import listed
from topicfold.core.typing import Doubles
from topicfold.effects.chain import (
    GroupedChain,
    Pairs,
    Progress,
    TopicChain,
    dirichlet_rows,
    same_words,
    unbiased_shares,
)
from topicfold.engine.protocol import rows_of
from topicfold.exceptions import DataError, EmptyDocumentWarning
from topicfold.gibbs.tokens import check_whole
from topicfold.known import taken_by
from topicfold.phi.slices import GroupedPhi

METHODS = ("joint", "fixed", "bootstrap", "posterior")
# Sweeps before the first draw: from LDA's topics, whose documents are a little too
# pure, the slope of planted effects (60 / 250 tokens, 20 corpora) was 1.069 / 1.045
# after 30 sweeps, 1.057 / 1.036 after 80 and 1.053 / 1.028 after 200.
BURN_IN = 100
# Sweeps between draws: with short documents successive states are more alike.
SPACING = (3, 10)
_TOKENS_TO_SPACING = 400
_START_SHARE = 1e-6


@dataclass
class Source:
    """What draws are made from."""

    model: Any = None  # fitted
    draws: Doubles | None = None  # of mixtures (S, D, K), given in place of a model
    topics: NDArray[Any] | None = None  # φ (K, V)
    counts: sparse.csr_matrix | None = None  # whole, of the documents to be explained
    given: bool = False  # were they given? They may not be those of the fit
    ids: Sequence[str] | None = None  # of the documents, if they have any
    # Names of the topics, by their numbers.
    names: Mapping[int, str] = field(default_factory=dict)
    words: Sequence[str] = ()  # of the columns
    clusters: NDArray[np.int64] | None = None  # of these documents, if they have any
    merged: bool = False  # were topics merged by hand? Draws would take them apart
    rows: NDArray[np.int64] | None = None  # which of all documents these are
    finding: Source | None = None  # other documents, which topics are drawn from
    # The group of each document, where groups have other words for a topic.
    groups: NDArray[np.int64] | None = None
    # After draws: weights of words, or of words and groups, (V, K) where topics
    # started and in their mean; and which pairs of topics are one subject.
    ends: tuple[Doubles, Doubles] | None = field(default=None, repr=False)
    alike: NDArray[np.bool_] | None = field(default=None, repr=False)

    def of(self, rows: NDArray[np.int64]) -> Source:
        """Return the source of some documents."""
        counts, groups = rows_of(self.counts, rows), rows_of(self.groups, rows)
        draws = None if self.draws is None else self.draws[:, rows]
        return replace(self, counts=counts, groups=groups, draws=draws, rows=rows)

    def kept(self, weights: Doubles) -> Doubles:
        """Return the cosines of words in the fit and in the draws, of sums of topics.

        `weights` (K, R) are those of the sums. It is one if topics were not drawn.
        """
        if self.ends is None:
            return np.ones(weights.shape[1])
        rows = [own @ weights for own in self.ends]
        sizes = [np.maximum(np.linalg.norm(own, axis=0), 1e-300) for own in rows]
        first, last = (own / size for own, size in zip(rows, sizes, strict=True))
        return np.asarray((first * last).sum(axis=0))

    def documents(self) -> sparse.csr_matrix:
        """Return the counts; refuse a source that has none."""
        if self.counts is None:
            raise DataError("the documents' counts are needed. Give them as X=.")
        return self.counts


def known_documents(source: Source) -> NDArray[np.bool_]:
    """Return which documents have words that the topics know."""
    known = (np.asarray(source.topics).max(axis=0) > 0).astype(np.float64)
    return np.asarray(source.documents() @ known).ravel() > 0


class Plan(NamedTuple):
    """How draws are made; see `estimate_effect`."""

    method: str
    n_draws: int
    seed: int
    n_jobs: int | None
    on_progress: Progress | None = None


def share_draws(source: Source, plan: Plan) -> Iterator[Doubles]:
    """Yield the documents' shares (D, K) once for every draw."""
    if source.draws is not None:
        yield from source.draws
    elif source.finding is not None:
        for topics in _topics_of_others(source.finding, plan):
            yield shares_in(source, topics)
        source.ends, source.alike = source.finding.ends, source.finding.alike
    elif plan.method == "posterior":
        yield from _counted(_own_draws(source, plan), plan)
    elif plan.method == "fixed":
        # Nothing is drawn: the noise of words is in the residuals. Two of the same
        # pool to what one is.
        if source.groups is None:
            shares = shares_in(source, source.topics)
        else:
            counts, topics, pairs = _paired(source)
            shares = pairs.shares(counts, topics)
        yield from itertools.repeat(shares, 2)
    elif plan.method == "bootstrap":
        mean = np.zeros(np.asarray(source.topics).shape)
        for topics in _counted(_refitted_topics(source, plan), plan):
            mean += topics
            yield shares_in(source, topics)
        frequencies = np.asarray(source.documents().sum(axis=0)).ravel()
        used = np.flatnonzero(frequencies)
        start = np.asarray(source.topics, dtype=np.float64)
        _keep_ends(source, start[:, used], mean[:, used], frequencies[used])
    else:
        for counts, chain, topics in _chain_draws(source, plan):
            grouped = isinstance(chain, GroupedChain)
            shares_of = chain.pairs.shares if grouped else unbiased_shares
            yield shares_of(counts, topics)


def _counted(draws: Iterator[Doubles], plan: Plan) -> Iterator[Doubles]:
    for done, draw in enumerate(draws, start=1):
        yield draw
        if plan.on_progress is not None:
            plan.on_progress(done, plan.n_draws)


def _chain_draws(
    source: Source, plan: Plan
) -> Iterator[tuple[sparse.csr_matrix, Any, Doubles]]:
    """Yield the chain's counts, the chain and its topics; then keep where it ended."""
    counts, chain = start_chain(source, plan.seed, plan.n_jobs)
    start, mean = chain.topics, np.zeros_like(chain.topics)
    mean_length = counts.sum() / counts.shape[0]
    spacing = int(np.clip(round(_TOKENS_TO_SPACING / mean_length), *SPACING))
    for topics in chain.draws(plan.n_draws, BURN_IN, spacing, plan.on_progress):
        mean += topics.T
        yield counts, chain, topics
    _keep_ends(source, start.T, mean.T, chain.frequencies)


def _keep_ends(
    source: Source, start: Doubles, drawn: Doubles, frequencies: Doubles
) -> None:
    """Keep the words that topics (K, V) of the words that occur started and ended with.

    Divided by the roots of frequencies, so that words of all topics do not decide.
    """
    root = np.sqrt(np.maximum(frequencies, 1))
    ends = np.stack((start / root, drawn / root)).transpose(0, 2, 1)
    if source.groups is None:  # of all words
        occurs = source.documents().getnnz(axis=0) > 0
        ends, some = np.zeros((2, len(occurs), ends.shape[2])), ends
        ends[:, occurs] = some
    source.ends = ends[0], ends[1]
    source.alike = same_words(drawn, frequencies)


def shares_in(source: Source, topics: Any) -> Doubles:
    """Return shares in given topics; a word that no topic has is ignored."""
    known = np.asarray(topics).max(axis=0) > 0
    counts = sparse.csr_matrix(source.documents()[:, known])
    # A refit may lack all words of a document.
    empty = counts.getnnz(axis=1) == 0
    if empty.any():
        counts = counts[~empty]
    shares = np.full((len(empty), len(topics)), 1 / len(topics))
    shares[~empty] = unbiased_shares(counts, np.asarray(topics, float)[:, known])
    return shares


def start_chain(
    source: Source, seed: int, n_jobs: int | None
) -> tuple[sparse.csr_matrix, TopicChain]:
    """Return counts of the words that occur, and a chain at the topics of the fit."""
    topics = np.asarray(source.topics, dtype=np.float64)
    counts = source.documents()
    size = len(topics)
    alpha = np.asarray(getattr(source.model, "doc_topic_prior_", None), dtype=float)
    if alpha.shape != (size,) or not (np.isfinite(alpha) & (alpha > 0)).all():
        alpha = np.full(size, 2.0 / size)
    eta = getattr(source.model, "topic_word_prior_", None)
    options: dict[str, Any] = {
        "doc_topic_prior": alpha,
        "topic_word_prior": float(eta) if eta else 0.05,
        "seed": seed,
        "n_jobs": n_jobs,
    }
    if source.groups is not None:
        counts, topics, pairs = _paired(source)
        return counts, GroupedChain(counts, topics, pairs=pairs, **options)
    used = np.flatnonzero(counts.getnnz(axis=0))
    counts, topics = sparse.csr_matrix(counts[:, used]), topics[:, used]
    start = normalize_rows(topics + _START_SHARE)
    return counts, TopicChain(counts, start, **options)


def _paired(source: Source) -> tuple[sparse.csr_matrix, Doubles, Pairs]:
    """Return counts with a column per word and group, the groups' topics, and pairs."""
    model, groups = source.model, np.asarray(source.groups)
    wide = GroupedPhi()
    counts = wide.widen(source.documents(), groups, len(model.content_groups_))
    pairs = Pairs(
        np.asarray(wide.pair_words_, dtype=np.int64),
        np.asarray(wide.pair_slices_, dtype=np.int64),
        groups,
        float(model.content_strength),
    )
    topics = np.empty((len(pairs.words), len(model.components_)))
    for number, name in enumerate(model.content_groups_):
        own = pairs.groups == number
        topics[own] = np.asarray(model.topics_of(name)).T[pairs.words[own]]
    return counts, pairs.normalized(topics + _START_SHARE).T, pairs


def _topics_of_others(source: Source, plan: Plan) -> Iterator[Doubles]:
    """Yield draws of the topics with all words of the fit.

    Words without tokens keep the share that the fit gave them.
    """
    topics = np.asarray(source.topics, dtype=np.float64)
    occurs = source.documents().getnnz(axis=0) > 0
    left = topics[:, ~occurs].sum(axis=1, keepdims=True)
    for *_, drawn in _chain_draws(source, plan):
        full = topics.copy()
        full[:, occurs] = drawn * (1 - left)
        yield np.asarray(normalize_rows(full))


def _own_draws(source: Source, plan: Plan) -> Iterator[Doubles]:
    model, seed = source.model, plan.seed
    X = source.counts if source.given else None
    rows = slice(None) if X is not None else source.rows
    if hasattr(model, "theta_draws"):
        for theta in model.theta_draws(plan.n_draws, random_state=seed, X=X):
            yield np.asarray(theta, dtype=np.float64)[rows]
        return
    alpha = getattr(model, "doc_topic_prior_", None)
    if alpha is None:
        raise DataError(
            f"{type(model).__name__} has no posterior of mixtures, so there is nothing "
            "to draw from. Use method='joint', which needs counts only."
        )
    if X is None:
        theta, lengths = model.doc_topics_[rows], model.doc_lengths_[rows]
    else:
        theta, lengths = model.transform(X), row_sums(X)
    concentration = (lengths + np.sum(alpha))[:, None]
    parameters = np.maximum(np.asarray(theta, dtype=np.float64) * concentration, 1e-9)
    rng = np.random.default_rng(seed)
    for _ in range(plan.n_draws):
        yield dirichlet_rows(parameters, rng)


def _refitted_topics(source: Source, plan: Plan) -> Iterator[Any]:
    """Yield the topics of refits on documents, or clusters, drawn with replacement."""
    model, counts = source.model, source.documents()
    if not hasattr(model, "get_params") or "init" not in model.get_params():
        raise DataError(
            f"{type(model).__name__} cannot start at given topics, so it cannot be "
            "refitted on bootstrap samples. Use method='joint'."
        )
    taken = sorted(taken_by(model))
    taken += [
        name
        for name, value in model.get_params(deep=False).items()
        if sparse.issparse(value) and value.shape[0] == value.shape[1]
    ]  # a graph of the documents
    if taken:
        raise DataError(
            "method='bootstrap' refits models of words alone, and a "
            f"{type(model).__name__} also takes {listed(taken)}. Use method='joint'."
        )
    rng = np.random.default_rng(plan.seed)
    for _ in range(plan.n_draws):
        refit = clone(model).set_params(init=np.asarray(source.topics))
        sample = _drawn_again(counts.shape[0], source.clusters, rng)
        yield refit.fit(counts[np.sort(sample)]).components_


def _drawn_again(
    n_documents: int, clusters: NDArray[np.int64] | None, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return documents drawn with replacement, clusters as a whole."""
    if clusters is None:
        return rng.integers(0, n_documents, n_documents)
    ends = np.cumsum(np.bincount(clusters))
    members = np.split(np.argsort(clusters, kind="stable"), ends[:-1])
    chosen = rng.integers(0, len(members), len(members))
    return np.concatenate([members[cluster] for cluster in chosen])


def checked_counts(model: Any, X: Any, n_terms: int) -> sparse.csr_matrix:
    """Return whole counts in the columns of the topics, or say what is wrong."""
    if hasattr(model, "_counts"):
        with warnings.catch_warnings():
            # Documents without words are left out, and the result says so.
            warnings.simplefilter("ignore", EmptyDocumentWarning)
            counts = model._counts(X, allow_empty=True)
    else:
        counts = check_counts(X, "X")
    if counts.shape[1] != n_terms:
        raise DataError(
            f"X has {counts.shape[1]} columns, and the topics have {n_terms} words. "
            "Count with the model's vocabulary."
        )
    check_whole(counts, "The sampler of mixtures", "give the counts they came from")
    return counts.astype(np.float64)
