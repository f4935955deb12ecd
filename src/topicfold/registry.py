# SPDX-License-Identifier: BSD-3-Clause
"""The one list of models.

The public names of topicfold, the command line, `compare` and the documentation read
it. A new model is one entry here, or one call of `register` from anywhere else.
"""

from __future__ import annotations

import difflib
import importlib
import logging
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Literal

from topicfold.exceptions import DataError

__all__ = [
    "ModelEntry",
    "UnknownOptionError",
    "find_model",
    "make_model",
    "model_names",
    "models",
    "register",
]


@dataclass(frozen=True)
class ModelEntry:
    """A model in the list: its names, its class and what it can learn from.

    Attributes
    ----------
    name : str
        Name on the command line, in lower case.
    source : str
        ``"module:Class"``; the module is imported when the model is used.
    title : str
        What it is, in a few words.
    acronym, aliases : str, tuple of str
        Name in the papers, which comparisons show (default: `name`), and other names.
    labels : {"", "may", "must"}
        Whether the model can or must learn from labels.
    graph : bool
        Whether it learns from neighbours or links of documents.
    kind : str
        What documents become: ``"topics"`` (mixtures of distributions of words) or
        ``"features"``; experiments have other kinds.
    classifies : bool
        Whether the model itself predicts classes.
    base : str
        ``"module:Class"`` of the model that a two-phase model refines; the options are
        those of the base then.
    options : mapping
        Parameters that the command line sets for this model.
    next_command : str
        What to do with a fitted model; ``{}`` is its folder.
    sized : bool
        Whether it has a number of dimensions.
    """

    name: str
    source: str
    title: str
    acronym: str = ""
    aliases: tuple[str, ...] = ()
    labels: Literal["", "may", "must"] = ""
    graph: bool = False
    kind: str = "topics"
    classifies: bool = False
    base: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    next_command: str = "topicfold topics {}"
    sized: bool = True

    def takes(self, names: Sequence[str]) -> bool:
        """Tell whether the model, or the one it refines, has all these options."""
        cls = self.load_base() or self.load()
        accepted = {*cls._get_param_names()}
        if "graph" in accepted:
            accepted |= {*_OF_NEIGHBORS}
        return accepted.issuperset(names)

    @property
    def class_name(self) -> str:
        """Name of the class."""
        return self.source.partition(":")[2]

    @property
    def has_topics(self) -> bool:
        """Whether it has topics, for a report to show."""
        return self.kind == "topics"

    @property
    def shown(self) -> str:
        """Name in tables: that of the papers where there is one."""
        return self.acronym or self.name

    def all_names(self) -> set[str]:
        """Return every name of the model, in lower case."""
        names = {self.name, self.shown, *self.aliases}
        if not self.base:
            names.add(self.class_name)
        return {name.lower() for name in names}

    def load(self) -> Any:
        """Return the class."""
        return load_class(self.source)

    def load_base(self) -> Any:
        """Return the class of the base, None without one."""
        return load_class(self.base) if self.base else None


_GRAPH = {"labels": "may", "graph": True}


def _own(name: str, source: str, title: str, *names: str, **more: Any) -> ModelEntry:
    """Return the entry of a model of topicfold: its acronym, then other names."""
    acronym, *aliases = names
    source = f"topicfold.models.{source}"
    return ModelEntry(name, source, title, acronym, tuple(aliases), **more)


_BUILT_IN = (
    _own("lda", "lda:LDA", "latent Dirichlet allocation", "LDA"),
    _own(
        "gibbs", "gibbs_lda:GibbsLDA", "LDA by collapsed Gibbs sampling", "GibbsLDA",
        "gibbs-lda",
    ),
    _own(
        "short", "word_network:WordNetworkLDA",
        "LDA for short texts, by words that occur together", "WNTM", "word-network",
    ),
    _own("plsa", "plsa:PLSA", "probabilistic latent semantic analysis", "PLSA", "plsi"),
    _own(
        "laplacian", "manifold:LaplacianPLSA",
        "PLSA with similar mixtures for neighbouring documents",
        "LapPLSI", "lapplsa", "netplsa", **_GRAPH,
    ),
    _own(
        "local", "manifold:LocallyConsistentPLSA",
        "PLSA with mixtures of small divergence for neighbours", "LTM", **_GRAPH,
    ),
    _own(
        "discriminative", "manifold:DiscriminativePLSA",
        "PLSA that also separates distant documents", "DTM", **_GRAPH,
    ),
    _own(
        "orthogonal", "orthogonal:OrthogonalPLSA", "PLSA whose topics share few words",
        "OTM",
    ),
    _own("fstm", "fstm:FSTM", "fully sparse topic model", "FSTM"),
    _own(
        "authors", "author_topics:AuthorTopics", "LDA with a mixture for each author",
        "ATM", "author-topic",
    ),
    _own(
        "multimodal", "multimodal:MultimodalLDA", "LDA of several count matrices",
        "PLTM", "polylingual",
    ),
    _own(
        "features", "feature_lda:FeatureLDA", "LDA with features that shift the topics",
        "DMR",
    ),
    _own(
        "correlated", "correlated:CorrelatedLDA", "LDA with correlated topics",
        "CTM",
    ),
    _own(
        "structural", "correlated:StructuralLDA",
        "LDA with covariates of shares and words", "STM",
    ),
    _own(
        "dynamic", "dynamic:DynamicLDA", "LDA with topics that change through time",
        "DynamicLDA", "dynamic-topics",
    ),
    _own(
        "stamped", "dynamic:TimeStampedLDA", "LDA with a time for each topic", "TOT",
        "topics-over-time",
    ),
    _own(
        "hdp", "open_number:HierarchicalDirichletLDA",
        "LDA that finds its number of topics", "HDP", "hierarchical-dirichlet",
        sized=False,
    ),
    _own(
        "tree", "topic_tree:TopicTree", "LDA with topics in a tree", "TopicTree",
        sized=False,
    ),
    _own("bursty", "bursty:BurstyLDA", "LDA that allows for repeated words", "DCMLDA"),
    _own(
        "pachinko", "pachinko:PachinkoLDA", "LDA with groups of topics", "PAM",
        "pachinko-allocation",
    ),
    _own(
        "labeled", "labeled_lda:LabeledLDA", "LDA with a topic for each label", "LLDA",
        "plda", labels="must", sized=False,
    ),
    _own(
        "seeded", "seeded_lda:SeededLDA", "LDA guided by seed words", "keyATM", "seeds"
    ),
    *(
        _own(
            f"{name.lower()}-c", "two_phase:TwoPhase",
            f"{name}, then topics that distinguish classes",
            f"{name}^c", labels="must",
            base=f"topicfold.models.{name.lower()}:{name}",
        )
        for name in ("FSTM", "PLSA", "LDA")
    ),
    _own(
        "medlda", "medlda:MedLDA", "LDA with a maximum-margin classifier", "MedLDA",
        labels="must", classifies=True, options={"unknown_label": -1},
    ),
    _own(
        "slda", "supervised:SupervisedLDA", "LDA that predicts a response", "sLDA",
        "supervised", labels="must", classifies=True, options={"kind": "classes"},
    ),
    _own(
        "rtm", "relational:RelationalLDA", "LDA that predicts links", "RTM",
        "relational",
    ),
    _own(
        "lsi", "lsi:LSI", "latent semantic indexing, for search", "LSI", "lsa",
        kind="features", options={"keep_documents": True},
        next_command='topicfold search {} "WORDS"',
    ),
)  # fmt: skip
_registered: list[ModelEntry] = []
_logger = logging.getLogger("topicfold")
# Models of other libraries, and what is nearest to them here.
_ELSEWHERE = {
    **dict.fromkeys(
        ("bertopic", "top2vec", "etm", "prodlda", "fastopic", "zeroshottm"),
        "It learns from embeddings, in another way. Here lda and short learn topics "
        "from words, and take embeddings too",
    ),
    "hlda": "It is tree with the algorithm crp",
    "nmf": "The closest is plsa, which is NMF with the Kullback-Leibler divergence",
    **dict.fromkeys(
        ("gsdmm", "btm", "biterm"), "The closest model here is short, for short texts"
    ),
    **dict.fromkeys(
        ("guidedlda", "corex"), "The closest is seeded, which takes seed words"
    ),
}
# An acronym of two models, the one that is meant here, and the other.
_TWO_MEANINGS = {
    "dtm": (
        "the discriminative topic model of Huh and Fienberg",
        "a dynamic one (dynamic)",
    )
}


def models() -> tuple[ModelEntry, ...]:
    """Return all models: those of topicfold, then those that were registered.

    Examples
    --------
    >>> [entry.name for entry in models() if entry.graph]
    ['laplacian', 'local', 'discriminative']
    """
    return (*_BUILT_IN, *_registered)


def model_classes() -> dict[str, str]:
    """Return ``{class name: "module:Class"}`` of topicfold's own models."""
    return {entry.class_name: entry.source for entry in _BUILT_IN}


def model_names() -> str:
    """Return the names of all models, for help and errors.

    Examples
    --------
    >>> model_names()  # doctest: +ELLIPSIS
    'lda, gibbs, short, plsa, laplacian, local, discriminative, orthogonal, ...'
    """
    return ", ".join(entry.name for entry in models())


def find_model(name: str, among: Sequence[ModelEntry] | None = None) -> ModelEntry:
    """Return the model of a name, an acronym or a class name, in any case.

    Parameters
    ----------
    name : str
        Any of its names.
    among : sequence of ModelEntry, optional
        Where to look; default: `models`.

    Examples
    --------
    >>> find_model("PLSI").class_name
    'PLSA'
    >>> find_model("lad")
    Traceback (most recent call last):
    topicfold.exceptions.DataError: there is no model 'lad'. Did you mean lda? ...
    """
    entries = models() if among is None else among
    # Of two models with the same class, the first has its name.
    known = {key: entry for entry in reversed(entries) for key in entry.all_names()}
    wanted = str(name).strip().lower()
    if wanted in known:
        if wanted in _TWO_MEANINGS:
            here, other = _TWO_MEANINGS[wanted]
            own = known[wanted].name
            _logger.warning("%r is %s here (%s), not %s", name, here, own, other)
        return known[wanted]
    names = [entry.name for entry in entries]
    near = difflib.get_close_matches(wanted, names, n=1)
    near = near or difflib.get_close_matches(wanted, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    if wanted in _ELSEWHERE:
        hint = f" {_ELSEWHERE[wanted]}."
    raise DataError(f"there is no model {name!r}.{hint} Models: {', '.join(names)}.")


class UnknownOptionError(DataError):
    """Options that a model does not have; `names` has them."""

    def __init__(self, model: str, names: Sequence[str]) -> None:
        self.names = list(names)
        super().__init__(
            f"The model {model} has no option {', '.join(names)}. {self.advice()}"
        )

    def advice(self) -> str:
        """Return what to do: which models have the options."""
        having = [entry.name for entry in models() if entry.takes(self.names)]
        if not having:
            return "Leave it out." if len(self.names) == 1 else "Leave them out."
        it = "it" if len(self.names) == 1 else "them"
        return f"Leave {it} out, or take a model that has {it}: {', '.join(having)}."


def make_model(
    name: str, options: Mapping[str, Any], usual: Mapping[str, Any] | None = None
) -> Any:
    """Return an unfitted model of a name, its parameters checked.

    Parameters
    ----------
    name : str
        Any of its names.
    options : mapping
        Parameters of the estimator, or of the base that a two-phase model refines; None
        is its default. `n_neighbors` and `similarity` are those of its graph of
        neighbours. A parameter that it does not have is an error.
    usual : mapping or None, default=None
        Parameters that are set if the model has them and `options` leaves them out.

    Examples
    --------
    >>> make_model("lda", {"n_components": 5, "max_iter": None}, {"n_jobs": 2})
    LDA(n_components=5, n_jobs=2)
    """
    entry = find_model(name)
    cls = entry.load_base() or entry.load()
    accepted = cls._get_param_names()
    chosen = {key: value for key, value in options.items() if value is not None}
    if "graph" in accepted:
        _gather_neighbors(chosen)
    unknown = [key for key in chosen if key not in accepted]
    if unknown:
        raise UnknownOptionError(entry.name, unknown)
    known = {key: value for key, value in (usual or {}).items() if key in accepted}
    model = cls(**{**entry.options, **known, **chosen})
    model._validate_params()  # before a long read of the corpus, not after it
    return entry.load()(model) if entry.base else model


# Options of the graph of neighbours, and what it calls them.
_OF_NEIGHBORS = {"n_neighbors": "n_neighbors", "similarity": "metric"}


def _gather_neighbors(chosen: dict[str, Any]) -> None:
    """Make one graph of the options of neighbours."""
    names = _OF_NEIGHBORS
    found = {names[key]: chosen.pop(key) for key in names if key in chosen}
    if found and "graph" in chosen:
        raise DataError(
            f"{', '.join(found)} has no effect with your own graph. Leave it out."
        )
    if found:
        from topicfold.graph import NeighborGraph

        chosen["graph"] = NeighborGraph(**found)


def register(entry: ModelEntry) -> ExitStack:
    """Add a model of your own, for the command line and for `compare`.

    Saved models of its class are trusted: they load without naming it.

    Parameters
    ----------
    entry : ModelEntry
        The model; its class is a scikit-learn estimator with ``components_``, imported
        by the name in `source`. None of its names may be taken.

    Returns
    -------
    contextlib.ExitStack
        Takes the model out again at the end of a ``with`` block, or by ``close()``.

    Examples
    --------
    >>> with register(ModelEntry("tiny", "topicfold.models.plsa:PLSA", "a PLSA")):
    ...     find_model("tiny").title
    'a PLSA'
    """
    taken = {key: other for other in models() for key in other.all_names()}
    own = {entry.name.lower(), entry.shown.lower(), *map(str.lower, entry.aliases)}
    for key in sorted(own & set(taken)):
        raise DataError(
            f"the name {key!r} is taken by the model {taken[key].name} "
            f"({taken[key].source}). Choose another."
        )
    entry.load()
    entry.load_base()
    _registered.append(entry)
    undo = ExitStack()
    undo.callback(_registered.remove, entry)
    return undo


def is_registered(source: str) -> bool:
    """Whether ``"module:Class"`` was given to `register` by code of this process."""
    return any(source in (entry.source, entry.base) for entry in _registered)


def load_class(source: str) -> Any:
    """Return what ``"module:Class"`` names."""
    module, _, attribute = source.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise DataError(
            f"the model {source!r} cannot be imported ({error}). Give "
            "'module:Class' of an installed module."
        ) from error
