# SPDX-License-Identifier: BSD-3-Clause
"""The measures of a comparison, on held-out documents, and the file of scores."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core.counts import check_counts, normalize_rows, refuse_other
from topicfold.core.labels import class_numbers
from topicfold.corpus import Corpus
from topicfold.exceptions import DataError
from topicfold.registry import ModelEntry, models

# Costs to choose from: features of length 1 need a smaller one than √θ.
COSTS = {"topics": (1.0, 8.0, 64.0), "features": (0.25, 1.0, 4.0)}
# The cost is chosen on at most this many training documents, in three folds.
MOST_CROSS_VALIDATED = 4000
N_FOLDS = 3


def read_counts(corpus: Any) -> tuple[str, sparse.csr_matrix]:
    """Return the name and counts of a corpus or of a pair (counts, labels)."""
    if isinstance(corpus, Corpus):
        return corpus.name, sparse.csr_matrix(corpus.counts)
    X = corpus[0] if isinstance(corpus, tuple) and len(corpus) == 2 else corpus
    if isinstance(X, str | bytes) or hasattr(X, "__fspath__"):
        raise DataError(
            f"the corpus is a {type(X).__name__}. Read the file first: "
            f"topicfold.corpus.read({str(X)[:60]!r})."
        )
    refuse_other(X)
    return "", check_counts(X, "X")


def read_labels(corpus: Any, n_documents: int) -> tuple[NDArray[np.int64], list[str]]:
    """Return classes from 0, with -1 for unknown (-1, "", None), and their names."""
    if isinstance(corpus, Corpus):
        return corpus.encoded_labels()
    labels = corpus[1] if isinstance(corpus, tuple) else None
    if labels is None:
        return np.full(n_documents, -1), []
    y, classes = class_numbers(labels, n_documents)
    return y, [str(name) for name in classes]


def check_sizes(values: Any, name: str) -> list[int]:
    """Return a list of integers, from one or several."""
    numbers = np.atleast_1d(np.asarray(values))
    truths = isinstance(values, Sequence) and any(isinstance(v, bool) for v in values)
    if (
        numbers.ndim != 1
        or numbers.dtype.kind not in "iu"
        or not len(numbers)
        or truths
    ):
        raise DataError(f"{name}={values!r} must be an integer or a list of integers.")
    if numbers.min() < 1:
        raise DataError(f"{name}={values!r} must be 1 or more.")
    return [int(number) for number in numbers]


def draw_split(groups: NDArray[Any], test_size: float, seed: int) -> NDArray[np.bool_]:
    """Draw training documents, stratified by group; a group of one is for training."""
    if not 0 < test_size < 1:
        raise DataError(f"test_size={test_size} must be between 0 and 1.")
    rng = np.random.default_rng([seed, 2])
    test = np.zeros(len(groups), dtype=bool)
    for group in np.unique(groups).tolist():
        members = np.flatnonzero(groups == group)
        count = min(round(test_size * len(members)), len(members) - 1)
        test[rng.choice(members, count, replace=False)] = True
    if not test.any():
        raise DataError("there are no test documents. Give a larger test_size.")
    return ~test


Found = TypeVar("Found")

# Coherence is measured on held-out documents if there are at least this many.
ENOUGH = 100


def topic_scores(
    model: Any,
    train: Any,
    test: Any,
    *,
    n_words: int,
    n_diverse: int,
    cache: float | str | None = None,
) -> dict[str, float]:
    """Return coherence and perplexity on `test`, and diversity; NaN if none.

    Coherence is measured on documents that the model has not seen, because a model of
    words that occur together would have it built in otherwise; or on the training
    documents if fewer than `ENOUGH` are held out.
    """
    from topicfold.metrics import npmi_coherence, topic_diversity

    topics = topics_of(model)
    n_terms = topics.shape[1]
    scores = {"coherence": np.nan, "perplexity": np.nan}
    if min(n_words, n_terms) > 1:
        unseen = test if test.shape[0] >= ENOUGH else train
        coherence = npmi_coherence(topics, unseen, n_words=min(n_words, n_terms))
        if np.isfinite(coherence).any():
            scores["coherence"] = float(np.nanmean(coherence))
    scores["diversity"] = topic_diversity(topics, min(n_diverse, n_terms))
    if hasattr(model, "perplexity") and test.nnz:
        # BurstyLDA has the repetitions in it.
        beside = {} if getattr(model, "_repeats_words", False) else {"cache": cache}
        scores["perplexity"] = float(model.perplexity(test, **beside))
    return scores


def stability_of(runs: Sequence[Any]) -> float:
    """Return the stability of the topics of several fits, or NaN if it is meaningless.

    That is so if all fits are the same, because their start has no random numbers.
    """
    from topicfold.metrics import topic_stability

    alike = all(np.array_equal(run, runs[0]) for run in runs[1:])
    return float("nan") if alike else topic_stability(runs)


def ranks(values: NDArray[np.float64], *, higher: bool) -> NDArray[np.float64]:
    """Return the rank of each value, 1 for the best, the mean rank for equal ones."""
    from scipy.stats import rankdata

    found: NDArray[np.float64] = rankdata(np.round(-values if higher else values, 9))
    return found


def linear_svm(
    c: float | str, y: NDArray[Any], costs: tuple[float, ...] = COSTS["topics"]
) -> Any:
    """Return a linear SVM; ``c="cv"`` chooses its cost where classes have three
    documents.
    """
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import LinearSVC

    if c != "cv":
        return LinearSVC(C=c, random_state=0)
    svm = LinearSVC(random_state=0)
    if np.unique(y, return_counts=True)[1].min() < N_FOLDS:
        return svm
    return GridSearchCV(svm, {"C": costs}, cv=_folds(y))


def _folds(y: NDArray[Any]) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return stratified folds of at most `MOST_CROSS_VALIDATED` documents."""
    from sklearn.model_selection import StratifiedKFold

    # A share of every class, and enough documents for the folds.
    share = min(1.0, MOST_CROSS_VALIDATED / len(y))
    rng = np.random.default_rng(0)
    parts = []
    for members in (np.flatnonzero(y == c) for c in np.unique(y)):
        count = max(N_FOLDS, round(share * len(members)))
        parts.append(rng.permutation(members)[:count])
    rows = np.sort(np.concatenate(parts))
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    return [(rows[a], rows[b]) for a, b in folds.split(rows, y[rows])]


class ScoreFile:
    """Scores in a file of JSON lines, by the settings that gave them.

    A run that is killed while it writes leaves an incomplete line, which is ignored.
    Without a path, scores are kept in memory only.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path = None if path is None else Path(path)
        self.scores: dict[str, dict[str, Any]] = {}
        if self.path is None:
            return
        if self.path.is_dir():
            raise DataError(f"{self.path} is a folder. Give a file for the results.")
        if self.path.is_symlink() and not self.path.exists():
            raise DataError(f"{self.path} is a link to nothing. Remove it.")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        content = self.path.read_bytes().strip() if self.path.is_file() else b""
        if content and not content.startswith(b"{"):
            raise DataError(
                f"{self.path} is not a file of results. Give another file, or remove "
                "it."
            )
        nonsense = (ValueError, LookupError, TypeError, AttributeError)
        for line in content.splitlines():
            with contextlib.suppress(*nonsense, OverflowError, RecursionError):
                row = json.loads(line)
                scores = {
                    name: str(value) if name == "hits" else float(value)
                    for name, value in row["scores"].items()
                }
                self.scores[row["settings"]] = scores

    def add(self, settings: str, scores: dict[str, Any]) -> None:
        """Keep scores, on the disk before this returns."""
        self.scores[settings] = scores
        if self.path is not None:
            row = json.dumps({"settings": settings, "scores": scores})
            with self.path.open("ab") as stream:
                # On its own line, even if a killed run left an incomplete line before
                # it.
                stream.write(f"\n{row}\n".encode())
                stream.flush()
                os.fsync(stream.fileno())


def settings_key(settings: Mapping[str, Any]) -> str:
    """Return a short name for settings; equal settings have equal names."""
    text = json.dumps(settings, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def data_fingerprint(*arrays: Any) -> str:
    """Return a short name for data, so that other documents are another experiment."""
    digest = hashlib.sha256()
    for array in arrays:
        parts = [array]
        if hasattr(array, "indptr"):
            parts = [np.asarray(array.shape), array.indptr, array.indices, array.data]
        for part in parts:
            values = np.ascontiguousarray(part)
            if values.dtype.kind == "O":
                values = values.astype(str)
            # Neither the width of integers nor that of floats is another corpus.
            wide = {"i": np.int64, "u": np.int64, "f": np.float64}
            values = values.astype(wide.get(values.dtype.kind, values.dtype))
            digest.update(str(values.shape).encode())
            digest.update(values.tobytes())
    return digest.hexdigest()[:12]


def with_memory(work: Callable[[], Found]) -> tuple[Found, float | None]:
    """Return what `work` returns and its peak of memory in MB, None where unknown."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text(
            "5", encoding="ascii"
        )  # a new peak, where Linux can
    before = _memory("VmRSS")
    found = work()
    peak = _memory("VmHWM")
    return found, round(max(peak - before, 0.0), 1) if peak else None


def _memory(field: str) -> float:
    """Return a size of this process in MB from Linux's account of it, else 0."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text("utf-8").splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024
    return 0.0


logger = logging.getLogger(__name__)


def word_features(n_components: int | None, seed: int, **options: Any) -> Any:
    """Return tf-idf with logarithmic counts; nothing is reduced."""
    from sklearn.feature_extraction.text import TfidfTransformer

    return TfidfTransformer(**{"sublinear_tf": True, **options})


def pca_features(n_components: int | None, seed: int, **options: Any) -> Any:
    """Return principal components of tf-idf."""
    from sklearn.decomposition import PCA

    chosen = {"svd_solver": "arpack", "random_state": seed, **options}
    return _unit_rows(word_features(None, 0), PCA(n_components, **chosen))


def nmf_features(n_components: int | None, seed: int, **options: Any) -> Any:
    """Return non-negative factors of tf-idf."""
    from sklearn.decomposition import NMF

    chosen = {"init": "nndsvda", "max_iter": 60, "random_state": seed, **options}
    return _unit_rows(word_features(None, 0), NMF(n_components, **chosen))


def _baseline(name: str, source: str, title: str, **more: Any) -> ModelEntry:
    return ModelEntry(name, f"{__name__}:{source}", title, kind="features", **more)


_BASELINES = (
    _baseline(
        "tf-idf", "word_features", "plain words, weighted",
        aliases=("tfidf", "raw"), sized=False,
    ),
    _baseline(
        "pca", "pca_features", "principal components of tf-idf", acronym="PCA"
    ),
    _baseline(
        "nmf", "nmf_features", "non-negative factors of tf-idf", acronym="NMF"
    ),
)  # fmt: skip


def candidates() -> tuple[ModelEntry, ...]:
    """Return all candidates: plain words, other features, the models."""
    return (*_BASELINES, *models())


def has_topics(candidate: ModelEntry) -> bool:
    """Whether a model has topics to read; NMF has them too."""
    return candidate.has_topics or candidate.name == "nmf"


def topics_of(model: Any) -> NDArray[np.floating]:
    """Return the topics of a model; those of NMF are scaled to distributions."""
    if hasattr(model, "components_"):
        return np.asarray(model.components_)
    return normalize_rows(model["nmf"].components_.copy())


def make_candidate(
    candidate: ModelEntry,
    n_components: int | None,
    seed: int,
    *,
    n_jobs: int | None,
    **options: Any,
) -> Any:
    """Return an unfitted estimator; features have rows of length 1."""
    made = candidate.load()
    if not isinstance(made, type):
        return made(n_components, seed, **options)
    common: dict[str, Any] = {"random_state": seed}
    if n_jobs is not None:
        common["n_jobs"] = n_jobs
    base = candidate.load_base()
    if base is not None:
        own = _accepted(made, options)
        rest = {k: v for k, v in options.items() if k not in own}
        first = base(n_components, **_accepted(base, common), **rest)
        del common["random_state"]
        return made(first, **_accepted(made, common), **own)
    nested = {name: options.pop(name) for name in list(options) if "__" in name}
    size = () if n_components is None else (n_components,)
    model = made(*size, **{**_accepted(made, common), **options})
    model.set_params(**nested)
    return model if candidate.has_topics else _unit_rows(model)


def capped(n_components: int | None, X: Any, candidate: ModelEntry) -> int | None:
    """Return the number of dimensions that factorisations of X can have."""
    if n_components is None or candidate.kind != "features":
        return n_components
    most = max(1, min(X.shape) - 1)
    if n_components > most:
        logger.warning(
            "%s of a %d × %d matrix has at most %d dimensions, not %d",
            candidate.shown, *X.shape, most, n_components,
        )  # fmt: skip
    return min(n_components, most)


def powered(candidate: ModelEntry, features: Any, power: float) -> Any:
    """Return the features for the classifier: mixtures to a power, others unchanged."""
    if candidate.kind != "topics":
        return features
    return np.asarray(features, dtype=np.float64) ** power


def _accepted(cls: Any, options: dict[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in options if name in cls._get_param_names()}


def _unit_rows(*steps: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer

    return make_pipeline(*steps, Normalizer())
