// SPDX-License-Identifier: BSD-3-Clause
// The data of the page: unpacked once, then asked by every view.

import { editedTopics, followEdits } from "./edits.js";

const TYPES = {
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array,
  float32: Float32Array, float64: Float64Array,
};

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i += 1) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

async function unpack(packed) {
  const bytes = fromBase64(packed.data);
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(plain).arrayBuffer();
  if (packed.type === "strings") return new TextDecoder().decode(buffer).split("\x1e");
  return new TYPES[packed.type](buffer);
}

// Unpack all that is packed in a part of the page.
async function unpackAll(part) {
  await Promise.all(Object.entries(part).map(async ([name, value]) => {
    if (value?.type in TYPES || value?.type === "strings") part[name] = await unpack(value);
    else if (value?.constructor === Object) await unpackAll(value);
  }));
}

// Where every list begins, if there are so many items in each.
function startsOf(counts) {
  const starts = new Uint32Array(counts.length + 1);
  counts.forEach((number, place) => { starts[place + 1] = starts[place] + number; });
  return starts;
}

export async function loadReport() {
  const { texts, ...page } = JSON.parse(document.getElementById("report-data").textContent);
  await Promise.all([page, ...page.sides].map(unpackAll));
  for (const side of page.sides) if (side.counts) side.starts = startsOf(side.counts);
  return new Report(page, texts);
}

export const NO_TOPIC = 65535;

export function largerFirst(a, b) {
  return b.size - a.size || a.id - b.id;
}

class Report {
  constructor(page, packedTexts) {
    const { names: terms, frequencies, topics: termTopics, shares: termShares } = page.terms;
    const { documents } = page;
    Object.assign(this, { page, terms, frequencies, termTopics, termShares, documents, packedTexts });
    if (documents) {
      const { counts, topics, weights } = documents.mixtures;
      Object.assign(documents, { n: counts.length, starts: startsOf(counts), topics, weights });
      this.placeOfRow = new Map(Array.from(documents.rows, (row, place) => [row, place]));
    }
    const used = new Map();
    for (const topic of [...page.topics].sort(largerFirst)) {
      // Topics of the same colour differ in their mark.
      topic.mark = used.get(topic.color) || 0;
      used.set(topic.color, topic.mark + 1);
    }
    this.fitted = page.topics;
    this.means = page.topics.map((topic) => topic.mean);
    this.fittedMain = documents?.main;
    this.edit([]);
  }

  // Show the topics as edits leave them; numbers stay those of the model.
  edit(edits) {
    const { into, names } = followEdits(this.fitted, edits);
    this.edits = edits;
    this.into = into;
    this.names = names;
    this.edited = into.some((to, topic) => to !== topic);
    this.members = new Map();
    into.forEach((to, topic) => {
      if (to >= 0) this.members.set(to, [...(this.members.get(to) ?? []), topic]);
    });
    this.topics = this.edited ? editedTopics(this) : this.fitted;
    this.bySize = this.topics.filter((topic) => !topic.gone).sort(largerFirst);
    if (!this.documents) return;
    this.documents.main = this.edited ? this.editedMain() : this.fittedMain;
    if (this.edited) {
      for (const topic of this.topics) topic.main = 0;
      for (const topic of this.documents.main) if (topic < NO_TOPIC) this.topics[topic].main += 1;
    }
  }

  editedMain() {
    const main = new Uint16Array(this.documents.n).fill(NO_TOPIC);
    for (let place = 0; place < main.length; place += 1) {
      const [best] = this.mixture(place);
      if (best) main[place] = best.topic;
    }
    return main;
  }

  // There is a topic of this number, and no edit took it away.
  has(topic) {
    return this.topics[topic] !== undefined && !this.topics[topic].gone;
  }

  name(topic) {
    return this.names.get(topic) ?? this.topics[topic].name;
  }

  // The terms of a topic by relevance λ log p(w|k) + (1 - λ) log(p(w|k) / p(w)).
  topTerms(topic, lambda, n) {
    const { terms, weights } = this.topics[topic];
    const scored = terms.map((term, i) => {
      const logs = Math.log(weights[i]);
      const score = logs - (1 - lambda) * Math.log(Math.max(this.frequencies[term], 1e-37));
      return { term, name: this.terms[term], weight: weights[i], score,
        frequency: this.frequencies[term] };
    });
    // Equal ones stay in the order of the vocabulary.
    return scored.sort((a, b) => b.score - a.score).slice(0, n);
  }

  topicsOfTerm(term) {
    const { width } = this.page.terms;
    const items = Array.from({ length: width }, (_, i) => ({
      topic: this.termTopics[term * width + i],
      share: this.termShares[term * width + i] / 255,
    }));
    return this.gather(items);
  }

  mixture(place) {
    const { starts, topics, weights } = this.documents;
    const items = [];
    for (let i = starts[place]; i < starts[place + 1]; i += 1) {
      items.push({ topic: topics[i], share: weights[i] / 255 });
    }
    return this.gather(items, this.fittedMain[place]);
  }

  // Shares by falling size; of equal ones `first` comes first. What edits joined is
  // added up, what they dropped is shared out.
  gather(items, first = -1) {
    let found = items;
    if (this.edited) {
      const sums = new Map();
      let [all, kept] = [0, 0];
      for (const { topic, share } of items) {
        const to = this.into[topic];
        all += share;
        if (to < 0) continue;
        kept += share;
        sums.set(to, (sums.get(to) ?? 0) + share);
      }
      found = [...sums].map(([topic, share]) => ({ topic, share: (share * all) / kept }));
    }
    const top = this.into[first];
    return found.filter((item) => item.share > 0).sort((a, b) => b.share - a.share
      || (b.topic === top) - (a.topic === top) || a.topic - b.topic);
  }

  title(place) {
    const { ids, leads, rows } = this.documents;
    return (leads && leads[place]) || (ids && ids[place]) || `Document ${rows[place]}`;
  }

  // What else names a document: its id where the title is its text, and its number.
  label(place) {
    const { ids, leads, rows } = this.documents;
    const id = ids && leads && leads[place] ? ids[place] : "";
    return id ? `${id} · no. ${rows[place]}` : `no. ${rows[place]}`;
  }

  className(place) {
    const { classes } = this.documents;
    const code = classes ? classes[place] : 0;
    return code ? this.page.classes.names[code - 1] : null;
  }

  timeName(place) {
    if (!this.page.time) return null;
    return this.timeText(this.page.time.values[place]);
  }

  timeText(value) {
    if (Number.isNaN(value)) return null;
    if (!this.page.time.dates) return String(Number(value.toPrecision(10)));
    return new Date(value * 86400000).toISOString().slice(0, 10);
  }

  classShare(code, topic) {
    return this.sum(this.page.classes.mixtures, code, topic);
  }

  periodShare(period, topic) {
    return this.sum(this.page.time.shares, period, topic);
  }

  // The share of a topic in a row of a matrix of all topics, after the edits.
  sum(matrix, row, topic) {
    const at = row * this.fitted.length;
    if (!this.edited) return matrix[at + topic];
    let [kept, own] = [0, 0];
    for (let k = 0; k < this.fitted.length; k += 1) {
      if (this.into[k] >= 0) kept += matrix[at + k];
      if (this.into[k] === topic) own += matrix[at + k];
    }
    return kept === 0 ? 0 : own / kept; // NaN: a period without documents
  }

  likeness(one, other) {
    const { values } = this.page.similarity;
    const pairs = this.members.get(one).flatMap((a) => this.members.get(other).map((b) =>
      values[a * this.fitted.length + b] / 255));
    return pairs.reduce((sum, value) => sum + value, 0) / pairs.length;
  }

  // Texts are unpacked when first wanted.
  texts() {
    this.waiting ??= this.packedTexts ? unpack(this.packedTexts) : Promise.resolve(null);
    return this.waiting;
  }
}

// A text with its words marked, as [{text, topic or null}].
export function splitMarked(marked) {
  const parts = [];
  const pattern = /\x01(\d+)\x02([^\x03]*)\x03/g;
  let last = 0;
  for (const match of marked.matchAll(pattern)) {
    if (match.index > last) parts.push({ text: marked.slice(last, match.index), topic: null });
    parts.push({ text: match[2], topic: Number(match[1]) });
    last = match.index + match[0].length;
  }
  if (last < marked.length) parts.push({ text: marked.slice(last), topic: null });
  return parts;
}

export function withoutMarks(marked) {
  return marked.replace(/\x01\d+\x02|\x03/g, "");
}
