"""Tables, data frames, text and files of results.

Answers are written by hand, so that no engine is needed. Would catch columns of the wrong name,
order or type, rows in an order that depends on how they arrived, a file that is left half-written
or replaced without asking, and numbers that change on their way through a file.
"""

from __future__ import annotations

import io
import json
import math
import pickle
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from pyarrow import json as arrow_json

from hamlet import PlanError, Workload
from hamlet import results as results_module
from hamlet.engine.statistics import RunStatistics
from hamlet.errors import WriteError
from hamlet.io import writers
from hamlet.io.long_form import COLUMNS, long_table
from hamlet.io.screen import show_number
from hamlet.kernel.finish import Answer
from hamlet.results import Results

if TYPE_CHECKING:
    from pathlib import Path

WORKLOAD = Workload.parse("""
    q1: RETURN COUNT(*), SUM(T.x) AS total PATTERN T+ GROUPBY district WITHIN 10 s SLIDE 5 s;
    q2: RETURN AVG(T.y) PATTERN T+ WITHIN 1 min
""")
HUGE = "1" + "0" * 400


def answer(query: int, rows: list[tuple[Any, ...]], key: Any = None) -> Answer:
    """Rows are window start in seconds, group value (or None), and cells (value, log10, exact)."""
    asked = WORKLOAD.queries[query]
    text = pa.large_string()
    columns: dict[str, Any] = {
        "window_start": pa.array([round(row[0] * 1_000_000) for row in rows], pa.int64()),
        "group": pa.array(
            [json.dumps({} if row[1] is None else {"district": row[1]}) for row in rows], text
        ),
    }
    if asked.group_by:
        columns["key.0"] = pa.array([row[1] for row in rows], key or pa.int64())
    for i in range(len(asked.aggregates)):
        for j, (name, kind) in enumerate(
            [("value", pa.float64()), ("log10", pa.float64()), ("exact", text)]
        ):
            columns[f"{name}.{i}"] = pa.array([row[2 + i][j] for row in rows], kind)
    return Answer(query, pa.table(columns))


ONE = (1.0, 0.0, "1")
THREE = (3.0, math.log10(3), "3")
NULL = (None, None, None)
ANSWERS = [
    answer(1, [(60, None, (2.5, math.log10(2.5), None))]),
    answer(0, [(5, 10, THREE, (-4.0, None, "-4")), (0, 2, ONE, NULL)]),
    answer(0, [(5, 9, (math.inf, 400.0, HUGE), (-math.inf, None, "-" + HUGE))]),
]


def results(times: Any = "seconds") -> Results:
    return Results(WORKLOAD.queries, ANSWERS, times=times)


# Tables


def test_the_long_form_has_the_columns_of_the_specification_in_order() -> None:
    table = results().table

    assert tuple(table.column_names) == COLUMNS
    assert table.to_pylist() == [
        row("q1", 0, 10, '{"district": 2}', "COUNT(*)", ONE),
        row("q1", 0, 10, '{"district": 2}', "total", NULL),
        row("q1", 5, 15, '{"district": 9}', "COUNT(*)", (math.inf, 400.0, HUGE)),
        row("q1", 5, 15, '{"district": 9}', "total", (-math.inf, None, "-" + HUGE)),
        row("q1", 5, 15, '{"district": 10}', "COUNT(*)", THREE),
        row("q1", 5, 15, '{"district": 10}', "total", (-4.0, None, "-4")),
        row("q2", 60, 120, "{}", "AVG(T.y)", (2.5, math.log10(2.5), None)),
    ]


def row(
    query: str, start: float, end: float, group: str, aggregate: str, cell: tuple[Any, ...]
) -> dict[str, Any]:
    return dict(zip(COLUMNS, (query, start, end, group, aggregate, *cell), strict=True))


def test_the_order_of_rows_does_not_depend_on_how_they_came() -> None:
    again = Results(WORKLOAD.queries, reversed(ANSWERS), times="seconds")

    assert again.table.equals(results().table)


def test_times_are_timestamps_or_seconds_as_they_came() -> None:
    stamped, numbered = results("timestamps").table, results("seconds").table

    assert stamped.schema.field("window_start").type == pa.timestamp("us", tz="UTC")
    assert str(stamped["window_end"][-1]) == "1970-01-01 00:02:00+00:00"
    assert numbered.schema.field("window_start").type == pa.float64()


def test_no_answers_give_an_empty_table_of_the_same_types() -> None:
    empty = Results(WORKLOAD.queries, (), times="seconds")

    assert len(empty) == 0
    assert empty.table.schema == results().table.schema
    assert empty.wide("q1").num_rows == 0
    assert empty.wide("q1").column_names == results().wide("q1").column_names
    assert repr(empty) == "<Results: 0 rows of 2 queries>"


def test_the_rows_of_one_query_can_be_had_alone() -> None:
    table = long_table(WORKLOAD.queries[1], ANSWERS[0].rows, "seconds")

    assert table.equals(results().table.slice(6, 1))


@pytest.mark.parametrize(
    ("key", "low", "high"),
    [
        (pa.int64(), 2, 10),
        (pa.float64(), -1.5, 0.25),
        (pa.bool_(), False, True),
        (pa.string(), "10", "9"),
        (pa.timestamp("us"), 5, 1_000_000),
        (pa.date32(), 9, 10),
        (pa.decimal128(10, 2), 9, 10),
    ],
)
def test_groups_are_in_the_order_of_their_values(key: Any, low: Any, high: Any) -> None:
    rows = answer(0, [(0, high, THREE, NULL), (0, low, ONE, NULL)], key)

    found = Results(WORKLOAD.queries, [rows])

    assert found.wide("q1")["COUNT(*)"].to_pylist() == [1, 3]
    assert found.wide("q1").schema.field("district").type == key


def test_groups_of_unknown_type_do_no_harm() -> None:
    rows = answer(0, [], pa.null())

    assert len(Results(WORKLOAD.queries, [rows])) == 0
    assert len(Results(WORKLOAD.queries, [rows, *ANSWERS])) == 7


# Wide form


def test_the_wide_form_has_typed_columns() -> None:
    wide = results().wide("q1")

    assert wide.to_pydict() == {
        "window_start": [0.0, 5.0, 5.0],
        "window_end": [10.0, 15.0, 15.0],
        "district": [2, 9, 10],
        "COUNT(*)": ["1", HUGE, "3"],
        "total": [None, "-" + HUGE, "-4"],
    }
    assert wide.schema.field("district").type == pa.int64()


@pytest.mark.parametrize(
    ("digits", "kind"),
    [
        ("9223372036854775807", pa.int64()),
        ("-9223372036854775808", pa.int64()),
        ("9223372036854775808", pa.decimal128(38, 0)),
        ("9" * 38, pa.decimal128(38, 0)),
        ("-" + "9" * 38, pa.decimal128(38, 0)),
        ("1" + "0" * 38, pa.large_string()),
        ("1" + "0" * 5000, pa.large_string()),
    ],
)
def test_whole_numbers_of_the_wide_form_have_the_first_type_that_holds_them(
    digits: str, kind: pa.DataType
) -> None:
    value = float(digits)  # infinite beyond doubles
    rows = answer(0, [(0, 1, ONE, (value, None, digits)), (0, 2, THREE, NULL)], pa.int64())

    wide = Results(WORKLOAD.queries, [rows]).wide("q1")

    assert wide.schema.field("total").type == kind
    assert list(map(str, wide["total"].to_pylist())) == [digits, "None"]
    assert wide["COUNT(*)"].type == pa.int64()


def test_numbers_without_digits_are_doubles_in_the_wide_form() -> None:
    workload = Workload.parse("RETURN COUNT(*), AVG(T.x), SUM(T.x) PATTERN T+ WITHIN 10 s")
    events = [{"type": "T", "time": 1, "x": 0.5}, {"type": "T", "time": 2, "x": 1}]

    exact = workload.run(events).wide("q1")
    loose = workload.run(events, numbers="float").wide("q1")

    assert exact.to_pylist()[0] == {
        "window_start": 0.0,
        "window_end": 10.0,
        "COUNT(*)": 3,
        "AVG(T.x)": 0.75,
        "SUM(T.x)": 3.0,
    }
    assert exact.schema.types[2:] == [pa.int64(), pa.float64(), pa.float64()]
    assert loose.schema.types[2:] == [pa.float64()] * 3


def test_wide_files_and_lines_have_whole_numbers(tmp_path: Path) -> None:
    events = [{"type": "T", "time": t} for t in range(70)]
    found = Workload.parse("RETURN COUNT(*) AS n PATTERN T+ WITHIN 100 s").run(events)
    lines = io.BytesIO()

    folder = found.write_wide(tmp_path / "wide")
    found.write_lines(lines, wide=True)

    assert parquet.read_table(folder / "q1.parquet")["n"].to_pylist() == [2**70 - 1]
    assert json.loads(lines.getvalue())["n"] == 2**70 - 1


def test_notes_are_shown_with_the_results() -> None:
    found = Workload.parse("RETURN COUNT(*) PATTERN Ax+ WITHIN 10 s").run(
        [{"type": "<A>", "time": 1}]
    )

    assert repr(found).splitlines()[-1].startswith("note: no event has type Ax")
    assert "<p>Note: no event has type Ax" in found._repr_html_()
    assert "<A>" not in found._repr_html_()


def test_the_wide_form_gives_digits_and_logarithms_on_request() -> None:
    wide = results().wide("q1", also=("log10", "exact"))

    assert wide.column_names[3:6] == ["COUNT(*)", "COUNT(*)__exact", "COUNT(*)__log10"]
    assert wide["COUNT(*)__exact"].to_pylist() == ["1", HUGE, "3"]
    assert wide["total__log10"].to_pylist() == [None, None, None]


def test_names_in_the_wide_form_are_distinct() -> None:
    workload = Workload.parse(
        "RETURN COUNT(*) AS window_end PATTERN T+ GROUPBY window_start WITHIN 10 s"
    )

    wide = Results(workload.queries, ()).wide("q1")

    assert wide.column_names == ["window_start", "window_end", "window_start_2", "window_end_2"]


def test_an_unknown_query_is_named_with_the_known_ones() -> None:
    with pytest.raises(PlanError, match=r"no query 'q3'\. Queries are q1, q2"):
        results().wide("q3")


# Data frames


def test_pandas_and_polars_have_the_same_columns() -> None:
    pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")

    pandas_frame, polars_frame = results().to_pandas(), results("timestamps").to_polars()

    assert tuple(pandas_frame.columns) == tuple(polars_frame.columns) == COLUMNS
    assert pandas_frame["value"].tolist()[:1] == [1.0]
    assert polars_frame["window_start"].dtype == polars.Datetime("us", "UTC")
    assert polars_frame["exact"][2] == HUGE


def test_a_missing_package_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(results_module, "import_module", missing)

    with pytest.raises(ImportError, match="pip install polars"):
        results().to_polars()


# On screen


def test_the_representation_shows_numbers_of_any_size() -> None:
    assert repr(results()).splitlines() == [
        "<Results: 7 rows of 2 queries>",
        "query  window     group             aggregate       value",
        'q1     [0, 10)    {"district": 2}   COUNT(*)            1',
        'q1     [0, 10)    {"district": 2}   total            null',
        'q1     [5, 15)    {"district": 9}   COUNT(*)    1.00e+400',
        'q1     [5, 15)    {"district": 9}   total      -1.00e+400',
        'q1     [5, 15)    {"district": 10}  COUNT(*)            3',
        'q1     [5, 15)    {"district": 10}  total              -4',
        "q2     [60, 120)  {}                AVG(T.y)          2.5",
    ]


def test_windows_of_large_numbers_of_seconds_are_written_out() -> None:
    """Only of times with a day is the day written once."""
    second = 1_772_323_200_000
    shown = repr(Results(WORKLOAD.queries, [answer(0, [(second, 7, ONE, ONE)])], times="seconds"))

    assert f"[{second}, {second + 10})" in shown


def test_the_representation_shows_only_the_first_rows() -> None:
    rows = [(5 * i, 7, ONE, ONE) for i in range(600)]
    many = Results(WORKLOAD.queries, [answer(0, rows)])

    lines = repr(many).splitlines()

    assert lines[0] == "<Results: 1,200 rows of 2 queries>"
    assert "[1970-01-01 00:00:00, 00:00:10)" in lines[2]
    assert lines[-1] == "... and 1,190 more rows"
    assert len(many._repr_html_()) < 5_000


def test_html_is_escaped() -> None:
    rows = answer(0, [(0, "<b>", ONE, ONE)], pa.string())

    shown = Results(WORKLOAD.queries, [rows])._repr_html_()

    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ((1e20, 20.0, "1" + "0" * 20), "1e+20"),
        ((-math.inf, None, None), "-inf"),
        ((math.inf, 1000.0, None), "1.00e+1000"),
        ((0.1 + 0.2, math.log10(0.3), None), "0.3"),
    ],
)
def test_numbers_as_a_person_reads_them(cell: tuple[Any, ...], shown: str) -> None:
    assert show_number(*cell) == shown


# Files


@pytest.mark.parametrize("times", ["timestamps", "seconds"])
def test_parquet_reads_back_as_it_was(times: str, tmp_path: Path) -> None:
    path = results(times).write(tmp_path / "out.parquet")

    assert parquet.read_table(path).equals(results(times).table)
    assert [each.name for each in tmp_path.iterdir()] == ["out.parquet"]


@pytest.mark.parametrize("times", ["timestamps", "seconds"])
def test_csv_reads_back_as_it_was(times: str, tmp_path: Path) -> None:
    table = results(times).table
    path = results(times).write(tmp_path / "out.csv")

    options = csv.ConvertOptions(
        column_types=table.schema,
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=[""],
    )
    assert csv.read_csv(path, convert_options=options).equals(table)


@pytest.mark.parametrize("times", ["timestamps", "seconds"])
def test_jsonl_reads_back_as_it_was(times: str, tmp_path: Path) -> None:
    table = results(times).table
    path = results(times).write(tmp_path / "out.jsonl")

    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert all(tuple(row) == COLUMNS for row in rows)
    assert [row["value"] for row in rows] == table["value"].to_pylist()
    assert [row["group"] for row in rows] == table["group"].to_pylist()
    first = rows[-1]["window_start"]
    assert first == (60.0 if times == "seconds" else "1970-01-01T00:01:00.000000Z")
    options = arrow_json.ParseOptions(explicit_schema=table.schema)
    assert arrow_json.read_json(path, parse_options=options).equals(table)


def test_a_folder_has_parts_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "_ROWS_OF_PART", 3)

    folder = results().write(tmp_path / "out")

    names = sorted(part.name for part in folder.iterdir())
    assert names == ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    parts = [parquet.read_table(folder / name) for name in names]
    assert pa.concat_tables(parts).equals(results().table)
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_an_empty_folder_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()

    results().write(tmp_path / "out")

    assert [part.name for part in (tmp_path / "out").iterdir()] == ["part-00000.parquet"]


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.parquet", "out"])
def test_what_is_there_is_replaced_only_on_request(name: str, tmp_path: Path) -> None:
    few = Results(WORKLOAD.queries, ANSWERS[:1])
    path = few.write(tmp_path / name)
    before = contents(path)

    with pytest.raises(WriteError, match="it is there already"):
        results().write(path)

    assert contents(path) == before
    results().write(path, overwrite=True)
    assert contents(path) != before
    assert [each.name for each in tmp_path.iterdir()] == [name]


def contents(path: Path) -> list[bytes]:
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return [file.read_bytes() for file in files]


def test_a_folder_with_other_files_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")

    with pytest.raises(WriteError, match=r"more than results \(notes\.txt\)"):
        results().write(tmp_path, overwrite=True)

    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["out.parquet", "out"])
def test_a_failure_leaves_what_was_there(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = results().write(tmp_path / name)
    before = contents(path)

    def fail(table: Any, target: Path, **_: Any) -> None:
        target.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parquet, "write_table", fail)
    with pytest.raises(WriteError, match="no space left on device"):
        results().write(path, overwrite=True)

    assert contents(path) == before
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_an_unknown_ending_and_a_missing_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match=r"none of \.parquet, \.csv, \.tsv, \.jsonl"):
        results().write(tmp_path / "out.xlsx")
    with pytest.raises(WriteError, match="there is no folder"):
        results().write(tmp_path / "nowhere" / "out.csv")


def test_write_errors_pickle() -> None:
    error = WriteError("out.csv", "it is there already")

    assert str(pickle.loads(pickle.dumps(error))) == "cannot write out.csv: it is there already"


# Statistics


def test_statistics_are_passed_through() -> None:
    statistics = RunStatistics(events_in=5, malformed={"no time": 2, "no type": 1})

    found = Results(WORKLOAD.queries, (), statistics=statistics)

    assert found.statistics is statistics
    assert found.statistics.events_malformed == 3
    assert results().statistics == RunStatistics(windows=3, groups=4)
