"""How kept rows are laid out, which depends on the digits of summed attributes.

The exponents of an attribute's digits are its grid (kernel/digits.py). A grid that grows gives
components to the queries that sum the attribute; in what was kept before they are 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hamlet.kernel.base import components_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.base import Component
    from hamlet.kernel.row_pieces import Shape
    from hamlet.plan.query import Query

    Longs = NDArray[np.int64]

# For each summed attribute its exponents; None while it had no value but 0.
Grids = dict[str, tuple[int, ...] | None]


@dataclass(frozen=True, slots=True)
class RowLayout:
    """The units of a set that keep rows.

    queries: The queries of the set.
    query_of: The query of each unit.
    plain: The shape of what is kept, but for the number of components.
    """

    queries: Sequence[Query]
    query_of: NDArray[np.int32]
    plain: Shape

    def shape(self, grids: Grids) -> Shape:
        """The shape of what is kept under some grids."""
        counts = np.array([1 + len(each) for each in self._components(grids)], np.int64)
        return replace(self.plain, components=counts[self.query_of])

    def sources(self, old: Grids, new: Grids) -> dict[int, Longs]:
        """By unit, for each component under new grids which it was under old ones, -1 for none."""
        by_query = [
            np.array([0, *(_place(each, before) for each in after)], np.int64)
            for before, after in zip(self._components(old), self._components(new), strict=True)
        ]
        return {unit: by_query[query] for unit, query in enumerate(self.query_of)}

    def _components(self, grids: Grids) -> list[tuple[Component, ...]]:
        digits = digits_of(grids)
        return [components_of(query.aggregates, digits) for query in self.queries]


def digits_of(grids: Grids) -> dict[str, tuple[int, ...]]:
    """The exponents of each attribute; one digit stands in where all was 0.

    >>> digits_of({"x": None, "y": (-3, 37)})
    {'x': (0,), 'y': (-3, 37)}
    """
    return {name: grid or (0,) for name, grid in grids.items()}


def united(one: Grids, other: Grids) -> Grids:
    """Grids that have the exponents of both.

    >>> united({"x": None, "y": (0, 40)}, {"x": None, "y": (-40, 0)})
    {'x': None, 'y': (-40, 0, 40)}
    """
    both = {name: sorted({*(grid or ()), *(other[name] or ())}) for name, grid in one.items()}
    return {name: tuple(grid) or None for name, grid in both.items()}


def _place(component: Component, before: Sequence[Component]) -> int:
    """Where a component stood before, -1 where it was not there.

    A digit that stood in for a grid is 0 everywhere, so that it may become any other.
    """
    weight = component.weight
    for number, known in enumerate(before):
        same = known.weight.kind, known.weight.exponent
        if known.aggregate == component.aggregate and same == (weight.kind, weight.exponent):
            return 1 + number
    return -1
