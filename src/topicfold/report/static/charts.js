// SPDX-License-Identifier: BSD-3-Clause
// Bars and lines, drawn as SVG for the width they get.

import { fitting, h, percent, s, showTip, hideTip } from "./dom.js";
import { exportButtons } from "./files.js";
import { styleValue } from "./theme.js";

export function section(title, body, { name, exports, hint, level = "h3" } = {}) {
  return h("section", { class: "block" },
    h("div", { class: "block-head" }, h(level, {}, title),
      exports && exportButtons(name, exports)),
    hint && h("p", { class: "hint" }, hint), body);
}

// Draws again whenever the width of its box changes.
export function responsive(draw) {
  const box = h("div", { class: "figure" });
  let width = 0;
  const render = () => { if (width) box.replaceChildren(draw(width)); };
  new ResizeObserver(() => {
    const now = Math.floor(box.clientWidth);
    if (now && now !== width) {
      width = now;
      render();
    }
  }).observe(box);
  box.redraw = render;
  return box;
}

export function tipped(element, lines) {
  element.addEventListener("pointermove", (event) => showTip(event.clientX, event.clientY, lines()));
  element.addEventListener("pointerleave", hideTip);
  return element;
}

// The font of .bar-label in the style.
export function barFont() {
  const family = styleValue("--sans");
  return `13.5px ${family}`;
}

// rows: [{label, href, value, ghost, text, color, tip}]
export function barChart(rows, width, { labelWidth = 130, limit, describe } = {}) {
  const step = 26;
  const room = 52;
  const labels = Math.min(labelWidth, width * 0.42);
  const most = limit ?? Math.max(...rows.map((row) => Math.max(row.value, row.ghost ?? 0)), 1e-9);
  const scale = Math.max(10, width - labels - room) / most;
  const font = barFont();
  const svg = s("svg", { class: "chart", width, height: rows.length * step + 4,
    viewBox: `0 0 ${width} ${rows.length * step + 4}`, role: "group", "aria-label": describe });
  rows.forEach((row, place) => {
    const y = place * step + 2;
    const text = s("text", { x: labels - 10, y: y + 16, "text-anchor": "end", class: "bar-label" },
      fitting(row.label, labels - 12, font));
    const group = s("g", { class: "bar-row" },
      s("rect", { x: 0, y, width, height: step, class: "bar-hit" }),
      row.href ? s("a", { href: row.href, "aria-label": `${row.label}, ${row.text}` }, text) : text,
      row.ghost !== undefined && s("rect", { x: labels, y: y + 5, height: 15, rx: 2, class: "bar-ghost",
        width: Math.max(0.5, row.ghost * scale) }),
      s("rect", { x: labels, y: y + 5, height: 15, rx: 2, class: "bar", fill: row.color,
        width: Math.max(0.5, row.value * scale) }),
      s("text", { x: labels + Math.max(row.value, row.ghost ?? 0) * scale + 7, y: y + 16,
        class: "bar-value" }, row.text));
    if (row.tip) tipped(group, () => row.tip);
    svg.append(group);
  });
  return svg;
}

// The smallest of some round numbers that is not below `rough`.
function roundStep(rough, steps) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [...steps, 10].map((x) => x * power).find((x) => x >= rough * (1 - 1e-9));
}

export function ticks(low, high, parts = 4) {
  const step = roundStep((high - low) / parts || 1, [1, 2, 5]);
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-6; i += 1) found.push(i * step);
  return found;
}

// How many digits show the percentages of an axis with this step alike.
function digitsOf(step) {
  return [0, 1, 2].find((digits) => Math.abs(100 * step - Number((100 * step).toFixed(digits))) < 1e-9) ?? 2;
}

// values: numbers; names: what the places on the x axis are called.
export function lineChart(values, names, width, height, { format, color, zero, area, describe } = {}) {
  const left = 62;
  const bottom = 26;
  const finite = values.filter(Number.isFinite);
  let low = zero ? 0 : Math.min(...finite);
  let high = Math.max(...finite);
  if (high === low) [low, high] = [low - (zero ? 0 : 1), high + 1];
  const right = Math.max(20, 3.6 * String(names.at(-1)).length); // half of the last label
  const x = (i) => left + (i / Math.max(1, values.length - 1)) * (width - left - right);
  const y = (value) => 8 + (1 - (value - low) / (high - low)) * (height - bottom - 8);
  const svg = s("svg", { class: "chart", width, height, viewBox: `0 0 ${width} ${height}`,
    role: "img", "aria-label": describe });
  const marks = ticks(low, high);
  const digits = format === percent && marks.length > 1 ? digitsOf(marks[1] - marks[0]) : undefined;
  for (const tick of marks) {
    svg.append(s("line", { class: "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
      s("text", { class: "axis", x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, format(tick, digits)));
  }
  const every = Math.ceil(names.length / Math.max(2, Math.floor((width - left) / 80)));
  names.forEach((name, i) => {
    if (i % every) return;
    svg.append(s("text", { class: "axis", x: x(i), y: height - 6, "text-anchor": "middle" }, name));
  });
  const known = values.map((_, i) => i).filter((i) => Number.isFinite(values[i]));
  const points = known.map((i) => `${x(i).toFixed(1)},${y(values[i]).toFixed(1)}`);
  if (area) {
    svg.append(s("polygon", { class: "area", fill: color, "fill-opacity": 0.18,
      points: `${x(known[0])},${y(low)} ${points.join(" ")} ${x(known.at(-1))},${y(low)}` }));
  }
  svg.append(s("polyline", { class: "line", points: points.join(" "), stroke: color, fill: "none" }));
  const dot = s("circle", { class: "dot", r: 4, cx: -10, cy: -10, fill: color });
  svg.append(dot);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const share = (event.clientX - box.left - left) / (width - left - right);
    const i = Math.min(values.length - 1, Math.max(0, Math.round(share * (values.length - 1))));
    const there = Number.isFinite(values[i]);
    dot.setAttribute("cx", there ? x(i) : -10);
    dot.setAttribute("cy", there ? y(values[i]) : -10);
    showTip(event.clientX, event.clientY, [names[i], there ? format(values[i]) : "no documents"]);
  });
  svg.addEventListener("pointerleave", hideTip);
  return svg;
}

// A small figure with axes: shares from 0 to a round number that is at least `most`, the first and the last period.
export function smallChart(values, names, most, color) {
  const half = roundStep(most / 2 || 0.5, [1, 1.5, 2, 3, 4, 5, 6, 8]);
  const high = 2 * half;
  const [width, height, left, bottom] = [240, 96, 34, 15];
  const x = (i) => left + (i / Math.max(1, values.length - 1)) * (width - left - 4);
  const y = (value) => 6 + (1 - value / high) * (height - bottom - 6);
  const known = values.map((_, i) => i).filter((i) => Number.isFinite(values[i]));
  const line = known.map((i) => `${x(i).toFixed(1)},${y(values[i]).toFixed(1)}`).join(" ");
  const text = (properties, words) => s("text", { class: "axis small-axis", ...properties }, words);
  return s("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `Share over time, from ${percent(values[known[0]])} to ${percent(values[known.at(-1)])}` },
  [high, half, 0].map((tick) => [s("line", { class: "grid", x1: left, x2: width - 4, y1: y(tick), y2: y(tick) }),
    text({ x: left - 4, y: y(tick) + 3.5, "text-anchor": "end" }, percent(tick, digitsOf(half)))]),
  s("polygon", { points: `${x(known[0])},${y(0)} ${line} ${x(known.at(-1))},${y(0)}`, fill: color, "fill-opacity": 0.18 }),
  s("polyline", { points: line, stroke: color, fill: "none", class: "line" }),
  text({ x: left, y: height - 3 }, names[0]),
  text({ x: width - 4, y: height - 3, "text-anchor": "end" }, names.at(-1)));
}
