"""Reading text: precedence, spellings that mean the same, and every mistake at its place.

Would catch an operator that binds too loosely, a keyword that is case-sensitive or a name that is
not, a clause whose mistake hides another's, and a message at the wrong line or without a remedy.
"""

from __future__ import annotations

from decimal import Decimal

import pytest

from hamlet import QueryError, Workload
from hamlet.errors import line_and_column
from hamlet.lang import tree
from hamlet.lang.parser import parse_tree, read
from hamlet.lang.printer import print_condition, print_pattern, print_workload
from hamlet.lang.tree import (
    AndPattern,
    KleenePattern,
    Name,
    NotPattern,
    OrPattern,
    SeqPattern,
    TypePattern,
)


def _query(text: str) -> tree.QueryTree:
    return parse_tree(text).queries[0]


def _pattern(text: str) -> tree.Pattern:
    return _query(f"RETURN COUNT(*) PATTERN {text} WITHIN 1 s").pattern


def _where(text: str) -> tree.Expression | None:
    return _query(f"RETURN COUNT(*) PATTERN T+ WHERE {text} WITHIN 1 s").where


def _problems(text: str) -> list[tuple[str, str, int, int]]:
    """Code, underlined text, line and column of every problem."""
    _, problems = read(text)
    return [
        (p.code, text[p.at.start : p.at.end], *line_and_column(text, p.at.start)) for p in problems
    ]


A, B, C, D = (TypePattern(Name(name)) for name in "ABCD")

# Patterns


@pytest.mark.parametrize("text", ["Travel T+", "Travel+ T", "(Travel T)+", "((Travel T))+"])
def test_the_plus_of_a_type_may_stand_before_or_after_its_alias(text):
    assert _pattern(text) == KleenePattern(TypePattern(Name("Travel"), Name("T")))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NOT A+", NotPattern(KleenePattern(A))),
        ("(NOT A)+", KleenePattern(NotPattern(A))),
        ("NOT A AND B", AndPattern((NotPattern(A), B))),
        ("NOT (A AND B)", NotPattern(AndPattern((A, B)))),
        ("A OR B AND C", OrPattern((A, AndPattern((B, C))))),
        ("A AND B OR C", OrPattern((AndPattern((A, B)), C))),
        ("(A OR B) AND C", AndPattern((OrPattern((A, B)), C))),
        ("A OR B+", OrPattern((A, KleenePattern(B)))),
        ("(A OR B)+", KleenePattern(OrPattern((A, B)))),
        ("A OR B OR C", OrPattern((A, B, C))),
        ("(A OR B) OR C", OrPattern((OrPattern((A, B)), C))),
        ("NOT NOT A", NotPattern(NotPattern(A))),
        ("A++", KleenePattern(KleenePattern(A))),
        ("(SEQ(A, B+))+", KleenePattern(SeqPattern((A, KleenePattern(B))))),
        ("SEQ(A, NOT C OR D, B)", SeqPattern((A, OrPattern((NotPattern(C), D)), B))),
    ],
)
def test_plus_binds_tighter_than_not_than_and_than_or(text, expected):
    assert _pattern(text) == expected


# Conditions


@pytest.mark.parametrize(
    ("text", "bracketed"),
    [
        ("T.a = 1 OR T.b = 2 AND T.c = 3", "T.a = 1 OR (T.b = 2 AND T.c = 3)"),
        ("NOT T.a = 1 AND T.b = 2", "(NOT (T.a = 1)) AND T.b = 2"),
        ("T.a + T.b * T.c < 3", "(T.a + (T.b * T.c)) < 3"),
        ("T.a - T.b - T.c < 3", "((T.a - T.b) - T.c) < 3"),
        ("T.a / T.b / T.c < 3", "((T.a / T.b) / T.c) < 3"),
        ("-T.a * T.b < 3", "((-T.a) * T.b) < 3"),
        ("NOT T.a IN (1, 2)", "NOT (T.a IN (1, 2))"),
        ("T.a + 1 IS NOT NULL", "(T.a + 1) IS NOT NULL"),
        ("T.a == 1 AND T.b <> 2", "T.a = 1 AND T.b != 2"),
    ],
)
def test_conditions_bind_as_arithmetic_does(text, bracketed):
    assert _where(text) == _where(bracketed)


def test_subtraction_and_division_associate_to_the_left():
    assert _where("T.a - T.b - T.c < 3") != _where("T.a - (T.b - T.c) < 3")


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("1.0", 1.0), ("1e3", 1000.0), ("'it''s'", "it's"), ("''", ""), ("true", True)],
)
def test_a_literal_keeps_its_value_and_its_kind(text, value):
    found = _where(f"T.a = {text}").right.value

    assert (found, type(found)) == (value, type(value))


# Words


def test_keywords_are_case_insensitive():
    lower = "return count(*) pattern seq(A, not B, C) where A.x is not null group by d within 1 S"

    assert parse_tree(lower) == parse_tree(
        "RETURN COUNT(*) PATTERN SEQ(A, NOT B, C) WHERE A.x IS NOT NULL GROUP BY d WITHIN 1 s"
    )


def test_names_are_case_sensitive():
    assert _pattern("SEQ(Travel, travel)").items[0] != _pattern("SEQ(Travel, travel)").items[1]


@pytest.mark.parametrize("words", ["GROUPBY", "GROUP BY", "GROUP-BY", "group  by", "Group\n-\nby"])
def test_grouping_may_be_spelt_in_three_ways(words):
    query = _query(f"RETURN COUNT(*) PATTERN A {words} d, e WITHIN 1 s")

    assert query.group_by == (Name("d"), Name("e"))


def test_group_and_by_are_names_where_they_do_not_stand_together():
    query = _query("RETURN COUNT(*) PATTERN SEQ(Group, by) WHERE Group.by = 1 WITHIN 1 s")

    assert query.pattern == SeqPattern((TypePattern(Name("Group")), TypePattern(Name("by"))))


def test_an_attribute_called_group_may_be_reduced_by_a_variable_called_by():
    difference = _where("T.group - by.x > 0").left

    assert difference.left == tree.AttributeRef(Name("T"), Name("group"))
    assert difference.right == tree.AttributeRef(Name("by"), Name("x"))


def test_a_comment_ends_with_its_line():
    text = "-- all\nRETURN COUNT(*) -- items; WITHIN 3 s\nPATTERN A+--none\nWITHIN 1 s -- end"

    assert parse_tree(text) == parse_tree("RETURN COUNT(*) PATTERN A+ WITHIN 1 s")


def test_two_dashes_inside_text_are_no_comment():
    assert _where("T.a = '--x'").right.value == "--x"


def test_a_backticked_name_may_hold_anything():
    query = _query("`my query`: RETURN COUNT(`a``b`) PATTERN `SEQ` `a``b` WITHIN 1 s")

    assert query.name == Name("my query")
    assert query.pattern == TypePattern(Name("SEQ"), Name("a`b"))
    assert query.items[0].expression.arguments == (tree.BareName(Name("a`b")),)


@pytest.mark.parametrize("word", ["in", "NEXT", "pattern", "within", "null", "group", "by"])
def test_a_keyword_is_an_attribute_after_a_dot(word):
    assert _where(f"T.{word} = NEXT(T).{word}").left.attribute == Name(word)


def test_a_semicolon_may_end_the_last_query():
    text = "RETURN COUNT(*) PATTERN A WITHIN 1 s"

    assert parse_tree(text + ";") == parse_tree(text)
    assert len(parse_tree(f"{text};\n{text};").queries) == 2


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("5 ms", "ms"),
        *((f"5 {word}", "s") for word in ("s", "sec", "second", "seconds", "SECONDS")),
        *((f"5 {word}", "min") for word in ("min", "minute", "minutes", "Min")),
        *((f"5 {word}", "h") for word in ("h", "hour", "hours")),
        *((f"5 {word}", "d") for word in ("d", "day", "days")),
        ("5s", "s"),
    ],
)
def test_every_unit_of_time_is_known(text, unit):
    within = _query(f"RETURN COUNT(*) PATTERN A WITHIN {text}").within

    assert within == tree.Duration(Decimal(5), Name(unit))


# Mistakes


def test_every_query_and_every_clause_reports_its_own_mistake():
    text = (
        "q1: RETURN COUNT()\n"
        "PATTERN SEQ(A,, B)\n"
        "WHERE A.x >\n"
        "GROUPBY\n"
        "WITHIN 10;\n"
        "RETURN COUNT(*) PATTERN A WITHIN 1 s;\n"
        "\n"
        "q3: RETURN COUNT(*)\n"
        "  PATTERN (A\n"
        "WITHIN 1 s"
    )

    assert _problems(text) == [
        ("empty-brackets", "()", 1, 17),
        ("missing-item", ",", 2, 15),
        ("incomplete-clause", ">", 3, 11),
        ("empty-clause", "GROUPBY", 4, 1),
        ("missing-unit", "10", 5, 8),
        ("unclosed-bracket", "(", 9, 11),
    ]
    trees, _ = read(text)
    assert [query.is_whole for query in trees] == [False, True, False]


def test_what_can_be_read_of_a_query_is_there_and_the_rest_is_not():
    (query,), _ = read("q: RETURN d, COUNT(*) PATTERN SEQ(A WHERE A.x = 1 WITHIN 10 s")

    assert query.name == Name("q")
    assert (query.pattern, query.slide, query.is_whole) == (None, None, False)
    assert query.where == _where("A.x = 1")
    assert query.within == tree.Duration(Decimal(10), Name("s"))
    assert len(query.items) == 2
    # A GROUPBY may have been swallowed with the pattern.
    assert query.group_by is None


def test_of_a_repeated_clause_neither_is_taken():
    (query,), problems = read("RETURN COUNT(*) PATTERN A PATTERN B WITHIN 1 s")

    assert [problem.code for problem in problems] == ["repeated-clause"]
    assert query.pattern is None


@pytest.mark.parametrize(
    ("text", "code", "underlined"),
    [
        (
            "RETURN COUNT(*) PATTERN A WITHIN 1 s q: RETURN COUNT(*) PATTERN B WITHIN 1 s",
            "missing-semicolon",
            "RETURN",
        ),
        ("RETURN COUNT(*) PATTERN A WITHIN 1 s;;", "empty-query", ";"),
        ("RETURN COUNT(*) WHERE A.x = 1 PATTERN A WITHIN 1 s", "clause-order", "PATTERN"),
        ("RETURN COUNT(*) PATTERN A WHERE A.x = 1 MATCH NEXT WITHIN 1 s", "clause-order", "MATCH"),
        ("RETURN COUNT(*) PATTERN A WITHIN 1 s MATCH contiguous", "clause-order", "MATCH"),
        ("RETURN COUNT(*) MATCH ANY PATTERN A WITHIN 1 s", "clause-order", "PATTERN"),
        ("RETURN COUNT(*) PATTERN A WITHIN 1 s WITHIN 2 s", "repeated-clause", "WITHIN"),
        ("q1 RETURN COUNT(*) PATTERN A WITHIN 1 s", "missing-colon", "q1"),
        ("RETURN COUNT(*) PATTERN A) WITHIN 1 s", "unopened-bracket", ")"),
        ("RETURN COUNT(*) PATTERN (A] WITHIN 1 s", "unopened-bracket", "]"),
        ("RETURN COUNT(*) PATTERN A WHERE A.x A.y WITHIN 1 s", "missing-comparison", "A"),
        ('RETURN COUNT(*) PATTERN A WHERE A.x = "b" WITHIN 1 s', "unexpected-character", '"'),
        ("RETURN COUNT(*) PATTERN `A WITHIN 1 s", "unterminated-name", "`A WITHIN 1 s"),
        ("RETURN COUNT(*) PATTERN SEQ(A, or) WITHIN 1 s", "unexpected-text", "or"),
        ("RETURN COUNT(*) PATTERN A WITHIN s", "missing-duration", "s"),
        (
            "RETURN COUNT(*) PATTERN A WHERE A.x = 9223372036854775808 WITHIN 1 s",
            "number-range",
            "9223372036854775808",
        ),
        ("RETURN COUNT(*) PATTERN A WHERE A.x = 1e999 WITHIN 1 s", "number-range", "1e999"),
        ("RETURN COUNT(*) PATTERN A WITHIN 1e999 s SLIDE 1 s", "number-range", "1e999"),
    ],
)
def test_a_mistake_of_syntax_is_one_problem_at_its_place(text, code, underlined):
    assert [problem[:2] for problem in _problems(text)] == [(code, underlined)]


def test_a_missing_semicolon_costs_neither_query():
    trees, _ = read(
        "RETURN COUNT(*) PATTERN A WITHIN 1 s other: RETURN COUNT(*) PATTERN B WITHIN 1 s"
    )

    assert [query.name for query in trees] == [None, Name("other")]


@pytest.mark.parametrize("text", ["-- nothing", "\n \n", ""])
def test_a_text_without_a_query_is_refused(text):
    assert [problem[0] for problem in _problems(text)] == ["empty-workload"]


@pytest.mark.parametrize("amount", ["1e-99999999999999999999", "1e-9999999999"])
def test_a_number_too_small_to_hold_is_refused(amount):
    text = f"RETURN COUNT(*) PATTERN A WITHIN {amount} s"

    assert [problem[:2] for problem in _problems(text)] == [("number-range", amount)]


@pytest.mark.parametrize("word", ["ILIKE", "rlike", "REGEXP", "similar"])
def test_other_ways_to_match_text_are_answered_with_like(word):
    _, (problem,) = read(f"RETURN COUNT(*) PATTERN A WHERE A.x {word} 'b' WITHIN 1 s")

    assert " LIKE '" in problem.remedy


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("RETURN COUNT(*) PATTERN A{,3} WITHIN 1 s", "B{0,5}"),
        ("RETURN COUNT(*) PATTERN A{-1} WITHIN 1 s", "B{0,5}"),
        ("RETURN COUNT(*) PATTERN SEQ(A, B) NEXT WITHIN 1 s", "MATCH NEXT"),
        ("RETURN COUNT(*) PATTERN A WHERE A.s LIKE 'a' ESCAPE '!' WITHIN 1 s", "no sign"),
        ("DEFINE A AS x > 1 RETURN COUNT(*) PATTERN A WITHIN 1 s", "';' after definitions"),
    ],
)
def test_what_is_written_elsewhere_is_answered_with_what_to_write_here(text, said):
    (problem,) = read(text)[1]

    assert said in problem.remedy


def test_a_word_behind_a_number_is_a_unit_of_time_or_a_mistake_of_its_own():
    _, (unknown,) = read("RETURN COUNT(*) PATTERN A WHERE A.time - A.t < 5 mins WITHIN 1 s")
    _, (clause,) = read("RETURN COUNT(*) PATTERN A WHERE A.x = 5 GROUPBI d WITHIN 1 s")

    assert (unknown.code, "'min'" in unknown.remedy) == ("unknown-unit", True)
    assert "'GROUPBY'" in clause.remedy


def test_times_durations_and_functions_are_read():
    condition = _where("HOUR(T.time, 'UTC') / 2 < (T.due - TIMESTAMP '2026-03-01 08:00') / 30 min")

    assert condition.left.left == tree.Call(
        tree.Name("HOUR"),
        (tree.AttributeRef(tree.Name("T"), tree.Name("time")), tree.Literal("UTC")),
    )
    assert condition.right.left.right == tree.Moment(tree.Name("TIMESTAMP"), "2026-03-01 08:00")
    assert condition.right.right == tree.Duration(Decimal(30), tree.Name("min"))


def test_the_largest_integer_is_read():
    assert _where("T.a = 9223372036854775807").right.value == 2**63 - 1


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("RETRUN COUNT(*) PATTERN A WITHIN 1 s", "RETURN"),
        ("RETURN COUNT(*) PATERN A WITHIN 1 s", "PATTERN"),
        ("RETURN COUNT(*) PATTERN SEQ(A, B) WHER A.x = 1 WITHIN 1 s", "WHERE"),
        ("RETURN COUNT(*) PATTERN A+ WITHN 1 s", "WITHIN"),
        ("RETURN COUNT(*) PATTERN A WHERE A.x = 1 GROUPBI d WITHIN 1 s", "GROUPBY"),
        ("RETURN COUNT(*) PATTERN A WITHIN 2 s SLID 1 s", "SLIDE"),
        ("RETURN COUNT(*) PATTERN A WHER A.x = 1 WITHIN 1 s", "WHERE"),
        ("RETURN COUNT(*) PATTERN A WITHN 1 s", "WITHIN"),
        ("RETURN COUNT(*) PATTERN A+ WHEN A.x = 1 WITHIN 1 s", "WHERE"),
        ("RETURN COUNT(*) PATTERN A WITHIN 2 s SLIDING 1 s", "SLIDE"),
        ("SELECT COUNT(*) PATTERN A WITHIN 2 s", "RETURN"),
    ],
)
def test_a_misspelt_clause_is_one_problem_that_offers_the_right_word(text, offered):
    _, problems = read(text)

    assert len(problems) == 1
    assert problems[0].remedy.startswith(f"Did you mean '{offered}'? ")


def test_the_example_is_that_of_the_clause_that_is_offered():
    _, (problem,) = read("RETURN COUNT(*) PATTERN A+ WITHN 1 s")

    assert problem.remedy.endswith("Write, for example: WITHIN 30 min SLIDE 5 min")


@pytest.mark.parametrize(
    ("pattern", "instead"),
    [("A -> B", "one after the other is SEQ(A, B)")],
)
def test_signs_of_other_languages_are_answered_with_what_there_is_instead(pattern, instead):
    _, (problem,) = read(f"RETURN COUNT(*) PATTERN {pattern} WITHIN 1 s")

    assert instead in problem.remedy


# Depth


def test_needless_brackets_are_no_depth():
    assert _pattern("(" * 500 + "A" + ")" * 500) == A


@pytest.mark.parametrize(
    "text",
    [
        f"RETURN COUNT(*) PATTERN {'SEQ(' * 3000}A{')' * 3000} WITHIN 1 s",
        f"RETURN COUNT(*) PATTERN A{'+' * 3000} WITHIN 1 s",
        f"RETURN COUNT(*) PATTERN A WHERE {'NOT ' * 3000}A.x = 1 WITHIN 1 s",
    ],
)
def test_nesting_beyond_reason_is_refused(text):
    assert [problem[0] for problem in _problems(text)] == ["too-deep"]


def test_a_sum_of_very_many_terms_is_refused_with_what_to_do():
    terms = " + ".join(["A.x"] * 101)

    _, (problem,) = read(f"RETURN COUNT(*) PATTERN A WHERE {terms} = 1 WITHIN 1 s")

    assert problem.code == "too-deep"
    assert "write 2 * T.x for T.x + T.x" in problem.remedy


# Spans


@pytest.mark.parametrize(
    "text",
    ["(A OR B)+", "(NOT A)+", "NOT (A OR B)", "(A OR B) AND (C OR D)", "SEQ((A), (B OR C))"],
)
def test_the_span_of_a_pattern_includes_the_brackets_at_its_ends(text):
    whole = f"RETURN COUNT(*) PATTERN {text} WITHIN 1 s"
    span = _query(whole).pattern.span

    assert whole[span.start : span.end] == text


@pytest.mark.parametrize("text", ["(T.a + 1) * 2 = (T.b - 1)", "(T.a = 1) OR (T.b = 2)"])
def test_the_span_of_a_condition_includes_the_brackets_at_its_ends(text):
    whole = f"RETURN COUNT(*) PATTERN T WHERE {text} WITHIN 1 s"
    span = _query(whole).where.span

    assert whole[span.start : span.end] == text


@pytest.mark.parametrize(
    "written", ["A?", "A*", "A{2}", "A{2,}", "A{2,5}", "A a{2,5}", "(A OR B)?"]
)
def test_counts_of_repetitions_are_read_and_printed(written):
    pattern = parse_tree(f"RETURN COUNT(*) PATTERN {written} WITHIN 1 s").queries[0].pattern

    assert print_pattern(pattern) == written


@pytest.mark.parametrize(
    ("one", "same"),
    [("A{1,}", "A+"), ("A{0,1}", "A?"), ("A{0,}", "A*"), ("A? a", "A a?"), ("A{2,2} a", "A a{2}")],
)
def test_one_count_has_one_tree(one, same):
    trees = [
        parse_tree(f"RETURN COUNT(*) PATTERN {text} WITHIN 1 s").queries[0].pattern
        for text in (one, same)
    ]

    assert trees[0] == trees[1]


@pytest.mark.parametrize("count", ["1.5", "1e2"])
def test_a_count_is_a_whole_number(count):
    _, (problem,) = read(f"RETURN COUNT(*) PATTERN A{{{count}}} WITHIN 1 s")

    assert problem.code == "odd-count"
    assert "B{2,5}" in problem.remedy


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("PATTERN A WITHIN 1 d ORDER BY g", "ORDER"),
        ("PATTERN A GROUPBY g ORDER BY g WITHIN 1 s", "ORDER"),
        ("PATTERN A WITHIN 1 d LIMIT 5", "LIMIT"),
        ("PATTERN A LIMIT 5 WITHIN 1 d", "LIMIT"),
        ("FROM events PATTERN A WITHIN 1 d", "FROM"),
        ("PATTERN A AFTER MATCH SKIP PAST LAST ROW WITHIN 1 d", "AFTER"),
    ],
)
def test_a_clause_that_is_not_there_is_answered_with_what_to_do(text, word):
    _, (problem,) = read(f"RETURN COUNT(*) {text}")

    assert (problem.code, problem.message) == ("no-such-clause", f"there is no {word}")


@pytest.mark.parametrize(
    ("text", "code", "message", "remedy"),
    [
        (
            "COUNT(DISTINCT b.k) PATTERN B b WITHIN 1 s",
            "unknown-aggregate",
            "there is no COUNT(DISTINCT",
            "GROUPBY",
        ),
        (
            "COUNT(*) PATTERN B b+ WHERE b.x > PREV(b).x WITHIN 1 s",
            "unknown-function",
            "there is no PREV",
            "NEXT(T).speed > T.speed",
        ),
        (
            "COUNT(*) PATTERN B b+ WHERE last(b).x > 2 WITHIN 1 s",
            "unknown-function",
            "there is no LAST",
            "SEQ(T a, T+ b)",
        ),
        (
            "COUNT(*) PATTERN B+ WHERE B.x < NEXT(B.x) WITHIN 1 s",
            "odd-next",
            "NEXT is around a variable alone",
            "Write NEXT(B).x",
        ),
        (
            "COUNT(*) PATTERN B+ WHERE NEXT(NEXT(B)).x > 1 WITHIN 1 s",
            "odd-next",
            "NEXT(NEXT( is of the event after the next one",
            "Only neighbours",
        ),
        (
            "COUNT(*) PATTERN A WITHIN 1 week IN 'Europe/Rome' OFFSET 1 d",
            "clause-order",
            "OFFSET stands before IN",
            "OFFSET 1 d IN",
        ),
        ("COUNT(*) PATTERN A|B WITHIN 1 s", "unexpected-character", None, "Write OR."),
        ("COUNT(*) PATTERN (A B+ C) WITHIN 1 s", "unexpected-text", None, "PATTERN SEQ("),
        ("COUNT(*) PATTERN A WITHIN 1 month", "unknown-unit", None, "30 d"),
        ("COUNT(*) PATTERN A WITHIN 100 rows", "unknown-unit", None, "A{2,5}"),
        ("MEDIAN(A.x) PATTERN A WITHIN 1 s", "unknown-aggregate", None, "STDDEV"),
        ("FIRST(A.x) PATTERN A WITHIN 1 s", "unknown-aggregate", None, "SEQ(T a, T+)"),
        ("A.x PATTERN A WITHIN 1 s", "not-an-aggregate", None, "MAX(A.x)"),
    ],
)
def test_functions_of_other_languages_are_answered_with_what_to_write(text, code, message, remedy):
    with pytest.raises(QueryError) as refused:
        Workload.parse(f"RETURN {text}")

    (problem,) = refused.value.problems
    assert (problem.code, problem.message) == (code, message or problem.message)
    assert remedy in problem.remedy


@pytest.mark.parametrize("word", ["ANY", "NEXT", "CONTIGUOUS"])
def test_what_is_matched_is_read_and_printed(word):
    query = parse_tree(f"RETURN COUNT(*) PATTERN SEQ(A, B b+) match {word.lower()} WITHIN 1 s")

    assert query.queries[0].match == tree.Match(word)
    assert f"PATTERN SEQ(A, B b+) MATCH {word}\n" in print_workload(query)


@pytest.mark.parametrize("pattern", ["match", "A match", "match MATCH", "SEQ(match, A match+)"])
def test_match_is_a_name_where_no_word_of_its_own_follows(pattern):
    query = parse_tree(f"RETURN COUNT(*) PATTERN {pattern} WHERE [match] GROUPBY match WITHIN 1 s")

    assert query.queries[0].match is None
    assert parse_tree(print_workload(query)) == query


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("PATTERN A+ MATCH SOON WITHIN 1 s", "unexpected-text"),
        ("PATTERN A MATCH NEXT MATCH ANY WITHIN 1 s", "unexpected-text"),
        ("PATTERN SEQ(A, B) MATCH WITHIN 1 s", "unexpected-text"),
    ],
)
def test_another_word_behind_match_is_refused(text, code):
    _, problems = read(f"RETURN COUNT(*) {text}")

    assert [problem.code for problem in problems] == [code]
    assert "MATCH NEXT" in problems[0].remedy


@pytest.mark.parametrize("written", ["A.x BETWEEN 1 AND 9", "A.x NOT BETWEEN A.y - 1 AND 2 * A.z"])
def test_limits_are_read_and_printed(written):
    where = parse_tree(f"RETURN COUNT(*) PATTERN A WHERE {written} WITHIN 1 s").queries[0].where

    assert print_condition(where) == written


def test_the_and_of_limits_is_not_that_of_conditions():
    text = "RETURN COUNT(*) PATTERN A WHERE A.x BETWEEN 1 AND 9 AND A.y = 2 WITHIN 1 s"

    assert len(parse_tree(text).queries[0].where.items) == 2
