"""What is kept of a partition between two batches: the rows and guards of its active units.

It is written when all units are up to date, so accumulators begin anew with the next batch. A
*record* is the integers of one partition: a head; for each active unit a part of fixed length; for
each guard of the unit one more, and for each state of the guard another. Numbers and extremes of
all rows of the units follow each other in arrays of their own.

The machine saves and loads records. Whoever keeps them between batches also has to know when the
first window ends that may hold something, and to move numbers where units get other components:
the functions for that are at the end, so that nobody else knows how a record is laid out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hamlet.kernel import layout as at
from hamlet.kernel.jit import compiled
from hamlet.kernel.kept_code import kept
from hamlet.kernel.machine.bundles import alike_windows, merge_loaded, take_up
from hamlet.kernel.machine.catch_up import stamp
from hamlet.kernel.machine.memory import entries
from hamlet.kernel.machine.rows import Row, copy_row, row_of
from hamlet.kernel.machine.steps import passes, renew, wait_on

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.kernel.code import Code

# The record: what stands where in each of its parts, and how long the part is
_ACTIVE, _STEPS, _HEAD = range(3)
_UNIT, _LO, _HI, _TOUCHED, _DUE, _OF_UNIT = range(6)
_DONE, _DONE_T, _OF_GUARD = range(3)
_START, _START_T, _OF_STATE = range(3)

# What stands for a unit: its number, and above it how many of its last windows are equal to those
# of all units of its bundle, which therefore may be one again.
_ALIKE_BITS = 32
_UNIT_MASK = (1 << _ALIKE_BITS) - 1
# Instead of a deadline: there is none, not even beyond all times.
NEVER = 2**63 - 1


class Checkpoint(NamedTuple):
    """Integers, numbers and extremes of state, and where in each a partition begins."""

    ints: Any
    v: Any
    x: Any
    record: int
    at: int
    at_x: int


def unit_lengths(code: Code) -> NDArray[np.int64]:
    """How many integers of a record each unit takes, with its guards."""
    guards = np.concatenate([[0], np.cumsum(_OF_GUARD + _OF_STATE * code.g_n)])
    lengths: NDArray[np.int64] = _OF_UNIT + guards[code.u_g_p[1:]] - guards[code.u_g_p[:-1]]
    return lengths


@compiled
def _all_rows(m, u):
    """All rows of a unit as one."""
    row, n = row_of(m, u, 0), m.P[m.P[at.U_NROWS] + u]
    return Row(m.v, m.x, row.at, row.at_x, n * row.size, n * row.size_x)


@compiled
def size_of_checkpoint(m):
    """How many integers, numbers and extremes the state of a partition takes."""
    P, S = m.P, m.S
    ints, values, extremes = _HEAD, 0, 0
    for k in range(S[at.C_ACTIVE]):
        u = S[P[at.S_ACTIVE] + k]
        rows = _all_rows(m, u)
        values += rows.size
        extremes += rows.size_x
        ints += _OF_UNIT
        for g in entries(P, at.U_G_P, u):
            ints += _OF_GUARD + _OF_STATE * P[P[at.G_N] + g]
    return ints, values, extremes


@compiled
def save(m, to):
    """Write the state of a partition, all units up to date."""
    P, S, ints, i, first, first_x = m.P, m.S, to.ints, to.record, to.at, to.at_x
    ints[i + _ACTIVE], ints[i + _STEPS] = S[at.C_ACTIVE], S[at.C_STEPS]
    i += _HEAD
    for k in range(S[at.C_ACTIVE]):
        u = S[P[at.S_ACTIVE] + k]
        ints[i + _UNIT] = u + (alike_windows(P, S, u) << _ALIKE_BITS)
        ints[i + _LO], ints[i + _HI] = S[P[at.S_LO] + u], S[P[at.S_HI] + u]
        ints[i + _TOUCHED], ints[i + _DUE] = S[P[at.S_TOUCHED] + u], S[P[at.S_DUE] + u]
        i += _OF_UNIT
        for g in entries(P, at.U_G_P, u):
            ints[i + _DONE], ints[i + _DONE_T] = S[P[at.S_G_DONE] + g], S[P[at.S_G_DONE_T] + g]
            i += _OF_GUARD
            for s in range(P[P[at.G_SBASE] + g], P[P[at.G_SBASE] + g] + P[P[at.G_N] + g]):
                ints[i + _START], ints[i + _START_T] = S[P[at.S_G_L] + s], S[P[at.S_G_LT] + s]
                i += _OF_STATE
        renew(m, u)
        rows = _all_rows(m, u)
        copy_row(Row(to.v, to.x, first, first_x, rows.size, rows.size_x), rows)
        first += rows.size
        first_x += rows.size_x


@compiled
def load(m, kept):
    """Take up the state of a partition where `save` has left it."""
    P, S, ints, i, first, first_x = m.P, m.S, kept.ints, kept.record, kept.at, kept.at_x
    S[at.C_ACTIVE], S[at.C_STEPS] = ints[i + _ACTIVE], ints[i + _STEPS]
    S[at.C_PASSED] = S[at.C_STEPS] - 1
    i += _HEAD
    for k in range(S[at.C_ACTIVE]):
        u, alike = ints[i + _UNIT] & _UNIT_MASK, ints[i + _UNIT] >> _ALIKE_BITS
        S[P[at.S_LO] + u], S[P[at.S_HI] + u] = ints[i + _LO], ints[i + _HI]
        S[P[at.S_TOUCHED] + u], S[P[at.S_DUE] + u] = ints[i + _TOUCHED], ints[i + _DUE]
        i += _OF_UNIT
        for g in entries(P, at.U_G_P, u):
            S[P[at.S_G_DONE] + g], S[P[at.S_G_DONE_T] + g] = ints[i + _DONE], ints[i + _DONE_T]
            i += _OF_GUARD
            for s in range(P[P[at.G_SBASE] + g], P[P[at.G_SBASE] + g] + P[P[at.G_N] + g]):
                S[P[at.S_G_L] + s], S[P[at.S_G_LT] + s] = ints[i + _START], ints[i + _START_T]
                i += _OF_STATE
        rows = _all_rows(m, u)
        copy_row(rows, Row(kept.v, kept.x, first, first_x, rows.size, rows.size_x))
        first += rows.size
        first_x += rows.size_x
        S[P[at.S_SLOT] + u] = S[P[at.S_LO] + u] % P[P[at.U_W] + u]
        S[P[at.S_WHERE] + u] = k
        S[P[at.S_ACTIVE] + k] = u
        S[at.C_ASLEEP] -= P[P[at.U_ALWAYS] + u]
        S[P[at.S_SEEN] + u] = -1
        S[P[at.S_STEP] + u] = S[at.C_STEPS] - 1
        stamp(m, u)
        if passes(P, u):
            wait_on(P, S, u)
        take_up(P, S, u, alike)
    merge_loaded(P, S)


# Of many records between batches; each begins in `ints` where `starts` says, and `lengths` are
# those of units. Numba keeps these for this file alone, so they use nothing from other modules.


@kept
def find_deadlines(ints, starts, lengths, last, slide, within, always, deadline):
    """Find when the first window of each partition ends that may hold something.

    A window may hold something if it began by the last event, and if it was touched; but units that
    hold trends before anything touches them are not marked as touched, which is made up for here,
    so that other code may go on with them.
    """
    for k in range(len(starts)):
        i = starts[k] + _HEAD
        deadline[k] = NEVER
        for _ in range(ints[starts[k] + _ACTIVE]):
            u, lo = ints[i + _UNIT] & _UNIT_MASK, ints[i + _LO]
            if always[u] == 1:
                ints[i + _TOUCHED] = ints[i + _HI]
            if lo <= min(ints[i + _TOUCHED], last[k] // slide[u]):
                deadline[k] = min(deadline[k], lo * slide[u] + within[u])
            i += lengths[u]


@kept
def count_numbers(ints, starts, lengths, u_numbers, count):
    """Count the numbers of each partition, given how many each unit has."""
    for k in range(len(starts)):
        i = starts[k] + _HEAD
        count[k] = 0
        for _ in range(ints[starts[k] + _ACTIVE]):
            u = ints[i + _UNIT] & _UNIT_MASK
            count[k] += u_numbers[u]
            i += lengths[u]


@kept
def forget_alike(ints, starts, lengths):
    """Have no windows of units known to be equal to those of others: bundles have changed."""
    for k in range(len(starts)):
        i = starts[k] + _HEAD
        for _ in range(ints[starts[k] + _ACTIVE]):
            ints[i + _UNIT] &= _UNIT_MASK
            i += lengths[ints[i + _UNIT]]


@kept
def move_components(
    ints, starts, lengths, rows, old_nc, new_nc, sources, words, old, old_at, new, new_at
):
    """Move numbers to where they stand when units have other components, word by word.

    `sources` has for each unit and new component which it was; where it is -1, `new` stays as it
    is. `rows` are the rows of a unit times its windows.
    """
    for k in range(len(starts)):
        i, source, target = starts[k] + _HEAD, words * old_at[k], words * new_at[k]
        for _ in range(ints[starts[k] + _ACTIVE]):
            u = ints[i + _UNIT] & _UNIT_MASK
            for _ in range(rows[u]):
                for c in range(new_nc[u]):
                    if sources[u, c] >= 0:
                        word = source + words * sources[u, c]
                        for w in range(words):
                            new[target + w] = old[word + w]
                    target += words
                source += words * old_nc[u]
            i += lengths[u]
