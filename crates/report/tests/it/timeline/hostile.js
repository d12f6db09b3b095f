"use strict";
checks(async () => {
  const rows = await whenDrawn();
  const element = document.getElementById("timeline");
  const key = async (key) => {
    rows.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    await frames();
  };
  document.querySelector(".tl-numbers").open = true;
  for (const name of ["Enter", "ArrowDown", "Enter", "Enter", "Enter", "w"]) await key(name);
  await later(50);
  check("the names are shown", element.textContent.includes("<\/script>") && element.textContent.includes("onerror"));
  same("and are no elements", element.querySelectorAll("img, script, b > *, a").length, 0);
  same("nothing of them ran", window.ran, undefined);
});
