# SPDX-License-Identifier: BSD-3-Clause
"""The page in a browser: every view has its data, and everything can be driven.

`open_report` checks after every test that the console was silent and that no request
left the page.
"""

import csv
import dataclasses
import io
import json

import numpy as np
import pytest
from tests_browser import figures_are_drawn, until

from topicfold import PLSA, TopicData
from topicfold.core.side_table import SideTable
from topicfold.editing import apply_edits, edits_of
from topicfold.report import write_report

VIEWS = (
    "topics", "map", "classes", "time", "similarity", "compare", "slides", "fit",
)  # fmt: skip
TABS = [
    "Topics", "Map", "Classes", "Over time", "Similarity", "Compare", "Slides",
    "The fit",
]  # fmt: skip


@pytest.fixture(scope="module")
def file(small, tmp_path_factory):
    return write_report(small, tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """A folder for screenshots to look at."""
    return tmp_path_factory.mktemp("screenshots")


def go(page, place):
    page.evaluate(
        "place => new Promise(done => { if (location.hash === place) done();"
        "addEventListener('hashchange', () => done(), {once: true});"
        "location.hash = place; })",
        place,
    )
    figures_are_drawn(page)


def map_is_drawn(page):
    until(page, "document.querySelector('canvas')?.scatter?.width > 0")


def reload_until(page, condition):
    """Load the page again until it has what it kept: browsers write that in a while."""
    for _ in range(20):
        page.reload()
        page.wait_for_selector("html.ready")
        if page.evaluate(condition):
            return
        page.wait_for_timeout(250)
    raise AssertionError(f"not so after a reload: {condition}")


def saved(page, action):
    """Return the text of the file that an action of the page saves."""
    with page.expect_download() as waiting:
        action()
    return waiting.value.suggested_filename, waiting.value.path().read_bytes()


def bar_labels(page):
    return page.locator(".detail .bar-label").all_text_contents()[:8]


def test_every_view_has_its_data(open_report, small, file, pictures):
    page = open_report(small, file=file)
    assert page.locator("#tabs a").all_text_contents() == TABS
    assert page.locator(".topic-item").count() == 4
    for view in VIEWS:
        go(page, f"#{view}")
        page.wait_for_selector(f".view-{view}")
        page.screenshot(path=pictures / f"{view}.png")
    go(page, "#classes")
    assert page.locator(".heat tbody td").count() == 16
    go(page, "#time")
    assert page.locator(".sparks polyline").count() == 4
    go(page, "#similarity")
    assert page.locator(".heat tbody td").count() == 16
    assert page.locator(".plane circle").count() == 4
    assert page.locator("#view .table tbody tr").count() == 6
    go(page, "#compare")
    assert page.locator(".sides tbody tr").count() == 4
    go(page, "#slides")
    assert page.locator(".slide").count() == 5
    go(page, "#fit")
    assert page.locator(".view-fit polyline").count() == 1
    assert "n_components" in page.locator(".view-fit").inner_text()
    assert {png.stem for png in pictures.iterdir()} >= set(VIEWS)


def test_topic_ids_sizes_and_names_are_the_models(open_report, small, file):
    page = open_report(small, "#topics", file=file)
    order = np.argsort(-small.topic_sizes(), kind="stable")
    items = page.locator(".topic-item")
    assert [int(x) for x in items.locator(".chip").all_text_contents()] == list(order)
    assert items.locator(".topic-name").all_text_contents() == [
        small.name(topic) for topic in order
    ]
    assert "ocean" in page.locator(".topic-list").inner_text()


def test_slider_ranks_as_the_library_does(open_report, small, file):
    page = open_report(small, "#topic=2", file=file)
    page.wait_for_selector(".detail .bar-label")
    for value in (0.0, 0.3, 1.0):
        page.evaluate(
            "value => { const slider = document.getElementById('relevance');"
            "slider.value = value; slider.dispatchEvent(new Event('input')); }",
            str(value),
        )
        assert bar_labels(page) == list(small.top_terms(8, value)[2])
        assert page.locator(".lambda").inner_text() == f"λ = {value:.1f}"
        words = page.locator(".topic-item[data-topic='1'] .topic-words").inner_text()
        assert words.split(", ") == list(small.top_terms(9, value)[1])


def test_deep_links(open_report, small, file):
    page = open_report(small, "#topic=3", file=file)
    assert page.locator(".topic-title .chip").inner_text() == "3"
    assert page.title().startswith("Topic 3")
    go(page, "#doc=12")
    assert small.texts[12].startswith(page.locator("#view h2").inner_text()[:60])
    assert "doc-12" in page.locator(".view-doc").inner_text()
    go(page, "#class=money")
    assert page.locator("#view h2").inner_text() == "money"
    go(page, "#term=whale")
    assert page.locator(".bar-label").first.text_content().startswith("1 ocean")
    for wrong in ("#topic=99", "#doc=999", "#class=none", "#term=none", "#nonsense"):
        go(page, wrong)
        assert page.locator("#view").inner_text()
    go(page, "#doc=999")
    assert "There is no document 999" in page.locator("#view").inner_text()


def test_document_shows_mixture_and_words(open_report, small, file):
    page = open_report(small, "#doc=1", file=file)
    page.wait_for_selector("mark")
    assert page.locator(".mixture li").first.get_attribute("data-topic") == "1"
    assert page.locator("mark").count() == 30
    columns = {word: w for w, word in enumerate(small.vocabulary)}
    for mark in page.locator("mark").all()[:6]:
        word = mark.evaluate("mark => mark.firstChild.textContent")
        joint = small.doc_topics[1] * small.topics[:, columns[word]]
        assert mark.locator("sub").text_content() == str(joint.argmax())
    text = page.locator(".text").evaluate(
        "box => { const copy = box.cloneNode(true);"
        "copy.querySelectorAll('sub').forEach(x => x.remove());"
        "return copy.textContent; }"
    )
    assert text == small.texts[1]


def test_views_are_linked(open_report, small, file):
    page = open_report(small, "#topic=0", file=file)
    page.locator(".detail .document-link").first.click()
    page.wait_for_selector(".view-doc")
    page.locator(".mixture .topic-link").first.click()
    page.wait_for_selector(".detail")
    assert page.evaluate("location.hash") == "#topic=0"
    page.locator(".detail .bar-label").first.click()
    page.wait_for_selector(".view-term")
    go(page, "#classes")
    page.locator(".heat thead a").last.click()
    page.wait_for_selector(".view-class")
    page.locator("text=On the map").click()
    page.wait_for_selector(".filter")
    go(page, "#time")
    page.locator(".spark-card").first.click()
    page.wait_for_selector(".detail")


def test_map_hovers_clicks_zooms_and_pans(open_report, small, file, pictures):
    page = open_report(small, "#map", file=file)
    map_is_drawn(page)
    spot = page.evaluate(
        "() => { const c = document.querySelector('canvas'); const s = c.scatter;"
        "const [x, y] = s.place(s.xs[5], s.ys[5]); const b = c.getBoundingClientRect();"
        "return [b.left + x, b.top + y, s.nearest(x, y)]; }"
    )
    page.mouse.move(spot[0], spot[1])
    page.wait_for_selector("#tip:not([hidden])")
    page.mouse.click(spot[0], spot[1])
    page.wait_for_selector(".card")
    assert f"no. {spot[2]}" in page.locator(".card").inner_text()
    until(page, "document.querySelector('.card-text').innerText.length > 0")  # unpacked
    assert small.texts[spot[2]][:50] in page.locator(".card-text").inner_text()
    before = page.evaluate("document.querySelector('canvas').scatter.scale")
    page.mouse.wheel(0, -400)
    until(page, f"document.querySelector('canvas').scatter.scale > {before}")
    left = page.evaluate("document.querySelector('canvas').scatter.left")
    page.mouse.down()
    page.mouse.move(spot[0] + 80, spot[1] + 30, steps=3)
    page.mouse.up()
    moved = page.evaluate("document.querySelector('canvas').scatter.left")
    assert moved == pytest.approx(left + 80, abs=1)
    for kind in ("class", "time", "topic"):
        page.locator(".toolbar select").select_option(kind)
        assert page.locator(".map-legend").inner_text()
        page.screenshot(path=pictures / f"map-{kind}.png")
    page.locator("canvas").focus()
    page.keyboard.press("0")
    assert page.evaluate("document.querySelector('canvas').scatter.scale") == 1
    page.keyboard.press("Enter")
    inked = page.evaluate(
        "() => { const c = document.querySelector('canvas');"
        "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        "let n = 0; for (let i = 0; i < d.length; i += 4) n += d[i] < 250; return n; }"
    )
    assert inked > 40


def test_search_finds_terms_topics_classes_and_titles(open_report, small, file):
    page = open_report(small, file=file)
    page.keyboard.press("/")
    page.keyboard.type("wha")
    page.wait_for_selector(".words a")
    until(page, "location.hash === '#search=wha'")
    assert page.locator(".words a").first.inner_text() == "whale"
    page.locator("#search").fill("doc-17")
    page.wait_for_selector(".documents a[href='#doc=17']")
    page.locator("#search").fill("ocean")
    page.wait_for_selector("a[href='#topic=1']")
    page.locator("#search").fill("money")
    page.wait_for_selector("a[href='#class=money']")
    page.locator("#search").fill("zzzz")
    page.wait_for_selector("text=Nothing was found")
    page.locator("#search").fill("whale")
    page.wait_for_selector(".words a[href='#term=whale']")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.wait_for_selector(".detail, .view-term")


def test_keyboard_moves_between_views_and_topics(open_report, small, file):
    page = open_report(small, "#topics", file=file)
    order = np.argsort(-small.topic_sizes(), kind="stable")
    page.keyboard.press("j")
    until(page, f"location.hash === '#topic={order[1]}'")
    page.keyboard.press("k")
    until(page, f"location.hash === '#topic={order[0]}'")
    # Keys that come faster than pages.
    page.keyboard.type("jjk")
    until(page, f"location.hash === '#topic={order[1]}'")
    page.keyboard.press("3")
    until(page, "location.hash === '#classes'")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement !== document.body")


def test_theme_follows_the_system_and_the_switch(open_report, small, file):
    look = "getComputedStyle(document.body).backgroundColor"
    page = open_report(small, file=file, theme="dark")
    dark = page.evaluate(look)
    page.locator("#theme").click()
    light = page.evaluate(look)
    assert dark != light
    reload_until(page, f"{look} === '{light}'")
    page.locator("#theme").click()
    assert page.evaluate(look) == dark


def test_rename_is_shown_everywhere_kept_and_saved(open_report, small, file):
    page = open_report(small, "#topic=3", file=file)
    page.locator("#rename").click()
    page.locator(".rename input").fill("The <b>sky</b>")
    page.keyboard.press("Enter")
    assert page.locator("#topic-name").inner_text() == "The <b>sky</b>"
    assert "The <b>sky</b>" in page.locator(".topic-list").inner_text()
    name_shown = "document.querySelector('#topic-name').innerText"
    reload_until(page, f"{name_shown} === 'The <b>sky</b>'")
    name, content = saved(page, page.locator("#save-edits").click)
    assert name == "topicfold-edits.json"
    assert json.loads(content) == {
        "format": "topicfold-edits",
        "version": 2,
        "topics": 4,
        "edits": [{"action": "rename", "topic": 3, "name": "The <b>sky</b>"}],
    }
    page.locator("#undo").click()
    assert page.locator("#topic-name").inner_text() == small.name(3)
    assert page.locator("#save-edits").is_hidden()


def test_merged_and_dropped_topics_are_shown_undone_and_saved(open_report, small, file):
    page = open_report(small, "#topic=3", file=file)
    page.locator("#merge").select_option("1")
    until(page, "location.hash === '#topic=1'")
    assert page.locator(".topic-item").count() == 3
    merged = small.topic_sizes()[1] + small.topic_sizes()[3]
    assert f"{merged:.0%}" in page.locator(".fact-list").inner_text()
    go(page, "#topic=2")
    page.locator("#drop").click()
    assert "was merged with another or dropped" in page.locator("#view").inner_text()
    assert page.locator(".topic-item").count() == 2
    for view in VIEWS:
        go(page, f"#{view}")
    go(page, "#doc=2")
    assert page.locator(".mixture li").count() <= 2
    _, content = saved(page, page.locator("#save-edits").click)
    model = PLSA(4, random_state=0, max_iter=2).fit(np.eye(33)[:8] + 1)
    edits = edits_of(json.loads(content), model)
    assert edits == [
        {"action": "merge", "topics": [1, 3], "name": "ocean"},
        {"action": "drop", "topics": [2]},
    ]
    assert len(apply_edits(model, edits).components_) == 2
    page.keyboard.press("u")
    until(page, "document.getElementById('n-edits').textContent === '1 edit'")
    page.locator("#undo").click()
    go(page, "#topics")
    assert page.locator(".topic-item").count() == 4
    assert page.locator("#undo").is_hidden()


def test_legend_topic_page_and_mixtures_tell_one_number(open_report, small, file):
    page = open_report(small, "#map", file=file)
    counts = np.bincount(small.main_topics(), minlength=4)
    shown = page.locator(".legend-item .note").all_text_contents()
    assert sorted(int(n) for n in shown) == sorted(n for n in counts.tolist() if n)
    for topic in range(4):
        go(page, f"#topic={topic}")
        said = page.locator(".fact-list").inner_text()
        assert f"Main topic of\n{counts[topic]} document" in said
        shares = page.locator(".detail .document-link .note").all_text_contents()
        shares = [float(share.rstrip("%")) for share in shares]
        assert shares == sorted(shares, reverse=True)
    go(page, "#map&topic=1")
    assert f"{counts[1]} document" in page.locator(".filter").inner_text()


def test_years_without_documents_are_no_fall_to_zero(open_report, small):
    years = np.where(np.arange(small.n_documents) % 2, 2005.0, 2001.0)
    page = open_report(dataclasses.replace(small, times=years), "#time")
    lines = page.locator(".spark polyline").evaluate_all(
        "lines => lines.map(line => line.getAttribute('points'))"
    )
    assert [len(line.split()) for line in lines] == [2] * 4
    assert "NaN" not in page.locator("main").inner_html()
    go(page, "#topic=0")
    assert "NaN" not in page.locator("main").inner_html()
    go(page, "#compare")
    offered = page.locator(".toolbar select").first.inner_text()
    assert "2005" in offered
    assert "2003" not in offered


def test_changes_over_time_are_percentage_points(open_report, small, file):
    page = open_report(small, "#time", file=file)
    notes = page.locator(".spark-foot span:last-child").all_text_contents()
    assert len(notes) == 4
    assert all(note.endswith(" points") for note in notes)
    # One scale: the highest tick is the same in every figure.
    tops = page.locator(".spark").evaluate_all(
        "charts => charts.map(chart => chart.querySelector('text').textContent)"
    )
    assert len(set(tops)) == 1
    # Round numbers, evenly spaced: the middle is half of the top.
    ticks = page.locator(".spark").first.locator("text").all_text_contents()[:3]
    top, middle, zero = (float(tick.removesuffix("%")) for tick in ticks)
    assert (top, zero) == (2 * middle, 0)
    assert f"{middle:.1e}"[:3] in {
        "1.0",
        "1.5",
        "2.0",
        "3.0",
        "4.0",
        "5.0",
        "6.0",
        "8.0",
    }


def test_the_current_tab_is_in_view_on_a_phone(open_report, small):
    page = open_report(small, "#topics")
    page.set_viewport_size({"width": 390, "height": 800})
    go(page, "#fit")
    box = page.locator("nav [aria-current='page']").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390


def test_tree_groups_topics_and_opens(open_report, planted):
    page = open_report(planted, "#topics")
    page.locator(".topic-list select").select_option("tree")
    assert page.locator(".group").count() >= 3
    chosen = page.locator(".topic-item[aria-current]")
    assert chosen.is_visible()
    closed = page.locator(".topic-list > ol > li > .group:not([open])").first
    closed.locator("summary").first.press("Enter")
    assert page.locator(".group[open] .topic-item:visible").count() > 1
    assert page.locator(".topic-item").count() == 40


def test_names_on_the_map_never_overlap_and_all_are_readable(open_report, planted):
    page = open_report(planted, "#map")
    map_is_drawn(page)
    seen = set()
    for level in range(18):
        boxes = page.evaluate(
            "level => { const { map } = document.querySelector('canvas');"
            "map.scatter.scale = 2 ** (level / 3); map.paint();"
            "return map.labels.at(map.scatter.context).map(box => ({ id: box.topic.id,"
            "x: box.cx, y: box.cy, half: box.half, high: box.high })); }",
            level,
        )
        for i, one in enumerate(boxes):
            for other in boxes[:i]:
                assert (
                    abs(one["x"] - other["x"]) >= one["half"] + other["half"]
                    or abs(one["y"] - other["y"]) >= one["high"] + other["high"]
                ), level
        seen |= {box["id"] for box in boxes}
    assert seen == set(planted.main_topics().tolist())


def test_lasso_and_keys_list_documents(open_report, small, file):
    page = open_report(small, "#map", file=file)
    map_is_drawn(page)
    page.locator("#lasso").click()
    box = page.locator("canvas").bounding_box()
    inside = page.evaluate(
        "() => { const s = document.querySelector('canvas').scatter; let n = 0;"
        "for (let i = 0; i < s.xs.length; i += 1) {"
        "const [x, y] = s.place(s.xs[i], s.ys[i]); n += x < s.width / 2; } return n; }"
    )
    left, top, wide, high = (box[key] for key in ("x", "y", "width", "height"))
    middle = left + wide / 2
    corners = [
        (middle, top + 2), (middle, top + high), (left, top + high), (left, top),
    ]  # fmt: skip
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in corners[1:]:
        page.mouse.move(*corner, steps=4)
    page.mouse.up()
    page.wait_for_selector("#n-chosen")
    assert page.locator("#n-chosen").inner_text() == f"{inside} documents chosen"
    listed = page.locator(".chosen .document-link").count()
    assert listed == min(20, inside)
    _, content = saved(page, page.locator(".chosen button", has_text="CSV").click)
    assert len(table(content)) == inside
    page.locator("text=Compare with all documents").click()
    page.wait_for_selector(".sides")
    assert f"The {inside} chosen" in page.locator("#view").inner_text()
    go(page, "#map")
    map_is_drawn(page)
    page.locator("canvas").focus()
    page.keyboard.press("l")
    page.wait_for_selector("#n-chosen")
    assert page.locator("#n-chosen").inner_text() == "40 documents chosen"
    page.keyboard.press("Escape")
    page.wait_for_selector("#n-chosen", state="detached")


def test_two_classes_side_by_side(open_report, small, file):
    page = open_report(small, "#compare=class money&with=class sea", file=file)
    classes, mixtures = small.class_topics()
    money, sea = (mixtures[classes.index(name)] for name in ("money", "sea"))
    rows = page.locator(".sides tbody tr")
    first = int(np.abs(money - sea).argmax())
    assert rows.first.locator(".chip").inner_text() == str(first)
    gap = 100 * (money - sea)[first]
    assert (
        rows.first.locator("td.number")
        .inner_text()
        .startswith(f"{'+' if gap > 0 else '−'}{abs(gap):.0f}")
    )
    page.locator(".toolbar select").first.select_option("time 2003")
    until(page, "decodeURIComponent(location.hash).startsWith('#compare=time 2003')")


def test_authors_by_topics(open_report, sided):
    page = open_report(sided, "#side=authors")
    authors = sided.sides[0]
    assert "More" in page.locator("#tabs a").all_text_contents()
    kinds = page.locator(".kinds a").all_text_contents()
    assert kinds == ["Authors", "Features", "Response", "Languages"]
    order = ["Bob", "Ann", "Cid"]  # most documents first
    assert page.locator(".heat tbody th").all_text_contents() == order
    by_size = np.argsort(-sided.topic_sizes(), kind="stable")
    shown = page.locator(".heat tbody tr").first.locator("td").all_text_contents()
    shares = 100 * authors.values[1][by_size]
    assert shown == [f"{x:.0f}" if x >= 1 else "" for x in shares]
    page.locator(".heat tbody th a").first.click()
    page.wait_for_selector(".mixture")
    best = page.locator(".mixture li").first.get_attribute("data-topic")
    assert best == str(authors.values[1].argmax())
    assert "9 documents" in page.locator("#view").inner_text()
    go(page, "#topic=0")
    block = page.locator("section", has=page.locator("h3", has_text="Authors"))
    amounts = authors.values[:, 0] * authors.sizes
    first = authors.rows[int(amounts.argmax())]
    figures_are_drawn(page)
    assert block.locator(".bar-label").first.text_content() == first
    page.locator("#merge").select_option("1")
    until(page, "document.querySelectorAll('.topic-item').length === 3")
    go(page, "#side=authors&row=Ann")
    assert "3 documents of Ann on this page." in page.locator("#view").inner_text()
    shares = page.locator(".mixture .note").all_text_contents()
    assert sum(float(share.rstrip("%")) for share in shares) == pytest.approx(
        100, abs=2
    )


def test_many_authors_can_be_searched(open_report, small):
    rng = np.random.default_rng(0)
    names = [f"author {i}" for i in range(100)]
    shares = rng.dirichlet([0.3] * 4, size=100)
    many = SideTable(name="authors", kind="shares", rows=names, values=shares)
    page = open_report(dataclasses.replace(small, sides=[many]), "#side=authors")
    assert "Authors" in page.locator("#tabs a").all_text_contents()
    assert page.locator(".heat tbody tr").count() == 40
    page.locator("text=Show more (60 left)").click()
    assert page.locator(".heat tbody tr").count() == 80
    page.locator(".find").fill("AUTHOR 7")
    until(page, "document.querySelectorAll('.heat tbody tr').length === 11")
    page.locator(".find").fill("nobody")
    until(page, "!document.querySelector('.heat')")
    assert "None of the authors" in page.locator("#view").inner_text()
    page.locator(".find").fill("")
    _, content = saved(page, page.locator(".block button", has_text="CSV").click)
    rows = table(content)
    assert len(rows) == 100
    assert float(rows[3]["topic1"]) == pytest.approx(shares[3, 1], abs=1e-6)


def test_effects_have_intervals(open_report, sided):
    page = open_report(sided, "#side=features")
    figures_are_drawn(page)
    assert page.locator(".effects li").count() == 3
    # Levels of a category have one axis with one zero; a year is of another unit.
    zeros = page.locator(".effects .zero").evaluate_all(
        "all => all.map(line => Number(line.getAttribute('x1')))"
    )
    assert zeros[1] == zeros[2] != zeros[0]
    axes = page.locator(".effects li").evaluate_all(
        "all => all.map(li => [...li.querySelectorAll('.effect-tick')]"
        ".map(tick => tick.textContent).join(' '))"
    )
    assert axes[1] == axes[2] == "0 1 2 3"
    assert axes[0] != axes[1]
    assert "What a year more does." in page.locator("#view").inner_text()
    go(page, "#side=features&row=year")
    figures_are_drawn(page)
    labels = page.locator(".chart .bar-label").all_text_contents()
    assert [int(label.split()[0]) for label in labels] == [0, 2, 3, 1]
    assert page.locator(".interval").count() == 4
    # 0.25 ± 0.39 and 0 ± 0.59 have zero inside.
    assert page.locator(".unsure").count() == 2
    go(page, "#topic=0")
    figures_are_drawn(page)
    # Three of features; the response has none.
    assert page.locator(".detail .interval").count() == 3
    page.locator("#merge").select_option("1")
    until(page, "document.querySelectorAll('.topic-item').length === 3")
    assert page.locator(".detail .interval").count() == 0


def test_one_response_is_shown_at_once_around_its_mean(open_report, sided):
    page = open_report(sided, "#side=response")
    figures_are_drawn(page)
    assert page.locator(".chart .bar-label").count() == 4
    assert page.locator(".back").count() == 0
    line = float(page.locator(".zero").get_attribute("x1"))
    dots = page.locator(".chart circle").evaluate_all(
        "all => all.map(dot => Number(dot.getAttribute('cx')))"
    )
    assert line == pytest.approx(np.mean(dots))
    # Topics have seen the response: intervals would be too narrow, so there are none.
    assert page.locator(".interval").count() == 0
    assert page.locator(".unsure").count() == 0
    assert "95% interval" not in page.locator("#view").inner_text()


def test_correlations_are_a_graph_with_its_pairs(open_report, small):
    size = small.n_topics
    values = np.full((size, size), -0.3)
    values[0, 1] = values[1, 0] = 0.6
    np.fill_diagonal(values, 1)
    rows = [str(topic) for topic in range(size)]
    table = SideTable(
        name="correlations", kind="correlations", rows=rows, values=values
    )
    page = open_report(dataclasses.replace(small, sides=[table]), "#side")
    assert page.locator("#view h2").text_content() == "Correlations"
    page.wait_for_selector(".plane .tie")
    assert page.locator(".plane .tie").count() == 1
    assert page.locator(".plane circle").count() == size
    first = page.locator(".columns .table").first.locator("tbody tr")
    assert first.count() == 1
    assert first.first.locator(".number").text_content() == "0.60"
    go(page, "#topic=0")
    block = page.locator("section", has_text="Topics that occur with it")
    assert block.locator("li").get_attribute("data-topic") == "1"


def test_a_tree_is_drawn_with_words_and_sizes(open_report, small):
    rows = [str(topic) for topic in range(4)]
    pairs = [[0, 1], [1, 2], [0, 3]]
    table = SideTable(
        name="tree", kind="tree", rows=rows, pairs=pairs, sizes=[12, 9, 9, 3]
    )
    page = open_report(dataclasses.replace(small, sides=[table]), "#side=tree")
    page.wait_for_selector(".tree .branch")
    words = page.locator(".tree .tree-words").all_text_contents()
    assert [text.split()[0] for text in words] == rows
    assert all(len(text.split()) > 3 for text in words)
    sizes = page.locator(".tree .bar-value").all_text_contents()
    assert sizes == ["12", "9", "9", "3"]
    x = [
        float(circle.get_attribute("cx"))
        for circle in page.locator(".tree circle:not(.tree-back)").all()
    ]
    assert x[0] < x[1] == x[3] < x[2]
    go(page, "#topic=1")
    block = page.locator("section", has_text="In the tree").last
    links = block.locator("[data-topic]").all()
    assert [link.get_attribute("data-topic") for link in links] == ["0", "2"]
    page.set_viewport_size({"width": 390, "height": 800})
    go(page, "#side=tree")
    page.wait_for_selector(".tree .branch")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_words_through_time_are_side_by_side(open_report, small):
    first = [("early", "dawn")] * small.n_topics
    last = [(), *[("late",)] * (small.n_topics - 1)]
    what = {"kind": "terms", "note": "words through time"}
    tables = [
        SideTable(name="1900", terms=first, **what),
        SideTable(name="2000", terms=last, **what),
    ]
    page = open_report(dataclasses.replace(small, sides=tables), "#side")
    heads = page.locator(".languages th").all_text_contents()
    assert heads == ["Topic", "1900", "2000"]
    cells = page.locator(".languages td[data-language='2000']").all_text_contents()
    assert sorted(cells) == sorted(["–", *["late"] * (small.n_topics - 1)])
    go(page, "#topic=1")
    block = page.locator(".language-columns")
    assert block.locator("h4").all_text_contents() == ["1900", "2000"]


def test_languages_are_side_by_side(open_report, sided):
    page = open_report(sided, "#side=languages")
    heads = page.locator(".languages th").all_text_contents()
    assert heads == ["Topic", "en", "de"]
    rows = page.locator(".languages tbody tr")
    place = list(np.argsort(-sided.topic_sizes(), kind="stable")).index(0)
    cells = rows.nth(place).locator("td").all_text_contents()
    assert cells[1].split(", ") == list(sided.top_terms(8)[0])
    assert cells[2] == "fuchs, wolf"
    go(page, "#topic=0")
    columns = page.locator(".language-columns > div")
    assert columns.nth(0).locator("li").all_text_contents() == list(
        sided.top_terms(10)[0]
    )
    assert columns.nth(1).locator("li").all_text_contents() == ["fuchs", "wolf"]
    page.set_viewport_size({"width": 390, "height": 800})
    go(page, "#side=languages")
    width = "document.documentElement.scrollWidth"
    assert page.evaluate(width) <= 390


def test_seeds_are_marked_and_links_are_listed(open_report, sided):
    page = open_report(sided, "#topic=0")
    figures_are_drawn(page)
    assert {"★ fox", "★ wolf"} <= set(page.locator(".bar-label").all_text_contents())
    go(page, "#doc=0")
    links = page.locator("section", has=page.locator("h3", has_text="Links"))
    shown = links.locator("a").evaluate_all("all => all.map(a => a.hash)")
    assert shown == ["#doc=7", "#doc=9"]
    go(page, "#doc=3")
    assert page.locator("h3", has_text="Links").count() == 0


def test_slides_step_by_keys(open_report, small, file):
    page = open_report(small, "#slides", file=file)
    page.keyboard.press("ArrowRight")
    until(
        page,
        "document.activeElement.getAttribute('aria-label') === 'Topic "
        f"{small.topic_sizes().argmax()}'",
    )
    page.emulate_media(media="print")
    assert page.locator(".slide").first.is_visible()
    assert page.locator("#view .toolbar").is_hidden()


def table(content):
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))


def test_tables_are_saved_as_csv(open_report, small, file):
    page = open_report(small, "#topics", file=file)
    _, content = saved(page, page.locator(".topic-list button").click)
    rows = table(content)
    assert [int(r["topic"]) for r in rows] == list(np.argsort(-small.topic_sizes()))
    words = small.top_terms(10)[int(rows[0]["topic"])]
    assert rows[0]["terms"].split(", ") == list(words)
    go(page, "#classes")
    name, content = saved(page, page.locator("text=CSV").first.click)
    assert name == "classes.csv"
    classes, mixtures = small.class_topics()
    for row, label, mixture in zip(table(content), classes, mixtures, strict=True):
        assert row["class"] == label
        found = [float(row[f"topic{k}"]) for k in range(4)]
        assert found == pytest.approx(mixture, abs=1e-5)
    go(page, "#fit")
    _, content = saved(page, page.locator("text=CSV").first.click)
    assert [float(r["objective"]) for r in table(content)] == list(small.history)


def test_figures_are_saved_as_svg_and_png(open_report, small, file):
    page = open_report(small, "#classes", file=file)
    page.wait_for_selector(".heat")
    _, svg = saved(page, page.locator("text=SVG").first.click)
    assert svg.startswith(b"<svg")
    assert b"numpy" not in svg
    assert b"money" in svg
    assert b"var(--" not in svg
    _, png = saved(page, page.locator("text=PNG").first.click)
    assert png.startswith(b"\x89PNG")
    go(page, "#map")
    map_is_drawn(page)
    _, png = saved(page, page.locator("text=PNG").first.click)
    assert png.startswith(b"\x89PNG")
    _, svg = saved(page, page.locator("text=SVG").first.click)
    assert svg.count(b"h0") == 40
    _, rows = saved(page, page.locator("text=CSV").first.click)
    assert len(table(rows)) == 40


def test_hostile_text_runs_nothing(open_report, hostile):
    page = open_report(hostile, title="</title><script>window.hacked=1</script>")
    terms = [hostile.vocabulary[i] for i in (0, 1, 4)]
    places = [f"#{view}" for view in VIEWS] + ["#topic=0", "#doc=1", "#doc=7"]
    for place in places:
        go(page, place)
        page.wait_for_timeout(30)
    for query in terms:
        page.locator("#search").fill(query)
        page.wait_for_selector(".words a")
        page.locator(".words a").first.click()
        page.wait_for_selector(".view-term")
        assert page.locator("#term-name").inner_text() == query
    go(page, "#doc=0")
    page.wait_for_selector(".text")
    assert page.evaluate("window.hacked") is None
    assert page.locator("#view img, #view script").count() == 0
    go(page, "#topics")
    _, content = saved(page, page.locator(".topic-list button").click)
    assert "\n=" not in content.decode()


def test_nothing_is_wider_than_a_phone(open_report, small, file, pictures):
    page = open_report(small, file=file, width=390)
    for view in (*VIEWS, "topic=1", "doc=3", "class=sea", "search=sea"):
        go(page, f"#{view}")
        page.wait_for_timeout(50)
        page.screenshot(path=pictures / f"phone-{view}.png")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, view


def test_nothing_covers_the_legend_of_the_map_on_a_phone(open_report, small, file):
    page = open_report(small, "#map", file=file, width=390)
    last = page.locator(".legend-item").last.bounding_box()
    assert last["y"] + last["height"] <= page.locator("footer").bounding_box()["y"]


def test_no_label_of_a_bar_is_clipped_and_axes_have_like_digits(open_report, small):
    names = {label: f"{label}.{'mwm' * 9}" for label in set(small.labels)}
    labels = [names[label] for label in small.labels]
    page = open_report(dataclasses.replace(small, labels=labels), "#topic=1")
    assert page.locator(".bar-label").filter(has_text="…").count() >= 1
    left = page.evaluate(
        "[...document.querySelectorAll('.bar-label')].map(label =>"
        "label.getBoundingClientRect().left"
        "- label.ownerSVGElement.getBoundingClientRect().left)"
    )
    assert min(left) >= 0
    marks = [text for text in page.locator(".axis").all_text_contents() if "%" in text]
    assert len({len(mark.partition(".")[2]) for mark in marks}) == 1


def test_bars_of_all_classes_have_one_scale(open_report, small, file):
    page = open_report(small, "#classes", file=file)
    shares = page.locator(".class-list .note").all_text_contents()
    shown = [float(text[:-1]) for text in shares if text.endswith("%")]
    widths = page.evaluate(
        "[...document.querySelectorAll('.class-list .meter')].map(bar =>"
        "parseFloat(bar.style.getPropertyValue('--share')))"
    )
    assert max(widths) == 100
    np.testing.assert_allclose(widths, 100 * np.array(shown) / max(shown), atol=2)


def test_lines_to_names_on_the_map_go_around_other_names(open_report, planted):
    page = open_report(planted, "#map")
    map_is_drawn(page)
    boxes = page.evaluate(
        "() => { const { map } = document.querySelector('canvas');"
        "return map.labels.at(map.scatter.context)"
        ".map(({ x, y, cx, cy, half, high }) => ({ x, y, cx, cy, half, high })); }"
    )
    crossed = 0
    for one in boxes:
        x = np.clip(one["x"], one["cx"] - one["half"], one["cx"] + one["half"])
        y = np.clip(one["y"], one["cy"] - one["high"], one["cy"] + one["high"])
        if np.hypot(x - one["x"], y - one["y"]) < 8:
            continue
        at = np.linspace(0, 1, 200)[:, None]
        line = (1 - at) * [x, y] + at * [one["x"], one["y"]]
        for other in boxes:
            gap = np.abs(line - [other["cx"], other["cy"]])
            inside = gap < [other["half"] - 1, other["high"] - 1]
            crossed += other is not one and bool(inside.all(axis=1).any())
    assert len(boxes) > 10
    assert crossed == 0


def test_paper_has_all_topics_and_no_controls(open_report, small, file, pictures):
    page = open_report(small, "#topics", file=file, theme="dark")
    page.emulate_media(media="print")
    assert page.locator("#all-topics tbody tr").count() == 4
    assert page.locator("#all-topics").is_visible()
    assert page.locator("#tabs").is_hidden()
    assert page.locator("#search").is_hidden()
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize(
    "missing",
    [("texts",), ("texts", "doc_ids", "labels", "times", "doc_lengths")],
    ids=["texts", "all"],
)
def test_views_without_data_are_not_offered(open_report, small, missing):
    data = dataclasses.replace(
        small, history=(), settings={}, **dict.fromkeys(missing, None)
    )
    page = open_report(data, "#doc=2")
    assert page.locator(".mixture li").count() >= 1
    page.wait_for_selector("text=saved without its texts")
    tabs = page.locator("#tabs a").all_text_contents()
    assert ("Classes" in tabs) == ("labels" not in missing)
    for view in VIEWS:
        go(page, f"#{view}")
    page.wait_for_timeout(30)
    only_topics = TopicData(topics=small.topics, vocabulary=small.vocabulary)
    page = open_report(only_topics, "#map")
    assert page.locator("#tabs a").all_text_contents() == [
        "Topics", "Similarity", "Slides", "The fit",
    ]  # fmt: skip


def test_a_report_as_large_as_the_demos(open_report):
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(2000)]
    rows = range(3500)
    theta = rng.dirichlet([0.05] * 30, size=len(rows))
    data = TopicData(
        topics=rng.dirichlet([0.02] * 2000, size=30),
        vocabulary=words,
        doc_topics=theta,
        doc_lengths=np.full(3500, 60),
        labels=[f"class {k}" for k in theta.argmax(axis=1) % 12],
        doc_ids=[f"name {i}" for i in rows],
        texts=[
            " ".join(words[(7 * i + j) % 2000] for j in range(60)) for i in range(3500)
        ],
    )
    page = open_report(data, "#topics", coherence=[0.1] * 30)
    assert page.locator(".topic-item").count() == 30
    go(page, "#classes")
    page.wait_for_selector(".heat")
    assert page.locator(".heat tbody td").count() == 12 * 30
    go(page, "#map")
    until(page, "document.querySelector('canvas')?.scatter?.xs.length === 3500")
    go(page, "#doc=3400")
    page.wait_for_selector("mark")
    assert page.locator("mark").count() == 60


def _overlaps(page):
    """Return how many names lie over another, or outside of their figure."""
    figure, names = (
        page.locator(what).evaluate_all(
            "all => all.map(x => x.getBoundingClientRect())"
            ".map(x => [x.left, x.top, x.right, x.bottom])"
        )
        for what in (".plane", ".circle-name")
    )
    boxes = np.array(names)
    low, high = boxes[:, :2], boxes[:, 2:]
    outside = (low < np.array(figure[0][:2]) - 1) | (high > np.array(figure[0][2:]) + 1)
    # Letters do not fill their boxes.
    touching = (low[:, None] + [1, 3] < high[None]).all(axis=2)
    return int(outside.any(axis=1).sum() + np.triu(touching & touching.T, 1).sum())


@pytest.mark.parametrize(
    ("n_topics", "zoom", "width"), [(20, "1", 1200), (200, "4", 1200), (200, "8", 390)]
)
def test_every_circle_of_similar_topics_has_a_name(open_report, n_topics, zoom, width):
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(600, 0.02), n_topics)
    mixtures = rng.dirichlet(np.full(n_topics, 0.1), 300)
    words = [f"word{i}ly" for i in range(600)]
    data = TopicData(topics=topics, vocabulary=words, doc_topics=mixtures)
    page = open_report(data, "#similarity")
    page.set_viewport_size({"width": width, "height": 800})
    figures_are_drawn(page)
    page.get_by_label("Zoom").select_option(zoom)
    figures_are_drawn(page)
    names = page.locator(".circle-name").all_text_contents()
    # With its number, for a crowd in which a name is nearer to another circle.
    assert sorted(int(name.split()[0]) for name in names) == list(range(n_topics))
    assert _overlaps(page) == 0


def test_documents_without_a_topic_are_not_typical_of_it(open_report, small):
    mixtures = np.zeros((40, 4))
    mixtures[:, 0] = 1
    mixtures[:3] = [0.1, 0.9, 0, 0]
    data = dataclasses.replace(small, doc_topics=mixtures)
    page = open_report(data, "#topic=1")
    found = page.locator("section", has_text="Most typical documents").locator("li")
    assert found.count() == 3
    go(page, "#topic=2")
    assert page.get_by_text("Most typical documents").count() == 0


def test_views_say_what_they_leave_out(open_report, planted):
    labelled = dataclasses.replace(
        planted, labels=[f"class{row % 12:02}" for row in range(1500)]
    )
    page = open_report(labelled, "#topic=0")
    figures_are_drawn(page)
    said = page.locator(".detail").inner_text()
    assert "The 8 largest of 12 shares; the CSV has all." in said
    assert "The 6 most similar topics." in said
    go(page, "#similarity")
    view = page.locator("#view")
    assert "The 15 most similar of 780 pairs; the CSV has all." in view.inner_text()
    go(page, "#classes")
    assert "a share below 1 % has no number" in view.inner_text()
    assert "The three largest topics of each class." in view.inner_text()
    go(page, "#class=class03")
    assert "The 12 largest of 40 topics; the CSV has all." in view.inner_text()
    go(page, "#map")
    map_is_drawn(page)
    assert "More names appear as you zoom in." in view.inner_text()


def test_axes_of_effects_have_a_scale_on_a_phone(open_report, sided):
    page = open_report(sided, "#side=features")
    page.set_viewport_size({"width": 360, "height": 800})
    page.reload()
    figures_are_drawn(page)
    marks = page.locator(".effects li").evaluate_all(
        "all => all.map(li => li.querySelectorAll('.effect-tick').length)"
    )
    assert min(marks) >= 2
