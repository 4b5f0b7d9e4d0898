"""Middle parts of sequences that SHARON counts once: the answers, and when it does.

Would catch numbers of a start that are multiplied with those of another window, entry or step, a
start that is forgotten too early or kept too long, ties and NOT that sharing looks past, sums and
extremes that one of two factors is left out of, numbers that outgrow their kind in a product, and
a model that shares where that costs more than it saves, or does not where it would save.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from conformance import differences, engine_rows, scaled_reference_rows
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from sampling import random_sample

from hamlet.paper.systems import sharon, sharon_plan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hamlet.paper.systems.sharon_plan import Middle

Events = list[dict[str, Any]]

# SHARON is no part of the engine, and has kernels of its own to compile.
pytestmark = pytest.mark.slow

AGGREGATES = (
    "COUNT(*)",
    "COUNT(*), COUNT(T), SUM(T.x)",
    "COUNT(*), SUM(A.x), MIN(A.x), MAX(T.x)",
    "AVG(T.y), MIN(T.y), SUM(X.x)",
)
WINDOWS = ("60 s", "9 s", "8 s SLIDE 3 s", "10 s SLIDE 5 s", "7 s SLIDE 2 s")
# Each with the first and the last event of the middle in it.
MIDDLES = ("A, B", "A, T+", "A, B, T+", "A, T+, B", "T+", "A, A2, T+", "A, (B OR T), A3")


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[Middle]:
    """Everything that is shared from now on."""
    found: list[Middle] = []

    def choose(*given: Any) -> list[Middle]:
        middles = sharon_plan.choose_middles(*given)
        found.extend(middles)
        return middles

    monkeypatch.setattr(sharon, "choose_middles", choose)
    return found


@pytest.fixture
def freely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sharing costs nothing, so that everything is shared that can be."""
    for name in ("ADDED", "COMBINED", "KEPT", "LOOKED"):
        monkeypatch.setattr(sharon_plan, name, 0.0)


def stream(types: Iterable[str]) -> Events:
    return [
        {"time": t, "type": k, "x": t % 5 - 1, "y": t % 3 / 2, "g": t % 2}
        for t, k in enumerate(types)
    ]


def shared_queries(before: list[str], middle: str, after: list[str], rest: str) -> str:
    """A query for each pair of what comes before a middle and what comes after it."""
    queries = []
    for number, (first, last) in enumerate(zip(before, after, strict=True)):
        parts = [each for each in (first, middle, last) if each]
        pattern = ", ".join(parts).replace("A2", "A A2").replace("A3", "A A3")
        queries.append(f"q{number}: {rest.replace('PATTERN', f'PATTERN SEQ({pattern})')}")
    return ";\n".join(queries)


@st.composite
def workloads(draw: st.DrawFn) -> str:
    """Queries that have a middle in common, and now and then one that does not share all of it."""
    size = draw(st.integers(2, 5))
    lists = {"min_size": size, "max_size": size}
    before = draw(
        st.lists(st.sampled_from(["X", "Y", "X", "Y", "X, Y", "Y, NOT C", "NOT C", ""]), **lists)
    )
    after = draw(
        st.lists(
            st.sampled_from(["", "D", "", "D", "T+, D", "NOT C, D", "D, NOT C", "NOT C"]), **lists
        )
    )
    middle = draw(st.sampled_from(MIDDLES))
    # Without a closure in it each query would be alone.
    if "T+" not in middle:
        after = [each if "T+" in each else ", ".join(filter(None, ["T+", each])) for each in after]
    else:
        after = [each.replace("T+", "B") for each in after]
    aggregates = draw(st.sampled_from(AGGREGATES))
    where = draw(st.sampled_from(["", "", "WHERE T.x > 0", "WHERE [g]"]))
    window = draw(st.sampled_from(WINDOWS))
    # An attribute of a type that a pattern does not have is no attribute of its query.
    for name in "AX":
        if not all(name in f"{each}, {middle}" for each in before):
            aggregates = aggregates.replace(f"({name}.", "(T.")
    items = ", ".join(dict.fromkeys(aggregates.split(", ")))
    return shared_queries(before, middle, after, f"RETURN {items}\nPATTERN {where} WITHIN {window}")


@st.composite
def streams(draw: st.DrawFn) -> Events:
    """Events in an order in which sequences are likely, some of them at one time."""
    likely = st.sampled_from(["X", "Y", "XA", "AB", "ABT", "T", "TD", "C", "BAT", "D"])
    letters = draw(st.lists(likely, min_size=6, max_size=6))
    events, time = [], 0
    for number, letter in enumerate("XYA" + "".join(letters)[:11]):
        time += draw(st.sampled_from([0, 1, 1, 1, 2]))
        x = draw(st.one_of(st.integers(-2, 3), st.none()))
        events.append({"time": time, "type": letter, "x": x, "y": number / 4, "g": number % 2})
    return events


@random_sample(50, suppress_health_check=list(HealthCheck))
@given(workload=workloads(), events=streams(), numbers=st.sampled_from(["exact", "float"]))
@pytest.mark.usefixtures("freely")
def test_random_shared_middles_agree_with_the_reference(
    workload: str, events: Events, numbers: str
) -> None:
    expected = scaled_reference_rows(workload, events)
    found = engine_rows(workload, events, numbers=numbers, system="sharon")

    wrong = differences(expected, found, numbers)
    assert not wrong, "\n".join([workload, str(events), *wrong])


# When it is worth it

HEADS = [f"X{n}" for n in range(80)]
FEW_STARTS = ["A", *"BT" * 20]


def many(before: Iterable[str], rest: str) -> str:
    """One query for each of some types that a middle may follow."""
    return ";\n".join(
        f"q{n}: RETURN COUNT(*), SUM(T.x) PATTERN SEQ({first}, {rest}) WITHIN 1 h"
        for n, first in enumerate(before)
    )


def test_a_middle_is_shared_where_it_begins_seldom(chosen: list[Middle]) -> None:
    workload = many(HEADS, "A, B, T+")
    events = stream([*HEADS, *FEW_STARTS])

    found = engine_rows(workload, events, system="sharon")

    assert [len(middle.entries) for middle in chosen] == [len(HEADS)]
    assert len(chosen[0].longest) > 10
    assert chosen[0].benefit > 0
    assert len(found) == 2 * len(HEADS)
    assert not differences(engine_rows(workload, events), found, "exact")


@pytest.mark.parametrize(
    ("heads", "rest", "events"),
    [
        (HEADS[:2], "A, B, T+", [*HEADS[:2], *FEW_STARTS]),
        (HEADS[:1], "A, B, T+", [*HEADS[:1], *FEW_STARTS]),
        (HEADS[:20], "T+", [*HEADS[:20], *"T" * 40]),
        (HEADS, "A, B, T+", [*HEADS, "A", "B", "T"]),
    ],
    ids=["few entries", "one entry", "many starts", "hardly any events"],
)
def test_nothing_is_shared_where_that_costs_more(
    heads: list[str], rest: str, events: list[str], chosen: list[Middle]
) -> None:
    workload, rows = many(heads, rest), stream(events)

    found = engine_rows(workload, rows, system="sharon")

    assert chosen == []
    assert len(found) == 2 * len(heads)
    assert not differences(engine_rows(workload, rows), found, "exact")


@pytest.mark.usefixtures("freely")
def test_middles_of_one_workload_replace_no_prefix_twice(chosen: list[Middle]) -> None:
    workload = many("XYZ", "A, B, D, T+, A A4, B B4")

    engine_rows(workload, stream("XYZABDTTABTTAB"), system="sharon")

    gone = [prefix for middle in chosen for path in middle.paths for prefix in path]
    assert chosen
    assert len(gone) == len(set(gone))
    assert not set(gone) & {entry for middle in chosen for entry in middle.entries}


@pytest.mark.usefixtures("freely")
@pytest.mark.parametrize("numbers", ["exact", "float"])
def test_products_outgrow_every_kind_of_number_and_stay_right(
    numbers: str, chosen: list[Middle]
) -> None:
    rest = "A, B, T+, D"
    workload = many(["X+", "Y+"], rest)
    events = stream("XY" * 40 + "A" + "X" * 5 + "A" + "B" * 3 + "T" * 600 + "DD")

    found = engine_rows(workload, events, system="sharon", numbers=numbers)

    expected = engine_rows(workload, events)
    assert chosen
    assert all(len(row["exact"]) > 180 for row in expected)
    assert not differences(expected, found, numbers)
