/* Sorts a table by the column whose head was pressed: numbers from the largest, words from A, and the other way round when
   it is pressed again. */
function mountTables() {
  for (const table of document.querySelectorAll('table.sortable')) {
    table.tHead.addEventListener('click', (event) => {
      const button = event.target.closest('button');
      if (button) sortBy(table, button.closest('th'));
    });
  }
}

function sortBy(table, head) {
  const column = head.cellIndex;
  const body = table.tBodies[0];
  const key = (row) => row.cells[column].dataset.key;
  const rows = [...body.rows];
  const isNumber = rows.every((row) => /^\d+$/.test(key(row) || ''));
  const was = head.getAttribute('aria-sort');
  const direction = was ? (was === 'descending' ? 'ascending' : 'descending') : isNumber ? 'descending' : 'ascending';
  const sign = direction === 'descending' ? -1 : 1;
  const words = new Intl.Collator(undefined, { numeric: true });
  rows.sort((a, b) => sign * (isNumber ? key(a) - key(b) : words.compare(key(a), key(b))));
  for (const other of table.tHead.querySelectorAll('[aria-sort]')) other.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', direction);
  body.append(...rows);
}
