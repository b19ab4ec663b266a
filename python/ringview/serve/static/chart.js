// A chart of one column: bars, a row each, or its sum over time. Drawn as SVG.

import { cell, short } from "./texts.js";

const NS = "http://www.w3.org/2000/svg";
const BARS = 12, ROW = 26, HEIGHT = 240;
const pen = document.createElement("canvas").getContext("2d");

// A text, cut where it is wider than there is room.
export function fitted(text, room, weight = 400) {
  pen.font = `${weight} 12px ${getComputedStyle(document.body).fontFamily}`;
  if (pen.measureText(text).width <= room) return text;
  let end = text.length;
  while (end > 1 && pen.measureText(`${text.slice(0, end)}…`).width > room) end -= 1;
  return `${text.slice(0, end)}…`;
}

function widest(texts) {
  pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return Math.max(0, ...texts.map((text) => pen.measureText(text).width));
}

export function el(name, attributes = {}, ...children) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function frame(place, width, height, label) {
  const svg = el("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  place.replaceChildren(svg);
  return svg;
}

export function bars(place, entries, labels, measure) {
  const width = Math.max(320, place.clientWidth);
  const found = entries
    .map((entry) => ({ value: Number(entry.row[measure.name]), entry }))
    .filter(({ value }) => Number.isFinite(value))
    .sort((a, b) => b.value - a.value);
  const shown = found.slice(0, BARS);
  const height = Math.max(2, shown.length) * ROW + 8;
  const svg = frame(place, width, height, `${measure.name} of the ${shown.length} rows that have most`);
  const named = shown.map(({ entry }) => labels.map((c) => cell(entry.row[c.name], c.type)).join(" · ") || "all rows");
  const left = Math.min(width * 0.42, widest(named) + 14);
  const most = Math.max(0, ...shown.map(({ value }) => value));
  const least = Math.min(0, ...shown.map(({ value }) => value));
  const right = 64;
  const x = (value) => left + ((value - least) / (most - least || 1)) * (width - left - right);
  shown.forEach(({ value, entry }, at) => {
    const y = at * ROW + 4;
    const name = el("text", { x: left - 10, y: y + 14, "text-anchor": "end" });
    name.textContent = fitted(named[at], left - 12);
    const bar = el("rect", { x: Math.min(x(0), x(value)), y, height: ROW - 8, width: Math.max(1, Math.abs(x(value) - x(0))), rx: 3 });
    const said = el("text", { x: x(Math.max(0, value)) + 8, y: y + 14, class: "quiet" });
    said.textContent = short(value);
    const title = el("title");
    title.textContent = `${named[at]}: ${cell(entry.row[measure.name], measure.type)}`;
    svg.append(name, el("g", { class: "mark" }, bar, title), said);
  });
  if (!shown.length) note(svg, "no numbers yet");
  return found.length - shown.length;
}

export function line(place, points, measure) {
  const width = Math.max(320, place.clientWidth);
  const svg = frame(place, width, HEIGHT, `the sum of ${measure.name} over time`);
  if (points.length < 2) return note(svg, "a line is drawn as changes come");
  const left = 62, right = 14, top = 12, bottom = 26;
  const from = points[0].at, until = Math.max(points.at(-1).at, from + 1000);
  let low = Math.min(...points.map((p) => p.value)), high = Math.max(...points.map((p) => p.value));
  const room = (high - low || Math.abs(high) || 1) * 0.08;
  // What is never below 0 is not drawn there.
  [low, high] = [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
  const x = (at) => left + ((at - from) / (until - from)) * (width - left - right);
  const y = (value) => top + (1 - (value - low) / (high - low)) * (HEIGHT - top - bottom);
  for (let step = 0; step <= 4; step += 1) {
    const value = low + ((high - low) * step) / 4;
    svg.append(el("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }));
    const text = el("text", { class: "quiet", x: left - 8, y: y(value) + 4, "text-anchor": "end" });
    text.textContent = short(value);
    svg.append(text);
  }
  for (const [at, anchor] of [[from, "start"], [until, "end"]]) {
    const text = el("text", { class: "quiet", x: x(at), y: HEIGHT - 6, "text-anchor": anchor });
    text.textContent = new Date(performance.timeOrigin + at).toLocaleTimeString();
    svg.append(text);
  }
  // A view keeps its value until it moves: steps, no slopes.
  let path = `M${x(points[0].at)},${y(points[0].value)}`;
  for (const point of points.slice(1)) path += `H${x(point.at)}V${y(point.value)}`;
  svg.append(el("path", { class: "area", d: `${path}V${HEIGHT - bottom}H${x(from)}Z` }), el("path", { class: "line", d: path }));
  return 0;
}

function note(svg, text) {
  const made = el("text", { class: "quiet", x: 12, y: 30 });
  made.textContent = text;
  svg.append(made);
  return 0;
}
