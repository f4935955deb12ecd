# SPDX-License-Identifier: BSD-3-Clause
"""What can be compared: the models of the registry, and features without topics."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from topicfold.registry import ModelEntry, models

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
    """Return what the classifier sees: mixtures to a power, others as they are."""
    if candidate.kind != "topics":
        return features
    return np.asarray(features, dtype=np.float64) ** power


def _accepted(cls: Any, options: dict[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in options if name in cls._get_param_names()}


def _unit_rows(*steps: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer

    return make_pipeline(*steps, Normalizer())
