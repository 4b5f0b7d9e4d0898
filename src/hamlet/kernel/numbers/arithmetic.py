"""Zero, one, copies, sums and products of numbers of each kind."""

from __future__ import annotations

from typing import Any

from numba import uint64
from numba.extending import overload

from hamlet.kernel.jit import INLINED, inlined
from hamlet.kernel.limbs import add_product_shifted, add_words
from hamlet.kernel.numbers.kinds import SAFE, is_one, kind_of
from hamlet.kernel.numbers.wide_floats import add_wide, add_wide_product


def set_zero(v: Any, d: int) -> None:
    """v[d] = 0."""


@overload(set_zero, jit_options=INLINED)
def _set_zero(v: Any, d: int) -> Any:
    if is_one(v):

        def single(v: Any, d: int) -> None:
            v[d] = 0

        return single

    # Two words or more: for a loop over few the compiler calls a function that empties memory.
    def zero(v: Any, d: int) -> None:
        v[0][d * v[1]] = 0
        v[0][d * v[1] + 1] = 0
        for k in range(2, v[1]):
            v[0][d * v[1] + k] = 0

    return zero


def set_one(v: Any, d: int) -> None:
    """v[d] = 1."""


@overload(set_one, jit_options=INLINED)
def _set_one(v: Any, d: int) -> Any:
    if is_one(v):

        def single(v: Any, d: int) -> None:
            v[d] = 1

        return single

    def one(v: Any, d: int) -> None:
        v[0][d * v[1] + 0] = 1
        v[0][d * v[1] + 1] = 0
        for k in range(2, v[1]):
            v[0][d * v[1] + k] = 0

    return one


def set_scaled_one(v: Any, d: int, scale: float) -> None:
    """v[d] = 1, in doubles times a scale."""


@overload(set_scaled_one, jit_options=INLINED)
def _set_scaled_one(v: Any, d: int, scale: float) -> Any:
    if kind_of(v) == "plain":

        def plain(v: Any, d: int, scale: float) -> None:
            v[d] = scale

        return plain

    def other(v: Any, d: int, scale: float) -> None:
        set_one(v, d)

    return other


def copy(v: Any, d: int, w: Any, s: int) -> None:
    """v[d] = w[s]."""


@overload(copy, jit_options=INLINED)
def _copy(v: Any, d: int, w: Any, s: int) -> Any:
    if is_one(v):

        def single(v: Any, d: int, w: Any, s: int) -> None:
            v[d] = w[s]

        return single

    def copied(v: Any, d: int, w: Any, s: int) -> None:
        v[0][d * v[1]] = w[0][s * w[1]]
        v[0][d * v[1] + 1] = w[0][s * w[1] + 1]
        for k in range(2, v[1]):
            v[0][d * v[1] + k] = w[0][s * w[1] + k]

    return copied


def is_zero(v: Any, d: int) -> bool:
    """Whether v[d] = 0."""
    raise NotImplementedError


@overload(is_zero, jit_options=INLINED)
def _is_zero(v: Any, d: int) -> Any:
    kind = kind_of(v)
    if kind == "limbs":

        def limbs(v: Any, d: int) -> bool:
            if (v[0][d * v[1]] | v[0][d * v[1] + 1]) != uint64(0):
                return False
            for k in range(2, v[1]):
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


@inlined
def store_int(v, d, value, err):
    """v[d] = value, for an integer of one word."""
    if value >= SAFE or value <= -SAFE:
        err[0] = 1
    else:
        v[d] = value


@inlined
def fits_product(a, b):
    """Whether a * b is below 2^62 in size."""
    return abs(float(a) * float(b)) < 4.0e18


def add(v: Any, d: int, w: Any, s: int, err: Any) -> None:
    """v[d] += w[s]."""


@overload(add, jit_options=INLINED)
def _add(v: Any, d: int, w: Any, s: int, err: Any) -> Any:
    kind = kind_of(v)
    if kind == "plain":

        def plain(v: Any, d: int, w: Any, s: int, err: Any) -> None:
            v[d] += w[s]

        return plain
    if kind == "float":

        def floats(v: Any, d: int, w: Any, s: int, err: Any) -> None:
            add_wide(v, d, w[0][s * w[1] + 0], w[0][s * w[1] + 1])

        return floats
    if kind == "int":

        def ints(v: Any, d: int, w: Any, s: int, err: Any) -> None:
            store_int(v, d, v[d] + w[s], err)

        return ints

    def limbs(v: Any, d: int, w: Any, s: int, err: Any) -> None:
        add_words(v, d, w, s, err)

    return limbs


def add_times(v: Any, d: int, w: Any, s: int, factor: Any, err: Any) -> None:
    """v[d] += factor * w[s], for a 64-bit factor."""


@overload(add_times, jit_options=INLINED)
def _add_times(v: Any, d: int, w: Any, s: int, factor: Any, err: Any) -> Any:
    kind = kind_of(v)
    if kind == "plain":

        def plain(v: Any, d: int, w: Any, s: int, factor: Any, err: Any) -> None:
            v[d] += w[s] * factor

        return plain
    if kind == "float":

        def floats(v: Any, d: int, w: Any, s: int, factor: Any, err: Any) -> None:
            add_wide_product(v, d, w[0][s * w[1] + 0], w[0][s * w[1] + 1], factor, 0.0)

        return floats
    if kind == "int":

        def ints(v: Any, d: int, w: Any, s: int, factor: Any, err: Any) -> None:
            if fits_product(w[s], factor):
                store_int(v, d, v[d] + w[s] * factor, err)
            else:
                err[0] = 1

        return ints

    def limbs(v: Any, d: int, w: Any, s: int, factor: Any, err: Any) -> None:
        add_product_shifted(v, d, w, s, factor, 0, err)

    return limbs
