"""Before Python sees a row: letters, columns that are needed, rows that take part, one shuffle.

Sets whose rows are brought together by the same attributes (bringing.py) go through one shuffle.
For each, Spark finds the letter of every event, derives what edge predicates compare, counts rows,
leaves out those that take no part or cannot be read, drops columns that nobody needs any more, and
brings the rows of a partition into one task; into several where a partition is too large for one
(skew.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.sql import Observation
from pyspark.sql import functions as F

from hamlet.engine.panes.derive import composes, derive
from hamlet.events.required_columns import needs_of, types_by_key
from hamlet.plan.letters import alphabet_of
from hamlet.plan.query import OTHER, asked_types
from hamlet.plan.workload import pane_us
from hamlet.spark.bringing import brought_together, by_partition
from hamlet.spark.derived import with_derived
from hamlet.spark.events import LACKING, are_given, lacking
from hamlet.spark.kinds import WHOLE, as_key
from hamlet.spark.letter_columns import BITS, FAULT, count_where, letters_of
from hamlet.spark.letters import is_bit_column, over_bits
from hamlet.spark.skew import SLICE, hot_groups, pane_slices_of, slices_of
from hamlet.spark.task import TaskColumns

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from hamlet.engine.panes.derive import Panes
    from hamlet.plan.letters import Alphabet
    from hamlet.plan.number_mode import Numbers
    from hamlet.plan.workload import SharableSet, WorkloadPlan
    from hamlet.spark.bringing import Brought
    from hamlet.spark.derived import Derived
    from hamlet.spark.events import EventFrame
    from hamlet.spark.letter_columns import LetterColumns
    from hamlet.spark.letters import Lettering
    from hamlet.spark.settings import Settings
    from hamlet.spark.skew import Hot, Slices

# A whole number of seconds that is no fault (spark/events.py) takes 44 bits with its sign.
_BITS_BESIDE_SECONDS = 20
_TIME, _ORDER, _GIVEN, _ATTRIBUTE = "time", "order", "given", "attribute"
# A query is run by panes where it takes no more queries over panes than this for each core, by kind
# of numbers. Exact numbers are so much shorter in a pane than in a window that more still pay.
_MOST_PANE_QUERIES = {"exact": 16, "float": 4}


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of rows, ready when a job over them is done.

    They are rows, used, fault0, fault1, ..., and lacking0, lacking1, ...

    reasons: What each fault is.
    keys: The attribute that rows lack.
    """

    observation: Observation
    reasons: tuple[str, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shuffle:
    """Events on their way to some sets.

    frame: The rows that take part, not shuffled yet, with the columns of the layout.
    by: The attributes that rows are brought together by: all that partitions them, or less.
    keys: Their columns, and that of slices.
    panes: The queries over panes, where large partitions are cut into them.
    """

    sets: tuple[SharableSet, ...]
    frame: DataFrame
    by: tuple[str, ...]
    keys: tuple[Column, ...]
    layout: TaskColumns
    panes: Panes | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A workload over a DataFrame, ready to be run.

    plan: The plan over bits and derived attributes.
    shuffles: One for all sets whose rows are brought together by the same.
    counts: Of all rows.
    """

    plan: WorkloadPlan
    shuffles: tuple[Shuffle, ...]
    counts: Counts


def prepare(
    events: EventFrame,
    plan: WorkloadPlan,
    settings: Settings | None = None,
    numbers: Numbers = "exact",
    rows: int | None = None,
) -> Prepared:
    """Find letters and leave out what is not needed, for every shuffle of a workload.

    Args:
        events: The events.
        plan: The workload.
        settings: How rows are brought together, and large partitions cut; where left out, by all
            that partitions them, and not.
        numbers: The kind of numbers, which says how much work may go into cutting.
        rows: How many rows there are, where that is known.
    """
    if settings is not None and not settings.counts:
        events = _of_asked_types(events, plan)
    letters = letters_of(events, plan)
    count = cache(lambda: events.frame.count() if rows is None else rows)
    brought = by_partition(plan)
    if settings is not None:
        brought = brought_together(plan, events, settings, count)
    reasons = tuple(reason for _, reason in events.faults)
    counts = Counts(Observation(), reasons, tuple(types_by_key(plan)))
    together = [[n for sharable in each.all_sets for n in sharable.queries] for each in brought]
    derived = with_derived(plan, letters, together)
    rewritten = over_bits(derived.plan, letters.lettering)
    ways = [_Way(plan, rewritten, each) for each in brought]
    shuffles = [
        shuffle
        for number in range(len(ways))
        for shuffle in _shuffles(letters, derived, ways, number, counts, settings, numbers, count)
    ]
    return Prepared(rewritten, tuple(shuffles), counts)


def _of_asked_types(events: EventFrame, plan: WorkloadPlan) -> EventFrame:
    """Only rows of types that queries ask for, by a filter that Spark can hand to the files."""
    asked = asked_types(planned.query for planned in plan.queries)
    if OTHER in asked:
        return events
    return replace(events, frame=events.frame.where(events.types.isin(*sorted(asked))))


@dataclass(frozen=True, slots=True)
class _Way:
    """Sets whose rows are brought together by the same."""

    plan: WorkloadPlan
    rewritten: WorkloadPlan
    brought: Brought

    @property
    def sets(self) -> tuple[SharableSet, ...]:
        """All of them."""
        return self.brought.all_sets

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """What partitions the stream for some of them."""
        return tuple(key for key, _ in self.brought.sets)

    def alphabet_by(self, key: tuple[str, ...]) -> Alphabet:
        """What the queries of those sets ask of an event that partition the stream by a key."""
        sets = dict(self.brought.sets)[key]
        return alphabet_of(self.plan.queries[n] for each in sets for n in each.queries)

    @property
    def numbers(self) -> list[int]:
        """The queries of the sets."""
        return [number for sharable in self.sets for number in sharable.queries]

    @property
    def attributes(self) -> tuple[str, ...]:
        """What the engine looks at, once it has bits and derived attributes."""
        queries = tuple(self.rewritten.queries[number] for number in self.numbers)
        needed = needs_of(replace(self.rewritten, queries=queries)).attributes
        return tuple(name for name in needed if not is_bit_column(name))

    @property
    def longest_us(self) -> int:
        """The longest window."""
        return max(self.plan.queries[number].query.window.within_us for number in self.numbers)


@dataclass(frozen=True, slots=True)
class _Cut:
    """How the rows of some sets are cut.

    slices: None where they are not.
    """

    sets: tuple[SharableSet, ...]
    slices: Slices | None = None
    panes: Panes | None = None


def _cuts(way: _Way, hot: Hot | None, settings: Settings, kind: Numbers) -> list[_Cut]:
    """How large partitions are cut: into slices of windows, or of panes where those do not do.

    Sets that do not compose are left as they are, and then go through a shuffle of their own.
    """
    queries = way.rewritten.queries
    if not all(queries[number].query.window.clock.is_plain for number in way.numbers):
        return [_Cut(way.sets)]  # slices begin at multiples of their length
    slices = slices_of(hot, way.longest_us)
    some = tuple(s for s in way.sets if all(composes(queries[number]) for number in s.queries))
    if hot is None or not some or settings.parallelism() < 2:
        return [_Cut(way.sets, slices)]
    numbers = [number for sharable in some for number in sharable.queries]
    common = pane_us(queries[number].query.window for number in numbers)
    found = pane_slices_of(hot, slices, common)
    if found is None:
        return [_Cut(way.sets, slices)]
    panes = derive(way.rewritten, some, found.pane_us)
    most = _MOST_PANE_QUERIES[kind] * settings.parallelism() * len(numbers)
    if len(panes.plan.queries) - panes.first > most:
        return [_Cut(way.sets, slices)]
    others = tuple(sharable for sharable in way.sets if sharable not in some)
    cuts = [_Cut(some, found.slices, panes)]
    return [*cuts, _Cut(others, slices)] if others else cuts


def _shuffles(
    letters: LetterColumns,
    derived: Derived,
    ways: list[_Way],
    number: int,
    counts: Counts,
    settings: Settings | None,
    numbers: Numbers,
    rows: Callable[[], int],
) -> Iterator[Shuffle]:
    events, lettering, way = letters.events, letters.lettering, ways[number]
    attributes = way.attributes
    named = {**letters.named(), _TIME: events.time}
    if events.order is not None:
        named[_ORDER] = events.order
    for place, attribute in enumerate(attributes):
        is_key = any(attribute in key for key in way.keys)
        named[f"{_ATTRIBUTE}{place}"] = derived.shipped(events, attribute, is_key=is_key)
    takes_part = reduce(or_, (_takes_part(letters, way, key, attributes) for key in way.keys))
    in_any = [takes_part]
    if number == 0:
        # The first job over the rows counts those that take part in any way.
        for other in ways[1:]:
            for key in other.keys:
                given = f"{_GIVEN}{len(in_any)}"
                named[given] = are_given([events.schema[each] for each in key])
                in_any.append(letters.takes_part(other.alphabet_by(key)) & F.col(given))
        named |= {f"{LACKING}{i}": each for i, each in enumerate(lacking(events, counts.keys))}
    frame = events.frame.select(*(column.alias(name) for name, column in named.items()))
    layout = TaskColumns(
        lettering,
        events.order is not None,
        attributes,
        has_joint_time=_fits_above(lettering, events.time_kind),
    )
    by = way.brought.by
    keys = tuple(as_key(_column(attributes, each), events.schema[each][1]) for each in by)
    cuts = [_Cut(way.sets)]
    if settings is not None and not (settings.slices == "auto" and way.brought.is_even):
        hot = hot_groups(frame.where(takes_part), keys, _TIME, settings, rows)
        cuts = _cuts(way, hot, settings, numbers)
    for place, cut in enumerate(cuts):
        # Watching rows also keeps Spark from moving the filter before the letters are found, where
        # it would find them twice.
        if number == 0 and place == 0:
            asked = types_by_key(way.plan)
            watched = _counted(frame, letters, in_any, counts, asked)
        else:
            watched = frame.observe(Observation(), F.count(F.lit(1)).alias("rows"))
        # Never true, but Spark does not know: where it saw that no row takes part it would not
        # count.
        never = F.spark_partition_id() < 0
        kept = watched.where(takes_part | never)
        kept = kept.select(*letters.columns(), *_others(events, attributes))
        if cut.slices is None:
            yield Shuffle(cut.sets, _joint(kept, layout), by, keys, layout)
            continue
        sliced = replace(layout, slice_us=cut.slices.length_us)
        kept = _joint(cut.slices.applied(kept, keys, _TIME), layout)
        yield Shuffle(cut.sets, kept, by, (*keys, F.col(SLICE)), sliced, cut.panes)


def _takes_part(
    letters: LetterColumns, way: _Way, key: tuple[str, ...], attributes: tuple[str, ...]
) -> Column:
    """Whether a row means anything to the sets that partition the stream by a key."""
    means = letters.takes_part(way.alphabet_by(key))
    if not key:
        return means
    return means & are_given([(_column(attributes, k), letters.events.schema[k][1]) for k in key])


def _fits_above(lettering: Lettering, time: DataType) -> bool:
    """Whether letters are so short that a time, a whole number of seconds, fits above them."""
    return isinstance(time, WHOLE) and 0 < lettering.all_bits <= _BITS_BESIDE_SECONDS


def _joint(frame: DataFrame, layout: TaskColumns) -> DataFrame:
    """Time and letters in one column where the layout says so: each column that travels costs."""
    if not layout.has_joint_time:
        return frame
    above = F.shiftleft(F.col(_TIME).cast("long"), layout.lettering.all_bits)
    joint = F.col(f"{BITS}0").bitwiseOR(above)
    return frame.withColumn(f"{BITS}0", joint).drop(_TIME)


def _column(attributes: tuple[str, ...], attribute: str) -> Column:
    return F.col(f"{_ATTRIBUTE}{attributes.index(attribute)}")


def _counted(
    frame: DataFrame,
    letters: LetterColumns,
    takes_part: list[Column],
    counts: Counts,
    asked: Mapping[str, Collection[str]],
) -> DataFrame:
    """The same rows, watched.

    Args:
        frame: The rows.
        letters: What is known of them.
        takes_part: Whether they take part in each way.
        counts: Where counts are put.
        asked: The types of events that have to have each key.
    """
    rows = F.count(F.lit(1)).alias("rows")
    used = count_where(reduce(or_, takes_part)).alias("used")
    faults = [
        count_where(letters.is_fault(i)).alias(f"{FAULT}{i}") for i in range(len(counts.reasons))
    ]
    without = [
        count_where(letters.is_good() & letters.is_one_of(asked[key]) & F.col(f"{LACKING}{i}"))
        for i, key in enumerate(counts.keys)
    ]
    lacks = [each.alias(f"{LACKING}{i}") for i, each in enumerate(without)]
    return frame.observe(counts.observation, rows, used, *faults, *lacks)


def _others(events: EventFrame, attributes: tuple[str, ...]) -> list[str]:
    """The columns after the letters."""
    order = [] if events.order is None else [_ORDER]
    return [_TIME, *order, *(f"{_ATTRIBUTE}{i}" for i in range(len(attributes)))]
