// Tries what a reader of the page can do, after its own scripts have run; see tests/page.rs.
setTimeout(() => {
  const root = document.documentElement;
  const found = { overflow: Math.max(0, root.scrollWidth - root.clientWidth) };
  found.findings = document.querySelectorAll('.findings li.f').length;

  // A second press on the head of the sorted column turns the order round.
  const table = document.querySelector('#threads table.sortable');
  const head = table.querySelector('[aria-sort]');
  head.querySelector('button').click();
  const keys = [...table.tBodies[0].rows].map((row) => Number(row.cells[head.cellIndex].dataset.key));
  found.sorted = [head.getAttribute('aria-sort'), keys.every((key, at) => at === 0 || keys[at - 1] <= key)];

  // The arrow keys go through the marks of a chart, whose words are shown and spoken.
  const chart = document.querySelector('svg.bottle');
  chart.focus();
  chart.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
  const tip = document.getElementById('tip');
  const words = document.getElementById('spoken').textContent;
  found.spoken = words.length > 0 && !tip.hidden && tip.textContent.replaceAll('\n', ', ') === words;

  // Whatever can be reached with the keyboard has a name.
  found.unlabelled = [...document.querySelectorAll('button, a[href], summary, select, input, [tabindex]')]
    .filter((one) => one.tabIndex >= 0 && !one.textContent.trim() && !one.getAttribute('aria-label') && !one.labels?.length)
    .map((one) => one.outerHTML.slice(0, 120));
  root.dataset.found = JSON.stringify(found);
}, 1500);
