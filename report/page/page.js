// Draws the charts that the page describes in JSON, each before it scrolls into view. It reads and sends nothing else.
(() => {
  'use strict';
  const root = document.documentElement;
  const system = matchMedia('(prefers-color-scheme: dark)');
  const boxes = [...document.querySelectorAll('.chart')];
  const drawn = new Map(); // box → its chart
  const paper = 680; // px: width of A4 and Letter within their margins
  let printing = false;

  // figure formats as unit.Format does in Go, without zeros at the end; a test compares them.
  const digits = x => Number(x.toPrecision(3)).toLocaleString('en-US', {maximumFractionDigits: 9});
  function figure(x, unit) {
    if (unit === 's') return digits(x) + ' s';
    if (unit === 'share') return digits(x * 100) + ' %';
    if (unit !== 'ms') return digits(x);
    const size = Math.abs(x);
    if (size >= 1000) return digits(x / 1000) + ' s';
    return size > 0 && size < 1 ? digits(x * 1000) + ' µs' : digits(x) + ' ms';
  }

  const dark = () => !printing && (root.dataset.theme ? root.dataset.theme === 'dark' : system.matches);

  // Colours too dim for lines on a dark page, and their replacements.
  const lighter = {'#0060A0': '#3f8cff', '#B87900': '#E69F00', '#009467': '#2fbf90', '#C4609A': '#E58BBF', '#2E93D0': '#9BD8FF', '#7048B8': '#A98BEF', '#D55E00': '#ff8a4c', '#808080': '#9aa3ad'};
  function lighten(x) {
    for (const key of Object.keys(x)) {
      if (key === 'color' && lighter[x[key]]) x[key] = lighter[x[key]];
      else if (x[key] && typeof x[key] === 'object' && key !== 'value' && key !== 'ys' && key !== 'steps') lighten(x[key]);
    }
  }

  // The state of a box: its description, read when first needed, and the reader's choices: a value of each list, logarithmic
  // axes, figures per GPU.
  const known = new Map();
  function shown(box) {
    if (known.has(box)) return known.get(box);
    const spec = JSON.parse(box.nextElementSibling.textContent);
    const of = Object.fromEntries((spec.choices || []).map(c => [c.name, c.first]));
    known.set(box, {spec, of, x: null, y: null, gpu: false});
    control(box);
    return known.get(box);
  }

  // The option with the series of the chosen view; series without views are in all.
  function choose({spec, of, x, y, gpu}) {
    const view = (spec.choices || []).map(c => of[c.name]).join(' ');
    const series = spec.option.series.filter(s => !s.views || s.views[view]).map(({views, ...s}) => ({...s, ...(views || {})[view]}));
    const o = structuredClone({...spec.option, series});
    for (const s of o.series) {
      if (s.steps) s.data = s.steps.map((x, j) => [x, (Math.floor(s.steps.length > 1 ? j * (s.n - 1) / (s.steps.length - 1) : s.n - 1) + 1) / s.n]);
      if (s.ys) s.data = s.ys.map((y, i) => [s.x0 + s.dx * (i + 0.5), y]);
      if (s.bars) s.data = s.bars.flatMap(([from, to]) => [from, to, [null, null]]); // null: the line has a gap
    }
    if (spec.choices && spec.axis_of) o[spec.axis_of][0].name = spec.choices.filter(c => !c.aside).map(c => of[c.name]).join(' ');
    if (x !== null) set(o.xAxis[0], x);
    if (y !== null) set(o.yAxis[0], y);
    if (gpu) perGPU(spec, o);
    return o;
  }

  function perGPU(spec, o) {
    o.xAxis[0].name += ' per GPU';
    for (const s of o.series) for (const d of s.data || []) {
      const point = d.value || d;
      if (point[0] !== null) point[0] /= spec.per_gpu;
    }
  }

  function set(axis, log) {
    axis.type = log ? 'log' : 'value';
    delete axis.min;
    if (!log) axis.min = 0;
  }

  function tip(p, spec, o) {
    if (Array.isArray(p)) return p.length ? figure(p[0].value[0], 's') + '\n' + p.map(one => one.seriesName + ': ' + figure(one.value[1], spec.units_y[o.series[one.seriesIndex].yAxisIndex])).join('\n') : '';
    if (!Array.isArray(p.value)) return p.name;
    if (typeof p.value[2] === 'string') return p.value[2];
    return p.seriesName + '\n' + figure(p.value[0], spec.unit_x) + ', ' + figure(p.value[1], spec.unit_y);
  }

  // Adds what JSON cannot contain: functions, and what depends on theme and width. more is the extra height.
  function finish(state, width) {
    const spec = state.spec, o = choose(state);
    const line = dark() ? '#333a43' : '#d9dde2', ink = dark() ? '#c9d1d9' : '#3a424c';
    o.backgroundColor = 'transparent';
    o.tooltip.formatter = p => tip(p, spec, o);
    o.legend.textStyle = {color: ink};
    o.legend.pageTextStyle = {color: ink};
    for (const [axes, unit] of [[o.xAxis, spec.unit_x], [o.yAxis, spec.unit_y]]) {
      for (const [i, a] of axes.entries()) {
        a.nameTextStyle = {color: ink, align: axes === o.yAxis ? 'left' : 'center'};
        a.axisLine = {lineStyle: {color: ink}};
        a.splitLine = {show: a.type !== 'category', lineStyle: {color: line}};
        const bare = a.axisLabel && a.axisLabel.show === false;
        a.axisLabel = {color: ink, hideOverlap: true, show: !bare};
        if (a.min === 'dataMin') Object.assign(a.axisLabel, {showMinLabel: false, showMaxLabel: false});
        if (a.type === 'category') Object.assign(a.axisLabel, {width: Math.min(240, width * 0.34), overflow: 'truncate', interval: 0});
        else a.axisLabel.formatter = x => figure(x, axes === o.yAxis && spec.units_y ? spec.units_y[i] : unit);
        if (a.type === 'log') logarithmic(a, o, axes === o.xAxis ? 0 : 1);
        else if (axes === o.yAxis) reach(a, o);
      }
    }
    if (dark()) lighten(o.series);
    for (const s of o.series) for (const d of [s, ...(s.data || [])]) hollow(d, s);
    const names = [...new Set(o.series.map(s => s.name).filter(name => name))];
    o.legend.data = names;
    const rows = lines(names, width - 20);
    let more = 0; // px of a legend of several lines; a longer one has pages
    if (o.grid.length === 1 && rows <= (printing ? 12 : 8)) {
      more = 24 * (rows - 1);
      o.legend.type = 'plain';
      o.grid[0].top = 64 + more;
    }
    if (spec.visible) {
      o.legend.selected = Object.fromEntries(names.map((name, i) => [name, i < spec.visible]));
    }
    return {o, more};
  }

  // The approximate number of lines of a legend.
  function lines(names, width) {
    let n = 1, x = 0;
    for (const name of names) {
      const item = 45 + 6.6 * name.length;
      if (x && x + item > width) { n++; x = 0; }
      x += item;
    }
    return n;
  }

  // ECharts fills hollow shapes with white on any page. A ring must not hide the mark inside it.
  function hollow(mark, series) {
    if (!mark.symbol || !mark.symbol.startsWith('empty')) return;
    mark.symbol = mark.symbol[5].toLowerCase() + mark.symbol.slice(6);
    const inside = series.type === 'scatter' && series.symbolSize >= 18 ? 'transparent' : getComputedStyle(document.body).backgroundColor;
    mark.itemStyle = {color: inside, borderColor: series.itemStyle.borderColor || series.itemStyle.color, borderWidth: 2};
  }

  // The values along an axis (0: x, 1: y), with the limits of the SLO: ECharts does not extend an axis to limits beyond the
  // marks.
  const along = (o, dim) => o.series.flatMap(s => s.data || []).map(d => Number((d.value || d)[dim])).concat(dim ? limits(o) : []);
  const limits = o => o.series.flatMap(s => s.markLine ? s.markLine.data : []).map(d => d.yAxis).filter(y => y > 0);

  // A linear axis reaches the highest limit of the SLO.
  function reach(axis, o) {
    const top = Math.max(0, ...limits(o));
    if (top && top >= Math.max(...along(o, 1).filter(y => !Number.isNaN(y)))) axis.max = top * 1.05;
  }

  // A logarithmic axis has labels at 1, 2 and 5 of each decade, at 1 only over many decades. ECharts labels powers of ten, and
  // a latency can span less than one.
  function logarithmic(axis, o, dim) {
    const all = along(o, dim).filter(x => x > 0);
    if (!all.length) return;
    const low = Math.min(...all), high = Math.max(...all);
    const steps = high / low > 2000 ? [1] : [1, 2, 5];
    let ticks = [];
    for (let e = Math.floor(Math.log10(low)) - 1; e <= Math.log10(high) + 1; e++) ticks.push(...steps.map(m => Number(m + 'e' + e)));
    const first = ticks.findLastIndex(x => x <= low * 0.999), last = ticks.findIndex(x => x >= high * 1.001);
    ticks = ticks.slice(first, last + 1);
    axis.min = ticks[0];
    axis.max = ticks[ticks.length - 1] * 1.000001; // rounding must not drop the last label
    axis.axisTick = {customValues: ticks};
    axis.axisLabel.customValues = ticks;
  }

  function draw(box) {
    const state = shown(box), width = printing ? paper : box.clientWidth;
    const {o, more} = finish(state, width);
    box.style.height = Number(box.dataset.height) + more + 'px';
    const c = echarts.init(box, dark() ? 'dark' : null, printing ? {width, devicePixelRatio: 2} : {width});
    c.setOption(o);
    drawn.set(box, c);
    root.dataset.ready = drawn.size;
  }

  function drop(box) {
    if (drawn.has(box)) drawn.get(box).dispose();
    drawn.delete(box);
  }

  function redraw(box) {
    drop(box);
    draw(box);
  }

  // A chart outside the screen is drawn when it is less than a screen away, so that the first screen appears at once.
  const near = new IntersectionObserver(all => {
    for (const one of all) {
      if (!one.isIntersecting) continue;
      near.unobserve(one.target);
      if (!drawn.has(one.target)) draw(one.target);
    }
  }, {rootMargin: '100% 0px'});

  // Redraws what is on the screen now, and the rest when it is near; for paper, everything.
  function renew() {
    boxes.forEach(drop);
    root.dataset.ready = 0;
    for (const box of boxes) {
      near.unobserve(box);
      if (printing || box.getBoundingClientRect().top < innerHeight) draw(box); else near.observe(box);
    }
  }

  // The controls above a chart.
  function control(box) {
    const state = known.get(box), spec = state.spec, bar = document.createElement('div');
    bar.className = 'controls';
    for (const c of spec.choices || []) {
      const select = document.createElement('select');
      select.append(...c.values.map(v => new Option(v, v, v === c.first, v === c.first)));
      select.addEventListener('change', () => { state.of[c.name] = select.value; redraw(box); });
      label(bar, c.name + ' ', select, false);
    }
    const tick = (text, on, change) => {
      const input = document.createElement('input');
      input.type = 'checkbox';
      input.checked = on;
      input.addEventListener('change', () => { change(input.checked); redraw(box); });
      label(bar, ' ' + text, input, true);
    };
    if (spec.logs) {
      tick('log x', spec.option.xAxis[0].type === 'log', on => { state.x = on; });
      tick('log y', spec.option.yAxis[0].type === 'log', on => { state.y = on; });
    }
    if (spec.per_gpu) tick('per GPU', false, on => { state.gpu = on; });
    if (bar.childElementCount) box.before(bar);
  }

  function label(box, text, input, after) {
    const l = document.createElement('label');
    l.append(...(after ? [input, text] : [text, input]));
    box.append(l);
  }

  // Tables: a heading sorts by its column; a button copies the table as CSV.
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
    button.textContent = 'Copy as CSV';
    button.addEventListener('click', async () => {
      const csv = [...table.rows].map(row => [...row.cells].map(c => quote(c.textContent)).join(',')).join('\r\n');
      try {
        await navigator.clipboard.writeText(csv);
        button.textContent = 'Copied';
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

  let width = root.clientWidth;
  addEventListener('resize', () => {
    if (printing || root.clientWidth === width) return;
    width = root.clientWidth;
    renew();
  });
  system.addEventListener('change', renew);
  document.getElementById('theme').addEventListener('click', () => {
    root.dataset.theme = dark() ? 'light' : 'dark';
    renew();
  });
  let folded = [];
  addEventListener('beforeprint', () => {
    printing = true;
    folded = [...document.querySelectorAll('details:not([open])')];
    for (const d of folded) d.open = true;
    renew();
  });
  addEventListener('afterprint', () => {
    printing = false;
    for (const d of folded) d.open = false;
    renew();
  });
  for (const box of boxes) box.style.height = box.dataset.height + 'px';
  root.dataset.charts = boxes.length; // for scripts that drive the page, as is data-ready
  renew();
})();
