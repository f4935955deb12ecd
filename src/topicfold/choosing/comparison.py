# SPDX-License-Identifier: BSD-3-Clause
"""Which model for my corpus? Several of them, in the time there is, in one table."""

from __future__ import annotations

import io
import logging
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    linear_svm,
    make_candidate,
    powered,
    quiet,
    ranks,
    read_counts,
    read_labels,
    settings_key,
    topic_scores,
    with_memory,
)
from topicfold.core.lazy import optional
from topicfold.core.tables import html_table, markdown_table
from topicfold.exceptions import DataError
from topicfold.persistence.atomic import write_atomically
from topicfold.registry import ModelEntry, find_model

__all__ = ["Comparison", "ModelScore", "compare", "format_score", "recommend"]

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
_COHERENCE_BEHIND = 0.3
_LEAST_SHARE_OF_DIVERSITY = 0.5
_MOST_COPIES = 0.1
# Metric, and whether more is better.
_RANKED = (
    ("perplexity", False),
    ("coherence", True),
    ("diversity", True),
    ("stability", True),
)
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
        Of held-out words of test documents; lower is better.
    coherence, diversity, stability : float
        See `topicfold.metrics`; higher is better.
    seconds, memory_mb : float
        Time to learn, and peak memory above what was in use before.
    copies : float
        Number of topics that share most of their ten top words with an earlier topic;
        lower is better.
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


@dataclass(frozen=True)
class Comparison:
    """What `compare` found.

    Attributes
    ----------
    scores : tuple of ModelScore
        In the order they were run.
    recommendation : str
        One sentence.
    left_out : tuple of str
        Models that did not fit into the time, failed, or have nothing to score, each
        with the reason.
    n_test : int
        Test documents.
    """

    scores: tuple[ModelScore, ...]
    recommendation: str
    left_out: tuple[str, ...]
    n_test: int

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
            write_atomically(file, lambda to: self.savefig(to, format=kind))

    return ShownFigure


def format_score(name: str, value: float | None) -> str:
    """Return a score with as many digits as it deserves; nothing for NaN."""
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
    seed: int | None = None,
) -> Comparison:
    """Fit several models on a corpus and say which to take.

    Some documents are held out for the scores. Every model is first fitted on a few
    documents; one that would not finish in the time left is skipped, with the reason.

    Parameters
    ----------
    corpus : Corpus or (X, y) or X
        The documents. With labels (at least two classes) accuracy decides among the
        models whose topics can be read and those without topics; without labels, the
        mean rank in perplexity, coherence, diversity and stability.
    models : iterable of str, optional
        Names of models (see `topicfold.registry.models`), or ``"tf-idf"``, ``"PCA"``
        and ``"NMF"``; default: some quick and good ones, with WNTM where texts are
        short.
    n_components : int, optional
        Number of topics; default: between 10 and 100, by the number of documents.
    time_budget : float, default=300.0
        Seconds.
    test_size : float, default=0.2
        Share of test documents.
    random_state : int, default=0
        Seed of the split and the starts.
    n_jobs : int or None, default=None
        Threads of a model.
    results : str or path, optional
        File in which each model's scores are kept as they come.
    on_progress : callable, optional
        Called with (model, models done, models in all, seconds of the model).
    seed : int, optional
        Old name of `random_state`.

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
    if seed is not None:
        warnings.warn(
            "compare(seed=) is now random_state=; the old name will be removed in "
            "version 0.3.",
            FutureWarning,
            stacklevel=2,
        )
        random_state = seed
    if not time_budget > 0:
        raise DataError(f"time_budget={time_budget} must be above 0 seconds.")
    name, X, y = _read(corpus)
    train = _training_part(X.shape[0], y, test_size, random_state)
    chosen, left_out = _chosen(models, X, y)
    k = n_components
    if k is None:
        k = int(np.clip(round(np.sqrt(X.shape[0] / 2)), 10, 100))
    shared = {
        "corpus": name,
        "seed": int(random_state),
        "data": data_fingerprint(X, *(() if y is None else (y,)), train),
        "n_jobs": n_jobs,
        "n_components": check_sizes(k, "n_components")[0],
    }
    store = ScoreFile(results)
    scores = []
    for number, candidate in enumerate(chosen, 1):
        started = time.monotonic()
        left = time_budget - (started - began)
        score = _scored(candidate, (X, y, train), shared, store, left)
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
    sentence = recommend(scores, labelled)
    return Comparison(tuple(scores), sentence, tuple(left_out), int((~train).sum()))


def measure(data: Any, run: Run) -> dict[str, float]:
    """Fit one model (without labels twice), and score it in every way there is."""
    X, y, train = data
    candidate = find_model(run["model"], candidates())
    labels = None if y is None else y[train]
    model, seconds = _fit(candidate, X[train], labels, run, run["seed"])
    scores = {"seconds": seconds}
    if candidate.has_topics:
        scores |= topic_scores(model, X[train], X[~train], n_words=10, n_diverse=25)
        scores["copies"] = _copies(model.components_)
        if y is None:
            from topicfold.metrics import topic_stability

            again, _ = _fit(candidate, X[train], None, run, run["seed"] + 1)
            runs = [model.components_, again.components_]
            scores["stability"] = topic_stability(runs)
    if y is not None:
        scores["accuracy"] = _accuracy(candidate, model, X, y, train)
    return scores


def recommend(scores: Sequence[ModelScore], n_test: int | None) -> str:
    """Say which model to take, in one sentence.

    A model whose topics cannot be read is never recommended. With labels accuracy
    decides: a topic model that is no worse than the best by more than chance (two
    standard errors of a share of the test documents) is preferred to features that
    nobody can read. Without labels (`n_test` is None) the mean rank in all other
    metrics decides.
    """
    reasons = {score.model: _unreadable(score, scores) for score in scores}
    usable = [score for score in scores if not reasons[score.model]]
    text = "; ".join(f"{model}: {why}" for model, why in reasons.items() if why)
    if not usable:
        return f"Take none of these, since their topics cannot be read ({text})."
    known = [score for score in usable if not np.isnan(score.accuracy)]
    if not (n_test and known):
        if len(usable) == 1 and text:
            return f"Take {usable[0].model}: only its topics can be read ({text})."
        return _by_ranks(usable)
    text, taken = _by_accuracy(known, n_test)
    better = [
        f"{s.model} ({s.accuracy:.3f}; {reasons[s.model]})"
        for s in scores
        if reasons[s.model] and s.accuracy > taken
    ]
    if better:
        text += f"; more accurate, but with unreadable topics: {', '.join(better)}"
    return f"{text}."


def _unreadable(score: ModelScore, scores: Sequence[ModelScore]) -> str:
    """Return why the topics of a model cannot be read; "" if they can, or it has none.

    Diversity and coherence are judged against the best model here, since few words,
    many topics or short texts lower those of all models.
    """
    if np.isnan(score.coherence):
        return ""
    reasons = []
    best = max(s.coherence for s in scores if not np.isnan(s.coherence))
    behind = score.coherence < min(0.0, best - _COHERENCE_BEHIND)
    if behind or score.coherence < _LEAST_COHERENCE:
        reasons.append(f"coherence {score.coherence:.2f}")
    known = [s.diversity for s in scores if not np.isnan(s.diversity)]
    widest = max(known, default=np.nan)  # a file of results may lack all of them
    if score.diversity < _LEAST_SHARE_OF_DIVERSITY * widest:
        reasons.append(f"diversity {score.diversity:.2f}")
    if score.copies > _MOST_COPIES * (score.n_components or 1):
        reasons.append(
            f"{score.copies:.0f} of {score.n_components} topics are copies of others"
        )
    return ", ".join(reasons)


def _by_accuracy(scores: Sequence[ModelScore], n_test: int) -> tuple[str, float]:
    """Return the recommendation without its full stop, and the accuracy it takes."""
    best = max(scores, key=lambda score: score.accuracy)
    share = np.sqrt(best.accuracy * (1 - best.accuracy) / n_test)
    margin = 2 * np.sqrt(2) * share
    range_ = f"± {2 * share:.3f}"
    readable = [s for s in scores if not np.isnan(s.coherence)]
    words = next((s for s in scores if s.model == "tf-idf"), None)
    if best in readable or not readable:
        text = (
            f"Take {best.model}: accuracy {best.accuracy:.3f} {range_}, the best here"
        )
        if best in readable and words is not None:
            gain = best.accuracy - words.accuracy
            clear = "" if gain > margin else ", a difference that may be chance"
            text += f" ({gain:+.3f} to plain tf-idf{clear})"
        return text, best.accuracy
    near = max(readable, key=lambda score: score.accuracy)
    text = (
        f"Take {best.model} if only accuracy counts ({best.accuracy:.3f} {range_}), "
        f"{near.model} ({near.accuracy:.3f}) if the {near.n_components} dimensions are "
        "to be read"
    )
    if best.accuracy - near.accuracy <= margin:
        text = (
            f"Take {near.model}: accuracy {near.accuracy:.3f} {range_} in "
            f"{near.n_components} topics{_loose(near)}, no worse than {best.model} "
            f"({best.accuracy:.3f}) by more than chance"
        )
    return text, near.accuracy


def _loose(score: ModelScore) -> str:
    """Say whether topics can be read, or how loosely their words hang together."""
    if score.coherence >= 0:
        return " that can be read"
    return f" of loosely related words (coherence {score.coherence:.2f}: look first)"


def _by_ranks(scores: Sequence[ModelScore]) -> str:
    if len(scores) == 1:
        return f"Take {scores[0].model}: it is the only one to choose from."
    found: dict[str, NDArray[np.float64]] = {}
    for name, higher in _RANKED:
        values = np.array([getattr(score, name) for score in scores])
        if not np.isnan(values).any():
            found[name] = ranks(values, higher=higher)
    if not found:
        return "No score is defined for all models: look at the topics themselves."
    means = np.mean(list(found.values()), axis=0)
    first, second = np.argsort(means, kind="stable")[:2]
    ahead = [name for name, values in found.items() if values[first] == values.min()]
    lead = f", the best in {', '.join(ahead)}" if ahead else ""
    close = ", too close to tell apart" if means[second] - means[first] < 0.5 else ""
    return (
        f"Take {scores[first].model}: best mean rank in {', '.join(found)}{lead} "
        f"({means[first]:.1f}; next is {scores[second].model} with "
        f"{means[second]:.1f}{close})."
    )


def _scored(
    candidate: ModelEntry, data: Any, shared: Run, store: ScoreFile, left: float
) -> ModelScore | str:
    """Return the score of a model, or the reason why it is left out."""
    run = {**shared, "model": candidate.shown}
    if not candidate.sized:
        run["n_components"] = None
    key = settings_key(run)
    unknown = dict.fromkeys((*METRICS, "seconds", "memory_mb"), float("nan"))
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
    candidate: ModelEntry, X: Any, y: NDArray[np.int64] | None, run: Run, seed: int
) -> tuple[Any, float]:
    options = candidate.options if candidate.classifies else {}
    n_components = capped(run["n_components"], X, candidate)
    model = make_candidate(
        candidate, n_components, seed, n_jobs=run["n_jobs"], **options
    )
    began = time.perf_counter()
    model = model.fit(X, y) if candidate.labels == "must" else model.fit(X)
    return model, time.perf_counter() - began


def _accuracy(
    candidate: ModelEntry,
    model: Any,
    X: Any,
    y: NDArray[np.int64],
    train: NDArray[np.bool_],
) -> float:
    learn, test = train & (y >= 0), ~train & (y >= 0)
    if candidate.classifies:
        return float(np.mean(model.predict(X[test]) == y[test]))
    seen, new = (powered(candidate, model.transform(X[r]), 0.5) for r in (learn, test))
    few = np.random.default_rng(0).permutation(seen.shape[0])[:_MOST_FOR_SVM]
    classifier = linear_svm("cv", y[learn][few], COSTS[candidate.kind])
    classifier.fit(seen[few], y[learn][few])
    return float(np.mean(classifier.predict(new) == y[test]))


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
        from topicfold.models.word_network import words_if_short

        names = list(UNLABELLED_MODELS if y is None else LABELLED_MODELS)
        if words_if_short(X) is not None:
            names.insert(names.index("LDA") + 1, "WNTM")
    names = [names] if isinstance(names, str) else names
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
    left_out = [f"{c.shown}: {reason}" for c in chosen if not c.has_topics]
    return [c for c in chosen if c.has_topics], left_out


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
    X, y, train = data
    rows = np.flatnonzero(train)
    judged = len(rows) > 2 * _PILOT
    n_few = min(_PILOT if judged else _TO_COMPILE, len(rows))
    few = np.sort(np.random.default_rng(0).choice(rows, n_few, replace=False))
    labels = None if y is None else y[few]
    if labels is not None and len(np.unique(labels[labels >= 0])) < 2:
        return 0.0
    candidate = find_model(run["model"], candidates())
    small = dict(run)
    if candidate.sized:
        small["n_components"] = max(1, min(run["n_components"], n_few // 3))
    try:
        with quiet():
            for _ in range(2 if judged else 1):
                _, seconds = _fit(candidate, X[few], labels, small, 0)
    except Exception:
        logger.debug("%s failed on a few documents", candidate.shown, exc_info=True)
        return 0.0  # the fit on all of them will say what is wrong
    if not judged:
        return 0.0
    work = X[rows].nnz / max(1, X[few].nnz)
    fits = 2 if y is None and candidate.has_topics else 1
    return float(seconds * work * fits)
