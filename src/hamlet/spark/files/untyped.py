"""Columns without a type of their own: the texts of CSV files, the values of JSON lines.

What a column is follows from its use, where a query says it, and else from its values, by the rule
of `hamlet/reading/rules.py`. A look at all rows (`infer_types.py`) finds out what values there are;
then each column becomes an expression of one type, and values that are something else are faults of
their rows. Where there are no such values, and nothing stands around the others, Spark's own casts
do.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema

from hamlet.events import text_rules as rules
from hamlet.events.infer_types import reason_of
from hamlet.events.source import NOT_A_TIME
from hamlet.events.untyped import is_used_as, mixed_note
from hamlet.spark.files import texts
from hamlet.spark.files.infer_types import SCHEMA, TEXT, TypeSurvey

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

    from hamlet.events.source import Wanted
    from hamlet.events.text_rules import Sort
    from hamlet.schema import Kind

    # What a look has shown, by the number of the column.
    Facts = Mapping[int, Counter[str]]

_CALLED = {"number": "a number", "boolean": "a truth value", "text": "text"}
_COUNTED = {"number": "numbers", "boolean": "booleans", "text": "texts"}


class Typed(NamedTuple):
    """A column of one type, and what is wrong with rows where anything can be."""

    column: Column
    fault: tuple[Column, str] | None = None


def look_at(frame: DataFrame, look: TypeSurvey, *, is_json: bool = False) -> Facts:
    """Facts about all rows, by one job."""
    schema: Any = from_arrow_schema(SCHEMA)
    facts_of = frame.mapInArrow(look.lines if is_json else look.texts, schema)
    facts: dict[int, Counter[str]] = {}
    for row in facts_of.collect():
        facts.setdefault(row["column"], Counter())[row["fact"]] += row["count"]
    return facts


def number_type(facts: Mapping[str, int]) -> T.DataType:
    """The type that holds all numbers, exact where they are integers of 64 bits."""
    return texts.TYPES[rules.number_sort(facts)]


# Texts


def text_column(name: str, column: Column, facts: Counter[str], wanted: Wanted) -> Typed:
    """A column of a CSV file."""
    is_time = name == wanted.time
    if name == wanted.type and not is_time:
        return Typed(column if facts["given"] else F.lit(None))
    sort = rules.sort_of(facts, wanted.use_of(name), is_time=is_time)
    return _typed(column, sort, facts, reason_of(name, sort, is_time=is_time))


def time_column(column: Column, facts: Counter[str]) -> Typed | None:
    """Texts as times: ISO 8601 or numbers of seconds, whichever are more; None for neither."""
    sort = rules.sort_of(facts, None, is_time=True)
    if sort not in (*rules.NUMBERS, *rules.TIMES):
        return None
    return _typed(column, sort, facts, NOT_A_TIME)


def _typed(column: Column, sort: Sort, facts: Counter[str], reason: str) -> Typed:
    is_plain = rules.is_plain(facts, sort)
    read = texts.values_of_texts(column, sort, is_plain=is_plain)
    is_sure = is_plain or sort in ("nothing", "text")
    return Typed(read.values, None if is_sure else (read.faulty, reason))


# Values of JSON


def _kind_wanted(name: str, wanted: Wanted) -> Kind | None:
    """What the use of a column says that it is."""
    return "text" if name == wanted.type else wanted.needs.kinds.get(name)


def json_type(name: str, facts: Counter[str], wanted: Wanted) -> T.DataType | None:
    """The type in which Spark's reader of JSON reads a column as it should; None where none does.

    So it is where all values are of one kind, and of the kind that is wanted.
    """
    kind = _kind_wanted(name, wanted)
    kinds = [each for each, fact in _COUNTED.items() if facts[fact]]
    is_plain = len(kinds) == 1 and facts[_COUNTED[kinds[0]]] == facts["given"]
    if not is_plain or (kind is not None and name != wanted.time and kinds != [kind]):
        return None
    return {"number": number_type(facts), "boolean": T.BooleanType()}.get(kinds[0], T.StringType())


def json_column(
    name: str, column: Column, facts: Counter[str], wanted: Wanted, stored: T.DataType
) -> Typed:
    """A column of JSON lines.

    Args:
        name: Its name.
        column: What was read.
        facts: What there is.
        wanted: What is to be read.
        stored: In which type it was read: that of all values, or variant.
    """
    if not facts["given"]:
        return Typed(F.lit(None))
    values = _Values(column, stored)
    if name == wanted.time:
        return _json_times(values, facts)
    kind = _kind_wanted(name, wanted)
    if kind is None or not _is_used_as(kind, facts):
        kinds = [each for each, fact in _COUNTED.items() if facts[fact] == facts["given"]]
        return Typed(values.of(kinds[0], facts) if kinds else values.as_text())
    column = values.of(kind, facts)
    reason = f"{name} is not {_CALLED[kind]}"
    return Typed(column, None if values.is_plain else (values.is_given() & column.isNull(), reason))


def _is_used_as(kind: str, facts: Counter[str]) -> bool:
    found = facts[_COUNTED[kind]]
    return is_used_as(kind, Counter({kind: found, "": facts["given"] - found}))


def json_note(name: str, facts: Counter[str], wanted: Wanted) -> str | None:
    """What to say of a column that is text because its values are of several kinds."""
    kind = _kind_wanted(name, wanted)
    kinds = Counter({each: facts[fact] for each, fact in _COUNTED.items()})
    kinds["other"] = facts["given"] - kinds.total()
    is_mixed = sum(count > 0 for count in kinds.values()) > 1
    if name == wanted.time or not is_mixed or (kind is not None and _is_used_as(kind, facts)):
        return None
    return mixed_note(name, kinds)


def _json_times(values: _Values, facts: Counter[str]) -> Typed:
    """Timestamps in ISO text, or numbers, whichever are more."""
    if facts["numbers"] > facts["texts"]:
        column = values.of("number", facts)
        is_faulty = values.is_given() & column.isNull()
        return Typed(column, None if values.is_plain else (is_faulty, NOT_A_TIME))
    words = values.of("text", facts)
    seen = Counter({f.removeprefix(TEXT): n for f, n in facts.items() if f.startswith(TEXT)})
    read = time_column(words, seen)
    if read is None:
        return Typed(words)
    is_other = values.is_given() & words.isNull()
    return Typed(read.column, (read.fault[0] | is_other if read.fault else is_other, NOT_A_TIME))


class _Values(NamedTuple):
    """Values of JSON, all of one type, or each with its own."""

    column: Column
    stored: T.DataType

    @property
    def is_plain(self) -> bool:
        return not isinstance(self.stored, T.VariantType)

    def _shape(self) -> Column:
        return F.schema_of_variant(self.column)

    def are(self, kind: str) -> Column:
        """Which values are of a kind; null is of none, and neither are objects and lists."""
        if self.is_plain:
            return F.lit(True)
        if kind == "number":
            return F.coalesce(self._shape().rlike(r"\A(BIGINT|DOUBLE|FLOAT|DECIMAL)"), F.lit(False))
        shape = {"text": "STRING", "boolean": "BOOLEAN"}[kind]
        return F.coalesce(self._shape() == F.lit(shape), F.lit(False))

    def is_given(self) -> Column:
        """Whether there is a value; NaN is none."""
        if self.is_plain:
            return self.column.isNotNull()
        double = F.when(self.are("number"), F.try_variant_get(self.column, "$", "double"))
        is_nan = F.isnan(F.coalesce(double, F.lit(0.0)))
        return self.column.isNotNull() & (self._shape() != "VOID") & ~is_nan

    def of(self, kind: str, facts: Counter[str]) -> Column:
        """The values of a kind, in one type."""
        if self.is_plain:
            return self.column
        spark = {"text": T.StringType(), "boolean": T.BooleanType()}.get(kind, number_type(facts))
        value = F.try_variant_get(self.column, "$", spark.simpleString())
        return F.when(self.are(kind), value)

    def as_text(self) -> Column:
        """Values of several kinds, all as text."""
        return F.when(self.is_given(), self.column.cast("string"))
