// The timeline of requests: one bar each, in as few rows as fit.

function requestPlot(host, data, axis, marks) {
  const columns = {};
  for (const [name, packed] of Object.entries(data.columns)) columns[name] = unpack(packed, name.endsWith("_us") ? 1e-6 : 1);
  const { due_us: due, sent_us: sent, first_us: first, end_us: end, stall_us: stall, stalled_us: stalled } = columns;
  const count = due.length, lanes = rowsOf(due, end), rows = lanes.reduce((most, lane) => Math.max(most, lane + 1), 1);
  const height = clamp(rows * 9 + 30, 150, 460);
  let chosen = -1;
  const words = place => {
    const at = axis.write, of = name => columns[name][place];
    const span = seconds => Number.isFinite(seconds) ? withUnit(seconds * 1000, "ms") : "–";
    const parts = [`request ${of("index")}${of("turn") ? `, turn ${of("turn") + 1}` : ""}${of("phase") ? " (warm-up)" : ""}`, `due at ${at(due[place])}`];
    if (sent[place] - due[place] > 0.0005) parts.push(`waited ${span(sent[place] - due[place])}`);
    if (Number.isFinite(first[place])) parts.push(`TTFT ${span(first[place] - sent[place])}`);
    parts.push(`E2E ${span(end[place] - sent[place])}`, `${of("input").toLocaleString("en")} tokens in, ${of("output").toLocaleString("en")} out`);
    if (stalled[place] > 0) parts.push(`longest gap ${span(stalled[place])}`);
    if (of("failure")) parts.push(`failed: ${data.failures[of("failure") - 1]}`);
    return parts.join(" · ");
  };
  const paint = frame => {
    const pen = canvasOf(frame), { box } = frame, each = (box.bottom - box.top) / rows, thick = Math.max(0.5, each - (each > 4 ? 1.5 : each > 2 ? 0.5 : 0));
    const hues = ["--hue-5", "--hue-1", "--hue-0", "--bad", "--ink"].map(style), [wait, prefill, decode, failed, ink] = hues;
    const bar = (from, to, y, color, opacity) => {
      if (!(to >= frame.axis.view[0] && from <= frame.axis.view[1])) return;
      const left = Math.max(box.left, frame.px(from)), right = Math.min(box.right, frame.px(to));
      pen.fillStyle = color;
      pen.globalAlpha = opacity;
      pen.fillRect(left, y, Math.max(0.6, right - left), thick);
    };
    for (let place = 0; place < count; place++) {
      const y = box.top + lanes[place] * each, faint = columns.phase[place] ? 0.35 : 1;
      bar(due[place], sent[place], y, wait, 0.35 * faint);
      if (columns.failure[place]) { bar(sent[place], end[place], y, failed, 0.9 * faint); continue; }
      const start = Number.isFinite(first[place]) ? first[place] : end[place];
      bar(sent[place], start, y, prefill, 0.85 * faint);
      bar(start, end[place], y, decode, 0.7 * faint);
      if (stalled[place] > 0) bar(stall[place], stall[place] + stalled[place], y, ink, 0.5 * faint);
    }
    if (chosen >= 0) {
      pen.globalAlpha = 1;
      pen.strokeStyle = ink;
      pen.lineWidth = 1.5;
      const y = box.top + lanes[chosen] * each;
      pen.strokeRect(frame.px(due[chosen]) - 1, y - 1, frame.px(end[chosen]) - frame.px(due[chosen]) + 2, thick + 2);
    }
  };
  const near = (x, plot) => {
    const { box } = plot.frame, lane = (plot.aim - box.top) / (box.bottom - box.top) * rows - 0.5;
    let [best, least] = [-1, 3];
    for (let place = 0; place < count; place++) {
      if (!(due[place] <= x && end[place] >= x)) continue;
      const far = Math.abs(lanes[place] - lane);
      if (far < least) [best, least] = [place, far];
    }
    return best;
  };
  const layer = {
    tell: data.note,
    draw: frame => paint(frame),
    read: (x, plot) => {
      const place = plot.isKeyed ? chosen : near(x, plot);
      return place >= 0 ? words(place) : undefined;
    },
  };
  const legend = [["waits to be sent", 5], ["until the first token", 1], ["decodes", 0]].map(([key, hue]) => ({ key, hue, look: "area", draw: () => [] }));
  const plot = new Plot(host, {
    title: "Requests", unit: "one bar each", axis, layers: [markLayer(marks), layer, ...legend], height, tail: true,
    about: "Up and down choose a request.", y: { span: () => [rows, 0], ticks: () => [] },
  });
  const choose = step => {
    chosen = clamp(chosen + step, 0, count - 1);
    plot.isKeyed = true;
    axis.point(clamp((due[chosen] + end[chosen]) / 2, ...axis.view));
    plot.redraw();
  };
  plot.actions = { ArrowDown: () => choose(1), ArrowUp: () => choose(-1) };
  plot.stage.addEventListener("click", () => {
    chosen = near(axis.cross, plot);
    plot.redraw();
  });
  return plot;
}

// Returns a row for each request, so that those of one row do not overlap.
function rowsOf(due, end) {
  const free = [], rows = new Array(due.length);
  for (let place = 0; place < due.length; place++) {
    let row = free.findIndex(until => until <= due[place]);
    if (row < 0) row = free.length;
    free[row] = end[place];
    rows[place] = row;
  }
  return rows;
}
