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

from hamlet.kernel.numbers.arithmetic import (
    add,
    add_times,
    copy,
    fits_product,
    is_zero,
    set_one,
    set_scaled_one,
    set_zero,
    store_int,
)
from hamlet.kernel.numbers.kinds import (
    BASE,
    HIGH,
    INVERSE,
    LARGEST,
    LOW,
    SAFE,
    integers,
    is_float,
    is_safe,
    kind_of,
    next_words,
    pointer,
    raw_pointer,
    room,
)
from hamlet.kernel.numbers.runs import add_growth, add_weighted_growth, factor, grow_row, grow_sum
from hamlet.kernel.numbers.sums import (
    add_run_to_sum,
    add_some_to_sum,
    add_to_sum,
    climb,
    climb_by_one,
    climbed_since,
    sum_as_double,
    sum_since,
)
from hamlet.kernel.numbers.wide_floats import add_wide_product

__all__ = [
    "BASE",
    "HIGH",
    "INVERSE",
    "LARGEST",
    "LOW",
    "SAFE",
    "add",
    "add_growth",
    "add_run_to_sum",
    "add_some_to_sum",
    "add_times",
    "add_to_sum",
    "add_weighted_growth",
    "add_wide_product",
    "climb",
    "climb_by_one",
    "climbed_since",
    "copy",
    "factor",
    "fits_product",
    "grow_row",
    "grow_sum",
    "integers",
    "is_float",
    "is_safe",
    "is_zero",
    "kind_of",
    "next_words",
    "pointer",
    "raw_pointer",
    "room",
    "set_one",
    "set_scaled_one",
    "set_zero",
    "store_int",
    "sum_as_double",
    "sum_since",
]
