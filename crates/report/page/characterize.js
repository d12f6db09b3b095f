/* Planes of components: moved by dragging, made larger by the wheel with Ctrl, by buttons, and by + - 0 where one is focused. Points keep their size. */
function mountPlanes() {
  for (const plane of document.querySelectorAll('svg.plane')) mountPlane(plane);
}

function mountPlane(plane) {
  const zoomed = plane.querySelector('.zoomed');
  const field = plane.querySelector('svg').viewBox.baseVal;
  let scale = 1, x = 0, y = 0, held = null;
  const show = () => {
    zoomed.setAttribute('transform', `translate(${x} ${y}) scale(${scale})`);
    plane.style.setProperty('--still', 1 / scale);
    for (const [name, attribute, factor, begin, room] of [['.tick-across', 'x', x, field.x, field.width], ['.tick-up', 'y', y, field.y, field.height]]) {
      for (const tick of plane.querySelectorAll(name)) {
        tick.dataset.at = tick.dataset.at || tick.getAttribute(attribute);
        const at = tick.dataset.at * scale + factor;
        tick.setAttribute(attribute, at);
        tick.setAttribute('visibility', at < begin || at > begin + room ? 'hidden' : 'visible');
      }
    }
  };
  const place = (event) => {
    const matrix = plane.getScreenCTM().inverse();
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
  };
  const larger = (factor, at) => {
    const next = Math.min(40, Math.max(1, scale * factor));
    x = at.x - (at.x - x) * next / scale;
    y = at.y - (at.y - y) * next / scale;
    scale = next;
    if (scale === 1) x = y = 0;
    show();
  };
  const middle = { x: field.x + field.width / 2, y: field.y + field.height / 2 };
  const steps = { '+': () => larger(1.5, middle), '-': () => larger(1 / 1.5, middle), 0: () => larger(0, middle) };
  plane.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    larger(Math.exp(-event.deltaY / 300), place(event));
  }, { passive: false });
  plane.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 || scale === 1) return;
    held = place(event);
    plane.classList.add('held');
    plane.setPointerCapture(event.pointerId);
  });
  plane.addEventListener('pointermove', (event) => {
    if (!held) return;
    const now = place(event);
    x += now.x - held.x;
    y += now.y - held.y;
    held = now;
    show();
  });
  for (const end of ['pointerup', 'pointercancel']) plane.addEventListener(end, () => { held = null; plane.classList.remove('held'); });
  plane.addEventListener('keydown', (event) => {
    const step = steps[event.key === '=' ? '+' : event.key];
    if (step) { step(); event.preventDefault(); }
  });
  const buttons = plane.parentNode.querySelector('.larger');
  buttons.hidden = false;
  buttons.addEventListener('click', (event) => { if (event.target.value in steps) steps[event.target.value](); });
}

/* What has the searched words in its own words stays bright, and its rows stay in the table. */
function mountSearch() {
  const form = document.querySelector('.search');
  if (!form) return;
  const marks = [...document.querySelectorAll('.found, tbody.sought tr')];
  const words = (mark) => [mark, ...mark.querySelectorAll('[data-tip]')].map((part) => part.dataset.tip || '').join(' ') + ' ' + mark.textContent;
  const texts = marks.map((mark) => words(mark).toLowerCase());
  form.hidden = false;
  form.addEventListener('submit', (event) => event.preventDefault());
  form.addEventListener('input', (event) => {
    const sought = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    let rows = 0;
    marks.forEach((mark, at) => {
      const hit = sought.every((word) => texts[at].includes(word));
      mark.classList.toggle('hit', hit);
      if (hit && mark.tagName === 'TR') rows += 1;
    });
    document.body.classList.toggle('searched', sought.length > 0);
    form.querySelector('.hits').textContent = sought.length ? rows + (rows === 1 ? ' run' : ' runs') : '';
  });
}

mountPlanes();
mountSearch();
