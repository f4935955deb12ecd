# SPDX-License-Identifier: BSD-3-Clause
"""Two models side by side, and the page in the cell of a notebook."""

import dataclasses

import numpy as np
import pytest

from topicfold import TopicData, Topics
from topicfold.exceptions import DataError
from topicfold.plotting import Page
from topicfold.report import report_html
from topicfold.report.against import match_models

ORDER = [2, 0, 3, 1]


@pytest.fixture(scope="module")
def shuffled(small):
    """The small model with its topics, words and documents in another order."""
    words = np.random.default_rng(1).permutation(len(small.vocabulary))
    rows = np.random.default_rng(2).permutation(small.n_documents)
    return TopicData(
        topics=small.topics[ORDER][:, words],
        vocabulary=[small.vocabulary[w] for w in words],
        doc_topics=small.doc_topics[rows][:, ORDER],
        doc_lengths=small.doc_lengths[rows],
        doc_ids=[small.doc_ids[row] for row in rows],
        settings={"model": "PLSA"},
    )


@pytest.fixture(scope="module")
def fewer(small):
    """Topics 0 and 1 as one, and five documents that went from topic 2 to topic 3."""
    topics = np.stack([small.topics[:2].mean(axis=0), *small.topics[2:]])
    mixtures = np.column_stack(
        [small.doc_topics[:, :2].sum(1), small.doc_topics[:, 2:]]
    )
    moved = np.flatnonzero(small.main_topics() == 2)[:5]
    mixtures[moved] = [0.05, 0.05, 0.9]
    return TopicData(
        topics=topics,
        vocabulary=small.vocabulary,
        doc_topics=mixtures,
        doc_lengths=small.doc_lengths,
        doc_ids=small.doc_ids,
        settings={"model": "LDA"},
    ), moved


def test_the_same_topics_in_another_order_are_found(small, shuffled):
    match = match_models(small, shuffled)
    assert match.pairs == {topic: place for place, topic in enumerate(ORDER)}
    assert match.moves() == []
    rows = match.records(6)
    assert [row["likeness"] for row in rows] == pytest.approx([1.0] * 4, abs=1e-6)
    assert all(row["shared"] and not row["here"] + row["there"] for row in rows)


def test_documents_alone_match_models_without_common_words(small, shuffled):
    renamed = [f"x-{word}" for word in shuffled.vocabulary]
    other = dataclasses.replace(shuffled, vocabulary=renamed)
    assert match_models(small, other).pairs == match_models(small, shuffled).pairs
    strangers = dataclasses.replace(other, doc_ids=[f"y-{i}" for i in range(40)])
    with pytest.raises(DataError, match=r"no words and no documents in common"):
        match_models(small, strangers)
    with pytest.raises(DataError, match=r"compared with TopicData, not with int"):
        match_models(small, 3)


def test_words_alone_match_models_of_other_documents(small, shuffled):
    other = dataclasses.replace(shuffled, doc_ids=[f"y-{i}" for i in range(40)])
    match = match_models(small, other)
    assert match.pairs == match_models(small, shuffled).pairs
    assert not len(match.here)


def test_a_document_is_the_same_only_with_the_same_text(small):
    texts = list(small.texts)
    texts[5] = "something else"
    match = match_models(small, dataclasses.replace(small, texts=texts))
    assert 5 not in match.here
    assert len(match.here) == 39


def test_topics_left_over_have_no_counterpart_and_moves_are_counted(small, fewer):
    other, moved = fewer
    match = match_models(small, other)
    assert match.pairs.items() >= {2: 1, 3: 2}.items()
    alone = {0, 1} - {*match.pairs}
    assert len(alone) == 1
    assert (2, 2, len(moved)) in match.moves()
    assert match.records()[-1]["topic"] in alone
    assert match.records()[-1]["likeness"] is None


def test_the_page_shows_two_models(open_report, small, fewer):
    other, moved = fewer
    page = open_report(small, "#against", against=other)
    assert "Two models" in page.locator("#tabs").inner_text()
    rows = page.locator(".view-against table").first.locator("tbody tr")
    assert rows.count() == 4
    assert "no counterpart" in rows.last.inner_text()
    move = page.locator(".moves tr", has_text=f"{len(moved)} documents")
    move.locator("button").click()
    links = page.locator("#moved-documents .document-link")
    shown = {int(href.split("=")[1]) for href in links.evaluate_all(
        "all => all.map(link => link.getAttribute('href'))")}  # fmt: skip
    assert shown == {*moved.tolist()}
    # A topic that was dropped on the page is said to be.
    page.evaluate("location.hash = '#topic=2'")
    page.get_by_role("button", name="Drop").click()
    page.evaluate("location.hash = '#against'")
    page.wait_for_selector(".view-against table")
    assert "topic 2, dropped" in page.locator(".view-against").inner_text()


def test_pages_without_a_second_model_have_no_such_view(small, page_data):
    assert page_data(report_html(small))["against"] is None


def test_links_and_search_work_in_the_cell_of_a_notebook(open_report, small, tmp_path):
    frame = Page(report_html(small, start="map"), 600)._repr_html_()
    file = tmp_path / "notebook.html"
    file.write_text(f"<!DOCTYPE html><html class=ready><body>{frame}", encoding="utf-8")
    page = open_report(small, file=file)
    cell = page.frame_locator("iframe")
    cell.locator("canvas").wait_for()
    cell.locator("#tabs a", has_text="Classes").click()
    cell.locator(".view-classes .heat").wait_for()
    cell.locator(".heat tbody th a").first.click()
    cell.locator(".view-topic .detail").wait_for()
    cell.locator("#search").fill("whale")
    cell.locator(".view-search").wait_for()
    cell.locator("#tabs a", has_text="Map").click()
    cell.locator("canvas").wait_for()
    assert [frame.url.split("#")[0] for frame in page.frames[1:]] == ["about:srcdoc"]


def test_topics_compare_and_map(tmp_path):
    texts = ["red fox in a wood", "a fox, a wood", "blue sea", "fish in a blue sea"]
    one = Topics(2, min_df=1).fit(texts)
    two = Topics(2, model="plsa", min_df=1).fit(texts)
    two.save(tmp_path / "model")
    rows = one.compare(two)
    assert [*one.compare(tmp_path / "model")] == [*rows]
    assert all(row["likeness"] > 0.8 for row in rows)
    page = one.report(tmp_path / "two.html", against=two).read_text(encoding="utf-8")
    assert '"against":{' in page
    assert "&quot;start&quot;:&quot;map&quot;" in one.map()._repr_html_()


def test_the_map_needs_documents():
    topics = Topics(2, min_df=1).fit(["red fox", "a fox", "blue sea", "a sea"])
    topics.data_ = dataclasses.replace(topics.data_, doc_topics=None)
    with pytest.raises(DataError, match="has no documents"):
        topics.map()
