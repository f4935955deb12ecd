# SPDX-License-Identifier: BSD-3-Clause
"""Writing the report: data, template, style and script in one file."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicfold.exceptions import DataError
from topicfold.persistence.atomic import write_atomically
from topicfold.report.against import model_title
from topicfold.report.content import page_content
from topicfold.report.page import WordMarker, pack_clean_strings, render_page, shorten
from topicfold.topic_data import TopicData

MAX_DOCUMENTS = 100_000
# Every two topics are compared: with more of them this takes minutes and gigabytes.
MAX_TOPICS = 5_000
SIZE_LIMIT = 12_000_000
_LONGEST_TYPICAL = 3_000
# Lengths that are tried. Texts shorter than 60 letters tell nothing: only typical
# documents keep theirs then.
_LENGTHS = [0, *np.geomspace(60, 20_000, 60).astype(int).tolist()]
_N_TRIED = 300


def write_report(data: TopicData, path: str | os.PathLike[str], **options: Any) -> Path:
    """Write the report: one HTML file that opens offline in any browser since 2023.

    Parameters
    ----------
    data : TopicData
        The topics; the page has a view for all that is known of the documents.
    path : str or path
        The file; replaced whole, or left as it was if something fails.
    **options
        Those of `report_html`: title, counts, against, max_documents, size_limit, …

    Returns
    -------
    Path
        The file written.

    Examples
    --------
    >>> import tempfile
    >>> data = TopicData(topics=[[0.7, 0.3], [0.1, 0.9]], vocabulary=["cat", "tax"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(data, f"{folder}/report.html").name
    'report.html'
    """
    file = Path(path)
    if file.is_dir():
        raise DataError(f"{file} is a folder. Give the name of a file, report.html.")
    if file.suffix.lower() not in ("", ".html", ".htm"):
        raise DataError(f"{file} would be a page of HTML. Give a name with .html.")
    if not file.parent.is_dir():
        raise DataError(f"there is no folder {file.parent}. Make it, or give another.")
    page = report_html(data, **options)

    def write(temporary: Path) -> None:
        temporary.write_text(page, encoding="utf-8", newline="\n")

    write_atomically(file, write)
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
    against: TopicData | None = None,
    start: str = "",
) -> str:
    """Return the report as one string.

    Parameters
    ----------
    data : TopicData
        The topics; the page has a view for all that is known of the documents.
    title : str, optional
        Title of the page; default: the model and its number of topics.
    counts : sparse matrix of shape (n_documents, n_terms), optional
        Counts of the documents, for the NPMI coherence of the topics. Without them
        the words are counted in the texts, if there are any.
    coherence : sequence of float, optional
        Coherence of every topic, instead of NPMI.
    max_documents : int, default=100000
        Documents to show: the typical ones and a random sample if there are more.
    size_limit : int, default=12000000
        Maximum size of the file in bytes; texts are cut to fit.
    random_state : int, default=0
        Seed of the sample.
    term_of : callable, optional
        From a word in lower case to the term it counts as, such as its stem; to find
        the words of the vocabulary in the texts.
    against : TopicData, optional
        Another model, best of the same documents: a view shows both side by side, the
        topics matched, their words, and the documents that moved.
    start : str, default=""
        The view that the page opens with, such as "map".

    Returns
    -------
    str
        The page. It says what was left out or cut.

    Notes
    -----
    20,000 documents and 50 topics take a few seconds, 100,000 documents and 200 topics
    a minute, most of it for the map.

    Examples
    --------
    >>> data = TopicData(topics=[[0.7, 0.3]], vocabulary=["cat", "tax"])
    >>> report_html(data)[:15]
    '<!DOCTYPE html>'
    """
    if not isinstance(data, TopicData):
        raise DataError(
            f"a report is made from TopicData, not from {type(data).__name__}. Give "
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
    content, rows, typical = page_content(
        data,
        title=title or model_title(data),
        coherence=_coherence(data, counts, coherence),
        max_documents=max_documents,
        seed=random_state,
        against=against,
        start=start,
    )
    if data.texts is None or not len(rows):
        content["texts"] = None
    else:
        budget = size_limit - len(render_page(content, data)) - 2_000
        marker, longer = WordMarker(data, term_of), np.isin(rows, typical)
        notes = content["notes"]
        content["texts"] = _pack_texts(data, rows, longer, marker, budget, notes)
    page = render_page(content, data)
    # The page without scripts has names of its own, perhaps with lone surrogates.
    return page.encode("utf-8", "replace").decode("utf-8")


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
    from topicfold.corpus.vectorizing import LONGEST_RUN, vectorize

    # Only words that some topic lists have to be counted.
    columns = np.unique(data.top_term_ids(n_words))
    words = [data.vocabulary[column] for column in columns]
    sizes = [min(word.count(" ") + 1, LONGEST_RUN) for word in words]
    range_ = (min(sizes), max(sizes))
    found, _ = vectorize(data.texts, vocabulary=words, ngram_range=range_)
    if not found.nnz:
        return None
    return npmi_coherence(data.topics[:, columns], found, n_words=n_words).tolist()


def _pack_texts(
    data: TopicData,
    rows: NDArray[np.int64],
    typical: NDArray[np.bool_],
    marker: WordMarker,
    budget: int,
    notes: list[str],
) -> dict[str, Any]:
    """Return texts with marked words, as long as there is room; typical ones longer."""

    def packed(places: NDArray[np.int64], length: int) -> tuple[dict[str, Any], int]:
        """Return the texts of some places, cut, and how many were."""
        limits = np.where(typical, max(length, _LONGEST_TYPICAL), length)
        texts = [(data.texts or ())[row] for row in rows[places]]
        pairs = zip(texts, limits[places].tolist(), strict=True)
        short = [shorten(text, limit) if limit else "" for text, limit in pairs]
        marked = marker.mark(short, rows[places].tolist())
        return pack_clean_strings(marked), sum(text.endswith(" …") for text in short)

    everything = np.arange(len(rows))
    some = everything[:: max(1, len(everything) // _N_TRIED)]
    # Judged by some of the texts; then shorter, if all take more room.
    room = budget * len(some) / len(everything)
    place = bisect_right(
        _LENGTHS, room, key=lambda length: len(packed(some, length)[0]["data"])
    )
    for length in reversed(_LENGTHS[: max(place, 1)]):
        found, n_cut = packed(everything, length)
        if len(found["data"]) <= budget:
            break
    if length == 0:
        notes.append(
            "Only typical documents have their texts here (about "
            f"{_LONGEST_TYPICAL:,} letters), to keep the file small."
        )
    elif n_cut:
        more = length < _LONGEST_TYPICAL
        longer = f" (typical documents: {_LONGEST_TYPICAL:,})" if more else ""
        notes.append(
            f"{n_cut:,} text{'s are' if n_cut > 1 else ' is'} cut to about "
            f"{length:,} letters{longer}, to keep the file small."
        )
    return found
