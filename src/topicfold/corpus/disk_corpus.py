# SPDX-License-Identifier: BSD-3-Clause
"""Texts larger than memory: counted in blocks, to a matrix on disk.

Texts are read once. Their counts, with every word that occurs, go to scratch files;
when it is known which words stay, these are read once more and written as a folder of
blocks (`topicfold.corpus.blocks`) that models fit. Memory holds the words, the ids and
labels, and one block.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from topicfold.corpus.blocks import BlockMatrix, BlockWriter
from topicfold.corpus.files import (
    READING_OPTIONS,
    corpus_name,
    is_block_folder,
    naming,
    read,
    taken,
)
from topicfold.corpus.formats import FOLDER_SIDES, read_folder_sides, side_bytes
from topicfold.corpus.record import Corpus, CountedDocuments
from topicfold.corpus.texts import Known, iter_texts
from topicfold.corpus.vectorizing import (
    count_blocks,
    stacked,
)
from topicfold.exceptions import DataError
from topicfold.persistence.atomic import not_written

BLOCKS = "blocks"
# Entries and documents of a block on disk.
_BLOCK_ENTRIES = 4_000_000
_BLOCK_DOCUMENTS = 65_536


@dataclass(frozen=True)
class DiskCorpus(CountedDocuments):
    """A corpus whose counts are on disk, for models that fit in blocks.

    Attributes
    ----------
    counts : BlockMatrix
        The counts.
    vocabulary : list of str
        The words, one per column.
    labels, ids, times : list of str or None
        What is known of the documents; ``""`` where it is not.
    name : str
        Name of the corpus.
    """

    counts: BlockMatrix
    vocabulary: list[str]
    labels: list[str] | None = None
    ids: list[str] | None = None
    times: list[str] | None = None
    name: str = ""
    texts: None = None


def vectorize_file(
    path: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    **options: Any,
) -> DiskCorpus:
    r"""Count the words of a file of any size, to a matrix on disk.

    Parameters
    ----------
    path : str or path
        The texts; all that `read_texts` reads.
    folder : str or path
        The folder to make; it appears when all is written.
    overwrite : bool, default=False
        Whether a folder of blocks that is there may be replaced.
    **options
        Those of `read_texts` and of `vectorize`, without `vocabulary` and `dtype`.

    Returns
    -------
    DiskCorpus
        Its `counts` is a `BlockMatrix`, which PLSA, LDA and others fit.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     file = Path(place, "two.txt")
    ...     _ = file.write_text("red fox\nred fish\n")
    ...     corpus = vectorize_file(file, Path(place, "two"), min_df=1, max_df=1.0)
    ...     corpus.counts[:].toarray()
    array([[0., 1., 1.],
           [1., 0., 1.]], dtype=float32)
    """
    place, target = Path(path), Path(folder)
    reading = taken(options, ("format", *READING_OPTIONS))
    if reading.get("extra"):
        raise DataError(
            "blocks on disk cannot keep extra columns. Read the columns with "
            "read_texts(..., extra=...) instead."
        )
    if options.get("phrases"):
        raise DataError(
            "phrases=True keeps the words of all texts in memory, so it does not work "
            "with blocks on disk. Use ngram_range=(1, 2) instead."
        )
    known = Known(place, own_ids=reading.get("id") is not None)
    target.parent.mkdir(parents=True, exist_ok=True)
    writer = BlockWriter(target, overwrite=overwrite)
    scratch = writer.draft / "scratch"
    try:
        scratch.mkdir()
        texts = known.texts(iter_texts(place, **reading))
        with naming(place):
            options = {"dtype": np.float32} | options
            blocks, words, _ = count_blocks(texts, _on_disk(scratch), **options)
            for block in blocks:
                writer.append(block)
        scratch.rmdir()
        sides = zip(("labels", "ids", "times"), known.finish(), strict=True)
        beside = {
            FOLDER_SIDES[name]: side_bytes(
                # A label or id may have line breaks.
                [v if v.isprintable() else " ".join(v.split()) for v in values],
                name,
            )
            for name, values in sides
            if values is not None
        }
        writer.close(words, beside=beside)
    except BaseException as error:
        writer.abort()
        if isinstance(error, OSError) and error.strerror:
            raise not_written(target, error) from error
        raise
    return open_disk_corpus(target, name=corpus_name(place))


def _on_disk(folder: Path) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return a function that keeps blocks in a folder, and gives them back once."""

    def hold(blocks: Iterable[Any]) -> Iterator[Any]:
        files: list[Path] = []
        for block in _grown(blocks):
            files.append(folder / f"{len(files)}.npz")
            if block.data.max(initial=0) < 2**8:  # most counts take one byte
                block = block.astype(np.uint8)
            sparse.save_npz(files[-1], block, compressed=False)
        return map(_taken_back, files)

    return hold


def _taken_back(file: Path) -> Any:
    block = sparse.load_npz(file)
    file.unlink()
    return block


def open_disk_corpus(path: str | os.PathLike[str], *, name: str = "") -> DiskCorpus:
    """Open a folder that `vectorize_file` or `BlockMatrix.write` made.

    Parameters
    ----------
    path : str or path
        The folder.
    name : str, default=""
        Name of the corpus; that of the folder if empty.

    Returns
    -------
    DiskCorpus
    """
    folder = Path(path)
    counts = BlockMatrix.open(folder)
    words = counts.vocabulary or [f"w{w}" for w in range(counts.shape[1])]
    known = read_folder_sides(folder, len(counts), " for {} documents")
    known.pop("split", None)
    return DiskCorpus(counts, words, name=name or folder.resolve().name, **known)


def open_corpus(
    path: str | os.PathLike[str], *, format: str | None = None, **options: Any
) -> Corpus | DiskCorpus:
    """Open a folder of blocks, or anything that `read` reads."""
    if format == BLOCKS or (format is None and is_block_folder(path)):
        return open_disk_corpus(path)
    return read(path, format=format, **options)


def _grown(blocks: Iterable[Any]) -> Iterator[Any]:
    """Join blocks until they are worth a file."""
    held: list[Any] = []
    n_entries = n_documents = 0
    for block in blocks:
        held.append(block)
        n_entries += block.nnz
        n_documents += block.shape[0]
        if n_entries >= _BLOCK_ENTRIES or n_documents >= _BLOCK_DOCUMENTS:
            yield stacked(held)
            held, n_entries, n_documents = [], 0, 0
    if held:
        yield stacked(held)
