"""The rule by which texts become typed columns, read with Arrow.

Would catch a text that is taken for something else than the rule says, a column whose type depends
on how it was cut into pieces, a plain piece that is read otherwise than an odd one, and a value
that was rounded or lost on the way.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from odd_texts import FAMILIES, columns

from hamlet.events import text_rules as rules
from hamlet.events.texts import TYPES, look_at, values_of_texts

if TYPE_CHECKING:
    from hamlet.events.text_rules import Sort
    from hamlet.schema import Kind


def read(texts: list[str | None], use: Kind | None = None, *, is_time: bool = False) -> Any:
    """What a column is, its values, and which rows are faulty."""
    column = pa.array(texts, pa.string())
    look = look_at(column)
    sort = rules.sort_of(look.facts, use, is_time=is_time)
    values, faulty = values_of_texts(column, sort, look)
    return sort, values.to_pylist(), [] if faulty is None else faulty.nonzero()[0].tolist()


@pytest.mark.parametrize(
    ("texts", "sort", "values"),
    [
        (["1", " 2", "3 ", "\t4", "+5"], "long", [1, 2, 3, 4, 5]),
        (["1", "2.5", "-.5", "1e3"], "double", [1.0, 2.5, -0.5, 1000.0]),
        (["1", None, "NA", "NaN", "null", " "], "long", [1, None, None, None, None, None]),
        (["1", "0x10"], "text", ["1", "0x10"]),
        (["1", "inf"], "text", ["1", "inf"]),
        (["1", "1e400"], "text", ["1", "1e400"]),
        (["1", "02139"], "text", ["1", "02139"]),
        (["0", "0.5", "-0"], "double", [0.0, 0.5, 0.0]),
        (["9223372036854775807", "-9223372036854775808"], "long", [2**63 - 1, -(2**63)]),
        (["9223372036854775808", "1"], "unsigned", [2**63, 1]),
        (["9223372036854775808", "-1"], "text", ["9223372036854775808", "-1"]),
        (["18446744073709551616"], "text", ["18446744073709551616"]),
        (["9007199254740993", "1.5"], "text", ["9007199254740993", "1.5"]),
        (["9" * 5000], "text", ["9" * 5000]),
        (["true", "FALSE", "1"], "boolean", [True, False, True]),
        (["yes", "no"], "text", ["yes", "no"]),
        (["10:00", "11:30"], "text", ["10:00", "11:30"]),
        (["2026-03-08", "2026-03-09"], "date", [date(2026, 3, 8), date(2026, 3, 9)]),
        (
            ["2026-03-08", "2026-03-08 02:30"],
            "clock",
            [datetime(2026, 3, 8), datetime(2026, 3, 8, 2, 30)],
        ),
        (
            ["2026-03-08T02:30", "2026-03-08T02:30+01:00"],
            "moment",
            [datetime(2026, 3, 8, 2, 30, tzinfo=UTC), datetime(2026, 3, 8, 1, 30, tzinfo=UTC)],
        ),
        (["2026-02-30"], "text", ["2026-02-30"]),
        (["NA", "None"], "text", ["NA", "None"]),
        ([None, None], "nothing", [None, None]),
    ],
)
def test_what_a_column_is_by_its_values(texts: list[str | None], sort: Sort, values: list[Any]):
    assert read(texts) == (sort, values, [])


def test_what_is_mostly_text_is_text_whatever_it_is_compared_with():
    assert read(["7", "oslo", "rome"], "number") == ("text", ["7", "oslo", "rome"], [])
    assert read(["7", "oslo", "NA", ""], "number")[0] == "long"


def test_use_decides_and_what_is_something_else_is_a_fault_of_its_row():
    assert read(["1", "inf", "five", "NaN", "007"], "number") == (
        "long",
        [1, None, None, None, 7],
        [1, 2],
    )
    assert read(["1", "1e400", "2.5"], "number") == ("double", [1.0, None, 2.5], [1])
    assert read(["18446744073709551616", "-1"], "number") == ("double", [2.0**64, -1.0], [])
    assert read(["true", "0", "2", ""], "boolean") == ("boolean", [True, False, None, None], [2])
    assert read(["five", "six"], "number")[0] == "text"


def test_times_are_seconds_or_moments_whichever_are_more():
    assert read(["1", "2", "0x10", "2026-03-08"], is_time=True) == (
        "long",
        [1, 2, None, None],
        [2, 3],
    )
    sort, values, faulty = read(["1", "2026-03-08", "2026-03-08T01Z", "n/a"], is_time=True)
    assert (sort, values[0], values[3], faulty) == ("moment", None, None, [0])


def test_most_values_say_who_is_right_where_uses_contradict_each_other():
    assert read(["1", "2", "x"], "any") == ("long", [1, 2, None], [2])
    assert read(["1", "x", "y"], "any")[0] == "text"


def test_a_column_is_the_same_however_it_is_cut():
    for texts in columns(300, 8, seed=5):
        whole = pa.array([text or None for text in texts], pa.string())
        facts = look_at(whole).facts
        pieces = [look_at(whole[at : at + 2]).facts for at in range(0, 8, 2)]
        together = sum(pieces, Counter[str]())
        for fact in ("plain", "plain times"):
            facts[fact] = together[fact] = 0

        assert +together == +facts


@pytest.mark.slow
def test_plain_pieces_are_read_as_odd_ones():
    for texts in columns(300, 4, seed=6):
        column = pa.array([text or None for text in texts], pa.large_string())
        look = look_at(column)
        for sort in TYPES:
            quick, some = values_of_texts(column, sort, look)
            slow, others = values_of_texts(column, sort)

            assert repr(quick.to_pylist()) == repr(slow.to_pylist())
            assert (some is None) == (others is None)
            assert some is None or some.tolist() == others.tolist()


def test_python_reads_the_patterns_as_arrow_does():
    for texts in FAMILIES.values():
        for text in texts:
            known = text.strip(rules.SPACES)
            is_number = re.fullmatch(rules.NUMBER, known) is not None
            facts = look_at(pa.array([text], pa.string())).facts

            is_finite = is_number and abs(float(known)) != float("inf")
            assert bool(facts["numbers"]) == is_finite, text
            assert bool(facts["missing"]) == bool(re.fullmatch(rules.MISSING, known)), text
