# SPDX-License-Identifier: BSD-3-Clause
"""Two levels of topics: topics of words, and super-topics of topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from topicfold.core import saved
from topicfold.core.counts import normalize_rows, row_sums
from topicfold.core.parameters import MAX_TOPICS, whole
from topicfold.core.typing import Array
from topicfold.infer.fold_in import fold_in
from topicfold.learn import Callback
from topicfold.learn.loop import part_of_more, quiet
from topicfold.models.lda import LDA, SidedLDA

# Passes of the second LDA. Of simulated super-topics five find as much as more do; in
# real corpora further ones lead away from the subjects of the words
# (benchmarks/results/open_numbers.md).
SUPER_PASSES = 5


class PachinkoLDA(SidedLDA):
    """Topics of words and super-topics of topics: which topics occur together.

    A document is a mixture of super-topics, a super-topic one of topics, a topic one of
    words. LDA finds the topics, and then a second LDA, on the expected number N_dk of
    tokens that a document has of each topic, the super-topics. It starts from the
    mixtures of an LDA of the words with as many topics as there are super-topics.
    The paper's model learns both at once; here the topics are those of LDA.

    Parameters
    ----------
    n_supertopics : int, default=5
        Number of super-topics.

    Attributes
    ----------
    super_topics_ : ndarray of shape (n_supertopics, n_components)
        Topics of each super-topic, rows on the simplex.
    doc_super_topics_ : ndarray of shape (n_documents, n_supertopics)
        Mixtures of super-topics of the training documents.
    super_prior_ : ndarray of shape (n_supertopics,)
        α of the second LDA.

    See Also
    --------
    CorrelatedLDA : correlations of topics, two at a time.
    TopicTree : topics in a tree.

    References
    ----------
    After W. Li, A. McCallum (2006). Pachinko allocation: DAG-structured mixture models
    of topic correlations. ICML.

    Examples
    --------
    >>> from topicfold import PachinkoLDA
    >>> X = [[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]]
    >>> model = PachinkoLDA(2, n_supertopics=2, random_state=0).fit(X)
    >>> model.super_topics_.shape, model.transform_super(X).shape
    ((2, 2), (4, 2))
    """

    sides = None
    _takes_blocks = False
    _binds_topics = "which topics belong to which super-topic"
    n_supertopics: Annotated[int, whole(1, MAX_TOPICS)]

    def __init__(
        self,
        n_components: int = 10,
        *,
        n_supertopics: int = 5,
        doc_topic_prior: Any = None,
        topic_word_prior: float | None = None,
        learn_priors: bool | None = None,
        init: Any = None,
        max_iter: int = 200,
        tol: float | None = None,
        doc_tol: float = 1e-4,
        random_state: Any = None,
        device: str = "cpu",
        n_jobs: int | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: bool = False,
    ) -> None:
        self._store_parameters(locals())

    def _fit_counts(self, counts: Any, y: Any) -> None:
        super()._fit_counts(counts, y)
        lengths = row_sums(counts)
        of_topics = _topic_counts(self.doc_topics_, lengths)
        options = {"random_state": self.random_state, "n_jobs": self.n_jobs}
        with quiet(), part_of_more():
            coarse = LDA(self.n_supertopics, **options).fit(counts)
            start = normalize_rows(np.asarray(of_topics.T @ coarse.doc_topics_).T)
            above = LDA(
                self.n_supertopics, init=start, max_iter=SUPER_PASSES, **options
            ).fit(of_topics)
        self.super_topics_ = above.components_
        self.doc_super_topics_ = above.doc_topics_
        self.super_prior_ = above.doc_topic_prior_

    def transform_super(self, X: Any) -> Array:
        """Return the mixtures of super-topics of documents, rows on the simplex.

        Returns
        -------
        ndarray of shape (n_documents, n_supertopics)
            Deterministic, and the same for a document whatever batch it is in.
        """
        check_is_fitted(self, "super_topics_")
        X = self._counts(X, allow_empty=True)
        theta = self._mixtures(X)
        lengths = row_sums(X)
        return fold_in(
            _topic_counts(theta, lengths),
            self.super_topics_,
            prior=self.super_prior_,
            dtype=X.dtype,
            n_jobs=self.n_jobs,
        )

    _needed_state = (*LDA._needed_state, "super_topics_", "super_prior_")

    _saved = saved.forms(
        super_topics_=saved.shares("SK"),
        doc_super_topics_=saved.shares("DS"),
        super_prior_=saved.numbers("S", 0),
    )

    def _sizes(self) -> dict[str, int]:
        return {**super()._sizes(), "S": self.n_supertopics}


def _topic_counts(theta: Array, lengths: Array) -> sparse.csr_matrix:
    """Return N_dk, the tokens of each document by topic."""
    return sparse.csr_matrix(theta * lengths[:, None].astype(theta.dtype))
