"""The report in a real browser: `make test-browser`. Everything else is tested without one.

Would catch a script that fails, a policy of the page that forbids its own script, choices that
change nothing, values on the screen that are not those of the results, a page that is wider than
the screen, and colours that do not follow the system.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from hamlet import Workload

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hamlet.report.saved import Run

# A browser is not on every machine, and is not asked of one that only runs `make test`: the target
# test-browser installs it, sets this and runs all of them.
pytestmark = pytest.mark.skipif(
    "HAMLET_BROWSER" not in os.environ, reason="make test-browser runs these"
)
WIDE, NARROW = (1280, 900), (420, 900)
HOSTILE = "</script><script>document.title = 'taken'</script><img src=x onerror=alert(1)>"


class Screen:
    """An open report, and what a reader does with it."""

    def __init__(self, browser: Any, path: Path) -> None:
        self.browser = browser
        browser.get(path.as_uri())

    def run(self, script: str, *arguments: Any) -> Any:
        return self.browser.execute_script(script, *arguments)

    def choose(self, field: str, *texts: str) -> None:
        """Choose options of a field by their text, as a reader does."""
        from selenium.webdriver.support.ui import Select

        select = Select(self.browser.find_element("id", field))
        if select.is_multiple:
            select.deselect_all()
        for text in texts:
            select.select_by_visible_text(text)

    def click(self, field: str) -> None:
        self.browser.find_element("id", field).click()

    def search(self, field: str, text: str) -> None:
        from selenium.webdriver import Keys

        element = self.browser.find_element("id", field)
        element.send_keys(Keys.CONTROL, "a")
        element.send_keys(Keys.DELETE, text)

    def options(self, field: str) -> list[str]:
        return self.run(
            "return [...document.getElementById(arguments[0]).options].map(o => o.text)", field
        )

    @property
    def lines(self) -> list[str]:
        """The lines of the chart, as they are drawn."""
        return self.run(
            "return [...document.querySelectorAll('#chart path.line')]"
            ".map(p => p.getAttribute('d'))"
        )

    def table(self, field: str) -> list[list[str]]:
        """The rows of a table that can be seen."""
        return self.run(
            "return [...document.querySelectorAll(`#${arguments[0]} tbody tr`)]"
            ".map(r => [...r.cells].map(c => c.textContent))",
            field,
        )

    def errors(self) -> list[str]:
        """What the console has complained of since it was asked before."""
        return [str(entry["message"]) for entry in self.browser.get_log("browser")]


@pytest.fixture
def screen(browser: Any, run: Run, tmp_path: Path) -> Iterator[Screen]:
    """The report of a small run; whatever a test does, the console stays silent."""
    from hamlet.report.page import write_report

    browser.set_window_size(*WIDE)
    opened = Screen(browser, write_report(run, tmp_path / "page.html"))
    yield opened
    assert opened.errors() == []


def shown(run: Run, query: str, group: str) -> list[tuple[str, str]]:
    """Windows and counts of a query, as the page should show them."""
    rows = [
        row
        for row in run.table.to_pylist()
        if (row["query"], row["group"], row["aggregate"]) == (query, group, "COUNT(*)")
    ]
    return [(f"[{r['window_start']:g}, {r['window_end']:g})", f"{r['value']:,.0f}") for r in rows]


def test_the_rows_on_the_screen_are_those_of_the_results(screen, run):
    screen.choose("query", "low")
    screen.choose("group", 'g "w"')

    expected = shown(run, "low", '{"g": "w"}')
    assert [(row[0], row[2]) for row in screen.table("rows")] == expected[:12]
    screen.run("document.querySelectorAll('#rows .pager button')[2].click()")
    assert [(row[0], row[2]) for row in screen.table("rows")] == expected[12:24]


def test_another_query_changes_the_chart_and_the_table(screen, run):
    screen.choose("query", "low")
    screen.choose("group", 'g "u"')
    before, rows = screen.lines, screen.table("rows")

    screen.choose("query", "high")
    screen.choose("group", 'g "u"')

    assert screen.lines != before
    assert [row[2] for row in screen.table("rows")] != [row[2] for row in rows]
    assert screen.run("return document.querySelector('#about h3').textContent") == "high"


def test_a_query_that_found_nothing_can_be_chosen(screen):
    screen.choose("query", "none")

    assert screen.lines == []
    assert screen.run("return document.querySelector('#chart').textContent") == (
        "There is no result here."
    )
    assert "It found nothing." in screen.run("return document.querySelector('#about').textContent")
    assert screen.table("rows") == []


def test_several_groups_are_several_lines(screen):
    screen.choose("query", "low")
    screen.choose("group", 'g "u"', 'g "w"')

    assert len(screen.lines) == 2
    assert len(set(screen.lines)) == 2
    # The second group has a gap, so its line is lifted once.
    assert [line.count("M") for line in screen.lines] == [1, 2]
    assert {row[1] for row in screen.table("rows")} == {'g "u"', 'g "w"'}


def test_another_aggregate_changes_the_chart(screen):
    screen.choose("query", "low")
    before = screen.lines

    screen.choose("aggregate", "mean")

    assert screen.lines != before
    assert "mean" in screen.run("return document.querySelector('#chart-note').textContent")


def test_searches_narrow_the_choices(screen):
    screen.search("query-search", "hi")
    assert screen.options("query") == ["high"]
    screen.search("query-search", "no such query")
    assert screen.options("query") == []
    screen.search("query-search", "")
    assert screen.options("query") == ["low", "high", "none"]


def test_a_shorter_stretch_of_time_has_fewer_rows(screen):
    def count() -> int:
        text = screen.run("return document.querySelector('#rows .pager span').textContent")
        return int(text.split(" of ")[1])

    screen.choose("query", "low")
    whole = count()

    screen.click("nearer")
    less = count()
    screen.click("later")
    screen.click("whole")

    assert less < whole == count()


def test_a_stretch_is_chosen_by_dragging(screen):
    from selenium.webdriver import ActionChains

    screen.choose("query", "low")
    before = screen.lines
    plot = screen.browser.find_element("css selector", "#chart svg.plot")
    screen.run("arguments[0].scrollIntoView({block: 'center'})", plot)

    ActionChains(screen.browser).move_to_element_with_offset(
        plot, -100, 0
    ).click_and_hold().move_by_offset(250, 0).release().perform()

    assert screen.lines != before


def test_the_largest_come_first_when_asked(screen, run):
    screen.choose("query", "low")
    screen.choose("group", 'g "u"')

    screen.choose("order", "largest first")

    counts = [int(row[2].replace(",", "")) for row in screen.table("rows")]
    assert counts == sorted(counts, reverse=True)
    most = max(r["value"] for r in run.table.to_pylist() if r["query"] == "low")
    assert counts[0] == most


def test_the_arrow_keys_read_the_chart(screen, run):
    from selenium.webdriver import Keys

    screen.choose("query", "low")
    screen.choose("group", 'g "u"')
    plot = screen.browser.find_element("css selector", "#chart svg.plot")

    plot.send_keys(Keys.HOME)

    (window, count), *_ = shown(run, "low", '{"g": "u"}')
    read = screen.run("return document.querySelector('#chart .readout').textContent")
    assert read == f'{window}g "u"{count}'
    plot.send_keys(Keys.ARROW_RIGHT)
    assert screen.run("return document.querySelector('#chart .readout').textContent") != read


# Long series, and many groups


@pytest.fixture(scope="module")
def long_run() -> Run:
    """4,000 windows of ten groups, in which one window of one group is like no other."""
    from hamlet.report.saved import Run

    workload = Workload.parse("q: RETURN COUNT(*) PATTERN T GROUPBY g WITHIN 1 s")
    counts = {(t, g): 1 + (t + g) % 3 for t in range(4000) for g in range(10)}
    counts[1234, 7] = 60
    events = [
        {"time": t + i / 100, "type": "T", "g": g} for (t, g), n in counts.items() for i in range(n)
    ]
    return Run.of(workload.run(events))


@pytest.fixture
def long_screen(browser: Any, long_run: Run, tmp_path: Path) -> Iterator[Screen]:
    from hamlet.report.page import write_report

    browser.set_window_size(*WIDE)
    opened = Screen(browser, write_report(long_run, tmp_path / "page.html"))
    yield opened
    assert opened.errors() == []


def test_a_point_of_a_long_series_is_several_windows_and_says_so(long_screen):
    note = long_screen.run("return document.querySelector('#chart-note').textContent")
    size = int(note.split("Each point is ")[1].split(" windows: least, mean and greatest")[0])
    points = long_screen.lines[0].count("H")

    assert size > 1
    assert points == -(-4000 // size) <= WIDE[0]
    assert len(long_screen.run("return [...document.querySelectorAll('#chart path.band')]")) == 1


def test_what_a_point_is_made_of_is_read_with_the_arrow_keys(long_screen):
    from selenium.webdriver import Keys

    note = long_screen.run("return document.querySelector('#chart-note').textContent")
    size = int(note.split("Each point is ")[1].split(" windows")[0])
    long_screen.choose("group", "g 7")
    plot = long_screen.browser.find_element("css selector", "#chart svg.plot")
    plot.send_keys(Keys.HOME, *[Keys.ARROW_RIGHT] * (1234 // size))

    read = long_screen.run("return document.querySelector('#chart .readout').textContent")
    first = 1234 // size * size
    values = [60 if t == 1234 else 1 + (t + 7) % 3 for t in range(first, first + size)]
    mean = float(f"{sum(values) / size:.6g}")
    assert read == f"[{first}, {first + size})g 7{min(values)} to 60, mean {mean:g}"


def test_closer_to_a_long_series_each_window_is_a_step(long_screen):
    for _ in range(6):
        long_screen.click("nearer")

    note = long_screen.run("return document.querySelector('#chart-note').textContent")
    assert "Each step is a window of 1 s" in note
    assert long_screen.run("return document.querySelectorAll('#chart path.band').length") == 0


def test_many_groups_are_a_map_with_the_greatest_first(long_screen):
    names = long_screen.run(
        "return [...document.querySelectorAll('#heat .row-name')]"
        ".map(each => each.firstChild.textContent)"
    )
    darkest = long_screen.run(
        "return [...document.querySelectorAll('#heat .cell')]"
        ".filter(each => each.getAttribute('fill-opacity') === '1.000').length"
    )
    note = long_screen.run("return document.querySelector('#heat-note').textContent")

    assert names[0] == "g 7"
    assert sorted(names) == [f"g {n}" for n in range(10)]
    assert darkest == 1
    assert note.startswith("All 10 groups. Each cell is ")


def test_a_row_of_the_map_becomes_a_line(long_screen):
    long_screen.run(
        "[...document.querySelectorAll('#heat .row-name')].find("
        "each => each.firstChild.textContent === 'g 3')"
        ".dispatchEvent(new MouseEvent('click'))"
    )

    assert long_screen.run("return document.querySelector('#legend').textContent") == "g 3"


def test_few_groups_have_no_map(screen):
    assert screen.run("return document.querySelector('#map').hidden")


def test_points_of_numbers_beyond_doubles_are_put_together_by_magnitude(screen):
    found = screen.run("""
        const values = ["1.00e+400", "3.00e+400", 5];
        const series = { windows: [0, 1, 2], values };
        const [point] = inPoints(series, 3, 0, 3);
        return [point.low, point.mean, point.high, compare("-1.00e+400", "-2.00e+400") > 0];
    """)

    assert found == [5, "1.33e+400", "3.00e+400", True]


def test_times_below_a_narrow_chart_do_not_run_into_each_other(browser, tmp_path):
    workload = Workload.parse("q: RETURN COUNT(*) PATTERN T WITHIN 1 h")
    # Ticks two days apart, the last of them at the edge.
    times = [f"2026-03-{day:02d}T{hour:02d}:00:00" for day in range(1, 7) for hour in (1, 13)]
    days = [{"time": time, "type": "T"} for time in times]
    browser.set_window_size(*NARROW)
    screen = Screen(browser, workload.run(days).report(tmp_path / "page.html"))

    ends = screen.run(
        "return [...document.querySelectorAll('#chart text.time')]"
        ".map(each => each.getBoundingClientRect()).map(box => [box.left, box.right])"
    )

    assert len(ends) >= 2
    assert all(one[1] < other[0] for one, other in pairwise(ends))


def test_the_whole_query_is_shown_beside_its_results(screen):
    screen.choose("query", "low")

    asked = screen.run("return document.querySelector('#about .asked').textContent")
    assert "WHERE x.v < 5" in asked
    assert "WITHIN 8 s SLIDE 4 s" in asked
    assert any("WHERE x.v < 9" in cell for row in screen.table("queries") for cell in row)


def test_a_row_opens_to_examples_and_closes(screen, run):
    screen.choose("query", "low")
    before = screen.table("rows")

    screen.run("document.querySelector('#rows .opens').click()")

    times = screen.run(
        "return [...document.querySelectorAll('#rows .example')].map(e =>"
        " [...e.querySelectorAll(':scope table > tbody > tr')]"
        ".map(r => [...r.cells].map(c => c.textContent)))"
    )
    (drawn,) = (
        each
        for each in run.examples
        if (each["query"], each["start_us"], each["group"]) == ("low", -4_000_000, '{"g": "u"}')
    )
    assert times == [
        [list(event.values()) for event in trend["events"]] for (trend,) in drawn["examples"]
    ]
    assert screen.run("return document.querySelector('#rows .opens').ariaExpanded") == "true"
    told = screen.run("return document.querySelector('#rows .examples p').textContent")
    assert told.startswith(f"{len(drawn['examples'])} of {drawn['count']} trends")

    screen.run("document.querySelector('#rows .opens').click()")

    assert screen.table("rows") == before


def test_a_row_without_examples_says_how_to_ask(browser, run, tmp_path):
    from dataclasses import replace

    from hamlet.report.page import write_report

    typed = replace(run, examples=(), command="hamlet run w.hql", events="my events.csv")
    opened = Screen(browser, write_report(typed, tmp_path / "page.html"))
    opened.choose("query", "low")

    opened.run("document.querySelector('#rows .opens').click()")

    asked = opened.run("return document.querySelector('#rows .examples pre').textContent")
    assert asked == (
        "hamlet examples small.hql --events 'my events.csv' --query low --window -4 "
        """--group '{"g": "u"}'"""
    )
    assert opened.errors() == []


def test_every_field_has_a_name(screen):
    unnamed = screen.run("""
        return [...document.querySelectorAll('input, select, button')]
          .filter(e => !(e.labels && e.labels.length) && !e.getAttribute('aria-label')
                       && !e.textContent.trim()).map(e => e.id)
    """)

    assert unnamed == []


def test_decisions_are_drawn_and_can_be_chosen(screen, run):
    from selenium.webdriver.common.by import By

    (row,) = screen.table("decided-table")
    taken = run.trace["decided"].to_pylist()
    assert row[2:6] == [str(taken.count(name)) for name in ("share", "merge", "split", "alone")]

    bars = len(screen.browser.find_elements(By.CSS_SELECTOR, "#decided-chart rect[fill]"))
    screen.choose("measure", "snapshots that were created")

    assert len(screen.browser.find_elements(By.CSS_SELECTOR, "#decided-chart rect[fill]")) != bars


def test_the_page_is_never_wider_than_the_screen(screen):
    for size in (WIDE, NARROW):
        screen.browser.set_window_size(*size)
        inner, page = screen.run("return [innerWidth, document.documentElement.scrollWidth]")
        assert page <= inner


def test_colours_follow_the_system(screen):
    def background(scheme: str) -> str:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        screen.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        return screen.run("return getComputedStyle(document.body).backgroundColor")

    light, dark = background("light"), background("dark")
    background("light")

    assert light == "rgb(244, 246, 249)"
    assert dark == "rgb(18, 22, 29)"


def test_hostile_names_stay_text(browser, tmp_path):
    asked = f"`{HOSTILE}`: RETURN COUNT(*) AS `{HOSTILE}` PATTERN T+ GROUPBY g WITHIN 5 s"
    workload = Workload.parse(asked, name=HOSTILE)
    results = workload.run([{"time": t, "type": "T", "g": HOSTILE} for t in range(20)])

    screen = Screen(browser, results.report(tmp_path / "page.html"))

    assert browser.title == f"{HOSTILE}: report of a run"
    assert screen.options("query") == [HOSTILE]
    assert screen.run("return document.querySelectorAll('img').length") == 0
    assert HOSTILE in screen.table("rows")[0][1]
    assert screen.errors() == []


def test_a_page_without_scripts_tells_the_rest(browser, run, tmp_path):
    from hamlet.report.page import write_report

    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(write_report(run, tmp_path / "page.html").as_uri())
        text = browser.find_element("tag name", "body").text
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})

    assert "scripts are switched off" in text
    assert "3 queries over 210 events" in text
