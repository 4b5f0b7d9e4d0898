"""Workloads in SQL: `SELECT * FROM trends(TABLE(events), 'RETURN ... PATTERN ...')`.

A table function of Spark's. Spark asks it for its columns while it analyses a statement, so these
have types, and mistakes in a query are told there; it is told in turn which columns are needed and
how rows may be spread: by what all queries group by, in as many buckets as make use of a cluster,
or not at all where there is nothing of that kind. Rows come to it one by one, which
takes longer than the Arrow batches that `workload.run(frame)` gets: that is the way for large
tables in programs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.udtf import AnalyzeResult, PartitioningColumn, SelectedColumn

from hamlet.engine import options_for, run_workload
from hamlet.errors import HamletError, PlanError, SchemaError, UnknownName, listed
from hamlet.events.source import Wanted
from hamlet.events.table import EventTable
from hamlet.events.times import time_type, times_of
from hamlet.explain.planned import PlannedWorkload
from hamlet.io.long_form import long_schema
from hamlet.results import Results
from hamlet.spark.kinds import arrow_type
from hamlet.spark.wide import DIGITS, wide_form, wide_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql.udtf import AnalyzeArgument

    from hamlet.engine import Options
    from hamlet.events.times import Times


NAME = "trends"
# What is given by name, beside the form.
_GIVEN = ("type", "time", "order", "numbers", "sharing")
# More of them than cores, so that buckets of unequal sizes even out.
_BUCKETS = 64
_FORMS = ("wide", "long")


def table_function() -> Any:
    """The function, for a session to be registered with: see `hamlet.spark.register`."""
    return F.udtf(Trends)


@dataclass
class _Analyzed(AnalyzeResult):
    """What is known of a call before it runs; it travels to the tasks.

    text: The queries.
    names: The columns that come, as they are called in the table.
    kinds: Their types.
    options: What else is said, by name.
    """

    text: str = ""
    names: tuple[str, ...] = ()
    kinds: tuple[T.DataType, ...] = ()
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked in SQL, of a table or of files: a workload, how to run it, and in which form.

    form: "wide" or "long".
    """

    workload: PlannedWorkload
    options: Options
    form: str

    @staticmethod
    def of(text: str, named: Mapping[str, str]) -> Asked:
        """What is asked by a text of queries, and by arguments that are given by name.

        Raises:
            HamletError: There is a mistake in it.
        """
        workload, given = PlannedWorkload.parse(text), dict(named)
        form = given.pop("form", "wide" if len(workload.queries) == 1 else "long")
        if form not in _FORMS:
            raise UnknownName("form", form, "It is wide, for one query, or long.")
        if form == "wide" and len(workload.queries) > 1:
            remedy = "Leave the form out, or ask once for each."
            reason = f"the wide form is of one query, and these are {len(workload.queries)}"
            raise PlanError(reason, remedy)
        unknown = given.keys() - set(_GIVEN)
        if unknown:
            raise UnknownName("argument", min(unknown), f"There are {listed([*_GIVEN, 'form'])}.")
        chosen: dict[str, Any] = given
        return Asked(workload, options_for(workload.plan, **chosen), form)

    def schema(self, fields: Mapping[str, T.DataType], times: Times) -> T.StructType:
        """The columns of the results.

        Args:
            fields: The types of attributes.
            times: What windows are given in.
        """
        if self.form == "long":
            return _spark_struct(long_schema(times))
        numbers = self.options.numbers
        wide = wide_form(self.workload.queries[0], fields, time_type(times), numbers=numbers)
        return wide_schema(wide, fields)

    def answered(self, events: Any, schema: T.StructType) -> pa.Table:
        """The results over some events, as a table of these columns."""
        results = Results.of_run(run_workload(self.workload.plan, events, self.options))
        if self.form == "long":
            return results.table
        return _typed(results.wide(self.workload.queries[0].name), schema)


class Trends:
    """The table function: takes the rows of a bucket, and gives results when it has them all."""

    @staticmethod
    def analyze(table: AnalyzeArgument, text: AnalyzeArgument, **named: AnalyzeArgument) -> Any:
        """The columns of the results, and what is needed for them."""
        try:
            return _analyzed(table, _text(text, "the second argument"), named)
        except HamletError as error:
            # Spark shows the message of whatever is raised here.
            raise ValueError(str(error)) from None

    def __init__(self, analyzed: Any) -> None:
        """Get ready for one bucket."""
        self._call: _Analyzed = analyzed
        self._rows: list[Any] = []

    def eval(self, row: Any, *_: Any, **__: Any) -> None:
        """Take a row."""
        self._rows.append(tuple(row))

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        """Run the workload over the rows that have come."""
        call = self._call
        asked = Asked.of(call.text, dict(call.options))
        for batch in asked.answered(self._table(), call.schema).to_batches():
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def _table(self) -> pa.Table:
        columns = list(zip(*self._rows, strict=True)) or [()] * len(self._call.names)
        arrays = [
            _array(values, kind) for values, kind in zip(columns, self._call.kinds, strict=True)
        ]
        return pa.table(dict(zip(self._call.names, arrays, strict=True)))


# While a statement is analysed


def _analyzed(table: AnalyzeArgument, text: str, named: dict[str, AnalyzeArgument]) -> _Analyzed:
    if not table.isTable or not isinstance(table.dataType, T.StructType):
        remedy = f"Write {NAME}(TABLE(events), 'RETURN ...')."
        reason = f"the first argument of {NAME} is no table"
        raise PlanError(reason, remedy)
    given = {name: _text(argument, name) for name, argument in named.items()}
    asked = Asked.of(text, given)
    workload, options = asked.workload, asked.options
    fields = {field.name: field.dataType for field in table.dataType.fields}
    wanted = Wanted.of(workload.plan, options)
    _check(workload, fields, wanted)
    names = wanted.columns
    kinds = tuple(fields[name] for name in names)
    keys = _common_keys(workload)
    return _Analyzed(
        schema=asked.schema(fields, times_of(arrow_type(fields[options.time]))),
        withSinglePartition=not keys,
        partitionBy=[PartitioningColumn(_bucket(keys, fields))] if keys else [],
        select=[_selected(name, kind) for name, kind in zip(names, kinds, strict=True)],
        text=text,
        names=names,
        kinds=kinds,
        options=tuple(given.items()),
    )


def _text(argument: AnalyzeArgument, name: str) -> str:
    if not isinstance(argument.value, str):
        reason = f"{name} is no text that stands in the statement"
        raise PlanError(reason, "Write it in quotes.")
    return argument.value


def _check(workload: PlannedWorkload, fields: dict[str, T.DataType], wanted: Wanted) -> None:
    """Refuse what the engine refuses, by the types of columns."""
    missing = [name for name in wanted.columns if name not in fields]
    nothing = pa.schema([(name, arrow_type(kind)) for name, kind in fields.items()]).empty_table()
    EventTable.of(nothing, workload.plan, type=wanted.type, time=wanted.time, order=wanted.order)
    if missing:
        raise SchemaError("the table", f"there is no column '{missing[0]}'")


def _common_keys(workload: PlannedWorkload) -> list[str]:
    """What is part of every group of every query, so that no group is cut."""
    return sorted(set.intersection(*(set(query.group_by) for query in workload.queries)))


def _bucket(keys: Sequence[str], fields: dict[str, T.DataType]) -> str:
    """A number that is the same for all rows of a group; 0.0 and -0.0 are one."""
    named = [_quoted(key) for key in keys]
    hashed = [
        f"{name} + 0.0D" if isinstance(fields[key], T.FloatType | T.DoubleType) else name
        for key, name in zip(keys, named, strict=True)
    ]
    return f"pmod(hash({', '.join(hashed)}), {_BUCKETS})"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _selected(name: str, kind: T.DataType) -> SelectedColumn:
    """A column as it comes: moments as microseconds, as Python would have them in a local time."""
    if isinstance(kind, T.TimestampType):
        return SelectedColumn(f"unix_micros({_quoted(name)})", _quoted(name))
    return SelectedColumn(_quoted(name))


def _spark_type(kind: pa.DataType) -> T.DataType:
    return from_arrow_type(kind, prefer_timestamp_ntz=True)


def _spark_struct(schema: pa.Schema) -> T.StructType:
    return T.StructType([T.StructField(each.name, _spark_type(each.type)) for each in schema])


# While it runs


def _array(values: Sequence[Any], kind: T.DataType) -> pa.Array:
    if isinstance(kind, T.TimestampType):
        return pa.array(values, pa.int64()).cast(arrow_type(kind))
    return pa.array(values, arrow_type(kind))


def _typed(table: pa.Table, schema: T.StructType) -> pa.Table:
    """A wide table with the types that were told of before it was there."""
    columns = []
    for field, column in zip(schema.fields, table.columns, strict=True):
        wanted = arrow_type(field.dataType)
        if pa.types.is_decimal(wanted) and pa.types.is_large_string(column.type):
            remedy = (
                "write form => 'long', whose column exact has all digits, or numbers => 'float'"
            )
            reason = f"{field.name} has more than {DIGITS} digits; {remedy}"
            raise ValueError(reason)
        columns.append(column if column.type == wanted else column.cast(wanted))
    return pa.table(columns, names=schema.fieldNames())
