# SPDX-License-Identifier: BSD-3-Clause
"""What an update changed: topics that drifted, documents that moved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from topicfold.core.tables import Table
from topicfold.corpus.inputs import Documents
from topicfold.exceptions import DataError
from topicfold.persistence.model_folder import ModelFolder
from topicfold.topic_data import TopicData

# A topic that keeps less of its words has drifted, or is another one.
STEADY, SAME = 0.9, 0.5
# Of fewer new documents a topic's share says little.
_ENOUGH = 10
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
        Ids of the documents that were left out: the model has them already.
    repeated : int
        Documents added whose text the model has under another id, or none.
    topics : Table
        A row per topic: its shares of all words `before` and `now` and of those of the
        `new` documents, how much of its words it `kept`, and its `change`: "drifted"
        (kept less than 90 %), "replaced" (less than half: the old topic is gone and
        another has its number), "growing" (three times its old share of the new
        documents), "fading" (a tenth of it), "new", or "".
    unlike : int
        New documents that fit no topic well; 0 if they are no more than chance.
    moved : Table
        The old documents whose main topic is another one now.
    """

    folder: ModelFolder
    n_added: int
    n_words: int
    known: list[str]
    repeated: int
    unlike: int
    topics: Table
    moved: Table

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield what changed as pairs of a head and a sentence, for people."""
        if self.known:
            yield (
                "Left out",
                f"{len(self.known):,} whose ids the model has already, first "
                f"{self.known[0]!r}",
            )
        if self.repeated:
            yield (
                "Repeated",
                f"{self.repeated:,} have a text that the model already has",
            )
        n_old = len(self.folder.model.doc_topics_) - self.n_added
        yield "Moved", f"{len(self.moved):,} of {n_old:,} earlier documents"
        words = {"drifted": "other words", "replaced": "gone, replaced by another"}
        words |= {"growing": "a larger share of the new documents"}
        words["fading"] = "a smaller share of the new documents"
        words["new"] = "in the new documents alone"
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
            f"all {len(known):,} documents have ids that the model has already, first "
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


def same_texts(old: ModelFolder, new: Documents) -> int:
    """Return how many new documents have the text of an old one."""
    have = {*(old.texts or ())} - {""}
    return sum(text in have for text in new.texts or ())


def compare_records(before: TopicData, after: TopicData) -> tuple[Table, Table]:
    """Return what became of the topics and of the documents of `before`.

    The rows of `before`, topics and documents, are the first of `after`; topics after
    them are new.
    """
    n_old = before.n_documents
    theta, weights = np.asarray(after.doc_topics), after.document_weights()
    fresh = weights[n_old:] @ theta[n_old:]
    fresh = fresh / max(float(fresh.sum()), 1e-300)
    more = after.n_topics - before.n_topics
    sizes = np.concatenate([before.topic_sizes(), np.zeros(more)])
    shares = sizes, after.topic_sizes(), fresh
    same = after.topics[: before.n_topics, : before.n_terms]
    kept = np.minimum(before.topics, same).sum(axis=1)
    kept = np.concatenate([kept, np.zeros(more)])
    n_new = after.n_documents - n_old
    topics = Table(
        {
            "topic": after.numbers[k],
            "name": after.name(k),
            "before": float(shares[0][k]),
            "now": float(shares[1][k]),
            "new": float(fresh[k]),
            "kept": float(kept[k]),
            "change": "new"
            if k >= before.n_topics
            else _change(float(kept[k]), shares[0][k] * n_new, fresh[k] * n_new),
        }
        for k in np.argsort(-shares[1], kind="stable").tolist()
    )
    was, now = before.main_topics(), after.main_topics()[:n_old]
    moved = Table(
        {
            "document": row if after.doc_ids is None else after.doc_ids[row],
            "before": before.numbers[was[row]],
            "now": after.numbers[now[row]],
        }
        for row in np.flatnonzero(was != now).tolist()
    )
    return topics, moved


def _change(kept: float, expected: float, found: float) -> str:
    """Return what happened to a topic; the last two are in new documents."""
    if kept < SAME:
        return "replaced"
    if kept < STEADY:
        return "drifted"
    if found >= _ENOUGH and found > _MANY * expected:
        return "growing"
    if expected >= _ENOUGH and found < _FEW * expected:
        return "fading"
    return ""
