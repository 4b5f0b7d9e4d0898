"""Functions of one event over whole columns; the same answers as their scalar meanings.

Text is looked at word by word, and zones day by day, so the cost of either is by distinct values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hamlet.errors import SchemaError
from hamlet.events.columns import EXACT, LARGEST, Values, distinct_words, joint_words, nothing
from hamlet.plan.local_times import DAY_US, HOUR_US, offset_us
from hamlet.plan.predicates import OF_TEXT, like_pattern

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

_MINUTE_US = 60_000_000


def like(values: Values, pattern: str) -> Values:
    """Whether text has a form."""
    if values.kind is None or values.words is None or not len(values.words):
        return nothing(len(values))
    form = like_pattern(pattern)
    fits = np.array([form.fullmatch(word) is not None for word in values.words.to_pylist()])
    return Values("boolean", fits.take(values.data), values.valid)


def function(name: str, operands: list[Values]) -> Values:
    """What a function makes of columns; the zone of a time is a column of one word."""
    first = operands[0]
    if name == "coalesce":
        return _coalesce(operands)
    if first.kind is None:
        return nothing(len(first))
    if name in OF_TEXT:
        return _spelt(first, OF_TEXT[name])
    if name == "abs":
        return Values(first.kind, _absolute(first.data), first.valid)
    if name == "round":
        return Values("number", _rounded(first.data), first.valid)
    zone = "UTC" if len(operands) == 1 else operands[1].words[0].as_py()  # type: ignore[index]
    data = _CALENDAR[name](local(first, zone))
    return Values("time" if name == "date" else "number", data, first.valid)


def _absolute(data: NDArray[Any]) -> NDArray[Any]:
    if data.dtype == np.int64 and len(data) and int(data.min()) < -LARGEST:
        data = data.astype(object)
    sizes: NDArray[Any] = np.abs(data)
    return sizes


def _rounded(data: NDArray[Any]) -> NDArray[Any]:
    """The nearest whole number, halves away from zero."""
    if data.dtype != np.float64:
        return data
    whole = np.trunc(data)
    rest = np.where(np.isfinite(data), data - whole, 0.0)
    away: NDArray[Any] = np.where(np.abs(rest) >= 0.5, whole + np.copysign(1.0, data), whole)
    return away


def _spelt(values: Values, change: Callable[[str], str]) -> Values:
    words = pa.array([change(word) for word in values.words.to_pylist()], pa.large_string())  # type: ignore[union-attr]
    return distinct_words(values.data, values.valid, words)


# The first value that is there


def _coalesce(operands: list[Values]) -> Values:
    known = [each for each in operands if each.kind is not None]
    if not known:
        return nothing(len(operands[0]))
    words = None
    columns = [each.data for each in known]
    if known[0].kind == "text":
        known = [each for each in known if len(each.words)] or known[:1]  # type: ignore[arg-type]
        codes, words = joint_words(known)
        columns = [ranks[each.data] for ranks, each in zip(codes, known, strict=True)]
        words = _in_order(words)
    elif len({column.dtype.kind for column in columns}) > 1:
        columns = [_as_doubles(each) for each in known]
    data, valid = columns[-1].copy(), known[-1].valid
    for column, each in zip(columns[-2::-1], known[-2::-1], strict=True):
        if each.valid is None:
            data, valid = column.copy(), None
            continue
        data = np.where(each.valid, column, data)
        valid = None if valid is None else each.valid | valid
    return Values(known[0].kind, data.astype(np.int32) if words is not None else data, valid, words)


def _in_order(words: pa.Array) -> pa.Array:
    return pa.array(sorted(words.to_pylist()), pa.large_string())


def _as_doubles(values: Values) -> NDArray[np.float64]:
    data = values.data
    if data.dtype != np.float64 and len(data) and int(np.abs(data.astype(object)).max()) > EXACT:
        reason = "COALESCE has integers beyond 2**53 and fractional numbers"
        raise SchemaError("events", f"{reason}; give it numbers of one kind")
    return data.astype(np.float64)


# Calendars


def local(values: Values, zone: str) -> Ints:
    """What the clocks of a zone show at each time."""
    ts: Ints = np.zeros(len(values), np.int64) if not len(values) else values.data
    if values.valid is not None:
        ts = np.where(values.valid, ts, 0)
    return ts if zone == "UTC" else ts + _offsets(ts, zone)


def _offsets(ts: Ints, zone: str) -> Ints:
    """How far clocks are ahead of UTC; rules are asked twice for each day that there is."""
    days, which = np.unique(ts // DAY_US, return_inverse=True)
    first = np.array([offset_us(int(day) * DAY_US, zone) for day in days], np.int64)
    last = np.array([offset_us(int(day + 1) * DAY_US - 1, zone) for day in days], np.int64)
    offsets: Ints = first[which]
    for place in np.flatnonzero(first != last):
        change = _change(int(days[place]) * DAY_US, zone)
        offsets[(which == place) & (ts >= change)] = last[place]
    return offsets


def _change(start: int, zone: str) -> int:
    """When the clocks of a zone are changed on a day."""
    low, high = start, start + DAY_US - 1
    before = offset_us(low, zone)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if offset_us(middle, zone) == before else (low, middle)
    return high


_CALENDAR: dict[str, Callable[[Ints], Ints]] = {
    "hour": lambda ts: ts % DAY_US // HOUR_US,
    "minute": lambda ts: ts % HOUR_US // _MINUTE_US,
    "weekday": lambda ts: (ts // DAY_US + 3) % 7 + 1,
    "date": lambda ts: ts // DAY_US * DAY_US,
}
