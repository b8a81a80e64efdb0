// Judges the points of a run again under limits that the reader chooses. A verdict is a step function of the limit, which the
// page carries for each point: it is the verdict that bench report --slo brings.
const slo = (() => {
  'use strict';

  function verdict({steps, rest}, limits) {
    const all = Object.entries(steps).map(([key, [fail, pass]]) =>
      fail === null || limits[key] < fail ? 'FAIL' : pass !== null && limits[key] >= pass ? 'PASS' : 'UNDECIDED').concat(rest || 'PASS');
    return all.includes('FAIL') ? 'FAIL' : all.includes('UNDECIDED') ? 'UNDECIDED' : 'PASS';
  }

  // Whether more load explains the FAIL: of a latency it always does.
  const byLoad = (point, limits) => !point.easy || Object.entries(point.steps).some(([key, [fail]]) => fail === null || limits[key] < fail);

  function state(point, limits) {
    const v = verdict(point, limits);
    if (v === 'FAIL' && !point.lost) return 'misses';
    if (!point.valid) return 'invalid';
    return v === 'PASS' ? 'meets' : 'undecided';
  }

  // The states of a workload's points by ascending load, with the operating point, and the verdict on the workload.
  function judge(curve, limits) {
    const points = curve.points.map(p => p.slo), states = points.map(p => state(p, limits)), end = states.findIndex((s, i) => s === 'misses' && byLoad(points[i], limits));
    const below = end < 0 ? states : states.slice(0, end), ship = below.lastIndexOf('meets');
    const open = below.some(s => s === 'undecided' || s === 'invalid') || states.includes('meets');
    if (ship >= 0 && !curve.slo.baseline) states[ship] = 'ship';
    return {states, ship, missed: end, verdict: ship >= 0 ? 'PASS' : open ? 'UNDECIDED' : 'FAIL'};
  }

  return {judge, verdict};
})();

(() => {
  'use strict';
  const words = {ship: 'PASS ★', meets: 'PASS', misses: 'FAIL', undecided: 'UNDECIDED', invalid: 'INVALID'};
  const kinds = {PASS: 'pass', FAIL: 'fail', UNDECIDED: 'undecided', INVALID: 'fail'};
  const element = (name, text, kind) => Object.assign(document.createElement(name), {textContent: text || '', className: kind || ''});
  const exact = ms => figure(ms, 'ms', 12);

  for (const article of document.querySelectorAll('article')) {
    const id = article.id + '-curves', box = document.getElementById(id), answers = article.querySelector('.chosen');
    if (!box || !answers) continue;
    const {curves: all} = page.charts.data(id), own = all.filter(c => c.slo);
    if (own.length) changeable(article, id, own, answers);
  }

  function changeable(article, id, curves, answers) {
    const measured = new Map(curves.map(c => [c, {limits: c.limits, twin: c.twin, states: c.points.map(p => [p.state, p.status])}]));
    const workloads = article.querySelector('.workloads'), bar = element('div', '', 'slo-bar');
    const kept = new Map(); // row or answer → how it was
    let changed = null; // the limits of the reader by key; null: those of the run
    answers.after(bar);
    if (workloads) workloads.addEventListener('change', () => {
      const was = changed;
      changed = null;
      if (was) show();
      controls();
    });
    controls();

    function chosen() {
      const input = workloads && workloads.querySelector(':checked');
      return curves.find(c => !input || c.slo.workload === Number(input.value));
    }

    // Workloads with the same limits change together, as they do in bench report --slo.
    function alike(curve) {
      const limits = c => JSON.stringify([c.slo.limits, c.slo.rest]);
      return curves.filter(c => limits(c) === limits(curve));
    }

    function controls() {
      const curve = chosen();
      bar.replaceChildren();
      if (!curve) return;
      bar.append(element('b', 'Try another SLO'));
      for (const limit of curve.slo.limits) bar.append(slider(curve, limit));
    }

    // A limit of two digits on a logarithmic scale, around the limits at which a verdict changes.
    function slider(curve, limit) {
      const ends = alike(curve).flatMap(c => c.points.flatMap(p => p.slo.steps[limit.key])).filter(x => x > 0).concat(limit.ms);
      const low = Math.log(Math.min(...ends) / 2), high = Math.log(Math.max(...ends) * 2);
      const label = element('label', limit.title + ' ≤ '), input = element('input'), value = element('output');
      Object.assign(input, {type: 'range', min: 0, max: 1, step: 'any', value: (Math.log(limit.ms) - low) / (high - low)});
      const tell = ms => {
        value.textContent = exact(ms);
        input.setAttribute('aria-valuetext', exact(ms));
      };
      tell(limit.ms);
      input.addEventListener('input', () => {
        const near = Number(Math.exp(low + input.value * (high - low)).toPrecision(2)), ms = near === Number(limit.ms.toPrecision(2)) ? limit.ms : near;
        tell(ms);
        changed = {...(changed || Object.fromEntries(curve.slo.limits.map(l => [l.key, l.ms]))), [limit.key]: ms};
        if (curve.slo.limits.every(l => changed[l.key] === l.ms)) changed = null;
        show();
      });
      label.append(input, ' ', value);
      return label;
    }

    function show() {
      const curve = chosen(), now = changed ? alike(curve) : [];
      for (const c of curves) if (!now.includes(c)) restore(c);
      for (const c of now) apply(c);
      page.charts.renew(id);
      retell(curve);
    }

    function restore(c) {
      const was = measured.get(c);
      [c.limits, c.twin] = [was.limits, was.twin];
      for (const [i, p] of c.points.entries()) [p.state, p.status] = was.states[i];
      for (const row of rows(c)) {
        const {cell, html, kind, title, ship} = kept.get(row) || {};
        if (!cell) continue;
        Object.assign(cell, {innerHTML: html, className: kind, title});
        row.classList.toggle('ship', ship);
      }
    }

    function apply(c) {
      const {states} = slo.judge(c, changed);
      c.twin = null; // the text says that the estimate is hidden
      c.limits = Object.fromEntries(Object.entries(changed).map(([key, ms]) => [key, [ms]]));
      for (const [i, p] of c.points.entries()) [p.state, p.status] = [states[i], 'under the changed SLO: ' + words[states[i]]];
      for (const row of rows(c)) {
        const state = states[row.dataset.point], cell = sloCell(row), text = words[state];
        if (!cell) continue;
        Object.assign(cell, {textContent: text, className: kinds[text.split(' ')[0]], title: 'under the changed SLO'});
        row.classList.toggle('ship', state === 'ship');
      }
    }

    function rows(c) {
      return [...article.querySelectorAll('tr[data-workload="' + c.slo.workload + '"]')];
    }

    // The verdict in a row of the table of points, as it was at first.
    function sloCell(row) {
      if (!kept.has(row)) {
        const i = [...row.closest('table').tHead.rows[0].cells].findIndex(th => th.textContent.trim().startsWith('SLO')), cell = row.cells[i];
        kept.set(row, cell ? {cell, html: cell.innerHTML, kind: cell.className, title: cell.title, ship: row.classList.contains('ship')} : {});
      }
      return kept.get(row).cell;
    }

    // The answer under the changed limits, in place of the measured one.
    function retell(curve) {
      const section = answers.querySelector('.answer'), ruler = section.querySelector('.ruler');
      if (!kept.has(section)) kept.set(section, {kind: section.className, ruler: ruler && ruler.innerHTML});
      const was = kept.get(section);
      section.className = was.kind;
      if (ruler) ruler.innerHTML = was.ruler;
      for (const old of section.querySelectorAll('.retold')) old.remove();
      answers.style.minHeight = changed ? answers.offsetHeight + 'px' : ''; // the slider stays under the finger
      if (!changed) return;
      const found = slo.judge(curve, changed), point = curve.points[found.ship];
      section.className = 'answer changed ' + kinds[found.verdict];
      section.prepend(told(curve, found, point, section));
      if (ruler) redraw(ruler, curve, found);
    }

    function told(curve, found, point, section) {
      const out = element('div', '', 'retold'), none = found.verdict === 'FAIL' ? 'no measured load meets this SLO' : 'no load is decided to meet this SLO';
      const estimate = section.querySelector('.estimate'), hidden = estimate ? '; estimate hidden: it is for the measured SLO alone' : '';
      const tag = article.querySelector('.simulated'), passed = tag && tag.textContent === 'PREDICTED' ? 'predicted' : 'measured';
      const gpus = [...section.querySelectorAll('.kpis dt')].find(dt => dt.textContent.startsWith('GPU'));
      const limits = of => curve.slo.limits.map(l => l.title + ' ≤ ' + exact(of(l))).join(' · ');
      const text = curve.slo.limits.map(l => l.key + '=' + changed[l.key] + 'ms').concat(curve.slo.rest || []).join(',');
      const back = element('button', 'reset'), line = element('p', 'SLO changed on this page: ' + limits(l => changed[l.key]) + '; measured SLO: ' + limits(l => l.ms) + ' ');
      back.type = 'button';
      back.addEventListener('click', () => { changed = null; controls(); show(); });
      line.append(back);
      out.append(element('h2', curve.name + ': ' + (point ? passed + ' PASS up to ' + point.label : none) + hidden), line);
      if (point) out.append(element('p', [point.slo.words].concat(gpus ? gpus.nextElementSibling.textContent + ' ' + gpus.textContent : []).join(' · ')));
      out.append(element('p', 'Decided from the stored requests. To reproduce:', 'faint'), element('code', curve.slo.command + " '" + text + "'"));
      return out;
    }

    // The ruler of measured verdicts alone.
    function redraw(ruler, curve, {states, ship, missed}) {
      for (const old of ruler.querySelectorAll('.estimate, .word, :scope > line:not(.mark)')) old.remove();
      for (const text of ruler.querySelectorAll('.ship')) {
        text.textContent = text.textContent.replace(' ★', '');
        text.classList.remove('ship');
      }
      const at = i => curve.points[i].slo.at, parts = [], unknown = (from, to) => curve.points.some((p, i) => at(i) > from && at(i) < to) ? 'UNDECIDED' : 'not measured';
      const to = (place, kind, word) => {
        const from = parts.length ? parts[parts.length - 1].to : 0;
        if (place > from) parts.push({from, to: place, kind, word: word || unknown(from, place)});
      };
      if (curve.slo.easy) to(at(Math.max(0, states.findIndex(s => s === 'meets' || s === 'ship'))), 'undecided', '');
      if (ship >= 0) to(at(ship), 'meets', 'PASS');
      to(missed >= 0 ? at(missed) : 100, 'undecided', '');
      to(100, 'misses', 'FAIL');
      for (const p of parts.reverse()) ruler.prepend(shape('line', {class: p.kind, x1: p.from + '%', x2: p.to + '%', y1: 26, y2: 26}));
      for (const p of parts) {
        const word = shape('text', {class: 'word', x: (p.from + p.to) / 2 + '%', y: 30, 'text-anchor': 'middle'}, p.word);
        ruler.append(word);
        if (word.getBBox().width + 8 > (p.to - p.from) / 100 * ruler.clientWidth) word.remove();
      }
      if (ship >= 0) ruler.append(shape('text', {class: 'ship', x: at(ship) + '%', y: 15, 'text-anchor': 'middle'}, '★'));
    }

    function shape(name, attributes, text) {
      const out = document.createElementNS('http://www.w3.org/2000/svg', name);
      for (const [key, value] of Object.entries(attributes)) out.setAttribute(key, value);
      out.textContent = text || '';
      return out;
    }
  }
})();
