// Distributions: the share of values up to each value, with its bounds, and a histogram beside it.

function distribution(host, of, index) {
  const values = unpack(of.values, of.factor), shares = unpack(of.shares, 1e-6);
  const low = of.histogram.low, high = values[values.length - 1];
  const axis = new Axis(low / 1.02, Math.max(high * 1.02, low * 1.2), { kind: "log", name: `${of.name} (${of.unit})`, write: value => withUnit(value, of.unit) });
  const share = value => {
    const place = below(values, value);
    if (place < 0) return 0;
    if (place + 1 >= values.length) return 1;
    const width = values[place + 1] - values[place];
    return shares[place] + (width > 0 ? (value - values[place]) / width : 0) * (shares[place + 1] - shares[place]);
  };
  const curve = {
    key: "share up to here", hue: 0,
    draw: frame => {
      const parts = Array.from(values, (value, place) => point(frame.px(Math.max(value, low / 2)), frame.py(shares[place])));
      return [draw("path", { class: "line", d: "M" + parts.join("L"), stroke: "var(--hue-0)" })];
    },
    read: value => (share(value) * 100).toFixed(2) + " %",
  };
  const layers = [curve];
  if (of.bounds) layers.unshift(bounds(of));
  const [left, right] = [make("div", { class: "plot", id: `cdf-${index}` }), make("div", { class: "plot", id: `histogram-${index}` })];
  host.append(left, right);
  const span = kind => kind === "tail" ? [0, Math.min(0.99999, 1 - 0.3 / of.samples)] : [0, 1];
  new Plot(left, {
    title: `${of.name}: cumulative`, unit: "share of the values", axis, layers, height: 260,
    y: { kind: "linear", choices: [["linear", "even"], ["tail", "tail"]], span, write: percent },
  });
  const bars = histogram(of);
  new Plot(right, { title: `${of.name}: histogram`, unit: "values per bin", axis, layers: [bars, ...of.marks.map(mark)], height: 260, y: { kind: "linear", choices: [["linear", "even"], ["log", "log"]] } });
}

const percent = share => short(share * 100) + " %";

function bounds(of) {
  const [shares, low, high] = [unpack(of.bounds.shares, 1e-6), unpack(of.bounds.low, of.factor), unpack(of.bounds.high, of.factor)];
  return {
    key: "95 % bounds", hue: 0, look: "area",
    draw: frame => {
      const side = ends => Array.from(ends, (value, place) => point(frame.px(value), frame.py(shares[place])));
      return [draw("path", { d: "M" + side(low).concat(side(high).reverse()).join("L") + "Z", fill: "var(--hue-0)", opacity: 0.22 })];
    },
  };
}

function histogram(of) {
  const { low, ratio } = of.histogram, counts = unpack(of.histogram.counts);
  const edge = place => low * ratio ** place, most = counts.reduce((one, other) => Math.max(one, other), 0);
  return {
    key: "values", hue: 0, look: "area",
    draw: frame => [draw("path", {
      fill: "var(--hue-0)", opacity: 0.75,
      d: Array.from(counts, (count, place) => {
        if (!count) return "";
        const [left, right, top] = [frame.px(edge(place)), frame.px(edge(place + 1)), frame.py(count)], gap = right - left > 3 ? 0.5 : 0;
        return `M${point(left + gap, frame.box.bottom)}V${top.toFixed(1)}H${(right - gap).toFixed(1)}V${frame.box.bottom}Z`;
      }).join(""),
    })],
    read: value => {
      const place = Math.floor(Math.log(value / low) / Math.log(ratio));
      return place >= 0 && place < counts.length ? counts[place].toLocaleString("en") : "0";
    },
    extent: (from, to, kind) => kind === "log" ? [0.8, most] : [0, most],
  };
}

// A percentile as a vertical line with its name.
function mark({ name, value }, place) {
  return {
    draw: frame => {
      const x = frame.px(value), { box } = frame;
      if (x < box.left || x > box.right) return [];
      const anchor = x > box.right - 40 ? "end" : "start", aside = anchor === "end" ? -4 : 4;
      return [draw("line", { x1: x, x2: x, y1: box.top, y2: box.bottom, stroke: "var(--soft)", "stroke-dasharray": "4 3" }),
        draw("text", { x: x + aside, y: box.top + 11 + place * 13, "text-anchor": anchor }, name)];
    },
  };
}

// Tabs, of which one distribution is shown.
function distributions(host, all) {
  const tabs = make("div", { class: "tabs", role: "tablist", "aria-label": "Latency" });
  const panes = all.map(() => make("div", { class: "pair", role: "tabpanel" }));
  const buttons = all.map((of, place) => make("button", { type: "button", role: "tab", id: `tab-${place}`, click: () => choose(place) }, of.name));
  const choose = chosen => all.forEach((of, place) => {
    const is = place === chosen;
    buttons[place].setAttribute("aria-selected", String(is));
    buttons[place].tabIndex = is ? 0 : -1;
    panes[place].hidden = !is;
    if (is && !panes[place].childElementCount) distribution(panes[place], of, place);
  });
  tabs.addEventListener("keydown", event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], at = buttons.indexOf(document.activeElement);
    if (!step || at < 0) return;
    const next = (at + step + all.length) % all.length;
    choose(next);
    buttons[next].focus();
  });
  panes.forEach((pane, place) => pane.setAttribute("aria-labelledby", `tab-${place}`));
  tabs.append(...buttons);
  host.append(tabs, ...panes);
  choose(0);
}
