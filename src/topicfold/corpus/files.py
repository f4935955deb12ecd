# SPDX-License-Identifier: BSD-3-Clause
"""Any corpus from a file or folder, and to one: `read` and `write`.

The folder of a corpus (`load_folder`, `save_folder`) has

======================  ==========================================================
counts.npz              SciPy CSR matrix, documents × terms (required)
vocab.txt               one word per line (required)
labels.txt              the class of one document per line
split.txt               train, val or test, one per line
time.txt                the time of one document per line
ids.txt                 the name of one document per line
links.txt               two zero-based document numbers per line
docs.jsonl.gz           one object per line, with "text" and optionally "id"
======================  ==========================================================
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import gzip
import json
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.corpus.block_corpus import INDEX
from topicfold.corpus.formats import (
    FOLDER_SIDES,
    FORMATS,
    SIDES,
    MatrixFormat,
    Parts,
    check_length,
    read_folder_sides,
    read_sides,
    side_bytes,
    side_file,
    writing,
)
from topicfold.corpus.lines import BadLines, load_counts, read_whole, text_lines
from topicfold.corpus.record import Corpus
from topicfold.corpus.tables import FIELDS, json_objects
from topicfold.corpus.texts import (
    OWN_ENCODING,
    TEXT_FORMATS,
    Texts,
    missing_place,
    plain_suffix,
    read_lines,
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
    swap_folder,
)

_ROWS, _COLUMNS = ", but counts.npz has {} rows", ", but counts.npz has {} columns"


def is_block_folder(path: str | os.PathLike[str]) -> bool:
    """Tell whether a folder holds counts in blocks."""
    settle(Path(path))
    return Path(path, INDEX).is_file()


def load_folder(path: str | os.PathLike[str], *, texts: bool = True) -> Corpus:
    r"""Load a corpus from its folder.

    Parameters
    ----------
    path : str or path
        The folder; the format is that of this module's page.
    texts : bool, default=True
        Whether to read the raw texts and ids (docs.jsonl.gz), where there are any.

    Returns
    -------
    Corpus
        Named after the folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     folder = Path(place, "colours")
    ...     folder.mkdir()
    ...     sparse.save_npz(folder / "counts.npz", sparse.csr_matrix([[1, 2], [0, 1]]))
    ...     _ = Path(folder, "vocab.txt").write_text("red\nblue\n")
    ...     load_folder(folder)
    Corpus('colours', 2 documents, 2 terms)
    """
    folder = Path(path)
    settle(folder)
    for required in ("counts.npz", "vocab.txt"):
        if not (folder / required).is_file():
            raise DataError(
                f"{folder} is not a corpus folder: it has no {required}. It needs "
                "counts.npz and vocab.txt."
            )
    counts = load_counts(folder / "counts.npz")
    n_documents, n_terms = counts.shape
    fields: dict[str, Any] = {"vocabulary": read_lines(folder / "vocab.txt")}
    check_length(folder / "vocab.txt", fields["vocabulary"], n_terms, _COLUMNS)
    if not n_terms:
        raise DataError(f"{folder} has no words: counts.npz has no columns.")
    fields |= read_folder_sides(folder, n_documents, _ROWS)
    if (folder / "links.txt").is_file():
        file = folder / "links.txt"
        fields["links"] = links_of(read_whole(file)[0], file).astype(np.int64)
    if texts and (folder / "docs.jsonl.gz").is_file():
        fields |= _load_texts(folder / "docs.jsonl.gz", n_documents)
    return Corpus(counts=counts, name=folder.resolve().name, **fields)


def save_folder(
    corpus: Corpus, path: str | os.PathLike[str], *, replace: bool = False
) -> Path:
    """Save a corpus as a folder that `load_folder` reads: whole, or not at all.

    Parameters
    ----------
    corpus : Corpus
        The corpus.
    path : str or path
        The folder to make.
    replace : bool, default=False
        Whether a corpus folder that is there may be replaced.

    Returns
    -------
    Path
        The folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     folder = save_folder(Corpus([[1]], ["fox"]), Path(place, "foxes"))
    ...     load_folder(folder)
    Corpus('foxes', 1 documents, 1 terms)
    """
    folder = Path(path)
    if folder.exists() and not (replace and (folder / "counts.npz").is_file()):
        raise DataError(
            f"{folder} already exists. Choose another name; a corpus folder is "
            "replaced with replace=True."
        )
    try:
        draft = new_draft(folder)
        draft.mkdir(parents=True)
        _fill(corpus, draft)
        swap_folder(draft, folder)
    except OSError as error:
        raise not_written(folder, error) from error
    finally:
        discard(draft)
    return folder


def _fill(corpus: Corpus, folder: Path) -> None:
    sparse.save_npz(folder / "counts.npz", corpus.counts)
    sides = {"vocab.txt": corpus.vocabulary}
    for field, name in FOLDER_SIDES.items():
        values = getattr(corpus, field)
        if values is not None and not (field == "ids" and corpus.texts is not None):
            sides[name] = values
    if corpus.links is not None:
        sides["links.txt"] = [f"{a} {b}" for a, b in corpus.links.tolist()]
    for name, lines in sides.items():
        (folder / name).write_bytes(side_bytes(lines, name))
    if corpus.texts is not None:
        ids: Sequence[str | None] = corpus.ids or [None] * corpus.n_documents
        with gzip.open(folder / "docs.jsonl.gz", "wt", encoding="ascii") as stream:
            for own, text in zip(ids, corpus.texts, strict=True):
                record = {"text": text} if own is None else {"id": own, "text": text}
                stream.write(json.dumps(record) + "\n")


def links_of(text: str, file: Path) -> NDArray[np.float64]:
    """Return the links of a file: two documents per line, and perhaps a weight."""
    rows: list[tuple[float, ...]] = []
    for number, line in enumerate(text.split("\n"), 1):
        fields = line.replace(",", " ").split()
        if not fields or fields[0].startswith("#"):
            continue
        whole = len(fields) > 1 and fields[0].isdecimal() and fields[1].isdecimal()
        try:
            rows.append(tuple(float(field) for field in fields if whole))
        except (ValueError, OverflowError):
            whole = False
        if not whole or "_" in line or not all(0 <= x < np.inf for x in rows[-1]):
            raise DataError(
                f"{file}, line {number}: {line.strip()[:80]!r} is not a link. Give the "
                "numbers of two documents, counted from 0, and optionally a weight."
            )
    if len({len(row) for row in rows}) > 1 or (rows and len(rows[0]) > 3):
        raise DataError(f"{file}: give every link a weight, or none of them.")
    return np.array(rows) if rows else np.empty((0, 2))


def _load_texts(file: Path, n_documents: int) -> dict[str, list[str]]:
    bad = BadLines(file)
    records = list(json_objects(text_lines(file, OWN_ENCODING, bad), bad))
    check_length(file, records, n_documents, _ROWS)
    for number, record in records:
        if not isinstance(record.get("text"), str):
            raise DataError(f'{file}, line {number}: the field "text" is not a string.')
    fields = {"texts": [record["text"] for _, record in records]}
    if all("id" in record for _, record in records):
        fields["ids"] = [str(record["id"]) for _, record in records]
    return fields


_UCI = re.compile(r"docword\..*txt", re.IGNORECASE)
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
    if not isinstance(path, str | os.PathLike):
        raise DataError(
            f"path is of type {type(path).__name__}. Give the name of one file or "
            "folder; topicfold.Topics takes texts and data frames as they are."
        )
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
        raise DataError(
            f"{place} names a compression that this format does not have. Change the "
            "suffix."
        )
    check_free(place, replace=replace)
    if kind == FOLDER:
        return save_folder(corpus, place, replace=replace)
    if place.exists() and not place.is_file():
        raise DataError(f"{place} exists and is not a file. Choose another name.")
    _write_together(place, kind, corpus)
    return place


def matrix_format(path: Path) -> MatrixFormat | None:
    """Return the format that a name shows, or None."""
    name = path.name.lower().removesuffix(".gz").removesuffix(".zst")
    if _UCI.fullmatch(name):
        return FORMATS["uci"]
    suffix = Path(name).suffix
    return next((f for f in FORMATS.values() if suffix in f.suffixes), None)


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
            f"{path.name!r} does not tell which format to write. Name it with "
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
        f"the format {kind!r} is not known here.{hint} Give one of {', '.join(known)}."
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
                "surrogate pair, which UTF-8 cannot encode. Remove it."
            ) from error
        if isinstance(error, OSError):
            raise not_written(path, error) from error
        raise
