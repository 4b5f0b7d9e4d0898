"""Definitions of the paper, of templates and of workloads, that the engine has no use for.

A template says more than these: states instead of types, and which conditions its edges have. Which
queries are sharable, `plan/workload.py` finds for all of them at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hamlet.plan.template import END, START
from hamlet.plan.workload import partition_key, show_partition

if TYPE_CHECKING:
    from hamlet.plan.template import PlannedQuery, Template


def start_types(template: Template) -> frozenset[str]:
    """The types of events that begin a match: start(q)."""
    states = template.states
    return frozenset(states[edge.target].type for edge in template.edges if edge.source == START)


def end_types(template: Template) -> frozenset[str]:
    """The types of events that end a match: end(q)."""
    states = template.states
    return frozenset(states[edge.source].type for edge in template.edges if edge.target == END)


def predecessor_types(template: Template, event_type: str) -> frozenset[str]:
    """The types of events that may come right before one of a type: pt(E, q)."""
    states = template.states
    inner = [edge for edge in template.edges if edge.source >= 0 and edge.target >= 0]
    return frozenset(
        states[edge.source].type for edge in inner if states[edge.target].type == event_type
    )


def why_apart(one: PlannedQuery, other: PlannedQuery) -> str | None:
    """Why two queries cannot share, or None where they can."""
    if one.query.window.clock != other.query.window.clock:
        return "their windows are shifted by different lengths, or of different zones"
    if partition_key(one) != partition_key(other):
        return (
            f"partitioned by {show_partition(one.query.partition)} "
            f"against {show_partition(other.query.partition)}"
        )
    for planned in (one, other):
        if not planned.kleene_types:
            return f"{planned.query.name} repeats no single type"
    if not one.kleene_types & other.kleene_types:
        return f"no Kleene type in common: {_plus(one)} against {_plus(other)}"
    return None


def _plus(planned: PlannedQuery) -> str:
    return ", ".join(f"{name}+" for name in sorted(planned.kleene_types))
