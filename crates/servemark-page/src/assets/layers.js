// Layers of a plot: lines, bands, points, shaded times and the heat map.

// The values of a series by time: at equal steps, or at times of their own.
class Series {
  constructor({ from, step, times, times_factor: places = 1e-6, values, factor }) {
    this.values = unpack(values, factor);
    this.times = times && unpack(times, places);
    Object.assign(this, { from, step, length: this.values.length });
  }
  time(place) { return this.times ? this.times[place] : this.from + (place + 0.5) * this.step; }
  place(time) { return this.times ? below(this.times, time) : Math.floor((time - this.from) / this.step); }
  at(time) {
    const place = this.place(time);
    return place >= 0 && place < this.length ? this.values[place] : NaN;
  }
  // Returns the places that a view shows, with one more at each end.
  span(low, high) { return [Math.max(0, this.place(low) - 1), Math.min(this.length - 1, this.place(high) + 1)]; }
  extent(low, high, kind) {
    const [from, to] = this.span(low, high);
    let [least, most] = [Infinity, -Infinity];
    for (let place = from; place <= to; place++) {
      const value = this.values[place];
      if (Number.isNaN(value) || (kind === "log" && value <= 0)) continue;
      least = Math.min(least, value);
      most = Math.max(most, value);
    }
    return [least, most];
  }
}

const point = (x, y) => `${x.toFixed(1)} ${y.toFixed(1)}`;

function lineLayer({ key, hue, unit, series, dash }) {
  const values = new Series(series), isStep = series.look === "step";
  const path = frame => {
    const [from, to] = values.span(...frame.axis.view), half = values.times ? 0 : values.step / 2, parts = [];
    let pen = "M";
    for (let place = from; place <= to; place++) {
      const value = values.values[place];
      if (Number.isNaN(value) || (frame.y.kind === "log" && value <= 0)) { pen = "M"; continue; }
      const time = values.time(place), y = frame.py(value);
      // A value between two gaps is drawn as a short stroke.
      const isAlone = pen === "M" && !(place < to && !Number.isNaN(values.values[place + 1]));
      if (isStep || isAlone) parts.push(pen + point(frame.px(time - half), y), "L" + point(frame.px(time + half), y));
      else parts.push(pen + point(frame.px(time), y));
      pen = "L";
    }
    return parts.join("");
  };
  return {
    key, hue,
    draw: frame => [draw("path", { class: "line", d: path(frame), stroke: `var(--hue-${hue || 0})`, "stroke-dasharray": dash })],
    read: x => withUnit(values.at(x), unit),
    extent: (low, high, kind) => values.extent(low, high, kind),
  };
}

function bandLayer({ key, hue, unit, low, high, stacked }) {
  const [least, most] = [new Series(low), new Series(high)];
  const area = frame => {
    const [from, to] = least.span(...frame.axis.view), parts = [];
    const floor = frame.y.kind === "log" ? frame.y.low : -Infinity;
    let run = [];
    const close = () => {
      if (run.length > 1) {
        const half = least.times ? 0 : least.step / 2;
        const x = place => frame.px(least.time(place));
        const upper = run.map(place => point(x(place), frame.py(most.values[place])));
        const lower = run.slice().reverse().map(place => point(x(place), frame.py(Math.max(floor, least.values[place]))));
        parts.push("M" + upper.concat(lower).join("L") + "Z");
      }
      run = [];
    };
    for (let place = from; place <= to; place++) {
      if (Number.isNaN(least.values[place]) || Number.isNaN(most.values[place])) close(); else run.push(place);
    }
    close();
    return parts.join("");
  };
  return {
    key, hue, look: "area",
    draw: frame => [draw("path", { d: area(frame), fill: `var(--hue-${hue || 0})`, opacity: stacked ? 0.6 : 0.2 })],
    read: x => {
      const [from, to] = [least.at(x), most.at(x)];
      if (!Number.isFinite(from)) return "–";
      return stacked ? withUnit(to - from, unit) : `${number(from)} to ${withUnit(to, unit)}`;
    },
    extent: (low, high, kind) => [least.extent(low, high, kind)[0], most.extent(low, high, kind)[1]],
  };
}

function pointLayer({ key, hue, series }) {
  const values = new Series(series);
  const dots = frame => {
    const [from, to] = values.span(...frame.axis.view), radius = to - from > 1500 ? 1.1 : to - from > 300 ? 1.5 : 2, parts = [];
    for (let place = from; place <= to; place++) {
      const value = values.values[place];
      if (Number.isNaN(value) || (frame.y.kind === "log" && value <= 0)) continue;
      const [x, y] = [frame.px(values.time(place)), frame.py(value)];
      parts.push(`M${point(x - radius, y)}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0`);
    }
    return parts.join("");
  };
  return {
    key, hue, look: "dots",
    draw: frame => [draw("path", { d: dots(frame), fill: `var(--hue-${hue || 0})`, opacity: 0.45 })],
    extent: (low, high, kind) => values.extent(low, high, kind),
  };
}

// Named points with intervals in both directions.
function markerLayer({ key, hue, unit, points, joined }) {
  const color = `var(--hue-${hue || 0})`;
  const one = (frame, { x, y, name, x_low: left, x_high: right, y_low: low, y_high: high }) => {
    const [at, up] = [frame.px(x), frame.py(y)], { box } = frame, parts = [];
    const line = (from, to, along) => draw("path", { d: along ? `M${point(from, up)}H${to.toFixed(1)}` : `M${point(at, from)}V${to.toFixed(1)}`, stroke: color, "stroke-width": 1.2, opacity: 0.65 });
    if (left !== null) parts.push(line(frame.px(left), frame.px(right), true));
    if (low !== null) parts.push(line(frame.py(low), frame.py(high), false));
    parts.push(draw("circle", { cx: at.toFixed(1), cy: up.toFixed(1), r: 3.5, fill: color }));
    if (name) {
      const isLast = at > box.right - 60;
      parts.push(draw("text", { x: at + (isLast ? -7 : 7), y: up < box.top + 16 ? up + 14 : up - 6, "text-anchor": isLast ? "end" : "start" }, name));
    }
    return parts;
  };
  const inside = (low, high) => points.filter(({ x }) => x >= low && x <= high);
  return {
    key, hue, look: "dots",
    draw: frame => {
      const path = points.map(({ x, y }) => point(frame.px(x), frame.py(y))).join("L");
      const line = joined ? [draw("path", { class: "line", d: "M" + path, stroke: color })] : [];
      return line.concat(inside(...frame.axis.view).flatMap(marker => one(frame, marker)));
    },
    read: (value, plot) => {
      const far = marker => Math.abs(plot.frame.px(marker.x) - plot.frame.px(value));
      const near = points.reduce((best, marker) => !best || far(marker) < far(best) ? marker : best, undefined);
      return near && far(near) < 30 ? `${near.name || ""} ${withUnit(near.y, unit)}`.trim() : "–";
    },
    extent: (low, high) => inside(low, high).reduce(([least, most], { y, y_low: under, y_high: over }) => [Math.min(least, under === null ? y : under), Math.max(most, over === null ? y : over)], [Infinity, -Infinity]),
  };
}

// Times of failures, as ticks at the upper edge.
function failureLayer(packed) {
  const times = unpack(packed, 1e-6);
  const ticks = frame => {
    const { box } = frame, shown = times.filter(time => time >= frame.axis.view[0] && time <= frame.axis.view[1]);
    return Array.from(shown, time => `M${point(frame.px(time), box.top)}v7`).join("");
  };
  return { draw: frame => [draw("path", { d: ticks(frame), stroke: "var(--bad)", "stroke-width": 1.2 })] };
}

// Parts of the time axis: warm-up and settled.
function markLayer(marks) {
  return {
    draw: frame => marks.flatMap(({ kind, from, to }) => {
      const [left, right] = [frame.px(from), frame.px(to)], { box } = frame;
      if (kind !== "settled")
        return [draw("rect", { x: left, width: Math.max(0, right - left), y: box.top, height: box.bottom - box.top, fill: "var(--shade)" })];
      return [left, right].map(x => draw("line", { x1: x, x2: x, y1: box.top, y2: box.bottom, stroke: "var(--soft)", "stroke-dasharray": "1 3" }));
    }),
  };
}

const colours = name => style(name).split(/\s+/).map(text => [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16)));

// Returns a colour for each count: steps of the theme, by the logarithm of the count.
function shades(most) {
  const stops = colours("--heat"), top = Math.log1p(most);
  return count => {
    const place = top ? Math.log1p(count) / top * (stops.length - 1) : 0, at = Math.min(stops.length - 2, Math.floor(place)), part = place - at;
    return stops[at].map((value, index) => Math.round(value + (stops[at + 1][index] - value) * part));
  };
}

// Adds a canvas that fills the frame of a plot, sharp on any screen and in print.
function canvasOf(frame) {
  const { box, plot } = frame, ratio = document.documentElement.dataset.print ? 3 : Math.min(3, devicePixelRatio || 1);
  const canvas = make("canvas", { "aria-hidden": "true" });
  const [width, height] = [box.right - box.left, box.bottom - box.top];
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  const percent = (part, of) => 100 * part / of + "%";
  Object.assign(canvas.style, { left: percent(box.left, plot.width), top: percent(box.top, plot.height), width: percent(width, plot.width), height: percent(height, plot.height) });
  plot.stage.prepend(canvas);
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.translate(-box.left, -box.top);
  return pen;
}

// How often each latency occurred in each part of the run.
function heatLayer({ from, step, low, ratio, rows, counts: packed, unit }) {
  const counts = unpack(packed), columns = counts.length / rows, most = counts.reduce((one, other) => Math.max(one, other), 0);
  const edge = row => low * ratio ** row;
  const image = () => {
    const canvas = document.createElement("canvas"), color = shades(most);
    [canvas.width, canvas.height] = [columns, rows];
    const pen = canvas.getContext("2d"), pixels = pen.createImageData(columns, rows);
    for (let column = 0; column < columns; column++) for (let row = 0; row < rows; row++) {
      const count = counts[column * rows + row], at = ((rows - 1 - row) * columns + column) * 4;
      if (!count) continue;
      pixels.data.set(color(count), at);
      pixels.data[at + 3] = 255;
    }
    pen.putImageData(pixels, 0, 0);
    return canvas;
  };
  const cell = (x, plot) => {
    const column = Math.floor((x - from) / step), y = plot.frame.y;
    if (!(column >= 0 && column < columns)) return undefined;
    const value = y.value((plot.frame.box.bottom - plot.aim) / (plot.frame.box.bottom - plot.frame.box.top)), row = Math.floor(Math.log(value / low) / Math.log(ratio));
    if (!(plot.aim > 0 && row >= 0 && row < rows)) return undefined;
    const count = counts[column * rows + row];
    return `${number(edge(row))} to ${withUnit(edge(row + 1), unit)}: ${count.toLocaleString("en")} gaps in ${short(step)} s`;
  };
  return {
    tell: "Darker (in the dark theme: brighter) cells have more gaps; the scale of counts is logarithmic.",
    draw: frame => {
      const pen = canvasOf(frame), left = frame.px(from), right = frame.px(from + columns * step);
      pen.imageSmoothingEnabled = false;
      pen.drawImage(image(), left, frame.py(edge(rows)), right - left, frame.py(low) - frame.py(edge(rows)));
    },
    read: cell,
    extent: () => [low, edge(rows)],
  };
}
