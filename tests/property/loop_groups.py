"""Random workloads in which many queries have one loop with an edge predicate, and small streams.

Queries of a workload agree in the type of the loop and mostly in its predicate, and differ in what
comes before and after it, in windows, guards, conditions, groups and aggregates. So nearly every
workload has groups of rows of several units, in both directions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

OPERATORS = ("<", "<=", ">", ">=", "=", "!=")
SIDES = ("T.x {} NEXT(T).x", "T.x {} NEXT(T).y", "T.x * 2 {} NEXT(T).y - 1", "T.y {} NEXT(T).x")
BEFORE = ("", "", "A, ", "A, ", "B, ", "A, B, ", "A+, ", "A, NOT C, ", "NOT C, A, ", "(A OR B), ",
          "NOT C, ", "A, B+, ", "A, NOT B, ")  # fmt: skip
AFTER = ("", "", ", D", ", D", ", B", ", D, B", ", NOT C, D", ", NOT C", ", D+", ", (D OR B)",
         ", NOT D, B")  # fmt: skip
WINDOWS = ("8 s", "8 s", "5 s SLIDE 2 s", "5 s SLIDE 2 s", "4 s SLIDE 1 s", "3 s SLIDE 3 s",
           "20 s SLIDE 6 s", "1500 ms SLIDE 500 ms")  # fmt: skip
WHOLES = ("SEQ({before}T+{after})", "(SEQ({before}T+{after}))+", "SEQ({before}T+, D, T+)",
          "SEQ(A, (SEQ(T, NOT C))+{after})", "SEQ({before}(SEQ(NOT C, T))+{after})")  # fmt: skip
LOCALS = ("A.x > 0", "B.y < 0.5", "D.x != 1", "T.y < 1", "C.x >= 0")
# Those that one table can have
TOGETHER = ("2 s", "4 s", "5 s SLIDE 2 s", "8 s SLIDE 4 s", "12 s SLIDE 2 s", "3 s SLIDE 2 s",
            "6 s")  # fmt: skip
# Of the events of the loop, where queries differ in them
ON_LOOPS = ("T.y < 1", "T.y < 0", "T.y > -1", "T.x != 1", "T.x < 3", "T.x >= 0 AND T.y < 1.5")
SHARED = ("SEQ(A, T+, D)", "SEQ(B, T+, D)", "SEQ(A, T+, B)", "SEQ(B, T+)", "SEQ(D, A, T+, B)",
          "SEQ(A, T+, D, T+)", "SEQ(A, (SEQ(T, NOT C))+, D)")  # fmt: skip
# Comparisons of which some agree on many events: other bounds, other operators, other sides
NEAR = (("T.x < NEXT(T).x", "T.x < NEXT(T).x + 1", "T.x < NEXT(T).x + 3"),
        ("T.x <= NEXT(T).y", "T.x < NEXT(T).y", "T.x != NEXT(T).y + 2"),
        ("T.x {} NEXT(T).x", "T.y {} NEXT(T).y", "T.x {} NEXT(T).y"),
        ("T.x >= NEXT(T).x - 5", "T.x = NEXT(T).x", "T.x > NEXT(T).x"))  # fmt: skip
# Some of other types than the loop's
EXTREMES = ("MIN(T.x)", "MAX(T.x)", "MIN(T.y)", "MAX(T.y)", "MIN(A.x)", "MAX(D.y)")
AGGREGATES = ("COUNT(*)", "COUNT(T)", "SUM(T.x)", "SUM(T.y)", "AVG(T.x)", "MIN(T.y)", "MAX(T.x)")
ATTRIBUTES = ("x", "y", "x", "y", "z")


@dataclass(frozen=True)
class LoopSample:
    """A workload, a stream, and the order column if there is one."""

    workload: str
    events: tuple[dict[str, Any], ...]
    order: str | None

    def __str__(self) -> str:
        shown = (", ".join(f"{k}={v!r}" for k, v in event.items()) for event in self.events)
        return "\n".join([f"order column: {self.order}", self.workload, *shown])


def sample(random: Random, most_events: int = 13) -> LoopSample:
    """A workload and a stream of its types."""
    sides = random.choice(SIDES).format(random.choice(OPERATORS))
    grouping = random.choice(["", "", "GROUPBY g"])
    windows = [random.choice(WINDOWS) for _ in range(random.choice([1, 1, 2]))]
    texts = []
    for number in range(random.randint(1, 7)):
        text = query(random, sides, grouping, random.choice(windows))
        texts.append(f"q{number}: {text}")
    events = tuple(event(random) for _ in range(random.randint(4, most_events)))
    return LoopSample(";\n".join(texts), events, random.choice([None, None, "seq"]))


def query(random: Random, sides: str, grouping: str, window: str) -> str:
    """A query with the loop."""
    whole = random.choice(WHOLES) if random.random() < 0.25 else WHOLES[0]
    pattern = whole.format(before=random.choice(BEFORE), after=random.choice(AFTER))
    types = {name for name in "ABCDT" if name in pattern.replace("SEQ", "").replace("AND", "")}
    if pattern == "SEQ(T+)":
        pattern = "T+"
    if random.random() < 0.1:
        sides = random.choice(SIDES).format(random.choice(OPERATORS))
    conditions = [sides] + [c for c in LOCALS if c[0] in types and random.random() < 0.15]
    items = dict.fromkeys(_aggregate(random, pattern, types) for _ in range(random.randint(1, 3)))
    if random.random() < 0.6:
        items = {"COUNT(*)": None}
    where = " AND ".join(conditions)
    return f"RETURN {', '.join(items)} PATTERN {pattern} WHERE {where} {grouping} WITHIN {window}"


def sample_of_conditions(random: Random, most_events: int = 16) -> LoopSample:
    """Queries that may share one loop, with different windows, and conditions on its events."""
    sides = random.choice(SIDES).format(random.choice(OPERATORS))
    windows = random.choices(random.choice([WINDOWS, TOGETHER]), k=random.choice([1, 2, 3]))
    items = random.choice(["COUNT(*)", "COUNT(*)", "SUM(T.x)", "COUNT(T), AVG(T.y)", "MIN(T.x)"])
    guarded = random.random() < 0.2
    texts = []
    for number in range(random.randint(2, 8)):
        where = " AND ".join([sides, *random.sample(ON_LOOPS, random.choice([0, 1, 1, 2]))])
        pattern = SHARED[-1] if guarded else random.choice(SHARED[:-1])
        window = random.choice(windows)
        texts.append(f"q{number}: RETURN {items} PATTERN {pattern} WHERE {where} WITHIN {window}")
    events = tuple(event(random) for _ in range(random.randint(6, most_events)))
    return LoopSample(";\n".join(texts), events, random.choice([None, None, "seq"]))


def sample_of_predicates(random: Random, most_events: int = 16) -> LoopSample:
    """Queries that may share one loop, and compare its neighbours differently."""
    windows = random.choices(random.choice([WINDOWS, TOGETHER]), k=random.choice([1, 1, 2]))
    items = random.choice(["COUNT(*)", "COUNT(*)", "SUM(T.x)", "COUNT(T), AVG(T.y)", "MAX(T.y)"])
    near = random.choice(NEAR)
    texts = []
    for number in range(random.randint(2, 6)):
        edge = random.choice(near).format(random.choice(OPERATORS))
        where = [edge, *random.sample(ON_LOOPS, random.choice([0, 0, 1]))]
        pattern, window = random.choice(SHARED), random.choice(windows)
        texts.append(
            f"q{number}: RETURN {items} PATTERN {pattern} WHERE {' AND '.join(where)} "
            f"WITHIN {window}"
        )
    events = tuple(event(random) for _ in range(random.randint(6, most_events)))
    return LoopSample(";\n".join(texts), events, random.choice([None, None, "seq"]))


def sample_of_extremes(random: Random, most_events: int = 16) -> LoopSample:
    """Queries that may share one loop and ask for different least and greatest values."""
    sides = [random.choice(SIDES).format(random.choice(OPERATORS))]
    if random.random() < 0.4:
        sides = [near.format(random.choice(OPERATORS)) for near in random.choice(NEAR)]
    windows = random.choices(random.choice([WINDOWS, TOGETHER]), k=random.choice([1, 1, 2]))
    extremes, other = random.choice([1, 1, 2]), random.choice(["", "", "COUNT(*), ", "SUM(T.x), "])
    texts = []
    for number in range(random.randint(2, 7)):
        pattern, window = random.choice(SHARED), random.choice(windows)
        known = [item for item in EXTREMES if item[4] in pattern.replace("SEQ", "")]
        items = other + ", ".join(random.sample(known, extremes))
        where = [random.choice(sides), *random.sample(ON_LOOPS, random.choice([0, 0, 1, 2]))]
        texts.append(
            f"q{number}: RETURN {items} PATTERN {pattern} WHERE {' AND '.join(where)} "
            f"WITHIN {window}"
        )
    events = tuple(event(random) for _ in range(random.randint(6, most_events)))
    return LoopSample(";\n".join(texts), events, random.choice([None, None, "seq"]))


def _aggregate(random: Random, pattern: str, types: set[str]) -> str:
    positive = sorted(t for t in types if t == "T" or f"NOT {t}" not in pattern)
    item = random.choice(AGGREGATES)
    return item.replace("T.", f"{random.choice(positive)}.").replace(
        "(T)", f"({random.choice(positive)})"
    )


def event(random: Random) -> dict[str, Any]:
    """A row; half of them are of the loop."""
    found: dict[str, Any] = {
        "type": random.choice("TTTTTTABCDDA"),
        "time": random.choice([random.randint(-3, 12), random.randint(-6, 24) / 2]),
        "x": random.choice([random.randint(-3, 4), random.randint(-3, 4), None]),
        "y": random.choice([random.randint(-20, 20) / 10, random.randint(0, 3), None]),
        "g": random.choice("uuv"),
        "seq": random.choice([0, 1, 2, None]),
    }
    return found


# Long streams


def long_stream(random: Random, n: int, rising: float) -> list[dict[str, Any]]:
    """Events with times that go up, some of them equal; keys that mostly go up, or at random."""
    time, found = 0, []
    for i in range(n):
        time += random.choice([0, 1, 1, 1, 2])
        x = i if random.random() < rising else random.randint(-n, n)
        found.append(
            {
                "type": random.choice("TTTTTTTTXY"),
                "time": time,
                "x": None if random.random() < 0.02 else x,
                "y": random.randint(-(10**6), 10**6),
            }
        )
    return found
