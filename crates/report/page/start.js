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
// The timeline comes after the first paint: the answer does not wait for it.
window.requestAnimationFrame(() => setTimeout(() => {
  const place = document.getElementById('timeline');
  if (!place) return;
  const json = JSON.parse(document.getElementById('timeline-json').textContent);
  mountTimeline(place, json, document.getElementById('timeline-data').textContent);
  place.closest('section').classList.add('drawn');
}, 0));
