// A view in a notebook: its first rows as a table, in which cells that moved are marked for a moment.

const NUMBER = /^(u?int|float|double|halffloat|decimal)/;

function cell(value, type) {
  if (value === null || value === undefined) return "NULL";
  if (typeof value === "object") return JSON.stringify(value);
  const text = String(value);
  if (!NUMBER.test(type) || !/^-?\d+(\.\d+)?$/.test(text)) return text;
  const [whole, digits] = text.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return digits === undefined ? grouped : `${grouped}.${digits}`;
}

function draw(el, shown, before) {
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  for (const { name, type } of shown.columns) {
    const th = document.createElement("th");
    th.scope = "col";
    th.textContent = name;
    th.title = type;
    if (NUMBER.test(type)) th.className = "num";
    head.append(th);
  }
  const body = table.createTBody();
  shown.rows.forEach((row, at) => {
    const tr = body.insertRow(), old = before?.rows[at];
    for (const { name, type } of shown.columns) {
      const td = tr.insertCell();
      td.textContent = cell(row[name], type);
      if (NUMBER.test(type)) td.classList.add("num");
      if (before && JSON.stringify(old?.[name]) !== JSON.stringify(row[name])) td.classList.add("moved");
    }
  });
  const note = document.createElement("div");
  note.className = "note";
  const more = shown.total > shown.rows.length ? `the first ${shown.rows.length} of ` : "";
  const when = new Date(shown.at * 1000).toLocaleTimeString();
  note.textContent = `${shown.name}: ${more}${shown.total.toLocaleString("en")} rows, ${shown.ended ?? `fresh at ${when}`}`;
  el.replaceChildren(table, note);
}

function render({ model, el }) {
  el.classList.add("ringview-live");
  let before = null;
  const show = () => {
    const shown = model.get("shown");
    draw(el, shown, before);
    before = shown;
  };
  model.on("change:shown", show);
  show();
  // Where Python's threads are not heard, it is asked.
  const asking = setInterval(() => model.get("shown").ended ?? model.send({ kind: "look" }), 1000 * model.get("every"));
  return () => {
    clearInterval(asking);
    model.off("change:shown", show);
  };
}

export default { render };
