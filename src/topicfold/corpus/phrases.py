# SPDX-License-Identifier: BSD-3-Clause
"""Phrases: words that occur together more often than by chance, counted as one term.

After ToPMine (El-Kishky, Song, Wang, Voss & Han 2014, doi:10.14778/2735508.2735519):
groups of words that follow each other grow while they are frequent and significant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

Words = Sequence[str]

# The least count of a phrase, by how many standard deviations it must exceed what
# chance expects, and the most words that it may have.
MIN_COUNT = 5
SIGNIFICANCE = 3.0
LONGEST = 4
# Between the terms of a document whose phrases were found; no word has it.
BETWEEN = "\t"


def find_phrases(documents: Sequence[Words]) -> set[str]:
    """Return the phrases of documents, their words joined by blanks.

    A document is a list of words; "" is a place where no phrase goes on. Two
    neighbours with counts a and b among n words are joined if they meet c times,
    ``c ≥ 5`` and ``(c − a·b/n) / √c ≥ 3``; joined pairs go on as one word, twice more.

    Examples
    --------
    >>> text = "support vector machine or neural network".split()
    >>> noise = [[f"w{i}", "support", f"v{i}", "network"] for i in range(40)]
    >>> sorted(find_phrases([text[:3], text[4:]] * 20 + noise))
    ['neural network', 'support vector', 'support vector machine', 'vector machine']
    """
    phrases: set[str] = set()
    lists: Sequence[Words] = documents
    for _ in range(LONGEST - 1):
        single = Counter(word for words in lists for word in words if word)
        pairs = Counter(pair for words in lists for pair in pairwise(words))
        n = sum(single.values())
        new = set()
        for (first, second), count in pairs.items():
            if count < MIN_COUNT or not first or not second:
                continue
            chance = single[first] * single[second] / n
            joined = f"{first} {second}"
            if (count - chance) / count**0.5 < SIGNIFICANCE:
                continue
            if joined.count(" ") < LONGEST:
                new.add(joined)
        if new <= phrases:
            break
        phrases |= new
        lists = segmented(documents, phrases)
    return phrases


def segmented(documents: Iterable[Words], phrases: Iterable[str]) -> list[list[str]]:
    """Return the terms of documents: from left to right, the longest phrase first.

    Examples
    --------
    >>> segmented([["big", "neural", "network", "", "neural"]], ["neural network"])
    [['big', 'neural network', '', 'neural']]
    """
    known = set(phrases)
    longest = max((phrase.count(" ") + 1 for phrase in known), default=1)
    starts = {phrase.partition(" ")[0] for phrase in known}
    found = []
    for words in documents:
        terms, place = [], 0
        while place < len(words):
            size = 1
            if words[place] in starts:
                most = min(longest, len(words) - place)
                size = next(
                    (
                        n
                        for n in range(most, 1, -1)
                        if " ".join(words[place : place + n]) in known
                    ),
                    1,
                )
            terms.append(" ".join(words[place : place + size]))
            place += size
        found.append(terms)
    return found
