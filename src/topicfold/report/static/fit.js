// SPDX-License-Identifier: BSD-3-Clause
// How the model was fitted.

import { h } from "./dom.js";
import { lineChart, responsive, section } from "./charts.js";

function pairTable(pairs) {
  return h("table", { class: "table pairs" }, h("tbody", {}, pairs.map(([name, value]) =>
    h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, value)))));
}

function brief(value) {
  if (Math.abs(value) < 1e5) return String(Number(value.toPrecision(5)));
  return new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 }).format(value);
}

export function showFit(report, box) {
  const { history, settings, versions } = report.page.fit;
  const names = history.map((_, i) => String(i + 1));
  const figure = responsive((width) => lineChart(history, names, width, 280, { format: brief,
    color: "var(--accent)", describe: "Objective after every iteration" }));
  box.append(h("h2", {}, "The fit"));
  if (history.length > 1) {
    box.append(section("Objective after every iteration", figure, { name: "objective",
      exports: { csv: () => [["iteration", "objective"], history.map((value, i) => [i + 1, value])],
        figure: () => figure.querySelector("svg") } }));
  } else {
    box.append(h("p", { class: "hint" }, "The objective of the fit was not recorded."));
  }
  const known = settings.length ? pairTable(settings) : h("p", { class: "hint" }, "No settings were recorded.");
  box.append(h("div", { class: "columns" },
    section("Settings", known, settings.length ? { name: "settings",
      exports: { csv: () => [["setting", "value"], settings] } } : {}),
    section("Versions", pairTable(versions), { hint: "Versions of the programs that wrote this report." })));
  return "The fit";
}
