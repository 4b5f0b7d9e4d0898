"""Partitions of events: a number for each combination of values, and the group of each partition.

Every attribute is made a dense code of its own, codes are combined pair by pair, and each pair is
made dense again, so that no product of counts grows beyond 64 bits however many attributes there
are. Values themselves are never touched row by row: those of a partition are read off its first
event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from hamlet.events.columns import kind_of, numpy_of
from hamlet.kernel.encode.sorting import dense_codes, take

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from hamlet.events.table import EventTable

    Codes = NDArray[np.int32]


# Combinations of values that there could be, for each row, up to which each has a code
_ROOM, _MOST_CODES = 4, 2**31 - 1


@dataclass(frozen=True, slots=True)
class Grouping:
    """The groups of a query.

    of_partition: The group number of each partition.
    partition: A partition of each group, to read the values of its attributes from.
    """

    attributes: tuple[str, ...]
    of_partition: Codes
    partition: Codes


@dataclass(frozen=True, slots=True)
class Partitions:
    """Partitions of some rows.

    of_row: The partition number of each row.
    count: How many there are.
    keys: For each partition attribute its value in each partition.
    codes: For each partition attribute a code of its value in each partition.
    """

    of_row: Codes
    count: int
    keys: Mapping[str, pa.Array]
    codes: dict[str, Codes]

    def grouped(self, attributes: tuple[str, ...]) -> Grouping:
        """The groups that partitions with equal values of some attributes make."""
        if set(attributes) == set(self.keys):
            everything = np.arange(self.count, dtype=np.int32)
            return Grouping(attributes, everything, everything)
        of_partition, first = _combined([self.codes[name] for name in attributes], self.count)
        return Grouping(attributes, of_partition, first)


def present_rows(table: EventTable, attributes: Sequence[str]) -> NDArray[np.bool_] | None:
    """Which rows have a value for every one of some attributes; None where all have."""
    present = [each for each in (_present(table, one) for one in attributes) if each is not None]
    return np.logical_and.reduce(present) if present else None


def _present(table: EventTable, attribute: str) -> NDArray[np.bool_] | None:
    """The same of one of them, found out once for a table."""
    key = (_present, attribute)
    if key not in table.kept:
        column, present = table.table.column(attribute), None
        if _may_be_nan(column.type):
            present = ~numpy_of(column.is_null(nan_is_null=True))
        elif column.null_count:
            present = numpy_of(column.is_valid())
        table.kept[key] = None if present is None or present.all() else present
    kept: NDArray[np.bool_] | None = table.kept[key]
    return kept


def rows_without(
    table: EventTable,
    keys: Mapping[str, frozenset[str]],
    wanted: NDArray[np.bool_] | None = None,
) -> dict[str, int]:
    """How many rows lack a value for an attribute without which they take no part, by attribute.

    Args:
        table: The events.
        keys: The types of events that have to have each attribute; see `needs.types_by_key`.
        wanted: Which rows to look at; all where left out.
    """
    words = [] if table.types.words is None else table.types.words.to_pylist()
    without: dict[str, int] = {}
    for attribute, types_asked in keys.items():
        present = present_rows(table, [attribute])
        if present is None:
            continue
        is_asked = np.array([*(word in types_asked for word in words), False], np.bool_)
        missing = is_asked[table.types.data] & ~present
        count = int(np.count_nonzero(missing if wanted is None else missing & wanted))
        if count:
            without[attribute] = count
    return without


def _may_be_nan(column: pa.DataType) -> bool:
    return bool(types.is_floating(column))


def codes_of_rows(
    table: EventTable, attributes: Sequence[str]
) -> tuple[Codes, int, dict[str, Codes]]:
    """The partition of each row, how many there are, and for each attribute a code of its value.

    Those of rows without a value mean nothing.
    """
    if not attributes:
        return np.zeros(len(table), np.int32), 1, {}
    parts = [_codes_of_attribute(table, attribute) for attribute in attributes]
    count = prod(count for _, count in parts)
    if len(parts) == 1 or count <= min(_ROOM * len(table), _MOST_CODES):
        # There may be codes that no row has.
        codes = parts[0][0]
        for others, width in parts[1:]:
            codes = codes * np.int32(width) + others
    else:
        codes, first = _combined([codes for codes, _ in parts], len(table))
        count = len(first)
    return codes, count, {a: part[0] for a, part in zip(attributes, parts, strict=True)}


def _codes_of_attribute(table: EventTable, attribute: str) -> tuple[Codes, int]:
    """A code for each value of an attribute, and how many codes there are; some may have no row.

    It is found out once for a table.
    """
    key = (_codes_of_attribute, attribute)
    if key not in table.kept:
        table.kept[key] = _codes_found(table, attribute)
    codes: tuple[Codes, int] = table.kept[key]
    return codes


def _codes_found(table: EventTable, attribute: str) -> tuple[Codes, int]:
    if kind_of(table.table.column(attribute).type) == "text":
        values = table.column(attribute)
        words = 0 if values.words is None else len(values.words)
        if values.data.dtype == np.int32 and 0 < words <= len(table):
            return values.data, words
    codes, first = dense_codes(_key_values(table, attribute))
    return codes, len(first)


class Keys(Mapping[str, pa.Array]):
    """The values of attributes in some rows, taken when they are first asked for.

    Most queries have partitions by more than they group by: of these values nobody asks.
    """

    def __init__(self, table: EventTable | None, attributes: Sequence[str], rows: Codes) -> None:
        """Note where they are to be found."""
        self._table, self._attributes, self._rows = table, tuple(attributes), rows
        self._taken: dict[str, pa.Array] = {}

    def only(self, attributes: Sequence[str]) -> Keys:
        """The values of some of the attributes, in this order."""
        return Keys(self._table, attributes, self._rows)

    def taken(self, chosen: NDArray[Any]) -> Keys:
        """The values in some of the rows."""
        return Keys(self._table, self._attributes, self._rows[chosen])

    def words(self, name: str) -> tuple[Codes, pa.Array] | None:
        """An attribute that is text by codes of words; None of any other."""
        if kind_of(self.kind(name)) != "text":
            return None
        values = self._of.column(name)
        if values.words is None or not len(values.words):
            return None
        return values.data[self._rows], values.words

    def integers(self, name: str) -> NDArray[np.int64] | None:
        """An attribute that is of integers with a sign; None of any other."""
        if not types.is_signed_integer(self.kind(name)):
            return None
        return _key_values(self._of, name)[self._rows]

    def settled(self) -> SettledKeys:
        """The same without the table."""
        return SettledKeys(self)

    def __getitem__(self, name: str) -> pa.Array:
        if name not in self._taken:
            if name not in self._attributes:
                raise KeyError(name)
            self._taken[name] = self._made(name)
        return self._taken[name]

    def _made(self, name: str) -> pa.Array:
        return _key(self._of, name, self._rows)

    def kind(self, name: str) -> pa.DataType:
        """The type of an attribute in the table."""
        return self._of.table.column(name).type

    @property
    def _of(self) -> EventTable:
        assert self._table is not None
        return self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return len(self._attributes)


class SettledKeys(Keys):
    """Values that were in some rows, without the table of these: it is let go."""

    def __init__(self, keys: Keys) -> None:
        """Keep what is small: codes of words, integers, and columns of anything else."""
        super().__init__(None, tuple(keys), np.empty(0, np.int32))
        self._words = {name: keys.words(name) for name in keys}
        self._integers = {name: keys.integers(name) for name in keys}
        self._kinds = {name: keys.kind(name) for name in keys}
        for name in keys:
            if self._words[name] is None and self._integers[name] is None:
                self._taken[name] = keys[name]

    def words(self, name: str) -> tuple[Codes, pa.Array] | None:
        """As of other keys."""
        return self._words[name]

    def integers(self, name: str) -> NDArray[np.int64] | None:
        """As of other keys."""
        return self._integers[name]

    def _made(self, name: str) -> pa.Array:
        coded, integers = self._words[name], self._integers[name]
        if coded is not None:
            return coded[1].take(pa.array(coded[0]))
        return pa.array(integers).cast(self._kinds[name])


def partitions_of(
    table: EventTable, attributes: Sequence[str], rows: NDArray[np.int32] | None
) -> Partitions:
    """The partitions of some rows, all of which have values; of all rows where `rows` is None."""
    count = len(table) if rows is None else len(rows)
    parts: list[tuple[Codes, Codes]] = []
    for attribute in attributes:
        values = _key_values(table, attribute)
        parts.append(dense_codes(values if rows is None else take(values, rows)))
    of_row, first = parts[0] if len(parts) == 1 else _combined([codes for codes, _ in parts], count)
    original = first if rows is None else rows[first]
    keys = Keys(table, attributes, original)
    codes = {a: part[0][first] for a, part in zip(attributes, parts, strict=True)}
    return Partitions(of_row, len(first), keys, codes)


def _combined(parts: list[Codes], count: int) -> tuple[Codes, Codes]:
    """Codes of the combinations of some codes, and where each is first."""
    codes = np.zeros(count, np.int32)
    first = np.zeros(min(count, 1), np.int32)
    for part in parts:
        width = int(part.max()) + 1 if count else 1
        codes, first = dense_codes(codes.astype(np.int64) * width + part)
    return codes, first


def _key_values(table: EventTable, attribute: str) -> NDArray[np.int64]:
    """Integers that are equal where values are; any integer where null. Found out once."""
    key = (_key_values, attribute)
    if key not in table.kept:
        table.kept[key] = _key_values_of(table, attribute)
    values: NDArray[np.int64] = table.kept[key]
    return values


def _key_values_of(table: EventTable, attribute: str) -> NDArray[np.int64]:
    column = table.table.column(attribute)
    if types.is_null(column.type):
        return np.zeros(len(column), np.int64)
    if kind_of(column.type) == "text":
        return table.column(attribute).data
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_floating(column.type):
        doubles = numpy_of(column.cast(pa.float64()).fill_null(0.0))
        return (doubles + 0.0).view(np.int64)  # which makes -0.0 and 0.0 one
    if types.is_decimal(column.type):
        column = column.dictionary_encode()
        indices = pa.chunked_array([chunk.indices for chunk in column.chunks], pa.int32())
        return numpy_of(indices.fill_null(0)).astype(np.int64)
    if types.is_boolean(column.type):
        column = column.cast(pa.int8())
    elif types.is_timestamp(column.type) or types.is_date64(column.type):
        column = column.cast(pa.int64())
    elif types.is_date32(column.type):
        column = column.cast(pa.int32())
    values = numpy_of(column.fill_null(0) if column.null_count else column)
    if values.dtype == np.uint64:
        return values.view(np.int64)
    return values.astype(np.int64, copy=False)


def _key(table: EventTable, attribute: str, rows: NDArray[np.int32]) -> pa.Array:
    column = table.table.column(attribute)
    if kind_of(column.type) == "text":
        values = table.column(attribute)
        if values.words is not None and len(values.words):
            return values.words.take(pa.array(take(values.data, rows)))
    # Of a single piece Arrow takes rows without looking for their pieces first.
    taken = column.chunk(0) if column.num_chunks == 1 else column
    taken = taken.take(pa.array(rows))
    if isinstance(taken, pa.ChunkedArray):
        taken = taken.combine_chunks()
    if isinstance(taken, pa.ChunkedArray):
        taken = pa.concat_arrays(taken.chunks) if taken.num_chunks else pa.array([], taken.type)
    if types.is_dictionary(taken.type):
        taken = taken.cast(taken.type.value_type)
    return pc.add(taken, pa.scalar(0.0, taken.type)) if types.is_floating(taken.type) else taken
