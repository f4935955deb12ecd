# SPDX-License-Identifier: BSD-3-Clause
"""The file: self-contained, escaped, small, and true to the record."""

import dataclasses
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from topicfold import PLSA, TopicData
from topicfold.exceptions import DataError
from topicfold.metrics import npmi_coherence
from topicfold.report import page as page_module
from topicfold.report import report_html, write_report
from topicfold.report.page import bundle, bundle_styles, clean


class Elements(HTMLParser):
    """Collects what a browser would see."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs


def test_no_address_leaves_the_file(small):
    html = report_html(small)
    seen = Elements(html)
    for name, value in seen.attributes:
        if name in ("src", "href", "srcset", "action", "data"):
            assert value.startswith(("#", "data:,"))
    names = set(re.findall(r"https?://[^\s\"'<>)]+", html))
    assert names == {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in html
    assert "@import" not in bundle_styles()
    assert "url(" not in bundle_styles()


def test_same_record_same_file(small):
    assert report_html(small) == report_html(small)


def test_scripts_write_text_only():
    script = bundle()
    for name in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("):
        assert name not in script
    assert "import " not in script.replace("important", "")
    assert len(script) < 170_000


@pytest.fixture(autouse=True)
def fresh_bundle():
    """Keep no script of a test's own modules."""
    yield
    bundle.cache_clear()


def test_bundle_puts_modules_after_those_they_import(monkeypatch):
    sources = {
        "a.js": 'import { y } from "./b.js";\nconst x = y;\n',
        "b.js": "export const y = 1;\n",
    }
    monkeypatch.setattr(page_module, "_static", sources.__getitem__)
    assert re.findall(r"const (\w)", bundle("a.js")) == ["y", "x"]


def test_bundle_refuses_modules_that_do_not_fit_together(monkeypatch):
    sources = {
        "a.js": 'import { y } from "./b.js";\nconst x = 1;\n',
        "b.js": "export function x() {}\n",
    }
    monkeypatch.setattr(page_module, "_static", sources.__getitem__)
    with pytest.raises(ValueError, match=r"x is in b\.js and in a\.js"):
        bundle("a.js")
    sources["b.js"] = 'import { x } from "./a.js";\n'
    with pytest.raises(ValueError, match="cycle"):
        bundle("a.js")


@pytest.mark.parametrize("sign", ["</SCRIPT>", "<!--"])
def test_bundle_refuses_what_would_end_the_script(monkeypatch, sign):
    monkeypatch.setattr(page_module, "_static", {"a.js": f'let s = "{sign}";'}.get)
    with pytest.raises(ValueError, match="its own closing tag"):
        bundle("a.js")


def test_hostile_text_is_only_text(hostile, small, page_data):
    known = [0.1, 0.2, 0.3, 0.4]
    html = report_html(hostile, title="</title><script>x()</script>", coherence=known)
    plain = Elements(report_html(small, coherence=known))
    seen = Elements(html)
    extra = [
        tag for tag in set(seen.tags) if seen.tags.count(tag) != plain.tags.count(tag)
    ]
    assert extra == []
    assert not [name for name, _ in seen.attributes if name.startswith("on")]
    scripts = re.findall(r"<script type=.application/json.*?</script>", html)
    assert scripts[0].isascii()
    data = page_data(html)
    assert data["topics"][0]["name"] == hostile.topic_names[0]
    assert data["documents"]["ids"][3] == hostile.doc_ids[3]


def test_content_is_that_of_the_record(small, page_data):
    data = page_data(report_html(small))
    assert [topic["id"] for topic in data["topics"]] == [0, 1, 2, 3]
    assert data["topics"][1]["name"] == "ocean"
    sizes = [topic["size"] for topic in data["topics"]]
    assert sizes == pytest.approx(small.topic_sizes(), rel=1e-4)
    main = np.bincount(small.doc_topics.argmax(axis=1), minlength=4)
    assert [topic["main"] for topic in data["topics"]] == main.tolist()
    classes, mixtures = small.class_topics()
    assert data["classes"]["names"] == list(classes)
    assert data["classes"]["mixtures"] == pytest.approx(mixtures.ravel(), abs=1e-6)
    assert data["fit"]["history"] == list(small.history)
    assert ["n_components", "4"] in data["fit"]["settings"]
    assert data["documents"]["rows"].tolist() == list(range(40))
    assert len(data["texts"]) == 40
    assert data["notes"] == []


def test_coherence_of_counts_texts_or_none(small, page_data):
    from topicfold.corpus import vectorize

    counts, _ = vectorize(small.texts, vocabulary=small.vocabulary)
    expected = npmi_coherence(small.topics, counts, n_words=10)
    for options in ({"counts": counts}, {}):
        topics = page_data(report_html(small, **options))["topics"]
        found = [topic["coherence"] for topic in topics]
        assert found == pytest.approx(expected, abs=1e-4)
    given = page_data(report_html(small, coherence=[0.1, 0.2, np.nan, 0.4]))["topics"]
    assert [topic["coherence"] for topic in given] == [0.1, 0.2, None, 0.4]
    bare = dataclasses.replace(small, texts=None)
    assert page_data(report_html(bare))["topics"][0]["coherence"] is None
    with pytest.raises(DataError, match="3 values for 4 topics"):
        report_html(small, coherence=[1, 2, 3])


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"doc_topics": [[0.5, 0.5]]},
        {"doc_topics": np.empty((0, 2))},
        {"doc_topics": [[0.5, 0.5]] * 2, "texts": ["", ""]},
        {"doc_topics": [[1.0, 0.0]] * 2, "labels": [None, None]},
        {"texts": ["a b"]},
    ],
    ids=["topics", "one", "none", "empty-texts", "no-labels", "texts-only"],
)
def test_records_that_lack_something(fields, page_data):
    data = TopicData(topics=[[0.7, 0.3], [0, 1]], vocabulary=["a", "b"], **fields)
    assert page_data(report_html(data))["counts"]["topics"] == 2


def test_one_topic_of_one_term(page_data):
    data = TopicData(topics=[[1.0]], vocabulary=["a"], doc_topics=[[1.0]] * 50)
    assert page_data(report_html(data))["topics"][0]["terms"] == [0]


def test_many_documents_are_sampled_and_cut_and_it_is_said(page_data):
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(50)]
    n = 1500
    texts = [" ".join(rng.choice(words, 300)) for _ in range(n)]
    data = TopicData(
        topics=rng.dirichlet([0.3] * 50, size=3),
        vocabulary=words,
        doc_topics=rng.dirichlet([0.2] * 3, size=n),
        texts=texts,
    )
    html = report_html(data, max_documents=800, size_limit=400_000)
    page = page_data(html)
    assert len(html) <= 400_000
    assert page["counts"]["shown"] == 800
    assert len(page["documents"]["rows"]) == len(page["texts"]) == 800
    assert "800 of the 1,500 documents" in page["notes"][0]
    assert "cut to about" in page["notes"][1]
    for note in page["notes"]:
        assert note in html
    lengths = [len(text) for text in page["texts"]]
    assert np.median(lengths) < 0.8 * max(lengths)


def test_what_is_left_out_is_said(page_data, monkeypatch):
    monkeypatch.setattr("topicfold.report.content.MAX_MATRIX", 3)
    monkeypatch.setattr("topicfold.report.documents.MAX_CLASSES", 2)
    rng = np.random.default_rng(0)
    data = TopicData(
        topics=rng.dirichlet([0.3] * 30, size=4),
        vocabulary=[f"word{i}" for i in range(30)],
        doc_topics=rng.dirichlet([0.2] * 4, size=12),
        labels=[*"aaaabbbbbccc"],
    )
    html = report_html(data)
    page = page_data(html)
    assert page["similarity"] is None
    assert page["classes"]["names"] == ["a", "b"]
    for start in (
        "Only the 2 largest of the 3 classes",
        "The table of all pairs",
    ):
        (note,) = [note for note in page["notes"] if note.startswith(start)]
        assert note in html


def test_bad_options(small, tmp_path):
    with pytest.raises(DataError, match="max_documents"):
        report_html(small, max_documents=0)
    with pytest.raises(DataError, match="is a folder"):
        write_report(small, tmp_path)
    file = tmp_path / "deep" / "r.html"
    with pytest.raises(DataError, match="there is no folder"):
        write_report(small, file)
    file.parent.mkdir()
    assert write_report(small, file) == file
    assert [found.name for found in file.parent.iterdir()] == ["r.html"]


def test_what_a_report_cannot_be_made_of(monkeypatch):
    data = TopicData(topics=[[0.7, 0.3], [0.1, 0.9]], vocabulary=["cat", "tax"])
    with pytest.raises(
        DataError, match=r"TopicData, not from PLSA.*topic_data\(words\)"
    ):
        report_html(PLSA(2, random_state=0, max_iter=1).fit([[1, 2], [3, 0]]))
    monkeypatch.setattr("topicfold.report.writing.MAX_TOPICS", 1)
    with pytest.raises(DataError, match="up to 1 topics, and the model has 2"):
        report_html(data)


def test_one_is_not_plural():
    one = TopicData(topics=[[0.7, 0.3]], vocabulary=["cat", "tax"], doc_topics=[[1.0]])
    assert "1 topic · 1 document · 2 terms</p>" in report_html(one)


def test_a_text_cannot_turn_the_direction_of_writing():
    """Overrides make a text look like another; letters of Hebrew stay as they are."""
    for control in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069":
        assert clean(f"a{control}b") == "a\ufffdb"
    assert clean("\u05e9\u05dc\u05d5\u05dd") == "\u05e9\u05dc\u05d5\u05dd"
