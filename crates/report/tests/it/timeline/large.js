"use strict";
checks(async () => {
  const cost = { now: 0, all: [] };
  for (const name of ["overview", "head", "rows", "lane", "marked"]) {
    const draw = timelineDraw[name];
    timelineDraw[name] = (...given) => {
      const begun = performance.now();
      const result = draw(...given);
      cost.now += performance.now() - begun;
      return result;
    };
  }
  const rows = await whenDrawn();
  const mark = (name) => performance.getEntriesByName(name)[0]?.startTime.toFixed(0);
  tell(`first paint ${mark("first-paint")} ms, timeline drawn ${mark("timeline-first")} ms, all of it read ${mark("timeline-whole")} ms after the request`);
  const key = async (key) => {
    cost.now = 0;
    rows.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    await frames();
    cost.all.push([key, rows.getAttribute("aria-label"), cost.now]);
  };
  for (let i = 0; i < 22; i++) await key("+");
  for (let i = 0; i < 10; i++) await key("ArrowRight");
  for (let i = 0; i < 22; i++) await key("-");
  document.querySelectorAll(".tl-presets button")[1]?.click();
  await frames();
  await later(100);
  for (let i = 0; i < 4; i++) await key("-");
  for (let i = 0; i < 4; i++) await key("ArrowRight");
  for (const [name, label, ms] of cost.all) tell(`${ms.toFixed(1)} ms\t${name}\t${label}`);
  const sorted = cost.all.map(([, , ms]) => ms).sort((a, b) => a - b);
  tell(`frames: median ${sorted[sorted.length >> 1].toFixed(1)} ms, slowest ${sorted.at(-1).toFixed(1)} ms, ${sorted.length} of them, ${innerWidth} pixels wide, ratio ${devicePixelRatio}`);
});
