"""One HTML file that tells of a run, and needs nothing but a browser.

What does not change is written here as HTML, so that it can be read without scripts and searched:
the conclusion, pictures of templates, times, and how to do it again. What the reader chooses is
drawn by `page.js` from columns of JSON, one piece for each query that is read when it is chosen.

Names of queries, groups and files are the user's: they are escaped here, and the script puts them
into the page as text only. A policy in the head of the page forbids it to load anything and to run
any script but its own.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hamlet.explain import pictures, summary
from hamlet.io.whole import write_text
from hamlet.lang.parser import parse_tree
from hamlet.lang.printer import print_condition, print_query
from hamlet.picture import render_svg
from hamlet.plan.durations import show_duration
from hamlet.report.columns import MOST_VALUES, packed, window_numbers
from hamlet.report.decisions import decisions
from hamlet.report.findings import Findings
from hamlet.report.saved import check_page_target
from hamlet.report.sections import (
    conclusion_html,
    faults_html,
    reproduce_html,
    runs_html,
    seconds_html,
    sharing_html,
    tiles_html,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hamlet.lang.tree import QueryTree
    from hamlet.report.columns import Part
    from hamlet.report.findings import QueryFinding
    from hamlet.report.saved import Run

_SCRIPTS = ("chart.js", "series.js", "heat.js", "examples.js", "page.js")
_NO_TRACE = "A run on Spark keeps no trace of its decisions."


def write_report(
    run: Run, path: str | Path, *, beside: Sequence[Run] = (), overwrite: bool = False
) -> Path:
    """Write the report of a run; the file appears whole or not at all.

    Args:
        run: The run.
        path: A file that ends with .html.
        beside: Other runs of the same workload and events, to compare with.
        overwrite: Whether to replace what is there.

    Raises:
        WriteError: It is there already, or cannot be written.
    """
    path = Path(path)
    check_page_target(path, overwrite=overwrite)
    text = render_report(run, beside=beside)
    write_text(path, text)
    return path


def render_report(run: Run, *, beside: Sequence[Run] = (), most_values: int = MOST_VALUES) -> str:
    """The report of a run as HTML.

    Args:
        run: The run.
        beside: Other runs of the same workload and events. The first with a trace tells of what
            was decided, if the run itself kept none.
        most_values: How many values of results are put into the page; of more, groups with fewest
            rows are left out, and the page says so.
    """
    findings = Findings.of(run, beside)
    parts, queries = findings.parts, findings.queries
    pieces = [packed(part, budget) for part, budget in _budgets(parts, most_values)]
    description = findings.description
    script = "".join(map(resource, _SCRIPTS))
    trees = parse_tree(run.workload.text).queries
    asked = zip(description["queries"], trees, parts, queries, pieces, strict=True)
    is_number = pa.types.is_floating(run.table.schema.field("window_start").type)
    told = {
        "times": "seconds" if is_number else "utc",
        "chosen": findings.unusual[0] if queries else 0,
        "queries": [_query(*of_query) for of_query in asked],
        "sharing": _sharing(run, beside),
        "command": _examples_command(run),
    }
    return Template(resource("page.html")).substitute(
        title=escape(f"{run.workload.name}: report of a run"),
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src '{script_hash(script)}'",
        style=resource("page.css"),
        script=script,
        name=escape(run.workload.name),
        summary=escape(summary(run.workload.plan)),
        conclusion=conclusion_html(findings),
        tiles=tiles_html(findings),
        sharing=sharing_html(findings),
        runs=runs_html(findings),
        merged=_pictures_html(description, "merged"),
        templates=_pictures_html(description, "templates"),
        seconds=seconds_html(run),
        faults=faults_html(run),
        reproduce=reproduce_html(run),
        data=_data("run", told)
        + "".join(_data(f"q{i}", piece) for i, piece in enumerate(pieces))
        + _data("examples", _examples(run, parts)),
    )


def _budgets(parts: Sequence[Part], most_values: int) -> list[tuple[Part, int]]:
    """What each query may put into the page: what the small ones leave goes to the large."""
    left, waiting = most_values, len(parts)
    budget = {}
    for i, part in sorted(enumerate(parts), key=lambda pair: pair[1].rows.num_rows):
        budget[i] = min(part.rows.num_rows, left // max(1, waiting))
        left, waiting = left - budget[i], waiting - 1
    return [(part, budget[i]) for i, part in enumerate(parts)]


def _query(
    described: dict[str, Any],
    asked: QueryTree,
    part: Part,
    finding: QueryFinding,
    piece: dict[str, Any],
) -> dict[str, Any]:
    """What the page says of a query before it is chosen."""
    query = part.query
    return {
        "name": query.name,
        "text": print_query(asked),
        "pattern": described["pattern"],
        "where": "" if asked.where is None else print_condition(asked.where),
        "told": finding.told[:1].upper() + finding.told[1:],
        "median": finding.median,
        "returns": [result.name for result in query.returned],
        "by": described["group_by"],
        "within": described["within"],
        "slide": described["slide"],
        "within_us": query.window.lengths_us[0],
        "slide_us": query.window.lengths_us[1],
        # Windows of a zone are told in its own time, in which they are of one length.
        "origin_us": query.window.lengths_us[2],
        "zone": query.window.clock.zone,
        "rows": finding.rows,
        "windows": finding.windows,
        "groups": finding.groups,
        "kept": sum(piece["rows"]),
        "leading": finding.aggregate,
        "most": list(finding.most) if finding.most else None,
        "top": part.groups[finding.group] if part.groups else None,
    }


def _examples(run: Run, parts: Sequence[Part]) -> list[list[Any]]:
    """Examples of rows: query, window and group as the page has them, how many, and trends."""
    number = {part.query.name: i for i, part in enumerate(parts)}
    shown = []
    for example in run.examples:
        window = parts[number[example["query"]]].query.window
        bounds = (np.array([example[name]]) for name in ("start_us", "end_us"))
        place = int(window_numbers(window, *bounds)[0])
        row = [
            number[example["query"]],
            place,
            example["group"],
            example["count"],
            example["examples"],
        ]
        shown.append(row)
    return shown


def _examples_command(run: Run) -> str:
    """What is typed for examples, up to the row; empty where the run was not typed."""
    if not run.command:
        return ""
    words = ["hamlet", "examples", run.workload.name, "--events", run.events]
    for name, usual in (("type", "type"), ("time", "time"), ("order", None)):
        if run.options.get(name, usual) != usual:
            words += [f"--{name}", str(run.options[name])]
    if run.engine != "local":
        words += ["--engine", run.engine]
    return shlex.join(words)


def _sharing(run: Run, beside: Sequence[Run]) -> dict[str, Any]:
    """What was decided about sharing over time, and where that is known from; or why it is not."""
    traced = next((one for one in (run, *beside) if one.trace is not None), None)
    if traced is None:
        policy = run.options.get("sharing", "dynamic")
        if run.engine == "spark":
            why = f"{_NO_TRACE} Run with --engine local to have one."
        else:
            why = f"The run kept no trace of its decisions (sharing {policy})."
        return {"why": why, "parts": [], "bundles": []}
    panes = [one.pane_us for one in traced.workload.plan.sets]
    parts = decisions(traced.trace, panes)
    why = ""
    if traced is not run:
        why = (
            f"{_NO_TRACE} These are those of the run beside it, with the {traced.engine} engine, "
            "over the same events."
        )
    elif not parts:
        policy = traced.options.get("sharing", "dynamic")
        if policy in ("always", "never", "apart"):
            why = f"Nothing was left to decide: with sharing {policy} all is known before the run."
        else:
            alike = "no two queries differ only in the events that enter them"
            why = f"Nothing was left to decide: {alike}."
    for part in parts:
        part["pane_us"] = panes[part["set"] - 1]
        part["pane"] = show_duration(part["pane_us"])
    return {"why": why, "parts": parts, "bundles": list(traced.bundles)}


def _pictures_html(description: dict[str, Any], stage: str) -> str:
    """A figure for each picture of a stage; the pictures are complete documents of SVG."""
    shown = []
    for graph in pictures(description, [stage]):
        label = escape(f"{graph.title} {graph.subtitle}", quote=True)
        svg = render_svg([graph])
        width = re.search(r'width="([\d.]+)"', svg)
        # Text stays readable: a picture shrinks to two thirds at most, and then it is scrolled.
        least = f"min-width:{0.66 * float(width[1]):.0f}px" if width else ""
        given = f'<svg role="img" aria-label="{label}" style="{least}" '
        svg = svg.replace("<svg ", given, 1)
        shown.append(f'<figure class="picture" tabindex="0">{svg}</figure>')
    return "\n".join(shown)


def _data(name: str, value: Any) -> str:
    """A piece of JSON that cannot end the element it stands in, whatever the texts in it are."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    safe = text.replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{safe}</script>\n'


def resource(name: str) -> str:
    """A file that pages are made of."""
    return (files("hamlet.report") / name).read_text(encoding="utf-8")


def script_hash(script: str) -> str:
    """What the policy of a page calls its own script."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
