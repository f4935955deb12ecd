// SPDX-License-Identifier: BSD-3-Clause
// Links to topics, documents and classes, as every view shows them.

import { count, h, link, percent, plural } from "./dom.js";
import { topicColor } from "./theme.js";

// The number of a topic on its colour: the number tells it, the colour only helps.
export function chip(report, topic) {
  return h("span", { class: "chip", "data-topic": topic, style: { "--topic": topicColor(report.topics[topic]) } }, topic);
}

// A bar of a share, in the colour of a topic.
export function meter(share, color) {
  return h("span", { class: "meter", style: { "--share": `${100 * share}%`, "--topic": color } });
}

export function topicLink(report, topic, note) {
  return h("a", { class: "topic-link", href: link({ topic }) }, chip(report, topic),
    h("span", { class: "topic-link-name" }, report.name(topic)),
    note && h("span", { class: "note" }, note));
}

// Bars are as long as their share of the largest, here or in all lists that are compared.
export function topicTable(report, items, heading, largest = 0) {
  const most = Math.max(largest, ...items.map((item) => item.share), 1e-9);
  return h("ul", { class: "mixture", "aria-label": heading }, items.map((item) => h("li", { "data-topic": item.topic },
    topicLink(report, item.topic, item.text ?? percent(item.share)),
    meter(item.share / most, topicColor(report.topics[item.topic])))));
}

export function documentItem(report, place, note) {
  const row = report.documents.rows[place];
  const about = [report.label(place), report.className(place), report.timeName(place)];
  return h("li", {}, h("a", { class: "document-link", href: link({ doc: row }) },
    h("span", { class: "document-title" }, report.title(place)),
    note && h("span", { class: "note" }, note),
    h("span", { class: "document-about" }, about.filter(Boolean).join(" · "))));
}

export function documentList(report, places, note) {
  return h("ul", { class: "documents" }, places.map((place) =>
    documentItem(report, place, note && note(place))));
}

export function shareOf(report, place, topic) {
  return report.mixture(place).find((item) => item.topic === topic)?.share ?? 0;
}

// A list that shows more when asked.
export function growing(items, make, step = 25, { list: name = "documents", noun = "document" } = {}) {
  const list = h("ul", { class: name });
  const more = h("button", { type: "button", class: "small more" });
  let shown = 0;
  const grow = () => {
    list.append(...items.slice(shown, shown + step).map(make));
    shown = Math.min(items.length, shown + step);
    more.hidden = shown >= items.length;
    const left = items.length - shown;
    more.textContent = `Show more (${noun ? plural(left, noun) : count(left)} left)`;
  };
  more.addEventListener("click", grow);
  grow();
  return h("div", {}, list, more);
}

// A topic of few documents is not typical of those with hardly a word of it.
export function typicalOf(report, topic) {
  return report.documents ? topic.typical.filter((place) => shareOf(report, place, topic.id) >= 0.01) : [];
}
