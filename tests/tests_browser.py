# SPDX-License-Identifier: BSD-3-Clause
"""Waiting for what a page of the report does, by condition and never by time."""

import pytest


def until(page, condition):
    """Wait for a condition; wait_for_function would need eval, which the page bans."""
    for _ in range(1200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never: {condition}")


def figures_are_drawn(page):
    """Wait for figures: a page draws them a frame later, when their width is known."""
    until(
        page,
        "[...document.querySelectorAll('#view .figure')]"
        ".every(box => !box.clientWidth || box.childElementCount)",
    )
