// The timeline of the engine's view.

/// What a canvas can draw with: a colour of the style sheet as the theme has it now.
function colorOf(variable) {
  const probe = byId("probe");
  probe.style.color = `var(${variable})`;
  return getComputedStyle(probe).color;
}

const phaseColors = 10;
const mostZoom = 32;
/// Wider canvases stay blank in some browsers.
const mostPixels = 16000;

/// The tasks of the last steps, a lane for each worker. Pauses between steps are left out: a
/// server that waits for requests would be nothing but them.
const timeline = {
  data: null,
  /// Where steps lie: {step, left, width}, in pixels.
  columns: [],
  /// Phases keep their colours from one look to the next.
  colors: new Map(),
  isHeld: false,
  isPointed: false,
  zoom: 1,

  build() {
    const canvas = byId("timeline");
    canvas.addEventListener("pointermove", event => this.point(event));
    canvas.addEventListener("pointerleave", () => {
      byId("tip").hidden = true;
      this.isPointed = false;
    });
    byId("hold").addEventListener("click", () => {
      this.isHeld = !this.isHeld;
      byId("hold").textContent = this.isHeld ? "Go on" : "Hold";
      byId("hold").setAttribute("aria-pressed", this.isHeld);
    });
    byId("zoom-in").addEventListener("click", () => this.setZoom(this.zoom * 2));
    byId("zoom-out").addEventListener("click", () => this.setZoom(this.zoom / 2));
    addEventListener("resize", () => this.draw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  },

  update(data) {
    byId("timeline-part").hidden = !data;
    // Tasks do not slip away from below a pointer.
    if (!data || this.isHeld || this.isPointed) return;
    this.data = { ...data, steps: data.steps.filter(step => step.end > step.begin) };
    this.draw();
  },

  /// What is in the middle stays there.
  setZoom(zoom) {
    const plot = byId("timeline").parentElement;
    const middle = (plot.scrollLeft + plot.clientWidth / 2) / plot.scrollWidth;
    this.zoom = Math.max(1, Math.min(mostZoom, zoom));
    this.draw();
    plot.scrollLeft = middle * plot.scrollWidth - plot.clientWidth / 2;
  },

  colorIndex(phase) {
    // One phase of all layers has one colour.
    if (!this.colors.has(phase)) this.colors.set(phase, this.colors.size % phaseColors);
    return this.colors.get(phase);
  },

  draw() {
    const { data } = this;
    if (!data || byId("timeline-part").hidden) return;
    const canvas = byId("timeline");
    const scale = devicePixelRatio || 1;
    const width = Math.min(canvas.parentElement.clientWidth * this.zoom, Math.floor(mostPixels / scale));
    byId("zoom-out").disabled = this.zoom === 1;
    byId("zoom-in").disabled = this.zoom === mostZoom || width < canvas.parentElement.clientWidth * this.zoom;
    const lane = Math.max(4, Math.min(22, Math.floor(360 / Math.max(1, data.workers))));
    const head = 18, height = head + lane * data.workers;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    const total = data.steps.reduce((sum, step) => sum + step.end - step.begin, 0);
    const gap = data.steps.length > 1 ? Math.min(6, width / data.steps.length / 6) : 0;
    const perSecond = (width - gap * (data.steps.length - 1)) / (total || 1);
    const colors = Array.from({ length: phaseColors }, (_, i) => colorOf(`--phase-${i}`));
    const track = colorOf("--track"), soft = colorOf("--soft");
    context.font = "11px system-ui, sans-serif";
    this.columns = [];
    this.geometry = { lane, head, perSecond };
    let left = 0, labelEnd = 0;
    for (const step of data.steps) {
      const own = (step.end - step.begin) * perSecond;
      this.columns.push({ step, left, width: own });
      context.fillStyle = track;
      for (let worker = 0; worker < data.workers; ++worker) context.fillRect(left, head + worker * lane, own, lane - 1);
      for (const [worker, begin, end, phase] of step.tasks) {
        context.fillStyle = colors[this.colorIndex(phase)];
        context.fillRect(left + (begin - step.begin) * perSecond, head + worker * lane, Math.max(0.5, (end - begin) * perSecond), lane - 1);
      }
      const label = `${step.rows} row${step.rows === 1 ? "" : "s"} · ${timeText(step.end - step.begin)}`;
      if (left >= labelEnd && context.measureText(label).width < width - left) {
        context.fillStyle = soft;
        context.fillText(label, left, 12);
        labelEnd = left + context.measureText(label).width + 12;
      }
      left += own + gap;
    }
    this.drawLegend(total);
  },

  drawLegend(total) {
    const { data } = this;
    const seconds = new Map();
    let busy = 0;
    for (const step of data.steps)
      for (const [, begin, end, phase] of step.tasks) {
        seconds.set(phase, (seconds.get(phase) ?? 0) + end - begin);
        busy += end - begin;
      }
    const all = total * data.workers || 1;
    byId("timeline-facts").textContent =
      `${countText(data.steps.length, "step")} · ${countText(data.workers, "worker")} · ${shareText(busy / all)} busy`;
    const shown = [...seconds].sort((a, b) => b[1] - a[1]);
    const rest = shown.splice(12);
    byId("legend").replaceChildren(...shown.map(([phase, own]) => element("li", {},
      element("i", { style: `background: var(--phase-${this.colorIndex(phase)})` }), element("code", {}, phase), ` ${shareText(own / all)}`)),
      ...rest.length ? [element("li", {}, `and ${rest.length} more, ${shareText(rest.reduce((sum, [, own]) => sum + own, 0) / all)}`)] : []);
  },

  point(event) {
    if (!this.data) return;
    this.isPointed = true;
    const tip = byId("tip");
    const column = this.columns.findLast(({ left }) => left <= event.offsetX);
    const { lane, head, perSecond } = this.geometry;
    const worker = Math.floor((event.offsetY - head) / lane);
    tip.hidden = !column || worker < 0 || worker >= this.data.workers || event.offsetX > column.left + column.width;
    if (tip.hidden) return;
    const { step } = column;
    const time = step.begin + (event.offsetX - column.left) / perSecond;
    // Half a pixel to both sides: short tasks are drawn wider than they are.
    const task = step.tasks.find(([own, begin, end]) => own === worker && time >= begin - 0.5 / perSecond && time <= end + 0.5 / perSecond);
    tip.replaceChildren(
      element("b", {}, task ? task[3] : "nothing to do"),
      element("div", {}, task ? `${timeText(task[2] - task[1])}, ${timeText(task[1] - step.begin)} into the step` : `${timeText(time - step.begin)} into the step`),
      element("div", {}, `worker ${worker} · step of ${step.rows} row${step.rows === 1 ? "" : "s"}, ${timeText(step.end - step.begin)}`));
    tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18}px`;
  },
};
