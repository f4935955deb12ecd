# SPDX-License-Identifier: BSD-3-Clause
"""Left-to-right evaluation, for the models that have LDA's priors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from topicfold.metrics.left_to_right import left_to_right_log_likelihood
from topicfold.models.validation import check_counts


class LeftToRightMixin:
    """`left_to_right` for a model with `components_` and `doc_topic_prior_`."""

    components_: NDArray[np.floating]
    doc_topic_prior_: NDArray[np.float64]
    n_jobs: int | None

    def left_to_right(
        self,
        X: Any,
        *,
        n_particles: int = 20,
        n_sweeps: int = 1,
        random_state: int = 0,
    ) -> NDArray[np.float64]:
        """Return the log-likelihood of each document, by left-to-right sampling.

        Whole documents are scored, with α = `doc_topic_prior_`; see
        :func:`topicfold.metrics.left_to_right_log_likelihood`. Time grows with the
        square of a document's length.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            Whole counts of documents that were not fitted.
        n_particles : int, default=20
            Independent walks over each document; more of them, less noise.
        n_sweeps : int, default=1
            How often the tokens before a token are drawn anew.
        random_state : int, default=0
            Seed.

        Returns
        -------
        ndarray of shape (n_documents,)
            Natural logarithms; perplexity is ``exp(-sum / tokens)``.
        """
        check_is_fitted(self, "components_")
        counts = check_counts(self, X, reset=False)
        return left_to_right_log_likelihood(
            counts,
            self.components_,
            self.doc_topic_prior_,
            n_particles=n_particles,
            n_sweeps=n_sweeps,
            random_state=random_state,
            n_jobs=self.n_jobs,
        )
