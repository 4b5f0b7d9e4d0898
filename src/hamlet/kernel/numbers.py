"""Numbers of any size in flat arrays: the four kinds that kernels compute with.

The type of an array says which kind of numbers it holds:

float64 [n]     doubles, while nothing passes 2^900
float64 [n, 2]  mantissa and exponent: value = mantissa * 2**(512 * exponent), |mantissa| in
                [2^-256, 2^256)
int64   [n]     integers below 2^62 in size
uint64  [n, k]  integers in two's complement, k words of 64 bits, least significant first

Compiled functions are handed pointers, not arrays (see `pointer`): an array would be counted in
and out of every call. Each operation below is one function to its callers; Numba picks the
implementation by type, so a kernel is written once and compiled for each kind. A number that might
not fit sets `err[0]` (doubles are looked at when a window closes) instead of being wrong: the
caller drops what it computed and starts again with the next wider kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, types, uint64
from numba.extending import intrinsic, overload
from numba.np import arrayobj

from hamlet.kernel.jit import OPTIONS, compiled, inlined
from hamlet.kernel.limbs import add_product_shifted, add_shifted, add_words

# Integers of one word stay below this, so that a sum of two never wraps around.
SAFE = 1 << 62
BASE = 2.0**512
INVERSE = 2.0**-512
HIGH = 2.0**256
LOW = 2.0**-256
LARGEST = 2.0**900


def _kind(v: Any) -> str:
    if isinstance(v, types.CPointer):
        return "plain" if v.dtype == float64 else "int"
    return "float" if v[0].dtype == float64 else "limbs"


@intrinsic
def raw_pointer(context: Any, array: Any) -> Any:
    """The address of the first element of an array; the array must outlive it."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return arrayobj.make_array(signature.args[0])(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), code


def pointer(array: Any) -> Any:
    """What compiled functions are handed for an array of numbers."""


@overload(pointer)
def _pointer(array: Any) -> Any:
    if array.ndim == 1:

        def single(array: Any) -> Any:
            return raw_pointer(array)

        return single

    def several(array: Any) -> Any:
        return raw_pointer(array), array.shape[1]

    return several


def room(v: Any, n: int) -> Any:
    """An array for n numbers of the same kind."""


def is_safe(v: Any, d: int) -> bool:
    """Whether v[d] can be trusted: false for doubles that have grown too large."""
    raise NotImplementedError


def set_zero(v: Any, d: int) -> None:
    """v[d] = 0."""


def set_one(v: Any, d: int) -> None:
    """v[d] = 1."""


def set_scaled_one(v: Any, d: int, scale: float) -> None:
    """v[d] = 1, in doubles times a scale."""


def is_zero(v: Any, d: int) -> bool:
    """Whether v[d] = 0."""
    raise NotImplementedError


def copy(v: Any, d: int, w: Any, s: int) -> None:
    """v[d] = w[s]."""


def add(v: Any, d: int, w: Any, s: int, err: Any) -> None:
    """v[d] += w[s]."""


def add_times(v: Any, d: int, w: Any, s: int, factor: Any, err: Any) -> None:
    """v[d] += factor * w[s], for a 64-bit factor."""


def factor(v: Any, am: float, ae: float) -> float:
    """What the growth of doubles is multiplied by; other kinds take mantissa and exponent."""
    raise NotImplementedError


def add_growth(v: Any, d: int, w: Any, s: int, n: int, am: float, ae: float, err: Any) -> None:
    """v[d] += (A - 1) * w[s], where A = 2**n = am * 2**(512 * ae)."""


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


def grow_sum(v: Any, own: int, other: int, count: int, total: float, am: float, ae: float) -> None:
    """v[own] = A * (v[own] + total * v[count]) + (A - 1) * v[other]; in floating-point only."""


def add_weighted_growth(
    v: Any, d: int, w: Any, s: int, n: int, am: float, ae: float, total: Any, err: Any
) -> None:
    """v[d] += A * w[s] * total in floats; 2**(n-1) * w[s] * total in integers.

    The total is what `sum_since` gives.
    """


def is_float(v: Any) -> bool:
    """Whether numbers are floating-point; known when a kernel is compiled."""
    raise NotImplementedError


def add_to_sum(zs: Any, s: int, value: Any, together: int) -> None:
    """Add the weight of one of some events of one time to a sum in two parts.

    In floats value / (1 + together), what is lost in rounding kept in the second part; in integers
    the value, its lower 32 bits in the first part and the others in the second, so that neither
    wraps around in 2^31 events.
    """


def add_run_to_sum(zs: Any, s: int, weights: Any, first: int, end: int) -> None:
    """Add the weights of events of different times to a sum."""


def sum_since(zs: Any, s: int, stamp: int) -> Any:
    """The difference of two sums: a float, or the two parts of an integer."""


def sum_as_double(zs: Any, s: int, stamp: int) -> float:
    """The difference of two sums, of doubles only."""
    raise NotImplementedError


# Zero, one, copy

_INLINED = {**OPTIONS, "forceinline": True}


@overload(room)
def _room(v: Any, n: int) -> Any:
    if v.ndim == 1:

        def single(v: Any, n: int) -> Any:
            return np.empty(n, v.dtype)

        return single

    def several(v: Any, n: int) -> Any:
        return np.empty((n, v.shape[1]), v.dtype)

    return several


@overload(is_safe, jit_options=_INLINED)
def _is_safe(v: Any, d: int) -> Any:
    if _kind(v) == "plain":

        def plain(v: Any, d: int) -> bool:
            return bool(abs(v[d]) < LARGEST)

        return plain

    def checked(v: Any, d: int) -> bool:
        return True

    return checked


@overload(set_zero, jit_options=_INLINED)
def _set_zero(v: Any, d: int) -> Any:
    if isinstance(v, types.CPointer):

        def single(v: Any, d: int) -> None:
            v[d] = 0

        return single

    def zero(v: Any, d: int) -> None:
        for k in range(v[1]):
            v[0][d * v[1] + k] = 0

    return zero


@overload(set_one, jit_options=_INLINED)
def _set_one(v: Any, d: int) -> Any:
    if isinstance(v, types.CPointer):

        def single(v: Any, d: int) -> None:
            v[d] = 1

        return single

    def one(v: Any, d: int) -> None:
        v[0][d * v[1] + 0] = 1
        for k in range(1, v[1]):
            v[0][d * v[1] + k] = 0

    return one


@overload(set_scaled_one, jit_options=_INLINED)
def _set_scaled_one(v: Any, d: int, scale: float) -> Any:
    if _kind(v) == "plain":

        def plain(v: Any, d: int, scale: float) -> None:
            v[d] = scale

        return plain

    def other(v: Any, d: int, scale: float) -> None:
        set_one(v, d)

    return other


@overload(copy, jit_options=_INLINED)
def _copy(v: Any, d: int, w: Any, s: int) -> Any:
    if isinstance(v, types.CPointer):

        def single(v: Any, d: int, w: Any, s: int) -> None:
            v[d] = w[s]

        return single

    def copied(v: Any, d: int, w: Any, s: int) -> None:
        for k in range(v[1]):
            v[0][d * v[1] + k] = w[0][s * w[1] + k]

    return copied


@overload(is_zero, jit_options=_INLINED)
def _is_zero(v: Any, d: int) -> Any:
    kind = _kind(v)
    if kind == "limbs":

        def limbs(v: Any, d: int) -> bool:
            for k in range(v[1]):
                if v[0][d * v[1] + k] != uint64(0):
                    return False
            return True

        return limbs
    if kind == "float":

        def floats(v: Any, d: int) -> bool:
            return bool(v[0][d * v[1] + 0] == 0.0)

        return floats

    def single(v: Any, d: int) -> bool:
        return bool(v[d] == 0)

    return single


# Floats with an exponent of their own


@inlined
def _add_float(v, d, m, e):
    """v[d] += m * 2**(512 e); of two numbers 2^512 or more apart the smaller is lost."""
    if m == 0.0:
        return
    a = v[0][d * v[1] + 0]
    if a == 0.0:
        v[0][d * v[1] + 0] = m
        v[0][d * v[1] + 1] = e
        a = m
    else:
        gap = v[0][d * v[1] + 1] - e
        if gap == 0.0:
            a += m
        elif gap > 0.0:
            if gap == 1.0:
                a += m * INVERSE
        else:
            a = m + (a * INVERSE if gap == -1.0 else 0.0)
            v[0][d * v[1] + 1] = e
        v[0][d * v[1] + 0] = a
    size = abs(a)
    if size >= HIGH:
        v[0][d * v[1] + 0] = a * INVERSE
        v[0][d * v[1] + 1] += 1.0
    elif size < LOW:
        if size == 0.0:
            v[0][d * v[1] + 1] = 0.0
        else:
            v[0][d * v[1] + 0] = a * BASE
            v[0][d * v[1] + 1] -= 1.0


@compiled
def _add_float_product(v, d, m, e, f, g):
    """v[d] += (m * 2**(512 e)) * (f * 2**(512 g)) where f may be any double."""
    size = abs(f)
    if size >= HIGH:
        f *= INVERSE
        g += 1.0
    elif size < LOW and size != 0.0:
        f *= BASE
        g -= 1.0
    p = m * f
    size = abs(p)
    e += g
    if size >= HIGH:
        p *= INVERSE
        e += 1.0
    elif size < LOW and size != 0.0:
        p *= BASE
        e -= 1.0
    _add_float(v, d, p, e)


# Integers of one word


@inlined
def _store_int(v, d, value, err):
    if value >= SAFE or value <= -SAFE:
        err[0] = 1
    else:
        v[d] = value


@inlined
def _fits_product(a, b):
    return abs(float(a) * float(b)) < 4.0e18


@inlined
def _fits(low, high):
    """Whether high * 2**32 + low is below 2^62 in size."""
    return abs(float(high) * 4294967296.0 + float(low)) < 4.0e18


# Sums and products


@overload(add, jit_options=_INLINED)
def _add(v: Any, d: int, w: Any, s: int, err: Any) -> Any:
    kind = _kind(v)
    if kind == "plain":

        def plain(v: Any, d: int, w: Any, s: int, err: Any) -> None:
            v[d] += w[s]

        return plain
    if kind == "float":

        def floats(v: Any, d: int, w: Any, s: int, err: Any) -> None:
            _add_float(v, d, w[0][s * w[1] + 0], w[0][s * w[1] + 1])

        return floats
    if kind == "int":

        def ints(v: Any, d: int, w: Any, s: int, err: Any) -> None:
            _store_int(v, d, v[d] + w[s], err)

        return ints

    def limbs(v: Any, d: int, w: Any, s: int, err: Any) -> None:
        add_words(v, d, w, s, err)

    return limbs


@overload(add_times, jit_options=_INLINED)
def _add_times(v: Any, d: int, w: Any, s: int, factor: Any, err: Any) -> Any:
    kind = _kind(v)
    if kind == "plain":

        def plain(v: Any, d: int, w: Any, s: int, factor: Any, err: Any) -> None:
            v[d] += w[s] * factor

        return plain
    if kind == "float":

        def floats(v: Any, d: int, w: Any, s: int, factor: Any, err: Any) -> None:
            _add_float_product(v, d, w[0][s * w[1] + 0], w[0][s * w[1] + 1], factor, 0.0)

        return floats
    if kind == "int":

        def ints(v: Any, d: int, w: Any, s: int, factor: Any, err: Any) -> None:
            if _fits_product(w[s], factor):
                _store_int(v, d, v[d] + w[s] * factor, err)
            else:
                err[0] = 1

        return ints

    def limbs(v: Any, d: int, w: Any, s: int, factor: Any, err: Any) -> None:
        add_product_shifted(v, d, w, s, factor, 0, err)

    return limbs


@overload(add_growth, jit_options=_INLINED)
def _add_growth(v: Any, d: int, w: Any, s: int, n: int, am: float, ae: float, err: Any) -> Any:
    kind = _kind(v)
    if kind == "plain":

        def plain(v: Any, d: int, w: Any, s: int, n: int, am: float, ae: float, err: Any) -> None:
            v[d] += (am - 1.0) * w[s]

        return plain
    if kind == "float":

        def floats(v: Any, d: int, w: Any, s: int, n: int, am: float, ae: float, err: Any) -> None:
            # Beyond 2^53 the 1 is lost in rounding anyway.
            _add_float_product(
                v, d, w[0][s * w[1] + 0], w[0][s * w[1] + 1], am - 1.0 if ae == 0.0 else am, ae
            )

        return floats
    if kind == "int":

        def ints(v: Any, d: int, w: Any, s: int, n: int, am: float, ae: float, err: Any) -> None:
            value = w[s]
            if value == 0:
                return
            if n < 62 and abs(value) < (SAFE >> n):
                _store_int(v, d, v[d] + (value << n) - value, err)
            else:
                err[0] = 1

        return ints

    def limbs(v: Any, d: int, w: Any, s: int, n: int, am: float, ae: float, err: Any) -> None:
        add_shifted(v, d, w, s, n, 1, err)
        add_shifted(v, d, w, s, 0, -1, err)

    return limbs


@inlined
def _grow_float(v, d, s, am, ae):
    """v[d] = A * v[d] + (A - 1) * v[s]; the latter only where it is not far below the former."""
    m, e = v[0][2 * d], v[0][2 * d + 1]
    if m != 0.0:
        product = m * am
        is_high = abs(product) >= HIGH
        v[0][2 * d] = product * INVERSE if is_high else product
        v[0][2 * d + 1] = e + ae + (1.0 if is_high else 0.0)
    if s >= 0 and v[0][2 * s] != 0.0 and (m == 0.0 or e - v[0][2 * s + 1] <= 1.0):
        growth = am - 1.0 if ae == 0.0 else am
        _add_float_product(v, d, v[0][2 * s], v[0][2 * s + 1], growth, ae)


@overload(grow_row, jit_options=_INLINED)
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
    if _kind(v) == "plain":

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
    if _kind(v) == "float":

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
                _grow_float(v, own + e, -1 if other < 0 else other + e, am, ae)

        return floats
    if _kind(v) == "int":

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
                    _store_int(v, own + e, (total << n) - more, err)
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


@overload(grow_sum, jit_options=_INLINED)
def _grow_sum(v: Any, own: int, other: int, count: int, total: float, am: float, ae: float) -> Any:
    kind = _kind(v)
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
                _add_float_product(v, own, v[0][2 * count], v[0][2 * count + 1], total, 0.0)
            _grow_float(v, own, other, am, ae)

        return floats

    def integers(
        v: Any, own: int, other: int, count: int, total: float, am: float, ae: float
    ) -> None:
        pass  # compiled, because one branch of the machine asks for it, but never called

    return integers


@overload(add_weighted_growth, jit_options=_INLINED)
def _add_weighted_growth(
    v: Any, d: int, w: Any, s: int, n: int, am: float, ae: float, total: Any, err: Any
) -> Any:
    kind = _kind(v)
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
            _add_float_product(v, d, w[0][s * w[1] + 0], w[0][s * w[1] + 1], am * total, ae)

        return floats
    if kind == "int":

        def ints(
            v: Any, d: int, w: Any, s: int, n: int, am: float, ae: float, total: Any, err: Any
        ) -> None:
            value = w[s]
            low, high = total
            if value == 0 or (low == 0 and high == 0):
                return
            if n < 62 and abs(value) < (SAFE >> n) and _fits(low, high):
                whole = (high << 32) + low
                if _fits_product(value << (n - 1), whole):
                    _store_int(v, d, v[d] + (value << (n - 1)) * whole, err)
                    return
            err[0] = 1

        return ints

    def limbs(
        v: Any, d: int, w: Any, s: int, n: int, am: float, ae: float, total: Any, err: Any
    ) -> None:
        low, high = total
        if _fits(low, high):
            add_product_shifted(v, d, w, s, (high << 32) + low, n - 1, err)
        else:
            add_product_shifted(v, d, w, s, low, n - 1, err)
            add_product_shifted(v, d, w, s, high, n + 31, err)

    return limbs


@overload(factor, jit_options=_INLINED)
def _factor(v: Any, am: float, ae: float) -> Any:
    if _kind(v) == "plain":

        def plain(v: Any, am: float, ae: float) -> float:
            while ae > 0.0 and am < np.inf:
                am *= BASE
                ae -= 1.0
            return am

        return plain

    def kept(v: Any, am: float, ae: float) -> float:
        return am

    return kept


# Sums of weights


@overload(is_float, jit_options=_INLINED)
def _is_float(v: Any) -> Any:
    if _kind(v) in ("plain", "float"):

        def yes(v: Any) -> bool:
            return True

        return yes

    def no(v: Any) -> bool:
        return False

    return no


@overload(add_to_sum, jit_options=_INLINED)
def _add_to_sum(zs: Any, s: int, value: Any, together: int) -> Any:
    if _kind(zs) == "plain":

        def plain(zs: Any, s: int, value: Any, together: int) -> None:
            value = value / (1.0 + together)
            before = zs[2 * s]
            total = before + value
            zs[2 * s] = total
            back = total - before
            zs[2 * s + 1] += (before - (total - back)) + (value - back)

        return plain

    def ints(zs: Any, s: int, value: Any, together: int) -> None:
        zs[2 * s] += value & 0xFFFFFFFF
        zs[2 * s + 1] += value >> 32

    return ints


@overload(add_run_to_sum, jit_options=_INLINED)
def _add_run_to_sum(zs: Any, s: int, weights: Any, first: int, end: int) -> Any:
    if _kind(zs) == "plain":

        def plain(zs: Any, s: int, weights: Any, first: int, end: int) -> None:
            # Four sums side by side, in variables, because what is pointed to may overlap, as far
            # as the compiler knows. What is lost inside a run is little beside the run's own sum.
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            i = first
            while i + 4 <= end:
                a += weights[i]
                b += weights[i + 1]
                c += weights[i + 2]
                d += weights[i + 3]
                i += 4
            while i < end:
                a += weights[i]
                i += 1
            add_to_sum(zs, s, (a + b) + (c + d), 1)

        return plain

    def ints(zs: Any, s: int, weights: Any, first: int, end: int) -> None:
        low, high = zs[2 * s], zs[2 * s + 1]
        for i in range(first, end):
            low += weights[i] & 0xFFFFFFFF
            high += weights[i] >> 32
        zs[2 * s], zs[2 * s + 1] = low, high

    return ints


@overload(sum_since, jit_options=_INLINED)
def _sum_since(zs: Any, s: int, stamp: int) -> Any:
    if _kind(zs) == "plain":

        def plain(zs: Any, s: int, stamp: int) -> float:
            return float((zs[2 * s] - zs[2 * stamp]) + (zs[2 * s + 1] - zs[2 * stamp + 1]))

        return plain

    def ints(zs: Any, s: int, stamp: int) -> tuple[int, int]:
        return zs[2 * s] - zs[2 * stamp], zs[2 * s + 1] - zs[2 * stamp + 1]

    return ints


@overload(sum_as_double, jit_options=_INLINED)
def _sum_as_double(zs: Any, s: int, stamp: int) -> Any:
    if _kind(zs) == "plain":

        def plain(zs: Any, s: int, stamp: int) -> float:
            return float((zs[2 * s] - zs[2 * stamp]) + (zs[2 * s + 1] - zs[2 * stamp + 1]))

        return plain

    def integers(zs: Any, s: int, stamp: int) -> float:
        return 0.0  # as above

    return integers


# Out of the arrays


def integers(words: np.ndarray[Any, Any]) -> list[int]:
    """Rows of an integer array as Python integers.

    >>> integers(np.array([[1, 1], [2**64 - 1, 2**64 - 1]], dtype=np.uint64))
    [18446744073709551617, -1]
    """
    flat = np.ascontiguousarray(words.astype("<u8", copy=False))
    size = flat.shape[1] * 8
    data = flat.tobytes()
    return [
        int.from_bytes(data[i : i + size], "little", signed=True) for i in range(0, len(data), size)
    ]
