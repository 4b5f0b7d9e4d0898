"""The conclusion of a report as text, for a terminal, and as data, for programs."""

from __future__ import annotations

import json
from textwrap import fill
from typing import TYPE_CHECKING, Any

from hamlet.errors import counted
from hamlet.report.sections import group_name, grouped
from hamlet.screen import Sheet, printable

if TYPE_CHECKING:
    from hamlet.report.findings import Findings

_MOST_QUERIES = 50
_WIDTH = 100


def report_text(findings: Findings) -> str:
    """What came out, what each query found most, and what sharing saved."""
    blocks = [findings.first, "\n".join(_sheet(findings).lines())]
    if findings.most is None:
        blocks.insert(1, "No trend was found." if not findings.rows else "No query counts trends.")
    saved = (
        fill(each, _WIDTH, initial_indent="  ", subsequent_indent="  ") for each in _told(findings)
    )
    blocks.append("\n".join(["what sharing saved", *saved]))
    return "\n\n".join(blocks) + "\n"


def report_data(findings: Findings) -> dict[str, Any]:
    """The same as plain data, with every query."""
    queries = []
    for one in findings.found:
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
        queries.append({"name": one.name, **counts, "greatest": greatest})
    return {
        "conclusion": findings.first,
        "queries": queries,
        "sharing_saved": _told(findings),
        "differing_rows": [one.differing for one in findings.others],
    }


def _told(findings: Findings) -> list[str]:
    differing = [one.differing for one in findings.others]
    told = findings.saved
    if differing and not any(differing):
        told.append(f"The results of all {len(differing) + 1} runs are the same.")
    elif differing:
        told.append(f"In {counted(max(differing), 'row')} the results of the runs differ.")
    return told


def _sheet(findings: Findings) -> Sheet:
    """A row for each query: how many results it has, and the greatest of them."""
    rows = []
    for one in findings.found[:_MOST_QUERIES]:
        _, window, group, aggregate, value = one.most or ("", "", "", "", "nothing")
        row = (one.name, window, group_name(group), aggregate, f"{one.rows:,}", grouped(value))
        rows.append([printable(each) for each in row])
    heads = ("query", "window of the greatest result", "group", "aggregate", "results", "greatest")
    return Sheet(heads, rows, 2, max(0, len(findings.found) - _MOST_QUERIES))
