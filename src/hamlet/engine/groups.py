"""Groups of partitions, and what they are called: the values they have in common, as JSON."""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from hamlet.kernel.finish import Groups

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hamlet.kernel.partitions import Grouping


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
    """The groups of partitions with some keys, each called by a JSON text."""
    values = {name: keys[name].take(grouping.partition) for name in grouping.attributes}
    count = len(grouping.partition)
    pieces: list[Any] = []
    for number, (name, column) in enumerate(values.items()):
        lead = ("{" if number == 0 else ", ") + json.dumps(name, ensure_ascii=False) + ": "
        pieces += [pa.scalar(lead, pa.large_string()), _json_texts(column)]
    if not pieces:
        return Groups(grouping.of_partition, ["{}"] * count, values)
    pieces.append(pa.scalar("}", pa.large_string()))
    texts = pc.binary_join_element_wise(*pieces, pa.scalar("", pa.large_string()))
    return Groups(grouping.of_partition, texts.to_pylist(), values)


def _json_texts(column: pa.Array) -> pa.Array:
    """Each value as JSON text."""
    if pa.types.is_integer(column.type):
        return column.cast(pa.large_string())
    texts = [json.dumps(_plain(v), ensure_ascii=False) for v in column.to_pylist()]
    return pa.array(texts, pa.large_string())


def _plain(value: Any) -> Any:
    """A value that JSON knows; times as ISO text."""
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, bool | int | float | str):
        return value
    return str(value)
