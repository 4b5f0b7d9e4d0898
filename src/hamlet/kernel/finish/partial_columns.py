"""The columns of partial answers.

The table has one row for each query, role, window and group. It stands before AND and AVG: the
three templates of AND (roles PATTERN, SECOND, BOTH) must be added up over all partitions of a
group before they are multiplied, and so must the two numbers of an average before one is divided.
Its columns depend on the workload, on the types of grouping attributes and on the mode, never on
the events:

    query       int32           number in the workload
    role        int8            `Role` of the template
    window      int64           number i of the window [i*slide, i*slide+within)
    group       large_string    JSON text; with query, role and window it names the row
    key_0 ...   as in events    grouping attributes of the workload, each once, in the order of
                                queries; null where a query does not group by it
    trends      number          trends
    count_i     number          of aggregate i: occurrences, for SUM and AVG those with a value
    sum_i       sum             of aggregate i
    square_i    sum             of aggregate i: of the squares of its attribute
    time_i      number          of aggregate i: of times, and of turns, that durations are made of
    turn_i      number          (`Weight` in kernel/base.py)
    min_i       double          of aggregate i; null for none
    max_i       double          of aggregate i; null for none

A column is there when some query needs it, and null for queries that do not. A number is, in exact
mode, an integer in bytes (packed.py), and in float mode a struct: double `mantissa` and int64
`exponent`. A sum in exact mode is a struct too: `integer` in bytes and int32 `exponent`, for a
value of integer * 2**exponent, and `is_whole`, whether it has exact digits. The exponents of digits
depend on the values that a task has seen, so each row says its own; of rows that are added up, the
least stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hamlet.kernel.finish.integers import TEXT
from hamlet.kernel.finish.packed import PACKED
from hamlet.plan.aggregates import FUNCTIONS
from hamlet.plan.number_mode import NumberMode

if TYPE_CHECKING:
    from hamlet.plan.aggregates import WeightKind
    from hamlet.plan.number_mode import Numbers
    from hamlet.plan.query import Query
    from hamlet.plan.workload import WorkloadPlan

WIDE = pa.struct([("mantissa", pa.float64()), ("exponent", pa.int64())])
SUM = pa.struct([("integer", PACKED), ("exponent", pa.int32()), ("is_whole", pa.bool_())])
# What the columns of a component are called, by what it adds up
_OF_WEIGHT: dict[WeightKind, str] = {
    "one": "count",
    "present": "count",
    "value": "sum",
    "square": "square",
    "time": "time",
    "turn": "turn",
}
_NAMES = {"query": pa.int32(), "role": pa.int8(), "window": pa.int64(), "group": TEXT}


def mode_of(partial: pa.Schema) -> NumberMode:
    """The mode that a partial answer was made in."""
    has_exponents = partial.field("trends").type == WIDE
    return NumberMode.FLOAT if has_exponents else NumberMode.EXACT


def partial_schema(plan: WorkloadPlan, events: pa.Schema, numbers: Numbers) -> pa.Schema:
    """The columns of every partial answer of a workload.

    Args:
        plan: The workload.
        events: The types of grouping attributes, as in the events; null where it has not got one.
        numbers: The mode.
    """
    number, total = (WIDE, WIDE) if NumberMode(numbers).has_exponents else (PACKED, SUM)
    fields = list(_NAMES.items())
    fields += [(name, _key_type(events, key)) for key, name in key_columns(plan).items()]
    fields.append(("trends", number))
    types = {"count": number, "sum": total, "square": total, "time": number, "turn": number}
    types |= {each.name.lower(): pa.float64() for each in FUNCTIONS.values() if each.sign}
    queries = [planned.query for planned in plan.queries]
    needed = {name for q in queries for name in (*components_of_query(q), *extremes_of_query(q))}
    most = max((len(query.aggregates) for query in queries), default=0)
    for i in range(most):
        fields += [(f"{k}_{i}", t) for k, t in types.items() if f"{k}_{i}" in needed]
    return pa.schema(fields)


def conformed(table: pa.Table) -> pa.Table:
    """A partial answer with the types that `partial_schema` gives it.

    A host may know only the kinds of text and bytes with 32-bit offsets.
    """
    schema = pa.schema([(field.name, _type(field)) for field in table.schema])
    return table if table.schema.equals(schema) else table.cast(schema)


def _type(field: pa.Field) -> pa.DataType:
    kind = field.name.split("_")[0]
    if kind == "key":
        return field.type
    if kind in ("min", "max"):
        return pa.float64()
    if kind in ("trends", *_OF_WEIGHT.values()):
        if pa.types.is_struct(field.type) and field.type.get_field_index("mantissa") >= 0:
            return WIDE
        return SUM if kind in ("sum", "square") else PACKED
    return _NAMES[field.name]


def key_columns(plan: WorkloadPlan) -> dict[str, str]:
    """The column of each grouping attribute."""
    attributes = dict.fromkeys(a for planned in plan.queries for a in planned.query.group_by)
    return {attribute: f"key_{number}" for number, attribute in enumerate(attributes)}


def _key_type(events: pa.Schema, attribute: str) -> pa.DataType:
    place = events.get_field_index(attribute)
    if place < 0:
        return pa.null()
    kind = events.field(place).type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def components_of_query(query: Query) -> list[str]:
    """The columns of the components of a query after its number of trends, in their order."""
    return [
        f"{_OF_WEIGHT[kind]}_{i}"
        for i, aggregate in enumerate(query.aggregates)
        for kind in aggregate.weights
    ]


def extremes_of_query(query: Query) -> list[str]:
    """The columns of the extremes of a query, in their order."""
    return [f"{a.function.lower()}_{i}" for i, a in enumerate(query.aggregates) if a.sign]


def sums_of(query: Query) -> dict[str, str]:
    """What each column of sums of a query adds up: an attribute, or its squares."""
    return {
        f"{_OF_WEIGHT[kind]}_{i}": aggregate.sum_of(kind)
        for i, aggregate in enumerate(query.aggregates)
        for kind in aggregate.weights
        if kind in ("value", "square")
    }


def array_of(table: pa.Table, name: str) -> Any:
    """A column as one array."""
    column = table.column(name)
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
