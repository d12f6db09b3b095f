/* What a mark of a chart stands for: under the pointer, and by the keyboard inside of a focused chart. The words are the
   mark's own <title>, which stays for readers without scripts. */
const tip = document.getElementById('tip');
const spoken = document.getElementById('spoken');

function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.max(8, Math.min(document.documentElement.clientWidth - box.width - 8, x + 14));
  const below = y + 18 + box.height <= window.innerHeight;
  tip.style.left = left + 'px';
  tip.style.top = (below ? y + 18 : Math.max(8, y - box.height - 12)) + 'px';
}

function hideTip() {
  tip.hidden = true;
}

function mountMarks() {
  // A title would be shown a second time by the browser itself.
  for (const title of document.querySelectorAll('main svg title')) {
    title.parentNode.dataset.tip = title.textContent;
    title.remove();
  }
  document.addEventListener('pointermove', (event) => {
    const mark = event.target.closest && event.target.closest('svg [data-tip]');
    if (mark) showTip(mark.dataset.tip, event.clientX, event.clientY);
    else if (!event.target.closest || !event.target.closest('#timeline')) hideTip();
  });
  document.addEventListener('scroll', hideTip, { passive: true });
  document.querySelectorAll('svg[tabindex]').forEach(walkMarks);
}

/* Arrow keys go from mark to mark; what it stands for is shown and spoken. */
function walkMarks(chart) {
  const marks = [...chart.querySelectorAll('[data-tip]')];
  let at = -1;
  const pick = (next) => {
    if (marks[at]) marks[at].classList.remove('picked');
    at = next;
    if (!marks[at]) return hideTip();
    marks[at].classList.add('picked');
    const box = marks[at].getBoundingClientRect();
    showTip(marks[at].dataset.tip, box.left + box.width / 2, box.bottom - 12);
    spoken.textContent = marks[at].dataset.tip.replaceAll('\n', ', ');
  };
  chart.addEventListener('keydown', (event) => {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    if (!marks.length) return;
    if (event.key in steps) pick(at < 0 ? 0 : (at + steps[event.key] + marks.length) % marks.length);
    else if (event.key === 'Home') pick(0);
    else if (event.key === 'End') pick(marks.length - 1);
    else if (event.key === 'Escape') pick(-1);
    else return;
    event.preventDefault();
  });
  chart.addEventListener('blur', () => pick(-1));
}
