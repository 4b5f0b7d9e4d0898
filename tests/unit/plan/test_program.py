"""The arrays of a program against the templates they were made from.

States are told apart by their place in the layout: inside one template they are sorted by atom and
by whether they repeat, and otherwise keep their order. Everything else is read back from the arrays
and compared. Would catch a lost, doubled or misdirected edge, a guard or predicate that points
elsewhere after renumbering, and an aggregate that counts the wrong states.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sampling import random_sample

from hamlet import QueryError, Workload
from hamlet.lang.printer import print_pattern
from hamlet.plan.letters import Atom
from hamlet.plan.program import Program, Role, compile_set
from hamlet.plan.template import END, FREE, START, Alternative, Condition, PlannedQuery, Template
from hamlet.testing import matchable_patterns

if TYPE_CHECKING:
    from collections.abc import Hashable

    from hamlet.lang import tree
    from hamlet.plan.workload import WorkloadPlan

WORKLOADS = {
    "paper": """
        q1: RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10 min SLIDE 5 min;
        q2: RETURN COUNT(*), SUM(B.x) PATTERN SEQ(C, B+) WITHIN 15 min SLIDE 5 min""",
    "guards": """
        q1: RETURN COUNT(*) PATTERN SEQ(NOT N, A, NOT SEQ(M, N), B+, NOT M) WITHIN 10 s;
        q2: RETURN COUNT(*) PATTERN SEQ(A, B+, NOT N) WHERE N.x > 1 WITHIN 10 s;
        q3: RETURN COUNT(*) PATTERN (SEQ(A, B+, NOT N))+ WITHIN 10 s""",
    "edge predicates": """
        q1: RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.x < NEXT(B).x WITHIN 10 s;
        q2: RETURN COUNT(*) PATTERN SEQ(A, B+, C) WHERE B.y < NEXT(B).y AND B.x < NEXT(B).x
            WITHIN 10 s;
        q3: RETURN COUNT(*) PATTERN SEQ(B+, C) WHERE B.x < NEXT(B).x OR B.x = 0 WITHIN 10 s""",
    "sets of places": """
        q1: RETURN COUNT(*), COUNT(A) PATTERN SEQ(A a+, A b+) WHERE a.x > 1 AND b.y = 2 WITHIN 9 s;
        q2: RETURN COUNT(*) PATTERN SEQ(A a+, A b+) WHERE a.x < NEXT(a).x WITHIN 9 s;
        q3: RETURN COUNT(*) PATTERN A+ OR SEQ(A, NOT N, A) WITHIN 9 s""",
    "conjunction": """
        q1: RETURN COUNT(*), MAX(B.x) PATTERN SEQ(A, B+) AND SEQ(A, NOT N, B) WITHIN 10 s;
        q2: RETURN COUNT(B), AVG(A.y), MIN(B.x) PATTERN SEQ(A, B+) AND C WHERE A.x = 1
            WITHIN 10 s""",
    "apart": """
        q1: RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 10 s;
        q2: RETURN SUM(B.x), SUM(B.y), SUM(A.x) PATTERN SEQ(A, B b1, B b2) GROUPBY g WITHIN 10 s;
        q3: RETURN COUNT(b2), COUNT(b1) PATTERN SEQ(A, B b1, B b2+) GROUPBY g WITHIN 10 s SLIDE 4 s
        """,
}

every_workload = pytest.mark.parametrize("text", WORKLOADS.values(), ids=WORKLOADS)


def compiled(text: str) -> tuple[WorkloadPlan, list[Program]]:
    plan = Workload.parse(text).plan
    return plan, [compile_set(plan, one) for one in plan.sets]


# Reading a program back


def templates_in_order(planned: PlannedQuery) -> list[tuple[Role, Template]]:
    """The templates of a query in the order a program numbers them: guards first."""
    templates = planned.templates
    found = [(Role.GUARD, guard) for guard in templates.guards]
    found.append((Role.PATTERN, templates.branches[0]))
    if templates.both is not None:
        found += [(Role.SECOND, templates.branches[1]), (Role.BOTH, templates.both)]
    return found


def written(plan: WorkloadPlan, program: Program) -> list[tuple[int, Role, Template]]:
    """Query (by its number in the set), role and template, in order."""
    return [
        (query, role, template)
        for query, number in enumerate(program.queries)
        for role, template in templates_in_order(plan.queries[number])
    ]


def state_numbers(program: Program, number: int, template: Template) -> list[int]:
    """For each state of a template its number in the program."""
    atoms = program.alphabet.atoms
    loops = {edge.source for edge in template.edges if edge.source == edge.target}
    order = sorted(
        range(len(template.states)),
        key=lambda i: (
            atoms.index(Atom(template.states[i].type, template.states[i].atom)),
            i in loops,
            i,
        ),
    )
    laid_out = np.flatnonzero(program.state_template == number).tolist()
    assert len(laid_out) == len(order)
    return [laid_out[order.index(index)] for index in range(len(order))]


def meaning(condition: Condition, guard: Any, predicate: Any) -> Hashable:
    """A condition with what its numbers stand for instead of the numbers."""

    def way(each: Alternative) -> Hashable:
        guards = frozenset(guard(number) for number in each.guards)
        return guards, frozenset(predicate(number) for number in each.predicates)

    return (
        frozenset(frozenset(way(each) for each in need) for need in condition.needs),
        frozenset(way(each) for each in condition.forbids),
        condition.holds,
        condition.fails,
    )


def edges_of_templates(plan: WorkloadPlan, program: Program) -> Counter[Hashable]:
    found: Counter[Hashable] = Counter()
    first_of_query: dict[int, int] = {}
    for number, (query, _, template) in enumerate(written(plan, program)):
        base = first_of_query.setdefault(query, number)  # a query's guards are numbered from here
        predicates = plan.queries[program.queries[query]].query.edge_predicates
        named = {START: START, END: END} | dict(enumerate(state_numbers(program, number, template)))
        for edge in template.edges:
            condition = meaning(
                edge.condition,
                guard=lambda guard, base=base: base + guard,
                predicate=lambda index, predicates=predicates: predicates[index],
            )
            found[named[edge.source], named[edge.target], condition] += 1
    return found


def edges_of_arrays(program: Program) -> Counter[Hashable]:
    found: Counter[Hashable] = Counter()
    rows = zip(program.edge_source, program.edge_target, program.edge_condition, strict=True)
    for source, target, condition in rows:
        told = meaning(
            program.conditions[condition],
            guard=int,
            predicate=lambda index: program.predicates[index],
        )
        found[int(source), int(target), told] += 1
    return found


def check(plan: WorkloadPlan, program: Program) -> None:
    """Everything that holds for every program."""
    templates = written(plan, program)
    assert program.template_query.tolist() == [query for query, _, _ in templates]
    assert program.template_role.tolist() == [role for _, role, _ in templates]
    assert edges_of_arrays(program) == edges_of_templates(plan, program)
    assert set(edges_of_arrays(program).values()) <= {1}
    _check_states(program, templates)
    _check_order(program)
    _check_aggregates(plan, program, templates)


def _check_states(program: Program, templates: list[tuple[int, Role, Template]]) -> None:
    total = sum(len(template.states) for _, _, template in templates)
    assert len(program.state_atom) == len(program.state_template) == total
    for number, (_, _, template) in enumerate(templates):
        loops = {edge.source for edge in template.edges if edge.source == edge.target}
        for index, at in enumerate(state_numbers(program, number, template)):
            state = template.states[index]
            atom = program.alphabet.atoms[program.state_atom[at]]
            assert (atom.type, atom.condition) == (state.type, state.atom)
            assert (at in _looping(program)) == (index in loops)


def _looping(program: Program) -> set[int]:
    """The states with a loop."""
    pairs = zip(program.edge_source.tolist(), program.edge_target.tolist(), strict=True)
    return {source for source, target in pairs if source == target}


def _check_order(program: Program) -> None:
    loops = _looping(program)
    layout = [(int(atom), state in loops) for state, atom in enumerate(program.state_atom)]
    assert layout == sorted(layout)
    edges = list(zip(program.edge_target, program.edge_source, strict=True))
    assert edges == sorted(edges)
    # Both ends of an edge are in one template.
    for target, source in edges:
        if source >= 0 and target >= 0:
            assert program.state_template[source] == program.state_template[target]


def _check_aggregates(
    plan: WorkloadPlan, program: Program, templates: list[tuple[int, Role, Template]]
) -> None:
    starts = program.aggregate_state_start
    row = 0
    for query, number in enumerate(program.queries):
        for aggregate in plan.queries[number].query.aggregates:
            assert program.aggregate_query[row] == query
            expected = sorted(
                at
                for t, (owner, role, template) in enumerate(templates)
                if owner == query and role != Role.GUARD
                for index, at in enumerate(state_numbers(program, t, template))
                if set(template.states[index].places) & set(aggregate.places)
            )
            assert program.aggregate_states[starts[row] : starts[row + 1]].tolist() == expected
            row += 1
    assert starts[-1] == len(program.aggregate_states)
    assert len(starts) == row + 1 == len(program.aggregate_query) + 1


# Whole programs


@every_workload
def test_a_program_says_what_its_templates_say(text: str):
    plan, programs = compiled(text)

    assert sorted(n for program in programs for n in program.queries) == list(
        range(len(plan.queries))
    )
    for program in programs:
        check(plan, program)


def query_of(pattern: tree.Pattern) -> str:
    """A query with a random pattern, with a local predicate and aggregates of a type."""
    return (
        f"RETURN COUNT(*), COUNT(A), SUM(A.x) PATTERN {print_pattern(pattern)} "
        "WHERE p0.x > 1 WITHIN 6 s SLIDE 4 s"
    )


def is_accepted(query: str) -> bool:
    try:
        Workload.parse(query)
    except QueryError:  # the pattern has no A outside NOT
        return False
    return True


@random_sample(150)
@given(st.lists(matchable_patterns(), min_size=1, max_size=4))
def test_random_programs_say_what_their_templates_say(patterns: list[tree.Pattern]):
    queries = [query for query in map(query_of, patterns) if is_accepted(query)]
    assume(queries)

    plan, programs = compiled(";".join(queries))

    for program in programs:
        check(plan, program)


@every_workload
def test_arrays_are_flat_small_integers(text: str):
    for program in compiled(text)[1]:
        kinds = {name: array.dtype for name, array in program.arrays.items()}
        assert set(kinds.values()) == {np.dtype(np.int32)}
        assert "queries" not in kinds


# Conditions


def test_the_first_condition_is_the_free_one():
    for text in WORKLOADS.values():
        for program in compiled(text)[1]:
            assert program.conditions[0] == FREE
            assert len(set(program.conditions)) == len(program.conditions)


def test_equal_predicates_of_different_queries_are_one():
    (program,) = compiled(WORKLOADS["edge predicates"])[1]

    assert len(program.predicates) == 3


def test_guards_of_a_condition_are_templates_of_the_same_query():
    (program,) = compiled(WORKLOADS["guards"])[1]

    for edge, condition in enumerate(program.edge_condition):
        for guard in program.conditions[condition].guards:
            assert program.template_role[guard] == Role.GUARD
            ends = (int(program.edge_source[edge]), int(program.edge_target[edge]))
            state = next(end for end in ends if end >= 0)
            owner = program.template_query[program.state_template[state]]
            assert program.template_query[guard] == owner


# Aggregates


def test_an_aggregate_of_an_alias_has_the_states_of_that_alias_alone():
    plan, programs = compiled(WORKLOADS["apart"])
    program = next(p for p in programs if plan.queries[p.queries[0]].query.name == "q3")

    starts = program.aggregate_state_start.tolist()
    repeats = [
        [state in _looping(program) for state in program.aggregate_states[start:end].tolist()]
        for start, end in pairwise(starts)
    ]
    assert repeats == [[True], [False]]


def test_counting_trends_looks_at_no_state():
    (program,) = compiled(WORKLOADS["paper"])[1]

    assert program.aggregate_state_start.tolist() == [0, 0, 0, 1]
    assert program.aggregate_query.tolist() == [0, 1, 1]
