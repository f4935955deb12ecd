# SPDX-License-Identifier: BSD-3-Clause
"""Documents in, counts out: readers, vectorising, the built-in corpus, splits."""

from topicfold.corpus.cache import cache_path
from topicfold.corpus.docs import load_docs
from topicfold.corpus.folder import corpora_path, load_folder
from topicfold.corpus.readers import Texts, read_texts
from topicfold.corpus.record import Corpus
from topicfold.corpus.splits import complete_split, train_test_documents
from topicfold.corpus.vectorizing import vectorize, words_of

__all__ = [
    "Corpus",
    "Texts",
    "cache_path",
    "complete_split",
    "corpora_path",
    "load_docs",
    "load_folder",
    "read_texts",
    "train_test_documents",
    "vectorize",
    "words_of",
]
