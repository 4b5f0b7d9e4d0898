"""Windows are given in what the times of events were given in.

These would catch a zone that is put on times that had none, one that is lost, and an instant that
moves on its way out.
"""

from __future__ import annotations

import csv
import json
from datetime import UTC, date, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import hamlet
from hamlet.events.texts import moments_of_texts

if TYPE_CHECKING:
    from pathlib import Path

WORKLOAD = hamlet.Workload.parse("RETURN COUNT(*) PATTERN A+ WITHIN 1 h")
NOON = datetime(2026, 3, 2, 12, 30)
TOKYO = "Asia/Tokyo"


def run(times: Any, **options: Any) -> hamlet.Results:
    return WORKLOAD.run(pa.table({"type": ["A"] * len(times), "time": times}), **options)


@pytest.mark.parametrize(
    ("times", "kind"),
    [
        (pa.array([NOON], pa.timestamp("us")), pa.timestamp("us")),
        (pa.array([NOON], pa.timestamp("ns")), pa.timestamp("us")),
        (pa.array([date(2026, 3, 2)]), pa.timestamp("us")),
        (pa.array([NOON], pa.timestamp("ms", "UTC")), pa.timestamp("us", "UTC")),
        (pa.array([NOON], pa.timestamp("s", TOKYO)), pa.timestamp("us", TOKYO)),
        (pa.array([1.5]), pa.float64()),
        (pa.array(["2026-03-02T12:30:00"]), pa.timestamp("us")),
        (pa.array(["2026-03-02"]), pa.timestamp("us")),
        (pa.array(["2026-03-02T12:30:00Z"]), pa.timestamp("us", "UTC")),
        (pa.array(["2026-03-02T12:30:00", "2026-03-02 13:30+02"]), pa.timestamp("us", "UTC")),
    ],
)
def test_windows_have_the_zone_of_the_events_or_none(times: pa.Array, kind: pa.DataType) -> None:
    results = run(times, trace=True)

    assert results.table.schema.field("window_start").type == kind
    assert results.table.schema.field("window_end").type == kind
    assert results.wide("q1").schema.field("window_start").type == kind
    assert results.trace.schema.field("pane_start").type == kind


def test_a_window_of_another_zone_is_the_same_instant() -> None:
    zoned = run(pa.array([NOON], pa.timestamp("us", TOKYO)))

    (start,) = zoned.table["window_start"].to_pylist()

    assert start == datetime(2026, 3, 2, 12, tzinfo=UTC)
    assert start.utcoffset() == timedelta(hours=9)
    assert "[2026-03-02 21:00:00, 22:00:00)" in repr(zoned)


@pytest.mark.parametrize(
    ("time", "start"),
    [
        (NOON, datetime(2026, 3, 2, 12)),
        (NOON.replace(tzinfo=UTC), datetime(2026, 3, 2, 12, tzinfo=UTC)),
        (
            NOON.replace(tzinfo=timezone(timedelta(hours=2))),
            datetime(2026, 3, 2, 10, tzinfo=UTC),
        ),
        ("2026-03-02 12:30", datetime(2026, 3, 2, 12)),
    ],
)
def test_python_times_come_back_as_they_came(time: Any, start: datetime) -> None:
    results = WORKLOAD.run([{"type": "A", "time": time}])

    assert results.table["window_start"].to_pylist() == [start]


def test_python_times_and_texts_together_have_no_zone_unless_one_has() -> None:
    rows: list[dict[str, Any]] = [
        {"type": "A", "time": NOON},
        {"type": "A", "time": "2026-03-02T12:40:00"},
    ]

    naive = WORKLOAD.run(rows)
    zoned = WORKLOAD.run([*rows, {"type": "A", "time": "2026-03-02T12:50:00Z"}])

    assert naive.table["window_start"].to_pylist() == [datetime(2026, 3, 2, 12)]
    assert zoned.table["window_start"].to_pylist() == [datetime(2026, 3, 2, 12, tzinfo=UTC)]
    assert zoned.table["exact"].to_pylist() == ["7"]


@pytest.mark.parametrize(
    ("times", "written"),
    [
        (pa.array([NOON], pa.timestamp("us")), "2026-03-02T12:00:00.000000"),
        (pa.array([NOON], pa.timestamp("us", "UTC")), "2026-03-02T12:00:00.000000Z"),
        (pa.array([NOON], pa.timestamp("us", TOKYO)), "2026-03-02T12:00:00.000000Z"),
    ],
)
def test_files_of_text_say_whether_there_is_a_zone(
    times: pa.Array, written: str, tmp_path: Path
) -> None:
    results = run(times)

    results.write(tmp_path / "r.csv")
    results.write(tmp_path / "r.jsonl")

    rows = csv.DictReader((tmp_path / "r.csv").read_text().splitlines())
    assert next(rows)["window_start"] == written
    assert json.loads((tmp_path / "r.jsonl").read_text())["window_start"] == written


@pytest.mark.parametrize(
    ("ending", "kind"), [("", pa.timestamp("us")), ("Z", pa.timestamp("us", "UTC"))]
)
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_files_of_events_with_and_without_a_zone(
    ending: str, kind: pa.DataType, suffix: str, tmp_path: Path
) -> None:
    path = tmp_path / f"events.{suffix}"
    moments = [f"2026-03-02T12:{minute}:00{ending}" for minute in (10, 20)]
    if suffix == "csv":
        path.write_text("type,time\n" + "".join(f"A,{each}\n" for each in moments))
    else:
        path.write_text("".join(json.dumps({"type": "A", "time": m}) + "\n" for m in moments))

    results = WORKLOAD.run(path)

    assert results.table.schema.field("window_start").type == kind
    assert results.table["exact"].to_pylist() == ["3"]


def test_texts_are_naive_together_or_instants_together() -> None:
    naive = moments_of_texts(pa.array(["2026-03-02T08:00:00", "nonsense", None]))
    mixed = moments_of_texts(pa.array(["2026-03-02T08:00:00", "2026-03-02T08:00:00+01:00"]))

    assert naive.to_pylist() == [datetime(2026, 3, 2, 8), None, None]
    assert [each.hour for each in mixed.to_pylist()] == [8, 7]
    assert mixed.type == pa.timestamp("us", "UTC")


def test_files_that_differ_in_the_unit_of_naive_times_have_no_zone(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("type,time\nA,2026-03-02T12:10:00\n")
    (tmp_path / "b.csv").write_text("type,time\nA,2026-03-02T12:20:00.123456\nA,2026-03-02\n")
    (tmp_path / "c.csv").write_text("type,time\n")
    without = WORKLOAD.run(tmp_path).table
    (tmp_path / "d.csv").write_text("type,time\nA,2026-03-02T12:20:00Z\n")

    with_zone = WORKLOAD.run(tmp_path).table

    assert without.schema.field("window_start").type == pa.timestamp("us")
    assert with_zone.schema.field("window_start").type == pa.timestamp("us", "UTC")
    assert (without["exact"].to_pylist(), with_zone["exact"].to_pylist()) == (
        ["1", "3"],
        ["1", "7"],
    )
