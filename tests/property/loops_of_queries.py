"""Random workloads of loops without edge predicates, for one kernel's short cuts of many kinds.

Loops in first, second and nested places, several over one type, guards of all sorts, conditions
that differ from query to query on the events of a loop, equal times, sums and extremes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random

PATTERNS = (
    "SEQ(A, T+)", "SEQ(A, T+, D)", "T+", "SEQ(T+, D)", "SEQ(A, T+, D, T+)", "SEQ(T+, D, T+)",
    "SEQ(X+, T+)", "SEQ(T+, X+)", "SEQ(T+, T+)", "SEQ(T, T+)", "SEQ(T+, T)", "(SEQ(T, T))+",
    "(SEQ(A, T+))+", "SEQ(A, (SEQ(T+, D))+)", "SEQ((SEQ(A, T+))+, X+)", "SEQ(A, T+, D, X+, A)",
    "SEQ(A, (T OR X)+, D)", "SEQ(A, (SEQ(T, X+))+)", "SEQ(A, T+, D, T+, A, T+)",
    "SEQ(A, T+, (D OR X), T+)", "SEQ(A, T+) OR SEQ(D, T+)",
    "SEQ(A, T+, D) OR SEQ(A, T+, X, D)", "SEQ(A, (D OR X), T+)", "SEQ(A, T, T, D)",
    "SEQ(A, T+, NOT C)", "SEQ(A, T+, NOT C, D)", "SEQ(NOT C, A, T+)", "SEQ(NOT C, T+)",
    "SEQ(T+, NOT C, T+)", "SEQ(A, NOT C, T+, D)", "SEQ(A, T+, NOT T, D)", "SEQ(A, NOT A, T+)",
    "SEQ(A, T+, NOT SEQ(C, X), D)", "(SEQ(A, NOT C, T+))+", "SEQ(A, T+, NOT D)", "SEQ(T+, NOT X)",
    "SEQ(A, T+, D, A)", "SEQ(A, T+, D, NOT C, X)", "SEQ(A, T+, (D OR X), A, T+)",
)  # fmt: skip
RETURNS = (
    "COUNT(*)", "COUNT(*)", "COUNT(T)", "SUM(T.v)", "AVG(T.w)", "MIN(T.w)", "MAX(T.v)",
    "COUNT(*), SUM(T.w), MAX(T.w)", "AVG(T.v), MIN(T.v), MAX(T.w)", "SUM(T.v), COUNT(T), AVG(T.w)",
)  # fmt: skip
WINDOWS = ("10 s", "6 s SLIDE 3 s", "8 s SLIDE 2 s", "7 s SLIDE 5 s", "40 s SLIDE 10 s", "3 s")
TYPES = "AATTTTTTDXXC"


def workload(chance: random.Random, most: int = 6, matches: tuple[str, ...] = ("",)) -> str:
    """Some queries, often over the same loop with other conditions.

    Args:
        chance: What is drawn with.
        most: How many queries there are at most.
        matches: What may stand behind a pattern.
    """
    patterns = chance.choices(PATTERNS, k=chance.choice([1, 1, 2, 3]))
    windows = chance.choices(WINDOWS, k=chance.choice([1, 1, 2]))
    group = chance.choice(["", "", "GROUPBY g "])
    return ";\n".join(
        f"q{i}: RETURN {chance.choice(RETURNS)} PATTERN {chance.choice(patterns)}"
        f"{chance.choice(matches)} {_where(chance)}{group}WITHIN {chance.choice(windows)}"
        for i in range(chance.randint(1, most))
    )


def _where(chance: random.Random) -> str:
    parts = []
    if chance.random() < 0.6:
        parts.append(f"T.v {chance.choice(['<', '>=', '!='])} {chance.randint(0, 9)}")
    if chance.random() < 0.2:
        parts.append(f"T.w > {chance.choice([-1.5, 0, 0.25])}")
    return f"WHERE {' AND '.join(parts)} " if parts else ""


def stream(chance: random.Random, events: int, bursts: int = 4) -> list[dict[str, Any]]:
    """Rows in order of time, types in bursts; now and then equal times, gaps and nulls."""
    rows: list[dict[str, Any]] = []
    time = 0
    ties = chance.choice([0.0, 0.0, 0.3])
    while len(rows) < events:
        kind = chance.choice(TYPES)
        for _ in range(chance.randint(1, bursts)):
            time += 0 if chance.random() < ties else chance.choice([1, 1, 1, 1, 2, 9])
            rows.append(
                {
                    "type": kind,
                    "time": time / 2,
                    "v": chance.randint(0, 9),
                    "w": chance.choice([None, -1.5, 0.25, 3.0, chance.uniform(-2, 2)]),
                    "g": chance.randint(0, 1),
                }
            )
    return rows[:events]
