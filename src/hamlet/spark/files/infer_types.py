"""A look at untyped values, batch by batch, in the tasks of Spark: what there is of each kind.

Nothing here knows of Spark. Facts are counts, so those of all batches are added up. What texts are
is looked at as on one machine (`hamlet/reading/texts.py`).
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from hamlet.events.columns import LARGEST, kind_of
from hamlet.events.texts import look_at
from hamlet.events.untyped import column_of_values, kind_of_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hamlet.events.source import Wanted

SCHEMA = pa.schema([("column", pa.int32()), ("fact", pa.string()), ("count", pa.int64())])
# The number of a column that facts about whole rows have.
ROWS = -1
# What facts about texts begin with where there are others as well.
TEXT = "text "

# Facts about texts are those of `reading/rules.py`. Of JSON they are how many lines have a key
# (`there`), how many values there are (`given`), how many are numbers, texts or truth values, and
# of the numbers how many fit a long or are unsigned. Those of texts that are times are as in CSV.


@dataclass(frozen=True, slots=True)
class TypeSurvey:
    """What to look for: the wanted columns, in the order in which they come."""

    wanted: Wanted
    columns: tuple[str, ...]

    def texts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Facts about columns of text."""
        facts: dict[int, Counter[str]] = {}
        for batch in batches:
            for number, (name, column) in enumerate(zip(self.columns, batch.columns, strict=True)):
                # What is text in any case need not be looked at.
                is_type = name == self.wanted.type and name != self.wanted.time
                given = len(column) - column.null_count
                counter = Counter(given=given) if is_type else look_at(column).facts
                facts.setdefault(number, Counter()).update(counter)
        yield _rows(facts)

    def lines(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Facts about lines of JSON, which are the only column."""
        facts: dict[int, Counter[str]] = {}
        for batch in batches:
            for number, found in self._line_facts(batch.column(0)).items():
                facts.setdefault(number, Counter()).update(found)
        yield _rows(facts)

    def _line_facts(self, lines: pa.Array) -> dict[int, Counter[str]]:
        table = _by_arrow(lines, self.wanted)
        if table is not None:
            found = {n: table.column(n).combine_chunks() for n in table.column_names}
            there = dict.fromkeys(found, len(table))
            bad = 0
        else:
            found, there, bad = _by_line(lines)
        facts = {
            number: json_facts(found[name], there[name], is_time=name == self.wanted.time)
            for number, name in enumerate(self.columns)
            if name in found
        }
        return {**facts, ROWS: Counter(bad=bad)}


def _rows(facts: dict[int, Counter[str]]) -> pa.RecordBatch:
    rows = [(n, fact, count) for n, some in facts.items() for fact, count in some.items()]
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    arrays = [pa.array(c, field.type) for c, field in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


# JSON


def json_facts(column: pa.Array, there: int, *, is_time: bool = False) -> Counter[str]:
    """Facts about some values of JSON lines, in which only values of one kind can be plain.

    Args:
        column: The values; a list of Python values where they are of several kinds.
        there: How many lines have the key.
        is_time: Whether they are times.
    """
    facts = Counter(there=there)
    if not isinstance(column, pa.Array):
        for each in ("number", "text", "boolean"):
            of_kind = [v for v in column if kind_of_value(v) == each]
            facts += _of_kind(of_kind, each, is_time)
        others = sum(kind_of_value(v) in ("other", "time") for v in column)
        return facts + Counter(given=others)
    given = len(column) - column.null_count
    kind = kind_of(column.type)
    name = {"number": "numbers", "boolean": "booleans"}.get(str(kind), "texts")
    facts += Counter(given=given)
    if kind is None:
        return facts
    if kind == "number":
        whole = pa.types.is_integer(column.type)
        return facts + (_of_integers(column) if whole else Counter(numbers=given))
    if is_time and kind in ("text", "time"):
        seen = Counter(clocks=given) if kind == "time" else look_at(column).facts
        facts += Counter({f"{TEXT}{fact}": count for fact, count in seen.items()})
    return facts + Counter({name: given})


def _of_integers(column: pa.Array) -> Counter[str]:
    count = len(column) - column.null_count
    unsigned = pc.sum(pc.greater_equal(column, 0)).as_py() or 0
    longs = count if pa.types.is_int64(column.type) else _fitting(column)
    return Counter(numbers=count, longs=longs, unsigned=unsigned)


def _fitting(column: pa.Array) -> int:
    return pc.sum(pc.less_equal(column, pa.scalar(LARGEST, column.type))).as_py() or 0


def _of_kind(values: list[Any], kind: str, is_time: bool) -> Counter[str]:
    if not values:
        return Counter()
    column, _ = column_of_values(values, kind)  # type: ignore[arg-type]
    facts = json_facts(column, 0, is_time=is_time)
    facts["given"] = len(values)
    return facts


def _by_arrow(lines: pa.Array, wanted: Wanted) -> pa.Table | None:
    """Lines as a table; None where Arrow cannot read them, or a column has several kinds."""
    joined = b"".join(line + b"\n" for line in lines.cast(pa.binary()).to_pylist() if line)
    if not joined.strip():
        return pa.table({})
    options = arrow_json.ReadOptions(block_size=2 * len(joined), use_threads=False)
    texts: list[tuple[str, pa.DataType]] = []
    while True:
        parsing = arrow_json.ParseOptions(explicit_schema=pa.schema(texts))
        try:
            table = arrow_json.read_json(pa.BufferReader(joined), options, parsing)
        except pa.ArrowInvalid:
            return None
        place = table.schema.get_field_index(wanted.time)
        if place < 0 or not pa.types.is_timestamp(table.schema.field(place).type):
            break
        texts = [(wanted.time, pa.string())]  # of timestamps Arrow does not say whose have a zone
    return table.select([name for name in wanted.columns if name in table.column_names])


def _by_line(lines: pa.Array) -> tuple[dict[str, list[Any]], dict[str, int], int]:
    """The values of each key, how many lines have it, and how many lines are no objects."""
    values: dict[str, list[Any]] = {}
    bad = 0
    for line in lines.to_pylist():
        if not line or not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            bad += 1
            continue
        for key, value in row.items():
            values.setdefault(key, []).append(value)
    return values, {key: len(some) for key, some in values.items()}, bad
