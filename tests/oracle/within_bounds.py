"""Run workloads of every mechanism with every access of the kernel checked.

Called by test_bounds.py as a process of its own, in which Numba checks bounds. An access outside of
an array ends it with an IndexError; so does a wrong row.
"""

from __future__ import annotations

import random

from conformance import differences, engine_rows, load_cases, reference_rows

from hamlet import Workload

ALIKE = ";".join(
    f"q{n}: RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) WHERE A.x > {n} WITHIN 8 s SLIDE 2 s"
    for n in range(5)
)
WIDE = (
    "RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 1 h",
    "RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+, C) WHERE B.x <= NEXT(B).x WITHIN 1 h",
    "RETURN COUNT(*) PATTERN SEQ(A, NOT C, B+) WHERE B.x * NEXT(B).x >= 0 WITHIN 1 h",
)


def rows(count: int, kinds: str, seed: int) -> list[dict[str, object]]:
    chance = random.Random(seed)
    return [
        {"type": chance.choice(kinds), "time": t, "x": chance.randrange(4)} for t in range(count)
    ]


def main() -> None:
    for case in load_cases()[::12]:
        found = engine_rows(case.workload, case.events, case.order)
        assert not differences(case.expected, found, "exact"), str(case)
    for seed in range(4):
        events = rows(14, "AABBBC", seed)
        assert not differences(reference_rows(ALIKE, events), engine_rows(ALIKE, events), "exact")
    for text in WIDE:
        workload, events = Workload.parse(text), rows(200, "ABBBBC", 9)
        shared, alone = (workload.run(events, sharing=each).table for each in ("always", "never"))
        assert shared.equals(alone)
        assert shared.num_rows
    print("within bounds")


if __name__ == "__main__":
    main()
