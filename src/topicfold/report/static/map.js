// SPDX-License-Identifier: BSD-3-Clause
// The map of documents: colours, zoom, hover, and the text of a document on click.

import { h, hideTip, link, percent, plural, s, select, short, showTip } from "./dom.js";
import { colors, rampColor, styleValue, topicColor } from "./theme.js";
import { save, saveCanvas, saveCsv, exportButtons } from "./files.js";
import { MARKS, Scatter } from "./scatter.js";
import { topicTable } from "./lists.js";
import { withoutMarks } from "./data.js";

const view = { color: "topic", labels: true, saved: null };
const TIME_STEPS = 24;

// How points look: a group for every colour and mark, and the group of every point.
function makeLook(report) {
  const { documents, page } = report;
  if (view.color === "class") {
    const groups = [{ name: "no class", color: styleValue("--faint"), mark: 0 },
      ...page.classes.names.map((name, code) => ({ name, color: colors()[code % 10],
        mark: Math.floor(code / 10), href: link({ class: name }) }))];
    return { groups, of: documents.classes };
  }
  if (view.color === "time") {
    const known = page.time.values.filter((value) => !Number.isNaN(value));
    const low = known.reduce((a, b) => Math.min(a, b), Infinity);
    const high = known.reduce((a, b) => Math.max(a, b), -Infinity);
    const groups = [{ name: "no time", color: styleValue("--faint"), mark: 4 }];
    for (let i = 0; i < TIME_STEPS; i += 1) {
      groups.push({ name: "", color: rampColor(i / (TIME_STEPS - 1)), mark: 0 });
    }
    const of = Uint8Array.from(page.time.values, (value) => (Number.isNaN(value) ? 0
      : 1 + Math.min(TIME_STEPS - 1, Math.floor(((value - low) / (high - low || 1)) * TIME_STEPS))));
    return { groups, of, low, high };
  }
  const groups = report.topics.map((topic) => ({ name: report.name(topic.id), topic: topic.id,
    color: topicColor(topic), mark: topic.mark, href: link({ map: true, topic: topic.id }) }));
  return { groups, of: documents.main };
}

function faintPoints(report, topic, code) {
  const { n, main, classes } = report.documents;
  if (topic === null && code === null) return null;
  const faint = new Uint8Array(n);
  for (let i = 0; i < n; i += 1) {
    faint[i] = (topic !== null && main[i] !== topic) || (code !== null && classes[i] !== code + 1) ? 1 : 0;
  }
  return faint;
}

function drawLabels(report, scatter, topic) {
  const { context, ratio } = scatter;
  context.save();
  context.scale(ratio, ratio);
  context.font = `600 12px ${styleValue("--sans")}`;
  context.textBaseline = "middle";
  context.textAlign = "center";
  context.lineJoin = "round";
  const taken = [];
  const shown = topic === null ? report.bySize : [report.topics[topic]];
  for (const item of shown) {
    if (!item.documents && topic === null) continue;
    const [x, y] = scatter.place(item.anchor[0] * 65535, item.anchor[1] * 65535);
    const text = `${item.id} ${short(report.name(item.id), 30)}`;
    const half = context.measureText(text).width / 2 + 4;
    const clash = taken.some((box) => Math.abs(box.x - x) < box.half + half && Math.abs(box.y - y) < 17);
    if (clash || x < half || x > scatter.width - half || y < 9 || y > scatter.height - 9) continue;
    taken.push({ x, y, half });
    context.strokeStyle = styleValue("--surface");
    context.lineWidth = 4;
    context.strokeText(text, x, y);
    context.fillStyle = styleValue("--text");
    context.fillText(text, x, y);
  }
  context.restore();
}

function ring(scatter, report, place) {
  const { context, ratio } = scatter;
  const { x: xs, y: ys } = report.documents;
  const [x, y] = scatter.place(xs[place], ys[place]);
  context.save();
  context.scale(ratio, ratio);
  context.lineWidth = 2;
  context.strokeStyle = styleValue("--text");
  context.beginPath();
  context.arc(x, y, scatter.radius + 4, 0, 7);
  context.stroke();
  context.restore();
}

function markIcon(group) {
  const paths = { disc: "M6 1a5 5 0 1 1-.01 0z", square: "M1.5 1.5h9v9h-9z", diamond: "M6 0l6 6-6 6-6-6z",
    triangle: "M6 .5l5.5 10.5H.5z", cross: "M4 0h4v4h4v4H8v4H4V8H0V4h4z" };
  return s("svg", { viewBox: "0 0 12 12", class: "mark", "aria-hidden": "true" },
    s("path", { d: paths[MARKS[group.mark % MARKS.length]], fill: group.color }));
}

function legend(report, look) {
  if (view.color === "time") {
    const stops = Array.from({ length: 12 }, (_, i) => s("rect", { x: i * 20, width: 21, height: 12,
      fill: rampColor(i / 11) }));
    return h("div", { class: "ramp" }, h("span", {}, report.timeText(look.low)),
      s("svg", { viewBox: "0 0 240 12", "aria-hidden": "true" }, stops),
      h("span", {}, report.timeText(look.high)));
  }
  const used = new Map();
  for (const group of look.of) used.set(group, (used.get(group) || 0) + 1);
  const rows = look.groups.map((group, i) => ({ group, n: used.get(i) || 0 })).filter((row) => row.n)
    .sort((a, b) => b.n - a.n);
  return h("ul", { class: "legend", "aria-label": "Legend" }, rows.map(({ group, n }) => h("li", {},
    h(group.href ? "a" : "span", { href: group.href, class: "legend-item" }, markIcon(group),
      h("span", {}, group.topic === undefined ? group.name : `${group.topic} ${group.name}`),
      h("span", { class: "note" }, n.toLocaleString("en"))))));
}

async function card(report, place, box) {
  const row = report.documents.rows[place];
  const about = [report.label(place), report.className(place), report.timeName(place)];
  const text = h("p", { class: "card-text" });
  box.replaceChildren(h("div", { class: "card" }, h("h3", {}, report.title(place)),
    h("p", { class: "hint" }, about.filter(Boolean).join(" · ")),
    topicTable(report, report.mixture(place).slice(0, 4), "Topics of the document"), text,
    h("a", { class: "button", href: link({ doc: row }) }, "Open document")));
  const texts = await report.texts();
  if (texts) text.textContent = short(withoutMarks(texts[place]), 600);
  else text.remove();
}

function saveMapSvg(report, scatter, look, faint) {
  const { x: xs, y: ys } = report.documents;
  const parts = [];
  const round = (value) => value.toFixed(1);
  look.groups.forEach((group, g) => {
    const dots = [];
    for (let i = 0; i < xs.length; i += 1) {
      if (look.of[i] !== g || (faint && faint[i])) continue;
      const [x, y] = scatter.place(xs[i], ys[i]);
      if (x < 0 || y < 0 || x > scatter.width || y > scatter.height) continue;
      dots.push(`M${round(x)} ${round(y)}h0`);
    }
    if (dots.length) {
      parts.push(s("path", { d: dots.join(""), stroke: group.color, "stroke-width": round(2 * scatter.radius),
        "stroke-linecap": group.mark % 2 ? "square" : "round", "stroke-opacity": 0.8 }));
    }
  });
  const labels = view.labels ? report.topics.filter((topic) => topic.documents).map((topic) => {
    const [x, y] = scatter.place(topic.anchor[0] * 65535, topic.anchor[1] * 65535);
    return s("text", { x: round(x), y: round(y), "text-anchor": "middle", "font-size": 12,
      "font-family": "sans-serif", "font-weight": 600, fill: styleValue("--text") },
    `${topic.id} ${short(report.name(topic.id), 30)}`);
  }) : [];
  const svg = s("svg", { viewBox: `0 0 ${scatter.width} ${scatter.height}`, width: scatter.width,
    height: scatter.height }, s("rect", { width: "100%", height: "100%", fill: styleValue("--surface") }),
  parts, labels);
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  save("map.svg", new XMLSerializer().serializeToString(svg), "image/svg+xml");
}

function mapCsv(report) {
  const { x: xs, y: ys, rows, main } = report.documents;
  const lines = Array.from(rows, (row, i) => [row, report.documents.ids?.[i] ?? "", report.title(i), xs[i] / 65535,
    1 - ys[i] / 65535, main[i], report.className(i), report.timeName(i)]);
  saveCsv("map", ["document", "id", "title", "x", "y", "topic", "class", "time"], lines);
}

function listen(canvas, scatter, actions) {
  const touches = new Map();
  let moved = 0;
  let spread = 0;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const gap = () => {
    const [a, b] = [...touches.values()];
    return Math.hypot(a[0] - b[0], a[1] - b[1]);
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    touches.set(event.pointerId, at(event));
    if (touches.size === 1) moved = 0;
    if (touches.size === 2) spread = gap();
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    const before = touches.get(event.pointerId);
    if (!before) return actions.hover(x, y, event);
    touches.set(event.pointerId, [x, y]);
    if (touches.size === 2) {
      const now = gap();
      const [a, b] = [...touches.values()];
      scatter.zoom(now / spread, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
      spread = now;
    } else {
      scatter.left += x - before[0];
      scatter.top += y - before[1];
    }
    moved += Math.abs(x - before[0]) + Math.abs(y - before[1]);
    hideTip();
    return actions.draw();
  });
  const end = (event) => {
    if (touches.delete(event.pointerId) && moved < 5 && event.type === "pointerup") actions.click(...at(event));
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    scatter.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), ...at(event));
    actions.draw();
  }, { passive: false });
  canvas.addEventListener("dblclick", (event) => {
    scatter.zoom(2, ...at(event));
    actions.draw();
  });
  canvas.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (moves[event.key]) {
      scatter.left += moves[event.key][0];
      scatter.top += moves[event.key][1];
    } else if (event.key === "+" || event.key === "=") scatter.zoom(1.4);
    else if (event.key === "-") scatter.zoom(1 / 1.4);
    else if (event.key === "0") scatter.home();
    else if (event.key === "Enter") actions.click(scatter.width / 2, scatter.height / 2, 4000);
    else return;
    event.preventDefault();
    event.stopPropagation();
    actions.draw();
  });
}

function toolbar(report, scatter, parts, exporting) {
  const { page } = report;
  const kinds = [["topic", "main topic"]];
  if (report.documents.classes) kinds.push(["class", "class"]);
  if (page.time) kinds.push(["time", "time"]);
  if (!kinds.some(([key]) => key === view.color)) view.color = "topic";
  const labels = h("input", { type: "checkbox", checked: view.labels, onchange: () => {
    view.labels = labels.checked;
    parts.draw();
  } });
  const zoom = (text, name, action) => h("button", { type: "button", class: "small", "aria-label": name,
    title: name, onclick: () => { action(); parts.draw(); } }, text);
  return h("div", { class: "toolbar" },
    select("Colour", kinds, view.color, (key) => { view.color = key; parts.recolor(); }),
    h("label", { class: "choice" }, labels, h("span", {}, "names of topics")),
    h("span", { class: "steps" }, zoom("−", "Zoom out", () => scatter.zoom(1 / 1.5)),
      zoom("+", "Zoom in", () => scatter.zoom(1.5)), zoom("Whole map", "Show the whole map", () => scatter.home())),
    exportButtons("map", exporting));
}

export function showMap(report, box, parameters) {
  const { documents } = report;
  const topic = parameters.has("topic") ? Number(parameters.get("topic")) : null;
  const code = parameters.has("class") ? report.page.classes?.names.indexOf(parameters.get("class")) ?? null : null;
  const faint = faintPoints(report, report.topics[topic] ? topic : null, code >= 0 ? code : null);
  const canvas = h("canvas", { tabindex: 0, role: "application", "aria-label":
    "Map of documents. Arrow keys move, plus and minus zoom, 0 shows all, Enter opens the document in the middle." });
  const scatter = new Scatter(canvas, documents.x, documents.y);
  const side = h("div", { class: "map-side" });
  const legendBox = h("div", { class: "map-legend" });
  const frame = h("div", { class: "map-frame" }, canvas);
  let look = makeLook(report);
  let chosen = -1;
  let waiting = 0;
  const paint = () => {
    waiting = 0;
    look.faint = faint;
    scatter.draw(look, styleValue("--surface"));
    if (view.labels) drawLabels(report, scatter, report.topics[topic] ? topic : null);
    if (chosen >= 0) ring(scatter, report, chosen);
  };
  const draw = () => { waiting ||= requestAnimationFrame(paint); };
  const recolor = () => {
    look = makeLook(report);
    legendBox.replaceChildren(legend(report, look));
    draw();
  };
  const choose = (place) => {
    chosen = place;
    card(report, place, side);
    draw();
  };
  listen(canvas, scatter, { draw,
    click: (x, y, reach) => {
      const place = scatter.nearest(x, y, reach, faint);
      if (place >= 0) choose(place);
    },
    hover: (x, y, event) => {
      const place = scatter.nearest(x, y, 10, faint);
      canvas.classList.toggle("over", place >= 0);
      if (place < 0) return hideTip();
      const [best] = report.mixture(place);
      return showTip(event.clientX, event.clientY, [short(report.title(place), 80),
        best ? `${best.topic} ${report.name(best.topic)}, ${percent(best.share)}` : "",
        [report.className(place), report.timeName(place)].filter(Boolean).join(" · ")].filter(Boolean));
    } });
  const tools = toolbar(report, scatter, { draw, recolor }, { csv: null, png: () => saveCanvas("map", canvas),
    svg: () => saveMapSvg(report, scatter, look, faint) });
  tools.lastChild.prepend(h("button", { type: "button", class: "small", title: "Save as CSV",
    onclick: () => mapCsv(report) }, "CSV"));
  const filter = (report.topics[topic] || code >= 0) && faint ? h("p", { class: "filter" },
    report.topics[topic] ? `Only documents whose main topic is ${topic}, ${report.name(topic)}: `
      : `Only documents of ${report.page.classes.names[code]}: `,
    plural(faint.reduce((sum, value) => sum + 1 - value, 0), "document"), " ",
    h("a", { href: "#map" }, "Show all")) : null;
  side.append(h("p", { class: "hint" }, "Documents that are close have similar topics. Drag to move, scroll or "
    + "pinch to zoom, click a point to read it. What lies far apart is not alike, how far says little."));
  legendBox.append(legend(report, look));
  box.append(h("h2", {}, "Map of documents"), tools, filter ?? "",
    h("div", { class: "map" }, frame, h("div", { class: "map-aside" }, side, legendBox)));
  new ResizeObserver(() => {
    if (!frame.clientWidth) return;
    scatter.resize(frame.clientWidth, frame.clientHeight);
    paint();
  }).observe(frame);
  document.addEventListener("themechange", recolor, { signal: parameters.signal });
  if (parameters.has("doc")) {
    const place = report.placeOfRow.get(Number(parameters.get("doc")));
    if (place !== undefined) {
      requestAnimationFrame(() => {
        scatter.focus(documents.x[place], documents.y[place], 5);
        choose(place);
      });
    }
  }
  canvas.scatter = scatter;
  canvas.redraw = paint;
  return "Map";
}
