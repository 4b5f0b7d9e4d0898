"""Bundles: units that differ only in the events that some of their ops ask for.

Which units could be one is found here, from code: same windows, aggregates, rows and ops, and a
loop over the same events. Rows and ops of units are matched by what they are connected to, since
their numbers depend on names of types. What the machine does with bundles is told in
machine/bundles.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hamlet.kernel.code import LAZY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.code import Code, Compiled

    Ints = NDArray[np.int64]

# Rounds in which rows and ops are told apart by their neighbours: the most that one can be away.
_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Bundle:
    """Units, and for each of them its rows and its ops in an order that is the same for all."""

    units: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]
    ops: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class _Shape:
    """A unit as far as another has to be like it, and its own rows and ops in that order."""

    key: tuple[Any, ...]
    rows: tuple[int, ...]
    ops: tuple[int, ...]


def find_bundles(code: Code) -> tuple[Bundle, ...]:
    """All bundles of two or more units."""
    by_shape: dict[tuple[Any, ...], list[tuple[int, _Shape]]] = {}
    ops_of: dict[int, list[int]] = {}
    for op, unit in enumerate(code.o_unit.tolist()):
        ops_of.setdefault(unit, []).append(op)
    for unit in _candidates(code, ops_of):
        shape = _shape(code, unit, ops_of[unit])
        if shape is not None:
            by_shape.setdefault(shape.key, []).append((unit, shape))
    return tuple(
        Bundle(
            tuple(unit for unit, _ in members),
            tuple(shape.rows for _, shape in members),
            tuple(shape.ops for _, shape in members),
        )
        for members in by_shape.values()
        if len(members) > 1
    )


def _candidates(code: Code, ops_of: dict[int, list[int]]) -> list[int]:
    """Units that keep nothing but rows, without guards, and without trends before any touch."""
    fits = (np.diff(code.u_lazy_p) > 0) & (code.u_always == 0) & (np.diff(code.u_g_p) == 0)
    fits &= (np.diff(code.escan_p) == 0) & (code.u_steps == 0)
    fits[code.t_unit] = False
    fits[code.log_unit] = False
    plain = code.o_log < 0
    for pointers in (code.o_scan_p, code.o_first_p, code.o_tree_p, code.o_leaf_p):
        plain &= np.diff(pointers) == 0
    fits[code.o_unit[~plain]] = False
    conditional = np.flatnonzero(code.o_src_cond != -1)
    fits[code.o_unit[np.searchsorted(code.o_src_p, conditional, side="right") - 1]] = False
    return [unit for unit in np.flatnonzero(fits).tolist() if unit in ops_of]


def _shape(code: Code, unit: int, ops: list[int]) -> _Shape | None:
    """Rows and ops in an order that follows from how they are connected; None if it does not."""
    first, count = int(code.u_rbase[unit]), int(code.u_nrows[unit])
    ends = _part(code.end_p, code.end_row, unit)
    row_color: list[Any] = [(int(code.r_start[first + r]), ends.count(r)) for r in range(count)]
    reads = [_part(code.o_src_p, code.o_src_row, op) for op in ops]
    feeds = [_part(code.o_dst_p, code.o_dst_row, op) for op in ops]
    waits = _accumulators(code, unit)
    own = [
        (
            waits.get(op, -1),
            tuple(_part(code.o_w_p, code.o_w, op)),
            tuple(_part(code.o_x_p, code.o_x, op)),
        )
        for op in ops
    ]
    op_color: list[Any] = list(own)
    for _ in range(_ROUNDS):
        op_color = [
            (own[i], sorted(row_color[r] for r in reads[i]), sorted(row_color[r] for r in feeds[i]))
            for i in range(len(ops))
        ]
        op_rank = _ranks(op_color)
        row_color = [
            (
                row_color[r],
                sorted(op_rank[i] for i in range(len(ops)) if r in reads[i]),
                sorted(op_rank[i] for i in range(len(ops)) if r in feeds[i]),
            )
            for r in range(count)
        ]
        row_color = [(rank,) for rank in _ranks(row_color)]
    rows, places = _ranks(row_color), _ranks(op_color)
    if len(set(rows)) < count or len(set(places)) < len(ops):
        return None
    row_order = sorted(range(count), key=rows.__getitem__)
    op_order = sorted(range(len(ops)), key=places.__getitem__)
    where = {row: place for place, row in enumerate(row_order)}
    signs = code.x_sign[code.u_xsbase[unit] : code.u_xsbase[unit] + code.u_nx[unit]]
    windows = (code.u_w[unit], code.u_slide[unit], code.u_within[unit])

    def renamed(rows: list[int]) -> tuple[int, ...]:
        return tuple(sorted(where[row] for row in rows))

    wiring = tuple((own[i], renamed(reads[i]), renamed(feeds[i])) for i in op_order)
    begins = tuple(int(code.r_start[first + r]) for r in row_order)
    key = (
        *map(int, windows),
        int(code.u_nc[unit]),
        tuple(signs.tolist()),
        wiring,
        begins,
        renamed(ends),
    )
    return _Shape(key, tuple(row_order), tuple(ops[i] for i in op_order))


def _accumulators(code: Code, unit: int) -> dict[int, int]:
    """The lazy ops of a unit, each with its accumulator."""
    first, end = code.u_lazy_p[unit : unit + 2].tolist()
    return {op: z for z, op, *_ in code.lazies.reshape(-1, LAZY)[first:end].tolist()}


def _part(pointers: Ints, flat: Ints, i: int) -> list[int]:
    members: list[int] = flat[pointers[i] : pointers[i + 1]].tolist()
    return members


def _ranks(colors: list[Any]) -> list[int]:
    """For each color its place among the different ones."""
    order = {color: rank for rank, color in enumerate(sorted({repr(c) for c in colors}))}
    return [order[repr(color)] for color in colors]


class WholeBundles(NamedTuple):
    """Of each letter the bundles of which all units have an op.

    rest: The other ops of each letter.
    whole: The whole bundles of each: bundle, and the op of each unit.
    is_used: Which bundles are ever whole; the others are no use.
    """

    rest: list[list[int]]
    whole: list[list[tuple[int, tuple[int, ...]]]]
    is_used: list[bool]


def whole_bundles(compiled: Compiled, direct: list[list[int]]) -> WholeBundles:
    """The whole bundles among the ops that each letter runs directly, whose order is kept."""
    bundles = compiled.bundles
    at = {
        op: (b, i)
        for b, each in enumerate(bundles)
        for member in each.ops
        for i, op in enumerate(member)
    }
    whole = WholeBundles([], [], [False] * len(bundles))
    for some in direct:
        counts: dict[tuple[int, int], int] = {}
        for op in some:
            if op in at:
                counts[at[op]] = counts.get(at[op], 0) + 1
        # Where units have several ops, all must be for all: they are run in order.
        partial = {b for (b, _), n in counts.items() if n < len(bundles[b].units)}
        full = [key for key in counts if key[0] not in partial]
        taken = set(full)
        whole.rest.append([op for op in some if at.get(op) not in taken])
        whole.whole.append([(b, tuple(m[i] for m in bundles[b].ops)) for b, i in full])
        for b, _ in full:
            whole.is_used[b] = True
    return whole
