"""Any source of events gives the same table, and a bad row is counted while the good ones stay.

What would show here: a row that vanishes without being counted, a time off by a microsecond, a
column that changes its kind because of one value, a message that does not say what to do.
"""

from __future__ import annotations

import gzip
import json
import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv, parquet

from hamlet.errors import PlanError, ReadError, SchemaError
from hamlet.events.table import EventTable
from hamlet.kernel.reference import _microseconds
from hamlet.testing import stream
from hamlet.workload import Workload

if TYPE_CHECKING:
    from pathlib import Path

PLAN = Workload.parse(
    "RETURN COUNT(*), SUM(B.price) PATTERN SEQ(A, B+) WHERE B.price > 2 AND B.name = 'x' "
    "GROUPBY g WITHIN 10 s"
).plan
COUNT = Workload.parse("RETURN COUNT(*) PATTERN A+ WITHIN 10 s").plan
ROWS = stream(
    "1 A g=1 price=null name=y, 2 B g=1 price=3 name=x, "
    "3 B g=2 price=2 name=x, 4 C g=2 price=7 name=x"
)


def shown(table: EventTable) -> list[tuple[Any, ...]]:
    """Type, time and attributes of every row."""
    words = table.types.words.to_pylist()  # type: ignore[union-attr]
    columns = [table.table.column(name).to_pylist() for name in ("g", "price", "name")]
    types = [words[code] for code in table.types.data]
    return list(zip(types, table.ts.tolist(), *columns, strict=True))


EXPECTED = [
    ("A", 1_000_000, 1, None, "y"),
    ("B", 2_000_000, 1, 3, "x"),
    ("B", 3_000_000, 2, 2, "x"),
    ("C", 4_000_000, 2, 7, "x"),
]


# Sources

ARROW = pa.Table.from_pylist(ROWS)
SOURCES = {
    "dicts": ROWS,
    "table": ARROW,
    "batch": ARROW.to_batches()[0],
    "reader": ARROW.to_reader(),
    "chunks": pa.concat_tables([ARROW.slice(0, 2), ARROW.slice(2)]),
    "pandas": pd.DataFrame(ROWS).astype({"price": "Int64"}),
    "polars": pl.DataFrame(ROWS),
    "polars categories": pl.DataFrame(ROWS).cast({"type": pl.Categorical}),
    "pandas categories": pd.DataFrame(ROWS).astype({"price": "Int64", "type": "category"}),
    "unneeded column": ARROW.append_column("list", pa.array([[1], [2], [3], [4]])),
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_the_same_rows(name: str) -> None:
    table = EventTable.of(SOURCES[name], PLAN)

    assert shown(table) == EXPECTED
    assert table.times == "seconds"
    assert (table.statistics.rows, table.statistics.malformed) == (4, {})
    assert set(table.table.column_names) == {"type", "time", "g", "price", "name"}


def write(path: Path, text: str) -> Path:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


CSV = "type,time,g,price,name,extra\nA,1,1,,y,-\nB,2,1,3,x,\nB,3,2,2,x,\nC,4,2,7,x,\n"
JSON = """{"type": "A", "time": 1, "g": 1, "name": "y", "deep": {"a": [1]}}
{"type": "B", "time": 2, "g": 1, "price": 3, "name": "x"}

{"type": "B", "time": 3, "g": 2, "price": 2, "name": "x"}
{"type": "C", "time": 4, "g": 2, "price": 7, "name": "x"}
"""


@pytest.mark.parametrize("name", ["e.csv", "e.csv.gz", "e.jsonl", "e.ndjson.gz", "e.json"])
def test_files_of_text_give_the_same_rows(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, CSV if "csv" in name else JSON)

    assert shown(EventTable.of(path, PLAN)) == EXPECTED
    assert shown(EventTable.of(str(path), PLAN)) == EXPECTED


def test_parquet_folders_and_globs(tmp_path: Path) -> None:
    (tmp_path / "part" / "deep").mkdir(parents=True)
    parquet.write_table(ARROW.slice(0, 2), tmp_path / "part" / "a.parquet")
    csv.write_csv(ARROW.slice(2, 1), tmp_path / "part" / "b.csv")
    write(tmp_path / "part" / "deep" / "c.jsonl", JSON.splitlines()[-1])
    write(tmp_path / "part" / "_SUCCESS", "")
    write(tmp_path / "part" / ".b.csv.crc", "?")

    folder = EventTable.of(tmp_path / "part", PLAN)
    globbed = EventTable.of(str(tmp_path / "p*" / "**" / "*.*[lvt]"), PLAN)

    assert sorted(shown(folder), key=str) == sorted(EXPECTED, key=str)
    assert sorted(shown(globbed), key=str) == sorted(EXPECTED, key=str)


def test_packed_parquet_is_unpacked(tmp_path: Path) -> None:
    parquet.write_table(ARROW, tmp_path / "e.parquet")
    packed = gzip.compress((tmp_path / "e.parquet").read_bytes())
    (tmp_path / "e.parquet.gz").write_bytes(packed)

    assert shown(EventTable.of(tmp_path / "e.parquet.gz", PLAN)) == EXPECTED


def test_files_that_differ_in_the_type_of_a_number_are_one_table(tmp_path: Path) -> None:
    write(tmp_path / "1.csv", "type,time,g,price,name\nB,1,1,3,x\n")
    write(tmp_path / "2.csv", "type,time,g,price,name\nB,2,7a,2.5,x\n")

    table = EventTable.of(tmp_path, PLAN)

    assert shown(table) == [("B", 10**6, "1", 3.0, "x"), ("B", 2 * 10**6, "7a", 2.5, "x")]


def test_an_empty_file_is_an_empty_stream(tmp_path: Path) -> None:
    for name in ("e.csv", "e.jsonl"):
        assert len(EventTable.of(write(tmp_path / name, ""), PLAN)) == 0
    assert len(EventTable.of(write(tmp_path / "h.csv", CSV.split("\n")[0] + "\n"), PLAN)) == 0
    assert len(EventTable.of([], PLAN)) == 0


# Bad rows


def test_a_value_that_is_no_number_costs_its_row_only(tmp_path: Path) -> None:
    text = CSV + "B,5,2,many,x,\nB,6,2,N/A,x,\nB,7,2, 8 ,x,\nB,8,2,+1,x,\n"

    table = EventTable.of(write(tmp_path / "e.csv", text), PLAN)

    assert [row[3] for row in shown(table)] == [None, 3, 2, 7, None, 8, 1]
    assert table.statistics.malformed == {"price is not a number": 1}
    assert table.statistics.rows == 8
    assert table.column("price").is_integer


def test_rows_of_the_wrong_length_are_counted(tmp_path: Path) -> None:
    text = CSV + "B,5\nB,6,1,1,x,-\nB,7,1,1,x,-,-,-\n"

    table = EventTable.of(write(tmp_path / "e.csv", text), PLAN)

    assert table.ts.tolist() == [10**6, 2 * 10**6, 3 * 10**6, 4 * 10**6, 6 * 10**6]
    assert table.statistics.malformed == {"wrong number of fields": 2}


def test_a_quote_that_is_never_closed_swallows_no_row(tmp_path: Path) -> None:
    good = "".join(f"B,{t},1,1,x,\n" for t in range(10, 3000))
    text = CSV + 'B,5,1,1,x,"oops\n' + good + 'B,6,1,1,"x",fine\n'

    table = EventTable.of(write(tmp_path / "e.csv", text), PLAN)

    assert len(table) == 4 + 2990 + 1
    assert table.statistics.malformed == {"wrong number of fields": 1}


def test_quoted_values_may_hold_commas_quotes_and_line_ends(tmp_path: Path) -> None:
    text = 'type,time,g,price,name\r\nB,1,1,1,"a,b"\r\nB,2,1,1,"say ""hi"""\r\nB,3,1,1,"x\r\ny"\r\n'

    table = EventTable.of(write(tmp_path / "e.csv", text), PLAN)

    assert [row[4].replace("\r", "") for row in shown(table)] == ["a,b", 'say "hi"', "x\ny"]
    assert table.statistics.malformed == {}


def test_text_that_is_not_utf8_costs_its_row_where_it_is_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_bytes(CSV.encode() + b"B,5,1,1,\xff,\nB,6,1,1,x,\xff\n")

    table = EventTable.of(path, PLAN)

    assert table.ts.tolist()[-1] == 6 * 10**6
    assert table.statistics.malformed == {"not UTF-8 text": 1}


def test_broken_lines_of_json_are_counted_by_reason(tmp_path: Path) -> None:
    text = JSON + '{"type": "B", "time"\n[1, 2]\n{"type": "B", "time": 5, "price": "much"}\n'
    text += '{"type": "B", "time": "soon"}\n{"time": 6}\n{"type": "B", "time": null}\n'
    text += '{"type": 7, "time": 9}\n{"type": "B", "time": 7, "g": 1, "price": 9, "name": "x"}\n'

    table = EventTable.of(write(tmp_path / "e.jsonl", text), PLAN)

    assert shown(table) == [*EXPECTED, ("B", 7_000_000, 1, 9, "x")]
    assert table.statistics.rows == 12
    assert table.statistics.malformed == {
        "not JSON": 1,
        "not a JSON object": 1,
        "type is not text": 1,
        "not a time": 1,
        "price is not a number": 1,
        "no time": 1,
        "no type": 1,
    }


def test_dates_in_json_are_text_but_for_the_time(tmp_path: Path) -> None:
    text = '{"type": "A", "time": "2024-01-01T00:00:00.5Z", "g": "2024-01-01", '
    text += '"price": 1, "name": "x"}'

    table = EventTable.of(write(tmp_path / "e.jsonl", text), PLAN)

    assert shown(table)[0][1:3] == (1_704_067_200_500_000, "2024-01-01")
    assert table.times == "timestamps"


def test_rows_without_type_or_time_are_counted() -> None:
    rows = [*ROWS, {"time": 5}, {"type": "A"}, {"type": None, "time": None}, 17]

    table = EventTable.of(rows, PLAN)

    assert shown(table) == EXPECTED
    assert table.statistics.rows == 8
    assert table.statistics.malformed == {"not a row": 1, "no time": 2, "no type": 1}


def test_infinite_numbers_that_are_summed_cost_their_row_and_nan_is_null() -> None:
    table = pa.table(
        {"type": ["B"] * 3, "time": [1, 2, 3], "g": [1, 1, 1], "name": ["x"] * 3}
        | {"price": [float("inf"), float("nan"), 1.0]}
    )

    found = EventTable.of(table, PLAN)

    assert found.statistics.malformed == {"price is infinite": 1}
    assert found.column("price").valid.tolist() == [False, True]  # type: ignore[union-attr]


def test_long_integer_keys_are_not_rounded_together(tmp_path: Path) -> None:
    keys = ["12345678901234567890", "12345678901234567891"]
    lines = "".join(f"B,{t},{key},1,x\n" for t, key in enumerate(keys))
    objects = "".join(f'{{"type": "B", "time": 1, "g": {key}}}\n' for key in keys)

    table = EventTable.of(write(tmp_path / "e.csv", "type,time,g,price,name\n" + lines), PLAN)
    other = EventTable.of(
        write(tmp_path / "e.jsonl", objects),
        Workload.parse("RETURN COUNT(*) PATTERN B+ GROUPBY g WITHIN 1 s").plan,
    )

    assert table.table.column("g").to_pylist() == [int(key) for key in keys]
    assert other.table.column("g").to_pylist() == [int(key) for key in keys]


def test_text_that_looks_like_a_number_is_text_where_it_is_used_so(tmp_path: Path) -> None:
    plan = Workload.parse("RETURN COUNT(*) PATTERN A+ WHERE A.zip = '02139' WITHIN 1 s").plan

    table = EventTable.of(write(tmp_path / "e.csv", "type,time,zip\nA,1,02139\n"), plan)

    assert table.table.column("zip").to_pylist() == ["02139"]


def test_flags_of_csv_may_be_words_or_digits(tmp_path: Path) -> None:
    plan = Workload.parse("RETURN COUNT(*) PATTERN A+ WHERE A.pool WITHIN 1 s").plan
    for true, false in (("true", "FALSE"), ("1", "0")):
        text = f"type,time,pool\nA,1,{true}\nA,2,{false}\nA,3,\n"

        table = EventTable.of(write(tmp_path / "e.csv", text), plan)

        assert table.table.column("pool").to_pylist() == [True, False, None]


# Times

EAST = timezone(timedelta(hours=2))
MOMENT = datetime(2024, 2, 29, 12, 30, 15, 123456)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (pa.array([1, -2]), [1_000_000, -2_000_000]),
        (pa.array([1.5, -0.25]), [1_500_000, -250_000]),
        (pa.array([Decimal("0.0000005"), Decimal("0.0000015")]), [0, 2]),
        (pa.array([Decimal("17.1234565"), None]), [17_123_456]),
        (pa.array([5], pa.timestamp("s")), [5_000_000]),
        (pa.array([5], pa.timestamp("ms", "Europe/Berlin")), [5_000]),
        (pa.array([-1, 1999], pa.timestamp("ns")), [-1, 1]),
        (pa.array([date(1970, 1, 2)]), [86_400_000_000]),
        (pa.array([86_400_000], pa.date64()), [86_400_000_000]),
        (pa.array(["1970-01-01T00:00:01Z", "1970-01-01 02:00:01.5+02:00"]), [10**6, 1_500_000]),
        (pa.array(["1970-01-02", "1970-01-01T00:00:00.1234567"]), [86_400_000_000, 123_456]),
        (pa.array(["1.5", "2"]), [1_500_000, 2_000_000]),
        (pa.array([2**64 - 1, 1], pa.uint64()), [1_000_000]),
        (pa.array([1e300, float("nan"), 1.0]), [1_000_000]),
        (pa.array(["1970-02-30", "1970-01-02", "soon"]), [86_400_000_000]),
    ],
    ids=str,
)
def test_times_of_every_form_are_microseconds(times: pa.Array, expected: list[int]) -> None:
    table = pa.table({"type": ["A"] * len(times), "time": times})

    found = EventTable.of(table, COUNT)

    assert found.ts.tolist() == expected
    assert sum(found.statistics.malformed.values()) == len(times) - len(expected)


@settings(deadline=None)
@given(st.lists(st.floats(-4e12, 4e12) | st.floats(0, 3e9) | st.floats(-1, 1), max_size=20))
def test_seconds_are_rounded_exactly(seconds: list[float]) -> None:
    types = pa.array(["A"] * len(seconds), pa.string())
    table = pa.table({"type": types, "time": pa.array(seconds, pa.float64())})

    assert EventTable.of(table, COUNT).ts.tolist() == [_microseconds(s) for s in seconds]


@given(st.integers(-(2**51), 2**51), st.integers(-3, 3))
def test_seconds_near_a_half_are_rounded_to_the_right_side(halves: int, beside: int) -> None:
    second = (2 * halves + 1) / 2_000_000
    for _ in range(abs(beside)):
        second = math.nextafter(second, math.inf if beside > 0 else -math.inf)

    table = EventTable.of(pa.table({"type": ["A"], "time": [second]}), COUNT)

    assert table.ts.tolist() == [_microseconds(second)]


def test_python_times_may_have_zones_or_be_text() -> None:
    aware = MOMENT.replace(tzinfo=UTC)
    times = [MOMENT, aware, aware.astimezone(EAST), "2024-02-29T12:30:15.123456", 5]

    table = EventTable.of([{"type": "A", "time": time} for time in times], COUNT)

    assert set(table.ts.tolist()) == {_microseconds(MOMENT)}
    assert len(table) == 4
    assert table.times == "timestamps"
    assert table.statistics.malformed == {"not a time": 1}


def test_columns_may_have_other_names() -> None:
    rows = [{"kind": "A", "at": 1, "seq": 4}]

    table = EventTable.of(rows, COUNT, type="kind", time="at", order="seq")

    assert table.ts.tolist() == [1_000_000]
    assert table.order is not None
    assert table.order.data.tolist() == [4]


# Errors


def refused(source: Any, plan: Any = PLAN, **options: Any) -> str:
    with pytest.raises((SchemaError, ReadError)) as caught:
        EventTable.of(source, plan, **options)
    return str(caught.value)


def test_a_missing_column_is_named_with_what_there_is(tmp_path: Path) -> None:
    path = write(tmp_path / "trips.csv", "type,at,g,price\nA,1,1,1\n")

    assert refused(path) == (
        "trips.csv: column 'time' not found; it has: type, at, g, price; "
        "pass time='...', or --time on the command line."
    )
    assert "column 'name' not found; it has: type, at, g, price" in refused(path, time="at")
    assert "pass order='...'" in refused(ROWS, order="seq")


def test_rows_may_lack_an_attribute_that_no_row_has() -> None:
    table = EventTable.of(stream("1 A, 2 B"), PLAN)

    assert table.column("price").kind is None


@pytest.mark.parametrize(
    ("where", "columns", "message"),
    [
        ("A.x > 2", {"x": ["a"]}, "x is text and 2 is a number: they cannot be compared"),
        ("A.x + 1 > 2", {"x": ["a"]}, "x is text, where a number is needed"),
        ("A.x = 'a'", {"x": [1]}, "x is a number and 'a' is text"),
        ("A.x", {"x": [1]}, "x is a number, where a truth value is needed"),
        ("A.x < A.y", {"x": [1], "y": ["a"]}, "x is a number and y is text"),
        ("A.x < A.y", {"x": [True], "y": [False]}, "truth values have no order"),
        ("A.x IN (1, 2)", {"x": ["a"]}, "x is text and 1 is a number"),
        ("A.x - NEXT(A).x > 1", {"x": [datetime(2024, 1, 1)]}, "is a duration and 1 is"),
        ("A.x * 2 > 1", {"x": [datetime(2024, 1, 1)]}, "x is a time and 2 is a number: '*' has no"),
        ("A.x LIKE 'a%'", {"x": [1]}, "x is a number, where text is needed"),
        ("LOWER(A.x) = 'a'", {"x": [1]}, "a number stands where text is needed"),
        ("HOUR(A.x) = 1", {"x": [1]}, "a number stands where a time is needed"),
        ("COALESCE(A.x, A.y) = 1", {"x": [1], "y": ["a"]}, "text stands where a number is"),
        ("A.time - A.x < 1 s", {"x": [1]}, "time is a time and x is a number: '-' has no meaning"),
        ("A.time = A.x", {"x": ["a"]}, "time is a time and x is text: they cannot be compared"),
        ("A.x = 1", {"x": [[1]]}, "column 'x' is of type list"),
    ],
)
def test_an_attribute_of_the_wrong_kind_is_refused(
    where: str, columns: dict[str, Any], message: str
) -> None:
    plan = Workload.parse(f"RETURN COUNT(*) PATTERN A+ WHERE {where} WITHIN 1 s").plan

    assert message in refused(pa.table({"type": ["A"], "time": [1], **columns}), plan)


def test_aggregates_need_numbers() -> None:
    plan = Workload.parse("RETURN MAX(A.x) PATTERN A+ WITHIN 1 s").plan

    assert "q1: MAX needs numbers, but attribute 'x' is text" in refused(
        pa.table({"type": ["A"], "time": [1], "x": ["a"]}), plan
    )


def test_types_are_text_and_times_are_times() -> None:
    assert "types must be text" in refused(pa.table({"type": [1], "time": [1]}), COUNT)
    assert "time must be a timestamp" in refused(pa.table({"type": ["A"], "time": [True]}), COUNT)
    assert "there are 2 columns 'time'" in refused(
        pa.table([["A"], [1], [1]], names=["type", "time", "time"]), COUNT
    )


def test_files_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path / "e.txt", "x")
    write(tmp_path / "bad.parquet", "this is no parquet file")
    (tmp_path / "bad.csv.gz").write_bytes(b"not gzip at all")

    assert "no such file or folder" in refused(tmp_path / "none.csv")
    assert "there are no events in this folder" in refused(tmp_path / "empty")
    assert "it matches no file" in refused(tmp_path / "*.feather")
    assert ".txt is not a format of events; use .parquet, .csv" in refused(tmp_path / "e.txt")
    assert "not a Parquet file" in refused(tmp_path / "bad.parquet")
    assert "bad.csv.gz" in refused(tmp_path / "bad.csv.gz")
    assert "one JSON list" in refused(write(tmp_path / "e.json", '[{"type": "A"}]'))


def test_what_is_no_table_is_refused() -> None:
    assert "int is not a table of events; pass an Arrow table" in refused(7)


# Numbers in quotes, and separators

DELAYS = "type,time,delay,code,none\nA,1,20,7,\nA,2,40,x,\nA,3,100,8,\n"
RIGHT = "RETURN SUM(A.delay) PATTERN A+ WITHIN 9 s"
WRONG = "RETURN COUNT(*) PATTERN A+ WHERE A.delay > '30' WITHIN 9 s"


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("queries", [(WRONG,), (RIGHT, WRONG), (WRONG, RIGHT)])
def test_a_number_in_quotes_is_refused_in_every_format(
    tmp_path: Path, ending: str, queries: tuple[str, ...]
) -> None:
    path = tmp_path / f"e.{ending}"
    rows = [{"type": "A", "time": t, "delay": d} for t, d in ((1, 20), (2, 40), (3, 100))]
    if ending == "csv":
        write(path, DELAYS)
    elif ending == "jsonl":
        write(path, "".join(json.dumps(row) + "\n" for row in rows))
    else:
        parquet.write_table(pa.Table.from_pylist(rows), path)
    name = f"q{queries.index(WRONG) + 1}"

    told = refused(path, Workload.parse(";".join(queries)).plan)

    assert f"{name}: in delay > '30', delay is a number and '30' is text" in told
    assert told.endswith("write 30, without quotes")


def test_text_that_holds_digits_too_is_compared_with_text(tmp_path: Path) -> None:
    path = write(tmp_path / "e.csv", DELAYS)
    for condition, count in (("A.code = '7'", 1.0), ("A.none = '7'", None), ("A.code > 7", 1.0)):
        query = f"RETURN COUNT(*) PATTERN A+ WHERE {condition} WITHIN 9 s"

        values = Workload.parse(query).run(path).table["value"].to_pylist()

        assert values == ([] if count is None else [count])


def test_uses_that_contradict_each_other_blame_the_wrong_one(tmp_path: Path) -> None:
    queries = [f"RETURN COUNT(*) PATTERN A+ WHERE A.code {c} WITHIN 9 s" for c in ("> 3", "= '7'")]
    plan = Workload.parse(";".join(queries)).plan
    numbers = write(tmp_path / "n.csv", "type,time,code\nA,1,7\nA,2,8\nA,3,x\n")
    texts = write(tmp_path / "t.csv", "type,time,code\nA,1,7\nA,2,y\nA,3,x\n")

    assert "q2: in code = '7', code is a number" in refused(numbers, plan)
    assert "q1: in code > 3, code is text" in refused(texts, plan)


@pytest.mark.parametrize(
    ("name", "separator", "option"),
    [
        ("e.tsv", "\t", None),
        ("e.tsv.gz", "\t", None),
        ("e.csv", ";", ";"),
        ("e.csv", "|", "|"),
        ("e.csv", "\t", "tab"),
        ("e.csv", "\t", "\\t"),
        ("e.tsv", ";", ";"),
    ],
)
def test_columns_are_separated_as_the_ending_or_the_caller_says(
    tmp_path: Path, name: str, separator: str, option: str | None
) -> None:
    rows = [
        ["type", "time", "g", "price", "name"],
        ["A", "1", "1", "2.5", '"x,;|\ty"'],
        ["B", "2", "1", "3.5", ""],
    ]
    text = "".join(separator.join(row) + "\n" for row in rows)
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())

    found = EventTable.of(path, PLAN, separator=option)

    plain = write(tmp_path / "plain.csv", "".join(",".join(row) + "\n" for row in rows))
    assert found.table.to_pylist() == EventTable.of(plain, PLAN).table.to_pylist()
    assert found.table.column("name").to_pylist() == ["x,;|\ty", None]


@pytest.mark.parametrize(
    ("separator", "shown"), [(";", "';'"), ("|", "'|'"), ("\t", r"'\t'"), (",", "','")]
)
def test_another_separator_is_found_and_said(tmp_path: Path, separator: str, shown: str) -> None:
    name = "e.tsv" if separator == "," else "e.csv"
    path = write(tmp_path / name, separator.join(["type", "time", "g"]) + "\n")

    told = refused(path)

    assert "its header is one column" in told
    assert f"pass --separator {shown}" in told


def test_what_cannot_separate_is_refused(tmp_path: Path) -> None:
    for separator in ("", ";;", "x", '"', "\n", "é"):
        with pytest.raises(PlanError, match="separator"):
            EventTable.of(tmp_path / "e.csv", PLAN, separator=separator)


def test_nothing_in_quotes_is_text_without_letters(tmp_path: Path) -> None:
    plan = Workload.parse("RETURN COUNT(*) PATTERN A+ WHERE A.name = 'x' WITHIN 9 s").plan
    by_arrow = 'type,time,name\nA,1,""\nA,2,\nA,3,x\n'
    by_line = by_arrow.replace("\n", '\nA,0,"never closed\n', 1)

    for text in (by_arrow, by_line):
        table = EventTable.of(write(tmp_path / "e.csv", text), plan)

        assert table.table.column("name").to_pylist() == ["", None, "x"]
