# SPDX-License-Identifier: BSD-3-Clause
"""Effects of covariates on topic shares, for any model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from topicfold.core.parameters import whole_number
from topicfold.core.tables import printable
from topicfold.core.typing import Doubles
from topicfold.effects.chain import Progress
from topicfold.effects.design import Design, column_of, make_design
from topicfold.effects.draws import (
    METHODS,
    Plan,
    Source,
    checked_counts,
    known_documents,
    share_draws,
)
from topicfold.effects.regression import (
    LeastSquares,
    Outcome,
    check_covariance,
    make_outcomes,
    pool,
)
from topicfold.effects.result import Effects
from topicfold.exceptions import DataError
from topicfold.known import taken_by
from topicfold.phi.slices import numbered

# Cosine of a topic's words in the fit and in the draws below which the documents do not
# determine it. Of LDA with 20 topics in short documents, intervals of topics below it
# contained the effect on their subject in 67 %, those of others in 87 %
# (benchmarks/results/effects_short.md).
SAME_TOPIC = 0.9
FEW_CLUSTERS = 20


def estimate_effect(
    model: Any,
    formula: str,
    data: Any,
    *,
    X: Any = None,
    topics: Any = None,
    method: str | None = None,
    n_draws: int = 25,
    cluster: Any = None,
    weights: Any = None,
    content: Any = None,
    robust: bool | str = True,
    random_state: int = 0,
    n_jobs: int | None = -1,
    on_progress: Progress | None = None,
) -> Effects:
    """Estimate effects of covariates on the shares of topics, with intervals.

    Shares of topics are regressed on the covariates, once for every draw of the topics,
    and the draws are pooled by Rubin's rules. Shares are not the mixtures of the model,
    which its prior biases. They are linear in the frequencies of words and unbiased for
    any mixtures. So effects are neither shrunk towards zero nor exaggerated, and
    intervals include the uncertainty of short documents and of the topics.

    Parameters
    ----------
    model : Topics, fitted model, TopicData or array
        Topics, or a model with `X`. An array (D, K) of mixtures is a point estimate,
        and its effects have no intervals. An array (S, D, K) holds draws of your own.
    formula : str
        Covariates, such as ``"~ party * year"`` or ``"~ treatment + s(date) | city"``:
        ``s(x)`` is a natural spline, ``C(x)`` treats numbers as categories, ``a * b``
        includes the interaction, and ``| city`` groups documents that are not
        independent.
    data : data frame, mapping of columns or list of mappings
        A row per document. Rows with a missing covariate are left out and counted.
    X : Corpus or {array-like, sparse matrix} of shape (n_documents, n_terms), optional
        Whole counts of the documents, in the columns of the model; `Topics` has them.
        A :class:`~topicfold.corpus.Corpus` also has the words that name topics.
    topics : int, str, list, mapping or None, default=None
        None is every topic. ``[1, 4]`` are two, ``"1 + 4"`` a sum, ``"1 - 4"`` a
        difference; a mapping names them: ``{"economy": [1, 4]}``.
    method : {"joint", "fixed", "bootstrap", "posterior"} or None, default=None
        None is "joint", or "fixed" after topics were merged by hand: draws would take
        them apart. "joint" draws the topics, by a sampler that starts at the fit.
        "fixed" treats them as known, for topics found in other documents; nothing is
        drawn.
        "bootstrap" refits the model for every draw, on documents or clusters drawn with
        replacement, starting at the fit. "posterior" draws from the model's own
        posterior, which does not use the covariates, so effects are attenuated if texts
        are short.
    n_draws : int, default=25
        Draws of the topics.
    cluster, weights : str or array-like, optional
        A column, or a value per document.
    content : str or array-like, optional
        The groups of a `StructuralLDA` fitted with content: a column, or the group of
        each document. A document's shares are those of its group's own topics.
    robust : bool or {"HC1", "HC3"}, default=True
        Standard errors that allow for unequal variances. True is HC3, or with clusters
        the jackknife over them; if few documents decide an effect, as those of a small
        group, its interval is the wider of HC3's and that of equal variances. "HC1" is
        what most programs report, also for clusters.
    random_state : int, default=0
        Seed.
    n_jobs : int, default=-1
        Threads; the result is the same for any number.
    on_progress : callable or None, default=None
        Called with (done, in all): sweeps of the sampler, of which there may be more
        than expected at first, or draws of the other methods. "fixed" draws nothing.

    Returns
    -------
    Effects
        Tables, figures and sentences.

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import LDA
    >>> from topicfold.effects import estimate_effect
    >>> rng = np.random.default_rng(0)
    >>> side = np.repeat(["left", "right"], 50)
    >>> share = np.where(side == "left", 0.8, 0.3)[:, None]
    >>> X = rng.poisson(5 * np.hstack([share, share, 1 - share, 1 - share]))
    >>> model = LDA(n_components=2, random_state=0).fit(X)
    >>> effects = estimate_effect(model, "~ side", {"side": side}, X=X)
    >>> [row["effect"] for row in effects.rows()]
    ['side: right - left', 'side: right - left']
    >>> abs(effects.rows()[0]["estimate"]) > 0.3
    True
    """
    plan = Plan(method or "joint", n_draws, random_state, n_jobs, on_progress)
    check_plan(plan, least_draws=2)
    source = find_source(model, X, plan.method)
    if method is None and source.merged:
        plan = plan._replace(method="fixed")
    use_groups(source, content, data, plan.method)
    effects = effects_of(
        source,
        make_outcomes(topics, source.names),
        design_of(source, formula, data, cluster=cluster, weights=weights),
        plan,
        check_covariance(robust),
    )
    effects.notes = (*effects.notes, *_merged(source, method))
    return effects


def effects_of(
    source: Source,
    outcomes: list[Outcome],
    design: Design,
    plan: Plan,
    covariance: str,
) -> Effects:
    """Draw topics, regress the shares of every draw and pool the regressions."""
    combine = np.stack([outcome.weights for outcome in outcomes], axis=1)
    least = LeastSquares(
        design.matrix,
        weights=design.weights,
        covariance=covariance,
        clusters=design.clusters,
    )
    plain = None
    if covariance == "HC3" and design.clusters is None:
        plain = LeastSquares(
            design.matrix, weights=design.weights, covariance="classical"
        )

    def fit(shares: Doubles) -> tuple[Doubles, ...]:
        found = least.fit(shares)
        return found if plain is None else (*found, plain.fit(shares)[1])

    chosen = replace(source.of(design.rows), clusters=design.clusters)
    draws = share_draws(chosen, plan)
    pooled = pool((fit(theta @ combine) for theta in draws), least.freedom, least.free)
    notes = (
        *design.notes,
        *_notes(pooled.n_draws, source, plan.method, covariance, least),
        *_drifted(chosen),
        *_split(chosen),
        *_taught(chosen),
    )
    changed = np.flatnonzero(chosen.kept(combine) < SAME_TOPIC).tolist()
    return Effects(design, outcomes, pooled, notes, frozenset(changed))


def check_plan(plan: Plan, least_draws: int) -> None:
    """Refuse what is not a way to make draws."""
    whole_number(plan.n_draws, "n_draws", least_draws)
    whole_number(plan.seed, "random_state", 0)
    if plan.method not in METHODS:
        known = ", ".join(METHODS)
        raise DataError(f"method is {plan.method!r}. Give one of {known}.")


def _taught(source: Source) -> Iterator[str]:
    """Say that topics were learned from what may be a covariate now."""
    own = not source.given and source.finding is None
    responses = taken_by(source.model) & {"response", "labels"}
    if own and (responses or hasattr(source.model, "classes_")):
        yield (
            "The topics were learned from a response or labels of these documents, so "
            "effects of these are exaggerated; split_sample avoids this."
        )


def use_groups(source: Source, content: Any, data: Any, method: str) -> None:
    """Take the groups of content, which the topics of some models have words of."""
    known = getattr(source.model, "content_groups_", None)
    if content is None and (not known or method == "posterior"):
        return
    if not known or method == "posterior":
        why = "is for other methods" if known else "is for topics with groups of words"
        raise DataError(f"content {why}. Leave it out.")
    if method == "bootstrap":
        raise DataError(
            "method='bootstrap' does not refit topics with content. Use method='joint'."
        )
    if content is None:
        raise DataError(
            "each group of content has its own words for a topic. Give the groups: "
            "content='column' of the data, or a group per document."
        )
    values = column_of(data, content, "content", source.documents().shape[0])
    groups = numbered(values, known, "content").astype(np.int64)
    missing = np.flatnonzero(groups < 0)
    if len(missing):
        raise DataError(
            f"content is missing in row {int(missing[0])} of the data. Give every "
            "document a group."
        )
    source.groups = groups


def design_of(source: Source, formula: str, data: Any, **options: Any) -> Design:
    """Return the design of the documents that have words."""
    return make_design(
        formula,
        data,
        _n_documents(source),
        with_words=None if source.counts is None else known_documents(source),
        ids=source.ids,
        **options,
    )


def find_source(model: Any, X: Any, method: str) -> Source:
    """Return what draws are made from."""
    if isinstance(model, np.ndarray):
        if X is not None:
            raise DataError("mixtures need no counts. Leave X out, or give a model.")
        given = np.asarray(model, dtype=np.float64)
        given = given[None] if given.ndim == 2 else given
        if given.ndim != 3 or given.shape[2] < 2:
            raise DataError(
                f"the mixtures have the shape {np.shape(model)}. Give (documents, "
                "topics), or (draws, documents, topics)."
            )
        if not np.isfinite(given).all():
            raise DataError("the mixtures have NaN or infinity.")
        names = {k: f"topic {k}" for k in range(given.shape[2])}
        return Source(draws=given, names=names)
    saved = getattr(model, "fitted_", None)
    if saved is not None and hasattr(model, "data_"):  # Topics
        record, model, counts = model.data_, saved.model, saved.counts
        if X is not None:
            raise DataError(
                "Topics has its own documents, so leave X out. For other documents, "
                "give topics.model_ and X."
            )
    else:
        counts, ids = None, getattr(X, "ids", None)
        X, words = counts_and_words(X)
        record = model.topic_data(words) if hasattr(model, "topic_data") else model
    phi = getattr(record, "topics", None)
    if phi is None or not hasattr(record, "name"):
        raise DataError(
            f"a {type(model).__name__} has no topics that are distributions over "
            "words. Give a fitted topic model, Topics or an array of mixtures."
        )
    phi = np.asarray(phi)
    if len(phi) < 2:
        raise DataError(
            "the model has only one topic, whose share is always 1. Fit more topics."
        )
    names = {number: record.name(k) for k, number in enumerate(record.numbers)}
    if X is None:
        ids = getattr(record, "doc_ids", None)
    source = Source(model, topics=phi, given=X is not None, ids=ids, names=names)
    source.words = getattr(record, "vocabulary", ())
    edits = (getattr(record, "settings", None) or {}).get("edits", ())
    source.merged = any(edit.get("action") == "merge" for edit in edits)
    if X is not None or counts is not None:
        found = counts if X is None else X
        source.counts = checked_counts(model, found, phi.shape[1])
    elif method != "posterior":
        raise DataError(
            f"method={method!r} needs the counts of the documents. Give "
            "estimate_effect(..., X=counts), or Topics that kept their documents."
        )
    return source


def counts_and_words(X: Any) -> tuple[Any, Any]:
    """Return the counts and the words of a corpus, or a matrix as it is."""
    if hasattr(X, "counts") and hasattr(X, "vocabulary"):
        return X.counts, X.vocabulary
    return X, None


def _n_documents(source: Source) -> int:
    if source.draws is not None:
        return int(source.draws.shape[1])
    if source.counts is not None:
        return int(source.counts.shape[0])
    theta = getattr(source.model, "doc_topics_", None)
    if theta is None:
        raise DataError("the model keeps no documents. Give their counts as X=.")
    return len(theta)


def _notes(
    n_draws: int, source: Source, method: str, covariance: str, least: LeastSquares
) -> Iterator[str]:
    if n_draws < 2:
        yield (
            "The mixtures are point estimates without draws, so there are no "
            "intervals. To get intervals, give a model and its counts."
        )
        return
    origin = {
        "joint": f"Intervals allow for noise in mixtures and topics ({n_draws} draws).",
        "fixed": "Intervals allow for noise in mixtures; topics are treated as known.",
        "bootstrap": "Intervals allow for noise in mixtures and topics "
        f"({n_draws} refits on bootstrap samples).",
        "posterior": f"{n_draws} draws of the mixtures from the model's posterior, "
        + (
            "which uses the covariates of the fit: effects may be exaggerated."
            if _informed(source)
            else "which does not use the covariates: effects may be attenuated."
        ),
    }
    given = source.draws is not None
    yield f"{n_draws} draws of the mixtures, given." if given else origin[method]
    if least.clusters is None:
        kind = "classical" if covariance == "classical" else f"robust ({covariance})"
        yield f"Standard errors are {kind}."
        return
    yield f"Standard errors are robust to {least.n_clusters:,} clusters."
    if least.n_clusters < FEW_CLUSTERS:
        yield (f"{least.n_clusters} clusters are few: intervals are likely too narrow.")


def _informed(source: Source) -> bool:
    """Whether the mixtures' posterior has the covariates that the model was fitted to.

    That of documents given by their counts has none.
    """
    columns = getattr(source.model, "prevalence_names_", ())
    known = len(columns) > 1 or "features" in taken_by(source.model)
    return known and not source.given


def _drifted(source: Source) -> Iterator[str]:
    """Say which topics of the draws have other words than those of the fit, and which.

    Their rows in the table are named by the words of the fit.
    """
    if source.topics is None:
        return
    far = np.flatnonzero(source.kept(np.eye(len(source.topics))) < SAME_TOPIC)
    if len(far):
        numbers = list(source.names)
        names = [str(numbers[k]) for k in far[:10]]
        if source.ends is not None and source.groups is None and len(source.words):
            drawn = source.ends[1].T[far[:10]]
            best = np.argsort(-drawn, axis=1, kind="stable")[:, :3]
            words = [[printable(source.words[w]) for w in row] for row in best]
            pairs = zip(names, words, strict=True)
            names = [f"{name} (now {', '.join(own)})" for name, own in pairs]
        topics = "Topic {} has" if len(far) == 1 else "Topics {} have"
        more = f" and {len(far) - 10} more" if len(far) > 10 else ""
        yield (
            f"{topics.format(', '.join(names) + more)} other words in the draws than "
            "in the fit, because the documents do not support these words as one "
            "topic. The effect is therefore not that of the fitted topic, and its "
            "interval is likely too narrow. Fit fewer topics, or learn them from more "
            "documents and use method='fixed'."
        )


def _merged(source: Source, method: str | None) -> Iterator[str]:
    """Say what becomes of topics that were merged by hand."""
    if not source.merged or method in ("fixed", "posterior"):
        return
    instead = "the effect on the sum of the topics before they were merged, such as "
    yield (
        "Topics were merged by hand, and draws would take them apart, so they are "
        f"treated as known. To allow for their noise, ask for {instead}topics='1 + 4'."
        if method is None
        else "Topics were merged by hand, and draws may have taken them apart. Use "
        f"method='fixed', or ask for {instead}topics='1 + 4'."
    )


def _split(source: Source) -> Iterator[str]:
    """Say which topics are one subject in pieces."""
    if source.alike is None:
        return
    pairs, numbers = np.argwhere(source.alike).tolist(), list(source.names)
    for pair in pairs[:3]:
        one, other = (numbers[k] for k in pair)
        yield (
            f"Topics {one} and {other} have nearly the same words: they are one "
            "subject split in two, so the share of either alone means little. Read "
            f"the effect on their sum, topics='{one} + {other}', or fit fewer topics."
        )
    if len(pairs) > 3:
        yield f"{len(pairs) - 3} more pairs of topics have nearly the same words."
