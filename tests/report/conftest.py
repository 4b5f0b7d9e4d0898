"""What the tests of reports share: small runs, and a page taken apart again."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

from hamlet import Workload
from hamlet.report.live import LiveFigures
from hamlet.report.page import render_report
from hamlet.report.saved import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a screen, with everything that the console says."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    for each in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(each)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = Service(os.environ.get("CHROMEDRIVER", "/usr/bin/chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_script_timeout(60)
    yield driver
    driver.quit()


@pytest.fixture
def lively() -> LiveFigures:
    """What a stream of three batches has told, with names that could be read as markup."""
    hostile = '</script><b>"x"\\'
    figures = LiveFigures(f"rules {hostile}")
    figures.queries(
        [
            {"name": "rising", "text": "RETURN COUNT(*)", "since": "the beginning", "until": None},
            {"name": hostile, "text": "", "since": "2026-11-18T10:00:00Z", "until": None},
            {"name": "gone", "text": "", "since": "the beginning", "until": "2026-11-18T10:00:00Z"},
        ]
    )
    for number in range(3):
        figures.batch(
            {
                "batch": number,
                "at": 1_800_000_000.0 + 2 * number,
                "seconds": 0.5,
                "rows": 1000 + number,
                "used": 900,
                "rows_per_s": 2000.0,
                "malformed": 1,
                "late": 2,
                "watermark": None if number == 0 else 1_799_999_990.0,
                "lag_s": None if number == 0 else 12.5,
                "state_bytes": 4096,
                "state_rows": 7,
                "results": 4,
                "windows": 2,
                "bursts": 5,
                "shared_bursts": 3,
                "shared_events": 10,
                "snapshots": 6,
                "merges": 1,
                "splits": 0,
            }
        )
    for group in ('{"g": 1}', '{"g": 2}'):
        figures.results(
            {
                "query": "rising",
                "group": group,
                "aggregate": "COUNT(*)",
                "start": 10**7 * (180_000_000 + window),
                "end": 10**7 * (180_000_001 + window),
                "value": window if window else "1" + 30 * "0",
            }
            for window in range(5)
        )
    figures.say("workload  1 added")
    return figures
