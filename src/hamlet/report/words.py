"""Numbers and groups as a person reads them."""

from __future__ import annotations

import re


def group_name(group: str) -> str:
    """A group as a person reads it; values stay as they are.

    >>> group_name('{"district": 3, "kind": "Pool"}')
    'district 3, kind "Pool"'
    """
    return re.sub(r'(^|, )"((?:[^"\\]|\\.)*)": ', r"\1\2 ", group[1:-1])


def grouped(number: str) -> str:
    """Digits in groups of three; what is not all digits stays as it is.

    >>> grouped("1234567"), grouped("1.5e+30")
    ('1,234,567', '1.5e+30')
    """
    return f"{int(number):,}" if number.isdigit() else number
