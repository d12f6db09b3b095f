"use strict";
/*
 * Reads the columns of a page's timeline. Their layout is described in src/page/timeline/: the level of detail in mod.rs,
 * the lanes in lanes.rs, the rest in exact.rs. All times are nanoseconds after the start of the process.
 */
const timelineData = (() => {
  /** How often a coarser level is made: each bin holds four of the finer one. */
  const STEP = 4;
  /** A level with fewer bins is of no use: it is coarser than any picture. */
  const COARSEST = 64;
  /** Sums of 255ths fit sixteen bits up to this many bins of the finest level. */
  const MOST_IN_SUM = 256;
  /** Waiters are told in parts of this size of one: lanes.rs. */
  const WAITER = 64;

  function bytesOf(base64) {
    const text = atob(base64.trim());
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes;
  }

  async function inflate(bytes) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  /** The parts that lie one behind the other in `bytes`, still compressed. */
  function partsOf(bytes, lengths) {
    let at = 0;
    return lengths.map((length) => bytes.subarray(at, (at += length)));
  }

  /** Reads numbers as columns.rs writes them. Beyond 2^53 they lose digits and nothing else. */
  class Reader {
    constructor(bytes) {
      this.bytes = bytes;
      this.at = 0;
    }
    byte() {
      if (this.at >= this.bytes.length) throw new RangeError("the columns end too early");
      return this.bytes[this.at++];
    }
    take(length) {
      if (this.at + length > this.bytes.length) throw new RangeError("the columns end too early");
      return this.bytes.subarray(this.at, (this.at += length));
    }
    number() {
      let byte = this.byte();
      if (byte < 0x80) return byte;
      let value = byte & 0x7f, scale = 128;
      do {
        byte = this.byte();
        value += (byte & 0x7f) * scale;
        scale *= 128;
      } while (byte >= 0x80);
      return value;
    }
    /** -1 for what is missing. */
    maybe() {
      return this.number() - 1;
    }
    difference() {
      const value = this.number();
      return value % 2 ? -(value + 1) / 2 : value / 2;
    }
  }

  /**
   * The finest level: for each row a plane for each shade and one more for the critical path; null where it has nothing
   * of it. `full` is what a plane has where a bin consists of nothing else.
   */
  function readLevel(bytes, json) {
    const reader = new Reader(bytes), planes = json.shades.length + 1;
    const rows = json.threads.map(() => {
      const set = reader.number();
      return Array.from({ length: planes }, (_, plane) => (set & (1 << plane) ? reader.take(json.bins) : null));
    });
    return { bin: json.bin, bins: json.bins, full: 255, rows };
  }

  function coarserPlane(plane) {
    const sums = new Uint16Array(Math.ceil(plane.length / STEP));
    for (let i = 0; i < plane.length; i++) sums[(i / STEP) | 0] += plane[i];
    return sums;
  }

  /** From the finest level to the coarsest. Each is the sum of the one before it. */
  function levelsOf(finest) {
    const levels = [finest];
    let last = finest;
    while (last.bins / STEP >= COARSEST && (last.full / 255) * STEP <= MOST_IN_SUM) {
      last = {
        bin: last.bin * STEP,
        bins: Math.ceil(last.bins / STEP),
        full: last.full * STEP,
        rows: last.rows.map((planes) => planes.map((plane) => plane && coarserPlane(plane))),
      };
      levels.push(last);
    }
    return levels;
  }

  /**
   * The same levels of several rows together. Where most of them live at once they fill a bin: `peak` is how many that
   * are.
   */
  function sumOf(levels, rows) {
    const sums = levels.map((level) => {
      const planes = level.rows[0].map(() => null);
      for (const row of rows) {
        level.rows[row].forEach((plane, index) => {
          if (!plane) return;
          const sum = (planes[index] ??= new Float32Array(level.bins));
          for (let i = 0; i < sum.length; i++) sum[i] += plane[i];
        });
      }
      return planes;
    });
    const finest = sums[0].slice(0, -1), { bins, full } = levels[0];
    let most = 0;
    for (let i = 0; i < bins; i++) most = Math.max(most, finest.reduce((all, plane) => all + (plane ? plane[i] : 0), 0));
    const peak = Math.max(most / full, 1e-9);
    for (const planes of sums) for (const sum of planes) if (sum) for (let i = 0; i < sum.length; i++) sum[i] /= peak;
    return { levels: sums, peak };
  }

  /** For each lane how many threads wait, and, of what was held, for how much of each bin and by which row (-1: by several). */
  function readLanes(bytes, json) {
    const reader = new Reader(bytes);
    const lanes = json.lanes.map((object) => {
      const waiting = new Float32Array(json.bins);
      for (let i = 0; i < waiting.length; i++) waiting[i] = reader.number() / WAITER;
      return { object, waiting, held: null, owner: null, holds: [] };
    });
    for (const lane of lanes) {
      if (!reader.number()) continue;
      lane.held = reader.take(json.bins);
      lane.owner = new Int16Array(json.bins);
      for (let i = 0; i < json.bins; i++) lane.owner[i] = reader.maybe();
    }
    return lanes;
  }

  /** The spans of one row in one window: `edges[i]` to `edges[i + 1]` is of `kinds[i]`. */
  function readSpans(reader, from) {
    const count = reader.number();
    const edges = new Float64Array(count ? count + 1 : 0), kinds = new Uint32Array(count);
    if (count) {
      edges[0] = from + reader.difference();
      for (let i = 0; i < count; i++) edges[i + 1] = edges[i] + reader.number();
      for (let i = 0; i < count; i++) kinds[i] = reader.number();
    }
    return { edges, kinds };
  }

  function readHolds(reader, from) {
    const count = reader.number();
    const starts = new Float64Array(count), ends = new Float64Array(count), rows = new Int16Array(count);
    let before = from;
    for (let i = 0; i < count; i++) {
      before = starts[i] = before + reader.difference();
      ends[i] = before + reader.number();
      rows[i] = reader.maybe();
    }
    return { starts, ends, rows };
  }

  function readPath(reader) {
    const count = reader.number();
    const edges = new Float64Array(count ? count + 1 : 0), rows = new Int16Array(count);
    if (count) edges[0] = reader.number();
    for (let i = 0; i < count; i++) {
      edges[i + 1] = edges[i] + reader.number();
      rows[i] = reader.maybe();
    }
    return { edges, rows };
  }

  /** What is told exactly: windows with the spans of each row and the critical path; the kinds of spans; holds into `lanes`. */
  function readExact(bytes, json, lanes) {
    const reader = new Reader(bytes);
    const windows = json.windows.map(([from, to]) => ({
      from,
      to,
      rows: json.threads.map(() => readSpans(reader, from)),
      path: null,
    }));
    const kinds = Array.from({ length: reader.number() }, () => ({
      shade: reader.number(),
      object: reader.maybe(),
      place: reader.maybe(),
      by: reader.maybe(),
    }));
    for (const lane of lanes) lane.holds = json.windows.map(([from]) => readHolds(reader, from));
    for (const window of windows) window.path = readPath(reader);
    return { windows, kinds };
  }

  return { bytesOf, inflate, partsOf, Reader, readLevel, levelsOf, sumOf, readLanes, readExact };
})();
