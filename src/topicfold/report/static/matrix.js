// SPDX-License-Identifier: BSD-3-Clause
// Tables of shades: numbers in the cells where they fit, headings that stay in sight.

import { h, hideTip, s, short, showTip } from "./dom.js";
import { mix, readable, styleValue } from "./theme.js";

const WIDE = 30; // columns with room for numbers

// The colour of letters on a shade, by its strength in hundredths.
function inks() {
  const [heat, text, surface, line] = ["--heat", "--text", "--surface", "--line"].map(styleValue);
  const faint = mix(surface, line, 0.35); // the shade of nothing, as the style has it
  const made = Array.from({ length: 101 }, (_, share) =>
    readable([text, styleValue("--on-heat"), "#000000", "#ffffff"], mix(faint, heat, share / 100)));
  return (share) => made[Math.round(100 * share)];
}

// rows, columns: [{label, href, tip}]; value(r, c); strength in [0, 1]; text(value); exact(value).
export function heatTable({ rows, columns, value, strength, text, exact, caption, corner }) {
  const ink = inks();
  const cells = (r) => columns.map((_, c) => {
    const amount = value(r, c);
    const share = strength(amount);
    const cell = document.createElement("td");
    cell.textContent = columns.length <= 2 * WIDE ? text(amount) : "";
    if (share > 0) cell.style.setProperty("--share", `${Math.round(100 * share)}%`);
    if (cell.textContent) cell.style.color = ink(share);
    return cell;
  });
  const heading = (item, scope) => h("th", { scope }, h("a", { href: item.href, title: item.tip },
    h("span", {}, item.label)));
  const table = h("table", { class: columns.length > WIDE ? "heat narrow" : "heat" },
    h("caption", { class: "hidden" }, caption),
    h("thead", {}, h("tr", {}, h("td", {}, corner), columns.map((column) => heading(column, "col")))),
    h("tbody", {}, rows.map((row, r) => h("tr", {}, heading(row, "row"), cells(r)))));
  const where = (event) => {
    const cell = event.target.closest("td");
    const r = cell ? cell.parentNode.rowIndex - 1 : -1;
    return r < 0 ? null : { r, c: cell.cellIndex - 1 };
  };
  table.addEventListener("pointermove", (event) => {
    const at = where(event);
    if (!at) return hideTip();
    return showTip(event.clientX, event.clientY, [`${rows[at.r].tip} × ${columns[at.c].tip}`, exact(value(at.r, at.c))]);
  });
  table.addEventListener("pointerleave", hideTip);
  table.addEventListener("click", (event) => {
    const at = where(event);
    if (at) location.hash = rows[at.r].href;
  });
  return h("div", { class: "heat-frame", tabindex: 0, role: "region", "aria-label": caption }, table);
}

// The same as a figure, to save.
export function heatFigure({ rows, columns, value, strength, text }) {
  const [side, tall, left, top] = [26, 20, 250, 130];
  const [wide, high] = [left + side * columns.length + 8, top + tall * rows.length + 8];
  const family = styleValue("--sans");
  const ink = inks();
  const label = (properties, words) => s("text", { "font-family": family, "font-size": 11, fill: styleValue("--text"),
    ...properties }, words);
  return s("svg", { width: wide, height: high, viewBox: `0 0 ${wide} ${high}` },
    columns.map((column, c) => label({ transform: `translate(${left + side * (c + 0.5) + 4} ${top - 6}) rotate(-90)` },
      short(column.label, 20))),
    rows.map((row, r) => [label({ x: left - 8, y: top + tall * r + 14, "text-anchor": "end" }, short(row.label, 38)),
      columns.map((_, c) => {
        const amount = value(r, c);
        const share = strength(amount);
        return [s("rect", { x: left + side * c, y: top + tall * r, width: side - 1, height: tall - 1,
          fill: styleValue("--heat"), "fill-opacity": (0.03 + 0.97 * share).toFixed(3) }),
        text(amount) && label({ x: left + side * (c + 0.5), y: top + tall * r + 14, "text-anchor": "middle",
          fill: ink(share) }, text(amount))];
      })]));
}
