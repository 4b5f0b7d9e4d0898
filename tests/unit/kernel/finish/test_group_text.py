"""Groups as text: valid JSON, and the same for equal values of different types.

Would catch a group that a host writes differently, one that no reader of JSON takes, and two groups
that get one text.
"""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hamlet
from hamlet.kernel.finish.group_text import group_texts, value_texts

_MIDNIGHT = datetime(2023, 10, 29, tzinfo=UTC)


@pytest.mark.parametrize(
    ("values", "kind", "text"),
    [
        ([2**64 - 1], pa.uint64(), "18446744073709551615"),
        ([2**64 - 1], pa.decimal128(20, 0), "18446744073709551615"),
        ([Decimal("1.5")], pa.decimal128(38, 30), "1.5"),
        ([Decimal("1.5")], pa.decimal256(60, 40), "1.5"),
        ([Decimal("1E-20")], pa.decimal128(38, 25), "0.00000000000000000001"),
        ([Decimal("1200")], pa.decimal128(10, 2), "1200"),
        ([Decimal("-0.50")], pa.decimal128(10, 2), "-0.5"),
        ([Decimal(0)], pa.decimal128(38, 30), "0"),
        ([math.inf], pa.float64(), '"Infinity"'),
        ([-math.inf], pa.float32(), '"-Infinity"'),
        ([7.0], pa.float64(), "7.0"),
        ([_MIDNIGHT], pa.timestamp("us", "UTC"), '"2023-10-29T00:00:00+00:00"'),
        ([_MIDNIGHT], pa.timestamp("s", "America/New_York"), '"2023-10-29T00:00:00+00:00"'),
        ([_MIDNIGHT], pa.timestamp("ns", "+05:30"), '"2023-10-29T00:00:00+00:00"'),
        (
            [datetime(2023, 10, 29, 0, 0, 0, 5000)],
            pa.timestamp("ms"),
            '"2023-10-29T00:00:00.005000"',
        ),
        (
            [datetime(2023, 10, 29, 0, 0, 0, 5000)],
            pa.timestamp("ns"),
            '"2023-10-29T00:00:00.005000"',
        ),
        ([1], pa.timestamp("ns"), '"1970-01-01T00:00:00.000000001"'),
        ([2**57], pa.timestamp("us", "UTC"), '"6536-10-29T20:41:15.855872+00:00"'),
        ([10**7], pa.date32(), '"29349-01-26"'),
        ([date(2023, 10, 29)], pa.date64(), '"2023-10-29"'),
        ([True], pa.bool_(), "true"),
        (['a"é'], pa.large_string(), '"a\\"é"'),
    ],
)
def test_each_value_has_one_text(values: list[Any], kind: pa.DataType, text: str) -> None:
    found = value_texts(pa.array(values, kind)).to_pylist()

    assert found == [text]
    json.loads(text, parse_constant=lambda constant: pytest.fail(f"{constant} is no JSON"))


@given(st.datetimes(timezones=st.just(UTC)), st.sampled_from(["UTC", "Asia/Kolkata", "-03:00"]))
def test_an_instant_is_written_as_python_writes_it_in_utc(moment: datetime, zone: str) -> None:
    found = value_texts(pa.array([moment], pa.timestamp("us", zone)))

    assert json.loads(found[0].as_py()) == moment.isoformat()


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=20, min_value=-1e15, max_value=1e15)
)
def test_decimals_read_back_as_they_were(value: Decimal) -> None:
    texts = {
        value_texts(pa.array([value], kind))[0].as_py()
        for kind in (pa.decimal128(38, 20), pa.decimal256(60, 30))
    }

    assert len(texts) == 1
    assert json.loads(texts.pop(), parse_float=Decimal) == value


def test_groups_without_attributes_are_empty_objects() -> None:
    assert group_texts({}, 3).to_pylist() == ["{}"] * 3


@given(
    words=st.lists(st.text(), max_size=5), kind=st.sampled_from([pa.string(), pa.large_string()])
)
def test_texts_are_those_of_json_whatever_has_to_be_escaped(words: list[str], kind: Any) -> None:
    words += ["plain", "\x00", "\x1f", "\x7f", '"', "\\", "\n", "\u2028", "é"]

    found = value_texts(pa.array(words, kind)).to_pylist()

    assert found == [json.dumps(word, ensure_ascii=False) for word in words]


def test_infinite_groups_are_groups_and_nan_is_none() -> None:
    workload = hamlet.Workload.parse("RETURN COUNT(*) PATTERN A+ GROUPBY k WITHIN 10 s")
    keys = [math.inf, -math.inf, math.nan, 1.0, None]
    events = pa.table({"type": ["A"] * 5, "time": range(5), "k": pa.array(keys, pa.float64())})

    results = workload.run(events, trace=True)

    groups = ['{"k": "-Infinity"}', '{"k": 1.0}', '{"k": "Infinity"}']
    assert results.table["group"].to_pylist() == groups
    assert set(results.trace["group"].to_pylist()) <= set(groups)


def test_a_group_in_a_zone_is_an_instant_and_the_wide_form_keeps_the_zone() -> None:
    workload = hamlet.Workload.parse("RETURN COUNT(*) PATTERN A+ GROUPBY k WITHIN 10 s")
    kind = pa.timestamp("us", "America/New_York")
    events = pa.table({"type": ["A"], "time": [1], "k": pa.array([_MIDNIGHT], kind)})

    results = workload.run(events)

    assert results.table["group"].to_pylist() == ['{"k": "2023-10-29T00:00:00+00:00"}']
    key = results.wide("q1")["k"]
    assert key.type == kind
    assert key[0].as_py().astimezone(timezone(timedelta(0))) == _MIDNIGHT
