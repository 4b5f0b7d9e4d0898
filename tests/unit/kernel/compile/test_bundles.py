"""Which queries can be one: would catch bundles of queries that differ, or queries left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hamlet.engine import Options
from hamlet.engine.pipeline import SetPipeline
from hamlet.events.table import EventTable
from hamlet.kernel.code import LAZY
from hamlet.kernel.compile.fast_paths import by_letter
from hamlet.workload import Workload

if TYPE_CHECKING:
    from hamlet.kernel.code import Compiled

EVENTS = [
    {"type": kind, "time": time, "v": time}
    for time, kind in enumerate(["X", "T", "A", "T", "Y", "B", "T"])
]


def compiled(*queries: str) -> tuple[Compiled, list[bool]]:
    """The code of queries that make one sharable set, and which bundles are ever whole."""
    text = ";\n".join(f"q{i}: {query}" for i, query in enumerate(queries))
    plan = Workload.parse(text).plan
    assert len(plan.sets) == 1
    pipeline = SetPipeline.of(plan, plan.sets[0], Options(sharing="dynamic"))
    encoded = pipeline.encode(EventTable.of(EVENTS, plan))
    code = pipeline.compile(encoded)
    return code, by_letter(code, encoded.batch.letters).is_used


def asked(
    pattern: str = "SEQ(X x, T+)", where: str = "", returns: str = "COUNT(*)", window: str = ""
) -> str:
    return f"RETURN {returns} PATTERN {pattern} {where} {window or 'WITHIN 8 s SLIDE 4 s'}"


def sizes(code: Compiled) -> list[int]:
    return sorted(len(bundle.units) for bundle in code.bundles)


def test_queries_that_differ_in_local_conditions_are_a_bundle() -> None:
    code, is_used = compiled(
        asked(where="WHERE x.v < 3"), asked(where="WHERE x.v < 5"), asked(where="WHERE x.v < 9")
    )
    assert sizes(code) == [3]
    assert is_used == [True]


def test_rows_and_ops_are_matched_whatever_types_are_called() -> None:
    # A is before T in the order of names, and X is after it, so their rows have other numbers.
    code, is_used = compiled(asked("SEQ(A, T+)"), asked("SEQ(X, T+)"))
    (bundle,) = code.bundles
    for ops in zip(*bundle.ops, strict=True):
        lazy = code.code.lazies.reshape(-1, LAZY)[:, 1]
        assert len({op in lazy for op in ops}) == 1
    for rows in zip(*bundle.rows, strict=True):
        starts = {
            int(code.code.r_start[code.code.u_rbase[unit] + row])
            for unit, row in zip(bundle.units, rows, strict=True)
        }
        assert len(starts) == 1
    assert is_used == [False]  # no event begins trends of both


@pytest.mark.parametrize(
    "other",
    [
        asked(window="WITHIN 8 s SLIDE 2 s"),
        asked(returns="SUM(T.v)"),
        asked("SEQ(X x, T+, Y)"),
        asked("SEQ(X x, NOT B, T+)"),
        asked("SEQ(X x, T+)", where="WHERE T.v < NEXT(T).v"),
    ],
)
def test_queries_that_differ_otherwise_are_none(other: str) -> None:
    code, _ = compiled(asked(), other)
    assert sizes(code) == []


def test_several_bundles_in_one_set() -> None:
    code, is_used = compiled(
        asked(where="WHERE x.v < 3"),
        asked(where="WHERE x.v < 5"),
        asked("SEQ(X x, T+, Y y)", where="WHERE y.v < 3"),
        asked("SEQ(X x, T+, Y y)", where="WHERE y.v < 9"),
    )
    assert sizes(code) == [2, 2]
    assert is_used == [True, True]
