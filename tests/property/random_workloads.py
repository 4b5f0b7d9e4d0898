"""Strategies for workloads with streams: text that the binder accepts, events that it looks at.

A query is made from the inside out: a pattern first, then predicates between variables that the
pattern has and that may meet, then aggregates of variables that no trend binds in two ways. So
nearly everything that is drawn is a valid workload, and a failing one shrinks clause by clause.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from hamlet.lang import tree
from hamlet.lang.bind import bind
from hamlet.lang.parser import read
from hamlet.lang.printer import print_pattern
from hamlet.plan.positions import positions_of
from hamlet.plan.query import ANY
from hamlet.testing import matchable_patterns, renamed

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

    from hamlet.plan.query import Place, Query

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
WINDOWS = (
    "10 s", "4 s", "10 s SLIDE 5 s", "10 s SLIDE 3 s", "7 s SLIDE 2 s", "6 s SLIDE 4 s",
    "20 s SLIDE 7 s", "2500 ms SLIDE 1500 ms", "1 min", "3 s SLIDE 500 ms",
    "10 s SLIDE 5 s OFFSET 2 s", "4 s OFFSET -1.5 s", "1 week", "1 d IN 'Atlantic/Reykjavik'",
)  # fmt: skip
# U and V exclude each other, W overlaps with both.
DEFINED = "DEFINE U AS x > 0, V AS x <= 0, W AS A WHERE y < 1 OR s = 'u'"
# Near the events, at midnight, and around a change of clocks in New York.
MOMENTS = (
    datetime(1970, 1, 1, 0, 0, 2), datetime(1970, 1, 1, 0, 0, 5, 500_000), datetime(1970, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(2026, 3, 8, 6, 59, 59, 999_999),
    datetime(2026, 3, 8, 7), datetime(2026, 3, 29, 1), datetime(2100, 6, 5, 14, 30),
)  # fmt: skip
MATCHES = ("", "", "", " MATCH NEXT", " MATCH NEXT", " MATCH CONTIGUOUS", " MATCH ANY")
GROUPINGS = ("", "", "", "GROUPBY g", "GROUPBY d", "GROUPBY d, g")


@dataclass(frozen=True)
class Sample:
    """A workload, a stream, and the order column if there is one."""

    workload: str
    events: tuple[dict[str, Any], ...]
    order: str | None

    def __str__(self) -> str:
        shown = (", ".join(f"{k}={v!r}" for k, v in event.items()) for event in self.events)
        return "\n".join([f"order column: {self.order}", self.workload, *shown])


@st.composite
def samples(draw: DrawFn, most_events: int = 12) -> Sample:
    """A workload and a stream of its types."""
    types = draw(st.sampled_from(["AB", "ABC", "ABCD"]))
    is_defining = draw(st.integers(0, 3)) == 3
    mentioned = types + "UVW" if is_defining else types
    queries = draw(st.lists(query_texts(mentioned), min_size=1, max_size=4))
    events = draw(streams(types, most_events))
    defined = [DEFINED] if is_defining else []
    return Sample(
        ";\n".join([*defined, *queries]), tuple(events), draw(st.sampled_from([None, "seq"]))
    )


@lru_cache(maxsize=1 << 12)
def bound(text: str) -> Query | None:
    """The query of a text, None where it is refused; the same texts are drawn again and again."""
    trees, problems = read(f"{DEFINED}; {text}")
    found, more = bind(trees)
    return found[0].query if found and not problems and not more else None


# Patterns


@st.composite
def _patterns(draw: DrawFn, types: str) -> str:
    """A pattern as text: with or without AND, places with or without aliases."""
    counts = draw(st.booleans())
    has_any = draw(st.integers(0, 3)) == 3
    size = 5 - counts - has_any
    pattern = draw(matchable_patterns(types, size, has_counts=counts, has_any=has_any))
    if draw(st.integers(0, 5)) == 5:
        sides = (pattern, draw(matchable_patterns(types, max_places=3)))
        pattern = renamed(tree.AndPattern(sides), 0)[0]
    return print_pattern(_with_fewer_aliases(draw, pattern))


def _with_fewer_aliases(draw: DrawFn, pattern: tree.Pattern) -> tree.Pattern:
    if isinstance(pattern, tree.TypePattern | tree.AnyPattern):
        return pattern if draw(st.booleans()) else replace(pattern, alias=None)
    if isinstance(pattern, tree.KleenePattern | tree.CountedPattern | tree.NotPattern):
        return replace(pattern, body=_with_fewer_aliases(draw, pattern.body))
    items = tuple(_with_fewer_aliases(draw, item) for item in pattern.items)
    return replace(pattern, items=items)


# Queries

MEASURED = tuple(
    f"{function}({measure})"
    for measure in ("LENGTH", "DURATION")
    for function in ("SUM", "AVG", "MIN", "MAX")
)


@st.composite
def query_texts(draw: DrawFn, types: str) -> str:
    """A query as text."""
    pattern = draw(_patterns(types))
    plain = bound(f"RETURN COUNT(*) PATTERN {pattern} WITHIN 1 s")
    if plain is None:  # too many ways to match
        pattern = types[0]
        plain = bound(f"RETURN COUNT(*) PATTERN {pattern} WITHIN 1 s")
    assert plain is not None
    parts = draw(st.lists(_locals(plain), max_size=2)) if any(map(_names, plain.places)) else []
    adjacent = _adjacent(plain)
    if adjacent:
        parts += draw(st.lists(_edges(adjacent), max_size=3))
    parts += draw(st.sampled_from([[], [], [], ["[d]"], ["[d, g]"]]))
    where = f"\nWHERE {' AND '.join(parts)}" if parts else ""
    matched = f"{pattern}{draw(st.sampled_from(MATCHES))}"
    items = dict.fromkeys(draw(st.lists(_aggregates(plain, matched), min_size=1, max_size=4)))
    having = ""
    if draw(st.integers(0, 2)) == 2:
        one, other = draw(_aggregates(plain, matched)), draw(_aggregates(plain, matched))
        computed = draw(st.lists(_filled(_COMPUTED, p=st.just(one), q=st.just(other)), max_size=2))
        items |= dict.fromkeys(f"{each} AS r{n}" for n, each in enumerate(computed))
        if draw(st.booleans()):
            kept = [each for each in (one, other) if _is_decided(each)] or ["COUNT(*)"]
            names = [f"r{n}" for n, each in enumerate(computed) if each in _DECIDED]
            terms = st.sampled_from([*kept, *names, "COUNT(*)"])
            having = f"\nHAVING {draw(_filled(_HAVING, p=terms, q=terms))}"
    grouping, window = draw(st.sampled_from(GROUPINGS)), draw(st.sampled_from(WINDOWS))
    return (
        f"RETURN {', '.join(items)}\nPATTERN {matched}{where}\n{grouping}{having} WITHIN {window}"
    )


def _names(place: Place) -> list[str]:
    """What a place is called in conditions and aggregates; ANY without an alias is not."""
    types = [] if place.written == ANY else [place.name]
    return types if place.alias is None else [place.alias, *types]


def _adjacent(query: Query) -> list[tuple[str, str]]:
    """Variables of which the second may directly follow the first, inside one NOT, too."""
    found: dict[tuple[str, str], None] = {}
    for each in (*query.branches, *query.negations):
        for p, q in sorted(positions_of(each).follow):
            one, other = query.places[p], query.places[q]
            found |= dict.fromkeys((a, b) for a in _names(one) for b in _names(other))
    return list(found)


@st.composite
def _aggregates(draw: DrawFn, query: Query, matched: str) -> str:
    """An aggregate that a pattern has, matched as it is: what an alias is may depend on that."""
    places = [place for place in query.places if place.negation is None and _names(place)]
    if not places:
        return "COUNT(*)"
    place = draw(st.sampled_from(places))
    variable = draw(st.sampled_from(_names(place)))
    of_events = ["COUNT(*)", "COUNT", "SUM", "AVG", "MIN", "MAX", "VARIANCE", "STDDEV"]
    functions = [*of_events, *of_events, *MEASURED]
    function = draw(st.sampled_from(functions))
    attribute = draw(st.sampled_from(["x", "y", "z"]))
    whole = dict.fromkeys(("COUNT(*)", *MEASURED)) | {"COUNT": "COUNT({})"}
    shape = whole.get(function, f"{function}({{}}.{attribute})") or function
    # One event may or may not be the alias, and beside ANY the type, too.
    for name in (variable, *_names(place)):
        item = shape.format(name)
        if bound(f"RETURN {item} PATTERN {matched} WITHIN 1 s") is not None:
            return item
    return "COUNT(*)"


# What is computed. Divisors and dividends are such that float mode knows them exactly, and HAVING
# is over numbers that it does: on which side of a limit others are, it need not find.

_DECIDED = ("COUNT(*) % 3", "2 * COUNT(*) - 5", "-COUNT(*)")
_COMPUTED = (
    *_DECIDED, "{p} - {q}", "{p} + {q}", "{p} * {q}", "{p} / COUNT(*)", "({p} - 1) * 2 - {q} * 0.5",
    "-{p} / (COUNT(*) - 2)", "{p} / 0", "3 - {p} * -2",
)  # fmt: skip
_HAVING = (
    "{p} {op} {k}",
    "{p} {op} {k} AND {q} {op2} {k}",
    "{p} {op} {k} OR {q} IS NULL",
    "NOT {p} {op} {q}",
    "{p} IN (1, 2, -1)",
    "{p} NOT IN (1, 2)",
    "{p} BETWEEN {k} AND 2",
    "{p} NOT BETWEEN {q} AND 3",
    "{p} * 2 {op} {q} + {k}",
    "COUNT(*) % 2 {op} {p}",
    "{p} IS NOT NULL",
)


def _is_decided(aggregate: str) -> bool:
    """Whether float mode has it exactly: a count, an extreme, or of small whole numbers."""
    if aggregate.startswith(("VARIANCE", "STDDEV")):
        return False
    is_whole = aggregate.endswith((".x)", "LENGTH)", "DURATION)"))
    return is_whole or aggregate.startswith(("COUNT", "MIN", "MAX"))


# Predicates

_NUMBERS = ("0", "1", "2", "-1", "0.5", "0.3", "1e3")
_TEXTS = ("'u'", "'v'", "''", "'é'")


def _filled(shapes: tuple[str, ...], **blanks: SearchStrategy[str]) -> SearchStrategy[str]:
    """One of some shapes, with its blanks filled in."""
    pieces = {
        "op": st.sampled_from(COMPARISONS),
        "op2": st.sampled_from(COMPARISONS),
        "n": st.sampled_from(_NUMBERS),
        "k": st.sampled_from(("0", "1", "2", "3.5", "-1", "0.5")),
        "t": st.sampled_from(_TEXTS),
        "eq": st.sampled_from(COMPARISONS[:2]),
        "a": st.sampled_from("xy"),
        "b": st.sampled_from("xy"),
        "z": st.sampled_from("xyz"),  # z has integers too large to be reckoned with in doubles
        "sign": st.sampled_from("+-"),
        "i": st.sampled_from("01234"),
        "function": st.integers(0, 10),
        "other": st.integers(0, 10),
        "du": st.sampled_from(("2 s", "500 ms", "0 s", "-1 s", "1 d", "0.000001 s")),
        "like": st.sampled_from(("'u%'", "'_'", "'%'", "''", "'\\%'", "'%é'")),
    }
    return st.builds(lambda shape, values: _with_functions(shape, values).format(**values),
                     st.sampled_from(shapes), st.fixed_dictionaries(pieces | blanks))  # fmt: skip


# Functions that give numbers
_FUNCTIONS = (
    "ABS({v}.{z})", "ROUND({v}.y)", "ROUND({v}.z)", "COALESCE({v}.{a}, {v}.{b})", "HOUR({v}.t)",
    "HOUR({v}.t, 'America/New_York')", "MINUTE({v}.t, 'Asia/Kathmandu')", "MINUTE({v}.time)",
    "WEEKDAY({v}.t)", "WEEKDAY({v}.t, 'Pacific/Auckland')", "ABS({v}.time - {v}.t) / 1 s",
)  # fmt: skip


def _with_functions(shape: str, values: dict[str, Any]) -> str:
    """A shape with functions of the one event, and of the other, in their blanks."""
    of_v = _FUNCTIONS[values["function"] % len(_FUNCTIONS)]
    of_w = _FUNCTIONS[values["other"] % len(_FUNCTIONS)].replace("{v}", "{w}")
    return shape.replace("{fn}", of_v).replace("{fw}", of_w)


_LOCAL = (
    "{v}.{z} {op} {n}",
    "{v}.z {op} {v}.{z}",
    "{v}.s {op} {t}",
    "{v}.s IN ('u', 'w')",
    "{v}.x NOT IN (1, 2)",
    "{v}.{a} IS NULL",
    "{v}.{a} IS NOT NULL",
    "{v}.p",
    "NOT {v}.p",
    "({v}.{a} {op} {n} OR {v}.s {op2} {t})",
    "NOT ({v}.{a} {op} {n} AND {v}.p)",
    "{v}.x % 2 {op} {n}",
    "{v}.{z} BETWEEN {n} AND 2",
    "{v}.{a} NOT BETWEEN {v}.{b} AND {n}",
    "{v}.{a} / {v}.{b} {op} {n}",
    "{v}.time {op} TIMESTAMP '1970-01-01 00:00:0{i}'",
    "{v}.time IN (TIMESTAMP '1970-01-01 00:00:0{i}+00:00', TIMESTAMP '1970-01-01T01:00:05+01')",
    "{v}.time - {v}.t {op} {du}",
    "{v}.t BETWEEN {v}.time - {du} AND {v}.time + 2 s",
    "({v}.time - {v}.t) / 2 s {op} {n}",
    "{fn} {op} {i}",
    "NOT {fn} {op} {i}",
    "DATE({v}.t, 'Asia/Tokyo') {op} DATE '1970-01-02'",
    "LOWER({v}.s) {op} {t}",
    "UPPER({v}.s) = 'É'",
    "COALESCE({v}.s, {t}) {op} 'u'",
    "COALESCE({v}.p, ({v}.x > 0))",
    "{v}.s LIKE {like}",
    "{v}.s NOT LIKE {like}",
)

_EDGE = (
    # ordered as they stand
    "{v}.{a} {op} {w}.{z}",
    "{v}.{z} {op} {w}.{z}",
    "{w}.{a} {op} {v}.{a}",
    "{v}.s {op} {w}.s",
    "{v}.p {eq} {w}.p",
    "{v}.{a} * 2 {op} {w}.{b} - 1",
    "{v}.time {op} {w}.t",
    "{fn} {op} {fw}",
    "LOWER({v}.s) {op} {w}.s",
    "COALESCE({v}.s, {t}) {op} COALESCE({w}.s, 'v')",
    # rearranged
    "{w}.time - {v}.time {op} {du}",
    "{v}.time {op} {w}.time - {du}",
    "{v}.t - {w}.time + {du} {op} {v}.time - {v}.t",
    "{w}.time - {v}.time BETWEEN 1 s AND {du}",
    "{w}.{a} - {v}.{b} {op} {n}",
    "{v}.{a} + {w}.{b} {op} {n}",
    "{v}.{a} - {w}.{b} {op} {v}.{b} {sign} {n}",
    "{v}.{a} {op} {w}.{a} {sign} {n} - {v}.{b}",
    "{w}.{a} BETWEEN {v}.{b} AND {v}.{b} + 1",
    # general
    "({w}.time - {v}.time) / {du} {op} {n}",
    "({w}.time - {v}.t {op} {du} OR {v}.s LIKE {like})",
    "{w}.{a} NOT BETWEEN {v}.{b} AND {n}",
    "({v}.{z} {op} {w}.{z} OR {v}.s {op2} {w}.s)",
    "({v}.{a} {op} {w}.{b} AND {v}.p OR {w}.{a} {op2} {n})",
    "NOT {v}.{a} {op} {w}.{b}",
    "{v}.{a} * {w}.{b} {op} {n}",
    "{v}.{a} / {w}.{b} {op} {n}",
    "{v}.x % {w}.x {op} {n}",
    "{v}.x + {w}.x IN (1, 2, -1)",
    "{v}.{a} + {w}.{b} IS NULL",
    "({v}.s = {w}.s) IS NOT NULL",
    "({v}.s {op} {w}.s OR {v}.p = {w}.p OR {w}.x IS NULL)",
)  # fmt: skip


def _locals(query: Query) -> SearchStrategy[str]:
    names = sorted({name for place in query.places for name in _names(place)})
    return _filled(_LOCAL, v=st.sampled_from(names))


@st.composite
def _edges(draw: DrawFn, adjacent: list[tuple[str, str]]) -> str:
    v, w = draw(st.sampled_from(adjacent))
    has_next = v == w or draw(st.booleans())
    return draw(_filled(_EDGE, v=st.just(v), w=st.just(f"NEXT({w})" if has_next else w)))


# Streams


def streams(types: str, most_events: int) -> SearchStrategy[list[dict[str, Any]]]:
    """Rows in any order: ties, times below zero and between seconds, nulls, missing attributes.

    Some are of these days: numbers that times are part of must not become long by it.
    """
    whole, halves = st.integers(-4, 14), st.integers(-8, 28).map(lambda half: half / 2)
    today = halves.map(lambda time: 1_790_000_000 + time)
    return st.sampled_from([whole, whole, halves, today]).flatmap(
        lambda times: st.lists(_events(types, times), max_size=most_events)
    )


def may_be_null(values: SearchStrategy[Any]) -> SearchStrategy[Any]:
    return st.one_of(values, values, values, st.none())


def _events(types: str, times: SearchStrategy[float]) -> SearchStrategy[dict[str, Any]]:
    tenths = st.integers(-12, 12).map(lambda tenth: tenth / 10)
    required = {
        "type": st.sampled_from([*types, *types, "other"]),
        "time": times,
        "x": may_be_null(st.integers(-2, 3)),
        "y": may_be_null(st.one_of(tenths, st.sampled_from([0.25, -0.0, 1e-3, 3.0, 1e16]))),
        "g": may_be_null(st.sampled_from("uv")),
        "d": st.integers(1, 2),
        "seq": may_be_null(st.integers(0, 2)),
    }
    optional = {
        "z": st.one_of(st.integers(-3, 3), st.sampled_from([2**53 + 1, 2**62, -(2**62) - 1])),
        "s": may_be_null(st.sampled_from(["u", "v", "w", "", "é"])),
        "p": may_be_null(st.booleans()),
        "t": may_be_null(st.sampled_from(MOMENTS)),
    }
    return st.fixed_dictionaries(required, optional=optional)
