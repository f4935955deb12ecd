# SPDX-License-Identifier: BSD-3-Clause
"""Passages of texts, and results that show themselves."""

import numpy as np

from topicfold.search.ranking import Hits
from topicfold.search.words import marked, snippet, with_texts

LONG = "Nothing here. " * 30 + "A red fox met a blue fish. " + "Nothing there. " * 30


def test_the_passage_has_most_of_the_words():
    found = snippet("A fox. " + LONG, ["fox", "fish"])
    assert "red fox met a blue fish" in found
    assert found.startswith("… ")
    assert found.endswith(" …")
    assert len(found) <= 164


def test_endings_are_found_and_parts_of_words_are_not():
    assert "foxtrot" not in marked("a foxtrot", ["fox"]).replace("a foxtrot", "")
    assert marked("two matrices, one matrix", ["matrix"]).count("<b>") == 1
    assert marked("signals", ["signal"]) == "<b>signals</b>"


def test_text_is_escaped():
    assert marked("<i> fox", ["fox"]) == "&lt;i&gt; <b>fox</b>"
    hits = Hits(np.array([0]), np.array([1.0]), ("<name>",))
    page = with_texts(hits, ["<script>\nfox & fish"], "fox")._repr_html_()
    assert "<script>" not in page
    assert "<b>fox</b> &amp; fish" in page
    assert "&lt;name&gt;" in page


def test_a_message_has_its_subject_as_title_and_no_header_in_its_passage():
    message = "From: ann@x.org\nSubject: The fox\nLines: 2\n\nIt sleeps in the wood."
    hits = with_texts(Hits(np.array([0]), np.array([1.0]), ("0",)), [message], "from")
    assert hits.titles == ("The fox",)
    assert hits.snippets == ("It sleeps in the wood.",)


def test_without_words_or_text():
    assert snippet("short", []) == "short"
    assert snippet("x" * 300, ["y"]).endswith("…")
    hits = with_texts(Hits(np.array([0]), np.array([1.0]), ("0",)), [""])
    assert hits.titles == hits.snippets == ("",)
    assert repr(hits).splitlines()[0].split() == [
        *("rank", "document", "score", "title", "snippet"),
    ]
