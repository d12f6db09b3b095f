"use strict";
/*
 * What is to be seen of a timeline between two times: everything about it that needs no canvas. A model is
 * { json, levels, lanes, windows, kinds, groups }; times are nanoseconds after the start of the process.
 */
const timelineView = (() => {
  /** Zooming in ends where the view is this long (ns): below it there is nothing left to tell apart. */
  const SHORTEST = 200;
  /** A group with so few rows is never closed: that many are shown of the others too. */
  const SHOWN = 4;

  /** The coarsest level whose bins are no longer than a pixel; the finest where none is that fine. */
  function levelFor(levels, perPixel) {
    let best = 0;
    for (let i = 1; i < levels.length; i++) if (levels[i].bin <= perPixel) best = i;
    return best;
  }

  /** The index of the span that `time` lies in: edges[i] <= time < edges[i + 1]; -1 outside of all. */
  function indexAt(edges, time) {
    if (!edges.length || time < edges[0] || time >= edges[edges.length - 1]) return -1;
    let low = 0, high = edges.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (edges[middle] <= time) low = middle;
      else high = middle;
    }
    return low;
  }

  /** The index of the first span that ends after `time`. */
  function firstAfter(edges, time) {
    if (!edges.length || time < edges[0]) return 0;
    const index = indexAt(edges, time);
    return index < 0 ? edges.length - 1 : index;
  }

  /** The parts of `from` to `to` with the window that tells them exactly, or null. */
  function partsOf(windows, from, to) {
    const parts = [];
    let at = from;
    for (const window of windows) {
      if (window.to <= at || window.from >= to) continue;
      if (window.from > at) parts.push({ from: at, to: window.from, window: null });
      const start = Math.max(at, window.from), end = Math.min(to, window.to);
      parts.push({ from: start, to: end, window });
      at = end;
    }
    if (at < to) parts.push({ from: at, to, window: null });
    return parts;
  }

  /** Adds the time from `start` to `end` to the columns of `from` to `to`: in each the share of its length. */
  function spread(out, stride, offset, columns, from, to, start, end, weight) {
    const scale = columns / (to - from);
    const p = Math.max((start - from) * scale, 0), q = Math.min((end - from) * scale, columns);
    if (!(q > p)) return;
    const first = Math.floor(p), last = Math.min(Math.floor(q), columns - 1);
    if (first === last) {
      out[first * stride + offset] += (q - p) * weight;
      return;
    }
    out[first * stride + offset] += (first + 1 - p) * weight;
    for (let c = first + 1; c < last; c++) out[c * stride + offset] += weight;
    out[last * stride + offset] += (q - last) * weight;
  }

  function addLevel(out, stride, columns, from, to, part, planes, level) {
    const first = Math.max(Math.floor(part.from / level.bin), 0);
    const last = Math.min(Math.ceil(part.to / level.bin), level.bins);
    planes.forEach((plane, offset) => {
      if (!plane || offset >= stride) return;
      for (let bin = first; bin < last; bin++) {
        const value = plane[bin];
        if (!value) continue;
        const start = Math.max(bin * level.bin, part.from), end = Math.min((bin + 1) * level.bin, part.to);
        spread(out, stride, offset, columns, from, to, start, end, value / level.full);
      }
    });
  }

  function addSpans(out, stride, columns, from, to, part, spans, kinds) {
    const { edges } = spans;
    let i = firstAfter(edges, part.from);
    for (; i < spans.kinds.length && edges[i] < part.to; i++) {
      const start = Math.max(edges[i], part.from), end = Math.min(edges[i + 1], part.to);
      spread(out, stride, kinds[spans.kinds[i]].shade, columns, from, to, start, end, 1);
    }
  }

  /**
   * How much of each shade there is in each of `columns` columns from `from` to `to`, of a row or (several numbers) of a
   * group (of as many threads as live at once at the most): into `out`, `model.json.shades.length` values a column, each from 0 to 1. Costs columns, not spans: exact
   * spans are looked at only where a bin is longer than a column.
   */
  function shares(model, rows, from, to, columns, out) {
    const stride = model.json.shades.length;
    out.fill(0, 0, columns * stride);
    const at = levelFor(model.levels, (to - from) / columns);
    const level = model.levels[at];
    const isFine = level.bin <= (to - from) / columns;
    const planes = rows.length === 1 ? level.rows[rows[0]] : together(model, rows).levels[at];
    const whole = [{ from, to, window: null }];
    for (const part of isFine || rows.length > 1 ? whole : partsOf(model.windows, from, to)) {
      if (part.window) addSpans(out, stride, columns, from, to, part, part.window.rows[rows[0]], model.kinds);
      else addLevel(out, stride, columns, from, to, part, planes, level);
    }
    return out;
  }

  /** Several rows as one; kept, since it costs all bins of all of them. */
  function together(model, rows) {
    let known = model.together.get(rows);
    if (!known) model.together.set(rows, (known = timelineData.sumOf(model.levels, rows)));
    return known;
  }

  /** How much of each column the critical path spends on a row, into `out`. */
  function pathShares(model, row, from, to, columns, out) {
    out.fill(0, 0, columns);
    const level = model.levels[levelFor(model.levels, (to - from) / columns)];
    const plane = level.rows[row][model.json.shades.length];
    const isFine = level.bin <= (to - from) / columns;
    for (const part of isFine ? [{ from, to, window: null }] : partsOf(model.windows, from, to)) {
      if (part.window) {
        const { edges, rows } = part.window.path;
        let i = firstAfter(edges, part.from);
        for (; i < rows.length && edges[i] < part.to; i++) {
          if (rows[i] !== row) continue;
          const start = Math.max(edges[i], part.from), end = Math.min(edges[i + 1], part.to);
          spread(out, 1, 0, columns, from, to, start, end, 1);
        }
      } else if (plane) {
        addLevel(out, 1, columns, from, to, part, [plane], level);
      }
    }
    return out;
  }

  /** Where the path goes from one row to another in a view: { time, from, to }; null where that is not told exactly. */
  function pathSteps(model, from, to, most) {
    const steps = [];
    for (const part of partsOf(model.windows, from, to)) {
      if (!part.window) return null;
      const { edges, rows } = part.window.path;
      let i = firstAfter(edges, part.from);
      for (; i < rows.length && edges[i] < part.to; i++) {
        if (i > 0 && edges[i] >= part.from && rows[i - 1] >= 0 && rows[i] >= 0) {
          steps.push({ time: edges[i], from: rows[i - 1], to: rows[i] });
          if (steps.length > most) return null;
        }
      }
    }
    return steps;
  }

  function spanOf(model, window, row, index) {
    const spans = model.windows[window].rows[row];
    return {
      row,
      window,
      index,
      start: spans.edges[index],
      end: spans.edges[index + 1],
      ...model.kinds[spans.kinds[index]],
    };
  }

  /** The span of a row at a time; null where it is not told exactly, or the thread does not live. */
  function spanAt(model, row, time) {
    const window = model.windows.findIndex((window) => window.from <= time && time < window.to);
    if (window < 0 || row < 0) return null;
    const index = indexAt(model.windows[window].rows[row].edges, time);
    return index < 0 ? null : spanOf(model, window, row, index);
  }

  /** The span of the same row before (-1) or after (1) a span; null at the ends of what is told. */
  function beside(model, span, step) {
    for (let w = span.window; w >= 0 && w < model.windows.length; w += step) {
      const { kinds, edges } = model.windows[w].rows[span.row];
      let i = w === span.window ? span.index + step : step > 0 ? 0 : kinds.length - 1;
      // A span that reaches into two windows is told in both.
      while (i >= 0 && i < kinds.length && (step > 0 ? edges[i] < span.end : edges[i + 1] > span.start)) i += step;
      if (i >= 0 && i < kinds.length) return spanOf(model, w, span.row, i);
    }
    return null;
  }

  /** The waits that the thread of a span ended during it: at most `most`, and how many there are. */
  function released(model, span, most) {
    const found = [];
    let count = 0;
    const isEnd = (shade) => ["lock", "bar", "sig", "spin"].includes(model.json.shades[shade].color);
    for (const part of partsOf(model.windows, span.start, span.end + 1)) {
      if (!part.window) continue;
      const w = model.windows.indexOf(part.window);
      part.window.rows.forEach((spans, row) => {
        if (row === span.row) return;
        let i = firstAfter(spans.edges, part.from);
        for (; i < spans.kinds.length && spans.edges[i] < part.to; i++) {
          const end = spans.edges[i + 1], kind = model.kinds[spans.kinds[i]];
          if (kind.by !== span.row || !isEnd(kind.shade)) continue;
          if (end < part.from || end > Math.min(part.to, span.end) || end < span.start) continue;
          count++;
          if (found.length < most) found.push(spanOf(model, w, row, i));
        }
      });
    }
    return { found, count };
  }

  /** True if all of a view is told exactly. */
  const isExact = (model, from, to) => partsOf(model.windows, from, to).every((part) => part.window);

  /**
   * The lines of the picture, from above: { rows, label, share, group, isOpen }. Threads without a group
   * have a row each; of a closed
   * group the sum, its most critical threads, the one in the middle, and the least critical one.
   */
  function lines(json, isOpen) {
    const one = (row) => ({ rows: [row], row, group: -1, label: json.threads[row].name, share: json.threads[row].critical });
    const grouped = new Set(json.groups.flatMap((group) => group.rows));
    const alone = [...json.threads.keys()].filter((row) => !grouped.has(row)).map(one);
    const groups = json.groups.flatMap((group, index) => {
      const share = group.rows.reduce((sum, row) => sum + json.threads[row].critical, 0);
      const name = group.name === null ? "other threads" : group.name;
      const head = { rows: group.rows, row: -1, group: index, label: name, tail: ` × ${group.rows.length}`, share };
      const open = isOpen.has(index) || group.rows.length <= SHOWN;
      const shown = open ? group.rows : chosen(group.rows);
      const member = (row) => ({ ...one(row), isMember: true });
      return [{ ...head, isOpen: open, canOpen: group.rows.length > SHOWN }, ...shown.map(member)];
    });
    return [...alone, ...groups];
  }

  function chosen(rows) {
    const last = rows.length - 1;
    return [...new Set([0, 1, last >> 1, last])].map((rank) => rows[rank]);
  }

  /** A view no shorter than the shortest, inside of the run. */
  function within(length, from, to) {
    const whole = Math.max(length, 1);
    const wide = Math.min(Math.max(to - from, Math.min(SHORTEST, whole)), whole);
    const start = Math.min(Math.max((from + to - wide) / 2, 0), whole - wide);
    return { from: start, to: start + wide };
  }

  /** The same view `factor` times as long, with `time` where it was. */
  function zoomed(length, view, factor, time) {
    const from = time - (time - view.from) * factor;
    const wide = (view.to - view.from) * factor;
    if (wide < SHORTEST || wide > length) return within(length, from, from + wide);
    const start = Math.min(Math.max(from, 0), length - wide);
    return { from: start, to: start + wide };
  }

  /** Round times (ns) for an axis, about `count` of them: multiples of 1, 2 or 5 × 10ⁿ. */
  function ticks(from, to, count) {
    const rough = Math.max((to - from) / Math.max(count, 1), 1e-3);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((k) => k * power).find((step) => step >= rough * 0.999);
    const times = [];
    for (let k = Math.ceil(from / step); k * step <= to && times.length < 100; k++) times.push(k * step);
    return { step, times };
  }

  const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
  const digits = (value) => (value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);

  /** A length of time with two or three digits. */
  function duration(ns) {
    const [scale, unit] = UNITS.find(([scale]) => ns >= scale * 0.9995) ?? [1, "ns"];
    const value = ns / scale;
    return `${value.toFixed(unit === "ns" ? 0 : digits(value))} ${unit}`;
  }

  /** A moment, with as many digits as tell `step` apart: in seconds, or in a smaller unit where the run is shorter. */
  function moment(ns, step, length) {
    const [scale, unit] = UNITS.find(([scale]) => length >= scale) ?? [1, "ns"];
    const decimals = Math.min(Math.max(Math.ceil(-Math.log10(step / scale) - 1e-9), 0), 9);
    return `${(ns / scale).toFixed(decimals)} ${unit}`;
  }

  /** `#t=6.98,7.18&sel=4@7.08`: seconds after the start of the recording, and a row at such a time. */
  function hashOf(start, view, selected) {
    const step = (view.to - view.from) / 1000;
    const decimals = Math.min(Math.max(Math.ceil(-Math.log10(step / 1e9)), 2), 9);
    const seconds = (ns) => ((start + ns) / 1e9).toFixed(decimals);
    const sel = selected ? `&sel=${selected.row}@${((start + (selected.start + selected.end) / 2) / 1e9).toFixed(9)}` : "";
    return `#t=${seconds(view.from)},${seconds(view.to)}${sel}`;
  }

  function parseHash(start, hash) {
    const found = /^#t=([\d.]+),([\d.]+)(?:&sel=(\d+)@([\d.]+))?$/.exec(hash);
    if (!found) return null;
    const time = (seconds) => Number(seconds) * 1e9 - start;
    const view = { from: time(found[1]), to: time(found[2]), row: -1, at: 0 };
    if (!(view.to > view.from)) return null;
    return found[3] === undefined ? view : { ...view, row: Number(found[3]), at: time(found[4]) };
  }

  /** The command that writes a page of a view, for the times of the recording. */
  function closerCommand(start, view) {
    const decimals = Math.min(Math.max(Math.ceil(-Math.log10((view.to - view.from) / 1e9)) + 1, 2), 9);
    const seconds = (ns) => ((start + ns) / 1e9).toFixed(decimals);
    return `holdup report FILE --from ${seconds(view.from)} --to ${seconds(view.to)} --html closer.html`;
  }

  return {
    levelFor, indexAt, firstAfter, partsOf, spread, shares, together, pathShares, pathSteps, spanAt, spanOf, beside, released, isExact, lines,
    within, zoomed, ticks, duration, moment, hashOf, parseHash, closerCommand,
  };
})();
