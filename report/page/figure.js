// figure formats as unit.Format does in Go, without zeros at the end; a test compares them. places is the
// number of significant digits.
const figure = (() => {
  'use strict';
  const digits = (x, places) => Number(x.toPrecision(places)).toLocaleString('en-US', {maximumFractionDigits: 9});
  return (x, unit, places = 3) => {
    if (unit === 's') return digits(x, places) + ' s';
    if (unit === 'share') return digits(x * 100, places) + ' %';
    if (unit !== 'ms') return digits(x, places);
    const size = Math.abs(x);
    if (size >= 1000) return digits(x / 1000, places) + ' s';
    return size > 0 && size < 1 ? digits(x * 1000, places) + ' µs' : digits(x, places) + ' ms';
  };
})();
