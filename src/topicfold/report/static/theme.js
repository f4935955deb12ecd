// SPDX-License-Identifier: BSD-3-Clause
// Light and dark, the colours of topics, and what the browser remembers.

const palette = { light: [], dark: [] };
const RAMP = { light: ["#f3c948", "#b9a15a", "#7c7f83", "#44608f", "#142f63"],
  dark: ["#2e5fb3", "#5f83b4", "#93989a", "#cbb566", "#ffe06b"] };

export function recall(key) {
  try { return localStorage.getItem(key); } catch { return null; }
}

export function remember(key, value) {
  // A browser may refuse storage to files; the page works without.
  try { localStorage.setItem(key, value); } catch { /* not remembered */ }
}

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen) return chosen === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

export function usePalette({ light, dark }) {
  Object.assign(palette, { light, dark });
}

export function colors() {
  return palette[isDark() ? "dark" : "light"];
}

export function topicColor(topic) {
  return colors()[topic.color];
}

function luminance(color) {
  const [r, g, b] = rgb(color).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

const READABLE = 4.5;

function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

// The first colour that is read well on the paper; black and white are among them.
export function readable(inks, paper) {
  return inks.find((ink) => contrast(ink, paper) >= READABLE);
}

// A colour for letters: nearer to that of the text until it is read well on the paper.
export function inkOf(color, text, paper) {
  for (let share = 0; share < 1; share += 0.1) {
    const ink = mix(color, text, share);
    if (contrast(ink, paper) >= READABLE) return ink;
  }
  return text;
}

export function styleValue(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function rampColor(share) {
  const stops = RAMP[isDark() ? "dark" : "light"];
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  return mix(stops[low], stops[low + 1], at - low);
}

export function rgb(color) {
  return [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
}

export function mix(one, other, share) {
  const [a, b] = [rgb(one), rgb(other)];
  const parts = a.map((value, i) => Math.round(value + (b[i] - value) * share));
  return `#${parts.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

function set(theme) {
  document.documentElement.dataset.theme = theme;
  document.dispatchEvent(new Event("themechange"));
}

export function startTheme() {
  const kept = recall("topicfold-theme");
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change",
    () => document.dispatchEvent(new Event("themechange")));
  // Paper is light.
  let before;
  addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme;
    if (isDark()) set("light");
  });
  addEventListener("afterprint", () => {
    if (before) set(before);
    else if (document.documentElement.dataset.theme) {
      delete document.documentElement.dataset.theme;
      document.dispatchEvent(new Event("themechange"));
    }
  });
}

export function switchTheme() {
  set(isDark() ? "light" : "dark");
  remember("topicfold-theme", document.documentElement.dataset.theme);
}
