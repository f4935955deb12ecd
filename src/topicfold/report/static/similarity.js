// SPDX-License-Identifier: BSD-3-Clause
// How topics lie to each other: on a plane, pair by pair, and the closest pairs.

import { h, link, percent, s, select, short, widthOf } from "./dom.js";
import { styleValue, topicColor } from "./theme.js";
import { responsive, section, tipped } from "./charts.js";
import { topicLink } from "./lists.js";
import { heatFigure, heatTable } from "./matrix.js";

const MOST_PAIRS = 15;
// A larger plane has room for the names of more topics.
const ZOOMS = [1, 2, 4, 8, 16];
const planeView = { zoom: 1 };

function closePairs(report) {
  const ids = report.bySize.map((topic) => topic.id).sort((a, b) => a - b);
  const pairs = ids.flatMap((one, i) => ids.slice(i + 1).map((other) => ({ one, other, value: report.likeness(one, other) })));
  return pairs.sort((a, b) => b.value - a.value);
}

function sharedTerms(report, one, other) {
  const known = new Map(report.topTerms(one, 1, 30).map((term) => [term.term, term.weight]));
  return report.topTerms(other, 1, 30).filter((term) => known.has(term.term))
    .sort((a, b) => Math.min(b.weight, known.get(b.term)) - Math.min(a.weight, known.get(a.term)))
    .slice(0, 6).map((term) => term.name).join(", ");
}

// Circles of the topics' sizes, moved apart until none lies on another.
function placeCircles(topics, width, height) {
  // Zoomed in, circles grow less than the plane, so that names get the room.
  const room = Math.sqrt((width * height) / (24 * planeView.zoom));
  const circles = topics.map((topic) => ({ topic, r: Math.max(9, room * Math.sqrt(topic.size)),
    x: width * (0.1 + 0.8 * topic.spot[0]), y: height * (0.1 + 0.8 * topic.spot[1]) }));
  for (let round = 0; round < 120; round += 1) {
    for (let i = 0; i < circles.length; i += 1) {
      for (let j = 0; j < i; j += 1) {
        const [a, b] = [circles[i], circles[j]];
        const [dx, dy] = [a.x - b.x || 0.1, a.y - b.y || 0.1];
        const gap = Math.hypot(dx, dy);
        const lack = a.r + b.r + 3 - gap;
        if (lack <= 0) continue;
        const [px, py] = [(dx / gap) * lack * 0.5, (dy / gap) * lack * 0.5];
        [a.x, a.y, b.x, b.y] = [a.x + px, a.y + py, b.x - px, b.y - py];
      }
    }
    for (const circle of circles) {
      circle.x = Math.min(Math.max(circle.x, circle.r + 2), width - circle.r - 2);
      circle.y = Math.min(Math.max(circle.y, circle.r + 2), height - circle.r - 2);
    }
  }
  return circles;
}

// Places for a name of half its width: at its circle, then farther off, inside the figure.
function* namePlaces({ x, y, r }, half, width) {
  for (let off = 0; off <= 3; off += 1) {
    const gap = r + 9 + 14 * off;
    yield [x, y + gap];
    yield [x, y - gap];
    yield [x + r + half + 3 + 12 * off, y + (off % 2 ? 12 : 0)];
    yield [x - r - half - 3 - 12 * off, y - (off % 2 ? 12 : 0)];
    for (const side of [-1, 1]) {
      yield [Math.min(Math.max(x + side * half * 0.8, half + 2), width - half - 2), y + gap];
      yield [Math.min(Math.max(x + side * half * 0.8, half + 2), width - half - 2), y - gap];
    }
  }
}

// Names are put where they are in nobody's way, the largest topics first; a line leads to one that is far off.
function circleNames(report, circles, width, height) {
  const taken = circles.map(({ x, y, r }) => ({ x, y, half: r, high: r }));
  const free = (x, y, half) => x >= half + 1 && x <= width - half - 1 && y >= 9 && y <= height - 9
    && !taken.some((other) => Math.abs(other.x - x) < other.half + half && Math.abs(other.y - y) < other.high + 7);
  const family = styleValue("--sans");
  const font = `11.5px ${family}`;
  return circles.map((circle) => {
    const { id } = circle.topic;
    const name = report.name(id);
    for (const letters of [name.length, 26, 15, 9]) {
      // With its number: in a crowd a name may be nearer to another circle.
      const text = `${id} ${short(name, letters)}`;
      const half = widthOf(text, font) / 2 + 4;
      for (const [x, y] of namePlaces(circle, half, width)) {
        if (!free(x, y, half)) continue;
        taken.push({ x, y, half, high: 7 });
        const far = Math.abs(y - circle.y) > circle.r + 12 || Math.abs(x - circle.x) > circle.r + half + 6;
        return [far ? s("line", { class: "name-line", x1: circle.x, y1: circle.y, x2: x, y2: y }) : null,
          s("text", { x, y: y + 4, "text-anchor": "middle", class: "circle-name" }, text)];
      }
    }
    return null;
  });
}

// The ends of a line between two circles, which does not go over their numbers.
function rimToRim(a, b) {
  const gap = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  const [dx, dy] = [(b.x - a.x) / gap, (b.y - a.y) / gap];
  return { x1: (a.x + dx * a.r).toFixed(1), y1: (a.y + dy * a.r).toFixed(1),
    x2: (b.x - dx * b.r).toFixed(1), y2: (b.y - dy * b.r).toFixed(1) };
}

// Lines join the pairs of the largest values, as many as there are topics.
export function planeFigure(report, pairs, what = "similar ones close") {
  const figure = responsive((whole) => {
    const width = whole * planeView.zoom;
    const height = Math.round(Math.min(620, Math.max(300, whole * 0.55)) * planeView.zoom);
    const circles = placeCircles(report.bySize, width, height);
    const at = new Map(circles.map((circle) => [circle.topic.id, circle]));
    const ties = pairs.slice(0, report.bySize.length).filter((pair) => pair.value > 0.2);
    return s("svg", { class: "chart plane", width, height, viewBox: `0 0 ${width} ${height}`, role: "group",
      "aria-label": `Topics on a plane: circles of their sizes, ${what}` },
    ties.map(({ one, other, value }) => s("line", { class: "tie", ...rimToRim(at.get(one), at.get(other)),
      "stroke-width": (1 + 5 * value).toFixed(1) })),
    circles.map(({ topic, x, y, r }) => {
      const name = report.name(topic.id);
      const color = topicColor(topic);
      const circle = s("a", { href: link({ topic: topic.id }), "aria-label": `Topic ${topic.id}, ${name}, ${percent(topic.size)}` },
        s("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: r.toFixed(1), fill: color, "fill-opacity": 0.22, stroke: color,
          "stroke-width": 1.5 }),
        s("text", { x, y: y + 4, "text-anchor": "middle", class: r < 11 ? "circle-number tiny" : "circle-number" }, topic.id));
      return tipped(circle, () => [`${topic.id} ${name}`, `${percent(topic.size)} of all words`,
        report.topTerms(topic.id, 0.6, 8).map((term) => term.name).join(", ")]);
    }),
    circleNames(report, circles, width, height));
  });
  figure.classList.add("wide");
  return figure;
}

function pairList(report, pairs, actions) {
  return h("table", { class: "table" },
    h("thead", {}, h("tr", {}, h("th", { class: "number" }, "Similarity"), h("th", {}, "Topics"),
      h("th", {}, "Terms that both have"), h("th", {}, h("span", { class: "hidden" }, "Merge")))),
    h("tbody", {}, pairs.slice(0, MOST_PAIRS).map((pair) => h("tr", {},
      h("td", { class: "number" }, pair.value.toFixed(2)),
      h("td", {}, topicLink(report, pair.one), topicLink(report, pair.other)),
      h("td", {}, sharedTerms(report, pair.one, pair.other)),
      h("td", {}, h("button", { type: "button", class: "small", "aria-label": `Merge topics ${pair.one} and ${pair.other}`,
        onclick: () => actions.edit({ action: "merge", topics: [pair.one, pair.other] }) }, "Merge"))))));
}

export function showSimilarity(report, box, parameters, actions) {
  const order = report.page.similarity.order.filter((topic) => report.has(topic));
  const heads = order.map((topic) => ({ label: String(topic), href: link({ topic }), tip: `${topic} ${report.name(topic)}` }));
  const rows = heads.map((head, i) => ({ ...head, label: `${order[i]} ${report.name(order[i])}` }));
  const pairs = closePairs(report);
  // The scale is that of the pairs, not of the diagonal: most topics share common words.
  const most = Math.max(pairs[0]?.value ?? 1, 0.05);
  const middle = pairs[Math.floor(pairs.length / 2)]?.value ?? 0;
  const least = middle < 0.8 * most ? middle : 0;
  const blank = Math.floor(100 * least);
  const content = { rows, columns: heads, caption: "Similarity of every pair of topics", corner: "",
    value: (r, c) => (r === c ? 0 : report.likeness(order[r], order[c])),
    strength: (value) => Math.min(1, Math.max(0, (value - least) / (most - least))),
    text: (value) => (value > least && value >= 0.01 ? String(Math.round(100 * value)) : ""),
    exact: (value) => `similarity ${value.toFixed(2)}` };
  const plane = planeFigure(report, pairs);
  const csv = () => [["topic", ...order.map(String)],
    order.map((one) => [one, ...order.map((other) => report.likeness(one, other))])];
  const zoom = select("Zoom", ZOOMS.map((times) => [String(times), `${100 * times}%`]), String(planeView.zoom),
    (times) => { planeView.zoom = Number(times); plane.redraw(); });
  box.append(h("h2", {}, "Similarity of topics"),
    section("Topics on a plane", h("div", {}, h("div", { class: "toolbar" }, zoom), plane), { name: "topics-plane", exports: { figure: () => plane.querySelector("svg") },
      hint: "Area: share of all words. Topics with similar words are close, and lines join the most similar. Zoom in if a name is missing." }),
    section("Most similar pairs", h("div", { class: "wide" }, pairList(report, pairs, actions)), { name: "similar-pairs",
      hint: pairs.length > MOST_PAIRS ? `The ${MOST_PAIRS} most similar of ${pairs.length.toLocaleString("en")} pairs; the CSV has all.` : "",
      exports: { csv: () => [["topic", "other", "similarity", "terms"],
        pairs.map((pair) => [pair.one, pair.other, pair.value, sharedTerms(report, pair.one, pair.other)])] } }),
    section("Every pair", heatTable(content), { name: "similarity", exports: { csv, figure: () => heatFigure(content) },
      hint: "How much the words of two topics overlap, in hundredths (Bhattacharyya coefficient: 0 for no words in "
        + "common, 100 for the same words). Similar topics are next to each other. The diagonal is left empty"
        + `${blank ? `, and so are values up to ${blank}` : ""}.` }));
  return "Similarity";
}
