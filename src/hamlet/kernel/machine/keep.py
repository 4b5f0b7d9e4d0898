"""What is kept of a partition between two batches: the rows and guards of its active units.

It is written when all units are up to date, so accumulators begin anew with the next batch.
For each partition: the number of active units and of steps; for each unit its number, windows and
what its guards have matched, its numbers, and its extremes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hamlet.kernel.inner import compiled
from hamlet.kernel.layout import (
    C_ACTIVE,
    C_STEPS,
    G_N,
    G_SBASE,
    S_ACTIVE,
    S_DUE,
    S_G_DONE,
    S_G_DONE_T,
    S_G_L,
    S_G_LT,
    S_HI,
    S_LO,
    S_SEEN,
    S_SLOT,
    S_TOUCHED,
    S_WHERE,
    U_G_P,
    U_NROWS,
    U_W,
)
from hamlet.kernel.machine.bundles import take_up
from hamlet.kernel.machine.lazy import stamp
from hamlet.kernel.machine.memory import entries
from hamlet.kernel.machine.rows import Row, copy_row, row_of


class Keep(NamedTuple):
    """Integers, numbers and extremes of state, and where in each a partition begins."""

    ints: Any
    v: Any
    x: Any
    i: int
    at: int
    at_x: int


@compiled
def _all_rows(m, u):
    """All rows of a unit as one."""
    row, n = row_of(m, u, 0), m.P[m.P[U_NROWS] + u]
    return Row(m.v, m.x, row.at, row.at_x, n * row.size, n * row.size_x)


@compiled
def size_of_kept(m):
    """How many integers, numbers and extremes the state of a partition takes."""
    P, S = m.P, m.S
    ints, values, extremes = 2, 0, 0
    for k in range(S[C_ACTIVE]):
        u = S[P[S_ACTIVE] + k]
        rows = _all_rows(m, u)
        values += rows.size
        extremes += rows.size_x
        ints += 5
        for g in entries(P, U_G_P, u):
            ints += 2 + 2 * P[P[G_N] + g]
    return ints, values, extremes


@compiled
def save(m, to):
    """Write the state of a partition, all units up to date."""
    P, S, ints, i, at, at_x = m.P, m.S, to.ints, to.i, to.at, to.at_x
    ints[i], ints[i + 1] = S[C_ACTIVE], S[C_STEPS]
    i += 2
    for k in range(S[C_ACTIVE]):
        u = S[P[S_ACTIVE] + k]
        ints[i], ints[i + 1], ints[i + 2] = u, S[P[S_LO] + u], S[P[S_HI] + u]
        ints[i + 3], ints[i + 4] = S[P[S_TOUCHED] + u], S[P[S_DUE] + u]
        i += 5
        for g in entries(P, U_G_P, u):
            ints[i], ints[i + 1] = S[P[S_G_DONE] + g], S[P[S_G_DONE_T] + g]
            i += 2
            for s in range(P[P[G_SBASE] + g], P[P[G_SBASE] + g] + P[P[G_N] + g]):
                ints[i], ints[i + 1] = S[P[S_G_L] + s], S[P[S_G_LT] + s]
                i += 2
        rows = _all_rows(m, u)
        copy_row(Row(to.v, to.x, at, at_x, rows.size, rows.size_x), rows)
        at += rows.size
        at_x += rows.size_x


@compiled
def load(m, kept):
    """Take up the state of a partition where `save` has left it."""
    P, S, ints, i, at, at_x = m.P, m.S, kept.ints, kept.i, kept.at, kept.at_x
    S[C_ACTIVE], S[C_STEPS] = ints[i], ints[i + 1]
    i += 2
    for k in range(S[C_ACTIVE]):
        u = ints[i]
        S[P[S_LO] + u], S[P[S_HI] + u] = ints[i + 1], ints[i + 2]
        S[P[S_TOUCHED] + u], S[P[S_DUE] + u] = ints[i + 3], ints[i + 4]
        i += 5
        for g in entries(P, U_G_P, u):
            S[P[S_G_DONE] + g], S[P[S_G_DONE_T] + g] = ints[i], ints[i + 1]
            i += 2
            for s in range(P[P[G_SBASE] + g], P[P[G_SBASE] + g] + P[P[G_N] + g]):
                S[P[S_G_L] + s], S[P[S_G_LT] + s] = ints[i], ints[i + 1]
                i += 2
        rows = _all_rows(m, u)
        copy_row(rows, Row(kept.v, kept.x, at, at_x, rows.size, rows.size_x))
        at += rows.size
        at_x += rows.size_x
        S[P[S_SLOT] + u] = S[P[S_LO] + u] % P[P[U_W] + u]
        S[P[S_WHERE] + u] = k
        S[P[S_ACTIVE] + k] = u
        S[P[S_SEEN] + u] = -1
        stamp(m, u)
        take_up(P, S, u)
