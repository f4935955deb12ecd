# SPDX-License-Identifier: BSD-3-Clause
"""Topics through time: words that rise and fall in topics, or topics with a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from topicfold.core.counts import best_places
from topicfold.core.parameters import topic_number, warn_caller
from topicfold.core.side_table import SideTable
from topicfold.core.typing import Array
from topicfold.engine.protocol import ranges_of
from topicfold.evidence.times import TimeStamps, checked_times
from topicfold.exceptions import DataError
from topicfold.graph.embedding import refuse_data
from topicfold.learn import Callback
from topicfold.models.lda import SidedLDA
from topicfold.models.seeded_lda import SeededLDA
from topicfold.models.sided import of_side
from topicfold.parts.sides import Side
from topicfold.parts.tables import wording_tables
from topicfold.phi.seeds import check_vocabulary
from topicfold.phi.slices import TimeSlices

# Slices whose words a report shows, the first and the last among them.
SHOWN_SLICES = 6


class ChangedWord(NamedTuple):
    """A word of a topic whose share changed between two times.

    Attributes
    ----------
    word : str
        The word.
    before, after : float
        Its shares of the topic at the two times.
    """

    word: str
    before: float
    after: float


def _with_times(
    model: SidedLDA, given: Mapping[str, Any], n_documents: int
) -> Mapping[str, Any]:
    """Return the data with times; without, all are unknown, and that is said."""
    if given.get("time") is not None:
        return given
    model._say_missing("time", "time is ignored, as in LDA")
    return {**given, "time": np.full(n_documents, np.nan)}


class DynamicLDA(SidedLDA):
    """Dynamic topics: the words of a topic change from slice to slice of time.

    ``φ_tkw ∝ Σ_s ρ^|t−s| N_swk + η + κ φ_kw``: a slice also uses its neighbours' counts
    and is pulled towards the common topic. The counts N are those of LDA, which finds
    the topics: slices are made at the end, in one more pass, and only pairs of a word
    and a slice that occur are stored. With `seeds`, the topics are those of
    :class:`SeededLDA`.

    Parameters
    ----------
    seeds : mapping of str to sequence of str or int, or None, default=None
        Seed words of topics, by the topic's name; see :class:`SeededLDA`. Topics with
        seeds come first.
    vocabulary : sequence of str or None, default=None
        Words of the columns of X, for `seeds`; None takes the names of X's columns.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features_in_)
        Common topics of all times, rows on the simplex.
    slice_names_ : list of str
        Beginnings of the slices; :meth:`topics_at` has their topics.
    objective_history_ : list of float
        Log-likelihood of the training words. As in LDA, the fit does not maximise it,
        so it may fall a little.
    slice_tokens_ : ndarray of shape (n_slices, n_components)
        Expected tokens of each topic in each slice.
    prevalence_ : ndarray of shape (n_slices, n_components)
        Shares of the tokens of each slice that topics have, NaN in a slice without
        documents.
    topic_names_ : list of str
        With `seeds`, names of the topics that have them, empty for the others.

    See Also
    --------
    TimeStampedLDA : topics whose words stay the same, each with its own time.

    References
    ----------
    After D. Blei, J. Lafferty (2006). Dynamic topic models. ICML. (There slices
    are tied by a random walk of log φ, and topics are learned slice by slice.)

    Examples
    --------
    >>> from topicfold import DynamicLDA
    >>> X = [[5, 4, 0, 0, 0], [4, 0, 6, 0, 0], [0, 0, 0, 3, 5], [0, 0, 0, 6, 4]] * 2
    >>> years = [1990, 2000, 1990, 2000] * 2
    >>> model = DynamicLDA(2, random_state=0).fit(X, time=years)
    >>> model.slice_names_
    ['1990', '2000']
    >>> model.topics_at(1995).shape
    (2, 5)
    """

    sides = None
    _part = TimeSlices
    decay: float
    strength: float
    n_slices: int | None
    seeds: Mapping[str, Sequence[str | int]] | None
    vocabulary: Sequence[str] | None
    slice_names_ = of_side(TimeSlices, "slice_names_", "Beginnings of the slices.")

    def __init__(
        self,
        n_components: int = 10,
        *,
        decay: float = 0.8,
        strength: float = 10_000.0,
        n_slices: int | None = None,
        seeds: Mapping[str, Sequence[str | int]] | None = None,
        vocabulary: Sequence[str] | None = None,
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

    def fit(self, X: Any, y: Any = None, *, time: Any = None, **not_taken: Any) -> Self:
        """Learn topics of every slice and the mixtures of the documents.

        Parameters
        ----------
        time : sequence of numbers, dates or texts, optional
            The time of each document. Without, topics do not change, as in LDA, and a
            warning says so.
        **not_taken
            Refused with a sentence, such as embeddings.
        """
        refuse_data(self, not_taken)
        return super().fit(X, y, time=time)

    # ---- fitting

    def _fit_with_sides(self, counts: Any, side_data: Mapping[str, Any]) -> None:
        check_vocabulary(self.vocabulary, counts.shape[1])
        side_data = _with_times(self, side_data, counts.shape[0])
        side = self.sides_[0]
        context = self._side_context(counts, n_topics=self._asked or 0)
        slices = side.check(side_data["time"], context).astype(np.int64)
        if self.seeds:
            self._fit_seeded(counts)
        else:
            self._fit_counts(counts, None)
        n_slices = len(side.slice_starts_)
        engine = self._engine(side.widen(counts, slices, n_slices))
        found = engine.expected_counts(
            engine.pack_documents(self.doc_topics_),
            engine.pack_topics(self.components_[:, side.pair_words_]),
        )
        side.take(engine.unpack_topics(found.words).T, self.topic_word_prior_)
        self.components_ = side.common().astype(self.doc_topics_.dtype)
        tokens = np.zeros((n_slices, self._size))
        for rows in ranges_of(len(slices), 8192):  # mixtures may be on disk
            own = self.doc_topics_[rows] * self.doc_lengths_[rows, None]
            np.add.at(tokens, slices[rows], own)
        self.slice_tokens_ = tokens
        empty = np.flatnonzero(tokens.sum(axis=1) == 0)
        if len(empty):
            first = side.slice_names_[empty[0]]
            warn_caller(
                f"{len(empty)} of {n_slices} slices have no documents (first: "
                f"{first}): their prevalence is NaN, and their words are those of the "
                "neighbouring slices. Give a smaller n_slices to make slices wider."
            )

    def _fit_seeded(self, counts: Any) -> None:
        """Learn the topics as :class:`SeededLDA` does, and take what it has learned."""
        model = SeededLDA(**self._shared_with(SeededLDA))
        if self.vocabulary is None and hasattr(self, "feature_names_in_"):
            model.set_params(vocabulary=[str(word) for word in self.feature_names_in_])
        model.fit(counts)
        for name, value in vars(model).items():
            if name.endswith("_") and name != "sides_":
                setattr(self, name, value)

    # ---- results

    @property
    def prevalence_(self) -> NDArray[np.float64]:
        """Shares of topics in the tokens of each slice; NaN where there are none."""
        self._side(TimeSlices)  # an edited model has none, and a sentence says so
        totals = self.slice_tokens_.sum(axis=1, keepdims=True)
        shares = np.full_like(self.slice_tokens_, np.nan)
        return np.divide(self.slice_tokens_, totals, out=shares, where=totals > 0)

    def _forget_sides(self) -> None:
        super()._forget_sides()
        self.__dict__.pop("slice_tokens_", None)

    def _side_tables(self, vocabulary: Sequence[str]) -> Iterable[SideTable]:
        yield from super()._side_tables(vocabulary)
        side = next((s for s in self.sides_ if isinstance(s, TimeSlices)), None)
        if side is None or len(side.slice_names_) < 2:
            return
        last = len(side.slice_names_) - 1
        shown = np.unique(np.linspace(0, last, SHOWN_SLICES).round().astype(int))
        named = ((side.slice_names_[t], side.words_of(t)) for t in shown.tolist())
        what = "words through time"
        yield from wording_tables(named, self.components_, vocabulary, what)

    def topics_at(self, time: Any) -> Array:
        """Return the topics (n_components, n_features_in_) of a time.

        Parameters
        ----------
        time : number, date or str
            May be before, between or after the slices; after the last one, the result
            is what is expected next.
        """
        return self._topics_of(self._place(time))

    def _place(self, time: Any) -> float:
        check_is_fitted(self, "components_")
        side = self._side(TimeSlices)
        times = checked_times(np.asarray([time]), 1)
        if (times.dtype.kind == "M") != side.dates_ and len(side.slice_starts_) > 1:
            was = "date" if side.dates_ else "number"
            raise DataError(f"time was a {was} in the fit, but {time!r} is not one.")
        return float(side.positions(times)[0])

    def _topics_of(self, place: float) -> Array:
        if np.isnan(place):
            return self.components_
        topics: Array = self._side(TimeSlices).topics_of(place)
        return topics.astype(self.components_.dtype)

    def changed_words(
        self, topic: int, before: Any = None, after: Any = None, n: int = 10
    ) -> tuple[list[ChangedWord], list[ChangedWord]]:
        """Return the words that rose and fell most in a topic between two times.

        Parameters
        ----------
        topic : int
            The topic.
        before, after : number, date or str, optional
            The times; by default the first and the last slice.
        n : int, default=10
            Words of each.

        Returns
        -------
        (list of ChangedWord, list of ChangedWord)
            Words that rose, then words that fell, the largest change first.
        """
        last = len(self._side(TimeSlices).slice_starts_) - 1.0
        topic = topic_number(topic, len(self.components_))
        places = 0.0 if before is None else self._place(before)
        old = self._topics_of(places)[topic]
        new = self._topics_of(last if after is None else self._place(after))[topic]
        words = self._column_words(None)

        def listed(change: NDArray[Any]) -> list[ChangedWord]:
            best = [w for w in best_places(change, n) if change[w] > 0]
            found = [(str(words[w]), float(old[w]), float(new[w])) for w in best]
            return [ChangedWord(*one) for one in found]

        return listed(new - old), listed(old - new)

    # ---- new documents

    def _topic_parts(
        self, X: Any, side_data: Mapping[str, Any]
    ) -> Sequence[tuple[Any, Array]]:
        """Return rows of documents with the topics of their time."""
        time = side_data.get("time")
        if time is None:
            return [(np.arange(X.shape[0]), self.components_)]
        side = self._side(TimeSlices)
        places = side.check(time, self._new_context(X))
        unknown = np.isnan(places)
        parts = [
            (np.flatnonzero(places == place), self._topics_of(float(place)))
            for place in np.unique(places[~unknown])
        ]
        return [*parts, (np.flatnonzero(unknown), self.components_)]

    def _sided_mixtures(self, X: Any, side_data: Mapping[str, Any]) -> Array:
        self._check_keywords(self.sides_, side_data)
        return self._mixtures_by_part(X, side_data)


class TimeStampedLDA(SidedLDA):
    """Topics over time: every topic has its own time, a Beta distribution.

    The words of a topic stay the same; documents near its time have more of it. See
    :class:`DynamicLDA` for topics whose words change.

    Parameters
    ----------
    doc_topic_prior : float, array of shape (n_components,) or None, default=None
        α. None is ``2 / n_components``, at most 0.2.

    Attributes
    ----------
    mean_times_ : ndarray of shape (n_components,)
        Mean time of every topic, of dates the days since 1970.

    References
    ----------
    X. Wang, A. McCallum (2006). Topics over time: a non-Markov continuous-time model of
    topical trends. KDD.

    Examples
    --------
    >>> from topicfold import TimeStampedLDA
    >>> X = [[5, 4, 1, 0], [4, 6, 1, 0], [0, 1, 3, 5], [0, 1, 6, 4]]
    >>> model = TimeStampedLDA(2, random_state=0).fit(X, time=[1990, 1991, 2004, 2005])
    >>> sorted(model.mean_times_.round().tolist())
    [1991.0, 2005.0]
    """

    _part = TimeStamps
    weight: float

    def __init__(
        self,
        n_components: int = 10,
        *,
        weight: float = 0.2,
        doc_topic_prior: Any = None,
        topic_word_prior: float | None = None,
        learn_priors: bool | None = None,
        sides: Sequence[Side] | None = None,
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

    def fit(self, X: Any, y: Any = None, *, time: Any = None, **side_data: Any) -> Self:
        """Learn topics, their times and the mixtures of the documents.

        Parameters
        ----------
        time : sequence of numbers, dates or texts, optional
            The time of each document, None where it is not known. Without, it is LDA,
            and a warning says so.
        """
        return super().fit(X, y, time=time, **side_data)

    def _fit_with_sides(self, counts: Any, side_data: Mapping[str, Any]) -> None:
        side_data = _with_times(self, side_data, counts.shape[0])
        super()._fit_with_sides(counts, side_data)

    @property
    def mean_times_(self) -> NDArray[np.float64]:
        """Mean time of every topic."""
        return np.asarray(self._side(TimeStamps).mean_times())
