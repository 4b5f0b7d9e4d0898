"""Whose work on a repeated type is done once: the classes of queries that could share E+.

Queries that repeat E in one set have it in common, but a burst is one map only for those that ask
the same of its events, and a table of rows is kept only for those that have the same negation and
functions of aggregates, edge predicates that go one way, and windows that a table can have
together; and the same edge predicate, where its rows cannot be over snapshots. A query
that is in no class with another is told of the query that is most like it, and of what keeps the
two apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hamlet.errors import listed
from hamlet.explain.loops import loop_sharing
from hamlet.plan.windows import in_one_table

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from hamlet.plan.program import Program
    from hamlet.plan.query import Query, Window
    from hamlet.plan.template import Condition, PlannedQuery, State, Template
    from hamlet.plan.workload import WorkloadPlan
    from hamlet.share.policy import Policy

    Sharing = dict[str, Any]
    Key = tuple[Hashable, ...]

# What queries of one class have in common, by kind of loop: the parts of their keys
_PARTS = {
    "burst": ("condition on its events",),
    "rows": (
        "edge predicate",
        "negation inside",
        "aggregates",
        "window",
    ),
}


def known_sharing(
    plan: WorkloadPlan, programs: Sequence[Program], policy: Policy = "dynamic"
) -> list[Sharing]:
    """For each set and each E+ that several queries repeat, who shares it and who does not."""
    number = {planned.query.name: planned for planned in plan.queries}
    sharing: list[Sharing] = []
    for loop in loop_sharing(plan, programs, policy):
        sharing += _divided(loop, number) if loop["shared"] else [loop]
    return sharing


def _divided(loop: Sharing, planned: dict[str, PlannedQuery]) -> Iterator[Sharing]:
    """Queries that could share, by what has to be the same; those with no other come last."""
    keys = {
        name: list(dict.fromkeys(_keys(planned[name], loop["type"], loop["kind"])))
        for name in loop["queries"]
    }
    if loop["kind"] == "rows":
        keys = _by_table(keys)
    classes: dict[Key, list[str]] = {}
    for name, own in keys.items():
        for key in own:
            classes.setdefault(key, []).append(name)
    sharers = {name for names in classes.values() if len(names) > 1 for name in names}
    for names in classes.values():
        if len(names) > 1:
            yield {**loop, "queries": names, "why": loop["why"] + _told(loop, names, planned)}
    told: dict[tuple[int, ...], list[tuple[str, str]]] = {}
    for name in loop["queries"]:
        if name not in sharers:
            parts, other = _most_like(name, keys)
            told.setdefault(parts, []).append((name, other))
    for parts, pairs in told.items():
        why = _why_alone([_PARTS[loop["kind"]][part] for part in parts], pairs)
        yield {**loop, "shared": False, "queries": [name for name, _ in pairs], "why": why}


def _by_table(keys: dict[str, list[Key]]) -> dict[str, list[Key]]:
    """Keys with the number of a table that may have their windows, in place of these."""
    windows: dict[Key, set[Window]] = {}
    for own in keys.values():
        for *rest, window in own:
            windows.setdefault(tuple(rest), set()).add(window)  # type: ignore[arg-type]
    tables = {
        rest: in_one_table((window.within_us, window.slide_us) for window in some)
        for rest, some in windows.items()
    }

    def with_table(*key: Any) -> Key:
        *rest, window = key
        return (*rest, tables[tuple(rest)][window.within_us, window.slide_us])

    return {name: [with_table(*key) for key in own] for name, own in keys.items()}


def _told(loop: Sharing, names: list[str], planned: dict[str, PlannedQuery]) -> str:
    """What is to be said of events on which the queries of a class disagree."""
    if loop["kind"] != "rows":
        return ""
    atoms, compared = set(), set()
    for query, template in ((planned[n].query, t) for n in names for t in _branches(planned[n])):
        for state, condition in _loops(template, loop["type"]):
            atoms.add(state.atom)
            compared.add(_compared(query, condition))
    told = "; an event for some of them is a snapshot by itself" if len(atoms) > 1 else ""
    if len(compared) > 1:
        told += (
            "; with different edge predicates where these mostly agree: "
            "an event on which these disagree is a snapshot by itself"
        )
    return told


def _why_alone(parts: list[str], pairs: list[tuple[str, str]]) -> str:
    """Why some queries, each with the one that is most like it, are in no class."""
    if not parts:
        return "no other query has such a loop"
    if len(pairs) == 1:
        return f"another {listed(parts)} than {pairs[0][1]}"
    return f"each has another {listed(parts)} than the rest"


def _most_like(name: str, keys: dict[str, list[Key]]) -> tuple[tuple[int, ...], str]:
    """The query whose loop is most like that of another, and the parts in which they differ."""
    apart = [
        (_differing(own, key), other)
        for other, theirs in keys.items()
        if other != name
        for key in theirs
        for own in keys[name]
    ]
    return min(apart, key=lambda pair: len(pair[0])) if apart else ((), "")


def _differing(one: Key, other: Key) -> tuple[int, ...]:
    pairs = enumerate(zip(one, other, strict=True))
    return tuple(part for part, (mine, theirs) in pairs if mine != theirs)


def _keys(planned: PlannedQuery, name: str, kind: str) -> Iterator[Key]:
    """What another query must have too, for each loop over a type that could be shared."""
    query = planned.query
    for template in _branches(planned):
        for state, condition in _loops(template, name):
            if kind == "rows":
                has_snapshots = _may_have_snapshots(template, name)
                compared = _compared(query, condition)
                if has_snapshots:
                    compared = frozenset(predicate.direction for predicate in compared)
                negated = frozenset(planned.templates.guards[n] for n in condition.guards)
                yield compared, negated, _asked(query), query.window
            elif not condition.predicates and not condition.guards:
                yield (state.atom,)


def _branches(planned: PlannedQuery) -> tuple[Template, ...]:
    return planned.templates.branches


def _compared(query: Query, condition: Condition) -> frozenset[Any]:
    """What a loop asks of neighbours."""
    return frozenset(query.edge_predicates[number] for number in condition.predicates)


def _may_have_snapshots(template: Template, name: str) -> bool:
    """Whether rows of its loops over a type may be over snapshots: see kernel/rows/letters.py."""
    loops = {edge.target for edge in template.edges if edge.source == edge.target}
    loops = {state for state in loops if template.states[state].type == name}
    entering = [e for e in template.edges if e.target in loops and e.source != e.target]
    return all(edge.condition.is_free and edge.source not in loops for edge in entering)


def _asked(query: Query) -> tuple[str, ...]:
    """What is asked for besides the number of trends, extremes alike: a table is of one width."""
    return tuple(sorted("" if a.sign else a.function for a in query.aggregates if a.places))


def _loops(template: Template, name: str) -> Iterator[tuple[State, Condition]]:
    for edge in template.edges:
        if edge.source == edge.target and template.states[edge.source].type == name:
            yield template.states[edge.source], edge.condition
