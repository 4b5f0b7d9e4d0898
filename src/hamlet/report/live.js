/* The page of a stream: asks for figures every two seconds, and draws what has changed. Charts are those of
   chart.js; one that somebody points at stands still until they leave it. */

PLOT.height = 210;
const EVERY_MS = 2000, MOST_GROUPS = 6;
const byId = (id) => document.getElementById(id);
let figures = null, results = null, chosen = { query: null, groups: null, aggregate: null };

function showBytes(count) {
  if (count === null || count === undefined) return "unknown";
  for (const [unit, name] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
    if (count >= unit) return `${(count / unit).toFixed(1)} ${name}`;
  }
  return `${count} B`;
}

function showSeconds(seconds) {
  if (seconds === null || seconds === undefined) return "none yet";
  const size = Math.abs(seconds);
  if (size < 120) return `${seconds.toFixed(1)} s`;
  if (size < 7200) return `${(seconds / 60).toFixed(1)} min`;
  if (size < 172800) return `${(seconds / 3600).toFixed(1)} h`;
  return `${inThrees(String(Math.round(seconds / 86400)))} days`;
}

const clockOf = (seconds) => showTime(Math.round(seconds * 1e6 / SECOND) * SECOND, true);

// A table that is only made anew when what it says has changed, so that it can be read and copied.
function showTable(host, heads, rows, numbers = []) {
  const text = JSON.stringify([heads, rows]);
  if (host.dataset.said === text) return;
  host.dataset.said = text;
  const head = make("tr", {}, ...heads.map((each, i) => make("th", { scope: "col", ...(numbers.includes(i) && { class: "number" }) }, each)));
  const body = make("tbody", {});
  for (const row of rows) {
    const cells = row.cells.map((each, i) => {
      const cell = make("td", numbers.includes(i) ? { class: "number" } : {});
      if (each && each.code !== undefined) cell.append(make("code", {}, each.code));
      else if (each && each.mark !== undefined) cell.append(make("span", { class: each.on ? "mark on" : "mark" }, each.mark));
      else cell.append(String(each));
      return cell;
    });
    body.append(make("tr", row.class ? { class: row.class } : {}, ...cells));
  }
  host.replaceChildren(make("table", {}, make("thead", {}, head), body));
}

const isLookedAt = (host) => host.matches(":hover") || host.contains(document.activeElement);

// Now

function showNow() {
  const { last, totals } = figures;
  const running = figures.queries.filter((each) => each.until === null).length;
  const lamp = byId("lamp");
  lamp.className = figures.ended ? "lamp" : "lamp runs";
  const said = figures.ended ? `ended: ${figures.ended}` : "running";
  byId("status-text").textContent = last
    ? `${said} · batch ${last.batch} at ${clockOf(last.at)} UTC · ${running} ${running === 1 ? "query" : "queries"}`
    : `${said}, waiting for the first batch · ${running} ${running === 1 ? "query" : "queries"}`;
  const tiles = [
    ["Rows a second", last ? shortNumber(Math.round(last.rows_per_s)) : "none yet", `${inThrees(String(totals.rows))} rows in all`],
    ["Watermark", last && last.watermark !== null ? clockOf(last.watermark).slice(11, 19) : "none yet",
      last && last.lag_s !== null ? `${showSeconds(last.lag_s)} behind the clock` : "no window closes before it"],
    ["State", last ? showBytes(last.state_bytes) : "none yet", last ? `${inThrees(String(last.state_rows))} entries` : ""],
    ["Results", shortNumber(totals.results), `${inThrees(String(totals.windows))} windows closed`],
    ["Late rows", inThrees(String(totals.late)), `${inThrees(String(totals.malformed))} malformed`],
    ["A batch takes", last ? showSeconds(last.seconds) : "none yet", `${inThrees(String(figures.batches_done))} batches`],
  ];
  byId("tiles").replaceChildren(...tiles.map(([name, value, below]) =>
    make("div", { class: "tile" }, make("dt", {}, name), make("dd", {}, make("b", {}, value), make("span", {}, below)))));
  byId("told").replaceChildren(...figures.told.slice(-5).reverse().map((each) => make("li", {}, `${clockOf(each.at).slice(11)}  ${each.text}`)));
}

// Over time: a batch has its figures from the end of the one before it to its own.

function seriesOf(name) {
  const windows = [], values = [];
  let before = null;
  for (const batch of figures.batches) {
    if (batch[name] === null || batch[name] === undefined) continue;
    const to = Math.floor(batch.at);
    const from = before === null ? to : Math.max(before + 1, to - 120);
    for (let at = from; at <= to; at++) { windows.push(at); values.push(batch[name]); }
    before = to;
  }
  return { windows, values };
}

function drawCourse() {
  for (const [id, name, label] of [["rate", "rows_per_s", "Rows a second"], ["seconds", "seconds", "Seconds a batch takes"],
    ["lag", "lag_s", "Watermark behind the clock"], ["state", "state_bytes", "State in bytes"]]) {
    const host = byId(`chart-${id}`), found = seriesOf(name);
    if (isLookedAt(host)) continue;
    if (!found.windows.length) { host.replaceChildren(make("p", { class: "nothing" }, "Nothing yet.")); continue; }
    const from = found.windows[0], to = Math.max(found.windows[found.windows.length - 1] + 1, from + 30);
    drawLines(host, {
      series: [{ name: label, ...found }], step: SECOND, within: SECOND, origin: 0, from: from * SECOND, to: to * SECOND,
      isLog: false, isClock: true, label: `${label}, over time`,
    });
  }
}

function drawSharing() {
  const host = byId("chart-sharing"), some = figures.batches.filter((each) => each.bursts || each.merges || each.splits).slice(-120);
  const parts = [
    { name: "bursts that queries shared", colour: "var(--share)", of: (b) => b.shared_bursts },
    { name: "other bursts", colour: "var(--alone)", of: (b) => Math.max(0, b.bursts - b.shared_bursts) },
    { name: "bundles merged", colour: "var(--merge)", of: (b) => b.merges },
    { name: "bundles split", colour: "var(--split)", of: (b) => b.splits },
  ];
  byId("sharing-legend").replaceChildren(...parts.map((each) => make("li", {}, block(each.colour), ` ${each.name}`)));
  const { shared_events, snapshots } = figures.totals;
  byId("sharing-note").textContent = `Over all batches ${inThrees(String(shared_events))} events for several queries cost as one, `
    + `and ${inThrees(String(snapshots))} values were kept apart. Below the chart are numbers of batches that ran anything.`;
  if (isLookedAt(host)) return;
  if (!some.length) { host.replaceChildren(make("p", { class: "nothing" }, "No window has closed yet: decisions are made when events are run.")); return; }
  const first = some[0].batch, size = some[some.length - 1].batch - first + 1;
  const drawn = parts.map((each) => {
    const values = new Array(size).fill(0);
    for (const batch of some) values[batch.batch - first] = each.of(batch);
    return { name: each.name, colour: each.colour, values };
  });
  drawBars(host, { parts: drawn, start: first * SECOND, step: SECOND, isClock: false, label: "Decisions of sharing, batch by batch", show: showNumber });
}

// Results

function fill(select, texts, wanted, search) {
  const shown = texts.filter((each) => each.text.toLowerCase().includes(search.toLowerCase()));
  const said = JSON.stringify(shown);
  if (select.dataset.said !== said) {
    select.dataset.said = said;
    select.replaceChildren(...shown.map((each) => make("option", { value: each.value }, each.text)));
  }
  for (const option of select.options) option.selected = wanted.includes(option.value);
}

function showChoices() {
  const named = figures.queries.map((each) => ({ value: each.name, text: each.name }));
  if (chosen.query === null && named.length) {
    const most = figures.queries.reduce((a, b) => (b.rows > a.rows ? b : a));
    if (most.rows) chosen.query = most.name;
  }
  byId("query-count").textContent = `${named.length}`;
  fill(byId("query"), named, [chosen.query ?? named[0]?.value], byId("query-search").value);
}

const BLANK = { groups: 0, rows: 0, aggregates: [], kept: [] };

function showResults() {
  const found = results ?? BLANK, query = figures.queries.find((each) => each.name === found.query);
  const groups = found.kept.map((each) => each.group);
  if (chosen.groups === null && groups.length) chosen.groups = groups.slice(0, 3);
  const wanted = (chosen.groups ?? []).slice(0, MOST_GROUPS);
  byId("group-count").textContent = found.groups > groups.length ? `the first ${groups.length} of ${inThrees(String(found.groups))}` : `${groups.length}`;
  fill(byId("group"), groups.map((each) => ({ value: each, text: each === "{}" ? "all events" : each })), wanted, byId("group-search").value);
  if (!found.aggregates.includes(chosen.aggregate)) chosen.aggregate = found.aggregates[0] ?? null;
  fill(byId("aggregate"), found.aggregates.map((each) => ({ value: each, text: each })), [chosen.aggregate], "");
  byId("about").replaceChildren(...(query ? [make("h3", {}, query.name), make("pre", { class: "asked", tabindex: "0" }, query.text || "")] : []));
  const series = wanted.map((group) => {
    const rows = found.kept.find((each) => each.group === group)?.values[chosen.aggregate] ?? [];
    return { name: group === "{}" ? "all events" : group, rows };
  });
  drawResults(series);
  const rows = series.flatMap((each) => each.rows.map((row) => ({ group: each.name, row })));
  rows.sort((a, b) => b.row[0] - a.row[0]);
  showTable(byId("rows"), ["Window", "Group", chosen.aggregate ?? "Value"],
    rows.slice(0, 12).map(({ group, row }) => ({ cells: [showWindow(row[0], row[1], isClockOf(row)), group, showNumber(row[2])] })), [2]);
}

// Times of events that are a few seconds after 1970 are no times of a clock.
const isClockOf = (row) => row[0] >= 366 * DAY;

function drawResults(series) {
  const host = byId("chart"), starts = [...new Set(series.flatMap((each) => each.rows.map((row) => row[0])))].sort((a, b) => a - b);
  byId("legend").replaceChildren(...series.map((each, i) => make("li", {}, swatch(`var(--s${i})`, DASHES[i]), each.name)));
  if (isLookedAt(host)) return;
  if (!starts.length) {
    host.replaceChildren(make("p", { class: "nothing" }, "No result yet. Windows give theirs when the watermark has passed their ends."));
    byId("chart-note").textContent = "";
    return;
  }
  let step = Infinity;
  for (let i = 1; i < starts.length; i++) step = Math.min(step, starts[i] - starts[i - 1]);
  const row = series.find((each) => each.rows.length).rows[0];
  if (step === Infinity) step = row[1] - row[0];
  const origin = ((starts[0] % step) + step) % step;
  const lines = series.map((each) => {
    const rows = each.rows.filter((one) => one[2] !== null);
    return { name: each.name, windows: rows.map((one) => Math.floor((one[0] - origin) / step)), values: rows.map((one) => one[2]) };
  });
  const size = drawLines(host, {
    series: lines, step, within: row[1] - row[0], origin, from: starts[0] - origin, to: starts[starts.length - 1] + step - origin,
    isLog: byId("scale").value === "log", isClock: isClockOf(row), label: `${chosen.aggregate} of the last windows`,
  });
  byId("chart-note").textContent = size > 1 ? `A point stands for ${size} windows: the line is their mean, the band goes from least to greatest.` : "Point at the chart, or use the arrow keys, for numbers.";
}

// Tables

function showQueries() {
  const rows = figures.queries.map((each) => ({
    class: each.until === null ? "" : "gone",
    cells: [each.name, { mark: each.until === null ? "runs" : "removed", on: each.until === null }, each.since, each.until ?? "",
      inThrees(String(each.rows)), inThrees(String(each.groups)), { code: (each.text || "").replace(/\s+/g, " ") }],
  }));
  showTable(byId("all-queries"), ["Query", "", "Windows from", "until", "Rows", "Groups", "Asks"], rows, [4, 5]);
}

function showBatches() {
  const rows = figures.batches.slice(-15).reverse().map((each) => ({ cells: [
    each.batch, clockOf(each.at).slice(11), inThrees(String(each.rows)), each.seconds.toFixed(2), shortNumber(Math.round(each.rows_per_s)),
    each.watermark === null ? "none" : clockOf(each.watermark), inThrees(String(each.late)), inThrees(String(each.results)), showBytes(each.state_bytes),
  ] }));
  showTable(byId("all-batches"), ["Batch", "Ended", "Rows", "Seconds", "Rows a second", "Watermark", "Late", "Results", "State"], rows, [0, 2, 3, 4, 6, 7, 8]);
}

// Asking

async function ask(path) {
  const answer = await fetch(path, { cache: "no-store" });
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.json();
}

async function askResults() {
  const query = chosen.query ?? figures.queries[0]?.name;
  results = query === undefined ? null : await ask(`/results.json?query=${encodeURIComponent(query)}`);
}

async function look() {
  figures = await ask("/figures.json");
  showChoices();
  await askResults();
  for (const each of [showNow, showResults, drawCourse, drawSharing, showQueries, showBatches]) each();
}

async function turn() {
  if (!byId("pause").checked && !document.hidden) {
    try {
      await look();
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      byId("lamp").className = "lamp lost";
      byId("status-text").textContent = "the stream does not answer any more: what is shown is the last that was known";
    }
  }
  setTimeout(turn, EVERY_MS);
}

byId("query").addEventListener("change", async (event) => {
  chosen = { query: event.target.value, groups: null, aggregate: null };
  await askResults();
  showResults();
});
byId("group").addEventListener("change", (event) => {
  chosen.groups = [...event.target.selectedOptions].map((each) => each.value).slice(0, MOST_GROUPS);
  showResults();
});
byId("aggregate").addEventListener("change", (event) => { chosen.aggregate = event.target.value; showResults(); });
byId("scale").addEventListener("change", showResults);
byId("query-search").addEventListener("input", showChoices);
byId("group-search").addEventListener("input", showResults);
window.addEventListener("resize", () => { if (figures) { showResults(); drawCourse(); drawSharing(); } });
turn();
