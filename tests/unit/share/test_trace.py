"""Traces: from the integers of a kernel to a table, and from a table to a summary.

Would catch columns that are mixed up, an event that is filed under the wrong pane or decision or
has several rows, costs that are not those of the model, and a summary that mixes sets or loses
touches.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hamlet import Workload
from hamlet.kernel.machine.bundles import IS_MERGED, IS_SPLIT, STAYS_MERGED, STAYS_SPLIT, TRACED
from hamlet.kernel.rows import layout as rows
from hamlet.share.coefficients import Coefficients, CoefficientTable
from hamlet.share.cost import BundleSize, apart_ns, merged_ns
from hamlet.share.summary import summarise
from hamlet.share.trace import (
    DECIDED,
    RAW_COLUMNS,
    Traced,
    TracedLoop,
    burst_table,
    trace_schema,
    trace_table,
)

if TYPE_CHECKING:
    from pathlib import Path

# Fixed here, so that what ships can change with what is measured.
ROUND = Coefficients(
    event=1.5,
    touch_fixed=26,
    touch_window=1.5,
    copy_fixed=20,
    copy_cell=2,
    tree_step=3,
    entry=4,
)
WORDS = Coefficients(
    event=2,
    touch_fixed=40,
    touch_window=8,
    copy_fixed=20,
    copy_cell=6,
    tree_step=12,
    entry=12,
    touch_word=1.5,
    copy_word=1,
)
TABLE = CoefficientTable(ROUND, ROUND, ROUND, WORDS)

GROUPS = ['{"district": 1}', '{"district": 2}']
TRAVEL = Traced("Travel", BundleSize(queries=50, windows=12))
IDLE = Traced("Idle", BundleSize(queries=3, windows=4, rows=3, kind="words", words=3))
PANE_US = 60_000_000

# Partition, time, bundle, burst, queries, with state of their own before and after, decided.
RAW = np.array(
    [
        [0, 61_500_000, 0, 120, 50, 0, 1, IS_MERGED],
        [0, 62_000_000, 0, 8, 50, 1, 1, STAYS_MERGED],
        [0, 119_999_999, 0, 4, 50, 1, 50, IS_SPLIT],
        [0, 119_999_999, 0, 4, 50, 50, 50, STAYS_SPLIT],
        [1, -1, 0, 1, 50, 50, 50, STAYS_SPLIT],
        [1, 120_000_000, 0, 5, 50, 50, 1, IS_MERGED],
        [0, 0, 1, 10, 3, 0, 3, STAYS_SPLIT],
    ],
    np.int64,
)
FOR_ALL = np.array([True, True, False, False, True, True, False])

unhurried = settings(deadline=None)


def trace(rows: slice = slice(None), **options: object) -> pa.Table:
    bundles = [TRAVEL, IDLE]
    return trace_table(
        RAW[rows], FOR_ALL[rows], GROUPS, bundles, PANE_US, coefficients=TABLE, **options
    )


# Tables


def test_the_kernel_writes_as_many_columns_as_are_read():
    assert RAW_COLUMNS == TRACED


def test_a_row_says_where_and_when_a_bundle_was_touched():
    found = trace()

    assert found.schema == trace_schema()
    assert found["group"].to_pylist() == [GROUPS[i] for i in (0, 0, 0, 1, 1, 0)]
    assert found["type"].to_pylist() == ["Travel"] * 5 + ["Idle"]
    assert found["burst"].to_pylist() == [120, 8, 4, 1, 5, 10]
    assert found["queries"].to_pylist() == [50] * 5 + [3]
    starts = [60, 60, 60, -60, 120, 0]
    assert found["pane_start"].to_pylist() == [datetime.fromtimestamp(s, UTC) for s in starts]


def test_times_that_came_as_seconds_leave_as_seconds():
    found = trace_table(RAW[:3], FOR_ALL[:3], GROUPS, [TRAVEL], 1_500_000, times="seconds")

    assert found.schema == trace_schema("seconds")
    assert found["pane_start"].to_pylist() == [61.5, 61.5, 118.5]


def test_a_bundle_without_state_is_not_merged_but_begins_so():
    found = trace()

    assert found["decided"].to_pylist() == ["share", "share", "split", "alone", "merge", "alone"]


def test_a_merged_bundle_has_one_snapshot_and_a_burst_is_one_map():
    found = trace()

    assert found["snapshots_created"].to_pylist() == [1, 1, 50, 50, 1, 3]
    assert set(found["snapshots_propagated"].to_pylist()) == {1}


def test_costs_of_events_for_all_are_those_of_the_model():
    for row, (burst, size) in zip(
        trace(slice(0, 2)).to_pylist(), [(120, TRAVEL.size), (8, TRAVEL.size)], strict=True
    ):
        events = burst * 1.5
        assert row["cost_shared"] == events + merged_ns(ROUND, size, 1) - size.split_ns(ROUND)
        assert row["cost_alone"] == events + apart_ns(ROUND, size, 1)


def test_costs_of_events_for_some_are_a_split_and_the_touches():
    travel, idle = trace(slice(2, 4)).to_pylist(), trace(slice(6, 7)).to_pylist()

    # Two queries are touched, at 26 + 1.5 * 12; copies are 20 + 2 * 24 for each of 50.
    assert [row["cost_alone"] for row in travel] == [4 * 1.5 + 2 * 44]
    assert [row["cost_shared"] for row in travel] == [4 * 1.5 + 2 * 44 + 50 * 68]
    # 40 + (8 + 1.5 * 3) * 4, and 20 + (6 + 3) * 12 for each of 3.
    assert [row["cost_alone"] for row in idle] == [10 * 2 + 90]
    assert [row["cost_shared"] for row in idle] == [10 * 2 + 90 + 3 * 128]


def test_bundles_that_an_event_touches_in_turn_have_a_row_each():
    raw = np.array([[0, 5, b, 1, 3, 3, 3, STAYS_SPLIT] for b in (0, 1, 0, 1, 1)], np.int64)

    found = trace_table(raw, np.zeros(5, bool), GROUPS, [IDLE, IDLE], 1, coefficients=TABLE)

    # Two touches of the first, three of the second, of 90 ns each and one event of 2 ns.
    assert found["cost_alone"].to_pylist() == [2 + 2 * 90, 2 + 3 * 90]


def test_groups_may_be_arrow_text():
    pieces = pa.chunked_array([GROUPS[:1], GROUPS[1:]])

    for groups in (pa.array(GROUPS), pieces):
        found = trace_table(RAW, FOR_ALL, groups, [TRAVEL, IDLE], PANE_US, coefficients=TABLE)
        assert found == trace()


def test_a_run_without_touches_has_an_empty_trace():
    empty = trace_table(np.empty((0, 8), np.int64), np.empty(0, bool), [], [], PANE_US)

    assert empty.schema == trace_schema()
    assert empty.num_rows == 0
    assert summarise(empty) == []


@unhurried
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 99)), min_size=1, max_size=30))
def test_a_summary_never_loses_a_touch(touches):
    """Patience 0 and windows that turn at once: each event for all finds or makes one of all."""
    raw, before = [], 0
    for time, (is_whole, burst) in enumerate(touches):
        after = 1 if is_whole else 50
        merges = STAYS_MERGED if before == 1 else IS_MERGED
        splits = IS_SPLIT if before == 1 else STAYS_SPLIT
        raw.append([0, time, 0, burst, 50, before, after, merges if is_whole else splits])
        before = after
    for_all = np.array([is_whole for is_whole, _ in touches])

    found = trace_table(np.array(raw), for_all, GROUPS, [TRAVEL], 1, coefficients=TABLE)
    (summary,) = summarise(found)

    assert sum(summary.decided.values()) == summary.decisions == len(touches)
    assert summary.pays == summary.as_one == for_all.sum()
    # Merges and splits take turns.
    assert abs(summary.decided["merge"] - summary.decided["split"]) <= 1
    is_cheaper = [r["cost_shared"] < r["cost_alone"] for r in found.to_pylist()]
    assert is_cheaper == for_all.tolist()


# Bursts of loops with an edge predicate

LOOP = TracedLoop("T", "T: previous.v < next.v", ("q1", "q2"))
# Partition, time, b, n, s_c, s_p, columns, w, both costs, decided.
BURSTS = np.array(
    [
        [1, 61_000_000, 30, 300, 1, 1, 2, 4, 5_000, 9_000, rows.KEEP_SHARED, 0],
        [1, 95_000_000, 1, 290, 0, 2, 2, 4, 8_000, 7_000, rows.SPLIT, 0],
        [0, 5_000_000, 2, 280, 0, 0, 2, 3, 8_000, 7_500, rows.KEEP_OWN, 0],
        [0, 9_000_000, 60, 310, 1, 1, 2, 3, 4_000, 7_500, rows.MERGE, 0],
    ],
    np.int64,
)


def test_a_row_says_what_a_burst_was_decided_from():
    found = burst_table(BURSTS, GROUPS, LOOP, PANE_US, sharable_set=3, times="seconds")

    assert found.schema == trace_schema("seconds")
    assert found.slice(1, 1).to_pylist() == [
        {
            "set": 3,
            "group": GROUPS[1],
            "pane_start": 60.0,
            "time": 95.0,
            "about": "burst",
            "type": "T",
            "loop": "T: previous.v < next.v",
            "class": "q1, q2",
            "burst": 1,
            "live": 290,
            "queries": 2,
            "windows": 4,
            "snapshots_created": 0,
            "snapshots_propagated": 2,
            "cost_shared": 8000.0,
            "cost_alone": 7000.0,
            "decided": "split",
        }
    ]
    assert found["decided"].to_pylist() == ["share", "split", "alone", "merge"]


def test_queries_that_left_the_others_are_told_of_by_themselves():
    left = BURSTS.copy()
    left[2:, rows.T_CLASS] = 1
    three = replace(LOOP, queries=("q1", "q2", "q3"), classes=(("q1", "q3"), ("q2",)))

    found = burst_table(left, GROUPS, three, PANE_US)
    unknown = burst_table(left, GROUPS, replace(three, classes=()), PANE_US)

    assert found["class"].to_pylist() == ["q1, q3", "q1, q3", "q2", "q2"]
    assert found["queries"].to_pylist() == [2, 2, 1, 1]
    assert set(unknown["class"].to_pylist()) == {"q1, q2, q3"}


def test_bursts_and_touches_of_one_type_are_summed_up_apart():
    bursts = burst_table(BURSTS, GROUPS, replace(LOOP, type="Travel"), PANE_US)
    touches = trace(slice(0, 6))

    burst, touch = summarise(pa.concat_tables([touches, bursts]))

    assert (burst.about, touch.about) == ("burst", "touch")
    assert touch == summarise(touches)[0]
    assert (burst.decisions, burst.pays, burst.as_one, burst.snapshots) == (4, 2, 2, 2)
    assert (burst.mean_burst, burst.mean_live, burst.mean_windows) == (93 / 4, 295, 3.5)
    assert burst.mean_snapshots == 1
    assert (burst.cost_shared, burst.cost_alone) == (6250, 7750)
    # The split and the one that stayed alone cost what own columns do.
    assert burst.cost == (5000 + 7000 + 7500 + 4000) / 4
    assert burst.why == (
        "to share costs less in 2 of 4 bursts; until open windows close, 6.2 µs over snapshots "
        "against 7.8 µs over own columns"
    )


# Summaries


def test_a_summary_counts_decisions_and_events_of_each_type():
    idle, travel = summarise(trace())

    assert (idle.type, travel.type) == ("Idle", "Travel")
    assert (travel.decisions, travel.pays, travel.as_one) == (5, 4, 3)
    assert travel.decided == {"share": 2, "alone": 1, "merge": 1, "split": 1}
    assert travel.mean_burst == 138 / 5
    assert travel.mean_queries == 50
    assert idle.decided == {"share": 0, "alone": 1, "merge": 0, "split": 0}
    assert idle.pays == 0


def test_a_summary_says_why():
    _, travel = summarise(trace())

    # 138 events; merged 3 touches, split one of 50, and two at the split, which copies 50.
    assert 5 * travel.cost == 138 * 1.5 + (3 + 50 + 2) * 44 + 50 * 68
    assert 5 * travel.cost_alone == 138 * 1.5 + (4 * 50 + 2) * 44
    assert travel.why == (
        "1 event is for some queries only, and 1 for all found them split; a touch costs "
        "1,205 ns, 1,819 ns with a snapshot for each query"
    )


def test_a_summary_without_events_for_some_says_so():
    (travel,) = summarise(trace(slice(0, 2)))

    assert travel.why.startswith("every event is for all queries; ")


def test_sets_are_not_mixed_where_they_share_the_same_type():
    both = pa.concat_tables([trace(slice(0, 1)), trace(slice(1, 2), sharable_set=2)])

    one, other = summarise(both)

    assert (one.sharable_set, other.sharable_set) == (1, 2)
    assert (one.mean_burst, other.mean_burst) == (120, 8)


def test_pieces_with_other_dictionaries_give_the_same_summary(tmp_path: Path):
    turned = RAW[6:].copy()
    turned[:, 2] = 0
    pieces = pa.concat_tables(
        [
            trace_table(turned, FOR_ALL[6:], GROUPS, [IDLE], PANE_US, coefficients=TABLE),
            trace_table(RAW[:6], FOR_ALL[:6], GROUPS, [TRAVEL], PANE_US, coefficients=TABLE),
        ]
    )
    pq.write_table(pieces, tmp_path / "t.parquet")

    assert summarise(pieces) == summarise(trace())
    assert summarise(pq.read_table(tmp_path / "t.parquet")) == summarise(trace())


@pytest.mark.parametrize("column", ["type", "decided"])
def test_what_there_are_few_of_is_written_once(column: str):
    written = trace()[column].combine_chunks()

    assert pa.types.is_dictionary(written.type)
    assert written.dictionary.to_pylist() == (
        list(DECIDED) if column == "decided" else ["Travel", "Idle"]
    )


@pytest.mark.parametrize("shift", ["OFFSET 3 s", "OFFSET 13 s"])
def test_a_trace_of_shifted_windows_tells_the_times_of_events(shift):
    text = f"RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.x < NEXT(B).x WITHIN 10 s {shift}"
    events = [{"type": kind, "time": n, "x": n} for n, kind in enumerate("ABBAB", 4)]

    trace = Workload.parse(text).run(events, sharing="always", trace=True).trace

    assert set(trace["pane_start"].to_pylist()) == {3.0}
    assert trace["time"].to_pylist() == [5.0, 8.0]
