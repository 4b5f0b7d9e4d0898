"""Partial answers: partitions that were run apart must meet again as if they had been run together.

The partitions of each sharable set are dealt to tasks at random, each task runs its events alone,
and what they give is added up in random order and steps. Would catch anything that a partial answer
does not tell: a side of AND, an exponent of digits, a null, a type of a key; sums that depend on
the order of adding up; and columns that depend on the events.
"""

from __future__ import annotations

import datetime
import math
import random
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from conformance import Case, check_case, differences, load_cases, parsed
from hypothesis import given
from hypothesis import strategies as st
from sampling import random_sample

from hamlet import Workload
from hamlet.engine import Options
from hamlet.engine.pipeline import SetPipeline
from hamlet.events.table import EventTable
from hamlet.kernel.finish import TEXT, packed
from hamlet.kernel.finish.packed import PACKED, bytes_of
from hamlet.kernel.finish.partial import answers_of, merged, partial_schema
from hamlet.kernel.finish.partial_columns import SUM, WIDE
from hamlet.plan.program import Role
from hamlet.plan.workload import plan_workload
from hamlet.results import Results

if TYPE_CHECKING:
    from hamlet.plan.workload import SharableSet, WorkloadPlan

ALL_CASES = load_cases()
NAMES = ("query", "role", "window", "group")


def partial(
    plan: WorkloadPlan, sharable: SharableSet, events: pa.Table, options: Options
) -> pa.Table:
    """What a task knows that runs one set over some events."""
    table = EventTable.of(events, plan, order=options.order)
    closed, _ = SetPipeline.of(plan, sharable, options).answered(table)
    return closed.partial(plan, partial_schema(plan, table.table.schema, options.numbers))


def partials(
    plan: WorkloadPlan, events: pa.Table, options: Options, tasks: int, chance: random.Random
) -> list[pa.Table]:
    """The partial answers of all sets, the partitions of each dealt to so many tasks."""
    found = []
    for sharable in plan.sets:
        keys = zip(*(events[name].to_pylist() for name in sharable.partition), strict=True)
        values = list(keys) if sharable.partition else [()] * len(events)
        task = {value: chance.randrange(tasks) for value in dict.fromkeys(values)}
        for number in range(tasks):
            mine = pa.array([task[value] == number for value in values], pa.bool_())
            found.append(partial(plan, sharable, events.filter(mine), options))
    return found


def merged_at_random(tables: list[pa.Table], chance: random.Random) -> pa.Table:
    """All tables added up, some of them at a time."""
    tables = list(tables)
    while len(tables) > 1:
        chance.shuffle(tables)
        count = chance.randint(2, len(tables))
        tables = [merged(tables[:count]), *tables[count:]]
    return merged(tables)


def results_of(workload: Workload, table: pa.Table, times: Any = "seconds") -> Results:
    return Results(workload.queries, answers_of(workload.plan, table), times=times)


def sorted_rows(table: pa.Table) -> list[Any]:
    return table.sort_by([(name, "ascending") for name in NAMES]).to_pylist()


def typed(case: Case, workload: Workload) -> pa.Table:
    """The events of a case with the types that they have together."""
    return EventTable.of(case.events, workload.plan, order=case.order).table


# The conformance cases


def repeated(case: Case, chance: random.Random) -> tuple[Workload, list[Any]]:
    """A case whose events come three times, a few left out, each time in partitions of their own.

    As they are, most cases have no group with several partitions.
    """
    planned = [
        replace(each, query=replace(each.query, equivalence=("p", *each.query.equivalence)))
        for each in Workload.parse(case.workload).plan.queries
    ]
    rows = [event | {"p": p} for p in range(3) for event in case.events if chance.random() < 0.9]
    return Workload(plan_workload(planned)), rows


@pytest.mark.slow
@pytest.mark.parametrize("numbers", ["exact", "float"])
def test_partitions_that_were_run_apart_give_the_expected_rows(numbers: Any) -> None:
    chance = random.Random(1)
    # Rows of tasks find each other alike with both kinds of numbers.
    for case in ALL_CASES if numbers == "exact" else ALL_CASES[::4]:
        workload = parsed(case.workload)
        if not any(sharable.partition for sharable in workload.plan.sets):
            continue
        options = Options(order=case.order, numbers=numbers)

        tables = partials(workload.plan, typed(case, workload), options, 3, chance)
        found = results_of(workload, merged_at_random(tables, chance)).table

        check_case(case, found.to_pylist(), numbers)


@pytest.mark.slow
@pytest.mark.parametrize(("numbers", "every"), [("exact", 2), ("float", 4)])
def test_partitions_that_were_run_apart_meet_again(numbers: Any, every: int) -> None:
    chance = random.Random(every)
    has_met: Counter[bool] = Counter()
    for case in ALL_CASES[::every]:
        workload, rows = repeated(case, chance)
        events = EventTable.of(rows, workload.plan, order=case.order).table
        options = Options(order=case.order, numbers=numbers)

        tables = partials(workload.plan, events, options, 3, chance)
        together = merged_at_random(tables, chance)

        found = results_of(workload, together).table
        whole = workload.run(events, order=case.order, numbers=numbers).table
        if numbers == "exact":
            assert found.equals(whole), str(case)
        wrong = differences(whole.to_pylist(), found.to_pylist(), numbers)
        assert not wrong, "\n".join([str(case), *wrong])
        if sum(len(each) for each in tables) > len(together):
            has_met[any(query.is_conjunction for query in workload.queries)] += 1
    assert has_met[False] > 200 / every
    assert has_met[True] > 20 / every


@pytest.mark.slow
def test_cases_without_partitions_go_through_one_task() -> None:
    """Nothing to be added up, so this is about the way there and back alone."""
    for case in ALL_CASES[::5]:
        workload = parsed(case.workload)
        options = Options(order=case.order)
        tables = partials(workload.plan, typed(case, workload), options, 1, random.Random(0))

        found = results_of(workload, pa.concat_tables(tables)).table

        assert found.equals(workload.run(case.events, order=case.order).table), str(case)


# Tasks that know different things


ALONE = "RETURN SUM(A.x), AVG(A.x), MIN(A.x), MAX(A.x) PATTERN A+ WHERE [p] WITHIN 9 s"
SIDES = "RETURN COUNT(*), SUM(A.x), AVG(A.x) PATTERN A+ AND SEQ(A, B) WHERE [p] WITHIN 9 s"


def events_of(values: list[list[float | None]], dtype: pa.DataType) -> pa.Table:
    """Events A with a value each, those of one list in a partition, and a B after them."""
    rows = [(p, t, "A", value) for p, mine in enumerate(values) for t, value in enumerate(mine)]
    rows += [(p, 8, "B", None) for p in range(len(values))]
    part, time, kind, value = zip(*rows, strict=True)
    return pa.table({"p": part, "time": time, "type": kind, "x": pa.array(value, dtype)})


finite = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [0.1, -0.1, 0.0, -0.0, 5e-324, 1e308, -1e308, 3.0, 2.0**-30, 1e17]
)


@pytest.mark.parametrize("text", [ALONE, SIDES])
@random_sample(60)
@given(
    values=st.lists(st.lists(st.none() | finite, min_size=1, max_size=3), min_size=2, max_size=4),
    seed=st.integers(0, 99),
)
def test_doubles_of_any_size_add_up_exactly(
    text: str, values: list[list[float | None]], seed: int
) -> None:
    """Each task has digits with exponents of its own."""
    workload, chance = Workload.parse(text), random.Random(seed)
    events = events_of(values, pa.float64())

    tables = partials(workload.plan, events, Options(), 3, chance)
    found = results_of(workload, merged_at_random(tables, chance)).table

    whole = workload.run(events).table
    assert found.equals(whole)
    assert found["value"].to_numpy().tobytes() == whole["value"].to_numpy().tobytes()


@pytest.mark.parametrize("text", [ALONE, SIDES])
def test_integers_beyond_64_bits_keep_all_digits(text: str) -> None:
    workload, chance = Workload.parse(text), random.Random(5)
    values: list[list[Any]] = [[2**63 - 1, None, -5], [2**63 - 1], [-(2**63), 7], [None]]
    events = events_of(values, pa.int64())

    tables = partials(workload.plan, events, Options(), 3, chance)
    found = results_of(workload, merged_at_random(tables, chance)).table

    assert found.equals(workload.run(events).table)
    assert max(len(digits) for digits in found["exact"].to_pylist() if digits) > 19


def test_decimals_have_digits_where_their_type_has_no_decimal_places() -> None:
    workload = Workload.parse("RETURN SUM(A.x) PATTERN A WHERE [p] WITHIN 9 s")
    values = [[Decimal("1")], [Decimal("2")]]

    for places, exact in ((0, "3"), (1, None)):
        events = events_of(values, pa.decimal128(9, places))
        tables = partials(workload.plan, events, Options(), 9, random.Random(1))
        found = results_of(workload, merged(tables))

        assert found.table.equals(workload.run(events).table)
        assert found.table["exact"].to_pylist() == [exact]


def test_sets_of_a_workload_stand_in_one_table_with_the_types_of_their_keys() -> None:
    queries = (
        "RETURN COUNT(*), MIN(A.x) PATTERN A+ GROUPBY word, flag WITHIN 9 s",
        "RETURN AVG(A.x) PATTERN SEQ(A, A a2) WHERE [word] GROUPBY day, price WITHIN 9 s",
        "RETURN COUNT(A), SUM(A.x) PATTERN A+ GROUPBY coded, half WITHIN 5 s SLIDE 2 s",
        "RETURN COUNT(*) PATTERN A GROUPBY flag WITHIN 9 s",
        "RETURN COUNT(*) PATTERN B GROUPBY word WITHIN 9 s",
    )
    workload, chance, count = Workload.parse(";".join(queries)), random.Random(3), 40
    day = datetime.datetime(2020, 2, 29, tzinfo=datetime.UTC)
    pick = [chance.randrange(3) for _ in range(count)]
    events = pa.table(
        {
            "type": ["A"] * count,
            "time": [chance.randrange(20) for _ in range(count)],
            "x": [chance.random() for _ in range(count)],
            "word": ['é "q"', "", "b"] * 13 + ["z"],
            "flag": [chance.random() < 0.5 for _ in range(count)],
            "day": pa.array([day.replace(year=2020 + 4 * p) for p in pick], pa.timestamp("us")),
            "price": pa.array([Decimal(p) / 4 for p in pick], pa.decimal128(9, 2)),
            "coded": pa.array(["u", "v"] * 20).dictionary_encode(),
            "half": pa.array([0.5 * p for p in pick], pa.float32()),
        }
    )
    assert len(workload.plan.sets) > 2

    tables = partials(workload.plan, events, Options(), 4, chance)
    found = results_of(workload, merged_at_random(tables, chance))

    whole = workload.run(events)
    assert found.table.equals(whole.table)
    assert len(whole.table) > 100
    for name in whole.queries:
        # Rows of an answer stand in no order, those of the table above do.
        keys = [(key, "ascending") for key in ("window_start", *whole.grouping(name))]
        assert found.wide(name).sort_by(keys).equals(whole.wide(name).sort_by(keys)), name


# Columns


MANY = "RETURN COUNT(*), SUM(A.x), MAX(A.y) PATTERN A+ GROUPBY g WITHIN 1 h"
FEW = "RETURN MIN(A.y), COUNT(A), AVG(A.x), AVG(A.z) PATTERN A+ WITHIN 1 h"


@pytest.mark.parametrize("numbers", ["exact", "float"])
def test_columns_do_not_depend_on_events(numbers: Any) -> None:
    plan = Workload.parse(f"{MANY}; {FEW}").plan
    types = {"type": pa.string(), "time": pa.int64(), "g": pa.int16()}
    schema = pa.schema(types | {"x": pa.int64(), "y": pa.float64(), "z": pa.float64()})
    one = pa.table([["A"], [1], [1], [1], [0.5], [None]], schema=schema)
    every = [["A"] * 300, list(range(300)), [1] * 300, [2**62] * 300, [None] * 300, [5e-324] * 300]
    huge = pa.table(every, schema=schema)
    declared = partial_schema(plan, schema, numbers)

    for events in (schema.empty_table(), one, huge):
        for sharable in plan.sets:
            table = partial(plan, sharable, events, Options(numbers=numbers))

            assert table.schema.equals(declared, check_metadata=True)
            assert merged([table, table]).schema.equals(declared, check_metadata=True)
            assert len(table) == (len(sharable.queries) if len(events) else 0)


def test_columns_are_those_that_some_query_needs() -> None:
    plan = Workload.parse(f"{MANY}; {FEW}").plan
    events = pa.schema({"g": pa.dictionary(pa.int8(), pa.string())})

    exact, wide = (partial_schema(plan, events, numbers) for numbers in ("exact", "float"))

    names = ["trends", "min_0", "count_1", "sum_1", "count_2", "sum_2", "max_2", "count_3", "sum_3"]
    assert exact.names == wide.names == [*NAMES, "key_0", *names]
    assert exact.field("key_0").type == pa.string()
    assert [exact.field(name).type for name in names[:4]] == [PACKED, pa.float64(), PACKED, SUM]
    assert [wide.field(name).type for name in names[:4]] == [WIDE, pa.float64(), WIDE, WIDE]
    assert partial_schema(plan, pa.schema([]), "exact").field("key_0").type == pa.null()


def test_queries_have_null_where_others_have_numbers() -> None:
    workload = Workload.parse(f"{MANY}; {FEW}")
    events = pa.table({"type": ["A"], "time": [1], "g": [7], "x": [3], "y": [2.5], "z": [0.5]})

    together = merged(partials(workload.plan, events, Options(), 1, random.Random(0)))

    many, few = sorted_rows(together)
    assert [name for name, value in many.items() if value is None] == [
        *("min_0", "count_2", "sum_2", "count_3", "sum_3")
    ]
    assert [name for name, value in few.items() if value is None] == ["key_0", "sum_1", "max_2"]
    assert many["sum_1"] == {"integer": b"\x03", "exponent": 0, "is_whole": True}


def test_offsets_of_32_bits_are_taken() -> None:
    """A host may give back text and bytes in the shorter kinds."""
    workload = Workload.parse(f"{MANY}; {FEW}")
    events = pa.table({"type": ["A"], "time": [1], "g": [7], "x": [3], "y": [2.5], "z": [0.5]})
    table = merged(partials(workload.plan, events, Options(), 1, random.Random(0)))
    shorter = {TEXT: pa.string(), PACKED: pa.binary()}
    shorter[SUM] = pa.struct([("integer", pa.binary()), *list(SUM)[1:]])
    fields = [(field.name, shorter.get(field.type, field.type)) for field in table.schema]
    returned = table.cast(pa.schema(fields))
    assert returned.schema != table.schema

    found = merged([returned, table, returned])

    assert found.schema == table.schema
    assert sorted_rows(found) == sorted_rows(merged([table] * 3))
    assert results_of(workload, returned).table.equals(results_of(workload, table).table)


# Adding up


Row = tuple[int, int, int, int, float | None, float | None]
long_numbers = st.integers(-(2**90), 2**90) | st.integers(-9, 9)
rows_of_numbers = st.lists(
    st.tuples(
        st.integers(0, 2),  # group
        st.integers(1, 2**70) | st.integers(1, 9),  # trends
        long_numbers,  # integer
        st.sampled_from((-1074, -60, -3, 0, 40)),  # exponent
        st.none() | st.sampled_from([-1.5, -0.0, 0.0, 2.0]),  # extremes
    ),
    max_size=5,
)
COUNT = Workload.parse("RETURN COUNT(*) PATTERN A WITHIN 1 s").plan
COLUMNS = pa.schema(
    [
        *partial_schema(COUNT, pa.schema([]), "exact"),
        pa.field("sum_0", SUM),
        pa.field("min_0", pa.float64()),
        pa.field("max_0", pa.float64()),
    ]
)


def table_of(rows: list[Any]) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "query": 1,
                "role": 0,
                "window": -(group % 2),
                "group": "ab"[group // 2],
                "trends": bytes_of(trends),
                "sum_0": {"integer": bytes_of(whole), "exponent": exponent, "is_whole": True},
                "min_0": extreme,
                "max_0": extreme,
            }
            for group, trends, whole, exponent, extreme in rows
        ],
        schema=COLUMNS,
    )


@random_sample(100)
@given(lots=st.lists(rows_of_numbers, min_size=1, max_size=5), seed=st.integers(0, 99))
def test_any_order_of_adding_up_gives_the_sums_of_python(lots: list[Any], seed: int) -> None:
    tables = [table_of(rows) for rows in lots]

    found = sorted_rows(merged_at_random(tables, random.Random(seed)))

    every = [row for rows in lots for row in rows]
    assert len(found) == len({row[0] for row in every})
    for row in found:
        mine = [r for r in every if (-(r[0] % 2), "ab"[r[0] // 2]) == (row["window"], row["group"])]
        least = min(r[3] for r in mine)
        extremes = [r[4] for r in mine if r[4] is not None]
        assert row["trends"] == bytes_of(sum(r[1] for r in mine))
        assert row["sum_0"] == {
            "integer": bytes_of(sum(r[2] << (r[3] - least) for r in mine)),
            "exponent": least,
            "is_whole": True,
        }
        assert row["min_0"] == min(extremes, default=None)
        assert row["max_0"] == max(extremes, default=None)


@random_sample(100)
@given(
    rows=st.lists(st.tuples(st.floats(0.5, 1), st.integers(-5000, 5000)), min_size=1, max_size=9),
    seed=st.integers(0, 99),
)
def test_wide_numbers_add_up_in_any_order(rows: list[tuple[float, int]], seed: int) -> None:
    schema = partial_schema(COUNT, pa.schema([]), "float")
    name = {"query": 0, "role": 0, "window": 3, "group": "{}"}
    tables = [
        pa.Table.from_pylist([name | {"trends": {"mantissa": m, "exponent": e}}], schema=schema)
        for m, e in rows
    ]

    (found,) = merged_at_random(tables, random.Random(seed)).to_pylist()

    most = max(exponent for _, exponent in rows)
    wanted = math.fsum(math.ldexp(m, max(e - most, -1074)) for m, e in rows)
    mantissa, exponent = found["trends"]["mantissa"], found["trends"]["exponent"]
    assert math.ldexp(mantissa, exponent - most) == pytest.approx(wanted, rel=1e-14)


def test_answers_add_up_what_was_not() -> None:
    """A host that forgets to merge gets right rows all the same."""
    workload = Workload.parse("RETURN COUNT(*), SUM(A.x) PATTERN A+ WHERE [p] WITHIN 9 s")
    events = events_of([[1.5, 2.5], [4.0], [0.25]], pa.float64())
    tables = partials(workload.plan, events, Options(), 5, random.Random(2))

    found = results_of(workload, pa.concat_tables(tables)).table

    assert found.equals(workload.run(events).table)


def test_roles_of_and_stay_apart() -> None:
    workload = Workload.parse(SIDES)
    events = events_of([[1.0, 2.0], [3.0]], pa.float64())

    together = merged(partials(workload.plan, events, Options(), 4, random.Random(1)))

    trends = {Role(row["role"]): row["trends"] for row in together.to_pylist()}
    assert trends == {Role.PATTERN: bytes_of(4), Role.SECOND: bytes_of(3)}


def test_numbers_of_64_bits_need_no_python_for_single_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = Workload.parse(ALONE)
    values = np.random.default_rng(0).random((500, 2)).tolist()
    events = events_of(values, pa.float64())
    slow: list[int] = []
    monkeypatch.setattr(packed, "bytes_of", lambda number: slow.append(number) or bytes_of(number))

    tables = partials(workload.plan, events, Options(), 3, random.Random(1))
    found = results_of(workload, merged(tables)).table

    assert slow == []
    assert found.equals(workload.run(events).table)
    assert max(len(row["sum_0"]["integer"]) for row in merged(tables).to_pylist()) > 8
