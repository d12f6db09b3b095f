"use strict";
checks(() => {
  const { Reader, levelsOf, sumOf } = timelineData;
  const view = timelineView;

  const numbers = new Reader(new Uint8Array([0x05, 0x80, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x03, 0x04, 0x00, 0x09]));
  same("numbers of one and of many bytes", [numbers.number(), numbers.number(), numbers.number()], [5, 128, 2 ** 53 - 1]);
  same("differences of both signs", [numbers.difference(), numbers.difference()], [-2, 2]);
  same("what is missing, and what is not", [numbers.maybe(), numbers.maybe()], [-1, 8]);
  let ended = false;
  try {
    numbers.number();
  } catch {
    ended = true;
  }
  check("columns that end too early are an error", ended);

  const planes = [0, 1].map((shift) => Uint8Array.from({ length: 1024 }, (_, i) => (i * 7 + shift * 91) % 256));
  const finest = { bin: 10, bins: 1024, full: 255, rows: [[planes[0], null], [null, planes[1]]] };
  const levels = levelsOf(finest);
  same("levels are made down to the coarsest of use", levels.map((level) => level.bins), [1024, 256, 64]);
  for (let k = 1; k < levels.length; k++) {
    const [fine, coarse] = [levels[k - 1], levels[k]];
    let wrong = 0;
    coarse.rows.forEach((row, r) => row.forEach((plane, p) => plane?.forEach((value, i) => {
      const sum = fine.rows[r][p].slice(4 * i, 4 * i + 4).reduce((a, b) => a + b, 0);
      if (sum !== value) wrong++;
    })));
    same(`level ${k} is the sum of the one before`, [wrong, coarse.bin, coarse.full], [0, fine.bin * 4, fine.full * 4]);
  }
  const both = sumOf([finest], [0, 1]), peak = Math.max(...planes[0].map((value, i) => (value + planes[1][i]) / 255));
  near("a group is as many as live at once", both.peak, Math.fround(peak), 2 / 255);
  near("and its parts are of that many", both.levels[0][0][5] * both.peak, planes[0][5], 1e-3);

  same("the coarsest level that is fine enough", [5, 10, 39, 40, 159, 160, 1e9].map((px) => view.levelFor(levels, px)), [0, 0, 0, 1, 1, 2, 2]);

  const edges = Float64Array.of(10, 20, 50, 51);
  same("the span at a time", [9, 10, 19.5, 20, 50, 50.5, 51].map((t) => view.indexAt(edges, t)), [-1, 0, 0, 1, 2, 2, -1]);
  same("the first span after a time", [0, 10, 20, 50.5, 51, 99].map((t) => view.firstAfter(edges, t)), [0, 0, 1, 2, 3, 3]);

  // Two rows; the first half of the run is told exactly.
  const shades = ["hold", "act", "lock"].map((color) => ({ color, words: color }));
  const flat = (value) => new Uint8Array(64).fill(value);
  const model = {
    json: { shades, length: 6400, threads: [{ name: "a", critical: 0.6 }, { name: "b", critical: 0.4 }], groups: [] },
    levels: [{ bin: 100, bins: 64, full: 255, rows: [[null, flat(51), flat(204), null], [null, flat(255), null, flat(255)]] }],
    windows: [{
      from: 0,
      to: 3200,
      rows: [
        { edges: Float64Array.of(0, 640, 3200), kinds: Uint32Array.of(0, 1) },
        { edges: Float64Array.of(0, 640, 1000, 4000), kinds: Uint32Array.of(0, 2, 0) },
      ],
      path: { edges: Float64Array.of(0, 640, 3200), rows: Int16Array.of(1, 0) },
    }],
    kinds: [
      { shade: 1, object: -1, place: -1, by: -1 },
      { shade: 2, object: 0, place: 0, by: 1 },
      { shade: 0, object: 0, place: 0, by: -1 },
    ],
    together: new Map(),
  };
  const out = (columns) => new Float32Array(columns * 3);
  const rounded = (values) => [...values].map((value) => Math.round(value * 1000) / 1000);
  same("a fine view is drawn from exact spans", rounded(view.shares(model, [0], 600, 680, 2, out(2))), [0, 1, 0, 0, 0, 1]);
  same("a narrow span is a part of its column", rounded(view.shares(model, [0], 0, 1280, 1, out(1))), [0, 0.2, 0.8]);
  same("a coarse view is drawn from the level", rounded(view.shares(model, [0], 0, 6400, 2, out(2))), [0, 0.2, 0.8, 0, 0.2, 0.8]);
  same("so is what is not told exactly", rounded(view.shares(model, [0], 4000, 4010, 1, out(1))), [0, 0.2, 0.8]);
  const shares = view.shares(model, [1], 3100, 3300, 7, out(7));
  const sums = Array.from({ length: 7 }, (_, c) => shares[3 * c] + shares[3 * c + 1] + shares[3 * c + 2]);
  check("columns are full where both meet", sums.every((sum) => Math.abs(sum - 1) < 0.02));
  same("the parts of a view", view.partsOf(model.windows, 3000, 4000).map((p) => [p.from, p.to, !p.window]), [[3000, 3200, false], [3200, 4000, true]]);
  same("what is exact", [view.isExact(model, 0, 3200), view.isExact(model, 0, 3201)], [true, false]);
  same("steps of the path", view.pathSteps(model, 0, 3200, 9), [{ time: 640, from: 1, to: 0 }]);
  same("too many steps are none", view.pathSteps(model, 0, 3200, 0), null);
  same("steps that are not told are none", view.pathSteps(model, 0, 6400, 9), null);
  same("the path on a row", rounded(view.pathShares(model, 0, 600, 680, 2, new Float32Array(2))), [0, 1]);

  const span = view.spanAt(model, 0, 700);
  same("a span with what it is", [span.start, span.end, span.shade, span.by], [640, 3200, 2, 1]);
  same("no span where none is told", [view.spanAt(model, 0, 5000), view.spanAt(model, -1, 5)], [null, null]);
  same("the span before", view.beside(model, span, -1).end, 640);
  same("and none after the last", view.beside(model, span, 1), null);
  const ender = view.spanAt(model, 1, 3150);
  same("the waits that a span ended", [view.released(model, ender, 9).count, view.released(model, ender, 9).found[0].row], [1, 0]);
  same("another span ended none", view.released(model, view.spanAt(model, 1, 700), 9).count, 0);

  same("a view stays inside of the run", view.within(1000, -100, 300), { from: 0, to: 400 });
  same("at its end too", view.within(1000, 900, 1200), { from: 700, to: 1000 });
  same("and is all of it at the most", view.within(1000, -5e9, 5e9), { from: 0, to: 1000 });
  const zoomed = view.zoomed(1e6, { from: 0, to: 1e6 }, 0.5, 2e5);
  same("a zoom keeps the time under the pointer", zoomed, { from: 1e5, to: 6e5 });
  const least = view.zoomed(1e6, { from: 500, to: 900 }, 1e-9, 700);
  same("zooming in ends", least.to - least.from, 200);
  same("a run shorter than that is seen whole", view.within(50, 10, 20), { from: 0, to: 50 });

  same("ticks are round", view.ticks(0, 1e9, 10).times.slice(0, 3), [0, 1e8, 2e8]);
  same("moments tell ticks apart", view.moment(2e8, 1e8, 2e9), "0.2 s");
  same("and so do those of short runs", view.moment(2e5, 1e5, 9e5), "200 µs");
  same("lengths have two or three digits", [999, 1500, 15e6, 123e6, 59.96e9].map(view.duration), ["999 ns", "1.50 µs", "15.0 ms", "123 ms", "60.0 s"]);

  const hash = view.hashOf(5e9, { from: 1.98e9, to: 2.18e9 }, { row: 4, start: 2.07e9, end: 2.09e9 });
  same("a link names view and span", hash, "#t=6.9800,7.1800&sel=4@7.080000000");
  same("and leads back", view.parseHash(5e9, hash), { from: 1.98e9, to: 2.18e9, row: 4, at: 2.08e9 });
  same("a link without a span", view.parseHash(0, "#t=1,2").row, -1);
  same("what is no link", ["#when", "#t=2,1", "#t=a,b", "#t=1,2&sel=-1@2", ""].map((h) => view.parseHash(0, h)), [null, null, null, null, null]);
  same("the command for a closer page", view.closerCommand(1e9, { from: 2.5e8, to: 3.5e8 }), "holdup report FILE --from 1.25 --to 1.35 --html closer.html");

  const json = { threads: Array.from({ length: 12 }, (_, row) => ({ name: `t${row}`, critical: 1 / 12 })), groups: [{ name: "run", rows: [3, 1, 2, 4, 5, 6, 7] }, { name: null, rows: [8, 9] }] };
  same("a closed group shows its first, middle and last", view.lines(json, new Set()).map((l) => (l.row < 0 ? l.label : l.row)), [0, 10, 11, "run", 3, 1, 4, 7, "other threads", 8, 9]);
  same("an open one all", view.lines(json, new Set([0])).length, 14);
});
