# SPDX-License-Identifier: BSD-3-Clause
"""Seed words give topics their meaning (keyATM: Eshima, Imai & Sasaki 2024).

``φ_k = (1 − π_k) φ̄_k + π_k φ̃_k``, where φ̃_k has the topic's seed words alone. The
expected counts N_wk of a seed word are split in proportion to the two parts, Ñ_wk to
the seeds'; then

    φ̄_kw = (N̄_wk + η) / (N̄_k + Vη),   φ̃_kw = (Ñ_wk + η) / (Ñ_k + V_k η),
    π_k = (Ñ_k + γ) / (N_k + 2γ)

with V_k seed words. A word that a topic must not have is zero in both parts.

Which documents are about the subjects of seed words is found by self-training. A
document with seed words belongs at first to the topic with most of them, each counted
once per document and weighted by its inverse document frequency. Naive Bayes, learned
from these documents, classifies all documents and is learned again from the result, a
few times. The words of the whole corpus are one more class: a document that they
explain better is about none of the seeds. A document that is half explained by them has
the weight √½ in its other classes, because it may well be about them. In the end
log-likelihoods are divided by the root of a document's length, as words are not
independent. The classes are where seeded topics start, and their probabilities P_dk are
evidence ``δ_dk = γ log max(P_dk, ε)`` on documents. Without it, topics without seeds
take documents that seeds are meant for. For these topics the probability is that of the
corpus, at least ½ (benchmarks/results/sides_seeds.md).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import softmax

from topicfold.core.parameters import DeclaredParameters, warn_caller
from topicfold.core.typing import Array
from topicfold.exceptions import DataError
from topicfold.parts.sides import Side, TopicWeights
from topicfold.parts.steps import Context

# Topics without seeds beside those with seeds, if no number is asked for.
UNSEEDED = 5
# Where topics start: the seeds' share of a seeded topic, and the corpus' share of the
# others, so that these have not taken the documents when the seeds begin to attract
# them (benchmarks/results/sides_seeds.md).
START_SEEDS, START_CORPUS = 0.5, 0.95
# Share of what documents with seed words taught beforehand, if they did.
START_TRAINED = 0.7
GAMMA = 1.0
Words = Mapping[str, Sequence[str | int]]
Matrix = NDArray[np.float64]
# Rounds of self-training, and the pseudo-count of a word.
ROUNDS, SMOOTHING = 10, 0.3
# γ and ε of the evidence, and the least P of topics without seeds.
STRENGTH, LEAST, LEAST_UNSEEDED = 0.6, 0.05, 0.5
# Documents per topic with seeds below which self-training misleads; with more, a trial
# of the model shows it.
FEWEST_DOCUMENTS = 25
# Rows that are processed together.
ROWS = 20_000


class Seeds(DeclaredParameters, Side):
    """Words that say what topics should be about, and words they must not have.

    Topics with seeds come first, in the order given; the others are found as in any
    LDA. With :class:`Labels`, the names of the seeds must be labels, whose topics they
    describe. A seed word may be given to several topics, and may also appear in others.

    Parameters
    ----------
    seeds : mapping of str to sequence of str or int, or None, default=None
        Seed words of each topic, by its name; whole numbers are columns of X.
    forbidden : mapping of str to sequence of str or int, or None, default=None
        Words that a seeded topic must not have, by its name.
    vocabulary : sequence of str or None, default=None
        Words of the columns of X, as of ``vectorizer.get_feature_names_out()``; None
        takes the names of X's columns.

    Attributes
    ----------
    topic_names_ : list of str
        Names of the topics with seeds, empty for the others.
    seed_words_ : dict of str to list of int
        Columns of the seed words found.
    seed_shares_ : ndarray of shape (n_seeded,)
        π, the share of each topic's tokens that its seed part explains.

    References
    ----------
    S. Eshima, K. Imai, T. Sasaki (2024). Keyword-assisted topic models. American
    Journal of Political Science 68.
    """

    hook = "topics"
    seeds: Annotated[Words | None, dict]
    forbidden: Annotated[Words | None, dict]
    vocabulary: Annotated[Sequence[str] | None, "array-like"]

    topic_names_: list[str]
    _trained: NDArray[np.float64] | None = None

    def __init__(
        self,
        seeds: Words | None = None,
        forbidden: Words | None = None,
        vocabulary: Sequence[str] | None = None,
    ) -> None:
        self._store_parameters(locals())

    @property
    def init(self) -> str | None:  # type: ignore[override]
        """No clusters: topics without seeds would take the subjects of seeded ones."""
        return "neighbors" if self.seeds else None

    def check(self, data: Any, context: Context) -> None:
        """Find the columns of all words."""
        seeds, forbidden = dict(self.seeds or {}), dict(self.forbidden or {})
        for name, given in {**seeds, **forbidden}.items():
            if not str(name).strip():
                raise DataError(
                    f"The seeds {given!r} have no topic names. Give each list a "
                    'name, such as {"space": ["orbit", "moon"]}.'
                )
            if not isinstance(given, Iterable):
                raise DataError(
                    f"The seeds of {name!r} are {given!r}. Give a list of words."
                )
            if isinstance(given, str):
                raise DataError(
                    f"The seeds of {name!r} are one string, {given!r}. Give a list of "
                    "words."
                )
        strange = [name for name in forbidden if name not in seeds]
        if strange:
            raise DataError(
                f"forbidden names the topic {strange[0]!r}, which has no seeds. Its "
                f"topics are {', '.join(map(repr, seeds)) or 'none'}."
            )
        check_vocabulary(self.vocabulary, context.n_terms)
        words = context.words if self.vocabulary is None else list(self.vocabulary)
        finder = _Finder(words, context.n_terms)
        self.seed_words_ = {str(n): finder.columns(n, w) for n, w in seeds.items()}
        self._forbidden = {str(n): finder.columns(n, w) for n, w in forbidden.items()}
        finder.warn()
        self._warn_same()
        for name, columns in self.seed_words_.items():
            if not columns:
                raise DataError(
                    f"No seed word of {name!r} is in the vocabulary. Give other words, "
                    "or leave the topic out."
                )
            both = set(columns) & set(self._forbidden.get(name, ()))
            if both:
                raise DataError(
                    f"{finder.name(min(both))!r} is both a seed word of {name!r} and "
                    "forbidden in it. Choose one of the two."
                )

    def _warn_same(self) -> None:
        """Refuse topics that have the same seeds."""
        first: dict[frozenset[int], str] = {}
        for name, columns in self.seed_words_.items():
            other = first.setdefault(frozenset(columns), name)
            if other != name and columns:
                warn_caller(
                    f"The topics {other!r} and {name!r} have the same seed words, so "
                    "they cannot be distinguished. Give each topic its own words."
                )

    def n_topics(self, data: Any, context: Context) -> int:
        """Return the requested number, or a few more than topics with seeds."""
        needed = len(self.seed_words_)
        if context.topic_names:
            self._join(list(context.topic_names))
            return len(self.topic_names_)
        if 0 < context.n_topics < needed:
            raise DataError(
                f"n_components is {context.n_topics}, but {needed} topics have seeds. "
                f"Give at least {needed}."
            )
        n_topics = context.n_topics or needed + UNSEEDED
        self.topic_names_ = [*self.seed_words_, *[""] * (n_topics - needed)]
        return n_topics

    def _join(self, names: list[str]) -> None:
        """Give the seeds to topics that another side has named."""
        strange = [name for name in self.seed_words_ if name not in names]
        if strange:
            shown = ", ".join(map(repr, names[:10])) + ", ..." * (len(names) > 10)
            raise DataError(
                f"Seeds has words for {strange[0]!r}, but the topics have the names of "
                f"labels: {shown}. Use these names for the seeds, or leave Labels out."
            )
        self.topic_names_ = [n if n in self.seed_words_ else "" for n in names]

    def _topics(self) -> NDArray[np.int64]:
        """Return the topics that have seeds, in the order of the seeds."""
        places = [self.topic_names_.index(name) for name in self.seed_words_]
        return np.array(places, dtype=np.int64)

    def start(self, topics: Array, context: Context) -> Array:
        """Seeded topics start from the corpus and their seeds, others near the corpus.

        A seed is weighted by the root of its frequency, so that rare seeds matter.
        """
        if not self.seed_words_:
            return topics
        totals = np.asarray(context.word_totals) + 1.0 / context.n_terms
        corpus = totals / totals.sum()
        made = (1 - START_CORPUS) * topics + START_CORPUS * corpus
        own = self._topics()
        words, seeded = self._pairs(self.seed_words_)
        self._plain = corpus[words]
        self._own = np.sqrt(totals[words])
        self._own /= np.bincount(seeded, self._own)[seeded]
        self.seed_shares_ = np.full(len(own), START_SEEDS)
        made[own] = corpus
        if self._trained is not None:
            made[own] = (1 - START_TRAINED) * corpus + START_TRAINED * self._trained
            self._plain = made[seeded, words]
            self._trained = None
        made[own] *= 1 - START_SEEDS
        made[seeded, words] += START_SEEDS * self._own
        made[self._pairs(self._forbidden)[::-1]] = 0.0
        return made

    def carried(self, data: Any, context: Context) -> dict[str, tuple[int, ...]]:
        """Both parts of the seed words, and how large the seeds' part is."""
        if not self.seed_words_:
            return {}
        pairs = self._pairs(self.seed_words_)[0].shape
        return {
            "_plain": pairs,
            "_own": pairs,
            "seed_shares_": (len(self.seed_words_),),
        }

    def finish(self, context: Context) -> None:
        """Warn of topics in which their seeds are rarer than in the whole corpus.

        If all topics have seeds, the other subjects of documents must go to one of
        them.
        """
        if not self.seed_words_ or context.word_totals is None:
            return
        words, seeded = self._pairs(self.seed_words_)
        pi = self._shares()[seeded]
        own = np.bincount(seeded, pi * self._own + (1 - pi) * self._plain)
        totals = np.asarray(context.word_totals, dtype=np.float64)
        usual = np.bincount(seeded, totals[words]) / max(totals.sum(), 1.0)
        lost = [self.topic_names_[k] for k in np.flatnonzero(own < usual)]
        if lost:
            warn_caller(
                "In these topics their seed words are rarer than in the whole corpus, "
                "so the topics are about something else: "
                f"{', '.join(map(repr, lost))}. Give them other seeds, or raise "
                "n_components so that more topics have no seeds."
            )

    def free_topics(self, data: Any, context: Context) -> NDArray[np.bool_]:
        """Those without seeds."""
        return np.array([not name for name in self.topic_names_])

    def _shares(self) -> NDArray[np.float64]:
        """Return π of all topics, zero of those without seeds."""
        shares = np.zeros(len(self.topic_names_))
        if self.seed_words_:
            shares[self._topics()] = self.seed_shares_
        return shares

    def _pairs(
        self, columns: Mapping[str, list[int]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return words and their topics as two arrays."""
        place = {name: k for k, name in enumerate(self.topic_names_) if name}
        pairs = [(w, place[name]) for name, own in columns.items() for w in own]
        table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    def topics(
        self, counts: Array, eta: float, words: NDArray[np.integer], context: Context
    ) -> TopicWeights:
        """Return the topics in two parts; see the module."""
        n_words, n_topics = counts.shape
        seeds, seeded = self._pairs(self.seed_words_)
        pi = self._shares()
        shut, shut_topics = self._pairs(self._forbidden)
        plain = np.array(counts, dtype=np.float64)
        totals = plain.sum(axis=0)
        part = np.zeros(0)
        if self.seed_words_:
            own = pi[seeded] * self._own
            both = own + (1 - pi[seeded]) * self._plain
            part = own / np.maximum(both, 1e-300)  # without a prior, seeds may vanish
        split = part * plain[seeds, seeded]
        plain[seeds, seeded] -= split
        seed_totals = np.bincount(seeded, split, minlength=n_topics)
        own_topics = self._topics()
        self.seed_shares_ = ((seed_totals + GAMMA) / (totals + 2 * GAMMA))[own_topics]
        pi = self._shares()
        open_words = n_words - np.bincount(shut_topics, minlength=n_topics)
        plain_scale = 1.0 / np.maximum(totals - seed_totals + open_words * eta, 1e-300)
        n_seeds = np.bincount(seeded, minlength=n_topics)
        seed_scale = 1.0 / np.maximum(seed_totals + n_seeds * eta, 1e-300)
        weights = (plain + eta) * plain_scale
        self._plain = weights[seeds, seeded]
        self._own = (split + eta) * seed_scale[seeded]
        weights *= 1 - pi
        weights[seeds, seeded] += pi[seeded] * self._own
        weights[shut, shut_topics] = 0.0
        # Words of two parts, and forbidden ones, have shares of tokens of their own.
        special = np.unique(np.r_[seeds, shut])
        groups = np.zeros(n_words, np.int64)
        groups[special] = 1 + np.arange(len(special))
        scale = np.tile((1 - pi) * plain_scale, (1 + len(special), 1))
        floor = eta * scale
        rows = groups[seeds], seeded
        scale[rows] = (1 - part) * scale[rows] + part * (pi * seed_scale)[seeded]
        floor[rows] += eta * (pi * seed_scale)[seeded]
        floor[groups[shut], shut_topics] = 0.0
        return TopicWeights(weights, scale, floor, groups)

    def _check_fitted(self, sizes: Mapping[str, int]) -> None:
        named = sorted(name for name in self.topic_names_ if name)
        size = len(self.topic_names_)
        if size != sizes["K"] or named != sorted(filter(None, self.seed_words_)):
            raise ValueError("topic_names_ are not those of seed_words_")
        for name, columns in self.seed_words_.items():
            if not all(type(w) is int and 0 <= w < sizes["V"] for w in columns):
                raise ValueError(f"the seed words of {name!r} are not columns")


def check_vocabulary(words: Sequence[str] | None, n_terms: int) -> None:
    """Refuse words that are not those of the columns."""
    if words is not None and len(words) != n_terms:
        raise DataError(
            f"vocabulary has {len(words)} words for {n_terms} columns of X. Give one "
            "word per column, in their order."
        )


class _Finder:
    """Finds the columns of words; remembers which it did not find."""

    def __init__(self, words: Sequence[str] | None, n_terms: int) -> None:
        self.words = words
        self.n_terms = n_terms
        self.place = {word: w for w, word in reversed(list(enumerate(words or ())))}
        self.missing: dict[str, list[str]] = {}

    def columns(self, topic: str, words: Sequence[str | int]) -> list[int]:
        """Return the columns of the words that X has, each once."""
        found: dict[int, None] = {}
        for word in words:
            if isinstance(word, str):
                if self.words is None:
                    raise DataError(
                        f"The seed {word!r} of {topic!r} is a word, but the columns of "
                        "X have no names. Give vocabulary=..., one word per column."
                    )
                if word in self.place:
                    found[self.place[word]] = None
                else:
                    self.missing.setdefault(word, []).append(topic)
            elif isinstance(word, int | np.integer) and 0 <= word < self.n_terms:
                found[int(word)] = None
            else:
                raise DataError(
                    f"{topic!r} has the column {word!r} as a seed; X has "
                    f"{self.n_terms} columns, from 0."
                )
        return list(found)

    def name(self, column: int) -> str:
        return str(column) if self.words is None else self.words[column]

    def warn(self) -> None:
        """Warn of words that are not in X, and name similar ones."""
        if not self.missing:
            return
        told = []
        for word, topics in list(self.missing.items())[:10]:
            near = [self.words[self.place[word.lower()]]] if (
                self.words and word.lower() in self.place
            ) else difflib.get_close_matches(word, self.place, n=3)  # fmt: skip
            hint = f" (like {', '.join(near)})" if near else ""
            if " " in word and self.words and not any(" " in w for w in self.words):
                hint = " (phrases=True counts phrases)"
            told.append(f"{word!r} of {topics[0]!r}{hint}")
        more = f" and {len(self.missing) - 10} more" if len(self.missing) > 10 else ""
        warn_caller(
            f"These words are not in the vocabulary and are ignored: "
            f"{'; '.join(told)}{more}."
        )


class SelfTrained(NamedTuple):
    """The result of naive Bayes from seed words."""

    shares: Matrix  # P (D, n_seeded + 1), the corpus last
    topics: Matrix  # words of each class (n_seeded, V), rows sum to one


def self_trained(
    counts: Any, seeds: Sequence[Sequence[int]], frequencies: NDArray[Any]
) -> SelfTrained | None:
    """Learn naive Bayes from documents with seed words; None if there are too few."""
    size = counts.shape[0]
    idf = np.log(size / np.maximum(frequencies, 1.0))
    marks = sparse.lil_matrix((counts.shape[1], len(seeds)))
    for place, columns in enumerate(seeds):
        marks[list(columns), place] = idf[list(columns)][:, None]
    marks = marks.tocsr()
    if size < FEWEST_DOCUMENTS * len(seeds):
        return None
    n_seeded = len(seeds)
    shares = np.zeros((size, n_seeded + 1))
    for own, rows in _parts(counts):
        weights = np.asarray((rows > 0) @ marks.toarray())
        best = (weights > 0) & (weights >= weights.max(axis=1, keepdims=True))
        shares[own, :-1] = best / np.maximum(best.sum(axis=1, keepdims=True), 1)
    if not shares[:, :-1].any(axis=0).all():
        return None
    corpus = np.asarray(counts.sum(axis=0), dtype=np.float64).ravel() + SMOOTHING
    rest, taught = 1 / (n_seeded + 1), shares[:, :-1]
    for _ in range(ROUNDS):
        words = np.full((n_seeded, counts.shape[1]), SMOOTHING)
        for own, rows in _parts(counts):
            words += np.asarray(rows.T @ taught[own]).T
        words /= words.sum(axis=1, keepdims=True)
        known = (taught.sum(axis=0) + 1) / (size + n_seeded)
        prior = np.log(np.append(known, rest))
        logs = np.log(np.vstack([words, corpus / corpus.sum()])).T
        shares = _rated(counts, logs, prior)
        rest = float(shares[:, -1].mean()) + 1 / size
        totals = shares[:, :-1].sum(axis=1, keepdims=True)
        taught = shares[:, :-1] / np.sqrt(np.maximum(totals, 1e-12))
    return SelfTrained(_rated(counts, logs, prior, by_root=True), words)


def _rated(counts: Any, logs: Matrix, prior: Matrix, by_root: bool = False) -> Matrix:
    """Return the probabilities of classes of documents, (D, C)."""
    found = []
    for _, rows in _parts(counts):
        scores = np.asarray(rows @ logs)
        if by_root:
            sizes = np.asarray(rows.sum(axis=1)).reshape(-1, 1)
            scores /= np.sqrt(np.maximum(sizes, 1.0))
        found.append(softmax(scores + prior, axis=1))
    return np.concatenate(found)


def _parts(counts: Any) -> Any:
    for first in range(0, counts.shape[0], ROWS):
        own = slice(first, first + ROWS)
        yield own, sparse.csr_matrix(counts[own]).astype(np.float64)


class SeedEvidence(Side):
    """Evidence of seed words on documents; :class:`SeededLDA` sets its values."""

    hook = "evidence"
    known_later = False
    _shares: Matrix | None = None

    def check(self, data: Any, context: Context) -> Any:
        """Return the result of self-training, None if there is none."""
        return self._shares

    def free_topics(self, data: Any, context: Context) -> NDArray[np.bool_]:
        """Those without seeds."""
        seeded = 0 if data is None else data.shape[1] - 1
        return np.arange(context.n_topics) >= seeded

    def evidence(self, counts: Array, data: Any, context: Context) -> Array:
        """Return δ; zeros where nothing is known."""
        found = np.zeros((context.n_documents, context.n_topics))
        if data is not None:
            found[:] = np.log(np.maximum(data[:, -1:], LEAST_UNSEEDED))
            found[:, : data.shape[1] - 1] = np.log(np.maximum(data[:, :-1], LEAST))
        return STRENGTH * found

    def finish(self, context: Context) -> None:
        """Forget the training documents."""
        self.__dict__.pop("_shares", None)
