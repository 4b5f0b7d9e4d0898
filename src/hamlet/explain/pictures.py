"""From description to pictures: a graph for each template and for each merged template.

A merged template of many queries would be a wall of boxes if every type had its own. Types that
stand in the same place, with the same neighbours, are folded into one box that names them, so that
a picture shows the shape of a workload however many queries it has. A condition stands at its box
or arrow where all queries there ask it, and below the picture with its queries where some do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hamlet.errors import counted
from hamlet.explain.text import shown_queries
from hamlet.picture import Edge, Graph, Node
from hamlet.picture.text import MAX_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hamlet.picture.graph import NodeKind

    Description = dict[str, Any]

# Fewer alike types, or templates that differ only in their own types, are drawn one by one.
_FOLD_FROM = 3
# More templates than this make a picture that nobody looks at.
_MOST_TEMPLATES = 60
_MOST_NAMES = 4
# More conditions than these are left to the text.
_MOST_NOTES = 24

PICTURED = ("merged", "templates")


def pictures(description: Description, stages: Sequence[str] | None = None) -> list[Graph]:
    """The graphs of the chosen stages, merged templates first.

    Queries that have nothing in common with another are drawn by their own templates.
    """
    with_merged = not stages or "merged" in stages or "sets" in stages
    with_templates = not stages or "templates" in stages
    graphs: list[Graph] = []
    if with_merged:
        graphs += [merged_graph(one) for one in description["sets"] if one["shared"]]
    if with_templates:
        return graphs + _template_graphs(description, description["templates"])
    apart = {name for one in description["sets"] if not one["shared"] for name in one["queries"]}
    return graphs + _template_graphs(description, list(_of(apart, description["templates"])))


def _of(queries: set[str], templates: list[Description]) -> Iterator[Description]:
    """The templates of some queries, as theirs alone."""
    for template in templates:
        having = [name for name in template["queries"] if name in queries]
        if having:
            yield {**template, "queries": having}


def _template_graphs(description: Description, templates: list[Description]) -> list[Graph]:
    queries = {query["name"]: query for query in description["queries"]}
    shown = _alike([template for template in templates if _is_worth_drawing(template)])
    predicates = {
        predicate["name"]: predicate["predicate"] for predicate in description["predicates"]
    }
    graphs = [template_graph(t, predicates, queries) for t in shown[:_MOST_TEMPLATES]]
    left_out = len(shown) - _MOST_TEMPLATES
    if left_out > 0:
        nodes = (Node("more", (f"{left_out} more templates",), "place", stacked=True),)
        graphs.append(Graph("and more", "as text: --stage templates", nodes, ()))
    return graphs


def _is_worth_drawing(template: Description) -> bool:
    """A negated single event is fully told by the guards that name it; no state is no picture."""
    fewest = 2 if template["pattern"].startswith("NOT ") else 1
    return len(template["states"]) >= fewest


# Templates


def _alike(templates: list[Description]) -> list[Description]:
    """Templates, with those that differ only in types of their own drawn as one.

    A type is a template's own when no other template has it: X7 of SEQ(X7, Travel+).
    """
    users: dict[str, int] = {}
    for template in templates:
        for name in {state["type"] for state in template["states"]}:
            users[name] = users.get(name, 0) + 1
    shapes: dict[str, list[Description]] = {}
    for template in templates:
        shapes.setdefault(repr(_shape(template, users)), []).append(template)
    shown: list[Description] = []
    for members in shapes.values():
        shown += members if len(members) < _FOLD_FROM else [_folded(members, users)]
    return shown


def _shape(template: Description, users: dict[str, int]) -> tuple[Any, ...]:
    """What is left of a template when the names of its own types are taken away."""
    number = {state["label"]: i for i, state in enumerate(template["states"])}
    states = [
        (None if users[state["type"]] == 1 else state["label"], state["condition"])
        for state in template["states"]
    ]
    edges = [
        {**edge, "from": number.get(edge["from"], edge["from"]), "to": number.get(edge["to"])}
        for edge in template["edges"]
    ]
    return states, edges


def _folded(members: list[Description], users: dict[str, int]) -> Description:
    """One template for several alike: the first, with all names in each box that differs."""
    first = members[0]
    states = []
    for index, state in enumerate(first["states"]):
        if users[state["type"]] > 1:
            states.append(state)
        else:
            names = [member["states"][index]["label"] for member in members]
            states.append({**state, "folded": names})
    queries = list(dict.fromkeys(name for member in members for name in member["queries"]))
    title = f"{first['name']} and {len(members) - 1} alike"
    return {**first, "name": title, "states": states, "queries": queries}


def template_graph(
    template: Description, predicates: dict[str, str], all_queries: dict[str, Description]
) -> Graph:
    """One template; states carry what their events satisfy, edges what lies between two events."""
    notes: list[str] = []
    nodes = [Node("START", ("START",), "start")]
    for state in template["states"]:
        names = state.get("folded", [])
        first = (f"{len(names)} types", _first_and_last(names)) if names else (state["label"],)
        asked = [state["condition"]] if state["condition"] else []
        lines = (*first, *_fitting(state["label"], asked, notes))
        nodes.append(Node(_key(state["label"]), lines, "place", stacked=bool(names)))
    nodes.append(Node("END", ("END",), "end"))
    edges = _joined_edges(template["edges"], predicates, notes)
    queries = shown_queries(template["queries"], list(all_queries))
    title = f"{template['name']}: {queries}"
    equal = _equal_in([all_queries[name] for name in template["queries"]], notes)
    return Graph(title, template["pattern"] + equal, tuple(nodes), tuple(edges), _shortened(notes))


def _equal_in(queries: list[Description], notes: list[str]) -> str:
    """The attributes that are equal on all events of a trend; where queries differ, as notes."""
    by: dict[tuple[str, ...], list[str]] = {}
    for query in queries:
        partition = dict.fromkeys([*query["group_by"], *query["equivalence"]])
        by.setdefault(tuple(partition), []).append(query["name"])
    if len(by) == 1:
        (attributes,) = by
        return f", partition [{', '.join(attributes)}]" if attributes else ""
    for attributes, names in by.items():
        told = f"partition [{', '.join(attributes)}]" if attributes else "one partition"
        notes.append(f"{told}: {shown_queries(names, [query['name'] for query in queries])}")
    return ""


def _fitting(where: str, asked: Iterable[str], notes: list[str]) -> Iterator[str]:
    """Conditions that fit into a box or a label; of others it is told below what they are."""
    for text in asked:
        if len(text) <= MAX_CHARS:
            yield text
        else:
            notes.append(f"{where}: {text}")
            yield _below(1)


def _joined_edges(
    edges: list[Description], predicates: dict[str, str], notes: list[str]
) -> list[Edge]:
    """Edges, parallel ones between the same states drawn as one with all their conditions."""
    arrows: dict[tuple[str, str], list[Description]] = {}
    for edge in edges:
        arrows.setdefault((edge["from"], edge["to"]), []).append(edge)
    joined: list[Edge] = []
    for (source, target), parallel in arrows.items():
        guards: dict[str, None] = {}
        asked: list[str] = []
        if len(parallel) > 1:
            ways = [_way(edge, predicates) for edge in parallel]
            # One of several ways is enough; a free one asks for nothing.
            asked = [" or ".join(f"({way})" for way in ways)] if all(ways) else []
        elif "condition" in parallel[0]:
            asked = [_spelt(parallel[0]["condition"], predicates)]
        else:
            asked = [predicates[name] for name in parallel[0]["predicates"]]
            guards = dict.fromkeys(parallel[0]["guards"])
        lines = _fitting(f"{source} to {target}", asked, notes)
        joined.append(Edge(_key(source), _key(target), tuple(lines), tuple(guards)))
    return joined


def _way(edge: Description, predicates: dict[str, str]) -> str:
    if "condition" in edge:
        return _spelt(edge["condition"], predicates)
    return " and ".join([*edge["guards"], *(predicates[name] for name in edge["predicates"])])


def _spelt(text: str, predicates: dict[str, str]) -> str:
    """A condition with what its predicates say in place of their names."""
    return re.sub(r"\bp\d+\b", lambda match: predicates.get(match[0], match[0]), text)


def _first_and_last(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]}, {names[1]} ... {names[-1]}"


def _key(label: str) -> str:
    """A node's key: START and END keep their names, which no state can have then."""
    return label if label in ("START", "END") else f"state {label}"


# Merged templates


def merged_graph(one: Description) -> Graph:
    """The merged template of a set: alike types folded, what is shared marked, conditions told."""
    notes: list[str] = []
    box = _boxes(one)
    nodes = [Node("START", ("START",), "start"), *_merged_nodes(one, box, notes)]
    nodes.append(Node("END", ("END",), "end"))
    edges = _merged_edges(one, box, notes)
    title = f"{one['name']}: {shown_queries(one['queries'], one['queries'], _MOST_NAMES)}"
    by = f"partition [{', '.join(one['partition'])}]" if one["partition"] else "one partition"
    return Graph(title, by, tuple(nodes), tuple(edges), _shortened(notes))


def _shortened(notes: list[str]) -> tuple[str, ...]:
    if len(notes) <= _MOST_NOTES:
        return tuple(notes)
    left_out = len(notes) - _MOST_NOTES
    return (*notes[:_MOST_NOTES], f"and {left_out} more conditions; as text: --stage merged")


def _merged_nodes(one: Description, box: dict[str, str], notes: list[str]) -> Iterator[Node]:
    folded: dict[str, list[Description]] = {}
    for state in one["states"]:
        folded.setdefault(box[state["name"]], []).append(state)
    sharers = {edge["from"] for edge in one["edges"] if edge["shared_by"]}
    having = _users(one)
    for key, states in folded.items():
        names = [state["name"] for state in states]
        is_shared = len(states) == 1 and names[0] in sharers
        lines = [*_named(names), *([f"{states[0]['type']}+ shared"] if is_shared else [])]
        if len(states) == 1:
            (asked,) = (state["conditions"] for state in states)
            lines += _told(names[0], asked, having[names[0]], one, notes)
        else:
            lines += _told_of_folded(states, having, one, notes)
        kind: NodeKind = "shared" if is_shared else "place"
        yield Node(key, tuple(lines), kind, stacked=len(states) > 1)


def _named(names: list[str]) -> list[str]:
    return [f"{len(names)} types", _first_and_last(names)] if len(names) > 1 else names


def _told_of_folded(
    states: list[Description], having: dict[str, list[str]], one: Description, notes: list[str]
) -> list[str]:
    """What folded states ask of their events: once where all ask the same, or among the notes."""
    told: list[list[str]] = []
    differing: list[str] = []
    for state in states:
        name = state["name"]
        told.append(_told(name, state["conditions"], having[name], one, differing))
    if not differing and all(lines == told[0] for lines in told):
        return told[0]
    for state in states:
        for text, names in state["conditions"]:
            notes.append(_note(state["name"], text, names, one))
    return [_below(sum(len(state["conditions"]) for state in states))]


def _users(one: Description) -> dict[str, list[str]]:
    """For each state the members that have it."""
    members_of: dict[str, dict[str, None]] = {state["name"]: {} for state in one["states"]}
    for edge in one["edges"]:
        if edge["to"] in members_of:
            members_of[edge["to"]].update(dict.fromkeys(edge["queries"]))
    return {name: list(members) for name, members in members_of.items()}


def _told(
    where: str, asked: list[list[Any]], of: Sequence[str], one: Description, notes: list[str]
) -> list[str]:
    """Lines for a box or an arrow: what all ask there in full, and what some ask among the notes.

    Args:
        where: What the box or the arrow is called.
        asked: Each condition and those who ask it.
        of: All that are there.
        one: The set.
        notes: Are added to.
    """
    lines = []
    below = []
    for text, names in asked:
        whose = "" if len(names) == len(of) else f" for {', '.join(names)}"
        if len(text + whose) <= MAX_CHARS and (not whose or len(asked) == 1):
            lines.append(text + whose)
        else:
            below.append(_note(where, text, names, one))
    notes.extend(below)
    return [*lines, _below(len(below))] if below else lines


def _below(number: int) -> str:
    return f"{counted(number, 'condition')} below"


def _note(where: str, text: str, names: Sequence[str], one: Description) -> str:
    return f"{where}: {text}, for {shown_queries(names, one['members'])}"


def _boxes(one: Description) -> dict[str, str]:
    """For START, END and each state the key of the box it is drawn in."""
    box = {"START": "START", "END": "END"}
    neighbours: dict[str, tuple[set[Any], set[Any]]] = {
        state["name"]: (set(), set()) for state in one["states"]
    }
    for edge in one["edges"]:
        source, target = edge["from"], edge["to"]
        guards = tuple(guard for guard, _ in edge["guards"])
        if target in neighbours:
            neighbours[target][0].add(("itself" if source == target else source, guards))
        if source in neighbours:
            neighbours[source][1].add(("itself" if source == target else target, guards))
    alike: dict[Any, list[str]] = {}
    for state in one["states"]:
        before, after = neighbours[state["name"]]
        own = state["name"] if state["type"] in one["shared"] else None
        alike.setdefault((own, frozenset(before), frozenset(after)), []).append(state["name"])
    for names in alike.values():
        for name in names:
            fold = len(names) >= _FOLD_FROM
            box[name] = f"folded {names[0]}" if fold else f"state {name}"
    return box


def _merged_edges(one: Description, box: dict[str, str], notes: list[str]) -> list[Edge]:
    """Edges between boxes; members whose guards differ, or who share, get an edge of their own."""
    drawn: dict[tuple[str, str, tuple[str, ...], int], _Drawn] = {}
    for edge in one["edges"]:
        source, target = box[edge["from"]], box[edge["to"]]
        sharing = {name: n for n, group in enumerate(edge["shared_by"], 1) for name in group}
        for name in edge["queries"]:
            guards = tuple(guard for guard, names in edge["guards"] if name in names)
            key = (source, target, guards, sharing.get(name, 0))
            it = drawn.setdefault(key, _Drawn(_place(edge["from"], edge["to"], box)))
            it.members[name] = None
            for text, names in edge["conditions"]:
                if name in names:
                    it.asked.setdefault(text, {})[name] = None
    return [
        Edge(source, target, it.lines(one, notes), guards, "shared" if group else "plain")
        for (source, target, guards, group), it in drawn.items()
    ]


def _place(source: str, target: str, box: dict[str, str]) -> str:
    """What an arrow is called among the notes."""
    if source == target:
        return f"{source} to the next"
    ends = []
    for name in (source, target):
        folded = [inner for inner, key in box.items() if key == box[name]]
        ends.append(_first_and_last(folded))
    return " to ".join(ends)


@dataclass(slots=True)
class _Drawn:
    """An arrow while it is put together: who takes it, and what each asks."""

    place: str
    members: dict[str, None] = field(default_factory=dict)
    asked: dict[str, dict[str, None]] = field(default_factory=dict)

    def lines(self, one: Description, notes: list[str]) -> tuple[str, ...]:
        """Its label: the queries, and what they ask."""
        names = list(self.members)
        asked = [[text, list(having)] for text, having in self.asked.items()]
        return (*_label_lines(names, one), *_told(self.place, asked, names, one, notes))


def _label_lines(names: list[str], one: Description) -> tuple[str, ...]:
    """The queries of an edge, one on a line while they are few."""
    if len(names) == len(one["members"]) and len(names) > 1:
        return (f"all {len(one['queries'])} queries",)
    if len(names) <= _MOST_NAMES:
        return tuple(names)
    return (
        shown_queries(names, one["members"], 3) if len(names) > 30 else f"{len(names)} queries",
    )
