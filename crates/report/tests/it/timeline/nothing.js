"use strict";
checks(async () => {
  await later(300);
  check("it is said in a sentence", document.getElementById("timeline").textContent.includes("Nothing was recorded"));
  check("no timeline is there", document.querySelector(".tl-rows") === null);
});
