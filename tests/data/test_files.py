"""Events in files: every format gives back what was written, whole or not at all.

Would catch a value that a format changes, a file that shows how its stream was cut, one that is
left half-written, and something of the user that is overwritten.
"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from hamlet import Workload
from hamlet.data import files, generate, generate_table, schema_of
from hamlet.data.files import json_lines, write_events
from hamlet.data.settings import DATA_SETS
from hamlet.errors import WriteError

if TYPE_CHECKING:
    from pathlib import Path

ENDINGS = (".parquet", ".csv", ".jsonl", ".csv.gz", ".jsonl.gz")


def write(path: Path, name: str = "ridesharing", events: int = 1000, **options) -> int:
    return write_events(generate(name, events=events, seed=1), path, schema_of(name), **options)


def rows_of(path: Path) -> list[dict]:
    """The rows of a file, read without our own code; times in ISO 8601."""
    if path.suffix == ".parquet":
        rows = parquet.read_table(path).to_pylist()
        return [{**row, "time": f"{row['time']:%Y-%m-%dT%H:%M:%S.%fZ}"} for row in rows]
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if ".csv" in path.suffixes:
        times = csv.ConvertOptions(column_types={"time": pa.string()})
        return csv.read_csv(pa.BufferReader(data), convert_options=times).to_pylist()
    return [json.loads(line) for line in data.splitlines()]


# What is in them


@pytest.mark.parametrize("name", DATA_SETS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_every_format_gives_back_what_was_written(name: str, ending: str, tmp_path: Path):
    path = tmp_path / f"events{ending}"

    assert write(path, name) == 1000

    expected = [
        {**row, "time": f"{row['time']:%Y-%m-%dT%H:%M:%S.%fZ}"}
        for row in generate_table(name, events=1000, seed=1).to_pylist()
    ]
    assert rows_of(path) == expected


def test_parquet_keeps_the_types_of_columns(tmp_path: Path):
    path = tmp_path / "events.parquet"
    write(path)

    assert parquet.read_table(path).equals(generate_table("ridesharing", events=1000, seed=1))


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_engine_reads_every_format_alike(ending: str, tmp_path: Path):
    path = tmp_path / f"events{ending}"
    write(path, "taxi", 3000)
    workload = Workload.parse(
        "RETURN driver, COUNT(*), MAX(Travel.price) PATTERN SEQ(Pickup, Travel+) GROUPBY driver"
        " WITHIN 10 min"
    )

    from_file = workload.run(str(path)).table
    from_memory = workload.run(generate_table("taxi", events=3000, seed=1)).table

    assert from_memory.num_rows > 50
    assert from_file.equals(from_memory)


def test_awkward_text_and_nulls_are_written_as_csv_and_json_want_them(tmp_path: Path):
    words = ['a,b "c"', "line\nbreak", None, "plain", "é\t\\"]
    table = pa.table(
        {
            "type": pa.array(words).dictionary_encode(),
            "plain": pa.array(words),
            "number": [1.0, 2.5, None, -3.0, 1e300],
            "flag": [True, False, None, True, True],
        }
    )
    expected = table.cast(pa.schema([*table.schema]).set(0, pa.field("type", pa.string())))

    for ending in (".csv", ".jsonl"):
        path = tmp_path / f"events{ending}"
        write_events(table.to_batches(), path, table.schema)
    lines = (tmp_path / "events.jsonl").read_text(encoding="utf-8").splitlines()
    parse = csv.ParseOptions(newlines_in_values=True)
    convert = csv.ConvertOptions(strings_can_be_null=True)
    read = csv.read_csv(tmp_path / "events.csv", parse_options=parse, convert_options=convert)

    assert [json.loads(line) for line in lines] == expected.to_pylist()
    assert read.to_pylist() == expected.to_pylist()


def test_json_lines_of_a_slice_are_those_of_its_rows():
    table = generate_table("stock", events=100, seed=1)
    (batch,) = table.to_batches()

    text = b"".join(bytes(each) for each in json_lines(batch.slice(40, 7))).decode()

    assert [json.loads(line)["seq"] for line in text.splitlines()] == list(range(40, 47))


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_does_not_show_how_its_stream_was_cut(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(files, "ROWS_OF_GROUP", 700)
    paths = [tmp_path / f"{chunk}{ending}" for chunk in (100, 999, 5000)]

    for path in paths:
        batches = generate("taxi", events=3000, seed=1, chunk=int(path.name.split(".")[0]))
        write_events(batches, path, schema_of("taxi"))

    assert len({path.read_bytes() for path in paths}) == 1
    if ending == ".parquet":
        metadata = parquet.read_metadata(paths[0])
        groups = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        assert groups == [700] * 4 + [200]


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
def test_a_folder_has_parts(format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "ROWS_OF_PART", 1000)
    folder = tmp_path / "events"

    write(folder, events=2500, format=format)

    parts = sorted(folder.iterdir())
    assert [part.name for part in parts] == [f"part-0000{i}.{format}" for i in range(3)]
    rows = [row for part in parts for row in rows_of(part)]
    assert [len(rows_of(part)) for part in parts] == [1000, 1000, 500]
    assert [row["rider"] for row in rows] == generate_table("ridesharing", events=2500, seed=1)[
        "rider"
    ].to_pylist()


def test_no_events_are_a_file_with_columns_and_without_rows(tmp_path: Path):
    for ending in (".parquet", ".csv", ".jsonl"):
        assert write(tmp_path / f"none{ending}", events=0) == 0
    write(tmp_path / "folder", events=0)

    assert parquet.read_table(tmp_path / "none.parquet").schema.equals(schema_of("ridesharing"))
    assert (tmp_path / "none.csv").read_text().startswith("time,type,district,")
    assert (tmp_path / "none.jsonl").read_bytes() == b""
    assert parquet.read_table(tmp_path / "folder").num_rows == 0


def test_progress_is_told_in_rows(tmp_path: Path):
    told: list[int] = []

    batches = generate("taxi", events=250, seed=1, chunk=100)
    write_events(batches, tmp_path / "e.csv", schema_of("taxi"), wrote=told.append)

    assert told == [100, 200, 250]


# Whole or not at all


def failing(error: BaseException):
    """Batches that come to a bad end."""
    yield from generate("ridesharing", events=1000, seed=1, chunk=100)
    raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("bad"), OSError(28, "full")])
@pytest.mark.parametrize("place", ["e.parquet", "e.csv", "e.jsonl.gz", "folder"])
def test_what_fails_leaves_nothing(place: str, error: BaseException, tmp_path: Path):
    expected = WriteError if isinstance(error, OSError) else type(error)

    with pytest.raises(expected):
        write_events(failing(error), tmp_path / place, schema_of("ridesharing"))

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["e.parquet", "e.csv.gz", "folder"])
def test_what_fails_leaves_what_was_there(place: str, tmp_path: Path):
    path = tmp_path / place
    write(path, events=10)
    before = {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()}

    with pytest.raises(KeyboardInterrupt):
        write_events(failing(KeyboardInterrupt()), path, schema_of("ridesharing"), overwrite=True)

    assert {e: e.read_bytes() for e in tmp_path.rglob("*") if e.is_file()} == before


def test_a_group_that_cannot_be_encoded_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(files, "ROWS_OF_GROUP", 100)

    def refuse(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parquet.ParquetWriter, "write_table", refuse)

    with pytest.raises(WriteError, match="no space left on device"):
        write(tmp_path / "e.parquet")
    assert list(tmp_path.iterdir()) == []


# What is refused


@pytest.mark.parametrize("place", ["e.parquet", "e.csv", "folder"])
def test_what_is_there_is_overwritten_only_if_told(place: str, tmp_path: Path):
    path = tmp_path / place
    write(path, events=10)

    with pytest.raises(WriteError, match="it is there already; pass overwrite=True"):
        write(path, events=20)
    write(path, events=20, overwrite=True)

    some = path if path.is_file() else path / "part-00000.parquet"
    assert len(rows_of(some)) == 20


def test_a_folder_with_other_things_is_never_replaced(tmp_path: Path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine", encoding="utf-8")

    for overwrite in (False, True):
        with pytest.raises(WriteError, match=r"holds more than parts \(notes.txt\)"):
            write(folder, overwrite=overwrite)
    assert (folder / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_an_empty_folder_may_be_there(tmp_path: Path):
    (tmp_path / "folder").mkdir()

    write(tmp_path / "folder")

    assert len(rows_of(tmp_path / "folder" / "part-00000.parquet")) == 1000


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        (
            "e.txt",
            "the ending is none of .parquet, .csv, .tsv, .jsonl, .csv.gz, .tsv.gz, .jsonl.gz",
        ),
        ("e.gz", "the ending is none of"),
        ("none/e.csv", "there is no folder"),
        ("none/folder", "there is no folder"),
    ],
)
def test_a_place_that_cannot_be_is_refused_before_the_first_event(
    place: str, reason: str, tmp_path: Path
):
    def untouched():
        raise AssertionError
        yield

    with pytest.raises(WriteError, match=reason):
        write_events(untouched(), tmp_path / place, schema_of("taxi"))
