# SPDX-License-Identifier: BSD-3-Clause
"""Writing the report: data, template, style and script in one file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from topicfold.exceptions import DataError
from topicfold.persistence.atomic import write_atomically
from topicfold.report.content import PageContent, page_content
from topicfold.report.packing import pack_clean_strings
from topicfold.report.page import render_page
from topicfold.report.texts import WordMarker, shorten
from topicfold.topic_data import TopicData

MAX_DOCUMENTS = 20_000
# Every two topics are compared: with more of them this takes minutes and gigabytes.
MAX_TOPICS = 5_000
SIZE_LIMIT = 5_000_000
_LONGEST_TEXT = 20_000
_LONGEST_TYPICAL = 3_000
# Texts shorter than this tell nothing: the limit is passed over rather.
_SHORTEST_TEXT = 80
_N_TRIED = 300
# Bytes that a letter of text takes, marks included, before it is measured.
_USUAL_SHARE = 0.7


def write_report(
    data: TopicData,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    counts: Any = None,
    coherence: Sequence[float] | None = None,
    max_documents: int = MAX_DOCUMENTS,
    size_limit: int = SIZE_LIMIT,
    random_state: int = 0,
    term_of: Callable[[str], str] | None = None,
) -> Path:
    """Write the report: one HTML file that opens offline in any browser since 2023.

    Parameters
    ----------
    data : TopicData
        The topics; the page has a view for all that is known of the documents.
    path : str or path
        The file; replaced whole, or left as it was if something fails.
    title : str, optional
        Title of the page; default: the model and its number of topics.
    counts : sparse matrix of shape (n_documents, n_terms), optional
        Counts of the documents, for the NPMI coherence of the topics. Without them
        the words are counted in the texts, if there are any.
    coherence : sequence of float, optional
        Coherence of every topic, instead of NPMI.
    max_documents : int, default=20000
        Documents to show: the typical ones and a random sample if there are more.
    size_limit : int, default=5000000
        Bytes that the file should have at most; texts are cut accordingly.
    random_state : int, default=0
        Seed of the sample.
    term_of : callable, optional
        From a word in lower case to the term it counts as, such as its stem; to find
        the words of the vocabulary in the texts.

    Returns
    -------
    Path
        The file written.

    Notes
    -----
    What is left out or cut is said on the page. 20,000 documents and 50 topics take
    a few seconds, most of it for the map.

    Examples
    --------
    >>> import tempfile
    >>> data = TopicData(topics=[[0.7, 0.3], [0.1, 0.9]], vocabulary=["cat", "tax"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(data, f"{folder}/report.html").name
    'report.html'
    """
    page = report_html(
        data,
        title=title,
        counts=counts,
        coherence=coherence,
        max_documents=max_documents,
        size_limit=size_limit,
        random_state=random_state,
        term_of=term_of,
    )
    file = Path(path)
    if file.is_dir():
        raise DataError(f"{file} is a folder. Give the name of a file, report.html.")
    write_atomically(file, lambda temporary: _write(temporary, page.encode("utf-8")))
    return file


def report_html(
    data: TopicData,
    *,
    title: str | None = None,
    counts: Any = None,
    coherence: Sequence[float] | None = None,
    max_documents: int = MAX_DOCUMENTS,
    size_limit: int = SIZE_LIMIT,
    random_state: int = 0,
    term_of: Callable[[str], str] | None = None,
) -> str:
    """Return the report as one string; see `write_report`.

    Examples
    --------
    >>> data = TopicData(topics=[[0.7, 0.3]], vocabulary=["cat", "tax"])
    >>> report_html(data)[:15]
    '<!DOCTYPE html>'
    """
    if not isinstance(data, TopicData):
        raise DataError(
            f"a report is made of TopicData, not of {type(data).__name__}. Give "
            "model.topic_data(words)."
        )
    if data.n_topics > MAX_TOPICS:
        raise DataError(
            f"a report shows up to {MAX_TOPICS:,} topics, and the model has "
            f"{data.n_topics:,}. Fit fewer."
        )
    if max_documents < 1 or size_limit < 1:
        raise DataError(
            f"max_documents ({max_documents!r}) and size_limit ({size_limit!r}) must "
            "be at least 1."
        )
    content = page_content(
        data,
        title=title or _title(data),
        coherence=_coherence(data, counts, coherence),
        max_documents=max_documents,
        seed=random_state,
    )
    used = len(render_page(content.page, data))
    marker = WordMarker(data, term_of)
    texts = _pack_texts(data, content, marker, size_limit - used - 2_000)
    page = render_page({**content.page, "texts": texts}, data)
    # The page without scripts has names of its own, perhaps with lone surrogates.
    return page.encode("utf-8", "replace").decode("utf-8")


def _title(data: TopicData) -> str:
    plural = "s" if data.n_topics != 1 else ""
    return f"{data.settings.get('model', 'Topic model')}, {data.n_topics} topic{plural}"


def _coherence(
    data: TopicData, counts: Any, coherence: Sequence[float] | None
) -> Sequence[float] | None:
    if coherence is not None:
        if len(coherence) != data.n_topics:
            raise DataError(
                f"coherence has {len(coherence)} values for {data.n_topics} topics."
            )
        return coherence
    if data.n_terms < 2:
        return None
    from topicfold.metrics import npmi_coherence

    n_words = min(10, data.n_terms)
    if counts is not None:
        return npmi_coherence(data.topics, counts, n_words=n_words).tolist()
    if not data.texts or not any(data.texts):
        return None
    from topicfold.corpus import vectorize

    # Only words that some topic lists have to be counted.
    columns = np.unique(data.top_term_ids(n_words))
    words = [data.vocabulary[column] for column in columns]
    found, _ = vectorize(data.texts, vocabulary=words, ngram_range=_sizes(words))
    if not found.nnz:
        return None
    return npmi_coherence(data.topics[:, columns], found, n_words=n_words).tolist()


def _sizes(words: Sequence[str]) -> tuple[int, int]:
    lengths = [word.count(" ") + 1 for word in words]
    return min(lengths), max(lengths)


def _pack_texts(
    data: TopicData, content: PageContent, marker: WordMarker, budget: int
) -> dict[str, Any] | None:
    """Return the texts, marked, of the length for which there is room."""
    if data.texts is None or not len(content.rows):
        return None
    texts = [data.texts[row] for row in content.rows]
    rows = content.rows.tolist()
    typical = np.isin(content.rows, content.typical)
    length = _fitting_length(marker, texts, rows, typical, budget)
    while True:
        short = _cut(texts, typical, length)
        packed = pack_clean_strings(marker.mark(short, rows))
        if len(packed["data"]) <= budget or length <= _SHORTEST_TEXT:
            break
        ratio = 0.95 * budget / len(packed["data"])
        length = max(_SHORTEST_TEXT, int(length * ratio))
    n_cut = sum(text.endswith(" …") for text in short)
    if n_cut:
        content.page["notes"].append(
            f"{n_cut:,} texts are cut to about {length:,} letters (typical documents: "
            f"{max(length, _LONGEST_TYPICAL):,}), to keep the file small."
        )
    return packed


def _fitting_length(
    marker: WordMarker,
    texts: Sequence[str],
    rows: Sequence[int],
    typical: Any,
    budget: int,
) -> int:
    """Return the length at which all texts should fit, judged by some of them."""
    lengths = np.array([len(text) for text in texts])
    some = np.arange(0, len(texts), max(1, len(texts) // _N_TRIED))
    room = budget / _USUAL_SHARE
    for _ in range(2):
        length = _longest_cut(lengths, typical, room)
        short = _cut([texts[i] for i in some.tolist()], typical[some], length)
        marked = marker.mark(short, [rows[i] for i in some.tolist()])
        letters = max(1, int(_cut_lengths(lengths[some], typical[some], length).sum()))
        room = 0.98 * budget * letters / max(1, _packed_size(marked))
    return _longest_cut(lengths, typical, room)


def _longest_cut(lengths: Any, typical: Any, room: float) -> int:
    """Return the largest length at which so many letters are left of all texts."""
    low, high = _SHORTEST_TEXT, _LONGEST_TEXT
    while low < high:
        middle = (low + high + 1) // 2
        fits = _cut_lengths(lengths, typical, middle).sum() <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _cut_lengths(lengths: Any, typical: Any, length: int) -> Any:
    return np.minimum(lengths, np.where(typical, max(length, _LONGEST_TYPICAL), length))


def _cut(texts: Sequence[str], typical: Any, length: int) -> list[str]:
    """Cut texts; those that people are led to keep more of themselves."""
    more = max(length, _LONGEST_TYPICAL)
    return [
        shorten(text, more if keep else length)
        for text, keep in zip(texts, typical, strict=True)
    ]


def _packed_size(texts: Sequence[str]) -> int:
    return len(pack_clean_strings(texts)["data"])


def _write(file: Path, content: bytes) -> None:
    file.write_bytes(content)
