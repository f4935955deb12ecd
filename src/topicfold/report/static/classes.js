// SPDX-License-Identifier: BSD-3-Clause
// Classes × topics, and the page of one class.

import { h, link, percent, plural } from "./dom.js";
import { section } from "./charts.js";
import { documentItem, growing, shareOf, topicTable } from "./lists.js";
import { heatFigure, heatTable } from "./matrix.js";

const MOST_CLASSES = 60;

function classTable(report) {
  const { names, sizes } = report.page.classes;
  const codes = names.map((_, code) => code).sort((a, b) => sizes[b] - sizes[a]).slice(0, MOST_CLASSES).sort((a, b) => a - b);
  // Topics are sorted by the class with their largest share, so that blocks are along the diagonal.
  const home = (topic) => {
    const shares = codes.map((code) => report.classShare(code, topic.id));
    return shares.indexOf(Math.max(...shares));
  };
  const homes = new Map(report.bySize.map((topic) => [topic, home(topic)]));
  const shown = [...report.bySize].sort((a, b) => homes.get(a) - homes.get(b) || b.size - a.size);
  const shares = shown.map((topic) => codes.map((code) => report.classShare(code, topic.id)));
  const most = Math.max(...shares.map((row) => Math.max(...row)), 1e-9);
  return {
    rows: shown.map((topic) => ({ label: `${topic.id} ${report.name(topic.id)}`, href: link({ topic: topic.id }),
      tip: `${topic.id} ${report.name(topic.id)}` })),
    columns: codes.map((code) => ({ label: names[code], href: link({ class: names[code] }),
      tip: `${names[code]} (${plural(sizes[code], "document")})` })),
    value: (r, c) => shares[r][c],
    // The square root shows small shares too.
    strength: (value) => Math.sqrt(value / most) * (value >= 0.002),
    text: (value) => (value >= 0.01 ? String(Math.round(100 * value)) : ""),
    exact: (value) => percent(value),
    caption: "Mean share of every topic in every class, in percent",
    corner: "Topic",
  };
}

export function showClasses(report, box) {
  const { names, sizes } = report.page.classes;
  const content = classTable(report);
  const csv = () => [["class", "documents", ...report.bySize.map((topic) => `topic${topic.id}`)],
    names.map((name, code) => [name, sizes[code], ...report.bySize.map((topic) => report.classShare(code, topic.id))])];
  const cut = content.columns.length < names.length
    ? ` The ${content.columns.length} largest classes are shown; the CSV has all.` : "";
  const largest = Math.max(...names.map((_, code) => Math.max(...report.bySize.map((topic) => report.classShare(code, topic.id)))));
  const [first, second] = [0, 1].map((place) => names.map((_, code) => code).sort((a, b) => sizes[b] - sizes[a])[place]);
  box.append(h("h2", {}, "Classes and topics"),
    section("Mean mixture of every class", heatTable(content), { name: "classes", exports: { csv, figure: () => heatFigure(content) },
      hint: `Share of a topic in the documents of a class, in percent; a share below 1 % has no number. Topics are sorted by the class in which their share is largest.${cut}` }),
    second === undefined ? "" : h("p", {}, h("a", { class: "button small", href: link({ compare: `class ${names[first]}`,
      with: `class ${names[second]}` }) }, "Compare two classes")),
    section("Classes", h("ul", { class: "class-list" }, names.map((name, code) => {
      const best = report.bySize.map((topic) => ({ topic: topic.id, share: report.classShare(code, topic.id) }))
        .sort((a, b) => b.share - a.share).slice(0, 3);
      return h("li", {}, h("a", { class: "class-name", href: link({ class: name }) }, name),
        h("span", { class: "note" }, plural(sizes[code], "document")),
        topicTable(report, best, `Topics of ${name}`, largest));
    })), report.bySize.length > 3 ? { hint: "The three largest topics of each class." } : {}));
  return "Classes";
}

export function showClass(report, box, parameters) {
  const name = parameters.get("class");
  const code = report.page.classes ? report.page.classes.names.indexOf(name) : -1;
  if (code < 0) {
    box.append(h("h2", {}, "No such class"), h("p", {}, `There is no class “${name}” in this report.`));
    return "No such class";
  }
  const items = report.bySize.map((topic) => ({ topic: topic.id, share: report.classShare(code, topic.id) }))
    .sort((a, b) => b.share - a.share).slice(0, 12);
  const { documents } = report;
  const places = [];
  for (let i = 0; i < documents.n; i += 1) if (documents.classes[i] === code + 1) places.push(i);
  const main = items[0].topic;
  const ranked = places.map((place) => ({ place, share: shareOf(report, place, main) })).sort((a, b) => b.share - a.share);
  box.append(h("div", { class: "detail-nav" }, h("a", { class: "back", href: "#classes" }, "All classes"),
    h("span", { class: "steps" },
      h("a", { class: "button small", href: link({ compare: `class ${name}`, with: "all" }) }, "Compare"),
      h("a", { class: "button small", href: link({ map: true, class: name }) }, "On the map"))),
  h("h2", {}, name), h("p", { class: "hint" }, plural(report.page.classes.sizes[code], "document")),
  h("div", { class: "columns" },
    section("Topics", topicTable(report, items, `Topics of ${name}`), { name: `class-topics`,
      hint: items.length < report.bySize.length ? `The ${items.length} largest of ${report.bySize.length} topics; the CSV has all.` : "",
      exports: { csv: () => [["topic", "name", "share"], report.bySize.map((topic) =>
        [topic.id, report.name(topic.id), report.classShare(code, topic.id)])] } }),
    section("Documents", growing(ranked, (item) => documentItem(report, item.place, percent(item.share))),
      { hint: `Documents with the largest share of topic ${main}, the largest topic of this class, come first.` })));
  return name;
}
