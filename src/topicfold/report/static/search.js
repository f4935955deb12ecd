// SPDX-License-Identifier: BSD-3-Clause
// Search over topics, terms, classes and documents; and the page of a term.

import { h, link, percent, plural } from "./dom.js";
import { topicColor } from "./theme.js";
import { withoutMarks } from "./data.js";
import { barChart, responsive, section } from "./charts.js";
import { documentItem, growing, topicLink } from "./lists.js";

const MOST_TERMS = 24;
let folded = null;

function fold(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

function findTerms(report, wanted) {
  const hits = [];
  report.terms.forEach((name, term) => {
    const at = fold(name).indexOf(wanted);
    // Terms are in the order of frequency; whole ones and beginnings come first.
    if (at >= 0) hits.push({ term, name, rank: (at ? 2 : 0) + (name.length > wanted.length ? 1 : 0) });
  });
  return hits.sort((a, b) => a.rank - b.rank || a.term - b.term);
}

async function findDocuments(report, wanted) {
  const { documents } = report;
  if (!documents) return [];
  if (!folded) {
    const texts = await report.texts();
    folded = Array.from({ length: documents.n }, (_, place) => ({
      head: fold(`${report.title(place)} ${documents.ids?.[place] ?? ""}`),
      body: texts ? fold(withoutMarks(texts[place])) : "" }));
  }
  const heads = [];
  const bodies = [];
  folded.forEach(({ head, body }, place) => {
    if (head.includes(wanted)) heads.push({ place, where: "title" });
    else if (body.includes(wanted)) bodies.push({ place, where: "text" });
  });
  return [...heads, ...bodies];
}

export function showSearch(report, box, parameters) {
  const query = parameters.get("search").trim();
  const wanted = fold(query);
  const heading = h("h2", {}, wanted ? `Found for “${query}”` : "Search");
  const status = h("p", { class: "hint", role: "status" }, wanted ? "Searching …"
    : "Type a term, the name of a topic or class, or words from a title.");
  box.append(heading, status);
  if (wanted) fillSearch(report, box, wanted, status);
  return "Search";
}

async function fillSearch(report, box, wanted, status) {
  const topics = report.bySize.filter((topic) => fold(report.name(topic.id)).includes(wanted)
    || String(topic.id) === wanted || report.topTerms(topic.id, 1, 15).some((term) => fold(term.name) === wanted));
  const terms = findTerms(report, wanted);
  const classes = (report.page.classes?.names ?? []).filter((name) => fold(name).includes(wanted));
  const documents = await findDocuments(report, wanted);
  status.textContent = [plural(topics.length, "topic"), plural(terms.length, "term"),
    report.page.classes && (classes.length === 1 ? "1 class" : `${classes.length} classes`),
    report.documents && plural(documents.length, "document")].filter(Boolean).join(" · ");
  const parts = [];
  if (topics.length) {
    parts.push(section("Topics", h("ul", { class: "plain" }, topics.slice(0, 12).map((topic) =>
      h("li", {}, topicLink(report, topic.id, percent(topic.size)))))));
  }
  const linked = (title, key, names) => {
    if (names.length) parts.push(section(title, h("ul", { class: "words" }, names.map((name) => h("li", {}, h("a", { href: link({ [key]: name }) }, name))))));
  };
  linked("Terms", "term", terms.slice(0, MOST_TERMS).map((item) => item.name));
  linked("Classes", "class", classes.slice(0, 30));
  if (documents.length) {
    parts.push(section("Documents", growing(documents, (item) => documentItem(report, item.place, `in the ${item.where}`))));
  }
  if (!parts.length) parts.push(h("p", {}, "Nothing was found. Try fewer letters."));
  box.append(...parts);
}

export function showTerm(report, box, parameters) {
  const name = parameters.get("term");
  const term = report.terms.indexOf(name);
  if (term < 0) {
    box.append(h("h2", {}, "No such term"), h("p", {}, `“${name}” is not among the terms of this report. `,
      h("a", { href: link({ search: name }) }, "Search for it")));
    return "No such term";
  }
  const rows = report.topicsOfTerm(term);
  const figure = responsive((width) => barChart(rows.map((row) => ({ label: `${row.topic} ${report.name(row.topic)}`,
    href: link({ topic: row.topic }), value: row.share, text: percent(row.share),
    color: topicColor(report.topics[row.topic]) })), width,
  { labelWidth: 260, limit: 1, describe: `Topics of the term ${name}` }));
  box.append(h("div", { class: "detail-nav" }, h("a", { class: "back", href: "#topics" }, "All topics"),
    h("a", { class: "button small", href: link({ search: name }) }, "Find in documents")),
  h("h2", {}, "Term “", h("span", { id: "term-name" }, name), "”"),
  h("p", { class: "hint" }, `${percent(report.frequencies[term])} of all words`),
  section("Topics that use it", figure, { name: "term-topics",
    hint: "Share of each topic in all uses of this term.",
    exports: { figure: () => figure.querySelector("svg"),
      csv: () => [["term", "topic", "name", "share"], rows.map((row) => [name, row.topic, report.name(row.topic), row.share])] } }));
  return `Term ${name}`;
}
