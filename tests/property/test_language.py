"""Laws of the language: printing and reading are inverse, and no text is too odd to be answered.

Would catch a bracket, name, number or literal that does not survive printing; a text on which
reading or binding fails with anything but problems; a problem that points outside the text; and an
edge predicate that means something else after its terms were moved across the comparison.
"""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import assume, example, given
from hypothesis import strategies as st
from sampling import random_sample

from hamlet.errors import QueryError
from hamlet.lang import tree
from hamlet.lang.bind import bind
from hamlet.lang.parser import KEYWORDS, parse_tree, read
from hamlet.lang.printer import (
    print_condition,
    print_duration,
    print_pattern,
    print_query,
    print_workload,
)
from hamlet.plan.predicates import Column, Constant, Operation, compare, edge_predicate, evaluate
from hamlet.plan.predicates import roles_of as roles
from hamlet.schema import Schema
from hamlet.testing import conditions, definitions, matchable_patterns, patterns, queries

_CASES = Path(__file__).parents[1] / "cases"

# Printing


@random_sample(150)
@given(patterns())
def test_a_printed_pattern_is_read_back_as_it_was(pattern):
    text = f"RETURN COUNT(*) PATTERN {print_pattern(pattern)} WITHIN 1 s"

    assert repr(parse_tree(text).queries[0].pattern) == repr(pattern)


# By repr, because 1 == 1.0 == True.
@random_sample(150)
@given(conditions())
def test_a_printed_condition_is_read_back_as_it_was(condition):
    text = f"RETURN COUNT(*) PATTERN A WHERE {print_condition(condition)} WITHIN 1 s"

    assert repr(parse_tree(text).queries[0].where) == repr(condition)


@random_sample(100)
@given(queries())
def test_a_printed_query_is_read_back_as_it_was(query):
    assert parse_tree(print_query(query)).queries == (query,)


@random_sample(50)
@given(st.lists(queries(), min_size=1, max_size=3), st.lists(definitions(), max_size=2))
def test_a_printed_workload_is_read_back_as_it_was(found, defined):
    workload = tree.WorkloadTree(tuple(found), tuple(defined))

    assert parse_tree(print_workload(workload)) == workload


@random_sample(100)
@given(matchable_patterns())
def test_a_matchable_pattern_is_accepted(pattern):
    trees, problems = read(f"RETURN COUNT(*) PATTERN {print_pattern(pattern)} WITHIN 1 s")
    bound, more = bind(trees)

    assert problems + more == []
    assert len(bound) == 1


# Amounts that are read need not be sensible: a window of 1e20 days is refused later.
@random_sample(100)
@given(st.from_regex(r"[0-9]{1,18}(\.[0-9]{1,30})?(e[+-]?[0-9]{1,2})?", fullmatch=True))
@example("1e20")
@example("1000000000000000000.0000000001")
def test_a_printed_duration_is_read_back_as_it_was(amount):
    within = parse_tree(f"RETURN COUNT(*) PATTERN A WITHIN {amount} s").queries[0].within

    text = f"RETURN COUNT(*) PATTERN A WITHIN {print_duration(within)}"

    assert parse_tree(text).queries[0].within == within


# Any text

_SCHEMA = Schema({"d": "number"}, {"A": {"x": "number", "s": "text"}, "B": {"pool": "boolean"}})

_WORDS = [
    *sorted(KEYWORDS),
    *("return", "Pattern", "group", "by", "GROUP BY", "GROUP-BY", "COUNT(*)", "SUM", "MAX", "A"),
    *("B", "A.x", "B.pool", "NEXT(A).x", "A+", "T", "d", "s", "min", "ms", "q1:", "`a b`", "``"),
    *("10 s", "5 min", "0", "1.5", "1e400", "1e-400", "99999999999999999999", "'t'", "'it''s'"),
    *("(", ")", "[", "]", ",", ".", "+", "-", "*", "/", "%", ";", ":", "=", "==", "!=", "<>", "<"),
    *(
        "<=",
        ">",
        ">=",
        "'",
        '"',
        "`",
        "--",
        "-- c\n",
        "\n",
        "\t",
        "\r\n",
        "&",
        "!",
        "é",
        "界",
        "\0",
    ),
]
_soup = st.lists(st.sampled_from(_WORDS), max_size=40).map(" ".join)
_clauses = st.tuples(
    st.just("RETURN"),
    _soup,
    st.just("PATTERN"),
    _soup,
    st.just("WHERE"),
    _soup,
    st.just("WITHIN 1 s"),
).map(" ".join)


_LINES = (_CASES / "conformance.jsonl").read_text(encoding="utf-8").splitlines()
_VALID = [json.loads(line)["workload"] for line in _LINES[::20]]


@st.composite
def _damaged(draw: st.DrawFn) -> str:
    """A valid workload, or one that the grammar allows, with pieces taken out and put in."""
    text = draw(st.sampled_from(_VALID) | queries().map(print_query))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        text = text[:start] + draw(st.sampled_from(["", "", *_WORDS])) + text[end:]
    return text


def _check_answer(text: str) -> None:
    """Queries or problems, each problem inside the text and fit to be shown."""
    for schema in (None, _SCHEMA):
        trees, problems = read(text)
        assert problems or (trees and None not in trees)
        bound, more = bind(trees, schema)
        problems += more
        assert problems or len(bound) == len(trees)
        for problem in problems:
            assert 0 <= problem.at.start <= problem.at.end <= len(text)
            assert problem.message
            assert problem.remedy
            assert problem.code in str(QueryError("w.hql", text, (problem,)))


@random_sample(150)
@given(st.text())
def test_any_text_gives_queries_or_problems(text):
    _check_answer(text)


@random_sample(150)
@given(_soup | _clauses)
@example("RETURN COUNT(*) PATTERN A WITHIN 99999999999999999999 s")
def test_words_of_the_language_in_any_order_give_queries_or_problems(text):
    _check_answer(text)


@random_sample(120)
@given(_damaged())
def test_a_damaged_query_gives_queries_or_problems(text):
    _check_answer(text)


@random_sample(100)
@given(queries())
def test_any_query_of_the_grammar_is_bound_or_refused(query):
    _check_answer(print_query(query))


# Moving terms across a comparison

_columns = st.builds(Column, st.sampled_from(["previous", "next"]), st.sampled_from(["x", "y"]))
_constants = st.integers(-9, 9).map(Constant.of)
_terms = st.one_of(
    _columns, _constants, st.builds(lambda c, k: Operation("*", (c, k)), _columns, _constants)
)


def _larger_sum(inner):
    minus = st.builds(lambda e: Operation("-", (e,)), inner)
    joined = st.builds(lambda s, a, b: Operation(s, (a, b)), st.sampled_from("+-"), inner, inner)
    return minus | joined


_sums = st.recursive(_terms, _larger_sum, max_leaves=5)
_rows = st.fixed_dictionaries(
    {name: st.none() | st.integers(-20, 20) for name in ("x", "y")},
)
_symbols = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])


@random_sample(150)
@given(_symbols, _sums, _sums, st.lists(st.tuples(_rows, _rows), min_size=5, max_size=20))
def test_a_linear_comparison_of_two_events_means_the_same_with_its_terms_moved(
    symbol, left, right, pairs
):
    condition = compare(symbol, left, right)
    assume(roles(condition) == {"previous", "next"})

    found = edge_predicate(condition)

    assert found.is_ordered
    assert found.condition == condition
    assert roles(found.previous) == {"previous"}
    assert roles(found.next) == {"next"}
    moved = Operation(found.operator, (found.previous, found.next))
    for previous, after in pairs:
        events = {"previous": previous, "next": after}
        assert evaluate(moved, events) is evaluate(condition, events)
