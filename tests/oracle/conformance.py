"""The conformance cases, and the comparison of any kernel's rows with those that must come out.

A row here is a mapping with the columns of a result table: query, window_start and window_end in
seconds, group as JSON text or a mapping, aggregate, value and exact; others are not looked at. An
expected row may have a `scale`, the sum of absolute values behind a sum with terms of both signs:
errors are measured against that.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hamlet import Workload
from hamlet.kernel.reference import ResultRow, run_reference
from hamlet.lang.bind import bind
from hamlet.lang.parser import read
from hamlet.plan.predicates import Constant, Operation, columns_of
from hamlet.share.policy import POLICIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hamlet.plan.predicates import Expression
    from hamlet.plan.query import Query

    Row = Mapping[str, Any]

CASES = Path(__file__).parent.parent / "cases" / "conformance.jsonl"
# How far a value may be from the truth, by kind of numbers.
TOLERANCE = {"exact": 1e-12, "float": 1e-9}
# Of the ways to run a workload those that fast runs of the tests are content with: each kind of
# numbers, and with sharing, without, and as it is decided.
_FAST = {("exact", "dynamic"), ("exact", "never"), ("float", "always")}
# A workload is run in many ways one after another: it is parsed once, as by who uses it.
_REMEMBERED = 100
parsed = lru_cache(maxsize=_REMEMBERED)(Workload.parse)


@dataclass(frozen=True)
class Case:
    """A workload, a stream, and every row that must come out; `order` names the order column."""

    id: int
    about: str
    order: str | None
    workload: str
    events: list[dict[str, Any]]
    expected: list[dict[str, Any]]

    def __str__(self) -> str:
        events = sorted(self.events, key=lambda e: (e["time"], e.get(self.order or "", 0)))
        lines = [f"case {self.id}: {self.about} (order column: {self.order})", self.workload]
        return "\n".join([*lines, *(json.dumps(event) for event in events)])


# How large what aggregates are computed from is
_SIZES = {
    "SUM": lambda attribute: {"attribute": f"|{attribute}|"},
    "AVG": lambda attribute: {"attribute": f"|{attribute}|"},
    "VARIANCE": lambda attribute: {"attribute": f"{attribute}^2", "function": "AVG"},
    "STDDEV": lambda attribute: {"attribute": f"|{attribute}|", "function": "AVG"},
}
_SPREAD = {"VARIANCE", "STDDEV"}


def load_cases() -> list[Case]:
    """Every case of the conformance file."""
    with CASES.open(encoding="utf-8") as lines:
        return [Case(**json.loads(line)) for line in lines]


def ways_of_running() -> list[Any]:
    """Every kind of numbers with every kind of sharing, as parameters of a test."""
    return [
        pytest.param(*way, marks=[] if way in _FAST else pytest.mark.slow)
        for way in product(TOLERANCE, POLICIES)
    ]


@lru_cache(maxsize=_REMEMBERED)
def bound_queries(workload: str) -> tuple[Query, ...]:
    """The queries of a text that has no mistake."""
    trees, problems = read(workload)
    bound, more = bind(trees)
    if problems or more:
        raise AssertionError("\n".join(str(problem) for problem in [*problems, *more]))
    return tuple(planned.query for planned in bound)


def reference_rows(
    workload: str, events: Iterable[Mapping[str, Any]], order: str | None = None
) -> list[Row]:
    """The rows of the reference, in the form that all kernels are compared in."""
    rows = run_reference(bound_queries(workload), events, order_column=order)
    return [as_row(row) for row in rows]


def as_row(row: ResultRow) -> Row:
    """A row of the reference with the columns of a result table."""
    return {
        "query": row.query,
        "window_start": Fraction(row.window_start_us, 10**6),
        "window_end": Fraction(row.window_end_us, 10**6),
        "group": dict(row.group),
        "aggregate": row.aggregate,
        "value": row.value,
        "exact": row.exact,
    }


def scaled_reference_rows(
    workload: str, events: Iterable[Mapping[str, Any]], order: str | None = None
) -> list[Row]:
    """The rows of the reference, each sum, average and computed result with its scale."""
    queries, events = bound_queries(workload), list(events)
    rows = [as_row(row) for row in run_reference(queries, events, order_column=order)]
    if not any(query.results or _SIZES.keys() & _functions(query) for query in queries):
        return rows  # each is as large as it is
    sizes = [
        event
        | {f"|{name}|": _size(value) for name, value in event.items()}
        | {f"{name}^2": _square(value) for name, value in event.items()}
        for event in events
    ]
    of_sizes = run_reference([_of_sizes(query) for query in queries], sizes, order_column=order)
    scale = {_key(as_row(size)): size.value for size in of_sizes}
    spread = {
        (query.name, result.name)
        for query in queries
        for result in query.returned
        if _SPREAD
        & {a.function for a in query.aggregates if a.column in columns_of(result.expression)}
    }
    return [row | {_scale_of(row, spread): scale[_key(row)]} for row in rows]


def _functions(query: Query) -> set[str]:
    return {aggregate.function for aggregate in query.aggregates if aggregate.attribute}


def _scale_of(row: Row, spread: set[tuple[str, str]]) -> str:
    """Exact variances are exact, those in float mode within a part of the squares."""
    return "scale_in_floats" if (row["query"], row["aggregate"]) in spread else "scale"


def _size(value: Any) -> Any:
    return abs(value) if isinstance(value, int | float) else None


def _square(value: Any) -> Any:
    return Fraction(value) ** 2 if isinstance(value, int | float) else None


def _of_sizes(query: Query) -> Query:
    """The query with every sum and average taken of absolute values, and nothing taken away."""
    aggregates = tuple(
        replace(each, **_SIZES[each.function](each.attribute))
        if each.attribute is not None and each.function in _SIZES
        else each
        for each in query.aggregates
    )
    if query.results:  # differences of extremes are as far off as these are large
        aggregates = tuple(
            replace(each, function="MAX", attribute=f"|{each.attribute}|") if each.sign else each
            for each in aggregates
        )
    results = tuple(
        replace(each, expression=_without_differences(each.expression)) for each in query.results
    )
    return replace(query, aggregates=aggregates, results=results, having=None)


def _without_differences(expression: Expression) -> Expression:
    match expression:
        case Constant(value=int() | float() as value) if value < 0:
            return replace(expression, value=-value)
    if not isinstance(expression, Operation):
        return expression
    operands = tuple(map(_without_differences, expression.operands))
    if expression.operator == "-":
        return Operation("+", operands) if len(operands) == 2 else operands[0]
    return Operation(expression.operator, operands)


def engine_rows(
    workload: str, events: Iterable[Mapping[str, Any]], order: str | None = None, **options: Any
) -> list[Row]:
    """The rows of the engine, after a look at whether each agrees with itself."""
    results = parsed(workload).run(list(events), order=order, **options)
    rows: list[Row] = results.table.to_pylist()
    faults = [fault for row in rows for fault in _faults(row)]
    assert not faults, "\n".join(faults)
    return rows


def _faults(row: Row) -> list[str]:
    """Where value, log10 and digits of one row tell different stories."""
    value, log10, exact = row["value"], row["log10"], row["exact"]
    wrong = []
    if value is not None and math.isnan(value):
        wrong.append("NaN")
    if exact is not None and len(exact) < 4000 and value != _double(int(exact)):
        wrong.append("digits are not the value")
    if (log10 is not None) != (value is not None and value > 0):
        wrong.append("log10 stands with positive values only")
    elif log10 is not None and 1e-300 < value < math.inf:
        is_near = math.isclose(log10, math.log10(value), rel_tol=1e-14, abs_tol=1e-14)
        wrong += [] if is_near else ["log10 is not that of the value"]
    return [f"{fault}: {_show(row)}, log10 {log10}" for fault in wrong]


# Comparison


def check_case(case: Case, actual: Iterable[Row], numbers: str = "exact") -> None:
    """Fail, with the whole case in the message, unless exactly the expected rows came out."""
    wrong = differences(case.expected, actual, numbers)
    if wrong:
        raise AssertionError("\n".join([str(case), *wrong]))


def differences(
    expected: Iterable[Row], actual: Iterable[Row], numbers: str = "exact"
) -> list[str]:
    """What is wrong with some rows, a line for each: missing, unexpected, repeated or different.

    With numbers "float" no row may have digits, whatever the expected ones have.

    >>> row = {"query": "q1", "window_start": 0, "window_end": 10, "group": "{}"}
    >>> row |= {"aggregate": "COUNT(*)", "value": 3.0, "exact": "3"}
    >>> differences([row], [row]), differences([row], [])
    ([], ['missing: q1 [0 s, 10 s) {} COUNT(*) = 3.0 (exact 3)'])
    >>> differences([row], [row | {"value": 4}])
    ['wrong: q1 [0 s, 10 s) {} COUNT(*) = 4.0 (exact 3), expected 3.0 (exact 3)']
    """
    actual = list(actual)
    if numbers == "float":
        expected = [{"scale": row.get("scale_in_floats"), **row, "exact": None} for row in expected]
    wanted, found = {_key(row): row for row in expected}, {_key(row): row for row in actual}
    times = Counter(_key(row) for row in actual)
    lines = [f"missing: {_show(row)}" for key, row in wanted.items() if key not in found]
    lines += [f"unexpected: {_show(row)}" for key, row in found.items() if key not in wanted]
    lines += [f"repeated: {_show(row)}" for key, row in found.items() if times[key] > 1]
    for key in wanted.keys() & found.keys():
        if not _is_equal(wanted[key], found[key], TOLERANCE[numbers]):
            lines.append(f"wrong: {_show(found[key])}, expected {_show_value(wanted[key])}")
    return sorted(lines)


def _key(row: Row) -> tuple[Any, ...]:
    bounds = (round(row[name] * 10**6) for name in ("window_start", "window_end"))
    return row["query"], *bounds, _group(row), row["aggregate"]


def _group(row: Row) -> str:
    """The group as text in one spelling; the order of its attributes matters."""
    group = row["group"]
    return json.dumps(json.loads(group) if isinstance(group, str) else group)


def _is_equal(expected: Row, actual: Row, tolerance: float) -> bool:
    """Whether values are close and digits are equal; where none are expected none may come."""
    if expected["exact"] != actual["exact"]:
        return False
    one, other = _double(expected["value"]), _double(actual["value"])
    if one is None or other is None or one == other:
        return one is other or one == other
    return abs(one - other) <= tolerance * max(abs(one), _double(expected.get("scale")) or 0.0)


def _double(value: float | Fraction | None) -> float | None:
    """The value column: a double, infinite beyond its range."""
    if value is None:
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _show(row: Row) -> str:
    window = f"[{float(row['window_start']):g} s, {float(row['window_end']):g} s)"
    return f"{row['query']} {window} {_group(row)} {row['aggregate']} = {_show_value(row)}"


def _show_value(row: Row) -> str:
    return f"{_double(row['value'])} (exact {row['exact']})"
