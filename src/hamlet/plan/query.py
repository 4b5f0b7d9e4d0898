"""What is asked: a query as a value, its names resolved, without the text it was written in.

The places of a pattern are numbered from left to right, those inside NOT included. Everything that
concerns a variable (local predicates, edge predicates, aggregates) is kept by place, so that later
stages know nothing of aliases.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from hamlet.plan.aggregates import DURATION, FUNCTIONS, LENGTH, MEASURES, squared
from hamlet.plan.clocks import CALENDAR_DAY_US, PLAIN, Clock
from hamlet.plan.durations import show_duration
from hamlet.plan.local_times import DAY_US
from hamlet.plan.predicates import Column, Constant, Operation, show
from hamlet.plan.windows import overlap

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    import numpy as np
    from numpy.typing import NDArray

    from hamlet.plan.aggregates import Finisher, Function, WeightKind
    from hamlet.plan.predicates import EdgePredicate, Expression


# A field that states of earlier versions do not know: at its default it is no part of a digest.
LATER = {"later": True}
# The type of events that have none of the types that a workload mentions, where it has ANY. Events
# come with it: see `asked_types`.
OTHER = "any other type"
ANY = "ANY"
# Instead of the number of a negation: of places that no trend has an event at, whose events are
# known because they may stand between two of a trend.
BETWEEN = -1


class Match(StrEnum):
    """Which of the sequences that a pattern and the conditions allow are kept."""

    ANY = "ANY"  # all
    NEXT = "NEXT"  # those that skip no event by which they could have gone on
    CONTIGUOUS = "CONTIGUOUS"  # those that skip none at all


@dataclass(frozen=True, slots=True)
class Place:
    """One place of a pattern: a type, perhaps an alias, and the negation it stands in.

    `written` is what stands in the pattern where that is not the type itself: ANY, or a type by
    condition that has no other type, is a place for each type of the workload, and one for all
    others. `negation` is BETWEEN for places that are no part of the pattern.
    """

    index: int
    type: str
    alias: str | None = None
    negation: int | None = None
    written: str | None = field(default=None, metadata=LATER)

    @property
    def name(self) -> str:
        """What stands in the pattern for the type."""
        return self.written or self.type

    @property
    def label(self) -> str:
        """The type, with the alias where there is one."""
        return f"{self.name} {self.alias}" if self.alias else self.name


@dataclass(frozen=True, slots=True)
class Single:
    """A match of one event at a place."""

    place: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """One or more matches of a pattern, one after another."""

    body: Pattern


@dataclass(frozen=True, slots=True)
class Times:
    """From `least` to `most` matches of a pattern, one after another.

    Each match has places of its own: `copies` has the pattern with those of the first match, of the
    second, and so on, `most` of them. Where `most` is None there are as many as are needed, at
    least one, and the last is repeated.
    """

    copies: tuple[Pattern, ...]
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Absence:
    """No match of a negated pattern, given by its number, at this point of a sequence."""

    negation: int


@dataclass(frozen=True, slots=True)
class Sequence:
    """Matches one after another, with absences between them."""

    items: tuple[Pattern | Absence, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """What any of the patterns matches."""

    items: tuple[Pattern, ...]


Pattern = Single | Repeat | Times | Sequence | Choice


@dataclass(frozen=True, slots=True)
class Window:
    """Windows [i * slide, i * slide + within) for every integer i, in microseconds of their clock.

    That is the time of events, unless windows are shifted or of calendar days: see clocks.py.
    """

    within_us: int
    slide_us: int
    clock: Clock = field(default=PLAIN, metadata=LATER)

    @staticmethod
    def of(within_us: int, slide_us: int, offset_us: int = 0, zone: str | None = None) -> Window:
        """Windows of some lengths; those of a zone are of whole days, and so is their offset."""
        scale = 1 if zone is None else CALENDAR_DAY_US // DAY_US
        within, slide, offset = within_us * scale, slide_us * scale, offset_us * scale
        return Window(within, slide, Clock(offset % slide, zone))

    @property
    def lengths_us(self) -> tuple[int, int, int]:
        """WITHIN, SLIDE and OFFSET as they are written; days of 24 hours."""
        scale = 1 if self.clock.zone is None else CALENDAR_DAY_US // DAY_US
        return self.within_us // scale, self.slide_us // scale, self.clock.offset_us // scale

    @property
    def longest_us(self) -> int:
        """No window takes longer, those of days on which clocks are put back included."""
        return self.lengths_us[0] + (0 if self.clock.zone is None else DAY_US)

    def starts(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """When windows begin, by their numbers."""
        return self.clock.moments(numbers * self.slide_us)

    def ends(self, starts: NDArray[np.int64]) -> NDArray[np.int64]:
        """When windows end, by when they begin."""
        if self.clock.is_plain:
            return starts + self.within_us
        return self.clock.moments(self.clock.times(starts) + self.within_us)

    @property
    def shift(self) -> str:
        """How windows are shifted, as it is written; empty where they are not."""
        offset = self.lengths_us[2]
        parts = [f"OFFSET {show_duration(offset)}"] if offset else []
        return " ".join([*parts, *([f"IN '{self.clock.zone}'"] if self.clock.zone else [])])

    @property
    def overlap(self) -> int:
        """The most windows that one moment can be in."""
        return overlap(self.within_us, self.slide_us)

    def __str__(self) -> str:
        within, slide, _ = self.lengths_us
        text = f"{show_duration(within)} / {show_duration(slide)}"
        return f"{text} {self.shift}" if self.shift else text


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate of a query.

    Attributes:
        name: What it is called.
        function: Which it is.
        places: Those whose events it is about; none for COUNT(*).
        attribute: What it is applied to.
        measure: Instead, what trends are measured by: LENGTH or DURATION.
        span_us: Of DURATION how long windows are at most: no trend takes longer.
    """

    name: str
    function: str
    places: tuple[int, ...] = ()
    attribute: str | None = None
    measure: str | None = field(default=None, metadata=LATER)
    span_us: int = field(default=0, metadata=LATER)

    @property
    def column(self) -> Column:
        """What it is in expressions over the aggregates of a query."""
        return Column("this", self.name)

    def inside(self, window: Window) -> Aggregate:
        """The same in windows of some kind."""
        return replace(self, span_us=window.longest_us) if self.measure == DURATION else self

    def says_the_same(self, other: Aggregate) -> bool:
        """Whether two are one but for their names."""
        return replace(self, name=other.name) == other

    @property
    def counts_trends(self) -> bool:
        """Whether it is COUNT(*)."""
        return self.attribute is None and not self.places

    @property
    def finisher(self) -> Finisher:
        """How its result is made."""
        return self._table.finisher

    @property
    def weights(self) -> tuple[WeightKind, ...]:
        """What is added up for it beside the number of trends."""
        return () if self.counts_trends else self._table.weights

    @property
    def _table(self) -> Function:
        return (FUNCTIONS if self.measure is None else MEASURES[self.measure])[self.function]

    def sum_of(self, kind: WeightKind) -> str:
        """What sums of a kind of weight are told apart by: an attribute, or its squares."""
        attribute = str(self.attribute)
        return squared(attribute) if kind == "square" else attribute

    @property
    def sums(self) -> tuple[str, ...]:
        """What is added up of its attribute: it, perhaps its squares."""
        return tuple(self.sum_of(kind) for kind in self.weights if kind in ("value", "square"))

    @property
    def is_summed(self) -> bool:
        """Whether values of its attribute are added up."""
        return "value" in self.weights

    @property
    def sign(self) -> int:
        """1 for the least value and -1 for the greatest; 0 where it is no extreme."""
        return self._table.sign


@dataclass(frozen=True, slots=True)
class Result:
    """What a query returns under a name: an aggregate, or something computed from some.

    The columns of its expression are aggregates of the query, by their names.
    """

    name: str
    expression: Expression

    def aggregate_of(self, query: Query) -> Aggregate | None:
        """The aggregate that it is, if it is one."""
        same = (aggregate for aggregate in query.aggregates if aggregate.column == self.expression)
        return next(same, None)


@dataclass(frozen=True, slots=True, repr=False)
class Query:
    """One query with all names resolved.

    >>> from hamlet import Workload
    >>> Workload.parse("RETURN COUNT(*), MAX(B.x) PATTERN SEQ(A, B+) WHERE A.x > 1 AND [k] "
    ...                "GROUPBY g WITHIN 10 min SLIDE 5 min").queries[0]
    <Query q1: COUNT(*), MAX(B.x) of SEQ(A, B+), 1 condition, [k], by g, within 10 min / 5 min>

    `aggregates` are all that are computed; `results` is what is returned, these aggregates
    where it is left out; `having` is what they must satisfy.
    `branches` has one pattern, or the two that AND joins; `negations` the patterns under NOT.
    `local` has for each place the condition its events satisfy. `adjacent` lists, for pairs of
    places that may hold adjacent events, the numbers of the edge predicates between them.
    """

    name: str
    aggregates: tuple[Aggregate, ...]
    places: tuple[Place, ...]
    branches: tuple[Pattern, ...]
    negations: tuple[Pattern, ...]
    local: tuple[Expression | None, ...]
    edge_predicates: tuple[EdgePredicate, ...]
    adjacent: tuple[tuple[tuple[int, int], tuple[int, ...]], ...]
    group_by: tuple[str, ...]
    equivalence: tuple[str, ...]
    window: Window
    match: Match = field(default=Match.ANY, metadata=LATER)
    results: tuple[Result, ...] = field(default=(), metadata=LATER)
    having: Expression | None = field(default=None, metadata=LATER)

    @property
    def returned(self) -> tuple[Result, ...]:
        """What is returned, in order."""
        return self.results or tuple(
            Result(aggregate.name, aggregate.column) for aggregate in self.aggregates
        )

    def has_digits(self, expression: Expression, whole: Container[str]) -> bool:
        """Whether what is computed from aggregates is whole, and so has exact digits.

        Counts are, sums of whole attributes, integers, and their sums, differences and products.

        Args:
            expression: That of a result.
            whole: The attributes whose sums are whole.
        """
        match expression:
            case Column(attribute=name):
                (named,) = (aggregate for aggregate in self.aggregates if aggregate.name == name)
                is_attribute = named.finisher == "sum" and named.measure is None
                return named.finisher == "count" or (is_attribute and str(named.attribute) in whole)
            case Operation(operator="+" | "-" | "*", operands=operands):
                return all(self.has_digits(operand, whole) for operand in operands)
        return isinstance(expression, Constant) and expression.kind == "int"

    @property
    def partition(self) -> tuple[str, ...]:
        """The attributes whose equal values make a partition, grouping attributes first."""
        return self.group_by + tuple(a for a in self.equivalence if a not in self.group_by)

    @property
    def extremes(self) -> tuple[Aggregate, ...]:
        """The aggregates that are a least or a greatest value."""
        return tuple(aggregate for aggregate in self.aggregates if aggregate.sign)

    @property
    def asks_lengths(self) -> bool:
        """Whether it asks for the least or greatest number of events of a trend."""
        return any(aggregate.measure == LENGTH for aggregate in self.extremes)

    @property
    def asks_durations(self) -> bool:
        """Whether it asks how long trends take."""
        return any(aggregate.measure == DURATION for aggregate in self.aggregates)

    @property
    def is_conjunction(self) -> bool:
        """Whether the pattern is P AND Q."""
        return len(self.branches) == 2

    def __repr__(self) -> str:
        """What is asked, in a line; conditions are counted."""
        aggregates = ", ".join(result.name for result in self.returned)
        pattern = " AND ".join(show_pattern(self, branch) for branch in self.branches)
        pattern += show_match(self)
        conditions = len([condition for condition in self.local if condition]) + len(
            self.edge_predicates
        )
        parts = [f"{aggregates} of {pattern}" if aggregates else pattern]
        if conditions:
            parts.append(f"{conditions} condition" + ("s" if conditions > 1 else ""))
        if self.equivalence:
            parts.append(f"[{', '.join(self.equivalence)}]")
        if self.group_by:
            parts.append(f"by {', '.join(self.group_by)}")
        if self.having is not None:
            parts.append(f"having {show(self.having)}")
        return f"<Query {self.name}: {', '.join(parts)}, within {self.window}>"

    def mark(self, place: int) -> tuple[int, ...]:
        """Which aggregates count the events at a place: places of one mark are alike to them."""
        return tuple(i for i, aggregate in enumerate(self.aggregates) if place in aggregate.places)


def asked_types(queries: Iterable[Query]) -> frozenset[str]:
    """The types of events that some queries mention.

    With OTHER among them, every event of a type that is not has that one instead.
    """
    return frozenset(place.type for query in queries for place in query.places)


def _is_one_written(query: Query, place: int, others: list[Pattern]) -> bool:
    """Whether places are one in the pattern as it is written: ANY, or a defined type."""
    first = query.places[place]
    return first.written is not None and all(
        isinstance(other, Single) and query.places[other.place].label == first.label
        for other in others
    )


def show_times(least: int, most: int | None) -> str:
    """How often a pattern is repeated, as it is written behind it.

    >>> [show_times(*times) for times in ((0, 1), (0, None), (2, 2), (2, None), (2, 5))]
    ['?', '*', '{2}', '{2,}', '{2,5}']
    """
    short = {(0, 1): "?", (0, None): "*", (1, None): "+"}
    if (least, most) in short:
        return short[least, most]
    if least == most:
        return f"{{{least}}}"
    return f"{{{least},{'' if most is None else most}}}"


def show_match(query: Query) -> str:
    """Which trends are kept, as it is written behind the pattern; nothing where it is all."""
    return "" if query.match == Match.ANY else f" MATCH {query.match}"


def show_pattern(query: Query, pattern: Pattern | Absence) -> str:
    """A pattern as text, from its places.

    Only for reading: equal text is not a promise of equal patterns.
    """
    match pattern:
        case Single(place=place):
            return query.places[place].label
        case Repeat(body=body):
            return f"{show_pattern(query, body)}+"
        case Times(copies=copies, least=least, most=most):
            return show_pattern(query, copies[0]) + show_times(least, most)
        case Absence(negation=number):
            return f"NOT {show_pattern(query, query.negations[number])}"
        case Sequence(items=items):
            return f"SEQ({', '.join(show_pattern(query, item) for item in items)})"
        case Choice(items=(Single(place=place), *others)) if _is_one_written(query, place, others):
            return query.places[place].label
        case Choice(items=items):
            return "(" + " OR ".join(show_pattern(query, item) for item in items) + ")"
