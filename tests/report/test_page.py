"""The page of a report: its numbers, its limits, and names that would like to be markup.

Would catch a number that changes on its way into the page, rows that are lost without a word, a
group or a query whose name ends a script, a page that loads something, and sentences that say
other than the run does.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hamlet import PlanError, Workload
from hamlet.engine.statistics import RunStatistics
from hamlet.kernel.finish import Answer
from hamlet.report import decisions as decisions_module
from hamlet.report.columns import packed, parts_of
from hamlet.report.decisions import decisions
from hamlet.report.findings import Findings
from hamlet.report.saved import Run
from hamlet.report.text import report_text
from hamlet.results import Results
from hamlet.share.trace import DECIDED

HOSTILE = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>"


def seconds_of(time: Any) -> float:
    return time if isinstance(time, float) else time.timestamp()


def rows_of(table: Any) -> dict[tuple[str, float, str, str], Any]:
    columns = (table[name].to_pylist() for name in ("query", "window_start", "group", "aggregate"))
    keys = ((q, seconds_of(w), g, a) for q, w, g, a in zip(*columns, strict=True))
    return dict(zip(keys, table["value"].to_pylist(), strict=True))


def made(cells: list[tuple[Any, ...]], starts: list[int] | None = None) -> Run:
    """A run of one query with these cells (value, log10, exact), a window each."""
    workload = Workload.parse("q: RETURN SUM(T.x) AS total PATTERN T+ WITHIN 10 s SLIDE 5 s")
    starts = starts or list(range(0, 5 * len(cells), 5))
    value, log10, exact = zip(*cells, strict=True)
    rows = pa.table(
        {
            "window_start": pa.array([5_000_000 * (s // 5) for s in starts], pa.int64()),
            "window_end": pa.array([5_000_000 * (s // 5 + 2) for s in starts], pa.int64()),
            "group": pa.array(["{}"] * len(cells), pa.large_string()),
            "value.0": pa.array(value, pa.float64()),
            "log10.0": pa.array(log10, pa.float64()),
            "exact.0": pa.array(exact, pa.large_string()),
        }
    )
    results = Results(workload.queries, [Answer(0, rows)], times="seconds")
    return Run.of(results, workload)


# Numbers


@pytest.mark.parametrize("as_timestamps", [False, True])
def test_the_numbers_of_the_page_are_those_of_the_results(workload, events, page_of, as_timestamps):
    if as_timestamps:
        events = [{**one, "time": datetime.fromtimestamp(one["time"], UTC)} for one in events]
    results = workload.run(events)

    page = page_of(Run.of(results))

    assert len(results) > 100
    assert page.rows() == rows_of(results.table)
    assert page.data["run"]["times"] == ("utc" if as_timestamps else "seconds")


def test_numbers_of_every_size_keep_what_they_have(page_of):
    digits, long = "123456789012345678901", "9" * 400
    cells = [
        (7.0, math.log10(7), "7"),
        (-2.5, math.log10(2.5), None),
        (None, None, None),
        (0.1, -1.0, None),
        (999_999_999_999_999.0, 15.0, "999999999999999"),
        (float(digits), 20.09, digits),
        (1.5e300, 300.2, None),
        (math.inf, 400.0, long),
        (math.inf, 30102.9995664, None),
    ]

    values = list(page_of(made(cells)).rows().values())

    assert values[:5] == [7, -2.5, None, 0.1, 999_999_999_999_999]
    assert values[5] == digits
    assert values[6] == 1.5e300
    assert values[7] == "1.00e+400"
    assert values[8] == "9.99e+30102"


def test_windows_without_a_result_stay_empty(page_of):
    one = (1.0, 0.0, "1")

    page = page_of(made([one] * 5, [0, 5, 20, 25, -40]))

    assert sorted(start for _, start, _, _ in page.rows()) == [-40, 0, 5, 20, 25]
    assert page.data["q0"]["first"] == [-8, 0, 4]
    assert page.data["q0"]["length"] == [1, 2, 2]


def test_a_run_without_any_result_says_so(workload, page_of):
    run = Run.of(workload.run([{"time": 1, "type": "T", "g": "u", "v": 1}]))

    page = page_of(run)

    assert "No trend was found." in page.text
    assert page.rows() == {}
    assert "nothing" in report_text(Findings.of(run))


# Limits


def test_what_does_not_fit_is_left_out_and_counted(run):
    (part, *_) = parts_of(run.table, run.workload.queries)
    all_rows = len(part.start_us)
    rows = {group: int((part.group == i).sum()) for i, group in enumerate(part.groups)}
    largest = max(rows, key=lambda group: rows[group])

    found = packed(part, 2 * rows[largest])

    assert rows['{"g": "u"}'] > rows['{"g": "w"}']
    assert found["groups"] == [largest]
    assert found["rows"] == [rows[largest]]
    assert found["left_out"] == [1, 0]
    assert packed(part, 2 * all_rows)["left_out"] == [0, 0]
    assert packed(part, 10)["left_out"] == [1, rows[largest] - 5]
    assert len(packed(part, 10)["values"][0]) == 5


def test_the_first_windows_are_kept_of_a_group_that_is_too_long(run):
    (part, *_) = parts_of(run.table, run.workload.queries)

    whole, cut = packed(part, 10**6), packed(part, 10)

    assert cut["values"][0] == whole["values"][0][:5]


def test_room_that_small_queries_leave_goes_to_large_ones(run, page_of):
    table = run.table
    of_low = table.filter(pa.array([name == "low" for name in table["query"].to_pylist()]))

    page = page_of(run, most_values=table.num_rows)
    less = page_of(run, most_values=of_low.num_rows)

    assert page.rows() == rows_of(table)
    assert 0 < len(less.rows()) <= of_low.num_rows
    assert any(any(less.data[f"q{i}"]["left_out"]) for i in range(3))
    assert less.data["run"]["queries"][0]["rows"] == page.data["run"]["queries"][0]["rows"]


def test_results_of_another_workload_are_refused(run):
    other = Workload.parse("other: RETURN COUNT(*) PATTERN T+ WITHIN 8 s")

    with pytest.raises(Exception, match="not those of this workload"):
        Findings.of(replace(run, workload=other))


# Names


def test_names_are_never_markup(page_of):
    asked = f"RETURN COUNT(*) AS `{HOSTILE}` PATTERN T+ GROUPBY g WITHIN 5 s"
    text = f"`{HOSTILE}`: {asked} -- {HOSTILE}\n"
    workload = Workload.parse(text, name=HOSTILE)
    results = workload.run([{"time": 1, "type": "T", "g": HOSTILE}])

    page = page_of(replace(Run.of(results), events=HOSTILE, command=HOSTILE))

    tags = [tag for tag, _ in page.tags]
    assert tags.count("script") == 4
    assert "img" not in tags
    assert not [a for _, given in page.tags for a in given if a.startswith("on")]
    (query,) = page.data["run"]["queries"]
    assert query["name"] == query["returns"][0] == HOSTILE
    assert HOSTILE in page.data["q0"]["groups"][0]
    assert page.text.count(HOSTILE) >= 4


def test_the_page_may_run_its_own_script_only_and_loads_nothing(run, page_of):
    page = page_of(run)

    (script,) = page.scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page.policy
    assert page.policy.startswith("default-src 'none'")
    for tag, given in page.tags:
        assert "src" not in given, tag
        assert (given.get("href") or "#").startswith("#"), tag
    assert tags_of_styles(page) == []


def tags_of_styles(page: Any) -> list[str]:
    """Whatever a style sheet would load."""
    return re.findall(r"@import|url\(", page.html.split("</style>")[0])


# Sentences


def test_the_conclusion_has_the_counts_of_the_run(run, page_of):
    page = page_of(replace(run, events="rides.csv"))
    pairs = {key[:3] for key in rows_of(run.table)}
    # Counted for each query, as the run does: two have the same windows and groups.
    windows = {(query, start) for query, start, _ in pairs}
    groups = {(query, group) for query, _, group in pairs}

    assert (len(windows), len(groups)) == (run.statistics.windows, run.statistics.groups)
    assert (
        f"3 queries over {run.statistics.events_in:,} events of rides.csv gave {len(pairs):,} "
        f"results in {len(windows):,} windows and {len(groups)} groups with results"
    ) in page.text
    assert "Nothing was found by none." in page.text


def test_counts_of_one_are_not_said_to_be_several(page_of):
    workload = Workload.parse("q: RETURN COUNT(*) PATTERN T+ GROUPBY g WITHIN 5 s")
    results = workload.run([{"time": 1, "type": "T", "g": "u"}])

    page = page_of(Run.of(results))

    assert "1 query over 1 event of a list in Python gave 1 result in 1 window and 1 group" in (
        page.text
    )
    tiles = dict(re.findall(r"<dt>(\w+)</dt><dd><b>([\d,]+)</b>", page.html))
    assert tiles == {"query": "1", "event": "1", "result": "1", "window": "1", "group": "1"}


SECTIONS = ("conclusion", "results", "time", "again", "plan", "sharing")


def test_bursts_and_snapshots_come_after_what_was_asked_for(run, page_of):
    page = page_of(run)

    places = [page.html.index(f'<section id="{name}"') for name in SECTIONS]
    assert places == sorted(places)
    assert "bursts" not in page.html[places[0] : places[-1]]
    assert "snapshots" not in page.html[places[0] : places[-1]]
    assert f"{run.statistics.bursts:,}" in page.text


def test_each_query_is_told_by_its_own_greatest_result(run, page_of):
    counts = {k: v for k, v in rows_of(run.table).items() if k[3] == "COUNT(*)"}

    text = page_of(run).text

    for name in ("low", "high"):
        own = {key: value for key, value in counts.items() if key[0] == name}
        _, start, _, _ = key = max(own, key=lambda each: own[each])
        median = sorted(own.values())[(len(own) - 1) // 2]
        assert f"{name} COUNT(*) is greatest in [{start:g}, {start + 8:g})" in text
        assert f": {own[key]:,.0f}. The median of its {len(own)} results is {median:,.0f}." in text


def test_a_result_far_from_the_others_of_its_query_comes_first():
    text = ";".join(f"{n}: RETURN COUNT(*) PATTERN {n} WITHIN 1 s" for n in ("A", "B"))
    workload = Workload.parse(text)
    events = [
        {"time": t + i / 100, "type": name}
        for name, usual, once in (("A", 50, 50), ("B", 1, 10))
        for t in range(9)
        for i in range(once if t == 4 else usual)
    ]

    findings = Findings.of(Run.of(workload.run(events)))

    # A has more events in every window, and B one window that is unlike its others.
    assert findings.unusual == [1, 0]
    assert findings.queries[1].told == (
        "COUNT(*) is greatest in [4, 5): 10, 10 times the median of its 9 results (1)."
    )
    assert findings.queries[0].told == (
        "COUNT(*) is greatest in [0, 1): 50. The median of its 9 results is 50."
    )


def test_of_many_queries_the_most_unusual_are_told_of(page_of):
    text = ";".join(f"q{n}: RETURN COUNT(*) PATTERN T{n} WITHIN 1 s" for n in range(20))
    events = [
        {"time": t + i / 100, "type": f"T{n}"}
        for n in range(20)
        for t in range(3)
        for i in range(1 + n * (t == 1))
    ]

    findings = Findings.of(Run.of(Workload.parse(text).run(events)))

    assert [one.name for one in findings.told_of] == [f"q{n}" for n in range(12, 20)]
    assert "Of 20 queries, the ones with most unusual results:" in page_of(findings.run).text


def test_the_whole_query_stands_beside_its_results(page_of):
    text = (
        "q: RETURN COUNT(*) PATTERN SEQ(A, B b+) WHERE A.x < 5 AND b.x < NEXT(b).x AND [k] "
        "GROUPBY g WITHIN 10 s SLIDE 5 s"
    )
    run = Run.of(Workload.parse(text).run([{"time": 1, "type": "A", "x": 1, "k": 1, "g": 1}]))

    (query,) = page_of(run).data["run"]["queries"]

    assert query["where"] == "A.x < 5 AND b.x < NEXT(b).x AND [k]"
    assert query["text"].splitlines() == [
        "q: RETURN COUNT(*)",
        "PATTERN SEQ(A, B b+)",
        "WHERE A.x < 5 AND b.x < NEXT(b).x AND [k]",
        "GROUPBY g",
        "WITHIN 10 s SLIDE 5 s",
    ]


def test_a_query_without_a_count_is_judged_by_its_first_aggregate():
    run = made([(3.0, 0.4, "3"), (9.0, 0.9, "9"), (4.0, 0.6, "4")])

    (finding,) = Findings.of(run).queries

    assert finding.most == ("q", "[5, 15)", "{}", "total", "9")
    assert finding.median == "4"


def test_results_that_are_no_numbers_are_told_so():
    (finding,) = Findings.of(made([(None, None, None)] * 3)).queries

    assert finding.told == "has 3 results, none of which is a number."


def test_the_greatest_of_huge_negative_numbers_is_the_nearest_to_zero():
    cells = [(-math.inf, 500.0, "-1" + "0" * 500), (-math.inf, 400.0, "-1" + "0" * 400)]
    (finding,) = Findings.of(made(cells)).queries

    assert finding.most is not None
    assert finding.most[4] == "-1.00e+400"


def test_the_greatest_is_found_beyond_doubles_too():
    (finding,) = Findings.of(
        made([(math.inf, 400.0, "1" + "0" * 400), (math.inf, 500.0, "1" + "0" * 500)])
    ).queries

    assert finding.most is not None
    assert finding.most[4] == "1.00e+500"


def test_runs_beside_it_are_compared_row_by_row(workload, events, run, page_of):
    never = Run.of(workload.run(events, sharing="never"))
    values = run.table["value"].to_pylist()
    index = run.table.schema.get_field_index("value")
    wrong = run.table.set_column(index, "value", pa.array([values[0] + 1, *values[1:]]))

    same, other = Findings.of(run, [never]), Findings.of(run, [replace(never, table=wrong)])

    assert same.others[0].differing == 0
    assert other.others[0].differing == 1
    assert "The results of all 2 runs are the same." in report_text(same)
    assert "In 1 row the results of the runs differ." in report_text(other)
    text = page_of(run, beside=[never]).text
    assert "Runs side by side" in text
    assert f"{never.statistics.bursts:,}" in text


def test_what_sharing_took_is_told_also_where_it_lost(run):
    def told(with_s: float, without_s: float) -> str:
        seconds = {"read": 9.0, "kernels": 30.0, "encode": 0.25}
        runs = [
            replace(
                run,
                options={"sharing": policy},
                statistics=RunStatistics(bursts=5, seconds={**seconds, "run": took - 0.25}),
            )
            for policy, took in (("dynamic", with_s), ("never", without_s))
        ]
        findings = Findings.of(runs[0], runs[1:])
        assert not any("not measured" in each for each in findings.sharing)
        return findings.sharing[0]

    assert "took 1.00 s, and with sharing never 2.00 s, measured once each" in told(1.0, 2.0)
    assert "sharing was 2.0 times as fast" in told(1.0, 2.0)
    assert "sharing was slower, and took 3.5 times as long" in told(2.57, 0.73)
    assert "no difference that one measurement can tell" in told(1.0, 1.05)


def test_without_a_run_beside_it_time_is_said_not_to_be_measured(run, workload, events):
    shared = Findings.of(run).sharing
    alone = Findings.of(Run.of(workload.run(events, sharing="never"))).sharing

    assert "was not measured" in shared[0]
    assert "with --sharing never" in shared[0]
    assert "without --sharing" in alone[0]
    assert not any("saved" in each or "faster" in each for each in (*shared, *alone))


def test_what_is_said_of_sharing_does_not_contradict_itself(page_of):
    text = """
        one: RETURN COUNT(*) PATTERN SEQ(Late+, A) WHERE Late.x > 1 WITHIN 10 s;
        two: RETURN COUNT(*) PATTERN SEQ(Late+, B) WHERE Late.x > 2 WITHIN 10 s
    """
    workload = Workload.parse(text)
    run = Run.of(workload.run([{"time": 1, "type": "Late", "x": 3}, {"time": 2, "type": "A"}]))

    page = page_of(run)

    assert "2 queries, 2 of them repeat Late+ in 1 set" in page.text
    assert "share Late+" not in page.text
    assert "No two queries repeat a type in common" not in page.text
    assert "Late+ of one, two is worked on for each query alone: each has another" in page.text


def test_queries_with_nothing_in_common_are_said_to_have_nothing_to_share():
    workload = Workload.parse(
        "one: RETURN COUNT(*) PATTERN A+ WITHIN 10 s; two: RETURN COUNT(*) PATTERN B+ WITHIN 10 s"
    )

    told = Findings.of(Run.of(workload.run([{"time": 1, "type": "A"}]))).sharing

    assert told == [
        "No two queries repeat a type in common and partition the stream by the same attributes, "
        "so there was nothing to share."
    ]


def test_rows_of_events_are_told_by_reason(run, page_of):
    malformed = {"time is <not> a time": 1200, "no type": 3}
    statistics = RunStatistics(events_in=5000, events_used=3000, malformed=malformed, late=7)

    text = page_of(replace(run, statistics=statistics)).text

    assert "1,203 rows could not be read" in text
    for cell in ("time is <not> a time", "1,200", "no type", "7", "790", "3,000"):
        assert cell in text


# Sharing


def test_decisions_over_time_add_up_to_those_of_the_trace(run):
    (decided,) = decisions(run.trace, [one.pane_us for one in run.workload.plan.sets])

    taken = run.trace["decided"].to_pylist()
    for name in DECIDED:
        assert sum(decided[name]) == taken.count(name) == decided["summary"]["decided"][name]
    assert sum(decided["events"]) == sum(run.trace["burst"].to_pylist())
    assert sum(decided["snapshots"]) == sum(run.trace["snapshots_created"].to_pylist())
    assert decided["split"][(20_000_000 - decided["start"]) // decided["step"]] >= 1


def test_a_long_trace_has_few_stretches(run, monkeypatch):
    panes = [one.pane_us for one in run.workload.plan.sets]
    (fine,) = decisions(run.trace, panes)
    monkeypatch.setattr(decisions_module, "MOST_STRETCHES", 4)

    (coarse,) = decisions(run.trace, panes)

    assert len(coarse["share"]) <= 4 < len(fine["share"])
    assert sum(coarse["share"]) == sum(fine["share"])
    assert coarse["step"] % fine["step"] == 0
    assert coarse["start"] == fine["start"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"engine": "spark", "trace": None}, "A run on Spark keeps no trace of its decisions."),
        ({"trace": None}, "The run kept no trace"),
    ],
)
def test_a_run_without_a_trace_says_why(run, page_of, changes, said):
    sharing = page_of(replace(run, **changes)).data["run"]["sharing"]

    assert said in sharing["why"]
    assert sharing["parts"] == []


@pytest.mark.parametrize("policy", ["always", "never"])
def test_a_policy_that_decides_nothing_says_so(workload, events, page_of, policy):
    run = Run.of(workload.run(events, sharing=policy, trace=True))

    assert f"with sharing {policy}" in page_of(run).data["run"]["sharing"]["why"]


def test_the_trace_of_a_run_beside_it_is_shown_for_one_on_spark(run, page_of):
    on_spark = replace(run, engine="spark", trace=None, bundles=())

    sharing = page_of(on_spark, beside=[run]).data["run"]["sharing"]

    assert "those of the run beside it, with the local engine" in sharing["why"]
    assert sum(sharing["parts"][0]["share"]) > 0
    assert [one["queries"] for one in sharing["bundles"]] == [["low", "high"]]


def test_results_that_do_not_know_their_workload_ask_for_it(workload, tmp_path):
    results = Results(workload.queries, ())

    with pytest.raises(PlanError, match="workload="):
        results.report(tmp_path / "r.html")
    assert results.report(tmp_path / "r.html", workload=workload).exists()


def test_a_page_of_many_windows_is_compact():
    """100 queries with 10,000 windows each would be too much at 20 bytes a value."""
    size = 10_000
    counts = np.arange(size) * 37 % 1000
    run = made([(float(n), None, str(n)) for n in counts.tolist()])

    (part,) = parts_of(run.table, run.workload.queries)
    found = packed(part, 10**6)

    assert found["first"] == [0]
    assert found["length"] == [size]
    assert found["values"] == [counts.tolist()]


def test_windows_that_begin_at_one_moment_have_a_place_each():
    """30 December 2011 was no day in Samoa: what begins on it begins with the next."""
    text = "RETURN COUNT(*) PATTERN A WITHIN 2 d SLIDE 1 d IN 'Pacific/Apia'"
    workload = Workload.parse(text)
    days = (datetime(2011, 12, day, 22, tzinfo=UTC) for day in (28, 30, 31))
    run = Run.of(workload.run([{"type": "A", "time": day} for day in days]), workload=workload)

    (part,) = parts_of(run.table, run.workload.queries)
    piece = packed(part, 100)

    assert len(set(part.start_us.tolist())) == len(part.window) - 1
    assert sum(piece["length"]) == len(part.window)
    # Those of 27 and 28 December, then of 30 and 31 December and 1 January.
    assert (piece["length"], piece["values"]) == ([2, 3], [[1, 1, 1, 2, 1]])


# Examples


def test_rows_have_examples_of_their_trends(run, page_of):
    page = page_of(run)
    rows = page.rows()

    drawn = page.data["examples"]

    assert {each[0] for each in drawn} == {0, 1}  # the third query has no rows
    for number, window, group, count, examples in drawn:
        query = page.data["run"]["queries"][number]
        start = window * query["slide_us"] / 1e6
        assert count == str(rows[query["name"], start, group, "COUNT(*)"])
        for (trend,) in examples:
            times = [float(event["time"]) for event in trend["events"]]
            assert [event["type"] for event in trend["events"]] == ["X", *"T" * (len(times) - 1)]
            assert trend["length"] == len(times)
            assert times == sorted(set(times))
            assert start <= times[0] < times[-1] < start + 8
            assert {event["g"] for event in trend["events"]} == {json.loads(group)["g"]}


def test_the_middle_of_a_long_trend_is_left_out(page_of):
    results = Workload.parse("RETURN COUNT(*) PATTERN SEQ(A, B{30}) WITHIN 60 s").run(
        [{"time": t, "type": "AB"[t > 0]} for t in range(31)]
    )

    ((*_, count, ((trend,),)),) = page_of(Run.of(results)).data["examples"]

    times = [int(event["time"]) for event in trend["events"]]
    assert (count, trend["length"], times) == ("1", 31, [*range(6), *range(25, 31)])


def test_pairs_are_two_trends(page_of):
    results = Workload.parse("RETURN COUNT(*) PATTERN A AND B WITHIN 60 s").run(
        [{"time": t, "type": "AB"[t > 0]} for t in range(2)]
    )

    ((*_, (pair,)),) = page_of(Run.of(results)).data["examples"]

    assert [[event["type"] for event in trend["events"]] for trend in pair] == [["A"], ["B"]]


def test_events_that_are_gone_leave_a_page_without_examples(page_of, tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("type,time\nA,1\n", encoding="utf-8")
    results = Workload.parse("RETURN COUNT(*) PATTERN A WITHIN 60 s").run(path)
    path.unlink()

    assert page_of(Run.of(results)).data["examples"] == []


def test_rows_that_would_take_long_have_no_examples(page_of):
    """A condition that looks at two events of a window with very many of them."""
    results = Workload.parse(
        "RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x GROUPBY g WITHIN 1 h"
    ).run([{"time": t, "type": "A", "g": t % 100 == 0, "x": -t} for t in range(2000)])

    groups = [each[2] for each in page_of(Run.of(results)).data["examples"]]

    assert groups == ['{"g": true}']
