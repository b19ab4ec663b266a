// The rows of a view, kept by its changes, and the table that shows the first of them.
// A batch is taken in as a whole, when its last event came, so that only states that were committed are shown.

import { cell, isNumber } from "./texts.js";

export const SHOWN = 100;

export class Rows {
  constructor() {
    this.columns = [];
    this.key = null;
    this.byKey = new Map();
    this.pending = [];
    this.isNew = false;
  }

  // Takes an event in; returns how many rows moved once a batch is whole, else null.
  take(kind, data, key) {
    if (kind === "snapshot") {
      // The last column is the multiplicity.
      this.columns = data.columns.slice(0, -1);
      this.times = data.columns.at(-1).name;
      const names = this.columns.map((column) => column.name);
      this.key = key !== null && key.every((name) => names.includes(name)) ? key : null;
      this.byKey = new Map();
      this.pending = [];
      this.isNew = true;
    }
    this.pending.push(...data.rows);
    if (data.more) return null;
    const moved = this.pending.length;
    this.apply(this.pending);
    this.pending = [];
    this.isNew = false;
    return moved;
  }

  apply(changes) {
    const now = performance.now();
    const left = new Map();
    const of = (row) => JSON.stringify(this.key === null ? this.columns.map((c) => row[c.name]) : this.key.map((n) => row[n]));
    for (const row of changes) {
      if (row[this.times] > 0) continue;
      const key = of(row), entry = this.byKey.get(key);
      if (entry === undefined) continue;
      entry.count += row[this.times];
      if (entry.count <= 0) left.set(key, entry);
    }
    for (const row of changes) {
      if (row[this.times] < 0) continue;
      const key = of(row), entry = this.byKey.get(key);
      if (entry === undefined) {
        this.byKey.set(key, { row, count: row[this.times], fresh: this.isNew ? 0 : now, moved: {} });
        continue;
      }
      left.delete(key);
      for (const { name } of this.columns) {
        if (JSON.stringify(entry.row[name]) !== JSON.stringify(row[name])) entry.moved[name] = now;
      }
      entry.row = row;
      entry.count = Math.max(0, entry.count) + row[this.times];
    }
    for (const key of left.keys()) this.byKey.delete(key);
  }

  get size() {
    let total = 0;
    for (const entry of this.byKey.values()) total += entry.count;
    return total;
  }
}

export function compare(a, b, type) {
  if (a === b) return 0;
  if (a === null) return 1;
  if (b === null) return -1;
  if (isNumber(type)) return Number(a) - Number(b);
  return a < b ? -1 : 1;
}

export function sorted(rows, sort) {
  const found = [...rows.byKey.values()];
  const column = rows.columns.find((each) => each.name === sort?.name) ?? rows.columns[0];
  if (column === undefined) return found;
  const sign = sort?.down ? -1 : 1;
  return found.sort((a, b) => sign * compare(a.row[column.name], b.row[column.name], column.type));
}

// Draws the table anew, cells that moved since the last drawing in another colour.
export function draw(table, rows, sort, since, onSort) {
  const head = document.createElement("thead");
  const line = head.insertRow();
  for (const { name, type } of rows.columns) {
    const th = document.createElement("th");
    th.scope = "col";
    th.className = isNumber(type) ? "num" : "";
    if (sort?.name === name) th.ariaSort = sort.down ? "descending" : "ascending";
    const button = document.createElement("button");
    button.type = "button";
    button.title = type;
    button.textContent = name;
    button.addEventListener("click", () => onSort(name));
    th.append(button);
    line.append(th);
  }
  const body = document.createElement("tbody");
  for (const entry of sorted(rows, sort).slice(0, SHOWN)) {
    const tr = body.insertRow();
    if (entry.fresh > since) tr.className = "fresh";
    for (const { name, type } of rows.columns) {
      const td = tr.insertCell(), value = entry.row[name];
      td.textContent = cell(value, type);
      td.title = td.textContent;
      if (isNumber(type)) td.classList.add("num");
      if (value === null) td.classList.add("null");
      if (entry.moved[name] > since) td.classList.add("flash");
    }
  }
  const focused = table.contains(document.activeElement) ? document.activeElement.textContent : null;
  table.replaceChildren(head, body);
  if (focused !== null) [...table.querySelectorAll("th button")].find((b) => b.textContent === focused)?.focus();
}
