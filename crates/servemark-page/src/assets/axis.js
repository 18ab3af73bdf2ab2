// Axes: scales with their ticks, and the part that is shown.

// A scale maps values to 0..1 between `low` and `high`.
function scale(kind, low, high) {
  if (kind === "log") {
    const from = Math.log(low), width = Math.log(high) - from || 1;
    // Zero, which has no place on this scale, lies beyond the left end.
    const least = low * 1e-3;
    return { kind, low, high, at: value => (Math.log(Math.max(value, least)) - from) / width, value: part => Math.exp(from + part * width) };
  }
  if (kind === "tail") {
    // Shares by their distance from 1, so that p90, p99 and p99.9 are equally far apart.
    const far = share => -Math.log10(Math.max(1 - share, 1e-9)), from = far(low), width = far(high) - from || 1;
    return { kind, low, high, at: value => (far(value) - from) / width, value: part => 1 - 10 ** -(from + part * width) };
  }
  const width = high - low || 1;
  return { kind, low, high, at: value => (value - low) / width, value: part => low + part * width };
}

function ticks(of, count) {
  if (of.kind === "log") return logTicks(of.low, of.high, count);
  if (of.kind === "tail") return [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999].filter(share => share >= of.low && share <= of.high);
  return evenTicks(of.low, of.high, count).list;
}

function evenTicks(low, high, count, steps = [1, 2, 5, 10]) {
  const rough = (high - low) / Math.max(1, count), power = 10 ** Math.floor(Math.log10(rough));
  const step = power * steps.find(digit => digit * power >= rough * 0.999), list = [];
  for (let place = Math.ceil(low / step - 1e-9); place * step <= high + step * 1e-9; place++) list.push(place * step);
  return { list, step };
}

function logTicks(low, high, count) {
  const decades = Math.log10(high / low);
  if (decades < 0.7) return evenTicks(low, high, count).list.filter(value => value > 0);
  const digits = decades > count ? [1] : decades * 3 > count * 1.5 ? [1, 3] : [1, 2, 5], list = [];
  const every = Math.max(1, Math.ceil(decades / count));
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    if (power % every) continue;
    for (const digit of digits) {
      const value = Number((digit * 10 ** power).toPrecision(3));
      if (value >= low * 0.999 && value <= high * 1.001) list.push(value);
    }
  }
  return list;
}

// Steps of a time axis beyond a minute.
const CLOCK_STEPS = [60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];

function timeTicks(low, high, count) {
  const rough = (high - low) / Math.max(1, count), step = CLOCK_STEPS.find(step => step >= rough);
  if (rough < 30 || !step) return evenTicks(low, high, count, [1, 2, 5, 10]);
  const list = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) list.push(value);
  return { list, step };
}

// An axis that several plots share: one view, one crosshair.
class Axis {
  constructor(low, high, { kind = "linear", name = "", write, bounds } = {}) {
    Object.assign(this, { full: [low, high], view: [low, high], kind, name, write, cross: NaN, plots: [], bounds });
  }
  get scale() { return scale(this.kind, this.view[0], this.view[1]); }
  get isWhole() { return this.view[0] === this.full[0] && this.view[1] === this.full[1]; }
  show(low, high) {
    const of = scale(this.kind, ...this.full);
    let [from, to] = [of.at(low), of.at(high)].sort((one, other) => one - other);
    const width = clamp(to - from, 1e-6, 1);
    from = clamp(from, 0, 1 - width);
    this.view = width === 1 ? this.full.slice() : [of.value(from), of.value(from + width)];
    this.redraw();
  }
  zoom(factor, around) {
    const of = this.scale, middle = Number.isFinite(around) ? clamp(of.at(around), 0, 1) : 0.5;
    this.show(of.value(middle - middle * factor), of.value(middle + (1 - middle) * factor));
  }
  move(part) {
    const of = this.scale, all = scale(this.kind, ...this.full);
    let [from, to] = [of.value(part), of.value(1 + part)].map(all.at);
    const out = from < 0 ? -from : to > 1 ? 1 - to : 0;
    this.show(all.value(from + out), all.value(to + out));
  }
  reset() { this.view = this.full.slice(); this.redraw(); }
  point(value) {
    this.cross = value;
    for (const plot of this.plots) plot.crossed();
    if (this.changed) this.changed();
  }
  redraw() {
    if (this.waits) return;
    this.waits = requestAnimationFrame(() => this.redrawNow());
  }
  redrawNow() {
    this.waits = 0;
    for (const plot of this.plots) plot.redraw();
    if (this.changed) this.changed();
  }
}
