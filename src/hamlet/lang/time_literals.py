"""Times and durations that are written out in conditions, as microseconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING

from hamlet.errors import Problem
from hamlet.events.text_rules import CLOCK, DATE, ZONE
from hamlet.lang.mistakes import unknown_unit
from hamlet.plan.durations import LONGEST_US, UNIT_US

if TYPE_CHECKING:
    from hamlet.lang import tree

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FORMS = {"TIMESTAMP": rf"(?:{DATE}|{CLOCK}{ZONE}?)", "DATE": DATE}
_EXAMPLES = {
    "TIMESTAMP": "TIMESTAMP '2026-03-01 08:00:00', in UTC, or with an offset: "
    "TIMESTAMP '2026-03-01 08:00:00+01:00'",
    "DATE": "DATE '2026-03-01'",
}


def duration_us(
    duration: tree.Duration, what: str = "this duration", example: str = ", for example: 30 min"
) -> int | Problem:
    """How long a duration is, or what is wrong with it."""
    unit = UNIT_US.get(duration.unit.text)
    if unit is None:
        return unknown_unit(duration.unit.text, duration.unit.span)
    length = Fraction(duration.amount) * unit
    if length != int(length) or abs(length) > LONGEST_US:
        fault = "too long" if abs(length) > LONGEST_US else "not a whole number of microseconds"
        return Problem("odd-duration", f"{what} is {fault}", f"Write{example}", duration.span)
    return int(length)


def moment_us(moment: tree.Moment) -> int | Problem:
    """A time in microseconds since 1970, UTC, or what is wrong with it."""
    word, text = moment.word.text, moment.text.strip()
    if word not in _FORMS:
        return Problem(
            "unknown-literal",
            f"{word} does not stand before text",
            f"Write a time as {_EXAMPLES['TIMESTAMP']}; a day as {_EXAMPLES['DATE']}.",
            moment.word.span,
        )
    since_1970_us = _read(text) if re.fullmatch(_FORMS[word], text) else None
    if since_1970_us is None:
        return Problem(
            "odd-timestamp",
            f"'{moment.text}' is not a {'day' if word == 'DATE' else 'time'}",
            f"Write, for example: {_EXAMPLES[word]}",
            moment.span,
        )
    return since_1970_us


def _read(text: str) -> int | None:
    digits = re.search(r"\.([0-9]+)", text)
    if digits is not None:
        if digits[1][6:].strip("0"):
            return None  # finer than microseconds
        text = text.replace(digits[0], f".{digits[1][:6]:0<6}")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)
