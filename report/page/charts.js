// Draws the charts that the page describes in JSON, each before it scrolls into view. It reads and sends nothing else.
(() => {
  'use strict';
  const root = document.documentElement;
  const boxes = [...document.querySelectorAll('.chart')];
  const drawn = new Map(); // box → its chart
  const paper = 716; // px: width of A4 within its margins; Letter has 24 more

  const {dark} = page;

  // Colours too dim for lines on a dark page, and their replacements.
  const lighter = {'#0060A0': '#3f8cff', '#B87900': '#E69F00', '#009467': '#2fbf90', '#C4609A': '#E58BBF', '#2E93D0': '#9BD8FF', '#7048B8': '#A98BEF', '#22262C': '#F4F1E4', '#6B2E10': '#B07050',
    '#D55E00': '#ff8a4c', '#808080': '#9aa3ad'};
  function lighten(x) {
    for (const key of Object.keys(x)) {
      if ((key === 'color' || key === 'borderColor') && lighter[x[key]]) x[key] = lighter[x[key]];
      else if (x[key] && typeof x[key] === 'object' && key !== 'value' && key !== 'ys' && key !== 'steps') lighten(x[key]);
    }
  }

  const ink = () => dark() ? '#c9d1d9' : '#3a424c';
  const background = () => getComputedStyle(document.body).backgroundColor;

  // The figures of the charts of curves, with the reader's choice for all of these charts: a group of workloads.
  const sets = new Map();
  function setOf(id) {
    if (!sets.has(id)) {
      const data = JSON.parse(document.getElementById(id).textContent);
      sets.set(id, {data, group: data.first});
    }
    return sets.get(id);
  }

  // The state of a box: its description, read when first needed, and the reader's choices: a value of each list, logarithmic
  // axes (null: as described).
  const known = new Map();
  function shown(box) {
    if (known.has(box)) return known.get(box);
    const spec = JSON.parse(box.nextElementSibling.textContent);
    const of = Object.fromEntries((spec.choices || []).map(c => [c.name, c.first]));
    known.set(box, {spec, of, x: null, y: null, details: false, ticks: [], lists: [], own: false});
    control(box);
    open(known.get(box));
    return known.get(box);
  }

  // A chart of latencies begins with those that the SLO of the chosen workloads limits, until the reader chooses others.
  function open({spec, of, lists, own}) {
    if (!spec.curves || !spec.choices || own) return;
    const {data, group} = setOf(spec.curves);
    for (const [i, first] of curves.opening(data, group).entries()) lists[i].value = of[spec.choices[i].name] = first;
  }

  // The option with the series of the chosen view; series without views are in all.
  function choose(state, width, place) {
    const {spec, of, x, y} = state;
    const view = (spec.choices || []).map(c => of[c.name]).join(' ');
    const series = spec.option.series.filter(s => !s.views || s.views[view]).map(({views, ...s}) => ({...s, ...(views || {})[view]}));
    const o = structuredClone({...spec.option, series});
    for (const s of o.series) {
      if (s.steps) s.data = s.steps.map((x, j) => [x, (Math.floor(s.steps.length > 1 ? j * (s.n - 1) / (s.steps.length - 1) : s.n - 1) + 1) / s.n]);
      if (s.ys) s.data = s.ys.map((y, i) => [s.x0 + s.dx * (i + 0.5), y]);
    }
    if (spec.choices && spec.axis_of) o[spec.axis_of][0].name = view;
    if (spec.curves) curved(state, o, width, place);
    if (x !== null) set(o.xAxis[0], x);
    if (y !== null) set(o.yAxis[0], y);
    return o;
  }

  // Adds the curves of the chosen workloads.
  function curved({spec, of, details}, o, width, place) {
    const {data, group} = setOf(spec.curves), view = {details, ink: ink(), paper: background(), width, place};
    if (of.latency) {
      view.metric = of.latency.toLowerCase();
      view.name = of.percentile;
      view.percentile = spec.choices[1].values.indexOf(of.percentile);
      view.title = of.latency + ' ' + of.percentile;
    }
    const c = curves.compose(data, group, spec.axes, view);
    o.series = c.series;
    o.legend.data = c.names;
    if (spec.axes[0] === 'load') {
      o.xAxis[0].name = c.load;
      set(o.xAxis[0], c.log);
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
    if (p.data.tip || typeof p.value[2] === 'string') return p.data.tip || p.value[2];
    return p.seriesName + '\n' + figure(p.value[0], spec.unit_x) + ', ' + figure(p.value[1], spec.unit_y);
  }

  // Adds what JSON cannot contain: functions, and what depends on theme and width. more is the extra height.
  function finish(state, width, place) {
    const spec = state.spec, o = choose(state, width, place);
    const every = o.legend.data || [...new Set(o.series.map(s => s.name).filter(name => name))];
    if (spec.visible || state.selected) o.legend.selected = {...Object.fromEntries(every.map((name, i) => [name, !spec.visible || i < spec.visible])), ...state.selected};
    const line = dark() ? '#333a43' : '#d9dde2', text = {color: ink()};
    o.backgroundColor = 'transparent';
    o.tooltip.formatter = p => tip(p, spec, o);
    o.tooltip.borderColor = line;
    o.legend.textStyle = text;
    o.legend.pageTextStyle = text;
    for (const [axes, unit] of [[o.xAxis, spec.unit_x], [o.yAxis, spec.unit_y]]) {
      for (const [i, a] of axes.entries()) {
        a.nameTextStyle = {...text, align: axes === o.yAxis ? 'left' : 'center'};
        a.axisLine = {lineStyle: text};
        a.splitLine = {show: a.type !== 'category', lineStyle: {color: line}};
        const bare = a.axisLabel && a.axisLabel.show === false;
        a.axisLabel = {...text, hideOverlap: true, show: !bare};
        if (a.min === 'dataMin') Object.assign(a.axisLabel, {showMinLabel: false, showMaxLabel: false});
        if (a.type === 'category') Object.assign(a.axisLabel, {width: Math.min(a.position === 'right' ? 320 : 240, width * 0.34), overflow: 'truncate', interval: 0});
        else if (unit === 'size') a.axisLabel.formatter = x => figure(Math.abs(x), 'share'); // the axis names the direction
        else if (a.type !== 'time') {
          const of = axes === o.yAxis && spec.units_y ? spec.units_y[i] : unit, digits = places(a);
          a.axisLabel.formatter = x => figure(x, of, digits);
        }
        if (a.type === 'category' && width < 600) {
          if (a.position === 'right') a.axisLabel.show = false; // no room: the tooltip has it
          else if (unit === 'size') Object.assign(a.axisLabel, {overflow: 'break', fontSize: 11, lineHeight: 11});
        }
        if (a.type === 'log') logarithmic(a, o, axes === o.xAxis ? 0 : 1);
        else if (axes === o.yAxis) reach(a, o);
      }
    }
    if (dark()) lighten(o.series);
    for (const s of o.series) for (const d of [s, ...(s.data || [])]) hollow(d, s);
    if (spec.panels) for (const [k, axis] of o.yAxis.entries()) labelled(axis, o.series.filter(s => s.yAxisIndex === k && s.ys));
    const names = o.legend.data = spec.panels ? [] : page.printing && spec.visible ? every.filter(name => o.legend.selected[name]) : every; // on paper none can be turned on
    if (!names.length) {
      o.legend.show = false;
      o.grid[0].top = 36;
      return {o, more: 0};
    }
    const rows = lines(names, width - 20);
    let more = 0; // px of a legend of several lines; a longer one has pages
    if (page.printing || rows <= 8) {
      more = 24 * (rows - 1);
      o.legend.type = 'plain';
      for (const g of o.grid) g.top = Number(g.top) + more;
    }
    return {o, more};
  }

  // Names the lines of a panel above it, in their colours: a legend of all panels is far from most of them.
  function labelled(axis, list) {
    if (list.length < 2) return;
    const dash = s => ({dashed: '╍', dotted: '┈'}[s.lineStyle.type] || '━');
    axis.name += '   ' + list.map((s, i) => '{line' + i + '|' + dash(s) + ' ' + s.name + '}').join('  ');
    axis.nameTextStyle.rich = Object.fromEntries(list.map((s, i) => ['line' + i, {color: s.itemStyle.color, fontWeight: 700}]));
  }

  // The significant digits that tell the ticks of an axis with a given interval apart.
  function places({interval, min, max}) {
    if (!interval) return 3;
    const power = x => Math.floor(Math.log10(Math.abs(x) || interval));
    return Math.max(3, Math.max(power(min), power(max)) - power(interval) + 1);
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
    const inside = series.type === 'scatter' && series.symbolSize >= 18 ? 'transparent' : background();
    mark.itemStyle = {color: inside, borderColor: series.itemStyle.borderColor || series.itemStyle.color, borderWidth: 2};
  }

  // The values along an axis (0: x, 1: y), with the limits of the SLO: ECharts does not extend an axis to limits beyond the
  // marks.
  const along = (o, dim) => o.series.filter(s => !o.legend.selected || o.legend.selected[s.name] !== false).flatMap(s => s.data || []).map(d => Number((d.value || d)[dim])).concat(limits(o, dim));
  const limits = (o, dim) => o.series.flatMap(s => s.markLine ? s.markLine.data : []).map(d => dim ? d.yAxis : d.xAxis).filter(y => y > 0);

  // A linear axis reaches the highest limit of the SLO.
  function reach(axis, o) {
    const top = Math.max(0, ...limits(o, 1));
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

  // The browser has no height of a box in a hidden panel. Two charts of curves fit the first sheet of paper, and so does a
  // forest.
  function heightOf(box, spec) {
    if (page.printing && spec.curves) return 290;
    if (page.printing && spec.unit_x === 'size') return 110 + 15 * spec.option.yAxis[0].data.length;
    return Number(box.dataset.height);
  }

  function draw(box) {
    const state = shown(box), small = box.closest('.small');
    const width = page.printing ? (small ? paper / 2 - 10 : paper) : box.clientWidth;
    let c; // made below; labels are placed when it is
    const {o, more} = finish(state, width, at => c.convertToPixel('grid', at));
    const height = heightOf(box, state.spec) + more;
    box.style.height = height + 'px';
    for (const [i, input] of state.ticks.entries()) input.checked = [o.xAxis, o.yAxis][i][0].type === 'log';
    c = echarts.init(box, dark() ? 'dark' : null, page.printing ? {width, height, devicePixelRatio: 2} : {width, height});
    c.setOption(o);
    c.on('legendselectchanged', e => { state.selected = e.selected; setTimeout(() => redraw(box)); }); // the axes fit what is shown
    drawn.set(box, c);
    root.dataset.ready = drawn.size;
  }

  function drop(box) {
    if (drawn.has(box)) drawn.get(box).dispose();
    drawn.delete(box);
  }

  // A box in a hidden panel has no width: it is drawn when the panel opens.
  const visible = box => box.clientWidth > 0;

  function redraw(box) {
    drop(box);
    if (page.printing || visible(box)) draw(box); else near.observe(box);
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
      if (page.printing || visible(box) && box.getBoundingClientRect().top < innerHeight) draw(box); else near.observe(box);
    }
  }

  // The controls above a chart.
  function control(box) {
    const state = known.get(box), spec = state.spec, bar = document.createElement('div');
    bar.className = 'controls';
    for (const c of spec.choices || []) {
      const select = document.createElement('select');
      select.append(...c.values.map(v => new Option(v, v, v === c.first, v === c.first)));
      select.addEventListener('change', () => { state.of[c.name] = select.value; state.own = true; redraw(box); });
      select.setAttribute('aria-label', c.name);
      state.lists.push(select);
      bar.append(select);
    }
    if (spec.curves || spec.logs) options(box, bar);
    if (bar.childElementCount) box.before(bar);
  }

  // What few readers change: the axes, and the marks that explain a curve.
  function options(box, bar) {
    const state = known.get(box), {spec} = state, more = document.createElement('details');
    more.append(document.createElement('summary'));
    more.firstChild.textContent = 'options';
    const add = (text, change) => checkbox(more, text, on => { change(on); redraw(box); });
    if (spec.curves) add('frontier, knee, saturation, roofline', on => { state.details = on; });
    if (spec.logs) state.ticks = [add('log x', on => { state.x = on; }), add('log y', on => { state.y = on; })];
    bar.append(more);
  }

  function checkbox(bar, text, change) {
    const input = document.createElement('input');
    input.type = 'checkbox';
    input.addEventListener('change', () => change(input.checked));
    label(bar, ' ' + text, input, true);
    return input;
  }

  // All charts of the same curves show the same workloads.
  function group(id, name) {
    setOf(id).group = name;
    for (const state of known.values()) if (state.spec.curves === id) open(state);
    redrawOf(id);
  }

  function redrawOf(id) {
    for (const [box, state] of known) if (state.spec.curves === id && drawn.has(box)) redraw(box);
  }

  // The choice of workloads on a page of several runs.
  function chooser(bar) {
    const {curves: id} = bar.dataset, set = setOf(id), {groups} = set.data;
    if (groups.length < 2) return;
    const select = document.createElement('select');
    select.append(...[...groups, curves.all].map(v => new Option(v, v, v === set.group, v === set.group)));
    select.addEventListener('change', () => group(id, select.value));
    label(bar, 'workload ', select, false);
  }

  function label(box, text, input, after) {
    const l = document.createElement('label');
    l.append(...(after ? [input, text] : [text, input]));
    box.append(l);
  }

  for (const bar of document.querySelectorAll('[data-curves]')) chooser(bar);
  for (const set of document.querySelectorAll('.workloads')) {
    set.addEventListener('change', e => group(set.closest('article').id + '-curves', e.target.dataset.group));
  }
  page.charts = {data: id => setOf(id).data, renew: redrawOf}; // for changes of the figures of a set
  page.onChange(renew);
  for (const box of boxes) box.style.height = box.dataset.height + 'px';
  root.dataset.charts = boxes.length; // for scripts that drive the page, as is data-ready
  renew();
})();
