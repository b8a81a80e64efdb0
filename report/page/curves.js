// Composes the charts of curves from one set of figures: each workload as a curve over its loads. It is given all it
// draws, and touches no document.
const curves = (() => {
  'use strict';
  const star = 'path://M10,0L12.9,6.9L20,7.6L14.6,12.4L16.2,19.5L10,15.8L3.8,19.5L5.4,12.4L0,7.6L7.1,6.9Z';
  const cross = 'path://M2,0L10,8L18,0L20,2L12,10L20,18L18,20L10,12L2,20L0,18L8,10L0,2Z';
  const arrow = 'path://M4,24L4,7L0,7L5,0L10,7L6,7L6,24Z'; // as tall as its size, its foot at the mark
  const neutral = '#808080', vermilion = '#D55E00';
  const all = 'all workloads';

  const grades = ['n too small', 'thin'];

  // The curves of a choice of the reader; all of them with the name of all.
  const within = (data, group) => data.curves.filter(c => group === all || c.group === group);

  // What an axis shows of a point: value, lower and upper end of its interval (null: no bound; undefined: no interval),
  // grade (0: n too small, 1: thin, 2: sound). Null: the point lacks it. of is the view: latency, percentile by number, and
  // the place of the rate "inf".
  function along(axis, point, of) {
    if (axis === 'load') return [point.load === null ? of.inf : point.load, undefined, undefined, 2];
    const x = axis === 'latency' ? ((point.latency || {})[of.metric] || [])[of.percentile] : point[axis];
    return x ? [x[0], x[1], x[2], x.length > 3 ? x[3] : 2] : null; // a throughput has no grade, without repeats no interval
  }

  // The place of the rate "inf": right of all loads.
  const infinity = list => 1.15 * Math.max(...list.flatMap(c => c.points.map(p => p.load || 0)), 1 / 1.15);

  // The places of a curve's points.
  const places = (curve, axes, of) => curve.points.map(point => {
    const [x, y] = axes.map(axis => along(axis, point, of));
    return x && y && x[0] > 0 && y[0] > 0 ? {point, x, y, grade: Math.min(x[3], y[3])} : null;
  }).filter(p => p);

  const line = (name, color, data, type) => ({type: 'line', name, data, symbol: 'none', silent: true, z: 2, itemStyle: {color}, lineStyle: {color, width: 2, type}});

  // The lines between neighbours: dashed where one of them has few requests. Invalid points and "inf" are not joined.
  function lines(name, color, list) {
    const joined = list.filter(p => p.point.state !== 'invalid' && p.point.load !== null), solid = [], dashed = [];
    for (let i = 1; i < joined.length; i++) {
      const [a, b] = [joined[i - 1], joined[i]];
      (Math.min(a.grade, b.grade) < 2 ? dashed : solid).push([a.x[0], a.y[0]], [b.x[0], b.y[0]], [null, null]);
    }
    return [[solid, 'solid'], [dashed, 'dashed']].filter(([data]) => data.length).map(([data, type]) => line(name, color, data, type));
  }

  // The 95 % intervals (of throughputs: the spread of the repeats), with an arrow where an end has no bound.
  function whiskers(name, list) {
    const bars = [], arrows = [];
    for (const p of list) {
      for (const k of [0, 1]) {
        const [x, lo, hi] = k ? p.y : p.x;
        if (lo === undefined) continue;
        const at = v => k ? [p.x[0], v] : [v, p.y[0]];
        const from = lo > 0 ? lo : x, to = hi === null ? x : hi;
        if (to > from) bars.push(at(from), at(to), [null, null]);
        if (hi === null) arrows.push({value: at(x), symbolRotate: k ? 0 : -90, symbolOffset: k ? [0, '-50%'] : ['120%', 0]});
        if (lo === null) arrows.push({value: at(x), symbolRotate: k ? 180 : 90, symbolOffset: k ? [0, '50%'] : ['-120%', 0]});
      }
    }
    const out = [];
    if (bars.length) out.push({...line(name, neutral, bars, 'solid'), z: 1, lineStyle: {color: neutral, width: 1.5, opacity: 0.8}});
    if (arrows.length) out.push({type: 'scatter', name, data: arrows, symbol: arrow, symbolSize: [10, 26], silent: true, z: 1, itemStyle: {color: neutral}});
    return out;
  }

  // How a mark shows its state without colour: star, filled, open, half, cross.
  function face(state, color, paper) {
    const edge = {borderColor: color, borderWidth: 2};
    switch (state) {
      case 'ship': return {symbol: star, symbolSize: 22, itemStyle: {color}};
      case 'invalid': return {symbol: cross, symbolSize: 11, itemStyle: {color}};
      case 'misses': return {itemStyle: {color: paper, ...edge}};
      case 'undecided': return {itemStyle: {color: {type: 'linear', x: 0, y: 0, x2: 1, y2: 0,
        colorStops: [{offset: 0, color}, {offset: 0.5, color}, {offset: 0.5, color: paper}, {offset: 1, color: paper}]}, ...edge}};
    }
    return {itemStyle: {color, ...edge}};
  }

  function marks(name, curve, list, single, of) {
    const ships = p => p.point.state === 'ship'; // on top of the others
    const data = [...list].sort((a, b) => ships(a) - ships(b)).map(p => {
      const mark = {value: [p.x[0], p.y[0]], tip: tip(p, curve, of), ...face(p.point.state, curve.color, of.paper)};
      if (p.point.state === 'invalid') mark.itemStyle.opacity = 0.35;
      else if (p.grade < 2) mark.itemStyle.opacity = 0.6;
      const text = single ? name + ', ' + p.point.label : p.point.label;
      const named = !of.shaped || ships(p) || p === list[0] || p === list[list.length - 1]; // of several curves the others would cover one another
      mark.label = {show: named, formatter: () => text, fontWeight: ships(p) ? 700 : 400, distance: p.y[2] === null && !of.plain ? 24 : 6};
      return mark;
    });
    return {type: 'scatter', name, data, symbol: of.shaped ? curve.shape : 'circle', symbolSize: 12, z: 4, itemStyle: {color: curve.color},
      label: {show: true, position: 'top', opacity: 1, color: of.ink, fontSize: 12, width: 150, overflow: 'truncate'}, labelLayout: of.layout};
  }

  // A predicted curve behind the measured one: pale, its line dotted, small marks without labels but for the operating point.
  function pale(name, curve, list, of) {
    const opacity = 0.45, data = list.map(p => {
      const ship = p.point.state === 'ship';
      return {value: [p.x[0], p.y[0]], tip: tip(p, curve, of), ...(ship ? {symbol: star, symbolSize: 16} : {}), label: {show: ship, formatter: () => 'predicted ' + p.point.label}};
    });
    const joined = list.filter(p => p.point.load !== null).map(p => [p.x[0], p.y[0]]);
    return [{type: 'scatter', name, data, symbol: 'circle', symbolSize: 6, z: 1, itemStyle: {color: curve.color, opacity},
      label: {position: 'bottom', color: of.ink, opacity: 0.8, fontSize: 11}, labelLayout: of.layout},
    {...line(name, curve.color, joined, 'dotted'), z: 0, lineStyle: {color: curve.color, width: 3, type: 'dotted', opacity}}];
  }

  // The curve of the twin and its band of 95 %, in place of the lines between the points.
  function twin(name, curve, of) {
    const own = (curve.twin || {})[of.metric + '_' + of.name] || [], opacity = 0.35;
    const end = own[own.length - 1];
    return own.length ? [line(name, curve.color, own.map(p => [p[0], p[1]]), 'solid'),
      {type: 'scatter', name, data: [[end[0], end[1]]], symbolSize: 1, silent: true, itemStyle: {color: curve.color}, label: {show: true, position: 'top', formatter: () => 'estimated', color: curve.color, fontSize: 11}, labelLayout: of.layout},
      ...[2, 3].map(k => ({...line(name, curve.color, own.map(p => [p[0], p[k]]), 'solid'), z: 1, lineStyle: {color: curve.color, width: 1, opacity}}))] : [];
  }

  function tip({point, x, y}, curve, of) {
    const p = of.metric && along('latency', point, of), ends = v => v === null ? '–' : figure(v, 'ms');
    const text = [point.name, point.status];
    if (p) text.push(of.title + ' ' + figure(p[0], 'ms') + (p[1] === null && p[2] === null ? '' : ' [' + ends(p[1]) + ', ' + ends(p[2]) + ']') + ' (n=' + figure(point.n[of.metric]) + (p[3] < 2 ? ', ' + grades[p[3]] : '') + ')');
    if (point.per_user) text.push(figure(point.per_user[0]) + ' tok/s/user');
    if (point.output) text.push(figure(point.output[0]) + ' ' + of.output);
    if (of.details) text.push(...['knee', 'saturation'].filter(k => point[k]).map(k => k + ': ' + point[k]));
    return text.join('\n');
  }

  // The lines of the SLO on the latency that is shown, and the latencies beyond.
  function limits(list, of) {
    const found = [...new Set(list.flatMap(c => (c.limits || {})[of.metric + '_' + of.name] || []))];
    if (!found.length) return [];
    return [{type: 'line', name: 'SLO', data: [], itemStyle: {color: vermilion}, lineStyle: {color: vermilion, type: 'dashed'},
      markLine: {silent: true, symbol: ['none', 'none'], lineStyle: {color: vermilion, type: 'dashed'}, data: found.map(y => ({yAxis: y, name: 'SLO ' + of.title + ' ≤ ' + figure(y, 'ms')})),
        label: {show: true, position: 'insideStartTop', formatter: '{b}', color: vermilion}},
      markArea: {silent: true, itemStyle: {color: vermilion, opacity: 0.07}, data: [[{yAxis: Math.min(...found)}, {yAxis: 1e12}]]}}];
  }

  // What the roofline allows at the loads of the points, if that is near enough to be on the chart.
  function ceiling(list) {
    const points = list.flatMap(c => c.points), near = 2;
    const most = k => near * Math.max(...points.map(p => (k ? p.output : p.per_user || [0])[0]));
    const data = list.flatMap(c => [...c.points.filter(p => p.ceiling).map(p => p.ceiling).filter(([x, y]) => x <= most(0) && y <= most(1)), [null, null]]);
    if (data.filter(([x]) => x).length < 2) return []; // one is no line
    return [{...line('roofline', neutral, data, 'solid'), z: 1, lineStyle: {color: neutral, width: 3, opacity: 0.6},
      endLabel: {show: true, formatter: 'roofline', color: neutral, fontSize: 11, align: 'right', offset: [0, -10]}}];
  }

  // The published figures beside medians, as hollow triangles: their sources do not state which percentile they are.
  function published(list, of) {
    if (of.name !== 'p50') return [];
    const data = list.flatMap(c => c.published || []).filter(f => f.latency[of.metric])
      .map(f => ({value: [f.load, f.latency[of.metric]], tip: 'published: ' + f.by + '\n' + of.title.slice(0, 4) + ' ' + figure(f.latency[of.metric], 'ms') + ' at concurrency ' + f.load}));
    if (!data.length) return [];
    return [{type: 'scatter', name: 'published', data, symbol: 'emptyTriangle', symbolSize: 11, z: 3, itemStyle: {color: neutral}}];
  }

  // The marks of the details: rings, diamonds and squares around the marks, and the floor of the roofline.
  function details(list, axes, of) {
    const around = (name, symbol, size, color, has) => {
      const data = list.flatMap(c => places(c, axes, of)).filter(p => has(p.point)).map(p => ({value: [p.x[0], p.y[0]], tip: name + (typeof has(p.point) === 'string' ? ': ' + has(p.point) : '')}));
      return data.length ? [{type: 'scatter', name, data, symbol, symbolSize: size, z: 3, itemStyle: {color: 'transparent', borderColor: color, borderWidth: 2}}] : [];
    };
    const out = [...around('knee', 'diamond', 26, vermilion, p => p.knee), ...around('saturation', 'rect', 22, neutral, p => p.saturation)];
    if (axes[0] === 'per_user') out.push(...around('frontier', 'circle', 22, neutral, p => p.frontier));
    if (axes[1] === 'latency') {
      const floors = list.flatMap(c => c.points.filter(p => (p.floor || {})[of.metric] && (p.load !== null)).map(p => ({value: [p.load, p.floor[of.metric]], tip: p.name + '\nroofline ' + figure(p.floor[of.metric], 'ms')})));
      if (floors.length) out.push({type: 'scatter', name: 'roofline', data: floors, symbol: 'rect', symbolSize: 6, z: 1, itemStyle: {color: neutral}});
    }
    return out;
  }

  // A load axis is logarithmic if its loads span more than a decade.
  function spans(list) {
    const loads = list.flatMap(c => c.points.map(p => p.load)).filter(x => x > 0);
    return Math.max(...loads) > 10 * Math.min(...loads);
  }

  function loadName(list) {
    const kinds = new Set(list.map(c => c.axis));
    if (kinds.size > 1) return 'concurrency, or requests/s';
    return kinds.has('rate') ? 'requests/s' : 'concurrency';
  }

  // Places labels so that none covers another or, if possible, a mark: above the mark, higher, below it, beside it, lower.
  // It stays inside of the chart. marks returns the places of the marks in px.
  function layout(width, marks) {
    const placed = new Map(), half = 8; // px: half a mark
    const covers = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
    return ({seriesIndex, dataIndex, rect: own, labelRect: r}) => {
      const id = seriesIndex + ' ' + dataIndex, height = 14, top = r.y + (r.height - height) / 2; // ECharts says less than a line
      placed.delete(id); // of the layout before
      const inside = dx => Math.max(-r.x, Math.min(dx, width - r.x - r.width));
      const at = ([dx, dy]) => ({x: r.x + inside(dx), y: top + dy, width: r.width, height});
      const side = (own.width + r.width) / 2 + 4, level = own.y + own.height / 2 - height / 2 - top;
      const around = marks().map(([x, y]) => ({x: x - half, y: y - half, width: 2 * half, height: 2 * half}));
      const free = [[0, 0], [0, -14], [0, 34], [side, level], [-side, level], [0, 48], [0, -28], [0, 62]].filter(d => ![...placed.values()].some(p => covers(p, at(d))));
      const best = free.find(d => !around.some(m => covers(m, at(d)))) || free[0] || [0, 0];
      placed.set(id, at(best));
      return {dx: inside(best[0]), dy: best[1]};
    };
  }

  // The series of a chart, the names of its legend (none for one curve) and its x axis.
  function compose(data, group, axes, view) {
    const list = within(data, group), several = group === all || group === data.singles;
    const of = {...view, inf: infinity(list), output: data.output, shaped: list.filter(c => !c.predicted).length > 1, plain: group === all};
    const found = new Map(list.map(curve => [curve, places(curve, axes, of)]));
    of.layout = layout(view.width, () => [...found.values()].flat().map(p => view.place([p.x[0], p.y[0]])));
    if (axes[1] !== 'latency') of.metric = null;
    const series = [];
    const names = [];
    for (const curve of list) {
      const name = several && curve.full || curve.name, own = found.get(curve);
      if (!own.length) continue;
      if (curve.predicted) {
        series.push(...pale(name, curve, own, of));
        continue;
      }
      names.push(name);
      const model = axes[0] === 'load' && of.metric && !of.plain ? twin(name, curve, of) : [];
      series.push(marks(name, curve, own, group === data.singles && of.shaped, of), ...(model.length ? model : lines(name, curve.color, own)));
      if (!of.plain) series.push(...whiskers(name, own));
    }
    series.push(...limits(list, of), ...(axes[1] === 'latency' ? published(list, of) : []));
    if (axes[0] === 'per_user') series.push(...ceiling(list));
    if (view.details) series.push(...details(list, axes, of));
    if (names.length === 1 && series.some(s => s.name.startsWith('predicted'))) names.push('predicted');
    return {series, names: names.length > 1 || view.details ? [...new Set(series.map(s => s.name))] : [],
      load: loadName(list), log: spans(list)};
  }

  // The latency and the percentile that a choice begins with: those that its SLO limits.
  const opening = (data, group) => (within(data, group).find(c => c.opens) || data).opens;

  return {compose, layout, opening, all};
})();
