# SPDX-License-Identifier: BSD-3-Clause
"""What can be compared: the models of the registry, and features without topics."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from topicfold.exceptions import DataError
from topicfold.registry import ModelEntry, load_class, models, unknown_model

logger = logging.getLogger(__name__)

_HERE = "topicfold.choosing.candidates"


@dataclass(frozen=True)
class Candidate:
    """One model or baseline.

    Attributes
    ----------
    name : str
        As in the papers.
    source : str
        ``module:attribute`` of the class or function; imported when used.
    kind : str
        ``"topics"`` or ``"features"``; experiments may have others.
    labels : {"", "may", "must"}
        Whether it can or must learn from labels.
    base : str
        For two-phase models: the class of the first phase.
    sized : bool
        Whether it has a number of dimensions.
    predicts : bool
        Whether the model is a classifier itself.
    aliases : tuple of str
        Other names, in lower case.
    """

    name: str
    source: str
    kind: str = "topics"
    labels: Literal["", "may", "must"] = ""
    base: str = ""
    sized: bool = True
    predicts: bool = False
    aliases: tuple[str, ...] = ()

    def load(self) -> Callable[..., Any]:
        """Return the class or function."""
        found: Callable[..., Any] = load_class(self.source)
        return found

    def make(
        self, n_components: int | None, seed: int, *, n_jobs: int | None, **options: Any
    ) -> Any:
        """Return an unfitted estimator; features have rows of length 1."""
        made = self.load()
        if not isinstance(made, type):
            return made(n_components, seed, **options)
        common = {"random_state": seed}
        if n_jobs is not None:
            common["n_jobs"] = n_jobs
        if self.base:
            own = {k: v for k, v in options.items() if k in _parameters(made)}
            rest = {k: v for k, v in options.items() if k not in own}
            base = load_class(self.base)
            first = base(n_components, **_accepted(base, common), **rest)
            common.pop("random_state")
            return made(first, **_accepted(made, common), **own)
        nested = {k: v for k, v in options.items() if "__" in k}
        own = {k: v for k, v in options.items() if k not in nested}
        model = made(n_components, **{**_accepted(made, common), **own})
        if nested:
            model.set_params(**nested)
        return model if self.kind == "topics" else _unit_rows(model)


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


_BASELINES = (
    Candidate(
        "tf-idf",
        f"{_HERE}:word_features",
        "features",
        sized=False,
        aliases=("tfidf", "raw"),
    ),
    Candidate("PCA", f"{_HERE}:pca_features", "features"),
    Candidate("NMF", f"{_HERE}:nmf_features", "features"),
)


def candidates() -> tuple[Candidate, ...]:
    """Return all candidates: plain words, other features, the models.

    Examples
    --------
    >>> [candidate.name for candidate in candidates()][:5]
    ['tf-idf', 'PCA', 'NMF', 'LDA', 'GibbsLDA']
    """
    return (*_BASELINES, *map(_of_entry, models()))


def find_candidate(name: str, among: Sequence[Candidate] | None = None) -> Candidate:
    """Return the candidate of a name, an acronym or an alias, in any case.

    Examples
    --------
    >>> find_candidate("lapplsa").name
    'LapPLSI'
    >>> find_candidate("fstmc")
    Traceback (most recent call last):
    topicfold.exceptions.DataError: there is no model 'fstmc'. Did you mean FSTM^c? ...
    """
    every = candidates() if among is None else among
    # Of two candidates with the same alias, the first has it.
    known = {
        key: candidate
        for candidate in reversed(every)
        for key in (*candidate.aliases, candidate.name.lower())
    }
    wanted = str(name).strip().lower()
    if wanted in known:
        return known[wanted]
    raise DataError(
        unknown_model(name, {key: found.name for key, found in known.items()})
    )


def capped(n_components: int | None, X: Any, candidate: Candidate) -> int | None:
    """Return the number of dimensions that factorisations of X can have."""
    if n_components is None or candidate.kind != "features":
        return n_components
    most = max(1, min(X.shape) - 1)
    if n_components > most:
        logger.warning(
            "%s of a %d × %d matrix has at most %d dimensions, not %d",
            candidate.name,
            *X.shape,
            most,
            n_components,
        )
    return min(n_components, most)


def powered(candidate: Candidate, features: Any, power: float) -> Any:
    """Return what the classifier sees: mixtures to a power, others as they are."""
    if candidate.kind != "topics":
        return features
    return np.asarray(features, dtype=np.float64) ** power


def _of_entry(entry: ModelEntry) -> Candidate:
    return Candidate(
        entry.shown,
        entry.source,
        kind="topics" if entry.has_topics else "features",
        labels=entry.labels,
        base=entry.base,
        predicts=entry.classifies,
        aliases=tuple(sorted(entry.all_names())),
    )


def _parameters(cls: Any) -> list[str]:
    names: list[str] = cls._get_param_names()
    return names


def _accepted(cls: Any, options: dict[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in options if name in _parameters(cls)}


def _unit_rows(*steps: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer

    return make_pipeline(*steps, Normalizer())
