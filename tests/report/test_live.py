"""The page about a stream, asked by HTTP: would catch figures that are not those that were told.

A name that becomes markup, a page that loads something from elsewhere, numbers that no JSON has, a
group too many, and who asks from a page of another place.
"""

from __future__ import annotations

import http.client
import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from hamlet.errors import PlanError
from hamlet.report.live import MOST_GROUPS, MOST_WINDOWS, LiveFigures
from hamlet.report.serving import LivePage, address_of

if TYPE_CHECKING:
    from collections.abc import Iterator

# What `lively` calls itself, and a query.
HOSTILE = '</script><b>"x"\\'


@pytest.fixture
def page(lively: LiveFigures) -> Iterator[LivePage]:
    served = LivePage(lively, "0")
    yield served
    served.close()


def ask(page: LivePage, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
    host = page.url.removeprefix("http://").rstrip("/")
    connection = http.client.HTTPConnection(host, timeout=10)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()


def test_figures_are_those_that_were_told(page: LivePage) -> None:
    status, headers, text = ask(page, "/figures.json")
    found = json.loads(text)

    assert (status, headers["Cache-Control"]) == (200, "no-store")
    assert found["totals"]["rows"] == 3003
    assert (found["totals"]["late"], found["totals"]["malformed"]) == (6, 3)
    assert [each["batch"] for each in found["batches"]] == [0, 1, 2]
    assert found["last"]["lag_s"] == 12.5
    names = {each["name"]: (each["rows"], each["groups"]) for each in found["queries"]}
    assert names == {"rising": (10, 2), HOSTILE: (0, 0), "gone": (0, 0)}
    assert (found["ended"], found["told"][0]["text"]) == (None, "workload  1 added")


def test_results_are_told_by_query_group_and_window(page: LivePage) -> None:
    found = json.loads(ask(page, "/results.json?query=rising")[2])
    other = json.loads(ask(page, f"/results.json?query={quote(HOSTILE)}")[2])

    assert (found["rows"], found["groups"], found["aggregates"]) == (10, 2, ["COUNT(*)"])
    first = found["kept"][0]
    assert first["group"] == '{"g": 1}'
    windows = first["values"]["COUNT(*)"]
    assert windows[0] == [1_800_000_000_000_000, 1_800_000_010_000_000, "1" + 30 * "0"]
    assert [value for *_, value in windows[1:]] == [1, 2, 3, 4]
    assert (other["query"], other["kept"]) == (HOSTILE, [])


def test_metrics_are_what_prometheus_reads(page: LivePage) -> None:
    status, headers, text = ask(page, "/metrics")
    lines = text.splitlines()
    known = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))

    assert status == 200
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert known["hamlet_stream_rows_total"] == "3003"
    assert known["hamlet_stream_watermark_lag_seconds"] == "12.5"
    assert known["hamlet_stream_queries"] == "2"
    assert known['hamlet_stream_query_results_total{query="rising"}'] == "10"
    # Each has a type before it, and names and labels are written as they have to be.
    sample = r'[a-z_]+(\{query="(\\.|[^"\\])*"\})? -?[0-9.]+'
    assert all(re.fullmatch(sample, line) for line in lines if not line.startswith("#"))
    typed = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert {name.split("{")[0] for name in known} == typed


def test_the_page_has_names_as_text_and_loads_nothing_from_elsewhere(page: LivePage) -> None:
    status, headers, text = ask(page, "/")

    assert status == 200
    assert "<b>" not in text.replace("<b>", "", text.count("make(")) or HOSTILE not in text
    assert HOSTILE not in text
    assert "connect-src 'self'" in headers["Content-Security-Policy"]
    assert not re.search(r'(src|href)="(https?:)?//', text)


def test_others_are_told_nothing(page: LivePage) -> None:
    assert ask(page, "/figures.json", Host="evil.example:80")[0] == 403
    assert ask(page, "/figures.json", Host="localhost:1234")[0] == 200
    status, _, text = ask(page, "/elsewhere")
    assert status == 404
    assert "/metrics" in text


def test_what_is_kept_does_not_grow_for_ever() -> None:
    figures = LiveFigures("long")

    def row(group: int, window: int) -> dict[str, Any]:
        names = {"query": "q", "group": str(group), "aggregate": "COUNT(*)", "value": 1}
        return {**names, "start": window, "end": window + 1}

    figures.results(row(0, window) for window in range(MOST_WINDOWS + 20))
    figures.results(row(group, 0) for group in range(MOST_GROUPS + 20))
    found = figures.results_of("q")

    assert found["groups"] == MOST_GROUPS + 20
    assert len(found["kept"]) == MOST_GROUPS
    windows = found["kept"][0]["values"]["COUNT(*)"]
    assert (len(windows), windows[-1][0]) == (MOST_WINDOWS, MOST_WINDOWS + 19)


@pytest.mark.parametrize("written", ["", "x", "1:2:x", "70000"])
def test_what_is_no_address_is_refused(written: str) -> None:
    with pytest.raises(PlanError, match="HOST:PORT"):
        address_of(written)


def test_a_port_that_is_taken_is_said() -> None:
    page = LivePage(LiveFigures("one"), "0")
    try:
        with pytest.raises(PlanError, match="Choose another port"):
            LivePage(LiveFigures("two"), page.url.rstrip("/").rsplit(":", 1)[1])
    finally:
        page.close()
