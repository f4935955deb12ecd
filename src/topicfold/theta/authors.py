# SPDX-License-Identifier: BSD-3-Clause
"""Who wrote a document: its mixture is the mean of its authors' mixtures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from topicfold.core import saved
from topicfold.core.counts import as_csr, canonical, check_structure
from topicfold.core.parameters import warn_caller
from topicfold.core.tables import listed
from topicfold.core.typing import Array
from topicfold.evidence.words import SKETCH
from topicfold.exceptions import DataError
from topicfold.parts.sides import Side, check_rows, is_missing
from topicfold.parts.steps import Context

# Separates names in one text.
BETWEEN = ";"


def _name(given: Any) -> str:
    """Return a name as text; 3.0, which a table makes of 3 beside gaps, is "3"."""
    if isinstance(given, float | np.floating) and float(given).is_integer():
        given = int(given)
    return str(given)


class Authors(Side):
    """The author-topic model: a document's mixture is the mean of its authors'.

    ``p(w|d) = Σ_a M_da Σ_k θ_ak φ_kw``, M_da = 1 / (authors of d). Any entities will
    do: tags, places, pairs of a sender and a recipient.

    Data
    ----
    authors : sequence of (str, sequence of str or None), or sparse matrix (D, E)
        The names of each document's authors, in a list or as one text with ";" between
        them; whole numbers are names, too. None or an empty list if they are not known:
        such a document counts as its own author. A matrix has the authors' weights.

    Parameters
    ----------
    names : sequence of str or None, default=None
        Names of the columns, if the data is a matrix.

    Attributes
    ----------
    names_ : ndarray of str
        Names of the entities.
    entity_topics_ : ndarray of shape (n_entities, n_topics)
        Their mixtures.
    sizes_ : ndarray of int of shape (n_entities,)
        How many documents of the fit each has.
    members_ : ndarray of int of shape (n_pairs, 2)
        Entities and documents of the fit that belong together.
    word_places_ : ndarray of shape (n_entities, 512)
        Sketches of the entities' words, rows of length one; of
        :class:`~topicfold.AuthorTopics` only.

    Examples
    --------
    >>> from topicfold import LDA
    >>> from topicfold.theta import Authors
    >>> X = [[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]]
    >>> authors = [["Ann"], ["Ann", "Bob"], ["Cid"], ["Cid"]]
    >>> model = LDA(2, sides=[Authors()], random_state=0).fit(X, authors=authors)
    >>> model.sides_[0].names_.tolist()
    ['Ann', 'Bob', 'Cid']
    """

    data = "authors"
    hook = "mixing"
    _saved = saved.forms(
        entity_topics_=saved.shares("EK"),
        names_=saved.texts("E"),
        sizes_=saved.maybe(saved.numbers("E", 0, kinds="iu")),
        word_places_=saved.maybe(saved.numbers("EW")),
    )

    def __init__(self, names: Sequence[str] | None = None) -> None:
        self.names = names

    def check(self, data: Any, context: Context) -> sparse.csr_matrix:
        """Return M; learn the names in a fit, look them up afterwards."""
        if sparse.issparse(data):
            check_structure(data, "authors")
        numbers = isinstance(data, np.ndarray) and data.dtype.kind in "biuf"
        if sparse.issparse(data) or (numbers and data.ndim == 2):
            return self._checked_matrix(as_csr(data), context)
        lists = self._lists(data, context)
        if context.fitting:
            if not any(lists):
                raise DataError(
                    "authors has no name for any document. Give a list of names for "
                    "each document."
                )
            names = sorted({name for own in lists for name in own})
            self.names_: NDArray[Any] = np.array(names, dtype=object)
        column = {name: i for i, name in enumerate(self.names_)}
        strangers = {n for own in lists for n in own if n not in column}
        if strangers:
            warn_caller(
                f"The fit had no documents by {listed(map(repr, sorted(strangers)), 3)}"
                ": unknown authors get the mean mixture of the prior."
            )
        # The last column, in transform, is that of authors who are not known.
        shape = len(lists), len(column) + (not context.fitting)
        indices = [column.get(name, len(column)) for own in lists for name in own]
        sizes = np.array([len(own) for own in lists])
        weights = np.repeat(1.0 / np.maximum(sizes, 1), sizes)
        indptr = np.r_[0, np.cumsum(sizes)]
        M = sparse.csr_matrix((weights, np.array(indices, int), indptr), shape=shape)
        M.sum_duplicates()
        return self._counted(M, context)

    def _lists(self, data: Any, context: Context) -> list[list[str]]:
        """Return the names of each document's authors, each once."""
        if isinstance(data, str) or not isinstance(data, Iterable):
            raise DataError(
                f"authors is {type(data).__name__}; give a list of names for each "
                "document, or a matrix (documents × authors)."
            )
        lists = []
        for d, own in enumerate(data):
            own = own.tolist() if isinstance(own, np.ndarray) else own
            own = [] if is_missing(own) else own
            if isinstance(own, str):
                own = [name.strip() for name in own.split(BETWEEN)]
            elif isinstance(own, Real) and float(own).is_integer():
                own = [own]
            try:
                names = [_name(name) for name in own if not is_missing(name)]
            except TypeError as error:
                raise DataError(
                    f"authors of document {d} are {own!r}; give names, or None."
                ) from error
            lists.append(list(dict.fromkeys(names)))
        check_rows("authors", len(lists), context.n_documents)
        return lists

    def _checked_matrix(
        self, M: sparse.csr_matrix, context: Context
    ) -> sparse.csr_matrix:
        check_rows("authors", M.shape[0], context.n_documents)
        if not np.isfinite(M.data).all() or (M.data < 0).any():
            raise DataError("authors has negative or infinite weights, or NaN.")
        if context.fitting:
            names = range(M.shape[1]) if self.names is None else self.names
            self.names_ = np.array([str(name) for name in names], dtype=object)
        if M.shape[1] != len(self.names_):
            raise DataError(
                f"authors has {M.shape[1]} columns, but there are {len(self.names_)} "
                "names of authors. Give one name for each column."
            )
        totals = np.asarray(M.sum(axis=1), dtype=np.float64).ravel()
        scale = sparse.diags(1.0 / np.where(totals > 0, totals, 1.0))
        M = canonical(sparse.csr_matrix(scale @ M.astype(np.float64)))
        if not context.fitting:
            M.resize(M.shape[0], M.shape[1] + 1)  # of authors who are not known
        return self._counted(M, context)

    def _counted(self, M: sparse.csr_matrix, context: Context) -> sparse.csr_matrix:
        if context.fitting:
            self.sizes_ = np.bincount(M.indices, minlength=M.shape[1])
            documents = np.repeat(np.arange(M.shape[0]), np.diff(M.indptr))
            self.members_ = np.stack([M.indices, documents], axis=1).astype(np.int64)
        return M

    def mixing(self, data: sparse.csr_matrix, context: Context) -> Any:
        """Return M; in a fit, each document without authors is a separate entity."""
        if not context.fitting:
            return data
        alone = np.flatnonzero(np.diff(data.indptr) == 0)
        if not len(alone):
            return data
        ones = np.ones(len(alone))
        own = sparse.csr_matrix(
            (ones, (alone, np.arange(len(alone)))), shape=(data.shape[0], len(alone))
        )
        return sparse.csr_matrix(sparse.hstack([data, own], format="csr"))

    def keep_entities(self, entity_topics: Array) -> None:
        """Keep the mixtures of the named entities."""
        self.entity_topics_ = entity_topics[: len(self.names_)]

    def likeness(
        self, places: NDArray[np.integer], words: bool = True
    ) -> NDArray[np.float64]:
        """Return the similarity of entities to some others (n_entities, n_others)."""
        roots = np.sqrt(self.entity_topics_.astype(np.float64))
        found = roots @ roots[places].T
        places_of_words = getattr(self, "word_places_", None)
        if words and places_of_words is not None:
            own = places_of_words.astype(np.float64)
            found = (found + 2 * (own @ own[places].T)) / 3
        return np.asarray(found)

    def similar(
        self, name: str | int, n: int = 10, *, words: bool = True
    ) -> list[tuple[str, float]]:
        """Return the entities that are most like `name`.

        Likeness is ``Σ_k √(θ_ak θ_bk)`` (Bhattacharyya), 1 for the same mixtures. Where
        words were learned, and `words` is true, it is the mean of that and twice the
        cosine of the words, which varies half as much.
        """
        from difflib import get_close_matches

        if n < 1:
            raise DataError(f"n={n} must be a number of authors from 1.")
        name = _name(name)
        places = np.flatnonzero(self.names_ == name)
        if not len(places):
            near = get_close_matches(str(name), [str(n) for n in self.names_], n=3)
            hint = f" Did you mean {', '.join(near)}?" if near else ""
            raise DataError(f"there is no author {name!r} in the model.{hint}")
        likeness = self.likeness(places, words).ravel()
        likeness[places] = -np.inf
        order = np.argsort(-likeness, kind="stable")[: min(n, len(likeness) - 1)]
        return [(str(self.names_[i]), float(likeness[i])) for i in order]

    def _sizes(self, sizes: Mapping[str, int]) -> dict[str, int]:
        return {**sizes, "E": len(self.entity_topics_), "W": SKETCH}

    def _check_fitted(self, sizes: Mapping[str, int]) -> None:
        super()._check_fitted(sizes)
        if len(set(self.names_.tolist())) != len(self.names_):
            raise ValueError("names_ has a name twice")
        members = getattr(self, "members_", np.zeros((0, 2), np.int64))
        if members.ndim != 2 or members.shape[1] != 2 or members.dtype.kind != "i":
            raise ValueError("members_ are not pairs of entities and documents")
        if members.size and not 0 <= members.min() <= members[:, 0].max() < len(
            self.names_
        ):
            raise ValueError("members_ has an entity that is not there")
