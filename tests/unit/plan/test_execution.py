"""How edges and loops are executed, by their conditions and by what is known of events.

Would catch an edge that is executed in a way its condition does not allow, and an explain that says
of an edge one thing in one place and another in another.
"""

from __future__ import annotations

import pytest

from hamlet import Workload
from hamlet.plan.execution import Execution, Grain, guard_grain_of
from hamlet.plan.program import Program, Role, compile_set
from hamlet.plan.template import END, START


def program_of(text: str) -> Program:
    plan = Workload.parse(text).plan
    (sharable,) = plan.sets
    return compile_set(plan, sharable)


def grains(text: str) -> dict[tuple[str, str], set[Grain]]:
    """The granularities of the edges between types, guards left out."""
    program = program_of(text)
    execution = Execution(program)
    found: dict[tuple[str, str], set[Grain]] = {}
    for unit in execution.units:
        for source, target, condition in execution.edges_of[unit]:
            first = "START" if source == START else execution.type_of(source)
            second = "END" if target == END else execution.type_of(target)
            found.setdefault((first, second), set()).add(execution.grains[condition])
    return found


@pytest.mark.parametrize(
    ("rest", "grain"),
    [
        pytest.param("SEQ(A, B+)", Grain.TYPE, id="free"),
        pytest.param("SEQ(A, B+) WHERE B.x > 1", Grain.TYPE, id="local predicate"),
        pytest.param("SEQ(A, B+) WHERE B.x < NEXT(B).x", Grain.ORDERED, id="comparison"),
        pytest.param("SEQ(A, B+) WHERE NEXT(B).x - B.x < 5", Grain.ORDERED, id="rearranged"),
        pytest.param(
            "SEQ(A, B+) WHERE B.x < NEXT(B).x AND B.y > NEXT(B).y", Grain.SCAN, id="several"
        ),
        pytest.param("SEQ(A, B+) WHERE B.x < NEXT(B).x OR B.x = 0", Grain.SCAN, id="disjunction"),
        pytest.param("SEQ(A, B+) WHERE B.x * NEXT(B).x < 5", Grain.SCAN, id="product"),
        pytest.param(
            "SEQ(A, B+) WHERE B.x < NEXT(B).x AND B.x * NEXT(B).x < 5",
            Grain.SCAN,
            id="a comparison and a product",
        ),
    ],
)
def test_the_grain_of_a_loop_follows_from_its_predicates(rest: str, grain: Grain):
    found = grains(f"RETURN COUNT(*) PATTERN {rest} WITHIN 10 s")

    assert found["B", "B"] == {grain}
    assert found["A", "B"] == {Grain.TYPE}
    assert found["START", "A"] == found["B", "END"] == {Grain.TYPE}


@pytest.mark.parametrize(
    ("where", "grain"),
    [
        pytest.param("B.x < NEXT(B).x", Grain.TAKEN, id="comparison"),
        pytest.param("B.x >= NEXT(B).y", Grain.TAKEN, id="of two values"),
        pytest.param("B.x = NEXT(B).x", Grain.SCAN, id="equality"),
        pytest.param("B.x < NEXT(B).x AND B.y > NEXT(B).y", Grain.SCAN, id="several"),
    ],
)
def test_what_next_goes_on_with_is_taken_in_order(where: str, grain: Grain):
    found = grains(f"RETURN COUNT(*) PATTERN SEQ(A, B+, C) MATCH NEXT WHERE {where} WITHIN 10 s")

    assert found["B", "B"] == {grain}
    assert found["B", "C"] == {Grain.TAKEN}
    assert found["A", "B"] == {Grain.TYPE}


def test_a_guard_alone_is_a_reset_of_a_running_total():
    found = grains("RETURN COUNT(*) PATTERN SEQ(NOT N, A, NOT M, B+, NOT N) WITHIN 10 s")

    assert set.union(*found.values()) == {Grain.TYPE}


def test_a_guard_that_must_not_be_clear_needs_a_look_at_every_predecessor():
    found = grains("RETURN COUNT(*) PATTERN SEQ(A, B+) OR SEQ(A, NOT C, B) WITHIN 10 s")

    assert found["A", "B"] == {Grain.TYPE, Grain.SCAN}


@pytest.mark.parametrize(
    ("pattern", "grain"),
    [
        pytest.param("SEQ(A, NOT C, B) WHERE A.x < B.x", Grain.ORDERED, id="one event"),
        pytest.param("SEQ(A, NOT SEQ(C, D), B) WHERE A.x < B.x", Grain.SCAN, id="two events"),
        pytest.param("SEQ(A, NOT SEQ(C, D), B)", Grain.TYPE, id="two events, no predicate"),
        pytest.param(
            "SEQ(A, NOT SEQ(C+, D), B) WHERE C.x < NEXT(C).x", Grain.SCAN, id="with a predicate"
        ),
    ],
)
def test_an_edge_with_a_guard_depends_on_what_is_negated(pattern: str, grain: Grain):
    assert grains(f"RETURN COUNT(*) PATTERN {pattern} WITHIN 10 s")["A", "B"] == {grain}


def test_guards_look_at_stored_events_where_they_have_predicates():
    program = program_of(
        "RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(C+, D), B) WHERE C.x < NEXT(C).x WITHIN 10 s"
    )
    execution = Execution(program)

    (guard,) = execution.guards_of[0]

    assert program.template_role[guard] == Role.GUARD
    found = {
        (source, target): guard_grain_of(program.conditions[c])
        for source, target, c in execution.edges_of[guard]
    }
    assert {s == t: g for (s, t), g in found.items()} == {True: Grain.SCAN, False: Grain.TYPE}
    assert all(map(execution.keeps_events, execution.units))


# What events tell


RISING = "RETURN SUM(B.x) PATTERN SEQ(A, B+) WHERE B.x < NEXT(B).x WITHIN 10 s"


def loops_of(execution: Execution) -> set[Grain]:
    return {grain for loops in execution.loops().values() for grain in loops.values()}


def test_sides_that_cannot_be_compared_are_looked_at_one_by_one():
    program = program_of(RISING)

    assert loops_of(Execution(program)) == {Grain.ROWS}
    assert loops_of(Execution(program, comparable=[True])) == {Grain.ROWS}
    assert loops_of(Execution(program, comparable=[False])) == {Grain.SCAN}


def test_sums_of_values_of_different_sizes_are_kept_for_each_query():
    program = program_of("RETURN SUM(B.x) PATTERN SEQ(A, B+) WITHIN 10 s")

    assert loops_of(Execution(program)) == {Grain.BURST}
    assert loops_of(Execution(program, is_summable=lambda _, _twice: False)) == {Grain.TYPE}


@pytest.mark.parametrize(
    ("asked", "bursts"),
    [
        pytest.param("COUNT(*) PATTERN SEQ(A, B+, C) MATCH NEXT", {"B"}, id="moves"),
        pytest.param("MAX(DURATION) PATTERN SEQ(A, B+, C)", {"B"}, id="durations"),
        pytest.param("MAX(LENGTH) PATTERN SEQ(A, B+, C)", set(), id="every event is one more"),
        pytest.param("COUNT(*) PATTERN SEQ(A, B+) MATCH NEXT", {"B"}, id="each event ends some"),
        pytest.param("COUNT(*) PATTERN SEQ(B+, C) MATCH NEXT", set(), id="each begins one"),
        pytest.param("COUNT(*) PATTERN SEQ(A, B+, C) MATCH CONTIGUOUS", {"B"}, id="passes"),
        pytest.param(
            "COUNT(*) PATTERN SEQ(A, B x+, C, B y+) MATCH CONTIGUOUS WHERE x.v > 1",
            set(),
            id="an event may be for one of two loops that wait for one step",
        ),
        # What comes first of B and D takes the trends that wait at A.
        pytest.param("COUNT(*) PATTERN SEQ(A, (B+ OR D+), C) MATCH NEXT", {"B"}, id="in the way"),
        pytest.param("COUNT(*) PATTERN SEQ(A, (B+ OR D+), C)", {"B", "D"}, id="both read"),
    ],
)
def test_loops_wait_where_a_run_is_one_map(asked: str, bursts: set[str]):
    execution = Execution(program_of(f"RETURN {asked} WITHIN 10 s"))

    found = {
        execution.type_of(state)
        for loops in execution.loops().values()
        for state, grain in loops.items()
        if grain == Grain.BURST
    }

    assert found == bursts


def test_with_two_loops_the_one_that_more_queries_have_is_shared():
    program = program_of(
        "RETURN COUNT(*) PATTERN SEQ(A+, B+) WITHIN 10 s; RETURN COUNT(*) PATTERN B+ WITHIN 10 s"
    )
    execution = Execution(program)

    found = [
        {execution.type_of(state): grain for state, grain in loops.items()}
        for loops in execution.loops().values()
    ]

    assert found == [{"A": Grain.TYPE, "B": Grain.BURST}, {"B": Grain.BURST}]


@pytest.mark.parametrize(
    ("rest", "keeps"),
    [
        ("SEQ(A, B+)", False),
        ("SEQ(A, NOT C, B+)", False),
        ("SEQ(A, B+) WHERE B.x < NEXT(B).x", True),
        ("SEQ(A, B+) WHERE B.x * NEXT(B).x < 5", True),
        ("SEQ(A, NOT SEQ(C+, D), B) WHERE C.x < NEXT(C).x", True),
    ],
)
def test_units_keep_events_where_an_edge_or_a_guard_looks_at_them(rest: str, keeps: bool):
    execution = Execution(program_of(f"RETURN COUNT(*) PATTERN {rest} WITHIN 10 s"))

    assert [execution.keeps_events(unit) for unit in execution.units] == [keeps]


# Said once


def test_edges_and_loops_are_said_to_be_executed_in_the_same_way():
    text = "RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.x < NEXT(B).x AND B.y < NEXT(B).y WITHIN 1 h"
    described = Workload.parse(f"{text}; {text}").describe()

    (loop,) = (e for e in described["edges"] if e["from"] == e["to"] == "B")
    (sharing,) = described["sharing"]

    assert (loop["grain"], sharing["kind"]) == ("event-grained, scan", "scan")
