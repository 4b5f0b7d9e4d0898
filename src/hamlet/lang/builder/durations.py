"""Lengths of time: text as it stands in a query, or Python's own."""

from __future__ import annotations

from datetime import timedelta

from hamlet.errors import Problem, QueryError, Span
from hamlet.lang import tree
from hamlet.lang.parser import read
from hamlet.plan.durations import in_longest_unit

_MICROSECOND = timedelta(microseconds=1)


def duration_tree(length: str | timedelta, clause: str) -> tree.Duration:
    """The tree of a length of time, for WITHIN, SLIDE or OFFSET.

    >>> from hamlet.lang.printer import print_duration
    >>> given = "30 minutes", "1.5h", timedelta(hours=2), timedelta(microseconds=1500)
    >>> [print_duration(duration_tree(length, "WITHIN")) for length in given]
    ['30 min', '1.5 h', '2 h', '1.5 ms']

    Raises:
        QueryError: The text is no number with a unit.
    """
    if isinstance(length, timedelta):
        return _of_timedelta(length)
    if not isinstance(length, str):
        message = f"{clause} is text such as '30 min' or a timedelta, not {length!r}"
        raise TypeError(message)
    return _of_text(length, clause)


def _of_timedelta(length: timedelta) -> tree.Duration:
    """In the longest unit of which it is a whole number, or in milliseconds."""
    amount, unit = in_longest_unit(length // _MICROSECOND)
    return tree.Duration(amount, tree.Name(unit))


def _of_text(length: str, clause: str) -> tree.Duration:
    """What the text is read as in a query; places of mistakes are those in `WITHIN <length>`."""
    before = {"SLIDE": "1 s SLIDE ", "OFFSET": "1 s OFFSET "}.get(clause, "")
    head = f"RETURN COUNT(*) PATTERN A WITHIN {before}"
    queries, problems = read(head + length)
    one = queries[0]
    written = {"SLIDE": one.slide, "OFFSET": one.offset}.get(clause, one.within)
    is_more = len(queries) > 1 or (clause != "SLIDE" and one.slide is not None)
    is_more = is_more or one.zone is not None or (clause != "OFFSET" and one.offset is not None)
    if written is not None and not problems and not is_more:
        return written
    shown = f"{clause} {length}"
    if not problems:
        message = f"{clause} is one number with a unit"
        at = Span(len(head), len(head + length))
        problems = [Problem("unexpected-text", message, "Write, for example: '30 min'.", at)]
    shift = len(head) - len(f"{clause} ")
    raise QueryError(clause.lower(), shown, tuple(_moved(problem, shift) for problem in problems))


def _moved(problem: Problem, shift: int) -> Problem:
    start, end = (max(0, offset - shift) for offset in problem.at)
    return Problem(problem.code, problem.message, problem.remedy, Span(start, end))
