// Counts the selected runs, and enables what can be done with them. Without it the server answers a wrong number.
(() => {
  'use strict';
  const form = document.getElementById('runs');
  const count = () => {
    const n = form.querySelectorAll('input[name=run]:checked').length;
    document.getElementById('selected').textContent = n + ' selected';
    for (const b of form.querySelectorAll('button[data-least]')) b.disabled = n < Number(b.dataset.least);
  };
  form.addEventListener('change', count);
  addEventListener('pageshow', count); // the browser restores a form after its scripts have run
  count();
  if (document.getElementById('reading')) setInterval(() => { // a reload would forget what the reader types and selects
    if (!form.querySelector('input[name=run]:checked') && !form.contains(document.activeElement)) location.reload();
  }, 2000);
})();
