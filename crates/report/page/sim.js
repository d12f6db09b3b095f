/* What bars of cycles are as long as: all the same, the cycles, or the cycles for each instruction. */
function mountForms() {
  for (const form of document.querySelectorAll('.forms')) {
    const bars = [...form.parentNode.querySelectorAll('svg.cycles')];
    form.hidden = false;
    form.addEventListener('change', (event) => {
      for (const bar of bars) bar.setAttribute('width', bar.dataset[event.target.value] || '100%');
    });
  }
}

mountForms();
