"""The JSON text of a group: one form for each value, whoever ran the query and however.

Groups that are worked out in different places are put together by their text, so equal values must
have equal text whatever type a host gave them: what is an integer here may be a decimal there.

    numbers         digits; decimals without an exponent and without zeros at their end
    infinite ones   "Infinity", "-Infinity"; NaN is no value, and names no group
    times           ISO 8601; an instant, with a zone of whatever kind, in UTC, with +00:00
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import types

from hamlet.events.columns import is_text
from hamlet.kernel.encode.partitions import Keys
from hamlet.kernel.encode.sorting import all_read_only, read_only
from hamlet.kernel.encode.text_order import text_pieces
from hamlet.kernel.finish.integers import TEXT
from hamlet.kernel.jit import interpretable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from decimal import Decimal

    from numpy.typing import NDArray

# `json.dumps` makes a new one each time.
_WRITER = json.JSONEncoder(ensure_ascii=False)
_EIGHT = 8
# Digits and the sign of an integer of 64 bits
_MOST_DIGITS = 20
_TEN, _ZERO, _MINUS = np.uint64(10), np.uint64(ord("0")), ord("-")
# Words for each text, up to which all are written from rather than taken first
_MANY_TIMES = 4


def group_texts(values: Mapping[str, pa.Array], count: int) -> pa.Array:
    """The text of each of some groups.

    >>> group_texts({"district": pa.array([7, 8]), "vip": pa.array([True, False])}, 2).to_pylist()
    ['{"district": 7, "vip": true}', '{"district": 8, "vip": false}']

    Args:
        values: For each grouping attribute, in order, its value in each group.
        count: How many groups there are.
    """
    if not values:
        return pa.repeat(pa.scalar("{}", TEXT), count)
    between, columns, mark = [], [], ""
    for number, name in enumerate(values):
        lead = ("{" if number == 0 else ", ") + _any(name) + ": "
        texts, quote = _piece(values, name)
        between.append(mark + lead + quote)
        columns.append(texts)
        mark = quote
    return _put_together([each.encode() for each in (*between, mark + "}")], columns)


class _Texts(NamedTuple):
    """Some texts: where each begins and ends in the bytes."""

    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    data: NDArray[np.uint8]

    @staticmethod
    def of(column: pa.Array) -> _Texts:
        """Those of a column."""
        begins, ends, data = text_pieces(column)
        low, high = (int(begins[0]), int(ends[-1])) if len(begins) else (0, 0)
        return _Texts(begins - low, ends - low, data[low:high])


def _piece(values: Mapping[str, pa.Array], name: str) -> tuple[_Texts, str]:
    """The JSON texts of an attribute, and what is to stand around each of them."""
    if isinstance(values, Keys):
        coded = values.words(name)
        if coded is not None and len(coded[1]) <= _MANY_TIMES * len(coded[0]):
            codes, words = coded
            if not _may_have_escapes(words):
                return _Texts(*text_pieces(words, codes)), '"'
        integers = values.integers(name)
        if integers is not None:
            return _of_integers(integers), ""
    column = values[name]
    if not is_text(column.type):
        return _Texts.of(value_texts(column)), ""
    words = column.cast(TEXT)
    if _may_have_escapes(words):
        return _Texts.of(_words(words)), ""
    return _Texts.of(words), '"'


def _of_integers(values: NDArray[np.int64]) -> _Texts:
    """Integers in digits, each at the end of as much room as any may need."""
    count = len(values)
    begins, data = np.empty(count, np.int64), np.empty(count * _MOST_DIGITS, np.uint8)
    # The size of the least integer is that of no integer, but has a number without a sign.
    _write_digits(*all_read_only(np.abs(values).view(np.uint64), values < 0), begins, data)
    return _Texts(begins, np.arange(1, count + 1, dtype=np.int64) * _MOST_DIGITS, data)


@interpretable
def _write_digits(sizes, is_negative, begins, data):  # type: ignore[no-untyped-def]
    """Fill in digits from the last to the first, and where each number begins."""
    for row in range(len(sizes)):
        at, size = (row + 1) * _MOST_DIGITS, sizes[row]
        while True:
            at -= 1
            data[at] = np.uint8(_ZERO + size % _TEN)
            size = size // _TEN
            if size == 0:
                break
        if is_negative[row]:
            at -= 1
            data[at] = np.uint8(_MINUS)
        begins[row] = at


def _put_together(between: list[bytes], columns: list[_Texts]) -> pa.Array:
    """Texts of several columns row by row, with the same words before, between and after them."""
    firsts = np.cumsum([0, *(len(each.data) for each in columns)])
    begins = np.stack([each.begins for each in columns]) + firsts[:-1, None]
    ends = np.stack([each.ends for each in columns]) + firsts[:-1, None]
    places = np.cumsum([0, *map(len, between)])
    words = np.frombuffer(b"".join(between) + bytes(_EIGHT), np.uint8)
    count = begins.shape[1]
    written_to = np.zeros(count + 1, np.int64)
    size = int(ends.sum() - begins.sum()) + count * int(places[-1])
    written = np.empty(size + _EIGHT, np.uint8)
    whole = np.concatenate([*(each.data for each in columns), np.zeros(_EIGHT, np.uint8)])
    known = (*all_read_only(begins, ends, places), *map(_eights, (whole, words)))
    _write(*known, _eights(written), written_to)
    return pa.Array.from_buffers(
        TEXT, count, [None, pa.py_buffer(written_to), pa.py_buffer(written)]
    )


def _eights(data: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Eight bytes from each place on."""
    return np.ndarray(len(data) - _EIGHT + 1, "<u8", data, strides=(1,))


@interpretable
def _write(begins, ends, places, data, words, written, written_to):  # type: ignore[no-untyped-def]
    """Copy eight bytes at a time: those too many are written over by what comes after them."""
    columns, at = len(begins), 0
    for row in range(len(written_to) - 1):
        for column in range(columns + 1):
            low, high = places[column], places[column + 1]
            for byte in range(low, high, 8):
                written[at + byte - low] = words[byte]
            at += high - low
            if column < columns:
                low, high = begins[column, row], ends[column, row]
                for byte in range(low, high, 8):
                    written[at + byte - low] = data[byte]
                at += high - low
        written_to[row + 1] = at


def value_texts(column: pa.Array) -> pa.Array:
    """Values, none of which is null, as JSON text.

    >>> from decimal import Decimal
    >>> value_texts(pa.array([Decimal("0.0000000100"), Decimal("120.0000000000")])).to_pylist()
    ['0.00000001', '120']
    >>> value_texts(pa.array([0.5, float("-inf")])).to_pylist()
    ['0.5', '"-Infinity"']
    """
    kind = column.type
    if types.is_integer(kind) or types.is_boolean(kind):
        return column.cast(TEXT)
    if types.is_timestamp(kind):
        return _quoted(_iso_times(column))
    if types.is_date(kind):
        return _quoted(column.cast(TEXT))
    if is_text(kind):
        return _words(column.cast(TEXT))
    one: Callable[[Any], str] = _any
    if types.is_decimal(kind):
        one = _plain_digits
    elif types.is_floating(kind):
        one = _double
    return pa.array(map(one, column.to_pylist()), TEXT)


def _words(column: pa.Array) -> pa.Array:
    """Texts in quotes; Python looks at those alone in which something has to be escaped."""
    quoted = _quoted(column)
    is_special = pc.match_substring_regex(column, _ESCAPED)
    if not pc.any(is_special).as_py():
        return quoted
    special = pa.array(map(_any, column.filter(is_special).to_pylist()), TEXT)
    return pc.replace_with_mask(quoted, is_special, special)


# What JSON does not have in a text as it is.
_ESCAPED = r'["\\\x00-\x1f]'


def _may_have_escapes(words: pa.Array) -> bool:
    """Whether any byte of some texts, or of others beside them, may have to be escaped."""
    data = words.buffers()[2]
    if data is None:
        return False
    return bool(_has_escapes(read_only(np.frombuffer(data, np.uint8))))


@interpretable
def _has_escapes(data):  # type: ignore[no-untyped-def]
    found = False
    for byte in data:
        found |= (byte < 0x20) | (byte == 0x22) | (byte == 0x5C)  # a quote or a backslash
    return found


def _any(value: Any) -> str:
    return _WRITER.encode(value)


def _double(value: float) -> str:
    if math.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    return json.dumps(value)


def _plain_digits(value: Decimal) -> str:
    digits = format(value, "f")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _iso_times(column: pa.Array) -> pa.Array:
    """ISO 8601 with as many digits of a second as there are: none, six, or nine."""
    zone = "" if column.type.tz is None else "+00:00"
    if zone:
        column = column.cast(pa.timestamp(column.type.unit, "UTC"))
    text = pc.strftime(column, format="%Y-%m-%dT%H:%M:%S").cast(TEXT)
    for pattern, instead in _FRACTIONS:
        text = pc.replace_substring_regex(text, pattern, instead)
    return pc.binary_join_element_wise(text, pa.scalar(zone, TEXT), pa.scalar("", TEXT))


# Milliseconds have six digits too, and nanoseconds that are whole microseconds.
_FRACTIONS = ((r"\.0+$", ""), (r"(\.\d{3})$", r"\1000"), (r"(\.\d{6})000$", r"\1"))


def _quoted(text: pa.Array) -> pa.Array:
    mark = pa.scalar('"', TEXT)
    return pc.binary_join_element_wise(mark, text, mark, pa.scalar("", TEXT))
