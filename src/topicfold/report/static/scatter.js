// SPDX-License-Identifier: BSD-3-Clause
// Points on a canvas, written as pixels: as quick without a graphics card.

import { rgb } from "./theme.js";

export const MARKS = ["disc", "square", "diamond", "triangle", "cross"];

// How much of every pixel around a point a mark covers.
function inside(mark, x, y, r) {
  switch (mark) {
    case "square": return Math.max(Math.abs(x), Math.abs(y)) <= 0.86 * r;
    case "diamond": return Math.abs(x) + Math.abs(y) <= 1.2 * r;
    case "triangle": return y <= 0.85 * r && y >= -r + 1.9 * Math.abs(x) * 0.95;
    case "cross": return Math.min(Math.abs(x), Math.abs(y)) <= 0.38 * r
      && Math.max(Math.abs(x), Math.abs(y)) <= 1.1 * r;
    default: return x * x + y * y <= r * r;
  }
}

export function makeMask(mark, radius) {
  const reach = Math.ceil(radius * 1.25);
  const [dxs, dys, covers] = [[], [], []];
  for (let dy = -reach; dy <= reach; dy += 1) {
    for (let dx = -reach; dx <= reach; dx += 1) {
      let hits = 0;
      for (let i = 0; i < 16; i += 1) {
        const x = dx + ((i % 4) - 1.5) / 4;
        const y = dy + (Math.floor(i / 4) - 1.5) / 4;
        hits += inside(mark, x, y, radius) ? 1 : 0;
      }
      if (!hits) continue;
      dxs.push(dx);
      dys.push(dy);
      covers.push(hits / 16);
    }
  }
  return { reach, dxs, dys, covers };
}

export class Scatter {
  constructor(canvas, xs, ys) {
    Object.assign(this, { canvas, xs, ys });
    this.context = canvas.getContext("2d");
    this.scale = 1;
    this.left = 0;
    this.top = 0;
    this.masks = new Map();
    this.cells = null;
  }

  resize(width, height) {
    this.ratio = Math.min(devicePixelRatio || 1, 2);
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * this.ratio);
    this.canvas.height = Math.round(height * this.ratio);
    this.image = this.context.createImageData(this.canvas.width, this.canvas.height);
  }

  // The map is shown whole, in the middle, at zoom 1; a wide frame stretches it a little.
  get across() { return Math.min(this.width, 1.4 * this.height) * 0.94 * this.scale; }

  get down() { return Math.min(this.height, 1.4 * this.width) * 0.94 * this.scale; }

  place(x, y) {
    return [this.width / 2 + (x / 65535 - 0.5) * this.across + this.left,
      this.height / 2 + (y / 65535 - 0.5) * this.down + this.top];
  }

  home() {
    this.scale = 1;
    this.left = 0;
    this.top = 0;
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const before = this.scale;
    this.scale = Math.min(60, Math.max(0.7, this.scale * factor));
    const real = this.scale / before;
    this.left = (this.left + this.width / 2 - x) * real + x - this.width / 2;
    this.top = (this.top + this.height / 2 - y) * real + y - this.height / 2;
  }

  focus(x, y, scale) {
    this.scale = scale;
    this.left = -(x / 65535 - 0.5) * this.across;
    this.top = -(y / 65535 - 0.5) * this.down;
  }

  get radius() {
    const crowd = this.xs.length > 5000 ? 1.9 : this.xs.length > 800 ? 2.6 : 3.8;
    return Math.min(7, crowd * this.scale ** 0.45);
  }

  mask(mark, radius) {
    const key = `${mark} ${radius.toFixed(1)}`;
    if (!this.masks.has(key)) this.masks.set(key, makeMask(mark, radius));
    return this.masks.get(key);
  }

  // look: {groups: [{color, mark}], of: group of every point, faint: Uint8Array or null}
  draw(look, paper) {
    const pixels = new Uint32Array(this.image.data.buffer);
    const [r, g, b] = rgb(paper);
    pixels.fill(((255 << 24) | (b << 16) | (g << 8) | r) >>> 0);
    const radius = this.radius * this.ratio;
    const styles = look.groups.map((group) => {
      const mask = this.mask(MARKS[group.mark % MARKS.length], radius);
      const steps = mask.dxs.map((dx, i) => 4 * (mask.dys[i] * this.canvas.width + dx));
      return { rgb: rgb(group.color), reach: mask.reach, covers: Float32Array.from(mask.covers),
        steps: Int32Array.from(steps) };
    });
    if (look.faint) this.points(look, styles, true);
    this.points(look, styles, false);
    this.context.putImageData(this.image, 0, 0);
  }

  points(look, styles, faint) {
    const { data, width, height } = this.image;
    const [stepX, stepY] = [(this.across / 65535) * this.ratio, (this.down / 65535) * this.ratio];
    const x0 = (this.width / 2 + this.left - this.across / 2) * this.ratio;
    const y0 = (this.height / 2 + this.top - this.down / 2) * this.ratio;
    const strength = faint ? 0.13 : 0.82;
    for (let i = 0; i < this.xs.length; i += 1) {
      if (look.faint && (look.faint[i] === 1) !== faint) continue;
      const style = styles[look.of[i]];
      const x = Math.round(this.xs[i] * stepX + x0);
      const y = Math.round(this.ys[i] * stepY + y0);
      const { reach, steps, covers } = style;
      if (x < reach || y < reach || x >= width - reach || y >= height - reach) continue;
      const [r, g, b] = style.rgb;
      const middle = 4 * (y * width + x);
      for (let j = 0; j < steps.length; j += 1) {
        const at = middle + steps[j];
        const alpha = covers[j] * strength;
        data[at] += (r - data[at]) * alpha;
        data[at + 1] += (g - data[at + 1]) * alpha;
        data[at + 2] += (b - data[at + 2]) * alpha;
      }
    }
  }

  // The nearest point to a place on the screen, or -1.
  nearest(x, y, reach = 14, skip = null) {
    this.cells ??= this.index();
    const px = ((x - this.width / 2 - this.left) / this.across + 0.5) * 65535;
    const py = ((y - this.height / 2 - this.top) / this.down + 0.5) * 65535;
    const far = (reach / this.down) * 65535;
    let best = -1;
    let least = far * far;
    for (let cy = Math.floor((py - far) / 1024); cy <= Math.floor((py + far) / 1024); cy += 1) {
      for (let cx = Math.floor((px - far) / 1024); cx <= Math.floor((px + far) / 1024); cx += 1) {
        for (const i of this.cells.get(cy * 64 + cx) ?? []) {
          const gap = (this.xs[i] - px) ** 2 + (this.ys[i] - py) ** 2;
          if (gap < least && !(skip && skip[i])) [best, least] = [i, gap];
        }
      }
    }
    return best;
  }

  index() {
    const cells = new Map();
    for (let i = 0; i < this.xs.length; i += 1) {
      const key = Math.floor(this.ys[i] / 1024) * 64 + Math.floor(this.xs[i] / 1024);
      if (!cells.has(key)) cells.set(key, []);
      cells.get(key).push(i);
    }
    return cells;
  }
}
