"use strict";
/*
 * What the timeline says in words: of the selected span, of the view, and in the table under it. Methods of Timeline in
 * timeline.js. Names come from the measured program: they are put into the page as text only.
 */
const timelineWords = (() => {
  /** Rows of the table: what a person reads. */
  const MOST_ROWS = 200;

  const line = (tag, ...children) => {
    const element = document.createElement(tag);
    element.append(...children);
    return element;
  };

  return {
    thread(row) {
      return row >= 0 ? this.model.json.threads[row].name : "an unknown thread";
    },

    moment(time, digits = 1e4) {
      const { start, length } = this.model.json;
      return timelineView.moment(start + time, (this.view.to - this.view.from) / digits, start + length);
    },

    /** What a span is, as a sentence without its thread: `blocked on mutex cache_lock for 3.1 ms`. */
    phrase(span) {
      const shade = this.model.json.shades[span.shade], object = this.objectName(span.object);
      const length = timelineView.duration(span.end - span.start);
      switch (shade.color) {
        case "hold":
          return `active, holding ${object || "a lock"}, for ${length}`;
        case "lock":
          return `blocked on ${object || "a lock"} for ${length}`;
        case "bar":
          return `waiting for ${object.startsWith("the end of") ? object : `others at ${object || "a barrier"}`} for ${length}`;
        case "sig":
          return `waiting for ${object ? `a signal at ${object}` : "a signal"} for ${length}`;
        case "spin":
          return `spinning${object ? ` at ${object}` : ""} for ${length}`;
        case "wake":
          return `woken, but not running for ${length}`;
        default:
          return `${shade.words} for ${length}`;
      }
    },

    /** Where a span is, as words before a place; none for what has no place. */
    placeOf(span) {
      if (span.place < 0) return null;
      const { color } = this.model.json.shades[span.shade];
      const before = color === "act" || color === "hold" ? "until it stops in" : "in";
      return [before, this.model.json.places[span.place]];
    },

    isWait(span) {
      return ["lock", "bar", "sig", "spin"].includes(this.model.json.shades[span.shade].color);
    },

    tipOf(span) {
      const lines = [line("b", this.thread(span.row)), line("span", this.phrase(span))];
      const place = this.placeOf(span);
      if (place) lines.push(line("span", `${place[0]} `, line("code", place[1])));
      if (this.isWait(span) && span.by >= 0 && span.by !== span.row) lines.push(line("span", `ended by ${this.thread(span.by)}`));
      return lines;
    },

    /** The unit of work that a span is a part of, if the program told of one: the shortest of them. */
    workAt(span) {
      const middle = (span.start + span.end) / 2;
      const around = (this.model.workOf.get(span.row) ?? []).filter(([start, length]) => start <= middle && middle < start + length);
      return around.sort((a, b) => a[1] - b[1])[0] ?? null;
    },

    /** The panel under the timeline; spoken when it changes. */
    describe() {
      const span = this.selected;
      if (!span) {
        this.details.replaceChildren();
        return;
      }
      const jump = (words, target) => {
        const button = line("button", words);
        button.type = "button";
        button.addEventListener("click", () => target && this.select(target, { shows: true }));
        return button;
      };
      const mark = line("i");
      const { color } = this.model.json.shades[span.shade];
      if (color === "hatch") mark.classList.add("tl-hatched");
      else mark.style.background = `var(--${color})`;
      const said = line("p", mark, line("b", this.thread(span.row)), ` ${this.phrase(span)}, from ${this.moment(span.start)}`);
      said.className = "tl-said";
      const place = this.placeOf(span);
      if (place) said.append(`, ${place[0]} `, line("code", place[1]));
      const work = this.workAt(span);
      if (work) said.append(`, in a unit of work${work[3] ? ` ${work[3]}` : ""} of ${timelineView.duration(work[1])}`);
      said.append(".");
      const facts = line("p");
      facts.className = "tl-facts";
      if (this.isWait(span)) {
        if (span.by === span.row) facts.append("It ended the wait itself, as the last one to come. ");
        else if (span.by >= 0) facts.append("Ended by ", jump(this.thread(span.by), timelineView.spanAt(this.model, span.by, span.end - 1)), ". ");
        else facts.append("Who ended it was not recorded. ");
      }
      if (this.others.length) {
        facts.append(this.count === 1 ? "It ended the wait of " : `It ended ${this.count} waits: of `);
        this.others.slice(0, 6).forEach((other, index) => {
          facts.append(index ? ", " : "", jump(this.thread(other.row), other), ` (${timelineView.duration(other.end - other.start)})`);
        });
        facts.append(this.count > 6 ? ` and ${this.count - 6} more. ` : ". ");
      }
      const share = this.onPath(span);
      if (share > 0.005) facts.append(share > 0.995 ? "All of it is on the critical path." : `${Math.round(share * 100)} % of it is on the critical path.`);
      this.details.replaceChildren(said, facts);
    },

    onPath(span) {
      const out = new Float32Array(1);
      timelineView.pathShares(this.model, span.row, span.start, span.end, 1, out);
      return Math.min(out[0], 1);
    },

    /** What there is of each state where spans are not told one by one. */
    tellMixture(clicked, x) {
      if (x < this.size.left) return;
      const { json, levels } = this.model, at = this.timeAt(x);
      const perColumn = (this.view.to - this.view.from) / (this.size.width - this.size.left);
      const long = Math.max(levels[timelineView.levelFor(levels, perColumn)].bin, perColumn);
      const from = Math.floor(at / long) * long, out = new Float32Array(json.shades.length);
      timelineView.shares(this.model, clicked.rows, from, from + long, 1, out);
      const parts = [...out.keys()].filter((k) => out[k] >= 0.005).sort((a, b) => out[b] - out[a]);
      if (!parts.length) return;
      const all = parts.reduce((sum, k) => sum + out[k], 0), of = clicked.rows.length > 1 ? all : 1;
      const words = parts.map((k) => `${json.shades[k].words} ${Math.round((out[k] / of) * 100)} %`).join(", ");
      const said = line("p", line("b", clicked.label + (clicked.tail ?? "")), ` from ${this.moment(from)} for ${timelineView.duration(long)}: ${words}.`);
      said.className = "tl-said";
      this.details.replaceChildren(said);
    },

    /** What of the controls depends on the view. */
    tellView() {
      const { view } = this, { json, levels } = this.model;
      const near = (a, b) => Math.abs(a - b) < (view.to - view.from) * 1e-3;
      const isHere = (preset) => near(preset.view.from, view.from) && near(preset.view.to, view.to);
      const here = [...this.presets.children].filter(isHere);
      const pressed = here.includes(this.chosen) ? this.chosen : here[0];
      for (const preset of this.presets.children) preset.setAttribute("aria-pressed", String(preset === pressed));
      const name = `Timeline of ${json.threads.length} threads, ${this.moment(view.from)} to ${this.moment(view.to)}`;
      if (this.rows.getAttribute("aria-label") !== name) this.rows.setAttribute("aria-label", name);
      const perColumn = (view.to - view.from) / Math.max(this.size.width - this.size.left, 1);
      const isCoarse = levels[0].bin > perColumn * 2 && this.model.windows.length >= 0 && !timelineView.isExact(this.model, view.from, view.to);
      this.note.hidden = !isCoarse || !this.model.kinds.length;
      if (!this.note.hidden) {
        const command = timelineView.closerCommand(json.start, view);
        if (this.note.dataset.command !== command) {
          this.note.dataset.command = command;
          this.note.replaceChildren(`There was no room here for every span: they are added up in bins of ${timelineView.duration(levels[0].bin)}. A page of this part alone has them all: `, line("code", command));
        }
      }
    },

    /** The table of the view: how each thread spends it. */
    tell() {
      if (!this.numbers.open || !this.model.levels.length || !this.size) return;
      const { json } = this.model, { view } = this, stride = json.shades.length;
      const rows = this.lines.slice(0, MOST_ROWS).map((shown) => {
        const out = new Float32Array(stride);
        timelineView.shares(this.model, shown.rows, view.from, view.to, 1, out);
        // A group's shares are of as many threads as live at once; the table's are of all of its threads.
        const scale = shown.rows.length > 1 ? timelineView.together(this.model, shown.rows).peak / shown.rows.length : 1;
        return { label: shown.label + (shown.tail ?? ""), out: out.map((share) => share * scale) };
      });
      const used = [...Array(stride).keys()].filter((k) => rows.some(({ out }) => out[k] >= 0.0005));
      const head = line("tr", line("th", "thread"), ...used.map((k) => line("th", json.shades[k].words)));
      head.querySelectorAll("th").forEach((cell) => (cell.scope = "col"));
      const table = this.table.parentElement;
      const more = this.lines.length > MOST_ROWS ? `, the first ${MOST_ROWS} rows` : "";
      table.caption.textContent = `Share of the time from ${this.moment(view.from)} to ${this.moment(view.to)}${more}`;
      table.tHead.replaceChildren(head);
      this.table.replaceChildren(...rows.map(({ label, out }) => {
        const name = line("th", label);
        name.scope = "row";
        return line("tr", name, ...used.map((k) => line("td", out[k] ? `${(out[k] * 100).toFixed(1)} %` : "")));
      }));
    },
  };
})();
