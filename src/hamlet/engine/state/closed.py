"""What kernels gave for windows that have closed, and what can be made of it.

The partitions of different kernels, and of different runs of one, have different numbers: what they
have in common is the key, by which they are numbered anew. Then rows of results can be made, or a
partial answer, to which others add what they know of the same groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hamlet.engine.closed import answers_of_sets
from hamlet.engine.groups import groups_of_queries
from hamlet.events.columns import Values
from hamlet.events.table import EventTable, Statistics
from hamlet.events.times import NAIVE
from hamlet.kernel.encode.partitions import partitions_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hamlet.engine.closed import ClosedSet
    from hamlet.kernel.base import Emission
    from hamlet.kernel.finish import Answer, Groups, SetAnswers
    from hamlet.plan.query import Query
    from hamlet.plan.workload import WorkloadPlan


@dataclass(frozen=True, slots=True)
class KeyedEmission:
    """What a kernel emitted, and the keys of the partitions that it numbers."""

    emission: Emission
    keys: pa.Table


@dataclass(frozen=True, slots=True)
class Closed:
    """Windows that have closed.

    schema: The columns of a partial answer.
    """

    plan: WorkloadPlan
    sets: tuple[ClosedSet, ...]
    schema: pa.Schema

    def __len__(self) -> int:
        """How many windows of templates and partitions these are."""
        return sum(len(closed.emission.part) for closed in self.sets)

    def apart(self, queries: Collection[int]) -> tuple[Closed, Closed]:
        """Those of sets without some queries, and those of sets of these alone.

        Args:
            queries: By their numbers; of a set all or none.
        """
        some = [closed for closed in self.sets if closed.program.queries[0] in queries]
        others = [closed for closed in self.sets if closed.program.queries[0] not in queries]
        return replace(self, sets=tuple(others)), replace(self, sets=tuple(some))

    def answers(self) -> tuple[Answer, ...]:
        """The rows of results, for queries that have some.

        They are whole where all partitions of their groups are in one session, and closed at once.
        """
        sets = self.of_sets()
        return tuple(answer for each in sets for answer in each.answers(only_found=True))

    def of_sets(self) -> list[SetAnswers]:
        """The same rows, those of several queries together."""
        return answers_of_sets(self.plan, self.sets)

    def partial(self) -> pa.Table:
        """The partial answer, for others to add to: see kernel/finish/partial.py."""
        tables = [closed.partial(self.plan, self.schema) for closed in self.sets]
        return pa.concat_tables([self.schema.empty_table(), *tables]).combine_chunks()


def groups_of(
    several: Sequence[KeyedEmission], queries: Sequence[Query]
) -> tuple[list[Emission], list[Groups]]:
    """Emissions with one numbering of all partitions, and the groups of each query."""
    counts = [int(keyed.emission.part.max(initial=-1)) + 1 for keyed in several]
    begins = np.cumsum([0, *counts])
    pairs = zip(several, counts, strict=True)
    everything = EventTable(
        "events",
        pa.concat_tables([keyed.keys.slice(0, count) for keyed, count in pairs]),
        np.zeros(int(begins[-1]), np.int64),
        Values(None, np.zeros(0, np.int32)),
        None,
        NAIVE,
        Statistics(0),
    )
    partitions = partitions_of(everything, several[0].keys.column_names, None)
    emissions = [
        replace(keyed.emission, part=partitions.of_row[begin + keyed.emission.part])
        for keyed, begin in zip(several, begins.tolist(), strict=False)
    ]
    groupings = tuple(partitions.grouped(query.group_by) for query in queries)
    return emissions, groups_of_queries(partitions.keys, groupings)
