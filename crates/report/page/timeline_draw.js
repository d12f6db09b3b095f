"use strict";
/*
 * Draws a timeline. Rows are written pixel by pixel, column by column: a column is a block where one state fills it, else
 * a mixture with as much of each state as there is of it, never whichever came last.
 */
const timelineDraw = (() => {
  /** A column that consists of one state up to this share is drawn as a block of it. */
  const BLOCK = 0.97;
  /** Steps of the critical path are joined up to one for so many pixels: closer ones make a grey area. */
  const PIXELS_A_STEP = 8;
  /** Blocks get a name from this width on (CSS pixels). */
  const NAMED = 44;
  /** Units of work have a notch where they begin from this width on (CSS pixels). */
  const APART = 6;
  /** Holds have a line over their row from this width on (CSS pixels). */
  const WIDE_ENOUGH = 3;

  /** Colours as the page has them now: names of its variables, and numbers for pixels. */
  function palette(element, shades) {
    const style = getComputedStyle(element);
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 1;
    const context = canvas.getContext("2d", { willReadFrequently: true });
    const pixel = (color) => {
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = color || "#888";
      context.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
      return { r, g, b, number: ((a << 24) | (b << 16) | (g << 8) | r) >>> 0 };
    };
    const css = (name) => style.getPropertyValue(`--${name}`).trim();
    const named = {};
    for (const name of ["bg", "bg2", "ink", "ink2", "ink3", "line", "line2", "focus", "act", "hold", "lock"]) {
      named[name] = css(name) || "#888";
    }
    const linear = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
    const marks = shades.map((shade) => {
      const color = css(shade.color === "hatch" ? "line2" : shade.color), { r, g, b, number } = pixel(color);
      const luminance = 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
      // Of black and white the one with more contrast (WCAG 2): they are even at a luminance of 0.179.
      return { color, number, text: luminance > 0.179 ? "#0c1016" : "#ffffff", isHatched: shade.color === "hatch" };
    });
    return { ...named, marks, font: style.fontFamily || "sans-serif", hatch: pixel(named.bg2).number };
  }

  /** Makes a canvas so many CSS pixels large, and gives its context, scaled to them. */
  function sized(canvas, width, height) {
    const ratio = Math.min(Math.max(window.devicePixelRatio || 1, 1), 2);
    const w = Math.round(width * ratio), h = Math.round(height * ratio);
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
      canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return { context, ratio };
  }

  function text(context, colors, words, x, y, { color = "ink2", align = "left", size = 12, weight = 400 } = {}) {
    context.font = `${weight} ${size}px ${colors.font}`;
    context.fillStyle = colors[color] ?? color;
    context.textAlign = align;
    context.fillText(words, x, y);
  }

  /** A text that fits `width`: what is too long loses its middle, since the ends tell names apart. */
  function fitted(context, words, width) {
    if (context.measureText(words).width <= width) return words;
    let kept = words.length - 1;
    for (; kept > 1; kept--) {
      const cut = `${words.slice(0, Math.ceil(kept / 2))}…${words.slice(words.length - Math.floor(kept / 2))}`;
      if (context.measureText(cut).width <= width) return cut;
    }
    return kept > 0 && width > 8 ? `${words[0]}…` : "";
  }

  /** Writes the columns of one row into pixels: `shares` has `stride` values for each of `width` columns. */
  function mix(pixels, width, height, shares, stride, marks, hatch) {
    pixels.fill(0);
    for (let c = 0; c < width; c++) {
      let at = c * stride, sum = 0, most = 0;
      for (let k = 0; k < stride; k++) {
        sum += shares[at + k];
        if (shares[at + k] > shares[at + most]) most = k;
      }
      if (sum < 0.004) continue;
      if (shares[at + most] >= BLOCK * Math.max(sum, 0.999)) {
        column(pixels, width, c, 0, height, marks[most], hatch);
        continue;
      }
      let below = 0, y = height;
      for (let k = 0; k < stride; k++, at++) {
        if (!shares[at]) continue;
        below += shares[at];
        const top = Math.max(Math.round(height * (1 - Math.min(below, 1))), 0);
        if (top < y) column(pixels, width, c, top, y, marks[k], hatch);
        y = Math.min(y, top);
      }
    }
  }

  function column(pixels, width, c, top, bottom, mark, hatch) {
    for (let y = top, at = top * width + c; y < bottom; y++, at += width) {
      pixels[at] = mark.isHatched && (c + y) % 6 > 2 ? hatch : mark.number;
    }
  }

  /** The number of active threads over the whole run, with the view as a window over it. */
  function overview(canvas, model, colors, size, view) {
    const { width, left, height } = size, columns = Math.max(width - left, 1), length = model.json.length;
    const { context } = sized(canvas, width, height);
    const base = height - 4, top = 6, all = model.all;
    const stride = model.json.shades.length;
    if (model.courseWidth !== columns) {
      const sum = new Float32Array(columns * stride);
      model.courseWidth = columns;
      model.courseOf = timelineView.shares(model, all, 0, Math.max(length, 1), columns, sum);
    }
    const scale = all.length > 1 ? timelineView.together(model, all).peak : 1;
    const of = (c, k) => model.courseOf[c * stride + k] * scale;
    const shade = (name) => model.json.shades.findIndex((shade) => shade.color === name);
    const holding = shade("hold"), active = shade("act");
    let most = 1;
    for (let c = 0; c < columns; c++) most = Math.max(most, of(c, holding) + of(c, active));
    most = Math.max(Math.ceil(most - 0.05), 1);
    const y = (count) => base - (count / most) * (base - top);
    for (const [part, color] of [[(c) => of(c, holding) + of(c, active), "act"], [(c) => of(c, holding), "hold"]]) {
      context.fillStyle = colors[color];
      context.beginPath();
      context.moveTo(left, base);
      for (let c = 0; c < columns; c++) {
        context.lineTo(left + c, y(part(c)));
        context.lineTo(left + c + 1, y(part(c)));
      }
      context.lineTo(left + columns, base);
      context.fill();
    }
    context.fillStyle = colors.line2;
    context.fillRect(left, base, columns, 1);
    const mean = Math.round(y(model.json.parallelism)) + 0.5;
    context.strokeStyle = colors.ink;
    context.setLineDash([2, 3]);
    context.beginPath();
    context.moveTo(left, mean);
    context.lineTo(width, mean);
    context.stroke();
    context.setLineDash([]);
    text(context, colors, "active", left - 10, 18, { align: "right" });
    text(context, colors, "threads", left - 10, 32, { align: "right" });
    text(context, colors, `0 to ${most}`, left - 10, 46, { align: "right", size: 11, color: "ink3" });
    const label = `mean ${model.json.parallelism.toFixed(1)}`;
    context.font = `11px ${colors.font}`;
    const wide = context.measureText(label).width;
    context.fillStyle = colors.bg;
    context.globalAlpha = 0.8;
    context.fillRect(width - wide - 8, Math.max(mean - 15, 0), wide + 8, 13);
    context.globalAlpha = 1;
    text(context, colors, label, width - 3, Math.max(mean - 4.5, 10), { align: "right", size: 11, color: "ink" });
    if (view.to - view.from < length * 0.9999) {
      const from = left + (view.from / length) * columns, to = left + (view.to / length) * columns;
      context.fillStyle = colors.bg;
      context.globalAlpha = 0.68;
      context.fillRect(left, 0, from - left, height);
      context.fillRect(to, 0, width - to, height);
      context.globalAlpha = 1;
      context.strokeStyle = colors.ink;
      context.lineWidth = 1.5;
      context.strokeRect(from, 2, Math.max(to - from, 2), height - 4);
      context.lineWidth = 1;
    }
  }

  /** The axis, and what the program said: phases, and regions in up to three levels. */
  function head(canvas, model, colors, size, view, bands) {
    const { width, left, height } = size, columns = Math.max(width - left, 1);
    const { context } = sized(canvas, width, height);
    const x = (time) => left + ((time - view.from) / (view.to - view.from)) * columns;
    const { start, length } = model.json;
    const axis = timelineView.ticks(start + view.from, start + view.to, columns / 96);
    for (const time of axis.times) {
      const at = Math.round(x(time - start)) + 0.5;
      context.strokeStyle = colors.line2;
      context.beginPath();
      context.moveTo(at, height - 5);
      context.lineTo(at, height);
      context.stroke();
      const words = timelineView.moment(time, axis.step, start + length);
      const half = context.measureText(words).width / 2 + 6;
      const align = at + half > width ? "right" : at - half < left ? "left" : "center";
      text(context, colors, words, at, height - 9, { align, size: 11.5, color: "ink3" });
    }
    if (!size.isNarrow) text(context, colors, "criticality", left - 10, height - 9, { align: "right", size: 11, color: "ink3" });
    bands.forEach((band, level) => {
      const y = 14 + level * 18;
      for (const [begin, long, , label] of band.marks) {
        const from = Math.max(x(begin), left), to = Math.min(x(begin + long), width);
        if (to <= left || from >= width || to - from < 1) continue;
        context.fillStyle = colors.ink3;
        context.fillRect(from, y + 2, Math.max(to - from - 1, 1), 1.5);
        context.font = `11.5px ${colors.font}`;
        const words = label && to - from > 24 ? fitted(context, label, to - from - 6) : "";
        if (words) text(context, colors, words, from + 1, y - 2, { size: 11.5 });
      }
      text(context, colors, band.name, left - 10, y, { align: "right", size: 11, color: "ink3" });
    });
  }

  /** Labels of the lines that are in sight, left of their rows. */
  function labels(context, model, colors, size, line, y) {
    const { left, bar, isNarrow } = size, base = y + bar / 2 + 4;
    const isGroup = line.group >= 0, small = bar < 13;
    const share = line.share >= 0.005 ? `${Math.round(line.share * 100)} %` : "";
    const room = left - 14 - (isNarrow ? 0 : 38) - (line.isMember ? 10 : 0) - (isGroup ? 12 : 0);
    const style = { align: "right", size: small ? 10.5 : 12, color: isGroup || line.share >= 0.1 ? "ink" : "ink2" };
    context.font = `${isGroup ? 560 : 400} ${style.size}px ${colors.font}`;
    const right = left - 10 - (isNarrow ? 0 : 38);
    const tail = line.tail ?? "";
    const words = fitted(context, line.label, room - (tail ? context.measureText(tail).width : 0)) + tail;
    text(context, colors, words, right, base, { ...style, weight: isGroup ? 560 : 400 });
    if (!isNarrow) text(context, colors, share, left - 10, base, { align: "right", size: 11, color: "ink3" });
    if (line.canOpen) {
      const at = 6, middle = y + bar / 2;
      context.fillStyle = colors.ink2;
      context.beginPath();
      if (line.isOpen) {
        context.moveTo(at - 4, middle - 2);
        context.lineTo(at + 4, middle - 2);
        context.lineTo(at, middle + 3);
      } else {
        context.moveTo(at - 2, middle - 4);
        context.lineTo(at + 3, middle);
        context.lineTo(at - 2, middle + 4);
      }
      context.fill();
    }
  }

  /** Names of blocks that are wide enough: what is held, or waited for. */
  function names(context, model, colors, size, view, row, y, x) {
    const { left, width, bar } = size;
    if (bar < 13) return;
    for (const part of timelineView.partsOf(model.windows, view.from, view.to)) {
      if (!part.window) continue;
      const spans = part.window.rows[row];
      const level = model.levels[timelineView.levelFor(model.levels, (view.to - view.from) / (width - left))];
      if (level.bin <= (view.to - view.from) / (width - left)) return;
      for (let i = timelineView.firstAfter(spans.edges, part.from); i < spans.kinds.length; i++) {
        if (spans.edges[i] >= part.to) break;
        const from = Math.max(x(spans.edges[i]), left), to = Math.min(x(spans.edges[i + 1]), width);
        const kind = model.kinds[spans.kinds[i]];
        if (to - from < NAMED || kind.object < 0) continue;
        context.font = `11px ${colors.font}`;
        const words = fitted(context, model.json.objects[kind.object].name.replace(/^made in /, ""), to - from - 10);
        if (words.length > 2) {
          text(context, colors, words, from + 5, y + bar / 2 + 4, { size: 11, color: colors.marks[kind.shade].text });
        }
      }
    }
  }

  /** The rows in sight. `lines` are all lines; `scroll` is how far they are scrolled (CSS pixels). */
  function rows(canvas, model, colors, size, view, lines, scroll, options) {
    const { width, left, height, pitch, bar } = size, columns = Math.max(width - left, 1);
    const { context, ratio } = sized(canvas, width, height);
    const x = (time) => left + ((time - view.from) / (view.to - view.from)) * columns;
    const device = Math.round(columns * ratio), tall = Math.round(bar * ratio), stride = model.json.shades.length;
    const shares = new Float32Array(device * stride), onPath = new Float32Array(device);
    const image = context.createImageData(device, tall), pixels = new Uint32Array(image.data.buffer);
    const first = Math.max(Math.floor(scroll / pitch), 0), last = Math.min(Math.ceil((scroll + height) / pitch), lines.length);
    const top = (index) => Math.round(index * pitch - scroll) + 1;
    const lineOf = new Map();
    for (let index = first; index < last; index++) {
      const line = lines[index], y = top(index);
      if (line.row >= 0) lineOf.set(line.row, y);
      timelineView.shares(model, line.rows, view.from, view.to, device, shares);
      mix(pixels, device, tall, shares, stride, colors.marks, colors.hatch);
      context.putImageData(image, Math.round(left * ratio), Math.round(y * ratio));
      labels(context, model, colors, size, line, y);
      if (line.row < 0) continue;
      workMarks(context, model, colors, size, line.row, y, x);
      names(context, model, colors, size, view, line.row, y, x);
      if (options.path) {
        timelineView.pathShares(model, line.row, view.from, view.to, device, onPath);
        pathLine(context, colors, onPath, left, y + bar + 1, ratio);
      }
      if (options.lane) holdLine(context, model, colors, size, view, options.lane, line.row, y, x);
    }
    if (options.path) connectors(context, model, colors, size, view, lineOf, x);
    // Pixels of a row take the place of what was there: lines of the grid come last, behind all of it.
    context.globalCompositeOperation = "destination-over";
    context.fillStyle = colors.line;
    const { start } = model.json;
    for (const time of timelineView.ticks(start + view.from, start + view.to, columns / 96).times) {
      context.fillRect(Math.round(x(time - start)), 0, 1, height);
    }
    context.globalCompositeOperation = "source-over";
    return lineOf;
  }

  /** Where units of work begin, if they are wide enough to be told apart: notches in the upper edge of the row. */
  function workMarks(context, model, colors, size, row, y, x) {
    for (const [start, length] of model.workOf.get(row) ?? []) {
      const from = x(start), to = x(start + length);
      if (to <= size.left || from >= size.width || to - from < APART || from < size.left) continue;
      context.fillStyle = colors.bg;
      context.fillRect(from - 1, y, 2, 5);
    }
  }

  function pathLine(context, colors, onPath, left, y, ratio) {
    context.fillStyle = colors.ink;
    for (let c = 0; c < onPath.length; ) {
      const share = onPath[c];
      if (share < 0.004) {
        c++;
        continue;
      }
      let end = c + 1;
      while (end < onPath.length && onPath[end] >= 0.004 && Math.abs(onPath[end] - share) < 0.01) end++;
      context.globalAlpha = Math.min(0.15 + share * 0.85, 1);
      context.fillRect(left + c / ratio, y, (end - c) / ratio, 2.5);
      c = end;
    }
    context.globalAlpha = 1;
  }

  function connectors(context, model, colors, size, view, lineOf, x) {
    const most = (size.width - size.left) / PIXELS_A_STEP;
    const steps = timelineView.pathSteps(model, view.from, view.to, most);
    if (!steps) return;
    context.strokeStyle = colors.ink;
    context.lineWidth = 1.2;
    for (const step of steps) {
      const from = lineOf.get(step.from), to = lineOf.get(step.to);
      if (from === undefined || to === undefined) continue;
      context.beginPath();
      context.moveTo(x(step.time), from + size.bar + 2);
      context.lineTo(x(step.time), to + size.bar + 2);
      context.stroke();
    }
    context.lineWidth = 1;
  }

  /** Where a thread holds the chosen object: a line over its row. */
  function holdLine(context, model, colors, size, view, lane, row, y, x) {
    context.fillStyle = colors.hold;
    model.windows.forEach((window, index) => {
      if (window.to <= view.from || window.from >= view.to || !lane.holds[index]) return;
      const { starts, ends, rows } = lane.holds[index];
      for (let i = 0; i < starts.length && starts[i] < view.to; i++) {
        if (rows[i] !== row || ends[i] <= view.from) continue;
        const from = Math.max(x(starts[i]), size.left), to = Math.min(x(ends[i]), size.width);
        if (to - from >= WIDE_ENOUGH) context.fillRect(from, y - 2.5, to - from, 2);
      }
    });
  }

  /** The chosen object: how many threads wait for it, and who holds it. */
  function lane(canvas, model, colors, size, view, chosen) {
    const { width, left, height } = size, columns = Math.max(width - left, 1);
    const { context } = sized(canvas, width, height);
    const x = (time) => left + ((time - view.from) / (view.to - view.from)) * columns;
    const hasOwner = chosen.held !== null, base = hasOwner ? height - 18 : height - 4, top = 4;
    const { waiting, held, owner } = laneColumns(model, chosen, view, columns);
    const most = Math.max(1, Math.ceil(waiting.reduce((a, b) => Math.max(a, b), 0) - 0.05));
    context.fillStyle = colors.marks[waitShade(model, chosen)].color;
    for (let c = 0; c < columns; c++) {
      const tall = (waiting[c] / most) * (base - top);
      if (tall > 0.2) context.fillRect(left + c, base - tall, 1.02, tall);
    }
    context.fillStyle = colors.line2;
    context.fillRect(left, base, columns, 1);
    text(context, colors, "waiting", left - 10, top + 14, { align: "right" });
    text(context, colors, `0 to ${most}`, left - 10, top + 28, { align: "right", size: 11, color: "ink3" });
    if (!hasOwner) return;
    text(context, colors, "holder", left - 10, height - 4, { align: "right" });
    context.fillStyle = colors.hold;
    for (let c = 0; c < columns; c++) {
      if (held[c] < 0.004) continue;
      context.globalAlpha = Math.min(0.2 + held[c] * 0.8, 1);
      context.fillRect(left + c, base + 3, 1.02, 13);
    }
    context.globalAlpha = 1;
    holderNames(context, model, colors, held, owner, left, base + 3);
    const shade = model.json.shades.findIndex((shade) => shade.color === "hold");
    exactHolds(context, model, colors, view, chosen, left, width, x, base + 3, colors.marks[shade].text);
  }

  /** How waits for an object are drawn. */
  function waitShade(model, chosen) {
    const color = model.json.objects[chosen.object]?.color ?? "lock";
    return Math.max(model.json.shades.findIndex((shade) => shade.color === color), 0);
  }

  function holderNames(context, model, colors, held, owner, left, y) {
    const shade = colors.marks[model.json.shades.findIndex((shade) => shade.color === "hold")];
    for (let c = 0; c < owner.length; ) {
      let end = c + 1;
      while (end < owner.length && owner[end] === owner[c]) end++;
      if (owner[c] >= 0 && end - c > NAMED) {
        const mean = held.subarray(c, end).reduce((a, b) => a + b, 0) / (end - c);
        context.font = `10.5px ${colors.font}`;
        const words = fitted(context, model.json.threads[owner[c]].name, end - c - 8);
        if (mean > 0.7) text(context, colors, words, left + c + 4, y + 10, { size: 10.5, color: shade.text });
        context.fillStyle = colors.bg;
        context.fillRect(left + end - 0.5, y, 1, 13);
      }
      c = end;
    }
  }

  /** Single holds, where they are wide enough to be told apart. */
  function exactHolds(context, model, colors, view, chosen, left, width, x, y, ink) {
    model.windows.forEach((window, index) => {
      if (window.to <= view.from || window.from >= view.to || !chosen.holds[index]) return;
      const { starts, ends, rows } = chosen.holds[index];
      for (let i = 0; i < starts.length && starts[i] < view.to; i++) {
        const from = Math.max(x(starts[i]), left), to = Math.min(x(ends[i]), width);
        if (to - from < 4) continue;
        context.fillStyle = colors.hold;
        context.fillRect(from, y, to - from, 13);
        context.fillStyle = colors.bg;
        context.fillRect(to - 0.5, y, 1, 13);
        if (to - from > 22 && rows[i] >= 0) {
          context.font = `10.5px ${colors.font}`;
          const words = fitted(context, model.json.threads[rows[i]].name, to - from - 8);
          text(context, colors, words, from + 4, y + 10, { size: 10.5, color: ink });
        }
      }
    });
  }

  /** The lane in columns of a view: from exact spans where a bin is longer than a column and they are told. */
  function laneColumns(model, chosen, view, columns) {
    const { bin, bins, shades } = { ...model.json };
    const perColumn = (view.to - view.from) / columns;
    const waiting = new Float32Array(columns), held = new Float32Array(columns), owner = new Int16Array(columns).fill(-1);
    const waits = shades.map((shade) => ["lock", "bar", "spin", "sig", "wake"].includes(shade.color));
    const fine = bin <= perColumn;
    const parts = fine ? [{ from: view.from, to: view.to, window: null }] : timelineView.partsOf(model.windows, view.from, view.to);
    for (const part of parts) {
      if (part.window) {
        for (const spans of part.window.rows) {
          for (let i = timelineView.firstAfter(spans.edges, part.from); i < spans.kinds.length && spans.edges[i] < part.to; i++) {
            const kind = model.kinds[spans.kinds[i]];
            if (kind.object !== chosen.object || !waits[kind.shade]) continue;
            const start = Math.max(spans.edges[i], part.from), end = Math.min(spans.edges[i + 1], part.to);
            timelineView.spread(waiting, 1, 0, columns, view.from, view.to, start, end, 1);
          }
        }
        const holds = chosen.holds[model.windows.indexOf(part.window)];
        for (let i = 0; holds && i < holds.starts.length; i++) {
          const start = Math.max(holds.starts[i], part.from), end = Math.min(holds.ends[i], part.to);
          if (start < end) timelineView.spread(held, 1, 0, columns, view.from, view.to, start, end, 1);
        }
        continue;
      }
      for (let b = Math.max(Math.floor(part.from / bin), 0); b < bins && b * bin < part.to; b++) {
        const start = Math.max(b * bin, part.from), end = Math.min((b + 1) * bin, part.to);
        timelineView.spread(waiting, 1, 0, columns, view.from, view.to, start, end, chosen.waiting[b]);
        if (!chosen.held || !chosen.held[b]) continue;
        timelineView.spread(held, 1, 0, columns, view.from, view.to, start, end, chosen.held[b] / 255);
        const first = Math.floor((start - view.from) / perColumn), last = Math.ceil((end - view.from) / perColumn);
        for (let c = Math.max(first, 0); c < Math.min(last, columns); c++) owner[c] = chosen.owner[b];
      }
    }
    return { waiting, held, owner };
  }

  /** A frame around a span, and arrows from the one who ended it, and to those whose waits it ended. */
  function marked(context, model, colors, size, view, lineOf, span, others) {
    const { width, left, bar } = size;
    const x = (time) => left + ((time - view.from) / (view.to - view.from)) * (width - left);
    const y = lineOf.get(span.row);
    if (y !== undefined) {
      const from = Math.max(x(span.start), left), to = Math.min(x(span.end), width);
      if (to > left && from < width) {
        context.strokeStyle = colors.bg;
        context.lineWidth = 4;
        context.strokeRect(from - 0.75, y - 1.25, Math.max(to - from, 1) + 1.5, bar + 2.5);
        context.strokeStyle = colors.ink;
        context.lineWidth = 1.75;
        context.strokeRect(from - 0.75, y - 1.25, Math.max(to - from, 1) + 1.5, bar + 2.5);
        context.lineWidth = 1;
      }
    }
    if (span.by >= 0 && span.by !== span.row) arrow(context, colors, size, x(span.end), lineOf, span.by, span.row);
    for (const other of others) arrow(context, colors, size, x(other.end), lineOf, other.by, other.row);
  }

  function arrow(context, colors, size, at, lineOf, fromRow, toRow) {
    const from = lineOf.get(fromRow), to = lineOf.get(toRow);
    if (from === undefined || to === undefined || at < size.left || at > size.width) return;
    const middle = size.bar / 2, down = to > from ? 1 : -1, y0 = from + middle, y1 = to + middle - down * 4;
    for (const [color, wide] of [[colors.bg, 4.5], [colors.ink, 1.8]]) {
      context.strokeStyle = context.fillStyle = color;
      context.lineWidth = wide;
      context.beginPath();
      context.moveTo(at, y0);
      context.lineTo(at, y1 - down * 4);
      context.stroke();
      context.beginPath();
      context.arc(at, y0, wide / 2 + 2, 0, 7);
      context.fill();
    }
    context.beginPath();
    context.moveTo(at, y1 + down * 4);
    context.lineTo(at - 5, y1 - down * 5);
    context.lineTo(at + 5, y1 - down * 5);
    context.fill();
    context.lineWidth = 1;
  }

  return { palette, overview, head, rows, lane, marked, mix, fitted };
})();
