"""The wide form of one query: a row for each window and group, a column for each of its results.

Tasks give the long form, in which the results of a window and group stand one below the other. So
a wide row is made of as many rows as the query has results, where these are: nothing is shuffled,
and it is the same for a batch and for a stream. Types follow from the query and from the types of
the input, never from values.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type

from hamlet.errors import PlanError, UnknownName, listed
from hamlet.io.long_form import free_name
from hamlet.results import number_of
from hamlet.spark.examples import read_value
from hamlet.spark.kinds import WHOLE, arrow_type

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame

    from hamlet.engine import Options
    from hamlet.plan.number_mode import Numbers
    from hamlet.plan.query import Query

Also = Literal["log10", "exact"]
WholeAs = Literal["decimal", "text", "double"]
DIGITS = 38
_WHOLE_AS = get_args(WholeAs)
_KINDS = ("value", "exact", "log10")
_DECIMAL = pa.decimal128(DIGITS, 0)


class _Column(NamedTuple):
    """A column of results.

    name: What it is called.
    result: The number of the result.
    kind: The column of the long form that it is read from.
    is_decimal: Whether digits are read as a decimal.
    """

    name: str
    result: int
    kind: str
    is_decimal: bool = False


@dataclass(frozen=True, slots=True)
class Wide:
    """What makes wide rows of long ones; plain data, for tasks.

    name: Of the query.
    schema: The columns.
    group_by: The grouping attributes, which stand after the window, with their types.
    columns: Those of results, after them.
    width: How many rows of the long form are one.
    beside: Columns of the long form that stand after them, the same in all rows that are one.
    """

    name: str
    schema: pa.Schema
    group_by: tuple[tuple[str, pa.DataType], ...]
    columns: tuple[_Column, ...]
    width: int
    beside: tuple[str, ...] = ()

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Wide rows of the long ones of the query, whose order is that in which tasks give them."""
        rest: pa.Table | None = None
        for batch in batches:
            wide = pa.Table.from_batches([batch])
            table = wide if rest is None else pa.concat_tables([rest, wide])
            whole = table.num_rows // self.width * self.width
            rest = table.slice(whole) if whole < table.num_rows else None
            if whole:
                yield from self._made(table.slice(0, whole)).to_batches()

    def _made(self, long: pa.Table) -> pa.Table:
        long = long.combine_chunks()
        firsts = long.take(pa.array(range(0, long.num_rows, self.width), pa.int64()))
        columns = [firsts["window_start"], firsts["window_end"]]
        columns += keys_of(self.group_by, firsts["group"])
        for column in self.columns:
            places = pa.array(range(column.result, long.num_rows, self.width), pa.int64())
            values = long[column.kind].take(places)
            columns.append(self._as_decimal(column, values) if column.is_decimal else values)
        columns += [firsts[name] for name in self.beside]
        cast = [each.cast(kind) for each, kind in zip(columns, self.schema.types, strict=True)]
        return pa.Table.from_arrays(cast, schema=self.schema)

    def _as_decimal(self, column: _Column, digits: pa.ChunkedArray) -> pa.ChunkedArray:
        """Digits as a decimal; what is too long fails rather than be lost."""
        longest = pc.max(pc.utf8_length(pc.utf8_ltrim(digits, "-"))).as_py()
        if (longest or 0) > DIGITS:
            reason = f"{column.name} of {self.name} has more than {DIGITS} digits"
            raise PlanError(reason, 'Pass whole="text" or whole="double".')
        return digits.cast(_DECIMAL)


def keys_of(
    group_by: Sequence[tuple[str, pa.DataType]], group: pa.ChunkedArray
) -> list[pa.ChunkedArray]:
    """The values of grouping attributes, with their types; each group is read once."""
    known = group.combine_chunks().dictionary_encode()
    if isinstance(known, pa.ChunkedArray):
        known = known.combine_chunks()
    read = [json.loads(text, parse_float=Decimal) for text in known.dictionary.to_pylist()]
    return [
        pa.array([read_value(each[name], kind) for each in read], kind).take(known.indices)
        for name, kind in group_by
    ]


def wide_form(
    query: Query,
    kinds: Mapping[str, T.DataType],
    time: pa.DataType,
    *,
    numbers: Numbers = "exact",
    also: Collection[Also] = (),
    whole: WholeAs = "decimal",
    beside: Mapping[str, pa.DataType] | None = None,
) -> Wide:
    """The wide form of a query.

    Args:
        query: The query.
        kinds: The types of attributes in the events.
        time: The type of the ends of windows.
        numbers: The kind of numbers.
        also: Which further columns each result gets.
        whole: What exact counts and sums of whole numbers are.
        beside: Columns of the long form that rows have as well, with their types.

    Raises:
        UnknownName: There is no such way to write whole numbers.
    """
    if whole not in _WHOLE_AS:
        remedy = f"They are one of {listed(_WHOLE_AS)}."
        raise UnknownName("way to write whole numbers", whole, remedy)
    fields: dict[str, pa.DataType] = {"window_start": time, "window_end": time}
    keys = []
    for attribute in query.group_by:
        kind = arrow_type(kinds[attribute])
        keys.append((attribute, kind))
        fields[free_name(attribute, fields)] = kind
    summed = [name for name, kind in kinds.items() if is_whole(kind)]
    columns = []
    for number, result in enumerate(query.returned):
        has_digits = numbers == "exact" and query.has_digits(result.expression, summed)
        for each in _KINDS:
            if each != "value" and each not in also:
                continue
            column = _Column(result.name, number, each)
            kind = pa.string() if each == "exact" else pa.float64()
            if each == "value" and has_digits and whole != "double":
                column = _Column(result.name, number, "exact", is_decimal=whole == "decimal")
                kind = _DECIMAL if column.is_decimal else pa.string()
            suffix = "" if each == "value" else f"__{each}"
            fields[free_name(f"{result.name}{suffix}", fields)] = kind
            columns.append(column)
    for name, kind in (beside or {}).items():
        fields[free_name(name, fields)] = kind
    schema = pa.schema(list(fields.items()))
    width = len(query.returned)
    return Wide(query.name, schema, tuple(keys), tuple(columns), width, tuple(beside or ()))


def is_whole(kind: T.DataType) -> bool:
    """Whether sums of a column of a type are whole numbers."""
    return isinstance(kind, WHOLE) or (isinstance(kind, T.DecimalType) and kind.scale == 0)


def wide_schema(wide: Wide, kinds: Mapping[str, T.DataType]) -> T.StructType:
    """The columns as Spark has them: the grouping attributes with the types of the input."""
    known = from_arrow_schema(wide.schema, prefer_timestamp_ntz=True).fields
    for field, (attribute, _) in zip(known[2:], wide.group_by, strict=False):
        field.dataType = kinds[attribute]
    return T.StructType(known)


def wide_frame(long: DataFrame, wide: Wide, kinds: Mapping[str, T.DataType]) -> DataFrame:
    """The rows of one query, of long ones as tasks give them; a batch or a stream."""
    rows = long.where(F.col("query") == wide.name)
    return rows.mapInArrow(wide.rows, wide_schema(wide, kinds))


def wide_rows(
    long: DataFrame,
    query: Query,
    events: DataFrame,
    options: Options,
    beside: Sequence[str] = (),
) -> DataFrame:
    """The rows of a query of long ones, a batch or a stream, as columns of the types of events."""
    kinds = {field.name: field.dataType for field in events.schema.fields}
    time = arrow_type(long.schema["window_start"].dataType)
    more = {name: to_arrow_type(long.schema[name].dataType) for name in beside}
    form = wide_form(query, kinds, time, numbers=options.numbers, beside=more)
    return wide_frame(long, form, kinds)


def chosen(asked: str | bool, queries: Sequence[Query]) -> Query:
    """The query whose wide form is asked for: by its name, or the only one.

    Raises:
        PlanError: There is no such query, or none is named and there are several.
    """
    names = [query.name for query in queries]
    if isinstance(asked, str):
        return queries[number_of(asked, names)]
    if len(queries) > 1:
        remedy = f"Name one: {listed(names)}."
        raise PlanError("the wide form is of one query", remedy)
    return queries[0]
