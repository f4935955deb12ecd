// SPDX-License-Identifier: BSD-3-Clause
// The map of documents: colours, names, density, zoom, hover, and choosing documents.

import { count, h, hideTip, link, percent, plural, s, select, short, showTip } from "./dom.js";
import { colors, inkOf, rampColor, styleValue, topicColor } from "./theme.js";
import { save, saveCanvas, saveCsv, exportButtons } from "./files.js";
import { MARKS, Scatter } from "./scatter.js";
import { contourPaths, densityLevels } from "./contours.js";
import { Labels } from "./labels.js";
import { chosenList, documentCard, noneChosen } from "./selection.js";
import { NO_TOPIC } from "./data.js";

const view = { color: "topic", labels: true, density: true };
const TIME_STEPS = 24;
let levels = null;

// How points look: a group for every colour and mark, and the group of every point.
function makeLook(report) {
  const { documents, page } = report;
  if (view.color === "class") {
    const groups = [{ name: "no class", color: styleValue("--faint"), mark: 0 },
      ...page.classes.names.map((name, code) => ({ name, color: colors()[code % colors().length],
        mark: Math.floor(code / colors().length), n: page.classes.sizes[code], href: link({ class: name }) }))];
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
    color: topicColor(topic), mark: topic.mark, n: topic.main, href: link({ map: true, topic: topic.id }) }));
  if (!report.edited) return { groups, of: documents.main };
  groups.push({ name: "no topic left", color: styleValue("--faint"), mark: 0 });
  return { groups, of: documents.main.map((topic) => (topic === NO_TOPIC ? groups.length - 1 : topic)) };
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

function makeLabels(report, scatter, only) {
  const [text, paper] = [styleValue("--text"), styleValue("--surface")];
  // The largest tenth, but not fewer than five, is written larger.
  const large = Math.max(5, report.bySize.length / 10);
  const shown = only === null ? report.bySize.filter((topic) => topic.main) : [report.topics[only]];
  return new Labels(scatter, shown.map((topic, rank) => ({ id: topic.id, text: report.name(topic.id),
    x: topic.anchor[0] * 65535, y: topic.anchor[1] * 65535, large: rank < large,
    ink: inkOf(topicColor(topic), text, paper) })));
}

function drawDensity(context, scatter, paths) {
  context.save();
  const [x0, y0] = scatter.place(0, 0);
  context.scale(scatter.ratio, scatter.ratio);
  context.translate(x0, y0);
  context.scale(scatter.across / 65535, scatter.down / 65535);
  context.fillStyle = context.strokeStyle = styleValue("--text");
  context.lineWidth = 65535 / Math.sqrt(scatter.across * scatter.down);
  for (const path of paths) {
    context.globalAlpha = 0.045;
    context.fill(path, "evenodd");
    context.globalAlpha = 0.12;
    context.stroke(path);
  }
  context.restore();
}

function drawLine(context, scatter, line) {
  context.save();
  context.scale(scatter.ratio, scatter.ratio);
  context.beginPath();
  line.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
  context.fillStyle = context.strokeStyle = styleValue("--accent");
  context.lineWidth = 1.5;
  context.stroke();
  context.globalAlpha = 0.12;
  context.fill();
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
  // Topics and classes have the numbers that their own pages show, of all documents.
  const used = new Uint32Array(look.groups.length);
  for (const group of look.of) used[group] += 1;
  const rows = look.groups.map((group, i) => ({ group, n: group.n ?? used[i] })).filter((row) => row.n)
    .sort((a, b) => b.n - a.n);
  return h("ul", { class: "legend", "aria-label": "Legend" }, rows.map(({ group, n }) => h("li", {},
    h(group.href ? "a" : "span", { href: group.href, class: "legend-item" }, markIcon(group),
      h("span", {}, group.topic === undefined ? group.name : `${group.topic} ${group.name}`),
      h("span", { class: "note" }, count(n))))));
}

function saveMapSvg(report, scatter, look, faint, labels) {
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
  const names = (view.labels ? labels.at(scatter.context) : []).flatMap(({ topic, lines, dx, dy }) => {
    const [x, y] = scatter.place(topic.x, topic.y);
    return lines.map((line, i) => s("text", { x: round(x + dx), y: round(y + dy + 4 + 15 * (i - (lines.length - 1) / 2)),
      "text-anchor": "middle", "font-size": topic.large ? 13.5 : 12, "font-family": "sans-serif", "font-weight": 600,
      fill: topic.ink, stroke: styleValue("--surface"), "stroke-width": 3, "paint-order": "stroke" }, line));
  });
  const svg = s("svg", { viewBox: `0 0 ${scatter.width} ${scatter.height}`, width: scatter.width,
    height: scatter.height }, s("rect", { width: "100%", height: "100%", fill: styleValue("--surface") }),
  parts, names);
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
  let line = null;
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
    line = touches.size === 1 && (event.shiftKey || actions.drawing()) ? [at(event)] : null;
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    const before = touches.get(event.pointerId);
    if (!before) return actions.hover(x, y, event);
    touches.set(event.pointerId, [x, y]);
    moved += Math.abs(x - before[0]) + Math.abs(y - before[1]);
    hideTip();
    if (line) {
      line.push([x, y]);
      return actions.outline(line);
    }
    if (touches.size === 2) {
      const now = gap();
      const [a, b] = [...touches.values()];
      scatter.zoom(now / spread, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
      spread = now;
      return actions.zoomed();
    }
    scatter.left += x - before[0];
    scatter.top += y - before[1];
    return actions.draw();
  });
  const end = (event) => {
    if (!touches.delete(event.pointerId)) return;
    const drawn = line;
    line = null;
    if (event.type === "pointerup" && drawn && moved >= 5) actions.choose(scatter.within(drawn));
    else if (event.type === "pointerup" && moved < 5) actions.click(...at(event));
    if (drawn) actions.outline(null);
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    scatter.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), ...at(event));
    actions.zoomed();
  }, { passive: false });
  canvas.addEventListener("dblclick", (event) => {
    scatter.zoom(2, ...at(event));
    actions.draw();
  });
  canvas.addEventListener("keydown", (event) => pressOnMap(event, scatter, actions));
}

function pressOnMap(event, scatter, actions) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
  if (moves[event.key]) {
    scatter.left += moves[event.key][0];
    scatter.top += moves[event.key][1];
  } else if (event.key === "+" || event.key === "=") scatter.zoom(1.4);
  else if (event.key === "-") scatter.zoom(1 / 1.4);
  else if (event.key === "0") scatter.home();
  else if (event.key === "Enter") actions.click(scatter.width / 2, scatter.height / 2, 4000);
  else if (event.key === "l") actions.inView();
  else if (event.key === "Escape") actions.clear();
  else return;
  event.preventDefault();
  event.stopPropagation();
  actions.draw();
}

function toolbar(report, scatter, actions) {
  const kinds = [["topic", "main topic"]];
  if (report.documents.classes) kinds.push(["class", "class"]);
  if (report.page.time) kinds.push(["time", "time"]);
  if (!kinds.some(([key]) => key === view.color)) view.color = "topic";
  const switched = (key, text) => {
    const box = h("input", { type: "checkbox", checked: view[key], onchange: () => {
      view[key] = box.checked;
      actions.draw();
    } });
    return h("label", { class: "choice" }, box, h("span", {}, text));
  };
  const button = (text, name, action) => h("button", { type: "button", class: "small", "aria-label": name,
    title: name, onclick: () => { action(); actions.draw(); } }, text);
  const lasso = h("button", { type: "button", class: "small", id: "lasso", "aria-pressed": "false",
    title: "Draw around documents to list them (or hold Shift)", onclick: () => {
      lasso.setAttribute("aria-pressed", String(!actions.drawing()));
    } }, "Lasso");
  actions.drawing = () => lasso.getAttribute("aria-pressed") === "true";
  return h("div", { class: "toolbar" },
    select("Colour", kinds, view.color, (key) => { view.color = key; actions.recolor(); }),
    switched("labels", "names"), switched("density", "density"),
    h("span", { class: "steps" }, button("−", "Zoom out", () => scatter.zoom(1 / 1.5)),
      button("+", "Zoom in", () => scatter.zoom(1.5)), button("Whole map", "Show the whole map", () => scatter.home())),
    h("span", { class: "steps" }, lasso,
      button("List those in view", "List the documents in view (key L)", () => actions.inView())),
    exportButtons("map", { data: () => mapCsv(report), png: () => actions.png(), svg: () => actions.svg() }));
}

// The map on its canvas: what is drawn, and what pointer and keys do to it.
class MapView {
  constructor(report, canvas, side, faint, topic) {
    Object.assign(this, { report, canvas, side, faint, topic });
    this.scatter = new Scatter(canvas, report.documents.x, report.documents.y);
    this.filter = faint;
    this.version = 0;
    this.place = -1;
    this.line = null;
    this.waiting = 0;
    levels ??= densityLevels(report.documents.x, report.documents.y);
    this.paths = contourPaths(levels);
    this.recolor();
  }

  recolor() {
    this.version += 1;
    this.look = makeLook(this.report);
    this.labels = makeLabels(this.report, this.scatter, this.topic);
    this.onlegend?.(legend(this.report, this.look));
    this.draw();
  }

  draw() {
    this.waiting ||= requestAnimationFrame(() => this.paint());
  }

  // While a hand zooms, quick is better than sharp.
  zoomed() {
    this.hurry = true;
    this.draw();
  }

  paint() {
    this.waiting = 0;
    const { scatter, look } = this;
    if (!scatter.width) return;
    const { context, ratio } = scatter;
    look.faint = this.faint;
    const sharp = scatter.draw(look, (below) => { if (view.density) drawDensity(below, scatter, this.paths); },
      `${this.version} ${view.density}`, this.hurry);
    this.hurry = false;
    clearTimeout(this.settling);
    if (!sharp) this.settling = setTimeout(() => this.draw(), 120);
    context.save();
    context.scale(ratio, ratio);
    if (view.labels) this.labels.draw(context, styleValue("--surface"));
    context.restore();
    if (this.place >= 0) ring(scatter, this.report, this.place);
    if (this.line) drawLine(context, scatter, this.line);
    performance.mark("map");
  }

  outline(line) {
    this.line = line;
    this.draw();
  }

  choose(places) {
    const inside = new Set(this.filter ? places.filter((place) => !this.filter[place]) : places);
    this.place = -1;
    this.version += 1;
    this.faint = inside.size ? Uint8Array.from(this.scatter.xs, (_, place) => (inside.has(place) ? 0 : 1)) : this.filter;
    chosenList(this.report, [...inside], this.side, () => this.clear());
    this.draw();
  }

  inView() {
    const { width, height } = this.scatter;
    this.choose(this.scatter.within([[0, 0], [width, 0], [width, height], [0, height]]));
  }

  clear() {
    this.version += 1;
    this.faint = this.filter;
    this.place = -1;
    noneChosen(this.report, this.side);
    this.draw();
  }

  show(place) {
    this.place = place;
    documentCard(this.report, place, this.side);
    this.draw();
  }

  click(x, y, reach) {
    const place = this.scatter.nearest(x, y, reach, this.faint);
    if (place >= 0) this.show(place);
  }

  hover(x, y, event) {
    const { report } = this;
    const place = this.scatter.nearest(x, y, 10, this.faint);
    this.canvas.classList.toggle("over", place >= 0);
    if (place < 0) return hideTip();
    const [best] = report.mixture(place);
    return showTip(event.clientX, event.clientY, [short(report.title(place), 80),
      best ? `${best.topic} ${report.name(best.topic)}, ${percent(best.share)}` : "",
      [report.className(place), report.timeName(place)].filter(Boolean).join(" · ")].filter(Boolean));
  }

  png() { return saveCanvas("map", this.canvas, styleValue("--surface")); }

  svg() { saveMapSvg(this.report, this.scatter, this.look, this.faint, this.labels); }
}

function filterNote(report, topic, code, faint) {
  if (!faint) return null;
  const what = topic !== null ? `Only documents whose main topic is ${topic}, ${report.name(topic)}: `
    : `Only documents of ${report.page.classes.names[code]}: `;
  const all = topic !== null ? report.topics[topic].main : report.page.classes.sizes[code];
  const shown = faint.reduce((sum, value) => sum + 1 - value, 0);
  return h("p", { class: "filter" }, what, shown < all ? `${count(shown)} of ${plural(all, "document")}` : plural(all, "document"),
    " ", h("a", { href: "#map" }, "Show all"));
}

export function showMap(report, box, parameters) {
  const { documents } = report;
  const topic = parameters.has("topic") && report.has(Number(parameters.get("topic")))
    ? Number(parameters.get("topic")) : null;
  const found = report.page.classes?.names.indexOf(parameters.get("class")) ?? -1;
  const code = found >= 0 ? found : null;
  const canvas = h("canvas", { tabindex: 0, role: "application", "aria-label": "Map of documents. Arrow keys move, "
    + "plus and minus zoom, 0 shows all, Enter shows the document in the middle, L lists the documents in view." });
  const side = h("div", { class: "map-side", tabindex: 0, role: "region", "aria-label": "About the documents" });
  const legendBox = h("div", { class: "map-legend", tabindex: 0, role: "region", "aria-label": "Colours" });
  const frame = h("div", { class: "map-frame" }, canvas);
  const map = new MapView(report, canvas, side, faintPoints(report, topic, code), topic);
  const tools = toolbar(report, map.scatter, map);
  map.onlegend = (list) => legendBox.replaceChildren(list);
  map.recolor();
  map.clear();
  listen(canvas, map.scatter, map);
  box.append(h("h2", {}, "Map of documents"), tools, filterNote(report, topic, code, map.filter) ?? "",
    h("div", { class: "map" }, frame, h("div", { class: "map-aside" }, side, legendBox)));
  new ResizeObserver(() => {
    if (!frame.clientWidth) return;
    map.scatter.resize(frame.clientWidth, frame.clientHeight);
    map.paint();
  }).observe(frame);
  document.addEventListener("themechange", () => map.recolor(), { signal: parameters.signal });
  const place = report.placeOfRow.get(parameters.has("doc") ? Number(parameters.get("doc")) : -1);
  if (place !== undefined) {
    requestAnimationFrame(() => {
      map.scatter.focus(documents.x[place], documents.y[place], 5);
      map.show(place);
    });
  }
  Object.assign(canvas, { scatter: map.scatter, map, redraw: () => map.paint() });
  return "Map";
}
