// SPDX-License-Identifier: BSD-3-Clause
// One slide for every topic, to show or to print; the first has them all.

import { count, h, link, percent, plural, short } from "./dom.js";
import { inkOf, styleValue, topicColor } from "./theme.js";
import { smallChart } from "./charts.js";
import { chip, shareOf, typicalOf } from "./lists.js";

const FIRST = 24;

function words(report, topic) {
  const terms = report.topTerms(topic.id, 0.6, 18);
  const most = Math.max(...terms.map((term) => term.weight));
  const ink = inkOf(topicColor(topic), styleValue("--text"), styleValue("--surface"));
  const size = (term) => `${(0.75 + 1.35 * Math.sqrt(term.weight / most)).toFixed(2)}em`;
  return h("p", { class: "slide-words" }, terms.map((term) =>
    [h("span", { class: "term", style: { "font-size": size(term), color: ink } }, term.name), " "]));
}

function topicSlide(report, topic) {
  const { time, classes } = report.page;
  const parts = [];
  const typical = typicalOf(report, topic);
  if (typical.length) {
    parts.push(h("div", {}, h("h3", {}, "Typical documents"), h("ul", {}, typical.slice(0, 4).map((place) =>
      h("li", {}, h("span", {}, short(report.title(place), 90)), h("span", { class: "note" }, percent(shareOf(report, place, topic.id))))))));
  }
  if (time) {
    const values = time.names.map((_, period) => report.periodShare(period, topic.id));
    parts.push(h("div", {}, h("h3", {}, "Over time"), smallChart(values, time.names, Math.max(...values.filter(Number.isFinite)),
      topicColor(topic))));
  }
  if (classes) {
    const best = classes.names.map((name, code) => ({ name, share: report.classShare(code, topic.id) }))
      .sort((a, b) => b.share - a.share).slice(0, 4);
    parts.push(h("div", {}, h("h3", {}, "In classes"), h("ul", {}, best.map(({ name, share }) =>
      h("li", {}, h("span", {}, name), h("span", { class: "note" }, percent(share)))))));
  }
  const facts = [`${percent(topic.size)} of all words`, report.documents && `main topic of ${plural(topic.main, "document")}`];
  return h("section", { class: "slide", tabindex: -1, "aria-label": `Topic ${topic.id}` },
    h("h2", { class: "topic-title" }, chip(report, topic.id), h("a", { href: link({ topic: topic.id }) }, report.name(topic.id))),
    h("p", { class: "hint" }, facts.filter(Boolean).join(" · ")), words(report, topic), h("div", { class: "slide-parts" }, parts));
}

function firstSlide(report) {
  const { page } = report;
  const more = report.bySize.length - FIRST;
  return h("section", { class: "slide", tabindex: -1, "aria-label": "All topics" }, h("h2", {}, page.title),
    h("p", { class: "hint" }, [plural(report.bySize.length, "topic"), page.counts.documents && plural(page.counts.documents, "document"),
      page.counts.tokens && `${count(page.counts.tokens)} words`].filter(Boolean).join(" · ")),
    h("ol", { class: "slide-list" }, report.bySize.slice(0, FIRST).map((topic) => h("li", {}, chip(report, topic.id),
      h("span", {}, report.name(topic.id)), h("span", { class: "note" }, percent(topic.size))))),
    more > 0 ? h("p", { class: "hint" }, `and ${more} more`) : null);
}

export function showSlides(report, box, parameters) {
  const slides = [firstSlide(report), ...report.bySize.map((topic) => topicSlide(report, topic))];
  const step = (by) => {
    const middle = innerHeight / 2;
    const at = slides.findIndex((slide) => slide.getBoundingClientRect().bottom > middle);
    const next = slides[Math.min(slides.length - 1, Math.max(0, at + by))];
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "center" });
  };
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    const by = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    step(by);
  }, { signal: parameters.signal });
  box.append(h("div", { class: "toolbar" }, h("button", { type: "button", class: "small", onclick: () => step(-1) }, "← Back"),
    h("button", { type: "button", class: "small", onclick: () => step(1) }, "Next →"),
    h("button", { type: "button", class: "small", onclick: () => print() }, "Print or save as PDF"),
    h("span", { class: "hint" }, "Use the arrow keys to go from slide to slide.")), ...slides);
  return "Slides";
}
