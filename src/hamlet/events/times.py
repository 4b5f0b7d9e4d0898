"""Columns of times as integer microseconds since 1970, UTC.

A time is a timestamp of any unit (reckoned as if in UTC where it has no zone; finer than
microseconds is cut off), a date, a number of seconds, or ISO 8601 text. What is none of these, or
further than 146,000 years away, is a fault of its row.

Windows are given in what the times of events were in: see `times_of`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Faults = NDArray[np.uint8]

# What is wrong with the time of a row; 0 stands for nothing.
MISSING, NOT_A_TIME, OUT_OF_RANGE = 1, 2, 3
REASONS = {MISSING: "no time", NOT_A_TIME: "not a time", OUT_OF_RANGE: "time out of range"}

# What times are given in: a word, or the name of a zone.
Times = str
SECONDS, NAIVE, UTC = "seconds", "naive", "timestamps"

# Half of what 64 bits hold, so that the ends of windows are in range too.
FARTHEST_US = 2**62
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def is_time(column: pa.DataType) -> bool:
    """Whether a column of this type can be the time of events; text has to be read first."""
    if types.is_dictionary(column):
        column = column.value_type
    return is_number(column) or bool(
        types.is_timestamp(column) or types.is_date(column) or types.is_null(column)
    )


def is_number(column: pa.DataType) -> bool:
    """Whether times of this type are a number of seconds."""
    return bool(types.is_integer(column) or types.is_floating(column) or types.is_decimal(column))


def times_of(column: pa.DataType) -> Times:
    """What windows over events with times of a type are given in.

    Numbers give seconds, and times without a zone give times without a zone. Others are instants,
    in the zone that they came in.

    >>> times_of(pa.int32()), times_of(pa.timestamp("s")), times_of(pa.timestamp("us", "UTC"))
    ('seconds', 'naive', 'timestamps')
    >>> times_of(pa.date32()), times_of(pa.timestamp("ns", "Asia/Tokyo"))
    ('naive', 'Asia/Tokyo')
    """
    if is_number(column):
        return SECONDS
    if types.is_timestamp(column) and column.tz is not None:
        return UTC if column.tz == "UTC" else str(column.tz)
    return UTC if types.is_null(column) else NAIVE


def time_type(times: Times) -> pa.DataType:
    """The type of the columns in which windows are given."""
    if times == SECONDS:
        return pa.float64()
    if times == NAIVE:
        return pa.timestamp("us")
    return pa.timestamp("us", "UTC" if times == UTC else times)


def given_times(ts: Ints, times: Times) -> pa.Array:
    """Microseconds in what times are given in.

    >>> given_times(np.array([1_500_000]), "seconds").to_pylist()
    [1.5]
    """
    if times != SECONDS:
        return pa.array(ts).view(time_type(times))
    # Whole seconds and the rest apart, each of which a double can hold.
    whole = ts // 1_000_000
    return pa.array(whole.astype(np.float64) + (ts - whole * 1_000_000) / 1e6)


def microseconds(column: pa.ChunkedArray) -> tuple[Ints, Faults | None]:
    """Microseconds, and what is wrong with each row where anything is wrong with any."""
    kind = column.type
    if types.is_null(kind):
        return np.zeros(len(column), np.int64), np.full(len(column), MISSING, np.uint8)
    missing = _array(column.is_null()) if column.null_count else None
    if types.is_decimal(kind):
        ts, fault = _from_decimals(column)
    elif types.is_floating(kind):
        ts, fault = from_seconds(_array(column.cast(pa.float64()).fill_null(0.0)))
    elif types.is_date32(kind):
        ts, fault = _scaled(_whole(column.cast(pa.int32())), 86_400_000_000, 1)
    elif types.is_date64(kind):
        ts, fault = _scaled(_whole(column.cast(pa.int64())), 1_000, 1)
    elif types.is_timestamp(kind):
        per_second = _PER_SECOND[kind.unit]
        up, down = max(10**6 // per_second, 1), max(per_second // 10**6, 1)
        ts, fault = _scaled(_whole(column.cast(pa.int64())), up, down)
    else:
        ts, fault = _scaled(_whole(column), 10**6, 1)
    if missing is not None:
        fault = np.zeros(len(ts), np.uint8) if fault is None else fault
        fault[missing] = MISSING
    return ts, fault


def from_seconds(seconds: NDArray[np.float64]) -> tuple[Ints, Faults | None]:
    """Microseconds nearest to exact numbers of seconds, halves to the even one.

    A product of doubles is rounded, and where it falls on a half it may have come from either side:
    what the rounding took away decides.

    >>> from_seconds(np.array([0.0000005, 0.0000015, -1.5]))[0].tolist()
    [0, 2, -1500000]
    """
    fault = None
    inside = np.abs(seconds) <= FARTHEST_US / 10**6  # false for NaN
    if not inside.all():
        fault = np.where(np.isnan(seconds), MISSING, OUT_OF_RANGE).astype(np.uint8)
        fault[inside] = 0
        seconds = np.where(inside, seconds, 0.0)
    product = seconds * 1e6
    lost = _lost(seconds, product)
    nearest = np.rint(product)
    beside = product - nearest
    half = np.abs(beside) == 0.5
    nearest = np.where(half & (lost < 0), np.floor(product), nearest)
    nearest = np.where(half & (lost > 0), np.ceil(product), nearest)
    # Beyond 2**52 every double is whole, and what was lost may be whole microseconds.
    lost_whole = np.where(beside == 0, np.rint(lost), 0)
    return nearest.astype(np.int64) + lost_whole.astype(np.int64), fault


def _lost(seconds: NDArray[np.float64], product: NDArray[np.float64]) -> NDArray[np.float64]:
    """What rounding took from seconds * 1e6, exactly (Dekker's product)."""
    split = seconds * 134217729.0
    high = split - (split - seconds)
    low = seconds - high
    # 1e6 has 20 bits, so both products below are exact.
    return (high * 1e6 - product) + low * 1e6


def _scaled(whole: Ints, up: int, down: int) -> tuple[Ints, Faults | None]:
    """Integers times or through a power of ten."""
    if down > 1:
        return whole // down, None
    if up == 1:
        return _bounded(whole, whole, FARTHEST_US)
    return _bounded(whole * np.int64(up), whole, FARTHEST_US // up)


def _bounded(ts: Ints, whole: Ints, farthest: int) -> tuple[Ints, Faults | None]:
    if not len(whole) or (int(whole.max()) <= farthest and int(whole.min()) >= -farthest):
        return ts, None
    outside = (whole > farthest) | (whole < -farthest)
    return np.where(outside, 0, ts), outside.astype(np.uint8) * np.uint8(OUT_OF_RANGE)


def _from_decimals(column: pa.ChunkedArray) -> tuple[Ints, Faults | None]:
    if column.type.scale < 0:
        # Arrow does not compute with them. Those that are in range are doubles, too.
        return from_seconds(_array(column.cast(pa.float64()).fill_null(0.0)))
    column = column.cast(pa.decimal256(76, column.type.scale))
    farthest = pa.scalar(FARTHEST_US // 10**6, pa.decimal256(13, 0))
    inside = pc.less_equal(pc.abs(column), farthest).fill_null(True)
    near = pc.if_else(inside, column, pa.scalar(None, column.type))
    wide = near.cast(pa.decimal256(60, max(column.type.scale, 6)))
    rounded = pc.round(wide, ndigits=6, round_mode="half_to_even").cast(pa.decimal256(60, 6))
    scaled = pc.multiply(rounded, pa.scalar(10**6, pa.decimal256(7, 0)))
    ts = _array(scaled.cast(pa.decimal256(60, 0)).cast(pa.int64()).fill_null(0))
    outside = ~_array(inside)
    return ts, outside.astype(np.uint8) * np.uint8(OUT_OF_RANGE) if outside.any() else None


def _whole(column: pa.ChunkedArray) -> Ints:
    if types.is_uint64(column.type):
        column = pc.min_element_wise(column, pa.scalar(2**63 - 1, pa.uint64()), skip_nulls=False)
    filled = column.fill_null(0) if column.null_count else column
    return _array(filled).astype(np.int64, copy=False)


def _array(column: pa.ChunkedArray | pa.Array) -> NDArray[Any]:
    return column.to_numpy() if isinstance(column, pa.ChunkedArray) else column.to_numpy(False)  # type: ignore[no-any-return]
