# SPDX-License-Identifier: BSD-3-Clause
"""The field's matrix formats, each read and written: counts in, counts out.

==========  ============================================  =============================
name        what a file looks like                        names
==========  ============================================  =============================
ldac        LDA-C: one document per line, ``2 0:1 7:3``   .ldac
uci         UCI bag of words: three sizes, then one line  .uci, docword.NAME.txt
            ``document word count`` per entry, from 1
mm          MatrixMarket, coordinates, general            .mtx, .mm
svmlight    SVMlight and LIBSVM: ``label 1:1 8:3``        .svmlight, .svm, .libsvm
mallet      MALLET's import-file text form: one document  .mallet
            per line, ``id label word word ...``
npz         SciPy's sparse matrix                         .npz
==========  ============================================  =============================

What a format cannot hold is written beside the file, one line per word or document:
``FILE.vocab``, ``FILE.labels``, ``FILE.ids``, ``FILE.times``, ``FILE.split``. With
these a corpus comes back as it was: shape, counts, words and what is known of
documents (texts and links are not written). Whole counts come back as int32 (int64
where they must), others as float64; npz keeps the type. Where there is no FILE.vocab,
vocab.NAME.txt beside docword.NAME.txt, gensim's dictionary as text beside NAME.mm
(NAME.mm.dict, NAME.dict, NAME_wordids.txt) and vocab.txt are looked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from scipy import sparse

from topicfold.corpus.formats.coordinates import read_mm, read_uci, write_mm, write_uci
from topicfold.corpus.formats.parts import Parts
from topicfold.corpus.formats.rows import (
    read_ldac,
    read_mallet,
    read_svmlight,
    write_ldac,
    write_mallet,
    write_svmlight,
)
from topicfold.corpus.npz import load_counts
from topicfold.corpus.record import Corpus

__all__ = ["FORMATS", "MatrixFormat", "matrix_format"]


class MatrixFormat(NamedTuple):
    """One format."""

    name: str
    title: str
    suffixes: tuple[str, ...]
    read: Callable[[Path], Parts]
    write: Callable[[Corpus, Path], dict[str, list[str]]]


def _write_npz(corpus: Corpus, path: Path) -> dict[str, list[str]]:
    with path.open("wb") as stream:
        sparse.save_npz(stream, corpus.counts)
    return {}


_SVMLIGHT = (".svmlight", ".svm", ".libsvm")
FORMATS = {
    row[0]: MatrixFormat(*row)
    for row in (
        ("ldac", "LDA-C", (".ldac",), read_ldac, write_ldac),
        ("uci", "UCI bag of words", (".uci",), read_uci, write_uci),
        ("mm", "MatrixMarket", (".mtx", ".mm"), read_mm, write_mm),
        ("svmlight", "SVMlight, LIBSVM", _SVMLIGHT, read_svmlight, write_svmlight),
        ("mallet", "MALLET's text form", (".mallet",), read_mallet, write_mallet),
        (
            "npz",
            "SciPy's sparse matrix",
            (".npz",),
            lambda path: Parts(load_counts(path)),
            _write_npz,
        ),
    )
}
_UCI = re.compile(r"docword\..*txt", re.IGNORECASE)


def matrix_format(path: Path) -> MatrixFormat | None:
    """Return the format that a name shows, or None."""
    name = path.name.lower().removesuffix(".gz").removesuffix(".zst")
    if _UCI.fullmatch(name):
        return FORMATS["uci"]
    suffix = Path(name).suffix
    return next((f for f in FORMATS.values() if suffix in f.suffixes), None)
