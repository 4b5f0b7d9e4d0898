"""From plan to description: every stage as plain data, shared parts named once and referred to.

Names: a1, a2, ... are atoms, p1, ... edge predicates, t1, ... templates, s1, ... sharable sets.
Templates that are equal up to aliases are one, whichever queries they came from.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from hamlet.errors import counted, listed
from hamlet.explain.sharers import known_sharing
from hamlet.plan.durations import show_duration
from hamlet.plan.execution import Grain, Surroundings, grain_of
from hamlet.plan.letters import Alphabet, Atom, alphabet_of
from hamlet.plan.predicates import (
    Column,
    EdgePredicate,
    show,
    show_edge,
    with_columns,
)
from hamlet.plan.program import Program, compile_set
from hamlet.plan.query import ANY, Query, show_match, show_pattern
from hamlet.plan.template import (
    END,
    START,
    Alternative,
    Condition,
    Part,
    PlannedQuery,
    State,
    Template,
)
from hamlet.plan.workload import merged_names, state_names

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from hamlet.plan.predicates import Expression
    from hamlet.plan.query import Aggregate, Result
    from hamlet.plan.workload import Member, MergedEdge, SharableSet, WorkloadPlan

    # What is asked somewhere, as text, and by whom
    _Asked = dict[str, dict[str, None]]
    _Named = Callable[[EdgePredicate], str]

GRAINS = {
    Grain.TYPE: "type-grained",
    Grain.ORDERED: "event-grained, ordered",
    Grain.TAKEN: "event-grained, taken",
    Grain.SCAN: "event-grained, scan",
}
COSTS = {
    Grain.TYPE: "one running total, constant time for each event",
    Grain.ORDERED: "an ordered index, logarithmic time for each event",
    Grain.TAKEN: "each stored predecessor is taken off once, logarithmic time for each event",
    Grain.SCAN: "a look at every stored predecessor, linear time for each event",
}


def summary(plan: WorkloadPlan) -> str:
    """How many queries there are, and which types several repeat; cheap, however many there are.

    Whose work on these is done once is another question: see `sharers.py`.
    """
    queries = counted(len(plan.queries), "query", "queries")
    sharing = [one for one in plan.sets if one.shared]
    if not sharing:
        return f"{queries}, nothing to share"
    number = sum(len(one.queries) for one in sharing)
    types = listed(dict.fromkeys(f"{name}+" for one in sharing for name, _ in one.shared), 6)
    return f"{queries}, {number:,} of them repeat {types} in {counted(len(sharing), 'set')}"


def describe(plan: WorkloadPlan, name: str = "workload") -> dict[str, Any]:
    """The whole plan as data that can be written as JSON."""
    describer = _Describer(plan)
    programs = [compile_set(plan, sharable) for sharable in plan.sets]
    sharing = known_sharing(plan, programs)
    queries = [describer.query(number) for number in range(len(plan.queries))]
    return {
        "workload": name,
        "summary": summary(plan),
        "queries": queries,
        "atoms": describer.atoms(),
        "predicates": describer.predicates(),
        "templates": describer.templates,
        "sets": [describer.sharable_set(number, sharing) for number in range(len(plan.sets))],
        "apart": describer.apart(),
        "letters": describer.letters(),
        "edges": describer.edges(),
        "sharing": sharing,
        "programs": [
            {"set": f"s{number}", **_program(plan, program)}
            for number, program in enumerate(programs, 1)
        ],
    }


class _Describer:
    """Gives names to shared parts as they are first met."""

    def __init__(self, plan: WorkloadPlan) -> None:
        self.plan = plan
        self.alphabet: Alphabet = alphabet_of(plan.queries)
        self.atom_name = {atom: f"a{i}" for i, atom in enumerate(self.alphabet.atoms, 1)}
        self.predicate_name: dict[EdgePredicate, str] = {}
        self.templates: list[dict[str, Any]] = []
        self.template_name: dict[Hashable, dict[str, Any]] = {}
        self.set_name = {
            number: f"s{index}"
            for index, sharable in enumerate(plan.sets, 1)
            for number in sharable.queries
        }

    # Queries

    def query(self, number: int) -> dict[str, Any]:
        """One query, its templates given by name."""
        planned = self.plan.queries[number]
        query, templates = planned.query, planned.templates
        names = [
            self._template(planned, template, show_pattern(query, branch) + show_match(query))
            for template, branch in zip(templates.branches, query.branches, strict=True)
        ]
        if templates.both is not None:
            both = " and ".join(show_pattern(query, branch) for branch in query.branches)
            names.append(self._template(planned, templates.both, f"both {both}{show_match(query)}"))
        for negation, guard in enumerate(templates.guards):
            text = "NOT " + show_pattern(query, query.negations[negation])
            self._template(planned, guard, text)
        return {
            "name": query.name,
            "pattern": " AND ".join(show_pattern(query, branch) for branch in query.branches)
            + show_match(query),
            "templates": names,
            "aggregates": [_show_result(query, result) for result in query.returned],
            **({} if query.having is None else {"having": _show_formula(query, query.having)}),
            "group_by": list(query.group_by),
            "equivalence": list(query.equivalence),
            "within": show_duration(query.window.lengths_us[0]),
            "slide": show_duration(query.window.lengths_us[1]),
            **({"shift": query.window.shift} if query.window.shift else {}),
            "set": self.set_name[number],
        }

    # Templates

    def _template(self, planned: PlannedQuery, template: Template, text: str) -> str:
        """The name of a template, described when it is first met."""
        key = _identity(planned, template)
        known = self.template_name.get(key)
        if known is None:
            known = {
                "name": f"t{len(self.templates) + 1}",
                "pattern": text,
                "queries": [],
                "determinised": template.is_determinised,
                "states": self._states(planned.query, template),
                "edges": self._edges(planned, template),
            }
            self.template_name[key] = known
            self.templates.append(known)
        # Queries come one after another, so one that is there already is the last.
        if known["queries"][-1:] != [planned.query.name]:
            known["queries"].append(planned.query.name)
        return str(known["name"])

    def _states(self, query: Query, template: Template) -> list[dict[str, Any]]:
        labels = _state_labels(query, template)
        return [
            {
                "label": label,
                "type": state.type,
                "atom": self.atom_name[Atom(state.type, state.atom)],
                "condition": show(state.atom) if state.atom else None,
            }
            for label, state in zip(labels, template.states, strict=True)
        ]

    def _edges(self, planned: PlannedQuery, template: Template) -> list[dict[str, Any]]:
        labels = _state_labels(planned.query, template)
        named = {START: "START", END: "END"} | dict(enumerate(labels))
        return [
            {
                "from": named[edge.source],
                "to": named[edge.target],
                **self._condition(planned.query, edge.condition),
            }
            for edge in template.edges
        ]

    def _condition(self, query: Query, condition: Condition) -> dict[str, Any]:
        """Guards and predicates of an edge; where it is not a plain "all of these", as text too."""
        described: dict[str, Any] = {
            "guards": _show_guards(query, condition.guards),
            "predicates": [
                self._predicate(query.edge_predicates[number])
                for number in sorted(condition.predicates)
            ],
        }
        if not condition.is_simple:
            described["condition"] = " and ".join(self._clauses(query, condition))
        return described

    def _clauses(
        self, query: Query, condition: Condition, named: _Named | None = None
    ) -> Iterator[str]:
        """What an edge asks; predicates by their names, or as another function shows them."""
        named = named or self._predicate
        yield from sorted(_ways(query, need, named) for need in condition.needs)
        if condition.forbids:
            yield f"not ({_ways(query, condition.forbids, named)})"
        yield from sorted(show(part) for part in condition.holds)
        yield from sorted(f"unless {show(part)}" for part in condition.fails)

    # Shared parts

    def _predicate(self, predicate: EdgePredicate) -> str:
        return self.predicate_name.setdefault(predicate, f"p{len(self.predicate_name) + 1}")

    def predicates(self) -> list[dict[str, Any]]:
        """The edge predicates met so far."""
        return [
            {
                "name": name,
                "predicate": show_edge(predicate),
                "form": "ordered" if predicate.is_ordered else "general",
                "written": show(predicate.condition),
            }
            for predicate, name in self.predicate_name.items()
        ]

    def atoms(self) -> list[dict[str, Any]]:
        """Every atom with its name."""
        return [
            {
                "name": name,
                "type": atom.type,
                "condition": show(atom.condition) if atom.condition else None,
            }
            for atom, name in self.atom_name.items()
        ]

    def letters(self) -> list[dict[str, Any]]:
        """For each type its atoms, which are the bits of a letter."""
        by_type = groupby(self.alphabet.atoms, key=lambda atom: atom.type)
        return [
            {
                "type": name,
                "atoms": [self.atom_name[atom] for atom in atoms],
                "most_letters": Alphabet(atoms).most_letters(name),
            }
            for name, atoms in ((name, tuple(group)) for name, group in by_type)
        ]

    # Sets

    def _names(self, queries: tuple[int, ...]) -> list[str]:
        return [self.plan.queries[number].query.name for number in queries]

    def _pane_us(self, sharable: SharableSet) -> int:
        """The pane of a set as lengths are written: calendar days are longer on their clock."""
        window = self.plan.queries[sharable.queries[0]].query.window
        return sharable.pane_us * window.lengths_us[0] // window.within_us

    def sharable_set(self, index: int, sharing: list[dict[str, Any]]) -> dict[str, Any]:
        """One set with its merged template; loops know whose work on their events is one."""
        sharable = self.plan.sets[index]
        windows = dict.fromkeys(str(self.plan.queries[n].query.window) for n in sharable.queries)
        members = [m for n in sharable.queries for m in self._members(n)]
        shared_by: dict[str, list[list[str]]] = {}
        for loop in sharing:
            if loop["set"] == f"s{index + 1}" and loop["shared"]:
                shared_by.setdefault(loop["type"], []).append(loop["queries"])
        return {
            "name": f"s{index + 1}",
            "queries": self._names(sharable.queries),
            "members": [self._member_name(m) for m in members],
            "partition": list(sharable.partition),
            "shared": {name: self._names(queries) for name, queries in sharable.shared},
            "windows": list(windows),
            "pane": show_duration(self._pane_us(sharable)),
            "types": list(sharable.merged.types),
            **self._merged(sharable, members, shared_by),
        }

    def _members(self, number: int) -> list[Member]:
        return [(number, side) for side in range(len(self.plan.queries[number].query.branches))]

    def _member_name(self, member: Member) -> str:
        """A query, or one side of its AND."""
        query = self.plan.queries[member[0]].query
        return f"{query.name} (side {member[1] + 1})" if query.is_conjunction else query.name

    def _merged(
        self,
        sharable: SharableSet,
        members: list[Member],
        shared_by: dict[str, list[list[str]]],
    ) -> dict[str, Any]:
        """States and edges of the merged template, with whatever somebody asks of them."""
        names = merged_names(self.plan.queries[number] for number in sharable.queries)
        types = {state.name: state.type for state in sharable.merged.states}
        asked: dict[str, _Asked] = {state.name: {} for state in sharable.merged.states}
        guards: dict[tuple[str, str], _Asked] = {}
        where: dict[tuple[str, str], _Asked] = {}
        for member in members:
            planned, who = self.plan.queries[member[0]], self._member_name(member)
            template = planned.templates.branches[member[1]]
            named = state_names(template, names)
            for number, state in enumerate(template.states):
                if state.atom is not None:
                    _ask(asked[named[number]], show(state.atom), who)
            for between, parallel in _by_ends(template, named).items():
                bars, texts = self._drawn(planned.query, parallel)
                for guard in bars:
                    _ask(guards.setdefault(between, {}), guard, who)
                for text in texts:
                    _ask(where.setdefault(between, {}), text, who)
        return {
            "states": [
                {
                    "name": state.name,
                    "type": state.type,
                    "conditions": _listed(asked[state.name]),
                }
                for state in sharable.merged.states
            ],
            "edges": [
                {
                    "from": edge.source,
                    "to": edge.target,
                    "queries": [self._member_name(member) for member in edge.members],
                    "shared_by": self._sharers(edge, types, shared_by),
                    "guards": _listed(guards.get((edge.source, edge.target), {})),
                    "conditions": _listed(where.get((edge.source, edge.target), {})),
                }
                for edge in sharable.merged.edges
            ],
        }

    def _sharers(
        self, edge: MergedEdge, types: dict[str, str], shared_by: dict[str, list[list[str]]]
    ) -> list[list[str]]:
        """Of the members that have a loop, those whose work on its events is done once."""
        if edge.source != edge.target:
            return []
        name = {member: self.plan.queries[member[0]].query.name for member in edge.members}
        groups = (
            [self._member_name(member) for member in edge.members if name[member] in sharing]
            for sharing in shared_by.get(types[edge.source], [])
        )
        return [group for group in groups if len(group) > 1]

    def _drawn(self, query: Query, parallel: list[Condition]) -> tuple[list[str], list[str]]:
        """What a query asks between two states: guards, and everything else, all to be met.

        Where there are several edges, one of which is to be taken, or where an edge asks for more
        than guards and predicates, that is one text.
        """
        if any(condition.is_free for condition in parallel):
            return [], []
        if len(parallel) == 1 and parallel[0].is_simple:
            (one,) = parallel
            predicates = (query.edge_predicates[n] for n in sorted(one.predicates))
            return _show_guards(query, one.guards), [
                show_edge(predicate) for predicate in predicates
            ]
        ways = [" and ".join(self._clauses(query, condition, show_edge)) for condition in parallel]
        return [], [ways[0] if len(ways) == 1 else " or ".join(f"({way})" for way in ways)]

    def apart(self) -> dict[str, Any]:
        """Why sets are apart, in a form that is linear in their number and covers every pair."""
        by_partition: dict[tuple[str, tuple[str, ...]], list[dict[str, Any]]] = {}
        alone: list[str] = []
        for index, sharable in enumerate(self.plan.sets):
            kleene: set[str] = set()
            for number in sharable.queries:
                kleene |= self.plan.queries[number].kleene_types
            if not kleene:
                alone += self._names(sharable.queries)
            window = self.plan.queries[sharable.queries[0]].query.window
            key = window.shift, tuple(sorted(sharable.partition))
            member = {"set": f"s{index + 1}", "kleene": sorted(kleene)}
            by_partition.setdefault(key, []).append(member)
        return {
            "partitions": [
                {"attributes": list(key), **({"shift": shift} if shift else {}), "sets": members}
                for (shift, key), members in by_partition.items()
            ],
            "without_kleene": alone,
        }

    def edges(self) -> list[dict[str, Any]]:
        """Granularity of each edge between types, with the queries that have it so."""
        queries_of: dict[tuple[str, str, str, Grain, tuple[str, ...]], dict[str, None]] = {}
        for number, planned in enumerate(self.plan.queries):
            query, around = planned.query, Surroundings.of(planned)
            for source, target, condition in _typed_conditions(planned):
                grain = grain_of(condition, around)
                names = tuple(
                    self._predicate(query.edge_predicates[n]) for n in sorted(condition.predicates)
                )
                key = (self.set_name[number], source, target, grain, names)
                queries_of.setdefault(key, {})[query.name] = None
        return [
            {
                "set": name,
                "from": source,
                "to": target,
                "grain": GRAINS[grain],
                "predicates": list(predicates),
                "cost": COSTS[grain],
                "queries": list(queries),
            }
            for (name, source, target, grain, predicates), queries in queries_of.items()
        ]


def _program(plan: WorkloadPlan, program: Program) -> dict[str, Any]:
    """How large the arrays of a set are."""
    columns = sum(plan.queries[number].query.window.overlap for number in program.queries)
    return {
        "templates": len(program.template_query),
        "states": len(program.state_atom),
        "edges": len(program.edge_source),
        "conditions": len(program.conditions),
        "columns": columns,
        "bytes": sum(array.nbytes for array in program.arrays.values()),
    }


def _ways(query: Query, ways: frozenset[Alternative], named: _Named) -> str:
    texts = sorted(_way(query, way, named) for way in ways)
    return texts[0] if len(texts) == 1 else " or ".join(f"({text})" for text in texts)


def _way(query: Query, way: Alternative, named: _Named) -> str:
    guards = _show_guards(query, way.guards)
    names = [named(query.edge_predicates[n]) for n in sorted(way.predicates)]
    return ", ".join([*guards, *names])


def _by_ends(template: Template, named: dict[int, str]) -> dict[tuple[str, str], list[Condition]]:
    """The conditions of all edges between each two states of a merged template."""
    conditions: dict[tuple[str, str], list[Condition]] = {}
    for edge in template.edges:
        conditions.setdefault((named[edge.source], named[edge.target]), []).append(edge.condition)
    return conditions


def _ask(asked: _Asked, text: str, who: str) -> None:
    asked.setdefault(text, {})[who] = None


def _listed(asked: _Asked) -> list[list[Any]]:
    """Each text with those who ask it."""
    return [[text, list(names)] for text, names in asked.items()]


def _typed_conditions(planned: PlannedQuery) -> Iterator[tuple[str, str, Condition]]:
    """The edges of a query's own templates as types and conditions."""
    for template in planned.templates.branches:
        for edge in template.edges:
            source = "START" if edge.source == START else template.states[edge.source].type
            target = "END" if edge.target == END else template.states[edge.target].type
            yield source, target, edge.condition


def _identity(planned: PlannedQuery, template: Template) -> Hashable:
    """What makes two templates the same whatever their queries call things."""
    states = tuple((state.type, state.atom) for state in template.states)
    edges = tuple(
        (edge.source, edge.target, _condition_identity(planned, edge.condition))
        for edge in template.edges
    )
    return states, edges


def _condition_identity(planned: PlannedQuery, condition: Condition) -> Hashable:
    if condition.is_free:
        return None

    def way(alternative: Alternative) -> Hashable:
        guards = (_identity(planned, planned.templates.guards[g]) for g in alternative.guards)
        predicates = (planned.query.edge_predicates[n] for n in alternative.predicates)
        return frozenset(guards), frozenset(predicates)

    return (
        frozenset(frozenset(way(alternative) for alternative in need) for need in condition.needs),
        frozenset(way(alternative) for alternative in condition.forbids),
        condition.holds,
        condition.fails,
        condition.step,
    )


def _state_labels(query: Query, template: Template) -> list[str]:
    """A label for each state: its type where that is enough, else its places, told apart."""
    types = [_type_label(query, state) for state in template.states]
    if len(set(types)) == len(types):
        return types
    labels = [_places_label(query, state) for state in template.states]
    return [
        label if labels.count(label) == 1 else f"{label} #{labels[: i + 1].count(label)}"
        for i, label in enumerate(labels)
    ]


def _places_label(query: Query, state: State) -> str:
    names = [query.places[place].alias or "" for place in state.places]
    named = "|".join(name for name in dict.fromkeys(names) if name)
    label = _type_label(query, state)
    label = f"{label} {named}" if named else label
    return label if state.part in (None, Part.MIDDLE) else f"{label} ({state.part})"


def _type_label(query: Query, state: State) -> str:
    """The type of events, or what was defined as their type, with theirs where it is of several."""
    defined = {query.places[place].written for place in state.places} - {ANY}
    if len(defined) != 1 or None in defined:
        return state.type
    (name,) = defined
    types = {place.type for place in query.places if place.written == name}
    return str(name) if len(types) == 1 else f"{name}: {state.type}"


def _show_guards(query: Query, guards: frozenset[int]) -> list[str]:
    """Guards as text, equal ones once."""
    return list(dict.fromkeys(_show_guard(query, guard) for guard in sorted(guards)))


def _show_guard(query: Query, guard: int) -> str:
    text = show_pattern(query, query.negations[guard])
    inside = [place for place in query.places if place.negation == guard]
    conditions = []
    for place in inside:
        condition = query.local[place.index]
        if condition is not None:
            whose = f"{place.alias or place.name}: " if len(inside) > 1 else ""
            conditions.append(whose + show(condition))
    return f"no {text}" + (f" where {'; '.join(conditions)}" if conditions else "")


def _show_result(query: Query, result: Result) -> str:
    """A result as it is shown: what is computed, and its name where that is another."""
    text = _show_formula(query, result.expression)
    return text if result.name == text else f"{text} AS {result.name}"


def _show_formula(query: Query, expression: Expression) -> str:
    """An expression over aggregates, whose names are what they compute."""
    shown = {
        aggregate.column: Column("this", _show_aggregate(query, aggregate))
        for aggregate in query.aggregates
    }
    return show(with_columns(expression, shown))


def _show_aggregate(query: Query, aggregate: Aggregate) -> str:
    """What an aggregate computes."""
    if aggregate.counts_trends:
        return f"{aggregate.function}(*)"
    if aggregate.measure is not None:
        return f"{aggregate.function}({aggregate.measure})"
    place = query.places[aggregate.places[0]]
    aliases = {query.places[place].alias for place in aggregate.places}
    variable = place.alias if len(aliases) == 1 and place.alias else place.name
    attribute = f".{aggregate.attribute}" if aggregate.attribute else ""
    return f"{aggregate.function}({variable}{attribute})"
