"use strict";
/* Numbers, times, scales, and the two charts of the page. Nothing here knows where data come from.
   Texts are put into the page by textContent alone, so a name is never read as markup. */

const SVG = "http://www.w3.org/2000/svg";
const PLOT = { height: 320, left: 64, right: 14, top: 10, bottom: 42 };
const DASHES = ["", "7 3", "2 3", "10 3 2 3", "5 5", "1 2"];

function svg(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  return made;
}

function make(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  made.append(...children);
  return made;
}

// Numbers. A value is a JSON number, digits as text, text like 1.23e+4567, or null.

function inThrees(digits) {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

function showNumber(value) {
  if (value === null || value === undefined) return "null";
  if (typeof value === "string") return /^-?\d+$/.test(value) ? inThrees(value) : value;
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return inThrees(String(value));
  return String(Number(value.toPrecision(6)));
}

function magnitude(value) {
  if (typeof value === "number") return Math.log10(value);
  const [mantissa, exponent] = value.split("e");
  if (exponent) return Math.log10(Number(mantissa)) + Number(exponent);
  return Math.log10(Number(`0.${value.slice(0, 17)}`)) + value.length;
}

function asDouble(value) {
  const found = Number(value);
  return Number.isFinite(found) ? found : Math.sign(found) * Number.MAX_VALUE;
}

// Times are microseconds since 1970, or since whatever the numbers of the events begin with.

function showTime(us, isClock) {
  if (!isClock) return String(us / 1e6);
  const date = new Date(us / 1000);
  if (Number.isNaN(date.getTime())) return `${us / 1e6} s`;
  const text = date.toISOString().replace("T", " ").replace("Z", "");
  return text.replace(/\.000$/, "");
}

function showWindow(start, end, isClock) {
  const [from, to] = [showTime(start, isClock), showTime(end, isClock)];
  const day = from.slice(0, 11);
  return `[${from}, ${isClock && to.startsWith(day) ? to.slice(11) : to})`;
}

const SECOND = 1e6, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const CLOCK_STEPS = [1, 2, 5, 10, 15, 30].map((n) => n * SECOND)
  .concat([1, 2, 5, 10, 15, 30].map((n) => n * MINUTE), [1, 2, 3, 6, 12].map((n) => n * HOUR),
    [1, 2, 7, 14, 30, 90, 365, 1825, 36500].map((n) => n * DAY));

function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= rough * 0.999);
}

function timeTicks(from, to, most, isClock) {
  const rough = (to - from) / most;
  const isLong = isClock && rough >= SECOND / 2;
  const step = (isLong && CLOCK_STEPS.find((each) => each >= rough)) || roundStep(rough);
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push(at);
  let day = "";
  return ticks.map((at) => {
    if (!isLong) return { at, text: showTime(at, false), below: "" };
    const [date, clock] = showTime(at, true).split(" ");
    const below = date === day ? "" : date;
    day = date;
    if (step >= DAY) return { at, text: date, below: "" };
    return { at, text: step < MINUTE ? clock : clock.slice(0, 5), below };
  });
}

// Scales from a value to a height of the plot.

function linearScale(values) {
  const numbers = values.map(asDouble);
  let low = 0, high = 0;
  for (const each of numbers) { if (each < low) low = each; if (each > high) high = each; }
  if (low === high) high = low + 1;
  const step = roundStep((high - low) / 5);
  const [from, to] = [Math.floor(low / step) * step, Math.ceil(high / step) * step];
  const ticks = [];
  for (let i = 0; i <= Math.round((to - from) / step); i++) {
    const at = from + i * step;
    ticks.push({ part: (at - from) / (to - from), text: shortNumber(Number(at.toPrecision(12))) });
  }
  return { ticks, part: (value) => (asDouble(value) - from) / (to - from) };
}

function shortNumber(value) {
  const size = Math.abs(value);
  if (size >= 1e15) return value.toExponential(1).replace(".0e", "e").replace("e+", "e");
  for (const [unit, name] of [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e4, " k"]]) {
    if (size >= unit) return `${Number((value / (unit === 1e4 ? 1e3 : unit)).toPrecision(4))}${name}`;
  }
  return showNumber(value);
}

function logScale(values) {
  let low = Infinity, high = -Infinity, hasZero = false;
  for (const each of values) {
    if (each === 0) { hasZero = true; continue; }
    const size = magnitude(each);
    if (size < low) low = size;
    if (size > high) high = size;
  }
  if (low === Infinity) return linearScale(values);
  const from = Math.floor(low), to = Math.max(Math.ceil(high), from + 1);
  const step = Math.ceil((to - from) / 6);
  const foot = hasZero ? 0.08 : 0;
  const part = (size) => foot + (1 - foot) * (size - from) / (to - from);
  const ticks = hasZero ? [{ part: 0, text: "0" }] : [];
  for (let at = from; at <= to; at += step) ticks.push({ part: part(at), text: powerOfTen(at) });
  return { ticks, part: (value) => (value === 0 ? 0 : part(magnitude(value))) };
}

function powerOfTen(exponent) {
  if (exponent >= -2 && exponent <= 4) return inThrees(String(Number(`1e${exponent}`)));
  const raised = { "-": "\u207b", 0: "\u2070", 1: "\u00b9", 2: "\u00b2", 3: "\u00b3" };
  const shown = [...String(exponent)].map((c) => raised[c] || String.fromCharCode(0x2070 + Number(c)));
  return `10${shown.join("")}`;
}

// Axes

// The width that a letter of an axis takes at most.
const LETTER = 7.5;

// Times below a chart, whose own times begin at an origin. A text that would run into the one before it is left out.
function timeAxis(plot, from, to, x, foot, width, isClock, origin = 0) {
  let free = 0;
  for (const tick of timeTicks(from + origin, to + origin, Math.max(2, Math.floor(width / 110)), isClock)) {
    const at = x(tick.at - origin), anchor = at > width - 45 ? "end" : "middle";
    const long = LETTER * Math.max(tick.text.length, tick.below.length);
    plot.append(svg("line", { class: "axis", x1: at, x2: at, y1: foot, y2: foot + 5 }));
    if (at - (anchor === "end" ? long : long / 2) < free) continue;
    free = at + (anchor === "end" ? 0 : long / 2) + LETTER;
    plot.append(svg("text", { class: "time", x: at, y: foot + 18, "text-anchor": anchor }, tick.text));
    if (tick.below) plot.append(svg("text", { class: "time", x: at, y: foot + 33, "text-anchor": anchor }, tick.below));
  }
}

function frame(host, from, to, scale, isClock, label, origin = 0) {
  const width = Math.max(260, host.clientWidth), { height, left, right, top, bottom } = PLOT;
  const plot = svg("svg", {
    class: "plot", viewBox: `0 0 ${width} ${height}`, height, tabindex: 0, role: "group", "aria-label": label,
  });
  const x = (us) => left + (us - from) / (to - from) * (width - left - right);
  const y = (part) => height - bottom - part * (height - top - bottom);
  for (const tick of scale.ticks) {
    plot.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(tick.part), y2: y(tick.part) }));
    plot.append(svg("text", { x: left - 8, y: y(tick.part) + 4, "text-anchor": "end" }, tick.text));
  }
  timeAxis(plot, from, to, x, height - bottom, width, isClock, origin);
  plot.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }));
  const time = (px) => from + (px - left) / (width - left - right) * (to - from);
  return { plot, x, y, width, time, from, to, room: width - left - right };
}

// A line for each series: {windows, values}, sorted by window; each window is one step of the line.

function firstAtLeast(sorted, wanted) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < wanted) low = middle + 1; else high = middle;
  }
  return low;
}

function seen(series, step, from, to) {
  const begin = firstAtLeast(series.windows, Math.floor(from / step));
  return [begin, firstAtLeast(series.windows, Math.ceil(to / step))];
}

// Steps through points {number, low, high, mean}, lifted where windows have no result; step is that of a point.
function stepPath(points, step, area, scale) {
  const pieces = [];
  let before = null;
  for (const point of points) {
    const [left, right] = ends(point, step, area), height = area.y(scale.part(point.mean)).toFixed(1);
    pieces.push(before === point.number - 1 ? `V${height}H${right}` : `M${left} ${height}H${right}`);
    before = point.number;
  }
  return pieces.join("");
}

// From the least to the greatest of each point, as one area for points in a row.
function bandPath(points, step, area, scale) {
  const pieces = [];
  for (const point of points) {
    const [left, right] = ends(point, step, area);
    const [top, foot] = [point.high, point.low].map((value) => area.y(scale.part(value)).toFixed(1));
    pieces.push(`M${left} ${top}H${right}V${foot}H${left}Z`);
  }
  return pieces.join("");
}

function ends(point, step, area) {
  const left = Math.max(PLOT.left, area.x(point.number * step));
  const right = Math.min(area.width - PLOT.right, area.x((point.number + 1) * step));
  return [left.toFixed(1), right.toFixed(1)];
}

function swatch(colour, dash) {
  const made = svg("svg", { width: 26, height: 10, "aria-hidden": "true" });
  made.append(svg("line", { x1: 0, x2: 26, y1: 5, y2: 5, stroke: colour, "stroke-width": 2.5, "stroke-dasharray": dash }));
  return made;
}

/* spec: series [{name, windows, values}], step, within, origin, from, to, isLog, isClock, label, onRange(from, to).
   Returns how many windows a point of the chart stands for. */
function drawLines(host, spec) {
  host.replaceChildren();
  const room = Math.max(260, host.clientWidth) - PLOT.left - PLOT.right;
  const size = windowsOfPoint(spec.from, spec.to, spec.step, room, POINT);
  const lines = spec.series.map((each) => inPoints(each, size, ...seen(each, spec.step, spec.from, spec.to)));
  const visible = lines.flatMap((points) => points.flatMap((point) => [point.low, point.high]));
  if (!visible.length) {
    host.append(make("p", { class: "nothing" }, "There is no result here."));
    return size;
  }
  const scale = spec.isLog ? logScale(visible) : linearScale(visible);
  const area = frame(host, spec.from, spec.to, scale, spec.isClock, spec.label, spec.origin);
  const step = spec.step * size;
  lines.forEach((points, i) => {
    if (size > 1) area.plot.append(svg("path", { class: "band", d: bandPath(points, step, area, scale), fill: `var(--s${i})` }));
    area.plot.append(svg("path", {
      class: "line", d: stepPath(points, step, area, scale), stroke: `var(--s${i})`, "stroke-dasharray": DASHES[i],
    }));
  });
  host.append(area.plot);
  pointAt(host, area, {
    step,
    tell(number) {
      const rows = spec.series.map((each, i) => {
        const point = lines[i].find((one) => one.number === number);
        return [swatch(`var(--s${i})`, DASHES[i]), each.name, tellPoint(point, size)];
      });
      const end = number * step + (size - 1) * spec.step + spec.within;
      return [showWindow(number * step + spec.origin, end + spec.origin, spec.isClock), rows];
    },
    onRange: spec.onRange,
  });
  return size;
}

function tellPoint(point, size) {
  if (!point) return "no result";
  if (size === 1) return showNumber(point.mean);
  return `${showNumber(point.low)} to ${showNumber(point.high)}, mean ${showNumber(point.mean)}`;
}

/* Bars on top of each other. spec: parts [{name, values, colour}], start, step, isClock, label, show(number) */
function drawBars(host, spec) {
  const size = spec.parts[0].values.length;
  const sums = Array.from({ length: size }, (_, i) => spec.parts.reduce((sum, each) => sum + each.values[i], 0));
  host.replaceChildren();
  const scale = linearScale(sums);
  const area = frame(host, spec.start, spec.start + size * spec.step, scale, spec.isClock, spec.label);
  for (let i = 0; i < size; i++) {
    let below = 0;
    const left = area.x(spec.start + i * spec.step), wide = area.room / size;
    const gap = wide > 4 ? 1 : 0;
    for (const each of spec.parts) {
      const value = each.values[i];
      if (!value) continue;
      const [low, high] = [area.y(scale.part(below)), area.y(scale.part(below + value))];
      area.plot.append(svg("rect", { x: left.toFixed(2), width: (wide - gap).toFixed(2), y: high.toFixed(2), height: (low - high).toFixed(2), fill: each.colour }));
      below += value;
    }
  }
  host.append(area.plot);
  const first = Math.round(spec.start / spec.step), offset = spec.start - first * spec.step;
  pointAt(host, area, {
    step: spec.step,
    offset,
    tell(number) {
      const i = number - first;
      const rows = spec.parts.map((each) => [block(each.colour), each.name, spec.show(each.values[i] || 0)]);
      const from = number * spec.step + offset;
      return [showWindow(from, from + spec.step, spec.isClock), rows];
    },
  });
}

function block(colour) {
  const made = svg("svg", { width: 12, height: 12, "aria-hidden": "true" });
  made.append(svg("rect", { width: 12, height: 12, rx: 2, fill: colour }));
  return made;
}

// A cursor that follows the pointer or the arrow keys, and a stretch that is chosen by dragging.

function pointAt(host, area, spec) {
  const cursor = svg("rect", { class: "cursor", y: PLOT.top, height: PLOT.height - PLOT.top - PLOT.bottom, visibility: "hidden" });
  const chosen = svg("rect", { class: "chosen", y: PLOT.top, height: PLOT.height - PLOT.top - PLOT.bottom, visibility: "hidden" });
  area.plot.append(cursor, chosen);
  const readout = make("div", { class: "readout", role: "status" });
  readout.hidden = true;
  host.append(readout);
  const offset = spec.offset || 0;
  const numbers = [area.from, area.to - 1].map((us) => Math.floor((us - offset) / spec.step));
  let current = null, pressed = null;

  function show(number) {
    current = Math.min(numbers[1], Math.max(numbers[0], number));
    const left = Math.max(PLOT.left, area.x(current * spec.step + offset));
    const right = Math.min(area.width - PLOT.right, area.x((current + 1) * spec.step + offset));
    cursor.setAttribute("x", left);
    cursor.setAttribute("width", Math.max(1, right - left));
    cursor.setAttribute("visibility", "visible");
    const [caption, rows] = spec.tell(current);
    const table = make("table", {}, make("caption", {}, caption));
    for (const row of rows) {
      const line = make("tr", {}, ...row.map((cell, i) => make("td", i === 2 ? { class: "number" } : {}, cell)));
      table.append(line);
    }
    readout.replaceChildren(table);
    readout.hidden = false;
    const isLeft = left > area.width / 2;
    readout.style.top = `${PLOT.top + 4}px`;
    readout.style.left = isLeft ? "auto" : `${right + 10}px`;
    readout.style.right = isLeft ? `${area.width - left + 10}px` : "auto";
  }

  function hide() {
    cursor.setAttribute("visibility", "hidden");
    readout.hidden = true;
  }

  function position(event) {
    const box = area.plot.getBoundingClientRect();
    const px = (event.clientX - box.left) * area.width / box.width;
    return Math.min(area.width - PLOT.right, Math.max(PLOT.left, px));
  }

  area.plot.addEventListener("pointermove", (event) => {
    const px = position(event);
    show(Math.floor((area.time(px) - offset) / spec.step));
    if (pressed === null) return;
    chosen.setAttribute("x", Math.min(px, pressed));
    chosen.setAttribute("width", Math.abs(px - pressed));
    chosen.setAttribute("visibility", Math.abs(px - pressed) > 6 ? "visible" : "hidden");
  });
  area.plot.addEventListener("pointerdown", (event) => {
    if (!spec.onRange || event.button !== 0 || event.pointerType === "touch") return;
    pressed = position(event);
    area.plot.setPointerCapture(event.pointerId);
  });
  area.plot.addEventListener("pointerup", (event) => {
    if (pressed === null) return;
    const ends = [pressed, position(event)].sort((a, b) => a - b);
    pressed = null;
    chosen.setAttribute("visibility", "hidden");
    if (ends[1] - ends[0] > 6) spec.onRange(area.time(ends[0]), area.time(ends[1]));
  });
  area.plot.addEventListener("pointerleave", hide);
  area.plot.addEventListener("blur", hide);
  area.plot.addEventListener("keydown", (event) => {
    const middle = Math.floor((numbers[0] + numbers[1]) / 2);
    const at = current === null ? middle : current;
    const moves = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: numbers[0], End: numbers[1], PageUp: at - 10, PageDown: at + 10 };
    if (event.key === "Escape") hide();
    if (!(event.key in moves)) return;
    event.preventDefault();
    show(moves[event.key]);
  });
}
