"""Everything that runs may need, compiled ahead: no run after it has to.

Numba compiles a function for the kinds of arrays that it is called with, so each step runs a small
workload that needs all of them: numbers that fit and numbers that outgrow what they begin as, with
edge predicates and without, columns of every kind, and a stream in pieces.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from hamlet.engine.local import run_workload
from hamlet.engine.options import Options
from hamlet.io.long_form import long_table_of_set
from hamlet.lang.bind import bind
from hamlet.lang.parser import read
from hamlet.plan.number_mode import NUMBERS
from hamlet.plan.workload import plan_workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hamlet.plan.number_mode import Numbers
    from hamlet.plan.workload import WorkloadPlan

_ASKED = "RETURN COUNT(*), SUM(B.x), AVG(B.y), MIN(B.x) PATTERN SEQ(A, B+) {} WITHIN 10000 s"
# Windows and groups of which few meet
_SPARSE = "RETURN COUNT(*) PATTERN B+ GROUPBY turn WITHIN 1 s"
_PLAIN = (
    _ASKED.format(""),
    _ASKED.format("WHERE B.flag = TRUE OR B.y > 0 GROUPBY g"),
    _ASKED.format("WHERE B.x >= 0 AND B.y >= 0 GROUPBY number"),
    _SPARSE,
)
_CHAIN = _ASKED.format("WHERE B.turn > NEXT(B).turn")
# Two that an order decides, and one that no order decides.
_EDGES = (
    _CHAIN,
    _CHAIN.replace("SEQ(A, B+)", "SEQ(A, (SEQ(B+, C))+)"),
    _ASKED.format("WHERE B.x * B.y <= NEXT(B).x + NEXT(B).y GROUPBY g"),
)
# Some that may have a table together: who has, and from when on, is found with code of its own
_SHORT = _CHAIN.replace("10000 s", "50 s")
_TOGETHER = tuple(_SHORT.replace("A, B+", p) for p in ("A, B+", "C, B+, A", "A, B+, C"))
# So many events that counts of their trends fit into 64 bits, are beyond them, or beyond doubles.
_FEW, _SOME, _MANY, _LONG = 40, 150, 5000, 20_000


def steps(
    numbers: Sequence[Numbers], *, edges: bool = True, systems: bool = False
) -> Iterator[tuple[str, Callable[[], None]]]:
    """What there is to compile, in turn: what it is for, and what compiles it.

    Args:
        numbers: The kinds of numbers.
        edges: Whether there are workloads with edge predicates.
        systems: Whether to compile the systems too that the engine is compared with.
    """
    for kind, size in product(numbers, (_FEW, _MANY)):
        what = f"{kind} numbers{', those that grow long' if size == _MANY else ''}"
        yield what, lambda kind=kind, size=size: _run(_PLAIN, kind, size)  # type: ignore[misc]
        if edges:
            yield (
                f"{what}, with edge predicates",
                lambda kind=kind, size=size: _run(  # type: ignore[misc]
                    _EDGES if size == _FEW else (_CHAIN,), kind, size
                ),
            )
    if edges:
        yield "which queries share", lambda: _run(_TOGETHER, numbers[0], _LONG)
    for kind in numbers:
        yield f"streams of {kind} numbers", lambda kind=kind: _stream(kind, edges)  # type: ignore[misc]
    if systems:
        from hamlet.paper.systems import SYSTEMS

        for system, kind in product(SYSTEMS, numbers):
            if system != "hamlet":
                yield (
                    f"{system}, {kind} numbers",
                    lambda system=system, kind=kind: _compare(system, kind),  # type: ignore[misc]
                )


def warm(
    numbers: Sequence[Numbers] = NUMBERS,
    *,
    edges: bool = True,
    systems: bool = False,
    progress: Callable[[str, float], None] = lambda what, done: None,
) -> None:
    """Compile what runs may need; see `steps`.

    Args:
        numbers: The kinds of numbers.
        edges: Whether there are workloads with edge predicates.
        systems: Whether to compile the systems too that the engine is compared with.
        progress: Is told what is compiled and which part of the whole has been before.
    """
    todo = list(steps(numbers, edges=edges, systems=systems))
    for done, (what, compile_it) in enumerate(todo):
        progress(what, done / len(todo))
        compile_it()


def has_edges(plan: WorkloadPlan) -> bool:
    """Whether any query of a workload has edge predicates."""
    return any(planned.query.edge_predicates for planned in plan.queries)


def _run(queries: Sequence[str], numbers: Numbers, size: int) -> None:
    plan = _planned(queries)
    few = _events(min(size, 2 * _SOME))
    for table in (
        _events(size),
        _events(size, is_sorted=False),
        _at_one_time(few),
        _with_gaps(few),
    ):
        for order in (None, "turn"):
            run = run_workload(plan, table, Options(numbers=numbers, order=order))
            for answers in run.answers:
                long_table_of_set(answers, run.times)


def _compare(system: Any, numbers: Numbers) -> None:
    text = "RETURN COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) WHERE [g] WITHIN 10000 s"
    options = Options(system=system, numbers=numbers)
    run_workload(_planned([text, text.replace("A, ", "C, ")]), _events(8), options)


def _stream(numbers: Numbers, edges: bool) -> None:
    """Feed streams in pieces, put their state away, and finish partial answers."""
    for size in (_FEW, _SOME, _MANY // 2):
        _in_pieces(_PLAIN, numbers, size)
    if edges:
        _in_pieces(_EDGES, numbers, _FEW)


def _in_pieces(queries: Sequence[str], numbers: Numbers, size: int) -> None:
    import pyarrow as pa

    from hamlet.engine.session import Session
    from hamlet.kernel.finish.merging import merged
    from hamlet.kernel.finish.partial import answers_of

    plan = _planned(queries)
    table = pa.Table.from_pylist(_events(size))
    options, half = Options(numbers=numbers), size // 2
    session = Session(plan, options, table.schema, pages=2)
    session.feed(table.slice(0, half))
    session.close_until(half * 1_000_000)
    again = Session(plan, options, table.schema, pages=2)
    again.restore(session.snapshot())
    again.feed(table.slice(half))
    again.close_until(size * 1_000_000)
    partial = again.close_all().partial()
    answers_of(plan, merged([partial, partial]))


def _planned(queries: Sequence[str]) -> WorkloadPlan:
    trees, _ = read(";".join(queries))
    planned, _ = bind(trees)
    return plan_workload(planned)


def _events(size: int, *, is_sorted: bool = True) -> list[dict[str, Any]]:
    """Events with attributes of every kind: an A, then Bs in a row, a C now and then."""
    rows = [
        {
            "type": "A" if not time else "C" if time % 97 == 96 else "B",
            "time": time,
            "turn": -time,
            "x": time % 7,
            # The second half of a stream has finer fractions than the first.
            "y": time % 5 + (0.1 if 2 * time > size else 0.0),
            "number": time % 3 * 10**12,
            "g": "u" if time % 3 else "v",
            "flag": time % 2 == 0,
        }
        for time in range(size)
    ]
    return rows if is_sorted else rows[::-1]


def _with_gaps(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same without some of the values."""
    nothing = {"x": None, "y": None, "turn": None}
    return [row | (nothing if row["time"] % 5 == 4 else {}) for row in events]


def _at_one_time(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same with a C at the time of each B: most queries with an edge predicate know no C."""
    return [
        row | {"time": place // 2, "type": "C" if place % 2 else row["type"]}
        for place, row in enumerate(events)
    ]
