"""Rows: one number for each component and window, and one extreme for each extreme and window.

A unit's running totals are rows, and so are what an event adds, a node of a tree, a stored event
and what a guard puts aside. Windows stand in a row by their number modulo the most that are open
at once; operations go over all of them, whether open or not, because what is not open is empty:
zeros, and extremes of infinity.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hamlet.kernel import layout as at
from hamlet.kernel import numbers
from hamlet.kernel.jit import inlined
from hamlet.kernel.machine.memory import shape


class Row(NamedTuple):
    """Where a row is: `size` numbers of v from `at` on, `size_x` extremes of x from `at_x` on."""

    v: Any
    x: Any
    at: int
    at_x: int
    size: int
    size_x: int


@inlined
def row_of(m, u, row):
    """A row of a unit."""
    P = m.P
    w, nc, nx = shape(P, u)
    first, first_x = P[P[at.U_VBASE] + u] + row * w * nc, P[P[at.U_XBASE] + u] + row * w * nx
    return Row(m.v, m.x, first, first_x, w * nc, w * nx)


@inlined
def one_window(row, slot, nc, nx):
    """One window of a row of nc components and nx extremes."""
    return Row(row.v, row.x, row.at + slot * nc, row.at_x + slot * nx, nc, nx)


@inlined
def empty_row(row):
    """Make a row empty: zeros, and extremes of infinity."""
    for k in range(row.at, row.at + row.size):
        numbers.set_zero(row.v, k)
    for k in range(row.at_x, row.at_x + row.size_x):
        row.x[k] = np.inf


@inlined
def empty_short_row(row):
    """The same for a row of one number or a few.

    These are written one by one: for a loop the compiler calls a function that empties memory.
    """
    numbers.set_zero(row.v, row.at)
    if row.size > 1:
        numbers.set_zero(row.v, row.at + 1)
    if row.size > 2:
        numbers.set_zero(row.v, row.at + 2)
    for k in range(row.at + 3, row.at + row.size):
        numbers.set_zero(row.v, k)
    for k in range(row.at_x, row.at_x + row.size_x):
        row.x[k] = np.inf


@inlined
def copy_row(row, other):
    """Copy into a row what another of the same size has."""
    for k in range(row.size):
        numbers.copy(row.v, row.at + k, other.v, other.at + k)
    for k in range(row.size_x):
        row.x[row.at_x + k] = other.x[other.at_x + k]


@inlined
def add_row(row, other, err):
    """Add another row: numbers are summed up, of extremes the least is kept."""
    for k in range(row.size):
        numbers.add(row.v, row.at + k, other.v, other.at + k, err)
    for k in range(row.size_x):
        row.x[row.at_x + k] = min(row.x[row.at_x + k], other.x[other.at_x + k])
