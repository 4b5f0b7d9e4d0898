/* Series of values over windows, and what is left of them where a screen has less room than there are windows:
   the least, the mean and the greatest of neighbouring windows. A value is what chart.js says it is. */

// The width in pixels that a point of a line needs to be seen by itself.
const POINT = 3;

// How many windows a point stands for: one while there is room for each.
function windowsOfPoint(from, to, step, room, width) {
  const most = Math.max(1, Math.floor(room / width));
  return Math.max(1, Math.ceil((to - from) / step / most));
}

// Values in order, those that no double holds by their magnitude.
function compare(one, other) {
  const [a, b] = [asDouble(one), asDouble(other)];
  if (a !== b) return a - b;
  if (typeof one !== "string" || typeof other !== "string") return 0;
  const sign = Math.sign(a) || 1;
  return sign * (magnitude(one.replace("-", "")) - magnitude(other.replace("-", "")));
}

function meanOf(values) {
  const sum = values.reduce((total, value) => total + Number(value), 0);
  if (Number.isFinite(sum)) return sum / values.length;
  if (values.some((value) => asDouble(value) < 0)) return sum;
  // By magnitudes: the greatest is taken out, so that nothing is beyond a double on the way.
  const sizes = values.filter((value) => value !== 0).map(magnitude);
  const most = Math.max(...sizes);
  const size = most + Math.log10(sizes.reduce((total, each) => total + 10 ** (each - most), 0) / values.length);
  const exponent = Math.floor(size);
  return `${(10 ** (size - exponent)).toFixed(2)}e+${exponent}`;
}

/* Neighbouring windows put together: for each point its number (that of its first window by size), the least, the
   mean and the greatest of its values, and how many there are. Windows without a value are not counted. */
function inPoints(series, size, begin, end) {
  const points = [];
  let current = null;
  for (let i = begin; i < end; i++) {
    const value = series.values[i], number = Math.floor(series.windows[i] / size);
    if (value === null) continue;
    if (!current || current.number !== number) {
      current = { number, values: [], low: value, high: value };
      points.push(current);
    }
    current.values.push(value);
    if (compare(value, current.low) < 0) current.low = value;
    if (compare(value, current.high) > 0) current.high = value;
  }
  return points.map(({ number, values, low, high }) => ({ number, low, high, mean: size === 1 ? low : meanOf(values), count: values.length }));
}
