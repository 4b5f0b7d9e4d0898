"""Generated streams have the rate, the bursts and the skew that were asked for, and sense.

Seeds are fixed, so a test passes always or never. Tolerances are several times the deviation that
chance explains: a mean of n lengths that are about geometric varies by one part in sqrt(n).
"""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow.compute as pc
import pytest

from hamlet.data import generate_table
from hamlet.data.draws import zipf
from hamlet.data.settings import DATA_SETS, LEVELS
from hamlet.data.taxi import BOROUGHS

EVENTS = 300_000
GROUP = {
    "ridesharing": ("district",),
    "taxi": ("driver",),
    "smarthome": ("house", "household", "plug"),
    "stock": (),
}


def loads(table):
    """Reports of load alone: between two of a plug there is one of energy."""
    return table.filter(pc.not_equal(table["type"].cast("string"), "WORK"))


# Rate


@pytest.mark.parametrize("name", DATA_SETS)
@pytest.mark.parametrize("rate", [None, 90.0, 1_000_000.0])
def test_the_rate_is_met_within_one_percent(name: str, rate: float | None):
    time = generate_table(name, events=EVENTS, seed=1, rate=rate)["time"].to_numpy()
    minutes = (time[-1] - time[0]) / np.timedelta64(1, "m")

    expected = (
        rate or {"ridesharing": 10_000, "taxi": 200, "smarthome": 20_000, "stock": 4_500}[name]
    )
    assert EVENTS / minutes == pytest.approx(expected, rel=0.01)


def test_a_rate_for_each_group_is_met_by_each_within_five_percent():
    table = generate_table("ridesharing", events=EVENTS, seed=1, rate="20/group", groups=50)
    time = table["time"].to_numpy()
    minutes = (time[-1] - time[0]) / np.timedelta64(1, "m")

    found = np.bincount(table["district"].to_numpy()) / minutes
    assert found == pytest.approx([20] * 50, rel=0.05)


# Bursts


@pytest.mark.slow
@pytest.mark.parametrize("burst", [1.0, 5.0, 60.0])
def test_bursts_of_travel_have_their_mean_within_three_percent(burst: float, runs_of):
    table = generate_table("ridesharing", events=EVENTS, seed=1, burst=burst, groups=20)
    runs = runs_of(table, "type", "district")

    assert runs.mean("Travel") == pytest.approx(burst, rel=0.03)
    assert runs.mean("Request") == runs.mean("Dropoff") == 1


@pytest.mark.slow
def test_each_type_has_a_mean_of_its_own(runs_of):
    bursts = {"Wait": 8.0, "Message": 3.0}
    table = generate_table("ridesharing", events=1_000_000, seed=1, bursts=bursts, groups=20)
    runs = runs_of(table, "type", "district")

    assert runs.mean("Wait") == pytest.approx(8, rel=0.05)
    assert runs.mean("Message") == pytest.approx(3, rel=0.05)
    assert runs.mean("Travel") == pytest.approx(10, rel=0.03)
    assert runs.mean("Stop") == 1


def test_bursts_of_a_driver_have_their_mean_within_three_percent(runs_of):
    runs = runs_of(generate_table("taxi", events=EVENTS, seed=1, burst=7.0), "type", "driver")

    for name in ("Cruise", "Approach", "Travel"):
        assert runs.mean(name) == pytest.approx(7, rel=0.03)
    assert runs.mean("Pickup") == 1


def test_a_level_lasts_its_mean_within_three_percent(runs_of):
    table = generate_table("smarthome", events=EVENTS, seed=1, burst=6.0, groups=100)
    runs = runs_of(loads(table), "type", "house", "household", "plug")

    for name in ("OFF", "LOW", "MEDIUM", "HIGH"):
        assert runs.mean(name) == pytest.approx(6, rel=0.05 if name == "HIGH" else 0.03)


def test_a_run_of_a_company_is_as_long_as_bursts_that_may_follow_each_other(runs_of):
    table = generate_table("stock", events=EVENTS, seed=1, burst=5.0, groups=10, skew=1.0)
    runs = runs_of(table, "type")

    # After a burst of a company the next is one of it with the chance of its share.
    for number, share in enumerate(zipf(10, 1.0)[:5], 1):
        assert runs.mean(f"S{number:03d}") == pytest.approx(5 / (1 - share), rel=0.05)


@pytest.mark.slow
def test_default_bursts_are_those_of_the_paper(runs_of):
    lengths = runs_of(generate_table("stock", events=1_000_000, seed=1), "type").lengths

    assert lengths.mean() == pytest.approx(120, rel=0.05)


# Skew


@pytest.mark.slow
@pytest.mark.parametrize("skew", [0.0, 0.5, 1.5])
@pytest.mark.parametrize("name", ["ridesharing", "taxi", "smarthome"])
def test_groups_have_their_shares_within_five_percent(name: str, skew: float):
    table = generate_table(name, events=EVENTS, seed=1, skew=skew, groups=40)
    columns = [table[column].to_numpy() for column in GROUP[name]]
    # A plug is numbered within its household, and that within its house.
    keys = np.stack(columns, axis=1)
    _, counts = np.unique(keys, axis=0, return_counts=True)

    assert counts[:5] / EVENTS == pytest.approx(zipf(40, skew)[:5], rel=0.05)


@pytest.mark.parametrize("bursts", [{}, {"S002": 30.0}])
def test_companies_have_their_shares_whatever_their_bursts(bursts: dict[str, float]):
    table = generate_table(
        "stock", events=1_000_000, seed=1, skew=1.0, groups=20, burst=4.0, bursts=bursts
    )
    counts = np.bincount(table["type"].combine_chunks().indices.to_numpy())

    assert counts[:5] / 1_000_000 == pytest.approx(zipf(20, 1.0)[:5], rel=0.05)


# Sense


def test_a_ride_has_one_driver_and_one_rider_of_its_district():
    table = generate_table("ridesharing", events=50_000, seed=1, groups=30)
    rows = zip(
        *(table[c].to_pylist() for c in ("district", "type", "driver", "rider")), strict=True
    )
    now: dict[int, tuple[int, int]] = {}

    for district, event_type, driver, rider in rows:
        assert driver // 20 == rider // 50 == district
        if event_type == "Request":
            now[district] = driver, rider
        assert now[district] == (driver, rider)


def test_shared_rides_are_of_type_pool():
    table = generate_table("ridesharing", events=50_000, seed=1)
    kinds = dict.fromkeys(("Pool", "Surge"), ())
    for name in kinds:
        some = table.filter(pc.equal(table["type"].cast("string"), name))
        kinds[name] = set(some["request_type"].to_pylist())

    assert kinds == {"Pool": {"Pool"}, "Surge": {"Solo", "Premium"}}


def test_speeds_of_a_burst_are_alike():
    table = generate_table("ridesharing", events=EVENTS, seed=1, groups=1, burst=50.0)
    is_travel = np.array(table["type"].to_pylist()) == "Travel"
    speed = table["speed"].to_numpy()
    inside = is_travel[1:] & is_travel[:-1]

    assert speed.min() >= 0
    assert np.abs(np.diff(speed)[inside]).max() < 10.05
    assert speed.max() > 50


def test_the_meter_of_a_trip_never_falls_and_its_places_stay():
    table = generate_table("taxi", events=50_000, seed=1, groups=50)
    columns = ("driver", "rider", "price", "pickup_zone", "dropoff_zone", "borough", "type")
    last: dict[int, tuple] = {}

    for driver, rider, price, *places, event_type in zip(
        *(table[c].to_pylist() for c in columns), strict=True
    ):
        if driver in last and last[driver][0] == rider and event_type not in ("Cruise", "Request"):
            assert price > last[driver][1]
            assert places == last[driver][2]
        last[driver] = rider, price, places


def test_zones_belong_to_boroughs():
    table = generate_table("taxi", events=50_000, seed=1)
    zone, borough = table["pickup_zone"].to_numpy(), np.array(table["borough"].to_pylist())
    ranges = {name: (zone[borough == name].min(), zone[borough == name].max()) for name in BOROUGHS}

    assert ranges["Manhattan"] == (1, 69)
    assert all(ranges[a][1] < ranges[b][0] for a, b in itertools.pairwise(BOROUGHS))
    assert zone.max() <= 263


def test_levels_are_those_of_their_loads():
    table = loads(generate_table("smarthome", events=EVENTS, seed=1))
    value, level = table["value"].to_numpy(), np.array(table["type"].to_pylist())

    named = np.array(["OFF", "LOW", "MEDIUM", "HIGH"])[np.digitize(value, LEVELS)]
    assert (named == level).all()


def test_energy_comes_before_load_and_never_falls():
    table = generate_table("smarthome", events=100_000, seed=1, groups=60)
    types = table["type"].to_pylist()
    rows = zip(
        *(table[c].to_pylist() for c in ("house", "household", "plug", "value")), strict=True
    )
    work: dict[tuple, float] = {}

    for at, (*plug, value) in enumerate(rows):
        assert (types[at] == "WORK") == (at % 2 == 0)
        if at % 2 == 0:
            assert value >= work.get(tuple(plug), 0)
            work[tuple(plug)] = value
    assert len(work) == 60


def test_plugs_report_house_by_house(runs_of):
    # In the real file 40 events in a row are of one house, and 7 of one household.
    table = generate_table("smarthome", events=EVENTS, seed=1)
    house, household = (table[name].to_numpy() for name in ("house", "household"))

    assert (np.diff(house) != 0).sum() == pytest.approx(EVENTS / 45, rel=0.1)
    assert (np.diff(1000 * house + household) != 0).sum() == pytest.approx(EVENTS / 7, rel=0.1)


def test_prices_walk_by_cents_and_sides_take_turns(runs_of):
    table = generate_table("stock", events=EVENTS, seed=1, groups=5, skew=0.0)
    symbol = table["type"].combine_chunks().indices.to_numpy()

    for company in range(5):
        cents = np.rint(100 * table["price"].to_numpy()[symbol == company])
        steps = np.diff(cents)
        assert np.abs(steps).max() == 1
        assert (steps != 0).mean() == pytest.approx(0.15, rel=0.05)
        assert cents.min() >= 250
    numbered = table.set_column(0, "company", [symbol])
    assert runs_of(numbered, "side", "company").lengths.mean() == pytest.approx(6.3, rel=0.03)
    assert table["symbol"].equals(table["type"])
