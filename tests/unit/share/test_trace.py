"""Traces: from the integers of a kernel to a table, and from a table to a summary.

Would catch columns that are mixed up, a burst that is filed under the wrong pane or decision, costs
that are not those of the model, and a summary that mixes sets or loses bursts.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hamlet.share.coefficients import Coefficients, CoefficientTable
from hamlet.share.cost import KernelModel, Member
from hamlet.share.trace import (
    DECIDED,
    Accumulator,
    summarise,
    trace_schema,
    trace_table,
)

if TYPE_CHECKING:
    from pathlib import Path

# Fixed here, so that what ships can change with what is measured.
ROUND = Coefficients(
    event=1.5,
    snapshot_fixed=30,
    snapshot_window=1.5,
    alone_fixed=12,
    alone_window=1,
    tree_step=3,
    entry=4,
)
WORDS = Coefficients(
    event=2,
    snapshot_fixed=40,
    snapshot_window=8,
    alone_fixed=20,
    alone_window=6,
    tree_step=12,
    entry=12,
    snapshot_word=1.5,
    alone_word=1,
)
TABLE = CoefficientTable(ROUND, ROUND, ROUND, WORDS)

GROUPS = ['{"district": 1}', '{"district": 2}']
TRAVEL, IDLE = Accumulator("Travel", 12), Accumulator("Idle", 4, "words", 3)
PANE_US = 60_000_000

# Partition, time, accumulator, burst, queries, touched, split, merged.
RAW = np.array(
    [
        [0, 61_500_000, 0, 120, 50, 2, 0, 0],
        [0, 119_999_999, 0, 8, 50, 3, 1, 0],
        [1, -1, 0, 1, 2, 2, 2, 0],
        [1, 120_000_000, 0, 5, 50, 0, 0, 4],
        [0, 0, 1, 10, 3, 1, 1, 1],
    ],
    np.int64,
)

unhurried = settings(deadline=None)


def trace(raw: np.ndarray = RAW, **options: object) -> pa.Table:
    return trace_table(raw, GROUPS, [TRAVEL, IDLE], PANE_US, coefficients=TABLE, **options)


# Tables


def test_a_row_says_where_and_when_a_burst_was():
    found = trace()

    assert found.schema == trace_schema()
    assert found["group"].to_pylist() == [GROUPS[i] for i in (0, 0, 1, 1, 0)]
    assert found["type"].to_pylist() == ["Travel"] * 4 + ["Idle"]
    assert found["burst"].to_pylist() == [120, 8, 1, 5, 10]
    assert found["queries"].to_pylist() == [50, 50, 2, 50, 3]
    starts = [60, 60, -60, 120, 0]
    assert found["pane_start"].to_pylist() == [datetime.fromtimestamp(s, UTC) for s in starts]


def test_times_that_came_as_seconds_leave_as_seconds():
    found = trace_table(RAW[:3], GROUPS, [TRAVEL], 1_500_000, times="seconds")

    assert found.schema == trace_schema("seconds")
    assert found["pane_start"].to_pylist() == [61.5, 118.5, -1.5]


def test_each_burst_has_the_decision_that_its_queries_make():
    found = trace()

    assert found["decided"].to_pylist() == ["share", "mixed", "split", "merge", "mixed"]
    assert found["split"].to_pylist() == [0, 1, 2, 0, 1]
    assert found["merged"].to_pylist() == [0, 0, 0, 4, 1]


def test_touched_queries_that_share_have_a_snapshot_and_a_burst_carries_one_map():
    found = trace()

    assert found["snapshots_created"].to_pylist() == [2, 2, 0, 0, 0]
    assert found["snapshots_propagated"].to_pylist() == [1, 1, 0, 1, 1]


def test_costs_are_those_of_the_model():
    found = trace()

    for row, (b, k, m), (accumulator, c) in zip(
        found.to_pylist(),
        RAW[:, 3:6].tolist(),
        [(TRAVEL, ROUND)] * 4 + [(IDLE, WORDS)],
        strict=True,
    ):
        size = {"windows": accumulator.windows, "words": accumulator.words}
        members = [Member(i, snapshots=float(i < m), **size) for i in range(k)]
        model = KernelModel(b, c)
        assert row["cost_shared"] == pytest.approx(model.cost([members], []))
        assert row["cost_alone"] == pytest.approx(model.cost([], members))


def test_groups_may_be_arrow_text():
    pieces = pa.chunked_array([GROUPS[:1], GROUPS[1:]])

    for groups in (pa.array(GROUPS), pieces):
        assert trace_table(RAW, groups, [TRAVEL, IDLE], PANE_US, coefficients=TABLE) == trace()


def test_a_run_without_bursts_has_an_empty_trace():
    empty = trace_table(np.empty((0, 8), np.int64), [], [], PANE_US)

    assert empty.schema == trace_schema()
    assert empty.num_rows == 0
    assert summarise(empty) == []


@unhurried
@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.integers(1, 99)),
        min_size=1,
        max_size=30,
    )
)
def test_decisions_and_snapshots_never_contradict_the_counts(rows):
    # Some split of the touched, some merged of the others, some further queries.
    raw = np.array(
        [[0, 0, 0, b, s + c + m + (s + c + m == 0), s + c, s, m] for s, c, m, b in rows], np.int64
    )

    found = trace(raw).to_pylist()

    for row in found:
        shared = row["queries"] - row["split"]
        assert row["snapshots_created"] >= 0
        assert (row["decided"] == "split") == (shared == 0)
        assert (row["decided"] in ("share", "merge")) == (row["split"] == 0)
        assert row["snapshots_propagated"] == (shared > 0)
    (summary,) = summarise(trace(raw))
    assert sum(summary.decided.values()) == summary.bursts == len(rows)
    assert (summary.shared_work == 1) == all(row["split"] == 0 for row in found)
    assert (summary.shared_work == 0) == (summary.share_of_events == 0)


# Summaries


def test_a_summary_counts_decisions_and_events_of_each_type():
    idle, travel = summarise(trace())

    assert (idle.type, travel.type) == ("Idle", "Travel")
    assert travel.bursts == 4
    assert travel.decided == {"share": 1, "split": 1, "merge": 1, "mixed": 1}
    assert (travel.events, travel.shared_events) == (134, 133)
    assert travel.share_of_events == 133 / 134
    # All 50 queries of the first and last, 49 of the second, none of the third.
    assert travel.shared_work == (125 * 50 + 8 * 49) / (133 * 50 + 2)
    assert travel.mean_burst == 134 / 4
    assert idle.decided == {"share": 0, "split": 0, "merge": 0, "mixed": 1}


def test_a_summary_says_why():
    _, travel = summarise(trace())

    # 134 events at 1.5 ns; 7 touched at 48 ns; 152 queries at 24 ns; over 4 bursts.
    assert travel.cost_shared == (134 * 1.5 + 7 * 48) / 4
    assert travel.cost_alone == (134 * 1.5 + 152 * 24) / 4
    assert str(travel) == (
        "set 0, Travel+: 4 bursts of 33.5 events (1 share, 1 split, 1 merge, 1 mixed), "
        "99% of events shared\n"
        "  1.8 of 38.0 queries are touched before a burst, which costs 134 ns if all share and "
        "962 ns if none does"
    )


def test_sets_are_not_mixed_where_they_share_the_same_type():
    both = pa.concat_tables([trace(RAW[:1]), trace(RAW[1:2], sharable_set=1)])

    one, other = summarise(both)

    assert (one.sharable_set, other.sharable_set) == (0, 1)
    assert (one.events, other.events) == (120, 8)


def test_pieces_with_other_dictionaries_give_the_same_summary(tmp_path: Path):
    turned = RAW[4:].copy()
    turned[:, 2] = 0
    pieces = pa.concat_tables(
        [
            trace_table(turned, GROUPS, [IDLE], PANE_US, coefficients=TABLE),
            trace_table(RAW[:4], GROUPS, [TRAVEL], PANE_US, coefficients=TABLE),
        ]
    )
    pq.write_table(pieces, tmp_path / "t.parquet")

    assert summarise(pieces) == summarise(trace())
    assert summarise(pq.read_table(tmp_path / "t.parquet")) == summarise(trace())


def test_the_decisions_are_written_as_words():
    written = trace()["decided"].combine_chunks()

    assert pa.types.is_dictionary(written.type)
    assert tuple(written.dictionary.to_pylist()) == DECIDED
