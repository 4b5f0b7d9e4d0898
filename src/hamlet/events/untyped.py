"""Columns of Python values, each of which has a type of its own.

What a column is follows from its use, where a query says it; otherwise it is numbers, times or
truth values where every one of its values is, and else text. A value that is not what the use of
its column asks for is a fault of its row, and of that row alone: the other rows stay, and the
column stays what it is. Where no value at all is what the use asks for, or fewer than half are the
numbers it asks for, the column is left as it is found, for the check of kinds to refuse. Texts in
files are another matter: see `texts.py`.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet.errors import counted, listed
from hamlet.events.columns import kind_of
from hamlet.events.text_rules import may_be
from hamlet.events.texts import moments_of_texts

if TYPE_CHECKING:
    from hamlet.events.texts import Typed
    from hamlet.schema import Kind


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
    if kind is not None and not is_used_as(kind, Counter(kinds)):
        return column_of_values(values, None)
    if kind is None and (len(found) != 1 or "other" in found):
        return _as_text(values), None
    kind = kind or found.pop()  # type: ignore[assignment]
    kept = [v if k == kind else None for v, k in zip(values, kinds, strict=True)]
    column = _MAKERS[str(kind)](kept)
    given = np.array([each != "null" for each in kinds], np.bool_)
    faulty = given & ~column.is_valid().to_numpy(zero_copy_only=False)
    return column, faulty if faulty.any() else None


def is_used_as(kind: str, kinds: Counter[str]) -> bool:
    """Whether values, so many of each kind, are what their use asks for, but for some of them.

    >>> is_used_as("number", Counter(number=1, text=2)), is_used_as("boolean", Counter(boolean=1))
    (False, True)
    """
    given = kinds.total() - kinds["null"]
    return may_be(kinds[kind], given) if kind == "number" else kinds[kind] > 0


def mixed_note(name: str, kinds: Counter[str]) -> str:
    """What to say of a column that is text because its values are of several kinds.

    >>> mixed_note("x", Counter(text=1, number=2, null=5))
    'x has values of several kinds, 2 numbers, 1 text: all are taken as text'
    """
    known = [(kinds[kind], called) for kind, called in _CALLED.items() if kinds[kind]]
    several = listed([counted(number, called) for number, called in known])
    return f"{name} has values of several kinds, {several}: all are taken as text"


_CALLED = {
    "number": "number",
    "text": "text",
    "boolean": "truth value",
    "time": "time",
    "other": "object",
}


def times_of_values(values: list[Any]) -> Typed:
    """Python values as times: timestamps and ISO text, or numbers, whichever are more."""
    kinds = [kind_of_value(value) for value in values]
    if kinds.count("number") > kinds.count("time") + kinds.count("text"):
        return column_of_values(values, "number")
    stamps, faulty = column_of_values(values, "time")
    words = [v if k == "text" else None for v, k in zip(values, kinds, strict=True)]
    texts = pa.array(words, pa.string())
    if texts.null_count < len(texts):
        read = moments_of_texts(texts)
        if read.null_count == len(read):
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
