"""What kernels found for partitions with keys, brought to one numbering of partitions.

The partitions of different kernels, and of different runs of one, have different numbers: what they
have in common is the key.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hamlet.columns import Values
from hamlet.events import EventTable, Statistics
from hamlet.kernel.partitions import partitions_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hamlet.kernel.base import Emission
    from hamlet.kernel.partitions import Grouping
    from hamlet.plan.query import Query


@dataclass(frozen=True, slots=True)
class Found:
    """What a kernel emitted, and the keys of the partitions that it numbers."""

    emission: Emission
    keys: pa.Table


@dataclass(frozen=True, slots=True)
class Keyed:
    """Partitions by number: the values of their keys, and the groups of each query."""

    keys: dict[str, pa.Array]
    groupings: tuple[Grouping, ...]


def numbered(found: Sequence[Found], queries: Sequence[Query]) -> tuple[list[Emission], Keyed]:
    """Emissions with one numbering of all partitions, and what those are."""
    counts = [int(each.emission.part.max(initial=-1)) + 1 for each in found]
    begins = np.cumsum([0, *counts])
    pairs = zip(found, counts, strict=True)
    everything = EventTable(
        "events",
        pa.concat_tables([each.keys.slice(0, count) for each, count in pairs]),
        np.zeros(int(begins[-1]), np.int64),
        Values(None, np.zeros(0, np.int32)),
        None,
        False,
        Statistics(0),
    )
    partitions = partitions_of(everything, found[0].keys.column_names, None)
    emissions = [
        replace(each.emission, part=partitions.of_row[begin + each.emission.part])
        for each, begin in zip(found, begins.tolist(), strict=False)
    ]
    groupings = tuple(partitions.grouped(query.group_by) for query in queries)
    return emissions, Keyed(partitions.keys, groupings)
