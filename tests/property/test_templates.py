"""A template has one accepting run for each trend and none for anything else.

Patterns, predicates, events and gaps are random; what is a trend is decided by `direct_reading`,
which follows the definition and knows nothing of automata. Would catch a trend counted twice or
not at all: a wrong follow edge, a guard on the wrong edge, a set of places whose conditions are not
exclusive, an edge predicate or a local condition that is lost where sets are formed, and an alias
whose events are marked wrongly or refused without need.
"""

from __future__ import annotations

from itertools import pairwise, product
from random import Random
from typing import Any

import pytest
from direct_reading import Adjacent, Event, Gap, Local, Reading, accepting_runs, bound_of
from hypothesis import given, note
from hypothesis import strategies as st
from sampling import random_sample

from hamlet.lang import tree
from hamlet.lang.parser import parse_tree
from hamlet.lang.printer import print_pattern
from hamlet.testing import matchable_patterns, renamed

LOCALS, OUTS, INTOS = ("l0", "l1", "l2"), ("o0", "o1"), ("i0", "i1")
LONGEST = {1: 6, 2: 5, 3: 4, 4: 3}
_CLEAR: Gap = frozenset()


def _predicates(draw: Any, reading: Reading) -> tuple[tuple[Local, ...], tuple[Adjacent, ...]]:
    """Random predicates over the variables of a pattern, those that it allows."""
    variable = st.sampled_from(reading.variables())
    local = st.builds(Local, variable, st.sampled_from(LOCALS))
    adjacent = st.builds(
        Adjacent, variable, variable, st.sampled_from(OUTS), st.sampled_from(INTOS), st.booleans()
    ).filter(lambda p: p.has_next or p.one != p.other)
    asked = draw(st.lists(adjacent, min_size=draw(st.integers(0, 4)), max_size=4))
    allowed = tuple(p for p in asked if bound_of(reading.pattern, (p,))[0] is not None)
    return tuple(draw(st.lists(local, min_size=draw(st.integers(0, 3)), max_size=4))), allowed


@st.composite
def readings(draw: Any, **options: Any) -> Reading:
    pattern = draw(matchable_patterns(**options))
    local, adjacent = _predicates(draw, Reading(pattern))
    return Reading(pattern, local, adjacent)


def _sequences(
    random: Random, types: list[str], negations: int
) -> list[tuple[list[Event], list[Gap]]]:
    """Every sequence of types up to a length, each with random attributes and gaps."""
    types = sorted(types)
    return [
        ([_event(random, name) for name in names], _gaps(random, negations, length + 1))
        for length in range(1, LONGEST[len(types)] + 1)
        for names in product(sorted(types), repeat=length)
    ]


def _event(random: Random, name: str) -> Event:
    values = random.choices((1, 0, None), weights=(8, 2, 1), k=len(LOCALS))
    outs = random.choices((0, 1, 2, None), weights=(6, 4, 2, 1), k=len(OUTS))
    intos = random.choices((0, 1, 2, None), weights=(2, 4, 6, 1), k=len(INTOS))
    names = (*LOCALS, *OUTS, *INTOS)
    return {"type": name, **dict(zip(names, (*values, *outs, *intos), strict=True))}


def _gaps(random: Random, negations: int, count: int) -> list[Gap]:
    chance = random.choice((0.0, 0.15, 0.5))
    return [
        frozenset(n for n in range(negations) if random.random() < chance) for _ in range(count)
    ]


seeds = st.integers(0, 2**32).map(Random)


@random_sample(120)
@given(readings(), seeds)
def test_a_template_has_one_run_for_each_trend_and_none_for_others(reading, random):
    note(print_pattern(reading.pattern))
    bound, problems = bound_of(reading.pattern, (*reading.local, *reading.adjacent))
    types = set(reading.types.values())

    assert problems == []
    for events, gaps in _sequences(random, types, len(reading.negations)):
        expected = 1 if reading.bindings(events, gaps) else 0
        runs = accepting_runs(bound.query, bound.templates.branches[0], events, gaps)
        assert len(runs) == expected, (events, gaps)


@random_sample(80)
@given(readings(types=("A", "B"), max_places=7), seeds)
def test_a_template_of_few_types_in_many_places_has_one_run_for_each_trend(reading, random):
    note(print_pattern(reading.pattern))
    bound, problems = bound_of(reading.pattern, (*reading.local, *reading.adjacent))
    types = set(reading.types.values())

    assert problems == []
    for events, gaps in _sequences(random, types, len(reading.negations)):
        expected = 1 if reading.bindings(events, gaps) else 0
        runs = accepting_runs(bound.query, bound.templates.branches[0], events, gaps)
        assert len(runs) == expected, (events, gaps)


@random_sample(80)
@given(readings().filter(lambda reading: reading.negations), seeds)
def test_the_template_of_a_negation_accepts_exactly_its_matches(reading, random):
    bound, problems = bound_of(reading.pattern, (*reading.local, *reading.adjacent))
    types = set(reading.types.values())

    assert problems == []
    assert len(bound.templates.guards) == len(reading.negations)
    for negation, template in zip(reading.negations, bound.templates.guards, strict=True):
        for events, gaps in _sequences(random, types, 0):
            expected = 1 if reading.bindings(events, gaps, negation.body) else 0
            runs = accepting_runs(bound.query, template, events, gaps)
            assert len(runs) == expected, (negation, events)


# Small patterns, every sequence

SMALL = [
    ("A p0", ""),
    ("A p0+", "p0.l0 = 1"),
    ("SEQ(A p0, A p1)", "p0.l0 = 1"),
    ("SEQ(A p0+, A p1+)", "p1.l0 = 1"),
    ("A p0+ OR A p1", "p0.l0 = 1"),
    ("SEQ(A p0+, NOT B p1, A p2+)", ""),
    ("SEQ(NOT B p0, A p1+)", ""),
    ("SEQ(A p0+, NOT B p1)", ""),
    ("(SEQ(NOT B p0, A p1+))+", ""),
    ("(SEQ(A p0+, NOT B p1))+", ""),
    ("(SEQ(NOT B p0, A p1, NOT B p2))+", ""),
    ("SEQ(A p0, NOT B p1, NOT SEQ(B p2, B p3), A p4)", ""),
    ("(SEQ(A p0, NOT B p1, A p2+))+", ""),
    ("SEQ(A p0+, NOT B p1, A p2) OR A p3+", ""),
    ("(SEQ(A p0, NOT B p1, A p2) OR A p3)+", ""),
    ("SEQ(A p0, SEQ(NOT B p1, A p2) OR A p3)", ""),
    ("(SEQ(A p0+, B p1))+", "p0.o0 <= NEXT(p0).i0"),
    ("SEQ(A p0+, A p1+)", "p0.o0 <= NEXT(p0).i0"),
    ("SEQ(A p0+, A p1+)", "A.o0 <= NEXT(A).i0"),
    ("SEQ(A p0+, A p1+)", "p0.o0 <= p1.i0"),
    ("(A p0 OR A p1)+", "p0.o0 <= NEXT(p1).i0"),
]


def _read(text: str, where: str) -> Reading:
    pattern = parse_tree(f"RETURN COUNT(*) PATTERN {text} WITHIN 1 s").queries[0].pattern
    local: tuple[Local, ...] = ()
    adjacent: tuple[Adjacent, ...] = ()
    if where.endswith("= 1"):
        local = (Local(*where.removesuffix(" = 1").split(".")),)
    elif where:
        one, other = (side.replace("NEXT(", "").replace(")", "") for side in where.split(" <= "))
        (first, out), (second, into) = one.split("."), other.split(".")
        adjacent = (Adjacent(first, second, out, into, "NEXT" in where),)
    return Reading(pattern, local, adjacent)


def _every_sequence(reading: Reading, length: int) -> Any:
    """All events and gaps of a length that differ in what the query looks at."""
    used = [p.attribute for p in reading.local]
    used += [name for p in reading.adjacent for name in (p.out, p.into)]
    inside = {alias for n in reading.negations for alias in Reading(n).types}
    types = sorted({name for alias, name in reading.types.items() if alias not in inside})
    rows = [
        {"type": name, **dict(zip(used, values, strict=True))}
        for name in types
        for values in product((0, 1), repeat=len(used))
    ]
    numbers = range(len(reading.negations))
    sets = [
        frozenset(n for n, taken in zip(numbers, choice, strict=True) if taken)
        for choice in product((False, True), repeat=len(numbers))
    ]
    return product(product(rows, repeat=length), product(sets, repeat=length + 1))


@pytest.mark.parametrize(("text", "where"), SMALL)
def test_every_short_sequence_has_one_run_where_it_is_a_trend(text, where):
    reading = _read(text, where)
    bound, problems = bound_of(text, (*reading.local, *reading.adjacent))
    template = bound.templates.branches[0]

    assert problems == []
    accepted = 0
    for length in range(1, 5 if len(reading.negations) < 2 else 4):
        for events, gaps in _every_sequence(reading, length):
            expected = 1 if reading.bindings(list(events), list(gaps)) else 0
            assert len(accepting_runs(bound.query, template, list(events), list(gaps))) == expected
            accepted += expected
    assert accepted


# P AND Q


@random_sample(120)
@given(st.data(), seeds)
def test_the_template_of_both_sides_of_and_accepts_what_both_accept_by_one_run(data, random):
    one = data.draw(matchable_patterns(types=("A", "B"), max_places=4))
    other, _ = renamed(
        data.draw(matchable_patterns(types=("A", "B"), max_places=4)),
        len(Reading(one).types),
    )
    whole = tree.AndPattern((one, other))
    local, adjacent = _predicates(data.draw, Reading(whole))
    sides = [Reading(side, local, adjacent) for side in (one, other)]
    # Negations are numbered through both sides.
    for side in sides:
        side.negations = Reading(whole).negations
        side.types = Reading(whole).types
    bound, problems = bound_of(whole, (*local, *adjacent))
    note(print_pattern(whole))

    assert problems == []
    for events, gaps in _sequences(random, {"A", "B"}, len(sides[0].negations)):
        accepts = [bool(side.bindings(events, gaps)) for side in sides]
        for accepted, template in zip(accepts, bound.templates.branches, strict=True):
            runs = accepting_runs(bound.query, template, events, gaps)
            assert len(runs) == accepted, (events, gaps)
        runs = accepting_runs(bound.query, bound.templates.both, events, gaps)
        assert len(runs) == all(accepts), (events, gaps)


# Aliases


def _marked(bound: Any, run: tuple[int, ...]) -> int:
    """How many events of a run the query's first aggregate sees."""
    states = bound.templates.branches[0].states
    aggregate = set(bound.query.aggregates[0].places)
    seen = [aggregate & set(states[number].places) for number in run]
    for number, places in zip(run, seen, strict=True):
        assert places in (set(), set(states[number].places))
    return sum(1 for places in seen if places)


@random_sample(100)
@given(st.data(), seeds)
def test_an_aggregate_of_an_alias_sees_its_events_or_is_refused_for_a_reason(data, random):
    reading = data.draw(readings(types=("A", "B"), max_places=5))
    inside = {alias for n in reading.negations for alias in Reading(n).types}
    alias = data.draw(st.sampled_from([a for a in reading.types if a not in inside]))
    predicates = (*reading.local, *reading.adjacent)
    note(print_pattern(reading.pattern))
    bound, problems = bound_of(reading.pattern, predicates, f"COUNT({alias})")

    if problems:
        assert [problem.code for problem in problems] == ["ambiguous-alias"]
        assert len(reading.types) > 4 or _is_ambiguous(Reading(reading.pattern), alias)
        return
    for events, gaps in _sequences(random, {"A", "B"}, len(reading.negations)):
        bindings = reading.bindings(events, gaps)
        runs = accepting_runs(bound.query, bound.templates.branches[0], events, gaps)
        assert {binding.count(alias) for binding in bindings} == {_marked(bound, r) for r in runs}


@pytest.mark.parametrize("alias", ["p0", "p1", "p2", "p3"])
def test_an_alias_beside_sets_of_places_is_seen_in_every_short_trend(alias):
    text = "SEQ(SEQ(A p0, B p1) OR SEQ(A p2, A p3), B p4+, B p5+)"
    reading = _read(text, "")
    bound, problems = bound_of(text, (), f"COUNT({alias})")

    assert problems == []
    assert bound.templates.branches[0].is_determinised
    seen = set()
    for length in range(1, 7):
        for events, gaps in _every_sequence(reading, length):
            bindings = reading.bindings(list(events), list(gaps))
            runs = accepting_runs(bound.query, bound.templates.branches[0], events, gaps)
            counts = {_marked(bound, run) for run in runs}
            assert {binding.count(alias) for binding in bindings} == counts
            seen |= counts
    assert seen == {0, 1}


def _is_ambiguous(reading: Reading, alias: str) -> bool:
    """Whether one event of a trend may or may not be the alias, predicates left aside.

    Four places need sequences of up to eight events to show it: two rounds of all of them.
    """
    for length in range(1, 9):
        for names in product("AB", repeat=length):
            events: list[Event] = [{"type": name} for name in names]
            found = reading.bindings(events, [_CLEAR] * (length + 1))
            if any(len({b[k] == alias for b in found}) > 1 for k in range(length)):
                return True
    return False


# Neighbours


@random_sample(100)
@given(st.data())
def test_an_edge_predicate_is_refused_only_where_its_variables_are_never_adjacent(data):
    reading = Reading(data.draw(matchable_patterns(types=("A", "B"), max_places=3, has_not=False)))
    variable = st.sampled_from(reading.variables())
    one, other = data.draw(variable), data.draw(variable)
    has_next = data.draw(st.booleans()) or one == other
    note(print_pattern(reading.pattern))

    _, problems = bound_of(reading.pattern, (Adjacent(one, other, "o0", "i0", has_next),))

    # Three places meet in every way they can within two rounds of all of them.
    ways = [(one, other)] if has_next else [(one, other), (other, one)]
    met = any(
        all(map(reading.is_bound, pair, way))
        for length in range(2, 7)
        for names in product(sorted(set(reading.types.values())), repeat=length)
        for binding in reading.bindings([{"type": name} for name in names], [_CLEAR] * (length + 1))
        for pair in pairwise(binding)
        for way in ways
    )
    assert [problem.code for problem in problems] == ([] if met else ["never-adjacent"])
