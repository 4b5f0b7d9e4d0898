r"""What texts in files are: the one rule by which columns of text become typed ones, as data.

Everything that reads texts takes it from here: `reading/texts.py` (Arrow) on one machine and where
Spark looks at rows, `spark/texts.py` (expressions of Spark) in batches and streams. Patterns are
written for RE2 and for Java alike. docs/events.md tells the rule to users.

A field with nothing in it is null. Of the others, without the white space around them:

- `MISSING` words stand for a missing value, in every column that is not text;
- a number has the form `NUMBER`, in ASCII digits, and is finite as a double: neither `inf` nor
  `1e400` nor `0x10` is one, and `-0.0` is 0;
- a truth value is `TRUE` or `FALSE`;
- a date, a clock (date and time of day) or a moment (the same with a zone) is ISO 8601 (`DATE`,
  `CLOCK`, `ZONE`) and there is such a day and hour.

What a column is follows from its use, where queries say it (`sort_of`) and at least half of its
values are that, and else from all its values: it is numbers, times or truth values where every
value is, and else text, exactly as it stands. Numbers that would not come through are text then,
too: codes with leading zeros (`007`), and whole numbers that neither 64 bits nor doubles hold.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hamlet.schema import Kind

# What Unicode calls white space.
SPACES = "".join(map(chr, [*range(9, 14), *range(28, 33), 133, 160, 5760, *range(8192, 8203)]))
SPACES += "\u2028\u2029\u202f\u205f\u3000"


def _any_case(word: str) -> str:
    """A pattern for a word in any case, without what `(?i)` means beyond ASCII."""
    return "".join(f"[{each}{each.upper()}]" if each.isalpha() else each for each in word)


MISSING = "|".join(["", "[+-]?" + _any_case("nan"), *map(_any_case, ("na", "n/a", "null", "none"))])
INTEGER = r"[+-]?[0-9]+"
NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
# A number with a leading zero, where nothing says that it is one.
CODE = r"[+-]?0[0-9].*"
TRUE, FALSE = _any_case("true") + "|1", _any_case("false") + "|0"
# Years have four digits, and there is no year 0.
_YEAR = r"([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
DATE = rf"{_YEAR}-[0-9]{{2}}-[0-9]{{2}}"
CLOCK = rf"{DATE}[T ][0-9]{{2}}(:[0-9]{{2}}(:[0-9]{{2}}(\.[0-9]{{1,9}})?)?)?"
ZONE = r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
MOMENT = rf"{CLOCK}{ZONE}"
ISO = rf"{DATE}|{CLOCK}|{MOMENT}"

# Integers of smaller size are doubles, one to one.
EXACT = 2**53
LONGS = range(-(2**63), 2**63)
UNSIGNED = range(2**64)


def whole(pattern: str) -> str:
    """A pattern that a whole text has to match."""
    return rf"\A(?:{pattern})\z"


# What a column is made of; "nothing" where it has no value.
Sort = Literal[
    "nothing", "long", "unsigned", "double", "boolean", "date", "clock", "moment", "text"
]
NUMBERS = ("long", "unsigned", "double")
TIMES = ("date", "clock", "moment")

# Facts about the texts of a column are counts, so that those of pieces can be added up.
# given: texts that are not null; missing: those of them that are missing words
# numbers; of them: longs, unsigned (both kinds of 64 bits), codes (leading zeros), rough (whole
#   numbers that doubles may not hold)
# dates, clocks, moments, booleans
# plain, plain times: numbers, and times, that hosts can cast as they stand, without looking whether
#   they have the form
Facts = Counter[str]


def sort_of(facts: Mapping[str, int], use: Kind | None, *, is_time: bool = False) -> Sort:
    """What a column is, by its use and by its texts.

    Args:
        facts: What there is, of all of its texts.
        use: What queries take it for; None where they do not say, "any" where they contradict each
            other: then most values decide who is right. A column is taken for numbers only if at
            least half of its values are some: else it is text, and a number is no use of it.
        is_time: Whether it has the times of events.

    >>> sort_of(Counter(given=3, numbers=3, longs=3), None)
    'long'
    >>> sort_of(Counter(given=3, numbers=2, longs=2), None)
    'text'
    >>> sort_of(Counter(given=3, numbers=2, longs=2), "number")
    'long'
    >>> sort_of(Counter(given=3, numbers=1, longs=1), "number")
    'text'
    """
    facts = Counter(facts)
    stamps = facts["dates"] + facts["clocks"] + facts["moments"]
    if is_time and (facts["numbers"] or stamps):
        # Numbers of seconds or timestamps, whichever are more; these have a zone if any has.
        if facts["numbers"] > stamps:
            return number_sort(facts)
        return "moment" if facts["moments"] else "clock"
    is_mostly = 2 * facts["numbers"] > facts["given"] - facts["missing"]
    if (use == "number" and _may_be_numbers(facts)) or (use == "any" and is_mostly):
        return number_sort(facts)
    if use == "boolean" and facts["booleans"]:
        return "boolean"
    return _by_values(facts, stamps)


def number_sort(facts: Mapping[str, int]) -> Sort:
    """The narrowest sort that holds all numbers."""
    facts = Counter(facts)
    if facts["longs"] == facts["numbers"]:
        return "long"
    return "unsigned" if facts["unsigned"] == facts["numbers"] else "double"


def _by_values(facts: Facts, stamps: int) -> Sort:
    """What all values are, where they are all of one kind."""
    known = facts["given"] - facts["missing"]
    if not known:
        return "text" if facts["given"] else "nothing"
    if facts["numbers"] == known:
        sort = number_sort(facts)
        is_lossy = facts["codes"] or (sort == "double" and facts["rough"])
        return "text" if is_lossy else sort
    if facts["dates"] == known:
        return "date"
    if facts["dates"] + facts["clocks"] == known:
        return "clock"
    if stamps == known:
        return "moment"
    return "boolean" if facts["booleans"] == known else "text"


def is_plain(facts: Mapping[str, int], sort: Sort) -> bool:
    """Whether all texts of a column can be cast to its sort as they stand."""
    counts = Counter(facts)
    fact = "plain" if sort in NUMBERS else "plain times"
    return sort != "boolean" and counts[fact] == counts["given"]


def has_plain_text(facts: Mapping[str, int]) -> bool:
    """Whether one of the texts is certainly nothing else, so that all values are not of a kind."""
    kinds = ("missing", "numbers", "dates", "clocks", "moments", "booleans")
    return Counter(facts)["given"] > sum(Counter(facts)[kind] for kind in kinds)


def is_mixed(facts: Mapping[str, int]) -> bool:
    """Whether a column that is text by its values could be used as something else as well."""
    counts = Counter(facts)
    return _may_be_numbers(counts) or bool(counts["booleans"])


def _may_be_numbers(facts: Facts) -> bool:
    """Whether a column may be taken for numbers, those of its values left out that are none."""
    return may_be(facts["numbers"], facts["given"] - facts["missing"])


def may_be(found: int, given: int) -> bool:
    """Whether values of which so many are of a kind are taken for that kind: half of them are.

    >>> may_be(1, 2), may_be(1, 3), may_be(0, 0)
    (True, False, False)
    """
    return found > 0 and 2 * found >= given
