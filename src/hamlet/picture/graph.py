"""What to draw: nodes, edges and graphs as plain immutable values.

Labels are texts of the caller's choice, any unicode allowed; escaping and shortening are the
renderers' work. A `Graph` checks its own references, so the renderers need not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NodeKind = Literal["start", "end", "place", "shared"]
EdgeKind = Literal["plain", "shared"]


@dataclass(frozen=True, slots=True)
class Node:
    """One box of a picture.

    Args:
        key: Name by which edges refer to the node; never shown.
        lines: Main label first, then details in small print.
        kind: "shared" marks a Kleene type that several queries take together.
        accepting: A trend may end here; drawn with a double border.
        stacked: Stands for several folded types; drawn as a stack of cards.
    """

    key: str
    lines: tuple[str, ...]
    kind: NodeKind
    accepting: bool = False
    stacked: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """One arrow of a picture, from `source` to `target` (which may be the same node).

    Args:
        source: Key of the node the arrow leaves.
        target: Key of the node the arrow enters.
        lines: Label texts, such as queries and edge predicates.
        guards: Texts such as "no Pickup"; a guarded edge is dashed.
        kind: "shared" draws the edge thicker and in the accent colour.
    """

    source: str
    target: str
    lines: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()
    kind: EdgeKind = "plain"

    @property
    def is_loop(self) -> bool:
        """Whether the arrow returns to the node it leaves."""
        return self.source == self.target


@dataclass(frozen=True, slots=True)
class Graph:
    """One picture with its title, and notes that are written below it.

    Raises:
        ValueError: Two nodes share a key, or an edge refers to a key no node has.
    """

    title: str
    subtitle: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        keys: set[str] = set()
        for node in self.nodes:
            if node.key in keys:
                message = f"graph {self.title!r} has two nodes with key {node.key!r}"
                raise ValueError(message)
            keys.add(node.key)
        for edge in self.edges:
            for key in (edge.source, edge.target):
                if key not in keys:
                    message = f"graph {self.title!r} has an edge at {key!r}, which is no node of it"
                    raise ValueError(message)
