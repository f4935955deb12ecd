# SPDX-License-Identifier: BSD-3-Clause
"""A paragraph on methods for a paper, and BibTeX of what it cites."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from topicfold._version import __version__
from topicfold.core.numbering import fitted_size
from topicfold.corpus.vectorizing import WordCounter, saved_options, text_blocks
from topicfold.models.lda import LDA
from topicfold.persistence.model_folder import ModelFolder, text_to_save
from topicfold.registry import models
from topicfold.topic_data import TopicData

# The first line of a reference in a docstring: authors and the year.
_FIRST = re.compile(r"^(?:\.\. \[\d+\] )?(After )?([^()]+) \((\d{4})\)[.,] ?(.*)$")
_REMARK = re.compile(r"\s*\([A-Z][^()]* .*\)$")  # a sentence of ours at the end
_VOLUME = re.compile(r"^(.*\D) (\d+(?:\(\d+\))?)$")  # only journals have one
_DOI = re.compile(r"\s*doi:(\S+?)\.?$")
_IN_WORDS = {"response": "a response", "time": "times"}  # other keywords are plurals
EMBEDDINGS = "embeddings of the documents"
_DONE = {"merge": "merged", "drop": "dropped", "split": "split", "rename": "renamed"}


@dataclass(frozen=True)
class Reference:
    """A publication that a model's docstring names."""

    authors: str
    year: str
    title: str
    venue: str
    doi: str = ""
    after: bool = False  # the model differs from the one there

    @property
    def key(self) -> str:
        """Return its key in BibTeX, such as blei2003latent."""
        first = self.authors.split(",")[0].split(" & ")[0].removesuffix(" et al.")
        name = re.sub(r"\W", "", first.split()[-1]).lower()
        word = re.sub(r"\W", "", self.title.split()[0]).lower()
        return f"{name}{self.year}{word}"

    @property
    def short(self) -> str:
        """Return how a sentence cites it, such as Blei et al., 2003."""
        names = re.split(r", | & ", self.authors.removesuffix(" et al."))
        last = [name.split()[-1] for name in names]
        found = " & ".join(last)
        if len(last) > 2 or self.authors.endswith("et al."):
            found = f"{last[0]} et al."
        return f"{'after ' if self.after else ''}{found}, {self.year}"

    def bibtex(self) -> str:
        """Return its entry."""
        authors = " and ".join(re.split(r", | & ", self.authors))
        fields = {
            "author": authors.replace(" et al.", " and others"),
            "title": f"{{{self.title}}}",
            "year": self.year,
        }
        journal = _VOLUME.match(self.venue)
        if journal is None:
            fields["booktitle"] = self.venue
        else:
            fields["journal"], fields["volume"] = journal.groups()
        kind = "inproceedings" if journal is None else "article"
        return _entry(kind, self.key, fields | {"doi": self.doi})


@dataclass(frozen=True)
class Description:
    """A paragraph on methods, and BibTeX; it prints as both.

    Attributes
    ----------
    text : str
        The paragraph.
    bibtex : str
        Entries for what it cites and for topicfold.
    """

    text: str
    bibtex: str

    def __str__(self) -> str:
        return f"{self.text}\n\n{self.bibtex}"

    __repr__ = __str__


def describe(saved: ModelFolder, data: TopicData) -> Description:
    """Return how a model was made, in sentences, from what was saved with it."""
    cited, used = list(_cited(saved.model)), beside_words(saved.model)
    parts = [
        _fit_sentence(saved, data, cited),
        _size_sentence(saved),
        *([f"Besides words, the model used {', '.join(used)}."] if used else ()),
        *_text_sentences(saved),
        *_learning_sentences(saved, data),
        *_edit_sentences(saved),
        _version_sentence(saved.topicfold_version or __version__),
    ]
    own = {
        "title": "{topicfold}",
        "author": "{The topicfold developers}",
        "version": __version__,
    }
    entries = [reference.bibtex() for reference in cited]
    entries.append(_entry("software", "topicfold", own))
    return Description(" ".join(parts), "\n\n".join(entries))


def references(model: type) -> list[Reference]:
    """Return the publications in the section References of a class's docstring.

    Examples
    --------
    >>> from topicfold import PLSA
    >>> references(PLSA)[0].short
    'Hofmann, 1999'
    """
    text = inspect.getdoc(model) or ""
    _, _, rest = text.partition("References\n----------\n")
    found: list[list[str]] = []
    for line in rest.partition("\n\n")[0].splitlines():
        if _FIRST.match(line.strip()):
            found.append([line.strip()])
        elif found:
            found[-1].append(line.strip())
    return [_reference(" ".join(lines)) for lines in found]


def _cited(model: Any) -> Iterator[Reference]:
    """Yield the publications of a model that belong to how it was fitted."""
    own = references(type(model))
    algorithm = getattr(model, "algorithm", None)
    online = getattr(model, "batch_size", None) is not None
    fitted_by = {
        "asuncion2009on": algorithm in ("cvb0", "recursive"),
        "hoffman2010online": online,
        "blei2010the": algorithm == "crp",
    }
    for reference in own:
        if fitted_by.get(reference.key, True):
            strict = getattr(model, "strict", False)  # the model of the paper itself
            yield replace(reference, after=reference.after and not strict)
    known = {reference.key for reference in own}
    for reference in references(LDA):
        if fitted_by.get(reference.key, False) and reference.key not in known:
            yield reference


def _reference(text: str) -> Reference:
    match = _FIRST.match(text)
    if match is None:
        raise ValueError(f"{text!r} is no reference")
    after, authors, year, rest = match.groups()
    rest = _REMARK.sub("", rest)
    doi = _DOI.search(rest)
    rest = _DOI.sub("", rest).strip()
    title, _, venue = rest.partition(". ")
    found = "" if doi is None else doi.group(1)
    title, venue = title.rstrip("."), venue.rstrip(".")
    return Reference(authors, year, title, venue, found, bool(after))


def _entry(kind: str, key: str, fields: Mapping[str, str]) -> str:
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])


def _fit_sentence(saved: ModelFolder, data: TopicData, cited: list[Reference]) -> str:
    own = [entry for entry in models() if entry.load() is type(saved.model)]
    base = type(getattr(saved.model, "base", None)).__name__
    own = [entry for entry in own if not entry.base or entry.base.endswith(f":{base}")]
    known = [own[0].title] if own else []
    name = own[0].shown if known else type(saved.model).__name__
    inside = "; ".join([*known, *(reference.short for reference in cited)])
    cite = f" ({inside})" if inside else ""
    n_topics = fitted_size(getattr(saved.model, "edits_", ()), data.n_topics)
    text = f"We fitted {name}{cite} with {n_topics} topics"
    if data.n_documents:
        text += f" to {data.n_documents:,} documents"
    if saved.corpus:
        text += f" ({saved.corpus})"
    if saved.counts is not None:
        tokens, types = int(saved.counts.sum()), saved.counts.shape[1]
        text += f" with {tokens:,} counted words ({types:,} distinct)"
    return f"{text}."


def _size_sentence(saved: ModelFolder) -> str:
    if saved.chosen:
        return f"The number of topics was chosen by their stability: {saved.chosen}."
    model = saved.model
    most = getattr(model, "n_components", None)
    if hasattr(model, "depth"):
        levels = f"They form a tree of {model.levels_.max() + 1} levels"
        if model.algorithm == "recursive":
            return f"{levels}: each was divided into topics within it."
        return f"{levels}, whose branches the model found (at most {most} topics)."
    if hasattr(model, "n_topics_history_"):
        return f"The model found the number of topics (at most {most})."
    if hasattr(model, "n_components") and most is None:
        return "The labels determine the number of topics."
    return "We set the number of topics by hand."


def beside_words(model: Any) -> list[str]:
    """Return what a model learned from besides the words, as a sentence names it."""
    sides = [side for side in getattr(model, "sides_", ()) if side.keyword]
    used = [_IN_WORDS.get(str(side.keyword), str(side.keyword)) for side in sides]
    for name in getattr(model, "group_names_", ()):
        used = [f"the counts {name!r}" if name == found else found for found in used]
    if getattr(model, "formula", None):
        used.append(f"covariates of prevalence ({model.formula})")
    elif len(getattr(model, "prevalence_names_", ())) > 1:
        used.append("covariates of prevalence")
    if getattr(model, "content_groups_", None):
        used.append("groups with words of their own")
    if any(hasattr(model, name) for name in ("sharing_", "embeddings_")):
        used.append(EMBEDDINGS)
    return list(dict.fromkeys(used))


def _text_sentences(saved: ModelFolder) -> Iterator[str]:
    """Yield how texts became counts, and how much that left out."""
    if not saved.text:
        return
    text = saved_options(text_to_save(saved.text))  # checked: a file may say anything
    counted = _counted_again(saved, text)
    if counted is not None and counted.n_cleaned:
        yield (
            "HTML, links and mail headers were removed from "
            f"{counted.n_cleaned:,} document{'s' * (counted.n_cleaned != 1)}."
        )
    yield f"{_cut_words(text)}."
    yield _bounds_sentence(text) + _left_out(saved, text, counted) + "."


def _cut_words(text: Mapping[str, Any]) -> str:
    tokens = text.get("tokens") or "words"
    sentence = "Texts were lower-cased and split into words"
    if tokens == "spaces":
        sentence = "Texts were split at white space"
    elif tokens != "words":
        sentence = f"Texts were split by the function {tokens}"
    stop_words = text.get("stop_words")
    if isinstance(stop_words, str):
        languages = [name.strip().capitalize() for name in stop_words.split(",")]
        sentence += f", and {' and '.join(languages)} stop words were removed"
    elif stop_words:
        sentence += f", and {len(list(stop_words)):,} stop words were removed"
    if text.get("stem"):
        sentence += f"; words were stemmed (Snowball, {text['stem']})"
    lengths = tuple(text.get("ngram_range") or (1, 1))
    if lengths != (1, 1):
        sentence += f"; terms are runs of {' to '.join(map(str, lengths))} words"
    if text.get("phrases"):
        sentence += "; frequent phrases count as one term"
    return sentence


def _bounds_sentence(text: Mapping[str, Any]) -> str:
    low, high = text.get("min_df", 2), text.get("max_df")
    least = f"{low:.3g} of the" if isinstance(low, float) else f"{low:,}"
    sentence = f"Words in fewer than {least} documents"
    if high is None and text.get("left_out"):
        sentence += (
            " and words that more than half of the documents use about equally often"
        )
    elif high is not None and not (isinstance(high, float) and high >= 1):
        most = f"{high:.0%} of the" if isinstance(high, float) else f"{high:,}"
        sentence += f" or in more than {most} documents"
    if text.get("max_features"):
        sentence += f", and all but the {text['max_features']:,} most frequent,"
    return f"{sentence} were left out"


def _counted_again(saved: ModelFolder, text: Mapping[str, Any]) -> WordCounter | None:
    """Return the words of the texts before any were left out, where texts are known."""
    own_function = (text.get("tokens") or "words") not in ("words", "spaces")
    if saved.texts is None or saved.counts is None or own_function:
        return None
    options = ("tokens", "stop_words", "ngram_range", "stem")
    cutting = {name: text[name] for name in options if text.get(name) is not None}
    counter = WordCounter(**cutting)
    for part in text_blocks(saved.texts):
        counter.count(part)
    return counter


def _left_out(
    saved: ModelFolder, text: Mapping[str, Any], counted: WordCounter | None
) -> str:
    """Return how much the bounds left out."""
    if counted is None or text.get("phrases"):
        return ""
    different, tokens_kept = len(counted.words), float(saved.counts.sum())
    share = 1 - tokens_kept / max(counted.n_words, 1)
    gone = different - saved.counts.shape[1]
    if share < 0 or gone < 0:
        return ""
    others = "the remaining text" if text.get("stop_words") else "the text"
    return (
        f"; these were {gone:,} of {different:,} distinct words, {share:.1%} of "
        f"{others}"
    )


_ALGORITHMS = {
    "cvb0": "collapsed variational Bayes of order zero (CVB0),",
    "variational": "variational Bayes",
    "recursive": "CVB0, one node of the tree after another,",
}


def _learning_sentences(saved: ModelFolder, data: TopicData) -> Iterator[str]:
    """Yield priors, algorithm, iterations and seed."""
    settings, model = data.settings, saved.model
    names = {
        "doc_topic_prior": "topics in documents",
        "topic_word_prior": "words in topics",
    }
    priors = [
        f"{what} {_number(settings[name])}"
        for name, what in names.items()
        if settings.get(name) is not None
    ]
    if priors:
        yield f"The Dirichlet priors were: {'; '.join(priors)}."
    parts = ["Topics were learned"]
    if settings.get("algorithm") in _ALGORITHMS:
        parts[0] += f" by {_ALGORITHMS[settings['algorithm']]}"
    passes = getattr(model, "n_iter_", None)
    if passes and hasattr(model, "n_samples_"):
        parts.append(f"by {passes:,} sweeps of a Gibbs sampler")
    elif passes:
        ended = getattr(model, "converged_", False)
        reached = isinstance(ended, bool | np.bool_) and ended
        end = "until convergence" if reached else "without reaching convergence"
        parts.append(f"in {passes:,} iterations {end}")
    seed = settings.get("random_state")
    if seed is not None:
        parts.append(f"with seed {seed}")
    if parts[1:] or parts[0] != "Topics were learned":
        yield " ".join(parts) + "."


def _number(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float | int) else str(value)


def _edit_sentences(saved: ModelFolder) -> Iterator[str]:
    edits = getattr(saved.model, "edits_", ())
    actions = (edit.get("action") for edit in edits)
    done = Counter(_DONE[action] for action in actions if action in _DONE)
    if done:
        named = ", ".join(f"{number} {what}" for what, number in done.items())
        left = len(saved.model.components_)
        yield f"After the fit, topics were edited by hand ({named}); {left} are left."


def _version_sentence(own: str) -> str:
    from topicfold.report.content import library_versions

    found = ", ".join(f"{name} {version}" for name, version in library_versions())
    return f"Software: topicfold {own} ({found})."
