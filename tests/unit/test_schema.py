"""Schemas: read from words or from the columns of events, and held against a workload.

Would catch a column of a wrong kind, a schema file whose fault passes or ends in a stack trace,
and a workload that asks for what the events do not have.
"""

from __future__ import annotations

import gzip
import json
from datetime import date, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hamlet.errors import ReadError, SchemaError
from hamlet.lang.bind import bind
from hamlet.lang.parser import read
from hamlet.schema import Schema

if TYPE_CHECKING:
    from pathlib import Path

# Reading


def test_a_schema_is_read_from_words(tmp_path: Path):
    path = tmp_path / "s.json"
    described = {"attributes": {"d": "number"}, "types": {"A": {"s": "text"}, "B": {}}}
    path.write_text(json.dumps(described))

    schema = Schema.load(path)

    assert schema == Schema({"d": "number"}, {"A": {"s": "text"}, "B": {}})
    assert schema.of("A") == {"d": "number", "s": "text"}
    assert schema.of("B") == schema.of("C") == {"d": "number"}


def test_a_schema_without_types_allows_any(tmp_path: Path):
    path = tmp_path / "s.json"
    path.write_text('{"attributes": {}}')

    assert Schema.load(str(path)).types is None


_CSV = "type,time,x,s,b,t\nA,1,2.5,foo,true,2020-01-01T00:00:00Z\nA,2,3,bar,false,\n"
_KINDS = {
    "type": "text",
    "time": "number",
    "x": "number",
    "s": "text",
    "b": "boolean",
    "t": "time",
}


def test_the_columns_of_a_csv_file_are_a_schema(tmp_path: Path):
    path = tmp_path / "e.csv"
    path.write_text(_CSV)

    assert Schema.load(path) == Schema(_KINDS, {"A": {}})


def test_a_compressed_file_is_read_too(tmp_path: Path):
    path = tmp_path / "e.csv.gz"
    path.write_bytes(gzip.compress(_CSV.encode()))

    assert Schema.load(path) == Schema(_KINDS, {"A": {}})


@pytest.mark.parametrize("suffix", ["jsonl", "ndjson"])
def test_the_fields_of_json_lines_are_a_schema(tmp_path: Path, suffix: str):
    path = tmp_path / f"e.{suffix}"
    path.write_text('{"type": "A", "x": 1, "o": {"k": 1}}\n{"type": "B", "x": 1.5, "b": true}\n')

    assert Schema.load(path) == Schema(
        {"type": "text", "x": "number", "b": "boolean"}, {"A": {}, "B": {}}
    )


def test_the_columns_of_a_parquet_file_are_a_schema(tmp_path: Path):
    table = pa.table(
        {
            "whole": pa.array([1], pa.uint8()),
            "exact": pa.array([1], pa.decimal128(5, 2)),
            "coded": pa.array(["x"]).dictionary_encode(),
            "long": pa.array(["x"], pa.large_string()),
            "view": pa.array(["x"], pa.string_view()),
            "day": [date(2020, 1, 1)],
            "at": [datetime(2020, 1, 1)],
            "flag": [True],
            "list": [[1]],
        }
    )
    pq.write_table(table, tmp_path / "e.parquet")

    assert Schema.load(tmp_path / "e.parquet") == Schema(
        {
            "whole": "number",
            "exact": "number",
            "coded": "text",
            "long": "text",
            "view": "text",
            "day": "time",
            "at": "time",
            "flag": "boolean",
        }
    )


# Faults


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "expected an object"),
        ('{"attribute": {}}', 'unknown entry "attribute"'),
        ('{"attributes": 3}', '"attributes" must be an object'),
        ('{"types": []}', '"types" must be an object'),
        ('{"types": {"A": null}}', '"A" must be an object'),
        ('{"attributes": {"x": "nmber"}}', "Did you mean 'number'?"),
        ('{"types": {"A": {"x": ["number"]}}}', 'attribute "x" has kind'),
    ],
)
def test_a_described_schema_with_a_fault_is_refused_with_its_reason(
    tmp_path: Path, text: str, reason: str
):
    path = tmp_path / "s.json"
    path.write_text(text)

    with pytest.raises(SchemaError) as caught:
        Schema.load(path)

    assert reason in str(caught.value)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("s.json", b"{"),
        ("s.json", b"\xff"),
        ("s.json", b"[" * 100_000),
        ("e.csv", b""),
        ("e.csv", b"type,\xff\xfe\nA,1\n"),
        ("e.jsonl", b""),
        ("e.jsonl", b'{"x": 1}\n{"x": "a"}\n'),
        ("e.jsonl", b'{"x":\n'),
        ("e.parquet", b"not parquet at all"),
        ("e.csv.gz", b"not compressed"),
        ("e.txt", b"type,time\n"),
        ("e", b"type,time\n"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path, name: str, content: bytes):
    path = tmp_path / name
    path.write_bytes(content)

    with pytest.raises(ReadError) as caught:
        Schema.load(path)

    assert str(caught.value).startswith(f"cannot read {path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", ["json", "csv", "jsonl", "parquet"])
def test_a_missing_file_is_named_once(tmp_path: Path, suffix: str):
    path = tmp_path / f"missing.{suffix}"

    with pytest.raises(ReadError) as caught:
        Schema.load(path)

    assert str(caught.value) == f"cannot read {path}: no such file or directory"


@pytest.mark.parametrize("suffix", ["json", "csv", "jsonl", "parquet"])
def test_a_folder_cannot_be_read(tmp_path: Path, suffix: str):
    path = tmp_path / f"folder.{suffix}"
    path.mkdir()

    with pytest.raises(ReadError) as caught:
        Schema.load(path)

    assert str(caught.value) == f"cannot read {path}: is a directory"


# Against a workload

_SCHEMA = Schema(
    {"d": "number"}, {"Travel": {"speed": "number", "s": "text"}, "Request": {"pool": "boolean"}}
)


def _problems(text: str, schema: Schema) -> list[tuple[str, str]]:
    trees, problems = read(text)
    problems += bind(trees, schema)[1]
    return [(p.code, text[p.at.start : p.at.end]) for p in problems]


def test_a_workload_that_fits_is_accepted():
    text = (
        "RETURN d, AVG(T.speed) PATTERN SEQ(Request, Travel T+) "
        "WHERE Request.pool AND T.speed < NEXT(T).speed AND T.s != 'x' AND [d] GROUPBY d WITHIN 1 s"
    )

    assert _problems(text, _SCHEMA) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("RETURN COUNT(*) PATTERN Travl WITHIN 1 s", [("unknown-type", "Travl")]),
        ("RETURN SUM(Travel.sped) PATTERN Travel WITHIN 1 s", [("unknown-attribute", "sped")]),
        ("RETURN SUM(Travel.s) PATTERN Travel WITHIN 1 s", [("wrong-kind", "s")]),
        (
            "RETURN COUNT(*) PATTERN SEQ(Travel, Request) GROUPBY speed WITHIN 1 s",
            [("unknown-attribute", "speed")],
        ),
        (
            "RETURN COUNT(*) PATTERN SEQ(Travel, NOT Request, Travel u) WHERE [s] WITHIN 1 s",
            [("unknown-attribute", "s")],
        ),
        (
            "RETURN COUNT(*) PATTERN Travel+ WHERE Travel.pool = NEXT(Travel).pool WITHIN 1 s",
            [("unknown-attribute", "pool")] * 2,
        ),
    ],
)
def test_what_the_events_do_not_have_is_refused(text, expected):
    assert _problems(text, _SCHEMA) == expected


def test_a_misspelt_attribute_or_type_is_answered_with_the_nearest_one():
    trees, _ = read("RETURN SUM(Travel.speeed) PATTERN SEQ(Travel, Reqest) WITHIN 1 s")

    remedies = [problem.remedy for problem in bind(trees, _SCHEMA)[1]]

    assert remedies == [
        "Types are Request, Travel. Did you mean 'Request'?",
        "Travel has d, s, speed. Did you mean 'speed'?",
    ]


def test_any_type_may_occur_where_the_schema_names_none():
    schema = Schema({"x": "number"})

    assert _problems("RETURN SUM(New.x) PATTERN New WITHIN 1 s", schema) == []
    assert _problems("RETURN SUM(New.y) PATTERN New WITHIN 1 s", schema) == [
        ("unknown-attribute", "y")
    ]


_TRAVLE = "RETURN SUM(Travle.x) PATTERN SEQ(Request, Travle+) WITHIN 1 s"


def _written(folder: Path, ending: str, types: list[str | None]) -> Path:
    path = folder / f"e.{ending}"
    table = pa.table({"kind": types, "time": range(len(types)), "x": range(len(types))})
    if ending == "parquet":
        pq.write_table(table, path)
    elif ending == "csv":
        path.write_text("kind,time,x\n" + "".join(f"{t or ''},1,1\n" for t in types))
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    return path


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_type_that_no_event_of_the_file_has_is_a_mistake(tmp_path: Path, ending: str):
    path = _written(tmp_path, ending, ["Request", "Travel", None])

    schema = Schema.load(path, type="kind")

    assert _problems(_TRAVLE, schema) == [("unknown-type", "Travle")]
    assert schema.types == {"Request": {}, "Travel": {}}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_of_very_many_events_types_are_not_known_and_it_says_so(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("hamlet.schema._MOST_ROWS", 2)
    path = _written(tmp_path, ending, ["Request", "Travel", "Request"])

    schema = Schema.load(path, type="kind")

    assert schema.types is None
    assert "were looked at: types are not checked" in schema.note
    assert _problems(_TRAVLE, schema) == []


def test_of_long_json_lines_only_the_beginning_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = _written(tmp_path, "jsonl", ["Request", "Travel", "Request"])
    monkeypatch.setattr("hamlet.schema._MOST_BYTES", path.stat().st_size - 5)

    schema = Schema.load(path, type="kind")

    assert schema.types is None
    assert schema.note.startswith("only the first 2 events")


@pytest.mark.parametrize("rows", ["", "A,1,\nB,2,\n"])
def test_a_column_without_any_value_is_still_there(tmp_path: Path, rows: str):
    path = tmp_path / "e.csv"
    path.write_text(f"type,time,x\n{rows}")

    schema = Schema.load(path)

    assert _problems("RETURN SUM(A.x) PATTERN A WITHIN 1 s", schema) == []


# Kinds of text


def test_kinds_of_text_are_those_of_a_run(tmp_path: Path):
    path = tmp_path / "e.csv"
    rows = ["A,1, 20,0x10,02139,10:00,7", "A,2,NA,1,12345,11:00,x"]
    path.write_text("type,time,delay,hex,zip,clock,code\n" + "\n".join(rows) + "\n")

    schema = Schema.load(path)

    # What is text by some of its values, and codes, may be used as numbers too.
    kinds = {"delay": "number", "hex": "any", "zip": "any", "clock": "text", "code": "any"}
    assert {name: schema.attributes[name] for name in kinds} == kinds
    text = "RETURN COUNT(*) PATTERN A WHERE A.delay > '30' AND A.code = '7' WITHIN 1 s"
    assert _problems(text, schema) == [("wrong-kind", "'30'")]


def test_a_number_in_quotes_is_answered_with_the_number():
    trees, _ = read("RETURN COUNT(*) PATTERN A WHERE A.x > ' 30' AND A.x IN (1, '2') WITHIN 1 s")

    problems = bind(trees, Schema({"x": "number"}))[1]

    assert [problem.remedy for problem in problems] == [
        "Write 30, without quotes.",
        "Write 2, without quotes.",
    ]


@pytest.mark.parametrize(("name", "separator"), [("e.tsv", None), ("e.csv", "\\t")])
def test_columns_may_be_separated_otherwise(tmp_path: Path, name: str, separator: str | None):
    path = tmp_path / name
    path.write_text("type\ttime\tx\nA\t1\t5\n")

    schema = Schema.load(path, separator=separator)

    assert schema.attributes == {"type": "text", "time": "number", "x": "number"}
    with pytest.raises(ReadError, match="its header is one column"):
        Schema.load(path, separator=";")


def test_of_a_long_file_of_text_only_the_beginning_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "e.csv"
    path.write_text("type,time,x\n" + "A,1,5\n" * 50 + "B,2,five\n" * 50)
    monkeypatch.setattr("hamlet.schema._MOST_BYTES", 100)

    schema = Schema.load(path)

    assert (schema.attributes["x"], schema.types) == ("number", None)
    assert "only the first 14 events" in schema.note
