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
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc
from pyarrow import types

from hamlet.events.columns import is_text
from hamlet.kernel.finish.integers import TEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from decimal import Decimal


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
    pieces: list[Any] = []
    for number, (name, column) in enumerate(values.items()):
        lead = ("{" if number == 0 else ", ") + json.dumps(name, ensure_ascii=False) + ": "
        pieces += [pa.scalar(lead, TEXT), *_pieces(column)]
    return pc.binary_join_element_wise(*pieces, *(pa.scalar(each, TEXT) for each in ("}", "")))


def _pieces(column: pa.Array) -> list[Any]:
    """What to put together for the JSON text of some values."""
    if not is_text(column.type):
        return [value_texts(column)]
    words = column.cast(TEXT)
    if _may_have_escapes(words):
        return [_words(words)]
    mark = pa.scalar('"', TEXT)
    return [mark, words, mark]


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
    found = np.frombuffer(data, np.uint8)
    return bool(((found < 0x20) | (found == ord('"')) | (found == ord("\\"))).any())


def _any(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


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
