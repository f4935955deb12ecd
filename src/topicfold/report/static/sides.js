// SPDX-License-Identifier: BSD-3-Clause
// What the model learned besides topics: mixtures of authors, effects, words, links.

import { count, h, link, percent, plural, s, short } from "./dom.js";
import { topicColor } from "./theme.js";
import { barChart, responsive, section, ticks, tipped } from "./charts.js";
import { documentItem, growing, topicLink, topicTable } from "./lists.js";
import { heatFigure, heatTable } from "./matrix.js";

const INTERVAL = 1.96;
const MOST_ROWS = 12;
const STEP = 40; // rows of the table of shares at a time
const ENDS = 4; // topics at each end of a small chart of effects

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const LANGUAGES = "languages";

// Words of topics in other languages; seed words are another matter.
function languages(report) {
  return report.page.sides.filter((side) => side.kind === "terms" && !side.name.startsWith("seed"));
}

export function sideNames(report) {
  const names = report.page.sides.filter((side) => side.rows).map((side) => side.name);
  return languages(report).length ? [...names, LANGUAGES] : names;
}

export function sideTitle(report) {
  const names = sideNames(report);
  return names.length === 1 ? capital(names[0]) : "More";
}

function sideValue(report, side, row, topic) {
  if (side.kind === "shares") return report.sum(side.values, row, topic);
  return side.values[row * report.fitted.length + topic];
}

function sideError(report, side, row, topic) {
  return side.errors?.[row * report.fitted.length + topic] ?? 0;
}

// An effect has a number for a topic as it was fitted, not for a merged one.
function unmerged(report, topic) {
  return report.members.get(topic)?.length === 1;
}

function brief3(value) {
  return Number(value.toPrecision(3)).toString().replace("-", "−");
}

// What rows reach with their intervals, the middle included.
function reach(rows, middle) {
  const ends = rows.flatMap((row) => [row.value - INTERVAL * row.error, row.value + INTERVAL * row.error]);
  return [Math.min(middle, ...ends), Math.max(middle, ...ends)];
}

// Intervals of features can leave out "no effect". Topics of a response have seen it, so theirs decide nothing.
function decides(side) {
  return side.name === "features";
}

// Dots with intervals around a line, above an axis: rows of [{label, href, value, error, color}].
function effectChart(rows, width, { side, describe, limits = reach(rows, side.middle) }) {
  const step = 26;
  const { middle } = side;
  const labels = Math.min(220, width * 0.4);
  const [low, high] = limits;
  const x = (value) => labels + 8 + ((value - low) / (high - low || 1)) * (width - labels - 76);
  const bottom = rows.length * step + 4;
  const height = bottom + 20;
  const svg = s("svg", { class: "chart", width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": describe },
    s("line", { class: "grid", x1: x(low), x2: x(high), y1: bottom, y2: bottom }),
    ticks(low, high, 6).map((tick) => [s("line", { class: "grid", x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 4 }),
      s("text", { class: "axis small-axis effect-tick", x: x(tick), y: bottom + 16, "text-anchor": "middle" }, brief3(tick))]),
    s("line", { class: "zero", x1: x(middle), x2: x(middle), y1: 0, y2: bottom }));
  rows.forEach((row, place) => {
    const y = place * step + 15;
    const [from, to] = [row.value - INTERVAL * row.error, row.value + INTERVAL * row.error];
    const lines = [row.label, brief3(row.value)];
    if (row.error) lines.push(`95% interval ${brief3(from)} to ${brief3(to)}`);
    const unsure = decides(side) && row.error && from <= middle && to >= middle;
    const group = s("g", { class: "bar-row" }, s("rect", { x: 0, y: y - 13, width, height: step, class: "bar-hit" }),
      s("a", { href: row.href, "aria-label": lines.join(", ") }, s("text", { x: labels - 6, y: y + 4, "text-anchor": "end",
        class: "bar-label" }, short(row.label, Math.floor((labels - 10) / 8.2)))),
      row.error ? s("line", { class: "interval", stroke: row.color, x1: x(from), x2: x(to), y1: y, y2: y }) : null,
      s("circle", { cx: x(row.value), cy: y, r: 4.5, fill: row.color, stroke: row.color, ...(unsure ? { class: "unsure" } : {}) }),
      s("text", { class: "bar-value", x: width - 4, y: y + 4, "text-anchor": "end" }, brief3(row.value)));
    svg.append(tipped(group, () => lines));
  });
  return svg;
}

function effectHint(side) {
  const intervals = decides(side) ? "Lines are 95% intervals; a hollow dot's interval includes no effect."
    : "Lines are 95% intervals with the topics taken as known, too narrow for a test.";
  return [side.note, side.errors ? intervals : ""].filter(Boolean).join(" ");
}

// Words of a topic in every language, side by side; the first are the model's own.
function wordColumns(report, topic, number) {
  const first = report.page.fit.settings.find(([name]) => name === "language")?.[1] ?? "text";
  return [[first, report.topTerms(topic, 1, number).map((item) => item.name)], ...languages(report).map((side) =>
    [side.name, report.members.get(topic).flatMap((part) => side.terms[part].slice(0, number))])];
}

function languageBlock(report, topic) {
  if (!languages(report).length) return null;
  return section("Languages", h("div", { class: "language-columns" }, wordColumns(report, topic.id, 10).map(([name, words]) =>
    h("div", {}, h("h4", {}, name), h("ol", {}, words.map((word) => h("li", {}, word)))))),
  { hint: "The most probable words of the topic in each language." });
}

// Blocks for the page of a topic.
export function sideBlocks(report, topic) {
  return [...report.page.sides.map((side) => topicBlock(report, side, topic)), languageBlock(report, topic)];
}

function topicBlock(report, side, topic) {
  const name = capital(side.name);
  if (side.kind === "terms") {
    const words = side.name.startsWith("seed") ? report.members.get(topic.id).flatMap((part) => side.terms[part]) : [];
    return words.length ? section(name, h("ul", { class: "words" }, words.map((word) => h("li", {},
      h("a", { href: link({ term: word }) }, word))))) : null;
  }
  if (!side.rows) return null;
  const rows = side.rows.map((row, at) => ({ label: row, href: link({ side: side.name, row }),
    value: sideValue(report, side, at, topic.id) * (side.kind === "shares" ? side.sizes?.[at] ?? 1 : 1),
    error: sideError(report, side, at, topic.id), share: sideValue(report, side, at, topic.id), color: topicColor(topic) }));
  if (side.kind === "shares") {
    const text = (row) => (side.sizes ? brief3(Number(row.value.toFixed(1))) : percent(row.share));
    const best = rows.sort((a, b) => b.value - a.value).slice(0, MOST_ROWS).filter((row) => row.share > 0.001)
      .map((row) => ({ ...row, text: text(row), tip: [row.label, `${percent(row.share)} of the mixture is this topic`] }));
    const figure = responsive((width) => barChart(best, width, { labelWidth: 190, describe: `${name} with the most of topic ${topic.id}` }));
    return section(name, figure, { hint: side.sizes ? "Ranked by the number of their documents times the share of this topic in their mixture."
      : "Ranked by the share of this topic in their mixture." });
  }
  if (!unmerged(report, topic.id)) return null;
  // The surest first: far from the middle for its error.
  const far = (row) => Math.abs(row.value - side.middle) / (row.error || 1);
  const best = rows.sort((a, b) => far(b) - far(a)).slice(0, MOST_ROWS);
  const figure = responsive((width) => effectChart(best, width, { side, describe: `${name} and topic ${topic.id}` }));
  return section(name, figure, { hint: effectHint(side) });
}

export function seedWords(report, topic) {
  const seeds = report.page.sides.filter((side) => side.kind === "terms" && side.name.startsWith("seed"));
  return new Set(seeds.flatMap((side) => (report.members.get(topic) ?? []).flatMap((part) => side.terms[part])));
}

// The documents that a document is linked with, or those of an author.
function documentBlock(report, side, at, title, what) {
  const found = side.starts ? Array.from(side.others.subarray(side.starts[at], side.starts[at + 1])) : [];
  return found.length ? section(title, growing(found, (other) => documentItem(report, other), 8),
    { hint: `${plural(found.length, "document")} ${what}.` }) : null;
}

export function linkBlock(report, place) {
  return report.page.sides.filter((side) => side.kind === "links").map((side) =>
    documentBlock(report, side, place, capital(side.name), "that this one is linked with"));
}

function effectRows(report, side, at) {
  return report.bySize.filter((topic) => unmerged(report, topic.id)).map((topic) => ({
    label: `${topic.id} ${report.name(topic.id)}`, href: link({ topic: topic.id }), color: topicColor(topic),
    value: sideValue(report, side, at, topic.id), error: sideError(report, side, at, topic.id) }))
    .sort((a, b) => b.value - a.value);
}

function rowBlock(report, side, at) {
  const csv = () => [["topic", "name", side.name, ...(side.errors ? ["standard error"] : [])], report.bySize.map((topic) =>
    [topic.id, report.name(topic.id), sideValue(report, side, at, topic.id),
      ...(side.errors ? [sideError(report, side, at, topic.id)] : [])])];
  if (side.kind === "shares") {
    const items = report.bySize.map((topic) => ({ topic: topic.id, share: sideValue(report, side, at, topic.id) }))
      .sort((a, b) => b.share - a.share).slice(0, 15).filter((item) => item.share > 0.005);
    return section("Topics", topicTable(report, items, `Topics of ${side.rows[at]}`), { name: side.name, exports: { csv } });
  }
  const rows = effectRows(report, side, at);
  const figure = responsive((width) => effectChart(rows, Math.min(width, 860), { side,
    describe: `${side.rows[at]} and topics` }));
  return section("Topics", figure, { name: side.name, exports: { csv, figure: () => figure.querySelector("svg") },
    hint: effectHint(side) });
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

// Rows × topics in shades of their shares.
function shareTable(report, side, places) {
  const topics = report.bySize;
  const shares = places.map((place) => topics.map((topic) => sideValue(report, side, place, topic.id)));
  const about = (place) => (side.sizes ? ` (${plural(side.sizes[place], "document")})` : "");
  return {
    rows: places.map((place) => ({ label: side.rows[place], href: link({ side: side.name, row: side.rows[place] }),
      tip: side.rows[place] + about(place) })),
    columns: topics.map((topic) => ({ label: `${topic.id} ${report.name(topic.id)}`, href: link({ topic: topic.id }),
      tip: `${topic.id} ${report.name(topic.id)}` })),
    value: (r, c) => shares[r][c],
    // The square root shows small shares too.
    strength: (value) => Math.sqrt(value) * (value >= 0.005),
    text: (value) => (value >= 0.01 ? String(Math.round(100 * value)) : ""),
    exact: (value) => percent(value),
    caption: `Share of every topic in the mixtures of ${side.name}, in percent`,
    corner: capital(side.name),
  };
}

function shareView(report, side, places) {
  const csv = () => [[side.name, ...(side.sizes ? ["documents"] : []), ...report.bySize.map((topic) => `topic${topic.id}`)],
    side.rows.map((row, place) => [row, ...(side.sizes ? [side.sizes[place]] : []),
      ...report.bySize.map((topic) => sideValue(report, side, place, topic.id))])];
  let shown = STEP;
  const body = h("div");
  const draw = () => {
    const more = places.length - shown;
    body.replaceChildren(heatTable(shareTable(report, side, places.slice(0, shown))), more > 0
      ? h("button", { type: "button", class: "small more", onclick: () => { shown += STEP; draw(); } },
        `Show more (${count(more)} left)`) : "");
  };
  draw();
  return section(`${capital(side.name)} × topics`, body, { name: side.name,
    exports: { csv, figure: () => heatFigure(shareTable(report, side, places.slice(0, shown))) },
    hint: `Share of a topic in the mixture, in percent.${side.sizes ? " Those with the most documents first." : ""}` });
}

// The rows that share a unit: levels of a category (place=town), scores of classes. They have one axis.
function together(side, place) {
  const all = side.rows.map((_, at) => at);
  if (!decides(side)) return all;
  const [column, level] = side.rows[place].split("=", 2);
  return level === undefined ? [place] : all.filter((at) => side.rows[at].startsWith(`${column}=`));
}

// A small chart for every row: the topics at both ends.
function effectView(report, side, places) {
  const ends = (place) => {
    const all = effectRows(report, side, place);
    return all.length > 2 * ENDS ? [...all.slice(0, ENDS), ...all.slice(-ENDS)] : all;
  };
  const card = (place) => {
    const rows = ends(place);
    const limits = () => reach(together(side, place).flatMap(ends), side.middle);
    const figure = responsive((width) => effectChart(rows, width, { side, limits: limits(),
      describe: `${side.rows[place]} and topics` }));
    return h("li", {}, h("h3", {}, h("a", { href: link({ side: side.name, row: side.rows[place] }) }, side.rows[place])), figure);
  };
  const cut = report.bySize.length > 2 * ENDS ? ` The ${ENDS} topics at either end are shown; click a name to see all.` : "";
  return section(`${capital(side.name)} and topics`, growing(places, card, MOST_ROWS, { list: "effects", noun: "" }),
    { hint: effectHint(side) + cut });
}

function languageView(report, box) {
  const rows = report.bySize.map((topic) => wordColumns(report, topic.id, 8));
  const csv = () => [["topic", ...rows[0].map(([name]) => name)], report.bySize.map((topic) =>
    [topic.id, ...wordColumns(report, topic.id, 10).map(([, words]) => words.join(" "))])];
  box.append(section("Topics in every language", h("table", { class: "table languages" },
    h("thead", {}, h("tr", {}, h("th", {}, "Topic"), rows[0].map(([name]) => h("th", {}, name)))),
    h("tbody", {}, report.bySize.map((topic, place) => h("tr", {}, h("td", {}, topicLink(report, topic.id)),
      rows[place].map(([name, words]) => h("td", { "data-language": name }, words.join(", "))))))),
  { name: LANGUAGES, exports: { csv }, hint: "The most probable words of every topic, largest topic first." }));
}

function showRow(report, box, side, at) {
  const many = side.rows.length > 1;
  box.append(many ? h("div", { class: "detail-nav" }, h("a", { class: "back", href: link({ side: side.name }) }, `All ${side.name}`),
    side.kind === "shares" ? h("a", { class: "button small", href: link({ compare: `${side.name} ${side.rows[at]}`, with: "all" }) },
      "Compare") : null) : "",
  h("h2", {}, many ? side.rows[at] : capital(side.rows[at])),
  side.sizes ? h("p", { class: "hint" }, plural(side.sizes[at], "document")) : "",
  h("div", { class: side.kind === "shares" ? "columns" : "" }, rowBlock(report, side, at), similarRows(report, side, at)),
  documentBlock(report, side, at, "Documents", `of ${side.rows[at]} on this page`) ?? "");
  return side.rows[at];
}

// #side=authors shows the rows, #side=authors&row=Ann one of them.
export function showSide(report, box, parameters) {
  const names = sideNames(report);
  const name = names.includes(parameters.get("side")) ? parameters.get("side") : names[0];
  if (names.length > 1) {
    box.append(h("nav", { class: "steps kinds", "aria-label": "What the model learned besides topics" }, names.map((other) => h("a", { class: "button small", href: link({ side: other }),
      ...(other === name ? { "aria-current": "page" } : {}) }, capital(other)))));
  }
  if (name === LANGUAGES) {
    box.append(h("h2", {}, capital(name)));
    languageView(report, box);
    return capital(name);
  }
  const side = report.page.sides.find((table) => table.rows && table.name === name);
  const at = side.rows.length === 1 ? 0 : side.rows.indexOf(parameters.get("row"));
  if (at >= 0) return showRow(report, box, side, at);
  const places = side.rows.map((_, place) => place);
  if (side.sizes) places.sort((a, b) => side.sizes[b] - side.sizes[a] || a - b);
  const input = h("input", { type: "search", placeholder: `Find among ${count(side.rows.length)} ${side.name}`, class: "find",
    "aria-label": `Find among the ${side.name}` });
  const rest = h("div");
  const draw = () => {
    const wanted = input.value.trim().toLowerCase();
    const found = places.filter((place) => side.rows[place].toLowerCase().includes(wanted));
    const view = side.kind === "shares" ? shareView : effectView;
    rest.replaceChildren(found.length ? view(report, side, found) : h("p", {}, `None of the ${side.name} has “${input.value}” in its name.`));
  };
  input.addEventListener("input", draw);
  draw();
  box.append(h("h2", {}, capital(side.name)), side.rows.length > MOST_ROWS ? h("div", { class: "toolbar" }, input) : "", rest);
  return capital(side.name);
}
