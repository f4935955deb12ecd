# SPDX-License-Identifier: BSD-3-Clause
"""Documents in, counts out: readers, vectorising, the built-in corpus, splits.

Names are loaded when first used: a model needs only the corpora in blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topicfold.core.lazy import lazy_names

if TYPE_CHECKING:
    from topicfold.corpus.blocks import BlockMatrix as BlockMatrix
    from topicfold.corpus.blocks import BlockWriter as BlockWriter
    from topicfold.corpus.builtin import cache_path as cache_path
    from topicfold.corpus.builtin import load_docs as load_docs
    from topicfold.corpus.disk_corpus import DiskCorpus as DiskCorpus
    from topicfold.corpus.disk_corpus import open_disk_corpus as open_disk_corpus
    from topicfold.corpus.disk_corpus import vectorize_file as vectorize_file
    from topicfold.corpus.files import load_folder as load_folder
    from topicfold.corpus.files import read as read
    from topicfold.corpus.files import save_folder as save_folder
    from topicfold.corpus.files import write as write
    from topicfold.corpus.inputs import from_anndata as from_anndata
    from topicfold.corpus.inputs import to_anndata as to_anndata
    from topicfold.corpus.record import Corpus as Corpus
    from topicfold.corpus.splits import complete_split as complete_split
    from topicfold.corpus.splits import train_test_documents as train_test_documents
    from topicfold.corpus.texts import Texts as Texts
    from topicfold.corpus.texts import iter_texts as iter_texts
    from topicfold.corpus.texts import read_texts as read_texts
    from topicfold.corpus.tokens import words_of as words_of
    from topicfold.corpus.vectorizing import vectorize as vectorize

_HOMES = {
    "blocks": "BlockMatrix BlockWriter",
    "builtin": "cache_path load_docs",
    "disk_corpus": "DiskCorpus open_disk_corpus vectorize_file",
    "files": "load_folder read save_folder write",
    "inputs": "from_anndata to_anndata",
    "record": "Corpus",
    "splits": "complete_split train_test_documents",
    "texts": "Texts iter_texts read_texts",
    "tokens": "words_of",
    "vectorizing": "vectorize",
}
_PLACES = {
    n: f"{__name__}.{m}:{n}" for m, names in _HOMES.items() for n in names.split()
}

__all__ = sorted(_PLACES)

__getattr__ = lazy_names(__name__, _PLACES)
