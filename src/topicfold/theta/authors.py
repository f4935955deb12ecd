# SPDX-License-Identifier: BSD-3-Clause
"""Who wrote a document: its authors make its mixture, or its prior.

In the author-topic model (`Authors`) a document's mixture is the mean of its authors'
mixtures, and all documents of an author are alike. Real ones are not: with their own
mixtures around those of their authors (`AuthorPriors`), the mixtures of authors are
learned better, and new documents of known authors are predicted better
(benchmarks/results/sides_authors.md). Here

    θ_d ~ Dirichlet(c Σ_a M_da θ_a),   θ_a ∝ s m + Σ_d r_da ∘ θ_d

with c = Σ_k α_k of the model and m the mean of all documents; short documents count
less, ``n_d / (n_d + c)``. Either a document counts fully for each author, r = 1, or its
topics are divided among them, ``r_dak = M_da θ_ak / Σ_b M_db θ_bk``: the former is
right if authors write together because they write about the same. The prior of a
document is computed from its authors' other documents, without itself. How well each
fifth of the documents is predicted from the others, ``Σ_d Σ_k θ_dk log Σ_a M_da θ_ak``,
decides on r and on s, the weight of the mean of all in documents.
"""

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
from topicfold.parts.steps import Context, Move, moved_shares

# Separates names in one text.
BETWEEN = ";"
Matrix = NDArray[np.float64]
# Passes between two updates of the authors' mixtures.
LEARN_EVERY = 5
# Values of s to choose from, and the one without two documents of an author.
STRENGTHS = np.geomspace(0.03, 30.0, 13)
USUAL_STRENGTH = 0.3
# Share of the mean mixture that is spread evenly: no topic is impossible.
EVEN_SHARE = 0.01
# Parts of the documents that are hidden in turn to choose s and r, and the pass in
# which that is done again; fewer other documents of an author say nothing.
FOLDS, CHOOSE_AGAIN = 5, 20
LEAST_OTHERS = 0.5
# How often the topics of documents are divided among their authors anew.
DIVISIONS = 5


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


class AuthorPriors(Authors):
    """Authors determine the prior of a document, which has its own mixture.

    A document's prior is around the mean of its authors' mixtures, and an author's
    mixture is the mean of the author's documents, shrunk towards that of all documents;
    how much is learned, see the module. :class:`Authors`. A document without authors
    has the prior of all.

    Parameters
    ----------
    names : sequence of str or None, default=None
        Names of the columns, if the data is a matrix.

    Attributes
    ----------
    names_, sizes_, members_
        As in :class:`Authors`.
    entity_topics_ : ndarray of shape (n_entities, n_topics)
        Mixtures of the entities.
    mean_ : ndarray of shape (n_topics,)
        m, the mixture of entities that are not known.
    strength_ : float
        s, how many documents m is worth.
    divided_ : float
        1 if the topics of documents were divided among their authors, else 0.
    concentration_ : float
        c, how many tokens the prior of a document is worth.

    Examples
    --------
    >>> from topicfold import LDA
    >>> from topicfold.theta import AuthorPriors
    >>> X = [[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [0, 0, 6, 4]]
    >>> authors = [["Ann"], ["Ann", "Bob"], ["Cid"], ["Cid"]]
    >>> model = LDA(2, sides=[AuthorPriors()], random_state=0).fit(X, authors=authors)
    >>> [name for name, _ in model.sides_[0].similar("Ann")]
    ['Bob', 'Cid']
    """

    hook = "prior"  # type: ignore[assignment]
    needs_all_documents = True
    learns_last = True
    _saved = saved.forms(
        mean_=saved.numbers("K", saved.SMALLEST),
        strength_=saved.number(saved.SMALLEST),
        concentration_=saved.number(saved.SMALLEST),
    )
    strength_: float = 0.0
    divided_: float = 0.0
    mean_: Matrix
    _prior: Matrix

    def carried(self, data: Any, context: Context) -> dict[str, tuple[int, ...]]:
        """Mixtures, their mean, s and the last prior."""
        shape = context.n_documents, context.n_topics
        entities = data.shape[1], context.n_topics
        return {
            "entity_topics_": entities,
            "mean_": shape[1:],
            "strength_": (),
            "concentration_": (),
            "divided_": (),
            "_prior": shape,
        }

    def free_topics(self, data: Any, context: Context) -> NDArray[np.bool_]:
        """All of them."""
        return np.ones(context.n_topics, dtype=bool)

    def follow(self, moves: Sequence[Move], data: Any) -> None:
        """Mixtures of authors, and priors, are added and divided."""
        if self.strength_ > 0:
            self.entity_topics_ = moved_shares(self.entity_topics_, moves)
            self.mean_ = moved_shares(self.mean_, moves)
            self._prior = moved_shares(self._prior, moves)

    def gather(self, counts: Array, data: Any, context: Context) -> tuple[Any, ...]:
        """Make the authors' mixtures of their documents', every few passes."""
        due = context.iteration % LEARN_EVERY == 0 and context.iteration
        if due or context.last:
            self._learn(counts, data, context)
        return ()

    def finish(self, context: Context) -> None:
        """Forget the documents' priors."""
        del self._prior

    def _learn(self, counts: Array, data: Any, context: Context) -> None:
        rows = np.asarray(counts, dtype=np.float64)
        lengths = rows.sum(axis=1, keepdims=True)
        total = self.concentration_ = float(context.alpha.sum())
        theta = rows / np.maximum(lengths, 1e-30)
        weights = (lengths / (lengths + total)).ravel()
        mean = weights @ theta / max(weights.sum(), 1e-30)
        self.mean_ = (1 - EVEN_SHARE) * mean + EVEN_SHARE / rows.shape[1]
        self.mean_ /= self.mean_.sum()
        rows_of, share = (
            _rows_of(data),
            data.data * np.diff(data.indptr)[_rows_of(data)],
        )
        # One if all authors count the same.
        parts = (weights[rows_of] * share)[:, None] * theta[rows_of]
        if context.last or self.strength_ == 0 or context.iteration == CHOOSE_AGAIN:
            self._choose(parts, theta, weights, data)
        if self.divided_:
            parts = self._divided(parts, data, self.strength_)
        sums, sizes = _totals(parts, data)
        top = sums + self.strength_ * self.mean_
        self.entity_topics_ = top / (sizes[:, None] + self.strength_)
        prior = self._predicted(parts, sums, sizes, data, self.strength_)
        prior[np.diff(data.indptr) == 0] = self.mean_
        self._prior = total * np.maximum(prior, 1e-6)

    def _choose(self, whole: Matrix, theta: Matrix, weights: Matrix, data: Any) -> None:
        """Choose s and r by predicting each fifth of the documents from the others."""
        rows = _rows_of(data)
        values = np.zeros((2, len(STRENGTHS)))
        for fold in range(FOLDS):
            hidden = np.arange(len(theta)) % FOLDS == fold
            seen = np.where(hidden[rows, None], 0.0, whole)
            sums, sizes = _totals(seen, data)
            # Hidden documents all of whose authors have others.
            hidden &= np.diff(data.indptr) > 0
            hidden[rows[sizes[data.indices] < LEAST_OTHERS]] = False
            told, own = weights[hidden, None] * theta[hidden], data[hidden]
            if not told.any():
                continue
            values[0] += self._values(sums, sizes, told, own)
            strength = float(STRENGTHS[values[0].argmax()])
            parts = self._divided(seen, data, strength)
            values[1] += self._values(*_totals(parts, data), told, own)
        best = np.unravel_index(values.argmax(), values.shape)
        known = bool(values.any())
        self.divided_ = float(best[0]) if known else 0.0
        self.strength_ = float(STRENGTHS[best[1]]) if known else USUAL_STRENGTH

    def _values(self, sums: Matrix, sizes: Matrix, told: Matrix, own: Any) -> Matrix:
        """Return how well documents are predicted with each s."""
        values = []
        for strength in STRENGTHS:
            mixtures = (sums + strength * self.mean_) / (sizes[:, None] + strength)
            logs = np.log(np.maximum(own @ mixtures, 1e-12))
            values.append(float((told * logs).sum()))
        return np.array(values)

    def _divided(self, whole: Matrix, data: Any, strength: float) -> Matrix:
        """Return documents' topics, divided by what their authors' others have."""
        rows, parts = _rows_of(data), whole
        for _ in range(DIVISIONS):
            own = self._others(parts, *_totals(parts, data), data, strength)
            own *= data.data[:, None]
            sums = _sum_rows(own, data)[rows]
            parts = np.asarray(whole * own / np.maximum(sums, 1e-30))
        return parts

    def _predicted(
        self, parts: Matrix, sums: Matrix, sizes: Matrix, data: Any, strength: float
    ) -> Matrix:
        """Return means of authors' mixtures that leave the document itself out."""
        own = self._others(parts, sums, sizes, data, strength)
        return _sum_rows(data.data[:, None] * own, data)

    def _others(
        self, parts: Matrix, sums: Matrix, sizes: Matrix, data: Any, strength: float
    ) -> Matrix:
        """Return the mixture of each author without the document (nnz, K)."""
        left = np.maximum(sums[data.indices] - parts, 0.0)
        n_left = np.maximum(sizes[data.indices] - parts.sum(axis=1), 0.0)[:, None]
        return np.asarray((left + strength * self.mean_) / (n_left + strength))

    def prior(self, data: Any, context: Context) -> Array:
        """Return α (D, K)."""
        if data is None:
            return (self.concentration_ * self.mean_)[None]
        if context.fitting:
            if not context.alpha.sum() > 0:
                raise DataError(
                    "AuthorPriors changes the prior of documents, but this model has "
                    "no such prior. Use LDA, or Authors."
                )
            shape = context.n_documents, context.n_topics
            even = np.broadcast_to(context.alpha, shape)
            return self._prior if self.strength_ > 0 else even
        return self.concentration_ * np.maximum(self.expected(data), 1e-6)

    def expected(self, data: Any) -> Matrix:
        """Return the mean mixture of each document's authors, or of all documents."""
        mixtures = np.vstack([self.entity_topics_, self.mean_])
        found = np.asarray(data @ mixtures)
        found[np.diff(data.indptr) == 0] = self.mean_
        return found


def _rows_of(M: Any) -> NDArray[np.int64]:
    return np.repeat(np.arange(M.shape[0]), np.diff(M.indptr))


def _totals(parts: Matrix, M: Any) -> tuple[Matrix, Matrix]:
    """Return the sums of an author's parts (E, K), and their sizes."""
    places = (np.ones(len(parts)), (M.indices, np.arange(len(parts))))
    gather = sparse.csr_array(places, shape=(M.shape[1], len(parts)))
    sums = np.asarray(gather @ parts)
    return sums, sums.sum(axis=1)


def _sum_rows(parts: Matrix, M: Any) -> Matrix:
    """Return the sums over each document's authors (D, K)."""
    ones = np.ones(len(parts))
    shape = M.shape[0], len(parts)
    gather = sparse.csr_array((ones, np.arange(len(parts)), M.indptr), shape=shape)
    return np.asarray(gather @ parts)
