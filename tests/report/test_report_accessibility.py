# SPDX-License-Identifier: BSD-3-Clause
"""The page for everybody: axe-core finds nothing, keys reach every view."""

from importlib.resources import files

import numpy as np
import pytest
from tests_browser import figures_are_drawn, until

from topicfold import TopicData
from topicfold.report import write_report

PLACES = (
    "#topics", "#topic=1", "#map", "#classes", "#class=sea", "#time", "#similarity",
    "#compare", "#slides", "#fit", "#doc=0", "#term=whale", "#search=sea",
    "#side=authors", "#side=features&row=year", "#against",
)  # fmt: skip
RUN = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  const where = (rule) => rule.nodes.slice(0, 3).map((node) => node.html).join(" | ");
  return violations.map((rule) => `${rule.id}: ${where(rule)}`);
}"""


@pytest.fixture(scope="module")
def file(sided, tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "report.html"
    return write_report(sided, file, against=sided)


@pytest.fixture(scope="module")
def axe():
    """The script of axe-core, as a package of PyPI brings it."""
    pytest.importorskip(
        "axe_playwright_python",
        reason="axe-core is not installed (pip install axe-playwright-python)",
    )
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(open_report, small, file, axe, theme):
    page = open_report(small, "#topics", file=file, theme=theme)
    page.evaluate(axe)
    found = {}
    for place in PLACES:
        page.evaluate("place => { location.hash = place; }", place)
        until(
            page, f"document.querySelector('.view-{place[1:].split('=')[0]}') !== null"
        )
        figures_are_drawn(page)
        found[place] = page.evaluate(RUN)
    assert {place: rules for place, rules in found.items() if rules} == {}


def graded():
    """A class per topic, with every share from little to most of it."""
    n = 18
    likes = np.exp(-np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / 4)
    topics = np.repeat(likes, 3, axis=1) / likes.sum(axis=1, keepdims=True) / 3
    shares = likes**2 / (likes**2).sum(axis=1, keepdims=True)
    return TopicData(
        topics=topics,
        vocabulary=[f"word{i}" for i in range(3 * n)],
        doc_topics=np.repeat(shares, 3, axis=0),
        labels=[f"a class with a long name {k}" for k in range(n) for _ in range(3)],
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing_in_shades_of_any_strength(open_report, axe, theme, width):
    page = open_report(graded(), "#classes", theme=theme, width=width)
    page.evaluate(axe)
    for place in ("#classes", "#similarity", "#fit"):
        page.evaluate("place => { location.hash = place; }", place)
        until(page, f"document.querySelector('.view-{place[1:]}') !== null")
        figures_are_drawn(page)
        assert page.evaluate(RUN) == [], place


def test_keys_reach_every_view_and_what_scrolls(open_report, small, file):
    page = open_report(small, "#topics", file=file)
    tabs = page.locator("#tabs a").count()
    for number in range(1, tabs + 1):
        if number <= 9:
            page.keyboard.press(str(number))
        else:  # there is no such key; a tab is a link
            page.locator("#tabs a").nth(number - 1).press("Enter")
        until(
            page,
            f"document.querySelectorAll('#tabs a')[{number - 1}]"
            ".getAttribute('aria-current') === 'page'",
        )
        figures_are_drawn(page)
        # Whatever has a bar to scroll can have the focus, or has something that can.
        stuck = page.evaluate(
            "[...document.querySelectorAll('#view *')].filter(box =>"
            "['auto', 'scroll'].includes(getComputedStyle(box).overflowY)"
            "&& box.scrollHeight > box.clientHeight + 1 && box.tabIndex < 0"
            "&& !box.querySelector('a, button, input, select, [tabindex=\"0\"]'))"
            ".map(box => box.className)"
        )
        assert stuck == []
