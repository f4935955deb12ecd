# SPDX-License-Identifier: BSD-3-Clause
"""Words of documents as rows of tf-idf, and of entities as sketches of these."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import normalize

from topicfold.core.counts import smooth_idf
from topicfold.engine.protocol import ranges_of

Matrix = NDArray[np.float64]
# Numbers of a sketch of words.
SKETCH = 512
# Documents whose words are processed together.
ROWS_AT_ONCE = 4096


def word_weights(X: Any, idf: Matrix) -> sparse.csr_matrix:
    """Return rows of tf-idf of length one, tf = log(1 + count)."""
    rows = sparse.csr_matrix(X, dtype=np.float64, copy=True)
    rows.data = np.log1p(rows.data) * idf[rows.indices]
    return normalize(rows)


def word_sketches(
    counts: Any, members: NDArray[np.int64], n_entities: int
) -> NDArray[np.float32]:
    """Return sketches of the words of entities' documents, rows of length one.

    Rows of tf-idf of length one are summed over an entity's documents. Each word
    has one of the coordinates, drawn, up or down: cosines of the sketches are those of
    the sums, but for a noise of about ``1 / √SKETCH``.
    """
    n_documents, n_terms = counts.shape
    idf = smooth_idf(counts)
    rng = np.random.RandomState(0)
    places = rng.randint(SKETCH, size=n_terms)
    signs = rng.choice([-1.0, 1.0], n_terms)
    entries = signs, (np.arange(n_terms), places)
    sketch = sparse.csr_matrix(entries, shape=(n_terms, SKETCH))
    entities, documents = members.T
    found = np.zeros((n_entities, SKETCH))
    for rows in ranges_of(n_documents, ROWS_AT_ONCE):
        own = (word_weights(counts[rows], idf) @ sketch).toarray()
        here = (documents >= rows.start) & (documents < rows.stop)
        np.add.at(found, entities[here], own[documents[here] - rows.start])
    sizes = np.linalg.norm(found, axis=1, keepdims=True)
    return np.asarray(found / np.maximum(sizes, 1e-12), dtype=np.float32)
