"""Workloads by panes in one process: every pane by itself, then put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hamlet import Workload
from hamlet.engine import Options, compile_encoded, groups_of
from hamlet.events import EventTable
from hamlet.kernel.encode import encode
from hamlet.kernel.finish.partial import answers_of, partial_schema
from hamlet.kernel.run import run_batch
from hamlet.panes.compose import compose
from hamlet.panes.derive import composes, derive
from hamlet.plan.program import compile_set
from hamlet.plan.workload import pane_us
from hamlet.results import Results
from hamlet.state.closed import Closed, ClosedSet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hamlet.panes.derive import Panes


def panes_of(workload: Workload, parts: int = 1) -> Panes:
    """All sets of a workload by panes of the common length of windows, cut further."""
    plan = workload.plan
    assert all(map(composes, plan.queries))
    common = pane_us(planned.query.window for planned in plan.queries)
    assert common % parts == 0
    return derive(plan, plan.sets, common // parts)


def pane_rows(
    text: str,
    events: Iterable[dict[str, Any]],
    order: str | None = None,
    *,
    parts: int = 1,
    numbers: Any = "exact",
) -> list[dict[str, Any]]:
    """The rows of a workload whose windows are put together from panes."""
    workload = Workload.parse(text)
    panes, options = panes_of(workload, parts), Options(numbers=numbers, order=order)
    table = EventTable.of(list(events), workload.plan, type="type", time="time", order=order)
    schema = partial_schema(panes.plan, table.table.schema, numbers)
    sets = tuple(_ran(panes, each, table, options) for each in panes.pane_sets)
    answers = Closed(panes.plan, sets, schema).partial()
    together = Closed(panes.plan, tuple(compose(panes, answers)), schema).partial()
    found = answers_of(panes.plan, together, range(panes.first))
    queries = [planned.query for planned in workload.plan.queries]
    rows: list[dict[str, Any]] = Results(queries, found, times="seconds").table.to_pylist()
    return rows


def _ran(panes: Panes, pane_set: Any, table: EventTable, options: Options) -> ClosedSet:
    program = compile_set(panes.plan, pane_set)
    encoded = encode(table, panes.plan, pane_set, program, options.numbers)
    compiled = compile_encoded(panes.plan, program, encoded, options)
    emission, _ = run_batch(compiled, encoded.batch, options.numbers == "float")
    is_integer = {a: a in encoded.integers for a in encoded.digits}
    return ClosedSet(program, emission, encoded.digits, is_integer, groups_of(encoded))
