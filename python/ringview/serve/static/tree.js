// How a view is kept: its tree, the result at the top, tables at the leaves, with rows and bytes of each node.

import { el, fitted } from "./chart.js";
import { bytes, count } from "./texts.js";

const WIDE = 172, HIGH = 62, ACROSS = 14, DOWN = 30;

// Where each node is: leaves have a column each, a parent is in the middle of its children.
function layout(nodes) {
  const places = new Map();
  let leaves = 0;
  const put = (at, depth) => {
    const below = nodes[at].children;
    below.forEach((child) => put(child, depth + 1));
    const across = below.length ? below.map((child) => places.get(child).x) : [leaves++];
    places.set(at, { x: (across[0] + across.at(-1)) / 2, depth });
  };
  nodes.forEach((node, at) => node.parent === null && put(at, 0));
  return { places, leaves, depth: 1 + Math.max(...[...places.values()].map((p) => p.depth)) };
}

export function draw(place, told) {
  const nodes = told.nodes ?? [];
  if (!nodes.length) {
    place.replaceChildren();
    return;
  }
  const { places, leaves, depth } = layout(nodes);
  const width = leaves * (WIDE + ACROSS), height = depth * (HIGH + DOWN) - DOWN + 4;
  // Shrunk to the width that there is, as long as it can be read.
  const scale = Math.min(1, Math.max(0.72, (place.clientWidth - 2) / width));
  const svg = el("svg", { width: width * scale, height: height * scale, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `a tree of ${nodes.length} nodes: ${nodes.map((n) => `${n.label}, ${n.rows} rows`).join("; ")}` });
  const x = (at) => places.get(at).x * (WIDE + ACROSS) + ACROSS / 2;
  const y = (at) => places.get(at).depth * (HIGH + DOWN) + 2;
  const most = Math.max(1, ...nodes.map((node) => node.bytes ?? 0));
  nodes.forEach((node, at) => {
    if (node.parent === null) return;
    const [x0, y0, x1, y1] = [x(at) + WIDE / 2, y(at), x(node.parent) + WIDE / 2, y(node.parent) + HIGH];
    svg.append(el("path", { class: "edge", d: `M${x0},${y0}C${x0},${(y0 + y1) / 2} ${x1},${(y0 + y1) / 2} ${x1},${y1}` }));
  });
  nodes.forEach((node, at) => {
    const box = el("g", { transform: `translate(${x(at)},${y(at)})` });
    box.append(el("rect", { class: node.table === null ? "node" : "node leaf", width: WIDE, height: HIGH, rx: 9 }));
    const label = fitted(node.label, WIDE - 24, 600);
    const rows = node.rows === null || node.rows === undefined ? "" : `${count(node.rows)} ${node.rows === 1 ? "row" : "rows"}`;
    const held = node.stored ? bytes(node.bytes ?? 0) : "not stored";
    [[label, "label", 20], [`${rows}${rows && " · "}${held}`, "quiet", 37]].forEach(([said, kind, at]) => {
      const text = el("text", { class: kind, x: 12, y: at });
      text.textContent = said;
      box.append(text);
    });
    box.append(el("rect", { class: "grid", x: 12, y: 48, width: WIDE - 24, height: 4, rx: 2, fill: "var(--line)" }));
    box.append(el("rect", { class: "weight", x: 12, y: 48, width: Math.max(0, ((node.bytes ?? 0) / most) * (WIDE - 24)), height: 4, rx: 2 }));
    const title = el("title");
    title.textContent = `${node.label}: ${node.payload ?? ""}${node.because ? `; ${node.because}` : ""}`;
    box.append(title);
    svg.append(box);
  });
  place.replaceChildren(svg);
}

export function costs(place, told) {
  const made = (told.changes ?? []).map((change) => {
    const item = document.createElement("li"), cost = document.createElement("b");
    cost.textContent = change.is_static ? "static" : change.cost;
    item.className = change.constant || change.is_static ? "" : "dear";
    item.append(`a row of ${change.relation}: `, cost);
    return item;
  });
  place.replaceChildren(...made);
}
