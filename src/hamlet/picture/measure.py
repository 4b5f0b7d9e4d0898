"""How much room texts need: sizes of node boxes, edge labels and self-loops.

Font sizes and line heights stand here because the renderer must use the very same ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hamlet.picture.columns import Extent
from hamlet.picture.text import clean, shorten, text_width

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hamlet.picture.graph import Edge, Node

MAIN_SIZE = 14.0
TERMINAL_SIZE = 11.0
DETAIL_SIZE = 11.0
LABEL_SIZE = 11.5
MAIN_LINE = 19.0
DETAIL_LINE = 15.0
LABEL_LINE = 16.0

# How far the cards of a stack stand out behind the front one, in both directions.
STACK_OFFSET = 8.0
GUARD_MARK = 16.0
LOOP_HEIGHT = 32.0

_LOOP_ROOM = 48.0
_LEAST_WIDTH = 54.0


@dataclass(frozen=True, slots=True)
class Label:
    """An edge's texts as drawn, and the size of the box around them."""

    lines: tuple[str, ...]
    guards: tuple[str, ...]
    width: float
    height: float

    @property
    def extent(self) -> Extent:
        """Room for the label when it sits on its edge."""
        return Extent(self.width, self.height / 2, self.height / 2)


@dataclass(frozen=True, slots=True)
class Card:
    """A node's texts as drawn, and the size of its box."""

    lines: tuple[str, ...]
    width: float
    height: float


def measure_label(edge: Edge) -> Label | None:
    """The label of an edge, or None if it has no texts."""
    lines, guards = _shown(edge.lines), _shown(edge.guards)
    if not lines and not guards:
        return None
    widths = [text_width(line, LABEL_SIZE) for line in lines]
    widths += [text_width(guard, LABEL_SIZE, bold=True) + GUARD_MARK for guard in guards]
    height = LABEL_LINE * (len(lines) + len(guards)) + 4
    return Label(lines, guards, even(max(widths) + 12), height)


def measure_node(node: Node, loops: Sequence[Label | None]) -> Card:
    """The box of a node that carries the given self-loops."""
    lines = _shown(node.lines)
    is_terminal = node.kind in ("start", "end")
    main_size = TERMINAL_SIZE if is_terminal else MAIN_SIZE
    widths = [text_width(line, DETAIL_SIZE) for line in lines[1:]]
    widths += [text_width(line, main_size, bold=True) for line in lines[:1]]
    border = 8.0 if node.accepting else 0.0
    stack = STACK_OFFSET if node.stacked else 0.0
    width = max(widths, default=0.0) + 24 + border
    height = MAIN_LINE + DETAIL_LINE * len(lines[1:]) + (11 if is_terminal else 19) + border
    # Several loops stand side by side, so the node must be as wide as all of them.
    beside = sum(map(loop_width, loops)) if len(loops) > 1 else 0.0
    return Card(lines, even(max(width, beside, _LEAST_WIDTH) + stack), even(height + stack))


def node_extent(card: Card, loops: Sequence[Label | None]) -> Extent:
    """Room for a node together with its self-loops and their labels."""
    reach = max((LOOP_HEIGHT + (loop.height if loop else 0.0) for loop in loops), default=0.0)
    width = max([card.width, *map(loop_width, loops)])
    return Extent(width, card.height / 2 + reach, card.height / 2)


def loop_width(label: Label | None) -> float:
    """Room for a self-loop and its label, side to side."""
    return max(_LOOP_ROOM, label.width + 8 if label else 0.0)


def even(length: float) -> float:
    """The nearest even number that is not smaller, so that halves are whole pixels."""
    return -2.0 * (-length // 2)


def _shown(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(shorten(clean(line)) for line in lines)
