"""Every workload of tests/cases/refused.jsonl is refused: with one problem, its code, its place.

Would catch a wrong workload that is accepted, a code that changed, a second report for one mistake,
and an underline below the wrong words.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hamlet.errors import QueryError
from hamlet.lang.bind import bind
from hamlet.lang.parser import read

_CASES = Path(__file__).parents[2] / "cases" / "refused.jsonl"

# Why a workload is refused, its code, and the underlined text. Two reasons occur twice.
_EXPECTED = [
    ("no WITHIN", "missing-within", ")"),
    ("no PATTERN", "missing-pattern", ")"),
    ("no RETURN", "missing-return", "PATTERN"),
    ("unclosed bracket", "unclosed-bracket", "("),
    ("empty SEQ", "empty-brackets", "()"),
    ("missing item in SEQ", "missing-item", ","),
    ("SLIDE longer than WITHIN leaves gaps", "slide-longer", "15 s"),
    ("window of no length", "empty-window", "0 s"),
    ("negative window", "empty-window", "-5 s"),
    ("unknown unit", "unknown-unit", "parsecs"),
    ("NOT alone", "not-outside-seq", "NOT A"),
    ("only a negation in SEQ", "not-alone", "SEQ(NOT A)"),
    ("NOT inside NOT", "nested-not", "NOT C"),
    ("repeated negation", "repeated-not", "(NOT B)+"),
    ("NOT outside SEQ", "not-outside-seq", "NOT A"),
    ("AND is only allowed as the outermost operator", "and-not-outermost", "B AND C"),
    ("AND is only allowed as the outermost operator", "and-not-outermost", "A AND B"),
    ("C is not in the pattern", "unknown-variable", "C"),
    ("SUM needs an attribute", "missing-attribute", "B"),
    ("COUNT takes * or a variable", "unexpected-attribute", "B.x"),
    ("unknown aggregate", "unknown-aggregate", "MEDIAN"),
    ("aggregate over a negated variable", "negated-variable", "C"),
    ("C is not in the pattern", "unknown-variable", "C"),
    ("A and C are never adjacent", "never-adjacent", "A.x < C.x"),
    ("more than two variables", "too-many-variables", "A.x + B.x < C.x"),
    ("A is never followed by A", "never-adjacent", "A.x < NEXT(A).x"),
    ("NEXT without the event before it", "next-alone", "NEXT(A).x > 1"),
    ("a negated variable together with another", "negated-with-another", "C.x > A.x"),
    ("attribute without a variable", "bare-attribute", "x"),
    ("incomplete comparison", "incomplete-clause", ">"),
    ("unterminated string", "unterminated-string", "'abc WITHIN 10 s SLIDE 5 s"),
    ("district is not a grouping attribute", "not-grouped", "district"),
    ("two aggregates with one name", "duplicate-aggregate", "n"),
    ("two queries with one name", "duplicate-query", "q"),
    ("one alias for two types", "alias-two-types", "v"),
    ("an event may be p or r: the aggregate is not defined", "ambiguous-alias", "p.x"),
    ("empty GROUPBY", "empty-clause", "GROUPBY"),
    ("empty equivalence", "empty-equivalence", "[]"),
    ("empty workload", "empty-workload", ""),
    ("text after the query", "text-after-query", "TOP 5"),
]

# Where the underlined text occurs earlier too: which occurrence is meant, counted from 0.
_OCCURRENCE = {
    "no WITHIN": 1,
    "unclosed bracket": 1,
    "missing item in SEQ": 1,
    "two aggregates with one name": -1,
    "two queries with one name": -1,
    "one alias for two types": -1,
}


def _cases() -> list[dict[str, str]]:
    return [json.loads(line) for line in _CASES.read_text(encoding="utf-8").splitlines()]


def test_the_table_has_every_case_in_order():
    assert [case["why"] for case in _cases()] == [why for why, _, _ in _EXPECTED]


@pytest.mark.parametrize(
    ("text", "why", "code", "underlined"),
    [
        pytest.param(case["workload"], *expected, id=expected[0])
        for case, expected in zip(_cases(), _EXPECTED, strict=False)
    ],
)
def test_a_wrong_workload_is_refused_with_its_code_at_its_place(text, why, code, underlined):
    trees, problems = read(text)
    bound, more = bind(trees)
    problems += more

    assert [problem.code for problem in problems] == [code]
    at = problems[0].at
    # Brackets around the whole of it may be underlined with it.
    assert text[at.start : at.end] in (underlined, f"({underlined})")
    if why in _OCCURRENCE:
        starts = [i for i in range(len(text)) if text.startswith(underlined, i)]
        assert at.start == starts[_OCCURRENCE[why]]
    shown = str(QueryError("w.hql", text, tuple(problems)))
    assert f"[{code}]" in shown
    assert problems[0].remedy in shown
    assert problems[0].remedy
    if why != "two queries with one name":
        assert bound == []
