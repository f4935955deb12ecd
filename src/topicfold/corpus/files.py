# SPDX-License-Identifier: BSD-3-Clause
"""Any corpus from a file, and to one: `read` and `write`."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import json
import os
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from scipy import sparse

from topicfold.corpus.folder import load_folder, save_folder
from topicfold.corpus.formats import FORMATS, MatrixFormat, matrix_format
from topicfold.corpus.formats.parts import (
    SIDES,
    Parts,
    read_sides,
    side_bytes,
    side_file,
    writing,
)
from topicfold.corpus.record import Corpus
from topicfold.corpus.tables import FIELDS
from topicfold.corpus.texts import (
    TEXT_FORMATS,
    Texts,
    missing_place,
    plain_suffix,
    read_texts,
    text_format,
)
from topicfold.exceptions import DataError, DataWarning
from topicfold.persistence.atomic import (
    discard,
    new_draft,
    not_written,
    remove_drafts,
    settle,
    swap_files,
)

FOLDER = "folder"
WRITTEN = (*FORMATS, FOLDER, "jsonl")
READ = (*TEXT_FORMATS, *FORMATS, FOLDER)
READING_OPTIONS = (
    *FIELDS,
    *("extra", "sheet", "encoding", "skip_bad_lines", "progress"),
)


def read(
    path: str | os.PathLike[str], *, format: str | None = None, **options: Any
) -> Corpus:
    """Read a corpus of any format: texts, which are counted, or counts.

    Parameters
    ----------
    path : str or path
        File or folder.
    format : str, optional
        One of "files", "lines", "csv", "tsv", "json", "jsonl", "parquet", "xlsx"
        (texts), "ldac", "uci", "mm", "svmlight", "mallet", "npz", "folder" (counts);
        by default what the name shows. The formats are described in
        `topicfold.corpus.formats`.
    **options
        For texts: those of `read_texts` and of `vectorize`. Counts take no options.

    Returns
    -------
    Corpus
        With counts and vocabulary, and labels, ids, times and texts where known.

    See Also
    --------
    write : The way back.
    topicfold.corpus.vectorize_file : Texts larger than memory.

    Examples
    --------
    >>> import tempfile
    >>> corpus = Corpus([[1, 0], [2, 1]], ["fox", "red"], labels=["x", ""])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = write(corpus, Path(folder, "tiny.mtx"))
    ...     read(file)
    Corpus('tiny', 2 documents, 2 terms, 1 classes)
    """
    place = Path(path)
    settle(place)
    kind = format or format_of(place)
    check_format(kind, READ)
    if kind in TEXT_FORMATS:
        reading = taken(options, READING_OPTIONS)
        return count_texts(read_texts(place, format=kind, **reading), place, **options)
    if options:
        raise DataError(
            f"{place} holds counts, to which {', '.join(sorted(options))} does not "
            "apply. Leave it out."
        )
    if not place.exists():
        raise missing_place(place)
    if kind == FOLDER:
        return load_folder(place)
    if place.is_dir():
        raise DataError(f"{place} is a folder; {FORMATS[kind].title} is a file.")
    return _assembled(FORMATS[kind].read(place), place)


def count_texts(found: Texts, place: Path, **options: Any) -> Corpus:
    """Return the corpus of texts that were read; options are those of `vectorize`."""
    with naming(place):
        corpus = Corpus.from_texts(
            found.texts,
            labels=found.labels,
            ids=found.ids,
            name=corpus_name(place),
            **options,
        )
    return dataclasses.replace(corpus, times=found.times, extra=found.extra)


@contextlib.contextmanager
def naming(place: Path) -> Iterator[None]:
    """Let errors about data begin with the file, unless they name it."""
    try:
        yield
    except DataError as error:
        if str(place) in str(error):
            raise
        raise DataError(f"{place}: {error}") from error


def write(
    corpus: Corpus,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    replace: bool = False,
) -> Path:
    r"""Write a corpus to a file, and to side files what the format has no place for.

    All files are written, or none.

    Parameters
    ----------
    corpus : Corpus
        The corpus.
    path : str or path
        The file; a name ending in .gz is compressed.
    format : str, optional
        One of "ldac", "uci", "mm", "svmlight", "mallet", "npz", "folder" (counts) or
        "jsonl" (texts); by default what the name shows.
    replace : bool, default=False
        Whether files that are there already may be replaced.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> corpus = Corpus([[1, 0], [2, 1]], ["fox", "red"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = write(corpus, Path(folder, "tiny.ldac"))
    ...     file.read_text()
    '1 0:1\n2 0:2 1:1\n'
    """
    place = Path(path)
    kind = format or format_of(place, written=True)
    check_format(kind, WRITTEN)
    if not corpus.n_documents or not corpus.n_terms:
        raise DataError(
            f"the corpus has {corpus.n_documents} documents and {corpus.n_terms} "
            "words, so there is nothing to write."
        )
    if place.suffix.lower() == ".zst" or (kind == "npz" and place.suffix == ".gz"):
        raise DataError(f"{place} cannot be compressed like that. Change its suffix.")
    check_free(place, replace=replace)
    if kind == FOLDER:
        return save_folder(corpus, place, replace=replace)
    if place.exists() and not place.is_file():
        raise DataError(f"{place} exists and is not a file. Choose another name.")
    _write_together(place, kind, corpus)
    return place


def format_of(path: Path, *, written: bool = False) -> str:
    """Return the format that a name shows."""
    if path.is_dir() and not written:
        return FOLDER if (path / "counts.npz").is_file() else "files"
    found = matrix_format(path)
    if found is not None:
        return found.name
    if written:
        if plain_suffix(path) in (".jsonl", ".ndjson"):
            return "jsonl"
        if path.suffix == "":
            return FOLDER
        raise DataError(
            f"{path.name!r} does not show the format to write. Say which with "
            f"format=...: one of {', '.join(WRITTEN)}."
        )
    return text_format(path)


def taken(options: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Take the options of some names out of a dictionary."""
    return {name: options.pop(name) for name in names if name in options}


def corpus_name(path: Path) -> str:
    """Return the name of a corpus: that of the file without its endings."""
    name = path.resolve().name if path.is_dir() else path.name
    for ending in (".gz", ".zst"):
        name = name.removesuffix(ending)
    return name if path.is_dir() else Path(name).stem


def check_free(path: Path, *, replace: bool) -> None:
    """Refuse a place where something is already, unless it may be replaced."""
    every = [path, *(side_file(path, name) for name in SIDES)]
    taken = [file for file in every if file.exists()]
    if taken and not replace:
        raise DataError(
            f"{taken[0]} already exists. Choose another name, or replace it with "
            "replace=True."
        )


def check_format(kind: str, known: tuple[str, ...]) -> None:
    """Refuse the name of a format that is not among those known."""
    if kind in known:
        return
    near = difflib.get_close_matches(kind, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise DataError(
        f"format={kind!r} is not known here.{hint} Give one of {', '.join(known)}."
    )


def _assembled(parts: Parts, path: Path) -> Corpus:
    """Return the corpus of a file and of its side files."""
    known: dict[str, Any] = {**parts.known, **read_sides(path)}
    counts = parts.counts
    if not counts.shape[0]:
        raise DataError(f"{path} has no documents. Is it the file you meant?")
    words = known.pop("vocab", None)
    if not counts.shape[1] and not words:
        raise DataError(f"{path} has no words. Is it the file you meant?")
    if words is None:
        words = [f"w{column}" for column in range(counts.shape[1])]
        warnings.warn(
            f"{path} has no vocabulary beside it ({side_file(path, 'vocab').name}, "
            "vocab.txt); words are named w0, w1, ...",
            DataWarning,
            stacklevel=3,
        )
    if parts.open_width and counts.shape[1] < len(words):
        counts = sparse.csr_matrix(
            (counts.data, counts.indices, counts.indptr), (counts.shape[0], len(words))
        )
    name = corpus_name(path)
    return Corpus(counts=counts, vocabulary=words, name=name, **known)


def _write_matrix(
    format: MatrixFormat, corpus: Corpus, draft: Path
) -> dict[str, list[str]]:
    side = format.write(corpus, draft)
    side["vocab"] = corpus.vocabulary
    # Labels and ids that are in the file itself are not written twice.
    inside = {"svmlight": ("labels",), "mallet": ("labels", "ids")}
    for name in SIDES[1:]:
        values = getattr(corpus, name)
        if values is not None and name not in inside.get(format.name, ()):
            side[name] = values
    return side


def _write_jsonl(corpus: Corpus, draft: Path) -> None:
    if corpus.texts is None:
        raise DataError(
            "the corpus has counts but no texts, so it cannot be written as jsonl. "
            f"Write one of {', '.join(FORMATS)}."
        )
    singular = {"label": corpus.labels, "id": corpus.ids, "time": corpus.times}
    known = {name: values for name, values in singular.items() if values is not None}
    with writing(draft) as stream:
        for row, text in enumerate(corpus.texts):
            record = {"text": text}
            record |= {name: values[row] for name, values in known.items()}
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")


def _write_together(path: Path, kind: str, corpus: Corpus) -> None:
    """Write a file and its side files aside, then give all of them their names."""
    every = [path, *(side_file(path, name) for name in SIDES)]
    drafts: dict[Path, Path] = {}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        settle(path)
        for file in every:
            remove_drafts(file)
        drafts[path] = new_draft(path)
        if kind == "jsonl":
            _write_jsonl(corpus, drafts[path])
            sides = {}
        else:
            sides = _write_matrix(FORMATS[kind], corpus, drafts[path])
        for name, lines in sides.items():
            drafts[side_file(path, name)] = draft = new_draft(side_file(path, name))
            draft.write_bytes(side_bytes(lines, name))
        # Side files of an older file would be taken for this one's.
        gone = [file for file in every if file not in drafts and file.exists()]
        swap_files(drafts, gone, path)
    except BaseException as error:
        for draft in drafts.values():
            discard(draft)
        if isinstance(error, UnicodeEncodeError):
            raise DataError(
                f"{path} cannot be written: {error.object[error.start]!r} is half of a "
                "character, which UTF-8 cannot encode. Remove it."
            ) from error
        if isinstance(error, OSError):
            raise not_written(path, error) from error
        raise
