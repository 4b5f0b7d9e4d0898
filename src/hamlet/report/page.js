/* What the reader chooses: a query, groups, an aggregate, a stretch of time. Only what is chosen is
   read and drawn: the columns of a query are parsed when it is chosen for the first time. */

const byId = (id) => document.getElementById(id);
const told = JSON.parse(byId("run").textContent);
const isClock = told.times === "utc";
const MOST_LINES = 6, MOST_OPTIONS = 500, ROWS_OF_PAGE = 12;
const state = { query: told.chosen, groups: [0], aggregate: 0, from: 0, to: 1 };
const columnsOf = new Map();

function plural(number, one, many) {
  return `${showNumber(number)} ${number === 1 ? one : many || `${one}s`}`;
}

// {"district": 3} is shown as district 3. The text is not parsed: a long number would lose digits.
function groupName(text) {
  if (text === "{}") return "all events";
  return text.slice(1, -1).replace(/(^|, )"((?:[^"\\]|\\.)*)": /g, "$1$2 ");
}

// Columns of a query

function columns(query) {
  if (!columnsOf.has(query)) columnsOf.set(query, unpacked(JSON.parse(byId(`q${query}`).textContent)));
  return columnsOf.get(query);
}

function unpacked(found) {
  const total = found.rows.reduce((sum, rows) => sum + rows, 0);
  const windows = new Float64Array(total);
  let at = 0;
  found.first.forEach((first, i) => {
    for (let k = 0; k < found.length[i]; k++) windows[at++] = first + k;
  });
  let begin = 0;
  const groups = found.groups.map((text, i) => {
    const one = { name: groupName(text), text, begin, end: begin + found.rows[i] };
    begin = one.end;
    return one;
  });
  return { windows, groups, values: found.values, leftOut: found.left_out };
}

function seriesOf(group) {
  const found = columns(state.query), { name, begin, end } = found.groups[group];
  return { name, windows: found.windows.subarray(begin, end), values: found.values[state.aggregate].slice(begin, end) };
}

function span() {
  const query = told.queries[state.query], { windows } = columns(state.query);
  let low = Infinity, high = -Infinity;
  for (const each of windows) { if (each < low) low = each; if (each > high) high = each; }
  return low === Infinity ? [0, 1] : [low * query.slide_us, (high + 1) * query.slide_us];
}

// Choices

function fill(select, names, chosen, wanted, count, what) {
  const search = wanted.trim().toLowerCase();
  const matching = names.map((name, i) => i).filter((i) => names[i].toLowerCase().includes(search));
  const shown = matching.slice(0, MOST_OPTIONS);
  for (const each of chosen) if (matching.includes(each) && !shown.includes(each)) shown.push(each);
  select.replaceChildren(...shown.map((i) => {
    const option = make("option", { value: i }, names[i]);
    option.selected = chosen.includes(i);
    return option;
  }));
  const cut = shown.length < matching.length ? `, the first ${MOST_OPTIONS} shown` : "";
  count.textContent = search ? `${showNumber(matching.length)} of ${showNumber(names.length)}${cut}`
    : `${showNumber(names.length)}${cut}`;
  select.setAttribute("aria-label", `${what}, ${count.textContent}`);
}

function fillQueries() {
  const names = told.queries.map((query) => query.name);
  fill(byId("query"), names, [state.query], byId("query-search").value, byId("query-count"), "Query");
}

function fillGroups() {
  const names = columns(state.query).groups.map((group) => group.name);
  fill(byId("group"), names, state.groups, byId("group-search").value, byId("group-count"), "Groups");
}

function chooseQuery(number) {
  const query = told.queries[number];
  state.query = number;
  state.aggregate = query.leading;
  const found = columns(number);
  const top = found.groups.findIndex((group) => query.top !== null && group.name === groupName(query.top));
  state.groups = found.groups.length ? [Math.max(0, top)] : [];
  [state.from, state.to] = span();
  byId("group-search").value = "";
  byId("aggregate").replaceChildren(...query.returns.map((name, i) => {
    const option = make("option", { value: i }, name);
    option.selected = i === state.aggregate;
    return option;
  }));
  chooseScale();
  fillQueries();
  fillGroups();
  tellAbout(query, found);
  draw();
}

function tellAbout(query, found) {
  const about = [make("h3", {}, query.name), make("pre", { class: "asked", tabindex: 0 }, query.text)];
  if (!query.rows) about.push(make("p", {}, "It found nothing."));
  else {
    const groups = query.by.length ? ` and ${plural(query.groups, "group")}` : "";
    about.push(make("p", {}, `${plural(query.rows, "result")} in ${plural(query.windows, "window")}${groups} with results.`));
    about.push(make("p", {}, query.told));
  }
  const [groups, rows] = found.leftOut;
  if (groups || rows) {
    const left = [groups ? plural(groups, "group") : "", rows ? plural(rows, "row") : ""].filter(Boolean);
    about.push(make("p", { class: "warning" }, `Too many for a page: ${left.join(" and ")} ` +
      "with fewest windows are not in it. All results are in the folder of the run."));
  }
  byId("about").replaceChildren(...about);
}

// A logarithmic scale is for positive numbers of very different size.
function chooseScale() {
  let low = Infinity, high = -Infinity, isNegative = false, isHuge = false;
  for (const value of columns(state.query).values[state.aggregate] || []) {
    if (value === null || value === 0) continue;
    if (typeof value === "string") isHuge = true;
    if (asDouble(value) < 0) { isNegative = true; continue; }
    const size = magnitude(value);
    if (size < low) low = size;
    if (size > high) high = size;
  }
  const select = byId("scale");
  select.options[1].disabled = isNegative;
  select.value = !isNegative && (isHuge || high - low > 3) ? "log" : "linear";
}

// The chart and its rows

function draw() {
  const query = told.queries[state.query];
  const series = state.groups.map(seriesOf);
  const name = query.returns[state.aggregate] || "";
  byId("legend").replaceChildren(...series.map((each, i) =>
    make("li", {}, swatch(`var(--s${i})`, DASHES[i]), each.name)));
  const isLog = byId("scale").value === "log";
  const size = drawLines(byId("chart"), {
    series, step: query.slide_us, within: query.within_us, origin: query.origin_us, from: state.from, to: state.to, isLog, isClock,
    label: `${query.name}: ${name} over time. Arrow keys go from window to window.`,
    onRange: setRange,
  });
  const axis = query.zone || (isClock ? "UTC" : "seconds");
  const what = size === 1
    ? `Each step is a window of ${query.within}, drawn from its start until the next one starts (${axis}).`
    : `Each point is ${showNumber(size)} windows: least, mean and greatest (${axis}); look closer to see each.`;
  byId("chart-note").textContent = `${name}, ${isLog ? "logarithmic" : "from zero"}. ${what} Drag over a stretch to look closer.`;
  drawMap(isLog, name);
  drawRows();
}

// Of a query with more groups than lines, all of them at once, or those with the greatest results.
function drawMap(isLog, name) {
  const query = told.queries[state.query], found = columns(state.query);
  byId("map").hidden = found.groups.length <= MOST_LINES;
  if (byId("map").hidden) return;
  const shown = greatestGroups(found, found.values[state.aggregate], HEAT.most);
  const size = drawHeat(byId("heat"), {
    rows: shown.map((group) => ({ ...seriesOf(group), group })), step: query.slide_us, within: query.within_us,
    origin: query.origin_us, from: state.from, to: state.to, isLog, isClock, label: `${query.name}: ${name} of ${plural(shown.length, "group")} over time`,
    onChoose: (group) => { state.groups = [group]; fillGroups(); draw(); },
  });
  const which = shown.length < found.groups.length
    ? `The ${shown.length} groups with the greatest results, of ${showNumber(found.groups.length)}.` : `All ${shown.length} groups.`;
  const cell = size === 1 ? "Each cell is a window" : `Each cell is ${showNumber(size)} windows, coloured by the greatest of them`;
  byId("heat-note").textContent = `${which} ${cell}: the darker, the greater (${isLog ? "logarithmic" : "from zero"}); ` +
    "no colour, no result. Choose a row to see it as a line.";
}

function drawRows() {
  const query = told.queries[state.query], found = columns(state.query), rows = [];
  for (const group of state.groups) {
    const { begin, end } = found.groups[group];
    const windows = found.windows.subarray(begin, end);
    const low = firstAtLeast(windows, Math.floor(state.from / query.slide_us));
    const high = firstAtLeast(windows, Math.ceil(state.to / query.slide_us));
    for (let i = begin + low; i < begin + high; i++) rows.push([i, group]);
  }
  if (byId("order").value === "largest") {
    const values = found.values[state.aggregate];
    const key = (i) => (values[i] === null ? -Infinity : asDouble(values[i]));
    const size = (i) => (typeof values[i] === "string" ? magnitude(values[i].replace("-", "")) : 0);
    rows.sort((a, b) => key(b[0]) - key(a[0]) || size(b[0]) - size(a[0]) || a[0] - b[0]);
  } else {
    rows.sort((a, b) => found.windows[a[0]] - found.windows[b[0]] || a[1] - b[1]);
  }
  const heads = ["window", "group", ...query.returns];
  paged(byId("rows"), heads, rows.length, 2, (i) => {
    const [row, group] = rows[i];
    return [windowOf(query, found.windows[row]), found.groups[group].name,
      ...found.values.map((values) => showNumber(values[row]))];
  }, 2 + state.aggregate, (i) => opened(query, found.windows[rows[i][0]], found.groups[rows[i][1]].text));
  byId("save").onclick = () => saveRows(query, found, rows, heads);
  byId("save").disabled = !rows.length;
}

// What a row opens to.
function opened(query, window, group) {
  const examples = examplesOfRow(state.query, window, group);
  if (examples) return shownExamples(examples);
  const start = window * query.slide_us + query.origin_us;
  // In the zone of the windows where they have one, else in UTC
  const moment = isClock ? new Date(start / 1000).toISOString().slice(0, 23) + (query.zone ? "" : "Z") : String(start / 1e6);
  return howToAsk(told.command, query.name, moment, group);
}

function windowOf(query, window) {
  const start = window * query.slide_us + query.origin_us;
  return showWindow(start, start + query.within_us, isClock);
}

function setRange(from, to) {
  const [low, high] = span();
  const least = Math.min(high - low, 4 * told.queries[state.query].slide_us);
  const length = Math.min(high - low, Math.max(least, to - from));
  state.from = Math.min(Math.max(low, from), high - length);
  state.to = state.from + length;
  draw();
}

function saveRows(query, found, rows, heads) {
  const cell = (value) => {
    const text = value === null ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = rows.map(([row, group]) => {
    const start = found.windows[row] * query.slide_us + query.origin_us;
    return [showTime(start, isClock), showTime(start + query.within_us, isClock), found.groups[group].name,
      ...found.values.map((values) => values[row])].map(cell).join(",");
  });
  const text = [["window_start", "window_end", ...heads.slice(1)].map(cell).join(","), ...lines, ""].join("\n");
  const link = make("a", { download: `${query.name.replace(/[^\w.-]+/g, "_")}.csv` });
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// A table of which one page is made at a time

function paged(host, heads, size, texts, row, shown, detail) {
  let page = 0;
  const pages = Math.max(1, Math.ceil(size / ROWS_OF_PAGE));
  const kind = (i) => (i >= texts ? { class: `number${i === shown ? " shown" : ""}` } : {});
  const body = make("tbody", {});
  const head = make("tr", {}, ...heads.map((name, i) => make("th", { scope: "col", ...kind(i) }, name)));
  const table = make("table", {}, make("thead", {}, head), body);
  const where = make("span", { "aria-live": "polite" });
  const buttons = [["First", () => 0], ["Previous", () => page - 1], ["Next", () => page + 1], ["Last", () => pages - 1]]
    .map(([name, to]) => {
      const button = make("button", { type: "button" }, name);
      button.onclick = () => { page = to(); turn(); };
      return button;
    });
  function turn() {
    page = Math.min(pages - 1, Math.max(0, page));
    const from = page * ROWS_OF_PAGE, to = Math.min(size, from + ROWS_OF_PAGE);
    body.replaceChildren();
    for (let i = from; i < to; i++) {
      const line = make("tr", {}, ...row(i).map((cell, k) => make("td", kind(k), cell)));
      if (detail) openable(line, () => detail(i));
      body.append(line);
    }
    where.textContent = size ? `${showNumber(from + 1)} to ${showNumber(to)} of ${showNumber(size)}` : "no rows";
    buttons.forEach((button, i) => { button.disabled = i < 2 ? page === 0 : page === pages - 1; });
  }
  turn();
  host.replaceChildren(make("div", { class: "scroll" }, table));
  if (pages > 1 || !size) host.append(make("div", { class: "pager" }, where, ...(size ? buttons : [])));
}

// A row whose first cell opens, and closes, what there is to say of it.
function openable(line, detail) {
  const cell = line.cells[0];
  const button = make("button", { type: "button", class: "link opens", "aria-expanded": "false" }, cell.textContent);
  button.onclick = () => {
    const isOpen = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!isOpen));
    if (isOpen) { line.nextSibling.remove(); return; }
    const below = make("td", { colspan: line.cells.length }, detail());
    line.after(make("tr", { class: "detail" }, below));
  };
  cell.replaceChildren(button);
}

function listQueries() {
  const heads = ["query", "asks", "greatest result", "median", "results"];
  paged(byId("queries"), heads, told.queries.length, 2, (i) => {
    const query = told.queries[i];
    const link = make("button", { type: "button", class: "link" }, query.name);
    link.onclick = () => {
      byId("query-search").value = "";
      chooseQuery(i);
      byId("results").scrollIntoView();
    };
    const asks = make("div", {}, make("code", {}, query.pattern));
    if (query.where) asks.append(make("br", {}), make("code", {}, `WHERE ${query.where}`));
    asks.append(make("div", { class: "hint" }, `windows of ${query.within} every ${query.slide}` +
      (query.by.length ? `, for each ${query.by.join(", ")}` : "")));
    const most = query.most;
    const value = make("div", {}, most ? `${most[3]}: ${/^\d+$/.test(most[4]) ? inThrees(most[4]) : most[4]}` : "none");
    if (most) value.append(make("div", { class: "hint" }, `${most[1]}${most[2] === "{}" ? "" : ` ${groupName(most[2])}`}`));
    return [link, asks, value, query.median || "", showNumber(query.rows)];
  });
}

// Sharing

const DECISIONS = [
  ["share", "share: one for all", "var(--share)"],
  ["merge", "merge: shared from here on", "var(--merge)"],
  ["split", "split: no longer shared", "var(--split)"],
  ["alone", "alone: each by itself", "var(--alone)"],
];

function drawDecided() {
  const part = told.sharing.parts[Number(byId("part").value)], measure = byId("measure").value;
  const touches = part.share.map((_, i) => DECISIONS.reduce((sum, [name]) => sum + part[name][i], 0));
  let parts;
  if (measure === "decided") {
    parts = DECISIONS.map(([name, label, colour]) => ({ name: label, values: part[name], colour }));
  } else if (measure === "events") {
    const values = part.events.map((sum, i) => (touches[i] ? sum / touches[i] : 0));
    parts = [{ name: "events in a burst", values, colour: "var(--share)" }];
  } else {
    parts = [{ name: "snapshots", values: part.snapshots, colour: "var(--share)" }];
  }
  byId("decided-legend").replaceChildren(...parts.map((each) => make("li", {}, block(each.colour), ` ${each.name}`)));
  drawBars(byId("decided-chart"), {
    parts, start: part.start, step: part.step, isClock, show: showNumber,
    label: `${byId("measure").selectedOptions[0].textContent} over time. Arrow keys go from bar to bar.`,
  });
  const panes = Math.round(part.step / part.pane_us);
  const length = panes === 1 ? `a pane of ${part.pane}` : `${panes} panes of ${part.pane}`;
  byId("decided-note").textContent = `Each bar is ${length}${isClock ? " (UTC)" : ""}. ${part.summary.why}.`;
  fillBursts(part);
}

// b, n, k and w are those of the paper; costs are until all windows that are open have closed.
function fillBursts({ bursts }) {
  byId("decided-bursts").hidden = !bursts.length;
  if (!bursts.length) return;
  const heads = ["burst from", "b", "n", "k", "w", "s_c", "s_p", "cost shared", "cost alone", "decided"];
  paged(byId("decided-bursts"), heads, bursts.length, 1, (i) => {
    const [at, b, n, k, w, created, alive, shared, alone, decided] = bursts[i];
    return [showTime(at, isClock), ...[b, n, k, w, created, alive].map(showNumber), micro(shared), micro(alone), decided];
  });
}

const micro = (ns) => `${(ns / 1e3).toFixed(1)} µs`;

function fillSharing() {
  const { why, parts, bundles } = told.sharing;
  byId("sharing-why").textContent = why;
  byId("sharing-why").hidden = !why;
  byId("decided").hidden = !parts.length;
  if (!parts.length) return;
  byId("part").replaceChildren(...parts.map((part, i) => {
    const alike = part.about === "touch" ? bundles.filter((one) => one.set === part.set && one.type === part.type) : [];
    const names = alike.map((one) => one.queries.join(", ")).join("; ");
    const shown = names.length > 60 ? `${names.slice(0, 60)}…` : names;
    const edge = part.about === "burst" ? " with an edge predicate" : "";
    return make("option", { value: i }, `${part.type}+${edge} of ${shown || `set ${part.set}`}`);
  }));
  const heads = ["loop", "decisions", "share", "merge", "split", "alone", "b", "n", "snapshots", "cost shared", "cost alone"];
  paged(byId("decided-table"), heads, parts.length, 1, (i) => {
    const { summary, type, set, about } = parts[i];
    return [`${type}+ in set ${set}`, `${showNumber(summary.decisions)} ${about === "burst" ? "bursts" : "touches"}`,
      ...["share", "merge", "split", "alone"].map((name) => showNumber(summary.decided[name])),
      showNumber(Number(summary.mean_burst.toFixed(1))), showNumber(Math.round(summary.mean_live)),
      showNumber(summary.snapshots), micro(summary.cost_shared_ns), micro(summary.cost_alone_ns)];
  });
  drawDecided();
}

// Wiring

byId("query").onchange = (event) => chooseQuery(Number(event.target.value));
byId("query-search").oninput = fillQueries;
byId("group-search").oninput = fillGroups;
byId("group").onchange = (event) => {
  const chosen = [...event.target.selectedOptions].map((option) => Number(option.value));
  if (!chosen.length) return;
  state.groups = chosen.slice(0, MOST_LINES);
  if (chosen.length > MOST_LINES) fillGroups();
  draw();
};
byId("aggregate").onchange = (event) => { state.aggregate = Number(event.target.value); chooseScale(); draw(); };
byId("scale").onchange = draw;
byId("order").onchange = drawRows;
byId("part").onchange = drawDecided;
byId("measure").onchange = drawDecided;

function zoomed(factor, shift) {
  const middle = (state.from + state.to) / 2, half = (state.to - state.from) / 2;
  setRange(middle - half * factor + shift * half, middle + half * factor + shift * half);
}
byId("nearer").onclick = () => zoomed(0.5, 0);
byId("farther").onclick = () => zoomed(2, 0);
byId("earlier").onclick = () => zoomed(1, -1);
byId("later").onclick = () => zoomed(1, 1);
byId("whole").onclick = () => setRange(...span());

let waiting = 0;
window.addEventListener("resize", () => {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => { draw(); if (told.sharing.parts.length) drawDecided(); });
});

fillSharing();
listQueries();
if (told.queries.length) chooseQuery(told.chosen);
