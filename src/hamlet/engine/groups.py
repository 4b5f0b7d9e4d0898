"""Groups of partitions, and what they are called: the values they have in common, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hamlet.kernel.encode.partitions import Keys
from hamlet.kernel.finish import Groups

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from hamlet.kernel.encode.partitions import Grouping


def groups_of_queries(keys: Mapping[str, pa.Array], groupings: Sequence[Grouping]) -> list[Groups]:
    """The groups of each query; queries that group alike have them in common.

    Args:
        keys: For each partition attribute its value in each partition.
        groupings: How each query groups partitions.
    """
    made: dict[tuple[str, ...], Groups] = {}
    for grouping in groupings:
        if grouping.attributes not in made:
            made[grouping.attributes] = groups_of(keys, grouping)
    return [made[grouping.attributes] for grouping in groupings]


def groups_of(keys: Mapping[str, pa.Array], grouping: Grouping) -> Groups:
    """The groups of partitions with some keys."""
    is_each = grouping.partition is grouping.of_partition  # each partition is a group
    values: Mapping[str, pa.Array]
    if isinstance(keys, Keys):
        values = keys.only(grouping.attributes)
        values = values if is_each else values.taken(grouping.partition)
    else:
        values = {name: keys[name] for name in grouping.attributes}
        if not is_each:
            values = {name: column.take(grouping.partition) for name, column in values.items()}
    return Groups(grouping.of_partition, len(grouping.partition), values)
