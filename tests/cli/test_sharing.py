"""`hamlet run --trace` and `hamlet explain --analyze`: what was decided, as a file and as text.

Would catch a trace that is left half-written or takes the place of something else, formats that
disagree, an analysis that says other than the trace does, and options that are silently ignored.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from pyarrow import json as lines

from hamlet import PlanError, Workload, WriteError
from hamlet.share.policy import UNTIL_SPLIT
from hamlet.share.summary import summarise
from hamlet.share.trace import trace_schema

if TYPE_CHECKING:
    from pathlib import Path

QUERIES = """\
low: RETURN COUNT(*) PATTERN SEQ(X x, T+) WHERE x.v < 5 GROUPBY g WITHIN 8 s SLIDE 4 s;
high: RETURN COUNT(*) PATTERN SEQ(X x, T+) WHERE x.v < 9 GROUPBY g WITHIN 8 s SLIDE 4 s;
rising: RETURN COUNT(*) PATTERN SEQ(Y, T+) WHERE T.v < NEXT(T).v GROUPBY g WITHIN 8 s
"""
# An X every second second, that of 20 s for one query alone.
EVENTS = "time,type,g,v\n" + "".join(
    f"{t},{'XT'[t % 2]},u,{7 if t == 20 else 3}\n" for t in range(60)
)


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    path = tmp_path / "w.hql"
    path.write_text(QUERIES, encoding="utf-8")
    return path


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.csv"
    path.write_text(EVENTS, encoding="utf-8")
    return path


def decided(trace: pa.Table) -> list[str]:
    return trace["decided"].to_pylist()


# Traces


@pytest.mark.parametrize(
    ("ending", "read"),
    [("parquet", parquet.read_table), ("csv", csv.read_csv), ("jsonl", lines.read_json)],
)
def test_a_trace_is_written_as_its_ending_says(hamlet, queries, events, tmp_path, ending, read):
    path = tmp_path / f"trace.{ending}"

    status, _, err = hamlet("run", queries, "--events", events, "--trace", path)

    expected = Workload.load(queries).run(str(events), trace=True).trace
    assert status == 0
    assert err.endswith(f"wrote {path}\n")
    assert read(path).to_pylist() == expected.to_pylist()
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(
        ["w.hql", "events.csv", path.name]
    )


def test_python_writes_the_same_trace_and_keeps_it(queries, events, tmp_path):
    path = tmp_path / "trace.parquet"
    workload = Workload.load(queries)

    results = workload.run(str(events), trace=path)

    assert parquet.read_table(path).to_pylist() == results.trace.to_pylist()
    assert results.trace.schema == trace_schema("seconds")
    assert set(results.trace["group"].to_pylist()) == {'{"g": "u"}'}
    assert decided(results.trace).count("split") == results.statistics.splits == 1
    assert decided(results.trace).count("merge") == results.statistics.merges == 1
    assert [one.queries for one in results.bundles] == [("low", "high")]
    assert workload.run(str(events)).trace is None


def test_what_was_decided_is_counted_on_standard_error(hamlet, queries, events):
    shared = hamlet("run", queries, "--events", events).err
    apart = hamlet("run", queries, "--events", events, "--sharing", "always").err

    assert "events for all as one, 1 split, 1 merge\n" in shared
    assert "sharing " not in apart


@pytest.mark.parametrize("sharing", ["always", "never"])
def test_a_policy_without_bundles_has_an_empty_trace(queries, events, sharing):
    trace = Workload.load(queries).run(str(events), sharing=sharing, trace=True).trace

    assert trace.schema == trace_schema("seconds")
    assert trace.num_rows == 0


def test_static_decides_once(queries, events):
    """29 events for all and one for some: merged until that one comes, and never again."""
    workload = Workload.load(queries)

    static, dynamic = (
        workload.run(str(events), sharing=policy, trace=True) for policy in ("static", "dynamic")
    )

    assert [one.patience for one in static.bundles] == [UNTIL_SPLIT]
    assert [one.patience for one in dynamic.bundles] == [3]
    assert (static.statistics.splits, static.statistics.merges) == (1, 0)
    assert dynamic.statistics.merges > 0
    assert dynamic.statistics.shared > static.statistics.shared > 0
    assert static.table.equals(dynamic.table)


def test_measured_coefficients_are_decided_with(queries, events, tmp_path, monkeypatch):
    path = tmp_path / "c.json"
    path.write_text('{"int64": {"copy_fixed": 1e6}}')
    monkeypatch.setenv("HAMLET_COEFFICIENTS", str(path))

    results = Workload.load(queries).run(str(events), trace=True)

    assert results.bundles[0].patience > 10_000
    # Queries are taken to behave alike until they do not.
    assert (results.statistics.splits, results.statistics.merges) == (1, 0)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("trace", "a trace is one file, with one of .parquet, .csv, .tsv, .jsonl"),
        ("trace.txt", "the ending is none of"),
        ("none/trace.csv", "there is no folder"),
        ("events.csv", "the events are there"),
        ("taken.csv", "--overwrite"),
        ("out.csv", "that is the place of the results"),
    ],
)
def test_a_place_for_a_trace_is_refused_before_anything_is_read(
    hamlet, queries, events, tmp_path, name, said
):
    (tmp_path / "taken.csv").write_text("mine")
    out = tmp_path / "out.csv"

    left = hamlet("run", queries, "--events", events, "--out", out, "--trace", tmp_path / name)

    assert left.status == 2
    assert said in left.err
    assert left.err.count("\n") == 1
    assert not out.exists()
    assert (tmp_path / "taken.csv").read_text() == "mine"
    assert events.read_text() == EVENTS


def test_a_trace_takes_the_place_of_another_only_when_told_to(hamlet, queries, events, tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("mine")

    with pytest.raises(WriteError):
        Workload.load(queries).run(str(events), trace=path)
    assert path.read_text() == "mine"
    assert hamlet("run", queries, "--events", events, "--trace", path, "--overwrite").status == 0
    assert path.read_text().startswith('"set","group"')


def test_without_a_trace_there_is_none_to_write(queries, events, tmp_path):
    results = Workload.load(queries).run(str(events))

    with pytest.raises(PlanError, match="trace=True"):
        results.write_trace(tmp_path / "trace.csv")


# Analysis


def test_an_analysis_says_what_was_known_and_what_was_decided(hamlet, queries, events):
    status, out, _ = hamlet("explain", "--analyze", queries, "--events", events)

    assert status == 0
    assert [line for line in out.splitlines() if line and not line.startswith(" ")] == [
        f"{queries}: 3 queries, 3 of them repeat T+ in 1 set",
        "sharing, known before the run",
        "bundles, queries that are one while they behave alike",
        "decided, dynamic",
        "run",
    ]
    assert "  s1  T+  shared     low, high  a burst is one map" in out
    assert "  s1  T+  per query  rising     no other query has such a loop\n" in out
    assert "  s1  T+  low, high  2 windows at once  merged after 3 events for all in a row\n" in out
    assert "1 merge, 1 split; 97% for all queries, bursts of " in out
    assert "1 event is for some queries only, and " in out


def test_text_and_json_have_the_same_facts(hamlet, queries, events):
    found = json.loads(
        hamlet("explain", "--analyze", queries, "--events", events, "--format", "json").out
    )

    results = Workload.load(queries).run(str(events), trace=True)
    (summary,) = summarise(results.trace)
    (one,) = found["decided"]
    assert (one["set"], one["type"], one["why"]) == ("s1", "T", summary.why)
    assert one["decided"] == summary.decided
    assert (one["pays"], one["decisions"]) == (29, 30)
    assert found["bundles"][0]["queries"] == ["low", "high"]
    assert {(e["kind"], e["shared"]) for e in found["sharing"]} == {
        ("burst", True),
        ("rows", False),
    }
    assert found["run"]["splits"] == 1
    assert summary.why in hamlet("explain", "--analyze", queries, "--events", events).out


@pytest.mark.parametrize(
    ("sharing", "shown", "not_shown"),
    [
        ("static", "merged from the start until an event is for some", "own numbers"),
        ("always", "shared low, high", "bundles,"),
        ("never", "per query low, high each query has its own numbers at every event", "bundles,"),
        ("apart", "per query low, high each query has a pass of its own", "bundles,"),
    ],
)
def test_an_analysis_is_of_the_policy_that_is_asked_for(
    hamlet, queries, events, sharing, shown, not_shown
):
    out = hamlet("explain", "--analyze", queries, "--events", events, "--sharing", sharing).out

    assert " ".join(shown.split()) in " ".join(out.split())
    assert not_shown not in out


def test_queries_without_twins_have_no_bundles(hamlet, tmp_path, events):
    path = tmp_path / "one.hql"
    path.write_text("RETURN COUNT(*) PATTERN SEQ(X, T+) WITHIN 8 s", encoding="utf-8")

    out = hamlet("explain", "--analyze", path, "--events", events).out

    assert "no two queries differ in nothing but the events that enter them\n" in out
    assert "decided" not in out


def test_an_analysis_goes_to_a_file_whole(hamlet, queries, events, tmp_path):
    path = tmp_path / "a.json"
    options = ["--analyze", "--events", events, "--format", "json"]

    left = hamlet("explain", queries, *options, "--out", path)

    assert (left.status, left.out) == (0, "")
    assert json.loads(path.read_text())["policy"] == "dynamic"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--analyze"], "it goes with --events"),
        (["--events", "e.csv"], "it goes with --events"),
        (["--analyze", "--events", "e.csv", "--stage", "sets"], "no stages"),
        (["--analyze", "--events", "e.csv", "--format", "svg"], "no picture"),
        (["--analyze", "--events", "e.csv"], "e.csv"),
    ],
)
def test_an_analysis_that_makes_no_sense_is_refused(hamlet, queries, options, said):
    status, out, err = hamlet("explain", queries, *options)

    assert (status, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_an_unknown_format_of_an_analysis_is_refused(queries, events):
    with pytest.raises(PlanError, match="text or json"):
        Workload.load(queries).analyze(str(events), format="svg")


# Graphlets

FIGURE = """type,time
A,1
A,2
C,3
B,4
B,5
B,6
B,7
A,8
A,9
C,10
C,11
C,12
B,13
"""
PAIR = """q1: RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 1 h;
q2: RETURN COUNT(*) PATTERN SEQ(C, B+) WITHIN 1 h"""


def test_graphlets_of_a_small_stream_are_shown(hamlet, tmp_path):
    queries, events = tmp_path / "w.hql", tmp_path / "e.csv"
    queries.write_text(PAIR, encoding="utf-8")
    events.write_text(FIGURE, encoding="utf-8")

    status, out, _ = hamlet("explain", queries, "--graphlets", "--events", events)
    as_json = hamlet("explain", queries, "--graphlets", "--events", events, "--format", "json").out

    assert status == 0
    assert (
        out.removeprefix(str(queries))
        == """

B+ of q1, q2, in [0, 3600) s
  shared: a burst is one map for all that ask the same of its events
  graphlet 1  share
    x        q1 2   q2 1
    B 4  x   q1 2   q2 1
    B 5  2x  q1 4   q2 2
    B 6  4x  q1 8   q2 4
    B 7  8x  q1 16  q2 8
  graphlet 2  share
    y        q1 34  q2 19
    B 13  y  q1 34  q2 19

results
  q1  [0, 3600) s  COUNT(*)  64
  q2  [0, 3600) s  COUNT(*)  34
"""
    )
    (loop,) = json.loads(as_json)["loops"]
    assert loop["graphlets"][1]["values"] == {"q1": 34, "q2": 19}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--graphlets"], "--graphlets runs the workload: it goes with --events"),
        (["--graphlets", "--analyze", "--events", "e.csv"], "choose one"),
        (["--graphlets", "--events", "e.csv", "--stage", "sharing"], "--graphlets has no stages"),
    ],
)
def test_what_graphlets_do_not_go_with_is_refused(hamlet, queries, given, told):
    left = hamlet("explain", queries, *given)

    assert left.status == 2
    assert told in left.err
