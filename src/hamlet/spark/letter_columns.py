"""Letters as columns of Spark: its own expressions number types and evaluate conditions.

What the integers mean is in letters.py. Batches and streams find letters with this, before Python
sees a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from hamlet.plan.letters import alphabet_of
from hamlet.spark.expressions import condition_of
from hamlet.spark.letters import lettering_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import Column

    from hamlet.plan.letters import Alphabet, Atom
    from hamlet.plan.workload import WorkloadPlan
    from hamlet.spark.events import EventFrame, Fault
    from hamlet.spark.letters import Lettering

TYPE, FAULT, BITS = "type", "fault", "bits"
# Types are compared one by one where they are so few, and by halves where they are more.
_FEW = 3


def letters_of(events: EventFrame, plan: WorkloadPlan, tag: str = "") -> LetterColumns:
    """The letters of events: all conditions of a workload that Spark can evaluate have a bit.

    Args:
        events: The events.
        plan: The workload.
        tag: What the names of columns begin with, where there are letters of several workloads.
    """
    alphabet = alphabet_of(plan.queries)
    term = cache(events.expressible)
    columns = {
        atom: condition_of(atom.condition, term)
        for atom in alphabet.atoms
        if atom.condition is not None
    }
    conditions = {atom: column for atom, column in columns.items() if column is not None}
    return LetterColumns(events, lettering_of(alphabet, conditions), conditions, tag)


@dataclass(frozen=True, slots=True)
class LetterColumns:
    """Columns that number types and have the truth of conditions in their bits."""

    events: EventFrame
    lettering: Lettering
    conditions: Mapping[Atom, Column]
    tag: str = ""

    @property
    def _type(self) -> str:
        return f"{self.tag}{TYPE}"

    @property
    def _fault(self) -> str:
        return f"{self.tag}{FAULT}"

    def _bits(self, number: int) -> str:
        return f"{self.tag}{BITS}{number}"

    def named(self) -> dict[str, Column]:
        """The columns that say what an event is: type and fault in one, and bits.

        A type is its number, null where no query mentions it. A fault is a negative number in its
        place, or a column of its own where types travel as text.
        """
        faults = self.events.faults
        named = {self._bits(i): self.bits(i) for i in range(self._bit_columns)}
        if self.lettering.is_text:
            fault = _first_of(faults, F.lit(None))
            return {self._fault: fault, self._type: self.events.types, **named}
        number = _number_of(self.events.types, self.lettering.types)
        return {self._type: _first_of(faults, number), **named}

    def is_fault(self, number: int) -> Column:
        """Which rows have a fault, by its number."""
        return F.col(self._fault if self.lettering.is_text else self._type) == -1 - number

    @property
    def _bit_columns(self) -> int:
        return self.lettering.longs if self.lettering.condition_bits else 0

    def bits(self, number: int) -> Column:
        """One of the integers, without the number of the type."""
        values: dict[str, Column] = {}
        for atom, bit in self.lettering.bits.items():
            at, place = self.lettering.place(bit)
            if at == number:
                one = F.when(self.conditions[atom], F.lit(1 << place).cast("long")).otherwise(0)
                so_far = values.get(atom.type)
                values[atom.type] = one if so_far is None else so_far.bitwiseOR(one)
        if not values:
            return F.lit(0).cast("long")
        return F.coalesce(_by_type(self.events.types, values), F.lit(0).cast("long"))

    def takes_part(self, alphabet: Alphabet) -> Column:
        """Whether a letter means anything to some queries."""
        by_masks: dict[tuple[int, ...] | None, list[str]] = {}
        for event_type in alphabet.types:
            by_masks.setdefault(self.lettering.masks(alphabet, event_type), []).append(event_type)
        ways = []
        for masks, types in by_masks.items():
            way = self.is_one_of(types)
            if masks is not None:
                bits = [
                    F.col(self._bits(i)).bitwiseAND(F.lit(mask).cast("long")) != 0
                    for i, mask in enumerate(masks)
                    if mask
                ]
                way &= reduce(or_, bits)
            ways.append(way)
        is_met = reduce(or_, ways)
        return is_met & F.col(self._fault).isNull() if self.lettering.is_text else is_met

    def is_good(self) -> Column:
        """Which rows have no fault."""
        if self.lettering.is_text:
            return F.col(self._fault).isNull()
        return F.col(self._type).isNull() | (F.col(self._type) >= 0)

    def is_one_of(self, types: Iterable[str]) -> Column:
        """Which rows have one of some types, whatever else they are."""
        if self.lettering.is_text:
            return F.col(self._type).isin(*types)
        numbers = {self.lettering.types.index(name) for name in types}
        if len(numbers) == len(self.lettering.types):
            return F.col(self._type) >= 0
        return F.col(self._type).isin(*sorted(numbers))

    def columns(self) -> Iterator[Column | str]:
        """The integers as they travel, and the text of the type where that does."""
        bits = [F.col(self._bits(i)) for i in range(self._bit_columns)]
        if self.lettering.longs and not self.lettering.is_text:
            number = F.col(self._type).cast("long")
            bits[:1] = [bits[0].bitwiseOR(number) if bits else number]
        for i, each in enumerate(bits):
            yield each.alias(self._bits(i))
        if self.lettering.is_text:
            yield self._type


def count_where(condition: Column) -> Column:
    """How many rows satisfy a condition; Spark's own count_if would make a copy of each row."""
    return F.count(F.when(condition, True))


def _first_of(faults: Sequence[Fault], otherwise: Column) -> Column:
    """-1 for the first fault, -2 for the second, and so on; something else where there is none."""
    chosen: Column | None = None
    for number, (is_faulty, _) in enumerate(faults):
        value = F.lit(-1 - number)
        chosen = F.when(is_faulty, value) if chosen is None else chosen.when(is_faulty, value)
    return otherwise if chosen is None else chosen.otherwise(otherwise)


def _number_of(types: Column, names: Sequence[str]) -> Column:
    """The number of a type among others, null where it is none of them.

    One look into an array, and not a comparison for each: Spark plans each batch of a stream anew,
    and code with very many comparisons it does not compile.
    """
    place = F.array_position(F.array(*map(F.lit, names)), types)
    return F.when(place > 0, place - 1).cast("int")


def _by_type(types: Column, values: Mapping[str, Column]) -> Column:
    """The value of the type of an event; null for other types. O(log types) comparisons."""

    def among(some: Sequence[str]) -> Column:
        if len(some) <= _FEW:
            chosen = F.when(types == some[0], values[some[0]])
            for name in some[1:]:
                chosen = chosen.when(types == name, values[name])
            return chosen
        middle = len(some) // 2
        below, above = among(some[:middle]), among(some[middle:])
        return F.when(types < some[middle], below).otherwise(above)

    # Spark orders text by its bytes.
    return among(sorted(values, key=lambda name: name.encode()))
