// The engine's view.

/// Seconds between two looks, and how many are kept.
const pollSeconds = 1;
const keptSamples = 90;

/// A curve of the last values.
class Curve {
  constructor(name) {
    this.area = shape("path", { class: "curve-area" });
    this.line = shape("path", { class: "curve-line" });
    this.node = shape("svg", { class: "curve", viewBox: `0 0 ${keptSamples - 1} 40`, preserveAspectRatio: "none", role: "img", "aria-label": name },
      this.area, this.line);
  }

  update(values) {
    const most = Math.max(1e-9, ...values.map(value => value ?? 0));
    const begin = keptSamples - values.length;
    const points = values.map((value, i) => `${begin + i},${(38 - 34 * (value ?? 0) / most).toFixed(2)}`);
    this.line.setAttribute("d", points.length > 1 ? `M${points.join("L")}` : "");
    this.area.setAttribute("d", points.length > 1 ? `M${begin},40L${points.join("L")}L${keptSamples - 1},40Z` : "");
  }
}

class Tile {
  constructor(name, hint, { curve = false, bar = false } = {}) {
    this.value = element("b", {}, "–");
    this.detail = element("span", { class: "detail" });
    this.node = element("div", { class: "tile", title: hint }, element("span", { class: "name" }, name), this.value, this.detail);
    if (curve) this.node.append((this.curve = new Curve(name)).node);
    if (bar) {
      this.fill = element("span", {});
      this.bar = element("span", { class: "meter", role: "progressbar", "aria-label": name, "aria-valuemin": 0, "aria-valuemax": 100 }, this.fill);
      this.node.append(this.bar);
    }
  }

  update(value, detail, share = null) {
    this.value.textContent = value;
    this.detail.textContent = detail;
    if (this.fill && share !== null) {
      this.fill.style.width = shareText(share).replace(" ", "");
      this.bar.setAttribute("aria-valuenow", Math.round(100 * share));
    }
  }
}

/// What the server's counters did between two looks.
function differences(before, now) {
  const seconds = now.time - before.time;
  const of = key => now[key] - before[key];
  const steps = of("steps");
  return {
    generated: of("generated_tokens") / seconds,
    prompt: (of("prompt_tokens") + of("cached_tokens")) / seconds,
    rows: steps > 0 ? of("rows") / steps : null,
    // Of a second without a pause only; otherwise it is the time between requests.
    step: steps > 0 && before.running > 0 && now.running > 0 ? seconds / steps : null,
    steps: steps / seconds,
  };
}

const engine = {
  samples: [],
  timer: 0,
  isShown: false,

  build() {
    const tile = (...of) => new Tile(...of);
    this.tiles = {
      generated: tile("Generated", "Tokens that all sequences got together, also where a step guessed several", { curve: true }),
      prompt: tile("Prompts", "Tokens of prompts, those from the prefix cache included", { curve: true }),
      running: tile("Running", "Sequences that get tokens with each step", { bar: true }),
      waiting: tile("Waiting", "Requests that wait for room; preempted sequences gave up their pages and begin again"),
      pages: tile("Pages", "Of the memory for keys and values; kept prefixes count as used", { bar: true }),
      prefix: tile("Prefix hits", "The share of prompts' tokens that were computed before", { bar: true }),
      rows: tile("Rows per step", "Tokens that one step computes: one of each running sequence, and parts of prompts", { curve: true }),
      step: tile("Step", "Seconds of a step, while there is work", { curve: true }),
    };
    byId("tiles").append(...Object.values(this.tiles).map(({ node }) => node));
    timeline.build();
    document.addEventListener("visibilitychange", () => this.schedule());
  },

  show(isShown) {
    this.isShown = isShown;
    this.schedule();
  },

  /// Looks at the engine while somebody looks at it.
  schedule() {
    clearTimeout(this.timer);
    if (this.isShown && document.visibilityState === "visible") this.poll();
  },

  async poll() {
    clearTimeout(this.timer);
    try {
      const state = await (await ask("/engine")).json();
      this.take({ ...state, time: performance.now() / 1000 });
      byId("engine-fault").replaceChildren();
    } catch (fault) {
      byId("engine-fault").replaceChildren(faultCard({ kind: fault.kind, text: fault.message }, () => this.poll()));
    }
    clearTimeout(this.timer);
    if (this.isShown && document.visibilityState === "visible") this.timer = setTimeout(() => this.poll(), pollSeconds * 1000);
  },

  take(sample) {
    const before = this.samples.at(-1);
    // A server that was started again counts from zero.
    if (before && sample.steps < before.steps) this.samples = [];
    this.samples.push(sample);
    if (this.samples.length > keptSamples + 1) this.samples.shift();
    this.draw(sample);
  },

  draw(now) {
    const rates = this.samples.slice(1).map((sample, i) => differences(this.samples[i], sample));
    const latest = rates.at(-1) ?? { generated: 0, prompt: 0, rows: null, step: null, steps: 0 };
    const column = key => rates.map(rate => rate[key]);
    const { tiles } = this;
    const guessed = now.right_guesses ? `, ${wholeText(now.right_guesses)} of them guessed` : "";
    tiles.generated.update(rateText(latest.generated), `tokens/s · ${wholeText(now.generated_tokens)} so far${guessed}`);
    tiles.generated.curve.update(column("generated"));
    tiles.prompt.update(rateText(latest.prompt), `tokens/s · ${wholeText(now.prompt_tokens + now.cached_tokens)} so far`);
    tiles.prompt.curve.update(column("prompt"));
    tiles.running.update(wholeText(now.running), `of ${countText(now.max_running, "sequence")}`, now.running / Math.max(1, now.max_running));
    tiles.waiting.update(wholeText(now.waiting), `${countText(now.preemptions, "preemption")} · ${countText(now.connections, "connection")}`);
    tiles.pages.update(shareText(now.used_pages / Math.max(1, now.pages)), `${wholeText(now.used_pages)} of ${wholeText(now.pages)}`,
      now.used_pages / Math.max(1, now.pages));
    const known = now.prompt_tokens + now.cached_tokens;
    tiles.prefix.update(known ? shareText(now.cached_tokens / known) : "–", `${wholeText(now.cached_tokens)} of ${countText(known, "token")}`,
      known ? now.cached_tokens / known : 0);
    const overall = now.steps ? now.rows / now.steps : 0;
    tiles.rows.update(latest.rows === null ? "–" : rateText(latest.rows), `of ${now.max_rows} · ${rateText(overall)} since the start`);
    tiles.rows.curve.update(column("rows"));
    tiles.step.update(latest.step === null ? "–" : timeText(latest.step), `${rateText(latest.steps)} steps/s · ${wholeText(now.steps)} so far`);
    tiles.step.curve.update(column("step"));
    timeline.update(now.timeline);
  },
};
