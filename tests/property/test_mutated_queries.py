"""Queries with something broken in them: thousands of mutations of valid ones, from one seed.

Would catch a text on which parsing fails with anything but a QueryError, a problem that points
outside the text or cannot be shown, and a text that takes long to refuse.
"""

from __future__ import annotations

import random
import re
import time

import pytest
from conformance import load_cases

from hamlet import Workload
from hamlet.errors import QueryError

MUTATIONS = 4000
# Of one text, in processor time; most take milliseconds.
MOST_SECONDS = 2.0

_TOKEN = re.compile(r"\s+|\w+|'[^']*'|[^\w\s]")
_ODD = (
    "\x00", "\ufeff", "\u202e", "\u200b", "é", "e\u0301", "ẞ", "İ", "\U0001d49c", "🙂", "中",
    "\ud800", "'", '"', "`", "--", "/*", "\\", "\r", "\t", "²", "½", "٣", "\u2212",
    "\xd7", "\u2028",
)  # fmt: skip
_HUGE = (
    "9" * 400, "1e999", "-1e-999", "0x10", "1_000", "1.5.2", ".5", "5.", "00", "1e", "0",
    "9223372036854775808", "1" + "0" * 30 + ".5",
)  # fmt: skip
_WORDS = (
    "RETURN", "PATTERN", "WHERE", "WITHIN", "SLIDE", "GROUPBY", "NOT", "AND", "OR", "NEXT", "SEQ",
    "IN", "IS", "NULL", "AS", "COUNT(*)", "(", ")", "[", "]", "+", ",", ";", ":", ".", "s", "true",
)  # fmt: skip


def mutated(text: str, chance: random.Random) -> str:
    """A text with one to four things done to it."""
    tokens = _TOKEN.findall(text)
    for _ in range(chance.randint(1, 4)):
        at, other = chance.randrange(len(tokens)), chance.randrange(len(tokens))
        match chance.randrange(8):
            case 0:
                tokens[at] = ""
            case 1:
                tokens[at] *= chance.choice([2, 3, 50])
            case 2:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3:
                tokens[at] += chance.choice(_ODD)
            case 4:
                tokens[at] = chance.choice(_HUGE)
            case 5:
                tokens[at] = chance.choice(_WORDS)
            case 6:
                deep = chance.choice([3, 40, 400])
                tokens[at] = "(" * deep + tokens[at] + ")" * chance.choice([deep, deep, deep - 1])
            case 7:
                tokens = tokens[: max(at, 1)]
    return "".join(tokens)


def refusal(text: str) -> QueryError | None:
    """What parsing a text says; None where it is a workload."""
    try:
        Workload.parse(text)
    except QueryError as error:
        return error
    return None


@pytest.mark.slow
def test_mutations_are_answered_or_refused_with_a_place_and_soon():
    chance = random.Random(20)
    texts = [case.workload for case in load_cases() if len(case.workload) < 600]
    refused, worst = 0, 0.0
    for _ in range(MUTATIONS):
        text = mutated(chance.choice(texts), chance)
        begun = time.process_time()
        error = refusal(text)
        if error is not None:
            refused += 1
            assert error.problems, repr(text)
            assert str(error)
            for problem in error.problems:
                assert 0 <= problem.at.start <= problem.at.end <= len(text), repr(text)
        worst = max(worst, time.process_time() - begun)
        assert worst < MOST_SECONDS, repr(text)
    # Else it would be about less than it says.
    assert MUTATIONS // 2 < refused < MUTATIONS
