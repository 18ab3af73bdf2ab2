// Documents, numbers and packed lists.

const make = (kind, attributes, ...children) => fill(document.createElement(kind), attributes, children);
const draw = (kind, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", kind), attributes, children);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter(child => child !== undefined));
  return node;
}

// Unpacks integers: base64 of variable-length differences; code 0 is a missing value.
function unpack(text, factor = 1) {
  const bytes = Uint8Array.from(atob(text), character => character.charCodeAt(0));
  const values = [];
  let last = 0;
  for (let at = 0; at < bytes.length;) {
    let code = 0, place = 1, byte;
    do {
      byte = bytes[at++];
      code += (byte & 127) * place;
      place *= 128;
    } while (byte & 128);
    if (code === 0) { values.push(NaN); continue; }
    code -= 1;
    last += code % 2 ? -(code + 1) / 2 : code / 2;
    values.push(last * factor);
  }
  return Float64Array.from(values);
}

// Writes a number with about four significant digits.
function number(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1000 || Math.abs(value - Math.round(value)) <= size * 1e-9) return (Math.round(value) || 0).toLocaleString("en");
  const digits = size >= 100 ? 1 : size >= 1 ? 2 : size >= 0.01 ? 3 : 5;
  return value.toFixed(digits);
}

// Writes a number as short as it is, for an axis.
const short = value => Number.isFinite(value) && Math.abs(value) < 1000 ? String(Number(value.toPrecision(6))) : number(value);

const withUnit = (value, unit) => Number.isFinite(value) && unit ? `${number(value)} ${unit}` : number(value);

// Writes a time of the run: seconds, or minutes and seconds in a long view.
function clock(seconds, step) {
  if (step < 60 && Math.abs(seconds) < 600) {
    const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step) - 1e-9)));
    return seconds.toFixed(digits).replace(/^-(0\.?0*)$/, "$1") + " s";
  }
  const sign = seconds < 0 ? "-" : "", whole = Math.abs(seconds);
  const two = number => String(Math.floor(number)).padStart(2, "0");
  const hours = Math.floor(whole / 3600), minutes = Math.floor(whole / 60) % 60;
  const rest = step < 1 ? (whole % 60).toFixed(Math.min(6, Math.ceil(-Math.log10(step)))).padStart(2, "0") : two(whole % 60);
  return sign + (hours ? `${hours}:${two(minutes)}:${rest}` : `${minutes}:${rest}`);
}

const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Returns the place of the last value that is not above `wanted` in an ascending list; -1 if there is none.
function below(list, wanted) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= wanted) low = middle + 1; else high = middle;
  }
  return low - 1;
}
