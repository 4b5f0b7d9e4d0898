"""Columns whose values are of several kinds, in JSON lines and rows of Python values.

Would catch most rows of a column left out because a query takes it for numbers, and values that are
compared as text without a word about it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hamlet import SchemaError, Workload

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=["rows", "lines"])
def events(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Makes events of values of x: rows in memory, or a file of JSON lines."""

    def make(*values: Any) -> Any:
        rows = [{"type": "A", "time": t, "x": value} for t, value in enumerate(values)]
        if request.param == "rows":
            return rows
        path = tmp_path / "events.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return make


def run(where: str, events: Any) -> Any:
    return Workload.parse(f"RETURN COUNT(*) PATTERN A {where} WITHIN 100 s").run(events)


def test_a_column_that_is_mostly_something_else_is_no_column_of_numbers(events: Any) -> None:
    with pytest.raises(SchemaError, match="x is text and 1 is a number"):
        run("WHERE A.x > 1", events(1, "a", True, "b", 5))


def test_where_half_are_numbers_the_others_are_left_out_and_counted(events: Any) -> None:
    results = run("WHERE A.x > 1", events(1, "a", None, 5))

    assert results.statistics.malformed == {"x is not a number": 1}
    assert results.table["value"].to_pylist() == [1.0]


def test_values_of_several_kinds_are_text_and_that_is_said(events: Any) -> None:
    results = run("GROUPBY x", events(1, "a", None, True, [1], 5))

    groups = results.table["group"].to_pylist()
    assert sorted(groups) == [
        '{"x": "1"}',
        '{"x": "5"}',
        '{"x": "[1]"}',
        '{"x": "a"}',
        '{"x": "true"}',
    ]
    assert results.notes[0] == (
        "x has values of several kinds, 2 numbers, 1 text, 1 truth value, 1 object: all are taken "
        "as text"
    )


def test_values_of_one_kind_need_no_note(events: Any) -> None:
    assert not [each for each in run("GROUPBY x", events(1, None, 2.5)).notes if "kinds" in each]
