"""Public help for tests: tiny streams as text, and Hypothesis strategies for the query language.

`stream` writes a test's events on one line. The strategies make syntax trees: `patterns`,
`conditions` and `queries` anything that the grammar allows, whether or not it means something, and
`matchable_patterns` only patterns that a query may have. Print a tree with `hamlet.lang.printer`
to have it as text. Hypothesis is imported when a strategy is made, so that `stream` does without.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hamlet.lang import tree
from hamlet.lang.parser import KEYWORDS, MATCHES
from hamlet.plan.aggregates import FUNCTIONS
from hamlet.plan.durations import UNITS
from hamlet.plan.value_kinds import FUNCTIONS as VALUE_FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

# Streams

_VALUE = r"'(?:[^']|'')*'|[^\s,'=]+"
_ATTRIBUTE = re.compile(rf"(\w+)=({_VALUE})")
_EVENT = re.compile(
    rf"\s*(?P<time>-?\d+(?:\.\d+)?)\s+(?P<type>\w+)(?P<attributes>(?:\s+\w+=(?:{_VALUE}))*)\s*(?:,|$)"
)
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_CONSTANTS = {"true": True, "false": False, "null": None}


def stream(text: str) -> list[dict[str, Any]]:
    """Events from text: time, type and attributes, separated by commas.

    Values are numbers, `true`, `false`, `null`, text in single quotes, a time behind an @, in UTC
    (`due=@2026-03-01T08:00:00`), or a word, which is text.

    >>> stream("1 A, 2 B price=3 name='it''s, well' pool=true, 2.5 B price=null")[1:]
    [{'time': 2, 'type': 'B', 'price': 3, 'name': "it's, well", 'pool': True}, \
{'time': 2.5, 'type': 'B', 'price': None}]
    """
    rows: list[dict[str, Any]] = []
    position = 0
    while text[position:].strip():
        match = _EVENT.match(text, position)
        if match is None:
            message = f"not an event: {text[position:].strip()!r}; write '2 B price=3'"
            raise ValueError(message)
        pairs = _ATTRIBUTE.findall(match["attributes"])
        attributes = {name: _value(shown) for name, shown in pairs}
        rows.append({"time": _value(match["time"]), "type": match["type"], **attributes})
        position = match.end()
    return rows


def _value(shown: str) -> int | float | str | bool | datetime | None:
    if shown.startswith("@"):
        return datetime.fromisoformat(shown[1:])
    if shown.startswith("'"):
        return shown[1:-1].replace("''", "'")
    if shown in _CONSTANTS:
        return _CONSTANTS[shown]
    number = _NUMBER.fullmatch(shown)
    if number is None:
        return shown
    return float(shown) if number[1] or number[2] else int(shown)


# Anything the grammar allows


def names() -> SearchStrategy[tree.Name]:
    """Names of all sorts: plain ones, keywords, and any text that backticks can hold."""
    from hypothesis import strategies as st

    plain = st.sampled_from(["A", "B", "Travel", "T", "x", "q1", "speed", "e1", "_", "été"])
    words = st.sampled_from(sorted({*KEYWORDS, "GROUP", "by", "Seq", "next", "count", "ms"}))
    odd = st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=5)
    return st.one_of(plain, plain, words, odd).map(tree.Name)


def patterns(max_leaves: int = 8) -> SearchStrategy[tree.Pattern]:
    """Patterns that the grammar allows, NOT and AND in any place."""
    from hypothesis import strategies as st

    typed = st.builds(tree.TypePattern, names(), st.none() | names())
    single = typed | typed | st.builds(tree.AnyPattern, st.none() | names())

    def larger(inner: SearchStrategy[tree.Pattern]) -> SearchStrategy[tree.Pattern]:
        several = st.lists(inner, min_size=2, max_size=3).map(tuple)
        return st.one_of(
            st.builds(tree.KleenePattern, inner),
            st.builds(_counted, inner, st.integers(0, 3), st.none() | st.integers(0, 3)),
            st.builds(tree.NotPattern, inner),
            st.builds(tree.SeqPattern, st.lists(inner, min_size=1, max_size=3).map(tuple)),
            st.builds(tree.OrPattern, several),
            st.builds(tree.AndPattern, several),
        )

    return st.recursive(single, larger, max_leaves=max_leaves)


def literals(signed: bool = False) -> SearchStrategy[tree.Literal]:
    """Literals that fit; `signed` ones, with their minus, occur only in IN lists."""
    from hypothesis import strategies as st

    text = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=6)
    largest = 2**63 - 1
    fractions = st.floats(None if signed else 0.0, allow_nan=False, allow_infinity=False)
    values = st.one_of(
        st.integers(-largest if signed else 0, largest),
        fractions.map(_unsigned_zero),
        st.booleans(),
        st.none(),
        text,
    )
    return values.map(tree.Literal)


def _unsigned_zero(number: float) -> float:
    return number or 0.0


def conditions(
    max_leaves: int = 10, more: SearchStrategy[tree.Expression] | None = None
) -> SearchStrategy[tree.Expression]:
    """Conditions and expressions that the grammar allows, of any kind in any place.

    Args:
        max_leaves: How large they are at most.
        more: What else may stand in them.
    """
    from hypothesis import strategies as st

    leaves = st.one_of(
        *([] if more is None else [more]),
        st.builds(tree.AttributeRef, names(), names(), st.booleans()),
        st.builds(tree.BareName, names()),
        literals(),
        _lengths().map(_unsigned),
        moments(),
        st.builds(tree.Equivalence, st.lists(names(), min_size=1, max_size=3).map(tuple)),
    )

    def larger(inner: SearchStrategy[tree.Expression]) -> SearchStrategy[tree.Expression]:
        several = st.lists(inner, min_size=2, max_size=3).map(tuple)
        written = literals(signed=True) | _lengths() | moments()
        listed = st.lists(written, min_size=1, max_size=3).map(tuple)
        functions = st.sampled_from([*VALUE_FUNCTIONS, "TRIM"]).map(tree.Name)
        arguments = st.lists(inner, min_size=1, max_size=2).map(tuple)
        compared = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
        return st.one_of(
            st.builds(tree.Negative, inner),
            st.builds(tree.Arithmetic, st.sampled_from("+-*/%"), inner, inner),
            st.builds(tree.Comparison, compared, inner, inner),
            st.builds(tree.InList, inner, listed, st.booleans()),
            st.builds(tree.IsNull, inner, st.booleans()),
            st.builds(tree.Between, inner, inner, inner, st.booleans()),
            st.builds(tree.Like, inner, written, st.booleans()),
            st.builds(tree.Call, functions, arguments),
            st.builds(tree.NotCondition, inner),
            st.builds(tree.AndCondition, several),
            st.builds(tree.OrCondition, several),
        )

    return st.recursive(leaves, larger, max_leaves=max_leaves)


def _unsigned(duration: tree.Duration) -> tree.Duration:
    return replace(duration, amount=abs(duration.amount))


def _lengths() -> SearchStrategy[tree.Duration]:
    """Durations as they can be written in conditions, where a word is a unit or no part of it."""
    from hypothesis import strategies as st

    amounts = st.sampled_from(["0", "0.5", "1.25", "30", "-1500"]).map(Decimal)
    return st.builds(tree.Duration, amounts, _units())


def _units() -> SearchStrategy[tree.Name]:
    from hypothesis import strategies as st

    return st.sampled_from(sorted(set(UNITS.values()))).map(tree.Name)


def moments() -> SearchStrategy[tree.Moment]:
    """Times and days as they can be written, senseless ones included."""
    from hypothesis import strategies as st

    words = st.sampled_from(["TIMESTAMP", "DATE", "CLOCK"]).map(tree.Name)
    texts = st.sampled_from(["2026-03-01", "2026-03-01 08:00:00+01:00", "2026-13-01", "it's noon"])
    return st.builds(tree.Moment, words, texts)


def durations() -> SearchStrategy[tree.Duration]:
    """Durations as they can be written, senseless ones included."""
    from hypothesis import strategies as st

    amounts = st.one_of(
        st.integers(1, 10**6).map(Decimal),
        st.decimals(-1000, 10**9, allow_nan=False, allow_infinity=False, places=6),
        st.builds(Decimal, st.from_regex(r"[0-9]{1,3}e[+-]?[0-9]", fullmatch=True)),
    )
    known = _units()
    odd = names().map(lambda name: tree.Name(UNITS.get(name.text.lower(), name.text)))
    return st.builds(tree.Duration, amounts, st.one_of(known, known, odd))


def definitions() -> SearchStrategy[tree.Definition]:
    """Types by condition, with anything in the condition."""
    from hypothesis import strategies as st

    return st.builds(tree.Definition, names(), st.none() | names(), conditions(6))


def queries() -> SearchStrategy[tree.QueryTree]:
    """Queries that the grammar allows, whether or not they mean something."""
    from hypothesis import strategies as st

    aggregates = aggregate_calls()
    results = st.builds(tree.ResultItem, aggregates, st.none() | names())
    computed = st.builds(
        tree.ResultItem,
        st.builds(tree.Arithmetic, st.sampled_from("+-*/%"), aggregates, aggregates),
        names(),
    )
    items = st.one_of(results, results, computed, st.builds(tree.GroupItem, names()))
    return st.builds(
        tree.QueryTree,
        name=st.none() | names(),
        items=st.lists(items, min_size=1, max_size=3).map(tuple),
        pattern=patterns(),
        where=st.none() | conditions(),
        group_by=st.lists(names(), max_size=2).map(tuple),
        within=durations(),
        slide=st.none() | durations(),
        match=st.none() | st.sampled_from(MATCHES).map(tree.Match),
        having=st.none() | conditions(6, aggregate_calls()),
        offset=st.none() | durations(),
        zone=st.none() | st.text(max_size=5).filter(lambda t: "\n" not in t).map(tree.Literal),
    )


def aggregate_calls() -> SearchStrategy[tree.Call]:
    """Aggregates as they can be written, senseless ones included."""
    from hypothesis import strategies as st

    functions = st.sampled_from([*FUNCTIONS, "MEDIAN"]).map(tree.Name)
    arguments = st.one_of(
        st.just(tree.Star()),
        st.builds(tree.BareName, names()),
        st.builds(tree.AttributeRef, names(), names()),
    )
    return st.builds(tree.Call, functions, st.tuples(arguments))


# What a query may have


def matchable_patterns(
    types: Sequence[str] = ("A", "B", "C"),
    max_places: int = 5,
    has_not: bool = True,
    has_counts: bool = False,
    has_any: bool = False,
) -> SearchStrategy[tree.Pattern]:
    """Patterns that a query may have, without AND; each place has an alias p0, p1, ... of its own.

    NOT stands at the start, in the middle and at the end of SEQ, inside repetitions and choices,
    over single events, sequences and repetitions.

    Args:
        types: What events there are.
        max_places: How many places are written at most.
        has_not: Whether there may be NOT.
        has_counts: Whether there may be `?`, `*`, `{n}`, `{n,}` and `{n,m}`.
        has_any: Whether there may be `ANY`.
    """
    from hypothesis import strategies as st

    singles: SearchStrategy[tree.Pattern] = st.sampled_from(list(types)).map(
        lambda name: tree.TypePattern(tree.Name(name))
    )
    if has_any:
        singles = singles | singles | st.just(tree.AnyPattern())

    @st.composite
    def of_size(draw: DrawFn, places: int, may_negate: bool) -> tree.Pattern:
        pattern: tree.Pattern
        if places == 1:
            pattern = draw(singles)
        elif draw(st.sampled_from(["SEQ", "SEQ", "OR"])) == "OR":
            cut = draw(st.integers(1, places - 1))
            sizes = (cut, places - cut)
            pattern = tree.OrPattern(tuple(draw(of_size(size, may_negate)) for size in sizes))
        else:
            pattern = tree.SeqPattern(draw(sequences(places, may_negate)))
        times = draw(st.integers(0, 2 + has_counts))
        if times == 3:
            counts = [(0, 1), (0, None), (2, 2), (1, 2), (2, None), (0, 2), (2, 3)]
            return _counted(pattern, *draw(st.sampled_from(counts)))
        return tree.KleenePattern(pattern) if times == 2 else pattern

    @st.composite
    def sequences(draw: DrawFn, places: int, may_negate: bool) -> tuple[tree.Pattern, ...]:
        """Items of the given size, one of which at least is not negated."""
        cuts = draw(st.sets(st.integers(1, places - 1), min_size=1, max_size=3))
        bounds = [0, *sorted(cuts), places]
        positive = draw(st.integers(0, len(bounds) - 2))
        items: list[tree.Pattern] = []
        for number, (start, end) in enumerate(pairwise(bounds)):
            is_negated = may_negate and number != positive and draw(st.integers(0, 2)) == 2
            item = draw(of_size(end - start, may_negate and not is_negated))
            items.append(tree.NotPattern(item) if is_negated else item)
        return tuple(items)

    sizes = st.integers(1, max_places)
    return sizes.flatmap(lambda places: of_size(places, has_not)).map(_with_aliases)


def _counted(body: tree.Pattern, least: int, most: int | None) -> tree.Pattern:
    """So many matches of a pattern, as the parser has it: one or more are `P+`."""
    if (least, most) == (1, None):
        return tree.KleenePattern(body)
    return tree.CountedPattern(body, least, most)


def _with_aliases(pattern: tree.Pattern) -> tree.Pattern:
    """The pattern with the aliases p0, p1, ... from left to right."""
    return renamed(pattern, 0)[0]


def renamed(pattern: tree.Pattern, first: int) -> tuple[tree.Pattern, int]:
    """A pattern with the aliases p<first>, p<first + 1>, ..., and the next free number."""
    if isinstance(pattern, tree.TypePattern | tree.AnyPattern):
        return replace(pattern, alias=tree.Name(f"p{first}")), first + 1
    if isinstance(pattern, tree.KleenePattern | tree.CountedPattern | tree.NotPattern):
        body, first = renamed(pattern.body, first)
        return replace(pattern, body=body), first
    items = []
    for item in pattern.items:
        aliased, first = renamed(item, first)
        items.append(aliased)
    return replace(pattern, items=tuple(items)), first
