/* What a row of results opens to: trends behind it that were drawn when the run was kept, or how to ask
   for some. Texts of events are put into the page as text only. */

const examplesOf = new Map();

function keyOf(query, window, group) {
  return JSON.stringify([query, window, group]);
}

// All of them are read when a row is opened for the first time.
function examplesOfRow(query, window, group) {
  if (!examplesOf.size) {
    for (const [of, at, name, count, examples] of JSON.parse(document.getElementById("examples").textContent)) {
      examplesOf.set(keyOf(of, at, name), { count, examples });
    }
  }
  return examplesOf.get(keyOf(query, window, group));
}

function shownExamples({ count, examples }) {
  const isPair = examples.length && examples[0].length > 1;
  const there = count.length > 15 ? `about 10^${count.length - 1}` : inThrees(count);
  const what = `${isPair ? "pair" : "trend"}${count === "1" ? "" : "s"}`;
  const told = count === "1" ? `This row is 1 ${what}:`
    : `${examples.length === 1 ? "One" : examples.length} of ${there} ${what}, drawn so that each is equally likely:`;
  return make("div", { class: "examples" }, make("p", {}, told),
    ...examples.map((sides) => make("div", { class: "example" },
      ...sides.flatMap((trend, i) => [...(i ? [make("p", { class: "hint" }, "and")] : []), shownTrend(trend)]))));
}

// Of a long trend the events in the middle are not in the page.
function shownTrend({ length, events }) {
  const heads = [...new Set(events.flatMap((event) => Object.keys(event)))];
  const rows = events.map((event) => make("tr", {}, ...heads.map((name) => make("td", {}, event[name] || ""))));
  if (length > events.length) {
    const left = make("td", { colspan: heads.length, class: "hint" }, `${showNumber(length - events.length)} events more`);
    rows.splice(events.length / 2, 0, make("tr", {}, left));
  }
  const head = make("tr", {}, ...heads.map((name) => make("th", { scope: "col" }, name)));
  const caption = make("caption", {}, `${showNumber(length)} ${length === 1 ? "event" : "events"}`);
  return make("div", { class: "scroll" }, make("table", {}, caption, make("thead", {}, head), make("tbody", {}, ...rows)));
}

// A word as a shell takes it.
const quoted = (word) => (/^[\w.,:/+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

function howToAsk(command, query, start, group) {
  const python = `results.examples(${JSON.stringify(query)}, window=${JSON.stringify(start)}, group=${JSON.stringify(group)})`;
  const asked = command ? `${command} --query ${quoted(query)} --window ${quoted(start)} --group ${quoted(group)}` : python;
  return make("div", { class: "examples" }, make("p", {}, "No examples of this row are in the page. To draw some:"),
    make("pre", { class: "code", tabindex: 0 }, asked));
}
