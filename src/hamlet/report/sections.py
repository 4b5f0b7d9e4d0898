"""The parts of a report that do not change: sentences, tiles and tables, as HTML.

Whatever is the user's own goes through `escape` here.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from hamlet.errors import counted
from hamlet.explain import summary
from hamlet.report.shared import work_s

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hamlet.report.findings import Findings
    from hamlet.report.saved import Run

_STAGES = {
    "start": "start Spark",
    "read": "read events",
    "plan": "make the plan",
    "encode": "events to arrays",
    "run": "run the queries",
    "kernels": "compile the kernels, or load them",
    "finish": "numbers to rows",
    "results": "put results together",
}


def conclusion_html(findings: Findings) -> str:
    """What was run over what, what each query found, and what may be a mistake."""
    notes = "".join(f"<li>{escape(note)}</li>" for note in findings.run.notes)
    listed = f'\n<ul class="notes">{notes}</ul>' if notes else ""
    return f'<p class="lead">{escape(findings.first)}</p>\n{_found_html(findings)}{listed}'


def _found_html(findings: Findings) -> str:
    if not findings.rows:
        return "<p>No trend was found.</p>"
    told = findings.told_of
    items = "".join(f"<li><b>{escape(one.name)}</b> {escape(one.told)}</li>" for one in told)
    with_results = sum(one.rows > 0 for one in findings.queries)
    lines = [f'<ul class="found">{items}</ul>']
    if with_results > len(told):
        lines.insert(0, f"<p>Of {with_results:,} queries, the ones with most unusual results:</p>")
    empty = [one.name for one in findings.queries if not one.rows]
    if empty:
        names = ", ".join(f"<b>{escape(name)}</b>" for name in empty[:5])
        more = f" and {len(empty) - 5:,} more" if len(empty) > 5 else ""
        lines.append(f"<p>Nothing was found by {names}{more}.</p>")
    return "\n".join(lines)


def sharing_html(findings: Findings) -> str:
    """What sharing did, what it took, and the work that was counted."""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in findings.sharing)
    statistics = findings.run.statistics
    rows = [
        ("bursts: stretches of events run at once", f"{statistics.bursts:,}"),
        ("snapshots: values kept apart for a query", f"{statistics.snapshots:,}"),
    ]
    work = _table(("work of this run", "how often"), rows, numeric=1)
    return f'<ul class="saved">{items}</ul>\n<div class="work">{work}</div>'


def tiles_html(findings: Findings) -> str:
    """The counts of a run at a glance."""
    statistics, queries = findings.run.statistics, findings.queries
    tiles = [
        (
            len(queries),
            "query",
            "queries",
            f"{sum(one.rows > 0 for one in queries):,} with results",
        ),
        (statistics.events_in, "event", "events", f"{statistics.events_used:,} took part"),
        (findings.rows, "result", "results", "one for each window and group"),
        (findings.windows, "window", "windows", "with results, of all queries"),
    ]
    if findings.is_grouped:
        tiles.append((findings.groups, "group", "groups", "with results, of all queries"))
    return "\n".join(
        f'<div class="tile"><dt>{one if number == 1 else several}</dt>'
        f"<dd><b>{number:,}</b> <span>{note}</span></dd></div>"
        for number, one, several, note in tiles
    )


def runs_html(findings: Findings) -> str:
    """Runs side by side, if there is more than one."""
    if not findings.others:
        return ""
    rows = [_run_row(findings.run, "this report")]
    for one in findings.others:
        same = f"other in {counted(one.differing, 'row')}" if one.differing else "the same"
        rows.append(_run_row(one.run, same))
    heads = ("engine", "sharing", "results", "seconds", "of it work", "bursts", "snapshots")
    return (
        "<h3>Runs side by side</h3>\n"
        + _table(heads, rows, numeric=4)
        + '<p class="note">Each was measured once. Seconds are wall time, with everything that a '
        "run does; starting Spark is part of them.</p>"
    )


def _run_row(run: Run, results: str) -> tuple[str, ...]:
    statistics = run.statistics
    return (
        run.engine,
        run.options.get("sharing") or "dynamic",
        results,
        f"{sum(statistics.seconds.values()):.2f}",
        f"{work_s(run):.2f}",
        f"{statistics.bursts:,}",
        f"{statistics.snapshots:,}",
    )


def seconds_html(run: Run) -> str:
    """Where time went: a bar for each stage."""
    seconds = run.statistics.seconds
    whole = sum(seconds.values())
    if not whole:
        return "<p>Times were not measured.</p>"
    rows = "".join(
        f'<tr><th scope="row">{escape(_STAGES.get(stage, stage))}</th>'
        f'<td class="number">{took:.3f} s</td><td class="number">{took / whole:.0%}</td>'
        f'<td class="bar"><i style="width:{100 * took / max(seconds.values()):.1f}%"></i></td></tr>'
        for stage, took in seconds.items()
    )
    head = (
        f'<tr><th scope="col">stage</th><th scope="col"{_NUMBER}>seconds</th>'
        f'<th scope="col"{_NUMBER}>part</th><td></td></tr>'
    )
    whole_row = (
        f'<tr class="whole"><th scope="row">together</th><td class="number">{whole:.3f} s</td>'
        "<td></td><td></td></tr>"
    )
    return (
        f'<div class="scroll"><table class="stages"><thead>{head}</thead>'
        f"<tbody>{rows}{whole_row}</tbody></table></div>"
    )


def faults_html(run: Run) -> str:
    """Rows that could not be read, by reason, and rows that came too late."""
    statistics = run.statistics
    unused = statistics.events_in - statistics.events_used - statistics.events_malformed
    rows = [
        *((reason, f"{count:,}") for reason, count in statistics.malformed.items()),
        *((f"without a value for {a}", f"{n:,}") for a, n in statistics.without_key.items()),
        ("came after their windows had closed", f"{statistics.late:,}"),
        ("read, and no query asks for them", f"{max(0, unused - statistics.late):,}"),
        ("took part in a query", f"{statistics.events_used:,}"),
    ]
    malformed = statistics.events_malformed
    first = (
        "Every row could be read."
        if not malformed
        else f"{counted(malformed, 'row')} could not be read, and were left out."
    )
    return f"<p>{first}</p>" + _table(("rows", "how many"), rows, numeric=1)


def reproduce_html(run: Run) -> str:
    """The command, the options and the machine."""
    shown = {
        "workload": f"{run.workload.name}: {summary(run.workload.plan)}",
        "events": run.events,
        "engine": run.engine,
        **{name: value for name, value in run.options.items() if value is not None},
        "begun": run.begun,
        **run.circumstances,
    }
    facts = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>"
        for name, value in shown.items()
        if value
    )
    command = run.command or _in_python(run)
    return (
        f'<pre class="code" tabindex="0"><code>{escape(command)}</code></pre>\n'
        f'<dl class="facts">{facts}</dl>\n'
        f"<details><summary>The workload</summary>"
        f'<pre class="code" tabindex="0"><code>{escape(run.workload.text)}</code></pre></details>'
    )


def _in_python(run: Run) -> str:
    given = "".join(f", {k}={v!r}" for k, v in run.options.items() if v is not None)
    return f'Workload.load("workload.hql").run(events{given})  # events: {run.events or "a table"}'


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, numeric: int) -> str:
    """A table whose last columns are numbers."""
    words = len(heads) - numeric
    head = "".join(
        f'<th scope="col"{"" if i < words else _NUMBER}>{escape(cell)}</th>'
        for i, cell in enumerate(heads)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{'' if i < words else _NUMBER}>{escape(cell)}</td>" for i, cell in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


_NUMBER = ' class="number"'
