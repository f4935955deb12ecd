# SPDX-License-Identifier: BSD-3-Clause
"""Topics that people describe in advance: a name or a short text each.

A description has a vector, as the documents have. Walks along the documents
(``graph.walks``) give it a place, and a topic starts from the words of the documents
that are nearer to its place than to any other. Topics beyond the described ones start
from clusters of the documents that are near no description.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from topicfold.core.typing import Array
from topicfold.exceptions import DataError
from topicfold.graph.embedding import EmbeddingIndex, Rows, check_embeddings
from topicfold.graph.encoding import encode
from topicfold.graph.walks import places_of, places_of_new, walks_of
from topicfold.learn.initial import CLUSTER_BACKGROUND, place_clusters

_HOW = (
    'Give texts such as about=["space travel", "medicine"] with an encoder, or vectors '
    'such as about={"space": [0.1, …]} by the encoder of embeddings=.'
)


class Descriptions(NamedTuple):
    """Names of described topics, and a vector for each."""

    names: list[str]
    vectors: Rows


def read_about(about: Any, encoder: Any, n_dimensions: int | None) -> Descriptions:
    """Return what people said topics are about, or say what is wrong with it.

    Parameters
    ----------
    about : sequence of str, or mapping of str to str or vector
        Descriptions, which are the names too; or descriptions by name.
    encoder : object or None
        What makes vectors of texts.
    n_dimensions : int or None
        Length of the documents' vectors.
    """
    if isinstance(about, str) or not isinstance(about, Mapping | Sequence):
        raise DataError(f"about is {about!r}. {_HOW}")
    pairs = about if isinstance(about, Mapping) else {text: text for text in about}
    names, values = [str(name).strip() for name in pairs], list(pairs.values())
    if not names or len(pairs) < len(about) or "" in names:
        raise DataError(f"about needs different names, at least one. {_HOW}")
    texts = [isinstance(value, str) for value in values]
    if any(texts) and not all(texts):
        raise DataError(f"about has texts and vectors. Give one kind. {_HOW}")
    if all(texts) and encoder is None:
        raise DataError(
            f"about has texts, and there is no encoder to make vectors of them. {_HOW}"
        )
    made = encode(encoder, values) if all(texts) else values
    try:
        return Descriptions(names, check_embeddings(made, len(names), n_dimensions))
    except DataError as error:
        raise DataError(f"the vectors of about cannot be used: {error}") from error


def n_described(about: Any, n_topics: int | None) -> int | None:
    """Return how many topics there are: as many as asked for, or as described."""
    if about is None or n_topics is not None or not hasattr(about, "__len__"):
        return n_topics
    return max(len(about), 1)


@contextmanager
def started_from(
    about: Any, encoder: Any, model: Any, counts: Any, embeddings: Any
) -> Iterator[None]:
    """Let a fit inside start from descriptions; its topics have their names."""
    if about is None:
        yield
        return
    parameters = model.get_params(deep=False)
    if "init" not in parameters:
        raise DataError(
            f"the model {type(model).__name__} does not start from topics, so about= "
            'has no effect on it. Use for instance "lda" or "ltm".'
        )
    if embeddings is None:
        raise DataError(
            "about= compares descriptions with documents by vectors, and the documents "
            f"have none. {_HOW}"
        )
    width = np.shape(embeddings)[-1] if np.ndim(embeddings) == 2 else None
    found = read_about(about, encoder, width)
    n_topics = parameters["n_components"]
    if n_topics < len(found.names):
        raise DataError(
            f"about describes {len(found.names)} topics, and n_topics is {n_topics}. "
            "Give at least as many, or leave n_topics out."
        )
    start = described_start(
        counts,
        embeddings,
        found,
        n_topics,
        random_state=parameters.get("random_state"),
        n_jobs=parameters.get("n_jobs"),
    )
    model.set_params(init=start)
    try:
        yield
    finally:
        model.set_params(init=parameters["init"])
    model.topic_names_ = [*found.names, *[""] * (n_topics - len(found.names))]


def described_start(
    counts: Any,
    embeddings: Any,
    about: Descriptions,
    n_topics: int,
    *,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Array:
    """Return where topics (K, V) start: the described ones first, then others."""
    counts = sp.csr_matrix(counts, dtype=np.float64)
    rows = check_embeddings(embeddings, counts.shape[0])
    index = EmbeddingIndex(rows)
    walks = walks_of(index, n_jobs=n_jobs)
    places = places_of(walks, rows)
    asked = places_of_new(index, walks, about.vectors, n_jobs=n_jobs)
    near = places @ asked.T
    own, n_described = near.argmax(axis=1), len(about.names)
    if n_topics > n_described:
        share = (n_topics - n_described) / n_topics
        n_other = max(n_topics - n_described, round(share * len(near)))
        far = np.argsort(near.max(axis=1), kind="stable")[:n_other]
        found = place_clusters(
            places[far],
            n_topics - n_described,
            check_random_state(random_state),
        )
        own[far] = n_described + found
    members = sp.csr_matrix(
        (np.ones(len(own)), (own, np.arange(len(own)))), (n_topics, len(own))
    )
    sums = np.asarray((members @ counts).todense())
    corpus = sums.sum(axis=0) + 1.0 / sums.shape[1]
    corpus /= corpus.sum()
    totals = sums.sum(axis=1, keepdims=True)
    shares = np.where(totals > 0, sums / np.where(totals > 0, totals, 1.0), corpus)
    return (1 - CLUSTER_BACKGROUND) * shares + CLUSTER_BACKGROUND * corpus
