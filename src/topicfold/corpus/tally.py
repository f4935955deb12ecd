# SPDX-License-Identifier: BSD-3-Clause
r"""Sums over documents, block by block; words of most documents that say nothing.

In long documents most words are in most documents, also those that the documents are
about: "war" is in more than half of the speeches of presidents. How often a word is
used tells more than whether it is. Let document :math:`d` have :math:`L_d` words, word
:math:`w` among them :math:`n_{dw}` times, and let :math:`p_w` be the word's share of
all words. A word that every document uses alike has counts close to a Poisson variable
of mean :math:`\mu_{dw} = p_w L_d`. If its rate differs between documents, its counts
vary more:

.. math:: \mathrm{Var}\, n_{dw} = \mu_{dw} + \alpha_w \mu_{dw}^2

:math:`\alpha_w`, the overdispersion of a negative binomial distribution, is the squared
coefficient of variation of the rate; it does not depend on how long documents are. With
every document weighted by :math:`1 / L_d`, :math:`D` documents and :math:`N` words in
all, moments give

.. math::
   \alpha_w = \frac{\sum_d n_{dw}^2 / L_d - p_w^2 N - p_w D}{p_w^2 N}

A common word is left out where :math:`\alpha_w < \sqrt{\alpha_0 \tilde\alpha}`: nearer,
on a logarithmic scale, to words that are spread evenly (:math:`\alpha_0`) than to
the median word of the corpus (:math:`\tilde\alpha`).
``benchmarks/results/common_words.md`` compares this rule with others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

# Words in more than this share of the documents are common.
COMMON = 0.5
# The overdispersion of words that are spread evenly.
EVEN = 0.25
# Words of fewer documents have no say in what the median word is.
_LEAST_DOCUMENTS = 10


class Tally:
    """Sizes of the blocks so far, and documents and total of every term."""

    def __init__(self, width: int = 0) -> None:
        self.sizes: list[tuple[int, int]] = []
        self.frequencies = np.zeros(width, np.int64)
        self.totals = np.zeros(width)

    @property
    def n_documents(self) -> int:
        """Number of documents."""
        return sum(rows for rows, _ in self.sizes)

    def widen(self, width: int) -> None:
        """Make room for more terms."""
        more = max(width - len(self.totals), 0)
        self.frequencies = np.pad(self.frequencies, (0, more))
        self.totals = np.pad(self.totals, (0, more))

    def add(self, block: sparse.csr_matrix) -> None:
        """Add the terms of a block."""
        self.widen(block.shape[1])
        width = len(self.totals)
        self.sizes.append((block.shape[0], block.nnz))
        self.frequencies += np.bincount(block.indices, minlength=width)
        self.totals += np.bincount(block.indices, block.data, width)

    def arrays(self) -> dict[str, Any]:
        """Return what an index says of its blocks and terms."""
        rows, nnz = np.array(self.sizes, dtype=np.int64).T.copy()
        return {
            "block_rows": rows,
            "block_nnz": nnz,
            "document_frequencies": self.frequencies,
            "term_totals": self.totals,
        }


class Spread(Tally):
    """Sums that also say how evenly words are spread.

    Examples
    --------
    >>> from scipy import sparse
    >>> spread = Spread()
    >>> spread.add(sparse.csr_matrix([[10, 40], [11, 0], [9, 0], [10, 40]]))
    >>> spread.overdispersion().round(2).tolist()
    [0.7, 0.15]
    """

    def __init__(self) -> None:
        super().__init__()
        self._squares = np.zeros(0)
        self._n_used = 0  # documents that have words

    def add(self, block: Any) -> None:
        """Add the documents of a CSR matrix; later ones may have more columns."""
        super().add(block)
        data = block.data.astype(np.float64)
        rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
        lengths = np.bincount(rows, data, block.shape[0])
        width = len(self.totals)
        self._squares = np.pad(self._squares, (0, width - len(self._squares)))
        self._squares += np.bincount(block.indices, data**2 / lengths[rows], width)
        self._n_used += int(np.count_nonzero(lengths))

    def overdispersion(self) -> NDArray[np.float64]:
        """Return the overdispersion α of every word: 0 or less where it is even."""
        share = self.totals / max(self.totals.sum(), 1.0)
        means = share * self.totals
        with np.errstate(invalid="ignore", divide="ignore"):
            found = (self._squares - means - share * self._n_used) / means
        return np.where(means > 0, found, 0.0)

    def even(self, common: float = COMMON, even: float = EVEN) -> NDArray[np.bool_]:
        """Return which words are common and spread evenly."""
        found = self.overdispersion()
        known = self.frequencies >= _LEAST_DOCUMENTS
        order = np.flatnonzero(known)
        order = order[np.argsort(found[order])]
        tokens = np.cumsum(self.totals[order])
        if not len(order):
            return np.zeros(len(found), bool)
        median = found[order[np.searchsorted(tokens, tokens[-1] / 2)]]
        bound = np.sqrt(even * max(median, even))
        return (self.frequencies > common * self._n_used) & (found < bound)
