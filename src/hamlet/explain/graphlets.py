"""The shared execution of a small stream the way the paper draws it: graphlets, snapshots, counts.

What is shown here is plain data that an engine has filled in (engine/graphlets.py).

Name here       in the paper
Graphlet        G_E: a burst of events of one repeated type
snapshots       x, y, z: variables with a value for each query
expression      count(e, Q) as coefficients of snapshots
counts          count(e, q): trends of a query that have come as far as an event
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from hamlet.explain.text import table_lines

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True)
class GraphletEvent:
    """An event of a graphlet.

    Attributes:
        name: Its type and its time.
        counts: For each query how many trends have come as far as this event.
        expression: The same for all queries at once: coefficients by snapshot. None where the
            graphlet is not shared.
        snapshot: Where some queries alone admit it, the snapshot that it is by itself.
    """

    name: str
    counts: dict[str, int]
    expression: dict[str, int] | None = None
    snapshot: str | None = None


@dataclass(slots=True)
class Graphlet:
    """A burst: what it was decided to be, the snapshot that it begins with, and its events."""

    decided: str
    snapshot: str | None = None
    values: dict[str, int] = field(default_factory=dict)
    events: list[GraphletEvent] = field(default_factory=list)


@dataclass(slots=True)
class LoopExecution:
    """An E+ of some queries over one window of one group of events.

    Attributes:
        type: E.
        loop: What its events and neighbours have to satisfy.
        queries: Those that have it.
        how: Whether and how they share it.
        window: Which window is shown.
        group: Of which group, as JSON text.
        graphlets: Its bursts, in order.
    """

    type: str
    loop: str
    queries: tuple[str, ...]
    how: str
    window: str
    group: str
    graphlets: list[Graphlet] = field(default_factory=list)


@dataclass(slots=True)
class Execution:
    """What was run over a small stream: its loops, and what queries answered there."""

    workload: str
    loops: list[LoopExecution]
    results: list[tuple[str, str, str, str]]  # query, window, aggregate, value

    def as_data(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)


def shown_expression(expression: dict[str, int]) -> str:
    """An expression as text, as the paper writes it.

    >>> shown_expression({"x": 4, "z": 1})
    '4x + z'
    >>> shown_expression({})
    '0'
    """
    terms = (name if times == 1 else f"{times}{name}" for name, times in expression.items())
    return " + ".join(terms) or "0"


def graphlets_text(execution: Execution) -> str:
    """An execution as text."""
    blocks = ["\n".join(_loop(loop)) for loop in execution.loops]
    if execution.results:
        blocks.append(
            "\n".join(["results", *table_lines(list(map(list, execution.results)), "  ")])
        )
    return "\n\n".join([execution.workload, *blocks]) + "\n"


def _loop(loop: LoopExecution) -> Iterator[str]:
    group = "" if loop.group in ("", "{}") else f" of {loop.group}"
    yield f"{loop.loop}+ of {', '.join(loop.queries)}, in {loop.window}{group}"
    yield f"  {loop.how}"
    for number, graphlet in enumerate(loop.graphlets, 1):
        yield f"  graphlet {number}  {graphlet.decided}"
        yield from table_lines(_graphlet(loop.queries, graphlet), "    ")


def _graphlet(queries: tuple[str, ...], graphlet: Graphlet) -> list[list[str]]:
    """Snapshot and events, a column for each query."""
    lines = []
    if graphlet.snapshot is not None:
        lines.append([graphlet.snapshot, "", *_values(queries, graphlet.values)])
    for event in graphlet.events:
        if event.snapshot is not None:
            lines.append([event.snapshot, "", *_values(queries, event.counts)])
        shown = "" if event.expression is None else shown_expression(event.expression)
        lines.append([event.name, shown, *_values(queries, event.counts)])
    return lines


def _values(queries: tuple[str, ...], values: dict[str, int]) -> Iterator[str]:
    return (f"{name} {values[name]:,}" if name in values else f"{name} -" for name in queries)
