# SPDX-License-Identifier: BSD-3-Clause
"""The models by their names on the command line; a new model is one line here."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import topicfold
from topicfold.cli.messages import CommandError


@dataclass(frozen=True)
class ModelEntry:
    """One model on the command line.

    Attributes
    ----------
    name : str
        Name in lower case.
    class_name : str
        Name of the class in topicfold.
    title : str
        What it is, for the help.
    aliases : tuple of str
        Other names, in lower case: the acronyms of the papers.
    options : mapping
        Parameters that the command line sets for this model.
    base : str
        Class that a two-phase model refines; the options are the base's then.
    labels : {"", "may", "must"}
        Whether the model can or must learn from labels.
    next_command : str
        What to do with a fitted model; ``{}`` is its folder.
    has_topics : bool
        Whether it has topics, for a report to show.
    """

    name: str
    class_name: str
    title: str
    aliases: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    base: str = ""
    labels: str = ""
    next_command: str = "topicfold topics {}"
    has_topics: bool = True


MODELS = (
    ModelEntry("lda", "LDA", "latent Dirichlet allocation"),
    ModelEntry("gibbs", "GibbsLDA", "LDA by collapsed Gibbs sampling", ("gibbs-lda",)),
    ModelEntry("plsa", "PLSA", "probabilistic latent semantic analysis", ("plsi",)),
    ModelEntry(
        "laplacian",
        "LaplacianPLSA",
        "close neighbours",
        ("lapplsi", "lapplsa", "netplsa"),
        labels="may",
    ),
    ModelEntry(
        "local", "LocallyConsistentPLSA", "similar neighbours", ("ltm",), labels="may"
    ),
    ModelEntry(
        "discriminative",
        "DiscriminativePLSA",
        "neighbours apart",
        ("dtm",),
        labels="may",
    ),
    ModelEntry("orthogonal", "OrthogonalPLSA", "topics kept apart", ("otm",)),
    ModelEntry("fstm", "FSTM", "fully sparse topic model"),
    ModelEntry(
        "fstm-c",
        "TwoPhase",
        "FSTM, then labels",
        ("fstm^c",),
        base="FSTM",
        labels="must",
    ),
    ModelEntry(
        "plsa-c",
        "TwoPhase",
        "PLSA, then labels",
        ("plsa^c",),
        base="PLSA",
        labels="must",
    ),
    ModelEntry(
        "lda-c", "TwoPhase", "LDA, then labels", ("lda^c",), base="LDA", labels="must"
    ),
    ModelEntry(
        "medlda",
        "MedLDA",
        "LDA with a margin",
        (),
        {"unknown_label": -1},
        labels="must",
    ),
    ModelEntry(
        "lsi",
        "LSI",
        "for search",
        options={"keep_documents": True},
        next_command='topicfold search {} "WORDS"',
        has_topics=False,
    ),
)
# Options with a default on the command line; a model without them does not get them.
_COMMON = {"random_state": 0, "n_jobs": -1, "device": "cpu"}
_FLAGS = {
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "n_components": "--topics",
    "n_neighbors": "--neighbors",
}


def find_model(name: str) -> ModelEntry:
    """Return the model of that name or acronym, in any case.

    Examples
    --------
    >>> find_model("PLSI").class_name
    'PLSA'
    >>> find_model("lad")
    Traceback (most recent call last):
    topicfold.cli.messages.CommandError: There is no model 'lad'. Did you mean lda? ...
    """
    known = {key: entry for entry in MODELS for key in (entry.name, *entry.aliases)}
    wanted = name.strip().lower()
    if wanted in known:
        return known[wanted]
    near = difflib.get_close_matches(wanted, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise CommandError(f"There is no model {name!r}.{hint} Models: {model_names()}.")


def model_names() -> str:
    """Return the names of all models, for help and errors.

    Examples
    --------
    >>> model_names()  # doctest: +ELLIPSIS
    'lda, gibbs, plsa, laplacian, local, discriminative, orthogonal, fstm, ...'
    """
    return ", ".join(entry.name for entry in MODELS)


def make_model(name: str, options: Mapping[str, Any]) -> Any:
    """Return an unfitted model, its parameters checked.

    Parameters
    ----------
    name : str
        Name on the command line.
    options : mapping of str to object
        Parameters of the estimator; None means its default. One that the model does
        not have is an error, unless it has the command line's own default.
    """
    entry = find_model(name)
    cls = getattr(topicfold, entry.base or entry.class_name)
    accepted = cls._get_param_names()
    chosen = {key: value for key, value in options.items() if value is not None}
    unknown = {
        key: value
        for key, value in chosen.items()
        if key not in accepted and _COMMON.get(key) != value
    }
    if unknown:
        flags = ", ".join(
            _FLAGS.get(key, f"--{key.replace('_', '-')}") for key in unknown
        )
        raise CommandError(f"The model {entry.name} has no option {flags}.")
    kept = {key: value for key, value in chosen.items() if key in accepted}
    model = cls(**{**entry.options, **kept})
    # Before a long read of the corpus, not after it.
    model._validate_params()
    return getattr(topicfold, entry.class_name)(model) if entry.base else model
