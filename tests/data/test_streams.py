"""Generated streams: the same for the same seed, cut in any way, with a fixed schema.

Would catch a stream that depends on the chunk size, the number of events, the machine or the
version of a library; a type that never comes; time that goes back.
"""

from __future__ import annotations

import hashlib
import os
import sys
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from subprocess import run

import numpy as np
import pyarrow as pa
import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__

from hamlet import Workload
from hamlet.data import RideSharing, Stock, generate, generate_table, schema_of
from hamlet.data.settings import DATA_SETS, settings_of
from hamlet.errors import PlanError, SchemaError

ALL = tuple(DATA_SETS)

COLUMNS = {
    "ridesharing": "time type district driver rider request_type speed duration price",
    "taxi": "time type driver rider borough pickup_zone dropoff_zone passengers price",
    "smarthome": "time type house household plug value",
    "stock": "time type seq symbol price volume side",
}
# What 200,000 events with seed 7 are, on whatever machine: see test_the_bytes_are_these.
DIGESTS = {
    "ridesharing": "87e43e8d2cf35d94",
    "taxi": "9e3bb85fbcb380a8",
    "smarthome": "3935639f6c8e4f01",
    "stock": "597bc8f6d13dc311",
}


def digest(table: pa.Table) -> str:
    """A fingerprint of all values of a table, however it is cut."""
    found = hashlib.sha256()
    for name in table.column_names:
        column = table[name].combine_chunks()
        if pa.types.is_dictionary(column.type):
            found.update("\0".join(column.dictionary.to_pylist()).encode())
            column = column.indices
        found.update(np.ascontiguousarray(column.to_numpy(zero_copy_only=False)).tobytes())
    return found.hexdigest()[:16]


@pytest.mark.parametrize("name", ALL)
def test_the_bytes_are_these(name: str):
    assert digest(generate_table(name, events=200_000, seed=7, skew=0.7)) == DIGESTS[name]


def test_an_older_processor_gives_the_same_bytes():
    """Without the instructions of newer processors NumPy's own log, for one, rounds otherwise."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_streams import ALL, digest, generate_table\n"
        "print(*(digest(generate_table(name, events=99_000, seed=7, skew=0.7)) for name in ALL))"
    )

    left = run(
        [sys.executable, "-c", script, str(Path(__file__).parent)],
        env={**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(__cpu_dispatch__)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    here = [digest(generate_table(name, events=99_000, seed=7, skew=0.7)) for name in ALL]
    assert left.stdout.split() == here, left.stderr


@pytest.mark.parametrize("name", ALL)
def test_the_chunk_size_changes_nothing(name: str):
    whole = generate_table(name, events=70_000, seed=3)

    for chunk in (997, 65_536, 1_000_000):
        batches = list(generate(name, events=70_000, seed=3, chunk=chunk))
        assert pa.Table.from_batches(batches).equals(whole)
        assert [batch.num_rows for batch in batches[:-1]] == [chunk] * (len(batches) - 1)


@pytest.mark.parametrize("name", ALL)
def test_a_short_stream_is_the_beginning_of_a_long_one(name: str):
    long = generate_table(name, events=150_000, seed=3)

    assert generate_table(name, events=1000, seed=3).equals(long.slice(0, 1000))


@pytest.mark.parametrize("name", ALL)
def test_seeds_differ(name: str):
    one, other = (generate_table(name, events=1000, seed=seed) for seed in (1, 2))

    for column in ("time", "type"):
        assert not one[column].equals(other[column])


@pytest.mark.parametrize("name", ALL)
def test_the_schema_is_fixed(name: str):
    settings = {"groups": 50, "houses": 5} if name == "smarthome" else {"groups": 50}

    for batch in (
        *generate(name, events=10, seed=1),
        *generate(name, events=10, seed=1, skew=2.0, burst=3, **settings),
    ):
        assert batch.schema.equals(schema_of(name))
        assert batch.schema.names == COLUMNS[name].split()
        assert batch.schema.field("time").type == pa.timestamp("us", "UTC")
        assert all(column.null_count == 0 for column in batch.columns)


@pytest.mark.parametrize("name", ALL)
def test_every_type_occurs(name: str):
    found = set(generate_table(name, events=500_000, seed=1)["type"].unique().to_pylist())

    assert found == set(settings_of(name).types)


def test_ridesharing_has_twenty_types():
    assert len(set(settings_of("ridesharing").types)) == 20


@pytest.mark.parametrize("name", ["ridesharing", "taxi", "smarthome"])
def test_times_are_distinct_and_in_order(name: str):
    time = generate_table(name, events=200_000, seed=1)["time"].to_numpy().astype(np.int64)

    assert (np.diff(time) > 0).all()


def test_times_of_trades_may_be_equal_and_seq_orders_them():
    table = generate_table("stock", events=200_000, seed=1)
    gaps = np.diff(table["time"].to_numpy().astype("datetime64[us]").astype(np.int64))

    assert (gaps >= 0).all()
    assert (gaps == 0).any()
    assert (gaps % 1000 == 0).all()
    assert table["seq"].to_numpy().tolist() == list(range(200_000))


def test_a_stream_begins_when_it_is_told_to():
    start = datetime(2030, 5, 6, 7, 8, 9, tzinfo=UTC)

    for given in (start, start.replace(tzinfo=None)):
        first = next(generate("taxi", events=1, rate=60_000_000, start=given))["time"][0]
        assert first.as_py() == start


def test_a_stream_without_an_end_goes_on():
    batches = islice(generate("stock", seed=1, chunk=100_000), 3)

    assert [batch.num_rows for batch in batches] == [100_000] * 3


def test_the_engine_takes_a_stream_as_it_is():
    workload = Workload.parse("RETURN COUNT(*) PATTERN SEQ(Cruise, Pickup+) WITHIN 10 min")

    lazy = workload.run(generate("taxi", events=2000, seed=1, chunk=300))

    assert len(lazy) > 0
    assert lazy.table.equals(workload.run(generate_table("taxi", events=2000, seed=1)).table)


def test_no_events_are_no_batches():
    assert list(generate("taxi", events=0)) == []
    assert generate_table("taxi", events=0).schema.equals(schema_of("taxi"))


def test_settings_may_be_made_before():
    settings = RideSharing(groups=5, bursts={"Wait": 4.0})
    kept = generate_table(settings, events=100, seed=2)

    assert kept.equals(
        generate_table("ridesharing", events=100, seed=2, groups=5, bursts={"Wait": 4.0})
    )
    assert schema_of(Stock()).equals(schema_of("stock"))


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"rate": 0}, "rate must be between 0.001 and 6e+07, not 0"),
        ({"rate": float("nan")}, "rate must be between"),
        ({"rate": "many"}, "rate must be a number of events in a minute, or NUMBER/group"),
        ({"rate": "5/driver"}, "rate must be a number of events in a minute, or NUMBER/group"),
        ({"burst": 0.5}, "burst must be between 1 and 1e+09, not 0.5"),
        ({"bursts": {"Travel": 0}}, "burst must be between 1 and 1e+09, not 0"),
        ({"groups": 0}, "groups must be between 1 and 1e+06, not 0"),
        ({"skew": -1}, "skew must be between 0 and 10, not -1"),
        ({"drivers": 0}, "drivers must be between 1 and 1,000, not 0"),
        ({"events": -1}, "events must be at least 0, not -1"),
        ({"seed": -1}, "seed must be at least 0, not -1"),
        ({"chunk": 0}, "chunk must be at least 1, not 0"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_out_of_range_is_refused_before_anything_is_made(settings, reason: str):
    with pytest.raises(SchemaError, match=r"^ridesharing: ") as refused:
        generate("ridesharing", **settings)

    assert reason in str(refused.value)


def test_what_is_not_there_is_refused_with_what_is():
    with pytest.raises(PlanError, match=r"no data set 'taxis'.*Did you mean 'taxi'\?"):
        generate("taxis")
    with pytest.raises(PlanError, match=r"no setting 'drivers'. taxi has rate, burst, groups"):
        generate("taxi", drivers=3)
    with pytest.raises(PlanError, match=r"no event type 'Travl'.*Did you mean 'Travel'\?"):
        generate("taxi", bursts={"Travl": 3})
    with pytest.raises(PlanError, match="take no rate"):
        generate(Stock(), rate=3)
    with pytest.raises(SchemaError, match="groups must be between 2 and"):
        generate("stock", groups=1)
    with pytest.raises(SchemaError, match="houses must be between 1 and 10, not 40"):
        generate("smarthome", groups=10)
    with pytest.raises(SchemaError, match="WORK has no bursts: it comes before every load"):
        generate("smarthome", bursts={"WORK": 2})


def test_a_rate_may_be_that_of_each_group():
    assert settings_of("taxi", rate="3/group").rate == 600
    assert settings_of("taxi", rate="0.5/group", groups=10).rate == 5
    assert settings_of("taxi", rate="40").rate == 40


def test_importing_it_does_not_load_arrow():
    code = "import sys, hamlet.data; print('pyarrow' in sys.modules)"

    left = run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)

    assert left.stdout == "False\n"
