"""What the tests of reports share: small runs, and a page taken apart again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

from hamlet import Workload
from hamlet.report.page import render_report
from hamlet.report.saved import Run

if TYPE_CHECKING:
    from collections.abc import Callable

QUERIES = """\
low: RETURN COUNT(*), AVG(T.v) AS mean
     PATTERN SEQ(X x, T+) WHERE x.v < 5 GROUPBY g WITHIN 8 s SLIDE 4 s;
high: RETURN COUNT(*), AVG(T.v) AS mean
     PATTERN SEQ(X x, T+) WHERE x.v < 9 GROUPBY g WITHIN 8 s SLIDE 4 s;
none: RETURN COUNT(*) PATTERN SEQ(Y, T+) WITHIN 8 s
"""


@dataclass
class Page(HTMLParser):
    """A page as a browser reads it."""

    html: str
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    scripts: list[str] = field(default_factory=list)
    text: str = ""
    policy: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[tuple[str, dict[str, str | None]]] = []
        self.feed(self.html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append((tag, given))
        if tag in ("script", "style"):
            self._open.append((tag, given))
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1][0] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        tag, given = self._open[-1] if self._open else ("", {})
        if tag == "script" and given.get("type") == "application/json":
            self.data[given["id"] or ""] = json.loads(data)
        elif tag == "script":
            self.scripts.append(data)
        elif not tag:
            self.text += data

    def rows(self) -> dict[tuple[str, float, str, str], Any]:
        """Every value on the page, by query, start of the window in seconds, group, aggregate."""
        found = {}
        for number, query in enumerate(self.data["run"]["queries"]):
            piece = self.data[f"q{number}"]
            runs = zip(piece["first"], piece["length"], strict=True)
            windows = [first + i for first, length in runs for i in range(length)]
            at = 0
            for group, size in zip(piece["groups"], piece["rows"], strict=True):
                for row in range(at, at + size):
                    start = windows[row] * query["slide_us"] / 1e6
                    for name, values in zip(query["returns"], piece["values"], strict=True):
                        found[query["name"], start, group, name] = values[row]
                at += size
        return found


@pytest.fixture
def workload() -> Workload:
    """Three queries: two that are alike but for what enters them, and one that finds nothing."""
    return Workload.parse(QUERIES, name="small.hql")


@pytest.fixture
def events() -> list[dict[str, Any]]:
    """An X every second second, that of 20 s for one query alone; two groups, one with a gap."""
    return [
        {"time": t, "type": "XT"[t % 2], "g": g, "v": 7 if t == 20 else 3 + t % 4 / 4}
        for t in range(120)
        for g in ("u", "w")
        if g == "u" or not 30 <= t < 60
    ]


@pytest.fixture
def run(workload: Workload, events: list[dict[str, Any]]) -> Run:
    """A small run with a trace."""
    return Run.of(workload.run(events, trace=True))


@pytest.fixture
def page_of() -> Callable[..., Page]:
    """The report of a run, taken apart."""

    def make(run: Run, **options: Any) -> Page:
        return Page(render_report(run, **options))

    return make
