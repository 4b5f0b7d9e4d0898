"""Events of any table as the arrays that a kernel runs on: letters, partitions, weights and keys.

Steps: the letter of each row; rows with the empty letter, or without a value for a partition
attribute, are left out; partition numbers; a counting sort by partition of rows in time order; and
what queries look at, gathered in that order. No step does anything in Python for each row or group.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.kernel.base import (
    EventBatch,
    ExtremeRow,
    Weight,
    components_of,
    extreme_rows,
    finite_codes,
    weights_of,
)
from hamlet.kernel.encode.arranging import arranged, arranged_without, mark_used
from hamlet.kernel.encode.digits import (
    digits_of,
    digits_of_squares,
    digits_within,
    doubles_or,
    present,
    squares_in_doubles,
)
from hamlet.kernel.encode.lettering import letters_of
from hamlet.kernel.encode.ranks import plain_attribute, sides_of
from hamlet.kernel.encode.residual_predicates import GeneralColumns
from hamlet.plan.aggregates import squared
from hamlet.plan.number_mode import NumberMode
from hamlet.plan.predicates import Constant
from hamlet.plan.remembered import remembered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from hamlet.events.columns import Values
    from hamlet.events.table import EventTable
    from hamlet.kernel.encode.arranging import Arranged
    from hamlet.kernel.encode.partitions import Grouping, Partitions
    from hamlet.plan.number_mode import Numbers
    from hamlet.plan.predicates import Column, Expression
    from hamlet.plan.program import Program
    from hamlet.plan.query import Query
    from hamlet.plan.workload import SharableSet, WorkloadPlan

    Rows = NDArray[np.int32]
    # A row of a matrix, or what writes it
    _Row = NDArray[Any] | Callable[[NDArray[Any]], None]


@dataclass(frozen=True, slots=True)
class EncodedSet:
    """The events of one sharable set and what is needed to name and finish its results.

    batch: The events.
    rows: The row of the table that each event was.
    starts: Where each partition begins.
    keys: For each partition attribute its value in each partition.
    groupings: The groups of each query of the set.
    digits: For each summed attribute the exponents of its digits.
    integers: The aggregated attributes that are whole numbers, whose sums have exact digits.
    ordered_usable: For each edge predicate whether its sides in the batch decide it.
    conditions: For each edge predicate that is not decided so its condition, over the columns of
        the batch and constants as doubles.
    zeros: The summed attributes without a grid that have no value here but 0.
    plain_sides: For each edge predicate whether its sides are the values that are compared, and
        not their places among those of the table: what is plain can be compared with other tables.
    """

    batch: EventBatch
    rows: Rows
    starts: NDArray[np.int64]
    keys: Mapping[str, pa.Array]
    groupings: tuple[Grouping, ...]
    digits: dict[str, tuple[int, ...]]
    integers: frozenset[str]
    ordered_usable: tuple[bool, ...]
    conditions: tuple[Expression | None, ...]
    zeros: frozenset[str] = frozenset()
    plain_sides: tuple[bool, ...] = ()


def encode(
    table: EventTable,
    plan: WorkloadPlan,
    sharable: SharableSet,
    program: Program,
    numbers: Numbers = "exact",
    *,
    grids: Mapping[str, tuple[int, ...] | None] | None = None,
    has_edges: bool = True,
    is_whole: bool = False,
) -> EncodedSet:
    """Encode a table for one sharable set of a workload.

    Args:
        table: The events.
        plan: The workload.
        sharable: The set.
        program: Its program.
        numbers: Which kind of numbers weights are for.
        grids: For each summed attribute the exponents that its digits must have among them, None
            where it has none yet; see `digits_within`. Chosen for the table where left out.
        has_edges: Whether edge predicates are encoded, for units that have some.
        is_whole: Whether nothing comes before these events, or between them; then those that no
            query mentions are left out, and it is only told where they come between others.
    """
    letter, letters = letters_of(table, program.alphabet)
    placed = _placed(table, sharable.partition, program, letter, letters, is_whole)
    asked = _asked_of(plan, sharable.queries)
    digits, zeros, specs, weights = _weights(asked, placed, NumberMode(numbers), grids)
    length = len(placed.part)
    edges = _edges(program, placed) if has_edges else _no_edges(program, placed)
    batch = EventBatch(
        part=placed.part,
        ts=asked.queries[0].window.clock.times(placed.ts),
        tied=placed.tied,
        letter=placed.letter,
        letters=letters,
        weight_specs=specs,
        weights=weights,
        extreme_attributes=asked.extremes,
        extremes=_matrix([_extremes(placed, name) for name in asked.extremes], length),
        previous=edges.previous,
        next=edges.next,
        column_names=tuple(edges.general.columns),
        columns=edges.general.matrix,
        after_others=placed.after_others,
    )
    return EncodedSet(
        batch=batch,
        rows=placed.rows,
        starts=placed.starts,
        keys=placed.partitions.keys,
        groupings=_groupings(asked.queries, placed.partitions),
        digits=digits,
        integers=frozenset(a for a in asked.attributes if table.column(a).is_integer),
        ordered_usable=edges.usable,
        conditions=edges.conditions,
        zeros=zeros,
        plain_sides=edges.are_plain,
    )


def _placed(
    table: EventTable,
    partition: tuple[str, ...],
    program: Program,
    letter: Rows,
    letters: NDArray[np.uint8],
    is_whole: bool,
) -> Arranged:
    """The rows of a set in order, without those that can be no part of any trend or negation."""
    is_other = np.asarray(~letters[:, np.unique(program.state_atom)].any(axis=1))
    if is_whole and is_other.any():
        return arranged_without(table, partition, letter, is_other)
    placed = arranged(table, partition, letter)
    mark_used(table, placed.rows)
    return placed


@dataclass(frozen=True, slots=True)
class _Asked:
    """What some queries look at, whatever the events are.

    Attributes:
        queries: The queries.
        attributes: Those that some aggregate is applied to.
        sums: What is added up: its name, its attribute, and whether it is its squares.
        extremes: What extremes are made of.
    """

    queries: tuple[Query, ...]
    attributes: tuple[str, ...]
    sums: tuple[tuple[str, str, bool], ...]
    extremes: tuple[str, ...]


@remembered
def _asked_of(plan: WorkloadPlan, numbers: tuple[int, ...]) -> _Asked:
    queries = tuple(plan.queries[number].query for number in numbers)
    return _Asked(queries, _attributes(queries), _sums(queries), _extreme_rows(queries))


@remembered
def _specs_of(asked: _Asked, digits: tuple[tuple[str, tuple[int, ...]], ...]) -> tuple[Weight, ...]:
    """What queries add up, each once, where attributes have some digits."""
    specs: dict[Weight, None] = {}
    for query in asked.queries:
        components = components_of(query.aggregates, dict(digits))
        specs.update((weight, None) for weight in weights_of(components))
    return tuple(specs)


def _matrix(rows: Sequence[_Row], length: int, dtype: Any = np.float64) -> NDArray[Any]:
    """Rows one below the other, each written where it belongs.

    A single one that is there already is not copied, unless it is another's memory.
    """
    only = rows[0] if len(rows) == 1 else None
    if isinstance(only, np.ndarray) and only.dtype == dtype and only.flags.writeable:
        return np.ascontiguousarray(only).reshape(1, length)
    matrix = np.empty((len(rows), length), dtype)
    for out, row in zip(matrix, rows, strict=True):
        if isinstance(row, np.ndarray):
            out[:] = row
        else:
            row(out)
    return matrix


def _groupings(queries: Sequence[Query], partitions: Partitions) -> tuple[Grouping, ...]:
    groupings: dict[tuple[str, ...], Grouping] = {}
    for query in queries:
        if query.group_by not in groupings:
            groupings[query.group_by] = partitions.grouped(query.group_by)
    return tuple(groupings[query.group_by] for query in queries)


# Aggregates


def _attributes(queries: Sequence[Query]) -> tuple[str, ...]:
    """The attributes that aggregates are applied to, each once."""
    return tuple(
        dict.fromkeys(
            aggregate.attribute
            for query in queries
            for aggregate in query.aggregates
            if aggregate.attribute is not None
        )
    )


def _extreme_rows(queries: Sequence[Query]) -> tuple[str, ...]:
    """What extremes are made of, each once."""
    return tuple(
        dict.fromkeys(
            row for query in queries for each in query.extremes for row in extreme_rows(each)
        )
    )


def _extremes(placed: Arranged, name: str) -> _Row:
    """One row of extremes; times are those of events, whatever clock their windows have."""
    match name:
        case ExtremeRow.ONE:
            return np.broadcast_to(1.0, len(placed.rows))
        case ExtremeRow.NOTHING:
            return np.broadcast_to(0.0, len(placed.rows))
        case ExtremeRow.TIME:
            return placed.ts.astype(np.float64)
        case ExtremeRow.BACK:
            return -placed.ts.astype(np.float64)

    def write(out: NDArray[Any]) -> None:
        placed.write_doubles(name, np.nan, out)
        codes = finite_codes(out)
        if codes is not out:
            placed.forget_doubles()
            out[:] = codes

    return write


def _sums(queries: Sequence[Query]) -> tuple[tuple[str, str, bool], ...]:
    """What is added up, each once: its name, its attribute, and whether it is its squares."""
    found = {
        aggregate.sum_of(kind): (str(aggregate.attribute), kind == "square")
        for query in queries
        for aggregate in query.aggregates
        for kind in aggregate.weights
        if kind in ("value", "square")
    }
    return tuple((name, *how) for name, how in found.items())


def _weights(
    asked: _Asked,
    placed: Arranged,
    mode: NumberMode,
    grids: Mapping[str, tuple[int, ...] | None] | None,
) -> tuple[dict[str, tuple[int, ...]], frozenset[str], tuple[Weight, ...], NDArray[Any]]:
    """Digits of each summed attribute, those that are all 0, the weights, and their values."""
    digits: dict[str, tuple[int, ...]] = {}
    zeros: set[str] = set()
    values: dict[tuple[str, int], _Row] = {}
    for name, attribute, is_square in asked.sums:
        if mode is NumberMode.EXACT:
            column = placed.column(attribute)
            grid = None if grids is None else grids[name]
            if is_square:
                digits[name], rows = digits_of_squares(column, grid)
            elif grids is None:
                digits[name], rows = digits_of(column)
            else:
                digits[name], rows = digits_within(column, grid)
            if grids is not None and grid is None and not any(row.any() for row in rows):
                zeros.add(name)
            values.update({(name, place): row for place, row in enumerate(rows)})
        else:
            digits[name], values[name, 0] = (0,), _doubles(placed, attribute, is_square)
    specs = _specs_of(asked, tuple(digits.items()))
    matrix = [_weight(weight, placed, values) for weight in specs]
    return digits, frozenset(zeros), specs, _matrix(matrix, len(placed.rows), mode.dtype)


def _doubles(placed: Arranged, attribute: str, is_square: bool) -> _Row:
    """What events add for an attribute where it is added up in doubles."""
    if is_square:
        return squares_in_doubles(doubles_or(placed.column(attribute), 0.0), attribute)
    return partial(placed.write_doubles, attribute, 0.0)


def _weight(weight: Weight, placed: Arranged, values: Mapping[tuple[str, int], _Row]) -> _Row:
    """What each event adds for a weight, with the values of digits."""
    if weight.kind == "one":
        return np.broadcast_to(np.int8(1), len(placed.rows))
    if weight.is_timed:
        return _timed(weight, placed.ts)
    if weight.kind == "present":
        if placed.table.column(str(weight.attribute)).valid is None:
            return np.broadcast_to(np.int8(1), len(placed.rows))
        return present(placed.column(str(weight.attribute)))
    name = squared(str(weight.attribute)) if weight.kind == "square" else str(weight.attribute)
    return values[name, weight.digit]


def _timed(weight: Weight, ts: NDArray[np.int64]) -> NDArray[np.int64]:
    """What events add to a sum of durations: see `Weight`."""
    amounts = ts % weight.span_us if weight.kind == "time" else ts // weight.span_us % 2
    return -amounts if weight.is_taken_off else amounts


# Edges


@dataclass(frozen=True, slots=True)
class _Edges:
    previous: NDArray[np.float64]
    next: NDArray[np.float64]
    usable: tuple[bool, ...]
    conditions: tuple[Expression | None, ...]
    general: GeneralColumns
    are_plain: tuple[bool, ...] = ()


def _edges(program: Program, placed: Arranged) -> _Edges:
    """The sides of ordered predicates, and the columns of all others."""
    if not program.predicates:
        return _no_edges(program, placed)
    count, length = len(program.predicates), len(placed.rows)
    nothing: _Row = np.broadcast_to(0.0, length)
    previous, following = [nothing] * count, [nothing] * count
    lookup = _lookup(placed)
    general = GeneralColumns(lookup, length, placed.table.name)
    conditions: list[Expression | None] = [None] * count
    usable, are_plain = [True] * count, [False] * count
    for number, predicate in enumerate(program.predicates):
        attribute = plain_attribute(predicate, placed.table)
        if attribute is not None:
            are_plain[number] = True
            previous[number] = following[number] = partial(placed.write_doubles, attribute, np.nan)
            continue
        sides, are_plain[number] = sides_of(predicate, lookup, length)
        if sides is None:
            usable[number] = False
            conditions[number] = general.rewrite(predicate.condition)
        else:
            previous[number], following[number] = sides
    before = _matrix(previous, length)
    is_same = all(one is other for one, other in zip(previous, following, strict=True))
    after = before if is_same else _matrix(following, length)
    return _Edges(before, after, tuple(usable), tuple(conditions), general, tuple(are_plain))


def _lookup(placed: Arranged) -> Callable[[Column], Values]:
    """Attributes, whichever of two events they are of."""
    return lambda column: placed.column(column.attribute)


def _no_edges(program: Program, placed: Arranged) -> _Edges:
    """For units without edge predicates: no sides, and conditions that ask nothing."""
    count, length = len(program.predicates), len(placed.rows)
    nothing = np.empty((0, length))
    general = GeneralColumns(_lookup(placed), length, "")
    always = Constant.of(1.0)
    return _Edges(nothing, nothing, (True,) * count, (always,) * count, general)
