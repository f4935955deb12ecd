# SPDX-License-Identifier: BSD-3-Clause
"""Documents in, counts out: readers, vectorising, the built-in corpus, splits."""

from topicfold.corpus.cache import cache_path
from topicfold.corpus.docs import load_docs
from topicfold.corpus.files import read, write
from topicfold.corpus.folder import corpora_path, load_folder, save_folder
from topicfold.corpus.readers import Texts, iter_texts, read_texts
from topicfold.corpus.record import Corpus
from topicfold.corpus.splits import complete_split, train_test_documents
from topicfold.corpus.streaming import DiskCorpus, open_disk_corpus, vectorize_file
from topicfold.corpus.vectorizing import vectorize, words_of

__all__ = [
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
