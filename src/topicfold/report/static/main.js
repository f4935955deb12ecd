// SPDX-License-Identifier: BSD-3-Clause
// The address decides what is shown: #topic=7, #doc=12, #map&topic=7, …

import { h, hideTip, link, plural } from "./dom.js";
import { loadReport } from "./data.js";
import { recall, remember, startTheme, switchTheme, usePalette } from "./theme.js";
import { saveJson } from "./files.js";
import { checkedEdits, editFile } from "./edits.js";
import { showTopics } from "./topics.js";
import { showMap } from "./map.js";
import { showSimilarity } from "./similarity.js";
import { showClass, showClasses } from "./classes.js";
import { showDocument } from "./document.js";
import { showSide, sideNames, sideTitle } from "./sides.js";
import { showTime } from "./time.js";
import { showCompare } from "./compare.js";
import { showAgainst } from "./against.js";
import { showSlides } from "./slides.js";
import { showFit } from "./fit.js";
import { showSearch, showTerm } from "./search.js";

// The views by the first word of the address, each with its function; those that have a
// tab with its text and whether the report has what they show.
const VIEWS = {
  topics: { show: showTopics, tab: () => "Topics" },
  map: { show: showMap, tab: () => "Map", there: ({ page }) => page.documents },
  classes: { show: showClasses, tab: () => "Classes", there: ({ page }) => page.classes },
  time: { show: showTime, tab: () => "Over time", there: ({ page }) => page.time },
  side: { show: showSide, tab: sideTitle, there: (report) => sideNames(report).length },
  similarity: { show: showSimilarity, tab: () => "Similarity", there: ({ page }) => page.similarity && page.counts.topics > 1 },
  compare: { show: showCompare, tab: () => "Compare",
    there: (report) => report.documents && (report.page.classes || report.page.time || sideNames(report).length) },
  against: { show: showAgainst, tab: () => "Two models", there: ({ page }) => page.against },
  slides: { show: showSlides, tab: () => "Slides" },
  fit: { show: showFit, tab: () => "The fit" },
  topic: { show: showTopics, under: "topics" },
  term: { show: showTerm, under: "topics" },
  class: { show: showClass, under: "classes" },
  doc: { show: showDocument, under: "map" },
  search: { show: showSearch },
};

// In the cell of a notebook the page has no address of its own, and a link to a place in
// it would load the notebook into its own cell.
const FRAMED = location.protocol === "about:";

function followInFrame(event) {
  const place = event.target.closest("a")?.getAttribute("href");
  if (!place?.startsWith("#") || event.defaultPrevented) return;
  event.preventDefault();
  location.hash = place;
}

class App {
  constructor(report) {
    this.report = report;
    this.box = document.getElementById("view");
    this.ending = new AbortController();
    this.key = `topicfold-edits-${report.page.fingerprint}`;
    usePalette(report.page.palette);
    this.search = h("input", { type: "search", id: "search", placeholder: "Search terms and titles",
      "aria-label": "Search terms, topics, classes and documents", autocomplete: "off", spellcheck: "false" });
    // What views may do, and what they leave for the next: the topic shown, the place in the list.
    this.actions = { edit: (edit) => this.edit(edit), topic: null, listScroll: null };
  }

  start() {
    this.views = Object.fromEntries(Object.entries(VIEWS).filter(([, { there }]) => !there || there(this.report)));
    this.tabs = Object.entries(this.views).filter(([, { tab }]) => tab).map(([key, { tab }]) =>
      h("a", { href: `#${key}`, "data-tab": key }, tab(this.report)));
    document.getElementById("tabs").append(...this.tabs);
    this.tray = h("span", { class: "tray", role: "status", hidden: true },
      h("span", { id: "n-edits" }),
      h("button", { type: "button", class: "small", id: "undo", title: "Undo the last edit (key U)",
        onclick: () => this.undo() }, "Undo"),
      h("button", { type: "button", class: "small primary", id: "save-edits",
        title: "Save the edits as a file, for: topicfold edit MODEL -o NEW --apply FILE",
        onclick: () => saveJson("topicfold-edits", editFile(this.report)) }, "Save edits"));
    document.getElementById("tools").append(this.tray, this.search,
      h("button", { type: "button", id: "theme", title: "Light or dark", "aria-label": "Switch between light and dark",
        onclick: switchTheme }, "◐"));
    this.recallEdits();
    this.listen();
    document.documentElement.classList.add("ready");
    document.documentElement.classList.toggle("framed", FRAMED);
    this.show();
    performance.mark("ready");
  }

  listen() {
    addEventListener("hashchange", () => this.show());
    document.addEventListener("themechange", () => this.show("colors"));
    let waiting;
    this.search.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        location.replace(location.href.split("#")[0] + link({ search: this.search.value }));
      }, 120);
    });
    this.search.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.search.blur();
      if (event.key === "Enter" || event.key === "ArrowDown") {
        event.preventDefault();
        this.box.querySelector("a[href]")?.focus();
      }
    });
    document.addEventListener("keydown", (event) => this.press(event));
    addEventListener("scroll", hideTip, { passive: true });
    if (FRAMED) document.addEventListener("click", followInFrame);
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    const number = Number(event.key);
    if (event.key === "/") this.search.focus();
    else if (event.key === "u" && this.report.edits.length) this.undo();
    else if (number >= 1 && number <= this.tabs.length) location.hash = this.tabs[number - 1].hash;
    else if ((event.key === "j" || event.key === "k") && this.actions.topic !== null) {
      const { bySize } = this.report;
      const at = bySize.findIndex((topic) => topic.id === this.actions.topic) + (event.key === "j" ? 1 : -1);
      if (bySize[at]) {
        // At once: the next key may come before the page is shown.
        this.actions.topic = bySize[at].id;
        location.hash = link({ topic: this.actions.topic });
      }
    } else return;
    event.preventDefault();
  }

  // "again": the same place in other colours, so that nothing moves.
  show(again = false) {
    const parameters = new URLSearchParams(location.hash.slice(1) || this.report.page.start);
    const [asked] = parameters.keys();
    if (asked === "view") return;
    if (again === "colors" && asked === "map") return;
    this.ending.abort();
    this.ending = new AbortController();
    parameters.signal = this.ending.signal;
    hideTip();
    this.actions.topic = null;
    if (asked === "search" && document.activeElement !== this.search) this.search.value = parameters.get("search");
    const name = this.views[asked] ? asked : "topics";
    const content = h("div", { class: `view view-${name}` });
    this.box.replaceChildren(content);
    const title = this.views[name].show(this.report, content, parameters, this.actions);
    document.title = `${title} · ${this.report.page.title}`;
    document.body.dataset.view = name;
    const current = VIEWS[name].under ?? name;
    for (const tab of this.tabs) {
      if (tab.dataset.tab === current) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    if (!again && name !== "search") {
      this.tabs.find((tab) => tab.dataset.tab === current)?.scrollIntoView({ block: "nearest", inline: "nearest" });
      scrollTo(0, 0);
    }
  }

  edit(edit) {
    this.useEdits([...this.report.edits, edit]);
    this.show(true);
  }

  undo() {
    this.useEdits(this.report.edits.slice(0, -1));
    this.show(true);
  }

  useEdits(edits) {
    this.report.edit(edits);
    remember(this.key, JSON.stringify(edits));
    this.tray.hidden = edits.length === 0;
    this.tray.firstChild.textContent = plural(edits.length, "edit");
    for (const cell of document.querySelectorAll("[data-name]")) {
      const topic = Number(cell.dataset.name);
      cell.textContent = this.report.name(topic);
      cell.closest("tr").hidden = !this.report.has(topic);
    }
  }

  recallEdits() {
    let kept = null;
    try { kept = JSON.parse(recall(this.key)); } catch { /* not ours */ }
    const edits = checkedEdits(kept, this.report.fitted.length);
    if (edits.length) this.useEdits(edits);
  }
}

startTheme();
if (typeof DecompressionStream === "undefined") {
  document.getElementById("view").append(h("p", { class: "notice" },
    "This browser is too old to show the whole report; use one from 2023 or later. The topics are listed below."));
} else {
  new App(await loadReport()).start();
}
