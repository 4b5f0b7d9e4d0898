"""Results next to the ends of the range of doubles: infinite only when the true value is beyond.

These would catch a rounding error that makes a result infinite, one that makes a very small result
zero, a greatest double that is taken for infinity, and an infinity that is taken for a number.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sampling import random_sample

import hamlet
from hamlet.engine import Options
from hamlet.engine.session import Session
from hamlet.results import Results

GREATEST, LEAST = sys.float_info.max, 5e-324


def nearest(true: Fraction) -> float:
    """The double nearest to a number; infinite beyond their range."""
    try:
        return true.numerator / true.denominator
    except OverflowError:
        return math.inf if true > 0 else -math.inf


def values_of(
    numbers: list[float], kind: Any, pattern: str = "A+", *, as_stream: bool = False
) -> dict[str, float]:
    """SUM, AVG, MIN and MAX over the trends of some numbers."""
    text = f"RETURN SUM(A.x), AVG(A.x), MIN(A.x), MAX(A.x) PATTERN {pattern} WITHIN 1000 s"
    if not all(map(math.isfinite, numbers)):  # rows that cannot be summed
        text = text.replace("SUM(A.x), AVG(A.x), ", "")
    workload = hamlet.Workload.parse(text)
    count = len(numbers)
    columns = {"type": ["A"] * count, "time": range(count), "x": pa.array(numbers, pa.float64())}
    events = pa.table(columns)
    if as_stream:
        session = Session(workload.plan, Options(numbers=kind), events.schema)
        session.feed(events)
        queries = [planned.query for planned in workload.plan.queries]
        table = Results(queries, session.close_all().answers(), times="seconds").table
    else:
        table = workload.run(events, numbers=kind).table
    names = [name[:3] for name in table["aggregate"].to_pylist()]
    return dict(zip(names, table["value"].to_pylist(), strict=True))


@st.composite
def _near_an_end(draw: st.DrawFn) -> tuple[str, list[float]]:
    """A pattern, and numbers whose sum over its trends is next to an end of the range."""
    pattern, count = draw(st.sampled_from(("A", "A+"))), draw(st.sampled_from((1, 2, 3, 8, 30, 70)))
    times = 1 if pattern == "A" else 2 ** (count - 1)
    if draw(st.booleans()):
        below = Fraction(draw(st.sampled_from((0, 1, 3, 40, 10_000))), 2**53)
        total = Fraction(GREATEST) * (1 - below)
    else:
        total = Fraction(LEAST) * draw(st.integers(1, 3000)) * times
    parts = draw(st.lists(st.integers(1, 2**40), min_size=count, max_size=count))
    sign = draw(st.sampled_from((1, -1)))
    return pattern, [float(sign * total / times * part / sum(parts)) for part in parts]


@random_sample(150)
@given(_near_an_end())
def test_sums_and_averages_are_infinite_only_beyond_doubles(case: tuple[str, list[float]]) -> None:
    pattern, numbers = case
    times = 1 if pattern == "A" else 2 ** (len(numbers) - 1)
    total = sum(map(Fraction, numbers)) * times
    true = {"SUM": total, "AVG": total / (times * len(numbers))}

    exact, loose = values_of(numbers, "exact", pattern), values_of(numbers, "float", pattern)

    assert {name: exact[name] for name in true} == {name: nearest(n) for name, n in true.items()}
    for name, number in true.items():
        if math.isfinite(nearest(number)):
            assert abs(Fraction(loose[name]) - number) <= abs(number) / 10**9 + Fraction(LEAST)
        else:
            # Beyond by so little that either may be said.
            assert abs(loose[name]) in (math.inf, pytest.approx(GREATEST, rel=1e-9))
    for found in (exact, loose):
        assert (found["MIN"], found["MAX"]) == (min(numbers), max(numbers))


_ENDS = (GREATEST, math.nextafter(GREATEST, 0), 1e308, 1.0, LEAST, 0.0)


@random_sample(60)
@given(
    st.lists(st.sampled_from([*_ENDS, *(-x for x in _ENDS), math.inf, -math.inf]), min_size=1),
    st.booleans(),
)
def test_extremes_are_told_from_infinity(numbers: list[float], as_stream: bool) -> None:
    found = values_of(numbers, "exact", as_stream=as_stream)

    assert (found["MIN"], found["MAX"]) == (min(numbers), max(numbers))


@pytest.mark.parametrize("system", ["greta", "sharon", "mcep"])
def test_systems_tell_the_greatest_double_from_infinity(system: str) -> None:
    text = "RETURN MIN(A.x), MAX(A.x) PATTERN SEQ(A, B) WITHIN 1000 s"
    events = [{"type": "A", "time": 1, "x": GREATEST}, {"type": "B", "time": 2, "x": None}]

    found = hamlet.Workload.parse(text).run(events, system=system)

    assert found.table["value"].to_pylist() == [GREATEST, GREATEST]


def test_far_beyond_doubles_float_mode_says_infinite() -> None:
    found = values_of([GREATEST, 2.0**996], "float", "A")

    assert found["SUM"] == math.inf
    assert found["AVG"] == pytest.approx(GREATEST / 2, rel=1e-8)
