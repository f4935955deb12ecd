# SPDX-License-Identifier: BSD-3-Clause
"""Files that a person hands in beside documents: how they are read and used."""

from __future__ import annotations

import contextlib
import functools
import json
import zlib
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from fuzz.models import FEW, MisreadError, fitted, small_corpus

import topicfold
from topicfold import corpus as tf_corpus
from topicfold.choosing import comparison
from topicfold.choosing.comparison import measure
from topicfold.choosing.evaluation import ScoreFile
from topicfold.cli.edit import read_edits
from topicfold.cli.label import with_answers
from topicfold.cli.sides import SideOptions, read_links, read_seeds
from topicfold.editing import apply_edits
from topicfold.metrics.intrusion import (
    read_intrusion_sheet,
    score_intrusion,
    word_intrusion,
    write_intrusion_sheet,
)
from topicfold.session import Topics
from topicfold.session.fitting import fit_documents

LINKS = "# cites\n0 1\n2,3\n4 5\n\n6 11\n"
WEIGHTED = "0 1 0.5\n2 3 1\n4 5 2\n"
SEEDS = "# guided\nred: word1, word2\nsky: word3\n"
ANSWERS = 'id,label\nd1,work\nd2,"a, b"\nd1,home\n'
SIDE_HEAD = ("text", "label", "author", "stars", "kind", "year")
SIDE_ROWS = [
    (f"word{d % 3} word{d % 5} more text {d}", "ab"[d % 2], "Ann; Bob", d, "xy"[d % 2],
     2000 + d)
    for d in range(8)
]  # fmt: skip


def use_links(path: Path) -> Any:
    """Read links and fit a relational model and one with a graph to them."""
    links = read_links(path, "--links")
    _fit_to_links(links.dtype, links.shape, links.tobytes())
    return sorted({tuple(sorted(map(int, row[:2]))) for row in links})


@functools.lru_cache(maxsize=1000)
def _fit_to_links(dtype: Any, shape: tuple[int, ...], content: bytes) -> None:
    links, X = np.frombuffer(content, dtype).reshape(shape), small_corpus().counts
    model = topicfold.RelationalLDA(2, weight=1.0, **FEW).fit(X, links=links)
    _check(model.predict_links([[0, 1]]), model.components_)
    smooth = topicfold.LaplacianPLSA(2, graph=links, **FEW).fit(X)
    _check(smooth.doc_topics_)


def links_by_hand(path: Path) -> Any:
    """Return the links in lines that are surely links."""
    found = set()
    for line in path.read_text("ascii").split("\n"):
        if line.strip() and not line.strip().startswith("#"):
            cells = line.replace(",", " ").split(" ")
            first, second = [cell for cell in cells if cell][:2]
            if not (first.isdigit() and second.isdigit()):
                raise ValueError("another form of number")
            found.add(tuple(sorted((int(first), int(second)))))
    return sorted(found)


def use_seeds(path: Path) -> Any:
    """Read seed words and fit to them."""
    seeds = read_seeds(path)
    data = small_corpus()
    model = topicfold.SeededLDA(seeds=seeds, vocabulary=data.vocabulary, **FEW)
    _check(model.fit(data.counts).components_)
    return seeds


def use_answers(path: Path) -> Any:
    """Read answers of ``topicfold label``; return the labels of documents."""
    data = small_corpus()
    labels = with_answers(data.labels, path, data.ids or [])
    if len(labels) != data.n_documents or not all(isinstance(x, str) for x in labels):
        raise MisreadError("labels are not one text per document")
    return labels


def use_edits(path: Path) -> None:
    """Read edits and apply them."""
    X, model = small_corpus().counts, fitted("plsa")
    apply_edits(model, read_edits(path, model), X=X).transform(X)


def use_results(path: Path) -> None:
    """Go on with the scores of a comparison, of which some are there.

    The file does not change what is measured, so each model is measured once.
    """
    options = {"n_components": 2, "time_budget": 5, "random_state": 0, "results": path}
    with mock.patch.multiple(comparison, measure=_measure, _expected_seconds=_no_time):
        topicfold.compare(small_corpus(), ["plsa", "tf-idf"], **options).to_markdown()


_measured: dict[str, Any] = {}


def _measure(data: Any, run: dict[str, Any]) -> dict[str, Any]:
    key = json.dumps(run, sort_keys=True)
    if key not in _measured:
        _measured[key] = measure(data, run)
    return dict(_measured[key])


def _no_time(data: Any, run: Any) -> float:
    return 0.0


def write_results(path: Path) -> None:
    """Write the scores of a comparison."""
    use_results(path)
    if not ScoreFile(path).scores:
        raise MisreadError("a comparison kept nothing")


def use_sides(kind: str) -> Any:
    """Return a reader of a table with columns of sides, which fits a model to them.

    A spoiled table gets one of two models, a sound one both.
    """

    def use(path: Path) -> None:
        options = SideOptions(
            authors="author", response="stars", features=["kind", "year"]
        )
        data = tf_corpus.read(
            path, format=kind, extra=options.columns(), min_df=1, max_df=1.0
        )
        chosen = zlib.crc32(path.read_bytes()) % 2
        pairs = (["authors", "response"], ["features", "response"])
        for number, names in enumerate(pairs):
            if number != chosen and path.parent.name == "spoiled":
                continue
            own = SideOptions(**{name: getattr(options, name) for name in names})
            model = topicfold.LDA(2, **FEW)
            fit_documents(model, data, known=own.data(data))
            _check(model.components_, model.doc_topics_)

    return use


TEXTS = [f"word{d % 4} word{d % 3} some more text of {d}" for d in range(12)]


def _questions() -> Any:
    data = fitted("lda").topic_data(small_corpus().vocabulary)
    return word_intrusion(data, n_words=3, random_state=0)


def write_questions(path: Path) -> None:
    """Write a sheet for a rater, and answer its first question."""
    text = write_intrusion_sheet(_questions(), path).read_text("utf-8-sig")
    head, first, *rest = text.splitlines()
    path.write_text("\n".join([head, f"{first}2", *rest]), encoding="utf-8")


def use_questions(path: Path) -> None:
    """Score the sheet, and do not overwrite it."""
    items = _questions()
    answers = read_intrusion_sheet(items, path)
    score_intrusion(items, answers)
    with contextlib.suppress(topicfold.exceptions.DataError):
        write_intrusion_sheet(items, path)
        if any(answer is not None for answer in answers):
            raise MisreadError("an answer was overwritten")


def write_topics(path: Path) -> None:
    """Save what a person has: topics, texts, labels, times."""
    rows = {
        "text": TEXTS,
        "label": ["a", "b", ""] * 4,
        "time": [f"20{d:02d}-01-05" for d in range(12)],
        "id": [f"d{d}" for d in range(12)],
    }
    import pandas as pd

    model = topicfold.LDA(3, **FEW)
    Topics(3, model, min_df=1, max_df=1.0, n_jobs=1).fit(pd.DataFrame(rows)).save(path)


def use_topics(path: Path) -> None:
    """Load topics and look at them, search, edit, apply, update."""
    topics = Topics.load(path)
    repr(topics)
    topics._repr_html_()
    topics.words(0)
    topics.search("word1 text", n=3)
    if topics.data_.doc_topics is not None and topics.data_.n_documents:
        topics.documents(0)
        for table in (topics.over_time, topics.by_class):
            try:
                table()
            except topicfold.exceptions.DataError:
                continue  # without dates or labels there is nothing to show
    _check(topics.transform(["word1 and text"]))
    topics.rename(0, "first").merge([0, 1])
    topics.update(["word2 is more text"])
    _check(topics.data_.topics, topics.data_.doc_topics)
    topics.describe()
    topics.explore()


def _check(*arrays: Any) -> None:
    if not all(np.isfinite(array).all() for array in arrays):
        raise MisreadError("NaN or infinity")
