"""Units that only count, the commonest kind: what the machine does most often, without detours.

A unit is of this kind if `fast_paths.quick_units` has found where its trends begin and end (Q_END):
one loop, one number for each row and window, nothing stored event by event. Where all units are,
and their windows are alike (ALIKE), windows of all active units open and close at the same times.
"""

from __future__ import annotations

from hamlet.kernel import layout as at
from hamlet.kernel import numbers
from hamlet.kernel.jit import inlined


@inlined
def sync_counts(m, u):
    """Apply to a unit the run of lazy events since it was last up to date."""
    P = m.P
    if catch_up_counts(m, u, 0, P[P[at.U_QUICK] + at.QUICK * u + at.Q_W]):
        m.S[at.C_SNAPSHOTS] += 1
        stamp_counts(m, u)


@inlined
def stamp_counts(m, u):
    """Remember that a unit is up to date with its accumulator."""
    P, S = m.P, m.S
    z = P[P[at.U_QUICK] + at.QUICK * u + at.Q_LAZY]
    S[P[at.S_STAMP_N] + u] = S[P[at.S_Z_N] + z]
    S[P[at.S_STAMP_EVENTS] + u] = S[P[at.S_Z_EVENTS] + z]
    if numbers.is_float(m.v):
        own = P[at.N_Z] + u
        m.zf[2 * own] = m.zf[2 * z]
        m.zf[2 * own + 1] = m.zf[2 * z + 1]


@inlined
def catch_up_counts(m, u, first, windows):
    """Apply a run to some windows of a unit; whether there is any. See catch_up.py."""
    P, S = m.P, m.S
    quick = P[at.U_QUICK] + at.QUICK * u
    z = P[quick + at.Q_LAZY]
    n = S[P[at.S_Z_N] + z] - S[P[at.S_STAMP_N] + u]
    if n == 0:
        return False
    am, ae = growth(m, u, z)
    own, other = P[quick + at.Q_OWN] + first, P[quick + at.Q_OTHER]
    other = -1 if other < 0 else other + first
    numbers.grow_row(m.v, own, other, windows, 1, n, am, ae, P[at.T_BASE], m.err)
    if not numbers.is_safe(m.v, own):
        m.err[0] = 1
    return True


@inlined
def growth(m, u, z):
    """By what the events since a unit was up to date multiply, as mantissa and exponent.

    Integers do not need it: for them it is 2 to the power of the number of events.
    """
    if not numbers.is_float(m.v):
        return 1.0, 0.0
    zf, own = m.zf, m.P[at.N_Z] + u
    am = zf[2 * z] / zf[2 * own]
    ae = zf[2 * z + 1] - zf[2 * own + 1]
    if am < 1.0 and ae > 0.0:
        am *= numbers.BASE
        ae -= 1.0
    return numbers.factor(m.v, am, ae), ae
