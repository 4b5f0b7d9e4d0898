"""What comes in: tables made to fit the columns of the beginning, rows to those who ask for them.

Sets that partition the stream by the same attributes are one *keying*. A row waits once for each
keying that asks for its type and for which it has a key, with the columns that its sets look at,
and on the page of its key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as kinds

from hamlet.engine.state.hashing import hashes_of
from hamlet.engine.state.rows import RawRows, Waiting
from hamlet.errors import SchemaError, did_you_mean, listed
from hamlet.events.columns import Values, plain, plain_type
from hamlet.events.required_columns import needs_of
from hamlet.events.table import EventTable, Statistics
from hamlet.events.times import NAIVE
from hamlet.kernel.encode.partitions import present_rows
from hamlet.plan.query import OTHER, asked_types

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from hamlet.engine import Options
    from hamlet.engine.state.set_state import SetState
    from hamlet.plan.workload import WorkloadPlan

    Codes = NDArray[np.int32]
    Wanted = NDArray[np.bool_]

_NAME = "events"


class Keying:
    """The sets that partition the stream by the same attributes, and the rows that wait for them.

    Attributes:
        keys: The attributes.
        schema: The columns that the sets look at.
        waiting: Rows that are not released yet.
    """

    def __init__(self, sets: list[SetState], types: Sequence[str], schema: pa.Schema) -> None:
        self.sets = sets
        self.keys = sorted(sets[0].sharable.partition)
        names = dict.fromkeys(name for each in sets for name in each.attributes)
        self.schema = pa.schema([schema.field(name) for name in names])
        asked = {name for each in sets for name in each.program.alphabet.types}
        # The last entry stands for types that nobody asks for, whose number is -1.
        self._is_asked = np.array([*(name in asked for name in types), False], np.bool_)
        self.waiting = Waiting(self.schema)

    def wanted(self, events: EventTable, codes: Codes) -> Wanted:
        """Which events take part here."""
        wanted = np.asarray(self._is_asked[codes])
        present = present_rows(events, self.keys)
        return wanted if present is None else wanted & present

    def pages(self, table: pa.Table, count: int, pages: int) -> Codes:
        """The page of each row."""
        if pages == 1:
            return np.zeros(count, np.int32)
        hashes = hashes_of([table.column(name) for name in self.keys], count)
        return (hashes % np.uint64(pages)).astype(np.int32)

    def rows(
        self, events: EventTable, codes: Codes, wanted: Wanted, pages: int, is_lent: bool = False
    ) -> RawRows:
        """The events that are wanted, as rows; whether the host keeps them as well."""
        table = events.table.select(self.schema.names).cast(self.schema)
        page = self.pages(table, len(events), pages)
        lent = np.ones(len(events), np.bool_) if is_lent else None
        return RawRows(events.ts, codes, page, table, lent).taken(wanted)


class Intake:
    """Tables as events.

    Attributes:
        schema: The columns that the workload looks at. Dictionaries are taken apart: what is kept
            for long should not keep the words of others.
        types: The types that it asks for.
    """

    def __init__(self, plan: WorkloadPlan, options: Options, schema: pa.Schema) -> None:
        self.plan = plan
        self.options = options
        order = [] if options.order is None else [options.order]
        self._attributes = frozenset([*order, *needs_of(plan).attributes])
        names = dict.fromkeys([options.type, options.time, *sorted(self._attributes)])
        self.schema = pa.schema([_plain_field(schema, name) for name in names])
        self.types = tuple(sorted(asked_types(planned.query for planned in plan.queries)))
        self.events(self.schema.empty_table())

    def events(self, table: pa.Table | pa.RecordBatch) -> EventTable:
        """The rows of a table that can be read."""
        options = self.options
        return EventTable.of(
            self._fitting(table),
            self.plan,
            type=options.type,
            time=options.time,
            order=options.order,
        )

    def _fitting(self, table: pa.Table | pa.RecordBatch) -> pa.Table:
        """The columns of a table that are looked at, with the types that they had before."""
        columns = {}
        for field in self.schema:
            column = _plain_column(table.column(_only(table.schema, field.name)))
            # Types are not kept but as numbers, for which a dictionary is welcome.
            is_kept = field.name != self.options.type or field.name in self._attributes
            kind = column.type
            if not is_kept and kinds.is_dictionary(kind) and kind.value_type == field.type:
                kind = field.type
            if kind != field.type:
                try:
                    column = column.cast(field.type)
                except pa.ArrowException as error:
                    reason = f"column '{field.name}' is {kind}, not {field.type} as before"
                    raise SchemaError(_NAME, reason) from error
            columns[field.name] = column
        return pa.table(columns)

    def codes(self, events: EventTable) -> Codes:
        """The number of the type of each event; -1 where no query asks for it."""
        number = {name: code for code, name in enumerate(self.types)}
        words = [] if events.types.words is None else events.types.words.to_pylist()
        by_word = np.array([*(number.get(word, -1) for word in words), -1], np.int32)
        return np.asarray(by_word[events.types.data])

    def pages_of(
        self, table: pa.Table, keyings: Sequence[Keying], pages: int
    ) -> Iterator[tuple[Wanted, Codes]]:
        """For each keying which rows take part, whether or not their time can be read, and where.

        A row that is left out for another reason may be said to take part.
        """
        fitting = self._fitting(table)
        count = fitting.num_rows
        types = fitting.column(self.options.type).cast(pa.large_string())
        found: Any = pc.index_in(types, pa.array(self.types, pa.large_string()))
        other = self.types.index(OTHER) if OTHER in self.types else -1
        codes = found.fill_null(other).to_numpy().astype(np.int32)
        nothing = Values(None, np.zeros(count, np.int32))
        events = EventTable(
            _NAME, fitting, np.zeros(count, np.int64), nothing, None, NAIVE, Statistics(count)
        )
        for keying in keyings:
            yield keying.wanted(events, codes), keying.pages(fitting, count, pages)


def _plain_field(schema: pa.Schema, name: str) -> pa.Field:
    kind = plain_type(schema.field(_only(schema, name)).type)
    return pa.field(name, kind.value_type if kinds.is_dictionary(kind) else kind)


def _plain_column(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray:
    return plain(column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column]))


def _only(schema: pa.Schema, name: str) -> int:
    """Where the one column of a name is."""
    at = schema.get_all_field_indices(name)
    if not at:
        has = f"column '{name}' not found; it has: {listed(schema.names)}."
        raise SchemaError(_NAME, has + did_you_mean(name, schema.names))
    if len(at) > 1:
        raise SchemaError(_NAME, f"there are {len(at)} columns '{name}'")
    return int(at[0])
