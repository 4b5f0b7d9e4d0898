"""Operations on ranges of numbers that stand side by side, for each kind of numbers.

For doubles and 64-bit integers these are loops that become vector instructions. Whether integers
still fit is found out for a whole range at once. The others go number by number. Loops over ranges
are functions of their own: a vector loop is long, and in line there would be hundreds of them.

Sums over stored events are not looked at one by one: none is larger than the sum of the sizes of
all stored numbers of its column, and `add_sizes` looks after that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic, overload

from hamlet.kernel import numbers
from hamlet.kernel.jit import APART, INLINED, apart, inlined
from hamlet.kernel.numbers import SAFE, fits_product
from hamlet.kernel.numbers.kinds import is_one, kind_of
from hamlet.kernel.rows.layout import BELOW, EQUAL, UP_TO

# Doubles may be added up in any order, and so in several parts at once.
_in_any_order = njit(**INLINED, fastmath={"reassoc", "nsz"})

# Keys after the last one of a scanned table: so many are NaN, which no bound lets in.
PAD = 8
# A coefficient so large leaves room for a thousand of its size
LARGE = 1 << 52


def _is_int(v: Any) -> bool:
    return kind_of(v) == "int"


@intrinsic
def lesser(context: Any, a: Any, b: Any) -> Any:
    """The lesser of two doubles that are not NaN, in a form that becomes vector instructions."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        flags = ("nnan", "nsz")
        is_first = builder.fcmp_ordered("<", *arguments, flags=flags)
        return builder.select(is_first, *arguments, flags=flags)

    return types.float64(types.float64, types.float64), code


@apart
def zero_cells(v, d, n):
    """v[d:] = 0 for n numbers."""
    for i in range(n):
        numbers.set_zero(v, d + i)


@apart
def copy_cells(v, d, w, s, n):
    """v[d:] = w[s:] for n numbers."""
    for i in range(n):
        numbers.copy(v, d + i, w, s + i)


@apart
def least_cells(x, d, y, s, n):
    """The lesser of x[d:] and y[s:] for n doubles."""
    for i in range(n):
        x[d + i] = lesser(y[s + i], x[d + i])


@apart
def fill_cells(x, d, n, value):
    """x[d:] = value for n doubles."""
    for i in range(n):
        x[d + i] = value


def add_cells(v: Any, d: int, w: Any, s: int, n: int, err: Any) -> None:
    """v[d:] += w[s:] for n numbers."""


def sum_cells(v: Any, d: int, w: Any, s: int, n: int, err: Any) -> None:
    """The same where what it comes to is known to fit if `add_sizes` has found nothing."""


def add_product(v: Any, d: int, w: Any, s: int, n: int, factor: Any, err: Any) -> None:
    """v[d:] += factor * w[s:] for n numbers."""


def add_sizes(v: Any, d: int, w: Any, s: int, n: int, err: Any) -> None:
    """v[d:] += |w[s:]| for n integers of one word; nothing for other kinds."""


def grow_sizes(v: Any, d: int, w: Any, s: int, n: int, err: Any) -> bool:
    """The same, and whether all together have come near to what a word can hold."""
    raise NotImplementedError


def add_size_times(v: Any, d: int, w: Any, s: int, size: Any, err: Any) -> None:
    """v[d] += size * |w[s]| for integers of one word; nothing for other kinds."""


def sum_open(
    v: Any, d: int, w: Any, s: int, keys: Any, first: int, end: int, bound: float, op: int, err: Any
) -> None:
    """v[d] = the sum of w[s + e] over stored events e whose key stands so to the bound."""


def set_one(v: Any, d: int, times: int, scale: float) -> None:
    """v[d] = times; doubles are scaled."""


@overload(add_cells, jit_options=APART)
def _add_cells(v: Any, d: int, w: Any, s: int, n: int, err: Any) -> Any:
    if _is_int(v):

        def ints(v: Any, d: int, w: Any, s: int, n: int, err: Any) -> None:
            over = 0
            for i in range(n):
                total = v[d + i] + w[s + i]
                v[d + i] = total
                over |= total + SAFE  # below 0 where it is not below 2^62 in size
            if over < 0:
                err[0] = 1

        return ints

    def one_by_one(v: Any, d: int, w: Any, s: int, n: int, err: Any) -> None:
        for i in range(n):
            numbers.add(v, d + i, w, s + i, err)

    return one_by_one


@overload(sum_cells, jit_options=APART)
def _sum_cells(v: Any, d: int, w: Any, s: int, n: int, err: Any) -> Any:
    if is_one(v):

        def single(v: Any, d: int, w: Any, s: int, n: int, err: Any) -> None:
            for i in range(n):
                v[d + i] += w[s + i]

        return single

    def one_by_one(v: Any, d: int, w: Any, s: int, n: int, err: Any) -> None:
        for i in range(n):
            numbers.add(v, d + i, w, s + i, err)

    return one_by_one


@overload(add_product, jit_options=APART)
def _add_product(v: Any, d: int, w: Any, s: int, n: int, factor: Any, err: Any) -> Any:
    if _is_int(v):

        def ints(v: Any, d: int, w: Any, s: int, n: int, factor: Any, err: Any) -> None:
            largest, over = 0, 0
            for i in range(n):
                largest |= abs(w[s + i])
            if float(largest) * abs(float(factor)) > 4.0e18:
                err[0] = 1
                return
            for i in range(n):
                total = v[d + i] + w[s + i] * factor
                v[d + i] = total
                over |= total + SAFE
            if over < 0:
                err[0] = 1

        return ints

    def one_by_one(v: Any, d: int, w: Any, s: int, n: int, factor: Any, err: Any) -> None:
        for i in range(n):
            numbers.add_times(v, d + i, w, s + i, factor, err)

    return one_by_one


@overload(add_sizes, jit_options=INLINED)
def _add_sizes(v: Any, d: int, w: Any, s: int, n: int, err: Any) -> Any:
    if _is_int(v):

        def ints(v: Any, d: int, w: Any, s: int, n: int, err: Any) -> None:
            over = 0
            for i in range(n):
                value = w[s + i]
                total = v[d + i] + abs(value)
                v[d + i] = total
                over |= (total + SAFE) | (value + SAFE)
            if over < 0:
                err[0] = 1

        return ints

    def nothing(v: Any, d: int, w: Any, s: int, n: int, err: Any) -> None:
        pass

    return nothing


@overload(grow_sizes, jit_options=APART)
def _grow_sizes(v: Any, d: int, w: Any, s: int, n: int, err: Any) -> Any:
    if _is_int(v):

        def ints(v: Any, d: int, w: Any, s: int, n: int, err: Any) -> bool:
            add_sizes(v, d, w, s, n, err)
            total = 0
            for i in range(n):
                total += v[d + i]
            return bool(total >= LARGE)

        return ints

    def no(v: Any, d: int, w: Any, s: int, n: int, err: Any) -> bool:
        return False

    return no


@overload(add_size_times, jit_options=INLINED)
def _add_size_times(v: Any, d: int, w: Any, s: int, size: Any, err: Any) -> Any:
    if _is_int(v):

        def ints(v: Any, d: int, w: Any, s: int, size: Any, err: Any) -> None:
            if fits_product(w[s], size):
                numbers.store_int(v, d, v[d] + abs(w[s] * size), err)
            else:
                err[0] = 1

        return ints

    def nothing(v: Any, d: int, w: Any, s: int, size: Any, err: Any) -> None:
        pass

    return nothing


@overload(set_one, jit_options=INLINED)
def _set_one(v: Any, d: int, times: int, scale: float) -> Any:
    if is_one(v):
        if _is_int(v):

            def ints(v: Any, d: int, times: int, scale: float) -> None:
                v[d] = times

            return ints

        def doubles(v: Any, d: int, times: int, scale: float) -> None:
            v[d] = times * scale

        return doubles

    def several(v: Any, d: int, times: int, scale: float) -> None:
        numbers.set_one(v, d)
        v[0][d * v[1]] *= times

    return several


@inlined
def _in_eights(first, end):
    """Where a range ends that is as long as a multiple of eight.

    What is left over after vectors of eight would go one by one, each with a guess at a branch.
    """
    return first + (end - first + PAD - 1 & -PAD)


@_in_any_order
def _sum_single(w, s, keys, first, end, bound, op, total):
    nothing = total
    end = _in_eights(first, end)
    if op == BELOW:
        for e in range(first, end):
            total += w[s + e] if keys[e] < bound else nothing
    elif op == UP_TO:
        for e in range(first, end):
            total += w[s + e] if keys[e] <= bound else nothing
    elif op == EQUAL:
        for e in range(first, end):
            total += w[s + e] if keys[e] == bound else nothing
    else:
        for e in range(first, end):
            total += w[s + e] if keys[e] < bound or keys[e] > bound else nothing
    return total


@inlined
def is_open(key, bound, op):
    """Whether an event with a key may be followed by one with a bound."""
    if op == BELOW:
        return key < bound
    if op == UP_TO:
        return key <= bound
    if op == EQUAL:
        return key == bound
    return key < bound or key > bound  # null stands in no order to anything


@overload(sum_open, jit_options=INLINED)
def _sum_open(
    v: Any, d: int, w: Any, s: int, keys: Any, first: int, end: int, bound: float, op: int, err: Any
) -> Any:
    if is_one(v):
        nothing = np.int64(0) if _is_int(v) else 0.0

        def single(
            v: Any,
            d: int,
            w: Any,
            s: int,
            keys: Any,
            first: int,
            end: int,
            bound: float,
            op: int,
            err: Any,
        ) -> None:
            v[d] = _sum_single(w, s, keys, first, end, bound, op, nothing)

        return single

    def one_by_one(
        v: Any,
        d: int,
        w: Any,
        s: int,
        keys: Any,
        first: int,
        end: int,
        bound: float,
        op: int,
        err: Any,
    ) -> None:
        numbers.set_zero(v, d)
        for e in range(first, end):
            if is_open(keys[e], bound, op):
                numbers.add(v, d, w, s + e, err)

    return one_by_one


@_in_any_order
def least_open(y, s, keys, first, end, bound, op):
    """The least of y[s + e] over stored events e whose key stands so to the bound."""
    least = np.inf
    end = _in_eights(first, end)
    if op == BELOW:
        for e in range(first, end):
            least = lesser(y[s + e] if keys[e] < bound else np.inf, least)
    elif op == UP_TO:
        for e in range(first, end):
            least = lesser(y[s + e] if keys[e] <= bound else np.inf, least)
    elif op == EQUAL:
        for e in range(first, end):
            least = lesser(y[s + e] if keys[e] == bound else np.inf, least)
    else:
        for e in range(first, end):
            is_other = keys[e] < bound or keys[e] > bound
            least = lesser(y[s + e] if is_other else np.inf, least)
    return least


_in_any_order_apart = njit(**APART, fastmath={"reassoc", "nsz"})


@_in_any_order_apart
def look_back(v, a, b, x, c, d, keys, first, end, below, same, components, extremes):
    """What stored events give whose key is below a bound, or the same as another.

    The sums of v[a + e] and, with two components, of v[b + e]; the least of x[c + e] and x[d + e],
    as far as there are extremes, of which there may be two with one component.
    """
    nothing = nothing_of(v)
    count, total, least, second = nothing, nothing, np.inf, np.inf
    end = _in_eights(first, end)
    if components == 1:
        if extremes == 0:
            for e in range(first, end):
                is_in = keys[e] < below or keys[e] == same
                count += v[a + e] if is_in else nothing
        elif extremes == 1:
            for e in range(first, end):
                is_in = keys[e] < below or keys[e] == same
                count += v[a + e] if is_in else nothing
                least = lesser(x[c + e] if is_in else np.inf, least)
        else:
            for e in range(first, end):
                is_in = keys[e] < below or keys[e] == same
                count += v[a + e] if is_in else nothing
                least = lesser(x[c + e] if is_in else np.inf, least)
                second = lesser(x[d + e] if is_in else np.inf, second)
    elif extremes == 0:
        for e in range(first, end):
            is_in = keys[e] < below or keys[e] == same
            count += v[a + e] if is_in else nothing
            total += v[b + e] if is_in else nothing
    else:
        for e in range(first, end):
            is_in = keys[e] < below or keys[e] == same
            count += v[a + e] if is_in else nothing
            total += v[b + e] if is_in else nothing
            least = lesser(x[c + e] if is_in else np.inf, least)
    return count, total, least, second


def nothing_of(v: Any) -> Any:
    """0 of the kind of numbers of one word."""
    raise NotImplementedError


def note(over: int, total: Any) -> int:
    """`over`, below 0 if it was or if a number of one word may not fit: integers alone can."""
    raise NotImplementedError


def multiple(over: int, count: Any, factor: Any) -> Any:
    """The product of two numbers of one word, and `over` as `note` has it."""
    raise NotImplementedError


def grow_size(over: int, v: Any, d: int, value: Any) -> int:
    """`add_sizes` for one number that is at hand: `over` as `note` has it."""
    raise NotImplementedError


@overload(nothing_of, jit_options=INLINED)
def _nothing_of(v: Any) -> Any:
    nothing = np.int64(0) if _is_int(v) else 0.0

    def of(v: Any) -> Any:
        return nothing

    return of


@overload(note, jit_options=INLINED)
def _note(over: Any, total: Any) -> Any:
    if isinstance(total, types.Integer):

        def ints(over: Any, total: Any) -> Any:
            return over | (total + SAFE)

        return ints

    def doubles(over: Any, total: Any) -> Any:
        return over

    return doubles


@overload(multiple, jit_options=INLINED)
def _multiple(over: Any, count: Any, factor: Any) -> Any:
    if isinstance(count, types.Integer):

        def ints(over: Any, count: Any, factor: Any) -> Any:
            if fits_product(count, factor):
                return count * factor, over
            return np.int64(0), np.int64(-1)

        return ints

    def doubles(over: Any, count: Any, factor: Any) -> Any:
        return count * factor, over

    return doubles


@overload(grow_size, jit_options=INLINED)
def _grow_size(over: Any, v: Any, d: int, value: Any) -> Any:
    if _is_int(v):

        def ints(over: Any, v: Any, d: int, value: Any) -> Any:
            total = v[d] + abs(value)
            v[d] = total
            return over | (total + SAFE) | (value + SAFE)

        return ints

    def doubles(over: Any, v: Any, d: int, value: Any) -> Any:
        return over

    return doubles
