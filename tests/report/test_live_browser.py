"""The page about a stream in a real browser: `make test-browser`.

Would catch a script that fails or is forbidden, figures that do not follow the stream, a choice
that changes nothing, a name that becomes markup, and a page that is wider than the screen.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from hamlet.report.serving import LivePage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hamlet.report.live import LiveFigures

pytestmark = pytest.mark.skipif(
    "HAMLET_BROWSER" not in os.environ, reason="make test-browser runs these"
)
TEXT = "return document.getElementById(arguments[0]).innerText"


# What `lively` calls itself, and a query.
HOSTILE = '</script><b>"x"\\'


@pytest.fixture
def screen(browser: Any, lively: LiveFigures) -> Iterator[Any]:
    page = LivePage(lively, "0")
    browser.set_window_size(1280, 900)
    browser.get(page.url)
    until(lambda: "batch 2" in browser.execute_script(TEXT, "status"))
    yield browser
    errors = [str(entry["message"]) for entry in browser.get_log("browser")]
    browser.get("about:blank")
    page.close()
    assert errors == []


def until(holds: Callable[[], Any]) -> None:
    """Wait until the page, which asks every two seconds, shows something."""
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def rows(screen: Any, table: str) -> list[list[str]]:
    found: list[list[str]] = screen.execute_script(
        "return [...document.querySelectorAll(`#${arguments[0]} tbody tr`)]"
        ".map(r => [...r.cells].map(c => c.textContent))",
        table,
    )
    return found


def lines(screen: Any, chart: str) -> int:
    selector = f"#{chart} path.line, #{chart} rect[fill]"
    return int(
        screen.execute_script("return document.querySelectorAll(arguments[0]).length", selector)
    )


def test_the_page_shows_what_was_told_and_follows_the_stream(
    screen: Any, lively: LiveFigures
) -> None:
    shown = screen.execute_script(TEXT, "now")
    assert "3,003 rows in all" in shown
    assert "12.5 s behind the clock" in shown
    assert [lines(screen, f"chart-{each}") for each in ("rate", "seconds", "lag", "state")] == [
        1
    ] * 4
    assert lines(screen, "chart-sharing") >= 6
    named = {row[0]: row[1:6] for row in rows(screen, "all-queries")}
    assert named["rising"] == ["runs", "the beginning", "", "10", "2"]
    assert named["gone"][0] == "removed"
    assert HOSTILE in named
    assert [row[0] for row in rows(screen, "all-batches")] == ["2", "1", "0"]

    lively.batch({**lively.figures()["last"], "batch": 3, "at": 1_800_000_006.0})
    lively.queries([{"name": "new", "text": "", "since": "later", "until": None}])

    until(lambda: "batch 3" in screen.execute_script(TEXT, "status"))
    until(lambda: [row[0] for row in rows(screen, "all-queries")] == ["new"])
    lively.end("all was read")
    until(lambda: "ended: all was read" in screen.execute_script(TEXT, "status"))


def test_queries_and_groups_are_chosen(screen: Any) -> None:
    from selenium.webdriver.support.ui import Select

    until(lambda: lines(screen, "chart") == 2)
    assert rows(screen, "rows")[0][1:] == ['{"g": 1}', "4"]
    groups = Select(screen.find_element("id", "group"))
    groups.deselect_all()
    groups.select_by_visible_text('{"g": 2}')
    until(lambda: lines(screen, "chart") == 1)
    assert {row[1] for row in rows(screen, "rows")} == {'{"g": 2}'}
    # It is still chosen when the page has asked again.
    time.sleep(2.5)
    assert lines(screen, "chart") == 1
    Select(screen.find_element("id", "query")).select_by_visible_text(HOSTILE)
    until(lambda: "No result yet" in screen.execute_script(TEXT, "results"))
    assert screen.execute_script("return document.querySelectorAll('b').length") == 6


@pytest.mark.parametrize("width", [1280, 420])
def test_the_page_is_as_wide_as_the_screen(screen: Any, width: int) -> None:
    screen.set_window_size(width, 900)
    time.sleep(0.5)
    wide = screen.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0
    unnamed = screen.execute_script(
        "return [...document.querySelectorAll('input, select, button')]"
        ".filter(e => !e.labels?.length && !e.ariaLabel).map(e => e.id)"
    )
    assert unnamed == []
