# SPDX-License-Identifier: BSD-3-Clause
"""Where draws of mixtures come from, for any model.

What `estimate_effect` asks of a model is small. It has topics (`components_`, rows on
the simplex), and then ``method="joint"``, ``"fixed"`` and ``"bootstrap"`` work with any
counts in its columns. For ``method="posterior"`` it has one of

- ``theta_draws(n_draws, random_state=0, X=None)``, which yields arrays (D, K) of the
  training documents, or of X: how a logistic normal offers its Laplace approximation;
- `doc_topic_prior_`: then a mixture is Dirichlet with the parameters N_dk + α_k, where
  ``N_dk = θ_dk (n_d + Σα) - α_k`` are the expected counts of its mean.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from topicfold.core.counts import row_sums
from topicfold.effects.chain import Floats, MixtureChain, dirichlet_rows, on_simplex
from topicfold.exceptions import DataError, EmptyDocumentWarning
from topicfold.gibbs.tokens import check_whole

METHODS = ("joint", "fixed", "bootstrap", "posterior")
# Sweeps before the first draw: from LDA's topics, whose documents are too pure, the
# slope of planted effects was 1.065 after 40 sweeps, 1.044 after 80, 1.025 after 160
# and 1.018 after 320 (from the true topics: 1.020).
BURN_IN = 200
# Sweeps between draws: short documents leave more to the covariates, so that successive
# states are more alike.
SPACING = (3, 10)
_TOKENS_TO_SPACING = 400
_REFIT_SWEEPS = 20
_START_SHARE = 1e-6


@dataclass
class Source:
    """What draws are made of.

    Attributes
    ----------
    model : estimator or None
        The fitted model.
    topics : array of shape (K, V) or None
        φ.
    counts : CSR matrix or None
        Whole counts of the documents to be explained.
    given : bool
        Whether the counts were given: the documents may not be those of the fit.
    rows, clusters : array of int or None
        Which of all documents these are, and the cluster of each.
    drift : array of shape (K,) or None
        After draws: how far topics are from where they started, 0 to 1.
    """

    model: Any = None
    topics: NDArray[Any] | None = None
    counts: sparse.csr_matrix | None = None
    given: bool = False
    rows: NDArray[np.int64] | None = None
    clusters: NDArray[np.int64] | None = None
    drift: Floats | None = field(default=None, repr=False)

    def of(
        self, rows: NDArray[np.int64], clusters: NDArray[np.int64] | None = None
    ) -> Source:
        """Return the source of some documents."""
        counts = None if self.counts is None else self.counts[rows]
        return Source(self.model, self.topics, counts, self.given, rows, clusters)

    def documents(self) -> sparse.csr_matrix:
        """Return the counts; refuse a source that has none."""
        if self.counts is None:
            raise DataError("the documents' counts are needed. Give them as X=.")
        return self.counts


def known_documents(source: Source) -> NDArray[np.bool_]:
    """Return which documents have words that the topics know."""
    known = (np.asarray(source.topics).max(axis=0) > 0).astype(np.float64)
    return np.asarray(source.documents() @ known).ravel() > 0


def mixture_draws(
    source: Source,
    design: Floats,
    method: str,
    *,
    n_draws: int,
    seed: int,
    n_jobs: int | None,
) -> Iterator[Floats]:
    """Yield draws of the mixtures of the rows of a design."""
    if method == "posterior":
        yield from _own_draws(source, n_draws, seed)
        return
    if method == "bootstrap":
        yield from _refitted_draws(source, design, n_draws, seed, n_jobs)
        return
    chain = start_chain(source, design, method == "joint", seed, n_jobs)
    start, mean = chain.topics, np.zeros_like(chain.topics)
    for theta in chain.draws(n_draws, BURN_IN, _spacing(source.counts)):
        mean += chain.topics
        yield theta
    source.drift = np.abs(mean / n_draws - start).sum(axis=0) / 2


def start_chain(
    source: Source,
    design: Floats,
    sample_topics: bool,
    seed: int,
    n_jobs: int | None,
    topics: NDArray[Any] | None = None,
) -> MixtureChain:
    """Return a chain at the topics of a fit, or at others that are given."""
    topics = np.asarray(source.topics if topics is None else topics, dtype=np.float64)
    counts = source.documents()
    if not sample_topics:
        # A word that no topic knows says nothing.
        known = topics.max(axis=0) > 0
        counts = sparse.csr_matrix(counts[:, known])
        topics = topics[:, known]
    else:
        used = np.flatnonzero(counts.getnnz(axis=0))
        counts, topics = sparse.csr_matrix(counts[:, used]), topics[:, used]
        topics = on_simplex(topics + _START_SHARE)
    alpha = getattr(source.model, "doc_topic_prior_", None)
    eta = getattr(source.model, "topic_word_prior_", None)
    return MixtureChain(
        counts,
        topics,
        design,
        concentration=float(np.sum(alpha)) if alpha is not None else 2.0,
        topic_word_prior=float(eta) if eta else 0.05,
        clusters=source.clusters,
        sample_topics=sample_topics,
        seed=seed,
        n_jobs=n_jobs,
    )


def _spacing(counts: Any) -> int:
    mean = counts.sum() / counts.shape[0]
    return int(np.clip(round(_TOKENS_TO_SPACING / mean), *SPACING))


def settled_topics(source: Source, seed: int, n_jobs: int | None) -> Floats:
    """Return the mean of topics drawn with mixtures that know no covariate.

    They are where the sampler of "joint" takes the topics of a fit; words without
    tokens keep the share that the fit gave them.
    """
    counts, topics = source.documents(), np.asarray(source.topics, dtype=np.float64)
    chain = start_chain(source, np.ones((counts.shape[0], 1)), True, seed, n_jobs)
    mean = np.zeros_like(chain.topics)
    n_draws = 10
    for _ in chain.draws(n_draws, BURN_IN, _spacing(counts)):
        mean += chain.topics / n_draws
    settled = topics.copy()
    used = counts.getnnz(axis=0) > 0
    left = settled[:, ~used].sum(axis=1, keepdims=True)
    settled[:, used] = mean.T * (1 - left)
    return on_simplex(settled)


def _own_draws(source: Source, n_draws: int, seed: int) -> Iterator[Floats]:
    model = source.model
    X = source.counts if source.given else None
    rows = slice(None) if X is not None else source.rows
    if hasattr(model, "theta_draws"):
        for theta in model.theta_draws(n_draws, random_state=seed, X=X):
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
    for _ in range(n_draws):
        yield dirichlet_rows(parameters, rng)


def _refitted_draws(
    source: Source, design: Floats, n_draws: int, seed: int, n_jobs: int | None
) -> Iterator[Floats]:
    """Yield a draw for each refit on documents drawn with replacement."""
    model, counts = source.model, source.documents()
    if not hasattr(model, "get_params") or "init" not in model.get_params():
        raise DataError(
            f"{type(model).__name__} cannot start at given topics, so it cannot be "
            "refitted on bootstrap samples. Use method='joint'."
        )
    rng = np.random.default_rng(seed)
    for number in range(n_draws):
        refit = clone(model).set_params(init=np.asarray(source.topics))
        sample = rng.integers(0, counts.shape[0], counts.shape[0])
        refit.fit(counts[np.sort(sample)])
        chain = start_chain(
            source, design, False, seed + number, n_jobs, refit.components_
        )
        yield from chain.draws(1, _REFIT_SWEEPS, 1)


def checked_counts(model: Any, X: Any, n_terms: int) -> sparse.csr_matrix:
    """Return whole counts in the columns of the topics, or say what is wrong."""
    if hasattr(model, "_counts"):
        with warnings.catch_warnings():
            # Documents without words are left out, and the result says so.
            warnings.simplefilter("ignore", EmptyDocumentWarning)
            counts = model._counts(X, allow_empty=True)
    else:
        counts = sparse.csr_matrix(X)
        counts.sum_duplicates()
    if counts.shape[1] != n_terms:
        raise DataError(
            f"X has {counts.shape[1]} columns, and the topics have {n_terms} words. "
            "Count with the model's vocabulary."
        )
    check_whole(counts, "the sampler of mixtures", "give the counts they came from")
    return counts.astype(np.float64)
