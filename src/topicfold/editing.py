# SPDX-License-Identifier: BSD-3-Clause
"""Editing topics by hand: rename, merge, drop, split.

Every function returns a new model and leaves the given one as it is. The new model
notes what was done in ``edits_``, names in ``topic_names_``; both are saved with it.
Topics keep their numbers through any chain of edits: a merge or a drop leaves a gap, a
split takes new numbers. Saving, and `renumber_topics`, close the gaps. An edited model
is no longer a maximum of its objective: ``objective_history_`` is that of the fit.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from topicfold.core.counts import as_csr, normalize_rows
from topicfold.core.numbering import fitted_size, renumbered, topic_numbers
from topicfold.core.typing import Array
from topicfold.exceptions import DataError, DataWarning
from topicfold.topic_data import row_of

LOG_FORMAT, LOG_VERSION = "topicfold-edits", 2
# Fitted attributes with one entry per topic.
_PER_TOPIC = ("topic_totals_", "doc_topic_prior_")
# A mixture with less than this left after a drop, or of a word, says nothing.
_NOTHING_LEFT = 1e-12


def rename_topics(model: Any, names: Mapping[int, str]) -> Any:
    """Give topics names; the topics themselves stay as they are.

    Parameters
    ----------
    model : estimator
        A fitted model with topics.
    names : mapping of int to str
        Name of each topic to rename; an empty name takes the old one away.

    Examples
    --------
    >>> from topicfold import PLSA
    >>> model = PLSA(2, random_state=0).fit([[4, 1, 0], [0, 1, 3]])
    >>> rename_topics(model, {1: "weather"}).topic_names_
    ['', 'weather']
    """
    edited = _copy(model)
    for topic, name in names.items():
        (row,) = _rows(edited, [topic])
        if not isinstance(name, str):
            raise DataError(f"The name of topic {topic} is {name!r}. Give a string.")
        edited.topic_names_[row] = name.strip()
        _note(edited, action="rename", topic=int(topic), name=name.strip())
    return edited


def merge_topics(model: Any, topics: Sequence[int], *, name: str = "") -> Any:
    """Make one topic of several.

    Its word distribution is their mean, weighted by their sizes; its share of every
    document is the sum of theirs. It has the smallest of their numbers; the other
    numbers are free until the topics are renumbered.

    Parameters
    ----------
    model : estimator
        A fitted model with topics.
    topics : sequence of int
        At least two topics.
    name : str, default=""
        Name of the new topic; default: the names they had, joined.

    Examples
    --------
    >>> from topicfold import PLSA
    >>> model = PLSA(3, random_state=0).fit([[4, 1, 0], [0, 1, 3], [2, 0, 2]])
    >>> merge_topics(model, [0, 2]).components_.shape
    (2, 3)
    """
    topics = list(topics)
    chosen = _rows(model, topics)
    if not isinstance(name, str):
        raise DataError(f"The name of a topic is a text, not {name!r}.")
    if len(chosen) < 2:
        raise DataError("Give at least two different topics to merge.")
    check_unbound(model)
    sizes = model.topic_data().topic_sizes()[chosen]
    edited = _copy(model)
    first = chosen[0]
    shares = sizes / sizes.sum() if sizes.any() else None
    merged = np.average(edited.components_[chosen], axis=0, weights=shares)
    edited.components_[first] = normalize_rows(merged[None])[0]
    if hasattr(edited, "doc_topics_"):
        edited.doc_topics_[:, first] = edited.doc_topics_[:, chosen].sum(axis=1)
    for attribute in _per_topic(edited):
        getattr(edited, attribute)[first] = getattr(edited, attribute)[chosen].sum()
    old = [edited.topic_names_[k] for k in chosen if edited.topic_names_[k]]
    edited.topic_names_[first] = name.strip() or " + ".join(old)
    _remove(edited, chosen[1:])
    name = edited.topic_names_[first]
    _note(edited, action="merge", topics=_sorted(topics), name=name)
    return edited


def drop_topics(model: Any, topics: Iterable[int]) -> Any:
    """Remove topics; what is left of every mixture is scaled to sum 1.

    A document that had nothing but the dropped topics gets the uniform mixture. The
    other topics keep their numbers until they are renumbered.

    Parameters
    ----------
    model : estimator
        A fitted model with topics.
    topics : iterable of int
        The topics; at least one other must stay.

    Examples
    --------
    >>> from topicfold import PLSA
    >>> model = PLSA(3, random_state=0).fit([[4, 1, 0], [0, 1, 3], [2, 0, 2]])
    >>> drop_topics(model, [1]).doc_topics_.sum(axis=1).round(6).tolist()
    [1.0, 1.0, 1.0]
    """
    topics = list(topics)
    chosen = _rows(model, topics)
    if not chosen:
        raise DataError("Give at least one topic to drop.")
    if len(chosen) == len(model.components_):
        raise DataError("All topics would be dropped. Keep at least one.")
    check_unbound(model)
    edited = _copy(model)
    _remove(edited, chosen)
    if hasattr(edited, "doc_topics_"):
        empty = edited.doc_topics_.sum(axis=1) < _NOTHING_LEFT
        edited.doc_topics_[empty] = 1.0
        edited.doc_topics_ = normalize_rows(edited.doc_topics_)
    _note(edited, action="drop", topics=_sorted(topics))
    return edited


def split_topic(
    model: Any,
    topic: int,
    X: Any,
    *,
    n_topics: int = 2,
    max_iter: int = 200,
    random_state: Any = 0,
) -> Any:
    """Split a topic into several.

    The counts that belong to the topic, ``X_dw p(k|d,w)``, are a corpus of their own;
    PLSA finds `n_topics` topics in it. The first takes the topic's number, the others
    the numbers after the last one; all other topics stay as they are.

    Parameters
    ----------
    model : estimator
        A fitted model with topics.
    topic : int
        The topic to split.
    X : sparse matrix of shape (n_documents, n_terms)
        The training documents, in the order of `fit`.
    n_topics : int, default=2
        Number of topics to make of it.
    max_iter : int, default=200
        Maximum number of EM iterations.
    random_state : int, RandomState instance or None, default=0
        Seed of the start.

    Examples
    --------
    >>> from topicfold import PLSA
    >>> X = [[4, 4, 0, 0], [0, 0, 3, 3], [0, 0, 2, 2], [5, 4, 0, 0]]
    >>> model = PLSA(1, random_state=0).fit(X)
    >>> split_topic(model, 0, X).doc_topics_.max(axis=1).round(3).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    from topicfold import PLSA

    check_unbound(model)
    (row,) = _rows(model, [topic])
    most = model.components_.shape[1]
    if type(n_topics) is not int or not 2 <= n_topics <= max(most, 2):
        raise DataError(
            "n_topics must be a whole number from 2 to the number of words, "
            f"{most}. Got {n_topics!r} instead."
        )
    counts = _counts_of_topic(model, row, X)
    if counts.nnz == 0:
        raise DataError(f"No word of these documents belongs to topic {topic}.")
    inner = PLSA(n_topics, max_iter=max_iter, random_state=random_state)
    has_words = np.diff(counts.indptr) > 0
    within = np.full((counts.shape[0], n_topics), 1.0 / n_topics)
    within[has_words] = inner.fit(counts[has_words]).doc_topics_
    edited = _copy(model)
    forget_sides(edited)
    dtype = edited.components_.dtype
    share = edited.doc_topics_[:, [row]] * within
    edited.components_ = _spread(edited.components_, row, inner.components_, dtype)
    edited.doc_topics_ = _spread(edited.doc_topics_.T, row, share.T, dtype).T.copy()
    parts = inner.topic_data().topic_sizes()
    for attribute in _per_topic(model):
        values = getattr(edited, attribute)
        pieces = values[row] * parts
        setattr(edited, attribute, _spread(values, row, pieces, values.dtype))
    edited.topic_names_ = [*edited.topic_names_, *[""] * (n_topics - 1)]
    edited.topic_names_[row] = ""
    set_size(edited)
    _note(edited, action="split", topic=int(topic), n_topics=n_topics)
    return edited


def renumber_topics(model: Any) -> Any:
    """Number the topics 0, 1, 2, … in the order of the rows of ``components_``.

    Saving does the same.

    Examples
    --------
    >>> from topicfold import PLSA
    >>> model = PLSA(3, random_state=0).fit([[4, 1, 0], [0, 1, 3], [2, 0, 2]])
    >>> dropped = drop_topics(model, [0])
    >>> numbers_of(dropped), numbers_of(renumber_topics(dropped))
    ([1, 2], [0, 1])
    """
    check_is_fitted(model, "components_")
    return renumbered(model)


def numbers_of(model: Any) -> list[int]:
    """Return the number of every row of ``components_``; see `renumber_topics`."""
    check_is_fitted(model, "components_")
    return topic_numbers(getattr(model, "edits_", ()), len(model.components_))


def apply_edits(
    model: Any, edits: Iterable[Mapping[str, Any]], *, X: Any = None
) -> Any:
    """Apply edits as ``edits_`` records them, one after the other.

    Parameters
    ----------
    model : estimator
        A fitted model with topics.
    edits : iterable of mapping
        ``{"action": "rename", "topic": 3, "name": "space"}``, ``{"action": "merge",
        "topics": [1, 4]}``, ``{"action": "drop", "topics": [2]}``, ``{"action":
        "split", "topic": 0, "n_topics": 2}`` or ``{"action": "renumber"}``. Topics keep
        their numbers from the first edit to the last, unless they are renumbered.
    X : sparse matrix or None, default=None
        The training documents; needed for a split.

    Examples
    --------
    >>> from topicfold import PLSA
    >>> model = PLSA(2, random_state=0).fit([[4, 1, 0], [0, 1, 3]])
    >>> edited = apply_edits(model, [{"action": "rename", "topic": 0, "name": "a"}])
    >>> edited.edits_
    [{'action': 'rename', 'topic': 0, 'name': 'a'}]
    """
    for number, edit in enumerate(edits):
        try:
            model = _apply(model, dict(edit), X)
        except (KeyError, TypeError, ValueError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else error
            raise DataError(
                f"Edit {number} ({edit_in_words(edit)}): {reason}"
            ) from error
    return model


def edit_log(model: Any) -> dict[str, Any]:
    """Return what a person did to the topics of a model, for `apply_edits`.

    JSON can hold it. `edits_of` reads it again; so does ``topicfold edit --apply``.

    Examples
    --------
    >>> from topicfold import PLSA
    >>> model = PLSA(3, random_state=0).fit([[4, 1, 0], [0, 1, 3], [2, 0, 2]])
    >>> edit_log(drop_topics(model, [1]))["edits"]
    [{'action': 'drop', 'topics': [1]}]
    """
    check_is_fitted(model, "components_")
    edits = [dict(edit) for edit in getattr(model, "edits_", ())]
    n_topics = fitted_size(edits, len(model.components_))
    head = {"format": LOG_FORMAT, "version": LOG_VERSION, "topics": n_topics}
    return head | {"edits": edits}


def edits_of(log: Any, model: Any, source: str = "the log") -> list[dict[str, Any]]:
    """Return the edits of a log, which may be applied to this model.

    Parameters
    ----------
    log : mapping
        What `edit_log` returned or the report exported.
    model : estimator
        The model to edit; it must have as many topics as the one of the log had before
        its first edit.
    source : str, default="the log"
        Where the log comes from, for errors.
    """
    form = f'{{"format": "{LOG_FORMAT}", "version": {LOG_VERSION}, "edits": […]}}'
    if not isinstance(log, Mapping) or log.get("format") != LOG_FORMAT:
        raise DataError(f"{source} has no edits. Give {form}, as the report exports.")
    if log.get("version") != LOG_VERSION:
        raise DataError(
            f"{source} has version {log.get('version')!r} of the edits; this topicfold "
            f"reads {LOG_VERSION}. Use the version that wrote it."
        )
    edits = log.get("edits")
    if not isinstance(edits, list) or not all(isinstance(e, Mapping) for e in edits):
        raise DataError(
            f"{source} is damaged: its edits are not a list of objects. Give {form}."
        )
    n_topics = len(model.components_)
    if log.get("topics", n_topics) != n_topics:
        raise DataError(
            f"{source} has edits of a model with {log['topics']} topics, but this one "
            f"has {n_topics}. Apply them to the model that was edited."
        )
    return [dict(edit) for edit in edits]


def edit_in_words(edit: Mapping[str, Any]) -> str:
    """Return an edit as a person would say it: merge 3, 99."""
    if edit.get("action") == "renumber":
        return "number the topics anew"
    values = [edit[name] for name in edit if name != "action"]
    parts = [
        ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        for value in values
        if value != ""
    ]
    return " ".join([str(edit.get("action", "no action")), *parts])[:80]


def _apply(model: Any, edit: dict[str, Any], X: Any) -> Any:
    action = edit.pop("action", None)
    if action == "rename":
        edited = rename_topics(model, {edit.pop("topic"): edit.pop("name")})
    elif action == "merge":
        edited = merge_topics(model, edit.pop("topics"), name=edit.pop("name", ""))
    elif action == "drop":
        edited = drop_topics(model, edit.pop("topics"))
    elif action == "split":
        if X is None:
            raise DataError("a split needs the training documents. Give X.")
        edited = split_topic(
            model, edit.pop("topic"), X, n_topics=edit.pop("n_topics", 2)
        )
    elif action == "renumber":
        edited = renumber_topics(model)
    elif action == "grow":
        raise DataError(
            "these topics were learned from documents that were added later. Apply the "
            "edits that come before, then update the model."
        )
    else:
        raise DataError(
            f"unknown action {action!r}. Use rename, merge, drop, split or renumber."
        )
    if edit:
        raise DataError(f"unknown entries {sorted(edit)}.")
    return edited


def _copy(model: Any) -> Any:
    check_is_fitted(model, "components_")
    if hasattr(model, "classes_"):
        raise DataError(
            f"{type(model).__name__} has learned from labels how each topic is related "
            "to the classes. Edit the base model, then fit it again."
        )
    edited = copy.deepcopy(model)
    names = getattr(model, "topic_names_", None)
    edited.topic_names_ = list(names) if names else [""] * len(model.components_)
    edited.edits_ = list(getattr(model, "edits_", ()))
    return edited


def check_unbound(model: Any) -> None:
    """Refuse a model whose topics hang together, and not only by `sides_`."""
    bond = getattr(model, "_binds_topics", "")
    step = getattr(model, "theta_step_", None)
    if step is not None and step.learns:
        bond = bond or f"a {type(step).__name__} of its topics"
    if bond:
        raise DataError(
            f"{type(model).__name__} has learned {bond}, and this would not be known "
            "for topics that are merged, dropped, split or added. Rename topics, or "
            "fit it again with another n_components."
        )


def _rows(model: Any, topics: Iterable[int]) -> list[int]:
    """Return the rows of topics given by their numbers, in ascending order."""
    numbers = numbers_of(model)
    return sorted({row_of(topic, numbers) for topic in topics})


def _sorted(topics: Iterable[int]) -> list[int]:
    return sorted({int(topic) for topic in topics})


def _per_topic(model: Any) -> list[str]:
    n_topics = len(model.components_)
    shapes = {a: np.asarray(getattr(model, a, 0)).shape for a in _PER_TOPIC}
    return [a for a, shape in shapes.items() if shape == (n_topics,)]


def forget_sides(model: Any) -> None:
    """Leave out what sides have learned of the topics before an edit."""
    if getattr(model, "sides_", None):
        names = ", ".join(type(side).__name__ for side in model.sides_)
        warnings.warn(
            f"What {names} learned belongs to the topics before the edits, so the "
            "edited model uses words alone. Keep the unedited model if you need the "
            "rest.",
            DataWarning,
            stacklevel=4,
        )
        model.sides_ = []
        model._forget_sides()


def _remove(model: Any, topics: list[int]) -> None:
    forget_sides(model)
    attributes = _per_topic(model)
    keep = np.setdiff1d(np.arange(len(model.components_)), topics)
    model.components_ = model.components_[keep]
    if hasattr(model, "doc_topics_"):
        model.doc_topics_ = np.ascontiguousarray(model.doc_topics_[:, keep])
    for attribute in attributes:
        setattr(model, attribute, getattr(model, attribute)[keep])
    model.topic_names_ = [model.topic_names_[k] for k in keep]
    set_size(model)


def set_size(model: Any) -> None:
    """Let the parameters of a model say how many topics it has."""
    model.set_params(n_components=len(model.components_))
    prior = getattr(model, "doc_topic_prior_", None)
    given = model.get_params(deep=False).get("doc_topic_prior")
    if np.ndim(given) and prior is not None:  # for a fit that starts from these topics
        model.set_params(doc_topic_prior=prior.copy())


def _spread(rows: Array, topic: int, parts: Array, dtype: Any) -> Array:
    """Replace row `topic` by the first part, and append the others."""
    changed = np.concatenate([rows, parts[1:]]).astype(dtype)
    changed[topic] = parts[0]
    return changed


def _counts_of_topic(model: Any, topic: int, X: Any) -> sparse.csr_matrix:
    """Expected counts of one topic at the non-zeros of X."""
    counts = as_csr(X).astype(np.float64)
    theta = getattr(model, "doc_topics_", None)
    if theta is None:
        raise DataError("A model fitted by partial_fit keeps no mixtures. Use fit.")
    if counts.shape != (len(theta), model.components_.shape[1]):
        raise DataError(
            f"X has shape {counts.shape}; the model was fitted on "
            f"{(len(theta), model.components_.shape[1])}. Give the training documents."
        )
    rows = np.repeat(np.arange(len(theta)), np.diff(counts.indptr))
    whole = np.zeros(counts.nnz)
    for k, words in enumerate(model.components_):
        whole += np.asarray(theta[rows, k], np.float64) * words[counts.indices]
    own = (
        theta[rows, topic].astype(np.float64) * model.components_[topic][counts.indices]
    )
    part = np.divide(own, whole, out=np.zeros_like(own), where=whole > 0)
    # Less than this of a word is no word, and models refuse counts near underflow.
    counts.data *= np.where(part > _NOTHING_LEFT, part, 0.0)
    counts.eliminate_zeros()
    return counts


def _note(model: Any, **edit: Any) -> None:
    model.edits_ = [*model.edits_, edit]
