"""Columns that come without a type: the texts of a CSV file, the values of Python rows.

What a column is follows from its use, where a query says it; otherwise it is numbers, times or
truth values where every one of its values is, and else text. A value that is not what the use of
its column asks for is a fault of its row, and of that row alone: the other rows stay, and the
column stays what it is. Where no value at all is what the use asks for, the column is left as it is
found, for the check of kinds to refuse.
"""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet.columns import kind_of
from hamlet.times import iso_timestamps, looks_like_iso

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.schema import Kind

    # A column, and which of its rows are faulty where any is.
    Typed = tuple[pa.Array, NDArray[np.bool_] | None]

_INTEGER = r"^[+-]?[0-9]+$"
_NUMBER = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_MISSING_NUMBERS = pa.array(["", "NA", "N/A", "na", "n/a", "NaN", "nan", "null", "NULL", "None"])
_TRUE, _FALSE = pa.array(["true", "1"]), pa.array(["false", "0"])


# Texts


def column_of_texts(texts: pa.Array, kind: Kind | None) -> Typed:
    """Texts as a column of the kind that their use asks for, or that they all have."""
    if kind == "text" or texts.null_count == len(texts):
        return texts, None
    if kind == "number":
        return _numbers_of_texts(texts)
    if kind == "boolean":
        return _booleans_of_texts(texts)
    for read in (_numbers_of_texts, _times_of_iso, _booleans_of_texts):
        column, faulty = read(texts)
        if faulty is None and column.type != texts.type and column.null_count == texts.null_count:
            return column, None
    return texts, None


def times_of_texts(texts: pa.Array) -> Typed:
    """Texts as times: ISO 8601 or numbers of seconds, whichever are more."""
    numbers, no_numbers = _numbers_of_texts(texts)
    stamps, no_stamps = _times_of_iso(texts)
    if stamps.type == texts.type:  # not a single one
        return numbers, no_numbers
    if numbers.type == texts.type:
        return stamps, no_stamps
    is_number = len(numbers) - numbers.null_count > len(stamps) - stamps.null_count
    return (numbers, no_numbers) if is_number else (stamps, no_stamps)


def _numbers_of_texts(texts: pa.Array) -> Typed:
    trimmed = pc.utf8_trim_whitespace(texts)
    missing = pc.is_in(trimmed, _MISSING_NUMBERS)
    known = pc.if_else(missing, pa.scalar(None, trimmed.type), trimmed)
    is_number = pc.match_substring_regex(known, _NUMBER)
    if not pc.any(is_number).as_py():
        return texts, None
    numbers = pc.if_else(is_number, known, pa.scalar(None, known.type))
    if pc.all(pc.match_substring_regex(numbers, _INTEGER)).as_py():
        column = _integers(pc.replace_substring_regex(numbers, r"^\+", ""))
    else:
        column = pc.cast(numbers, pa.float64())
    return column, _where(pc.invert(is_number))


def _integers(texts: pa.Array) -> pa.Array:
    """Texts of integers as 64-bit integers of either kind, or as doubles where none holds them."""
    for kind in (pa.int64(), pa.uint64(), pa.float64()):
        try:
            return pc.cast(texts, kind)
        except pa.ArrowInvalid:
            continue
    raise AssertionError(texts)  # a double holds them all


def _times_of_iso(texts: pa.Array) -> Typed:
    trimmed = pc.utf8_trim_whitespace(texts)
    if not pc.any(looks_like_iso(trimmed)).as_py():
        return texts, None
    stamps = iso_timestamps(trimmed)
    empty = pc.equal(trimmed, "")
    return stamps, _where(pc.and_not(pc.and_(pc.is_null(stamps), pc.is_valid(texts)), empty))


def _booleans_of_texts(texts: pa.Array) -> Typed:
    lower = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
    is_true, is_false = pc.is_in(lower, _TRUE), pc.is_in(lower, _FALSE)
    known = pc.or_(is_true, is_false)
    if not pc.any(known).as_py():
        return texts, None
    faulty = pc.and_not(pc.and_(pc.is_valid(texts), pc.not_equal(lower, "")), known)
    return pc.if_else(known, is_true, pa.scalar(None, pa.bool_())), _where(faulty)


def _where(faulty: pa.Array) -> NDArray[np.bool_] | None:
    found = faulty.fill_null(False).to_numpy(zero_copy_only=False)
    return found if found.any() else None


# Python values


def column_of_values(values: list[Any], kind: Kind | None) -> Typed:
    """Python values as a column of the kind that their use asks for, or that they all have.

    >>> column_of_values([3, None, "x"], "number")[1].tolist()
    [False, False, True]
    """
    try:
        column = pa.array(values, from_pandas=True)
        if pa.types.is_null(column.type) or kind_of(column.type) in ({kind} if kind else _KINDS):
            return column, None
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        pass
    kinds = [kind_of_value(value) for value in values]
    found = {each for each in kinds if each != "null"}
    if kind is not None and kind not in found:
        return column_of_values(values, None)
    if kind is None and (len(found) != 1 or "other" in found):
        return _as_text(values), None
    kind = kind or found.pop()  # type: ignore[assignment]
    kept = [v if k == kind else None for v, k in zip(values, kinds, strict=True)]
    column = _MAKERS[str(kind)](kept)
    given = np.array([each != "null" for each in kinds], np.bool_)
    faulty = given & ~column.is_valid().to_numpy(zero_copy_only=False)
    return column, faulty if faulty.any() else None


def times_of_values(values: list[Any]) -> Typed:
    """Python values as times: timestamps and ISO text, or numbers, whichever are more."""
    kinds = [kind_of_value(value) for value in values]
    if kinds.count("number") > kinds.count("time") + kinds.count("text"):
        return column_of_values(values, "number")
    stamps, faulty = column_of_values(values, "time")
    words = [v if k == "text" else None for v, k in zip(values, kinds, strict=True)]
    texts = pa.array(words, pa.string())
    if texts.null_count < len(texts):
        read, _ = _times_of_iso(texts)
        if read.type == texts.type:
            return stamps, faulty
        known = stamps if kind_of(stamps.type) == "time" else pa.nulls(len(texts), read.type)
        both = known.type if known.type.tz else read.type
        stamps = pc.coalesce(known.cast(both), read.cast(both))
        given = np.array([each != "null" for each in kinds], np.bool_)
        faulty = given & ~stamps.is_valid().to_numpy(zero_copy_only=False)
    return stamps, faulty if faulty is not None and faulty.any() else None


_KINDS = {"number", "text", "boolean", "time"}


def kind_of_value(value: Any) -> str:
    """Of which kind a Python value is; "null" for NaN too, "other" for what queries cannot use."""
    if value is None or value != value:
        return "null"
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, int | float | Decimal | np.integer | np.floating):
        return "number"
    if isinstance(value, str):
        return "text"
    return "time" if isinstance(value, date | np.datetime64) else "other"


def _as_text(values: list[Any]) -> pa.Array:
    """Values of several kinds, all as text."""
    known = [None if kind_of_value(value) == "null" else value for value in values]
    return pa.array(
        [v if v is None or isinstance(v, str) else json.dumps(v, default=str) for v in known],
        pa.string(),
    )


def _numbers(values: list[Any]) -> pa.Array:
    """Integers where all are; those beyond 64 bits are left out."""
    numbers = [value for value in values if value is not None]
    if any(not isinstance(number, int | np.integer) for number in numbers):
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    unsigned = min(numbers) >= 0 and max(numbers) >= 2**63
    low, high = (0, 2**64) if unsigned else (-(2**63), 2**63)
    fitting = [v if v is not None and low <= v < high else None for v in values]
    return pa.array(fitting, pa.uint64() if unsigned else pa.int64())


def _times(values: list[Any]) -> pa.Array:
    """Timestamps, in UTC where any has a zone; a date is its midnight."""
    utc = pa.timestamp("us", "UTC")
    aware = [v if isinstance(v, datetime) and v.tzinfo is not None else None for v in values]
    naive = [v if a is None else None for v, a in zip(values, aware, strict=True)]
    without = pa.array(naive, pa.timestamp("us"))
    zoned = pa.array(aware, utc)
    return pc.coalesce(zoned, without.cast(utc)) if zoned.null_count < len(zoned) else without


_MAKERS = {
    "number": _numbers,
    "text": lambda values: pa.array(values, pa.string()),
    "boolean": lambda values: pa.array(values, pa.bool_()),
    "time": _times,
}
