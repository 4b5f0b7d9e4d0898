"""Integers of many words: two's complement, least significant word first.

A number is a pointer and its number of words (see numbers/), which are two or more. Two bits at the
top are always spare, so a sum of two numbers never wraps around unseen; what would need them sets
`err[0]`. Two words are what most numbers need that outgrow one, and have ways of their own, without
loops.

Cost: O(words) for each operation.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types, uint64
from numba.extending import intrinsic

from hamlet.kernel.jit import compiled, inlined


@intrinsic
def bit_length(context: Any, word: Any) -> Any:
    """How many bits a word without a sign has, up to its highest one."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zeros = builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))
        return builder.sub(ir.Constant(ir.IntType(64), 64), zeros)

    return types.int64(types.uint64), code


@intrinsic
def _wide_product(context: Any, a: Any, b: Any) -> Any:
    """The two words of a * b, the lower one first."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide, word = ir.IntType(128), ir.IntType(64)
        product = builder.mul(*(builder.zext(each, wide) for each in arguments))
        high = builder.lshr(product, ir.Constant(wide, 64))
        parts = [builder.trunc(each, word) for each in (product, high)]
        return context.make_tuple(builder, signature.return_type, parts)

    return types.UniTuple(types.uint64, 2)(types.uint64, types.uint64), code


@compiled
def bits_of(v, d):
    """A bound on the bits of |v[d]|."""
    k = v[1] - 1
    sign = v[0][d * v[1] + k] >> uint64(63)
    fill = uint64(0) - sign  # all ones for a negative number
    while k > 0 and v[0][d * v[1] + k] == fill:
        k -= 1
    return 64 * k + bit_length(v[0][d * v[1] + k] ^ fill) + 1


# Two words


@inlined
def _bits_of_two(low, high):
    """A bound on the bits of a number of two words."""
    fill = uint64(0) - (high >> uint64(63))
    if high != fill:
        return 65 + bit_length(high ^ fill)
    return 1 + bit_length(low ^ fill)


@inlined
def _shifted_two(low, high, n):
    """A number of two words, shifted by less than 128 bits."""
    if n == 0:
        return low, high
    left = uint64(n & 63)
    if n >= 64:
        return uint64(0), low << left
    return low << left, (high << left) | (low >> (uint64(64) - left))


@inlined
def _add_two(v, d, low, high, err):
    """v[d] += high * 2**64 + low, for a number of two words."""
    total = v[0][2 * d] + low
    top = v[0][2 * d + 1] + high + (uint64(1) if total < low else uint64(0))
    v[0][2 * d] = total
    v[0][2 * d + 1] = top
    spare = top >> uint64(61)
    if spare != uint64(0) and spare != uint64(7):
        err[0] = 1


@inlined
def _add_shifted_two(v, d, low, high, n, sign, err):
    """v[d] += sign * ((high * 2**64 + low) << n), for a number of two words."""
    if _bits_of_two(low, high) + n > 124:
        if low | high != uint64(0):
            err[0] = 1
        return
    low, high = _shifted_two(low, high, n)
    if sign < 0:
        low, high = uint64(0) - low, ~high + (uint64(1) if low == uint64(0) else uint64(0))
    _add_two(v, d, low, high, err)


@inlined
def _add_product_two(v, d, low, high, factor, n, err):
    """v[d] += (factor * (high * 2**64 + low)) << n, for a number of two words."""
    word = uint64(factor)
    size = uint64(0) - word if factor < 0 else word
    if _bits_of_two(low, high) + bit_length(size) + n > 124:
        if low | high != uint64(0):
            err[0] = 1
        return
    # Modulo 2**128, which is right for what fits: a factor below 0 is 2**128 more.
    product, carried = _wide_product(low, word)
    carried += high * word
    if factor < 0:
        carried -= low
    product, carried = _shifted_two(product, carried, n)
    _add_two(v, d, product, carried, err)


# Any number of words


@compiled
def add_shifted(v, d, w, s, n, sign, err):
    """v[d] += sign * (w[s] << n) for sign +1 or -1."""
    words = v[1]
    if words == 2:
        _add_shifted_two(v, d, w[0][2 * s], w[0][2 * s + 1], n, sign, err)
        return
    if bits_of(w, s) + n + 2 > 64 * words - 2:
        if not _is_nothing(w, s):
            err[0] = 1
        return
    skip = n // 64
    left = uint64(n % 64)
    flip = uint64(0) if sign > 0 else ~uint64(0)
    carry = uint64(0) if sign > 0 else uint64(1)
    before = uint64(0)
    for k in range(words):
        x = uint64(0)
        if k >= skip:
            word = w[0][s * w[1] + k - skip]
            if left == uint64(0):
                x = word
            else:
                x = (word << left) | (before >> (uint64(64) - left))
            before = word
        x ^= flip
        total = v[0][d * v[1] + k] + x
        over = uint64(1) if total < x else uint64(0)
        total2 = total + carry
        over += uint64(1) if total2 < carry else uint64(0)
        v[0][d * v[1] + k] = total2
        carry = over
    check_top(v, d, err)


@compiled
def _is_nothing(v, d):
    """Whether v[d] = 0, which fits however far it is shifted."""
    for k in range(v[1]):
        if v[0][d * v[1] + k] != uint64(0):
            return False
    return True


@compiled
def check_top(v, d, err):
    """Two spare bits must be left, so that the next sum cannot wrap around unseen."""
    top = v[0][d * v[1] + v[1] - 1] >> uint64(61)
    if top != uint64(0) and top != uint64(7):
        err[0] = 1


@compiled
def add_product_shifted(v, d, w, s, factor, n, err):
    """v[d] += (factor * w[s]) << n."""
    words = v[1]
    if factor == 0:
        return
    if words == 2:
        _add_product_two(v, d, w[0][2 * s], w[0][2 * s + 1], factor, n, err)
        return
    magnitude = uint64(factor)
    if factor < 0:
        magnitude = uint64(0) - uint64(factor)
    if bits_of(w, s) + bit_length(magnitude) + n + 2 > 64 * words - 2:
        if not _is_nothing(w, s):
            err[0] = 1
        return
    # The product of sizes is added or subtracted; a negative w[s] is negated word by word.
    negative = factor < 0
    w_negative = (w[0][s * w[1] + words - 1] >> uint64(63)) != uint64(0)
    if w_negative:
        negative = not negative
    w_flip = ~uint64(0) if w_negative else uint64(0)
    w_carry = uint64(1) if w_negative else uint64(0)
    flip = ~uint64(0) if negative else uint64(0)
    carry = uint64(1) if negative else uint64(0)
    skip = n // 64
    left = uint64(n % 64)
    high = uint64(0)
    before = uint64(0)
    for k in range(words):
        x = uint64(0)
        if k >= skip:
            word = w[0][s * w[1] + k - skip] ^ w_flip
            size = word + w_carry
            w_carry = uint64(1) if size < w_carry else uint64(0)
            lo, hi = _wide_product(size, magnitude)
            lo += high
            high = hi + (uint64(1) if lo < high else uint64(0))
            if left == uint64(0):
                x = lo
            else:
                x = (lo << left) | (before >> (uint64(64) - left))
            before = lo
        x ^= flip
        total = v[0][d * v[1] + k] + x
        over = uint64(1) if total < x else uint64(0)
        total2 = total + carry
        over += uint64(1) if total2 < carry else uint64(0)
        v[0][d * v[1] + k] = total2
        carry = over
    check_top(v, d, err)


@compiled
def add_words(v, d, w, s, err):
    """v[d] += w[s]."""
    if v[1] == 2:
        _add_two(v, d, w[0][2 * s], w[0][2 * s + 1], err)
        return
    carry = uint64(0)
    for k in range(v[1]):
        x = w[0][s * w[1] + k]
        total = v[0][d * v[1] + k] + x
        over = uint64(1) if total < x else uint64(0)
        total2 = total + carry
        over += uint64(1) if total2 < carry else uint64(0)
        v[0][d * v[1] + k] = total2
        carry = over
    check_top(v, d, err)
