# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures: records to report on, and a browser that may ask nobody for anything."""

import base64
import dataclasses
import json
import re
import shutil
import zlib

import numpy as np
import pytest
from tests_browser import figures_are_drawn

from topicfold import TopicData
from topicfold.core.side_table import SideTable
from topicfold.report import write_report

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
THEMES = {
    "animals": ["fox", "wolf", "bear", "deer", "hare", "owl", "lynx", "boar"],
    "sea": ["fish", "whale", "coral", "wave", "tide", "reef", "boat", "salt"],
    "money": ["bank", "loan", "tax", "price", "stock", "bond", "fund", "debt"],
    "sky": ["star", "moon", "comet", "orbit", "planet", "sun", "dust", "light"],
}
# What a page must never take for more than text.
HOSTILE = (
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "<!--<script>",
    "a\u2028b\u2029c",
    "\"'><svg onload=window.hacked=1>",
    "{{ 7*7 }} {% raw %}",
    "=HYPERLINK(1)",
    "\x00\x01\x02\x03\x1e&amp;",
)


@pytest.fixture(scope="session")
def small():
    """Forty documents on four themes, with all that a record can have."""
    rng = np.random.default_rng(3)
    words = [word for theme in THEMES.values() for word in theme] + ["common"]
    topics = np.full((4, len(words)), 0.002)
    for topic in range(4):
        topics[topic, 8 * topic : 8 * topic + 8] = np.linspace(0.3, 0.05, 8)
        topics[topic, -1] = 0.2
    topics /= topics.sum(axis=1, keepdims=True)
    doc_topics = rng.dirichlet([0.15] * 4, size=40)
    doc_topics[:4] = np.eye(4) * 0.96 + 0.01
    texts = []
    for mixture in doc_topics:
        chosen = rng.choice(len(words), size=30, p=mixture @ topics)
        texts.append("The " + " and ".join(words[w] for w in chosen) + ".")
    names = list(THEMES)
    return TopicData(
        topics=topics,
        vocabulary=words,
        doc_topics=doc_topics,
        doc_lengths=np.full(40, 30),
        labels=[names[k] for k in doc_topics.argmax(axis=1)],
        doc_ids=[f"doc-{i:02d}" for i in range(40)],
        texts=texts,
        times=np.array(
            [f"20{i // 4:02d}-0{1 + i % 9}-11" for i in range(40)], "datetime64[D]"
        ),
        topic_names=["", "ocean", "", ""],
        history=[-900.0, -700.0, -650.0],
        settings={"model": "LDA", "n_components": 4, "tol": 1e-4},
    )


@pytest.fixture(scope="session")
def sided(small):
    """The small record with all that a model can learn besides topics."""
    rng = np.random.default_rng(5)
    shares = rng.dirichlet([0.3] * 4, size=3)
    return dataclasses.replace(
        small,
        settings={**small.settings, "language": "en"},
        sides=[
            SideTable(
                name="authors",
                kind="shares",
                rows=["Ann", "Bob", "Cid"],
                values=shares,
                sizes=[3, 9, 1],
                pairs=[[0, 2], [0, 5], [1, 5], [0, 0]],
            ),
            SideTable(
                name="features",
                kind="effects",
                rows=["year", "place=town", "place=village"],
                values=[
                    [1.5, -2.0, 0.25, 0.0],
                    [0.0, 1.0, 2.0, 3.0],
                    [0.5, -0.5, 0.0, 0.1],
                ],
                errors=[[0.5, 0.1, 0.2, 0.3]] * 3,
                note="What a year more does.",
            ),
            SideTable(
                name="response",
                kind="effects",
                rows=["response"],
                values=[[4.0, 3.0, 2.0, 1.0]],
                middle=2.5,
            ),
            SideTable(
                name="seed words", kind="terms", terms=[["fox", "wolf"], [], [], []]
            ),
            SideTable(name="links", kind="links", pairs=[[0, 7], [9, 0], [3, 3]]),
            SideTable(
                name="de", kind="terms", terms=[["fuchs", "wolf"], ["meer"], [], []]
            ),
        ],
    )


@pytest.fixture(scope="session")
def planted():
    """Forty topics in four groups, and 1,500 documents."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet([0.02] * 600, size=4)[np.arange(40) % 4]
    topics = 0.4 * topics + 0.6 * rng.dirichlet([0.02] * 600, size=40)
    return TopicData(
        topics=topics,
        vocabulary=[f"word{i}" for i in range(600)],
        doc_topics=rng.dirichlet([0.03] * 40, size=1500),
        doc_lengths=rng.integers(20, 90, 1500),
    )


@pytest.fixture(scope="session")
def hostile(small):
    """The small record with hostile text wherever a user can put text."""
    n_words = len(small.vocabulary)
    odd = [f"{HOSTILE[i % len(HOSTILE)]}{i}" for i in range(40)]
    return TopicData(
        topics=small.topics,
        vocabulary=[f"{HOSTILE[i % len(HOSTILE)]}{i}" for i in range(n_words)],
        doc_topics=small.doc_topics,
        labels=[HOSTILE[i % 8] for i in range(40)],
        doc_ids=odd,
        texts=[f"{text} {text}" for text in odd],
        topic_names=HOSTILE[:4],
        settings={text: [text] for text in HOSTILE},
        times=small.times,
    )


@pytest.fixture(scope="session")
def page_data():
    """Return the data of a page, its arrays and strings unpacked."""

    def unpack(value):
        if isinstance(value, list):
            return [unpack(item) for item in value]
        if not isinstance(value, dict):
            return value
        if set(value) == {"type", "data"}:
            raw = zlib.decompress(base64.b64decode(value["data"]))
            if value["type"] == "strings":
                return raw.decode().split("\x1e")
            return np.frombuffer(raw, value["type"])
        return {key: unpack(item) for key, item in value.items()}

    def read(html):
        found = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', html)
        assert len(found) == 1
        return unpack(json.loads(found[0]))

    return read


@pytest.fixture(scope="session")
def browser():
    """Chromium of this machine, or a skip that says how to get one."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed (pip install it)"
    )
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("no Chromium on this machine (apt-get install chromium)")
    with playwright.sync_playwright() as engine:
        running = engine.chromium.launch(executable_path=program, args=list(FLAGS))
        yield running
        running.close()


@pytest.fixture
def open_report(browser, tmp_path):
    """Open a report; at the end no request left it and the console was silent."""
    said, asked, contexts = [], [], []

    def start(data, place="", *, file=None, **options):
        width = options.pop("width", 1280)
        theme = options.pop("theme", "light")
        file = file or write_report(data, tmp_path / "report.html", **options)
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=theme,
            accept_downloads=True,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{file.as_uri()}{place}")
        page.wait_for_selector("html.ready")
        figures_are_drawn(page)
        return page

    yield start
    for context in contexts:
        context.close()
    assert said == []
    assert [
        url for url in asked if not url.startswith(("file:", "data:", "blob:"))
    ] == []
