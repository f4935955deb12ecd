// SPDX-License-Identifier: BSD-3-Clause
// What the model learned besides topics: mixtures of authors, effects, words, links.

import { count, fitting, h, link, percent, plural, s, short } from "./dom.js";
import { topicColor } from "./theme.js";
import { barChart, barFont, responsive, section, ticks, tipped } from "./charts.js";
import { documentItem, growing, topicLink, topicTable } from "./lists.js";
import { heatFigure, heatTable } from "./matrix.js";
import { planeFigure } from "./similarity.js";

const INTERVAL = 1.96;
const MOST_ROWS = 12;
const STEP = 40; // rows of the table of shares at a time
const THROUGH_TIME = "words through time";
const ENDS = 4; // topics at each end of a small chart of effects

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const LANGUAGES = "languages";

// Words of topics in other languages; seed words, and words of times and groups, are another matter.
function languages(report) {
  return report.page.sides.filter((side) => side.kind === "terms" && !side.note && !side.name.startsWith("seed"));
}

// Words of topics in the times or groups of a note, such as "words through time".
function wordings(report, note) {
  return report.page.sides.filter((side) => side.kind === "terms" && side.note && (!note || side.note === note));
}

export function sideNames(report) {
  const names = report.page.sides.filter((side) => side.rows).map((side) => side.name);
  const notes = new Set(wordings(report).map((side) => side.note));
  return [...names, ...notes, ...(languages(report).length ? [LANGUAGES] : [])];
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

// Effects on the shares of topics, whose rows are covariates; rows of a response are its classes.
function ofCovariates(side) {
  return side.name === "features" || side.name === "covariates";
}

// Dots with intervals around a line, above an axis: rows of [{label, href, value, error, color}].
function effectChart(rows, width, { side, describe, limits = reach(rows, side.middle) }) {
  const step = 26;
  const { middle } = side;
  const labels = Math.min(240, width * 0.45);
  const [low, high] = limits;
  const x = (value) => labels + 8 + ((value - low) / (high - low || 1)) * (width - labels - 76);
  const bottom = rows.length * step + 4;
  const height = bottom + 20;
  const parts = Math.max(2, Math.min(6, Math.floor((x(high) - x(low)) / 44)));
  let marks = ticks(low, high, parts);
  // One tick shows no scale.
  for (let more = parts + 1; marks.length < 2 && more < parts + 4; more += 1) marks = ticks(low, high, more);
  const svg = s("svg", { class: "chart", width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": describe },
    s("line", { class: "grid", x1: x(low), x2: x(high), y1: bottom, y2: bottom }),
    marks.map((tick) => [s("line", { class: "grid", x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 4 }),
      s("text", { class: "axis small-axis effect-tick", x: x(tick), y: bottom + 16, "text-anchor": "middle" }, brief3(tick))]),
    s("line", { class: "zero", x1: x(middle), x2: x(middle), y1: 0, y2: bottom }));
  rows.forEach((row, place) => {
    const y = place * step + 15;
    const [from, to] = [row.value - INTERVAL * row.error, row.value + INTERVAL * row.error];
    const lines = [row.label, brief3(row.value)];
    if (row.error) lines.push(`95% interval ${brief3(from)} to ${brief3(to)}`);
    const unsure = row.error && from <= middle && to >= middle;
    const group = s("g", { class: "bar-row" }, s("rect", { x: 0, y: y - 13, width, height: step, class: "bar-hit" }),
      s("a", { href: row.href, "aria-label": lines.join(", ") }, s("text", { x: labels - 6, y: y + 4, "text-anchor": "end",
        class: "bar-label" }, fitting(row.label, labels - 8, barFont()))),
      row.error ? s("line", { class: "interval", stroke: row.color, x1: x(from), x2: x(to), y1: y, y2: y }) : null,
      s("circle", { cx: x(row.value), cy: y, r: 4.5, fill: row.color, stroke: row.color, ...(unsure ? { class: "unsure" } : {}) }),
      s("text", { class: "bar-value", x: width - 4, y: y + 4, "text-anchor": "end" }, brief3(row.value)));
    svg.append(tipped(group, () => lines));
  });
  return svg;
}

function effectHint(side) {
  const intervals = "Lines are 95% intervals. A hollow dot marks an interval that includes zero.";
  return [side.note, side.errors ? intervals : ""].filter(Boolean).join(" ");
}

// Words of a topic in every language, time or group, a column each; of languages the first are the model's own.
function wordColumns(report, topic, number, name) {
  const tables = name === LANGUAGES ? languages(report) : wordings(report, name);
  const columns = tables.map((side) =>
    [side.name, report.members.get(topic).flatMap((part) => side.terms[part].slice(0, number))]);
  if (name !== LANGUAGES) return columns;
  const first = report.page.fit.settings.find(([setting]) => setting === "language")?.[1] ?? "text";
  return [[first, report.topTerms(topic, 1, number).map((item) => item.name)], ...columns];
}

function wordHint(name) {
  return name === LANGUAGES ? "The most probable words of the topic in each language."
    : "Words that have a larger share of the topic there than in all documents, the largest contributions to the difference first."
      + (name === THROUGH_TIME ? " Each column has the name of the time at which it begins." : "");
}

function wordBlock(report, topic, name) {
  return section(capital(name), h("div", { class: "language-columns" }, wordColumns(report, topic.id, 10, name).map(([title, words]) =>
    h("div", {}, h("h4", {}, title), h("ol", {}, words.map((word) => h("li", {}, word)))))), { hint: wordHint(name) });
}

// Blocks for the page of a topic.
export function sideBlocks(report, topic) {
  const words = sideNames(report).filter((name) => name === LANGUAGES || wordings(report, name).length);
  return [...report.page.sides.map((side) => topicBlock(report, side, topic)), ...words.map((name) => wordBlock(report, topic, name))];
}

// The topics that occur with a topic more often than others do.
function companions(report, side, topic) {
  return report.bySize.filter((other) => other.id !== topic.id && unmerged(report, other.id))
    .map((other) => ({ topic: other.id, share: sideValue(report, side, topic.id, other.id) }))
    .filter((item) => item.share > 0.05).sort((a, b) => b.share - a.share).slice(0, 6)
    .map((item) => ({ ...item, text: item.share.toFixed(2) }));
}

function topicBlock(report, side, topic) {
  const name = capital(side.name);
  if (side.kind === "terms") {
    const words = side.name.startsWith("seed") ? report.members.get(topic.id).flatMap((part) => side.terms[part]) : [];
    return words.length ? section(name, h("ul", { class: "words" }, words.map((word) => h("li", {},
      h("a", { href: link({ term: word }) }, word))))) : null;
  }
  if (!side.rows) return null;
  if (side.kind === "tree") return branchBlock(report, side, topic);
  if (side.kind === "correlations") {
    const items = unmerged(report, topic.id) ? companions(report, side, topic) : [];
    return items.length ? section("Topics that occur with it", topicTable(report, items, "Topics that occur with it"), { hint: side.note }) : null;
  }
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
  // The most certain first: far from the middle for its error.
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
    hint: `Share of a topic in the mixture, in percent.${side.sizes ? " Rows with the most documents come first." : ""}` });
}

// The rows that share a unit: levels of a category (place=town, party: left - right), scores of classes. They have one axis.
function together(side, place) {
  const all = side.rows.map((_, at) => at);
  if (!ofCovariates(side)) return all;
  const mark = side.name === "covariates" ? ": " : "=";
  const [column, level] = side.rows[place].split(mark, 2);
  return level === undefined ? [place] : all.filter((at) => side.rows[at].startsWith(`${column}${mark}`));
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
  const cut = report.bySize.length > 2 * ENDS ? ` The ${ENDS} topics at each end are shown; click a name to see all.` : "";
  const csv = () => [["topic", "name", side.name, "estimate", ...(side.errors ? ["standard error"] : [])],
    places.flatMap((place) => report.bySize.map((topic) => [topic.id, report.name(topic.id), side.rows[place],
      sideValue(report, side, place, topic.id), ...(side.errors ? [sideError(report, side, place, topic.id)] : [])]))];
  return section(`${capital(side.name)} and topics`, growing(places, card, MOST_ROWS, { list: "effects", noun: "" }),
    { name: side.name, exports: { csv }, hint: effectHint(side) + cut });
}

function wordView(report, box, name) {
  const rows = report.bySize.map((topic) => wordColumns(report, topic.id, 8, name));
  const csv = () => [["topic", ...rows[0].map(([title]) => title)], report.bySize.map((topic) =>
    [topic.id, ...wordColumns(report, topic.id, 10, name).map(([, words]) => words.join(" "))])];
  const title = name === LANGUAGES ? "Topics in every language" : `Topics and their ${name}`;
  box.append(section(title, h("div", { class: "wide" }, h("table", { class: "table languages" },
    h("thead", {}, h("tr", {}, h("th", {}, "Topic"), rows[0].map(([column]) => h("th", {}, column)))),
    h("tbody", {}, report.bySize.map((topic, place) => h("tr", {}, h("td", {}, topicLink(report, topic.id)),
      rows[place].map(([column, words]) => h("td", { "data-language": column }, words.join(", ") || "–"))))))),
  { name: name.replaceAll(" ", "-"), exports: { csv }, hint: `${wordHint(name)} Largest topic first.` }));
}

// Which topics occur together: a graph, the pairs at both ends, and every pair.
function correlationView(report, side, box) {
  const topics = report.bySize.filter((topic) => unmerged(report, topic.id));
  const value = (one, other) => sideValue(report, side, one, other);
  const pairs = topics.flatMap(({ id: one }, i) => topics.slice(i + 1).map(({ id: other }) => ({ one, other, value: value(one, other) })))
    .sort((a, b) => b.value - a.value);
  const plane = planeFigure(report, pairs, "lines join those that occur together");
  const list = (some) => h("table", { class: "table" },
    h("thead", {}, h("tr", {}, h("th", { class: "number" }, "Correlation"), h("th", {}, "Topics"))),
    h("tbody", {}, some.map((pair) => h("tr", {}, h("td", { class: "number" }, pair.value.toFixed(2).replace("-", "−")),
      h("td", {}, topicLink(report, pair.one), topicLink(report, pair.other))))));
  const heads = topics.map(({ id }) => ({ label: String(id), href: link({ topic: id }), tip: `${id} ${report.name(id)}` }));
  const most = Math.max(0.05, ...pairs.map((pair) => Math.abs(pair.value)));
  const content = { rows: heads.map((head, i) => ({ ...head, label: `${topics[i].id} ${report.name(topics[i].id)}` })), columns: heads,
    caption: "Correlation of every pair of topics", corner: "", value: (r, c) => (r === c ? 0 : value(topics[r].id, topics[c].id)),
    strength: (x) => Math.max(0, x / most), text: (x) => (Math.abs(x) >= 0.005 ? String(Math.round(100 * x)).replace("-", "−") : ""),
    exact: (x) => `correlation ${x.toFixed(2)}` };
  const csv = () => [["topic", ...topics.map(({ id }) => id)], topics.map(({ id }) => [id, ...topics.map((other) => value(id, other.id))])];
  box.append(section("Topics that occur together", plane, { name: "correlated-topics", exports: { figure: () => plane.querySelector("svg") },
    hint: "Lines join the pairs with the largest correlations above 0.2, thicker for larger ones. Area: share of all words; topics with similar words are close." }),
  h("div", { class: "columns" }, section("Together", list(pairs.filter((pair) => pair.value > 0).slice(0, ENDS + ENDS)), { hint: side.note }),
    section("Apart", list(pairs.filter((pair) => pair.value < 0).slice(-ENDS - ENDS).reverse()), { hint: "Documents with much of one topic have little of the other." })),
  section("Every pair", heatTable(content), { name: "correlations", exports: { csv, figure: () => heatFigure(content) },
    hint: "Correlations in hundredths. The diagonal is left empty." }));
}

// The nodes of a tree as they are shown: a node before its children, those of a topic that was dropped or merged below the node above it.
function treeNodes(report, side) {
  const nodes = side.parents.map((_, topic) => ({ topic, children: [] }));
  nodes.forEach((node, topic) => {
    node.kept = report.has(topic);
    if (topic === 0) return;
    let above = side.parents[topic];
    while (above > 0 && !nodes[above].kept) above = side.parents[above];
    node.above = nodes[above].kept ? above : null;
    if (node.kept && node.above !== null) nodes[above].children.push(node);
  });
  nodes[0].above = null;
  const ordered = [];
  const walk = (node, level) => {
    ordered.push(Object.assign(node, { level, row: ordered.length }));
    node.children.forEach((child) => walk(child, level + 1));
  };
  nodes.filter((node) => node.kept && node.above === null).forEach((node) => walk(node, 0));
  return ordered;
}

// A line for every node: its circle (area: documents), number, words.
function treeFigure(report, side) {
  const nodes = treeNodes(report, side);
  const most = Math.max(1, ...side.documents);
  const step = 30;
  return responsive((width) => {
    const indent = Math.min(64, width / 13);
    const height = nodes.length * step + 4;
    const x = (node) => 16 + indent * node.level;
    const y = (node) => node.row * step + 17;
    const words = (node, number) => report.topTerms(node.topic, 0.6, number).map((term) => term.name).join(" ");
    return s("svg", { class: "chart tree", width, height, viewBox: `0 0 ${width} ${height}`, role: "group",
      "aria-label": "The tree of topics, a line for every node" },
    // A stem down to the last child, and from it a bend to every child.
    nodes.filter((node) => node.children.length).map((node) => s("path", { class: "branch", fill: "none",
      d: `M${x(node)} ${y(node)}V${y(node.children.at(-1)) - 8}${node.children.map((child) => `M${x(node)} ${y(child) - 8}q0 8 8 8H${x(child)}`).join("")}` })),
    nodes.map((node) => {
      const topic = report.topics[node.topic];
      const documents = plural(side.documents[node.topic], "document");
      const name = topic.named ? `${report.name(node.topic)}: ` : "";
      const label = count(side.documents[node.topic]);
      const letters = Math.floor((width - x(node) - 26 - 7.5 * label.length) / 7.9);
      const color = topicColor(topic);
      const line = s("g", { class: "bar-row" }, s("rect", { x: 0, y: y(node) - step / 2, width, height: step, class: "bar-hit" }),
        s("circle", { class: "tree-back", cx: x(node), cy: y(node), r: 12.5 }),
        s("circle", { cx: x(node), cy: y(node), r: (4 + 8.5 * Math.sqrt(side.documents[node.topic] / most)).toFixed(1),
          fill: color, "fill-opacity": 0.3, stroke: color, "stroke-width": 1.5 }),
        s("a", { href: link({ topic: node.topic }), "aria-label": `Topic ${node.topic}, level ${node.level}, ${documents}: ${words(node, 6)}` },
          s("text", { class: "tree-words", x: x(node) + 17, y: y(node) + 4 },
            short(`${node.topic} ${name}${words(node, 12)}`, Math.max(8, letters)))),
        s("text", { class: "bar-value", x: width - 3, y: y(node) + 4, "text-anchor": "end" }, label));
      return tipped(line, () => [`${node.topic} ${report.name(node.topic)}`, `${documents}, ${percent(topic.size)} of all words`, words(node, 12)]);
    }));
  });
}

function treeView(report, side, box) {
  const figure = treeFigure(report, side);
  const csv = () => [["topic", "parent", "level", "documents", "name", "terms"], treeNodes(report, side).map((node) => [node.topic,
    node.above ?? "", node.level, side.documents[node.topic], report.name(node.topic),
    report.topTerms(node.topic, 0.6, 10).map((term) => term.name).join(" ")])];
  box.append(section("From general to special", figure, { name: "tree", exports: { csv, figure: () => figure.querySelector("svg") },
    hint: `${side.note} Area and the number at the right: documents whose path passes through the node. Words that the node uses more than others come first.` }));
}

// Where a topic is in the tree: what is above it and below it.
function branchBlock(report, side, topic) {
  const nodes = treeNodes(report, side);
  const own = nodes.find((node) => node.topic === topic.id);
  if (!own) return null;
  const above = [];
  for (let up = own.above; up !== null; up = nodes.find((node) => node.topic === up).above) above.unshift(up);
  const list = (title, topics) => (topics.length ? [h("h4", {}, title), h("ul", { class: "plain" },
    topics.map((other) => h("li", {}, topicLink(report, other, plural(side.documents[other], "document")))))] : []);
  return section("In the tree", h("div", {}, list("Above", above), list("Below", own.children.map((node) => node.topic))),
    { hint: `${plural(side.documents[topic.id], "document")} on paths through it.` });
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
  const side = report.page.sides.find((table) => table.rows && table.name === name);
  if (!side || side.kind === "correlations" || side.kind === "tree") {
    box.append(h("h2", {}, capital(name)));
    if (side) (side.kind === "tree" ? treeView : correlationView)(report, side, box);
    else wordView(report, box, name);
    return capital(name);
  }
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
