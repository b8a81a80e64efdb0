// figure formats as unit.Format does in Go, without zeros at the end; a test compares them.
const figure = (() => {
  'use strict';
  const digits = x => Number(x.toPrecision(3)).toLocaleString('en-US', {maximumFractionDigits: 9});
  return (x, unit) => {
    if (unit === 's') return digits(x) + ' s';
    if (unit === 'share') return digits(x * 100) + ' %';
    if (unit !== 'ms') return digits(x);
    const size = Math.abs(x);
    if (size >= 1000) return digits(x / 1000) + ' s';
    return size > 0 && size < 1 ? digits(x * 1000) + ' µs' : digits(x) + ' ms';
  };
})();
