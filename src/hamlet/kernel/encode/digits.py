"""Weights: what components add up, as exact integer digits or as doubles.

Every double is an integer times a power of two. The digits of a column cover the bits from the
lowest that any of its values has to the highest: one digit where they fit, else several of 40 bits,
short enough to be multiplied by counts for a while before 64 bits are full. All digits of a value
have its sign, and the sum of digit * 2**exponent is the value, exactly.

A stream cannot be looked at before it comes. There the exponents of an attribute, its *grid*, are
chosen for the first values and grow where later ones ask for it (`digits_within`): sums over the
digits of the smaller grid stay what they are. A grid may have gaps where no value has a bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hamlet.errors import PlanError
from hamlet.events.columns import Values
from hamlet.kernel.encode.evaluate import bound, doubles
from hamlet.kernel.jit import interpretable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Digits = tuple[tuple[int, ...], list[NDArray[np.int64]]]

# Integers below this are one digit.
_LARGEST_DIGIT = 2**62
_INTEGER_BITS = 32
_BITS = 40
# Doubles that span no more bits than this are one digit.
_MOST_BITS = 53
# The squares of doubles from the one to the other have all their bits in the range of doubles.
_SMALL, _LARGE = 2.0**-400, 2.0**500


def digits_of(values: Values) -> Digits:
    """Exponents and digits of numbers; 0 where null.

    >>> from hamlet.events.columns import Values
    >>> exponents, digits = digits_of(Values("number", np.array([0.75, -3.0])))
    >>> exponents, [digit.tolist() for digit in digits]
    ((-2,), [[3, -12]])
    """
    data = values.data
    if values.kind is None:
        return (0,), [np.zeros(len(data), np.int64)]
    if values.valid is not None:
        data = np.where(values.valid, data, 0)
    if values.is_integer:
        return _of_integers(data)
    return _of_doubles(np.ascontiguousarray(data))


def digits_within(values: Values, grid: tuple[int, ...] | None) -> Digits:
    """Exponents and digits of numbers, with all exponents of a grid among them; 0 where null.

    The grid that comes back is the one given wherever the values fit it. Any grid at all fits
    values that are all zero, and None stands for the grid of an attribute that had no others yet.

    >>> from hamlet.events.columns import Values
    >>> small, large = (Values("number", np.array([x])) for x in (0.75, 3 * 2.0**60))
    >>> digits_within(small, None)[0], digits_within(small, (-4,))[0]
    ((-2,), (-4,))
    >>> exponents, digits = digits_within(large, (-2,))
    >>> exponents, [digit.tolist() for digit in digits]
    ((-2, 38), [[0], [12582912]])
    """
    if grid is None:
        exponents, digits = digits_of(values)
        if len(digits) == 1:
            return exponents, digits
        grid = exponents[:1]
    data = values.data
    if values.kind is None:
        return grid, [np.zeros(len(data), np.int64) for _ in grid]
    if values.valid is not None:
        data = np.where(values.valid, data, 0)
    if values.is_integer:
        return _integers_within(data, grid)
    return _doubles_within(np.ascontiguousarray(data), grid)


def digits_of_squares(values: Values, grid: tuple[int, ...] | None) -> Digits:
    """Exponents and digits of the squares of numbers, as `digits_within` has them; 0 where null.

    >>> from hamlet.events.columns import Values
    >>> exponents, digits = digits_of_squares(Values("number", np.array([0.75, -3.0])), None)
    >>> exponents, [digit.tolist() for digit in digits]
    ((-4,), [[9, 144]])
    """
    data = values.data
    if values.kind is None:
        return digits_within(values, grid)
    if values.valid is not None:
        data = np.where(values.valid, data, 0)
    if values.is_integer:
        whole = data if bound(data) < 2**31 else data.astype(object)
        return digits_within(Values("number", whole * whole), grid)
    parts = [(part, shift) for part, shift in _exact_squares(data) if part.any()]
    parts = parts or [(np.zeros(len(data)), 0)]
    for part, shift in parts:
        grid = _moved(digits_within(Values("number", part), _moved(grid, -shift))[0], shift)
    assert grid is not None
    total = [np.zeros(len(data), np.int64) for _ in grid]
    for part, shift in parts:
        _, rows = digits_within(Values("number", part), _moved(grid, -shift))
        total = [one + other for one, other in zip(total, rows, strict=True)]
    return grid, total


def _moved(grid: tuple[int, ...] | None, shift: int) -> Any:
    return None if grid is None else tuple(exponent + shift for exponent in grid)


def _exact_squares(data: NDArray[np.float64]) -> Iterator[tuple[NDArray[np.float64], int]]:
    """Doubles of which all together, each times two to some power, are the squares of others.

    A square has twice the bits of a double, and so is the sum of two. Large and small ones are
    brought to a size first at which neither of the two leaves the range of doubles.
    """
    size = np.abs(data)
    for low, high, scale in ((_SMALL, _LARGE, 0), (_LARGE, np.inf, -600), (0.0, _SMALL, 700)):
        some = np.ldexp(np.where((size >= low) & (size < high), data, 0.0), scale)
        square = some * some
        head = some * 134217729.0  # 2**27 + 1: Dekker's product
        head = head - (head - some)
        tail = some - head
        rest = ((head * head - square) + 2 * head * tail) + tail * tail
        yield square, -2 * scale
        yield rest, -2 * scale


def squares_in_doubles(data: NDArray[np.float64], attribute: str) -> NDArray[np.float64]:
    """The squares of doubles.

    Raises:
        PlanError: One is beyond doubles.
    """
    with np.errstate(over="ignore"):
        squares = data * data
    if np.isinf(squares).any():
        message = f"squares of {attribute} are beyond doubles"
        raise PlanError(message, "Run it with exact numbers, which have room for them.")
    return squares


def present(values: Values) -> NDArray[np.bool_]:
    """Where there is a value."""
    return np.ones(len(values), np.bool_) if values.valid is None else values.valid


def doubles_or(values: Values, null: float) -> NDArray[np.float64]:
    """Numbers, truth values or times as doubles, with a stand-in for null."""
    if values.kind is None:
        return np.full(len(values), null)
    data = doubles(values.data)
    return data if values.valid is None else np.where(values.valid, data, null)


def _of_integers(data: NDArray[Any]) -> Digits:
    most = bound(data)
    if most < _LARGEST_DIGIT:
        return (0,), [data.astype(np.int64, copy=False)]
    count = -(-most.bit_length() // _INTEGER_BITS)
    sign, rest = np.where(data < 0, -1, 1), np.abs(data.astype(object))
    digits = []
    for _ in range(count):
        digits.append((rest % 2**_INTEGER_BITS).astype(np.int64) * sign)
        rest = rest // 2**_INTEGER_BITS
    return tuple(_INTEGER_BITS * i for i in range(count)), digits


def _integers_within(data: NDArray[Any], grid: tuple[int, ...]) -> Digits:
    """All digits but the last have 32 bits, and that has up to 62."""
    most = bound(data)
    last = grid[-1]
    while most >> last >= _LARGEST_DIGIT:
        last += _INTEGER_BITS
    exponents = tuple(range(0, last + 1, _INTEGER_BITS))
    if len(exponents) == 1:
        return exponents, [data.astype(np.int64, copy=False)]
    signs = np.where(data < 0, -1, 1)
    # Numbers without a sign have room for that of -2**63.
    rest = np.abs(data) if data.dtype == object else np.abs(data).view(np.uint64)
    digits = []
    for _ in exponents[:-1]:
        digits.append((rest % 2**_INTEGER_BITS).astype(np.int64) * signs)
        rest = rest // 2**_INTEGER_BITS
    return exponents, [*digits, rest.astype(np.int64) * signs]


def _doubles_within(data: NDArray[np.float64], grid: tuple[int, ...]) -> Digits:
    bits = data.view(np.int64)
    digits = np.zeros((len(grid), len(data)), np.int64)
    if _fill_grid(bits, np.array(grid, np.int64), digits):
        return grid, list(digits)
    low, high = bit_range(data)
    candidates = np.array(_candidates(grid, low, high), np.int64)
    is_used = np.zeros(len(candidates), np.bool_)
    _find_used(bits, candidates, is_used)
    exponents = tuple(sorted({*grid, *candidates[is_used].tolist()}))
    digits = np.zeros((len(exponents), len(data)), np.int64)
    _fill_grid(bits, np.array(exponents, np.int64), digits)
    return exponents, list(digits)


def _candidates(grid: tuple[int, ...], low: int, high: int) -> list[int]:
    """A grid without gaps from the lowest bit to the highest, which has that of a grid in it."""
    below = -(-max(grid[0] - low, 0) // _BITS)
    exponents = [grid[0] - _BITS * i for i in range(below, 0, -1)]
    for number, exponent in enumerate(grid):
        end = grid[number + 1] if number + 1 < len(grid) else max(high, exponent)
        exponents.append(exponent)
        while exponents[-1] + _MOST_BITS < end:
            exponents.append(exponents[-1] + _BITS)
    return exponents


def _of_doubles(data: NDArray[np.float64]) -> Digits:
    low, high = bit_range(data)
    if high <= low:  # nothing but zeros
        return (0,), [np.zeros(len(data), np.int64)]
    if low >= 0 and high <= _MOST_BITS:
        low = 0
    if high - low <= _MOST_BITS:
        return (low,), [np.ldexp(data, -low).astype(np.int64)]
    exponents = tuple(range(low, high, _BITS))
    digits = np.zeros((len(exponents), len(data)), np.int64)
    _fill_digits(data.view(np.int64), low, digits)
    return exponents, list(digits)


def bit_range(data: NDArray[np.float64]) -> tuple[int, int]:
    """The place of the lowest bit of any double, and the place above the highest.

    >>> bit_range(np.array([0.75, 0.0, 4.0]))
    (-2, 3)
    """
    low, high = _bit_range(np.ascontiguousarray(data).view(np.int64))
    return int(low), int(high)


@interpretable
def _parts(bits):  # type: ignore[no-untyped-def]
    """The absolute value of a double as an integer and the place of that integer's lowest bit."""
    exponent = (bits >> 52) & 0x7FF
    whole = bits & ((1 << 52) - 1)
    if exponent == 0:
        return whole, -1074
    return whole | (1 << 52), exponent - 1075


@interpretable
def _bit_range(data):  # type: ignore[no-untyped-def]
    low, high = 1 << 20, -(1 << 20)
    for bits in data:
        whole, place = _parts(bits)
        if whole == 0:
            continue
        if place + 53 > high:
            top = whole
            width = 53
            while top >> 52 == 0:  # only where doubles have leading zeros, next to zero itself
                top <<= 1
                width -= 1
            high = max(high, place + width)
        if place < low:
            while whole & 255 == 0:
                whole >>= 8
                place += 8
            while whole & 1 == 0:
                whole >>= 1
                place += 1
            low = min(low, place)
    return low, high


@interpretable
def _fill_digits(data, low, digits):  # type: ignore[no-untyped-def]
    """All digits of all values, 40 bits each, from place `low` up."""
    mask = np.uint64((1 << 40) - 1)
    for row in range(len(data)):
        whole, place = _parts(data[row])
        if whole == 0:
            continue
        value = np.uint64(whole)
        shift = place - low
        if shift < 0:  # its lowest bits are zeros below any digit
            value >>= np.uint64(-shift)
            shift = 0
        number = shift // 40
        first = np.uint64(shift - 40 * number)
        carried = (value << first) & mask
        value >>= np.uint64(40) - first
        sign = -1 if data[row] < 0 else 1
        while True:
            digits[number, row] = sign * np.int64(carried)
            if value == 0:
                break
            number += 1
            carried = value & mask
            value >>= np.uint64(40)


@interpretable
def _end_of_digit(exponents, number):  # type: ignore[no-untyped-def]
    """The place after the highest bit that a digit of a grid takes."""
    end = exponents[number] + 53
    if number + 1 < len(exponents):
        end = min(end, exponents[number + 1])
    return end


@interpretable
def _has_bits(whole, place, low, high):  # type: ignore[no-untyped-def]
    """Whether whole * 2**place has a bit from place `low` to before `high`."""
    low, high = max(low, place) - place, min(high, place + 53) - place
    return low < high and (whole >> low) & ((1 << (high - low)) - 1) != 0


@interpretable
def _part(whole, place, low, high):  # type: ignore[no-untyped-def]
    """The bits of whole * 2**place from place `low` to before `high`, which is at most 53 away."""
    if place >= high or place + 53 <= low:
        return 0
    value = whole >> max(low - place, 0)
    width = high - max(low, place)
    if width < 53:
        value &= (1 << width) - 1
    return value << max(place - low, 0)


@interpretable
def _fill_grid(data, exponents, digits):  # type: ignore[no-untyped-def]
    """Fill in the digits of all values; whether every value fits."""
    for row in range(len(data)):
        whole, place = _parts(data[row])
        if whole == 0:
            continue
        end = place
        for number in range(len(exponents)):
            if _has_bits(whole, place, end, exponents[number]):  # below all digits or in a gap
                return False
            end = _end_of_digit(exponents, number)
            value = _part(whole, place, exponents[number], end)
            digits[number, row] = -value if data[row] < 0 else value
        if _has_bits(whole, place, end, place + 53):
            return False
    return True


@interpretable
def _find_used(data, exponents, is_used):  # type: ignore[no-untyped-def]
    """Find the digits of a grid without gaps that are not zero in all values."""
    for row in range(len(data)):
        whole, place = _parts(data[row])
        if whole == 0:
            continue
        for number in range(len(exponents)):
            end = _end_of_digit(exponents, number)
            if not is_used[number]:
                is_used[number] = _has_bits(whole, place, exponents[number], end)
