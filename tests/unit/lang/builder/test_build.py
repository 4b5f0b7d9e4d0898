"""Queries written in Python: what each function prints, and what is refused and how.

Would catch a word of the language that cannot be said in Python, a mistake that is lost or said of
another place, an operator that Python reads differently than it looks, and drafts that change.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import numpy as np
import pytest

import hamlet
from hamlet import QueryError, Schema, Workload
from hamlet.build import (
    and_,
    attr,
    avg,
    count,
    equal,
    event,
    max_,
    min_,
    next_,
    not_,
    or_,
    plus,
    query,
    seq,
    sum_,
)

BASE = query().returns(count()).pattern(plus("A")).within("10 s")

EXAMPLE = """\
slow_cancel: RETURN district, COUNT(*), MIN(T.speed) AS slowest
PATTERN SEQ(Accept, Travel T+, NOT Pickup, Cancel)
WHERE [driver, rider] AND T.speed < 10 AND T.speed >= NEXT(T).speed
GROUPBY district
WITHIN 30 min SLIDE 5 min"""


def test_the_query_of_the_readme_can_be_written_in_python():
    draft = (
        hamlet.query("slow_cancel")
        .returns("district", count(), min_("T.speed").named("slowest"))
        .pattern(seq("Accept", plus("Travel", alias="T"), not_("Pickup"), "Cancel"))
        .where(equal("driver", "rider"), attr("T.speed") < 10)
        .where(attr("T.speed") >= next_("T.speed"))
        .group_by("district")
        .within("30 min")
        .slide("5 min")
    )

    assert str(draft) == EXAMPLE
    assert Workload.of(draft).describe() == Workload.parse(EXAMPLE).describe()


def test_clauses_come_in_any_order():
    one = query("q").within("1 h").group_by("d").pattern("A").returns(count())

    assert str(one) == "q: RETURN COUNT(*)\nPATTERN A\nGROUPBY d\nWITHIN 1 h"


def test_a_draft_is_the_beginning_of_many_queries():
    slow, fast = (BASE.where(attr("A.x") < limit) for limit in (1, 2))

    assert "WHERE" not in str(BASE)
    assert "A.x < 1" in str(slow)
    assert "A.x < 2" in str(fast)
    assert query().returns(count()).pattern(plus("A")).within("10 s") == BASE


def test_what_is_said_again_is_added_or_replaced():
    draft = BASE.returns(sum_("A.x")).group_by("d").group_by("e").within("5 s").pattern("A")

    assert str(draft) == "RETURN COUNT(*), SUM(A.x)\nPATTERN A\nGROUPBY d, e\nWITHIN 5 s"


def test_unnamed_queries_are_called_by_position():
    assert [q.name for q in Workload.of(BASE, BASE.named("x"), BASE).queries] == ["q1", "x", "q3"]


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (or_("A", "B"), "A OR B"),
        (and_(plus("A"), seq("B", "C")), "A+ AND SEQ(B, C)"),
        (or_("A"), "A"),
        (plus(event("A", "x")), "A x+"),
        (plus(plus("A", alias="x")), "A x++"),
        (seq(not_("N"), event("group by")), "SEQ(NOT N, `group by`)"),
        (avg("T.speed"), "AVG(T.speed)"),
        (max_(attr("a.b", "c.d")).named("AS"), "MAX(`a.b`.c.d) AS `AS`"),
        (count(event("A", "x")), "COUNT(x)"),
        (attr("A.x") + 1 - 2 * attr("A.y") / 3 % 4, "A.x + 1 - 2 * A.y / 3 % 4"),
        ((attr("A.x") + 1) * -2, "(A.x + 1) * -2"),
        (1 - (-attr("A.x")), "1 - -A.x"),
        (1 / attr("A.x") == 7 % attr("A.x"), "1 / A.x = 7 % A.x"),
        (attr("A.x") < 5, "A.x < 5"),
        (1 + attr("A.x") != "it's", "1 + A.x != 'it''s'"),
        ((attr("A.x") <= 1) & attr("A.b") & ~attr("A.c"), "A.x <= 1 AND A.b AND NOT A.c"),
        (attr("A.a") & (attr("A.b") | attr("A.c")), "A.a AND (A.b OR A.c)"),
        (attr("A.x").is_in(-1, 2.5, "a", True, None), "A.x IN (-1, 2.5, 'a', TRUE, NULL)"),
        (attr("A.x").is_not_in(1), "A.x NOT IN (1)"),
        (attr("A.x").is_null() | attr("A.x").is_not_null(), "A.x IS NULL OR A.x IS NOT NULL"),
        (attr("A.x") == np.float64(0.5), "A.x = 0.5"),
        (attr("A.x") == np.int32(-7), "A.x = -7"),
        (attr("A.x") == np.bool_(True).item(), "A.x = TRUE"),
    ],
)
def test_what_is_made_prints_as_the_language_has_it(made, text):
    assert str(made) == text.replace("`a.b`.c.d", "`a.b`.`c.d`")
    assert text.split("`")[0] in repr(made)


# What is refused when the workload is made, as text is


@pytest.mark.parametrize(
    ("draft", "code", "underlined"),
    [
        (query("q").pattern("A").within("1 s"), "missing-return", "q: "),
        (query().returns(count()).within("1 s"), "missing-pattern", ")"),
        (query().returns(count()).pattern("A"), "missing-within", "A"),
        (BASE.returns("d"), "not-grouped", "d"),
        (BASE.returns(sum_("B.x")), "unknown-variable", "B"),
        (BASE.returns(sum_("A")), "missing-attribute", "A"),
        (BASE.returns(count("A.x")), "unexpected-attribute", "A.x"),
        (BASE.where(attr("speed") < 1), "bare-attribute", "speed"),
        (BASE.where(attr("A.x") == None), "null-comparison", "A.x = NULL"),  # noqa: E711
        (BASE.where(equal()), "empty-equivalence", "[]"),
        (BASE.where(attr("A.x") == 2**63), "number-range", str(2**63)),
        (BASE.pattern(seq()), "empty-brackets", "SEQ()"),
        (BASE.pattern(not_("A")), "not-outside-seq", "NOT A"),
        (BASE.within("10 sceonds"), "unknown-unit", "sceonds"),
        (BASE.slide("1 h"), "slide-longer", "1 h"),
        (BASE.within(timedelta(0)), "empty-window", "0 s"),
    ],
)
def test_a_mistake_is_the_one_that_text_has(draft, code, underlined):
    with pytest.raises(QueryError) as caught:
        Workload.of(draft)

    problem = caught.value.problems[0]
    assert problem.code == code
    assert caught.value.text == str(draft)
    shown = caught.value.text[problem.at.start : problem.at.end]
    assert shown in underlined or underlined in shown


def test_mistakes_of_all_queries_are_found_together():
    with pytest.raises(QueryError) as caught:
        Workload.of(BASE.returns("d"), BASE.slide("1 h"), name="mine")

    assert [p.code for p in caught.value.problems] == ["not-grouped", "slide-longer"]
    assert str(caught.value).startswith("mine:1:18: ")


def test_a_schema_is_asked_as_for_text():
    schema = Schema(types={"A": {"x": "number"}})

    with pytest.raises(QueryError, match="unknown-attribute"):
        Workload.of(BASE.returns(sum_("A.y")), schema=schema)


def test_no_query_at_all_is_a_mistake():
    for drafts in ((), (query(),)):
        with pytest.raises(QueryError, match="empty-workload"):
            Workload.of(*drafts)


def test_a_clause_that_is_missing_is_found_by_its_tree_too():
    with pytest.raises(QueryError, match="missing-pattern"):
        _ = query().returns(count()).within("1 s").tree


# What is refused at once


@pytest.mark.parametrize(
    ("length", "code"),
    [
        ("soon", "missing-duration"),
        ("10", "missing-unit"),
        ("1 s SLIDE 1 s", "unexpected-text"),
        ("1 s; RETURN COUNT(*) PATTERN B WITHIN 1 s", "unexpected-text"),
        ("", "empty-clause"),
    ],
)
@pytest.mark.parametrize("clause", ["within", "slide"])
def test_what_is_no_length_of_time_is_refused_where_it_stands(clause, length, code):
    with pytest.raises(QueryError) as caught:
        getattr(BASE, clause)(length)

    if clause == "slide" and "SLIDE" in length:
        code = "repeated-clause"
    assert code in [p.code for p in caught.value.problems]
    assert caught.value.text == f"{clause.upper()} {length}"
    assert "COUNT(*) PATTERN A" not in str(caught.value)


@pytest.mark.parametrize(
    ("made", "error", "said"),
    [
        (lambda: 1 < attr("A.x") < 5, TypeError, "in brackets"),
        (lambda: attr("A.x") and attr("A.y"), TypeError, "write & for and"),
        (lambda: not attr("A.x"), TypeError, "~ for not"),
        (lambda: attr("A.x") < 5 & attr("A.y") > 3, TypeError, "brackets around each"),
        (lambda: (attr("A.x") < 5) | 3, TypeError, "brackets around each"),
        (lambda: attr("A.x") == float("nan"), TypeError, "cannot be written"),
        (lambda: attr("A.x") == Decimal("0.1"), TypeError, "cannot be written"),
        (lambda: attr("A.x.y"), ValueError, "attr('A.x', 'y')"),
        (lambda: next_("x"), ValueError, "next_('T.x')"),
        (lambda: plus(seq("A"), alias="x"), TypeError, "alias is for one event"),
        (lambda: seq("A", attr("A.x")), TypeError, "name of a type"),
        (lambda: event(5), TypeError, "not 5"),
        (lambda: count(seq("A", "B")), TypeError, "one type or alias"),
        (lambda: avg(attr("A.x") + 1), TypeError, "over an attribute"),
        (lambda: min_(next_("A.x")), TypeError, "over an attribute"),
        (lambda: BASE.returns(5), TypeError, "count()"),
        (lambda: BASE.where("A.x < 5"), TypeError, "no condition"),
        (lambda: BASE.within(5), TypeError, "timedelta"),
        (lambda: {attr("A.x")}, TypeError, "unhashable"),
    ],
)
def test_what_python_reads_otherwise_is_refused_at_once(made, error, said):
    with pytest.raises(error) as caught:
        made()

    assert said in str(caught.value)


def test_a_sum_of_very_many_terms_is_refused_and_not_a_crash():
    total = attr("A.x")
    for _ in range(5000):
        total = total + 1

    with pytest.raises(QueryError, match="too-deep"):
        Workload.of(BASE.where(total > 0))


def test_a_conjunction_of_very_many_parts_is_no_deeper_than_one():
    conditions = [attr("A.x") != number for number in range(2000)]

    workload = Workload.of(BASE.where(*conditions))

    assert len(workload.queries) == 1


def test_the_public_names_are_few():
    assert len(hamlet.__all__) <= 12
    assert "query" in hamlet.__all__
