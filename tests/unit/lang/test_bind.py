"""From tree to query: variables resolved, predicates sorted, edge predicates recognised.

Would catch a predicate at the wrong place or of the wrong sort, a comparison turned round when its
sides were swapped, equal conditions that are different values, and mistakes of meaning that are
missed, reported twice, or reported because of another mistake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hamlet import Workload
from hamlet.errors import QueryError, line_and_column
from hamlet.lang.bind import bind
from hamlet.lang.parser import read
from hamlet.plan.predicates import Column, Constant, EdgePredicate, Operation, show, show_edge
from hamlet.plan.query import Query, Window

if TYPE_CHECKING:
    from hamlet.plan.template import PlannedQuery


def _bind(text: str) -> tuple[list[PlannedQuery], list[tuple[str, str]]]:
    """What is bound, and code and underlined text of every problem."""
    trees, problems = read(text)
    bound, more = bind(trees)
    return bound, [(p.code, text[p.at.start : p.at.end]) for p in problems + more]


def _query(pattern: str, where: str = "", returned: str = "COUNT(*)") -> Query:
    condition = f"WHERE {where}" if where else ""
    bound, problems = _bind(f"RETURN {returned} PATTERN {pattern} {condition} WITHIN 10 s")
    assert problems == []
    return bound[0].query


def _problems(pattern: str, where: str = "", returned: str = "COUNT(*)") -> list[tuple[str, str]]:
    condition = f"WHERE {where}" if where else ""
    return _bind(f"RETURN {returned} PATTERN {pattern} {condition} WITHIN 10 s")[1]


# Names and windows


def test_unnamed_queries_are_called_by_their_position():
    one = "RETURN COUNT(*) PATTERN A WITHIN 1 s"

    bound, _ = _bind(f"{one}; named: {one}; {one}")

    assert [b.query.name for b in bound] == ["q1", "named", "q3"]


def test_a_query_that_cannot_be_read_keeps_its_number():
    one = "RETURN COUNT(*) PATTERN A WITHIN 1 s"

    bound, problems = _bind(f"RETURN COUNT(*) PATTERN SEQ() WITHIN 1 s; {one}")

    assert [b.query.name for b in bound] == ["q2"]
    assert [code for code, _ in problems] == ["empty-brackets"]


def test_a_name_that_an_unnamed_query_has_is_refused():
    one = "RETURN COUNT(*) PATTERN A WITHIN 1 s"

    assert _bind(f"{one}; q1: {one}")[1] == [("duplicate-query", "q1")]
    assert _bind(f"q2: {one}; {one}")[1] == [("duplicate-query", "R")]


def test_the_slide_is_the_window_where_none_is_given():
    assert _query("A").window == Window(10_000_000, 10_000_000)


@pytest.mark.parametrize(
    ("duration", "microseconds"),
    [
        ("1 ms", 1_000),
        ("0.001 ms", 1),
        ("1.5 s", 1_500_000),
        ("2 min", 120_000_000),
        ("1 h", 3_600_000_000),
        ("0.5 d", 43_200_000_000),
        ("1e2 s", 100_000_000),
    ],
)
def test_a_duration_is_a_number_of_microseconds(duration, microseconds):
    bound, problems = _bind(f"RETURN COUNT(*) PATTERN A WITHIN {duration}")

    assert problems == []
    assert bound[0].query.window == Window(microseconds, microseconds)


@pytest.mark.parametrize(
    ("duration", "code"),
    [
        ("0.0001 ms", "odd-duration"),
        ("1.0000000000000000000000000000000000001 s", "odd-duration"),
        ("1e15 d", "odd-duration"),
        ("0 s", "empty-window"),
        ("99999999999999999999 s", "number-range"),
    ],
)
def test_a_window_that_cannot_be_is_one_problem(duration, code):
    problems = _bind(f"RETURN COUNT(*) PATTERN A WITHIN {duration}")[1]

    assert [found for found, _ in problems] == [code]


# Variables


def test_a_type_stands_for_all_its_places_and_an_alias_for_its_own():
    query = _query("SEQ(A p, B, A r)", "A.x = 1 AND p.y = 2", "COUNT(A), COUNT(p), COUNT(B)")

    assert [show(c) if c else None for c in query.local] == ["x = 1 AND y = 2", None, "x = 1"]
    assert [a.places for a in query.aggregates] == [(0, 2), (0,), (1,)]


def test_an_aggregate_of_a_type_leaves_its_negated_places_out():
    query = _query("SEQ(A, NOT A n, B)", "A.x = 1", "COUNT(A)")

    assert query.aggregates[0].places == (0,)
    assert [c is None for c in query.local] == [False, False, True]


def test_an_aggregate_is_called_by_its_text_or_by_its_new_name():
    query = _query("A", "", "count(*), SUM(A.x) AS total, max( A . y )")

    assert [a.name for a in query.aggregates] == ["COUNT(*)", "total", "MAX(A.y)"]
    assert [a.function for a in query.aggregates] == ["COUNT", "SUM", "MAX"]
    assert [a.attribute for a in query.aggregates] == [None, "x", "y"]


def test_names_that_differ_in_case_are_different():
    query = _query("SEQ(Travel, travel)", "Travel.x = 1 AND travel.X = 2")

    assert [show(c) for c in query.local] == ["x = 1", "X = 2"]


# Sorting


def test_a_condition_is_sorted_into_local_edge_and_equivalence():
    query = _query(
        "SEQ(A, T+)",
        "[driver, rider] AND (T.speed < 10 OR T.pool) AND T.x < NEXT(T).x AND A.y = T.y AND [d]",
    )

    assert query.equivalence == ("driver", "rider", "d")
    assert [show(c) if c else None for c in query.local] == [None, "speed < 10 OR pool"]
    assert [show_edge(p) for p in query.edge_predicates] == [
        "previous.x < next.x",
        "previous.y = next.y",
    ]
    assert query.adjacent == (((0, 1), (1,)), ((1, 1), (0,)))


def test_parts_in_brackets_are_parts_too():
    nested = _query("SEQ(A, B)", "(A.x = 1 AND (B.x = 2 AND [d]))")

    assert nested == _query("SEQ(A, B)", "A.x = 1 AND B.x = 2 AND [d]")


def test_equivalence_follows_grouping_in_the_partition():
    bound, _ = _bind("RETURN d, COUNT(*) PATTERN A WHERE [e, d] GROUPBY d WITHIN 1 s")

    assert bound[0].query.partition == ("d", "e")


def test_two_variables_without_next_apply_in_both_orders():
    query = _query("(SEQ(A, B))+", "A.x < B.x")

    shown = [show_edge(p) for p in query.edge_predicates]
    by_pair = {pair: [shown[n] for n in numbers] for pair, numbers in query.adjacent}
    assert by_pair == {(0, 1): ["previous.x < next.x"], (1, 0): ["previous.x > next.x"]}


def test_two_variables_without_next_apply_in_the_one_order_there_is():
    query = _query("SEQ(A, B)", "B.x > A.x")

    assert [show_edge(p) for p in query.edge_predicates] == ["previous.x < next.x"]
    assert query.adjacent == (((0, 1), (0,)),)


def test_next_applies_in_its_own_order_only():
    query = _query("(SEQ(A, B))+", "A.x < NEXT(B).x")

    assert query.adjacent == (((0, 1), (0,)),)


def test_an_edge_predicate_of_types_is_between_all_their_places():
    query = _query("SEQ(A p+, A r+)", "A.x < NEXT(A).x")

    assert query.adjacent == (((0, 0), (0,)), ((0, 1), (0,)), ((1, 1), (0,)))


def test_an_edge_predicate_may_stand_inside_a_negation():
    query = _query("SEQ(A, NOT (B b+), C)", "b.x < NEXT(b).x")

    assert query.adjacent == (((1, 1), (0,)),)


def test_equal_conditions_under_different_names_are_equal_values():
    one = _query("SEQ(A, Travel T+)", "T.speed < 10 AND 3 = T.x AND T.a < NEXT(T).b")
    other = _query("SEQ(Travel s+, B)", "3 = s.x AND s.a < NEXT(s).b AND 10 > s.speed")

    assert one.local[1] == other.local[0]
    assert hash(one.local[1]) == hash(other.local[0])
    assert one.edge_predicates == other.edge_predicates


@pytest.mark.parametrize(
    ("one", "other"), [("A.x = 1", "A.x = 1.0"), ("A.x = 1", "A.x = TRUE"), ("A.x < 1", "A.x > 1")]
)
def test_conditions_that_differ_in_kind_or_direction_are_different_values(one, other):
    assert _query("A", one).local != _query("A", other).local


# Edge predicates

_BEFORE, _AFTER = Column("previous", "x"), Column("next", "x")


def _edge(where: str) -> EdgePredicate:
    return _query("T+", where).edge_predicates[0]


def test_a_plain_comparison_keeps_its_sides():
    found = _edge("T.x < NEXT(T).x")

    assert (found.previous, found.operator, found.next) == (_BEFORE, "<", _AFTER)
    assert not found.is_rearranged


def test_a_comparison_written_from_the_next_event_is_turned_round():
    found = _edge("NEXT(T).x > T.x")

    assert (found.previous, found.operator, found.next) == (_BEFORE, "<", _AFTER)
    assert not found.is_rearranged


@pytest.mark.parametrize("where", ["NEXT(T).x - T.x < 5", "5 > NEXT(T).x - T.x"])
def test_a_difference_is_taken_apart(where):
    found = _edge(where)

    assert found.previous == _BEFORE
    assert found.operator == ">"
    assert found.next == Operation("-", (_AFTER, Constant.of(5)))
    assert found.is_rearranged
    assert found.condition == Operation("<", (Operation("-", (_AFTER, _BEFORE)), Constant.of(5)))


@pytest.mark.parametrize(
    ("where", "shown", "is_rearranged"),
    [
        ("T.x + 1 <= NEXT(T).x", "previous.x + 1 <= next.x", False),
        ("2 * T.x < NEXT(T).y + 1", "2 * previous.x < next.y + 1", False),
        ("NEXT(T).x >= T.x", "previous.x <= next.x", False),
        ("NEXT(T).x = T.x", "previous.x = next.x", False),
        ("T.x != NEXT(T).x", "previous.x != next.x", False),
        ("T.x - NEXT(T).x >= 5", "previous.x >= next.x + 5", True),
        ("-5 <= NEXT(T).x - T.x", "previous.x <= next.x - -5", True),
        ("NEXT(T).x = T.x + NEXT(T).y", "previous.x = next.x - next.y", True),
        ("T.x + T.y > NEXT(T).x + T.z", "previous.x + previous.y - previous.z > next.x", True),
        ("-T.x - NEXT(T).x < 5", "previous.x > -next.x - 5", True),
        ("NEXT(T).x % 2 - T.x % 2 = 0", "previous.x % 2 = next.x % 2 - 0", True),
    ],
)
def test_a_linear_comparison_has_the_event_before_on_its_left(where, shown, is_rearranged):
    found = _edge(where)

    assert found.is_ordered
    assert found.is_rearranged is is_rearranged
    assert show_edge(found) == shown


@pytest.mark.parametrize(
    "where",
    [
        "T.x * NEXT(T).x > 5",
        "T.x < NEXT(T).x OR T.y < NEXT(T).y",
        "NOT T.x < NEXT(T).x",
        "2 * (NEXT(T).x - T.x) < 5",
        "T.x / NEXT(T).x = 2",
    ],
)
def test_any_other_condition_on_two_events_is_kept_as_it_is(where):
    found = _edge(where)

    assert not found.is_ordered
    assert (found.operator, found.previous, found.next) == ("", None, None)


# Refusals


@pytest.mark.parametrize(
    ("pattern", "where", "expected"),
    [
        ("A+", "NOT x", [("bare-attribute", "x")]),
        ("A+", "x OR A.y = 1", [("bare-attribute", "x")]),
        ("A+", "x = 1 OR y = 1", [("bare-attribute", "x"), ("bare-attribute", "y")]),
        ("A+", "[d] OR A.y = 1", [("nested-equivalence", "[d]")]),
        ("A+", "NOT [d]", [("nested-equivalence", "[d]")]),
        ("A+", "1 = 1", [("no-variable", "1 = 1")]),
        ("A+", "C.x = 1 AND C.x < C.y", [("unknown-variable", "C")] * 2),
        (
            "SEQ(A, B, C)",
            "A.x < NEXT(B).x + C.x",
            [("too-many-variables", "A.x < NEXT(B).x + C.x")],
        ),
        ("SEQ(A, NOT B, C)", "B.x < NEXT(B).x", [("never-adjacent", "B.x < NEXT(B).x")]),
        ("SEQ(A, B)", "B.x < NEXT(A).x", [("never-adjacent", "B.x < NEXT(A).x")]),
    ],
)
def test_a_part_of_a_condition_that_is_wrong_is_reported_once(pattern, where, expected):
    assert _problems(pattern, where) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("A AND B AND C", [("and-of-many", "A AND B AND C")]),
        ("A A", [("alias-is-type", "A")]),
        ("SEQ(A B, B)", [("alias-is-type", "B")]),
        ("SEQ(A v, A v)", [("alias-reused", "v")]),
        ("SEQ(A, NOT (B OR SEQ(C, NOT D)))", [("nested-not", "NOT D")]),
        ("SEQ(A, NOT NOT B)", [("nested-not", "NOT B")]),
        ("SEQ(A, SEQ(NOT B))", [("not-alone", "SEQ(NOT B)")]),
        ("SEQ(A, NOT (B AND C))", [("and-not-outermost", "B AND C")]),
        ("A+ OR NOT B", [("not-outside-seq", "NOT B")]),
    ],
)
def test_a_pattern_that_cannot_be_is_refused_at_its_part(pattern, expected):
    found = _problems(pattern)

    assert [code for code, _ in found] == [code for code, _ in expected]
    assert [text.strip("()") for _, text in found] == [text.strip("()") for _, text in expected]


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ("SEQ(A, (B AND C), D)", "and-not-outermost"),
        ("SEQ(A, NOT SEQ(C, NOT B), D)", "nested-not"),
        ("SEQ(A, (NOT B)+, D)", "repeated-not"),
    ],
)
def test_a_variable_of_a_refused_part_is_still_known(pattern, code):
    assert [found for found, _ in _problems(pattern, "B.x = 1")] == [code]


@pytest.mark.parametrize(
    ("returned", "grouping", "expected"),
    [
        ("d", "d", [("no-aggregate", "d")]),
        ("COUNT(*), COUNT(*)", "", [("duplicate-aggregate", "COUNT(*)")]),
        ("COUNT(*) AS d", "d", [("duplicate-aggregate", "d")]),
        ("COUNT(*)", "d, d", [("duplicate-attribute", "d")]),
        ("SUM(*)", "", [("missing-attribute", "*")]),
        ("d, e, COUNT(*)", "d", [("not-grouped", "e")]),
    ],
)
def test_a_returned_item_that_cannot_be_is_refused(returned, grouping, expected):
    group = f"GROUPBY {grouping}" if grouping else ""

    assert _bind(f"RETURN {returned} PATTERN A {group} WITHIN 1 s")[1] == expected


@pytest.mark.parametrize(
    ("pattern", "returned", "is_refused"),
    [
        ("SEQ(A p+, A r+)", "COUNT(p)", True),
        ("SEQ(A p, A r)", "COUNT(p)", False),
        ("SEQ(A p+, A r)", "COUNT(r)", False),
        ("SEQ(A p+, B, A r+)", "COUNT(p)", False),
        ("A p OR A r", "COUNT(p)", True),
        ("SEQ(A p, B) OR SEQ(A r, C)", "COUNT(p)", False),
        ("SEQ(A p, B) AND SEQ(A r, C)", "COUNT(p)", False),
        ("A p AND A r", "COUNT(p)", True),
        ("SEQ(A p+, A r+)", "COUNT(A)", False),
    ],
)
def test_an_alias_is_aggregated_only_where_each_event_is_surely_it_or_not(
    pattern, returned, is_refused
):
    codes = [code for code, _ in _problems(pattern, "", returned)]

    assert codes == (["ambiguous-alias"] if is_refused else [])


def test_all_mistakes_of_meaning_are_reported_with_their_places():
    text = (
        "q1: RETURN COUNT(X), d\n"
        "PATTERN SEQ(A, NOT C, B+)\n"
        "WHERE y = 1 AND\n"
        "  A.x < B.x + C.x\n"
        "WITHIN 10 s SLIDE 20 s;\n"
        "q2: RETURN SUM(C)\n"
        "PATTERN C+ WITHIN 1 parsec"
    )
    trees, problems = read(text)

    bound, more = bind(trees)

    assert problems == []
    assert bound == []
    places = {(p.code, *line_and_column(text, p.at.start)) for p in more}
    assert places == {
        ("unknown-variable", 1, 18),
        ("not-grouped", 1, 22),
        ("bare-attribute", 3, 7),
        ("too-many-variables", 4, 3),
        ("slide-longer", 5, 19),
        ("missing-attribute", 6, 16),
        ("unknown-unit", 7, 21),
    }
    assert len(more) == 7


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "RETURN COUNT(*) PATTERN SEQ(A, B WITHIN 10 sceonds",
            ["unclosed-bracket", "unknown-unit"],
        ),
        (
            "RETURN SUM(C.x), COUNT(A PATTERN SEQ(A, B) WHERE x = 1 AND A.x < B.x WITHIN 1 s",
            ["unclosed-bracket", "bare-attribute"],
        ),
        (
            "RETURN COUNT(C), COUNT(*) AS d PATTERN A WHERE A.x > GROUPBY d, d WITHIN 0 s",
            [
                "incomplete-clause",
                "unknown-variable",
                "duplicate-aggregate",
                "duplicate-attribute",
                "empty-window",
            ],
        ),
        (
            "RETURN MEDIAN(C.x) PATTERN SEQ( WHERE [] = 1 OR y = 1 AND C.x < D.y WITHIN 1 s",
            ["unclosed-bracket", "empty-equivalence", "unknown-aggregate"],
        ),
        ("RETURN COUNT(*) WHERE x = 1 WITHIN 1 parsec", ["missing-pattern", "bare-attribute"]),
        ("PATTERN SEQ(NOT A) WITHIN 1 s", ["missing-return", "not-alone"]),
        ("5: RETURN COUNT(C) PATTERN A WITHIN 1 s", ["unexpected-text", "unknown-variable"]),
    ],
)
def test_a_mistake_of_syntax_hides_no_other_in_what_could_be_read(text, expected):
    found = [code for code, _ in _bind(text)[1]]

    assert set(expected) <= set(found)
    assert len(found) == len(set(found))


@pytest.mark.parametrize(
    "text",
    [
        # The variables of a pattern that could not be read are not known, nor what is adjacent.
        "RETURN SUM(B.x) PATTERN SEQ(A, B WHERE A.x < NEXT(B).x WITHIN 1 s",
        "RETURN COUNT(B) PATTERN A PATTERN B WITHIN 1 s",
        "RETURN COUNT(*) PATTERN SEQ(A, (B AND C), D) WHERE A.x < B.x WITHIN 1 s",
        # Nor is what was to be grouped by.
        "RETURN d, COUNT(*) PATTERN A WHERE A.x = 1 GROUPBI d WITHIN 1 s",
        "RETURN d, COUNT(*) PATTERN A GROUPBY d, WITHIN 1 s",
        # Nor how long a window is.
        "RETURN COUNT(*) PATTERN A WITHIN 1 SLIDE 10 s",
        "RETURN COUNT(*) PATTERN A WITHIN 99999999999999999999 s SLIDE 10 s",
        # Nor what a query is called.
        "q1 7: RETURN COUNT(*) PATTERN A WITHIN 1 s; q1: RETURN COUNT(*) PATTERN A WITHIN 1 s",
    ],
)
def test_what_could_not_be_read_is_no_reason_for_another_mistake(text):
    assert len(_bind(text)[1]) == 1


@pytest.mark.parametrize(
    ("window", "is_refused"),
    [
        ("365 d SLIDE 1 ms", True),
        ("1000 s SLIDE 1 ms", False),
        ("1000001 ms SLIDE 1 ms", True),
        ("1000 h", False),
    ],
)
def test_windows_of_which_very_many_overlap_are_refused(window, is_refused):
    found = _bind(f"RETURN COUNT(*) PATTERN A+ WITHIN {window}")[1]

    assert found == ([("too-many-windows", "1 ms")] if is_refused else [])


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("RETURN CONT(*) PATTERN A WITHIN 1 s", "COUNT"),
        ("RETURN COUNT(Travl) PATTERN Travel WITHIN 1 s", "Travel"),
        ("RETURN COUNT(*) PATTERN Travel WHERE travel.x = 1 WITHIN 1 s", "Travel"),
        ("RETURN COUNT(*) PATTERN A WITHIN 1 secnd", "second"),
        ("RETURN distric, COUNT(*) PATTERN A GROUPBY district WITHIN 1 s", "district"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_nearest_one(text, offered):
    trees, problems = read(text)
    problems += bind(trees)[1]

    assert len(problems) == 1
    assert f"Did you mean '{offered}'?" in problems[0].remedy


def test_a_pattern_with_too_many_ways_to_match_is_refused_as_a_whole():
    pattern = f"SEQ({', '.join(['A+'] * 20)})"

    assert _problems(pattern) == [("too-complex", pattern)]


# Counted repetitions


def test_an_alias_stands_for_all_matches_of_its_repetition():
    query = _query("SEQ(A, B b{2,3})", "b.x < NEXT(b).x", "COUNT(b)")

    assert query.aggregates[0].places == (1, 2, 3)
    assert [pair for pair, _ in query.adjacent] == [(1, 2), (2, 3)]


def test_a_negation_inside_a_repetition_is_there_once():
    query = _query("(SEQ(A, NOT N, B)){3}")

    assert len(query.negations) == 1


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ("A{0}", "empty-pattern"),
        ("A{0,0}", "empty-pattern"),
        ("A{5,2}", "odd-count"),
        ("A{1001}", "odd-count"),
        ("A{1,1001}", "odd-count"),
        ("(A{1000}){6}", "too-many-places"),
        ("(NOT A)?", "repeated-not"),
    ],
)
def test_a_count_that_cannot_be_is_one_problem(pattern, code):
    assert [found for found, _ in _problems(f"SEQ(B, {pattern})", "A.x > 1")] == [code]


def test_a_mistake_inside_a_repetition_is_reported_once():
    assert _problems("(SEQ(A a, B a)){3}") == [("alias-two-types", "a")]


def test_an_alias_that_an_event_may_or_may_not_be_is_refused_in_repetitions_too():
    problems = _problems("SEQ(B b{1,2}, B c{1,2})", returned="COUNT(b)")

    assert problems == [("ambiguous-alias", "b")]


def test_with_and_and_match_next_an_alias_of_what_begins_alike_is_refused():
    text = "RETURN COUNT(c) PATTERN (SEQ(C c, A) OR SEQ(C, C d)) AND B {}WITHIN 10 s"

    assert Workload.parse(text.format(""))
    assert Workload.parse(text.replace(" AND B", "").format("MATCH NEXT "))
    with pytest.raises(QueryError, match="with MATCH NEXT: an event of what begins alike may be"):
        Workload.parse(text.format("MATCH NEXT "))


# ANY


def test_any_is_a_place_for_each_type_of_the_workload_and_one_for_all_others():
    query = _query("SEQ(A, ANY e)", "e.x > 1")

    assert [place.type for place in query.places] == ["A", "A", "any other type"]
    assert [place.label for place in query.places] == ["A", "ANY e", "ANY e"]
    assert [condition is None for condition in query.local] == [True, False, False]


def test_any_without_an_alias_cannot_be_spoken_of():
    assert [code for code, _ in _problems("SEQ(A, ANY)", "ANY.x > 1")] == ["unknown-variable"]


@pytest.mark.parametrize("pattern", ["A OR ANY", "ANY AND A", "SEQ(A*, ANY*)"])
def test_a_type_that_an_event_may_or_may_not_be_matched_as_is_refused(pattern):
    assert _problems(pattern, returned="COUNT(A)") == [("ambiguous-alias", "A")]


def test_the_type_that_stands_for_all_others_cannot_be_named_beside_any():
    assert [code for code, _ in _problems("SEQ(ANY, `any other type`)")] == ["alias-is-type"]


def test_a_thousand_of_one_type_behind_any_number_of_it_are_too_complex():
    assert [code for code, _ in _problems("SEQ(A*, A{1,1000}, B)")] == ["too-complex"]


# DEFINE


def test_an_alias_that_is_a_defined_type_is_refused_as_one_that_is_a_type():
    text = "DEFINE Late AS x > 1, OnTime AS x <= 1; RETURN COUNT(*) PATTERN {} WITHIN 1 s"

    assert Workload.parse(text.format("SEQ(Late, OnTime)"))
    with pytest.raises(QueryError, match="alias OnTime is also the name of a type"):
        Workload.parse(text.format("SEQ(Late OnTime)"))


def _defined(definitions: str, pattern: str = "Late", returned: str = "COUNT(*)") -> list[str]:
    text = f"DEFINE {definitions}; RETURN {returned} PATTERN {pattern} WITHIN 10 s"
    return [code for code, _ in _bind(text)[1]]


def test_a_defined_type_is_its_type_and_its_conditions():
    text = "DEFINE Big AS Trade WHERE v > 1, Huge AS Big WHERE v > 9; "
    bound, problems = _bind(text + "RETURN COUNT(Huge) PATTERN SEQ(Trade, Huge) WITHIN 1 s")

    query = bound[0].query
    assert problems == []
    assert [(place.type, place.label) for place in query.places] == [
        ("Trade", "Trade"),
        ("Trade", "Huge"),
    ]
    assert show(query.local[1]) == "v > 1 AND v > 9"
    assert query.aggregates[0].places == (1,)


@pytest.mark.parametrize(
    ("definitions", "code"),
    [
        ("Late AS T.delay > 1", "not-bare"),
        ("Late AS NEXT(T).delay > 1", "not-bare"),
        ("Late AS [delay]", "nested-equivalence"),
        ("Late AS 1 > 2", "no-variable"),
        ("Late AS delay + 1", "not-a-condition"),
        ("Late AS delay = NULL", "null-comparison"),
        ("Late AS delay > 1, Late AS delay > 2", "duplicate-type"),
        ("Very AS Late WHERE delay > 60, Late AS delay > 15", "defined-later"),
        ("Late delay > 1", "unexpected-text"),
    ],
)
def test_a_definition_that_cannot_be_is_one_problem(definitions, code):
    assert _defined(definitions) == [code]


@pytest.mark.parametrize(
    ("other", "codes"),
    [
        ("delay <= 15", []),
        ("delay = 15", []),
        ("delay < 3", []),
        ("delay >= 15", ["ambiguous-alias"]),
        ("delay = 16", ["ambiguous-alias"]),
        ("delay != 16", ["ambiguous-alias"]),
        ("delay < 16", ["ambiguous-alias"]),
        ("other <= 15", ["ambiguous-alias"]),
        ("delay < 'x'", ["ambiguous-alias"]),
    ],
)
def test_types_that_exclude_each_other_are_told_apart(other, codes):
    definitions = f"Late AS delay > 15, Other AS {other}"

    assert _defined(definitions, "(Late OR Other)+", "COUNT(Late)") == codes


def test_definitions_stand_before_the_first_query():
    query = "RETURN COUNT(*) PATTERN A WITHIN 1 s"

    assert [code for code, _ in _bind(f"{query}; DEFINE B AS x > 1")[1]] == ["clause-order"]
    assert [code for code, _ in _bind(f"DEFINE B AS x > 1 {query}")[1]] == ["missing-semicolon"]
    assert [code for code, _ in _bind("DEFINE B AS x > 1")[1]] == ["empty-workload"]


def test_a_definition_may_narrow_the_type_of_its_own_name():
    assert _defined("A AS A WHERE x > 1, B AS A WHERE y > 1", "SEQ(A, B)") == []


# BETWEEN


def test_limits_are_two_conditions_so_that_each_may_be_answered_by_an_order():
    query = _query("A a+", "NEXT(a).x BETWEEN a.x AND a.y")

    assert [show_edge(each) for each in query.edge_predicates] == [
        "previous.x <= next.x",
        "previous.y >= next.x",
    ]


@pytest.mark.parametrize(
    ("where", "problems"),
    [
        ("C.x BETWEEN 1 AND 2", [("unknown-variable", "C")]),
        ("A.x + TRUE BETWEEN 1 AND 2", [("wrong-kind", "TRUE")]),
        ("A.x BETWEEN NULL AND 2", [("null-comparison", "A.x BETWEEN NULL AND 2")]),
    ],
)
def test_a_mistake_in_limits_is_reported_once(where, problems):
    assert _problems("A", where) == problems


# Results and HAVING


def _of_query(written: str) -> list[tuple[str, str]]:
    return _bind(f"RETURN {written} WITHIN 1 s")[1]


@pytest.mark.parametrize(
    ("written", "problems"),
    [
        ("5 AS k PATTERN A", [("no-aggregate", "5")]),
        ("COUNT(*) * 2 PATTERN A", [("missing-name", "COUNT(*) * 2")]),
        ("COUNT(*) - A.x AS d PATTERN A", [("not-an-aggregate", "A.x")]),
        ("(COUNT(*) > 2) AS d PATTERN A", [("wrong-kind", "(COUNT(*) > 2)")]),
        ("SUM(A.x + 1) PATTERN A", [("odd-argument", "A.x + 1")]),
        ("SUM(A.x, A.y) PATTERN A", [("odd-argument", "A.x, A.y")]),
        ("COUNT(*) + 'u' AS d PATTERN A", [("wrong-kind", "'u'")]),
        ("COUNT(*) PATTERN A WHERE SUM(A.x) > 2", [("aggregate-in-condition", "SUM(A.x)")]),
        ("COUNT(*) PATTERN A WHERE CEIL(A.x) > 2", [("unknown-function", "CEIL(A.x)")]),
        ("COUNT(*) PATTERN A GROUPBY g HAVING g > 1", [("not-an-aggregate", "g")]),
        ("COUNT(*) PATTERN A HAVING [g]", [("not-an-aggregate", "[g]")]),
        ("COUNT(*) AS n PATTERN A HAVING n", [("not-a-condition", "n")]),
        ("COUNT(*) AS n PATTERN A HAVING NOT n", [("not-a-condition", "n")]),
        ("COUNT(*) AS n PATTERN A HAVING n > 'u'", [("wrong-kind", "'u'")]),
        ("COUNT(*) AS n PATTERN A HAVING n IN (1, 'u')", [("wrong-kind", "'u'")]),
        ("COUNT(*) PATTERN A HAVING COUNT(*)", [("not-a-condition", "COUNT(*)")]),
        ("COUNT(*) PATTERN A HAVING 1 < 2", [("no-aggregate", "1 < 2")]),
        ("COUNT(*) PATTERN A HAVING SUM(C.x) > 1", [("unknown-variable", "C")]),
        ("COUNT(*) PATTERN A HAVING MEDIAN(A.x) > 1", [("unknown-aggregate", "MEDIAN")]),
        (
            "SUM(A.x) AS `COUNT(*)` PATTERN A HAVING COUNT(*) > 1",
            [("duplicate-aggregate", "COUNT(*)")],
        ),
        ("STDDEV(A.x) PATTERN A AND B", [("not-of-pairs", "STDDEV(A.x)")]),
        ("SUM(LENGTH) PATTERN A AND B", [("not-of-pairs", "SUM(LENGTH)")]),
        ("STDDEV(LENGTH) PATTERN A", [("no-such-measure", "STDDEV(LENGTH)")]),
    ],
)  # fmt: skip
def test_what_cannot_be_returned_or_asked_of_aggregates_is_refused(written, problems):
    assert _of_query(written) == problems


def test_an_aggregate_that_is_mentioned_again_is_one():
    query = _bind(
        "RETURN SUM(a.x) AS s, SUM(a.x) / COUNT(*) AS m PATTERN A a "
        "HAVING COUNT(*) > 1 AND SUM(A.x) > m WITHIN 1 s"
    )[0][0].query

    assert [each.name for each in query.aggregates] == ["s", "COUNT(*)"]
    assert [show(each.expression) for each in query.returned] == ["s", "s / COUNT(*)"]
    assert show(query.having) == "COUNT(*) > 1 AND s > s / COUNT(*)"


# Windows


@pytest.mark.parametrize(
    ("written", "problems"),
    [
        ("1 d IN 'Europe/Roma'", [("unknown-zone", "'Europe/Roma'")]),
        ("25 h IN 'Europe/Rome'", [("odd-calendar", "'Europe/Rome'")]),
        ("1 d OFFSET 1 h IN 'Europe/Rome'", [("odd-calendar", "'Europe/Rome'")]),
        ("1 d OFFSET 1 h SLIDE 1 d", [("clause-order", "OFFSET")]),
        ("1 d OFFSET", [("missing-duration", "OFFSET")]),
        ("1 d IN Rome", [("missing-zone", "Rome")]),
        ("1 d OFFSET 3 moons", [("unknown-unit", "moons")]),
    ],
)
def test_windows_that_cannot_be_are_refused(written, problems):
    assert _bind(f"RETURN COUNT(*) PATTERN A WITHIN {written}")[1] == problems


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("1 d OFFSET 25 h", "1 d / 1 d OFFSET 1 h"),
        ("1 d OFFSET 2 d", "1 d / 1 d"),
        ("1 week", "7 d / 7 d OFFSET 4 d"),
        ("7 d", "7 d / 7 d"),
        ("2 weeks SLIDE 1 d", "14 d / 1 d"),
        ("14 d SLIDE 1 week IN 'Asia/Tokyo'", "14 d / 7 d OFFSET 4 d IN 'Asia/Tokyo'"),
    ],
)
def test_where_windows_begin(written, shown):
    query = _bind(f"RETURN COUNT(*) PATTERN A WITHIN {written}")[0][0].query

    assert str(query.window) == shown


# Times and functions


@pytest.mark.parametrize(
    ("where", "shown"),
    [
        ("NEXT(A).time - A.time < 30 min", "previous.time > next.time - 30 min"),
        ("A.time < NEXT(A).time + 5 min", "previous.time < next.time + 5 min"),
        ("NEXT(A).time - 90 s > A.due", "previous.due < next.time - 90 s"),
        ("HOUR(A.time) = HOUR(NEXT(A).time)", "HOUR(previous.time) = HOUR(next.time)"),
    ],
)
def test_a_comparison_of_times_of_two_events_is_one_that_an_order_decides(where, shown):
    (predicate,) = _query("A+", where).edge_predicates

    assert predicate.is_ordered
    assert show_edge(predicate) == shown


@pytest.mark.parametrize(
    ("where", "problems"),
    [
        ("A.time > 5", [("wrong-kind", "5")]),
        ("A.time = '2026-03-01'", [("wrong-kind", "'2026-03-01'")]),
        ("NEXT(A).time - A.time < 5", [("wrong-kind", "5")]),
        ("A.time + A.time > A.time", [("wrong-kind", "A.time + A.time")]),
        ("A.time - A.t < 5 min * 2", [("wrong-kind", "5 min * 2")]),
        ("A.time - A.t < 0.0000001 s", [("odd-duration", "0.0000001 s")]),
        ("A.time > TIMESTAMP '2026-13-01'", [("odd-timestamp", "TIMESTAMP '2026-13-01'")]),
        ("A.time > DATE '2026-03-01 08:00'", [("odd-timestamp", "DATE '2026-03-01 08:00'")]),
        ("A.time > CLOCK '2026-03-01'", [("unknown-literal", "CLOCK")]),
        ("ABS(NEXT(A).x - A.x) < 5", [("two-events", "ABS(NEXT(A).x - A.x)")]),
        ("TRIM(A.x) = 'a'", [("unknown-function", "TRIM(A.x)")]),
        ("ROUND(A.x, 2) = 1", [("too-many-arguments", "ROUND(A.x, 2)")]),
        ("HOUR(A.time, 'Europe/Berlni') = 1", [("unknown-zone", "'Europe/Berlni'")]),
        ("HOUR(A.time, A.zone) = 1", [("unknown-zone", "A.zone")]),
        ("LOWER(5) = A.s", [("wrong-kind", "5")]),
        ("COALESCE(A.x, 1, 'a') = 1", [("wrong-kind", "COALESCE(A.x, 1, 'a')")]),
        ("A.s LIKE 5", [("wrong-kind", "5")]),
        ("A.time LIKE 'a%'", [("wrong-kind", "A.time")]),
        ("LOWER(A.s)", [("not-a-condition", "LOWER(A.s)")]),
    ],
)
def test_times_and_functions_of_the_wrong_kind_are_refused_where_they_stand(where, problems):
    assert _problems("A+", where) == problems
