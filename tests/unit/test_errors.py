"""Errors: they travel between processes whole, and show the place of a mistake.

Would catch an error that does not pickle, facts lost on the way, and carets that are not below the
words they mark.
"""

from __future__ import annotations

import pickle

import pytest

from hamlet.errors import (
    HamletError,
    InternalError,
    PlanError,
    Problem,
    QueryError,
    ReadError,
    SchemaError,
    Span,
    UnknownName,
    WriteError,
    did_you_mean,
    line_and_column,
    listed,
    render,
)

_PROBLEM = Problem("demo", "x is odd", "Use y.", Span(7, 8))
_ERRORS = [
    QueryError("q.hql", "RETURN x", (_PROBLEM,)),
    SchemaError("s.json", "it is odd"),
    ReadError("e.csv", "it is gone"),
    WriteError("r.csv", "the disk is full"),
    PlanError("on Spark no trace is kept", "Pass --engine local."),
    UnknownName("stage", "mrged", "Stages are merged."),
    InternalError("pane 7 closed twice"),
]


@pytest.mark.parametrize("error", _ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_is_pickled_with_all_its_facts(error):
    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is type(error)
    assert copy.args == error.args
    assert vars(copy) == vars(error)
    assert str(copy) == str(error)


def test_every_error_but_our_own_has_one_root_and_a_code():
    assert all(isinstance(error, HamletError) for error in _ERRORS[:-1])
    assert not isinstance(_ERRORS[-1], HamletError)
    assert [error.code for error in _ERRORS[:-1]] == [
        "query",
        "schema",
        "read",
        "write",
        "plan",
        "unknown-name",
    ]


@pytest.mark.parametrize("error", _ERRORS[:-1], ids=lambda error: type(error).__name__)
def test_errors_compare_by_their_kind_and_facts(error):
    copy = pickle.loads(pickle.dumps(error))

    assert copy == error
    assert hash(copy) == hash(error)
    assert type(error)(*error.args[:-1], "other") != error


def test_errors_of_two_kinds_are_not_equal():
    assert ReadError("x", "it is gone") != WriteError("x", "it is gone")
    assert ReadError("x", "it is gone") != ("x", "it is gone")


def test_problems_compare_by_their_facts():
    assert Problem("demo", "x is odd", "Use y.", Span(7, 8)) == _PROBLEM
    assert Problem("demo", "x is odd", "Use y.", Span(7, 9)) != _PROBLEM


def test_an_internal_error_says_that_it_is_one():
    assert str(InternalError("pane 7 closed twice")).startswith("internal: pane 7 closed twice. ")


def test_all_problems_are_shown_one_after_another():
    second = Problem("other", "y is even", "", Span(0, 6))

    assert str(QueryError("q.hql", "RETURN x", (_PROBLEM, second))) == (
        "q.hql:1:8: x is odd  [demo]\n"
        "    RETURN x\n"
        "           ^\n"
        "    Use y.\n"
        "\n"
        "q.hql:1:1: y is even  [other]\n"
        "    RETURN x\n"
        "    ^^^^^^"
    )


@pytest.mark.parametrize(
    ("text", "offset", "expected"),
    [
        ("", 0, (1, 1)),
        ("ab", 2, (1, 3)),
        ("a\nb", 1, (1, 2)),
        ("a\nb", 2, (2, 1)),
        ("\n\n", 2, (3, 1)),
        ("a\r\nb", 3, (2, 1)),
    ],
)
def test_lines_and_columns_count_from_one(text, offset, expected):
    assert line_and_column(text, offset) == expected


def _lines(text: str, marked: str) -> list[str]:
    start = text.index(marked)
    problem = Problem("demo", "odd", "", Span(start, start + len(marked)))
    return render(problem, "q.hql", text).splitlines()[1:]


def test_the_line_of_the_mistake_is_shown_alone():
    assert _lines("one\ntwo three\nfour", "three") == ["    two three", "        ^^^^^"]


def test_a_mistake_over_several_lines_is_underlined_on_its_first():
    assert _lines("one two\nthree", "two\nthree") == ["    one two", "        ^^^"]


def test_a_tab_is_one_blank_above_and_below():
    assert _lines("\tone\ttwo", "two") == ["     one two", "         ^^^"]


def test_wide_characters_take_two_carets():
    assert _lines("界界 = 名前 x", "名前") == ["    界界 = 名前 x", "           ^^^^"]


def test_combining_characters_take_no_caret():
    assert _lines("e\u0301e\u0301 x", "x") == ["    e\u0301e\u0301 x", "       ^"]


def test_a_control_character_is_shown_as_one_that_prints():
    assert _lines("a\0b x", "x") == ["    a\ufffdb x", "        ^"]


def test_the_end_of_a_line_from_windows_is_not_shown():
    assert _lines("one two\r\nthree", "two") == ["    one two", "        ^^^"]


@pytest.mark.parametrize("before", [0, 30, 200, 5000])
@pytest.mark.parametrize("after", [0, 30, 200, 5000])
def test_a_long_line_is_cut_around_the_mistake(before, after):
    shown, mark = _lines("a" * before + "XYZ" + "b" * after, "XYZ")

    assert len(shown) <= 100
    assert shown[mark.index("^") : mark.rindex("^") + 1] == "XYZ"


def test_a_mistake_longer_than_the_line_is_cut_with_it():
    shown, mark = _lines("a" * 300 + "X" * 500, "X" * 500)

    assert len(mark) <= len(shown)
    assert set(shown[mark.index("^") :]) == {"X"}


def test_a_mistake_at_the_end_of_the_text_has_a_caret_after_it():
    problem = Problem("demo", "odd", "", Span(3, 3))

    assert render(problem, "q", "one").splitlines()[1:] == ["    one", "       ^"]


def test_an_empty_line_is_not_shown():
    assert render(_PROBLEM, "q", "\n" * 9) == "q:8:1: x is odd  [demo]\n    Use y."


@pytest.mark.parametrize(
    ("word", "known", "expected"),
    [
        ("speeed", ["speed", "driver"], " Did you mean 'speed'?"),
        ("SPEED", ["speed", "driver"], " Did you mean 'speed'?"),
        ("zzz", ["speed", "driver"], ""),
        ("speed", [], ""),
    ],
)
def test_the_nearest_known_word_is_offered_whatever_its_case(word, known, expected):
    assert did_you_mean(word, known) == expected


def test_a_long_list_is_cut():
    assert listed("abc") == "a, b, c"
    assert listed("abcd", most=3) == "a, b, c and 1 more"
    assert listed([]) == ""
