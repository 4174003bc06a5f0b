"use strict";

// Draws the page from the JSON in #data, whose members docs/explain.md lists.

window.addEventListener("error", event => {
  const box = document.createElement("p");
  box.id = "error";
  box.textContent = "This page could not be drawn: " + event.message;
  document.body.prepend(box);
});

const data = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
const state = { step: 0, open: new Set(), timeline: null, view: [0, 1] };

// ---------------------------------------------------------------- elements

function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (key === "onclick") node.addEventListener("click", value);
    else if (key === "tip") attachTip(node, value);
    else node.setAttribute(key, value);
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}

function shape(name, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes))
    if (key === "tip") attachTip(node, value);
    else node.setAttribute(key, value);
  node.append(...children);
  return node;
}

const tip = element("div", { id: "tip" });

function showTip(event, text) {
  tip.textContent = text;
  tip.style.display = "block";
  const width = tip.offsetWidth, height = tip.offsetHeight;
  tip.style.left = Math.min(event.clientX + 14, innerWidth - width - 8) + "px";
  tip.style.top = (event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18) + "px";
}

function hideTip() { tip.style.display = "none"; }

function attachTip(node, text) {
  node.addEventListener("mousemove", event => showTip(event, text));
  node.addEventListener("mouseleave", hideTip);
}

// ----------------------------------------------------------------- numbers

const digits = value => value.toFixed(value === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2);

function scaled(value, base, units) {
  let unit = 0;
  while (value >= 1000 && unit + 1 < units.length) { value /= base; ++unit; }
  return (unit === 0 ? Math.round(value) : digits(value)) + " " + units[unit];
}

const bytesText = bytes => scaled(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
const flopsText = flops => scaled(flops, 1000, ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP"]);
const timeText = us => us >= 1e6 ? digits(us / 1e6) + " s" : us >= 1000 ? digits(us / 1000) + " ms" : digits(us) + " µs";
const percentText = share => Math.round(100 * share) + " %";

const kinds = [
  ["linear", "linear", /^linear_/], ["gated", "gated linear", /^gated_linear/], ["attention", "attention", /^attention$/],
  ["norm", "norm", /norm$/], ["rope", "rotary embedding", /^rope/], ["copy", "copy", /^(copy|append_keys|append_values)$/],
  ["embedding", "embedding", /embedding/], ["element", "element-wise", /^(add|mul|scale|silu|gelu|relu|tanh|softmax|mask|gate$|matmul)/],
];

/// By the call that is not merely a norm in front of it.
function kindOf(phase) {
  const calls = [...phase.calls].reverse();
  for (const call of calls)
    for (const [kind, , pattern] of kinds)
      if (pattern.test(call)) return kind;
  return "other";
}

const colorOf = phase => `var(--k-${kindOf(phase)})`;
const boundColor = { memory: "var(--memory)", compute: "var(--compute)", synchronisation: "var(--events)" };

function segments() {
  const list = [];
  data.phases.forEach((phase, index) => {
    if (!list.length || list.at(-1).name !== phase.segment)
      list.push({ name: phase.segment, repeat: phase.repeat, phases: [] });
    list.at(-1).phases.push(index);
  });
  return list;
}

const sumBytes = bytes => Object.values(bytes).reduce((a, b) => a + b, 0);
const stateBytes = bytes => bytes.state_read + bytes.state_written;

// ------------------------------------------------------------------ header

function stepTitle(step) {
  return `${step.rows} row${step.rows === 1 ? "" : "s"}` + (data.memory.kept || data.sequences ? "" : ` after ${step.past}`);
}

function header() {
  const tabs = element("div", { class: "tabs" });
  data.steps.forEach((step, index) =>
    tabs.append(element("button", { class: index === state.step ? "on" : "",
                                    onclick: () => { state.step = index; state.timeline = null; state.view = [0, 1]; draw(); } },
                        step.name, element("small", {}, stepTitle(step)))));
  return element("header", {},
    element("div", {},
      element("h1", {}, data.model),
      element("p", { class: "lead" }, `${data.phases.length} phases · at most ${data.max_rows} rows a step ` +
        (data.sequences ? `of ${data.sequences} sequences, each of at most ${data.max_seq} positions` : `and ${data.max_seq} positions`))),
    tabs);
}

function card(name, value, text, hint) {
  return element("div", hint ? { class: "card", tip: hint } : { class: "card" },
    element("span", { class: "name" }, name), element("b", {}, value), element("span", {}, text));
}

function cards(step) {
  const total = key => step.phases.reduce((sum, phase) => sum + phase[key], 0);
  const bytes = step.phases.reduce((sum, phase) => sum + sumBytes(phase.bytes), 0);
  const weights = step.phases.reduce((sum, phase) => sum + phase.bytes.weights, 0);
  const known = step.phases.every(phase => phase.flops_known);
  const machine = data.machine;
  const box = element("div", { class: "cards" });
  if (step.measured_us !== null)
    box.append(card("measured", timeText(step.measured_us),
      `${digits(step.measured_us / step.predicted_us)} × the predicted time`, data.measured_from));
  box.append(
    card("predicted", timeText(step.predicted_us), "one phase after another",
      "For each phase the greater of memory and compute time, what uneven shares of the workers add, and events."),
    card("simulated", timeText(step.simulated_us), "with phases overlapping",
      "Tasks run in rank order on the machine's workers, each when its events have come."),
    card("bytes", bytesText(bytes), `${bytesText(weights)} of them weights`),
    card("arithmetic", known ? flopsText(total("flops")) : "unknown",
      known ? `${digits(total("flops") / bytes)} FLOP for each byte` : "some bodies are not known"),
    card("machine", `${machine.workers.value} workers`,
      `${digits(machine.read_bandwidth_gb_s.value)} GB/s · ${scaled(machine.fma_gflop_s.value, 1000, ["GFLOP/s", "TFLOP/s"])}${machine.tensor_bf16_gflop_s
        ? ` · BF16 ${scaled(machine.tensor_bf16_gflop_s.value, 1000, ["GFLOP/s", "TFLOP/s"])}` : ""}`,
      Object.entries(machine).map(([name, figure]) => `${name}: ${figure.value} (${figure.from})`).join("\n")));
  return box;
}

// ------------------------------------------------------------------- table

function reasonList(reasons) {
  return reasons.length === 1 ? element("div", {}, ...rich(reasons[0]))
    : element("ul", {}, ...reasons.map(reason => element("li", {}, ...rich(reason))));
}

/// `names` in code.
function rich(text) {
  return text.split("`").map((part, index) => index % 2 ? element("code", {}, part) : part);
}

function details(index, at) {
  const phase = data.phases[index];
  const number = (value, name) => element("span", {}, element("b", {}, value), " " + name);
  const numbers = element("div", { class: "numbers" },
    number(bytesText(at.bytes.weights), "weights"),
    number(bytesText(at.bytes.activations_read), "activations read"),
    number(bytesText(at.bytes.activations_written), "written"),
    stateBytes(at.bytes) ? number(bytesText(stateBytes(at.bytes)), "keys and values") : null,
    number(timeText(at.memory_us), "memory"), number(timeText(at.compute_us), "compute"),
    number(timeText(at.imbalance_us), "imbalance"), number(timeText(at.events_us), "events"),
    at.boundary_us ? number(timeText(at.boundary_us), "around cuBLASLt") : null,
    at.measured_us === null ? null : number(timeText(at.measured_waiting_us), "waited, all workers together"));
  const list = element("dl");
  const add = (name, body) => list.append(element("dt", {}, name), element("dd", {}, body));
  add("grid", element("span", {}, element("code", {}, "(" + phase.grid + ")"), " of ", element("code", {}, phase.calls.join(", "))));
  add("fusion", reasonList(phase.reasons.fusion));
  add("tile", reasonList(at.reasons.tile));
  if (phase.reasons.cublaslt.length) add("cuBLASLt", reasonList(phase.reasons.cublaslt));
  add("order", reasonList(phase.reasons.order));
  add("events", reasonList([...(at.event_words ? ["at this step " + at.event_words + (phase.repeat > 1 ? " in each iteration" : "")] : []),
                            ...phase.reasons.events]));
  return element("td", { class: "why", colspan: 9 }, numbers, list);
}

function bars(at, longest) {
  const base = Math.max(at.memory_us, at.compute_us);
  const part = (us, color, name) => element("div", { style: `width:${100 * us / longest}%;background:${color}`, tip: `${name}: ${timeText(us)}` });
  const stack = element("div", { class: "stack" },
    part(base, at.memory_us >= at.compute_us ? boundColor.memory : boundColor.compute, at.memory_us >= at.compute_us ? "memory" : "compute"),
    part(at.imbalance_us, "var(--imbalance)", "imbalance"), part(at.events_us, "var(--events)", "events"),
    part(at.boundary_us, "var(--events)", "around cuBLASLt"));
  if (at.measured_us === null) return [stack];
  return [stack, element("div", { class: "stack measured" }, part(at.measured_us, "var(--measured)", "measured"))];
}

function legend(entries) {
  return element("div", { class: "legend" }, ...entries.map(([name, color]) =>
    element("span", {}, element("i", { style: `background:${color}` }), name)));
}

function phaseTable(step) {
  const measured = step.measured_us !== null;
  const longest = Math.max(...step.phases.map(at => Math.max(at.predicted_us, at.measured_us || 0)), 1e-9);
  const body = element("tbody");
  for (const segment of segments()) {
    body.append(element("tr", { class: "segment" }, element("td", { colspan: 9 },
      segment.repeat > 1 ? `segment ${segment.name}, ×${segment.repeat}; sums of all iterations` : `segment ${segment.name}`)));
    for (const index of segment.phases) {
      const phase = data.phases[index], at = step.phases[index], open = state.open.has(index);
      const row = element("tr", { class: "phase" + (open ? " open" : ""), id: "phase-" + index, onclick: () => {
          if (!state.open.delete(index)) state.open.add(index);
          draw();
        } },
        element("td", {}, element("span", { class: "arrow" }, "▸"), phase.short_name),
        element("td", {}, String(at.tasks * phase.repeat)),
        element("td", {}, at.flops_known ? (at.flops ? flopsText(at.flops) : "–") : "unknown"),
        element("td", {}, bytesText(sumBytes(at.bytes))),
        element("td", {}, percentText(at.busy)),
        element("td", { class: "bar" }, ...bars(at, longest)),
        element("td", {}, element("span", { class: "chip", style: `background:${boundColor[at.bound]}` }, at.bound === "synchronisation" ? "sync" : at.bound)),
        element("td", {}, timeText(at.predicted_us)),
        element("td", {}, measured ? timeText(at.measured_us) + ` (${digits(at.measured_us / Math.max(at.predicted_us, 1e-9))}×)` : ""));
      body.append(row);
      if (open) body.append(element("tr", {}, details(index, at)));
    }
  }
  body.append(element("tr", { class: "total" }, element("td", { colspan: 7 }, "step"), element("td", {}, timeText(step.predicted_us)),
    element("td", {}, measured ? timeText(step.measured_us) + ` (${digits(step.measured_us / step.predicted_us)}×)` : "")));
  const head = element("tr", {}, ...["phase", "tasks", "arithmetic", "bytes", "busy", "", "bound", "predicted", measured ? "measured" : ""]
    .map(name => element("th", {}, name)));
  const all = data.phases.length === state.open.size;
  return element("section", { id: "phases" },
    element("h2", {}, "Where the time goes"),
    element("p", { class: "hint" }, "Each phase of the step, all iterations of a rolled stack together. Open one to read why it is as it is."),
    element("div", { class: "toolbar" },
      legend([["memory", boundColor.memory], ["compute", boundColor.compute], ["imbalance", "var(--imbalance)"], ["events", "var(--events)"],
              ...(measured ? [["measured", "var(--measured)"]] : [])]),
      element("span", { class: "gap" }),
      element("button", { onclick: () => { state.open = new Set(all ? [] : data.phases.keys()); draw(); } }, all ? "close all" : "open all")),
    element("div", { class: "scroll" }, element("table", {}, element("thead", {}, head), body)));
}

// ------------------------------------------------------------------- graph

/// "[i, 0 … 2]": half-open ranges, and one value where a range has no more.
function rangesText(wait) {
  if (!wait.low) return "";
  const highs = wait.high.split(", ");
  return "[" + wait.low.split(", ").map((low, d) => highs[d] === low + " + 1" ? low : `${low} … ${highs[d]}`).join(", ") + "]";
}

/// The boxes of words that a task of the phase waits for.
function waitTexts(phase, x, y, height) {
  const line = 14, first = y + (height - line * phase.waits.length) / 2 + line - 3;
  return phase.waits.map((wait, index) => {
    const text = shape("text", { x, y: first + index * line, class: "soft mono" });
    const box = `${data.phases[wait.phase].short_name}${wait.distance ? " (iteration before)" : ""} ${rangesText(wait)}`;
    text.textContent = box.length > 86 ? box.slice(0, 85) + "…" : box;
    attachTip(text, box);
    return text;
  });
}

/// Phases from top to bottom in rank order; waits as arcs to the right of them,
/// waits for the iteration before to the left.
function graph(step) {
  const left = 96, width = 372, space = 11, arcs = 118, right = 664;
  const heights = data.phases.map(phase => Math.max(42, 4 + 14 * phase.waits.length));
  const places = [], frames = [];
  let y = 14;
  for (const segment of segments()) {
    const top = y;
    y += 30;
    for (const index of segment.phases) {
      places[index] = y;
      y += heights[index] + space;
    }
    frames.push({ segment, top, bottom: y });
    y += 16;
  }
  const svg = shape("svg", { viewBox: `0 0 ${left + width + right} ${y}`, width: left + width + right });
  svg.append(shape("defs", {}, shape("marker", { id: "tip-of-arc", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" },
    shape("path", { d: "M0 0L8 4L0 8z", fill: "context-stroke" }))));
  for (const { segment, top, bottom } of frames) {
    svg.append(shape("rect", { class: "frame", x: left - 22, y: top, width: width + 44, height: bottom - top, rx: 10 }));
    const title = shape("text", { x: left - 8, y: top + 20, class: "soft" });
    title.textContent = segment.name + (segment.repeat > 1 ? `  ×${segment.repeat}` : "");
    svg.append(title);
  }

  const heading = shape("text", { x: left + width + arcs, y: 34, class: "faint" });
  heading.textContent = "a task waits for the words";
  svg.append(heading);

  const edges = [];
  data.phases.forEach((phase, index) => phase.waits.forEach(wait => edges.push({ from: wait.phase, to: index, wait })));
  const lanes = edge => Math.abs(edge.to - edge.from);
  const drawn = edges.map(edge => {
    const { from, to, wait } = edge, carried = wait.distance > 0;
    const across = data.phases[from].segment !== data.phases[to].segment;
    const depth = 20 + Math.min(lanes(edge), 10) * (carried ? 8 : 12);
    const x = carried ? left : left + width, out = carried ? x - depth : x + depth;
    const start = places[from] + heights[from] * .68, end = places[to] + heights[to] * .32;
    const path = `M${x} ${start}C${out} ${start} ${out} ${end} ${x} ${end}`;
    const line = shape("path", { class: "edge" + (carried ? " carried" : across ? " across" : ""), d: path, "marker-end": "url(#tip-of-arc)" });
    const event = data.phases[from].event;
    const text = `${data.phases[to].short_name} waits for ${data.phases[from].short_name}` + (carried ? " of the iteration before" : "") +
      `\nwords ${rangesText(wait)}\nof ${event.name}[${event.shape}], ${event.count} notification${event.count === "1" ? "" : "s"} each`;
    const hit = shape("path", { class: "catch", d: path, tip: text });
    hit.addEventListener("mouseenter", () => light([edge]));
    hit.addEventListener("mouseleave", () => light([]));
    edge.line = line;
    svg.append(line);
    return hit;
  });
  const nodes = data.phases.map((phase, index) => {
    const at = step.phases[index], y = places[index], height = heights[index];
    const name = shape("text", { x: left + 14, y: y + 18 });
    name.textContent = phase.short_name.length > 34 ? phase.short_name.slice(0, 33) + "…" : phase.short_name;
    const grid = shape("text", { x: left + 14, y: y + 34, class: "faint" });
    grid.textContent = `(${phase.grid})  ${at.tasks} task${at.tasks === 1 ? "" : "s"}`;
    const words = shape("text", { x: left + width - 12, y: y + 18, class: "soft", "text-anchor": "end" });
    words.textContent = phase.event && phase.event.index ? `[${phase.event.index}]` : "";
    const counts = shape("text", { x: left + width - 12, y: y + 34, class: "faint", "text-anchor": "end" });
    counts.textContent = at.event_words.replace(/ of (\d+) notifications?/, " × $1");
    const node = shape("g", { class: "node", "data-phase": index, tip: [`${phase.name}: ${phase.calls.join(", ")}`, ...phase.reasons.events].join("\n") },
      shape("rect", { class: "box", x: left, y, width, height, rx: 6 }),
      shape("rect", { x: left, y, width: 5, height, rx: 2, style: `fill:${colorOf(phase)};stroke:none` }), name, grid, words, counts);
    node.addEventListener("mouseenter", () => light(edges.filter(edge => edge.from === index || edge.to === index)));
    node.addEventListener("mouseleave", () => light([]));
    node.addEventListener("click", () => {
      state.open.add(index);
      draw();
      document.getElementById("phase-" + index).scrollIntoView({ behavior: "smooth", block: "center" });
    });
    svg.append(node, ...waitTexts(phase, left + width + arcs, y, height));
    return node;
  });
  svg.append(...drawn);

  function light(lit) {
    svg.classList.toggle("dim", lit.length > 0);
    const touched = new Set(lit.flatMap(edge => [edge.from, edge.to]));
    for (const edge of edges) edge.line.classList.toggle("lit", lit.includes(edge));
    nodes.forEach((node, index) => node.classList.toggle("lit", touched.has(index)));
  }

  return element("section", { id: "graph" },
    element("h2", {}, "Task graph"),
    element("p", { class: "hint" }, "Phases in rank order. A phase counts up the words of its event tensor: at its right stand the word's index, with i and j for the task's coordinates, and how many words there are × how often each is counted up. " +
      "An arc leads to who waits for them; beside that phase stand the words, as half-open ranges. Arcs on the left are waits for the iteration before, blue ones come from another segment."),
    element("div", { class: "scroll" }, svg));
}

// ---------------------------------------------------------------- timeline

function resolved(color) {
  const probe = element("i", { style: `color:${color}` });
  page.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

function timeline(step) {
  const kind = state.timeline || (step.measured ? "measured" : "simulated");
  const shown = step[kind];
  const canvas = element("canvas", { id: "workers" });
  const rowHeight = shown.workers > 24 ? 12 : shown.workers > 4 ? 22 : 34, axis = 24, label = 30;
  const height = shown.workers * rowHeight + axis;
  const colors = data.phases.map(phase => resolved(colorOf(phase)));
  const ink = { soft: resolved("var(--soft)"), line: resolved("var(--line)"), track: resolved("var(--track)"), faint: resolved("var(--faint)") };
  const spanOf = () => (state.view[1] - state.view[0]) * shown.us;
  const toX = (us, width) => label + (us - state.view[0] * shown.us) / spanOf() * (width - label);

  function paint() {
    const width = canvas.clientWidth || 1150, ratio = devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.height = height + "px";
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.font = "11px system-ui, sans-serif";
    for (let worker = 0; worker < shown.workers; ++worker) {
      context.fillStyle = ink.track;
      context.fillRect(label, worker * rowHeight + 1, width - label, rowHeight - 3);
      context.fillStyle = ink.faint;
      if (rowHeight > 14 || worker % 4 === 0) context.fillText(String(worker), 6, worker * rowHeight + rowHeight / 2 + 3);
    }
    context.save();
    context.beginPath();
    context.rect(label, 0, width - label, height);
    context.clip();
    for (const [worker, phase, , begin, ready, end] of shown.runs) {
      const x = toX(ready, width), to = toX(end, width);
      if (to < label || x > width) continue;
      const y = worker * rowHeight + 1;
      if (ready - begin > spanOf() / 2000) {
        context.fillStyle = ink.faint;
        const from = toX(begin, width);
        context.fillRect(from, y + rowHeight / 2 - 2, x - from, 1);
      }
      context.fillStyle = colors[phase];
      context.fillRect(x, y, Math.max(.6, to - x - (to - x > 4 ? .8 : 0)), rowHeight - 3);
    }
    const step = niceStep(spanOf() / 8);
    context.fillStyle = ink.soft;
    for (let us = Math.ceil(state.view[0] * shown.us / step) * step; us <= state.view[1] * shown.us + 1e-9; us += step) {
      const x = toX(us, width);
      context.globalAlpha = .5;
      context.fillRect(x, 0, .5, height - axis + 5);
      context.globalAlpha = 1;
      if (x < width - 40) context.fillText(timeText(us), x + 3, height - 7);
    }
    context.restore();
  }

  function niceStep(least) {
    const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-6)));
    return [1, 2, 5, 10].map(factor => factor * power).find(step => step >= least);
  }

  function setView(from, to) {
    const span = Math.min(1, Math.max(to - from, 1e-5));
    from = Math.max(0, Math.min(1 - span, from));
    state.view = [from, from + span];
    paint();
  }
  function zoom(factor, center) {
    const at = state.view[0] + center * (state.view[1] - state.view[0]);
    setView(at - (at - state.view[0]) * factor, at + (state.view[1] - at) * factor);
  }

  const centerOf = event => Math.max(0, Math.min(1, (event.offsetX - label) / (canvas.clientWidth - label)));
  canvas.addEventListener("wheel", event => {
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : .8, centerOf(event));
  }, { passive: false });
  let dragged = null;
  canvas.addEventListener("mousedown", event => { dragged = { x: event.clientX, view: [...state.view] }; });
  window.addEventListener("mouseup", () => { dragged = null; });
  canvas.addEventListener("mousemove", event => {
    if (dragged) {
      const moved = (dragged.x - event.clientX) / (canvas.clientWidth - label) * (dragged.view[1] - dragged.view[0]);
      hideTip();
      return setView(dragged.view[0] + moved, dragged.view[1] + moved);
    }
    const worker = Math.floor(event.offsetY / rowHeight);
    const us = state.view[0] * shown.us + centerOf(event) * spanOf(), slack = spanOf() / canvas.clientWidth;
    const run = shown.runs.find(run => run[0] === worker && run[3] - slack <= us && us <= run[5] + slack);
    if (!run) return hideTip();
    const [, index, iteration, begin, ready, end, tasks] = run, phase = data.phases[index];
    showTip(event, `${phase.short_name}${phase.repeat > 1 ? ", iteration " + iteration : ""}\nworker ${worker}, ${tasks} task${tasks > 1 ? "s" : ""}\n` +
      `${timeText(end - ready)} from ${timeText(ready)} on` + (ready - begin > .01 ? `, after waiting ${timeText(ready - begin)}` : ""));
  });
  canvas.addEventListener("mouseleave", hideTip);
  requestAnimationFrame(paint);
  new ResizeObserver(paint).observe(canvas);

  // One iteration in the middle of the longest stack.
  function middle() {
    const stack = segments().reduce((a, b) => b.repeat > a.repeat ? b : a);
    const wanted = Math.floor(stack.repeat / 2);
    const runs = shown.runs.filter(run => run[2] === wanted && stack.phases.includes(run[1]));
    if (!runs.length) return;
    const from = Math.min(...runs.map(run => run[4])), to = Math.max(...runs.map(run => run[5]));
    const margin = (to - from) * .06;
    setView((from - margin) / shown.us, (to + margin) / shown.us);
  }

  const button = (text, action, on) => element("button", { class: on ? "on" : "", onclick: action }, text);
  const choose = name => button(name, () => { state.timeline = name; state.view = [0, 1]; draw(); }, name === kind);
  const used = new Set(data.phases.map(kindOf));
  return element("section", { id: "timeline" },
    element("h2", {}, kind === "measured" ? "Workers, as measured" : "Workers, as simulated"),
    element("p", { class: "hint" }, (kind === "measured" ? `From ${data.measured_from}. ` : "Each worker runs its share in rank order, each task when its events have come, at its share of the machine. ") +
      "A thin line is a wait. Wheel to zoom, drag to move."),
    element("div", { class: "toolbar" },
      step.measured ? choose("measured") : null, step.measured ? choose("simulated") : null,
      button("+", () => zoom(.5, .5)), button("−", () => zoom(2, .5)), button("all", () => setView(0, 1)),
      segments().some(segment => segment.repeat > 1) ? button("one iteration", middle) : null,
      element("span", { class: "gap" }),
      element("span", { class: "lead" }, `${timeText(shown.us)} on ${shown.workers} workers`)),
    legend([...kinds.map(([kind, name]) => [kind, name]), ["other", "other"]].filter(([kind]) => used.has(kind))
      .map(([kind, name]) => [name, `var(--k-${kind})`])),
    canvas);
}

// ------------------------------------------------------------------ memory

/// Live bytes of each phase above, each buffer's lifetime below, by storage.
function memory(step) {
  const count = data.phases.length, label = 250, cell = Math.max(30, Math.min(64, 860 / count));
  const chart = 110, row = 19, top = 14, names = 128;
  const storages = new Map();
  for (const buffer of step.buffers)
    storages.set(buffer.storage, [...(storages.get(buffer.storage) || []), buffer]);
  const live = data.phases.map((phase, index) => step.buffers.reduce((sum, buffer) => sum + (buffer.phases.includes(index) ? buffer.bytes : 0), 0));
  const most = Math.max(...live, 1);
  const width = label + count * cell + 20;
  const rows = step.buffers.length + storages.size * .35;
  const height = top + chart + 26 + rows * row + names;
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, width });
  const write = (x, y, text, attributes = {}) => {
    const node = shape("text", { x, y, ...attributes });
    node.textContent = text;
    svg.append(node);
    return node;
  };
  for (const share of [0, .5, 1]) {
    const y = top + chart * (1 - share);
    svg.append(shape("line", { class: "grid", x1: label, x2: label + count * cell, y1: y, y2: y }));
    write(label - 10, y + 4, bytesText(most * share), { class: "faint", "text-anchor": "end" });
  }
  live.forEach((bytes, index) => {
    const size = chart * bytes / most;
    svg.append(shape("rect", { class: "area", x: label + index * cell + 1, y: top + chart - size, width: cell - 2, height: size, rx: 2,
      tip: `${data.phases[index].short_name}\n${bytesText(bytes)} live:\n` +
        step.buffers.filter(buffer => buffer.phases.includes(index)).map(buffer => `@${buffer.buffer} ${bytesText(buffer.bytes)}`).join("\n") }));
  });
  write(16, top + 12, "live activations", { class: "soft" });
  let y = top + chart + 26;
  let shade = 0;
  for (const [storage, buffers] of storages) {
    for (const buffer of buffers) {
      const name = buffer.buffer.replace(/^layers\./, "");
      write(label - 10, y + 13, (name.length > 34 ? name.slice(0, 33) + "…" : name), { class: "soft", "text-anchor": "end" });
      svg.append(shape("line", { class: "grid", x1: label, x2: label + count * cell, y1: y + row / 2, y2: y + row / 2 }));
      for (const index of buffer.phases)
        svg.append(shape("rect", { class: "life", x: label + index * cell, y: y + 3, width: cell, height: row - 6,
          style: `fill:var(--k-${["linear", "gated", "attention", "rope", "embedding", "element", "norm", "copy"][shade % 8]})`,
          tip: `@${buffer.buffer}, ${bytesText(buffer.bytes)}\nin ${storage}` + (buffers.length > 1 ? `, shared by ${buffers.length} buffers` : "") }));
      y += row;
    }
    ++shade;
    y += row * .35;
  }
  data.phases.forEach((phase, index) => {
    const x = label + (index + .5) * cell;
    const name = phase.short_name;
    write(x, y + 8, name.length > 24 ? name.slice(0, 23) + "…" : name, { class: "faint", "text-anchor": "end", transform: `rotate(-52 ${x} ${y + 8})` });
  });
  const sum = data.memory;
  return element("section", { id: "memory" },
    element("h2", {}, "Memory"),
    element("p", { class: "hint" }, (sum.kept ? `${bytesText(sum.kept)} for weights, gradients and the optimizer's states, `
      : `${bytesText(sum.weights)} of weights, ${bytesText(sum.states)} for keys and values of ${data.sequences ? "a page" : `${data.max_seq} positions`}, `) +
      (sum.exchanges ? `${bytesText(sum.exchanges)} for exchanges, ` : "") +
      `${bytesText(sum.transients)} for activations of ${data.max_rows} rows, ${bytesText(sum.scratch)} of scratch for each worker. ` +
      "Below, the activations of this step: buffers of one colour share a storage, where the proof allows it row by row."),
    element("div", { class: "scroll" }, svg));
}

function remarks() {
  if (!data.remarks.length) return null;
  return element("section", { id: "remarks" },
    element("h2", {}, "Remarks"),
    element("p", { class: "hint" }, "What passes said of what is no phase now."),
    element("table", {}, element("tbody", {}, ...data.remarks.map(remark =>
      element("tr", {}, element("td", {}, element("code", {}, remark.at)),
        element("td", { style: "text-align:left;white-space:normal" }, remark.text))))));
}

// --------------------------------------------------------------------- all

function draw() {
  hideTip();
  const step = data.steps[state.step];
  page.replaceChildren(header(), cards(step));
  for (const note of step.notes) page.append(element("p", { class: "note" }, note));
  page.append(phaseTable(step));
  page.append(graph(step));
  page.append(timeline(step));
  page.append(memory(step));
  const said = remarks();
  if (said) page.append(said);
  page.append(element("footer", {}, "Figures: " + Object.entries(data.machine).map(([name, figure]) => `${name} ${+figure.value.toPrecision(4)} from ${figure.from}`).join(" · ")));
}

document.body.append(tip);
draw();
document.body.dataset.rendered = "yes";
