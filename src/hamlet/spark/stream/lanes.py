"""Lanes and buckets: what the rows of a stream are spread by.

A *lane* is the sets of queries whose rows are spread over *buckets* by the hash of the same
attributes: those that all queries of a set group by, so that a bucket has all partitions of its
groups. Queries without such an attribute are spread by what partitions the stream for them. Then a
group may have partitions in several buckets, each of which gives a partial answer. Where nothing
partitions the stream either there is one bucket. Nothing here knows of Spark.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hamlet.engine.pipeline import shared_plan
from hamlet.engine.state.hashing import hashes_of
from hamlet.events.required_columns import needs_of
from hamlet.kernel.finish.partial import partial_schema
from hamlet.plan.template import PlannedQuery, QueryTemplates
from hamlet.plan.workload import WorkloadPlan, plan_workload
from hamlet.spark.letters import letters_among, letters_column, over_bits
from hamlet.spark.stream.settings import BUCKETS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hamlet.engine import Options
    from hamlet.plan.workload import SharableSet
    from hamlet.spark.letters import Lettering
    from hamlet.spark.stream.settings import StreamSettings

# Every number from 1 to 10 divides it.
_TASKS = 2520
_MASK = (1 << 32) - 1
# So many bits of a bucket's number are its own; those above are of its generation.
_ROOM = 20
_NO_TEMPLATES = QueryTemplates((), None, ())


@dataclass(frozen=True, slots=True)
class Lane:
    """Queries whose rows are spread by the same attributes.

    plan: The queries, and no others, over bits.
    queries: Their numbers in the workload.
    keys: The attributes that say which bucket a row is in.
    schema: The attributes that the queries look at, once they have bits.
    letters: The integers whose bits they look at.
    later: Those of `plan`, by number, whose groups may be in several buckets; the others have
        theirs whole in one.
    partial: The columns of their partial answers.
    first: Which bucket of all is its first.
    count: How many buckets there are.
    """

    plan: WorkloadPlan
    queries: tuple[int, ...]
    keys: tuple[str, ...]
    schema: pa.Schema
    letters: tuple[int, ...]
    later: tuple[int, ...]
    partial: pa.Schema
    first: int
    count: int

    @property
    def partition(self) -> frozenset[str]:
        """The attributes that partition the stream for any of the queries."""
        return frozenset(key for sharable in self.plan.sets for key in sharable.partition)

    @property
    def groups_are_on_pages(self) -> bool:
        """Whether each group is one partition of the stream, and so all of it is on one page."""
        return all(
            set(self.plan.queries[number].query.group_by) == set(sharable.partition)
            for sharable in self.plan.sets
            for number in sharable.queries
        )

    def buckets_of(self, columns: Sequence[pa.ChunkedArray], count: int) -> NDArray[np.int32]:
        """Which of its buckets each row is in, from 0 on, by some columns."""
        if self.count == 1:
            return np.zeros(count, np.int32)
        hashes = hashes_of(columns, count)
        # Pages are found by the lower half of the same bits.
        return ((hashes >> np.uint64(32)) % np.uint64(self.count)).astype(np.int32)

    def without_templates(self) -> Lane:
        """The same, but for what it takes to run queries: what is left names and finishes rows."""
        queries = tuple(
            PlannedQuery(replace(planned.query, local=(), edge_predicates=()), _NO_TEMPLATES)
            for planned in self.plan.queries
        )
        return replace(self, plan=WorkloadPlan(queries if self.later else (), ()))


def lanes_of(
    plan: WorkloadPlan,
    schema: pa.Schema,
    options: Options,
    settings: StreamSettings,
    lettering: Lettering,
) -> tuple[Lane, ...]:
    """The lanes of a workload.

    Args:
        plan: The workload.
        schema: The attributes that it looks at.
        options: How to run it.
        settings: How to run it as a stream.
        lettering: Which conditions have bits.
    """
    shared = shared_plan(plan, options)
    by_keys: dict[tuple[str, ...], list[SharableSet]] = {}
    for sharable in shared.sets:
        keys = _grouped_by_all(plan, sharable) or frozenset(sharable.partition)
        by_keys.setdefault(tuple(sorted(keys)), []).append(sharable)
    lanes: list[Lane] = []
    first = 0
    for names, sets in by_keys.items():
        numbers = sorted(number for sharable in sets for number in sharable.queries)
        apart = {
            n for sharable in sets if not _grouped_by_all(plan, sharable) for n in sharable.queries
        }
        count = (settings.buckets or BUCKETS) if names else 1
        if apart and settings.is_early:
            # What a batch changes of a group has to be known with all the rest of it.
            count = 1
        later = [place for place, number in enumerate(numbers) if number in apart and count > 1]
        alone = plan_workload(plan.queries[number] for number in numbers)
        part = over_bits(alone, lettering, are_packed=True)
        needed = needs_of(part).attributes
        letters = letters_among(needed)
        of_letters = {letters_column(letter) for letter in letters}
        travels = pa.schema([schema.field(column) for column in needed if column not in of_letters])
        lane = Lane(
            plan=part,
            queries=tuple(numbers),
            keys=names,
            schema=travels,
            letters=letters,
            later=tuple(later),
            partial=partial_schema(part, travels, options.numbers),
            first=first,
            count=count,
        )
        lanes.append(lane)
        first += count
    return tuple(lanes)


def _grouped_by_all(plan: WorkloadPlan, sharable: SharableSet) -> frozenset[str]:
    """The attributes that all queries of a set group by."""
    grouped = [frozenset(plan.queries[number].query.group_by) for number in sharable.queries]
    return frozenset.intersection(*grouped)


def spread(count: int, generation: int = 0) -> tuple[int, ...]:
    """Numbers that Spark's hash spreads evenly over up to ten tasks, or any number near to it.

    With 0, 1, 2, ... one task might get most of them, and others none. Every generation of a
    stream has numbers of its own.

    >>> spread(4)
    (6397, 2019, 848, 206)
    >>> min(spread(4, generation=1)) >= 1 << 20
    True
    """
    places: dict[int, list[int]] = {}
    for place in range(count):
        places.setdefault(place % _TASKS, []).append(place)
    numbers = [-1] * count
    number = generation << _ROOM
    while places:
        wanted = places.get(_spark_hash(number) % _TASKS)
        if wanted:
            numbers[wanted.pop()] = number
            if not wanted:
                del places[_spark_hash(number) % _TASKS]
        number += 1
    return tuple(numbers)


def _spark_hash(number: int) -> int:
    """What Spark tells tasks by: Murmur3 of four bytes, with the seed 42."""
    mixed = _rotated(number * 0xCC9E2D51, 15) * 0x1B873593
    bits = _rotated(42 ^ (mixed & _MASK), 13) * 5 + 0xE6546B64
    bits = (bits & _MASK) ^ 4
    bits = (bits ^ bits >> 16) * 0x85EBCA6B & _MASK
    bits = (bits ^ bits >> 13) * 0xC2B2AE35 & _MASK
    bits ^= bits >> 16
    return bits - (1 << 32) if bits >> 31 else bits


def _rotated(number: int, by: int) -> int:
    number &= _MASK
    return (number << by | number >> (32 - by)) & _MASK
