// SPDX-License-Identifier: BSD-3-Clause
// The data of the page: unpacked once, then asked by every view.

const TYPES = {
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array,
  float32: Float32Array, float64: Float64Array,
};

export async function unpack(packed) {
  const letters = atob(packed.data);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i += 1) bytes[i] = letters.charCodeAt(i);
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(plain).arrayBuffer();
  if (packed.type === "strings") return new TextDecoder().decode(buffer).split("\x1e");
  return new TYPES[packed.type](buffer);
}

async function unpackDocuments(packed, n) {
  if (!packed) return null;
  const names = ["rows", "x", "y", "ids", "leads", "lengths", "classes"];
  const parts = await Promise.all(names.map((name) => packed[name] && unpack(packed[name])));
  const found = Object.fromEntries(names.map((name, place) => [name, parts[place]]));
  const mixtures = packed.mixtures;
  const [counts, topics, weights] = await Promise.all(
    [mixtures.counts, mixtures.topics, mixtures.weights].map(unpack));
  const starts = new Uint32Array(n + 1);
  const main = new Uint16Array(n);
  for (let d = 0; d < n; d += 1) {
    starts[d + 1] = starts[d] + counts[d];
    let best = starts[d];
    for (let i = best; i < starts[d + 1]; i += 1) if (weights[i] > weights[best]) best = i;
    main[d] = topics[best] ?? 0;
  }
  return { ...found, n, starts, topics, weights, main };
}

export async function loadReport() {
  const page = JSON.parse(document.getElementById("report-data").textContent);
  const [terms, frequencies, termTopics, termShares, documents] = await Promise.all([
    unpack(page.terms.names), unpack(page.terms.frequencies),
    unpack(page.terms.topics), unpack(page.terms.shares),
    unpackDocuments(page.documents, page.counts.shown),
  ]);
  const more = [[page.classes, "mixtures"], [page.time, "shares"], [page.time, "values"],
    [page.similarity, "values"]];
  await Promise.all(more.map(async ([part, name]) => {
    if (part) part[name] = await unpack(part[name]);
  }));
  return new Report(page, terms, frequencies, termTopics, termShares, documents);
}

export class Report {
  constructor(page, terms, frequencies, termTopics, termShares, documents) {
    Object.assign(this, { page, terms, frequencies, termTopics, termShares, documents });
    this.topics = page.topics;
    this.bySize = [...page.topics].sort((a, b) => b.size - a.size || a.id - b.id);
    this.renamed = new Map();
    this.waiting = null;
    const used = new Map();
    for (const topic of this.bySize) {
      // Topics of the same colour differ in their mark.
      topic.mark = used.get(topic.color) || 0;
      used.set(topic.color, topic.mark + 1);
    }
    if (documents) {
      this.placeOfRow = new Map(Array.from(documents.rows, (row, place) => [row, place]));
      for (const topic of this.topics) topic.documents = 0;
      for (const topic of documents.main) this.topics[topic].documents += 1;
    }
  }

  name(topic) {
    return this.renamed.get(topic) ?? this.topics[topic].name;
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
    return Array.from({ length: width }, (_, i) => ({
      topic: this.termTopics[term * width + i],
      share: this.termShares[term * width + i] / 255,
    })).filter((item) => item.share > 0);
  }

  mixture(place) {
    const { starts, topics, weights } = this.documents;
    const found = [];
    for (let i = starts[place]; i < starts[place + 1]; i += 1) {
      found.push({ topic: topics[i], share: weights[i] / 255 });
    }
    return found.sort((a, b) => b.share - a.share || a.topic - b.topic);
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
    return this.page.classes.mixtures[code * this.topics.length + topic];
  }

  periodShare(period, topic) {
    return this.page.time.shares[period * this.topics.length + topic];
  }

  likeness(one, other) {
    return this.page.similarity.values[one * this.topics.length + other] / 255;
  }

  // Texts are unpacked when first wanted.
  texts() {
    if (!this.page.texts) return Promise.resolve(null);
    this.waiting ??= unpack(this.page.texts);
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
