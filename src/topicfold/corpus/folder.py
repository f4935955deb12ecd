# SPDX-License-Identifier: BSD-3-Clause
"""Corpora on disk: a folder with counts, words and what is known of the documents.

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

import gzip
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.corpus.formats.parts import (
    FOLDER_SIDES,
    check_length,
    read_folder_sides,
    side_bytes,
)
from topicfold.corpus.lines import BadLines, read_whole, text_lines
from topicfold.corpus.npz import load_counts
from topicfold.corpus.record import Corpus
from topicfold.corpus.tables import json_objects
from topicfold.corpus.texts import OWN_ENCODING, read_lines
from topicfold.exceptions import DataError
from topicfold.persistence.atomic import (
    discard,
    new_draft,
    not_written,
    settle,
    swap_folder,
)

_ROWS, _COLUMNS = ", but counts.npz has {} rows", ", but counts.npz has {} columns"


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
                f"{file}, line {number}: {line.strip()[:80]!r} is not a link. Give two "
                "document numbers, from 0, and a weight if you like."
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
