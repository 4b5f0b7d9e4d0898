"""What a run of events does to numbers: A = 2**n = am * 2**(512 * ae) is what they grow by.

Integers are shifted by n; doubles and wide floats are multiplied by mantissa and exponent, because
steps of several events multiply by other factors than 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from hamlet.kernel.jit import INLINED, inlined
from hamlet.kernel.limbs import add_product_shifted, add_shifted
from hamlet.kernel.numbers.arithmetic import add, copy, fits_product, store_int
from hamlet.kernel.numbers.kinds import BASE, HIGH, INVERSE, LOW, SAFE, kind_of
from hamlet.kernel.numbers.wide_floats import add_wide_product, grow_wide


@inlined
def fits(low, high):
    """Whether high * 2**32 + low is below 2^62 in size."""
    return abs(float(high) * 4294967296.0 + float(low)) < 4.0e18


def factor(v: Any, am: float, ae: float) -> float:
    """What the growth of doubles is multiplied by; other kinds take mantissa and exponent."""
    raise NotImplementedError


@overload(factor, jit_options=INLINED)
def _factor(v: Any, am: float, ae: float) -> Any:
    if kind_of(v) == "plain":

        def plain(v: Any, am: float, ae: float) -> float:
            while ae > 0.0 and am < np.inf:
                am *= BASE
                ae -= 1.0
            return am

        return plain

    def kept(v: Any, am: float, ae: float) -> float:
        return am

    return kept


def add_growth(v: Any, d: int, w: Any, s: int, n: int, am: float, ae: float, err: Any) -> None:
    """v[d] += (A - 1) * w[s], where A = 2**n = am * 2**(512 * ae)."""


@overload(add_growth, jit_options=INLINED)
def _add_growth(v: Any, d: int, w: Any, s: int, n: int, am: float, ae: float, err: Any) -> Any:
    kind = kind_of(v)
    if kind == "plain":

        def plain(v: Any, d: int, w: Any, s: int, n: int, am: float, ae: float, err: Any) -> None:
            v[d] += (am - 1.0) * w[s]

        return plain
    if kind == "float":

        def floats(v: Any, d: int, w: Any, s: int, n: int, am: float, ae: float, err: Any) -> None:
            # Beyond 2^53 the 1 is lost in rounding anyway.
            add_wide_product(
                v, d, w[0][s * w[1] + 0], w[0][s * w[1] + 1], am - 1.0 if ae == 0.0 else am, ae
            )

        return floats
    if kind == "int":

        def ints(v: Any, d: int, w: Any, s: int, n: int, am: float, ae: float, err: Any) -> None:
            value = w[s]
            if value == 0:
                return
            if n < 62 and abs(value) < (SAFE >> n):
                store_int(v, d, v[d] + (value << n) - value, err)
            else:
                err[0] = 1

        return ints

    def limbs(v: Any, d: int, w: Any, s: int, n: int, am: float, ae: float, err: Any) -> None:
        add_shifted(v, d, w, s, n, 1, err)
        add_shifted(v, d, w, s, 0, -1, err)

    return limbs


def grow_row(
    v: Any,
    own: int,
    other: int,
    size: int,
    step: int,
    n: int,
    am: float,
    ae: float,
    t: int,
    err: Any,
) -> None:
    """v[own] += (A - 1) * (v[own] + v[other]) for each of some numbers; other < 0: there is none.

    They are `step` apart. There is room for one number at t.
    """


@overload(grow_row, jit_options=INLINED)
def _grow_row(
    v: Any,
    own: int,
    other: int,
    size: int,
    step: int,
    n: int,
    am: float,
    ae: float,
    t: int,
    err: Any,
) -> Any:
    if kind_of(v) == "plain":

        def plain(
            v: Any,
            own: int,
            other: int,
            size: int,
            step: int,
            n: int,
            am: float,
            ae: float,
            t: int,
            err: Any,
        ) -> None:
            for e in range(0, size * step, step):
                more = 0.0 if other < 0 else v[other + e]
                v[own + e] += (am - 1.0) * (more + v[own + e])

        return plain
    if kind_of(v) == "float":

        def floats(
            v: Any,
            own: int,
            other: int,
            size: int,
            step: int,
            n: int,
            am: float,
            ae: float,
            t: int,
            err: Any,
        ) -> None:
            for e in range(0, size * step, step):
                grow_wide(v, own + e, -1 if other < 0 else other + e, am, ae)

        return floats
    if kind_of(v) == "int":

        def ints(
            v: Any,
            own: int,
            other: int,
            size: int,
            step: int,
            n: int,
            am: float,
            ae: float,
            t: int,
            err: Any,
        ) -> None:
            limit = SAFE >> min(n, 62)
            for e in range(0, size * step, step):
                more = 0 if other < 0 else v[other + e]
                total = v[own + e] + more
                if abs(total) < limit:
                    store_int(v, own + e, (total << n) - more, err)
                elif total != 0:
                    err[0] = 1

        return ints

    def kept(
        v: Any,
        own: int,
        other: int,
        size: int,
        step: int,
        n: int,
        am: float,
        ae: float,
        t: int,
        err: Any,
    ) -> None:
        for e in range(0, size * step, step):
            copy(v, t, v, own + e)
            if other >= 0:
                add(v, t, v, other + e, err)
            add_growth(v, own + e, v, t, n, am, ae, err)

    return kept


def grow_sum(v: Any, own: int, other: int, count: int, total: float, am: float, ae: float) -> None:
    """v[own] = A * (v[own] + total * v[count]) + (A - 1) * v[other]; in floating-point only."""


@overload(grow_sum, jit_options=INLINED)
def _grow_sum(v: Any, own: int, other: int, count: int, total: float, am: float, ae: float) -> Any:
    kind = kind_of(v)
    if kind == "plain":

        def plain(
            v: Any, own: int, other: int, count: int, total: float, am: float, ae: float
        ) -> None:
            value = am * (v[own] + total * v[count])
            v[own] = value if other < 0 else value + (am - 1.0) * v[other]

        return plain
    if kind == "float":

        def floats(
            v: Any, own: int, other: int, count: int, total: float, am: float, ae: float
        ) -> None:
            size = abs(total)
            if v[0][2 * own + 1] == v[0][2 * count + 1] and size < HIGH and size > LOW:
                # Of one exponent, as is common: no more than one step out of range at the end.
                m = v[0][2 * own] + total * v[0][2 * count]
                size = abs(m)
                if size >= HIGH:
                    v[0][2 * own] = m * INVERSE
                    v[0][2 * own + 1] += 1.0
                elif size < LOW:
                    v[0][2 * own] = m * BASE
                    v[0][2 * own + 1] = 0.0 if m == 0.0 else v[0][2 * own + 1] - 1.0
                else:
                    v[0][2 * own] = m
            elif total != 0.0:
                add_wide_product(v, own, v[0][2 * count], v[0][2 * count + 1], total, 0.0)
            grow_wide(v, own, other, am, ae)

        return floats

    def integers(
        v: Any, own: int, other: int, count: int, total: float, am: float, ae: float
    ) -> None:
        pass  # compiled, because one branch of the machine asks for it, but never called

    return integers


def add_weighted_growth(
    v: Any, d: int, w: Any, s: int, n: int, am: float, ae: float, total: Any, err: Any
) -> None:
    """v[d] += A * w[s] * total in floats; 2**(n-1) * w[s] * total in integers.

    The total is what `sum_since` gives.
    """


@overload(add_weighted_growth, jit_options=INLINED)
def _add_weighted_growth(
    v: Any, d: int, w: Any, s: int, n: int, am: float, ae: float, total: Any, err: Any
) -> Any:
    kind = kind_of(v)
    if kind == "plain":

        def plain(
            v: Any, d: int, w: Any, s: int, n: int, am: float, ae: float, total: Any, err: Any
        ) -> None:
            v[d] += am * total * w[s]

        return plain
    if kind == "float":

        def floats(
            v: Any, d: int, w: Any, s: int, n: int, am: float, ae: float, total: Any, err: Any
        ) -> None:
            if total == 0.0:
                return
            size = abs(total)
            if size >= HIGH:
                total *= INVERSE
                ae += 1.0
            elif size < LOW:
                total *= BASE
                ae -= 1.0
            add_wide_product(v, d, w[0][s * w[1] + 0], w[0][s * w[1] + 1], am * total, ae)

        return floats
    if kind == "int":

        def ints(
            v: Any, d: int, w: Any, s: int, n: int, am: float, ae: float, total: Any, err: Any
        ) -> None:
            value = w[s]
            low, high = total
            if value == 0 or (low == 0 and high == 0):
                return
            if n < 62 and abs(value) < (SAFE >> n) and fits(low, high):
                whole = (high << 32) + low
                if fits_product(value << (n - 1), whole):
                    store_int(v, d, v[d] + (value << (n - 1)) * whole, err)
                    return
            err[0] = 1

        return ints

    def limbs(
        v: Any, d: int, w: Any, s: int, n: int, am: float, ae: float, total: Any, err: Any
    ) -> None:
        low, high = total
        if fits(low, high):
            add_product_shifted(v, d, w, s, (high << 32) + low, n - 1, err)
        else:
            add_product_shifted(v, d, w, s, low, n - 1, err)
            add_product_shifted(v, d, w, s, high, n + 31, err)

    return limbs
