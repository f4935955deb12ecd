# SPDX-License-Identifier: BSD-3-Clause
"""Many fits of one model: several numbers of topics and seeds, and their agreement."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from topicfold.choosing.evaluation import (
    check_sizes,
    data_fingerprint,
    read_counts,
    stability_of,
)
from topicfold.core.tables import html_table, markdown_table
from topicfold.core.typing import Array
from topicfold.exceptions import DataError, ModelFileError
from topicfold.learn.loop import run_fits
from topicfold.learn.resume import described
from topicfold.metrics import match_topics
from topicfold.persistence.atomic import write_atomically

_LIST = "fits.json"


@dataclass(frozen=True)
class OneFit:
    """One fit of many.

    Attributes
    ----------
    n_components, random_state : int
        Number of topics and seed.
    model : estimator or None
        The fitted model; None if the fit failed.
    seconds : float
        Time of the fit; 0 for one that was found in `folder`.
    error : str
        Why the fit failed; empty otherwise.
    """

    n_components: int
    random_state: int
    model: Any
    seconds: float
    error: str = ""

    @property
    def objective(self) -> float:
        """Objective at the end of the fit; NaN if it failed or has none."""
        history = getattr(self.model, "objective_history_", None)
        return float(history[-1]) if history else float("nan")


@dataclass(frozen=True)
class Consensus:
    """Topics that several fits agree on: matched, averaged, with their spread.

    Attributes
    ----------
    topics : ndarray of shape (n_topics, n_terms)
        Means of the matched topics, rows on the simplex.
    topic_spread : ndarray of shape (n_topics, n_terms)
        Standard deviations of the words' probabilities over the fits.
    doc_topics : ndarray of shape (n_documents, n_topics)
        Means of the matched mixtures.
    doc_spread : ndarray of shape (n_documents, n_topics)
        Standard deviations of the mixtures over the fits.
    stability : ndarray of shape (n_topics,)
        Mean probability that a topic shares with its partners in the other fits, 0 to
        1; topics below a half are found by chance.
    n_fits : int
        How many fits were matched.
    """

    topics: Array
    topic_spread: Array
    doc_topics: Array
    doc_spread: Array
    stability: NDArray[np.float64]
    n_fits: int


@dataclass(frozen=True)
class Fits:
    """The fits of `fit_many`, in order of size and seed."""

    fits: tuple[OneFit, ...]

    def of(self, n_components: int) -> list[OneFit]:
        """Return the fits of one size that did not fail, by seed."""
        found = [f for f in self.fits if f.n_components == n_components and f.model]
        if not found:
            sizes = sorted({f.n_components for f in self.fits if f.model})
            raise DataError(
                f"there is no fit with {n_components} topics; sizes: "
                f"{', '.join(map(str, sizes)) or 'none'}."
            )
        return found

    def best(self, n_components: int) -> Any:
        """Return the model of one size with the highest objective."""
        found = self.of(n_components)
        objectives = [fit.objective for fit in found]
        if np.isnan(objectives).all():
            raise DataError(f"{type(found[0].model).__name__} records no objective.")
        return found[int(np.nanargmax(objectives))].model

    def consensus(self, n_components: int) -> Consensus:
        """Return the topics of one size that the fits agree on.

        The topics of every fit are matched one to one with those of the best fit, by
        the probability that they share, and averaged.
        """
        found = self.of(n_components)
        best = self.best(n_components)
        others = [fit.model for fit in found if fit.model is not best]
        topics, mixtures, shared = [best.components_], [best.doc_topics_], []
        for model in others:
            match = match_topics(best.components_, model.components_)
            shared.append(match.overlap)
            topics.append(model.components_[match.second])
            mixtures.append(model.doc_topics_[:, match.second])
        ones = np.ones((1, len(best.components_)))
        return Consensus(
            topics=np.mean(topics, axis=0),
            topic_spread=np.std(topics, axis=0),
            doc_topics=np.mean(mixtures, axis=0),
            doc_spread=np.std(mixtures, axis=0),
            stability=np.mean(shared if shared else ones, axis=0, dtype=np.float64),
            n_fits=len(found),
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return the table: one row per size.

        `stability` is the mean probability that matched topics of two fits share, NaN
        where all fits are the same: a start such as "spectral" has no random numbers.
        `failed` counts fits that ended in an error.
        """
        table = []
        for size in sorted({fit.n_components for fit in self.fits}):
            fits = [fit for fit in self.fits if fit.n_components == size]
            done = [fit for fit in fits if fit.model is not None]
            topics = [fit.model.components_ for fit in done]
            objectives = np.array([fit.objective for fit in done] or [np.nan])
            table.append(
                {
                    "topics": size,
                    "fits": len(done),
                    "failed": len(fits) - len(done),
                    "best objective": float(objectives.max()),
                    "mean objective": float(objectives.mean()),
                    "stability": stability_of(topics),
                    "seconds": float(sum(fit.seconds for fit in fits)),
                }
            )
        return table

    def errors(self) -> list[str]:
        """Return a sentence for every fit that failed."""
        return [
            f"{fit.n_components} topics, seed {fit.random_state}: {fit.error}"
            for fit in self.fits
            if fit.error
        ]

    def __str__(self) -> str:
        def text(value: Any) -> str:
            return f"{value:.4g}" if isinstance(value, float) else str(value)

        rows = self.rows()
        return markdown_table([{k: text(v) for k, v in row.items()} for row in rows])

    def _repr_html_(self) -> str:
        return html_table(self.rows(), "; ".join(self.errors()))


def fit_many(
    model: Any,
    X: Any,
    n_components: int | Sequence[int],
    *,
    n_seeds: int = 4,
    random_state: int = 0,
    n_jobs: int | None = None,
    folder: Any = None,
    on_progress: Callable[[int, int], None] | None = None,
    **data: Any,
) -> Fits:
    """Fit a model with several numbers of topics and seeds, several fits at a time.

    Parameters
    ----------
    model : topic model
        It is not changed: copies with other `n_components` and `random_state` are
        fitted.
    X : sparse matrix of shape (n_documents, n_terms)
        Counts.
    n_components : int or sequence of int
        Numbers of topics; repeated ones count once.
    n_seeds : int, default=4
        Fits of each size, with seeds from `random_state` on.
    random_state : int, default=0
        First seed.
    n_jobs : int or None, default=None
        Fits at a time, each on one thread; None is 1, -1 all cores. The results are the
        same for any number.
    folder : path-like or None, default=None
        Where finished fits are saved. If a run was killed, the next one only makes
        those that are missing; another model or corpus in the same folder is an error.
    on_progress : callable or None, default=None
        Called with (fits done, fits in all).
    **data
        What else is known of the documents, as in the model's `fit`.

    Returns
    -------
    Fits
        With the best fit of each size, stability and consensus topics. A fit that fails
        is recorded there; the others are kept. If all of them fail, that is an error.

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import LDA
    >>> from topicfold.choosing import fit_many
    >>> X = np.random.default_rng(0).poisson(np.kron(np.eye(3) * 2 + 0.1,
    ...     np.ones((20, 5))))
    >>> fits = fit_many(LDA(), X, [2, 3], n_seeds=2)
    >>> [row["fits"] for row in fits.rows()], fits.best(3).components_.shape
    ([2, 2], (3, 15))
    """
    counts = read_counts(getattr(X, "counts", X))[1]
    sizes = sorted(set(check_sizes(n_components, "n_components")))
    if sizes[-1] > counts.shape[0]:
        raise DataError(
            f"n_components has {sizes[-1]} topics, but there are only "
            f"{counts.shape[0]} documents. Leave out sizes above that."
        )
    n_seeds = check_sizes(n_seeds, "n_seeds")[0]
    todo = [(size, random_state + i) for size in sizes for i in range(n_seeds)]
    store = None if folder is None else _Store(Path(folder), model, counts, data)

    def one(size: int, seed: int) -> OneFit:
        found = None if store is None else store.read(size, seed)
        if found is None:
            found = _fit(model, counts, size, seed, data)
            if store is not None:
                store.write(found)
        return found

    fits = Fits(tuple(run_fits(one, todo, n_jobs, on_progress)))
    if len(fits.errors()) == len(todo):
        raise DataError(f"all {len(todo)} fits failed; with {fits.errors()[0]}")
    return fits


def with_size(model: Any, size: int, seed: int) -> Any:
    """Return a copy with another number of topics and seed, or its base has."""
    if isinstance(model, type):
        raise DataError(f"model is a class. Give an object of it: {model.__name__}().")
    if not hasattr(model, "get_params"):
        raise DataError(f"model is {model!r}. Give an estimator, such as LDA().")
    parameters = model.get_params(deep=True)
    changed: dict[str, Any] = {}
    for name, value in (("n_components", size), ("random_state", seed)):
        found = [key for key in (name, f"base__{name}") if key in parameters]
        if found:
            changed[found[0]] = value
        elif name == "n_components":
            raise DataError(
                f"{type(model).__name__} has no parameter n_components. Give a topic "
                "model; for TwoPhase one with its base, as TwoPhase(FSTM())."
            )
    return clone(model).set_params(**changed)


def _fit(model: Any, X: Any, size: int, seed: int, data: dict[str, Any]) -> OneFit:
    began = perf_counter()
    try:
        fitted = with_size(model, size, seed).fit(X, **data)
    except (ValueError, ArithmeticError, MemoryError, RuntimeError) as error:
        wrong = isinstance(error, DataError) and "n_components" not in str(error)
        if wrong or isinstance(error, NotImplementedError):
            raise  # for every size
        reason = f"{type(error).__name__}: {error}"
        return OneFit(size, seed, None, perf_counter() - began, reason)
    return OneFit(size, seed, fitted, perf_counter() - began)


def _described_data(value: Any) -> str:
    """Return a short text that is another one for other data of the documents."""
    table = hasattr(value, "__array__")
    return data_fingerprint(np.asarray(value)) if table else described(value)


class _Store:
    """Finished fits in a folder: a model file each, and what they are fits of."""

    def __init__(
        self, folder: Path, model: Any, X: Any, data: Mapping[str, Any]
    ) -> None:
        self.folder, self.shape, self.name = folder, X.shape, type(model).__name__
        parameters = model.get_params(deep=False).items()
        known = {
            "model": self.name,
            "counts": data_fingerprint(X),
            **{f"parameter {name}": described(value) for name, value in parameters},
            **{f"data {name}": _described_data(value) for name, value in data.items()},
        }
        path = folder / _LIST
        if path.exists():
            try:
                found = json.loads(path.read_text(encoding="utf-8"))
            except (ValueError, OSError, RecursionError) as error:
                raise ModelFileError(
                    f"{path} cannot be read: {error}. Give another folder."
                ) from error
            if found != known:
                raise DataError(
                    f"{folder} has fits of another model or corpus, or with other data "
                    "of the documents. Give another folder, or remove it."
                )
            return
        text = json.dumps(known).encode()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(path, lambda to: to.write_bytes(text))
        except OSError as error:
            raise DataError(
                f"{folder} cannot be written ({error.strerror}). Give another folder."
            ) from error

    def _path(self, size: int, seed: int) -> Path:
        return self.folder / f"topics-{size:04d}-seed-{seed}.safetensors"

    def read(self, size: int, seed: int) -> OneFit | None:
        """Return a saved fit, if there is a sound one."""
        from topicfold.persistence import load_estimator

        path = self._path(size, seed)
        if not path.exists():
            return None
        model = load_estimator(path)
        topics = np.shape(getattr(model, "components_", ()))
        n_topics = topics[0] if topics and getattr(model, "_open_size", False) else size
        mixtures = np.shape(getattr(model, "doc_topics_", np.empty(self.shape[:1])))
        sound = topics == (n_topics, self.shape[1]) and mixtures[:1] == self.shape[:1]
        if type(model).__name__ != self.name or not sound:
            raise ModelFileError(
                f"{path} is not a fit of this model to these documents. Remove it, and "
                "it is fitted again."
            )
        return OneFit(size, seed, model, 0.0)

    def write(self, fit: OneFit) -> None:
        """Save a fit that did not fail."""
        if fit.model is not None:
            fit.model.save(self._path(fit.n_components, fit.random_state))
