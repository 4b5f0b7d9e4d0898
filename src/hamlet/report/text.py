"""The conclusion of a report as text, for a terminal, and as data, for programs."""

from __future__ import annotations

import json
from textwrap import fill
from typing import TYPE_CHECKING, Any

from hamlet.errors import counted
from hamlet.io.screen import Sheet, printable
from hamlet.report.words import group_name, grouped

if TYPE_CHECKING:
    from hamlet.report.findings import Findings

_MOST_QUERIES = 50
_WIDTH = 100


def report_text(findings: Findings) -> str:
    """What was run over what, what each query found, and what sharing did."""
    blocks = [printable(findings.first), "\n".join(_sheet(findings).lines())]
    if not findings.rows:
        blocks.insert(1, "No trend was found.")
    told = (
        fill(printable(sentence), _WIDTH, initial_indent="  ", subsequent_indent="  ")
        for sentence in _told(findings)
    )
    blocks.append("\n".join(["sharing", *told]))
    return "\n\n".join(blocks) + "\n"


def report_data(findings: Findings) -> dict[str, Any]:
    """The same as plain data, with every query."""
    queries = []
    for one in findings.queries:
        greatest = None
        if one.most is not None:
            _, window, group, aggregate, value = one.most
            greatest = {
                "window": window,
                "group": json.loads(group),
                "aggregate": aggregate,
                "value": value,
            }
        counts = {"results": one.rows, "windows": one.windows, "groups": one.groups}
        finding = {"greatest": greatest, "median": one.median or None, "told": one.told}
        queries.append({"name": one.name, **counts, **finding})
    return {
        "conclusion": findings.first,
        "windows": findings.windows,
        "groups": findings.groups,
        "queries": queries,
        "sharing": _told(findings),
        "differing_rows": [one.differing for one in findings.others],
    }


def _told(findings: Findings) -> list[str]:
    differing = [one.differing for one in findings.others]
    told = findings.sharing
    if differing and not any(differing):
        told.append(f"The results of all {len(differing) + 1} runs are the same.")
    elif differing:
        told.append(f"In {counted(max(differing), 'row')} the results of the runs differ.")
    return told


def _sheet(findings: Findings) -> Sheet:
    """A row for each query: how many results it has, their median, and the greatest."""
    rows = []
    for one in findings.queries[:_MOST_QUERIES]:
        _, window, group, aggregate, value = one.most or ("", "", "", "", "nothing")
        number = (f"{one.rows:,}", one.median, grouped(value))
        row = (one.name, window, group_name(group), aggregate, *number)
        rows.append([printable(cell) for cell in row])
    where = ("query", "window of the greatest result", "group", "aggregate")
    heads = (*where, "results", "median", "greatest")
    return Sheet(heads, rows, 3, max(0, len(findings.queries) - _MOST_QUERIES))
