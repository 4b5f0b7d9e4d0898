"""From description to pictures: a graph for each template and for each merged template.

A merged template of many queries would be a wall of boxes if every type had its own. Types that
stand in the same place, with the same neighbours, are folded into one box that names them, so that
a picture shows the shape of a workload however many queries it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hamlet.explain.text import shown_queries
from hamlet.picture import Edge, Graph, Node

if TYPE_CHECKING:
    from collections.abc import Sequence

    Description = dict[str, Any]

# Fewer alike types, or templates that differ only in their own types, are drawn one by one.
_FOLD_FROM = 3
# More templates than this make a picture that nobody looks at.
_MOST_TEMPLATES = 60
_MOST_NAMES = 4

PICTURED = ("merged", "templates")


def pictures(description: Description, stages: Sequence[str] | None = None) -> list[Graph]:
    """The graphs of the chosen stages, merged templates first."""
    graphs: list[Graph] = []
    if not stages or "merged" in stages or "sets" in stages:
        sharing = [one for one in description["sets"] if one["shared"]]
        graphs += [merged_graph(one) for one in (sharing or description["sets"])]
    if not stages or "templates" in stages:
        all_queries = [query["name"] for query in description["queries"]]
        shown = _alike([each for each in description["templates"] if _is_worth_drawing(each)])
        predicates = {each["name"]: each["predicate"] for each in description["predicates"]}
        graphs += [template_graph(t, predicates, all_queries) for t in shown[:_MOST_TEMPLATES]]
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
    template: Description, predicates: dict[str, str], all_queries: Sequence[str]
) -> Graph:
    """One template; states carry what their events satisfy, edges what lies between two events."""
    nodes = [Node("START", ("START",), "start")]
    for state in template["states"]:
        names = state.get("folded", [])
        first = (f"{len(names)} types", _first_and_last(names)) if names else (state["label"],)
        lines = (*first, *([state["condition"]] if state["condition"] else []))
        nodes.append(Node(_key(state["label"]), lines, "place", stacked=bool(names)))
    nodes.append(Node("END", ("END",), "end"))
    edges = _joined_edges(template["edges"], predicates)
    queries = shown_queries(template["queries"], all_queries)
    title = f"{template['name']}: {queries}"
    return Graph(title, template["pattern"], tuple(nodes), tuple(edges))


def _joined_edges(edges: list[Description], predicates: dict[str, str]) -> list[Edge]:
    """Edges, parallel ones between the same states drawn as one with all their conditions."""
    found: dict[tuple[str, str], list[Description]] = {}
    for edge in edges:
        found.setdefault((edge["from"], edge["to"]), []).append(edge)
    joined: list[Edge] = []
    for (source, target), parallel in found.items():
        lines: dict[str, None] = {}
        guards: dict[str, None] = {}
        for edge in parallel:
            if "condition" in edge:
                lines[edge["condition"]] = None
            else:
                lines.update(dict.fromkeys(predicates[name] for name in edge["predicates"]))
                guards.update(dict.fromkeys(edge["guards"]))
        joined.append(Edge(_key(source), _key(target), tuple(lines), tuple(guards)))
    return joined


def _first_and_last(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]}, {names[1]} ... {names[-1]}"


def _key(label: str) -> str:
    """A node's key: START and END keep their names, which no state can have then."""
    return label if label in ("START", "END") else f"state {label}"


# Merged templates


def merged_graph(one: Description) -> Graph:
    """The merged template of a sharable set, alike types folded, shared Kleene types marked."""
    box = _boxes(one)
    shared = set(one["shared"])
    nodes = [Node("START", ("START",), "start")]
    folded: dict[str, list[str]] = {}
    for name in one["types"]:
        folded.setdefault(box[name], []).append(name)
    for key, names in folded.items():
        if len(names) == 1:
            details = (f"{names[0]}+ shared",) if names[0] in shared else ()
            kind = "shared" if names[0] in shared else "place"
            nodes.append(Node(key, (names[0], *details), kind))  # type: ignore[arg-type]
        else:
            lines = (f"{len(names)} types", _first_and_last(names))
            nodes.append(Node(key, lines, "place", stacked=True))
    nodes.append(Node("END", ("END",), "end"))
    title = f"{one['name']}: {shown_queries(one['queries'], one['queries'], _MOST_NAMES)}"
    by = f"partition [{', '.join(one['partition'])}]" if one["partition"] else "one partition"
    subtitle = f"{by}, panes of {one['pane']}"
    return Graph(title, subtitle, tuple(nodes), tuple(_merged_edges(one, box)))


def _boxes(one: Description) -> dict[str, str]:
    """For START, END and each type the key of the box it is drawn in."""
    box = {"START": "START", "END": "END"}
    neighbours: dict[str, tuple[set[Any], set[Any]]] = {n: (set(), set()) for n in one["types"]}
    for edge in one["edges"]:
        source, target = edge["from"], edge["to"]
        guards = tuple(guard for guard, _ in edge["guards"])
        if target in neighbours:
            neighbours[target][0].add(("itself" if source == target else source, guards))
        if source in neighbours:
            neighbours[source][1].add(("itself" if source == target else target, guards))
    alike: dict[Any, list[str]] = {}
    for name, (before, after) in neighbours.items():
        own = name if name in one["shared"] else None
        alike.setdefault((own, frozenset(before), frozenset(after)), []).append(name)
    for names in alike.values():
        for name in names:
            fold = len(names) >= _FOLD_FROM
            box[name] = f"folded {names[0]}" if fold else f"type {name}"
    return box


def _merged_edges(one: Description, box: dict[str, str]) -> list[Edge]:
    """Edges between boxes; queries whose guards differ there get an edge of their own."""
    labels: dict[tuple[str, str, tuple[str, ...]], dict[str, None]] = {}
    shared: set[tuple[str, str]] = set()
    for edge in one["edges"]:
        source, target = box[edge["from"]], box[edge["to"]]
        for query in edge["queries"]:
            guards = tuple(guard for guard, names in edge["guards"] if query in names)
            labels.setdefault((source, target, guards), {})[query] = None
        if edge["shared"]:
            shared.add((source, target))
    return [
        Edge(
            source,
            target,
            _label_lines(list(names), one),
            guards,
            "shared" if (source, target) in shared else "plain",
        )
        for (source, target, guards), names in labels.items()
    ]


def _label_lines(names: list[str], one: Description) -> tuple[str, ...]:
    """The queries of an edge, one on a line while they are few."""
    if len(names) == len(one["queries"]) and len(names) > 1:
        return (f"all {len(names)} queries",)
    if len(names) <= _MOST_NAMES:
        return tuple(names)
    return (
        shown_queries(names, one["queries"], 3) if len(names) > 30 else f"{len(names)} queries",
    )
