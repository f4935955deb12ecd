# SPDX-License-Identifier: BSD-3-Clause
"""Counting the words of a Dask bag or dataframe of texts, block by block.

Two passes over the texts: one finds the words and in how many documents they are,
the other counts the words that are kept. They are cut as by
:func:`topicfold.corpus.vectorize` and kept by its defaults: words of at least
`MIN_DOCUMENTS` documents and of at most `MAX_SHARE` of all. For other choices make
the matrix yourself, for instance ``bag.map_partitions(...)`` with a vocabulary of
your own, or give `vocabulary` to :func:`topicfold.engine.dask.distribute`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from scipy import sparse

from topicfold.corpus.tokens import words_of
from topicfold.corpus.vectorizing import vectorize
from topicfold.engine.dask.tasks import submit_all, sum_on_workers
from topicfold.exceptions import DataError

MIN_DOCUMENTS = 2
MAX_SHARE = 0.5
TEXT_COLUMN = "text"


def text_blocks(
    client: Any, X: Any, vocabulary: list[str] | None
) -> tuple[list[Any], list[str]]:
    """Return futures of CSR blocks, one per partition of X, and their words."""
    partitions = client.compute(_partitions(X))
    if vocabulary is None:
        counted = submit_all(client, _count_documents, [(p,) for p in partitions])
        frequencies, n_documents = sum_on_workers(client, counted)
        vocabulary = sorted(
            word
            for word, documents in frequencies.items()
            if MIN_DOCUMENTS <= documents <= MAX_SHARE * n_documents
        )
        if not vocabulary:
            raise DataError(
                f"The {n_documents} texts have no word in at least {MIN_DOCUMENTS} "
                f"documents and in at most {MAX_SHARE:.0%} of them. Give a "
                "vocabulary: distribute(X, vocabulary=words)."
            )
    args = [(partition, vocabulary) for partition in partitions]
    return submit_all(client, _count_words, args), vocabulary


def _partitions(X: Any) -> list[Any]:
    columns = getattr(X, "columns", None)
    if columns is not None and getattr(X, "ndim", 1) == 2:
        if TEXT_COLUMN not in columns:
            raise DataError(
                f"The dataframe has the columns {list(columns)[:10]}; give the one "
                f"with the texts: frame['…'], or call it {TEXT_COLUMN!r}."
            )
        X = X[TEXT_COLUMN]
    if not hasattr(X, "to_delayed"):
        raise DataError(
            f"{type(X).__name__} is not a known collection of texts or counts: give a "
            "dask array of CSR chunks, a bag, a series or a dataframe of texts."
        )
    return list(X.to_delayed())


def _texts(partition: Any) -> list[str]:
    texts = list(partition)
    for text in texts:
        if not isinstance(text, str):
            raise DataError(
                f"The collection holds {type(text).__name__}, not texts. Give strings, "
                "or a dask array of counts with CSR chunks."
            )
    if not texts:
        raise DataError(
            "A partition of the texts is empty: it has no documents. Repartition the "
            "collection: x.repartition(npartitions=n)."
        )
    return texts


def _count_documents(partition: Any) -> tuple[Counter[str], int]:
    texts = _texts(partition)
    counter: Counter[str] = Counter()
    for text in texts:
        counter.update(set(words_of(text)))
    return counter, len(texts)


def _count_words(partition: Any, vocabulary: list[str]) -> sparse.csr_matrix:
    counts, _ = vectorize(_texts(partition), vocabulary=vocabulary, dtype=np.float32)
    return sparse.csr_matrix(counts)
