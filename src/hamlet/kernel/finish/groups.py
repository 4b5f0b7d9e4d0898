"""The groups of a query: which partitions are in each, what it is called, and in which order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from hamlet.kernel.encode.partitions import Keys
from hamlet.kernel.encode.text_order import (
    order_of_distinct,
    order_of_integers,
    order_of_texts,
    text_pieces,
)
from hamlet.kernel.finish.group_text import group_texts
from hamlet.kernel.finish.integers import TEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of one query.

    of_partition: group number of each partition number.
    count: how many groups there are.
    values: for each grouping attribute, an Arrow array with the value of each group.
    json: JSON text of each group, in Arrow or in Python; that of its values where left out.
    """

    of_partition: NDArray[np.int32]
    count: int
    values: Mapping[str, Any]
    json: Sequence[str] | Any = None

    @cached_property
    def texts(self) -> Any:
        """The JSON text of each group, as an Arrow array; made when it is asked for."""
        if self.json is None:
            return group_texts(self.values, self.count)
        return plain(self.json) if _is_arrow(self.json) else pa.array(self.json, TEXT)

    def in_order(self, attributes: Sequence[str], asked: NDArray[np.bool_] | None = None) -> Groups:
        """The same groups, numbered in the order of their values and then of their texts.

        Rows of results stand in this order, so that numbers are all it takes to sort them.

        Args:
            attributes: Those that are grouped by, the first one first.
            asked: Which partitions are asked for: a group without any has no number then.
        """
        values: Mapping[str, Any]
        if isinstance(self.values, Keys):
            values = self.values.only(attributes)
            if self.count < 2:
                values = values.settled()
        else:
            values = {name: plain(self.values[name]) for name in attributes}
        if self.count < 2:
            return Groups(self.of_partition, self.count, values, self.json)
        chosen = np.arange(self.count) if asked is None else self._with_any(asked)
        some = Groups(self.of_partition, len(chosen), _taken(values, chosen), None)
        if self.json is not None:
            some = replace(some, json=self.texts.take(pa.array(chosen)))
        order = np.arange(some.count)
        if some.count > 1:
            order = _order_of(some.values, lambda: some.texts)
        place = np.full(self.count, -1, np.int32)
        place[chosen[order]] = np.arange(len(order), dtype=np.int32)
        texts = None if self.json is None else some.texts.take(pa.array(order))
        values = _taken(some.values, order)
        if isinstance(values, Keys):
            values = values.settled()
        return Groups(place[self.of_partition], some.count, values, texts)

    def _with_any(self, asked: NDArray[np.bool_]) -> NDArray[np.intp]:
        """The groups that have any of some partitions."""
        has_any = np.zeros(self.count, np.bool_)
        has_any[self.of_partition[asked]] = True
        return np.flatnonzero(has_any)


def _taken(values: Mapping[str, Any], chosen: NDArray[Any]) -> Mapping[str, Any]:
    """The values of some groups."""
    if isinstance(values, Keys):
        return values.taken(chosen)
    return {name: column.take(pa.array(chosen)) for name, column in values.items()}


_COMPARED = (pa.types.is_integer, pa.types.is_string, pa.types.is_large_string)


def _order_of(values: Mapping[str, Any], texts: Callable[[], Any]) -> NDArray[Any]:
    """The order of rows by the first column, then the second, and so on, then by their texts."""
    order = _order_of_first(values) if values else None
    if order is not None:
        return order
    columns = [*values.values(), texts()]
    names = [str(number) for number in range(len(columns))]
    table = pa.table(columns, names=names)
    order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in names])
    return order.to_numpy()  # type: ignore[no-any-return]


def _order_of_first(values: Mapping[str, Any]) -> NDArray[Any] | None:
    """The order of rows by the first column; None where two values may be equal there."""
    name = next(iter(values))
    if isinstance(values, Keys):
        coded, integers = values.words(name), values.integers(name)
        order = None if coded is None else order_of_texts(*text_pieces(coded[1], coded[0]))
        order = order if integers is None else order_of_integers(integers)
    else:
        order = order_of_distinct(values[name])
    column = values[name] if order is None else None
    # Arrow compares neighbours of some types only.
    if column is not None and any(is_kind(column.type) for is_kind in _COMPARED):
        sorted_by = pc.array_sort_indices(column)
        if not _has_equal_neighbours(column.take(sorted_by)):
            return sorted_by.to_numpy()  # type: ignore[no-any-return]
    return order


def _has_equal_neighbours(values: Any) -> bool:
    """Whether a value is the same as the one before it; nulls may be."""
    return pc.all(pc.not_equal(values[1:], values[:-1]), skip_nulls=False).as_py() is not True


def groups_in_order(
    groups: Sequence[Groups],
    grouped: Sequence[Sequence[str]],
    asked: NDArray[np.bool_] | None = None,
) -> list[Groups]:
    """The groups of each query in order; queries that have them in common still have.

    Args:
        groups: Those of each query.
        grouped: The attributes that each query groups by.
        asked: Which partitions are asked for; all where left out.
    """
    made: dict[tuple[int, tuple[str, ...]], Groups] = {}
    of_queries = []
    for each, attributes in zip(groups, grouped, strict=True):
        key = (id(each), tuple(attributes))
        if key not in made:
            made[key] = each.in_order(attributes, asked)
        of_queries.append(made[key])
    return of_queries


def _is_arrow(values: Any) -> bool:
    return isinstance(values, pa.Array | pa.ChunkedArray)


def plain(values: Any) -> Any:
    """A column of Arrow in one piece, without a dictionary."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
