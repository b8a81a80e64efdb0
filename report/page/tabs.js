// Turns the parts of a run into tabs, and shows the answer of the workload that the reader chooses. Without it all parts
// follow one another.
(() => {
  'use strict';
  const lists = [...document.querySelectorAll('.tabs')];
  const panelOf = tab => document.getElementById(tab.hash.slice(1));

  function select(list, chosen) {
    for (const tab of list.children) {
      const on = tab === chosen;
      tab.setAttribute('aria-selected', on);
      tab.tabIndex = on ? 0 : -1;
      panelOf(tab).hidden = !on;
    }
  }

  // The tab a key leads to; undefined: none.
  function next(tabs, now, key) {
    const i = tabs.indexOf(now), step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[key];
    if (step) return tabs[(i + step + tabs.length) % tabs.length];
    return {Home: tabs[0], End: tabs[tabs.length - 1], ' ': now}[key];
  }

  function tabbed(list) {
    const tabs = [...list.children];
    list.setAttribute('role', 'tablist');
    for (const tab of tabs) {
      const panel = panelOf(tab);
      tab.id = 'tab-' + panel.id;
      tab.setAttribute('role', 'tab');
      tab.setAttribute('aria-controls', panel.id);
      panel.setAttribute('role', 'tabpanel');
      panel.setAttribute('aria-labelledby', tab.id);
    }
    const open = tab => {
      select(list, tab);
      history.replaceState(null, '', tab.hash);
    };
    list.addEventListener('click', e => {
      const tab = e.target.closest('[role=tab]');
      if (!tab) return;
      e.preventDefault(); // the panel is below the tabs: nothing scrolls
      open(tab);
    });
    list.addEventListener('keydown', e => {
      const tab = next(tabs, e.target, e.key);
      if (!tab) return;
      e.preventDefault();
      tab.focus();
      open(tab);
    });
    select(list, tabs[0]);
  }

  // Opens what hides the target of a link: #r0-roofline, #def-ttft, #trust of the first run.
  function follow() {
    const id = decodeURIComponent(location.hash.slice(1)), target = document.getElementById(id) || document.getElementById('r0-' + id);
    if (!id || !target) return;
    const panel = target.closest('[role=tabpanel]'), tab = panel && document.getElementById('tab-' + panel.id);
    if (tab) select(tab.parentElement, tab);
    for (let d = target.closest('details'); d; d = d.parentElement.closest('details')) d.open = true;
    for (const d of target.querySelectorAll(':scope > details')) d.open = true;
    (target === panel ? tab.parentElement : target).scrollIntoView();
  }

  for (const list of lists) tabbed(list);
  addEventListener('hashchange', follow);
  follow();

  // Copies the answer as text. Without a clipboard, as in a file, the text is there, selected.
  async function share(button) {
    const text = button.nextElementSibling;
    if (location.protocol !== 'file:' && !text.textContent.includes(location.host)) text.append(' ' + location.href.split('#')[0]);
    text.hidden = false;
    getSelection().selectAllChildren(text);
    const copied = await navigator.clipboard.writeText(text.textContent).then(() => true, () => document.execCommand('copy'));
    if (copied) page.did(button, 'Copied', () => { text.hidden = true; });
    else button.textContent = 'Press Ctrl+C';
  }
  const sharing = root => root.querySelectorAll('.share button').forEach(b => { b.hidden = false; });
  sharing(document);
  document.addEventListener('click', e => { if (e.target.matches('.share button')) share(e.target); });

  for (const set of document.querySelectorAll('.workloads')) {
    const article = set.closest('article');
    set.hidden = false;
    // Its points come first, the operating point before all, unless the reader has sorted the table.
    const mark = input => {
      const rows = [...article.querySelectorAll('[data-workload]')].sort((a, b) => a.dataset.place - b.dataset.place);
      const own = row => row.dataset.workload === input.value;
      for (const row of rows) row.classList.toggle('of', own(row));
      const table = rows.length && rows[0].closest('table');
      if (table && !table.querySelector('[aria-sort]')) table.tBodies[0].append(...rows.sort((a, b) => own(b) - own(a) || own(a) * (b.matches('.ship') - a.matches('.ship'))));
    };
    for (const [i, row] of article.querySelectorAll('[data-workload]').entries()) row.dataset.place = i;
    set.addEventListener('keydown', e => { // arrows move by themselves
      const all = [...set.querySelectorAll('input')], to = {Home: all[0], End: all[all.length - 1]}[e.key];
      if (!to) return;
      e.preventDefault();
      to.focus();
      to.click();
    });
    set.addEventListener('change', e => {
      article.querySelector('.chosen').replaceChildren(e.target.closest('label').nextElementSibling.content.cloneNode(true));
      sharing(article);
      mark(e.target);
    });
    mark(set.querySelector(':checked'));
  }
})();
