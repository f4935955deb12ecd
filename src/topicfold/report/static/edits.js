// SPDX-License-Identifier: BSD-3-Clause
// Renaming, merging and dropping topics in the page: what it looks like, and the file
// from which `topicfold edit` makes the model. Numbers of topics are those of the model.

// Where every topic goes (-1: nowhere), and the names given.
export function followEdits(topics, edits) {
  const into = topics.map((topic) => topic.id);
  const names = new Map();
  const own = (topic) => names.get(topic) ?? (topics[topic].named ? topics[topic].name : "");
  for (const edit of edits) {
    if (edit.action === "rename") {
      if (edit.name && edit.name !== topics[edit.topic].name) names.set(edit.topic, edit.name);
      else names.delete(edit.topic);
    } else if (edit.action === "merge") {
      const [first, ...others] = [...edit.topics].sort((a, b) => a - b);
      const name = [first, ...others].map(own).filter(Boolean).join(" + ");
      into.forEach((to, topic) => { if (others.includes(to)) into[topic] = first; });
      for (const topic of others) names.delete(topic);
      if (name) names.set(first, name);
    } else {
      into.forEach((to, topic) => { if (edit.topics.includes(to)) into[topic] = -1; });
      for (const topic of edit.topics) names.delete(topic);
    }
  }
  return { into, names };
}

// p(w|k) of a topic that lists the term or not; from p(k|w) if it does not.
function weightOf(report, topic, term) {
  const at = topic.terms.indexOf(term);
  if (at >= 0) return topic.weights[at];
  const { width } = report.page.terms;
  for (let i = term * width; i < (term + 1) * width; i += 1) {
    if (report.termTopics[i] === topic.id) return ((report.termShares[i] / 255) * report.frequencies[term]) / (topic.size || 1);
  }
  return 0;
}

function joined(report, parts, topic) {
  const size = parts.reduce((sum, part) => sum + part.size, 0) || 1;
  const terms = [...new Set(parts.flatMap((part) => part.terms))].sort((a, b) => a - b);
  const weights = terms.map((term) => parts.reduce((sum, part) =>
    sum + (part.size / size) * weightOf(report, part, term), 0));
  const largest = parts.reduce((best, part) => (part.size > best.size ? part : best));
  const typical = [...new Set(parts.flatMap((part) => part.typical))];
  const share = (place) => report.mixture(place).find((item) => item.topic === topic.id)?.share ?? 0;
  const ranked = terms.map((term, i) => [term, Math.log(weights[i] || 1e-30) - 0.4 * Math.log(report.frequencies[term])]);
  return { ...topic, terms, weights, anchor: largest.anchor, spot: largest.spot, coherence: null,
    name: ranked.sort((a, b) => b[1] - a[1]).slice(0, 3).map(([term]) => report.terms[term]).join(", "),
    typical: typical.sort((a, b) => share(b) - share(a)).slice(0, 8) };
}

// The topics as edits leave them; those that are gone say so.
export function editedTopics(report) {
  const { fitted, into, members } = report;
  const kept = fitted.reduce((sum, topic) => sum + (into[topic.id] < 0 ? 0 : topic.size), 0) || 1;
  return fitted.map((topic) => {
    const parts = (members.get(topic.id) ?? []).map((part) => fitted[part]);
    if (!parts.length) return { ...topic, gone: true, size: 0 };
    const near = new Map();
    for (const part of parts) {
      part.near.forEach((other, i) => {
        const to = into[other];
        if (to >= 0 && to !== topic.id) near.set(to, Math.max(near.get(to) ?? 0, part.likeness[i]));
      });
    }
    const order = [...near].sort((a, b) => b[1] - a[1]);
    const whole = parts.length > 1 ? joined(report, parts, topic) : { ...topic };
    return { ...whole, near: order.map(([other]) => other), likeness: order.map(([, value]) => value),
      size: parts.reduce((sum, part) => sum + part.size, 0) / kept };
  });
}

// The edits as `topicfold edit` takes them: numbers stay from the first to the last.
export function editFile(report) {
  const kept = [...report.members].sort((a, b) => a[0] - b[0]);
  const edits = [];
  for (const [topic, parts] of kept) {
    const name = report.names.get(topic);
    if (parts.length > 1) edits.push({ action: "merge", topics: parts, ...(name ? { name } : {}) });
    else if (name !== undefined) edits.push({ action: "rename", topic, name });
  }
  const dropped = report.fitted.map((topic) => topic.id).filter((topic) => report.into[topic] < 0);
  if (dropped.length) edits.push({ action: "drop", topics: dropped });
  return { format: "topicfold-edits", version: 2, topics: report.fitted.length, edits };
}

// What a browser kept, if it fits this model.
export function checkedEdits(kept, nTopics) {
  const topic = (value) => Number.isInteger(value) && value >= 0 && value < nTopics;
  return (Array.isArray(kept) ? kept : []).filter((edit) =>
    (edit?.action === "rename" && topic(edit.topic) && typeof edit.name === "string")
    || ((edit?.action === "merge" || edit?.action === "drop") && Array.isArray(edit.topics) && edit.topics.every(topic)));
}
