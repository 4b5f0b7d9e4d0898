"""The stream builder: what is written on one line is what a test gets.

Would catch a value of the wrong kind, a comma inside text that cuts an event in two, and a slip in
a test's events that passes in silence.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from hamlet.testing import stream


def test_an_event_has_a_time_a_type_and_attributes():
    assert stream("1 A, 2 B price=3 name=ann") == [
        {"time": 1, "type": "A"},
        {"time": 2, "type": "B", "price": 3, "name": "ann"},
    ]


@pytest.mark.parametrize(
    ("shown", "value"),
    [
        ("3", 3),
        ("-3", -3),
        ("2.50", 2.5),
        ("1e3", 1000.0),
        ("true", True),
        ("false", False),
        ("null", None),
        ("ann", "ann"),
        ("'3'", "3"),
        ("'a, b=1'", "a, b=1"),
        ("'it''s'", "it's"),
        ("''", ""),
    ],
)
def test_a_value_has_the_kind_it_is_written_in(shown, value):
    found = stream(f"1 A x={shown}, 2 B")[0]["x"]

    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_no_text_is_no_events(text):
    assert stream(text) == []


def test_events_may_stand_on_lines_of_their_own():
    assert [row["time"] for row in stream("1 A,\n-2.5 B x=1,\n")] == [1, -2.5]


@pytest.mark.parametrize(
    "text", ["A", "1", "1 A x", "1 A x= , 2 B", "1 A 2 B", "1 A x='y", ", 1 A"]
)
def test_a_slip_is_an_error(text):
    with pytest.raises(ValueError, match="not an event"):
        stream(text)


def test_streams_need_no_hypothesis():
    code = "import sys, hamlet.testing; print('hypothesis' in sys.modules)"

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "False"
