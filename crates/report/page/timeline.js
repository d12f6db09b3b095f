"use strict";
/*
 * The timeline in the page: its controls, what pointer and keys do, and what is said of the selected span. The page calls
 * mountTimeline(element, json, base64) once; it resolves when everything has been drawn.
 */
const mountTimeline = (() => {
  const ROW_HEIGHTS = [[12, 27], [24, 23], [40, 19], [64, 16]];
  /** More lines than this scroll inside of their box. */
  const MOST_LINES = 64;
  /** Waits that a span ended: so many are listed. */
  const MOST_RELEASED = 6;
  /** The address follows the view when it has been still for so long (ms). */
  const STILL = 400;

  /** Marks, as [start, length, row, label], by their row. */
  function byRow(marks) {
    const rows = new Map();
    for (const mark of marks) rows.set(mark[2], [...(rows.get(mark[2]) ?? []), mark]);
    return rows;
  }

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
      else if (value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  class Timeline {
    constructor(element, json) {
      this.element = element;
      this.model = {
        json, levels: [], lanes: [], windows: [], kinds: [], together: new Map(), all: [...json.threads.keys()],
        workOf: byRow(json.work),
      };
      this.view = { from: 0, to: Math.max(json.length, 1) };
      this.open = new Set();
      this.lines = timelineView.lines(json, this.open);
      this.selected = this.hovered = null;
      this.others = [];
      this.lane = -1;
      this.path = true;
      this.pointers = new Map();
      this.build();
    }

    /* ---- the elements ---- */

    build() {
      const { json } = this.model;
      const button = (label, title, act) => make("button", { type: "button", title, "aria-label": title, on: { click: act } }, label);
      this.presets = make("div", { class: "tl-presets", role: "group", "aria-label": "Where to look" });
      this.presets.append(this.preset("whole run", 0, json.length, "All of the run"));
      for (const finding of json.findings) {
        const title = `Where this happens most: ${finding.what}`;
        const object = finding.lane === null ? "" : this.objectName(json.lanes[finding.lane]);
        const label = `${finding.rank + 1}\u2002${object && object.length <= 26 ? object : finding.kind}`;
        this.presets.append(this.preset(label, finding.from, finding.to, title, finding));
      }
      this.laneSelect = make("select", { "aria-label": "Object whose waiters and holders are shown", on: { change: () => this.chooseLane(Number(this.laneSelect.value)) } });
      this.laneSelect.append(make("option", { value: "-1" }, "no object"));
      json.lanes.forEach((object, lane) => this.laneSelect.append(make("option", { value: lane }, this.objectName(object))));
      this.pathBox = make("input", { type: "checkbox", checked: "", on: { change: () => this.showPath(this.pathBox.checked) } });
      const zoom = make("div", { class: "tl-zoom", role: "group", "aria-label": "Zoom" },
        button("−", "Zoom out", () => this.zoom(2)), button("+", "Zoom in", () => this.zoom(0.5)),
        button("←", "Earlier", () => this.pan(-0.4)), button("→", "Later", () => this.pan(0.4)));
      const tools = make("div", { class: "tl-tools" });
      if (json.lanes.length) tools.append(make("label", { class: "tl-pick" }, "object ", this.laneSelect));
      tools.append(make("label", { class: "tl-pick" }, this.pathBox, " critical path"), zoom);
      this.bar = make("div", { class: "tl-bar" }, this.presets, tools);
      this.overview = make("canvas", { class: "tl-overview", "aria-hidden": "true" });
      this.head = make("canvas", { class: "tl-head", "aria-hidden": "true" });
      this.rows = make("canvas", {
        class: "tl-rows", tabindex: "0", role: "application", "aria-roledescription": "timeline", "aria-describedby": "tl-keys",
      });
      this.space = make("div", { class: "tl-space" });
      this.scroll = make("div", { class: "tl-scroll", on: { scroll: () => this.draw() } }, this.space, this.rows);
      this.laneCanvas = make("canvas", { class: "tl-lane", "aria-hidden": "true" });
      this.laneCanvas.hidden = true;
      this.tip = make("div", { class: "tl-tip", "aria-hidden": "true" });
      this.figure = make("figure", { class: "tl-figure" }, this.overview, this.head, this.scroll, this.laneCanvas, this.tip);
      this.note = make("p", { class: "tl-note" });
      this.note.hidden = true;
      const { left_out: leftOut } = json, count = json.threads.length + leftOut;
      const drawn = make("p", { class: "tl-note" }, `Of ${count.toLocaleString("en")} threads the ${json.threads.length.toLocaleString("en")} most critical ones are drawn.`);
      drawn.hidden = !leftOut;
      this.details = make("div", { class: "tl-details", "aria-live": "polite" });
      this.key = make("ul", { class: "tl-key", "aria-label": "Colours" });
      const touch = make("p", { class: "tl-touch" }, "Drag to move, two fingers to zoom, tap a span for what it is.");
      this.keys = make("p", { class: "tl-keys", id: "tl-keys" });
      this.keys.append("Drag to move, drag over the strip on top or the axis to choose a part, ", make("kbd", {}, "Ctrl"),
        " + wheel or two fingers to zoom, double-click a span to see it whole. Keys: ",
        ...[["←", ""], ["→", " move, "], ["+", ""], ["−", " zoom, "], ["0", " shows all, "], ["Home", ""], ["End", " go to the ends, "], ["Enter", " selects the next span, "], ["Shift", " + "], ["Enter", " the one before, "], ["↑", ""], ["↓", " go to the thread above or below, "], ["W", " to the one who ended the wait, "], ["Z", " zooms to the span, "], ["Esc", " clears."]]
          .flatMap(([key, words]) => [make("kbd", {}, key), words]));
      this.table = make("tbody");
      this.numbers = make("details", { class: "tl-numbers", on: { toggle: () => this.tell() } },
        make("summary", {}, "Numbers"), make("div", { class: "tl-sheet" }, make("table", {}, make("caption"), make("thead"), this.table)));
      this.element.classList.add("tl");
      this.element.replaceChildren(this.bar, this.figure, drawn, this.note, this.details, this.key, this.numbers, touch, this.keys);
      this.buildKey();
      this.listen();
    }

    preset(label, from, to, title, finding = null) {
      const act = () => {
        this.chosen = element;
        if (finding && finding.lane !== null) this.chooseLane(finding.lane);
        this.select(finding && finding.row !== null ? timelineView.spanAt(this.model, finding.row, finding.at) : null);
        this.go({ from, to });
        if (this.selected) this.reveal(this.selected.row);
      };
      const element = make("button", { type: "button", title, "aria-pressed": "false", on: { click: act } }, label);
      element.view = { from, to };
      return element;
    }

    buildKey() {
      const { json } = this.model;
      const total = json.shades.map((_, shade) => this.model.levels.length ? this.model.levels.at(-1).rows.some((planes) => planes[shade]) : true);
      this.key.replaceChildren(...json.shades.flatMap((shade, index) => {
        if (!total[index]) return [];
        const mark = make("i", { class: shade.color === "hatch" ? "tl-hatched" : null });
        mark.style.background = shade.color === "hatch" ? "" : `var(--${shade.color})`;
        return [make("li", {}, mark, shade.words)];
      }));
      if (this.hasPath()) this.key.append(make("li", {}, make("i", { class: "tl-path" }), "critical path"));
    }

    hasPath() {
      const at = this.model.json.shades.length;
      return this.model.levels.length > 0 && this.model.levels.at(-1).rows.some((planes) => planes[at]);
    }

    objectName(object) {
      if (object === null || object < 0) return "";
      const { kind, name } = this.model.json.objects[object];
      return kind ? `${kind} ${name}` : name;
    }

    /* ---- sizes ---- */

    measure() {
      const width = Math.max(Math.floor(this.figure.clientWidth), 200), isNarrow = width < 560;
      const { json } = this.model;
      const pitch = (ROW_HEIGHTS.find(([most]) => this.lines.length <= most) ?? [0, 19])[1];
      const context = this.rows.getContext("2d");
      context.font = `12px ${this.colors.font}`;
      let widest = 0;
      for (const line of this.lines.slice(0, 400)) widest = Math.max(widest, context.measureText(line.label + (line.tail ?? "")).width + (line.isMember ? 10 : 0));
      const room = widest + 24 + (isNarrow ? 0 : 38) + (json.groups.length ? 12 : 0);
      const left = Math.round(Math.min(Math.max(room, 76), isNarrow ? 104 : 210));
      const all = this.lines.length * pitch + 6;
      const most = Math.max(Math.min(window.innerHeight * 0.7, 900), 320);
      const height = this.lines.length > MOST_LINES ? Math.min(all, most) : all;
      const bands = this.bands();
      this.size = {
        width, left, isNarrow, pitch, bar: Math.round(pitch * 0.7), height: Math.round(height), all,
        head: 26 + bands.length * 18, lane: 62, overview: 56,
      };
      this.scroll.style.height = `${this.size.height}px`;
      this.scroll.classList.toggle("tl-scrolls", all > height + 1);
      this.space.style.height = `${all}px`;
      return bands;
    }

    /** What the program said: phases in one line, regions below each other where they nest. */
    bands() {
      const { phases, regions } = this.model.json;
      const bands = phases.length ? [{ name: "phase", marks: phases }] : [];
      const levels = [];
      for (const region of regions) {
        const level = levels.findIndex((marks) => marks.at(-1)[0] + marks.at(-1)[1] <= region[0]);
        if (level >= 0) levels[level].push(region);
        else if (levels.length < 3) levels.push([region]);
      }
      levels.forEach((marks, index) => bands.push({ name: index ? "" : "region", marks }));
      return bands;
    }

    draw() {
      if (this.frame) return;
      this.frame = requestAnimationFrame(() => {
        this.frame = 0;
        this.paint();
      });
    }

    paint() {
      const { model, view } = this;
      if (!model.levels.length || !this.element.isConnected) return;
      this.colors ??= timelineDraw.palette(this.element, model.json.shades);
      const bands = this.measure(), { size, colors } = this;
      const of = (height) => ({ ...size, height });
      const chosen = this.lane >= 0 ? model.lanes[this.lane] : null;
      timelineDraw.overview(this.overview, model, colors, of(size.overview), view);
      timelineDraw.head(this.head, model, colors, of(size.head), view, bands);
      const options = { path: this.path, lane: chosen };
      const lineOf = timelineDraw.rows(this.rows, model, colors, size, view, this.lines, this.scroll.scrollTop, options);
      const context = this.rows.getContext("2d");
      const marked = this.selected ?? null;
      if (this.hovered && this.hovered.start !== marked?.start) timelineDraw.marked(context, model, colors, size, view, lineOf, this.hovered, []);
      if (marked) timelineDraw.marked(context, model, colors, size, view, lineOf, marked, this.others);
      if (this.brush) this.paintBrush(context);
      this.laneCanvas.hidden = !chosen;
      if (chosen) timelineDraw.lane(this.laneCanvas, model, colors, of(size.lane), view, chosen);
      this.tellView();
    }

    paintBrush(context) {
      const { from, to } = this.brush;
      context.fillStyle = this.colors.ink;
      context.globalAlpha = 0.14;
      context.fillRect(Math.min(from, to), 0, Math.abs(to - from), this.size.height);
      context.globalAlpha = 1;
    }

    /* ---- the view ---- */

    /** Shows a part of the run; moves there where motion is welcome. */
    go(view, { isAtOnce = false } = {}) {
      const target = timelineView.within(this.model.json.length, view.from, view.to);
      cancelAnimationFrame(this.motion);
      const isStill = isAtOnce || matchMedia("(prefers-reduced-motion: reduce)").matches || document.hidden;
      if (isStill) {
        this.view = target;
        this.draw();
      } else {
        const start = performance.now(), begin = this.view;
        const step = (now) => {
          const t = Math.min(Math.max((now - start) / 220, 0), 1), eased = 1 - (1 - t) ** 3;
          const wide = (begin.to - begin.from) ** (1 - eased) * (target.to - target.from) ** eased;
          const whole = target.to - target.from - (begin.to - begin.from);
          // The share of the way by length, so that both edges move steadily while the length changes by a factor.
          const way = Math.abs(whole) < 1e-6 * wide ? eased : (wide - (begin.to - begin.from)) / whole;
          const from = begin.from + (target.from - begin.from) * way;
          this.view = t < 1 ? { from, to: from + wide } : target;
          this.draw();
          if (t < 1) this.motion = requestAnimationFrame(step);
        };
        this.motion = requestAnimationFrame(step);
      }
      this.settle();
    }

    zoom(factor, time = (this.view.from + this.view.to) / 2, isAtOnce = false) {
      this.go(timelineView.zoomed(this.model.json.length, this.view, factor, time), { isAtOnce });
    }

    pan(share, isAtOnce = false) {
      const by = (this.view.to - this.view.from) * share;
      this.go({ from: this.view.from + by, to: this.view.to + by }, { isAtOnce });
    }

    isWhole() {
      return this.view.to - this.view.from >= this.model.json.length * 0.9999;
    }

    /** The address and the table follow when nothing has changed for a while. */
    settle() {
      clearTimeout(this.settling);
      this.settling = setTimeout(() => {
        this.tell();
        const hash = this.isWhole() && !this.selected ? "" : timelineView.hashOf(this.model.json.start, this.view, this.selected);
        if (!hash && !location.hash.startsWith("#t=")) return;
        try {
          history.replaceState(history.state, "", hash || "#when");
        } catch {
          // Pages in a sandbox have no history: the view is not in the address then.
        }
      }, STILL);
    }

    follow(hash) {
      const found = timelineView.parseHash(this.model.json.start, hash);
      if (!found) return;
      const isRow = found.row >= 0 && found.row < this.model.json.threads.length;
      this.select(isRow ? timelineView.spanAt(this.model, found.row, found.at) : null);
      this.go(found, { isAtOnce: true });
      if (isRow) this.reveal(found.row);
      this.element.scrollIntoView({ block: "start" });
    }

    chooseLane(lane) {
      this.lane = lane;
      this.laneSelect.value = String(lane);
      this.draw();
    }

    showPath(isShown) {
      this.path = isShown;
      this.draw();
    }

    toggle(group) {
      if (!this.open.delete(group)) this.open.add(group);
      this.lines = timelineView.lines(this.model.json, this.open);
      this.draw();
    }

    /** Brings the row of a thread into sight, and opens its group for it. */
    reveal(row) {
      const { groups } = this.model.json;
      if (!this.lines.some((line) => line.row === row)) {
        const group = groups.findIndex((group) => group.rows.includes(row));
        if (group < 0) return;
        this.toggle(group);
      }
      if (!this.size) return;
      const top = this.lines.findIndex((line) => line.row === row) * this.size.pitch;
      const { scrollTop, clientHeight } = this.scroll;
      if (top < scrollTop || top + this.size.pitch > scrollTop + clientHeight) this.scroll.scrollTop = top - clientHeight / 2;
    }

    select(span, { shows = false } = {}) {
      this.selected = span;
      this.others = [];
      if (span) {
        const { found, count } = timelineView.released(this.model, span, 40);
        this.others = found;
        this.count = count;
        const kind = this.model.json.lanes.indexOf(span.object);
        if (kind >= 0 && this.lane !== kind && span.object >= 0) this.chooseLane(kind);
        if (shows) {
          const wide = this.view.to - this.view.from;
          if (span.end <= this.view.from || span.start >= this.view.to) {
            const middle = (span.start + Math.min(span.end, span.start + wide)) / 2;
            this.go({ from: middle - wide / 2, to: middle + wide / 2 });
          }
          this.reveal(span.row);
        }
      }
      this.describe();
      this.draw();
      this.settle();
    }
  }

  /** `methods` of other files are put beside these: one idea a file. */
  Object.assign(Timeline.prototype, timelineInput, timelineWords);

  return async function mountTimeline(element, json, base64) {
    const data = typeof json === "string" ? JSON.parse(json) : json;
    if (!data.threads.length || !(data.length > 0)) {
      element.textContent = "Nothing was recorded that a timeline could show.";
      return null;
    }
    if (typeof DecompressionStream === "undefined") {
      element.textContent = "This browser cannot unpack the timeline: it needs DecompressionStream, which browsers have had since 2023.";
      return null;
    }
    const timeline = new Timeline(element, data);
    try {
      const parts = timelineData.partsOf(timelineData.bytesOf(base64), data.parts);
      timeline.model.levels = timelineData.levelsOf(timelineData.readLevel(await timelineData.inflate(parts[0]), data));
      timeline.buildKey();
      timeline.paint();
      performance.mark("timeline-first");
      timeline.model.lanes = timelineData.readLanes(await timelineData.inflate(parts[1]), data);
      Object.assign(timeline.model, timelineData.readExact(await timelineData.inflate(parts[2]), data, timeline.model.lanes));
    } catch (error) {
      element.textContent = `The timeline cannot be read: ${error.message}. Write the page again.`;
      return null;
    }
    timeline.chooseLane(data.lanes.length ? 0 : -1);
    timeline.follow(location.hash);
    timeline.paint();
    timeline.tell();
    performance.mark("timeline-whole");
    return timeline;
  };
})();
