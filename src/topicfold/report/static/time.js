// SPDX-License-Identifier: BSD-3-Clause
// Topics over time, one small figure each, on one scale.

import { h, link, percent, points, select } from "./dom.js";
import { topicColor } from "./theme.js";
import { section, lineChart, responsive, smallChart } from "./charts.js";
import { chip } from "./lists.js";

const choice = { order: "size", scale: "same" };

function trend(values, weights) {
  const part = Math.max(1, Math.round(values.length / 3));
  const mean = (from, to) => {
    let [sum, total] = [0, 0];
    for (let i = from; i < to; i += 1) {
      if (Number.isFinite(values[i])) [sum, total] = [sum + values[i] * weights[i], total + weights[i]];
    }
    return total ? sum / total : 0;
  };
  return mean(values.length - part, values.length) - mean(0, part);
}

export function showTime(report, box) {
  const { time } = report.page;
  const series = report.bySize.map((topic) => {
    const values = time.names.map((_, period) => report.periodShare(period, topic.id));
    return { topic, values, change: trend(values, time.documents) };
  });
  const grid = h("ul", { class: "sparks" });
  const orders = { size: (a, b) => b.topic.size - a.topic.size, up: (a, b) => b.change - a.change,
    down: (a, b) => a.change - b.change };
  const draw = () => {
    const all = series.reduce((most, item) => Math.max(most, ...item.values.filter(Number.isFinite)), 0);
    grid.replaceChildren(...[...series].sort(orders[choice.order]).map(({ topic, values, change }) => {
      const most = Math.max(...values.filter(Number.isFinite));
      return h("li", {}, h("a", { class: "spark-card", href: link({ topic: topic.id }) },
        h("span", { class: "spark-head" }, chip(report, topic.id), h("span", {}, report.name(topic.id))),
        smallChart(values, time.names, choice.scale === "own" ? most : all, topicColor(topic)),
        h("span", { class: "spark-foot" }, h("span", {}, `peak ${percent(most)} in ${time.names[values.indexOf(most)]}`),
          h("span", {}, points(change)))));
    }));
  };
  draw();
  const counts = responsive((width) => lineChart(time.documents, time.names, width, 150, { zero: true, area: true,
    format: (value) => Math.round(value).toLocaleString("en"), color: "var(--muted)",
    describe: "Documents over time" }));
  const csv = () => [["period", "documents", ...report.bySize.map((topic) => `topic${topic.id}`)],
    time.names.map((name, period) => [name, time.documents[period],
      ...report.bySize.map((topic) => report.periodShare(period, topic.id))])];
  const last = time.names.length - 1;
  box.append(h("h2", {}, "Topics over time"),
    h("div", { class: "toolbar" },
      select("Order", [["size", "largest first"], ["up", "grown most"], ["down", "shrunk most"]], choice.order,
        (key) => { choice.order = key; draw(); }),
      select("Scale", [["same", "the same for all"], ["own", "one per topic"]], choice.scale,
        (key) => { choice.scale = key; draw(); }),
      h("a", { class: "button small", href: link({ compare: `time ${time.names[0]}`, with: `time ${time.names[last]}` }) },
        "Compare two periods")),
    section("Share of every topic", grid, { name: "time", exports: { csv },
      hint: `Share of the words of each period, from ${time.names[0]} to ${time.names[last]}. The number at the lower right is `
        + "the change from the first to the last third, in percentage points." }),
    section("Documents", counts, { name: "documents-over-time",
      exports: { figure: () => counts.querySelector("svg") } }));
  return "Over time";
}
