// Values as people read them. A number that came as text stays whole: only its groups of digits are set apart.

const NUMBER = /^(u?int|float|double|halffloat|decimal)/;

export const isNumber = (type) => NUMBER.test(type);

export function cell(value, type) {
  if (value === null || value === undefined) return "NULL";
  if (typeof value === "object") return JSON.stringify(value);
  if (!isNumber(type)) return String(value);
  const text = String(value);
  if (!/^-?\d+(\.\d+)?$/.test(text)) return text;
  const [whole, digits] = text.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return digits === undefined ? grouped : `${grouped}.${type.startsWith("decimal") ? digits : digits.slice(0, 6)}`;
}

export const count = (n) => Math.round(n).toLocaleString("en");

export function short(n) {
  const size = Math.abs(n);
  if (size >= 1e15) return n.toExponential(1);
  for (const [unit, of] of [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
    if (size >= of) return `${+(n / of).toPrecision(3)}${unit}`;
  }
  return `${+n.toPrecision(4)}`;
}

export function bytes(n) {
  for (const [unit, of] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
    if (n >= of) return `${+(n / of).toPrecision(3)} ${unit}`;
  }
  return `${n} B`;
}

export function ago(seconds) {
  if (seconds < 1) return "now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  return `${Math.floor(seconds / 3600)} h ago`;
}

export function rate(n) {
  return n >= 10 || n === 0 ? count(n) : n.toFixed(1);
}
