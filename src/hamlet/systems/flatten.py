"""Kleene patterns as sequences of fixed lengths, for a system that knows only those.

Every run of a template through at most as many events as a window has is a sequence. Sequences that
begin alike, of one query or of several, have their prefixes in common, so they make a tree of
prefixes, each with what one more event does to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hamlet.errors import SystemCannot, SystemLimit
from hamlet.kernel.compiler.parts import Rows
from hamlet.systems.tables import NO_EDGE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hamlet.plan.template import Condition
    from hamlet.systems.tables import Graph, Tables, Unit

SYSTEM = "sharon"
MOST_PREFIXES = 300_000


class Sequences(NamedTuple):
    """A tree of prefixes; 0 is the empty one, and shorter ones come first.

    by_letter_p, by_letter: The prefixes that an event ends, by letter and length.
    end_p, end: The units that have a prefix as a whole sequence.
    feed: The feed that a prefix grows from, -1 where that is the prefix before itself.
    feeding_p, feeding: The feeds that grow with a prefix.
    feed_source: The prefix of a feed, feed_unit: the unit that it ends or -1, feed_guards: the row
        of `hits` that says which letters empty it.
    """

    within: int
    slide: int
    units: int
    parent: Any
    depth: Any
    feed: Any
    by_letter_p: Any
    by_letter: Any
    end_p: Any
    end: Any
    feeding_p: Any
    feeding: Any
    feed_source: Any
    feed_unit: Any
    feed_guards: Any
    hits: Any
    weights: Any
    extremes: Any
    signs: Any


@dataclass(frozen=True, slots=True)
class Family:
    """Units with the same windows and aggregates, and the sequences of all of them."""

    templates: NDArray[np.int32]
    sequences: Sequences


def flattened(tables: Tables, units: list[Unit], most: NDArray[np.int64]) -> Family:
    """The sequences of some units.

    Args:
        tables: The set.
        units: Some of its units, with the same windows and aggregates.
        most: For each atom how often it can occur in a match; last, how long a match can be.
    """
    tree = _Tree(tables, most)
    for number, unit in enumerate(units):
        tree.add(number, unit)
    templates = np.array([unit.template for unit in units], np.int32)
    return Family(templates, tree.sequences(units[0].graph, len(units)))


class _Tree:
    """Collects prefixes."""

    def __init__(self, tables: Tables, most: NDArray[np.int64]) -> None:
        self.tables, self.most = tables, most
        self.letters = tables.encoded.batch.letters
        self.children: dict[tuple[Any, ...], int] = {}
        self.parent, self.depth, self.feed = [0], [0], [-1]
        self.steps: list[_Step | None] = [None]
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
        leaving: dict[int, list[tuple[int, _Step]]] = {}
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

    def _prefix(self, prefix: int, step: _Step) -> int:
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

    def _step(self, unit: Unit, state: int, rule: int) -> _Step:
        """What an edge into a state takes: letters, guards, and what an event adds."""
        condition, rules = self._condition(rule), self.tables.rules
        self._check(unit, condition)
        takes = self.letters[:, unit.atoms[state]].astype(bool)
        for k in range(rules.holds_p[rule], rules.holds_p[rule + 1]):
            takes &= self.letters[:, rules.holds[k]] == 1
        for k in range(rules.fails_p[rule], rules.fails_p[rule + 1]):
            takes &= self.letters[:, rules.fails[k]] == 0
        return _Step(
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

    def sequences(self, graph: Graph, units: int) -> Sequences:
        """The tree as arrays, shorter prefixes first."""
        order = np.argsort(np.array(self.depth), kind="stable")
        moved = np.empty(len(order), np.int64)
        moved[order] = np.arange(len(order))
        depth = np.array(self.depth, np.int64)[order]
        deepest = int(depth[-1])
        by_letter = Rows([[] for _ in range(len(self.letters) * (deepest + 1))])
        feeding = Rows([[] for _ in order])
        for (prefix, _, _), feed in self.feeds.items():
            feeding.lists[moved[prefix]].append(feed)
        letters_of: dict[bytes, list[int]] = {}
        for new, old in enumerate(order.tolist()):
            step = self.steps[old]
            if step is None:
                continue
            if step.takes not in letters_of:
                letters_of[step.takes] = np.flatnonzero(np.frombuffer(step.takes, bool)).tolist()
            for letter in letters_of[step.takes]:
                by_letter.lists[letter * (deepest + 1) + int(depth[new])].append(new)
        steps = [self.steps[old] for old in order.tolist()]
        ends = Rows([self.ends[old] for old in order.tolist()])
        hits = np.array([np.frombuffer(hit, bool) for hit in self.hits], bool)
        nothing = _Step(b"", -1, (-1,) * graph.weights.shape[1], (-1,) * graph.extremes.shape[1])
        known = [step or nothing for step in steps]
        return Sequences(
            graph.within,
            graph.slide,
            units,
            moved[np.array(self.parent, np.int64)[order]],
            depth,
            np.array(self.feed, np.int64)[order],
            by_letter.pointers(),
            by_letter.flat(),
            ends.pointers(),
            ends.flat(),
            feeding.pointers(),
            feeding.flat(),
            np.array([moved[prefix] for prefix, _, _ in self.feeds], np.int64),
            np.array([unit for _, _, unit in self.feeds], np.int64),
            np.array([guards for _, guards, _ in self.feeds], np.int64),
            hits.reshape(len(self.hits), len(self.letters)),
            _table([step.weights for step in known]),
            _table([step.extremes for step in known]),
            graph.signs,
        )


class _Step(NamedTuple):
    """One more event of a sequence: steps that are equal lead to one prefix."""

    takes: bytes
    guards: int
    weights: tuple[int, ...]
    extremes: tuple[int, ...]


def _leading_to_end(
    leaving: dict[int, list[tuple[int, _Step]]], ends: list[int | None]
) -> set[int]:
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


def _table(rows: list[tuple[int, ...]]) -> NDArray[np.int64]:
    return np.array(rows, np.int64).reshape(len(rows), len(rows[0]))
