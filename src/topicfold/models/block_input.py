# SPDX-License-Identifier: BSD-3-Clause
"""The door for corpora in blocks: on disk, as files, or as Dask collections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from topicfold.corpus.block_corpus import BlockCorpus
from topicfold.exceptions import DataError

_SUFFIXES = (".npz", ".safetensors")


def arrives_in_blocks(X: Any) -> bool:
    """Whether X is a corpus in blocks, block files, or a Dask collection.

    Examples
    --------
    >>> arrives_in_blocks(["part-0.npz", "part-1.npz"])
    True
    >>> arrives_in_blocks(["a text", "another"])
    False
    """
    if isinstance(X, BlockCorpus) or hasattr(X, "__dask_graph__"):
        return True
    return (
        isinstance(X, list | tuple)
        and len(X) > 0
        and all(
            isinstance(file, Path)
            or (isinstance(file, str) and file.endswith(_SUFFIXES))
            for file in X
        )
    )


def check_blocks(
    estimator: BaseEstimator, X: Any, *, reset: bool, allowed: bool
) -> BlockCorpus:
    """Return X as a corpus in blocks that fits the estimator."""
    if not allowed:
        refuse_blocks(X, type(estimator).__name__)
    words = None if reset else getattr(estimator, "feature_names_in_", None)
    if isinstance(X, BlockCorpus):
        corpus = X
    elif hasattr(X, "__dask_graph__"):
        from topicfold.engine.dask import distribute

        corpus = distribute(X, vocabulary=None if words is None else list(words))
    else:
        from topicfold.corpus.blocks import BlockMatrix

        corpus = BlockMatrix.from_files(X)
    # For its checks of the number of columns; it would make the names forgotten.
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        del estimator.feature_names_in_
    try:
        validate_data(estimator, corpus, reset=reset, skip_check_array=True)
    finally:
        if names is not None:
            estimator.feature_names_in_ = names
    if reset:
        if names is not None:
            del estimator.feature_names_in_
        names = None
        if corpus.vocabulary is not None:
            names = np.asarray(corpus.vocabulary, dtype=object)
    elif names is not None and corpus.vocabulary is not None:
        _check_words(names, corpus.vocabulary, type(estimator).__name__)
    if names is not None:
        estimator.feature_names_in_ = names
    return corpus


def refuse_blocks(X: Any, who: str) -> None:
    """Raise an error if X is in blocks; `who` needs all documents in one place."""
    if arrives_in_blocks(X):
        raise DataError(
            f"{who} needs all documents in one place (for their graph, or for a split "
            "of each), but X comes in blocks. PLSA, LDA, OrthogonalPLSA and FSTM learn "
            "from blocks; for others give a sample that fits into memory as a CSR "
            "matrix (of a BlockMatrix: blocks[rows])."
        )


def _check_words(names: Any, vocabulary: list[str], who: str) -> None:
    different = [w for w, (a, b) in enumerate(zip(names, vocabulary)) if a != b]  # noqa: B905
    if different:
        column = different[0]
        raise DataError(
            f"The words of X are not those that {who} was fitted with: column {column} "
            f"is {vocabulary[column]!r}, not {names[column]!r}. Vectorise with the "
            "vocabulary of the fit."
        )
