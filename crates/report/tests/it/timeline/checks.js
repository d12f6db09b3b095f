"use strict";
/* What the checks of the other scripts use: each adds a line to what the test is told. */
const told = [];
function tell(line) {
  told.push(line);
}
function same(what, found, wanted) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
  tell(a === b ? `holds: ${what}` : `FAILS: ${what}: ${a} is not ${b}`);
}
function near(what, found, wanted, by) {
  tell(Math.abs(found - wanted) <= by ? `holds: ${what}` : `FAILS: ${what}: ${found} is not ${wanted} to ${by}`);
}
function check(what, holds) {
  tell(holds ? `holds: ${what}` : `FAILS: ${what}`);
}
/** Runs the checks and says when they are done; an error is a failure. */
async function checks(run) {
  try {
    await run();
  } catch (error) {
    tell(`FAILS: ${error.stack}`);
  }
  await fetch("/told", { method: "POST", body: told.join("\n") });
}
const frames = () => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));
const later = (ms) => new Promise((go) => setTimeout(go, ms));
/** The timeline when all of it has been read. */
async function whenDrawn() {
  while (!performance.getEntriesByName("timeline-whole").length) await later(20);
  await frames();
  return document.querySelector(".tl-rows");
}
