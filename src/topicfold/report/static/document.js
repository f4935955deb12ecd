// SPDX-License-Identifier: BSD-3-Clause
// One document: its mixture, its words by topic, and those like it.

import { h, link, percent, plural } from "./dom.js";
import { topicColor } from "./theme.js";
import { splitMarked } from "./data.js";
import { section } from "./charts.js";
import { documentItem, topicTable } from "./lists.js";
import { linkBlock } from "./sides.js";

// Documents by Σ_k √(θ_dk θ_ek), from the mixtures as they are in the page.
function similar(report, place, n) {
  const { starts, topics, weights } = report.documents;
  const own = new Float64Array(report.topics.length);
  for (const item of report.mixture(place)) own[item.topic] = Math.sqrt(item.share);
  const scored = [];
  for (let other = 0; other < report.documents.n; other += 1) {
    if (other === place) continue;
    let sum = 0;
    for (let i = starts[other]; i < starts[other + 1]; i += 1) sum += own[topics[i]] * Math.sqrt(weights[i] / 255);
    // Mixtures are rounded, so that a sum may be a little more than 1.
    scored.push([Math.min(1, sum), other]);
  }
  return scored.sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, n);
}

function wordMark(report, part) {
  return h("mark", { class: "word", "data-topic": part.topic, title: `Topic ${part.topic}: ${report.name(part.topic)}`,
    style: { "--topic": topicColor(report.topics[part.topic]) } }, part.text, h("sub", { "aria-hidden": "true" }, part.topic));
}

function textBlock(report, place, box) {
  const text = h("div", { class: "text", lang: "" });
  const numbers = h("input", { type: "checkbox", checked: true,
    onchange: () => text.classList.toggle("no-numbers", !numbers.checked) });
  const block = section("Text", text, { hint: "Every word of the vocabulary has the colour and number of its most "
    + "likely topic here. Point at a topic to see only its words." });
  block.querySelector(".block-head").append(h("label", { class: "choice" }, numbers, h("span", {}, "numbers")));
  report.texts().then((texts) => {
    if (!texts) {
      text.replaceChildren(h("p", { class: "hint" }, "The model was saved without its texts. To see the words of documents, "
        + "write the report again: topicfold report MODEL --documents INPUT."));
      return;
    }
    if (!texts[place]) {
      text.append(h("p", { class: "hint" }, report.documents.lengths?.[place] === 0 ? "This document is empty."
        : "The text of this document is not in the report."));
    }
    text.append(...splitMarked(texts[place]).map((part) => ({ ...part, topic: report.into[part.topic] ?? -1 })).map((part) =>
      (part.topic < 0 ? document.createTextNode(part.text) : wordMark(report, part))));
  });
  const only = (topic) => {
    text.classList.toggle("only", topic !== null);
    for (const mark of text.querySelectorAll("mark")) mark.classList.toggle("on", mark.dataset.topic === topic);
  };
  box.addEventListener("pointerover", (event) => {
    const item = event.target.closest(".mixture li");
    only(item ? item.dataset.topic : null);
  });
  box.addEventListener("focusin", (event) => only(event.target.closest(".mixture li")?.dataset.topic ?? null));
  return block;
}

function steps(report, place) {
  const { rows } = report.documents;
  const step = (to, text) => to >= 0 && to < rows.length
    && h("a", { class: "button small", href: link({ doc: rows[to] }) }, text);
  return h("span", { class: "steps" }, step(place - 1, "← Before"), step(place + 1, "After →"),
    h("a", { class: "button small", href: link({ map: true, doc: rows[place] }) }, "On the map"));
}

export function showDocument(report, box, parameters) {
  const row = Number(parameters.get("doc"));
  const place = report.placeOfRow?.get(row);
  if (place === undefined) {
    const known = report.documents && row < report.page.counts.documents;
    box.append(h("h2", {}, known ? `Document ${row} is not in this report` : `There is no document ${row}`),
      h("p", {}, known ? "The report shows a sample of the documents." : "Look for it with the search above."));
    return "No such document";
  }
  const all = report.mixture(place);
  // Less than a hundredth is the prior speaking, not the document.
  const items = all.filter((item, i) => !i || item.share >= 0.01);
  const rest = 1 - items.slice(0, 10).reduce((sum, item) => sum + item.share, 0);
  const length = report.documents.lengths?.[place];
  const name = report.className(place);
  const about = [report.label(place), length !== undefined && plural(length, "known word"), report.timeName(place)];
  const csv = () => [["topic", "name", "share"], all.map((item) => [item.topic, report.name(item.topic), item.share])];
  box.append(h("div", { class: "detail-nav" },
    h("a", { class: "back", href: link({ topic: items[0]?.topic ?? 0 }) }, `Topic ${items[0]?.topic ?? 0}`), steps(report, place)),
  h("h2", { class: "document-name" }, report.title(place)),
  h("p", { class: "hint" }, about.filter(Boolean).join(" · "), name && " · ",
    name && h("a", { href: link({ class: name }) }, name)),
  h("div", { class: "columns reading" },
    textBlock(report, place, box),
    h("div", {},
      section("Mixture of topics", h("div", {}, topicTable(report, items.slice(0, 10), "Topics of the document"),
        rest > 0.02 ? h("p", { class: "hint" }, `${percent(rest)} in other topics`) : ""),
      { name: `document-${row}`, exports: { csv } }),
      section("Similar documents", h("ul", { class: "documents" }, similar(report, place, 6).map(([score, other]) =>
        documentItem(report, other, score.toFixed(2))))), linkBlock(report, place))));
  return report.title(place);
}
