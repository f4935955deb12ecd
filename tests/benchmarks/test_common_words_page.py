# SPDX-License-Identifier: BSD-3-Clause
"""The page on common words is that of its results, and the default is its choice."""

import json

import pytest
from benchmarks.common_words import CHOSEN, RESULTS, UNSEEN, means, page

from topicfold.corpus.tally import EVEN


@pytest.fixture(scope="module")
def records():
    return json.loads((RESULTS / "common_words.json").read_text("utf-8"))


def test_the_page_is_that_of_the_results(records):
    assert (RESULTS / "common_words.md").read_text("utf-8") == page(records)


def test_the_default_keeps_what_speeches_are_about(records):
    chosen, row = means(records, "sotu", f"between {EVEN:g}")
    _, half = means(records, "sotu", "max_df=0.5")
    assert row["share"] < half["share"] / 2
    tops = {word for words in row["topics"] for word in words}
    assert {"war", "peace", "treaty"} <= tops
    assert not {"government", "states", "congress"} & tops
    none, _ = means(records, "sotu", "max_df=1.0")
    assert chosen["npmi"] > none["npmi"]


def test_every_corpus_has_every_rule(records):
    found = {(r["corpus"], r["rule"]) for r in records}
    rules = {rule for _, rule in found}
    assert found == {(name, rule) for name in (*CHOSEN, *UNSEEN) for rule in rules}
