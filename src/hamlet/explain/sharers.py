"""Whose work on a repeated type is done once: of all that could share E+, those that do.

Queries that repeat E in one set have it in common, but a burst is one map only for those that ask
the same of its events, and a table of rows is kept only for those that also have the same edge
predicate, windows and functions of aggregates. A query whose events, predicate or windows no other
has works alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hamlet.explain.loops import loop_sharing

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from hamlet.plan.program import Program
    from hamlet.plan.query import Query
    from hamlet.plan.template import Condition, PlannedQuery, State, Template
    from hamlet.plan.workload import WorkloadPlan
    from hamlet.share.policy import Policy

    Sharing = dict[str, Any]

# Of one query, and of several.
_ALONE = {
    "burst": ("no other query asks the same of its events", "no two ask the same of its events"),
    "rows": (
        "no other query has a loop of the same events, predicate and windows",
        "no two have a loop of the same events, predicate and windows",
    ),
}


def known_sharing(
    plan: WorkloadPlan, programs: Sequence[Program], policy: Policy = "dynamic"
) -> list[Sharing]:
    """For each set and each E+ that several queries repeat, who shares it and who does not."""
    number = {planned.query.name: planned for planned in plan.queries}
    found: list[Sharing] = []
    for each in loop_sharing(plan, programs, policy):
        found += _divided(each, number) if each["shared"] else [each]
    return found


def _divided(each: Sharing, planned: dict[str, PlannedQuery]) -> Iterator[Sharing]:
    """Queries that could share, by what has to be the same; those with no other come last."""
    groups: dict[Hashable, dict[str, None]] = {}
    for name in each["queries"]:
        for key in _keys(planned[name], each["type"], each["kind"]):
            groups.setdefault(key, {})[name] = None
    shared = [list(names) for names in groups.values() if len(names) > 1]
    sharers = {name for names in shared for name in names}
    alone = [name for name in each["queries"] if name not in sharers]
    for names in shared:
        yield {**each, "queries": names}
    if alone:
        why = _ALONE[each["kind"]][len(alone) > 1]
        yield {**each, "shared": False, "queries": alone, "why": why}


def _keys(planned: PlannedQuery, name: str, kind: str) -> Iterator[Hashable]:
    """What another query must have too, for each loop over a type that could be shared."""
    for template in planned.templates.branches:
        for state, condition in _loops(template, name):
            if kind == "rows":
                predicates = planned.query.edge_predicates
                compared = frozenset(predicates[n] for n in condition.predicates)
                yield state.atom, compared, planned.query.window, _asked(planned.query)
            elif not condition.predicates and not condition.guards:
                yield state.atom


def _asked(query: Query) -> tuple[str, ...]:
    """What is asked for besides the number of trends: rows of one table are of one width."""
    return tuple(sorted(a.function for a in query.aggregates if a.places))


def _loops(template: Template, name: str) -> Iterator[tuple[State, Condition]]:
    for edge in template.edges:
        if edge.source == edge.target and template.states[edge.source].type == name:
            yield template.states[edge.source], edge.condition
