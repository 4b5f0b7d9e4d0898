"""Canonical text: capitals, brackets only where they are needed, one line for each clause.

Would catch needless or missing brackets and a canonical name of an aggregate that changed. That
text is read back as the same tree is tested with random trees in tests/property.
"""

from __future__ import annotations

import pytest

from hamlet.lang.parser import parse_tree
from hamlet.lang.printer import (
    print_condition,
    print_item,
    print_pattern,
    print_query,
    print_workload,
)

_START = "RETURN COUNT(*) PATTERN"


def test_a_query_has_a_line_for_each_clause():
    text = (
        "q: return count(*) as n,sum(T.x),d pattern (seq(A,(B T)+)) where ([d] and (T.x<3)) "
        "group-by d within 90 minutes slide 0.50 hours"
    )

    assert print_query(parse_tree(text).queries[0]) == (
        "q: RETURN COUNT(*) AS n, SUM(T.x), d\n"
        "PATTERN SEQ(A, B T+)\n"
        "WHERE [d] AND T.x < 3\n"
        "GROUPBY d\n"
        "WITHIN 90 min SLIDE 0.5 h"
    )


def test_queries_are_separated_by_semicolons():
    text = "RETURN COUNT(*) PATTERN A WITHIN 1 s; RETURN COUNT(*) PATTERN B WITHIN 1 d"

    assert print_workload(parse_tree(text)) == (
        "RETURN COUNT(*)\nPATTERN A\nWITHIN 1 s;\n\nRETURN COUNT(*)\nPATTERN B\nWITHIN 1 d\n"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("((A))", "A"),
        ("(A a)+", "A a+"),
        ("(A OR B)+", "(A OR B)+"),
        ("(SEQ(A, B))+", "SEQ(A, B)+"),
        ("SEQ((A OR B), (NOT (C)))", "SEQ(A OR B, NOT C)"),
        ("NOT (A OR B)", "NOT (A OR B)"),
        ("(NOT A)+", "(NOT A)+"),
        ("(A AND B) OR C", "A AND B OR C"),
        ("A AND (B OR C)", "A AND (B OR C)"),
        ("`seq` `a b`+", "`seq` `a b`+"),
        ("`Plain`", "Plain"),
        ("`Group` `by`", "`Group` `by`"),
    ],
)
def test_a_pattern_has_brackets_only_where_it_needs_them(text, expected):
    pattern = parse_tree(f"{_START} {text} WITHIN 1 s").queries[0].pattern

    assert print_pattern(pattern) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("((T.a) + (1)) < 2", "T.a + 1 < 2"),
        ("T.a - (T.b - T.c) = 0", "T.a - (T.b - T.c) = 0"),
        ("(T.a - T.b) - T.c = 0", "T.a - T.b - T.c = 0"),
        ("(T.a + T.b) * 2 = 0", "(T.a + T.b) * 2 = 0"),
        ("- (-T.a) = 0", "-(-T.a) = 0"),
        ("T.a - -1 == 0", "T.a - -1 = 0"),
        ("-(T.a + 1) <> 0", "-(T.a + 1) != 0"),
        ("(T.a = 1 or T.b = 2) and not (T.c = 3 and T.d)", None),
        ("T.a not in (-1, 2.5, 'x', true)", "T.a NOT IN (-1, 2.5, 'x', TRUE)"),
        ("T.a is not null or next(T).`null` is null", "T.a IS NOT NULL OR NEXT(T).`null` IS NULL"),
    ],
)
def test_a_condition_has_brackets_only_where_it_needs_them(text, expected):
    condition = parse_tree(f"{_START} T WHERE {text} WITHIN 1 s").queries[0].where
    if expected is None:
        expected = "(T.a = 1 OR T.b = 2) AND NOT (T.c = 3 AND T.d)"

    assert print_condition(condition) == expected


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("count( * )", "COUNT(*)"),
        ("Sum(T . duration)", "SUM(T.duration)"),
        ("COUNT(`a b`)", "COUNT(`a b`)"),
    ],
)
def test_the_canonical_name_of_an_aggregate_is_its_text(text, name):
    item = parse_tree(f"RETURN {text} PATTERN T WITHIN 1 s").queries[0].items[0]

    assert print_item(item) == name
