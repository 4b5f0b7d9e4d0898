"""What is known at plan time of each E+: whether the work on its events is shared, and why.

The rules are those of the kernel's compiler, read off templates. Two things only data can tell are
taken for granted: that the two sides of an edge predicate can be compared, and that values which
are summed as doubles are of about one size. Where that is not so, work is done for each query.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from hamlet.plan.letters import Atom
from hamlet.plan.template import END, START
from hamlet.share.policy import choose_at_plan_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hamlet.plan.template import Condition, Edge, PlannedQuery, Template
    from hamlet.plan.workload import SharableSet, WorkloadPlan
    from hamlet.share.policy import EdgeKind, Policy

    # From running totals, from a tree ordered by one side of a predicate, from a list of events
    EdgeGrain = Literal["row", "tree", "log"]


def loop_sharing(plan: WorkloadPlan, policy: Policy = "dynamic") -> list[dict[str, Any]]:
    """For each set and each E+ that queries could share, what becomes of it, with its queries."""
    found: list[dict[str, Any]] = []
    for number, sharable in enumerate(plan.sets, 1):
        kinds = loop_kinds(plan, sharable)
        for name, queries in sharable.shared:
            by_kind: dict[EdgeKind, list[str]] = {}
            for query in queries:
                for kind in sorted(kinds[query][name]):
                    by_kind.setdefault(kind, []).append(plan.queries[query].query.name)
            for kind, names in by_kind.items():
                choice = choose_at_plan_time(policy, kind)
                found.append(
                    {
                        "set": f"s{number}",
                        "type": name,
                        "kind": kind,
                        "shared": choice.shared,
                        "queries": names,
                        "why": choice.why,
                    }
                )
    return found


def loop_kinds(plan: WorkloadPlan, sharable: SharableSet) -> dict[int, dict[str, set[EdgeKind]]]:
    """For each query of a set and each of its types with a loop, the kinds of these loops."""
    units = [
        _Unit(number, plan.queries[number], template)
        for number in sharable.queries
        for template in _templates(plan.queries[number])
    ]
    # A unit has one shared burst at a time: that of the atom that most units could share.
    votes = Counter(unit.atom(state) for unit in units for state in unit.sharable)
    found: dict[int, dict[str, set[EdgeKind]]] = {}
    for unit in units:
        best = max(unit.sharable, key=lambda s: (votes[unit.atom(s)], -s), default=None)
        by_type = found.setdefault(unit.query, {})
        for state, edge in unit.loops.items():
            kind = "plain" if state == best else unit.kind(edge)
            by_type.setdefault(unit.template.states[state].type, set()).add(kind)
    return found


def _templates(planned: PlannedQuery) -> Iterator[Template]:
    yield from planned.templates.branches
    if planned.templates.both is not None:
        yield planned.templates.both


class _Unit:
    """One template of one query."""

    def __init__(self, query: int, planned: PlannedQuery, template: Template) -> None:
        self.query = query
        self.planned = planned
        self.template = template
        self.loops = {edge.source: edge for edge in template.edges if edge.source == edge.target}
        self.is_chain = self._is_chain()
        self.sharable = [] if self.is_chain else [s for s in self.loops if self._is_sharable(s)]

    def atom(self, state: int) -> Atom:
        """What events of a state satisfy."""
        found = self.template.states[state]
        return Atom(found.type, found.atom)

    def kind(self, loop: Edge) -> EdgeKind:
        """The kind of a loop whose bursts are not one map for all queries."""
        if self.is_chain:
            return "chain"
        grain = self._grain(loop.condition)
        return "own" if grain == "row" else grain

    def _is_chain(self) -> bool:
        """Whether it is SEQ(X, E+) or E+ with one ordered predicate between neighbours."""
        template = self.template
        if len(self.loops) != 1 or len(template.states) > 2 or self.planned.query.is_conjunction:
            return False
        ((state, loop),) = self.loops.items()
        others = [s for s in range(len(template.states)) if s != state]
        path = [START, *others, state, END]
        wanted = {(state, state), *pairwise(path)}
        rest = [edge for edge in template.edges if edge is not loop]
        if {(e.source, e.target) for e in template.edges} != wanted:
            return False
        return (
            all(edge.condition.is_free for edge in rest)
            and self._grain(loop.condition) == "tree"
            and not loop.condition.guards
        )

    def _is_sharable(self, state: int) -> bool:
        """Whether a burst at a state is one map: all it reads are rows, all that read it too."""
        into = [edge.condition for edge in self.template.edges if edge.target == state]
        out = [edge.condition for edge in self.template.edges if edge.source == state]
        is_free = not self.loops[state].condition.guards
        reads = all(self._grain(c) == "row" and not c.holds and not c.fails for c in into)
        is_read = all(self._grain(c) == "row" for c in out)
        return is_free and reads and is_read and self._is_only(state)

    def _is_only(self, state: int) -> bool:
        """Whether no other state, of the template or of a guard, has the type."""
        templates = (self.template, *self.planned.templates.guards)
        types = [each.type for template in templates for each in template.states]
        return types.count(self.template.states[state].type) == 1

    def _grain(self, condition: Condition) -> EdgeGrain:
        """How predecessors along an edge are had."""
        guards = self.planned.templates.guards
        several = [g for g in condition.guards if len(guards[g].states) > 1]
        if condition.is_simple and not several and len(condition.predicates) == 1:
            (number,) = condition.predicates
            if self.planned.query.edge_predicates[number].is_ordered:
                return "tree"
        one_way = all(len(need) == 1 for need in condition.needs) and not condition.forbids
        if condition.predicates or not one_way or len(several) > 1:
            return "log"
        looks = any(e.condition.predicates for g in condition.guards for e in guards[g].edges)
        return "log" if looks else "row"
