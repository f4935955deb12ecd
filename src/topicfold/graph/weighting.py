# SPDX-License-Identifier: BSD-3-Clause
"""From counts to rows whose sum of products or of minima is the similarity.

``cosine`` uses L2-normalised tf-idf rows, ``intersection`` L1-normalised tf-idf rows
(DTM eq. 21), ``kl`` the L1-normalised counts of the query and, of the neighbour,
``log(max(p, floor) / floor)``: since ``KL = sum p log p - log floor - sum p log(...)``
the neighbours of a document by divergence are those with the largest sum of products.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

SIMILARITIES = ("cosine", "intersection", "kl")
KL_FLOOR = 1e-4  # probability, under a neighbour, of a word that it lacks


@dataclass(frozen=True)
class Weighting:
    """Term weights of one of the named similarities, fitted on the index documents.

    Parameters
    ----------
    similarity : {"cosine", "intersection", "kl"}
        Name of the similarity.
    idf : ndarray of shape (n_terms,) or None
        Smooth inverse document frequencies; None for ``kl``.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> counts = sp.csr_array([[2.0, 0.0], [1.0, 1.0]])
    >>> weighting = Weighting.fit(counts, "intersection")
    >>> weighting.documents(counts).toarray().round(3).tolist()
    [[1.0, 0.0], [0.416, 0.584]]
    """

    similarity: str
    idf: NDArray[np.float64] | None

    @classmethod
    def fit(cls, counts: sp.csr_array, similarity: str) -> Weighting:
        """Learn the term weights of `counts` (as scikit-learn's TfidfTransformer)."""
        if similarity == "kl":
            return cls(similarity, None)
        n_documents, n_terms = counts.shape
        frequency = np.bincount(counts.indices, minlength=n_terms)
        return cls(similarity, np.log((1 + n_documents) / (1 + frequency)) + 1.0)

    @property
    def take_min(self) -> bool:
        """Whether the similarity is a sum of minima instead of products."""
        return self.similarity == "intersection"

    @property
    def symmetric(self) -> bool:
        """Whether `queries` and `documents` give the same rows and scores are final."""
        return self.similarity != "kl"

    def queries(self, counts: sp.csr_array) -> sp.csr_array:
        """Return the rows of documents that ask for neighbours."""
        values = counts.data if self.idf is None else counts.data * self._of(counts)
        lengths = np.diff(counts.indptr)
        rows = np.repeat(np.arange(counts.shape[0]), lengths)
        powers = values * values if self.similarity == "cosine" else values
        norms = np.bincount(rows, weights=powers, minlength=counts.shape[0])
        if self.similarity == "cosine":
            norms = np.sqrt(norms)
        values = values / np.repeat(norms, lengths)
        return sp.csr_array(
            (values, counts.indices, counts.indptr), shape=counts.shape, copy=False
        )

    def documents(self, counts: sp.csr_array) -> sp.csr_array:
        """Return the rows of documents that can be neighbours."""
        rows = self.queries(counts)
        if self.similarity == "kl":
            rows.data = np.log(np.maximum(rows.data, KL_FLOOR) / KL_FLOOR)
        return rows

    def similarities(
        self, queries: sp.csr_array, scores: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Turn scores of queries (rows) into similarities; 0 stays 0.

        ``kl`` gives ``exp(-KL)``, between 0 and 1.
        """
        if self.similarity != "kl":
            return scores
        rows = np.repeat(np.arange(queries.shape[0]), np.diff(queries.indptr))
        best = np.bincount(
            rows,
            weights=queries.data * np.log(queries.data / KL_FLOOR),
            minlength=queries.shape[0],
        )
        return np.where(
            scores > 0, np.exp(np.minimum(scores - best[:, None], 0.0)), 0.0
        )

    def _of(self, counts: sp.csr_array) -> NDArray[np.float64]:
        if self.idf is None:  # pragma: no cover - callers test it
            return np.ones(counts.nnz)
        return self.idf[counts.indices]
