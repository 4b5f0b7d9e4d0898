"""Partial answers: what one task knows of the answers of a workload, for others to add to.

A group may have partitions in many tasks (processes, pages of saved state). Each task makes a table
of what it has (`partial_of`), tables are added up in any order and any number of steps (`merged`),
and whoever has all of a group works out its rows (`answers_of`). In exact mode the rows are those
that one task would have given, to the last bit; in float mode sums round in another order.

For the columns see partial_columns.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from hamlet.kernel.encode.sorting import dense_codes, sort_by_code
from hamlet.kernel.finish.answers import Answer, answers_from
from hamlet.kernel.finish.groups import Groups, plain
from hamlet.kernel.finish.merging import merged
from hamlet.kernel.finish.packed import Packed, cut_alike
from hamlet.kernel.finish.partial_columns import (
    SUM,
    WIDE,
    array_of,
    components_of_query,
    extremes_of_query,
    key_columns,
    mode_of,
    partial_schema,
    sums_of,
)
from hamlet.kernel.finish.totals import SetTotals, Totals, joined
from hamlet.kernel.finish.wides import Wides
from hamlet.plan.number_mode import NumberMode
from hamlet.plan.program import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.base import Emission
    from hamlet.kernel.finish.integers import Integers
    from hamlet.plan.program import Program
    from hamlet.plan.query import Query
    from hamlet.plan.workload import WorkloadPlan

    Longs = NDArray[np.int64]

__all__ = ["answers_of", "merged", "partial_of", "partial_schema"]


def partial_of(
    plan: WorkloadPlan,
    program: Program,
    emission: Emission,
    *,
    digits: Mapping[str, tuple[int, ...]],
    is_integer: Mapping[str, bool],
    groups: Sequence[Groups],
    schema: pa.Schema,
) -> pa.Table:
    """What a kernel emitted for one sharable set, as a partial answer of the workload.

    Whether sums of an attribute have exact digits travels with them. For a column of integers it is
    always so, for one of floating-point numbers never: the schema of the events decides. Only a
    column of decimals with a scale may differ from task to task, since it is taken for integers
    where no value has a fraction (`columns.py`). Its sums have digits where all tasks agree.

    Args:
        plan: The workload.
        program: The program of the set.
        emission: What its kernel gave back; exact where it has no exponents.
        digits: For each attribute of SUM and AVG the exponents of its digits.
        is_integer: Whether sums of an attribute are whole, and so have exact digits.
        groups: The groups of each query of the set, in the order of `program.queries`.
        schema: The columns, from `partial_schema`.
    """
    queries = [plan.queries[number].query for number in program.queries]
    every = SetTotals.of(queries, emission, program, groups, digits)
    keys = key_columns(plan)
    pieces = [schema.empty_table()]
    for local, (number, query) in enumerate(zip(program.queries, queries, strict=True)):
        for role, totals in every.sides(local).items():
            size = len(totals.window)
            columns = {
                "query": pa.array(np.full(size, number, np.int32)),
                "role": pa.array(np.full(size, role, np.int8)),
                "window": pa.array(totals.window),
            }
            columns |= _group_columns(query, totals, groups[local], keys)
            columns |= _number_columns(query, totals, digits, is_integer)
            pieces.append(_table(columns, size, schema))
    return pa.concat_tables(pieces).combine_chunks()


def _table(columns: Mapping[str, Any], size: int, schema: pa.Schema) -> pa.Table:
    """A table of some columns; the others are null."""
    arrays = []
    for field in schema:
        column = columns.get(field.name)
        if column is None:
            arrays.append(pa.nulls(size, field.type))
        else:
            arrays.append(column if column.type == field.type else column.cast(field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def _group_columns(
    query: Query, totals: Totals, groups: Groups, keys: Mapping[str, str]
) -> dict[str, Any]:
    group = pa.array(totals.group)
    columns = {"group": groups.texts.take(group)}
    for attribute in query.group_by:
        columns[keys[attribute]] = groups.values[attribute].take(group)
    return columns


def _number_columns(
    query: Query,
    totals: Totals,
    digits: Mapping[str, tuple[int, ...]],
    is_integer: Mapping[str, bool],
) -> dict[str, Any]:
    """Components and extremes by name of the column."""
    columns = {"trends": _number(totals.components[0])}
    components, sums = iter(totals.components[1:]), sums_of(query)
    for name in components_of_query(query):
        if name in sums:
            attribute = sums[name]
            parts = [(next(components), exponent) for exponent in digits[attribute]]
            columns[name] = _sum(parts, is_integer.get(attribute, False))
        else:
            columns[name] = _number(next(components))
    for name, values in zip(extremes_of_query(query), totals.extremes, strict=True):
        columns[name] = pa.array(values, pa.float64(), from_pandas=True)
    return columns


def _number(column: Any) -> Any:
    if isinstance(column, Wides):
        return _wide(column)
    return Packed.of_digits([(column, 0)]).to_arrow()


def _sum(parts: list[tuple[Any, int]], is_whole: bool) -> Any:
    """The sum of digit * 2**exponent as one number."""
    if isinstance(parts[0][0], Wides):
        first, *others = [part.shifted(exponent) for part, exponent in parts]
        return _wide(sum(others, start=first))
    base = min(exponent for _, exponent in parts)
    packed = Packed.of_digits([(part, exponent - base) for part, exponent in parts])
    size = len(packed)
    arrays = [
        packed.to_arrow(),
        pa.array(np.full(size, base, np.int32)),
        pa.array(np.full(size, is_whole, np.bool_)),
    ]
    return pa.StructArray.from_arrays(arrays, fields=list(SUM))


def _wide(column: Wides) -> Any:
    arrays = [pa.array(column.mantissa), pa.array(column.exponent)]
    return pa.StructArray.from_arrays(arrays, fields=list(WIDE))


def answers_of(
    plan: WorkloadPlan, partial: pa.Table, queries: Iterable[int] | None = None
) -> tuple[Answer, ...]:
    """The rows of each query, from a partial answer that has all there is of its groups.

    Rows of one query, window and group must be in it together, whatever their role; a host may deal
    them out by these three.

    Args:
        plan: The workload.
        partial: The partial answer; rows that belong together are added up first.
        queries: Which queries, by their numbers; all of the workload where left out. One without
            rows has an answer all the same.
    """
    table = merged([partial])
    kinds = (
        array_of(table, "query").to_numpy().astype(np.int32) * 4
        + array_of(table, "role").to_numpy()
    )
    order, starts = sort_by_code(kinds, 4 * len(plan.queries))
    table = table.take(pa.array(order)).combine_chunks()
    keys = key_columns(plan)
    wanted = range(len(plan.queries)) if queries is None else queries
    return tuple(
        _answer(number, plan.queries[number].query, table, starts[4 * number :], keys)
        for number in wanted
    )


def _answer(
    number: int, query: Query, table: pa.Table, starts: Longs, keys: Mapping[str, str]
) -> Answer:
    """The answer of one query, the rows of whose roles begin at `starts`."""
    low, high = int(starts[0]), int(starts[4])
    rows = table.slice(low, high - low)
    group, first = dense_codes(array_of(rows, "group").dictionary_encode().indices.to_numpy())
    firsts = pa.array(first)
    groups = Groups(
        np.zeros(0, np.int32),
        len(first),
        {name: plain(rows.column(keys[name]).take(firsts)) for name in query.group_by},
        array_of(rows, "group").take(firsts),
    )
    components, digits, is_integer = _components(query, rows)
    extremes = [
        array_of(rows, name).to_numpy(zero_copy_only=False) for name in extremes_of_query(query)
    ]
    window = array_of(rows, "window").to_numpy()
    every = Totals(window, group.astype(np.int64), components, extremes)
    sides = {
        role: every.where(slice(int(starts[role]) - low, int(starts[role + 1]) - low))
        for role in (Role.PATTERN, Role.SECOND, Role.BOTH)
    }
    totals = joined(query, sides)
    bounds = np.array([0, len(totals.window)])
    made = answers_from([number], [query], bounds, totals, [groups], digits, is_integer)
    return made.answers()[0]


def _components(
    query: Query, rows: pa.Table
) -> tuple[list[Any], dict[str, tuple[int, ...]], dict[str, bool]]:
    """Components as a kernel would have emitted them, exponents of digits, and what is whole."""
    sums = sums_of(query)
    names = ["trends", *components_of_query(query)]
    if mode_of(rows.schema) is NumberMode.FLOAT:
        wides = [_wides_of(array_of(rows, name)) for name in names]
        return wides, dict.fromkeys(sums.values(), (0,)), {}
    digits: dict[str, tuple[int, ...]] = {}
    is_integer: dict[str, bool] = {}
    of_sums: dict[str, list[Integers]] = {}
    for attribute in dict.fromkeys(sums.values()):
        mine = {name: array_of(rows, name) for name in sums if sums[name] == attribute}
        digits[attribute], cut = _digits(list(mine.values()))
        of_sums |= zip(mine, cut, strict=True)
        is_integer[attribute] = all(_is_whole(column) for column in mine.values())
    components = []
    for name in names:
        components += of_sums.get(name) or [Packed.of_arrow(array_of(rows, name)).integers()]
    return components, digits, is_integer


def _digits(columns: list[Any]) -> tuple[tuple[int, ...], list[list[Integers]]]:
    """The exponents of digits that do for all sums of one attribute, and those of each column."""
    exponents = [column.field("exponent").to_numpy().astype(np.int64) for column in columns]
    together = np.concatenate(exponents)
    base = int(together.min()) if len(together) else 0
    packed = [Packed.of_arrow(column.field("integer")) for column in columns]
    places, cut = cut_alike(packed, [exponent - base for exponent in exponents])
    return tuple(base + place for place in places), cut


def _is_whole(column: Any) -> bool:
    return pc.all(column.field("is_whole")).as_py() is not False


def _wides_of(column: Any) -> Wides:
    return Wides(*(column.field(name).to_numpy() for name in column.type.names))
