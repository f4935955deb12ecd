// SPDX-License-Identifier: BSD-3-Clause
// Names of topics on the map: beside the points, never over each other, more of them the
// closer one looks. They are placed for a zoom, not for a view: moving changes nothing.

import { short, wrap } from "./dom.js";
import { styleValue } from "./theme.js";

const FINE_CELLS = 1024;
const LINE = 15;
const RINGS = [0, 14, 25, 38, 54, 74];
const ANGLES = 16;
const FAR = 220; // so many pixels are as bad as to cover everything
// A name covers points only where it must, and less and less of them.
const MOST_COVERED = 0.3;
// Names take at most this share of the whole map: the largest topics first, more by zoom.
const MOST_NAMES = 0.26;
// Pixels between names beside and above each other, so that they spread over the map.
const GAPS = [24, 14];
const CROSSED = 0.5; // how bad it is that a line to a name crosses another name
const LEVELS = 3; // steps between one zoom and its double

export class Labels {
  // topics: [{id, text, x, y, size, color, ink}], the most important first.
  constructor(scatter, topics) {
    Object.assign(this, { scatter, topics });
    this.placed = new Map();
    this.sums = null;
    this.sans = styleValue("--sans");
  }

  // How many points lie above and left of every cell.
  addUp() {
    const { xs, ys } = this.scatter;
    const side = FINE_CELLS + 1;
    const sums = new Uint32Array(side * side);
    for (let i = 0; i < xs.length; i += 1) sums[((ys[i] >> 6) + 1) * side + (xs[i] >> 6) + 1] += 1;
    for (let y = 1; y < side; y += 1) {
      let row = 0;
      for (let x = 1; x < side; x += 1) {
        row += sums[y * side + x];
        sums[y * side + x] = row + sums[(y - 1) * side + x];
      }
    }
    return sums;
  }

  count(left, top, right, bottom) {
    this.sums ??= this.addUp();
    const at = (value) => Math.min(FINE_CELLS, Math.max(0, Math.round(value * FINE_CELLS)));
    const [x0, y0, x1, y1] = [at(left), at(top), at(right), at(bottom)];
    const sum = (x, y) => this.sums[y * (FINE_CELLS + 1) + x];
    return sum(x1, y1) - sum(x0, y1) - sum(x1, y0) + sum(x0, y0);
  }

  font(topic) {
    return `650 ${topic.large ? 13.5 : 12}px ${this.sans}`;
  }

  level() {
    return Math.floor(Math.log2(this.scatter.scale) * LEVELS + 1e-6);
  }

  // The labels of this zoom: [{topic, lines, x, y, dx, dy, half, high}].
  at(context) {
    const { width, height } = this.scatter;
    const level = this.level();
    const key = `${level} ${width} ${height}`;
    if (!this.placed.has(key)) this.placed.set(key, this.place(context, 2 ** (level / LEVELS)));
    return this.placed.get(key);
  }

  place(context, scale) {
    const { scatter } = this;
    const across = (scatter.across / scatter.scale) * scale;
    const down = (scatter.down / scatter.scale) * scale;
    const mark = 3.2 * scatter.radiusAt(scale) ** 2;
    const found = [];
    // Closest by, every topic has its name: there is room for all.
    const close = scale > 24;
    const [beside, above] = close ? [4, 2] : GAPS;
    let room = MOST_NAMES * across * down;
    // At the first sight nothing hangs over the edge.
    const edge = scale < 1.2 ? [(scatter.width - across) / 2, (scatter.height - down) / 2] : null;
    for (const topic of this.topics) {
      context.font = this.font(topic);
      const lines = wrap(short(topic.text, 44), 22);
      const half = Math.max(...lines.map((line) => context.measureText(line).width)) / 2 + 3;
      const high = (lines.length * LINE) / 2 + 1;
      const [x, y] = [(topic.x / 65535) * across, (topic.y / 65535) * down];
      let best = null;
      for (const [ring, radius] of RINGS.entries()) {
        const turns = ring ? ANGLES : 1;
        for (let turn = 0; turn < turns; turn += 1) {
          const angle = (2 * Math.PI * turn) / turns - Math.PI / 2;
          // Labels are wide: a ring is an ellipse around the anchor.
          const dx = Math.cos(angle) * (radius + (ring ? half * Math.abs(Math.cos(angle)) : 0));
          const dy = Math.sin(angle) * (radius + (ring ? high * Math.abs(Math.sin(angle)) : 0));
          const [cx, cy] = [x + dx, y + dy];
          if (edge && (cx - half < -edge[0] || cx + half > across + edge[0]
            || cy - high < -edge[1] || cy + high > down + edge[1])) continue;
          if (found.some((box) => Math.abs(box.cx - cx) < box.half + half + beside
            && Math.abs(box.cy - cy) < box.high + high + above)) continue;
          const points = this.count((cx - half) / across, (cy - high) / down, (cx + half) / across, (cy + high) / down);
          const covered = 1 - Math.exp((-points * mark) / (4 * half * high));
          const own = { x, y, cx, cy, half, high };
          const crossed = found.filter((box) => crosses(leaderOf(own), box) || crosses(leaderOf(box), own)).length;
          const cost = covered + radius / FAR + CROSSED * crossed;
          if (!best || cost < best.cost) best = { cost, covered, crossed, x, y, dx, dy, cx, cy };
        }
        if (best && best.cost < RINGS[ring] / FAR) break;
      }
      if (!best || ((best.covered > MOST_COVERED || best.crossed) && !close)) continue;
      found.push({ topic, lines, half, high, ...best });
      room -= 4 * half * high;
      if (room < 0) break;
    }
    return found;
  }

  draw(context, paper) {
    const { scatter } = this;
    context.textBaseline = "middle";
    context.textAlign = "center";
    context.lineJoin = "round";
    for (const { topic, lines, dx, dy, half, high } of this.at(context)) {
      const [x, y] = scatter.place(topic.x, topic.y);
      const [cx, cy] = [x + dx, y + dy];
      if (cx < -half || cx > scatter.width + half || cy < -high || cy > scatter.height + high) continue;
      leader(context, { x, y, cx, cy, half, high }, topic.ink);
      context.font = this.font(topic);
      lines.forEach((line, i) => {
        const at = cy + (i - (lines.length - 1) / 2) * LINE;
        context.strokeStyle = paper;
        context.lineWidth = 4;
        context.strokeText(line, cx, at);
        context.fillStyle = topic.ink;
        context.fillText(line, cx, at);
      });
    }
  }
}

// The line from the nearest edge of a name to its place, if it is not there already.
function leaderOf({ x, y, cx, cy, half, high }) {
  const ex = Math.min(Math.max(x, cx - half), cx + half);
  const ey = Math.min(Math.max(y, cy - high), cy + high);
  return Math.hypot(ex - x, ey - y) < 8 ? null : [ex, ey, x, y];
}

// Whether a line goes through the box of a name: the part of it that is inside is not empty.
function crosses(line, { cx, cy, half, high }) {
  if (!line) return false;
  const [x, y, toX, toY] = line;
  let [from, to] = [0, 1];
  for (const [start, step, middle, reach] of [[x, toX - x, cx, half], [y, toY - y, cy, high]]) {
    if (step === 0) {
      if (Math.abs(start - middle) >= reach) return false;
      continue;
    }
    const ends = [(middle - reach - start) / step, (middle + reach - start) / step];
    from = Math.max(from, Math.min(...ends));
    to = Math.min(to, Math.max(...ends));
  }
  return from < to;
}

function leader(context, box, color) {
  const line = leaderOf(box);
  if (!line) return;
  const [ex, ey, x, y] = line;
  context.strokeStyle = color;
  context.globalAlpha = 0.7;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(ex, ey);
  context.lineTo(x, y);
  context.stroke();
  context.globalAlpha = 1;
}
