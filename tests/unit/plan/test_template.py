"""Templates by hand: where guards stand, what sets of places look like, what AND keeps.

Would catch a guard on an edge that does not cross its NOT, or missing from one that does, and a
template whose size or marks changed. That templates accept what they should is tested with random
patterns in tests/property.
"""

from __future__ import annotations

import pytest

from hamlet.lang.bind import bind
from hamlet.lang.parser import read
from hamlet.plan.template import END, START, PlannedQuery, Template


def _bound(pattern: str, where: str = "", returned: str = "COUNT(*)") -> PlannedQuery:
    condition = f"WHERE {where}" if where else ""
    text = f"RETURN {returned} PATTERN {pattern} {condition} WITHIN 10 s"
    trees, problems = read(text)
    bound, more = bind(trees)
    assert problems + more == []
    return bound[0]


def _guards(pattern: str) -> dict[tuple[str, str], set[int]]:
    """Every edge of a template of different types, with its guards."""
    (template,) = _bound(pattern).templates.branches
    assert not template.is_determinised
    names = {START: "START", END: "END"} | {n: s.type for n, s in enumerate(template.states)}
    return {(names[e.source], names[e.target]): set(e.condition.guards) for e in template.edges}


# Guards


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (
            "SEQ(NOT N, A, B)",
            {("START", "A"): {0}, ("A", "B"): set(), ("B", "END"): set()},
        ),
        (
            "SEQ(A, NOT N, B)",
            {("START", "A"): set(), ("A", "B"): {0}, ("B", "END"): set()},
        ),
        (
            "SEQ(A, B, NOT N)",
            {("START", "A"): set(), ("A", "B"): set(), ("B", "END"): {0}},
        ),
        (
            "SEQ(A, NOT N, NOT M, B)",
            {("START", "A"): set(), ("A", "B"): {0, 1}, ("B", "END"): set()},
        ),
        (
            "SEQ(A+, NOT N, B+)",
            {
                ("START", "A"): set(),
                ("A", "A"): set(),
                ("A", "B"): {0},
                ("B", "B"): set(),
                ("B", "END"): set(),
            },
        ),
        (
            "(SEQ(A, NOT N, B+))+",
            {
                ("START", "A"): set(),
                ("A", "B"): {0},
                ("B", "B"): set(),
                ("B", "A"): set(),
                ("B", "END"): set(),
            },
        ),
        (
            "(SEQ(NOT N, A+, B))+",
            {
                ("START", "A"): {0},
                ("A", "A"): set(),
                ("A", "B"): set(),
                ("B", "A"): {0},
                ("B", "END"): set(),
            },
        ),
        (
            "(SEQ(NOT N, A, B, NOT M))+",
            {
                ("START", "A"): {0},
                ("A", "B"): set(),
                ("B", "A"): {0, 1},
                ("B", "END"): {1},
            },
        ),
        (
            "SEQ(A, (NOT N), B OR SEQ(NOT M, C))",
            {
                ("START", "A"): set(),
                ("A", "B"): {0},
                ("A", "C"): {0, 1},
                ("B", "END"): set(),
                ("C", "END"): set(),
            },
        ),
        (
            "SEQ(A, B OR SEQ(C, NOT N), D)",
            {
                ("START", "A"): set(),
                ("A", "B"): set(),
                ("A", "C"): set(),
                ("B", "D"): set(),
                ("C", "D"): {0},
                ("D", "END"): set(),
            },
        ),
    ],
)
def test_guards_stand_on_exactly_the_edges_that_cross_the_not(pattern, expected):
    assert _guards(pattern) == expected


@pytest.mark.parametrize("pattern", ["(SEQ(NOT N, A+))+", "(SEQ(A+, NOT N))+"])
def test_the_loop_of_an_inner_repetition_stays_free(pattern):
    assert _guards(pattern)["A", "A"] == set()


@pytest.mark.parametrize(
    ("pattern", "start", "end"), [("SEQ(NOT N, A)+", {0}, set()), ("SEQ(A, NOT N)+", set(), {0})]
)
def test_the_loop_of_a_repeated_sequence_crosses_its_not(pattern, start, end):
    assert _guards(pattern) == {("START", "A"): start, ("A", "A"): {0}, ("A", "END"): end}


def test_a_negation_has_a_template_with_its_own_predicates():
    bound = _bound("SEQ(A, NOT SEQ(N n, M m+), B)", "n.x = 1 AND M.y < NEXT(M).y")

    (guard,) = bound.templates.guards
    assert [state.type for state in guard.states] == ["N", "M"]
    assert [state.atom is None for state in guard.states] == [False, True]
    assert {(e.source, e.target) for e in guard.edges if e.condition.predicates} == {(1, 1)}


# Sets of places


@pytest.mark.parametrize(
    ("pattern", "is_determinised"),
    [
        ("SEQ(A, B+)", False),
        ("SEQ(A, A)", False),
        ("SEQ(A+, A)", False),
        ("SEQ(A, B) OR SEQ(A, C)", False),
        ("SEQ(A+, A+)", True),
        ("A OR A", True),
        ("(A OR A+)+", True),
    ],
)
def test_states_are_sets_of_places_only_where_a_sequence_could_run_twice(pattern, is_determinised):
    (template,) = _bound(pattern).templates.branches

    assert template.is_determinised is is_determinised


def test_two_kleenes_of_one_type_become_two_states():
    (template,) = _bound("SEQ(A p+, A r+)").templates.branches

    assert [state.places for state in template.states] == [(0,), (0, 1)]
    assert [(e.source, e.target) for e in template.edges] == [(START, 0), (0, 1), (1, 1), (1, END)]
    assert all(edge.condition.is_free for edge in template.edges)


def test_places_with_different_conditions_are_told_apart_by_the_event():
    (template,) = _bound("A p OR A r", "p.x = 1 AND r.y = 1").templates.branches

    from_start = [edge for edge in template.edges if edge.source == START]
    assert {template.states[e.target].places for e in from_start} == {(0,), (1,), (0, 1)}
    conditions = {template.states[e.target].places: e.condition for e in from_start}
    assert len(conditions[0,].fails) == len(conditions[1,].fails) == 1
    assert conditions[0, 1].is_free


def test_no_edge_needs_what_it_forbids():
    (template,) = _bound("SEQ(A p+, A r+)", "A.x < NEXT(A).x").templates.branches

    for edge in template.edges:
        assert not any(need <= edge.condition.forbids for need in edge.condition.needs)


def test_many_places_of_one_type_with_one_edge_predicate_are_few_states():
    bound = _bound(f"SEQ({', '.join(['A+'] * 8)})", "A.x < NEXT(A).x")

    assert len(bound.templates.branches[0].states) == 8


# Marks


def _marks(bound: PlannedQuery, template: Template, number: int) -> list[bool]:
    """For each state whether an aggregate sees its events; all places of a state agree."""
    places = set(bound.query.aggregates[number].places)
    for state in template.states:
        assert places.isdisjoint(state.places) or places.issuperset(state.places)
    return [places.issuperset(state.places) for state in template.states]


def test_an_alias_is_one_state_where_other_places_of_its_type_are_sets():
    bound = _bound("SEQ(SEQ(A p, B) OR SEQ(A q, C), D x+, D y+)", "", "COUNT(p), COUNT(A)")
    (template,) = bound.templates.branches

    assert template.is_determinised
    marked = [s for s, m in zip(template.states, _marks(bound, template, 0), strict=True) if m]
    assert [(state.type, state.places) for state in marked] == [("A", (0,))]
    both = [s for s, m in zip(template.states, _marks(bound, template, 1), strict=True) if m]
    assert sorted(state.places for state in both) == [(0,), (2,)]


def test_places_that_no_aggregate_tells_apart_are_one_state():
    bound = _bound("SEQ(SEQ(A p, B) OR SEQ(A q, C), D x+, D y+)", "", "COUNT(A), SUM(D.v)")
    (template,) = bound.templates.branches

    assert (0, 2) in [state.places for state in template.states]


# P AND Q


def test_a_conjunction_has_templates_for_each_side_and_for_both():
    bound = _bound("SEQ(A, B+) AND SEQ(A a, B b)")

    one, other = bound.templates.branches
    assert [s.places for s in one.states] == [(0,), (1,)]
    assert [s.places for s in other.states] == [(2,), (3,)]
    both = bound.templates.both
    assert [(s.type, s.places) for s in both.states] == [("A", (0, 2)), ("B", (1, 3))]
    assert [(e.source, e.target) for e in both.edges] == [(START, 0), (0, 1), (1, END)]


def test_sides_without_a_common_trend_have_an_empty_template_for_both():
    both = _bound("SEQ(A, B) AND SEQ(A a, C)").templates.both

    assert both.states == ()
    assert both.edges == ()


def test_a_pattern_alone_has_no_template_for_both():
    assert _bound("A+").templates.both is None


def test_the_template_for_both_has_the_conditions_of_both():
    bound = _bound(
        "SEQ(A p, NOT N, B) AND SEQ(A q, B r)", "p.x = 1 AND q.y = 1 AND q.v < NEXT(r).v"
    )

    both = bound.templates.both
    (edge,) = [e for e in both.edges if e.source == 0]
    assert edge.condition.guards == {0}
    assert edge.condition.predicates == {0}
    assert both.states[0].atom.operator == "and"
