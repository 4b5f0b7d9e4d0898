/* A map of many groups over time: a row for each group, a cell for some windows, dark where results are great. */

const HEAT = { row: 18, right: 14, top: 6, bottom: 42, cell: 7, most: 40 };

// The groups with the greatest results, greatest first.
function greatestGroups(found, values, most) {
  const peaks = found.groups.map(({ begin, end }, group) => {
    let peak = null;
    for (let i = begin; i < end; i++) {
      if (values[i] !== null && (peak === null || compare(values[i], peak) > 0)) peak = values[i];
    }
    return { group, peak };
  }).filter(({ peak }) => peak !== null);
  return peaks.sort((a, b) => compare(b.peak, a.peak) || a.group - b.group).slice(0, most).map(({ group }) => group);
}

/* spec: rows [{name, windows, values, group}], step, within, origin, from, to, isLog, isClock, label, onChoose(group).
   Returns how many windows a cell stands for. */
function drawHeat(host, spec) {
  host.replaceChildren();
  const width = Math.max(260, host.clientWidth), left = width > 700 ? 190 : 100;
  const room = width - left - HEAT.right;
  const size = windowsOfPoint(spec.from, spec.to, spec.step, room, HEAT.cell);
  const rows = spec.rows.map((each) => ({ ...each, points: inPoints(each, size, ...seen(each, spec.step, spec.from, spec.to)) }));
  const greatest = rows.flatMap((row) => row.points.map((point) => point.high));
  if (!greatest.length) {
    host.append(make("p", { class: "nothing" }, "There is no result here."));
    return size;
  }
  const scale = spec.isLog ? logScale(greatest) : linearScale(greatest);
  const height = HEAT.top + rows.length * HEAT.row + HEAT.bottom;
  const plot = svg("svg", { class: "plot heat-map", viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": spec.label });
  const x = (us) => left + (us - spec.from) / (spec.to - spec.from) * room;
  const readout = make("div", { class: "readout", role: "status" });
  readout.hidden = true;
  const long = left > 150 ? 24 : 12;
  rows.forEach((row, i) => {
    const y = HEAT.top + i * HEAT.row;
    const short = row.name.length > long ? `${row.name.slice(0, long - 1)}…` : row.name;
    const name = svg("text", { x: left - 8, y: y + 13, "text-anchor": "end", class: "row-name" }, short);
    name.append(svg("title", {}, row.name));
    name.addEventListener("click", () => spec.onChoose(row.group));
    plot.append(name);
    for (const point of row.points) {
      const from = Math.max(left, x(point.number * size * spec.step));
      const to = Math.min(width - HEAT.right, x((point.number + 1) * size * spec.step));
      const cell = svg("rect", {
        class: "cell", x: from.toFixed(1), y, width: Math.max(1, to - from - 0.5).toFixed(1), height: HEAT.row - 1,
        "fill-opacity": (0.1 + 0.9 * Math.max(0, scale.part(point.high))).toFixed(3),
      });
      cell.addEventListener("pointerenter", () => tell(row, point, from, y));
      cell.addEventListener("click", () => spec.onChoose(row.group));
      plot.append(cell);
    }
  });
  const foot = HEAT.top + rows.length * HEAT.row;
  timeAxis(plot, spec.from, spec.to, x, foot, width, spec.isClock, spec.origin);
  function tell(row, point, from, y) {
    const begin = point.number * size * spec.step, end = begin + (size - 1) * spec.step + spec.within;
    const cells = size === 1 ? [["result", point.high]]
      : [["least", point.low], ["mean", point.mean], ["greatest", point.high], ["results", point.count]];
    const table = make("table", {}, make("caption", {}, `${row.name} ${showWindow(begin + spec.origin, end + spec.origin, spec.isClock)}`));
    for (const [name, value] of cells) {
      table.append(make("tr", {}, make("td", {}, name), make("td", { class: "number" }, showNumber(value))));
    }
    readout.replaceChildren(table);
    readout.hidden = false;
    const isLeft = from > width / 2;
    readout.style.top = `${y + HEAT.row + 4}px`;
    readout.style.left = isLeft ? "auto" : `${from}px`;
    readout.style.right = isLeft ? `${width - from}px` : "auto";
  }
  plot.addEventListener("pointerleave", () => { readout.hidden = true; });
  host.append(plot, readout);
  return size;
}
