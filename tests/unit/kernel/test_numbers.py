"""The arithmetic of kernels, each operation on each kind of number, against Python's own.

Would catch a carry that is lost, a sign that is not extended, a product or a shift that wraps
around, a double that overflows unseen, and a limit on the wrong side. The promise is the same for
all kinds: what does not set the error is right.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numba import njit
from sampling import random_sample

from hamlet.kernel import numbers
from hamlet.kernel.limbs import bits_of
from hamlet.kernel.numbers import raw_pointer

MANY = random_sample(150)
ADD, TIMES, GROWTH, WEIGHTED = range(4)


@njit
def _apply(operation, v_array, w_array, n, am, ae, factor, err_array, total_array):  # type: ignore[no-untyped-def]
    """v[1] is changed by w[2]; what stands around them must stay as it is."""
    v, w, err = numbers.pointer(v_array), numbers.pointer(w_array), raw_pointer(err_array)
    total = raw_pointer(total_array)
    if operation == 0:
        numbers.add(v, 1, w, 2, err)
    elif operation == 1:
        numbers.add_times(v, 1, w, 2, factor, err)
    elif operation == 2:
        numbers.add_growth(v, 1, w, 2, n, am, ae, err)
    else:
        numbers.add_weighted_growth(v, 1, w, 2, n, am, ae, numbers.sum_since(total, 0, 1), err)
    return numbers.is_safe(v, 1), numbers.is_zero(v, 1)


@njit
def _moved(v_array, w_array):  # type: ignore[no-untyped-def]
    """v[0] = 0, v[1] = 1, v[2] = w[0]."""
    v, w = numbers.pointer(v_array), numbers.pointer(w_array)
    numbers.set_zero(v, 0)
    numbers.set_one(v, 1)
    numbers.copy(v, 2, w, 0)


@njit
def _factor(v_array, am, ae):  # type: ignore[no-untyped-def]
    return numbers.factor(numbers.pointer(v_array), am, ae)


def grown(operation: int, v: Any, w: Any, n: int, factor: Any) -> Any:
    """What the operation means, for integers."""
    added = (w, factor * w, (2**n - 1) * w, (2**n * w * factor) // 2)[operation]
    return v + added


def signed(bits: int) -> st.SearchStrategy[int]:
    """Integers below 2**bits in size, of all lengths, many of them next to a power of two."""
    near = st.builds(
        lambda length, off: 2**length + off, st.integers(0, bits - 1), st.integers(-2, 2)
    )
    anything = st.integers(0, bits).flatmap(lambda length: st.integers(0, 2**length - 1))
    sizes = st.one_of(near, anything).filter(lambda size: size < 2**bits)
    return st.builds(lambda size, sign: sign * size, sizes, st.sampled_from([1, -1]))


def total_of(factor: int) -> Any:
    """A sum of weights as kernels keep it, followed by one of nothing."""
    return np.array([factor & 0xFFFFFFFF, factor >> 32, 0, 0], dtype=np.int64)


FACTORS = st.one_of(signed(63), st.just(-(2**63)))
OPERATIONS = st.sampled_from([ADD, TIMES, GROWTH, WEIGHTED])


# Integers of one word


def apply_int(operation: int, v: int, w: int, n: int, factor: int) -> tuple[int, bool]:
    array, other = np.array([7, v, -7]), np.array([0, 0, w])
    err = np.zeros(1, np.int64)
    _apply(operation, array, other, n, 1.0, 0.0, np.int64(factor), err, total_of(factor))
    assert array[[0, 2]].tolist() == [7, -7]
    return int(array[1]), bool(err[0])


@MANY
@given(OPERATIONS, signed(62), signed(62), st.integers(1, 130), FACTORS)
@example(ADD, 2**62 - 1, 1, 1, 0)
@example(TIMES, 2**62 - 1, 2**61, 1, 2)
@example(TIMES, 0, -1, 1, -(2**63))
@example(WEIGHTED, 0, 2, 61, 2)
def test_one_word_is_right_or_says_so(operation: int, v: int, w: int, n: int, factor: int) -> None:
    found, failed = apply_int(operation, v, w, n, factor)

    expected = grown(operation, v, w, n, factor)
    assert failed or found == expected
    assert failed or abs(found) < numbers.SAFE


@MANY
@given(OPERATIONS, signed(58), signed(16), st.integers(1, 20), signed(20))
def test_one_word_takes_what_fits(operation: int, v: int, w: int, n: int, factor: int) -> None:
    assert apply_int(operation, v, w, n, factor) == (grown(operation, v, w, n, factor), False)


# Integers of many words


def to_words(values: list[int], words: int) -> Any:
    data = b"".join(value.to_bytes(8 * words, "little", signed=True) for value in values)
    return np.frombuffer(data, "<u8").reshape(len(values), words).astype(np.uint64)


def apply_words(
    operation: int, v: int, w: int, n: int, factor: int, words: int
) -> tuple[int, bool]:
    array, other = to_words([7, v, -7], words), to_words([0, 0, w], words)
    err = np.zeros(1, np.int64)
    _apply(operation, array, other, n, 1.0, 0.0, np.int64(factor), err, total_of(factor))
    before, found, after = numbers.integers(array)
    assert (before, after) == (7, -7)
    assert numbers.integers(other) == [0, 0, w]
    return found, bool(err[0])


@st.composite
def several_words(draw: st.DrawFn, spare: int) -> tuple[int, int, int, int]:
    """Words, two numbers that leave some bits free, and a shift."""
    words = draw(st.integers(2, 5))
    bits = 64 * words - spare
    return words, draw(signed(bits)), draw(signed(bits)), draw(st.integers(1, 64 * words + 70))


@MANY
@given(OPERATIONS, several_words(3), FACTORS)
@example(ADD, (2, 2**125 - 1, 1, 1), 0)
@example(ADD, (2, -(2**125), -(2**125), 1), 0)
@example(WEIGHTED, (2, 0, -1, 61), -(2**63))
@example(GROWTH, (3, -1, -1, 128), 0)
def test_many_words_are_right_or_say_so(
    operation: int, given_numbers: tuple[int, int, int, int], factor: int
) -> None:
    words, v, w, n = given_numbers
    found, failed = apply_words(operation, v, w, n, factor, words)

    assert failed or found == grown(operation, v, w, n, factor)
    assert failed or -(2 ** (64 * words - 3)) <= found < 2 ** (64 * words - 3)


@MANY
@given(OPERATIONS, st.integers(2, 4), st.data())
def test_many_words_take_what_fits(operation: int, words: int, data: st.DataObject) -> None:
    # A sum of weights has two parts, of which the upper one counts 2^32 times.
    spare = 102 if operation == WEIGHTED else 70
    n = data.draw(st.integers(1, max(1, 64 * words - spare - 30)))
    v, factor = data.draw(signed(64 * words - 6)), data.draw(FACTORS)
    w = data.draw(signed(max(1, 64 * words - spare - (n if operation > TIMES else 0))))

    expected = grown(operation, v, w, n, factor)

    assert apply_words(operation, v, w, n, factor, words) == (expected, False)


@njit
def _bits(array):  # type: ignore[no-untyped-def]
    return bits_of(numbers.pointer(array), 0)


@MANY
@given(signed(250))
def test_bits_are_a_bound_on_the_size(value: int) -> None:
    assert value.bit_length() <= _bits(to_words([value], 4)) <= value.bit_length() + 2


# Doubles


def close(found: Fraction, *terms: Fraction) -> bool:
    return abs(found - sum(terms)) <= Fraction(2) ** -50 * sum(abs(term) for term in terms)


def added_in_floats(operation: int, w: Fraction, growth: Fraction, factor: float) -> Fraction:
    return (w, w * Fraction(factor), (growth - 1) * w, growth * w * Fraction(factor))[operation]


def apply_floats(
    operation: int, v: Any, w: Any, am: float, ae: float, factor: float
) -> tuple[Any, bool]:
    """`v` and `w` are doubles, or pairs of mantissa and exponent."""
    array, other = np.array([v, v, v], np.float64), np.array([w, w, w], np.float64)
    am = _factor(array, am, ae)
    err = np.zeros(1, np.int64)
    is_safe, is_zero = _apply(
        operation, array, other, 0, am, ae, float(factor), err, np.array([factor, 0.0, 0.0, 0.0])
    )
    assert not err[0]
    assert array[0].tolist() == array[2].tolist() == (list(v) if isinstance(v, tuple) else v)
    assert bool(is_zero) == (not array[1].any())
    return array[1], bool(is_safe)


ANY_DOUBLE = st.floats(allow_nan=False, allow_infinity=False)
# Growth as kernels have it: at least 1.
GROWTHS = st.tuples(
    st.one_of(
        st.integers(0, 511).map(lambda n: 2.0**n),
        st.integers(1, 10**6).map(float),
        st.floats(1.0, 2.0**511),
    ),
    st.sampled_from([0.0, 0.0, 1.0, 2.0, 40.0]),
)


@MANY
@given(OPERATIONS, ANY_DOUBLE, ANY_DOUBLE, GROWTHS, ANY_DOUBLE)
@example(ADD, 1e308, 1e308, (1.0, 0.0), 0.0)
@example(GROWTH, 1.0, 0.0, (4.0, 40.0), 0.0)
def test_plain_doubles_are_right_or_not_safe(
    operation: int, v: float, w: float, growth: tuple[float, float], factor: float
) -> None:
    with np.errstate(all="ignore"):
        found, is_safe = apply_floats(operation, v, w, *growth, factor)

    if is_safe:
        whole = Fraction(growth[0]) * 2 ** (512 * int(growth[1]))
        added = added_in_floats(operation, Fraction(w), whole, factor)
        # Products below the range of doubles are lost.
        underflow = Fraction(2) ** -1074 * (1 + abs(Fraction(w)))
        off = abs(Fraction(found) - Fraction(v) - added)
        assert off <= Fraction(2) ** -50 * (abs(Fraction(v)) + abs(added)) + underflow
        assert abs(found) < numbers.LARGEST


MANTISSAS = st.builds(
    lambda size, power, sign: sign * size * 2.0**power,
    st.floats(1.0, 2.0, exclude_max=True),
    st.integers(-256, 255),
    st.sampled_from([1.0, -1.0]),
)
WIDES = st.one_of(
    st.tuples(MANTISSAS, st.sampled_from([-40.0, -2.0, -1.0, 0.0, 0.0, 1.0, 2.0, 3.0, 1000.0])),
    st.just((0.0, 0.0)),
)


def of_wide(pair: Any) -> Fraction:
    return Fraction(float(pair[0])) * Fraction(2) ** (512 * int(pair[1]))


@MANY
@given(OPERATIONS, WIDES, WIDES, GROWTHS, ANY_DOUBLE)
@example(ADD, (1.0, 1000.0), (-1.0, 1000.0), (1.0, 0.0), 0.0)
@example(TIMES, (0.0, 0.0), (2.0**-256, 0.0), (1.0, 0.0), 5e-324)
@example(WEIGHTED, (0.0, 0.0), (2.0**255, 0.0), (2.0**511, 0.0), 1.7e308)
def test_wide_doubles_are_right_at_any_size(
    operation: int,
    v: tuple[float, float],
    w: tuple[float, float],
    growth: tuple[float, float],
    factor: float,
) -> None:
    found, is_safe = apply_floats(operation, v, w, *growth, factor)

    whole = Fraction(growth[0]) * 2 ** (512 * int(growth[1]))
    assert is_safe
    assert close(of_wide(found), of_wide(v), added_in_floats(operation, of_wide(w), whole, factor))
    assert found[0] == 0.0 or numbers.LOW <= abs(found[0]) < numbers.HIGH


def test_growth_of_plain_doubles_is_one_number() -> None:
    plain, wide = np.zeros(3), np.zeros((3, 2))

    assert _factor(plain, 3.0, 1.0) == 3.0 * 2.0**512
    assert _factor(plain, 3.0, 4.0) == math.inf
    assert _factor(wide, 3.0, 4.0) == 3.0


# All kinds


@pytest.mark.parametrize(
    "array",
    [
        np.array([5.0, 6.0, 7.0]),
        np.array([[5.0, 1.0], [6.0, 2.0], [7.0, 3.0]]),
        np.array([5, 6, 7]),
        to_words([5 + 2**100, -6, 7], 2),
    ],
    ids=["plain", "wide", "int", "words"],
)
def test_zero_one_and_copy(array: Any) -> None:
    target = np.array(array[::-1])

    _moved(target, array)

    zero, one, copied = target.tolist()
    assert not np.any(zero)
    assert one == (1 if array.ndim == 1 else [1, 0])
    assert copied == array[0].tolist()


def test_integers_come_out_of_words() -> None:
    values = [0, 1, -1, 2**127 - 1, -(2**127)]

    assert numbers.integers(to_words(values, 2)) == values
