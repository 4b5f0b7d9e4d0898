"""State that an earlier version saved is loaded by this one, and goes on to the same results.

Would catch a change of the layout of saved state without a way to read the old one: a stream that
was stopped before an upgrade would have to begin anew. `pytest --update-cases` writes the state of
this version where there is none of it yet; files of other versions are never written again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conformance import differences

from hamlet import Workload, __version__
from hamlet.engine import Options
from hamlet.engine.session import Session
from hamlet.results import Results

FOLDER = Path(__file__).parent.parent / "cases" / "state"
# Running totals and shared bursts, guards, groups, sums of fractions, extremes, an edge predicate
# to the end and one with an end of its own, one that no order decides, and counts beyond 64 bits.
WORKLOAD = """
    calm: RETURN COUNT(*), SUM(B.x), AVG(B.y) PATTERN SEQ(A, B+) WITHIN 400 s SLIDE 100 s;
    held: RETURN g, COUNT(*), MIN(B.y), MAX(B.x) PATTERN SEQ(A, NOT C, B+) GROUPBY g WITHIN 60 s;
    late: RETURN COUNT(*) PATTERN SEQ(C, B+) WHERE [g] AND B.x > 1 WITHIN 400 s SLIDE 100 s;
    rise: RETURN COUNT(*), MAX(B.y) PATTERN SEQ(A, B+) WHERE B.x < NEXT(B).x WITHIN 40 s SLIDE 20 s;
    ends: RETURN COUNT(*), SUM(B.y) PATTERN SEQ(B+, C) WHERE B.x < NEXT(B).x WITHIN 40 s;
    both: RETURN COUNT(*) PATTERN B+ WHERE B.x < NEXT(B).x AND B.y > NEXT(B).y WITHIN 20 s
"""
SCHEMA = pa.schema(
    {
        "type": pa.string(),
        "time": pa.int64(),
        "x": pa.int64(),
        "y": pa.float64(),
        "g": pa.string(),
    }
)
ROWS = [
    {
        "type": "A" if t % 50 == 0 else "C" if t % 35 == 34 else "B",
        "time": t,
        "x": None if t % 13 == 12 else t * 7 % 11,
        "y": t * 5 % 9 + 0.1,
        "g": "uv"[t % 2],
    }
    for t in range(600)
]
CUT = 333


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def session(numbers: Any, sharing: Any = "dynamic") -> Session:
    options = Options(numbers=numbers, sharing=sharing)
    return Session(Workload.parse(WORKLOAD).plan, options, SCHEMA)


def begun(numbers: Any) -> tuple[Session, list[Any]]:
    """A session in the middle of the stream, and what it has given so far."""
    first = session(numbers)
    first.feed(table_of(ROWS[:CUT]))
    return first, list(first.close_until((CUT - 40) * 1_000_000).answers())


def path_of(version: str, numbers: str) -> Path:
    return FOLDER / f"{version}-{numbers}.bin"


@pytest.mark.parametrize("numbers", ["exact", "float"])
def test_there_is_a_state_of_this_version(numbers: str, is_updating: bool) -> None:
    path = path_of(__version__, numbers)
    if is_updating and not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        path.write_bytes(begun(numbers)[0].snapshot())

    assert path.exists()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.bin")), ids=lambda path: path.stem)
def test_a_saved_state_goes_on_to_the_results_of_one_run(path: Path) -> None:
    numbers = path.stem.rsplit("-", 1)[1]
    workload = Workload.parse(WORKLOAD)
    _, before = begun(numbers)

    # No byte of a state depends on how queries share.
    again = session(numbers, "never" if numbers == "exact" else "always")
    again.restore(path.read_bytes())
    again.feed(table_of(ROWS[CUT:]))
    answers = [*before, *again.close_all().answers()]

    rows = Results(workload.queries, answers, times="seconds").table.to_pylist()
    whole = workload.run(table_of(ROWS), numbers=numbers).table.to_pylist()
    assert len(whole) > 100
    assert differences(whole, rows, numbers) == []
