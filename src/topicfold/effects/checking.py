# SPDX-License-Identifier: BSD-3-Clause
"""Two checks of an effect: topics from other documents, and shuffled covariates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from topicfold.core.counts import as_csr
from topicfold.core.parameters import whole_number
from topicfold.core.tables import Table
from topicfold.core.threads import one_blas_thread
from topicfold.core.typing import Doubles
from topicfold.effects.chain import Progress
from topicfold.effects.design import Design, make_design
from topicfold.effects.draws import Plan, known_documents, share_draws
from topicfold.effects.estimate import (
    check_plan,
    counts_and_words,
    design_of,
    effects_of,
    find_source,
    use_groups,
)
from topicfold.effects.regression import check_covariance, make_outcomes
from topicfold.effects.result import Effects
from topicfold.exceptions import DataError


def split_sample(
    model: Any,
    formula: str,
    data: Any,
    X: Any,
    *,
    share: float = 0.5,
    topics: Any = None,
    n_draws: int = 25,
    cluster: Any = None,
    weights: Any = None,
    robust: bool | str = True,
    random_state: int = 0,
    n_jobs: int | None = -1,
    on_progress: Progress | None = None,
) -> Effects:
    """Find topics in one part of the documents and estimate effects in the other.

    If topics are fitted to the same documents, or chosen after a look at the effects,
    they already depend on the covariates. Here no document is used for both. Documents
    of a cluster stay together.

    Parameters
    ----------
    model : estimator
        A model; it is copied, and the copy fitted.
    formula, data, X, topics, n_draws, cluster, weights, robust, random_state, n_jobs
        As in :func:`estimate_effect`; topics are given by numbers, since their names
        are not known in advance.
    share : float, default=0.5
        Part of the documents in which topics are found.
    on_progress : callable or None, default=None
        As in :func:`estimate_effect`, of the draws of topics.

    Returns
    -------
    Effects
        The effects in the other documents; `model_` is the fitted copy, and `split_`
        shows which documents its topics are from.

    References
    ----------
    N. Egami, C. Fong, J. Grimmer, M. Roberts, B. Stewart (2022). How to make causal
    inferences using texts. Science Advances 8.
    """
    plan = Plan("joint", n_draws, random_state, n_jobs, on_progress)
    check_plan(plan, least_draws=2)
    if not isinstance(share, int | float | np.number) or not 0 < share < 1:
        raise DataError(f"share is {share!r}. Give a number between 0 and 1.")
    if not hasattr(model, "get_params") or not hasattr(model, "fit"):
        raise DataError(
            f"model is {model!r}. Give a model that is not fitted, such as LDA(20)."
        )
    fitted = clone(model)
    given, words = counts_and_words(X)
    try:
        counts = as_csr(given)
    except (TypeError, ValueError) as error:
        raise DataError(
            "X is not a matrix of counts. Give the words' counts, a row per document, "
            "or a Corpus."
        ) from error
    # The whole design first: what is wrong with it should not cost a fit.
    known = {"cluster": cluster, "weights": weights}
    ids = getattr(X, "ids", None)
    whole = make_design(formula, data, counts.shape[0], ids=ids, **known)
    finding = _finding(whole, counts.shape[0], share, random_state)
    fitted.fit(counts[np.flatnonzero(finding)])
    source = find_source(fitted, X if words is not None else counts, "fixed")
    source.finding = source.of(np.flatnonzero(finding))
    design = make_design(
        formula,
        data,
        counts.shape[0],
        with_words=known_documents(source),
        among=~finding,
        **known,
    )
    effects = effects_of(
        source,
        make_outcomes(topics, source.names),
        design,
        plan,
        check_covariance(robust),
    )
    n_found = int(finding.sum())
    effects.notes = (
        f"Topics are from {n_found:,} documents, effects from {len(design.rows):,} "
        "others.",
        *effects.notes,
    )
    effects.model_, effects.split_ = fitted, finding
    return effects


def _finding(
    design: Design, n_documents: int, share: float, seed: int
) -> NDArray[np.bool_]:
    """Return which documents topics are found in, clusters as a whole."""
    rng = np.random.default_rng(seed)
    if design.clusters is None:
        chosen = rng.permutation(n_documents) < share * n_documents
    else:
        n_clusters = int(design.clusters.max()) + 1
        of_cluster = rng.permutation(n_clusters) < share * n_clusters
        chosen = np.ones(n_documents, dtype=bool)  # without a cluster: no effect
        chosen[design.rows] = of_cluster[design.clusters]
    if chosen.all() or not chosen.any():
        raise DataError(
            f"share={share} leaves one part of the {n_documents:,} documents empty."
        )
    return np.asarray(chosen)


def permutation_test(
    model: Any,
    formula: str,
    data: Any,
    covariate: str,
    *,
    X: Any = None,
    topics: Any = None,
    n_permutations: int = 999,
    n_draws: int = 25,
    cluster: Any = None,
    weights: Any = None,
    content: Any = None,
    random_state: int = 0,
    n_jobs: int | None = -1,
) -> Table:
    """Test whether a covariate and the topics are related, by permutation.

    Topics are drawn without any covariate. The residuals of the documents' mean shares,
    given the other covariates of the formula, are shuffled between documents (Freedman
    and Lane); with clusters, signs are flipped instead. F allows for unequal variances,
    as short documents have them. A p-value says how often the
    shuffled documents show a link as strong as the real one.

    Parameters
    ----------
    model, formula, data, X, topics, n_draws, cluster, weights, content, \
random_state, n_jobs
        As in :func:`estimate_effect`.
    covariate : str
        The column to test; terms with it are tested together.
    n_permutations : int, default=999
        How often to shuffle.

    Returns
    -------
    Table
        F, p, and p adjusted for the number of outcomes (by the largest F of each
        shuffle), a row per outcome.
    """
    whole_number(n_permutations, "n_permutations", 1)
    plan = Plan("joint", n_draws, random_state, n_jobs)
    check_plan(plan, least_draws=1)
    source = find_source(model, X, "joint")
    if source.draws is not None:
        raise DataError("a permutation test needs a model and counts.")
    use_groups(source, content, data, "joint")
    design = design_of(source, formula, data, cluster=cluster, weights=weights)
    design.covariate(covariate)
    tested = design.tested_columns(covariate)
    others = np.setdiff1d(np.arange(design.matrix.shape[1]), tested)
    outcomes = make_outcomes(topics, source.names)
    if source.merged:
        plan = plan._replace(method="fixed")
    # A scale does not matter.
    theta = sum(share_draws(source.of(design.rows), plan)) / n_draws
    shares = np.asarray(theta) @ np.stack([o.weights for o in outcomes], axis=1)
    rng = np.random.default_rng(random_state)
    real, shuffled = _shuffled(design, others, shares, n_permutations, rng)
    largest = shuffled.max(axis=1)
    return Table(
        {
            "topic": outcome.name,
            "words": outcome.words,
            "covariate": covariate,
            "F": float(f),
            "p": float((1 + np.sum(own >= f)) / (1 + n_permutations)),
            "p adjusted": float((1 + np.sum(largest >= f)) / (1 + n_permutations)),
        }
        for outcome, f, own in zip(outcomes, real, shuffled.T, strict=True)
    )


def _shuffled(
    design: Design,
    others: NDArray[np.int64],
    shares: Doubles,
    n_permutations: int,
    rng: np.random.Generator,
) -> tuple[Doubles, Doubles]:
    """Return F of each outcome, and of each shuffle and outcome."""
    own = np.ones(len(shares)) if design.weights is None else design.weights
    root = np.sqrt(own)[:, None]
    n, p = design.matrix.shape
    k = p - len(others)
    with one_blas_thread():
        columns = design.matrix * root
        reduced = np.linalg.qr(columns[:, others])[0]
        tested = np.delete(columns, others, axis=1)
        full = np.linalg.qr(np.c_[reduced, tested])[0]
        added = full[:, p - k :]  # what the tested columns add
        products = (added[:, :, None] * added[:, None, :]).reshape(n, k * k)
        room = 1 - (full**2).sum(axis=1)[:, None]
        values = shares * root
        rest = values - reduced @ (reduced.T @ values)

        def f(left: Doubles) -> Doubles:
            # The reduced model explains nothing of what is left but by shuffling.
            left = left - reduced @ (reduced.T @ left)
            explained = added.T @ left
            after = left - added @ explained
            if design.clusters is not None:
                variance = (after**2).sum(axis=0) / (n - p)
                return (explained**2).sum(axis=0) / k / variance
            # Variances may differ: a group of short documents has noisier shares.
            spread = (products.T @ (after / room) ** 2).T.reshape(-1, k, k)
            inverse = np.linalg.pinv(spread, hermitian=True)
            return np.einsum("ir,rij,jr->r", explained, inverse, explained) / k

        found = np.empty((n_permutations, shares.shape[1]))
        for row in found:
            if design.clusters is None:
                row[:] = f(rest[rng.permutation(n)])
            else:
                signs = rng.choice((-1.0, 1.0), int(design.clusters.max()) + 1)
                row[:] = f(rest * signs[design.clusters][:, None])
        return f(rest), found
