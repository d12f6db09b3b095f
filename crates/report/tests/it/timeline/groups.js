"use strict";
checks(async () => {
  const rows = await whenDrawn();
  const scroll = document.querySelector(".tl-scroll"), box = rows.getBoundingClientRect();
  const tap = async (x, y) => {
    for (const type of ["pointerdown", "pointerup"]) {
      rows.dispatchEvent(new PointerEvent(type, { clientX: rows.getBoundingClientRect().left + x, clientY: rows.getBoundingClientRect().top + y, pointerId: 1, pointerType: "touch", bubbles: true, cancelable: true }));
    }
    await frames();
    await later(20);
  };
  check("a closed group fits the page", scroll.clientHeight < 400);
  check("and nothing scrolls in it", !scroll.classList.contains("tl-scrolls"));
  await tap(10, 27 + 12);
  check("a tap on its name opens it, and the rows scroll inside of their box", scroll.classList.contains("tl-scrolls") && scroll.scrollHeight > 300 * 15);
  check("no more is drawn than is seen", rows.height < 2400);
  scroll.scrollTop = 2000;
  await frames();
  check("what is drawn follows", Math.abs(rows.getBoundingClientRect().top - scroll.getBoundingClientRect().top) < 2);
  await tap(600, 100);
  check("and so does what is selected", /^worker \d+ /.test(document.querySelector(".tl-details").textContent));
  check("the box is as wide as before", Math.abs(rows.getBoundingClientRect().width - box.width) < 20);
});
