"use strict";
/*
 * What pointer, wheel and keys do to the timeline: methods of Timeline in timeline.js.
 */
const timelineInput = {
  listen() {
    const { rows, head, overview, laneCanvas } = this;
    for (const canvas of [rows, head, overview, laneCanvas]) {
      canvas.addEventListener("pointerdown", (event) => this.press(event, canvas));
      canvas.addEventListener("pointermove", (event) => this.move(event, canvas));
      canvas.addEventListener("pointerup", (event) => this.lift(event, canvas));
      canvas.addEventListener("pointercancel", (event) => this.drop(event));
      canvas.addEventListener("wheel", (event) => this.wheel(event, canvas), { passive: false });
    }
    rows.addEventListener("pointerleave", () => this.hover(null));
    rows.addEventListener("dblclick", (event) => this.enter(event));
    rows.addEventListener("keydown", (event) => this.type(event));
    rows.addEventListener("focus", () => this.describe());
    addEventListener("hashchange", () => this.follow(location.hash));
    const again = () => {
      this.colors = null;
      this.draw();
    };
    for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", again);
    new ResizeObserver(() => this.draw()).observe(this.figure);
  },

  timeAt(x) {
    const { left, width } = this.size;
    const share = Math.min(Math.max((x - left) / Math.max(width - left, 1), 0), 1);
    return this.view.from + share * (this.view.to - this.view.from);
  },

  place(event, canvas) {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  },

  lineAt(y) {
    return this.lines[Math.floor((y + this.scroll.scrollTop - 1) / this.size.pitch)] ?? null;
  },

  press(event, canvas) {
    if (event.button > 0 || !this.size) return;
    const { x, y } = this.place(event, canvas);
    this.pointers.set(event.pointerId, { x, y });
    if (this.pointers.size === 2) {
      this.drag = { kind: "pinch", view: this.view, ...this.spreadOfPointers() };
      return;
    }
    const whole = this.isWhole();
    const isBrush = canvas === this.head || canvas === this.overview || event.shiftKey || (whole && event.pointerType === "mouse");
    this.drag = { kind: isBrush ? "brush" : "pan", x, y, canvas, view: this.view, hasMoved: false };
    if (event.pointerType === "mouse") canvas.setPointerCapture(event.pointerId);
  },

  spreadOfPointers() {
    const [a, b] = [...this.pointers.values()];
    return { middle: (a.x + b.x) / 2, apart: Math.max(Math.abs(a.x - b.x), 8) };
  },

  move(event, canvas) {
    if (!this.size) return;
    const { x, y } = this.place(event, canvas), { drag } = this;
    if (this.pointers.has(event.pointerId)) this.pointers.set(event.pointerId, { x, y });
    if (!drag) {
      if (canvas === this.rows && event.pointerType !== "touch") this.hover(this.spanUnder(x, y), event);
      return;
    }
    const { left, width } = this.size, columns = Math.max(width - left, 1);
    if (drag.kind === "pinch") {
      if (this.pointers.size < 2) return;
      const now = this.spreadOfPointers(), wide = drag.view.to - drag.view.from;
      const time = drag.view.from + ((drag.middle - left) / columns) * wide;
      const view = timelineView.zoomed(this.model.json.length, drag.view, drag.apart / now.apart, time);
      const by = ((drag.middle - now.middle) / columns) * (view.to - view.from);
      this.go({ from: view.from + by, to: view.to + by }, { isAtOnce: true });
      return;
    }
    if (!drag.hasMoved && Math.abs(x - drag.x) < 4) return;
    drag.hasMoved = true;
    this.hover(null);
    if (drag.kind === "pan") {
      const by = ((drag.x - x) / columns) * (drag.view.to - drag.view.from);
      this.go({ from: drag.view.from + by, to: drag.view.to + by }, { isAtOnce: true });
      return;
    }
    const clamp = (at) => Math.min(Math.max(at, left), width);
    if (drag.canvas === this.overview) {
      const { length } = this.model.json;
      const time = (at) => ((clamp(at) - left) / columns) * length;
      this.go({ from: Math.min(time(drag.x), time(x)), to: Math.max(time(drag.x), time(x)) }, { isAtOnce: true });
    } else {
      this.brush = { from: clamp(drag.x), to: clamp(x) };
      this.draw();
    }
  },

  lift(event, canvas) {
    const { drag } = this;
    this.drop(event);
    if (!drag || drag.kind === "pinch") return;
    const { x, y } = this.place(event, canvas);
    if (drag.kind === "brush" && drag.hasMoved) {
      if (canvas === this.overview || !this.brush) return;
      const { from, to } = this.brush;
      this.brush = null;
      this.go({ from: this.timeAt(Math.min(from, to)), to: this.timeAt(Math.max(from, to)) });
      return;
    }
    if (drag.hasMoved) return;
    if (canvas === this.overview) {
      const { left, width } = this.size, wide = this.view.to - this.view.from;
      const time = ((x - left) / Math.max(width - left, 1)) * this.model.json.length;
      if (!this.isWhole()) this.go({ from: time - wide / 2, to: time + wide / 2 });
    } else if (canvas === this.rows) {
      this.click(x, y);
    }
  },

  drop(event) {
    this.pointers.delete(event.pointerId);
    this.drag = null;
  },

  click(x, y) {
    this.rows.focus({ preventScroll: true });
    const line = this.lineAt(y);
    if (line?.canOpen && x < this.size.left) {
      this.toggle(line.group);
      return;
    }
    const span = this.spanUnder(x, y);
    this.select(span);
    if (!span && line) this.tellMixture(line, x);
  },

  /** The span under the pointer: of those that are narrower than a pixel, the one at its middle. */
  spanUnder(x, y) {
    if (x < this.size.left) return null;
    const line = this.lineAt(y);
    return line && line.row >= 0 ? timelineView.spanAt(this.model, line.row, this.timeAt(x)) : null;
  },

  hover(span, event = null) {
    const isSame = span && this.hovered && span.row === this.hovered.row && span.start === this.hovered.start;
    this.tip.classList.toggle("tl-on", Boolean(span && event));
    if (span && event) {
      if (!isSame) this.tip.replaceChildren(...this.tipOf(span));
      const box = this.figure.getBoundingClientRect(), tip = this.tip.getBoundingClientRect();
      const x = event.clientX - box.left, y = event.clientY - box.top;
      this.tip.style.left = `${Math.max(0, Math.min(x + 14, box.width - tip.width - 4))}px`;
      this.tip.style.top = `${event.clientY + tip.height + 30 > innerHeight ? y - tip.height - 14 : y + 18}px`;
    }
    if (!isSame && (span || this.hovered)) {
      this.hovered = span;
      this.draw();
    }
  },

  /** A double click shows a span whole; on what is no single span it zooms in. */
  enter(event) {
    const { x, y } = this.place(event, this.rows);
    const span = this.spanUnder(x, y);
    if (span) this.zoomTo(span);
    else if (x >= this.size.left) this.zoom(0.25, this.timeAt(x));
  },

  zoomTo(span) {
    const margin = (span.end - span.start) * 0.6;
    this.go({ from: span.start - margin, to: span.end + margin });
  },

  wheel(event, canvas) {
    if (!this.size) return;
    const { x } = this.place(event, canvas);
    const scale = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 200 : 1;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.zoom(Math.exp(Math.min(Math.max(event.deltaY * scale, -120), 120) / 180), this.timeAt(x), true);
      return;
    }
    const across = event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX;
    if (Math.abs(across) > Math.abs(event.shiftKey ? 0 : event.deltaY) && !this.isWhole()) {
      event.preventDefault();
      this.pan((across * scale) / Math.max(this.size.width - this.size.left, 1), true);
    }
  },

  type(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { selected } = this;
    const acts = {
      ArrowLeft: () => this.pan(-0.2),
      ArrowRight: () => this.pan(0.2),
      "+": () => this.zoom(0.5, this.center()),
      "=": () => this.zoom(0.5, this.center()),
      "-": () => this.zoom(2, this.center()),
      _: () => this.zoom(2, this.center()),
      0: () => this.go({ from: 0, to: this.model.json.length }),
      Home: () => this.pan(-1e12),
      End: () => this.pan(1e12),
      Enter: () => this.step(event.shiftKey ? -1 : 1),
      ArrowUp: () => this.climb(-1),
      ArrowDown: () => this.climb(1),
      w: () => selected && selected.by >= 0 && this.select(timelineView.spanAt(this.model, selected.by, selected.end - 1), { shows: true }),
      z: () => selected && this.zoomTo(selected),
      Escape: () => (selected ? this.select(null) : this.go({ from: 0, to: this.model.json.length })),
    };
    const act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act();
  },

  /** Keys zoom around the selected span, if it is in sight. */
  center() {
    const middle = (this.view.from + this.view.to) / 2;
    if (!this.selected) return middle;
    const at = (this.selected.start + this.selected.end) / 2;
    return at > this.view.from && at < this.view.to ? at : middle;
  },

  /** The next span of the selected thread, or the one before; without a selection the one in the middle of the view. */
  step(step) {
    if (this.selected) {
      const next = timelineView.beside(this.model, this.selected, step);
      if (next) this.select(next, { shows: true });
      return;
    }
    const at = (this.view.from + this.view.to) / 2;
    const spans = this.lines.filter((line) => line.row >= 0).map((line) => timelineView.spanAt(this.model, line.row, at));
    const first = spans.find((span) => span);
    if (first) this.select(first, { shows: true });
  },

  /** The same moment of the next thread above or below that lives then. */
  climb(step) {
    if (!this.selected) {
      this.step(1);
      return;
    }
    const { start, end, row } = this.selected;
    const at = Math.min(Math.max((start + end) / 2, this.view.from), this.view.to);
    let index = this.lines.findIndex((line) => line.row === row);
    for (index += step; index >= 0 && index < this.lines.length; index += step) {
      const span = this.lines[index].row >= 0 ? timelineView.spanAt(this.model, this.lines[index].row, at) : null;
      if (span) {
        this.select(span, { shows: true });
        return;
      }
    }
  },
};
