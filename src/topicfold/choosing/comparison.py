# SPDX-License-Identifier: BSD-3-Clause
"""Which model for my corpus? Several are compared in one table, in a given time."""

from __future__ import annotations

import inspect
import io
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topicfold.choosing.evaluation import (
    COSTS,
    ScoreFile,
    candidates,
    capped,
    check_sizes,
    data_fingerprint,
    draw_split,
    has_topics,
    linear_svm,
    make_candidate,
    powered,
    ranks,
    read_counts,
    read_labels,
    settings_key,
    topic_scores,
    topics_of,
    with_memory,
)
from topicfold.choosing.size import suggest_size
from topicfold.core.counts import words_if_short
from topicfold.core.lazy import optional
from topicfold.core.tables import html_table, markdown_table
from topicfold.engine.protocol import rows_of
from topicfold.exceptions import DataError
from topicfold.graph.embedding import check_embeddings
from topicfold.infer.fold_in import check_cache
from topicfold.learn.loop import quiet
from topicfold.persistence.atomic import write_atomically
from topicfold.registry import ModelEntry, find_model

logger = logging.getLogger(__name__)

UNLABELLED_MODELS = ("PLSA", "LDA", "FSTM", "OTM", "LTM")
LABELLED_MODELS = ("tf-idf", "LSI", "LDA", "FSTM", "LTM", "FSTM^c", "LDA^c", "MedLDA")
METRICS = ("accuracy", "perplexity", "coherence", "diversity", "copies", "stability")
# A fit on this many documents tells how long one on all takes; on fewer it compiles.
_PILOT = 300
_TO_COMPILE = 30
# The SVM that judges features learns from at most this many documents.
_MOST_FOR_SVM = 4000
# A topic is a copy of an earlier one if they share more of their ten top words.
_SHARED_WORDS = 0.5
# What topics need so that a person can read them; see `_unreadable`.
_LEAST_COHERENCE = -0.5
_MOST_COPIES = 0.1
# Below this coherence a reader is warned.
_LOOSE = -0.1
# A model with so much more coherence is named beside the one to take.
_MUCH_COHERENCE = 0.15
# With fewer labelled test documents, accuracies cannot be compared.
_LEAST_LABELS = 30
# Metrics to rank by, and the sign with which larger is better.
_RANKED = {"perplexity": -1, "coherence": 1, "diversity": 1, "stability": 1}
Progress = Callable[[str, int, int, float], None]
# The settings of one fit.
Run = dict[str, Any]


@dataclass(frozen=True)
class ModelScore:
    """One row of a comparison; NaN where a score is not defined.

    Attributes
    ----------
    accuracy : float
        On test documents; higher is better.
    perplexity : float
        Of held-out words of test documents; lower is better. NaN if the model was
        learned from other counts: weighted words, or labelled documents alone.
    coherence, diversity, stability : float
        See `topicfold.metrics`; higher is better.
    seconds, memory_mb : float
        Time to learn, and peak memory above what was in use before.
    copies : float
        Number of topics that share most of their ten top words with an earlier topic;
        lower is better.
    hits : str
        For each test document with a label, 1 if the model found it, else 0.
    """

    model: str
    n_components: int | None
    accuracy: float
    perplexity: float
    coherence: float
    diversity: float
    stability: float
    seconds: float
    memory_mb: float
    copies: float = float("nan")
    hits: str = field(default="", repr=False)


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`.

    Attributes
    ----------
    scores : tuple of ModelScore
        In the order they were run.
    recommendation : str
        Which model to use and why, in a few sentences.
    left_out : tuple of str
        Models that did not fit into the time, failed, or have nothing to score, each
        with the reason.
    n_test : int
        Test documents.
    taken : str
        The recommended model, or the one to read if another is only more accurate; ""
        if there is none.
    """

    scores: tuple[ModelScore, ...]
    recommendation: str
    left_out: tuple[str, ...]
    n_test: int
    taken: str = ""

    def columns(self) -> list[str]:
        """Return the metrics that at least one model has."""
        return [
            name
            for name in METRICS
            if not all(np.isnan(getattr(score, name)) for score in self.scores)
        ]

    def to_markdown(self) -> str:
        """Return the table and the recommendation."""
        return "\n".join(
            [
                markdown_table(self.cells(memory=True)),
                "",
                self.recommendation,
                *(f"- left out: {reason}" for reason in self.left_out),
            ]
        )

    def cells(self, *, memory: bool) -> list[dict[str, str]]:
        """Return the rows of the table as text, with or without the memory."""
        return [
            {
                "model": score.model,
                "topics": str(score.n_components or ""),
                **{n: format_score(n, getattr(score, n)) for n in self.columns()},
                "seconds": f"{score.seconds:.1f}",
                **({"memory, MB": mb} if memory else {}),
            }
            for score in self.scores
            for mb in [format_score("memory", score.memory_mb)]
        ]

    def __str__(self) -> str:
        return self.to_markdown()

    def _repr_html_(self) -> str:
        names = ["model", "n_components", *self.columns(), "seconds", "memory_mb"]
        rows = [{name: getattr(s, name) for name in names} for s in self.scores]
        return html_table(rows, self.recommendation)

    def plot(self, path: Any = None) -> Any:
        """Draw one bar per model for each metric and for the seconds.

        Returns matplotlib's Figure, and saves it to `path` (.png, .svg or .pdf) if
        given.
        """
        names = [*self.columns(), "seconds"]
        height = 1 + 0.35 * len(self.scores)
        figure = load_figure()(figsize=(2.6 * len(names), height), layout="constrained")
        models = [score.model for score in self.scores]
        for place, name in enumerate(names, 1):
            axes = figure.add_subplot(1, len(names), place)
            # A model without this score keeps its place, so that rows line up.
            values = np.nan_to_num([getattr(score, name) for score in self.scores])
            axes.barh(range(len(models)), values)
            axes.set_yticks(
                range(len(models)), models if place == 1 else [""] * len(models)
            )
            axes.set_ylim(len(models) - 0.5, -0.5)
            less = name in ("perplexity", "copies", "seconds")
            axes.set_title(name + " (less is better)" * less, fontsize=9)
        if path is not None:
            figure.write(path)
        return figure


def load_figure() -> Any:
    """Return matplotlib's Figure, which needs no display and shows in notebooks."""
    need, install = "a picture needs matplotlib", "'topicfold[plot]'"
    base: Any = optional("matplotlib.figure", need, install).Figure

    class ShownFigure(base):
        """A figure that a notebook shows, with or without pyplot."""

        def _repr_png_(self) -> bytes:
            stream = io.BytesIO()
            self.savefig(stream, format="png", dpi=100)
            return stream.getvalue()

        def write(self, path: Any) -> None:
            """Save it to a file, whole or not at all."""
            file = Path(path)
            kind = file.suffix.lower().removeprefix(".")
            if kind not in ("png", "svg", "pdf"):
                raise DataError(
                    f"{file} is not the name of a picture. Give one ending in .png, "
                    ".svg or .pdf."
                )
            if not file.parent.is_dir():
                raise DataError(
                    f"there is no folder {file.parent}. Make it, or give another."
                )
            write_atomically(file, lambda to: self.savefig(to, format=kind))

    return ShownFigure


def format_score(name: str, value: float | None) -> str:
    """Return a score with a suitable number of digits; an empty string for NaN."""
    if value is None or np.isnan(value):
        return ""
    whole = name in ("perplexity", "memory", "copies")
    return f"{value:,.0f}" if whole else f"{value:.3f}"


def compare(
    corpus: Any,
    models: Iterable[str] | None = None,
    *,
    n_components: int | None = None,
    time_budget: float = 300.0,
    test_size: float = 0.2,
    random_state: int = 0,
    n_jobs: int | None = None,
    results: Any = None,
    on_progress: Progress | None = None,
    embeddings: Any = None,
    cache: float | str | None = None,
) -> Comparison:
    """Fit several models to a corpus and recommend one.

    Some documents are held out for the scores. Every model is first fitted on a few
    documents; one that would not finish in the time left is skipped, with the reason.

    Parameters
    ----------
    corpus : Corpus or (X, y) or X
        The documents. With labels (at least two classes) accuracy decides, among the
        models whose topics can be read and those without topics; without labels, or
        with fewer than 30 in the test part, the mean rank in perplexity, coherence,
        diversity and stability.
    models : iterable of str, optional
        Names of models (see `topicfold.registry.models`), or ``"tf-idf"``, ``"PCA"``
        and ``"NMF"``; default: some quick and good ones, with WNTM where texts are
        short.
    n_components : int, optional
        Number of topics; default: that of :func:`topicfold.choosing.suggest_size`.
    time_budget : float, default=300.0
        Seconds.
    test_size : float, default=0.2
        Share of test documents.
    random_state : int, default=0
        Seed of the split and the starts.
    n_jobs : int or None, default=None
        Threads of a model.
    results : str or path, optional
        File in which the scores of each model are saved at once.
    on_progress : callable, optional
        Called with (model, models done, models in all, seconds of the model).
    embeddings : array-like of shape (n_documents, n_dimensions), optional
        Vectors of the documents; models that cannot use them learn from words alone.
    cache : float, "learned" or None, default=None
        Weight of a word cache in the perplexity of all models, as in their
        `perplexity`. Use it to compare BurstyLDA, which allows for repetitions, with
        other models.

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import compare
    >>> rng = np.random.default_rng(0)
    >>> X = rng.poisson(np.kron(np.eye(2) * 2 + 0.1, np.ones((30, 8))))
    >>> found = compare(X, ["PLSA", "LDA"], n_components=2)
    >>> [score.model for score in found.scores]
    ['PLSA', 'LDA']
    """
    began = time.monotonic()
    if not time_budget > 0:
        raise DataError(f"time_budget={time_budget} must be above 0 seconds.")
    check_cache(cache)
    name, X, y = _read(corpus)
    train = _training_part(X.shape[0], y, test_size, random_state)
    rows = None if embeddings is None else check_embeddings(embeddings, X.shape[0])
    chosen, left_out = _chosen(models, X, y)
    k = n_components
    if k is None:
        k = suggest_size(X, random_state=random_state, n_jobs=n_jobs).n_topics
    shared = {
        "corpus": name,
        "seed": int(random_state),
        "data": data_fingerprint(X, *(a for a in (y, train, rows) if a is not None)),
        "n_jobs": n_jobs,
        "n_components": check_sizes(k, "n_components")[0],
        **({} if cache is None else {"cache": cache}),
    }
    store, data = ScoreFile(results), (_Documents(X, y, rows), train)
    scores = []
    for number, candidate in enumerate(chosen, 1):
        started = time.monotonic()
        left = time_budget - (started - began)
        score = _scored(candidate, data, shared, store, left)
        if isinstance(score, str):
            left_out.append(f"{candidate.shown}: {score}")
            continue
        scores.append(score)
        if on_progress is not None:
            seconds = time.monotonic() - started
            on_progress(candidate.shown, number, len(chosen), seconds)
    if not scores:
        raise DataError(
            f"no model could be compared: {'; '.join(left_out)}. Give more time, fewer "
            "topics or other models."
        )
    labelled = None if y is None else int((~train & (y >= 0)).sum())
    text, taken = recommend(scores, labelled, short=words_if_short(X) is not None)
    n_test = int((~train).sum())
    return Comparison(tuple(scores), text, tuple(left_out), n_test, taken)


class _Documents(NamedTuple):
    """Counts, classes (-1: unknown) and vectors of documents; None: not known."""

    X: Any
    y: Any
    vectors: Any

    def part(self, chosen: NDArray[Any]) -> _Documents:
        return _Documents(*(rows_of(table, chosen) for table in self))


def measure(data: tuple[_Documents, NDArray[np.bool_]], run: Run) -> dict[str, Any]:
    """Fit one model (twice if there are no labels), and compute all its scores."""
    documents, train = data
    seen, new = documents.part(train), documents.part(~train)
    candidate = find_model(run["model"], candidates())
    model, seconds = _fit(candidate, seen, run, run["seed"])
    scores: dict[str, Any] = {"seconds": seconds}
    if has_topics(candidate):
        cache = run.get("cache")
        scores |= topic_scores(
            model, seen.X, new.X, n_words=10, n_diverse=25, cache=cache
        )
        if not _learned_all(model, seen.X):
            scores["perplexity"] = np.nan
        scores["copies"] = _copies(topics_of(model))
        if documents.y is None:
            from topicfold.metrics import topic_stability

            again, _ = _fit(candidate, seen, run, run["seed"] + 1)
            runs = [topics_of(model), topics_of(again)]
            scores["stability"] = topic_stability(runs)
    if documents.y is not None:
        hits = _hits(candidate, model, seen, new)
        scores["accuracy"] = float(np.mean(hits))
        scores["hits"] = "".join(str(int(hit)) for hit in hits)
    return scores


def recommend(
    scores: Sequence[ModelScore], n_test: int | None, *, short: bool = False
) -> tuple[str, str]:
    """Return a recommendation with its reasons, and the name of the model.

    A model whose topics cannot be read is not recommended. In `short` texts even words
    of one subject rarely occur together; a low coherence then only rules out a model
    if another's is much higher. With labels (`n_test` test documents have one) accuracy
    decides: a topic model whose difference from the best may be chance is preferred to
    features that nobody can read. Without labels, or with too few, the mean rank in all
    other metrics decides.
    """
    few = n_test is not None and n_test < _LEAST_LABELS
    if few:
        scores = [replace(score, accuracy=np.nan) for score in scores]
    known = [s.coherence for s in scores if not np.isnan(s.coherence)]
    least = _LEAST_COHERENCE
    if short and known:
        least = min(least, max(known) - _MUCH_COHERENCE)
    reasons = [_unreadable(score, scores, least) for score in scores]
    usable = [s for s, why in zip(scores, reasons, strict=True) if not why]
    out = ", ".join(
        f"{s.model} ({why}{_accuracy(s)})"
        for s, why in zip(scores, reasons, strict=True)
        if why
    )
    if not usable:
        return f"No model is recommended, because the topics cannot be read: {out}.", ""
    labelled = [score for score in usable if not np.isnan(score.accuracy)]
    taken: ModelScore | None
    if n_test and labelled:
        text, taken = _by_accuracy(labelled, scores, n_test)
    else:
        text, taken = _by_ranks(usable, scores)
    if few:
        text += f" {n_test} test labels are too few to rank models by accuracy."
    if taken is not None:
        text += _cautions(taken, usable, short=short)
    if out:
        text += f" Left out because their topics cannot be read: {out}."
    return text, "" if taken is None else taken.model


def _unreadable(score: ModelScore, scores: Sequence[ModelScore], least: float) -> str:
    """Return why the topics of a model cannot be read; "" if they can, or it has none.

    Copies are forgiven the model with the best coherence: `_cautions` tells of them.
    """
    if np.isnan(score.coherence):
        return ""
    reasons = []
    if score.coherence < least:
        reasons.append(f"coherence {score.coherence:.2f}")
    topical = (s for s in scores if not np.isnan(s.coherence))
    if reasons or score is not max(topical, key=lambda s: (s.coherence, -s.copies)):
        reasons += _copied(score)
    return ", ".join(reasons)


def _copied(score: ModelScore) -> list[str]:
    if not score.copies > _MOST_COPIES * (score.n_components or 1):
        return []
    return [f"{score.copies:.0f} of {score.n_components} topics are copies of others"]


def _cautions(taken: ModelScore, usable: Sequence[ModelScore], *, short: bool) -> str:
    """Say what a reader of the topics should know, and who has clearly better ones."""
    text = "".join(f" But {reason}." for reason in _copied(taken))
    if short and taken.coherence < _LOOSE:
        text += (
            " In short texts every model has a low coherence: use it only to compare "
            "models."
        )
    elif taken.coherence < _LOOSE:
        text += (
            f" {taken.model}'s words may not belong together (its coherence is "
            f"{taken.coherence:.2f}): read them first."
        )
    topical = [score for score in usable if not np.isnan(score.coherence)]
    clearest = max(topical, key=lambda s: s.coherence, default=taken)
    if clearest.coherence - taken.coherence > _MUCH_COHERENCE:
        text += (
            f" {clearest.model} has clearer topics (coherence "
            f"{clearest.coherence:.2f}{_accuracy(clearest)})."
        )
    return text


def _accuracy(score: ModelScore) -> str:
    return "" if np.isnan(score.accuracy) else f", accuracy {score.accuracy:.3f}"


def _by_accuracy(
    usable: Sequence[ModelScore], scores: Sequence[ModelScore], n_test: int
) -> tuple[str, ModelScore]:
    best = max(usable, key=lambda score: score.accuracy)
    share = np.sqrt(best.accuracy * (1 - best.accuracy) / n_test)
    range_ = f"± {2 * share:.3f}"
    readable = [s for s in usable if not np.isnan(s.coherence)]
    words = next((s for s in usable if s.model == "tf-idf"), None)
    if best in readable or not readable:
        where = "of those that can be read" if best in readable else "of the rest"
        if not any(score.accuracy > best.accuracy for score in scores):
            where = "here"
        text = (
            f"Take {best.model}: accuracy {best.accuracy:.3f} {range_}, the best "
            f"{where}"
        )
        if best in readable and words is not None:
            gain = best.accuracy - words.accuracy
            chance = ", which may be chance" if _chance(best, words, n_test) else ""
            text += f" ({gain:+.3f} compared with plain tf-idf{chance})"
        return f"{text}.", best
    near = max(readable, key=lambda score: score.accuracy)
    if _chance(best, near, n_test):
        read = " that can be read" if near.coherence >= _LOOSE else ""
        return (
            f"Take {near.model}: accuracy {near.accuracy:.3f} {range_} in "
            f"{near.n_components} topics{read}; the difference from {best.model} "
            f"({best.accuracy:.3f}) may be chance."
        ), near
    return (
        f"Take {best.model} if only accuracy counts ({best.accuracy:.3f} {range_}), "
        f"{near.model} ({near.accuracy:.3f}) if you want to read the topics."
    ), near


def _chance(a: ModelScore, b: ModelScore, n_test: int) -> bool:
    """Whether the difference of two accuracies is within two standard errors.

    Both are of the same documents, so only those that one model alone found count
    (McNemar's test); where they are not known, as many as if hits were independent.
    """
    alone = a.accuracy * (1 - b.accuracy) + b.accuracy * (1 - a.accuracy)
    if len(a.hits) == len(b.hits) == n_test:
        alone = float(np.mean([x != y for x, y in zip(a.hits, b.hits, strict=True)]))
    return bool(abs(a.accuracy - b.accuracy) <= 2 * np.sqrt(alone / n_test))


def _by_ranks(
    usable: Sequence[ModelScore], scores: Sequence[ModelScore]
) -> tuple[str, ModelScore | None]:
    def values(models: Sequence[ModelScore], name: str) -> NDArray[np.float64]:
        return np.array([_RANKED[name] * getattr(score, name) for score in models])

    names = [name for name in _RANKED if not np.isnan(values(scores, name)).all()]
    ranked = [s for s in usable if not all(np.isnan(getattr(s, n)) for n in names)]
    if not ranked:
        return "The models cannot be ranked: no score is defined for any of them.", None
    if len(scores) == 1:
        return f"Take {ranked[0].model}. No other model could be scored.", ranked[0]
    if len(ranked) == 1:
        return f"Take {ranked[0].model}: only its topics can be read.", ranked[0]
    # A score that a model does not have is the worst.
    table = np.array([values(ranked, name) for name in names])
    table[np.isnan(table)] = -1e99
    means = np.mean([ranks(row, higher=True) for row in table], axis=0)
    first, second = np.argsort(means, kind="stable")[:2]
    best = ranked[first]
    readable = len(usable) == len(scores)
    where = "overall" if readable else "of those that can be read"
    close = ": too close to tell apart" if means[second] - means[first] < 0.5 else ""
    text = (
        f"Take {best.model}: it ranks best {where} (mean rank {means[first]:.1f}; "
        f"{ranked[second].model} {means[second]:.1f}{close})."
    )
    # Of all models in the table, whether they can be read or not.
    ahead = [
        name
        for name in names
        if (values(scores, name) >= values([best], name)).sum() == 1
    ]
    return text + (f" It leads in {_listed(ahead)}." if ahead else ""), best


def _listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _scored(
    candidate: ModelEntry, data: Any, shared: Run, store: ScoreFile, left: float
) -> ModelScore | str:
    """Return the score of a model, or the reason why it is left out."""
    run = {**shared, "model": candidate.shown}
    if not candidate.sized:
        run["n_components"] = None
    key = settings_key(run)
    unknown: Run = dict.fromkeys((*METRICS, "seconds", "memory_mb"), float("nan"))
    unknown["hits"] = ""
    if store.scores.get(key, {}).keys() != unknown.keys():  # a file may say anything
        expected = _expected_seconds(data, run) if left > 0 else np.inf
        if expected > left:
            need = "" if expected == np.inf else f" (about {expected:.0f} s)"
            return f"no time left for it{need}"
        try:
            with quiet():
                found, memory = with_memory(lambda: measure(data, run))
        except Exception as error:
            logger.warning("%s failed: %s", candidate.shown, error)
            logger.debug("the error:", exc_info=True)
            return f"{type(error).__name__}: {error}"
        peak = {} if memory is None else {"memory_mb": memory}
        store.add(key, unknown | found | peak)
    return ModelScore(candidate.shown, run["n_components"], **store.scores[key])


def _fit(
    candidate: ModelEntry, documents: _Documents, run: Run, seed: int
) -> tuple[Any, float]:
    options = candidate.options if candidate.classifies else {}
    n_components = capped(run["n_components"], documents.X, candidate)
    model = make_candidate(
        candidate, n_components, seed, n_jobs=run["n_jobs"], **options
    )
    began = time.perf_counter()
    given = documents[: 2 if candidate.labels == "must" else 1]
    model = model.fit(*given, **_known(model, documents))
    return model, time.perf_counter() - began


def _known(model: Any, documents: _Documents) -> dict[str, Any]:
    """Return the embeddings of documents for a model that takes some."""
    if documents.vectors is None or getattr(model, "_needs_whole_counts", False):
        return {}
    takes = "embeddings" in inspect.signature(model.fit).parameters
    return {"embeddings": documents.vectors} if takes else {}


def _hits(
    candidate: ModelEntry, model: Any, train: _Documents, test: _Documents
) -> NDArray[np.bool_]:
    """Return which of the labelled test documents are classified rightly."""
    (X, y, _), (X_new, y_new, _) = labelled = [
        part.part(part.y >= 0) for part in (train, test)
    ]
    known, known_new = (_known(model, part) for part in labelled)
    if candidate.classifies:
        return np.asarray(model.predict(X_new, **known_new) == y_new)
    seen = powered(candidate, model.transform(X, **known), 0.5)
    new = powered(candidate, model.transform(X_new, **known_new), 0.5)
    few = np.random.default_rng(0).permutation(seen.shape[0])[:_MOST_FOR_SVM]
    classifier = linear_svm("cv", y[few], COSTS[candidate.kind])
    classifier.fit(seen[few], y[few])
    return np.asarray(classifier.predict(new) == y_new)


def _learned_all(model: Any, X: Any) -> bool:
    """Whether a model was learned from these counts, so that perplexities compare.

    TwoPhase weighs words, and MedLDA leaves out documents without a label.
    """
    learned = getattr(getattr(model, "base_", model), "word_frequencies_", None)
    shares = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() / X.sum()
    return learned is not None and np.allclose(learned, shares, rtol=1e-3, atol=1e-9)


def _copies(topics: NDArray[np.floating]) -> float:
    """Return the number of topics that share most top words with an earlier one."""
    from topicfold.metrics.words import top_columns

    top = [set(c.tolist()) for c in top_columns(topics, min(10, topics.shape[1]))]
    copies = (
        any(
            len(words & other) > _SHARED_WORDS * max(len(words), len(other))
            for other in top[:number]
        )
        for number, words in enumerate(top)
    )
    return float(sum(copies))


def _read(corpus: Any) -> tuple[str, Any, NDArray[np.int64] | None]:
    """Return counts, and classes from 0 with -1 for unknown, or None without labels."""
    name, X = read_counts(corpus)
    if X.shape[0] < 10:
        raise DataError(f"{X.shape[0]} documents are too few to compare models on.")
    y, classes = read_labels(corpus, X.shape[0])
    if len(classes) < 2:
        logger.info("compared without labels: there are %d classes", len(classes))
        return name, X, None
    return name, X, y


def _chosen(names: Any, X: Any, y: Any) -> tuple[list[ModelEntry], list[str]]:
    """Return the candidates, and the reasons for those that cannot be scored."""
    if names is None:
        names = list(UNLABELLED_MODELS if y is None else LABELLED_MODELS)
        if words_if_short(X) is not None:
            names.insert(names.index("LDA") + 1, "WNTM")
    names = [names] if isinstance(names, str) else names
    if not isinstance(names, Iterable) or not all(isinstance(n, str) for n in names):
        raise DataError(
            f"models are {names!r}. Give their names, such as ['lda', 'plsa']."
        )
    chosen = [find_model(name, candidates()) for name in names]
    if not chosen:
        known = ", ".join(candidate.shown for candidate in candidates())
        raise DataError(f"no models were given. Give at least one of {known}.")
    for candidate in chosen:
        candidate.load()
    if y is not None:
        return chosen, []
    need = [candidate.shown for candidate in chosen if candidate.labels == "must"]
    if need:
        raise DataError(
            f"{', '.join(need)} learns from labels, and the corpus has none (at least "
            "two classes are needed). Leave it out."
        )
    reason = "it has no topics, and without labels nothing else can be scored"
    left_out = [f"{c.shown}: {reason}" for c in chosen if not has_topics(c)]
    return [c for c in chosen if has_topics(c)], left_out


def _training_part(
    n_documents: int, y: NDArray[np.int64] | None, test_size: float, seed: int
) -> NDArray[np.bool_]:
    """Return the training documents, stratified; unlabelled ones count as a class."""
    groups = np.zeros(n_documents, dtype=np.int64) if y is None else y
    train = draw_split(groups, test_size, seed)
    if y is not None and (
        len(np.unique(y[train & (y >= 0)])) < 2 or not (~train & (y >= 0)).any()
    ):
        raise DataError(
            "too few documents have labels to hold some out. Give more, or leave the "
            "labels out."
        )
    return train


def _expected_seconds(data: Any, run: Run) -> float:
    """Return how long a run will take, from fits on a few documents.

    Kernels are compiled there too, so compilation is not part of a model's seconds.
    """
    documents, train = data
    rows = np.flatnonzero(train)
    timed = len(rows) > 2 * _PILOT
    n_few = min(_PILOT if timed else _TO_COMPILE, len(rows))
    chosen = np.random.default_rng(0).choice(rows, n_few, replace=False)
    few = documents.part(np.sort(chosen))
    if few.y is not None and len(np.unique(few.y[few.y >= 0])) < 2:
        return 0.0
    candidate = find_model(run["model"], candidates())
    small = dict(run)
    if candidate.sized:
        small["n_components"] = max(1, min(run["n_components"], n_few // 3))
    try:
        with quiet():
            for _ in range(2 if timed else 1):
                _, seconds = _fit(candidate, few, small, 0)
    except Exception:
        logger.debug("%s failed on a few documents", candidate.shown, exc_info=True)
        return 0.0  # the fit on all of them will say what is wrong
    if not timed:
        return 0.0
    work = documents.X[rows].nnz / max(1, few.X.nnz)
    fits = 2 if few.y is None and has_topics(candidate) else 1
    return float(seconds * work * fits)
