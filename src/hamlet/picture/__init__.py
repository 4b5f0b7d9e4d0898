"""Automaton pictures: small labelled graphs to SVG and Mermaid text.

The package knows nothing of queries. A caller describes what to draw as `Graph` values, in plain
texts, and gets one document back. Law: the same graphs give the same characters, on every machine,
so pictures can be compared as text.
"""

from hamlet.picture.graph import Edge, Graph, Node
from hamlet.picture.mermaid import render as render_mermaid
from hamlet.picture.svg import render as render_svg

__all__ = ["Edge", "Graph", "Node", "render_mermaid", "render_svg"]
