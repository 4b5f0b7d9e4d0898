"""Graphs arranged on a page: each on a card with its title, cards in rows of a neat grid.

Cards span whole grid columns, so a large graph
takes a row for itself while small ones stand side by side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hamlet.picture.geometry import Box
from hamlet.picture.measure import even
from hamlet.picture.text import clean, text_width, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hamlet.picture.graph import Graph
    from hamlet.picture.layout import PlacedGraph

# A page this wide still reads well on a screen of 1400 pixels, where it shrinks a little.
PAGE_WIDTH = 1540.0
MARGIN = 20.0
GAP = 16.0
PADDING = 20.0
TITLE_SIZE = 15.0
TITLE_LINE = 20.0
SUBTITLE_SIZE = 12.0
SUBTITLE_LINE = 17.0
HEADER_GAP = 16.0

_MOST_COLUMNS = 6
_HEADER_WIDTH = 300.0
_WIDEST_HEADER = 640.0
_NOTES_WIDTH = 560.0
_MOST_LINES = 12


@dataclass(frozen=True, slots=True)
class CardContent:
    """A laid-out graph with its wrapped header, before it has a place on the page."""

    graph: Graph
    layout: PlacedGraph
    title: tuple[str, ...]
    subtitle: tuple[str, ...]
    notes: tuple[str, ...]
    width: float
    height: float

    @property
    def header_height(self) -> float:
        """Height of title and subtitle, with the space under them."""
        lines = TITLE_LINE * len(self.title) + SUBTITLE_LINE * len(self.subtitle)
        return lines + HEADER_GAP if lines else 0.0

    @property
    def notes_height(self) -> float:
        """Height of the notes, with the space above them."""
        return SUBTITLE_LINE * len(self.notes) + HEADER_GAP if self.notes else 0.0


@dataclass(frozen=True, slots=True)
class PlacedCard:
    """A card and its rectangle on the page."""

    content: CardContent
    box: Box


def make_card(graph: Graph, layout: PlacedGraph) -> CardContent:
    """Wrap the header to about the graph's width and measure the whole."""
    title, subtitle = clean(graph.title), clean(graph.subtitle)
    wanted = max(
        text_width(title, TITLE_SIZE, bold=True),
        min(text_width(subtitle, SUBTITLE_SIZE), _HEADER_WIDTH),
        *(min(text_width(clean(note), SUBTITLE_SIZE), _NOTES_WIDTH) for note in graph.notes),
    )
    inner = even(max(layout.width, min(wanted, _WIDEST_HEADER)))
    titles = tuple(wrap(title, TITLE_SIZE, inner, 2, bold=True))
    subtitles = tuple(wrap(subtitle, SUBTITLE_SIZE, inner, 3))
    # Room for long ones: a note may be the only place where a condition stands.
    notes = tuple(
        line
        for note in graph.notes
        for line in wrap(clean(note), SUBTITLE_SIZE, inner, _MOST_LINES)
    )
    card = CardContent(graph, layout, titles, subtitles, notes, inner + 2 * PADDING, 0.0)
    height = card.header_height + layout.height + card.notes_height + 2 * PADDING
    return replace(card, height=height)


def arrange(
    cards: Sequence[CardContent], columns: int | None, top: float
) -> tuple[PlacedCard, ...]:
    """Place cards in reading order below `top`.

    Args:
        cards: What to place.
        columns: Number of grid columns, one card each; None chooses the number that makes the
            page shortest at about the page width, where wide cards may span several columns.
        top: Where the first row begins.
    """
    if not cards:
        return ()
    if columns is not None:
        return _fill(cards, [1] * len(cards), max(columns, 1), top)
    most = min(_MOST_COLUMNS, len(cards))
    candidates = [_fill(cards, _spans(cards, count), count, top) for count in range(1, most + 1)]
    return min(candidates, key=lambda placed: (_bottom(placed), _right(placed)))


def _spans(cards: Sequence[CardContent], count: int) -> list[int]:
    """How many of `count` equal columns of the page each card needs."""
    unit = (PAGE_WIDTH - 2 * MARGIN - GAP * (count - 1)) / count
    return [min(count, int(-((card.width + GAP) // -(unit + GAP)))) for card in cards]


def _fill(
    cards: Sequence[CardContent], spans: Sequence[int], count: int, top: float
) -> tuple[PlacedCard, ...]:
    unit = max(
        (card.width - GAP * (span - 1)) / span for card, span in zip(cards, spans, strict=True)
    )
    unit = even(unit)
    placed = []
    y = top
    for row in _rows(spans, count):
        height = max(cards[index].height for index in row)
        x = MARGIN
        for index in row:
            width = unit * spans[index] + GAP * (spans[index] - 1)
            placed.append(PlacedCard(cards[index], Box(x, y, width, height)))
            x += width + GAP
        y += height + GAP
    return tuple(placed)


def _rows(spans: Sequence[int], count: int) -> list[list[int]]:
    rows: list[list[int]] = [[]]
    free = count
    for index, span in enumerate(spans):
        if span > free:
            rows.append([])
            free = count
        rows[-1].append(index)
        free -= span
    return rows


def _bottom(placed: Sequence[PlacedCard]) -> float:
    return max(card.box.bottom for card in placed)


def _right(placed: Sequence[PlacedCard]) -> float:
    return max(card.box.right for card in placed)
