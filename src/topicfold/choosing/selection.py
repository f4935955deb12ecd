# SPDX-License-Identifier: BSD-3-Clause
"""How many topics? Scores for each number, in one table and one picture."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from topicfold.choosing.comparison import load_figure
from topicfold.choosing.evaluation import (
    check_sizes,
    ranks,
    read_counts,
    stability_of,
    topic_scores,
)
from topicfold.choosing.fits import with_size
from topicfold.choosing.size import ALIKE
from topicfold.core.labels import encode_labels
from topicfold.core.tables import html_table, markdown_table
from topicfold.exceptions import DataError
from topicfold.learn.loop import run_fits
from topicfold.parts.sides import check_rows

# Column, title, and whether more is better.
_SCORES = (
    ("perplexity", "perplexity", False),
    ("coherence", "NPMI coherence", True),
    ("diversity", "diversity", True),
    ("stability", "stability", True),
    ("accuracy", "accuracy", True),
)
# The scores of a single fit: all except stability.
_SCORED = tuple(name for name, _, _ in _SCORES if name != "stability")


@dataclass(frozen=True)
class SelectionRecord:
    """Scores of one number of topics; means over the restarts, NaN where undefined.

    Attributes
    ----------
    perplexity : float
        Of held-out words in held-out documents; lower is better.
    coherence : float
        Mean NPMI of the topics' top words on the held-out documents.
    diversity : float
        Share of different words among all top words.
    stability : float
        Shared probability of matched topics of two restarts, 0 to 1.
    accuracy : float
        Of a linear SVM on √θ, on the held-out documents.
    seconds : float
        Time of one fit.
    """

    n_components: int
    perplexity: float
    coherence: float
    diversity: float
    stability: float
    accuracy: float
    seconds: float


@dataclass(frozen=True)
class Selection:
    """The table of `select_n_components`: `records` by number of topics."""

    records: tuple[SelectionRecord, ...]
    model: str

    def best(self, score: str) -> int:
        """Return the number of topics with the best value of a column, or the smallest.

        Columns are perplexity, coherence, diversity, stability and accuracy.
        """
        known = {name: higher for name, _, higher in _SCORES}
        if score not in known:
            raise DataError(f"there is no score {score!r}. Scores: {', '.join(known)}.")
        values = self._column(score)
        if np.isnan(values).all():
            raise DataError(f"{score} is not defined for {self.model} here.")
        values = values if known[score] else -values
        return self.records[int(np.nanargmax(np.round(values, 12)))].n_components

    def suggested(self) -> int:
        """Return one number of topics.

        With labels, the one with the best accuracy. Otherwise, of those whose topics
        other seeds find again (a stability of 0.68 or more, or else the most stable
        one), the one with the best mean rank in perplexity and coherence, and the
        middle one of equals. It is a starting point: look at the table and at the
        topics.
        """
        if not np.isnan(self._column("accuracy")).all():
            return self.best("accuracy")
        stable = self._stable()
        if not len(stable):
            return self.best("stability")
        used = [
            ranks(values[stable], higher=name == "coherence")
            for name in ("perplexity", "coherence")
            if not np.isnan(values := self._column(name)).any()
        ]
        if not used:
            raise DataError(f"no score is defined for {self.model}.")
        total = np.sum(used, axis=0)
        best = stable[np.isclose(total, total.min())]
        return self.records[int(best[(len(best) - 1) // 2])].n_components

    def stable(self) -> list[int]:
        """Return the numbers whose topics other seeds find again; all with one fit."""
        return [self.records[place].n_components for place in self._stable()]

    def reason(self) -> str:
        """Return by what a number is suggested, to be put after it."""
        if not np.isnan(self._column("accuracy")).all():
            return ", whose shares predict labels best"
        if not self.stable():
            return ", the most stable ones; other seeds find only some of them again"
        some = len(self.stable()) < len(self.records)
        own = f", of those with a stability of {ALIKE} or more" if some else ""
        return f" by perplexity and coherence{own}"

    def to_markdown(self) -> str:
        """Return the table; columns that are not defined are left out."""
        return markdown_table(self.cells())

    def cells(self) -> list[dict[str, str]]:
        """Return the rows of the table as text, by the titles of the columns."""
        return [
            {
                "topics": str(record.n_components),
                **{
                    title: f"{getattr(record, n):.{1 if n == 'perplexity' else 3}f}"
                    for n, title in self._used()
                },
                "seconds": f"{record.seconds:.2f}",
            }
            for record in self.records
        ]

    def __str__(self) -> str:
        return self.to_markdown()

    def _repr_html_(self) -> str:
        columns = ["n_components", *(name for name, _ in self._used()), "seconds"]
        rows = [{name: getattr(r, name) for name in columns} for r in self.records]
        caption = f"{self.model}; suggested: {self.suggested()} topics"
        return html_table(rows, caption)

    def plot(self, path: Any = None) -> Any:
        """Draw every score over the number of topics.

        Returns matplotlib's Figure, and saves it to `path` (.png, .svg or .pdf) if
        given.
        """
        used = self._used()
        figure = load_figure()(figsize=(3.2 * len(used), 3), layout="constrained")
        numbers = [record.n_components for record in self.records]
        for place, (name, title) in enumerate(used, 1):
            axes = figure.add_subplot(1, len(used), place)
            axes.plot(numbers, self._column(name), marker="o")
            axes.axvline(self.suggested(), color="0.8", zorder=0)
            axes.set(xlabel="topics", title=title)
        if path is not None:
            figure.write(path)
        return figure

    def _used(self) -> list[tuple[str, str]]:
        """Return the columns that have values, with their titles."""
        return [(n, t) for n, t, _ in _SCORES if not np.isnan(self._column(n)).all()]

    def _stable(self) -> NDArray[np.int64]:
        return np.flatnonzero(~(self._column("stability") < ALIKE))

    def _column(self, name: str) -> NDArray[np.float64]:
        return np.array([getattr(record, name) for record in self.records])


def select_n_components(
    model: Any,
    X: Any,
    candidates: Sequence[int],
    y: Any = None,
    *,
    n_restarts: int = 3,
    test_size: float = 0.1,
    n_words: int = 10,
    random_state: int = 0,
    n_jobs: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    **data: Any,
) -> Selection:
    """Fit a model with several numbers of topics, and score each.

    Parameters
    ----------
    model : topic model
        Not fitted; copies of it are, with other `n_components` and seeds.
    X : sparse matrix of shape (n_documents, n_terms)
        Counts.
    candidates : sequence of int
        Numbers of topics.
    y : array of shape (n_documents,), optional
        Labels; -1, "" and None mean unknown. They add the column accuracy, and the
        model learns from the training documents' labels if it can.
    n_restarts : int, default=3
        Fits for each number, with seeds from `random_state` on; a single fit has no
        stability.
    test_size : float, default=0.1
        Share of the documents held out.
    n_words : int, default=10
        Top words for coherence and diversity.
    random_state : int, default=0
        Seed of the split and of the first start.
    n_jobs : int or None, default=None
        Fits at a time; None is 1, -1 all cores. The result is the same for any number.
    on_progress : callable, optional
        Called with (fits done, fits in all).
    **data
        What else is known of the documents, as in the model's `fit`, such as
        ``prevalence=table``. Held-out documents are scored by their words alone.

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import PLSA, select_n_components
    >>> X = np.random.default_rng(0).poisson(np.kron(np.eye(3) * 2 + 0.1,
    ...     np.ones((20, 5))))
    >>> found = select_n_components(PLSA(), X, [2, 3], n_words=5, n_restarts=2)
    >>> found.best("coherence")
    3
    """
    counts = read_counts(X)[1]
    sizes = sorted(set(check_sizes(candidates, "candidates")))
    n_restarts = check_sizes(n_restarts, "n_restarts")[0]
    train = _training_part(counts.shape[0], test_size, random_state)
    labels = None if y is None else encode_labels(y, len(train))
    if y is not None and labels is None:
        raise DataError("y has no known label. Leave it out, or give some.")
    known = {name: _training_rows(name, v, train) for name, v in data.items()}
    parts = counts, train, labels, known
    todo = [(size, random_state + i) for size in sizes for i in range(n_restarts)]
    score = partial(_score, model, parts, n_words)
    fits = iter(run_fits(score, todo, n_jobs, on_progress))
    records = [_record(size, list(islice(fits, n_restarts))) for size in sizes]
    return Selection(tuple(records), type(model).__name__)


def _score(
    model: Any, data: tuple[Any, ...], n_words: int, size: int, seed: int
) -> dict[str, Any]:
    X, train, labels, known = data
    fitted = with_size(model, size, seed)
    began = time.perf_counter()
    fitted.fit(X[train], *(() if labels is None else (labels[train],)), **known)
    seconds = time.perf_counter() - began
    topics = np.asarray(fitted.components_, dtype=np.float64)
    mixed = topics.min() >= 0 and np.allclose(topics.sum(axis=1), 1, atol=1e-3)
    found: dict[str, Any] = dict.fromkeys(_SCORED, np.nan)
    if mixed:
        found |= topic_scores(
            fitted, X[train], X[~train], n_words=n_words, n_diverse=n_words
        )
    if labels is not None:
        found["accuracy"] = _accuracy(fitted, X, train, labels)
    return {**found, "topics": topics if mixed else None, "seconds": seconds}


def _training_rows(name: str, value: Any, train: NDArray[np.bool_]) -> Any:
    """Return what is known of the training documents."""
    if isinstance(value, Mapping):
        return {key: _training_rows(name, own, train) for key, own in value.items()}
    if name == "links":
        raise DataError(
            "links are between documents, of which some are held out here. Leave them "
            "out, or compare fits of all documents with fit_many."
        )
    n_rows = value.shape[0] if hasattr(value, "shape") else len(value)
    check_rows(name, n_rows, len(train))
    return _safe_indexing(value, np.flatnonzero(train))


def _accuracy(
    model: Any, X: Any, train: NDArray[np.bool_], labels: NDArray[np.int64]
) -> float:
    from sklearn.svm import LinearSVC

    learn, test = train & (labels >= 0), ~train & (labels >= 0)
    if len(np.unique(labels[learn])) < 2 or not test.any():
        return float("nan")
    seen, new = (np.asarray(model.transform(X[rows])) for rows in (learn, test))
    if min(seen.min(), new.min()) >= 0:
        seen, new = np.sqrt(seen), np.sqrt(new)
    classifier = LinearSVC(random_state=0).fit(seen, labels[learn])
    return float(np.mean(classifier.predict(new) == labels[test]))


def _record(size: int, fits: list[dict[str, Any]]) -> SelectionRecord:
    runs = [fit["topics"] for fit in fits if fit["topics"] is not None]
    means = {
        name: float(np.mean([fit[name] for fit in fits]))
        for name in (*_SCORED, "seconds")
    }
    return SelectionRecord(n_components=size, stability=stability_of(runs), **means)


def _training_part(n: int, test_size: float, seed: int) -> NDArray[np.bool_]:
    if not 0 < test_size < 1:
        raise DataError(f"test_size={test_size} must be between 0 and 1.")
    n_test = max(1, round(test_size * n))
    if n - n_test < 2:
        raise DataError(f"{n} documents are too few to hold {n_test} of them out.")
    train = np.ones(n, dtype=bool)
    train[np.random.default_rng(seed).permutation(n)[:n_test]] = False
    return train
