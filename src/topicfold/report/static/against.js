// SPDX-License-Identifier: BSD-3-Clause
// Two models compared: topics that are the same, their words, documents that moved.

import { count, h, percent, plural } from "./dom.js";
import { section } from "./charts.js";
import { documentItem, growing, meter, topicLink } from "./lists.js";

function otherTopic(against, topic) {
  return h("span", { class: "topic-link" }, h("span", { class: "chip plain" }, topic),
    h("span", { class: "topic-link-name", title: against.topics[topic].name }, against.topics[topic].name),
    h("span", { class: "note" }, percent(against.topics[topic].size)));
}

function ownTopic(report, topic) {
  const now = report.into[topic];
  return now < 0 ? h("span", { class: "note" }, `topic ${topic}, dropped`)
    : topicLink(report, now, percent(report.topics[now].size));
}

function wordsOf(row) {
  const part = (name, words, mark) => words && h("span", { class: `words-${mark}` },
    h("span", { class: "note" }, `${name} `), words);
  return h("td", { class: "match-words" }, part("both", row.shared, "both"), part("only here", row.here, "here"),
    part("only there", row.there, "there"));
}

// Likeness by words and documents, as a bar with its number.
function likenessCell({ likeness: value, topic, near }) {
  if (value === null) {
    return h("td", { class: "note" }, `no counterpart; most similar: ${near[0]} ${topic === null ? "here" : "there"} (${near[1].toFixed(2)})`);
  }
  return h("td", { class: "likeness" }, h("span", { class: "note" }, value.toFixed(2)), meter(value, "var(--accent)"));
}

function matchTable(report, against) {
  const none = () => h("span", { class: "note" }, "–");
  return h("div", { class: "wide" }, h("table", { class: "table matches" },
    h("thead", {}, h("tr", {}, h("th", {}, "Topic here"), h("th", {}, "Topic there"), h("th", {}, "Likeness"),
      h("th", {}, "Most relevant words"))),
    h("tbody", {}, against.rows.map((row) => h("tr", {},
      h("td", {}, row.topic === null ? none() : ownTopic(report, row.topic)),
      h("td", {}, row.other === null ? none() : otherTopic(against, row.other)),
      likenessCell(row), wordsOf(row))))));
}

function movedSection(report, against) {
  const list = h("div", { id: "moved-documents" });
  const show = ([topic, other]) => {
    const places = [];
    for (let i = 0; i < report.documents.n; i += 1) {
      if (report.fittedMain[i] === topic && against.main[i] === other) places.push(i);
    }
    list.replaceChildren(h("h4", {}, `From ${topic} here to ${other} there: ${plural(places.length, "document")} on this page`),
      growing(places, (place) => documentItem(report, place, percent(report.mixture(place)[0]?.share ?? 0)), 10));
    list.scrollIntoView({ block: "nearest" });
  };
  const rows = against.moves.map((move) => h("tr", {}, h("td", {}, ownTopic(report, move[0])),
    h("td", {}, otherTopic(against, move[1])), h("td", { class: "number" },
      h("button", { type: "button", class: "small", onclick: () => show(move) }, plural(move[2], "document")))));
  return section("Documents that moved", h("div", {}, h("div", { class: "wide moves" }, h("table", { class: "table matches" },
    h("thead", {}, h("tr", {}, h("th", {}, "Main topic here"), h("th", {}, "Main topic there"),
      h("th", { class: "number" }, "Documents"))), h("tbody", {}, rows))), list), { name: "moved",
    hint: `${count(against.moved)} of the ${count(against.documents)} documents in both models have moved: `
      + "the main topic here is not the counterpart of the main topic there. Press a number to list them.",
    exports: { csv: () => [["topic", "other", "documents"], against.moves] } });
}

export function showAgainst(report, box) {
  const { against } = report.page;
  const matched = against.rows.filter((row) => row.likeness !== null).length;
  box.append(h("h2", {}, "Two models compared"),
    h("p", { class: "hint" }, `Here: ${report.page.title}. There: ${against.name}.`),
    section("Topics and their counterparts", matchTable(report, against), { name: "matched-topics",
      hint: `${matched} of ${plural(report.fitted.length, "topic")} here have a counterpart among the `
        + `${against.topics.length} there. Similarity is 1 for the same words`
        + `${against.documents ? " and documents" : ""}, 0 for none in common.`,
      exports: { csv: () => [["topic", "other", "likeness", "shared", "only_here", "only_there"],
        against.rows.map((row) => [row.topic, row.other, row.likeness, row.shared, row.here, row.there])] } }));
  if (against.moves.length) box.append(movedSection(report, against));
  return "Two models";
}
