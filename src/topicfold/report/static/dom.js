// SPDX-License-Identifier: BSD-3-Clause
// Making elements and writing numbers. Text only ever becomes text nodes.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

// h("a", {class: "x", onclick: f}, "text", node, …)
export function h(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

export function s(tag, properties, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

export function percent(share, digits) {
  const value = 100 * share;
  const places = digits ?? (value >= 9.95 || value === 0 ? 0 : value >= 0.095 ? 1 : 2);
  return `${value.toFixed(places)}%`;
}

// A difference of shares, in percentage points.
export function points(gap) {
  const value = 100 * Math.abs(gap);
  const text = value.toFixed(value >= 9.95 ? 0 : 1);
  return `${Number(text) === 0 ? "±" : gap > 0 ? "+" : "−"}${text} points`;
}

export function count(number) {
  return Math.round(number).toLocaleString("en");
}

export function plural(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

export function short(text, length) {
  return text.length <= length ? text : `${text.slice(0, length - 1).trimEnd()}…`;
}

let pen = null;

// How wide a text is in a font such as "12px sans-serif".
export function widthOf(text, font) {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = font;
  return pen.measureText(text).width;
}

// A text as long as there is room for it.
export function fitting(text, room, font) {
  let letters = text.length;
  while (letters > 2 && widthOf(short(text, letters), font) > room) letters -= 1;
  return short(text, letters);
}

// Words in lines of at most so many letters, if no word is longer.
export function wrap(text, length) {
  const lines = [];
  for (const word of text.split(" ")) {
    const last = lines.length - 1;
    if (last >= 0 && lines[last].length + word.length < length) lines[last] += ` ${word}`;
    else lines.push(word);
  }
  return lines;
}

// Addresses inside the page: link({topic: 7}) is "#topic=7". Half a character (a text
// that was cut inside an emoji) has no place in an address.
export function link(place) {
  const whole = (value) => String(value).replace(/\p{Surrogate}/gu, "\ufffd");
  const parts = Object.entries(place).map(([key, value]) =>
    value === true ? key : `${key}=${encodeURIComponent(whole(value))}`);
  return `#${parts.join("&")}`;
}

export function select(label, options, value, change) {
  const list = h("select", { "aria-label": label },
    options.map(([key, text]) => h("option", { value: key }, text)));
  list.value = value;
  list.addEventListener("change", () => change(list.value));
  return h("label", { class: "choice" }, h("span", {}, label), list);
}

const tip = () => document.getElementById("tip");

export function showTip(x, y, lines) {
  const box = tip();
  box.replaceChildren(...lines.map((line, place) =>
    h(place ? "span" : "strong", {}, line)));
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  const left = Math.min(Math.max(8, x + 14), innerWidth - width - 8);
  const top = y + 18 + height > innerHeight ? y - height - 12 : y + 18;
  box.style.transform = `translate(${left}px, ${Math.max(8, top)}px)`;
}

export function hideTip() {
  tip().hidden = true;
}
