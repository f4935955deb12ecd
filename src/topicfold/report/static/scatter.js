// SPDX-License-Identifier: BSD-3-Clause
// Points on a canvas, written as pixels: as quick without a graphics card. They are drawn
// with a margin around the frame, so that moving the map only moves the picture.

import { rgb } from "./theme.js";

export const MARKS = ["disc", "square", "diamond", "triangle", "cross"];
const CROWD = 30000;

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

function makeMask(mark, radius) {
  const reach = Math.ceil(radius * 1.25);
  const [dxs, dys, covers] = [[], [], []]; // covers: how many sixteenths
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
      covers.push(hits);
    }
  }
  return { reach, dxs, dys, covers: Uint8Array.from(covers) };
}

export class Scatter {
  constructor(canvas, xs, ys) {
    Object.assign(this, { canvas, xs, ys });
    this.context = canvas.getContext("2d");
    this.layer = document.createElement("canvas");
    this.stamp = document.createElement("canvas");
    this.drawn = null;
    this.scale = 1;
    this.left = 0;
    this.top = 0;
  }

  resize(width, height) {
    // Points are many pixels: with very many of them fine screens get coarser ones.
    this.ratio = Math.min(devicePixelRatio || 1, this.xs.length > CROWD ? 1.25 : 2);
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * this.ratio);
    this.canvas.height = Math.round(height * this.ratio);
    this.margin = Math.round(0.3 * Math.min(this.canvas.width, this.canvas.height));
    for (const canvas of [this.layer, this.stamp]) {
      canvas.width = this.canvas.width + 2 * this.margin;
      canvas.height = this.canvas.height + 2 * this.margin;
    }
    this.image = this.context.createImageData(this.layer.width, this.layer.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.drawn = null;
  }

  // The map is shown whole, in the middle, at zoom 1; a wide frame stretches it a little.
  get across() { return Math.min(this.width, 1.4 * this.height) * 0.94 * this.scale; }

  get down() { return Math.min(this.height, 1.4 * this.width) * 0.94 * this.scale; }

  place(x, y) {
    return [this.width / 2 + (x / 65535 - 0.5) * this.across + this.left,
      this.height / 2 + (y / 65535 - 0.5) * this.down + this.top];
  }

  // From a place on the screen to one of the map.
  back(x, y) {
    return [((x - this.width / 2 - this.left) / this.across + 0.5) * 65535,
      ((y - this.height / 2 - this.top) / this.down + 0.5) * 65535];
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

  get radius() { return this.radiusAt(this.scale); }

  radiusAt(scale) {
    const n = this.xs.length;
    const crowd = n > CROWD ? 1.1 : n > 5000 ? 1.8 : n > 800 ? 2.6 : 3.8;
    return Math.min(7, crowd * scale ** 0.45);
  }

  // look: {groups: [{color, mark}], of: group of every point, faint: Uint8Array or null};
  // below(context) draws under the points; `key` changes whenever one of these does. In a
  // hurry the last picture is stretched; false says so.
  draw(look, below, key, hurry) {
    const { drawn } = this;
    const stretch = drawn ? this.scale / drawn.scale : 0;
    const moved = drawn && Math.max(Math.abs(this.left - drawn.left), Math.abs(this.top - drawn.top)) * this.ratio <= this.margin;
    const usable = drawn?.key === key && (stretch === 1 ? moved : hurry && stretch > 0.4 && stretch < 2.5);
    if (!usable) {
      this.drawn = { key, scale: this.scale, left: this.left, top: this.top };
      this.render(look, below);
    }
    const { scale, left, top } = this.drawn;
    const by = this.scale / scale;
    const place = (size, now, then) => Math.round((size / 2 + now) * this.ratio - by * ((size / 2 + then) * this.ratio + this.margin));
    this.context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.context.drawImage(this.layer, place(this.width, this.left, left), place(this.height, this.top, top),
      by * this.layer.width, by * this.layer.height);
    return by === 1;
  }

  render(look, below) {
    const radius = this.radius * this.ratio;
    const styles = look.groups.map((group) => {
      const mask = makeMask(MARKS[group.mark % MARKS.length], radius);
      const [r, g, b] = rgb(group.color);
      return { r, g, b, reach: mask.reach, covers: mask.covers,
        steps: Int32Array.from(mask.dxs, (dx, i) => mask.dys[i] * this.layer.width + dx) };
    });
    this.pixels.fill(0);
    if (look.faint) this.points(look, styles, true);
    this.points(look, styles, false);
    this.stamp.getContext("2d").putImageData(this.image, 0, 0);
    const context = this.layer.getContext("2d");
    context.clearRect(0, 0, this.layer.width, this.layer.height);
    context.save();
    context.translate(this.margin, this.margin);
    below(context);
    context.restore();
    context.drawImage(this.stamp, 0, 0);
  }

  points(look, styles, faint) {
    const { pixels, xs, ys, margin } = this;
    const { width, height } = this.layer;
    const [stepX, stepY] = [(this.across / 65535) * this.ratio, (this.down / 65535) * this.ratio];
    const x0 = (this.width / 2 + this.left - this.across / 2) * this.ratio + margin + 0.5;
    const y0 = (this.height / 2 + this.top - this.down / 2) * this.ratio + margin + 0.5;
    const strength = faint ? 34 : 210;
    for (let i = 0; i < xs.length; i += 1) {
      if (look.faint && (look.faint[i] === 1) !== faint) continue;
      const { r, g, b, reach, steps, covers } = styles[look.of[i]];
      const x = Math.floor(xs[i] * stepX + x0);
      const y = Math.floor(ys[i] * stepY + y0);
      if (x < reach || y < reach || x >= width - reach || y >= height - reach) continue;
      const middle = y * width + x;
      for (let j = 0; j < steps.length; j += 1) {
        const at = middle + steps[j];
        const alpha = (covers[j] * strength) >> 4;
        const under = pixels[at];
        if (under === 0) {
          pixels[at] = (alpha << 24) | (b << 16) | (g << 8) | r;
          continue;
        }
        // What is below shows through as much as the point lets it.
        const total = alpha + (((under >>> 24) * (255 - alpha)) >> 8);
        const share = ((alpha << 8) / total) | 0;
        const red = (under & 255) + (((r - (under & 255)) * share) >> 8);
        const green = ((under >> 8) & 255) + (((g - ((under >> 8) & 255)) * share) >> 8);
        const blue = ((under >> 16) & 255) + (((b - ((under >> 16) & 255)) * share) >> 8);
        pixels[at] = (total << 24) | (blue << 16) | (green << 8) | red;
      }
    }
  }

  // The nearest point to a place on the screen, or -1.
  nearest(x, y, reach = 14, skip = null) {
    const { xs, ys } = this;
    const [px, py] = this.back(x, y);
    const [across, down] = [this.across / 65535, this.down / 65535];
    let best = -1;
    let least = reach * reach;
    for (let i = 0; i < xs.length; i += 1) {
      const gap = ((xs[i] - px) * across) ** 2 + ((ys[i] - py) * down) ** 2;
      if (gap < least && !(skip && skip[i])) [best, least] = [i, gap];
    }
    return best;
  }

  // The points inside a line on the screen, [[x, y], …].
  within(line) {
    const corners = line.map(([x, y]) => this.back(x, y));
    const [low, high] = [Math.min, Math.max].map((pick) => [0, 1].map((axis) =>
      corners.reduce((value, corner) => pick(value, corner[axis]), corners[0][axis])));
    const found = [];
    for (let i = 0; i < this.xs.length; i += 1) {
      const [x, y] = [this.xs[i], this.ys[i]];
      if (x < low[0] || x > high[0] || y < low[1] || y > high[1]) continue;
      let odd = false;
      for (let a = 0, b = corners.length - 1; a < corners.length; b = a, a += 1) {
        const [ax, ay] = corners[a];
        const [bx, by] = corners[b];
        if ((ay > y) !== (by > y) && x < ax + ((bx - ax) * (y - ay)) / (by - ay)) odd = !odd;
      }
      if (odd) found.push(i);
    }
    return found;
  }
}
