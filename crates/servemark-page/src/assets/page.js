// The page: theme, time axis with its tools, and every plot in its place.

const root = document.documentElement;
let redrawAll = [], seen;

function theme() {
  const button = document.getElementById("theme"), dark = matchMedia("(prefers-color-scheme: dark)");
  const store = () => { try { return localStorage; } catch { return {}; } };
  const kept = store().servemarkTheme;
  if (kept) root.dataset.theme = kept;
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
  const changed = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    redrawAll.forEach(redraw => redraw());
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.servemarkTheme = root.dataset.theme; } catch { /* The choice is not kept. */ }
    changed();
  });
  dark.addEventListener("change", changed);
  addEventListener("beforeprint", () => { root.dataset.print = root.dataset.theme || "none"; root.dataset.theme = "light"; redrawAll.forEach(redraw => redraw()); });
  addEventListener("afterprint", () => {
    if (root.dataset.print === "none") delete root.dataset.theme; else root.dataset.theme = root.dataset.print;
    delete root.dataset.print;
    redrawAll.forEach(redraw => redraw());
  });
  changed();
}

function timeAxis({ from, to }) {
  const axis = new Axis(from, to, { name: "time", write: seconds => clock(seconds, Math.min(1, (axis.view[1] - axis.view[0]) / 500)) });
  axis.isTime = true;
  redrawAll.push(() => axis.redrawNow());
  return axis;
}

function tools(host, axis) {
  const said = make("output", { "aria-live": "off" });
  const button = (name, label, act) => make("button", { type: "button", "aria-label": label, title: label, click: act }, name);
  const reset = button("Whole run", "Show the whole run", () => axis.reset());
  host.append(button("◀", "Earlier", () => axis.move(-0.5)), button("▶", "Later", () => axis.move(0.5)), button("+", "Zoom in", () => axis.zoom(0.5, axis.cross)),
    button("−", "Zoom out", () => axis.zoom(2, axis.cross)), reset, said,
    make("span", { class: "soft" }, "Drag to zoom, double click for the whole run; arrow keys, + and − work in a plot."));
  axis.changed = () => {
    reset.disabled = axis.isWhole;
    const view = axis.isWhole ? "" : `${axis.write(axis.view[0])} to ${axis.write(axis.view[1])}`;
    said.textContent = Number.isFinite(axis.cross) ? `at ${axis.write(axis.cross)}` : view;
  };
  axis.changed();
}

const LAYERS = { line: lineLayer, band: bandLayer, points: pointLayer, heat: heatLayer, markers: markerLayer };

function panels(all, axis, marks, failures) {
  for (const panel of all) {
    const host = document.getElementById("panel-" + panel.id);
    const layers = panel.layers.map(layer => LAYERS[layer.look]({ ...layer, unit: panel.unit }));
    const isHeat = panel.layers.some(layer => layer.look === "heat");
    if (failures) layers.unshift(failureLayer(failures));
    layers.unshift(markLayer(marks));
    const choices = panel.scales.length > 1 ? panel.scales.map(scale => [scale, NAMES[scale]]) : undefined;
    new Plot(host, { title: panel.title, unit: panel.unit, axis, layers, about: panel.about, height: panel.height, tail: isHeat, y: { kind: panel.scales[0], choices } });
  }
}

// Plots beside the time axis; those of one axis share its view and its crosshair.
function plots(all) {
  const axes = {};
  for (const plot of all) {
    const { key, low, high, kind, name, unit } = plot.axis;
    const axis = axes[key] ||= new Axis(low, high, { kind, name: `${name}${unit ? ` (${unit})` : ""}`, write: value => withUnit(value, unit) });
    const layers = plot.layers.map(layer => LAYERS[layer.look]({ ...layer, unit: plot.unit }));
    const choices = plot.scales.length > 1 ? plot.scales.map(scale => [scale, NAMES[scale]]) : undefined;
    const span = plot.span ? kind => kind === "tail" ? [0, Math.min(0.99999, plot.span[2])] : plot.span.slice(0, 2) : undefined;
    const write = plot.span ? percent : undefined;
    new Plot(document.getElementById("plot-" + plot.id), { title: plot.title, unit: plot.note || plot.unit, axis, layers, about: plot.about, height: plot.height, y: { kind: plot.scales[0], choices, span, write } });
  }
}

const NAMES = { linear: "even", log: "log", tail: "tail" };

function sections() {
  const links = [...document.querySelectorAll(".bar nav a")];
  seen?.disconnect();
  seen = new IntersectionObserver(entries => {
    for (const entry of entries) if (entry.isIntersecting)
      links.forEach(link => link.hash === "#" + entry.target.id ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current"));
  }, { rootMargin: "-20% 0px -70% 0px" });
  document.querySelectorAll("main > section").forEach(section => seen.observe(section));
}

// Draws the plots of the page's sections; returns the axis of time, if there is one.
function show(data) {
  redrawAll = [];
  sections();
  const axis = data.time && timeAxis(data.time);
  if (axis) {
    const { marks } = data.time;
    tools(document.getElementById("time-tools"), axis);
    panels(data.panels, axis, marks, data.failures);
    if (data.requests) requestPlot(document.getElementById("panel-requests"), data.requests, axis, marks);
  }
  if (data.plots) plots(data.plots);
  if (data.distributions && data.distributions.length) distributions(document.getElementById("distribution-plots"), data.distributions);
  return axis;
}

const readData = of => JSON.parse(of.getElementById("data").textContent);

theme();
const data = readData(document);
let time = show(data);
root.dataset.drawn = "true";
requestAnimationFrame(() => performance.mark("drawn"));
