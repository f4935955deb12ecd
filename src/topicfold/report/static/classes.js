// SPDX-License-Identifier: BSD-3-Clause
// Classes × topics, and the page of one class.

import { h, link, percent, plural } from "./dom.js";
import { section } from "./charts.js";
import { documentItem, growing, topicTable } from "./lists.js";
import { heatMap } from "./matrix.js";

const MOST_COLUMNS = 120;

export function showClasses(report, box) {
  const { names, sizes } = report.page.classes;
  const largest = report.bySize.slice(0, MOST_COLUMNS);
  // Topics stand in the order of the class that has most of them: blocks along the diagonal.
  const home = (topic) => {
    const shares = names.map((_, code) => report.classShare(code, topic.id));
    return shares.indexOf(Math.max(...shares));
  };
  const homes = new Map(largest.map((topic) => [topic, home(topic)]));
  const shown = [...largest].sort((a, b) => homes.get(a) - homes.get(b) || b.size - a.size);
  const rows = names.map((name, code) => ({ label: name, href: link({ class: name }),
    tip: `${name} (${plural(sizes[code], "document")})` }));
  const columns = shown.map((topic) => ({ label: String(topic.id), href: link({ topic: topic.id }),
    tip: `${topic.id} ${report.name(topic.id)}`, exact: (value) => percent(value) }));
  let most = 0;
  names.forEach((_, code) => shown.forEach((topic) => { most = Math.max(most, report.classShare(code, topic.id)); }));
  const figure = heatMap({ rows, columns, most, labelWidth: 190,
    value: (r, c) => report.classShare(r, shown[c].id),
    text: (value) => (value >= 0.03 ? String(Math.round(100 * value)) : ""),
    describe: "Mean share of every topic in every class" });
  const csv = () => [["class", "documents", ...report.topics.map((topic) => `topic${topic.id}`)],
    names.map((name, code) => [name, sizes[code], ...report.topics.map((topic) => report.classShare(code, topic.id))])];
  const cut = shown.length < report.topics.length
    ? ` The ${shown.length} largest topics are shown; the CSV has all.` : "";
  box.append(h("h2", {}, "Classes and topics"),
    section("Mean mixture of every class", h("div", { class: "wide" }, figure), { name: "classes",
      exports: { csv, figure: () => figure.querySelector("svg") },
      hint: `Share of a topic in the documents of a class, in percent. Topics stand in the order of the classes that have most of them.${cut}` }),
    section("Classes", h("ul", { class: "class-list" }, names.map((name, code) => {
      const best = report.topics.map((topic) => ({ topic: topic.id, share: report.classShare(code, topic.id) }))
        .sort((a, b) => b.share - a.share).slice(0, 3);
      return h("li", {}, h("a", { class: "class-name", href: link({ class: name }) }, name),
        h("span", { class: "note" }, plural(sizes[code], "document")),
        topicTable(report, best, `Topics of ${name}`));
    }))));
  return "Classes";
}

export function showClass(report, box, name) {
  const code = report.page.classes ? report.page.classes.names.indexOf(name) : -1;
  if (code < 0) {
    box.append(h("h2", {}, "No such class"), h("p", {}, `There is no class “${name}” in this report.`));
    return "No such class";
  }
  const items = report.topics.map((topic) => ({ topic: topic.id, share: report.classShare(code, topic.id) }))
    .sort((a, b) => b.share - a.share).slice(0, 12);
  const { documents } = report;
  const places = [];
  for (let i = 0; i < documents.n; i += 1) if (documents.classes[i] === code + 1) places.push(i);
  const main = items[0].topic;
  const share = (place) => report.mixture(place).find((item) => item.topic === main)?.share ?? 0;
  const ranked = places.map((place) => ({ place, share: share(place) })).sort((a, b) => b.share - a.share);
  box.append(h("div", { class: "detail-nav" }, h("a", { class: "back", href: "#classes" }, "All classes"),
    h("a", { class: "button small", href: link({ map: true, class: name }) }, "On the map")),
  h("h2", {}, name), h("p", { class: "hint" }, plural(report.page.classes.sizes[code], "document")),
  h("div", { class: "columns" },
    section("Topics", topicTable(report, items, `Topics of ${name}`), { name: `class-topics`,
      exports: { csv: () => [["topic", "name", "share"], report.topics.map((topic) =>
        [topic.id, report.name(topic.id), report.classShare(code, topic.id)])] } }),
    section("Documents", growing(ranked, (item) => documentItem(report, item.place, percent(item.share))),
      { hint: `Those with most of topic ${main}, the largest of this class, first.` })));
  return name;
}
