# SPDX-License-Identifier: BSD-3-Clause
"""Scripts that are written without spaces, in which a run of letters is a sentence."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from itertools import islice

from topicfold.exceptions import DataWarning

# Where Unicode has the letters of Chinese and Japanese, Thai, Lao, Burmese and Khmer.
_UNSPACED = {
    "Chinese or Japanese": ((0x3040, 0x30FF), (0x3400, 0x9FFF), (0x20000, 0x3134F)),
    "Thai or Lao": ((0x0E00, 0x0EFF),),
    "Burmese or Khmer": ((0x1000, 0x109F), (0x1780, 0x17FF)),
}
_CUTTERS = {
    "Chinese or Japanese": "jieba.lcut for Chinese, or fugashi for Japanese",
    "Thai or Lao": "pythainlp.word_tokenize",
    "Burmese or Khmer": "pyidaungsu.tokenize or khmernltk.word_tokenize",
}
# How many words are looked at, and the mean length above which they are phrases.
_LOOKED_AT = 2000
_LONGEST_WORD = 4.5


def warn_unspaced(words: Iterable[str]) -> None:
    """Warn if words look like sentences of a script that has no spaces.

    Examples
    --------
    >>> warn_unspaced(["fox", "sea"])
    """
    lengths: dict[str, list[int]] = {name: [] for name in _UNSPACED}
    looked_at = 0
    for word in islice(words, _LOOKED_AT):
        looked_at += 1
        if not word.isascii():
            code = ord(word[0])
            for name, ranges in _UNSPACED.items():
                if any(low <= code <= high for low, high in ranges):
                    lengths[name].append(len(word))
    for name, found in lengths.items():
        if 2 * len(found) > looked_at and sum(found) > _LONGEST_WORD * len(found):
            warnings.warn(
                f"The texts are in {name}, which is written without spaces, so most "
                f"terms are whole phrases (mean length {sum(found) / len(found):.0f} "
                "letters). Cut the texts into words with a function given as tokens, "
                f"such as {_CUTTERS[name]}; or put spaces between words and say "
                "tokens='spaces'.",
                DataWarning,
                stacklevel=4,
            )
