"""Readers of real data, on tiny files made up here with the same columns.

Would catch a column that is read as something else, times in the wrong unit, rows out of order, and
an error that does not say where was looked and what to do.
"""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pytest

from hamlet import Workload
from hamlet.data import read_real
from hamlet.data.real import real_files
from hamlet.errors import PlanError, ReadError

if TYPE_CHECKING:
    from pathlib import Path

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
COIN = "0123456789ABCDEF0123456789ABCDEF"


class Sample(NamedTuple):
    """A made-up file, and the rows that it should become."""

    text: str
    rows: list[dict]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


SAMPLES = {
    # The rows of equal time are in the wrong order: seq decides.
    "stock_trades": Sample(
        "seq,t_ms,time,symbol,price,volume,side\n"
        "9,25263126,07:01:03.126,QQQ,36.2340,40,S\n"
        "8,25263126,07:01:03.126,INTC,27.8500,100,B\n",
        [
            {
                **{"time": EPOCH + timedelta(milliseconds=25263126), "type": "INTC", "seq": 8},
                **{"symbol": "INTC", "price": 27.85, "volume": 100, "side": "B"},
            },
            {
                **{"time": EPOCH + timedelta(milliseconds=25263126), "type": "QQQ", "seq": 9},
                **{"symbol": "QQQ", "price": 36.234, "volume": 40, "side": "S"},
            },
        ],
    ),
    "cabs": Sample(
        "time,cab,latitude,longitude,occupancy,event\n"
        "1212735660,ab,37.75,-122.5,1,PICKUP\n"
        "1212735600,ab,37.74134,-122.40766,0,CRUISE\n",
        [
            {
                **{"time": at("2008-06-06T07:00:00"), "type": "CRUISE", "cab": "ab"},
                **{"latitude": 37.74134, "longitude": -122.40766, "occupied": False},
            },
            {
                **{"time": at("2008-06-06T07:01:00"), "type": "PICKUP", "cab": "ab"},
                **{"latitude": 37.75, "longitude": -122.5, "occupied": True},
            },
        ],
    ),
    "smart_plugs": Sample(
        "timestamp,value,property,plug_id,household_id,house_id\n"
        + "".join(
            f"1377986401,{value},{kind},11,3,7\n"
            for value, kind in [
                *(("68.451", 0), ("0.000", 1), ("1.000", 1), ("19.999", 1)),
                *(("20.000", 1), ("199.999", 1), ("200.000", 1)),
            ]
        ),
        [
            {
                **{"time": at("2013-08-31T22:00:01"), "type": event_type},
                **{"house": 7, "household": 3, "plug": 11, "value": value},
            }
            for event_type, value in [
                *(("WORK", 68.451), ("OFF", 0.0), ("LOW", 1.0), ("LOW", 19.999)),
                *(("MEDIUM", 20.0), ("MEDIUM", 199.999), ("HIGH", 200.0)),
            ]
        ],
    ),
    "taxi_rides": Sample(
        "ride_id,event,event_time,other_time,start_lon,start_lat,end_lon,end_lat,"
        "passenger_cnt,taxi_id,driver_id\n"
        "6,START,2013-01-01 00:00:00,1970-01-01 00:00:00,-73.8,40.7,-73.9,40.8,6,2013000006,2013\n"
        "6,END,2013-01-01 00:05:30,2013-01-01 00:00:00,-73.8,40.7,-73.9,40.8,6,2013000006,2013\n",
        [
            {
                **{"time": time, "type": event_type, "ride": 6, "taxi": 2013000006},
                **{"driver": 2013, "passengers": 6, "start_longitude": -73.8},
                **{"start_latitude": 40.7, "end_longitude": -73.9, "end_latitude": 40.8},
                "start_time": start,
            }
            for time, event_type, start in [
                (at("2013-01-01T00:00:00"), "START", None),
                (at("2013-01-01T00:05:30"), "END", at("2013-01-01T00:00:00")),
            ]
        ],
    ),
    "taxi_trips": Sample(
        "medallion,hack_license,pickup_datetime,dropoff_datetime,trip_time_in_secs,trip_distance,"
        "pickup_longitude,pickup_latitude,dropoff_longitude,dropoff_latitude,payment_type,"
        "fare_amount,surcharge,mta_tax,tip_amount,tolls_amount,total_amount\n"
        f"{COIN},{COIN},2013-01-01 00:00:00,2013-01-01 00:02:00,120,0.44,-73.9,40.7,-73.8,40.6,"
        "CSH,3.50,0.50,0.50,0.25,0.00,4.75\n",
        [
            {
                **{"time": at("2013-01-01T00:02:00"), "type": "CSH", "taxi": COIN, "driver": COIN},
                **{"pickup_time": at("2013-01-01T00:00:00"), "duration": 120, "distance": 0.44},
                **{"pickup_longitude": -73.9, "pickup_latitude": 40.7},
                **{"dropoff_longitude": -73.8, "dropoff_latitude": 40.6, "fare": 3.5},
                **{"surcharge": 0.5, "tax": 0.5, "tip": 0.25, "tolls": 0.0, "total": 4.75},
            }
        ],
    ),
    "loans": Sample(
        "case:REG_DATE,case:concept:name,case:AMOUNT_REQ,org:resource,lifecycle:transition,"
        "concept:name,time:timestamp\n"
        "2011-10-01T00:38:44.546+02:00,173688,20000,112,COMPLETE,A_SUBMITTED,"
        "2011-10-01T00:38:44.546+02:00\n"
        "2011-10-01T00:38:44.546+02:00,173688,20000,,SCHEDULE,W_Completeren aanvraag,"
        "2011-11-05T09:00:00+01:00\n",
        [
            {
                **{"time": at("2011-09-30T22:38:44.546"), "type": "A_SUBMITTED", "case": 173688},
                **{"transition": "COMPLETE", "resource": 112, "amount": 20000},
                "registered": at("2011-09-30T22:38:44.546"),
            },
            {
                **{"time": at("2011-11-05T08:00:00"), "type": "W_Completeren aanvraag"},
                **{"case": 173688, "transition": "SCHEDULE", "resource": None, "amount": 20000},
                "registered": at("2011-09-30T22:38:44.546"),
            },
        ],
    ),
    "cluster_tasks": Sample(
        "timestamp,job_id,task_id,machine_id,event_type,user_id,category,priority,cpu,ram,disk,"
        "constraints\n"
        + "".join(
            f"{i + 1},5285926325,{i},32064642,{i},280,2,9,0.063,0.006,0.000,{i % 2}\n"
            for i in range(9)
        ),
        [
            {
                **{"time": EPOCH + timedelta(seconds=i + 1), "type": event_type},
                **{"job": 5285926325, "task": i, "machine": 32064642, "user": 280},
                **{"category": 2, "priority": 9, "cpu": 0.063, "ram": 0.006, "disk": 0.0},
                "constrained": i % 2 == 1,
            }
            for i, event_type in enumerate(
                [
                    "SUBMIT",
                    "SCHEDULE",
                    "EVICT",
                    "FAIL",
                    "FINISH",
                    "KILL",
                    "LOST",
                    "UPDATE_PENDING",
                    "UPDATE_RUNNING",
                ]
            )
        ],
    ),
}


@pytest.fixture(autouse=True)
def _no_folder_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HAMLET_DATA", raising=False)


def put(folder: Path, name: str, text: str) -> None:
    (folder / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))


def test_every_file_has_a_sample():
    assert set(SAMPLES) == set(real_files())


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_becomes_events(name: str, tmp_path: Path):
    put(tmp_path, name, SAMPLES[name].text)

    table = read_real(name, tmp_path)

    assert table.to_pylist() == SAMPLES[name].rows
    assert table.schema.field("time").type == pa.timestamp("us", "UTC")
    assert table.schema.field("type").type == pa.dictionary(pa.int32(), pa.string())


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_without_rows_has_the_same_columns(name: str, tmp_path: Path):
    put(tmp_path, name, SAMPLES[name].text)
    full = read_real(name, tmp_path)
    put(tmp_path, name, SAMPLES[name].text.split("\n")[0] + "\n")

    assert read_real(name, tmp_path).schema.equals(full.schema)


def test_rows_of_equal_time_stay_as_they_are_in_the_file(tmp_path: Path):
    rows = "".join(f"{5 - i // 3},c{i},1.0,2.0,0,CRUISE\n" for i in range(9))
    put(tmp_path, "cabs", "time,cab,latitude,longitude,occupancy,event\n" + rows)

    cabs = read_real("cabs", tmp_path)["cab"].to_pylist()

    assert cabs == ["c6", "c7", "c8", "c3", "c4", "c5", "c0", "c1", "c2"]


def test_the_variable_names_the_folder_and_an_argument_goes_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HAMLET_DATA", str(tmp_path))
    (tmp_path / "cabs.csv").write_text(SAMPLES["cabs"].text, encoding="utf-8")

    assert read_real("cabs").num_rows == 2
    with pytest.raises(ReadError, match="no such folder"):
        read_real("cabs", tmp_path / "other")


def test_the_engine_takes_what_is_read(tmp_path: Path):
    put(tmp_path, "stock_trades", SAMPLES["stock_trades"].text)
    workload = Workload.parse("RETURN COUNT(*) PATTERN SEQ(INTC, QQQ+) WITHIN 1 min")

    results = workload.run(read_real("stock_trades", tmp_path), order="seq")

    assert results.table["exact"].to_pylist() == ["1"]


def test_order_columns_are_columns_of_the_table():
    for file in real_files().values():
        assert file.order is None or file.order in [name for name, _ in file.columns.values()]


# What cannot be read


def test_without_a_folder_the_error_says_what_to_set():
    with pytest.raises(ReadError) as refused:
        read_real("cabs")

    assert str(refused.value) == (
        "cannot read cabs.csv.gz: no folder is given; pass --data (data= in Python) or set"
        " HAMLET_DATA to the folder that has it"
    )


@pytest.mark.parametrize(("folder", "what"), [(".", "file"), ("none", "folder")])
def test_what_is_not_there_is_said_with_where_was_looked(folder: str, what: str, tmp_path: Path):
    with pytest.raises(ReadError) as refused:
        read_real("loans", tmp_path / folder)

    path = tmp_path / folder / "loans.csv.gz"
    assert str(refused.value).startswith(
        f"cannot read {path}: there is no such {what}; pass --data"
    )


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(PlanError, match=r"no real data 'cab'. .*Did you mean 'cabs'\?"):
        read_real("cab")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("time,cab,latitude,longitude,occupancy\n", "it has no column 'event'"),
        ("time,cab,latitude,longitude,occupancy,event\nx,a,1,2,0,CRUISE\n", "conversion error"),
        ("time,cab,latitude,longitude,occupancy,event\n1,a\n", "columns, got 2"),
    ],
)
def test_a_file_that_is_something_else_is_refused(text: str, reason: str, tmp_path: Path):
    put(tmp_path, "cabs", text)

    with pytest.raises(ReadError) as refused:
        read_real("cabs", tmp_path)

    assert reason in str(refused.value).lower()
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_compressed_as_it_says_is_refused(tmp_path: Path):
    (tmp_path / "cabs.csv.gz").write_bytes(b"not gzip at all")

    with pytest.raises(ReadError, match=r"cabs\.csv\.gz"):
        read_real("cabs", tmp_path)


def test_an_unknown_number_of_an_event_is_refused(tmp_path: Path):
    text = SAMPLES["cluster_tasks"].text.split("\n")
    put(tmp_path, "cluster_tasks", text[0] + "\n1,5,0,3,9,280,2,9,0.1,0.1,0.0,0\n")

    with pytest.raises(ReadError, match="event_type must be a number below 9"):
        read_real("cluster_tasks", tmp_path)
