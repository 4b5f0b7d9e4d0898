"""Graphs as Mermaid flowchart text, for pages that render Mermaid themselves.

Ids are made up here and labels are quoted, with every character that Mermaid, Markdown or HTML
could take for syntax written as an entity code; so no label can break a diagram.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hamlet.picture.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hamlet.picture.graph import Edge, Graph, Node

_SYNTAX = re.compile(r"[\"#<>&;`\\{}\[\]|%*_~$]")
# Mermaid reads "1. x", "- x" and "+ x" at the beginning of a line as Markdown lists.
_LIST_ITEM = re.compile(r"^(\s*)([-+]|\d+[.)])")

_CLASSES = (
    "  classDef start fill:#3a4658,stroke:#3a4658,color:#ffffff",
    "  classDef finish fill:#ffffff,stroke:#3a4658,stroke-width:2px,color:#1b2434",
    "  classDef place fill:#f3f6fa,stroke:#8996a9,color:#1b2434",
    "  classDef shared fill:#dfeaff,stroke:#1a56c4,stroke-width:3px,color:#0f2f75",
    "  classDef accepting stroke-width:5px",
    "  classDef notes fill:#ffffff,stroke:#dbe1ea,color:#556173,text-align:left",
)
# "end" is a Mermaid keyword and must not name a class.
_CLASS_OF_KIND = {"start": "start", "end": "finish", "place": "place", "shared": "shared"}


def render(graphs: Sequence[Graph]) -> str:
    """Write graphs as one left-to-right flowchart, a subgraph for each.

    Guarded edges are dotted and say their guards; shared edges are thick; notes are a box.
    """
    lines = ["flowchart LR"]
    links: list[Edge] = []
    node_count = 0
    for index, graph in enumerate(graphs):
        title = _label(line for line in (graph.title, graph.subtitle) if line)
        lines += [f'  subgraph g{index}["{title}"]', "    direction LR"]
        ids = {node.key: f"n{node_count + offset}" for offset, node in enumerate(graph.nodes)}
        node_count += len(ids)
        if graph.notes:
            lines.append(f'    notes{index}["{_label(graph.notes)}"]:::notes')
        lines += [f"    {ids[node.key]}{_shape(node)}" for node in graph.nodes]
        lines += [
            f"    {ids[edge.source]} {_arrow(edge)} {ids[edge.target]}" for edge in graph.edges
        ]
        lines.append("  end")
        lines += [
            f"  class {ids[node.key]} {name}" for node in graph.nodes for name in _classes(node)
        ]
        links += graph.edges
    lines += _CLASSES
    # A dotted arrow cannot be thick by syntax, so a shared edge with a guard gets its weight here.
    lines += [
        f"  linkStyle {index} stroke-width:3px"
        for index, edge in enumerate(links)
        if edge.kind == "shared" and edge.guards
    ]
    return "\n".join(lines) + "\n"


def _shape(node: Node) -> str:
    label = _label(node.lines)
    if node.kind in ("start", "end"):
        return f'(["{label}"])'
    return f'[["{label}"]]' if node.stacked else f'("{label}")'


def _classes(node: Node) -> list[str]:
    return [_CLASS_OF_KIND[node.kind], *(["accepting"] if node.accepting else [])]


def _arrow(edge: Edge) -> str:
    arrow = "-.->" if edge.guards else "==>" if edge.kind == "shared" else "-->"
    texts = (*edge.lines, *edge.guards)
    return f'{arrow}|"{_label(texts)}"|' if texts else arrow


def _label(lines: Iterable[str]) -> str:
    # An empty quoted label is a syntax error, a space is not.
    return "<br/>".join(map(_escape, lines)) or " "


def _escape(text: str) -> str:
    r"""One line with all syntax as entity codes.

    >>> _escape('a "b" #1')
    'a #quot;b#quot; #35;1'
    """
    escaped = _SYNTAX.sub(_entity, clean(text))
    return _LIST_ITEM.sub(lambda match: match[1] + _code(match[2]), escaped)


def _entity(match: re.Match[str]) -> str:
    return "#quot;" if match[0] == '"' else _code(match[0])


def _code(text: str) -> str:
    return "".join(f"#{ord(char)};" for char in text)
