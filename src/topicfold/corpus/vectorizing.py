# SPDX-License-Identifier: BSD-3-Clause
"""Counting words: texts in, a sparse matrix out, in one pass.

Words get numbers in the order of their first occurrence. When all texts are counted,
`WordCounter.choose` says which words stay, and `chosen_columns` renumbers the blocks.
`topicfold.corpus.disk_corpus` does the same with blocks on disk.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain, islice
from operator import ne
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from topicfold.corpus.tally import COMMON, Spread
from topicfold.corpus.tokens import (
    AUTO,
    ENGLISH,
    LOOKED_AT_TEXTS,
    Tokens,
    advise_language,
    clean,
    clean_runs,
    reader,
    runs,
    stemmer,
    stop_word_list,
    stop_words_for,
    warn_unspaced,
)
from topicfold.exceptions import DataError

TEXT_OPTIONS = {
    "min_df": (int, float),
    "max_df": (int, float),
    "max_features": (int,),
    "stop_words": (str, list),
    "ngram_range": (list, tuple),
    "stem": (str,),
    "tokens": (str,),
    "phrases": (bool,),
    "keep": (list,),
    "left_out": (dict,),
}
# Those that determine how a text is split into words. Longer runs of words are no
# terms: a number that was not meant, or a hostile file.
LONGEST_RUN = 100
_CUTTING = ("stop_words", "ngram_range", "stem", "tokens", "phrases")
# A smaller share of texts with HTML or links, or of copies, is not worth a word.
CLEANED_SHARE = 0.05
COPIED_SHARE = 0.1
# Different texts that are remembered to find copies.
_MOST_REMEMBERED = 1_000_000
# Fewer texts than these keep all their frequent words where `max_df` is not given.
FEW = 20
# A smaller share of all words that is left out is not worth a line; so many are named.
_SAID_SHARE = 0.01
# The same for rare words, of which any text has some.
_SAID_SHARE_OF_RARE = 0.1
_NAMED = 12
_logger = logging.getLogger("topicfold")
# English ones, or those of the language of the texts where it is certain.
STOP_WORDS = AUTO
SKIP = -1
UNKNOWN = -2
# Text that is counted at a time: many documents, few megabytes.
_BLOCK_CHARACTERS = 4_000_000
_BLOCK_DOCUMENTS = 16_384
# Runs without a word are remembered up to this length; there are too many numbers.
_LONGEST_REMEMBERED = 4
# Runs whose words are remembered to make terms of several.
_MOST_READ = 1 << 20
_NO_TEXTS = "texts is empty. Give at least one document."


def vectorize(
    texts: Iterable[str],
    *,
    min_df: int | float = 2,
    max_df: int | float | None = None,
    max_features: int | None = None,
    stop_words: str | Iterable[str] | None = STOP_WORDS,
    ngram_range: Sequence[int] = (1, 1),
    stem: str | None = None,
    tokens: Tokens = "words",
    phrases: bool = False,
    keep: Iterable[str] = (),
    vocabulary: Sequence[str] | None = None,
    dtype: DTypeLike = np.int32,
) -> tuple[Any, list[str]]:
    """Count the words of texts.

    The options mean what they mean in scikit-learn's ``CountVectorizer``; the words
    are those of `words_of`: HTML, links and mail headers are left out. Texts
    are read once and not kept.

    Parameters
    ----------
    texts : iterable of str
        One string per document; an empty one gives an empty row.
    min_df : int or float, default=2
        Keep words that occur in at least so many documents; a float is a share of the
        documents.
    max_df : int or float, optional
        Keep words that occur in at most so many documents, or such a share of them. By
        default, words in more than half of the documents are left out if all
        documents use them about equally (`topicfold.corpus.common_words`); none of
        fewer than 20 documents.
    max_features : int, optional
        Keep at most this many words, the most frequent ones.
    stop_words : str, iterable of str or None, default="auto"
        Words to leave out: a language, such as "german" or "de", or several,
        "english,german" (all but English need ``pip install 'topicfold[languages]'``),
        or the words, which are cut and lower-cased like the texts; None leaves out
        none. "auto" is the language of the texts where it is certain, else English.
    ngram_range : (int, int), default=(1, 1)
        Shortest and longest run of words that makes a term, at most 100 words. Stop
        words are removed first, so no run contains one.
    stem : str, optional
        Count stems instead of words: a language of Snowball, such as "english" or
        "german". The vocabulary has the most frequent word of each stem. Needs
        ``pip install snowballstemmer``.
    tokens : {"words", "spaces"} or callable, default="words"
        How to cut: "words" as `words_of`; "spaces" takes what is between white
        space as it is; a function takes a text and returns its words.
    phrases : bool, default=False
        Count words that occur together more often than by chance, such as "neural
        network", as one term (`topicfold.corpus.phrases`); up to four words, which are
        then not counted singly. The words of all texts are kept in memory.
    keep : iterable of str, optional
        Words that are counted wherever they occur, however frequent or rare they are
        and stop words or not, such as seed words.
    vocabulary : sequence of str, optional
        Count exactly these words, in this order (for new documents of a fitted
        model), stop words or not. `min_df`, `max_df` and `max_features` do not apply
        then, as in scikit-learn.
    dtype : dtype, default=int32
        Type of the counts.

    Returns
    -------
    counts : CSR matrix of shape (n_documents, n_terms)
        The counts, indices sorted.
    vocabulary : list of str
        The words, one per column, sorted by code point.

    Examples
    --------
    >>> counts, words = vectorize(["Red fox, red 7", "a blue fox"], min_df=1, max_df=2)
    >>> words
    ['blue', 'fox', 'red']
    >>> counts.toarray()
    array([[0, 1, 2],
           [1, 1, 0]], dtype=int32)
    """
    cutting: dict[str, Any] = {
        "stop_words": stop_words,
        "ngram_range": ngram_range,
        "stem": stem,
        "tokens": tokens,
        "phrases": phrases,
    }
    if vocabulary is not None:
        known = set(vocabulary)
        left_out = [word for word in stop_word_list(stop_words) if word not in known]
        cutting["stop_words"] = left_out
        counts, _ = vectorize_known(texts, vocabulary, dtype=dtype, **cutting)
        return counts, list(vocabulary)
    found = count_words(
        texts,
        min_df=min_df,
        max_df=max_df,
        max_features=max_features,
        keep=keep,
        dtype=dtype,
        **cutting,
    )
    return found.counts, found.vocabulary


class Counted(NamedTuple):
    """Counts, their words, and what counting found out, for saving with a model.

    `found` has the stop words that were taken for "auto", and of frequent words
    ``left_out`` how many, their share of all words, and the most frequent.
    """

    counts: Any
    vocabulary: list[str]
    found: dict[str, Any]


def count_words(
    texts: Iterable[str], *, dtype: DTypeLike = np.int32, **options: Any
) -> Counted:
    """Count words as `vectorize` does, and return also what was found out."""
    blocks, words, found = count_blocks(texts, _in_memory, dtype=dtype, **options)
    return Counted(stacked(list(blocks)), words, found)


def _in_memory(blocks: Iterable[Any]) -> Iterator[Any]:
    """Keep blocks, and give them back one by one, so that each is freed after use."""
    held = list(blocks)[::-1]
    return (held.pop() for _ in range(len(held)))


def count_blocks(
    texts: Iterable[str],
    hold: Callable[[Iterator[Any]], Iterable[Any]],
    *,
    dtype: DTypeLike,
    min_df: int | float = 2,
    max_df: int | float | None = None,
    max_features: int | None = None,
    keep: Iterable[str] = (),
    phrases: bool = False,
    **cutting: Any,
) -> tuple[Iterator[Any], list[str], dict[str, Any]]:
    """Count words in blocks; return these, the words, and what was found out.

    ``hold(blocks)`` takes in all blocks with every word there is, and returns them
    again for their columns to be chosen.
    """
    bounds = Bounds(min_df, max_df, max_features, tuple(keep))
    texts, cutting = with_language(texts, cutting)
    found = {"stop_words": cutting["stop_words"]}
    if phrases:
        texts, cutting = _with_phrases(texts, None, **cutting)
    counter = WordCounter(keep=bounds.keep, **cutting)
    blocks = hold(counter.count(part) for part in text_blocks(texts))
    places, words = counter.choose(bounds)
    if counter.left_out:
        found["left_out"] = counter.left_out
    return (chosen_columns(block, places, dtype) for block in blocks), words, found


def with_language(
    texts: Iterable[str], cutting: dict[str, Any]
) -> tuple[Iterable[str], dict[str, Any]]:
    """Return texts, and options with the stop words that suit them for "auto"."""
    cutting = {"stop_words": STOP_WORDS} | cutting
    if cutting["stop_words"] != AUTO or isinstance(texts, str):
        return texts, cutting
    language, said = "english", False
    if not callable(cutting.get("tokens")):
        if isinstance(texts, Sequence):
            some = texts[:: max(1, len(texts) // LOOKED_AT_TEXTS)]
        else:  # it can be read only once
            rest = iter(texts)
            some = list(islice(rest, LOOKED_AT_TEXTS))
            texts = chain(some, rest)
        language, said = stop_words_for([x for x in some if isinstance(x, str)])
    return texts, {**cutting, "stop_words": language, "advise": not said}


def vectorize_known(
    texts: Iterable[str],
    vocabulary: Sequence[str],
    *,
    dtype: DTypeLike = np.int32,
    phrases: bool = False,
    **cutting: Any,
) -> tuple[Any, WordCounter]:
    """Count the words of a vocabulary, and what is not in it."""
    if phrases:
        texts, cutting = _with_phrases(texts, vocabulary, **cutting)
    counter = WordCounter(vocabulary=vocabulary, **cutting)
    blocks = [counter.count(part).astype(dtype) for part in text_blocks(texts)]
    if not blocks:
        raise DataError(_NO_TEXTS)
    return stacked(blocks), counter


def _with_phrases(
    texts: Iterable[str], vocabulary: Sequence[str] | None, **cutting: Any
) -> tuple[Iterator[str], dict[str, Any]]:
    """Return texts of terms, and how to split them: their phrases, or known ones."""
    from topicfold.corpus import phrases

    if cutting.get("stem") is not None or cutting.get("ngram_range", (1, 1))[1] > 1:
        raise DataError(
            "phrases=True cannot be combined with stem or ngram_range. Leave them out, "
            "or phrases."
        )
    cut, read = reader(
        cutting.get("tokens", "words"), cutting.get("stop_words", STOP_WORDS), None
    )
    lists = [
        [read(piece) or "" for piece in cut(text)]
        for part in text_blocks(texts)
        for text in part
    ]
    if vocabulary is None:
        known = phrases.find_phrases(lists)
    else:
        known = {term for term in vocabulary if " " in term}
    found = (phrases.BETWEEN.join(row) for row in phrases.segmented(lists, known))
    return found, {
        "tokens": partial(str.split, sep=phrases.BETWEEN),
        "stop_words": cutting.get("stop_words"),
        "advise": cutting.get("advise", True),
    }


def saved_options(text: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the options of `vectorize` that were saved with a model, checked."""
    options = dict(text or {})
    for name, value in options.items():
        if name not in TEXT_OPTIONS:
            raise DataError(
                f"the model was saved with the text option {name!r}, which this "
                "version of topicfold does not have. Install the newest version."
            )
        if value is not None and not isinstance(value, TEXT_OPTIONS[name]):
            raise DataError(
                f"the model is damaged: its option {name!r} of text is {value!r}."
            )
    return options


def cutting_options(text: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return those options of `vectorize` that say how a text is cut into words."""
    given = dict(text or {})
    own = {"tokens": given.pop("tokens")} if callable(given.get("tokens")) else {}
    known = saved_options(given) | own
    options = {name: known[name] for name in _CUTTING if known.get(name) is not None}
    if isinstance(options.get("tokens"), str) and ":" in options["tokens"]:
        # A file must not decide which function is called.
        raise DataError(
            f"the model's texts were split by the function {options['tokens']}. Give "
            "it as text={'tokens': function}."
        )
    return options


def stacked(blocks: list[Any]) -> Any:
    """Put blocks under each other; later ones may have more columns."""
    width = blocks[-1].shape[1]
    wide = [
        sparse.csr_matrix((b.data, b.indices, b.indptr), (b.shape[0], width))
        for b in blocks
    ]
    return sparse.csr_matrix(sparse.vstack(wide, format="csr"))


class _Numbers(dict[str, int]):
    """From a run of text to the number of its word, found out once."""

    def __init__(
        self, read: Callable[[str], str | None], known: dict[str, int] | None
    ) -> None:
        self.read = read
        self.words: dict[str, int] = {} if known is None else known
        self.frozen = known is not None

    def __missing__(self, run: str) -> int:
        word = self.read(run)
        if word is None:
            if len(run) <= _LONGEST_REMEMBERED:
                self[run] = SKIP
            return SKIP
        number = self.words.get(word)
        if number is None:
            number = UNKNOWN if self.frozen else len(self.words)
            if not self.frozen:
                self.words[word] = number
        self[run] = number
        return number


class WordCounter:
    """Count the words of texts, block by block."""

    def __init__(
        self,
        *,
        tokens: Tokens = "words",
        stop_words: Any = None,
        ngram_range: Sequence[int] = (1, 1),
        stem: str | None = None,
        vocabulary: Sequence[str] | None = None,
        keep: Iterable[str] = (),
        advise: bool = True,
    ) -> None:
        self._shortest, self._longest = checked_range(ngram_range)
        self._english = (
            advise
            and isinstance(stop_words, str)
            and stop_words.strip().lower() in ENGLISH
        )
        wanted = set(keep)
        if wanted:
            stop_words = [w for w in stop_word_list(stop_words) if w not in wanted]
        self._cut, read = reader(tokens, stop_words, stem)
        known = None if vocabulary is None else _numbered(vocabulary)
        self._n_known = 0 if known is None else len(known)
        self._spellings: Counter[str] | None = None
        stem_of = stemmer(stem)
        if stem_of is not None:
            self._read, self._read_word = read, reader(tokens, stop_words, None)[1]
            if known is None:
                self._spellings = Counter()
            for word, number in list((known or {}).items()):
                # Terms are words that represent their stem.
                known.setdefault(" ".join(map(stem_of, word.split(" "))), number)  # type: ignore[union-attr]
        if self._longest == 1:
            self._numbers = _Numbers(read, known)
        else:
            self._word_of = lru_cache(_MOST_READ)(read)
            self._numbers = _Numbers(str, known)
        self.n_words = self.n_unknown = self.n_cleaned = self.n_copies = 0
        self._seen: set[int] | None = set() if known is None else None
        self._tally = Spread()
        self.left_out: dict[str, Any] = {}

    @property
    def words(self) -> list[str]:
        """The words in the order of their numbers; of a stem its most frequent word."""
        words = list(self._numbers.words)
        if self._spellings is None:
            return words
        shown: dict[str, str] = {}
        # Of equally frequent spellings, the one that sorts first.
        for run, _ in sorted(self._spellings.items(), key=lambda x: (-x[1], x[0])):
            stem, word = self._read(run), self._read_word(run)
            if stem is not None and word is not None:
                shown.setdefault(stem, word)
        return [" ".join(shown[stem] for stem in term.split(" ")) for term in words]

    @property
    def n_different_unknown(self) -> int:
        """Number of different words that are not in the vocabulary."""
        return sum(1 for number in self._numbers.values() if number == UNKNOWN)

    def count(self, texts: Sequence[str]) -> Any:
        """Return the counts of some texts; columns are numbers of words so far."""
        if self._seen is not None:
            self._look_for_copies(texts, self._seen)
        if self._cut is clean_runs:
            cleaned = [clean(text) for text in texts]
            self.n_cleaned += sum(map(ne, texts, cleaned))
            pieces = [runs(text) for text in cleaned]
        else:
            pieces = [self._cut(text) for text in texts]
        if self._spellings is not None:
            self._spellings.update(chain.from_iterable(pieces))
        if self._longest > 1:
            pieces = [self._terms(part) for part in pieces]
        lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
        numbers = np.fromiter(
            map(self._numbers.__getitem__, chain.from_iterable(pieces)),
            np.int32,
            int(lengths.sum()),
        )
        known = numbers >= 0
        before = np.concatenate([[0], np.cumsum(known)])
        ends = np.concatenate([[0], np.cumsum(lengths)])
        indices = numbers[known]
        self.n_words += len(numbers) - int(np.count_nonzero(numbers == SKIP))
        self.n_unknown += int(np.count_nonzero(numbers == UNKNOWN))
        block = sparse.csr_matrix(
            (np.ones(len(indices), np.int32), indices, before[ends]),
            shape=(len(texts), self._n_known or max(len(self._numbers.words), 1)),
        )
        block.sum_duplicates()
        if self._seen is not None:
            self._tally.add(block)
        return block

    def choose(self, bounds: Bounds) -> tuple[NDArray[np.int32], list[str]]:
        """Return the column of every word so far (-1: none), and the words that stay.

        They are sorted. Of words with the same total, `max_features` keeps those that
        sort first.
        """
        words, tally, n = self.words, self._tally, self._tally.n_documents
        if not n:
            raise DataError(_NO_TEXTS)
        if not words:
            raise DataError(
                f"no words to count in {n} text{'s' if n != 1 else ''}: the texts are "
                "empty, or hold only numbers, single letters or stop words. Shorten "
                "stop_words, or check that these are the texts you meant."
            )
        warn_unspaced(words)
        frequencies = tally.frequencies[: len(words)]
        if self._english:
            advise_language(words, frequencies)
        if self.n_copies > COPIED_SHARE * n:
            _logger.warning(
                "%s of %s texts are copies of others, which can make a topic of "
                "them; leave out the copies if you do not need them",
                f"{self.n_copies:,}",
                f"{n:,}",
            )
        always = self._always(bounds.keep)
        even = self._tally.even()[: len(words)]
        kept, common = bounds.kept(frequencies, n, even, always)
        self._note_left_out(common[~np.isin(common, always)], words, bounds, n)
        self._note_rare([*kept, *common.tolist(), *always], bounds, n)
        order = sorted({*kept, *always}, key=words.__getitem__)
        if bounds.max_features is not None and len(order) > bounds.max_features:
            totals = tally.totals[order]
            best = np.lexsort((-totals, ~np.isin(order, always)))
            order = [order[i] for i in np.sort(best[: bounds.max_features])]
        if self.n_cleaned >= max(CLEANED_SHARE * n, 2):
            _logger.warning(
                "Removed HTML, links and mail headers from %s of %s texts",
                f"{self.n_cleaned:,}",
                f"{n:,}",
            )
        places = np.full(len(words), -1, dtype=np.int32)
        places[order] = np.arange(len(order))
        return places, [words[number] for number in order]

    def _always(self, keep: Iterable[str]) -> list[int]:
        """Return the numbers of words that are counted in any case."""
        numbers = self._numbers.words
        if self._longest == 1:
            read, cut = self._numbers.read, self._cut
            names = [read(piece) for word in keep for piece in cut(word)]
        else:
            names = list(keep)
        return sorted({numbers[name] for name in names if name in numbers})

    def _note_left_out(
        self, common: NDArray[np.int64], words: list[str], bounds: Bounds, n: int
    ) -> None:
        """Keep and say which frequent words are left out."""
        totals = self._tally.totals[: len(words)]
        share = float(totals[common].sum() / totals.sum())
        order = common[np.argsort(-totals[common], kind="stable")]
        most = [words[number] for number in order[:_NAMED]]
        if not most:
            return
        self.left_out = {"words": len(order), "share": share, "most": most}
        if share >= _SAID_SHARE:
            where = f"in more than max_df={bounds.max_df} of the {n:,} texts"
            if bounds.max_df is None:
                where = f"used about equally in more than half of the {n:,} texts"
            more = ", …" if len(order) > len(most) else ""
            _logger.warning(
                "Left out %s %s, %.0f%% of all words: %s%s (max_df=1.0 keeps all)",
                f"{len(order):,} words" if len(order) > 1 else "a word",
                where,
                100 * share,
                ", ".join(most),
                more,
            )

    def _note_rare(self, others: list[int], bounds: Bounds, n: int) -> None:
        """Say how much of the texts rare words are; of few texts, `Bounds` does."""
        totals = self._tally.totals[: len(self.words)].copy()
        totals[others], whole = 0.0, totals.sum()
        if n >= FEW and totals.sum() >= _SAID_SHARE_OF_RARE * whole:
            what = "rare words" if self._longest == 1 else "rare terms"
            least = bounds.min_df
            fewer = f"{least:g} of" if _is_whole(least) else f"{least:.3g} of all"
            _logger.warning(
                "Left out %s %s, %.0f%% of all words: those in fewer than %s %s texts "
                "(min_df=1 keeps all)",
                f"{np.count_nonzero(totals):,}",
                what,
                100 * totals.sum() / whole,
                fewer,
                f"{n:,}",
            )

    def _look_for_copies(self, texts: Iterable[str], seen: set[int]) -> None:
        for text in texts:
            mark = hash(text)
            if mark in seen:
                self.n_copies += bool(text.strip())
            elif len(seen) < _MOST_REMEMBERED:
                seen.add(mark)

    def _terms(self, pieces: Iterable[str]) -> list[str]:
        """Return the runs of words that are terms."""
        words = [w for w in map(self._word_of, pieces) if w is not None]
        terms = list(words) if self._shortest == 1 else []
        for length in range(max(self._shortest, 2), self._longest + 1):
            shifted = [words[start:] for start in range(length)]
            terms += map(" ".join, zip(*shifted, strict=False))
        return terms


@dataclass(frozen=True)
class Bounds:
    """Which words stay: by documents that have them, and how many at most."""

    min_df: int | float
    max_df: int | float | None
    max_features: int | None
    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        max_df = COMMON if self.max_df is None else self.max_df
        for name, value in (("min_df", self.min_df), ("max_df", max_df)):
            whole = _is_whole(value) and value >= (1 if name == "max_df" else 0)
            share = isinstance(value, float | np.floating) and 0.0 <= value <= 1.0
            if not (whole or share):
                raise DataError(
                    f"{name}={value!r} is neither a number of documents (a whole "
                    "number) nor a share of them (between 0.0 and 1.0)."
                )
        if not all(isinstance(word, str) for word in self.keep):
            raise DataError("keep holds something that is not a string. Give words.")
        most = self.max_features
        if most is not None and not (_is_whole(most) and most >= 1):
            raise DataError(f"max_features={most!r} is not a whole number above 0.")

    def kept(
        self,
        frequencies: NDArray[np.int64],
        n: int,
        even: NDArray[np.bool_] | None = None,
        always: Sequence[int] = (),
    ) -> tuple[list[int], NDArray[np.int64]]:
        """Return the words that stay of those in so many of `n` documents, and the
        frequent ones that do not; `even` are common words that are spread evenly.
        """
        max_df = 1.0 if self.max_df is None else self.max_df
        common = np.zeros(len(frequencies), bool)
        if self.max_df is None and n >= FEW and even is not None:
            common = even.copy()
        low, high = (
            bound if _is_whole(bound) else bound * n for bound in (self.min_df, max_df)
        )
        if n == 1 and low > 1:
            raise DataError(
                f"One document is too few: words must be in {low:g} documents. Give "
                "more documents, or min_df=1, max_df=1.0."
            )
        if low > n:
            raise DataError(
                f"min_df={self.min_df} is more than the {n} documents. Lower min_df."
            )
        if high < low:
            raise DataError(
                f"max_df={max_df} means fewer of the {n} documents than "
                f"min_df={self.min_df}. Lower min_df or raise max_df."
            )
        common |= frequencies > high
        found = np.flatnonzero((frequencies >= low) & ~common)
        if not len(found) and not len(always):
            if common.all():
                few = int(high if self.max_df is not None else COMMON * n)
                now = "" if self.max_df is None else f" (now {max_df})"
                raise DataError(
                    f"All {len(frequencies)} words are in more than {few} of the {n} "
                    f"texts (are the texts all the same?). Raise max_df{now}; 1.0 "
                    "keeps all words."
                )
            raise DataError(
                f"None of {len(frequencies)} different words is in at least {low:g} "
                f"and at most {high:g} of the {n} texts. Lower min_df (now "
                f"{self.min_df}) or raise max_df (now {max_df})."
            )
        if n < FEW:
            self._explain(frequencies, n, low)
        return found.tolist(), np.flatnonzero(common)

    def _explain(self, frequencies: NDArray[np.int64], n: int, low: float) -> None:
        """Say what the bounds do with few texts."""
        notes = []
        if self.max_df is None and frequencies.max() > COMMON * n:
            notes.append(
                "words in more than half of the texts are counted too "
                f"(max_df={COMMON} leaves them out)"
            )
        n_rare = np.count_nonzero(frequencies < low)
        if n_rare:
            notes.append(
                f"{n_rare} of {len(frequencies)} different words are in fewer than "
                f"{low:g} of them and are left out (min_df=1 counts all)"
            )
        if notes:
            few = f"{n} text{'s' if n != 1 else ''}"
            _logger.warning("Only %s: %s", few, "; ".join(notes))


def chosen_columns(block: Any, places: NDArray[np.int32], dtype: DTypeLike) -> Any:
    """Return a block with those of its columns that have a place, in this order."""
    new = places[block.indices]
    known = new >= 0
    before = np.concatenate([[0], np.cumsum(known)])
    chosen = sparse.csr_matrix(
        (block.data[known].astype(dtype), new[known], before[block.indptr]),
        shape=(block.shape[0], int(places.max()) + 1),
    )
    chosen.sort_indices()
    return chosen


def text_blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield the texts in lists of a few megabytes, their types checked."""
    if isinstance(texts, str):
        raise DataError(
            "texts is one string. Give a list of strings, one per document."
        )
    block: list[str] = []
    size = 0
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(
                f"texts[{row}] is of type {type(text).__name__}, not str. Give a "
                'string for every document, "" for an empty one.'
            )
        block.append(text)
        size += len(text)
        if size >= _BLOCK_CHARACTERS or len(block) >= _BLOCK_DOCUMENTS:
            yield block
            block, size = [], 0
    if block:
        yield block


def _numbered(vocabulary: Sequence[str]) -> dict[str, int]:
    words = list(vocabulary)
    if not all(isinstance(word, str) for word in words):
        raise DataError("vocabulary holds something that is not a string. Give words.")
    twice = repeated(words)
    if not words or twice is not None:
        problem = "is empty" if not words else f"has {twice!r} twice"
        raise DataError(f"vocabulary {problem}. Give every word once, one per column.")
    return {word: number for number, word in enumerate(words)}


def repeated(words: Iterable[str]) -> str | None:
    """Return a word that comes twice, or None."""
    seen: set[str] = set()
    for word in words:
        if word in seen:
            return word
        seen.add(word)
    return None


def checked_range(ngram_range: Sequence[int]) -> tuple[int, int]:
    """Return the lengths of the shortest and the longest run of words."""
    try:
        shortest, longest = ngram_range
    except (TypeError, ValueError):
        shortest = longest = 0
    whole = _is_whole(shortest) and _is_whole(longest)
    if not (whole and 1 <= shortest <= longest <= LONGEST_RUN):
        raise DataError(
            f"ngram_range={ngram_range!r} is not a pair of a shortest and a longest "
            f"run of words, such as (1, 2), of at most {LONGEST_RUN} words."
        )
    return int(shortest), int(longest)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
