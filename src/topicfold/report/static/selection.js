// SPDX-License-Identifier: BSD-3-Clause
// Beside the map: the document clicked, or the list of those chosen.

import { count, h, link, percent, plural, short } from "./dom.js";
import { saveCsv } from "./files.js";
import { documentItem, growing, topicTable } from "./lists.js";
import { withoutMarks } from "./data.js";

// The documents chosen last, for the view that compares groups.
export const chosenDocuments = { places: [] };

export async function documentCard(report, place, box) {
  const row = report.documents.rows[place];
  const about = [report.label(place), report.className(place), report.timeName(place)];
  const text = h("p", { class: "card-text" });
  box.replaceChildren(h("div", { class: "card" }, h("h3", {}, report.title(place)),
    h("p", { class: "hint" }, about.filter(Boolean).join(" · ")),
    topicTable(report, report.mixture(place).slice(0, 4), "Topics of the document"), text,
    h("a", { class: "button", href: link({ doc: row }) }, "Open document")));
  const texts = await report.texts();
  if (texts) text.textContent = short(withoutMarks(texts[place]), 600);
  else text.remove();
}

// The mean mixture of some documents, largest first.
export function meanMixture(report, places) {
  const sums = new Float64Array(report.topics.length);
  for (const place of places) for (const { topic, share } of report.mixture(place)) sums[topic] += share;
  return Array.from(sums, (sum, topic) => ({ topic, share: sum / Math.max(1, places.length) }));
}

export function chosenList(report, places, box, clear) {
  chosenDocuments.places = places;
  const mixture = meanMixture(report, places).sort((a, b) => b.share - a.share).slice(0, 5).filter((item) => item.share > 0);
  const csv = () => saveCsv("documents", ["document", "id", "title", "topic", "class", "time"], places.map((place) =>
    [report.documents.rows[place], report.documents.ids?.[place] ?? "", report.title(place), report.documents.main[place],
      report.className(place), report.timeName(place)]));
  const shown = [...places].sort((a, b) => report.documents.main[a] - report.documents.main[b] || a - b);
  box.replaceChildren(h("div", { class: "chosen", role: "region", "aria-label": "Chosen documents" },
    h("div", { class: "block-head" }, h("h3", { id: "n-chosen" }, `${plural(places.length, "document")} chosen`),
      h("span", { class: "steps" },
        places.length ? h("button", { type: "button", class: "small", onclick: csv }, "CSV") : null,
        h("button", { type: "button", class: "small", onclick: clear }, "Clear"))),
    places.length ? topicTable(report, mixture, "Topics of the chosen documents") : h("p", { class: "hint" },
      "There are no documents inside. Draw a line around some points."),
    places.length ? h("p", {}, h("a", { class: "button small", href: link({ compare: "chosen", with: "all" }) },
      "Compare with all documents")) : null,
    growing(shown, (place) => documentItem(report, place, percent(report.mixture(place)[0]?.share ?? 0)), 20)));
}

export function noneChosen(report, box) {
  chosenDocuments.places = [];
  const part = report.documents.n < report.page.counts.documents
    ? ` ${count(report.documents.n)} of ${count(report.page.counts.documents)} documents are shown.` : "";
  box.replaceChildren(h("p", { class: "hint" }, `Close documents have similar ${report.documents.placed_by}; large distances `
    + "mean little. Drag to move, scroll or pinch to zoom, click a point to read it. More names appear as you zoom in."
    + part));
}
