"""Columns to result rows: groups added up, AND, AVG, and numbers of any size as doubles and digits.

A kernel emits a record for each partition, unit and window. Here the partitions of a group are
added up, the three units of P AND Q become one, and components become the aggregates that were
asked for. All of it runs on whole columns: `Integers` in exact mode, `Wides` in float mode. Work is
O(records log records); Python looks at single records only where numbers do not fit 64 bits, or
where two doubles cannot tell which way an average rounds.

AND, with P, Q and B the numbers of trends matched by P, by Q, and by both:

    pairs       P*Q - B*(B+1)/2
    sums        S_P*Q + S_Q*P - S_B*(B+1)        S_P: the sum over the trends that P matches, ...

These equal the formulas of the specification with C1 = P - B and C2 = Q - B, but subtract only once
and never cancel: B <= P and B <= Q, so at B >= 2 the products on the left are at least 4/3 of what
is taken away (at B = 1 there is no pair, or they are at least 3/2 of it), and relative errors in
what a kernel gave grow by a factor of 14 at most. For sums of both signs the same holds of errors
against the sum of absolute values. So float mode needs nothing special for AND.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from hamlet.errors import InternalError
from hamlet.kernel.base import components_of
from hamlet.plan.program import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from hamlet.kernel.base import Emission
    from hamlet.plan.program import Program
    from hamlet.plan.query import Aggregate, Query
    from hamlet.plan.workload import WorkloadPlan

    Doubles = NDArray[np.float64]
    Longs = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Column = Any  # Integers or, in float mode, Wides; all of one emission are of one kind

_MOST = 2**63 - 1
_LOG10_2 = math.log10(2)
_NO_EXPONENT = -(1 << 60)  # of zero: below every other, and two of them still add up in 64 bits
TEXT = pa.large_string()  # 64-bit offsets: the digits of a large result pass 2 GiB


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of one query.

    of_partition: group number of each partition number.
    json: JSON text of each group.
    values: for each grouping attribute, an Arrow array with the value of each group.
    """

    of_partition: NDArray[np.int32]
    json: Sequence[str]
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of one query, given by its number in the workload: one for each window and group.

    `rows` is an Arrow table in any order: `window_start` in microseconds, `group` as JSON text,
    `key.i` for each grouping attribute, and `value.i`, `log10.i`, `exact.i` for each aggregate.
    """

    query: int
    rows: Any


def finish(
    plan: WorkloadPlan,
    program: Program,
    emission: Emission,
    *,
    digits: Mapping[str, tuple[int, ...]],
    is_integer: Mapping[str, bool],
    groups: Sequence[Groups],
) -> tuple[Answer, ...]:
    """What a kernel emitted for one sharable set, as rows: an answer for each query of the set.

    Args:
        plan: The workload.
        program: The program of the set.
        emission: What its kernel gave back; exact where it has no exponents.
        digits: For each attribute of SUM and AVG the exponents of its digits.
        is_integer: Whether sums of an attribute are whole, and so have exact digits.
        groups: The groups of each query of the set, in the order of `program.queries`.
    """
    records = _Records(emission)
    answers = []
    for local, number in enumerate(program.queries):
        query = plan.queries[number].query
        units = {
            Role(int(program.template_role[unit])): unit
            for unit in np.flatnonzero(program.template_query == local).tolist()
            if program.template_role[unit] != Role.GUARD
        }
        totals = _query_totals(query, records, units, groups[local], digits)
        cells = list(_cells(query, totals, digits, is_integer))
        answers.append(Answer(number, _rows(query, totals, groups[local], cells)))
    return tuple(answers)


# Records to totals


class _Records:
    """The records of an emission, by unit."""

    def __init__(self, emission: Emission) -> None:
        self.emission = emission
        self._order = np.argsort(emission.unit, kind="stable")
        self._units = emission.unit[self._order]

    def of(self, unit: int) -> NDArray[np.intp]:
        """The numbers of the records of a unit."""
        low, high = np.searchsorted(self._units, [unit, unit + 1])
        return self._order[low:high]

    def columns(self, chosen: NDArray[np.intp], width: int) -> list[Column]:
        """The first components of some records."""
        parts = _columns(self.emission.components, chosen, width)
        if self.emission.exponents is None:
            return [Integers(part) for part in parts]
        exponents = _columns(self.emission.exponents, chosen, width)
        return [Wides.of(m, e) for m, e in zip(parts, exponents, strict=True)]


def _columns(array: NDArray[Any], chosen: NDArray[np.intp], width: int) -> list[NDArray[Any]]:
    """The first columns of some rows; of no rows any number, since an array may lack them then."""
    if not len(chosen):
        return [array[:0].reshape(-1)] * width
    return [array[chosen, column] for column in range(width)]


@dataclass(frozen=True, slots=True)
class _Totals:
    """One row for each window and group with a trend; component 0 is the number of trends."""

    window: Longs
    group: Longs
    components: list[Column]
    extremes: list[Doubles]

    def where(self, chosen: Bools | NDArray[np.intp]) -> _Totals:
        return _Totals(
            self.window[chosen],
            self.group[chosen],
            [each.take(chosen) for each in self.components],
            [each[chosen] for each in self.extremes],
        )


def _query_totals(
    query: Query,
    records: _Records,
    units: dict[Role, int],
    groups: Groups,
    digits: Mapping[str, tuple[int, ...]],
) -> _Totals:
    width = 1 + len(components_of(_functions(query), dict(digits)))
    sides = {
        role: _unit_totals(query, records, unit, groups, width) for role, unit in units.items()
    }
    if not query.is_conjunction:
        totals = sides[Role.PATTERN]
    else:
        totals = _pairs(query, sides[Role.PATTERN], sides[Role.SECOND], sides[Role.BOTH])
    return totals.where(totals.components[0].is_some())


def _unit_totals(query: Query, records: _Records, unit: int, groups: Groups, width: int) -> _Totals:
    """The records of one unit, those of one window and group added up."""
    emission = records.emission
    chosen = records.of(unit)
    window = emission.window[chosen]
    group = groups.of_partition[emission.part[chosen]].astype(np.int64)
    order = np.lexsort((group, window))
    chosen, window, group = chosen[order], window[order], group[order]
    is_first = np.ones(len(chosen), dtype=np.bool_)
    is_first[1:] = (window[1:] != window[:-1]) | (group[1:] != group[:-1])
    starts = np.flatnonzero(is_first)
    picks = _picks(query)
    extremes = _columns(emission.extremes, chosen, len(picks))
    return _Totals(
        window[starts],
        group[starts],
        [column.added_up(starts) for column in records.columns(chosen, width)],
        [_extreme(*each, starts) for each in zip(picks, extremes, strict=True)],
    )


def _extreme(pick: np.ufunc, values: Doubles, starts: NDArray[np.intp]) -> Doubles:
    if len(starts) == len(values):
        return values
    found: Doubles = pick.reduceat(values, starts)
    return found


def _picks(query: Query) -> list[np.ufunc]:
    """Which of two each MIN and MAX of a query keeps; NaN, which stands for none, only of two."""
    known = {"MIN": np.fmin, "MAX": np.fmax}
    return [known[a.function] for a in query.aggregates if a.function in known]


def _functions(query: Query) -> list[tuple[str, str | None]]:
    return [
        ("COUNT_OF" if each.function == "COUNT" and each.places else each.function, each.attribute)
        for each in query.aggregates
    ]


# AND


def _pairs(query: Query, one: _Totals, other: _Totals, both: _Totals) -> _Totals:
    """Totals over pairs of different trends, one matched by each side; see the top of the file."""
    in_one, in_other, in_both = _aligned(one, other, both)
    one, other = one.where(in_one), other.where(in_other)
    shared = [column.take_or_zero(in_both) for column in both.components]
    (p, *sums_p), (q, *sums_q), (b, *sums_b) = one.components, other.components, shared
    b_and_one = b + b.constant(1)
    pairs = p * q - (b * b_and_one).half()
    sums = [
        s_p * q + s_q * p - s_b * b_and_one
        for s_p, s_q, s_b in zip(sums_p, sums_q, sums_b, strict=True)
    ]
    # Where there is a pair at all, every trend of either side is in one.
    extremes = [
        pick(x, y) for pick, x, y in zip(_picks(query), one.extremes, other.extremes, strict=True)
    ]
    return _Totals(one.window, one.group, [pairs, *sums], extremes)


def _aligned(
    one: _Totals, other: _Totals, both: _Totals
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """The rows of each window and group that both sides have; -1 where `both` has none."""
    window = np.concatenate([one.window, other.window, both.window])
    group = np.concatenate([one.group, other.group, both.group])
    _, rank = np.unique(window, return_inverse=True)
    key = rank * (int(group.max(initial=0)) + 1) + group  # ranks and groups have 31 bits each
    first, second = len(one.window), len(one.window) + len(other.window)
    common, in_one, in_other = np.intersect1d(
        key[:first], key[first:second], assume_unique=True, return_indices=True
    )
    of_both = key[second:]
    place = np.searchsorted(of_both, common)
    is_there = np.append(of_both, -1)[place] == common
    return in_one, in_other, np.where(is_there, place, -1)


# Totals to cells


@dataclass(frozen=True, slots=True)
class _Cells:
    """One aggregate of every row: NaN stands for null in value and log10."""

    value: Doubles
    log10: Doubles
    exact: Any = None

    def only(self, is_known: Bools) -> _Cells:
        """Null in all other rows."""
        if is_known.all():
            return self
        exact = self.exact
        if exact is not None:
            exact = pc.if_else(pa.array(is_known), exact, pa.scalar(None, TEXT))
        return _Cells(
            np.where(is_known, self.value, np.nan), np.where(is_known, self.log10, np.nan), exact
        )


def _cells(
    query: Query,
    totals: _Totals,
    digits: Mapping[str, tuple[int, ...]],
    is_integer: Mapping[str, bool],
) -> Iterator[_Cells]:
    """The cells of each aggregate of a query."""
    layout = components_of(_functions(query), dict(digits))
    extremes = iter(totals.extremes)
    for number, aggregate in enumerate(query.aggregates):
        mine = [
            (totals.components[1 + place], component.weight.exponent)
            for place, component in enumerate(layout)
            if component.aggregate == number
        ]
        if aggregate.function in ("MIN", "MAX"):
            found = next(extremes)
            yield _Cells(found, _log10(found))
        elif aggregate.function == "COUNT":
            yield _whole(mine[0][0] if mine else totals.components[0])
        else:
            (present, _), *parts = mine
            is_whole = is_integer.get(str(aggregate.attribute), False)
            yield _of_attribute(aggregate, present, parts, is_whole).only(present.is_some())


def _whole(number: Column) -> _Cells:
    return _Cells(number.value(), number.log10(), number.text())


def _of_attribute(
    aggregate: Aggregate, present: Column, parts: list[tuple[Column, int]], is_whole: bool
) -> _Cells:
    """SUM or AVG from the number of occurrences and the sums of digits with their exponents."""
    is_average = aggregate.function == "AVG"
    if isinstance(present, Wides):
        total = present.constant(0)
        for part, exponent in parts:
            total = total + part.shifted(exponent)
        result = total.over(present) if is_average else total
        return _Cells(result.value(), result.log10())
    if is_whole and not is_average:
        return _whole(_recombined(parts))
    return _quotient(parts, present if is_average else present.constant(1))


def _recombined(parts: list[tuple[Integers, int]]) -> Integers:
    """The integer that digits stand for."""
    if parts[0][1] == 0 and len(parts) == 1:
        return parts[0][0]
    if min(exponent for _, exponent in parts) < 0:
        raise InternalError("a digit of an integer attribute has a negative exponent")
    total = parts[0][0].constant(0)
    for part, exponent in parts:
        total = total + part * part.constant(1 << exponent)
    return total


def _rows(query: Query, totals: _Totals, groups: Groups, cells: list[_Cells]) -> Any:
    """The table of an answer."""
    group = pa.array(totals.group)
    columns = {
        "window_start": pa.array(totals.window * query.window.slide_us),
        "group": pa.array(groups.json, TEXT).take(group),
    }
    for number, attribute in enumerate(query.group_by):
        values = groups.values[attribute]
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        columns[f"key.{number}"] = values.take(group)
    for number, each in enumerate(cells):
        columns[f"value.{number}"] = pa.array(each.value, pa.float64(), from_pandas=True)
        columns[f"log10.{number}"] = pa.array(each.log10, pa.float64(), from_pandas=True)
        exact = pa.nulls(len(totals.window), TEXT) if each.exact is None else each.exact
        columns[f"exact.{number}"] = exact
    return pa.table(columns)


# Whole numbers of any length


@dataclass(frozen=True, slots=True, eq=False)
class Integers:
    """A column of integers: int64 while that is proved to be enough, Python's own otherwise."""

    values: NDArray[Any]  # int64 or object

    @property
    def is_small(self) -> bool:
        """Whether all are int64."""
        return self.values.dtype != np.object_

    def constant(self, value: int) -> Integers:
        """One number, which goes with columns of any length."""
        return Integers(np.array([value], np.int64 if abs(value) <= _MOST else np.object_))

    def take(self, chosen: Bools | NDArray[np.intp]) -> Integers:
        """Some of the rows."""
        return Integers(self.values[chosen])

    def take_or_zero(self, chosen: NDArray[np.intp]) -> Integers:
        """Some of the rows; 0 for row number -1."""
        return Integers(np.append(self.values, self.constant(0).values)[chosen])

    def added_up(self, starts: NDArray[np.intp]) -> Integers:
        """The sums of consecutive rows, from each start to the next."""
        if len(starts) == len(self.values):
            return self
        values = self.values
        # Doubles are within a factor of 2 of the true sums of absolute values, at any length.
        if self.is_small:
            reach = np.add.reduceat(np.abs(values.astype(np.float64)), starts).max()
            values = values if reach < 2.0**62 else values.astype(np.object_)
        return Integers(np.add.reduceat(values, starts))

    def __add__(self, other: Integers) -> Integers:
        one, two = self._operands(other, lambda a, b: a + b)
        return Integers(one + two)

    def __sub__(self, other: Integers) -> Integers:
        one, two = self._operands(other, lambda a, b: a + b)
        return Integers(one - two)

    def __mul__(self, other: Integers) -> Integers:
        one, two = self._operands(other, lambda a, b: a * b)
        return Integers(one * two)

    def _operands(self, other: Integers, reach: Callable[[int, int], int]) -> tuple[Any, Any]:
        """The two columns, as int64 only if no result can pass it."""
        if self.is_small and other.is_small and reach(self._largest(), other._largest()) <= _MOST:
            return self.values, other.values
        return self.values.astype(np.object_), other.values.astype(np.object_)

    def _largest(self) -> int:
        if not len(self.values):
            return 0
        return max(abs(int(self.values.min())), abs(int(self.values.max())))

    def half(self) -> Integers:
        """Half of numbers that are even."""
        return Integers(self.values // 2)

    def is_some(self) -> Bools:
        """Where a count is not zero."""
        return np.asarray(self.values > 0, dtype=np.bool_)

    def value(self) -> Doubles:
        """The nearest doubles; infinite beyond their range."""
        if self.is_small:
            return self.values.astype(np.float64)
        return _doubles(_ratio(value, 1) for value in self.values)

    def log10(self) -> Doubles:
        """Logarithms of positive numbers, NaN for others."""
        if self.is_small:
            return _log10(self.values.astype(np.float64))
        return _doubles(math.log10(value) if value > 0 else math.nan for value in self.values)

    def text(self) -> Any:
        """Decimal digits, as an Arrow array."""
        if self.is_small:
            return pa.array(self.values).cast(TEXT)
        return pa.array([digits_of(value) for value in self.values], TEXT)


def digits_of(number: int) -> str:
    """The decimal digits of an integer of any length, whatever limit Python has for them.

    >>> digits_of(-(10**40)) == "-1" + "0" * 40, len(digits_of(2**100_000))
    (True, 30103)
    """
    if number.bit_length() <= 2000:  # 603 digits; Python's limit is at least 640
        return str(number)
    gmpy2 = _gmpy2()
    if gmpy2 is not None:
        return str(gmpy2.mpz(number).digits())
    return ("-" if number < 0 else "") + _decimal_digits(abs(number))


@cache
def _gmpy2() -> Any:
    try:
        return import_module("gmpy2")
    except ImportError:
        return None


def _decimal_digits(number: int) -> str:
    """Digits by halving: decimal's multiplication is fast at any length, its conversion is not."""
    powers: dict[int, decimal.Decimal] = {}

    def power(bits: int) -> decimal.Decimal:
        if bits not in powers:
            low = bits // 2
            is_short = bits <= 1000
            powers[bits] = (
                decimal.Decimal(1 << bits) if is_short else power(low) * power(bits - low)
            )
        return powers[bits]

    def convert(value: int, bits: int) -> decimal.Decimal:
        if bits <= 1000:
            return decimal.Decimal(value)
        low = bits // 2
        high_part, low_part = value >> low, value & ((1 << low) - 1)
        return convert(high_part, bits - low) * power(low) + convert(low_part, low)

    with decimal.localcontext() as context:
        context.prec = decimal.MAX_PREC
        context.Emax, context.Emin = decimal.MAX_EMAX, decimal.MIN_EMIN
        context.traps[decimal.Inexact] = True
        return str(convert(number, number.bit_length()))


# Sums and averages of digits


def _quotient(parts: list[tuple[Integers, int]], over: Integers) -> _Cells:
    """Sums of digit * 2**exponent, divided by positive integers, as correctly rounded doubles."""
    # In this range nothing below over- or underflows, error terms included.
    is_moderate = all(-800 <= exponent <= 800 for _, exponent in parts)
    if not is_moderate or not over.is_small or not all(part.is_small for part, _ in parts):
        return _slow_quotient(parts, over)
    high, low = _sum_exactly([(part.values, exponent) for part, exponent in parts])
    divisor = np.broadcast_to(over.values, high.shape)
    value, is_sure = _divide(high, low, divisor.astype(np.float64))
    is_sure &= divisor <= 2**53
    if not is_sure.all():
        unsure = np.flatnonzero(~is_sure)
        some = [(part.take(unsure), exponent) for part, exponent in parts]
        value[unsure] = _slow_quotient(some, Integers(divisor[unsure])).value
    return _Cells(value, _log10(value))


def _slow_quotient(parts: list[tuple[Integers, int]], over: Integers) -> _Cells:
    """The same with Python's integers, whose division rounds correctly at any length."""
    base = min(exponent for _, exponent in parts)
    total = _recombined([(part, exponent - base) for part, exponent in parts])
    size = len(total.values)
    up, down = 1 << max(base, 0), 1 << max(-base, 0)
    fractions = [
        (int(number) * up, int(divisor) * down)
        for number, divisor in zip(total.values, np.broadcast_to(over.values, size), strict=True)
    ]
    value = _doubles(_ratio(*fraction) if fraction[1] else math.nan for fraction in fractions)
    return _Cells(value, _doubles(_ratio_log10(*fraction) for fraction in fractions))


def _ratio(number: int, divisor: int) -> float:
    """The nearest double; infinite beyond its range."""
    try:
        return number / divisor
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _ratio_log10(number: int, divisor: int) -> float:
    if number <= 0 or divisor == 0:
        return math.nan
    near = _ratio(number, divisor)
    if 1e-300 < near < math.inf:
        return math.log10(near)
    return math.log10(number) - math.log10(divisor)


def _sum_exactly(parts: list[tuple[Any, int]]) -> tuple[Doubles, Doubles]:
    """Sums of digit * 2**exponent: the nearest doubles, and what is left to about 106 bits.

    Halves of the digits are added to an expansion without error (Shewchuk, "Adaptive Precision
    Floating-Point Arithmetic", grow-expansion), which is then read from the top.
    """
    partials: list[Doubles] = []
    for values, exponent in parts:
        low = values & 0xFFFF_FFFF
        for half in (values - low, low):
            rest = np.ldexp(half.astype(np.float64), exponent)
            for i, partial in enumerate(partials):
                rest, partials[i] = _two_sum(rest, partial)
            partials.append(rest)
    high = partials[-1]
    low_part, tail = np.zeros_like(high), np.zeros_like(high)
    for partial in reversed(partials[:-1]):
        is_settled = low_part != 0
        total, error = _two_sum(high, partial)
        tail = np.where(is_settled, tail + partial, tail)
        high = np.where(is_settled, high, total)
        low_part = np.where(is_settled, low_part, error)
    # Halfway between two doubles as far as `low_part` knows: the tail decides.
    twice = low_part * 2
    is_halfway = ((high + twice) - high == twice) & (low_part * np.sign(tail) > 0)
    high = np.where(is_halfway, high + twice, high)
    return high, np.where(is_halfway, -low_part, low_part) + tail


def _divide(high: Doubles, low: Doubles, divisor: Doubles) -> tuple[Doubles, Bools]:
    """(high + low) / divisor, and where it is sure to be rounded correctly.

    The quotient and its correction are within 2**-103 of the truth, so that adding a little more
    or less than that to the correction may not change the result. NaN where the divisor is 0.
    """
    is_zero = divisor == 0
    divisor = np.where(is_zero, 1.0, divisor)
    quotient = high / divisor
    product, error = _two_product(quotient, divisor)
    correction = (((high - product) - error) + low) / divisor
    margin = np.abs(quotient) * 2.0**-100
    value, more = quotient + (correction - margin), quotient + (correction + margin)
    return np.where(is_zero, np.nan, value), (value == more) | is_zero


def _two_sum(a: Doubles, b: Doubles) -> tuple[Doubles, Doubles]:
    """A sum and its rounding error (Knuth)."""
    total = a + b
    kept = total - a
    return total, (a - (total - kept)) + (b - kept)


def _two_product(a: Doubles, b: Doubles) -> tuple[Doubles, Doubles]:
    """A product and its rounding error (Dekker)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _halves(a: Doubles) -> tuple[Doubles, Doubles]:
    scaled = a * 134217729.0  # 2**27 + 1
    high = scaled - (scaled - a)
    return high, a - high


def _log10(values: Doubles) -> Doubles:
    """Logarithms of positive numbers, NaN for others."""
    return np.log10(values, out=np.full(len(values), np.nan), where=values > 0)


def _doubles(values: Iterator[float]) -> Doubles:
    return np.fromiter(values, dtype=np.float64)


# Doubles with exponents of any size


@dataclass(frozen=True, slots=True, eq=False)
class Wides:
    """A column of numbers mantissa * 2**exponent, mantissas in [0.5, 1) or (-1, -0.5] or 0."""

    mantissa: Doubles
    exponent: Longs

    @staticmethod
    def of(mantissa: Doubles, exponents: Doubles) -> Wides:
        """From numbers mantissa * 2**(512 * exponent), as kernels have them."""
        return _normal(mantissa, np.where(mantissa == 0, 0, exponents).astype(np.int64) * 512)

    def constant(self, value: int) -> Wides:
        """One number, which goes with columns of any length."""
        return _normal(np.array([value], np.float64), np.zeros(1, np.int64))

    def take(self, chosen: Bools | NDArray[np.intp]) -> Wides:
        """Some of the rows."""
        return Wides(self.mantissa[chosen], self.exponent[chosen])

    def take_or_zero(self, chosen: NDArray[np.intp]) -> Wides:
        """Some of the rows; 0 for row number -1."""
        return Wides(
            np.append(self.mantissa, 0.0)[chosen], np.append(self.exponent, _NO_EXPONENT)[chosen]
        )

    def added_up(self, starts: NDArray[np.intp]) -> Wides:
        """The sums of consecutive rows, from each start to the next."""
        if len(starts) == len(self.mantissa):
            return self
        exponent = np.maximum.reduceat(self.exponent, starts)
        lengths = np.diff(starts, append=len(self.mantissa))
        aligned = _aligned_to(self, np.repeat(exponent, lengths))
        return _normal(np.add.reduceat(aligned, starts), exponent)

    def __add__(self, other: Wides) -> Wides:
        exponent = np.maximum(self.exponent, other.exponent)
        return _normal(_aligned_to(self, exponent) + _aligned_to(other, exponent), exponent)

    def __sub__(self, other: Wides) -> Wides:
        return self + Wides(-other.mantissa, other.exponent)

    def __mul__(self, other: Wides) -> Wides:
        return _normal(self.mantissa * other.mantissa, self.exponent + other.exponent)

    def over(self, other: Wides) -> Wides:
        """The quotient; 0 where the divisor is 0."""
        is_zero = other.mantissa == 0
        mantissa = self.mantissa / np.where(is_zero, 1.0, other.mantissa)
        return _normal(np.where(is_zero, 0.0, mantissa), self.exponent - other.exponent)

    def shifted(self, exponent: int) -> Wides:
        """Times a power of two."""
        return _normal(self.mantissa, self.exponent + exponent)

    def half(self) -> Wides:
        """Half of each number."""
        return self.shifted(-1)

    def is_some(self) -> Bools:
        """Where a count, which would be whole but for rounding, is not zero."""
        return self.value() > 0.5

    def value(self) -> Doubles:
        """The nearest doubles; infinite beyond their range."""
        with np.errstate(over="ignore"):
            return np.ldexp(self.mantissa, np.clip(self.exponent, -3000, 3000).astype(np.int32))

    def log10(self) -> Doubles:
        """Logarithms of positive numbers at any magnitude, NaN for others."""
        far = _log10(self.mantissa) + self.exponent * _LOG10_2
        return np.where(np.abs(self.exponent) <= 1000, _log10(self.value()), far)

    def text(self) -> None:
        """No digits: these numbers are not exact."""


def _normal(mantissa: Doubles, exponent: Longs) -> Wides:
    fraction, shift = np.frexp(mantissa)
    return Wides(fraction, np.where(fraction == 0, _NO_EXPONENT, exponent + shift))


def _aligned_to(number: Wides, exponent: Longs) -> Doubles:
    """Mantissas for greater exponents; what is too small to matter becomes 0."""
    shift = np.maximum(number.exponent - exponent, -3000).astype(np.int32)
    aligned: Doubles = np.ldexp(number.mantissa, shift)
    return aligned
