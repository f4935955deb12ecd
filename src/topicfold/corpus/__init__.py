# SPDX-License-Identifier: BSD-3-Clause
"""Documents in, counts out: readers, vectorising, the built-in corpus, splits.

Names are loaded when first used: a model needs only the corpora in blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from topicfold.core.lazy import lazy_names

if TYPE_CHECKING:
    from topicfold.corpus.blocks import BlockMatrix, BlockWriter
    from topicfold.corpus.builtin import load_docs
    from topicfold.corpus.cache import cache_path
    from topicfold.corpus.disk_corpus import (
        DiskCorpus,
        open_disk_corpus,
        vectorize_file,
    )
    from topicfold.corpus.files import read, write
    from topicfold.corpus.folder import corpora_path, load_folder, save_folder
    from topicfold.corpus.record import Corpus
    from topicfold.corpus.splits import complete_split, train_test_documents
    from topicfold.corpus.texts import Texts, iter_texts, read_texts
    from topicfold.corpus.vectorizing import vectorize, words_of

__all__ = [
    "BlockMatrix",
    "BlockWriter",
    "Corpus",
    "DiskCorpus",
    "Texts",
    "cache_path",
    "complete_split",
    "corpora_path",
    "iter_texts",
    "load_docs",
    "load_folder",
    "open_disk_corpus",
    "read",
    "read_texts",
    "save_folder",
    "train_test_documents",
    "vectorize",
    "vectorize_file",
    "words_of",
    "write",
]

__getattr__ = lazy_names(
    __name__,
    {
        "BlockMatrix": "topicfold.corpus.blocks:BlockMatrix",
        "BlockWriter": "topicfold.corpus.blocks:BlockWriter",
        "Corpus": "topicfold.corpus.record:Corpus",
        "DiskCorpus": "topicfold.corpus.disk_corpus:DiskCorpus",
        "Texts": "topicfold.corpus.texts:Texts",
        "cache_path": "topicfold.corpus.cache:cache_path",
        "complete_split": "topicfold.corpus.splits:complete_split",
        "corpora_path": "topicfold.corpus.folder:corpora_path",
        "iter_texts": "topicfold.corpus.texts:iter_texts",
        "load_docs": "topicfold.corpus.builtin:load_docs",
        "load_folder": "topicfold.corpus.folder:load_folder",
        "open_disk_corpus": "topicfold.corpus.disk_corpus:open_disk_corpus",
        "read": "topicfold.corpus.files:read",
        "read_texts": "topicfold.corpus.texts:read_texts",
        "save_folder": "topicfold.corpus.folder:save_folder",
        "train_test_documents": "topicfold.corpus.splits:train_test_documents",
        "vectorize": "topicfold.corpus.vectorizing:vectorize",
        "vectorize_file": "topicfold.corpus.disk_corpus:vectorize_file",
        "words_of": "topicfold.corpus.vectorizing:words_of",
        "write": "topicfold.corpus.files:write",
    },
)
