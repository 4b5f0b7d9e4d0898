"""From the grammar's rules to syntax trees: one short method for each rule.

Lark calls a method as soon as its rule is complete, with all its children, punctuation included,
so a node's span is simply from its first child to its last.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple

from lark import Token, Transformer

from hamlet.errors import Span
from hamlet.lang import tree
from hamlet.plan.aggregates import FUNCTIONS, MEASURES
from hamlet.plan.durations import UNITS

_COMPARISONS = {"==": "=", "<>": "!="}
_CONSTANTS = {"TRUE": True, "FALSE": False, "NULL": None}


def token_span(token: Token) -> Span:
    """Where a token stands."""
    return Span(token.start_pos or 0, token.end_pos or 0)


def span_of(children: list[Any]) -> Span:
    """From the start of the first child to the end of the last."""
    first, last = children[0], children[-1]
    start = first.start_pos if isinstance(first, Token) else first.span.start
    end = last.end_pos if isinstance(last, Token) else last.span.end
    return Span(start or 0, end or 0)


def name_of(token: Token) -> tree.Name:
    """A name without the backticks it may have been written in."""
    text = str(token)
    if text.startswith("`"):
        text = text[1:-1].replace("``", "`")
    return tree.Name(text, token_span(token))


def _names(children: list[Any]) -> list[tree.Name]:
    return [name_of(c) for c in children if isinstance(c, Token) and c.type == "NAME"]


def _type_pattern(children: list[Any]) -> tree.TypePattern | tree.AnyPattern:
    if _has(children, "ANY"):
        return tree.AnyPattern(next(iter(_names(children)), None), span_of(children))
    name, *alias = _names(children)
    return tree.TypePattern(name, alias[0] if alias else None, span_of(children))


class Times(NamedTuple):
    """How many matches of a pattern there may be; `most` is None where there is no limit."""

    least: int
    most: int | None
    span: Span


class Lengths(NamedTuple):
    """What stands in WITHIN or SLIDE: its length, and how windows are shifted, if that is there.

    `shift` is the token with which the latter begins.
    """

    length: tree.Duration
    offset: tree.Duration | None
    zone: tree.Literal | None
    shift: Token | None


def _times(body: tree.Pattern, children: list[Any]) -> tree.Pattern:
    """A pattern as often as it was written behind it."""
    least, most, _ = next(child for child in children if isinstance(child, Times))
    if (least, most) == (1, None):
        return tree.KleenePattern(body, span_of(children))
    return tree.CountedPattern(body, least, most, span_of(children))


def _measure(node: Any) -> Any:
    """LENGTH and DURATION are words, in any case, where an aggregate is of them."""
    if isinstance(node, tree.BareName) and node.name.text.upper() in MEASURES:
        return replace(node, name=replace(node.name, text=node.name.text.upper()))
    return node


def _has(children: list[Any], kind: str) -> bool:
    return any(isinstance(child, Token) and child.type == kind for child in children)


class TreeBuilder(Transformer[Token, Any]):
    """Callbacks by the names of the rules in grammar.lark."""

    def define_clause(self, c: list[Any]) -> tuple[tree.Definition, ...]:
        return tuple(c[1::2])

    def definition(self, c: list[Any]) -> tree.Definition:
        base = name_of(c[2]) if _has(c, "WHERE") else None
        return tree.Definition(name_of(c[0]), base, c[-1], span_of(c))

    def return_clause(self, c: list[Any]) -> tuple[tree.ReturnItem, ...]:
        return tuple(c[1::2])

    def item(self, c: list[Any]) -> tree.ReturnItem:
        alias = name_of(c[2]) if len(c) > 1 else None
        if isinstance(c[0], tree.BareName) and alias is None:
            return tree.GroupItem(c[0].name, c[0].span)
        return tree.ResultItem(c[0], alias, span_of(c))

    def call(self, c: list[Any]) -> tree.Call:
        function = name_of(c[0])
        if function.text.isascii():
            function = tree.Name(function.text.upper(), function.span)
        arguments = c[2:-1:2]
        if function.text in FUNCTIONS and FUNCTIONS[function.text].takes_attribute:
            arguments = list(map(_measure, arguments))
        return tree.Call(function, tuple(arguments), span_of(c))

    def star(self, c: list[Any]) -> tree.Star:
        return tree.Star(span_of(c))

    def attribute_ref(self, c: list[Any]) -> tree.AttributeRef:
        return tree.AttributeRef(name_of(c[0]), name_of(c[2]), False, span_of(c))

    def next_ref(self, c: list[Any]) -> tree.AttributeRef:
        return tree.AttributeRef(name_of(c[2]), name_of(c[5]), True, span_of(c))

    def pattern_clause(self, c: list[Any]) -> tree.Pattern:
        return c[1]  # type: ignore[no-any-return]

    def or_pattern(self, c: list[Any]) -> tree.OrPattern:
        return tree.OrPattern(tuple(c[::2]), span_of(c))

    def and_pattern(self, c: list[Any]) -> tree.AndPattern:
        return tree.AndPattern(tuple(c[::2]), span_of(c))

    def not_pattern(self, c: list[Any]) -> tree.NotPattern:
        return tree.NotPattern(c[1], span_of(c))

    def type_pattern(self, c: list[Any]) -> tree.TypePattern | tree.AnyPattern:
        return _type_pattern(c)

    def repeated_type(self, c: list[Any]) -> tree.Pattern:
        return _times(_type_pattern(c), c)

    def repeated(self, c: list[Any]) -> tree.Pattern:
        return _times(c[0], c)

    def one_or_more(self, c: list[Any]) -> Times:
        return Times(1, None, span_of(c))

    def any_number(self, c: list[Any]) -> Times:
        return Times(0, None, span_of(c))

    def at_most_one(self, c: list[Any]) -> Times:
        return Times(0, 1, span_of(c))

    def exactly(self, c: list[Any]) -> Times:
        return Times(int(c[1]), int(c[1]), span_of(c))

    def at_least(self, c: list[Any]) -> Times:
        return Times(int(c[1]), None, span_of(c))

    def between(self, c: list[Any]) -> Times:
        return Times(int(c[1]), int(c[3]), span_of(c))

    def seq_pattern(self, c: list[Any]) -> tree.SeqPattern:
        return tree.SeqPattern(tuple(c[2::2]), span_of(c))

    def brackets(self, c: list[Any]) -> Any:
        # Brackets leave no node, but what is underlined has both of them or neither.
        return replace(c[1], span=span_of(c))

    def match_clause(self, c: list[Any]) -> tree.Match:
        return tree.Match(c[1].type, span_of(c))

    def where_clause(self, c: list[Any]) -> tree.Expression:
        return c[1]  # type: ignore[no-any-return]

    having_clause = where_clause

    def or_condition(self, c: list[Any]) -> tree.OrCondition:
        return tree.OrCondition(tuple(c[::2]), span_of(c))

    def and_condition(self, c: list[Any]) -> tree.AndCondition:
        return tree.AndCondition(tuple(c[::2]), span_of(c))

    def not_condition(self, c: list[Any]) -> tree.NotCondition:
        return tree.NotCondition(c[1], span_of(c))

    def comparison(self, c: list[Any]) -> tree.Comparison:
        return tree.Comparison(_COMPARISONS.get(c[1], str(c[1])), c[0], c[2], span_of(c))

    def in_list(self, c: list[Any]) -> tree.InList:
        items = tuple(child for child in c[1:] if not isinstance(child, Token))
        return tree.InList(c[0], items, _has(c, "NOT"), span_of(c))

    def is_null(self, c: list[Any]) -> tree.IsNull:
        return tree.IsNull(c[0], _has(c, "NOT"), span_of(c))

    def between_limits(self, c: list[Any]) -> tree.Between:
        low, high = (child for child in c[1:] if not isinstance(child, Token))
        return tree.Between(c[0], low, high, _has(c, "NOT"), span_of(c))

    def like(self, c: list[Any]) -> tree.Like:
        return tree.Like(c[0], c[-1], _has(c, "NOT"), span_of(c))

    def moment(self, c: list[Any]) -> tree.Moment:
        word = name_of(c[0])
        text = c[1][1:-1].replace("''", "'")
        return tree.Moment(tree.Name(word.text.upper(), word.span), text, span_of(c))

    def arithmetic(self, c: list[Any]) -> tree.Arithmetic:
        return tree.Arithmetic(str(c[1]), c[0], c[2], span_of(c))

    def negative(self, c: list[Any]) -> tree.Negative:
        return tree.Negative(c[1], span_of(c))

    def bare_name(self, c: list[Any]) -> tree.BareName:
        return tree.BareName(name_of(c[0]), span_of(c))

    def equivalence(self, c: list[Any]) -> tree.Equivalence:
        return tree.Equivalence(tuple(_names(c)), span_of(c))

    def number(self, c: list[Any]) -> tree.Literal:
        text = "".join(c)
        return tree.Literal(int(text) if text.lstrip("-").isdigit() else float(text), span_of(c))

    def text(self, c: list[Any]) -> tree.Literal:
        return tree.Literal(c[0][1:-1].replace("''", "'"), span_of(c))

    def named_constant(self, c: list[Any]) -> tree.Literal:
        return tree.Literal(_CONSTANTS[c[0].type], span_of(c))

    def group_clause(self, c: list[Any]) -> tuple[tree.Name, ...]:
        return tuple(_names(c))

    def within_clause(self, c: list[Any]) -> Lengths:
        zone = self.text(c[-1:]) if _has(c, "IN") else None
        return Lengths(c[1], c[3] if _has(c, "OFFSET") else None, zone, c[2] if c[2:] else None)

    slide_clause = within_clause

    def duration(self, c: list[Any]) -> tree.Duration:
        unit = name_of(c[-1])
        known = UNITS.get(unit.text.lower(), unit.text)
        return tree.Duration(Decimal("".join(c[:-1])), tree.Name(known, unit.span), span_of(c))
