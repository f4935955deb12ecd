// SPDX-License-Identifier: BSD-3-Clause
// What the model learned besides topics: mixtures of authors, effects, words, links.

import { h, hideTip, link, percent, s, short, showTip } from "./dom.js";
import { topicColor } from "./theme.js";
import { barChart, responsive, section } from "./charts.js";
import { documentItem, growing, topicTable } from "./lists.js";

const INTERVAL = 1.96;
const MOST_ROWS = 12;

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function sideNames(report) {
  return report.page.sides.filter((side) => side.rows).map((side) => side.name);
}

export function sideTitle(report) {
  const names = sideNames(report);
  return names.length === 1 ? capital(names[0]) : "More";
}

function sideValue(report, side, row, topic) {
  if (side.kind === "shares") return report.sum(side.values, row, topic);
  return side.values[row * report.fitted.length + topic];
}

// An effect has a number for a topic as it was fitted, not for a merged one.
function unmerged(report, topic) {
  return report.members.get(topic)?.length === 1;
}

function brief3(value) {
  return Number(value.toPrecision(3)).toString().replace("-", "−");
}

// Dots with intervals around a line at zero: rows of [{label, href, value, error, color}].
function effectChart(rows, width, describe) {
  const step = 26;
  const labels = Math.min(220, width * 0.4);
  const ends = rows.flatMap((row) => [row.value - INTERVAL * row.error, row.value + INTERVAL * row.error]);
  const low = Math.min(0, ...ends);
  const high = Math.max(0, ...ends);
  const x = (value) => labels + 8 + ((value - low) / (high - low || 1)) * (width - labels - 76);
  const height = rows.length * step + 4;
  const svg = s("svg", { class: "chart", width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": describe },
    s("line", { class: "zero", x1: x(0), x2: x(0), y1: 0, y2: height }));
  rows.forEach((row, place) => {
    const y = place * step + 15;
    const lines = [row.label, brief3(row.value)];
    if (row.error) lines.push(`95% interval ${brief3(row.value - INTERVAL * row.error)} to ${brief3(row.value + INTERVAL * row.error)}`);
    const group = s("g", { class: "bar-row" }, s("rect", { x: 0, y: y - 13, width, height: step, class: "bar-hit" }),
      s("a", { href: row.href, "aria-label": lines.join(", ") }, s("text", { x: labels - 6, y: y + 4, "text-anchor": "end",
        class: "bar-label" }, short(row.label, Math.floor((labels - 10) / 7.4)))),
      row.error ? s("line", { class: "interval", stroke: row.color, x1: x(row.value - INTERVAL * row.error),
        x2: x(row.value + INTERVAL * row.error), y1: y, y2: y }) : null,
      s("circle", { cx: x(row.value), cy: y, r: 4.5, fill: row.color }),
      s("text", { class: "bar-value", x: width - 4, y: y + 4, "text-anchor": "end" }, brief3(row.value)));
    group.addEventListener("pointermove", (event) => showTip(event.clientX, event.clientY, lines));
    group.addEventListener("pointerleave", hideTip);
    svg.append(group);
  });
  return svg;
}

// Blocks for the page of a topic.
export function sideBlocks(report, topic) {
  return report.page.sides.map((side) => {
    const name = capital(side.name);
    if (side.kind === "terms") {
      const words = report.members.get(topic.id).flatMap((part) => side.terms[part]);
      return words.length ? section(name, h("ul", { class: "words" }, words.map((word) => h("li", {},
        h("a", { href: link({ term: word }) }, word))))) : null;
    }
    if (!side.rows) return null;
    const rows = side.rows.map((row, at) => ({ label: row, href: link({ side: side.name, row }),
      value: sideValue(report, side, at, topic.id), error: side.errors?.[at * report.fitted.length + topic.id] ?? 0,
      color: topicColor(topic) }));
    if (side.kind === "shares") {
      const best = rows.sort((a, b) => b.value - a.value).slice(0, MOST_ROWS).filter((row) => row.value > 0.001)
        .map((row) => ({ ...row, text: percent(row.value) }));
      const figure = responsive((width) => barChart(best, width, { labelWidth: 190, describe: `${name} with the most of topic ${topic.id}` }));
      return section(name, figure, { hint: "Those whose own mixture has most of this topic." });
    }
    if (!unmerged(report, topic.id)) return null;
    // The surest first: far from zero for its error.
    const best = rows.sort((a, b) => Math.abs(b.value) / (b.error || 1) - Math.abs(a.value) / (a.error || 1)).slice(0, MOST_ROWS);
    const figure = responsive((width) => effectChart(best, width, `${name} and topic ${topic.id}`));
    return section(name, figure, { hint: side.errors ? "Effect on this topic, with 95% intervals." : "Effect on this topic." });
  });
}

export function seedWords(report, topic) {
  const seeds = report.page.sides.filter((side) => side.kind === "terms" && side.name.startsWith("seed"));
  return new Set(seeds.flatMap((side) => (report.members.get(topic) ?? []).flatMap((part) => side.terms[part])));
}

export function linkBlock(report, place) {
  return report.page.sides.filter((side) => side.kind === "links").map((side) => {
    const others = Array.from(side.others.subarray(side.starts[place], side.starts[place + 1]));
    return others.length ? section(capital(side.name), growing(others, (other) => documentItem(report, other), 8)) : null;
  });
}

function rowBlock(report, side, at) {
  const csv = () => [["topic", "name", side.name], report.bySize.map((topic) =>
    [topic.id, report.name(topic.id), sideValue(report, side, at, topic.id)])];
  if (side.kind === "shares") {
    const items = report.bySize.map((topic) => ({ topic: topic.id, share: sideValue(report, side, at, topic.id) }))
      .sort((a, b) => b.share - a.share).slice(0, 15).filter((item) => item.share > 0.005);
    return section("Topics", topicTable(report, items, `Topics of ${side.rows[at]}`), { name: side.name, exports: { csv } });
  }
  const rows = report.bySize.filter((topic) => unmerged(report, topic.id)).map((topic) => ({
    label: `${topic.id} ${report.name(topic.id)}`, href: link({ topic: topic.id }), color: topicColor(topic),
    value: sideValue(report, side, at, topic.id), error: side.errors?.[at * report.fitted.length + topic.id] ?? 0 }))
    .sort((a, b) => b.value - a.value);
  const figure = responsive((width) => effectChart(rows, Math.min(width, 860), `Effect of ${side.rows[at]} on topics`));
  return section("Effect on topics", figure, { name: side.name, exports: { csv, figure: () => figure.querySelector("svg") },
    hint: side.errors ? "Largest first, with 95% intervals." : "Largest first." });
}

function similarRows(report, side, at) {
  if (side.kind !== "shares" || side.rows.length < 2) return null;
  const n = report.fitted.length;
  const scored = side.rows.map((row, other) => {
    let sum = 0;
    for (let k = 0; k < n; k += 1) sum += Math.sqrt(side.values[at * n + k] * side.values[other * n + k]);
    return { row, other, score: Math.min(1, sum) };
  }).filter((item) => item.other !== at).sort((a, b) => b.score - a.score).slice(0, 8);
  return section(`Similar ${side.name}`, h("ul", { class: "plain" }, scored.map(({ row, score }) => h("li", { class: "pair" },
    h("a", { href: link({ side: side.name, row }) }, row), h("span", { class: "note" }, score.toFixed(2))))));
}

// #side=authors shows the rows, #side=authors&row=Ann one of them.
export function showSide(report, box, parameters) {
  const tables = report.page.sides.filter((side) => side.rows);
  const side = tables.find(({ name }) => name === parameters.get("side")) ?? tables[0];
  const at = side.rows.indexOf(parameters.get("row"));
  if (at >= 0) {
    box.append(h("div", { class: "detail-nav" }, h("a", { class: "back", href: link({ side: side.name }) }, `All ${side.name}`),
      side.kind === "shares" ? h("a", { class: "button small", href: link({ compare: `${side.name} ${side.rows[at]}`, with: "all" }) },
        "Compare") : null),
    h("h2", {}, side.rows[at]), h("div", { class: "columns" }, rowBlock(report, side, at), similarRows(report, side, at)));
    return side.rows[at];
  }
  const best = (row) => {
    const found = report.bySize.map((topic) => ({ topic: topic.id, value: sideValue(report, side, row, topic.id) }));
    return found.reduce((most, item) => (item.value > most.value ? item : most));
  };
  const list = side.rows.map((row, place) => ({ row, place }));
  const input = h("input", { type: "search", placeholder: `Find among ${side.rows.length} ${side.name}`, class: "find",
    "aria-label": `Find among the ${side.name}` });
  const rest = h("div");
  const item = ({ row, place }) => {
    const { topic, value } = best(place);
    const note = side.kind === "shares" ? percent(value) : brief3(value);
    return h("li", {}, h("a", { class: "document-link", href: link({ side: side.name, row }) },
      h("span", { class: "document-title" }, row), h("span", { class: "note" }, note),
      h("span", { class: "document-about" }, `mostly ${topic} ${report.name(topic)}`)));
  };
  const draw = () => {
    const wanted = input.value.trim().toLowerCase();
    rest.replaceChildren(growing(list.filter(({ row }) => row.toLowerCase().includes(wanted)), item, 40));
  };
  input.addEventListener("input", draw);
  draw();
  box.append(h("h2", {}, capital(side.name)), tables.length > 1 ? h("p", { class: "steps" }, tables.map(({ name }) =>
    h("a", { class: "button small", href: link({ side: name }) }, capital(name)))) : "",
  h("div", { class: "toolbar" }, input), rest);
  return capital(side.name);
}
