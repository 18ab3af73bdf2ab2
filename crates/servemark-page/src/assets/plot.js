// A plot: a frame with axes, a crosshair, keys, and layers that draw into it.

class Plot {
  // A layer has draw(frame), and may have key, read(x), extent(low, high) and table().
  constructor(host, { title, unit, axis, layers, y, height = 170, about, tail }) {
    Object.assign(this, { host, title, unit, axis, layers, y: { ...y }, height, hidden: new Set() });
    this.readout = make("p", { class: "readout" });
    this.keys = make("div", { class: "keys" });
    this.side = make("div", { class: "side" });
    this.stage = make("div", { class: "stage", tabindex: 0, role: "slider", "aria-label": title, "aria-valuemin": 0, "aria-valuemax": 1000 });
    const name = make("h3", {}, title);
    if (unit) name.append(make("small", {}, unit));
    host.append(make("header", {}, name, this.keys, this.side, tail ? this.readout : undefined), this.stage);
    if (about) this.stage.setAttribute("aria-description", about);
    this.addKeys();
    if (y && y.choices) this.addScales();
    if (layers.some(layer => layer.key && layer.read)) dataTable(this);
    axis.plots.push(this);
    handle(this);
    new ResizeObserver(() => this.width !== host.clientWidth && this.redraw()).observe(host);
    this.redraw();
  }
  addKeys() {
    for (const layer of this.layers) {
      if (!layer.key) continue;
      layer.output = make("b", {});
      const switched = event => {
        const isHidden = !this.hidden.delete(layer) && Boolean(this.hidden.add(layer));
        event.currentTarget.setAttribute("aria-pressed", String(!isHidden));
        this.redraw();
      };
      this.keys.append(make("button", { type: "button", "aria-pressed": "true", click: switched }, swatch(layer), layer.key, layer.output));
    }
  }
  addScales() {
    const choices = this.y.choices.map(([kind, name]) => {
      const choose = () => {
        this.y.kind = kind;
        buttons.forEach(button => button.setAttribute("aria-pressed", String(button.value === kind)));
        this.redraw();
      };
      return make("button", { type: "button", value: kind, "aria-pressed": String(this.y.kind === kind), click: choose }, name);
    });
    const buttons = choices;
    this.side.append(...choices);
  }
  get shown() { return this.layers.filter(layer => !this.hidden.has(layer)); }
  redraw() {
    const width = this.width = this.host.clientWidth;
    if (!width) return;
    const small = width < 520, box = { left: small ? 42 : 58, right: width - (small ? 6 : 12), top: 6, bottom: this.height - 22 };
    const x = this.axis.scale, y = this.vertical();
    const frame = this.frame = {
      box, x, y, plot: this, axis: this.axis,
      px: value => box.left + x.at(value) * (box.right - box.left),
      py: value => box.bottom - y.at(value) * (box.bottom - box.top),
    };
    const clip = "clip-" + this.host.id;
    const drawn = draw("g", { "clip-path": `url(#${clip})` });
    this.stage.querySelectorAll("canvas").forEach(canvas => canvas.remove());
    for (const layer of this.shown) drawn.append(...(layer.draw(frame) || []));
    this.cross = draw("line", { class: "cross", y1: box.top, y2: box.bottom, visibility: "hidden" });
    this.pick = draw("rect", { class: "pick", y: box.top, height: box.bottom - box.top, visibility: "hidden" });
    const clipped = draw("clipPath", { id: clip }, draw("rect", { x: box.left, y: box.top - 1, width: box.right - box.left, height: box.bottom - box.top + 2 }));
    const image = draw("svg", { viewBox: `0 0 ${width} ${this.height}`, "aria-hidden": "true" },
      draw("defs", {}, clipped), grid(frame), drawn, this.pick, this.cross);
    this.stage.querySelector("svg")?.remove();
    this.stage.append(image);
    this.crossed();
  }
  // Returns the vertical scale, which spans what the layers show in the view.
  vertical() {
    const kind = this.y.kind || "linear";
    if (this.y.span) return scale(kind, ...this.y.span(kind));
    let [low, high] = [Infinity, -Infinity];
    for (const layer of this.shown) {
      const [least, most] = layer.extent ? layer.extent(this.axis.view[0], this.axis.view[1], kind) : [Infinity, -Infinity];
      low = Math.min(low, least);
      high = Math.max(high, most);
    }
    if (!(high > -Infinity)) [low, high] = [kind === "log" ? 1 : 0, 10];
    if (kind === "log") {
      if (high / low < 1.5) [low, high] = [low / 1.3, high * 1.3];
      return scale("log", low / 1.08, high * 1.08);
    }
    if (kind === "near") {
      const room = (high - low || Math.abs(high) || 1) * 0.1;
      return scale("linear", low - room, high + room);
    }
    if (low >= 0 && high <= 0) return scale("linear", 0, 1);
    return scale("linear", low < 0 ? low * 1.05 : 0, high > 0 ? high * 1.05 : 0);
  }
  crossed() {
    const value = this.axis.cross, frame = this.frame;
    if (!frame) return;
    const isShown = value >= this.axis.view[0] && value <= this.axis.view[1];
    this.cross.setAttribute("visibility", isShown ? "visible" : "hidden");
    if (isShown) {
      this.cross.setAttribute("x1", frame.px(value));
      this.cross.setAttribute("x2", frame.px(value));
    }
    const parts = isShown ? [this.axis.write(value)] : [];
    for (const layer of this.layers) {
      const read = isShown && layer.read && !this.hidden.has(layer) ? layer.read(value, this) : undefined;
      if (layer.output) layer.output.textContent = read === undefined ? "" : read;
      if (layer.tell) this.readout.textContent = read || layer.tell;
      if (read) parts.push(layer.key ? `${layer.key} ${read}` : read);
    }
    this.stage.setAttribute("aria-valuenow", isShown ? Math.round(this.axis.scale.at(value) * 1000) : 0);
    this.stage.setAttribute("aria-valuetext", parts.join(", ") || "arrow keys move the crosshair, plus and minus zoom");
  }
}

function swatch(layer) {
  const color = `var(--hue-${layer.hue || 0})`, image = draw("svg", { viewBox: "0 0 14 10", "aria-hidden": "true" });
  if (layer.look === "area") image.append(draw("rect", { x: 0, y: 1, width: 14, height: 8, fill: color, opacity: 0.3 }));
  else if (layer.look === "dots") image.append(draw("circle", { cx: 7, cy: 5, r: 2.5, fill: color, opacity: 0.7 }));
  else image.append(draw("line", { x1: 0, x2: 14, y1: 5, y2: 5, stroke: color, "stroke-width": 2.2 }));
  return image;
}

function grid(frame) {
  const { box, x, y, axis, plot } = frame, lines = draw("g", {});
  const across = Math.max(2, Math.round((box.right - box.left) / 95)), up = Math.max(2, Math.round((box.bottom - box.top) / 32));
  for (const value of plot.y.ticks ? plot.y.ticks(y) : ticks(y, up)) {
    const place = frame.py(value);
    if (place < box.top - 1 || place > box.bottom + 1) continue;
    lines.append(draw("line", { x1: box.left, x2: box.right, y1: place, y2: place, stroke: "var(--grid)" }),
      draw("text", { x: box.left - 7, y: place + 4, "text-anchor": "end" }, plot.y.write ? plot.y.write(value) : short(value)));
  }
  const { list, step } = axis.kind === "linear" && axis.isTime ? timeTicks(x.low, x.high, across) : { list: ticks(x, across), step: 0 };
  for (const value of list) {
    const place = frame.px(value);
    const anchor = place > box.right - 16 ? "end" : place < box.left + 12 ? "start" : "middle";
    lines.append(draw("line", { x1: place, x2: place, y1: box.bottom, y2: box.bottom + 4, stroke: "var(--soft)" }),
      draw("text", { x: place, y: box.bottom + 16, "text-anchor": anchor }, step ? clock(value, step) : short(value)));
  }
  lines.append(draw("line", { x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom, stroke: "var(--soft)" }));
  return lines;
}

// Pointer, wheel and keys of a plot: crosshair, zoom, and the way back.
function handle(plot) {
  const { stage, axis } = plot;
  let from = null;
  const value = event => {
    const { box } = plot.frame, part = (event.clientX - stage.getBoundingClientRect().left - box.left) / (box.right - box.left);
    return axis.scale.value(clamp(part, 0, 1));
  };
  const aim = event => {
    plot.aim = event.clientY - stage.getBoundingClientRect().top;
    plot.isKeyed = axis.isKeyed = false;
    axis.point(value(event));
  };
  stage.addEventListener("pointerdown", event => {
    if (event.button) return;
    from = value(event);
    stage.setPointerCapture(event.pointerId);
    aim(event);
  });
  stage.addEventListener("pointermove", event => {
    aim(event);
    if (from === null) return;
    const [one, other] = [plot.frame.px(from), plot.frame.px(value(event))];
    plot.pick.setAttribute("visibility", "visible");
    plot.pick.setAttribute("x", Math.min(one, other));
    plot.pick.setAttribute("width", Math.abs(one - other));
  });
  stage.addEventListener("pointerup", event => {
    if (from === null) return;
    const [start, end] = [from, value(event)], is = Math.abs(plot.frame.px(start) - plot.frame.px(end)) > 8;
    from = null;
    plot.pick.setAttribute("visibility", "hidden");
    if (is) axis.show(start, end);
  });
  stage.addEventListener("pointercancel", () => { from = null; plot.pick.setAttribute("visibility", "hidden"); });
  stage.addEventListener("pointerleave", event => { if (event.pointerType === "mouse" && from === null && !axis.isKeyed) axis.point(NaN); });
  stage.addEventListener("dblclick", () => axis.reset());
  stage.addEventListener("wheel", event => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    axis.zoom(event.deltaY > 0 ? 1.25 : 0.8, value(event));
  }, { passive: false });
  stage.addEventListener("keydown", event => {
    const step = axis.scale, at = Number.isFinite(axis.cross) ? clamp(step.at(axis.cross), 0, 1) : 0.5;
    const to = part => axis.point(step.value(clamp(part, 0, 1)));
    const actions = {
      ArrowLeft: () => event.shiftKey ? axis.move(-0.2) : to(at - 0.005), ArrowRight: () => event.shiftKey ? axis.move(0.2) : to(at + 0.005),
      PageUp: () => to(at + 0.1), PageDown: () => to(at - 0.1), "+": () => axis.zoom(0.6, axis.cross), "=": () => axis.zoom(0.6, axis.cross),
      "-": () => axis.zoom(1 / 0.6, axis.cross), Home: () => axis.reset(), Escape: () => axis.reset(),
      ...(plot.actions || {}),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    axis.isKeyed = true;
    actions[event.key]();
  });
}

// The numbers of a plot as a table, made when it is first opened.
function dataTable(plot) {
  const pane = make("div", { class: "scroll", hidden: true, tabindex: 0 });
  const button = make("button", { type: "button", "aria-expanded": "false", click: () => {
    if (!pane.childElementCount) pane.append(numbersOf(plot));
    pane.hidden = !pane.hidden;
    button.setAttribute("aria-expanded", String(!pane.hidden));
  } }, "numbers");
  plot.side.append(button);
  plot.host.append(pane);
}

function numbersOf(plot) {
  const layers = plot.layers.filter(layer => layer.key && layer.read), rows = 40, all = plot.axis.scale;
  const head = make("tr", {}, make("th", { scope: "col" }, plot.axis.name), ...layers.map(layer => make("th", { scope: "col" }, layer.key)));
  const body = make("tbody", {});
  for (let row = 0; row <= rows; row++) {
    const value = all.value((row + 0.5) / (rows + 1));
    body.append(make("tr", {}, make("th", { scope: "row" }, plot.axis.write(value)), ...layers.map(layer => make("td", {}, layer.read(value, plot) || "–"))));
  }
  return make("table", {}, make("caption", {}, `${plot.title} (${plot.unit})`), make("thead", {}, head), body);
}
