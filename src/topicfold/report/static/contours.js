// SPDX-License-Identifier: BSD-3-Clause
// Where documents are dense: smoothed counts on a grid, and lines of equal height.

const CELLS = 128;
const PAD = 8;
const SIDE = CELLS + 2 * PAD;
const STEPS = [0.06, 0.25, 0.5, 0.75, 0.92];

// Three running means are close to a bell.
function smooth(values, reach) {
  let from = values;
  for (let round = 0; round < 3; round += 1) {
    for (const [near, far] of [[1, SIDE], [SIDE, 1]]) {
      const to = new Float32Array(SIDE * SIDE);
      for (let line = 0; line < SIDE; line += 1) {
        let sum = 0;
        for (let i = -reach; i < SIDE + reach; i += 1) {
          if (i + reach < SIDE && i + reach >= 0) sum += from[line * far + (i + reach) * near];
          if (i - reach - 1 >= 0 && i - reach - 1 < SIDE) sum -= from[line * far + (i - reach - 1) * near];
          if (i >= 0 && i < SIDE) to[line * far + i * near] = sum / (2 * reach + 1);
        }
      }
      from = to;
    }
  }
  return from;
}

// Closed lines around all that is higher than a level, as lists of [x, y] in cells.
function loopsAt(heights, level) {
  const next = new Map();
  const cut = (a, b) => (level - heights[a]) / (heights[b] - heights[a]);
  const across = (at) => [2 * at, (at % SIDE) + cut(at, at + 1), Math.floor(at / SIDE)];
  const down = (at) => [2 * at + 1, at % SIDE, Math.floor(at / SIDE) + cut(at, at + SIDE)];
  const join = (from, to) => next.set(from[0], { x: from[1], y: from[2], to: to[0] });
  for (let y = 0; y < SIDE - 1; y += 1) {
    for (let x = 0; x < SIDE - 1; x += 1) {
      const at = y * SIDE + x;
      const kind = (heights[at] > level ? 1 : 0) + (heights[at + 1] > level ? 2 : 0)
        + (heights[at + SIDE + 1] > level ? 4 : 0) + (heights[at + SIDE] > level ? 8 : 0);
      if (kind === 0 || kind === 15) continue;
      const [top, right, bottom, left] = [() => across(at), () => down(at + 1), () => across(at + SIDE), () => down(at)];
      // High ground is always on the right of the way.
      if (kind === 1) join(top(), left());
      else if (kind === 2) join(right(), top());
      else if (kind === 3) join(right(), left());
      else if (kind === 4) join(bottom(), right());
      else if (kind === 5) { join(top(), right()); join(bottom(), left()); }
      else if (kind === 6) join(bottom(), top());
      else if (kind === 7) join(bottom(), left());
      else if (kind === 8) join(left(), bottom());
      else if (kind === 9) join(top(), bottom());
      else if (kind === 10) { join(left(), top()); join(right(), bottom()); }
      else if (kind === 11) join(right(), bottom());
      else if (kind === 12) join(left(), right());
      else if (kind === 13) join(top(), right());
      else join(left(), top());
    }
  }
  const loops = [];
  for (const start of [...next.keys()]) {
    const loop = [];
    for (let at = start; next.has(at); ) {
      const { x, y, to } = next.get(at);
      next.delete(at);
      loop.push([x, y]);
      at = to;
    }
    if (loop.length > 2) loops.push(loop);
  }
  return loops;
}

// Levels of the density of points (0 to 65535), each a list of loops in the same units.
export function densityLevels(xs, ys) {
  const counts = new Float32Array(SIDE * SIDE);
  const cell = (value) => Math.min(CELLS - 1, Math.floor((value * CELLS) / 65536)) + PAD;
  for (let i = 0; i < xs.length; i += 1) counts[cell(ys[i]) * SIDE + cell(xs[i])] += 1;
  // Few documents are smoothed more.
  const heights = smooth(counts, xs.length > 5000 ? 1 : xs.length > 800 ? 2 : 3);
  // The levels are such that known shares of the documents lie lower.
  const found = Float32Array.from(xs, (x, i) => heights[cell(ys[i]) * SIDE + cell(x)]).sort();
  const levels = STEPS.map((step) => found[Math.floor(step * (found.length - 1))]);
  const back = (value) => ((value - PAD + 0.5) / CELLS) * 65535;
  return [...new Set(levels)].map((level) => loopsAt(heights, level * 0.999).map((loop) =>
    loop.map(([x, y]) => [back(x), back(y)])));
}

export function contourPaths(levels) {
  return levels.map((loops) => {
    const path = new Path2D();
    for (const loop of loops) {
      // Round: from the middle of a side to that of the next, around the corner.
      const middle = (i) => [0, 1].map((axis) => (loop[i % loop.length][axis] + loop[(i + 1) % loop.length][axis]) / 2);
      path.moveTo(...middle(loop.length - 1));
      loop.forEach((corner, i) => path.quadraticCurveTo(...corner, ...middle(i)));
    }
    return path;
  });
}
