"""The meaning of expressions: three-valued truth, and arithmetic as in SQL.

`evaluate` is what every faster evaluation is tested against; these tests would catch a null that
became false or true, and a remainder or division that is not SQL's.
"""

from __future__ import annotations

import math

import pytest

from hamlet.lang.bind import bind
from hamlet.lang.parser import read
from hamlet.plan.predicates import Expression, evaluate, holds, show


def _local(where: str) -> Expression:
    bound, problems = bind(read(f"RETURN COUNT(*) PATTERN A WHERE {where} WITHIN 1 s")[0])
    assert problems == []
    return bound[0].query.local[0]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("A.x = 3", True),
        ("A.x != 3", False),
        ("A.n = 3", None),
        ("A.n != 3", None),
        ("A.missing < 3", None),
        ("NOT A.n = 3", None),
        ("A.n = 3 OR A.x = 3", True),
        ("A.n = 3 OR A.x = 4", None),
        ("NOT (A.n = 3 AND A.x = 4)", True),
        ("NOT (A.n = 3 AND A.x = 3)", None),
        ("A.n IS NULL", True),
        ("A.x IS NOT NULL", True),
        ("A.n + 1 IS NULL", True),
        ("A.x IN (1, 3)", True),
        ("A.x NOT IN (1, 3)", False),
        ("A.n IN (1, 3)", None),
        ("A.n NOT IN (1, 3)", None),
        ("A.s = 'it''s'", True),
        ("A.b", True),
        ("NOT A.b", False),
        ("-A.x = -3", True),
        ("A.x / 2 = 1.5", True),
        ("A.x / 0 = 1", None),
        ("A.x % 0 = 1", None),
        ("A.x % 2 = 1", True),
        ("-A.x % 2 = -1", True),
        ("A.x % -2 = 1", True),
        ("A.f % 2 = 0.5", True),
        ("A.x - 1 - 1 = 1", True),
        ("2 * A.x + 1 >= 7", True),
        ("A.i % 2 = 0", None),
        ("A.x % A.i = 3", True),
        ("A.one OR FALSE", None),
        ("A.one OR TRUE", True),
        ("NOT (A.zero AND TRUE)", None),
        ("NOT (A.zero AND FALSE)", True),
        ("NOT A.one", None),
        ("NOT A.s", None),
        ("A.s OR A.b", True),
    ],
)
def test_an_expression_has_the_value_that_sql_gives_it(where, expected):
    event = {
        "x": 3,
        "n": None,
        "s": "it's",
        "b": True,
        "f": 2.5,
        "i": math.inf,
        "one": 1,
        "zero": 0,
    }
    condition = _local(where)

    assert evaluate(condition, {"this": event}) is expected
    assert holds(condition, {"this": event}) is (expected is True)


@pytest.mark.parametrize("value", [0, 1, 1.0, "true", None])
def test_what_is_neither_true_nor_false_satisfies_nothing(value):
    for where in ("A.v", "NOT A.v", "A.v OR FALSE", "NOT (A.v AND TRUE)", "NOT NOT A.v"):
        assert not holds(_local(where), {"this": {"v": value}})


@pytest.mark.parametrize(
    "where",
    [
        "a - (b - c) = 0",
        "(a + b) * c < 2",
        "NOT (a = 1 AND b = 2) OR c IN (1, 'x')",
        "-(a + b) < 0",
        "a IS NOT NULL",
        "(a = 1 OR b = 2) AND c = TRUE",
    ],
)
def test_an_expression_is_shown_with_the_brackets_it_needs(where):
    written = where
    for name in "abc":
        written = written.replace(name, f"A.{name}") if name in written else written

    if written.startswith("("):
        written = f"{written} OR A.z = 1"
        where = f"{where} OR z = 1"
    assert show(_local(written)) == where
