# SPDX-License-Identifier: BSD-3-Clause
"""The folder of a fitted model: the model, its words, and its documents' names.

A model folder has one file, ``model.safetensors``, so it is replaced whole or not at
all. `topicfold.load` reads the estimator from it. Beside the estimator it may hold the
lists of strings ``vocabulary``, ``labels``, ``doc_ids``, ``texts`` and ``times``, the
``counts`` of the documents and the meta data ``text`` and ``corpus``, see
`ModelFolder`; what ``model.save(folder)`` writes is a model folder too.
The report of the model, ``report.html``, may be beside it. It is set aside while
another model takes the place, so that a page never shows topics that are gone, and is
put back if that fails.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scipy import sparse

from topicfold.core.times import parse_times
from topicfold.exceptions import ModelFileError
from topicfold.persistence.atomic import is_temporary, remove_leftovers, set_aside
from topicfold.persistence.bundle import (
    bundle_file,
    is_bundle,
    pack_counts,
    unpack_counts,
)
from topicfold.persistence.estimators import read_estimator, save_estimator

if TYPE_CHECKING:
    from topicfold.topic_data import TopicData

_PER_DOCUMENT = ("labels", "doc_ids", "texts", "times")
_REPORT_NAME = "report.html"
# Places that this process checked before its work, and what was there.
_checked: dict[Path, tuple[int, ...] | None] = {}
_REPORT_MARK = b'name="generator" content="topicfold '


@dataclass(frozen=True, kw_only=True)
class ModelFolder:
    """A fitted model with what was saved beside it.

    Attributes
    ----------
    model : estimator
        The model.
    vocabulary : list of str or None
        Words of the columns.
    labels, doc_ids, texts, times : list of str or None
        Class, name, text and time of every training document. An unknown class or time
        is ``""``; a time is in ISO 8601 or a number.
    text : dict or None
        Options of `topicfold.corpus.vectorize` that made the training counts.
    counts : CSR matrix or None
        Counts of the training documents, for search and for more documents.
    languages : dict or None
        The same options for every language of the documents, by its name; those of X
        are first.
    corpus : str
        Name of the training corpus.
    chosen : str
        Why the model has so many topics; empty if the number was given.
    topicfold_version : str
        Version of topicfold that wrote the file; empty if there is none yet.
    """

    model: Any
    vocabulary: list[str] | None = None
    labels: list[str] | None = None
    doc_ids: list[str] | None = None
    texts: list[str] | None = None
    times: list[str] | None = None
    text: dict[str, Any] | None = None
    counts: Any = None
    languages: dict[str, Any] | None = None
    corpus: str = ""
    chosen: str = ""
    topicfold_version: str = ""

    def topic_data(self) -> TopicData:
        """Return the record of the topics and of the training documents.

        A model that learned from a stream (`partial_fit`) knows no documents; the
        record has none then.
        """
        if not hasattr(self.model, "doc_topics_"):
            return self.model.topic_data(self.vocabulary)
        known = [label.strip() or None for label in self.labels or ()]
        data = self.model.topic_data(
            self.vocabulary,
            labels=None if self.labels is None else known,
            doc_ids=self.doc_ids,
            texts=self.texts,
            times=parse_times(self.times) if self.times else None,
        )
        if not self.languages:
            return data
        first = {"language": next(iter(self.languages))}
        return replace(data, settings={**data.settings, **first})


def save_model_folder(model: Any, path: str | os.PathLike[str], **known: Any) -> Path:
    """Save a fitted model and what is needed to read it and to apply it to text.

    Parameters
    ----------
    model : estimator
        A fitted model of topicfold.
    path : str or path
        The folder; a name ending in ``.safetensors`` is the file itself.
    **known
        The attributes of `ModelFolder`. A label may be None if unknown. Times may be
        numbers, ``datetime64`` or strings; NaN, NaT, None and ``""`` are unknown. The
        default of the vocabulary is the feature names that the model saw in `fit`.

    Returns
    -------
    Path
        The file written.

    Examples
    --------
    >>> import tempfile
    >>> from topicfold import PLSA
    >>> model = PLSA(n_components=2, random_state=0).fit([[2, 1, 0], [0, 1, 3]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = save_model_folder(model, folder, vocabulary=["red", "fox", "sea"])
    ...     load_model_folder(folder).topic_data()
    TopicData(n_topics=2, n_terms=3, n_documents=2)
    """
    return save_folder(ModelFolder(model=model, **known), path)


def save_folder(folder: ModelFolder, path: str | os.PathLike[str]) -> Path:
    """Save a `ModelFolder`; the numbers of its topics are those of the rows."""
    model, counts = folder.model, folder.counts
    if getattr(model, "edits_", None):
        from topicfold.core.numbering import renumbered

        model = renumbered(model)
    given: dict[str, Any] = {
        name: getattr(folder, name) for name in ("vocabulary", *_PER_DOCUMENT)
    }
    if given["vocabulary"] is None:
        given["vocabulary"] = words_of_model(model)
    given = {name: list(values) for name, values in given.items() if values is not None}
    for name, convert in (("vocabulary", str), ("labels", _label), ("times", _time)):
        if name in given:
            given[name] = [convert(value) for value in given[name]]
    wrong = _wrong_length(model, given | {"counts": counts})
    if wrong is not None:
        name, found, size = wrong
        raise ModelFileError(
            f"{name} has {found:,} entries, and the model has {size:,}. Give the data "
            "of the documents and words that the model was fitted on."
        )
    arrays = {} if counts is None else pack_counts(sparse.csr_matrix(counts), "counts")
    meta = {"text": text_to_save(folder.text), "corpus": folder.corpus}
    if folder.chosen:
        meta["chosen"] = folder.chosen
    if folder.languages:
        own = {name: text_to_save(how) for name, how in folder.languages.items()}
        meta["languages"] = own
    page = report_file(path)
    with set_aside(page) if is_report(page) else nullcontext():
        return save_estimator(
            model, path, extra_arrays=arrays, extra_strings=given, extra_meta=meta
        )


def known_of(corpus: Any) -> dict[str, Any]:
    """Return the arguments of `save_model_folder` that a `Corpus` has."""
    names = {"ids": "doc_ids", "name": "corpus"}
    wanted = ("vocabulary", "labels", "ids", "texts", "times", "counts", "text", "name")
    if not hasattr(corpus, "vocabulary"):
        raise ModelFileError(
            f"The second argument is a {type(corpus).__name__}. Give the Corpus that "
            "the model was fitted on, or name what you pass: vocabulary=words."
        )
    known = {names.get(name, name): getattr(corpus, name, None) for name in wanted}
    if not sparse.issparse(known["counts"]):  # those on disk stay there
        known["counts"] = None
    return {name: value for name, value in known.items() if value is not None}


def words_of_model(model: Any) -> list[str] | None:
    """Return the words that a fitted model knows of its columns."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(map(str, names))


def text_to_save(text: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the options of text as JSON can hold them, functions by their names."""
    if text is None:
        return None
    options = dict(text)
    words = options.get("stop_words")
    if words is not None and not isinstance(words, str):
        options["stop_words"] = sorted(words)
    function = options.get("tokens")
    if callable(function):
        module = getattr(function, "__module__", None) or "builtins"
        name = getattr(function, "__qualname__", type(function).__name__)
        options["tokens"] = f"{module}:{name}"
    return options


def _wrong_length(model: Any, given: Mapping[str, Any]) -> tuple[str, int, int] | None:
    """Return what does not fit the model, its length and the one needed."""
    sizes = {}
    if hasattr(model, "components_"):
        sizes["vocabulary"] = model.components_.shape[1]
    if hasattr(model, "doc_topics_"):
        sizes |= dict.fromkeys(("counts", *_PER_DOCUMENT), len(model.doc_topics_))
    for name, size in sizes.items():
        value = given.get(name)
        if value is not None:
            found = value.shape[0] if name == "counts" else len(value)
            if found != size:
                return name, found, size
    return None


def load_model_folder(
    path: str | os.PathLike[str], *, trusted: Iterable[str | type] = ()
) -> ModelFolder:
    """Load a model with what was saved beside it.

    Parameters
    ----------
    path : str or path
        The folder, or the file.
    trusted : iterable of str or class, default=()
        Classes of your own that the file may use; see `topicfold.load`.

    Raises
    ------
    ModelFileError
        If it cannot be read, is damaged, or its parts do not match.
    """
    saved = read_estimator(path, trusted=trusted)
    model = saved.model
    if not hasattr(model, "components_"):
        raise ModelFileError(
            f"{Path(path)} holds a {type(model).__name__} without topics. Fit the "
            "model before you save it."
        )
    options: dict[str, Any] = {
        name: saved.meta.get(name) for name in ("text", "languages")
    }
    names = {name: saved.meta.get(name, "") for name in ("corpus", "chosen")}
    sound = all(isinstance(value, dict | None) for value in options.values())
    words = (options["text"] or {}).get("stop_words") if sound else None
    sound = sound and isinstance(words, str | list | None)
    if not sound or not all(isinstance(name, str) for name in names.values()):
        raise _damaged(path, "its text options are invalid")
    try:
        counts = unpack_counts(saved.arrays, "counts", model.components_.shape[1])
    except ValueError as error:
        raise _damaged(path, error) from error
    known: dict[str, Any] = {
        name: saved.strings.get(name) for name in ("vocabulary", *_PER_DOCUMENT)
    }
    wrong = _wrong_length(model, known | {"counts": counts})
    if wrong is not None:
        name, found, size = wrong
        raise _damaged(path, f"{name} has {found} entries for {size}")
    if known["vocabulary"] is None:
        known["vocabulary"] = words_of_model(model)
    known |= {"counts": counts, "topicfold_version": saved.topicfold_version}
    return ModelFolder(model=model, **known, **options, **names)


def _damaged(path: str | os.PathLike[str], problem: object) -> ModelFileError:
    return ModelFileError(f"{Path(path)} is damaged: {problem}. Save the model again.")


def report_file(path: str | os.PathLike[str]) -> Path:
    """Return ``DIR/report.html`` for a folder, ``X.report.html`` for a file."""
    file = bundle_file(path)
    if file == Path(path):
        return file.with_suffix(f".{_REPORT_NAME}")
    return file.with_name(_REPORT_NAME)


def is_report(file: Path) -> bool:
    """Tell whether a file is a report that topicfold wrote, or is empty."""
    if not file.is_file():
        return False
    with file.open("rb") as stream:
        start = stream.read(4096)
    return not start.strip() or _REPORT_MARK in start


def check_output_folder(path: str | os.PathLike[str], *, replace: bool = False) -> None:
    """Refuse a place where a model cannot or should not be saved, before the work.

    What a killed process left there half-written is removed. `replace` allows a model
    of topicfold to be replaced.
    """
    place = Path(path)
    file = bundle_file(place)
    if place != file and place.exists() and not place.is_dir():
        raise ModelFileError(f"{place} is a file. Choose a new folder for the model.")
    remove_leftovers(file.parent)
    if file.exists():
        if not is_bundle(file):
            raise ModelFileError(
                f"{file} exists and is not a file of topicfold. Choose another place."
            )
        if not replace:
            raise ModelFileError(
                f"{place} holds a topicfold model. Replace it with replace=True, "
                "or choose another place."
            )
    elif place != file and place.is_dir():
        others = [p for p in place.iterdir() if not is_temporary(p)]
        if others:
            raise ModelFileError(
                f"The folder {place} holds {others[0].name} but no topicfold model. "
                "Choose a new or an empty folder."
            )
    parent = file.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise ModelFileError(
            f"{place} cannot be written: {parent} is not a folder, or you may not "
            "write to it. Choose another place."
        )
    _checked[file.absolute()] = _state(file)


def place_to_save(path: str | os.PathLike[str]) -> Path:
    """Return the place that `check_output_folder` saw, if it is as it was then.

    Else another process has saved a model there in the meantime, and the place is a
    free one beside it, such as ``DIR-2``: neither model is lost.
    """
    place, file = Path(path), bundle_file(path).absolute()
    if file not in _checked or _checked.pop(file) == _state(file):
        return place
    number = 2
    while bundle_file(place).exists():
        end = ".safetensors" if place.suffix == ".safetensors" else ""
        place = place.with_name(f"{Path(path).name.removesuffix(end)}-{number}{end}")
        number += 1
    return place


def _state(file: Path) -> tuple[int, ...] | None:
    """Return what differs between a file and one that takes its place."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _label(label: Any) -> str:
    if label is not None and not isinstance(label, str):
        raise ModelFileError(
            f"A label is {label!r}, of type {type(label).__name__}. Give strings, or "
            "None where a label is unknown."
        )
    return str(label or "")


def _time(time: Any) -> str:
    text = "" if time is None else str(time).strip()
    return "" if text in ("NaT", "nan") else text
