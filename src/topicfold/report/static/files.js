// SPDX-License-Identifier: BSD-3-Clause
// Files that the page gives: CSV, SVG, PNG, JSON.

import { h } from "./dom.js";
import { styleValue } from "./theme.js";

const STYLE_NAMES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray",
  "opacity", "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline"];

export function save(name, content, type) {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const address = URL.createObjectURL(blob);
  const anchor = h("a", { href: address, download: name, hidden: true });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function cell(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  if (typeof value === "number") return String(Number(value.toPrecision(6)));
  // A spreadsheet would take a text that begins like this for a formula.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function saveCsv(name, header, rows) {
  const lines = [header, ...rows].map((row) => row.map(cell).join(","));
  // The mark tells spreadsheets that it is UTF-8.
  save(`${name}.csv`, `\ufeff${lines.join("\n")}\n`, "text/csv;charset=utf-8");
}

export function saveJson(name, value) {
  save(`${name}.json`, `${JSON.stringify(value, null, 1)}\n`, "application/json");
}

function sizeOf(figure) {
  if (figure.isConnected) return figure.getBoundingClientRect();
  return { width: Number(figure.getAttribute("width")), height: Number(figure.getAttribute("height")) };
}

// The figure with its styles written into it, so that it stands alone.
export function standAlone(figure) {
  const copy = figure.cloneNode(true);
  const { width, height } = sizeOf(figure);
  const originals = [figure, ...figure.querySelectorAll("*")];
  const copies = [copy, ...copy.querySelectorAll("*")];
  // A figure that is not on the page has all its styles as attributes.
  if (figure.isConnected) originals.forEach((original, i) => {
    const style = getComputedStyle(original);
    for (const name of STYLE_NAMES) {
      const value = style.getPropertyValue(name);
      if (value && value !== "none" && value !== "normal") copies[i].setAttribute(name, value);
      if (name === "fill" && value === "none") copies[i].setAttribute("fill", "none");
    }
    copies[i].removeAttribute("class");
    copies[i].removeAttribute("tabindex");
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", Math.round(width));
  copy.setAttribute("height", Math.round(height));
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  paper.setAttribute("width", "100%");
  paper.setAttribute("height", "100%");
  paper.setAttribute("fill", styleValue("--surface"));
  copy.prepend(paper);
  return new XMLSerializer().serializeToString(copy);
}

export function saveSvg(name, figure) {
  save(`${name}.svg`, standAlone(figure), "image/svg+xml");
}

export async function savePng(name, figure) {
  const { width, height } = sizeOf(figure);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standAlone(figure))}`;
  await image.decode();
  const canvas = h("canvas", { width: Math.round(2 * width), height: Math.round(2 * height) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  await saveCanvas(name, canvas, styleValue("--surface"));
}

// A canvas on paper of this colour.
export function saveCanvas(name, canvas, paper) {
  const page = h("canvas", { width: canvas.width, height: canvas.height });
  const context = page.getContext("2d");
  context.fillStyle = paper;
  context.fillRect(0, 0, page.width, page.height);
  context.drawImage(canvas, 0, 0);
  return new Promise((done) => {
    page.toBlob((blob) => {
      save(`${name}.png`, blob);
      done();
    }, "image/png");
  });
}

// Buttons for a figure: {csv: () => [header, rows], figure: () => svg}, or functions
// that save: {data, svg, png}.
export function exportButtons(name, { csv, figure, data, png, svg }) {
  const buttons = [];
  const add = (text, action) => buttons.push(h("button",
    { type: "button", class: "small", title: `Save as ${text}`, onclick: action }, text));
  if (csv) add("CSV", () => saveCsv(name, ...csv()));
  if (data) add("CSV", data);
  if (figure) add("SVG", () => saveSvg(name, figure()));
  if (figure) add("PNG", () => savePng(name, figure()));
  if (svg) add("SVG", svg);
  if (png) add("PNG", png);
  return h("span", { class: "exports", role: "group", "aria-label": `Save ${name}` }, buttons);
}
