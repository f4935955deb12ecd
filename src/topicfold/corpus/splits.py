# SPDX-License-Identifier: BSD-3-Clause
"""Splits for honest scores: tokens within documents, and documents themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from topicfold.core.counts import check_counts
from topicfold.corpus.record import Corpus
from topicfold.exceptions import DataError

DEFAULT_TEST_SIZE = 0.25
# NumPy's hypergeometric draw loses precision above this number of tokens.
_MOST_TOKENS = 10**9


def complete_split(
    X: Any,
    *,
    fraction: float = 0.5,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[Any, Any]:
    """Split the tokens of every document into an observed and a held-out part.

    For document completion: fold in on the observed part, score the held-out part.
    Counts (integers, of any type) are thinned without replacement: a document of n
    tokens keeps exactly ``floor(fraction * n + 1/2)`` of them, each choice of tokens
    equally likely (multivariate hypergeometric). So a single token is not held out at
    the default fraction. Documents of 10⁹ tokens and more are thinned by a binomial
    draw for each word instead, with the same mean. Weights that are not integers cannot
    be thinned: their non-zeros are split instead, ``floor(fraction * nnz + 1/2)`` of
    each document's.

    Parameters
    ----------
    X : sparse matrix of shape (n_documents, n_terms)
        Counts or weights.
    fraction : float, default=0.5
        Observed share, in (0, 1).
    random_state : int, RandomState or None, default=None
        Seed; the same seed gives the same split.

    Returns
    -------
    observed, held_out : CSR of the shape and type of X
        Their sum is exactly X.

    Notes
    -----
    Time and memory are O(nnz), whatever the size of the counts.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[2, 4, 0], [0, 0, 1]])
    >>> observed, held_out = complete_split(X, random_state=0)
    >>> observed.sum(axis=1), held_out.sum(axis=1)
    (array([3, 1]), array([3, 0]))
    """
    if not 0 < fraction < 1:
        raise DataError(f"fraction={fraction} must be between 0 and 1, both excluded.")
    X = _checked_csr(X)
    rng = check_random_state(random_state)
    if X.dtype.kind in "biu" or not np.mod(X.data, 1).any():
        _check_exact(X)
        kept = _thin_counts(X, fraction, rng)
        data = X.data.astype(np.int64)
        return _like(X, kept), _like(X, data - kept)
    chosen = _choose_entries(X, fraction, rng)
    return _like(X, np.where(chosen, X.data, 0)), _like(X, np.where(chosen, 0, X.data))


def train_test_documents(
    corpus: Corpus,
    *,
    test_size: int | float | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[Corpus, Corpus]:
    """Split a corpus into training and test documents.

    Without `test_size` the corpus's own split is honoured where it has one (documents
    marked ``"val"`` are in neither part). Otherwise documents are drawn at random, in
    proportion to the classes (systematic sampling over the sorted labels, so each class
    has its share up to one document; no class is too small).

    Parameters
    ----------
    corpus : Corpus
        The documents.
    test_size : int or float, optional
        Number or share of test documents. By default the corpus's own split, or 0.25.
    random_state : int, RandomState or None, default=None
        Seed of the random draw.

    Returns
    -------
    train, test : Corpus
        Documents in their order of `corpus`, on the same vocabulary.

    Examples
    --------
    >>> corpus = Corpus(np.eye(8, dtype=int), list("abcdefgh"), labels=list("xxxxyyyy"))
    >>> train, test = train_test_documents(corpus, random_state=0)
    >>> train.n_documents, test.labels
    (6, ['x', 'y'])
    """
    if test_size is None and corpus.split is not None:
        marks = np.asarray(corpus.split)
        train, test = marks == "train", marks == "test"
        if not train.any() or not test.any():
            raise DataError(
                f"the split of corpus {corpus.name!r} has {train.sum()} training and "
                f"{test.sum()} test documents. Give test_size for a random split."
            )
        return corpus.select(train), corpus.select(test)
    n = corpus.n_documents
    n_test = _test_count(DEFAULT_TEST_SIZE if test_size is None else test_size, n)
    rng = check_random_state(random_state)
    order = np.lexsort((rng.random_sample(n), corpus.encoded_labels()[0]))
    places = (np.arange(n_test) + rng.random_sample()) * (n / n_test)
    chosen = np.zeros(n, dtype=bool)
    chosen[order[np.minimum(places.astype(np.int64), n - 1)]] = True
    return corpus.select(~chosen), corpus.select(chosen)


def _checked_csr(X: Any) -> Any:
    if not sparse.issparse(X):
        raise DataError(
            f"X is a {type(X).__name__}. Give a SciPy sparse matrix, for instance "
            "scipy.sparse.csr_array(X)."
        )
    csr = sparse.csr_array if isinstance(X, sparse.sparray) else sparse.csr_matrix
    return csr(check_counts(X, "X"))


def _check_exact(X: Any) -> None:
    largest = int(X.data.max()) if X.nnz else 0
    limit = 2**63 - 1
    if X.dtype.kind == "f":
        limit = 2 ** (np.finfo(X.dtype).nmant + 1)
    if largest > limit:
        raise DataError(
            f"X has a count of {largest}, too large to be split exactly as {X.dtype}. "
            "Convert X to int64."
        )


def _half_up(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.floor(values + 0.5).astype(np.int64)


def _thin_counts(
    X: Any, fraction: float, rng: np.random.RandomState
) -> NDArray[np.int64]:
    """Draw the observed part of every count; the j-th words of all documents at once.

    A multivariate hypergeometric draw is a chain of plain ones: of the tokens still to
    be kept, how many are of this word, given what words are left in the document.
    """
    counts = X.data.astype(np.int64)
    kept = np.zeros_like(counts)
    totals = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
    lengths = np.diff(X.indptr)
    huge = totals >= _MOST_TOKENS
    entries = np.flatnonzero(np.repeat(huge, lengths))
    kept[entries] = rng.binomial(counts[entries], fraction)

    # RandomState refuses a draw of zero tokens, a Generator does not.
    generator = np.random.default_rng(rng.randint(0, 2**32, 4, dtype=np.uint32))
    # Longest documents first: those that have a j-th word are then a prefix.
    rows = np.flatnonzero(~huge & (lengths > 0))
    rows = rows[np.argsort(-lengths[rows], kind="stable")]
    left = totals[rows].astype(np.int64)
    wanted = _half_up(fraction * totals[rows])
    starts = X.indptr[rows].astype(np.int64)
    shortest_first = lengths[rows][::-1]
    for j in range(int(lengths[rows[0]]) if len(rows) else 0):
        alive = len(rows) - int(np.searchsorted(shortest_first, j, side="right"))
        place = starts[:alive] + j
        here = counts[place]
        left[:alive] -= here
        drawn = generator.hypergeometric(here, left[:alive], wanted[:alive])
        wanted[:alive] -= drawn
        kept[place] = drawn
    return kept


def _choose_entries(
    X: Any, fraction: float, rng: np.random.RandomState
) -> NDArray[np.bool_]:
    lengths = np.diff(X.indptr)
    owner = np.repeat(np.arange(X.shape[0]), lengths)
    order = np.lexsort((rng.random_sample(X.nnz), owner))
    # Entries are grouped by row already, so positions in the order are row-relative.
    rank = np.arange(X.nnz) - np.repeat(X.indptr[:-1], lengths)
    chosen = np.zeros(X.nnz, dtype=bool)
    chosen[order] = rank < np.repeat(_half_up(fraction * lengths), lengths)
    return chosen


def _like(X: Any, data: NDArray[Any]) -> Any:
    part = type(X)(
        (data.astype(X.dtype), X.indices.copy(), X.indptr.copy()), shape=X.shape
    )
    part.eliminate_zeros()
    return part


def _test_count(test_size: int | float, n: int) -> int:
    share = not isinstance(test_size, int | np.integer)
    count = int(np.floor(test_size * n + 0.5)) if share else int(test_size)
    if share and not 0 < test_size < 1:
        raise DataError(f"test_size={test_size} as a share must be between 0 and 1.")
    if not 1 <= count <= n - 1:
        raise DataError(
            f"test_size={test_size} of {n} documents gives {count} test documents; "
            "both parts need at least one."
        )
    return count
