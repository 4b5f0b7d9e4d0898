"""The column contract: any table of events as type, time, order and the attributes queries need.

Tables come as Arrow (table, batch, reader, or anything with Arrow's C interface, such as Polars and
relations of DuckDB), pandas, a list of dicts, or files. Rows that cannot take part because they
cannot be read, or have no type or no time, are left out here and counted by reason; what remains
fits the queries, or it is an error that says what to change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet.errors import SchemaError, did_you_mean, listed
from hamlet.events.columns import Values, kind_of, plain, values_of
from hamlet.events.files import read_files
from hamlet.events.formats import separator_of
from hamlet.events.json_file import found_rows
from hamlet.events.required_columns import check_kinds, needs_of
from hamlet.events.source import Sieve, SourceTable, Wanted
from hamlet.events.texts import times_of_texts
from hamlet.events.times import REASONS, Times, is_time, microseconds, times_of
from hamlet.events.untyped import column_of_values
from hamlet.plan.predicates import EVENT_TIME
from hamlet.plan.query import OTHER, asked_types
from hamlet.plan.remembered import remembered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.plan.workload import WorkloadPlan
    from hamlet.schema import Kind

NO_TYPE = "no type"
# Rows are numbered with 32 bits.
MOST_ROWS = 2**31 - 1


@dataclass(slots=True)
class Statistics:
    """What became of the rows.

    rows: All rows, those that could not be read included.
    malformed: Rows left out, by reason.
    notes: What may be a mistake.
    """

    rows: int
    malformed: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class EventTable:
    """Events ready to be encoded: every row has a type and a time, every attribute the right kind.

    name: What to call the events in a message.
    ts: Time in microseconds.
    times: What times were given in, and windows are.
    types: Codes and words of the types.
    kept: What those who encode it keep for one another.
    """

    def __init__(
        self,
        name: str,
        table: pa.Table,
        ts: NDArray[np.int64],
        types: Values,
        order: str | None,
        times: Times,
        statistics: Statistics,
    ) -> None:
        self.name = name
        self.table = table
        self.ts = ts
        self.types = types
        self.times = times
        self.statistics = statistics
        self._order = order
        self.kept: dict[Any, Any] = {}
        self._values: dict[str, Values] = {}

    @staticmethod
    def of(
        source: Any,
        plan: WorkloadPlan,
        *,
        type: str = "type",
        time: str = "time",
        order: str | None = None,
        separator: str | None = None,
        has_all: bool = False,
    ) -> EventTable:
        """The events of any source, as a workload needs them.

        Args:
            source: Arrow, pandas, Polars, DuckDB, a list of dicts, or the path of files.
            plan: The workload; only columns that it looks at are read.
            type: The column with the types.
            time: The column with the times.
            order: The column that orders events of equal time.
            separator: What stands between the columns of text files; None for what their ending
                says.
            has_all: Whether all other columns are kept too.

        Raises:
            ReadError: A file cannot be read.
            SchemaError: A column is missing, or is not what the workload uses it for.
        """
        wanted = Wanted(type, time, order, needs_of(plan), separator_of(separator), has_all)
        loaded = _found(source, wanted)
        table = _complete(loaded, wanted)
        if table.num_rows > MOST_ROWS:
            raise SchemaError(loaded.name, f"more than {MOST_ROWS:,} rows; run it in parts")
        sieve = Sieve(Counter(loaded.malformed))
        rows = table.num_rows + sum(loaded.malformed.values())
        ts, times = _times(table.column(time), loaded.name, time, sieve)
        types = _types(table.column(type), loaded.name, type, sieve)
        attributes = wanted.needs.attributes
        kinds = {a: _kind(table.column(a), a, loaded.name) for a in attributes}
        check_kinds(plan, kinds, loaded.name)
        for attribute in sorted(wanted.needs.summed):
            column = table.column(attribute)
            if pa.types.is_floating(column.type):
                sieve.fault(_infinite(column), f"{attribute} is infinite")
        if order is not None:
            _kind(table.column(order), order, loaded.name)
        if sieve.good is not None:
            good = np.flatnonzero(sieve.good)
            table, ts, types = sieve.kept(table), ts[good], types.take(good)
        statistics = Statistics(rows, malformed=dict(sieve.malformed), notes=loaded.notes)
        types = _as_asked(types, _asked(plan))
        return EventTable(loaded.name, table, ts, types, order, times, statistics)

    def __len__(self) -> int:
        return len(self.ts)

    def column(self, attribute: str) -> Values:
        """An attribute of all rows, or their times."""
        if attribute == EVENT_TIME:
            return Values("time", self.ts)
        if attribute not in self._values:
            self._values[attribute] = values_of(self.table.column(attribute))
        return self._values[attribute]

    @cached_property
    def type_codes(self) -> dict[str, int]:
        """The code of each type."""
        words = [] if self.types.words is None else self.types.words.to_pylist()
        return {word: code for code, word in enumerate(words)}

    @property
    def order(self) -> Values | None:
        """The values that order events of equal time, where there are any."""
        return None if self._order is None else self.column(self._order)

    def earliest(self, most: int) -> EventTable:
        """The same events, or where there are more than so many the earliest of them."""
        if len(self) <= most:
            return self
        return self.take(np.sort(np.argsort(self.ts, kind="stable")[:most]))

    def take(self, rows: NDArray[np.intp]) -> EventTable:
        """Some of the events, by the numbers of their rows."""
        return EventTable(
            self.name,
            self.table.take(rows),
            self.ts[rows],
            self.types.take(rows),
            self._order,
            self.times,
            Statistics(len(rows)),
        )


@remembered
def _asked(plan: WorkloadPlan) -> frozenset[str]:
    return asked_types(planned.query for planned in plan.queries)


def _as_asked(types: Values, asked: frozenset[str]) -> Values:
    """Types, with one for all that nobody mentions where somebody asks for that."""
    if OTHER not in asked or types.words is None:
        return types
    known = [word for word in types.words.to_pylist() if word in asked and word != OTHER]
    number = {word: code for code, word in enumerate([*known, OTHER])}
    codes = [number.get(word, number[OTHER]) for word in types.words.to_pylist()]
    data = np.array([*codes, -1], types.data.dtype)[types.data]
    return Values(types.kind, data, types.valid, pa.array([*known, OTHER], types.words.type))


# Sources


def _found(source: Any, wanted: Wanted) -> SourceTable:
    if isinstance(source, str | Path):
        return read_files(source, wanted)
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    elif isinstance(source, pa.RecordBatchReader):
        source = source.read_all()
    if isinstance(source, pa.Table):
        return _from_table(source, wanted)
    if type(source).__module__.split(".")[0] == "pandas":
        return _from_pandas(source, wanted)
    if hasattr(source, "collect_schema") and hasattr(source, "collect"):
        return _from_lazy(source, wanted)
    if hasattr(source, "__arrow_c_stream__"):
        return _from_table(pa.RecordBatchReader.from_stream(source).read_all(), wanted)
    if isinstance(source, Iterable) and not isinstance(source, Mapping | bytes):
        sieve = Sieve()
        rows = list(source)
        good = [row for row in rows if isinstance(row, Mapping)]
        if len(good) < len(rows):
            sieve.malformed["not a row"] += len(rows) - len(good)
        loaded = found_rows("events", good, wanted, sieve)
        return replace(loaded, may_lack=True)
    kinds = (
        "an Arrow table, a pandas or Polars DataFrame, a DuckDB relation, a list of dicts or a path"
    )
    raise SchemaError("events", f"{type(source).__name__} is not a table of events; pass {kinds}")


def _from_table(table: pa.Table, wanted: Wanted) -> SourceTable:
    names = tuple(table.schema.names)
    asked = wanted.among(names)
    for name in asked:
        if names.count(name) > 1:
            raise SchemaError("events", f"there are {names.count(name)} columns '{name}'")
    return SourceTable("events", table.select(asked), names)


def _from_lazy(frame: Any, wanted: Wanted) -> SourceTable:
    """A LazyFrame of Polars, of which only the columns that are needed are computed."""
    names = tuple(frame.collect_schema().names())
    loaded = _from_table(pa.table(frame.select(wanted.among(names)).collect()), wanted)
    return SourceTable(loaded.name, loaded.table, names)


def _from_pandas(frame: Any, wanted: Wanted) -> SourceTable:
    names = tuple(str(name) for name in frame.columns)
    columns: dict[str, Any] = {}
    sieve = Sieve()
    for name in wanted.among(names):
        try:
            columns[name] = pa.chunked_array(pa.Array.from_pandas(frame[name]))
        except (pa.ArrowException, TypeError, ValueError):
            try:
                columns[name] = pa.Array.from_pandas(frame[name])
            except (pa.ArrowException, TypeError, ValueError):
                kind = wanted.needs.kinds.get(name)
                columns[name], faulty = column_of_values(frame[name].tolist(), kind)
                sieve.fault(faulty, f"{name} is not what it is used for")
    return SourceTable("events", sieve.kept(pa.table(columns)), names, sieve.malformed)


def _complete(loaded: SourceTable, wanted: Wanted) -> pa.Table:
    """The table with every wanted column, or the error that says which one is missing.

    Here columns get the types that everything after this knows, wherever they have come from.
    """
    table = loaded.table
    given = table.columns
    columns = [plain(column) for column in given]
    if any(one is not other for one, other in zip(columns, given, strict=True)):
        table = pa.table(columns, names=table.column_names)
    is_empty = not loaded.columns and not table.num_rows
    names = frozenset(table.schema.names)
    for name in wanted.columns:
        if name in names:
            continue
        is_given = name in (wanted.type, wanted.time, wanted.order)
        if not is_empty and (is_given or not loaded.may_lack):
            raise SchemaError(loaded.name, _missing(name, loaded, wanted))
        table = table.append_column(name, pa.nulls(table.num_rows))
    return table


def _missing(name: str, loaded: SourceTable, wanted: Wanted) -> str:
    options = {wanted.type: "type", wanted.time: "time", wanted.order: "order"}
    has = f"column '{name}' not found; it has: {listed(loaded.columns)}"
    if name in options:
        option = options[name]
        say = f"{option}='...', or --{option} on the command line"
        return f"{has}; pass {say}." + did_you_mean(name, loaded.columns)
    return has + "." + did_you_mean(name, loaded.columns)


# Columns


def _times(
    column: pa.ChunkedArray, name: str, time: str, sieve: Sieve
) -> tuple[NDArray[np.int64], Times]:
    """Microseconds and what they were given in; rows without a time are put down as faulty."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    example = ""
    if kind_of(column.type) == "text":
        text = column.cast(pa.large_string()).combine_chunks()
        example = next((f", such as {each!r}" for each in text[:1].to_pylist() if each), "")
        read, faulty = times_of_texts(text)
        sieve.fault(faulty, REASONS[2])
        column = pa.chunked_array([read])
    if not is_time(column.type):
        what = "time must be a timestamp, a date, a number of seconds or ISO 8601 text"
        fact = f"column '{time}' is {_described(column.type)}{example}"
        raise SchemaError(name, f"{fact}; {what} like 2026-03-02T08:00:00")
    ts, fault = microseconds(column)
    for code, reason in REASONS.items():
        if fault is not None:
            sieve.fault(fault == code, reason)
    return ts, times_of(column.type)


def _types(column: pa.ChunkedArray, name: str, type_column: str, sieve: Sieve) -> Values:
    if pa.types.is_null(column.type):
        column = column.cast(pa.large_string())
    if kind_of(column.type) != "text":
        what = "types must be text"
        raise SchemaError(name, f"column '{type_column}' is {_described(column.type)}; {what}")
    types = values_of(column)
    sieve.fault(None if types.valid is None else ~types.valid, NO_TYPE)
    return types


def _kind(column: pa.ChunkedArray, attribute: str, name: str) -> Kind | None:
    kind = kind_of(column.type)
    if kind is None and not pa.types.is_null(column.type):
        what = "attributes are numbers, text, truth values or timestamps"
        raise SchemaError(name, f"column '{attribute}' is {_described(column.type)}; {what}")
    return kind


def _described(column: pa.DataType) -> str:
    kind = kind_of(column)
    words = {"number": "a number", "text": "text", "boolean": "a truth value", "time": "a time"}
    if pa.types.is_time(column):
        return "a time of day without a date"
    return words[kind] if kind else f"of type {column}"


def _infinite(column: pa.ChunkedArray) -> NDArray[np.bool_] | None:
    """Where a column is infinite; None where it is nowhere."""
    if any(np.isinf(chunk.to_numpy(zero_copy_only=False)).any() for chunk in column.chunks):
        return pc.is_inf(column).fill_null(False).to_numpy()  # type: ignore[no-any-return]
    return None
