"""What a kernel is given stands for the rows: letters, order, ties, partitions, digits and ranks.

A wrong letter, a lost digit, a comparison that a rounding turned round or a partition that holds
two keys would show here, against the plain meaning of predicates and Python's exact numbers.
"""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import random_sample

from hamlet.errors import SchemaError
from hamlet.events.columns import values_of
from hamlet.events.table import EventTable
from hamlet.kernel.base import Weight
from hamlet.kernel.encode.arranging import used_rows
from hamlet.kernel.encode.batch import EncodedSet, encode
from hamlet.kernel.encode.digits import digits_of
from hamlet.kernel.encode.ranks import comparable
from hamlet.kernel.encode.sorting import dense_codes, sort_by_code, sort_by_value
from hamlet.plan import predicates
from hamlet.plan.program import Program, compile_set
from hamlet.testing import stream
from hamlet.workload import Workload

if TYPE_CHECKING:
    from hamlet.kernel.encode.partitions import Grouping
    from hamlet.plan.workload import WorkloadPlan

COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


# The first call of a compiled function may have to compile it.
unhurried = settings(deadline=None)


@cache
def planned(text: str) -> tuple[WorkloadPlan, Program]:
    plan = Workload.parse(text).plan
    return plan, compile_set(plan, plan.sets[0])


def encoded(text: str, source: Any, numbers: Any = "exact", **columns: Any) -> EncodedSet:
    return encoded_with_program(text, source, numbers, **columns)[0]


def encoded_with_program(
    text: str, source: Any, numbers: Any = "exact", **columns: Any
) -> tuple[EncodedSet, Program]:
    plan, program = planned(text)
    table = EventTable.of(source, plan, **columns)
    return encode(table, plan, plan.sets[0], program, numbers), program


def atoms_of(found: EncodedSet, program: Program) -> list[tuple[int, set[str]]]:
    """For each event its time in seconds and the atoms of its letter."""
    atoms = [str(atom) for atom in program.alphabet.atoms]
    batch = found.batch
    return [
        (int(ts) // 10**6, {a for a, bit in zip(atoms, batch.letters[k], strict=True) if bit})
        for ts, k in zip(batch.ts, batch.letter, strict=True)
    ]


# Letters


def test_events_without_a_letter_are_left_out() -> None:
    rows = stream("1 A, 2 C, 3 B speed=5, 4 B speed=15, 5 B")

    found, program = encoded_with_program(
        "RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.speed < 10 WITHIN 10 s", rows
    )

    assert atoms_of(found, program) == [(1, {"A"}), (3, {"B where speed < 10"})]
    assert found.rows.tolist() == [0, 2]


@unhurried
@given(st.lists(st.tuples(st.sampled_from("ABC"), st.none() | st.integers(0, 70)), max_size=12))
def test_letters_are_what_the_predicates_say(events: list[tuple[str, int | None]]) -> None:
    queries = [
        f"RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.x > {low} AND A.x <= {low} WITHIN 100 s"
        for low in range(70)
    ]
    rows = [{"time": t, "type": name, "x": x} for t, (name, x) in enumerate(events)]

    found, program = encoded_with_program(";".join(queries), rows)

    expected = []
    for row in rows:
        true = {
            str(atom)
            for atom in program.alphabet.atoms
            if atom.type == row["type"]
            and (atom.condition is None or predicates.holds(atom.condition, {"this": row}))
        }
        expected += [(row["time"], true)] if true else []
    assert atoms_of(found, program) == expected
    assert len(np.unique(found.batch.letters, axis=0)) == len(found.batch.letters)


# Order


def test_rows_come_by_partition_then_time_then_order() -> None:
    rows = stream("3 B g=1 n=1, 1 A g=2 n=1, 1 B g=1 n=2, 1 A g=1 n=1, 1 B g=1 n=null")

    found = encoded("RETURN COUNT(*) PATTERN SEQ(A, B+) GROUPBY g WITHIN 10 s", rows, order="n")

    batch = found.batch
    values = found.keys["g"].to_pylist()
    assert [(values[p], int(r)) for p, r in zip(batch.part, found.rows, strict=True)] == [
        (1, 4),
        (1, 3),
        (1, 2),
        (1, 0),
        (2, 1),
    ]
    assert batch.part.tolist() == sorted(batch.part.tolist())
    assert batch.tied.tolist() == [0, 0, 0, 0, 0]


def test_equal_times_are_tied_inside_a_partition_only() -> None:
    rows = stream("1 A g=1, 1 B g=1, 1 B g=2, 2 B g=2, 2 B g=2")

    found = encoded("RETURN COUNT(*) PATTERN SEQ(A, B+) GROUPBY g WITHIN 10 s", rows)

    assert found.batch.tied.tolist() == [0, 1, 0, 0, 1]


def test_equal_order_values_are_tied_and_nulls_too() -> None:
    rows = stream("1 B n=1, 1 B n=1, 1 B n=2, 1 B n=null, 1 B n=null")

    found = encoded("RETURN COUNT(*) PATTERN B+ WITHIN 10 s", rows, order="n")

    assert found.batch.tied.tolist() == [0, 1, 0, 1, 0]
    assert found.rows.tolist() == [3, 4, 0, 1, 2]


EVENTS = st.lists(
    st.fixed_dictionaries(
        {
            "time": st.integers(-3, 6),
            "type": st.sampled_from("ABC"),
            "g": st.none() | st.integers(0, 2),
            "h": st.sampled_from(["x", "y"]),
            "v": st.none() | st.integers(-5, 5) | st.sampled_from([0.5, -2.25]),
            "n": st.none() | st.integers(0, 2),
        }
    ),
    max_size=14,
)
QUERIES = (
    "RETURN COUNT(B), SUM(B.v), MAX(B.v) PATTERN SEQ(A, B+) WHERE B.v > -3 AND [h] "
    "AND B.v <= NEXT(B).v GROUPBY g WITHIN 10 s SLIDE 5 s; "
    "RETURN COUNT(*), AVG(B.v) PATTERN B+ WHERE [g] GROUPBY h WITHIN 4 s"
)


def group(found: EncodedSet, grouping: Grouping, part: int) -> tuple[Any, ...]:
    example = int(grouping.partition[grouping.of_partition[part]])
    return tuple(found.keys[attribute][example].as_py() for attribute in grouping.attributes)


@random_sample(50)
@given(EVENTS, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows: list[dict[str, Any]], random: Any) -> None:
    def canonical(source: list[dict[str, Any]]) -> list[Any]:
        found = encoded(QUERIES, source, order="n")
        batch = found.batch
        assert (np.diff(batch.part) >= 0).all()
        events = []
        for i, part in enumerate(batch.part):
            key = tuple(found.keys[name][int(part)].as_py() for name in ("g", "h"))
            groups = [group(found, grouping, int(part)) for grouping in found.groupings]
            numbers = [*batch.weights[:, i], *batch.extremes[:, i], *batch.previous[:, i]]
            letter = tuple(batch.letters[batch.letter[i]].tolist())
            events.append((key, int(batch.ts[i]), groups, letter, [str(n) for n in numbers]))
            if i and batch.part[i - 1] == part:
                assert batch.ts[i - 1] <= batch.ts[i]
                assert batch.tied[i] == 0 or batch.ts[i - 1] == batch.ts[i]
        return [sorted(events, key=str), int(batch.tied.sum()), batch.weight_specs]

    shuffled = list(rows)
    random.shuffle(shuffled)

    assert canonical(rows) == canonical(shuffled)


# Partitions


def test_each_combination_of_values_is_a_partition_and_nulls_are_none() -> None:
    rows = stream("1 B g=1 h=x, 2 B g=1 h=y, 3 B g=2 h=x, 4 B g=1 h=x, 5 B g=1, 6 B h=x")

    found = encoded(
        "RETURN COUNT(*) PATTERN B+ WHERE [h] GROUPBY g WITHIN 10 s; "
        "RETURN COUNT(*) PATTERN B+ WHERE [g] GROUPBY h WITHIN 10 s; "
        "RETURN COUNT(*) PATTERN B+ WHERE [g, h] WITHIN 10 s; "
        "RETURN COUNT(*) PATTERN B+ GROUPBY h, g WITHIN 10 s",
        rows,
    )

    keys = list(zip(found.keys["g"].to_pylist(), found.keys["h"].to_pylist(), strict=True))
    assert keys == [(1, "x"), (1, "y"), (2, "x")]
    assert found.batch.part.tolist() == [0, 0, 1, 2]
    assert [g.of_partition.tolist() for g in found.groupings] == [
        [0, 0, 1],
        [0, 1, 0],
        [0, 0, 0],
        [0, 1, 2],
    ]
    assert [g.partition.tolist() for g in found.groupings] == [[0, 2], [0, 1], [0], [0, 1, 2]]


@pytest.mark.parametrize(
    "keys",
    [
        pa.array([5, -5, 5, 2**62, None]),
        pa.array([2**64 - 1, 1, 2**64 - 1, 2**63, None], pa.uint64()),
        pa.array([0.0, 1.5, -0.0, 2.5, float("nan")]),
        pa.array(["a", "b", "a", "", None]),
        pa.array(["a", "b", "a", "c", None]).dictionary_encode(),
        pa.array([1, 1001, 1, 1002, None], pa.timestamp("ns")),
        pa.array([1, 2, 1, 3, None], pa.date32()),
        pa.array(["1.10", "2.20", "1.10", "3.30", None]).cast(pa.decimal128(10, 2)),
    ],
    ids=str,
)
def test_keys_of_any_kind_make_partitions(keys: pa.Array) -> None:
    table = pa.table({"type": ["B"] * 5, "time": [1, 2, 3, 4, 5], "g": keys})

    found = encoded("RETURN COUNT(*) PATTERN B+ GROUPBY g WITHIN 10 s", table)

    assert found.batch.part.tolist() == [0, 0, 1, 2]
    plain = keys.cast(keys.type.value_type) if pa.types.is_dictionary(keys.type) else keys
    assert found.keys["g"].to_pylist() == plain.take(pa.array([0, 1, 3])).to_pylist()


@unhurried
@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5)))
def test_codes_are_equal_where_values_are(values: list[int]) -> None:
    codes, first = dense_codes(np.array(values, np.int64))

    assert [values[first[code]] for code in codes] == values
    assert len(set(values)) == len(first)


def test_codes_of_many_scattered_values() -> None:
    values = np.random.default_rng(1).integers(-(2**62), 2**62, 300_000)
    values = np.concatenate([values, values[::-1]])

    codes, first = dense_codes(values)

    assert (values[first][codes] == values).all()
    assert len(first) == len(np.unique(values))


@unhurried
@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3), st.integers(0, 4))))
def test_sorts_are_stable(pairs: list[tuple[int, int]]) -> None:
    values = np.array([value for value, _ in pairs], np.int64)
    codes = np.array([code for _, code in pairs], np.int32)

    by_value = sort_by_value(values)
    by_both, starts = sort_by_code(codes, 5, by_value)

    assert by_value.tolist() == sorted(range(len(pairs)), key=lambda i: values[i])
    assert by_both.tolist() == sorted(range(len(pairs)), key=lambda i: (codes[i], values[i]))
    assert np.diff(starts).tolist() == [codes.tolist().count(code) for code in range(5)]


# Weights

FINITE = st.floats(allow_nan=False, allow_infinity=False)
PRICES = st.integers(0, 10**6).map(lambda cents: cents / 100)


@unhurried
@given(st.lists(st.none() | FINITE) | st.lists(PRICES) | st.lists(st.integers(-99, 99).map(float)))
def test_digits_of_doubles_add_up_to_them(values: list[float | None]) -> None:
    exponents, digits = digits_of(values_of(pa.chunked_array([pa.array(values, pa.float64())])))

    for number, value in enumerate(values):
        parts = [int(d[number]) * Fraction(2) ** e for d, e in zip(digits, exponents, strict=True)]
        assert sum(parts) == Fraction(value or 0)
    assert all(abs(int(digit)) < 2**62 for row in digits for digit in row)


@unhurried
@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)))
def test_digits_of_integers_add_up_to_them(values: list[int | None]) -> None:
    exponents, digits = digits_of(values_of(pa.chunked_array([pa.array(values, pa.int64())])))

    for number, value in enumerate(values):
        parts = [int(d[number]) * 2**e for d, e in zip(digits, exponents, strict=True)]
        assert sum(parts) == (value or 0)


def test_whole_numbers_and_prices_need_few_digits() -> None:
    def exponents(values: list[float]) -> tuple[int, ...]:
        return digits_of(values_of(pa.chunked_array([values])))[0]

    assert exponents([1.0, 2.0**52]) == (0,)
    assert exponents([0.5, 7.25]) == (-2,)
    assert len(exponents([0.01, 99.99])) == 2
    assert exponents([]) == (0,)


def test_weights_are_those_that_components_ask_for() -> None:
    rows = stream("1 A v=7, 2 B v=3, 3 B v=null, 4 B v=-1 w=0.5")

    found = encoded(
        "RETURN COUNT(B), SUM(B.v), COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 s; "
        "RETURN AVG(B.w), MIN(B.v), MAX(B.w) PATTERN B+ WITHIN 10 s",
        rows,
    )

    batch = found.batch
    assert batch.weight_specs == (
        Weight("one"),
        Weight("present", "v"),
        Weight("value", "v"),
        Weight("present", "w"),
        Weight("value", "w", 0, -1),
    )
    assert batch.weights.tolist() == [
        [1, 1, 1, 1],
        [1, 1, 0, 1],
        [7, 3, 0, -1],
        [0, 0, 0, 1],
        [0, 0, 0, 1],
    ]
    assert batch.extreme_attributes == ("v", "w")
    assert [[str(v) for v in row] for row in batch.extremes] == [
        ["7.0", "3.0", "nan", "-1.0"],
        ["nan", "nan", "nan", "0.5"],
    ]
    assert found.digits == {"v": (0,), "w": (-1,)}
    assert found.integers == {"v"}


def test_float_mode_has_doubles_for_weights() -> None:
    rows = stream("1 B v=0.1, 2 B v=null")

    found = encoded("RETURN SUM(B.v) PATTERN B+ WITHIN 10 s", rows, "float")

    assert found.batch.weights.dtype == np.float64
    assert found.batch.weights.tolist() == [[1.0, 0.0], [0.1, 0.0]]
    assert found.digits == {"v": (0,)}


# Edge predicates

LARGE = st.integers(2**53 - 2, 2**53 + 2) | st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2)
SIDES = st.one_of(
    st.tuples(st.lists(st.none() | LARGE), st.lists(st.none() | LARGE)),
    st.tuples(
        st.lists(st.none() | LARGE),
        st.lists(st.none() | st.sampled_from([2.0**53, 2.0**53 + 2, 0.5, 1e300, -(2.0**63)])),
    ),
    st.tuples(st.lists(st.none() | st.text()), st.lists(st.none() | st.sampled_from(["", "a"]))),
)


@unhurried
@given(SIDES)
def test_ranks_compare_as_the_values_do(sides: tuple[list[Any], list[Any]]) -> None:
    left, right = sides
    one, other = comparable(
        values_of(pa.chunked_array([pa.array(left)])),
        values_of(pa.chunked_array([pa.array(right)])),
    )

    for (a, x), (b, y) in product(zip(left, one, strict=True), zip(right, other, strict=True)):
        for symbol, compare in COMPARE.items():
            expected = a is not None and b is not None and compare(a, b)
            found = not math.isnan(x) and not math.isnan(y) and compare(x, y)
            assert found == expected, (a, symbol, b)


EDGES = [
    "A.x < NEXT(A).x",
    "A.x * 2 >= NEXT(A).y",
    "NEXT(A).x - A.x < 0.3",
    "NEXT(A).x - A.x <= A.k",
    "NEXT(A).x - A.x > 0.1",
    "A.x + NEXT(A).y >= NEXT(A).x",
    "NEXT(A).x - A.x = 0.1",
    "A.x - NEXT(A).x != 0.1",
    "NEXT(A).k - A.k < 5",
    "NEXT(A).k - A.k = 1",
    "NEXT(A).k - A.x - A.y < 1",
    "A.s < NEXT(A).s",
    "A.s != NEXT(A).t",
    "A.s = NEXT(A).t OR A.k > NEXT(A).x",
    "A.s = 'a' AND NEXT(A).s = 'b' OR A.x * NEXT(A).y > 1",
    "A.k % 3 + NEXT(A).k IN (1, 2, 3) OR A.p",
    "NOT (A.s <= NEXT(A).t) OR A.p != NEXT(A).p",
    "A.b < NEXT(A).b OR A.b IS NULL AND NEXT(A).k > 1",
    "(A.x + NEXT(A).y) / A.k > 0.5",
    "(A.x - NEXT(A).x) IS NULL OR A.x / 3 > NEXT(A).y / 3 AND A.p",
]
TENTHS = st.integers(-6, 6).map(lambda tenths: tenths / 10) | st.floats(-3, 3)
PAIRED = st.lists(
    st.fixed_dictionaries(
        {
            "x": st.none() | TENTHS,
            "y": st.none() | TENTHS,
            "k": st.none() | st.integers(-3, 3),
            "b": st.none() | st.sampled_from([2**53, 2**53 + 1, 2**62, 2**62 + 1]),
            "s": st.none() | st.sampled_from("abc"),
            "t": st.none() | st.sampled_from("bcd"),
            "p": st.none() | st.booleans(),
        }
    ),
    min_size=1,
    max_size=7,
)


def decided(found: EncodedSet, program: Program, number: int, one: int, other: int) -> bool:
    """What a kernel makes of an edge predicate and two events."""
    batch, predicate = found.batch, program.predicates[number]
    if found.ordered_usable[number]:
        left, right = batch.previous[number, one], batch.next[number, other]
        is_known = not math.isnan(left) and not math.isnan(right)
        return bool(is_known and COMPARE[predicate.operator](left, right))
    condition = found.conditions[number]
    assert condition is not None

    def event(i: int) -> dict[str, float | None]:
        values = zip(batch.column_names, batch.columns[:, i].tolist(), strict=True)
        return {name: None if math.isnan(value) else value for name, value in values}

    # On the stack machine truth values are doubles too.
    return plain(condition, {"previous": event(one), "next": event(other)}) == 1


def plain(expression: Any, events: Any) -> Any:
    if isinstance(expression, predicates.Constant):
        return None if math.isnan(expression.value) else expression.value
    if isinstance(expression, predicates.Column):
        return events[expression.role][expression.attribute]
    values = [plain(operand, events) for operand in expression.operands]
    logical = [None if v is None else bool(v) for v in values]
    is_logic = expression.operator in ("and", "or", "not")
    return predicates._MEANINGS[expression.operator](logical if is_logic else values)


@pytest.mark.parametrize("condition", EDGES)
@random_sample(60)
@given(rows=PAIRED)
def test_edge_predicates_are_decided_as_written(condition: str, rows: list[dict[str, Any]]) -> None:
    kinds = pa.schema(
        {"x": pa.float64(), "y": pa.float64(), "k": pa.int64(), "b": pa.int64()}
        | {"s": pa.string(), "t": pa.string(), "p": pa.bool_()}
    )
    table = pa.Table.from_pylist(rows, kinds)
    table = table.append_column("type", pa.array(["A"] * len(rows)))
    table = table.append_column("time", pa.array(range(len(rows))))

    found, program = encoded_with_program(
        f"RETURN COUNT(*) PATTERN A+ WHERE {condition} WITHIN 100 s", table
    )

    for number, predicate in enumerate(program.predicates):
        for i, j in product(range(len(rows)), repeat=2):
            events: Any = {"previous": rows[i], "next": rows[j]}
            expected = predicates.holds(predicate.condition, events)
            assert decided(found, program, number, i, j) == expected, (rows[i], rows[j])


def test_a_rounded_difference_is_ordered_exactly() -> None:
    # 0.3 - 0.1 is a little less than 0.2, though 0.3 - 0.2 is not a little more than 0.1.
    rows = [{"type": "A", "time": i, "x": x} for i, x in enumerate([0.1, 0.2, 0.3, 0.4])]

    found, program = encoded_with_program(
        "RETURN COUNT(*) PATTERN A+ WHERE NEXT(A).x - A.x < 0.2 WITHIN 100 s", rows
    )

    assert found.ordered_usable == (True,)
    assert program.predicates[0].is_rearranged
    for i, j in product(range(4), repeat=2):
        expected = rows[j]["x"] - rows[i]["x"] < 0.2  # type: ignore[operator]
        assert decided(found, program, 0, i, j) == expected


def test_reckoning_with_very_large_integers_between_events_is_refused() -> None:
    rows = stream(f"1 A b={2**60}, 2 A b=1")

    with pytest.raises(SchemaError, match="beyond 2\\*\\*53"):
        encoded("RETURN COUNT(*) PATTERN A+ WHERE A.b * NEXT(A).b > 5 WITHIN 10 s", rows)


# Edges of the possible


def test_no_events_make_an_empty_batch() -> None:
    found = encoded("RETURN SUM(B.v) PATTERN SEQ(A, B+) GROUPBY g WITHIN 10 s", [])

    assert len(found.batch) == 0
    assert found.batch.weights.shape == (2, 0)
    assert found.batch.letters.shape[1] == 2


def test_rows_that_take_part_are_counted_once_for_all_sets() -> None:
    plan = Workload.parse(
        "RETURN COUNT(*) PATTERN B+ WITHIN 10 s; RETURN COUNT(*) PATTERN A+ GROUPBY g WITHIN 10 s; "
        "RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 10 s"
    ).plan
    table = EventTable.of(stream("1 A g=1, 2 B, 3 C, 4 A, 5 A"), plan)

    for sharable in plan.sets[:2]:
        encode(table, plan, sharable, compile_set(plan, sharable))

    assert used_rows(table) == 2
    assert table.statistics.rows == 5


def test_infinite_values_are_extremes_like_others() -> None:
    text = "q: RETURN MIN(T.v), MAX(T.v) PATTERN SEQ(X, T+) WITHIN 10 s SLIDE 10 s"
    rows = [
        {"type": kind, "time": time, "v": value}
        for kind, time, value in [
            ("X", 0, 0.0),
            ("T", 1, math.inf),
            ("T", 2, 3.0),
            ("X", 11, 0.0),
            ("T", 12, -math.inf),
            ("X", 21, 0.0),
            ("T", 22, None),
        ]
    ]
    found = Workload.parse(text).run(rows).table["value"].to_pylist()
    assert found == [3.0, math.inf, -math.inf, -math.inf, None, None]
