# SPDX-License-Identifier: BSD-3-Clause
"""The models and baselines of the experiments, by the names that papers give them."""

from __future__ import annotations

import difflib
import importlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from topicfold.exceptions import DataError

logger = logging.getLogger(__name__)

Kind = Literal["topics", "features", "predict", "cluster"]
# Options of the classifier on top, not of the model.
CLASSIFIER_OPTIONS = {"svm_c": 1.0, "power": 0.5}
_HERE = "topicfold.choosing.baselines"


@dataclass(frozen=True)
class Method:
    """One model or baseline.

    Attributes
    ----------
    name : str
        As in the papers.
    source : str
        ``module:attribute`` of the class or function; loaded when used.
    kind : {"topics", "features", "predict", "cluster"}
        A topic model; features of another kind; a function that predicts classes from
        few labels; one that returns clusters.
    labels : {"no", "edges", "yes"}
        Whether it learns from labels: never, by edges in its graph, or always.
    base : str
        For the two-phase framework: the class of its first phase.
    sized : bool
        Whether it has a number of dimensions.
    predicts : bool
        Whether the model is a classifier itself.
    """

    name: str
    source: str
    kind: Kind = "topics"
    labels: Literal["no", "edges", "yes"] = "no"
    base: str = ""
    sized: bool = True
    predicts: bool = False

    def load(self) -> Callable[..., Any]:
        """Return the class or function.

        Raises
        ------
        DataError
            If this version of topicfold does not have it.
        """
        module, _, attribute = self.source.partition(":")
        try:
            found: Callable[..., Any] = getattr(
                importlib.import_module(module), attribute
            )
        except (ImportError, AttributeError) as error:
            raise DataError(
                f"the model {self.name} is not in this version of topicfold ({error})."
            ) from error
        return found

    def make(
        self, n_components: int | None, seed: int, *, n_jobs: int | None, **options: Any
    ) -> Any:
        """Return an unfitted estimator."""
        made = self.load()
        if self.kind == "features" and self.source.startswith(_HERE):
            return made(n_components, seed, **options)
        threads = {} if n_jobs is None else {"n_jobs": n_jobs}
        if self.base:
            module, _, attribute = self.base.partition(":")
            base = getattr(importlib.import_module(module), attribute)
            own = {k: v for k, v in options.items() if k in made._get_param_names()}  # type: ignore[attr-defined]
            rest = {k: v for k, v in options.items() if k not in own}
            first = base(n_components, random_state=seed, **threads, **rest)
            return made(first, **threads, **own)
        accepted = made._get_param_names()  # type: ignore[attr-defined]
        common = {"random_state": seed, **threads}
        kept = {k: v for k, v in common.items() if k in accepted}
        return made(n_components, **kept, **options)


METHODS = (
    Method("tf-idf", f"{_HERE}:word_features", "features", sized=False),
    Method("PCA", f"{_HERE}:pca_features", "features"),
    Method("LSI", f"{_HERE}:lsi_features", "features"),
    Method("NMF", f"{_HERE}:nmf_features", "features"),
    Method("PLSA", "topicfold.models.plsa:PLSA"),
    Method("LDA", "topicfold.models.lda:LDA"),
    Method("LapPLSI", "topicfold.models.manifold:LaplacianPLSA", labels="edges"),
    Method("LTM", "topicfold.models.manifold:LocallyConsistentPLSA", labels="edges"),
    Method("DTM", "topicfold.models.manifold:DiscriminativePLSA", labels="edges"),
    Method("OTM", "topicfold.models.orthogonal:OrthogonalPLSA"),
    Method("FSTM", "topicfold.models.fstm:FSTM"),
    Method(
        "PLSA^c",
        "topicfold.models.two_phase:TwoPhase",
        labels="yes",
        base="topicfold.models.plsa:PLSA",
    ),
    Method(
        "LDA^c",
        "topicfold.models.two_phase:TwoPhase",
        labels="yes",
        base="topicfold.models.lda:LDA",
    ),
    Method(
        "FSTM^c",
        "topicfold.models.two_phase:TwoPhase",
        labels="yes",
        base="topicfold.models.fstm:FSTM",
    ),
    Method("MedLDA", "topicfold.models.medlda:MedLDA", labels="yes", predicts=True),
    Method("label spreading", f"{_HERE}:spread_labels", "predict", "yes", sized=False),
    Method("naive Bayes EM", f"{_HERE}:naive_bayes_em", "predict", "yes", sized=False),
    Method("k-means", f"{_HERE}:kmeans_of_words", "cluster", sized=False),
    Method("spectral", f"{_HERE}:spectral_clusters", "cluster", sized=False),
)
_ALIASES = {
    "tfidf": "tf-idf",
    "raw": "tf-idf",
    "lsa": "LSI",
    "plsi": "PLSA",
    "lapplsa": "LapPLSI",
    "kmeans": "k-means",
    "spectral clustering": "spectral",
    "label_spreading": "label spreading",
    "naive bayes": "naive Bayes EM",
    "nb-em": "naive Bayes EM",
}


def find_method(name: str | Method) -> Method:
    """Return the method of a name, in any case.

    Examples
    --------
    >>> find_method("lapplsa").name
    'LapPLSI'
    >>> find_method("fstmc")
    Traceback (most recent call last):
    topicfold.exceptions.DataError: there is no model 'fstmc'. Did you mean FSTM^c? ...
    """
    if isinstance(name, Method):
        return name
    known = {method.name.lower(): method for method in METHODS}
    wanted = str(name).strip().lower()
    wanted = _ALIASES.get(wanted, wanted).lower()
    if wanted in known:
        return known[wanted]
    near = difflib.get_close_matches(wanted, known, n=1)
    hint = f" Did you mean {known[near[0]].name}?" if near else ""
    names = ", ".join(method.name for method in METHODS)
    raise DataError(f"there is no model {name!r}.{hint} Models: {names}.")


def available_methods(*kinds: Kind) -> list[str]:
    """Return the names of the methods that this installation has.

    Parameters
    ----------
    *kinds : str
        Only these kinds; default: all.

    Examples
    --------
    >>> available_methods("cluster")
    ['k-means', 'spectral']
    """
    names = []
    for method in METHODS:
        if kinds and method.kind not in kinds:
            continue
        try:
            method.load()
        except DataError:
            continue
        names.append(method.name)
    return names


def check_methods(
    names: Any, kinds: tuple[Kind, ...], options: Mapping[str, Mapping[str, Any]]
) -> list[Method]:
    """Return the methods asked for, all loaded; refuse those of another kind."""
    if isinstance(names, str | Method):
        names = [names]
    methods = [find_method(name) for name in names]
    if not methods:
        raise DataError("no models were given. Give at least one name.")
    for method in methods:
        method.load()
        if method.kind not in kinds:
            raise DataError(
                f"{method.name} does not fit this protocol: it gives {method.kind}. "
                f"Here are: {', '.join(m.name for m in METHODS if m.kind in kinds)}."
            )
    wrong = [name for name in options if find_method(name) not in methods]
    if wrong:
        raise DataError(
            f"options are given for {', '.join(wrong)}, which is not among the models."
        )
    return methods


def split_options(
    options: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split options into those of the model and those of the classifier."""
    own = {k: v for k, v in options.items() if k not in CLASSIFIER_OPTIONS}
    top = {k: options.get(k, v) for k, v in CLASSIFIER_OPTIONS.items()}
    return own, top


def options_of(
    method: Method, options: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return a copy of the options of a method, under whatever name they are given."""
    for name, own in options.items():
        if find_method(name) == method:
            return dict(own)
    return {}


def method_cells(
    methods: list[Method],
    sizes: list[int],
    options: Mapping[str, Mapping[str, Any]],
    settings: Mapping[str, Any],
    **shared: Any,
) -> list[dict[str, Any]]:
    """Return a cell for each method, and for each number of its dimensions.

    Parameters
    ----------
    methods : list of Method
        What to run.
    sizes : list of int
        Numbers of dimensions, for the methods that have any.
    options : mapping of str to mapping
        Options of methods by name.
    settings : mapping
        What else decides the result; the options are put beside it.
    **shared : object
        Columns that all cells have.
    """
    cells = []
    for method in methods:
        own = options_of(method, options)
        for k in sizes if method.sized else [None]:
            cells.append(
                {
                    **shared,
                    "model": method.name,
                    "n_components": k,
                    "settings": {**settings, **own},
                    "options": own,
                }
            )
    return cells


def capped(n_components: int | None, X: Any, method: Method) -> int | None:
    """Return the number of dimensions that factorisations of X can have."""
    if n_components is None or method.kind != "features":
        return n_components
    most = max(1, min(X.shape) - 1)
    if n_components > most:
        logger.warning(
            "%s of a %d × %d matrix has at most %d dimensions, not %d",
            method.name,
            *X.shape,
            most,
            n_components,
        )
    return min(n_components, most)


def fit_all(
    method: Method,
    X: Any,
    y: NDArray[Any] | None,
    n_components: int | None,
    seed: int,
    *,
    n_jobs: int | None,
    options: Mapping[str, Any],
    only_fit: bool = False,
) -> tuple[Any, Any]:
    """Fit on all documents; return the model and the features of those documents.

    Mixtures as they were fitted; for models that learn from labels, as they are
    inferred without, or the labelled documents would not be like the others.
    """
    model = method.make(capped(n_components, X, method), seed, n_jobs=n_jobs, **options)
    if method.kind == "features" and not only_fit:
        return model, model.fit_transform(X)
    model = model.fit(X, y) if method.labels != "no" else model.fit(X)
    if only_fit:
        return model, None
    return model, model.transform(X) if method.labels == "yes" else model.doc_topics_


def powered(method: Method, features: Any, power: float) -> Any:
    """Return what the classifier sees: mixtures to a power, others as they are."""
    if method.kind != "topics":
        return features
    return np.asarray(features, dtype=np.float64) ** power
