# SPDX-License-Identifier: BSD-3-Clause
"""Fully sparse topic models: sparse mixtures by Frank-Wolfe, sparse topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from topicfold.core.typing import Array
from topicfold.infer.frank_wolfe import frank_wolfe
from topicfold.learn import Callback
from topicfold.learn.fstm import (
    FstmLearning,
    InferenceOptions,
    dense_mixtures,
    expected_counts,
)
from topicfold.models.streamed import StreamedModel


class FSTM(StreamedModel):
    """Fully sparse topic model: every document has few topics, the rest exactly zero.

    ``p(w|d) = Σ_k θ_dk φ_kw`` as in PLSA, but a document's mixture is found by
    Frank-Wolfe (docs/math.md §6), which gives it few topics, and topics are ``φ_kw ∝
    Σ_d X_dw θ_dk``: a word that no document of a topic has is not in it. Time O(nnz·K)
    per iteration of inference, memory O(nnz + (D + V)·K).

    Parameters
    ----------
    pairwise : bool, default=True
        Whether an iteration of inference may move mass from one topic to another;
        False is the paper's algorithm, which needs more iterations and topics.
    doc_tol : float, default=1e-6
        Relative improvement of a document's log-likelihood that ends its inference.
    device : {"cpu", "cuda"}, default="cpu"
        Where inference runs; ``"cuda"`` needs an NVIDIA GPU and CuPy
        (``pip install 'topicfold[gpu]'``). Topics are updated on the CPU.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features_in_)
        Topics φ, rows on the simplex, mostly zeros. A topic that no document uses any
        more keeps its last words.
    doc_topics_ : ndarray of shape (n_documents, n_components)
        Mixtures θ of the training documents; most entries are exactly 0.
    objective_history_ : list of float
        Log-likelihood at the start and after each iteration. It rises in practice, but
        no theorem guarantees it: the update of the topics maximises a lower bound of
        it.

    See Also
    --------
    TwoPhase : topics that distinguish classes, from this model.

    References
    ----------
    K. Than & T. B. Ho (2012). Fully sparse topic models. ECML PKDD.
    doi:10.1007/978-3-642-33460-3_37

    Examples
    --------
    >>> import numpy as np
    >>> from topicfold import FSTM
    >>> X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]])
    >>> model = FSTM(n_components=2, random_state=0).fit(X)
    >>> model.transform(X).max(axis=1)
    array([1., 1., 1., 1.], dtype=float32)
    """

    _weighs_documents: ClassVar[bool] = True
    max_doc_updates = 1000  # `doc_tol` ends almost all documents before
    pairwise: bool

    def __init__(
        self,
        n_components: int = 10,
        *,
        pairwise: bool = True,
        learning_decay: float = 0.7,
        learning_offset: float = 10.0,
        total_documents: int | None = None,
        init: Any = "documents",
        max_iter: int = 100,
        tol: float = 1e-4,
        doc_tol: float = 1e-6,
        random_state: Any = None,
        device: str = "cpu",
        n_jobs: int | None = None,
        callbacks: Sequence[Callback] | None = None,
        verbose: bool = False,
    ) -> None:
        self._store_parameters(locals())

    def _fit_counts(self, X: Any, y: Any) -> None:
        rng = check_random_state(self.random_state)
        topics = self._initial_topics(X, self.init, rng)
        self._store_corpus(X)
        self._learn(FstmLearning(X, topics, self._inference()))

    def _partial_fit_counts(self, X: Any, sides: Any) -> None:
        stream = self._stream(X, self.init)
        topics = np.ascontiguousarray(stream.topics.T, dtype=X.dtype)
        counts, _ = expected_counts(X, topics, self._inference())
        stream.blend(X, np.ascontiguousarray(counts.T), prior=0.0)
        self._keep_stream(stream)

    def sparse_transform(self, X: Any) -> sparse.csr_array:
        """Return the same mixtures as `transform` as a sparse array.

        Returns
        -------
        csr_array of shape (n_documents, n_components)
            The topics a document has; memory is linear in their number.
        """
        check_is_fitted(self, "components_")
        counts = self._counts(X, allow_empty=True)
        topics = self._word_major(counts.dtype)
        return frank_wolfe(counts, topics, **self._inference()._asdict())

    def _mixtures(self, X: Any, known: Any = None) -> Array:
        return dense_mixtures(X, self._word_major(X.dtype), self._inference())

    def _word_major(self, dtype: Any) -> Array:
        return np.ascontiguousarray(self.components_.T, dtype=dtype)

    def _inference(self) -> InferenceOptions:
        return InferenceOptions(
            self.pairwise, self.max_doc_updates, self.doc_tol, self.n_jobs, self.device
        )
