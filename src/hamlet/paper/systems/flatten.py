"""Kleene patterns as sequences of fixed lengths, for a system that knows only those.

Every run of a template through at most as many events as a window has is a sequence. Sequences that
begin alike, of one query or of several, have their prefixes in common, so they make a tree of
prefixes, each with what one more event does to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hamlet.errors import SystemCannot, SystemLimit
from hamlet.paper.systems.tables import NO_EDGE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.paper.systems.tables import Graph, Tables, Unit
    from hamlet.plan.template import Condition

SYSTEM = "sharon"
MOST_PREFIXES = 300_000


def flattened(tables: Tables, units: list[Unit], most: NDArray[np.int64]) -> Tree:
    """The prefixes of all sequences of some units.

    Args:
        tables: The set.
        units: Some of its units, with the same windows and aggregates.
        most: For each atom how often it can occur in a match; last, how long a match can be.
    """
    tree = Tree(tables, most)
    for number, unit in enumerate(units):
        tree.add(number, unit)
    return tree


class Tree:
    """Collects prefixes; 0 is the empty one, and each comes after the one that it makes longer.

    parent, depth: The prefix before, and the number of events.
    steps: What the last event of each must be and adds.
    feed: The feed that a prefix grows from, -1 where that is the prefix before itself.
    ends: The units that have a prefix as a whole sequence.
    feeds: By prefix, row of `hits`, and unit that it ends or -1: what no NOT has cancelled of it.
    hits: For each letter, whether an event of it cancels.
    """

    def __init__(self, tables: Tables, most: NDArray[np.int64]) -> None:
        self.tables, self.most = tables, most
        self.letters = tables.encoded.batch.letters
        self.children: dict[tuple[Any, ...], int] = {}
        self.parent, self.depth, self.feed = [0], [0], [-1]
        self.steps: list[Step | None] = [None]
        self.ends: list[list[int]] = [[]]
        self.feeds: dict[tuple[int, int, int], int] = {}  # prefix, guards, unit or -1
        self.hits: dict[bytes, int] = {}

    def add(self, number: int, unit: Unit) -> None:
        """Add every sequence of a unit."""
        graph, states = unit.graph, len(unit.atoms)
        arriving = [
            [(int(graph.in_source[e]), int(graph.in_rule[e])) for e in range(low, high)]
            for low, high in zip(graph.in_p[:-1], graph.in_p[1:], strict=True)
        ]
        leaving: dict[int, list[tuple[int, Step]]] = {}
        for state in range(states):
            for source, rule in arriving[state]:
                step = self._step(unit, state, rule)
                leaving.setdefault(source, []).append((state, step))
        ends = [self._end(unit, int(rule)) for rule in graph.end_rule]
        useful = _leading_to_end(leaving, ends)
        # Where a run is: its prefix, its state, and how often each atom has occurred
        frontier: list[tuple[int, int, dict[int, int]]] = [(0, -1, {})]
        while frontier:
            further = []
            for prefix, state, used in frontier:
                for target, step in leaving.get(state, ()):
                    atom = unit.atoms[target]
                    times = used.get(atom, 0) + 1
                    if target not in useful or times > self.most[atom]:
                        continue
                    longer = self._prefix(prefix, step)
                    if self.depth[longer] > self.most[-1]:
                        continue
                    end = ends[target]
                    if end == -1:
                        self.ends[longer].append(number)
                    elif end is not None:
                        self.feeds.setdefault((longer, end, number), len(self.feeds))
                    further.append((longer, target, {**used, atom: times}))
            frontier = further

    def _prefix(self, prefix: int, step: Step) -> int:
        key = (prefix, *step)
        if key not in self.children:
            if len(self.parent) >= MOST_PREFIXES:
                raise SystemLimit(
                    SYSTEM, f"flattening Kleene closure takes more than {MOST_PREFIXES:,} sequences"
                )
            self.children[key] = len(self.parent)
            self.parent.append(prefix)
            self.depth.append(self.depth[prefix] + 1)
            self.steps.append(step)
            self.ends.append([])
            guards = step.guards
            feed = -1
            if guards >= 0:
                feed = self.feeds.setdefault((prefix, guards, -1), len(self.feeds))
            self.feed.append(feed)
        return self.children[key]

    def _step(self, unit: Unit, state: int, rule: int) -> Step:
        """What an edge into a state takes: letters, guards, and what an event adds."""
        condition, rules = self._condition(rule), self.tables.rules
        self._check(unit, condition)
        takes = self.letters[:, unit.atoms[state]].astype(bool)
        for k in range(rules.holds_p[rule], rules.holds_p[rule + 1]):
            takes &= self.letters[:, rules.holds[k]] == 1
        for k in range(rules.fails_p[rule], rules.fails_p[rule + 1]):
            takes &= self.letters[:, rules.fails[k]] == 0
        return Step(
            takes.tobytes(),
            self._guards(unit, condition),
            tuple(unit.graph.weights[state].tolist()),
            tuple(unit.graph.extremes[state].tolist()),
        )

    def _end(self, unit: Unit, rule: int) -> int | None:
        """The guards of an edge to END; -1 for none, None where there is no such edge."""
        if rule == NO_EDGE:
            return None
        self._check(unit, self._condition(rule))
        return self._guards(unit, self._condition(rule))

    def _condition(self, rule: int) -> Condition:
        return self.tables.program.conditions[self.tables.rule_keys[rule][0]]

    def _check(self, unit: Unit, condition: Condition) -> None:
        name = self.tables.name_of(unit.query)
        if condition.predicates:
            raise SystemCannot(SYSTEM, name, "it has no conditions on two adjacent events")
        if condition.forbids or any(len(need) > 1 for need in condition.needs):
            raise SystemCannot(SYSTEM, name, "its NOT is open on one of several ways only")

    def _guards(self, unit: Unit, condition: Condition) -> int:
        """The number of the letters that any guard of a condition forbids, -1 for no guard."""
        if not condition.guards:
            return -1
        hit = np.zeros(len(self.letters), bool)
        for guard in self.tables.guards:
            if guard.template in condition.guards:
                hit |= self._hits(unit, guard.graph)
        return self.hits.setdefault(hit.tobytes(), len(self.hits))

    def _hits(self, unit: Unit, graph: Graph) -> NDArray[np.bool_]:
        """The letters of which one event is a match of a guard, if that is all a match needs."""
        hit = np.zeros(len(self.letters), bool)
        for letter in range(len(self.letters)):
            for state in graph.enter[graph.enter_p[letter] : graph.enter_p[letter + 1]]:
                edges = range(graph.in_p[state], graph.in_p[state + 1])
                firsts = [e for e in edges if graph.in_source[e] < 0]
                if not firsts:
                    continue
                free = [e for e in firsts if graph.in_rule[e] == 0]
                if not free or graph.end_rule[state] != 0:
                    name = self.tables.name_of(unit.query)
                    raise SystemCannot(SYSTEM, name, "its NOT is about more than one event")
                hit[letter] = True
        return hit


class Step(NamedTuple):
    """One more event of a sequence: steps that are equal lead to one prefix."""

    takes: bytes
    guards: int
    weights: tuple[int, ...]
    extremes: tuple[int, ...]


def _leading_to_end(leaving: dict[int, list[tuple[int, Step]]], ends: list[int | None]) -> set[int]:
    """The states from which END can be reached."""
    useful = {state for state, end in enumerate(ends) if end is not None}
    while True:
        more = {
            source
            for source, edges in leaving.items()
            if source not in useful and any(target in useful for target, _ in edges)
        }
        if not more - {-1}:
            return useful
        useful |= more - {-1}
