"""Units that only count, the commonest kind: what the machine does most often, without detours.

Units of this kind (COUNTS_ONLY in layout.py) have nothing but rows of one number for each window,
and all their loops are lazy. Where all units are, and their windows are alike (ALIKE), windows of
all active units open and close at once.
"""

from __future__ import annotations

import numpy as np

from hamlet.kernel import layout as at
from hamlet.kernel import numbers
from hamlet.kernel.jit import inlined
from hamlet.kernel.machine.accumulators import steps_of

_POWERS = 2.0 ** np.arange(512)


@inlined
def sync_counts(m, u):
    """Apply to a unit the runs of lazy events since it was last up to date."""
    P, quick = m.P, m.P[at.U_QUICK] + at.QUICK * u
    for lazy in range(P[quick + at.Q_LAZY], P[quick + at.Q_LAZY_END]):
        if _catch_up(m, lazy, 0, P[quick + at.Q_W]):
            m.S[at.C_SNAPSHOTS] += 1
            _stamp(m, lazy)


@inlined
def stamp_counts(m, u):
    """Remember that a unit is up to date with its accumulators."""
    P, quick = m.P, m.P[at.U_QUICK] + at.QUICK * u
    for lazy in range(P[quick + at.Q_LAZY], P[quick + at.Q_LAZY_END]):
        _stamp(m, lazy)


@inlined
def catch_up_counts(m, u, first, windows):
    """Apply runs to some windows of a unit. See catch_up.py."""
    P, quick = m.P, m.P[at.U_QUICK] + at.QUICK * u
    for lazy in range(P[quick + at.Q_LAZY], P[quick + at.Q_LAZY_END]):
        _catch_up(m, lazy, first, windows)


@inlined
def _stamp(m, lazy):
    """Remember that a lazy op is up to date with its accumulator."""
    P, S = m.P, m.S
    z = P[P[at.LAZIES] + at.LAZY * lazy + at.LZ_Z]
    S[P[at.S_STAMP_N] + lazy] = steps_of(m, z)
    S[P[at.S_STAMP_EVENTS] + lazy] = S[at.C_LAZY]
    if numbers.is_float(m.v):
        own = P[at.N_Z] + lazy
        m.zf[2 * own] = m.zf[2 * z]
        m.zf[2 * own + 1] = m.zf[2 * z + 1]


@inlined
def _catch_up(m, lazy, first, windows):
    """Apply the run of a lazy op to some windows of its unit; whether there is any."""
    P, S = m.P, m.S
    quick = P[at.LAZIES] + at.LAZY * lazy
    z = P[quick + at.LZ_Z]
    n = steps_of(m, z) - S[P[at.S_STAMP_N] + lazy]
    if n == 0:
        return False
    am, ae = growth(m, lazy, z, n)
    own, other = P[quick + at.LZ_OWN] + first, P[quick + at.LZ_OTHER]
    other = -1 if other < 0 else other + first
    numbers.grow_row(m.v, own, other, windows, 1, n, am, ae, P[at.T_BASE], m.err)
    if not numbers.is_safe(m.v, own):
        m.err[0] = 1
    return True


@inlined
def growth(m, lazy, z, n):
    """By what n steps since a lazy op was up to date multiply, as mantissa and exponent.

    Each doubles; what several events of one time do beyond that has its accumulator. Integers do
    not need it: for them it is 2 to the power of n.
    """
    if not numbers.is_float(m.v):
        return 1.0, 0.0
    zf, own = m.zf, m.P[at.N_Z] + lazy
    am, ae = _POWERS[n & 511], float(n >> 9)
    if zf[2 * z] != zf[2 * own] or zf[2 * z + 1] != zf[2 * own + 1]:
        beyond, steps = zf[2 * z] / zf[2 * own], zf[2 * z + 1] - zf[2 * own + 1]
        if beyond < 1.0:
            beyond *= numbers.BASE
            steps -= 1.0
        am *= beyond
        ae += steps
        if am >= numbers.BASE:
            am *= numbers.INVERSE
            ae += 1.0
    return numbers.factor(m.v, am, ae), ae
