/* Which section is read now, for the line of links at the top. */
function mountLinks() {
  const links = [...document.querySelectorAll('nav a')];
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links) {
        if (link.hash === '#' + entry.target.id) link.setAttribute('aria-current', 'true');
        else link.removeAttribute('aria-current');
      }
    }
  }, { rootMargin: '-20% 0px -70% 0px' });
  document.querySelectorAll('section[id]').forEach((section) => seen.observe(section));
}

mountMarks();
mountTables();
mountLinks();
// The timeline comes after the first paint, for which the answer does not wait; a page that is not painted (in a tab
// behind another one) has it all the same.
const drawTimeline = () => {
  const place = document.getElementById('timeline');
  if (!place || place.classList.contains('tl')) return;
  const json = JSON.parse(document.getElementById('timeline-json').textContent);
  mountTimeline(place, json, document.getElementById('timeline-data').textContent);
  place.closest('section').classList.add('drawn');
};
window.requestAnimationFrame(() => setTimeout(drawTimeline, 0));
setTimeout(drawTimeline, 500);
