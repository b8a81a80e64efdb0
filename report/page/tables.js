// Sorts tables by a click on a heading, and copies them as CSV.
(() => {
  'use strict';
  const cellText = cell => cell.firstChild ? cell.firstChild.textContent.trim() : '';
  const units = {µs: 1e-3, ms: 1, s: 1e3};

  // The number at the start of a cell, times in ms; NaN: none.
  function amount(text) {
    const m = /^[~≥]?([-+]?[\d,]*\.?\d+(?:e[-+]?\d+)?)\s*(µs|ms|s)?(?:\s|$)/.exec(text);
    return m ? Number(m[1].replaceAll(',', '')) * (units[m[2]] || 1) : NaN;
  }

  function compare(a, b) {
    const x = amount(a), y = amount(b);
    if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
    return a.localeCompare(b, 'en', {numeric: true});
  }

  function sortable(table) {
    const heads = [...table.tHead.rows[0].cells];
    for (const [i, th] of heads.entries()) {
      const button = document.createElement('button');
      button.type = 'button';
      button.className = 'sort';
      button.textContent = '↕';
      button.setAttribute('aria-label', 'sort by ' + th.textContent.trim());
      button.addEventListener('click', () => {
        const down = th.getAttribute('aria-sort') === 'ascending';
        for (const h of heads) { h.removeAttribute('aria-sort'); h.querySelector('.sort').textContent = '↕'; }
        th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        button.textContent = down ? '↓' : '↑';
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => (down ? -1 : 1) * compare(cellText(a.cells[i]), cellText(b.cells[i])));
        table.tBodies[0].append(...rows);
      });
      th.append(' ', button);
    }
  }

  // Spreadsheets run cells that begin like a formula; a leading quote prevents that.
  function quote(text) {
    text = text.replaceAll('↕', '').replaceAll('↑', '').replaceAll('↓', '').trim();
    if (/^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text))) text = "'" + text;
    return '"' + text.replaceAll('"', '""') + '"';
  }

  function copyable(box, table) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'CSV';
    button.title = 'Copy as CSV';
    button.addEventListener('click', async () => {
      const csv = [...table.rows].map(row => [...row.cells].map(c => quote(c.textContent)).join(',')).join('\r\n');
      try {
        await navigator.clipboard.writeText(csv);
        page.did(button, 'Copied');
      } catch {
        button.textContent = 'Blocked by the browser; use bench report --format csv';
      }
    });
    box.before(button);
  }

  for (const box of document.querySelectorAll('.scroll')) {
    const table = box.querySelector('table');
    if (table.tBodies[0].rows.length > 1) sortable(table);
    copyable(box, table);
  }
})();
