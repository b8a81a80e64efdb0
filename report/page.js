// Draws the charts that the page describes in JSON. It reads nothing else, and sends nothing.
(() => {
  'use strict';
  const root = document.documentElement;
  const system = matchMedia('(prefers-color-scheme: dark)');
  const specs = [...document.querySelectorAll('script.chart-data')].map(s => JSON.parse(s.textContent));
  const paper = 680; // px: what A4 and Letter have within their margins
  let printing = false;
  let drawn = [];

  const digits = x => Number(x.toPrecision(3)).toLocaleString('en-US', {maximumFractionDigits: 9});
  function figure(x, unit) {
    if (unit !== 'ms') return digits(x);
    const size = Math.abs(x);
    if (size >= 1000) return digits(x / 1000) + ' s';
    return size > 0 && size < 1 ? digits(x * 1000) + ' µs' : digits(x) + ' ms';
  }

  const dark = () => !printing && (root.dataset.theme ? root.dataset.theme === 'dark' : system.matches);

  // What JSON can't say: functions, and what depends on the theme and on the width.
  function finish(spec, width) {
    const o = structuredClone(spec.option);
    const line = dark() ? '#333a43' : '#d9dde2', ink = dark() ? '#c9d1d9' : '#3a424c';
    o.backgroundColor = 'transparent';
    o.tooltip.formatter = p => Array.isArray(p.value) ? p.value[2] : p.name;
    o.legend.textStyle = {color: ink};
    o.legend.pageTextStyle = {color: ink};
    for (const [axes, unit] of [[o.xAxis, spec.unit_x], [o.yAxis, spec.unit_y]]) {
      for (const a of axes) {
        a.nameTextStyle = {color: ink, align: axes === o.yAxis ? 'left' : 'center'};
        a.axisLine = {lineStyle: {color: ink}};
        a.splitLine = {show: a.type !== 'category', lineStyle: {color: line}};
        a.axisLabel = {color: ink, hideOverlap: true};
        if (a.type === 'category') Object.assign(a.axisLabel, {width: Math.min(240, width * 0.34), overflow: 'truncate', interval: 0});
        else a.axisLabel.formatter = x => figure(x, unit);
        if (a.type === 'log') logarithmic(a, o, axes === o.xAxis ? 0 : 1);
      }
    }
    for (const s of o.series) for (const d of [s, ...(s.data || [])]) hollow(d, s);
    if (spec.visible) {
      const names = [...new Set(o.series.map(s => s.name))];
      o.legend.selected = Object.fromEntries(names.map((name, i) => [name, i < spec.visible]));
    }
    return o;
  }

  // ECharts fills its hollow shapes with white, whatever the page's colour. A ring must not hide what it is around.
  function hollow(mark, series) {
    if (!mark.symbol || !mark.symbol.startsWith('empty')) return;
    mark.symbol = mark.symbol[5].toLowerCase() + mark.symbol.slice(6);
    const inside = series.type === 'scatter' && series.symbolSize >= 18 ? 'transparent' : getComputedStyle(document.body).backgroundColor;
    mark.itemStyle = {color: inside, borderColor: series.itemStyle.borderColor || series.itemStyle.color, borderWidth: 2};
  }

  // A logarithmic axis is labelled at 1, 2 and 5 of each decade, at 1 only where there are many: by
  // itself ECharts would label powers of ten, of which a latency may span not even one.
  function logarithmic(axis, o, dim) {
    const all = o.series.flatMap(s => s.data || []).map(d => Number(d.value[dim])).filter(x => x > 0);
    if (!all.length) return;
    const low = Math.min(...all), high = Math.max(...all);
    const steps = high / low > 2000 ? [1] : [1, 2, 5];
    let ticks = [];
    for (let e = Math.floor(Math.log10(low)) - 1; e <= Math.log10(high) + 1; e++) ticks.push(...steps.map(m => Number(m + 'e' + e)));
    const first = ticks.findLastIndex(x => x <= low * 0.999), last = ticks.findIndex(x => x >= high * 1.001);
    ticks = ticks.slice(first, last + 1);
    axis.min = ticks[0];
    axis.max = ticks[ticks.length - 1] * 1.000001; // the last label must not fall to rounding
    axis.axisTick = {customValues: ticks};
    axis.axisLabel.customValues = ticks;
  }

  function draw() {
    for (const c of drawn) c.dispose();
    drawn = specs.map(spec => {
      const el = document.getElementById(spec.id);
      el.style.height = spec.height + 'px';
      const width = printing ? paper : el.clientWidth;
      const c = echarts.init(el, dark() ? 'dark' : null, {width});
      c.setOption(finish(spec, width));
      return c;
    });
    measure();
  }

  // For tests and for whoever drives the page: how many charts stand, and whether it is too wide.
  function measure() {
    window.__ready = drawn.length;
    root.dataset.ready = drawn.length;
    root.dataset.scrollWidth = root.scrollWidth;
    root.dataset.clientWidth = root.clientWidth;
  }

  let width = root.clientWidth;
  addEventListener('resize', () => {
    if (root.clientWidth === width) return;
    width = root.clientWidth;
    draw();
  });
  system.addEventListener('change', draw);
  document.getElementById('theme').addEventListener('click', () => {
    root.dataset.theme = dark() ? 'light' : 'dark';
    draw();
  });
  let folded = [];
  addEventListener('beforeprint', () => {
    printing = true;
    folded = [...document.querySelectorAll('details:not([open])')];
    for (const d of folded) d.open = true;
    draw();
  });
  addEventListener('afterprint', () => {
    printing = false;
    for (const d of folded) d.open = false;
    draw();
  });
  draw();
})();
