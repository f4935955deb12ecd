// SPDX-License-Identifier: BSD-3-Clause
// The list of topics, and one topic with all that is known of it.

import { h, link, percent, plural, select, short } from "./dom.js";
import { topicColor } from "./theme.js";
import { saveCsv } from "./files.js";
import { barChart, lineChart, responsive, section } from "./charts.js";
import { chip, documentList, meter, shareOf, topicTable, typicalOf } from "./lists.js";
import { largerFirst } from "./data.js";
import { seedWords, sideBlocks } from "./sides.js";

const state = { lambda: 0.6, order: "size", open: new Set() };
const ORDERS = {
  size: ["largest first", largerFirst],
  id: ["by number", (a, b) => a.id - b.id],
  coherence: ["most coherent first", (a, b) => (b.coherence ?? -2) - (a.coherence ?? -2)],
  tree: ["similar together", largerFirst],
};

function topicsCsv(report) {
  const header = ["topic", "name", "share", "coherence", "documents", "terms"];
  return [header, report.bySize.map((topic) => [topic.id, report.name(topic.id), topic.size,
    topic.coherence, topic.main, report.topTerms(topic.id, 1, 10).map((t) => t.name).join(", ")])];
}

function listItem(report, topic, most, chosen) {
  return h("li", {}, h("a", { class: "topic-item", href: link({ topic: topic.id }),
    "aria-current": chosen ? "true" : null, "data-topic": topic.id },
  chip(report, topic.id),
  h("span", { class: "topic-name" }, report.name(topic.id)),
  h("span", { class: "topic-size" }, percent(topic.size)),
  h("span", { class: "topic-words" }, termList(report, topic.id)), meter(topic.size / most, topicColor(topic))));
}

// Terms, each kept on one line: a term may be a phrase.
function termList(report, topic, n = 9) {
  return report.topTerms(topic, state.lambda, n).map((term, i) => [i ? ", " : "", h("span", { class: "term" }, term.name)]);
}

// Groups of similar topics that open; those without a topic left are not shown.
function treeItems(report, parts, most, chosen) {
  return parts.map((part) => {
    const topics = (part.topics ?? [part]).filter((topic) => report.has(topic));
    if (!topics.length) return null;
    if (topics.length === 1) return listItem(report, report.topics[topics[0]], most, topics[0] === chosen);
    const share = topics.reduce((sum, topic) => sum + report.topics[topic].size, 0);
    const open = topics.includes(chosen) || state.open.has(part);
    const box = h("details", { class: "group", open },
      h("summary", {}, h("span", { class: "group-name" }, part.terms.join(", ")),
        h("span", { class: "topic-size" }, `${topics.length} topics, ${percent(share)}`)),
      h("ol", {}, treeItems(report, part.parts, most, chosen)));
    box.addEventListener("toggle", () => (box.open ? state.open.add(part) : state.open.delete(part)));
    return h("li", {}, box);
  });
}

function topicList(report, chosen, redraw) {
  const orders = Object.entries(ORDERS).filter(([key]) =>
    (key !== "coherence" || report.topics.some((topic) => topic.coherence !== null))
    && (key !== "tree" || report.page.tree.some((part) => part.topics)));
  const sorted = [...report.bySize].sort(ORDERS[state.order][1]);
  const most = report.bySize[0].size;
  const items = state.order === "tree" ? treeItems(report, report.page.tree, most, chosen)
    : sorted.map((topic) => listItem(report, topic, most, topic.id === chosen));
  return h("aside", { class: "topic-list", "aria-label": "Topics" },
    h("div", { class: "block-head" },
      select("Order", orders.map(([key, [text]]) => [key, text]), state.order, (key) => {
        state.order = key;
        redraw();
      }),
      h("button", { type: "button", class: "small", title: "Save the topics as CSV",
        onclick: () => saveCsv("topics", ...topicsCsv(report)) }, "CSV")),
    h("ol", {}, items));
}

// Merging: the similar ones first, then all.
function mergeChoice(report, topic, actions) {
  if (report.bySize.length < 2) return null;
  const option = (other) => h("option", { value: other }, `${other} ${short(report.name(other), 50)}`);
  const near = report.topics[topic].near;
  const others = report.topics.filter((other) => !other.gone && other.id !== topic && !near.includes(other.id));
  const list = h("select", { id: "merge", class: "small", "aria-label": `Merge topic ${topic} with another` },
    h("option", { value: "" }, "Merge with …"),
    near.length ? h("optgroup", { label: "Similar" }, near.map(option)) : null,
    others.length ? h("optgroup", { label: "Others" }, others.map((other) => option(other.id))) : null);
  list.addEventListener("change", () => {
    const topics = [topic, Number(list.value)].sort((a, b) => a - b);
    actions.edit({ action: "merge", topics });
    location.hash = link({ topic: topics[0] });
  });
  return list;
}

function nameForm(report, topic, actions) {
  const title = h("h2", { class: "topic-title" }, chip(report, topic),
    h("span", { id: "topic-name" }, report.name(topic)));
  const rename = h("button", { type: "button", class: "small", id: "rename" }, "Rename");
  const buttons = h("span", { class: "steps" }, rename, mergeChoice(report, topic, actions),
    report.bySize.length > 1 && h("button", { type: "button", class: "small", id: "drop",
      title: "Remove the topic; the other topics of a document are then scaled to add up to 100%", onclick: () =>
        actions.edit({ action: "drop", topics: [topic] }) }, "Drop"));
  const head = h("div", { class: "topic-head" }, title, buttons);
  rename.addEventListener("click", () => {
    const input = h("input", { type: "text", value: report.name(topic), maxlength: 200,
      "aria-label": `New name of topic ${topic}` });
    const close = () => head.replaceChildren(title, buttons);
    const form = h("form", { class: "rename" }, chip(report, topic), input,
      h("button", { class: "small primary" }, "Keep"),
      h("button", { type: "button", class: "small", onclick: close }, "Cancel"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      actions.edit({ action: "rename", topic, name: input.value.trim() });
    });
    form.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
    head.replaceChildren(form);
    input.select();
  });
  return head;
}

function factList(report, topic) {
  const facts = [["Share of words", percent(topic.size)],
    ["Rank", `${report.bySize.indexOf(topic) + 1} of ${report.bySize.length}`]];
  if (topic.coherence !== null) facts.push(["Coherence (NPMI)", topic.coherence.toFixed(2)]);
  if (report.documents) facts.push(["Main topic of", plural(topic.main, "document")]);
  const parts = report.members.get(topic.id);
  if (parts.length > 1) facts.push(["Merged from", parts.join(", ")]);
  return h("dl", { class: "fact-list" }, facts.map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function termBlock(report, topic, listChanged) {
  const ranked = () => report.topTerms(topic.id, state.lambda, 20);
  const seeds = seedWords(report, topic.id);
  const figure = responsive((width) => barChart(ranked().map((term) => ({
    label: seeds.has(term.name) ? `★ ${term.name}` : term.name, href: link({ term: term.name }), value: term.weight, ghost: term.frequency,
    color: topicColor(topic), text: percent(term.weight),
    tip: [term.name, `${percent(term.weight)} of the words of this topic`,
      `${percent(term.frequency)} of all words`],
  })), width, { labelWidth: 150, describe: `Terms of topic ${topic.id} with their share` }));
  const value = h("output", { for: "relevance" }, state.lambda.toFixed(1));
  const slider = h("input", { type: "range", id: "relevance", min: 0, max: 1, step: 0.1,
    value: state.lambda, "aria-label": "Relevance λ: 0 specific terms, 1 probable terms" });
  slider.addEventListener("input", () => {
    state.lambda = Number(slider.value);
    value.textContent = state.lambda.toFixed(1);
    figure.redraw();
    listChanged();
  });
  const control = h("div", { class: "slider" }, h("span", {}, "specific"), slider,
    h("span", {}, "probable"), h("span", { class: "lambda" }, "λ = ", value));
  const csv = () => [["topic", "term", "p_term_in_topic", "p_term"],
    report.topTerms(topic.id, state.lambda, report.page.terms.shown).map((term) =>
      [topic.id, term.name, term.weight, term.frequency])];
  return section("Terms", h("div", {}, control, figure), {
    name: `topic-${topic.id}-terms`,
    exports: { csv, figure: () => figure.querySelector("svg") },
    hint: `Full bar: share in this topic. Outline: share in all documents.${seeds.size ? " ★: a seed word." : ""}`,
  });
}

function typicalBlock(report, topic) {
  const typical = typicalOf(report, topic);
  if (!typical.length) return null;
  return section("Most typical documents", documentList(report, typical,
    (place) => percent(shareOf(report, place, topic.id))));
}

function nearBlock(report, topic) {
  if (!topic.near.length) return null;
  const items = topic.near.slice(0, 6).map((other, i) =>
    ({ topic: other, share: topic.likeness[i], text: topic.likeness[i].toFixed(2) }));
  return section("Similar topics", topicTable(report, items, "Similar topics"),
    { hint: `${topic.near.length > items.length ? `The ${items.length} most similar topics. ` : ""}Compared by their words: 0 for no words in common, 1 for the same.` });
}

function classBlock(report, topic) {
  const { classes } = report.page;
  if (!classes) return null;
  const rows = classes.names.map((name, code) => ({ name, share: report.classShare(code, topic.id) }))
    .sort((a, b) => b.share - a.share).slice(0, 8).filter((row) => row.share > 0.001);
  const figure = responsive((width) => barChart(rows.map((row) => ({
    label: row.name, href: link({ class: row.name }), value: row.share, text: percent(row.share),
    color: topicColor(topic) })), width,
  { labelWidth: 170, describe: `Classes with the most of topic ${topic.id}` }));
  const cut = rows.length < classes.names.length ? ` The ${rows.length} largest of ${classes.names.length} shares; the CSV has all.` : "";
  return section("In classes", figure, { hint: `Mean share of this topic in the documents of a class.${cut}`,
    name: `topic-${topic.id}-classes`, exports: { figure: () => figure.querySelector("svg"),
      csv: () => [["class", "share"], classes.names.map((name, code) =>
        [name, report.classShare(code, topic.id)])] } });
}

function timeBlock(report, topic) {
  const { time } = report.page;
  if (!time) return null;
  const values = time.names.map((_, period) => report.periodShare(period, topic.id));
  const figure = responsive((width) => lineChart(values, time.names, width, 190, {
    format: percent, color: topicColor(topic), zero: true, area: true,
    describe: `Share of topic ${topic.id} over time` }));
  return section("Over time", figure, { name: `topic-${topic.id}-time`,
    exports: { figure: () => figure.querySelector("svg"),
      csv: () => [["period", "share"], time.names.map((name, i) => [name, values[i]])] } });
}

function topicDetail(report, topic, actions, listChanged) {
  const order = report.bySize.indexOf(topic);
  const step = (to, text, label) => {
    const other = report.bySize[to];
    return other && h("a", { class: "button small", href: link({ topic: other.id }),
      "aria-label": `${label}: topic ${other.id}, ${report.name(other.id)}` }, text);
  };
  return h("article", { class: "detail", "aria-labelledby": "topic-name" },
    h("div", { class: "detail-nav" }, h("a", { class: "back", href: "#topics" }, "All topics"),
      h("span", { class: "steps" }, step(order - 1, "← Larger", "Next larger"),
        step(order + 1, "Smaller →", "Next smaller"),
        report.documents && h("a", { class: "button small", href: link({ map: true, topic: topic.id }) },
          "On the map"))),
    nameForm(report, topic.id, actions), factList(report, topic),
    h("div", { class: "columns" },
      h("div", {}, termBlock(report, topic, listChanged), classBlock(report, topic), sideBlocks(report, topic)),
      h("div", {}, typicalBlock(report, topic), nearBlock(report, topic))),
    timeBlock(report, topic));
}

// #topic=7, or the largest one beside the list of all.
export function showTopics(report, box, parameters, actions) {
  const asked = parameters.has("topic") ? Number(parameters.get("topic")) : null;
  const chosen = asked !== null && report.has(asked) ? asked : null;
  if (asked !== null && chosen === null) {
    box.append(h("p", { class: "notice" }, report.fitted[asked] ? `Topic ${asked} was merged with another or dropped. Undo restores it.`
      : `There is no topic ${parameters.get("topic")}.`));
  }
  const topic = report.topics[chosen ?? report.bySize[0].id];
  actions.topic = topic.id;
  const listChanged = () => {
    for (const item of box.querySelectorAll(".topic-item")) {
      item.querySelector(".topic-words").replaceChildren(...termList(report, Number(item.dataset.topic)).flat());
    }
  };
  const redraw = () => {
    const old = box.querySelector(".topic-list");
    old.replaceWith(topicList(report, topic.id, redraw));
  };
  const list = topicList(report, topic.id, redraw);
  box.classList.toggle("one-topic", chosen !== null);
  box.append(h("div", { class: "split" }, list, topicDetail(report, topic, actions, listChanged)));
  const current = list.querySelector("[aria-current]");
  // Not scrollIntoView: it would move the page too.
  if (current) {
    const middle = current.offsetTop - list.clientHeight / 2;
    list.scrollTop = actions.listScroll ?? middle;
    const inside = current.offsetTop > list.scrollTop
      && current.offsetTop + current.offsetHeight < list.scrollTop + list.clientHeight;
    if (!inside) list.scrollTop = middle;
  }
  list.addEventListener("scroll", () => { actions.listScroll = list.scrollTop; }, { passive: true });
  return `Topic ${topic.id}: ${short(report.name(topic.id), 60)}`;
}
