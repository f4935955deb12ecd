# SPDX-License-Identifier: BSD-3-Clause
"""More documents for a fitted model: topics learn from them, but keep their identity.

A topic k has learned from ``N_k = Σ_d N_d θ_dk`` words. With more documents it becomes

    φ'_kw ∝ N_k φ_kw + Σ_d n_dw p(k|d,w),      the sum over the new documents d,

the posterior mean under a Dirichlet prior that counts as much as the old documents did
(incremental EM, Neal & Hinton 1998, with the old documents' steps kept). The mixtures
of old documents stay the same, and so do a person's edits: a few new documents change a
topic little, edited or not. A new word is divided among the topics of all documents
that have it. New topics start from the new documents that fit the others least, and
have no prior.

An `Update` says what changed: topics that drifted, documents that moved.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from topicfold.core.counts import normalize_rows
from topicfold.core.parameters import whole_number
from topicfold.core.tables import Table
from topicfold.core.typing import Array, Doubles
from topicfold.corpus.inputs import Documents
from topicfold.corpus.tokens import stemmer, stop_word_list
from topicfold.corpus.vectorizing import vectorize
from topicfold.editing import check_unbound, forget_sides, set_size
from topicfold.exceptions import DataError
from topicfold.graph.embedding import check_embeddings
from topicfold.known import with_times
from topicfold.models.base import check_asked
from topicfold.models.lsi import LSI
from topicfold.models.pachinko import PachinkoLDA
from topicfold.persistence.model_folder import ModelFolder
from topicfold.topic_data import TopicData

_ROUNDS = 20
_CLOSE = 1e-4
# Of a new topic's start, the share that is words of all documents.
_SMOOTH = 0.05
# The share of old documents that are called unlike their topics, how many old ones are
# looked at, and how many new ones are worth a word.
_TAIL = 0.05
_COMPARED = 2000
_ENOUGH = 5
# Entries of one table of counts by topics.
_CHUNK = 4_000_000


def updated(
    old: ModelFolder,
    new: Documents,
    added: Any,
    cutting: Mapping[str, Any] | None = None,
    *,
    refit: bool = False,
    new_topics: int = 0,
) -> Update:
    """Return a fitted model with more documents, whose counts are `added`.

    Documents whose ids the model already has are left out. If the texts of all
    documents are known and the topics learn, they also learn the words that a fit on
    all documents would count; `cutting` has options of `vectorize` in place of those
    that were saved. With `refit` the model learns from all documents again, starting
    from the present topics; `new_topics` are learned from the new documents, in
    addition to the old topics.
    """
    whole_number(new_topics, "new_topics", least=0)
    if old.counts is None or not hasattr(old.model, "doc_topics_"):
        raise DataError(
            "the model was saved without its documents, so it cannot learn from more. "
            "Fit it again, and save it with its documents."
        )
    if new_topics and (refit or not learns(old.model)):
        raise DataError(
            "new_topics only works for models of words alone, and without refit. Leave "
            "new_topics or refit out, or fit a new model."
        )
    if new_topics:
        check_unbound(old.model)
    if refit and not (learns(old.model) and "init" in old.model.get_params(deep=False)):
        raise DataError(
            f"a {type(old.model).__name__} cannot be fitted again from its own topics, "
            "because it cannot start there or learned from more than words. Leave "
            "refit out, or fit a new model."
        )
    if new.embeddings is not None:
        check_asked(old.model, not learns(old.model), new.embeddings)
        rows = check_embeddings(new.embeddings, new.n_documents)
        new = new._replace(embeddings=rows)
    new, added, known = drop_known(old, new, added)
    have = {*(old.texts or ())} - {""}
    repeated = sum(text in have for text in new.texts or ())
    before = old.topic_data()
    n_words = added.shape[1]
    if new.texts is not None and learns(old.model):
        old, added = _with_new_words(old, new.texts, added, cutting or {})
    counts = sparse.csr_matrix(sparse.vstack([old.counts, added]))
    if refit:
        model = _refitted(old, counts)
    elif learns(old.model):
        model = _learned(old, counts, added, new_topics)
    else:
        model = _with_mixtures(old.model, added, new)
    folder = dataclasses.replace(old, model=model, counts=counts, **_known(old, new))
    topics, moved = compare_records(before, folder.topic_data())
    unlike = 0 if new_topics else _count_unlike(old, counts)
    return Update(
        folder=folder,
        n_added=new.n_documents,
        n_words=added.shape[1] - n_words,
        known=known,
        repeated=repeated,
        unlike=unlike,
        topics=topics,
        moved=moved,
    )


def learns(model: Any) -> bool:
    """Tell whether the topics of a model learn from the counts of more documents.

    A model of classes, authors, responses, features, covariates, links or embeddings
    would need these for the new documents, too.
    """
    if hasattr(model, "classes_") or isinstance(model, LSI):
        return False
    told = any(side.keyword for side in getattr(model, "sides_", ()))
    step = getattr(model, "theta_step_", None)
    if step is not None and step.data is not None:  # of covariates there may be none
        told = told or bool(getattr(step, "columns_", True))
    told = told or bool(getattr(model, "content_groups_", ()))
    kept = ("training_counts_", "sharing_", "embeddings_")
    return not told and not any(hasattr(model, name) for name in kept)


def _known(old: ModelFolder, new: Documents) -> dict[str, Any]:
    """Return what is known of old and new documents, beside their counts."""
    n_old = old.counts.shape[0]
    given = {"labels": new.labels, "texts": new.texts, "times": new.times}
    known: dict[str, Any] = {
        name: _join(getattr(old, name), values, n_old, new.n_documents)
        for name, values in given.items()
    }
    known["doc_ids"] = _all_ids(old.doc_ids, new.ids, n_old, new.n_documents)
    return known


def _all_ids(old: Any, new: Any, n_old: int, n_new: int) -> list[str] | None:
    """Return the ids of old and new documents; those without get their row number."""
    if not old and not new:
        return None
    have = {*(old or ()), *(new or ())}
    rows = [
        str(row) if str(row) not in have else f"row {row}"
        for row in range(n_old + n_new)
    ]
    return [*(old or rows[:n_old]), *(new or rows[n_old:])]


def _join(old: Any, new: Any, n_old: int, n_new: int) -> list[str] | None:
    """Return what is known of old and new documents; "" where it is not."""
    if old is None and new is None:
        return None
    return [*(old or [""] * n_old), *(new or [""] * n_new)]


def _with_new_words(
    old: ModelFolder, texts: Sequence[str], added: Any, cutting: Mapping[str, Any]
) -> tuple[ModelFolder, Any]:
    """Return the counts of old and new documents with columns for new words."""
    options = {**(old.text or {}), **cutting}
    options.pop("left_out", None)  # it is no option, but what was found
    by_name = ":" in str(options.get("tokens"))  # a function that nobody gave again
    if not old.texts or not old.vocabulary or options.get("phrases") or by_name:
        return old, added
    options["stop_words"] = stop_word_list(options.get("stop_words"))  # and no advice
    counts, words = vectorize([*old.texts, *texts], **options)
    if not _same_counts(old, counts, words):
        return old, added
    stem = stemmer(options.get("stem")) or str
    known = {stem(word) for word in old.vocabulary}
    columns = [place for place, word in enumerate(words) if stem(word) not in known]
    more, n_old = counts[:, columns], len(old.texts)
    words = [*old.vocabulary, *(words[column] for column in columns)]
    wide = sparse.csr_matrix(sparse.hstack([old.counts, more[:n_old]]))
    old = dataclasses.replace(old, counts=wide, vocabulary=words)
    return old, sparse.csr_matrix(sparse.hstack([added, more[n_old:]]))


def _same_counts(old: ModelFolder, counts: Any, words: Sequence[str]) -> bool:
    """Tell whether the counts of the old documents were made of their texts."""
    place = {word: column for column, word in enumerate(words)}
    known = [c for c, word in enumerate(old.vocabulary or ()) if word in place]
    found = [place[(old.vocabulary or ())[c]] for c in known]
    totals = np.asarray(old.counts.sum(axis=0, dtype=np.float64)).ravel()
    again = np.asarray(counts[: len(old.texts or ())].sum(axis=0)).ravel()
    return bool(known) and np.array_equal(totals[known], again[found])


def _with_columns(topics: Any, counts: Any) -> Any:
    """Return topics with new words: each has of them what all documents have."""
    topics = np.asarray(topics)
    shares = np.asarray(counts.sum(axis=0, dtype=np.float64)).ravel()
    shares = shares[topics.shape[1] :] / shares.sum()
    new = np.outer(topics.sum(axis=1), shares).astype(topics.dtype)
    return np.hstack([(1 - shares.sum()).astype(topics.dtype) * topics, new])


def _learned(old: ModelFolder, counts: Any, added: Any, new_topics: int) -> Any:
    """Return the model with topics that learned from more documents; see above."""
    model = old.model
    n_old, n_words = len(model.doc_topics_), model.components_.shape[1]
    grown = _widened(old, counts)
    if new_topics:
        _add_topics(grown, added, new_topics)
    theta = np.asarray(grown.doc_topics_)
    n_topics = len(model.components_)
    prior = np.zeros(grown.components_.shape)
    prior[:n_topics, :n_words] = model.components_
    prior *= (model.doc_lengths_ @ theta.astype(np.float64))[:, None]
    # Of the old documents only the words that are new to the topics.
    fresh = sparse.csr_matrix(counts[:n_old, n_words:])
    rows = np.flatnonzero(np.diff(fresh.indptr))
    fresh = sparse.hstack([sparse.csr_matrix((len(rows), n_words)), fresh[rows]])
    learned = sparse.csr_matrix(sparse.vstack([fresh, added]))
    mixtures = np.asarray(grown.transform(added))
    for _ in range(_ROUNDS):
        both = np.vstack([theta[rows], mixtures])
        gained = expected_words(learned, both, grown.components_)
        words = prior + gained
        # A topic that nothing belongs to stays as it is.
        empty = words.sum(axis=1) <= 0
        words[empty] = grown.components_[empty]
        topics = normalize_rows(words).astype(model.components_.dtype)
        moved = np.abs(topics - grown.components_).sum(axis=1).max() / 2
        grown.components_ = normalize_rows(topics)
        mixtures = np.asarray(grown.transform(added))
        if moved < _CLOSE:
            break
    if hasattr(model, "topic_totals_"):
        unit = model.topic_totals_.sum() / max(float(prior.sum()), 1e-300)
        totals = gained.sum(axis=1) * unit
        totals[:n_topics] += model.topic_totals_
        grown.topic_totals_ = totals.astype(model.topic_totals_.dtype)
    return _keep_documents(grown, mixtures, added)


def _add_topics(grown: Any, added: Any, n_new: int) -> None:
    """Give a model more topics, those of the new documents that fit it least."""
    from topicfold import PLSA

    fit = word_gains(added, np.asarray(grown.transform(added)), grown)
    has_words = np.flatnonzero(np.diff(added.indptr))
    least = has_words[np.argsort(fit[has_words], kind="stable")]
    # A quarter of them, or those below what nearly all old documents reach.
    least = least[: max(10 * n_new, len(least) // 4)]
    if len(least) < n_new:
        raise DataError(
            f"{n_new} new topics need at least as many new documents with words. "
            "Ask for fewer topics."
        )
    start = PLSA(n_new, random_state=0).fit(added[least]).components_
    forget_sides(grown)
    n_old, dtype = len(grown.components_), grown.components_.dtype
    empty = np.zeros((len(grown.doc_topics_), n_new), grown.doc_topics_.dtype)
    # A little of every word, so that a document can leave its first topic.
    smooth = (1 - _SMOOTH) * start + _SMOOTH * grown.word_frequencies_
    grown.components_ = normalize_rows(np.vstack([grown.components_, smooth]))
    grown.components_ = grown.components_.astype(dtype)
    grown.doc_topics_ = np.hstack([grown.doc_topics_, empty])
    prior = getattr(grown, "doc_topic_prior_", None)
    if isinstance(prior, np.ndarray) and prior.shape == (n_old,):
        grown.doc_topic_prior_ = np.concatenate([prior, np.full(n_new, prior.mean())])
    names = getattr(grown, "topic_names_", None)
    if names:
        grown.topic_names_ = [*names, *[""] * n_new]
    entry = {"action": "grow", "n_topics": n_new}
    grown.edits_ = [*getattr(grown, "edits_", ()), entry]
    set_size(grown)


def word_gains(
    counts: Any, theta: Array, model: Any, tokens: Doubles | None = None
) -> Doubles:
    """Return how much more likely the words of every document are with the topics.

    The mean over its words of log Σ_k θ_dk φ_kw − log p(w), where p(w) are the words of
    all documents; a hundredth of p(w) is mixed in. 0 for a document without words. With
    the `tokens` N_k that topics learned from, the words of a document itself are
    removed: φ is then that of the other documents.
    """
    common = np.maximum(np.asarray(model.word_frequencies_, np.float64), 1e-300)
    by_word = np.ascontiguousarray(model.components_.T, dtype=np.float64)
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    gains = np.zeros(counts.nnz)
    step = max(1, _CHUNK // by_word.shape[1])
    for first in range(0, counts.nnz, step):
        part = slice(first, first + step)
        words, shares = counts.indices[part], theta[rows[part]]
        topics = by_word[words]
        if tokens is not None:
            joint = shares * topics
            joint /= np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
            own = counts.data[part, None] * joint / np.maximum(tokens, 1e-300)
            topics = np.maximum(topics - own, 0.0)
        found = (shares * topics).sum(axis=1) / common[words]
        gains[part] = np.log(0.99 * found + 0.01)
    sums = np.bincount(rows, counts.data * gains, counts.shape[0])
    lengths = np.bincount(rows, counts.data, counts.shape[0])
    return np.asarray(sums / np.maximum(lengths, 1e-300))


def _count_unlike(old: ModelFolder, counts: Any) -> int:
    """Return how many new documents fit the topics worse than nearly all old ones do.

    0 if they are not many more than the twentieth of the old ones that do.
    """
    model = old.model
    if not learns(model):
        return 0
    before, n_old = _widened(old, counts), len(model.doc_topics_)
    some = np.arange(n_old)[:: max(1, n_old // _COMPARED)]
    tokens = np.asarray(model.doc_lengths_ @ model.doc_topics_, np.float64)
    known = sparse.csr_matrix(counts[some])
    usual = word_gains(known, model.doc_topics_[some], before, tokens)
    added = sparse.csr_matrix(counts[n_old:])
    gains = word_gains(added, np.asarray(before.transform(added)), before)
    found = int(np.count_nonzero(gains < np.quantile(usual, _TAIL)))
    return found if found > max(_ENOUGH, 3 * _TAIL * added.shape[0]) else 0


def _widened(old: ModelFolder, counts: Any) -> Any:
    """Return a copy of the model that has a column for every word of the counts."""
    grown = copy.copy(old.model)
    grown.components_ = normalize_rows(_with_columns(grown.components_, counts))
    words = np.asarray(counts.sum(axis=0, dtype=np.float64)).ravel()
    grown.word_frequencies_ = words / words.sum()
    if counts.shape[1] > grown.n_features_in_:
        grown.n_features_in_ = counts.shape[1]
        if hasattr(grown, "feature_names_in_"):
            grown.feature_names_in_ = np.array(old.vocabulary, dtype=object)
        if grown.get_params(deep=False).get("vocabulary") is not None:
            grown.set_params(vocabulary=old.vocabulary)
    return grown


def expected_words(counts: Any, theta: Array, topics: Array) -> Doubles:
    """Return ``Σ_d n_dw p(k|d,w)`` for every topic k and word w.

    Examples
    --------
    >>> topics = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    >>> counts = sparse.csr_matrix([[2.0, 2.0, 0.0]])
    >>> expected_words(counts, np.array([[0.5, 0.5]]), topics)
    array([[2., 1., 0.],
           [0., 1., 0.]])
    """
    n_topics, n_words = topics.shape
    total = np.zeros((n_words, n_topics))
    by_word = np.ascontiguousarray(topics.T, dtype=np.float64)
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    step = max(1, _CHUNK // n_topics)
    for first in range(0, counts.nnz, step):
        part = slice(first, first + step)
        columns = counts.indices[part]
        joint = theta[rows[part]] * by_word[columns]
        whole = np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
        joint *= counts.data[part, None] / whole
        ones = np.ones(len(columns))
        places = (columns, np.arange(len(columns)))
        total += sparse.csr_matrix((ones, places), (n_words, len(columns))) @ joint
    return np.ascontiguousarray(total.T)


def _keep_documents(grown: Any, mixtures: Array, added: Any) -> Any:
    """Let the model have the mixtures of more documents after those it has."""
    lengths = np.asarray(added.sum(axis=1, dtype=np.float64)).ravel()
    grown.doc_topics_ = np.vstack([grown.doc_topics_, mixtures])
    grown.doc_lengths_ = np.concatenate([grown.doc_lengths_, lengths])
    if isinstance(grown, PachinkoLDA):
        above = [grown.doc_super_topics_, grown.transform_super(added)]
        grown.doc_super_topics_ = np.vstack(above)
    graph: Any = getattr(grown, "graph_", None)
    # That of the fit: new documents have no neighbours in it.
    if sparse.issparse(graph) and graph.format == "csr":
        size = len(grown.doc_topics_)
        parts = (graph.data, graph.indices)
        ends = np.full(len(lengths), graph.indptr[-1], graph.indptr.dtype)
        starts = np.concatenate([graph.indptr, ends])
        grown.graph_ = type(graph)((*parts, starts), shape=(size, size))
    return grown


def _with_mixtures(model: Any, added: Any, new: Documents) -> Any:
    """Return the model with the mixtures of more documents; its topics stay."""
    embeddings = new.embeddings
    grown = copy.copy(model)
    keeper = grown
    if hasattr(model, "base_"):  # of a two-phase model, the first has the mixtures
        keeper = grown.base_ = copy.copy(model.base_)
    known = {} if embeddings is None else {"embeddings": embeddings}
    known = with_times(model, known, new.times)
    mixtures = np.asarray(model.transform(added, **known))
    keeper.doc_topics_ = model.doc_topics_
    _keep_documents(keeper, mixtures, added)
    if embeddings is not None:  # for search; those of the fit are the neighbours
        rows = check_embeddings(embeddings, added.shape[0])
        before = getattr(model, "added_embeddings_", rows[:0])
        grown.added_embeddings_ = np.vstack([before, rows])
    return grown


def _refitted(old: ModelFolder, counts: Any) -> Any:
    """Return the model fitted on all documents, from the topics as they are."""
    model = old.model
    grown = clone(model)
    grown.set_params(init=_with_columns(model.components_, counts))
    if "vocabulary" in grown.get_params(deep=False):
        grown.set_params(vocabulary=old.vocabulary)
    grown.fit(counts)
    grown.init = model.init
    for name in ("topic_names_", "edits_"):
        if hasattr(model, name):
            setattr(grown, name, getattr(model, name))
    return grown


# A topic that keeps less of its words has drifted, or is another one.
STEADY, SAME = 0.9, 0.5
# Of fewer new documents a topic's share says little.
_ENOUGH_DOCUMENTS = 10
_MANY, _FEW = 3.0, 0.1


@dataclass(frozen=True, kw_only=True)
class Update:
    """A model with more documents, and what they changed.

    Attributes
    ----------
    folder : ModelFolder
        The model and its documents.
    n_added, n_words : int
        Documents added, and words learned.
    known : list of str
        Ids of the documents that were left out, because the model already has them.
    repeated : int
        Added documents whose text the model already has under another id, or without
        one.
    topics : Table
        A row per topic: its share of all words `before` and `now`, and of the words of
        the `new` documents, how much of its words it `kept`, and its `change`:
        "drifted" (kept less than 90 %), "replaced" (less than half: the old topic is
        gone and another has its number), "growing" (its share in the new documents is
        three times the old one), "fading" (a tenth of it), "new", or "".
    unlike : int
        New documents that fit no topic well; 0 if there are no more than by chance.
    moved : Table
        The old documents whose main topic is now another one.
    """

    folder: ModelFolder = field(repr=False)  # has all words and texts
    n_added: int
    n_words: int
    known: list[str]
    repeated: int
    unlike: int
    topics: Table
    moved: Table

    def __str__(self) -> str:
        added = (
            "Added",
            f"{self.n_added:,} document{'s' * (self.n_added != 1)}, "
            f"{self.n_words:,} new word{'s' * (self.n_words != 1)}",
        )
        return "\n".join(f"{head}: {text}" for head, text in [added, *self.lines()])

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield what changed as pairs of a head and a sentence, for people."""
        if self.known:
            yield (
                "Left out",
                f"{len(self.known):,} with an id that is already in the model, first "
                f"{self.known[0]!r}",
            )
        for head, what in (("Labels", "label"), ("Times", "time")):
            known = getattr(self.folder, head.lower())
            if known is not None and any(known) and not any(known[-self.n_added :]):
                yield (
                    head,
                    f"no new document has a {what}; if there is a column of {what}s, "
                    "name it again",
                )
        if self.repeated:
            yield (
                "Repeated",
                f"{self.repeated:,} of the new texts are already in the model",
            )
        n_old = len(self.folder.model.doc_topics_) - self.n_added
        yield (
            "Moved",
            f"{len(self.moved):,} of {n_old:,} earlier documents have another main "
            "topic now",
        )
        words = {"drifted": "other words", "replaced": "replaced by another subject"}
        words |= {"growing": "a larger share in the new documents"}
        words["fading"] = "a smaller share in the new documents"
        words["new"] = "only in the new documents"
        for change, meaning in words.items():
            rows = [row for row in self.topics if row["change"] == change]
            if rows:
                named = "; ".join(f"{row['topic']} {row['name']}" for row in rows)
                yield change.capitalize(), f"{meaning}: {named}"
        if self.unlike:
            yield (
                "Unlike",
                f"{self.unlike:,} of {self.n_added:,} new documents fit no topic well; "
                "new topics may describe them",
            )


def drop_known(
    old: ModelFolder, new: Documents, added: Any
) -> tuple[Documents, Any, list[str]]:
    """Return the documents whose ids are new, their counts, and the other ids."""
    have = {*(old.doc_ids or ())}
    known = [name for name in new.ids or () if name in have]
    if not known:
        return new, added, []
    rows = [row for row, name in enumerate(new.ids or ()) if name not in have]
    if not rows:
        raise DataError(
            f"all {len(known):,} documents have ids that the model already has, first "
            f"{known[0]!r}. Nothing was added."
        )
    lists = ("texts", "labels", "ids", "times")
    kept: dict[str, Any] = {
        name: [getattr(new, name)[row] for row in rows]
        for name in lists
        if getattr(new, name) is not None
    }
    if new.embeddings is not None:
        kept["embeddings"] = np.asarray(new.embeddings)[rows]
    if new.extra is not None:
        kept["extra"] = {k: [v[row] for row in rows] for k, v in new.extra.items()}
    return new._replace(counts=added[rows], **kept), added[rows], known


def compare_records(before: TopicData, after: TopicData) -> tuple[Table, Table]:
    """Return what became of the topics and of the documents of `before`.

    The rows of `before`, topics and documents, are the first of `after`; topics after
    them are new.
    """
    n_old = before.n_documents
    theta, weights = np.asarray(after.doc_topics), after.document_weights()
    fresh = weights[n_old:] @ theta[n_old:]
    fresh = fresh / max(float(fresh.sum()), 1e-300)
    none = np.zeros(after.n_topics - before.n_topics)
    earlier, now = np.append(before.topic_sizes(), none), after.topic_sizes()
    same = after.topics[: before.n_topics, : before.n_terms]
    kept = np.append(np.minimum(before.topics, same).sum(axis=1), none)
    n_new = after.n_documents - n_old
    topics = Table(
        {
            "topic": after.numbers[k],
            "name": after.name(k),
            "before": float(earlier[k]),
            "now": float(now[k]),
            "new": float(fresh[k]),
            "kept": float(kept[k]),
            "change": "new"
            if k >= before.n_topics
            else _change(float(kept[k]), earlier[k] * n_new, fresh[k] * n_new),
        }
        for k in np.argsort(-now, kind="stable").tolist()
    )
    was, main = before.main_topics(), after.main_topics()[:n_old]
    moved = Table(
        {
            "document": row if after.doc_ids is None else after.doc_ids[row],
            "before": before.numbers[was[row]],
            "now": after.numbers[main[row]],
        }
        for row in np.flatnonzero(was != main).tolist()
    )
    return topics, moved


def _change(kept: float, expected: float, found: float) -> str:
    """Return what happened to a topic; the last two are in new documents."""
    if kept < SAME:
        return "replaced"
    if kept < STEADY:
        return "drifted"
    if found >= _ENOUGH_DOCUMENTS and found > _MANY * expected:
        return "growing"
    if expected >= _ENOUGH_DOCUMENTS and found < _FEW * expected:
        return "fading"
    return ""
