"""Kinds of expressions: numbers, text, truth values and times may only meet their own.

Would catch a comparison or sum of things that do not fit, and a fit one that is refused. Without a
schema only what the query itself contradicts is wrong.
"""

from __future__ import annotations

import pytest

from hamlet.lang.bind import bind
from hamlet.lang.parser import read
from hamlet.schema import Schema

_SCHEMA = Schema(
    {"d": "number"},
    {
        "A": {"n": "number", "s": "text", "b": "boolean", "t": "time"},
        "B": {"n": "number", "s": "number"},
    },
)


def _problems(where: str, schema: Schema | None, pattern: str = "A+") -> list[tuple[str, str]]:
    text = f"RETURN COUNT(*) PATTERN {pattern} WHERE {where} WITHIN 1 s"
    trees, problems = read(text)
    problems += bind(trees, schema)[1]
    return [(p.code, text[p.at.start : p.at.end]) for p in problems]


@pytest.mark.parametrize(
    "where",
    [
        "A.n < 3",
        "A.n + 1 = -A.d * 2.5",
        "A.s = 'x'",
        "A.s < NEXT(A).s",
        "A.s IN ('x', 'y')",
        "A.n NOT IN (1, 2.5)",
        "A.b",
        "NOT A.b",
        "A.b = TRUE",
        "A.b != (A.n = 1)",
        "A.t < NEXT(A).t",
        "A.t IS NULL OR A.s IS NOT NULL",
        "(A.n < 3) = A.b",
    ],
)
def test_what_fits_is_accepted(where):
    assert _problems(where, _SCHEMA) == []
    assert _problems(where, None) == []


@pytest.mark.parametrize(
    ("where", "code", "underlined"),
    [
        ("A.n = 'x'", "wrong-kind", "'x'"),
        ("A.s = 3", "wrong-kind", "3"),
        ("A.s < NEXT(A).n", "wrong-kind", "A.s < NEXT(A).n"),
        ("A.s + 1 = 2", "wrong-kind", "A.s"),
        ("-A.b = 2", "wrong-kind", "A.b"),
        ("A.n IN (1, 'x')", "wrong-kind", "'x'"),
        ("A.b < TRUE", "wrong-kind", "A.b < TRUE"),
        ("A.t = 3", "wrong-kind", "3"),
        ("A.n", "not-a-condition", "A.n"),
        ("A.n = 1 OR A.s", "not-a-condition", "A.s"),
        ("A.nn = 1", "unknown-attribute", "nn"),
    ],
)
def test_what_does_not_fit_the_schema_is_refused_and_passes_without(where, code, underlined):
    assert _problems(where, _SCHEMA) == [(code, underlined)]
    if "TRUE" not in where:
        assert _problems(where, None) == []


@pytest.mark.parametrize(
    ("where", "code", "underlined"),
    [
        ("A.x + 'y' = 1", "wrong-kind", "'y'"),
        ("A.x + TRUE = 1", "wrong-kind", "TRUE"),
        ("A.x + NULL = 1", "wrong-kind", "NULL"),
        ("A.x + 1 = 'y'", "wrong-kind", "'y'"),
        ("A.x = NULL", "null-comparison", "A.x = NULL"),
        ("NULL != A.x", "null-comparison", "NULL != A.x"),
        ("A.x IN (1, NULL)", "null-comparison", "NULL"),
        ("A.x < FALSE", "wrong-kind", "A.x < FALSE"),
        ("A.x + 1", "not-a-condition", "A.x + 1"),
        ("A.x = 1 OR 'y'", "not-a-condition", "'y'"),
        ("NOT A.x * 2", "not-a-condition", "A.x * 2"),
    ],
)
def test_what_contradicts_itself_is_refused_without_a_schema(where, code, underlined):
    assert _problems(where, None) == [(code, underlined)]


@pytest.mark.parametrize(
    ("where", "remedy"),
    [("A.x = NULL", "Write A.x IS NULL"), ("NULL != A.x", "Write A.x IS NOT NULL")],
)
def test_a_comparison_with_null_is_answered_with_is_null(where, remedy):
    trees, _ = read(f"RETURN COUNT(*) PATTERN A WHERE {where} WITHIN 1 s")

    assert bind(trees)[1][0].remedy == remedy


def test_an_attribute_of_another_kind_in_another_type_is_of_no_known_kind():
    assert _problems("A.s = 'x' AND B.s = 1", _SCHEMA, "SEQ(A, B)") == []
    assert _problems("B.s = 'x'", _SCHEMA, "SEQ(A, B)") == [("wrong-kind", "'x'")]


@pytest.mark.parametrize(
    ("clauses", "remedy"),
    [
        ("PATTERN A HAVING MAX(DURATION) > 30 min", "DURATION is in seconds: write 1800."),
        ("PATTERN A WHERE DATE(A.time) = '2026-03-01'", "Write DATE '2026-03-01'"),
        ("PATTERN A WHERE A.time > '2026-03-01'", "Write TIMESTAMP '2026-03-01'"),
        ("PATTERN A WHERE ABS(A.s) = 'x'", "Compare values of one kind."),
        ("PATTERN A+ WHERE NEXT(A).time - A.time < '5 min'", "Write 5 min, without quotes."),
        (
            "PATTERN A WHERE A.time > 5 min",
            "The time between neighbours is a duration: NEXT(T).time - T.time < 30 min",
        ),
        (
            "PATTERN A+ WHERE LENGTH > 3",
            "How many events a trend has says the pattern: A{2,5}; HAVING MAX(LENGTH) > 3 is about "
            "all trends of a window and group.",
        ),
        ("PATTERN ANY WHERE ANY.x > 1", "Events of ANY are called by an alias: ANY e."),
    ],
)
def test_kinds_that_do_not_meet_are_answered_with_what_to_write(clauses, remedy):
    trees, _ = read(f"RETURN COUNT(*) {clauses} WITHIN 1 s")

    assert [problem.remedy for problem in bind(trees)[1]] == [remedy]
