"""Workloads by panes in one process: every pane by itself, then put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hamlet import Workload
from hamlet.engine import Options
from hamlet.engine.panes.compose import compose
from hamlet.engine.panes.derive import composes, derive
from hamlet.engine.pipeline import SetPipeline
from hamlet.engine.state.closed import Closed
from hamlet.events.table import EventTable
from hamlet.kernel.finish.partial import answers_of, partial_schema
from hamlet.plan.workload import pane_us
from hamlet.results import Results

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hamlet.engine.panes.derive import Panes


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
    pipelines = (SetPipeline.of(panes.plan, each, options) for each in panes.pane_sets)
    sets = tuple(pipeline.answered(table)[0] for pipeline in pipelines)
    answers = Closed(panes.plan, sets, schema).partial()
    together = Closed(panes.plan, tuple(compose(panes, answers)), schema).partial()
    found = answers_of(panes.plan, together, range(panes.first))
    queries = [planned.query for planned in workload.plan.queries]
    rows: list[dict[str, Any]] = Results(queries, found, times="seconds").table.to_pylist()
    return rows
