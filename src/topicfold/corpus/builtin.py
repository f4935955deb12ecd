# SPDX-License-Identifier: BSD-3-Clause
"""The built-in labelled corpus: the docstrings of NumPy, SciPy and scikit-learn.

Every user of topicfold has it, no download needed. A document is the docstring of a
public function, class, method or property; its class is the sub-package that documents
it.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import importlib.metadata
import inspect
import logging
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from topicfold.corpus.record import Corpus
from topicfold.corpus.tokens import words_of
from topicfold.corpus.vectorizing import Bounds, vectorize
from topicfold.exceptions import DataError, ModelFileError
from topicfold.persistence.bundle import (
    pack_counts,
    read_bundle,
    unpack_counts,
    write_bundle,
)

logger = logging.getLogger(__name__)

# Raise when the rules of this file, of docstrings or of vectorizing change.
_FORMAT = 3
_CACHE = "docs"
_MIN_WORDS = 5
_MIN_CLASS = 30
_MOST_REPEATS = 20

# The public modules, in order of precedence: a text that several of them show belongs
# to the first. So special modules stand before general ones, and those that copy the
# texts of others (ma, fftpack, mstats) behind them.
_MODULES = {
    "numpy": "linalg fft random polynomial polynomial.polynomial polynomial.chebyshev "
    "polynomial.hermite polynomial.hermite_e polynomial.laguerre polynomial.legendre "
    "strings rec ctypeslib lib.stride_tricks . ma",
    "scipy": "cluster.hierarchy cluster.vq constants datasets differentiate fft "
    "integrate interpolate io io.arff io.wavfile linalg linalg.blas linalg.lapack "
    "linalg.interpolative ndimage odr optimize optimize.elementwise signal "
    "signal.windows sparse.linalg sparse.csgraph sparse spatial spatial.distance "
    "spatial.transform special stats stats.qmc stats.contingency stats.sampling "
    "stats.mstats fftpack",
    "sklearn": "base calibration cluster compose covariance cross_decomposition "
    "datasets decomposition discriminant_analysis dummy ensemble feature_extraction "
    "feature_extraction.text feature_extraction.image feature_selection frozen "
    "gaussian_process gaussian_process.kernels impute inspection isotonic "
    "kernel_approximation kernel_ridge linear_model manifold metrics metrics.cluster "
    "metrics.pairwise mixture model_selection multiclass multioutput naive_bayes "
    "neighbors neural_network pipeline preprocessing random_projection "
    "semi_supervised svm tree utils",
}
# Deeper modules that are classes of their own; others belong to their parents.
_OWN_CLASS = frozenset({"scipy.sparse.linalg", "scipy.sparse.csgraph"})

# Sections that say little about the subject: citations, and the method tables that
# SciPy writes alike into every distribution.
_DROPPED_SECTIONS = frozenset({"references", "methods"})
# A title, and the line under it.
_HEADING = re.compile(
    r"^[ \t]*(\S.{,38})\n[ \t]*[-=~]{3,}[ \t]*(?:\n|\Z)", re.MULTILINE
)
# A directive with all that is indented deeper, or a doctest to the next blank line.
_SKIPPED = re.compile(
    r"^(?:([ \t]*)\.\. (?:math|plot|code|code-block|sourcecode|image|figure|index"
    r"|versionadded|versionchanged|versionremoved)::.*(?:\n(?:[ \t]*$|\1[ \t]+\S.*))*"
    r"|[ \t]*>>>.*(?:\n.*\S.*)*)\n?",
    re.MULTILINE,
)
_NOISE = re.compile(
    r"https?://\S+"  # addresses
    r"|:math:`[^`]*`"  # formulas within the line
    r"|\[\w+\]_"  # citation marks
    r"|\\\w+"  # LaTeX left over
)
# The signature that compiled functions carry in the first line.
_SIGNATURE = re.compile(r"\A[\w.]+\(.*\)(?: ->.*)?\n+")
_PARAGRAPHS = re.compile(r"\n[^\S\n]*\n+")
_ROLE = re.compile(r":(?:\w+:)?\w+:(?=`)")

_LISTED = (resources.files("topicfold.corpus") / "docs_stop_words.txt").read_text(
    "utf-8"
)
STOP_WORDS = frozenset(re.sub("#.*", "", _LISTED).split())


def load_docs(
    *,
    subset: str | Iterable[str] | None = None,
    min_df: int | float = 3,
    max_df: int | float = 0.3,
    cached: bool = True,
) -> Corpus:
    """Load the built-in corpus: docstrings of NumPy, SciPy and scikit-learn.

    About 3,500 documents in some 30 classes such as ``scipy.signal`` or
    ``sklearn.cluster``; the exact numbers follow the installed versions. Examples,
    formulas and citations are left out of the texts; English function words and the
    boilerplate of docstrings (also lines that more than 20 documents share) are not
    counted. Documents that say the same or less than 5 words are left out, and so are
    classes of fewer than 30 documents.

    Parameters
    ----------
    subset : str or iterable of str, optional
        Only these classes, in the order of the corpus. The name of a package
        (``"sklearn"``) means all classes below it and itself.
    min_df, max_df : int or float, default=3 and 0.3
        Keep words that occur in at least `min_df` and at most `max_df` documents (of
        the subset); a float is a share of the documents.
    cached : bool, default=True
        Read and write the user's cache folder (see `cache_path`): the first call
        takes some seconds, later ones a fraction of one.

    Returns
    -------
    Corpus
        With counts, labels, texts (with the shared lines, for reading), and the
        qualified names as ids; sorted by name within each module.

    Examples
    --------
    >>> corpus = load_docs(subset=["scipy.signal", "scipy.stats"], cached=False)
    >>> corpus.encoded_labels()[1]
    ['scipy.signal', 'scipy.stats']
    """
    corpus = _cached_docs() if cached else _build_docs()
    if subset is not None:
        corpus = corpus.select(_rows_of(corpus.labels or [], subset))
    return _prune_terms(corpus, min_df, max_df)


def cache_path() -> Path | None:
    """Return the cache folder, or None where the user has no home.

    It is TOPICFOLD_CACHE, else XDG_CACHE_HOME/topicfold, else ~/.cache/topicfold.

    Returns
    -------
    Path or None

    Examples
    --------
    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, {"TOPICFOLD_CACHE": "/somewhere/else"}):
    ...     cache_path().as_posix()
    '/somewhere/else'
    """
    own = os.environ.get("TOPICFOLD_CACHE")
    if own:
        return Path(own).expanduser()
    shared = os.environ.get("XDG_CACHE_HOME")
    # The XDG specification asks to ignore relative paths.
    if shared and Path(shared).is_absolute():
        return Path(shared) / "topicfold"
    try:
        return Path.home() / ".cache" / "topicfold"
    except RuntimeError:
        return None


def _cached_docs() -> Corpus:
    """Return all documents, from the cache where it has them; it is never an error."""
    folder = cache_path()
    if folder is None:
        return _build_docs()
    versions = [
        f"{name}{importlib.metadata.version(name)}"
        for name in ("numpy", "scipy", "scikit-learn")
    ]
    python = f"py{sys.version_info.major}.{sys.version_info.minor}"
    name = "-".join(["docs", f"v{_FORMAT}", *versions, python])
    file = folder / f"{name}.safetensors"
    try:
        if file.is_file():
            found = read_bundle(file, kind=_CACHE)
            known: dict[str, Any] = dict(found.strings)
            counts = unpack_counts(found.arrays, "counts", len(known["vocabulary"]))
            return Corpus(counts=counts, name="docs", **known)
    except (KeyError, TypeError, ValueError) as error:
        logger.warning("cache file %s is damaged and will be rebuilt: %s", file, error)
    corpus = _build_docs()
    fields = ("vocabulary", "labels", "ids", "texts")
    strings = {field: getattr(corpus, field) for field in fields}
    try:
        arrays = pack_counts(corpus.counts, "counts")
        write_bundle(file, kind=_CACHE, arrays=arrays, strings=strings)
    except ModelFileError as error:
        logger.info("the cache cannot be written: %s", error)
    return corpus


def _build_docs() -> Corpus:
    """Collect, clean and count all documents, with every word but stop words."""
    if sys.flags.optimize >= 2:
        raise DataError(
            "Python runs with -OO, which removes the docstrings this corpus is made "
            "of. Run without -OO (and unset PYTHONOPTIMIZE)."
        )
    found = list(_walk())
    texts = [prose(docstring) for _, _, docstring in found]
    reduced = without_boilerplate(texts, most=_MOST_REPEATS)
    rows: list[int] = []
    seen: set[str] = set()
    for row, text in enumerate(reduced):
        words = [word for word in words_of(text) if word not in STOP_WORDS]
        key = " ".join(words)
        if len(words) >= _MIN_WORDS and key not in seen:
            seen.add(key)
            rows.append(row)
    sizes = Counter(found[row][0] for row in rows)
    rows = [row for row in rows if sizes[found[row][0]] >= _MIN_CLASS]
    counts, vocabulary = vectorize(
        [reduced[row] for row in rows], stop_words=STOP_WORDS, min_df=1, max_df=1.0
    )
    return Corpus(
        counts=counts,
        vocabulary=vocabulary,
        labels=[found[row][0] for row in rows],
        ids=[found[row][1] for row in rows],
        texts=[texts[row] for row in rows],
        name="docs",
    )


def _walk() -> Iterator[tuple[str, str, str]]:
    """Yield (class, qualified name, docstring) of all public objects, in order."""
    for package, names in _MODULES.items():
        for name in names.split():
            path = package if name == "." else f"{package}.{name}"
            module = _import(path)
            if module is None:
                continue
            label = path if path in _OWN_CLASS else ".".join(path.split(".")[:2])
            for member, value in _members(module):
                qualified = f"{path}.{member}"
                docstring = _docstring(value)
                if docstring:
                    yield label, qualified, docstring
                if isinstance(value, type) and value.__module__.startswith(package):
                    for method, inner in sorted(vars(value).items()):
                        docstring = _docstring(inner)
                        public = method[0] != "_" and not isinstance(inner, type)
                        if docstring and public:
                            yield label, f"{qualified}.{method}", docstring


def _import(path: str) -> ModuleType | None:
    """Import a module in silence; a module this version does not have is None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(path)
        except ImportError:
            return None


def _members(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield the public members of a module; what warns or fails is left out."""
    listed = getattr(module, "__all__", None)
    names = listed if listed is not None else vars(module)
    for name in sorted({name for name in names if not name.startswith("_")}):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                value = getattr(module, name)
            except Exception:
                continue
        if caught or isinstance(value, ModuleType):
            continue
        home = getattr(value, "__module__", None)
        if listed is not None or home == module.__name__:
            yield name, value


def _docstring(value: Any) -> str | None:
    """Return the docstring that is the object's own, not that of its type."""
    docstring = getattr(value, "__doc__", None)
    if not isinstance(docstring, str) or docstring == type(value).__doc__:
        return None
    return docstring


def _rows_of(labels: list[str], subset: str | Iterable[str]) -> list[int]:
    classes = sorted(set(labels))
    wanted: set[str] = set()
    for name in [subset] if isinstance(subset, str) else subset:
        found = {c for c in classes if c == name or c.startswith(f"{name}.")}
        # "numpy" is both a class and a package, scipy.sparse likewise: a full class
        # name means this class, a bare package name all of it.
        if "." in name and name in found:
            found = {name}
        if not found:
            near = difflib.get_close_matches(name, classes) or classes
            raise DataError(
                f"subset has {name!r}, which is not a class of the built-in corpus. "
                f"Did you mean {', '.join(near)}?"
            )
        wanted |= found
    return [row for row, label in enumerate(labels) if label in wanted]


def _prune_terms(corpus: Corpus, min_df: int | float, max_df: int | float) -> Corpus:
    """Keep the words whose document frequency is within bounds."""
    there, frequencies = np.unique(corpus.counts.indices, return_counts=True)
    kept, _ = Bounds(min_df, max_df, None).kept(frequencies, corpus.n_documents)
    keep = there[kept]
    words = [corpus.vocabulary[column] for column in keep]
    return dataclasses.replace(corpus, counts=corpus.counts[:, keep], vocabulary=words)


def prose(docstring: str) -> str:
    """Return the readable part of a numpydoc docstring.

    Drops doctest lines with their output, section headings, formulas, citations,
    addresses, and the sections that repeat in every docstring; keeps paragraphs,
    parameter descriptions and the names of related functions.
    """
    text = _SKIPPED.sub("", _SIGNATURE.sub("", inspect.cleandoc(docstring)))
    first, *rest = _HEADING.split(text)
    sections = zip(rest[::2], rest[1::2], strict=True)
    kept = [
        body
        for title, body in sections
        if title.strip().lower() not in _DROPPED_SECTIONS
    ]
    lines = "".join([first, *kept]).split("\n")
    clean = "\n".join(_ROLE.sub("", _NOISE.sub(" ", line)).rstrip() for line in lines)
    return re.sub(r"\n{3,}", "\n\n", clean).strip()


def without_boilerplate(texts: list[str], *, most: int) -> list[str]:
    r"""Drop lines that many texts have word for word, and notes on array backends."""
    texts = [
        "\n\n".join(
            paragraph
            for paragraph in _PARAGRAPHS.split(text)
            if "Array API Standard" not in " ".join(paragraph.split())
        )
        for text in texts
    ]
    frequency = Counter(
        line for text in texts for line in {line.strip() for line in text.split("\n")}
    )
    common = {
        line
        for line, count in frequency.items()
        if count > most and len(line.split()) >= 3
    }
    return [
        "\n".join(
            line for line in text.split("\n") if line.strip() not in common
        ).strip()
        for text in texts
    ]
