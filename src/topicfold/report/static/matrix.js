// SPDX-License-Identifier: BSD-3-Clause
// Heat maps: numbers in the cells where they fit, headings that are links.

import { h, link, s, short } from "./dom.js";
import { responsive, section, tipped } from "./charts.js";
import { topicLink } from "./lists.js";

// rows, columns: [{label, href, tip}]; value(r, c) in [0, most]; text(value) for a cell.
export function heatMap({ rows, columns, value, least = 0, most, bend = 0.5, text, labelWidth = 160, describe }) {
  return responsive((width) => {
    const labels = Math.min(labelWidth, Math.max(70, width * 0.3));
    const side = Math.max(15, Math.min(46, Math.floor((width - labels - 4) / columns.length)));
    const tall = Math.max(17, Math.min(30, side));
    const top = 26 + (side < 22 ? 6 : 0);
    const wide = labels + side * columns.length + 4;
    const high = top + tall * rows.length + 4;
    const svg = s("svg", { class: "chart heat", width: wide, height: high, viewBox: `0 0 ${wide} ${high}`,
      role: "img", "aria-label": describe });
    columns.forEach((column, c) => {
      const x = labels + side * (c + 0.5);
      svg.append(s("a", { href: column.href, "aria-label": column.tip }, tipped(s("text",
        { x, y: top - 8, "text-anchor": "middle", class: side < 20 ? "heat-label tiny" : "heat-label" },
        column.label), () => [column.tip])));
    });
    const letters = Math.floor((labels - 8) / 7.4);
    rows.forEach((row, r) => {
      const y = top + tall * r;
      svg.append(s("a", { href: row.href, "aria-label": row.tip }, s("text", { x: labels - 8, y: y + tall / 2 + 4,
        "text-anchor": "end", class: "heat-label" }, short(row.label, letters))));
      columns.forEach((column, c) => {
        const amount = value(r, c);
        const share = Math.min(1, Math.max(0, (amount - least) / (most - least))) ** bend;
        const cell = s("g", { class: share > 0.62 ? "cell strong" : "cell" },
          s("rect", { x: labels + side * c, y, width: side - 1, height: tall - 1, class: "cell-back" }),
          s("rect", { x: labels + side * c, y, width: side - 1, height: tall - 1, class: "cell-fill",
            "fill-opacity": share.toFixed(3) }));
        const note = text(amount);
        if (note && side >= 17) {
          cell.append(s("text", { x: labels + side * c + (side - 1) / 2, y: y + tall / 2 + 3.5,
            "text-anchor": "middle", class: "cell-text" }, note));
        }
        tipped(cell, () => [`${row.tip} × ${column.tip}`, column.exact(amount)]);
        cell.addEventListener("click", () => { location.hash = column.href; });
        svg.append(cell);
      });
    });
    return svg;
  });
}

function closePairs(report) {
  const pairs = [];
  for (let one = 0; one < report.topics.length; one += 1) {
    for (let other = one + 1; other < report.topics.length; other += 1) {
      pairs.push({ one, other, value: report.likeness(one, other) });
    }
  }
  return pairs.sort((a, b) => b.value - a.value);
}

function sharedTerms(report, one, other) {
  const known = new Map(report.topTerms(one, 1, 30).map((term) => [term.term, term.weight]));
  return report.topTerms(other, 1, 30).filter((term) => known.has(term.term))
    .sort((a, b) => Math.min(b.weight, known.get(b.term)) - Math.min(a.weight, known.get(a.term)))
    .slice(0, 6).map((term) => term.name).join(" ");
}

export function showSimilarity(report, box) {
  const { order } = report.page.similarity;
  const heads = order.map((topic) => ({ label: String(topic), href: link({ topic }),
    tip: `${topic} ${report.name(topic)}`, exact: (value) => `similarity ${value.toFixed(2)}` }));
  const rows = heads.map((head, i) => ({ ...head, label: `${report.name(order[i])}  ${order[i]}` }));
  const pairs = closePairs(report);
  // The scale is that of the pairs, not of the diagonal: most topics share common words.
  const most = Math.max(pairs[0]?.value ?? 1, 0.05);
  const middle = pairs[Math.floor(pairs.length / 2)]?.value ?? 0;
  const least = middle < 0.8 * most ? middle : 0;
  const figure = heatMap({ rows, columns: heads, least, most, bend: 1, labelWidth: 230,
    value: (r, c) => (r === c ? 0 : report.likeness(order[r], order[c])),
    text: (value) => (value > least && value >= 0.01 ? String(Math.round(100 * value)) : ""),
    describe: "Similarity of every pair of topics" });
  const csv = () => [["topic", ...order.map(String)],
    order.map((one) => [one, ...order.map((other) => report.likeness(one, other))])];
  box.append(h("h2", {}, "Similarity of topics"),
    section("Every pair", h("div", { class: "wide" }, figure), { name: "similarity",
      exports: { csv, figure: () => figure.querySelector("svg") },
      hint: "How much the words of two topics overlap, in hundredths (Bhattacharyya coefficient: 0 no word in "
        + "common, 100 the same). Similar topics stand together. The diagonal is left empty." }),
    section("Most similar pairs", h("table", { class: "table" },
      h("thead", {}, h("tr", {}, h("th", { class: "number" }, "Similarity"), h("th", {}, "Topics"),
        h("th", {}, "Terms that both have"))),
      h("tbody", {}, pairs.slice(0, 15).map((pair) => h("tr", {},
        h("td", { class: "number" }, pair.value.toFixed(2)),
        h("td", {}, topicLink(report, pair.one), topicLink(report, pair.other)),
        h("td", {}, sharedTerms(report, pair.one, pair.other)))))),
    { name: "similar-pairs", exports: { csv: () => [["topic", "other", "similarity", "terms"],
      pairs.map((pair) => [pair.one, pair.other, pair.value, sharedTerms(report, pair.one, pair.other)])] } }));
  return "Similarity";
}
