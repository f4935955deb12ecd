# SPDX-License-Identifier: BSD-3-Clause
"""The page in Firefox, driven by WebDriver BiDi: every view shows, nothing is said.

Playwright drives only a Firefox of its own; this one is the machine's.
"""

import asyncio
import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from topicfold.plotting import Page
from topicfold.report import report_html, write_report

VIEWS = (
    "topics", "map", "classes", "time", "similarity", "compare", "against", "slides",
    "fit",
)  # fmt: skip
# Names a place, and waits until it is shown with its figures and its map.
VISIT = """(async () => {
  location.hash = PLACE;
  const drawn = () => document.querySelector(".view-" + PLACE.slice(1))
    && [...document.querySelectorAll("#view .figure")].every((box) =>
      !box.clientWidth || box.childElementCount)
    && [...document.querySelectorAll("#view canvas")].every((box) =>
      box.scatter?.width);
  while (!drawn()) await new Promise(requestAnimationFrame);
  return document.getElementById("view").textContent.length;
})()"""
# What of the map is inked, and the document that a click shows.
MAP = """(async () => {
  const canvas = document.querySelector("canvas");
  canvas.redraw();
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  canvas.map.click(canvas.scatter.width / 2, canvas.scatter.height / 2, 4000);
  while (!document.querySelector(".card")) await new Promise(requestAnimationFrame);
  return data.filter((value, i) => i % 4 === 3 && value > 0).length;
})()"""
# In the cell of a notebook: a link leads to a place in the page itself.
CELL = """(async () => {
  while (!document.querySelector("canvas")?.scatter?.width) {
    await new Promise(requestAnimationFrame);
  }
  document.querySelector('#tabs a[href="#classes"]').click();
  while (!document.querySelector(".heat")) await new Promise(requestAnimationFrame);
  return location.href;
})()"""
MOST_SECONDS = 120


class Firefox:
    """A page of a running Firefox."""

    def __init__(self, socket):
        self.socket, self.numbers, self.said = socket, count(1), []

    async def ask(self, method, **parameters):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        await self.socket.write_message(json.dumps(message))
        while True:
            answer = json.loads(await self.socket.read_message())
            if answer.get("method") == "log.entryAdded":
                self.said.append(answer["params"]["text"])
            elif answer.get("id") == number:
                assert answer["type"] == "success", answer
                return answer["result"]

    async def begin(self):
        await self.ask("session.new", capabilities={})
        await self.ask("session.subscribe", events=["log.entryAdded"])
        self.page = (await self.tree())["context"]

    async def tree(self):
        return (await self.ask("browsingContext.getTree"))["contexts"][0]

    async def open(self, url):
        await self.ask(
            "browsingContext.navigate", context=self.page, url=url, wait="complete"
        )

    async def run(self, script, page=None):
        found = await self.ask(
            "script.evaluate",
            expression=script,
            target={"context": page or self.page},
            awaitPromise=True,
        )
        assert found["type"] == "success", found
        return found["result"].get("value")


@pytest.fixture
def firefox(tmp_path):
    """The address of a Firefox that runs, or a skip that says how to get one."""
    pytest.importorskip("tornado.websocket", reason="tornado is not installed")
    program = shutil.which("firefox") or shutil.which("firefox-esr")
    if program is None:
        pytest.skip("no Firefox on this machine (apt-get install firefox-esr)")
    profile = tmp_path / "profile"
    profile.mkdir()
    options = ("--headless", "--no-remote", "--remote-debugging-port", "0")
    running = subprocess.Popen(
        [program, *options, "--profile", str(profile)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    yield running, profile / "WebDriverBiDiServer.json"
    running.terminate()
    running.wait()


async def address(running, file):
    while not file.is_file():
        assert running.poll() is None, "Firefox has ended"
        await asyncio.sleep(0.05)
    found = json.loads(file.read_text())
    return f"ws://{found['ws_host']}:{found['ws_port']}/session"


async def look(firefox, url, notebook):
    from tornado.websocket import websocket_connect

    socket = await websocket_connect(await address(*firefox))
    page = Firefox(socket)
    await page.begin()
    await page.open(url)
    shown = {
        view: await page.run(VISIT.replace("PLACE", json.dumps(f"#{view}")))
        for view in VIEWS
    }
    await page.run(VISIT.replace("PLACE", '"#map"'))
    inked = await page.run(MAP)
    await page.open(notebook)
    (frame,) = (await page.tree())["children"]
    place = await page.run(CELL, frame["context"])
    await page.ask("browser.close")
    socket.close()
    return shown, inked, place, page.said


def test_every_view_shows_in_firefox(firefox, small, tmp_path):
    file = write_report(small, tmp_path / "report.html", against=small)
    cell = Page(report_html(small, start="map"), 600)._repr_html_()
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!DOCTYPE html><meta charset=utf-8>{cell}", encoding="utf-8")
    work = asyncio.wait_for(
        look(firefox, file.as_uri(), notebook.as_uri()), MOST_SECONDS
    )
    # In this thread Playwright may keep a loop of its own, for the tests of Chromium.
    with ThreadPoolExecutor(1) as thread:
        shown, inked, place, said = thread.submit(asyncio.run, work).result()
    assert all(length > 100 for length in shown.values()), shown
    assert inked > 400
    assert place == "about:srcdoc#classes"
    assert said == []
