"""Workload analysis: who shares, who does not and why, merged templates and panes.

Would catch queries that are put together though nothing lets them share, sharable ones that are
kept apart, a wrong reason, and a merged template that lost an edge or a query.
"""

from __future__ import annotations

from itertools import combinations

import pytest

from hamlet import Workload
from hamlet.paper.definitions import end_types, predecessor_types, start_types, why_apart
from hamlet.plan.query import Window
from hamlet.plan.workload import WorkloadPlan, merged_names, pane_us, state_names


def plan(*queries: str) -> WorkloadPlan:
    """The plan of queries q1, q2, ..., each given from its pattern on."""
    whole = (query if "WITHIN" in query else f"{query} WITHIN 10 min" for query in queries)
    return Workload.parse(";".join(f"RETURN COUNT(*) PATTERN {query}" for query in whole)).plan


def reason(one: str, other: str) -> str | None:
    first, second = plan(one, other).queries
    return why_apart(first, second)


def set_of(whole: WorkloadPlan, query: int) -> int:
    """The number of the set that a query is in."""
    return next(i for i, one in enumerate(whole.sets) if query in one.queries)


# Reasons


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param("SEQ(A, B+)", "SEQ(C, B+)", None, id="a common Kleene type"),
        pytest.param("B+", "(SEQ(C, B+))+", None, id="nested"),
        pytest.param("B+", "(B OR C)+", None, id="inside a choice"),
        pytest.param("B+", "SEQ(A, C+) AND SEQ(A, B+)", None, id="on one side of AND"),
        pytest.param("B+ WITHIN 7 s", "B+ WITHIN 1 d SLIDE 3 h", None, id="any windows"),
        pytest.param(
            "B+ GROUPBY x, y", "B+ WHERE [y] GROUPBY x", None, id="partitioned alike, said apart"
        ),
        pytest.param("B+ GROUPBY x, y", "B+ GROUPBY y, x", None, id="another order of attributes"),
        pytest.param(
            "B+ GROUPBY x", "B+", "partitioned by [x] against []", id="grouped against not"
        ),
        pytest.param(
            "B+ WHERE [x]",
            "B+ WHERE [x, y]",
            "partitioned by [x] against [x, y]",
            id="another equivalence",
        ),
        pytest.param("SEQ(A, B)", "B+", "q1 repeats no single type", id="first without Kleene"),
        pytest.param("B+", "(SEQ(A, B))+", "q2 repeats no single type", id="second without"),
        pytest.param(
            "SEQ(A+, B+)",
            "C+",
            "no Kleene type in common: A+, B+ against C+",
            id="other Kleene types",
        ),
        pytest.param(
            "SEQ(A, NOT B+, C+)",
            "B+",
            "no Kleene type in common: C+ against B+",
            id="Kleene under NOT is not shared",
        ),
        pytest.param(
            "C+ GROUPBY x",
            "SEQ(A, B)",
            "partitioned by [x] against []",
            id="the partition is looked at first",
        ),
    ],
)
def test_why_two_queries_are_apart(one: str, other: str, expected: str | None):
    assert reason(one, other) == expected


def test_aggregates_do_not_keep_queries_apart():
    items = ["COUNT(*)", "COUNT(B)", "SUM(B.x)", "AVG(B.x)", "MIN(B.x)", "MAX(B.x)"]
    text = ";".join(f"RETURN {item} PATTERN SEQ(A, B+) WITHIN 10 s" for item in items)

    whole = Workload.parse(text).plan

    assert [one.queries for one in whole.sets] == [(0, 1, 2, 3, 4, 5)]


def test_reasons_agree_with_sets():
    whole = plan("SEQ(A, B+)", "SEQ(C, B+)", "D+", "B+ GROUPBY x", "C+ GROUPBY x", "SEQ(A, B)")

    for one, other in combinations(range(len(whole.queries)), 2):
        together = set_of(whole, one) == set_of(whole, other)
        assert together == (why_apart(whole.queries[one], whole.queries[other]) is None)


# Sets


def test_sets_are_what_chains_of_sharable_queries_connect():
    whole = plan("SEQ(A+, B+)", "D+", "SEQ(B+, C+)", "C+")

    assert [one.queries for one in whole.sets] == [(0, 2, 3), (1,)]
    assert whole.sets[0].shared == (("B", (0, 2)), ("C", (2, 3)))
    assert whole.sets[1].shared == ()
    assert why_apart(whole.queries[0], whole.queries[3]) is not None


def test_a_late_query_joins_two_sets_into_one():
    whole = plan("A+", "B+", "C+", "SEQ(B+, A+)")

    assert [one.queries for one in whole.sets] == [(0, 1, 3), (2,)]
    assert [set_of(whole, number) for number in range(4)] == [0, 0, 1, 0]


def test_queries_without_kleene_stand_alone():
    whole = plan("SEQ(A, B)", "SEQ(A, B)")

    assert [one.queries for one in whole.sets] == [(0,), (1,)]


def test_every_query_is_in_exactly_one_set():
    whole = plan("A+", "SEQ(A, B)", "SEQ(A+, C)", "D+ GROUPBY g", "D+", "SEQ(D+, A+)")

    members = sorted(number for one in whole.sets for number in one.queries)
    assert members == list(range(len(whole.queries)))


def test_a_set_is_partitioned_as_its_first_query_says():
    whole = plan("B+ GROUPBY y, x", "B+ GROUPBY x, y")

    assert [one.partition for one in whole.sets] == [("y", "x")]


# Panes


@pytest.mark.parametrize(
    ("windows", "pane"),
    [
        ([(10, 5), (15, 5)], 5),
        ([(10, 10)], 10),
        ([(10, 4)], 2),
        ([(6, 6), (4, 4), (9, 9)], 1),
        ([(30, 5), (20, 5)], 5),
    ],
)
def test_a_pane_is_the_longest_stretch_that_no_window_cuts(
    windows: list[tuple[int, int]], pane: int
):
    assert pane_us(Window(within, slide) for within, slide in windows) == pane


def test_windows_of_10_and_15_minutes_sliding_by_5_give_panes_of_5_minutes():
    whole = plan("SEQ(A, B+) WITHIN 10 min SLIDE 5 min", "SEQ(C, B+) WITHIN 15 min SLIDE 5 min")

    assert [one.pane_us for one in whole.sets] == [5 * 60 * 10**6]


def test_windows_of_other_sets_do_not_cut_panes():
    whole = plan("B+ WITHIN 10 min SLIDE 5 min", "C+ WITHIN 7 min")

    assert [one.pane_us for one in whole.sets] == [300_000_000, 420_000_000]


# Merged templates


def test_the_merged_template_of_the_paper():
    merged = plan("SEQ(A, B+)", "SEQ(C, B+)").sets[0].merged

    assert merged.types == ("A", "B", "C")
    edges = [(edge.source, edge.target, edge.queries) for edge in merged.edges]
    assert edges == [
        ("START", "A", (0,)),
        ("START", "C", (1,)),
        ("A", "B", (0,)),
        ("B", "B", (0, 1)),
        ("B", "END", (0, 1)),
        ("C", "B", (1,)),
    ]


def test_nesting_adds_the_paper_s_two_loops():
    flat = plan("SEQ(A, B+)", "SEQ(C, B+)").sets[0].merged
    nested = plan("(SEQ(A, B+))+", "(SEQ(C, B+))+").sets[0].merged

    more = {(e.source, e.target) for e in nested.edges} - {(e.source, e.target) for e in flat.edges}
    assert more == {("B", "A"), ("B", "C")}
    assert nested.queries_of("B", "A") == (0,)
    assert nested.queries_of("B", "C") == (1,)
    assert nested.queries_of("A", "C") == ()


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("SEQ(Late+, OnTime)", ["Late", "OnTime"]),
        ("SEQ(Late, OnTime, Late+)", ["Late #2", "OnTime", "Late #1"]),
        ("SEQ(Big, Trade)", ["Big", "Trade #1"]),
    ],
)
def test_states_of_a_defined_type_are_called_by_its_name(pattern: str, names: list[str]):
    text = "DEFINE Late AS delay > 15, OnTime AS delay <= 15, Big AS Trade WHERE volume > 9;"

    workload = Workload.parse(f"{text} RETURN COUNT(*) PATTERN {pattern} WITHIN 1 h")

    assert [state.name for state in workload.plan.sets[0].merged.states] == names


def test_a_merged_template_holds_the_template_of_each_query_and_no_more():
    whole = plan(
        "SEQ(A, B+)",
        "SEQ(B b1+, B b2+, NOT N)",
        "(B OR SEQ(A, C))+",
        "B+ AND SEQ(A, B, D)",
        "SEQ(B, C, B b2+)",
        "E+",
        "SEQ(`START`, E+)",
    )

    for one in whole.sets:
        pairs = [(edge.source, edge.target) for edge in one.merged.edges]
        assert len(set(pairs)) == len(pairs)
        names = merged_names(whole.queries[number] for number in one.queries)
        assert set(names.values()) == {state.name for state in one.merged.states}
        assert not {"START", "END"} & set(names.values())
        for number in one.queries:
            for side, template in enumerate(whole.queries[number].templates.branches):
                named = state_names(template, names)
                assert len(set(named.values())) == len(template.states) + 2
                own = {(named[edge.source], named[edge.target]) for edge in template.edges}
                having = [e for e in one.merged.edges if (number, side) in e.members]
                assert {(e.source, e.target) for e in having} == own


def test_a_type_at_two_places_of_a_pattern_is_two_states_and_the_repeated_one_is_in_common():
    merged = plan("SEQ(A, B, A a2+)", "SEQ(C, A+)").sets[0].merged

    assert [state.name for state in merged.states] == ["A #2", "B", "A #1", "C"]
    assert merged.types == ("A", "B", "C")
    assert merged.queries_of("A #1", "A #1") == (0, 1)
    assert merged.queries_of("A #2", "A #2") == ()
    assert merged.queries_of("START", "A #1") == ()


def test_aliases_tell_states_of_one_type_apart_where_all_queries_have_the_same():
    merged = plan("SEQ(A a, (SEQ(NOT N, A b))+)").sets[0].merged

    assert [(e.source, e.target) for e in merged.edges] == [
        ("START", "A a"),
        ("A a", "A b"),
        ("A b", "A b"),
        ("A b", "END"),
    ]


def test_a_template_knows_the_paper_s_start_end_and_predecessor_types():
    (template,) = plan("SEQ(A, B+)").queries[0].templates.branches

    assert start_types(template) == {"A"}
    assert end_types(template) == {"B"}
    assert predecessor_types(template, "B") == {"A", "B"}
    assert predecessor_types(template, "A") == frozenset()
