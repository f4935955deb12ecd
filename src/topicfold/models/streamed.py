# SPDX-License-Identifier: BSD-3-Clause
"""Models that learn from a stream: `partial_fit`, and what is kept from batch to batch.

A model that cannot learn so says why (`not_streamed`).
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Annotated, Any, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from topicfold.core import saved
from topicfold.core.parameters import NOT_NEGATIVE, whole
from topicfold.learn.online import Stream
from topicfold.models.base import LearnedModel

_MOST_SEEN = 2.0**63
# What a model keeps of a stream.
STREAMED = {
    "topics": "components_",
    "totals": "topic_totals_",
    "word_frequencies": "word_frequencies_",
    "n_batches": "n_batches_",
    "n_documents": "n_documents_seen_",
    "tokens": "tokens_seen_",
}


class StreamedModel(LearnedModel):
    """A model that can learn batch by batch, with `partial_fit`.

    Parameters
    ----------
    learning_decay : float, default=0.7
        `partial_fit`: exponent κ of the step ``ρ_t = (t0 + t)^-κ``.
    learning_offset : float, default=10.0
        `partial_fit`: t0, damps the first steps.
    total_documents : int or None, default=None
        `partial_fit`: size of the stream; only scales statistics.
    """

    learning_decay: Annotated[float, Interval(Real, 0.5, 1, closed="right")]
    learning_offset: Annotated[float, NOT_NEGATIVE]
    total_documents: Annotated[int | None, whole(1)]

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None, **side_data: Any) -> Self:
        """Update the topics with a batch of documents.

        Sets `components_` but not `doc_topics_`: mixtures of a stream are not kept.
        Steps and sides that need the whole corpus are an error.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms)
            The batch.
        y : None
            Ignored.
        **side_data
            The data of the model's sides, each by its keyword; their form is learned
            from the first batch.
        """
        self._check_stream()
        X = self._counts(X, reset=not hasattr(self, "components_"), blocks=True)
        self._partial_fit_counts(X, self._stream_sides(X, side_data))
        return self

    def _check_stream(self) -> None:
        """Refuse options that have no meaning batch by batch."""

    def _stream_sides(self, X: Any, side_data: Mapping[str, Any]) -> Any:
        """Return what is known of the documents of a batch; None if nothing is."""
        if side_data:
            raise TypeError(
                f"{type(self).__name__} has no sides, but was given "
                f"{next(iter(side_data))}"
            )

    def _partial_fit_counts(self, X: Any, sides: Any) -> None:
        """Learn from a batch of checked counts, and what is known of its documents."""
        raise NotImplementedError

    def _stream(self, X: Any, init: Any) -> Stream:
        """Return what a stream has taught before the batch X.

        A corpus that was fitted counts as if it had come in batches like this.
        """
        stream = Stream(self.learning_decay, self.learning_offset, self.total_documents)
        for name, attribute in STREAMED.items():
            if hasattr(self, attribute):
                setattr(stream, name, getattr(self, attribute))
        lengths = getattr(self, "doc_lengths_", np.zeros(0))
        if not hasattr(self, "n_batches_"):
            stream.n_documents, stream.tokens = len(lengths), float(lengths.sum())
            stream.n_batches = len(lengths) // X.shape[0]
        if not len(stream.totals) and len(lengths):
            theta = self.doc_topics_
            stream.totals = np.einsum("d,dk->k", lengths, theta, dtype=np.float64)
        stream.begin(X, self._size, init, self.random_state)
        return stream

    _saved = saved.forms(
        n_batches_=saved.number(0, _MOST_SEEN, whole=True),
        n_documents_seen_=saved.number(0, _MOST_SEEN, whole=True),
        tokens_seen_=saved.number(0, _MOST_SEEN),
    )

    def _keep_stream(self, stream: Stream) -> None:
        """Keep what a stream has taught."""
        for name, attribute in STREAMED.items():
            setattr(self, attribute, getattr(stream, name))


def not_streamed(reason: str) -> Any:
    """Return a `partial_fit` that says why the model has none."""

    def refuse(model: Any) -> Any:
        name = type(model).__name__
        raise AttributeError(f"{name} has no partial_fit: {reason}. Use fit.")

    return property(refuse, doc=f"Not defined: {reason}.")
