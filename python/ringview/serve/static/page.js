// The page: views on the left; of the one that is chosen its rows, a chart and how it is kept, as they move.

import { bars, line } from "./chart.js";
import { draw as drawRows, Rows, SHOWN } from "./rows.js";
import { follow, json, text } from "./server.js";
import { costs, draw as drawTree } from "./tree.js";
import { ago, bytes, count, isNumber, rate } from "./texts.js";

const by = (id) => document.getElementById(id);
// Views with more rows are not followed: their first rows are read now and then.
const MOST = 20000;
const EVERY = 0.2, POINTS = 600, WINDOW = 5000;

let views = [], chosen = null, skew = 0, status = null, seen = null;

function say(live) {
  by("state").textContent = live ? "live" : "reconnecting";
  by("state").className = `pill ${live ? "live" : "lost"}`;
}

function item(name, number, bad = false) {
  const li = document.createElement("li");
  if (bad) li.className = "bad";
  const what = document.createElement("span"), n = document.createElement("span");
  [what.className, n.className] = ["what", "n"];
  [what.textContent, n.textContent, what.title] = [name, number, name];
  li.append(what, n);
  return li;
}

function drawNames() {
  by("views").replaceChildren(...status.views.map(({ name, rows }) => {
    const li = document.createElement("li"), button = document.createElement("button");
    button.type = "button";
    button.append(...item(name, count(rows)).children);
    button.setAttribute("aria-current", String(name === chosen?.name));
    button.addEventListener("click", () => { location.hash = encodeURIComponent(name); });
    li.append(button);
    return li;
  }));
  by("tables").replaceChildren(...status.tables.filter((t) => !t.name.startsWith("ringview_")).map((t) => item(t.name, count(t.rows))));
  by("feeds-title").hidden = !status.feeds.length;
  by("feeds").replaceChildren(...status.feeds.map((feed) => {
    const li = item(feed.name, feed.problem ? "failing" : feed.finished ? "done" : `${count(feed.rows)} rows`, Boolean(feed.problem));
    if (feed.problem) li.title = feed.problem;
    return li;
  }));
}

class Shown {
  constructor(view) {
    this.name = view.name;
    this.key = view.key;
    this.rows = new Rows();
    this.sort = null;
    this.moves = [];
    this.at = null;
    this.drawn = performance.now();
    this.points = [];
    this.measure = null;
    this.asLine = false;
    this.isPicked = false;
    this.total = view.rows;
    this.ending = new AbortController();
    by("name").textContent = view.name;
    by("sql").textContent = (view.sql ?? "").trim();
    by("told").textContent = "";
    by("engine").textContent = "";
    for (const id of ["rows", "chart", "tree", "costs"]) by(id).replaceChildren();
    const path = `views/${encodeURIComponent(view.name)}`;
    if (view.rows > MOST) this.poll(path);
    else follow(`${path}/changes?every=${EVERY}`, this.ending.signal, (kind, data) => this.take(kind, data), say);
    this.explain(path);
  }

  take(kind, data) {
    if (kind === "end") return;
    const moved = this.rows.take(kind, data, this.key);
    if (moved === null) return;
    const now = performance.now();
    if (kind === "changes") {
      this.moves.push({ at: now, rows: moved });
      this.at = Date.now();
    }
    this.total = this.rows.size;
    this.choose();
    this.note(now);
    this.draw();
  }

  async poll(path) {
    while (!this.ending.signal.aborted) {
      try {
        const found = await json(`${path}?limit=${SHOWN}`);
        const columns = [...found.columns, { name: "\u0000", type: "int64" }];
        const rows = found.rows.map((row) => ({ ...row, "\u0000": 1 }));
        if (this.ending.signal.aborted) return;
        this.rows.take("snapshot", { columns, rows, more: false }, this.key);
        this.total = found.total;
        this.choose();
        this.draw();
        say(true);
      } catch { say(false); }
      await new Promise((done) => setTimeout(done, 2000));
    }
  }

  async explain(path) {
    while (!this.ending.signal.aborted) {
      try {
        const told = await json(`${path}/explain?format=json`);
        if (this.ending.signal.aborted) return;
        drawTree(by("tree"), told);
        costs(by("costs"), told);
        by("engine").textContent = told.engine?.name ? `by the engine ${told.engine.name}` : "";
        if (!by("told").textContent) by("told").textContent = await text(`${path}/explain`);
      } catch { /* the stream says what is lost */ }
      await new Promise((done) => setTimeout(done, 2000));
    }
  }

  choose() {
    const measures = this.rows.columns.filter((c) => isNumber(c.type) && !(this.rows.key ?? []).includes(c.name));
    const found = measures.length ? measures : this.rows.columns.filter((c) => isNumber(c.type));
    const select = by("measure");
    if ([...select.options].map((o) => o.value).join() !== found.map((c) => c.name).join()) {
      select.replaceChildren(...found.map((c) => new Option(c.name, c.name)));
    }
    document.querySelector(".chart").hidden = !found.length;
    if (!found.some((c) => c.name === this.measure?.name)) [this.measure, this.points] = [found[0] ?? null, []];
    if (this.measure) select.value = this.measure.name;
    // A view of one row has nothing to compare.
    if (!this.isPicked) this.asLine = !this.rows.key?.length && this.rows.size < 2;
    by("as-bars").setAttribute("aria-pressed", String(!this.asLine));
    by("as-line").setAttribute("aria-pressed", String(this.asLine));
  }

  note(now) {
    if (!this.measure) return;
    let value = 0;
    for (const entry of this.rows.byKey.values()) value += (Number(entry.row[this.measure.name]) || 0) * entry.count;
    this.points.push({ at: now, value });
    if (this.points.length > POINTS) this.points.splice(0, this.points.length - POINTS);
  }

  draw() {
    const since = this.drawn;
    this.drawn = performance.now();
    drawRows(by("rows"), this.rows, this.sort, since, (name) => {
      this.sort = { name, down: this.sort?.name === name && !this.sort.down };
      this.draw();
    });
    const shown = Math.min(SHOWN, this.rows.byKey.size);
    by("rows-note").textContent = this.total > shown ? `the first ${count(shown)} of ${count(this.total)}` : "";
    this.chart();
    this.tiles();
  }

  chart() {
    if (!this.measure) return;
    const labels = this.rows.columns.filter((c) => (this.rows.key ?? []).includes(c.name) || (this.rows.key === null && !isNumber(c.type)));
    if (this.asLine) line(by("chart"), [...this.points, { ...this.points.at(-1), at: performance.now() }].filter((p) => p.value !== undefined), this.measure);
    else bars(by("chart"), [...this.rows.byKey.values()], labels.slice(0, 3), this.measure);
  }

  tiles() {
    const now = performance.now();
    this.moves = this.moves.filter((move) => now - move.at < WINDOW);
    by("v-rows").textContent = count(this.total);
    by("v-rate").textContent = rate(this.moves.reduce((sum, move) => sum + move.rows, 0) / (WINDOW / 1000));
    by("v-fresh").textContent = this.at === null ? "none yet" : ago((Date.now() - this.at) / 1000);
    const size = status?.views.find((view) => view.name === this.name)?.bytes;
    if (size !== undefined) by("v-bytes").textContent = bytes(size);
  }
}

function show() {
  const wanted = decodeURIComponent(location.hash.slice(1));
  const view = views.find((each) => each.name === wanted) ?? views[0];
  by("empty").hidden = view !== undefined;
  by("shown").hidden = view === undefined;
  if (view === undefined || view.name === chosen?.name) return;
  chosen?.ending.abort();
  chosen = new Shown(view);
  if (status) drawNames();
}

async function look() {
  try {
    status = await json("status");
    skew = Date.now() / 1000 - status.now;
    const names = status.views.map((view) => view.name).join("\u0000");
    if (!names || names !== views.map((view) => view.name).join("\u0000")) {
      views = await json("views");
      show();
    }
    const now = performance.now();
    if (seen !== null) by("rate").textContent = rate(Math.max(0, (status.rows - seen.rows) / ((now - seen.at) / 1000)));
    seen = { rows: status.rows, at: now };
    by("file").textContent = status.file ? status.file.path : "in memory";
    by("bytes").textContent = bytes(status.bytes);
    by("readers").textContent = count(status.connections);
    if (!views.length) say(true);
    drawNames();
  } catch { say(false); }
  setTimeout(look, 1000);
}

function tick() {
  // Changes of the process itself are seen by the view that is followed alone.
  const at = Math.max(status?.changed ? status.changed + skew : 0, (chosen?.at ?? 0) / 1000);
  if (at) by("changed").textContent = ago(Date.now() / 1000 - at);
  chosen?.tiles();
  if (chosen?.asLine) chosen.chart();
}

by("measure").addEventListener("change", (event) => {
  chosen.measure = chosen.rows.columns.find((c) => c.name === event.target.value);
  chosen.points = [];
  chosen.note(performance.now());
  chosen.chart();
});
for (const [id, asLine] of [["as-bars", false], ["as-line", true]]) {
  by(id).addEventListener("click", () => {
    chosen.asLine = asLine;
    chosen.isPicked = true;
    chosen.choose();
    chosen.chart();
  });
}
addEventListener("hashchange", show);
addEventListener("resize", () => chosen?.chart());
setInterval(tick, 500);
look();
