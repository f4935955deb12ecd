# SPDX-License-Identifier: BSD-3-Clause
"""The page in a browser that runs no scripts."""

from topicfold.report import write_report


def test_the_topics_are_listed_at_once(browser, small, tmp_path):
    file = write_report(small, tmp_path / "report.html")
    context = browser.new_context(
        java_script_enabled=False, viewport={"width": 1000, "height": 700}
    )
    page = context.new_page()
    page.goto(file.as_uri())
    notice = page.locator(".notice").first
    assert "only the list of topics" in notice.inner_text()
    said, listed = notice.bounding_box(), page.locator("#all-topics").bounding_box()
    # No empty screen between the sentence and what it speaks of.
    assert 0 <= listed["y"] - (said["y"] + said["height"]) < 80
    assert page.locator("#all-topics tbody tr").count() == 4
    context.close()
