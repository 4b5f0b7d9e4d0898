"""Truth values that are kept as bits of integers, and how their columns are called.

A host that knows the truth of many conditions gives a session one column of integers instead of a
column for each. Conditions then name a bit of it, and rows wait with the integers alone.
"""

from __future__ import annotations

_BIT = "\0bit "


def bit_name(column: str, place: int) -> str:
    """The name of the truth values that are one bit of a column of integers, which has no sign.

    >>> bit_of(bit_name("letters", 3)), bit_of("letters")
    (('letters', 3), None)
    """
    return f"{column}{_BIT}{place}"


def bit_of(name: str) -> tuple[str, int] | None:
    """The column and the place of the bit of a name; None where it is a column by itself."""
    column, found, place = name.rpartition(_BIT)
    return (column, int(place)) if found and column else None
