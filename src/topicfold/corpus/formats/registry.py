# SPDX-License-Identifier: BSD-3-Clause
"""The matrix formats by name and by the names of their files."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from topicfold.corpus.formats import coordinates, npz, rows
from topicfold.corpus.formats.parts import Parts
from topicfold.corpus.record import Corpus


@dataclass(frozen=True)
class MatrixFormat:
    """One format.

    Attributes
    ----------
    name : str
        Name for ``format=``.
    title : str
        What it is.
    suffixes : tuple of str
        Endings of file names, before .gz.
    read : callable
        From a path to `Parts`.
    write : callable
        From a corpus and a path to the side files it needs; writes the path.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    read: Callable[[Path], Parts]
    write: Callable[[Corpus, Path], dict[str, list[str]]]


FORMATS = {
    format.name: format
    for format in (
        MatrixFormat("ldac", "LDA-C", (".ldac",), rows.read_ldac, rows.write_ldac),
        MatrixFormat(
            "uci",
            "UCI bag of words",
            (".uci",),
            coordinates.read_uci,
            coordinates.write_uci,
        ),
        MatrixFormat(
            "mm",
            "MatrixMarket",
            (".mtx", ".mm"),
            coordinates.read_mm,
            coordinates.write_mm,
        ),
        MatrixFormat(
            "svmlight",
            "SVMlight, LIBSVM",
            (".svmlight", ".svm", ".libsvm"),
            rows.read_svmlight,
            rows.write_svmlight,
        ),
        MatrixFormat(
            "mallet",
            "MALLET's text form",
            (".mallet",),
            rows.read_mallet,
            rows.write_mallet,
        ),
        MatrixFormat("npz", "SciPy's sparse matrix", (".npz",), npz.read, npz.write),
    )
}
_UCI = re.compile(r"docword\..*txt", re.IGNORECASE)


def matrix_format(path: Path) -> MatrixFormat | None:
    """Return the format that a name shows, or None.

    Examples
    --------
    >>> matrix_format(Path("docword.kos.txt.gz")).name, matrix_format(Path("a.csv"))
    ('uci', None)
    """
    name: Any = path.name.lower().removesuffix(".gz").removesuffix(".zst")
    if _UCI.fullmatch(name):
        return FORMATS["uci"]
    suffix = Path(name).suffix
    return next((f for f in FORMATS.values() if suffix in f.suffixes), None)
