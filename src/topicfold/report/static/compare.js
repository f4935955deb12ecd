// SPDX-License-Identifier: BSD-3-Clause
// Two groups of documents side by side: classes, periods, those chosen on the map, or all.

import { h, link, percent, points, select } from "./dom.js";
import { topicColor } from "./theme.js";
import { section } from "./charts.js";
import { topicLink } from "./lists.js";
import { chosenDocuments, meanMixture } from "./selection.js";

const ORDERS_OF_GROUPS = {
  gap: ["largest difference first", (a, b) => Math.abs(b.gap) - Math.abs(a.gap)],
  one: ["more in the first", (a, b) => b.gap - a.gap],
  other: ["more in the second", (a, b) => a.gap - b.gap],
  size: ["largest topics first", (a, b) => b.topic.size - a.topic.size],
};
const MOST_OTHERS = 500;
const shown = { order: "gap" };

function groupsOf(report) {
  const { classes, time } = report.page;
  const mean = (topic) => report.sum(report.means, 0, topic);
  const groups = [["all", { name: "All documents", share: mean }]];
  const { places } = chosenDocuments;
  if (places.length) {
    const mixture = meanMixture(report, places);
    groups.push(["chosen", { name: `The ${places.length} chosen on the map`, share: (topic) => mixture[topic].share }]);
  }
  (classes?.names ?? []).forEach((name, code) => groups.push([`class ${name}`,
    { name, share: (topic) => report.classShare(code, topic) }]));
  (time?.names ?? []).forEach((name, period) => Number.isNaN(report.periodShare(period, 0))
    || groups.push([`time ${name}`, { name, share: (topic) => report.periodShare(period, topic), words: true }]));
  for (const side of report.page.sides.filter(({ kind }) => kind === "shares")) {
    side.rows.slice(0, MOST_OTHERS).forEach((name, row) => groups.push([`${side.name} ${name}`,
      { name, share: (topic) => report.sum(side.values, row, topic) }]));
  }
  const found = new Map(groups);
  // Periods are shares of words; next to one, so is everything.
  found.get("all").shareOfWords = (topic) => report.topics[topic].size;
  return found;
}

function sideBar(share, most, color, side) {
  return h("td", { class: `side ${side}` }, h("span", { class: "note" }, percent(share)),
    h("span", { class: `side-bar ${side}`, style: { "--share": `${(100 * share) / most}%`, "--topic": color } }));
}

export function showCompare(report, box, parameters) {
  const groups = groupsOf(report);
  const keys = [...groups.keys()];
  const known = (key, other) => (groups.has(key) ? key : other);
  const one = known(parameters.get("compare"), keys[1] ?? keys[0]);
  const other = known(parameters.get("with"), keys.find((key) => key !== one) ?? keys[0]);
  const [a, b] = [groups.get(one), groups.get(other)];
  const share = (group, against) => (group.shareOfWords && against.words ? group.shareOfWords : group.share);
  const rows = report.bySize.map((topic) => {
    const [left, right] = [share(a, b)(topic.id), share(b, a)(topic.id)];
    return { topic, left, right, gap: left - right };
  });
  const most = rows.reduce((value, row) => Math.max(value, row.left, row.right), 1e-9);
  const go = (first, second) => { location.hash = link({ compare: first, with: second }); };
  const options = keys.map((key) => [key, key.startsWith("time ") ? `in ${groups.get(key).name}` : groups.get(key).name]);
  const body = h("tbody");
  const draw = () => body.replaceChildren(...[...rows].sort(ORDERS_OF_GROUPS[shown.order][1]).map((row) => h("tr", {},
    sideBar(row.left, most, topicColor(row.topic), "left"),
    h("td", { class: "side-topic" }, topicLink(report, row.topic.id)),
    sideBar(row.right, most, topicColor(row.topic), "right"),
    h("td", { class: "number" }, points(row.gap)))));
  draw();
  box.append(h("h2", {}, "Two groups compared"),
    h("div", { class: "toolbar" },
      select("First", options, one, (key) => go(key, other)), select("Second", options, other, (key) => go(one, key)),
      h("button", { type: "button", class: "small", onclick: () => go(other, one) }, "Swap"),
      select("Order", Object.entries(ORDERS_OF_GROUPS).map(([key, [text]]) => [key, text]), shown.order,
        (key) => { shown.order = key; draw(); })),
    section(`${a.name} and ${b.name}`, h("table", { class: "table sides" },
      h("thead", {}, h("tr", {}, h("th", { class: "number" }, a.name), h("th", {}, "Topic"), h("th", {}, b.name),
        h("th", { class: "number" }, "Difference"))), body), { name: "compare",
      hint: a.words || b.words ? "Share of the words of each group; the difference is in percentage points."
        : "Mean share in the documents of each group; the difference is in percentage points.",
      exports: { csv: () => [["topic", "name", a.name, b.name],
        rows.map((row) => [row.topic.id, report.name(row.topic.id), row.left, row.right])] } }));
  return `${a.name} and ${b.name}`;
}
