"""Emissions that are worked out by hand or by brute force, against the rows that must come out.

Trends are written down one by one and added up with Python's fractions; for AND every pair is
visited. The conformance cases are run too, with the reference in the place of a kernel. Everything
goes the way of partial answers as well, and must come out the same. Would catch a group that is not
added up, a wrong AND, a lost digit, an overflow, a rounding that depends on the size of numbers, a
null or a logarithm in the wrong place, and a partial answer that tells less than the emission.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sampling import random_sample

from hamlet import Workload
from hamlet.kernel.base import Emission, components_of
from hamlet.kernel.finish import Answer, Groups, finish
from hamlet.kernel.finish.integers import Integers, digits_of
from hamlet.kernel.finish.partial import answers_of, partial_of, partial_schema
from hamlet.kernel.finish.wides import Wides
from hamlet.kernel.number_table import NumberTable
from hamlet.kernel.reference import Event, Partition
from hamlet.plan.program import Role, compile_set

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hamlet.plan.query import Query

CASES = Path(__file__).parents[3] / "cases" / "conformance.jsonl"
# Digits of fractional attributes in these tests: every value used is below 2**70 and has them all.
FRACTIONAL = (30, -10, -50, -90)

AGGREGATES = (
    "COUNT(*), COUNT(A), SUM(A.i), AVG(A.i), SUM(A.f), AVG(A.f), MIN(A.i), MAX(A.f), MAX(A.i)"
)


# Building emissions


@dataclass(frozen=True)
class Found:
    """Totals of one unit over one partition and window: numbers of trends, sums, extremes."""

    part: int
    unit: int
    window: int
    components: list[int | Fraction]
    extremes: list[float]


def emission_of(records: list[Found], width: int, extremes: int, form: str) -> Emission:
    """An emission as a kernel would give it: "int64", "object" or "float"."""
    padded = [[*r.components, *[0] * (width - len(r.components))] for r in records]
    shape = (len(records), width)
    exponents = None
    if form == "float":
        components = np.array([[float(v) for v in row] for row in padded]).reshape(shape)
        # Any exponent will do as long as the value is the same.
        exponents = np.array([[(i + j) % 2 for j in range(width)] for i in range(len(records))])
        exponents = exponents.reshape(shape).astype(np.float64)
        components = np.ldexp(components, (-512 * exponents).astype(np.int32))
    else:
        dtype: Any = np.int64 if form == "int64" else object
        components = np.empty(shape, dtype=dtype)
        for i, row in enumerate(padded):
            components[i] = [int(value) for value in row]
    return Emission(
        part=np.array([r.part for r in records], np.int32),
        unit=np.array([r.unit for r in records], np.int32),
        window=np.array([r.window for r in records], np.int64),
        numbers=NumberTable.of(components, exponents),
        extremes=np.array(
            [[*r.extremes, *[math.nan] * (extremes - len(r.extremes))] for r in records]
        ).reshape(len(records), extremes),
    )


Occurrence = dict[str, Any]  # the attributes of one event of a trend
Trend = tuple[Occurrence, ...]


def components_for(
    query: Query,
    trends: list[tuple[Trend, tuple[tuple[int, ...], ...]]],
    digits: dict[str, tuple[int, ...]],
) -> list[int | Fraction]:
    """The components of trends, each with the numbers of the aggregates that count its events."""
    sums: list[int | Fraction] = [len(trends)]
    for component in components_of(query.aggregates, digits):
        total: int | Fraction = 0
        for trend, marks in trends:
            for event, mark in zip(trend, marks, strict=True):
                if component.aggregate in mark:
                    total += weight(event, component.weight, digits)
        sums.append(total)
    return sums


def weight(event: Occurrence, what: Any, digits: dict[str, tuple[int, ...]]) -> int | Fraction:
    if what.kind == "one":
        return 1
    value = event.get(what.attribute)
    if value is None:
        return 0
    if what.kind == "present":
        return 1
    if digits[what.attribute] == (0,):
        return Fraction(value)
    return split(Fraction(value), digits[what.attribute])[what.digit]


def split(value: Fraction, exponents: tuple[int, ...]) -> list[int]:
    """Integer digits with value = sum of digit * 2**exponent; the lower ones are never negative."""
    found = []
    for exponent in exponents:
        digit = math.floor(value / Fraction(2) ** exponent)
        value -= digit * Fraction(2) ** exponent
        found.append(digit)
    assert value == 0
    return found


def extremes_for(query: Query, trends: list[tuple[Trend, Any]]) -> list[float]:
    found = []
    for number, aggregate in enumerate(query.aggregates):
        if aggregate.function in ("MIN", "MAX"):
            values = [
                event[aggregate.attribute]
                for trend, marks in trends
                for event, mark in zip(trend, marks, strict=True)
                if number in mark and event.get(aggregate.attribute) is not None
            ]
            pick = min if aggregate.function == "MIN" else max
            found.append(float(pick(values)) if values else math.nan)
    return found


# Reading answers


def finished(
    plan: Any, program: Any, emission: Emission, *, groups: list[Groups], **facts: Any
) -> tuple[Answer, ...]:
    """What `finish` gives, after a look at whether it comes by way of a partial answer too."""
    answers = finish(plan, program, emission, groups=groups, **facts).answers()
    types = {name: values.type for each in groups for name, values in each.values.items()}
    numbers = emission.numbers.mode.value
    schema = partial_schema(plan, pa.schema(types), numbers)
    partial = partial_of(plan, program, emission, groups=groups, schema=schema, **facts)
    by_partial = answers_of(plan, partial, program.queries)
    for one, other in zip(answers, by_partial, strict=True):
        order = [("window_start", "ascending"), ("group", "ascending")]
        assert one.query == other.query
        assert one.rows.sort_by(order).equals(other.rows.sort_by(order))
    return answers


def rows_of(workload: Workload, answers: tuple[Answer, ...]) -> dict[tuple[Any, ...], Any]:
    """(query, window start in us, group, aggregate) to (value, log10, exact)."""
    rows = {}
    for answer in answers:
        query = workload.queries[answer.query]
        for row in answer.rows.to_pylist():
            for i, aggregate in enumerate(query.aggregates):
                key = query.name, row["window_start"], row["group"], aggregate.name
                assert key not in rows
                rows[key] = row[f"value.{i}"], row[f"log10.{i}"], row[f"exact.{i}"]
    return rows


def check(found: tuple[Any, Any, Any], true: int | Fraction | None, is_whole: bool) -> None:
    """A cell in exact mode: correctly rounded, with its logarithm and digits."""
    value, log10, exact = found
    if true is None:
        assert found == (None, None, None)
        return
    assert value == rounded(true)
    assert exact == (digits_of(int(true)) if is_whole else None)
    check_log10(log10, true)


def check_close(found: tuple[Any, Any, Any], true: int | Fraction | None, scale: Any) -> None:
    """A cell in float mode: `scale` is the sum of absolute values (over the same divisor)."""
    value, log10, exact = found
    assert exact is None
    if true is None:
        assert (value, log10) == (None, None)
        return
    assert abs(Fraction(value) - true) <= Fraction(scale) / 10**12
    assert (log10 is not None) == (value > 0)


def check_log10(log10: float | None, true: int | Fraction) -> None:
    if true <= 0:
        assert log10 is None
        return
    top, bottom = Fraction(true).as_integer_ratio()
    expected = math.log10(top) - math.log10(bottom)
    assert log10 == pytest.approx(expected, rel=1e-12, abs=1e-12)


def rounded(true: int | Fraction) -> float:
    try:
        return float(true)
    except OverflowError:
        return math.inf if true > 0 else -math.inf


# One query, trends by the dozen


def one_query(pattern: str) -> tuple[Workload, Any]:
    workload = Workload.parse(
        f"RETURN {AGGREGATES} PATTERN {pattern} WHERE [p] GROUPBY g WITHIN 10 s SLIDE 5 s"
    )
    return workload, compile_set(workload.plan, workload.plan.sets[0])


PLAIN, CONJUNCTION = one_query("A+"), one_query("A+ AND SEQ(A, (A OR B)+)")

wholes = st.none() | st.integers(-(2**40), 2**40)
fractions_ = st.none() | st.integers(-(2**45), 2**45).map(lambda n: n / 2**20)
occurrences = st.fixed_dictionaries({"i": wholes, "f": fractions_})
trends = st.lists(occurrences, min_size=1, max_size=3).map(tuple)
# By (partition, window): trends, each with whether P matches it (first bit) and Q (second bit).
streams = st.dictionaries(
    st.tuples(st.integers(0, 3), st.integers(-1, 1)),
    st.lists(st.tuples(trends, st.integers(1, 3)), min_size=1, max_size=4),
    max_size=6,
)
GROUP_OF = [0, 1, 0, 1]
GROUPS = Groups(
    np.array(GROUP_OF, np.int32), 2, {"g": pa.array(["x", "y"])}, ['{"g": "x"}', '{"g": "y"}']
)


def run(
    workload: Workload, program: Any, stream: Any, form: str
) -> dict[tuple[Any, ...], tuple[Any, Any, Any]]:
    """The rows of a query whose trends are given."""
    query = workload.queries[0]
    digits = {"i": (0,), "f": (0,) if form == "float" else FRACTIONAL}
    bits = {Role.PATTERN: 1, Role.SECOND: 2, Role.BOTH: 3}
    everywhere = tuple(n for n, a in enumerate(query.aggregates) if a.places)
    records = []
    for unit, role in enumerate(program.template_role.tolist()):
        for (part, window), found in stream.items():
            mine = [
                (trend, (everywhere,) * len(trend))
                for trend, sides in found
                if not query.is_conjunction or sides & bits[role] == bits[role]
            ]
            if mine:
                components = components_for(query, mine, digits)
                records.append(Found(part, unit, window, components, extremes_for(query, mine)))
    width = 1 + max((len(r.components) - 1 for r in records), default=20)
    emission = emission_of(records, width, 3, form)
    answers = finished(
        workload.plan,
        program,
        emission,
        digits=digits,
        is_integer={"i": True, "f": False},
        groups=[GROUPS],
    )
    return rows_of(workload, answers)


def expected(stream: Any, is_conjunction: bool) -> dict[tuple[int, str], list[list[Occurrence]]]:
    """By window start and group: the events of each trend, or of both trends of each pair."""
    together: dict[tuple[int, str], list[tuple[Trend, int]]] = {}
    for (part, window), found in stream.items():
        key = window * 5_000_000, GROUPS.json[GROUP_OF[part]]
        together.setdefault(key, []).extend(found)
    if not is_conjunction:
        return {key: [list(trend) for trend, _ in found] for key, found in together.items()}
    pairs = {
        key: [
            [*one, *other]
            for (one, a), (other, b) in combinations(found, 2)
            if (a & 1 and b & 2) or (a & 2 and b & 1)
        ]
        for key, found in together.items()
    }
    return {key: found for key, found in pairs.items() if found}


def known(units: list[list[Occurrence]], attribute: str) -> list[Fraction]:
    values = [event[attribute] for unit in units for event in unit]
    return [Fraction(value) for value in values if value is not None]


@pytest.mark.parametrize("pattern", ["plain", "conjunction"])
@pytest.mark.parametrize("form", ["int64", pytest.param("object", marks=pytest.mark.slow)])
@random_sample(80)
@given(stream=streams)
def test_exact_rows_are_those_of_every_trend_or_pair(form: str, pattern: str, stream: Any) -> None:
    workload, program = PLAIN if pattern == "plain" else CONJUNCTION

    rows = run(workload, program, stream, form)

    wanted = expected(stream, pattern == "conjunction")
    assert {key[1:3] for key in rows} == set(wanted)
    for (window, group), units in wanted.items():
        cell = {name: rows["q1", window, group, name] for name in _names(workload)}
        i, f = known(units, "i"), known(units, "f")
        check(cell["COUNT(*)"], len(units), True)
        check(cell["COUNT(A)"], sum(map(len, units)), True)
        check(cell["SUM(A.i)"], sum(i) if i else None, True)
        check(cell["AVG(A.i)"], Fraction(sum(i)) / len(i) if i else None, False)
        check(cell["SUM(A.f)"], sum(f) if f else None, False)
        check(cell["AVG(A.f)"], Fraction(sum(f)) / len(f) if f else None, False)
        check(cell["MIN(A.i)"], min(i, default=None), False)
        check(cell["MAX(A.i)"], max(i, default=None), False)
        check(cell["MAX(A.f)"], max(f, default=None), False)


@pytest.mark.parametrize("pattern", ["plain", "conjunction"])
@random_sample(80)
@given(stream=streams)
def test_float_rows_are_close_to_those_of_every_trend_or_pair(pattern: str, stream: Any) -> None:
    workload, program = PLAIN if pattern == "plain" else CONJUNCTION

    rows = run(workload, program, stream, "float")

    wanted = expected(stream, pattern == "conjunction")
    assert {key[1:3] for key in rows} == set(wanted)
    for (window, group), units in wanted.items():
        cell = {name: rows["q1", window, group, name] for name in _names(workload)}
        check_close(cell["COUNT(*)"], len(units), len(units))
        check_close(cell["COUNT(A)"], sum(map(len, units)), sum(map(len, units)))
        for attribute in "if":
            values = known(units, attribute)
            scale = sum(map(abs, values))
            mean = Fraction(sum(values)) / len(values) if values else None
            check_close(cell[f"SUM(A.{attribute})"], sum(values) if values else None, scale)
            check_close(cell[f"AVG(A.{attribute})"], mean, scale / max(1, len(values)))
        check_close(cell["MIN(A.i)"], min(known(units, "i"), default=None), 0)


def _names(workload: Workload) -> list[str]:
    return [aggregate.name for aggregate in workload.queries[0].aggregates]


@pytest.mark.parametrize("form", ["int64", "object", "float"])
def test_no_records_give_no_rows_with_all_columns(form: str) -> None:
    for workload, program in (PLAIN, CONJUNCTION):
        digits = {"i": (0,), "f": (0,)}
        emission = emission_of([], 12, 3, form)

        (answer,) = finished(
            workload.plan,
            program,
            emission,
            digits=digits,
            is_integer={"i": True, "f": False},
            groups=[GROUPS],
        )

        assert answer.rows.num_rows == 0
        assert answer.rows.schema.field("key.0").type == pa.string()
        assert answer.rows.num_columns == 4 + 3 * len(workload.queries[0].aggregates)


# Large numbers


def counted(
    workload: Workload, counts: dict[int, int], form: str = "object", extremes: int = 0
) -> dict[tuple[Any, ...], Any]:
    """COUNT(*) of one query with the given number of trends for each unit."""
    program = compile_set(workload.plan, workload.plan.sets[0])
    records = [Found(0, unit, 0, [count], []) for unit, count in counts.items() if count]
    emission = emission_of(records, 1, extremes, form)
    groups = [Groups(np.zeros(1, np.int32), 1, {})]
    answers = finished(workload.plan, program, emission, digits={}, is_integer={}, groups=groups)
    return rows_of(workload, answers)


def test_a_count_of_thirty_thousand_digits_is_exact() -> None:
    workload = Workload.parse("RETURN COUNT(*) PATTERN A+ WITHIN 10 s")

    ((value, log10, exact),) = counted(workload, {0: 2**100_000 - 1}).values()

    assert value == math.inf
    assert log10 == pytest.approx(100_000 * math.log10(2), rel=1e-15)
    assert len(exact) == 30_103
    assert exact.endswith(str((2**100_000 - 1) % 10**50))


@pytest.mark.parametrize(
    ("p", "q", "b", "pairs"),
    [(1, 1, 1, 0), (1, 1, 0, 1), (2, 1, 1, 1), (2, 2, 2, 1), (3, 0, 0, 0), (5, 4, 3, 14)],
)
@pytest.mark.parametrize("form", ["int64", "object", "float"])
def test_pairs_of_small_counts(form: str, p: int, q: int, b: int, pairs: int) -> None:
    workload = Workload.parse("RETURN COUNT(*) PATTERN A+ AND SEQ(A, A+) WITHIN 10 s")
    c1, c2 = p - b, q - b

    rows = counted(workload, {0: p, 1: q, 2: b}, form)

    assert pairs == c1 * c2 + c1 * b + c2 * b + b * (b - 1) // 2
    assert [value for value, _, _ in rows.values()] == ([pairs] if pairs else [])


def test_pairs_of_counts_near_two_to_the_63_do_not_wrap_around() -> None:
    workload = Workload.parse("RETURN COUNT(*) PATTERN A+ AND SEQ(A, A+) WITHIN 10 s")
    p, q, b = 2**63 - 1, 2**62 + 5, 2**62 + 1

    ((_, _, exact),) = counted(workload, {0: p, 1: q, 2: b}, "int64").values()

    assert exact == str(p * q - b * (b + 1) // 2)


def test_partitions_near_two_to_the_63_are_added_up_without_wrapping_around() -> None:
    column = Integers(np.array([2**63 - 1, 2**63 - 1, 5, -(2**63), -(2**63)], np.int64))

    found = column.added_up(np.array([0, 2, 3]))

    assert found.values.tolist() == [2**64 - 2, 5, -(2**64)]


wide_numbers = st.tuples(
    st.floats(-1, 1, allow_nan=False).filter(lambda m: m == 0 or abs(m) > 1e-3),
    st.integers(-8, 8),  # up to 2**4096; larger fractions would be slow to compare with
)


def as_wides(numbers: list[tuple[float, int]]) -> Wides:
    mantissas, exponents = zip(*numbers, strict=True)
    return Wides.of(np.array(mantissas, np.float64), np.array(exponents, np.float64))


def true_value(number: Wides, at: int) -> Fraction:
    mantissa = float(number.mantissa[at])
    return Fraction(mantissa) * Fraction(2) ** int(number.exponent[at]) if mantissa else Fraction()


def as_float_mode_rounds(true: Fraction) -> float:
    """The nearest double; the greatest where the true value may be it, as far as is known."""
    is_near = abs(true) <= Fraction(2) ** 1024 * (1 + Fraction(1e-9))
    nearest = rounded(true)
    return (
        math.copysign(sys.float_info.max, nearest) if is_near and math.isinf(nearest) else nearest
    )


@random_sample(60)
@example([((1.0, 2), (0.5, 0))])
@example([((-1.0, 2), (1.0, -2))])
@given(st.lists(st.tuples(wide_numbers, wide_numbers), min_size=1, max_size=4))
def test_arithmetic_on_wide_numbers_is_right_at_any_magnitude(pairs: Any) -> None:
    ones, others = as_wides([one for one, _ in pairs]), as_wides([other for _, other in pairs])

    plus, times, over = ones + others, ones * others, ones.over(others)
    added = ones.added_up(np.array([0]))

    tiny = Fraction(1, 10**15)
    values = [true_value(ones, at) for at in range(len(pairs))]
    for at, a in enumerate(values):
        b = true_value(others, at)
        assert abs(true_value(plus, at) - (a + b)) <= tiny * (abs(a) + abs(b))
        assert abs(true_value(times, at) - a * b) <= tiny * abs(a * b)
        assert abs(true_value(over, at) * b - (a if b else 0)) <= tiny * abs(a)
        assert ones.value()[at] == pytest.approx(as_float_mode_rounds(a), rel=1e-15)
        assert np.isfinite(ones.log10()[at]) == (a > 0)
    assert abs(true_value(added, 0) - sum(values)) <= tiny * sum(map(abs, values))


@pytest.mark.parametrize("form", ["object", "float"])
def test_an_average_of_astronomically_large_numbers_is_right(form: str) -> None:
    """SUM 5 * 2**100000 and -3 * 2**100000 over 2**100001 occurrences."""
    workload = Workload.parse("RETURN SUM(A.i), AVG(A.i) PATTERN A+ GROUPBY g WITHIN 10 s")
    program = compile_set(workload.plan, workload.plan.sets[0])
    huge = 2**100_000
    emission = emission_of(
        [
            Found(0, 0, 0, [2 * huge, 2 * huge, 5 * huge, 2 * huge, 5 * huge], []),
            Found(1, 0, 0, [2 * huge, 2 * huge, -3 * huge, 2 * huge, -3 * huge], []),
        ],
        5,
        0,
        "object",
    )
    if form == "float":
        sizes = np.array([[2, 2, 5, 2, 5], [2, 2, -3, 2, -3]]) * 2.0 ** (100_000 % 512)
        emission = Emission(
            emission.part,
            emission.unit,
            emission.window,
            NumberTable.of(sizes, np.full((2, 5), 100_000.0 // 512)),
            emission.extremes,
        )

    (answer,) = finished(
        workload.plan,
        program,
        emission,
        digits={"i": (0,)},
        is_integer={"i": True},
        groups=[GROUPS],
    )

    rows = rows_of(workload, (answer,))
    positive, negative = (rows["q1", 0, group, "SUM(A.i)"] for group in GROUPS.json)
    assert (positive[0], negative[0]) == (math.inf, -math.inf)
    assert positive[1] == pytest.approx(math.log10(5) + 100_000 * math.log10(2), rel=1e-14)
    assert negative[1] is None
    if form == "object":
        assert (positive[2], negative[2]) == (digits_of(5 * huge), digits_of(-3 * huge))
    assert [rows["q1", 0, group, "AVG(A.i)"][0] for group in GROUPS.json] == [2.5, -1.5]


# The conformance cases, with the reference in the place of a kernel


def load_cases() -> list[dict[str, Any]]:
    with CASES.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


FORMS = ("int64", "object", "float")


@pytest.mark.slow
def test_conformance_cases_from_totals_of_the_reference() -> None:
    """In all forms from one look for trends, which takes longest."""
    for case in load_cases():
        workload = Workload.parse(case["workload"])
        found: dict[str, dict[tuple[Any, ...], Any]] = {form: {} for form in FORMS}
        for sharable in workload.plan.sets:
            rows = _finished(workload, sharable, case["events"], case["order"])
            for form in FORMS:
                found[form] |= rows[form]

        wanted = {
            (r["query"], round(r["window_start"] * 10**6), _group(r["group"]), r["aggregate"]): r
            for r in case["expected"]
        }
        for form, rows in found.items():
            assert set(rows) == set(wanted), (case["id"], form)
            for key, (value, _, exact) in rows.items():
                where = case["id"], form, key
                assert exact == (None if form == "float" else wanted[key]["exact"]), where
                true = wanted[key]["value"]
                assert value == (true and pytest.approx(true, rel=1e-9)), where


def _group(group: Any) -> str:
    return json.dumps(json.loads(group) if isinstance(group, str) else group)


def _finished(
    workload: Workload, sharable: Any, rows: list[dict[str, Any]], order: str | None
) -> dict[str, dict[tuple[Any, ...], Any]]:
    """By form the rows of one sharable set, from the trends that the reference finds."""
    program = compile_set(workload.plan, sharable)
    queries = [workload.queries[number] for number in sharable.queries]
    names = tuple(sorted(sharable.partition))
    events = [
        Event((round(row["time"] * 10**6), (row[order],) if order else ()), row["type"], row)
        for row in rows
        if all(row.get(name) is not None for name in names)
    ]
    fractional = {k for row in rows for k, v in row.items() if isinstance(v, float)}
    attributes = {str(a.attribute) for query in queries for a in query.aggregates}
    in_digits = {
        form: {
            name: FRACTIONAL if name in fractional and form != "float" else (0,)
            for name in attributes
        }
        for form in FORMS
    }
    partitions = sorted({event.values(names) for event in events}, key=repr)
    records: dict[str, list[Found]] = {form: [] for form in FORMS}
    for part, values in enumerate(partitions):
        mine = [event for event in events if event.values(names) == values]
        for local, query in enumerate(queries):
            for unit, window, trends in _totals(program, local, query, mine):
                extremes = extremes_for(query, trends)
                for form, digits in in_digits.items():
                    components = components_for(query, trends, digits)
                    records[form].append(Found(part, unit, window, components, extremes))
    return {
        form: rows_of(
            workload,
            finished(
                workload.plan,
                program,
                emission_of(made, max([1, *(len(r.components) for r in made)]), 9, form),
                digits=in_digits[form],
                is_integer={name: name not in fractional for name in attributes},
                groups=[_groups(query, names, partitions) for query in queries],
            ),
        )
        for form, made in records.items()
    }


def _groups(query: Query, names: tuple[str, ...], partitions: list[Any]) -> Groups:
    keys = [tuple(p[names.index(name)] for name in query.group_by) for p in partitions]
    distinct = list(dict.fromkeys(keys))
    return Groups(
        np.array([distinct.index(key) for key in keys], np.int32),
        len(distinct),
        {name: pa.array([key[i] for key in distinct]) for i, name in enumerate(query.group_by)},
        [json.dumps(dict(zip(query.group_by, key, strict=True))) for key in distinct],
    )


def _totals(
    program: Any, local: int, query: Query, events: list[Event]
) -> Iterator[tuple[int, int, list[Any]]]:
    """Units of a query with windows and the trends that they have there."""
    types = {place.type for place in query.places}
    within, slide = query.window.within_us, query.window.slide_us
    windows = {i for e in events for i in range((e.ts - within) // slide + 1, e.ts // slide + 1)}
    for window in sorted(windows):
        start = window * slide
        inside = tuple(e for e in events if e.type in types and start <= e.ts < start + within)
        sides = _sides(query, inside)
        for unit in np.flatnonzero(program.template_query == local).tolist():
            role = Role(int(program.template_role[unit]))
            if role == Role.GUARD or not sides[role]:
                continue
            trends = [
                (tuple(dict(event.row) for event in trend), marks)
                for trend, marks in sides[role].items()
            ]
            yield unit, window, trends


def _sides(query: Query, events: tuple[Event, ...]) -> dict[Role, Any]:
    bare = Partition(query, events)
    violations = tuple(
        frozenset((trend[0], trend[-1]) for trend in bare.trends(negated))
        for negated in query.negations
    )
    partition = Partition(query, events, violations)
    found = [partition.trends(branch) for branch in query.branches]
    sides: dict[Role, Any] = {Role.PATTERN: found[0]}
    if query.is_conjunction:
        sides[Role.SECOND] = found[1]
        sides[Role.BOTH] = {trend: marks for trend, marks in found[0].items() if trend in found[1]}
    return sides
