"""Patterns: single events, and the operators of the language as functions.

Wherever a pattern is asked for, text stands for one event of the type that it names, whatever
characters are in it. Text is never read as a pattern.
"""

from __future__ import annotations

from dataclasses import dataclass

from hamlet.lang import tree
from hamlet.lang.printer import print_pattern


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that was put together; `str` is its text."""

    tree: tree.Pattern

    def __str__(self) -> str:
        return print_pattern(self.tree)

    def __repr__(self) -> str:
        return f"<pattern {self}>"


def event(type: str, alias: str | None = None) -> Pattern:
    """One event of a type, with an alias if it is given one.

    >>> event("Travel"), event("Travel", "T"), event("Case Opened")
    (<pattern Travel>, <pattern Travel T>, <pattern `Case Opened`>)
    """
    return Pattern(tree.TypePattern(_name(type, "a type"), _alias(alias)))


def any_(alias: str | None = None) -> Pattern:
    """One event of whatever type, with an alias if it is given one: `ANY`.

    >>> seq("A", any_("middle"), "B"), plus(any_())
    (<pattern SEQ(A, ANY middle, B)>, <pattern ANY+>)
    """
    return Pattern(tree.AnyPattern(_alias(alias)))


def plus(pattern: Pattern | str, alias: str | None = None) -> Pattern:
    """One or more matches of a pattern, one after another: `P+`.

    >>> plus("Travel", alias="T"), plus(seq("A", plus("B")))
    (<pattern Travel T+>, <pattern SEQ(A, B+)+>)

    Args:
        pattern: What is repeated.
        alias: What its events are called; only where one event is repeated.
    """
    return Pattern(tree.KleenePattern(_body(pattern, alias)))


def optional(pattern: Pattern | str, alias: str | None = None) -> Pattern:
    """A match of a pattern, or nothing: `P?`; the arguments are those of `plus`.

    >>> seq("Request", optional("Call", alias="C"), "Pickup")
    <pattern SEQ(Request, Call C?, Pickup)>
    """
    return times(pattern, 0, 1, alias)


def star(pattern: Pattern | str, alias: str | None = None) -> Pattern:
    """Any number of matches of a pattern, one after another: `P*`; arguments as those of `plus`.

    >>> seq("Request", star("Travel", alias="T"), "Pickup")
    <pattern SEQ(Request, Travel T*, Pickup)>
    """
    return times(pattern, 0, None, alias)


def times(
    pattern: Pattern | str, least: int, most: int | None, alias: str | None = None
) -> Pattern:
    """As many matches of a pattern, one after another, as two numbers say: `P{2,5}`.

    >>> times("B", 2, 5), times("B", 2, 2), times("B", 2, None, alias="b")
    (<pattern B{2,5}>, <pattern B{2}>, <pattern B b{2,}>)

    Args:
        pattern: What is repeated.
        least: How many matches there are at least.
        most: And at most; None for no limit.
        alias: What its events are called; only where one event is repeated.
    """
    if (least, most) == (1, None):
        return plus(pattern, alias)
    return Pattern(tree.CountedPattern(_body(pattern, alias), least, most))


def _body(pattern: Pattern | str, alias: str | None) -> tree.Pattern:
    """What is repeated, under an alias if it is given one."""
    body = pattern_tree(pattern)
    if alias is None:
        return body
    if isinstance(body, tree.AnyPattern) and body.alias is None:
        return tree.AnyPattern(_alias(alias))
    if not isinstance(body, tree.TypePattern) or body.alias is not None:
        message = f"an alias is for one event: {print_pattern(body)} cannot be called {alias!r}"
        raise TypeError(message)
    return tree.TypePattern(body.type, _alias(alias))


def seq(*patterns: Pattern | str) -> Pattern:
    """Matches one after another: `SEQ(P, Q)`.

    >>> seq("Request", plus("Travel", alias="T"), not_("Pickup"))
    <pattern SEQ(Request, Travel T+, NOT Pickup)>
    """
    return Pattern(tree.SeqPattern(tuple(map(pattern_tree, patterns))))


def not_(pattern: Pattern | str) -> Pattern:
    """No match of a pattern at this place of a sequence: `NOT P`."""
    return Pattern(tree.NotPattern(pattern_tree(pattern)))


def or_(first: Pattern | str, *others: Pattern | str) -> Pattern:
    """What any of the patterns matches: `P OR Q`.

    >>> plus(or_("B", seq("C", "D")))
    <pattern (B OR SEQ(C, D))+>
    """
    items = tuple(map(pattern_tree, (first, *others)))
    return Pattern(tree.OrPattern(items) if others else items[0])


def and_(first: Pattern | str, *others: Pattern | str) -> Pattern:
    """Pairs of a trend of one pattern and a trend of the other: `P AND Q`.

    >>> and_(seq("A", plus("B")), plus("C"))
    <pattern SEQ(A, B+) AND C+>
    """
    items = tuple(map(pattern_tree, (first, *others)))
    return Pattern(tree.AndPattern(items) if others else items[0])


def pattern_tree(pattern: Pattern | str) -> tree.Pattern:
    """The tree of a pattern, or of one event of a type."""
    if isinstance(pattern, Pattern):
        return pattern.tree
    if isinstance(pattern, str):
        return tree.TypePattern(tree.Name(pattern))
    message = f"a pattern is the name of a type or made by seq, plus, ...; not {pattern!r}"
    raise TypeError(message)


def _name(text: str, what: str) -> tree.Name:
    if isinstance(text, str):
        return tree.Name(text)
    message = f"the name of {what} is text, not {text!r}"
    raise TypeError(message)


def _alias(text: str | None) -> tree.Name | None:
    return None if text is None else _name(text, "an alias")
